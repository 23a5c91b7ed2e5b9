/*-------------------------------------------------------------------------
 *
 * commit_proposal.c
 *	  Accepting or refusing a proposal of the allocator.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "scheduler/decide/commit_proposal.h"
#include "scheduler/decide/explain.h"
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

static const int64 *
released_by(const YqProposal *proposal)
{
	return proposal->swapped == NULL ? nothing : proposal->swapped->amounts;
}

/* The user may have passed his limit only by the reservation that is given up. */
static bool
user_accepts(YqCluster *cluster, const YqProposal *proposal)
{
	YqClusterUser *user = proposal->key->application->user;
	int			label = proposal->node->label;
	const int64 *used = yq_at(cluster, user->used, label);
	const int64 *released = released_by(proposal);
	const int64 *limit = yq_user_limit(cluster, user, label, proposal->mode);
	int64		remaining[YQ_MAX_RESOURCE_TYPES];

	for (int i = 0; i < cluster->calculator->types; i++)
		remaining[i] = used[i] - released[i];
	if (yq_amounts_compare(cluster->calculator, cluster->hierarchy->cluster, remaining, limit) > 0)
		return refuse(cluster, proposal, user->leaf, remaining, limit);
	return true;
}

static bool
queues_accept(YqCluster *cluster, const YqProposal *proposal)
{
	int			label = proposal->node->label;
	const int64 *released = released_by(proposal);
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
	const YqClusterNode *node = proposal->node;

	return yq_amounts_fit_in_by(cluster->calculator, proposal->amounts, node->unallocated) ||
		refuse(cluster, proposal, NULL, NULL, node->unallocated);
}

/* A reservation has passed the limits of its queues and user already. */
static bool
is_acceptable(YqCluster *cluster, YqOutcome outcome, const YqProposal *proposal)
{
	if (outcome == YQ_OUTCOME_ALLOCATED && !node_accepts(cluster, proposal))
		return false;
	return proposal->from != NULL || (user_accepts(cluster, proposal) && queues_accept(cluster, proposal));
}

/* -- applying -------------------------------------------------------------- */

static void
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
}

static void
add(const YqCluster *cluster, int64 *to, const int64 *amounts, int sign)
{
	for (int i = 0; i < cluster->calculator->types; i++)
		to[i] += sign * amounts[i];
}

/* Queues and the user use more, or less. */
static void
change_usage(YqCluster *cluster, YqClusterApplication *application, int label, const int64 *amounts, int sign)
{
	for (YqClusterQueue *queue = application->leaf; queue != NULL; queue = queue->parent)
	{
		add(cluster, yq_at(cluster, queue->used, label), amounts, sign);
		yq_order_note_used(cluster, queue, label);
	}
	yq_user_change_usage(cluster, application->user, label, amounts, sign);
}

/* The reservation is no more; its resources are used as before. */
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
	change_usage(cluster, reservation->key->application, reservation->node->label, reservation->amounts, -1);
}

static void
serve(YqSchedulerKey *key, YqResourceRequest *request)
{
	if (request == NULL || request->count == 0)
		return;
	request->is_changed = true;
	/* a name that nothing more is asked of is not asked for */
	if (--request->count == 0)
		key->unique_requests--;
}

static bool
is_satisfied(YqClusterApplication *application)
{
	return yq_cluster_wanted_key(application, 0) == application->key_count;
}

/* One container less is asked for: where it is, and everywhere that includes it. */
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

	decide(cluster, proposal->swapped != NULL ? YQ_SWAPPED : YQ_ALLOCATED, proposal, container, reservation);
	application->waits_for_master = false;
	yq_order_take_out(cluster, application);
	if (reservation == NULL)
		change_usage(cluster, application, node->label, proposal->amounts, 1);
	else if (proposal->from != NULL)
		detach_reservation(cluster, proposal->from);
	else
	{
		release(cluster, proposal->swapped);
		change_usage(cluster, application, node->label, proposal->amounts, 1);
	}
	add(cluster, yq_at(cluster, application->used, node->label), proposal->amounts, 1);
	add(cluster, node->unallocated, proposal->amounts, -1);
	serve_requests(cluster, proposal);
	yq_order_put_back(cluster, application);
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
	change_usage(cluster, application, proposal->node->label, proposal->amounts, 1);
	key->re_reservations = 0;
	decide(cluster, YQ_RESERVED, proposal, reservation->container, reservation);
}

/* The count of re-reservations decides only whether another reservation is due. */
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
		decide(cluster, YQ_UNRESERVED, proposal, proposal->from->container, proposal->from);
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
