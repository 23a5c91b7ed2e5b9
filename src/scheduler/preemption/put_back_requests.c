/*-------------------------------------------------------------------------
 *
 * put_back_requests.c
 *	  Requests of containers that were killed before their applications had them.
 *
 * A container that is allocated has taken one off the counts of its request: for its
 * node, its rack and anywhere, as far as it is local.  They get it back.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "base/bytes_table.h"
#include "miscadmin.h"
#include "queues/text.h"
#include "scheduler/preemption/put_back_requests.h"
#include "scheduler/record/scheduler_journal.h"
#include "scheduler/request/container_request.h"
#include "store/saved_plan.h"

/* Ids of containers that are killed, as text[]; those alone that are in both arrays unless these are NULL. */
static Datum
killed_containers(const YqPreemption *state, const bool *is_unfetched, const bool *is_done, int *count)
{
	const char **ids = palloc(Max(state->outcome_count, 1) * sizeof(char *));

	*count = 0;
	for (int i = 0; i < state->outcome_count; i++)
	{
		const YqPreemptionOutcome *outcome = &state->outcomes[i];

		if (outcome->kind == YQ_PREEMPTION_KILLED && !outcome->container->is_reserved &&
			(is_unfetched == NULL || (is_unfetched[i] && is_done[i])))
			ids[(*count)++] = outcome->container->container_id;
	}
	return yq_array_of_names(ids, *count);
}

bool *
yq_preemption_find_unfetched(const YqPreemption *state, YqQueueLocks *locks)
{
	static YqSavedPlan look_up = {
		.command = "SELECT d.container_id FROM yquota.decision AS d "
		"WHERE d.container_id = ANY ($1) AND d.decision IN ('allocated', 'swapped')",
		.types = {"_text"},
		.plans_once = true
	};
	HTAB	   *unfetched;
	bool	   *is_unfetched;
	int			count;
	Datum		values[] = {killed_containers(state, NULL, NULL, &count)};
	List	   *ids = count == 0 ? NIL : yq_saved_plan_strings(&look_up, values);
	ListCell   *cell;
	bool		found;

	if (ids == NIL)
		return NULL;
	unfetched = yq_bytes_table_create("yquota containers not fetched", sizeof(YqBytes), CurrentMemoryContext);
	foreach(cell, ids)
		(void) yq_bytes_table_enter_kept(unfetched, yq_bytes_of_string(lfirst(cell)), &found);
	is_unfetched = palloc0(state->outcome_count * sizeof(bool));
	for (int i = 0; i < state->outcome_count; i++)
	{
		const YqPreemptionContainer *container = state->outcomes[i].container;

		is_unfetched[i] = yq_bytes_table_find(unfetched, yq_bytes_of_string(container->container_id)) != NULL;
		if (is_unfetched[i])
			yq_queue_locks_add(locks, YQ_LOCK_LEAF, container->application->leaf->path);
	}
	hash_destroy(unfetched);
	return is_unfetched;
}

/* A decision that is just being acknowledged has been fetched. */
void
yq_preemption_put_back(const YqPreemption *state, const bool *is_unfetched, const bool *is_done)
{
	static YqSavedPlan put_back = {
		.command = "WITH due AS MATERIALIZED (SELECT d.* FROM yquota.decision AS d "
		"WHERE d.container_id = ANY ($1) AND d.decision IN ('allocated', 'swapped') ORDER BY d.decision_id FOR UPDATE SKIP LOCKED), "
		"forgotten AS (DELETE FROM yquota.decision AS d USING due WHERE d.decision_id = due.decision_id), "
		"asked AS (SELECT due.application_id, due.priority, due.allocation_request_id, r.resource_name, count(*) AS count, "
		"(array_agg(due.allocation))[1] AS allocation, bool_and(r.relax_locality) AS relax_locality, min(r.label) AS label "
		"FROM due JOIN yquota.application AS a ON a.application_id = due.application_id AND a.state = 'ACTIVE' "
		"CROSS JOIN LATERAL (SELECT log.is_am, log.asked_label FROM yquota.container_event AS log "
		"WHERE log.container_id = due.container_id AND log.event = 'CONTAINER_START' ORDER BY log.event_id LIMIT 1) AS e "
		"LEFT JOIN yquota.node AS n ON n.name = due.node "
		"CROSS JOIN LATERAL (VALUES ('*', true, COALESCE(due.farthest, 'OFF_SWITCH') = 'OFF_SWITCH', COALESCE(e.asked_label, '')), "
		"(n.rack, due.locality <> 'OFF_SWITCH', COALESCE(due.farthest, 'OFF_SWITCH') <> 'NODE_LOCAL', NULL), "
		"(due.node, due.locality = 'NODE_LOCAL', true, NULL)) AS r (resource_name, is_served, relax_locality, label) "
		"WHERE e.is_am IS NOT TRUE AND r.is_served AND r.resource_name IS NOT NULL GROUP BY 1, 2, 3, 4), "
		"put_back AS (INSERT INTO yquota.resource_request AS r (application_id, priority, allocation_request_id, resource_name, "
		"count, allocation, relax_locality, label, execution_type) "
		"SELECT a.application_id, a.priority, a.allocation_request_id, a.resource_name, a.count, a.allocation, a.relax_locality, "
		"a.label, 'GUARANTEED' FROM asked AS a "
		"ON CONFLICT (application_id, priority, allocation_request_id, resource_name) DO UPDATE SET count = least(r.count::bigint + excluded.count, 2147483647) "
		"RETURNING r.application_id) "
		"SELECT DISTINCT p.application_id FROM put_back AS p",
		.types = {"_text"},
		.plans_once = true
	};
	int			count;
	Datum		values[1];
	List	   *applications;
	ListCell   *cell;

	if (is_unfetched == NULL)
		return;
	values[0] = killed_containers(state, is_unfetched, is_done, &count);
	if (count == 0)
		return;
	yq_scheduler_journal_begin_own();
	applications = yq_saved_plan_strings(&put_back, values);
	yq_scheduler_journal_end_own();
	yq_scheduler_journal_applications(applications);
	foreach(cell, applications)
		(void) yq_requester_note_demand(lfirst(cell));
}
