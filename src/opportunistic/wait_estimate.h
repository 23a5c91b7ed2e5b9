/*-------------------------------------------------------------------------
 *
 * wait_estimate.h
 *	  How long an OPPORTUNISTIC container that comes to a node now would wait, by
 *	  the expected durations of those that are there.
 *
 * What is left of the containers that run, and all of those that wait, is done by as many at a
 * time as run now.  A container whose duration is not known counts as the mean, rounded down, of
 * those that are known.  Where none waits the wait is 0.  Knows no table.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_WAIT_ESTIMATE_H
#define YQ_WAIT_ESTIMATE_H

#include "postgres.h"

/* Of a node that knows no duration. */
#define YQ_NO_ESTIMATE (-1)

/* An OPPORTUNISTIC container at the node, unless it is being killed or paused.  Microseconds. */
typedef struct YqExpectedWork
{
	bool		waits;			/* queued or paused, else it runs */
	int64		duration;		/* expected; 0: not known */
	int64		ran;			/* since it began to run; below 0 by a clock that was set back counts as 0 */
} YqExpectedWork;

/*
 * Microseconds, rounded down, or YQ_NO_ESTIMATE.  Sums that do not fit are the largest number
 * that does.
 */
extern int64 yq_wait_estimate(const YqExpectedWork *containers, int count);

#endif							/* YQ_WAIT_ESTIMATE_H */
