/*-------------------------------------------------------------------------
 *
 * expiry.h
 *	  Release of containers whose decisions were not acknowledged, and of OPPORTUNISTIC
 *	  containers that do not arrive at their nodes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_EXPIRY_H
#define YQ_EXPIRY_H

#include "base/compat.h"
#include "queues/hierarchy.h"

/* Limit on the decisions that one call releases. */
#define YQ_EXPIRY_BATCH 1000

/*
 * Delete decisions (YQ_EXPIRING_DECISIONS) that were not acknowledged in time, oldest
 * first.  The time is the setting allocation_expiry, or opportunistic_token_expiry if
 * the container is OPPORTUNISTIC.  Containers that started by these decisions end at
 * their expiry, with YARN's ContainerExitStatus.ABORTED.  An OPPORTUNISTIC container
 * that has arrived at its node does not end: it has run, or waits in a queue there.
 * Increased containers get their former allocation back.  OPPORTUNISTIC containers with
 * an acknowledged decision also end if they do not arrive at their nodes in that time.
 * A decision reports each container that ends.
 *
 * The function skips decisions that another transaction is acknowledging, and
 * containers that another transaction is ending or changing.  It returns the number of
 * decisions of one kind, or of awaited containers, that it has handled, whichever is
 * largest.  If the result is YQ_EXPIRY_BATCH, there may be more.  The caller holds the
 * scheduler's lock.  A cycle, which changes applications afterwards, passes the
 * hierarchy; the function then locks its leaves before any container.  With NULL, it
 * locks no leaf.
 */
extern int	yq_release_expired(const YqHierarchy *hierarchy);

#endif							/* YQ_EXPIRY_H */
