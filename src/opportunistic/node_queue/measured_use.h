/*-------------------------------------------------------------------------
 *
 * measured_use.h
 *	  What of a node is in use by its last report, and the thresholds that this
 *	  is compared with: more may be allocated to OPPORTUNISTIC containers than the
 *	  node has while their neighbours use less than they hold.
 *
 * Knows no table.  Amounts are MiB or cores.  A threshold is a part of what the node has,
 * in millionths, and is rounded down to a whole unit.  A report in which a type is missing
 * or 0 has not measured it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_MEASURED_USE_H
#define YQ_MEASURED_USE_H

#include "base/compat.h"
#include "datatype/timestamp.h"
#include "queues/allocation_setting.h"

/* Of one resource type. */
typedef struct YqMeasuredAmount
{
	YqOverAllocation thresholds;
	int64		total;			/* of the node */
	int64		measured;		/* 0: not measured */
	int64		freed;			/* by containers that have ended or paused since the report, while there is an excess */
} YqMeasuredAmount;

typedef struct YqMeasuredUse
{
	bool		is_told;		/* there is a report that counts; otherwise nothing else matters */
	TimestampTz reported_at;
	YqMeasuredAmount memory;
	YqMeasuredAmount vcores;
} YqMeasuredUse;

/* That part of a total, rounded down; PG_INT64_MAX when it is larger. */
extern int64 yq_measured_part(int64 total, int64 millionths);

/*
 * What the threshold leaves to OPPORTUNISTIC containers, below 0 when it is exceeded:
 * threshold - max(measured + GUARANTEED since, GUARANTEED) - OPPORTUNISTIC since.
 * PG_INT64_MIN without a threshold, or when nothing was measured.
 */
extern int64 yq_measured_room(const YqMeasuredAmount *amount, int64 guaranteed, int64 guaranteed_since,
							  int64 opportunistic_since);

/* By how much the measured use is above the preemption threshold; 0: it is not, or the node has nothing of the type. */
extern int64 yq_measured_excess(const YqMeasuredAmount *amount);

/* Is that so of any type? */
extern bool yq_measured_has_excess(const YqMeasuredUse *use);

/* A threshold of millionths as a decimal fraction, palloc'd. */
extern char *yq_measured_fraction(int64 millionths);

#endif							/* YQ_MEASURED_USE_H */
