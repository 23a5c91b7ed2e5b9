/*-------------------------------------------------------------------------
 *
 * preemption_candidates.h
 *	  Which containers of an application come first, and whether one is worth
 *	  taking (preemption 4).
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_PREEMPTION_CANDIDATES_H
#define YQ_PREEMPTION_CANDIDATES_H

#include "preemption/preemption_state.h"

/* What is still wanted of a leaf, per label. */
typedef struct YqWanted
{
	int64	   *amounts;		/* label after label */
	bool	   *is_wanted;		/* per label; false: there is enough */
	int			count;			/* labels that are wanted */
} YqWanted;

/* Nothing, palloc'd. */
extern YqWanted *yq_wanted_create(const YqPreemption *state);

/* Want amounts on a label of which nothing is wanted yet. */
extern void yq_wanted_set(const YqPreemption *state, YqWanted *wanted, int label, const int64 *amounts);
extern void yq_wanted_free(YqWanted *wanted);

/*
 * Put the containers of an application in order.  Reservations come first, by
 * the name of their node.  Running containers follow, the least urgent request
 * first; of equal ones the larger request id, then the newest container.  With
 * YQ_LEAST_PAID the fewest credits come before the newest container, and
 * request ids do not count; the loader is asked for ranks then.
 */
extern void yq_candidates_sort(YqPreemption *state, YqPreemptionApplication *application);

/*
 * Select a container if it fits in the budget and reduces what is wanted on its
 * label; a conservative caller takes none when any type is not wanted.  It is
 * taken off both.  The last one may take more than is wanted.
 */
extern bool yq_candidate_try(YqPreemption *state, YqWanted *wanted, YqPreemptionContainer *container,
							 bool is_conservative);

#endif							/* YQ_PREEMPTION_CANDIDATES_H */
