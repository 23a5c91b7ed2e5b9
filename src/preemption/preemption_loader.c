/*-------------------------------------------------------------------------
 *
 * preemption_loader.c
 *	  Completing leaves of a round of preemption when a selector first needs them.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "preemption/preemption_applications.h"
#include "preemption/preemption_containers.h"
#include "preemption/preemption_loader.h"
#include "preemption/preemption_reservations.h"
#include "preemption/price_candidates.h"
#include "utils/memutils.h"

static YqPreemptionLoader *
loader_of(const YqPreemption *state)
{
	return ((YqLoadedPreemption *) state->source)->loader;
}

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
complete_wanted(YqPreemptionLoader *loader)
{
	YqPreemption *state = loader->preemption->state;
	YqPreemptionQueue **leaves = palloc(Max(state->queue_count, 1) * sizeof(YqPreemptionQueue *));
	int			count = 0;
	YqPreemptionReading *containers;

	for (int i = 0; i < state->queue_count; i++)
	{
		if (loader->is_wanted[i])
			leaves[count++] = state->queues[i];
	}
	yq_preemption_applications_find(loader, leaves, count);
	containers = yq_preemption_containers_read(loader);
	yq_preemption_applications_add(loader);
	yq_preemption_reservations_add(loader);
	yq_preemption_containers_add(containers);
	for (int i = 0; i < count; i++)
	{
		yq_preemption_applications_set_user_limits(loader, leaves[i]);
		leaves[i]->is_complete = true;
	}
	pfree(leaves);
}

static void
complete_leaf(YqPreemption *state, YqPreemptionQueue *leaf)
{
	YqPreemptionLoader *loader = loader_of(state);

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
	YqPreemptionLoader *loader = loader_of(state);
	const YqCluster *cluster = loader->preemption->loaded->cluster;

	for (int i = 0; i < state->queue_count; i++)
		loader->is_wanted[i] = state->queues[i]->is_leaf && !state->queues[i]->is_complete;
	complete_wanted(loader);
	for (int i = 0; i < cluster->name_count; i++)
	{
		if (cluster->nodes[i] != NULL)
			(void) yq_loaded_preemption_node(loader, yq_bytes_of_string(cluster->nodes[i]->name), cluster->nodes[i]->label);
	}
}

void
yq_preemption_loader_begin(YqLoadedPreemption *preemption)
{
	YqPreemption *state = preemption->state;
	MemoryContext caller = MemoryContextSwitchTo(state->context);
	YqPreemptionLoader *loader = palloc0(sizeof(YqPreemptionLoader));

	loader->preemption = preemption;
	yq_preemption_applications_begin(loader);
	yq_loaded_preemption_begin_nodes(loader);
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
