/*-------------------------------------------------------------------------
 *
 * application_counter.c
 *	  Keeping the counters of applications.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "access/htup_details.h"
#include "admission/application.h"
#include "admission/application_counter.h"
#include "admission/application_total.h"
#include "admission/queue_lock.h"
#include "base/arguments.h"
#include "base/resource.h"
#include "commands/trigger.h"
#include "executor/spi.h"
#include "queues/hierarchy.h"
#include "store/catalog.h"
#include "store/role_scope.h"
#include "store/saved_plan.h"
#include "store/table_scan.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

PG_FUNCTION_INFO_V1(yq_sql_count_applications);

/* -- what a row counts for -------------------------------------------------- */

/* A row of yquota.application, as far as counters are concerned. */
typedef struct CountedRow
{
	Datum		queue;
	Datum		username;
	Datum		label;
	Datum		am_resource;
	YqApplicationState state;
	bool		is_demanding;
} CountedRow;

/* What is added to a row of the counters; am_used may be negative. */
typedef struct CounterChange
{
	int			non_runnable;
	int			accepted;
	int			active;
	int			demanding;
	YqResource *am_used;		/* NULL for nothing */
} CounterChange;

/* False for a row that counts for nothing. */
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

static YqSavedPlan add_to_counter = {
	.command = "UPDATE yquota_internal.application_counter AS c SET non_runnable = c.non_runnable + $4, "
	"accepted = c.accepted + $5, active = c.active + $6, demanding = c.demanding + $7, "
	"am_used = c.am_used OPERATOR(yquota.+) $8 "
	"WHERE c.queue = $1 AND c.username = $2 AND c.label = $3 "
	"RETURNING c.non_runnable + c.accepted + c.active = 0",
	.types = {"text", "text", "text", "int4", "int4", "int4", "int4", "yquota.resource"}
};
static YqSavedPlan make_counter = {
	.command = "INSERT INTO yquota_internal.application_counter "
	"(queue, username, label, non_runnable, accepted, active, demanding, am_used) "
	"VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
	.types = {"text", "text", "text", "int4", "int4", "int4", "int4", "yquota.resource"}
};
static YqSavedPlan delete_counter = {
	.command = "DELETE FROM yquota_internal.application_counter AS c "
	"WHERE c.queue = $1 AND c.username = $2 AND c.label = $3",
	.types = {"text", "text", "text"}
};

static void
write_counter_change(const CountedRow *row, const CounterChange *change)
{
	YqResource *none = yq_resource_make(NULL, 0);
	Datum		values[8];
	bool		isnull;

	if (is_nothing(change, none))
		return;
	values[0] = row->queue;
	values[1] = row->username;
	values[2] = row->label;
	values[3] = Int32GetDatum(change->non_runnable);
	values[4] = Int32GetDatum(change->accepted);
	values[5] = Int32GetDatum(change->active);
	values[6] = Int32GetDatum(change->demanding);
	values[7] = PointerGetDatum(change->am_used == NULL ? none : change->am_used);
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	if (yq_saved_plan_run(&add_to_counter, values, NULL) == 0)
		(void) yq_saved_plan_run(&make_counter, values, NULL);
	else if (DatumGetBool(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &isnull)))
		(void) yq_saved_plan_run(&delete_counter, values, NULL);
	SPI_finish();
}

/* -- the trigger ------------------------------------------------------------ */

static bool
is_same_counter(const CountedRow *a, const CountedRow *b)
{
	return datum_image_eq(a->queue, b->queue, false, -1) &&
		datum_image_eq(a->username, b->username, false, -1) &&
		datum_image_eq(a->label, b->label, false, -1);
}

/* Whoever writes the table by hand has not locked what our functions lock. */
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
	yq_total_add((new_row != NULL) - (old_row != NULL));
}

static void
count_nothing(void)
{
	static YqSavedPlan no_counters = {.command = "DELETE FROM yquota_internal.application_counter"};

	(void) yq_saved_plan_execute(&no_counters, NULL, NULL);
	yq_total_forget();
}

/* AFTER INSERT OR UPDATE OR DELETE FOR EACH ROW, AFTER TRUNCATE */
Datum
yq_sql_count_applications(PG_FUNCTION_ARGS)
{
	TriggerData *trigger = (TriggerData *) fcinfo->context;
	CountedRow	old_row;
	CountedRow	new_row;
	bool		has_old = false;
	bool		has_new = false;

	yq_require_trigger(fcinfo, "count_applications");
	/* counters come back with the dump */
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

/* -- asking ----------------------------------------------------------------- */

typedef enum CountedColumn
{
	COUNTED_NON_RUNNABLE,
	COUNTED_ACCEPTED,
	COUNTED_ACTIVE,
	COUNTED_QUEUE,
	COUNTED_LABEL,
	COUNTED_AM_USED,
	COUNTED_COLUMNS
} CountedColumn;

static const char *const counted_columns[COUNTED_COLUMNS] = {
	[COUNTED_NON_RUNNABLE] = "non_runnable",
	[COUNTED_ACCEPTED] = "accepted",
	[COUNTED_ACTIVE] = "active",
	[COUNTED_QUEUE] = "queue",
	[COUNTED_LABEL] = "label",
	[COUNTED_AM_USED] = "am_used",
};

static void
add_live(const YqRow *row)
{
	*(int64 *) row->argument += (int64) yq_row_integer(row, COUNTED_NON_RUNNABLE, 0) +
		yq_row_integer(row, COUNTED_ACCEPTED, 0) + yq_row_integer(row, COUNTED_ACTIVE, 0);
}

int64
yq_applications_below(const char *path)
{
	Snapshot	snapshot = yq_latest_snapshot();
	int64		live = 0;

	yq_table_scan_index(YQ_APPLICATION_COUNTER, "application_counter_pkey", snapshot, path, NULL,
					   counted_columns, COUNTED_ACTIVE + 1, add_live, &live);
	/* what begins with the path and a dot lies before the next character */
	yq_table_scan_index(YQ_APPLICATION_COUNTER, "application_counter_pkey", snapshot,
					   psprintf("%s.", path), psprintf("%s/", path),
					   counted_columns, COUNTED_ACTIVE + 1, add_live, &live);
	UnregisterSnapshot(snapshot);
	return live;
}

static void
add_counted(const YqRow *row)
{
	YqHierarchy *hierarchy = row->argument;
	int			label = yq_hierarchy_label(hierarchy, yq_row_text(row, COUNTED_LABEL));
	bool		isnull;
	int64	   *am_used = yq_hierarchy_read_amounts(hierarchy, yq_row_value(row, COUNTED_AM_USED, &isnull));

	for (YqQueue *queue = yq_hierarchy_find(hierarchy, yq_row_text(row, COUNTED_QUEUE)); queue != NULL;
		 queue = queue->parent)
	{
		YqQueueLabel *entry = yq_queue_label(queue, label);

		queue->non_runnable += yq_row_integer(row, COUNTED_NON_RUNNABLE, 0);
		queue->accepted += yq_row_integer(row, COUNTED_ACCEPTED, 0);
		queue->active += yq_row_integer(row, COUNTED_ACTIVE, 0);
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
	yq_table_scan(YQ_APPLICATION_COUNTER, snapshot, counted_columns, COUNTED_COLUMNS, add_counted, hierarchy);
	UnregisterSnapshot(snapshot);
}
