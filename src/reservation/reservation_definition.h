/*-------------------------------------------------------------------------
 *
 * reservation_definition.h
 *	  A reservation as its user defines it, and the rules that hold before a plan is
 *	  asked (reservation 1, 2).
 *
 * In SQL times are timestamptz, durations interval; here all are milliseconds, times since
 * the epoch.  What cannot be read is an error: ERRCODE_NULL_VALUE_NOT_ALLOWED for what is
 * missing, ERRCODE_DATETIME_FIELD_OVERFLOW for times before 1970 or without an end,
 * ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE for amounts that do not fit,
 * ERRCODE_INVALID_PARAMETER_VALUE for the rest.
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

/* The answer to a user: accepted, or the rule that says no. */
typedef struct YqReservationVerdict
{
	bool		accepted;
	const char *decided_by;		/* NULL when it is accepted */
	const char *reason;
	const int64 *asked;			/* NULL when the rule is about no amounts, as the next one */
	const int64 *maximum;
} YqReservationVerdict;

extern YqReservationVerdict yq_reservation_refuse(const char *decided_by, const char *reason);

/* The last time that timestamptz can express. */
#define YQ_RESERVATION_TIME_ENDS (PG_INT64_MAX / 1000)

/* The time must be finite, and in whole milliseconds; "name" is what it is called. */
extern int64 yq_reservation_time(TimestampTz time, const char *name);

/* The other way. */
extern TimestampTz yq_reservation_timestamp(int64 time);

/* Milliseconds of an interval, which must be whole; a day has 24 hours, and a month no length. */
extern int64 yq_reservation_duration(const Interval *interval, const char *name);

/* Read a value of yquota.reservation_contract, palloc'd; NULL is an error, and there may be no requests in it. */
extern YqReservationDefinition *yq_reservation_definition_read(const YqHierarchy *hierarchy, HeapTupleHeader row);

/* A value of yquota.reservation_contract as another one, with deadline, containers and concurrencies of a definition. */
extern HeapTupleHeader yq_reservation_definition_revise(HeapTupleHeader row, const YqReservationDefinition *definition);

/*
 * The rules of Hadoop's ReservationInputValidator, in its order, and yquota's own limits
 * after them.  A definition that no plan could ever take is an error.
 */
extern YqReservationVerdict yq_reservation_definition_check(const YqHierarchy *hierarchy, const YqReservationSettings *settings,
															const YqReservationDefinition *definition,
															const int64 *capacity, int64 now);

#endif							/* YQ_RESERVATION_DEFINITION_H */
