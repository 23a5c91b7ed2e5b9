/*-------------------------------------------------------------------------
 *
 * unfetched_containers.c
 *	  Containers that are preempted before their applications have had them.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "executor/spi.h"
#include "miscadmin.h"
#include "queues/text.h"
#include "scheduler/record/application_demand.h"
#include "scheduler/record/scheduler_journal.h"
#include "scheduler/record/unfetched_containers.h"
#include "store/saved_plan.h"
#include "utils/builtins.h"

YqUnfetchedContainer *
yq_unfetched_containers_find(const YqPreemptedContainers *containers)
{
	static YqSavedPlan look_up = {
		.command = "SELECT w.place, CASE WHEN NOT c.is_am THEN c.asked_label END "
		"FROM unnest($1) WITH ORDINALITY AS w (container_id, place) JOIN yquota.container AS c ON c.container_id = w.container_id "
		"WHERE EXISTS (SELECT FROM yquota.decision AS d WHERE d.container_id = w.container_id "
		"AND d.decision IN ('allocated', 'swapped'))",
		.types = {"_text"},
		.plans_once = true
	};
	YqUnfetchedContainer *unfetched = palloc0(Max(containers->count, 1) * sizeof(YqUnfetchedContainer));
	MemoryContext caller = CurrentMemoryContext;
	Datum		values[] = {yq_array_of_names(containers->container_ids, containers->count)};
	uint64		count;

	if (containers->count == 0)
		return NULL;
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	count = yq_saved_plan_run(&look_up, values, NULL);
	for (uint64 i = 0; i < count; i++)
	{
		bool		isnull;
		int64		at = DatumGetInt64(SPI_getbinval(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, 1, &isnull)) - 1;
		Datum		label = SPI_getbinval(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, 2, &isnull);
		MemoryContext spi_context = MemoryContextSwitchTo(caller);

		CHECK_FOR_INTERRUPTS();
		unfetched[at] = (YqUnfetchedContainer) {true, isnull ? NULL : TextDatumGetCString(label)};
		MemoryContextSwitchTo(spi_context);
	}
	SPI_finish();
	return count == 0 ? NULL : unfetched;
}

/* A decision that is just being acknowledged has been fetched. */
static List *
ask_again(Datum ids, Datum asked, Datum labels)
{
	static YqSavedPlan put_back = {
		.command = "WITH due AS MATERIALIZED (SELECT d.* FROM yquota.decision AS d "
		"WHERE d.container_id = ANY ($1) AND d.decision IN ('allocated', 'swapped') ORDER BY d.decision_id FOR UPDATE SKIP LOCKED), "
		"forgotten AS (DELETE FROM yquota.decision AS d USING due WHERE d.decision_id = due.decision_id), "
		"asked AS (SELECT due.application_id, due.priority, due.allocation_request_id, r.resource_name, count(*) AS count, "
		"(array_agg(due.allocation))[1] AS allocation, bool_and(r.relax_locality) AS relax_locality, min(r.label) AS label "
		"FROM due JOIN yquota.application AS a ON a.application_id = due.application_id AND a.state IN ('ACTIVE', 'ACCEPTED') "
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
		"ON CONFLICT (application_id, priority, allocation_request_id, execution_type, resource_name) DO UPDATE SET count = least(r.count::bigint + excluded.count, 2147483647) "
		"RETURNING r.application_id) "
		"SELECT DISTINCT p.application_id FROM put_back AS p",
		.types = {"_text", "_text", "_text"},
		.plans_once = true
	};
	Datum		values[] = {ids, asked, labels};

	return yq_saved_plan_strings(&put_back, values);
}

bool
yq_unfetched_containers_put_back(const YqPreemptedContainers *containers, const YqUnfetchedContainer *unfetched,
								 const bool *is_ended)
{
	Size		size = Max(containers->count, 1) * sizeof(char *);
	const char **ids = palloc(size);
	const char **asked = palloc(size);
	const char **labels = palloc(size);
	int			count = 0;
	int			asked_count = 0;
	List	   *applications;
	ListCell   *cell;

	for (int i = 0; unfetched != NULL && i < containers->count; i++)
	{
		if (!unfetched[i].is_unfetched || !is_ended[i])
			continue;
		ids[count++] = containers->container_ids[i];
		if (unfetched[i].asked_label == NULL)
			continue;
		asked[asked_count] = containers->container_ids[i];
		labels[asked_count++] = unfetched[i].asked_label;
	}
	if (count == 0)
		return false;
	applications = ask_again(yq_array_of_names(ids, count), yq_array_of_names(asked, asked_count),
							 yq_array_of_names(labels, asked_count));
	yq_scheduler_journal_applications(applications);
	foreach(cell, applications)
	{
		CHECK_FOR_INTERRUPTS();
		(void) yq_application_demand_note(lfirst(cell));
	}
	return true;
}
