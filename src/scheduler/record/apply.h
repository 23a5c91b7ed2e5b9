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

#include "scheduler/load/loaded_cluster.h"

/*
 * Write down decisions, requests, counters and reservations.  What was decided for
 * an application that has ended or moved meanwhile is dropped.
 */
extern void yq_decisions_apply(YqLoadedCluster *loaded);

#endif							/* YQ_APPLY_H */
