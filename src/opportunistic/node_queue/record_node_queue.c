/*-------------------------------------------------------------------------
 *
 * record_node_queue.c
 *	  Writes the changes of a call to the queue of a node.
 *
 * A single statement writes all events, so that containers are locked in one order.
 * The statement runs last, because decisions may be about containers that the events
 * end.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "base/arguments.h"
#include "catalog/pg_type_d.h"
#include "miscadmin.h"
#include "opportunistic/node_queue/load_node_queue.h"
#include "opportunistic/node_queue/record_node_queue.h"
#include "queues/text.h"
#include "scheduler/request/container_request.h"
#include "store/catalog.h"
#include "store/saved_plan.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

/* -- rows -------------------------------------------------------------------------- */

/* Types of the parameters of the statements that write a row of node_queue, in order. */
#define ROW_TYPES {"text", "text", "text", "int8", "yquota.execution_type", "yquota.resource", "timestamptz", \
	"timestamptz", "timestamptz", "int8", "int4", "text", "text", "int4", "text", "int4", "bool", "interval"}

static YqRowBuilder
row_parameters(const YqNodeQueue *queue, const YqNodeQueueRow *row)
{
	YqRowBuilder values = {.count = 0};

	yq_row_put_text(&values, row->container_id);
	yq_row_put_text(&values, queue->node);
	yq_row_put_text(&values, yq_container_state_name(row->state));
	yq_row_put(&values, Int64GetDatum(row->place), false);
	yq_row_put(&values, ObjectIdGetDatum(yq_enum_oid("execution_type", row->container.is_guaranteed ?
													 "GUARANTEED" : "OPPORTUNISTIC")), false);
	yq_row_put(&values, row->allocation, false);
	yq_row_put(&values, TimestampTzGetDatum(row->state_at), false);
	yq_row_put(&values, TimestampTzGetDatum(row->started_at), !row->has_started);
	yq_row_put(&values, TimestampTzGetDatum(row->left_at), row->state != YQ_CONTAINER_GONE);
	yq_row_put(&values, Int64GetDatum(row->waited), false);
	yq_row_put(&values, Int32GetDatum(row->pauses), false);
	yq_row_put_text(&values, row->made_room_for);
	yq_row_put_text(&values, row->left_reason);
	yq_row_put(&values, Int32GetDatum(row->exit_status), !row->has_exit_status);
	yq_row_put_text(&values, row->diagnostics);
	yq_row_put(&values, Int32GetDatum(row->queue_limit), !row->has_queue_limit);
	yq_row_put(&values, BoolGetDatum(row->is_acknowledged), false);
	yq_row_put(&values, yq_expected_duration_interval(row->expected_duration), row->expected_duration == 0);
	return values;
}

static void
execute(YqSavedPlan *statement, YqRowBuilder *values)
{
	char		nulls[YQ_SAVED_PLAN_MAX_PARAMETERS];

	for (int i = 0; i < values->count; i++)
		nulls[i] = values->nulls[i] ? 'n' : ' ';
	(void) yq_saved_plan_execute(statement, values->values, nulls);
}

/* Insert a row.  If a container with this id was at a node before, its row is replaced. */
static void
insert_row(const YqNodeQueue *queue, const YqNodeQueueRow *row)
{
	static YqSavedPlan insert = {
		.command = "INSERT INTO yquota.node_queue AS q (container_id, node, state, place, execution_type, allocation, enqueued_at, "
		"state_at, started_at, left_at, waited, pauses, made_room_for, left_reason, exit_status, diagnostics, queue_limit, "
		"is_acknowledged, told_execution_type, told_allocation, expected_duration, project, application_id, queue) "
		"SELECT $1, $2, $3, $4, $5, $6, $7, $7, $8, $9, $10 * interval '1 microsecond', $11, $12, $13, $14, $15, $16, $17, "
		"$5, $6, $18, c.project, c.application_id, c.queue "
		"FROM yquota.container AS c WHERE c.container_id = $1 "
		"ON CONFLICT (container_id) DO UPDATE SET (node, state, place, execution_type, allocation, enqueued_at, state_at, "
		"started_at, left_at, waited, pauses, made_room_for, left_reason, exit_status, diagnostics, queue_limit, "
		"is_acknowledged, told_execution_type, told_allocation, expected_duration, project, application_id, queue) = "
		"ROW(excluded.node, excluded.state, excluded.place, excluded.execution_type, excluded.allocation, excluded.enqueued_at, "
		"excluded.state_at, excluded.started_at, excluded.left_at, excluded.waited, excluded.pauses, excluded.made_room_for, "
		"excluded.left_reason, excluded.exit_status, excluded.diagnostics, excluded.queue_limit, excluded.is_acknowledged, "
		"excluded.told_execution_type, excluded.told_allocation, excluded.expected_duration, excluded.project, "
		"excluded.application_id, excluded.queue)",
		.types = ROW_TYPES
	};
	YqRowBuilder values = row_parameters(queue, row);

	execute(&insert, &values);
}

/*
 * Update a row.  told_execution_type and told_allocation are set when the agent is told
 * to start the container.
 */
static void
update_row(const YqNodeQueue *queue, const YqNodeQueueRow *row)
{
	static YqSavedPlan update = {
		.command = "UPDATE yquota.node_queue AS q SET (state, place, execution_type, allocation, state_at, started_at, left_at, made_room_for, "
		"left_reason, exit_status, diagnostics, queue_limit, is_acknowledged) = ROW($3, $4, $5, $6, $7, $8, $9, $12, $13, $14, $15, $16, $17), "
		"waited = q.waited + $10 * interval '1 microsecond', pauses = q.pauses + $11, "
		"(told_execution_type, told_allocation) = ROW(CASE WHEN $17 OR $3 <> 'RUNNING' THEN q.told_execution_type ELSE $5 END, "
		"CASE WHEN $17 OR $3 <> 'RUNNING' THEN q.told_allocation ELSE $6 END) WHERE q.container_id = $1 AND q.node = $2",
		.types = ROW_TYPES
	};
	YqRowBuilder values = row_parameters(queue, row);

	execute(&update, &values);
}

static void
write_rows(YqNodeQueue *queue)
{
	ListCell   *cell;

	foreach(cell, queue->rows)
	{
		YqNodeQueueRow *row = lfirst(cell);

		CHECK_FOR_INTERRUPTS();
		if (row->has_joined)
			insert_row(queue, row);
		else if (row->is_changed)
			update_row(queue, row);
		row->is_written = row->is_written || row->is_changed || row->has_joined;
		row->is_changed = row->has_joined = false;
		row->waited = 0;
		row->pauses = 0;
	}
}

/* -- decisions ----------------------------------------------------------------------- */

/* Names of the decisions that applications are told about.  They are not told about starts. */
static const char *const decision_names[] = {
	[YQ_QUEUE_START] = NULL,
	[YQ_QUEUE_RESUME] = "resumed",
	[YQ_QUEUE_PAUSE] = "paused",
	[YQ_QUEUE_KILL] = "killed",
	[YQ_QUEUE_REJECT] = "rejected",
	[YQ_QUEUE_SHED] = "shed",
};

static void
write_decisions(YqNodeQueue *queue)
{
	static YqSavedPlan insert = {
		.command = "INSERT INTO yquota.decision (decision, container_id, application_id, queue, node, allocation, priority, "
		"allocation_request_id, decided_at, diagnostics, execution_type) SELECT w.decision, c.container_id, COALESCE(c.application_id, ''), "
		"COALESCE(c.queue, ''), c.node, c.allocation, c.priority, c.allocation_request_id, $4, w.diagnostics, c.execution_type "
		"FROM unnest($1, $2, $3) WITH ORDINALITY AS w (decision, container_id, diagnostics, number) "
		"JOIN yquota.container AS c ON c.container_id = w.container_id ORDER BY w.number",
		.types = {"_text", "_text", "_text", "timestamptz"},
		.plans_once = true
	};
	int			room = list_length(queue->queue->decisions);
	const char **names = palloc(sizeof(char *) * Max(room, 1));
	const char **ids = palloc(sizeof(char *) * Max(room, 1));
	const char **diagnostics = palloc(sizeof(char *) * Max(room, 1));
	int			count = 0;
	Datum		values[4];

	while (queue->told < room)
	{
		const YqQueueDecision *decision = list_nth(queue->queue->decisions, queue->told++);

		if (decision_names[decision->kind] == NULL)
			continue;
		names[count] = decision_names[decision->kind];
		ids[count] = yq_node_queue_row(decision->container)->container_id;
		diagnostics[count++] = yq_node_queue_diagnostics(queue, decision);
	}
	if (count == 0)
		return;
	values[0] = yq_array_of_names(names, count);
	values[1] = yq_array_of_names(ids, count);
	values[2] = yq_array_of_names(diagnostics, count);
	values[3] = TimestampTzGetDatum(queue->now);
	(void) yq_saved_plan_execute(&insert, values, NULL);
}

/* -- events ---------------------------------------------------------------------------- */

static Datum
array_of(Datum *elements, int count, Oid type, int length, bool by_value, char alignment)
{
	return PointerGetDatum(construct_array(elements, count, type, length, by_value, alignment));
}

/*
 * Write events.  The source of an event is "node_queue" if the agent has reported it,
 * and "scheduler" if it was decided here.
 */
void
yq_node_queue_write_events(const YqNodeQueue *queue, int first, int count)
{
	static YqSavedPlan insert = {
		.command = "INSERT INTO yquota.container_event (event, container_id, occurred_at, exit_status, is_running, source) "
		"SELECT CASE WHEN w.is_finish THEN 'CONTAINER_FINISH' ELSE 'CONTAINER_UPDATE' END::yquota.container_event_type, "
		"w.container_id, w.at, CASE WHEN w.is_finish THEN w.exit_status END, CASE WHEN NOT w.is_finish THEN w.is_running END, "
		"CASE WHEN w.is_reported THEN 'node_queue' ELSE 'scheduler' END "
		"FROM unnest($1, $2, $3, $4, $5, $6) AS w (container_id, at, is_finish, exit_status, is_running, is_reported)",
		.types = {"_text", "_timestamptz", "_bool", "_int4", "_bool", "_bool"},
		.plans_once = true
	};
	const char **ids = palloc(sizeof(char *) * Max(count, 1));
	Datum	   *columns[5];
	Datum		values[6];

	if (count == 0)
		return;
	for (int i = 0; i < (int) lengthof(columns); i++)
		columns[i] = palloc(sizeof(Datum) * count);
	for (int i = 0; i < count; i++)
	{
		const YqNodeQueueEvent *event = list_nth(queue->events, first + i);

		ids[i] = event->container_id;
		columns[0][i] = TimestampTzGetDatum(event->at);
		columns[1][i] = BoolGetDatum(event->is_finish);
		columns[2][i] = Int32GetDatum(event->exit_status);
		columns[3][i] = BoolGetDatum(event->is_running);
		columns[4][i] = BoolGetDatum(event->is_reported);
	}
	values[0] = yq_array_of_names(ids, count);
	values[1] = array_of(columns[0], count, TIMESTAMPTZOID, sizeof(TimestampTz), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE);
	values[2] = array_of(columns[1], count, BOOLOID, sizeof(bool), true, TYPALIGN_CHAR);
	values[3] = array_of(columns[2], count, INT4OID, sizeof(int32), true, TYPALIGN_INT);
	values[4] = array_of(columns[3], count, BOOLOID, sizeof(bool), true, TYPALIGN_CHAR);
	values[5] = array_of(columns[4], count, BOOLOID, sizeof(bool), true, TYPALIGN_CHAR);
	(void) yq_saved_plan_execute(&insert, values, NULL);
}

/* Execute a statement for the containers in a list, and empty the list. */
static void
execute_for(YqSavedPlan *command, List **containers)
{
	Datum		values[1];

	if (*containers == NIL)
		return;
	values[0] = yq_array_of_strings(*containers);
	(void) yq_saved_plan_execute(command, values, NULL);
	*containers = NIL;
}

static void
acknowledge_arrived(YqNodeQueue *queue)
{
	static YqSavedPlan acknowledge = {
		.command = "WITH arrived AS (DELETE FROM yquota_internal.awaited_container AS w WHERE w.container_id = ANY ($1)) "
		"SELECT yquota_internal.acknowledge_containers($1)",
		.types = {"_text"}
	};

	execute_for(&acknowledge, &queue->arrived);
}

/* Delete expected durations that have been copied to rows of node_queue. */
static void
drop_expected_durations(YqNodeQueue *queue)
{
	static YqSavedPlan drop = {
		.command = "DELETE FROM yquota_internal.expected_duration AS e WHERE e.container_id = ANY ($1)",
		.types = {"_text"}
	};

	execute_for(&drop, &queue->expected);
}

static void
write_all(YqNodeQueue *queue)
{
	write_rows(queue);
	write_decisions(queue);
	yq_node_queue_write_events(queue, 0, list_length(queue->events));
	queue->events = NIL;
	acknowledge_arrived(queue);
	drop_expected_durations(queue);
	yq_record_node_preemption(queue);
}

void
yq_record_node_queue(YqNodeQueue *queue)
{
	write_all(queue);
	while (yq_node_queue_learn_late_ends(queue))
		write_all(queue);
}
