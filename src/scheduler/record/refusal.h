/*-------------------------------------------------------------------------
 *
 * refusal.h
 *	  Containers, applications and plans (subjects) that rounds of the scheduler leave out
 *	  because their rows cannot be written, and counts for metrics.
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
 * Count events of the scheduler for metrics.
 *
 * Each count in yquota_internal.scheduler_count is the sum of several rows.
 * Simultaneous transactions change different rows, so none waits.
 */

/* Number of containers that ended because their application or its attempt had ended. */
#define YQ_COUNT_COMPLETED "containers_completed"

/* Add a number to a count.  If the number is not 0, the row is locked until the transaction ends. */
extern void yq_scheduler_count_add(const char *name, int64 number);

/* -- refusal ------------------------------------------------------------------- */

/*
 * A round writes its rows in a subtransaction.  If the subtransaction fails, the round
 * writes the rows of each subject in a separate subtransaction, and leaves out the subjects
 * that fail.  A row of yquota.scheduler_refusal contains the reason.  Such a subject is
 * held back for a while, so that it does not fail in every round.
 */

/*
 * Record that a container, an application or a plan is left out, with the reason, and
 * hold it back.  Returns false if it is already held back.
 */
extern bool yq_refusal_note(const char *round, const char *subject, const ErrorData *error);

/*
 * Do the work of a round for "count" subjects, numbered from 0: all in one
 * subtransaction or, if that fails, as many as possible.  "work" does the work for
 * consecutive subjects.  For each subject that fails, "refuse" is called outside of the
 * subtransaction that is rolled back.
 */
typedef struct YqRound
{
	int			count;
	void		(*work) (void *argument, int first, int count);
	void		(*refuse) (void *argument, int subject, const ErrorData *error);
	void	   *argument;
} YqRound;

extern void yq_round_run(const YqRound *round);

/* Find the subjects that fail, and call "refuse" for them, but undo all changes that "work" has made. */
extern void yq_round_try(const YqRound *round);

#endif							/* YQ_REFUSAL_H */
