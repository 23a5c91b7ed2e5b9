/*-------------------------------------------------------------------------
 *
 * commit_proposal.c
 *	  Acceptance or refusal of a proposal of the allocator.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "scheduler/decide/commit_proposal.h"
#include "scheduler/decide/container_allocator.h"
#include "scheduler/decide/fruitless_search.h"
#include "scheduler/state/order.h"
#include "utils/memutils.h"

static const int64 nothing[YQ_MAX_RESOURCE_TYPES];

/* -- accepting ------------------------------------------------------------- */

static bool
refuse(YqCluster *cluster, const YqProposal *proposal, YqClusterQueue *queue,
	   const int64 *used, const int64 *limit)
{
	yq_explain(cluster, &(YqSkip) {.reason = YQ_SKIP_COMMIT,.mode = proposal->mode,.node = proposal->node,
		.queue = queue,.application = proposal->key->application,.key = proposal->key,
		.required = proposal->amounts,.used = used,.limit = limit});
	return false;
}

/* Add the amounts of the containers that will be killed for the proposal. */
static void
add_killed(const YqCluster *cluster, const YqProposal *proposal, int64 *to)
{
	const YqKillableContainer *container = proposal->node->killable;

	for (int i = 0; i < proposal->kills; i++, container = container->next)
		yq_amounts_add(cluster->calculator, to, container->amounts);
}

/*
 * Set "released" to the amounts that the proposal frees by a swap and by kills.  As in
 * Hadoop, amounts that are freed in another queue, or by another user, count as well.
 */
static void
set_released(const YqCluster *cluster, const YqProposal *proposal, int64 *released)
{
	memcpy(released, proposal->swapped == NULL ? nothing : proposal->swapped->amounts,
		   cluster->calculator->types * sizeof(int64));
	add_killed(cluster, proposal, released);
}

/* Is the user within the user's limit?  Amounts that the proposal frees do not count as used. */
static bool
user_accepts(YqCluster *cluster, const YqProposal *proposal, const int64 *released)
{
	YqClusterUser *user = proposal->key->application->user;
	int			label = proposal->node->label;
	const int64 *used = yq_at(cluster, user->used, label);
	const int64 *limit = yq_user_limit(cluster, user, label, proposal->mode);
	int64		remaining[YQ_MAX_RESOURCE_TYPES];

	for (int i = 0; i < cluster->calculator->types; i++)
		remaining[i] = used[i] - released[i];
	if (yq_amounts_compare(cluster->calculator, cluster->hierarchy->cluster, remaining, limit) > 0)
		return refuse(cluster, proposal, user->leaf, remaining, limit);
	return true;
}

static bool
queues_accept(YqCluster *cluster, const YqProposal *proposal, const int64 *released)
{
	int			label = proposal->node->label;
	int64		after[YQ_MAX_RESOURCE_TYPES];

	for (YqClusterQueue *queue = proposal->key->application->leaf; queue != NULL; queue = queue->parent)
	{
		const int64 *used = yq_at(cluster, queue->used, label);
		const int64 *limit = proposal->mode == YQ_RESPECT_EXCLUSIVITY ?
			queue->maximum[label] : cluster->hierarchy->totals[label];

		for (int i = 0; i < cluster->calculator->types; i++)
			after[i] = used[i] + proposal->amounts[i] - released[i];
		if (!yq_amounts_fit_in_by(cluster->calculator, after, limit))
			return refuse(cluster, proposal, queue, used, limit);
	}
	return true;
}

static bool
node_accepts(YqCluster *cluster, const YqProposal *proposal)
{
	int64		room[YQ_MAX_RESOURCE_TYPES];

	memcpy(room, proposal->node->unallocated, cluster->calculator->types * sizeof(int64));
	add_killed(cluster, proposal, room);
	return yq_amounts_fit_in_by(cluster->calculator, proposal->amounts, room) ||
		refuse(cluster, proposal, NULL, NULL, room);
}

/*
 * May the proposal be committed?  If it fulfils a reservation, the limits were checked when
 * the reservation was made.
 */
static bool
is_acceptable(YqCluster *cluster, YqOutcome outcome, const YqProposal *proposal)
{
	int64		released[YQ_MAX_RESOURCE_TYPES];

	if (outcome == YQ_OUTCOME_ALLOCATED && !node_accepts(cluster, proposal))
		return false;
	if (proposal->from != NULL)
		return true;
	set_released(cluster, proposal, released);
	return user_accepts(cluster, proposal, released) && queues_accept(cluster, proposal, released);
}

/* -- applying -------------------------------------------------------------- */

static YqDecision *
decide(YqCluster *cluster, YqDecisionKind kind, const YqProposal *proposal, int64 container,
	   YqReservation *reservation)
{
	if (cluster->decision_count == cluster->decision_room)
	{
		cluster->decision_room = Max(64, cluster->decision_room * 2);
		cluster->decisions = cluster->decisions == NULL ?
			MemoryContextAllocHuge(cluster->context, cluster->decision_room * sizeof(YqDecision)) :
			repalloc_huge(cluster->decisions, cluster->decision_room * sizeof(YqDecision));
	}
	cluster->decisions[cluster->decision_count++] = (YqDecision)
	{
		.kind = kind,
			.key = proposal->key,
			.node = proposal->node,
			.container = container,
			.amounts = proposal->amounts,
			.locality = proposal->locality,
			.request_locality = proposal->request_locality,
			.mode = proposal->mode,
			.is_master = proposal->key->application->waits_for_master && kind != YQ_UNRESERVED,
			.reservation = reservation
	};
	return &cluster->decisions[cluster->decision_count - 1];
}

static void
add(const YqCluster *cluster, int64 *to, const int64 *amounts, int sign)
{
	for (int i = 0; i < cluster->calculator->types; i++)
		to[i] += sign * amounts[i];
}

/* Change the usage of the user, and of the queues up to root. */
static void
change_usage(YqCluster *cluster, YqClusterUser *user, int label, const int64 *amounts, int sign)
{
	for (YqClusterQueue *queue = user->leaf; queue != NULL; queue = queue->parent)
	{
		add(cluster, yq_at(cluster, queue->used, label), amounts, sign);
		yq_order_note_used(cluster, queue, label);
	}
	yq_user_change_usage(cluster, user, label, amounts, sign);
}

/* -- killing --------------------------------------------------------------- */

/*
 * Return the application of a killable container if the order of its leaf depends on usage,
 * otherwise NULL.
 */
static YqClusterApplication *
ordered_application(const YqKillableContainer *container)
{
	const YqClusterQueue *leaf = container->user->leaf;

	for (int i = 0; yq_is_fair(leaf->policy) && i < leaf->application_count; i++)
	{
		if (strcmp(leaf->applications[i]->application_id, container->application_id) == 0)
			return leaf->applications[i];
	}
	return NULL;
}

/* Return the resources of a killed container to its node, queues and user. */
static void
release_killed(YqCluster *cluster, const YqKillableContainer *container)
{
	YqClusterQueue *leaf = container->user->leaf;
	YqClusterApplication *application;

	yq_cluster_order_leaf(cluster, leaf);
	yq_fruitless_search_forget(leaf);
	application = ordered_application(container);
	if (application != NULL)
	{
		yq_order_take_out(cluster, application);
		add(cluster, yq_at(cluster, application->used, container->label), container->amounts, -1);
	}
	change_usage(cluster, container->user, container->label, container->amounts, -1);
	if (application != NULL)
		yq_order_put_back(cluster, application);
	for (YqClusterQueue *queue = leaf; queue != NULL; queue = queue->parent)
		add(cluster, yq_at(cluster, queue->killable, container->label), container->amounts, -1);
	if (container->node != NULL)
		add(cluster, container->node->unallocated, container->amounts, 1);
}

/*
 * Kill a container for a decision.  The container is removed from the list of its node, and
 * appended to the decision's list.
 */
static void
kill_container(YqCluster *cluster, YqDecision *decision, YqKillableContainer *container)
{
	YqKillableContainer **at;

	if (container->node != NULL)
	{
		for (at = &container->node->killable; *at != container;)
			at = &(*at)->next;
		*at = container->next;
	}
	for (at = &decision->killed; *at != NULL;)
		at = &(*at)->next;
	*at = container;
	container->next = NULL;
	container->is_killed = true;
	release_killed(cluster, container);
}

static bool
is_inside(const YqClusterQueue *queue, const YqClusterQueue *parent)
{
	while (queue != NULL && queue != parent)
		queue = queue->parent;
	return queue != NULL;
}

/*
 * Kill killable containers of a parent queue, on any node, until the queue is within its
 * maximum.  A new container may exceed the maximum, because the search counted killable
 * containers as free (AbstractParentQueue.killContainersToEnforceMaxQueueCapacity).
 */
static void
enforce_maximum(YqCluster *cluster, YqDecision *decision, const YqClusterQueue *parent, int label)
{
	for (int i = 0; i < cluster->killable_count; i++)
	{
		YqKillableContainer *container = &cluster->killable[i];

		if (yq_amounts_compare(cluster->calculator, cluster->hierarchy->totals[label],
							   yq_at(cluster, parent->used, label), parent->maximum[label]) <= 0)
			return;
		if (!container->is_killed && container->label == label && is_inside(container->user->leaf, parent))
			kill_container(cluster, decision, container);
	}
}

static void
enforce_maxima(YqCluster *cluster, YqDecision *decision)
{
	for (const YqClusterQueue *parent = decision->key->application->leaf->parent; parent != NULL; parent = parent->parent)
		enforce_maximum(cluster, decision, parent, decision->node->label);
}

/* -- reservations and requests ----------------------------------------------- */

/* Remove a reservation that becomes a container or is released.  Its resources still count as used. */
static void
detach_reservation(YqCluster *cluster, YqReservation *reservation)
{
	YqSchedulerKey *key = reservation->key;
	int			label = reservation->node->label;
	int			at = 0;

	while (key->reservations[at] != reservation)
		at++;
	key->reservation_count--;
	key->application->reservation_count--;
	memmove(key->reservations + at, key->reservations + at + 1,
			(key->reservation_count - at) * sizeof(YqReservation *));
	reservation->node->reservation = NULL;
	key->re_reservations = 0;
	yq_cluster_touch(cluster, key);
	add(cluster, yq_at(cluster, key->application->reserved, label), reservation->amounts, -1);
	for (YqClusterQueue *queue = key->application->leaf; queue != NULL; queue = queue->parent)
		add(cluster, yq_at(cluster, queue->reserved, label), reservation->amounts, -1);
}

static void
release(YqCluster *cluster, YqReservation *reservation)
{
	detach_reservation(cluster, reservation);
	change_usage(cluster, reservation->key->application->user, reservation->node->label, reservation->amounts, -1);
}

static void
serve(YqSchedulerKey *key, YqResourceRequest *request)
{
	if (request == NULL || request->count == 0)
		return;
	request->is_changed = true;
	/* a name whose count is 0 is no longer requested */
	if (--request->count == 0)
		key->unique_requests--;
}

static bool
is_satisfied(YqClusterApplication *application)
{
	return yq_cluster_wanted_key(application, 0) == application->key_count;
}

/* Subtract the container from the counts for any node and, by its locality, for its rack and its node. */
static void
serve_requests(YqCluster *cluster, const YqProposal *proposal)
{
	YqSchedulerKey *key = proposal->key;
	YqClusterApplication *application = key->application;

	if (proposal->locality == YQ_NODE_LOCAL)
		serve(key, yq_scheduler_key_request(key, proposal->node->name_number));
	if (proposal->locality != YQ_OFF_SWITCH)
		serve(key, yq_scheduler_key_request(key, proposal->node->rack_number));
	serve(key, &key->anywhere);
	yq_cluster_touch(cluster, key);
	yq_pending_change(cluster, application, key->label, key->anywhere.amounts, -1);
	for (YqClusterQueue *queue = application->leaf; queue != NULL; queue = queue->parent)
		yq_order_note_demand(cluster, queue, key->label);
	if (key->anywhere.count == 0 && is_satisfied(application))
	{
		application->is_demanding = false;
		if (application->activates_user)
			yq_user_note_satisfied(cluster, application->user);
		application->activates_user = false;
	}
}

static void
start_container(YqCluster *cluster, const YqProposal *proposal)
{
	YqClusterApplication *application = proposal->key->application;
	YqClusterNode *node = proposal->node;
	int64		container = proposal->from != NULL ? proposal->from->container : application->next_container++;
	YqReservation *reservation = proposal->from != NULL ? proposal->from : proposal->swapped;
	YqDecision *decision = decide(cluster, proposal->swapped != NULL ? YQ_SWAPPED : YQ_ALLOCATED, proposal, container,
								  reservation);

	for (int i = 0; i < proposal->kills; i++)
		kill_container(cluster, decision, node->killable);
	application->waits_for_master = false;
	yq_order_take_out(cluster, application);
	if (reservation == NULL)
		change_usage(cluster, application->user, node->label, proposal->amounts, 1);
	else if (proposal->from != NULL)
		detach_reservation(cluster, proposal->from);
	else
	{
		release(cluster, proposal->swapped);
		change_usage(cluster, application->user, node->label, proposal->amounts, 1);
	}
	add(cluster, yq_at(cluster, application->used, node->label), proposal->amounts, 1);
	add(cluster, node->unallocated, proposal->amounts, -1);
	serve_requests(cluster, proposal);
	yq_order_put_back(cluster, application);
	if (proposal->from == NULL)
		enforce_maxima(cluster, decision);
}

static void
reserve(YqCluster *cluster, const YqProposal *proposal)
{
	YqSchedulerKey *key = proposal->key;
	YqClusterApplication *application = key->application;
	YqReservation *reservation;

	yq_cluster_touch(cluster, key);
	if (proposal->from != NULL)
	{
		key->re_reservations++;
		return;
	}
	reservation = yq_cluster_make_reservation(cluster, key, proposal->node, application->next_container++,
											  proposal->amounts);
	change_usage(cluster, application->user, proposal->node->label, proposal->amounts, 1);
	key->re_reservations = 0;
	enforce_maxima(cluster, decide(cluster, YQ_RESERVED, proposal, reservation->container, reservation));
}

/*
 * Does the proposal only confirm the reservation of a node?  Such a proposal increases a
 * counter, which decides whether the key may make another reservation.
 */
static bool
is_reserved_again(const YqCluster *cluster, YqOutcome outcome, const YqProposal *proposal)
{
	return outcome == YQ_OUTCOME_RESERVED && proposal->from != NULL && cluster->settings.continues_looking;
}

bool
yq_commit(YqCluster *cluster, YqOutcome outcome, const YqProposal *proposal)
{
	if (!is_reserved_again(cluster, outcome, proposal))
		yq_fruitless_search_forget(proposal->key->application->leaf);
	if (outcome == YQ_OUTCOME_RELEASED)
	{
		(void) decide(cluster, YQ_UNRESERVED, proposal, proposal->from->container, proposal->from);
		release(cluster, proposal->from);
		return true;
	}
	if (!is_acceptable(cluster, outcome, proposal))
		return false;
	if (outcome == YQ_OUTCOME_ALLOCATED)
		start_container(cluster, proposal);
	else
		reserve(cluster, proposal);
	return true;
}
