/*-------------------------------------------------------------------------
 *
 * cluster_applications.c
 *	  Reading of applications into a cluster, with their requests and reservations.
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

/*
 * Key of requests for application masters.  The priority is YARN's AM_CONTAINER_PRIORITY;
 * the request has no id.
 */
#define MASTER_PRIORITY 0
#define MASTER_REQUEST_ID (-1)

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
	APPLICATION_COUNTERS,		/* first of three columns */
	APPLICATION_IS_HELD = APPLICATION_COUNTERS + 3
};

static void
set_counters(const YqLoaderRow *row, YqSchedulerKey *key, int first)
{
	key->opportunities = DatumGetInt64(yq_loader_value(row, first));
	key->missed_non_partitioned = DatumGetInt64(yq_loader_value(row, first + 1));
	key->re_reservations = DatumGetInt64(yq_loader_value(row, first + 2));
	key->written = (YqRequestCounters) {key->opportunities, key->missed_non_partitioned, key->re_reservations};
}

/*
 * Add a request for the container of the application master.  It has its own scheduler key,
 * and any node may serve it.
 */
static void
request_am_container(const YqLoaderRow *row, YqClusterApplication *application)
{
	YqSchedulerKey *key = yq_cluster_add_key(row->loader->cluster, application, MASTER_PRIORITY,
											 MASTER_REQUEST_ID, yq_loader_label(row, APPLICATION_LABEL));

	set_counters(row, key, APPLICATION_COUNTERS);
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

	if (leaf == NULL)
		yq_loaded_note_stray(loader->loaded, yq_bytes_of_string(path));
	if (leaf == NULL || !leaf->is_leaf)
		return;
	id = yq_loader_text(row, APPLICATION_ID);
	/* if no project pays, charging would refuse the container */
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
	yq_loader_note_application(loader, id, application);
	loader->added = yq_loader_append(loader, loader->added, application);
	yq_loaded_note_stale(loader->loaded, leaf);
}

#define LOOK_UP_APPLICATIONS(condition) \
	"SELECT a.application_id, a.username, a.queue, a.label, a.node_label_expression, a.am_resource, a.priority, a.unmanaged, " \
	"a.submitted_at, a.has_outstanding_requests, a.attempt, a.next_container, a.am_container_id, a.project, a.has_project, " \
	"a.opportunities, a.missed_non_partitioned, a.re_reservations, " YQ_IS_HELD(YQ_ROUND_SCHEDULE, "a.application_id") " " \
	"FROM yquota_internal.application_attempt_state AS a WHERE a.state = 'ACTIVE' AND a.finished_at IS NULL " condition

/* Read the applications with ids in an array, or all applications if the array is NULL. */
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

/* -- requests -------------------------------------------------------------- */

/*
 * Columns of the statements about requests, updates and reservations, numbered from 1.
 * Each statement has further columns.
 */
enum
{
	KEY_APPLICATION_ID = 1,
	KEY_PRIORITY,
	KEY_ALLOCATION_REQUEST_ID,
	KEY_COUNTERS,				/* first of three columns */
	KEY_FURTHER = KEY_COUNTERS + 3
};

#define KEY_COLUMNS(row) \
	"SELECT " row ".application_id, " row ".priority, " row ".allocation_request_id, " \
	row ".opportunities, " row ".missed_non_partitioned, " row ".re_reservations, "

enum
{
	REQUEST_RESOURCE_NAME = KEY_FURTHER,
	REQUEST_COUNT,
	REQUEST_ALLOCATION,
	REQUEST_RELAX_LOCALITY,
	REQUEST_LABEL
};

enum
{
	UPDATE_CONTAINER_ID = KEY_FURTHER,
	UPDATE_IS_PROMOTION,
	UPDATE_NODE,
	UPDATE_RACK,
	UPDATE_LABEL,
	UPDATE_MISSING,
	UPDATE_PRESENT,
	UPDATE_IS_HELD
};

enum
{
	RESERVATION_NODE = KEY_FURTHER,
	RESERVATION_CONTAINER_ID,
	RESERVATION_ALLOCATION,
	RESERVATION_CONTAINER_TO_UPDATE
};

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
 * Find the key of a row.  The rows are sorted by application and key.  The row therefore belongs to
 * the key that was added last, or to a key that existed before the application's first row was
 * read.  Returns NULL if no such key exists.
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
	/*
	 * let every cycle read the application again, because the missing amount depends on the
	 * container's allocation, whose changes are in no journal
	 */
	loader->loaded->unsettled = yq_loader_append(loader, loader->loaded->unsettled, yq_loader_text(row, KEY_APPLICATION_ID));
	return update;
}

static YqSchedulerKey *
get_key(const YqLoaderRow *row, YqClusterApplication *application, const char *container_to_update)
{
	int32		priority = DatumGetInt32(yq_loader_value(row, KEY_PRIORITY));
	int64		allocation_request_id = DatumGetInt64(yq_loader_value(row, KEY_ALLOCATION_REQUEST_ID));
	YqSchedulerKey *key = find_key(row->loader, application, priority, allocation_request_id, container_to_update);

	if (key == NULL)
	{
		key = yq_cluster_add_key(row->loader->cluster, application, priority, allocation_request_id, 0);
		if (container_to_update != NULL)
			key->update = make_update(row, container_to_update);
		set_counters(row, key, KEY_COUNTERS);
	}
	return key;
}

static void
read_request(const YqLoaderRow *row)
{
	YqClusterLoader	   *loader = row->loader;
	YqClusterApplication *application = yq_loader_application(loader, TextDatumGetCString(yq_loader_value(row, KEY_APPLICATION_ID)));
	char	   *name = TextDatumGetCString(yq_loader_value(row, REQUEST_RESOURCE_NAME));
	bool		is_anywhere = strcmp(name, "*") == 0;
	YqSchedulerKey *key;
	YqResourceRequest *request;

	if (application == NULL)
		return;
	key = get_key(row, application, NULL);
	if (is_anywhere)
		key->label = yq_loader_label(row, REQUEST_LABEL);
	request = yq_cluster_add_request(loader->cluster, key,
									 is_anywhere ? YQ_ANYWHERE : yq_cluster_name(loader->cluster, name),
									 DatumGetInt32(yq_loader_value(row, REQUEST_COUNT)), yq_loader_amounts(row, REQUEST_ALLOCATION),
									 DatumGetBool(yq_loader_value(row, REQUEST_RELAX_LOCALITY)));
	request->source = yq_loader_text(row, REQUEST_RESOURCE_NAME);
}

#define LOOK_UP_REQUESTS(condition) \
	KEY_COLUMNS("r") "r.resource_name, r.count, r.allocation, r.relax_locality, r.label " \
	"FROM yquota_internal.counted_request AS r " condition \
	"ORDER BY r.application_id, r.priority, r.allocation_request_id"

static void
read_requests(YqClusterLoader *loader, Datum *ids)
{
	static YqSavedPlan look_up_all = {.command = LOOK_UP_REQUESTS("")};
	static YqSavedPlan look_up_some = {
		.command = LOOK_UP_REQUESTS("WHERE r.application_id = ANY ($1) "),
		.types = {"_text"},
		.plans_once = true
	};

	loader->sorted = NULL;
	yq_loader_read(loader, ids == NULL ? &look_up_all : &look_up_some, ids, read_request);
}

/* Add a request for the missing amount on the node of the running container. */
static void
request_update(const YqLoaderRow *row, YqSchedulerKey *key, const int64 *amounts)
{
	YqCluster  *cluster = row->loader->cluster;

	(void) yq_cluster_add_request(cluster, key, yq_cluster_name(cluster, yq_loader_text(row, UPDATE_NODE)), 1,
								  amounts, false);
	if (!yq_loader_is_null(row, UPDATE_RACK))
		(void) yq_cluster_add_request(cluster, key, yq_cluster_name(cluster, yq_loader_text(row, UPDATE_RACK)), 1,
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
	YqClusterApplication *application = yq_loader_application(loader, TextDatumGetCString(yq_loader_value(row, KEY_APPLICATION_ID)));
	int64	   *missing = yq_loader_amounts(row, UPDATE_MISSING);
	int64	   *present = yq_loader_amounts(row, UPDATE_PRESENT);
	int64	   *afterwards;
	YqContainerUpdate *update;
	YqSchedulerKey *key;

	if (application == NULL)
		return;
	if (DatumGetBool(yq_loader_value(row, UPDATE_IS_HELD)))
	{
		loader->loaded->unsettled = yq_loader_append(loader, loader->loaded->unsettled, yq_loader_text(row, KEY_APPLICATION_ID));
		return;
	}
	key = yq_cluster_add_key(loader->cluster, application, DatumGetInt32(yq_loader_value(row, KEY_PRIORITY)),
							 DatumGetInt64(yq_loader_value(row, KEY_ALLOCATION_REQUEST_ID)), yq_loader_label(row, UPDATE_LABEL));
	update = make_update(row, yq_loader_text(row, UPDATE_CONTAINER_ID));
	update->is_promotion = DatumGetBool(yq_loader_value(row, UPDATE_IS_PROMOTION));
	update->present = copy_loaded_amounts(loader, present);
	update->allocation = afterwards = copy_loaded_amounts(loader, present);
	if (!update->is_promotion)
		yq_amounts_add(loader->cluster->calculator, afterwards, missing);
	key->update = update;
	set_counters(row, key, KEY_COUNTERS);
	request_update(row, key, missing);
}

#define LOOK_UP_UPDATES(condition) \
	KEY_COLUMNS("u") "u.container_id, u.is_promotion, u.node, u.rack, u.label, u.missing, u.present, " \
	YQ_IS_HELD(YQ_ROUND_SCHEDULE, "u.container_id") " FROM yquota_internal.waiting_update AS u " condition

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

/* Return the number at the end of a container id. */
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
	YqClusterApplication *application = yq_loader_application(loader, TextDatumGetCString(yq_loader_value(row, KEY_APPLICATION_ID)));
	YqClusterNode *node = yq_cluster_node(cluster, TextDatumGetCString(yq_loader_value(row, RESERVATION_NODE)));
	int64	   *amounts = yq_loader_amounts(row, RESERVATION_ALLOCATION);

	if (application == NULL || node == NULL)
		return;
	if (node->reservation != NULL)
	{
		loader->is_contradictory = true;
		return;
	}
	(void) yq_cluster_add_reservation(cluster, get_key(row, application, yq_loader_text(row, RESERVATION_CONTAINER_TO_UPDATE)), node,
									  container_number(TextDatumGetCString(yq_loader_value(row, RESERVATION_CONTAINER_ID))), amounts);
}

#define LOOK_UP_RESERVATIONS(condition) \
	KEY_COLUMNS("r") "r.node, r.container_id, r.allocation, r.container_to_update " \
	"FROM yquota_internal.counted_reservation AS r " condition \
	"ORDER BY r.application_id, r.priority, r.allocation_request_id, r.container_to_update, r.node"

/*
 * Read the reservations.  drop_void_reservations() in allocation_cycle.c has deleted reservations
 * that are no longer valid, except in a dry run.
 */
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

/* Remove an application as if it had not been read. */
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

/* Has the cycle served all containers of the request, and deleted the row of the request? */
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
