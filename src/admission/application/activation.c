/*-------------------------------------------------------------------------
 *
 * activation.c
 *	  Activation of the waiting applications of a leaf queue that may start their
 *	  application masters.
 *
 * The limit for application masters depends on the usage of other queues.  It is never
 * below a limit that is computed from the guarantee alone.  The usage is therefore read
 * only if the lower limit does not suffice, which is rare.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "admission/application/activation.h"
#include "miscadmin.h"
#include "queues/text.h"

static const int64 nothing[YQ_MAX_RESOURCE_TYPES];

/* Limits on the resources of application masters, for one label. */
typedef struct LabelLimits
{
	const YqQueueLabel *label;	/* NULL: the queue has no configuration for the label */
	const int64 *of_queue;
	bool		is_exact;		/* false: the limit of_queue was computed from the guarantee alone and may be too low */
	const int64 *of_user;		/* limit of the user who was checked first; NULL: no user has been checked yet */
	float4		weight_of_user; /* weight of the user for whom of_user was computed */
	bool		is_user_exact;	/* false: of_user was computed from an inexact of_queue and may be too low */
} LabelLimits;

typedef struct Round
{
	YqLeafUsage *leaf;
	const YqCalculator *calculator;
	LabelLimits *limits;		/* limits per label, indexed like the arrays of YqLeafUsage */
	int			active_users;
} Round;

/* -- limits ---------------------------------------------------------------- */

static void
begin_round(Round *round, YqLeafUsage *leaf)
{
	const YqHierarchy *hierarchy = leaf->hierarchy;

	round->leaf = leaf;
	round->calculator = &hierarchy->calculator;
	round->limits = palloc0(sizeof(LabelLimits) * (hierarchy->label_count + 1));
	round->active_users = leaf->kept_active_users >= 0 ? leaf->kept_active_users : yq_leaf_active_users(leaf);
	for (int i = 0; i <= hierarchy->label_count; i++)
	{
		LabelLimits *limits = &round->limits[i];

		limits->label = i < hierarchy->label_count && yq_queue_may_use_label(leaf->queue, i) ?
			yq_queue_label(leaf->queue, i) : NULL;
		limits->of_queue = limits->label == NULL ? nothing :
			yq_queue_guaranteed_am_limit(hierarchy, limits->label);
		limits->is_exact = i != 0 || limits->label == NULL;
	}
}

/* Read the usage of other queues, and compute the exact limit of the queue in the default partition. */
static void
make_exact(Round *round, LabelLimits *limits)
{
	if (limits->is_exact)
		return;
	limits->of_queue = yq_leaf_am_limit(round->leaf);
	limits->is_exact = true;
}

static void
set_user_limit(Round *round, LabelLimits *limits)
{
	limits->is_user_exact = limits->is_exact;
	limits->of_user = limits->label == NULL ? nothing :
		yq_user_am_limit(round->leaf->hierarchy, round->leaf->queue, limits->label, limits->weight_of_user,
						 round->active_users, limits->of_queue);
}

/*
 * Return the limit of a user, computed from the queue's present limit, which may be inexact.  The
 * limit is computed for the first user who is checked, and then used for all users.
 */
static const int64 *
user_limit(Round *round, LabelLimits *limits, const char *username)
{
	if (limits->of_user == NULL)
	{
		limits->weight_of_user = yq_queue_user_weight(round->leaf->queue, username);
		set_user_limit(round, limits);
	}
	return limits->of_user;
}

/*
 * Make the user's limit exact, and return whether it may have risen.  The limit is the smaller of
 * the user's share and the queue's limit.  If the share does not exceed the queue's limit from the
 * guarantee alone, the user's limit is exact already.
 */
static bool
make_user_limit_exact(Round *round, LabelLimits *limits)
{
	const YqHierarchy *hierarchy = round->leaf->hierarchy;

	if (limits->is_user_exact)
		return false;
	limits->is_user_exact = !limits->is_exact &&
		yq_amounts_compare(round->calculator, hierarchy->cluster,
						   yq_user_share_of_am_limit(hierarchy, round->leaf->queue, limits->label,
													 limits->weight_of_user, round->active_users),
						   limits->of_queue) <= 0;
	if (limits->is_user_exact)
		return false;
	make_exact(round, limits);
	set_user_limit(round, limits);
	return true;
}

/* -- applications ---------------------------------------------------------- */

/*
 * Is the application master the first in the queue, or the first on its label?  No
 * limit applies to such a master.
 */
static bool
is_first(const Round *round, int slot)
{
	return round->leaf->active < 1 ||
		yq_amounts_compare(round->calculator, round->leaf->hierarchy->cluster,
						   round->leaf->am_used[slot], nothing) <= 0;
}

static bool
fits(const Round *round, const int64 *used, const int64 *amounts, const int64 *limit)
{
	int64		sum[YQ_MAX_RESOURCE_TYPES];

	for (int i = 0; i < round->calculator->types; i++)
		sum[i] = used[i] + amounts[i];
	return yq_amounts_fit_in_by(round->calculator, sum, limit);
}

static bool
fits_in_queue(Round *round, int slot, const int64 *amounts)
{
	LabelLimits *limits = &round->limits[slot];
	const int64 *used = round->leaf->am_used[slot];

	if (fits(round, used, amounts, limits->of_queue))
		return true;
	if (limits->is_exact)
		return false;
	make_exact(round, limits);
	return fits(round, used, amounts, limits->of_queue);
}

static const int64 *
used_by(const Round *round, const char *username, int slot)
{
	const YqLeafUser *user = yq_leaf_user(round->leaf, username);

	return user == NULL || user->am_used[slot] == NULL ? nothing : user->am_used[slot];
}

static bool
fits_user(Round *round, int slot, const char *username, const int64 *amounts)
{
	LabelLimits *limits = &round->limits[slot];
	const int64 *used = used_by(round, username, slot);

	if (fits(round, used, amounts, user_limit(round, limits, username)))
		return true;
	return make_user_limit_exact(round, limits) && fits(round, used, amounts, limits->of_user);
}

static int64 *
copy_round_amounts(const Round *round, const int64 *amounts)
{
	int64	   *result = yq_hierarchy_amounts(round->leaf->hierarchy);

	memcpy(result, amounts, sizeof(int64) * round->calculator->types);
	return result;
}

static void
hold(const Round *round, YqActivation *activation, YqActivationOutcome outcome,
	 const int64 *used, const int64 *limit)
{
	activation->outcome = outcome;
	activation->used = copy_round_amounts(round, used);
	activation->limit = limit;
}

static YqActivation *
decide_activation(Round *round, YqApplication *application)
{
	YqActivation *activation = palloc0(sizeof(YqActivation));
	int			slot = yq_leaf_slot(round->leaf, application->label);
	LabelLimits *limits = &round->limits[slot];

	activation->application = application;
	activation->outcome = YQ_ACTIVATION_ACTIVATE;
	if (!fits_in_queue(round, slot, application->am_amounts))
	{
		if (!is_first(round, slot))
		{
			hold(round, activation, YQ_ACTIVATION_AM_LIMIT, round->leaf->am_used[slot], limits->of_queue);
			return activation;
		}
		activation->ignores_limit = true;
	}
	if (!fits_user(round, slot, application->username, application->am_amounts))
	{
		if (!is_first(round, slot))
		{
			hold(round, activation, YQ_ACTIVATION_USER_AM_LIMIT,
				 used_by(round, application->username, slot), limits->of_user);
			return activation;
		}
		activation->ignores_limit = true;
	}
	yq_leaf_note(round->leaf, application, YQ_APPLICATION_ACCEPTED, YQ_APPLICATION_ACTIVE);
	return activation;
}

/* -- rounds ---------------------------------------------------------------- */

/* Return the number by which the newcomer increases the number of active users. */
static int
users_added_by(const YqLeafUsage *leaf, const YqApplication *newcomer)
{
	const YqLeafUser *user = yq_leaf_user(leaf, newcomer->username);
	YqLeafUser	before = *user;

	before.accepted--;
	before.demanding -= newcomer->has_outstanding_requests ? 1 : 0;
	return yq_leaf_user_counts(user) - yq_leaf_user_counts(&before);
}

/* Begin a round of activation.  The round counts the active users that the leaf had before the newcomer. */
static void
begin_round_for(Round *round, YqLeafUsage *leaf, const YqApplication *newcomer)
{
	begin_round(round, leaf);
	if (newcomer != NULL && leaf->kept_active_users < 0)
		round->active_users -= users_added_by(leaf, newcomer);
}

/*
 * Return the smallest amount of a resource type that an application waiting on the
 * label needs.  If the label no longer exists, the amount is unknown and the result is
 * 0.
 */
static int64
least_waiting(const YqLeafUsage *leaf, int slot, const YqApplication *newcomer, int type)
{
	const YqHierarchy *hierarchy = leaf->hierarchy;
	bool		has_newcomer = newcomer != NULL && yq_leaf_slot(leaf, newcomer->label) == slot;
	int64		least;

	if (slot == hierarchy->label_count)
		return 0;
	if (has_newcomer && leaf->accepted_on[slot] == 1)
		return newcomer->am_amounts[type];
	least = yq_applications_least_waiting(hierarchy, leaf->queue->path, hierarchy->labels[slot], type);
	return has_newcomer ? Min(least, newcomer->am_amounts[type]) : least;
}

/* Do the amounts fit into the user limit on the label, for any user who has a waiting application? */
static bool
fits_some_user(Round *round, int slot, const int64 *amounts)
{
	for (int i = 0; i < round->leaf->user_count; i++)
	{
		const YqLeafUser *user = round->leaf->users[i];

		if (user->accepted > 0 &&
			fits(round, user->am_used[slot] == NULL ? nothing : user->am_used[slot], amounts,
				 round->limits[slot].of_user))
			return true;
	}
	return false;
}

/*
 * Could a waiting application start on the label?  The check uses the limit of the
 * waiting user with the largest weight.  The limit that a round would use is not
 * higher.
 */
static bool
may_succeed_on(Round *round, int slot, const YqApplication *newcomer)
{
	LabelLimits *limits = &round->limits[slot];
	int64		least[YQ_MAX_RESOURCE_TYPES] = {0};

	if (is_first(round, slot))
		return true;
	least[YQ_MEMORY] = least_waiting(round->leaf, slot, newcomer, YQ_MEMORY);
	least[YQ_VCORES] = least_waiting(round->leaf, slot, newcomer, YQ_VCORES);
	if (!fits_in_queue(round, slot, least))
		return false;
	limits->weight_of_user = 0;
	for (int i = 0; i < round->leaf->user_count; i++)
	{
		if (round->leaf->users[i]->accepted > 0)
			limits->weight_of_user = Max(limits->weight_of_user, round->leaf->users[i]->weight);
	}
	set_user_limit(round, limits);
	return fits_some_user(round, slot, least) ||
		(make_user_limit_exact(round, limits) && fits_some_user(round, slot, least));
}

bool
yq_activation_may_succeed(YqLeafUsage *leaf, const YqApplication *newcomer)
{
	Round		round;

	begin_round_for(&round, leaf, newcomer);
	for (int i = 0; i <= leaf->hierarchy->label_count; i++)
	{
		if (leaf->accepted_on[i] > 0 && may_succeed_on(&round, i, newcomer))
			return true;
	}
	return false;
}

static List *
hold_all(List *applications)
{
	List	   *result = NIL;
	ListCell   *cell;

	foreach(cell, applications)
	{
		YqActivation *activation = palloc0(sizeof(YqActivation));

		activation->application = lfirst(cell);
		activation->outcome = YQ_ACTIVATION_EMPTY_CLUSTER;
		result = lappend(result, activation);
	}
	return result;
}

List *
yq_activation_decide(YqLeafUsage *leaf, List *applications, const YqApplication *newcomer)
{
	const int64 *cluster = leaf->hierarchy->cluster;
	List	   *result = NIL;
	ListCell   *cell;
	Round		round;

	if (newcomer != NULL && yq_amounts_compare(&leaf->hierarchy->calculator, cluster, cluster, nothing) <= 0)
		return hold_all(applications);
	begin_round_for(&round, leaf, newcomer);
	foreach(cell, applications)
	{
		CHECK_FOR_INTERRUPTS();
		result = lappend(result, decide_activation(&round, lfirst(cell)));
	}
	return result;
}

const char *
yq_activation_limit_name(YqActivationOutcome outcome)
{
	static const char *const names[] = {
		[YQ_ACTIVATION_ACTIVATE] = NULL,
		[YQ_ACTIVATION_EMPTY_CLUSTER] = "empty_cluster",
		[YQ_ACTIVATION_AM_LIMIT] = "am_limit",
		[YQ_ACTIVATION_USER_AM_LIMIT] = "user_am_limit",
	};

	return names[outcome];
}

char *
yq_activation_reason(const YqLeafUsage *leaf, const YqActivation *activation)
{
	const YqHierarchy *hierarchy = leaf->hierarchy;
	const char *whose;

	switch (activation->outcome)
	{
		case YQ_ACTIVATION_EMPTY_CLUSTER:
			return pstrdup("Skipping AM assignment as cluster resource is empty.");
		case YQ_ACTIVATION_AM_LIMIT:
			whose = "Queue's AM resource limit exceeded.";
			break;
		case YQ_ACTIVATION_USER_AM_LIMIT:
			whose = "User's AM resource limit exceeded.";
			break;
		default:
			return NULL;
	}
	return psprintf("%s AM resource request %s, used %s, limit %s", whose,
					yq_amounts_text(hierarchy, activation->application->am_amounts),
					yq_amounts_text(hierarchy, activation->used),
					yq_amounts_text(hierarchy, activation->limit));
}

/* -- a leaf ------------------------------------------------------------------- */

List *
yq_leaf_activate(YqLeafUsage *leaf, YqApplication *newcomer, YqActivation **held)
{
	List	   *waiting = NIL;
	List	   *activated = NIL;
	bool		may_succeed;
	ListCell   *cell;

	*held = NULL;
	if (newcomer != NULL)
		yq_leaf_note(leaf, newcomer, YQ_APPLICATION_REJECTED, YQ_APPLICATION_ACCEPTED);
	may_succeed = leaf->accepted > 0 && yq_activation_may_succeed(leaf, newcomer);
	/* if no application can start, only the limit that the newcomer exceeds has to be found */
	if (may_succeed && leaf->accepted > (newcomer != NULL ? 1 : 0))
		waiting = yq_applications_of_leaf(leaf->hierarchy, leaf->queue->path, YQ_APPLICATION_ACCEPTED);
	if (newcomer != NULL)
		waiting = yq_applications_insert(waiting, newcomer);
	if (!may_succeed && newcomer == NULL)
		return NIL;
	foreach(cell, yq_activation_decide(leaf, waiting, newcomer))
	{
		YqActivation *activation = lfirst(cell);

		if (activation->outcome == YQ_ACTIVATION_ACTIVATE)
			activated = lappend(activated, activation);
		else if (activation->application == newcomer)
			*held = activation;
	}
	return activated;
}
