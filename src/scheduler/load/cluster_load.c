/*-------------------------------------------------------------------------
 *
 * cluster_load.c
 *	  Loading the cluster from the tables for an allocation cycle, and applying the
 *	  changes of other sessions' cycles.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "admission/application/application.h"
#include "admission/application/leaf_usage.h"
#include "base/settings.h"
#include "miscadmin.h"
#include "queues/hierarchy.h"
#include "queues/text.h"
#include "scheduler/load/cluster_load.h"
#include "scheduler/load/cluster_usage.h"
#include "scheduler/load/loaded_cluster.h"
#include "scheduler/load/user_containers.h"
#include "scheduler/state/limits.h"
#include "store/catalog.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

/* -- cycle change -------------------------------------------------------------- */

/*
 * Applies the changes that cycles of other sessions have made to requests and reservations.
 *
 * The result is the same as loading the cluster again.  In the end, each changed application
 * is settled, as after a cycle of this session (yq_cluster_settle_application()).
 */

typedef struct Following
{
	YqLoadedCluster *loaded;
	List	   *followed;		/* changed applications: YqClusterApplication */
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

/* Find the request of a key by the resource name in a row, or return NULL. */
static YqResourceRequest *
find_request(YqCluster *cluster, YqSchedulerKey *key, const char *resource_name)
{
	YqResourceRequest *request = strcmp(resource_name, "*") == 0 ? &key->anywhere :
		yq_scheduler_key_request(key, yq_cluster_name(cluster, resource_name));

	return request == NULL || request->source == NULL ? NULL : request;
}

/* Change the count of a request as serve_requests() does in decide/commit_proposal.c. */
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

/* Apply a change to a request.  Returns false if the cluster does not contain the request. */
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

/*
 * Let a key have the reservation of a node.  If the key is NULL or unknown, no reservation
 * remains on the node.
 */
static void
apply_to_node(Following *following, YqSchedulerKey *key, const YqCycleChange *change)
{
	YqCluster  *cluster = following->loaded->cluster;
	YqClusterNode *node = yq_cluster_node(cluster, change->node);

	/*
	 * ignore an unknown node: if only the other session knows it, a change of the hierarchy makes
	 * this session load again
	 */
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

/* Apply a change.  Returns false if the cluster does not contain its application, key or request. */
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

/*
 * Settle an application.  An application without demand no longer makes its user active, as
 * end_demand() in record_decisions.c has recorded.
 */
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

/* -- cluster load -------------------------------------------------------------- */

/*
 * A single snapshot reads all usage, because compaction moves rows between tables.  Other
 * data are read with a new snapshot for each statement, so they may be newer than the
 * usage.  The journal (scheduler_journal.h) names what has changed, and a session that keeps
 * the cluster reads it again.
 */

/* -- settings -------------------------------------------------------------- */

/* Columns of the statement, numbered from 1. */
enum
{
	SETTING_NODE_LOCALITY_DELAY = 1,
	SETTING_RACK_LOCALITY_ADDITIONAL_DELAY,
	SETTING_RACK_LOCALITY_FULL_RESET,
	SETTING_CONTINUES_LOOKING,
	SETTING_ASSIGNS_MULTIPLE,
	SETTING_MAXIMUM_CONTAINERS,
	SETTING_MAXIMUM_OFF_SWITCH,
	SETTING_SHARES_WITH_MASTERS
};

static void
read_cluster_setting(const YqLoaderRow *row)
{
	YqClusterSettings *settings = &row->loader->cluster->settings;

	if (!yq_loader_is_null(row, SETTING_NODE_LOCALITY_DELAY))
		settings->node_locality_delay = DatumGetInt32(yq_loader_value(row, SETTING_NODE_LOCALITY_DELAY));
	if (!yq_loader_is_null(row, SETTING_RACK_LOCALITY_ADDITIONAL_DELAY))
		settings->rack_locality_additional_delay = DatumGetInt32(yq_loader_value(row, SETTING_RACK_LOCALITY_ADDITIONAL_DELAY));
	if (!yq_loader_is_null(row, SETTING_RACK_LOCALITY_FULL_RESET))
		settings->rack_locality_full_reset = DatumGetBool(yq_loader_value(row, SETTING_RACK_LOCALITY_FULL_RESET));
	if (!yq_loader_is_null(row, SETTING_CONTINUES_LOOKING))
		settings->continues_looking = DatumGetBool(yq_loader_value(row, SETTING_CONTINUES_LOOKING));
	if (!yq_loader_is_null(row, SETTING_ASSIGNS_MULTIPLE))
		settings->assigns_multiple = DatumGetBool(yq_loader_value(row, SETTING_ASSIGNS_MULTIPLE));
	if (!yq_loader_is_null(row, SETTING_MAXIMUM_CONTAINERS))
		settings->maximum_containers = DatumGetInt32(yq_loader_value(row, SETTING_MAXIMUM_CONTAINERS));
	if (!yq_loader_is_null(row, SETTING_MAXIMUM_OFF_SWITCH))
		settings->maximum_off_switch = DatumGetInt32(yq_loader_value(row, SETTING_MAXIMUM_OFF_SWITCH));
	if (!yq_loader_is_null(row, SETTING_SHARES_WITH_MASTERS))
		settings->shares_with_masters = DatumGetBool(yq_loader_value(row, SETTING_SHARES_WITH_MASTERS));
}

static void
read_cluster_settings(YqClusterLoader *loader)
{
	static YqSavedPlan look_up = {
		.command = "SELECT s.node_locality_delay, s.rack_locality_additional_delay, s.rack_locality_full_reset, "
		"s.reservations_continue_look_all_nodes, s.per_node_heartbeat_multiple_assignments_enabled, "
		"s.per_node_heartbeat_maximum_container_assignments, s.per_node_heartbeat_maximum_offswitch_assignments, "
		"s.node_labels_am_allow_non_exclusive_allocation FROM yquota.scheduler_setting AS s"
	};

	yq_loader_read(loader, &look_up, NULL, read_cluster_setting);
}

static void
read_shared_label(const YqLoaderRow *row)
{
	int			label = yq_loader_label(row, 1);

	if (label > 0)
		row->loader->cluster->shares[label] = true;
}

static void
read_shared_labels(YqClusterLoader *loader)
{
	static YqSavedPlan look_up = {
		.command = "SELECT l.name FROM yquota.node_label AS l WHERE NOT l.exclusive"
	};

	yq_loader_read(loader, &look_up, NULL, read_shared_label);
}

/* -- queues ---------------------------------------------------------------- */

static void
mark_own_partitions(YqClusterQueue *queue, const YqHierarchy *hierarchy, const char *list)
{
	while (*list != '\0')
	{
		Size		blanks = strspn(list, ", \t");
		Size		length = strcspn(list + blanks, ",");
		char	   *name = pnstrdup(list + blanks, length);
		int			label;

		while (length > 0 && (name[length - 1] == ' ' || name[length - 1] == '\t'))
			name[--length] = '\0';
		label = name[0] == '\0' ? -1 : yq_hierarchy_label(hierarchy, name);
		if (label > 0)
			queue->is_own_partition[label] = true;
		list += blanks + strcspn(list + blanks, ",");
	}
}

/* Copy the priorities and ordering policies of the hierarchy to the cluster's queues. */
static void
set_queues(YqClusterLoader *loader)
{
	for (int i = 0; i < loader->hierarchy->queue_count; i++)
	{
		YqClusterQueue *queue = &loader->cluster->queues[i];
		const char *policy = queue->queue->inherited[YQ_INHERITED_ORDERING_POLICY].value;

		queue->priority = queue->queue->priority;
		if (!queue->is_leaf || policy == NULL)
			continue;
		if (strcmp(policy, "fair") == 0)
			queue->policy = queue->queue->weighs_by_size ? YQ_FAIR_BY_SIZE : YQ_FAIR;
		else if (strcmp(policy, "fifo-with-partitions") == 0)
		{
			queue->policy = YQ_FIFO_WITH_PARTITIONS;
			if (queue->queue->own_partitions != NULL)
				mark_own_partitions(queue, loader->hierarchy, queue->queue->own_partitions);
		}
	}
}

/* -- nodes ----------------------------------------------------------------- */

enum
{
	NODE_NAME = 1,
	NODE_RACK,
	NODE_LABEL,
	NODE_TOTAL,
	NODE_IS_ASKED_FOR
};

static void
read_cluster_node(const YqLoaderRow *row)
{
	YqClusterLoader	   *loader = row->loader;
	int			label = yq_loader_label(row, NODE_LABEL);
	char	   *name = yq_loader_text(row, NODE_NAME);

	if (label < 0)
		return;
	(void) yq_cluster_add_node(loader->cluster, name, yq_loader_text(row, NODE_RACK), label, yq_loader_amounts(row, NODE_TOTAL));
	if (DatumGetBool(yq_loader_value(row, NODE_IS_ASKED_FOR)))
	{
		MemoryContext caller = MemoryContextSwitchTo(loader->cluster->context);

		loader->loaded->nodes = lappend(loader->loaded->nodes, name);
		MemoryContextSwitchTo(caller);
	}
}

static void
read_node_count(const YqLoaderRow *row)
{
	row->loader->cluster->node_count = DatumGetInt64(yq_loader_value(row, 1));
}

static void
read_nodes(YqClusterLoader *loader, const char **names, int count)
{
	static YqSavedPlan look_up_all = {
		.command = "SELECT n.name, n.rack, n.label, n.total, true FROM yquota.node AS n "
		"WHERE n.state = 'RUNNING' ORDER BY n.name"
	};
	static YqSavedPlan look_up_some = {
		.command = "SELECT n.name, n.rack, n.label, n.total, n.name = ANY ($1) FROM yquota.node AS n "
		"WHERE n.state = 'RUNNING' AND n.name = ANY ($1 || ARRAY(SELECT r.node FROM yquota.reserved_container AS r)) "
		"ORDER BY n.name",
		.types = {"_text"},
		.plans_once = true
	};
	static YqSavedPlan count_all = {
		.command = "SELECT pg_catalog.count(*) FROM yquota.node AS n WHERE n.state = 'RUNNING'"
	};
	Datum		values[1] = {names == NULL ? (Datum) 0 : yq_array_of_names(names, count)};

	yq_loader_read(loader, names == NULL ? &look_up_all : &look_up_some, values, read_cluster_node);
	yq_loader_read(loader, &count_all, NULL, read_node_count);
}

/* -- users ----------------------------------------------------------------- */

enum
{
	COUNT_QUEUE = 1,
	COUNT_USERNAME,
	COUNT_NON_RUNNABLE,
	COUNT_ACCEPTED,
	COUNT_ACTIVE,
	COUNT_DEMANDING
};

static void
read_container_count(const YqLoaderRow *row)
{
	YqClusterLoader	   *loader = row->loader;
	const char *path = TextDatumGetCString(yq_loader_value(row, COUNT_QUEUE));
	YqClusterQueue *leaf = yq_cluster_queue(loader->cluster, path);
	YqLeafUser	counted = {.username = NULL};
	YqClusterUser *user;

	if (leaf == NULL)
		yq_loaded_note_stray(loader->loaded, yq_bytes_of_string(path));
	if (leaf == NULL || !leaf->is_leaf)
		return;
	user = yq_loaded_user(loader->loaded, leaf, TextDatumGetCString(yq_loader_value(row, COUNT_USERNAME)));
	counted.non_runnable = DatumGetInt64(yq_loader_value(row, COUNT_NON_RUNNABLE));
	counted.accepted = DatumGetInt64(yq_loader_value(row, COUNT_ACCEPTED));
	counted.active = DatumGetInt64(yq_loader_value(row, COUNT_ACTIVE));
	counted.demanding = DatumGetInt64(yq_loader_value(row, COUNT_DEMANDING));
	user->demanding = counted.demanding;
	user->is_active = yq_leaf_user_is_active(&counted);
	yq_loaded_note_stale(loader->loaded, leaf);
}

static void
read_users(YqClusterLoader *loader)
{
	static YqSavedPlan look_up = {
		.command = "SELECT c.queue, c.username, pg_catalog.sum(c.non_runnable), pg_catalog.sum(c.accepted), "
		"pg_catalog.sum(c.active), pg_catalog.sum(c.demanding) "
		"FROM yquota_internal.application_counter AS c GROUP BY c.queue, c.username"
	};

	yq_loader_read(loader, &look_up, NULL, read_container_count);
}

void
yq_cluster_reload_counters(YqLoadedCluster *loaded, const List *queues, const List *usernames)
{
	static YqSavedPlan look_up = {
		.command = "SELECT u.queue, u.username, COALESCE(pg_catalog.sum(c.non_runnable), 0), COALESCE(pg_catalog.sum(c.accepted), 0), "
		"COALESCE(pg_catalog.sum(c.active), 0), COALESCE(pg_catalog.sum(c.demanding), 0) "
		"FROM (SELECT DISTINCT n.* FROM unnest($1, $2) AS n (queue, username)) AS u "
		"LEFT JOIN yquota_internal.application_counter AS c ON c.queue = u.queue AND c.username = u.username "
		"GROUP BY u.queue, u.username",
		.types = {"_text", "_text"},
		.plans_once = true
	};
	Datum		values[2];

	if (queues == NIL)
		return;
	values[0] = yq_array_of_strings(queues);
	values[1] = yq_array_of_strings(usernames);
	yq_loader_read(loaded->loader, &look_up, values, read_container_count);
}

/* -- all ------------------------------------------------------------------------------ */

void
yq_cluster_check_charging(void)
{
	static YqSavedPlan refuse = {
		.command = "SELECT yquota_internal.refuse_while_deferred('decide about containers')"
	};

	if (yq_charging == YQ_CHARGING_DEFERRED)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("the scheduler cannot decide about containers while charging is deferred"),
				 errdetail("Charging maintains the counters that the scheduler uses."),
				 errhint("Set yquota.charging to on.")));
	if (!yq_table_has_no_pages(YQ_DEFERRED_EVENT))
		(void) yq_saved_plan_execute(&refuse, NULL, NULL);
}

static YqClusterLoader *
make_loader(YqHierarchy *hierarchy)
{
	YqCluster  *cluster = yq_cluster_create(hierarchy);
	YqClusterLoader	   *loader = MemoryContextAllocZero(cluster->context, sizeof(YqClusterLoader));

	loader->hierarchy = hierarchy;
	loader->cluster = cluster;
	loader->loaded = MemoryContextAllocZero(cluster->context, sizeof(YqLoadedCluster));
	loader->loaded->cluster = cluster;
	loader->loaded->loader = loader;
	cluster->complete_leaf = yq_user_containers_refresh;
	cluster->source = loader->loaded;
	loader->applications = yq_loader_make_applications(cluster);
	loader->users = yq_loader_make_users(cluster);
	return loader;
}

YqLoadedCluster *
yq_cluster_load(YqHierarchy *hierarchy, const char **nodes, int node_count, Snapshot snapshot)
{
	YqClusterLoader	   *loader = make_loader(hierarchy);

	read_cluster_settings(loader);
	read_shared_labels(loader);
	set_queues(loader);
	read_nodes(loader, nodes, node_count);
	yq_cluster_read_usage(loader->loaded, snapshot);
	read_users(loader);
	yq_cluster_read_killable(loader->loaded, snapshot);
	yq_loader_read_applications(loader, NULL);
	yq_cluster_prepare(loader->cluster);
	yq_loaded_forget_stale(loader->loaded);
	return loader->loaded;
}
