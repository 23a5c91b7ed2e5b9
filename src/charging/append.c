/*-------------------------------------------------------------------------
 *
 * append.c
 *	  Events behind all that is known of a running container.
 *
 * Each event posts one segment, however many there were before.  The container's row
 * is deleted with the first of them; after the last one a row takes its place, unless
 * that is a FINISH.  The rule (settle.h) would come to the same; it decides all other cases.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "charging/admit.h"
#include "charging/append.h"
#include "charging/posting.h"
#include "charging/reported_end.h"
#include "miscadmin.h"
#include "pricing/timeline.h"
#include "utils/memutils.h"

/* A container to which events are appended. */
typedef struct Appending
{
	YqContainer container;		/* after the events so far */
	bool		is_claimed;		/* an event has been appended, and the row deleted */
	bool		start_recorded; /* container_change has its START */
	bool		finished;
} Appending;

bool
yq_append_is_awaited(YqSettler *settler, const text *container_id)
{
	return settler->anything_waiting &&
		yq_index_scan_find(yq_ledger_waiting(settler->ledger), container_id) != NULL;
}

/*
 * Read the row of a container, unless it is known; it stays valid until the next look
 * for a container.  False when the rule has to decide.
 */
static bool
find_running(YqSettler *settler, const YqContainer *known, const text *container_id, YqContainer *container)
{
	TupleTableSlot *slot;

	if (yq_append_is_awaited(settler, container_id))
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

/* Claim the container with the first event; false when another transaction was faster. */
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

/* The segment of a container from its last settling to an event. */
static YqCharge
charge_of_event(const YqContainer *container, const YqEvent *event)
{
	YqCharge	charge = {0};

	charge.container_id = container->container_id;
	charge.project = container->project;
	charge.application_id = container->application_id;
	charge.username = container->username;
	charge.state = container->state;
	charge.wait = container->wait;
	charge.started_at = container->started_at;
	charge.from = container->settled_at;
	charge.to = event->occurred_at;
	charge.number = container->charges + 1;
	charge.settled_by = event->kind;
	if (event->kind == YQ_CONTAINER_FINISH)
	{
		charge.has_exit_status = event->has_exit_status;
		charge.exit_status = event->exit_status;
	}
	return charge;
}

/* The wait of a container after an UPDATE: a new one, that before it, or none. */
static YqWait
wait_after(const YqLedger *ledger, const YqContainer *before, const YqContainer *after)
{
	bool		waits = yq_state_waits(&after->state, ledger->labels.opportunistic);

	return waits && before->wait.waits ? before->wait :
		yq_ledger_wait(waits ? after->settled_at : DT_NOEND);
}

/* Record the START of a container of which no change is recorded: its state is that of the START. */
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

/* Record an UPDATE; the first one records the START as well. */
static void
record_change(YqLedger *ledger, Appending *appending, const YqEvent *event, const YqState *set)
{
	YqChange	update = {.occurred_at = event->occurred_at,.set = *set,.event_id = event->event_id};

	record_start(ledger, appending);
	yq_change_put(ledger, appending->container.container_id, YQ_CONTAINER_UPDATE, &update);
}

/*
 * Append an UPDATE behind all that is known.  What outlives the event is made in
 * "context".  False, with nothing done, when the rule has to decide.
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

/* Append a FINISH behind all that is known.  False, with nothing done, when the rule has to decide. */
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
		(yq_event_tells_preemption(event) &&
		 yq_timeline_free_before_preemption(container->started_at, &any_source) > 0) ||
		/* the charge at the end of the period becomes the last charge */
		event->occurred_at == yq_timeline_last_period_end())
		return false;

	if (!yq_posting_price(ledger, &charge))
		return false;
	is_padded = yq_posting_padding(&charge, &padding);
	if ((is_padded && !yq_posting_price(ledger, &padding)) || !claim(ledger, appending))
		return false;

	/*
	 * the ledger does not tell of a container that it never ran, which a late
	 * UPDATE needs to know: its START is recorded, like that of an updated one
	 */
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

/* Append the leading events that lie behind all that is known; returns their number. */
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

void
yq_append_or_settle(YqSettler *settler, const YqContainer *known, const YqEvent *const *events, int count)
{
	int			done = append_events(settler, known, events, count);

	if (done == count)
		return;
	/* the rule reads what has been appended */
	if (done > 0)
		yq_ledger_flush(settler->ledger);
	(void) yq_settle_events(settler, events[0]->container_id, events + done, count - done);
}
