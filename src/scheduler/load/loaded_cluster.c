/*-------------------------------------------------------------------------
 *
 * loaded_cluster.c
 *	  The cluster that the loader has filled from the tables.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "admission/application/leaf_usage.h"
#include "queues/hierarchy.h"
#include "scheduler/load/loaded_cluster.h"
#include "scheduler/load/loader.h"
#include "scheduler/state/container_id.h"
#include "utils/builtins.h"

typedef struct UserEntry
{
	YqBytes		key;
	YqClusterUser *user;
} UserEntry;

/* -- users ----------------------------------------------------------------- */

HTAB *
yq_loader_make_users(const YqCluster *cluster)
{
	return yq_bytes_table_create("yquota users of a cycle", sizeof(UserEntry), cluster->context);
}

static YqClusterUser *
add_user(const YqClusterLoader *loader, YqClusterQueue *leaf, YqBytes name)
{
	MemoryContext caller = MemoryContextSwitchTo(loader->cluster->context);
	char	   *username = pnstrdup(name.data, name.length);

	MemoryContextSwitchTo(caller);
	return yq_cluster_add_user(loader->cluster, leaf, username, yq_queue_user_weight(leaf->queue, username));
}

YqClusterUser *
yq_loaded_find_user(YqLoadedCluster *loaded, YqClusterQueue *leaf, YqBytes name)
{
	YqClusterLoader	   *loader = loaded->loader;
	int			number = leaf->queue->number;
	YqBytes		key = {.length = sizeof(number) + name.length};
	char	   *data = palloc(key.length);
	bool		found;
	UserEntry  *entry;

	memcpy(data, &number, sizeof(number));
	memcpy(data + sizeof(number), name.data, name.length);
	key.data = data;
	entry = yq_bytes_table_enter(loader->users, key, loader->cluster->context, &found);
	if (!found)
		entry->user = add_user(loader, leaf, name);
	pfree(data);
	return entry->user;
}

YqClusterUser *
yq_loaded_user(YqLoadedCluster *loaded, YqClusterQueue *leaf, const char *username)
{
	return yq_loaded_find_user(loaded, leaf, (YqBytes) {username, strlen(username)});
}

/* -- queues that are not prepared -------------------------------------------- */

void
yq_loaded_note_stale(YqLoadedCluster *loaded, YqClusterQueue *queue)
{
	MemoryContext caller;

	if (queue->is_stale)
		return;
	queue->is_stale = true;
	caller = MemoryContextSwitchTo(loaded->cluster->context);
	loaded->stale_queues = lappend(loaded->stale_queues, queue);
	MemoryContextSwitchTo(caller);
}

void
yq_loaded_forget_stale(YqLoadedCluster *loaded)
{
	ListCell   *cell;

	foreach(cell, loaded->stale_queues)
		((YqClusterQueue *) lfirst(cell))->is_stale = false;
	list_free(loaded->stale_queues);
	loaded->stale_queues = NIL;
}

/* -- queues that do not exist ------------------------------------------------- */

typedef struct StrayEntry
{
	YqBytes		key;
} StrayEntry;

void
yq_loaded_note_stray(YqLoadedCluster *loaded, YqBytes name)
{
	bool		found;

	if (loaded->strays == NULL)
		loaded->strays = yq_bytes_table_create("yquota queues that do not exist", sizeof(StrayEntry), loaded->cluster->context);
	(void) yq_bytes_table_enter(loaded->strays, name, loaded->cluster->context, &found);
}

bool
yq_loaded_is_stray(const YqLoadedCluster *loaded, const YqQueue *queue)
{
	return loaded->strays != NULL && (yq_bytes_table_find(loaded->strays, queue->key) != NULL ||
									  yq_bytes_table_find(loaded->strays, yq_bytes_of_string(queue->name)) != NULL);
}

/* -- containers ------------------------------------------------------------- */

text *
yq_loaded_container_id(const YqClusterApplication *application, int64 number)
{
	return yq_container_id(application->application_id, yq_loaded(application)->attempt, number);
}
