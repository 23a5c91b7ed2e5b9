/*-------------------------------------------------------------------------
 *
 * change_reservation.c
 *	  Submits, updates and deletes a reservation (semantics/reservations 3, 10).
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "access/table.h"
#include "admission/access/access.h"
#include "admission/application/project_credit.h"
#include "admission/application/queue_lock.h"
#include "admission/configuration/config_refresh.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "queues/text.h"
#include "reservation/change_reservation.h"
#include "reservation/follow_plan.h"
#include "reservation/load_plan.h"
#include "reservation/record_reservation.h"
#include "reservation/reservation_agent.h"
#include "scheduler/record/scheduler_journal.h"
#include "store/catalog.h"
#include "store/clock.h"
#include "utils/memutils.h"

static const YqReservationVerdict accepted = {.accepted = true};

/* The data from which a call is decided. */
typedef struct Change
{
	const YqReservationCall *call;
	const YqHierarchy *hierarchy;
	const YqQueue *queue;
	YqReservationSettings settings;
	TimestampTz now;
	int64		now_in_ms;
	const YqReservationDefinition *definition;
	const YqRecordedReservation *recorded;	/* NULL: no reservation has the id of the call */
	YqReservationVerdict access;	/* whether the user may perform the operation */
	YqRecordedReservation next; /* version, queue, user and project that will be written */
	const YqPlanReservation *placed;	/* the placed reservation; NULL: write nothing */
	bool		is_due;			/* add the queue in this call, because the next round may come too late */
} Change;

/* -- the plan and its reservation ---------------------------------------------------- */

static Change
begin_change(const YqReservationCall *call)
{
	Change		change = {.call = call,.now = yq_clock_statement()};

	if (!call->is_dry_run)
		PreventCommandIfReadOnly("changes of reservations");
	change.hierarchy = yq_hierarchy_in_force();
	/* like Hadoop's clock, round down to whole milliseconds */
	change.now_in_ms = yq_reservation_time(change.now - change.now % 1000, "now");
	return change;
}

static void
lock_plan(Change *change, const char *queue)
{
	change->queue = yq_plan_queue(change->hierarchy, queue);
	if (!change->call->is_dry_run)
		yq_plan_lock(change->queue->path);
	change->settings = yq_reservation_settings(change->queue->path);
	change->recorded = yq_reservation_find(change->call->id, change->call->definition);
}

/* Lock the plan of the reservation.  This lock suffices, because a reservation never moves to another plan. */
static void
lock_plan_of_reservation(Change *change)
{
	const YqRecordedReservation *recorded = yq_reservation_find(change->call->id, NULL);

	if (recorded != NULL)
		lock_plan(change, recorded->queue);
	if (recorded == NULL || change->recorded == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("reservation \"%s\" does not exist", change->call->id)));
}

/* Does the reservation arrive before the next round of the follower?  If so, the call runs a round. */
static bool
is_due(const Change *change)
{
	bool		isnull;
	Datum		arrival = GetAttributeByName(change->call->definition, "arrival", &isnull);

	return !isnull && !TIMESTAMP_NOT_FINITE(DatumGetTimestampTz(arrival)) &&
		DatumGetTimestampTz(arrival) < change->now + change->settings.step * 1000;
}

/*
 * Take the locks for writing a change, as yq_queue_lock_configuration() does.  Returns
 * false if the configuration has changed since the decision; the caller must then decide
 * again.
 */
static bool
lock_to_write(Change *change)
{
	uint64		generation = change->hierarchy->generation;

	if (change->is_due)
		yq_scheduler_lock(ExclusiveLock);
	yq_queue_lock_configuration(RowExclusiveLock);
	change->hierarchy = yq_hierarchy_in_force();
	if (change->hierarchy->generation == generation)
		return true;
	change->queue = yq_plan_queue(change->hierarchy, change->queue->path);
	change->settings = yq_reservation_settings(change->queue->path);
	return false;
}

/*
 * Is the reservation still in its plan?  A reservation leaves its plan when it ends, or
 * when it is archived because its deadline is long ago.
 */
static bool
is_in_plan(const Change *change)
{
	if (change->recorded == NULL || change->recorded->has_ended)
		return false;
	return (change->recorded->is_periodic && change->settings.repeats) ||
		yq_reservation_time(change->recorded->deadline, "deadline") > yq_plan_archived_until(&change->settings, change->now_in_ms);
}

/* -- access ---------------------------------------------------------------------------- */

YqReservationVerdict
yq_reservation_check_access(const YqHierarchy *hierarchy, const YqReservationSettings *settings, const char *queue,
							YqQueueOperation operation, const YqSubject *subject)
{
	YqAccessDecision decision;

	if (!settings->checks_access)
		return accepted;
	decision = yq_access_check(hierarchy, queue, operation, subject);
	if (decision.allowed || (operation != YQ_ADMINISTER_RESERVATIONS &&
							 yq_access_check(hierarchy, queue, YQ_ADMINISTER_RESERVATIONS, subject).allowed))
		return accepted;
	return yq_reservation_refuse(yq_acl_columns[operation], decision.reason);
}

/*
 * Check whether the user may change the reservation.  The owner may change it.  Other users need a
 * right from the access list.
 */
static YqReservationVerdict
check_owner(const Change *change)
{
	if (strcmp(change->recorded->username, change->call->subject.username) == 0)
		return accepted;
	return yq_reservation_check_access(change->hierarchy, &change->settings, change->queue->path, YQ_ADMINISTER_RESERVATIONS,
									   &change->call->subject);
}

static YqReservationVerdict
check_system(const Change *change)
{
	return change->settings.is_enabled ? accepted :
		yq_reservation_refuse("reservation_system_enable", "yarn.resourcemanager.reservation-system.enable is not true");
}

/* -- reasons of a failure ---------------------------------------------------------------- */

/*
 * Refuse, and report the amounts of the user's share.  "besides" is the beginning of the message,
 * which may name another possible reason.
 */
static YqReservationVerdict
refuse_by_share(const Change *change, const YqPlan *plan, const char *decided_by, const char *besides, const char *when, float4 share)
{
	int64	   *maximum = yq_hierarchy_amounts(change->hierarchy);
	YqReservationVerdict verdict;

	yq_amounts_multiply(plan->calculator, maximum, plan->capacity, share);
	verdict = yq_reservation_refuse(decided_by, psprintf("%suser \"%s\" would have more than %s of the plan %s",
														 besides, change->call->subject.username,
														 yq_amounts_text(change->hierarchy, maximum), when));
	verdict.maximum = maximum;
	return verdict;
}

static YqReservationVerdict
refuse_container(const Change *change, const YqPlan *plan)
{
	YqReservationVerdict verdict = yq_reservation_refuse("maximum_allocation", NULL);
	const YqReservationRequest *requests = change->definition->requests;

	for (int i = 0; i < change->definition->count; i++)
	{
		if (yq_amounts_compare(plan->calculator, plan->capacity, requests[i].capability, plan->maximum_allocation) > 0)
			verdict.asked = requests[i].capability;
	}
	verdict.maximum = change->hierarchy->settings.maximum_allocation;
	verdict.reason = psprintf("a container of %s is more than the maximum allocation, %s",
							  yq_amounts_text(change->hierarchy, verdict.asked), yq_amounts_text(change->hierarchy, verdict.maximum));
	return verdict;
}

pg_noreturn static void
refuse_request(const char *message)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg_internal("%s", message)));
}

static YqReservationVerdict
verdict_of(const Change *change, const YqPlan *plan, YqPlanFailure failure)
{
	switch (failure)
	{
		case YQ_PLAN_ACCEPTED:
			return accepted;
		case YQ_PLAN_CONCURRENCY:
			refuse_request("concurrency of a reservation must be at least 1");
		case YQ_PLAN_CONTAINERS:
			refuse_request("num_containers of a reservation must be at least 1");
		case YQ_PLAN_GANGS:
			refuse_request("num_containers of a reservation must be a multiple of concurrency");
		case YQ_PLAN_TOO_LARGE_CONTAINER:
			return refuse_container(change, plan);
		case YQ_PLAN_NO_ROOM:
			return yq_reservation_refuse("no_room", "there is no room for the requests between arrival and deadline, in the plan or within the user's limits");
		case YQ_PLAN_GAP:
			return yq_reservation_refuse("no_room", "there is no room for the requests without a gap, in the plan or within the user's limits");
		case YQ_PLAN_OVERCOMMITTED:
			return yq_reservation_refuse("overcommitted", "the plan has promised more than it has between arrival and deadline");
		case YQ_PLAN_CAPACITY:
			return yq_reservation_refuse("capacity", "the plan has too little left at the place found");
		case YQ_PLAN_INSTANTANEOUS:
			/* name both possible reasons, because CapacityOverTimePolicy does not distinguish them */
			return refuse_by_share(change, plan, "instantaneous_max_capacity", "the plan has too little left at the place found, or ",
								   "at an instant", plan->instantaneous_share);
		case YQ_PLAN_AVERAGE:
			return refuse_by_share(change, plan, "average_capacity", "", "on average over the window", plan->average_share);
		case YQ_PLAN_SEARCH:
			return yq_reservation_refuse("too_large", psprintf("the search for a place looks at more windows than the %d that reservation_most_windows allows",
															   change->settings.most_windows));
		case YQ_PLAN_REPEATS:
			return yq_reservation_refuse("too_large", psprintf("repeating reservations of the plan have more than %d steps in the time of the search",
															   YQ_MOST_REPEATED_STEPS));
		case YQ_PLAN_EXISTS:
		case YQ_PLAN_UNKNOWN:
		case YQ_PLAN_PERIOD:
			break;
	}
	elog(ERROR, "unexpected failure %d of a plan", failure);
}

/* -- deciding ------------------------------------------------------------------------------- */

/* Load the plan up to a deadline, with all reservations that affect a decision. */
static YqPlan *
load_plan(const Change *change, int64 deadline)
{
	YqPlan	   *plan = yq_plan_load(change->hierarchy, change->queue, &change->settings);
	int64		repeated = change->definition->period > 0 ? change->settings.largest_period : 0;

	yq_plan_load_intervals(plan, change->hierarchy, change->queue->path, change->recorded == NULL ? NULL : change->call->id,
						   change->definition->arrival - change->settings.window,
						   deadline + change->settings.window + repeated,
						   yq_plan_archived_until(&change->settings, change->now_in_ms));
	return plan;
}

/* Return the id that the reservation has in the plan.  The numbers of stored ids are never negative. */
static YqReservationId
id_in_plan(const Change *change)
{
	static const YqReservationId unnamed = {-1, -1};

	return strcmp(change->call->id, YQ_UNNAMED_RESERVATION) == 0 ? unnamed : yq_reservation_id_parse(change->call->id);
}

static YqPlanFailure
place_in(const Change *change, YqPlan *plan, const char *username, YqPlanReservation **reservation)
{
	YqReservationAgent agent = {.aligns = change->settings.aligns,.favors_early = change->settings.favors_early,
	.smoothness = change->settings.smoothness};

	return yq_reservation_agent_place(&agent, plan, id_in_plan(change), username, change->definition,
									  change->now_in_ms, reservation);
}

static YqReservationVerdict
check_definition(const Change *change)
{
	YqReservationVerdict verdict = check_system(change);

	if (!verdict.accepted)
		return verdict;
	return yq_reservation_definition_check(change->hierarchy, &change->settings, change->definition,
										   yq_plan_capacity(change->hierarchy, change->queue), change->now_in_ms);
}

/* Return the version to write: version 1, or the version after the recorded one. */
static YqRecordedReservation
next_version(const Change *change)
{
	const YqReservationCall *call = change->call;
	YqRecordedReservation next;

	if (change->recorded == NULL)
		return (YqRecordedReservation) {.version = 1,.queue = change->queue->path,.username = call->subject.username,
			.project = call->project};
	next = *change->recorded;
	next.version++;
	next.username = call->subject.username;
	return next;
}

/* Check the project's credit, which is the last rule.  If the credit is not sufficient, nothing will be written. */
static void
check_credit(Change *change, YqReservationAnswer *answer)
{
	const char *project = change->next.project;
	YqProjectCredit credit = {.suffices = true};

	answer->quoted_cost = yq_reservation_quote(change->hierarchy, change->call->id, &change->next, change->placed, change->call->multipliers,
											   change->now);
	change->next.quoted_cost = answer->quoted_cost;
	if (project != NULL)
		credit = yq_project_credit_to_reserve(project, change->call->id, answer->quoted_cost, !change->call->is_dry_run);
	if (credit.suffices)
		return;
	answer->verdict = yq_reservation_refuse("project_quota", psprintf("project %s has %s credits available, the reservation would cost %s",
																	  credit.limited_by, credit.remaining, answer->quoted_cost));
	change->placed = NULL;
}

/* -- acceptable alternatives ------------------------------------------------------------------ */

/* A plan in which other definitions are tried. */
typedef struct Trial
{
	const Change *change;
	YqPlan	   *plan;
	int64		windows;		/* number of windows that all further tries together may examine */
	MemoryContext context;		/* memory context that is reset after each try */
} Trial;

/* Could a later deadline or fewer containers be accepted?  This requires that no other rule refuses the definition. */
static bool
may_be_helped(const Change *change, const YqReservationVerdict *verdict)
{
	static const char *const rules[] = {"duration", "largest_gang", "no_room", "capacity", "instantaneous_max_capacity", "average_capacity", "project_quota"};
	const YqReservationDefinition *definition = change->definition;
	bool		is_one = false;

	for (int i = 0; i < (int) lengthof(rules); i++)
		is_one = is_one || strcmp(rules[i], verdict->decided_by) == 0;
	for (int i = 0; i < definition->count; i++)
	{
		const YqReservationRequest *request = &definition->requests[i];

		is_one = is_one && request->concurrency > 0 && request->containers > 0 && request->containers % request->concurrency == 0;
	}
	return is_one && change->access.accepted && definition->period >= 0 && definition->arrival < definition->deadline;
}

/* Deduct the windows of a try.  All tries together may examine only as many windows as a single search. */
static bool
take_windows(Trial *trial, const YqReservationDefinition *definition)
{
	for (int i = 0; i < definition->count && trial->change->settings.aligns; i++)
		trial->windows -= (definition->deadline - definition->arrival) / definition->requests[i].duration;
	return trial->windows >= 0;
}

static bool
has_credit(const Change *change, YqPlanReservation *reservation)
{
	Change		trial = *change;
	YqReservationAnswer answer = {.verdict = accepted};

	trial.next = next_version(change);
	trial.placed = reservation;
	check_credit(&trial, &answer);
	return answer.verdict.accepted;
}

static bool
would_be_accepted(const YqReservationDefinition *definition, void *argument)
{
	Trial	   *trial = argument;
	Change		change = *trial->change;
	MemoryContext caller = MemoryContextSwitchTo(trial->context);
	YqPlanReservation *old = yq_plan_find(trial->plan, id_in_plan(&change));
	YqPlanReservation *reservation;
	bool		is_accepted;

	change.definition = definition;
	is_accepted = take_windows(trial, definition) && check_definition(&change).accepted &&
		place_in(&change, trial->plan, change.call->subject.username, &reservation) == YQ_PLAN_ACCEPTED;
	if (is_accepted)
	{
		yq_plan_undo(trial->plan, reservation, old);
		is_accepted = has_credit(&change, reservation);
	}
	MemoryContextSwitchTo(caller);
	MemoryContextReset(trial->context);
	return is_accepted;
}

/*
 * Return the last deadline that is worth trying.  By then, all promises have ended, a
 * window has passed, and all gangs could have run one after another.  The deadline of a
 * periodic reservation is within a period of its arrival.
 */
static int64
latest_deadline(const Change *change)
{
	const YqReservationDefinition *definition = change->definition;
	int64		most = YQ_RESERVATION_TIME_ENDS - change->settings.window;
	int64		latest = yq_plan_last_deadline(change->queue->path, definition->deadline) + change->settings.window;

	for (int i = 0; i < definition->count; i++)
	{
		const YqReservationRequest *request = &definition->requests[i];
		int64		gangs = request->containers / request->concurrency;

		if (request->duration > (most - latest) / gangs - change->settings.step)
			latest = most;
		else
			latest += (request->duration + change->settings.step) * gangs;
	}
	return definition->period > 0 ? Min(latest, definition->arrival + definition->period) : latest;
}

/* Put the definition that was found into the user's definition.  Returns NULL if none was found. */
static HeapTupleHeader
revise(const Change *change, const YqReservationDefinition *found)
{
	return found == NULL ? NULL : yq_reservation_definition_revise(change->call->definition, found);
}

static void
offer_instead(const Change *change, YqReservationAnswer *answer)
{
	Trial		trial = {.change = change,.windows = change->settings.most_windows};
	int64		latest;

	if (!change->call->is_dry_run || !may_be_helped(change, &answer->verdict))
		return;
	latest = latest_deadline(change);
	trial.plan = load_plan(change, Max(latest, change->definition->deadline));
	trial.context = AllocSetContextCreate(CurrentMemoryContext, "yquota nearest reservation", ALLOCSET_DEFAULT_SIZES);
	answer->with_later_deadline =
		revise(change, yq_nearest_with_later_deadline(change->definition, change->settings.step, latest, would_be_accepted, &trial));
	answer->with_fewer_containers =
		revise(change, yq_nearest_with_fewer_containers(change->definition, would_be_accepted, &trial));
	MemoryContextDelete(trial.context);
}

static YqReservationAnswer
refused(const Change *change, YqReservationVerdict verdict)
{
	YqReservationAnswer answer = {.verdict = verdict,.hierarchy = change->hierarchy};

	offer_instead(change, &answer);
	return answer;
}

/* -- submitting and updating ------------------------------------------------------------------- */

/* Have the agent place the reservation. */
static YqReservationAnswer
place(Change *change)
{
	YqReservationAnswer answer = {.hierarchy = change->hierarchy,.at = change->now};
	YqPlan	   *plan = load_plan(change, change->definition->deadline);
	YqPlanReservation *reservation;
	YqPlanFailure failure = place_in(change, plan, change->next.username, &reservation);

	answer.verdict = verdict_of(change, plan, failure);
	if (!answer.verdict.accepted)
		return refused(change, answer.verdict);
	yq_reservation_span(reservation, &answer.start, &answer.end);
	change->placed = reservation;
	return answer;
}

/* Decide about a definition.  The rules about the input are checked first, then access, then the placement. */
static YqReservationAnswer
decide_definition(Change *change)
{
	YqReservationVerdict verdict = check_definition(change);

	if (verdict.accepted)
		verdict = change->access;
	if (!verdict.accepted)
		return refused(change, verdict);
	change->next = next_version(change);
	return place(change);
}

/* Return the answer that the recorded version got. */
static YqReservationAnswer
recorded_answer(const Change *change)
{
	return (YqReservationAnswer) {.verdict = accepted,.hierarchy = change->hierarchy,.at = change->recorded->accepted_at,
		.start = change->recorded->start,.end = change->recorded->end,.quoted_cost = change->recorded->quoted_cost};
}

/*
 * Does the call repeat the call that was accepted?  A call without a project can only be a dry
 * run, and does not repeat the accepted call.
 */
static bool
is_repeated(const Change *change)
{
	const YqReservationCall *call = change->call;
	const YqRecordedReservation *recorded = change->recorded;

	return recorded->is_same && !recorded->has_ended &&
		strcmp(recorded->username, call->subject.username) == 0 &&
		call->project != NULL && strcmp(recorded->project, call->project) == 0 &&
		strcmp(recorded->queue, change->queue->path) == 0;
}

pg_noreturn static void
refuse_id(const char *id)
{
	ereport(ERROR,
			(errcode(ERRCODE_DUPLICATE_OBJECT),
			 errmsg("reservation \"%s\" already exists", id),
			 errhint("yquota.new_reservation_id() makes another id.")));
}

static YqReservationAnswer
decide_submission(Change *change)
{
	const YqReservationCall *call = change->call;

	if (call->project != NULL)
		yq_reservation_check_project(call->project);
	change->definition = yq_reservation_definition_read(change->hierarchy, call->definition);
	if (change->recorded != NULL)
	{
		if (!is_repeated(change))
			refuse_id(call->id);
		return recorded_answer(change);
	}
	/* charges name a reservation by its id, even after the reservation's rows have been deleted */
	if (yq_reservation_has_charges(call->id))
		refuse_id(call->id);
	change->access = yq_reservation_check_access(change->hierarchy, &change->settings, change->queue->path, YQ_SUBMIT_RESERVATIONS,
												 &call->subject);
	return decide_definition(change);
}

static YqReservationAnswer
decide_update(Change *change)
{
	const YqReservationCall *call = change->call;

	if (!is_in_plan(change))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("reservation \"%s\" has ended", call->id)));
	change->definition = yq_reservation_definition_read(change->hierarchy, call->definition);
	/* the call may be a repetition of the last update */
	if (change->recorded->version > 1 && change->recorded->is_same &&
		strcmp(change->recorded->username, call->subject.username) == 0)
		return recorded_answer(change);
	change->access = check_owner(change);
	return decide_definition(change);
}

/*
 * Lock the tables that will be written.  This comes before reading the credit, because
 * locks are taken in a fixed order.
 */
static void
lock_books(void)
{
	table_close(yq_table_open(YQ_RESERVATION_DEFINITION, RowExclusiveLock), NoLock);
	table_close(yq_table_open(YQ_RESERVATION_CHARGE, RowExclusiveLock), NoLock);
}

static YqReservationAnswer
count_refusal(const Change *change, YqReservationAnswer answer)
{
	if (!answer.verdict.accepted && !change->call->is_dry_run)
		yq_reservation_count_refusal(change->queue->path, answer.verdict.decided_by, change->now);
	return answer;
}

static YqReservationAnswer
decide_and_write(Change *change, YqReservationAnswer (*decide) (Change *change))
{
	const YqReservationCall *call = change->call;
	YqReservationAnswer answer;

	do
	{
		change->placed = NULL;
		answer = decide(change);
		if (change->placed == NULL)
			return count_refusal(change, answer);
	} while (!call->is_dry_run && !lock_to_write(change));
	if (!call->is_dry_run)
		lock_books();
	check_credit(change, &answer);
	if (!answer.verdict.accepted)
		offer_instead(change, &answer);
	if (change->placed == NULL || call->is_dry_run)
		return count_refusal(change, answer);
	if (change->next.version > 1)
		yq_reservations_end(list_make1(unconstify(char *, call->id)), "updated", change->now);
	if (!yq_reservation_record(change->hierarchy, call->id, &change->next, call->definition, change->placed, change->now))
		refuse_id(call->id);
	if (change->is_due)
		yq_plan_follow_now(change->queue->path);
	return answer;
}

YqReservationAnswer
yq_reservation_submit(const YqReservationCall *call)
{
	Change		change = begin_change(call);

	lock_plan(&change, call->queue);
	change.is_due = is_due(&change);
	return decide_and_write(&change, decide_submission);
}

YqReservationAnswer
yq_reservation_update(const YqReservationCall *call)
{
	Change		change = begin_change(call);

	lock_plan_of_reservation(&change);
	return decide_and_write(&change, decide_update);
}

/* -- deleting -------------------------------------------------------------------------------------- */

static YqReservationVerdict
check_deletion(const Change *change)
{
	YqReservationVerdict verdict = check_system(change);

	return verdict.accepted ? check_owner(change) : verdict;
}

YqReservationAnswer
yq_reservation_delete(const YqReservationCall *call)
{
	Change		change = begin_change(call);
	YqReservationAnswer answer = {.hierarchy = change.hierarchy};

	lock_plan_of_reservation(&change);
	answer.at = change.recorded->has_ended ? change.recorded->ended_at : change.now;
	do
	{
		answer.verdict = check_deletion(&change);
		if (!answer.verdict.accepted || change.recorded->has_ended)
			return answer;
	} while (!lock_to_write(&change));
	yq_reservations_end(list_make1(unconstify(char *, call->id)), "deleted", change.now);
	return answer;
}
