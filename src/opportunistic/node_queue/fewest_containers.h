/*-------------------------------------------------------------------------
 *
 * fewest_containers.h
 *	  The smallest number of containers that free enough of each amount.
 *
 * Among sets of that size the one with the newest containers: of two sets that
 * differ, the one with the newest of those containers that only one of them has.  To find it is to try
 * sets, of which there can be very many.  After YQ_FEWEST_MOST_STEPS the search ends, and with
 * YQ_FEWEST_MOST_SUMS there is none: then containers are chosen one by one: the largest in memory while memory lacks, then in virtual
 * memory, then in cores, of equal ones the newest; then those go, the oldest first, that the
 * others do without.  Knows no table.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_FEWEST_CONTAINERS_H
#define YQ_FEWEST_CONTAINERS_H

#include "opportunistic/node_queue/node_container.h"

/* Containers that a search looks at, some milliseconds. */
#define YQ_FEWEST_MOST_STEPS 200000

/* Containers times those that are chosen one by one, from which on there is no search. */
#define YQ_FEWEST_MOST_SUMS 1000000

/*
 * Set is_chosen of each container, of which the first is the newest.  All are chosen when they
 * are not enough.  False when there might be a smaller number, as the search was ended.
 */
extern bool yq_fewest_containers_choose(const YqNodeAmounts *amounts, int count, YqNodeAmounts lacking, bool *is_chosen);

#endif							/* YQ_FEWEST_CONTAINERS_H */
