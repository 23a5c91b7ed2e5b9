/*-------------------------------------------------------------------------
 *
 * sharing_limit.h
 *	  Limits the number and size of OPPORTUNISTIC containers of queues, users and
 *	  applications.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_SHARING_LIMIT_H
#define YQ_SHARING_LIMIT_H

#include "queues/calculator.h"
#include "scheduler/request/container_request.h"

/* -- sharing limit ------------------------------------------------------------- */

/*
 * A sharing limit; Hadoop has no such limits.  Each OPPORTUNISTIC container counts,
 * whether it runs or waits, until it ends or is promoted.  No function here reads a
 * table.  Amounts are in native units, one for each type of the calculator.
 */

typedef struct YqSharingLimit
{
	const char *scope;			/* "queue", "user" or "application" */
	const char *name;			/* path of the queue, name of the user, or id of the application */
	int64		maximum_containers; /* PG_INT64_MAX: no limit */
	const int64 *maximum;		/* limit on the sum over all containers, per type; PG_INT64_MAX: no limit */
	int64		containers;		/* present number of containers that count */
	int64	   *used;			/* sum of the amounts of the containers that count */
} YqSharingLimit;

/* All sharing limits that apply to an application.  Limits of queues come first. */
typedef struct YqSharingLimits
{
	YqSharingLimit *limits;
	int			count;
} YqSharingLimits;

/* Copy sharing limits, palloc'd.  The copy has its own counts and amounts. */
extern YqSharingLimits yq_sharing_limits_copy(const YqCalculator *calculator, const YqSharingLimits *limits);

/*
 * Return how many of the wanted containers of this size all limits together admit.  If
 * the number is less than wanted, sets *refusing to the first limit that admits no more
 * than this number; otherwise, to NULL.
 */
extern int	yq_sharing_limits_room(const YqCalculator *calculator, const YqSharingLimits *limits, const int64 *size,
								   int wanted, const YqSharingLimit **refusing);

/* Add allocated containers of this size to the counts of all limits. */
extern void yq_sharing_limits_count(const YqCalculator *calculator, YqSharingLimits *limits, const int64 *size, int containers);

/* -- load sharing limits ------------------------------------------------------- */

/* Load sharing limits from the tables (see sql/opportunistic/394_opportunistic_limit.sql). */

/*
 * Load the limits that apply to an application.  The counts are the newest committed
 * counts and the changes of this transaction.  If no limit is configured, the result is
 * empty, and no table is read.
 *
 * If limits apply, the function locks all limits until the transaction ends.  Only one
 * transaction at a time can then allocate under a limit.  The caller holds the lock of
 * the application's leaf.
 */
extern YqSharingLimits yq_sharing_limits_load(const YqRequester *requester);

#endif							/* YQ_SHARING_LIMIT_H */
