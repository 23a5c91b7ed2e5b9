/*-------------------------------------------------------------------------
 *
 * record_containers.h
 *	  Recording decisions of an allocation cycle: events and rows of
 *	  yquota.decision.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_RECORD_CONTAINERS_H
#define YQ_RECORD_CONTAINERS_H

#include "scheduler/load/loaded_cluster.h"

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
