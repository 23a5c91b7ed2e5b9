/*-------------------------------------------------------------------------
 *
 * preempted_containers.h
 *	  Preempted containers, including those that their applications have not fetched.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_PREEMPTED_CONTAINERS_H
#define YQ_PREEMPTED_CONTAINERS_H

#include "datatype/timestamp.h"
#include "store/saved_plan.h"

/* -- preempted containers ------------------------------------------------------ */

#define YQ_PREEMPTION_REASON_FIGURES 5

/*
 * Selector and amounts that made a round preempt a container, after the container's time to end by
 * itself was over.
 */
typedef struct YqPreemptionReason
{
	const char *selector;
	Datum		figures[YQ_PREEMPTION_REASON_FIGURES];	/* amounts, in the order of the table's columns */
} YqPreemptionReason;

/* Containers as the caller has read them.  Each column is an array with one element per container. */
typedef struct YqPreemptedContainers
{
	int			count;
	const char **container_ids;
	const char **application_ids;
	const char **queues;		/* full paths */
	const char **queue_names;
	Datum	   *allocations;
	const YqPreemptionReason **reasons; /* reasons from a round; NULL: the column is absent */
	TimestampTz *marked_at;		/* present together with reasons */
	const char **needed_by_applications;	/* applications that get the resources; NULL: absent */
	const char **needed_by_queues;	/* full paths of the queues of these applications; NULL: absent */
	const char *round;			/* round that leaves out failing containers (refusal.h); NULL: failures are errors */
} YqPreemptedContainers;

/* Make columns with room for this many containers.  Optional columns are NULL. */
extern YqPreemptedContainers yq_preempted_containers_make(int room);

/*
 * SQL that writes a row of yquota.decision for each container in "running".  A container that
 * already has a row with this decision gets no second row.  A caller may therefore repeat its call
 * after a lost reply, or select again a container whose mark was forgotten.
 */
#define YQ_PREEMPTED_TELL(decision, advised) \
	", told AS (INSERT INTO yquota.decision (decision, container_id, application_id, queue, node, allocation, priority, " \
	"allocation_request_id, decided_at, advised) " \
	"SELECT '" decision "', r.container_id, r.application_id, r.queue, r.node, r.allocation, r.priority, " \
	"r.allocation_request_id, $6, " advised " FROM running AS r WHERE NOT EXISTS (SELECT FROM yquota.decision AS d " \
	"WHERE d.container_id = r.container_id AND d.decision = '" decision "') ORDER BY r.container_id) "

/*
 * Run a statement that returns positions (bigint, from 1) among "count" containers.  The
 * result is an array of "count" elements, which are true at the returned positions.
 */
extern bool *yq_preempted_containers_run(int count, YqSavedPlan *statement, Datum *values);

/*
 * The functions below handle containers that are unchanged since the caller read them:
 * they have the same application and queue, and are no larger.  The functions skip
 * other containers, and containers that another transaction is changing.  They return
 * an array that is true for each container that they have handled.
 */

/* Lock the containers that have exactly the size that the caller has read. */
extern bool *yq_preempted_containers_claim(const YqPreemptedContainers *containers);

/*
 * End the containers.  Each gets a CONTAINER_FINISH with the exit status PREEMPTED, a
 * decision "killed", and a row of yquota.preempted_container.  The row replaces the row
 * of an advice, or of an earlier container with that id whose events were voided.  The
 * marks of the containers are deleted.  If the caller gives no reasons, the row gets the
 * reasons that were stored with the marks.
 */
extern bool *yq_preempted_containers_end(const YqPreemptedContainers *containers, Datum now);

/*
 * Advise the resource manager to end the containers: write the same decision and row,
 * marked as advised.  The caller gives the reasons.
 */
extern bool *yq_preempted_containers_advise(const YqPreemptedContainers *containers, Datum now);

/*
 * Make the containers killable, so that they end when their resources are needed: write
 * a decision "killable", and store the reasons with the marks.
 */
extern bool *yq_preempted_containers_make_killable(const YqPreemptedContainers *containers, Datum now);

/* -- unfetched containers ------------------------------------------------------ */

/*
 * Put back the requests of containers that are preempted before their applications have
 * fetched them.
 *
 * An allocated container reduces the counts of its request by one: for its node, its
 * rack and anywhere, according to its locality.  If it is killed before its start is
 * acknowledged, the counts are restored (semantics/preemption 8; RMContainerImpl's
 * ContainerRescheduledTransition, AppSchedulingInfo).  Containers of application
 * masters, and of applications that are not ACTIVE, are not requested again.
 */

/* State of a container before it ends. */
typedef struct YqUnfetchedContainer
{
	bool		is_unfetched;	/* the start is not acknowledged; if false, asked_label is not set */
	const char *asked_label;	/* label of the container's request; NULL: the container is not requested again */
} YqUnfetchedContainer;

/*
 * Find the containers that their applications have not fetched, before they end.  The result has
 * one element per container.  It is NULL if all containers have been fetched.
 */
extern YqUnfetchedContainer *yq_unfetched_containers_find(const YqPreemptedContainers *containers);

/*
 * Request the unfetched containers again after they have ended, and delete the
 * decisions that allocated them.  The caller holds the locks of their leaves, and has
 * called yq_scheduler_journal_begin_own().  This function itself records the
 * applications in the journal.  Returns whether any unfetched container has ended.
 */
extern bool yq_unfetched_containers_put_back(const YqPreemptedContainers *containers,
											 const YqUnfetchedContainer *unfetched, const bool *is_ended);

#endif							/* YQ_PREEMPTED_CONTAINERS_H */
