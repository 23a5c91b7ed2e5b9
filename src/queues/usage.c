/*-------------------------------------------------------------------------
 *
 * usage.c
 *	  What running containers hold of queues, from the counters that charging
 *	  keeps (DESIGN 3).
 *
 * Only GUARANTEED containers use a queue; those of both kinds keep it from
 * being empty.  A container names its queue by path or by a name that no other
 * queue has; what names no queue there is, is nobody's.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "base/catalog.h"
#include "queues/effective.h"
#include "queues/hierarchy_read.h"
#include "queues/rows.h"
#include "queues/usage.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

typedef enum UsageColumn
{
	USAGE_QUEUE,
	USAGE_LABEL,
	USAGE_USERNAME,
	USAGE_EXECUTION_TYPE,
	USAGE_ALLOCATION,
	USAGE_CONTAINERS,
	USAGE_SCOPE,				/* of deltas alone */
	USAGE_COLUMNS
} UsageColumn;

static const char *const column_names[USAGE_COLUMNS] = {
	[USAGE_QUEUE] = "queue",
	[USAGE_LABEL] = "label",
	[USAGE_USERNAME] = "username",
	[USAGE_EXECUTION_TYPE] = "execution_type",
	[USAGE_ALLOCATION] = "allocation",
	[USAGE_CONTAINERS] = "containers",
	[USAGE_SCOPE] = "scope",
};

/* -- rows ------------------------------------------------------------------ */

typedef struct UsageScan
{
	const YqHierarchy *hierarchy;
	const YqQueue *queue;		/* NULL for all */
	Oid			guaranteed;
	MemoryContext row_context;	/* for what is made of one row */
	Snapshot	snapshot;		/* one for all: folding moves rows from one table to the other */
	YqUsageReader reader;
	void	   *argument;
} UsageScan;

static UsageScan
begin_scan(const YqHierarchy *hierarchy, const YqQueue *queue, YqUsageReader reader, void *argument)
{
	UsageScan	scan = {.hierarchy = hierarchy, .queue = queue, .reader = reader, .argument = argument};

	scan.guaranteed = yq_enum_oid("execution_type", "GUARANTEED");
	scan.row_context = AllocSetContextCreate(CurrentMemoryContext, "yquota usage", ALLOCSET_SMALL_SIZES);
	scan.snapshot = yq_latest_snapshot();
	return scan;
}

static void
end_scan(UsageScan *scan)
{
	UnregisterSnapshot(scan->snapshot);
	MemoryContextDelete(scan->row_context);
}

/* Does a row of deltas count usage of a queue? */
static bool
is_about_usage(const YqRow *row)
{
	bool		isnull;
	char		scope = DatumGetChar(yq_row_value(row, USAGE_SCOPE, &isnull));

	return scope == 'a' || scope == 'u';
}

static void
read_usage(const UsageScan *scan, const YqRow *row)
{
	const YqHierarchy *hierarchy = scan->hierarchy;
	YqUsage		usage = {.queue_name = yq_row_text(row, USAGE_QUEUE)};
	char	   *label = yq_row_text(row, USAGE_LABEL);
	bool		nulls[3];
	Datum		execution_type = yq_row_value(row, USAGE_EXECUTION_TYPE, &nulls[0]);
	Datum		allocation = yq_row_value(row, USAGE_ALLOCATION, &nulls[1]);
	Datum		containers = yq_row_value(row, USAGE_CONTAINERS, &nulls[2]);

	if (usage.queue_name == NULL || nulls[0] || nulls[1] || nulls[2])
		return;
	if (scan->queue != NULL && yq_hierarchy_find_by_name(hierarchy, usage.queue_name) != scan->queue)
		return;
	usage.username = yq_row_text(row, USAGE_USERNAME);
	if (hierarchy->settings.has_node_labels && label != NULL)
		usage.label = yq_hierarchy_label(hierarchy, label);
	usage.is_guaranteed = DatumGetObjectId(execution_type) == scan->guaranteed;
	usage.amounts = yq_hierarchy_read_amounts(hierarchy, allocation);
	usage.containers = DatumGetInt64(containers);
	scan->reader(&usage, scan->argument);
}

static void
read_counter(const YqRow *row)
{
	const UsageScan *scan = row->argument;
	MemoryContext old_context = MemoryContextSwitchTo(scan->row_context);

	read_usage(scan, row);
	MemoryContextSwitchTo(old_context);
	MemoryContextReset(scan->row_context);
}

static void
read_delta(const YqRow *row)
{
	if (is_about_usage(row))
		read_counter(row);
}

/* -- of all queues --------------------------------------------------------- */

static void
note_elsewhere(YqHierarchy *hierarchy, const char *name, int64 containers)
{
	YqBytes		key = {name, strlen(name)};
	bool		found;
	YqNameCount *entry = yq_bytes_table_enter(hierarchy->containers_elsewhere, key,
											  hierarchy->context, &found);

	entry->count = containers + (found ? entry->count : 0);
}

int64
yq_containers_elsewhere(const YqHierarchy *hierarchy, const char *path)
{
	const char *dot = strrchr(path, '.');
	const char *names[] = {path, dot == NULL ? path : dot + 1};
	int64		count = 0;

	for (int i = 0; i < (dot == NULL ? 1 : 2); i++)
	{
		YqBytes		key = {names[i], strlen(names[i])};
		YqNameCount *entry = yq_bytes_table_find(hierarchy->containers_elsewhere, key);

		count += entry == NULL ? 0 : entry->count;
	}
	return count;
}

static void
add_usage(const YqUsage *usage, void *argument)
{
	YqHierarchy *hierarchy = argument;
	YqQueue    *queue = yq_hierarchy_find_by_name(hierarchy, usage->queue_name);

	if (queue == NULL)
		note_elsewhere(hierarchy, usage->queue_name, usage->containers);
	for (; queue != NULL; queue = queue->parent)
	{
		YqQueueLabel *entry = yq_queue_label(queue, usage->label);

		queue->containers += usage->containers;
		for (int i = 0; usage->is_guaranteed && entry != NULL && i < hierarchy->calculator.types; i++)
			entry->used[i] += usage->amounts[i];
	}
}

static void
forget_usage(YqHierarchy *hierarchy)
{
	HASH_SEQ_STATUS elsewhere;
	YqNameCount *entry;

	hash_seq_init(&elsewhere, hierarchy->containers_elsewhere);
	while ((entry = hash_seq_search(&elsewhere)) != NULL)
		entry->count = 0;
	for (int i = 0; i < hierarchy->queue_count; i++)
	{
		YqQueue    *queue = hierarchy->queues[i];

		queue->containers = 0;
		for (int j = 0; j < queue->label_count; j++)
			memset(queue->labels[j].used, 0, hierarchy->calculator.types * sizeof(int64));
	}
}

void
yq_hierarchy_read_usage(YqHierarchy *hierarchy)
{
	UsageScan	scan = begin_scan(hierarchy, NULL, add_usage, hierarchy);

	forget_usage(hierarchy);
	yq_rows_read(YQ_USAGE_COUNTER, scan.snapshot, column_names, USAGE_SCOPE, read_counter, &scan);
	yq_rows_read(YQ_COUNTER_DELTA, scan.snapshot, column_names, USAGE_COLUMNS, read_delta, &scan);
	end_scan(&scan);
}

/* -- of one queue ---------------------------------------------------------- */

void
yq_usage_of_leaf_read(const YqHierarchy *hierarchy, const YqQueue *leaf,
					  YqUsageReader reader, void *argument)
{
	static const char index_name[] = "usage_counter_queue_label_username_execution_type_key";
	UsageScan	scan = begin_scan(hierarchy, leaf, reader, argument);

	/* events name it by its path or, when it is the only one, by its name */
	yq_rows_read_index(YQ_USAGE_COUNTER, index_name, scan.snapshot, leaf->path, NULL,
					   column_names, USAGE_SCOPE, read_counter, &scan);
	if (leaf->name != leaf->path)
		yq_rows_read_index(YQ_USAGE_COUNTER, index_name, scan.snapshot, leaf->name, NULL,
						   column_names, USAGE_SCOPE, read_counter, &scan);
	yq_rows_read(YQ_COUNTER_DELTA, scan.snapshot, column_names, USAGE_COLUMNS, read_delta, &scan);
	end_scan(&scan);
}
