/*-------------------------------------------------------------------------
 *
 * charging_sql.c
 *	  Charging deferred events, settling again after prices changed, voiding,
 *	  and parts of charges for reports, as SQL functions.
 *
 * The calling SQL chooses the containers; settle.h has the rule by which each container is settled.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "access/table.h"
#include "base/arguments.h"
#include "base/wide.h"
#include "catalog/pg_type_d.h"
#include "charging/charge_events.h"
#include "charging/settler.h"
#include "executor/spi.h"
#include "executor/tstoreReceiver.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "store/catalog.h"
#include "store/role_scope.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

PG_FUNCTION_INFO_V1(yq_sql_accept_any_age);
PG_FUNCTION_INFO_V1(yq_sql_charge_deferred_through);
PG_FUNCTION_INFO_V1(yq_sql_part_within);
PG_FUNCTION_INFO_V1(yq_sql_settle_again);
PG_FUNCTION_INFO_V1(yq_sql_void_containers);

/* Columns of void_containers(). */
enum
{
	VOIDED_CONTAINER_ID,
	VOIDED_PROJECT,
	VOIDED_APPLICATION_ID,
	VOIDED_AMOUNT,
	VOIDED_WAS_RUNNING,
	VOIDED_CHARGES,
	VOIDED_COLUMNS
};

/* Raise an error for a bad event.  None is expected, because these functions settle no new events. */
static void
no_bad_events(void *argument, const YqEvent *event, const YqProblem *problem)
{
	elog(ERROR, "unexpected bad event: %s", problem->message);
}

/*
 * settle_again(container_ids text[]) returns bigint.  It makes the records of these containers
 * agree with the present timelines, in ascending order of id.  It returns the number of containers
 * whose records had to be corrected.
 */
Datum
yq_sql_settle_again(PG_FUNCTION_ARGS)
{
	ArrayType  *ids = PG_GETARG_ARRAYTYPE_P(0);
	YqLedger   *ledger = yq_ledger_open();
	YqSettler  *settler = yq_settler_create(ledger, no_bad_events, NULL);
	Datum	   *elements;
	bool	   *nulls;
	int			count;
	int64		corrected = 0;

	deconstruct_array(ids, TEXTOID, -1, false, TYPALIGN_INT, &elements, &nulls, &count);
	for (int i = 0; i < count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (!nulls[i] && yq_settler_settle_again(settler, DatumGetTextPP(elements[i])))
			corrected++;
	}
	yq_settler_claim_pending(settler);
	yq_ledger_close(ledger);
	PG_RETURN_INT64(corrected);
}

static void
return_voided(ReturnSetInfo *result, Datum container_id, const YqVoided *voided)
{
	Datum		values[VOIDED_COLUMNS];
	bool		nulls[VOIDED_COLUMNS] = {false};

	values[VOIDED_CONTAINER_ID] = container_id;
	values[VOIDED_PROJECT] = PointerGetDatum(voided->project);
	values[VOIDED_APPLICATION_ID] = PointerGetDatum(voided->application_id);
	nulls[VOIDED_APPLICATION_ID] = (voided->application_id == NULL);
	values[VOIDED_AMOUNT] = NumericGetDatum(yq_wide_to_numeric(&voided->amount));
	values[VOIDED_WAS_RUNNING] = BoolGetDatum(voided->was_running);
	values[VOIDED_CHARGES] = Int32GetDatum(voided->charges);
	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

/*
 * void_containers(container_ids text[]) reverses all records of these containers, in ascending
 * order of id.  It returns a row for each container that had records.
 */
Datum
yq_sql_void_containers(PG_FUNCTION_ARGS)
{
	ArrayType  *ids = PG_GETARG_ARRAYTYPE_P(0);
	YqLedger   *ledger;
	YqSettler  *settler;
	Datum	   *elements;
	bool	   *nulls;
	int			count;

	yq_role_scope_check_attributable("event_void");
	InitMaterializedSRF(fcinfo, 0);
	ledger = yq_ledger_open();
	settler = yq_settler_create(ledger, no_bad_events, NULL);
	deconstruct_array(ids, TEXTOID, -1, false, TYPALIGN_INT, &elements, &nulls, &count);
	for (int i = 0; i < count; i++)
	{
		YqVoided	voided;

		CHECK_FOR_INTERRUPTS();
		if (!nulls[i] && yq_settle_void(settler, DatumGetTextPP(elements[i]), &voided))
			return_voided((ReturnSetInfo *) fcinfo->resultinfo, elements[i], &voided);
	}
	yq_settler_claim_pending(settler);
	yq_ledger_close(ledger);
	return (Datum) 0;
}

/*
 * Move the rows of containers up to last_id out of the table into the store.  If last_id is NULL,
 * move all rows, including those that the index does not contain.
 */
static void
take_rows(text *last_id, Tuplestorestate *rows)
{
	const char *command = "DELETE FROM yquota_internal.deferred_event "
		"WHERE $1 IS NULL OR (container_id <= $1 AND octet_length(container_id) <= 2600) RETURNING *";
	SPIExecuteOptions options = {.params = makeParamList(1)};
	DestReceiver *receiver = CreateTuplestoreDestReceiver();
	int			result;

	/* also copy the values that rows keep out of line into the store */
	SetTuplestoreDestReceiverParams(receiver, rows, CurrentMemoryContext, true, NULL, NULL);
	options.dest = receiver;
	/* pass last_id as a constant, so that the planner keeps only the part of the condition that applies */
	options.params->params[0] = (ParamExternData) {PointerGetDatum(last_id), last_id == NULL, PARAM_FLAG_CONST, TEXTOID};
	result = SPI_execute_extended(command, &options);
	if (result != SPI_OK_DELETE_RETURNING)
		elog(ERROR, "could not run \"%s\": %s", command, SPI_result_code_string(result));
	receiver->rDestroy(receiver);
}

/*
 * charge_deferred_through(last_id text) returns (charged bigint, set_aside bigint).  It charges
 * the deferred events of all containers up to last_id.  If last_id is NULL, it charges all
 * deferred events.
 */
Datum
yq_sql_charge_deferred_through(PG_FUNCTION_ARGS)
{
	text	   *last_id = PG_ARGISNULL(0) ? NULL : PG_GETARG_TEXT_PP(0);
	Relation	relation = yq_table_open(YQ_DEFERRED_EVENT, RowExclusiveLock);
	Tuplestorestate *rows;
	YqChargeEventsResult charged;
	Datum		values[2];
	bool		nulls[2] = {false};
	HeapTuple	result;

	SPI_connect();
	rows = tuplestore_begin_heap(false, false, work_mem);
	take_rows(last_id, rows);
	charged = yq_charge_events(rows, RelationGetDescr(relation), YQ_DEFERRED_ARRIVAL + 1);
	tuplestore_end(rows);
	SPI_finish();
	table_close(relation, NoLock);

	values[0] = Int64GetDatum(charged.events - charged.set_aside);
	values[1] = Int64GetDatum(charged.set_aside);
	result = heap_form_tuple(yq_result_descriptor(fcinfo), values, nulls);
	PG_RETURN_DATUM(HeapTupleGetDatum(result));
}

/* -- parts of charges, for reports ----------------------------------------- */

/* Return how many of the ascending instants are at or before an instant. */
static int
count_until(const TimestampTz *cuts, int count, TimestampTz at)
{
	int			first = 0;
	int			end = count;

	while (first < end)
	{
		int			middle = first + (end - first) / 2;

		if (cuts[middle] <= at)
			first = middle + 1;
		else
			end = middle;
	}
	return first;
}

/*
 * part_within(cuts, from, to) returns the number of the part, between two cuts, that contains a
 * segment.  It returns NULL when a cut lies within the segment.  An empty segment is treated as an
 * instant.
 */
Datum
yq_sql_part_within(PG_FUNCTION_ARGS)
{
	ArrayType  *array = PG_GETARG_ARRAYTYPE_P(0);
	TimestampTz from = PG_GETARG_TIMESTAMPTZ(1);
	TimestampTz to = PG_GETARG_TIMESTAMPTZ(2);
	const TimestampTz *cuts;
	int			part;

	if (ARR_NDIM(array) != 1 || ARR_ELEMTYPE(array) != TIMESTAMPTZOID || ARR_HASNULL(array))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("cuts must be a one-dimensional array of instants")));
	cuts = (const TimestampTz *) ((const char *) array + ARR_OVERHEAD_NONULLS(1));
	part = count_until(cuts, ARR_DIMS(array)[0], from);
	if (part < ARR_DIMS(array)[0] && to > cuts[part])
		PG_RETURN_NULL();
	PG_RETURN_INT32(part);
}

/*
 * accept_any_age() sets yquota.max_event_age until the calling function ends.  The SET clauses of
 * that function have opened a new nesting level of settings, at whose end the old value returns.
 */
Datum
yq_sql_accept_any_age(PG_FUNCTION_ARGS)
{
	(void) set_config_option("yquota.max_event_age", "0", PGC_SUSET, PGC_S_SESSION,
							 GUC_ACTION_SAVE, true, 0, false);
	PG_RETURN_VOID();
}
