/*-------------------------------------------------------------------------
 *
 * record_decisions.h
 *	  The record of the decisions of an allocation cycle.
 *
 * Containers start by events in container_event, so that the ledger and the scheduler
 * cannot disagree.  The functions are called under the scheduler's lock, once per
 * loaded cluster.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_RECORD_DECISIONS_H
#define YQ_RECORD_DECISIONS_H

#include "scheduler/load/loaded_cluster.h"

/*
 * Write decisions, requests, counters and reservations, and note them for sessions that
 * keep a cluster.  Decisions for an application that has ended or moved meanwhile are
 * dropped.
 */
extern void yq_record_decisions(YqLoadedCluster *loaded);

/*
 * Find the decisions whose events cannot be written, after yq_record_decisions() failed
 * and a subtransaction was rolled back.  Hold back the container to be updated, or the
 * application that was to get one (refusal.h).  False when all are held back already.
 * The cluster has to be read anew.
 */
extern bool yq_record_refusals(YqLoadedCluster *loaded);

#endif							/* YQ_RECORD_DECISIONS_H */
