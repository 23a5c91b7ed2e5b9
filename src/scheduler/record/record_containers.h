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
 * Write the updates of running containers that take effect (semantics/allocation 8).
 *
 * Each update is written as a CONTAINER_UPDATE event, and raises the version of the container by
 * one.
 */

/*
 * Append the event of a container that the caller has locked, and raise its version.
 * Afterwards no update of the container is pending.  A NULL allocation or execution type
 * means no change.  A revertible update stores the former allocation until the
 * application master acknowledges the decision.
 */
extern void yq_update_event_write(const char *container_id, Datum allocation, const char *execution_type,
								  bool is_revertible);

/* -- for cycles, under their lock ------------------------------------------------ */

/*
 * Take back increases of the given containers (text[]) that were not acknowledged
 * within the expiry (microseconds).  The change takes effect at the end of that time.
 * Deletes their decisions, and skips containers that another transaction has locked.
 */
extern void yq_update_events_take_back(Datum container_ids, TimestampTz now, int64 expiry);

/*
 * Lock the container that a cycle wants to update, until the transaction ends.  Returns
 * false if the container has ended, or if its size differs from its size in the cluster.
 * Also returns false if another transaction has locked it, because a cycle does not wait.
 * For a promotion by rule, returns false if the container is no longer OPPORTUNISTIC and
 * running.
 */
extern bool yq_update_event_claim(const YqHierarchy *hierarchy, const YqContainerUpdate *update);

/* Write the update that a decision makes. */
extern void yq_update_event_record(const YqCluster *cluster, const YqDecision *decision);

/* Write the updates of a cycle, and the counters of updates that continue to wait. */
extern void yq_update_events_record(const YqCluster *cluster, const List *applications);

/* -- opportunistic count ------------------------------------------------------- */

/*
 * Count allocated OPPORTUNISTIC containers for metrics, as Hadoop's
 * OpportunisticSchedulerMetrics does.
 *
 * Each count in yquota_internal.opportunistic_count is the sum of several rows.
 * Simultaneous transactions change different rows, so none waits.
 */

/*
 * Number of latency bounds.  The bounds are in microseconds and ascend.  For each
 * bound, the containers whose latency is at most the bound are counted.
 */
#define YQ_LATENCY_BOUND_COUNT 12
extern const int64 yq_latency_bounds[YQ_LATENCY_BOUND_COUNT];

/* Counts of containers, initially all zero. */
typedef struct YqOpportunisticCount
{
	int64		central;		/* number of containers, like all fields except latency */
	int64		node_local;
	int64		rack_local;
	int64		off_switch;
	int64		demoted;
	int64		promoted_by_rule;
	int64		timed;			/* containers whose latency is known */
	int64		latency;		/* sum of the known latencies, in microseconds */
	int64		within[YQ_LATENCY_BOUND_COUNT]; /* containers whose latency is at most the bound */
} YqOpportunisticCount;

/*
 * Add containers with a known latency, in microseconds from the first request to the
 * allocation.  A negative latency, measured after the clock has gone back, counts as 0.
 */
extern void yq_opportunistic_count_latency(YqOpportunisticCount *count, int64 latency, int64 containers);

/* Add to the stored counts.  The row is locked until the transaction ends. */
extern void yq_opportunistic_count_write(const YqOpportunisticCount *count);

/* -- record containers --------------------------------------------------------- */

/*
 * SQL list of the decisions that are deleted if they are not acknowledged in time.  All
 * other decisions stay; they report the end of a container, or concern no container.
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

/*
 * Return the name of the decision's container, which is a running container if the
 * decision updates it.  The result is palloc'd.
 */
extern text *yq_decision_container_id(const YqDecision *decision);

/*
 * Record decisions.  Events in container_event start their containers.  The decisions
 * wait for acknowledge_decisions(), numbered in the order in which they were made.  The
 * caller holds the scheduler's lock, so no other transaction takes numbers.
 */
extern void yq_record_containers(const YqLoadedCluster *loaded);

/* Record only the START events of "count" consecutive decisions, beginning with "first". */
extern void yq_record_starts(const YqCluster *cluster, int first, int count);

#endif							/* YQ_RECORD_CONTAINERS_H */
