/*-------------------------------------------------------------------------
 *
 * commit_proposal.h
 *	  Acceptance or refusal of proposals of the allocator (semantics/allocation 5.3).
 *
 * Limits are checked again here, and more strictly than in the search down the
 * hierarchy: every resource type has to fit.  An accepted proposal changes the cluster
 * at once and becomes a decision.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_COMMIT_PROPOSAL_H
#define YQ_COMMIT_PROPOSAL_H

#include "scheduler/decide/container_allocator.h"

/* Commit a proposal with one of the first three outcomes; false when it is refused and the cluster is unchanged. */
extern bool yq_commit(YqCluster *cluster, YqOutcome outcome, const YqProposal *proposal);

#endif							/* YQ_COMMIT_PROPOSAL_H */
