/*-------------------------------------------------------------------------
 *
 * look.h
 *	  What was left to leaves when a pass last looked at their applications: the
 *	  limit for application masters follows from it until the next look
 *	  (admission/last_am_limit.h).
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_LOOK_H
#define YQ_LOOK_H

#include "scheduler/state/cluster.h"

/* Of a leaf; amounts per type. */
typedef struct YqLook
{
	bool		is_noted;		/* in this pass */
	int64	   *limit;			/* what its parent handed down to it then */
	uint64		known_at;		/* state of the table in which am_limit was found; 0: none */
	int64	   *am_limit;		/* as the table has it */
	bool		has_followed;	/* it is what follows */
	int64	   *of_limit;		/* from that limit */
} YqLook;

/* For a new cluster; and for each of its leaves. */
extern struct YqLooks *yq_looks_make(const YqCluster *cluster);
extern YqLook *yq_look_make(const YqCluster *cluster);

/* An application of the leaf was looked at, to which so much was handed down. */
extern void yq_look_note(const YqCluster *cluster, const YqClusterQueue *leaf, const int64 *limit);

/* Others may have written to the table. */
extern void yq_looks_forget_known(YqCluster *cluster);

/*
 * Before a pass that writes down what it decides: see that what was remembered when
 * the cluster changed is up to date.  Afterwards: write down what has changed.
 */
extern void yq_looks_prepare(YqCluster *cluster);
extern void yq_looks_write(YqCluster *cluster);

#endif							/* YQ_LOOK_H */
