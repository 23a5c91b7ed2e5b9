/*-------------------------------------------------------------------------
 *
 * append.c
 *	  Events behind all that is known of a running container.
 *
 * A FINISH deletes the container's row and posts one segment.  An UPDATE
 * replaces the row and posts one segment, however many there were before.  The
 * rule (settle.h) would come to the same; it decides all other cases.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "charging/admit.h"
#include "charging/append.h"
#include "charging/posting.h"
#include "charging/reported_end.h"
#include "pricing/timeline.h"
#include "utils/memutils.h"

bool
yq_append_is_awaited(YqSettler *settler, const text *container_id)
{
	return settler->anything_waiting &&
		yq_index_scan_find(yq_ledger_waiting(settler->ledger), container_id) != NULL;
}

/*
 * Read the row of the container that an event is about, unless it is known; it stays
 * valid until the next look for a container.  False when the rule has to decide.
 */
static bool
find_running(YqSettler *settler, const YqContainer *known, const YqEvent *event, YqContainer *container)
{
	TupleTableSlot *slot;

	if (yq_append_is_awaited(settler, event->container_id))
		return false;
	if (known != NULL)
		*container = *known;
	else
	{
		slot = yq_index_scan_advance(yq_ledger_containers(settler->ledger), event->container_id);
		if (slot == NULL)
			return false;
		yq_container_read(settler->ledger, container, slot);
	}
	return event->project == NULL || yq_varlena_equal(event->project, container->project);
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
record_start(YqLedger *ledger, const YqContainer *container)
{
	YqChange	start = {.occurred_at = container->started_at,.set = container->state};

	if (yq_index_scan_find(yq_ledger_changes(ledger), container->container_id) == NULL)
		yq_change_put(ledger, container->container_id, YQ_CONTAINER_START, &start);
}

/* Record an UPDATE; the first one records the START as well. */
static void
record_change(YqLedger *ledger, const YqContainer *before, const YqEvent *event,
			  const YqState *set)
{
	YqChange	update = {.occurred_at = event->occurred_at,.set = *set,.event_id = event->event_id};

	record_start(ledger, before);
	yq_change_put(ledger, before->container_id, YQ_CONTAINER_UPDATE, &update);
}

/*
 * The ledger does not tell of a container that it never ran, which a late UPDATE
 * needs to know: its START is recorded, like that of an updated one.
 */
static void
record_idle_start(YqLedger *ledger, const YqContainer *container)
{
	if (container->state.is_running != YQ_ANSWER_NO)
		return;
	yq_bulk_insert_flush(ledger->change_writer);
	record_start(ledger, container);
}

/*
 * An UPDATE behind all that is known.  False, with nothing done, when the rule
 * has to decide.
 */
static bool
settle_update(YqSettler *settler, const YqContainer *known, const YqEvent *event)
{
	YqLedger   *ledger = settler->ledger;
	YqState		set = yq_state_of_event(event);
	YqContainer before;
	YqContainer after;
	YqCharge	charge;

	if (!find_running(settler, known, event, &before) ||
		event->occurred_at <= before.settled_at ||
		before.settled_at < yq_timeline_last_period_end() ||
		yq_state_is_empty(&set) ||
		(set.allocation != NULL &&
		 yq_admit_check_allocation(set.allocation, event->occurred_at) != NULL))
		return false;

	charge = charge_of_event(&before, event);
	after = before;
	yq_state_apply(&after.state, &set);
	after.settled_at = event->occurred_at;
	after.wait = wait_after(ledger, &before, &after);
	after.charges++;
	after.label = yq_posting_label(ledger, &before, after.state.node);
	if (!yq_posting_price(ledger, &charge) ||
		!yq_posting_accrue(ledger, &after) ||
		!yq_claim_delete(yq_index_scan_relation(yq_ledger_containers(ledger)), &before.tid))
		return false;

	yq_charge_put(ledger, &charge);
	yq_counters_changed_from(ledger->counters, before.project, event->occurred_at);
	yq_posting_count(ledger, &before, -1);
	yq_posting_count(ledger, &after, 1);
	record_change(ledger, &before, event, &set);
	yq_posting_replace(ledger, &after);
	return true;
}

/*
 * A FINISH behind all that is known.  False, with nothing done, when the rule
 * has to decide.
 */
static bool
settle_finish(YqSettler *settler, const YqContainer *known, const YqEvent *event)
{
	YqLedger   *ledger = settler->ledger;
	YqContainer container;
	YqCharge	charge;
	YqCharge	padding;
	bool		is_padded;
	bool		any_source;

	if (!find_running(settler, known, event, &container) ||
		event->occurred_at < container.settled_at ||
		container.settled_at < yq_timeline_last_period_end() ||
		(yq_event_tells_preemption(event) &&
		 yq_timeline_free_before_preemption(container.started_at, &any_source) > 0) ||
		/* the charge at the end of the period becomes the last charge */
		event->occurred_at == yq_timeline_last_period_end())
		return false;

	charge = charge_of_event(&container, event);
	if (!yq_posting_price(ledger, &charge))
		return false;
	is_padded = yq_posting_padding(&charge, &padding);
	if ((is_padded && !yq_posting_price(ledger, &padding)) ||
		!yq_claim_delete(yq_index_scan_relation(yq_ledger_containers(ledger)), &container.tid))
		return false;

	record_idle_start(ledger, &container);
	yq_charge_put(ledger, &charge);
	if (is_padded)
	{
		padding.number++;
		yq_charge_put(ledger, &padding);
	}
	yq_counters_changed_from(ledger->counters, container.project, event->occurred_at);
	yq_reported_end_note_own(ledger, event);
	yq_posting_count(ledger, &container, -1);
	return true;
}

bool
yq_append_event(YqSettler *settler, const YqContainer *known, const YqEvent *event)
{
	MemoryContext old_context = MemoryContextSwitchTo(settler->container_context);
	bool		done = false;

	if (event->kind == YQ_CONTAINER_UPDATE)
		done = settle_update(settler, known, event);
	else if (event->kind == YQ_CONTAINER_FINISH)
		done = settle_finish(settler, known, event);
	MemoryContextSwitchTo(old_context);
	MemoryContextReset(settler->container_context);
	return done;
}

void
yq_append_followers(YqSettler *settler, const YqContainer *known, const YqEvent *const *events, int count)
{
	int			done = 0;

	for (; done < count; done++)
	{
		if (events[done]->kind != YQ_CONTAINER_FINISH)
			yq_ledger_flush(settler->ledger);
		if (!yq_append_event(settler, done == 0 ? known : NULL, events[done]))
			break;
	}
	if (done == count)
		return;
	yq_ledger_flush(settler->ledger);
	(void) yq_settle_events(settler, events[0]->container_id, events + done, count - done);
}
