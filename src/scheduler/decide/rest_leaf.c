/*-------------------------------------------------------------------------
 *
 * rest_leaf.c
 *	  Applications of a leaf that need not be looked at.
 *
 * Users pass their limits and come below them with nearly every container, where a
 * leaf has more than its share.  All applications of such a user would wake each
 * time; so he gets a tree of his own, which is passed by as a whole while he is at his
 * limit, when that has happened often enough.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "scheduler/decide/rest.h"
#include "scheduler/state/order.h"

/* A user with fewer applications gets no tree. */
#define LEAST_OF_TREE 8

/* All his applications have woken so often before. */
#define MOST_WAKES 4

typedef struct RestUser
{
	YqClusterUser *user;
	YqUserStanding standing;
	int			weight;			/* which of those that there are */
	YqRestTree *tree;
	YqRestEntry *first;
	int			count;
	int			wakes;
	int			at;				/* among those who are not below their limits, if he is not */
} RestUser;

/* What users of one weight may use. */
typedef struct RestWeight
{
	YqClusterUser *user;		/* one of them */
	int64	   *limit;			/* when their standings were found */
} RestWeight;

struct YqRestLeaf
{
	const YqCluster *cluster;
	YqClusterQueue *leaf;
	YqRestLeaf *next;			/* of the same leaf */
	int			label;			/* of nodes */
	int			requested;		/* label of requests */
	YqSchedulingMode mode;
	RestUser   *users;
	YqRestEntry **entries;		/* by numbers of applications; NULL: it wants nothing */
	YqRestEntry **outside;		/* entries that are in no tree, and may have another place */
	int			outside_count;
	YqRestTree	trees[YQ_MOST_REST_TREES];	/* the first one is of all users without one */
	RestUser   *owners[YQ_MOST_REST_TREES];
	int			tree_count;
	RestWeight *weights;
	int			weight_count;
	RestUser  **limited;		/* users who are not below their limits */
	int			limited_count;
	MemoryContext context;
};

/* -- entries ------------------------------------------------------------------- */

void
yq_rest_count_keys(const YqOfferedKey *keys, int key_count, int64 walks)
{
	for (int i = 0; i < key_count; i++)
	{
		if (keys[i].key->label == 0)
			keys[i].key->missed_non_partitioned += walks;
		if (keys[i].counts_opportunity)
			keys[i].key->opportunities += walks;
	}
}

static void
count_passed(YqRestEntry *entry)
{
	int64		passed;

	if (entry->tree == NULL || entry->own.is_awake)
		return;
	passed = yq_rest_tree_take_passed(entry, 0);
	if (passed != 0)
		yq_rest_count_keys(entry->keys, entry->key_count, passed);
}

static void
clear(YqRestEntry *entry, const YqCluster *cluster)
{
	yq_rest_conditions_clear(cluster, &entry->own);
	entry->own.is_awake = true;
	entry->own.is_reserving = entry->application->reservation_count > 0;
	entry->key_count = 0;
}

static void
wake(YqRestEntry *entry)
{
	if (entry->tree == NULL || entry->own.is_awake)
		return;
	count_passed(entry);
	clear(entry, entry->tree->cluster);
	yq_rest_tree_refresh(entry);
}

/* The walk at hand, by which it has been counted already, goes by as well. */
static void
rest(YqRestEntry *entry, const YqRestLeaf *rests, const YqRestNotes *notes, int64 walks)
{
	Size		size = sizeof(int64) * rests->cluster->calculator->types;
	YqRestConditions *own = &entry->own;

	own->is_awake = false;
	own->until = notes->most == PG_INT64_MAX ? PG_INT64_MAX : walks + 1 + notes->most;
	memcpy(own->needed, notes->needed, size);
	own->has_room = notes->has_room;
	if (own->has_room)
		memcpy(own->room, notes->room, size);
	own->is_too_small = notes->is_too_small;
	if (own->is_too_small)
		memcpy(own->too_large, notes->too_large, size);
	yq_rest_copy_keys(notes, rests->context, &entry->keys, &entry->key_count, &entry->key_room);
	(void) yq_rest_tree_take_passed(entry, -1);
	yq_rest_tree_refresh(entry);
}

/* -- users --------------------------------------------------------------------- */

static RestUser *
user_of(const YqRestLeaf *rests, const YqRestEntry *entry)
{
	return &rests->users[entry->application->user->number];
}

static void
give_tree(YqRestLeaf *rests, RestUser *user)
{
	user->tree = &rests->trees[rests->tree_count];
	user->tree->cluster = rests->cluster;
	rests->owners[rests->tree_count++] = user;
	for (YqRestEntry *entry = user->first; entry != NULL; entry = entry->next_of_user)
	{
		if (entry->tree == NULL)
			continue;
		yq_rest_tree_remove(entry);
		yq_rest_tree_insert(user->tree, entry);
	}
}

static void
set_standing(YqRestLeaf *rests, RestUser *user, YqUserStanding standing)
{
	if (user->standing == YQ_USER_BELOW_LIMIT)
	{
		user->at = rests->limited_count;
		rests->limited[rests->limited_count++] = user;
	}
	else if (standing == YQ_USER_BELOW_LIMIT)
	{
		rests->limited[user->at] = rests->limited[--rests->limited_count];
		rests->limited[user->at]->at = user->at;
	}
	user->standing = standing;
}

static void
look_at_user(YqRestLeaf *rests, RestUser *user)
{
	YqUserStanding standing = yq_user_standing(rests->cluster, user->user, rests->label, rests->mode);

	if (standing == user->standing)
		return;
	set_standing(rests, user, standing);
	if (user->tree != &rests->trees[0])
		return;
	for (YqRestEntry *entry = user->first; entry != NULL; entry = entry->next_of_user)
		wake(entry);
	if (++user->wakes > MOST_WAKES && user->count >= LEAST_OF_TREE && rests->tree_count < YQ_MOST_REST_TREES)
		give_tree(rests, user);
}

/* What may be used by users of any weight; true: less than before. */
static bool
look_at_limits(YqRestLeaf *rests)
{
	bool		is_any_less = false;

	for (int i = 0; i < rests->weight_count; i++)
	{
		RestWeight *weight = &rests->weights[i];
		const int64 *limit = yq_user_limit(rests->cluster, weight->user, rests->label, rests->mode);

		for (int j = 0; j < rests->cluster->calculator->types; j++)
		{
			is_any_less = is_any_less || limit[j] < weight->limit[j];
			weight->limit[j] = limit[j];
		}
	}
	return is_any_less;
}

/*
 * His standing follows from his limit and from what he uses, which only decisions for
 * him change.  While limits rise, who is below his stays there.
 */
static void
look_at_users(YqRestLeaf *rests)
{
	if (look_at_limits(rests))
	{
		for (int i = 0; i < rests->leaf->user_count; i++)
		{
			if (rests->users[i].count > 0)
				look_at_user(rests, &rests->users[i]);
		}
		return;
	}
	for (int i = rests->limited_count - 1; i >= 0; i--)
		look_at_user(rests, rests->limited[i]);
	for (int i = 0; i < rests->outside_count; i++)
		look_at_user(rests, user_of(rests, rests->outside[i]));
}

/* -- making -------------------------------------------------------------------- */

static int
weight_of(YqRestLeaf *rests, YqClusterUser *user)
{
	int			weight = 0;

	while (weight < rests->weight_count && rests->weights[weight].user->weight != user->weight)
		weight++;
	if (weight == rests->weight_count)
		rests->weights[rests->weight_count++] = (RestWeight) {.user = user,
		.limit = palloc0(sizeof(int64) * rests->cluster->calculator->types)};
	return weight;
}

static void
make_users(YqRestLeaf *rests)
{
	YqClusterQueue *leaf = rests->leaf;

	rests->weights = palloc(Max(leaf->user_count, 1) * sizeof(RestWeight));
	rests->limited = palloc(Max(leaf->user_count, 1) * sizeof(RestUser *));
	rests->users = palloc0(Max(leaf->user_count, 1) * sizeof(RestUser));
	for (int i = 0; i < leaf->user_count; i++)
	{
		leaf->users[i]->number = i;
		rests->users[i].user = leaf->users[i];
		rests->users[i].weight = weight_of(rests, leaf->users[i]);
		rests->users[i].tree = &rests->trees[0];
	}
}

static void
make_entries(YqRestLeaf *rests)
{
	YqClusterQueue *leaf = rests->leaf;

	rests->entries = palloc0(Max(leaf->application_count, 1) * sizeof(YqRestEntry *));
	rests->outside = palloc(Max(leaf->application_count, 1) * sizeof(YqRestEntry *));
	for (int i = 0; i < leaf->demanding_count[rests->requested]; i++)
	{
		YqClusterApplication *application = leaf->demanding[rests->requested][i];
		YqRestEntry *entry;
		RestUser   *user;

		if (!yq_order_is_of_partition(application, rests->label))
			continue;
		entry = yq_rest_entry_make(rests->cluster, application);
		user = user_of(rests, entry);
		entry->next_of_user = user->first;
		user->first = entry;
		user->count++;
		rests->entries[application->number] = entry;
		rests->outside[rests->outside_count++] = entry;
	}
}

YqRestLeaf *
yq_rest_leaf_make(const YqCluster *cluster, YqClusterQueue *leaf, int label, YqSchedulingMode mode)
{
	YqRestLeaf *rests = palloc0(sizeof(YqRestLeaf));

	rests->cluster = cluster;
	rests->leaf = leaf;
	rests->label = label;
	rests->requested = mode == YQ_RESPECT_EXCLUSIVITY ? label : 0;
	rests->mode = mode;
	rests->context = CurrentMemoryContext;
	rests->trees[0].cluster = cluster;
	rests->tree_count = 1;
	make_users(rests);
	make_entries(rests);
	rests->next = leaf->rest_leaves;
	leaf->rest_leaves = rests;
	return rests;
}

YqRestLeaf *
yq_rest_leaf_of(const YqClusterQueue *leaf, int label, YqSchedulingMode mode)
{
	YqRestLeaf *rests = leaf->rest_leaves;

	while (rests != NULL && (rests->label != label || rests->mode != mode))
		rests = rests->next;
	return rests;
}

/* -- walks --------------------------------------------------------------------- */

static YqUserStanding
standing_of(const YqRestLeaf *rests, int tree)
{
	return tree == 0 ? YQ_USER_BELOW_LIMIT : rests->owners[tree]->standing;
}

/* Those for which something was decided come to their places, if they want more. */
static void
put_back(YqRestLeaf *rests)
{
	for (int i = 0; i < rests->outside_count; i++)
	{
		YqRestEntry *entry = rests->outside[i];

		clear(entry, rests->cluster);
		if (yq_order_wants(rests->cluster, entry->application, rests->requested))
			yq_rest_tree_insert(user_of(rests, entry)->tree, entry);
	}
	rests->outside_count = 0;
}

static void
find_next(YqLeafWalk *walk, int tree, const YqClusterApplication *after)
{
	walk->moment.standing = standing_of(walk->rests, tree);
	walk->next[tree] = yq_rest_tree_find(&walk->rests->trees[tree], &walk->moment, after);
}

void
yq_rest_leaf_begin_walk(YqLeafWalk *walk)
{
	YqRestLeaf *rests = walk->rests;
	const YqClusterQueue *leaf = rests->leaf;

	look_at_users(rests);
	put_back(rests);
	for (int i = 0; leaf->asks_for == walk->moment.node && i < leaf->named_count; i++)
	{
		YqRestEntry *entry = rests->entries[leaf->named[i]->number];

		if (entry != NULL)
			wake(entry);
	}
	for (int i = 0; i < rests->tree_count; i++)
		find_next(walk, i, NULL);
}

YqClusterApplication *
yq_rest_leaf_next(YqLeafWalk *walk)
{
	YqRestLeaf *rests = walk->rests;
	YqRestEntry *first = NULL;

	for (int i = 0; i < rests->tree_count; i++)
	{
		YqRestEntry *next = walk->next[i];

		if (next == NULL ||
			(first != NULL && yq_order_compare(rests->cluster, next->application, first->application) > 0))
			continue;
		first = next;
		walk->at = i;
	}
	if (first == NULL)
		return NULL;
	wake(first);
	yq_rest_leaf_count(first->application);
	return first->application;
}

/* Whose user is at his limit gets nothing, unless he has something to give up. */
static bool
may_rest(const YqRestLeaf *rests, const YqRestEntry *entry, const YqRestNotes *notes)
{
	switch (user_of(rests, entry)->standing)
	{
		case YQ_USER_BELOW_LIMIT:
			return !notes->is_of_limits && !notes->is_here && notes->most > 0;
		case YQ_USER_AT_LIMIT:
			return entry->application->reservation_count == 0;
		case YQ_USER_MAY_UNRESERVE:
			break;
	}
	return false;
}

bool
yq_rest_leaf_skip(YqLeafWalk *walk, const YqRestNotes *notes)
{
	YqRestEntry *entry = walk->next[walk->at];
	bool		rests = may_rest(walk->rests, entry, notes);

	if (rests)
		rest(entry, walk->rests, notes, walk->moment.walks);
	find_next(walk, walk->at, entry->application);
	return rests;
}

/* Who is at his limit is not offered anything. */
void
yq_rest_leaf_pass(YqRestLeaf *rests, const YqClusterApplication *before, int64 walks)
{
	for (int i = 0; i < rests->tree_count; i++)
	{
		if (standing_of(rests, i) == YQ_USER_BELOW_LIMIT)
			yq_rest_tree_pass(&rests->trees[i], before, walks);
	}
}

void
yq_rest_leaf_note(YqRestLeaf *rests, const YqClusterApplication *before, int64 walks, YqRestNotes *notes)
{
	int64		amounts[3][YQ_MAX_RESOURCE_TYPES];
	YqRestConditions conditions = {.needed = amounts[0],.room = amounts[1],.too_large = amounts[2]};

	yq_rest_conditions_clear(rests->cluster, &conditions);
	for (int i = 0; i < rests->tree_count; i++)
	{
		if (standing_of(rests, i) == YQ_USER_BELOW_LIMIT)
			yq_rest_tree_add_conditions(&rests->trees[i], before, &conditions);
	}
	if (conditions.until != PG_INT64_MAX)
		notes->most = Min(notes->most, conditions.until - walks);
	for (int i = 0; i < rests->cluster->calculator->types; i++)
		notes->needed[i] = Max(notes->needed[i], conditions.needed[i]);
	if (conditions.has_room)
		yq_rest_note_least(rests->cluster, &notes->has_room, notes->room, conditions.room);
	if (conditions.is_too_small)
		yq_rest_note_least(rests->cluster, &notes->is_too_small, notes->too_large, conditions.too_large);
}

/* -- ending -------------------------------------------------------------------- */

void
yq_rest_leaf_count(YqClusterApplication *application)
{
	for (YqRestLeaf *rests = application->leaf->rest_leaves; rests != NULL; rests = rests->next)
	{
		YqRestEntry *entry = rests->entries[application->number];

		if (entry != NULL)
			count_passed(entry);
	}
}

void
yq_rest_leaf_take_out(YqClusterApplication *application)
{
	for (YqRestLeaf *rests = application->leaf->rest_leaves; rests != NULL; rests = rests->next)
	{
		YqRestEntry *entry = rests->entries[application->number];

		if (entry == NULL || entry->tree == NULL)
			continue;
		count_passed(entry);
		yq_rest_tree_remove(entry);
		rests->outside[rests->outside_count++] = entry;
	}
}

void
yq_rest_leaf_end(YqClusterQueue *leaf)
{
	for (int i = 0; leaf->rest_leaves != NULL && i < leaf->application_count; i++)
		yq_rest_leaf_count(leaf->applications[i]);
	leaf->rest_leaves = NULL;
}
