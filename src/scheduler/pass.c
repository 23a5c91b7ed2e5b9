/*-------------------------------------------------------------------------
 *
 * pass.c
 *	  An allocation pass over nodes.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "base/settings.h"
#include "catalog/pg_type_d.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "queues/application_change.h"
#include "queues/statement.h"
#include "queues/submission.h"
#include "queues/submission_lock.h"
#include "scheduler/apply.h"
#include "scheduler/assign.h"
#include "scheduler/container_update.h"
#include "scheduler/expiry.h"
#include "scheduler/explain.h"
#include "scheduler/pass.h"
#include "scheduler/pass_lock.h"
#include "scheduler/rest.h"
#include "utils/array.h"
#include "utils/builtins.h"

/* -- what was to be done since the last one ------------------------------------ */

/* Reservations of nodes that went, or have another label now (cs-semantics 5.7). */
static void
drop_void_reservations(void)
{
	static YqStatement drop = {
		.command = "DELETE FROM yquota.reservation AS r WHERE NOT EXISTS ("
		"SELECT FROM yquota.node AS n WHERE n.name = r.node AND n.state = 'RUNNING' AND n.label = r.label)"
	};

	(void) yq_statement_execute(&drop, NULL, NULL);
}

/* Ids of ACTIVE applications whose application masters have lost their containers. */
static List *
find_lost_masters(void)
{
	static YqStatement look_up = {
		.command = "SELECT t.application_id FROM yquota_internal.application_attempt AS t "
		"JOIN yquota.application AS a ON a.application_id = t.application_id AND a.state = 'ACTIVE' "
		"WHERE t.am_container_id IS NOT NULL AND NOT EXISTS ("
		"SELECT FROM yquota.container AS c WHERE c.container_id = t.am_container_id) "
		"ORDER BY t.application_id"
	};
	MemoryContext caller = CurrentMemoryContext;
	List	   *ids = NIL;
	uint64		rows;

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	rows = yq_statement_run(&look_up, NULL, NULL);
	for (uint64 i = 0; i < rows; i++)
	{
		char	   *id = SPI_getvalue(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, 1);
		MemoryContext context = MemoryContextSwitchTo(caller);

		ids = lappend(ids, pstrdup(id));
		MemoryContextSwitchTo(context);
	}
	SPI_finish();
	return ids;
}

/* Its next application master knows nothing of what the last one asked for. */
static void
restart_lost_masters(void)
{
	static YqStatement restart = {
		.command = "WITH r AS (DELETE FROM yquota.resource_request AS r WHERE r.application_id = $1), "
		"u AS (DELETE FROM yquota.container_update AS u WHERE u.application_id = $1), "
		"v AS (DELETE FROM yquota.reservation AS v WHERE v.application_id = $1), "
		"b AS (DELETE FROM yquota.blacklist AS b WHERE b.application_id = $1), "
		"c AS (DELETE FROM yquota_internal.request_counter AS c WHERE c.application_id = $1) "
		"UPDATE yquota_internal.application_attempt AS t "
		"SET attempt = t.attempt + 1, next_container = 1, am_container_id = NULL WHERE t.application_id = $1",
		.types = {"text"}
	};
	ListCell   *cell;

	foreach(cell, find_lost_masters())
	{
		const char *application_id = lfirst(cell);
		Datum		values[] = {CStringGetTextDatum(application_id)};

		CHECK_FOR_INTERRUPTS();
		(void) yq_application_change_demand(application_id, true);
		(void) yq_statement_execute(&restart, values, NULL);
	}
}

/* -- the pass ------------------------------------------------------------------- */

/* All or nothing: a name that no node has is more likely a mistake than a node that went. */
static void
check_nodes(const YqPass *pass)
{
	static YqStatement look_up = {
		.command = "SELECT u.name FROM pg_catalog.unnest($1) WITH ORDINALITY AS u (name, number) "
		"WHERE NOT EXISTS (SELECT FROM yquota.node AS n WHERE n.name = u.name) ORDER BY u.number LIMIT 1",
		.types = {"_text"}
	};
	Datum	   *elements = palloc(sizeof(Datum) * Max(pass->node_count, 1));
	Datum		values[1];

	for (int i = 0; i < pass->node_count; i++)
		elements[i] = CStringGetTextDatum(pass->nodes[i]);
	values[0] = PointerGetDatum(construct_array(elements, pass->node_count, TEXTOID, -1, false, TYPALIGN_INT));
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	if (yq_statement_run(&look_up, values, NULL) > 0)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("node \"%s\" does not exist",
						SPI_getvalue(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1))));
	SPI_finish();
}

/* While events wait to be charged nobody knows what is used. */
static void
check_charging(void)
{
	if (yq_charging == YQ_CHARGING_DEFERRED)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("containers cannot be allocated while charging is deferred"),
				 errdetail("What the scheduler decides by is counted when events are charged."),
				 errhint("Set yquota.charging to on.")));
}

static void
assign(const YqPass *pass, const YqLoadedCluster *loaded)
{
	YqCluster  *cluster = loaded->cluster;
	int			count = pass->nodes == NULL ? list_length(loaded->nodes) : pass->node_count;
	int			left = pass->most;

	yq_rest_begin_pass(cluster, count);
	for (int i = 0; i < count && left != 0; i++)
	{
		const char *name = pass->nodes == NULL ? list_nth(loaded->nodes, i) : pass->nodes[i];
		YqClusterNode *node = yq_cluster_node(cluster, name);
		int			started;

		CHECK_FOR_INTERRUPTS();
		if (node == NULL)
			continue;
		started = yq_assign_node(cluster, node, left);
		if (left > 0)
			left -= Min(started, left);
	}
	yq_rest_end_pass(cluster);
}

static void
explain_unpaid(const YqLoadedCluster *loaded)
{
	ListCell   *cell;

	foreach(cell, loaded->unpaid)
	{
		YqClusterApplication *application = lfirst(cell);

		yq_explain(loaded->cluster, &(YqSkip) {.reason = YQ_SKIP_PROJECT,.queue = application->leaf,
			.application = application});
	}
}

YqLoadedCluster *
yq_pass_run(const YqPass *pass)
{
	YqLoadedCluster *loaded;

	check_charging();
	if (!pass->is_dry)
	{
		yq_pass_lock(ExclusiveLock);
		yq_submission_lock_configuration(RowExclusiveLock);
		yq_container_updates_tidy();
		(void) yq_release_expired();
		drop_void_reservations();
		if (pass->nodes == NULL)
			restart_lost_masters();
	}
	if (pass->nodes != NULL)
		check_nodes(pass);
	loaded = yq_cluster_load(yq_hierarchy_in_force(), pass->nodes, pass->node_count);
	loaded->cluster->explains = pass->explains;
	explain_unpaid(loaded);
	assign(pass, loaded);
	if (!pass->is_dry)
		yq_decisions_apply(loaded);
	return loaded;
}
