/*-------------------------------------------------------------------------
 *
 * leaf_usage.c
 *	  Counts and usage of the applications and users of a leaf queue, its limits, and
 *	  the limits of its users.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "admission/application/leaf_usage.h"
#include "queues/effective.h"
#include "queues/hierarchy.h"
#include "queues/usage.h"
#include "store/catalog.h"
#include "store/table_scan.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

/* -- leaf usage ---------------------------------------------------------------- */

int
yq_leaf_slot(const YqLeafUsage *leaf, int label)
{
	return label < 0 ? leaf->hierarchy->label_count : label;
}

float4
yq_queue_user_weight(const YqQueue *queue, const char *username)
{
	const YqQueue *owner = queue->weights_from;

	while (owner != NULL)
	{
		for (int i = 0; i < owner->own_weight_count; i++)
		{
			if (strcmp(owner->own_weights[i].username, username) == 0)
				return owner->own_weights[i].weight;
		}
		owner = owner->parent == NULL ? NULL : owner->parent->weights_from;
	}
	return 1;
}

/* -- users ----------------------------------------------------------------- */

/* Return the index of a user in the sorted array, or the index at which the user has to be inserted. */
static int
find_user(const YqLeafUsage *leaf, const char *username, bool *found)
{
	int			low = 0;
	int			high = leaf->user_count;

	*found = false;
	while (low < high)
	{
		int			middle = (low + high) / 2;
		int			order = strcmp(leaf->users[middle]->username, username);

		if (order == 0)
		{
			*found = true;
			return middle;
		}
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

YqLeafUser *
yq_leaf_user(const YqLeafUsage *leaf, const char *username)
{
	bool		found;
	int			place = find_user(leaf, username, &found);

	return found ? leaf->users[place] : NULL;
}

/* Find a user, or add the user to the array.  Users are read in order, so most are appended at the end. */
static YqLeafUser *
enter_user(YqLeafUsage *leaf, const char *username)
{
	bool		found;
	int			place = find_user(leaf, username, &found);
	int			slots = leaf->hierarchy->label_count + 1;
	YqLeafUser *user;

	if (found)
		return leaf->users[place];
	if (leaf->user_count == leaf->user_room)
	{
		leaf->user_room = Max(leaf->user_room * 2, 8);
		leaf->users = leaf->users == NULL ? palloc(sizeof(YqLeafUser *) * leaf->user_room) :
			repalloc_huge(leaf->users, sizeof(YqLeafUser *) * leaf->user_room);
	}
	user = palloc0(sizeof(YqLeafUser));
	user->username = pstrdup(username);
	user->weight = yq_queue_user_weight(leaf->queue, username);
	user->am_used = palloc0(sizeof(int64 *) * slots);
	user->used = palloc0(sizeof(int64 *) * slots);
	memmove(&leaf->users[place + 1], &leaf->users[place],
			sizeof(YqLeafUser *) * (leaf->user_count - place));
	leaf->users[place] = user;
	leaf->user_count++;
	return user;
}

/* Remove a user who has no applications and no containers in the leaf. */
static void
remove_idle_user(YqLeafUsage *leaf, const YqLeafUser *user)
{
	bool		found;
	int			place;

	if (user->non_runnable + user->accepted + user->active > 0)
		return;
	for (int i = 0; i <= leaf->hierarchy->label_count; i++)
	{
		if (user->used[i] != NULL)
			return;
	}
	place = find_user(leaf, user->username, &found);
	leaf->user_count--;
	memmove(&leaf->users[place], &leaf->users[place + 1],
			sizeof(YqLeafUser *) * (leaf->user_count - place));
}

/* Add amounts to a sum, or subtract them: "sign" is 1 or -1. */
static void
add_signed_amounts(const YqLeafUsage *leaf, int64 **sum, const int64 *amounts, int sign)
{
	if (*sum == NULL)
		*sum = yq_hierarchy_amounts(leaf->hierarchy);
	for (int i = 0; i < leaf->hierarchy->calculator.types; i++)
		(*sum)[i] += sign * amounts[i];
}

/* -- applications ---------------------------------------------------------- */

typedef enum CounterColumn
{
	COUNTER_USERNAME,
	COUNTER_LABEL,
	COUNTER_NON_RUNNABLE,
	COUNTER_ACCEPTED,
	COUNTER_ACTIVE,
	COUNTER_DEMANDING,
	COUNTER_AM_USED,
	COUNTER_COLUMNS
} CounterColumn;

static const char *const counter_columns[COUNTER_COLUMNS] = {
	[COUNTER_USERNAME] = "username",
	[COUNTER_LABEL] = "label",
	[COUNTER_NON_RUNNABLE] = "non_runnable",
	[COUNTER_ACCEPTED] = "accepted",
	[COUNTER_ACTIVE] = "active",
	[COUNTER_DEMANDING] = "demanding",
	[COUNTER_AM_USED] = "am_used",
};

static void
read_leaf_counter(const YqRow *row)
{
	YqLeafUsage *leaf = row->argument;
	YqLeafUser *user = enter_user(leaf, yq_row_text(row, COUNTER_USERNAME));
	int			slot = yq_leaf_slot(leaf, yq_hierarchy_label(leaf->hierarchy, yq_row_text(row, COUNTER_LABEL)));
	int			accepted = yq_row_integer(row, COUNTER_ACCEPTED, 0);
	bool		isnull;
	int64	   *am_used = yq_hierarchy_read_amounts(leaf->hierarchy, yq_row_value(row, COUNTER_AM_USED, &isnull));

	user->non_runnable += yq_row_integer(row, COUNTER_NON_RUNNABLE, 0);
	user->accepted += accepted;
	user->active += yq_row_integer(row, COUNTER_ACTIVE, 0);
	user->demanding += yq_row_integer(row, COUNTER_DEMANDING, 0);
	add_signed_amounts(leaf, &user->am_used[slot], am_used, 1);
	leaf->accepted_on[slot] += accepted;
	add_signed_amounts(leaf, &leaf->am_used[slot], am_used, 1);
}

YqLeafUsage *
yq_leaf_read(YqHierarchy *hierarchy, const YqQueue *queue)
{
	YqLeafUsage *leaf = palloc0(sizeof(YqLeafUsage));
	int			slots = hierarchy->label_count + 1;
	Snapshot	snapshot;

	yq_hierarchy_compute(hierarchy);
	leaf->hierarchy = hierarchy;
	leaf->queue = queue;
	leaf->context = CurrentMemoryContext;
	leaf->kept_active_users = -1;
	leaf->accepted_on = palloc0(sizeof(int) * slots);
	leaf->am_used = palloc(sizeof(int64 *) * slots);
	for (int i = 0; i < slots; i++)
		leaf->am_used[i] = yq_hierarchy_amounts(hierarchy);

	snapshot = yq_latest_snapshot();
	yq_table_scan_index(YQ_APPLICATION_COUNTER, "application_counter_pkey", snapshot, queue->path, NULL,
					   counter_columns, COUNTER_COLUMNS, read_leaf_counter, leaf);
	UnregisterSnapshot(snapshot);
	for (int i = 0; i < leaf->user_count; i++)
	{
		leaf->non_runnable += leaf->users[i]->non_runnable;
		leaf->accepted += leaf->users[i]->accepted;
		leaf->active += leaf->users[i]->active;
	}
	return leaf;
}

/* Count an application in the number for its state.  With a negative sign, subtract it. */
static void
count(YqLeafUsage *leaf, YqLeafUser *user, const YqApplication *application,
	  YqApplicationState state, int sign)
{
	int			slot = yq_leaf_slot(leaf, application->label);

	if (yq_application_is_live(state) && application->has_outstanding_requests)
		user->demanding += sign;
	switch (state)
	{
		case YQ_APPLICATION_NON_RUNNABLE:
			user->non_runnable += sign;
			leaf->non_runnable += sign;
			break;
		case YQ_APPLICATION_ACCEPTED:
			user->accepted += sign;
			leaf->accepted += sign;
			leaf->accepted_on[slot] += sign;
			break;
		case YQ_APPLICATION_ACTIVE:
			user->active += sign;
			leaf->active += sign;
			add_signed_amounts(leaf, &user->am_used[slot], application->am_amounts, sign);
			add_signed_amounts(leaf, &leaf->am_used[slot], application->am_amounts, sign);
			break;
		default:
			break;
	}
}

void
yq_leaf_note(YqLeafUsage *leaf, const YqApplication *application,
			 YqApplicationState from, YqApplicationState to)
{
	MemoryContext old_context = MemoryContextSwitchTo(leaf->context);
	YqLeafUser *user = enter_user(leaf, application->username);

	count(leaf, user, application, from, -1);
	count(leaf, user, application, to, 1);
	remove_idle_user(leaf, user);
	MemoryContextSwitchTo(old_context);
}

bool
yq_leaf_user_is_active(const YqLeafUser *user)
{
	return user->demanding > 0;
}

bool
yq_leaf_user_may_be_active(const YqLeafUser *user)
{
	return user != NULL && user->active > 0;
}

int
yq_leaf_user_counts(const YqLeafUser *user)
{
	return (yq_leaf_user_is_active(user) ? 1 : 0) + (user->accepted > 0 && user->active <= 0 ? 1 : 0);
}

int
yq_leaf_active_users(const YqLeafUsage *leaf)
{
	int			result = 0;

	for (int i = 0; i < leaf->user_count; i++)
		result += yq_leaf_user_counts(leaf->users[i]);
	return result;
}

void
yq_leaf_keep_active_users(YqLeafUsage *leaf)
{
	leaf->kept_active_users = yq_leaf_active_users(leaf);
}

/* -- usage ----------------------------------------------------------------- */

static void
note_usage(const YqUsage *usage, void *argument)
{
	YqLeafUsage *leaf = argument;
	MemoryContext old_context;

	if (!usage->is_guaranteed || usage->username == NULL)
		return;
	old_context = MemoryContextSwitchTo(leaf->context);
	add_signed_amounts(leaf, &enter_user(leaf, usage->username)->used[yq_leaf_slot(leaf, usage->label)], usage->amounts, 1);
	MemoryContextSwitchTo(old_context);
}

/* Remove usage that is zero.  A user whose containers have ended is treated like a user who had none. */
static void
forget_ended_usage(YqLeafUsage *leaf)
{
	for (int i = leaf->user_count - 1; i >= 0; i--)
	{
		YqLeafUser *user = leaf->users[i];

		for (int j = 0; j <= leaf->hierarchy->label_count; j++)
		{
			if (user->used[j] != NULL && yq_amounts_are_none(&leaf->hierarchy->calculator, user->used[j]))
				user->used[j] = NULL;
		}
		remove_idle_user(leaf, user);
	}
}

/*
 * Read the usage of GUARANTEED containers and reservations in the leaf, if it has not
 * been read yet.  Usage without a user is not added to any user.
 */
static void
leaf_read_usage(YqLeafUsage *leaf)
{
	if (leaf->has_usage)
		return;
	yq_usage_of_leaf_read(leaf->hierarchy, leaf->queue, note_usage, leaf);
	forget_ended_usage(leaf);
	leaf->has_usage = true;
}

static int64 *
find_am_limit(const YqLeafUsage *leaf)
{
	const YqQueueLabel *label = yq_queue_may_use_label(leaf->queue, 0) ? yq_queue_label(leaf->queue, 0) : NULL;

	if (label == NULL)
		return yq_hierarchy_amounts(leaf->hierarchy);
	yq_hierarchy_read_usage(leaf->hierarchy);
	return yq_queue_am_limit(leaf->hierarchy, label, yq_queue_limit(leaf->hierarchy, leaf->queue));
}

const int64 *
yq_leaf_am_limit(YqLeafUsage *leaf)
{
	MemoryContext old_context;

	if (leaf->am_limit != NULL)
		return leaf->am_limit;
	old_context = MemoryContextSwitchTo(leaf->context);
	leaf->am_limit = find_am_limit(leaf);
	MemoryContextSwitchTo(old_context);
	return leaf->am_limit;
}

/* -- limits for application masters ---------------------------------------- */

static int64 *
part_of(const YqHierarchy *hierarchy, const int64 *amounts, float4 part)
{
	int64	   *result = yq_hierarchy_amounts(hierarchy);

	yq_amounts_multiply_and_normalize_up(&hierarchy->calculator, result, amounts, part,
										 hierarchy->settings.minimum_allocation);
	return result;
}

int64 *
yq_queue_guaranteed_am_limit(const YqHierarchy *hierarchy, const YqQueueLabel *label)
{
	return part_of(hierarchy, label->effective_minimum, label->am_percent);
}

int64 *
yq_queue_am_limit(const YqHierarchy *hierarchy, const YqQueueLabel *label, const int64 *limit)
{
	const YqCalculator *calculator = &hierarchy->calculator;
	int64		most[YQ_MAX_RESOURCE_TYPES];

	/* only the default partition (label 0) has another limit than the guarantee */
	if (label->label != 0)
		return yq_queue_guaranteed_am_limit(hierarchy, label);
	yq_amounts_round_down(calculator, most, label->effective_maximum,
						  hierarchy->settings.minimum_allocation);
	limit = yq_amounts_min(calculator, hierarchy->cluster, most, limit);
	if (!yq_amounts_fit_in_by(calculator, label->effective_minimum, limit))
		return yq_queue_guaranteed_am_limit(hierarchy, label);
	return part_of(hierarchy, limit, label->am_percent);
}

int64 *
yq_user_share_of_am_limit(const YqHierarchy *hierarchy, const YqQueue *queue, const YqQueueLabel *label,
						  float4 weight, int active_users)
{
	float4		share = Max(queue->user_limit / 100.0f, 1.0f / Max(active_users, 1));

	if (queue->user_limit_factor == -1)
		return yq_queue_guaranteed_am_limit(hierarchy, label);
	share = Min(share * weight, 1.0f);
	return part_of(hierarchy, label->effective_minimum,
				   label->am_percent * share * queue->user_limit_factor);
}

int64 *
yq_user_am_limit(const YqHierarchy *hierarchy, const YqQueue *queue, const YqQueueLabel *label,
				 float4 weight, int active_users, const int64 *queue_am_limit)
{
	int64	   *share = yq_user_share_of_am_limit(hierarchy, queue, label, weight, active_users);
	const int64 *least = yq_amounts_min(&hierarchy->calculator, hierarchy->cluster, share, queue_am_limit);

	if (least != share)
		memcpy(share, least, hierarchy->calculator.types * sizeof(int64));
	return share;
}

/* -- user limit ---------------------------------------------------------------- */

/* Compute the limit of a user in a leaf queue, and the headroom that is left below the limit. */

static const int64 nothing[YQ_MAX_RESOURCE_TYPES];

/* Inputs and result of the computation of a user limit, for a leaf and a label. */
typedef struct Computation
{
	const YqQueue *queue;
	const YqCalculator *calculator;
	const YqQueueLabel *configured; /* NULL: the queue has no configuration for the label */
	const int64 *total;			/* resources of all nodes of the partition */
	const int64 *step;			/* minimum allocation */
	const int64 *guarantee;
	const int64 *capacity;		/* the guarantee, or the minimum allocation if the guarantee is smaller */
	YqUserLimit *result;
} Computation;

static int64 *
copy_limit_amounts(const YqHierarchy *hierarchy, const int64 *amounts)
{
	int64	   *result = yq_hierarchy_amounts(hierarchy);

	memcpy(result, amounts, hierarchy->calculator.types * sizeof(int64));
	return result;
}

static void
copy_to_amounts(const YqCalculator *calculator, int64 *result, const int64 *a)
{
	memcpy(result, a, calculator->types * sizeof(int64));
}

static void
set_sum(const YqCalculator *calculator, int64 *result, const int64 *a, const int64 *b)
{
	for (int i = 0; i < calculator->types; i++)
		result[i] = a[i] + b[i];
}

static const int64 *
used_on(const YqLeafUser *user, int label)
{
	return user == NULL || user->used[label] == NULL ? nothing : user->used[label];
}

/* -- the limit ------------------------------------------------------------- */

/*
 * Set the current capacity.  It is the guarantee while less is consumed, and otherwise
 * the consumption plus the minimum allocation.
 */
static void
set_current_capacity(const Computation *computation)
{
	const YqCalculator *calculator = computation->calculator;
	YqUserLimit *result = computation->result;

	yq_amounts_multiply_and_normalize_up(calculator, result->consumed, computation->total,
										 result->usage_ratio, computation->step);
	if (yq_amounts_compare(calculator, computation->total, result->consumed, computation->capacity) < 0)
		copy_to_amounts(calculator, result->current_capacity, computation->capacity);
	else
		set_sum(calculator, result->current_capacity, result->consumed, computation->step);
}

static void
set_shares(const Computation *computation, const int64 *used_by_sharers)
{
	const YqCalculator *calculator = computation->calculator;
	YqUserLimit *result = computation->result;

	if (result->sharers == YQ_ALL_USERS)
		copy_to_amounts(calculator, result->used, result->current_capacity);
	else
		set_sum(calculator, result->used, used_by_sharers, computation->step);
	yq_amounts_divide_and_ceil(calculator, result->share, result->used, result->weights);

	yq_amounts_multiply(calculator, result->minimum_share, result->current_capacity,
						computation->queue->user_limit);
	yq_amounts_divide_by_integer_and_ceil(calculator, result->minimum_share, result->minimum_share, 100);
}

static void
set_most(const Computation *computation, bool ignores_exclusivity)
{
	const YqCalculator *calculator = computation->calculator;
	const YqQueue *queue = computation->queue;
	YqUserLimit *result = computation->result;

	if (ignores_exclusivity)
		copy_to_amounts(calculator, result->most, computation->total);
	/* apply no user-limit-factor if it is switched off, or if the guarantee that it multiplies is zero */
	else if (queue->user_limit_factor == -1 || yq_amounts_are_none(calculator, computation->guarantee))
		yq_amounts_round_down(calculator, result->most,
							  computation->configured == NULL ? nothing : computation->configured->effective_maximum,
							  computation->step);
	else
		yq_amounts_multiply(calculator, result->most, computation->capacity, queue->user_limit_factor);
}

static void
set_limit(const Computation *computation)
{
	const YqCalculator *calculator = computation->calculator;
	YqUserLimit *result = computation->result;
	const int64 *limit = yq_amounts_max(calculator, computation->total, result->share, result->minimum_share);

	limit = yq_amounts_min(calculator, computation->total, limit, result->most);
	yq_amounts_round_up(calculator, result->limit, limit, computation->step);
}

YqUserLimit *
yq_user_limit_create(const YqHierarchy *hierarchy)
{
	YqUserLimit *result = palloc0(sizeof(YqUserLimit));

	result->consumed = yq_hierarchy_amounts(hierarchy);
	result->current_capacity = yq_hierarchy_amounts(hierarchy);
	result->used = yq_hierarchy_amounts(hierarchy);
	result->share = yq_hierarchy_amounts(hierarchy);
	result->minimum_share = yq_hierarchy_amounts(hierarchy);
	result->most = yq_hierarchy_amounts(hierarchy);
	result->limit = yq_hierarchy_amounts(hierarchy);
	return result;
}

void
yq_user_limit_derive(const YqHierarchy *hierarchy, const YqQueue *queue, int label,
					 bool ignores_exclusivity, const int64 *used_by_sharers, YqUserLimit *limit)
{
	Computation computation = {.queue = queue, .calculator = &hierarchy->calculator, .result = limit,
	.step = hierarchy->settings.minimum_allocation, .total = hierarchy->totals[label]};

	computation.configured = yq_queue_label(queue, label);
	computation.guarantee = computation.configured == NULL ? nothing : computation.configured->effective_minimum;
	computation.capacity = yq_amounts_max(computation.calculator, computation.total,
										  computation.guarantee, computation.step);
	set_current_capacity(&computation);
	set_shares(&computation, used_by_sharers);
	set_most(&computation, ignores_exclusivity);
	set_limit(&computation);
}

/* -- sums over users ------------------------------------------------------- */

static void
sum_up_users(const YqLeafUsage *leaf, int label, YqUserLimit *result, int64 *used_by_sharers)
{
	const YqCalculator *calculator = &leaf->hierarchy->calculator;

	for (int i = 0; i < leaf->user_count; i++)
	{
		const YqLeafUser *user = leaf->users[i];
		const int64 *used = used_on(user, label);

		result->usage_ratio += yq_amounts_ratio(calculator, used, leaf->hierarchy->totals[label]);
		if (result->sharers == YQ_ACTIVE_USERS && !yq_leaf_user_is_active(user))
			continue;
		result->users++;
		result->weights += user->weight;
		for (int j = 0; j < calculator->types; j++)
			used_by_sharers[j] += used[j];
	}
}

YqUserLimit *
yq_user_limit_compute(YqLeafUsage *leaf, int label, YqSharers sharers, bool ignores_exclusivity)
{
	YqUserLimit *result = yq_user_limit_create(leaf->hierarchy);
	int64		used_by_sharers[YQ_MAX_RESOURCE_TYPES] = {0};

	leaf_read_usage(leaf);
	result->sharers = sharers;
	sum_up_users(leaf, label, result, used_by_sharers);
	yq_user_limit_derive(leaf->hierarchy, leaf->queue, label, ignores_exclusivity, used_by_sharers, result);
	return result;
}

int64 *
yq_user_limit_for(const YqLeafUsage *leaf, const YqUserLimit *limit, float4 weight)
{
	const YqHierarchy *hierarchy = leaf->hierarchy;
	int64	   *result = yq_hierarchy_amounts(hierarchy);

	yq_amounts_multiply_and_normalize_down(&hierarchy->calculator, result, limit->limit, weight,
										   hierarchy->settings.minimum_allocation);
	return result;
}

bool
yq_user_may_be_assigned(const YqLeafUsage *leaf, const int64 *used, const int64 *limit)
{
	return yq_amounts_compare(&leaf->hierarchy->calculator, leaf->hierarchy->cluster, used, limit) <= 0;
}

/* -- headroom -------------------------------------------------------------- */

/* Subtract "b" from "a".  A negative amount of memory or cores becomes 0. */
static void
subtract_within_zero(const YqHierarchy *hierarchy, int64 *result, const int64 *a, const int64 *b)
{
	for (int i = 0; i < hierarchy->calculator.types; i++)
		result[i] = a[i] - b[i];
	result[YQ_MEMORY] = Max(result[YQ_MEMORY], 0);
	result[YQ_VCORES] = Max(result[YQ_VCORES], 0);
}

/*
 * Return the queue's limit on a label.  In the default partition, it is lowered to the
 * amount that other queues leave.
 */
static int64 *
queue_limit(const YqLeafUsage *leaf, const YqQueueLabel *configured)
{
	const YqHierarchy *hierarchy = leaf->hierarchy;
	int64	   *most = yq_hierarchy_amounts(hierarchy);

	if (configured == NULL)
		return most;
	if (configured->label != 0)
		return copy_limit_amounts(hierarchy, configured->effective_maximum);
	yq_amounts_round_down(&hierarchy->calculator, most, configured->effective_maximum,
						  hierarchy->settings.minimum_allocation);
	return copy_limit_amounts(hierarchy, yq_amounts_min(&hierarchy->calculator, hierarchy->cluster, most,
														yq_queue_limit(hierarchy, leaf->queue)));
}

static void
set_headroom(const YqHierarchy *hierarchy, YqHeadroom *result)
{
	int64		left_to_user[YQ_MAX_RESOURCE_TYPES] = {0};
	int64		left_to_queue[YQ_MAX_RESOURCE_TYPES] = {0};
	const int64 *least;

	subtract_within_zero(hierarchy, left_to_user, result->user_limit, result->user_used);
	subtract_within_zero(hierarchy, left_to_queue, result->queue_limit, result->queue_used);
	for (int i = 0; i < hierarchy->calculator.types; i++)
		left_to_user[i] = Min(left_to_user[i], left_to_queue[i]);
	yq_amounts_round_down(&hierarchy->calculator, left_to_user, left_to_user,
						  hierarchy->settings.minimum_allocation);
	least = yq_amounts_min(&hierarchy->calculator, result->total, result->free, left_to_user);
	result->headroom = copy_limit_amounts(hierarchy, least);
	result->headroom[YQ_MEMORY] = Max(result->headroom[YQ_MEMORY], 0);
}

YqHeadroom *
yq_headroom_compute(YqLeafUsage *leaf, int label, const char *username)
{
	YqHierarchy *hierarchy = leaf->hierarchy;
	YqUserLimit *limit = yq_user_limit_compute(leaf, label, YQ_ACTIVE_USERS, false);
	const YqLeafUser *user = yq_leaf_user(leaf, username);
	const YqQueueLabel *configured = yq_queue_label(leaf->queue, label);
	const YqQueueLabel *of_root = yq_queue_label(hierarchy->root, label);
	const int64 *used = of_root == NULL ? nothing : of_root->used;
	YqHeadroom *result = palloc0(sizeof(YqHeadroom));

	yq_hierarchy_read_usage(hierarchy);
	result->user_limit = yq_user_limit_for(leaf, limit, user == NULL ? 1 : user->weight);
	result->user_used = used_on(user, label);
	result->queue_limit = queue_limit(leaf, configured);
	result->queue_used = configured == NULL ? nothing : configured->used;
	result->total = hierarchy->totals[label];
	result->free = yq_hierarchy_amounts(hierarchy);
	for (int i = 0; i < hierarchy->calculator.types; i++)
		result->free[i] = result->total[i] - used[i];
	set_headroom(hierarchy, result);
	return result;
}
