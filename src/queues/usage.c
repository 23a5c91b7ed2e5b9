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

#include "access/table.h"
#include "access/tableam.h"
#include "base/catalog.h"
#include "executor/tuptable.h"
#include "miscadmin.h"
#include "queues/effective.h"
#include "queues/hierarchy_read.h"
#include "utils/builtins.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

typedef enum UsageColumn
{
	USAGE_QUEUE,
	USAGE_LABEL,
	USAGE_EXECUTION_TYPE,
	USAGE_ALLOCATION,
	USAGE_CONTAINERS,
	USAGE_SCOPE,				/* of deltas alone */
	USAGE_COLUMNS
} UsageColumn;

static const char *const column_names[USAGE_COLUMNS] = {
	[USAGE_QUEUE] = "queue",
	[USAGE_LABEL] = "label",
	[USAGE_EXECUTION_TYPE] = "execution_type",
	[USAGE_ALLOCATION] = "allocation",
	[USAGE_CONTAINERS] = "containers",
	[USAGE_SCOPE] = "scope",
};

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
add_usage(YqHierarchy *hierarchy, const char *name, const char *label_name, bool is_guaranteed,
		  Datum allocation, int64 containers)
{
	YqQueue    *queue = yq_hierarchy_find_by_name(hierarchy, name);
	int			label = hierarchy->settings.has_node_labels ? yq_hierarchy_label(hierarchy, label_name) : 0;
	int64	   *amounts = yq_hierarchy_read_amounts(hierarchy, allocation);

	if (queue == NULL)
		note_elsewhere(hierarchy, name, containers);
	for (; queue != NULL; queue = queue->parent)
	{
		YqQueueLabel *entry = yq_queue_label(queue, label);

		queue->containers += containers;
		for (int i = 0; is_guaranteed && entry != NULL && i < hierarchy->calculator.types; i++)
			entry->used[i] += amounts[i];
	}
	pfree(amounts);
}

/* A row of either table counts when it is about usage of a queue. */
static void
read_row(YqHierarchy *hierarchy, TupleTableSlot *slot, const AttrNumber *columns, Oid guaranteed)
{
	Datum		values[USAGE_COLUMNS];
	bool		nulls[USAGE_COLUMNS];

	for (int i = 0; i < USAGE_COLUMNS; i++)
	{
		nulls[i] = columns[i] == InvalidAttrNumber;
		if (!nulls[i])
			values[i] = slot_getattr(slot, columns[i], &nulls[i]);
	}
	if (columns[USAGE_SCOPE] != InvalidAttrNumber &&
		DatumGetChar(values[USAGE_SCOPE]) != 'a' && DatumGetChar(values[USAGE_SCOPE]) != 'u')
		return;
	if (nulls[USAGE_QUEUE] || nulls[USAGE_ALLOCATION] || nulls[USAGE_CONTAINERS] || nulls[USAGE_EXECUTION_TYPE])
		return;
	add_usage(hierarchy, TextDatumGetCString(values[USAGE_QUEUE]),
			  nulls[USAGE_LABEL] ? "" : TextDatumGetCString(values[USAGE_LABEL]),
			  DatumGetObjectId(values[USAGE_EXECUTION_TYPE]) == guaranteed,
			  values[USAGE_ALLOCATION], DatumGetInt64(values[USAGE_CONTAINERS]));
}

static void
read_counters(YqHierarchy *hierarchy, YqTable table, Snapshot snapshot)
{
	Relation	relation = yq_table_open(table, AccessShareLock);
	TupleTableSlot *slot = table_slot_create(relation, NULL);
	TableScanDesc scan = table_beginscan(relation, snapshot, 0, NULL);
	Oid			guaranteed = yq_enum_oid("execution_type", "GUARANTEED");
	AttrNumber	columns[USAGE_COLUMNS];

	for (int i = 0; i < USAGE_COLUMNS; i++)
		columns[i] = i == USAGE_SCOPE && table == YQ_USAGE_COUNTER ? InvalidAttrNumber :
			yq_column(relation, column_names[i]);
	while (table_scan_getnextslot(scan, ForwardScanDirection, slot))
	{
		CHECK_FOR_INTERRUPTS();
		read_row(hierarchy, slot, columns, guaranteed);
	}
	table_endscan(scan);
	ExecDropSingleTupleTableSlot(slot);
	table_close(relation, AccessShareLock);
}

void
yq_hierarchy_read_usage(YqHierarchy *hierarchy)
{
	Snapshot	snapshot = yq_latest_snapshot();
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
	/* one snapshot for both: folding moves rows from one to the other */
	read_counters(hierarchy, YQ_USAGE_COUNTER, snapshot);
	read_counters(hierarchy, YQ_COUNTER_DELTA, snapshot);
	UnregisterSnapshot(snapshot);
}
