/*-------------------------------------------------------------------------
 *
 * cluster_usage.c
 *	  Resources that GUARANTEED containers use in queues, for users and on nodes.
 *
 * OPPORTUNISTIC containers do not reduce the resources of a node that the scheduler may
 * allocate, as in Hadoop's SchedulerNode.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "base/delta_entries.h"
#include "catalog/pg_type_d.h"
#include "miscadmin.h"
#include "queues/hierarchy.h"
#include "scheduler/load/cluster_usage.h"
#include "utils/array.h"
#include "utils/memutils.h"
#include "utils/xid8.h"

typedef struct Reading
{
	YqLoadedCluster *loaded;
	Oid			guaranteed;
	MemoryContext row_context;
	bool		notes_stale;	/* the caller will prepare the changed queues */
	int64		own_rows;
} Reading;

static Reading
begin_reading(YqLoadedCluster *loaded, bool notes_stale)
{
	return (Reading) {.loaded = loaded, .notes_stale = notes_stale,
		.guaranteed = yq_enum_oid("execution_type", "GUARANTEED"),
		.row_context = AllocSetContextCreate(CurrentMemoryContext, "yquota usage", ALLOCSET_SMALL_SIZES)};
}

/* First columns of the counters of queues, and of the counters of nodes. */
typedef enum UsageColumn
{
	USAGE_EXECUTION_TYPE,
	USAGE_ALLOCATION,
	USAGE_QUEUE,				/* path of the queue; in counters of nodes, name of the node */
	USAGE_LABEL,
	USAGE_USERNAME,
	USAGE_NODE,					/* column of deltas only */
	USAGE_SCOPE,				/* column of deltas only */
	USAGE_PACKED,				/* column of deltas only */
	USAGE_COLUMNS
} UsageColumn;

static const char *const usage_columns[] = {"execution_type", "allocation", "queue", "label", "username", "node", "scope", "packed"};
static const char *const node_columns[] = {"execution_type", "allocation", "node"};

/* Return the amounts in a row about GUARANTEED containers, or NULL for other containers. */
static const int64 *
guaranteed_amounts(const Reading *reading, const YqRow *row)
{
	bool		isnull;
	Datum		value = yq_row_value(row, USAGE_EXECUTION_TYPE, &isnull);

	if (isnull || DatumGetObjectId(value) != reading->guaranteed)
		return NULL;
	value = yq_row_value(row, USAGE_ALLOCATION, &isnull);
	return isnull ? NULL : yq_hierarchy_read_amounts(reading->loaded->cluster->hierarchy, value);
}

static int
find_label(const YqHierarchy *hierarchy, YqBytes label)
{
	if (!hierarchy->settings.has_node_labels || label.data == NULL)
		return 0;
	return yq_hierarchy_label(hierarchy, pnstrdup(label.data, label.length));
}

/* Find a queue by its name in a row.  Nearly all rows contain the path; the others contain a short name. */
static YqQueue *
queue_of(const Reading *reading, YqBytes path)
{
	const YqHierarchy *hierarchy = reading->loaded->cluster->hierarchy;
	YqQueue    *queue;

	if (path.data == NULL)
		return NULL;
	queue = yq_hierarchy_find_bytes(hierarchy, path);
	if (queue == NULL)
		queue = yq_hierarchy_find_by_name(hierarchy, pnstrdup(path.data, path.length));
	/* containers may end in a queue that was removed */
	return queue != NULL || !reading->loaded->is_kept ? queue : yq_hierarchy_find_gone(hierarchy, path);
}

static void
note_change(const Reading *reading, YqClusterQueue *queue, YqClusterUser *user)
{
	if (!reading->notes_stale)
		return;
	yq_loaded_note_stale(reading->loaded, queue);
	if (user != NULL)
		user->is_stale = yq_is_fair(queue->policy);
}

static void
add_to_queue(const Reading *reading, YqBytes path, YqBytes label_name, YqBytes username, const int64 *amounts)
{
	YqLoadedCluster *loaded = reading->loaded;
	int			label = find_label(loaded->cluster->hierarchy, label_name);
	YqQueue    *queue = queue_of(reading, path);
	YqClusterQueue *leaf;
	YqClusterUser *user;

	if (queue == NULL && path.data != NULL)
		yq_loaded_note_stray(loaded, path);
	if (queue == NULL || label < 0)
		return;
	leaf = &loaded->cluster->queues[queue->number];
	user = !leaf->is_leaf || username.data == NULL ? NULL : yq_loaded_find_user(loaded, leaf, username);
	yq_cluster_add_usage(loaded->cluster, leaf, user, label, amounts);
	note_change(reading, leaf, user);
}

static void
add_row_to_queue(const Reading *reading, const YqRow *row, const int64 *amounts)
{
	add_to_queue(reading, yq_row_bytes(row, USAGE_QUEUE), yq_row_bytes(row, USAGE_LABEL),
				 yq_row_bytes(row, USAGE_USERNAME), amounts);
}

static void
add_to_node(const Reading *reading, YqBytes name, const int64 *amounts)
{
	const YqCluster *cluster = reading->loaded->cluster;
	YqClusterNode *node = name.data == NULL ? NULL : yq_cluster_find_node(cluster, name);

	for (int i = 0; node != NULL && i < cluster->calculator->types; i++)
		node->unallocated[i] -= amounts[i];
	if (node != NULL && node->killable != NULL)
		reading->loaded->has_stale_killable = true;
}

/* -- rows ------------------------------------------------------------------ */

static void
read_usage_counter(const YqRow *row)
{
	const Reading *reading = row->argument;
	MemoryContext caller = MemoryContextSwitchTo(reading->row_context);
	const int64 *amounts = guaranteed_amounts(reading, row);

	if (amounts != NULL)
		add_row_to_queue(reading, row, amounts);
	MemoryContextSwitchTo(caller);
	MemoryContextReset(reading->row_context);
}

static void
read_node_counter(const YqRow *row)
{
	const Reading *reading = row->argument;
	MemoryContext caller = MemoryContextSwitchTo(reading->row_context);
	const int64 *amounts = guaranteed_amounts(reading, row);

	if (amounts != NULL)
		add_to_node(reading, yq_row_bytes(row, USAGE_QUEUE), amounts);
	MemoryContextSwitchTo(caller);
	MemoryContextReset(reading->row_context);
}

/*
 * Remember that killable containers may have changed.  A row about a queue does not tell on
 * which node a container has started or ended.
 */
static void
note_unknown_node(const Reading *reading)
{
	if (reading->loaded->cluster->killable_count > 0)
		reading->loaded->has_stale_killable = true;
}

/*
 * Add the packed entries of a row.  An entry is about a queue or about a node.  In an entry
 * about a node, all other names are NULL.
 */
static void
add_entries(const Reading *reading, const bytea *packed)
{
	YqEntryReader reader;
	YqUsageChange change;

	yq_entries_read(&reader, packed);
	while (yq_delta_next_usage(&reader, &change))
	{
		const YqBytes *names = change.names;
		const int64 *amounts;

		CHECK_FOR_INTERRUPTS();
		if (!change.is_guaranteed)
			continue;
		amounts = yq_hierarchy_read_amounts(reading->loaded->cluster->hierarchy, PointerGetDatum(change.allocation));
		if (names[YQ_USAGE_NODE].data != NULL)
		{
			add_to_node(reading, names[YQ_USAGE_NODE], amounts);
			continue;
		}
		add_to_queue(reading, names[YQ_USAGE_QUEUE], names[YQ_USAGE_LABEL], names[YQ_USAGE_USERNAME], amounts);
		note_unknown_node(reading);
	}
}

static void
add_delta(const Reading *reading, const YqRow *row)
{
	MemoryContext caller = MemoryContextSwitchTo(reading->row_context);
	bool		isnull;
	char		scope = DatumGetChar(yq_row_value(row, USAGE_SCOPE, &isnull));
	const int64 *amounts = guaranteed_amounts(reading, row);

	if (scope == 'u' || scope == 'n')
	{
		Datum		packed = yq_row_value(row, USAGE_PACKED, &isnull);

		if (!isnull)
			add_entries(reading, DatumGetByteaPP(packed));
	}
	if (amounts != NULL && (scope == 'a' || scope == 'u'))
		add_row_to_queue(reading, row, amounts);
	if (amounts != NULL && (scope == 'a' || scope == 'n'))
		add_to_node(reading, yq_row_bytes(row, USAGE_NODE), amounts);
	else if (amounts != NULL)
		note_unknown_node(reading);
	MemoryContextSwitchTo(caller);
	MemoryContextReset(reading->row_context);
}

static void
read_cluster_delta(const YqRow *row)
{
	add_delta(row->argument, row);
}

static void
read_new_delta(const YqRow *row, bool is_own)
{
	Reading    *reading = row->argument;

	reading->own_rows += is_own;
	if (!is_own)
		add_delta(reading, row);
}

/* -- all ------------------------------------------------------------------- */

const YqJournal yq_usage_journal = {YQ_COUNTER_DELTA, "counter_delta_changed_by_idx"};

static void
read_all(Reading *reading, Snapshot snapshot)
{
	yq_table_scan(YQ_USAGE_COUNTER, snapshot, usage_columns, USAGE_NODE, read_usage_counter, reading);
	yq_table_scan(YQ_NODE_COUNTER, snapshot, node_columns, lengthof(node_columns), read_node_counter, reading);
	yq_table_scan(YQ_COUNTER_DELTA, snapshot, usage_columns, USAGE_COLUMNS, read_cluster_delta, reading);
}

void
yq_cluster_read_usage(YqLoadedCluster *loaded, Snapshot snapshot)
{
	Reading		reading = begin_reading(loaded, false);

	read_all(&reading, snapshot);
	MemoryContextDelete(reading.row_context);
}

int64
yq_cluster_read_new_usage(YqLoadedCluster *loaded, const YqSeen *seen, Snapshot snapshot)
{
	Reading		reading = begin_reading(loaded, true);

	yq_journal_scan(&yq_usage_journal, seen, snapshot, usage_columns, USAGE_COLUMNS, read_new_delta, &reading);
	MemoryContextDelete(reading.row_context);
	return reading.own_rows;
}

/* -- again ----------------------------------------------------------------- */

static void
clear_cluster_usage(const YqCluster *cluster)
{
	Size		size = yq_cluster_amounts_size(cluster);

	for (int i = 0; i < cluster->hierarchy->queue_count; i++)
	{
		YqClusterQueue *queue = &cluster->queues[i];

		memset(queue->used, 0, size);
		for (int j = 0; j < queue->user_count; j++)
			memset(queue->users[j]->used, 0, size);
	}
	for (int i = 0; i < cluster->name_count; i++)
	{
		if (cluster->nodes[i] != NULL)
			memcpy(cluster->nodes[i]->unallocated, cluster->nodes[i]->total, cluster->calculator->types * sizeof(int64));
	}
}

static void
add_reservations(YqCluster *cluster)
{
	for (int i = 0; i < cluster->name_count; i++)
	{
		const YqClusterNode *node = cluster->nodes[i];
		const YqReservation *reservation = node == NULL ? NULL : node->reservation;

		if (reservation != NULL)
			yq_cluster_add_usage(cluster, reservation->key->application->leaf, reservation->key->application->user,
								 node->label, reservation->amounts);
	}
}

void
yq_cluster_read_usage_again(YqLoadedCluster *loaded, Snapshot snapshot)
{
	YqCluster  *cluster = loaded->cluster;
	Reading		reading = begin_reading(loaded, false);

	clear_cluster_usage(cluster);
	read_all(&reading, snapshot);
	add_reservations(cluster);
	loaded->has_stale_killable = true;
	reading.notes_stale = true;
	for (int i = 0; i < cluster->hierarchy->queue_count; i++)
	{
		YqClusterQueue *queue = &cluster->queues[i];

		note_change(&reading, queue, NULL);
		for (int j = 0; j < queue->user_count; j++)
			note_change(&reading, queue, queue->users[j]);
	}
	MemoryContextDelete(reading.row_context);
}

static void
read_cluster_version(const YqRow *row)
{
	YqUsageVersion *version = row->argument;
	bool		isnull;
	Datum		value;
	Datum	   *but;

	version->version = *DatumGetUUIDP(yq_row_value(row, 0, &isnull));
	version->content = *DatumGetUUIDP(yq_row_value(row, 1, &isnull));
	value = yq_row_value(row, 2, &isnull);
	version->compacted_before = isnull ? FirstNormalFullTransactionId : DatumGetFullTransactionId(value);
	value = yq_row_value(row, 3, &isnull);
	if (isnull)
		return;
	deconstruct_array(DatumGetArrayTypeP(value), XID8OID, sizeof(FullTransactionId), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE,
					  &but, NULL, &version->compacted_but_count);
	version->compacted_but = palloc(Max(version->compacted_but_count, 1) * sizeof(FullTransactionId));
	for (int i = 0; i < version->compacted_but_count; i++)
		version->compacted_but[i] = DatumGetFullTransactionId(but[i]);
}

YqUsageVersion
yq_usage_version(Snapshot snapshot)
{
	static const char *const columns[] = {"version", "content", "compacted_before", "compacted_but"};
	YqUsageVersion version = {.compacted_but = NULL};

	yq_table_scan(YQ_USAGE_VERSION, snapshot, columns, lengthof(columns), read_cluster_version, &version);
	return version;
}

static bool
is_compacted(const YqUsageVersion *version, FullTransactionId transaction)
{
	if (!FullTransactionIdPrecedes(transaction, version->compacted_before))
		return false;
	for (int i = 0; i < version->compacted_but_count; i++)
	{
		if (FullTransactionIdEquals(transaction, version->compacted_but[i]))
			return false;
	}
	return true;
}

bool
yq_usage_is_known(const YqUsageVersion *now, const YqUsageVersion *known, const YqSeen *seen)
{
	if (memcmp(&now->version, &known->version, sizeof(pg_uuid_t)) == 0)
		return true;
	if (memcmp(&now->content, &known->content, sizeof(pg_uuid_t)) != 0 ||
		FullTransactionIdPrecedes(seen->next, now->compacted_before) ||
		(FullTransactionIdIsValid(seen->own) && is_compacted(now, seen->own)))
		return false;
	for (int i = 0; i < seen->running_count; i++)
	{
		if (is_compacted(now, seen->running[i]))
			return false;
	}
	return true;
}
