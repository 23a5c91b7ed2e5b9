/*-------------------------------------------------------------------------
 *
 * preemption_applications.c
 *	  Loads the users and applications of the leaves that a round of preemption
 *	  examines, and keeps the loader's nodes and names.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "admission/application/application.h"
#include "admission/application/leaf_usage.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "preemption/loaded_preemption.h"
#include "queues/text.h"
#include "store/saved_plan.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

/* -- loaded preemption --------------------------------------------------------- */

/*
 * The state of a preemption round as the loader fills it from the tables, with the loader's
 * own data.
 */

typedef struct NodeEntry
{
	YqBytes		key;			/* its name */
	YqPreemptionNode *node;
} NodeEntry;

const YqQueue *
yq_preemption_queue(const YqPreemptionQueue *queue)
{
	return ((const YqClusterQueue *) queue->source)->queue;
}

YqPreemptionQueue *
yq_loaded_preemption_queue(const YqLoadedPreemption *preemption, const YqQueue *queue)
{
	return preemption->loader->queues[queue->number];
}

char *
yq_loaded_preemption_keep(const YqPreemptionLoader *loader, YqBytes name)
{
	char	   *result = MemoryContextAlloc(loader->preemption->state->context, name.length + 1);

	memcpy(result, name.data, name.length);
	result[name.length] = '\0';
	return result;
}

static void
set_node_figures(const YqPreemption *state, YqPreemptionNode *node, const YqClusterNode *from)
{
	for (int i = 0; i < state->calculator->types; i++)
	{
		node->total[i] = from->total[i];
		node->allocated[i] = from->total[i] - from->unallocated[i];
	}
}

YqPreemptionNode *
yq_loaded_preemption_node(YqPreemptionLoader *loader, YqBytes name, int label)
{
	YqPreemption *state = loader->preemption->state;
	bool		found;
	NodeEntry  *entry = yq_bytes_table_find(loader->nodes, name);
	const YqClusterNode *from;
	char	   *kept;

	if (entry != NULL)
		return entry->node;
	kept = yq_loaded_preemption_keep(loader, name);
	entry = yq_bytes_table_enter_kept(loader->nodes, (YqBytes) {kept, name.length}, &found);
	from = yq_cluster_find_node(loader->preemption->loaded->cluster, name);
	entry->node = yq_preemption_add_node(state, kept, from == NULL ? label : from->label);
	if (from != NULL)
		set_node_figures(state, entry->node, from);
	return entry->node;
}

void
yq_loaded_preemption_begin_nodes(YqPreemptionLoader *loader)
{
	loader->nodes = yq_bytes_table_create("yquota nodes of a round", sizeof(NodeEntry), loader->preemption->state->context);
}

/* -- preemption applications --------------------------------------------------- */

typedef struct UserEntry
{
	YqBytes		key;			/* number and name of the leaf */
	YqPreemptionUser *user;
} UserEntry;

/* Make a key of a leaf and a name, palloc'd. */
static YqBytes
key_in_leaf(const YqPreemptionQueue *leaf, YqBytes name)
{
	YqBytes		key = {.length = sizeof(leaf->number) + name.length};
	char	   *data = palloc(key.length);

	memcpy(data, &leaf->number, sizeof(leaf->number));
	memcpy(data + sizeof(leaf->number), name.data, name.length);
	key.data = data;
	return key;
}

/* -- users ------------------------------------------------------------------------------ */

static YqPreemptionUser *
find_preemption_user(YqPreemptionLoader *loader, YqPreemptionQueue *leaf, const char *username)
{
	YqPreemption *state = loader->preemption->state;
	YqBytes		key = key_in_leaf(leaf, yq_bytes_of_string(username));
	bool		found;
	UserEntry  *entry = yq_bytes_table_enter(loader->users, key, state->context, &found);

	if (!found)
		entry->user = yq_preemption_add_user(state, leaf, MemoryContextStrdup(state->context, username));
	pfree(unconstify(char *, key.data));
	return entry->user;
}

/* Does a user use any resources?  The cluster also remembers users that have left the leaf. */
static bool
uses_anything(const YqCluster *cluster, const YqClusterUser *user)
{
	for (int label = 0; label < cluster->hierarchy->label_count; label++)
	{
		if (!yq_amounts_are_none(cluster->calculator, yq_at(cluster, user->used, label)))
			return true;
	}
	return false;
}

static void
add_users(YqPreemptionLoader *loader, YqPreemptionQueue *leaf)
{
	const YqCluster *cluster = loader->preemption->loaded->cluster;
	const YqClusterQueue *from = leaf->source;

	for (int i = 0; i < from->user_count; i++)
	{
		const YqClusterUser *known = from->users[i];
		YqPreemptionUser *user;

		if (known->demanding == 0 && !uses_anything(cluster, known))
			continue;
		user = find_preemption_user(loader, leaf, known->username);
		for (int label = 0; label < cluster->hierarchy->label_count; label++)
			memcpy(user->labels[label].used, yq_at(cluster, known->used, label),
				   cluster->calculator->types * sizeof(int64));
	}
}

void
yq_preemption_applications_set_user_limits(YqPreemptionLoader *loader, YqPreemptionQueue *leaf)
{
	static const int64 nothing[YQ_MAX_RESOURCE_TYPES];
	const YqPreemption *state = loader->preemption->state;
	const YqHierarchy *hierarchy = loader->preemption->hierarchy;
	YqUserLimit *limit = yq_user_limit_create(hierarchy);

	limit->sharers = YQ_ALL_USERS;
	limit->users = leaf->user_count;
	for (int i = 0; i < leaf->user_count; i++)
		limit->weights += yq_queue_user_weight(yq_preemption_queue(leaf), leaf->users[i]->username);
	for (int label = 0; label < state->label_count; label++)
	{
		limit->usage_ratio = 0;
		for (int i = 0; i < leaf->user_count; i++)
			limit->usage_ratio += yq_amounts_ratio(state->calculator, leaf->users[i]->labels[label].used, state->totals[label]);
		yq_user_limit_derive(hierarchy, yq_preemption_queue(leaf), label, false, nothing, limit);
		for (int i = 0; i < leaf->user_count; i++)
			yq_amounts_multiply_and_normalize_down(state->calculator, leaf->users[i]->labels[label].limit, limit->limit,
												   yq_queue_user_weight(yq_preemption_queue(leaf), leaf->users[i]->username),
												   state->minimum_allocation);
	}
}

/* -- applications ------------------------------------------------------------------------ */

YqPreemptionApplicationEntry *
yq_preemption_applications_enter(YqPreemptionLoader *loader, YqPreemptionQueue *leaf, YqBytes application_id, YqBytes username)
{
	const YqPreemption *state = loader->preemption->state;
	YqBytes		key = key_in_leaf(leaf, application_id);
	bool		found;
	YqPreemptionApplicationEntry *entry = yq_bytes_table_enter(loader->applications, key, state->context, &found);
	MemoryContext caller;

	pfree(unconstify(char *, key.data));
	if (found)
		return entry;
	key = entry->key;
	memset(entry, 0, sizeof(YqPreemptionApplicationEntry));
	entry->key = key;
	entry->leaf = leaf;
	entry->application_id = yq_loaded_preemption_keep(loader, application_id);
	entry->username = yq_loaded_preemption_keep(loader, username);
	entry->rank = PG_INT32_MAX;
	entry->is_active = true;
	caller = MemoryContextSwitchTo(state->context);
	loader->found = lappend(loader->found, entry);
	MemoryContextSwitchTo(caller);
	return entry;
}

static void
find_active_applications(YqPreemptionLoader *loader, YqPreemptionQueue *leaf)
{
	YqClusterQueue *from = leaf->source;

	yq_cluster_order_leaf(loader->preemption->loaded->cluster, from);
	for (int i = 0; i < from->application_count; i++)
	{
		const YqClusterApplication *known = from->applications[i];
		YqPreemptionApplicationEntry *entry = yq_preemption_applications_enter(loader, leaf, yq_bytes_of_string(known->application_id),
													yq_bytes_of_string(known->user->username));

		entry->from = known;
		entry->rank = i;
		entry->priority = known->priority;
	}
}

/* Columns of the statement, numbered from 1. */
enum
{
	MASTER_LEAF = 1,			/* position of the leaf among the leaves */
	MASTER_APPLICATION_ID,
	MASTER_USERNAME,
	MASTER_PRIORITY,
	MASTER_LABEL,
	MASTER_RESOURCE,
	MASTER_STATE
};

/*
 * Read the request for an application master.  If max-parallel-apps holds the application
 * back, only its user is added.
 */
static void
read_master(YqPreemptionLoader *loader, YqPreemptionQueue **leaves, HeapTuple tuple, TupleDesc descriptor)
{
	const YqHierarchy *hierarchy = loader->preemption->hierarchy;
	bool		isnull;
	YqPreemptionQueue *leaf = leaves[DatumGetInt64(SPI_getbinval(tuple, descriptor, MASTER_LEAF, &isnull)) - 1];
	const char *username = TextDatumGetCString(SPI_getbinval(tuple, descriptor, MASTER_USERNAME, &isnull));
	const char *state = TextDatumGetCString(SPI_getbinval(tuple, descriptor, MASTER_STATE, &isnull));
	YqPreemptionApplicationEntry *entry;

	if (strcmp(state, "NON_RUNNABLE") == 0)
	{
		(void) find_preemption_user(loader, leaf, username);
		return;
	}
	entry = yq_preemption_applications_enter(loader, leaf,
							  yq_bytes_of_string(TextDatumGetCString(SPI_getbinval(tuple, descriptor, MASTER_APPLICATION_ID, &isnull))),
							  yq_bytes_of_string(username));
	entry->priority = DatumGetInt32(SPI_getbinval(tuple, descriptor, MASTER_PRIORITY, &isnull));
	entry->is_active = strcmp(state, "ACTIVE") == 0;
	entry->master_label = !hierarchy->settings.has_node_labels ? 0 :
		yq_hierarchy_label(hierarchy, TextDatumGetCString(SPI_getbinval(tuple, descriptor, MASTER_LABEL, &isnull)));
	entry->master = yq_preemption_copy(loader->preemption->state,
									   yq_hierarchy_read_amounts(hierarchy, SPI_getbinval(tuple, descriptor, MASTER_RESOURCE, &isnull)));
}

/*
 * Read the requests for application masters.  The intra-queue selector needs the size of
 * each master, even if the master has no container yet.  It also examines applications that
 * wait for activation.
 */
static void
find_masters(YqPreemptionLoader *loader, YqPreemptionQueue **leaves, int count)
{
	static YqSavedPlan look_up = {
		.command = "SELECT q.number, a.application_id, a.username, a.priority, a.label, a.am_resource, a.state::pg_catalog.text "
		"FROM pg_catalog.unnest($1) WITH ORDINALITY AS q (path, number) "
		"JOIN yquota.application AS a ON a.queue = q.path AND a.state IN ('ACCEPTED', 'NON_RUNNABLE', 'ACTIVE') "
		"AND a.finished_at IS NULL",
		.types = {"_text"},
		.plans_once = true
	};
	const char **paths = palloc(sizeof(char *) * Max(count, 1));
	Datum		values[1];
	uint64		found;

	if (!loader->preemption->state->settings.selects_intra_queue)
		return;
	for (int i = 0; i < count; i++)
		paths[i] = leaves[i]->path;
	values[0] = yq_array_of_names(paths, count);
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	found = yq_saved_plan_run(&look_up, values, NULL);
	for (uint64 i = 0; i < found; i++)
	{
		CHECK_FOR_INTERRUPTS();
		read_master(loader, leaves, SPI_tuptable->vals[i], SPI_tuptable->tupdesc);
	}
	SPI_finish();
}

/*
 * Compare by leaf, and within a leaf by FIFO order.  In a leaf that orders its applications
 * by usage, the cluster's order comes before the FIFO order.
 */
static int
compare_entries(const ListCell *a, const ListCell *b)
{
	const YqPreemptionApplicationEntry *left = lfirst(a);
	const YqPreemptionApplicationEntry *right = lfirst(b);

	if (left->leaf != right->leaf)
		return left->leaf->number - right->leaf->number;
	if (left->leaf->is_fair && left->rank != right->rank)
		return left->rank < right->rank ? -1 : 1;
	if (left->priority != right->priority)
		return left->priority > right->priority ? -1 : 1;
	return yq_application_id_compare(left->application_id, right->application_id);
}

static void
set_application(YqPreemptionLoader *loader, const YqPreemptionApplicationEntry *entry)
{
	const YqCluster *cluster = loader->preemption->loaded->cluster;
	YqPreemptionApplication *application = entry->application;
	Size		size = cluster->calculator->types * sizeof(int64);

	application->is_active = entry->is_active;
	if (entry->master != NULL && entry->master_label >= 0)
	{
		memcpy(application->labels[entry->master_label].master_used, entry->master, size);
		if (!entry->is_active)
			memcpy(application->labels[entry->master_label].pending, entry->master, size);
	}
	if (entry->from == NULL)
		return;
	application->waits_for_master = entry->from->waits_for_master;
	for (int label = 0; label < cluster->hierarchy->label_count; label++)
		memcpy(application->labels[label].pending, yq_at(cluster, entry->from->pending, label), size);
}

void
yq_preemption_applications_add(YqPreemptionLoader *loader)
{
	ListCell   *cell;

	list_sort(loader->found, compare_entries);
	foreach(cell, loader->found)
	{
		YqPreemptionApplicationEntry *entry = lfirst(cell);

		entry->application = yq_preemption_add_application(loader->preemption->state,
														   find_preemption_user(loader, entry->leaf, entry->username),
														   entry->application_id, entry->priority);
		set_application(loader, entry);
	}
}

void
yq_preemption_applications_begin(YqPreemptionLoader *loader)
{
	MemoryContext context = loader->preemption->state->context;

	loader->applications = yq_bytes_table_create("yquota applications of a round", sizeof(YqPreemptionApplicationEntry), context);
	loader->users = yq_bytes_table_create("yquota users of a round", sizeof(UserEntry), context);
}

void
yq_preemption_applications_find(YqPreemptionLoader *loader, YqPreemptionQueue **leaves, int count)
{
	list_free(loader->found);
	loader->found = NIL;
	for (int i = 0; i < count; i++)
	{
		add_users(loader, leaves[i]);
		find_active_applications(loader, leaves[i]);
	}
	find_masters(loader, leaves, count);
}
