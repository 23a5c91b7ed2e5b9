/*-------------------------------------------------------------------------
 *
 * record_preemption.c
 *	  Writes a round of preemption to the tables: kills, marks, reservations, decisions.
 *
 * Locks are taken in the order of allocation cycles.  The leaves of reservations that
 * are given up come first.  The log of events, then containers, then decisions follow.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "admission/application/queue_lock.h"
#include "catalog/pg_type_d.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "preemption/record_preemption.h"
#include "queues/text.h"
#include "scheduler/load/held_subjects.h"
#include "scheduler/record/preempted_containers.h"
#include "scheduler/record/scheduler_journal.h"
#include "store/catalog.h"
#include "store/clock.h"
#include "store/saved_plan.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

/* -- outcomes as columns -------------------------------------------------------------- */

/* Outcomes of a round that are recorded together, as columns. */
typedef struct Columns
{
	YqPreemptedContainers containers;
	int		   *outcomes;		/* positions of these outcomes among the outcomes of the round */
	const char **selectors;
} Columns;

typedef bool (*OutcomeTest) (const YqPreemptionOutcome *outcome);

static Columns
collect(const YqLoadedPreemption *preemption, OutcomeTest is_wanted)
{
	const YqPreemption *state = preemption->state;
	int			room = Max(state->outcome_count, 1);
	Columns		columns = {.containers = yq_preempted_containers_make(room),.outcomes = palloc(room * sizeof(int)),
	.selectors = palloc(room * sizeof(char *))};
	YqPreemptedContainers *containers = &columns.containers;

	for (int i = 0; i < state->outcome_count; i++)
	{
		const YqPreemptionOutcome *outcome = &state->outcomes[i];
		const YqPreemptionContainer *container = outcome->container;
		int			at = containers->count;

		if (!is_wanted(outcome))
			continue;
		columns.outcomes[at] = i;
		columns.selectors[at] = yq_preemption_selector_name(outcome->selector);
		containers->container_ids[at] = container->container_id;
		containers->application_ids[at] = container->application->application_id;
		containers->queues[at] = container->application->leaf->path;
		containers->queue_names[at] = yq_preemption_queue(container->application->leaf)->name;
		containers->allocations[at] = yq_hierarchy_resource(preemption->hierarchy, container->amounts);
		containers->count++;
	}
	containers->round = YQ_ROUND_PREEMPTION;
	return columns;
}

Datum
yq_preemption_figure(const YqHierarchy *hierarchy, const int64 *amounts)
{
	int64		memory[YQ_MAX_RESOURCE_TYPES] = {[YQ_MEMORY] = amounts[YQ_MEMORY]};

	return yq_hierarchy_resource(hierarchy, hierarchy->calculator.is_dominant ? amounts : memory);
}

static const YqPreemptionReason *
make_reason(const YqHierarchy *hierarchy, const YqPreemptionOutcome *outcome)
{
	const YqPreemptionFigures *found = outcome->figures;
	YqPreemptionReason *reason = palloc(sizeof(YqPreemptionReason));

	*reason = (YqPreemptionReason) {
		.selector = yq_preemption_selector_name(outcome->selector),
		.figures = {
			yq_hierarchy_resource(hierarchy, found->used),
			yq_hierarchy_resource(hierarchy, found->guaranteed),
			yq_preemption_figure(hierarchy, found->ideal),
			yq_preemption_figure(hierarchy, found->to_be_preempted),
			yq_preemption_figure(hierarchy, found->obtain)
		}
	};
	return reason;
}

/* Add the reasons.  Consecutive outcomes with the same figures share a reason. */
static void
add_reasons(const YqLoadedPreemption *preemption, Columns *columns)
{
	const YqPreemption *state = preemption->state;
	YqPreemptedContainers *containers = &columns->containers;
	const YqPreemptionFigures *last = NULL;

	containers->reasons = palloc(Max(containers->count, 1) * sizeof(YqPreemptionReason *));
	containers->marked_at = palloc(Max(containers->count, 1) * sizeof(TimestampTz));
	for (int i = 0; i < containers->count; i++)
	{
		const YqPreemptionOutcome *outcome = &state->outcomes[columns->outcomes[i]];

		containers->reasons[i] = outcome->figures == last ? containers->reasons[i - 1] :
			make_reason(preemption->hierarchy, outcome);
		containers->marked_at[i] = outcome->marked_at;
		last = outcome->figures;
	}
}

/* -- reservations ------------------------------------------------------------------------- */

static bool
is_about_reservation(const YqPreemptionOutcome *outcome)
{
	return outcome->kind == YQ_PREEMPTION_UNRESERVED || outcome->kind == YQ_PREEMPTION_MOVED;
}

static void
add_leaves_of_reservations(const YqPreemption *state, YqQueueLocks *locks)
{
	for (int i = 0; i < state->outcome_count; i++)
	{
		if (is_about_reservation(&state->outcomes[i]))
			yq_queue_locks_add(locks, YQ_LOCK_LEAF, state->outcomes[i].container->application->leaf->path);
	}
}

/*
 * Conditions that find a reservation by its node ($1), container ($2) and application ($3).
 * The decisions also get the queue ($4) and the time ($5).
 */
#define OF_RESERVATION "WHERE r.node = $1 AND r.container_id = $2 AND r.application_id = $3 "
#define RESERVATION_TYPES {"text", "text", "text", "text", "timestamptz"}
#define MOVE_TYPES {"text", "text", "text", "text", "timestamptz", "text"}

/*
 * Give up a reservation.  The request's counter of re-reservations restarts from 0, as when
 * a cycle gives up a reservation.
 */
static bool
give_up_reservation(const YqReservation *reservation, const YqPreemptionContainer *container, Datum queue, Datum now)
{
	static YqSavedPlan give_up[] = {
		{
			.command = "INSERT INTO yquota.decision (decision, container_id, application_id, queue, node, allocation, priority, "
			"allocation_request_id, decided_at) SELECT 'unreserved', r.container_id, r.application_id, $4, r.node, r.allocation, r.priority, "
			"r.allocation_request_id, $5 FROM yquota.reserved_container AS r " OF_RESERVATION,
			.types = RESERVATION_TYPES
		},
		{
			.command = "UPDATE yquota.container_update AS u SET re_reservations = 0 FROM yquota.reserved_container AS r " OF_RESERVATION
			"AND u.container_id = r.container_to_update AND u.re_reservations <> 0",
			.types = RESERVATION_TYPES
		},
		{
			.command = "UPDATE yquota_internal.request_counter AS c SET re_reservations = 0 FROM yquota.reserved_container AS r " OF_RESERVATION
			"AND r.container_to_update IS NULL AND c.application_id = r.application_id AND c.priority = r.priority "
			"AND c.allocation_request_id = r.allocation_request_id AND c.execution_type = 'GUARANTEED' AND c.re_reservations <> 0",
			.types = RESERVATION_TYPES
		},
		{.command = "DELETE FROM yquota.reserved_container AS r " OF_RESERVATION,.types = RESERVATION_TYPES}
	};
	Datum		values[] = {CStringGetTextDatum(reservation->node->name), CStringGetTextDatum(container->container_id),
	CStringGetTextDatum(container->application->application_id), queue, now};

	return yq_saved_plans_execute(give_up, lengthof(give_up), values) > 0;
}

/*
 * Move a reservation.  The decision 'reserved' for the new node precedes the decision
 * 'unreserved' for the old node, so that the resource manager keeps the reservation.
 */
static bool
move_reservation(const YqReservation *reservation, const YqPreemptionOutcome *outcome, Datum queue, Datum now)
{
	static YqSavedPlan move[] = {
		{
			.command = "UPDATE yquota.reserved_container AS r SET node = $6, moved_at = $5 " OF_RESERVATION
			"AND NOT EXISTS (SELECT FROM yquota.reserved_container AS other WHERE other.node = $6)",
			.types = MOVE_TYPES
		},
		{
			.command = "INSERT INTO yquota.decision (decision, container_id, application_id, queue, node, allocation, priority, "
			"allocation_request_id, decided_at) "
			"SELECT d.decision, r.container_id, r.application_id, $4, d.node, r.allocation, r.priority, r.allocation_request_id, $5 "
			"FROM yquota.reserved_container AS r, (VALUES (1, 'reserved', $6), (2, 'unreserved', $1)) AS d (place, decision, node) "
			"WHERE r.node = $6 AND r.container_id = $2 AND r.application_id = $3 ORDER BY d.place",
			.types = MOVE_TYPES
		}
	};
	const YqPreemptionContainer *container = outcome->container;
	Datum		values[] = {CStringGetTextDatum(reservation->node->name), CStringGetTextDatum(container->container_id),
	CStringGetTextDatum(container->application->application_id), queue, now, CStringGetTextDatum(outcome->node->name)};

	return yq_saved_plans_execute(move, lengthof(move), values) > 0;
}

static void
record_reservations(const YqPreemption *state, bool *is_done, Datum now)
{
	List	   *changed = NIL;

	yq_scheduler_journal_begin_own();
	for (int i = 0; i < state->outcome_count; i++)
	{
		const YqPreemptionOutcome *outcome = &state->outcomes[i];
		const YqPreemptionContainer *container = outcome->container;
		Datum		queue;

		if (!is_about_reservation(outcome))
			continue;
		CHECK_FOR_INTERRUPTS();
		queue = CStringGetTextDatum(container->application->leaf->path);
		is_done[i] = outcome->kind == YQ_PREEMPTION_MOVED ? move_reservation(container->source, outcome, queue, now) :
			give_up_reservation(container->source, container, queue, now);
		if (is_done[i])
			changed = list_append_unique_ptr(changed, unconstify(char *, container->application->application_id));
	}
	yq_scheduler_journal_end_own();
	yq_scheduler_journal_applications(changed);
}

bool
yq_preemption_is_told(const YqPreemptionOutcome *outcome)
{
	return !outcome->container->is_reserved || is_about_reservation(outcome) || outcome->kind == YQ_PREEMPTION_OBSERVED;
}

/* -- kills ------------------------------------------------------------------------------------ */

static bool
is_kill(const YqPreemptionOutcome *outcome)
{
	return outcome->kind == YQ_PREEMPTION_KILLED && yq_preemption_is_told(outcome);
}

static bool
is_killable(const YqPreemptionOutcome *outcome)
{
	return outcome->kind == YQ_PREEMPTION_KILLABLE && yq_preemption_is_told(outcome);
}

static void
note_done(const Columns *columns, const bool *is_recorded, bool *is_done)
{
	for (int i = 0; i < columns->containers.count; i++)
		is_done[columns->outcomes[i]] = is_recorded[i];
}

/*
 * Add locks for the leaves of containers that no application has fetched yet, because the
 * requests of these leaves will change.
 */
static void
add_leaves_of_unfetched(const Columns *kills, const YqUnfetchedContainer *unfetched, YqQueueLocks *locks)
{
	for (int i = 0; unfetched != NULL && i < kills->containers.count; i++)
	{
		if (unfetched[i].is_unfetched)
			yq_queue_locks_add(locks, YQ_LOCK_LEAF, kills->containers.queues[i]);
	}
}

/*
 * Record the kills.  A killed container that its application has not fetched is requested
 * again.  An advised kill only asks the resource manager to end the container, so the
 * application may still fetch the container.
 */
static void
record_kills(const YqLoadedPreemption *preemption, const Columns *kills, const YqUnfetchedContainer *unfetched, bool *is_done,
			 Datum now)
{
	const YqPreemptedContainers *containers = &kills->containers;
	const bool *is_ended;

	if (preemption->configuration.is_advising)
	{
		note_done(kills, yq_preempted_containers_advise(containers, now), is_done);
		return;
	}
	is_ended = yq_preempted_containers_end(containers, now);
	note_done(kills, is_ended, is_done);
	yq_scheduler_journal_begin_own();
	(void) yq_unfetched_containers_put_back(containers, unfetched, is_ended);
	yq_scheduler_journal_end_own();
}

static void
record_killable(const YqLoadedPreemption *preemption, bool *is_done, Datum now)
{
	Columns		columns = collect(preemption, is_killable);

	add_reasons(preemption, &columns);
	note_done(&columns, yq_preempted_containers_make_killable(&columns.containers, now), is_done);
}

/* -- marks -------------------------------------------------------------------------------------- */

static bool
is_mark(const YqPreemptionOutcome *outcome)
{
	return outcome->kind == YQ_PREEMPTION_MARKED && yq_preemption_is_told(outcome);
}

static void
record_marks(const YqLoadedPreemption *preemption, bool *is_done, Datum now)
{
	static YqSavedPlan mark = {
		.command = "WITH running AS MATERIALIZED (SELECT w.place, c.container_id, w.application_id, w.queue, w.selector, "
		"COALESCE(c.node, '') AS node, c.allocation, c.priority, c.allocation_request_id "
		"FROM unnest($1, $2, $3, $4) WITH ORDINALITY AS w (container_id, application_id, queue, selector, place) "
		"JOIN yquota.container AS c ON c.container_id = w.container_id) "
		YQ_PREEMPTED_TELL("marked", "false")
		", marked AS (INSERT INTO yquota_internal.preemption_mark (container_id, marked_at, application_id, queue, selector) "
		"SELECT r.container_id, $5, r.application_id, r.queue, r.selector FROM running AS r ORDER BY r.container_id) "
		"SELECT r.place FROM running AS r",
		.types = {"_text", "_text", "_text", "_text", "timestamptz", "timestamptz"},
		.plans_once = true
	};
	Columns		columns = collect(preemption, is_mark);
	const YqPreemptedContainers *containers = &columns.containers;
	Datum		values[] = {
		yq_array_of_names(containers->container_ids, containers->count),
		yq_array_of_names(containers->application_ids, containers->count),
		yq_array_of_names(containers->queues, containers->count),
		yq_array_of_names(columns.selectors, containers->count),
		TimestampTzGetDatum(preemption->state->now),
		now
	};

	note_done(&columns, yq_preempted_containers_run(containers->count, &mark, values), is_done);
}

/* -- expired marks --------------------------------------------------------------------------------- */

static void
move_marks(int64 gap)
{
	static YqSavedPlan move = {
		.command = "UPDATE yquota_internal.preemption_mark AS m SET marked_at = m.marked_at + $1 * interval '1 microsecond', "
		"told_at = m.told_at + CASE WHEN m.is_advised THEN $1 ELSE 0 END * interval '1 microsecond'",
		.types = {"int8"}
	};
	Datum		values[] = {Int64GetDatum(gap)};

	(void) yq_saved_plan_execute(&move, values, NULL);
}

/*
 * Forget old marks before new marks are written, because a container may be marked again
 * after its mark was forgotten.  Marks about which this round has made a decision are kept.
 */
static void
forget_marks(const YqLoadedPreemption *preemption, Datum now)
{
	static YqSavedPlan forget = {
		.command = "DELETE FROM yquota_internal.preemption_mark AS m WHERE m.container_id = ANY ($1) "
		"AND (m.told_at IS NULL OR m.told_at < $2)",
		.types = {"_text", "timestamptz"},
		.plans_once = true
	};
	Datum		values[] = {(Datum) 0, now};

	if (preemption->forgotten == NIL)
		return;
	values[0] = yq_array_of_strings(preemption->forgotten);
	(void) yq_saved_plan_execute(&forget, values, NULL);
}

/*
 * Raise an alert for each container that the resource manager should have ended, but has
 * not.  Clear the alerts of containers that have ended.
 */
static void
raise_alerts(const YqLoadedPreemption *preemption, Datum now)
{
	static YqSavedPlan raise = {
		.command = "INSERT INTO yquota.alert (kind, subject, detail, raised_at) SELECT 'preemption_ignored', m.container_id, pg_catalog.format("
		"'The resource manager was told to end this container, of application %s in queue %s, and has not.', m.application_id, m.queue), $2 "
		"FROM yquota_internal.preemption_mark AS m WHERE m.container_id = ANY ($1) "
		"AND EXISTS (SELECT FROM yquota.container AS c WHERE c.container_id = m.container_id) "
		"ON CONFLICT (kind, subject) WHERE cleared_at IS NULL DO NOTHING",
		.types = {"_text", "timestamptz"},
		.plans_once = true
	};
	static YqSavedPlan clear = {
		.command = "UPDATE yquota.alert AS a SET cleared_at = $1 WHERE a.cleared_at IS NULL "
		"AND a.kind = 'preemption_ignored' AND NOT EXISTS (SELECT FROM yquota.container AS c WHERE c.container_id = a.subject)",
		.types = {"timestamptz"}
	};
	Datum		values[] = {(Datum) 0, now};

	if (preemption->ignored != NIL)
	{
		values[0] = yq_array_of_strings(preemption->ignored);
		(void) yq_saved_plan_execute(&raise, values, NULL);
	}
	(void) yq_saved_plan_execute(&clear, &now, NULL);
}

static int64
count_done(const YqPreemption *state, const bool *is_done, OutcomeTest is_wanted)
{
	int64		count = 0;

	for (int i = 0; i < state->outcome_count; i++)
		count += is_done[i] && is_wanted(&state->outcomes[i]);
	return count;
}

static bool
is_unreserved(const YqPreemptionOutcome *outcome)
{
	return outcome->kind == YQ_PREEMPTION_UNRESERVED;
}

static void
record_round(const YqPreemption *state, const bool *is_done)
{
	static YqSavedPlan note = {
		.command = "INSERT INTO yquota_internal.preemption_round AS r "
		"(round_at, server_started_at, rounds, marked, killed, unreserved) VALUES ($1, $2, 1, $3, $4, $5) "
		"ON CONFLICT (only_row) DO UPDATE SET round_at = excluded.round_at, server_started_at = excluded.server_started_at, "
		"rounds = r.rounds + 1, marked = r.marked + excluded.marked, killed = r.killed + excluded.killed, "
		"unreserved = r.unreserved + excluded.unreserved",
		.types = {"timestamptz", "timestamptz", "int8", "int8", "int8"}
	};
	Datum		values[] = {TimestampTzGetDatum(state->now), TimestampTzGetDatum(PgStartTime),
		Int64GetDatum(count_done(state, is_done, is_mark)),
		Int64GetDatum(count_done(state, is_done, is_kill) + count_done(state, is_done, is_killable)),
	Int64GetDatum(count_done(state, is_done, is_unreserved))};

	(void) yq_saved_plan_execute(&note, values, NULL);
}

/* -- all ---------------------------------------------------------------------------------------------- */

bool *
yq_preemption_record(YqLoadedPreemption *preemption)
{
	const YqPreemption *state = preemption->state;
	bool	   *is_done = palloc0(Max(state->outcome_count, 1) * sizeof(bool));
	Columns		kills = collect(preemption, is_kill);
	YqUnfetchedContainer *unfetched = NULL;
	YqQueueLocks locks = {NIL};
	Datum		now;

	preemption->recorded_at = yq_clock_now();
	now = TimestampTzGetDatum(preemption->recorded_at);
	add_reasons(preemption, &kills);
	for (int i = 0; i < state->outcome_count; i++)
		is_done[i] = state->outcomes[i].kind == YQ_PREEMPTION_OBSERVED;
	if (!preemption->configuration.is_advising)
		unfetched = yq_unfetched_containers_find(&kills.containers);
	add_leaves_of_unfetched(&kills, unfetched, &locks);
	add_leaves_of_reservations(state, &locks);
	yq_queue_locks_take(&locks);
	if (preemption->gap > 0)
		move_marks(preemption->gap);
	if (state->outcome_count > 0)
		yq_scheduler_lock_events();
	record_reservations(state, is_done, now);
	record_kills(preemption, &kills, unfetched, is_done, now);
	record_killable(preemption, is_done, now);
	raise_alerts(preemption, now);
	forget_marks(preemption, now);
	record_marks(preemption, is_done, now);
	record_round(state, is_done);
	return is_done;
}
