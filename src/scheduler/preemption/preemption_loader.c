/*-------------------------------------------------------------------------
 *
 * preemption_loader.c
 *	  Leaves of a round of preemption with their users, applications and
 *	  containers.
 *
 * The table of containers has no index by queue.  One scan reads the containers
 * of every leaf that is wanted at that time: those that are to give something,
 * and, for intra-queue preemption, those with unmet demand.
 *
 * Events name applications, and need no row of yquota.application.  An application that
 * is not known has priority 0 and no demand.  A container without an application is
 * not selected: there is no application to tell.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "admission/application.h"
#include "admission/user_limit.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "queues/text.h"
#include "scheduler/preemption/preemption_loader.h"
#include "store/catalog.h"
#include "store/saved_plan.h"
#include "store/table_scan.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

/* An application of a wanted leaf, before and after it is added. */
typedef struct ApplicationEntry
{
	YqBytes		key;			/* number of the leaf, and id */
	YqPreemptionQueue *leaf;
	const char *application_id;
	const char *username;
	const YqClusterApplication *from;	/* NULL: not ACTIVE, or not known */
	int			rank;			/* of those, in the cluster's order */
	int32		priority;
	bool		is_active;
	int			master_label;	/* of its application master, or -1 */
	const int64 *master;		/* resources asked for the application master; NULL: not read */
	YqPreemptionApplication *application;
} ApplicationEntry;

typedef struct UserEntry
{
	YqBytes		key;			/* number of the leaf, and name */
	YqPreemptionUser *user;
} UserEntry;

typedef struct NodeEntry
{
	YqBytes		key;			/* its name */
	YqPreemptionNode *node;
} NodeEntry;

typedef struct ReservedAtEntry
{
	YqBytes		key;			/* name of the node */
	TimestampTz reserved_at;
	bool		is_moved;
} ReservedAtEntry;

/* A container as it was read. */
typedef struct ReadContainer
{
	ApplicationEntry *application;
	YqPreemptionNode *node;
	const char *container_id;
	const int64 *amounts;
	int32		priority;
	int64		allocation_request_id;
	int			label;
	TimestampTz started_at;
	bool		is_master;
} ReadContainer;

struct YqPreemptionLoader
{
	YqLoadedPreemption *preemption;
	HTAB	   *applications;	/* ApplicationEntry */
	HTAB	   *users;			/* UserEntry */
	HTAB	   *nodes;			/* NodeEntry */
	HTAB	   *reserved_at;	/* ReservedAtEntry; NULL: not read yet */
	Oid			guaranteed;
	YqPreemptionQueue **queues;	/* by number of the queue in the hierarchy; NULL: not in the tree */
	bool	   *is_wanted;		/* by number of the queue in the state: at this time */
	List	   *found;			/* ApplicationEntry of wanted leaves */
	ReadContainer *containers;
	int64		container_count;
	int64		container_room;
	const int64 *last_amounts;	/* the next container often has the same */
	MemoryContext row_context;
};

typedef struct YqPreemptionLoader Loader;

static Loader *
loader_of(const YqPreemption *state)
{
	return ((YqLoadedPreemption *) state->source)->loader;
}

YqPreemptionQueue *
yq_preemption_loader_queue(const YqLoadedPreemption *preemption, const YqQueue *queue)
{
	return preemption->loader->queues[queue->number];
}

/* -- names ------------------------------------------------------------------------------ */

/* A key of a leaf and a name, palloc'd. */
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

static char *
keep_name(const YqPreemption *state, YqBytes name)
{
	char	   *result = MemoryContextAlloc(state->context, name.length + 1);

	memcpy(result, name.data, name.length);
	result[name.length] = '\0';
	return result;
}

/* -- nodes ------------------------------------------------------------------------------ */

static void
set_node_figures(const YqPreemption *state, YqPreemptionNode *node, const YqClusterNode *from)
{
	for (int i = 0; i < state->calculator->types; i++)
	{
		node->total[i] = from->total[i];
		node->allocated[i] = from->total[i] - from->unallocated[i];
	}
}

/* The node with a name; one that is not in service has the label that a container is counted on. */
static YqPreemptionNode *
find_preemption_node(Loader *loader, YqBytes name, int label)
{
	YqPreemption *state = loader->preemption->state;
	bool		found;
	NodeEntry  *entry = yq_bytes_table_find(loader->nodes, name);
	const YqClusterNode *from;
	char	   *kept;

	if (entry != NULL)
		return entry->node;
	kept = keep_name(state, name);
	entry = yq_bytes_table_enter_kept(loader->nodes, (YqBytes) {kept, name.length}, &found);
	from = yq_cluster_find_node(loader->preemption->loaded->cluster, name);
	entry->node = yq_preemption_add_node(state, kept, from == NULL ? label : from->label);
	if (from != NULL)
		set_node_figures(state, entry->node, from);
	return entry->node;
}

/* -- users ------------------------------------------------------------------------------ */

static YqPreemptionUser *
find_preemption_user(Loader *loader, YqPreemptionQueue *leaf, const char *username)
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

/* The cluster remembers users that have left the leaf. */
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
add_users(Loader *loader, YqPreemptionQueue *leaf)
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

/* Limits when all users of a leaf share it, whether they ask for something or not. */
static void
set_user_limits(Loader *loader, YqPreemptionQueue *leaf)
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

static ApplicationEntry *
enter_application(Loader *loader, YqPreemptionQueue *leaf, YqBytes application_id, YqBytes username)
{
	const YqPreemption *state = loader->preemption->state;
	YqBytes		key = key_in_leaf(leaf, application_id);
	bool		found;
	ApplicationEntry *entry = yq_bytes_table_enter(loader->applications, key, state->context, &found);
	MemoryContext caller;

	pfree(unconstify(char *, key.data));
	if (found)
		return entry;
	key = entry->key;
	memset(entry, 0, sizeof(ApplicationEntry));
	entry->key = key;
	entry->leaf = leaf;
	entry->application_id = keep_name(state, application_id);
	entry->username = keep_name(state, username);
	entry->rank = PG_INT32_MAX;
	entry->is_active = true;
	caller = MemoryContextSwitchTo(state->context);
	loader->found = lappend(loader->found, entry);
	MemoryContextSwitchTo(caller);
	return entry;
}

static void
find_active_applications(Loader *loader, YqPreemptionQueue *leaf)
{
	YqClusterQueue *from = leaf->source;

	yq_cluster_order_leaf(loader->preemption->loaded->cluster, from);
	for (int i = 0; i < from->application_count; i++)
	{
		const YqClusterApplication *known = from->applications[i];
		ApplicationEntry *entry = enter_application(loader, leaf, yq_bytes_of_string(known->application_id),
													yq_bytes_of_string(known->user->username));

		entry->from = known;
		entry->rank = i;
		entry->priority = known->priority;
	}
}

/* Of one that max-parallel-apps holds only the user counts. */
static void
read_master(Loader *loader, YqPreemptionQueue **leaves, HeapTuple tuple, TupleDesc descriptor)
{
	const YqHierarchy *hierarchy = loader->preemption->hierarchy;
	bool		isnull;
	YqPreemptionQueue *leaf = leaves[DatumGetInt64(SPI_getbinval(tuple, descriptor, 1, &isnull)) - 1];
	const char *username = TextDatumGetCString(SPI_getbinval(tuple, descriptor, 3, &isnull));
	const char *state = TextDatumGetCString(SPI_getbinval(tuple, descriptor, 7, &isnull));
	ApplicationEntry *entry;

	if (strcmp(state, "NON_RUNNABLE") == 0)
	{
		(void) find_preemption_user(loader, leaf, username);
		return;
	}
	entry = enter_application(loader, leaf,
							  yq_bytes_of_string(TextDatumGetCString(SPI_getbinval(tuple, descriptor, 2, &isnull))),
							  yq_bytes_of_string(username));
	entry->priority = DatumGetInt32(SPI_getbinval(tuple, descriptor, 4, &isnull));
	entry->is_active = strcmp(state, "ACTIVE") == 0;
	entry->master_label = !hierarchy->settings.has_node_labels ? 0 :
		yq_hierarchy_label(hierarchy, TextDatumGetCString(SPI_getbinval(tuple, descriptor, 5, &isnull)));
	entry->master = yq_preemption_copy(loader->preemption->state,
									   yq_hierarchy_read_amounts(hierarchy, SPI_getbinval(tuple, descriptor, 6, &isnull)));
}

/*
 * The intra-queue selector sets application masters aside, also those that have no
 * container yet, and looks at applications that wait for activation.
 */
static void
find_masters(Loader *loader, YqPreemptionQueue **leaves, int count)
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

/* By leaf; in the cluster's order where that is by usage; then as FIFO has it. */
static int
compare_entries(const ListCell *a, const ListCell *b)
{
	const ApplicationEntry *left = lfirst(a);
	const ApplicationEntry *right = lfirst(b);

	if (left->leaf != right->leaf)
		return left->leaf->number - right->leaf->number;
	if (left->leaf->is_fair && left->rank != right->rank)
		return left->rank < right->rank ? -1 : 1;
	if (left->priority != right->priority)
		return left->priority > right->priority ? -1 : 1;
	return yq_application_id_compare(left->application_id, right->application_id);
}

static void
set_application(Loader *loader, const ApplicationEntry *entry)
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

static void
add_applications(Loader *loader)
{
	ListCell   *cell;

	list_sort(loader->found, compare_entries);
	foreach(cell, loader->found)
	{
		ApplicationEntry *entry = lfirst(cell);

		entry->application = yq_preemption_add_application(loader->preemption->state,
														   find_preemption_user(loader, entry->leaf, entry->username),
														   entry->application_id, entry->priority);
		set_application(loader, entry);
	}
}

/* -- reservations --------------------------------------------------------------------------- */

static void
read_reserved_at(const YqRow *row)
{
	Loader	   *loader = row->argument;
	bool		isnull;
	bool		found;
	ReservedAtEntry *entry = yq_bytes_table_enter(loader->reserved_at, yq_row_bytes(row, 0),
												  loader->preemption->state->context, &found);

	entry->reserved_at = DatumGetTimestampTz(yq_row_value(row, 1, &isnull));
	(void) yq_row_value(row, 2, &isnull);
	entry->is_moved = !isnull;
}

/* The rest of a reservation's row; one that has just been made is of now. */
static void
set_reserved_at(Loader *loader, YqPreemptionContainer *container)
{
	static const char *const columns[] = {"node", "reserved_at", "moved_at"};
	const ReservedAtEntry *entry;

	if (loader->reserved_at == NULL)
	{
		Snapshot	snapshot = yq_latest_snapshot();

		loader->reserved_at = yq_bytes_table_create("yquota times of reservations", sizeof(ReservedAtEntry),
													loader->preemption->state->context);
		yq_table_scan(YQ_RESERVED_CONTAINER, snapshot, columns, lengthof(columns), read_reserved_at, loader);
		UnregisterSnapshot(snapshot);
	}
	entry = yq_bytes_table_find(loader->reserved_at, yq_bytes_of_string(container->node->name));
	container->started_at = entry == NULL ? loader->preemption->state->now : entry->reserved_at;
	container->is_moved = entry != NULL && entry->is_moved;
}

static void
add_reservation(Loader *loader, YqPreemptionApplication *application, const YqReservation *reservation)
{
	const YqSchedulerKey *key = reservation->key;
	YqPreemptionNode *node = find_preemption_node(loader, yq_bytes_of_string(reservation->node->name), reservation->node->label);
	char	   *id = text_to_cstring(yq_loaded_container_id(key->application, reservation->container));
	YqPreemptionContainer *container = yq_preemption_add_container(loader->preemption->state, application, node, id,
																   yq_preemption_container_number(id), reservation->amounts, true);

	container->label = key->label;
	container->priority = key->priority;
	container->allocation_request_id = key->allocation_request_id;
	set_reserved_at(loader, container);
	container->is_update = key->update != NULL;
	container->relaxes_locality = key->anywhere.relaxes_locality;
	container->source = unconstify(YqReservation *, reservation);
}

static void
add_reservations_of_found(Loader *loader)
{
	ListCell   *cell;

	foreach(cell, loader->found)
	{
		const ApplicationEntry *entry = lfirst(cell);

		for (int i = 0; entry->from != NULL && i < entry->from->key_count; i++)
		{
			for (int j = 0; j < entry->from->keys[i]->reservation_count; j++)
				add_reservation(loader, entry->application, entry->from->keys[i]->reservations[j]);
		}
	}
}

/* -- containers ----------------------------------------------------------------------------- */

/* Columns in the order in which they are asked for. */
typedef enum ContainerColumn
{
	CONTAINER_EXECUTION_TYPE,
	CONTAINER_QUEUE,
	CONTAINER_CONTAINER_ID,
	CONTAINER_APPLICATION_ID,
	CONTAINER_USERNAME,
	CONTAINER_NODE,
	CONTAINER_LABEL,
	CONTAINER_ALLOCATION,
	CONTAINER_STARTED_AT,
	CONTAINER_PRIORITY,
	CONTAINER_ALLOCATION_REQUEST_ID,
	CONTAINER_ASKED_LABEL,
	CONTAINER_IS_AM,
	CONTAINER_COLUMNS
} ContainerColumn;

static const char *const container_columns[] = {"execution_type", "queue", "container_id", "application_id", "username", "node",
	"label", "allocation", "started_at", "priority", "allocation_request_id", "asked_label", "is_am"};

int64
yq_preemption_container_number(const char *container_id)
{
	const char *number = strrchr(container_id, '_');
	const char *attempt = number;
	int64		result;

	if (number == NULL)
		return 0;
	while (attempt > container_id && attempt[-1] != '_')
		attempt--;
	result = strtoll(number + 1, NULL, 10);
	return ((int64) (strtol(attempt, NULL, 10) & 0x7FFF) << 48) | (result & INT64CONST(0xFFFFFFFFFFFF));
}

/* The number of a label that a column names, or -1.  Without labels there is one partition. */
static int
label_of(const YqHierarchy *hierarchy, const YqRow *row, ContainerColumn column)
{
	const char *label = hierarchy->settings.has_node_labels ? yq_row_text(row, column) : NULL;

	return label == NULL ? 0 : yq_hierarchy_label(hierarchy, label);
}

/* The wanted leaf that a container is counted in, or NULL. */
static YqPreemptionQueue *
wanted_leaf(const Loader *loader, const YqRow *row)
{
	YqBytes		name = yq_row_bytes(row, CONTAINER_QUEUE);
	const YqQueue *queue;
	YqPreemptionQueue *leaf;

	if (name.data == NULL)
		return NULL;
	queue = yq_hierarchy_find_bytes(loader->preemption->hierarchy, name);
	if (queue == NULL)
		queue = yq_hierarchy_find_by_name(loader->preemption->hierarchy, pnstrdup(name.data, name.length));
	leaf = queue == NULL ? NULL : yq_preemption_loader_queue(loader->preemption, queue);
	return leaf != NULL && loader->is_wanted[leaf->number] ? leaf : NULL;
}

static const int64 *
keep_amounts(Loader *loader, Datum allocation)
{
	const YqPreemption *state = loader->preemption->state;
	const int64 *amounts = yq_hierarchy_read_amounts(loader->preemption->hierarchy, allocation);

	if (loader->last_amounts == NULL || !yq_amounts_are_equal(state->calculator, amounts, loader->last_amounts))
		loader->last_amounts = yq_preemption_copy(state, amounts);
	return loader->last_amounts;
}

static ReadContainer *
new_container(Loader *loader)
{
	if (loader->container_count == loader->container_room)
	{
		loader->container_room = Max(loader->container_room * 2, 1024);
		loader->containers = loader->containers == NULL ?
			MemoryContextAllocHuge(loader->preemption->state->context, loader->container_room * sizeof(ReadContainer)) :
			repalloc_huge(loader->containers, loader->container_room * sizeof(ReadContainer));
	}
	return &loader->containers[loader->container_count++];
}

static YqBytes
bytes_or_empty(const YqRow *row, ContainerColumn column)
{
	YqBytes		bytes = yq_row_bytes(row, column);

	return bytes.data == NULL ? (YqBytes) {"", 0} : bytes;
}

static void
keep_container(Loader *loader, const YqRow *row, YqPreemptionQueue *leaf, int label)
{
	const YqHierarchy *hierarchy = loader->preemption->hierarchy;
	YqBytes		username = bytes_or_empty(row, CONTAINER_USERNAME);
	ReadContainer *container = new_container(loader);
	bool		isnull;

	container->application = enter_application(loader, leaf, yq_row_bytes(row, CONTAINER_APPLICATION_ID), username);
	container->node = find_preemption_node(loader, bytes_or_empty(row, CONTAINER_NODE), label);
	container->container_id = keep_name(loader->preemption->state, yq_row_bytes(row, CONTAINER_CONTAINER_ID));
	container->amounts = keep_amounts(loader, yq_row_value(row, CONTAINER_ALLOCATION, &isnull));
	container->priority = yq_row_integer(row, CONTAINER_PRIORITY, 0);
	container->allocation_request_id = DatumGetInt64(yq_row_value(row, CONTAINER_ALLOCATION_REQUEST_ID, &isnull));
	container->label = label_of(hierarchy, row, CONTAINER_ASKED_LABEL);
	container->started_at = DatumGetTimestampTz(yq_row_value(row, CONTAINER_STARTED_AT, &isnull));
	container->is_master = yq_row_bool(row, CONTAINER_IS_AM);
}

static void
read_container(const YqRow *row)
{
	Loader	   *loader = row->argument;
	bool		isnull;
	Datum		type = yq_row_value(row, CONTAINER_EXECUTION_TYPE, &isnull);
	MemoryContext caller;
	YqPreemptionQueue *leaf;
	int			label;

	if (isnull || DatumGetObjectId(type) != loader->guaranteed)
		return;
	caller = MemoryContextSwitchTo(loader->row_context);
	leaf = wanted_leaf(loader, row);
	label = label_of(loader->preemption->hierarchy, row, CONTAINER_LABEL);
	if (leaf != NULL && label >= 0 && yq_row_bytes(row, CONTAINER_APPLICATION_ID).data != NULL)
		keep_container(loader, row, leaf, label);
	MemoryContextSwitchTo(caller);
	MemoryContextReset(loader->row_context);
}

static void
read_containers(Loader *loader)
{
	Snapshot	snapshot = yq_latest_snapshot();

	loader->container_count = loader->container_room = 0;
	loader->containers = NULL;
	loader->last_amounts = NULL;
	loader->row_context = AllocSetContextCreate(CurrentMemoryContext, "yquota containers", ALLOCSET_SMALL_SIZES);
	yq_table_scan(YQ_CONTAINER, snapshot, container_columns, CONTAINER_COLUMNS, read_container, loader);
	MemoryContextDelete(loader->row_context);
	UnregisterSnapshot(snapshot);
}

static const YqPreemptionMark *
find_mark(const Loader *loader, const ReadContainer *read)
{
	HTAB	   *marks = loader->preemption->marks;

	return marks == NULL ? NULL : yq_bytes_table_find(marks, yq_bytes_of_string(read->container_id));
}

/* Take a container that counts as gone out of the figures of its user and node. */
static void
leave_out(const YqPreemption *state, const ReadContainer *read)
{
	int64	   *used = read->application->application->user->labels[read->node->label].used;

	for (int i = 0; i < state->calculator->types; i++)
	{
		used[i] -= read->amounts[i];
		read->node->allocated[i] -= read->amounts[i];
	}
}

static void
add_container(YqPreemption *state, const ReadContainer *read, const YqPreemptionMark *mark)
{
	YqPreemptionApplication *application = read->application->application;
	YqPreemptionContainer *container = yq_preemption_add_container(state, application, read->node, read->container_id,
																   yq_preemption_container_number(read->container_id), read->amounts, false);

	container->label = read->label;
	container->priority = read->priority;
	container->allocation_request_id = read->allocation_request_id;
	container->started_at = read->started_at;
	container->is_master = read->is_master;
	yq_amounts_add(state->calculator, application->labels[read->node->label].used, read->amounts);
	if (mark == NULL)
		return;
	container->is_killable = mark->is_killable;
	container->marked_at = mark->marked_at;
}

/* An advised kill counts as done, until the resource manager has had its time. */
static void
add_containers(Loader *loader)
{
	YqPreemption *state = loader->preemption->state;

	for (int64 i = 0; i < loader->container_count; i++)
	{
		const ReadContainer *read = &loader->containers[i];
		const YqPreemptionMark *mark = find_mark(loader, read);

		CHECK_FOR_INTERRUPTS();
		if (mark != NULL && mark->is_advised)
			leave_out(state, read);
		else
			add_container(state, read, mark);
	}
	if (loader->containers != NULL)
		pfree(loader->containers);
}

/* -- leaves ------------------------------------------------------------------------------------ */

static bool
is_likely_wanted(const YqPreemption *state, const YqPreemptionQueue *leaf)
{
	for (int label = 0; label < state->label_count; label++)
	{
		const YqPreemptionQueueLabel *entry = &leaf->labels[label];

		if (yq_amounts_any_above_none(state->calculator, entry->obtain) ||
			(state->settings.selects_intra_queue && entry->is_underserved))
			return true;
	}
	return false;
}

/* Complete leaves that are marked as wanted. */
static void
complete_wanted(Loader *loader)
{
	YqPreemption *state = loader->preemption->state;
	YqPreemptionQueue **leaves = palloc(Max(state->queue_count, 1) * sizeof(YqPreemptionQueue *));
	int			count = 0;

	for (int i = 0; i < state->queue_count; i++)
	{
		if (loader->is_wanted[i])
			leaves[count++] = state->queues[i];
	}
	list_free(loader->found);
	loader->found = NIL;
	for (int i = 0; i < count; i++)
	{
		add_users(loader, leaves[i]);
		find_active_applications(loader, leaves[i]);
	}
	find_masters(loader, leaves, count);
	read_containers(loader);
	add_applications(loader);
	add_reservations_of_found(loader);
	add_containers(loader);
	for (int i = 0; i < count; i++)
	{
		set_user_limits(loader, leaves[i]);
		leaves[i]->is_complete = true;
	}
	pfree(leaves);
}

static void
complete_leaf(YqPreemption *state, YqPreemptionQueue *leaf)
{
	Loader	   *loader = loader_of(state);

	for (int i = 0; i < state->queue_count; i++)
	{
		YqPreemptionQueue *queue = state->queues[i];

		loader->is_wanted[i] = queue->is_leaf && !queue->is_complete && (queue == leaf || is_likely_wanted(state, queue));
	}
	complete_wanted(loader);
}

static void
complete_all(YqPreemption *state)
{
	Loader	   *loader = loader_of(state);
	const YqCluster *cluster = loader->preemption->loaded->cluster;

	for (int i = 0; i < state->queue_count; i++)
		loader->is_wanted[i] = state->queues[i]->is_leaf && !state->queues[i]->is_complete;
	complete_wanted(loader);
	for (int i = 0; i < cluster->name_count; i++)
	{
		if (cluster->nodes[i] != NULL)
			(void) find_preemption_node(loader, yq_bytes_of_string(cluster->nodes[i]->name), cluster->nodes[i]->label);
	}
}

void
yq_preemption_loader_begin(YqLoadedPreemption *preemption)
{
	YqPreemption *state = preemption->state;
	MemoryContext caller = MemoryContextSwitchTo(state->context);
	Loader	   *loader = palloc0(sizeof(Loader));

	loader->preemption = preemption;
	loader->applications = yq_bytes_table_create("yquota applications of a round", sizeof(ApplicationEntry), state->context);
	loader->users = yq_bytes_table_create("yquota users of a round", sizeof(UserEntry), state->context);
	loader->nodes = yq_bytes_table_create("yquota nodes of a round", sizeof(NodeEntry), state->context);
	loader->guaranteed = yq_enum_oid("execution_type", "GUARANTEED");
	loader->is_wanted = palloc0(Max(state->queue_count, 1) * sizeof(bool));
	loader->queues = palloc0(Max(preemption->hierarchy->queue_count, 1) * sizeof(YqPreemptionQueue *));
	for (int i = 0; i < state->queue_count; i++)
		loader->queues[yq_preemption_queue(state->queues[i])->number] = state->queues[i];
	preemption->loader = loader;
	state->complete_leaf = complete_leaf;
	state->complete_all = complete_all;
	state->price_candidates = yq_price_candidates;
	MemoryContextSwitchTo(caller);
}
