/*-------------------------------------------------------------------------
 *
 * node_queue_sql.c
 *	  Offers the queue of a node as SQL functions, see
 *	  sql/opportunistic/396_node_queue.sql and
 *	  sql/opportunistic/397_node_queue_order.sql.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "base/arguments.h"
#include "base/resource.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "opportunistic/node_queue/load_node_queue.h"
#include "opportunistic/node_queue/node_container.h"
#include "opportunistic/node_queue/node_queue.h"
#include "opportunistic/node_queue/record_node_queue.h"
#include "scheduler/record/refusal.h"
#include "store/catalog.h"
#include "store/saved_plan.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

/* -- node queue sql ------------------------------------------------------------ */

PG_FUNCTION_INFO_V1(yq_sql_advance_node_queue);
PG_FUNCTION_INFO_V1(yq_sql_container_ended);
PG_FUNCTION_INFO_V1(yq_sql_container_paused);
PG_FUNCTION_INFO_V1(yq_sql_enqueue_container);
PG_FUNCTION_INFO_V1(yq_sql_lock_node_queue);
PG_FUNCTION_INFO_V1(yq_sql_node_room);
PG_FUNCTION_INFO_V1(yq_sql_recover_node_queue);
PG_FUNCTION_INFO_V1(yq_sql_shed_containers);

/* -- results: rows of yquota.node_action ------------------------------------------ */

static const char *const action_names[] = {
	[YQ_QUEUE_START] = "start",
	[YQ_QUEUE_RESUME] = "resume",
	[YQ_QUEUE_PAUSE] = "pause",
	[YQ_QUEUE_KILL] = "kill",
	[YQ_QUEUE_REJECT] = "rejected",
	[YQ_QUEUE_SHED] = "shed",
};

/* Add an action for a container to the result.  The size is NULL if the node does not have the container. */
static void
return_action(FunctionCallInfo fcinfo, const char *action, const YqNodeQueueRow *row, const char *diagnostics)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	YqRowBuilder values = {.count = 0};
	bool		is_kill = strcmp(action, action_names[YQ_QUEUE_KILL]) == 0;
	bool		is_unknown = DatumGetPointer(row->allocation) == NULL;

	yq_row_put_text(&values, action);
	yq_row_put_text(&values, row->container_id);
	yq_row_put(&values, ObjectIdGetDatum(yq_enum_oid("execution_type", row->container.is_guaranteed ?
													 "GUARANTEED" : "OPPORTUNISTIC")), is_unknown);
	yq_row_put(&values, row->allocation, is_unknown);
	yq_row_put(&values, Int32GetDatum(is_kill ? YQ_EXIT_KILLED_BY_CONTAINER_SCHEDULER : row->exit_status),
			   !is_kill && !row->has_exit_status);
	yq_row_put_text(&values, diagnostics);
	yq_row_put_text(&values, row->made_room_for);
	tuplestore_putvalues(result->setResult, result->setDesc, values.values, values.nulls);
}

/* Add an action for a container that the node does not have to the result. */
static void
return_unknown(FunctionCallInfo fcinfo, const char *action, const char *container_id, const char *reason)
{
	YqNodeQueueRow row = {.container_id = container_id};

	return_action(fcinfo, action, &row, reason);
}

static void
return_decisions(FunctionCallInfo fcinfo, const YqNodeQueue *queue)
{
	ListCell   *cell;

	foreach(cell, queue->queue->decisions)
	{
		const YqQueueDecision *decision = lfirst(cell);
		const YqNodeQueueRow *row = yq_node_queue_row(decision->container);
		bool		drops = decision->kind == YQ_QUEUE_REJECT || decision->kind == YQ_QUEUE_SHED;

		/* the container has ended after the decision */
		if (row->state == YQ_CONTAINER_GONE && !drops)
			return_action(fcinfo, "stop", row, NULL);
		else
			return_action(fcinfo, action_names[decision->kind], row, yq_node_queue_diagnostics(queue, decision));
	}
}

static bool
is_decided_about(const YqNodeQueue *queue, const YqNodeQueueRow *row)
{
	ListCell   *cell;

	foreach(cell, queue->queue->decisions)
	{
		const YqQueueDecision *decision = lfirst(cell);

		if (yq_node_queue_row(decision->container) == row)
			return true;
	}
	return false;
}

/*
 * Add the action that follows from the container's state to the result.  The action is left out if
 * a decision of this call is about the container.
 */
static void
return_state(FunctionCallInfo fcinfo, const YqNodeQueue *queue, const YqNodeQueueRow *row)
{
	const char *action = "queued";

	if (is_decided_about(queue, row))
		return;
	if (row->state == YQ_CONTAINER_RUNNING)
		action = action_names[row->was_paused ? YQ_QUEUE_RESUME : YQ_QUEUE_START];
	else if (row->state == YQ_CONTAINER_PAUSING)
		action = action_names[YQ_QUEUE_PAUSE];
	else if (row->state == YQ_CONTAINER_KILLING)
		action = action_names[YQ_QUEUE_KILL];
	else if (row->state == YQ_CONTAINER_GONE)
		action = "stop";
	return_action(fcinfo, action, row, row->diagnostics);
}

/* Write all changes of a call.  This is the last step before the result is returned. */
static void
write_down(YqNodeQueue *queue)
{
	yq_node_queue_preempt(queue);
	yq_record_node_queue(queue);
}

static void
finish(FunctionCallInfo fcinfo, YqNodeQueue *queue)
{
	write_down(queue);
	return_decisions(fcinfo, queue);
}

/* -- a call ---------------------------------------------------------------------------- */

typedef struct Call
{
	FunctionCallInfo fcinfo;
	void		(*operation) (struct Call *call);
	const char *container_id;	/* id of the container that the call is about; NULL: the call is about the whole node */
	YqNodeQueue *queue;			/* NULL: the queue has not been opened yet */
	List	   *refused;		/* ids (char *) of containers whose events were refused, and which are held back */
	bool		is_refused;		/* is the refused event about the call's own container, or about a container that is
								 * already held back? */
} Call;

static void
operate(void *argument)
{
	Call	   *call = argument;

	call->queue = NULL;
	call->operation(call);
}

static void
write_events(void *argument, int first, int count)
{
	const Call *call = argument;

	yq_node_queue_write_events(call->queue, first, count);
}

static void
refuse(void *argument, int subject, const ErrorData *error)
{
	Call	   *call = argument;
	const YqNodeQueueEvent *event = list_nth(call->queue->events, subject);

	if ((call->container_id != NULL && strcmp(call->container_id, event->container_id) == 0) ||
		!yq_refusal_note(YQ_ROUND_NODE_QUEUE, event->container_id, error))
		call->is_refused = true;
	call->refused = lappend(call->refused, unconstify(char *, event->container_id));
}

/*
 * Find the containers whose events are refused, and hold them back.  Returns true if
 * the call can be repeated without these containers.
 */
static bool
refuse_events(Call *call)
{
	const YqRound round = {.count = call->queue == NULL ? 0 : list_length(call->queue->events),.work = write_events,
	.refuse = refuse,.argument = call};
	int			before = list_length(call->refused);

	yq_round_try(&round);
	return list_length(call->refused) > before && !call->is_refused;
}

/*
 * Run an operation.  If the event of a waiting container is refused, the container is
 * held back: the operation is repeated without it.
 */
static Datum
run(FunctionCallInfo fcinfo, void (*operation) (Call *call), const char *container_id)
{
	Call		call = {.fcinfo = fcinfo,.operation = operation,.container_id = container_id};

	InitMaterializedSRF(fcinfo, 0);
	for (;;)
	{
		ErrorData  *error = yq_attempt(operate, &call);

		if (error == NULL)
			return (Datum) 0;
		if (!refuse_events(&call))
			ReThrowError(error);
		tuplestore_clear(((ReturnSetInfo *) fcinfo->resultinfo)->setResult);
	}
}

/* -- arguments ----------------------------------------------------------------------- */

static const char *
required_string(FunctionCallInfo fcinfo, int argument, const char *name)
{
	return text_to_cstring(yq_required_text(fcinfo, argument, name));
}

/* Open and settle the queue of the node that the first argument names. */
static YqNodeQueue *
open_settled(Call *call)
{
	call->queue = yq_node_queue_open(required_string(call->fcinfo, 0, "node"));
	yq_node_queue_settle(call->queue);
	return call->queue;
}

static TimestampTz
instant_argument(FunctionCallInfo fcinfo, int argument, const YqNodeQueue *queue)
{
	TimestampTz at = PG_ARGISNULL(argument) ? queue->now : PG_GETARG_TIMESTAMPTZ(argument);

	if (TIMESTAMP_NOT_FINITE(at))
		ereport(ERROR,
				(errcode(ERRCODE_DATETIME_FIELD_OVERFLOW),
				 errmsg("at must be finite")));
	return at;
}

/* -- arrival ------------------------------------------------------------------------- */

/* Return how a container left the node.  Returns false if the container never was at the node. */
static bool
return_left(FunctionCallInfo fcinfo, const YqNodeQueue *queue, const char *container_id)
{
	static YqSavedPlan look_up = {
		.command = "SELECT CASE WHEN q.left_reason IN ('rejected', 'shed') THEN q.left_reason ELSE 'stop' END, "
		"q.exit_status, q.diagnostics FROM yquota.node_queue AS q "
		"WHERE q.container_id = $1 AND q.node = $2 AND q.left_at IS NOT NULL",
		.types = {"text", "text"}
	};
	Datum		parameters[] = {CStringGetTextDatum(container_id), CStringGetTextDatum(queue->node)};
	bool		is_found;

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	is_found = yq_saved_plan_run(&look_up, parameters, NULL) > 0;
	if (is_found)
	{
		HeapTuple	tuple = SPI_tuptable->vals[0];
		TupleDesc	descriptor = SPI_tuptable->tupdesc;
		YqNodeQueueRow row = {.container_id = container_id};
		Datum		exit_status;
		bool		isnull;

		exit_status = SPI_getbinval(tuple, descriptor, 2, &isnull);
		row.has_exit_status = !isnull;
		row.exit_status = isnull ? 0 : DatumGetInt32(exit_status);
		return_action(fcinfo, SPI_getvalue(tuple, descriptor, 1), &row, SPI_getvalue(tuple, descriptor, 3));
	}
	SPI_finish();
	return is_found;
}

/*
 * Repeat the actions of the first call's answer that still apply.  They are for the arrived
 * container, and for containers that make room for it.
 */
static void
return_first_answer(FunctionCallInfo fcinfo, const YqNodeQueue *queue, const YqNodeQueueRow *arrived)
{
	ListCell   *cell;

	return_state(fcinfo, queue, arrived);
	foreach(cell, queue->rows)
	{
		const YqNodeQueueRow *row = lfirst(cell);

		if ((row->state == YQ_CONTAINER_PAUSING || row->state == YQ_CONTAINER_KILLING) &&
			row->made_room_for != NULL && strcmp(row->made_room_for, arrived->container_id) == 0)
			return_state(fcinfo, queue, row);
	}
}

static void
enqueue(Call *call)
{
	FunctionCallInfo fcinfo = call->fcinfo;
	const char *container_id = required_string(fcinfo, 1, "container_id");
	YqNodeQueue *queue = open_settled(call);
	YqNodeQueueRow *row = yq_node_queue_find(queue, container_id);
	const char *reason;
	bool		waits;

	if (row != NULL)
	{
		finish(fcinfo, queue);
		return_first_answer(fcinfo, queue, row);
		return;
	}
	row = yq_node_queue_join(queue, container_id, &reason);
	if (row != NULL)
		yq_node_queue_arrive(queue, row);
	waits = row != NULL && row->state == YQ_CONTAINER_QUEUED;
	write_down(queue);
	if (waits)
		return_state(fcinfo, queue, row);
	return_decisions(fcinfo, queue);
	if (row == NULL && !return_left(fcinfo, queue, container_id))
		return_unknown(fcinfo, "refused", container_id, reason);
}

/* enqueue_container(node, container_id) */
Datum
yq_sql_enqueue_container(PG_FUNCTION_ARGS)
{
	return run(fcinfo, enqueue, text_to_cstring(yq_required_text(fcinfo, 1, "container_id")));
}

/* -- ends and pauses ------------------------------------------------------------------- */

/*
 * Find out what is known about the end of a container that is not in the node's queue.
 * The result is that of yquota_internal.known_of_end().
 */
static const char *
look_up_end(const YqNodeQueue *queue, const char *container_id, TimestampTz at, bool is_by_clock)
{
	static YqSavedPlan look_up = {
		.command = "SELECT k.known FROM yquota_internal.known_of_end($1, $2, $3, $4) AS k",
		.types = {"text", "text", "timestamptz", "bool"}
	};
	Datum		parameters[] = {
		CStringGetTextDatum(container_id), CStringGetTextDatum(queue->node), TimestampTzGetDatum(at), BoolGetDatum(is_by_clock)
	};

	return linitial(yq_saved_plan_strings(&look_up, parameters));
}

/* Record that the agent knows the end of a container.  If two ends are known, the earlier time counts. */
static void
acknowledge_end(const YqNodeQueue *queue, const char *container_id, TimestampTz at, int exit_status)
{
	static YqSavedPlan acknowledge = {
		.command = "UPDATE yquota.node_queue AS q "
		"SET is_acknowledged = true, exit_status = COALESCE(q.exit_status, $3), left_at = LEAST(q.left_at, $4) "
		"WHERE q.container_id = $1 AND q.node = $2 AND q.left_at IS NOT NULL AND (NOT q.is_acknowledged OR q.left_at > $4)",
		.types = {"text", "text", "int4", "timestamptz"}
	};
	Datum		parameters[] = {
		CStringGetTextDatum(container_id), CStringGetTextDatum(queue->node), Int32GetDatum(exit_status), TimestampTzGetDatum(at)
	};

	(void) yq_saved_plan_execute(&acknowledge, parameters, NULL);
}

/*
 * Record the end of a container that is not in this queue.  Of two ends, the earlier
 * one counts.  If the reported end is not yet known, an event reports it.
 */
static void
end_elsewhere(YqNodeQueue *queue, const char *container_id, TimestampTz at, bool is_by_clock, int exit_status)
{
	const char *known = look_up_end(queue, container_id, at, is_by_clock);

	if (strcmp(known, "unknown") == 0)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("container \"%s\" is not in the books", container_id)));
	if (strcmp(known, "elsewhere") == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("container \"%s\" is not on node \"%s\"", container_id, queue->node)));
	if (strcmp(known, "known") != 0)
		yq_node_queue_note_end(queue, container_id, at, exit_status);
}

static void
note_end(Call *call)
{
	FunctionCallInfo fcinfo = call->fcinfo;
	const char *container_id = required_string(fcinfo, 1, "container_id");
	YqNodeQueue *queue = open_settled(call);
	YqNodeQueueRow *row = yq_node_queue_find(queue, container_id);
	TimestampTz at = instant_argument(fcinfo, 2, queue);
	bool		is_by_clock = PG_ARGISNULL(2);
	int			exit_status;

	yq_require_value(PG_ARGISNULL(3), "exit_status");
	exit_status = PG_GETARG_INT32(3);
	/* even if the clock was set back, do not end the container before its last event */
	if (row != NULL)
		yq_node_queue_end(queue, row, is_by_clock ? Max(at, row->next_instant) : at, exit_status, true);
	else
		end_elsewhere(queue, container_id, at, is_by_clock, exit_status);
	finish(fcinfo, queue);
	if (row == NULL)
		acknowledge_end(queue, container_id, is_by_clock ? DT_NOEND : at, exit_status);
}

/* container_ended(node, container_id, at, exit_status) */
Datum
yq_sql_container_ended(PG_FUNCTION_ARGS)
{
	return run(fcinfo, note_end, text_to_cstring(yq_required_text(fcinfo, 1, "container_id")));
}

/*
 * Record that a container was paused.  If it should not be paused, or is already
 * paused, return the action that its state requires.
 */
static void
note_pause(Call *call)
{
	FunctionCallInfo fcinfo = call->fcinfo;
	const char *container_id = required_string(fcinfo, 1, "container_id");
	YqNodeQueue *queue = open_settled(call);
	YqNodeQueueRow *row = yq_node_queue_find(queue, container_id);
	TimestampTz at = instant_argument(fcinfo, 2, queue);
	bool		is_pausing = row != NULL && row->state == YQ_CONTAINER_PAUSING;

	if (is_pausing)
		yq_node_queue_pause(queue, row, at);
	finish(fcinfo, queue);
	if (row == NULL)
		return_unknown(fcinfo, "refused", container_id,
					   psprintf("Container \"%s\" is not in the queue of node \"%s\".", container_id, queue->node));
	else if (!is_pausing)
		return_state(fcinfo, queue, row);
}

/* container_paused(node, container_id, at) */
Datum
yq_sql_container_paused(PG_FUNCTION_ARGS)
{
	return run(fcinfo, note_pause, text_to_cstring(yq_required_text(fcinfo, 1, "container_id")));
}

/* -- the queue as a whole --------------------------------------------------------------- */

static void
advance(Call *call)
{
	FunctionCallInfo fcinfo = call->fcinfo;
	YqNodeQueue *queue = open_settled(call);

	yq_node_queue_advance(queue);
	finish(fcinfo, queue);
}

/* advance_node_queue(node) */
Datum
yq_sql_advance_node_queue(PG_FUNCTION_ARGS)
{
	return run(fcinfo, advance, NULL);
}

static void
shed(Call *call)
{
	FunctionCallInfo fcinfo = call->fcinfo;
	YqNodeQueue *queue = open_settled(call);

	yq_require_value(PG_ARGISNULL(1), "max_queue_length");
	yq_node_queue_shed(queue, PG_GETARG_INT32(1));
	finish(fcinfo, queue);
}

/* shed_containers(node, max_queue_length) */
Datum
yq_sql_shed_containers(PG_FUNCTION_ARGS)
{
	return run(fcinfo, shed, NULL);
}

/* lock_node_queue(node) */
Datum
yq_sql_lock_node_queue(PG_FUNCTION_ARGS)
{
	yq_node_queue_lock(required_string(fcinfo, 0, "node"));
	PG_RETURN_VOID();
}

/* -- recovery ------------------------------------------------------------------------------ */

static bool
is_among(const char *container_id, const char *const *ids, int count)
{
	for (int i = 0; i < count; i++)
	{
		if (strcmp(ids[i], container_id) == 0)
			return true;
	}
	return false;
}

/*
 * Record that a container runs, because the agent has reported it.  If yquota.container
 * does not have the container on this node, the agent is told to kill it.
 */
static void
recover_running(const Call *call, const char *container_id)
{
	YqNodeQueue *queue = call->queue;
	YqNodeQueueRow *row = yq_node_queue_find(queue, container_id);
	const char *reason;
	ListCell   *cell;

	foreach(cell, call->refused)
	{
		if (strcmp(lfirst(cell), container_id) == 0)
			return;
	}

	if (row == NULL)
		row = yq_node_queue_join(queue, container_id, &reason);
	if (row != NULL)
		yq_node_queue_recover(queue, row);
	else
		return_unknown(call->fcinfo, action_names[YQ_QUEUE_KILL], container_id, reason);
}

/*
 * Has a container ended if the agent does not report it?  The answer is no if the
 * container waits, or if the agent has not yet been told to start it.
 */
static bool
is_gone(const YqNodeQueueRow *row)
{
	switch (row->state)
	{
		case YQ_CONTAINER_RUNNING:
			return row->is_acknowledged || row->was_paused;
		case YQ_CONTAINER_PAUSING:
		case YQ_CONTAINER_PAUSED:
		case YQ_CONTAINER_KILLING:
			return true;
		default:
			return false;
	}
}

static void
end_gone(YqNodeQueue *queue, const char *const *ids, int count)
{
	/*
	 * the loop adds no rows, and is_gone() is false for containers that it starts, because no agent
	 * has acknowledged them
	 */
	for (int i = 0; i < list_length(queue->rows); i++)
	{
		YqNodeQueueRow *row = list_nth(queue->rows, i);

		CHECK_FOR_INTERRUPTS();
		if (!is_gone(row) || is_among(row->container_id, ids, count))
			continue;
		yq_node_queue_end(queue, row, Max(queue->now, row->next_instant),
						  row->state == YQ_CONTAINER_KILLING ? YQ_EXIT_KILLED_BY_CONTAINER_SCHEDULER : YQ_EXIT_ABORTED, false);
	}
}

static void
recover(Call *call)
{
	FunctionCallInfo fcinfo = call->fcinfo;
	const char *node = required_string(fcinfo, 0, "node");
	const char **running;
	int			count = yq_text_array(fcinfo, 1, "running", &running);
	YqNodeQueue *queue;

	yq_require_value(PG_ARGISNULL(1), "running");
	queue = call->queue = yq_node_queue_open(node);
	for (int i = 0; i < count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (!is_among(running[i], running, i))
			recover_running(call, running[i]);
	}
	yq_node_queue_settle(queue);
	end_gone(queue, running, count);
	yq_node_queue_advance(queue);
	finish(fcinfo, queue);
}

/* recover_node_queue(node, running) */
Datum
yq_sql_recover_node_queue(PG_FUNCTION_ARGS)
{
	return run(fcinfo, recover, NULL);
}

/* -- room ---------------------------------------------------------------------------------- */

/* Amounts of a resource type from which the node's room is computed.  The measured use is not among them. */
typedef struct TypeRoom
{
	const char *name;
	int64		total;
	int64		allocated;
	int64		guaranteed;
	int64		guaranteed_since;
	int64		opportunistic_since;
	int64		room;
} TypeRoom;

static void
return_room(FunctionCallInfo fcinfo, const YqNodeQueue *queue, const TypeRoom *type, const YqMeasuredAmount *amount)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	YqRowBuilder values = {.count = 0};
	bool		is_measured = queue->queue->measured.is_told && amount->measured > 0;
	int64		excess = is_measured ? yq_measured_excess(amount) : 0;

	yq_row_put_text(&values, type->name);
	yq_row_put(&values, Int64GetDatum(type->total), false);
	yq_row_put(&values, Int64GetDatum(type->allocated), false);
	yq_row_put(&values, Int64GetDatum(type->guaranteed), false);
	yq_row_put(&values, Int64GetDatum(type->total - type->allocated), false);
	yq_row_put(&values, TimestampTzGetDatum(queue->queue->measured.reported_at), !is_measured);
	yq_row_put(&values, Int64GetDatum(amount->measured), !is_measured);
	yq_row_put(&values, Int64GetDatum(type->guaranteed_since), !is_measured);
	yq_row_put(&values, Int64GetDatum(type->opportunistic_since), !is_measured);
	yq_row_put(&values, Int64GetDatum(type->room), false);
	yq_row_put(&values, Int64GetDatum(excess), false);
	yq_row_put(&values, Int64GetDatum(amount->freed), excess == 0);
	tuplestore_putvalues(result->setResult, result->setDesc, values.values, values.nulls);
}

/* node_room(node) */
Datum
yq_sql_node_room(PG_FUNCTION_ARGS)
{
	const YqNodeQueue *queue = yq_node_queue_read(required_string(fcinfo, 0, "node"));
	const YqContainerQueue *of_node = queue->queue;
	YqRunningSums sums = yq_container_queue_running(of_node);
	YqNodeAmounts room = yq_container_queue_room(of_node);
	TypeRoom	memory = {
		"memory-mb", of_node->total.memory, of_node->used.memory, sums.guaranteed.memory, sums.guaranteed_since.memory,
		sums.opportunistic_since.memory, room.memory
	};
	TypeRoom	vcores = {
		"vcores", of_node->total.vcores, of_node->used.vcores, sums.guaranteed.vcores, sums.guaranteed_since.vcores,
		sums.opportunistic_since.vcores, room.vcores
	};

	InitMaterializedSRF(fcinfo, 0);
	return_room(fcinfo, queue, &memory, &of_node->measured.memory);
	return_room(fcinfo, queue, &vcores, &of_node->measured.vcores);
	return (Datum) 0;
}

/* -- kill order sql ------------------------------------------------------------ */

/*
 * SQL function that explains which containers of a node would be paused or killed: see
 * sql/opportunistic/397_node_queue_order.sql.
 */

PG_FUNCTION_INFO_V1(yq_sql_explain_reclaim);

/* Return the amounts that would have to be freed if the container arrived or were promoted now. */
static YqNodeAmounts
lacking_for(const YqNodeQueue *queue, const char *container_id)
{
	const YqNodeQueueRow *row = yq_node_queue_find(queue, container_id);
	bool		waits = row->state == YQ_CONTAINER_QUEUED || row->state == YQ_CONTAINER_PAUSED;

	/* for a promoted container, room is made for every lacking amount, even for an amount that is not checked */
	if (!waits || (row->has_joined && yq_container_queue_starts_at_once(queue->queue, &row->container)))
		return (YqNodeAmounts) {0, 0, 0};
	return yq_container_queue_lacking(queue->queue, &row->container);
}

static YqNodeAmounts
amounts_argument(FunctionCallInfo fcinfo, int argument, const YqNodeQueue *queue)
{
	const YqResource *amount = (const YqResource *) PG_DETOAST_DATUM_PACKED(PG_GETARG_DATUM(argument));

	return yq_node_amounts(queue->queue, yq_resource_amount(amount, "memory-mb", strlen("memory-mb")),
									  yq_resource_amount(amount, "vcores", strlen("vcores")));
}

static void
return_candidate(FunctionCallInfo fcinfo, const YqNodeQueue *queue, int place, YqNodeContainer *container, bool is_chosen)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	const YqNodeQueueRow *row = yq_node_queue_row(container);
	YqRowBuilder values = {.count = 0};

	yq_row_put(&values, Int32GetDatum(place), false);
	yq_row_put_text(&values, row->container_id);
	yq_row_put(&values, row->allocation, false);
	yq_row_put(&values, TimestampTzGetDatum(row->state_at), false);
	yq_row_put_text(&values, yq_kill_order_name(queue->queue->settings.kill_order));
	yq_row_put_text(&values, row->kill_figure);
	yq_row_put(&values, BoolGetDatum(is_chosen), false);
	tuplestore_putvalues(result->setResult, result->setDesc, values.values, values.nulls);
}

/* explain_reclaim(node, container_id, amount) */
Datum
yq_sql_explain_reclaim(PG_FUNCTION_ARGS)
{
	const char *node = text_to_cstring(yq_required_text(fcinfo, 0, "node"));
	const char *container_id = yq_text_argument(fcinfo, 1);
	YqNodeQueue *queue;
	const List *candidates;
	const List *chosen;
	ListCell   *cell;

	if ((container_id == NULL) == PG_ARGISNULL(2))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("either container_id or amount must be given")));
	InitMaterializedSRF(fcinfo, 0);
	queue = yq_node_queue_read_promoted(node, container_id);
	candidates = yq_kill_order_candidates(queue->queue);
	chosen = yq_kill_order_choose(queue->queue, container_id != NULL ? lacking_for(queue, container_id) :
								  amounts_argument(fcinfo, 2, queue));
	foreach(cell, candidates)
		return_candidate(fcinfo, queue, foreach_current_index(cell) + 1, lfirst(cell), list_member_ptr(chosen, lfirst(cell)));
	return (Datum) 0;
}
