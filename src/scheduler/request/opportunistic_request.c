/*-------------------------------------------------------------------------
 *
 * opportunistic_request.c
 *	  Requests for OPPORTUNISTIC containers.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "admission/submission/request.h"
#include "queues/allocation_setting.h"
#include "queues/hierarchy.h"
#include "scheduler/request/expected_duration.h"
#include "scheduler/request/opportunistic_request.h"
#include "store/clock.h"
#include "store/saved_plan.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#define KEY_OF_ENTRY(alias) \
	alias ".application_id = $1 AND " alias ".priority = $2 AND " alias ".allocation_request_id = $3 " \
	"AND " alias ".execution_type = 'OPPORTUNISTIC' "

/* Parameters of all statements. */
typedef enum Parameter
{
	PARAMETER_APPLICATION_ID,
	PARAMETER_PRIORITY,
	PARAMETER_ALLOCATION_REQUEST_ID,
	PARAMETER_RESOURCE_NAME,
	PARAMETER_COUNT,
	PARAMETER_ALLOCATION,
	PARAMETER_RELAX_LOCALITY,
	PARAMETER_LABEL,
	PARAMETER_NOW,
	PARAMETER_EXPECTED_DURATION,
	PARAMETERS
} Parameter;

#define PARAMETER_TYPES {"text", "int4", "int8", "text", "int4", "yquota.resource", "bool", "text", "timestamptz", "interval"}

static bool
is_unmanaged(const char *application_id)
{
	static YqSavedPlan look_up = {
		.command = "SELECT FROM yquota.application AS a WHERE a.application_id = $1 AND a.unmanaged",
		.types = {"text"}
	};
	Datum		values[] = {CStringGetTextDatum(application_id)};

	return yq_saved_plan_execute(&look_up, values, NULL) > 0;
}

/* As the proxy of an application master's node forces it. */
static void
check_is_central(const char *application_id)
{
	if (yq_allocation_is_distributed(yq_allocation_settings()) && !is_unmanaged(application_id))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("application \"%s\" cannot ask for OPPORTUNISTIC containers here", application_id),
				 errdetail("Properties yarn.nodemanager.distributed-scheduling.enabled and yarn.nodemanager.amrmproxy.enabled are true."),
				 errhint("The local scheduler of the application master's node decides, by lease_nodes() and report_distributed_containers().")));
}

void
yq_opportunistic_request_check_enabled(const char *application_id)
{
	if (!yq_allocation_settings()->opportunistic_allocation_enabled)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("application \"%s\" cannot ask for OPPORTUNISTIC containers", application_id),
				 errdetail("Property yarn.resourcemanager.opportunistic-container-allocation.enabled is false."),
				 errhint("It is opportunistic_allocation_enabled of yquota.scheduler_setting.")));
	check_is_central(application_id);
}

/* -- the entry ----------------------------------------------------------------------- */

/* What is not wanted any more gives way to another size.  False: it is wanted. */
static bool
drop_other_size(Datum *values)
{
	static YqSavedPlan drop = {
		.command = "DELETE FROM yquota.resource_request AS r WHERE " KEY_OF_ENTRY("r")
		"AND EXISTS (SELECT FROM yquota.resource_request AS anywhere WHERE " KEY_OF_ENTRY("anywhere")
		"AND anywhere.resource_name = '*' AND anywhere.count = 0)",
		.types = PARAMETER_TYPES
	};

	return yq_saved_plan_execute(&drop, values, NULL) > 0;
}

/* An entry that is there keeps its count unless the request is for *.  False: it has another size. */
static bool
write_entry(Datum *values)
{
	static YqSavedPlan upsert = {
		.command = "INSERT INTO yquota.resource_request AS r (application_id, priority, allocation_request_id, resource_name, "
		"count, allocation, relax_locality, label, execution_type, first_seen_at, expected_duration) "
		"VALUES ($1, $2, $3, '*', $5, $6, $7, $8, 'OPPORTUNISTIC', $9, NULLIF($10, '0')) "
		"ON CONFLICT (application_id, priority, allocation_request_id, execution_type, resource_name) DO UPDATE "
		"SET count = CASE WHEN $4 = '*' THEN excluded.count ELSE r.count END, "
		"relax_locality = CASE WHEN $4 = '*' THEN excluded.relax_locality ELSE r.relax_locality END, "
		"label = CASE WHEN $4 = '*' THEN excluded.label ELSE r.label END, "
		"expected_duration = CASE WHEN $4 = '*' THEN excluded.expected_duration ELSE r.expected_duration END "
		"WHERE r.allocation OPERATOR(yquota.=) excluded.allocation",
		.types = PARAMETER_TYPES
	};

	return yq_saved_plan_execute(&upsert, values, NULL) > 0;
}

static void
refuse_size(const YqRequester *requester, const YqContainerRequest *request)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("OPPORTUNISTIC containers with one priority and allocation_request_id have one size"),
			 errdetail("Application \"%s\" waits for containers of another size with priority %d and allocation_request_id " INT64_FORMAT ".",
					   requester->application->application_id, request->priority, request->allocation_request_id),
			 errhint("Ask for them with another allocation_request_id.")));
}

/* -- nodes and racks ------------------------------------------------------------------ */

static void
write_place(Datum *values)
{
	static YqSavedPlan upsert = {
		.command = "INSERT INTO yquota.resource_request AS r (application_id, priority, allocation_request_id, resource_name, "
		"count, allocation, relax_locality, execution_type, first_seen_at) "
		"VALUES ($1, $2, $3, $4, $5, $6, $7, 'OPPORTUNISTIC', $9) "
		"ON CONFLICT (application_id, priority, allocation_request_id, execution_type, resource_name) DO UPDATE "
		"SET count = excluded.count, relax_locality = excluded.relax_locality",
		.types = PARAMETER_TYPES
	};

	(void) yq_saved_plan_execute(&upsert, values, NULL);
}

static void
drop_place(Datum *values)
{
	static YqSavedPlan drop = {
		.command = "DELETE FROM yquota.resource_request AS r WHERE " KEY_OF_ENTRY("r") "AND r.resource_name = $4",
		.types = PARAMETER_TYPES
	};

	(void) yq_saved_plan_execute(&drop, values, NULL);
}

/* -- requests ------------------------------------------------------------------------- */

static Datum
asked_allocation(const YqRequester *requester, const YqContainerRequest *request)
{
	const YqHierarchy *hierarchy = requester->hierarchy;
	int64	   *amounts = yq_hierarchy_amounts(hierarchy);
	int64	   *unlimited = yq_hierarchy_amounts(hierarchy);
	YqVerdict	verdict = {.decided_by = NULL};

	for (int i = 0; i < hierarchy->calculator.types; i++)
		unlimited[i] = PG_INT64_MAX;
	if (!yq_request_read(hierarchy, requester->queue, request->allocation, amounts, &verdict) ||
		!yq_request_check(hierarchy, requester->queue, amounts, unlimited, &verdict))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg_internal("%s", verdict.reason)));
	return yq_hierarchy_resource(hierarchy, amounts);
}

void
yq_opportunistic_request_merge(const YqRequester *requester, const YqContainerRequest *request)
{
	Datum		values[PARAMETERS];

	values[PARAMETER_APPLICATION_ID] = CStringGetTextDatum(requester->application->application_id);
	values[PARAMETER_PRIORITY] = Int32GetDatum(request->priority);
	values[PARAMETER_ALLOCATION_REQUEST_ID] = Int64GetDatum(request->allocation_request_id);
	values[PARAMETER_RESOURCE_NAME] = CStringGetTextDatum(request->resource_name);
	values[PARAMETER_COUNT] = Int32GetDatum(request->count);
	values[PARAMETER_ALLOCATION] = asked_allocation(requester, request);
	values[PARAMETER_RELAX_LOCALITY] = BoolGetDatum(request->relaxes_locality);
	values[PARAMETER_LABEL] = CStringGetTextDatum(request->label == NULL ? "" : request->label);
	values[PARAMETER_NOW] = TimestampTzGetDatum(yq_clock_now());
	values[PARAMETER_EXPECTED_DURATION] = yq_expected_duration_interval(request->expected_duration);

	if (!write_entry(values) && !(drop_other_size(values) && write_entry(values)))
		refuse_size(requester, request);
	if (strcmp(request->resource_name, YQ_ANYWHERE_NAME) == 0)
		return;
	if (request->count > 0)
		write_place(values);
	else
		drop_place(values);
}
