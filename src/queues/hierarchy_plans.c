/*-------------------------------------------------------------------------
 *
 * hierarchy_plans.c
 *	  Queues below plans of reservations, in a hierarchy.
 *
 * The follower of plans changes shares every second, and makes and removes
 * queues.  Sessions follow it without making the hierarchy anew: a share is
 * changed in its place, a queue that comes takes a vacant place, and one that
 * goes leaves its place vacant, which is not taken again, because a caller may
 * still look at it.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "miscadmin.h"
#include "queues/effective.h"
#include "queues/hierarchy_read.h"
#include "queues/usage.h"
#include "store/table_scan.h"
#include "utils/memutils.h"

/* The default queue comes first, then those of reservations by name. */
#define POSITION_OF_DEFAULT 0
#define POSITION_OF_RESERVATION 1
#define POSITION_OF_VACANT 2

static const char default_suffix[] = "-default";
static const YqPlanShare whole_plan = {1, 1};
static const YqPlanShare no_share = {0, 0};

typedef enum PlanColumn
{
	PLAN_PLAN,
	PLAN_NAME,
	PLAN_CAPACITY,
	PLAN_MAXIMUM_CAPACITY,
	PLAN_COLUMNS
} PlanColumn;

static const char *const plan_columns[PLAN_COLUMNS] = {
	[PLAN_PLAN] = "plan",
	[PLAN_NAME] = "name",
	[PLAN_CAPACITY] = "capacity",
	[PLAN_MAXIMUM_CAPACITY] = "maximum_capacity",
};

static float4
row_fraction(const YqRow *row, PlanColumn column)
{
	bool		isnull;

	return DatumGetFloat4(yq_row_value(row, column, &isnull));
}

static YqPlanShare
row_share(const YqRow *row)
{
	YqPlanShare share = {row_fraction(row, PLAN_CAPACITY), row_fraction(row, PLAN_MAXIMUM_CAPACITY)};

	return share;
}

static char *
path_below(const YqQueue *plan, YqBytes name)
{
	return psprintf("%s.%.*s", plan->path, (int) name.length, name.data);
}

static void
name_queue(YqQueue *queue, char *path)
{
	queue->path = path;
	queue->key = yq_bytes_of_string(path);
	queue->name = strrchr(path, '.') + 1;
}

/* -- making them ------------------------------------------------------------- */

/* Add a queue of a plan to the rows, as if one were read; in the context of the hierarchy. */
static YqQueueRow *
add_queue(YqHierarchyLoader *loader, YqQueue *plan, char *path, int position, const YqPlanShare *share)
{
	YqQueueRow *row = MemoryContextAllocZero(loader->scratch, sizeof(YqQueueRow));
	YqQueue    *queue = palloc0(sizeof(YqQueue));

	memset(row->nulls, true, sizeof(row->nulls));
	row->queue = queue;
	row->share = share;
	name_queue(queue, path);
	queue->parent = plan;
	queue->position = position;
	plan->child_count++;
	yq_hierarchy_append_row(loader, row);
	return row;
}

/* The row of a plan; NULL when the queue is none.  Its rows are in place behind its default queue. */
static bool
is_plan_row(const YqQueueRow *row)
{
	const YqQueue *queue = row->queue;

	return !row->nulls[YQ_COL_RESERVABLE] && DatumGetBool(row->values[YQ_COL_RESERVABLE]) &&
		queue->child_count == 0 && queue->name != queue->path &&
		!(!row->nulls[YQ_COL_V2_ENABLED] && DatumGetBool(row->values[YQ_COL_V2_ENABLED])) &&
		!(!row->nulls[YQ_COL_AUTO_CREATE_CHILD_QUEUE_ENABLED] &&
		  DatumGetBool(row->values[YQ_COL_AUTO_CREATE_CHILD_QUEUE_ENABLED]));
}

/* The plans of a hierarchy, and the rows of their queues, while they are made. */
typedef struct PlanReading
{
	YqHierarchyLoader *loader;
	HTAB	   *plans;			/* YqQueueEntry */
	HTAB	   *defaults;		/* PlanDefault */
} PlanReading;

/* The row of a default queue by its path. */
typedef struct PlanDefault
{
	YqBytes		key;
	YqQueueRow *row;
} PlanDefault;

static void
read_queue_of_plan(const YqRow *tuple)
{
	PlanReading *reading = tuple->argument;
	YqHierarchyLoader *loader = reading->loader;
	YqQueueEntry *entry = yq_bytes_table_find(reading->plans, yq_row_bytes(tuple, PLAN_PLAN));
	YqPlanShare *share;
	PlanDefault *of_default;
	char	   *path;

	if (entry == NULL)
		return;
	loader->hierarchy->plan_row_count++;
	share = MemoryContextAlloc(loader->scratch, sizeof(YqPlanShare));
	*share = row_share(tuple);
	path = path_below(entry->queue, yq_row_bytes(tuple, PLAN_NAME));
	of_default = yq_bytes_table_find(reading->defaults, yq_bytes_of_string(path));
	if (of_default != NULL)
		of_default->row->share = share;
	else
		yq_hierarchy_enter_queue(loader->hierarchy, add_queue(loader, entry->queue, path, POSITION_OF_RESERVATION, share)->queue);
}

static void
add_plan(PlanReading *reading, YqQueueRow *row)
{
	YqQueue    *plan = row->queue;
	char	   *path = psprintf("%s.%s%s", plan->path, plan->name, default_suffix);
	YqQueueEntry *entry;
	PlanDefault *of_default;
	bool		found;

	row->is_plan = true;
	entry = yq_bytes_table_enter_kept(reading->plans, plan->key, &found);
	entry->queue = plan;
	of_default = yq_bytes_table_enter_kept(reading->defaults, yq_bytes_of_string(path), &found);
	of_default->row = add_queue(reading->loader, plan, path, POSITION_OF_DEFAULT, &whole_plan);
	yq_hierarchy_enter_queue(reading->loader->hierarchy, of_default->row->queue);
}

/* Places for as many queues as come in a while, so that the work of making all anew is spread over them. */
static void
add_vacant_places(YqHierarchyLoader *loader, YqQueue *plan)
{
	int			places = loader->hierarchy->plan_row_count == 0 ? 0 : 16 + plan->child_count / 4;

	for (int i = 0; i < places; i++)
	{
		YqQueueRow *row = add_queue(loader, plan, psprintf("%s.", plan->path), POSITION_OF_VACANT, &no_share);

		row->queue->is_vacant = true;
	}
}

void
yq_hierarchy_add_plan_queues(YqHierarchyLoader *loader)
{
	PlanReading reading = {.loader = loader};
	int			count = loader->row_count;

	reading.plans = yq_bytes_table_create("yquota plans", sizeof(YqQueueEntry), loader->scratch);
	reading.defaults = yq_bytes_table_create("yquota default queues", sizeof(PlanDefault), loader->scratch);
	for (int i = 0; i < count; i++)
	{
		if (is_plan_row(loader->rows[i]))
			add_plan(&reading, loader->rows[i]);
	}
	if (hash_get_num_entries(reading.plans) == 0)
		return;
	yq_table_scan(YQ_RESERVATION_QUEUE, loader->snapshot, plan_columns, PLAN_COLUMNS, read_queue_of_plan, &reading);
	for (int i = 0; i < count; i++)
	{
		if (loader->rows[i]->is_plan)
			add_vacant_places(loader, loader->rows[i]->queue);
	}
}

/* -- following changes --------------------------------------------------------- */

typedef struct Following
{
	YqHierarchy *hierarchy;
	bool	   *is_there;		/* by number of the queue: it has a row */
	int			row_count;		/* of plans */
	List	   *coming;			/* ComingQueue */
	StringInfoData path;		/* of the queue of a row */
	bool		has_changed;
} Following;

typedef struct ComingQueue
{
	YqQueue    *plan;
	char	   *path;
	YqPlanShare share;
} ComingQueue;

static void
set_present_share(Following *following, YqQueue *queue, YqPlanShare share)
{
	YqQueueLabel *label = &queue->labels[0];

	if (label->configured == share.capacity && label->configured_maximum == share.maximum)
		return;
	label->configured = share.capacity;
	label->configured_maximum = share.maximum;
	if (following->hierarchy->is_computed)
		yq_queue_of_plan_compute(following->hierarchy, queue);
	following->has_changed = true;
}

static void
follow_row(const YqRow *tuple)
{
	Following  *following = tuple->argument;
	YqBytes		name = yq_row_bytes(tuple, PLAN_NAME);
	YqQueue    *plan = yq_hierarchy_find_bytes(following->hierarchy, yq_row_bytes(tuple, PLAN_PLAN));
	YqQueue    *queue;

	if (plan == NULL || plan->kind != YQ_QUEUE_PLAN)
		return;
	following->row_count++;
	resetStringInfo(&following->path);
	appendBinaryStringInfo(&following->path, plan->path, plan->key.length);
	appendStringInfoChar(&following->path, '.');
	appendBinaryStringInfo(&following->path, name.data, name.length);
	queue = yq_hierarchy_find_bytes(following->hierarchy, (YqBytes) {following->path.data, following->path.len});
	if (queue == NULL)
	{
		ComingQueue *coming = palloc(sizeof(ComingQueue));

		coming->plan = plan;
		coming->path = MemoryContextStrdup(following->hierarchy->context, following->path.data);
		coming->share = row_share(tuple);
		following->coming = lappend(following->coming, coming);
		return;
	}
	following->is_there[queue->number] = true;
	set_present_share(following, queue, row_share(tuple));
}

static YqQueue *
find_vacant_place(const YqQueue *plan)
{
	/* those that have gone have a name, and keep it */
	for (int i = 1; i < plan->child_count; i++)
	{
		YqQueue    *queue = plan->children[i];

		if (queue->is_vacant && queue->name[0] == '\0')
			return queue;
	}
	return NULL;
}

/* Has another queue that path or name, which look-ups could not tell apart? */
static bool
is_known(const YqHierarchy *hierarchy, const char *path)
{
	return yq_bytes_table_find(hierarchy->by_path, yq_bytes_of_string(path)) != NULL ||
		yq_bytes_table_find(hierarchy->by_name, yq_bytes_of_string(strrchr(path, '.') + 1)) != NULL;
}

static bool
let_come(Following *following, const ComingQueue *coming)
{
	YqQueue    *queue = find_vacant_place(coming->plan);

	if (queue == NULL || is_known(following->hierarchy, coming->path))
		return false;
	name_queue(queue, coming->path);
	queue->is_vacant = false;
	queue->position = POSITION_OF_RESERVATION;
	queue->is_running = coming->plan->is_running;
	yq_hierarchy_enter_queue(following->hierarchy, queue);
	set_present_share(following, queue, coming->share);
	return true;
}

/* One that came and went before has another place. */
static void
note_gone(YqHierarchy *hierarchy, YqQueue *queue)
{
	YqQueueEntry *entry;
	bool		found;

	if (hierarchy->gone == NULL)
		hierarchy->gone = yq_bytes_table_create("yquota queues that have gone", sizeof(YqQueueEntry), hierarchy->context);
	entry = yq_bytes_table_enter_kept(hierarchy->gone, queue->key, &found);
	entry->queue = queue;
}

static bool
let_go(Following *following, YqQueue *queue)
{
	YqHierarchy *hierarchy = following->hierarchy;
	YqBytes		name = yq_bytes_of_string(queue->name);
	YqQueueEntry *entry = yq_bytes_table_find(hierarchy->by_name, name);

	if (entry == NULL || entry->queue != queue)
		return false;
	yq_bytes_table_remove(hierarchy->by_name, name);
	yq_bytes_table_remove(hierarchy->by_path, queue->key);
	note_gone(hierarchy, queue);
	queue->is_vacant = true;
	queue->position = POSITION_OF_VACANT;
	set_present_share(following, queue, no_share);
	return true;
}

/* Queues of a plan that have no row any more. */
static bool
follow_absent(Following *following, const YqQueue *plan)
{
	for (int i = 1; i < plan->child_count; i++)
	{
		YqQueue    *queue = plan->children[i];

		if (!queue->is_vacant && !following->is_there[queue->number] && !let_go(following, queue))
			return false;
	}
	if (!following->is_there[plan->children[0]->number])
		set_present_share(following, plan->children[0], whole_plan);
	return true;
}

/* As where the hierarchy is made anew: decisions must not depend on which queue came first. */
static void
order_queues_of_plans(const YqHierarchy *hierarchy)
{
	for (int i = 0; i < hierarchy->queue_count; i++)
	{
		YqQueue    *queue = hierarchy->queues[i];

		if (queue->kind == YQ_QUEUE_PLAN)
			qsort(queue->children, queue->child_count, sizeof(YqQueue *), yq_queue_compare_siblings);
	}
}

/* Other queues are there than before.  Callers that hold the hierarchy go on with those that they know. */
static bool
follow_coming_and_going(Following *following)
{
	YqHierarchy *hierarchy = following->hierarchy;
	ListCell   *cell;

	if (hierarchy->holds > 0)
		return false;
	for (int i = 0; i < hierarchy->queue_count; i++)
	{
		if (hierarchy->queues[i]->kind == YQ_QUEUE_PLAN && !follow_absent(following, hierarchy->queues[i]))
			return false;
	}
	foreach(cell, following->coming)
	{
		if (!let_come(following, lfirst(cell)))
			return false;
	}
	order_queues_of_plans(hierarchy);
	yq_hierarchy_forget_usage(hierarchy);
	hierarchy->plan_row_count = following->row_count;
	following->has_changed = true;
	return true;
}

bool
yq_hierarchy_follow_plans(YqHierarchy *hierarchy, Snapshot snapshot)
{
	MemoryContext scratch = AllocSetContextCreate(CurrentMemoryContext, "yquota queues of plans", ALLOCSET_SMALL_SIZES);
	MemoryContext caller = MemoryContextSwitchTo(scratch);
	Following	following = {.hierarchy = hierarchy};
	bool		has_followed = true;

	following.is_there = palloc_extended(sizeof(bool) * Max(hierarchy->queue_count, 1), MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	initStringInfo(&following.path);
	yq_table_scan(YQ_RESERVATION_QUEUE, snapshot, plan_columns, PLAN_COLUMNS, follow_row, &following);
	if (following.coming != NIL || following.row_count != hierarchy->plan_row_count)
		has_followed = follow_coming_and_going(&following);
	if (following.has_changed)
		hierarchy->plan_version++;
	MemoryContextSwitchTo(caller);
	MemoryContextDelete(scratch);
	return has_followed;
}
