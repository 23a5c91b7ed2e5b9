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

static bool
is_ended(const YqPreemptionOutcome *outcome)
{
	return outcome->kind == YQ_PREEMPTION_KILLED && !outcome->container->is_reserved;
}

/* Ids of all containers that the round is to end, as text[]. */
static Datum
ended_containers(const YqPreemption *state, int *count)
{
	const char **ids = palloc(Max(state->outcome_count, 1) * sizeof(char *));

	*count = 0;
	for (int i = 0; i < state->outcome_count; i++)
	{
		if (is_ended(&state->outcomes[i]))
			ids[(*count)++] = state->outcomes[i].container->container_id;
	}
	return yq_array_of_names(ids, *count);
}

typedef struct UnfetchedEntry
{
	YqBytes		container_id;	/* the key */
	const char *asked_label;
} UnfetchedEntry;

const char **
yq_preemption_find_unfetched(const YqPreemption *state, YqQueueLocks *locks)
{
	/* ids and labels in pairs */
	static YqSavedPlan look_up = {
		.command = "SELECT v.value FROM yquota.decision AS d JOIN yquota.container AS c ON c.container_id = d.container_id "
		"CROSS JOIN LATERAL (VALUES (1, c.container_id), (2, c.asked_label)) AS v (place, value) "
		"WHERE d.container_id = ANY ($1) AND d.decision IN ('allocated', 'swapped') ORDER BY d.decision_id, v.place",
		.types = {"_text"},
		.plans_once = true
	};
	HTAB	   *unfetched;
	const char **asked_labels;
	int			count;
	Datum		values[] = {ended_containers(state, &count)};
	List	   *pairs = count == 0 ? NIL : yq_saved_plan_strings(&look_up, values);
	bool		found;

	if (pairs == NIL)
		return NULL;
	unfetched = yq_bytes_table_create("yquota containers not fetched", sizeof(UnfetchedEntry), CurrentMemoryContext);
	for (int i = 0; i < list_length(pairs); i += 2)
	{
		UnfetchedEntry *entry = yq_bytes_table_enter_kept(unfetched, yq_bytes_of_string(list_nth(pairs, i)), &found);

		entry->asked_label = list_nth(pairs, i + 1);
	}
	asked_labels = palloc0(state->outcome_count * sizeof(char *));
	for (int i = 0; i < state->outcome_count; i++)
	{
		const YqPreemptionContainer *container = state->outcomes[i].container;
		const UnfetchedEntry *entry = yq_bytes_table_find(unfetched, yq_bytes_of_string(container->container_id));

		if (entry == NULL)
			continue;
		asked_labels[i] = entry->asked_label;
		yq_queue_locks_add(locks, YQ_LOCK_LEAF, container->application->leaf->path);
	}
	hash_destroy(unfetched);
	return asked_labels;
}

/* A decision that is just being acknowledged has been fetched. */
void
yq_preemption_put_back(const YqPreemption *state, const char *const *asked_labels, const bool *is_done)
{
	static YqSavedPlan put_back = {
		.command = "WITH due AS MATERIALIZED (SELECT d.* FROM yquota.decision AS d "
		"WHERE d.container_id = ANY ($1) AND d.decision IN ('allocated', 'swapped') ORDER BY d.decision_id FOR UPDATE SKIP LOCKED), "
		"forgotten AS (DELETE FROM yquota.decision AS d USING due WHERE d.decision_id = due.decision_id), "
		"asked AS (SELECT due.application_id, due.priority, due.allocation_request_id, r.resource_name, count(*) AS count, "
		"(array_agg(due.allocation))[1] AS allocation, bool_and(r.relax_locality) AS relax_locality, min(r.label) AS label "
		"FROM due JOIN yquota.application AS a ON a.application_id = due.application_id AND a.state = 'ACTIVE' "
		"JOIN unnest($2, $3) AS e (container_id, asked_label) ON e.container_id = due.container_id "
		"LEFT JOIN yquota.node AS n ON n.name = due.node "
		"CROSS JOIN LATERAL (VALUES ('*', true, COALESCE(due.farthest, 'OFF_SWITCH') = 'OFF_SWITCH', e.asked_label), "
		"(n.rack, due.locality <> 'OFF_SWITCH', COALESCE(due.farthest, 'OFF_SWITCH') <> 'NODE_LOCAL', NULL), "
		"(due.node, due.locality = 'NODE_LOCAL', true, NULL)) AS r (resource_name, is_served, relax_locality, label) "
		"WHERE r.is_served AND r.resource_name IS NOT NULL GROUP BY 1, 2, 3, 4), "
		"put_back AS (INSERT INTO yquota.resource_request AS r (application_id, priority, allocation_request_id, resource_name, "
		"count, allocation, relax_locality, label, execution_type) "
		"SELECT a.application_id, a.priority, a.allocation_request_id, a.resource_name, a.count, a.allocation, a.relax_locality, "
		"a.label, 'GUARANTEED' FROM asked AS a "
		"ON CONFLICT (application_id, priority, allocation_request_id, resource_name) DO UPDATE SET count = least(r.count::bigint + excluded.count, 2147483647) "
		"RETURNING r.application_id) "
		"SELECT DISTINCT p.application_id FROM put_back AS p",
		.types = {"_text", "_text", "_text"},
		.plans_once = true
	};
	const char **ids = palloc(Max(state->outcome_count, 1) * sizeof(char *));
	const char **asked = palloc(Max(state->outcome_count, 1) * sizeof(char *));
	const char **labels = palloc(Max(state->outcome_count, 1) * sizeof(char *));
	int			count = 0;
	int			asked_count = 0;
	Datum		values[3];
	List	   *applications;
	ListCell   *cell;

	for (int i = 0; asked_labels != NULL && i < state->outcome_count; i++)
	{
		const YqPreemptionContainer *container = state->outcomes[i].container;

		if (!is_ended(&state->outcomes[i]) || asked_labels[i] == NULL || !is_done[i])
			continue;
		ids[count++] = container->container_id;
		if (container->is_master)
			continue;
		asked[asked_count] = container->container_id;
		labels[asked_count++] = asked_labels[i];
	}
	if (count == 0)
		return;
	values[0] = yq_array_of_names(ids, count);
	values[1] = yq_array_of_names(asked, asked_count);
	values[2] = yq_array_of_names(labels, asked_count);
	yq_scheduler_journal_begin_own();
	applications = yq_saved_plan_strings(&put_back, values);
	yq_scheduler_journal_end_own();
	yq_scheduler_journal_applications(applications);
	foreach(cell, applications)
		(void) yq_requester_note_demand(lfirst(cell));
}
