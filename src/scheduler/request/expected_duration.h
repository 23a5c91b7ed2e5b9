/*-------------------------------------------------------------------------
 *
 * expected_duration.h
 *	  How long an application master expects OPPORTUNISTIC containers to run.
 *
 * In microseconds, a month being 30 days and a day 24 hours, as PostgreSQL compares
 * intervals; 0 when it is not known.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_EXPECTED_DURATION_H
#define YQ_EXPECTED_DURATION_H

#include "postgres.h"

/* ERRCODE_INVALID_PARAMETER_VALUE unless it is more than 0 and at most 36500 days. */
extern int64 yq_expected_duration_read(Datum interval);

/* An interval in the current memory context, in days of 24 hours and time. */
extern Datum yq_expected_duration_interval(int64 duration);

#endif							/* YQ_EXPECTED_DURATION_H */
