/*-------------------------------------------------------------------------
 *
 * allocate_opportunistic.c
 *	  Allocates opportunistic containers to an application, centrally.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "admission/application/project_credit.h"
#include "admission/submission/request.h"
#include "base/settings.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "opportunistic/allocate_opportunistic.h"
#include "opportunistic/record_opportunistic.h"
#include "opportunistic/sharing_limit.h"
#include "queues/text.h"
#include "scheduler/load/cluster_load.h"
#include "scheduler/request/container_request.h"
#include "store/catalog.h"
#include "store/clock.h"
#include "store/saved_plan.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

/* -- opportunistic rule -------------------------------------------------------- */

/* Decide whether an application may have OPPORTUNISTIC containers. */

YqOpportunisticStop
yq_opportunistic_stop(const YqRequester *requester, const char *project)
{
	const YqQueue *queue = requester->queue;
	YqProjectCredit credit;

	do
	{
		if (!queue->is_running)
			return (YqOpportunisticStop) {"queue state", queue->path};
		queue = queue->parent;
	} while (queue != NULL);
	credit = yq_project_credit(project, requester->application->application_id, requester->queue->path, YQ_CREDIT_FOR_CONTAINERS);
	/* if no project pays, charging would refuse the container */
	if (!credit.is_known && !yq_auto_create_project)
		return (YqOpportunisticStop) {"project", project};
	if (!credit.suffices)
		return (YqOpportunisticStop) {"project_quota", credit.limited_by};
	return (YqOpportunisticStop) {NULL, NULL};
}

/* -- allocate opportunistic ---------------------------------------------------- */

/* -- the application ------------------------------------------------------------ */

/* Columns that the statement returns, counted from 1. */
enum
{
	APPLICATION_PROJECT = 1,
	APPLICATION_ATTEMPT,
	APPLICATION_NEXT_CONTAINER,
	APPLICATION_UNMANAGED
};

/* Read the application, but not its requests.  The strings are allocated in the caller's memory context. */
static YqOpportunisticApplication
read_opportunistic_application(const YqRequester *requester)
{
	static YqSavedPlan look_up = {
		.command = "SELECT a.project, coalesce(a.attempt, 1), coalesce(a.next_container, 1), a.unmanaged "
		"FROM yquota_internal.application_attempt_state AS a WHERE a.application_id = $1",
		.types = {"text"}
	};
	Datum		values[] = {CStringGetTextDatum(requester->application->application_id)};
	YqOpportunisticApplication application = {.requester = *requester};
	char	   *project;
	bool		isnull;

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	(void) yq_saved_plan_run(&look_up, values, NULL);
	project = SPI_getvalue(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, APPLICATION_PROJECT);
	application.project = strcpy(SPI_palloc(strlen(project) + 1), project);
	application.attempt = DatumGetInt32(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, APPLICATION_ATTEMPT, &isnull));
	application.next_container = DatumGetInt64(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, APPLICATION_NEXT_CONTAINER, &isnull));
	application.is_unmanaged = DatumGetBool(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, APPLICATION_UNMANAGED, &isnull));
	SPI_finish();
	return application;
}

enum
{
	REQUEST_PRIORITY = 1,
	REQUEST_ALLOCATION_REQUEST_ID,
	REQUEST_RESOURCE_NAME,
	REQUEST_COUNT,
	REQUEST_ALLOCATION,
	REQUEST_LABEL,
	REQUEST_FIRST_SEEN_AT,
	REQUEST_EXPECTED_DURATION
};

/*
 * Read the requests for OPPORTUNISTIC containers.  Requests with the same key have a
 * row for each resource name.  The row for any node comes first, because it has the
 * total number of wanted containers.
 */
static YqOutstandingRequests
read_requests(const YqRequester *requester)
{
	static YqSavedPlan look_up = {
		.command = "SELECT r.priority, r.allocation_request_id, r.resource_name::text, r.count, r.allocation, r.label::text, r.first_seen_at, r.expected_duration "
		"FROM yquota.resource_request AS r WHERE r.application_id = $1 AND r.execution_type = 'OPPORTUNISTIC' "
		"ORDER BY r.priority, r.allocation_request_id, r.resource_name = '*' DESC, r.resource_name",
		.types = {"text"}
	};
	Datum		values[] = {CStringGetTextDatum(requester->application->application_id)};
	YqOutstandingRequests requests = {NULL, 0};
	MemoryContext caller = CurrentMemoryContext;
	uint64		count;

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	count = yq_saved_plan_run(&look_up, values, NULL);
	for (uint64 i = 0; i < count; i++)
	{
		HeapTuple	row = SPI_tuptable->vals[i];
		TupleDesc	columns = SPI_tuptable->tupdesc;
		MemoryContext spi = MemoryContextSwitchTo(caller);
		YqOutstandingRequest ask = {0};
		Datum		label;
		Datum		duration;
		bool		isnull;

		CHECK_FOR_INTERRUPTS();
		ask.priority = DatumGetInt32(SPI_getbinval(row, columns, REQUEST_PRIORITY, &isnull));
		ask.allocation_request_id = DatumGetInt64(SPI_getbinval(row, columns, REQUEST_ALLOCATION_REQUEST_ID, &isnull));
		ask.asked = yq_hierarchy_read_amounts(requester->hierarchy, SPI_getbinval(row, columns, REQUEST_ALLOCATION, &isnull));
		ask.first_seen_at = DatumGetTimestampTz(SPI_getbinval(row, columns, REQUEST_FIRST_SEEN_AT, &isnull));
		label = SPI_getbinval(row, columns, REQUEST_LABEL, &isnull);
		ask.label = isnull ? "" : TextDatumGetCString(label);
		duration = SPI_getbinval(row, columns, REQUEST_EXPECTED_DURATION, &isnull);
		if (!isnull)
			ask.expected_duration = yq_expected_duration_read(duration);
		(void) yq_outstanding_request_add(&requests, &requester->hierarchy->calculator, &ask,
											TextDatumGetCString(SPI_getbinval(row, columns, REQUEST_RESOURCE_NAME, &isnull)),
											DatumGetInt32(SPI_getbinval(row, columns, REQUEST_COUNT, &isnull)));
		MemoryContextSwitchTo(spi);
	}
	SPI_finish();
	return requests;
}

static int
compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *) a, *(const char *const *) b);
}

static int
read_blacklist(const YqRequester *requester, const char ***names)
{
	static YqSavedPlan look_up = {
		.command = "SELECT b.resource_name::text FROM yquota.blacklist AS b WHERE b.application_id = $1",
		.types = {"text"}
	};
	Datum		values[] = {CStringGetTextDatum(requester->application->application_id)};
	const List *found = yq_table_has_no_pages(YQ_BLACKLIST) ? NIL : yq_saved_plan_strings(&look_up, values);
	const ListCell *cell;
	int			count = 0;

	*names = palloc(sizeof(char *) * Max(list_length(found), 1));
	foreach(cell, found)
		(*names)[count++] = lfirst(cell);
	qsort(*names, count, sizeof(char *), compare_names);
	return count;
}

/* -- whether the application may have containers ----------------------------------- */

static YqOpportunisticStop
find_stop(const YqOpportunisticApplication *application, const YqAllocationSettings *settings)
{
	if (!settings->opportunistic_allocation_enabled)
		return (YqOpportunisticStop) {YQ_OPPORTUNISTIC_NOT_ENABLED, NULL};
	if (yq_allocation_is_distributed(settings) && !application->is_unmanaged)
		return (YqOpportunisticStop) {"distributed scheduling", NULL};
	return yq_opportunistic_stop(&application->requester, application->project);
}

/* -- sizes of containers ------------------------------------------------------------ */

static int64
bound_of(int type, int32 memory, int32 vcores, int64 otherwise)
{
	int32		own = type == YQ_MEMORY ? memory : type == YQ_VCORES ? vcores : -1;

	return own >= 0 ? own : otherwise;
}

YqContainerBounds
yq_opportunistic_bounds(const YqHierarchy *hierarchy, const YqAllocationSettings *settings)
{
	const int64 *lowest = hierarchy->settings.minimum_allocation;
	const int64 *highest = hierarchy->settings.maximum_allocation;
	YqContainerBounds bounds = {
		yq_hierarchy_amounts(hierarchy), yq_hierarchy_amounts(hierarchy), yq_hierarchy_amounts(hierarchy)
	};

	for (int i = 0; i < hierarchy->calculator.types; i++)
	{
		bounds.minimum[i] = bound_of(i, settings->memory.minimum, settings->vcores.minimum, lowest[i]);
		/* amounts must not exceed the limit of charging, because running containers are charged */
		bounds.maximum[i] = Min(bound_of(i, settings->memory.maximum, settings->vcores.maximum, highest[i]), YQ_ALLOCATION_MAX_AMOUNT);
		bounds.increment[i] = bound_of(i, settings->memory.increment, settings->vcores.increment, lowest[i]);
	}
	return bounds;
}

/* Compute, for each request, the size of one of its containers. */
static int64 **
make_sizes(const YqHierarchy *hierarchy, const YqAllocationSettings *settings, const YqOutstandingRequests *requests)
{
	YqContainerBounds bounds = yq_opportunistic_bounds(hierarchy, settings);
	int64	  **sizes = palloc(sizeof(int64 *) * Max(requests->count, 1));

	for (int i = 0; i < requests->count; i++)
	{
		sizes[i] = yq_hierarchy_amounts(hierarchy);
		yq_outstanding_request_size(&hierarchy->calculator, sizes[i], requests->requests[i].asked, &bounds);
	}
	return sizes;
}

/* Make the value of yquota.resource for each container. */
static Datum *
make_allocations(const YqOpportunisticAnswer *answer)
{
	const YqOpportunisticContainers *containers = &answer->containers;
	Datum	   *of_requests = palloc0(sizeof(Datum) * Max(answer->requests.count, 1));
	Datum	   *allocations = palloc(sizeof(Datum) * Max(containers->count, 1));

	for (int i = 0; i < containers->count; i++)
	{
		int			request = containers->containers[i].request;

		if (of_requests[request] == 0)
			of_requests[request] = yq_hierarchy_resource(answer->requester.hierarchy, answer->sizes[request]);
		allocations[i] = of_requests[request];
	}
	return allocations;
}

/* -- all ---------------------------------------------------------------------------- */

/*
 * Choose containers and take slots on their nodes.  If the call needs a lock for which
 * it must not wait, it releases its locks and takes all of them in order.  Then it
 * decides again.
 */
static YqOpportunisticContainers
choose(const YqOpportunisticCall *call, const YqHierarchy *hierarchy, const YqAllocationSettings *settings,
	   const YqLoadList *list, const YqCentralAllocation *allocation, YqSharingRefusals *refusals)
{
	YqSlotLocks locks = {.has_missed = false};

	if (settings->anywhere_by_turns)
		yq_slot_lock_turn();
	for (;;)
	{
		YqReportedNodes *nodes = yq_reported_nodes_open(hierarchy, settings, list, &call->order, &locks);
		YqOpportunisticContainers containers = yq_central_allocator_run(allocation, yq_reported_nodes_choice(nodes), refusals);

		if (yq_reported_nodes_close(nodes))
			return containers;
		yq_slot_locks_take_missed(&locks);
	}
}

static void
decide(const YqOpportunisticCall *call, YqOpportunisticAnswer *answer, const YqAllocationSettings *settings)
{
	const YqHierarchy *hierarchy = answer->requester.hierarchy;
	YqSharingLimits limits = yq_sharing_limits_load(&answer->requester);
	YqCentralAllocation allocation = {
		.requests = &answer->requests,
		.most = settings->most_per_heartbeat,
		.ignores_places = settings->ignores_places,
		.limits = &limits,
		.sizes = answer->sizes
	};
	YqLoadList	list = yq_load_list_refresh(hierarchy, settings, yq_clock_now(), true);

	allocation.blacklist_count = read_blacklist(&answer->requester, &allocation.blacklist);
	answer->containers = choose(call, hierarchy, settings, &list, &allocation, &answer->refusals);
	yq_outstanding_request_serve(&answer->requests, &answer->containers, 0);
}

static void
allocate(const YqOpportunisticCall *call, YqOpportunisticAnswer *answer)
{
	YqOpportunisticApplication application = read_opportunistic_application(&answer->requester);
	int64		first = application.next_container;
	const YqAllocationSettings *settings = yq_allocation_settings();

	answer->requests = read_requests(&answer->requester);
	answer->sizes = make_sizes(answer->requester.hierarchy, settings, &answer->requests);
	if (answer->requests.count > 0)
		answer->stop = find_stop(&application, settings);
	if (answer->requests.count > 0 && answer->stop.rule == NULL)
		decide(call, answer, settings);
	answer->allocations = make_allocations(answer);
	answer->container_ids = yq_record_opportunistic(&application, &answer->requests, &answer->containers, answer->allocations);
	if (call->has_response_id)
		yq_record_opportunistic_response(&application, call->response_id, first);
}

/* Record the requests and the blacklist in the tables that the scheduler also reads. */
static void
note_requests(const YqOpportunisticCall *call)
{
	if (call->removal_count > 0)
		yq_blacklist_update(call->application_id, NULL, 0, call->blacklist_removals, call->removal_count);
	if (call->addition_count > 0)
		yq_blacklist_update(call->application_id, call->blacklist_additions, call->addition_count, NULL, 0);
	if (call->request_count > 0)
		(void) yq_container_request(call->application_id, call->requests, call->request_count);
}

static bool
needs_scheduler(const YqOpportunisticCall *call)
{
	for (int i = 0; i < call->request_count; i++)
	{
		if (call->requests[i].is_guaranteed)
			return true;
	}
	return call->removal_count > 0 || call->addition_count > 0;
}

YqOpportunisticAnswer
yq_allocate_opportunistic(const YqOpportunisticCall *call)
{
	YqOpportunisticAnswer answer = {.is_repeated = false};

	yq_cluster_check_charging();
	if (needs_scheduler(call))
		(void) yq_requester_lock(call->application_id);
	else
		(void) yq_requester_lock_leaf(call->application_id);
	answer.is_repeated = call->has_response_id && yq_record_opportunistic_is_last(call->application_id, call->response_id);
	if (answer.is_repeated)
		return answer;
	note_requests(call);
	/* look the application up again, because recording the requests may have rebuilt the hierarchy */
	answer.requester = yq_requester_lock_leaf(call->application_id);
	allocate(call, &answer);
	return answer;
}
