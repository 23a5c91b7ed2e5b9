/*-------------------------------------------------------------------------
 *
 * follow_plan.c
 *	  Rounds of the plan follower.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "admission/application/queue_lock.h"
#include "admission/configuration/config_refresh.h"
#include "miscadmin.h"
#include "reservation/capacity_replanner.h"
#include "reservation/follow_plan.h"
#include "reservation/load_plan.h"
#include "reservation/plan_lock.h"
#include "reservation/record_round.h"
#include "reservation/reservation_definition.h"
#include "scheduler/record/refusal.h"
#include "scheduler/record/scheduler_lock.h"
#include "store/clock.h"

/* CapacityScheduler's name of the queue that has what reservations leave. */
#define DEFAULT_QUEUE_SUFFIX "-default"

char *
yq_plan_queue_name(const YqPlanRound *round, const YqPlanQueue *queue)
{
	const char *dot = strrchr(round->path, '.');

	return queue->is_default ? psprintf("%s" DEFAULT_QUEUE_SUFFIX, dot == NULL ? round->path : dot + 1) :
		yq_reservation_id_text(queue->id);
}

char *
yq_plan_queue_path(const YqPlanRound *round, const YqPlanQueue *queue)
{
	return psprintf("%s.%s", round->path, yq_plan_queue_name(round, queue));
}

bool
yq_plan_round_changes(const YqPlanRound *round)
{
	if (round->replanned != NIL || round->archived != NIL)
		return true;
	for (int i = 0; i < round->queues.count; i++)
	{
		const YqPlanQueue *queue = &round->queues.queues[i];

		if (!queue->is_active || yq_plan_queue_has_changed(queue))
			return true;
	}
	return false;
}

/* -- computing ----------------------------------------------------------------------- */

/* Ids of reservations that go because the plan has become smaller. */
static List *
replan(const YqPlanRound *round, int64 now)
{
	YqPlan	   *plan = yq_plan_load(round->hierarchy, round->queue, &round->settings);
	int64		window = Min(round->settings.enforcement_window, YQ_RESERVATION_TIME_ENDS - now);
	List	   *ids = NIL;
	List	   *removed;
	ListCell   *cell;

	yq_plan_load_reservations(plan, round->hierarchy, round->path, now, now + Max(window, 0), 0);
	removed = yq_plan_shrink(plan, now, window, yq_plan_goes_on(round->path, now + Max(window, 0)));
	foreach(cell, removed)
		ids = lappend(ids, yq_reservation_id_text(((const YqPlanReservation *) lfirst(cell))->id));
	return ids;
}

static bool
has_too_much(const YqPlan *plan, const int64 *cluster, int64 time)
{
	int64		reserved[YQ_MAX_RESOURCE_TYPES];

	yq_plan_reserved_at(plan, time, reserved);
	return yq_amounts_compare(plan->calculator, cluster, reserved, plan->capacity) > 0;
}

/* Those strings that are not among others. */
static List *
without(const List *strings, const List *others)
{
	List	   *result = NIL;
	ListCell   *cell;

	foreach(cell, strings)
	{
		bool		is_other = false;
		ListCell   *other;

		foreach(other, others)
			is_other = is_other || strcmp(lfirst(cell), lfirst(other)) == 0;
		if (!is_other)
			result = lappend(result, lfirst(cell));
	}
	return result;
}

/* The steps of AbstractSchedulerPlanFollower.synchronizePlan(). */
static void
compute_plan(YqPlanRound *round, bool replans)
{
	const int64 *cluster = round->hierarchy->cluster;
	YqPlan	   *plan = yq_plan_load(round->hierarchy, round->queue, &round->settings);
	int64		now = yq_reservation_time(round->now - round->now % 1000, "now");
	int64		time = yq_plan_follower_time(plan, now);

	yq_plan_load_active(plan, round->hierarchy, round->path, time);
	round->queues = yq_plan_queues_load(round->path);
	if (replans && has_too_much(plan, cluster, time))
		round->replanned = replan(round, now);
	yq_plan_follow(plan, cluster, yq_queue_label(round->queue, 0)->absolute_capacity, time, !replans, &round->queues);
	round->archived = without(yq_plan_completed(plan, round->path, yq_plan_archived_until(&round->settings, time)),
							  round->replanned);
}

static YqPlanRound *
compute(const YqHierarchy *hierarchy, const char *path, bool replans)
{
	YqPlanRound *round = palloc0(sizeof(YqPlanRound));

	round->hierarchy = hierarchy;
	round->path = path;
	round->now = yq_clock_now();
	round->queue = yq_hierarchy_find(hierarchy, path);
	if (round->queue != NULL && round->queue->kind != YQ_QUEUE_PLAN)
		round->queue = NULL;
	if (round->queue == NULL)
		return round;
	round->settings = yq_reservation_settings(path);
	compute_plan(round, replans);
	return round;
}

static List *
compute_all(const List *paths, bool replans)
{
	const YqHierarchy *hierarchy = yq_hierarchy_in_force();
	List	   *rounds = NIL;
	ListCell   *cell;

	foreach(cell, paths)
	{
		CHECK_FOR_INTERRUPTS();
		rounds = lappend(rounds, compute(hierarchy, lfirst(cell), replans));
	}
	return rounds;
}

/* The setting is that of all plans. */
bool
yq_plan_follower_is_on(void)
{
	return yq_reservation_settings("").is_enabled;
}

/* -- which plans ------------------------------------------------------------------------ */

static List *
all_paths(const YqHierarchy *hierarchy)
{
	List	   *paths = NIL;

	for (int i = 0; i < hierarchy->queue_count; i++)
	{
		if (hierarchy->queues[i]->kind == YQ_QUEUE_PLAN)
			paths = lappend(paths, pstrdup(hierarchy->queues[i]->path));
	}
	return paths;
}

static List *
changing_paths(const List *rounds)
{
	List	   *paths = NIL;
	ListCell   *cell;

	foreach(cell, rounds)
	{
		YqPlanRound *round = lfirst(cell);

		if (yq_plan_round_changes(round))
			paths = lappend(paths, unconstify(char *, round->path));
	}
	return paths;
}

/* -- a round ------------------------------------------------------------------------------ */

static void
record(void *argument, int first, int count)
{
	const List *rounds = argument;

	for (int i = first; i < first + count; i++)
	{
		YqPlanRound *round = list_nth(rounds, i);

		if (yq_plan_round_changes(round))
			yq_plan_round_record(round);
	}
}

static void
refuse(void *argument, int subject, const ErrorData *error)
{
	const List *rounds = argument;
	YqPlanRound *round = list_nth(rounds, subject);

	round->is_refused = true;
	(void) yq_refusal_note(YQ_ROUND_PLANS, round->path, error);
}

static void
record_all(const List *rounds)
{
	const YqRound all = {.count = list_length(rounds),.work = record,.refuse = refuse,.argument = unconstify(List *, rounds)};

	yq_round_run(&all);
}

/* Lock what rounds are written under; they are computed anew when the configuration has changed since. */
static List *
lock_to_write(List *rounds, const List *paths, bool replans)
{
	uint64		generation = ((const YqPlanRound *) linitial(rounds))->hierarchy->generation;

	yq_scheduler_lock(ExclusiveLock);
	yq_queue_lock_configuration(RowExclusiveLock);
	return yq_hierarchy_in_force()->generation == generation ? rounds : compute_all(paths, replans);
}

List *
yq_plans_follow(const char *queue, bool replans, bool is_dry_run)
{
	const YqHierarchy *hierarchy = yq_hierarchy_in_force();
	List	   *paths = queue == NULL ? all_paths(hierarchy) : list_make1(pstrdup(yq_plan_queue(hierarchy, queue)->path));
	List	   *rounds = compute_all(paths, replans);

	if (is_dry_run)
		return rounds;
	paths = changing_paths(rounds);
	if (paths == NIL)
		return rounds;
	yq_plans_lock(paths);
	rounds = lock_to_write(compute_all(paths, replans), paths, replans);
	record_all(rounds);
	return rounds;
}

void
yq_plan_follow_now(const char *path)
{
	YqPlanRound *round = compute(yq_hierarchy_in_force(), path, true);

	if (yq_plan_round_changes(round))
		yq_plan_round_record(round);
}
