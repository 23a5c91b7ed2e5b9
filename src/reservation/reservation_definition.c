/*-------------------------------------------------------------------------
 *
 * reservation_definition.c
 *	  Reads a reservation as its user defines it (semantics/reservations 1, 2).
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "access/htup_details.h"
#include "admission/submission/request.h"
#include "common/int.h"
#include "funcapi.h"
#include "queues/text.h"
#include "reservation/reservation_definition.h"
#include "store/catalog.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/typcache.h"

#define MILLISECOND INT64CONST(1000)	/* microseconds */

/* Microseconds between PostgreSQL's epoch and the Unix epoch. */
#define EPOCH_DIFFERENCE ((int64) (POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * USECS_PER_DAY)

/* -- times ------------------------------------------------------------------------ */

int64
yq_reservation_time(TimestampTz time, const char *name)
{
	/* times near the end of timestamptz overflow when counted in microseconds since 1970 */
	if (TIMESTAMP_NOT_FINITE(time) || time < -EPOCH_DIFFERENCE || time > PG_INT64_MAX - EPOCH_DIFFERENCE)
		ereport(ERROR,
				(errcode(ERRCODE_DATETIME_FIELD_OVERFLOW),
				 errmsg("%s of a reservation is out of range", name)));
	if ((time + EPOCH_DIFFERENCE) % MILLISECOND != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s of a reservation must be in whole milliseconds", name),
				 errhint("date_trunc('milliseconds', ...) cuts off the rest.")));
	return (time + EPOCH_DIFFERENCE) / MILLISECOND;
}

TimestampTz
yq_reservation_timestamp(int64 time)
{
	return time * MILLISECOND - EPOCH_DIFFERENCE;
}

int64
yq_reservation_duration(const Interval *interval, const char *name)
{
	int64		microseconds;

	if (interval->month != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s of a reservation must not have months", name),
				 errhint("Write it in days or hours.")));
	if (pg_mul_s64_overflow(interval->day, USECS_PER_DAY, &microseconds) ||
		pg_add_s64_overflow(microseconds, interval->time, &microseconds))
		ereport(ERROR,
				(errcode(ERRCODE_DATETIME_FIELD_OVERFLOW),
				 errmsg("%s of a reservation is out of range", name)));
	if (microseconds % MILLISECOND != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s of a reservation must be in whole milliseconds", name),
				 errhint("date_trunc('milliseconds', ...) cuts off the rest.")));
	return microseconds / MILLISECOND;
}

/* -- reading ------------------------------------------------------------------------ */

/* Attributes of the type yquota.reservation_request, in order. */
typedef enum RequestAttribute
{
	REQUEST_CAPABILITY,
	REQUEST_NUM_CONTAINERS,
	REQUEST_DURATION,
	REQUEST_CONCURRENCY,
	REQUEST_ATTRIBUTES
} RequestAttribute;

/* Attributes of the type yquota.reservation_contract on which decisions depend, in order. */
typedef enum DefinitionAttribute
{
	DEFINITION_ARRIVAL,
	DEFINITION_DEADLINE,
	DEFINITION_INTERPRETER,
	DEFINITION_REQUESTS,
	DEFINITION_RECURRENCE,
	DEFINITION_PRIORITY,
	DEFINITION_RESERVATION_NAME,
	DEFINITION_ATTRIBUTES
} DefinitionAttribute;

/* Read the amounts of the resource types in the hierarchy. */
static void
read_capability(const YqHierarchy *hierarchy, Datum capability, int64 *amounts)
{
	YqVerdict	verdict = {0};

	if (!yq_request_read(hierarchy, NULL, DatumGetYqResourceP(capability), amounts, &verdict))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg_internal("%s", verdict.reason)));
}

/* Check that no amount is negative, and that the sum over a request's containers does not overflow. */
static void
check_capability(const YqHierarchy *hierarchy, const YqReservationRequest *request)
{
	int64		containers = Max((int64) Max(request->containers, request->concurrency), 1);

	for (int i = 0; i < hierarchy->calculator.types; i++)
	{
		int64		total;

		if (request->capability[i] < 0)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("capability of a reservation must not be negative")));
		if (pg_mul_s64_overflow(request->capability[i], containers, &total))
			ereport(ERROR,
					(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
					 errmsg("requests of a reservation are out of range")));
	}
	if (yq_amounts_are_none(&hierarchy->calculator, request->capability))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("capability of a reservation must not be empty")));
}

static void
read_request(const YqHierarchy *hierarchy, HeapTupleHeader row, YqReservationRequest *request)
{
	Datum		values[REQUEST_ATTRIBUTES];
	bool		nulls[REQUEST_ATTRIBUTES];

	yq_row_attributes(row, REQUEST_ATTRIBUTES, values, nulls);
	yq_require_value(nulls[REQUEST_CAPABILITY], "capability");
	yq_require_value(nulls[REQUEST_NUM_CONTAINERS], "num_containers");
	yq_require_value(nulls[REQUEST_DURATION], "duration");
	yq_require_value(nulls[REQUEST_CONCURRENCY], "concurrency");
	read_capability(hierarchy, values[REQUEST_CAPABILITY], request->capability);
	request->containers = DatumGetInt32(values[REQUEST_NUM_CONTAINERS]);
	request->concurrency = DatumGetInt32(values[REQUEST_CONCURRENCY]);
	request->duration = yq_reservation_duration(DatumGetIntervalP(values[REQUEST_DURATION]), "duration");
	check_capability(hierarchy, request);
	if (request->duration <= 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("duration of a reservation must be above 0")));
}

static void
read_requests(const YqHierarchy *hierarchy, Datum array, YqReservationDefinition *definition)
{
	YqReservationRequest *requests;
	Datum	   *rows;
	bool	   *nulls;

	deconstruct_array(DatumGetArrayTypeP(array), ARR_ELEMTYPE(DatumGetArrayTypeP(array)), -1, false, TYPALIGN_DOUBLE,
					  &rows, &nulls, &definition->count);
	requests = palloc0(sizeof(YqReservationRequest) * Max(definition->count, 1));
	for (int i = 0; i < definition->count; i++)
	{
		yq_require_value(nulls[i], "requests");
		read_request(hierarchy, DatumGetHeapTupleHeader(rows[i]), &requests[i]);
	}
	definition->requests = requests;
}

static YqReservationInterpreter
read_interpreter(Oid label)
{
	static const char *const labels[] = {
		[YQ_RESERVE_ANY] = "ANY",
		[YQ_RESERVE_ALL] = "ALL",
		[YQ_RESERVE_ORDER] = "ORDER",
		[YQ_RESERVE_ORDER_NO_GAP] = "ORDER_NO_GAP"
	};
	int			interpreter = YQ_RESERVE_ANY;

	while (yq_enum_oid("reservation_interpreter", labels[interpreter]) != label)
		interpreter++;
	return interpreter;
}

YqReservationDefinition *
yq_reservation_definition_read(const YqHierarchy *hierarchy, HeapTupleHeader row)
{
	Datum		values[DEFINITION_ATTRIBUTES];
	bool		nulls[DEFINITION_ATTRIBUTES];
	YqReservationDefinition *definition = palloc0(sizeof(YqReservationDefinition));

	yq_require_value(row == NULL, "definition");
	yq_row_attributes(row, DEFINITION_ATTRIBUTES, values, nulls);
	yq_require_value(nulls[DEFINITION_ARRIVAL], "arrival");
	yq_require_value(nulls[DEFINITION_DEADLINE], "deadline");
	yq_require_value(nulls[DEFINITION_INTERPRETER], "interpreter");
	yq_require_value(nulls[DEFINITION_REQUESTS], "requests");
	definition->arrival = yq_reservation_time(DatumGetTimestampTz(values[DEFINITION_ARRIVAL]), "arrival");
	definition->deadline = yq_reservation_time(DatumGetTimestampTz(values[DEFINITION_DEADLINE]), "deadline");
	definition->interpreter = read_interpreter(DatumGetObjectId(values[DEFINITION_INTERPRETER]));
	if (!nulls[DEFINITION_RECURRENCE])
		definition->period = yq_reservation_duration(DatumGetIntervalP(values[DEFINITION_RECURRENCE]), "recurrence");
	read_requests(hierarchy, values[DEFINITION_REQUESTS], definition);
	return definition;
}

/* -- writing ------------------------------------------------------------------------ */

static HeapTupleHeader
form_row(HeapTupleHeader like, Datum *values, bool *nulls)
{
	TupleDesc	descriptor = lookup_rowtype_tupdesc(HeapTupleHeaderGetTypeId(like), HeapTupleHeaderGetTypMod(like));
	HeapTuple	tuple = heap_form_tuple(descriptor, values, nulls);

	ReleaseTupleDesc(descriptor);
	return tuple->t_data;
}

static Datum
revise_requests(Datum array, const YqReservationDefinition *definition)
{
	Oid			type = ARR_ELEMTYPE(DatumGetArrayTypeP(array));
	Datum	   *rows;
	bool	   *row_nulls;
	int			count;

	deconstruct_array(DatumGetArrayTypeP(array), type, -1, false, TYPALIGN_DOUBLE, &rows, &row_nulls, &count);
	for (int i = 0; i < count; i++)
	{
		HeapTupleHeader row = DatumGetHeapTupleHeader(rows[i]);
		Datum		values[REQUEST_ATTRIBUTES];
		bool		nulls[REQUEST_ATTRIBUTES];

		yq_row_attributes(row, REQUEST_ATTRIBUTES, values, nulls);
		values[REQUEST_NUM_CONTAINERS] = Int32GetDatum(definition->requests[i].containers);
		values[REQUEST_CONCURRENCY] = Int32GetDatum(definition->requests[i].concurrency);
		rows[i] = HeapTupleHeaderGetDatum(form_row(row, values, nulls));
	}
	return PointerGetDatum(construct_array(rows, count, type, -1, false, TYPALIGN_DOUBLE));
}

HeapTupleHeader
yq_reservation_definition_revise(HeapTupleHeader row, const YqReservationDefinition *definition)
{
	Datum		values[DEFINITION_ATTRIBUTES];
	bool		nulls[DEFINITION_ATTRIBUTES];

	yq_row_attributes(row, DEFINITION_ATTRIBUTES, values, nulls);
	values[DEFINITION_DEADLINE] = TimestampTzGetDatum(yq_reservation_timestamp(definition->deadline));
	values[DEFINITION_REQUESTS] = revise_requests(values[DEFINITION_REQUESTS], definition);
	return form_row(row, values, nulls);
}

/* -- rules ---------------------------------------------------------------------------- */

YqReservationVerdict
yq_reservation_refuse(const char *decided_by, const char *reason)
{
	return (YqReservationVerdict) {.decided_by = decided_by,.reason = reason};
}

static YqReservationVerdict
too_large(const char *what, int64 count, const char *column, int most)
{
	return yq_reservation_refuse("too_large", psprintf("%s: " INT64_FORMAT ", and %s allows %d", what, count, column, most));
}

static bool
is_ordered(const YqReservationDefinition *definition)
{
	return definition->interpreter == YQ_RESERVE_ORDER || definition->interpreter == YQ_RESERVE_ORDER_NO_GAP;
}

static int64
shortest_duration(const YqReservationDefinition *definition)
{
	int64		duration = 0;

	for (int i = 0; i < definition->count; i++)
	{
		int64		own = definition->requests[i].duration;

		if (!is_ordered(definition))
			duration = Max(duration, own);
		else if (pg_add_s64_overflow(duration, own, &duration))
			return PG_INT64_MAX;
	}
	return duration;
}

/* Find the gang that is the largest for the calculator.  The result is palloc'd. */
static const int64 *
largest_gang(const YqHierarchy *hierarchy, const YqReservationDefinition *definition, const int64 *capacity)
{
	const int64 *largest = yq_hierarchy_amounts(hierarchy);

	for (int i = 0; i < definition->count; i++)
	{
		const YqReservationRequest *request = &definition->requests[i];
		int64	   *gang = yq_hierarchy_amounts(hierarchy);

		for (int j = 0; j < hierarchy->calculator.types; j++)
			gang[j] = request->capability[j] * Max(request->concurrency, 0);
		largest = yq_amounts_max(&hierarchy->calculator, capacity, largest, gang);
	}
	return largest;
}

static YqReservationVerdict
check_size(const YqHierarchy *hierarchy, const YqReservationDefinition *definition, const int64 *capacity)
{
	int64		duration = shortest_duration(definition);
	const int64 *gang = largest_gang(hierarchy, definition, capacity);
	YqReservationVerdict verdict;

	if (definition->deadline - definition->arrival < duration)
		return yq_reservation_refuse("duration", psprintf("the time from arrival to deadline, " INT64_FORMAT
														  " ms, is shorter than the requests, " INT64_FORMAT " ms",
														  definition->deadline - definition->arrival, duration));
	if (yq_amounts_compare(&hierarchy->calculator, capacity, gang, capacity) <= 0)
		return (YqReservationVerdict) {.accepted = true};
	verdict = yq_reservation_refuse("largest_gang", psprintf("the largest gang, %s, is more than the plan's capacity, %s",
															 yq_amounts_text(hierarchy, gang), yq_amounts_text(hierarchy, capacity)));
	verdict.asked = gang;
	verdict.maximum = capacity;
	return verdict;
}

static YqReservationVerdict
check_recurrence(const YqReservationSettings *settings, const YqReservationDefinition *definition)
{
	int64		period = definition->period;

	if (period < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("recurrence of a reservation must not be negative")));
	if (period > 0 && definition->deadline - definition->arrival > period)
		return yq_reservation_refuse("recurrence", psprintf("the time from arrival to deadline, " INT64_FORMAT
															" ms, is longer than the recurrence, " INT64_FORMAT " ms",
															definition->deadline - definition->arrival, period));
	if (period > 0 && settings->largest_period % period != 0)
		return yq_reservation_refuse("recurrence", psprintf("the recurrence, " INT64_FORMAT
															" ms, does not divide the largest periodicity, " INT64_FORMAT " ms",
															period, settings->largest_period));
	return (YqReservationVerdict) {.accepted = true};
}

/* Refuse a definition if deciding about it would take too long. */
static YqReservationVerdict
check_limits(const YqReservationSettings *settings, const YqReservationDefinition *definition)
{
	int64		copies = definition->period > 0 ? settings->largest_period / definition->period : 1;

	if (definition->count > settings->most_requests)
		return too_large("requests", definition->count, "reservation_most_requests", settings->most_requests);
	copies = Max(copies, (definition->deadline - definition->arrival) / settings->largest_period);
	if (copies > settings->most_copies)
		return too_large("copies of a period", copies, "reservation_most_copies", settings->most_copies);
	return (YqReservationVerdict) {.accepted = true};
}

YqReservationVerdict
yq_reservation_definition_check(const YqHierarchy *hierarchy, const YqReservationSettings *settings,
								const YqReservationDefinition *definition, const int64 *capacity, int64 now)
{
	YqReservationVerdict verdict = {.accepted = true};

	if (definition->deadline <= now)
		return yq_reservation_refuse("deadline", "the deadline has passed");
	if (definition->count == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("requests of a reservation must not be empty")));
	if (definition->interpreter != YQ_RESERVE_ANY)
		verdict = check_size(hierarchy, definition, capacity);
	if (verdict.accepted)
		verdict = check_recurrence(settings, definition);
	if (verdict.accepted)
		verdict = check_limits(settings, definition);
	return verdict;
}
