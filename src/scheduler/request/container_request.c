/*-------------------------------------------------------------------------
 *
 * container_request.c
 *	  Requests of application masters, for GUARANTEED and for OPPORTUNISTIC containers.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "admission/application/queue_lock.h"
#include "admission/configuration/config_refresh.h"
#include "admission/submission/application_change.h"
#include "admission/submission/request.h"
#include "admission/submission/submission.h"
#include "base/arguments.h"
#include "common/int.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "queues/allocation_setting.h"
#include "queues/hierarchy.h"
#include "scheduler/record/record_applications.h"
#include "scheduler/record/scheduler_journal.h"
#include "scheduler/request/container_request.h"
#include "store/catalog.h"
#include "store/clock.h"
#include "store/saved_plan.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

/* -- expected duration --------------------------------------------------------- */

/* Reads how long an application master expects OPPORTUNISTIC containers to run. */

#define MAX_DURATION (INT64CONST(36500) * USECS_PER_DAY)

int64
yq_expected_duration_read(Datum interval)
{
	const Interval *given = DatumGetIntervalP(interval);
	int64		days = (int64) given->month * DAYS_PER_MONTH + given->day;
	int64		duration;

	if (pg_mul_s64_overflow(days, USECS_PER_DAY, &duration) || pg_add_s64_overflow(duration, given->time, &duration) ||
		duration <= 0 || duration > MAX_DURATION)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("expected_duration of a container must be more than 0 and at most 36500 days")));
	return duration;
}

Datum
yq_expected_duration_interval(int64 duration)
{
	Interval   *interval = palloc0(sizeof(Interval));

	interval->day = (int32) (duration / USECS_PER_DAY);
	interval->time = duration % USECS_PER_DAY;
	return IntervalPGetDatum(interval);
}

/* -- opportunistic request ----------------------------------------------------- */

/*
 * Merges requests for OPPORTUNISTIC containers.
 *
 * The rows of an application with one priority and allocation request id form an entry.  Its
 * row for * has the number of wanted containers.  Its rows for nodes and racks say where they
 * are wanted.
 */

#define KEY_OF_ENTRY(alias) \
	alias ".application_id = $1 AND " alias ".priority = $2 AND " alias ".allocation_request_id = $3 " \
	"AND " alias ".execution_type = 'OPPORTUNISTIC' "

/* Parameters that all statements have. */
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

/*
 * Check that the call does not bypass a local scheduler.  In YARN, the proxy on the
 * application master's node ensures this.
 */
static void
check_is_central(const char *application_id)
{
	if (yq_allocation_is_distributed(yq_allocation_settings()) && !is_unmanaged(application_id))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("application \"%s\" cannot ask for OPPORTUNISTIC containers here", application_id),
				 errdetail("Properties yarn.nodemanager.distributed-scheduling.enabled and yarn.nodemanager.amrmproxy.enabled are true."),
				 errhint("The local scheduler of the application master's node must call lease_nodes() and report_distributed_containers().")));
}

/*
 * Check that OPPORTUNISTIC containers can be requested here.
 * ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE names the property that turns them off, or that
 * leaves their allocation to the local schedulers of nodes.
 */
static void
opportunistic_request_check_enabled(const char *application_id)
{
	if (!yq_allocation_settings()->opportunistic_allocation_enabled)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("application \"%s\" cannot ask for OPPORTUNISTIC containers", application_id),
				 errdetail("Property yarn.resourcemanager.opportunistic-container-allocation.enabled is false."),
				 errhint("Set opportunistic_allocation_enabled in yquota.scheduler_setting.")));
	check_is_central(application_id);
}

/* -- the entry ----------------------------------------------------------------------- */

/* Delete an entry of another size if it wants no more containers.  Returns false if it still wants some. */
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

/*
 * Write the row for * of an entry.  The count of an existing entry changes only if the
 * request is for *.  Returns false if there is an entry of another size.
 */
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
			 errmsg("OPPORTUNISTIC containers with one priority and allocation_request_id must have one size"),
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

/*
 * Merge a request; its name and count have been checked.  A request for * sets the count of
 * its entry.  A request for a node or a rack sets the count of that node or rack, and
 * removes it if the count is 0.  The request that creates an entry also sets the entry's
 * count, even if it is not for *.  The label is stored without a check, because no
 * allocation uses it.
 *
 * Raises ERRCODE_INVALID_PARAMETER_VALUE for an unknown resource type and for an amount
 * below 0.  Also raises it if an entry of another size still has wanted containers.  An
 * entry with count 0 is replaced.  The caller holds the lock of the application's leaf, and
 * may hold the lock of cycles.
 */
static void
opportunistic_request_merge(const YqRequester *requester, const YqContainerRequest *request)
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

/* -- container request --------------------------------------------------------- */

/* Largest length of names in the columns of yquota.resource_request. */
#define NAME_MAX_BYTES 255

/* -- the requesting application -------------------------------------------- */

/*
 * Does the application have its master?  A managed application cannot request containers
 * before the container of its master has been allocated.
 */
static bool
has_master(const char *application_id)
{
	static YqSavedPlan look_up = {
		.command = "SELECT FROM yquota.application AS a "
		"WHERE a.application_id = $1 AND (a.unmanaged OR EXISTS ("
		"SELECT FROM yquota_internal.application_attempt AS t "
		"WHERE t.application_id = a.application_id AND t.am_container_id IS NOT NULL))",
		.types = {"text"}
	};
	Datum		values[] = {CStringGetTextDatum(application_id)};

	return yq_saved_plan_execute(&look_up, values, NULL) > 0;
}

/*
 * May the application request containers?  An application that was moved may have to wait
 * in its new queue until there is room for its master.  Its master still runs, and may
 * still request containers (CapacityScheduler.allocate()).  The requests are served when
 * the application is ACTIVE again.
 */
bool
yq_requester_may_ask(const YqApplication *application)
{
	return application->state == YQ_APPLICATION_ACTIVE ||
		(application->state == YQ_APPLICATION_ACCEPTED && has_master(application->application_id));
}

static const YqApplication *
find_requester(const YqHierarchy *hierarchy, const char *application_id)
{
	const YqApplication *application = yq_application_find(hierarchy, application_id);

	if (application == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("application \"%s\" does not exist", application_id)));
	if (!yq_requester_may_ask(application))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("application \"%s\" cannot ask for containers", application_id),
				 errdetail("The application is %s. It must be ACTIVE, or ACCEPTED with a running application master.",
						   yq_application_state_name(application->state))));
	return application;
}

YqRequester
yq_requester_lock_leaf(const char *application_id)
{
	YqRequester requester;

	PreventCommandIfReadOnly("changes of requests");
	yq_queue_lock_configuration(RowExclusiveLock);
	requester.hierarchy = yq_hierarchy_in_force();
	requester.application = find_requester(requester.hierarchy, application_id);
	for (;;)
	{
		const char *locked = requester.application->queue;
		YqQueueLocks locks = {NIL};

		CHECK_FOR_INTERRUPTS();
		yq_queue_locks_add(&locks, YQ_LOCK_LEAF, locked);
		yq_queue_locks_take(&locks);
		requester.application = find_requester(requester.hierarchy, application_id);
		if (strcmp(requester.application->queue, locked) == 0)
			break;
		yq_queue_locks_release(&locks);
	}
	requester.queue = yq_hierarchy_find(requester.hierarchy, requester.application->queue);
	if (requester.queue == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("queue \"%s\" of application \"%s\" no longer exists",
						requester.application->queue, application_id)));
	return requester;
}

YqRequester
yq_requester_lock(const char *application_id)
{
	PreventCommandIfReadOnly("changes of requests");
	yq_scheduler_lock(ShareLock);
	return yq_requester_lock_leaf(application_id);
}

static void
check_master(const char *application_id)
{
	if (!has_master(application_id))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("application \"%s\" cannot ask for containers", application_id),
				 errdetail("The application master has no container yet.")));
}

/* -- requests -------------------------------------------------------------- */

static bool
is_anywhere(const YqContainerRequest *request)
{
	return strcmp(request->resource_name, YQ_ANYWHERE_NAME) == 0;
}

static void
check_name(const char *name)
{
	if (name[0] == '\0' || strlen(name) > NAME_MAX_BYTES)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("resource_name \"%s\" is not valid", name),
				 errdetail("Pass the name of a node or a rack of 1 to %d bytes, or * for any node.", NAME_MAX_BYTES)));
}

static void
check_container_request(const YqRequester *requester, const YqContainerRequest *request)
{
	check_name(request->resource_name);
	if (request->count < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("count of containers must not be negative"),
				 errdetail("Application \"%s\" asked for %d containers.",
						   requester->application->application_id, request->count)));
	if (!request->is_guaranteed)
	{
		opportunistic_request_check_enabled(requester->application->application_id);
		return;
	}
	/* a label of blanks counts as no label: SchedulerUtils.validateResourceRequest() */
	if (!is_anywhere(request) && request->label != NULL && strspn(request->label, " \t\r\n") < strlen(request->label))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("Invalid resource request, queue=%s specified node label expression in a resource request has resource name = %s",
						requester->queue->path, request->resource_name)));
}

static void
report_refusal(const YqVerdict *verdict)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg_internal("%s", verdict->reason)));
}

static Datum
normalized_allocation(const YqRequester *requester, const YqContainerRequest *request)
{
	int64	   *amounts = yq_hierarchy_amounts(requester->hierarchy);
	int64	   *maximum = yq_request_maximum(requester->hierarchy, requester->queue);
	YqVerdict	verdict = {.decided_by = NULL};

	if (!yq_request_read(requester->hierarchy, requester->queue, request->allocation, amounts, &verdict) ||
		!yq_request_check(requester->hierarchy, requester->queue, amounts, maximum, &verdict))
		report_refusal(&verdict);
	yq_request_normalize(requester->hierarchy, amounts, maximum);
	return yq_hierarchy_resource(requester->hierarchy, amounts);
}

static void
write_request(const YqRequester *requester, const YqContainerRequest *request)
{
	static YqSavedPlan upsert = {
		.command = "INSERT INTO yquota.resource_request AS r "
		"(application_id, priority, allocation_request_id, resource_name, count, allocation, relax_locality, label, execution_type) "
		"VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 'GUARANTEED') "
		"ON CONFLICT (application_id, priority, allocation_request_id, execution_type, resource_name) DO UPDATE SET "
		"count = excluded.count, allocation = excluded.allocation, relax_locality = excluded.relax_locality, label = excluded.label",
		.types = {"text", "int4", "int8", "text", "int4", "yquota.resource", "bool", "text"}
	};
	const char *requested = request->label != NULL ? request->label : requester->application->node_label_expression;
	const char *label = NULL;
	YqVerdict	verdict = {.decided_by = NULL};
	Datum		values[8];
	char		nulls[] = "        ";

	if (is_anywhere(request) &&
		!yq_request_label(requester->hierarchy, requester->queue, requested, &label, &verdict))
		report_refusal(&verdict);
	values[0] = CStringGetTextDatum(requester->application->application_id);
	values[1] = Int32GetDatum(request->priority);
	values[2] = Int64GetDatum(request->allocation_request_id);
	values[3] = CStringGetTextDatum(request->resource_name);
	values[4] = Int32GetDatum(request->count);
	values[5] = normalized_allocation(requester, request);
	values[6] = BoolGetDatum(request->relaxes_locality);
	values[7] = label == NULL ? (Datum) 0 : CStringGetTextDatum(label);
	nulls[7] = label == NULL ? 'n' : ' ';
	(void) yq_saved_plan_execute(&upsert, values, nulls);
}

/* Delete the GUARANTEED requests of a key (priority and allocation request id) whose count for * is 0. */
static void
drop_void_requests(const char *application_id)
{
	static YqSavedPlan drop = {
		.command = "DELETE FROM yquota.resource_request AS r USING yquota.resource_request AS anywhere "
		"WHERE anywhere.application_id = $1 AND anywhere.resource_name = '*' AND anywhere.count = 0 "
		"AND anywhere.execution_type = 'GUARANTEED' AND r.application_id = $1 AND r.priority = anywhere.priority "
		"AND r.allocation_request_id = anywhere.allocation_request_id AND r.execution_type = anywhere.execution_type",
		.types = {"text"}
	};
	Datum		values[] = {CStringGetTextDatum(application_id)};

	(void) yq_saved_plan_execute(&drop, values, NULL);
}

/*
 * Must the call exclude cycles?  It must if a request is GUARANTEED, because cycles serve
 * only these requests.  A call without requests excludes cycles, too.
 */
static bool
has_guaranteed_request(const YqContainerRequest *requests, int count)
{
	for (int i = 0; i < count; i++)
	{
		if (requests[i].is_guaranteed)
			return true;
	}
	return count == 0;
}

int64
yq_container_request(const char *application_id, const YqContainerRequest *requests, int count)
{
	bool		has_guaranteed = has_guaranteed_request(requests, count);
	YqRequester requester = has_guaranteed ? yq_requester_lock(application_id) : yq_requester_lock_leaf(application_id);
	bool		ends_some = false;

	check_master(application_id);
	yq_scheduler_journal_begin_own();
	for (int i = 0; i < count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		check_container_request(&requester, &requests[i]);
		if (!requests[i].is_guaranteed)
		{
			opportunistic_request_merge(&requester, &requests[i]);
			continue;
		}
		write_request(&requester, &requests[i]);
		ends_some = ends_some || (is_anywhere(&requests[i]) && requests[i].count == 0);
	}
	if (ends_some)
		drop_void_requests(application_id);
	yq_scheduler_journal_end_own();
	if (has_guaranteed)
		yq_scheduler_journal_applications(list_make1(unconstify(char *, application_id)));
	return yq_application_demand_note(application_id);
}

/* -- excluded nodes and racks ----------------------------------------------- */

void
yq_blacklist_update(const char *application_id, const char **additions, int addition_count,
					const char **removals, int removal_count)
{
	static YqSavedPlan add = {
		.command = "INSERT INTO yquota.blacklist (application_id, resource_name) VALUES ($1, $2) "
		"ON CONFLICT (application_id, resource_name) DO NOTHING",
		.types = {"text", "text"}
	};
	static YqSavedPlan take_off = {
		.command = "DELETE FROM yquota.blacklist AS b WHERE b.application_id = $1 AND b.resource_name = $2",
		.types = {"text", "text"}
	};
	YqRequester requester = yq_requester_lock(application_id);
	Datum		values[2] = {CStringGetTextDatum(requester.application->application_id)};

	yq_scheduler_journal_begin_own();
	for (int i = 0; i < addition_count; i++)
	{
		check_name(additions[i]);
		if (strcmp(additions[i], YQ_ANYWHERE_NAME) == 0)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("Cannot add %s to the blacklist!", YQ_ANYWHERE_NAME)));
		values[1] = CStringGetTextDatum(additions[i]);
		(void) yq_saved_plan_execute(&add, values, NULL);
	}
	for (int i = 0; i < removal_count; i++)
	{
		values[1] = CStringGetTextDatum(removals[i]);
		(void) yq_saved_plan_execute(&take_off, values, NULL);
	}
	yq_scheduler_journal_end_own();
	yq_scheduler_journal_applications(list_make1(unconstify(char *, application_id)));
}

/* -- attempts -------------------------------------------------------------- */

void
yq_application_begin_attempt(const char *application_id)
{
	static YqSavedPlan begin = {
		.command = "UPDATE yquota_internal.application_attempt AS t SET attempt = t.attempt + 1, next_container = 1, am_container_id = NULL "
		"WHERE t.application_id = $1",
		.types = {"text"}
	};
	static YqSavedPlan forget[] = {
		{.command = "DELETE FROM yquota.resource_request AS r WHERE r.application_id = $1",.types = {"text"}},
		{.command = "DELETE FROM yquota.container_update AS u WHERE u.application_id = $1",.types = {"text"}},
		{.command = "DELETE FROM yquota.reserved_container AS v WHERE v.application_id = $1",.types = {"text"}},
		{.command = "DELETE FROM yquota.blacklist AS b WHERE b.application_id = $1",.types = {"text"}},
		{.command = "DELETE FROM yquota_internal.request_counter AS c WHERE c.application_id = $1",.types = {"text"}},
		{.command = "DELETE FROM yquota_internal.opportunistic_response AS o WHERE o.application_id = $1",.types = {"text"}},
		{.command = "DELETE FROM yquota_internal.reported_application_progress AS p WHERE p.application_id = $1",.types = {"text"}}
	};
	Datum		values[] = {CStringGetTextDatum(application_id)};

	(void) yq_saved_plan_execute(&begin, values, NULL);
	for (int i = 0; i < (int) lengthof(forget); i++)
		(void) yq_saved_plan_execute(&forget[i], values, NULL);
}

/* -- releases ------------------------------------------------------------------ */

List *
yq_containers_release(Datum container_ids)
{
	static YqSavedPlan release = {
		.command = "SELECT r.container_id FROM yquota_internal.release_containers($1) AS r (container_id)",
		.types = {"_text"}
	};
	Datum		values[] = {container_ids};

	return yq_saved_plan_strings(&release, values);
}

/* -- request row --------------------------------------------------------------- */

/* Reads rows of the type yquota.container_request as requests. */

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
	REQUEST_EXPECTED_DURATION,
	REQUEST_ATTRIBUTES
} RequestAttribute;

/* Defaults of a request, as in YARN's ResourceRequest. */
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
	if (!nulls[REQUEST_EXPECTED_DURATION])
		request.expected_duration = yq_expected_duration_read(values[REQUEST_EXPECTED_DURATION]);
	return request;
}

YqContainerRequest
yq_container_request_of_row(HeapTupleHeader row)
{
	Datum		values[REQUEST_ATTRIBUTES];
	bool		nulls[REQUEST_ATTRIBUTES];

	yq_row_attributes(row, REQUEST_ATTRIBUTES, values, nulls);
	return read_request_values(values, nulls);
}

int
yq_container_requests_of_array(Datum array, const YqContainerRequest **requests)
{
	HeapTupleHeader *rows;
	int			count = yq_rows_of_array(array, "requests", &rows);
	YqContainerRequest *read = palloc(sizeof(YqContainerRequest) * Max(count, 1));

	for (int i = 0; i < count; i++)
		read[i] = yq_container_request_of_row(rows[i]);
	*requests = read;
	return count;
}
