/*-------------------------------------------------------------------------
 *
 * request_sql.c
 *	  Requests of application masters and updates of running containers as SQL
 *	  functions, see sql/scheduler/370_container_requests.sql.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "access/htup_details.h"
#include "admission/access/access.h"
#include "admission/submission/application_change.h"
#include "base/arguments.h"
#include "base/bytes_table.h"
#include "commands/trigger.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "queues/text.h"
#include "scheduler/record/record_applications.h"
#include "scheduler/record/refusal.h"
#include "scheduler/record/scheduler_journal.h"
#include "scheduler/request/container_request.h"
#include "scheduler/request/container_update.h"
#include "scheduler/request/request_interceptor.h"
#include "store/catalog.h"
#include "store/saved_plan.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/rel.h"
#include "utils/tuplestore.h"
#include "utils/typcache.h"

PG_FUNCTION_INFO_V1(yq_sql_end_containers_of);
PG_FUNCTION_INFO_V1(yq_sql_forget_application);
PG_FUNCTION_INFO_V1(yq_sql_kill_expired);
PG_FUNCTION_INFO_V1(yq_sql_release_containers);
PG_FUNCTION_INFO_V1(yq_sql_request_containers);
PG_FUNCTION_INFO_V1(yq_sql_update_blacklist);
PG_FUNCTION_INFO_V1(yq_sql_update_container);
PG_FUNCTION_INFO_V1(yq_sql_update_containers);

/* -- requests -------------------------------------------------------------- */

/* request_containers(application_id, requests) */
Datum
yq_sql_request_containers(PG_FUNCTION_ARGS)
{
	YqAllocateRequest call = {.function = "request_containers",.application_id = text_to_cstring(yq_required_text(fcinfo, 0, "application_id"))};
	const YqContainerRequest *requests;
	int			count;

	yq_require_value(PG_ARGISNULL(1), "requests");
	call.parts[YQ_PART_REQUESTS] = PG_GETARG_DATUM(1);
	yq_request_intercept_or_refuse(&call);
	count = yq_container_requests_of_array(call.parts[YQ_PART_REQUESTS], &requests);
	PG_RETURN_INT64(yq_container_request(call.application_id, requests, count));
}

/* update_blacklist(application_id, additions, removals) */
Datum
yq_sql_update_blacklist(PG_FUNCTION_ARGS)
{
	YqAllocateRequest call = {.function = "update_blacklist",.application_id = text_to_cstring(yq_required_text(fcinfo, 0, "application_id"))};
	const char **additions;
	const char **removals;
	int			addition_count;
	int			removal_count;

	call.parts[YQ_PART_BLACKLIST_ADDITIONS] = yq_texts_argument(fcinfo, 1);
	call.parts[YQ_PART_BLACKLIST_REMOVALS] = yq_texts_argument(fcinfo, 2);
	yq_request_intercept_or_refuse(&call);
	addition_count = yq_texts_of_array(call.parts[YQ_PART_BLACKLIST_ADDITIONS], "additions", &additions);
	removal_count = yq_texts_of_array(call.parts[YQ_PART_BLACKLIST_REMOVALS], "removals", &removals);
	yq_blacklist_update(call.application_id, additions, addition_count, removals, removal_count);
	PG_RETURN_VOID();
}

/*
 * Trigger on yquota.application for applications that end or are deleted.  It deletes the
 * rows that the scheduler keeps about the application, as last committed, and ends the
 * containers that the scheduler has started.  The attempt number is kept and raised.  If a
 * client submits the id of the application again, new containers get other ids, because
 * charging accepts a container id only once.
 */
Datum
yq_sql_forget_application(PG_FUNCTION_ARGS)
{
	static YqSavedPlan drop = {
		.command = "DELETE FROM yquota_internal.container_version AS v WHERE v.application_id = $1",
		.types = {"text"}
	};
	TriggerData *trigger = (TriggerData *) fcinfo->context;
	const char *application_id;
	Datum		values[1];
	bool		isnull;

	if (!CALLED_AS_TRIGGER(fcinfo) || !TRIGGER_FIRED_FOR_ROW(trigger->tg_event) ||
		RelationGetRelid(trigger->tg_relation) != yq_table_oid(YQ_APPLICATION))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("function \"%s\" must be called by a row trigger on table \"yquota.application\"", "forget_application")));
	values[0] = heap_getattr(trigger->tg_trigtuple, yq_column(trigger->tg_relation, "application_id"),
							 RelationGetDescr(trigger->tg_relation), &isnull);
	application_id = TextDatumGetCString(values[0]);
	/* another trigger records the change of the application itself in the journal */
	yq_scheduler_journal_begin_own();
	(void) yq_saved_plan_execute(&drop, values, NULL);
	yq_application_begin_attempt(application_id);
	yq_scheduler_journal_end_own();
	yq_completed_application_note(application_id);
	(void) yq_completed_application_end_containers(application_id, YQ_GIVEN_CONTAINERS);
	PG_RETURN_POINTER(NULL);
}

/* end_containers_of(application_id) */
Datum
yq_sql_end_containers_of(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT64(yq_completed_application_end_containers(text_to_cstring(PG_GETARG_TEXT_PP(0)), YQ_GIVEN_CONTAINERS));
}

/* -- applications past their lifetime -------------------------------------- */

typedef struct Killing
{
	const char **application_ids;
	const char *diagnostics;
	bool	   *is_refused;
} Killing;

static void
kill_applications(void *argument, int first, int count)
{
	const Killing *killing = argument;

	for (int i = first; i < first + count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		(void) yq_application_end(killing->application_ids[i], YQ_APPLICATION_KILLED, killing->diagnostics, NULL);
		(void) yq_completed_application_end_containers(killing->application_ids[i], YQ_ALL_CONTAINERS);
	}
}

static void
refuse_killing(void *argument, int subject, const ErrorData *error)
{
	const Killing *killing = argument;

	killing->is_refused[subject] = true;
	(void) yq_refusal_note(YQ_ROUND_LIFETIME, killing->application_ids[subject], error);
}

/* Remove duplicate ids.  Returns the number of remaining ids. */
static int
drop_repeated_ids(const char **ids, int count)
{
	HTAB	   *known = yq_bytes_table_create_for("yquota applications to end", sizeof(YqBytes), count, CurrentMemoryContext);
	int			kept = 0;
	bool		is_repeated;

	for (int i = 0; i < count; i++)
	{
		(void) yq_bytes_table_enter_kept(known, yq_bytes_of_string(ids[i]), &is_repeated);
		if (!is_repeated)
			ids[kept++] = ids[i];
	}
	hash_destroy(known);
	return kept;
}

/* kill_expired(application_ids, diagnostics) */
Datum
yq_sql_kill_expired(PG_FUNCTION_ARGS)
{
	Killing		killing = {.diagnostics = text_to_cstring(PG_GETARG_TEXT_PP(1))};
	YqRound		round = {.work = kill_applications,.refuse = refuse_killing,.argument = &killing};
	int			count = 0;

	round.count = yq_text_array(fcinfo, 0, "application_ids", &killing.application_ids);
	round.count = drop_repeated_ids(killing.application_ids, round.count);
	killing.is_refused = palloc0(Max(round.count, 1) * sizeof(bool));
	yq_round_run(&round);
	for (int i = 0; i < round.count; i++)
	{
		if (!killing.is_refused[i])
			killing.application_ids[count++] = killing.application_ids[i];
	}
	PG_RETURN_DATUM(yq_array_of_names(killing.application_ids, count));
}

/* -- updates of containers ------------------------------------------------- */

/*
 * Attributes of yquota.container_update_request, and arguments of
 * update_container(), in order.
 */
typedef enum UpdateAttribute
{
	UPDATE_CONTAINER_ID,
	UPDATE_VERSION,
	UPDATE_ALLOCATION,
	UPDATE_EXECUTION_TYPE,
	UPDATE_PRIORITY,
	UPDATE_ALLOCATION_REQUEST_ID,
	UPDATE_ATTRIBUTES
} UpdateAttribute;

/* Columns of the result, in order. */
typedef enum OutcomeColumn
{
	OUTCOME_CONTAINER_ID,
	OUTCOME_OUTCOME,
	OUTCOME_REASON,
	OUTCOME_VERSION,
	OUTCOME_ALLOCATION,
	OUTCOME_COLUMNS
} OutcomeColumn;

static const char *const action_names[] = {
	[YQ_UPDATE_NOTHING] = "unchanged",
	[YQ_UPDATE_PROMOTE] = "pending",
	[YQ_UPDATE_INCREASE] = "pending",
	[YQ_UPDATE_DEMOTE] = "demoted",
	[YQ_UPDATE_DECREASE] = "decreased",
};

static YqUpdateRequest
read_update_request(HeapTupleHeader row)
{
	/* defaults of YARN's ResourceRequest */
	YqUpdateRequest request = {.priority = 1,.allocation_request_id = -1};
	Datum		values[UPDATE_ATTRIBUTES];
	bool		nulls[UPDATE_ATTRIBUTES];

	yq_row_attributes(row, UPDATE_ATTRIBUTES, values, nulls);
	yq_require_value(nulls[UPDATE_CONTAINER_ID], "container_id");
	yq_require_value(nulls[UPDATE_VERSION], "version");
	request.container_id = TextDatumGetCString(values[UPDATE_CONTAINER_ID]);
	request.version = DatumGetInt32(values[UPDATE_VERSION]);
	if (!nulls[UPDATE_ALLOCATION])
		request.allocation = DatumGetYqResourceP(values[UPDATE_ALLOCATION]);
	request.has_execution_type = !nulls[UPDATE_EXECUTION_TYPE];
	if (request.has_execution_type)
		request.is_guaranteed = DatumGetObjectId(values[UPDATE_EXECUTION_TYPE]) ==
			yq_enum_oid("execution_type", "GUARANTEED");
	if (!nulls[UPDATE_PRIORITY])
		request.priority = DatumGetInt32(values[UPDATE_PRIORITY]);
	if (!nulls[UPDATE_ALLOCATION_REQUEST_ID])
		request.allocation_request_id = DatumGetInt64(values[UPDATE_ALLOCATION_REQUEST_ID]);
	return request;
}

static void
return_outcome(ReturnSetInfo *result, const YqUpdateRequest *request, const YqUpdateOutcome *outcome)
{
	Datum		values[OUTCOME_COLUMNS] = {0};
	bool		nulls[OUTCOME_COLUMNS] = {false};
	const char *reason = yq_update_refusal_name(outcome->refusal);

	values[OUTCOME_CONTAINER_ID] = CStringGetTextDatum(request->container_id);
	values[OUTCOME_OUTCOME] = CStringGetTextDatum(reason != NULL ? "refused" : action_names[outcome->action]);
	if (reason != NULL)
		values[OUTCOME_REASON] = CStringGetTextDatum(reason);
	nulls[OUTCOME_REASON] = reason == NULL;
	values[OUTCOME_VERSION] = Int32GetDatum(outcome->version);
	values[OUTCOME_ALLOCATION] = outcome->allocation;
	nulls[OUTCOME_ALLOCATION] = DatumGetPointer(outcome->allocation) == NULL;
	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

/* update_containers(application_id, updates) */
Datum
yq_sql_update_containers(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	YqAllocateRequest call = {.function = "update_containers",.application_id = text_to_cstring(yq_required_text(fcinfo, 0, "application_id"))};
	YqUpdateRequest *requests;
	const YqUpdateOutcome *outcomes;
	HeapTupleHeader *rows;
	int			count;

	yq_require_value(PG_ARGISNULL(1), "updates");
	call.parts[YQ_PART_UPDATES] = PG_GETARG_DATUM(1);
	yq_request_intercept_or_refuse(&call);
	count = yq_rows_of_array(call.parts[YQ_PART_UPDATES], "updates", &rows);
	requests = palloc(sizeof(YqUpdateRequest) * Max(count, 1));
	for (int i = 0; i < count; i++)
		requests[i] = read_update_request(rows[i]);
	InitMaterializedSRF(fcinfo, 0);
	outcomes = yq_containers_update(call.application_id, requests, count);
	for (int i = 0; i < count; i++)
		return_outcome(result, &requests[i], &outcomes[i]);
	(void) yq_response_intercept(&call, result);
	return (Datum) 0;
}

/* -- a container ----------------------------------------------------------- */

/* Return the application of a running container. */
static char *
application_of(const char *container_id)
{
	static YqSavedPlan look_up = {
		.command = "SELECT c.application_id FROM yquota.container AS c WHERE c.container_id = $1 "
		"AND c.application_id IS NOT NULL",
		.types = {"text"}
	};
	Datum		values[] = {CStringGetTextDatum(container_id)};
	List	   *ids = yq_saved_plan_strings(&look_up, values);

	if (ids == NIL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("container \"%s\" cannot be updated: %s", container_id,
						yq_update_refusal_name(YQ_UPDATE_INVALID_CONTAINER)),
				 errdetail("No container of that id runs for an application.")));
	return linitial(ids);
}

static const char *
describe_refusal(const YqUpdateRequest *request, const YqUpdateOutcome *outcome)
{
	switch (outcome->refusal)
	{
		case YQ_UPDATE_INVALID_CONTAINER:
			return "The container does not run on a node.";
		case YQ_UPDATE_INCORRECT_VERSION:
			return psprintf("The container has version %d, but version %d was to be updated.", outcome->version, request->version);
		case YQ_UPDATE_OUTSTANDING:
			return "Another update of the container is pending.";
		case YQ_UPDATE_OUTSIDE_RANGE:
			return "The allocation is negative or exceeds the maximum of the queue.";
		case YQ_UPDATE_OPPORTUNISTIC:
			return "The container is OPPORTUNISTIC and must be promoted first.";
		case YQ_UPDATE_ACCEPTED:
			break;
	}
	return "";
}

static int
error_code(YqUpdateRefusal refusal)
{
	switch (refusal)
	{
		case YQ_UPDATE_INVALID_CONTAINER:
			return ERRCODE_UNDEFINED_OBJECT;
		case YQ_UPDATE_OUTSTANDING:
			return ERRCODE_OBJECT_IN_USE;
		case YQ_UPDATE_OUTSIDE_RANGE:
			return ERRCODE_INVALID_PARAMETER_VALUE;
		default:
			return ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE;
	}
}

/*
 * Return the arguments of update_container() as the interceptors have changed them.
 * Interceptors may change the update, but may not remove it.
 */
static YqUpdateRequest
intercepted_update(FunctionCallInfo fcinfo, const char *application_id)
{
	YqAllocateRequest call = {.function = "update_container",.application_id = application_id};
	Oid			type = yq_type_oid("container_update_request");
	TupleDesc	descriptor = lookup_rowtype_tupdesc_copy(type, -1);
	Datum		values[UPDATE_ATTRIBUTES];
	bool		nulls[UPDATE_ATTRIBUTES];
	Datum		update;
	HeapTupleHeader *rows;

	for (int i = 0; i < UPDATE_ATTRIBUTES; i++)
	{
		values[i] = PG_GETARG_DATUM(i);
		nulls[i] = PG_ARGISNULL(i);
	}
	update = HeapTupleGetDatum(heap_form_tuple(descriptor, values, nulls));
	call.parts[YQ_PART_UPDATES] = PointerGetDatum(construct_array(&update, 1, type, -1, false, TYPALIGN_DOUBLE));
	yq_request_intercept_or_refuse(&call);
	if (yq_rows_of_array(call.parts[YQ_PART_UPDATES], "updates", &rows) != 1)
		ereport(ERROR,
				(errcode(YQ_ERRCODE_REQUESTS_REFUSED),
				 errmsg("requests of application \"%s\" are refused: request interceptors did not return exactly one update", application_id)));
	return read_update_request(rows[0]);
}

/* update_container(container_id, version, allocation, execution_type, priority, allocation_request_id) */
Datum
yq_sql_update_container(PG_FUNCTION_ARGS)
{
	char	   *container_id;
	const char *application_id;
	YqUpdateRequest request;
	const YqUpdateOutcome *outcome;

	yq_require_value(PG_ARGISNULL(UPDATE_CONTAINER_ID), "container_id");
	yq_require_value(PG_ARGISNULL(UPDATE_VERSION), "version");
	container_id = text_to_cstring(PG_GETARG_TEXT_PP(UPDATE_CONTAINER_ID));
	application_id = application_of(container_id);
	request = intercepted_update(fcinfo, application_id);
	outcome = yq_containers_update(application_id, &request, 1);
	if (outcome->refusal != YQ_UPDATE_ACCEPTED)
		ereport(ERROR,
				(errcode(error_code(outcome->refusal)),
				 errmsg("container \"%s\" cannot be updated: %s", request.container_id,
						yq_update_refusal_name(outcome->refusal)),
				 errdetail("%s", describe_refusal(&request, outcome))));
	PG_RETURN_TEXT_P(cstring_to_text(action_names[outcome->action]));
}

/* -- releases ------------------------------------------------------------------ */

/* Return the application of running containers, or NULL if they belong to several. */
static const char *
application_of_all(Datum container_ids)
{
	static YqSavedPlan look_up = {
		.command = "SELECT DISTINCT c.application_id FROM yquota.container AS c WHERE c.container_id = ANY ($1) "
		"AND c.application_id IS NOT NULL LIMIT 2",
		.types = {"_text"}
	};
	Datum		values[] = {container_ids};
	List	   *ids = yq_saved_plan_strings(&look_up, values);

	return list_length(ids) == 1 ? linitial(ids) : NULL;
}

/* release_containers(container_ids) */
Datum
yq_sql_release_containers(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	YqAllocateRequest call = {.function = "release_containers"};
	ListCell   *cell;

	yq_require_value(PG_ARGISNULL(0), "container_ids");
	call.parts[YQ_PART_RELEASES] = PG_GETARG_DATUM(0);
	call.application_id = application_of_all(call.parts[YQ_PART_RELEASES]);
	yq_request_intercept_or_refuse(&call);
	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	foreach(cell, yq_containers_release(call.parts[YQ_PART_RELEASES]))
	{
		Datum		values[] = {CStringGetTextDatum(lfirst(cell))};
		bool		nulls[] = {false};

		tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
	}
	(void) yq_response_intercept(&call, result);
	return (Datum) 0;
}
