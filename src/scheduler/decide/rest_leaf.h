/*-------------------------------------------------------------------------
 *
 * rest_leaf.h
 *	  Applications of a leaf that need not be looked at, because nothing would be
 *	  found for them again.
 *
 * In a leaf with many applications a walk would come by the same ones for each
 * container: those that wait for a closer node, say, or whose users are at their
 * limits.  They rest as queues do (rest.h): a walk finds the first one that has to be
 * looked at, and those that it passed by are counted together.  An application rests
 * until something is decided for it, or a node comes that it names; until enough walks
 * have come by, or headroom is less than was enough; until a node is larger, or has
 * more room, than the one it was offered; or until its user passes his limit, or is
 * below it again.
 *
 * All that is for walks of one mode on nodes of one label, and for one pass.  An
 * application that would get something else if its limits were others does not rest,
 * nor does one whose user, on another label, has more than his limit there.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_REST_LEAF_H
#define YQ_REST_LEAF_H

#include "scheduler/decide/rest_notes.h"

typedef struct YqRestLeaf YqRestLeaf;

/* Trees of a leaf: one of most users, and one for each of some users with many applications. */
#define YQ_MOST_REST_TREES 33

/* One walk through a leaf. */
typedef struct YqLeafWalk
{
	YqRestLeaf *rests;
	YqRestMoment moment;
	YqRestEntry *next[YQ_MOST_REST_TREES];	/* to be looked at, of each tree; NULL: none */
	int			at;				/* the tree of the one at hand */
} YqLeafWalk;

/* A leaf that is in order, with all its applications awake; in the current memory context. */
extern YqRestLeaf *yq_rest_leaf_make(const YqCluster *cluster, YqClusterQueue *leaf, int label, YqSchedulingMode mode);

/* What was made for walks of a mode on nodes of a label, or NULL. */
extern YqRestLeaf *yq_rest_leaf_of(const YqClusterQueue *leaf, int label, YqSchedulingMode mode);

/*
 * A walk: begin it, with what is set of its moment; look at what comes next, until that
 * is NULL or gets something; what gets nothing is skipped, and rests if it can, by what
 * was noted of it: false if not.  At the end those before the last one (NULL: all) have
 * been passed by.
 */
extern void yq_rest_leaf_begin_walk(YqLeafWalk *walk);
extern YqClusterApplication *yq_rest_leaf_next(YqLeafWalk *walk);
extern bool yq_rest_leaf_skip(YqLeafWalk *walk, const YqRestNotes *notes);

/* So many walks have gone by all before an application (NULL: by all). */
extern void yq_rest_leaf_pass(YqRestLeaf *rests, const YqClusterApplication *before, int64 walks);

/* Note what the rests of all before an application (NULL: of all) depend on. */
extern void yq_rest_leaf_note(YqRestLeaf *rests, const YqClusterApplication *before, int64 walks, YqRestNotes *notes);

/* Something is about to be decided for the application: it does not rest, and its place may become another one. */
extern void yq_rest_leaf_take_out(YqClusterApplication *application);

/* Count what walks have gone by the application; it is about to be looked at without yq_rest_leaf_next(). */
extern void yq_rest_leaf_count(YqClusterApplication *application);

/* Count what walks have gone by all applications of the leaf, which does without all this then. */
extern void yq_rest_leaf_end(YqClusterQueue *leaf);

/* So many walks are counted for keys that were offered. */
extern void yq_rest_count_keys(const YqOfferedKey *keys, int key_count, int64 walks);

#endif							/* YQ_REST_LEAF_H */
