/*-------------------------------------------------------------------------
 *
 * cost_index.h
 *	  The cost of one unit of a shape between two instants, for rate_class.c.
 *
 * Sums are integers in units of 10^-24 credits, or finer by 6 decimals per
 * dimension of factors.  The contribution of each resource is summed apart.
 *
 * An interval whose price times amount has more than 128 bits has no cost, and
 * sets out_of_range.  Only a time that contains some of it is out of range: an
 * index with such an interval in its sums drops them and adds every interval.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_COST_INDEX_H
#define YQ_COST_INDEX_H

#include "base/resource.h"
#include "base/wide.h"
#include "pricing/factors.h"

/* A place in the sums that was looked at last. */
typedef struct YqCostCursor
{
	int			interval;		/* -1: nowhere */
	YqWide	   *sums;			/* up to the start of that interval */
} YqCostCursor;

/*
 * Times from a full hour to the start of a container use the first two, times
 * from there to its end the last two.
 */
enum
{
	YQ_COST_CURSOR_HOUR,
	YQ_COST_CURSOR_START,
	YQ_COST_CURSOR_END,
	YQ_COST_CURSOR_COUNT
};

typedef struct YqCostIndex
{
	const YqTimeline *timeline; /* as last refreshed */
	MemoryContext context;
	int			part_count;		/* resources of the shape */
	int		   *resources;		/* their numbers in the timeline; set by the caller */
	uint64	   *amounts;
	YqFactorSet *factors;		/* NULL when none is named; set by the caller */

	int			block_count;	/* valid blocks */
	int			block_room;
	YqWide	   *block_sums;		/* block_room x part_count */
	int			steps_taken;	/* since blocks were last added, in blocks */
	bool		out_of_range;	/* an interval without cost was passed over */
	bool		only_steps;		/* one of those lies within the window */
	YqCostCursor cursors[YQ_COST_CURSOR_COUNT];
} YqCostIndex;

/* An empty index of the entries of a shape; its memory is in the context. */
extern void yq_cost_index_init(YqCostIndex *index, const YqTimeline *timeline,
							   const YqResourceEntry *entries, int count, MemoryContext context);

/* Keep the sums of so many intervals from the first on, or none. */
extern void yq_cost_index_keep(YqCostIndex *index, int kept);
extern void yq_cost_index_forget(YqCostIndex *index);

/*
 * Add the cost of "microseconds" of an interval, or of the whole intervals from
 * "first" to before "end": by resource to the sum of the charged one, or else to
 * the only sum.
 */
extern void yq_cost_index_add_time(YqCostIndex *index, int interval, uint64 microseconds,
								   YqWide *sums, bool by_resource);
extern void yq_cost_index_add_intervals(YqCostIndex *index, int first, int end,
										YqWide *sums, bool by_resource);

/*
 * The sums by resource from one instant to a later one, both within the window.
 * out_of_range tells whether they hold.
 */
extern void yq_cost_index_sums(YqCostIndex *index, TimestampTz from, TimestampTz to, YqWide *sums);

/* Bytes of the prefix sums of all indexes; the caller resets them with the context. */
extern Size yq_cost_index_bytes(void);
extern void yq_cost_index_reset_bytes(void);

#endif							/* YQ_COST_INDEX_H */
