/*-------------------------------------------------------------------------
 *
 * update_event.c
 *	  Updates of running containers that take effect.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "executor/spi.h"
#include "queues/hierarchy.h"
#include "scheduler/record/record_containers.h"
#include "scheduler/record/update_event.h"
#include "store/catalog.h"
#include "store/saved_plan.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

/*
 * Events of a container are told apart by their instants, which the clock alone
 * may not do.
 */
void
yq_update_event_write(const char *container_id, Datum allocation, const char *execution_type, bool is_revertible)
{
	static YqSavedPlan update = {
		.command = "WITH running AS (SELECT c.container_id, c.application_id, c.allocation, "
		"greatest(yquota.clock(), CASE WHEN c.settled_at > c.started_at OR EXISTS ("
		"SELECT FROM yquota_internal.container_version AS v WHERE v.container_id = $1) OR EXISTS ("
		"SELECT FROM yquota.container_change AS u WHERE u.container_id = $1 AND u.occurred_at = c.started_at "
		"AND u.event = 'CONTAINER_UPDATE') "
		"THEN c.settled_at + interval '1 microsecond' ELSE c.started_at END) AS at "
		"FROM yquota.container AS c WHERE c.container_id = $1), "
		"pending AS (DELETE FROM yquota.container_update AS u WHERE u.container_id = $1), "
		"counted AS (INSERT INTO yquota_internal.container_version AS v "
		"(container_id, application_id, version, previous_allocation) "
		"SELECT r.container_id, r.application_id, 1, CASE WHEN $4 AND NOT COALESCE((SELECT s.auto_update_containers "
		"FROM yquota.scheduler_setting AS s), false) THEN r.allocation END FROM running AS r "
		"ON CONFLICT (container_id) DO UPDATE SET version = v.version + 1, previous_allocation = excluded.previous_allocation) "
		"INSERT INTO yquota.container_event (event, container_id, occurred_at, allocation, execution_type, source) "
		"SELECT 'CONTAINER_UPDATE', r.container_id, r.at, $2, $3::yquota.execution_type, 'scheduler' FROM running AS r",
		.types = {"text", "yquota.resource", "text", "bool"}
	};
	Datum		values[4] = {CStringGetTextDatum(container_id), allocation};
	char		nulls[] = "    ";

	nulls[1] = DatumGetPointer(allocation) == NULL ? 'n' : ' ';
	if (execution_type != NULL)
		values[2] = CStringGetTextDatum(execution_type);
	nulls[2] = execution_type == NULL ? 'n' : ' ';
	values[3] = BoolGetDatum(is_revertible);
	(void) yq_saved_plan_execute(&update, values, nulls);
}

/* As the resource manager does when the token of an increase is not used in time. */
void
yq_update_events_take_back(Datum container_ids, TimestampTz now, int64 expiry)
{
	static YqSavedPlan revert = {
		.command = "WITH due AS MATERIALIZED ("
		"SELECT d.decision_id, d.container_id, d.decided_at + $3 * interval '1 microsecond' AS ends_at "
		"FROM yquota.decision AS d WHERE d.container_id = ANY ($2) AND d.decision = 'increased' AND d.decided_at <= $1 "
		"FOR UPDATE SKIP LOCKED), "
		"running AS MATERIALIZED (SELECT c.container_id, c.allocation, c.settled_at FROM yquota.container AS c "
		"WHERE c.container_id = ANY (ARRAY(SELECT due.container_id FROM due)) FOR UPDATE SKIP LOCKED), "
		"expired AS (DELETE FROM yquota.decision AS d USING due JOIN running AS r ON r.container_id = due.container_id "
		"WHERE d.decision_id = due.decision_id), "
		"larger AS (SELECT c.container_id, v.previous_allocation, "
		"greatest((SELECT max(d.ends_at) FROM due AS d WHERE d.container_id = c.container_id), "
		"c.settled_at + interval '1 microsecond') AS at "
		"FROM yquota_internal.container_version AS v JOIN running AS c ON c.container_id = v.container_id "
		"WHERE v.previous_allocation OPERATOR(yquota.<@) c.allocation), "
		"counted AS (UPDATE yquota_internal.container_version AS v SET version = v.version + 1, previous_allocation = NULL "
		"WHERE v.container_id IN (SELECT l.container_id FROM larger AS l)) "
		"INSERT INTO yquota.container_event (event, container_id, occurred_at, allocation, source) "
		"SELECT 'CONTAINER_UPDATE', l.container_id, l.at, l.previous_allocation, 'scheduler' FROM larger AS l",
		.types = {"timestamptz", "_text", "int8"}
	};
	Datum		values[] = {TimestampTzGetDatum(now - expiry), container_ids, Int64GetDatum(expiry)};

	if (!yq_table_has_no_pages(YQ_CONTAINER_VERSION))
		(void) yq_saved_plan_execute(&revert, values, NULL);
}

bool
yq_update_event_claim(const YqHierarchy *hierarchy, const YqContainerUpdate *update)
{
	static YqSavedPlan lock = {
		.command = "SELECT c.allocation FROM yquota.container AS c WHERE c.container_id = $1 "
		"AND (NOT $2 OR c.execution_type = 'OPPORTUNISTIC' AND c.is_running) FOR UPDATE SKIP LOCKED",
		.types = {"text", "bool"}
	};
	Datum		values[] = {CStringGetTextDatum(update->container_id), BoolGetDatum(update->is_by_rule)};
	bool		is_as_known = false;
	bool		isnull;

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	if (yq_saved_plan_run(&lock, values, NULL) > 0)
	{
		Datum		allocation = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &isnull);

		is_as_known = yq_amounts_are_equal(&hierarchy->calculator, yq_hierarchy_read_amounts(hierarchy, allocation),
										   update->present);
	}
	SPI_finish();
	return is_as_known;
}

/* Write the counters of a key that continues to wait. */
static void
write_update_counters(const YqSchedulerKey *key)
{
	static YqSavedPlan count = {
		.command = "UPDATE yquota.container_update AS u "
		"SET opportunities = $2, missed_non_partitioned = $3, re_reservations = $4 WHERE u.container_id = $1 "
		"AND (u.opportunities, u.missed_non_partitioned, u.re_reservations) <> ($2, $3, $4)",
		.types = {"text", "int8", "int8", "int8"}
	};
	Datum		values[] = {
		CStringGetTextDatum(key->update->container_id),
		Int64GetDatum(key->opportunities),
		Int64GetDatum(key->missed_non_partitioned),
		Int64GetDatum(key->re_reservations)
	};

	(void) yq_saved_plan_execute(&count, values, NULL);
}

void
yq_update_event_record(const YqCluster *cluster, const YqDecision *decision)
{
	const YqContainerUpdate *update = decision->key->update;

	if (update->is_promotion)
		yq_update_event_write(update->container_id, PointerGetDatum(NULL), "GUARANTEED", false);
	else
		yq_update_event_write(update->container_id, yq_hierarchy_resource(cluster->hierarchy, update->allocation), NULL, true);
}

void
yq_update_events_record(const YqCluster *cluster, const List *applications)
{
	ListCell   *cell;

	for (int i = 0; i < cluster->decision_count; i++)
	{
		if (yq_decision_updates(&cluster->decisions[i]))
			yq_update_event_record(cluster, &cluster->decisions[i]);
	}
	foreach(cell, applications)
	{
		const YqClusterApplication *application = lfirst(cell);

		for (int i = 0; i < application->key_count; i++)
		{
			if (application->keys[i]->update != NULL && application->keys[i]->is_changed &&
				application->keys[i]->anywhere.count > 0)
				write_update_counters(application->keys[i]);
		}
	}
}
