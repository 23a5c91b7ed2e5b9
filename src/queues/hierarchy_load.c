/*-------------------------------------------------------------------------
 *
 * hierarchy_load.c
 *	  The hierarchy of queues in memory: making it from rows, and keeping it.
 *
 * Each session keeps one, made anew after an invalidation of a table that it is
 * made from (see yq_catalog_on_change_of_rows): a change by another session
 * before this session's next statement, an own one at once, and again when it
 * is rolled back.  The newest committed state is read, at every isolation
 * level.
 *
 * Parents are resolved before their children, so that a queue inherits by
 * copying.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "queues/hierarchy_read.h"
#include "store/catalog.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

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

/* Tie children to their parents, in order. */
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
	/* orphans and the queues below them */
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

/* -- making it --------------------------------------------------------------- */

/* Labels that some queue configures: root has them all. */
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

/* -- keeping it ------------------------------------------------------------ */

static YqHierarchy *kept = NULL;
static uint64 generation = 0;
static bool is_current = false;
static bool has_current_plans = false;	/* the queues of plans are current, too */

static void
watch_tables(void)
{
	/* where changes are applied as a replica, each table tells of its own */
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

/* Statements that a caller runs may have another one made; its own one lasts as long as its memory context. */
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
 * A change that comes while the tables are read sets a flag back.  A parallel plan
 * may read rows that are older than an invalidation that has been received already.
 */
static void
expect_to_be_current(void)
{
	is_current = has_current_plans = !IsInParallelMode();
}

/* Follow changes of the queues of plans; false when that takes another hierarchy. */
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
