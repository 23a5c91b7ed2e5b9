/*-------------------------------------------------------------------------
 *
 * distributed_sql.c
 *	  Functions that local schedulers of nodes need, see
 *	  sql/opportunistic/397_distributed_scheduling.sql.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "access/htup_details.h"
#include "admission/application/queue_lock.h"
#include "admission/configuration/config_refresh.h"
#include "base/arguments.h"
#include "catalog/pg_type_d.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "opportunistic/allocate_opportunistic.h"
#include "opportunistic/opportunistic_allocator.h"
#include "opportunistic/reported_nodes.h"
#include "scheduler/load/cluster_load.h"
#include "scheduler/load/loaded_cluster.h"
#include "scheduler/record/record_containers.h"
#include "scheduler/request/container_request.h"
#include "scheduler/request/request_interceptor.h"
#include "store/clock.h"
#include "utils/array.h"
#include "utils/tuplestore.h"

PG_FUNCTION_INFO_V1(yq_sql_allocate_distributed);
PG_FUNCTION_INFO_V1(yq_sql_container_id);
PG_FUNCTION_INFO_V1(yq_sql_count_distributed);
PG_FUNCTION_INFO_V1(yq_sql_is_distributed);
PG_FUNCTION_INFO_V1(yq_sql_latency_bounds);
PG_FUNCTION_INFO_V1(yq_sql_lock_for_containers);
PG_FUNCTION_INFO_V1(yq_sql_opportunistic_bounds);
PG_FUNCTION_INFO_V1(yq_sql_refresh_load_list);

/* container_id(application_id, attempt, number) */
Datum
yq_sql_container_id(PG_FUNCTION_ARGS)
{
	PG_RETURN_TEXT_P(yq_container_id(text_to_cstring(PG_GETARG_TEXT_PP(0)), PG_GETARG_INT32(1), PG_GETARG_INT64(2)));
}

/* latency_bounds() */
Datum
yq_sql_latency_bounds(PG_FUNCTION_ARGS)
{
	Datum		bounds[YQ_LATENCY_BOUND_COUNT];

	for (int i = 0; i < YQ_LATENCY_BOUND_COUNT; i++)
		bounds[i] = Int64GetDatum(yq_latency_bounds[i]);
	PG_RETURN_ARRAYTYPE_P(construct_array(bounds, YQ_LATENCY_BOUND_COUNT, INT8OID, sizeof(int64), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE));
}

static void
count_locality(YqOpportunisticCount *count, const char *locality)
{
	if (strcmp(locality, yq_locality_name(YQ_NODE_LOCAL)) == 0)
		count->node_local++;
	else if (strcmp(locality, yq_locality_name(YQ_RACK_LOCAL)) == 0)
		count->rack_local++;
	else if (strcmp(locality, yq_locality_name(YQ_OFF_SWITCH)) == 0)
		count->off_switch++;
}

/* count_distributed(localities, latencies): both arrays have one element for each container */
Datum
yq_sql_count_distributed(PG_FUNCTION_ARGS)
{
	YqOpportunisticCount count = {0};
	const char **localities;
	int			containers = yq_text_array(fcinfo, 0, "localities", &localities);
	Datum	   *latencies;
	int			latency_count;

	deconstruct_array(PG_GETARG_ARRAYTYPE_P(1), INT8OID, sizeof(int64), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE, &latencies, NULL, &latency_count);
	if (latency_count != containers)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("there must be as many latencies as localities")));
	for (int i = 0; i < containers; i++)
	{
		count_locality(&count, localities[i]);
		if (DatumGetInt64(latencies[i]) >= 0)
			yq_opportunistic_count_latency(&count, DatumGetInt64(latencies[i]), 1);
	}
	yq_opportunistic_count_write(&count);
	PG_RETURN_VOID();
}

/* is_distributed() */
Datum
yq_sql_is_distributed(PG_FUNCTION_ARGS)
{
	const YqAllocationSettings *settings = yq_allocation_settings();

	PG_RETURN_BOOL(settings->opportunistic_allocation_enabled && yq_allocation_is_distributed(settings));
}

/* refresh_load_list() */
Datum
yq_sql_refresh_load_list(PG_FUNCTION_ARGS)
{
	PreventCommandIfReadOnly("leases of nodes");
	(void) yq_load_list_refresh(yq_hierarchy_in_force(), yq_allocation_settings(), yq_clock_now(), false);
	PG_RETURN_VOID();
}

/* opportunistic_bounds(OUT minimum, OUT maximum, OUT increment) */
Datum
yq_sql_opportunistic_bounds(PG_FUNCTION_ARGS)
{
	const YqHierarchy *hierarchy = yq_hierarchy_in_force();
	YqContainerBounds bounds = yq_opportunistic_bounds(hierarchy, yq_allocation_settings());
	Datum		values[] = {
		yq_hierarchy_resource(hierarchy, bounds.minimum),
		yq_hierarchy_resource(hierarchy, bounds.maximum),
		yq_hierarchy_resource(hierarchy, bounds.increment)
	};
	bool		nulls[lengthof(values)] = {false};

	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(yq_result_descriptor(fcinfo), values, nulls)));
}

/* -- reports of local schedulers -------------------------------------------------- */

/* Find the applications that may request containers.  The element of any other application becomes NULL. */
static void
find_applications(const YqHierarchy *hierarchy, const char **ids, int count, YqApplication **applications)
{
	for (int i = 0; i < count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		applications[i] = yq_application_find(hierarchy, ids[i]);
		if (applications[i] != NULL &&
			(!yq_requester_may_ask(applications[i]) || yq_hierarchy_find(hierarchy, applications[i]->queue) == NULL))
			applications[i] = NULL;
	}
}

static bool
are_in_same_queues(YqApplication *const *before, YqApplication *const *after, int count)
{
	for (int i = 0; i < count; i++)
	{
		if (after[i] != NULL && (before[i] == NULL || strcmp(before[i]->queue, after[i]->queue) != 0))
			return false;
	}
	return true;
}

/*
 * Lock the leaves of the applications, in the common order of locks.  If an application moves
 * before its leaf is locked, the function starts again.
 */
static YqApplication **
lock_applications(const YqHierarchy *hierarchy, const char **ids, int count)
{
	YqApplication **before = palloc(sizeof(YqApplication *) * Max(count, 1));
	YqApplication **after = palloc(sizeof(YqApplication *) * Max(count, 1));

	for (;;)
	{
		YqQueueLocks locks = {NIL};

		CHECK_FOR_INTERRUPTS();
		find_applications(hierarchy, ids, count, before);
		for (int i = 0; i < count; i++)
		{
			if (before[i] != NULL)
				yq_queue_locks_add(&locks, YQ_LOCK_LEAF, before[i]->queue);
		}
		yq_queue_locks_take(&locks);
		find_applications(hierarchy, ids, count, after);
		if (are_in_same_queues(before, after, count))
			return after;
		yq_queue_locks_release(&locks);
	}
}

/* lock_for_containers(application_ids, payers) */
Datum
yq_sql_lock_for_containers(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	const YqHierarchy *hierarchy;
	const char **ids;
	const char **payers;
	int			count = yq_text_array(fcinfo, 0, "application_ids", &ids);
	YqApplication **applications;

	PreventCommandIfReadOnly("reports of containers");
	if (yq_text_array(fcinfo, 1, "payers", &payers) != count)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("application_ids and payers must have the same length")));
	InitMaterializedSRF(fcinfo, 0);
	yq_cluster_check_charging();
	yq_queue_lock_configuration(RowExclusiveLock);
	hierarchy = yq_hierarchy_in_force();
	applications = lock_applications(hierarchy, ids, count);
	for (int i = 0; i < count; i++)
	{
		YqRowBuilder row = {.count = 0};
		YqRequester requester = {.hierarchy = hierarchy,.application = applications[i]};
		YqOpportunisticStop stop = {NULL, NULL};

		CHECK_FOR_INTERRUPTS();
		if (applications[i] == NULL)
			continue;
		requester.queue = yq_hierarchy_find(hierarchy, applications[i]->queue);
		if (yq_allocation_settings()->opportunistic_allocation_enabled)
			stop = yq_opportunistic_stop(&requester, payers[i]);
		else
			stop.rule = YQ_OPPORTUNISTIC_NOT_ENABLED;
		yq_row_put_text(&row, ids[i]);
		yq_row_put_text(&row, stop.rule == NULL ? NULL : stop.at == NULL ? stop.rule : psprintf("%s: %s", stop.rule, stop.at));
		tuplestore_putvalues(result->setResult, result->setDesc, row.values, row.nulls);
	}
	return (Datum) 0;
}

/* -- the allocator of a local scheduler ---------------------------------------------- */

/*
 * The resource types named in a call.  No table is read, so the types get their numbers
 * in the order in which they are found.
 */
typedef struct Types
{
	YqCalculator calculator;
	const char *names[YQ_MAX_RESOURCE_TYPES];
} Types;

static int
find_type(Types *types, const YqResourceEntry *entry)
{
	for (int i = 0; i < types->calculator.types; i++)
	{
		if (strlen(types->names[i]) == (Size) entry->name_length && memcmp(types->names[i], entry->name, entry->name_length) == 0)
			return i;
	}
	if (types->calculator.types == YQ_MAX_RESOURCE_TYPES)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("there are more than %d resource types", YQ_MAX_RESOURCE_TYPES)));
	types->names[types->calculator.types] = pnstrdup(entry->name, entry->name_length);
	return types->calculator.types++;
}

/*
 * Read the amounts of a resource.  A new type gets the next number; amounts that were
 * read earlier count as 0 for this type.
 */
static int64 *
read_amounts(Types *types, const YqResource *resource)
{
	int64	   *amounts = palloc0(sizeof(int64) * YQ_MAX_RESOURCE_TYPES);
	YqResourceEntry entries[YQ_RESOURCE_MAX_ENTRIES];
	int			count = yq_resource_read(resource, entries);

	for (int i = 0; i < count; i++)
		amounts[find_type(types, &entries[i])] = entries[i].amount;
	return amounts;
}

static Datum
make_resource(const Types *types, const int64 *amounts)
{
	YqResourceEntry entries[YQ_MAX_RESOURCE_TYPES];

	for (int i = 0; i < types->calculator.types; i++)
		entries[i] = (YqResourceEntry) {.name = types->names[i],.name_length = strlen(types->names[i]),.amount = amounts[i]};
	return PointerGetDatum(yq_resource_make(entries, types->calculator.types));
}

/* Read a bound of container sizes.  If the argument is NULL, all amounts are set to "otherwise". */
static int64 *
read_bound(FunctionCallInfo fcinfo, int argument, Types *types, int64 otherwise)
{
	int64	   *amounts;

	if (!PG_ARGISNULL(argument))
		return read_amounts(types, (const YqResource *) PG_DETOAST_DATUM_PACKED(PG_GETARG_DATUM(argument)));
	amounts = palloc(sizeof(int64) * YQ_MAX_RESOURCE_TYPES);
	for (int i = 0; i < YQ_MAX_RESOURCE_TYPES; i++)
		amounts[i] = otherwise;
	return amounts;
}

/*
 * Add the requests for OPPORTUNISTIC containers.  Requests for GUARANTEED containers
 * are skipped, because the scheduler handles them.
 */
static void
add_requests(Datum array, const char *name, Types *types, YqOutstandingRequests *requests)
{
	HeapTupleHeader *rows;
	int			count = yq_rows_of_array(array, name, &rows);

	for (int i = 0; i < count; i++)
	{
		YqContainerRequest request = yq_container_request_of_row(rows[i]);
		YqOutstandingRequest ask = {
			.priority = request.priority,
			.allocation_request_id = request.allocation_request_id,
			.asked = read_amounts(types, request.allocation),
			.label = request.label,
			.expected_duration = request.expected_duration
		};

		if (request.count < 0)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("count of containers must not be negative")));
		if (request.is_guaranteed)
			continue;
		if (!yq_outstanding_request_add(requests, &types->calculator, &ask, request.resource_name, request.count))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("OPPORTUNISTIC containers of two sizes are requested with priority %d and allocation request id " INT64_FORMAT,
							request.priority, request.allocation_request_id)));
	}
}

/* Attributes of the composite type yquota.leased_node, in order. */
typedef enum NodeAttribute
{
	NODE_NAME,
	NODE_RACK,
	NODE_LABEL,
	NODE_ATTRIBUTES
} NodeAttribute;

static bool
is_among(const char *name, const char *const *names, int count)
{
	for (int i = 0; i < count; i++)
	{
		if (strcmp(names[i], name) == 0)
			return true;
	}
	return false;
}

static YqListedNode *
read_nodes(FunctionCallInfo fcinfo, const char *const *blacklist, int blacklist_count, int *count)
{
	HeapTupleHeader *rows;
	YqListedNode *nodes;

	*count = yq_row_array(fcinfo, 0, "nodes", &rows);
	nodes = palloc(sizeof(YqListedNode) * Max(*count, 1));
	for (int i = 0; i < *count; i++)
	{
		Datum		values[NODE_ATTRIBUTES];
		bool		nulls[NODE_ATTRIBUTES];

		yq_row_attributes(rows[i], NODE_ATTRIBUTES, values, nulls);
		yq_require_value(nulls[NODE_NAME], "node");
		nodes[i].name = TextDatumGetCString(values[NODE_NAME]);
		nodes[i].rack = nulls[NODE_RACK] ? "" : TextDatumGetCString(values[NODE_RACK]);
		nodes[i].label = nulls[NODE_LABEL] ? "" : TextDatumGetCString(values[NODE_LABEL]);
		nodes[i].is_blacklisted = is_among(nodes[i].name, blacklist, blacklist_count);
	}
	return nodes;
}

/* Add a row to the result.  The row of an allocated container has the count 1. */
static void
put_row(ReturnSetInfo *result, const char *outcome, const YqOutstandingRequest *request, const char *node, const char *locality,
		const char *resource_name, Datum allocation, int32 count)
{
	YqRowBuilder row = {.count = 0};

	yq_row_put_text(&row, outcome);
	yq_row_put_text(&row, node);
	yq_row_put_text(&row, locality);
	yq_row_put_text(&row, resource_name);
	yq_row_put(&row, allocation, false);
	yq_row_put(&row, Int32GetDatum(count), false);
	yq_row_put(&row, Int32GetDatum(request->priority), false);
	yq_row_put(&row, Int64GetDatum(request->allocation_request_id), false);
	yq_row_put_text(&row, request->label);
	yq_row_put(&row, yq_expected_duration_interval(request->expected_duration), request->expected_duration == 0);
	yq_row_put_text(&row, NULL);
	yq_row_put_text(&row, NULL);
	tuplestore_putvalues(result->setResult, result->setDesc, row.values, row.nulls);
}

static void
put_refusal(ReturnSetInfo *result, const YqAllocateRequest *refused)
{
	YqRowBuilder row = {.count = 0};

	yq_row_put_text(&row, "refused");
	for (int i = 0; i < 9; i++)
		yq_row_put(&row, (Datum) 0, true);
	yq_row_put_text(&row, refused->reason);
	yq_row_put_text(&row, refused->refused_by);
	tuplestore_putvalues(result->setResult, result->setDesc, row.values, row.nulls);
}

static void
return_places(ReturnSetInfo *result, const YqOutstandingRequest *request, const YqWantedPlaces *wanted, Datum asked)
{
	for (int i = 0; i < wanted->count; i++)
		put_row(result, "outstanding", request, NULL, NULL, wanted->places[i].name, asked, wanted->places[i].count);
}

static void
return_outstanding(ReturnSetInfo *result, const Types *types, const YqOutstandingRequests *requests)
{
	for (int i = 0; i < requests->count; i++)
	{
		const YqOutstandingRequest *request = &requests->requests[i];
		Datum		asked = make_resource(types, request->asked);

		if (request->count == 0)
			continue;
		put_row(result, "outstanding", request, NULL, NULL, YQ_ANYWHERE_NAME, asked, request->count);
		return_places(result, request, &request->hosts, asked);
		return_places(result, request, &request->racks, asked);
	}
}

/* allocate_distributed(nodes, requests, outstanding, blacklist, max_containers, minimum, maximum, increment) */
Datum
yq_sql_allocate_distributed(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	Types		types = {.calculator = {.is_dominant = true}};
	YqOutstandingRequests requests = {NULL, 0};
	YqOpportunisticContainers containers;
	YqContainerBounds bounds;
	const char **blacklist;
	int			blacklist_count = yq_text_array(fcinfo, 3, "blacklist", &blacklist);
	int			node_count;
	YqListedNode *nodes = read_nodes(fcinfo, blacklist, blacklist_count, &node_count);
	int64	   *size = palloc0(sizeof(int64) * YQ_MAX_RESOURCE_TYPES);
	YqAllocateRequest request = {.function = "allocate_distributed"};

	yq_require_value(PG_ARGISNULL(2), "outstanding");
	yq_require_value(PG_ARGISNULL(1), "requests");
	InitMaterializedSRF(fcinfo, 0);
	add_requests(PG_GETARG_DATUM(2), "outstanding", &types, &requests);
	request.parts[YQ_PART_REQUESTS] = PG_GETARG_DATUM(1);
	yq_request_intercept(&request);
	if (request.reason != NULL)
	{
		put_refusal(result, &request);
		return_outstanding(result, &types, &requests);
		return (Datum) 0;
	}
	add_requests(request.parts[YQ_PART_REQUESTS], "requests", &types, &requests);
	bounds.minimum = read_bound(fcinfo, 5, &types, 0);
	bounds.maximum = read_bound(fcinfo, 6, &types, PG_INT64_MAX);
	bounds.increment = read_bound(fcinfo, 7, &types, 0);
	containers = yq_distributed_allocator_run(&requests, nodes, node_count, PG_ARGISNULL(4) ? -1 : PG_GETARG_INT32(4));
	for (int i = 0; i < containers.count; i++)
	{
		const YqOpportunisticContainer *container = &containers.containers[i];
		const YqOutstandingRequest *served = &requests.requests[container->request];

		yq_outstanding_request_size(&types.calculator, size, served->asked, &bounds);
		put_row(result, "allocated", served, container->node, yq_locality_name(container->locality),
				container->place == NULL ? YQ_ANYWHERE_NAME : container->place, make_resource(&types, size), 1);
	}
	return_outstanding(result, &types, &requests);
	(void) yq_response_intercept(&request, result);
	return (Datum) 0;
}
