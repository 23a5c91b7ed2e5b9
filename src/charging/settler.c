/*-------------------------------------------------------------------------
 *
 * settler.c
 *	  The entry of settling: each event of a statement, a FINISH as well as a START, goes to the ledger
 *	  through yq_settler_settle().
 *
 * There are three ways to settle, and all have the result of the rule (settle.c).  New STARTs are collected
 * and claimed many at a time.  An UPDATE or a FINISH after all known events of a running container is
 * appended.  The rule settles everything else, and all events that a shorter way declines.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "access/xact.h"
#include "charging/name_cache.h"
#include "charging/posting.h"
#include "charging/settle_load.h"
#include "charging/settler.h"
#include "miscadmin.h"
#include "pricing/node_label.h"
#include "pricing/timeline.h"
#include "utils/memutils.h"

/* -- events after all known events ------------------------------------------- */

/*
 * Append events that are later than all known events of a running container.
 *
 * Each event posts a single segment, however many segments there were before.  The first event
 * deletes the container's row.  After the last event a new row is inserted, unless this event is a
 * FINISH. The general rule (settle.h) would have the same result.  It handles all other cases.
 */

/* A running container to which events are being appended. */
typedef struct Appending
{
	YqContainer container;		/* state after the events that have been appended */
	bool		is_claimed;		/* an event has been appended, and the container's row deleted */
	bool		start_recorded; /* container_change has the START of the container */
	bool		finished;
} Appending;

/* Tell whether an event waits for the START of this container. */
static bool
append_is_awaited(YqSettler *settler, const text *container_id)
{
	return settler->anything_waiting &&
		yq_index_scan_find(yq_ledger_waiting(settler->ledger), container_id) != NULL;
}

/*
 * Read the row of a running container, or use "known" if it is not NULL. The row is valid until
 * the next row is looked up.  Returns false if the general rule has to handle the events.
 */
static bool
find_running(YqSettler *settler, const YqContainer *known, const text *container_id, YqContainer *container)
{
	TupleTableSlot *slot;

	if (append_is_awaited(settler, container_id))
		return false;
	if (known != NULL)
		*container = *known;
	else
	{
		slot = yq_index_scan_advance(yq_ledger_containers(settler->ledger), container_id);
		if (slot == NULL)
			return false;
		yq_container_read(settler->ledger, container, slot);
	}
	return true;
}

/* Claim the container at the first event.  Returns false if another transaction has claimed it first. */
static bool
claim(YqLedger *ledger, Appending *appending)
{
	const YqContainer *container = &appending->container;

	if (appending->is_claimed)
		return true;
	if (!yq_claim_delete(yq_index_scan_relation(yq_ledger_containers(ledger)), (ItemPointer) &container->tid))
		return false;
	yq_posting_count(ledger, container, -1);
	appending->is_claimed = true;
	return true;
}

/* Return the charge for the time of a container between its last settling and an event. */
static YqCharge
charge_of_event(const YqContainer *container, const YqEvent *event)
{
	YqSegment	segment = {
		.from = container->settled_at,.to = event->occurred_at,.state = container->state,.settled_by = event->kind
	};
	YqCharge	charge = yq_posting_charge(container, &segment, container->wait, event->has_exit_status, event->exit_status);

	charge.number = container->charges + 1;
	return charge;
}

/*
 * Return the wait of a container after an UPDATE.  If the wait before the UPDATE continues, it is
 * returned; otherwise the result is a new wait or no wait.
 */
static YqWait
wait_after(const YqLedger *ledger, const YqContainer *before, const YqContainer *after)
{
	bool		waits = yq_state_waits(&after->state, ledger->labels.opportunistic);

	return waits && before->wait.waits ? before->wait :
		yq_ledger_wait(waits ? after->settled_at : DT_NOEND);
}

/* Record the START of a container without recorded changes.  Its present state is the state at the START. */
static void
record_start(YqLedger *ledger, Appending *appending)
{
	const YqContainer *container = &appending->container;
	YqChange	start = {.occurred_at = container->started_at,.set = container->state};

	if (!appending->start_recorded &&
		yq_index_scan_find(yq_ledger_changes(ledger), container->container_id) == NULL)
		yq_change_put(ledger, container->container_id, YQ_CONTAINER_START, &start);
	appending->start_recorded = true;
}

/* Record an UPDATE. With the first UPDATE, the START is recorded, too. */
static void
record_change(YqLedger *ledger, Appending *appending, const YqEvent *event, const YqState *set)
{
	YqChange	update = {.occurred_at = event->occurred_at,.set = *set,.event_id = event->event_id};

	record_start(ledger, appending);
	yq_change_put(ledger, appending->container.container_id, YQ_CONTAINER_UPDATE, &update);
}

/*
 * Append an UPDATE that is later than all known events.  Values that outlive the event are
 * allocated in "context".  If the general rule has to handle the event, returns false and does
 * nothing.
 */
static bool
append_update(YqLedger *ledger, Appending *appending, const YqEvent *event, MemoryContext context)
{
	const YqContainer *before = &appending->container;
	YqState		set = yq_state_of_event(event);
	YqContainer after = *before;
	YqCharge	charge = charge_of_event(before, event);
	MemoryContext old_context;
	bool		fits;

	if (event->occurred_at <= before->settled_at ||
		before->settled_at < yq_timeline_last_period_end() ||
		/* the label of the node changes between the last settling and now */
		yq_node_label_next_change(before->state.node, before->settled_at) < event->occurred_at ||
		yq_node_label_next_change(set.node != NULL ? set.node : before->state.node, event->occurred_at) != DT_NOEND ||
		yq_state_is_empty(&set) ||
		(set.allocation != NULL &&
		 yq_admit_check_allocation(set.allocation, event->occurred_at) != NULL))
		return false;

	old_context = MemoryContextSwitchTo(context);
	yq_state_apply(&after.state, &set);
	after.settled_at = event->occurred_at;
	after.wait = wait_after(ledger, before, &after);
	after.charges++;
	after.label = yq_posting_label(ledger, before, after.state.node);
	fits = yq_posting_accrue(ledger, &after);
	MemoryContextSwitchTo(old_context);
	if (!fits || !yq_posting_price(ledger, &charge) || !claim(ledger, appending))
		return false;

	yq_charge_put(ledger, &charge);
	yq_counters_changed_from(ledger->counters, before->project, event->occurred_at);
	record_change(ledger, appending, event, &set);
	appending->container = after;
	return true;
}

/*
 * Append a FINISH that is later than all known events.  If the general rule has to handle the
 * event, returns false and does nothing.
 */
static bool
append_finish(YqLedger *ledger, Appending *appending, const YqEvent *event)
{
	const YqContainer *container = &appending->container;
	YqCharge	charge = charge_of_event(container, event);
	YqCharge	padding;
	bool		is_padded;
	bool		any_source;

	if (event->occurred_at < container->settled_at ||
		container->settled_at < yq_timeline_last_period_end() ||
		yq_node_label_next_change(container->state.node, container->settled_at) <= event->occurred_at ||
		(yq_event_tells_preemption(event) &&
		 yq_timeline_free_before_preemption(container->started_at, &any_source) > 0) ||
		/* the charge up to the end of the period is the last charge of the container */
		event->occurred_at == yq_timeline_last_period_end())
		return false;

	if (!yq_posting_price(ledger, &charge))
		return false;
	is_padded = yq_posting_padding(&charge, &padding);
	if ((is_padded && !yq_posting_price(ledger, &padding)) || !claim(ledger, appending))
		return false;

	/* record the START, so that a late UPDATE can tell that the container never ran */
	if (container->state.is_running == YQ_ANSWER_NO)
		record_start(ledger, appending);
	yq_charge_put(ledger, &charge);
	if (is_padded)
	{
		padding.number++;
		yq_charge_put(ledger, &padding);
	}
	yq_counters_changed_from(ledger->counters, container->project, event->occurred_at);
	yq_reported_end_note_own(ledger, event);
	appending->finished = true;
	return true;
}

static bool
append_event(YqLedger *ledger, Appending *appending, const YqEvent *event, MemoryContext context)
{
	if (event->project != NULL && !yq_varlena_equal(event->project, appending->container.project))
		return false;
	if (event->kind == YQ_CONTAINER_UPDATE)
		return append_update(ledger, appending, event, context);
	return event->kind == YQ_CONTAINER_FINISH && append_finish(ledger, appending, event);
}

/*
 * Append the first events, as long as each is later than all known events.  Returns the number of
 * appended events.
 */
static int
append_events(YqSettler *settler, const YqContainer *known, const YqEvent *const *events, int count)
{
	YqLedger   *ledger = settler->ledger;
	MemoryContext old_context = MemoryContextSwitchTo(settler->container_context);
	Appending	appending = {0};
	int			done = 0;

	if (events[0]->kind != YQ_CONTAINER_START &&
		find_running(settler, known, events[0]->container_id, &appending.container))
	{
		MemoryContextSwitchTo(settler->event_context);
		for (; done < count && !appending.finished; done++)
		{
			CHECK_FOR_INTERRUPTS();
			if (!append_event(ledger, &appending, events[done], settler->container_context))
				break;
			MemoryContextReset(settler->event_context);
		}
		MemoryContextReset(settler->event_context);
		MemoryContextSwitchTo(settler->container_context);
	}
	if (done > 0 && !appending.finished)
	{
		yq_posting_count(ledger, &appending.container, 1);
		yq_posting_replace(ledger, &appending.container);
	}
	MemoryContextSwitchTo(old_context);
	MemoryContextReset(settler->container_context);
	return done;
}

/*
 * Settle events of a container, in the order of settling.  If the container is running, events
 * after all known events are appended here.  The general rule settles the other events.  "known"
 * is the row that this statement has inserted for the container, or NULL to look for a row.
 */
static void
append_or_settle(YqSettler *settler, const YqContainer *known, const YqEvent *const *events, int count)
{
	int			done = append_events(settler, known, events, count);

	if (done == count)
		return;
	/* write the appended rows, because the general rule reads them */
	if (done > 0)
		yq_ledger_flush(settler->ledger);
	(void) yq_settle_events(settler, events[0]->container_id, events + done, count - done);
}

/* -- new STARTs ---------------------------------------------------------------- */

/*
 * Start new containers, many at a time.  This is also the entry point of settling.
 *
 * STARTs are claimed together by inserting their rows.  A START is known if the unique index has its id
 * already, or if the ledger shows that the container has finished.  The new row of a known START is deleted
 * again, and the general rule decides.  Events that come in the same statement as their START wait until the
 * START is claimed.
 *
 * Pending STARTs are claimed before anything is locked for a container with a higher id.  A contended START
 * is settled before the next START is claimed.  A FINISH that comes while STARTs are pending is settled after
 * the STARTs of lower ids.  Statements therefore wait for each other only in the order of container ids.
 */

/*
 * The number of STARTs that are collected before they are claimed, and of FINISHes that wait for
 * these STARTs.
 */
#define PENDING_STARTS 1000
#define PENDING_FINISHES 1000

/*
 * The largest number of events in a statement that are kept with a START: the UPDATEs and the
 * FINISH of a short life.  If there are more, the general rule handles them.
 */
#define EVENTS_WITH_START 8

/*
 * A pending START of a container that seems to be new.  The START has not been claimed yet.  The
 * counters already include the container.  If the container turns out to be known, it is subtracted
 * again.
 */
typedef struct PendingStart
{
	const YqEvent **events;		/* the START and the later events of the container */
	int			event_count;
	YqContainer container;
	bool		contended;		/* another transaction has or had a row; the general rule decides */
	bool		withdrawn;		/* the container has finished already; the general rule decides */
} PendingStart;

typedef struct YqStartBatch
{
	MemoryContext context;		/* memory context of all pending events; reset when they have been settled */
	bool		is_replay;		/* there were STARTs of finished containers */
	int			start_count;
	PendingStart *starts;
	int			finish_count;	/* FINISHes whose ids lie between the ids of pending STARTs */
	int			finishes_done;
	const YqEvent **finishes;
} YqStartBatch;

/* Settle the pending FINISHes of containers before an id.  If the id is NULL, settle all. */
static void
settle_finishes(YqSettler *settler, const text *before)
{
	YqStartBatch *batch = settler->batch;

	while (batch->finishes_done < batch->finish_count)
	{
		const YqEvent *finish = batch->finishes[batch->finishes_done];

		CHECK_FOR_INTERRUPTS();
		if (before != NULL && yq_varlena_compare(finish->container_id, before) > 0)
			return;
		batch->finishes_done++;
		append_or_settle(settler, NULL, &finish, 1);
	}
}

/*
 * Settle a contended START by the general rule.
 *
 * Another transaction had a row with the same id, was about to insert one, or had withdrawn one.
 * The general rule waits for that transaction.  The row of this transaction has been withdrawn
 * before.  Otherwise two transactions that wait for a third one could deadlock as soon as the
 * third one ends.
 */
static void
settle_contended(YqSettler *settler, const PendingStart *start)
{
	if (!start->contended)
		return;
	yq_posting_count(settler->ledger, &start->container, -1);
	(void) yq_settle_events(settler, start->container.container_id,
							start->events, start->event_count);
}

static void
before_start(void *argument, int row)
{
	YqSettler  *settler = argument;
	const PendingStart *start = &settler->batch->starts[row];

	if (row > 0)
		settle_contended(settler, start - 1);
	settle_finishes(settler, start->container.container_id);
}

static bool
is_start_taken(void *argument, int row, ItemPointer tid, bool may_be_taken)
{
	YqSettler  *settler = argument;
	PendingStart *start = &settler->batch->starts[row];

	start->container.tid = *tid;
	start->contended = may_be_taken &&
		yq_index_scan_is_taken(yq_ledger_containers(settler->ledger), start->container.container_id, tid);
	return start->contended;
}

/*
 * Withdraw STARTs of finished containers.  The ledger is read after the row has claimed the id.
 * Since then, no other transaction can have finished the container.
 */
static void
withdraw_finished_starts(YqSettler *settler)
{
	YqStartBatch *batch = settler->batch;
	YqIndexScan *charges = yq_ledger_charges(settler->ledger);

	yq_index_scan_restart(charges);
	for (int i = 0; i < batch->start_count; i++)
	{
		PendingStart *start = &batch->starts[i];

		CHECK_FOR_INTERRUPTS();
		if (start->contended ||
			yq_index_scan_advance(charges, start->container.container_id) == NULL)
			continue;
		start->withdrawn = true;
		batch->is_replay = true;
		yq_posting_count(settler->ledger, &start->container, -1);
		yq_posting_withdraw(settler->ledger, start->container.container_id);
	}
}

static void
forget_pending(YqStartBatch *batch)
{
	batch->start_count = batch->finish_count = batch->finishes_done = 0;
	batch->starts = NULL;
	batch->finishes = NULL;
	MemoryContextReset(batch->context);
}

void
yq_settler_claim_pending(YqSettler *settler)
{
	YqStartBatch *batch = settler->batch;
	YqLedger   *ledger = settler->ledger;
	YqBulkInsert *writer;
	MemoryContext old_context;

	if (batch->start_count == 0)
	{
		/* events that were not kept with the START may remain */
		forget_pending(batch);
		return;
	}
	writer = yq_ledger_start_writer(ledger);
	old_context = MemoryContextSwitchTo(batch->context);
	for (int i = 0; i < batch->start_count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		yq_container_put(ledger, writer, &batch->starts[i].container);
	}
	yq_bulk_insert_claim(writer, before_start, is_start_taken, settler);
	settle_contended(settler, &batch->starts[batch->start_count - 1]);
	settle_finishes(settler, NULL);
	CommandCounterIncrement();
	withdraw_finished_starts(settler);

	yq_index_scan_restart(ledger->container_scan);
	for (int i = 0; i < batch->start_count; i++)
	{
		const PendingStart *start = &batch->starts[i];

		if (start->withdrawn)
			(void) yq_settle_events(settler, start->container.container_id,
									start->events, start->event_count);
		else if (!start->contended && start->event_count > 1)
			append_or_settle(settler, &start->container, start->events + 1, start->event_count - 1);
	}
	yq_index_scan_restart(ledger->container_scan);
	MemoryContextSwitchTo(old_context);
	forget_pending(batch);
}

/*
 * Keep a START with the events of its container.  If the general rule has to handle them, returns
 * false and does nothing.
 */
static bool
add_start(YqSettler *settler, const YqEvent *const *events, int count)
{
	YqStartBatch *batch = settler->batch;
	MemoryContext old_context;
	PendingStart *start;
	bool		admitted;

	if (events[0]->occurred_at < yq_timeline_last_period_end() ||
		yq_node_label_next_change(events[0]->node, events[0]->occurred_at) != DT_NOEND ||
		append_is_awaited(settler, events[0]->container_id) ||
		(batch->is_replay &&
		 yq_index_scan_find(yq_ledger_charges(settler->ledger), events[0]->container_id) != NULL))
		return false;
	if (batch->start_count == PENDING_STARTS)
		yq_settler_claim_pending(settler);

	old_context = MemoryContextSwitchTo(batch->context);
	if (batch->starts == NULL)
		batch->starts = palloc(sizeof(PendingStart) * PENDING_STARTS);
	start = &batch->starts[batch->start_count];
	*start = (PendingStart) {.events = palloc(sizeof(YqEvent *) * count), .event_count = count};
	for (int i = 0; i < count; i++)
		start->events[i] = yq_event_copy(events[i]);
	admitted = (yq_admit_start(settler->ledger, start->events[0], &start->container) == NULL &&
				yq_posting_accrue(settler->ledger, &start->container));
	if (admitted)
	{
		yq_posting_count(settler->ledger, &start->container, 1);
		yq_counters_changed_from(settler->ledger->counters, start->container.project,
								 start->container.started_at);
		batch->start_count++;
	}
	MemoryContextSwitchTo(old_context);
	return admitted;
}

/* Keep a FINISH that is the only event of its container, until the STARTs of lower ids have been settled. */
static bool
add_finish(YqSettler *settler, const YqEvent *finish)
{
	YqStartBatch *batch = settler->batch;
	MemoryContext old_context;

	if (batch->start_count == 0 || batch->finish_count == PENDING_FINISHES)
		return false;
	old_context = MemoryContextSwitchTo(batch->context);
	if (batch->finishes == NULL)
		batch->finishes = palloc(sizeof(YqEvent *) * PENDING_FINISHES);
	batch->finishes[batch->finish_count++] = yq_event_copy(finish);
	MemoryContextSwitchTo(old_context);
	return true;
}

/* -- entry ----------------------------------------------------------------- */

static bool
does_anything_wait(YqLedger *ledger)
{
	if (yq_name_cache_nothing_waits())
		return false;
	if (yq_index_scan_find(yq_ledger_waiting(ledger), NULL) != NULL)
		return true;
	yq_name_cache_note_nothing_waits();
	return false;
}

YqSettler *
yq_settler_create(YqLedger *ledger, YqBadEventHandler bad_event, void *argument)
{
	YqSettler  *settler = MemoryContextAllocZero(ledger->context, sizeof(YqSettler));

	settler->ledger = ledger;
	settler->bad_event = bad_event;
	settler->argument = argument;
	settler->container_context = AllocSetContextCreate(ledger->context,
													   "yquota container",
													   ALLOCSET_DEFAULT_SIZES);
	settler->event_context = AllocSetContextCreate(ledger->context, "yquota appended event",
												   ALLOCSET_DEFAULT_SIZES);
	settler->batch = MemoryContextAllocZero(ledger->context, sizeof(YqStartBatch));
	settler->batch->context = AllocSetContextCreate(ledger->context,
													"yquota pending starts",
													ALLOCSET_DEFAULT_SIZES);
	settler->anything_waiting = does_anything_wait(ledger);
	return settler;
}

void
yq_settler_settle(YqSettler *settler, const YqEvent *const *events, int count)
{
	if (count == 1 && events[0]->kind == YQ_CONTAINER_FINISH &&
		add_finish(settler, events[0]))
		return;
	if (events[0]->kind == YQ_CONTAINER_START && count <= EVENTS_WITH_START &&
		add_start(settler, events, count))
		return;
	yq_settler_claim_pending(settler);
	append_or_settle(settler, NULL, events, count);
}

bool
yq_settler_settle_again(YqSettler *settler, const text *container_id)
{
	yq_settler_claim_pending(settler);
	return yq_settle_events(settler, (text *) container_id, NULL, 0);
}

void
yq_settler_next_statement(YqSettler *settler)
{
	yq_settler_claim_pending(settler);
	yq_ledger_flush(settler->ledger);
	CommandCounterIncrement();
	settler->anything_waiting |= does_anything_wait(settler->ledger);
}
