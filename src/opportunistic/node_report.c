/*-------------------------------------------------------------------------
 *
 * node_report.c
 *	  Stores the reports of nodes about their queues, and reads the slots taken after a
 *	  report. Estimates how long a container would wait at a node.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "catalog/pg_type_d.h"
#include "common/int.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "opportunistic/node_report.h"
#include "queues/text.h"
#include "scheduler/request/container_request.h"
#include "store/catalog.h"
#include "store/index_scan.h"
#include "store/row_update.h"
#include "store/saved_plan.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

/* -- wait estimate ------------------------------------------------------------- */

/* Estimate how long an OPPORTUNISTIC container would wait if it arrived at the node now. */

/* Result if no container at the node has a known duration. */
#define YQ_NO_ESTIMATE (-1)

/*
 * An OPPORTUNISTIC container that waits or runs at the node, and is not being killed or
 * paused.  Times are in microseconds.
 */
typedef struct YqExpectedWork
{
	bool		waits;			/* true: queued or paused; false: running */
	int64		duration;		/* expected duration; 0: not known */
	int64		ran;			/* time since the container started; 0 if it is negative because the clock was set
								 * back */
} YqExpectedWork;

static int64
sum_of(int64 a, int64 b)
{
	int64		sum;

	return pg_add_s64_overflow(a, b, &sum) ? PG_INT64_MAX : sum;
}

/* Return the mean of the known durations, or 0 if none is known. */
static int64
mean_duration(const YqExpectedWork *containers, int count)
{
	int64		sum = 0;
	int			known = 0;

	for (int i = 0; i < count; i++)
	{
		sum = sum_of(sum, containers[i].duration);
		known += containers[i].duration > 0;
	}
	return known == 0 ? 0 : sum / known;
}

/*
 * Estimate the wait in microseconds, rounded down, or return YQ_NO_ESTIMATE.  A sum
 * that is too large becomes PG_INT64_MAX.
 */
static int64
wait_estimate(const YqExpectedWork *containers, int count)
{
	int64		mean = mean_duration(containers, count);
	int64		work = 0;
	int			waiting = 0;

	if (mean == 0)
		return YQ_NO_ESTIMATE;
	for (int i = 0; i < count; i++)
	{
		const YqExpectedWork *container = &containers[i];
		int64		duration = container->duration > 0 ? container->duration : mean;

		if (container->waits)
			waiting++;
		else
			duration = Max(duration - Max(container->ran, 0), 0);
		work = sum_of(work, duration);
	}
	return waiting == 0 ? 0 : work / Max(count - waiting, 1);
}

/* -- node report --------------------------------------------------------------- */

const char *const yq_node_report_columns[] = {
	"node", "queued_guaranteed", "queued_opportunistic", "estimated_wait", "queue_capacity", "reported_at", "allocated", "is_listed"
};

const char *const yq_slot_columns[] = {"node", "reported_at", "slots", "allocated"};

bool
yq_node_report_compares_resources(const YqAllocationSettings *settings)
{
	return settings->load_comparator == YQ_LOAD_QUEUE_LENGTH_THEN_RESOURCES;
}

/* -- reading ------------------------------------------------------------------ */

/*
 * Convert an interval to milliseconds.  The CHECK constraint of the column excludes
 * months, and milliseconds that do not fit into 32 bits.
 */
static int32
milliseconds_of(const Interval *interval)
{
	return (int32) ((interval->time + (int64) interval->day * USECS_PER_DAY) / 1000);
}

bool
yq_node_report_read(const YqRow *row, const YqAllocationSettings *settings, const YqHierarchy *hierarchy, YqNodeLoad *load)
{
	bool		isnull;
	Datum		wait = yq_row_value(row, 3, &isnull);

	load->wait = isnull ? YQ_WAIT_UNKNOWN : milliseconds_of(DatumGetIntervalP(wait));
	if (!yq_row_bool(row, 7) || !yq_node_load_is_comparable(settings->load_comparator, load->wait))
		return false;
	load->queue_length = yq_row_integer(row, 1, 0) + yq_row_integer(row, 2, 0);
	load->queue_capacity = yq_row_integer(row, 4, settings->queue_capacity);
	load->reported_at = DatumGetTimestampTz(yq_row_value(row, 5, &isnull));
	if (yq_node_report_compares_resources(settings))
	{
		Datum		allocated = yq_row_value(row, 6, &isnull);

		load->allocated = isnull ? yq_hierarchy_amounts(hierarchy) : yq_hierarchy_read_amounts(hierarchy, allocated);
	}
	return true;
}

YqTakenSlots
yq_node_report_read_slots(const YqRow *row, const YqHierarchy *hierarchy, TimestampTz reported_at)
{
	YqTakenSlots taken = {0, NULL};
	bool		isnull;
	Datum		allocated;

	if (DatumGetTimestampTz(yq_row_value(row, 1, &isnull)) != reported_at)
		return taken;
	taken.slots = yq_row_integer(row, 2, 0);
	allocated = yq_row_value(row, 3, &isnull);
	if (!isnull)
		taken.allocated = yq_hierarchy_read_amounts(hierarchy, allocated);
	return taken;
}

void
yq_node_report_add_slots(YqNodeLoad *load, const YqTakenSlots *taken, const YqHierarchy *hierarchy)
{
	load->queue_length += taken->slots;
	if (taken->allocated != NULL && load->allocated != NULL)
		yq_amounts_add(&hierarchy->calculator, load->allocated, taken->allocated);
}

/* -- storing ------------------------------------------------------------------- */

static int
compare_reports(const void *a, const void *b)
{
	const YqNodeReport *left = *(YqNodeReport *const *) a;
	const YqNodeReport *right = *(YqNodeReport *const *) b;
	int			result = strcmp(left->node, right->node);

	if (result != 0)
		return result;
	return left->reported_at < right->reported_at ? -1 : left->reported_at > right->reported_at ? 1 : 0;
}

/* Sort the reports by the nodes' names.  All sessions change rows in this order, so they do not deadlock. */
static YqNodeReport **
in_order(YqNodeReport *reports, int count)
{
	YqNodeReport **ordered = palloc(sizeof(YqNodeReport *) * Max(count, 1));

	for (int i = 0; i < count; i++)
		ordered[i] = &reports[i];
	qsort(ordered, count, sizeof(YqNodeReport *), compare_reports);
	return ordered;
}

/*
 * Decide about a report.  Sets "refusal" if the clock or the node's state forbids the
 * report, and left_out if the node is not put on the list.
 */
static void
judge(const YqAllocationSettings *settings, YqNodeReport *report, YqIndexScan *nodes, AttrNumber state, TimestampTz now)
{
	TupleTableSlot *slot;
	Oid			found;
	bool		isnull;

	slot = yq_index_scan_find(nodes, cstring_to_text(report->node));
	if (slot == NULL)
	{
		report->refusal = "the node does not exist";
		return;
	}
	found = DatumGetObjectId(slot_getattr(slot, state, &isnull));
	if (found == yq_enum_oid("node_state", "DECOMMISSIONING"))
		report->left_out = "the node is DECOMMISSIONING";
	else if (found != yq_enum_oid("node_state", "RUNNING"))
		report->refusal = psprintf("the node is %s", DatumGetCString(DirectFunctionCall1(enum_out, ObjectIdGetDatum(found))));
	else if (report->estimated_wait == 0 && !yq_node_load_is_comparable(settings->load_comparator, YQ_WAIT_UNKNOWN))
		report->left_out = "the node reports no estimated wait, which the comparison of nodes needs";
	if (report->reported_at > now && report->refusal == NULL)
		report->refusal = "reported_at lies after the clock";
}

static void
judge_all(const YqAllocationSettings *settings, YqNodeReport **reports, int count, TimestampTz now)
{
	YqIndexScan *nodes = yq_index_scan_open(YQ_NODE, "node_pkey");
	AttrNumber	state = yq_column(yq_index_scan_relation(nodes), "state");

	for (int i = 0; i < count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		judge(settings, reports[i], nodes, state, now);
	}
	yq_index_scan_close(nodes);
}

/* The longest wait that can be stored, in microseconds: the largest int of milliseconds. */
#define MAX_WAIT (INT64CONST(2147483647) * 1000 + 999)

static void
set_estimate(YqNodeReport *report, const YqExpectedWork *containers, int count)
{
	int64		wait = wait_estimate(containers, count);
	Interval   *interval;

	if (wait == YQ_NO_ESTIMATE)
		return;
	interval = SPI_palloc(sizeof(Interval));
	memset(interval, 0, sizeof(Interval));
	interval->time = Min(wait, MAX_WAIT);
	report->estimated_wait = IntervalPGetDatum(interval);
}

/* Columns that the statement returns, counted from 1. */
enum
{
	WORK_PLACE = 1,
	WORK_WAITS,
	WORK_DURATION,
	WORK_STATE_AT
};

static YqExpectedWork
read_expected_work(HeapTuple tuple, TupleDesc columns, TimestampTz now)
{
	YqExpectedWork work = {0};
	bool		isnull;
	Datum		duration = SPI_getbinval(tuple, columns, WORK_DURATION, &isnull);

	if (!isnull)
		work.duration = yq_expected_duration_read(duration);
	work.waits = DatumGetBool(SPI_getbinval(tuple, columns, WORK_WAITS, &isnull));
	work.ran = now - DatumGetTimestampTz(SPI_getbinval(tuple, columns, WORK_STATE_AT, &isnull));
	return work;
}

/* Estimate the waits of nodes.  The rows that belong to the same node follow each other. */
static void
estimate(YqNodeReport **reports, uint64 found, TimestampTz now)
{
	YqExpectedWork *work = palloc(sizeof(YqExpectedWork) * Max(found, 1));
	uint64		first = 0;

	for (uint64 i = 0; i < found; i++)
	{
		TupleDesc	columns = SPI_tuptable->tupdesc;
		bool		isnull;
		int64		report = DatumGetInt64(SPI_getbinval(SPI_tuptable->vals[i], columns, WORK_PLACE, &isnull));

		CHECK_FOR_INTERRUPTS();
		work[i] = read_expected_work(SPI_tuptable->vals[i], columns, now);
		if (i + 1 < found && DatumGetInt64(SPI_getbinval(SPI_tuptable->vals[i + 1], columns, WORK_PLACE, &isnull)) == report)
			continue;
		set_estimate(reports[report - 1], &work[first], (int) (i + 1 - first));
		first = i + 1;
	}
	pfree(work);
}

/* If a report contains no estimated wait, estimate it from the expected durations of the node's containers. */
static void
estimate_waits(YqNodeReport **reports, int count, TimestampTz now)
{
	static YqSavedPlan look_up = {
		.command = "SELECT u.place, q.state <> 'RUNNING', q.expected_duration, q.state_at "
		"FROM unnest($1) WITH ORDINALITY AS u (node, place) JOIN yquota.node_queue AS q ON q.node = u.node "
		"WHERE q.left_at IS NULL AND q.execution_type = 'OPPORTUNISTIC' AND q.state IN ('QUEUED', 'PAUSED', 'RUNNING') "
		"ORDER BY u.place",
		.types = {"_text"},
		.plans_once = true
	};
	YqNodeReport **silent = palloc(sizeof(YqNodeReport *) * Max(count, 1));
	const char **names = palloc(sizeof(char *) * Max(count, 1));
	int			silent_count = 0;
	Datum		values[1];

	for (int i = 0; i < count; i++)
	{
		if (reports[i]->estimated_wait != 0)
			continue;
		names[silent_count] = reports[i]->node;
		silent[silent_count++] = reports[i];
	}
	if (silent_count == 0)
		return;
	values[0] = yq_array_of_names(names, silent_count);
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	estimate(silent, yq_saved_plan_run(&look_up, values, NULL), now);
	SPI_finish();
}

/*
 * Insert the rows that do not exist yet.  If two sessions insert a row for the same
 * node, the second session waits for the first.
 */
static void
make_rows(YqNodeReport **reports, int count)
{
	static YqSavedPlan insert = {
		.command = "INSERT INTO yquota_internal.node_queue_report (node, running_guaranteed, running_opportunistic, "
		"queued_guaranteed, queued_opportunistic, reported_at, is_listed, told_queue_capacity) "
		"SELECT u.node, 0, 0, 0, 0, '-infinity', false, -1 FROM unnest($1) AS u (node) ORDER BY u.node ON CONFLICT (node) DO NOTHING",
		.types = {"_text"}
	};
	YqIndexScan *rows = yq_index_scan_open(YQ_NODE_QUEUE_REPORT, "node_queue_report_pkey");
	const char **missing = palloc(sizeof(char *) * Max(count, 1));
	int			missing_count = 0;
	Datum		values[1];

	for (int i = 0; i < count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (reports[i]->refusal != NULL)
			continue;
		if (yq_index_scan_find(rows, cstring_to_text(reports[i]->node)) == NULL)
			missing[missing_count++] = reports[i]->node;
	}
	yq_index_scan_close(rows);
	if (missing_count == 0)
		return;
	values[0] = yq_array_of_names(missing, missing_count);
	(void) yq_saved_plan_execute(&insert, values, NULL);
}

/* If a report contains no allocated amounts, set them to the sum of what yquota has allocated on the node. */
static void
allocate_by_books(YqNodeReport **reports, int count)
{
	static YqSavedPlan look_up = {
		.command = "SELECT u.node::text, held.allocation FROM unnest($1) WITH ORDINALITY AS u (node, place) "
		"LEFT JOIN yquota_internal.node_holding AS held ON held.node = u.node AND held.node = ANY ($1) ORDER BY u.place",
		.types = {"_text"}
	};
	YqNodeReport **unknown = palloc(sizeof(YqNodeReport *) * Max(count, 1));
	const char **names = palloc(sizeof(char *) * Max(count, 1));
	int			unknown_count = 0;
	Datum		values[1];

	for (int i = 0; i < count; i++)
	{
		if (reports[i]->refusal != NULL || reports[i]->allocated != 0)
			continue;
		names[unknown_count] = reports[i]->node;
		unknown[unknown_count++] = reports[i];
	}
	if (unknown_count == 0)
		return;
	values[0] = yq_array_of_names(names, unknown_count);
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	(void) yq_saved_plan_run(&look_up, values, NULL);
	for (int i = 0; i < unknown_count; i++)
	{
		bool		isnull;
		Datum		sum = SPI_getbinval(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, 2, &isnull);

		CHECK_FOR_INTERRUPTS();
		if (!isnull)
			unknown[i]->allocated = SPI_datumTransfer(sum, false, -1);
	}
	SPI_finish();
}

/* Stored capacity of a node that reports none. */
#define NO_CAPACITY (-1)

/* Columns of a stored report, in the order of stored_columns[]. */
enum
{
	REPORT_NODE,
	REPORT_RUNNING_GUARANTEED,
	REPORT_RUNNING_OPPORTUNISTIC,
	REPORT_QUEUED_GUARANTEED,
	REPORT_QUEUED_OPPORTUNISTIC,
	REPORT_ESTIMATED_WAIT,
	REPORT_QUEUE_CAPACITY,
	REPORT_REPORTED_AT,
	REPORT_ALLOCATED,
	REPORT_IS_LISTED,
	REPORT_TOLD_QUEUE_CAPACITY,
	REPORT_MEASURED,
	REPORT_COLUMNS
};

static const char *const stored_columns[] = {
	"node", "running_guaranteed", "running_opportunistic", "queued_guaranteed", "queued_opportunistic",
	"estimated_wait", "queue_capacity", "reported_at", "allocated", "is_listed", "told_queue_capacity",
	"measured"
};

static void
set_or_null(YqRowUpdate *row, int column, Datum value, bool isnull)
{
	if (isnull)
		yq_row_update_set_null(row, column);
	else
		yq_row_update_set(row, column, value);
}

/* Store a report in the row of its node.  The caller has found the row. */
static void
write_report(YqRowUpdate *row, YqNodeReport *report)
{
	int32		told = report->has_queue_capacity ? report->queue_capacity : NO_CAPACITY;

	/* if the previous report was forgotten, any capacity counts as changed */
	report->changes_capacity = TIMESTAMP_NOT_FINITE(DatumGetTimestampTz(yq_row_update_value(row, REPORT_REPORTED_AT))) ||
		DatumGetInt32(yq_row_update_value(row, REPORT_TOLD_QUEUE_CAPACITY)) != told;
	yq_row_update_set(row, REPORT_TOLD_QUEUE_CAPACITY, Int32GetDatum(told));
	yq_row_update_set(row, REPORT_RUNNING_GUARANTEED, Int32GetDatum(report->running_guaranteed));
	yq_row_update_set(row, REPORT_RUNNING_OPPORTUNISTIC, Int32GetDatum(report->running_opportunistic));
	yq_row_update_set(row, REPORT_QUEUED_GUARANTEED, Int32GetDatum(report->queued_guaranteed));
	yq_row_update_set(row, REPORT_QUEUED_OPPORTUNISTIC, Int32GetDatum(report->queued_opportunistic));
	set_or_null(row, REPORT_ESTIMATED_WAIT, report->estimated_wait, report->estimated_wait == 0);
	if (!DatumGetBool(yq_row_update_value(row, REPORT_IS_LISTED)))
		set_or_null(row, REPORT_QUEUE_CAPACITY, Int32GetDatum(report->queue_capacity), !report->has_queue_capacity);
	yq_row_update_set(row, REPORT_REPORTED_AT, TimestampTzGetDatum(report->reported_at));
	set_or_null(row, REPORT_ALLOCATED, report->allocated, report->allocated == 0);
	set_or_null(row, REPORT_MEASURED, report->measured, report->measured == 0);
	yq_row_update_set(row, REPORT_IS_LISTED, BoolGetDatum(report->left_out == NULL));
	yq_row_update_write(row);
}

static void
store(YqRowUpdate *row, YqNodeReport *report)
{
	Datum		key = CStringGetTextDatum(report->node);
	TimestampTz stored_at;

	/* the row was inserted above; if it is missing, the node has been removed in the meantime */
	if (!yq_row_update_find(row, &key))
	{
		report->refusal = "the node was removed meanwhile";
		return;
	}
	stored_at = DatumGetTimestampTz(yq_row_update_value(row, REPORT_REPORTED_AT));
	if (report->reported_at > stored_at)
		write_report(row, report);
	else
		report->refusal = psprintf("the report is not newer than the report of %s", timestamptz_to_str(stored_at));
}

/*
 * Refuse all reports of a node except the newest.  The reports are sorted, and a
 * command can change a row only once.
 */
static void
refuse_older(YqNodeReport **reports, int count)
{
	for (int i = 0; i + 1 < count; i++)
	{
		const YqNodeReport *next = reports[i + 1];

		if (next->refusal == NULL && reports[i]->refusal == NULL && strcmp(reports[i]->node, next->node) == 0)
			reports[i]->refusal = psprintf("the report is not newer than the report of %s", timestamptz_to_str(next->reported_at));
	}
}

/*
 * Store the reported capacities in a logged table.  The queues of nodes need them even
 * after a crash, which empties the unlogged reports.
 */
static void
keep_capacities(YqNodeReport **reports, int count)
{
	static YqSavedPlan forget = {
		.command = "DELETE FROM yquota_internal.node_queue_capacity AS q USING unnest($1, $2) AS u (node, queue_capacity) "
		"WHERE q.node = u.node AND u.queue_capacity < 0",
		.types = {"_text", "_int4"},
		.plans_once = true
	};
	static YqSavedPlan keep = {
		.command = "INSERT INTO yquota_internal.node_queue_capacity (node, queue_capacity) "
		"SELECT u.node, u.queue_capacity FROM unnest($1, $2) AS u (node, queue_capacity) WHERE u.queue_capacity >= 0 AND NOT EXISTS ("
		"SELECT FROM yquota_internal.node_queue_capacity AS o WHERE o.node = u.node AND o.queue_capacity = u.queue_capacity) "
		"ORDER BY u.node ON CONFLICT (node) DO UPDATE SET queue_capacity = excluded.queue_capacity",
		.types = {"_text", "_int4"},
		.plans_once = true
	};
	const char **nodes = palloc(sizeof(char *) * Max(count, 1));
	Datum	   *capacities = palloc(sizeof(Datum) * Max(count, 1));
	int			told = 0;
	bool		tells_none = false;
	Datum		values[2];

	for (int i = 0; i < count; i++)
	{
		if (!reports[i]->changes_capacity)
			continue;
		nodes[told] = reports[i]->node;
		tells_none = tells_none || !reports[i]->has_queue_capacity;
		capacities[told++] = Int32GetDatum(reports[i]->has_queue_capacity ? reports[i]->queue_capacity : NO_CAPACITY);
	}
	if (told == 0)
		return;
	values[0] = yq_array_of_names(nodes, told);
	values[1] = PointerGetDatum(construct_array(capacities, told, INT4OID, sizeof(int32), true, TYPALIGN_INT));
	if (tells_none)
		(void) yq_saved_plan_execute(&forget, values, NULL);
	(void) yq_saved_plan_execute(&keep, values, NULL);
}

void
yq_node_reports_store(const YqAllocationSettings *settings, YqNodeReport *reports, int count, TimestampTz now)
{
	YqNodeReport **ordered = in_order(reports, count);
	YqRowUpdate *row;

	if (settings->load_comparator == YQ_LOAD_QUEUE_WAIT_TIME)
		estimate_waits(ordered, count, now);
	judge_all(settings, ordered, count, now);
	refuse_older(ordered, count);
	make_rows(ordered, count);
	if (yq_node_report_compares_resources(settings))
		allocate_by_books(ordered, count);
	row = yq_row_update_open(YQ_NODE_QUEUE_REPORT, "node_queue_report_pkey", stored_columns, REPORT_COLUMNS);
	for (int i = 0; i < count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (ordered[i]->refusal == NULL)
			store(row, ordered[i]);
	}
	yq_row_update_close(row);
	keep_capacities(ordered, count);
	pfree(ordered);
}
