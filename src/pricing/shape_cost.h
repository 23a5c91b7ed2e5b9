/*-------------------------------------------------------------------------
 *
 * shape_cost.h
 *	  The cost of one unit of a shape between two instants, for rate_class.c.
 *
 * Sums are integers in units of 10^-24 credits, or finer by 6 decimals per dimension of factors.  The
 * contribution of each resource has a sum of its own.
 *
 * An interval whose price times amount has more than 128 bits has no cost, and sets out_of_range.  A time
 * is out of range only if it overlaps such an interval.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_SHAPE_COST_H
#define YQ_SHAPE_COST_H

#include "base/resource.h"
#include "base/wide.h"
#include "pricing/factors.h"

typedef struct YqShapeCost
{
	const YqTimeline *timeline; /* as last refreshed */
	int			part_count;		/* resources of the shape */
	int		   *resources;		/* their numbers in the timeline; the caller sets them */
	uint64	   *amounts;
	YqFactorSet *factors;		/* NULL when no factor is named; the caller sets it */
	bool		out_of_range;	/* an interval without cost was skipped; the caller resets it */
} YqShapeCost;

/* Set up the entries of a shape; their memory is in the context. */
extern void yq_shape_cost_init(YqShapeCost *cost, const YqTimeline *timeline,
							   const YqResourceEntry *entries, int count, MemoryContext context);

/* Return the charging mode of a shape in an interval. */
extern YqChargingMode yq_shape_cost_mode(const YqShapeCost *cost, int interval);

/*
 * Add the cost of "microseconds" of an interval, or of the whole intervals from "first" to before "end".
 * With "by_resource" it is added to the sums of the charged resources, otherwise to the only sum.
 */
extern void yq_shape_cost_add_time(YqShapeCost *cost, int interval, uint64 microseconds,
								   YqWide *sums, bool by_resource);
extern void yq_shape_cost_add_intervals(YqShapeCost *cost, int first, int end,
										YqWide *sums, bool by_resource);

/* Add the cost from an instant to a later one, both within the timeline's window; sums are as above. */
extern void yq_shape_cost_add(YqShapeCost *cost, TimestampTz from, TimestampTz to,
							  YqWide *sums, bool by_resource);

#endif							/* YQ_SHAPE_COST_H */
