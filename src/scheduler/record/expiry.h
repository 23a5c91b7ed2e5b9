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

/* Limit on the decisions or containers of each kind that one call looks at. */
#define YQ_EXPIRY_BATCH 1000

/*
 * Delete decisions (YQ_EXPIRING_DECISIONS) that were not acknowledged in time, oldest
 * first.  The time is the setting allocation_expiry, or opportunistic_token_expiry if
 * the container is OPPORTUNISTIC.  A container that such a decision has started ends when
 * this time is over, with YARN's ContainerExitStatus.ABORTED.  It does not end if it is
 * OPPORTUNISTIC and has arrived at its node, where it has run or waits in a queue.  A
 * container that such a decision has increased gets its former allocation back.
 *
 * OPPORTUNISTIC containers whose decision was acknowledged (awaited containers) also end
 * if they do not arrive at their nodes in that time.  A new decision reports each
 * OPPORTUNISTIC container that ends.
 *
 * The function skips decisions that another transaction is acknowledging, and
 * containers that another transaction is ending or changing.  It counts three kinds:
 * decisions about GUARANTEED containers, decisions about OPPORTUNISTIC containers, and
 * awaited containers.  It returns the largest of the three counts.  If the result is
 * YQ_EXPIRY_BATCH, there may be more.
 *
 * The caller holds the scheduler's lock.  A cycle, which changes applications afterwards,
 * passes the hierarchy; the function then locks all its leaves before any container.  With
 * NULL, it locks no leaf.
 */
extern int	yq_release_expired(const YqHierarchy *hierarchy);

#endif							/* YQ_EXPIRY_H */
