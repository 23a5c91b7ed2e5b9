/*-------------------------------------------------------------------------
 *
 * scheduler_journal.c
 *	  The scheduler's lock for one allocation cycle at a time, and the journal of
 *	  changes that sessions with a cached cluster must read again.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "access/htup_details.h"
#include "access/xact.h"
#include "admission/application/queue_lock.h"
#include "base/arguments.h"
#include "commands/trigger.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "queues/hierarchy.h"
#include "scheduler/record/scheduler_journal.h"
#include "storage/lmgr.h"
#include "store/bulk_insert.h"
#include "store/catalog.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/pg_lsn.h"
#include "utils/rel.h"
#include "utils/xid8.h"

/* -- scheduler lock ------------------------------------------------------------ */

/*
 * The scheduler's lock lets only one allocation cycle run at a time.
 *
 * It is an object lock on yquota.application, and appears as such in pg_locks.  A lock on
 * the table itself would block autovacuum.
 */

static LockAcquireResult
acquire(LOCKMODE mode, bool does_not_wait)
{
	LOCKTAG		tag;

	SET_LOCKTAG_OBJECT(tag, MyDatabaseId, yq_table_oid(YQ_APPLICATION), 0, 0);
	return LockAcquire(&tag, mode, false, does_not_wait);
}

void
yq_scheduler_lock(LOCKMODE mode)
{
	(void) acquire(mode, false);
}

bool
yq_scheduler_try_lock(LOCKMODE mode)
{
	return acquire(mode, true) != LOCKACQUIRE_NOT_AVAIL;
}

void
yq_scheduler_lock_leaves(const YqHierarchy *hierarchy)
{
	YqQueueLocks locks = {NIL};

	for (int i = 0; i < hierarchy->queue_count; i++)
	{
		if (hierarchy->queues[i]->kind == YQ_QUEUE_LEAF && !hierarchy->queues[i]->is_vacant)
			yq_queue_locks_add(&locks, YQ_LOCK_LEAF, hierarchy->queues[i]->path);
	}
	yq_queue_locks_take(&locks);
}

void
yq_scheduler_lock_events(void)
{
	LockRelationOid(yq_table_oid(YQ_CONTAINER_EVENT), RowExclusiveLock);
}

/* -- scheduler journal --------------------------------------------------------- */

#define YQ_CHANGE_USER 'u'

PG_FUNCTION_INFO_V1(yq_sql_note_application);
PG_FUNCTION_INFO_V1(yq_sql_note_scheduler_change);

/* Columns of scheduler_change, in the order of the table. */
enum
{
	CHANGE_KIND,
	CHANGE_APPLICATION_ID,
	CHANGE_QUEUE,
	CHANGE_USERNAME,
	CHANGE_CHANGED_BY,
	CHANGE_LOG_POSITION,
	CHANGE_NEXT_CONTAINER,
	CHANGE_PRIORITY,
	CHANGE_ALLOCATION_REQUEST_ID,
	CHANGE_RESOURCE_NAME,
	CHANGE_COUNT,
	CHANGE_OPPORTUNITIES,
	CHANGE_MISSED_NON_PARTITIONED,
	CHANGE_RE_RESERVATIONS,
	CHANGE_NODE,
	CHANGE_CONTAINER,
	CHANGE_ALLOCATION,
	CHANGE_COLUMNS
};

/* Number of rows that are written together. */
#define ROWS_AT_ONCE 100

typedef struct Change
{
	Datum		values[CHANGE_COLUMNS];
	bool		nulls[CHANGE_COLUMNS];
} Change;

static void
set_change_column(Change *change, int column, Datum value)
{
	change->values[column] = value;
	change->nulls[column] = false;
}

static Change
make_change(char kind)
{
	Change		change;

	memset(change.nulls, true, sizeof(change.nulls));
	set_change_column(&change, CHANGE_KIND, CharGetDatum(kind));
	set_change_column(&change, CHANGE_CHANGED_BY, FullTransactionIdGetDatum(GetTopFullTransactionId()));
	return change;
}

void
yq_scheduler_journal_applications(const List *ids)
{
	YqBulkInsert   *writer;
	ListCell   *cell;

	if (ids == NIL)
		return;
	writer = yq_bulk_insert_open(YQ_SCHEDULER_CHANGE, CHANGE_COLUMNS, ROWS_AT_ONCE, false);
	foreach(cell, ids)
	{
		Change		change = make_change(YQ_CHANGE_APPLICATION);

		set_change_column(&change, CHANGE_APPLICATION_ID, CStringGetTextDatum(lfirst(cell)));
		yq_bulk_insert_put(writer, change.values, change.nulls);
	}
	yq_bulk_insert_close(writer);
}

static void
set_change_text(Change *change, int column, const char *value)
{
	if (value != NULL)
		set_change_column(change, column, CStringGetTextDatum(value));
}

static void
set_change_of_request(Change *change, const YqCycleChange *cycle)
{
	set_change_text(change, CHANGE_RESOURCE_NAME, cycle->resource_name);
	if (cycle->resource_name != NULL)
		set_change_column(change, CHANGE_COUNT, Int32GetDatum(cycle->count));
	set_change_column(change, CHANGE_OPPORTUNITIES, Int64GetDatum(cycle->counters.opportunities));
	set_change_column(change, CHANGE_MISSED_NON_PARTITIONED, Int64GetDatum(cycle->counters.missed_non_partitioned));
	set_change_column(change, CHANGE_RE_RESERVATIONS, Int64GetDatum(cycle->counters.re_reservations));
}

static Change
make_cycle_change(const YqHierarchy *hierarchy, const YqCycleChange *cycle)
{
	Change		change = make_change(YQ_CHANGE_CYCLE);

	set_change_column(&change, CHANGE_LOG_POSITION, LSNGetDatum(cycle->log_position));
	set_change_text(&change, CHANGE_NODE, cycle->node);
	if (cycle->application_id == NULL)
		return change;
	set_change_text(&change, CHANGE_APPLICATION_ID, cycle->application_id);
	set_change_column(&change, CHANGE_NEXT_CONTAINER, Int64GetDatum(cycle->next_container));
	set_change_column(&change, CHANGE_PRIORITY, Int32GetDatum(cycle->priority));
	set_change_column(&change, CHANGE_ALLOCATION_REQUEST_ID, Int64GetDatum(cycle->allocation_request_id));
	if (cycle->node == NULL)
		set_change_of_request(&change, cycle);
	else
	{
		set_change_column(&change, CHANGE_CONTAINER, Int64GetDatum(cycle->container));
		set_change_column(&change, CHANGE_ALLOCATION, yq_hierarchy_resource(hierarchy, cycle->amounts));
	}
	return change;
}

void
yq_scheduler_journal_cycle(const YqHierarchy *hierarchy, const List *changes)
{
	YqBulkInsert   *writer;
	ListCell   *cell;

	if (changes == NIL)
		return;
	writer = yq_bulk_insert_open(YQ_SCHEDULER_CHANGE, CHANGE_COLUMNS, ROWS_AT_ONCE, false);
	foreach(cell, changes)
	{
		Change		change = make_cycle_change(hierarchy, lfirst(cell));

		yq_bulk_insert_put(writer, change.values, change.nulls);
	}
	yq_bulk_insert_close(writer);
}

static void
write_scheduler_change(Change change)
{
	YqBulkInsert   *writer = yq_bulk_insert_open(YQ_SCHEDULER_CHANGE, CHANGE_COLUMNS, 1, false);

	yq_bulk_insert_put(writer, change.values, change.nulls);
	yq_bulk_insert_close(writer);
}

void
yq_scheduler_journal_everything(void)
{
	write_scheduler_change(make_change(YQ_CHANGE_EVERYTHING));
}

/* -- the scheduler's own statements ------------------------------------------ */

static bool is_own = false;
static bool expects_end_of_demand = false;	/* set only while is_own is true */

void
yq_scheduler_journal_begin_own(void)
{
	static bool is_watching = false;

	if (!is_watching)
		yq_catalog_on_abort(&is_own);
	is_watching = true;
	is_own = true;
	expects_end_of_demand = false;
}

void
yq_scheduler_journal_expect_end_of_demand(void)
{
	Assert(is_own);
	expects_end_of_demand = true;
}

void
yq_scheduler_journal_end_own(void)
{
	is_own = false;
}

/* -- triggers ------------------------------------------------------------------ */

/* Return the change of an application.  It also names the leaf and the user, whose counters may have changed. */
static Change
change_of(Relation relation, HeapTuple tuple)
{
	static const char *const names[] = {"application_id", "queue", "username"};
	Change		change = make_change(YQ_CHANGE_APPLICATION);

	for (int i = 0; i < (int) lengthof(names); i++)
	{
		bool		isnull;
		Datum		value = heap_getattr(tuple, yq_column(relation, names[i]), RelationGetDescr(relation), &isnull);

		if (!isnull)
			set_change_column(&change, CHANGE_APPLICATION_ID + i, value);
	}
	return change;
}

static bool
is_same(const Change *a, const Change *b)
{
	for (int i = CHANGE_APPLICATION_ID; i <= CHANGE_USERNAME; i++)
	{
		if (a->nulls[i] != b->nulls[i] ||
			(!a->nulls[i] && !datum_image_eq(a->values[i], b->values[i], false, -1)))
			return false;
	}
	return true;
}

/* Has the application lost its outstanding requests, without any other change of its row? */
static bool
ends_demand(Relation relation, HeapTuple before, HeapTuple after)
{
	TupleDesc	descriptor = RelationGetDescr(relation);
	AttrNumber	demand = yq_column(relation, "has_outstanding_requests");
	bool		isnull;

	if (DatumGetBool(heap_getattr(after, demand, descriptor, &isnull)))
		return false;
	for (AttrNumber column = 1; column <= descriptor->natts; column++)
	{
		Form_pg_attribute attribute = TupleDescAttr(descriptor, column - 1);
		bool		was_null;
		Datum		old_value = heap_getattr(before, column, descriptor, &was_null);
		Datum		new_value = heap_getattr(after, column, descriptor, &isnull);

		if (column != demand && (was_null != isnull ||
								 (!isnull && !datum_image_eq(old_value, new_value, attribute->attbyval, attribute->attlen))))
			return false;
	}
	return true;
}

/* Trigger AFTER INSERT OR UPDATE OR DELETE ON yquota.application FOR EACH ROW, AFTER TRUNCATE. */
Datum
yq_sql_note_application(PG_FUNCTION_ARGS)
{
	TriggerData *trigger = (TriggerData *) fcinfo->context;
	Change		change;

	yq_require_trigger(fcinfo, "note_application");
	if (!TRIGGER_FIRED_FOR_ROW(trigger->tg_event))
	{
		yq_scheduler_journal_everything();
		PG_RETURN_POINTER(NULL);
	}
	change = change_of(trigger->tg_relation, trigger->tg_trigtuple);
	if (is_own && expects_end_of_demand && TRIGGER_FIRED_BY_UPDATE(trigger->tg_event) &&
		ends_demand(trigger->tg_relation, trigger->tg_trigtuple, trigger->tg_newtuple))
		change.values[CHANGE_KIND] = CharGetDatum(YQ_CHANGE_USER);
	write_scheduler_change(change);
	if (TRIGGER_FIRED_BY_UPDATE(trigger->tg_event))
	{
		Change		after = change_of(trigger->tg_relation, trigger->tg_newtuple);

		if (!is_same(&change, &after))
			write_scheduler_change(after);
	}
	PG_RETURN_POINTER(NULL);
}

/*
 * Trigger AFTER any change of the scheduler's tables FOR EACH STATEMENT.  An argument names
 * a kind of change that is recorded even if the scheduler itself makes the change.
 */
Datum
yq_sql_note_scheduler_change(PG_FUNCTION_ARGS)
{
	const Trigger *trigger;

	yq_require_trigger(fcinfo, "note_scheduler_change");
	trigger = ((TriggerData *) fcinfo->context)->tg_trigger;
	if (trigger->tgnargs > 0)
		write_scheduler_change(make_change(trigger->tgargs[0][0]));
	else if (!is_own)
		yq_scheduler_journal_everything();
	PG_RETURN_POINTER(NULL);
}
