/*-------------------------------------------------------------------------
 *
 * held_subjects.h
 *	  Containers, applications and plans (subjects) that rounds of the scheduler leave out
 *	  for a while, because their rows could not be written (scheduler/record/refusal.h).
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_HELD_SUBJECTS_H
#define YQ_HELD_SUBJECTS_H

/* Names of rounds.  The name of a round is the name of the function that runs it. */
#define YQ_ROUND_SCHEDULE "schedule"
#define YQ_ROUND_PREEMPTION "preempt_containers"
#define YQ_ROUND_PLANS "follow_plans"
#define YQ_ROUND_OPPORTUNISTIC "allocate_opportunistic"
#define YQ_ROUND_NODE_QUEUE "node_queue"
#define YQ_ROUND_EXPIRY "expiry"
#define YQ_ROUND_LIFETIME "end_expired_applications"

/* SQL condition: the round leaves out the subject now.  "subject" is an expression of type text. */
#define YQ_IS_HELD(round, subject) \
	"EXISTS (SELECT FROM yquota.scheduler_refusal AS f WHERE f.round = '" round "' AND f.subject = " subject \
	" AND f.held_until > yquota.clock())"

#endif							/* YQ_HELD_SUBJECTS_H */
