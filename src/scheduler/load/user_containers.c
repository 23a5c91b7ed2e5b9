/*-------------------------------------------------------------------------
 *
 * user_containers.c
 *	  Containers of users in leaves with fair order.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "miscadmin.h"
#include "queues/hierarchy.h"
#include "queues/text.h"
#include "scheduler/load/user_containers.h"
#include "store/table_scan.h"
#include "utils/builtins.h"
#include "utils/snapmgr.h"

/*
 * Limit on an application's new containers that are read one by one.  Above it, one
 * statement reads all containers of the user's applications.
 */
#define MOST_NUMBERS 1000

/* From this number of ids on, planning the statement costs less than comparing each row with all ids. */
#define MANY 50

/* A GUARANTEED container that counts for a user in a leaf. */
typedef struct Held
{
	char	   *container_id;
	char	   *application_id;
	int			label;
	int64	   *amounts;
} Held;

/* The used resources that an application had before it was read again. */
typedef struct BeforeEntry
{
	YqBytes		key;			/* id of the application */
	const YqClusterUser *user;	/* user of the application before it was read again */
	int			attempt;
	int64		read_below;
	int64	   *used;			/* per label */
} BeforeEntry;

/* -- known containers of a user ----------------------------------------------------- */

static void
keep_held(const YqClusterLoader *loader, YqClusterUser *user, const Held *found)
{
	MemoryContext caller = MemoryContextSwitchTo(loader->cluster->context);
	Size		size = loader->cluster->calculator->types * sizeof(int64);
	Held	   *held = palloc(sizeof(Held));

	*held = *found;
	held->container_id = pstrdup(found->container_id);
	held->application_id = pstrdup(found->application_id);
	held->amounts = memcpy(palloc(size), found->amounts, size);
	user->held = lappend(user->held, held);
	MemoryContextSwitchTo(caller);
}

static void
free_held(Held *held)
{
	pfree(held->container_id);
	pfree(held->application_id);
	pfree(held->amounts);
	pfree(held);
}

static void
forget_held_by_application(const YqClusterApplication *application)
{
	YqClusterUser *user = application->user;
	ListCell   *cell;

	foreach(cell, user->held)
	{
		Held	   *held = lfirst(cell);

		if (strcmp(held->application_id, application->application_id) != 0)
			continue;
		user->held = foreach_delete_current(user->held, cell);
		free_held(held);
	}
}

/* -- searching -------------------------------------------------------------------- */

enum
{
	CONTAINER_CONTAINER_ID = 1,
	CONTAINER_APPLICATION_ID,
	CONTAINER_QUEUE,
	CONTAINER_USERNAME,
	CONTAINER_LABEL,
	CONTAINER_ALLOCATION
};

static bool
is_at_home(const YqLoaderRow *row, const YqClusterApplication *application)
{
	const YqQueue *queue = yq_loader_is_null(row, CONTAINER_QUEUE) ? NULL :
		yq_hierarchy_find_by_name(row->loader->hierarchy, TextDatumGetCString(yq_loader_value(row, CONTAINER_QUEUE)));

	return queue == application->leaf->queue && !yq_loader_is_null(row, CONTAINER_USERNAME) &&
		strcmp(TextDatumGetCString(yq_loader_value(row, CONTAINER_USERNAME)), application->user->username) == 0;
}

/*
 * Mark an application with containers that count for another leaf or user.  Such containers may
 * change without a change of this user's counters, so each cycle reads the application again.
 */
static void
mark_holds_elsewhere(YqClusterLoader *loader, YqClusterApplication *application)
{
	MemoryContext caller;

	if (yq_loaded(application)->holds_elsewhere)
		return;
	yq_loaded(application)->holds_elsewhere = true;
	caller = MemoryContextSwitchTo(loader->cluster->context);
	loader->loaded->unsettled = lappend(loader->loaded->unsettled, pstrdup(application->application_id));
	MemoryContextSwitchTo(caller);
}

static void
read_held_container(const YqLoaderRow *row)
{
	YqClusterLoader *loader = row->loader;
	char	   *id = TextDatumGetCString(yq_loader_value(row, CONTAINER_APPLICATION_ID));
	YqClusterApplication *application = yq_loader_application(loader, id);
	Held		held = {.application_id = id,.label = yq_loader_label(row, CONTAINER_LABEL),
		.amounts = yq_loader_amounts(row, CONTAINER_ALLOCATION)};

	if (application == NULL || held.label < 0)
		return;
	yq_amounts_add(loader->cluster->calculator, yq_at(loader->cluster, application->used, held.label), held.amounts);
	if (!is_at_home(row, application))
	{
		mark_holds_elsewhere(loader, application);
		return;
	}
	held.container_id = TextDatumGetCString(yq_loader_value(row, CONTAINER_CONTAINER_ID));
	keep_held(loader, application->user, &held);
}

#define SELECT_CONTAINERS \
	"SELECT c.container_id, c.application_id, c.queue, c.username, c.label, c.allocation " \
	"FROM yquota.container AS c WHERE c.application_id = ANY ($1) AND c.execution_type = 'GUARANTEED'"

/* Read all containers of some applications (YqClusterApplication). */
static void
read_containers(YqClusterLoader *loader, const List *applications)
{
	static YqSavedPlan select_containers = {.command = SELECT_CONTAINERS,.types = {"_text"},.plans_once = true};
	/* if the planner knows the ids, it looks them up in a hash table */
	static YqSavedPlan select_for_many = {.command = SELECT_CONTAINERS,.types = {"_text"},.plans_each_time = true};
	List	   *ids = NIL;
	ListCell   *cell;
	Datum		values[1];

	if (applications == NIL)
		return;
	foreach(cell, applications)
	{
		YqClusterApplication *application = lfirst(cell);

		memset(application->used, 0, yq_cluster_amounts_size(loader->cluster));
		forget_held_by_application(application);
		yq_loaded(application)->read_below = yq_loaded(application)->next_container;
		ids = lappend(ids, unconstify(char *, application->application_id));
	}
	values[0] = yq_array_of_strings(ids);
	yq_loader_read(loader, list_length(ids) < MANY ? &select_containers : &select_for_many, values, read_held_container);
}

/* -- applications that are read again ----------------------------------------------- */

void
yq_user_containers_begin_again(YqClusterLoader *loader)
{
	loader->held = yq_bytes_table_create("yquota applications read again", sizeof(BeforeEntry), CurrentMemoryContext);
}

void
yq_user_containers_end_again(YqClusterLoader *loader)
{
	hash_destroy(loader->held);
	loader->held = NULL;
}

void
yq_user_containers_remember(const YqClusterLoader *loader, const YqClusterApplication *application)
{
	YqBytes		key = yq_bytes_of_string(application->application_id);
	const YqLoadedApplication *source = yq_loaded(application);
	BeforeEntry *before;
	bool		found;

	if (!yq_is_fair(application->leaf->policy) || source->holds_elsewhere)
		return;
	before = yq_bytes_table_enter(loader->held, key, CurrentMemoryContext, &found);
	before->user = application->user;
	before->attempt = source->attempt;
	before->read_below = source->read_below;
	before->used = palloc(yq_cluster_amounts_size(loader->cluster));
	memcpy(before->used, application->used, yq_cluster_amounts_size(loader->cluster));
}

static bool
set_as_before(const YqClusterLoader *loader, YqClusterApplication *application)
{
	YqBytes		key = yq_bytes_of_string(application->application_id);
	const BeforeEntry *before = loader->held == NULL ? NULL : yq_bytes_table_find(loader->held, key);
	YqLoadedApplication *source = yq_loaded(application);

	if (before == NULL || before->user != application->user)
		return false;
	source->read_below = before->attempt == source->attempt ? before->read_below : 1;
	memcpy(application->used, before->used, yq_cluster_amounts_size(loader->cluster));
	return true;
}

void
yq_user_containers_read(YqClusterLoader *loader)
{
	List	   *unknown = NIL;
	ListCell   *cell;

	foreach(cell, loader->added)
	{
		YqClusterApplication *application = lfirst(cell);

		if (yq_is_fair(application->leaf->policy) && !set_as_before(loader, application))
			unknown = lappend(unknown, application);
	}
	read_containers(loader, unknown);
}

/* -- reading single containers ---------------------------------------------------------------- */

typedef struct UserSearch
{
	YqClusterLoader *loader;
	Snapshot	snapshot;
	YqClusterUser *user;
	Oid			guaranteed;
	Held		found;			/* the container that was read, without an id if it belongs to another user */
} UserSearch;

static const char *const container_columns[] = {
	"container_id", "application_id", "queue", "username", "label", "allocation", "execution_type"
};

static void
read_container(const YqRow *row)
{
	UserSearch	   *search = row->argument;
	YqHierarchy *hierarchy = search->loader->hierarchy;
	const char *queue = yq_row_text(row, 2);
	const char *username = yq_row_text(row, 3);
	const char *label = yq_row_text(row, 4);
	bool		isnull;

	if (queue == NULL || username == NULL ||
		DatumGetObjectId(yq_row_value(row, 6, &isnull)) != search->guaranteed ||
		strcmp(username, search->user->username) != 0 ||
		yq_hierarchy_find_by_name(hierarchy, queue) != search->user->leaf->queue)
		return;
	search->found.label = !hierarchy->settings.has_node_labels || label == NULL ? 0 : yq_hierarchy_label(hierarchy, label);
	search->found.application_id = yq_row_text(row, 1);
	if (search->found.label < 0 || search->found.application_id == NULL)
		return;
	search->found.container_id = yq_row_text(row, 0);
	search->found.amounts = yq_hierarchy_read_amounts(hierarchy, yq_row_value(row, 5, &isnull));
}

static bool
find_container(UserSearch *search, const char *container_id)
{
	search->found.container_id = NULL;
	yq_table_scan_index(YQ_CONTAINER, "container_pkey", search->snapshot, container_id, NULL, container_columns,
					   lengthof(container_columns), read_container, search);
	return search->found.container_id != NULL;
}

static void
check_known_containers(UserSearch *search)
{
	ListCell   *cell;

	foreach(cell, search->user->held)
	{
		Held	   *held = lfirst(cell);

		if (find_container(search, held->container_id) && strcmp(search->found.application_id, held->application_id) == 0)
		{
			held->label = search->found.label;
			memcpy(held->amounts, search->found.amounts, search->loader->cluster->calculator->types * sizeof(int64));
			continue;
		}
		search->user->held = foreach_delete_current(search->user->held, cell);
		free_held(held);
	}
}

static bool
is_known_container(const YqClusterUser *user, const char *container_id)
{
	ListCell   *cell;

	foreach(cell, user->held)
	{
		if (strcmp(((const Held *) lfirst(cell))->container_id, container_id) == 0)
			return true;
	}
	return false;
}

/* Read the containers that an application has started since the last reading. */
static void
find_started_containers(UserSearch *search, const YqClusterApplication *application)
{
	YqLoadedApplication *source = yq_loaded(application);

	if (source->next_container - source->read_below <= MOST_NUMBERS)
	{
		for (int64 number = source->read_below; number < source->next_container; number++)
		{
			const char *container_id = text_to_cstring(yq_loaded_container_id(application, number));

			if (!is_known_container(search->user, container_id) && find_container(search, container_id))
				keep_held(search->loader, search->user, &search->found);
		}
	}
	source->read_below = source->next_container;
}

/* Do the known containers and the reservations add up to the user's counter? */
static bool
adds_up(const UserSearch *search)
{
	const YqCluster *cluster = search->loader->cluster;
	const YqClusterUser *user = search->user;
	Size		size = yq_cluster_amounts_size(cluster);
	int64	   *sum = palloc0(size);
	ListCell   *cell;

	foreach(cell, user->held)
	{
		const Held *held = lfirst(cell);

		yq_amounts_add(cluster->calculator, yq_at(cluster, sum, held->label), held->amounts);
	}
	for (int i = 0; i < user->leaf->application_count; i++)
	{
		const YqClusterApplication *application = user->leaf->applications[i];

		for (int label = 0; application->user == user && label < cluster->hierarchy->label_count; label++)
			yq_amounts_add(cluster->calculator, yq_at(cluster, sum, label), yq_at(cluster, application->reserved, label));
	}
	return memcmp(sum, user->used, size) == 0;
}

/* Set the used resources of each application to the sum of its containers. */
static void
set_used_of_applications(const UserSearch *search)
{
	const YqCluster *cluster = search->loader->cluster;
	YqClusterQueue *leaf = search->user->leaf;
	ListCell   *cell;

	for (int i = 0; i < leaf->application_count; i++)
	{
		if (leaf->applications[i]->user == search->user && !yq_loaded(leaf->applications[i])->holds_elsewhere)
			memset(leaf->applications[i]->used, 0, yq_cluster_amounts_size(cluster));
	}
	foreach(cell, search->user->held)
	{
		const Held *held = lfirst(cell);
		YqClusterApplication *application = yq_loader_application(search->loader, held->application_id);

		if (application != NULL && application->user == search->user && !yq_loaded(application)->holds_elsewhere)
			yq_amounts_add(cluster->calculator, yq_at(cluster, application->used, held->label), held->amounts);
	}
}

/* Update the known containers of a user.  Returns false if the user has other containers, too. */
static bool
refresh_user(UserSearch *search)
{
	const YqClusterQueue *leaf = search->user->leaf;

	check_known_containers(search);
	for (int i = 0; i < leaf->application_count; i++)
	{
		if (leaf->applications[i]->user == search->user)
			find_started_containers(search, leaf->applications[i]);
	}
	if (!adds_up(search))
		return false;
	set_used_of_applications(search);
	return true;
}

/* Update the known containers of stale users, and return the applications of users that have other containers. */
static List *
refresh_users(UserSearch *search, const YqClusterQueue *leaf)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "yquota user containers", ALLOCSET_DEFAULT_SIZES);
	List	   *unclear = NIL;

	for (int i = 0; i < leaf->user_count; i++)
	{
		MemoryContext caller;
		bool		is_clear;

		CHECK_FOR_INTERRUPTS();
		search->user = leaf->users[i];
		if (!search->user->is_stale)
			continue;
		caller = MemoryContextSwitchTo(context);
		is_clear = refresh_user(search);
		MemoryContextSwitchTo(caller);
		MemoryContextReset(context);
		search->user->is_stale = false;
		for (int j = 0; !is_clear && j < leaf->application_count; j++)
		{
			if (leaf->applications[j]->user == search->user)
				unclear = lappend(unclear, leaf->applications[j]);
		}
	}
	MemoryContextDelete(context);
	return unclear;
}

void
yq_user_containers_refresh(YqCluster *cluster, YqClusterQueue *leaf)
{
	YqLoadedCluster *loaded = cluster->source;
	UserSearch	search = {.loader = loaded->loader,.guaranteed = yq_enum_oid("execution_type", "GUARANTEED")};
	List	   *unclear;

	if (!yq_is_fair(leaf->policy))
		return;
	search.snapshot = yq_latest_snapshot();
	unclear = refresh_users(&search, leaf);
	UnregisterSnapshot(search.snapshot);
	read_containers(loaded->loader, unclear);
}
