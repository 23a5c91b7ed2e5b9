/*-------------------------------------------------------------------------
 *
 * record_reservation.c
 *	  Reads reservations from the tables, and writes them.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "catalog/pg_type_d.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "queues/text.h"
#include "reservation/record_reservation.h"
#include "reservation/reservation_definition.h"
#include "store/catalog.h"
#include "store/saved_plan.h"
#include "utils/array.h"
#include "utils/builtins.h"

/* -- reading ---------------------------------------------------------------------- */

/* Columns of the statement, numbered from 1. */
typedef enum FoundColumn
{
	FOUND_VERSION = 1,
	FOUND_QUEUE,
	FOUND_USERNAME,
	FOUND_PROJECT,
	FOUND_IS_SAME,
	FOUND_ENDED_AT,
	FOUND_DEADLINE,
	FOUND_IS_PERIODIC,
	FOUND_ACCEPTED_AT,
	FOUND_START,
	FOUND_END,
	FOUND_QUOTED_COST
} FoundColumn;

static Datum
found(int column, bool *isnull)
{
	return SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, column, isnull);
}

static TimestampTz
found_time(int column)
{
	bool		isnull;

	return DatumGetTimestampTz(found(column, &isnull));
}

static char *
found_text(int column, MemoryContext context)
{
	return MemoryContextStrdup(context, SPI_getvalue(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, column));
}

static YqRecordedReservation *
read_found(MemoryContext context)
{
	YqRecordedReservation *recorded = MemoryContextAllocZero(context, sizeof(YqRecordedReservation));
	bool		isnull;

	recorded->version = DatumGetInt32(found(FOUND_VERSION, &isnull));
	recorded->queue = found_text(FOUND_QUEUE, context);
	recorded->username = found_text(FOUND_USERNAME, context);
	recorded->project = found_text(FOUND_PROJECT, context);
	recorded->is_same = DatumGetBool(found(FOUND_IS_SAME, &isnull));
	recorded->deadline = found_time(FOUND_DEADLINE);
	recorded->is_periodic = DatumGetBool(found(FOUND_IS_PERIODIC, &isnull));
	recorded->accepted_at = found_time(FOUND_ACCEPTED_AT);
	recorded->start = found_time(FOUND_START);
	recorded->end = found_time(FOUND_END);
	(void) found(FOUND_QUOTED_COST, &isnull);
	recorded->quoted_cost = isnull ? NULL : found_text(FOUND_QUOTED_COST, context);
	recorded->ended_at = DatumGetTimestampTz(found(FOUND_ENDED_AT, &isnull));
	recorded->has_ended = !isnull;
	return recorded;
}

YqRecordedReservation *
yq_reservation_find(const char *id, const HeapTupleHeader definition)
{
	static YqSavedPlan look_up = {
		.command = "SELECT d.version, d.queue, d.username, d.project, coalesce(ROW(d.arrival, d.deadline, d.interpreter, d.requests, "
		"coalesce(d.recurrence, '0'), d.priority, d.reservation_name) IS NOT DISTINCT FROM ROW(($2).arrival, ($2).deadline, ($2).interpreter, "
		"($2).requests, coalesce(($2).recurrence, '0'), ($2).priority, ($2).reservation_name), false), d.ended_at, d.deadline, "
		"d.recurrence IS NOT NULL, d.accepted_at, d.start, d.stop, trim_scale(d.quoted_cost)::text "
		"FROM yquota_internal.spanned_reservation AS d WHERE d.reservation_id = $1 ORDER BY d.version DESC LIMIT 1",
		.types = {"text", "yquota.reservation_contract"}
	};
	Datum		values[] = {CStringGetTextDatum(id), PointerGetDatum(definition)};
	MemoryContext caller = CurrentMemoryContext;
	YqRecordedReservation *recorded = NULL;

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	if (yq_saved_plan_run(&look_up, values, definition == NULL ? " n" : NULL) > 0)
		recorded = read_found(caller);
	SPI_finish();
	return recorded;
}

bool
yq_reservation_has_charges(const char *id)
{
	static YqSavedPlan look_up = {
		.command = "SELECT FROM yquota.reservation_charge AS c WHERE c.reservation_id = $1 LIMIT 1",
		.types = {"text"}
	};
	Datum		values[] = {CStringGetTextDatum(id)};

	return yq_saved_plan_execute(&look_up, values, NULL) > 0;
}

void
yq_reservation_check_project(const char *project)
{
	static YqSavedPlan look_up = {
		.command = "SELECT yquota_internal.refuse_name('project', $1) "
		"WHERE NOT EXISTS (SELECT FROM yquota.project AS p WHERE p.name = $1)",
		.types = {"text"}
	};
	Datum		values[] = {CStringGetTextDatum(project)};

	yq_saved_plan_execute(&look_up, values, NULL);
}

/* -- places in time ------------------------------------------------------------------ */

/* Rows of yquota.reservation_allocation. */
typedef struct Rows
{
	Datum	   *starts;
	Datum	   *ends;
	Datum	   *allocations;	/* NULL: the caller does not need the allocations */
	int			count;
} Rows;

static void
append_row(Rows *rows, const YqHierarchy *hierarchy, int64 start, int64 end, const int64 *amounts)
{
	rows->starts[rows->count] = TimestampTzGetDatum(yq_reservation_timestamp(start));
	rows->ends[rows->count] = TimestampTzGetDatum(yq_reservation_timestamp(end));
	if (hierarchy != NULL)
		rows->allocations[rows->count] = yq_hierarchy_resource(hierarchy, amounts);
	rows->count++;
}

/*
 * Append a placement.  The placement of a periodic reservation is moved into the period
 * that begins with the arrival.  The part that exceeds the end of that period is moved to
 * its beginning.
 */
static void
append_places(Rows *rows, const YqHierarchy *hierarchy, const YqPlanReservation *reservation, const YqTimeInterval *interval)
{
	int64		period = reservation->period;
	int64		start = interval->start;
	int64		end = interval->end;
	int64		first_end = reservation->arrival + period;

	if (period > 0)
	{
		start = reservation->arrival + ((start - reservation->arrival) % period + period) % period;
		end = start + (interval->end - interval->start);
	}
	if (period == 0 || end <= first_end)
		append_row(rows, hierarchy, start, end, interval->amounts);
	else
	{
		append_row(rows, hierarchy, start, first_end, interval->amounts);
		append_row(rows, hierarchy, reservation->arrival, end - period, interval->amounts);
	}
}

/* List the rows to write.  "hierarchy" is NULL if the caller does not need the allocations. */
static Rows
list_rows(const YqHierarchy *hierarchy, const YqPlanReservation *reservation)
{
	int			room = Max(2 * reservation->interval_count, 1);
	Rows		rows = {palloc_extended(room * sizeof(Datum), MCXT_ALLOC_HUGE), palloc_extended(room * sizeof(Datum), MCXT_ALLOC_HUGE),
		palloc_extended(room * sizeof(Datum), MCXT_ALLOC_HUGE), 0};

	for (int i = 0; i < reservation->interval_count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (!yq_amounts_are_none(reservation->over_time->calculator, reservation->intervals[i].amounts))
			append_places(&rows, hierarchy, reservation, &reservation->intervals[i]);
	}
	return rows;
}

void
yq_reservation_span(const YqPlanReservation *reservation, TimestampTz *start, TimestampTz *end)
{
	Rows		rows = list_rows(NULL, reservation);

	*start = DatumGetTimestampTz(rows.starts[0]);
	*end = DatumGetTimestampTz(rows.ends[0]);
	for (int i = 1; i < rows.count; i++)
	{
		*start = Min(*start, DatumGetTimestampTz(rows.starts[i]));
		*end = Max(*end, DatumGetTimestampTz(rows.ends[i]));
	}
}

/* -- writing ----------------------------------------------------------------------------- */

static Datum
time_array(Datum *times, int count)
{
	return PointerGetDatum(construct_array(times, count, TIMESTAMPTZOID, sizeof(TimestampTz), true, TYPALIGN_DOUBLE));
}

static Datum
resource_array(Datum *resources, int count)
{
	return PointerGetDatum(construct_array(resources, count, yq_type_oid("resource"), -1, false, TYPALIGN_INT));
}

const char *
yq_reservation_quote(const YqHierarchy *hierarchy, const char *id, const YqRecordedReservation *recorded,
					 const YqPlanReservation *reservation, Datum multipliers, TimestampTz at)
{
	static YqSavedPlan quote = {
		.command = "SELECT yquota_internal.quote_reservation($1, $2, $3, $4, $5, $6, $7, $8, $9)::text",
		.types = {"text", "text", "text", "text", "_timestamptz", "_timestamptz", "yquota._resource", "timestamptz", "yquota._price"},
		.plans_once = true
	};
	Rows		rows = list_rows(hierarchy, reservation);
	bool		has_project = recorded->project != NULL;
	char		nulls[] = {' ', has_project ? ' ' : 'n', ' ', ' ', ' ', ' ', ' ', ' ', multipliers == 0 ? 'n' : ' ', '\0'};
	Datum		values[] = {CStringGetTextDatum(id), has_project ? CStringGetTextDatum(recorded->project) : (Datum) 0,
		CStringGetTextDatum(recorded->username), CStringGetTextDatum(recorded->queue), time_array(rows.starts, rows.count),
	time_array(rows.ends, rows.count), resource_array(rows.allocations, rows.count), TimestampTzGetDatum(at), multipliers};
	MemoryContext caller = CurrentMemoryContext;
	const char *cost;

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	(void) yq_saved_plan_run(&quote, values, nulls);
	cost = found_text(1, caller);
	SPI_finish();
	return cost;
}

static void
record_allocations(const YqHierarchy *hierarchy, const char *id, int version, const YqPlanReservation *reservation)
{
	static YqSavedPlan insert = {
		.command = "INSERT INTO yquota.reservation_allocation (reservation_id, version, queue, username, deadline, recurrence, \"from\", \"to\", allocation) "
		"SELECT d.reservation_id, d.version, d.queue, d.username, d.deadline, d.recurrence, u.* "
		"FROM yquota.reservation_definition AS d, unnest($3, $4, $5) AS u WHERE d.reservation_id = $1 AND d.version = $2",
		.types = {"text", "int4", "_timestamptz", "_timestamptz", "yquota._resource"},
		.plans_once = true
	};
	Rows		rows = list_rows(hierarchy, reservation);
	Datum		values[] = {CStringGetTextDatum(id), Int32GetDatum(version), time_array(rows.starts, rows.count),
		time_array(rows.ends, rows.count), resource_array(rows.allocations, rows.count)};

	(void) yq_saved_plan_execute(&insert, values, NULL);
}

bool
yq_reservation_record(const YqHierarchy *hierarchy, const char *id, const YqRecordedReservation *recorded,
					  const HeapTupleHeader definition, const YqPlanReservation *reservation, TimestampTz now)
{
	static YqSavedPlan insert = {
		.command = "INSERT INTO yquota.reservation_definition (reservation_id, version, queue, username, project, arrival, deadline, "
		"interpreter, requests, recurrence, priority, reservation_name, accepted_at, quoted_cost) "
		"VALUES ($1, $2, $3, $4, $5, ($6).arrival, ($6).deadline, ($6).interpreter, ($6).requests, nullif(($6).recurrence, '0'), "
		"($6).priority, ($6).reservation_name, $7, ($8)::numeric) ON CONFLICT DO NOTHING",
		.types = {"text", "int4", "text", "text", "text", "yquota.reservation_contract", "timestamptz", "text"}
	};
	Datum		values[] = {CStringGetTextDatum(id), Int32GetDatum(recorded->version), CStringGetTextDatum(recorded->queue),
		CStringGetTextDatum(recorded->username), CStringGetTextDatum(recorded->project),
	PointerGetDatum(definition), TimestampTzGetDatum(now), CStringGetTextDatum(recorded->quoted_cost)};

	if (yq_saved_plan_execute(&insert, values, NULL) == 0)
		return false;
	record_allocations(hierarchy, id, recorded->version, reservation);
	return true;
}

void
yq_reservations_end(const List *ids, const char *ended_by, TimestampTz now)
{
	static YqSavedPlan end = {
		.command = "WITH ended AS ("
		"UPDATE yquota.reservation_definition AS d SET ended_at = $3, ended_by = $2 WHERE d.reservation_id = ANY ($1) AND d.ended_at IS NULL "
		"RETURNING d.reservation_id, d.version) "
		"UPDATE yquota.reservation_allocation AS a SET ended_at = $3 FROM ended AS e "
		"WHERE a.reservation_id = e.reservation_id AND a.version = e.version",
		.types = {"_text", "text", "timestamptz"},
		.plans_once = true
	};
	Datum		values[] = {yq_array_of_strings(ids), CStringGetTextDatum(ended_by), TimestampTzGetDatum(now)};

	(void) yq_saved_plan_execute(&end, values, NULL);
}

void
yq_reservation_count_refusal(const char *queue, const char *decided_by, TimestampTz now)
{
	static YqSavedPlan count = {
		.command = "INSERT INTO yquota_internal.reservation_refusal AS r (plan, decided_by, refused, last_at) VALUES ($1, $2, 1, $3) "
		"ON CONFLICT (plan, decided_by) DO UPDATE SET refused = r.refused + 1, last_at = greatest(r.last_at, excluded.last_at)",
		.types = {"text", "text", "timestamptz"}
	};
	Datum		values[] = {CStringGetTextDatum(queue), CStringGetTextDatum(decided_by), TimestampTzGetDatum(now)};

	(void) yq_saved_plan_execute(&count, values, NULL);
}
