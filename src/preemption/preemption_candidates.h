/*-------------------------------------------------------------------------
 *
 * preemption_candidates.h
 *	  Orders the containers of an application, and decides whether a container is worth
 *	  taking (preemption 4).
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
	bool	   *is_wanted;		/* per label; false: enough containers are selected */
	int			count;			/* number of labels that are wanted */
} YqWanted;

/* Create an empty set of wanted amounts, palloc'd. */
extern YqWanted *yq_wanted_create(const YqPreemption *state);

/* Want amounts on a label on which nothing is wanted yet. */
extern void yq_wanted_set(const YqPreemption *state, YqWanted *wanted, int label, const int64 *amounts);
extern void yq_wanted_free(YqWanted *wanted);

/*
 * Sort the containers of an application.  Reservations come first, by the name of their
 * node. Running containers follow, the least urgent request first.  Among equal
 * requests the larger request id comes first, then the newest container.
 *
 * With YQ_LEAST_PAID, request ids do not count.  Among equal requests, the containers
 * that have cost the fewest credits come first, then the newest.  The loader supplies
 * the ranks.
 */
extern void yq_candidates_sort(YqPreemption *state, YqPreemptionApplication *application);

/*
 * Select a container if it fits in the budget and reduces the wanted amount on its
 * label.  A conservative caller selects no container when one of its types is not
 * wanted.  The container is deducted from the budget and the wanted amount.  The last
 * container may exceed the wanted amount.
 */
extern bool yq_candidate_try(YqPreemption *state, YqWanted *wanted, YqPreemptionContainer *container,
							 bool is_conservative);

#endif							/* YQ_PREEMPTION_CANDIDATES_H */
