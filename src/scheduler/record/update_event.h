/*-------------------------------------------------------------------------
 *
 * update_event.h
 *	  Updates of running containers that take effect: their events and
 *	  versions (semantics/allocation 8).
 *
 * Each update that takes effect is a CONTAINER_UPDATE event, and raises the version
 * of its container by one.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_UPDATE_EVENT_H
#define YQ_UPDATE_EVENT_H

#include "scheduler/state/cluster.h"
#include "utils/timestamp.h"

/*
 * Append the event of a container that the caller has locked, and raise its version.
 * Nothing is pending for it any more.  A zero allocation and a NULL execution type
 * stay as they are.  A revertible update remembers the allocation before it, until
 * the application master acknowledges the decision.
 */
extern void yq_update_event_write(const char *container_id, Datum allocation, const char *execution_type,
								  bool is_revertible);

/* -- for cycles, under their lock ------------------------------------------------ */

/*
 * Take back the increases of some containers (text[]) that were not acknowledged for the expiry
 * (microseconds), when it was over.  Their decisions are deleted.  The cycle skips containers that
 * another transaction has locked.
 */
extern void yq_update_events_take_back(Datum container_ids, TimestampTz now, int64 expiry);

/*
 * Lock the container that a cycle wants to update, until the transaction ends.  False
 * when it has ended, has another size than the cycle took it for, or another
 * transaction has locked it: the cycle does not wait.  For a promotion by rule it must be
 * OPPORTUNISTIC still, and running.
 */
extern bool yq_update_event_claim(const YqHierarchy *hierarchy, const YqContainerUpdate *update);

/* Write the update that a decision makes. */
extern void yq_update_event_record(const YqCluster *cluster, const YqDecision *decision);

/* Write the updates that a cycle has decided, and its counters of updates that go on to wait. */
extern void yq_update_events_record(const YqCluster *cluster, const List *applications);

#endif							/* YQ_UPDATE_EVENT_H */
