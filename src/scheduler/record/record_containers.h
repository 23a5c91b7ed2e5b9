/*-------------------------------------------------------------------------
 *
 * record_containers.h
 *	  Records of allocated and updated containers: events, rows, and counts for metrics.
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
 * Write updates of running containers that take effect: their events and versions
 * (semantics/allocation 8).
 *
 * Each update that takes effect is a CONTAINER_UPDATE event, and raises the version
 * of its container by one.
 */

/*
 * Append the event of a container that the caller has locked, and raise its version.
 * No update of the container is pending afterwards.  A zero allocation and a NULL
 * execution type mean no change.  A revertible update remembers the allocation before
 * it, until the application master acknowledges the decision.
 */
extern void yq_update_event_write(const char *container_id, Datum allocation, const char *execution_type,
								  bool is_revertible);

/* -- for cycles, under their lock ------------------------------------------------ */

/*
 * Take back the increases of some containers (text[]) that were not acknowledged within
 * the expiry (microseconds), as of its end.  Their decisions are deleted.  The cycle
 * skips containers that another transaction has locked.
 */
extern void yq_update_events_take_back(Datum container_ids, TimestampTz now, int64 expiry);

/*
 * Lock the container that a cycle wants to update, until the transaction ends.  False
 * when the container has ended, differs in size from the cycle's view, or is locked by
 * another transaction: the cycle does not wait.  For a promotion by rule the container
 * must still be OPPORTUNISTIC, and running.
 */
extern bool yq_update_event_claim(const YqHierarchy *hierarchy, const YqContainerUpdate *update);

/* Write the update of a decision. */
extern void yq_update_event_record(const YqCluster *cluster, const YqDecision *decision);

/* Write the updates of a cycle, and the counters of updates that continue to wait. */
extern void yq_update_events_record(const YqCluster *cluster, const List *applications);

/* -- opportunistic count ------------------------------------------------------- */

/*
 * Count allocated OPPORTUNISTIC containers, for metrics: Hadoop's
 * OpportunisticSchedulerMetrics.
 *
 * The counts in yquota_internal.opportunistic_count are split into rows that are added
 * up.  Simultaneous transactions change different rows, and none waits.
 */

/*
 * Number of latency bounds, in microseconds and ascending; containers with at most that
 * latency are counted for each.
 */
#define YQ_LATENCY_BOUND_COUNT 12
extern const int64 yq_latency_bounds[YQ_LATENCY_BOUND_COUNT];

/* Counts of containers, initially all zero. */
typedef struct YqOpportunisticCount
{
	int64		central;		/* containers, like all fields except latency */
	int64		node_local;
	int64		rack_local;
	int64		off_switch;
	int64		demoted;
	int64		promoted_by_rule;
	int64		timed;			/* containers with a known latency */
	int64		latency;		/* sum of their latencies, microseconds */
	int64		within[YQ_LATENCY_BOUND_COUNT]; /* containers whose latency is at most the bound */
} YqOpportunisticCount;

/* Add containers with a latency from the first request to the container; a negative latency is unknown. */
extern void yq_opportunistic_count_latency(YqOpportunisticCount *count, int64 latency, int64 containers);

/* Add to the stored counts.  The row is locked until the transaction ends. */
extern void yq_opportunistic_count_write(const YqOpportunisticCount *count);

/* -- record containers --------------------------------------------------------- */

/*
 * Names of decisions that are deleted when they are not acknowledged in time, for
 * statements.  Other decisions report containers that end, or no container, and stay.
 */
#define YQ_EXPIRING_DECISIONS "('allocated', 'swapped', 'reserved', 'increased', 'promoted')"

/* Does the decision start a container? */
extern bool yq_decision_starts(const YqDecision *decision);

/* Does the decision increase a running container, or make it GUARANTEED? */
extern bool yq_decision_updates(const YqDecision *decision);

/* Does the decision promote a container because it has run long enough? */
extern bool yq_decision_is_by_rule(const YqDecision *decision);

/* Return the allocation of the decision's container, or of its reservation. */
extern const int64 *yq_decision_allocation(const YqDecision *decision);

/* Return the name of the decision in yquota.decision; the locality is NULL when no container starts. */
extern const char *yq_decision_name(const YqDecision *decision);
extern const char *yq_decision_locality(const YqDecision *decision);

/* Return NODE_LOCAL, RACK_LOCAL or OFF_SWITCH. */
extern const char *yq_locality_name(YqLocality locality);

/* Return the name of the decision's container, which runs already if it is updated. palloc'd. */
extern text *yq_decision_container_id(const YqDecision *decision);

/*
 * Record decisions.  Their containers start by events in container_event, and the
 * decisions wait for acknowledge_decisions(), numbered in the order in which they were
 * made.  The caller holds the scheduler's lock, so no other transaction takes numbers.
 */
extern void yq_record_containers(const YqLoadedCluster *loaded);

/* Record only the events of some decisions that follow each other. */
extern void yq_record_starts(const YqCluster *cluster, int first, int count);

#endif							/* YQ_RECORD_CONTAINERS_H */
