/*-------------------------------------------------------------------------
 *
 * node_label.c
 *	  The labels that nodes have had.
 *
 * A session caches the points of each node that it has asked about.  When yquota.node_label_history
 * changes, the session drops all of these points.  At any time, a single snapshot was used to read
 * all cached points: the latest one or the same older one.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "access/genam.h"
#include "access/stratnum.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "base/arguments.h"
#include "base/bytes_table.h"
#include "catalog/pg_collation_d.h"
#include "executor/tuptable.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "pricing/node_label.h"
#include "pricing/rate_class.h"
#include "pricing/timeline.h"
#include "store/catalog.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

PG_FUNCTION_INFO_V1(yq_sql_label_stretches);
PG_FUNCTION_INFO_V1(yq_sql_next_label_change);

/* The largest number of nodes in the cache.  When it is reached, the next refresh drops all of them. */
#define MAX_NODES 100000

typedef struct LabelPoint
{
	TimestampTz effective_at;
	char	   *label;
} LabelPoint;

typedef struct NodeEntry
{
	YqBytes		key;
	int			count;
	LabelPoint *points;			/* points in time order; the labels of neighbouring points differ */
} NodeEntry;

static MemoryContext label_context = NULL;
static HTAB *nodes = NULL;
static bool is_current = false;
static bool is_watched = false;
static uint64 snapshot_number = 0;	/* result of yq_timeline_snapshot_number() when the cache was last emptied */

/* -- the cache ------------------------------------------------------------- */

/*
 * Empty the cache if the table has changed, or if other points would now be read with another
 * snapshot than the cached points.
 */
static void
refresh(void)
{
	uint64		number = yq_timeline_snapshot_number();

	if (!is_watched)
	{
		yq_catalog_on_change(YQ_NODE_LABEL_HISTORY, &is_current);
		yq_catalog_on_abort(&is_current);
		is_watched = true;
	}
	if (is_current && snapshot_number == number && hash_get_num_entries(nodes) < MAX_NODES)
		return;
	if (label_context == NULL)
		label_context = AllocSetContextCreate(CacheMemoryContext, "yquota labels of nodes", ALLOCSET_DEFAULT_SIZES);
	is_current = false;
	MemoryContextReset(label_context);
	nodes = yq_bytes_table_create("yquota labels of nodes", sizeof(NodeEntry), label_context);
	snapshot_number = number;
	is_current = true;
}

static const char *
last_label(const NodeEntry *node, int count)
{
	return count == 0 ? "" : node->points[count - 1].label;
}

/* Add a point.  A point is left out if the point before it has the same label. */
static void
add_point(NodeEntry *node, TupleTableSlot *slot, Relation relation)
{
	bool		isnull;
	char	   *label = TextDatumGetCString(slot_getattr(slot, yq_column(relation, "label"), &isnull));
	LabelPoint *point;

	if (strcmp(label, last_label(node, node->count)) == 0)
	{
		pfree(label);
		return;
	}
	if (node->count == 0)
		node->points = palloc(sizeof(LabelPoint) * 2);
	else if (node->count >= 2 && (node->count & (node->count - 1)) == 0)
		node->points = repalloc(node->points, sizeof(LabelPoint) * node->count * 2);
	point = &node->points[node->count++];
	point->effective_at = DatumGetTimestampTz(slot_getattr(slot, yq_column(relation, "effective_at"), &isnull));
	point->label = label;
}

/* Read the points of a node into the current memory context.  The primary key is (node, effective_at). */
static void
read_points(NodeEntry *node, const text *name)
{
	Relation	relation = yq_table_open(YQ_NODE_LABEL_HISTORY, AccessShareLock);
	Relation	index = index_open(yq_index_oid(YQ_NODE_LABEL_HISTORY, "node_label_history_pkey"), AccessShareLock);
	TupleTableSlot *slot = table_slot_create(relation, NULL);
	Snapshot	snapshot = yq_timeline_take_snapshot();
	IndexScanDesc scan = index_beginscan(relation, index, snapshot, NULL, 1, 0);
	ScanKeyData key;

	ScanKeyInit(&key, 1, BTEqualStrategyNumber, F_TEXTEQ, PointerGetDatum(name));
	key.sk_collation = C_COLLATION_OID;
	index_rescan(scan, &key, 1, NULL, 0);
	while (index_getnext_slot(scan, ForwardScanDirection, slot))
	{
		CHECK_FOR_INTERRUPTS();
		add_point(node, slot, relation);
	}
	index_endscan(scan);
	UnregisterSnapshot(snapshot);
	ExecDropSingleTupleTableSlot(slot);
	index_close(index, AccessShareLock);
	table_close(relation, AccessShareLock);
}

static const NodeEntry *
find_node(const text *name)
{
	NodeEntry  *entry;
	NodeEntry	read = {0};
	MemoryContext old_context;
	bool		found;

	refresh();
	entry = yq_bytes_table_find(nodes, yq_bytes_of_varlena(name));
	if (entry != NULL)
		return entry;
	/* read the points first, so that an error leaves no entry without points */
	old_context = MemoryContextSwitchTo(label_context);
	read_points(&read, name);
	MemoryContextSwitchTo(old_context);
	entry = yq_bytes_table_enter(nodes, yq_bytes_of_varlena(name), label_context, &found);
	entry->count = read.count;
	entry->points = read.points;
	return entry;
}

/* -- asking ---------------------------------------------------------------- */

/* Return the number of points at or before an instant. */
static int
points_until(const NodeEntry *node, TimestampTz at)
{
	int			low = 0;
	int			high = node->count;

	while (low < high)
	{
		int			middle = low + (high - low) / 2;

		if (node->points[middle].effective_at <= at)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

bool
yq_node_labels_matter(void)
{
	return yq_timeline_cached()->labels_from != DT_NOEND;
}

char *
yq_node_label_at(const text *node, TimestampTz at)
{
	const NodeEntry *entry;
	const char *label;

	if (node == NULL || !yq_node_labels_matter())
		return NULL;
	at = Max(at, yq_timeline_cached()->labels_from);
	entry = find_node(node);
	label = last_label(entry, points_until(entry, at));
	return *label == '\0' ? NULL : pstrdup(label);
}

TimestampTz
yq_node_label_next_change(const text *node, TimestampTz after)
{
	const NodeEntry *entry;
	int			next;

	if (node == NULL || !yq_node_labels_matter())
		return DT_NOEND;
	after = Max(after, yq_timeline_cached()->labels_from);
	entry = find_node(node);
	next = points_until(entry, after);
	return next == entry->count ? DT_NOEND : entry->points[next].effective_at;
}

/* -- SQL --------------------------------------------------------------------- */

/* next_label_change(node, after) */
Datum
yq_sql_next_label_change(PG_FUNCTION_ARGS)
{
	TimestampTz at;

	(void) yq_rate_class_refresh();
	at = yq_node_label_next_change(PG_GETARG_TEXT_PP(0), PG_GETARG_TIMESTAMPTZ(1));
	if (at == DT_NOEND)
		PG_RETURN_NULL();
	PG_RETURN_TIMESTAMPTZ(at);
}

/* label_stretches(node, from_at, to_at) is not strict, because the node may be NULL. */
Datum
yq_sql_label_stretches(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rows = (ReturnSetInfo *) fcinfo->resultinfo;
	text	   *node = PG_ARGISNULL(0) ? NULL : PG_GETARG_TEXT_PP(0);
	TimestampTz since;
	TimestampTz to_at;

	InitMaterializedSRF(fcinfo, 0);
	if (PG_ARGISNULL(1) || PG_ARGISNULL(2))
		return (Datum) 0;
	since = PG_GETARG_TIMESTAMPTZ(1);
	to_at = PG_GETARG_TIMESTAMPTZ(2);
	(void) yq_rate_class_refresh();
	for (;;)
	{
		TimestampTz until = Min(yq_node_label_next_change(node, since), to_at);
		Datum		values[] = {TimestampTzGetDatum(since), TimestampTzGetDatum(until)};
		bool		nulls[] = {false, false};

		CHECK_FOR_INTERRUPTS();
		tuplestore_putvalues(rows->setResult, rows->setDesc, values, nulls);
		if (until >= to_at)
			break;
		since = until;
	}
	return (Datum) 0;
}
