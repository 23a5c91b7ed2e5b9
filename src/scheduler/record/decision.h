/*-------------------------------------------------------------------------
 *
 * decision.h
 *	  What is decided in a pass, and writing it down.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_DECISION_H
#define YQ_DECISION_H

#include "scheduler/load/loaded_cluster.h"

/* Does a container start? */
extern bool yq_decision_starts(const YqDecision *decision);

/* Does a running container become larger, or GUARANTEED? */
extern bool yq_decision_updates(const YqDecision *decision);

/* What its container has then, or what is reserved for it. */
extern const int64 *yq_decision_allocation(const YqDecision *decision);

/* What it is called in yquota.decision; the locality is NULL when nothing starts. */
extern const char *yq_decision_name(const YqDecision *decision);
extern const char *yq_decision_locality(const YqDecision *decision);

/* The name of the container that is decided about, which runs already if it is updated.  palloc'd. */
extern text *yq_decision_container_id(const YqDecision *decision);

/*
 * Write decisions down: their containers start, by events through the one door, and
 * the decisions wait for acknowledge(), numbered in the order in which they were
 * made.  Called under the lock of passes: nobody else takes numbers.
 */
extern void yq_decisions_write(const YqLoadedCluster *loaded);

#endif							/* YQ_DECISION_H */
