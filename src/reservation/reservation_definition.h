/*-------------------------------------------------------------------------
 *
 * reservation_definition.h
 *	  Reads a reservation as its user defines it, and applies the rules that precede the plan's
 *	  (reservation 1, 2).
 *
 * In SQL times are timestamptz, durations interval; here all are milliseconds, times since the
 * epoch.  Malformed input is an error: ERRCODE_NULL_VALUE_NOT_ALLOWED for missing values, and
 * ERRCODE_DATETIME_FIELD_OVERFLOW for times before 1970 or without an end.  Amounts that do not fit
 * raise ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE, and the rest ERRCODE_INVALID_PARAMETER_VALUE.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_RESERVATION_DEFINITION_H
#define YQ_RESERVATION_DEFINITION_H

#include "admission/configuration/scheduler_setting.h"
#include "base/arguments.h"
#include "queues/hierarchy.h"
#include "reservation/reservation_agent.h"
#include "utils/timestamp.h"

/* The answer to a user: accepted, or the rule that refuses. */
typedef struct YqReservationVerdict
{
	bool		accepted;
	const char *decided_by;		/* NULL when it is accepted */
	const char *reason;
	const int64 *asked;			/* NULL when the rule concerns no amounts, as in the next member */
	const int64 *maximum;
} YqReservationVerdict;

extern YqReservationVerdict yq_reservation_refuse(const char *decided_by, const char *reason);

/* The last time that timestamptz can express. */
#define YQ_RESERVATION_TIME_ENDS (PG_INT64_MAX / 1000)

/* Convert a time, which must be finite and in whole milliseconds; errors call it "name". */
extern int64 yq_reservation_time(TimestampTz time, const char *name);

/* Convert a time back. */
extern TimestampTz yq_reservation_timestamp(int64 time);

/* Return the milliseconds of an interval, which must be whole; a day has 24 hours, and a month no length. */
extern int64 yq_reservation_duration(const Interval *interval, const char *name);

/* Read a value of yquota.reservation_contract, palloc'd; NULL is an error, but the list of requests may be empty. */
extern YqReservationDefinition *yq_reservation_definition_read(const YqHierarchy *hierarchy, HeapTupleHeader row);

/* Copy a value of yquota.reservation_contract with deadline, containers and concurrencies of a definition. */
extern HeapTupleHeader yq_reservation_definition_revise(HeapTupleHeader row, const YqReservationDefinition *definition);

/*
 * Check a definition by the rules of Hadoop's ReservationInputValidator, in its order, and by
 * yquota's own limits after them.  A definition that no plan could ever take is an error.
 */
extern YqReservationVerdict yq_reservation_definition_check(const YqHierarchy *hierarchy, const YqReservationSettings *settings,
															const YqReservationDefinition *definition,
															const int64 *capacity, int64 now);

#endif							/* YQ_RESERVATION_DEFINITION_H */
