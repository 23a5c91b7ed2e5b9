/*-------------------------------------------------------------------------
 *
 * allocation_cycle.c
 *	  An allocation cycle over nodes.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "admission/application/queue_lock.h"
#include "admission/configuration/config_refresh.h"
#include "admission/submission/application_change.h"
#include "admission/submission/submission.h"
#include "base/settings.h"
#include "miscadmin.h"
#include "queues/text.h"
#include "scheduler/allocation_cycle.h"
#include "scheduler/cache/cluster_cache.h"
#include "scheduler/decide/assign_containers.h"
#include "scheduler/decide/container_allocator.h"
#include "scheduler/decide/fruitless_search.h"
#include "scheduler/load/promotable_containers.h"
#include "scheduler/record/expiry.h"
#include "scheduler/record/record_applications.h"
#include "scheduler/record/record_decisions.h"
#include "scheduler/record/refusal.h"
#include "scheduler/record/scheduler_journal.h"
#include "scheduler/request/container_request.h"
#include "scheduler/request/container_update.h"
#include "store/catalog.h"
#include "store/saved_plan.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

/* -- work that became due after the last cycle ----------------------------- */

/* Give up a reservation if its node has been removed or has another label now (semantics/allocation 5). */
static void
drop_void_reservations(const YqHierarchy *hierarchy)
{
	static YqSavedPlan look_up = {
		.command = "SELECT FROM yquota.reserved_container AS r WHERE NOT EXISTS ("
		"SELECT FROM yquota.node AS n WHERE n.name = r.node AND n.state = 'RUNNING' AND n.label = r.label) LIMIT 1"
	};
	static YqSavedPlan drop = {
		.command = "DELETE FROM yquota.reserved_container AS r WHERE NOT EXISTS ("
		"SELECT FROM yquota.node AS n WHERE n.name = r.node AND n.state = 'RUNNING' AND n.label = r.label)"
	};

	if (yq_saved_plan_execute(&look_up, NULL, NULL) == 0)
		return;
	yq_scheduler_lock_leaves(hierarchy);
	yq_scheduler_journal_begin_own();
	if (yq_saved_plan_execute(&drop, NULL, NULL) > 0)
		yq_scheduler_journal_everything();
	yq_scheduler_journal_end_own();
}

/* Return the ids of ACTIVE applications whose application master has no running container. */
static List *
find_lost_masters(void)
{
	static YqSavedPlan look_up = {
		.command = "SELECT m.application_id FROM yquota_internal.lost_master AS m "
		"WHERE NOT " YQ_IS_HELD(YQ_ROUND_SCHEDULE, "m.application_id") " ORDER BY m.application_id"
	};

	return yq_saved_plan_strings(&look_up, NULL);
}

/*
 * Begin a new attempt of each application, because its master has ended.  Containers of the
 * previous attempt end, too, unless they outlive their attempt.
 */
static void
restart(void *argument, int first, int count)
{
	const List *ids = argument;

	for (int i = first; i < first + count; i++)
		(void) yq_completed_application_end_containers(list_nth(ids, i), YQ_FORMER_CONTAINERS);
	yq_scheduler_journal_begin_own();
	for (int i = first; i < first + count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		(void) yq_application_change_demand(list_nth(ids, i), true);
		yq_application_begin_attempt(list_nth(ids, i));
	}
	yq_scheduler_journal_end_own();
}

static void
refuse_restart(void *argument, int subject, const ErrorData *error)
{
	const List *ids = argument;

	(void) yq_refusal_note(YQ_ROUND_SCHEDULE, list_nth(ids, subject), error);
}

static void
restart_lost_masters(const YqHierarchy *hierarchy)
{
	List	   *ids = find_lost_masters();
	const YqRound round = {.count = list_length(ids),.work = restart,.refuse = refuse_restart,.argument = ids};

	if (ids == NIL)
		return;
	yq_scheduler_lock_leaves(hierarchy);
	yq_scheduler_lock_events();
	yq_round_run(&round);
	yq_scheduler_journal_applications(ids);
}

/* -- the cycle ------------------------------------------------------------------- */

/* Check that all given names exist.  An unknown name is more likely a mistake than a removed node. */
static void
check_nodes(const char **nodes, int count)
{
	static YqSavedPlan look_up = {
		.command = "SELECT u.name FROM pg_catalog.unnest($1) WITH ORDINALITY AS u (name, number) "
		"WHERE NOT EXISTS (SELECT FROM yquota.node AS n WHERE n.name = u.name) ORDER BY u.number LIMIT 1",
		.types = {"_text"}
	};
	Datum		values[] = {yq_array_of_names(nodes, count)};
	const List *unknown = yq_saved_plan_strings(&look_up, values);

	if (unknown != NIL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("node \"%s\" does not exist", (char *) linitial(unknown))));
}

/*
 * Look up the given nodes that the cluster does not contain.  Nodes of the cluster need no look-up,
 * because they exist.
 */
static void
check_unknown_nodes(const YqAllocationCycle *cycle, const YqCluster *cluster)
{
	const char **unknown;
	int			count = 0;

	if (cycle->nodes == NULL)
		return;
	unknown = palloc(sizeof(char *) * Max(cycle->node_count, 1));
	for (int i = 0; i < cycle->node_count; i++)
	{
		if (yq_cluster_node(cluster, cycle->nodes[i]) == NULL)
			unknown[count++] = cycle->nodes[i];
	}
	if (count > 0)
		check_nodes(unknown, count);
}

/* Largest number of containers that a cycle promotes by rule. */
#define MOST_PROMOTIONS 100

/*
 * Promote containers, if requests have left resources for them.  "left" is the number of
 * containers that the cycle may still start or promote (-1: no limit by the caller).
 */
static void
promote_by_rule(const YqAllocationCycle *cycle, YqLoadedCluster *loaded, int left)
{
	YqCluster  *cluster = loaded->cluster;
	ListCell   *cell;
	int			most = left < 0 ? MOST_PROMOTIONS : Min(left, MOST_PROMOTIONS);

	if (cluster->hierarchy->shortest_auto_promotion == 0 || most == 0 || cluster->root == NULL)
		return;
	foreach(cell, yq_promotable_containers_read(loaded, cycle->nodes, cycle->node_count))
	{
		YqPromotableContainer *container = lfirst(cell);

		CHECK_FOR_INTERRUPTS();
		if (!yq_assign_update(cluster, container->node, &container->key))
			continue;
		loaded->is_overtaken |= container->is_elsewhere;
		if (--most == 0)
			break;
	}
}

static void
assign(const YqAllocationCycle *cycle, YqLoadedCluster *loaded)
{
	YqCluster  *cluster = loaded->cluster;
	int			count = cycle->nodes == NULL ? list_length(loaded->nodes) : cycle->node_count;
	int			left = cycle->most;

	for (int i = 0; i < count && left != 0; i++)
	{
		const char *name = cycle->nodes == NULL ? list_nth(loaded->nodes, i) : cycle->nodes[i];
		YqClusterNode *node = yq_cluster_node(cluster, name);
		int			started;

		CHECK_FOR_INTERRUPTS();
		if (node == NULL)
			continue;
		started = yq_assign_node(cluster, node, left);
		if (left > 0)
			left -= Min(started, left);
	}
	yq_fruitless_search_forget_all(cluster);
	promote_by_rule(cycle, loaded, left);
}

static void
explain_left_out(const YqLoadedCluster *loaded, const List *applications, YqSkipReason reason)
{
	ListCell   *cell;

	foreach(cell, applications)
	{
		YqClusterApplication *application = lfirst(cell);

		yq_explain(loaded->cluster, &(YqSkip) {.reason = reason,.queue = application->leaf,.application = application});
	}
}

/* -- recording the decisions ----------------------------------------------------- */

static void
write_down(void *argument)
{
	YqLoadedCluster *loaded = argument;

	yq_scheduler_journal_begin_own();
	yq_record_decisions(loaded);
	yq_scheduler_journal_end_own();
}

/*
 * Record the decisions.  Returns false if the cycle must load the cluster and decide again.
 *
 * After the first failure, the cycle loads everything again.  Commits of other transactions may
 * have caused the failure, and the new load sees them.  After a later failure, yq_record_refusals()
 * holds back the subjects that cannot be written, and the next load leaves them out.  If
 * yq_record_refusals() finds nothing to hold back, the error is thrown again.
 */
static bool
try_to_write_down(YqLoadedCluster *loaded, bool is_first)
{
	ErrorData  *error;

	if (loaded->cluster->decision_count == 0)
	{
		write_down(loaded);
		return true;
	}
	error = yq_attempt(write_down, loaded);
	if (error != NULL && !is_first && !yq_record_refusals(loaded))
		ReThrowError(error);
	return error == NULL;
}

/* -- all ------------------------------------------------------------------------- */

/* Load a cluster for this cycle only. */
static YqLoadedCluster *
load(const YqAllocationCycle *cycle, YqHierarchy *hierarchy)
{
	Snapshot	snapshot = yq_latest_snapshot();
	YqLoadedCluster *loaded = yq_cluster_load(hierarchy, cycle->nodes, cycle->node_count, snapshot);

	UnregisterSnapshot(snapshot);
	loaded->cluster->explains = cycle->explains;
	explain_left_out(loaded, loaded->unpaid, YQ_SKIP_PROJECT);
	explain_left_out(loaded, loaded->refused, YQ_SKIP_REFUSED);
	return loaded;
}

static YqLoadedCluster *
run_dry(const YqAllocationCycle *cycle)
{
	YqLoadedCluster *loaded = load(cycle, yq_hierarchy_in_force());

	check_unknown_nodes(cycle, loaded->cluster);
	assign(cycle, loaded);
	return loaded;
}

/*
 * Do the work that needs no lock.  Returns true if the cached cluster was already made from
 * the current nodes and their states.
 */
static bool
prepare(const YqAllocationCycle *cycle)
{
	YqHierarchy *hierarchy = yq_hierarchy_in_force();
	bool		knew_nodes = yq_cluster_cache_is_of(hierarchy);

	if (!cycle->explains)
		yq_cluster_cache_prepare(hierarchy);
	return knew_nodes;
}

/*
 * Do the work that needs no lock, then take the scheduler's lock.
 *
 * The scratch memory context holds the hierarchy that the work uses (yq_hierarchy_get()).
 * Queues of plans can be added to a hierarchy, or removed, only while nothing holds it;
 * otherwise the session builds a whole new hierarchy.  The context is therefore reset before
 * the lock is taken, so that no hierarchy is built under the lock.
 */
static bool
prepare_and_lock(const YqAllocationCycle *cycle)
{
	MemoryContext scratch = AllocSetContextCreate(CurrentMemoryContext, "yquota before an allocation cycle", ALLOCSET_DEFAULT_SIZES);
	MemoryContext caller = MemoryContextSwitchTo(scratch);
	bool		knew_nodes = prepare(cycle);

	MemoryContextReset(scratch);
	if (!yq_scheduler_try_lock(ExclusiveLock))
	{
		/* while another cycle holds the lock, read the decisions of earlier cycles */
		if (!cycle->explains)
			yq_cluster_cache_catch_up(yq_hierarchy_in_force());
		MemoryContextReset(scratch);
		yq_scheduler_lock(ExclusiveLock);
	}
	MemoryContextSwitchTo(caller);
	MemoryContextDelete(scratch);
	return knew_nodes;
}

static YqLoadedCluster *
find_cluster(const YqAllocationCycle *cycle, bool knew_nodes)
{
	YqHierarchy *hierarchy = yq_hierarchy_in_force();
	YqLoadedCluster *loaded = NULL;

	/* if the nodes of the cached cluster are unchanged, all reservations are still valid */
	if (!knew_nodes || !yq_cluster_cache_is_of(hierarchy))
		drop_void_reservations(hierarchy);
	if (!cycle->explains)
		loaded = yq_cluster_cache_get(hierarchy);
	return loaded == NULL ? load(cycle, hierarchy) : loaded;
}

YqLoadedCluster *
yq_allocation_cycle_run(const YqAllocationCycle *cycle)
{
	YqLoadedCluster *loaded;
	bool		knew_nodes;

	yq_cluster_check_charging();
	if (cycle->is_dry)
		return run_dry(cycle);
	PreventCommandIfReadOnly("an allocation cycle");
	knew_nodes = prepare_and_lock(cycle);
	yq_queue_lock_configuration(RowExclusiveLock);
	yq_container_updates_tidy(yq_hierarchy_in_force());
	(void) yq_release_expired(yq_hierarchy_in_force());
	if (cycle->nodes == NULL)
		restart_lost_masters(yq_hierarchy_in_force());
	for (bool is_first = true;; is_first = false)
	{
		loaded = find_cluster(cycle, knew_nodes);
		check_unknown_nodes(cycle, loaded->cluster);
		assign(cycle, loaded);
		if (try_to_write_down(loaded, is_first))
			return loaded;
		/* the cached cluster lacks some of the recorded changes, so it cannot be kept */
		loaded->is_overtaken = true;
		yq_allocation_cycle_end(loaded);
	}
}

void
yq_allocation_cycle_end(YqLoadedCluster *loaded)
{
	if (loaded->is_kept)
		yq_cluster_cache_end_cycle(loaded);
	else
		MemoryContextDelete(loaded->cluster->context);
}
