/*-------------------------------------------------------------------------
 *
 * request_sql.c
 *	  Requests of application masters as SQL functions, see
 *	  sql/scheduler/370_container_requests.sql.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "access/htup_details.h"
#include "admission/access.h"
#include "commands/trigger.h"
#include "fmgr.h"
#include "scheduler/record/scheduler_journal.h"
#include "scheduler/request/container_request.h"
#include "store/catalog.h"
#include "store/saved_plan.h"
#include "utils/builtins.h"
#include "utils/rel.h"

PG_FUNCTION_INFO_V1(yq_sql_forget_application);
PG_FUNCTION_INFO_V1(yq_sql_request_containers);
PG_FUNCTION_INFO_V1(yq_sql_update_blacklist);

/* Attributes of yquota.container_request, in order. */
typedef enum RequestAttribute
{
	REQUEST_RESOURCE_NAME,
	REQUEST_ALLOCATION,
	REQUEST_COUNT,
	REQUEST_PRIORITY,
	REQUEST_ALLOCATION_REQUEST_ID,
	REQUEST_RELAX_LOCALITY,
	REQUEST_LABEL,
	REQUEST_EXECUTION_TYPE,
	REQUEST_ATTRIBUTES
} RequestAttribute;

/* Defaults of a request, as of YARN's ResourceRequest. */
static const YqContainerRequest defaults = {
	.resource_name = YQ_ANYWHERE_NAME,
	.priority = 1,
	.allocation_request_id = -1,
	.relaxes_locality = true,
	.is_guaranteed = true,
};

static YqContainerRequest
read_request_values(const Datum *values, const bool *nulls)
{
	YqContainerRequest request = defaults;

	yq_require_value(nulls[REQUEST_ALLOCATION], "allocation");
	yq_require_value(nulls[REQUEST_COUNT], "count");
	request.allocation = DatumGetYqResourceP(values[REQUEST_ALLOCATION]);
	request.count = DatumGetInt32(values[REQUEST_COUNT]);
	if (!nulls[REQUEST_RESOURCE_NAME])
		request.resource_name = TextDatumGetCString(values[REQUEST_RESOURCE_NAME]);
	if (!nulls[REQUEST_PRIORITY])
		request.priority = DatumGetInt32(values[REQUEST_PRIORITY]);
	if (!nulls[REQUEST_ALLOCATION_REQUEST_ID])
		request.allocation_request_id = DatumGetInt64(values[REQUEST_ALLOCATION_REQUEST_ID]);
	if (!nulls[REQUEST_RELAX_LOCALITY])
		request.relaxes_locality = DatumGetBool(values[REQUEST_RELAX_LOCALITY]);
	if (!nulls[REQUEST_LABEL])
		request.label = TextDatumGetCString(values[REQUEST_LABEL]);
	if (!nulls[REQUEST_EXECUTION_TYPE])
		request.is_guaranteed = DatumGetObjectId(values[REQUEST_EXECUTION_TYPE]) ==
			yq_enum_oid("execution_type", "GUARANTEED");
	return request;
}

static YqContainerRequest
read_container_request(HeapTupleHeader row)
{
	Datum		values[REQUEST_ATTRIBUTES];
	bool		nulls[REQUEST_ATTRIBUTES];

	yq_row_attributes(row, REQUEST_ATTRIBUTES, values, nulls);
	return read_request_values(values, nulls);
}

/* request_containers(application_id, requests) */
Datum
yq_sql_request_containers(PG_FUNCTION_ARGS)
{
	char	   *application_id = text_to_cstring(yq_required_text(fcinfo, 0, "application_id"));
	YqContainerRequest *requests;
	HeapTupleHeader *rows;
	int			count = yq_row_array(fcinfo, 1, "requests", &rows);

	requests = palloc(sizeof(YqContainerRequest) * Max(count, 1));
	for (int i = 0; i < count; i++)
		requests[i] = read_container_request(rows[i]);
	PG_RETURN_INT64(yq_container_request(application_id, requests, count));
}

/* update_blacklist(application_id, additions, removals) */
Datum
yq_sql_update_blacklist(PG_FUNCTION_ARGS)
{
	char	   *application_id = text_to_cstring(yq_required_text(fcinfo, 0, "application_id"));
	const char **additions;
	const char **removals;
	int			addition_count = yq_text_array(fcinfo, 1, "additions", &additions);
	int			removal_count = yq_text_array(fcinfo, 2, "removals", &removals);

	yq_blacklist_update(application_id, additions, addition_count, removals, removal_count);
	PG_RETURN_VOID();
}

/*
 * Trigger on yquota.application, for rows that end or are deleted: the
 * scheduler's rows for the application are deleted, as committed now.  The last
 * container number stays: an id may be submitted again, and charging accepts no
 * container twice.
 */
Datum
yq_sql_forget_application(PG_FUNCTION_ARGS)
{
	static YqSavedPlan drop = {
		.command = "DELETE FROM yquota_internal.container_version AS v WHERE v.application_id = $1",
		.types = {"text"}
	};
	TriggerData *trigger = (TriggerData *) fcinfo->context;
	Datum		values[1];
	bool		isnull;

	if (!CALLED_AS_TRIGGER(fcinfo) || !TRIGGER_FIRED_FOR_ROW(trigger->tg_event) ||
		RelationGetRelid(trigger->tg_relation) != yq_table_oid(YQ_APPLICATION))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("function \"%s\" serves no trigger but that of yquota.application", "forget_application")));
	values[0] = heap_getattr(trigger->tg_trigtuple, yq_column(trigger->tg_relation, "application_id"),
							 RelationGetDescr(trigger->tg_relation), &isnull);
	/* that the application itself has changed is noted by another trigger */
	yq_scheduler_journal_begin_own();
	(void) yq_saved_plan_execute(&drop, values, NULL);
	yq_application_begin_attempt(TextDatumGetCString(values[0]));
	yq_scheduler_journal_end_own();
	PG_RETURN_POINTER(NULL);
}
