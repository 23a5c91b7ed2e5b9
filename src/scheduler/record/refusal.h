/*-------------------------------------------------------------------------
 *
 * refusal.h
 *	  Subjects that rounds of the scheduler have left out because they could not be written,
 *	  and counts for metrics.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_REFUSAL_H
#define YQ_REFUSAL_H

#include "base/compat.h"

#include "scheduler/load/held_subjects.h"
#include "utils/elog.h"

/* -- scheduler count ----------------------------------------------------------- */

/*
 * Counts of the scheduler for metrics.
 *
 * Counts are in yquota_internal.scheduler_count, in parts to be added up: transactions
 * that are at work at once change different ones, and none waits.
 */

/* Containers that ended because their application, or its attempt, was over. */
#define YQ_COUNT_COMPLETED "containers_completed"

/* Add a number, or nothing if it is 0.  The part is locked until the transaction ends. */
extern void yq_scheduler_count_add(const char *name, int64 number);

/* -- refusal ------------------------------------------------------------------- */

/*
 * A round is written in one subtransaction.  Where that fails because of rows, the round finds
 * the rows, each in a subtransaction of its own, leaves their subjects out, and goes on.  A row
 * of yquota.scheduler_refusal says why.  A subject is held back for a while, so that it does not fail
 * every round.
 */

/* Note that a container, an application or a plan is left out, why, and hold it back.  False if it is held back already. */
extern bool yq_refusal_note(const char *round, const char *subject, const ErrorData *error);

/*
 * Do the work of a round for "count" subjects that are numbered from 0: all in one subtransaction, or, if
 * that fails, as many of them as can be done.  "work" does it for some that follow each other, and "refuse" is
 * told of each that cannot be done, outside of any subtransaction that is undone.
 */
typedef struct YqRound
{
	int			count;
	void		(*work) (void *argument, int first, int count);
	void		(*refuse) (void *argument, int subject, const ErrorData *error);
	void	   *argument;
} YqRound;

extern void yq_round_run(const YqRound *round);

/* Find those that cannot be done, and do nothing. */
extern void yq_round_try(const YqRound *round);

#endif							/* YQ_REFUSAL_H */
