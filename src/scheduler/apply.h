/*-------------------------------------------------------------------------
 *
 * apply.h
 *	  Writing down what a pass has decided.
 *
 * Containers start by events through the one door, so that the books and the
 * scheduler cannot disagree.  Called under the lock of passes, once per loaded
 * cluster.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_APPLY_H
#define YQ_APPLY_H

#include "scheduler/cluster_load.h"

/*
 * Write down decisions, requests, counters and reservations.  What was decided for
 * an application that has ended or moved meanwhile is dropped: it is marked as gone.
 */
extern void yq_decisions_apply(YqLoadedCluster *loaded);

/* Does a decision stand: its application is not gone? */
extern bool yq_decision_stands(const YqDecision *decision);

/* The name of its container, as YARN makes it; palloc'd. */
extern char *yq_decision_container_id(const YqDecision *decision);

/* What it is called in yquota.decision; the locality is NULL when nothing starts. */
extern const char *yq_decision_name(const YqDecision *decision);
extern const char *yq_decision_locality(const YqDecision *decision);

/* Does a container start? */
extern bool yq_decision_starts(const YqDecision *decision);

#endif							/* YQ_APPLY_H */
