/*-------------------------------------------------------------------------
 *
 * application_counter.c
 *	  Counters of applications, the total of live applications, and its limit.
 *
 * The limit of the whole cluster is maximum-applications.  If each submission counted
 * the applications of all other transactions, all submissions would wait for each
 * other.  A transaction may therefore admit a few applications, its allowance, without
 * counting.  This is safe while the distance to the limit exceeds the sum of the
 * allowances of all possible transactions.  The transaction then holds the lock of the
 * total in a mode that others can share.  Near the limit it takes the lock exclusively.
 * Then no other transaction has uncommitted applications, and the total is exact.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "access/htup_details.h"
#include "access/twophase.h"
#include "access/xact.h"
#include "admission/application/application.h"
#include "admission/application/application_counter.h"
#include "admission/application/queue_lock.h"
#include "base/arguments.h"
#include "base/resource.h"
#include "commands/trigger.h"
#include "common/int.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "nodes/pg_list.h"
#include "queues/hierarchy.h"
#include "store/catalog.h"
#include "store/role_scope.h"
#include "store/row_update.h"
#include "store/saved_plan.h"
#include "store/table_scan.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

PG_FUNCTION_INFO_V1(yq_sql_count_applications);
PG_FUNCTION_INFO_V1(yq_sql_unwritten_applications);

/*
 * Each transaction has an allowance: the number of applications that it may admit under
 * a shared lock.  All allowances together are at most the limit divided by
 * ALLOWANCES_OF_LIMIT.
 */
#define ALLOWANCES_OF_LIMIT 8

/* -- changes that this transaction has not written yet --------------------------------- */

typedef struct Unwritten
{
	SubTransactionId subtransaction;
	int64		change;
} Unwritten;

static List *unwritten = NIL;	/* changes to be written; allocated in the memory context of the transaction */

/* Number of applications that this transaction has admitted under the shared lock. */
static int	admitted = 0;

static int64
unwritten_change(void)
{
	int64		change = 0;
	ListCell   *cell;

	foreach(cell, unwritten)
		change += ((const Unwritten *) lfirst(cell))->change;
	return change;
}

static void
write_total(void)
{
	static const char *const columns[] = {"part", "live"};
	int64		change = unwritten_change();
	Datum		part;
	YqRowUpdate *row;
	int64		before;

	unwritten = NIL;
	if (change == 0)
		return;
	part = Int32GetDatum(yq_queue_lock_total());
	row = yq_row_update_open(YQ_LIVE_APPLICATION_COUNT, "live_application_count_pkey", columns, lengthof(columns));
	before = yq_row_update_find(row, &part) ? DatumGetInt64(yq_row_update_value(row, 1)) : 0;
	yq_row_update_set(row, 1, Int64GetDatum(before + change));
	yq_row_update_write(row);
	yq_row_update_close(row);
}

static void
on_transaction_event(XactEvent event, void *argument)
{
	switch (event)
	{
		case XACT_EVENT_PRE_COMMIT:
		case XACT_EVENT_PRE_PREPARE:
			if (unwritten != NIL)
				write_total();
			break;
		case XACT_EVENT_COMMIT:
		case XACT_EVENT_ABORT:
		case XACT_EVENT_PREPARE:
			unwritten = NIL;
			admitted = 0;
			break;
		default:
			break;
	}
}

/*
 * Handle the end of a subtransaction.  If it rolls back, its changes are dropped.  If
 * it is released, its changes belong to the outer transaction.
 */
static void
on_subtransaction_event(SubXactEvent event, SubTransactionId own_id, SubTransactionId parent_id,
						void *argument)
{
	ListCell   *cell;

	if (event != SUBXACT_EVENT_ABORT_SUB && event != SUBXACT_EVENT_COMMIT_SUB)
		return;
	foreach(cell, unwritten)
	{
		Unwritten  *entry = lfirst(cell);

		if (entry->subtransaction != own_id)
			continue;
		entry->subtransaction = parent_id;
		if (event == SUBXACT_EVENT_ABORT_SUB)
			entry->change = 0;
	}
}

static void
register_count_callbacks(void)
{
	static bool is_registered = false;

	if (is_registered)
		return;
	RegisterXactCallback(on_transaction_event, NULL);
	RegisterSubXactCallback(on_subtransaction_event, NULL);
	is_registered = true;
}

static void
add_to_total(int change)
{
	SubTransactionId own_id = GetCurrentSubTransactionId();
	Unwritten  *entry = unwritten == NIL ? NULL : llast(unwritten);

	if (change == 0)
		return;
	register_count_callbacks();
	if (entry == NULL || entry->subtransaction != own_id)
	{
		MemoryContext old_context = MemoryContextSwitchTo(TopTransactionContext);

		entry = palloc(sizeof(Unwritten));
		entry->subtransaction = own_id;
		entry->change = 0;
		unwritten = lappend(unwritten, entry);
		MemoryContextSwitchTo(old_context);
	}
	entry->change += change;
}

static void
forget_total(void)
{
	static YqSavedPlan delete = {.command = "DELETE FROM yquota_internal.live_application_count"};

	(void) yq_saved_plan_execute(&delete, NULL, NULL);
	add_to_total(-unwritten_change());
}

/* unwritten_applications() */
Datum
yq_sql_unwritten_applications(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT64(unwritten_change());
}

/* -- the counter of a row -------------------------------------------------- */

/* Values of a row of yquota.application from which the counters are computed. */
typedef struct CountedRow
{
	Datum		queue;
	Datum		username;
	Datum		label;
	Datum		am_resource;
	YqApplicationState state;
	bool		is_demanding;
} CountedRow;

/* Change of a row of application_counter.  am_used may be negative. */
typedef struct CounterChange
{
	int			non_runnable;
	int			accepted;
	int			active;
	int			demanding;
	YqResource *am_used;		/* NULL: no resources */
} CounterChange;

/* Read the counted values of a row.  Returns false if the application is not live, and thus not counted. */
static bool
read_counted(Relation relation, HeapTuple tuple, CountedRow *row)
{
	TupleDesc	descriptor = RelationGetDescr(relation);
	bool		isnull;

	row->state = yq_application_state_of_oid(DatumGetObjectId(heap_getattr(tuple, yq_column(relation, "state"),
																			   descriptor, &isnull)));
	if (!yq_application_is_live(row->state))
		return false;
	row->queue = heap_getattr(tuple, yq_column(relation, "queue"), descriptor, &isnull);
	row->username = heap_getattr(tuple, yq_column(relation, "username"), descriptor, &isnull);
	row->label = heap_getattr(tuple, yq_column(relation, "label"), descriptor, &isnull);
	row->am_resource = heap_getattr(tuple, yq_column(relation, "am_resource"), descriptor, &isnull);
	row->is_demanding = DatumGetBool(heap_getattr(tuple, yq_column(relation, "has_outstanding_requests"),
												  descriptor, &isnull));
	return true;
}

static void
add_to_change(CounterChange *change, const CountedRow *row, int sign)
{
	YqResource *amounts;

	change->non_runnable += row->state == YQ_APPLICATION_NON_RUNNABLE ? sign : 0;
	change->accepted += row->state == YQ_APPLICATION_ACCEPTED ? sign : 0;
	change->demanding += row->is_demanding ? sign : 0;
	if (row->state != YQ_APPLICATION_ACTIVE)
		return;
	change->active += sign;
	amounts = yq_resource_multiply(DatumGetYqResourceP(row->am_resource), sign);
	change->am_used = change->am_used == NULL ? amounts : yq_resource_add(change->am_used, amounts);
}

static bool
is_nothing(const CounterChange *change, const YqResource *none)
{
	return change->non_runnable == 0 && change->accepted == 0 && change->active == 0 &&
		change->demanding == 0 && (change->am_used == NULL || yq_resource_equal(change->am_used, none));
}

/* -- writing ---------------------------------------------------------------- */

typedef enum CounterColumn
{
	COUNTER_QUEUE,
	COUNTER_USERNAME,
	COUNTER_LABEL,
	COUNTER_NON_RUNNABLE,
	COUNTER_ACCEPTED,
	COUNTER_ACTIVE,
	COUNTER_DEMANDING,
	COUNTER_AM_USED,
	COUNTER_COLUMNS
} CounterColumn;

static const char *const counter_columns[COUNTER_COLUMNS] = {
	[COUNTER_QUEUE] = "queue",
	[COUNTER_USERNAME] = "username",
	[COUNTER_LABEL] = "label",
	[COUNTER_NON_RUNNABLE] = "non_runnable",
	[COUNTER_ACCEPTED] = "accepted",
	[COUNTER_ACTIVE] = "active",
	[COUNTER_DEMANDING] = "demanding",
	[COUNTER_AM_USED] = "am_used",
};

/*
 * Add a change to a column of a counter's row, and return the new number.  If no row
 * was found, the number begins at 0.
 */
static int32
add_number(YqRowUpdate *counter, bool is_found, CounterColumn column, int32 change)
{
	int32		number = change;

	if (is_found && pg_add_s32_overflow(DatumGetInt32(yq_row_update_value(counter, column)), change, &number))
		ereport(ERROR, (errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE), errmsg("integer out of range")));
	yq_row_update_set(counter, column, Int32GetDatum(number));
	return number;
}

static void
add_am_used(YqRowUpdate *counter, bool is_found, const YqResource *change)
{
	const YqResource *sum = change;

	if (is_found)
		sum = yq_resource_add(DatumGetYqResourceP(yq_row_update_value(counter, COUNTER_AM_USED)), change);
	yq_row_update_set(counter, COUNTER_AM_USED, PointerGetDatum(sum));
}

static void
write_counter_change(const CountedRow *row, const CounterChange *change)
{
	YqResource *none = yq_resource_make(NULL, 0);
	Datum		key[] = {row->queue, row->username, row->label};
	YqRowUpdate *counter;
	bool		is_found;
	int64		live;

	if (is_nothing(change, none))
		return;
	counter = yq_row_update_open(YQ_APPLICATION_COUNTER, "application_counter_pkey", counter_columns, COUNTER_COLUMNS);
	is_found = yq_row_update_find(counter, key);
	live = (int64) add_number(counter, is_found, COUNTER_NON_RUNNABLE, change->non_runnable) +
		add_number(counter, is_found, COUNTER_ACCEPTED, change->accepted) +
		add_number(counter, is_found, COUNTER_ACTIVE, change->active);
	(void) add_number(counter, is_found, COUNTER_DEMANDING, change->demanding);
	add_am_used(counter, is_found, change->am_used == NULL ? none : change->am_used);
	if (is_found && live == 0)
		yq_row_update_delete(counter);
	else
		yq_row_update_write(counter);
	yq_row_update_close(counter);
}

/* -- the trigger ------------------------------------------------------------ */

static bool
is_same_counter(const CountedRow *a, const CountedRow *b)
{
	return datum_image_eq(a->queue, b->queue, false, -1) &&
		datum_image_eq(a->username, b->username, false, -1) &&
		datum_image_eq(a->label, b->label, false, -1);
}

/*
 * Take the locks that a change of applications needs.  A statement that writes to the
 * table directly has not called the functions that lock.
 */
static void
lock_leaves_of_rows(const CountedRow *old_row, const CountedRow *new_row)
{
	YqQueueLocks locks = {NIL};

	yq_queue_lock_configuration(RowExclusiveLock);
	if (old_row != NULL)
		yq_queue_locks_add(&locks, YQ_LOCK_LEAF, TextDatumGetCString(old_row->queue));
	if (new_row != NULL)
		yq_queue_locks_add(&locks, YQ_LOCK_LEAF, TextDatumGetCString(new_row->queue));
	yq_queue_locks_take(&locks);
}

static void
count_row_change(const CountedRow *old_row, const CountedRow *new_row)
{
	CounterChange gone = {0};
	CounterChange come = {0};

	lock_leaves_of_rows(old_row, new_row);
	if (old_row != NULL && new_row != NULL && is_same_counter(old_row, new_row))
	{
		add_to_change(&come, old_row, -1);
		add_to_change(&come, new_row, 1);
		write_counter_change(new_row, &come);
		return;
	}
	if (old_row != NULL)
	{
		add_to_change(&gone, old_row, -1);
		write_counter_change(old_row, &gone);
	}
	if (new_row != NULL)
	{
		add_to_change(&come, new_row, 1);
		write_counter_change(new_row, &come);
	}
	add_to_total((new_row != NULL) - (old_row != NULL));
}

static void
count_nothing(void)
{
	static YqSavedPlan no_counters = {.command = "DELETE FROM yquota_internal.application_counter"};

	(void) yq_saved_plan_execute(&no_counters, NULL, NULL);
	forget_total();
}

/* Trigger on yquota.application: AFTER INSERT OR UPDATE OR DELETE FOR EACH ROW, and AFTER TRUNCATE. */
Datum
yq_sql_count_applications(PG_FUNCTION_ARGS)
{
	TriggerData *trigger = (TriggerData *) fcinfo->context;
	CountedRow	old_row;
	CountedRow	new_row;
	bool		has_old = false;
	bool		has_new = false;

	yq_require_trigger(fcinfo, "count_applications");
	/* a restore of a dump restores the counters, too */
	if (yq_role_scope_is_restoring())
		PG_RETURN_POINTER(NULL);
	if (TRIGGER_FIRED_BY_TRUNCATE(trigger->tg_event))
	{
		count_nothing();
		PG_RETURN_POINTER(NULL);
	}
	if (!TRIGGER_FIRED_BY_INSERT(trigger->tg_event))
		has_old = read_counted(trigger->tg_relation, trigger->tg_trigtuple, &old_row);
	if (TRIGGER_FIRED_BY_INSERT(trigger->tg_event))
		has_new = read_counted(trigger->tg_relation, trigger->tg_trigtuple, &new_row);
	else if (TRIGGER_FIRED_BY_UPDATE(trigger->tg_event))
		has_new = read_counted(trigger->tg_relation, trigger->tg_newtuple, &new_row);
	if (has_old || has_new)
		count_row_change(has_old ? &old_row : NULL, has_new ? &new_row : NULL);
	PG_RETURN_POINTER(NULL);
}

/* -- reading counters ----------------------------------------------------------------- */

static void
add_live(const YqRow *row)
{
	*(int64 *) row->argument += (int64) yq_row_integer(row, COUNTER_NON_RUNNABLE, 0) +
		yq_row_integer(row, COUNTER_ACCEPTED, 0) + yq_row_integer(row, COUNTER_ACTIVE, 0);
}

int64
yq_applications_below(const char *path)
{
	Snapshot	snapshot = yq_latest_snapshot();
	int64		live = 0;

	yq_table_scan_index(YQ_APPLICATION_COUNTER, "application_counter_pkey", snapshot, path, NULL,
					   counter_columns, COUNTER_ACTIVE + 1, add_live, &live);
	/* descendants' paths lie between "path."  and "path/", because a slash is the character after a dot */
	yq_table_scan_index(YQ_APPLICATION_COUNTER, "application_counter_pkey", snapshot,
					   psprintf("%s.", path), psprintf("%s/", path),
					   counter_columns, COUNTER_ACTIVE + 1, add_live, &live);
	UnregisterSnapshot(snapshot);
	return live;
}

static void
add_counted(const YqRow *row)
{
	YqHierarchy *hierarchy = row->argument;
	int			label = yq_hierarchy_label(hierarchy, yq_row_text(row, COUNTER_LABEL));
	bool		isnull;
	int64	   *am_used = yq_hierarchy_read_amounts(hierarchy, yq_row_value(row, COUNTER_AM_USED, &isnull));

	for (YqQueue *queue = yq_hierarchy_find(hierarchy, yq_row_text(row, COUNTER_QUEUE)); queue != NULL;
		 queue = queue->parent)
	{
		YqQueueLabel *entry = yq_queue_label(queue, label);

		queue->non_runnable += yq_row_integer(row, COUNTER_NON_RUNNABLE, 0);
		queue->accepted += yq_row_integer(row, COUNTER_ACCEPTED, 0);
		queue->active += yq_row_integer(row, COUNTER_ACTIVE, 0);
		for (int i = 0; entry != NULL && i < hierarchy->calculator.types; i++)
			entry->am_used[i] += am_used[i];
	}
	pfree(am_used);
}

void
yq_hierarchy_read_applications(YqHierarchy *hierarchy)
{
	Snapshot	snapshot = yq_latest_snapshot();

	for (int i = 0; i < hierarchy->queue_count; i++)
	{
		YqQueue    *queue = hierarchy->queues[i];

		queue->non_runnable = queue->accepted = queue->active = 0;
		for (int j = 0; j < queue->label_count; j++)
			memset(queue->labels[j].am_used, 0, hierarchy->calculator.types * sizeof(int64));
	}
	yq_table_scan(YQ_APPLICATION_COUNTER, snapshot, counter_columns, COUNTER_COLUMNS, add_counted, hierarchy);
	UnregisterSnapshot(snapshot);
}

/* -- the limit ------------------------------------------------------------------- */

static void
add_part(const YqRow *row)
{
	*(int64 *) row->argument += yq_row_bigint(row, 0, 0);
}

static int64
read_total(void)
{
	static const char *const columns[] = {"live"};
	Snapshot	snapshot = yq_latest_snapshot();
	int64		total = unwritten_change();

	yq_table_scan(YQ_LIVE_APPLICATION_COUNT, snapshot, columns, lengthof(columns), add_part, &total);
	UnregisterSnapshot(snapshot);
	return total;
}

YqSystemDecision
yq_system_decide(int maximum_applications, bool is_to_be_let_in)
{
	int			transactions = MaxBackends + max_prepared_xacts;
	int			allowance = Max(maximum_applications / (ALLOWANCES_OF_LIMIT * transactions), 1);
	YqSystemDecision decision = {.is_allowed = true};

	register_count_callbacks();
	if (is_to_be_let_in && admitted < allowance)
	{
		yq_queue_lock_system(ShareLock);
		decision.applications = read_total();
		if (decision.applications + (int64) transactions * allowance < maximum_applications)
		{
			admitted++;
			return decision;
		}
		/*
		 * release the shared lock, because two transactions that keep it and request the exclusive
		 * lock would deadlock
		 */
		if (admitted == 0)
			yq_queue_unlock_system(ShareLock);
	}
	if (is_to_be_let_in)
		yq_queue_lock_system(ExclusiveLock);
	decision.applications = read_total();
	decision.is_allowed = decision.applications < maximum_applications;
	return decision;
}
