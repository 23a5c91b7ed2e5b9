/*-------------------------------------------------------------------------
 *
 * load_list.c
 *	  The list of nodes by load, and the queue limit that goes with it.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "executor/spi.h"
#include "miscadmin.h"
#include "opportunistic/load_list.h"
#include "opportunistic/node_report.h"
#include "opportunistic/queue_limit.h"
#include "queues/text.h"
#include "storage/lmgr.h"
#include "store/catalog.h"
#include "store/saved_plan.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

/* -- the row ------------------------------------------------------------------- */

/* The list in force, with what the next one is made from. */
typedef struct Row
{
	YqLoadList	list;
	TimestampTz sorted_at;
	YqQueueLoadFigures figures;
} Row;

static int32
integer_of(int column, int32 otherwise)
{
	bool		isnull;
	Datum		value = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, column, &isnull);

	return isnull ? otherwise : DatumGetInt32(value);
}

/* Into the context that the caller of SPI was in. */
static void
read_candidates(YqLoadList *list, MemoryContext context)
{
	bool		isnull;
	Datum		value = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 7, &isnull);
	MemoryContext caller = MemoryContextSwitchTo(context);
	Datum	   *names;

	deconstruct_array(DatumGetArrayTypeP(value), TEXTOID, -1, false, TYPALIGN_INT, &names, NULL, &list->candidate_count);
	list->candidates = palloc(sizeof(char *) * Max(list->candidate_count, 1));
	for (int i = 0; i < list->candidate_count; i++)
		list->candidates[i] = TextDatumGetCString(names[i]);
	pfree(names);
	MemoryContextSwitchTo(caller);
}

static Row
read_row(bool wants_candidates)
{
	static YqSavedPlan look_up = {
		.command = "SELECT l.sort_number, l.sorted_at, l.mean, l.deviation, l.max_queue_length, l.max_wait_ms, "
		"CASE WHEN $1 THEN l.candidates END FROM yquota_internal.load_list AS l",
		.types = {"bool"}
	};
	Datum		values[] = {BoolGetDatum(wants_candidates)};
	Row			row = {.list = {.max_queue_length = -1,.max_wait = -1}};
	MemoryContext caller = CurrentMemoryContext;
	bool		isnull;

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	if (yq_saved_plan_run(&look_up, values, NULL) > 0)
	{
		row.list.number = DatumGetInt64(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &isnull));
		row.sorted_at = DatumGetTimestampTz(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 2, &isnull));
		row.figures = (YqQueueLoadFigures) {integer_of(3, 0), integer_of(4, 0)};
		row.list.max_queue_length = integer_of(5, -1);
		row.list.max_wait = integer_of(6, -1);
		if (wants_candidates)
			read_candidates(&row.list, caller);
	}
	SPI_finish();
	return row;
}

/* -- loads --------------------------------------------------------------------- */

/* A node in service. */
typedef struct NodeEntry
{
	YqBytes		key;			/* its name */
	YqNodeLoad	load;
	bool		has_reported;
} NodeEntry;

typedef struct Loads
{
	const YqHierarchy *hierarchy;
	const YqAllocationSettings *settings;
	bool		reads_amounts;
	Oid			running;
	HTAB	   *nodes;
	YqNodeLoad **reported;
	int			count;
	int			room;
} Loads;

static void
read_node(const YqRow *row)
{
	Loads	   *loads = row->argument;
	NodeEntry  *entry;
	bool		found;
	bool		isnull;

	if (DatumGetObjectId(yq_row_value(row, 1, &isnull)) != loads->running)
		return;
	entry = yq_bytes_table_enter(loads->nodes, yq_row_bytes(row, 0), CurrentMemoryContext, &found);
	memset(&entry->load, 0, sizeof(entry->load));
	entry->has_reported = false;
	if (loads->reads_amounts)
		entry->load.capability = yq_hierarchy_read_amounts(loads->hierarchy, yq_row_value(row, 2, &isnull));
}

static void
read_report(const YqRow *row)
{
	Loads	   *loads = row->argument;
	NodeEntry  *entry = yq_bytes_table_find(loads->nodes, yq_row_bytes(row, YQ_NODE_REPORT_NODE));

	if (entry == NULL || !yq_node_report_read(row, loads->settings, loads->hierarchy, &entry->load))
		return;
	entry->load.name = pnstrdup(entry->key.data, entry->key.length);
	entry->has_reported = true;
	if (loads->count == loads->room)
	{
		loads->room *= 2;
		loads->reported = repalloc_huge(loads->reported, sizeof(YqNodeLoad *) * loads->room);
	}
	loads->reported[loads->count++] = &entry->load;
}

static void
read_slots(const YqRow *row)
{
	Loads	   *loads = row->argument;
	NodeEntry  *entry = yq_bytes_table_find(loads->nodes, yq_row_bytes(row, YQ_NODE_REPORT_NODE));
	YqTakenSlots taken;

	if (entry == NULL || !entry->has_reported)
		return;
	taken = yq_node_report_read_slots(row, loads->hierarchy, entry->load.reported_at);
	yq_node_report_add_slots(&entry->load, &taken, loads->hierarchy);
}

static void
read_loads(Loads *loads)
{
	static const char *const node_columns[] = {"name", "state", "total"};
	Snapshot	snapshot = yq_latest_snapshot();

	loads->reads_amounts = yq_node_report_compares_resources(loads->settings);
	loads->running = yq_enum_oid("node_state", "RUNNING");
	loads->nodes = yq_bytes_table_create_for("yquota node loads", sizeof(NodeEntry), 1000, CurrentMemoryContext);
	loads->room = 1000;
	loads->reported = palloc(sizeof(YqNodeLoad *) * loads->room);
	yq_table_scan(YQ_NODE, snapshot, node_columns, loads->reads_amounts ? 3 : 2, read_node, loads);
	yq_table_scan(YQ_NODE_QUEUE_REPORT, snapshot, yq_node_report_columns, YQ_NODE_REPORT_COLUMNS, read_report, loads);
	yq_table_scan(YQ_OPPORTUNISTIC_SLOT, snapshot, yq_slot_columns, YQ_SLOT_COLUMNS, read_slots, loads);
	UnregisterSnapshot(snapshot);
}

static const int64 *
sum_capabilities(const Loads *loads)
{
	int64	   *sum = yq_hierarchy_amounts(loads->hierarchy);

	for (int i = 0; i < loads->count && loads->reads_amounts; i++)
		yq_amounts_add(&loads->hierarchy->calculator, sum, loads->reported[i]->capability);
	return sum;
}

/* -- sorting --------------------------------------------------------------------- */

static Datum
array_of_loads(YqNodeLoad *const *loads, int count)
{
	const char **names = palloc(sizeof(char *) * Max(count, 1));

	for (int i = 0; i < count; i++)
		names[i] = loads[i]->name;
	return yq_array_of_names(names, count);
}

static void
set_limit(Row *row, const YqAllocationSettings *settings)
{
	row->list.max_queue_length = row->list.max_wait = -1;
	if (settings->load_comparator == YQ_LOAD_QUEUE_WAIT_TIME)
		row->list.max_wait = yq_queue_limit_of(&row->figures, settings->queue_limit_stdev,
											   (int32) (settings->min_queue_wait_time / 1000),
											   (int32) (settings->max_queue_wait_time / 1000));
	else
		row->list.max_queue_length = yq_queue_limit_of(&row->figures, settings->queue_limit_stdev,
													   settings->min_queue_length, settings->max_queue_length);
}

static void
write_row(const Row *row, const YqAllocationSettings *settings, YqNodeLoad *const *loads, int count)
{
	static YqSavedPlan write = {
		.command = "INSERT INTO yquota_internal.load_list AS l (sort_number, sorted_at, comparator, mean, deviation, "
		"max_queue_length, max_wait_ms, candidates, others) VALUES ($1, $2, $3, $4, $5, nullif($6, -1), nullif($7, -1), $8, $9) "
		"ON CONFLICT (only_row) DO UPDATE SET (sort_number, sorted_at, comparator, mean, deviation, max_queue_length, "
		"max_wait_ms, candidates, others) = (excluded.sort_number, excluded.sorted_at, excluded.comparator, excluded.mean, "
		"excluded.deviation, excluded.max_queue_length, excluded.max_wait_ms, excluded.candidates, excluded.others)",
		.types = {"int8", "timestamptz", "text", "int4", "int4", "int4", "int4", "_text", "_text"},
		.plans_once = true
	};
	int			candidates = Min(settings->nodes_used, count);
	Datum		values[] = {
		Int64GetDatum(row->list.number),
		TimestampTzGetDatum(row->sorted_at),
		CStringGetTextDatum(yq_node_load_comparator_name(settings->load_comparator)),
		Int32GetDatum(row->figures.mean),
		Int32GetDatum(row->figures.deviation),
		Int32GetDatum(row->list.max_queue_length),
		Int32GetDatum(row->list.max_wait),
		array_of_loads(loads, candidates),
		array_of_loads(loads + candidates, count - candidates)
	};

	(void) yq_saved_plan_execute(&write, values, NULL);
}

static void
sort_nodes(Row *row, const YqHierarchy *hierarchy, const YqAllocationSettings *settings, TimestampTz now)
{
	MemoryContext own = AllocSetContextCreate(CurrentMemoryContext, "yquota load list", ALLOCSET_DEFAULT_SIZES);
	MemoryContext caller = MemoryContextSwitchTo(own);
	Loads		loads = {.hierarchy = hierarchy,.settings = settings};
	int			left;

	read_loads(&loads);
	left = yq_node_load_sort(settings->load_comparator, &hierarchy->calculator, sum_capabilities(&loads),
							 loads.reported, loads.count);
	yq_queue_limit_note_sort(&row->figures, settings->load_comparator, loads.reported, left);
	row->list.number++;
	row->sorted_at = now;
	set_limit(row, settings);
	write_row(row, settings, loads.reported, left);
	MemoryContextSwitchTo(caller);
	MemoryContextDelete(own);
}

/* A clock that was set back does not keep a list in force. */
static bool
is_due(const Row *row, const YqAllocationSettings *settings, TimestampTz now)
{
	return row->list.number == 0 || now < row->sorted_at || now - row->sorted_at >= settings->node_sorting_interval;
}

static bool
try_lock_list(void)
{
	LOCKTAG		tag;

	SET_LOCKTAG_OBJECT(tag, MyDatabaseId, yq_table_oid(YQ_LOAD_LIST), 0, 0);
	return LockAcquire(&tag, ExclusiveLock, false, true) != LOCKACQUIRE_NOT_AVAIL;
}

YqLoadList
yq_load_list_refresh(const YqHierarchy *hierarchy, const YqAllocationSettings *settings, TimestampTz now, bool wants_candidates)
{
	Row			row = read_row(wants_candidates);

	if (!is_due(&row, settings, now) || !try_lock_list())
		return row.list;
	/* another transaction may have sorted meanwhile */
	row = read_row(false);
	if (is_due(&row, settings, now))
		sort_nodes(&row, hierarchy, settings, now);
	return wants_candidates ? read_row(true).list : row.list;
}
