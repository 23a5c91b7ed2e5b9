/*-------------------------------------------------------------------------
 *
 * timeline_read.h
 *	  Reading what a timeline is made of.
 *
 * All reads of one fill see the same snapshot, the loader's.  What the small
 * tables hold goes into the timeline itself, allocated in the current memory
 * context; points of base prices and multipliers go into the loader.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_TIMELINE_READ_H
#define YQ_TIMELINE_READ_H

#include "pricing/timeline.h"
#include "utils/snapshot.h"

typedef struct YqBasePricePoint
{
	int			resource;
	TimestampTz effective_at;
	YqDecimal	base_price;
	int64		unit;
} YqBasePricePoint;

typedef struct YqMultiplierPoint
{
	int			group;
	TimestampTz effective_at;
	YqDecimal	multiplier;
} YqMultiplierPoint;

/* What is read from tables before stretches are made of it. */
typedef struct YqTimelineLoader
{
	YqTimeline *timeline;		/* gets what the small tables hold */
	Snapshot	snapshot;
	const YqTerms *terms;		/* NULL when all tables are read */
	int			group_count;
	char	  **group_names;
	int		   *resource_group;
	int			base_count;
	YqBasePricePoint *base_points;	/* by resource, time */
	int			multiplier_count;
	YqMultiplierPoint *multipliers;	/* by group, time */
} YqTimelineLoader;

/* Resource types, base prices, factors, outages and rules, sorted. */
extern void yq_timeline_read_tables(YqTimelineLoader *loader);

/*
 * The multipliers of every price group: the one in force at "from" and all
 * later ones, by group and time.
 */
extern void yq_timeline_read_multipliers(YqTimelineLoader *loader, TimestampTz from);

/*
 * The changes after "known_version": sets the newest version and whether any
 * is the transaction's own, and returns the earliest instant they bear on,
 * which is not found out where nothing is known yet.
 */
#define YQ_NO_VERSION (-1)
extern TimestampTz yq_timeline_read_changes(YqTimelineLoader *loader, int64 known_version,
											int64 *newest, bool *own);

#endif							/* YQ_TIMELINE_READ_H */
