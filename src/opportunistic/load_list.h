/*-------------------------------------------------------------------------
 *
 * load_list.h
 *	  The list of nodes by load, and the queue limit that goes with it, as they are
 *	  in force (opportunistic 3.2, 6).
 *
 * The list is made by the first call after each scheduler_setting.node_sorting_interval
 * and is the only row of yquota_internal.load_list, which is unlogged: there is none
 * after a crash.  One transaction at a time makes it.  Others meanwhile use the list that
 * there is, so that they never wait for it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_LOAD_LIST_H
#define YQ_LOAD_LIST_H

#include "opportunistic/node_load.h"
#include "queues/hierarchy.h"

typedef struct YqLoadList
{
	int64		number;			/* of the sort, from 1 on; 0: there is no list yet */
	int32		max_queue_length;	/* the limit that nodes are told; -1: none */
	int32		max_wait;		/* likewise, milliseconds */
	const char **candidates;	/* the first nodes-used nodes, if they are asked for; palloc'd */
	int			candidate_count;
} YqLoadList;

/* Make the list if it is due, and return the one in force. */
extern YqLoadList yq_load_list_refresh(const YqHierarchy *hierarchy, const YqAllocationSettings *settings, TimestampTz now,
									   bool wants_candidates);

#endif							/* YQ_LOAD_LIST_H */
