/*-------------------------------------------------------------------------
 *
 * apply.h
 *	  Recording the decisions of an allocation cycle.
 *
 * Containers start by events in container_event, so that the books and the
 * scheduler cannot disagree.  Called under the scheduler's lock, once per
 * loaded cluster.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_APPLY_H
#define YQ_APPLY_H

#include "scheduler/load/loaded_cluster.h"

/*
 * Write down decisions, requests, counters and reservations.  Decisions for an
 * application that has ended or moved meanwhile are dropped.
 */
extern void yq_decisions_apply(YqLoadedCluster *loaded);

#endif							/* YQ_APPLY_H */
