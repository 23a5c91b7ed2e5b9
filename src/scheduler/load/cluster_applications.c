/*-------------------------------------------------------------------------
 *
 * cluster_applications.c
 *	  Applications of a cluster from the tables: their requests and
 *	  reservations.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "base/settings.h"
#include "queues/hierarchy.h"
#include "queues/text.h"
#include "scheduler/load/cluster_load.h"
#include "scheduler/load/held_subjects.h"
#include "scheduler/load/loaded_cluster.h"
#include "scheduler/load/user_containers.h"
#include "store/catalog.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

/* The request for an AM container: YARN's AM_CONTAINER_PRIORITY, without a request id. */
#define MASTER_PRIORITY 0
#define MASTER_REQUEST_ID (-1)

typedef struct ApplicationEntry
{
	YqBytes		key;
	YqClusterApplication *application;
} ApplicationEntry;

/* -- applications ----------------------------------------------------------- */

enum
{
	APPLICATION_ID = 1,
	APPLICATION_USERNAME,
	APPLICATION_QUEUE,
	APPLICATION_LABEL,
	APPLICATION_NODE_LABEL_EXPRESSION,
	APPLICATION_AM_RESOURCE,
	APPLICATION_PRIORITY,
	APPLICATION_UNMANAGED,
	APPLICATION_SUBMITTED_AT,
	APPLICATION_HAS_OUTSTANDING_REQUESTS,
	APPLICATION_ATTEMPT,
	APPLICATION_NEXT_CONTAINER,
	APPLICATION_AM_CONTAINER_ID,
	APPLICATION_PROJECT,
	APPLICATION_HAS_PROJECT,
	APPLICATION_IS_HELD,
	APPLICATION_OPPORTUNITIES,
	APPLICATION_MISSED_NON_PARTITIONED,
	APPLICATION_RE_RESERVATIONS
};

static void
set_counters(const YqLoaderRow *row, YqSchedulerKey *key, int first)
{
	key->opportunities = DatumGetInt64(yq_loader_value(row, first));
	key->missed_non_partitioned = DatumGetInt64(yq_loader_value(row, first + 1));
	key->re_reservations = DatumGetInt64(yq_loader_value(row, first + 2));
	key->written = (YqRequestCounters) {key->opportunities, key->missed_non_partitioned, key->re_reservations};
}

/* The container of its application master is asked for by itself, anywhere. */
static void
request_am_container(const YqLoaderRow *row, YqClusterApplication *application)
{
	YqSchedulerKey *key = yq_cluster_add_key(row->loader->cluster, application, MASTER_PRIORITY,
											 MASTER_REQUEST_ID, yq_loader_label(row, APPLICATION_LABEL));

	set_counters(row, key, APPLICATION_OPPORTUNITIES);
	(void) yq_cluster_add_request(row->loader->cluster, key, YQ_ANYWHERE, 1,
								  yq_loader_amounts(row, APPLICATION_AM_RESOURCE), true);
}

static YqLoadedApplication *
make_source(const YqLoaderRow *row)
{
	YqLoadedApplication *source = MemoryContextAlloc(row->loader->cluster->context, sizeof(YqLoadedApplication));

	source->project = yq_loader_text(row, APPLICATION_PROJECT);
	source->attempt = yq_loader_is_null(row, APPLICATION_ATTEMPT) ? 1 : DatumGetInt32(yq_loader_value(row, APPLICATION_ATTEMPT));
	source->is_gone = source->is_decided = source->holds_elsewhere = false;
	source->has_other_changes = source->is_followed = false;
	source->read_below = 0;
	source->renumbered = NULL;
	source->master = NULL;
	return source;
}

static void
note_left_out(YqClusterLoader *loader, List **list, char *id, YqClusterQueue *leaf)
{
	MemoryContext caller = MemoryContextSwitchTo(loader->cluster->context);
	YqClusterApplication *application = palloc0(sizeof(YqClusterApplication));

	application->application_id = id;
	application->leaf = leaf;
	*list = lappend(*list, application);
	MemoryContextSwitchTo(caller);
	loader->loaded->unsettled = yq_loader_append(loader, loader->loaded->unsettled, id);
}

static void
read_application(const YqLoaderRow *row)
{
	YqClusterLoader	   *loader = row->loader;
	const char *path = TextDatumGetCString(yq_loader_value(row, APPLICATION_QUEUE));
	YqClusterQueue *leaf = yq_cluster_queue(loader->cluster, path);
	YqClusterApplication *application;
	char	   *id;
	bool		found;

	if (leaf == NULL)
		yq_loaded_note_stray(loader->loaded, yq_bytes_of_string(path));
	if (leaf == NULL || !leaf->is_leaf)
		return;
	id = yq_loader_text(row, APPLICATION_ID);
	/* charging would refuse a container without a payer */
	if (!DatumGetBool(yq_loader_value(row, APPLICATION_HAS_PROJECT)) && !yq_auto_create_project)
	{
		note_left_out(loader, &loader->loaded->unpaid, id, leaf);
		return;
	}
	if (DatumGetBool(yq_loader_value(row, APPLICATION_IS_HELD)))
	{
		note_left_out(loader, &loader->loaded->refused, id, leaf);
		return;
	}
	application = yq_cluster_add_application(loader->cluster,
											 yq_loaded_user(loader->loaded, leaf,
															TextDatumGetCString(yq_loader_value(row, APPLICATION_USERNAME))),
											 id, DatumGetInt32(yq_loader_value(row, APPLICATION_PRIORITY)));
	application->source = make_source(row);
	if (!yq_loader_is_null(row, APPLICATION_NODE_LABEL_EXPRESSION))
		application->partition = yq_loader_label(row, APPLICATION_NODE_LABEL_EXPRESSION);
	application->activates_user = DatumGetBool(yq_loader_value(row, APPLICATION_HAS_OUTSTANDING_REQUESTS));
	application->submitted_at = DatumGetTimestampTz(yq_loader_value(row, APPLICATION_SUBMITTED_AT));
	if (!yq_loader_is_null(row, APPLICATION_NEXT_CONTAINER))
		application->next_container = DatumGetInt64(yq_loader_value(row, APPLICATION_NEXT_CONTAINER));
	yq_loaded(application)->next_container = application->next_container;
	application->waits_for_master = !DatumGetBool(yq_loader_value(row, APPLICATION_UNMANAGED)) &&
		yq_loader_is_null(row, APPLICATION_AM_CONTAINER_ID);
	if (application->waits_for_master)
		request_am_container(row, application);
	((ApplicationEntry *) yq_bytes_table_enter_kept(loader->applications, (YqBytes) {id, strlen(id)}, &found))->application = application;
	loader->added = yq_loader_append(loader, loader->added, application);
	yq_loaded_note_stale(loader->loaded, leaf);
}

/* The payer is the project that charging finds for an event without a project. */
#define LOOK_UP_APPLICATIONS(condition) \
	"SELECT a.application_id, a.username, a.queue, a.label, a.node_label_expression, a.am_resource, a.priority, a.unmanaged, " \
	"a.submitted_at, a.has_outstanding_requests, t.attempt, t.next_container, t.am_container_id, " \
	"p.name, " \
	"EXISTS (SELECT FROM yquota.project AS known WHERE known.name = p.name), " \
	YQ_IS_HELD(YQ_ROUND_SCHEDULE, "a.application_id") ", " \
	"c.opportunities, c.missed_non_partitioned, c.re_reservations " \
	"FROM yquota.application AS a " \
	"LEFT JOIN yquota_internal.application_attempt AS t ON t.application_id = a.application_id " \
	"LEFT JOIN yquota_internal.request_counter AS c ON c.application_id = a.application_id " \
	"AND c.priority = 0 AND c.allocation_request_id = -1 AND c.execution_type = 'GUARANTEED', " \
	"LATERAL (SELECT COALESCE(a.project, pg_catalog.split_part(a.username, '__', 1)) AS name) AS p " \
	"WHERE a.state = 'ACTIVE' AND a.finished_at IS NULL " condition

/* Of some ids, or (NULL) all. */
static void
read_applications(YqClusterLoader *loader, Datum *ids)
{
	static YqSavedPlan look_up_all = {.command = LOOK_UP_APPLICATIONS("")};
	static YqSavedPlan look_up_some = {
		.command = LOOK_UP_APPLICATIONS("AND a.application_id = ANY ($1)"),
		.types = {"_text"},
		.plans_once = true
	};

	yq_loader_read(loader, ids == NULL ? &look_up_all : &look_up_some, ids, read_application);
}

YqClusterApplication *
yq_loader_application(const YqClusterLoader *loader, const char *id)
{
	YqBytes		key = yq_bytes_of_string(id);
	const ApplicationEntry *entry = yq_bytes_table_find(loader->applications, key);

	return entry == NULL ? NULL : entry->application;
}

/* -- requests -------------------------------------------------------------- */

static bool
is_key_of(const YqSchedulerKey *key, int32 priority, int64 allocation_request_id, const char *container_to_update)
{
	if (key->priority != priority || key->allocation_request_id != allocation_request_id)
		return false;
	if (key->update == NULL || container_to_update == NULL)
		return key->update == NULL && container_to_update == NULL;
	return strcmp(key->update->container_id, container_to_update) == 0;
}

/*
 * Rows come application by application, and key by key: it is the last one, one of those that
 * were there before the first row of the application came, or none.
 */
static YqSchedulerKey *
find_key(YqClusterLoader *loader, YqClusterApplication *application, int32 priority, int64 allocation_request_id,
		 const char *container_to_update)
{
	if (application->key_count > 0)
	{
		YqSchedulerKey *last = application->keys[application->key_count - 1];

		if (is_key_of(last, priority, allocation_request_id, container_to_update))
			return last;
	}
	if (loader->sorted != application)
	{
		yq_cluster_sort_keys(application);
		loader->sorted = application;
		loader->sorted_keys = application->key_count;
	}
	return yq_cluster_find_key(application, loader->sorted_keys, priority, allocation_request_id, container_to_update);
}

static YqContainerUpdate *
make_update(const YqLoaderRow *row, const char *container_id)
{
	YqClusterLoader	   *loader = row->loader;
	YqContainerUpdate *update = MemoryContextAllocZero(loader->cluster->context, sizeof(YqContainerUpdate));

	update->container_id = container_id;
	/* the missing amount depends on the container's allocation, whose changes are not logged */
	loader->loaded->unsettled = yq_loader_append(loader, loader->loaded->unsettled, yq_loader_text(row, 1));
	return update;
}

static YqSchedulerKey *
get_key(const YqLoaderRow *row, YqClusterApplication *application, const char *container_to_update, int first_counter)
{
	int32		priority = DatumGetInt32(yq_loader_value(row, 2));
	int64		allocation_request_id = DatumGetInt64(yq_loader_value(row, 3));
	YqSchedulerKey *key = find_key(row->loader, application, priority, allocation_request_id, container_to_update);

	if (key == NULL)
	{
		key = yq_cluster_add_key(row->loader->cluster, application, priority, allocation_request_id, 0);
		if (container_to_update != NULL)
			key->update = make_update(row, container_to_update);
		set_counters(row, key, first_counter);
	}
	return key;
}

static void
read_request(const YqLoaderRow *row)
{
	YqClusterLoader	   *loader = row->loader;
	YqClusterApplication *application = yq_loader_application(loader, TextDatumGetCString(yq_loader_value(row, 1)));
	char	   *name = TextDatumGetCString(yq_loader_value(row, 4));
	bool		is_anywhere = strcmp(name, "*") == 0;
	YqSchedulerKey *key;
	YqResourceRequest *request;

	if (application == NULL)
		return;
	key = get_key(row, application, NULL, 9);
	if (is_anywhere)
		key->label = yq_loader_label(row, 8);
	request = yq_cluster_add_request(loader->cluster, key,
									 is_anywhere ? YQ_ANYWHERE : yq_cluster_name(loader->cluster, name),
									 DatumGetInt32(yq_loader_value(row, 5)), yq_loader_amounts(row, 6),
									 DatumGetBool(yq_loader_value(row, 7)));
	request->source = yq_loader_text(row, 4);
}

#define LOOK_UP_REQUESTS(condition) \
	"SELECT r.application_id, r.priority, r.allocation_request_id, r.resource_name, r.count, r.allocation, " \
	"r.relax_locality, r.label, c.opportunities, c.missed_non_partitioned, c.re_reservations " \
	"FROM yquota.resource_request AS r " \
	"LEFT JOIN yquota_internal.request_counter AS c USING (application_id, priority, allocation_request_id, execution_type) " \
	"WHERE execution_type = 'GUARANTEED' " condition \
	"ORDER BY r.application_id, r.priority, r.allocation_request_id"

static void
read_requests(YqClusterLoader *loader, Datum *ids)
{
	static YqSavedPlan look_up_all = {.command = LOOK_UP_REQUESTS("")};
	static YqSavedPlan look_up_some = {
		.command = LOOK_UP_REQUESTS("AND r.application_id = ANY ($1) "),
		.types = {"_text"},
		.plans_once = true
	};

	loader->sorted = NULL;
	yq_loader_read(loader, ids == NULL ? &look_up_all : &look_up_some, ids, read_request);
}

/* Request one container of the missing amount on the node of the running container. */
static void
request_update(const YqLoaderRow *row, YqSchedulerKey *key, const int64 *amounts)
{
	YqCluster  *cluster = row->loader->cluster;

	(void) yq_cluster_add_request(cluster, key, yq_cluster_name(cluster, yq_loader_text(row, 6)), 1,
								  amounts, false);
	if (!yq_loader_is_null(row, 7))
		(void) yq_cluster_add_request(cluster, key, yq_cluster_name(cluster, yq_loader_text(row, 7)), 1,
									  amounts, false);
	(void) yq_cluster_add_request(cluster, key, YQ_ANYWHERE, 1, amounts, false);
}

static int64 *
copy_loaded_amounts(const YqClusterLoader *loader, const int64 *amounts)
{
	return memcpy(MemoryContextAlloc(loader->cluster->context, sizeof(int64) * YQ_MAX_RESOURCE_TYPES),
				  amounts, sizeof(int64) * loader->hierarchy->calculator.types);
}

static void
read_update(const YqLoaderRow *row)
{
	YqClusterLoader	   *loader = row->loader;
	YqClusterApplication *application = yq_loader_application(loader, TextDatumGetCString(yq_loader_value(row, 1)));
	int64	   *missing = yq_loader_amounts(row, 9);
	int64	   *present = yq_loader_amounts(row, 10);
	int64	   *afterwards;
	YqContainerUpdate *update;
	YqSchedulerKey *key;

	if (application == NULL)
		return;
	if (DatumGetBool(yq_loader_value(row, 14)))
	{
		loader->loaded->unsettled = yq_loader_append(loader, loader->loaded->unsettled, yq_loader_text(row, 1));
		return;
	}
	key = yq_cluster_add_key(loader->cluster, application, DatumGetInt32(yq_loader_value(row, 2)),
							 DatumGetInt64(yq_loader_value(row, 3)), yq_loader_label(row, 8));
	update = make_update(row, yq_loader_text(row, 4));
	update->is_promotion = DatumGetBool(yq_loader_value(row, 5));
	update->present = copy_loaded_amounts(loader, present);
	update->allocation = afterwards = copy_loaded_amounts(loader, present);
	if (!update->is_promotion)
		yq_amounts_add(loader->cluster->calculator, afterwards, missing);
	key->update = update;
	set_counters(row, key, 11);
	request_update(row, key, missing);
}

#define LOOK_UP_UPDATES(condition) \
	"SELECT u.application_id, u.priority, u.allocation_request_id, u.container_id, " \
	"u.update_type = 'PROMOTE_EXECUTION_TYPE', u.node, n.rack, u.label, u.allocation, c.allocation, " \
	"u.opportunities, u.missed_non_partitioned, u.re_reservations, " YQ_IS_HELD(YQ_ROUND_SCHEDULE, "u.container_id") " " \
	"FROM yquota.container_update AS u " \
	"JOIN yquota.container AS c ON c.container_id = u.container_id " \
	"LEFT JOIN yquota.node AS n ON n.name = u.node " condition

static void
read_updates(YqClusterLoader *loader, Datum *ids)
{
	static YqSavedPlan look_up_all = {.command = LOOK_UP_UPDATES("")};
	static YqSavedPlan look_up_some = {
		.command = LOOK_UP_UPDATES("WHERE u.application_id = ANY ($1)"),
		.types = {"_text"},
		.plans_once = true
	};

	if (!yq_table_has_no_pages(YQ_CONTAINER_UPDATE_TABLE))
		yq_loader_read(loader, ids == NULL ? &look_up_all : &look_up_some, ids, read_update);
}

static void
read_blacklisted(const YqLoaderRow *row)
{
	YqClusterLoader	   *loader = row->loader;
	YqClusterApplication *application = yq_loader_application(loader, TextDatumGetCString(yq_loader_value(row, 1)));

	if (application != NULL)
		yq_cluster_add_to_blacklist(loader->cluster, application,
									yq_cluster_name(loader->cluster, TextDatumGetCString(yq_loader_value(row, 2))));
}

static void
read_blacklists(YqClusterLoader *loader, Datum *ids)
{
	static YqSavedPlan look_up_all = {
		.command = "SELECT b.application_id, b.resource_name FROM yquota.blacklist AS b"
	};
	static YqSavedPlan look_up_some = {
		.command = "SELECT b.application_id, b.resource_name FROM yquota.blacklist AS b WHERE b.application_id = ANY ($1)",
		.types = {"_text"},
		.plans_once = true
	};

	if (!yq_table_has_no_pages(YQ_BLACKLIST))
		yq_loader_read(loader, ids == NULL ? &look_up_all : &look_up_some, ids, read_blacklisted);
}

/* -- reservations ----------------------------------------------------------------- */

/* The number that a container id ends with. */
static int64
container_number(const char *container_id)
{
	return strtoll(strrchr(container_id, '_') + 1, NULL, 10);
}

static void
read_reservation(const YqLoaderRow *row)
{
	YqClusterLoader	   *loader = row->loader;
	YqCluster  *cluster = loader->cluster;
	YqClusterApplication *application = yq_loader_application(loader, TextDatumGetCString(yq_loader_value(row, 1)));
	YqClusterNode *node = yq_cluster_node(cluster, TextDatumGetCString(yq_loader_value(row, 4)));
	int64	   *amounts = yq_loader_amounts(row, 6);

	if (application == NULL || node == NULL)
		return;
	if (node->reservation != NULL)
	{
		loader->is_contradictory = true;
		return;
	}
	(void) yq_cluster_add_reservation(cluster, get_key(row, application, yq_loader_text(row, 10), 7), node,
									  container_number(TextDatumGetCString(yq_loader_value(row, 5))), amounts);
}

#define LOOK_UP_RESERVATIONS(condition) \
	"SELECT r.application_id, r.priority, r.allocation_request_id, r.node, r.container_id, r.allocation, " \
	"c.opportunities, c.missed_non_partitioned, c.re_reservations, r.container_to_update " \
	"FROM yquota_internal.reserved_container_in_force AS r " \
	"LEFT JOIN yquota_internal.request_counter AS c ON c.application_id = r.application_id AND c.priority = r.priority " \
	"AND c.allocation_request_id = r.allocation_request_id AND c.execution_type = 'GUARANTEED' " \
	condition \
	"ORDER BY r.application_id, r.priority, r.allocation_request_id, r.container_to_update, r.node"

/* Void ones are dropped before a cycle that is not dry: see allocation_cycle.c. */
static void
read_reservations(YqClusterLoader *loader, Datum *ids)
{
	static YqSavedPlan look_up_all = {.command = LOOK_UP_RESERVATIONS("")};
	static YqSavedPlan look_up_some = {
		.command = LOOK_UP_RESERVATIONS("WHERE r.application_id = ANY ($1) "),
		.types = {"_text"},
		.plans_once = true
	};

	loader->sorted = NULL;
	if (!yq_table_has_no_pages(YQ_RESERVED_CONTAINER))
		yq_loader_read(loader, ids == NULL ? &look_up_all : &look_up_some, ids, read_reservation);
}

/* -- all ------------------------------------------------------------------------------ */

void
yq_loader_read_applications(YqClusterLoader *loader, Datum *ids)
{
	list_free(loader->added);
	loader->added = NIL;
	loader->is_contradictory = false;
	read_applications(loader, ids);
	read_requests(loader, ids);
	read_updates(loader, ids);
	read_blacklists(loader, ids);
	read_reservations(loader, ids);
	yq_user_containers_read(loader);
}

HTAB *
yq_loader_make_applications(const YqCluster *cluster)
{
	return yq_bytes_table_create("yquota applications of a cycle", sizeof(ApplicationEntry), cluster->context);
}

/* -- again ---------------------------------------------------------------------------- */

static void
forget_update(const YqContainerUpdate *update)
{
	if (update == NULL)
		return;
	if (update->allocation != NULL)
	{
		pfree(unconstify(int64 *, update->present));
		pfree(unconstify(int64 *, update->allocation));
	}
	pfree(unconstify(char *, update->container_id));
	pfree(unconstify(YqContainerUpdate *, update));
}

static void
forget_sources(const YqClusterApplication *application)
{
	YqLoadedApplication *source = application->source;

	for (int i = 0; i < application->key_count; i++)
	{
		const YqSchedulerKey *key = application->keys[i];

		forget_update(key->update);
		if (key->anywhere.source != NULL)
			pfree(key->anywhere.source);
		for (int j = 0; j < key->request_count; j++)
		{
			if (key->requests[j].source != NULL)
				pfree(key->requests[j].source);
		}
	}
	if (source->project != NULL)
		pfree(unconstify(char *, source->project));
	pfree(source);
}

/* It is as if it had never been read. */
static void
remove_application(YqLoadedCluster *loaded, const char *id)
{
	YqClusterLoader	   *loader = loaded->loader;
	YqBytes		key = yq_bytes_of_string(id);
	YqClusterApplication *application = yq_loader_application(loader, id);
	char	   *kept_id;

	if (application == NULL)
		return;
	yq_user_containers_remember(loader, application);
	kept_id = unconstify(char *, application->application_id);
	yq_loaded_note_stale(loaded, application->leaf);
	forget_sources(application);
	yq_bytes_table_remove(loader->applications, key);
	yq_cluster_remove_application(loader->cluster, application);
	pfree(kept_id);
}

bool
yq_cluster_reload_applications(YqLoadedCluster *loaded, const List *ids)
{
	YqClusterLoader	   *loader = loaded->loader;
	List	   *unsettled = loaded->unsettled;
	Datum		values[1];
	ListCell   *cell;

	list_free_deep(loaded->unpaid);
	list_free_deep(loaded->refused);
	loaded->unsettled = loaded->unpaid = loaded->refused = NIL;
	ids = list_concat(list_copy(ids), unsettled);
	if (ids == NIL)
		return true;
	yq_user_containers_begin_again(loader);
	foreach(cell, ids)
		remove_application(loaded, lfirst(cell));
	values[0] = yq_array_of_strings(ids);
	yq_loader_read_applications(loader, values);
	foreach(cell, loader->added)
		yq_cluster_prepare_application(loader->cluster, lfirst(cell));
	yq_user_containers_end_again(loader);
	list_free_deep(unsettled);
	return !loader->is_contradictory;
}

/* -- after a cycle --------------------------------------------------------------- */

/* The row has been deleted with the last container that it asked for. */
static bool
is_served(const YqResourceRequest *request)
{
	return request->is_changed && request->count <= 0;
}

static void
forget_request(const YqResourceRequest *request)
{
	if (request->amounts != NULL)
		pfree(unconstify(int64 *, request->amounts));
	if (request->source != NULL)
		pfree(request->source);
}

static void
settle_requests(YqSchedulerKey *key)
{
	int			count = 0;

	for (int i = 0; i < key->request_count; i++)
	{
		if (is_served(&key->requests[i]))
			forget_request(&key->requests[i]);
		else
			key->requests[count++] = key->requests[i];
	}
	key->request_count = count;
	for (int i = 0; i < count; i++)
		key->requests[i].is_changed = false;
	if (is_served(&key->anywhere))
	{
		forget_request(&key->anywhere);
		key->anywhere = (YqResourceRequest) {.name = YQ_ANYWHERE,.relaxes_locality = true};
		key->label = 0;
	}
	key->anywhere.is_changed = false;
}

void
yq_cluster_settle_application(YqLoadedCluster *loaded, YqClusterApplication *application)
{
	for (int i = 0; i < application->key_count; i++)
	{
		YqSchedulerKey *key = application->keys[i];

		settle_requests(key);
		key->is_changed = false;
		key->written = (YqRequestCounters) {key->opportunities, key->missed_non_partitioned, key->re_reservations};
	}
	yq_cluster_drop_empty_keys(application);
	yq_loaded_note_stale(loaded, application->leaf);
}
