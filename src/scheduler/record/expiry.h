/*-------------------------------------------------------------------------
 *
 * expiry.h
 *	  Releasing containers whose decisions were not acknowledged.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_EXPIRY_H
#define YQ_EXPIRY_H

#include "base/compat.h"
#include "queues/hierarchy.h"

/* Decisions forgotten at a time. */
#define YQ_EXPIRY_BATCH 1000

/*
 * Delete decisions that give something and were not acknowledged for the setting
 * allocation_expiry, or opportunistic_token_expiry if the container is OPPORTUNISTIC
 * (YQ_EXPIRING_DECISIONS), oldest first.  Containers that started by
 * them end with YARN's ContainerExitStatus.ABORTED, but for OPPORTUNISTIC ones that run
 * or wait on their node by now; increased containers get their
 * former allocation back.  Decisions that another transaction is acknowledging are skipped, and
 * so are containers that another transaction is ending or changing.  Returns
 * the number of deleted decisions:  YQ_EXPIRY_BATCH when there may be more.
 * Called under the scheduler's lock.  A cycle, which changes applications
 * afterwards, passes the hierarchy, whose leaves are locked before any
 * container; NULL locks none.
 */
extern int	yq_release_expired(const YqHierarchy *hierarchy);

#endif							/* YQ_EXPIRY_H */
