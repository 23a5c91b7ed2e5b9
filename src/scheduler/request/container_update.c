/*-------------------------------------------------------------------------
 *
 * container_update.c
 *	  Updates of running containers: another size, or another execution type.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "admission/submission/application_change.h"
#include "admission/submission/request.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "queues/hierarchy.h"
#include "queues/text.h"
#include "scheduler/record/record_applications.h"
#include "scheduler/record/record_containers.h"
#include "scheduler/record/scheduler_journal.h"
#include "scheduler/request/container_request.h"
#include "scheduler/request/container_update.h"
#include "store/catalog.h"
#include "store/saved_plan.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

static const char *const refusal_names[] = {
	[YQ_UPDATE_ACCEPTED] = NULL,
	[YQ_UPDATE_INVALID_CONTAINER] = "INVALID_CONTAINER_ID",
	[YQ_UPDATE_INCORRECT_VERSION] = "INCORRECT_CONTAINER_VERSION_ERROR",
	[YQ_UPDATE_OUTSTANDING] = "UPDATE_OUTSTANDING_ERROR",
	[YQ_UPDATE_OUTSIDE_RANGE] = "RESOURCE_OUTSIDE_ALLOWED_RANGE",
	[YQ_UPDATE_OPPORTUNISTIC] = "INCREASE_OF_OPPORTUNISTIC_CONTAINER",
};

const char *
yq_update_refusal_name(YqUpdateRefusal refusal)
{
	return refusal_names[refusal];
}

/* -- the running container ------------------------------------------------- */

/* A container from charging's tables, with its pending update. */
typedef struct Running
{
	bool		is_found;
	const char *queue;
	const char *node;			/* NULL: the node is unknown */
	const char *label;
	Datum		allocation;
	int64	   *amounts;
	bool		is_guaranteed;
	int32		version;
	bool		is_pending;		/* the container has a pending update */
	bool		is_promotion;	/* the pending update is a promotion */
} Running;

/* Columns of the statement, in order. */
typedef enum RunningColumn
{
	RUNNING_NODE,
	RUNNING_LABEL,
	RUNNING_ALLOCATION,
	RUNNING_IS_GUARANTEED,
	RUNNING_VERSION,
	RUNNING_IS_PROMOTION,
	RUNNING_COLUMNS
} RunningColumn;

static Running
look_up(const YqRequester *requester, const char *container_id)
{
	static YqSavedPlan look_up = {
		.command = "SELECT c.node, c.label, c.allocation, c.is_guaranteed, c.version, c.is_promotion "
		"FROM yquota_internal.versioned_container AS c WHERE c.container_id = $1 AND c.application_id = $2",
		.types = {"text", "text"}
	};
	MemoryContext caller = CurrentMemoryContext;
	Running		running = {.version = -1};
	Datum		values[] = {
		CStringGetTextDatum(container_id), CStringGetTextDatum(requester->application->application_id)
	};
	Datum		found[RUNNING_COLUMNS];
	bool		nulls[RUNNING_COLUMNS];

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	running.is_found = yq_saved_plan_run(&look_up, values, NULL) > 0;
	if (running.is_found)
	{
		heap_deform_tuple(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, found, nulls);
		MemoryContextSwitchTo(caller);
		running.node = nulls[RUNNING_NODE] ? NULL : TextDatumGetCString(found[RUNNING_NODE]);
		running.label = TextDatumGetCString(found[RUNNING_LABEL]);
		running.allocation = PointerGetDatum(PG_DETOAST_DATUM_COPY(found[RUNNING_ALLOCATION]));
		running.amounts = yq_hierarchy_read_amounts(requester->hierarchy, running.allocation);
		running.is_guaranteed = DatumGetBool(found[RUNNING_IS_GUARANTEED]);
		running.version = DatumGetInt32(found[RUNNING_VERSION]);
		running.is_pending = !nulls[RUNNING_IS_PROMOTION];
		running.is_promotion = running.is_pending && DatumGetBool(found[RUNNING_IS_PROMOTION]);
	}
	SPI_finish();
	return running;
}

/*
 * Lock containers of an application until the transaction ends, in the same order as
 * charging.  If another transaction meanwhile replaces the row of a container, the loop locks
 * the new row.
 */
static void
lock_containers(const YqRequester *requester, const YqUpdateRequest *requests, int count)
{
	static YqSavedPlan lock = {
		.command = "SELECT FROM yquota.container AS c WHERE c.container_id = ANY ($1) AND c.application_id = $2 "
		"ORDER BY c.container_id FOR UPDATE",
		.types = {"_text", "text"}
	};
	static YqSavedPlan find = {
		.command = "SELECT FROM yquota.container AS c WHERE c.container_id = ANY ($1) AND c.application_id = $2",
		.types = {"_text", "text"}
	};
	const char **ids = palloc(sizeof(char *) * Max(count, 1));
	Datum		values[2] = {0, CStringGetTextDatum(requester->application->application_id)};
	uint64		locked;

	for (int i = 0; i < count; i++)
		ids[i] = requests[i].container_id;
	values[0] = yq_array_of_names(ids, count);
	do
	{
		CHECK_FOR_INTERRUPTS();
		locked = yq_saved_plan_execute(&lock, values, NULL);
	} while (yq_saved_plan_execute(&find, values, NULL) != locked);
}

/* -- the requested update -------------------------------------------------- */

/* A request for an update, with the running container and the action to take. */
typedef struct UpdatePlan
{
	const YqUpdateRequest *request;
	Running		running;
	int64	   *target;			/* new size, rounded as in YARN; NULL: the execution type changes */
	YqUpdateOutcome *outcome;
} UpdatePlan;

static void
check_update_request(const YqUpdateRequest *request)
{
	if ((request->allocation != NULL) == request->has_execution_type)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("update of container \"%s\" must have either an allocation or an execution type",
						request->container_id)));
}

/*
 * Check only memory and cores, as RMServerUtils does.  Amounts of other types are reduced
 * to the maximum if they exceed it.
 */
static bool
is_in_range(const int64 *amounts, const int64 *maximum)
{
	for (int i = YQ_MEMORY; i <= YQ_VCORES; i++)
	{
		if (amounts[i] < 0 || amounts[i] > maximum[i])
			return false;
	}
	return true;
}

/* Return how many types the calculator compares.  The default calculator compares only memory. */
static int
types_compared(const YqHierarchy *hierarchy)
{
	return hierarchy->calculator.is_dominant ? hierarchy->calculator.types : YQ_MEMORY + 1;
}

/*
 * Compare sizes.  If a request increases some types and decreases others, only the
 * increases count.
 */
static YqUpdateAction
compare_sizes(const YqHierarchy *hierarchy, const int64 *target, const int64 *present)
{
	YqUpdateAction action = YQ_UPDATE_NOTHING;

	for (int i = 0; i < types_compared(hierarchy); i++)
	{
		if (target[i] > present[i])
			return YQ_UPDATE_INCREASE;
		if (target[i] < present[i])
			action = YQ_UPDATE_DECREASE;
	}
	return action;
}

/*
 * Choose the action for a change of size.  A requested decrease may be rounded up to the current
 * allocation.  The action is then still a decrease, which changes only the version, because Hadoop
 * decides by the type of the request.
 */
static YqUpdateAction
action_of_size(const YqHierarchy *hierarchy, const int64 *asked, const int64 *target, const int64 *present)
{
	YqUpdateAction action = compare_sizes(hierarchy, target, present);

	if (action == YQ_UPDATE_NOTHING && compare_sizes(hierarchy, asked, present) == YQ_UPDATE_DECREASE)
		action = YQ_UPDATE_DECREASE;
	return action;
}

static YqUpdateRefusal
plan_size(const YqRequester *requester, UpdatePlan *plan)
{
	int64	   *asked = yq_hierarchy_amounts(requester->hierarchy);
	int64	   *amounts = yq_hierarchy_amounts(requester->hierarchy);
	int64	   *maximum = yq_request_maximum(requester->hierarchy, requester->queue);
	YqVerdict	verdict = {.decided_by = NULL};

	if (!yq_request_read(requester->hierarchy, requester->queue, plan->request->allocation, amounts, &verdict))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg_internal("%s", verdict.reason)));
	if (!is_in_range(amounts, maximum))
		return YQ_UPDATE_OUTSIDE_RANGE;
	memcpy(asked, amounts, sizeof(int64) * requester->hierarchy->calculator.types);
	yq_request_normalize(requester->hierarchy, amounts, maximum);
	plan->target = amounts;
	plan->outcome->action = action_of_size(requester->hierarchy, asked, amounts, plan->running.amounts);
	if (plan->outcome->action == YQ_UPDATE_INCREASE && !plan->running.is_guaranteed)
		return YQ_UPDATE_OPPORTUNISTIC;
	return YQ_UPDATE_ACCEPTED;
}

static YqUpdateRefusal
plan_type(UpdatePlan *plan)
{
	if (plan->request->is_guaranteed == plan->running.is_guaranteed)
		return YQ_UPDATE_ACCEPTED;
	plan->outcome->action = plan->request->is_guaranteed ? YQ_UPDATE_PROMOTE : YQ_UPDATE_DEMOTE;
	/* a new increase replaces a pending increase, but a second promotion is refused while the first is pending */
	if (plan->request->is_guaranteed && plan->running.is_pending)
		return YQ_UPDATE_OUTSTANDING;
	return YQ_UPDATE_ACCEPTED;
}

/* Check a request in the same order as RMServerUtils.validateAndSplitUpdateResourceRequests(). */
static YqUpdateRefusal
make_update_plan(const YqRequester *requester, UpdatePlan *plans, int number)
{
	UpdatePlan *plan = &plans[number];

	plan->running = look_up(requester, plan->request->container_id);
	/* a container whose node is unknown cannot be enlarged */
	if (!plan->running.is_found || plan->running.node == NULL)
		return YQ_UPDATE_INVALID_CONTAINER;
	if (plan->request->version != plan->running.version)
		return YQ_UPDATE_INCORRECT_VERSION;
	for (int i = 0; i < number; i++)
	{
		if (plans[i].outcome->refusal == YQ_UPDATE_ACCEPTED &&
			(plans[i].target != NULL || plans[i].outcome->action != YQ_UPDATE_NOTHING) &&
			strcmp(plans[i].request->container_id, plan->request->container_id) == 0)
			return YQ_UPDATE_OUTSTANDING;
	}
	return plan->request->allocation != NULL ? plan_size(requester, plan) : plan_type(plan);
}

/* -- application of the plans ------------------------------------------------ */

/*
 * Skip a container number.  For each decrease and demotion, Hadoop creates an empty container
 * with an id of its own.
 */
static void
use_up_number(const char *application_id)
{
	static YqSavedPlan count = {
		.command = "INSERT INTO yquota_internal.application_attempt AS t (application_id, attempt, next_container) "
		"VALUES ($1, 1, 2) ON CONFLICT (application_id) DO UPDATE SET next_container = t.next_container + 1",
		.types = {"text"}
	};
	Datum		values[] = {CStringGetTextDatum(application_id)};

	(void) yq_saved_plan_execute(&count, values, NULL);
}

static void
cancel_pending(const char *container_id)
{
	static YqSavedPlan cancel = {
		.command = "DELETE FROM yquota.container_update AS u WHERE u.container_id = $1",
		.types = {"text"}
	};
	Datum		values[] = {CStringGetTextDatum(container_id)};

	(void) yq_saved_plan_execute(&cancel, values, NULL);
}

/*
 * Delete earlier decisions about the containers.  A request for an update also acknowledges the
 * decisions about the container.
 */
static void
forget_decisions(const UpdatePlan *plans, int count)
{
	static YqSavedPlan forget = {
		.command = "SELECT yquota_internal.acknowledge_containers($1)",
		.types = {"_text"}
	};
	const char **ids = palloc(sizeof(char *) * Max(count, 1));
	int			id_count = 0;
	Datum		values[1];

	for (int i = 0; i < count; i++)
	{
		if (plans[i].outcome->refusal == YQ_UPDATE_ACCEPTED)
			ids[id_count++] = plans[i].request->container_id;
	}
	values[0] = yq_array_of_names(ids, id_count);
	(void) yq_saved_plan_execute(&forget, values, NULL);
}

/* Return the label of the container, or the default partition if its queue may no longer use the label. */
static const char *
update_label(const YqRequester *requester, const Running *running)
{
	const char *label = NULL;
	YqVerdict	verdict = {.decided_by = NULL};

	if (!yq_request_label(requester->hierarchy, requester->queue, running->label, &label, &verdict))
		return "";
	return label;
}

/*
 * Make the update wait for the missing amount on the container's node.  If the update has a
 * reservation of another size, the reservation is given up.
 */
static void
make_pending(const YqRequester *requester, const UpdatePlan *plan, const char *update_type, const int64 *missing)
{
	static YqSavedPlan give_up = {
		.command = "DELETE FROM yquota.reserved_container AS r "
		"WHERE r.node = $4 AND r.container_to_update = $1 AND r.allocation OPERATOR(yquota.<>) $6",
		.types = {"text", "text", "text", "text", "text", "yquota.resource"}
	};
	static YqSavedPlan upsert = {
		.command = "INSERT INTO yquota.container_update AS u (container_id, application_id, update_type, node, label, allocation, "
		"priority, allocation_request_id, requested_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, yquota.clock()) "
		"ON CONFLICT (container_id) DO UPDATE SET allocation = excluded.allocation, priority = excluded.priority, "
		"allocation_request_id = excluded.allocation_request_id, requested_at = excluded.requested_at",
		.types = {"text", "text", "text", "text", "text", "yquota.resource", "int4", "int8"}
	};
	Datum		values[] = {
		CStringGetTextDatum(plan->request->container_id),
		CStringGetTextDatum(requester->application->application_id),
		CStringGetTextDatum(update_type),
		CStringGetTextDatum(plan->running.node),
		CStringGetTextDatum(update_label(requester, &plan->running)),
		yq_hierarchy_resource(requester->hierarchy, missing),
		Int32GetDatum(plan->request->priority),
		Int64GetDatum(plan->request->allocation_request_id)
	};

	(void) yq_saved_plan_execute(&give_up, values, NULL);
	(void) yq_saved_plan_execute(&upsert, values, NULL);
}

static void
increase(const YqRequester *requester, const UpdatePlan *plan)
{
	int64	   *missing = yq_hierarchy_amounts(requester->hierarchy);

	for (int i = 0; i < requester->hierarchy->calculator.types; i++)
		missing[i] = Max(plan->target[i], plan->running.amounts[i]) - plan->running.amounts[i];
	make_pending(requester, plan, "INCREASE_RESOURCE", missing);
}

static void
decrease(const YqRequester *requester, const UpdatePlan *plan)
{
	int64	   *remaining = yq_hierarchy_amounts(requester->hierarchy);

	for (int i = 0; i < requester->hierarchy->calculator.types; i++)
		remaining[i] = Min(plan->target[i], plan->running.amounts[i]);
	yq_update_event_write(plan->request->container_id, yq_hierarchy_resource(requester->hierarchy, remaining),
						  NULL, false);
	use_up_number(requester->application->application_id);
}

static void
do_plan(const YqRequester *requester, const UpdatePlan *plan)
{
	switch (plan->outcome->action)
	{
		case YQ_UPDATE_NOTHING:
			if (plan->target != NULL)
				cancel_pending(plan->request->container_id);
			break;
		case YQ_UPDATE_PROMOTE:
			make_pending(requester, plan, "PROMOTE_EXECUTION_TYPE", plan->running.amounts);
			break;
		case YQ_UPDATE_INCREASE:
			increase(requester, plan);
			break;
		case YQ_UPDATE_DEMOTE:
			yq_update_event_write(plan->request->container_id, PointerGetDatum(NULL), "OPPORTUNISTIC", false);
			use_up_number(requester->application->application_id);
			break;
		case YQ_UPDATE_DECREASE:
			decrease(requester, plan);
			break;
	}
}

/* Count the demotions for metrics. */
static void
count_demoted(const YqUpdateOutcome *outcomes, int count)
{
	YqOpportunisticCount counted = {0};

	for (int i = 0; i < count; i++)
	{
		if (outcomes[i].refusal == YQ_UPDATE_ACCEPTED && outcomes[i].action == YQ_UPDATE_DEMOTE)
			counted.demoted++;
	}
	if (counted.demoted > 0)
		yq_opportunistic_count_write(&counted);
}

static void
set_outcome(const YqRequester *requester, const UpdatePlan *plan)
{
	const Running after = look_up(requester, plan->request->container_id);

	plan->outcome->version = after.version;
	plan->outcome->allocation = after.allocation;
}

YqUpdateOutcome *
yq_containers_update(const char *application_id, const YqUpdateRequest *requests, int count)
{
	YqRequester requester = yq_requester_lock(application_id);
	UpdatePlan *plans = palloc0(sizeof(UpdatePlan) * Max(count, 1));
	YqUpdateOutcome *outcomes = palloc0(sizeof(YqUpdateOutcome) * Max(count, 1));

	for (int i = 0; i < count; i++)
		check_update_request(&requests[i]);
	yq_scheduler_lock_events();
	lock_containers(&requester, requests, count);
	for (int i = 0; i < count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		plans[i].request = &requests[i];
		plans[i].outcome = &outcomes[i];
		outcomes[i].refusal = make_update_plan(&requester, plans, i);
	}
	yq_scheduler_journal_begin_own();
	/* the order of AbstractYarnScheduler: promotions, increases, demotions, decreases */
	for (YqUpdateAction action = YQ_UPDATE_NOTHING; action <= YQ_UPDATE_DECREASE; action++)
	{
		for (int i = 0; i < count; i++)
		{
			if (outcomes[i].refusal == YQ_UPDATE_ACCEPTED && outcomes[i].action == action)
				do_plan(&requester, &plans[i]);
		}
	}
	count_demoted(outcomes, count);
	forget_decisions(plans, count);
	yq_scheduler_journal_end_own();
	yq_scheduler_journal_applications(list_make1(unconstify(char *, application_id)));
	for (int i = 0; i < count; i++)
		set_outcome(&requester, &plans[i]);
	(void) yq_application_demand_note(application_id);
	return outcomes;
}

/* -- before a cycle ------------------------------------------------------------- */

static bool
are_void(void)
{
	static YqSavedPlan look_up = {
		.command = "SELECT FROM (SELECT u.container_id FROM yquota.container_update AS u UNION ALL "
		"SELECT r.container_to_update FROM yquota.reserved_container AS r WHERE r.container_to_update IS NOT NULL) AS w "
		"WHERE NOT EXISTS (SELECT FROM yquota.container AS c WHERE c.container_id = w.container_id) LIMIT 1"
	};

	return yq_saved_plan_execute(&look_up, NULL, NULL) > 0;
}

/* Return the ids of applications that have pending updates of ended containers. */
static List *
drop_void(void)
{
	static YqSavedPlan drop = {
		.command = "WITH reserved AS (DELETE FROM yquota.reserved_container AS r WHERE r.container_to_update IS NOT NULL AND NOT EXISTS ("
		"SELECT FROM yquota.container AS c WHERE c.container_id = r.container_to_update)), "
		"void AS (DELETE FROM yquota.container_update AS u WHERE NOT EXISTS ("
		"SELECT FROM yquota.container AS c WHERE c.container_id = u.container_id) RETURNING u.application_id) "
		"SELECT DISTINCT v.application_id FROM void AS v ORDER BY v.application_id"
	};

	return yq_saved_plan_strings(&drop, NULL);
}

void
yq_container_updates_tidy(const YqHierarchy *hierarchy)
{
	List	   *ids;
	ListCell   *cell;

	if (yq_table_has_no_pages(YQ_CONTAINER_UPDATE_TABLE) || !are_void())
		return;
	yq_scheduler_lock_leaves(hierarchy);
	/* applications with updates are read again in each cycle, so the journal need not name them */
	yq_scheduler_journal_begin_own();
	ids = drop_void();
	foreach(cell, ids)
	{
		CHECK_FOR_INTERRUPTS();
		(void) yq_application_demand_note(lfirst(cell));
	}
	yq_scheduler_journal_end_own();
}
