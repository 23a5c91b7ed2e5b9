/*-------------------------------------------------------------------------
 *
 * load_plan.c
 *	  Loads a plan from the tables, and locks plans.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "common/hashfn.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "reservation/load_plan.h"
#include "reservation/reservation_definition.h"
#include "storage/lmgr.h"
#include "store/catalog.h"
#include "store/saved_plan.h"
#include "utils/builtins.h"

/* -- plan lock ----------------------------------------------------------------- */

/*
 * Locks plans.
 *
 * The locks are object locks on the relation yquota.reservation_definition, and appear as
 * such in pg_locks.
 */

/* Number of lock objects; a hash of a plan's path selects one of them. */
#define HASHED_PATHS 1024

static int
number_of(const char *path)
{
	return (int) (hash_bytes((const unsigned char *) path, strlen(path)) % HASHED_PATHS);
}

static void
take(int number)
{
	LOCKTAG		tag;

	SET_LOCKTAG_OBJECT(tag, MyDatabaseId, yq_table_oid(YQ_RESERVATION_DEFINITION), number, 0);
	(void) LockAcquire(&tag, ExclusiveLock, false, false);
}

void
yq_plan_lock(const char *path)
{
	take(number_of(path));
}

void
yq_plans_lock(const List *paths)
{
	List	   *numbers = NIL;
	ListCell   *cell;

	foreach(cell, paths)
		numbers = list_append_unique_int(numbers, number_of(lfirst(cell)));
	list_sort(numbers, list_int_cmp);
	foreach(cell, numbers)
		take(lfirst_int(cell));
	list_free(numbers);
}

/* -- load plan ----------------------------------------------------------------- */

/* -- the queue --------------------------------------------------------------------- */

const YqQueue *
yq_plan_queue(const YqHierarchy *hierarchy, const char *name)
{
	const YqQueue *queue = yq_hierarchy_find_by_name(hierarchy, name);

	if (queue == NULL)
	{
		const char *similar = yq_hierarchy_similar_queue(hierarchy, name);

		ereport(ERROR,
				(errcode(ERRCODE_FOREIGN_KEY_VIOLATION),
				 yq_hierarchy_name_is_ambiguous(hierarchy, name) ?
				 errmsg("queue name \"%s\" is ambiguous", name) :
				 errmsg("queue \"%s\" does not exist", name),
				 similar == NULL ? 0 : errhint("Perhaps you meant \"%s\".", similar)));
	}
	if (queue->kind != YQ_QUEUE_PLAN)
		ereport(ERROR,
				(errcode(ERRCODE_FOREIGN_KEY_VIOLATION),
				 errmsg("queue \"%s\" is not a plan", queue->path),
				 errhint("A plan is a leaf queue with the property reservable.")));
	return queue;
}

int64 *
yq_plan_capacity(const YqHierarchy *hierarchy, const YqQueue *queue)
{
	int64	   *capacity = yq_hierarchy_amounts(hierarchy);

	yq_amounts_multiply(&hierarchy->calculator, capacity, hierarchy->cluster, yq_queue_label(queue, 0)->absolute_capacity);
	return capacity;
}

void
yq_plan_check_interval(int64 start, int64 end)
{
	if (end < start)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("\"to\" is before \"from\"")));
}

void
yq_plan_window_arguments(FunctionCallInfo fcinfo, int from, int to, const YqReservationSettings *settings, int64 *start, int64 *end)
{
	yq_require_value(PG_ARGISNULL(from), "from");
	yq_require_value(PG_ARGISNULL(to), "to");
	*start = yq_reservation_time(PG_GETARG_TIMESTAMPTZ(from), "\"from\"");
	*end = yq_reservation_time(PG_GETARG_TIMESTAMPTZ(to), "\"to\"");
	yq_plan_check_interval(*start, *end);
	if ((*end - *start) / settings->largest_period > settings->most_copies)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("the time from \"from\" to \"to\" is too long"),
				 errdetail("The limit is reservation_most_copies, %d, times the largest periodicity.", settings->most_copies)));
}

void
yq_plan_check_length(const YqPlan *plan, int64 start, int64 end)
{
	bool		is_too_long = yq_steps_repeat_too_often(plan->periodic, start, end);

	for (int i = 0; i < plan->count; i++)
		is_too_long = is_too_long || yq_steps_repeat_too_often(plan->reservations[i]->over_time, start, end);
	if (is_too_long)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("the time from \"from\" to \"to\" is too long"),
				 errdetail("Repeating reservations have more than %d steps in this time.", YQ_MOST_REPEATED_STEPS)));
}

YqPlan *
yq_plan_load(const YqHierarchy *hierarchy, const YqQueue *queue, const YqReservationSettings *settings)
{
	Size		bytes = sizeof(int64) * hierarchy->calculator.types;
	YqPlan	   *plan = yq_plan_make(&hierarchy->calculator);

	memcpy(plan->capacity, yq_plan_capacity(hierarchy, queue), bytes);
	memcpy(plan->maximum_allocation, hierarchy->settings.maximum_allocation, bytes);
	plan->step = settings->step;
	plan->largest_period = settings->largest_period;
	plan->policy = settings->limits_users ? YQ_CAPACITY_OVER_TIME : YQ_NO_OVER_COMMIT;
	plan->window = settings->window;
	plan->instantaneous_share = settings->instantaneous_share;
	plan->average_share = settings->average_share;
	plan->wraps = settings->wraps;
	plan->repeats = settings->repeats;
	plan->plans_around = settings->plans_around;
	plan->ends_averages = settings->ends_averages;
	plan->most_windows = settings->most_windows;
	return plan;
}

int64
yq_plan_archived_until(const YqReservationSettings *settings, int64 now)
{
	return settings->limits_users ? now - Min(settings->window, now) : now;
}

int64
yq_plan_last_deadline(const char *queue, int64 from)
{
	static YqSavedPlan look_up = {
		.command = "SELECT coalesce(max(d.deadline), $2) FROM yquota.reservation_definition AS d "
		"WHERE d.queue = $1 AND d.ended_at IS NULL AND d.recurrence IS NULL AND tstzrange(d.arrival, d.deadline) && tstzrange($2, NULL)",
		.types = {"text", "timestamptz"},
		.plans_once = true
	};
	Datum		values[] = {CStringGetTextDatum(queue), TimestampTzGetDatum(yq_reservation_timestamp(from))};
	bool		isnull;
	int64		deadline;

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	(void) yq_saved_plan_run(&look_up, values, NULL);
	deadline = yq_reservation_time(DatumGetTimestampTz(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &isnull)), "deadline");
	SPI_finish();
	return deadline;
}

/* -- reservations --------------------------------------------------------------------- */

/* Columns of the statements, numbered from 1. */
typedef enum ReservationColumn
{
	RESERVATION_ID = 1,
	RESERVATION_USERNAME,
	RESERVATION_ARRIVAL,
	RESERVATION_DEADLINE,
	RESERVATION_RECURRENCE,
	RESERVATION_ACCEPTED_AT,
	RESERVATION_FROM,
	RESERVATION_TO,
	RESERVATION_ALLOCATION
} ReservationColumn;

#define RESERVATION_COLUMNS \
	"SELECT r.reservation_id, r.username, r.arrival, r.deadline, r.recurrence, r.accepted_at, r.\"from\", r.\"to\", r.allocation "

/* A reservation whose rows are being read. */
typedef struct Reading
{
	YqPlan	   *plan;
	const YqHierarchy *hierarchy;
	char	   *id;				/* NULL: none */
	char	   *username;
	int64		arrival;
	int64		deadline;
	int64		period;
	int64		accepted_at;
	YqTimeInterval *intervals;
	int			count;
	int			room;
} Reading;

static Datum
value_of(uint64 row, int column, bool *isnull)
{
	return SPI_getbinval(SPI_tuptable->vals[row], SPI_tuptable->tupdesc, column, isnull);
}

/* Return a time in milliseconds, rounded toward zero. */
static int64
time_of(uint64 row, int column)
{
	bool		isnull;
	TimestampTz time = DatumGetTimestampTz(value_of(row, column, &isnull));

	return yq_reservation_time(time - time % 1000, "time");
}

/* Add a reservation to the plan after all rows of the reservation have been read. */
static void
finish_reservation(Reading *reading)
{
	YqPlanReservation *reservation;

	if (reading->id == NULL)
		return;
	reservation = yq_plan_make_reservation(reading->plan, yq_reservation_id_parse(reading->id), reading->username,
										   reading->arrival, reading->deadline, reading->period,
										   reading->intervals, reading->count);
	reservation->accepted_at = reading->accepted_at;
	yq_plan_add_accepted(reading->plan, reservation);
	reading->count = 0;
}

static void
begin_reservation(Reading *reading, uint64 row, char *id)
{
	bool		isnull;
	Datum		recurrence = value_of(row, RESERVATION_RECURRENCE, &isnull);

	reading->id = id;
	reading->period = isnull ? 0 : yq_reservation_duration(DatumGetIntervalP(recurrence), "recurrence");
	reading->username = TextDatumGetCString(value_of(row, RESERVATION_USERNAME, &isnull));
	reading->arrival = time_of(row, RESERVATION_ARRIVAL);
	reading->deadline = time_of(row, RESERVATION_DEADLINE);
	reading->accepted_at = time_of(row, RESERVATION_ACCEPTED_AT);
}

/*
 * Set an interval.  The table contains the first period of a periodic reservation; in a
 * plan, its intervals begin between 0 and the period.
 */
static void
set_interval(const YqHierarchy *hierarchy, YqTimeInterval *interval, int64 period, int64 start, int64 end, Datum allocation)
{
	interval->start = period > 0 ? start % period : start;
	interval->end = interval->start + (end - start);
	memset(interval->amounts, 0, sizeof(int64) * hierarchy->calculator.types);
	yq_hierarchy_add_amounts(hierarchy, interval->amounts, allocation);
}

static void
add_interval(Reading *reading, uint64 row, Datum allocation)
{
	if (reading->count == reading->room)
	{
		reading->room = Max(16, 2 * reading->room);
		reading->intervals = reading->intervals == NULL ? palloc(sizeof(YqTimeInterval) * reading->room) :
			repalloc_huge(reading->intervals, sizeof(YqTimeInterval) * reading->room);
	}
	set_interval(reading->hierarchy, &reading->intervals[reading->count++], reading->period, time_of(row, RESERVATION_FROM),
				 time_of(row, RESERVATION_TO), allocation);
}

static void
read_row(Reading *reading, uint64 row)
{
	bool		isnull;
	char	   *id = TextDatumGetCString(value_of(row, RESERVATION_ID, &isnull));
	Datum		allocation = value_of(row, RESERVATION_ALLOCATION, &isnull);

	if (reading->id == NULL || strcmp(reading->id, id) != 0)
	{
		finish_reservation(reading);
		begin_reservation(reading, row, id);
	}
	if (!isnull)
		add_interval(reading, row, allocation);
}

/* Load the reservations that a statement returns. */
static void
load_reservations(YqPlan *plan, const YqHierarchy *hierarchy, YqSavedPlan *look_up, Datum *values)
{
	Reading		reading = {.plan = plan,.hierarchy = hierarchy};
	uint64		count;

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	count = yq_saved_plan_run(look_up, values, NULL);
	for (uint64 row = 0; row < count; row++)
	{
		CHECK_FOR_INTERRUPTS();
		read_row(&reading, row);
	}
	finish_reservation(&reading);
	SPI_finish();
}

/* Number of parameters of the statements that find periodic reservations, or reservations that touch an interval. */
#define SEARCH_VALUES 5

static void
set_values(Datum *values, const YqPlan *plan, const char *queue, int64 start, int64 end, int64 archived_until)
{
	values[0] = CStringGetTextDatum(queue);
	values[1] = TimestampTzGetDatum(yq_reservation_timestamp(Max(start, 0)));
	values[2] = TimestampTzGetDatum(yq_reservation_timestamp(Min(end, YQ_RESERVATION_TIME_ENDS)));
	values[3] = TimestampTzGetDatum(yq_reservation_timestamp(archived_until));
	values[4] = BoolGetDatum(plan->repeats);
}

void
yq_plan_load_reservations(YqPlan *plan, const YqHierarchy *hierarchy, const char *queue,
						  int64 start, int64 end, int64 archived_until)
{
	static YqSavedPlan look_up = {
		.command = RESERVATION_COLUMNS
		"FROM yquota_internal.allocated_reservation AS r WHERE r.queue = $1 AND r.ended_at IS NULL AND ("
		"r.recurrence IS NULL AND r.deadline > $4 AND tstzrange(r.arrival, r.deadline) && tstzrange($2, $3, '[]') "
		"OR r.recurrence IS NOT NULL AND (r.deadline > $4 OR $5)) ORDER BY r.reservation_id",
		.types = {"text", "timestamptz", "timestamptz", "timestamptz", "bool"},
		.plans_once = true
	};
	Datum		values[SEARCH_VALUES];

	set_values(values, plan, queue, start, end, archived_until);
	load_reservations(plan, hierarchy, &look_up, values);
	yq_plan_prepare(plan);
}

/* -- intervals ------------------------------------------------------------------------ */

/* Columns of the statement, numbered from 1. */
typedef enum IntervalColumn
{
	INTERVAL_FROM,
	INTERVAL_TO,
	INTERVAL_RECURRENCE,
	INTERVAL_USERNAME,
	INTERVAL_ALLOCATION,
	INTERVAL_COLUMNS
} IntervalColumn;

static void
read_interval(YqPlan *plan, const YqHierarchy *hierarchy, const Datum *values)
{
	int64		period = yq_reservation_duration(DatumGetIntervalP(values[INTERVAL_RECURRENCE]), "recurrence");
	text	   *username = DatumGetTextPP(values[INTERVAL_USERNAME]);
	YqTimeInterval interval;

	set_interval(hierarchy, &interval, period, yq_reservation_time(DatumGetTimestampTz(values[INTERVAL_FROM]), "time"),
				 yq_reservation_time(DatumGetTimestampTz(values[INTERVAL_TO]), "time"), values[INTERVAL_ALLOCATION]);
	yq_plan_add_interval(plan, (YqBytes) {VARDATA_ANY(username), VARSIZE_ANY_EXHDR(username)}, period, &interval);
}

/* Load the reservation that will be replaced. */
static void
load_reservation(YqPlan *plan, const YqHierarchy *hierarchy, const char *id)
{
	static YqSavedPlan look_up = {
		.command = RESERVATION_COLUMNS
		"FROM yquota_internal.allocated_reservation AS r WHERE r.reservation_id = $1 AND r.ended_at IS NULL",
		.types = {"text"}
	};
	Datum		values[] = {CStringGetTextDatum(id)};

	load_reservations(plan, hierarchy, &look_up, values);
}

/* Load intervals.  Intervals that end exactly where the search begins are included, because they cause a step there. */
void
yq_plan_load_intervals(YqPlan *plan, const YqHierarchy *hierarchy, const char *queue, const char *id,
					   int64 start, int64 end, int64 archived_until)
{
	static YqSavedPlan look_up = {
		.command = "SELECT a.\"from\", a.\"to\", interval '0', a.username, a.allocation FROM yquota.reservation_allocation AS a "
		"WHERE a.ended_at IS NULL AND a.recurrence IS NULL AND tstzrange(a.\"from\", a.\"to\", '[]') && tstzrange($2, $3, '[]') "
		"AND a.queue = $1 AND a.deadline > $4 AND a.reservation_id <> $6 "
		"UNION ALL SELECT a.\"from\", a.\"to\", a.recurrence, a.username, a.allocation FROM yquota.reservation_allocation AS a "
		"WHERE a.ended_at IS NULL AND a.recurrence IS NOT NULL AND a.queue = $1 AND (a.deadline > $4 OR $5) AND a.reservation_id <> $6",
		.types = {"text", "timestamptz", "timestamptz", "timestamptz", "bool", "text"},
		.plans_once = true
	};
	Datum		values[SEARCH_VALUES + 1];
	uint64		count;

	if (id != NULL)
		load_reservation(plan, hierarchy, id);
	set_values(values, plan, queue, start, end, archived_until);
	values[SEARCH_VALUES] = CStringGetTextDatum(id == NULL ? "" : id);
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	count = yq_saved_plan_run(&look_up, values, NULL);
	for (uint64 row = 0; row < count; row++)
	{
		Datum		columns[INTERVAL_COLUMNS];
		bool		nulls[INTERVAL_COLUMNS];

		CHECK_FOR_INTERRUPTS();
		heap_deform_tuple(SPI_tuptable->vals[row], SPI_tuptable->tupdesc, columns, nulls);
		read_interval(plan, hierarchy, columns);
	}
	yq_plan_prepare(plan);
	SPI_finish();
}

void
yq_plan_load_active(YqPlan *plan, const YqHierarchy *hierarchy, const char *queue, int64 time)
{
	static YqSavedPlan look_up = {
		.command = RESERVATION_COLUMNS
		"FROM yquota_internal.active_reservations($1, $2) AS r ORDER BY r.reservation_id COLLATE \"C\"",
		.types = {"text", "timestamptz"},
		.plans_once = true
	};
	Datum		values[] = {CStringGetTextDatum(queue), TimestampTzGetDatum(yq_reservation_timestamp(time))};
	int			count = 0;

	load_reservations(plan, hierarchy, &look_up, values);
	for (int i = 0; i < plan->count; i++)
	{
		const YqPlanReservation *reservation = plan->reservations[i];

		if (yq_plan_occurs(reservation->arrival, reservation->deadline, reservation->period, time, time))
			plan->reservations[count++] = plan->reservations[i];
	}
	plan->count = count;
}

/* -- further look-ups for the follower ------------------------------------------------- */

bool
yq_plan_goes_on(const char *queue, int64 time)
{
	static YqSavedPlan look_up = {
		.command = "SELECT FROM yquota.reservation_definition AS d WHERE d.queue = $1 AND d.ended_at IS NULL AND d.recurrence IS NULL "
		"AND tstzrange(d.arrival, d.deadline) >> tstzrange(NULL, $2, '[]') LIMIT 1",
		.types = {"text", "timestamptz"},
		.plans_once = true
	};
	Datum		values[] = {CStringGetTextDatum(queue), TimestampTzGetDatum(yq_reservation_timestamp(Min(time, YQ_RESERVATION_TIME_ENDS)))};

	return yq_saved_plan_execute(&look_up, values, NULL) > 0;
}

List *
yq_plan_completed(const YqPlan *plan, const char *queue, int64 until)
{
	static YqSavedPlan look_up = {
		.command = "SELECT d.reservation_id FROM yquota.reservation_definition AS d WHERE d.queue = $1 AND d.ended_at IS NULL "
		"AND (d.recurrence IS NULL AND tstzrange(d.arrival, d.deadline) << tstzrange($2, NULL) "
		"OR d.recurrence IS NOT NULL AND NOT $3 AND d.deadline <= $2) ORDER BY 1",
		.types = {"text", "timestamptz", "bool"},
		.plans_once = true
	};
	Datum		values[] = {CStringGetTextDatum(queue), TimestampTzGetDatum(yq_reservation_timestamp(until)), BoolGetDatum(plan->repeats)};

	return yq_saved_plan_strings(&look_up, values);
}
