/*-------------------------------------------------------------------------
 *
 * assign_containers.c
 *	  Assignment of a node's free resources to applications.
 *
 * The scheduler searches queues from the root down.  Among siblings, it first visits the queue that
 * uses the smallest share of its guarantee.  A search assigns or reserves at most one container;
 * then the next search begins.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "miscadmin.h"
#include "scheduler/decide/assign_containers.h"
#include "scheduler/decide/commit_proposal.h"
#include "scheduler/decide/container_allocator.h"
#include "scheduler/decide/fruitless_search.h"
#include "scheduler/state/order.h"

static const int64 nothing[YQ_MAX_RESOURCE_TYPES];

/*
 * Limit on refused proposals in a heartbeat.  Hadoop counts a refused proposal as a
 * container and tries again.  Without a limit on containers, such a heartbeat would never
 * end.
 */
#define MOST_REFUSALS 100

/* A search of the queues for a container that may start or be reserved. */
typedef struct Search
{
	YqCluster  *cluster;
	YqClusterNode *node;
	YqSchedulingMode mode;
	YqSchedulerKey *update;		/* the only key that may be served; NULL: all keys */
	YqProposal	proposal;
} Search;

static bool
is_assignment(YqOutcome outcome)
{
	return outcome == YQ_OUTCOME_ALLOCATED || outcome == YQ_OUTCOME_RESERVED;
}

static void
skip(const Search *search, YqSkip why)
{
	why.mode = search->mode;
	why.node = search->node;
	if (search->update != NULL)
	{
		why.key = search->update;
		why.application = search->update->application;
		why.required = search->update->anywhere.amounts;
	}
	yq_explain(search->cluster, &why);
}

static int
label_wanted(const Search *search)
{
	return search->mode == YQ_RESPECT_EXCLUSIVITY ? search->node->label : 0;
}

static bool
is_of_reach(const Search *search, const YqClusterQueue *queue)
{
	if (search->mode == YQ_RESPECT_EXCLUSIVITY && !queue->ranks[search->node->label].may_use)
		return false;
	return queue->is_demanding[label_wanted(search)];
}

static bool
may_assign(const Search *search, YqClusterQueue *queue, const int64 *unreservable, YqLimits *limits)
{
	const YqCluster *cluster = search->cluster;
	int64		limit[YQ_MAX_RESOURCE_TYPES];
	int64		used[YQ_MAX_RESOURCE_TYPES];

	if (yq_queue_may_assign(cluster, queue, search->node->label, search->mode, unreservable, limits))
		return true;
	yq_queue_set_counted(cluster, queue, search->node->label, used);
	for (int i = 0; i < cluster->calculator->types; i++)
		limit[i] = used[i] + limits->headroom[i];
	skip(search, (YqSkip) {.reason = YQ_SKIP_QUEUE_LIMIT,.queue = queue,.used = used,.limit = limit});
	return false;
}

/* -- leaves ---------------------------------------------------------------- */

/* Does the user's limit allow another container for the application? */
static bool
user_may_assign(const Search *search, YqClusterApplication *application, YqLimits *limits)
{
	YqCluster  *cluster = search->cluster;
	int			label = search->node->label;

	if (yq_user_may_assign(cluster, application, label, search->mode, limits))
		return true;
	skip(search, (YqSkip) {.reason = YQ_SKIP_USER_LIMIT,.queue = application->leaf,.application = application,
		.used = yq_at(cluster, application->user->used, label),
		.limit = yq_user_limit(cluster, application->user, label, search->mode)});
	return false;
}

static YqOutcome
offer(Search *search, YqClusterApplication *application, YqLimits *limits)
{
	if (!user_may_assign(search, application, limits))
		return YQ_OUTCOME_APPLICATION_SKIPPED;
	return yq_allocator_assign(search->cluster, application, search->node, search->mode, limits, &search->proposal);
}

/*
 * Try the applications of a leaf in order.  If "is_checked" is set, the leaf is known to be
 * below its limit.  Otherwise its limit is checked for each application, which may get below
 * the limit by giving up its own reservations.  After the first application without
 * reservations, the limit is not checked again.  If the leaf has no reservations, only
 * applications with demand are tried.
 */
static YqOutcome
assign_in_order(Search *search, YqClusterQueue *leaf, YqLimits *limits, bool is_checked)
{
	YqCluster  *cluster = search->cluster;
	int			wanted = label_wanted(search);
	bool		has_reservations = !yq_amounts_are_none(cluster->calculator, yq_at(cluster, leaf->reserved, 0));
	YqClusterApplication **applications = has_reservations && !is_checked ? leaf->applications : leaf->demanding[wanted];
	int			count = has_reservations && !is_checked ? leaf->application_count : leaf->demanding_count[wanted];

	for (int i = 0; i < count; i++)
	{
		YqClusterApplication *application = applications[i];
		const int64 *reserved = has_reservations ? yq_at(cluster, application->reserved, 0) : nothing;
		YqOutcome	outcome;

		if (!yq_order_is_of_partition(application, search->node->label))
			continue;
		if (!is_checked && !may_assign(search, leaf, reserved, limits))
			return YQ_OUTCOME_NOTHING;
		is_checked = is_checked || !cluster->settings.continues_looking ||
			yq_amounts_are_none(cluster->calculator, reserved);
		if (applications == leaf->applications && !yq_order_wants(cluster, application, wanted))
		{
			(void) user_may_assign(search, application, limits);
			continue;
		}
		outcome = offer(search, application, limits);
		if (outcome != YQ_OUTCOME_APPLICATION_SKIPPED)
			return outcome;
	}
	return YQ_OUTCOME_NOTHING;
}

/*
 * Assign a container to an application that requests the node's label.  The leaf is below
 * its limit, so no application need give up a reservation.
 */
static YqOutcome
assign_below_limit(Search *search, YqClusterQueue *leaf, YqLimits *limits)
{
	YqCluster  *cluster = search->cluster;
	YqOutcome	outcome;

	if (yq_fruitless_search_repeats(cluster, leaf, search->node, limits, &outcome))
		return outcome;
	yq_fruitless_search_begin(cluster, leaf, search->node, limits);
	outcome = assign_in_order(search, leaf, limits, true);
	yq_fruitless_search_end(leaf, outcome);
	return outcome;
}

/*
 * Search a leaf.  A cycle with "explain" reports all users at their limits, even if their
 * applications request nothing.
 */
static YqOutcome
assign_to_leaf(Search *search, YqClusterQueue *leaf, YqLimits *limits)
{
	YqCluster  *cluster = search->cluster;
	bool		is_below;

	yq_cluster_order_leaf(cluster, leaf);
	limits->uses_killable = search->node->killable != NULL &&
		yq_queue_may_use_killable(cluster, leaf, search->node->label);
	if (cluster->explains)
		return assign_in_order(search, leaf, limits, false);
	is_below = yq_queue_may_assign(cluster, leaf, search->node->label, search->mode, nothing, limits);
	if (is_below && search->mode == YQ_RESPECT_EXCLUSIVITY)
		return assign_below_limit(search, leaf, limits);
	if (!is_below && yq_amounts_are_none(cluster->calculator, yq_at(cluster, leaf->reserved, 0)))
		return YQ_OUTCOME_NOTHING;
	yq_fruitless_search_count(leaf);
	return assign_in_order(search, leaf, limits, is_below);
}

/* -- parents --------------------------------------------------------------- */

static YqOutcome assign_to_queue(Search *search, YqClusterQueue *queue, YqLimits *limits);

static YqOutcome
assign_to_children(Search *search, YqClusterQueue *parent, YqLimits *limits)
{
	YqCluster  *cluster = search->cluster;
	int			label = search->node->label;
	YqOutcome	result = YQ_OUTCOME_NOTHING;
	int64		left[YQ_MAX_RESOURCE_TYPES];

	yq_limits_set_left(cluster, parent, label, limits, left);
	for (int i = 0; i < parent->ordered[label]; i++)
	{
		YqClusterQueue *child = parent->order[label][i];
		YqLimits	of_child;
		YqOutcome	outcome;

		CHECK_FOR_INTERRUPTS();
		if (!is_of_reach(search, child))
			continue;
		yq_limits_set_of_child(cluster, child, label, left, &of_child);
		outcome = assign_to_queue(search, child, &of_child);
		if (is_assignment(outcome))
			return outcome;
		if (outcome != YQ_OUTCOME_QUEUE_LIMIT)
			continue;
		result = outcome;
		yq_amounts_add(cluster->calculator, limits->blocked, yq_limits_kept(cluster, child, &of_child));
		yq_limits_set_left(cluster, parent, label, limits, left);
	}
	return result;
}

static bool
parent_may_assign(const Search *search, YqClusterQueue *parent, YqLimits *limits)
{
	const int64 *reserved = yq_at(search->cluster, parent->reserved, 0);
	int64		unreservable[YQ_MAX_RESOURCE_TYPES] = {0};

	/* as in Hadoop, count only reservations in the default partition, and only their memory and cores */
	unreservable[YQ_MEMORY] = reserved[YQ_MEMORY];
	unreservable[YQ_VCORES] = reserved[YQ_VCORES];
	return may_assign(search, parent, unreservable, limits);
}

static YqOutcome
assign_to_parent(Search *search, YqClusterQueue *parent, YqLimits *limits)
{
	if (!parent_may_assign(search, parent, limits))
		return YQ_OUTCOME_NOTHING;
	return assign_to_children(search, parent, limits);
}

static YqOutcome
assign_to_queue(Search *search, YqClusterQueue *queue, YqLimits *limits)
{
	return queue->is_leaf ? assign_to_leaf(search, queue, limits) : assign_to_parent(search, queue, limits);
}

/* -- the node -------------------------------------------------------------- */

/* Has the node less room than the minimum allocation?  As in Hadoop, only a root with children checks this. */
static bool
is_full(const Search *search, const YqClusterQueue *root)
{
	int64		room[YQ_MAX_RESOURCE_TYPES];

	yq_cluster_node_room(search->cluster, search->node, room);
	if (root->is_leaf || yq_amounts_fit_in_by(search->cluster->calculator,
											  search->cluster->hierarchy->settings.minimum_allocation, room))
		return false;
	skip(search, (YqSkip) {.reason = YQ_SKIP_NODE_FULL,.limit = room});
	return true;
}

static YqOutcome
assign_new(Search *search, YqSchedulingMode mode)
{
	YqCluster  *cluster = search->cluster;
	YqClusterQueue *root = cluster->root;
	YqLimits	limits;

	search->mode = mode;
	if (root == NULL || !is_of_reach(search, root) || is_full(search, root))
		return YQ_OUTCOME_NOTHING;
	yq_limits_set(cluster, &limits, cluster->hierarchy->totals[label_wanted(search)]);
	return assign_to_queue(search, root, &limits);
}

/* Assign one container.  Applications that request the node's label come first. */
static YqOutcome
assign_one(Search *search)
{
	YqCluster  *cluster = search->cluster;
	const int64 *minimum = cluster->hierarchy->settings.minimum_allocation;
	int64		room[YQ_MAX_RESOURCE_TYPES];
	YqOutcome	outcome;

	yq_cluster_node_room(cluster, search->node, room);
	if (yq_amounts_available_containers(cluster->calculator, room, minimum) <= 0)
	{
		skip(search, (YqSkip) {.reason = YQ_SKIP_NODE_FULL,.required = minimum,.limit = room});
		return YQ_OUTCOME_NOTHING;
	}
	outcome = assign_new(search, YQ_RESPECT_EXCLUSIVITY);
	if (!is_assignment(outcome) && cluster->shares[search->node->label])
		outcome = assign_new(search, YQ_IGNORE_EXCLUSIVITY);
	return outcome;
}

/* Serve the reservation of a node.  No other container is assigned on a reserved node. */
static int
fulfil_reservation(Search *search)
{
	YqCluster  *cluster = search->cluster;
	YqClusterQueue *leaf = search->node->reservation->key->application->leaf;
	YqLimits	limits;
	YqOutcome	outcome;

	yq_cluster_order_leaf(cluster, leaf);
	yq_limits_set(cluster, &limits, cluster->hierarchy->totals[0]);
	limits.uses_killable = yq_queue_may_use_killable(cluster, leaf, search->node->label);
	yq_fruitless_search_count(leaf);
	outcome = yq_allocator_fulfil(cluster, search->node, &limits, &search->proposal);
	if (!is_assignment(outcome) && outcome != YQ_OUTCOME_RELEASED)
		return 0;
	return yq_commit(cluster, outcome, &search->proposal) && outcome == YQ_OUTCOME_ALLOCATED;
}

/* Counts of a heartbeat so far.  A refused proposal counts as assigned. */
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
	Search		search = {.cluster = cluster,.node = node};
	Heartbeat	heartbeat = {0};

	if (most == 0)
		return 0;
	if (node->reservation != NULL)
		return fulfil_reservation(&search);
	while (!is_finished(&cluster->settings, &heartbeat, most))
	{
		YqOutcome	outcome = assign_one(&search);
		bool		is_accepted;

		if (!is_assignment(outcome))
			break;
		is_accepted = yq_commit(cluster, outcome, &search.proposal);
		if (outcome == YQ_OUTCOME_RESERVED)
			break;
		heartbeat.assigned++;
		heartbeat.started += is_accepted;
		heartbeat.off_switch += search.proposal.locality == YQ_OFF_SWITCH;
	}
	return heartbeat.started;
}

/* -- an update that the application has not requested ------------------------ */

/*
 * Set the limits of a leaf as if a search had visited only the leaf and its ancestors.
 * Returns false if the limit of one of these queues is reached.
 */
static bool
set_limits_on_way(const Search *search, YqClusterQueue *queue, YqLimits *limits)
{
	YqCluster  *cluster = search->cluster;
	int			label = search->node->label;
	YqLimits	of_parent;
	int64		left[YQ_MAX_RESOURCE_TYPES];

	if (search->mode == YQ_RESPECT_EXCLUSIVITY && !queue->ranks[label].may_use)
		return false;
	if (queue->parent == NULL)
		yq_limits_set(cluster, limits, cluster->hierarchy->totals[label_wanted(search)]);
	else
	{
		if (!set_limits_on_way(search, queue->parent, &of_parent))
			return false;
		yq_limits_set_left(cluster, queue->parent, label, &of_parent, left);
		yq_limits_set_of_child(cluster, queue, label, left, limits);
	}
	return queue->is_leaf ? may_assign(search, queue, nothing, limits) : parent_may_assign(search, queue, limits);
}

/* Commit an update.  During the commit, the demand of the update counts as if the application had requested it. */
static bool
commit_update(Search *search)
{
	YqCluster  *cluster = search->cluster;
	const YqSchedulerKey *key = search->update;

	yq_pending_change(cluster, key->application, key->label, key->anywhere.amounts, 1);
	if (yq_commit(cluster, YQ_OUTCOME_ALLOCATED, &search->proposal))
		return true;
	yq_pending_change(cluster, key->application, key->label, key->anywhere.amounts, -1);
	return false;
}

static bool
assign_update(Search *search, YqSchedulingMode mode)
{
	YqClusterApplication *application = search->update->application;
	YqLimits	limits;

	search->mode = mode;
	return set_limits_on_way(search, application->leaf, &limits) &&
		user_may_assign(search, application, &limits) &&
		yq_allocator_update(search->cluster, search->update, search->node, mode, &limits, &search->proposal) &&
		commit_update(search);
}

bool
yq_assign_update(YqCluster *cluster, YqClusterNode *node, YqSchedulerKey *key)
{
	Search		search = {.cluster = cluster,.node = node,.update = key};

	if (node->reservation != NULL)
	{
		skip(&search, (YqSkip) {.reason = YQ_SKIP_RESERVATION,.queue = key->application->leaf});
		return false;
	}
	yq_cluster_order_leaf(cluster, key->application->leaf);
	return assign_update(&search, YQ_RESPECT_EXCLUSIVITY) ||
		(cluster->shares[node->label] && assign_update(&search, YQ_IGNORE_EXCLUSIVITY));
}
