/*-------------------------------------------------------------------------
 *
 * container_allocator.h
 *	  Allocation of a node's resources for a container of an application, and notes about
 *	  skipped applications.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_CONTAINER_ALLOCATOR_H
#define YQ_CONTAINER_ALLOCATOR_H

#include "scheduler/state/cluster.h"
#include "scheduler/state/limits.h"

/* -- explain ------------------------------------------------------------------- */

/*
 * Records skipped queues and applications, with the limit that they have reached.
 *
 * Only a cluster with "explains" keeps these records.  The functions copy the amounts.
 */

/* Note a skip. */
extern void yq_explain(YqCluster *cluster, const YqSkip *skip);

/* Return the name of a reason, in lower case with underscores. */
extern const char *yq_skip_reason_name(YqSkipReason reason);

/* -- container allocator ------------------------------------------------------- */

/*
 * The result of these functions is a proposal, which commit_proposal.h accepts or
 * refuses.  The functions change only the counters of scheduler keys.  As in Hadoop,
 * these counters also change for proposals that are refused.
 */

typedef enum YqOutcome
{
	YQ_OUTCOME_ALLOCATED,
	YQ_OUTCOME_RESERVED,		/* the node is reserved, perhaps again */
	YQ_OUTCOME_RELEASED,		/* an existing reservation is no longer wanted */
	YQ_OUTCOME_APPLICATION_SKIPPED, /* continue with the next application */
	YQ_OUTCOME_QUEUE_LIMIT,		/* the request exceeds the queue's headroom, which siblings must leave unused */
	YQ_OUTCOME_NOTHING			/* no later application of the leaf is tried, so that none overtakes this one */
} YqOutcome;

typedef struct YqProposal
{
	YqSchedulerKey *key;
	YqClusterNode *node;
	YqSchedulingMode mode;
	const int64 *amounts;
	YqLocality	locality;
	YqLocality	request_locality;	/* closest locality that was requested for the node */
	YqReservation *from;		/* reservation to be fulfilled, kept or released; NULL for none */
	YqReservation *swapped;		/* reservation on another node to be given up; NULL for none */
	int			kills;			/* number of killable containers of the node to kill, beginning with the first */
} YqProposal;

/*
 * Try to assign a container to an application with demand, within the limits of its leaf.
 * The function sets the proposal if the outcome is one of the first three.
 */
extern YqOutcome yq_allocator_assign(YqCluster *cluster, YqClusterApplication *application,
									 YqClusterNode *node, YqSchedulingMode mode,
									 const YqLimits *limits, YqProposal *proposal);

/*
 * Try to serve an update key that is not among the keys of its application.  Returns
 * true when there is room for it now.  The proposal is then set, and reserves nothing.
 */
extern bool yq_allocator_update(YqCluster *cluster, YqSchedulerKey *key, YqClusterNode *node,
								YqSchedulingMode mode, const YqLimits *limits, YqProposal *proposal);

/* Try to fulfil the reservation of a node. */
extern YqOutcome yq_allocator_fulfil(YqCluster *cluster, YqClusterNode *node,
									 const YqLimits *limits, YqProposal *proposal);

#endif							/* YQ_CONTAINER_ALLOCATOR_H */
