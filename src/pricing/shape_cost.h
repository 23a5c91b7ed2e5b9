/*-------------------------------------------------------------------------
 *
 * shape_cost.h
 *	  The cost of one unit of a shape between two instants, for rate_class.c.
 *
 * Sums are integers in units of 10^-24 credits.  Each dimension of factors adds 6 decimals to this
 * unit.  The contribution of each resource has a sum of its own.
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
	int			part_count;		/* number of resources of the shape */
	int		   *resources;		/* numbers of the resources in the timeline; set by the caller */
	uint64	   *amounts;
	YqFactorSet *factors;		/* NULL when the shape has no named factor; set by the caller */
	bool		out_of_range;	/* an interval out of range was skipped; reset by the caller */
} YqShapeCost;

/* Initialize the cost of a shape.  Its memory is allocated in the context. */
extern void yq_shape_cost_init(YqShapeCost *cost, const YqTimeline *timeline,
							   const YqResourceEntry *entries, int count, MemoryContext context);

/* Return the charging mode that applies to a shape in an interval. */
extern YqChargingMode yq_shape_cost_mode(const YqShapeCost *cost, int interval);

/*
 * Add the cost of "microseconds" of an interval, or the cost of the whole intervals from "first"
 * to the one before "end".  If "by_resource" is set, the cost is added to the sums of the charged
 * resources.  Otherwise it is added to sums[0].
 */
extern void yq_shape_cost_add_time(YqShapeCost *cost, int interval, uint64 microseconds,
								   YqWide *sums, bool by_resource);
extern void yq_shape_cost_add_intervals(YqShapeCost *cost, int first, int end,
										YqWide *sums, bool by_resource);

/*
 * Add the cost between two instants.  Both are within the timeline's window.  "sums" and
 * "by_resource" are as in yq_shape_cost_add_time().
 */
extern void yq_shape_cost_add(YqShapeCost *cost, TimestampTz from, TimestampTz to,
							  YqWide *sums, bool by_resource);

#endif							/* YQ_SHAPE_COST_H */
