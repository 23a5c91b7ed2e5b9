/*-------------------------------------------------------------------------
 *
 * ledger.c
 *	  Rows of running containers and of the ledger, between tables and memory.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "access/tableam.h"
#include "access/xact.h"
#include "base/settings.h"
#include "base/wide.h"
#include "catalog/dependency.h"
#include "catalog/pg_type_d.h"
#include "charging/ledger.h"
#include "charging/name_cache.h"
#include "commands/sequence.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "pricing/factors.h"
#include "pricing/node_label.h"
#include "pricing/timeline.h"
#include "store/clock.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

/* The number of rows that are collected and then written together. */
#define ROWS_PER_FLUSH 1000

/* Columns of container, in table order. */
enum
{
	CONTAINER_CONTAINER_ID,
	CONTAINER_PROJECT,
	CONTAINER_APPLICATION_ID,
	CONTAINER_USERNAME,
	CONTAINER_QUEUE,
	CONTAINER_NODE,
	CONTAINER_LABEL,
	CONTAINER_ALLOCATION,
	CONTAINER_EXECUTION_TYPE,
	CONTAINER_STARTED_AT,
	CONTAINER_SETTLED_AT,
	CONTAINER_CHARGES,
	CONTAINER_FACTORS,
	CONTAINER_ACCRUAL_BASE,
	CONTAINER_PRIORITY,
	CONTAINER_ALLOCATION_REQUEST_ID,
	CONTAINER_ASKED_LABEL,
	CONTAINER_IS_AM,
	CONTAINER_IS_RUNNING,
	CONTAINER_WAITING_FACTOR,
	CONTAINER_IS_GIVEN,
	CONTAINER_SETTLED_LATELY,
	CONTAINER_COLUMNS
};

/* Columns of charge, in table order. */
enum
{
	CHARGE_CONTAINER_ID,
	CHARGE_PROJECT,
	CHARGE_APPLICATION_ID,
	CHARGE_USERNAME,
	CHARGE_QUEUE,
	CHARGE_NODE,
	CHARGE_EXECUTION_TYPE,
	CHARGE_ALLOCATION,
	CHARGE_STARTED_AT,
	CHARGE_FROM,
	CHARGE_TO,
	CHARGE_BOOKED_AT,
	CHARGE_NUMBER,
	CHARGE_CORRECTS,
	CHARGE_SETTLED_BY,
	CHARGE_EXIT_STATUS,
	CHARGE_PADDING,
	CHARGE_DOMINANT,
	CHARGE_AMOUNT,
	CHARGE_GIVEN_BACK,
	CHARGE_WAITING_FACTOR,
	CHARGE_COLUMNS
};

/* Columns of container_change, in table order. */
enum
{
	CHANGE_CONTAINER_ID,
	CHANGE_EVENT,
	CHANGE_OCCURRED_AT,
	CHANGE_ALLOCATION,
	CHANGE_EXECUTION_TYPE,
	CHANGE_QUEUE,
	CHANGE_NODE,
	CHANGE_REPEATED_START,
	CHANGE_PRIORITY,
	CHANGE_ALLOCATION_REQUEST_ID,
	CHANGE_ASKED_LABEL,
	CHANGE_IS_AM,
	CHANGE_IS_RUNNING,
	CHANGE_EVENT_ID,
	CHANGE_COLUMNS
};

/*
 * Columns of event_reject.  The id comes before the columns of the event; the reason and the sender
 * come after them.
 */
enum
{
	REJECT_ID,
	REJECT_WAITING = 1 + YQ_EVENT_SECOND_RUN,
	REJECT_SQLSTATE,
	REJECT_REASON,
	REJECT_DETAIL,
	REJECT_COLUMNS = 6 + YQ_EVENT_COLUMNS
};

YqLedger *
yq_ledger_open(void)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "yquota ledger",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old_context = MemoryContextSwitchTo(context);
	YqLedger   *ledger = palloc0(sizeof(YqLedger));

	ledger->context = context;
	ledger->now = yq_clock_statement();
	ledger->pricing_version = yq_rate_class_refresh();
	ledger->booked_after = yq_timeline_cached()->booked_through;
	yq_event_labels_load(&ledger->labels);
	ledger->counters = yq_counters_create(ledger->pricing_version, ledger->now);
	MemoryContextSwitchTo(old_context);
	return ledger;
}

void
yq_ledger_close(YqLedger *ledger)
{
	MemoryContext old_context = MemoryContextSwitchTo(ledger->context);

	yq_bulk_insert_close(ledger->container_writer);
	yq_bulk_insert_close(ledger->start_writer);
	yq_bulk_insert_close(ledger->charge_writer);
	yq_bulk_insert_close(ledger->change_writer);
	yq_bulk_insert_close(ledger->end_writer);
	yq_bulk_insert_close(ledger->reject_writer);
	yq_bulk_insert_close(ledger->without_effect_writer);
	yq_bulk_insert_close(ledger->skipped_writer);
	yq_index_scan_close(ledger->container_scan);
	yq_index_scan_close(ledger->charge_scan);
	yq_index_scan_close(ledger->change_scan);
	yq_index_scan_close(ledger->end_scan);
	yq_index_scan_close(ledger->waiting_scan);
	yq_index_scan_close(ledger->project_scan);
	yq_index_scan_close(ledger->node_scan);
	yq_counters_post(ledger->counters);
	MemoryContextSwitchTo(old_context);
	MemoryContextDelete(ledger->context);
}

void
yq_ledger_flush(YqLedger *ledger)
{
	yq_bulk_insert_flush(ledger->charge_writer);
	yq_bulk_insert_flush(ledger->change_writer);
	yq_bulk_insert_flush(ledger->end_writer);
	yq_bulk_insert_flush(ledger->reject_writer);
}

/* -- handles ------------------------------------------------------------- */

static YqIndexScan *
open_scan(YqLedger *ledger, YqIndexScan **scan, YqTable table, const char *index_name)
{
	if (*scan == NULL)
	{
		MemoryContext old_context = MemoryContextSwitchTo(ledger->context);

		*scan = yq_index_scan_open(table, index_name);
		MemoryContextSwitchTo(old_context);
	}
	return *scan;
}

static YqBulkInsert *
open_writer(YqLedger *ledger, YqBulkInsert **writer, YqTable table, int column_count,
			bool optimistic)
{
	if (*writer == NULL)
	{
		MemoryContext old_context = MemoryContextSwitchTo(ledger->context);

		*writer = yq_bulk_insert_open(table, column_count, ROWS_PER_FLUSH, optimistic);
		MemoryContextSwitchTo(old_context);
	}
	return *writer;
}

YqIndexScan *
yq_ledger_containers(YqLedger *ledger)
{
	return open_scan(ledger, &ledger->container_scan, YQ_CONTAINER, "container_pkey");
}

YqIndexScan *
yq_ledger_charges(YqLedger *ledger)
{
	return open_scan(ledger, &ledger->charge_scan, YQ_CHARGE, "charge_container_id_idx");
}

YqIndexScan *
yq_ledger_changes(YqLedger *ledger)
{
	return open_scan(ledger, &ledger->change_scan, YQ_CONTAINER_CHANGE,
					 "container_change_container_id_idx");
}

YqIndexScan *
yq_ledger_ends(YqLedger *ledger)
{
	return open_scan(ledger, &ledger->end_scan, YQ_REPORTED_END, "reported_end_container_id_idx");
}

YqIndexScan *
yq_ledger_waiting(YqLedger *ledger)
{
	return open_scan(ledger, &ledger->waiting_scan, YQ_EVENT_REJECT,
					 "event_reject_waiting_idx");
}

YqBulkInsert *
yq_ledger_container_writer(YqLedger *ledger)
{
	return open_writer(ledger, &ledger->container_writer, YQ_CONTAINER, CONTAINER_COLUMNS, true);
}

YqBulkInsert *
yq_ledger_start_writer(YqLedger *ledger)
{
	return open_writer(ledger, &ledger->start_writer, YQ_CONTAINER, CONTAINER_COLUMNS, true);
}

YqBulkInsert *
yq_ledger_end_writer(YqLedger *ledger, int column_count)
{
	return open_writer(ledger, &ledger->end_writer, YQ_REPORTED_END, column_count, false);
}

/* -- rows ---------------------------------------------------------------- */

static void *
varlena_at(TupleTableSlot *slot, int column)
{
	return slot->tts_isnull[column] ? NULL :
		(void *) PG_DETOAST_DATUM_PACKED(slot->tts_values[column]);
}

void
yq_container_read(const YqLedger *ledger, YqContainer *container, TupleTableSlot *slot)
{
	slot_getallattrs(slot);
	container->tid = slot->tts_tid;
	container->container_id = varlena_at(slot, CONTAINER_CONTAINER_ID);
	container->project = varlena_at(slot, CONTAINER_PROJECT);
	container->application_id = varlena_at(slot, CONTAINER_APPLICATION_ID);
	container->username = varlena_at(slot, CONTAINER_USERNAME);
	container->label = varlena_at(slot, CONTAINER_LABEL);
	container->state.queue = varlena_at(slot, CONTAINER_QUEUE);
	container->state.node = varlena_at(slot, CONTAINER_NODE);
	container->state.allocation = varlena_at(slot, CONTAINER_ALLOCATION);
	container->state.execution_type =
		DatumGetObjectId(slot->tts_values[CONTAINER_EXECUTION_TYPE]);
	container->started_at = DatumGetTimestampTz(slot->tts_values[CONTAINER_STARTED_AT]);
	container->settled_at = DatumGetTimestampTz(slot->tts_values[CONTAINER_SETTLED_AT]);
	container->charges = DatumGetInt32(slot->tts_values[CONTAINER_CHARGES]);
	container->factors = slot->tts_isnull[CONTAINER_FACTORS] ? NULL :
		DatumGetArrayTypeP(slot->tts_values[CONTAINER_FACTORS]);
	yq_wide_from_numeric(&container->accrual_base,
						 DatumGetNumeric(slot->tts_values[CONTAINER_ACCRUAL_BASE]));
	yq_event_read_role(&container->state.role, &container->state.is_running, slot,
					   CONTAINER_PRIORITY + 1);
	container->wait = yq_wait_from_numeric(slot->tts_values[CONTAINER_WAITING_FACTOR],
										   slot->tts_isnull[CONTAINER_WAITING_FACTOR]);
	container->is_given = DatumGetBool(slot->tts_values[CONTAINER_IS_GIVEN]);
}

void
yq_container_put(YqLedger *ledger, YqBulkInsert *writer, const YqContainer *container)
{
	Datum		values[CONTAINER_COLUMNS];
	bool		nulls[CONTAINER_COLUMNS] = {false};

	yq_varlena_put(values, nulls, CONTAINER_CONTAINER_ID, container->container_id);
	yq_varlena_put(values, nulls, CONTAINER_PROJECT, container->project);
	yq_varlena_put(values, nulls, CONTAINER_APPLICATION_ID, container->application_id);
	yq_varlena_put(values, nulls, CONTAINER_USERNAME, container->username);
	yq_varlena_put(values, nulls, CONTAINER_QUEUE, container->state.queue);
	yq_varlena_put(values, nulls, CONTAINER_NODE, container->state.node);
	yq_varlena_put(values, nulls, CONTAINER_LABEL, container->label);
	yq_varlena_put(values, nulls, CONTAINER_ALLOCATION, container->state.allocation);
	values[CONTAINER_EXECUTION_TYPE] = ObjectIdGetDatum(container->state.execution_type);
	values[CONTAINER_STARTED_AT] = TimestampTzGetDatum(container->started_at);
	values[CONTAINER_SETTLED_AT] = TimestampTzGetDatum(container->settled_at);
	values[CONTAINER_CHARGES] = Int32GetDatum(container->charges);
	yq_varlena_put(values, nulls, CONTAINER_FACTORS, container->factors);
	values[CONTAINER_ACCRUAL_BASE] =
		NumericGetDatum(yq_wide_to_numeric(&container->accrual_base));
	yq_event_write_role(&container->state.role, container->state.is_running, values, nulls,
						CONTAINER_PRIORITY + 1);
	values[CONTAINER_WAITING_FACTOR] = yq_wait_to_numeric(container->wait, &nulls[CONTAINER_WAITING_FACTOR]);
	values[CONTAINER_IS_GIVEN] = BoolGetDatum(container->is_given);
	values[CONTAINER_SETTLED_LATELY] = BoolGetDatum(true);
	nulls[CONTAINER_SETTLED_LATELY] = (container->settled_at <= ledger->now - YQ_SETTLED_LATELY);
	yq_bulk_insert_put(writer, values, nulls);
}

static YqEventKind
settling_kind(const YqLedger *ledger, Oid label)
{
	if (label == ledger->labels.kinds[YQ_CONTAINER_FINISH])
		return YQ_CONTAINER_FINISH;
	return label == ledger->labels.kinds[YQ_QUOTA_COMPUTE] ?
		YQ_QUOTA_COMPUTE : YQ_CONTAINER_UPDATE;
}

void
yq_charge_read(const YqLedger *ledger, YqCharge *charge, TupleTableSlot *slot)
{
	slot_getallattrs(slot);
	charge->container_id = varlena_at(slot, CHARGE_CONTAINER_ID);
	charge->project = varlena_at(slot, CHARGE_PROJECT);
	charge->application_id = varlena_at(slot, CHARGE_APPLICATION_ID);
	charge->username = varlena_at(slot, CHARGE_USERNAME);
	charge->state.queue = varlena_at(slot, CHARGE_QUEUE);
	charge->state.node = varlena_at(slot, CHARGE_NODE);
	charge->state.allocation = varlena_at(slot, CHARGE_ALLOCATION);
	charge->state.execution_type = DatumGetObjectId(slot->tts_values[CHARGE_EXECUTION_TYPE]);
	memset(&charge->state.role, 0, sizeof(charge->state.role));
	charge->state.is_running = YQ_ANSWER_NULL;
	charge->started_at = DatumGetTimestampTz(slot->tts_values[CHARGE_STARTED_AT]);
	charge->from = DatumGetTimestampTz(slot->tts_values[CHARGE_FROM]);
	charge->to = DatumGetTimestampTz(slot->tts_values[CHARGE_TO]);
	charge->number = DatumGetInt32(slot->tts_values[CHARGE_NUMBER]);
	charge->corrects = slot->tts_isnull[CHARGE_CORRECTS] ? 0 :
		DatumGetInt32(slot->tts_values[CHARGE_CORRECTS]);
	charge->settled_by = settling_kind(ledger,
									   DatumGetObjectId(slot->tts_values[CHARGE_SETTLED_BY]));
	charge->has_exit_status = !slot->tts_isnull[CHARGE_EXIT_STATUS];
	charge->exit_status = charge->has_exit_status ?
		DatumGetInt32(slot->tts_values[CHARGE_EXIT_STATUS]) : 0;
	charge->padding = slot->tts_isnull[CHARGE_PADDING] ? 0 :
		DatumGetIntervalP(slot->tts_values[CHARGE_PADDING])->time;
	charge->dominant = varlena_at(slot, CHARGE_DOMINANT);
	yq_wide_from_numeric(&charge->amount,
						 DatumGetNumeric(slot->tts_values[CHARGE_AMOUNT]));
	charge->is_free = !slot->tts_isnull[CHARGE_GIVEN_BACK];
	memset(&charge->given_back, 0, sizeof(charge->given_back));
	if (charge->is_free)
		yq_wide_from_numeric(&charge->given_back,
							 DatumGetNumeric(slot->tts_values[CHARGE_GIVEN_BACK]));
	charge->wait = yq_wait_from_numeric(slot->tts_values[CHARGE_WAITING_FACTOR],
										slot->tts_isnull[CHARGE_WAITING_FACTOR]);
}

void
yq_charge_put(YqLedger *ledger, const YqCharge *charge)
{
	Datum		values[CHARGE_COLUMNS];
	bool		nulls[CHARGE_COLUMNS] = {false};
	Interval	padding = {.time = charge->padding};

	yq_varlena_put(values, nulls, CHARGE_CONTAINER_ID, charge->container_id);
	yq_varlena_put(values, nulls, CHARGE_PROJECT, charge->project);
	yq_varlena_put(values, nulls, CHARGE_APPLICATION_ID, charge->application_id);
	yq_varlena_put(values, nulls, CHARGE_USERNAME, charge->username);
	yq_varlena_put(values, nulls, CHARGE_QUEUE, charge->state.queue);
	yq_varlena_put(values, nulls, CHARGE_NODE, charge->state.node);
	values[CHARGE_EXECUTION_TYPE] = ObjectIdGetDatum(charge->state.execution_type);
	yq_varlena_put(values, nulls, CHARGE_ALLOCATION, charge->state.allocation);
	values[CHARGE_STARTED_AT] = TimestampTzGetDatum(charge->started_at);
	values[CHARGE_FROM] = TimestampTzGetDatum(charge->from);
	values[CHARGE_TO] = TimestampTzGetDatum(charge->to);
	values[CHARGE_BOOKED_AT] = TimestampTzGetDatum(Max(ledger->now, ledger->booked_after + 1));
	values[CHARGE_NUMBER] = Int32GetDatum(charge->number);
	values[CHARGE_CORRECTS] = Int32GetDatum(charge->corrects);
	nulls[CHARGE_CORRECTS] = (charge->corrects == 0);
	values[CHARGE_SETTLED_BY] = ObjectIdGetDatum(ledger->labels.kinds[charge->settled_by]);
	values[CHARGE_EXIT_STATUS] = Int32GetDatum(charge->exit_status);
	nulls[CHARGE_EXIT_STATUS] = !charge->has_exit_status;
	values[CHARGE_PADDING] = IntervalPGetDatum(&padding);
	nulls[CHARGE_PADDING] = (charge->padding == 0);
	yq_varlena_put(values, nulls, CHARGE_DOMINANT, charge->dominant);
	values[CHARGE_AMOUNT] = NumericGetDatum(yq_wide_to_numeric(&charge->amount));
	nulls[CHARGE_GIVEN_BACK] = !charge->is_free;
	values[CHARGE_GIVEN_BACK] = charge->is_free ?
		NumericGetDatum(yq_wide_to_numeric(&charge->given_back)) : (Datum) 0;
	values[CHARGE_WAITING_FACTOR] = yq_wait_to_numeric(charge->wait, &nulls[CHARGE_WAITING_FACTOR]);
	yq_bulk_insert_put(open_writer(ledger, &ledger->charge_writer, YQ_CHARGE, CHARGE_COLUMNS, false),
				  values, nulls);
	yq_counters_charge(ledger->counters, charge->project, &charge->amount);
}

void
yq_change_read(const YqLedger *ledger, YqEventKind *kind, YqChange *change,
			   TupleTableSlot *slot)
{
	slot_getallattrs(slot);
	*kind = DatumGetObjectId(slot->tts_values[CHANGE_EVENT]) ==
		ledger->labels.kinds[YQ_CONTAINER_START] ? YQ_CONTAINER_START : YQ_CONTAINER_UPDATE;
	change->occurred_at = DatumGetTimestampTz(slot->tts_values[CHANGE_OCCURRED_AT]);
	change->set.allocation = varlena_at(slot, CHANGE_ALLOCATION);
	change->set.execution_type = slot->tts_isnull[CHANGE_EXECUTION_TYPE] ? InvalidOid :
		DatumGetObjectId(slot->tts_values[CHANGE_EXECUTION_TYPE]);
	change->set.queue = varlena_at(slot, CHANGE_QUEUE);
	change->set.node = varlena_at(slot, CHANGE_NODE);
	change->repeated_start = DatumGetBool(slot->tts_values[CHANGE_REPEATED_START]);
	yq_event_read_role(&change->set.role, &change->set.is_running, slot, CHANGE_PRIORITY + 1);
	change->event_id = slot->tts_isnull[CHANGE_EVENT_ID] ? 0 :
		DatumGetInt64(slot->tts_values[CHANGE_EVENT_ID]);
	change->is_new = change->is_relabel = false;
}

void
yq_change_put(YqLedger *ledger, const text *container_id, YqEventKind kind,
			  const YqChange *change)
{
	const YqState *set = &change->set;
	Datum		values[CHANGE_COLUMNS];
	bool		nulls[CHANGE_COLUMNS] = {false};

	yq_varlena_put(values, nulls, CHANGE_CONTAINER_ID, container_id);
	values[CHANGE_EVENT] = ObjectIdGetDatum(ledger->labels.kinds[kind]);
	values[CHANGE_OCCURRED_AT] = TimestampTzGetDatum(change->occurred_at);
	yq_varlena_put(values, nulls, CHANGE_ALLOCATION, set->allocation);
	values[CHANGE_EXECUTION_TYPE] = ObjectIdGetDatum(set->execution_type);
	nulls[CHANGE_EXECUTION_TYPE] = !OidIsValid(set->execution_type);
	yq_varlena_put(values, nulls, CHANGE_QUEUE, set->queue);
	yq_varlena_put(values, nulls, CHANGE_NODE, set->node);
	values[CHANGE_REPEATED_START] = BoolGetDatum(change->repeated_start);
	yq_event_write_role(&set->role, set->is_running, values, nulls, CHANGE_PRIORITY + 1);
	values[CHANGE_EVENT_ID] = Int64GetDatum(change->event_id);
	nulls[CHANGE_EVENT_ID] = (change->event_id == 0);
	yq_bulk_insert_put(open_writer(ledger, &ledger->change_writer, YQ_CONTAINER_CHANGE, CHANGE_COLUMNS, false),
				  values, nulls);
}

void
yq_reject_put(YqLedger *ledger, const YqEvent *event, const YqProblem *problem, bool waiting)
{
	YqBulkInsert   *writer = open_writer(ledger, &ledger->reject_writer, YQ_EVENT_REJECT,
									  REJECT_COLUMNS, false);
	Oid			sequence = yq_identity_sequence(yq_bulk_insert_relation(writer), REJECT_ID + 1);
	Datum		values[REJECT_COLUMNS];
	bool		nulls[REJECT_COLUMNS] = {false};

	values[REJECT_ID] = Int64GetDatum(nextval_internal(sequence, false));
	yq_event_write(event, values, nulls, &yq_event_rejected, &ledger->labels);
	values[REJECT_WAITING] = BoolGetDatum(waiting);
	values[REJECT_SQLSTATE] = CStringGetTextDatum(unpack_sql_state(problem->sqlstate));
	values[REJECT_REASON] = CStringGetTextDatum(problem->message);
	nulls[REJECT_DETAIL] = (problem->hint == NULL);
	values[REJECT_DETAIL] = nulls[REJECT_DETAIL] ? (Datum) 0 : CStringGetTextDatum(problem->hint);
	yq_bulk_insert_put(writer, values, nulls);
	if (waiting)
		yq_catalog_signal_change(YQ_EVENT_REJECT);
}

void
yq_ledger_note_without_effect(YqLedger *ledger, const YqEvent *event)
{
	Datum		value = Int64GetDatum(event->event_id);
	bool		is_null = false;

	if (event->event_id != 0)
		yq_bulk_insert_put(open_writer(ledger, &ledger->without_effect_writer,
									   YQ_EVENT_WITHOUT_EFFECT, 1, false),
						   &value, &is_null);
}

void
yq_ledger_note_skipped(YqLedger *ledger, const YqEvent *event)
{
	Datum		value = PointerGetDatum(event->container_id);
	bool		is_null = false;

	yq_bulk_insert_put(open_writer(ledger, &ledger->skipped_writer, YQ_SKIPPED_WAITING, 1, false),
					   &value, &is_null);
}

/* -- projects, nodes, factors -------------------------------------------- */

/* Create a project with the owner's privileges, because the role of the feed may have none on the table. */
static void
create_project(const text *project)
{
	Oid			argument_type = TEXTOID;
	Datum		argument = PointerGetDatum(project);
	Oid			save_user;
	int			save_context;

	GetUserIdAndSecContext(&save_user, &save_context);
	SetUserIdAndSecContext(yq_extension_owner(), save_context | SECURITY_LOCAL_USERID_CHANGE);
	SPI_connect();
	if (SPI_execute_with_args("INSERT INTO yquota.project (name) VALUES ($1) "
							  "ON CONFLICT (name) DO NOTHING",
							  1, &argument_type, &argument, NULL, false, 0) != SPI_OK_INSERT)
		elog(ERROR, "could not create project: %s", SPI_result_code_string(SPI_result));
	SPI_finish();
	SetUserIdAndSecContext(save_user, save_context);
}

bool
yq_ledger_know_project(YqLedger *ledger, const text *project)
{
	if (yq_name_cache_has_project(project))
		return true;
	if (yq_index_scan_find(open_scan(ledger, &ledger->project_scan, YQ_PROJECT, "project_pkey"), project) != NULL)
	{
		yq_name_cache_note_project(project);
		return true;
	}
	if (!yq_auto_create_project || VARSIZE_ANY_EXHDR(project) == 0)
		return false;
	create_project(project);
	return true;
}

text *
yq_ledger_label_of(YqLedger *ledger, const text *node)
{
	YqIndexScan *scan;
	TupleTableSlot *slot;
	text	   *label = NULL;

	if (node == NULL || yq_name_cache_has_node(node, &label))
		return label;

	scan = open_scan(ledger, &ledger->node_scan, YQ_NODE, "node_pkey");
	slot = yq_index_scan_find(scan, node);
	if (slot != NULL)
	{
		bool		isnull;

		label = DatumGetTextPCopy(slot_getattr(slot,
											   yq_column(yq_index_scan_relation(scan), "label"),
											   &isnull));
	}
	yq_name_cache_note_node(node, label);
	return label;
}

static const char *
cstring_or_null(const text *value)
{
	return value == NULL ? NULL : text_to_cstring(value);
}

YqWait
yq_ledger_wait(TimestampTz waits_since)
{
	YqWait		wait = {.waits = waits_since != DT_NOEND};

	if (wait.waits)
		wait.factor = yq_timeline_waiting_factor(waits_since);
	return wait;
}

ArrayType *
yq_ledger_factor_names(const YqLedger *ledger, const text *project,
					   const text *application_id, const text *username,
					   const YqState *state, YqWait wait, TimestampTz since)
{
	YqPayer		payer;

	if (!wait.waits && !yq_factors_exist())
		return NULL;
	payer.project = text_to_cstring(project);
	payer.application_id = cstring_or_null(application_id);
	payer.username = cstring_or_null(username);
	payer.queue = cstring_or_null(state->queue);
	payer.label = yq_node_label_at(state->node, since);
	payer.execution_type = state->execution_type == ledger->labels.opportunistic ? "OPPORTUNISTIC" : "GUARANTEED";
	payer.wait = wait;
	return yq_factor_names(&payer);
}
