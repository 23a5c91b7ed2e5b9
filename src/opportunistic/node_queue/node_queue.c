/*-------------------------------------------------------------------------
 *
 * node_queue.c
 *	  Applies calls about a node to its queue.
 *
 * The lock of a node is an object lock on yquota.node_queue, and is visible as such in pg_locks.
 * The object is the hash value of the node's name.  A call takes this lock after the locks of
 * cycles and leaves, and before any container.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "common/hashfn.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "opportunistic/node_queue/load_node_queue.h"
#include "opportunistic/node_queue/node_queue.h"
#include "scheduler/load/cluster_load.h"
#include "scheduler/record/scheduler_journal.h"
#include "storage/lmgr.h"
#include "store/catalog.h"
#include "store/clock.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

static const char *const decision_diagnostics[] = {
	[YQ_QUEUE_START] = NULL,
	[YQ_QUEUE_RESUME] = "Container Resumed as some resources freed up",
	[YQ_QUEUE_PAUSE] = "Container Paused to make room for Guaranteed Container",
	[YQ_QUEUE_KILL] = "Container Killed to make room for Guaranteed Container.",
	[YQ_QUEUE_REJECT] = "Opportunistic container queue is full.",
	[YQ_QUEUE_SHED] = "Container De-queued to meet NM queuing limits.",
};

/* Append the excess of a resource type to a text.  Nothing is appended if the measured use is not too high. */
static void
append_excess(StringInfo text, const char *resource_type, const YqMeasuredAmount *amount)
{
	if (yq_measured_excess(amount) == 0)
		return;
	appendStringInfo(text, "%s of " INT64_FORMAT " %s above %s x " INT64_FORMAT, text->len == 0 ? "measured use" : " and",
					 amount->measured, resource_type, yq_measured_fraction(amount->thresholds.preemption_threshold), amount->total);
}

static const char *
describe_excess(const YqMeasuredUse *use, YqQueueDecisionKind kind)
{
	StringInfoData text;

	initStringInfo(&text);
	append_excess(&text, "memory-mb", &use->memory);
	append_excess(&text, "vcores", &use->vcores);
	return psprintf("Container %s: %s, reported at %s.", kind == YQ_QUEUE_PAUSE ? "Paused" : "Killed", text.data,
					timestamptz_to_str(use->reported_at));
}

const char *
yq_node_queue_diagnostics(const YqNodeQueue *queue, const YqQueueDecision *decision)
{
	if ((decision->kind == YQ_QUEUE_KILL || decision->kind == YQ_QUEUE_PAUSE) && decision->made_room_for == NULL)
		return describe_excess(&queue->queue->measured, decision->kind);
	return decision_diagnostics[decision->kind];
}

YqNodeQueueRow *
yq_node_queue_row(YqNodeContainer *container)
{
	return (YqNodeQueueRow *) container;
}

/* -- rows ---------------------------------------------------------------------- */

static bool
waits(YqContainerState state)
{
	return state == YQ_CONTAINER_QUEUED || state == YQ_CONTAINER_PAUSED;
}

/* Set a new state.  The container was in its old state up to the time "until". */
static void
set_state_at(YqNodeQueue *queue, YqNodeQueueRow *row, YqContainerState state, TimestampTz until)
{
	if (waits(row->state))
		row->waited += Max(until - row->state_at, 0);
	if (state == YQ_CONTAINER_PAUSED)
		row->pauses++;
	row->state = state;
	row->state_at = queue->now;
	row->is_changed = true;
}

static void
set_state(YqNodeQueue *queue, YqNodeQueueRow *row, YqContainerState state)
{
	set_state_at(queue, row, state, queue->now);
}

/* Move the row to the end of its queue, or to the end of the running containers. */
static void
take_place(YqNodeQueue *queue, YqNodeQueueRow *row)
{
	row->place = ++queue->last_place;
	row->is_changed = true;
}

static void
leave(YqNodeQueue *queue, YqNodeQueueRow *row, TimestampTz at, const char *reason)
{
	set_state_at(queue, row, YQ_CONTAINER_GONE, Min(at, queue->now));
	row->left_at = at;
	row->left_reason = reason;
}

/*
 * Record the amounts that a container frees at an instant.  A container that began to run after the
 * report was not measured.  Such a container counts only if it was killed or paused because of the
 * measured use.
 */
static void
note_freed(YqNodeQueue *queue, const YqNodeQueueRow *row, TimestampTz at)
{
	YqMeasuredUse *use = &queue->queue->measured;

	if (waits(row->state) || !yq_measured_has_excess(use) || at < use->reported_at ||
		(row->state == YQ_CONTAINER_RUNNING && row->container.is_since_report))
		return;
	use->memory.freed += row->container.memory;
	use->vcores.freed += row->container.vcores;
	queue->has_freed = true;
}

static const char *
reason_of_end(const YqNodeQueueRow *row)
{
	return row->state == YQ_CONTAINER_KILLING ? "killed" : "ended";
}

/* -- events -------------------------------------------------------------------- */

static void
append_event(YqNodeQueue *queue, YqNodeQueueEvent event)
{
	YqNodeQueueEvent *appended = palloc(sizeof(YqNodeQueueEvent));

	*appended = event;
	queue->events = lappend(queue->events, appended);
}

/*
 * Record by an event that the container has been running since an instant, or no longer
 * runs.  If yquota.container already says so, no event is needed.
 */
static void
set_running(YqNodeQueue *queue, YqNodeQueueRow *row, TimestampTz at, bool is_running)
{
	if (row->runs_in_books == is_running)
		return;
	at = Max(at, row->next_instant);
	append_event(queue, (YqNodeQueueEvent) {.container_id = row->container_id,.at = at,.is_running = is_running});
	row->runs_in_books = is_running;
	row->next_instant = at + 1;
}

static void
append_finish(YqNodeQueue *queue, const char *container_id, TimestampTz at, int exit_status, bool is_reported)
{
	append_event(queue, (YqNodeQueueEvent)
				 {
					 .container_id = container_id,.at = at,.is_finish = true,.exit_status = exit_status,
					 .is_reported = is_reported
				 });
}

/* -- decisions ------------------------------------------------------------------- */

/*
 * Return the time of a start.  It must be later than the report: a container that
 * starts at the time of the report counts as measured.
 */
static TimestampTz
instant_of_start(const YqNodeQueue *queue)
{
	const YqMeasuredUse *use = &queue->queue->measured;

	return use->is_told ? Max(queue->now, use->reported_at + 1) : queue->now;
}

static void
note_start(YqNodeQueue *queue, YqNodeQueueRow *row)
{
	set_state(queue, row, YQ_CONTAINER_RUNNING);
	row->state_at = instant_of_start(queue);
	take_place(queue, row);
	if (!row->has_started)
		row->started_at = row->state_at;
	row->has_started = true;
	row->made_room_for = NULL;
	row->diagnostics = NULL;
	row->is_acknowledged = false;
	set_running(queue, row, queue->now, true);
}

static void
note_reclaim(YqNodeQueue *queue, YqNodeQueueRow *row, const YqQueueDecision *decision)
{
	const YqNodeQueueRow *other = (const YqNodeQueueRow *) decision->made_room_for;

	set_state(queue, row, decision->kind == YQ_QUEUE_PAUSE ? YQ_CONTAINER_PAUSING : YQ_CONTAINER_KILLING);
	row->made_room_for = other != NULL ? other->container_id : NULL;
	row->diagnostics = yq_node_queue_diagnostics(queue, decision);
	row->is_acknowledged = false;
}

/*
 * Record that a container is dropped.  A rejected container is announced in the reply.
 * A waiting container that is dropped is announced when the agent asks for it.
 */
static void
note_drop(YqNodeQueue *queue, YqNodeQueueRow *row, YqQueueDecisionKind kind)
{
	TimestampTz at = Max(queue->now, row->next_instant);
	bool		is_rejection = kind == YQ_QUEUE_REJECT;

	append_finish(queue, row->container_id, at, YQ_EXIT_KILLED_BY_CONTAINER_SCHEDULER, false);
	leave(queue, row, at, is_rejection ? "rejected" : "shed");
	row->has_exit_status = true;
	row->exit_status = YQ_EXIT_KILLED_BY_CONTAINER_SCHEDULER;
	row->diagnostics = decision_diagnostics[kind];
	row->has_queue_limit = true;
	row->queue_limit = is_rejection ? yq_container_queue_capacity(queue->queue) : queue->shed_limit;
	row->is_acknowledged = is_rejection;
}

static void
note_decision(YqNodeQueue *queue, const YqQueueDecision *decision)
{
	YqNodeQueueRow *row = yq_node_queue_row(decision->container);

	switch (decision->kind)
	{
		case YQ_QUEUE_START:
		case YQ_QUEUE_RESUME:
			note_start(queue, row);
			break;
		case YQ_QUEUE_PAUSE:
		case YQ_QUEUE_KILL:
			note_reclaim(queue, row, decision);
			break;
		case YQ_QUEUE_REJECT:
		case YQ_QUEUE_SHED:
			note_drop(queue, row, decision->kind);
			break;
	}
}

/* Record the decisions that the queue has made since the previous call of this function. */
static void
note_decisions(YqNodeQueue *queue)
{
	while (queue->noted < list_length(queue->queue->decisions))
		note_decision(queue, list_nth(queue->queue->decisions, queue->noted++));
}

/* -- opening ------------------------------------------------------------------------ */

static void
lock_node(const char *node)
{
	LOCKTAG		tag;

	SET_LOCKTAG_OBJECT(tag, MyDatabaseId, yq_table_oid(YQ_NODE_QUEUE),
					   hash_bytes((const unsigned char *) node, strlen(node)), 0);
	(void) LockAcquire(&tag, ExclusiveLock, false, false);
}

void
yq_node_queue_lock(const char *node)
{
	PreventCommandIfReadOnly("changes of a node's queue");
	yq_scheduler_lock_events();
	lock_node(node);
}

static YqNodeQueue *
load(const char *node)
{
	YqNodeQueue *queue = palloc0(sizeof(YqNodeQueue));

	queue->node = node;
	queue->now = yq_clock_now();
	yq_load_node(queue);
	yq_node_order_attach(queue);
	yq_load_node_rows(queue);
	return queue;
}

static YqNodeQueue *
load_known(const char *node)
{
	YqNodeQueue *queue;

	yq_cluster_check_charging();
	queue = load(node);
	if (!queue->is_known && queue->rows == NIL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("node \"%s\" is not in yquota.node", node)));
	return queue;
}

YqNodeQueue *
yq_node_queue_open(const char *node)
{
	yq_node_queue_lock(node);
	return load_known(node);
}

YqNodeQueueRow *
yq_node_queue_find(const YqNodeQueue *queue, const char *container_id)
{
	ListCell   *cell;

	foreach(cell, queue->rows)
	{
		YqNodeQueueRow *row = lfirst(cell);

		if (row->state != YQ_CONTAINER_GONE && strcmp(row->container_id, container_id) == 0)
			return row;
	}
	return NULL;
}

/* -- changes in the books ------------------------------------------------------------- */

/*
 * Process containers that have ended without the knowledge of the node's agent.  All
 * ends are processed before a container starts, because a waiting container may have
 * ended.  Returns true if an end leaves room for other containers.
 */
static bool
learn_ends(YqNodeQueue *queue, const List *ended)
{
	bool		frees_room = false;
	ListCell   *cell;

	foreach(cell, ended)
	{
		YqNodeQueueRow *row = lfirst(cell);
		const char *reason = reason_of_end(row);
		TimestampTz at = yq_load_end(row->container_id, queue->now);

		CHECK_FOR_INTERRUPTS();
		if (yq_container_queue_remove(queue->queue, &row->container))
			frees_room = true;
		note_freed(queue, row, at);
		leave(queue, row, at, reason);
		row->is_acknowledged = false;
	}
	return frees_room;
}

static void
learn_type(YqNodeQueue *queue, YqNodeQueueRow *row)
{
	if (waits(row->state))
		take_place(queue, row);
	row->is_changed = true;
	yq_container_queue_change_type(queue->queue, &row->container, row->is_guaranteed_in_books);
	note_decisions(queue);
}

static int
compare_changes(const ListCell *a, const ListCell *b)
{
	const YqNodeQueueRow *left = lfirst(a);
	const YqNodeQueueRow *right = lfirst(b);

	if (left->changed_at != right->changed_at)
		return left->changed_at < right->changed_at ? -1 : 1;
	return strcmp(left->container_id, right->container_id);
}

/*
 * Did the container begin to run after the report?  If the container has been paused
 * before and is now being killed or paused again, the time of its last start is not
 * known.  Such a container counts as started after the report.
 */
static bool
is_since_report(const YqNodeQueue *queue, const YqNodeQueueRow *row)
{
	const YqMeasuredUse *use = &queue->queue->measured;

	if (!use->is_told || waits(row->state))
		return false;
	if (row->state != YQ_CONTAINER_RUNNING && !row->was_paused)
		return row->started_at > use->reported_at;
	return row->state_at > use->reported_at;
}

static void
add_row(YqNodeQueue *queue, YqNodeQueueRow *row)
{
	row->container.is_since_report = is_since_report(queue, row);
	yq_container_queue_add(queue->queue, &row->container);
}

void
yq_node_queue_settle(YqNodeQueue *queue)
{
	List	   *ended = NIL;
	List	   *changed = NIL;
	bool		frees_room;
	ListCell   *cell;

	foreach(cell, queue->rows)
	{
		YqNodeQueueRow *row = lfirst(cell);

		add_row(queue, row);
		if (!row->is_in_books)
			ended = lappend(ended, row);
		else if (row->is_guaranteed_in_books != row->container.is_guaranteed)
			changed = lappend(changed, row);
	}
	frees_room = learn_ends(queue, ended);
	list_sort(changed, compare_changes);
	foreach(cell, changed)
		learn_type(queue, lfirst(cell));
	if (frees_room)
		yq_node_queue_advance(queue);
}

bool
yq_node_queue_learn_late_ends(YqNodeQueue *queue)
{
	List	   *written = NIL;
	List	   *ended = NIL;
	ListCell   *cell;

	foreach(cell, queue->rows)
	{
		YqNodeQueueRow *row = lfirst(cell);

		if (row->is_written && row->state != YQ_CONTAINER_GONE)
			written = lappend(written, unconstify(char *, row->container_id));
		row->is_written = false;
	}
	if (written == NIL)
		return false;
	foreach(cell, yq_load_ended(queue, written))
		ended = lappend(ended, yq_node_queue_find(queue, lfirst(cell)));
	if (learn_ends(queue, ended))
		yq_node_queue_advance(queue);
	return ended != NIL;
}

/* -- operations ------------------------------------------------------------------------ */

YqNodeQueueRow *
yq_node_queue_join(YqNodeQueue *queue, const char *container_id, const char **reason)
{
	YqNodeQueueRow *row;

	*reason = queue->gone_because;
	if (*reason != NULL)
		return NULL;
	row = yq_load_joining_row(queue, container_id, reason);
	if (row == NULL)
		return NULL;
	row->state_at = queue->now;
	row->has_joined = true;
	queue->rows = lappend(queue->rows, row);
	queue->arrived = lappend(queue->arrived, unconstify(char *, row->container_id));
	if (row->expected_duration > 0)
		queue->expected = lappend(queue->expected, unconstify(char *, row->container_id));
	take_place(queue, row);
	return row;
}

void
yq_node_queue_arrive(YqNodeQueue *queue, YqNodeQueueRow *row)
{
	row->state = YQ_CONTAINER_QUEUED;
	yq_container_queue_arrive(queue->queue, &row->container);
	note_decisions(queue);
	if (row->state == YQ_CONTAINER_QUEUED)
		set_running(queue, row, queue->now, false);
}

void
yq_node_queue_recover(YqNodeQueue *queue, YqNodeQueueRow *row)
{
	if (row->has_joined || row->state == YQ_CONTAINER_QUEUED)
	{
		note_start(queue, row);
		row->container.state = YQ_CONTAINER_RUNNING;
		/* move the container behind the containers that started earlier */
		queue->rows = lappend(list_delete_ptr(queue->rows, row), row);
	}
	row->is_acknowledged = true;
	row->is_changed = true;
}

void
yq_node_queue_end(YqNodeQueue *queue, YqNodeQueueRow *row, TimestampTz at, int exit_status, bool is_reported)
{
	const char *reason = reason_of_end(row);

	append_finish(queue, row->container_id, at, exit_status, is_reported);
	note_freed(queue, row, at);
	leave(queue, row, at, reason);
	row->has_exit_status = true;
	row->exit_status = exit_status;
	row->is_acknowledged = true;
	yq_container_queue_complete(queue->queue, &row->container);
	note_decisions(queue);
}

void
yq_node_queue_note_end(YqNodeQueue *queue, const char *container_id, TimestampTz at, int exit_status)
{
	append_finish(queue, container_id, at, exit_status, true);
}

void
yq_node_queue_pause(YqNodeQueue *queue, YqNodeQueueRow *row, TimestampTz at)
{
	set_running(queue, row, at, false);
	note_freed(queue, row, at);
	set_state(queue, row, YQ_CONTAINER_PAUSED);
	take_place(queue, row);
	row->is_acknowledged = true;
	yq_container_queue_paused(queue->queue, &row->container);
	note_decisions(queue);
}

void
yq_node_queue_shed(YqNodeQueue *queue, int limit)
{
	queue->shed_limit = limit;
	yq_container_queue_shed(queue->queue, limit);
	note_decisions(queue);
}

void
yq_node_queue_advance(YqNodeQueue *queue)
{
	yq_container_queue_start_pending(queue->queue);
	note_decisions(queue);
}

void
yq_node_queue_preempt(YqNodeQueue *queue)
{
	queue->preempted += yq_container_queue_preempt(queue->queue);
	note_decisions(queue);
}

/* -- looking ---------------------------------------------------------------------------- */

/*
 * Add a container with the execution type that it will have.  A waiting container whose
 * type changes goes to the end of the other queue.
 */
static void
add_as(YqNodeQueue *queue, YqNodeQueueRow *row, bool is_guaranteed, List **changed)
{
	bool		goes_to_end = waits(row->state) && row->container.is_guaranteed != is_guaranteed;

	row->container.is_guaranteed = is_guaranteed;
	if (goes_to_end)
		*changed = lappend(*changed, row);
	else
		add_row(queue, row);
}

/*
 * Add the rows in the state in which the next call will find them.  The container "promoted" is
 * added as GUARANTEED; it may be NULL.
 */
static void
add_rows(YqNodeQueue *queue, YqNodeQueueRow *promoted)
{
	List	   *changed = NIL;
	ListCell   *cell;

	foreach(cell, queue->rows)
	{
		YqNodeQueueRow *row = lfirst(cell);

		if (row->is_in_books && row != promoted)
			add_as(queue, row, row->is_guaranteed_in_books, &changed);
	}
	list_sort(changed, compare_changes);
	if (promoted != NULL)
		add_as(queue, promoted, true, &changed);
	foreach(cell, changed)
		add_row(queue, lfirst(cell));
}

YqNodeQueue *
yq_node_queue_read(const char *node)
{
	YqNodeQueue *queue = load(node);

	add_rows(queue, NULL);
	return queue;
}

static YqNodeQueueRow *
find_or_join(YqNodeQueue *queue, const char *container_id)
{
	YqNodeQueueRow *row = yq_node_queue_find(queue, container_id);
	const char *reason = "It has ended.";

	if (row == NULL)
		row = yq_node_queue_join(queue, container_id, &reason);
	if (row == NULL || !row->is_in_books)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("container \"%s\" is not on node \"%s\"", container_id, queue->node),
				 errdetail_internal("%s", reason)));
	return row;
}

YqNodeQueue *
yq_node_queue_read_promoted(const char *node, const char *container_id)
{
	YqNodeQueue *queue = load_known(node);
	YqNodeQueueRow *row = container_id == NULL ? NULL : find_or_join(queue, container_id);

	add_rows(queue, row == NULL || row->is_guaranteed_in_books ? NULL : row);
	return queue;
}
