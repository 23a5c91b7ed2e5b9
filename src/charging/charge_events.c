/*-------------------------------------------------------------------------
 *
 * charge_events.c
 *	  The trigger of yquota.container_event: each lifecycle event is charged within its own transaction,
 *	  or kept to be charged later.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "base/settings.h"
#include "catalog/pg_collation_d.h"
#include "catalog/pg_operator_d.h"
#include "catalog/pg_type_d.h"
#include "charging/charge_events.h"
#include "charging/event.h"
#include "charging/settler.h"
#include "commands/sequence.h"
#include "commands/trigger.h"
#include "executor/tuptable.h"
#include "miscadmin.h"
#include "store/bulk_insert.h"
#include "store/catalog.h"
#include "store/clock.h"
#include "store/index_scan.h"
#include "store/role_scope.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"
#include "utils/tuplesort.h"
#include "utils/typcache.h"

/* -- deferred ------------------------------------------------------------------ */

/*
 * Events that are in the log but have not been charged yet.
 *
 * If yquota.charging = deferred, the trigger only copies the rows of a statement to
 * yquota_internal.deferred_event.  It does so in the transaction that inserts them into the log.
 * The trigger must succeed even if charging would fail.  It therefore reads no timeline, no counter
 * and no row of the ledger, and does not look into the events.  The log itself cannot show which of
 * its rows are not charged yet.  It has neither keys nor indexes, and may be sealed.
 *
 * Each statement gets a number from a sequence.  Its events can then be charged later in the order
 * of the statements.
 *
 * The transaction that charges a row of deferred_event also deletes it.  For this it holds a
 * ShareUpdateExclusiveLock on the table, which only one transaction can hold.  Statements that add
 * rows do not wait for this lock; see yquota.charge_deferred().
 */

/* Columns of deferred_event: those of the event, the number of the statement, and the sender. */
#define DEFERRED_COLUMNS (YQ_EVENT_COLUMNS + 2)

/* The number of rows that are written together. */
#define DEFERRED_BATCH 1000

/* Copy the rows of a statement to deferred_event. */
static void
deferred_keep(Tuplestorestate *rows, TupleDesc descriptor)
{
	YqBulkInsert   *writer = yq_bulk_insert_open(YQ_DEFERRED_EVENT, DEFERRED_COLUMNS, DEFERRED_BATCH, false);
	Oid			sequence = yq_identity_sequence(yq_bulk_insert_relation(writer), YQ_DEFERRED_ARRIVAL + 1);
	TupleTableSlot *slot = MakeSingleTupleTableSlot(descriptor, &TTSOpsMinimalTuple);
	Datum		values[DEFERRED_COLUMNS];
	bool		nulls[DEFERRED_COLUMNS];

	values[YQ_DEFERRED_ARRIVAL] = Int64GetDatum(nextval_internal(sequence, false));
	nulls[YQ_DEFERRED_ARRIVAL] = false;
	yq_varlena_put(values, nulls, yq_event_deferred.sent_by - 1, yq_event_sender());
	tuplestore_rescan(rows);
	while (tuplestore_gettupleslot(rows, true, false, slot))
	{
		CHECK_FOR_INTERRUPTS();
		slot_getsomeattrs(slot, YQ_EVENT_COLUMNS);
		for (int column = 0; column < YQ_EVENT_COLUMNS; column++)
		{
			int			place = YQ_EVENT_ATTRIBUTE(&yq_event_deferred, column) - 1;

			values[place] = slot->tts_values[column];
			nulls[place] = slot->tts_isnull[column];
		}
		yq_bulk_insert_put(writer, values, nulls);
	}
	ExecDropSingleTupleTableSlot(slot);
	yq_bulk_insert_close(writer);
}

/* Tell whether deferred_event has a committed event of a container. */
static bool
deferred_has(const text *container_id)
{
	YqIndexScan *scan = yq_index_scan_open(YQ_DEFERRED_EVENT, "deferred_event_container_idx");
	bool		found = (yq_index_scan_find(scan, container_id) != NULL);

	yq_index_scan_close(scan);
	return found;
}

/* -- charge events ------------------------------------------------------------- */

/*
 * The trigger runs AFTER INSERT, once per statement, on the transition table.  It sorts the rows
 * by container id, instant and kind, and settles one container after another; see settler.h.  A
 * large sort spills to disk.  Rows that arrive in this order are not sorted.  The trigger raises a
 * bad event as an error or sets it aside with the reason, as yquota.on_bad_event says.
 *
 * If yquota.charging = deferred, the trigger copies the rows to deferred_event instead.  They are
 * charged later in the same way, many statements at once.
 *
 * The trigger runs as the inserting role.  It writes to tables on which this role has no
 * privileges.  It therefore refuses to run for any table other than container_event.
 */

PG_FUNCTION_INFO_V1(yq_sql_charge_inserted_events);

/* Columns of charged_through, in table order. */
enum
{
	MARK_AT,
	MARK_RECORDED_AT,
	MARK_SOURCE,
	MARK_COLUMNS
};

/* The rows of one or several statements, in the order in which they are settled. */
typedef struct EventSource
{
	AttrNumber	arrival;		/* attribute number of the statement's number, or 0 */
	Tuplestorestate *store;
	Tuplesortstate *sort;		/* sorted rows; NULL when the rows in the store are in order */
	TupleTableSlot *slots[2];	/* slots that are used alternately, to read one row ahead */
	MemoryContext contexts[2];	/* values read from the slots' rows; reset before the next row */
	int			next_slot;
} EventSource;

typedef struct EventCharger
{
	YqLedger   *ledger;
	YqSettler  *settler;
	EventSource source;
	YqChargeEventsResult result;
	MemoryContext result_context;
	text	   *sender;			/* sender of the statement's events; NULL until an event is set aside */
	bool		has_mark;
	TimestampTz mark_at;		/* latest instant of a QUOTA_COMPUTE event */
	text	   *mark_source;
} EventCharger;

static void
check_protocol(FunctionCallInfo fcinfo)
{
	TriggerData *trigger = (TriggerData *) fcinfo->context;

	if (!CALLED_AS_TRIGGER(fcinfo) ||
		!TRIGGER_FIRED_AFTER(trigger->tg_event) ||
		!TRIGGER_FIRED_FOR_STATEMENT(trigger->tg_event) ||
		!TRIGGER_FIRED_BY_INSERT(trigger->tg_event) ||
		trigger->tg_newtable == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("charge_events() must be called as a trigger AFTER INSERT FOR EACH STATEMENT with a new table")));
	if (RelationGetRelid(trigger->tg_relation) != yq_table_oid(YQ_CONTAINER_EVENT))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("charge_events() serves table \"yquota.container_event\" only"),
				 errdetail("The function was called for table \"%s\".",
						   RelationGetRelationName(trigger->tg_relation))));
}

/* -- order --------------------------------------------------------------- */

/* Tell whether "a" sorts before "b" or is equal to it, in the order of settling. */
static bool
is_before(const YqEvent *a, const YqEvent *b)
{
	int			order;

	if (a->container_id == NULL || b->container_id == NULL)
		return a->container_id == NULL;
	order = yq_varlena_compare(a->container_id, b->container_id);
	if (order != 0)
		return order < 0;
	if (a->arrival != b->arrival)
		return a->arrival < b->arrival;
	if (a->occurred_at != b->occurred_at)
		return a->occurred_at < b->occurred_at;
	return a->kind <= b->kind;
}

/* Read the row in a slot with a read function of event.h. */
static void
read_row(EventCharger *charger, YqEvent *event, int slot,
		 void (*read) (YqEvent *, TupleTableSlot *, const YqEventLayout *, const YqEventLabels *))
{
	EventSource *source = &charger->source;
	MemoryContext old_context = MemoryContextSwitchTo(source->contexts[slot]);

	MemoryContextReset(source->contexts[slot]);
	read(event, source->slots[slot], source->arrival == 0 ? &yq_event_logged : &yq_event_deferred,
		 &charger->ledger->labels);
	event->arrival = 0;
	if (source->arrival != 0)
	{
		bool		isnull;

		event->arrival = DatumGetInt64(slot_getattr(source->slots[slot], source->arrival, &isnull));
	}
	MemoryContextSwitchTo(old_context);
}

/* Read the whole transition table, and tell whether its rows are already in the order of settling. */
static bool
is_in_order(EventCharger *charger)
{
	EventSource *source = &charger->source;
	YqEvent		events[2];
	int			count = 0;

	if (tuplestore_tuple_count(source->store) == 1)
		return true;
	for (;; count++)
	{
		CHECK_FOR_INTERRUPTS();
		if (!tuplestore_gettupleslot(source->store, true, false, source->slots[count % 2]))
			return true;
		read_row(charger, &events[count % 2], count % 2, yq_event_read_place);
		if (count > 0 && !is_before(&events[(count - 1) % 2], &events[count % 2]))
			return false;
	}
}

static Tuplesortstate *
sort_rows(const EventSource *source, TupleDesc descriptor)
{
	AttrNumber	columns[4];
	Oid			operators[4];
	Oid			collations[4] = {C_COLLATION_OID};
	bool		nulls_first[4] = {true};
	int			count = 0;
	TupleTableSlot *slot = source->slots[0];
	Tuplesortstate *sort;

	columns[count++] = YQ_EVENT_CONTAINER_ID + 1;
	if (source->arrival != 0)
		columns[count++] = source->arrival;
	columns[count++] = YQ_EVENT_OCCURRED_AT + 1;
	columns[count++] = YQ_EVENT_KIND + 1;
	for (int i = 0; i < count; i++)
		operators[i] = lookup_type_cache(TupleDescAttr(descriptor, columns[i] - 1)->atttypid,
										 TYPECACHE_LT_OPR)->lt_opr;
	sort = tuplesort_begin_heap(descriptor, count, columns, operators, collations, nulls_first,
								work_mem, NULL, TUPLESORT_NONE);
	while (tuplestore_gettupleslot(source->store, true, false, slot))
	{
		CHECK_FOR_INTERRUPTS();
		tuplesort_puttupleslot(sort, slot);
	}
	tuplesort_performsort(sort);
	return sort;
}

static void
open_source(EventCharger *charger, Tuplestorestate *rows, TupleDesc descriptor, AttrNumber arrival)
{
	EventSource *source = &charger->source;

	source->store = rows;
	source->arrival = arrival;
	source->sort = NULL;
	source->next_slot = 0;
	for (int i = 0; i < 2; i++)
	{
		source->slots[i] = MakeSingleTupleTableSlot(descriptor, &TTSOpsMinimalTuple);
		source->contexts[i] = AllocSetContextCreate(CurrentMemoryContext,
													"yquota event", ALLOCSET_SMALL_SIZES);
	}

	tuplestore_rescan(source->store);
	if (!is_in_order(charger))
	{
		tuplestore_rescan(source->store);
		source->sort = sort_rows(source, descriptor);
	}
	tuplestore_rescan(source->store);
}

static void
close_source(EventSource *source)
{
	for (int i = 0; i < 2; i++)
		ExecDropSingleTupleTableSlot(source->slots[i]);
	if (source->sort != NULL)
		tuplesort_end(source->sort);
}

/* Read the next event into the slot that was not used last.  Returns false at the end. */
static bool
next_event(EventCharger *charger, YqEvent *event)
{
	EventSource *source = &charger->source;
	TupleTableSlot *slot = source->slots[source->next_slot];
	bool		found;

	found = source->sort != NULL ?
		tuplesort_gettupleslot(source->sort, true, true, slot, NULL) :
		tuplestore_gettupleslot(source->store, true, false, slot);
	if (found)
	{
		read_row(charger, event, source->next_slot, yq_event_read);
		charger->result.events++;
	}
	return found;
}

/* -- settling ------------------------------------------------------------ */

/*
 * Raise the problem of an event as an error.  If the event's container is unknown because its START
 * is deferred, the hint says so.
 */
static void
raise_bad_event(const YqEvent *event, const YqProblem *problem)
{
	YqProblem	raised = *problem;

	if (problem->may_wait && deferred_has(event->container_id))
		raised.hint = "Earlier events of the container are deferred. Call yquota.charge_deferred(), or set yquota.on_bad_event to set_aside.";
	yq_problem_raise(&raised, yq_event_describe(event));
}

static text *
statement_sender(EventCharger *charger)
{
	if (charger->sender == NULL)
	{
		MemoryContext old_context = MemoryContextSwitchTo(charger->result_context);

		charger->sender = yq_event_sender();
		MemoryContextSwitchTo(old_context);
	}
	return charger->sender;
}

static void
count_reject(EventCharger *charger, const YqEvent *event, const YqProblem *problem)
{
	YqChargeEventsResult *result = &charger->result;

	if (result->first_reason == NULL || (result->set_aside == result->waiting && !problem->may_wait))
		result->first_reason = MemoryContextStrdup(charger->result_context,
												   psprintf("The first problem is: %s. %s", problem->message, yq_event_describe(event)));
	result->set_aside++;
	if (problem->may_wait)
		result->waiting++;
}

static void
on_bad_event(void *argument, const YqEvent *event, const YqProblem *problem)
{
	EventCharger *charger = argument;
	YqEvent		rejected = *event;

	if (yq_on_bad_event == YQ_ON_BAD_EVENT_ERROR)
		raise_bad_event(event, problem);
	if (charger->source.arrival == 0)
		rejected.sent_by = statement_sender(charger);
	yq_reject_put(charger->ledger, &rejected, problem, problem->may_wait);
	count_reject(charger, event, problem);
}

static void
note_mark(EventCharger *charger, const YqEvent *event)
{
	MemoryContext old_context;

	if (charger->has_mark && event->occurred_at <= charger->mark_at)
		return;
	old_context = MemoryContextSwitchTo(charger->ledger->context);
	charger->has_mark = true;
	charger->mark_at = event->occurred_at;
	charger->mark_source = event->source == NULL ? NULL :
		cstring_to_text_with_len(VARDATA_ANY(event->source), VARSIZE_ANY_EXHDR(event->source));
	MemoryContextSwitchTo(old_context);
}

/* Insert the charged-through mark.  Marks are never updated, so no transaction waits for another one's mark. */
static void
post_mark(EventCharger *charger)
{
	YqBulkInsert   *writer;
	Datum		values[MARK_COLUMNS];
	bool		nulls[MARK_COLUMNS] = {false};

	if (!charger->has_mark)
		return;
	writer = yq_bulk_insert_open(YQ_CHARGED_THROUGH, MARK_COLUMNS, 1, false);
	values[MARK_AT] = TimestampTzGetDatum(charger->mark_at);
	values[MARK_RECORDED_AT] = TimestampTzGetDatum(charger->ledger->now);
	values[MARK_SOURCE] = PointerGetDatum(charger->mark_source);
	nulls[MARK_SOURCE] = (charger->mark_source == NULL);
	yq_bulk_insert_put(writer, values, nulls);
	yq_bulk_insert_close(writer);
}

/*
 * Return the latest instant at which an event may change or end a container.  Normally this is the
 * clock.  After the clock has been set back, a container may have been settled at a later instant.
 * It can then change and end up to a microsecond after that instant.  Otherwise it could not end
 * until the clock has caught up.
 */
static TimestampTz
latest_instant(EventCharger *charger, const YqEvent *event)
{
	TupleTableSlot *slot;
	YqContainer container;

	if ((event->kind != YQ_CONTAINER_UPDATE && event->kind != YQ_CONTAINER_FINISH) ||
		event->container_id == NULL)
		return charger->ledger->now;
	slot = yq_index_scan_find(yq_ledger_containers(charger->ledger), event->container_id);
	if (slot == NULL)
		return charger->ledger->now;
	yq_container_read(charger->ledger, &container, slot);
	return container.settled_at + 1;
}

/*
 * Check an event without the records of its container, in the memory context of its slot.  Returns
 * true when the event can be settled.
 */
static bool
receive_event(EventCharger *charger, const YqEvent *event)
{
	MemoryContext old_context = MemoryContextSwitchTo(charger->source.contexts[charger->source.next_slot]);
	TimestampTz now = charger->ledger->now;
	YqProblem  *problem = yq_event_check(event, now, yq_event_is_ahead(event, now) ? latest_instant(charger, event) : now);
	bool		has_feed = event->source != NULL && VARSIZE_ANY_EXHDR(event->source) <= YQ_NAME_MAX_LENGTH;

	/* count the event of a feed whose name is too long for the index without the name; the event is refused */
	yq_counters_feed(charger->ledger->counters, has_feed ? event->source : NULL,
					 event->has_occurred_at && problem == NULL, event->occurred_at,
					 event->recorded_at);
	if (problem != NULL)
		on_bad_event(charger, event, problem);
	MemoryContextSwitchTo(old_context);
	if (problem != NULL)
		return false;
	if (event->kind == YQ_QUOTA_COMPUTE)
	{
		note_mark(charger, event);
		return false;
	}
	return true;
}

/*
 * Find the next event that has to be settled.  Returns false at the end.  The event points into a
 * slot.  It stays valid until the function has been called twice more.
 */
static bool
next_good_event(EventCharger *charger, YqEvent *event)
{
	while (next_event(charger, event))
	{
		CHECK_FOR_INTERRUPTS();
		if (receive_event(charger, event))
		{
			charger->source.next_slot = 1 - charger->source.next_slot;
			return true;
		}
	}
	return false;
}

/* Compare events by instant and kind. */
static int
compare_instants(const void *a, const void *b)
{
	const YqEvent *left = *(const YqEvent *const *) a;
	const YqEvent *right = *(const YqEvent *const *) b;

	if (left->occurred_at != right->occurred_at)
		return left->occurred_at < right->occurred_at ? -1 : 1;
	return (int) left->kind - (int) right->kind;
}

static bool
is_known(EventCharger *charger, const text *container_id)
{
	return yq_index_scan_find(yq_ledger_containers(charger->ledger), container_id) != NULL ||
		yq_index_scan_find(yq_ledger_charges(charger->ledger), container_id) != NULL;
}

/*
 * Tell whether events of a container, in this order, have the same result in every order of
 * arrival.  This holds if no event competes with another.  There is at most one START, at most one
 * FINISH, and at most one UPDATE at each instant.  If there is a START that did not arrive first,
 * the container must have been unknown before.
 */
static bool
is_plain_life(EventCharger *charger, const YqEvent *const *events, int count, int64 first_arrival)
{
	for (int i = 0; i < count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (events[i]->kind == YQ_CONTAINER_START && i > 0)
			return false;
		if (events[i]->kind == YQ_CONTAINER_FINISH && i < count - 1)
			return false;
		if (i > 0 && events[i]->kind == YQ_CONTAINER_UPDATE &&
			events[i - 1]->kind == YQ_CONTAINER_UPDATE &&
			events[i]->occurred_at == events[i - 1]->occurred_at)
			return false;
	}
	return events[0]->kind != YQ_CONTAINER_START || events[0]->arrival == first_arrival ||
		!is_known(charger, events[0]->container_id);
}

/*
 * Settle the events of a container, ordered by statement.  Where the order of arrival could make a
 * difference, each statement is settled and written before the next one.
 */
static void
settle_in_order(EventCharger *charger, const YqEvent **events, int count)
{
	const YqEvent **sorted;
	bool		is_plain;
	int			end;

	if (events[0]->arrival == events[count - 1]->arrival)
	{
		yq_settler_settle(charger->settler, events, count);
		return;
	}

	sorted = palloc(sizeof(YqEvent *) * count);
	memcpy(sorted, events, sizeof(YqEvent *) * count);
	qsort(sorted, count, sizeof(YqEvent *), compare_instants);
	is_plain = is_plain_life(charger, sorted, count, events[0]->arrival);
	if (is_plain)
		yq_settler_settle(charger->settler, sorted, count);
	for (int begin = 0; !is_plain && begin < count; begin = end)
	{
		CHECK_FOR_INTERRUPTS();
		for (end = begin + 1; end < count && events[end]->arrival == events[begin]->arrival;)
		{
			CHECK_FOR_INTERRUPTS();
			end++;
		}
		yq_settler_settle(charger->settler, events + begin, end - begin);
		yq_settler_next_statement(charger->settler);
	}
	pfree(sorted);
}

/*
 * Settle "event" and all following events of the same container.  On return "event" is the first
 * event of the next container, if there is one.
 */
static bool
settle_group(EventCharger *charger, YqEvent *event, MemoryContext group_context)
{
	YqEvent		next;
	bool		more = next_good_event(charger, &next);
	MemoryContext old_context;
	const YqEvent **events;
	int			count = 0;
	int			room = 8;

	if (!more || !yq_varlena_equal(event->container_id, next.container_id))
	{
		const YqEvent *only = event;

		yq_settler_settle(charger->settler, &only, 1);
		*event = next;
		return more;
	}

	events = palloc(sizeof(YqEvent *) * room);
	old_context = MemoryContextSwitchTo(group_context);
	events[count++] = yq_event_copy(event);
	MemoryContextSwitchTo(old_context);
	while (more && yq_varlena_equal(events[0]->container_id, next.container_id))
	{
		if (count == room)
		{
			room *= 2;
			events = repalloc(events, sizeof(YqEvent *) * room);
		}
		/* switch the context only for the copy; values in the slots must outlive the group */
		MemoryContextSwitchTo(group_context);
		events[count++] = yq_event_copy(&next);
		MemoryContextSwitchTo(old_context);
		more = next_good_event(charger, &next);
	}
	settle_in_order(charger, events, count);
	pfree(events);
	MemoryContextReset(group_context);
	*event = next;
	return more;
}

/*
 * Tell whether the rows come from a dump, which contains the ledger as well as the events.  The
 * settings that reveal a restore stay in effect for the rest of the session.  Therefore
 * recorded_at must also be compared: new events get it from the clock, and restored events have
 * their old recorded_at.
 */
static bool
is_restored(TriggerData *trigger)
{
	TupleTableSlot *slot;
	bool		isnull;
	TimestampTz recorded_at;

	if (!yq_role_scope_is_restoring())
		return false;
	slot = MakeSingleTupleTableSlot(RelationGetDescr(trigger->tg_relation),
									&TTSOpsMinimalTuple);
	tuplestore_rescan(trigger->tg_newtable);
	(void) tuplestore_gettupleslot(trigger->tg_newtable, true, false, slot);
	recorded_at = DatumGetTimestampTz(slot_getattr(slot, YQ_EVENT_RECORDED_AT + 1, &isnull));
	ExecDropSingleTupleTableSlot(slot);
	return recorded_at != yq_clock_statement();
}

YqChargeEventsResult
yq_charge_events(Tuplestorestate *rows, TupleDesc descriptor, AttrNumber arrival)
{
	EventCharger charger = {0};
	YqEvent		event;
	MemoryContext old_context;
	MemoryContext group_context;
	bool		more;

	charger.result_context = CurrentMemoryContext;
	charger.ledger = yq_ledger_open();
	old_context = MemoryContextSwitchTo(charger.ledger->context);
	group_context = AllocSetContextCreate(charger.ledger->context, "yquota events of a container",
										  ALLOCSET_DEFAULT_SIZES);
	charger.settler = yq_settler_create(charger.ledger, on_bad_event, &charger);
	open_source(&charger, rows, descriptor, arrival);

	more = next_good_event(&charger, &event);
	while (more)
		more = settle_group(&charger, &event, group_context);

	yq_settler_claim_pending(charger.settler);
	post_mark(&charger);
	close_source(&charger.source);
	MemoryContextSwitchTo(old_context);
	yq_ledger_close(charger.ledger);
	return charger.result;
}

/*
 * Warn once per statement about events that were set aside.  The sender sees the warning whatever
 * command brings the rows, and may read the rows in my_rejects.
 */
static void
warn_of_rejects(const YqChargeEventsResult *charged)
{
	const char *waiting;

	if (charged->set_aside == 0 || yq_on_bad_event != YQ_ON_BAD_EVENT_SET_ASIDE)
		return;
	waiting = charged->waiting == 0 ? "" :
		psprintf(" Events that wait for their CONTAINER_START: %lld.", (long long) charged->waiting);
	ereport(WARNING,
			(errmsg_plural("%lld event was set aside", "%lld events were set aside",
						   charged->set_aside, (long long) charged->set_aside),
			 errdetail("%s%s", charged->first_reason, waiting),
			 errhint("See yquota.my_rejects.")));
}

Datum
yq_sql_charge_inserted_events(PG_FUNCTION_ARGS)
{
	TriggerData *trigger = (TriggerData *) fcinfo->context;
	TupleDesc	descriptor;
	YqChargeEventsResult charged;

	check_protocol(fcinfo);
	if (tuplestore_tuple_count(trigger->tg_newtable) == 0 || is_restored(trigger))
		PG_RETURN_POINTER(NULL);

	descriptor = RelationGetDescr(trigger->tg_relation);
	if (yq_charging == YQ_CHARGING_DEFERRED)
	{
		deferred_keep(trigger->tg_newtable, descriptor);
		PG_RETURN_POINTER(NULL);
	}
	charged = yq_charge_events(trigger->tg_newtable, descriptor, 0);
	warn_of_rejects(&charged);
	PG_RETURN_POINTER(NULL);
}
