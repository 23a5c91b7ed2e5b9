/*-------------------------------------------------------------------------
 *
 * sharing_limit.h
 *	  How many OPPORTUNISTIC containers queues, a user and an application may have, as the
 *	  tables have it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_SHARING_LIMIT_H
#define YQ_SHARING_LIMIT_H

#include "queues/calculator.h"
#include "scheduler/request/container_request.h"

/* -- sharing limit ------------------------------------------------------------- */

/*
 * Not Hadoop's.  A container counts while it is OPPORTUNISTIC, whether it runs or waits.  Knows no
 * table.  Amounts are native units, one for each type
 * of the calculator.
 */

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

/* -- load sharing limits ------------------------------------------------------- */

/*
 * Limits of sharing, from the tables: see
 * sql/opportunistic/394_opportunistic_limit.sql.
 */

/*
 * The limits that apply to an application, and what counts for them by the newest committed
 * state and this transaction; none where there is no limit at all, which costs nothing.  Where
 * there are some, one transaction at a time has them, to its end.  The caller has the lock
 * of the application's leaf.
 */
extern YqSharingLimits yq_sharing_limits_load(const YqRequester *requester);

#endif							/* YQ_SHARING_LIMIT_H */
