/*-------------------------------------------------------------------------
 *
 * slot_lock.h
 *	  Locks for slots of nodes: one transaction at a time takes slots of a node.
 *
 * A lock is kept to the end of the transaction that took slots, so that the next one sees them.
 * Names of nodes are hashed to few numbers: a call about thousands of nodes must not fill the
 * server's lock table, and that two nodes share a lock now and then does no harm.
 *
 * A call comes to its nodes in any order, and waits for a lock only if its number is above those
 * of all that the call has.  Else the call begins anew, and takes all that it has come to so far
 * in order.  So single calls never wait for each other in a circle.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_SLOT_LOCK_H
#define YQ_SLOT_LOCK_H

#include "base/compat.h"

#define YQ_SLOT_LOCKS 256

/* The locks of a call; all zero before the first. */
typedef struct YqSlotLocks
{
	int			taken[YQ_SLOT_LOCKS];	/* how often, by number */
	bool		has_missed;
	int			missed;			/* the lock that could not be waited for */
} YqSlotLocks;

/* Lock the position at which the next search for any node begins, before any node. */
extern void yq_slot_lock_turn(void);

/* Lock a node; false when another transaction has the lock. */
extern bool yq_slot_locks_try(YqSlotLocks *locks, const char *node);

/* Wait for the lock of a node; false, and it is noted as missed, when the call must not wait. */
extern bool yq_slot_locks_wait(YqSlotLocks *locks, const char *node);

/* Give the lock of a node back: nothing was taken there. */
extern void yq_slot_locks_give_back(YqSlotLocks *locks, const char *node);

/*
 * Give all locks back, and take them again with the missed one, in order.  Nothing may have been
 * written under them.
 */
extern void yq_slot_locks_take_missed(YqSlotLocks *locks);

#endif							/* YQ_SLOT_LOCK_H */
