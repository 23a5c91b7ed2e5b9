/*-------------------------------------------------------------------------
 *
 * cycle_change.c
 *	  Applying what cycles of other sessions have left of requests and
 *	  reservations.
 *
 * A cluster that has followed equals one that is loaded anew: what becomes of
 * an application is what its own cycle makes of it when it ends
 * (yq_cluster_settle_application()).
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "miscadmin.h"
#include "scheduler/load/cluster_load.h"
#include "scheduler/load/cycle_change.h"
#include "scheduler/load/loader.h"
#include "scheduler/state/limits.h"

typedef struct Following
{
	YqLoadedCluster *loaded;
	List	   *followed;		/* YqClusterApplication that have changed */
} Following;

static void
note_followed(Following *following, YqClusterApplication *application)
{
	if (yq_loaded(application)->is_followed)
		return;
	yq_loaded(application)->is_followed = true;
	following->followed = lappend(following->followed, application);
}

/* -- requests ----------------------------------------------------------------- */

/* The request of a key by the name of its row; NULL when no row asks. */
static YqResourceRequest *
find_request(YqCluster *cluster, YqSchedulerKey *key, const char *resource_name)
{
	YqResourceRequest *request = strcmp(resource_name, "*") == 0 ? &key->anywhere :
		yq_scheduler_key_request(key, yq_cluster_name(cluster, resource_name));

	return request == NULL || request->source == NULL ? NULL : request;
}

/* As serve_requests() of decide/commit_proposal.c changes it. */
static void
set_count(YqCluster *cluster, YqSchedulerKey *key, YqResourceRequest *request, int64 count)
{
	if (request == &key->anywhere && key->label >= 0)
		yq_pending_change(cluster, key->application, key->label, request->amounts, count - request->count);
	if (request->count > 0 && count == 0)
		key->unique_requests--;
	request->count = count;
	request->is_changed = true;
}

/* False when the cluster has no such request. */
static bool
apply_to_request(YqCluster *cluster, YqSchedulerKey *key, const YqCycleChange *change)
{
	if (change->resource_name != NULL)
	{
		YqResourceRequest *request = find_request(cluster, key, change->resource_name);

		if (request == NULL)
			return false;
		set_count(cluster, key, request, change->count);
	}
	key->opportunities = change->counters.opportunities;
	key->missed_non_partitioned = change->counters.missed_non_partitioned;
	key->re_reservations = change->counters.re_reservations;
	return true;
}

/* -- reservations --------------------------------------------------------------- */

static void
remove_present_reservation(Following *following, const YqClusterNode *node)
{
	YqReservation *reservation = node->reservation;

	if (reservation == NULL)
		return;
	note_followed(following, reservation->key->application);
	yq_cluster_remove_reservation(following->loaded->cluster, reservation);
}

/* NULL: no key has a reservation there, or none that is known. */
static void
apply_to_node(Following *following, YqSchedulerKey *key, const YqCycleChange *change)
{
	YqCluster  *cluster = following->loaded->cluster;
	YqClusterNode *node = yq_cluster_node(cluster, change->node);

	/* a node that one of two sessions alone knows is a change of the hierarchy */
	if (node == NULL)
		return;
	remove_present_reservation(following, node);
	if (key != NULL)
		(void) yq_cluster_add_reservation(cluster, key, node, change->container, change->amounts);
}

/* -- changes ------------------------------------------------------------------- */

static YqSchedulerKey *
find_changed_key(Following *following, const YqCycleChange *change)
{
	YqClusterApplication *application = change->application_id == NULL ? NULL :
		yq_loader_application(following->loaded->loader, change->application_id);

	if (application == NULL)
		return NULL;
	note_followed(following, application);
	return yq_cluster_find_key(application, application->key_count, change->priority, change->allocation_request_id, NULL);
}

/* False when the cluster does not have what the change is about. */
static bool
apply_change(Following *following, const YqCycleChange *change)
{
	YqSchedulerKey *key = find_changed_key(following, change);

	if (change->node != NULL)
		apply_to_node(following, key, change);
	if (key == NULL)
		return change->application_id == NULL;
	key->application->next_container = yq_loaded(key->application)->next_container = change->next_container;
	return change->node != NULL || apply_to_request(following->loaded->cluster, key, change);
}

/* Without demand it activates its user no more, as end_demand() of record_decisions.c writes it. */
static void
settle(YqLoadedCluster *loaded, YqClusterApplication *application)
{
	yq_cluster_settle_application(loaded, application);
	application->is_demanding = yq_cluster_wanted_key(application, 0) < application->key_count;
	application->activates_user = application->activates_user && application->is_demanding;
	yq_loaded(application)->is_followed = false;
}

static int
compare_log_positions(const ListCell *a, const ListCell *b)
{
	XLogRecPtr	left = ((const YqCycleChange *) lfirst(a))->log_position;
	XLogRecPtr	right = ((const YqCycleChange *) lfirst(b))->log_position;

	return left < right ? -1 : left > right;
}

List *
yq_cluster_follow_cycles(YqLoadedCluster *loaded, List *changes)
{
	Following	following = {.loaded = loaded};
	List	   *unlike = NIL;
	ListCell   *cell;

	list_sort(changes, compare_log_positions);
	foreach(cell, changes)
	{
		const YqCycleChange *change = lfirst(cell);

		CHECK_FOR_INTERRUPTS();
		if (!apply_change(&following, change))
			unlike = lappend(unlike, unconstify(char *, change->application_id));
	}
	foreach(cell, following.followed)
		settle(loaded, lfirst(cell));
	list_free(following.followed);
	return unlike;
}
