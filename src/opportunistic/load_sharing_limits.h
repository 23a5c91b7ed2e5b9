/*-------------------------------------------------------------------------
 *
 * load_sharing_limits.h
 *	  Limits of sharing, from the tables: see
 *	  sql/opportunistic/394_opportunistic_limit.sql.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_LOAD_SHARING_LIMITS_H
#define YQ_LOAD_SHARING_LIMITS_H

#include "opportunistic/sharing_limit.h"
#include "scheduler/request/container_request.h"

/*
 * The limits that apply to an application, and what counts for them by the newest committed
 * state and this transaction; none where there is no limit at all, which costs nothing.  Where
 * there are some, one transaction at a time has them, to its end.  The caller has the lock
 * of the application's leaf.
 */
extern YqSharingLimits yq_sharing_limits_load(const YqRequester *requester);

#endif							/* YQ_LOAD_SHARING_LIMITS_H */
