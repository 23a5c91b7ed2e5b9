/*-------------------------------------------------------------------------
 *
 * expiry.h
 *	  Releasing containers whose decisions were not acknowledged, and OPPORTUNISTIC ones
 *	  that do not come to their nodes.
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
 * them end when that time was over, with YARN's ContainerExitStatus.ABORTED, but for OPPORTUNISTIC ones that have come
 * to their nodes: they have run, or wait in a queue there.  Increased containers get their
 * former allocation back.  OPPORTUNISTIC containers whose decision was acknowledged end, too,
 * when they have not come to their nodes in that time.  A decision tells of those that end.  Decisions that another transaction is acknowledging are skipped, and
 * so are containers that another transaction is ending or changing.  Returns
 * the largest number of decisions of one kind, or awaited containers, that it dealt with:
 * YQ_EXPIRY_BATCH when there may be more.
 * Called under the scheduler's lock.  A cycle, which changes applications
 * afterwards, passes the hierarchy, whose leaves are locked before any
 * container; NULL locks none.
 */
extern int	yq_release_expired(const YqHierarchy *hierarchy);

#endif							/* YQ_EXPIRY_H */
