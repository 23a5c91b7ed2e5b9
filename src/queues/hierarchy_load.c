/*-------------------------------------------------------------------------
 *
 * hierarchy_load.c
 *	  The hierarchy of queues in memory: building it from rows and from plans of
 *	  reservations, and keeping it up to date.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "queues/effective.h"
#include "queues/hierarchy_read.h"
#include "queues/usage.h"
#include "store/catalog.h"
#include "store/table_scan.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

/* -- hierarchy plans ----------------------------------------------------------- */

/*
 * Keep the queues of plans up to date in the session's hierarchy.
 *
 * The plan follower changes shares every second, and adds and removes queues.  Sessions
 * apply these changes without rebuilding the hierarchy.  A changed share is
 * overwritten.  An added queue takes one of the vacant YqQueue entries that each plan
 * has.  The entry of a removed queue becomes vacant but is not used again, because a
 * caller may still have a pointer to it.
 */

/* Positions among the children of a plan: first the default queue, then the queues of reservations by name. */
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

/* -- building ----------------------------------------------------------------- */

/*
 * Add a queue of a plan, and a row for it, as if the row had been read from
 * yquota.queue.  The current memory context is that of the hierarchy.
 */
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

/*
 * Does the row configure a plan?  Rows for the plan's queues are appended later.  The
 * row for the default queue comes first.
 */
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

/* State while the rows of the plans' queues are read: all plans, and the rows of their default queues. */
typedef struct PlanReading
{
	YqHierarchyLoader *loader;
	HTAB	   *plans;			/* YqQueueEntry */
	HTAB	   *defaults;		/* PlanDefault */
} PlanReading;

/* Entry of the hash table that finds the row of a plan's default queue by the queue's path. */
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

/*
 * Add vacant YqQueue entries to a plan.  Queues that are added later take these
 * entries, so the hierarchy rarely has to be rebuilt.
 */
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

/* -- applying changes ---------------------------------------------------------- */

typedef struct Following
{
	YqHierarchy *hierarchy;
	bool	   *is_there;		/* indexed by queue number: the queue still has a row */
	int			row_count;		/* number of rows of yquota.reservation_queue that belong to plans of the hierarchy */
	List	   *coming;			/* queues to be added: ComingQueue * elements */
	StringInfoData path;		/* path of the queue that the current row describes */
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
	/* a removed queue keeps its name, so its entry is not used again */
	for (int i = 1; i < plan->child_count; i++)
	{
		YqQueue    *queue = plan->children[i];

		if (queue->is_vacant && queue->name[0] == '\0')
			return queue;
	}
	return NULL;
}

/* Does the hierarchy already contain the path or the short name?  Then a look-up by name would be ambiguous. */
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

/* Record that a queue was removed.  A queue with the same path that is added later gets another entry. */
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

/* Remove those queues of a plan whose rows no longer exist. */
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

/*
 * Sort siblings as a rebuilt hierarchy would sort them.  Otherwise, decisions would
 * depend on the order in which queues were added.
 */
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

/*
 * Add and remove queues of plans.  Returns false if the hierarchy must be rebuilt
 * instead, for example because a caller still uses it with its present queues.
 */
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

/* -- hierarchy load ------------------------------------------------------------ */

/*
 * Each session keeps a hierarchy.  After an invalidation of a table from which the hierarchy is
 * built, the session rebuilds it (see yq_catalog_on_change_of_rows).  The session sees another
 * session's change before its next statement.  It sees its own change immediately, and the former
 * state after a rollback.  At every isolation level, the session reads the newest committed state.
 *
 * A parent's properties are set before the properties of its children, so a child
 * inherits by copying.
 */

/* -- the tree -------------------------------------------------------------- */

int
yq_queue_compare_siblings(const void *a, const void *b)
{
	const YqQueue *left = *(YqQueue *const *) a;
	const YqQueue *right = *(YqQueue *const *) b;

	if (left->is_auto_created != right->is_auto_created)
		return right->is_auto_created ? -1 : 1;
	if (left->position != right->position)
		return left->position < right->position ? -1 : 1;
	return strcmp(left->path, right->path);
}

void
yq_hierarchy_enter_queue(YqHierarchy *hierarchy, YqQueue *queue)
{
	YqQueueEntry *entry;
	YqBytes		key;
	bool		found;

	entry = yq_bytes_table_enter_kept(hierarchy->by_path, queue->key, &found);
	entry->queue = queue;
	if (queue->name == queue->path)
		return;
	key.data = queue->name;
	key.length = queue->path + queue->key.length - queue->name;
	entry = yq_bytes_table_enter_kept(hierarchy->by_name, key, &found);
	entry->queue = found ? NULL : queue;
}

static void
make_queues(YqHierarchyLoader *loader)
{
	YqHierarchy *hierarchy = loader->hierarchy;

	YqQueue    *queues = palloc_extended(sizeof(YqQueue) * Max(loader->row_count, 1),
										 MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);

	hierarchy->by_path = yq_bytes_table_create_for("yquota queues", sizeof(YqQueueEntry), loader->row_count,
												   hierarchy->context);
	hierarchy->containers_elsewhere = yq_bytes_table_create("yquota containers elsewhere",
															 sizeof(YqNameCount), hierarchy->context);
	hierarchy->by_name = yq_bytes_table_create("yquota queue names", sizeof(YqQueueEntry), hierarchy->context);
	for (int i = 0; i < loader->row_count; i++)
	{
		YqQueueRow *row = loader->rows[i];
		YqQueue    *queue = &queues[i];

		queue->path = pnstrdup(row->key.data, row->key.length);
		queue->key.data = queue->path;
		queue->key.length = row->key.length;
		queue->name = strrchr(queue->path, '.') == NULL ? queue->path : strrchr(queue->path, '.') + 1;
		queue->position = row->nulls[YQ_COL_POSITION] ? PG_INT32_MAX : DatumGetInt32(row->values[YQ_COL_POSITION]);
		queue->is_auto_created = DatumGetBool(row->values[YQ_COL_AUTO_CREATED]);
		row->queue = queue;
		yq_hierarchy_enter_queue(hierarchy, queue);
	}
}

static void
find_parents(YqHierarchyLoader *loader)
{
	YqHierarchy *hierarchy = loader->hierarchy;

	for (int i = 0; i < loader->row_count; i++)
	{
		YqQueue    *queue = loader->rows[i]->queue;
		YqBytes		above = {queue->path, Max(queue->name - queue->path - 1, 0)};
		YqQueueEntry *entry;

		if (queue->name == queue->path)
		{
			hierarchy->root = queue;
			continue;
		}
		entry = yq_bytes_table_find(hierarchy->by_path, above);
		if (entry == NULL)
			continue;
		queue->parent = entry->queue;
		queue->parent->child_count++;
	}
}

/* Link children to their parents, in the order of the siblings. */
static void
tie_children(YqHierarchyLoader *loader)
{
	for (int i = 0; i < loader->row_count; i++)
	{
		YqQueue    *queue = loader->rows[i]->queue;

		if (queue->child_count > 0)
			queue->children = palloc(sizeof(YqQueue *) * queue->child_count);
		queue->child_count = 0;
	}
	for (int i = 0; i < loader->row_count; i++)
	{
		YqQueue    *queue = loader->rows[i]->queue;

		if (queue->parent != NULL)
			queue->parent->children[queue->parent->child_count++] = queue;
	}
	for (int i = 0; i < loader->row_count; i++)
	{
		YqQueue    *queue = loader->rows[i]->queue;

		if (queue->child_count <= 1)
			continue;
		qsort(queue->children, queue->child_count, sizeof(YqQueue *), yq_queue_compare_siblings);
	}
}

static void
append_subtree(YqHierarchy *hierarchy, YqQueue *queue, int depth)
{
	check_stack_depth();
	queue->depth = depth;
	queue->number = hierarchy->queue_count;
	hierarchy->queues[hierarchy->queue_count++] = queue;
	for (int i = 0; i < queue->child_count; i++)
		append_subtree(hierarchy, queue->children[i], depth + 1);
}

static void
order_queues(YqHierarchyLoader *loader)
{
	YqHierarchy *hierarchy = loader->hierarchy;

	hierarchy->queues = palloc_extended(sizeof(YqQueue *) * Max(loader->row_count, 1), MCXT_ALLOC_HUGE);
	if (hierarchy->root != NULL)
		append_subtree(hierarchy, hierarchy->root, 0);
	hierarchy->orphan_count = loader->row_count - hierarchy->queue_count;
	/* the search from root did not reach orphans and their descendants; set their depth */
	for (int i = 0; i < loader->row_count; i++)
	{
		YqQueue    *queue = loader->rows[i]->queue;

		if (queue->parent == NULL && queue != hierarchy->root)
			append_subtree(hierarchy, queue, 1);
	}
	loader->row_of = MemoryContextAllocHuge(loader->scratch, sizeof(YqQueueRow *) * Max(loader->row_count, 1));
	for (int i = 0; i < loader->row_count; i++)
		loader->row_of[loader->rows[i]->queue->number] = loader->rows[i];
}

/* -- building the hierarchy -------------------------------------------------- */

/* Collect the labels that any queue configures.  root has an entry for each of them. */
static bool *
find_configured_labels(YqHierarchyLoader *loader)
{
	YqHierarchy *hierarchy = loader->hierarchy;
	bool	   *configured = palloc0(sizeof(bool) * hierarchy->label_count);

	for (int i = 0; i < loader->row_count; i++)
	{
		for (const YqLabelRow *row = loader->rows[i]->labels; row != NULL; row = row->next)
			configured[yq_hierarchy_label(hierarchy, row->label)] = true;
	}
	return configured;
}

YqHierarchy *
yq_hierarchy_load(Snapshot snapshot, MemoryContext parent)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "yquota queues",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext scratch = AllocSetContextCreate(CurrentMemoryContext, "yquota queues, rows",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old_context = MemoryContextSwitchTo(scratch);
	YqHierarchyLoader loader = {.snapshot = snapshot, .scratch = scratch};
	bool	   *configured_labels;

	loader.hierarchy = MemoryContextAllocZero(context, sizeof(YqHierarchy));
	loader.hierarchy->context = context;
	yq_hierarchy_read_queues(&loader);
	MemoryContextSwitchTo(context);
	make_queues(&loader);
	find_parents(&loader);
	yq_hierarchy_add_plan_queues(&loader);
	tie_children(&loader);
	order_queues(&loader);
	MemoryContextSwitchTo(scratch);
	yq_hierarchy_read(&loader);
	yq_hierarchy_read_access(&loader);
	configured_labels = find_configured_labels(&loader);

	MemoryContextSwitchTo(context);
	for (int i = 0; i < loader.hierarchy->queue_count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		yq_hierarchy_resolve(&loader, loader.hierarchy->queues[i], configured_labels);
	}
	yq_hierarchy_read_nodes(loader.hierarchy, snapshot);
	MemoryContextSwitchTo(old_context);
	MemoryContextDelete(scratch);
	MemoryContextSetParent(context, parent);
	return loader.hierarchy;
}

/* -- keeping the hierarchy ------------------------------------------------- */

static YqHierarchy *kept = NULL;
static uint64 generation = 0;
static bool is_current = false;
static bool has_current_plans = false;	/* are the queues of plans in the kept hierarchy current? */

static void
watch_tables(void)
{
	/* a replica that applies changes gets a separate invalidation for each changed table */
	static const YqTable tables[] = {
		YQ_QUEUE, YQ_NODE, YQ_QUEUE_LABEL, YQ_QUEUE_USER, YQ_SCHEDULER_SETTING, YQ_WILDCARD_TEMPLATE,
		YQ_MULTI_NODE_SORTING_POLICY, YQ_NODE_LABEL, YQ_UNMAPPED_PROPERTY, YQ_ACTIVE_LEAF, YQ_RESOURCE_TYPE,
		YQ_WORKFLOW_PRIORITY_MAPPING, YQ_MAPPING_RULE,
	};
	static bool is_watching = false;

	if (is_watching)
		return;
	for (int i = 0; i < (int) lengthof(tables); i++)
		yq_catalog_on_change_of_rows(tables[i], &is_current);
	yq_catalog_on_abort(&is_current);
	yq_catalog_on_change_of_rows(YQ_RESERVATION_QUEUE, &has_current_plans);
	is_watching = true;
}

static void
end_hold(void *argument)
{
	YqHierarchy *hierarchy = argument;

	hierarchy->holds--;
	if (hierarchy->holds == 0 && hierarchy != kept)
		MemoryContextDelete(hierarchy->context);
}

/*
 * Count the caller as a user of the hierarchy until the caller's memory context is
 * deleted.  A statement that the caller runs may build another hierarchy.
 */
static YqHierarchy *
hold(YqHierarchy *hierarchy)
{
	MemoryContextCallback *callback = palloc(sizeof(MemoryContextCallback));

	callback->func = end_hold;
	callback->arg = hierarchy;
	MemoryContextRegisterResetCallback(CurrentMemoryContext, callback);
	hierarchy->holds++;
	return hierarchy;
}

/*
 * Mark the hierarchy as current before its tables are read.  An invalidation that
 * arrives during the read clears the marks.  In a parallel plan, the marks stay clear,
 * because the plan's snapshot may be older than an invalidation that was already
 * processed.
 */
static void
expect_to_be_current(void)
{
	is_current = has_current_plans = !IsInParallelMode();
}

/*
 * Apply changes of the queues of plans to the hierarchy.  Returns false if the
 * hierarchy must be rebuilt instead.
 */
static bool
follow_plans(void)
{
	Snapshot	snapshot;
	bool		has_followed;

	expect_to_be_current();
	snapshot = yq_latest_snapshot();
	PG_TRY();
	{
		has_followed = yq_hierarchy_follow_plans(kept, snapshot);
	}
	PG_CATCH();
	{
		is_current = false;
		PG_RE_THROW();
	}
	PG_END_TRY();
	UnregisterSnapshot(snapshot);
	return has_followed;
}

static YqHierarchy *
load_anew(void)
{
	Snapshot	snapshot;
	YqHierarchy *made;

	expect_to_be_current();
	snapshot = yq_latest_snapshot();
	PG_TRY();
	{
		made = yq_hierarchy_load(snapshot, CacheMemoryContext);
	}
	PG_CATCH();
	{
		is_current = false;
		PG_RE_THROW();
	}
	PG_END_TRY();
	UnregisterSnapshot(snapshot);
	if (kept != NULL && kept->holds == 0)
		MemoryContextDelete(kept->context);
	kept = made;
	kept->generation = ++generation;
	return kept;
}

YqHierarchy *
yq_hierarchy_get(void)
{
	watch_tables();
	yq_catalog_accept_changes();
	if (is_current && kept != NULL && (has_current_plans || follow_plans()))
		return hold(kept);
	return hold(load_anew());
}
