/*-------------------------------------------------------------------------
 *
 * config_refresh.c
 *	  States of queues, and the permitted changes of the current configuration.
 *
 * Hadoop builds a new tree, as if it had just started, and compares it with the current
 * tree.  Then it applies the new configuration to the current tree, beginning with
 * root.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "admission/application/application_counter.h"
#include "admission/configuration/config_refresh.h"
#include "queues/effective.h"
#include "queues/hierarchy.h"
#include "queues/text.h"
#include "queues/validate.h"
#include "store/table_scan.h"
#include "utils/snapmgr.h"

static const char *const kind_names[] = {
	[YQ_QUEUE_LEAF] = "leaf",
	[YQ_QUEUE_PARENT] = "parent",
	[YQ_QUEUE_MANAGED_PARENT] = "managed parent",
	[YQ_QUEUE_PLAN] = "plan",
};

const char *
yq_queue_kind_name(YqQueueKind kind)
{
	return kind_names[kind];
}

const char *
yq_queue_state_name(bool is_running, int64 work)
{
	return is_running ? "RUNNING" : work > 0 ? "DRAINING" : "STOPPED";
}

/* -- the current state ----------------------------------------------------- */

static YqQueueKind
find_kind(YqBytes name)
{
	for (int i = 0; i < (int) lengthof(kind_names); i++)
	{
		if (strlen(kind_names[i]) == name.length && memcmp(kind_names[i], name.data, name.length) == 0)
			return (YqQueueKind) i;
	}
	return YQ_QUEUE_LEAF;
}

/* State while the rows of queue_status are read. */
typedef struct StatusReading
{
	const YqHierarchy *hierarchy;
	YqQueueStatuses *statuses;
} StatusReading;

enum StatusColumn
{
	STATUS_PATH,
	STATUS_RUNNING,
	STATUS_KIND,
	STATUS_AUTO_CREATED,
	STATUS_MAXIMUM_ALLOCATION,
	STATUS_COLUMN_COUNT
};

static const char *const status_columns[STATUS_COLUMN_COUNT] = {
	[STATUS_PATH] = "path",
	[STATUS_RUNNING] = "running",
	[STATUS_KIND] = "kind",
	[STATUS_AUTO_CREATED] = "auto_created",
	[STATUS_MAXIMUM_ALLOCATION] = "maximum_allocation",
};

/* Return the text in a column.  The column is not NULL. */
static YqBytes
column_bytes(const YqRow *row, int column)
{
	bool		isnull;
	text	   *value = DatumGetTextPP(yq_row_value(row, column, &isnull));
	YqBytes		bytes = {VARDATA_ANY(value), VARSIZE_ANY_EXHDR(value)};

	return bytes;
}

static void
read_status(const YqRow *row)
{
	StatusReading *reading = row->argument;
	YqQueueStatus *status = palloc0(sizeof(YqQueueStatus));
	YqQueue    *queue = yq_hierarchy_find_bytes(reading->hierarchy, column_bytes(row, STATUS_PATH));
	bool		isnull;

	status->is_running = yq_row_bool(row, STATUS_RUNNING);
	status->kind = find_kind(column_bytes(row, STATUS_KIND));
	status->is_auto_created = yq_row_bool(row, STATUS_AUTO_CREATED);
	status->maximum_allocation =
		yq_hierarchy_read_amounts(reading->hierarchy, yq_row_value(row, STATUS_MAXIMUM_ALLOCATION, &isnull));
	if (queue == NULL)
	{
		status->path = yq_row_text(row, STATUS_PATH);
		reading->statuses->gone = lappend(reading->statuses->gone, status);
		return;
	}
	reading->statuses->of_queue[queue->number] = status;
}

YqQueueStatuses *
yq_queue_status_read(const YqHierarchy *hierarchy)
{
	YqQueueStatuses *statuses = palloc0(sizeof(YqQueueStatuses));
	StatusReading reading = {.hierarchy = hierarchy, .statuses = statuses};
	Snapshot	snapshot = yq_latest_snapshot();

	statuses->of_queue = palloc_extended(sizeof(YqQueueStatus *) * Max(hierarchy->queue_count, 1),
										 MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	yq_table_scan(YQ_QUEUE_STATUS, snapshot, status_columns, STATUS_COLUMN_COUNT, read_status, &reading);
	UnregisterSnapshot(snapshot);
	return statuses;
}

/* -- the change ------------------------------------------------------------ */

typedef struct Refresh
{
	YqHierarchy *hierarchy;
	const YqQueueStatuses *statuses;
	bool	   *starts_running; /* per queue: the queue would run if the cluster started with this configuration */
	bool	   *is_stopping;	/* per queue: the queue was running, and this change stops it */
	List	   *violations;
} Refresh;

static void
refuse_change(Refresh *refresh, const YqQueue *queue, const char *property, const char *value, const char *message)
{
	refresh->violations = yq_violation_add(refresh->violations, queue->path, property, value, message);
}

/* Set the state that a queue would have if the cluster started with this configuration. */
static void
set_starting_state(Refresh *refresh, YqQueue *queue)
{
	bool		parent_runs = queue->parent == NULL || refresh->starts_running[queue->parent->number];

	if (queue->configured_state == 'R' && !parent_runs && !queue->is_auto_created)
		refuse_change(refresh, queue, "state", "RUNNING",
					  psprintf("The parent queue:%s cannot be STOPPED as the child queue:%s is in RUNNING state.",
							   queue->parent->path, queue->path));
	refresh->starts_running[queue->number] = queue->configured_state == 0 ? parent_runs :
		queue->configured_state == 'R';
}

static void
change_state(Refresh *refresh, YqQueue *queue, const YqQueueStatus *status)
{
	YqQueue    *parent = queue->parent;
	bool		was_running = status->is_running && !(parent != NULL && refresh->is_stopping[parent->number]);

	refresh->is_stopping[queue->number] = (was_running && queue->configured_state == 'S') ||
		(parent != NULL && refresh->is_stopping[parent->number]);
	if (was_running || queue->configured_state != 'R')
	{
		queue->is_running = was_running && queue->configured_state != 'S';
		return;
	}
	queue->is_running = parent == NULL || parent->is_running;
	/* if the queue could not run after a start of the cluster either, another check has reported this */
	if (!queue->is_running && (parent == NULL || refresh->starts_running[parent->number]))
		refuse_change(refresh, queue, "state", "RUNNING",
					  psprintf("The parent Queue:%s is not running. Please activate the parent queue first", parent->path));
}

/*
 * Do applications or containers remain in the queues below a queue that is no longer a
 * plan?  Hadoop does not check this, and loses such applications.
 */
static bool
has_work_of_plan(const YqHierarchy *hierarchy, const char *path)
{
	return yq_containers_elsewhere_below(hierarchy, path) > 0 || yq_applications_below(path) > 0;
}

static bool
is_leaf_kind(YqQueueKind kind)
{
	return kind == YQ_QUEUE_LEAF;
}

/*
 * Check a change of a queue's kind.  Returns true if the queue now counts as a new queue, with its
 * own state and limits.
 */
static bool
change_kind(Refresh *refresh, YqQueue *queue, const YqQueueStatus *status)
{
	if (status->is_auto_created || status->kind == queue->kind)
		return false;
	if (status->kind == YQ_QUEUE_PLAN && has_work_of_plan(refresh->hierarchy, queue->path))
	{
		refuse_change(refresh, queue, "reservable", queue->is_reservable ? "true" : NULL,
					  psprintf("Can not convert the plan queue: %s, as applications or containers are in its queues", queue->path));
		return true;
	}
	if (is_leaf_kind(status->kind))
	{
		const char *old_state = yq_queue_state_name(status->is_running,
													queue->containers + yq_applications_below(queue->path));

		if (strcmp(old_state, "STOPPED") != 0 && refresh->starts_running[queue->number])
			refuse_change(refresh, queue, "queues", NULL,
						  psprintf("Can not convert the leaf queue: %s to parent queue since it is not yet in stopped state. Current State : %s",
								   queue->path, old_state));
		return true;
	}
	if (status->kind != YQ_QUEUE_MANAGED_PARENT && queue->kind == YQ_QUEUE_MANAGED_PARENT)
		refuse_change(refresh, queue, "auto-create-child-queue.enabled", "true",
					  psprintf("Can not convert parent queue: %s to auto create enabled parent queue since it could have other pre-configured queues which is not supported",
							   queue->path));
	if (status->kind == YQ_QUEUE_MANAGED_PARENT)
		refuse_change(refresh, queue, "auto-create-child-queue.enabled", NULL,
					  psprintf("Cannot convert auto create enabled parent queue: %s to leaf queue. Please check  parent queue's configuration auto-create-child-queue.enabled is set to true",
							   queue->path));
	return is_leaf_kind(queue->kind);
}

static void
check_allocation_kept(Refresh *refresh, YqQueue *queue, const YqQueueStatus *status)
{
	const YqHierarchy *hierarchy = refresh->hierarchy;

	if (is_leaf_kind(queue->kind) && is_leaf_kind(status->kind) &&
		!yq_amounts_fit_in(&hierarchy->calculator, status->maximum_allocation, queue->maximum_allocation))
		refuse_change(refresh, queue, "maximum-allocation", yq_amounts_text(hierarchy, queue->maximum_allocation),
					  psprintf("Trying to reinitialize %s the maximum allocation size can not be decreased! Current setting: %s, trying to set it to: %s",
							   queue->path, yq_amounts_text(hierarchy, status->maximum_allocation),
							   yq_amounts_text(hierarchy, queue->maximum_allocation)));
}

static void
refresh_queue(Refresh *refresh, YqQueue *queue)
{
	const YqQueueStatus *status = refresh->statuses->of_queue[queue->number];

	/*
	 * queues that are created automatically, including queues of plans, are added while their
	 * parents run (semantics/queues 1.5)
	 */
	if (yq_queue_is_of_plan(queue))
	{
		queue->is_running = queue->parent->is_running;
		return;
	}
	if (status == NULL && queue->is_auto_created && queue->parent != NULL)
	{
		queue->is_running = queue->parent->is_running && queue->configured_state != 'S';
		return;
	}
	if (status == NULL || change_kind(refresh, queue, status))
	{
		queue->is_running = refresh->starts_running[queue->number];
		return;
	}
	change_state(refresh, queue, status);
	check_allocation_kept(refresh, queue, status);
}

static int
compare_statuses(const ListCell *a, const ListCell *b)
{
	return strcmp(((YqQueueStatus *) lfirst(a))->path, ((YqQueueStatus *) lfirst(b))->path);
}

/*
 * Check that queues without a row may be removed.  A configured queue must be stopped, and without
 * applications or containers.  As in Hadoop, a RUNNING queue may be removed if the configuration
 * file keeps its property "state" with the value STOPPED.  An auto-created queue may be removed in
 * any state if nothing runs in it.
 */
static void
check_deletions(Refresh *refresh)
{
	List	   *gone = list_copy(refresh->statuses->gone);
	ListCell   *cell;

	list_sort(gone, compare_statuses);
	foreach(cell, gone)
	{
		const YqQueueStatus *status = lfirst(cell);
		YqBytes		key = yq_bytes_of_string(status->path);
		bool		is_left_stopped = status->is_auto_created ||
			yq_bytes_table_find(refresh->hierarchy->kept_stopped, key) != NULL;

		if (yq_containers_elsewhere(refresh->hierarchy, status->path) > 0 ||
			(status->kind == YQ_QUEUE_PLAN && yq_containers_elsewhere_below(refresh->hierarchy, status->path) > 0) ||
			yq_applications_below(status->path) > 0 || (status->is_running && !is_left_stopped))
			refresh->violations =
				yq_violation_add(refresh->violations, status->path, "state", NULL,
								 psprintf("%s cannot be deleted from the capacity scheduler configuration, as the queue is not yet in stopped state. Current State : %s",
										  status->path,
										  yq_queue_state_name(status->is_running && !is_left_stopped, 1)));
	}
}

List *
yq_hierarchy_refresh(YqHierarchy *hierarchy, const YqQueueStatuses *statuses)
{
	int			count = hierarchy->queue_count - hierarchy->orphan_count;
	Refresh		refresh = {.hierarchy = hierarchy, .statuses = statuses};

	refresh.starts_running = palloc0(sizeof(bool) * Max(hierarchy->queue_count, 1));
	refresh.is_stopping = palloc0(sizeof(bool) * Max(hierarchy->queue_count, 1));
	for (int i = 0; i < count; i++)
		set_starting_state(&refresh, hierarchy->queues[i]);
	for (int i = 0; i < count; i++)
		refresh_queue(&refresh, hierarchy->queues[i]);
	check_deletions(&refresh);
	return refresh.violations;
}

YqHierarchy *
yq_hierarchy_in_force(void)
{
	YqHierarchy *hierarchy = yq_hierarchy_get();

	yq_hierarchy_compute(hierarchy);
	if (!hierarchy->is_in_force)
		(void) yq_hierarchy_refresh(hierarchy, yq_queue_status_read(hierarchy));
	hierarchy->is_in_force = true;
	return hierarchy;
}
