/*-------------------------------------------------------------------------
 *
 * assign.c
 *	  Who gets the free resources of a node.
 *
 * Queues are walked from the root down, the one that has least of its guarantee
 * first; each time one container is assigned, or reserved, and the walk begins
 * again.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "miscadmin.h"
#include "scheduler/decide/assign.h"
#include "scheduler/decide/commit.h"
#include "scheduler/decide/explain.h"
#include "scheduler/decide/look.h"
#include "scheduler/decide/rest.h"
#include "scheduler/state/order.h"

static const int64 nothing[YQ_MAX_RESOURCE_TYPES];

/*
 * Proposals that are refused count as containers in Hadoop, which tries again;
 * without a limit of containers it would not stop.
 */
#define MOST_REFUSALS 100

/* One walk through the queues. */
typedef struct Walk
{
	YqCluster  *cluster;
	YqClusterNode *node;
	YqSchedulingMode mode;
	YqProposal	proposal;
} Walk;

static bool
is_assignment(YqOutcome outcome)
{
	return outcome == YQ_OUTCOME_ALLOCATED || outcome == YQ_OUTCOME_RESERVED;
}

static void
skip(const Walk *walk, YqSkip why)
{
	why.mode = walk->mode;
	why.node = walk->node;
	yq_explain(walk->cluster, &why);
}

static int
label_wanted(const Walk *walk)
{
	return walk->mode == YQ_RESPECT_EXCLUSIVITY ? walk->node->label : 0;
}

static bool
is_of_reach(const Walk *walk, const YqClusterQueue *queue)
{
	if (walk->mode == YQ_RESPECT_EXCLUSIVITY && !queue->ranks[walk->node->label].may_use)
		return false;
	return queue->is_demanding[label_wanted(walk)];
}

static bool
may_assign(const Walk *walk, YqClusterQueue *queue, const int64 *unreservable, YqLimits *limits)
{
	const YqCluster *cluster = walk->cluster;
	int64		limit[YQ_MAX_RESOURCE_TYPES];
	const int64 *used = yq_at(cluster, queue->used, walk->node->label);

	if (yq_queue_may_assign(cluster, queue, walk->node->label, walk->mode, unreservable, limits))
		return true;
	for (int i = 0; i < cluster->calculator->types; i++)
		limit[i] = used[i] + limits->headroom[i];
	skip(walk, (YqSkip) {.reason = YQ_SKIP_QUEUE_LIMIT,.queue = queue,.used = used,.limit = limit});
	return false;
}

/* -- leaves ---------------------------------------------------------------- */

/* Has the user of the application passed his limit? */
static bool
user_may_assign(const Walk *walk, YqClusterApplication *application, YqLimits *limits)
{
	YqCluster  *cluster = walk->cluster;
	int			label = walk->node->label;

	if (yq_user_may_assign(cluster, application, label, walk->mode, limits))
		return true;
	skip(walk, (YqSkip) {.reason = YQ_SKIP_USER_LIMIT,.queue = application->leaf,.application = application,
		.used = yq_at(cluster, application->user->used, label),
		.limit = yq_user_limit(cluster, application->user, label, walk->mode)});
	return false;
}

static YqOutcome
look_at(Walk *walk, YqClusterApplication *application, YqLimits *limits, YqRestNotes *notes)
{
	YqCluster  *cluster = walk->cluster;

	if (!user_may_assign(walk, application, limits))
		return YQ_OUTCOME_APPLICATION_SKIPPED;
	return yq_allocator_assign(cluster, application, walk->node, walk->mode, limits, notes, &walk->proposal);
}

/* A queue may use no more, before anything in it was looked at. */
static void
note_stopped(const Walk *walk, YqClusterQueue *queue, const int64 *unreservable, const int64 *left)
{
	const YqCluster *cluster = walk->cluster;
	bool		gives_up = cluster->settings.continues_looking && !yq_amounts_are_none(cluster->calculator, unreservable);

	yq_rest_begin_stopped(cluster, queue, walk->node, walk->mode, left, gives_up);
}

/*
 * The limit of the queue is looked at for each application until there is one
 * that has reserved nothing: what the others have reserved might be given up.
 * With no reservations at all the first one decides, whether it wants anything or
 * not, and only those that do need to be looked at.
 */
static YqOutcome
assign_in_order(Walk *walk, YqClusterQueue *leaf, const int64 *left, YqLimits *limits, bool is_checked)
{
	YqCluster  *cluster = walk->cluster;
	int			wanted = label_wanted(walk);
	bool		has_reservations = !yq_amounts_are_none(cluster->calculator, yq_at(cluster, leaf->reserved, 0));
	YqClusterApplication **applications = has_reservations && !is_checked ? leaf->applications : leaf->demanding[wanted];
	int			count = has_reservations && !is_checked ? leaf->application_count : leaf->demanding_count[wanted];
	YqRestNotes *notes = yq_rest_notes(cluster, walk->mode);
	bool		is_looked_at = false;

	for (int i = 0; i < count; i++)
	{
		YqClusterApplication *application = applications[i];
		const int64 *reserved = has_reservations ? yq_at(cluster, application->reserved, 0) : nothing;
		YqOutcome	outcome;

		if (!yq_order_is_of_partition(application, walk->node->label))
			continue;
		if (!is_checked && !may_assign(walk, leaf, reserved, limits))
		{
			if (i == 0)
				note_stopped(walk, leaf, reserved, left);
			else
			{
				yq_rest_note_limits(notes);
				yq_rest_begin_leaf(cluster, leaf, walk->node, notes, left, NULL);
			}
			return YQ_OUTCOME_NOTHING;
		}
		if (!is_looked_at)
			yq_look_note(cluster, leaf, yq_looks_walk(cluster), limits->limit);
		is_looked_at = true;
		is_checked = is_checked || !cluster->settings.continues_looking ||
			yq_amounts_are_none(cluster->calculator, reserved);
		if (applications == leaf->applications && !yq_order_wants(cluster, application, wanted))
		{
			(void) user_may_assign(walk, application, limits);
			continue;
		}
		if (leaf->rest_leaves != NULL)
			yq_rest_leaf_count(application);
		outcome = look_at(walk, application, limits, notes);
		if (outcome == YQ_OUTCOME_QUEUE_LIMIT)
			yq_rest_begin_leaf(cluster, leaf, walk->node, notes, left, yq_limits_kept(cluster, leaf, limits));
		if (outcome != YQ_OUTCOME_APPLICATION_SKIPPED)
		{
			yq_rest_note_looks(cluster, leaf, walk->node, walk->mode, i);
			return outcome;
		}
	}
	yq_rest_note_looks(cluster, leaf, walk->node, walk->mode, count);
	yq_rest_begin_leaf(cluster, leaf, walk->node, notes, left, NULL);
	return YQ_OUTCOME_NOTHING;
}

/* The queue is below its limit. */
static YqOutcome
assign_to_awake(Walk *walk, YqClusterQueue *leaf, const int64 *left, YqLimits *limits, YqLeafWalk *awake)
{
	YqCluster  *cluster = walk->cluster;
	YqRestNotes *notes = yq_rest_notes(cluster, walk->mode);
	YqClusterApplication *application;
	YqOutcome	outcome = YQ_OUTCOME_NOTHING;
	const int64 *kept = NULL;

	while ((application = yq_rest_leaf_next(awake)) != NULL)
	{
		YqRestNotes *of_application = yq_rest_notes_of_application(cluster);

		outcome = look_at(walk, application, limits, of_application);
		if (outcome != YQ_OUTCOME_APPLICATION_SKIPPED)
		{
			yq_rest_add_notes(cluster, notes, of_application);
			break;
		}
		outcome = YQ_OUTCOME_NOTHING;
		if (!yq_rest_leaf_skip(awake, of_application))
			yq_rest_add_notes(cluster, notes, of_application);
	}
	yq_rest_end_walk(awake, application, is_assignment(outcome) ? NULL : notes);
	if (is_assignment(outcome))
		return outcome;
	if (outcome == YQ_OUTCOME_QUEUE_LIMIT)
		kept = yq_limits_kept(cluster, leaf, limits);
	yq_rest_begin_leaf(cluster, leaf, walk->node, notes, left, kept);
	return outcome;
}

/* An explaining pass tells of all whose users are at their limits, whether they want anything or not. */
static YqOutcome
assign_to_leaf(Walk *walk, YqClusterQueue *leaf, const int64 *left, YqLimits *limits)
{
	YqCluster  *cluster = walk->cluster;
	bool		is_checked = false;
	YqLeafWalk	awake;

	yq_cluster_order_leaf(cluster, leaf);
	yq_order_give_places(cluster, leaf);
	if (!cluster->explains && (leaf->rest_leaves != NULL ||
							   !yq_amounts_are_none(cluster->calculator, yq_at(cluster, leaf->reserved, 0))))
		is_checked = yq_queue_may_assign(cluster, leaf, walk->node->label, walk->mode, nothing, limits);
	if (is_checked && yq_rest_begin_walk(cluster, leaf, walk->node, walk->mode, limits->headroom, &awake))
	{
		yq_look_note(cluster, leaf, yq_looks_walk(cluster), limits->limit);
		return assign_to_awake(walk, leaf, left, limits, &awake);
	}
	return assign_in_order(walk, leaf, left, limits, is_checked);
}

/* -- parents --------------------------------------------------------------- */

static YqOutcome assign_to_queue(Walk *walk, YqClusterQueue *queue, const int64 *left, YqLimits *limits);

/*
 * Does a queue to which so much is left get nothing, as walks have found?  Then *kept is what
 * is kept for it because it may not use as much as it wants; NULL: nothing.
 */
static bool
rests(const Walk *walk, YqClusterQueue *queue, const int64 *left, const int64 **kept)
{
	if (yq_rest_lasts(walk->cluster, queue, walk->node, walk->mode, left, kept))
		return true;
	yq_rest_interrupt(walk->cluster, queue, walk->node, walk->mode);
	return false;
}

/* What a child gets of what its parent has left. */
static YqOutcome
assign_to_child(Walk *walk, YqClusterQueue *child, const int64 *left, YqLimits *of_child, const int64 **kept)
{
	YqOutcome	outcome;

	*kept = NULL;
	if (!is_of_reach(walk, child))
		return YQ_OUTCOME_NOTHING;
	if (rests(walk, child, left, kept))
		return *kept == NULL ? YQ_OUTCOME_NOTHING : YQ_OUTCOME_QUEUE_LIMIT;
	yq_limits_set_of_child(walk->cluster, child, walk->node->label, left, of_child);
	outcome = assign_to_queue(walk, child, left, of_child);
	if (outcome == YQ_OUTCOME_QUEUE_LIMIT)
		*kept = yq_limits_kept(walk->cluster, child, of_child);
	return outcome;
}

static YqOutcome
assign_to_children(Walk *walk, YqClusterQueue *parent, const int64 *left_to_parent, YqLimits *limits)
{
	int			label = walk->node->label;
	YqOutcome	result = YQ_OUTCOME_NOTHING;
	int64		left[YQ_MAX_RESOURCE_TYPES];

	yq_limits_set_left(walk->cluster, parent, label, limits, left);
	for (int i = 0; i < parent->ordered[label]; i++)
	{
		YqLimits	of_child;
		const int64 *kept;
		YqOutcome	outcome;

		CHECK_FOR_INTERRUPTS();
		outcome = assign_to_child(walk, parent->order[label][i], left, &of_child, &kept);
		if (is_assignment(outcome))
			return outcome;
		if (outcome != YQ_OUTCOME_QUEUE_LIMIT)
			continue;
		result = outcome;
		yq_amounts_add(walk->cluster->calculator, limits->blocked, kept);
		yq_limits_set_left(walk->cluster, parent, label, limits, left);
	}
	yq_rest_begin_parent(walk->cluster, parent, walk->node, walk->mode, left_to_parent,
						 result == YQ_OUTCOME_QUEUE_LIMIT ? yq_limits_kept(walk->cluster, parent, limits) : NULL);
	return result;
}

static YqOutcome
assign_to_parent(Walk *walk, YqClusterQueue *parent, const int64 *left, YqLimits *limits)
{
	const int64 *reserved = yq_at(walk->cluster, parent->reserved, 0);
	int64		unreservable[YQ_MAX_RESOURCE_TYPES] = {0};

	/* Hadoop takes it from figures that know memory and cores of the default partition */
	unreservable[YQ_MEMORY] = reserved[YQ_MEMORY];
	unreservable[YQ_VCORES] = reserved[YQ_VCORES];
	if (may_assign(walk, parent, unreservable, limits))
		return assign_to_children(walk, parent, left, limits);
	note_stopped(walk, parent, unreservable, left);
	return YQ_OUTCOME_NOTHING;
}

static YqOutcome
assign_to_queue(Walk *walk, YqClusterQueue *queue, const int64 *left, YqLimits *limits)
{
	return queue->is_leaf ? assign_to_leaf(walk, queue, left, limits) : assign_to_parent(walk, queue, left, limits);
}

/* -- the node -------------------------------------------------------------- */

/* Parents look whether there is room for anything, leaves do not. */
static bool
is_full(const Walk *walk, const YqClusterQueue *root)
{
	if (root->is_leaf || yq_amounts_fit_in_by(walk->cluster->calculator,
											  walk->cluster->hierarchy->settings.minimum_allocation,
											  walk->node->unallocated))
		return false;
	skip(walk, (YqSkip) {.reason = YQ_SKIP_NODE_FULL,.limit = walk->node->unallocated});
	return true;
}

static YqOutcome
assign_new(Walk *walk, YqSchedulingMode mode)
{
	YqCluster  *cluster = walk->cluster;
	YqClusterQueue *root = cluster->root;
	const int64 *limit = cluster->hierarchy->totals[mode == YQ_RESPECT_EXCLUSIVITY ? walk->node->label : 0];
	int64		left[YQ_MAX_RESOURCE_TYPES];
	const int64 *kept;
	YqLimits	limits;

	walk->mode = mode;
	yq_looks_begin_walk(cluster);
	if (root == NULL || !is_of_reach(walk, root) || is_full(walk, root))
		return YQ_OUTCOME_NOTHING;
	for (int i = 0; i < cluster->calculator->types; i++)
		left[i] = limit[i] - yq_at(cluster, root->used, walk->node->label)[i];
	if (rests(walk, root, left, &kept))
		return YQ_OUTCOME_NOTHING;
	yq_limits_set(cluster, &limits, limit);
	return assign_to_queue(walk, root, left, &limits);
}

/* One container: first for those who ask for the node's label. */
static YqOutcome
assign_one(Walk *walk)
{
	YqCluster  *cluster = walk->cluster;
	const int64 *minimum = cluster->hierarchy->settings.minimum_allocation;
	YqOutcome	outcome;

	if (yq_amounts_available_containers(cluster->calculator, walk->node->unallocated, minimum) <= 0)
	{
		skip(walk, (YqSkip) {.reason = YQ_SKIP_NODE_FULL,.required = minimum,.limit = walk->node->unallocated});
		return YQ_OUTCOME_NOTHING;
	}
	outcome = assign_new(walk, YQ_RESPECT_EXCLUSIVITY);
	if (!is_assignment(outcome) && cluster->shares[walk->node->label])
		outcome = assign_new(walk, YQ_IGNORE_EXCLUSIVITY);
	return outcome;
}

/* Nothing else is assigned on a reserved node. */
static int
fulfil_reservation(Walk *walk)
{
	YqCluster  *cluster = walk->cluster;
	YqClusterQueue *leaf = walk->node->reservation->key->application->leaf;
	YqLimits	limits;
	YqOutcome	outcome;

	yq_cluster_order_leaf(cluster, leaf);
	yq_rest_end(cluster, walk->node->reservation->key->application);
	yq_limits_set(cluster, &limits, cluster->hierarchy->totals[0]);
	outcome = yq_allocator_fulfil(cluster, walk->node, &limits, &walk->proposal);
	if (!is_assignment(outcome) && outcome != YQ_OUTCOME_RELEASED)
		return 0;
	return yq_commit(cluster, outcome, &walk->proposal) && outcome == YQ_OUTCOME_ALLOCATED;
}

/* What a heartbeat has come to so far; refused proposals count as assigned. */
typedef struct Heartbeat
{
	int			started;
	int			assigned;
	int			off_switch;
} Heartbeat;

static bool
is_finished(const YqClusterSettings *settings, const Heartbeat *heartbeat, int most)
{
	int			limit = settings->maximum_containers;

	if (most >= 0 && heartbeat->started >= most)
		return true;
	if (heartbeat->assigned == 0)
		return false;
	if (limit == -1 && heartbeat->assigned - heartbeat->started >= MOST_REFUSALS)
		return true;
	return !settings->assigns_multiple || heartbeat->off_switch >= Max(settings->maximum_off_switch, 1) ||
		(limit != -1 && heartbeat->assigned >= limit);
}

int
yq_assign_node(YqCluster *cluster, YqClusterNode *node, int most)
{
	Walk		walk = {.cluster = cluster,.node = node};
	Heartbeat	heartbeat = {0};

	if (most == 0)
		return 0;
	if (node->reservation != NULL)
		return fulfil_reservation(&walk);
	yq_rest_set_node(cluster, node);
	while (!is_finished(&cluster->settings, &heartbeat, most))
	{
		YqOutcome	outcome = assign_one(&walk);
		bool		is_accepted;

		if (!is_assignment(outcome))
			break;
		is_accepted = yq_commit(cluster, outcome, &walk.proposal);
		if (outcome == YQ_OUTCOME_RESERVED)
			break;
		heartbeat.assigned++;
		heartbeat.started += is_accepted;
		heartbeat.off_switch += walk.proposal.locality == YQ_OFF_SWITCH;
	}
	return heartbeat.started;
}
