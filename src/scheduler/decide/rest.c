/*-------------------------------------------------------------------------
 *
 * rest.c
 *	  Queues that need not be walked again, because nothing would be found again.
 *
 * A leaf may rest on all nodes that nobody in it asks for by name, and also on one
 * that somebody does; a parent rests when all its children with demand do.  Walks
 * that come by a parent are counted there, and handed down to its children when its
 * rest ends.
 *
 * Requests of the default partition are offered by walks for its own nodes and by those
 * for nodes that are shared.  What was found by either may depend on how often both
 * have come by, so they are counted together to tell when it ends.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "scheduler/decide/look.h"
#include "scheduler/decide/rest.h"
#include "utils/memutils.h"

/* A pass over fewer nodes does without an index of the names that are asked for. */
#define LEAST_INDEXED_NODES 16

/* Walks that look at no more applications of a leaf do without trees. */
#define FEW_LOOKS 16

/* What must be left to a queue by its parent for a rest to last. */
typedef enum LeftCondition
{
	LEFT_ANY,
	LEFT_AT_LEAST,
	LEFT_AT_MOST,
	LEFT_SOMETHING,				/* so much that the leaf is looked at */
	LEFT_SAME_LIMIT				/* so much that the limit in force is that one */
} LeftCondition;

typedef struct YqRest
{
	bool		is_valid;
	bool		is_of_children; /* walks are handed down */
	bool		has_kept;
	bool		has_room;
	bool		is_looked_at;	/* of a leaf: walks come as far as its applications */
	LeftCondition condition;
	const YqClusterNode *only_on;	/* NULL: all nodes that nobody in the queue asks for */
	const YqClusterNode *too_small; /* something is larger than this node; NULL: nothing is */
	int64		walks;			/* came by, and are not counted yet */
	int64		until;			/* so many walks were offered the keys that this one is */
	int64		last_walk;		/* number of the last one that came by; 0: none has */
	int64	   *last_left;		/* to the queue, then */
	int64	   *left;			/* of the condition */
	int64	   *kept;			/* for the queue, which a limit stops */
	int64	   *room;			/* as much must not be free */
	int64	   *too_large;		/* as much must not be offered by a larger node */
	YqOfferedKey *keys;			/* of a leaf: what each walk is counted for */
	int			key_count;
	int			key_room;
	YqRestLeaf *applications;	/* which are gone by as well; NULL: none rest apart */
	const YqClusterApplication *before; /* that one; NULL: all */
} YqRest;

/* For walks of one mode. */
typedef struct ModeRest
{
	YqRest		elsewhere;		/* of a parent the only one */
	YqRest		here;			/* of a leaf, on a node that it asks for */
	YqRest	   *relied_on;		/* by the rest of the parent; NULL: on none */
	int64		looks;			/* of a leaf: at more applications than a few, in walks of this pass */
} ModeRest;

/* Of a queue on nodes of one label. */
typedef struct YqQueueRest
{
	ModeRest	modes[2];
	int64		walks;			/* by that offered requests for the label, resting or not */
} YqQueueRest;

struct YqRests
{
	YqRestNames *names;			/* that are asked for; NULL: it is not known */
	YqClusterQueue **rested;	/* queues with rests in this pass */
	int			rested_count;
	YqRestNotes notes;
	YqRestNotes notes_of_application;
	MemoryContext context;		/* of what is known of applications; NULL: nothing is */
};

/* -- passes ---------------------------------------------------------------- */

void
yq_rest_begin_pass(YqCluster *cluster, int node_count)
{
	if (cluster->explains)
		return;
	if (cluster->rests == NULL)
	{
		cluster->rests = MemoryContextAllocZero(cluster->context, sizeof(struct YqRests));
		cluster->rests->rested = MemoryContextAlloc(cluster->context,
													Max(cluster->hierarchy->queue_count, 1) * sizeof(YqClusterQueue *));
	}
	if (node_count >= LEAST_INDEXED_NODES)
		cluster->rests->names = yq_rest_names_make(cluster);
}

void
yq_rest_set_node(YqCluster *cluster, YqClusterNode *node)
{
	if (cluster->rests != NULL && cluster->rests->names != NULL)
		yq_rest_names_mark(cluster, cluster->rests->names, node);
}

/* -- ending ---------------------------------------------------------------- */

static int
label_of_requests(YqSchedulingMode mode, int label)
{
	return mode == YQ_RESPECT_EXCLUSIVITY ? label : 0;
}

static int64 *
copy_amounts(const YqCluster *cluster, int64 *to, const int64 *amounts)
{
	Size		size = sizeof(int64) * cluster->calculator->types;

	if (to == NULL)
		to = MemoryContextAlloc(cluster->context, size);
	return memcpy(to, amounts, size);
}

static void
note_last(const YqCluster *cluster, YqRest *rest, int64 walk, const int64 *left)
{
	rest->last_walk = walk;
	rest->last_left = copy_amounts(cluster, rest->last_left, left);
}

/* Children that rest have had what walks would have left them, one after the other. */
static void
hand_down(const YqCluster *cluster, const YqClusterQueue *parent, YqSchedulingMode mode, int label, const YqRest *rest)
{
	YqLimits	limits;
	int64		left[YQ_MAX_RESOURCE_TYPES];

	yq_limits_set_of_left(cluster, parent, label, rest->last_left, &limits);
	yq_limits_set_left(cluster, parent, label, &limits, left);
	for (int i = 0; i < parent->ordered[label]; i++)
	{
		YqQueueRest *of_child = parent->order[label][i]->rests;
		YqRest	   *child = of_child == NULL ? NULL : of_child[label].modes[mode].relied_on;

		if (child == NULL)
			continue;
		child->walks += rest->walks;
		of_child[label_of_requests(mode, label)].walks += rest->walks;
		note_last(cluster, child, rest->last_walk, left);
		if (!child->has_kept)
			continue;
		yq_amounts_add(cluster->calculator, limits.blocked, child->kept);
		yq_limits_set_left(cluster, parent, label, &limits, left);
	}
}

static void
note_look(const YqCluster *cluster, const YqClusterQueue *leaf, int label, const YqRest *rest)
{
	YqLimits	limits;

	yq_limits_set_of_left(cluster, leaf, label, rest->last_left, &limits);
	yq_look_note(cluster, leaf, rest->last_walk, limits.limit);
}

static void
count_walks(const YqCluster *cluster, YqClusterQueue *queue, YqSchedulingMode mode, int label, YqRest *rest)
{
	if (!rest->is_valid || rest->walks == 0)
		return;
	if (rest->is_of_children)
		hand_down(cluster, queue, mode, label, rest);
	if (rest->is_looked_at)
		note_look(cluster, queue, label, rest);
	if (rest->applications != NULL)
		yq_rest_leaf_pass(rest->applications, rest->before, rest->walks);
	yq_rest_count_keys(rest->keys, rest->key_count, rest->walks);
	rest->walks = 0;
}

static void
end_rest(const YqCluster *cluster, YqClusterQueue *queue, YqSchedulingMode mode, int label, YqRest *rest)
{
	count_walks(cluster, queue, mode, label, rest);
	rest->is_valid = false;
}

static void
end_queue(const YqCluster *cluster, YqClusterQueue *queue, int label)
{
	if (queue->rests == NULL)
		return;
	for (YqSchedulingMode mode = YQ_RESPECT_EXCLUSIVITY; mode <= YQ_IGNORE_EXCLUSIVITY; mode++)
	{
		end_rest(cluster, queue, mode, label, &queue->rests[label].modes[mode].elsewhere);
		end_rest(cluster, queue, mode, label, &queue->rests[label].modes[mode].here);
	}
}

/* From the root down, so that what has been counted above arrives. */
static void
end_above(const YqCluster *cluster, YqClusterQueue *queue)
{
	if (queue->parent != NULL)
		end_above(cluster, queue->parent);
	for (int label = 0; label < cluster->hierarchy->label_count; label++)
		end_queue(cluster, queue, label);
}

void
yq_rest_end(const YqCluster *cluster, YqClusterApplication *application)
{
	if (cluster->rests == NULL)
		return;
	end_above(cluster, application->leaf);
	yq_rest_leaf_take_out(application);
}

/* Count all walks that have offered requests for the label. */
static void
count_offers(const YqCluster *cluster, YqClusterQueue *queue, int requested)
{
	for (YqSchedulingMode mode = YQ_RESPECT_EXCLUSIVITY; mode <= YQ_IGNORE_EXCLUSIVITY; mode++)
	{
		for (int label = 0; label < cluster->hierarchy->label_count; label++)
		{
			if (label_of_requests(mode, label) != requested)
				continue;
			count_walks(cluster, queue, mode, label, &queue->rests[label].modes[mode].elsewhere);
			count_walks(cluster, queue, mode, label, &queue->rests[label].modes[mode].here);
		}
	}
}

/* What a leaf has found for other nodes than one that it asks for holds for these. */
void
yq_rest_interrupt(const YqCluster *cluster, YqClusterQueue *queue, const YqClusterNode *node, YqSchedulingMode mode)
{
	int			requested = label_of_requests(mode, node->label);
	ModeRest   *rests;

	if (cluster->rests == NULL || queue->rests == NULL)
		return;
	count_offers(cluster, queue, requested);
	queue->rests[requested].walks++;
	rests = &queue->rests[node->label].modes[mode];
	rests->here.is_valid = false;
	if (queue->asks_for != node || !queue->is_leaf || queue->rest_leaves != NULL)
		rests->elsewhere.is_valid = false;
}

/* -- the end of a pass ------------------------------------------------------ */

void
yq_rest_end_pass(YqCluster *cluster)
{
	struct YqRests *rests = cluster->rests;

	if (rests == NULL)
		return;
	for (int i = 0; i < rests->rested_count; i++)
		end_above(cluster, rests->rested[i]);
	for (int i = 0; i < rests->rested_count; i++)
	{
		yq_rest_leaf_end(rests->rested[i]);
		rests->rested[i]->has_rested = false;
	}
	if (rests->context != NULL)
		MemoryContextDelete(rests->context);
	/* without an index nobody was found to ask for a node */
	for (int i = 0; rests->names != NULL && i < cluster->hierarchy->queue_count; i++)
		cluster->queues[i].asks_for = NULL;
	if (rests->names != NULL)
		yq_rest_names_free(rests->names);
	if (rests->notes.keys != NULL)
		pfree(rests->notes.keys);
	if (rests->notes_of_application.keys != NULL)
		pfree(rests->notes_of_application.keys);
	pfree(rests->rested);
	pfree(rests);
	cluster->rests = NULL;
}

/* -- resting --------------------------------------------------------------- */

/* The rest that is for the node, or NULL. */
static YqRest *
rest_for(const YqClusterQueue *queue, const YqClusterNode *node, YqSchedulingMode mode)
{
	ModeRest   *rests;

	if (queue->rests == NULL)
		return NULL;
	rests = &queue->rests[node->label].modes[mode];
	if (rests->here.is_valid && rests->here.only_on == node)
		return &rests->here;
	if (!rests->elsewhere.is_valid)
		return NULL;
	if (rests->elsewhere.only_on != NULL ? rests->elsewhere.only_on != node : queue->asks_for == node)
		return NULL;
	return &rests->elsewhere;
}

/* So many more walks find the same. */
static int64
walks_left(const YqRest *rest, const YqClusterQueue *queue, YqSchedulingMode mode, int label)
{
	return rest->until - queue->rests[label_of_requests(mode, label)].walks;
}

/* Is the node, too, too small for what was too large, and is there still no room for the rest? */
static bool
is_as_small(const YqCluster *cluster, const YqRest *rest, const YqClusterNode *node)
{
	if (rest->has_room && yq_amounts_available_containers(cluster->calculator, node->unallocated, rest->room) > 0)
		return false;
	return rest->too_small == NULL ||
		yq_amounts_fit_in_by(cluster->calculator, node->total, rest->too_small->total) ||
		!yq_amounts_fit_in_by(cluster->calculator, rest->too_large, node->total);
}

static bool
is_met(const YqCluster *cluster, const YqClusterQueue *queue, int label, const YqRest *rest, const int64 *left)
{
	int64		limit[YQ_MAX_RESOURCE_TYPES];

	switch (rest->condition)
	{
		case LEFT_ANY:
			break;
		case LEFT_AT_LEAST:
			return yq_amounts_fit_in_by(cluster->calculator, rest->left, left);
		case LEFT_AT_MOST:
			return yq_amounts_fit_in_by(cluster->calculator, left, rest->left);
		case LEFT_SOMETHING:
			yq_limits_in_force(cluster, queue, label, left, limit);
			return yq_amounts_compare(cluster->calculator, cluster->hierarchy->cluster,
									  yq_at(cluster, queue->used, label), limit) < 0;
		case LEFT_SAME_LIMIT:
			yq_limits_in_force(cluster, queue, label, left, limit);
			return yq_amounts_are_equal(cluster->calculator, limit, rest->left);
	}
	return true;
}

bool
yq_rest_lasts(const YqCluster *cluster, YqClusterQueue *queue, const YqClusterNode *node, YqSchedulingMode mode,
			  const int64 *left, const int64 **kept)
{
	YqRest	   *rest = cluster->rests == NULL ? NULL : rest_for(queue, node, mode);

	if (rest == NULL || walks_left(rest, queue, mode, node->label) <= 0 || !is_as_small(cluster, rest, node) ||
		!is_met(cluster, queue, node->label, rest, left))
		return false;
	rest->walks++;
	note_last(cluster, rest, yq_looks_walk(cluster), left);
	queue->rests[label_of_requests(mode, node->label)].walks++;
	*kept = rest->has_kept ? rest->kept : NULL;
	return true;
}

/* -- notes ----------------------------------------------------------------- */

YqRestNotes *
yq_rest_notes(const YqCluster *cluster, YqSchedulingMode mode)
{
	if (cluster->rests == NULL)
		return NULL;
	yq_rest_notes_clear(cluster, &cluster->rests->notes, mode);
	cluster->rests->notes.is_here = cluster->rests->names == NULL;
	return &cluster->rests->notes;
}

YqRestNotes *
yq_rest_notes_of_application(const YqCluster *cluster)
{
	yq_rest_notes_clear(cluster, &cluster->rests->notes_of_application, cluster->rests->notes.mode);
	return &cluster->rests->notes_of_application;
}

/* -- beginning ------------------------------------------------------------- */

static YqQueueRest *
rests_of(const YqCluster *cluster, YqClusterQueue *queue, int label)
{
	if (!queue->has_rested)
		cluster->rests->rested[cluster->rests->rested_count++] = queue;
	queue->has_rested = true;
	if (queue->rests == NULL)
		queue->rests = MemoryContextAllocZero(cluster->context,
											  cluster->hierarchy->label_count * sizeof(YqQueueRest));
	return &queue->rests[label];
}

static void
begin(const YqCluster *cluster, YqClusterQueue *queue, YqSchedulingMode mode, int label, YqRest *rest,
	  const YqClusterNode *only_on, int64 most)
{
	int64		walks = queue->rests[label_of_requests(mode, label)].walks;

	end_rest(cluster, queue, mode, label, rest);
	rest->is_valid = true;
	rest->is_looked_at = queue->is_leaf && queue->look->walk == yq_looks_walk(cluster);
	rest->is_of_children = rest->has_kept = rest->has_room = false;
	rest->condition = LEFT_ANY;
	rest->only_on = only_on;
	rest->too_small = NULL;
	rest->walks = 0;
	rest->until = most == PG_INT64_MAX ? most : walks + most;
	rest->key_count = 0;
	rest->applications = NULL;
}

static void
set_room(const YqCluster *cluster, YqRest *rest, const int64 *room)
{
	rest->has_room = true;
	rest->room = copy_amounts(cluster, rest->room, room);
}

static void
set_too_large(const YqCluster *cluster, YqRest *rest, const YqClusterNode *node, const int64 *too_large)
{
	rest->too_small = node;
	rest->too_large = copy_amounts(cluster, rest->too_large, too_large);
}

static void
set_kept(const YqCluster *cluster, YqRest *rest, const int64 *kept)
{
	rest->has_kept = kept != NULL;
	if (kept != NULL)
		rest->kept = copy_amounts(cluster, rest->kept, kept);
}

static void
set_condition(const YqCluster *cluster, YqRest *rest, LeftCondition condition, const int64 *left)
{
	rest->condition = condition;
	rest->left = copy_amounts(cluster, rest->left, left);
}

static void
set_same_limit(const YqCluster *cluster, const YqClusterQueue *queue, int label, YqRest *rest, const int64 *left)
{
	int64		limit[YQ_MAX_RESOURCE_TYPES];

	yq_limits_in_force(cluster, queue, label, left, limit);
	set_condition(cluster, rest, LEFT_SAME_LIMIT, limit);
}

/*
 * Will a queue to which so much is left pass for one below its limit, whichever of its
 * limits it is compared with?  If so note what its parent must have left for it, of
 * which limits of children are rounded down.  False if not, or if less is left.
 */
static bool
set_at_least(const YqCluster *cluster, const YqClusterQueue *queue, int label, YqRest *rest, const int64 *needed,
			 const int64 *left)
{
	const int64 *used = yq_at(cluster, queue->used, label);
	int64		limit[YQ_MAX_RESOURCE_TYPES];

	for (int i = 0; i < cluster->calculator->types; i++)
		limit[i] = used[i] + needed[i];
	if (yq_amounts_compare(cluster->calculator, cluster->hierarchy->cluster, used, limit) >= 0 ||
		!yq_amounts_fit_in_by(cluster->calculator, limit, queue->maximum[label]))
		return false;
	yq_amounts_round_up(cluster->calculator, limit, limit, cluster->hierarchy->settings.minimum_allocation);
	for (int i = 0; i < cluster->calculator->types; i++)
		limit[i] = Max(limit[i] - used[i], 0);
	if (!yq_amounts_fit_in_by(cluster->calculator, limit, left))
		return false;
	set_condition(cluster, rest, LEFT_AT_LEAST, limit);
	return true;
}

/* The same, of a leaf that is held by its own maximum, however much more is left to it. */
static bool
set_at_least_maximum(const YqCluster *cluster, const YqClusterQueue *leaf, int label, YqRest *rest, const int64 *left)
{
	const int64 *used = yq_at(cluster, leaf->used, label);
	int64		needed[YQ_MAX_RESOURCE_TYPES];

	for (int i = 0; i < cluster->calculator->types; i++)
		needed[i] = leaf->maximum[label][i] - used[i];
	return set_at_least(cluster, leaf, label, rest, needed, left);
}

/*
 * No limit that is enough for what was found below it changes that, unless one stops the
 * leaf: it would not be looked at any more if nothing at all were left.
 */
static void
set_left_to_leaf(const YqCluster *cluster, const YqClusterQueue *leaf, int label, YqRest *rest,
				 const YqRestNotes *notes, const int64 *left)
{
	static const int64 something[YQ_MAX_RESOURCE_TYPES] = {[0 ... YQ_MAX_RESOURCE_TYPES - 1] = 1};
	const int64 *needed = notes->needs_headroom ? notes->needed : something;

	if (!notes->is_of_limits && !rest->has_kept)
	{
		if (set_at_least(cluster, leaf, label, rest, needed, left))
			return;
		if (!notes->needs_headroom)
		{
			rest->condition = LEFT_SOMETHING;
			return;
		}
	}
	if (!set_at_least_maximum(cluster, leaf, label, rest, left))
		set_same_limit(cluster, leaf, label, rest, left);
}

/* Limits on nodes of others are those of the partition: only decisions below a queue come closer to them. */
void
yq_rest_begin_leaf(const YqCluster *cluster, YqClusterQueue *leaf, const YqClusterNode *node, const YqRestNotes *notes,
				   const int64 *left, const int64 *kept)
{
	ModeRest   *rests;
	YqRest	   *rest;

	if (notes == NULL)
		return;
	rests = &rests_of(cluster, leaf, node->label)->modes[notes->mode];
	rest = notes->is_here ? &rests->here : &rests->elsewhere;
	begin(cluster, leaf, notes->mode, node->label, rest, notes->is_here ? node : NULL, notes->most);
	yq_rest_copy_keys(notes, cluster->context, &rest->keys, &rest->key_count, &rest->key_room);
	rest->applications = notes->rests;
	rest->before = notes->before;
	if (notes->has_room)
		set_room(cluster, rest, notes->room);
	if (notes->is_too_small)
		set_too_large(cluster, rest, node, notes->too_large);
	set_kept(cluster, rest, kept);
	if (notes->mode == YQ_IGNORE_EXCLUSIVITY)
		return;
	set_left_to_leaf(cluster, leaf, node->label, rest, notes, left);
}

/* -- walks through leaves --------------------------------------------------- */

bool
yq_rest_begin_walk(const YqCluster *cluster, YqClusterQueue *leaf, const YqClusterNode *node, YqSchedulingMode mode,
				   const int64 *headroom, YqLeafWalk *walk)
{
	walk->rests = yq_rest_leaf_of(leaf, node->label, mode);
	if (walk->rests == NULL)
		return false;
	walk->moment.node = node;
	walk->moment.headroom = headroom;
	walk->moment.walks = leaf->rests[label_of_requests(mode, node->label)].walks - 1;
	yq_rest_leaf_begin_walk(walk);
	return true;
}

static void
begin_leaf(const YqCluster *cluster, YqClusterQueue *leaf, int label, YqSchedulingMode mode)
{
	struct YqRests *rests = cluster->rests;
	MemoryContext caller;

	if (rests->context == NULL)
		rests->context = AllocSetContextCreate(cluster->context, "yquota applications that rest",
											   ALLOCSET_DEFAULT_SIZES);
	caller = MemoryContextSwitchTo(rests->context);
	(void) yq_rest_leaf_make(cluster, leaf, label, mode);
	MemoryContextSwitchTo(caller);
}

void
yq_rest_note_looks(const YqCluster *cluster, YqClusterQueue *leaf, const YqClusterNode *node, YqSchedulingMode mode,
				   int looks)
{
	int			count = leaf->demanding_count[label_of_requests(mode, node->label)];
	ModeRest   *rests;

	if (count <= FEW_LOOKS || cluster->rests == NULL || cluster->rests->names == NULL ||
		yq_rest_leaf_of(leaf, node->label, mode) != NULL)
		return;
	rests = &rests_of(cluster, leaf, node->label)->modes[mode];
	rests->looks = Max(rests->looks + looks - FEW_LOOKS, 0);
	if (rests->looks <= count)
		return;
	rests->looks = 0;
	begin_leaf(cluster, leaf, node->label, mode);
}

void
yq_rest_end_walk(YqLeafWalk *walk, const YqClusterApplication *last, YqRestNotes *notes)
{
	yq_rest_leaf_pass(walk->rests, last, 1);
	if (notes == NULL)
		return;
	notes->rests = walk->rests;
	notes->before = last;
	notes->needs_headroom = true;
	yq_rest_leaf_note(walk->rests, last, walk->moment.walks + 1, notes);
}

/* -- stops and parents ------------------------------------------------------ */

/* By its own maximum; or by what is left to it, and by less; or it depends on what is given up. */
void
yq_rest_begin_stopped(const YqCluster *cluster, YqClusterQueue *queue, const YqClusterNode *node, YqSchedulingMode mode,
					  const int64 *left, bool gives_up)
{
	int			label = node->label;
	YqRest	   *rest;

	if (cluster->rests == NULL)
		return;
	rest = &rests_of(cluster, queue, label)->modes[mode].elsewhere;
	begin(cluster, queue, mode, label, rest, NULL, PG_INT64_MAX);
	if (mode == YQ_IGNORE_EXCLUSIVITY)
		return;
	if (gives_up)
		set_same_limit(cluster, queue, label, rest, left);
	else if (yq_amounts_compare(cluster->calculator, cluster->hierarchy->cluster, yq_at(cluster, queue->used, label),
								queue->maximum[label]) < 0)
		set_condition(cluster, rest, LEFT_AT_MOST, left);
}

/* What the rests of all children come to. */
typedef struct ParentRest
{
	YqSchedulingMode mode;
	bool		is_here;
	LeftCondition condition;
	bool		has_room;
	bool		is_too_small;
	int64		most;
	int64		left[YQ_MAX_RESOURCE_TYPES];	/* to the parent's children, at least */
	int64		blocked[YQ_MAX_RESOURCE_TYPES]; /* kept for children so far */
	int64		room[YQ_MAX_RESOURCE_TYPES];
	int64		too_large[YQ_MAX_RESOURCE_TYPES];
} ParentRest;

/* Children have what is left to the parent without what is kept for those before them. */
static void
rely_on_left(const YqCluster *cluster, const YqRest *rest, ParentRest *of_parent)
{
	if (rest->condition == LEFT_AT_LEAST && of_parent->condition != LEFT_SAME_LIMIT)
	{
		of_parent->condition = LEFT_AT_LEAST;
		for (int i = 0; i < cluster->calculator->types; i++)
			of_parent->left[i] = Max(of_parent->left[i], rest->left[i] + of_parent->blocked[i]);
	}
	else if (rest->condition != LEFT_ANY)
		of_parent->condition = LEFT_SAME_LIMIT;
	if (rest->has_kept)
		yq_amounts_add(cluster->calculator, of_parent->blocked, rest->kept);
}

/* False: the child does not rest. */
static bool
rely_on_child(const YqCluster *cluster, YqClusterQueue *child, const YqClusterNode *node, ParentRest *of_parent)
{
	YqRest	   *rest = rest_for(child, node, of_parent->mode);
	int64		left = rest == NULL ? 0 : walks_left(rest, child, of_parent->mode, node->label);

	if (left <= 0)
		return false;
	child->rests[node->label].modes[of_parent->mode].relied_on = rest;
	of_parent->is_here = of_parent->is_here || rest->only_on != NULL;
	of_parent->most = Min(of_parent->most, rest->until == PG_INT64_MAX ? PG_INT64_MAX : left);
	rely_on_left(cluster, rest, of_parent);
	if (rest->has_room)
		yq_rest_note_least(cluster, &of_parent->has_room, of_parent->room, rest->room);
	if (rest->too_small != NULL)
		yq_rest_note_least(cluster, &of_parent->is_too_small, of_parent->too_large, rest->too_large);
	return true;
}

static void
forget_child(YqClusterQueue *child, YqSchedulingMode mode, int label)
{
	if (child->rests != NULL)
		child->rests[label].modes[mode].relied_on = NULL;
}

static bool
is_of_interest(const YqClusterQueue *child, YqSchedulingMode mode, int label)
{
	if (mode == YQ_RESPECT_EXCLUSIVITY && !child->ranks[label].may_use)
		return false;
	return child->is_demanding[label_of_requests(mode, label)];
}

/* False: one of the children with demand does not rest. */
static bool
rely_on_children(const YqCluster *cluster, YqClusterQueue *parent, const YqClusterNode *node, ParentRest *found)
{
	int			label = node->label;

	for (int i = 0; i < parent->ordered[label]; i++)
	{
		YqClusterQueue *child = parent->order[label][i];

		if (!is_of_interest(child, found->mode, label))
			forget_child(child, found->mode, label);
		else if (!rely_on_child(cluster, child, node, found))
			return false;
	}
	return true;
}

void
yq_rest_begin_parent(const YqCluster *cluster, YqClusterQueue *parent, const YqClusterNode *node, YqSchedulingMode mode,
					 const int64 *left, const int64 *kept)
{
	int			label = node->label;
	ParentRest	found = {.mode = mode,.most = PG_INT64_MAX};
	YqRest	   *rest;

	if (cluster->rests == NULL || !rely_on_children(cluster, parent, node, &found))
		return;
	rest = &rests_of(cluster, parent, label)->modes[mode].elsewhere;
	begin(cluster, parent, mode, label, rest, found.is_here ? node : NULL, found.most);
	rest->is_of_children = true;
	if (found.has_room)
		set_room(cluster, rest, found.room);
	if (found.is_too_small)
		set_too_large(cluster, rest, node, found.too_large);
	set_kept(cluster, rest, kept);
	if (mode == YQ_IGNORE_EXCLUSIVITY)
		return;
	if (found.condition == LEFT_SAME_LIMIT ||
		(found.condition == LEFT_AT_LEAST && !set_at_least(cluster, parent, label, rest, found.left, left)))
		set_same_limit(cluster, parent, label, rest, left);
}
