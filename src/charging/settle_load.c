/*-------------------------------------------------------------------------
 *
 * settle_load.c
 *	  Loading the stored rows of a container, and recording the ends that events report for it.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "charging/posting.h"
#include "charging/settle_load.h"
#include "miscadmin.h"
#include "pricing/timeline.h"
#include "utils/timestamp.h"

/* -- reported end -------------------------------------------------------------- */

/* Ends that events report for a container.  The ledger does not show all of them. */

/* Columns of reported_end, in table order. */
enum
{
	END_CONTAINER_ID,
	END_OCCURRED_AT,
	END_EXIT_STATUS,
	END_IS_OWN,
	END_IS_ASSUMED,
	END_RECORDED_AT,
	END_SOURCE,
	END_IS_BOOKED,
	END_COLUMNS
};

/*
 * The largest number of ends that are recorded for a container.  More ends are recorded only if
 * they report a preemption.
 */
#define MAX_ENDS 16

typedef struct End
{
	TimestampTz at;
	bool		has_exit_status;
	int32		exit_status;
	bool		is_own;
	const text *source;
	bool		is_booked;		/* the ledger shows the end, but not the source of the end */
	bool		is_noted;		/* the end has a row in reported_end */
} End;

static bool
is_same_end(const End *a, const End *b)
{
	return a->at == b->at && a->has_exit_status == b->has_exit_status &&
		a->exit_status == b->exit_status;
}

static End
end_of_event(const YqEvent *finish)
{
	End			end = {finish->occurred_at, finish->has_exit_status, finish->exit_status,
	yq_event_is_own(finish), finish->source, false, false};

	return end;
}

static void
put_end(YqLedger *ledger, const text *container_id, const End *end)
{
	Datum		values[END_COLUMNS];
	bool		nulls[END_COLUMNS] = {false};

	values[END_CONTAINER_ID] = PointerGetDatum(container_id);
	values[END_OCCURRED_AT] = TimestampTzGetDatum(end->at);
	values[END_EXIT_STATUS] = Int32GetDatum(end->exit_status);
	nulls[END_EXIT_STATUS] = !end->has_exit_status;
	values[END_IS_OWN] = BoolGetDatum(end->is_own);
	values[END_IS_ASSUMED] = BoolGetDatum(false);
	values[END_RECORDED_AT] = TimestampTzGetDatum(ledger->now);
	yq_varlena_put(values, nulls, END_SOURCE, end->source);
	values[END_IS_BOOKED] = BoolGetDatum(end->is_booked);
	yq_bulk_insert_put(yq_ledger_end_writer(ledger, END_COLUMNS), values, nulls);
}

void
yq_reported_end_note_own(YqLedger *ledger, const YqEvent *finish)
{
	End			end = end_of_event(finish);

	if (end.is_own)
		put_end(ledger, finish->container_id, &end);
}

static bool
is_own_preemption(const End *end)
{
	return end->is_own && end->has_exit_status && end->exit_status == YQ_EXIT_PREEMPTED;
}

/*
 * Add an end to the list, unless the list contains it or is full.  When the list is full, the
 * first end that reports a preemption by yquota replaces the last one.
 */
static void
add_end(End *ends, int *count, const End *end)
{
	bool		tells_preemption = false;

	for (int i = 0; i < *count; i++)
	{
		if (is_same_end(&ends[i], end) && ends[i].is_own == end->is_own)
			return;
		tells_preemption |= is_own_preemption(&ends[i]);
	}
	if (*count < MAX_ENDS)
		ends[(*count)++] = *end;
	else if (is_own_preemption(end) && !tells_preemption)
		ends[MAX_ENDS - 1] = *end;
}

static End
read_end(TupleTableSlot *slot)
{
	End			end = {0};

	slot_getallattrs(slot);
	end.at = DatumGetTimestampTz(slot->tts_values[END_OCCURRED_AT]);
	end.has_exit_status = !slot->tts_isnull[END_EXIT_STATUS];
	end.exit_status = end.has_exit_status ? DatumGetInt32(slot->tts_values[END_EXIT_STATUS]) : 0;
	end.is_own = DatumGetBool(slot->tts_values[END_IS_OWN]);
	return end;
}

/* Tell whether a FINISH by which yquota preempted the container is recorded. */
static bool
reported_end_has_own_preemption(YqLedger *ledger, const text *container_id)
{
	YqIndexScan *scan = yq_ledger_ends(ledger);
	TupleTableSlot *slot;

	yq_index_scan_seek(scan, container_id);
	while ((slot = yq_index_scan_next(scan)) != NULL)
	{
		End			end = read_end(slot);

		CHECK_FOR_INTERRUPTS();
		if (is_own_preemption(&end))
			return true;
	}
	return false;
}

/*
 * Set is_noted of each end that has a row of the same source in reported_end.  The source of the
 * end "known" is unknown, so a row of any source counts.  Returns whether the container has any
 * row.
 */
static bool
find_noted(YqLedger *ledger, const text *container_id, End *known, End *ends, int count)
{
	YqIndexScan *scan = yq_ledger_ends(ledger);
	TupleTableSlot *slot;
	bool		found = false;

	yq_index_scan_seek(scan, container_id);
	while ((slot = yq_index_scan_next(scan)) != NULL)
	{
		End			row = read_end(slot);

		CHECK_FOR_INTERRUPTS();
		known->is_noted |= is_same_end(known, &row);
		for (int i = 0; i < count; i++)
			ends[i].is_noted |= is_same_end(&ends[i], &row) && ends[i].is_own == row.is_own;
		found = true;
	}
	return found;
}

/* Tell whether all ends come from a single feed, or from feeds that agree. */
static bool
is_one_end(const End *ends, int count)
{
	for (int i = 0; i < count; i++)
	{
		if (ends[i].is_own || !is_same_end(&ends[i], &ends[0]))
			return false;
	}
	return true;
}

void
yq_reported_end_note(YqLedger *ledger, const YqContainerLife *life,
					 const YqEvent *const *events, int count)
{
	End			known = {life->finished_at, life->has_exit_status, life->exit_status,
	false, NULL, true, false};
	End			ends[MAX_ENDS];
	int			end_count = 0;
	bool		found = false;

	for (int i = 0; i < count; i++)
	{
		End			end;

		CHECK_FOR_INTERRUPTS();
		if (events[i]->kind != YQ_CONTAINER_FINISH)
			continue;
		end = end_of_event(events[i]);
		add_end(ends, &end_count, &end);
	}
	if (end_count == 0)
		return;
	if (life->finished)
	{
		found = find_noted(ledger, life->container_id, &known, ends, end_count);
		/* an end without a row was reported by a feed */
		if (!known.is_noted)
			add_end(ends, &end_count, &known);
	}
	if (!found && is_one_end(ends, end_count))
		return;
	for (int i = 0; i < end_count; i++)
	{
		if (!ends[i].is_noted)
			put_end(ledger, life->container_id, &ends[i]);
	}
}

/* -- settle load --------------------------------------------------------------- */

/* Copy everything out of the slots into the current memory context. */

/* -- copying out of slots ------------------------------------------------ */

static void
keep_state(YqState *state)
{
	state->allocation = yq_varlena_copy(state->allocation);
	state->queue = yq_varlena_copy(state->queue);
	state->node = yq_varlena_copy(state->node);
	state->role.asked_label = yq_varlena_copy(state->role.asked_label);
}

static void
keep_container(YqContainer *container)
{
	container->container_id = yq_varlena_copy(container->container_id);
	container->project = yq_varlena_copy(container->project);
	container->application_id = yq_varlena_copy(container->application_id);
	container->username = yq_varlena_copy(container->username);
	container->label = yq_varlena_copy(container->label);
	container->factors = yq_varlena_copy(container->factors);
	keep_state(&container->state);
}

static void
keep_charge(YqCharge *charge)
{
	charge->container_id = yq_varlena_copy(charge->container_id);
	charge->project = yq_varlena_copy(charge->project);
	charge->application_id = yq_varlena_copy(charge->application_id);
	charge->username = yq_varlena_copy(charge->username);
	charge->dominant = yq_varlena_copy(charge->dominant);
	keep_state(&charge->state);
}

/* -- loading ------------------------------------------------------------- */

/* Find the rows in effect: those that neither reverse another row nor are reversed. */
static void
find_charges_in_effect(YqContainerRecords *loaded)
{
	bool	   *taken_back = palloc0(sizeof(bool) * (loaded->last_number + 1));

	for (int i = 0; i < loaded->charge_count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		taken_back[loaded->charges[i].corrects] = true;
	}
	loaded->in_effect = palloc(sizeof(bool) * Max(loaded->charge_count, 1));
	for (int i = 0; i < loaded->charge_count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		loaded->in_effect[i] = loaded->charges[i].corrects == 0 &&
			!taken_back[loaded->charges[i].number];
	}
}

static void
load_charges(YqLedger *ledger, YqContainerRecords *loaded, const text *container_id)
{
	YqIndexScan *scan = yq_ledger_charges(ledger);
	TupleTableSlot *slot;
	int			room = 4;

	loaded->charges = palloc(sizeof(YqCharge) * room);
	yq_index_scan_seek(scan, container_id);
	while ((slot = yq_index_scan_next(scan)) != NULL)
	{
		YqCharge   *charge;

		CHECK_FOR_INTERRUPTS();
		if (loaded->charge_count == room)
		{
			room *= 2;
			loaded->charges = repalloc(loaded->charges, sizeof(YqCharge) * room);
		}
		charge = &loaded->charges[loaded->charge_count++];
		yq_charge_read(ledger, charge, slot);
		keep_charge(charge);
		loaded->last_number = Max(loaded->last_number, charge->number);
	}

	find_charges_in_effect(loaded);
}

static void
load_changes(YqLedger *ledger, YqContainerRecords *loaded, const text *container_id)
{
	YqIndexScan *scan = yq_ledger_changes(ledger);
	TupleTableSlot *slot;

	yq_index_scan_seek(scan, container_id);
	while ((slot = yq_index_scan_next(scan)) != NULL)
	{
		YqEventKind kind;
		YqChange	change;

		CHECK_FOR_INTERRUPTS();
		yq_change_read(ledger, &kind, &change, slot);
		keep_state(&change.set);
		loaded->has_changes = true;
		if (kind == YQ_CONTAINER_START)
		{
			loaded->life.initial = change.set;
			yq_state_complete(&loaded->life.initial, container_id, ledger->labels.guaranteed);
		}
		else if (!loaded->life.finished ||
				 change.occurred_at <= loaded->life.finished_at)
			yq_container_life_add_change(&loaded->life, &change);
	}
	yq_container_life_complete(&loaded->life);
}

/* Return the row in effect that settled the container's finish, or NULL. */
static const YqCharge *
finishing_charge(const YqContainerRecords *loaded)
{
	for (int i = 0; i < loaded->charge_count; i++)
	{
		const YqCharge *charge = &loaded->charges[i];

		CHECK_FOR_INTERRUPTS();
		if (loaded->in_effect[i] && charge->settled_by == YQ_CONTAINER_FINISH &&
			charge->padding == 0)
			return charge;
	}
	return NULL;
}

static void
begin_life_of_running(YqContainerLife *life, const YqContainer *container)
{
	life->started = true;
	life->project = container->project;
	life->application_id = container->application_id;
	life->username = container->username;
	life->is_given = container->is_given;
	life->started_at = container->started_at;
	life->initial = container->state;
}

static void
begin_life_of_finished(YqContainerLife *life, const YqCharge *charge)
{
	life->started = true;
	life->project = charge->project;
	life->application_id = charge->application_id;
	life->username = charge->username;
	life->started_at = charge->started_at;
	life->initial = charge->state;
	life->finished = true;
	life->finished_at = charge->to;
	life->has_exit_status = charge->has_exit_status;
	life->exit_status = charge->exit_status;
}

/* Look up the source of the preemption only if the rule makes time free. */
static void
load_free_window(YqLedger *ledger, YqContainerLife *life)
{
	bool		any_source;

	if (life->finished && yq_timeline_free_before_preemption(life->started_at, &any_source) > 0)
		life->own_preemption = reported_end_has_own_preemption(ledger, life->container_id);
	life->free_from = yq_posting_free_from(life);
}

void
yq_settle_load_records(YqLedger *ledger, YqContainerRecords *loaded, text *container_id)
{
	TupleTableSlot *slot;
	const YqCharge *finish;

	memset(loaded, 0, sizeof(*loaded));
	loaded->life.container_id = container_id;
	loaded->life.now = ledger->now;
	loaded->life.opportunistic = ledger->labels.opportunistic;
	slot = yq_index_scan_wait_for(yq_ledger_containers(ledger), container_id);
	if (slot != NULL)
	{
		loaded->running = true;
		yq_container_read(ledger, &loaded->container, slot);
		keep_container(&loaded->container);
		begin_life_of_running(&loaded->life, &loaded->container);
	}
	load_charges(ledger, loaded, container_id);
	finish = finishing_charge(loaded);
	if (!loaded->running && finish != NULL)
		begin_life_of_finished(&loaded->life, finish);
	load_free_window(ledger, &loaded->life);
	if (loaded->life.started)
		load_changes(ledger, loaded, container_id);
}

int
yq_settle_load_waiting(YqLedger *ledger, const text *container_id, YqEvent ***waiting)
{
	YqIndexScan *scan = yq_ledger_waiting(ledger);
	TupleTableSlot *slot;
	int			count = 0;
	int			room = 4;

	*waiting = palloc(sizeof(YqEvent *) * room);
	yq_index_scan_seek(scan, container_id);
	while ((slot = yq_index_scan_next(scan)) != NULL)
	{
		YqEvent		event;

		CHECK_FOR_INTERRUPTS();
		if (count == room)
		{
			room *= 2;
			*waiting = repalloc(*waiting, sizeof(YqEvent *) * room);
		}
		yq_event_read(&event, slot, &yq_event_rejected, &ledger->labels);
		event.waited = true;
		event.reject_tid = slot->tts_tid;
		(*waiting)[count++] = yq_event_copy(&event);
	}
	return count;
}
