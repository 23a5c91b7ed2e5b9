/*-------------------------------------------------------------------------
 *
 * opportunistic_sql.c
 *	  Offers reports of nodes and central allocation of opportunistic containers as SQL
 *	  functions, see sql/opportunistic/395_opportunistic.sql.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "admission/configuration/config_refresh.h"
#include "base/arguments.h"
#include "base/resource.h"
#include "common/int.h"
#include "executor/spi.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "opportunistic/allocate_opportunistic.h"
#include "opportunistic/node_report.h"
#include "opportunistic/record_opportunistic.h"
#include "scheduler/record/record_containers.h"
#include "scheduler/request/container_request.h"
#include "scheduler/request/request_interceptor.h"
#include "store/clock.h"
#include "store/saved_plan.h"
#include "utils/array.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

PG_FUNCTION_INFO_V1(yq_sql_allocate_opportunistic);
PG_FUNCTION_INFO_V1(yq_sql_report_nodes);

/* -- reports --------------------------------------------------------------------- */

/* Attributes of the composite type yquota.node_report, in order. */
typedef enum ReportAttribute
{
	ATTRIBUTE_NODE,
	ATTRIBUTE_RUNNING_GUARANTEED,
	ATTRIBUTE_RUNNING_OPPORTUNISTIC,
	ATTRIBUTE_QUEUED_GUARANTEED,
	ATTRIBUTE_QUEUED_OPPORTUNISTIC,
	ATTRIBUTE_ESTIMATED_WAIT,
	ATTRIBUTE_QUEUE_CAPACITY,
	ATTRIBUTE_REPORTED_AT,
	ATTRIBUTE_ALLOCATED,
	ATTRIBUTE_MEASURED,
	REPORT_ATTRIBUTES
} ReportAttribute;

static const char *const attribute_names[] = {
	"node", "running_guaranteed", "running_opportunistic", "queued_guaranteed", "queued_opportunistic",
	"estimated_wait", "queue_capacity", "reported_at", "allocated", "measured"
};

static void
refuse_report(const char *node, int attribute, const char *range)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("%s of a report must be %s", attribute_names[attribute], range),
			 errdetail("The report is of node \"%s\".", node)));
}

static int32
count_attribute(const char *node, const Datum *values, const bool *nulls, int attribute)
{
	int32		count;

	yq_require_value(nulls[attribute], attribute_names[attribute]);
	count = DatumGetInt32(values[attribute]);
	if (count < 0)
		refuse_report(node, attribute, "0 or more");
	return count;
}

/* Check that a wait in milliseconds fits into 32 bits.  Hadoop stores it in an int. */
static void
check_wait(const char *node, const Interval *wait)
{
	int64		whole;

	if (wait->month != 0 || wait->time < 0 || wait->day < 0 ||
		pg_mul_s64_overflow(wait->day, USECS_PER_DAY, &whole) || pg_add_s64_overflow(whole, wait->time, &whole) ||
		whole / 1000 > PG_INT32_MAX)
		refuse_report(node, ATTRIBUTE_ESTIMATED_WAIT, "from 0 to 2147483647 ms");
}

static void
check_amounts(const char *node, const YqResource *resource, int attribute)
{
	YqResourceEntry entries[YQ_RESOURCE_MAX_ENTRIES];
	int			count = yq_resource_read(resource, entries);

	for (int i = 0; i < count; i++)
	{
		if (entries[i].amount < 0)
			refuse_report(node, attribute, "0 or more of each resource");
	}
}

static void
check_report(const YqNodeReport *report)
{
	int64		containers = (int64) report->running_guaranteed + report->running_opportunistic +
		report->queued_guaranteed + report->queued_opportunistic;

	if (TIMESTAMP_NOT_FINITE(report->reported_at))
		refuse_report(report->node, ATTRIBUTE_REPORTED_AT, "finite");
	if (containers > PG_INT32_MAX)
		refuse_report(report->node, ATTRIBUTE_QUEUED_OPPORTUNISTIC, "such that the node has at most 2147483647 containers");
	if (report->estimated_wait != 0)
		check_wait(report->node, DatumGetIntervalP(report->estimated_wait));
	if (report->allocated != 0)
		check_amounts(report->node, DatumGetYqResourceP(report->allocated), ATTRIBUTE_ALLOCATED);
	if (report->measured != 0)
		check_amounts(report->node, DatumGetYqResourceP(report->measured), ATTRIBUTE_MEASURED);
}

static YqNodeReport
read_report(HeapTupleHeader row, TimestampTz now)
{
	YqNodeReport report = {.node = NULL};
	Datum		values[REPORT_ATTRIBUTES];
	bool		nulls[REPORT_ATTRIBUTES];

	yq_row_attributes(row, REPORT_ATTRIBUTES, values, nulls);
	yq_require_value(nulls[ATTRIBUTE_NODE], "node");
	report.node = TextDatumGetCString(values[ATTRIBUTE_NODE]);
	report.running_guaranteed = count_attribute(report.node, values, nulls, ATTRIBUTE_RUNNING_GUARANTEED);
	report.running_opportunistic = count_attribute(report.node, values, nulls, ATTRIBUTE_RUNNING_OPPORTUNISTIC);
	report.queued_guaranteed = count_attribute(report.node, values, nulls, ATTRIBUTE_QUEUED_GUARANTEED);
	report.queued_opportunistic = count_attribute(report.node, values, nulls, ATTRIBUTE_QUEUED_OPPORTUNISTIC);
	report.estimated_wait = nulls[ATTRIBUTE_ESTIMATED_WAIT] ? 0 : values[ATTRIBUTE_ESTIMATED_WAIT];
	report.has_queue_capacity = !nulls[ATTRIBUTE_QUEUE_CAPACITY];
	if (report.has_queue_capacity)
		report.queue_capacity = count_attribute(report.node, values, nulls, ATTRIBUTE_QUEUE_CAPACITY);
	report.reported_at = nulls[ATTRIBUTE_REPORTED_AT] ? now : DatumGetTimestampTz(values[ATTRIBUTE_REPORTED_AT]);
	report.allocated = nulls[ATTRIBUTE_ALLOCATED] ? 0 : values[ATTRIBUTE_ALLOCATED];
	report.measured = nulls[ATTRIBUTE_MEASURED] ? 0 : values[ATTRIBUTE_MEASURED];
	check_report(&report);
	return report;
}

static void
return_report(ReturnSetInfo *result, const YqNodeReport *report, const YqLoadList *list)
{
	YqRowBuilder row = {.count = 0};
	const char *reason = report->refusal != NULL ? report->refusal : report->left_out;
	Interval	wait = {.time = (int64) list->max_wait * 1000};

	yq_row_put_text(&row, report->node);
	yq_row_put(&row, BoolGetDatum(report->refusal == NULL), false);
	yq_row_put_text(&row, reason);
	yq_row_put(&row, Int32GetDatum(list->max_queue_length), list->max_queue_length < 0);
	yq_row_put(&row, IntervalPGetDatum(&wait), list->max_wait < 0);
	tuplestore_putvalues(result->setResult, result->setDesc, row.values, row.nulls);
}

/* report_nodes(reports) */
Datum
yq_sql_report_nodes(PG_FUNCTION_ARGS)
{
	const YqAllocationSettings *settings;
	TimestampTz now = yq_clock_now();
	HeapTupleHeader *rows;
	int			count = yq_row_array(fcinfo, 0, "reports", &rows);
	YqNodeReport *reports = palloc(sizeof(YqNodeReport) * Max(count, 1));
	YqLoadList	list;

	PreventCommandIfReadOnly("reports of nodes");
	for (int i = 0; i < count; i++)
		reports[i] = read_report(rows[i], now);
	InitMaterializedSRF(fcinfo, 0);
	settings = yq_allocation_settings();
	yq_node_reports_store(settings, reports, count, now);
	list = yq_load_list_refresh(yq_hierarchy_in_force(), settings, now, false);
	for (int i = 0; i < count; i++)
		return_report((ReturnSetInfo *) fcinfo->resultinfo, &reports[i], &list);
	return (Datum) 0;
}

/* -- central allocation ------------------------------------------------------------ */

/*
 * Arguments of allocate_opportunistic(), in order.  The last one exists only in an
 * internal variant of the function.
 */
typedef enum AllocateArgument
{
	ARGUMENT_APPLICATION_ID,
	ARGUMENT_REQUESTS,
	ARGUMENT_BLACKLIST_ADDITIONS,
	ARGUMENT_BLACKLIST_REMOVALS,
	ARGUMENT_SEED,
	ARGUMENT_RESPONSE_ID,
	ARGUMENT_STARTS
} AllocateArgument;

static void
read_order(FunctionCallInfo fcinfo, YqAnywhereOrder *order)
{
	ArrayType  *array;
	Datum	   *values;

	order->has_seed = !PG_ARGISNULL(ARGUMENT_SEED);
	if (order->has_seed)
		order->seed = PG_GETARG_INT64(ARGUMENT_SEED);
	if (PG_NARGS() <= ARGUMENT_STARTS || PG_ARGISNULL(ARGUMENT_STARTS))
		return;
	array = PG_GETARG_ARRAYTYPE_P(ARGUMENT_STARTS);
	deconstruct_array(array, INT4OID, sizeof(int32), true, TYPALIGN_INT, &values, NULL, &order->start_count);
	order->starts = palloc(sizeof(int32) * Max(order->start_count, 1));
	for (int i = 0; i < order->start_count; i++)
		((int32 *) order->starts)[i] = DatumGetInt32(values[i]);
}

static YqOpportunisticCall
read_call(FunctionCallInfo fcinfo)
{
	YqOpportunisticCall call = {.application_id = text_to_cstring(yq_required_text(fcinfo, ARGUMENT_APPLICATION_ID, "application_id"))};

	yq_require_value(PG_ARGISNULL(ARGUMENT_REQUESTS), "requests");
	call.has_response_id = !PG_ARGISNULL(ARGUMENT_RESPONSE_ID);
	if (call.has_response_id)
		call.response_id = PG_GETARG_INT32(ARGUMENT_RESPONSE_ID);
	read_order(fcinfo, &call.order);
	return call;
}

static void
put_opportunistic(YqRowBuilder *row)
{
	yq_row_put(row, ObjectIdGetDatum(yq_enum_oid("execution_type", "OPPORTUNISTIC")), false);
}

static bool
is_repeated(const YqOpportunisticCall *call)
{
	return call->has_response_id && yq_record_opportunistic_is_last(call->application_id, call->response_id);
}

/*
 * Let the interceptors check and change the call.  Interceptors do not see a repeated call, which
 * gets the answer of the first call.
 */
static YqAllocateRequest
intercept(FunctionCallInfo fcinfo, const YqOpportunisticCall *call)
{
	YqAllocateRequest request = {
		.function = "allocate_opportunistic",
		.application_id = call->application_id,
		.parts = {
			[YQ_PART_REQUESTS] = PG_GETARG_DATUM(ARGUMENT_REQUESTS),
			[YQ_PART_BLACKLIST_ADDITIONS] = yq_texts_argument(fcinfo, ARGUMENT_BLACKLIST_ADDITIONS),
			[YQ_PART_BLACKLIST_REMOVALS] = yq_texts_argument(fcinfo, ARGUMENT_BLACKLIST_REMOVALS)
		}
	};

	if (yq_request_interceptors_exist() && !is_repeated(call))
		yq_request_intercept(&request);
	return request;
}

static void
read_request(const YqAllocateRequest *request, YqOpportunisticCall *call)
{
	call->request_count = yq_container_requests_of_array(request->parts[YQ_PART_REQUESTS], &call->requests);
	call->addition_count = yq_texts_of_array(request->parts[YQ_PART_BLACKLIST_ADDITIONS], "blacklist_additions", &call->blacklist_additions);
	call->removal_count = yq_texts_of_array(request->parts[YQ_PART_BLACKLIST_REMOVALS], "blacklist_removals", &call->blacklist_removals);
}

/*
 * Release the containers that interceptors have removed from the result.  The
 * application would never learn about them.
 */
static void
release_left_out(const YqAllocateRequest *request, ReturnSetInfo *result)
{
	List	   *ids = yq_response_intercept(request, result);
	Datum	   *elements = palloc(sizeof(Datum) * Max(list_length(ids), 1));
	int			count = 0;
	ListCell   *cell;

	if (ids == NIL)
		return;
	foreach(cell, ids)
		elements[count++] = CStringGetTextDatum(lfirst(cell));
	(void) yq_containers_release(PointerGetDatum(construct_array(elements, count, TEXTOID, -1, false, TYPALIGN_INT)));
}

static void
return_container(ReturnSetInfo *result, const YqOpportunisticAnswer *answer, int number)
{
	const YqOpportunisticContainer *container = &answer->containers.containers[number];
	const YqOutstandingRequest *request = &answer->requests.requests[container->request];
	YqRowBuilder row = {.count = 0};

	yq_row_put_text(&row, "allocated");
	yq_row_put(&row, answer->container_ids[number], false);
	yq_row_put_text(&row, answer->requester.application->application_id);
	yq_row_put_text(&row, answer->requester.queue->path);
	yq_row_put_text(&row, container->node);
	yq_row_put(&row, answer->allocations[number], false);
	yq_row_put_text(&row, yq_locality_name(container->locality));
	yq_row_put(&row, Int32GetDatum(request->priority), false);
	yq_row_put(&row, Int64GetDatum(request->allocation_request_id), false);
	put_opportunistic(&row);
	yq_row_put_text(&row, NULL);
	yq_row_put_text(&row, NULL);
	tuplestore_putvalues(result->setResult, result->setDesc, row.values, row.nulls);
}

/*
 * Add a row with the rule that keeps the application from getting containers.  The queue is NULL if
 * it is not known.
 */
static void
return_stop(ReturnSetInfo *result, const char *application_id, const char *queue, const char *rule, const char *at)
{
	YqRowBuilder row = {.count = 0};

	yq_row_put_text(&row, "passed over");
	yq_row_put_text(&row, NULL);
	yq_row_put_text(&row, application_id);
	yq_row_put_text(&row, queue);
	for (int i = 0; i < 5; i++)
		yq_row_put(&row, (Datum) 0, true);
	put_opportunistic(&row);
	yq_row_put_text(&row, rule);
	yq_row_put_text(&row, at);
	tuplestore_putvalues(result->setResult, result->setDesc, row.values, row.nulls);
}

/* Add a row with the number of a request's containers that a sharing limit refuses. */
static void
return_refusal(ReturnSetInfo *result, const YqOpportunisticAnswer *answer, const YqSharingRefusal *refusal)
{
	const YqOutstandingRequest *request = &answer->requests.requests[refusal->request];
	YqRowBuilder row = {.count = 0};

	yq_row_put_text(&row, "passed over");
	yq_row_put_text(&row, NULL);
	yq_row_put_text(&row, answer->requester.application->application_id);
	yq_row_put_text(&row, answer->requester.queue->path);
	yq_row_put_text(&row, NULL);
	yq_row_put(&row, yq_hierarchy_resource(answer->requester.hierarchy, answer->sizes[refusal->request]), false);
	yq_row_put_text(&row, NULL);
	yq_row_put(&row, Int32GetDatum(request->priority), false);
	yq_row_put(&row, Int64GetDatum(request->allocation_request_id), false);
	put_opportunistic(&row);
	yq_row_put_text(&row, "opportunistic_limit");
	yq_row_put_text(&row, psprintf("%s %s", refusal->limit->scope, refusal->limit->name));
	tuplestore_putvalues(result->setResult, result->setDesc, row.values, row.nulls);
}

/* Add the decisions of the previous call that the application has not acknowledged yet. */
static void
return_last(ReturnSetInfo *result, const char *application_id)
{
	static YqSavedPlan look_up = {
		.command = "SELECT d.decision, d.container_id, d.application_id, d.queue, d.node, d.allocation, d.locality, d.priority, "
		"d.allocation_request_id, d.execution_type, NULL::text, NULL::text FROM yquota.decision AS d "
		"WHERE d.container_id = ANY ($1) AND d.decision = 'allocated' AND d.execution_type = 'OPPORTUNISTIC' ORDER BY d.decision_id",
		.types = {"_text"},
		.plans_once = true
	};
	Datum		ids[] = {yq_record_opportunistic_last(application_id)};
	uint64		count;

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	count = yq_saved_plan_run(&look_up, ids, NULL);
	for (uint64 i = 0; i < count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		tuplestore_puttuple(result->setResult, SPI_tuptable->vals[i]);
	}
	SPI_finish();
}

/*
 * allocate_opportunistic(application_id, requests, blacklist_additions, blacklist_removals, seed,
 *  response_id [, starts])
 */
Datum
yq_sql_allocate_opportunistic(PG_FUNCTION_ARGS)
{
	YqOpportunisticCall call = read_call(fcinfo);
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	YqAllocateRequest request = intercept(fcinfo, &call);
	YqOpportunisticAnswer answer;

	InitMaterializedSRF(fcinfo, 0);
	if (request.reason != NULL)
	{
		return_stop(result, call.application_id, NULL, request.reason, request.refused_by);
		return (Datum) 0;
	}
	read_request(&request, &call);
	answer = yq_allocate_opportunistic(&call);
	if (answer.is_repeated)
		return_last(result, call.application_id);
	if (answer.stop.rule != NULL)
		return_stop(result, answer.requester.application->application_id, answer.requester.queue->path, answer.stop.rule, answer.stop.at);
	for (int i = 0; i < answer.containers.count; i++)
		return_container(result, &answer, i);
	for (int i = 0; i < answer.refusals.count; i++)
		return_refusal(result, &answer, &answer.refusals.refusals[i]);
	if (!answer.is_repeated)
		release_left_out(&request, result);
	return (Datum) 0;
}
