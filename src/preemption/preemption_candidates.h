/*-------------------------------------------------------------------------
 *
 * preemption_candidates.h
 *	  Orders the containers of an application, and decides whether a container is worth
 *	  taking (semantics/preemption 4).
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_PREEMPTION_CANDIDATES_H
#define YQ_PREEMPTION_CANDIDATES_H

#include "preemption/preemption_state.h"

/* Amounts that a leaf must still give up, per label. */
typedef struct YqWanted
{
	int64	   *amounts;		/* label after label */
	bool	   *is_wanted;		/* per label; false: nothing is wanted, or enough containers are selected */
	int			count;			/* number of labels on which something is wanted */
} YqWanted;

/* Create an empty set of wanted amounts, palloc'd. */
extern YqWanted *yq_wanted_create(const YqPreemption *state);

/* Set the wanted amounts of a label on which nothing is wanted yet. */
extern void yq_wanted_set(const YqPreemption *state, YqWanted *wanted, int label, const int64 *amounts);
extern void yq_wanted_free(YqWanted *wanted);

/*
 * Sort the containers of an application.  Reservations come first, by the name of their
 * node.  Running containers follow, the least urgent request first.  Among requests with
 * the same priority, the larger request id comes first, then the newest container.
 *
 * With YQ_LEAST_PAID, request ids do not count.  Among requests with the same priority, the
 * container that has cost the fewest credits comes first, then the newest container.  The
 * loader supplies ranks by cost.
 */
extern void yq_candidates_sort(YqPreemption *state, YqPreemptionApplication *application);

/*
 * Select a container if it fits in the budget and reduces the wanted amount on its label.
 * If "is_conservative" is set, the container must not have a resource type of which nothing
 * is wanted.  The container is deducted from the budget and from the wanted amount.  The
 * last selected container may be larger than the remaining wanted amount.
 */
extern bool yq_candidate_try(YqPreemption *state, YqWanted *wanted, YqPreemptionContainer *container,
							 bool is_conservative);

#endif							/* YQ_PREEMPTION_CANDIDATES_H */
