/*-------------------------------------------------------------------------
 *
 * settle_load.c
 *	  Loading the rows of one container into its history.
 *
 * Everything is copied out of slots into the current memory context.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "charging/settle_load.h"
#include "miscadmin.h"

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

/* A row is in effect when it neither takes another back nor is taken back. */
static void
find_charges_in_effect(YqContainerBooks *loaded)
{
	bool	   *taken_back = palloc0(sizeof(bool) * (loaded->last_number + 1));

	for (int i = 0; i < loaded->charge_count; i++)
		taken_back[loaded->charges[i].corrects] = true;
	loaded->in_effect = palloc(sizeof(bool) * Max(loaded->charge_count, 1));
	for (int i = 0; i < loaded->charge_count; i++)
		loaded->in_effect[i] = loaded->charges[i].corrects == 0 &&
			!taken_back[loaded->charges[i].number];
}

static void
load_charges(YqBooks *books, YqContainerBooks *loaded, const text *container_id)
{
	YqIndexScan   *finder = yq_books_charges(books);
	TupleTableSlot *slot;
	int			room = 4;

	loaded->charges = palloc(sizeof(YqCharge) * room);
	yq_index_scan_seek(finder, container_id);
	while ((slot = yq_index_scan_next(finder)) != NULL)
	{
		YqCharge   *charge;

		CHECK_FOR_INTERRUPTS();
		if (loaded->charge_count == room)
		{
			room *= 2;
			loaded->charges = repalloc(loaded->charges, sizeof(YqCharge) * room);
		}
		charge = &loaded->charges[loaded->charge_count++];
		yq_charge_read(books, charge, slot);
		keep_charge(charge);
		loaded->last_number = Max(loaded->last_number, charge->number);
	}

	find_charges_in_effect(loaded);
}

static void
load_changes(YqBooks *books, YqContainerBooks *loaded, const text *container_id)
{
	YqIndexScan   *finder = yq_books_changes(books);
	TupleTableSlot *slot;

	yq_index_scan_seek(finder, container_id);
	while ((slot = yq_index_scan_next(finder)) != NULL)
	{
		YqEventKind kind;
		YqChange	change;

		CHECK_FOR_INTERRUPTS();
		yq_change_read(books, &kind, &change, slot);
		keep_state(&change.set);
		loaded->has_changes = true;
		if (kind == YQ_CONTAINER_START)
		{
			loaded->history.initial = change.set;
			yq_state_complete(&loaded->history.initial, container_id, books->labels.guaranteed);
		}
		else if (!loaded->history.finished ||
				 change.occurred_at <= loaded->history.finished_at)
			yq_history_add_change(&loaded->history, &change);
	}
}

/* The row in effect that settled the container's finish, or NULL. */
static const YqCharge *
finishing_charge(const YqContainerBooks *loaded)
{
	for (int i = 0; i < loaded->charge_count; i++)
	{
		const YqCharge *charge = &loaded->charges[i];

		if (loaded->in_effect[i] && charge->settled_by == YQ_CONTAINER_FINISH &&
			charge->padding == 0)
			return charge;
	}
	return NULL;
}

static void
begin_history_of_running(YqHistory *history, const YqContainer *container)
{
	history->started = true;
	history->project = container->project;
	history->application_id = container->application_id;
	history->username = container->username;
	history->started_at = container->started_at;
	history->initial = container->state;
}

static void
begin_history_of_finished(YqHistory *history, const YqCharge *charge)
{
	history->started = true;
	history->project = charge->project;
	history->application_id = charge->application_id;
	history->username = charge->username;
	history->started_at = charge->started_at;
	history->initial = charge->state;
	history->finished = true;
	history->finished_at = charge->to;
	history->has_exit_status = charge->has_exit_status;
	history->exit_status = charge->exit_status;
}

void
yq_settle_load_books(YqBooks *books, YqContainerBooks *loaded, text *container_id)
{
	TupleTableSlot *slot;
	const YqCharge *finish;

	memset(loaded, 0, sizeof(*loaded));
	loaded->history.container_id = container_id;
	loaded->history.now = books->now;
	slot = yq_index_scan_wait_for(yq_books_containers(books), container_id);
	if (slot != NULL)
	{
		loaded->running = true;
		yq_container_read(books, &loaded->container, slot);
		keep_container(&loaded->container);
		begin_history_of_running(&loaded->history, &loaded->container);
	}
	load_charges(books, loaded, container_id);
	finish = finishing_charge(loaded);
	if (!loaded->running && finish != NULL)
		begin_history_of_finished(&loaded->history, finish);
	if (loaded->history.started)
		load_changes(books, loaded, container_id);
}

int
yq_settle_load_waiting(YqBooks *books, const text *container_id, YqEvent ***waiting)
{
	YqIndexScan   *finder = yq_books_waiting(books);
	TupleTableSlot *slot;
	int			count = 0;
	int			room = 4;

	*waiting = palloc(sizeof(YqEvent *) * room);
	yq_index_scan_seek(finder, container_id);
	while ((slot = yq_index_scan_next(finder)) != NULL)
	{
		YqEvent		event;

		if (count == room)
		{
			room *= 2;
			*waiting = repalloc(*waiting, sizeof(YqEvent *) * room);
		}
		yq_event_read(&event, slot, &yq_event_rejected, &books->labels);
		event.waited = true;
		event.reject_tid = slot->tts_tid;
		(*waiting)[count++] = yq_event_copy(&event);
	}
	return count;
}
