/*-------------------------------------------------------------------------
 *
 * holdings.c
 *	  What applications of leaves in fair order hold.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "miscadmin.h"
#include "queues/hierarchy.h"
#include "queues/text.h"
#include "scheduler/load/holdings.h"
#include "store/table_scan.h"
#include "utils/builtins.h"
#include "utils/snapmgr.h"

/* Containers of one application that are looked for by number; searching is for more. */
#define MOST_NUMBERS 1000

/* Ids that it takes longer to compare one by one than to plan a statement. */
#define MANY 50

/* A GUARANTEED container of a user that is counted in his leaf. */
typedef struct Held
{
	char	   *container_id;
	char	   *application_id;
	int			label;
	int64	   *amounts;
} Held;

/* What an application that is read again held, as far as has been looked. */
typedef struct BeforeEntry
{
	YqBytes		key;			/* its id */
	const YqClusterUser *user;	/* whose it was */
	int			attempt;
	int64		looked_below;
	int64	   *used;			/* per label */
} BeforeEntry;

/* -- what is known of a user ----------------------------------------------------- */

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
	HOLDING_CONTAINER_ID = 1,
	HOLDING_APPLICATION_ID,
	HOLDING_QUEUE,
	HOLDING_USERNAME,
	HOLDING_LABEL,
	HOLDING_ALLOCATION
};

static bool
is_at_home(const YqLoaderRow *row, const YqClusterApplication *application)
{
	const YqQueue *queue = yq_loader_is_null(row, HOLDING_QUEUE) ? NULL :
		yq_hierarchy_find_by_name(row->loader->hierarchy, TextDatumGetCString(yq_loader_value(row, HOLDING_QUEUE)));

	return queue == application->leaf->queue && !yq_loader_is_null(row, HOLDING_USERNAME) &&
		strcmp(TextDatumGetCString(yq_loader_value(row, HOLDING_USERNAME)), application->user->username) == 0;
}

/* What containers elsewhere hold changes without a word about the user of the leaf. */
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
read_holding(const YqLoaderRow *row)
{
	YqClusterLoader *loader = row->loader;
	char	   *id = TextDatumGetCString(yq_loader_value(row, HOLDING_APPLICATION_ID));
	YqClusterApplication *application = yq_loader_application(loader, id);
	Held		held = {.application_id = id,.label = yq_loader_label(row, HOLDING_LABEL),
		.amounts = yq_loader_amounts(row, HOLDING_ALLOCATION)};

	if (application == NULL || held.label < 0)
		return;
	yq_amounts_add(loader->cluster->calculator, yq_at(loader->cluster, application->used, held.label), held.amounts);
	if (!is_at_home(row, application))
	{
		mark_holds_elsewhere(loader, application);
		return;
	}
	held.container_id = TextDatumGetCString(yq_loader_value(row, HOLDING_CONTAINER_ID));
	keep_held(loader, application->user, &held);
}

#define LOOK_UP \
	"SELECT c.container_id, c.application_id, c.queue, c.username, c.label, c.allocation " \
	"FROM yquota.container AS c WHERE c.application_id = ANY ($1) AND c.execution_type = 'GUARANTEED'"

/* Read all containers of applications (YqClusterApplication). */
static void
search(YqClusterLoader *loader, const List *applications)
{
	static YqSavedPlan look_up = {.command = LOOK_UP,.types = {"_text"},.plans_once = true};
	/* the planner hashes ids that it knows */
	static YqSavedPlan look_up_many = {.command = LOOK_UP,.types = {"_text"},.plans_each_time = true};
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
		yq_loaded(application)->looked_below = yq_loaded(application)->next_container;
		ids = lappend(ids, unconstify(char *, application->application_id));
	}
	values[0] = yq_array_of_strings(ids);
	yq_loader_read(loader, list_length(ids) < MANY ? &look_up : &look_up_many, values, read_holding);
}

/* -- applications that are read again ----------------------------------------------- */

void
yq_holdings_begin_again(YqClusterLoader *loader)
{
	loader->held = yq_bytes_table_create("yquota applications read again", sizeof(BeforeEntry), CurrentMemoryContext);
}

void
yq_holdings_end_again(YqClusterLoader *loader)
{
	hash_destroy(loader->held);
	loader->held = NULL;
}

void
yq_holdings_remember(const YqClusterLoader *loader, const YqClusterApplication *application)
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
	before->looked_below = source->looked_below;
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
	source->looked_below = before->attempt == source->attempt ? before->looked_below : 1;
	memcpy(application->used, before->used, yq_cluster_amounts_size(loader->cluster));
	return true;
}

void
yq_holdings_read(YqClusterLoader *loader)
{
	List	   *unknown = NIL;
	ListCell   *cell;

	foreach(cell, loader->added)
	{
		YqClusterApplication *application = lfirst(cell);

		if (yq_is_fair(application->leaf->policy) && !set_as_before(loader, application))
			unknown = lappend(unknown, application);
	}
	search(loader, unknown);
}

/* -- looking at containers ------------------------------------------------------------ */

typedef struct Look
{
	YqClusterLoader *loader;
	Snapshot	snapshot;
	YqClusterUser *user;
	Oid			guaranteed;
	Held		found;			/* the container at hand; its id is NULL when it is not the user's */
} Look;

static const char *const container_columns[] = {
	"container_id", "application_id", "queue", "username", "label", "allocation", "execution_type"
};

static void
read_container(const YqRow *row)
{
	Look	   *look = row->argument;
	YqHierarchy *hierarchy = look->loader->hierarchy;
	const char *queue = yq_row_text(row, 2);
	const char *username = yq_row_text(row, 3);
	const char *label = yq_row_text(row, 4);
	bool		isnull;

	if (queue == NULL || username == NULL ||
		DatumGetObjectId(yq_row_value(row, 6, &isnull)) != look->guaranteed ||
		strcmp(username, look->user->username) != 0 ||
		yq_hierarchy_find_by_name(hierarchy, queue) != look->user->leaf->queue)
		return;
	look->found.label = !hierarchy->settings.has_node_labels || label == NULL ? 0 : yq_hierarchy_label(hierarchy, label);
	look->found.application_id = yq_row_text(row, 1);
	if (look->found.label < 0 || look->found.application_id == NULL)
		return;
	look->found.container_id = yq_row_text(row, 0);
	look->found.amounts = yq_hierarchy_read_amounts(hierarchy, yq_row_value(row, 5, &isnull));
}

static bool
look_at(Look *look, const char *container_id)
{
	look->found.container_id = NULL;
	yq_table_scan_index(YQ_CONTAINER, "container_pkey", look->snapshot, container_id, NULL, container_columns,
					   lengthof(container_columns), read_container, look);
	return look->found.container_id != NULL;
}

static void
look_at_known(Look *look)
{
	ListCell   *cell;

	foreach(cell, look->user->held)
	{
		Held	   *held = lfirst(cell);

		if (look_at(look, held->container_id) && strcmp(look->found.application_id, held->application_id) == 0)
		{
			held->label = look->found.label;
			memcpy(held->amounts, look->found.amounts, look->loader->cluster->calculator->types * sizeof(int64));
			continue;
		}
		look->user->held = foreach_delete_current(look->user->held, cell);
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

/* Those that passes have given an application since it was looked at. */
static void
look_for_started(Look *look, const YqClusterApplication *application)
{
	YqLoadedApplication *source = yq_loaded(application);

	if (source->next_container - source->looked_below <= MOST_NUMBERS)
	{
		for (int64 number = source->looked_below; number < source->next_container; number++)
		{
			const char *container_id = text_to_cstring(yq_loaded_container_id(application, number));

			if (!is_known_container(look->user, container_id) && look_at(look, container_id))
				keep_held(look->loader, look->user, &look->found);
		}
	}
	source->looked_below = source->next_container;
}

/* Is what is known all that the counters say that he uses, reservations apart? */
static bool
adds_up(const Look *look)
{
	const YqCluster *cluster = look->loader->cluster;
	const YqClusterUser *user = look->user;
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

/* Each application holds what its containers do; of some more is known. */
static void
hand_out(const Look *look)
{
	const YqCluster *cluster = look->loader->cluster;
	YqClusterQueue *leaf = look->user->leaf;
	ListCell   *cell;

	for (int i = 0; i < leaf->application_count; i++)
	{
		if (leaf->applications[i]->user == look->user && !yq_loaded(leaf->applications[i])->holds_elsewhere)
			memset(leaf->applications[i]->used, 0, yq_cluster_amounts_size(cluster));
	}
	foreach(cell, look->user->held)
	{
		const Held *held = lfirst(cell);
		YqClusterApplication *application = yq_loader_application(look->loader, held->application_id);

		if (application != NULL && application->user == look->user && !yq_loaded(application)->holds_elsewhere)
			yq_amounts_add(cluster->calculator, yq_at(cluster, application->used, held->label), held->amounts);
	}
}

/* False when there must be others. */
static bool
refresh_user(Look *look)
{
	const YqClusterQueue *leaf = look->user->leaf;

	look_at_known(look);
	for (int i = 0; i < leaf->application_count; i++)
	{
		if (leaf->applications[i]->user == look->user)
			look_for_started(look, leaf->applications[i]);
	}
	if (!adds_up(look))
		return false;
	hand_out(look);
	return true;
}

/* Appends the applications of users of whom more must be known than has been found. */
static List *
refresh_users(Look *look, const YqClusterQueue *leaf)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "yquota holdings", ALLOCSET_DEFAULT_SIZES);
	List	   *unclear = NIL;

	for (int i = 0; i < leaf->user_count; i++)
	{
		MemoryContext caller;
		bool		is_clear;

		CHECK_FOR_INTERRUPTS();
		look->user = leaf->users[i];
		if (!look->user->is_stale)
			continue;
		caller = MemoryContextSwitchTo(context);
		is_clear = refresh_user(look);
		MemoryContextSwitchTo(caller);
		MemoryContextReset(context);
		look->user->is_stale = false;
		for (int j = 0; !is_clear && j < leaf->application_count; j++)
		{
			if (leaf->applications[j]->user == look->user)
				unclear = lappend(unclear, leaf->applications[j]);
		}
	}
	MemoryContextDelete(context);
	return unclear;
}

void
yq_holdings_refresh(YqCluster *cluster, YqClusterQueue *leaf)
{
	YqLoadedCluster *loaded = cluster->source;
	Look		look = {.loader = loaded->loader,.guaranteed = yq_enum_oid("execution_type", "GUARANTEED")};
	List	   *unclear;

	if (!yq_is_fair(leaf->policy))
		return;
	look.snapshot = yq_latest_snapshot();
	unclear = refresh_users(&look, leaf);
	UnregisterSnapshot(look.snapshot);
	search(loaded->loader, unclear);
}
