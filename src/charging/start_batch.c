/*-------------------------------------------------------------------------
 *
 * start_batch.c
 *	  STARTs of new containers, many at a time; and the entry of settling.
 *
 * STARTs are claimed many at a time by inserting their rows.  When the unique
 * index knows the id, or the ledger shows that the container has finished, the
 * row is taken back and the rule decides.  Events that come in one statement
 * with their START wait for its claim.
 *
 * Pending STARTs are claimed before anything is locked for a later container,
 * and one that is contended is settled before the next is claimed; a FINISH
 * that comes while STARTs are pending takes its turn among them.  Statements
 * wait for each other in the order of container ids only.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "access/xact.h"
#include "charging/admit.h"
#include "charging/append.h"
#include "charging/name_cache.h"
#include "charging/posting.h"
#include "charging/start_batch.h"
#include "miscadmin.h"
#include "pricing/timeline.h"
#include "utils/memutils.h"

/* Starts collected before they are claimed, and FINISHes that wait for that. */
#define PENDING_STARTS 1000
#define PENDING_FINISHES 1000

/*
 * Events of one statement that may come with a START: the UPDATEs and FINISH of
 * a short life.  The rule decides when there are more.
 */
#define EVENTS_WITH_START 8

/*
 * A START of a container that seems to be new, about to be claimed.  The
 * container is counted in already, and out again when it turns out to be known.
 */
typedef struct PendingStart
{
	const YqEvent **events;		/* the START and the events after it */
	int			event_count;
	YqContainer container;
	bool		contended;		/* another transaction has, or had, a row:
								 * settled by the rule */
	bool		withdrawn;		/* has finished already: the rule is to decide */
} PendingStart;

typedef struct YqStartBatch
{
	MemoryContext context;		/* of all that is pending; reset when it is done */
	bool		is_replay;		/* starts of finished containers were seen */
	int			start_count;
	PendingStart *starts;
	int			finish_count;	/* FINISHes among the ids of pending starts */
	int			finishes_done;
	const YqEvent **finishes;
} YqStartBatch;

/* Settle the pending FINISHes of containers before an id, or all (NULL). */
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
		yq_append_or_settle(settler, NULL, &finish, 1);
	}
}

/*
 * Another transaction had a row with the id of this start, was about to, or had
 * withdrawn one.  The rule waits for that transaction.  Our own row is withdrawn
 * already: otherwise two transactions that have met a third one would wait for
 * each other when it has ended.
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
 * The ledger is read after the row has claimed the id: no other transaction can
 * have finished the container since.
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
		/* events that were not admitted may be there still */
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
			yq_append_or_settle(settler, &start->container, start->events + 1, start->event_count - 1);
	}
	yq_index_scan_restart(ledger->container_scan);
	MemoryContextSwitchTo(old_context);
	forget_pending(batch);
}

/* False, with nothing done, when the rule has to decide. */
static bool
add_start(YqSettler *settler, const YqEvent *const *events, int count)
{
	YqStartBatch *batch = settler->batch;
	MemoryContext old_context;
	PendingStart *start;
	bool		admitted;

	if (events[0]->occurred_at < yq_timeline_last_period_end() ||
		yq_append_is_awaited(settler, events[0]->container_id) ||
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

/* Keep a FINISH, the only event of its container, for its turn. */
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
	yq_append_or_settle(settler, NULL, events, count);
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
