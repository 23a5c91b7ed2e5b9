/*-------------------------------------------------------------------------
 *
 * commit_proposal.h
 *	  Acceptance or refusal of proposals of the allocator (semantics/allocation 5.3).
 *
 * This module checks limits again, and more strictly than the search down the hierarchy: every
 * resource type must fit.  An accepted proposal immediately changes the cluster and becomes a
 * decision.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_COMMIT_PROPOSAL_H
#define YQ_COMMIT_PROPOSAL_H

#include "scheduler/decide/container_allocator.h"

/*
 * Commit a proposal whose outcome is one of the first three of YqOutcome.  Returns false if
 * the proposal is refused; the cluster is then unchanged.
 */
extern bool yq_commit(YqCluster *cluster, YqOutcome outcome, const YqProposal *proposal);

#endif							/* YQ_COMMIT_PROPOSAL_H */
