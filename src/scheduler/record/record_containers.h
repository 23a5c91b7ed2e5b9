/*-------------------------------------------------------------------------
 *
 * record_containers.h
 *	  Recording containers: events of those that are given out or updated, their rows, and
 *	  their counts for metrics.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_RECORD_CONTAINERS_H
#define YQ_RECORD_CONTAINERS_H

#include "base/compat.h"

#include "scheduler/load/loaded_cluster.h"
#include "scheduler/state/cluster.h"
#include "utils/timestamp.h"

/* -- update event -------------------------------------------------------------- */

/*
 * Updates of running containers that take effect: their events and
 * versions (semantics/allocation 8).
 *
 * Each update that takes effect is a CONTAINER_UPDATE event, and raises the version
 * of its container by one.
 */

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

/* -- opportunistic count ------------------------------------------------------- */

/*
 * How many OPPORTUNISTIC containers have been given out, for metrics: Hadoop's
 * OpportunisticSchedulerMetrics.
 *
 * Counts are in yquota_internal.opportunistic_count, in parts to be added up: transactions
 * that are at work at once change different ones, and none waits.
 */

/* Bounds of latencies in microseconds, growing; below each the containers are counted. */
#define YQ_LATENCY_BOUND_COUNT 12
extern const int64 yq_latency_bounds[YQ_LATENCY_BOUND_COUNT];

/* Begin with one that is all zero. */
typedef struct YqOpportunisticCount
{
	int64		central;		/* containers, like all but the sum */
	int64		node_local;
	int64		rack_local;
	int64		off_switch;
	int64		demoted;
	int64		promoted_by_rule;
	int64		timed;			/* those whose latency is known */
	int64		latency;		/* sum of these, microseconds */
	int64		within[YQ_LATENCY_BOUND_COUNT]; /* of these, those whose latency is the bound or less */
} YqOpportunisticCount;

/* Add some containers with a latency from the first request to the container; a negative one is none. */
extern void yq_opportunistic_count_latency(YqOpportunisticCount *count, int64 latency, int64 containers);

/* Add to what has been counted.  The part is locked until the transaction ends. */
extern void yq_opportunistic_count_write(const YqOpportunisticCount *count);

/* -- record containers --------------------------------------------------------- */

/*
 * The names of decisions that are deleted when they are not acknowledged in time, for
 * statements.  Others tell of containers that end, or of none, and stay.
 */
#define YQ_EXPIRING_DECISIONS "('allocated', 'swapped', 'reserved', 'increased', 'promoted')"

/* Does a container start? */
extern bool yq_decision_starts(const YqDecision *decision);

/* Does a running container become larger, or GUARANTEED? */
extern bool yq_decision_updates(const YqDecision *decision);

/* Is it promoted because it has run so long? */
extern bool yq_decision_is_by_rule(const YqDecision *decision);

/* The allocation of the decision's container, or of its reservation. */
extern const int64 *yq_decision_allocation(const YqDecision *decision);

/* The name of the decision in yquota.decision; the locality is NULL when no container starts. */
extern const char *yq_decision_name(const YqDecision *decision);
extern const char *yq_decision_locality(const YqDecision *decision);

/* NODE_LOCAL, RACK_LOCAL or OFF_SWITCH. */
extern const char *yq_locality_name(YqLocality locality);

/* The name of the container that is decided about, which runs already if it is updated.  palloc'd. */
extern text *yq_decision_container_id(const YqDecision *decision);

/*
 * Record decisions: their containers start by events in container_event, and
 * the decisions wait for acknowledge_decisions(), numbered in the order in which
 * they were made.  Called under the scheduler's lock, so no other transaction
 * takes numbers.
 */
extern void yq_record_containers(const YqLoadedCluster *loaded);

/* Only the events, of some decisions that follow each other. */
extern void yq_record_starts(const YqCluster *cluster, int first, int count);

#endif							/* YQ_RECORD_CONTAINERS_H */
