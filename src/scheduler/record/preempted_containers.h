/*-------------------------------------------------------------------------
 *
 * preempted_containers.h
 *	  Preempted containers, even before their applications have got them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_PREEMPTED_CONTAINERS_H
#define YQ_PREEMPTED_CONTAINERS_H

#include "datatype/timestamp.h"
#include "store/saved_plan.h"

/* -- preempted containers ------------------------------------------------------ */

#define YQ_PREEMPTION_REASON_FIGURES 5

/* Figures of a round when a container's wait ended. */
typedef struct YqPreemptionReason
{
	const char *selector;
	Datum		figures[YQ_PREEMPTION_REASON_FIGURES];	/* resource: used, guaranteed, ideal, to_be_preempted, actually_to_be_preempted */
} YqPreemptionReason;

/* Containers as the caller read them, in columns of equal length. */
typedef struct YqPreemptedContainers
{
	int			count;
	const char **container_ids;
	const char **application_ids;
	const char **queues;		/* full paths */
	const char **queue_names;
	Datum	   *allocations;
	const YqPreemptionReason **reasons; /* reasons from a round; NULL: no column */
	TimestampTz *marked_at;		/* column exists with reasons */
	const char **needed_by_applications;	/* applications that get the room in an allocation cycle; NULL: no column */
	const char **needed_by_queues;	/* full paths of these applications' queues */
	const char *round;			/* round that leaves out failing containers (refusal.h); NULL: a failure is an error */
} YqPreemptedContainers;

/* Make columns with room for so many containers; optional columns are NULL. */
extern YqPreemptedContainers yq_preempted_containers_make(int room);

/* Write one row for a container and decision, even after a lost reply or a forgotten mark. */
#define YQ_PREEMPTED_TELL(decision, advised) \
	", told AS (INSERT INTO yquota.decision (decision, container_id, application_id, queue, node, allocation, priority, " \
	"allocation_request_id, decided_at, advised) " \
	"SELECT '" decision "', r.container_id, r.application_id, r.queue, r.node, r.allocation, r.priority, " \
	"r.allocation_request_id, $6, " advised " FROM running AS r WHERE NOT EXISTS (SELECT FROM yquota.decision AS d " \
	"WHERE d.container_id = r.container_id AND d.decision = '" decision "') ORDER BY r.container_id) "

/* Run a statement that returns places (bigint, from 1) of "count" containers; the result marks the returned ones. */
extern bool *yq_preempted_containers_run(int count, YqSavedPlan *statement, Datum *values);

/*
 * The functions below treat containers that are unchanged since the caller read them:
 * same application and queue, and no larger.  Other containers are left out, and so are
 * containers that another transaction is just changing.  The functions return which
 * containers were found.
 */

/* Lock the containers that are exactly as the caller read them, not smaller either. */
extern bool *yq_preempted_containers_claim(const YqPreemptedContainers *containers);

/*
 * End the containers.  Each gets a CONTAINER_FINISH with the exit status PREEMPTED, a
 * decision "killed", and a row of yquota.preempted_container.  The row replaces that of
 * an advice, or of a life that was voided; marks are deleted.  Without reasons the row
 * has the reasons noted with the marks.
 */
extern bool *yq_preempted_containers_end(const YqPreemptedContainers *containers, Datum now);

/* Advise the resource manager to end the containers: the same decision and row, marked as advised; with reasons. */
extern bool *yq_preempted_containers_advise(const YqPreemptedContainers *containers, Datum now);

/* Make the containers end when their room is needed: a decision "killable"; the marks keep the reasons. */
extern bool *yq_preempted_containers_make_killable(const YqPreemptedContainers *containers, Datum now);

/* -- unfetched containers ------------------------------------------------------ */

/*
 * Put back the requests of containers that are preempted before their applications have
 * got them.
 *
 * An allocated container reduces the counts of its request by one: for its node, its
 * rack and anywhere, as far as it is local.  If it is killed before its start is
 * acknowledged, the counts are restored (semantics/preemption 8; RMContainerImpl's
 * ContainerRescheduledTransition, AppSchedulingInfo).  Containers of application
 * masters, and of applications that are not ACTIVE, are not requested again.
 */

/* State of a container before it ends. */
typedef struct YqUnfetchedContainer
{
	bool		is_unfetched;	/* its start is not acknowledged; else the next field is unset */
	const char *asked_label;	/* NULL: not to be requested again */
} YqUnfetchedContainer;

/* Find the unfetched containers before they end, by container; NULL when there is none. */
extern YqUnfetchedContainer *yq_unfetched_containers_find(const YqPreemptedContainers *containers);

/*
 * Request the unfetched containers again after they have ended, and delete the
 * decisions that allocated them.  The caller holds the locks of their leaves, and has
 * told the journal that its statements are the scheduler's own (scheduler_journal.h).
 * This function notes the applications.  Returns whether there are any.
 */
extern bool yq_unfetched_containers_put_back(const YqPreemptedContainers *containers,
											 const YqUnfetchedContainer *unfetched, const bool *is_ended);

#endif							/* YQ_PREEMPTED_CONTAINERS_H */
