/*-------------------------------------------------------------------------
 *
 * shape_cost.h
 *	  The cost of one unit of a shape between two instants, for rate_class.c.
 *
 * Sums are integers in units of 10^-24 credits, or finer by 6 decimals per
 * dimension of factors.  The contribution of each resource is summed apart.
 *
 * An interval whose price times amount has more than 128 bits has no cost, and
 * sets out_of_range.  Only a time that contains some of it is out of range.
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
	int		   *resources;		/* their numbers in the timeline; set by the caller */
	uint64	   *amounts;
	YqFactorSet *factors;		/* NULL when none is named; set by the caller */
	bool		out_of_range;	/* an interval without cost was passed over; reset by the caller */
} YqShapeCost;

/* The entries of a shape; its memory is in the context. */
extern void yq_shape_cost_init(YqShapeCost *cost, const YqTimeline *timeline,
							   const YqResourceEntry *entries, int count, MemoryContext context);

/*
 * Add the cost of "microseconds" of an interval, or of the whole intervals from
 * "first" to before "end": by resource to the sum of the charged one, or else to
 * the only sum.
 */
extern void yq_shape_cost_add_time(YqShapeCost *cost, int interval, uint64 microseconds,
								   YqWide *sums, bool by_resource);
extern void yq_shape_cost_add_intervals(YqShapeCost *cost, int first, int end,
										YqWide *sums, bool by_resource);

/* Add the cost from one instant to a later one, both within the timeline's window, likewise. */
extern void yq_shape_cost_add(YqShapeCost *cost, TimestampTz from, TimestampTz to,
							  YqWide *sums, bool by_resource);

#endif							/* YQ_SHAPE_COST_H */
