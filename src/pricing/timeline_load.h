/*-------------------------------------------------------------------------
 *
 * timeline_load.h
 *	  Reading the rows that a timeline is made of.
 *
 * All reads of one fill see the same snapshot, the loader's.  Rows of the small
 * tables go into the timeline itself, allocated in the current memory context;
 * points of base prices and multipliers go into the loader.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_TIMELINE_LOAD_H
#define YQ_TIMELINE_LOAD_H

#include "base/wide.h"
#include "datatype/timestamp.h"
#include "utils/array.h"
#include "utils/snapshot.h"

/* The value of a point from which on there is no such factor. */
#define YQ_FACTOR_ENDED UINT64_MAX

/* A factor's timeline point; value counts 10^-6. */
typedef struct YqFactorPoint
{
	TimestampTz effective_at;
	uint64		value;
} YqFactorPoint;

/* All points of one (dimension, name), in time order. */
typedef struct YqFactor
{
	int			dimension;		/* YqFactorDimension */
	char	   *name;
	int			point_count;
	YqFactorPoint *points;
} YqFactor;

typedef enum YqFactorDimension
{
	YQ_FACTOR_QUEUE,
	YQ_FACTOR_APPLICATION,
	YQ_FACTOR_USERNAME,
	YQ_FACTOR_EXECUTION_TYPE,
	YQ_FACTOR_DIMENSIONS,		/* those of price_factor */
	YQ_FACTOR_WAITING = YQ_FACTOR_DIMENSIONS,	/* of charging_rule */
	YQ_FACTOR_KINDS
} YqFactorDimension;

/* A forgiven interval; project is NULL when it is for all. */
typedef struct YqOutage
{
	char	   *project;
	TimestampTz started_at;
	TimestampTz ended_at;
} YqOutage;

typedef struct YqChargingRule
{
	TimestampTz effective_at;
	int64		minimum_run_time;	/* microseconds, as the next */
	int64		free_before_preemption;
	bool		any_preemption_source;
	uint32		waiting_factor; /* in units of 10^-6, as the next */
	uint32		reserved_factor;
} YqChargingRule;

/* How many fills back it is known which intervals they kept. */
#define YQ_REMEMBERED_FILLS 64

typedef struct YqTimeline
{
	/*
	 * Values per interval of another generation must go: the window has moved.
	 * Within a generation, fill number n kept the first kept_by_fill[n %
	 * YQ_REMEMBERED_FILLS] intervals as they were and replaced all later ones,
	 * factors, outages and rules.
	 */
	uint64		generation;
	uint64		fills;
	int			kept_by_fill[YQ_REMEMBERED_FILLS];
	int64		version;		/* newest pricing_change seen */

	int			resource_count;
	char	  **resource_names; /* sorted bytewise */

	int			interval_count;
	TimestampTz *interval_from;	/* [0] is where the window begins */
	YqPrice    *prices;			/* interval_count x resource_count */
	bool	   *in_outage;		/* per interval: it costs nothing */

	int			factor_count;
	YqFactor   *factors;		/* sorted by dimension, name */
	int			outage_count;
	YqOutage   *outages;
	int			rule_count;
	YqChargingRule *rules;		/* in time order */

	TimestampTz horizon;		/* charges before it have been archived
								 * and does not change; DT_NOBEGIN for none */

	int			period_count;
	TimestampTz *period_ends;	/* of billing periods closed, or about to be, in
								 * time order: no charge crosses one */
	TimestampTz booked_through; /* rows posted now are booked later than the
								 * last closed period was; DT_NOBEGIN for none */
} YqTimeline;

/*
 * Rows to read instead of those of a table, as an array of its row type; NULL
 * reads the table.  "from" is the earliest instant that will be asked about, as
 * far as is known, so that rows need to be read once.
 */
typedef struct YqTerms
{
	TimestampTz from;
	ArrayType  *base_prices;
	ArrayType  *multipliers;
	ArrayType  *factors;
} YqTerms;

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

/* Rows of tables before intervals are made of them. */
typedef struct YqTimelineLoader
{
	YqTimeline *timeline;		/* gets the rows of the small tables */
	Snapshot	snapshot;
	const YqTerms *terms;		/* NULL when all tables are read */
	TimestampTz factors_from;	/* points of factors of execution types are read
								 * from here on */
	int			kept_factor_count;
	YqFactor   *kept_factors;	/* their points until then that are known; with
								 * none, the point in force then is read as well */
	int			group_count;
	char	  **group_names;
	int		   *resource_group;
	int			base_count;
	YqBasePricePoint *base_points;	/* by resource, time */
	int			multiplier_count;
	YqMultiplierPoint *multipliers;	/* by group, time */
} YqTimelineLoader;

/* Resource types, base prices, factors, outages and rules, sorted.  See "factors_from". */
extern void yq_timeline_load_tables(YqTimelineLoader *loader);

/*
 * The multipliers of every price group: the one in force at "from" and all
 * later ones, by group and time.
 */
extern void yq_timeline_load_multipliers(YqTimelineLoader *loader, TimestampTz from);

/*
 * The changes after "known_version": sets the newest version and whether any
 * is the transaction's own, and returns the earliest instant they bear on,
 * which is not found out where nothing is known yet.
 */
#define YQ_NO_VERSION (-1)
extern TimestampTz yq_timeline_load_changes(YqTimelineLoader *loader, int64 known_version,
											int64 *newest, bool *own);

/* Index of a resource type of a timeline, or -1. */
extern int	yq_timeline_load_resource(const YqTimeline *timeline, const char *name,
									  int name_length);

/* Name of a dimension, as in the enum type yquota.factor_dimension, or "waiting". */
extern const char *yq_timeline_dimension_name(int dimension);

#endif							/* YQ_TIMELINE_LOAD_H */
