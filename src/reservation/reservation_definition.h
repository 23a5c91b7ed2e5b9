/*-------------------------------------------------------------------------
 *
 * reservation_definition.h
 *	  Reads a reservation as its user defines it, and applies the rules that
 *	  precede those of the plan (semantics/reservations 1, 2).
 *
 * SQL passes times as timestamptz and durations as interval.  Here, both are in milliseconds, and
 * times count from 1970.  Malformed input is an error: ERRCODE_NULL_VALUE_NOT_ALLOWED for missing
 * values, and ERRCODE_DATETIME_FIELD_OVERFLOW for times before 1970 or without an end.  Amounts
 * that do not fit raise ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE; other faults raise
 * ERRCODE_INVALID_PARAMETER_VALUE.
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

/* The answer to a user: accepted, or refused by a rule. */
typedef struct YqReservationVerdict
{
	bool		accepted;
	const char *decided_by;		/* name of the rule; NULL: accepted */
	const char *reason;
	const int64 *asked;			/* requested amounts; NULL if the rule is not about amounts */
	const int64 *maximum;		/* permitted amounts; NULL if the rule is not about amounts */
} YqReservationVerdict;

extern YqReservationVerdict yq_reservation_refuse(const char *decided_by, const char *reason);

/* The last time that timestamptz can express, in milliseconds. */
#define YQ_RESERVATION_TIME_ENDS (PG_INT64_MAX / 1000)

/*
 * Convert a time to milliseconds.  The time must be finite and a whole number of
 * milliseconds.  "name" appears in error messages.
 */
extern int64 yq_reservation_time(TimestampTz time, const char *name);

/* Convert a time in milliseconds to timestamptz. */
extern TimestampTz yq_reservation_timestamp(int64 time);

/*
 * Convert an interval to milliseconds.  It must be a whole number of milliseconds.  Days
 * count as 24 hours; months are refused.
 */
extern int64 yq_reservation_duration(const Interval *interval, const char *name);

/*
 * Read a value of yquota.reservation_contract, palloc'd.  NULL attributes are refused, but
 * the list of requests may be empty.
 */
extern YqReservationDefinition *yq_reservation_definition_read(const YqHierarchy *hierarchy, HeapTupleHeader row);

/*
 * Return a copy of a value of yquota.reservation_contract with changes.  The deadline of the
 * copy, and the number of containers and the concurrency of each request, are those of
 * "definition".
 */
extern HeapTupleHeader yq_reservation_definition_revise(HeapTupleHeader row, const YqReservationDefinition *definition);

/*
 * Check a definition by the rules of Hadoop's ReservationInputValidator, in Hadoop's order,
 * and then by yquota's limits.  Raises an error for a definition that no plan could accept.
 */
extern YqReservationVerdict yq_reservation_definition_check(const YqHierarchy *hierarchy, const YqReservationSettings *settings,
															const YqReservationDefinition *definition,
															const int64 *capacity, int64 now);

#endif							/* YQ_RESERVATION_DEFINITION_H */
