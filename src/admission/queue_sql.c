/*-------------------------------------------------------------------------
 *
 * queue_sql.c
 *	  Queues for SQL: the check of a transaction, effective properties, and dynamic
 *	  queues.
 *
 * A statement that changes the configuration makes sessions forget their hierarchy, and requests a
 * check.  The request is a row of yquota_internal.queue_check with a deferred trigger.  The trigger
 * inserts a second row, so that the check comes after all other deferred work of the transaction.
 * The check takes a lock.  Other work comes before it, because a transaction that waits for a row
 * while it holds this lock could cause a deadlock.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "access/xact.h"
#include "admission/application/application_counter.h"
#include "admission/application/leaf_usage.h"
#include "admission/application/queue_lock.h"
#include "admission/configuration/advice.h"
#include "admission/configuration/config_refresh.h"
#include "admission/configuration/scheduler_setting.h"
#include "admission/placement/dynamic_queues.h"
#include "admission/placement/placement.h"
#include "admission/placement/queue_management.h"
#include "admission/submission/application_change.h"
#include "base/arguments.h"
#include "catalog/pg_type_d.h"
#include "commands/trigger.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "queues/effective.h"
#include "queues/hierarchy.h"
#include "queues/text.h"
#include "queues/validate.h"
#include "storage/lmgr.h"
#include "store/catalog.h"
#include "store/role_scope.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/jsonb.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/tuplestore.h"

PG_FUNCTION_INFO_V1(yq_sql_check_queues);
PG_FUNCTION_INFO_V1(yq_sql_create_queue);
PG_FUNCTION_INFO_V1(yq_sql_effective_queues);
PG_FUNCTION_INFO_V1(yq_sql_find_queue);
PG_FUNCTION_INFO_V1(yq_sql_manage_queues);
PG_FUNCTION_INFO_V1(yq_sql_note_queue_change);
PG_FUNCTION_INFO_V1(yq_sql_remove_unused_queues);

/* -- asking for a check ---------------------------------------------------- */

static bool is_asked = false;	/* has this transaction requested a check that has not run yet? */
static bool is_refresh = false; /* does the check include a change of the configuration? */

static void
forget_refresh_at_transaction_end(XactEvent event, void *argument)
{
	if (event == XACT_EVENT_ABORT || event == XACT_EVENT_COMMIT || event == XACT_EVENT_PREPARE)
		is_asked = is_refresh = false;
}

/* Forget that a check was requested.  The rollback may have removed the row that requests the check. */
static void
forget_refresh_at_subtransaction_end(SubXactEvent event, SubTransactionId own_id, SubTransactionId parent_id,
									 void *argument)
{
	if (event == SUBXACT_EVENT_ABORT_SUB)
		is_asked = false;
}

static void
execute_command(const char *command)
{
	if (SPI_connect() != SPI_OK_CONNECT || SPI_execute(command, false, 0) < 0)
		elog(ERROR, "could not execute \"%s\"", command);
	SPI_finish();
}

/* Trigger AFTER a change, FOR EACH STATEMENT, on the tables from which the hierarchy is built. */
Datum
yq_sql_note_queue_change(PG_FUNCTION_ARGS)
{
	static bool is_registered = false;
	TriggerData *trigger = (TriggerData *) fcinfo->context;

	yq_require_trigger(fcinfo, "note_queue_change");
	yq_catalog_signal_change(YQ_QUEUE);
	if (yq_role_scope_is_restoring())
		PG_RETURN_POINTER(NULL);

	/* also remove the states of queues on TRUNCATE, so that later queues start as in a new cluster */
	if (TRIGGER_FIRED_BY_TRUNCATE(trigger->tg_event) &&
		RelationGetRelid(trigger->tg_relation) == yq_table_oid(YQ_QUEUE))
		execute_command("WITH a AS (DELETE FROM yquota_internal.active_leaf), "
						"c AS (DELETE FROM yquota_internal.created_queue), "
						"r AS (DELETE FROM yquota.reservation_queue) DELETE FROM yquota_internal.queue_status");
	if (!is_registered)
	{
		RegisterXactCallback(forget_refresh_at_transaction_end, NULL);
		RegisterSubXactCallback(forget_refresh_at_subtransaction_end, NULL);
		is_registered = true;
	}
	is_refresh = is_refresh || !yq_is_changing_queues();
	if (!is_asked)
		execute_command("INSERT INTO yquota_internal.queue_check (is_last) VALUES (false)");
	is_asked = true;
	PG_RETURN_POINTER(NULL);
}

/* -- the check ------------------------------------------------------------- */

/* Report all violations in one error.  The message is the first violation, and the detail lists all. */
pg_noreturn static void
report_violations(List *violations)
{
	const YqViolation *first = linitial(violations);
	StringInfoData details;
	ListCell   *cell;

	initStringInfo(&details);
	foreach(cell, violations)
	{
		const YqViolation *violation = lfirst(cell);

		appendStringInfo(&details, "%s%s, property %s", details.len > 0 ? "\n" : "",
						 violation->queue == NULL ? "Cluster" : psprintf("Queue %s", violation->queue),
						 violation->property);
		if (violation->value != NULL)
			appendStringInfo(&details, ", value %s", violation->value);
		appendStringInfo(&details, ": %s", violation->message);
	}
	ereport(ERROR,
			(errcode(ERRCODE_CHECK_VIOLATION),
			 errmsg("invalid configuration of queues: %s", first->message),
			 errdetail("%s", details.data)));
}

/* Does queue_status already contain the present state of the queue? */
static bool
is_noted(const YqHierarchy *hierarchy, const YqQueue *queue, const YqQueueStatus *status)
{
	return status != NULL && status->is_running == queue->is_running && status->kind == queue->kind &&
		status->is_auto_created == queue->is_auto_created &&
		yq_amounts_are_equal(&hierarchy->calculator, status->maximum_allocation, queue->maximum_allocation);
}

static void
write_status(const YqHierarchy *hierarchy, const YqQueue *queue)
{
	static const char command[] =
		"INSERT INTO yquota_internal.queue_status AS s (path, running, kind, auto_created, maximum_allocation) "
		"VALUES ($1, $2, $3, $4, $5) ON CONFLICT (path) DO UPDATE SET running = EXCLUDED.running, "
		"kind = EXCLUDED.kind, auto_created = EXCLUDED.auto_created, maximum_allocation = EXCLUDED.maximum_allocation";
	Oid			types[] = {TEXTOID, BOOLOID, TEXTOID, BOOLOID, yq_type_oid("resource")};
	Datum		values[lengthof(types)];

	values[0] = CStringGetTextDatum(queue->path);
	values[1] = BoolGetDatum(queue->is_running);
	values[2] = CStringGetTextDatum(yq_queue_kind_name(queue->kind));
	values[3] = BoolGetDatum(queue->is_auto_created);
	values[4] = yq_hierarchy_resource(hierarchy, queue->maximum_allocation);
	SPI_execute_with_args(command, lengthof(types), types, values, NULL, false, 0);
}

static void
delete_status(const char *path)
{
	Oid			types[] = {TEXTOID};
	Datum		values[] = {CStringGetTextDatum(path)};

	SPI_execute_with_args("WITH a AS (DELETE FROM yquota_internal.active_leaf WHERE queue = $1), "
						  "c AS (DELETE FROM yquota_internal.created_queue WHERE queue = $1), "
						  "r AS (DELETE FROM yquota.reservation_queue WHERE plan = $1) "
						  "DELETE FROM yquota_internal.queue_status WHERE path = $1",
						  1, types, values, NULL, false, 0);
}

/*
 * Delete the queues of reservations of a queue that is no longer a plan.  The caller has checked
 * that they are empty.
 */
static void
delete_queues_of_plan(const char *path)
{
	Oid			types[] = {TEXTOID};
	Datum		values[] = {CStringGetTextDatum(path)};

	SPI_execute_with_args("DELETE FROM yquota.reservation_queue WHERE plan = $1", 1, types, values, NULL, false, 0);
}

/* Write the states of queues that have changed. */
static void
write_statuses(const YqHierarchy *hierarchy, const YqQueueStatuses *statuses)
{
	ListCell   *cell;

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	for (int i = 0; i < hierarchy->queue_count; i++)
	{
		const YqQueue *queue = hierarchy->queues[i];

		CHECK_FOR_INTERRUPTS();
		if (yq_queue_is_of_plan(queue) || is_noted(hierarchy, queue, statuses->of_queue[i]))
			continue;
		if (statuses->of_queue[i] != NULL && statuses->of_queue[i]->kind == YQ_QUEUE_PLAN && queue->kind != YQ_QUEUE_PLAN)
			delete_queues_of_plan(queue->path);
		write_status(hierarchy, queue);
	}
	foreach(cell, statuses->gone)
		delete_status(((const YqQueueStatus *) lfirst(cell))->path);
	SPI_finish();
}

static void
check_transaction(void)
{
	MemoryContext scratch = AllocSetContextCreate(CurrentMemoryContext, "yquota queue check",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old_context = MemoryContextSwitchTo(scratch);
	YqHierarchy *hierarchy;
	YqQueueStatuses *statuses;
	List	   *violations;

	/*
	 * Take the lock, which also processes the invalidations of other transactions.  Until this
	 * transaction commits, no other transaction can change queues.
	 */
	LockRelationOid(yq_table_oid(YQ_QUEUE_STATUS), ShareRowExclusiveLock);
	CommandCounterIncrement();
	hierarchy = yq_hierarchy_get();
	yq_hierarchy_read_usage(hierarchy);
	violations = yq_hierarchy_validate(hierarchy);
	statuses = yq_queue_status_read(hierarchy);
	violations = list_concat(violations, yq_hierarchy_refresh(hierarchy, statuses));
	violations = yq_placement_validate(violations);
	violations = yq_preemption_validate(violations);
	violations = yq_opportunistic_validate(violations);
	violations = yq_reservation_validate(violations);
	if (is_refresh)
		violations = yq_queue_management_validate(hierarchy, violations);
	if (violations != NIL)
		report_violations(violations);
	yq_advise_transaction(hierarchy);
	write_statuses(hierarchy, statuses);
	hierarchy->is_in_force = true;
	if (is_refresh)
	{
		(void) yq_queue_management_run(hierarchy, true);
		/* activate waiting applications, because a limit may have been raised */
		(void) yq_applications_refresh();
	}
	is_refresh = false;
	MemoryContextSwitchTo(old_context);
	MemoryContextDelete(scratch);
}

/* Deferred trigger on yquota_internal.queue_check.  The check runs when all other changes have been made. */
Datum
yq_sql_check_queues(PG_FUNCTION_ARGS)
{
	TriggerData *trigger = (TriggerData *) fcinfo->context;
	bool		isnull;
	Datum		is_last;

	if (!CALLED_AS_TRIGGER(fcinfo) || !TRIGGER_FIRED_BY_INSERT(trigger->tg_event) ||
		!TRIGGER_FIRED_FOR_ROW(trigger->tg_event))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("check_queues() must be called as a trigger AFTER INSERT FOR EACH ROW")));
	if (yq_role_scope_is_restoring())
		PG_RETURN_POINTER(NULL);

	is_last = heap_getattr(trigger->tg_trigtuple, yq_column(trigger->tg_relation, "is_last"),
						   RelationGetDescr(trigger->tg_relation), &isnull);
	if (!DatumGetBool(is_last))
	{
		execute_command("INSERT INTO yquota_internal.queue_check (is_last) VALUES (true)");
		PG_RETURN_POINTER(NULL);
	}
	check_transaction();
	is_asked = false;
	execute_command("DELETE FROM yquota_internal.queue_check");
	PG_RETURN_POINTER(NULL);
}

/* -- looking up ------------------------------------------------------------ */

/* find_queue(name): path, is_ambiguous */
Datum
yq_sql_find_queue(PG_FUNCTION_ARGS)
{
	char	   *name = text_to_cstring(PG_GETARG_TEXT_PP(0));
	const YqHierarchy *hierarchy = yq_hierarchy_get();
	const YqQueue *queue = yq_hierarchy_find_by_name(hierarchy, name);
	YqRowBuilder row = {.count = 0};
	TupleDesc	columns;

	if (get_call_result_type(fcinfo, NULL, &columns) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	yq_row_put_text(&row, queue == NULL ? NULL : queue->path);
	yq_row_put(&row, BoolGetDatum(queue == NULL && yq_hierarchy_name_is_ambiguous(hierarchy, name)), false);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(columns), row.values, row.nulls)));
}

/* -- effective properties -------------------------------------------------- */

/* Is the queue the last child of its parent?  Vacant entries of a plan do not count. */
static bool
is_last_child(const YqQueue *queue)
{
	const YqQueue *parent = queue->parent;
	int			last = parent->child_count - 1;

	while (parent->children[last]->is_vacant)
		last--;
	return parent->children[last] == queue;
}

/* Return the name of a queue with the lines that lead to it in a drawing of the tree. */
static char *
draw(const YqQueue *queue)
{
	char	   *drawn = pstrdup(queue->name);

	if (queue->parent == NULL)
		return drawn;
	drawn = psprintf("%s-- %s", is_last_child(queue) ? "`" : "|", drawn);
	for (queue = queue->parent; queue->parent != NULL; queue = queue->parent)
		drawn = psprintf("%s   %s", is_last_child(queue) ? " " : "|", drawn);
	return drawn;
}

static void
push_string(JsonbParseState **state, JsonbIteratorToken token, const char *text)
{
	JsonbValue	value;

	value.type = jbvString;
	value.val.string.val = unconstify(char *, text);
	value.val.string.len = strlen(text);
	pushJsonbValue(state, token, &value);
}

/* Inherited properties of the queue that was written last.  Siblings often inherit the same properties. */
typedef struct InheritedMemo
{
	const YqQueue *queue;		/* NULL: no queue has been written yet */
	Datum		properties;
	MemoryContext context;
} InheritedMemo;

/* Is the value of the property inherited?  Only inherited values are reported. */
static bool
is_inherited(const YqQueue *queue, int property)
{
	return queue->inherited[property].value != NULL && queue->inherited[property].from != queue->path;
}

/*
 * Do both queues inherit the same values from the same queues?  It suffices to compare
 * pointers, because a child copies the pointers of its parent.
 */
static bool
inherit_the_same(const YqQueue *a, const YqQueue *b)
{
	for (int i = 0; i < YQ_INHERITED_PROPERTIES; i++)
	{
		if (is_inherited(a, i) != is_inherited(b, i))
			return false;
		if (is_inherited(a, i) && (a->inherited[i].value != b->inherited[i].value ||
								   a->inherited[i].from != b->inherited[i].from))
			return false;
	}
	return true;
}

/* Return the inherited properties of a queue as jsonb: {"property": {"value": ..., "from": ...}}. */
static Datum
inherited_properties(const YqQueue *queue)
{
	JsonbParseState *state = NULL;

	pushJsonbValue(&state, WJB_BEGIN_OBJECT, NULL);
	for (int i = 0; i < YQ_INHERITED_PROPERTIES; i++)
	{
		const YqInheritedValue *inherited = &queue->inherited[i];

		if (!is_inherited(queue, i))
			continue;
		push_string(&state, WJB_KEY, yq_inherited_property_names[i]);
		pushJsonbValue(&state, WJB_BEGIN_OBJECT, NULL);
		push_string(&state, WJB_KEY, "from");
		push_string(&state, WJB_VALUE, inherited->from == NULL ? "default" : inherited->from);
		push_string(&state, WJB_KEY, "value");
		push_string(&state, WJB_VALUE, inherited->value);
		pushJsonbValue(&state, WJB_END_OBJECT, NULL);
	}
	return JsonbPGetDatum(JsonbValueToJsonb(pushJsonbValue(&state, WJB_END_OBJECT, NULL)));
}

static Datum
remembered_properties(InheritedMemo *memo, const YqQueue *queue)
{
	MemoryContext old_context;

	if (memo->queue != NULL && inherit_the_same(memo->queue, queue))
		return memo->properties;
	MemoryContextReset(memo->context);
	old_context = MemoryContextSwitchTo(memo->context);
	memo->properties = inherited_properties(queue);
	memo->queue = queue;
	MemoryContextSwitchTo(old_context);
	return memo->properties;
}

static const char *
state_of(const YqQueue *queue)
{
	return yq_queue_state_name(queue->is_running,
							   queue->containers + queue->non_runnable + queue->accepted + queue->active);
}

static void
put_configuration(YqRowBuilder *row, const YqHierarchy *hierarchy, const YqQueue *queue, int ordinal,
				  const YqQueueLabel *label)
{
	yq_row_put_text(row, queue->path);
	yq_row_put_text(row, hierarchy->labels[label->label]);
	yq_row_put(row, Int32GetDatum(ordinal), false);
	yq_row_put_text(row, draw(queue));
	yq_row_put_text(row, yq_queue_kind_name(queue->kind));
	yq_row_put(row, BoolGetDatum(queue->is_auto_created), false);
	yq_row_put(row, ObjectIdGetDatum(yq_enum_oid("queue_state", state_of(queue))), false);
	yq_row_put_text(row, label->capacity.text);
	yq_row_put_text(row, label->maximum.text);
}

static void
put_capacities(YqRowBuilder *row, const YqHierarchy *hierarchy, const YqQueueLabel *label)
{
	yq_row_put(row, Float4GetDatum(label->capacity_fraction), false);
	yq_row_put(row, Float4GetDatum(label->maximum_fraction), false);
	yq_row_put(row, Float4GetDatum(label->weight), label->weight < 0);
	yq_row_put(row, Float4GetDatum(label->normalized_weight), label->weight < 0);
	yq_row_put(row, Float4GetDatum(label->absolute_capacity), false);
	yq_row_put(row, Float4GetDatum(label->absolute_maximum), false);
	yq_row_put(row, yq_hierarchy_resource(hierarchy, label->effective_minimum), false);
	yq_row_put(row, yq_hierarchy_resource(hierarchy, label->effective_maximum), false);
	yq_row_put(row, yq_hierarchy_resource(hierarchy, label->used), false);
	yq_row_put(row, Float4GetDatum(yq_queue_used(hierarchy, label, label->used)), false);
	yq_row_put(row, Float4GetDatum(yq_queue_absolute_used(hierarchy, label->label, label->used)), false);
}

static int64 *
am_limit_of(const YqHierarchy *hierarchy, const YqQueue *leaf, const YqQueueLabel *label)
{
	if (!yq_queue_may_use_label(leaf, label->label))
		return yq_hierarchy_amounts(hierarchy);
	return yq_queue_am_limit(hierarchy, label, yq_queue_limit(hierarchy, leaf));
}

static void
put_limits(YqRowBuilder *row, const YqHierarchy *hierarchy, const YqQueue *queue, const YqQueueLabel *label,
		   InheritedMemo *memo)
{
	bool		is_leaf = queue->kind == YQ_QUEUE_LEAF;
	int64	   *am_limit = NULL;

	if (is_leaf)
		am_limit = am_limit_of(hierarchy, queue, label);
	yq_row_put(row, Int64GetDatum(queue->containers), false);
	yq_row_put(row, Float4GetDatum(queue->user_limit), !is_leaf);
	yq_row_put(row, Float4GetDatum(queue->user_limit_factor), !is_leaf);
	yq_row_put(row, Int32GetDatum(queue->most_applications), !is_leaf);
	yq_row_put(row, Int32GetDatum(queue->most_applications_per_user), !is_leaf);
	yq_row_put(row, Float4GetDatum(label->am_percent), !is_leaf);
	yq_row_put(row, is_leaf ? yq_hierarchy_resource(hierarchy, am_limit) : (Datum) 0, !is_leaf);
	yq_row_put(row, yq_hierarchy_bounded_resource(hierarchy, queue->maximum_allocation), false);
	yq_row_put(row, Int64GetDatum(queue->maximum_lifetime), queue->maximum_lifetime <= 0);
	yq_row_put(row, Int64GetDatum(queue->default_lifetime), queue->default_lifetime <= 0);
	yq_row_put(row, remembered_properties(memo, queue), false);
}

static void
put_applications(YqRowBuilder *row, const YqHierarchy *hierarchy, const YqQueue *queue, const YqQueueLabel *label)
{
	yq_row_put(row, Int64GetDatum(queue->non_runnable + queue->accepted + queue->active), false);
	yq_row_put(row, Int64GetDatum(queue->non_runnable), false);
	yq_row_put(row, Int64GetDatum(queue->accepted), false);
	yq_row_put(row, Int64GetDatum(queue->active), false);
	yq_row_put(row, yq_hierarchy_resource(hierarchy, label->am_used), false);
}

/* State while the rows of effective_queues are written. */
typedef struct QueueRows
{
	ReturnSetInfo *result;
	const YqHierarchy *hierarchy;
	InheritedMemo memo;
	MemoryContext row_context;	/* memory context for a single row */
	int			ordinal;		/* ordinal number of the queue written last */
} QueueRows;

static void
put_queue(QueueRows *rows, const YqQueue *queue)
{
	rows->ordinal++;
	for (int i = 0; i < queue->label_count; i++)
	{
		YqRowBuilder row = {.count = 0};

		put_configuration(&row, rows->hierarchy, queue, rows->ordinal, &queue->labels[i]);
		put_capacities(&row, rows->hierarchy, &queue->labels[i]);
		put_limits(&row, rows->hierarchy, queue, &queue->labels[i], &rows->memo);
		put_applications(&row, rows->hierarchy, queue, &queue->labels[i]);
		tuplestore_putvalues(rows->result->setResult, rows->result->setDesc, row.values, row.nulls);
		MemoryContextReset(rows->row_context);
	}
}

static void
put_subtree(QueueRows *rows, const YqQueue *queue)
{
	CHECK_FOR_INTERRUPTS();
	check_stack_depth();
	if (yq_queue_is_hidden(queue))
		return;
	put_queue(rows, queue);
	for (int i = 0; i < queue->child_count; i++)
		put_subtree(rows, queue->children[i]);
}

/* effective_queues() */
Datum
yq_sql_effective_queues(PG_FUNCTION_ARGS)
{
	QueueRows	rows = {.result = (ReturnSetInfo *) fcinfo->resultinfo};
	YqHierarchy *hierarchy;
	MemoryContext old_context;

	InitMaterializedSRF(fcinfo, 0);
	hierarchy = yq_hierarchy_get();
	yq_hierarchy_read_usage(hierarchy);
	yq_hierarchy_read_applications(hierarchy);
	yq_hierarchy_compute(hierarchy);
	(void) yq_hierarchy_refresh(hierarchy, yq_queue_status_read(hierarchy));

	rows.hierarchy = hierarchy;
	rows.memo.context = AllocSetContextCreate(CurrentMemoryContext, "yquota inherited properties", ALLOCSET_SMALL_SIZES);
	rows.row_context = AllocSetContextCreate(CurrentMemoryContext, "yquota effective queue", ALLOCSET_DEFAULT_SIZES);
	old_context = MemoryContextSwitchTo(rows.row_context);
	if (hierarchy->root != NULL)
		put_subtree(&rows, hierarchy->root);
	MemoryContextSwitchTo(old_context);
	MemoryContextDelete(rows.row_context);
	MemoryContextDelete(rows.memo.context);
	return (Datum) 0;
}

/* -- dynamic queues -------------------------------------------------------- */

/* Lock queues, so that no other transaction changes them or submits to them (see dynamic_queues.h). */
static YqHierarchy *
lock_queues(void)
{
	PreventCommandIfReadOnly("changes of queues");
	LockRelationOid(yq_table_oid(YQ_QUEUE_STATUS), ShareRowExclusiveLock);
	return yq_hierarchy_get();
}

static void
put_paths(ReturnSetInfo *result, const List *paths)
{
	const ListCell *cell;

	foreach(cell, paths)
	{
		Datum		value = CStringGetTextDatum(lfirst(cell));
		bool		isnull = false;

		tuplestore_putvalues(result->setResult, result->setDesc, &value, &isnull);
	}
}

/* create_queue(path text) */
Datum
yq_sql_create_queue(PG_FUNCTION_ARGS)
{
	YqQueueCreation creation;
	char	   *path;

	if (PG_ARGISNULL(0))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("path of the queue must not be null")));
	path = text_to_cstring(PG_GETARG_TEXT_PP(0));
	yq_queue_lock_rows();
	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	creation = yq_queue_creation_decide(lock_queues(), path);
	if (creation.problem == NULL && creation.paths != NIL)
		creation.problem = yq_queue_creation_execute(&creation);
	if (creation.problem != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("%s", creation.problem)));
	put_paths((ReturnSetInfo *) fcinfo->resultinfo, creation.paths);
	return (Datum) 0;
}

/* manage_queues(): first look without a lock, because most calls find nothing to change */
Datum
yq_sql_manage_queues(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	YqHierarchy *hierarchy;
	List	   *changes;
	ListCell   *cell;

	InitMaterializedSRF(fcinfo, 0);
	if (!yq_queue_management_is_due(yq_hierarchy_get()))
		return (Datum) 0;
	hierarchy = lock_queues();
	changes = yq_queue_management_run(hierarchy, false);
	foreach(cell, changes)
	{
		YqLeafChange *change = lfirst(cell);
		Datum		values[3];
		bool		nulls[3] = {false};

		values[0] = CStringGetTextDatum(change->queue);
		values[1] = CStringGetTextDatum(change->label);
		values[2] = BoolGetDatum(change->is_active);
		tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
	}
	return (Datum) 0;
}

/* remove_unused_queues() */
Datum
yq_sql_remove_unused_queues(PG_FUNCTION_ARGS)
{
	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	PreventCommandIfReadOnly("remove_unused_queues()");
	/* remove nothing if another transaction is changing queues */
	if (ConditionalLockRelationOid(yq_table_oid(YQ_QUEUE), ExclusiveLock))
		put_paths((ReturnSetInfo *) fcinfo->resultinfo, yq_unused_queues_remove(lock_queues()));
	return (Datum) 0;
}
