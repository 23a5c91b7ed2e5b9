/*-------------------------------------------------------------------------
 *
 * record_decisions.h
 *	  The record of the decisions of an allocation cycle.
 *
 * Containers start by events in container_event, so that the ledger and the scheduler
 * cannot disagree.  The caller holds the scheduler's lock, and calls each function at most
 * once for the same decisions.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_RECORD_DECISIONS_H
#define YQ_RECORD_DECISIONS_H

#include "scheduler/load/loaded_cluster.h"

/*
 * Write decisions, requests, counters and reservations, and record them for sessions
 * that keep a cluster.  Drops decisions for applications that have ended or moved since
 * they were read.
 */
extern void yq_record_decisions(YqLoadedCluster *loaded);

/*
 * Find the decisions whose events cannot be written, after yq_record_decisions() failed
 * and its subtransaction was rolled back.  Hold back the containers of failing updates,
 * and the applications of failing new containers (refusal.h).  Returns false when all
 * of these are already held back.  Afterwards the cluster has to be read again.
 */
extern bool yq_record_refusals(YqLoadedCluster *loaded);

#endif							/* YQ_RECORD_DECISIONS_H */
