/*-------------------------------------------------------------------------
 *
 * container_allocator.h
 *	  Allocating a container of a node to an application, and noting what was skipped.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_CONTAINER_ALLOCATOR_H
#define YQ_CONTAINER_ALLOCATOR_H

#include "scheduler/state/cluster.h"
#include "scheduler/state/limits.h"

/* -- explain ------------------------------------------------------------------- */

/*
 * Noting skipped queues and applications, with the limit.
 *
 * Nothing is noted unless the cluster explains.  Amounts are copied.
 */

/* Note a skip. */
extern void yq_explain(YqCluster *cluster, const YqSkip *skip);

/* The name of a reason, in lower case with underscores. */
extern const char *yq_skip_reason_name(YqSkipReason reason);

/* -- container allocator ------------------------------------------------------- */

/*
 * Nothing is allocated here: the result is a proposal, which commit_proposal.h
 * accepts or not.  Only counters of the scheduler keys change, as in Hadoop, for
 * refused proposals, too.
 */

typedef enum YqOutcome
{
	YQ_OUTCOME_ALLOCATED,
	YQ_OUTCOME_RESERVED,		/* or reserved again, when there was a reservation */
	YQ_OUTCOME_RELEASED,		/* the reservation is not wanted any more */
	YQ_OUTCOME_APPLICATION_SKIPPED, /* the next application may get something */
	YQ_OUTCOME_QUEUE_LIMIT,		/* the queue may not use as much: its headroom is kept for it */
	YQ_OUTCOME_NOTHING			/* the queue gets nothing, lest others overtake */
} YqOutcome;

typedef struct YqProposal
{
	YqSchedulerKey *key;
	YqClusterNode *node;
	YqSchedulingMode mode;
	const int64 *amounts;
	YqLocality	locality;
	YqLocality	request_locality;
	YqReservation *from;		/* reservation to be fulfilled, kept or released; NULL for none */
	YqReservation *swapped;		/* reservation on another node to be given up; NULL for none */
	int			kills;			/* so many killable containers of the node die for it, the first ones */
} YqProposal;

/*
 * Try to assign something to an application with demand, below limits that its leaf has set.
 * The proposal is set for the first three outcomes.
 */
extern YqOutcome yq_allocator_assign(YqCluster *cluster, YqClusterApplication *application,
									 YqClusterNode *node, YqSchedulingMode mode,
									 const YqLimits *limits, YqProposal *proposal);

/*
 * Try to serve a key that is an update, apart from the keys of its application: true when
 * there is room for it now.  The proposal is set then, and reserves nothing.
 */
extern bool yq_allocator_update(YqCluster *cluster, YqSchedulerKey *key, YqClusterNode *node,
								YqSchedulingMode mode, const YqLimits *limits, YqProposal *proposal);

/* Try to fulfil the reservation of a node. */
extern YqOutcome yq_allocator_fulfil(YqCluster *cluster, YqClusterNode *node,
									 const YqLimits *limits, YqProposal *proposal);

#endif							/* YQ_CONTAINER_ALLOCATOR_H */
