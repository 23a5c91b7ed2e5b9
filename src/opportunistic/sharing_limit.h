/*-------------------------------------------------------------------------
 *
 * sharing_limit.h
 *	  How many OPPORTUNISTIC containers queues, a user and an application may have
 *	  at once, and of what size together.
 *
 * Not Hadoop's.  A container counts while it is OPPORTUNISTIC, whether it runs or waits.  Knows no
 * table: load_sharing_limits.h reads them.  Amounts are native units, one for each type
 * of the calculator.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_SHARING_LIMIT_H
#define YQ_SHARING_LIMIT_H

#include "queues/calculator.h"

typedef struct YqSharingLimit
{
	const char *scope;			/* queue, user or application */
	const char *name;			/* path, username or id */
	int64		maximum_containers; /* PG_INT64_MAX: no limit */
	const int64 *maximum;		/* of all containers together; PG_INT64_MAX: no limit of the type */
	int64		containers;		/* that count now */
	int64	   *used;			/* by all of them */
} YqSharingLimit;

/* All that apply to an application: those of queues first. */
typedef struct YqSharingLimits
{
	YqSharingLimit *limits;
	int			count;
} YqSharingLimits;

/* palloc'd: what counts in it changes apart. */
extern YqSharingLimits yq_sharing_limits_copy(const YqCalculator *calculator, const YqSharingLimits *limits);

/*
 * How many of so many containers of a size all limits have room for.  *refusing is the
 * first limit that has room for that many alone, or NULL when there is room for all.
 */
extern int	yq_sharing_limits_room(const YqCalculator *calculator, const YqSharingLimits *limits, const int64 *size,
								   int wanted, const YqSharingLimit **refusing);

/* So many containers of a size were given out. */
extern void yq_sharing_limits_count(const YqCalculator *calculator, YqSharingLimits *limits, const int64 *size, int containers);

#endif							/* YQ_SHARING_LIMIT_H */
