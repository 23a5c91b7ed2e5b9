/*-------------------------------------------------------------------------
 *
 * loaded_cluster.c
 *	  The cluster that the loader fills from the tables: reading of rows, names of
 *	  containers, and the containers that lazy preemption has made killable.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "access/htup_details.h"
#include "admission/application/leaf_usage.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "queues/hierarchy.h"
#include "queues/usage.h"
#include "scheduler/load/loaded_cluster.h"
#include "store/catalog.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

/* -- container id -------------------------------------------------------------- */

/* Makes container ids as YARN does. */

/* Number of low bits of a container number that count within an epoch. */
#define YQ_EPOCH_BITS 40

static char *
append(char *end, const char *text, Size length)
{
	memcpy(end, text, length);
	return end + length;
}

/*
 * Return a container id as ContainerId.toString() does: container_<cluster
 * timestamp>_<application>_<attempt>_<number>.  After the first epoch, e<epoch>_ follows
 * "container_".
 */
text *
yq_container_id(const char *application_id, int32 attempt, int64 number)
{
	static const char prefix[] = "container_";
	static const char other_prefix[] = "application_";
	const char *id = application_id;
	int64		epoch = number >> YQ_EPOCH_BITS;
	text	   *result;
	char	   *end;

	if (strncmp(id, other_prefix, sizeof(other_prefix) - 1) == 0)
		id += sizeof(other_prefix) - 1;
	number &= (INT64CONST(1) << YQ_EPOCH_BITS) - 1;
	result = palloc(VARHDRSZ + sizeof(prefix) + strlen(id) + 3 * (MAXINT8LEN + 2));
	end = append(VARDATA(result), prefix, sizeof(prefix) - 1);
	if (epoch > 0)
	{
		*end++ = 'e';
		end = pg_ultostr_zeropad(end, (uint32) epoch, 2);
		*end++ = '_';
	}
	end = append(end, id, strlen(id));
	*end++ = '_';
	end = pg_ultostr_zeropad(end, (uint32) attempt, 2);
	*end++ = '_';
	if (number < 1000000)
		end = pg_ultostr_zeropad(end, (uint32) number, 6);
	else
		end += pg_lltoa(number, end);
	SET_VARSIZE(result, end - (char *) result);
	return result;
}

/* -- loader -------------------------------------------------------------------- */

/* Reads rows of statements into a cluster. */

bool
yq_loader_is_null(const YqLoaderRow *row, int column)
{
	return row->nulls[column - 1];
}

/* Return a column as a number or boolean; NULL becomes 0 or false. */
Datum
yq_loader_value(const YqLoaderRow *row, int column)
{
	return row->nulls[column - 1] ? (Datum) 0 : row->values[column - 1];
}

/* Return a column as a string with the lifetime of the cluster, or NULL. */
char *
yq_loader_text(const YqLoaderRow *row, int column)
{
	MemoryContext caller;
	char	   *result;

	if (yq_loader_is_null(row, column))
		return NULL;
	caller = MemoryContextSwitchTo(row->loader->cluster->context);
	result = TextDatumGetCString(yq_loader_value(row, column));
	MemoryContextSwitchTo(caller);
	return result;
}

int64 *
yq_loader_amounts(const YqLoaderRow *row, int column)
{
	return yq_hierarchy_read_amounts(row->loader->hierarchy, yq_loader_value(row, column));
}

/*
 * Return the number of a label, or -1 if the label has been removed.  A cluster without
 * labels has a single partition.
 */
int
yq_loader_label(const YqLoaderRow *row, int column)
{
	const YqHierarchy *hierarchy = row->loader->hierarchy;

	if (!hierarchy->settings.has_node_labels || yq_loader_is_null(row, column))
		return 0;
	return yq_hierarchy_label(hierarchy, TextDatumGetCString(yq_loader_value(row, column)));
}

void
yq_loader_read(YqClusterLoader *loader, YqSavedPlan *statement, Datum *values, YqLoaderReader reader)
{
	YqLoaderRow row = {.loader = loader};
	TupleDesc	descriptor;
	MemoryContext scratch;
	uint64		count;

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	count = yq_saved_plan_run(statement, values, NULL);
	descriptor = SPI_tuptable->tupdesc;
	row.values = palloc(descriptor->natts * sizeof(Datum));
	row.nulls = palloc(descriptor->natts * sizeof(bool));
	scratch = AllocSetContextCreate(CurrentMemoryContext, "yquota rows", ALLOCSET_SMALL_SIZES);
	for (uint64 i = 0; i < count; i++)
	{
		MemoryContext caller = MemoryContextSwitchTo(scratch);

		CHECK_FOR_INTERRUPTS();
		heap_deform_tuple(SPI_tuptable->vals[i], descriptor, row.values, row.nulls);
		reader(&row);
		MemoryContextSwitchTo(caller);
		MemoryContextReset(scratch);
	}
	SPI_finish();
}

/* Append to a list with the lifetime of the cluster. */
List *
yq_loader_append(const YqClusterLoader *loader, List *list, void *element)
{
	MemoryContext caller = MemoryContextSwitchTo(loader->cluster->context);

	list = lappend(list, element);
	MemoryContextSwitchTo(caller);
	return list;
}

/* -- loaded cluster ------------------------------------------------------------ */

typedef struct UserEntry
{
	YqBytes		key;
	YqClusterUser *user;
} UserEntry;

/* -- applications ---------------------------------------------------------- */

typedef struct ApplicationEntry
{
	YqBytes		key;
	YqClusterApplication *application;
} ApplicationEntry;

HTAB *
yq_loader_make_applications(const YqCluster *cluster)
{
	return yq_bytes_table_create("yquota applications of a cycle", sizeof(ApplicationEntry), cluster->context);
}

void
yq_loader_note_application(const YqClusterLoader *loader, const char *id, YqClusterApplication *application)
{
	bool		found;
	ApplicationEntry *entry = yq_bytes_table_enter_kept(loader->applications, (YqBytes) {id, strlen(id)}, &found);

	entry->application = application;
}

YqClusterApplication *
yq_loader_application(const YqClusterLoader *loader, const char *id)
{
	YqBytes		key = yq_bytes_of_string(id);
	const ApplicationEntry *entry = yq_bytes_table_find(loader->applications, key);

	return entry == NULL ? NULL : entry->application;
}

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

/* -- killable containers ------------------------------------------------------- */

/* Load the containers that lazy preemption has made killable. */

typedef struct Reading
{
	YqLoadedCluster *loaded;
	Oid			guaranteed;
	YqKillableContainer *containers;	/* containers that run */
	int			count;
} Reading;

typedef enum ContainerColumn
{
	CONTAINER_CONTAINER_ID,
	CONTAINER_APPLICATION_ID,
	CONTAINER_QUEUE,
	CONTAINER_USERNAME,
	CONTAINER_NODE,
	CONTAINER_LABEL,
	CONTAINER_ALLOCATION,
	CONTAINER_EXECUTION_TYPE,
	CONTAINER_COLUMNS
} ContainerColumn;

static const char *const container_columns[] = {
	"container_id", "application_id", "queue", "username", "node", "label", "allocation", "execution_type"
};

static void
read_container(const YqRow *row)
{
	Reading    *reading = row->argument;
	YqLoadedCluster *loaded = reading->loaded;
	YqHierarchy *hierarchy = loaded->cluster->hierarchy;
	const char *queue = yq_row_text(row, CONTAINER_QUEUE);
	const char *username = yq_row_text(row, CONTAINER_USERNAME);
	const char *node = yq_row_text(row, CONTAINER_NODE);
	const char *label = yq_row_text(row, CONTAINER_LABEL);
	const YqQueue *found = queue == NULL ? NULL : yq_hierarchy_find_by_name(hierarchy, queue);
	YqClusterQueue *leaf = found == NULL ? NULL : &loaded->cluster->queues[found->number];
	YqKillableContainer container = {.application_id = yq_row_text(row, CONTAINER_APPLICATION_ID)};
	bool		isnull;

	container.label = !hierarchy->settings.has_node_labels || label == NULL ? 0 : yq_hierarchy_label(hierarchy, label);
	if (leaf == NULL || !leaf->is_leaf || username == NULL || container.application_id == NULL || container.label < 0 ||
		DatumGetObjectId(yq_row_value(row, CONTAINER_EXECUTION_TYPE, &isnull)) != reading->guaranteed)
		return;
	container.container_id = yq_row_text(row, CONTAINER_CONTAINER_ID);
	container.user = yq_loaded_user(loaded, leaf, username);
	container.node = node == NULL ? NULL : yq_cluster_node(loaded->cluster, node);
	container.amounts = yq_hierarchy_read_amounts(hierarchy, yq_row_value(row, CONTAINER_ALLOCATION, &isnull));
	reading->containers[reading->count++] = container;
}

void
yq_cluster_read_killable(YqLoadedCluster *loaded, Snapshot snapshot)
{
	Reading		reading = {.loaded = loaded};
	List	   *ids = yq_killable_marks_find(snapshot);
	MemoryContext caller;

	loaded->has_stale_killable = false;
	yq_cluster_set_killable(loaded->cluster, NULL, 0);
	if (loaded->killable_context != NULL)
		MemoryContextReset(loaded->killable_context);
	if (ids == NIL)
		return;
	if (loaded->killable_context == NULL)
		loaded->killable_context = AllocSetContextCreate(loaded->cluster->context, "yquota killable containers",
														 ALLOCSET_DEFAULT_SIZES);
	caller = MemoryContextSwitchTo(loaded->killable_context);
	reading.guaranteed = yq_enum_oid("execution_type", "GUARANTEED");
	reading.containers = palloc0(list_length(ids) * sizeof(YqKillableContainer));
	yq_killable_marks_read_containers(ids, snapshot, container_columns, CONTAINER_COLUMNS, read_container, &reading);
	yq_cluster_set_killable(loaded->cluster, reading.containers, reading.count);
	MemoryContextSwitchTo(caller);
}
