/*-------------------------------------------------------------------------
 *
 * cluster_load.c
 *	  The cluster as the tables have it, for an allocation pass.
 *
 * Each part is one statement with one snapshot, which matters where folding moves
 * rows from one table to another.  Between two of them a container may finish or
 * start outside of the scheduler, as it may after the last one.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "base/bytes_table.h"
#include "base/settings.h"
#include "catalog/pg_type_d.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "queues/application.h"
#include "queues/hierarchy_read.h"
#include "queues/leaf.h"
#include "queues/statement.h"
#include "scheduler/cluster_load.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

/* What AMs ask for by themselves: YARN's AM_CONTAINER_PRIORITY, without a request id. */
#define MASTER_PRIORITY 0
#define MASTER_REQUEST_ID (-1)

typedef struct Loader
{
	YqLoadedCluster *loaded;
	YqCluster  *cluster;
	YqHierarchy *hierarchy;
	HTAB	   *applications;	/* by id */
	HTAB	   *users;			/* by leaf and name */
} Loader;

typedef struct ApplicationEntry
{
	YqBytes		key;
	YqClusterApplication *application;
} ApplicationEntry;

typedef struct UserEntry
{
	YqBytes		key;
	YqClusterUser *user;
} UserEntry;

/* -- rows ------------------------------------------------------------------ */

typedef struct Row
{
	HeapTuple	tuple;
	TupleDesc	descriptor;
	Loader	   *loader;
} Row;

typedef void (*RowReader) (const Row *row);

static bool
is_null(const Row *row, int column)
{
	bool		isnull;

	(void) SPI_getbinval(row->tuple, row->descriptor, column, &isnull);
	return isnull;
}

/* Null is 0, or false. */
static Datum
value_of(const Row *row, int column)
{
	bool		isnull;
	Datum		value = SPI_getbinval(row->tuple, row->descriptor, column, &isnull);

	return isnull ? (Datum) 0 : value;
}

/* A string that lives as long as the cluster, or NULL. */
static char *
text_of(const Row *row, int column)
{
	MemoryContext caller;
	char	   *result;

	if (is_null(row, column))
		return NULL;
	caller = MemoryContextSwitchTo(row->loader->cluster->context);
	result = TextDatumGetCString(value_of(row, column));
	MemoryContextSwitchTo(caller);
	return result;
}

static int64 *
amounts_of(const Row *row, int column)
{
	return yq_hierarchy_read_amounts(row->loader->hierarchy, value_of(row, column));
}

/* The number of a label; -1 when it is gone.  Without labels there is one partition. */
static int
label_of(const Row *row, int column)
{
	const YqHierarchy *hierarchy = row->loader->hierarchy;

	if (!hierarchy->settings.has_node_labels || is_null(row, column))
		return 0;
	return yq_hierarchy_label(hierarchy, TextDatumGetCString(value_of(row, column)));
}

static void
read_rows(Loader *loader, YqStatement *statement, Datum *values, RowReader reader)
{
	MemoryContext scratch;
	uint64		count;

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	count = yq_statement_run(statement, values, NULL);
	scratch = AllocSetContextCreate(CurrentMemoryContext, "yquota rows", ALLOCSET_SMALL_SIZES);
	for (uint64 i = 0; i < count; i++)
	{
		Row			row = {SPI_tuptable->vals[i], SPI_tuptable->tupdesc, loader};
		MemoryContext caller = MemoryContextSwitchTo(scratch);

		CHECK_FOR_INTERRUPTS();
		reader(&row);
		MemoryContextSwitchTo(caller);
		MemoryContextReset(scratch);
	}
	SPI_finish();
}

/* -- settings -------------------------------------------------------------- */

static void
read_setting(const Row *row)
{
	YqClusterSettings *settings = &row->loader->cluster->settings;

	if (!is_null(row, 1))
		settings->node_locality_delay = DatumGetInt32(value_of(row, 1));
	if (!is_null(row, 2))
		settings->rack_locality_additional_delay = DatumGetInt32(value_of(row, 2));
	if (!is_null(row, 3))
		settings->rack_locality_full_reset = DatumGetBool(value_of(row, 3));
	if (!is_null(row, 4))
		settings->continues_looking = DatumGetBool(value_of(row, 4));
	if (!is_null(row, 5))
		settings->assigns_multiple = DatumGetBool(value_of(row, 5));
	if (!is_null(row, 6))
		settings->maximum_containers = DatumGetInt32(value_of(row, 6));
	if (!is_null(row, 7))
		settings->maximum_off_switch = DatumGetInt32(value_of(row, 7));
	if (!is_null(row, 8))
		settings->shares_with_masters = DatumGetBool(value_of(row, 8));
}

static void
read_settings(Loader *loader)
{
	static YqStatement look_up = {
		.command = "SELECT s.node_locality_delay, s.rack_locality_additional_delay, s.rack_locality_full_reset, "
		"s.reservations_continue_look_all_nodes, s.per_node_heartbeat_multiple_assignments_enabled, "
		"s.per_node_heartbeat_maximum_container_assignments, s.per_node_heartbeat_maximum_offswitch_assignments, "
		"s.node_labels_am_allow_non_exclusive_allocation FROM yquota.scheduler_setting AS s"
	};

	read_rows(loader, &look_up, NULL, read_setting);
}

static void
read_shared_label(const Row *row)
{
	int			label = label_of(row, 1);

	if (label > 0)
		row->loader->cluster->shares[label] = true;
}

static void
read_shared_labels(Loader *loader)
{
	static YqStatement look_up = {
		.command = "SELECT l.name FROM yquota.node_label AS l WHERE NOT l.exclusive"
	};

	read_rows(loader, &look_up, NULL, read_shared_label);
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

/* What the hierarchy knows of orders, as the scheduler has it. */
static void
set_queues(Loader *loader)
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

static void
read_node(const Row *row)
{
	Loader	   *loader = row->loader;
	int			label = label_of(row, 3);
	char	   *name = text_of(row, 1);

	if (label < 0)
		return;
	(void) yq_cluster_add_node(loader->cluster, name, text_of(row, 2), label, amounts_of(row, 4));
	if (DatumGetBool(value_of(row, 5)))
	{
		MemoryContext caller = MemoryContextSwitchTo(loader->cluster->context);

		loader->loaded->nodes = lappend(loader->loaded->nodes, name);
		MemoryContextSwitchTo(caller);
	}
}

static void
read_node_usage(const Row *row)
{
	YqClusterNode *node = yq_cluster_node(row->loader->cluster, TextDatumGetCString(value_of(row, 1)));
	int64	   *amounts;

	if (node == NULL)
		return;
	amounts = amounts_of(row, 2);
	for (int i = 0; i < row->loader->hierarchy->calculator.types; i++)
		node->unallocated[i] -= amounts[i];
}

static void
read_node_count(const Row *row)
{
	row->loader->cluster->node_count = DatumGetInt64(value_of(row, 1));
}

static Datum
array_of(const char **names, int count)
{
	Datum	   *elements = palloc(sizeof(Datum) * Max(count, 1));

	for (int i = 0; i < count; i++)
		elements[i] = CStringGetTextDatum(names[i]);
	return PointerGetDatum(construct_array(elements, count, TEXTOID, -1, false, TYPALIGN_INT));
}

/* Only GUARANTEED containers take a node's resources from the scheduler, as SchedulerNode has it. */
static void
read_nodes(Loader *loader, const char **names, int count)
{
	static YqStatement look_up_all = {
		.command = "SELECT n.name, n.rack, n.label, n.total, true FROM yquota.node AS n "
		"WHERE n.state = 'RUNNING' ORDER BY n.name"
	};
	static YqStatement look_up_some = {
		.command = "SELECT n.name, n.rack, n.label, n.total, n.name = ANY ($1) FROM yquota.node AS n "
		"WHERE n.state = 'RUNNING' AND n.name = ANY ($1 || ARRAY(SELECT r.node FROM yquota.reservation AS r)) "
		"ORDER BY n.name",
		.types = {"_text"}
	};
	static YqStatement look_up_usage = {
		.command = "SELECT c.node, c.allocation FROM yquota_internal.node_counter AS c "
		"WHERE c.execution_type = 'GUARANTEED' UNION ALL "
		"SELECT d.node, d.allocation FROM yquota_internal.counter_delta AS d "
		"WHERE d.scope IN ('a', 'n') AND d.execution_type = 'GUARANTEED' AND d.node IS NOT NULL"
	};
	static YqStatement look_up_usage_of_some = {
		.command = "SELECT c.node, c.allocation FROM yquota_internal.node_counter AS c "
		"WHERE c.node = ANY ($1 || ARRAY(SELECT r.node FROM yquota.reservation AS r)) "
		"AND c.execution_type = 'GUARANTEED' UNION ALL "
		"SELECT d.node, d.allocation FROM yquota_internal.counter_delta AS d "
		"WHERE d.scope IN ('a', 'n') AND d.execution_type = 'GUARANTEED' AND d.node IS NOT NULL",
		.types = {"_text"}
	};
	static YqStatement count_all = {
		.command = "SELECT pg_catalog.count(*) FROM yquota.node AS n WHERE n.state = 'RUNNING'"
	};
	Datum		values[1] = {names == NULL ? (Datum) 0 : array_of(names, count)};

	read_rows(loader, names == NULL ? &look_up_all : &look_up_some, values, read_node);
	read_rows(loader, names == NULL ? &look_up_usage : &look_up_usage_of_some, values, read_node_usage);
	read_rows(loader, &count_all, NULL, read_node_count);
}

/* -- users ----------------------------------------------------------------- */

static YqClusterUser *
find_user(Loader *loader, YqClusterQueue *leaf, const char *username)
{
	char	   *name = psprintf("%d %s", leaf->queue->number, username);
	YqBytes		key = {name, strlen(name)};
	bool		found;
	UserEntry  *entry = yq_bytes_table_enter(loader->users, key, loader->cluster->context, &found);

	if (!found)
		entry->user = yq_cluster_add_user(loader->cluster, leaf,
										  MemoryContextStrdup(loader->cluster->context, username),
										  yq_queue_user_weight(leaf->queue, username));
	return entry->user;
}

static void
read_usage(const Row *row)
{
	Loader	   *loader = row->loader;
	YqQueue    *queue = yq_hierarchy_find_by_name(loader->hierarchy, TextDatumGetCString(value_of(row, 1)));
	int			label = label_of(row, 2);
	YqClusterQueue *leaf;

	if (queue == NULL || label < 0)
		return;
	leaf = &loader->cluster->queues[queue->number];
	yq_cluster_add_usage(loader->cluster, leaf,
						 !leaf->is_leaf || is_null(row, 3) ? NULL :
						 find_user(loader, leaf, TextDatumGetCString(value_of(row, 3))),
						 label, amounts_of(row, 4));
}

static void
read_counter(const Row *row)
{
	Loader	   *loader = row->loader;
	YqClusterQueue *leaf = yq_cluster_queue(loader->cluster, TextDatumGetCString(value_of(row, 1)));
	YqLeafUser	counted = {.username = NULL};
	YqClusterUser *user;

	if (leaf == NULL || !leaf->is_leaf)
		return;
	user = find_user(loader, leaf, TextDatumGetCString(value_of(row, 2)));
	counted.non_runnable = DatumGetInt64(value_of(row, 3));
	counted.accepted = DatumGetInt64(value_of(row, 4));
	counted.active = DatumGetInt64(value_of(row, 5));
	counted.demanding = DatumGetInt64(value_of(row, 6));
	user->demanding = counted.demanding;
	user->is_active = yq_leaf_user_is_active(&counted);
}

static void
read_users(Loader *loader)
{
	static YqStatement look_up_usage = {
		.command = "SELECT c.queue, c.label, c.username, c.allocation FROM yquota_internal.usage_counter AS c "
		"WHERE c.execution_type = 'GUARANTEED' AND c.queue IS NOT NULL UNION ALL "
		"SELECT d.queue, d.label, d.username, d.allocation FROM yquota_internal.counter_delta AS d "
		"WHERE d.scope IN ('a', 'u') AND d.execution_type = 'GUARANTEED' AND d.queue IS NOT NULL"
	};
	static YqStatement look_up_counters = {
		.command = "SELECT c.queue, c.username, pg_catalog.sum(c.non_runnable), pg_catalog.sum(c.accepted), "
		"pg_catalog.sum(c.active), pg_catalog.sum(c.demanding) "
		"FROM yquota_internal.application_counter AS c GROUP BY c.queue, c.username"
	};

	read_rows(loader, &look_up_usage, NULL, read_usage);
	read_rows(loader, &look_up_counters, NULL, read_counter);
}

/* -- applications ----------------------------------------------------------- */

enum
{
	APPLICATION_ID = 1,
	APPLICATION_USERNAME,
	APPLICATION_QUEUE,
	APPLICATION_LABEL,
	APPLICATION_AM_RESOURCE,
	APPLICATION_PRIORITY,
	APPLICATION_UNMANAGED,
	APPLICATION_ACTIVATED_AT,
	APPLICATION_ATTEMPT,
	APPLICATION_NEXT_CONTAINER,
	APPLICATION_AM_CONTAINER_ID,
	APPLICATION_PROJECT,
	APPLICATION_HAS_PROJECT,
	APPLICATION_OPPORTUNITIES,
	APPLICATION_MISSED_NON_PARTITIONED,
	APPLICATION_RE_RESERVATIONS
};

static void
set_counters(const Row *row, YqRequestKey *key, int first)
{
	key->opportunities = DatumGetInt64(value_of(row, first));
	key->missed_non_partitioned = DatumGetInt64(value_of(row, first + 1));
	key->re_reservations = DatumGetInt64(value_of(row, first + 2));
	key->written = (YqRequestCounters) {key->opportunities, key->missed_non_partitioned, key->re_reservations};
}

/* The container of its application master is asked for by itself, anywhere. */
static void
ask_for_master(const Row *row, YqClusterApplication *application)
{
	YqRequestKey *key = yq_cluster_add_key(row->loader->cluster, application, MASTER_PRIORITY,
										   MASTER_REQUEST_ID, application->partition);

	set_counters(row, key, APPLICATION_OPPORTUNITIES);
	(void) yq_cluster_add_ask(row->loader->cluster, key, YQ_ANYWHERE, 1,
							  amounts_of(row, APPLICATION_AM_RESOURCE), true);
}

static YqLoadedApplication *
make_source(const Row *row)
{
	YqLoadedApplication *source = MemoryContextAlloc(row->loader->cluster->context, sizeof(YqLoadedApplication));

	source->project = text_of(row, APPLICATION_PROJECT);
	source->attempt = is_null(row, APPLICATION_ATTEMPT) ? 1 : DatumGetInt32(value_of(row, APPLICATION_ATTEMPT));
	source->is_gone = false;
	source->is_decided = false;
	return source;
}

static void
note_unpaid(Loader *loader, const char *id, YqClusterQueue *leaf)
{
	MemoryContext caller = MemoryContextSwitchTo(loader->cluster->context);
	YqClusterApplication *application = palloc0(sizeof(YqClusterApplication));

	application->application_id = id;
	application->leaf = leaf;
	loader->loaded->unpaid = lappend(loader->loaded->unpaid, application);
	MemoryContextSwitchTo(caller);
}

static void
read_application(const Row *row)
{
	Loader	   *loader = row->loader;
	char	   *id = text_of(row, APPLICATION_ID);
	YqBytes		key = {id, strlen(id)};
	YqClusterQueue *leaf = yq_cluster_queue(loader->cluster, TextDatumGetCString(value_of(row, APPLICATION_QUEUE)));
	YqClusterApplication *application;
	MemoryContext caller;
	bool		found;

	if (leaf == NULL || !leaf->is_leaf)
		return;
	/* who goes on without a payer would have its container refused by the door */
	if (!DatumGetBool(value_of(row, APPLICATION_HAS_PROJECT)) && !yq_auto_create_project)
	{
		note_unpaid(loader, id, leaf);
		return;
	}
	application = yq_cluster_add_application(loader->cluster,
											 find_user(loader, leaf, TextDatumGetCString(value_of(row, APPLICATION_USERNAME))),
											 id, DatumGetInt32(value_of(row, APPLICATION_PRIORITY)));
	application->source = make_source(row);
	application->partition = label_of(row, APPLICATION_LABEL);
	application->started_at = DatumGetTimestampTz(value_of(row, APPLICATION_ACTIVATED_AT));
	if (!is_null(row, APPLICATION_NEXT_CONTAINER))
		application->next_container = DatumGetInt64(value_of(row, APPLICATION_NEXT_CONTAINER));
	yq_loaded(application)->next_container = application->next_container;
	application->waits_for_master = !DatumGetBool(value_of(row, APPLICATION_UNMANAGED)) &&
		is_null(row, APPLICATION_AM_CONTAINER_ID);
	if (application->waits_for_master)
		ask_for_master(row, application);
	((ApplicationEntry *) yq_bytes_table_enter(loader->applications, key, loader->cluster->context,
											   &found))->application = application;
	caller = MemoryContextSwitchTo(loader->cluster->context);
	loader->loaded->applications = lappend(loader->loaded->applications, application);
	MemoryContextSwitchTo(caller);
}

/*
 * Those with demand, and where nodes are reserved all others of the leaf: see
 * cluster.h.  Who pays is what the door makes of an event without a project.
 */
static void
read_applications(Loader *loader)
{
	static YqStatement look_up = {
		.command = "SELECT a.application_id, a.username, a.queue, a.label, a.am_resource, a.priority, a.unmanaged, "
		"a.activated_at, t.attempt, t.next_container, t.am_container_id, p.name, "
		"EXISTS (SELECT FROM yquota.project AS known WHERE known.name = p.name), "
		"c.opportunities, c.missed_non_partitioned, c.re_reservations "
		"FROM (SELECT d.application_id FROM yquota.application AS d "
		"WHERE d.state = 'ACTIVE' AND d.has_outstanding_requests "
		"UNION SELECT o.application_id FROM yquota.reservation AS r "
		"JOIN yquota.application AS h ON h.application_id = r.application_id "
		"JOIN yquota.application AS o ON o.queue = h.queue AND o.state = 'ACTIVE' AND o.finished_at IS NULL) AS wanted "
		"JOIN yquota.application AS a ON a.application_id = wanted.application_id AND a.state = 'ACTIVE' "
		"LEFT JOIN yquota_internal.application_attempt AS t ON t.application_id = a.application_id "
		"LEFT JOIN yquota_internal.request_counter AS c ON c.application_id = a.application_id "
		"AND c.priority = 0 AND c.allocation_request_id = -1, "
		"LATERAL (SELECT COALESCE(a.project, pg_catalog.split_part(a.username, '__', 1)) AS name) AS p "
		"ORDER BY a.application_id"
	};

	read_rows(loader, &look_up, NULL, read_application);
}

static YqClusterApplication *
find_application(const Loader *loader, const char *id)
{
	YqBytes		key = {id, strlen(id)};
	const ApplicationEntry *entry = yq_bytes_table_find(loader->applications, key);

	return entry == NULL ? NULL : entry->application;
}

/* -- what they ask for --------------------------------------------------------- */

static bool
is_key_of(const YqRequestKey *key, const char *container_to_update)
{
	if (key->update == NULL || container_to_update == NULL)
		return key->update == NULL && container_to_update == NULL;
	return strcmp(key->update->container_id, container_to_update) == 0;
}

static YqRequestKey *
find_key(const YqClusterApplication *application, int32 priority, int64 allocation_request_id,
		 const char *container_to_update)
{
	/* rows come key by key: it is the last one, if any */
	for (int i = application->key_count - 1; i >= 0; i--)
	{
		YqRequestKey *key = application->keys[i];

		if (key->priority == priority && key->allocation_request_id == allocation_request_id &&
			is_key_of(key, container_to_update))
			return key;
	}
	return NULL;
}

static YqContainerUpdate *
make_update(const Row *row, const char *container_id)
{
	YqContainerUpdate *update = MemoryContextAllocZero(row->loader->cluster->context, sizeof(YqContainerUpdate));

	update->container_id = container_id;
	return update;
}

static YqRequestKey *
get_key(const Row *row, YqClusterApplication *application, const char *container_to_update, int first_counter)
{
	int32		priority = DatumGetInt32(value_of(row, 2));
	int64		allocation_request_id = DatumGetInt64(value_of(row, 3));
	YqRequestKey *key = find_key(application, priority, allocation_request_id, container_to_update);

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
read_request(const Row *row)
{
	Loader	   *loader = row->loader;
	YqClusterApplication *application = find_application(loader, TextDatumGetCString(value_of(row, 1)));
	char	   *name = TextDatumGetCString(value_of(row, 4));
	bool		is_anywhere = strcmp(name, "*") == 0;
	YqRequestKey *key;
	YqAsk	   *ask;

	if (application == NULL)
		return;
	key = get_key(row, application, NULL, 9);
	if (is_anywhere)
		key->label = label_of(row, 8);
	ask = yq_cluster_add_ask(loader->cluster, key, is_anywhere ? YQ_ANYWHERE : yq_cluster_name(loader->cluster, name),
							 DatumGetInt32(value_of(row, 5)), amounts_of(row, 6), DatumGetBool(value_of(row, 7)));
	ask->source = text_of(row, 4);
}

static void
read_requests(Loader *loader)
{
	static YqStatement look_up = {
		.command = "SELECT r.application_id, r.priority, r.allocation_request_id, r.resource_name, r.count, r.allocation, "
		"r.relax_locality, r.label, c.opportunities, c.missed_non_partitioned, c.re_reservations "
		"FROM yquota.resource_request AS r "
		"LEFT JOIN yquota_internal.request_counter AS c USING (application_id, priority, allocation_request_id) "
		"ORDER BY r.application_id, r.priority, r.allocation_request_id"
	};

	read_rows(loader, &look_up, NULL, read_request);
}

/* One container of what is missing, where the container runs and nowhere else. */
static void
ask_for_update(const Row *row, YqRequestKey *key, const int64 *amounts)
{
	YqCluster  *cluster = row->loader->cluster;

	(void) yq_cluster_add_ask(cluster, key, yq_cluster_name(cluster, text_of(row, 6)), 1, amounts, false);
	if (!is_null(row, 7))
		(void) yq_cluster_add_ask(cluster, key, yq_cluster_name(cluster, text_of(row, 7)), 1, amounts, false);
	(void) yq_cluster_add_ask(cluster, key, YQ_ANYWHERE, 1, amounts, false);
}

static void
read_update(const Row *row)
{
	Loader	   *loader = row->loader;
	YqClusterApplication *application = find_application(loader, TextDatumGetCString(value_of(row, 1)));
	int64	   *missing = amounts_of(row, 9);
	int64	   *afterwards = amounts_of(row, 10);
	YqContainerUpdate *update;
	YqRequestKey *key;

	if (application == NULL)
		return;
	key = yq_cluster_add_key(loader->cluster, application, DatumGetInt32(value_of(row, 2)),
							 DatumGetInt64(value_of(row, 3)), label_of(row, 8));
	update = make_update(row, text_of(row, 4));
	update->is_promotion = DatumGetBool(value_of(row, 5));
	if (!update->is_promotion)
		yq_amounts_add(loader->cluster->calculator, afterwards, missing);
	update->allocation = memcpy(MemoryContextAlloc(loader->cluster->context, sizeof(int64) * YQ_MAX_RESOURCE_TYPES),
								afterwards, sizeof(int64) * loader->hierarchy->calculator.types);
	key->update = update;
	set_counters(row, key, 11);
	ask_for_update(row, key, missing);
}

static void
read_updates(Loader *loader)
{
	static YqStatement look_up = {
		.command = "SELECT u.application_id, u.priority, u.allocation_request_id, u.container_id, "
		"u.update_type = 'PROMOTE_EXECUTION_TYPE', u.node, n.rack, u.label, u.allocation, c.allocation, "
		"u.opportunities, u.missed_non_partitioned, u.re_reservations "
		"FROM yquota.container_update AS u "
		"JOIN yquota.container AS c ON c.container_id = u.container_id "
		"LEFT JOIN yquota.node AS n ON n.name = u.node"
	};

	read_rows(loader, &look_up, NULL, read_update);
}

static void
read_blacklisted(const Row *row)
{
	Loader	   *loader = row->loader;
	YqClusterApplication *application = find_application(loader, TextDatumGetCString(value_of(row, 1)));

	if (application != NULL)
		yq_cluster_add_to_blacklist(loader->cluster, application, yq_cluster_name(loader->cluster, text_of(row, 2)));
}

static void
read_blacklists(Loader *loader)
{
	static YqStatement look_up = {
		.command = "SELECT b.application_id, b.resource_name FROM yquota.blacklist AS b"
	};

	read_rows(loader, &look_up, NULL, read_blacklisted);
}

/* -- reservations ----------------------------------------------------------------- */

/* The number that a container id ends with. */
static int64
container_number(const char *container_id)
{
	return strtoll(strrchr(container_id, '_') + 1, NULL, 10);
}

static void
read_reservation(const Row *row)
{
	Loader	   *loader = row->loader;
	YqCluster  *cluster = loader->cluster;
	YqClusterApplication *application = find_application(loader, TextDatumGetCString(value_of(row, 1)));
	YqClusterNode *node = yq_cluster_node(cluster, TextDatumGetCString(value_of(row, 4)));
	int64	   *amounts = amounts_of(row, 6);
	YqLoadedReservation *source;
	YqReservation *reservation;
	MemoryContext caller;

	if (application == NULL || node == NULL)
		return;
	caller = MemoryContextSwitchTo(cluster->context);
	source = palloc(sizeof(YqLoadedReservation));
	source->container_id = text_of(row, 5);
	reservation = yq_cluster_add_reservation(cluster, get_key(row, application, text_of(row, 10), 7), node,
											 container_number(source->container_id), amounts);
	reservation->source = source;
	loader->loaded->reservations = lappend(loader->loaded->reservations, reservation);
	MemoryContextSwitchTo(caller);
}

/* Void ones are dropped before a pass that is not dry: see pass.c. */
static void
read_reservations(Loader *loader)
{
	static YqStatement look_up = {
		.command = "SELECT r.application_id, r.priority, r.allocation_request_id, r.node, r.container_id, r.allocation, "
		"c.opportunities, c.missed_non_partitioned, c.re_reservations, r.container_to_update "
		"FROM yquota.reservation AS r "
		"JOIN yquota.node AS n ON n.name = r.node AND n.state = 'RUNNING' AND n.label = r.label "
		"LEFT JOIN yquota_internal.request_counter AS c USING (application_id, priority, allocation_request_id) "
		"WHERE r.container_to_update IS NULL OR EXISTS ("
		"SELECT FROM yquota.container AS k WHERE k.container_id = r.container_to_update) "
		"ORDER BY r.node"
	};

	read_rows(loader, &look_up, NULL, read_reservation);
}

/* -- what applications hold ----------------------------------------------------------- */

static void
read_holding(const Row *row)
{
	YqClusterApplication *application = find_application(row->loader, TextDatumGetCString(value_of(row, 1)));
	int			label = label_of(row, 2);
	int64	   *amounts = amounts_of(row, 3);

	if (application == NULL || label < 0)
		return;
	for (int i = 0; i < row->loader->hierarchy->calculator.types; i++)
		yq_at(row->loader->cluster, application->used, label)[i] += amounts[i];
}

/* Only the fair policies order by it. */
static void
read_holdings(Loader *loader)
{
	static YqStatement look_up = {
		.command = "SELECT c.application_id, c.label, c.allocation FROM yquota.container AS c "
		"WHERE c.application_id = ANY ($1) AND c.execution_type = 'GUARANTEED'",
		.types = {"_text"}
	};
	const char **ids = palloc(sizeof(char *) * Max(list_length(loader->loaded->applications), 1));
	int			count = 0;
	ListCell   *cell;
	Datum		values[1];

	foreach(cell, loader->loaded->applications)
	{
		const YqClusterApplication *application = lfirst(cell);

		if (application->leaf->policy == YQ_FAIR || application->leaf->policy == YQ_FAIR_BY_SIZE)
			ids[count++] = application->application_id;
	}
	if (count == 0)
		return;
	values[0] = array_of(ids, count);
	read_rows(loader, &look_up, values, read_holding);
}

YqLoadedCluster *
yq_cluster_load(YqHierarchy *hierarchy, const char **nodes, int node_count)
{
	Loader		loader = {.hierarchy = hierarchy, .cluster = yq_cluster_create(hierarchy)};

	loader.loaded = MemoryContextAllocZero(loader.cluster->context, sizeof(YqLoadedCluster));
	loader.loaded->cluster = loader.cluster;
	loader.applications = yq_bytes_table_create("yquota applications of a pass", sizeof(ApplicationEntry),
												loader.cluster->context);
	loader.users = yq_bytes_table_create("yquota users of a pass", sizeof(UserEntry), loader.cluster->context);
	read_settings(&loader);
	read_shared_labels(&loader);
	set_queues(&loader);
	read_nodes(&loader, nodes, node_count);
	read_users(&loader);
	read_applications(&loader);
	read_requests(&loader);
	read_updates(&loader);
	read_blacklists(&loader);
	read_reservations(&loader);
	read_holdings(&loader);
	yq_cluster_prepare(loader.cluster);
	return loader.loaded;
}
