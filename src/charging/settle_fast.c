/*-------------------------------------------------------------------------
 *
 * settle_fast.c
 *	  From accepted events to the books: short cuts.
 *
 * Nearly all events are the START of a container that nobody has heard of, or
 * an UPDATE or the FINISH of one that runs.  STARTs are claimed many at a time
 * by inserting their rows; should the unique index know the id, or the ledger
 * show that the container has finished, the row is taken back and the rule
 * decides.  A FINISH deletes the row and posts one segment; an UPDATE behind
 * all others replaces the row and posts one, however many there were before.
 * What comes in one statement with its START waits for that to be claimed.
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
#include "charging/directory.h"
#include "charging/reported_end.h"
#include "charging/settle_internal.h"
#include "pricing/timeline.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

static bool
does_anything_wait(YqBooks *books)
{
	YqIndexScan   *waiting;

	if (yq_directory_nothing_waits())
		return false;
	waiting = yq_books_waiting(books);
	yq_index_scan_seek(waiting, NULL);
	if (yq_index_scan_next(waiting) != NULL)
		return true;
	yq_directory_note_nothing_waits();
	return false;
}

YqSettler *
yq_settler_create(YqBooks *books, YqBadEventHandler bad_event, void *argument)
{
	YqSettler  *settler = MemoryContextAllocZero(books->context, sizeof(YqSettler));

	settler->books = books;
	settler->bad_event = bad_event;
	settler->argument = argument;
	settler->container_context = AllocSetContextCreate(books->context,
													   "yquota container",
													   ALLOCSET_DEFAULT_SIZES);
	settler->start_context = AllocSetContextCreate(books->context,
												   "yquota pending starts",
												   ALLOCSET_DEFAULT_SIZES);
	settler->anything_waiting = does_anything_wait(books);
	return settler;
}

/* -- admission ----------------------------------------------------------- */

YqProblem *
yq_settle_check_allocation(const YqResource *allocation, TimestampTz at)
{
	YqResourceEntry entries[YQ_RESOURCE_MAX_ENTRIES];
	int			count = yq_resource_read(allocation, entries);
	uint64		weight;
	char	   *unknown;
	YqRateClass *rate_class;

	for (int i = 0; i < count; i++)
	{
		if (entries[i].amount > YQ_ALLOCATION_MAX_AMOUNT)
			return yq_problem(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE,
							  psprintf("allocation of resource \"%.*s\" is out of range",
									   entries[i].name_length, entries[i].name),
							  "An allocation holds at most 2^50 native units of a resource type.");
	}
	rate_class = yq_rate_class_find(allocation, NULL, &weight, &unknown);
	if (rate_class == NULL)
		return yq_problem(ERRCODE_FOREIGN_KEY_VIOLATION,
						  psprintf("resource type \"%s\" does not exist", unknown),
						  "Insert it into yquota.resource_type.");
	if (!yq_rate_class_is_payable(rate_class, at))
		return yq_problem(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE,
						  pstrdup("price of the allocation is out of range"),
						  "Lower the base price or the multiplier, or correct the allocation.");
	return NULL;
}

YqProblem *
yq_settle_check_age(const YqEvent *event)
{
	TimestampTz horizon = yq_timeline_cached()->horizon;

	if (event->occurred_at >= horizon)
		return NULL;
	return yq_problem(ERRCODE_INVALID_PARAMETER_VALUE,
					  psprintf("%s of container \"%s\" lies before the archive horizon at %s",
							   yq_event_kind_name(event->kind),
							   text_to_cstring(event->container_id),
							   timestamptz_to_str(horizon)),
					  "Look for the container in the archive; so old an event is accepted only when its container is still in the books.");
}

static YqProblem *
check_project(YqBooks *books, const text *project)
{
	if (project == NULL)
		return yq_problem(ERRCODE_NOT_NULL_VIOLATION,
						  pstrdup("CONTAINER_START names no project"),
						  "Set project, or username in the form project__user.");
	if (!yq_books_know_project(books, project))
		return yq_problem(ERRCODE_FOREIGN_KEY_VIOLATION,
						  psprintf("project \"%s\" does not exist", text_to_cstring(project)),
						  "Insert it into yquota.project, or turn on yquota.auto_create_project.");
	return NULL;
}

YqProblem *
yq_settle_admit(YqBooks *books, const YqEvent *event, YqContainer *container)
{
	YqProblem  *problem;

	memset(container, 0, sizeof(*container));
	yq_event_payer(event, &container->project, &container->username);
	problem = yq_settle_check_age(event);
	if (problem == NULL)
		problem = check_project(books, container->project);
	if (problem == NULL)
		problem = yq_settle_check_allocation(event->allocation, event->occurred_at);
	if (problem != NULL)
		return problem;

	container->container_id = event->container_id;
	container->application_id = event->application_id;
	container->state.allocation = event->allocation;
	container->state.execution_type = OidIsValid(event->execution_type) ?
		event->execution_type : books->labels.guaranteed;
	container->state.queue = event->queue;
	container->state.node = event->node;
	container->label = yq_books_label_of(books, event->node);
	container->started_at = event->occurred_at;
	container->settled_at = event->occurred_at;
	return NULL;
}

/* -- updates and finishes ------------------------------------------------ */

/* Whether an event waits for this container's START. */
static bool
is_awaited(YqSettler *settler, const text *container_id)
{
	YqIndexScan   *finder;

	if (!settler->anything_waiting)
		return false;
	finder = yq_books_waiting(settler->books);
	yq_index_scan_seek(finder, container_id);
	return yq_index_scan_next(finder) != NULL;
}

/*
 * Read the row of the container that an event is about; it stays valid until
 * the next look for a container.  False when the rule has to decide.
 */
static bool
find_running(YqSettler *settler, const YqEvent *event, YqContainer *container)
{
	YqIndexScan   *finder = yq_books_containers(settler->books);
	TupleTableSlot *slot;

	if (is_awaited(settler, event->container_id))
		return false;
	slot = yq_index_scan_advance(finder, event->container_id);
	if (slot == NULL)
		return false;
	yq_container_read(settler->books, container, slot);
	return event->project == NULL || yq_varlena_equal(event->project, container->project);
}

/* What a container has held since it was settled last, up to an event. */
static YqCharge
charge_of_event(const YqContainer *container, const YqEvent *event)
{
	YqCharge	charge = {0};

	charge.container_id = container->container_id;
	charge.project = container->project;
	charge.application_id = container->application_id;
	charge.username = container->username;
	charge.state = container->state;
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

/* Record an UPDATE; the first one records the START as well. */
static void
record_change(YqBooks *books, const YqContainer *before, const YqEvent *event,
			  const YqState *set)
{
	YqIndexScan   *finder = yq_books_changes(books);

	yq_index_scan_seek(finder, before->container_id);
	if (yq_index_scan_next(finder) == NULL)
		yq_change_put(books, before->container_id, YQ_CONTAINER_START,
					  before->started_at, &before->state, false);
	yq_change_put(books, before->container_id, YQ_CONTAINER_UPDATE,
				  event->occurred_at, set, false);
}

/*
 * An UPDATE behind all that is known.  False, with nothing done, when the rule
 * has to decide.
 */
static bool
settle_update(YqSettler *settler, const YqEvent *event)
{
	YqBooks    *books = settler->books;
	YqState		set = yq_state_of_event(event);
	YqContainer before;
	YqContainer after;
	YqCharge	charge;

	if (!find_running(settler, event, &before) ||
		event->occurred_at <= before.settled_at ||
		before.settled_at < yq_last_period_end() ||
		yq_state_is_empty(&set) ||
		(set.allocation != NULL &&
		 yq_settle_check_allocation(set.allocation, event->occurred_at) != NULL))
		return false;

	charge = charge_of_event(&before, event);
	after = before;
	yq_state_apply(&after.state, &set);
	after.settled_at = event->occurred_at;
	after.charges++;
	after.label = yq_settle_label(books, &before, after.state.node);
	if (!yq_settle_price(books, &charge) ||
		!yq_settle_accrue(books, &after) ||
		!yq_row_delete(yq_index_scan_relation(yq_books_containers(books)), &before.tid))
		return false;

	yq_charge_put(books, &charge);
	yq_counters_changed_from(books->counters, before.project, event->occurred_at);
	yq_settle_count(books, &before, -1);
	yq_settle_count(books, &after, 1);
	record_change(books, &before, event, &set);
	yq_settle_replace(books, &after);
	return true;
}

/*
 * A FINISH behind all that is known.  False, with nothing done, when the rule
 * has to decide.
 */
static bool
settle_finish(YqSettler *settler, const YqEvent *event)
{
	YqBooks    *books = settler->books;
	YqContainer container;
	YqCharge	charge;
	YqCharge	padding;
	bool		is_padded;

	if (!find_running(settler, event, &container) ||
		event->occurred_at < container.settled_at ||
		container.settled_at < yq_last_period_end() ||
		/* what the end of the period settled becomes the last charge */
		event->occurred_at == yq_last_period_end())
		return false;

	charge = charge_of_event(&container, event);
	if (!yq_settle_price(books, &charge))
		return false;
	is_padded = yq_settle_padding(&charge, &padding);
	if ((is_padded && !yq_settle_price(books, &padding)) ||
		!yq_row_delete(yq_index_scan_relation(yq_books_containers(books)), &container.tid))
		return false;

	yq_charge_put(books, &charge);
	if (is_padded)
	{
		padding.number++;
		yq_charge_put(books, &padding);
	}
	yq_counters_changed_from(books->counters, container.project, event->occurred_at);
	yq_reported_end_note_own(books, event);
	yq_settle_count(books, &container, -1);
	return true;
}

/* An event of a container that runs; false when the rule has to decide. */
static bool
settle_running(YqSettler *settler, const YqEvent *event)
{
	MemoryContext old_context = MemoryContextSwitchTo(settler->container_context);
	bool		done = false;

	if (event->kind == YQ_CONTAINER_UPDATE)
		done = settle_update(settler, event);
	else if (event->kind == YQ_CONTAINER_FINISH)
		done = settle_finish(settler, event);
	MemoryContextSwitchTo(old_context);
	MemoryContextReset(settler->container_context);
	return done;
}

/*
 * Events of a container from the second of this statement on.  But for the
 * FINISH of a container that runs, they read rows that may not have been
 * written yet.
 */
static void
settle_followers(YqSettler *settler, const YqEvent *const *events, int count)
{
	int			done = 0;

	for (; done < count; done++)
	{
		if (events[done]->kind != YQ_CONTAINER_FINISH)
			yq_books_flush(settler->books);
		if (!settle_running(settler, events[done]))
			break;
	}
	if (done == count)
		return;
	yq_books_flush(settler->books);
	(void) yq_settle_events(settler, events[0]->container_id, events + done, count - done);
}

/* Settle the pending FINISHes of containers before an id, or all (NULL). */
static void
settle_finishes(YqSettler *settler, const text *before)
{
	while (settler->finishes_done < settler->finish_count)
	{
		const YqEvent *finish = settler->finishes[settler->finishes_done];

		if (before != NULL && yq_text_compare(finish->container_id, before) > 0)
			return;
		settler->finishes_done++;
		if (!settle_running(settler, finish))
			(void) yq_settle_events(settler, finish->container_id, &finish, 1);
	}
}

/* -- starts -------------------------------------------------------------- */

void
yq_settle_withdraw(YqBooks *books, const text *container_id)
{
	YqIndexScan   *finder = yq_books_containers(books);
	TupleTableSlot *slot;

	yq_index_scan_seek(finder, container_id);
	slot = yq_index_scan_next(finder);
	if (slot == NULL)
		elog(ERROR, "row of a container is missing");
	CommandCounterIncrement();
	if (!yq_row_delete(yq_index_scan_relation(finder), &slot->tts_tid))
		elog(ERROR, "could not take back the row of a container");
}

static void
before_start(void *argument, int row)
{
	YqSettler  *settler = argument;

	settle_finishes(settler, settler->starts[row].container.container_id);
}

/*
 * Somebody else has a row with this id, is about to, or has withdrawn one.  The
 * rule waits for who that is.  Our own row is marked as withdrawn: otherwise
 * two that have met a third one would wait for each other when it has gone.
 */
static void
on_start_conflict(void *argument, int row, ItemPointer tid)
{
	YqSettler  *settler = argument;
	YqPendingStart *start = &settler->starts[row];
	YqIndexScan   *finder = yq_books_containers(settler->books);

	if (!yq_index_scan_is_taken(finder, start->container.container_id, tid))
		return;
	start->contended = true;
	yq_settle_count(settler->books, &start->container, -1);
	CommandCounterIncrement();
	yq_row_withdraw(yq_index_scan_relation(finder), tid);
	(void) yq_settle_events(settler, start->container.container_id,
							start->events, start->event_count);
}

static bool
has_charges(YqBooks *books, const text *container_id)
{
	YqIndexScan   *finder = yq_books_charges(books);

	yq_index_scan_seek(finder, container_id);
	return yq_index_scan_next(finder) != NULL;
}

/*
 * The ledger is looked at after the row has claimed the id: nobody can have
 * finished the container since.
 */
static void
withdraw_finished_starts(YqSettler *settler)
{
	YqIndexScan   *ledger = yq_books_charges(settler->books);

	yq_index_scan_restart(ledger);
	for (int i = 0; i < settler->start_count; i++)
	{
		YqPendingStart *start = &settler->starts[i];

		if (start->contended ||
			yq_index_scan_advance(ledger, start->container.container_id) == NULL)
			continue;
		start->withdrawn = true;
		settler->is_replay = true;
		yq_settle_count(settler->books, &start->container, -1);
		yq_settle_withdraw(settler->books, start->container.container_id);
	}
}

static void
forget_pending(YqSettler *settler)
{
	settler->start_count = settler->finish_count = settler->finishes_done = 0;
	settler->starts = NULL;
	settler->finishes = NULL;
	MemoryContextReset(settler->start_context);
}

static void
claim_pending_starts(YqSettler *settler)
{
	YqBooks    *books = settler->books;
	YqBulkInsert   *writer;
	MemoryContext old_context;

	if (settler->start_count == 0)
	{
		/* what was not admitted may be there still */
		forget_pending(settler);
		return;
	}
	writer = yq_books_start_writer(books);
	old_context = MemoryContextSwitchTo(settler->start_context);
	for (int i = 0; i < settler->start_count; i++)
		yq_container_put(books, writer, &settler->starts[i].container);
	yq_bulk_insert_flush_optimistically(writer, before_start, on_start_conflict, settler);
	settle_finishes(settler, NULL);
	CommandCounterIncrement();
	withdraw_finished_starts(settler);

	yq_index_scan_restart(yq_books_containers(books));
	for (int i = 0; i < settler->start_count; i++)
	{
		const YqPendingStart *start = &settler->starts[i];

		if (start->withdrawn)
			(void) yq_settle_events(settler, start->container.container_id,
									start->events, start->event_count);
		else if (!start->contended && start->event_count > 1)
			settle_followers(settler, start->events + 1, start->event_count - 1);
	}
	yq_index_scan_restart(yq_books_containers(books));
	MemoryContextSwitchTo(old_context);
	forget_pending(settler);
}

/* False, with nothing done, when the rule has to decide. */
static bool
settle_start(YqSettler *settler, const YqEvent *const *events, int count)
{
	MemoryContext old_context;
	YqPendingStart *start;
	bool		admitted;

	if (events[0]->occurred_at < yq_last_period_end() ||
		is_awaited(settler, events[0]->container_id) ||
		(settler->is_replay && has_charges(settler->books, events[0]->container_id)))
		return false;
	if (settler->start_count == YQ_PENDING_STARTS)
		claim_pending_starts(settler);

	old_context = MemoryContextSwitchTo(settler->start_context);
	if (settler->starts == NULL)
		settler->starts = palloc(sizeof(YqPendingStart) * YQ_PENDING_STARTS);
	start = &settler->starts[settler->start_count];
	start->events = palloc(sizeof(YqEvent *) * count);
	start->event_count = count;
	for (int i = 0; i < count; i++)
		start->events[i] = yq_event_copy(events[i]);
	start->contended = false;
	start->withdrawn = false;
	admitted = (yq_settle_admit(settler->books, start->events[0], &start->container) == NULL &&
				yq_settle_accrue(settler->books, &start->container));
	if (admitted)
	{
		yq_settle_count(settler->books, &start->container, 1);
		yq_counters_changed_from(settler->books->counters, start->container.project,
								 start->container.started_at);
		settler->start_count++;
	}
	MemoryContextSwitchTo(old_context);
	return admitted;
}

/* -- all ----------------------------------------------------------------- */

/* Keep the only event of a container, a FINISH, for its turn. */
static bool
keep_finish(YqSettler *settler, const YqEvent *finish)
{
	MemoryContext old_context;

	if (settler->start_count == 0 || settler->finish_count == YQ_PENDING_FINISHES)
		return false;
	old_context = MemoryContextSwitchTo(settler->start_context);
	if (settler->finishes == NULL)
		settler->finishes = palloc(sizeof(YqEvent *) * YQ_PENDING_FINISHES);
	settler->finishes[settler->finish_count++] = yq_event_copy(finish);
	MemoryContextSwitchTo(old_context);
	return true;
}

void
yq_settle_container(YqSettler *settler, const YqEvent *const *events, int count)
{
	if (count == 1 && events[0]->kind == YQ_CONTAINER_FINISH && keep_finish(settler, events[0]))
		return;
	if (events[0]->kind == YQ_CONTAINER_START && count <= YQ_EVENTS_WITH_START &&
		settle_start(settler, events, count))
		return;
	claim_pending_starts(settler);
	if (settle_running(settler, events[0]))
		settle_followers(settler, events + 1, count - 1);
	else
		(void) yq_settle_events(settler, events[0]->container_id, events, count);
}

bool
yq_settle_again(YqSettler *settler, const text *container_id)
{
	claim_pending_starts(settler);
	return yq_settle_events(settler, (text *) container_id, NULL, 0);
}

void
yq_settler_next_statement(YqSettler *settler)
{
	claim_pending_starts(settler);
	yq_books_flush(settler->books);
	CommandCounterIncrement();
	settler->anything_waiting |= does_anything_wait(settler->books);
}

void
yq_settler_finish(YqSettler *settler)
{
	claim_pending_starts(settler);
}
