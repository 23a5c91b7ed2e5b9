/*-------------------------------------------------------------------------
 *
 * container_allocator.c
 *	  Allocation of a node's resources for a container of an application, and notes about
 *	  skipped applications.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "scheduler/decide/container_allocator.h"
#include "scheduler/decide/fruitless_search.h"
#include "scheduler/state/limits.h"
#include "utils/memutils.h"

/* -- explain ------------------------------------------------------------------- */

/* Record which queues and applications are skipped, with the limit that they have reached. */

static const char *const reason_names[YQ_SKIP_REASONS] = {
	[YQ_SKIP_NODE_FULL] = "node_full",
	[YQ_SKIP_QUEUE_LIMIT] = "queue_limit",
	[YQ_SKIP_HEADROOM] = "headroom",
	[YQ_SKIP_USER_LIMIT] = "user_limit",
	[YQ_SKIP_LABEL] = "label",
	[YQ_SKIP_EXCLUSIVITY] = "exclusivity",
	[YQ_SKIP_DEFAULT_FIRST] = "default_partition_first",
	[YQ_SKIP_BLACKLIST] = "blacklist",
	[YQ_SKIP_LOCALITY] = "locality",
	[YQ_SKIP_NODE_TOO_SMALL] = "node_too_small",
	[YQ_SKIP_NODE_SPACE] = "node_space",
	[YQ_SKIP_KILLABLE] = "killable",
	[YQ_SKIP_RESERVATION] = "reserved_container",
	[YQ_SKIP_COMMIT] = "commit",
	[YQ_SKIP_PROJECT] = "no_project",
	[YQ_SKIP_REFUSED] = "refused"
};

const char *
yq_skip_reason_name(YqSkipReason reason)
{
	return reason_names[reason];
}

static const int64 *
copy_amounts(const YqCluster *cluster, const int64 *amounts)
{
	Size		size = cluster->calculator->types * sizeof(int64);

	return amounts == NULL ? NULL : memcpy(MemoryContextAlloc(cluster->context, size), amounts, size);
}

void
yq_explain(YqCluster *cluster, const YqSkip *skip)
{
	YqSkip	   *noted;

	if (!cluster->explains)
		return;
	if (cluster->skip_count == cluster->skip_room)
	{
		cluster->skip_room = Max(64, cluster->skip_room * 2);
		cluster->skips = cluster->skips == NULL ?
			MemoryContextAllocHuge(cluster->context, cluster->skip_room * sizeof(YqSkip)) :
			repalloc_huge(cluster->skips, cluster->skip_room * sizeof(YqSkip));
	}
	noted = &cluster->skips[cluster->skip_count++];
	*noted = *skip;
	noted->required = copy_amounts(cluster, skip->required);
	noted->used = copy_amounts(cluster, skip->used);
	noted->limit = copy_amounts(cluster, skip->limit);
}

/* -- container allocator ------------------------------------------------------- */

/* Outcome of trying a scheduler key on the node. */
typedef enum KeyOutcome
{
	KEY_ALLOCATED,
	KEY_RESERVED,
	KEY_PRIORITY_SKIPPED,		/* continue with the next key */
	KEY_LOCALITY_SKIPPED,		/* continue with the next wider locality */
	KEY_APPLICATION_SKIPPED,
	KEY_QUEUE_SKIPPED
} KeyOutcome;

/* A key that is tried on a node. */
typedef struct Attempt
{
	YqCluster  *cluster;
	YqClusterApplication *application;
	YqSchedulerKey *key;
	YqClusterNode *node;
	YqSchedulingMode mode;
	const YqLimits *limits;
	YqReservation *reservation; /* the reservation to fulfil; NULL: none */
	YqProposal *proposal;
} Attempt;

static const int64 nothing[YQ_MAX_RESOURCE_TYPES];

static KeyOutcome
explain_skip(const Attempt *attempt, KeyOutcome outcome, YqSkip why)
{
	why.mode = attempt->mode;
	why.node = attempt->node;
	why.queue = attempt->application->leaf;
	why.application = attempt->application;
	why.key = attempt->key;
	yq_explain(attempt->cluster, &why);
	return outcome;
}

/*
 * Record why a key is skipped.  The reason (a YqSkip) is evaluated only in cycles with
 * "explain", because most keys are skipped.
 */
#define skip(attempt, outcome, ...) \
	((attempt)->cluster->explains ? explain_skip(attempt, outcome, __VA_ARGS__) : (outcome))

/* -- requested resources --------------------------------------------------- */

static bool
is_outstanding(const YqResourceRequest *request)
{
	return request != NULL && request->count > 0;
}

/* Has the application blacklisted the node?  The container of the application master ignores the blacklist. */
static bool
is_blacklisted(const Attempt *attempt)
{
	const YqClusterApplication *application = attempt->application;

	if (application->waits_for_master)
		return false;
	for (int i = 0; i < application->blacklist_count; i++)
	{
		if (application->blacklist[i] == attempt->node->name_number ||
			application->blacklist[i] == attempt->node->rack_number)
			return true;
	}
	return false;
}

/* -- delays ---------------------------------------------------------------- */

/* Return how many opportunities the key must miss before its container may run on any node. */
static float4
off_switch_delay(const Attempt *attempt)
{
	const YqClusterSettings *settings = &attempt->cluster->settings;
	int64		nodes = attempt->cluster->node_count;
	float4		factor;

	if (settings->rack_locality_additional_delay > -1)
		return Min(nodes, (int64) settings->node_locality_delay + settings->rack_locality_additional_delay);
	factor = (float4) Max(attempt->key->unique_requests - 1, 0) / nodes;
	return Min((float4) nodes, attempt->key->anywhere.count * Min(factor, 1.0f));
}

static bool
has_missed(const Attempt *attempt, float4 delay)
{
	if (delay < attempt->key->opportunities)
		return true;
	(void) skip(attempt, KEY_LOCALITY_SKIPPED,
				(YqSkip) {.reason = YQ_SKIP_LOCALITY,.opportunities = attempt->key->opportunities,.needed = (int64) delay});
	return false;
}

/* May a container of this locality be assigned now, according to delay scheduling? */
static bool
may_be(const Attempt *attempt, YqLocality locality)
{
	const YqClusterSettings *settings = &attempt->cluster->settings;

	if (locality == YQ_OFF_SWITCH)
	{
		if (attempt->reservation != NULL)
			return true;
		if (attempt->cluster->node_count == 0)
			return false;
		/* a key that names no node or rack does not wait */
		return attempt->key->unique_requests == 1 || has_missed(attempt, off_switch_delay(attempt));
	}
	if (!is_outstanding(yq_scheduler_key_request(attempt->key, attempt->node->rack_number)))
		return false;
	if (locality == YQ_RACK_LOCAL)
		return has_missed(attempt, Min(attempt->cluster->node_count, settings->node_locality_delay));
	return is_outstanding(yq_scheduler_key_request(attempt->key, attempt->node->name_number));
}

/* -- reservations ---------------------------------------------------------- */

/*
 * May the key get another container or reservation?  A key whose reservations have often
 * been confirmed may get more reservations than it requests, unless its container is large.
 */
static bool
is_due(const Attempt *attempt, const int64 *amounts)
{
	const YqSchedulerKey *key = attempt->key;
	const YqClusterQueue *leaf = attempt->application->leaf;
	int64		starvation = 0;

	if (key->reservation_count > 0)
	{
		float4		share = yq_amounts_ratio(attempt->cluster->calculator, amounts, leaf->maximum_allocation);
		float4		most = Min(share, leaf->minimum_allocation_factor);

		starvation = (int64) ((key->re_reservations / (float4) key->reservation_count) * (1.0f - most));
	}
	return starvation + key->anywhere.count - key->reservation_count > 0;
}

/* Return the key's first reservation that is large enough. */
static YqReservation *
find_to_unreserve(const Attempt *attempt, const int64 *needed)
{
	for (int i = 0; i < attempt->key->reservation_count; i++)
	{
		YqReservation *reservation = attempt->key->reservations[i];

		if (yq_amounts_fit_in_by(attempt->cluster->calculator, needed, reservation->amounts))
			return reservation;
	}
	return NULL;
}

/* -- a container --------------------------------------------------------- */

static KeyOutcome
propose(const Attempt *attempt, const int64 *amounts, YqLocality locality, YqReservation *swapped,
		KeyOutcome outcome)
{
	YqProposal *proposal = attempt->proposal;

	proposal->key = attempt->key;
	proposal->node = attempt->node;
	proposal->mode = attempt->mode;
	proposal->amounts = amounts;
	proposal->locality = locality;
	proposal->from = attempt->reservation;
	proposal->swapped = swapped;
	return outcome;
}

static KeyOutcome
skip_killable(const Attempt *attempt, const int64 *amounts)
{
	const YqClusterQueue *leaf = attempt->application->leaf;
	int			label = attempt->node->label;

	return skip(attempt, KEY_LOCALITY_SKIPPED,
				(YqSkip) {.reason = YQ_SKIP_KILLABLE,.required = amounts,
		.used = yq_at(attempt->cluster, leaf->used, label),.limit = yq_queue_guarantee(leaf, label)});
}

/*
 * Does the node have room, perhaps after killing some of its killable containers?  Sets the
 * number of containers to kill in the proposal.
 */
static bool
find_room(const Attempt *attempt, const int64 *amounts)
{
	const YqCalculator *calculator = attempt->cluster->calculator;
	const YqKillableContainer *container = attempt->node->killable;
	int64		room[YQ_MAX_RESOURCE_TYPES];
	int			kills = 0;

	attempt->proposal->kills = 0;
	if (yq_amounts_available_containers(calculator, attempt->node->unallocated, amounts) > 0)
		return true;
	memcpy(room, attempt->node->unallocated, calculator->types * sizeof(int64));
	for (bool fits = false; !fits; container = container->next)
	{
		if (container == NULL)
			return false;
		kills++;
		yq_amounts_add(calculator, room, container->amounts);
		fits = yq_amounts_fit_in_by(calculator, amounts, room);
	}
	if (!attempt->limits->uses_killable)
	{
		skip_killable(attempt, amounts);
		return false;
	}
	attempt->proposal->kills = kills;
	return true;
}

/* Is this an update of a container that is killable or has been killed?  Such a container is not enlarged. */
static bool
is_for_killable(const Attempt *attempt)
{
	const YqContainerUpdate *update = attempt->key->update;

	for (int i = 0; update != NULL && i < attempt->cluster->killable_count; i++)
	{
		if (strcmp(attempt->cluster->killable[i].container_id, update->container_id) == 0)
			return true;
	}
	return false;
}

/*
 * Skip a key that must give up a reservation but has no suitable reservation.  The key
 * must give up a reservation because of a limit, or because it has reservations for all
 * containers that it wants.
 */
static KeyOutcome
skip_without_exchange(const Attempt *attempt, const int64 *amounts, bool must_unreserve, const int64 *to_unreserve)
{
	YqCluster  *cluster = attempt->cluster;
	int			label = attempt->node->label;
	YqSkip		why = {.reason = YQ_SKIP_RESERVATION,.required = amounts};

	if (must_unreserve && to_unreserve == attempt->limits->to_unreserve)
	{
		YqClusterUser *user = attempt->application->user;

		why.reason = YQ_SKIP_USER_LIMIT;
		why.used = yq_at(cluster, user->used, label);
		why.limit = yq_user_limit(cluster, user, label, attempt->mode);
	}
	else if (must_unreserve)
	{
		why.reason = YQ_SKIP_HEADROOM;
		why.limit = attempt->limits->headroom;
	}
	else
		why.used = yq_at(cluster, attempt->application->reserved, label);
	return skip(attempt, KEY_LOCALITY_SKIPPED, why);
}

/* Propose a container.  The node has room for the container, perhaps only after kills. */
static KeyOutcome
allocate(const Attempt *attempt, const int64 *amounts, YqLocality locality, bool due, const int64 *to_unreserve)
{
	const YqCluster *cluster = attempt->cluster;
	bool		must_unreserve = yq_amounts_any_above_none(cluster->calculator, to_unreserve);
	YqReservation *swapped;

	if (attempt->reservation != NULL || !cluster->settings.continues_looking || (due && !must_unreserve))
		return propose(attempt, amounts, locality, NULL, KEY_ALLOCATED);
	swapped = find_to_unreserve(attempt, must_unreserve ? to_unreserve : amounts);
	if (swapped == NULL)
		return skip_without_exchange(attempt, amounts, must_unreserve, to_unreserve);
	return propose(attempt, amounts, locality, swapped, KEY_ALLOCATED);
}

/* May the request reserve the node, which has no room for it now? */
static bool
may_reserve(const Attempt *attempt, bool due, const int64 *to_unreserve)
{
	if (attempt->reservation != NULL)
		return true;
	return due && !(attempt->cluster->settings.continues_looking &&
					yq_amounts_any_above_none(attempt->cluster->calculator, to_unreserve));
}

static KeyOutcome
reserve(const Attempt *attempt, const int64 *amounts, YqLocality locality, bool due, const int64 *to_unreserve)
{
	if (!may_reserve(attempt, due, to_unreserve))
		return skip(attempt, KEY_LOCALITY_SKIPPED,
					(YqSkip) {.reason = YQ_SKIP_NODE_SPACE,.required = amounts,
			.limit = attempt->node->unallocated});
	return propose(attempt, amounts, locality, NULL, KEY_RESERVED);
}

/*
 * Propose to allocate or to reserve one container.  A reservation keeps its size, even if
 * the request has changed.
 */
static KeyOutcome
assign_container(const Attempt *attempt, const YqResourceRequest *request, YqLocality locality)
{
	const YqCluster *cluster = attempt->cluster;
	const YqCalculator *calculator = cluster->calculator;
	const int64 *amounts = attempt->reservation != NULL ? attempt->reservation->amounts : request->amounts;
	bool		due = is_due(attempt, amounts);
	int64		missing[YQ_MAX_RESOURCE_TYPES];
	const int64 *to_unreserve;

	for (int i = 0; i < calculator->types; i++)
		missing[i] = amounts[i] - attempt->limits->headroom[i];
	to_unreserve = yq_amounts_max(calculator, cluster->hierarchy->cluster, missing, attempt->limits->to_unreserve);
	if (!yq_amounts_fit_in_by(calculator, amounts, attempt->node->total))
		return skip(attempt, KEY_LOCALITY_SKIPPED,
					(YqSkip) {.reason = YQ_SKIP_NODE_TOO_SMALL,.required = amounts,.limit = attempt->node->total});
	if (is_for_killable(attempt))
		return skip_killable(attempt, amounts);
	if (find_room(attempt, amounts))
		return allocate(attempt, amounts, locality, due, to_unreserve);
	return reserve(attempt, amounts, locality, due, to_unreserve);
}

/* -- a key --------------------------------------------------------------- */

static bool
has_assigned(KeyOutcome outcome)
{
	return outcome == KEY_ALLOCATED || outcome == KEY_RESERVED;
}

/*
 * Try to serve a key, the closest locality first.  If the key does not relax its locality,
 * only the named nodes and racks can serve it.
 */
static KeyOutcome
assign_on_node(const Attempt *attempt)
{
	const YqResourceRequest *requests[] = {
		yq_scheduler_key_request(attempt->key, attempt->node->name_number),
		yq_scheduler_key_request(attempt->key, attempt->node->rack_number),
		&attempt->key->anywhere
	};
	bool		is_closest = true;

	for (int locality = YQ_NODE_LOCAL; locality <= YQ_OFF_SWITCH; locality++)
	{
		KeyOutcome	outcome = KEY_LOCALITY_SKIPPED;

		if (!is_outstanding(requests[locality]))
			continue;
		if (locality != YQ_NODE_LOCAL && !requests[locality]->relaxes_locality)
			return skip(attempt, KEY_PRIORITY_SKIPPED, (YqSkip) {.reason = YQ_SKIP_LOCALITY});
		if (is_closest)
			attempt->proposal->request_locality = locality;
		is_closest = false;
		if (may_be(attempt, locality))
			outcome = assign_container(attempt, requests[locality], locality);
		if (has_assigned(outcome))
			return outcome;
		if (locality == YQ_OFF_SWITCH)
			return KEY_APPLICATION_SKIPPED;
	}
	return KEY_PRIORITY_SKIPPED;
}

/* Does the key fit in the queue's headroom?  Reservations that the application may give up count as headroom. */
static bool
has_headroom(const Attempt *attempt, int64 *headroom)
{
	const YqCluster *cluster = attempt->cluster;
	const int64 *amounts = attempt->key->anywhere.amounts;
	const int64 *reserved = attempt->application->reservation_count != 0 && cluster->settings.continues_looking ?
		yq_at(cluster, attempt->application->reserved, attempt->node->label) : nothing;

	for (int i = 0; i < cluster->calculator->types; i++)
		headroom[i] = attempt->limits->headroom[i] + reserved[i];
	return yq_amounts_fit_in_by(cluster->calculator, amounts, headroom);
}

/*
 * Must the request wait for nodes of the default partition, which serve it first?  It waits
 * until it has missed as many opportunities as the cluster has nodes.
 */
static bool
is_for_default_first(const Attempt *attempt)
{
	YqSchedulerKey *key = attempt->key;

	if (key->label == 0)
	{
		key->missed_non_partitioned++;
		yq_cluster_touch(attempt->cluster, key);
	}
	return attempt->mode == YQ_IGNORE_EXCLUSIVITY && key->missed_non_partitioned < attempt->cluster->node_count;
}

/* Check the conditions that do not depend on localities.  KEY_ALLOCATED means that all conditions are met. */
static KeyOutcome
check(const Attempt *attempt)
{
	const YqSchedulerKey *key = attempt->key;
	const YqClusterSettings *settings = &attempt->cluster->settings;
	int64		headroom[YQ_MAX_RESOURCE_TYPES];

	if (!is_outstanding(&key->anywhere))
		return KEY_PRIORITY_SKIPPED;
	if (attempt->mode == YQ_IGNORE_EXCLUSIVITY && attempt->application->waits_for_master &&
		!settings->shares_with_masters)
		return skip(attempt, KEY_APPLICATION_SKIPPED, (YqSkip) {.reason = YQ_SKIP_EXCLUSIVITY});
	if (key->label != (attempt->mode == YQ_RESPECT_EXCLUSIVITY ? attempt->node->label : 0))
		return skip(attempt, KEY_PRIORITY_SKIPPED, (YqSkip) {.reason = YQ_SKIP_LABEL});
	if (!settings->continues_looking && !is_due(attempt, key->anywhere.amounts))
		return skip(attempt, KEY_PRIORITY_SKIPPED, (YqSkip) {.reason = YQ_SKIP_RESERVATION});
	if (!has_headroom(attempt, headroom))
		return skip(attempt, KEY_QUEUE_SKIPPED,
					(YqSkip) {.reason = YQ_SKIP_HEADROOM,.required = key->anywhere.amounts,.limit = headroom});
	if (is_for_default_first(attempt))
		return skip(attempt, KEY_APPLICATION_SKIPPED,
					(YqSkip) {.reason = YQ_SKIP_DEFAULT_FIRST,.opportunities = key->missed_non_partitioned,
		.needed = attempt->cluster->node_count});
	return KEY_ALLOCATED;
}

/* Reset the delays after an assignment.  The key then waits again for close nodes. */
static void
reset_opportunities(const Attempt *attempt)
{
	YqLocality	locality = attempt->proposal->locality;

	if (locality == YQ_NODE_LOCAL ||
		(locality == YQ_RACK_LOCAL && attempt->cluster->settings.rack_locality_full_reset))
		attempt->key->opportunities = 0;
	if (attempt->node->label == 0)
		attempt->key->missed_non_partitioned = 0;
}

static KeyOutcome
assign_key(const Attempt *attempt)
{
	KeyOutcome	outcome;

	if (is_blacklisted(attempt))
		return skip(attempt, KEY_APPLICATION_SKIPPED, (YqSkip) {.reason = YQ_SKIP_BLACKLIST});
	attempt->key->opportunities++;
	yq_cluster_touch(attempt->cluster, attempt->key);
	outcome = assign_on_node(attempt);
	if (attempt->reservation != NULL)
		return outcome;
	if (outcome == KEY_PRIORITY_SKIPPED)
		attempt->key->opportunities--;
	if (has_assigned(outcome))
		reset_opportunities(attempt);
	return outcome;
}

/* -- the application ------------------------------------------------------- */

static YqOutcome
outcome_of(KeyOutcome outcome)
{
	switch (outcome)
	{
		case KEY_ALLOCATED:
			return YQ_OUTCOME_ALLOCATED;
		case KEY_RESERVED:
			return YQ_OUTCOME_RESERVED;
		case KEY_APPLICATION_SKIPPED:
			return YQ_OUTCOME_APPLICATION_SKIPPED;
		case KEY_QUEUE_SKIPPED:
			return YQ_OUTCOME_QUEUE_LIMIT;
		case KEY_PRIORITY_SKIPPED:
		case KEY_LOCALITY_SKIPPED:
			break;
	}
	return YQ_OUTCOME_NOTHING;
}

YqOutcome
yq_allocator_assign(YqCluster *cluster, YqClusterApplication *application, YqClusterNode *node,
					YqSchedulingMode mode, const YqLimits *limits, YqProposal *proposal)
{
	Attempt		attempt = {.cluster = cluster, .application = application, .node = node, .mode = mode,
	.limits = limits, .proposal = proposal};

	for (int i = yq_cluster_wanted_key(application, 0); i < application->key_count;
		 i = yq_cluster_wanted_key(application, i + 1))
	{
		KeyOutcome	outcome;

		attempt.key = application->keys[i];
		outcome = check(&attempt);
		if (outcome == KEY_ALLOCATED)
		{
			yq_fruitless_search_visit(cluster, attempt.key);
			outcome = assign_key(&attempt);
		}
		if (outcome != KEY_PRIORITY_SKIPPED)
			return outcome_of(outcome);
	}
	return YQ_OUTCOME_APPLICATION_SKIPPED;
}

bool
yq_allocator_update(YqCluster *cluster, YqSchedulerKey *key, YqClusterNode *node, YqSchedulingMode mode,
					const YqLimits *limits, YqProposal *proposal)
{
	Attempt		attempt = {.cluster = cluster, .application = key->application, .key = key, .node = node, .mode = mode,
	.limits = limits, .proposal = proposal};
	KeyOutcome	outcome = check(&attempt);

	if (outcome == KEY_ALLOCATED)
		outcome = assign_key(&attempt);
	if (outcome == KEY_RESERVED)
		(void) skip(&attempt, outcome,
					(YqSkip) {.reason = YQ_SKIP_NODE_SPACE,.required = proposal->amounts,.limit = node->unallocated});
	return outcome == KEY_ALLOCATED;
}

YqOutcome
yq_allocator_fulfil(YqCluster *cluster, YqClusterNode *node, const YqLimits *limits, YqProposal *proposal)
{
	YqSchedulerKey *key = node->reservation->key;
	Attempt		attempt = {.cluster = cluster, .application = key->application, .key = key, .node = node,
	.mode = YQ_RESPECT_EXCLUSIVITY, .limits = limits, .reservation = node->reservation, .proposal = proposal};

	if (!is_outstanding(&key->anywhere))
	{
		propose(&attempt, node->reservation->amounts, YQ_NODE_LOCAL, NULL, KEY_QUEUE_SKIPPED);
		return YQ_OUTCOME_RELEASED;
	}
	return outcome_of(assign_key(&attempt));
}
