/*-------------------------------------------------------------------------
 *
 * order.c
 *	  Order of queues, and of the applications of a leaf.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include <math.h>

#include "queues/effective.h"
#include "scheduler/state/limits.h"
#include "scheduler/state/order.h"

static const int64 nothing[YQ_MAX_RESOURCE_TYPES];

/* -- queues ---------------------------------------------------------------- */

static void
set_used_on(const YqCluster *cluster, YqClusterQueue *queue, int label)
{
	YqQueueRank *rank = &queue->ranks[label];
	const int64 *used = yq_at(cluster, queue->used, label);

	rank->used = rank->has_capacity ? yq_queue_used(cluster->hierarchy, rank->configured, used) :
		yq_queue_absolute_used(cluster->hierarchy, label, used);
}

void
yq_order_set_used(const YqCluster *cluster, YqClusterQueue *queue)
{
	for (int label = 0; label < cluster->hierarchy->label_count; label++)
		set_used_on(cluster, queue, label);
}

/*
 * Compare the usage of two queues.  Priorities come first if both queues are below their
 * guarantees, or neither is.
 */
static int
compare_used(const YqClusterQueue *a, float4 a_used, const YqClusterQueue *b, float4 b_used)
{
	if (a->parent->respects_priority && a->priority != b->priority && (a_used < 1) == (b_used < 1))
		return a->priority > b->priority ? -1 : 1;
	return a_used < b_used ? -1 : a_used > b_used;
}

/*
 * Compare configured capacities; the larger capacity comes first.  Memory is compared
 * first, then cores, then other types.
 */
static int
compare_configured(const YqCluster *cluster, const YqQueueLabel *a, const YqQueueLabel *b)
{
	float4		a_absolute = a == NULL ? 0 : a->absolute_capacity;
	float4		b_absolute = b == NULL ? 0 : b->absolute_capacity;

	if (a != NULL && a->minimum_amounts != NULL && !yq_amounts_are_none(cluster->calculator, a->minimum_amounts) &&
		b != NULL && b->minimum_amounts != NULL && !yq_amounts_are_none(cluster->calculator, b->minimum_amounts))
	{
		for (int i = 0; i < cluster->calculator->types; i++)
		{
			if (a->minimum_amounts[i] != b->minimum_amounts[i])
				return a->minimum_amounts[i] > b->minimum_amounts[i] ? -1 : 1;
		}
		return 0;
	}
	return a_absolute > b_absolute ? -1 : a_absolute < b_absolute;
}

static int
compare_cluster_queues(const YqCluster *cluster, const YqClusterQueue *a, const YqClusterQueue *b, int label)
{
	const YqQueueRank *a_rank = &a->ranks[label];
	const YqQueueRank *b_rank = &b->ranks[label];
	int			result;

	if (a_rank->may_use != b_rank->may_use)
		return a_rank->may_use ? -1 : 1;
	if (a_rank->has_capacity != b_rank->has_capacity)
		return a_rank->has_capacity ? -1 : 1;
	result = compare_used(a, a_rank->used, b, b_rank->used);
	if (result == 0)
		result = compare_configured(cluster, a_rank->configured, b_rank->configured);
	return result != 0 ? result : a->position - b->position;
}

/*
 * Does the queue have demand that nodes of the label may serve?  If these nodes are shared,
 * demand in the default partition counts, too.
 */
static bool
is_demanding_of(const YqCluster *cluster, const YqClusterQueue *queue, int label)
{
	return queue->is_demanding[label] || (cluster->shares[label] && queue->is_demanding[0]);
}

/* Return the first position in [low, high) whose queue does not come before the given queue. */
static int
place_of_queue(const YqCluster *cluster, const YqClusterQueue *queue, int label, int low, int high)
{
	YqClusterQueue **order = queue->parent->order[label];

	while (low < high)
	{
		int			middle = (low + high) / 2;

		if (compare_cluster_queues(cluster, order[middle], queue, label) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Insert a queue into the order of its siblings, which must not contain it yet. */
static void
insert_queue(const YqCluster *cluster, YqClusterQueue *queue, int label)
{
	YqClusterQueue **order = queue->parent->order[label];
	int			count = queue->parent->ordered[label]++;
	int			at = place_of_queue(cluster, queue, label, 0, count);

	memmove(order + at + 1, order + at, (count - at) * sizeof(YqClusterQueue *));
	order[at] = queue;
}

/* Return the position of a queue in the order, or -1. */
static int
find_queue_in_order(const YqClusterQueue *queue, int label)
{
	YqClusterQueue **order = queue->parent->order[label];

	for (int i = 0; i < queue->parent->ordered[label]; i++)
	{
		if (order[i] == queue)
			return i;
	}
	return -1;
}

static void
remove_queue(YqClusterQueue *queue, int label)
{
	YqClusterQueue **order = queue->parent->order[label];
	int			at = find_queue_in_order(queue, label);

	if (at < 0)
		return;
	queue->parent->ordered[label]--;
	memmove(order + at, order + at + 1, (queue->parent->ordered[label] - at) * sizeof(YqClusterQueue *));
}

/* Move a queue if its rank has changed.  All other queues must be in order. */
static void
move_queue(const YqCluster *cluster, YqClusterQueue *queue, int label)
{
	YqClusterQueue **order = queue->parent->order[label];
	int			count = queue->parent->ordered[label];
	int			from = find_queue_in_order(queue, label);
	int			to = from;

	if (from < 0)
		return;
	if (from + 1 < count && compare_cluster_queues(cluster, order[from + 1], queue, label) < 0)
	{
		to = place_of_queue(cluster, queue, label, from + 1, count) - 1;
		memmove(order + from, order + from + 1, (to - from) * sizeof(YqClusterQueue *));
	}
	else if (from > 0 && compare_cluster_queues(cluster, order[from - 1], queue, label) > 0)
	{
		to = place_of_queue(cluster, queue, label, 0, from);
		memmove(order + to + 1, order + to, (from - to) * sizeof(YqClusterQueue *));
	}
	order[to] = queue;
}

void
yq_order_children(const YqCluster *cluster, YqClusterQueue *parent)
{
	for (int label = 0; label < cluster->hierarchy->label_count; label++)
	{
		parent->ordered[label] = 0;
		if (parent->order[label] == NULL)
			parent->order[label] = MemoryContextAlloc(cluster->context,
													  Max(parent->child_count, 1) * sizeof(YqClusterQueue *));
		for (int i = 0; i < parent->child_count; i++)
		{
			if (is_demanding_of(cluster, parent->children[i], label))
				insert_queue(cluster, parent->children[i], label);
		}
	}
}

void
yq_order_note_used(const YqCluster *cluster, YqClusterQueue *queue, int label)
{
	if (queue->parent == NULL)
		return;
	set_used_on(cluster, queue, label);
	move_queue(cluster, queue, label);
}

void
yq_order_note_demand(const YqCluster *cluster, YqClusterQueue *queue, int label)
{
	if (queue->parent == NULL || queue->is_demanding[label])
		return;
	for (int of_nodes = 0; of_nodes < cluster->hierarchy->label_count; of_nodes++)
	{
		if ((of_nodes == label || label == 0) && !is_demanding_of(cluster, queue, of_nodes))
			remove_queue(queue, of_nodes);
	}
}

void
yq_order_place(const YqCluster *cluster, YqClusterQueue *queue)
{
	for (int label = 0; label < cluster->hierarchy->label_count; label++)
	{
		if (queue->parent != NULL)
			(void) remove_queue(queue, label);
		set_used_on(cluster, queue, label);
		if (queue->parent != NULL && is_demanding_of(cluster, queue, label))
			insert_queue(cluster, queue, label);
	}
}

/* -- applications ---------------------------------------------------------- */

static int64
memory_of_all_labels(const YqCluster *cluster, const int64 *amounts)
{
	int64		memory = 0;

	for (int label = 0; label < cluster->hierarchy->label_count; label++)
		memory += yq_at(cluster, amounts, label)[YQ_MEMORY];
	return memory;
}

/*
 * Return the memory that an application uses.  With size-based weights, the memory is
 * divided by the binary logarithm of 1 + used + pending memory.
 */
static double
magnitude(const YqCluster *cluster, const YqClusterApplication *application)
{
	int64		used = memory_of_all_labels(cluster, application->used);
	int64		wanted = used + memory_of_all_labels(cluster, application->pending);

	if (application->leaf->policy != YQ_FAIR_BY_SIZE || used == 0)
		return used;
	return used / (log1p((double) wanted) / log(2.0));
}

/* Compare the times of submission in whole milliseconds, as Hadoop compares the starts of attempts. */
static int
compare_starts(const YqClusterApplication *a, const YqClusterApplication *b)
{
	int64		a_milliseconds = a->submitted_at / 1000;
	int64		b_milliseconds = b->submitted_at / 1000;

	return a_milliseconds < b_milliseconds ? -1 : a_milliseconds > b_milliseconds;
}

static int
compare_applications(const YqCluster *cluster, const YqClusterApplication *a, const YqClusterApplication *b)
{
	YqApplicationPolicy policy = a->leaf->policy;

	if (policy == YQ_FAIR || policy == YQ_FAIR_BY_SIZE)
	{
		double		a_magnitude = magnitude(cluster, a);
		double		b_magnitude = magnitude(cluster, b);
		int			starts = compare_starts(a, b);

		if (a_magnitude != b_magnitude)
			return a_magnitude < b_magnitude ? -1 : 1;
		if (starts != 0)
			return starts;
	}
	else if (a->priority != b->priority)
		return a->priority > b->priority ? -1 : 1;
	return a->number - b->number;
}

static int
compare_applications_for_sort(const void *a, const void *b, void *cluster)
{
	return compare_applications(cluster, *(YqClusterApplication *const *) a,
								*(YqClusterApplication *const *) b);
}

bool
yq_order_wants(const YqCluster *cluster, const YqClusterApplication *application, int label)
{
	return yq_amounts_compare(cluster->calculator, cluster->hierarchy->cluster,
							  yq_at(cluster, application->pending, label), nothing) > 0;
}

void
yq_order_applications(const YqCluster *cluster, YqClusterQueue *leaf)
{
	if (leaf->application_count > 0)
		qsort_arg(leaf->applications, leaf->application_count, sizeof(YqClusterApplication *),
				  compare_applications_for_sort, unconstify(YqCluster *, cluster));
	for (int label = 0; label < cluster->hierarchy->label_count; label++)
	{
		leaf->demanding_count[label] = 0;
		for (int i = 0; i < leaf->application_count; i++)
			leaf->demanding_count[label] += yq_order_wants(cluster, leaf->applications[i], label);
		if (leaf->demanding[label] != NULL)
			pfree(leaf->demanding[label]);
		leaf->demanding[label] = MemoryContextAlloc(cluster->context, Max(leaf->demanding_count[label], 1) *
													sizeof(YqClusterApplication *));
		leaf->demanding_count[label] = 0;
		for (int i = 0; i < leaf->application_count; i++)
		{
			if (yq_order_wants(cluster, leaf->applications[i], label))
				leaf->demanding[label][leaf->demanding_count[label]++] = leaf->applications[i];
		}
	}
}

/* Return the first position whose application does not come before the given application. */
static int
place_in_order(const YqCluster *cluster, YqClusterApplication *const *order, int count,
			   const YqClusterApplication *application)
{
	int			low = 0;
	int			high = count;

	while (low < high)
	{
		int			middle = (low + high) / 2;

		if (compare_applications(cluster, order[middle], application) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void
remove_at(YqClusterApplication **order, int *count, int at)
{
	memmove(order + at, order + at + 1, (*count - at - 1) * sizeof(*order));
	--*count;
}

static void
insert_application(const YqCluster *cluster, YqClusterApplication **order, int *count,
				   YqClusterApplication *application)
{
	int			at = place_in_order(cluster, order, *count, application);

	memmove(order + at + 1, order + at, (*count - at) * sizeof(*order));
	order[at] = application;
	++*count;
}

static bool
moves(const YqClusterApplication *application)
{
	return application->leaf->policy == YQ_FAIR || application->leaf->policy == YQ_FAIR_BY_SIZE;
}

void
yq_order_take_out(const YqCluster *cluster, YqClusterApplication *application)
{
	YqClusterQueue *leaf = application->leaf;

	if (!moves(application))
		return;
	remove_at(leaf->applications, &leaf->application_count,
			  place_in_order(cluster, leaf->applications, leaf->application_count, application));
	for (int label = 0; label < cluster->hierarchy->label_count; label++)
	{
		if (yq_order_wants(cluster, application, label))
			remove_at(leaf->demanding[label], &leaf->demanding_count[label],
					  place_in_order(cluster, leaf->demanding[label], leaf->demanding_count[label], application));
	}
}

/* Remove an application from the order if it has no demand.  Otherwise it stays where it is. */
static void
drop_without_demand(const YqCluster *cluster, YqClusterApplication *application, int label)
{
	YqClusterQueue *leaf = application->leaf;
	int			at;

	if (yq_order_wants(cluster, application, label))
		return;
	at = place_in_order(cluster, leaf->demanding[label], leaf->demanding_count[label], application);
	if (at < leaf->demanding_count[label] && leaf->demanding[label][at] == application)
		remove_at(leaf->demanding[label], &leaf->demanding_count[label], at);
}

void
yq_order_put_back(const YqCluster *cluster, YqClusterApplication *application)
{
	YqClusterQueue *leaf = application->leaf;

	if (moves(application))
		insert_application(cluster, leaf->applications, &leaf->application_count, application);
	for (int label = 0; label < cluster->hierarchy->label_count; label++)
	{
		if (!moves(application))
			drop_without_demand(cluster, application, label);
		else if (yq_order_wants(cluster, application, label))
			insert_application(cluster, leaf->demanding[label], &leaf->demanding_count[label], application);
	}
}

/* -- partitions ------------------------------------------------------------- */

bool
yq_order_is_of_partition(const YqClusterApplication *application, int label)
{
	const YqClusterQueue *leaf = application->leaf;

	if (leaf->policy != YQ_FIFO_WITH_PARTITIONS)
		return true;
	if (leaf->is_own_partition[label])
		return application->partition == label;
	return application->partition < 0 || !leaf->is_own_partition[application->partition];
}
