/*-------------------------------------------------------------------------
 *
 * look.c
 *	  What was left to leaves when a pass last looked at their applications.
 *
 * What a session knows of the table is told by a number that changes when others
 * have written to it.  Most looks find what the one before has found, or what makes
 * no difference: the limit is rounded up to whole steps.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "admission/last_am_limit.h"
#include "scheduler/decide/look.h"
#include "scheduler/record/change_log.h"
#include "utils/memutils.h"

/* When nothing is known of more leaves than this, the whole table is read. */
#define MOST_LOOK_UPS 50

struct YqLooks
{
	bool		is_prepared;	/* the table has something to go by */
	uint64		known_at;
	YqClusterQueue **leaves;	/* that were looked at in this pass */
	int			count;
};

/* -- taking notes ---------------------------------------------------------- */

struct YqLooks *
yq_looks_make(const YqCluster *cluster)
{
	struct YqLooks *looks = MemoryContextAllocZero(cluster->context, sizeof(struct YqLooks));

	looks->known_at = 1;
	looks->leaves = MemoryContextAllocHuge(cluster->context,
										   Max(cluster->hierarchy->queue_count, 1) * sizeof(YqClusterQueue *));
	return looks;
}

static int64 *
make_amounts(const YqCluster *cluster)
{
	return MemoryContextAllocZero(cluster->context, cluster->calculator->types * sizeof(int64));
}

YqLook *
yq_look_make(const YqCluster *cluster)
{
	YqLook	   *look = MemoryContextAllocZero(cluster->context, sizeof(YqLook));

	look->limit = make_amounts(cluster);
	look->of_limit = make_amounts(cluster);
	look->am_limit = make_amounts(cluster);
	return look;
}

static void
set(const YqCluster *cluster, int64 *to, const int64 *amounts)
{
	memcpy(to, amounts, cluster->calculator->types * sizeof(int64));
}

void
yq_look_note(const YqCluster *cluster, const YqClusterQueue *leaf, const int64 *limit)
{
	YqLook	   *look = leaf->look;

	set(cluster, look->limit, limit);
	if (!look->is_noted)
		cluster->looks->leaves[cluster->looks->count++] = unconstify(YqClusterQueue *, leaf);
	look->is_noted = true;
}

void
yq_looks_forget_known(YqCluster *cluster)
{
	cluster->looks->known_at++;
}

/* -- writing down ---------------------------------------------------------- */

void
yq_looks_prepare(YqCluster *cluster)
{
	if (cluster->looks->is_prepared)
		return;
	if (!yq_last_am_limits_are_known())
	{
		yq_change_log_begin_own();
		yq_last_am_limits_compute(cluster->hierarchy);
		yq_change_log_am_limits();
		yq_change_log_end_own();
	}
	cluster->looks->is_prepared = true;
}

static bool
is_known(const struct YqLooks *looks, const YqLook *look)
{
	return look->known_at == looks->known_at;
}

static void
know(const YqCluster *cluster, YqLook *look, const int64 *am_limit)
{
	set(cluster, look->am_limit, am_limit);
	look->known_at = cluster->looks->known_at;
}

/* Read what the table has of the leaves that were looked at. */
static void
read_unknown(const YqCluster *cluster)
{
	const struct YqLooks *looks = cluster->looks;
	int64	  **of_queue = NULL;
	int			unknown = 0;

	for (int i = 0; i < looks->count; i++)
		unknown += !is_known(looks, looks->leaves[i]->look);
	if (unknown > MOST_LOOK_UPS)
		of_queue = yq_last_am_limits(cluster->hierarchy);
	for (int i = 0; i < looks->count; i++)
	{
		const YqQueue *queue = looks->leaves[i]->queue;
		YqLook	   *look = looks->leaves[i]->look;

		if (is_known(looks, look))
			continue;
		know(cluster, look, of_queue != NULL ? of_queue[queue->number] : yq_last_am_limit(cluster->hierarchy, queue));
		look->has_followed = false;
	}
}

/* Limits that follow from the last looks, where they differ; is there any? */
static int
find_changed(const YqCluster *cluster, const YqQueue **queues, int64 **limits)
{
	const struct YqLooks *looks = cluster->looks;
	int			count = 0;

	for (int i = 0; i < looks->count; i++)
	{
		const YqQueue *queue = looks->leaves[i]->queue;
		YqLook	   *look = looks->leaves[i]->look;

		if (look->has_followed && yq_amounts_are_equal(cluster->calculator, look->of_limit, look->limit))
			continue;
		limits[count] = yq_leaf_am_limit_of(cluster->hierarchy, queue, look->limit);
		set(cluster, look->of_limit, look->limit);
		look->has_followed = true;
		if (yq_amounts_are_equal(cluster->calculator, limits[count], look->am_limit))
			continue;
		know(cluster, look, limits[count]);
		queues[count++] = queue;
	}
	return count;
}

static void
write_changed(YqCluster *cluster)
{
	const YqQueue **queues = palloc_extended(sizeof(YqQueue *) * cluster->looks->count, MCXT_ALLOC_HUGE);
	int64	  **limits = palloc_extended(sizeof(int64 *) * cluster->looks->count, MCXT_ALLOC_HUGE);
	int			count;

	read_unknown(cluster);
	count = find_changed(cluster, queues, limits);
	if (count == 0)
		return;
	yq_last_am_limits_write(cluster->hierarchy, queues, limits, count);
	yq_change_log_am_limits();
}

void
yq_looks_write(YqCluster *cluster)
{
	struct YqLooks *looks = cluster->looks;
	MemoryContext scratch;
	MemoryContext old_context;

	if (looks->count == 0)
		return;
	scratch = AllocSetContextCreate(CurrentMemoryContext, "yquota looks at leaves", ALLOCSET_DEFAULT_SIZES);
	old_context = MemoryContextSwitchTo(scratch);
	write_changed(cluster);
	MemoryContextSwitchTo(old_context);
	MemoryContextDelete(scratch);
	for (int i = 0; i < looks->count; i++)
		looks->leaves[i]->look->is_noted = false;
	looks->count = 0;
}
