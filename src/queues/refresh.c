/*-------------------------------------------------------------------------
 *
 * refresh.c
 *	  States of queues, and what a change of the configuration may do to queues
 *	  that are in force.
 *
 * Hadoop makes a new tree, as if it had just started, compares it with the one
 * in force, and then carries the new configuration into that, from root down.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "access/table.h"
#include "access/tableam.h"
#include "base/catalog.h"
#include "executor/tuptable.h"
#include "miscadmin.h"
#include "queues/effective.h"
#include "queues/hierarchy_read.h"
#include "queues/refresh.h"
#include "queues/text.h"
#include "queues/validate.h"
#include "utils/builtins.h"
#include "utils/rel.h"
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
yq_queue_state_name(bool is_running, int64 containers)
{
	return is_running ? "RUNNING" : containers > 0 ? "DRAINING" : "STOPPED";
}

/* -- what is in force ------------------------------------------------------ */

static YqQueueKind
find_kind(const char *name)
{
	for (int i = 0; i < (int) lengthof(kind_names); i++)
	{
		if (strcmp(kind_names[i], name) == 0)
			return (YqQueueKind) i;
	}
	return YQ_QUEUE_LEAF;
}

HTAB *
yq_queue_status_read(const YqHierarchy *hierarchy)
{
	static const char *const names[] = {"path", "running", "kind", "auto_created", "maximum_allocation"};
	Relation	relation = yq_table_open(YQ_QUEUE_STATUS, AccessShareLock);
	HTAB	   *statuses = yq_bytes_table_create("yquota queue status", sizeof(YqQueueStatus), CurrentMemoryContext);
	Snapshot	snapshot = yq_latest_snapshot();
	TupleTableSlot *slot = table_slot_create(relation, NULL);
	TableScanDesc scan = table_beginscan(relation, snapshot, 0, NULL);
	AttrNumber	columns[lengthof(names)];

	for (int i = 0; i < (int) lengthof(names); i++)
		columns[i] = yq_column(relation, names[i]);
	while (table_scan_getnextslot(scan, ForwardScanDirection, slot))
	{
		bool		isnull;
		bool		found;
		char	   *path = TextDatumGetCString(slot_getattr(slot, columns[0], &isnull));
		YqBytes		key = {path, strlen(path)};
		YqQueueStatus *status = yq_bytes_table_enter(statuses, key, CurrentMemoryContext, &found);

		CHECK_FOR_INTERRUPTS();
		status->path = path;
		status->is_running = DatumGetBool(slot_getattr(slot, columns[1], &isnull));
		status->kind = find_kind(TextDatumGetCString(slot_getattr(slot, columns[2], &isnull)));
		status->is_auto_created = DatumGetBool(slot_getattr(slot, columns[3], &isnull));
		status->maximum_allocation = yq_hierarchy_read_amounts(hierarchy, slot_getattr(slot, columns[4], &isnull));
		status->has_queue = false;
	}
	table_endscan(scan);
	ExecDropSingleTupleTableSlot(slot);
	UnregisterSnapshot(snapshot);
	table_close(relation, AccessShareLock);
	return statuses;
}

/* -- the change ------------------------------------------------------------ */

typedef struct Refresh
{
	YqHierarchy *hierarchy;
	HTAB	   *statuses;
	bool	   *starts_running; /* per queue: in a cluster that starts now */
	bool	   *is_stopping;	/* per queue: by this change */
	List	   *violations;
} Refresh;

static void
refuse(Refresh *refresh, const YqQueue *queue, const char *property, const char *value, const char *message)
{
	refresh->violations = yq_violation_add(refresh->violations, queue->path, property, value, message);
}

/* The state that a queue has when the cluster starts. */
static void
set_starting_state(Refresh *refresh, YqQueue *queue)
{
	bool		parent_runs = queue->parent == NULL || refresh->starts_running[queue->parent->number];

	if (queue->configured_state == 'R' && !parent_runs)
		refuse(refresh, queue, "state", "RUNNING",
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
	/* has been told when it could not have started either */
	if (!queue->is_running && (parent == NULL || refresh->starts_running[parent->number]))
		refuse(refresh, queue, "state", "RUNNING",
			   psprintf("The parent Queue:%s is not running. Please activate the parent queue first", parent->path));
}

static bool
is_leaf(YqQueueKind kind)
{
	return kind == YQ_QUEUE_LEAF;
}

/* What has become of a queue's kind; returns whether it is another queue now. */
static bool
change_kind(Refresh *refresh, YqQueue *queue, const YqQueueStatus *status)
{
	if (status->is_auto_created || status->kind == queue->kind)
		return false;
	if (is_leaf(status->kind))
	{
		const char *old_state = yq_queue_state_name(status->is_running, queue->containers);

		if (strcmp(old_state, "STOPPED") != 0 && refresh->starts_running[queue->number])
			refuse(refresh, queue, "queues", NULL,
				   psprintf("Can not convert the leaf queue: %s to parent queue since it is not yet in stopped state. Current State : %s",
							queue->path, old_state));
		return true;
	}
	if (status->kind != YQ_QUEUE_MANAGED_PARENT && queue->kind == YQ_QUEUE_MANAGED_PARENT)
		refuse(refresh, queue, "auto-create-child-queue.enabled", "true",
			   psprintf("Can not convert parent queue: %s to auto create enabled parent queue since it could have other pre-configured queues which is not supported",
						queue->path));
	if (status->kind == YQ_QUEUE_MANAGED_PARENT)
		refuse(refresh, queue, "auto-create-child-queue.enabled", NULL,
			   psprintf("Cannot convert auto create enabled parent queue: %s to leaf queue. Please check  parent queue's configuration auto-create-child-queue.enabled is set to true",
						queue->path));
	return is_leaf(queue->kind);
}

static void
check_allocation_kept(Refresh *refresh, YqQueue *queue, const YqQueueStatus *status)
{
	const YqHierarchy *hierarchy = refresh->hierarchy;

	if (is_leaf(queue->kind) && is_leaf(status->kind) &&
		!yq_amounts_fit_in(&hierarchy->calculator, status->maximum_allocation, queue->maximum_allocation))
		refuse(refresh, queue, "maximum-allocation", yq_amounts_text(hierarchy, queue->maximum_allocation),
			   psprintf("Trying to reinitialize %s the maximum allocation size can not be decreased! Current setting: %s, trying to set it to: %s",
						queue->path, yq_amounts_text(hierarchy, status->maximum_allocation),
						yq_amounts_text(hierarchy, queue->maximum_allocation)));
}

static void
refresh_queue(Refresh *refresh, YqQueue *queue)
{
	YqQueueStatus *status = yq_bytes_table_find(refresh->statuses, queue->key);

	if (status != NULL)
		status->has_queue = true;
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
 * A queue goes when it is stopped and nothing runs in it.  Hadoop also lets go of
 * one that is RUNNING if a property is left that says it should be STOPPED.
 */
static void
check_deletions(Refresh *refresh)
{
	HASH_SEQ_STATUS sequence;
	YqQueueStatus *status;
	List	   *missing = NIL;
	ListCell   *cell;

	hash_seq_init(&sequence, refresh->statuses);
	while ((status = hash_seq_search(&sequence)) != NULL)
	{
		if (!status->has_queue && !status->is_auto_created)
			missing = lappend(missing, status);
	}
	list_sort(missing, compare_statuses);
	foreach(cell, missing)
	{
		bool		is_left_stopped;

		status = lfirst(cell);
		is_left_stopped = yq_bytes_table_find(refresh->hierarchy->kept_stopped, status->key) != NULL;
		if (yq_containers_elsewhere(refresh->hierarchy, status->path) > 0 || (status->is_running && !is_left_stopped))
			refresh->violations =
				yq_violation_add(refresh->violations, status->path, "state", NULL,
								 psprintf("%s cannot be deleted from the capacity scheduler configuration, as the queue is not yet in stopped state. Current State : %s",
										  status->path,
										  yq_queue_state_name(status->is_running && !is_left_stopped, 1)));
	}
}

List *
yq_hierarchy_refresh(YqHierarchy *hierarchy, HTAB *statuses)
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
