/*-------------------------------------------------------------------------
 *
 * fruitless_search.c
 *	  The last search of a leaf queue that found nothing.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "scheduler/decide/fruitless_search.h"
#include "utils/memutils.h"

/* Largest number of nodes and racks that a search remembers.  A search that exceeds it is not reused on other nodes. */
#define MOST_PLACES 64

typedef enum SearchState
{
	SEARCH_SUCCEEDED,			/* the last search found something, or there was no search yet */
	SEARCH_FAILED,				/* the search found nothing, but may find something on another node */
	SEARCH_GOES_ON,				/* the search is running; so far, its outcome would be the same on other nodes */
	SEARCH_REPEATS				/* the search found nothing, and would find nothing on similar nodes */
} SearchState;

typedef struct YqFruitlessSearch
{
	SearchState state;
	YqOutcome	outcome;
	const YqClusterNode *node;	/* node on which the leaf was searched */
	int64		headroom[YQ_MAX_RESOURCE_TYPES];	/* headroom of the leaf during the search */
	int64		largest[YQ_MAX_RESOURCE_TYPES]; /* per type: the largest amount that any visited key requests */
	YqSchedulerKey **visited;	/* keys that were within all limits, once per visit */
	int			visited_count;
	int			visited_room;
	YqName		places[MOST_PLACES];	/* nodes and racks on which the outcome may differ */
	int			place_count;
	int64		repetitions;	/* number of skipped repetitions, not yet added to the counters of the keys */
	YqClusterQueue *leaf;		/* NULL: the leaf has not been searched in this cycle */
	struct YqFruitlessSearch *next; /* the search of the next leaf in this cycle */
} YqFruitlessSearch;

static bool
names_place(const YqFruitlessSearch *search, const YqClusterNode *node)
{
	for (int i = 0; i < search->place_count; i++)
	{
		if (search->places[i] == node->name_number || search->places[i] == node->rack_number)
			return true;
	}
	return false;
}

/*
 * Would a search with this headroom stop at the same limits?  The headroom must not be
 * larger than before, and the keys that fitted must still fit.
 */
static bool
has_like_headroom(const YqCalculator *calculator, const YqFruitlessSearch *search, const int64 *headroom)
{
	return yq_amounts_fit_in_by(calculator, headroom, search->headroom) &&
		(search->visited_count == 0 || yq_amounts_fit_in_by(calculator, search->largest, headroom));
}

/*
 * Does the search have the same outcome on this node?  The node must not be larger than the
 * searched node, and no key may name it.  An amount that did not fit in the searched node
 * then does not fit in this node either.
 */
static bool
is_like_node(const YqCalculator *calculator, const YqFruitlessSearch *search, const YqClusterNode *node)
{
	return search->visited_count == 0 ||
		(yq_amounts_fit_in_by(calculator, node->total, search->node->total) && !names_place(search, node));
}

bool
yq_fruitless_search_repeats(YqCluster *cluster, YqClusterQueue *leaf, const YqClusterNode *node,
							const YqLimits *limits, YqOutcome *outcome)
{
	YqFruitlessSearch *search = leaf->fruitless_search;

	if (search == NULL || search->state != SEARCH_REPEATS || search->node->label != node->label ||
		!has_like_headroom(cluster->calculator, search, limits->headroom) ||
		!is_like_node(cluster->calculator, search, node))
		return false;
	search->repetitions++;
	*outcome = search->outcome;
	return true;
}

void
yq_fruitless_search_begin(YqCluster *cluster, YqClusterQueue *leaf, const YqClusterNode *node, const YqLimits *limits)
{
	YqFruitlessSearch *search = leaf->fruitless_search;

	if (search == NULL)
		search = leaf->fruitless_search = MemoryContextAllocZero(cluster->context, sizeof(YqFruitlessSearch));
	if (search->leaf == NULL)
	{
		search->leaf = leaf;
		search->next = cluster->fruitless_searches;
		cluster->fruitless_searches = search;
	}
	yq_fruitless_search_count(leaf);
	/* after a successful search, do not remember the visits, which would probably be wasted work */
	if (search->state == SEARCH_SUCCEEDED)
		return;
	search->state = SEARCH_GOES_ON;
	search->node = node;
	for (int i = 0; i < cluster->calculator->types; i++)
	{
		search->headroom[i] = limits->headroom[i];
		search->largest[i] = 0;
	}
	search->visited_count = 0;
	search->place_count = 0;
}

/*
 * Add a node or rack on which the outcome may differ.  Returns false if the search runs on
 * this node or rack, or if there is no more room.
 */
static bool
except_place(YqFruitlessSearch *search, YqName place)
{
	if (place == search->node->name_number || place == search->node->rack_number ||
		search->place_count == MOST_PLACES)
		return false;
	search->places[search->place_count++] = place;
	return true;
}

/*
 * Must a container on this rack still wait?  The key accepts only named places and has no
 * reservation, so searches on other nodes do not shorten the wait.
 */
static bool
is_rack_that_waits(const YqCluster *cluster, const YqSchedulerKey *key, YqName place)
{
	return !key->anywhere.relaxes_locality && key->reservation_count == 0 && cluster->nodes[place] == NULL &&
		key->opportunities < Min(cluster->node_count, cluster->settings.node_locality_delay);
}

/*
 * Would a visit of the key on another node have the same outcome?  It would if the key
 * requests more than the total of the searched node, or accepts only other places.  The
 * function remembers nodes and racks on which the outcome may differ.  Free and killable
 * resources never change the outcome of a repeated visit.
 */
static bool
repeats_visit(const YqCluster *cluster, YqFruitlessSearch *search, const YqSchedulerKey *key)
{
	const int64 *total = search->node->total;
	bool		relaxes = key->anywhere.relaxes_locality;

	if (key->application->blacklist_count > 0 ||
		(relaxes && yq_amounts_fit_in_by(cluster->calculator, key->anywhere.amounts, total)))
		return false;
	for (int i = 0; i < key->request_count; i++)
	{
		const YqResourceRequest *request = &key->requests[i];
		bool		is_larger = !yq_amounts_fit_in_by(cluster->calculator, request->amounts, total);

		if (request->count <= 0 || (is_larger && (request->relaxes_locality || !relaxes)) ||
			is_rack_that_waits(cluster, key, request->name))
			continue;
		if (!except_place(search, request->name))
			return false;
	}
	return true;
}

static void
add_visit(YqCluster *cluster, YqFruitlessSearch *search, YqSchedulerKey *key)
{
	if (search->visited_count == search->visited_room)
	{
		search->visited_room = Max(16, search->visited_room * 2);
		search->visited = search->visited == NULL ?
			MemoryContextAllocHuge(cluster->context, search->visited_room * sizeof(YqSchedulerKey *)) :
			repalloc_huge(search->visited, search->visited_room * sizeof(YqSchedulerKey *));
	}
	search->visited[search->visited_count++] = key;
	for (int i = 0; i < cluster->calculator->types; i++)
		search->largest[i] = Max(search->largest[i], key->anywhere.amounts[i]);
}

void
yq_fruitless_search_visit(YqCluster *cluster, YqSchedulerKey *key)
{
	YqFruitlessSearch *search = key->application->leaf->fruitless_search;

	if (search == NULL || search->state != SEARCH_GOES_ON)
		return;
	if (repeats_visit(cluster, search, key))
		add_visit(cluster, search, key);
	else
		search->state = SEARCH_FAILED;
}

void
yq_fruitless_search_end(YqClusterQueue *leaf, YqOutcome outcome)
{
	YqFruitlessSearch *search = leaf->fruitless_search;

	search->state = search->state == SEARCH_GOES_ON ? SEARCH_REPEATS : SEARCH_FAILED;
	search->outcome = outcome;
}

/*
 * Add the skipped repetitions to the counters of the keys.  They are not opportunities for
 * a key that accepts only named places.
 */
void
yq_fruitless_search_count(YqClusterQueue *leaf)
{
	YqFruitlessSearch *search = leaf->fruitless_search;

	if (search == NULL || search->repetitions == 0)
		return;
	for (int i = 0; i < search->visited_count; i++)
	{
		YqSchedulerKey *key = search->visited[i];

		if (key->anywhere.relaxes_locality)
			key->opportunities += search->repetitions;
		if (key->label == 0)
			key->missed_non_partitioned += search->repetitions;
	}
	search->repetitions = 0;
}

void
yq_fruitless_search_forget(YqClusterQueue *leaf)
{
	yq_fruitless_search_count(leaf);
	if (leaf->fruitless_search != NULL)
		leaf->fruitless_search->state = SEARCH_SUCCEEDED;
}

void
yq_fruitless_search_forget_all(YqCluster *cluster)
{
	for (YqFruitlessSearch *search = cluster->fruitless_searches; search != NULL; search = search->next)
	{
		yq_fruitless_search_forget(search->leaf);
		search->leaf = NULL;
	}
	cluster->fruitless_searches = NULL;
}
