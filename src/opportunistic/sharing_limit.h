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
 * A sharing limit, which Hadoop does not have.  A container counts while it is
 * OPPORTUNISTIC, whether it runs or waits.  No function here uses a table.  Amounts are
 * native units, one for each type of the calculator.
 */

typedef struct YqSharingLimit
{
	const char *scope;			/* queue, user or application */
	const char *name;			/* path, username or id */
	int64		maximum_containers; /* PG_INT64_MAX: no limit */
	const int64 *maximum;		/* limit for all containers together; PG_INT64_MAX: no limit of the type */
	int64		containers;		/* number of containers that count now */
	int64	   *used;			/* amounts that these containers use */
} YqSharingLimit;

/* All limits that apply to an application; limits of queues come first. */
typedef struct YqSharingLimits
{
	YqSharingLimit *limits;
	int			count;
} YqSharingLimits;

/* Copy limits, palloc'd.  The counted amounts of the copy can change independently. */
extern YqSharingLimits yq_sharing_limits_copy(const YqCalculator *calculator, const YqSharingLimits *limits);

/*
 * Return how many of the wanted containers of a size fit under all limits.  Sets
 * *refusing to the first limit that admits only that many, or to NULL when all fit.
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
 * Load the limits that apply to an application.  The counted amounts include the newest
 * committed state and the changes of this transaction.  Without any limit the result is
 * empty, and the function reads nothing.
 *
 * If limits exist, the function locks them until the transaction ends, so that only one
 * transaction at a time uses them.  The caller holds the lock of the application's
 * leaf.
 */
extern YqSharingLimits yq_sharing_limits_load(const YqRequester *requester);

#endif							/* YQ_SHARING_LIMIT_H */
