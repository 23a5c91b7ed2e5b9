/*-------------------------------------------------------------------------
 *
 * killable_containers.c
 *	  Loading the containers that lazy preemption has made killable.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "queues/hierarchy.h"
#include "queues/usage.h"
#include "scheduler/load/killable_containers.h"
#include "store/catalog.h"
#include "utils/memutils.h"

typedef struct Reading
{
	YqLoadedCluster *loaded;
	Oid			guaranteed;
	YqKillableContainer *containers;	/* that run */
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
