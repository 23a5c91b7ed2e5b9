/*-------------------------------------------------------------------------
 *
 * last_limit.c
 *	  Limits for application masters that follow from what passes hand down.
 *
 * The cluster's am_limits_known_at changes when other sessions have written to the
 * table.  Most limits that a pass hands down make no difference: limits for
 * application masters are rounded up to whole steps.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "admission/last_am_limit.h"
#include "scheduler/record/change_log.h"
#include "scheduler/record/last_limit.h"
#include "utils/memutils.h"

/* When nothing is known of more leaves than this, the whole table is read. */
#define MOST_LOOK_UPS 50

static void
set(const YqCluster *cluster, int64 *to, const int64 *amounts)
{
	memcpy(to, amounts, cluster->calculator->types * sizeof(int64));
}

void
yq_last_limits_prepare(YqCluster *cluster)
{
	if (cluster->has_am_limits)
		return;
	if (!yq_last_am_limits_are_known())
	{
		yq_change_log_begin_own();
		yq_last_am_limits_compute(cluster->hierarchy);
		yq_change_log_am_limits();
		yq_change_log_end_own();
	}
	cluster->has_am_limits = true;
}

static bool
is_known(const YqCluster *cluster, const YqLastLimit *last)
{
	return last->known_at == cluster->am_limits_known_at;
}

static void
know(const YqCluster *cluster, YqLastLimit *last, const int64 *am_limit)
{
	set(cluster, last->am_limit, am_limit);
	last->known_at = cluster->am_limits_known_at;
}

/* Read what the table has of the leaves whose limits were noted. */
static void
read_unknown(const YqCluster *cluster)
{
	int64	  **of_queue = NULL;
	int			unknown = 0;

	for (int i = 0; i < cluster->limited_count; i++)
		unknown += !is_known(cluster, cluster->limited[i]->last_limit);
	if (unknown > MOST_LOOK_UPS)
		of_queue = yq_last_am_limits(cluster->hierarchy);
	for (int i = 0; i < cluster->limited_count; i++)
	{
		const YqQueue *queue = cluster->limited[i]->queue;
		YqLastLimit *last = cluster->limited[i]->last_limit;

		if (is_known(cluster, last))
			continue;
		know(cluster, last, of_queue != NULL ? of_queue[queue->number] : yq_last_am_limit(cluster->hierarchy, queue));
		last->has_followed = false;
	}
}

/* Limits that follow from the last ones, where they differ; returns their number. */
static int
find_changed(const YqCluster *cluster, const YqQueue **queues, int64 **limits)
{
	int			count = 0;

	for (int i = 0; i < cluster->limited_count; i++)
	{
		const YqQueue *queue = cluster->limited[i]->queue;
		YqLastLimit *last = cluster->limited[i]->last_limit;

		if (last->has_followed && yq_amounts_are_equal(cluster->calculator, last->of_limit, last->limit))
			continue;
		limits[count] = yq_leaf_am_limit_of(cluster->hierarchy, queue, last->limit);
		set(cluster, last->of_limit, last->limit);
		last->has_followed = true;
		if (yq_amounts_are_equal(cluster->calculator, limits[count], last->am_limit))
			continue;
		know(cluster, last, limits[count]);
		queues[count++] = queue;
	}
	return count;
}

static void
write_changed(YqCluster *cluster)
{
	const YqQueue **queues = palloc_extended(sizeof(YqQueue *) * cluster->limited_count, MCXT_ALLOC_HUGE);
	int64	  **limits = palloc_extended(sizeof(int64 *) * cluster->limited_count, MCXT_ALLOC_HUGE);
	int			count;

	read_unknown(cluster);
	count = find_changed(cluster, queues, limits);
	if (count == 0)
		return;
	yq_last_am_limits_write(cluster->hierarchy, queues, limits, count);
	yq_change_log_am_limits();
}

void
yq_last_limits_write(YqCluster *cluster)
{
	MemoryContext scratch;
	MemoryContext old_context;

	if (cluster->limited_count == 0)
		return;
	scratch = AllocSetContextCreate(CurrentMemoryContext, "yquota last limits", ALLOCSET_DEFAULT_SIZES);
	old_context = MemoryContextSwitchTo(scratch);
	write_changed(cluster);
	MemoryContextSwitchTo(old_context);
	MemoryContextDelete(scratch);
	for (int i = 0; i < cluster->limited_count; i++)
		cluster->limited[i]->last_limit->is_noted = false;
	cluster->limited_count = 0;
}
