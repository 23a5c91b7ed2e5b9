/*-------------------------------------------------------------------------
 *
 * rest_tree.h
 *	  Applications in order, with what must hold that they need not be looked at.
 *
 * A tree knows of each part of itself what all rests in that part depend on.  So the
 * first application that has to be looked at is found, and all those before another
 * one are counted as passed by, without going from one to the next.
 *
 * Entries belong to whoever makes them; a tree only links them.  It is balanced by
 * numbers that look random (a treap).
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_REST_TREE_H
#define YQ_REST_TREE_H

#include "scheduler/state/limits.h"

/* A request key that a walk has offered a node. */
typedef struct YqOfferedKey
{
	YqRequestKey *key;
	bool		counts_opportunity; /* and not only as missed for the default partition */
} YqOfferedKey;

/* What the rests of some applications depend on; amounts for as many types as there are. */
typedef struct YqRestConditions
{
	bool		is_awake;		/* one does not rest */
	bool		is_reserving;	/* one has reservations */
	bool		has_room;		/* room is set */
	bool		is_too_small;	/* too_large is set */
	int64		until;			/* walks of the leaf when the first one ends */
	int64	   *needed;			/* headroom */
	int64	   *room;			/* as much must not be free */
	int64	   *too_large;		/* a node must not offer as much */
} YqRestConditions;

typedef struct YqRestEntry
{
	YqClusterApplication *application;
	struct YqRestTree *tree;	/* NULL: in none */
	struct YqRestEntry *parent;
	struct YqRestEntry *left;
	struct YqRestEntry *right;
	uint32		rank;			/* larger than those below it */
	int64		passed;			/* walks that went by, less what those above it are to pass on */
	int64		pass_on;		/* walks that went by all below it, and are not counted there */
	YqRestConditions own;
	YqRestConditions all;		/* its own and those below it */
	YqOfferedKey *keys;			/* what each walk that goes by is counted for */
	int			key_count;
	int			key_room;
	struct YqRestEntry *next_of_user;
} YqRestEntry;

typedef struct YqRestTree
{
	const YqCluster *cluster;
	YqRestEntry *root;
} YqRestTree;

/* What a walk through a leaf meets. */
typedef struct YqRestMoment
{
	const YqClusterNode *node;
	const int64 *headroom;
	int64		walks;			/* of the leaf, before this one */
	YqUserStanding standing;	/* at the limit only those with reservations have to be looked at; and all that may unreserve */
} YqRestMoment;

/* An entry in no tree, awake; in the current memory context. */
extern YqRestEntry *yq_rest_entry_make(const YqCluster *cluster, YqClusterApplication *application);

/* The order of its application has to be what it was, or will be, while it is in the tree. */
extern void yq_rest_tree_insert(YqRestTree *tree, YqRestEntry *entry);
extern void yq_rest_tree_remove(YqRestEntry *entry);

/* The conditions of an entry itself have changed. */
extern void yq_rest_tree_refresh(YqRestEntry *entry);

/* The first one after an application (NULL: of all) that has to be looked at, or NULL. */
extern YqRestEntry *yq_rest_tree_find(const YqRestTree *tree, const YqRestMoment *moment,
									  const YqClusterApplication *after);

/* So many walks have gone by all before an application (NULL: by all). */
extern void yq_rest_tree_pass(YqRestTree *tree, const YqClusterApplication *before, int64 walks);

/* How many have gone by since it was set; that is set then. */
extern int64 yq_rest_tree_take_passed(YqRestEntry *entry, int64 afterwards);

/* Add what rests of all before an application (NULL: of all) depend on. */
extern void yq_rest_tree_add_conditions(const YqRestTree *tree, const YqClusterApplication *before,
										YqRestConditions *conditions);

/* Conditions that always hold; amounts are allocated in the current memory context. */
extern void yq_rest_conditions_make(const YqCluster *cluster, YqRestConditions *conditions);
extern void yq_rest_conditions_clear(const YqCluster *cluster, YqRestConditions *conditions);

/* Have the least of each type: what has more of all does not fit where that does not. */
extern void yq_rest_note_least(const YqCluster *cluster, bool *is_noted, int64 *noted, const int64 *amounts);

#endif							/* YQ_REST_TREE_H */
