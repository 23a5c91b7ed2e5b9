/*-------------------------------------------------------------------------
 *
 * change_log.h
 *	  What sessions that keep a cluster have to read again.
 *
 * Whoever changes what the scheduler reads of an application appends a row to
 * yquota_internal.scheduler_change in the same transaction: the functions that change
 * requests, blacklists, reservations and counters say so themselves; a trigger does
 * for applications, and, coarsely, for whoever changes those tables by hand.  What is
 * used of queues and nodes is told by yquota_internal.counter_delta, what is
 * configured by invalidation of the hierarchy.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_CHANGE_LOG_H
#define YQ_CHANGE_LOG_H

#include "nodes/pg_list.h"

/* Values of the column kind. */
#define YQ_CHANGE_APPLICATION 'a'
#define YQ_CHANGE_EVERYTHING 'e'

/* Note applications, by their ids (char *). */
extern void yq_change_log_applications(const List *ids);

/* Note that nothing that was read holds any more. */
extern void yq_change_log_everything(void);

/*
 * Between the two, statements of this session on the scheduler's tables need not be
 * noted: the caller does it.  After an error they have to be again.
 */
extern void yq_change_log_begin_own(void);
extern void yq_change_log_end_own(void);

#endif							/* YQ_CHANGE_LOG_H */
