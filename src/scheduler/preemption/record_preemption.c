/*-------------------------------------------------------------------------
 *
 * record_preemption.c
 *	  Writing down a round of preemption: kills, marks, reservations, decisions.
 *
 * Locks are taken in the order of allocation cycles: leaves of reservations that go, the
 * log of events, containers, decisions.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "admission/queue_lock.h"
#include "catalog/pg_type_d.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "queues/text.h"
#include "scheduler/preemption/record_preemption.h"
#include "scheduler/record/scheduler_journal.h"
#include "scheduler/record/scheduler_lock.h"
#include "store/catalog.h"
#include "store/clock.h"
#include "store/saved_plan.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

/* -- outcomes as arrays --------------------------------------------------------------- */

/* Some of the outcomes, as columns of the same length. */
typedef struct Columns
{
	int			count;
	int		   *outcomes;		/* by number */
	const char **container_ids;
	const char **application_ids;
	const char **queues;
	const char **queue_names;
	const char **selectors;
	Datum	   *allocations;
} Columns;

typedef bool (*OutcomeTest) (const YqPreemptionOutcome *outcome);

static Columns
make_columns(int room)
{
	Size		size = Max(room, 1) * sizeof(char *);

	return (Columns) {.outcomes = palloc(Max(room, 1) * sizeof(int)),.container_ids = palloc(size),
		.application_ids = palloc(size),.queues = palloc(size),.queue_names = palloc(size),.selectors = palloc(size),
		.allocations = palloc(Max(room, 1) * sizeof(Datum))};
}

static Columns
collect(const YqLoadedPreemption *preemption, OutcomeTest is_wanted)
{
	const YqPreemption *state = preemption->state;
	Columns		columns = make_columns(state->outcome_count);

	for (int i = 0; i < state->outcome_count; i++)
	{
		const YqPreemptionOutcome *outcome = &state->outcomes[i];
		const YqPreemptionContainer *container = outcome->container;
		int			at = columns.count;

		if (!is_wanted(outcome))
			continue;
		columns.outcomes[at] = i;
		columns.container_ids[at] = container->container_id;
		columns.application_ids[at] = container->application->application_id;
		columns.queues[at] = container->application->leaf->path;
		columns.queue_names[at] = yq_preemption_queue(container->application->leaf)->name;
		columns.selectors[at] = yq_preemption_selector_name(outcome->selector);
		columns.allocations[at] = yq_hierarchy_resource(preemption->hierarchy, container->amounts);
		columns.count++;
	}
	return columns;
}

static Datum
array_of_allocations(const Columns *columns)
{
	return PointerGetDatum(construct_array(columns->allocations, columns->count, yq_type_oid("resource"), -1, false,
										   TYPALIGN_INT));
}

/* The container ids in the first column of rows: set is_done of their outcomes. */
static void
note_done(const Columns *columns, const List *container_ids, bool *is_done)
{
	HTAB	   *done = yq_bytes_table_create("yquota preempted containers", sizeof(YqBytes), CurrentMemoryContext);
	ListCell   *cell;
	bool		found;

	foreach(cell, container_ids)
		(void) yq_bytes_table_enter_kept(done, yq_bytes_of_string(lfirst(cell)), &found);
	for (int i = 0; i < columns->count; i++)
		is_done[columns->outcomes[i]] = yq_bytes_table_find(done, yq_bytes_of_string(columns->container_ids[i])) != NULL;
	hash_destroy(done);
}

/* -- reservations ------------------------------------------------------------------------- */

static bool
is_about_reservation(const YqPreemptionOutcome *outcome)
{
	return outcome->kind == YQ_PREEMPTION_UNRESERVED || outcome->kind == YQ_PREEMPTION_MOVED;
}

static void
lock_leaves_of_reservations(const YqPreemption *state)
{
	YqQueueLocks locks = {NIL};

	for (int i = 0; i < state->outcome_count; i++)
	{
		if (is_about_reservation(&state->outcomes[i]))
			yq_queue_locks_add(&locks, YQ_LOCK_LEAF, state->outcomes[i].container->application->leaf->path);
	}
	yq_queue_locks_take(&locks);
}

/* Counters of the request begin anew, as when a cycle gives a reservation up. */
static bool
give_up_reservation(const YqReservation *reservation, const YqPreemptionContainer *container, Datum queue, Datum now)
{
	static YqSavedPlan give_up = {
		.command = "WITH given_up AS (DELETE FROM yquota.reserved_container AS r "
		"WHERE r.node = $1 AND r.container_id = $2 AND r.application_id = $3 RETURNING r.*), "
		"of_update AS (UPDATE yquota.container_update AS u SET re_reservations = 0 FROM given_up AS g "
		"WHERE u.container_id = g.container_to_update AND u.re_reservations <> 0), "
		"of_request AS (UPDATE yquota_internal.request_counter AS c SET re_reservations = 0 FROM given_up AS g "
		"WHERE g.container_to_update IS NULL AND c.application_id = g.application_id AND c.priority = g.priority "
		"AND c.allocation_request_id = g.allocation_request_id AND c.re_reservations <> 0) "
		"INSERT INTO yquota.decision (decision, container_id, application_id, queue, node, allocation, priority, "
		"allocation_request_id, decided_at) "
		"SELECT 'unreserved', g.container_id, g.application_id, $4, g.node, g.allocation, g.priority, g.allocation_request_id, $5 "
		"FROM given_up AS g",
		.types = {"text", "text", "text", "text", "timestamptz"}
	};
	Datum		values[] = {CStringGetTextDatum(reservation->node->name), CStringGetTextDatum(container->container_id),
	CStringGetTextDatum(container->application->application_id), queue, now};

	return yq_saved_plan_execute(&give_up, values, NULL) > 0;
}

/* The resource manager learns of the new node first, so that it keeps the reservation. */
static bool
move_reservation(const YqReservation *reservation, const YqPreemptionOutcome *outcome, Datum queue, Datum now)
{
	static YqSavedPlan move = {
		.command = "WITH moved AS (UPDATE yquota.reserved_container AS r SET node = $6, moved_at = $5 "
		"WHERE r.node = $1 AND r.container_id = $2 AND r.application_id = $3 "
		"AND NOT EXISTS (SELECT FROM yquota.reserved_container AS other WHERE other.node = $6) RETURNING r.*) "
		"INSERT INTO yquota.decision (decision, container_id, application_id, queue, node, allocation, priority, "
		"allocation_request_id, decided_at) "
		"SELECT d.decision, m.container_id, m.application_id, $4, d.node, m.allocation, m.priority, m.allocation_request_id, $5 "
		"FROM moved AS m CROSS JOIN (VALUES (1, 'reserved', $6), (2, 'unreserved', $1)) AS d (place, decision, node) ORDER BY d.place",
		.types = {"text", "text", "text", "text", "timestamptz", "text"}
	};
	const YqPreemptionContainer *container = outcome->container;
	Datum		values[] = {CStringGetTextDatum(reservation->node->name), CStringGetTextDatum(container->container_id),
	CStringGetTextDatum(container->application->application_id), queue, now, CStringGetTextDatum(outcome->node->name)};

	return yq_saved_plan_execute(&move, values, NULL) > 0;
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

/* Containers that are as the round knew them: of the same application and queue, and no larger. */
#define RUNNING_AS_KNOWN \
	"WITH wanted AS MATERIALIZED (SELECT w.* FROM unnest($1, $2, $3, $4, $5) " \
	"AS w (container_id, application_id, queue, queue_name, allocation)), " \
	"running AS MATERIALIZED (SELECT c.container_id, c.application_id, w.queue, COALESCE(c.node, '') AS node, c.allocation, " \
	"c.priority, c.allocation_request_id, c.settled_at " \
	"FROM wanted AS w JOIN yquota.container AS c ON c.container_id = w.container_id " \
	"AND c.application_id = w.application_id AND c.queue IN (w.queue, w.queue_name) " \
	"AND c.allocation OPERATOR(yquota.<@) w.allocation AND c.execution_type = 'GUARANTEED' " \
	"ORDER BY c.container_id FOR UPDATE OF c SKIP LOCKED), "

/* One row for a container and decision: a lost reply, or a mark that was forgotten, makes no second one. */
#define TELL(decision, advised) \
	"told AS (INSERT INTO yquota.decision (decision, container_id, application_id, queue, node, allocation, priority, " \
	"allocation_request_id, decided_at, advised) " \
	"SELECT '" decision "', r.container_id, r.application_id, r.queue, r.node, r.allocation, r.priority, " \
	"r.allocation_request_id, $6, " advised " FROM running AS r WHERE NOT EXISTS (SELECT FROM yquota.decision AS d " \
	"WHERE d.container_id = r.container_id AND d.decision = '" decision "') ORDER BY r.container_id), "

#define RUNNING_TYPES {"_text", "_text", "_text", "_text", "yquota._resource", "timestamptz"}

/* ContainerExitStatus.PREEMPTED */
static YqSavedPlan end_containers = {
	.command = RUNNING_AS_KNOWN
	"ended AS (INSERT INTO yquota.container_event (event, container_id, occurred_at, exit_status, source) "
	"SELECT 'CONTAINER_FINISH', r.container_id, greatest(yquota.clock(), r.settled_at), -102, 'scheduler' FROM running AS r), "
	TELL("killed", "false")
	"forgotten AS (DELETE FROM yquota.preemption_mark AS m USING running AS r WHERE m.container_id = r.container_id) "
	"SELECT r.container_id FROM running AS r",
	.types = RUNNING_TYPES,
	.plans_once = true
};

static YqSavedPlan advise_ends = {
	.command = RUNNING_AS_KNOWN TELL("killed", "true")
	"noted AS (UPDATE yquota.preemption_mark AS m SET is_advised = true, told_at = $6 FROM running AS r "
	"WHERE m.container_id = r.container_id) "
	"SELECT r.container_id FROM running AS r",
	.types = RUNNING_TYPES,
	.plans_once = true
};

static YqSavedPlan make_killable = {
	.command = RUNNING_AS_KNOWN TELL("killable", "false")
	"noted AS (UPDATE yquota.preemption_mark AS m SET is_killable = true, told_at = $6 FROM running AS r "
	"WHERE m.container_id = r.container_id) "
	"SELECT r.container_id FROM running AS r",
	.types = RUNNING_TYPES,
	.plans_once = true
};

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
record_running(const YqLoadedPreemption *preemption, OutcomeTest is_wanted, YqSavedPlan *statement, bool *is_done, Datum now)
{
	Columns		columns = collect(preemption, is_wanted);
	Datum		values[] = {
		yq_array_of_names(columns.container_ids, columns.count),
		yq_array_of_names(columns.application_ids, columns.count),
		yq_array_of_names(columns.queues, columns.count),
		yq_array_of_names(columns.queue_names, columns.count),
		array_of_allocations(&columns),
		now
	};

	if (columns.count > 0)
		note_done(&columns, yq_saved_plan_strings(statement, values), is_done);
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
		.command = "WITH running AS MATERIALIZED (SELECT c.container_id, w.application_id, w.queue, w.selector, "
		"COALESCE(c.node, '') AS node, c.allocation, c.priority, c.allocation_request_id "
		"FROM unnest($1, $2, $3, $4) AS w (container_id, application_id, queue, selector) "
		"JOIN yquota.container AS c ON c.container_id = w.container_id), "
		TELL("marked", "false")
		"marked AS (INSERT INTO yquota.preemption_mark (container_id, marked_at, application_id, queue, selector) "
		"SELECT r.container_id, $5, r.application_id, r.queue, r.selector FROM running AS r ORDER BY r.container_id) "
		"SELECT r.container_id FROM running AS r",
		.types = {"_text", "_text", "_text", "_text", "timestamptz", "timestamptz"},
		.plans_once = true
	};
	Columns		columns = collect(preemption, is_mark);
	Datum		values[] = {
		yq_array_of_names(columns.container_ids, columns.count),
		yq_array_of_names(columns.application_ids, columns.count),
		yq_array_of_names(columns.queues, columns.count),
		yq_array_of_names(columns.selectors, columns.count),
		TimestampTzGetDatum(preemption->state->now),
		now
	};

	if (columns.count > 0)
		note_done(&columns, yq_saved_plan_strings(&mark, values), is_done);
}

/* -- what is over ---------------------------------------------------------------------------------- */

static void
move_marks(int64 gap)
{
	static YqSavedPlan move = {
		.command = "UPDATE yquota.preemption_mark AS m SET marked_at = m.marked_at + $1 * interval '1 microsecond'",
		.types = {"int8"}
	};
	Datum		values[] = {Int64GetDatum(gap)};

	(void) yq_saved_plan_execute(&move, values, NULL);
}

/* Before others are made: a container whose mark is forgotten may be marked anew.  What this round has told stays. */
static void
forget_marks(const YqLoadedPreemption *preemption, Datum now)
{
	static YqSavedPlan forget = {
		.command = "DELETE FROM yquota.preemption_mark AS m WHERE m.container_id = ANY ($1) "
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

/* The resource manager was told to end containers, and has not. */
static void
raise_alerts(const YqLoadedPreemption *preemption, Datum now)
{
	static YqSavedPlan raise = {
		.command = "INSERT INTO yquota.alert (kind, subject, detail, raised_at) "
		"SELECT 'preemption_ignored', m.container_id, pg_catalog.format("
		"'The resource manager was told at %s to end this container, of application %s in queue %s, and has not.', "
		"m.told_at, m.application_id, m.queue), $2 "
		"FROM yquota.preemption_mark AS m WHERE m.container_id = ANY ($1) "
		"AND EXISTS (SELECT FROM yquota.container AS c WHERE c.container_id = m.container_id) "
		"ON CONFLICT (kind, subject) WHERE cleared_at IS NULL DO NOTHING",
		.types = {"_text", "timestamptz"},
		.plans_once = true
	};
	static YqSavedPlan clear = {
		.command = "UPDATE yquota.alert AS a SET cleared_at = $1 WHERE a.kind = 'preemption_ignored' AND a.cleared_at IS NULL "
		"AND NOT EXISTS (SELECT FROM yquota.container AS c WHERE c.container_id = a.subject)",
		.types = {"timestamptz"}
	};
	Datum		values[] = {(Datum) 0, now};

	if (preemption->ignored != NIL)
	{
		values[0] = yq_array_of_strings(preemption->ignored);
		(void) yq_saved_plan_execute(&raise, values, NULL);
	}
	if (preemption->configuration.is_advising)
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
	Datum		now;

	preemption->recorded_at = yq_clock_now();
	now = TimestampTzGetDatum(preemption->recorded_at);
	for (int i = 0; i < state->outcome_count; i++)
		is_done[i] = state->outcomes[i].kind == YQ_PREEMPTION_OBSERVED;
	lock_leaves_of_reservations(state);
	if (preemption->gap > 0)
		move_marks(preemption->gap);
	if (state->outcome_count > 0)
		yq_scheduler_lock_events();
	record_reservations(state, is_done, now);
	record_running(preemption, is_kill, preemption->configuration.is_advising ? &advise_ends : &end_containers, is_done, now);
	record_running(preemption, is_killable, &make_killable, is_done, now);
	raise_alerts(preemption, now);
	forget_marks(preemption, now);
	record_marks(preemption, is_done, now);
	record_round(state, is_done);
	return is_done;
}
