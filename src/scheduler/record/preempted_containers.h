/*-------------------------------------------------------------------------
 *
 * preempted_containers.h
 *	  Running containers that are preempted, also before their applications have had them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_PREEMPTED_CONTAINERS_H
#define YQ_PREEMPTED_CONTAINERS_H

#include "datatype/timestamp.h"
#include "store/saved_plan.h"

/* -- preempted containers ------------------------------------------------------ */

#define YQ_PREEMPTION_REASON_FIGURES 5

/* What a round found when a container's wait was over. */
typedef struct YqPreemptionReason
{
	const char *selector;
	Datum		figures[YQ_PREEMPTION_REASON_FIGURES];	/* resource: used, guaranteed, ideal, to_be_preempted, actually_to_be_preempted */
} YqPreemptionReason;

/* Containers as the caller knows them, in columns of the same length. */
typedef struct YqPreemptedContainers
{
	int			count;
	const char **container_ids;
	const char **application_ids;
	const char **queues;		/* full paths */
	const char **queue_names;
	Datum	   *allocations;
	const YqPreemptionReason **reasons; /* of a round; NULL: no column */
	TimestampTz *marked_at;		/* with them */
	const char **needed_by_applications;	/* that get the room in an allocation cycle; NULL: no column */
	const char **needed_by_queues;	/* of these: full paths; with them */
	const char *round;			/* that leaves out what cannot be written (refusal.h); NULL: that is an error */
} YqPreemptedContainers;

/* Room for so many, in the columns that all have. */
extern YqPreemptedContainers yq_preempted_containers_make(int room);

/* One row for a container and decision: a lost reply, or a mark that was forgotten, makes no second one. */
#define YQ_PREEMPTED_TELL(decision, advised) \
	", told AS (INSERT INTO yquota.decision (decision, container_id, application_id, queue, node, allocation, priority, " \
	"allocation_request_id, decided_at, advised) " \
	"SELECT '" decision "', r.container_id, r.application_id, r.queue, r.node, r.allocation, r.priority, " \
	"r.allocation_request_id, $6, " advised " FROM running AS r WHERE NOT EXISTS (SELECT FROM yquota.decision AS d " \
	"WHERE d.container_id = r.container_id AND d.decision = '" decision "') ORDER BY r.container_id) "

/* Run a statement that returns places (bigint, from 1) of some of so many containers: which are they? */
extern bool *yq_preempted_containers_run(int count, YqSavedPlan *statement, Datum *values);

/*
 * All that follow are about containers that are still as the caller knows them: of the
 * same application and queue, and no larger.  Others are left out, and so are those that
 * another transaction is just changing.  They return which ones were there.
 */

/* Lock those that are exactly as the caller knows them, no smaller either. */
extern bool *yq_preempted_containers_claim(const YqPreemptedContainers *containers);

/*
 * End them: a CONTAINER_FINISH of the exit status PREEMPTED, a decision "killed", and a row
 * of yquota.preempted_container, which replaces one of an advice, or of a life that was
 * voided; their marks go.  Without reasons the row has those noted with the marks.
 */
extern bool *yq_preempted_containers_end(const YqPreemptedContainers *containers, Datum now);

/* Have the resource manager end them: the same decision and row, as advised; with reasons. */
extern bool *yq_preempted_containers_advise(const YqPreemptedContainers *containers, Datum now);

/* Have them end when their room is needed: a decision "killable"; the marks keep the reasons. */
extern bool *yq_preempted_containers_make_killable(const YqPreemptedContainers *containers, Datum now);

/* -- unfetched containers ------------------------------------------------------ */

/*
 * Containers that are preempted before their applications have had them.
 *
 * A container that is allocated takes one off the counts of its request: for its node, its
 * rack and anywhere, as far as it is local.  When it is killed before its start is
 * acknowledged, they get it back (semantics/preemption 8; RMContainerImpl's
 * ContainerRescheduledTransition, AppSchedulingInfo).  Containers of application masters,
 * and of applications that are not ACTIVE, are not asked for again.
 */

/* What is known of a container before it ends. */
typedef struct YqUnfetchedContainer
{
	bool		is_unfetched;	/* its start is not acknowledged; the rest is of such only */
	const char *asked_label;	/* NULL: not to be asked for again */
} YqUnfetchedContainer;

/* Before they end: which ones are unfetched, by container; NULL when none is. */
extern YqUnfetchedContainer *yq_unfetched_containers_find(const YqPreemptedContainers *containers);

/*
 * Once they have ended, ask for the unfetched ones among those that did once more, and
 * forget the decisions that gave them out.  The caller holds the locks of their leaves, and
 * has told the journal that its statements are the scheduler's own (scheduler_journal.h);
 * this notes the applications.  Returns whether there are any.
 */
extern bool yq_unfetched_containers_put_back(const YqPreemptedContainers *containers,
											 const YqUnfetchedContainer *unfetched, const bool *is_ended);

#endif							/* YQ_PREEMPTED_CONTAINERS_H */
