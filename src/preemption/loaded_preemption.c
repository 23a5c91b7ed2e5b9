/*-------------------------------------------------------------------------
 *
 * loaded_preemption.c
 *	  The state of a round of preemption that is loaded from the tables, with the
 *	  loader's data.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "preemption/loaded_preemption.h"
#include "utils/memutils.h"

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
