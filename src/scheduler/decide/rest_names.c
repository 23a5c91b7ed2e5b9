/*-------------------------------------------------------------------------
 *
 * rest_names.c
 *	  Who asks for nodes and racks by name, in a pass over many of them.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "scheduler/decide/rest_names.h"
#include "utils/memutils.h"

/* Somebody in the leaf asks for a node or rack, or wants nothing there (no ask). */
typedef struct NamedAsk
{
	YqClusterApplication *application;
	const YqRequestKey *key;
	const YqAsk *ask;
} NamedAsk;

struct YqRestNames
{
	NamedAsk   *asks;			/* by name */
	int		   *first;			/* per name */
	int		   *end;			/* per name */
};

static bool
is_outstanding(const YqRequestKey *key, const YqAsk *ask)
{
	return ask->count > 0 && key->anywhere.count > 0;
}

/*
 * Chances do not count for a key that is passed over because it does not relax
 * locality, so one that has not let enough go by never will.
 */
bool
yq_rest_rack_is_idle(const YqCluster *cluster, const YqRequestKey *key, const YqAsk *ask)
{
	if (!is_outstanding(key, ask))
		return true;
	return !key->anywhere.relaxes_locality &&
		(!ask->relaxes_locality ||
		 key->opportunities + 1 <= Min(cluster->node_count, cluster->settings.node_locality_delay));
}

/* Call put() for every name that an application of a leaf has an opinion of. */
static void
for_each_name(YqRestNames *names, YqClusterQueue *leaf, void (*put) (YqRestNames *, YqName, NamedAsk))
{
	for (int i = 0; i < leaf->application_count; i++)
	{
		YqClusterApplication *application = leaf->applications[i];

		for (int j = 0; j < application->blacklist_count; j++)
			put(names, application->blacklist[j], (NamedAsk) {.application = application});
		for (int j = 0; j < application->key_count; j++)
		{
			const YqRequestKey *key = application->keys[j];

			for (int k = 0; k < key->ask_count; k++)
			{
				if (is_outstanding(key, &key->asks[k]))
					put(names, key->asks[k].name,
						(NamedAsk) {.application = application,.key = key,.ask = &key->asks[k]});
			}
		}
	}
}

static void
count_name(YqRestNames *names, YqName name, NamedAsk ask)
{
	names->end[name]++;
}

static void
put_name(YqRestNames *names, YqName name, NamedAsk ask)
{
	names->asks[names->end[name]++] = ask;
}

static void
for_each_leaf(YqRestNames *names, const YqCluster *cluster, void (*put) (YqRestNames *, YqName, NamedAsk))
{
	for (int i = 0; i < cluster->hierarchy->queue_count; i++)
	{
		if (cluster->queues[i].is_leaf)
			for_each_name(names, &cluster->queues[i], put);
	}
}

YqRestNames *
yq_rest_names_make(const YqCluster *cluster)
{
	YqRestNames *names = MemoryContextAlloc(cluster->context, sizeof(YqRestNames));
	int			count = 0;

	names->first = MemoryContextAllocZero(cluster->context, Max(cluster->name_count, 1) * sizeof(int));
	names->end = MemoryContextAllocZero(cluster->context, Max(cluster->name_count, 1) * sizeof(int));
	for_each_leaf(names, cluster, count_name);
	for (int i = 0; i < cluster->name_count; i++)
	{
		names->first[i] = count;
		count += names->end[i];
		names->end[i] = names->first[i];
	}
	names->asks = MemoryContextAllocHuge(cluster->context, Max(count, 1) * sizeof(NamedAsk));
	for_each_leaf(names, cluster, put_name);
	return names;
}

void
yq_rest_names_free(YqRestNames *names)
{
	pfree(names->asks);
	pfree(names->first);
	pfree(names->end);
	pfree(names);
}

/* Of a leaf, where some may rest. */
static void
note_named(const YqCluster *cluster, const YqClusterNode *node, YqClusterApplication *application)
{
	YqClusterQueue *leaf = application->leaf;

	if (leaf->rest_leaves == NULL)
		return;
	if (leaf->asks_for != node)
		leaf->named_count = 0;
	if (leaf->named_count == leaf->named_room)
	{
		leaf->named_room = Max(16, leaf->named_room * 2);
		leaf->named = leaf->named == NULL ?
			MemoryContextAlloc(cluster->context, leaf->named_room * sizeof(YqClusterApplication *)) :
			repalloc(leaf->named, leaf->named_room * sizeof(YqClusterApplication *));
	}
	leaf->named[leaf->named_count++] = application;
}

/* Mark the leaves that have something to do with the name; what is served goes. */
static void
mark_name(const YqCluster *cluster, YqRestNames *names, const YqClusterNode *node, YqName name, bool is_rack)
{
	for (int i = names->first[name]; i < names->end[name]; i++)
	{
		const NamedAsk *asked = &names->asks[i];

		while (i < names->end[name] && asked->key != NULL && !is_outstanding(asked->key, asked->ask))
			names->asks[i] = names->asks[--names->end[name]];
		if (i == names->end[name] || (is_rack && asked->key != NULL && yq_rest_rack_is_idle(cluster, asked->key, asked->ask)))
			continue;
		note_named(cluster, node, asked->application);
		for (YqClusterQueue *queue = asked->application->leaf; queue != NULL && queue->asks_for != node; queue = queue->parent)
			queue->asks_for = node;
	}
}

void
yq_rest_names_mark(const YqCluster *cluster, YqRestNames *names, const YqClusterNode *node)
{
	mark_name(cluster, names, node, node->name_number, false);
	mark_name(cluster, names, node, node->rack_number, true);
}
