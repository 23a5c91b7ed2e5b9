/*-------------------------------------------------------------------------
 *
 * sharing_limit.h
 *	  Limits how many OPPORTUNISTIC containers queues, a user and an application may have.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_SHARING_LIMIT_H
#define YQ_SHARING_LIMIT_H

#include "queues/calculator.h"
#include "scheduler/request/container_request.h"

/* -- sharing limit ------------------------------------------------------------- */

/*
 * A sharing limit; Hadoop has none.  A container counts while it is OPPORTUNISTIC, whether it runs
 * or waits.  Nothing here knows a table.  Amounts are native units, one for each type of the
 * calculator.
 */

typedef struct YqSharingLimit
{
	const char *scope;			/* queue, user or application */
	const char *name;			/* path, username or id */
	int64		maximum_containers; /* PG_INT64_MAX: no limit */
	const int64 *maximum;		/* limit for all containers together; PG_INT64_MAX: no limit of the type */
	int64		containers;		/* containers that count now */
	int64	   *used;			/* used by all of them */
} YqSharingLimit;

/* All limits that apply to an application: those of queues first. */
typedef struct YqSharingLimits
{
	YqSharingLimit *limits;
	int			count;
} YqSharingLimits;

/* Copy limits, palloc'd, so that the counted amounts of the copy change independently. */
extern YqSharingLimits yq_sharing_limits_copy(const YqCalculator *calculator, const YqSharingLimits *limits);

/*
 * Return how many of the wanted containers of a size fit under all limits.  *refusing is the first
 * limit that has room for only that many, or NULL when all fit.
 */
extern int	yq_sharing_limits_room(const YqCalculator *calculator, const YqSharingLimits *limits, const int64 *size,
								   int wanted, const YqSharingLimit **refusing);

/* Count allocated containers of a size. */
extern void yq_sharing_limits_count(const YqCalculator *calculator, YqSharingLimits *limits, const int64 *size, int containers);

/* -- load sharing limits ------------------------------------------------------- */

/*
 * Loads sharing limits from the tables: see sql/opportunistic/394_opportunistic_limit.sql.
 */

/*
 * Load the limits that apply to an application.  The counted amounts are those of the newest
 * committed state and this transaction.  Without any limit the result is empty, which costs
 * nothing.
 *
 * Where limits exist, one transaction at a time holds them, to its end.  The caller holds the lock
 * of the application's leaf.
 */
extern YqSharingLimits yq_sharing_limits_load(const YqRequester *requester);

#endif							/* YQ_SHARING_LIMIT_H */
