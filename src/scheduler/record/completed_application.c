/*-------------------------------------------------------------------------
 *
 * completed_application.c
 *	  Containers of an application that is over, or of an attempt of it.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "queues/text.h"
#include "scheduler/record/completed_application.h"
#include "scheduler/record/record_containers.h"
#include "scheduler/record/scheduler_count.h"
#include "scheduler/record/scheduler_lock.h"
#include "store/saved_plan.h"
#include "utils/builtins.h"

/* As SchedulerUtils.COMPLETED_APPLICATION says it. */
#define COMPLETED "'Container of a completed application'"

/* Whether a container "c" outlives its attempt: the application keeps its containers, and has got this one. */
#define IS_KEPT \
	"(SELECT a.keeps_containers FROM yquota.application AS a WHERE a.application_id = $1) AND NOT EXISTS (" \
	"SELECT FROM yquota.decision AS d WHERE d.container_id = c.container_id AND d.decision IN ('allocated', 'swapped'))"

/* Returns the ids of the containers. */
static List *
end_containers(const char *application_id, YqContainersOf which)
{
	static YqSavedPlan end = {
		.command = "WITH running AS MATERIALIZED (SELECT c.* FROM yquota.container AS c "
		"WHERE c.application_id = $1 AND ($2 OR c.is_given AND NOT ($3 AND " IS_KEPT "))), "
		"told AS (INSERT INTO yquota.decision (decision, container_id, application_id, queue, node, allocation, priority, "
		"allocation_request_id, decided_at, diagnostics, execution_type) "
		"SELECT 'killed', r.container_id, r.application_id, COALESCE(r.queue, ''), COALESCE(r.node, ''), r.allocation, r.priority, "
		"r.allocation_request_id, yquota.clock(), " COMPLETED ", r.execution_type "
		"FROM running AS r ORDER BY r.container_id), "
		"ended AS (INSERT INTO yquota.container_event (event, container_id, occurred_at, exit_status, source) "
		"SELECT 'CONTAINER_FINISH', r.container_id, greatest(yquota.clock(), r.settled_at), -100, 'scheduler' FROM running AS r) "
		"SELECT r.container_id FROM running AS r",
		.types = {"text", "bool", "bool"}
	};
	Datum		values[] = {CStringGetTextDatum(application_id), BoolGetDatum(which == YQ_ALL_CONTAINERS),
	BoolGetDatum(which == YQ_FORMER_CONTAINERS)};

	return yq_saved_plan_strings(&end, values);
}

/*
 * What gave them something is void.  Of those that another transaction had ended, while their events
 * waited for it, nothing is told.  Rows are locked in the order in which all sessions lock them.
 * Returns how many decisions it drops of the latter.
 */
static int64
drop_decisions(const List *container_ids)
{
	static YqSavedPlan drop = {
		.command = "WITH given AS MATERIALIZED (SELECT d.decision_id, d.decision FROM yquota.decision AS d "
		"WHERE d.container_id = ANY ($1) AND (d.decision IN " YQ_EXPIRING_DECISIONS " OR d.diagnostics = " COMPLETED " "
		"AND EXISTS (SELECT FROM yquota_internal.charge_in_effect AS x WHERE x.container_id = d.container_id "
		"AND x.settled_by = 'CONTAINER_FINISH' AND (x.exit_status IS DISTINCT FROM -100 OR x.\"to\" < d.decided_at))) "
		"ORDER BY d.decision_id FOR UPDATE), "
		"dropped AS (DELETE FROM yquota.decision AS d USING given AS g WHERE d.decision_id = g.decision_id) "
		"SELECT FROM given AS g WHERE g.decision = 'killed'",
		.types = {"_text"},
		.plans_once = true
	};
	Datum		values[] = {yq_array_of_strings(container_ids)};

	return yq_saved_plan_execute(&drop, values, NULL);
}

int64
yq_completed_application_end_containers(const char *application_id, YqContainersOf which)
{
	List	   *container_ids;
	int64		count;

	yq_scheduler_lock_events();
	container_ids = end_containers(application_id, which);
	if (container_ids == NIL)
		return 0;
	count = list_length(container_ids) - drop_decisions(container_ids);
	yq_scheduler_count_add(YQ_COUNT_COMPLETED, count);
	return count;
}

void
yq_completed_application_note(const char *application_id)
{
	static YqSavedPlan note = {
		.command = "INSERT INTO yquota_internal.ended_application AS e (application_id, ended_at) VALUES ($1, yquota.clock()) "
		"ON CONFLICT (application_id) DO UPDATE SET ended_at = excluded.ended_at",
		.types = {"text"}
	};
	Datum		values[] = {CStringGetTextDatum(application_id)};

	(void) yq_saved_plan_execute(&note, values, NULL);
}
