/*-------------------------------------------------------------------------
 *
 * record_decisions.h
 *	  Recording the decisions of an allocation cycle.
 *
 * Containers start by events in container_event, so that the ledger and the
 * scheduler cannot disagree.  Called under the scheduler's lock, once per
 * loaded cluster.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_RECORD_DECISIONS_H
#define YQ_RECORD_DECISIONS_H

#include "scheduler/load/loaded_cluster.h"

/*
 * Write down decisions, requests, counters and reservations, and note them for sessions
 * that keep a cluster.  Decisions for an application that has ended or moved meanwhile
 * are dropped.
 */
extern void yq_record_decisions(YqLoadedCluster *loaded);

/*
 * After an error in that, which a subtransaction has undone: find the decisions of which the events
 * cannot be written, and hold back the container to be updated, or the application that was to get
 * one (refusal.h).  False when there is none that is not held back already.  The cluster has to be
 * read anew.
 */
extern bool yq_record_refusals(YqLoadedCluster *loaded);

#endif							/* YQ_RECORD_DECISIONS_H */
