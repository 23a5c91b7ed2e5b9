/*-------------------------------------------------------------------------
 *
 * timeline_load.h
 *	  Reading the rows that a timeline is made of.
 *
 * All reads of one fill see the same snapshot, the loader's.  Rows of the small tables go into the timeline
 * itself, allocated in the current memory context.  Points of base prices, multipliers and calendar factors
 * go into the loader.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_TIMELINE_LOAD_H
#define YQ_TIMELINE_LOAD_H

#include "base/wide.h"
#include "datatype/timestamp.h"
#include "utils/array.h"
#include "utils/snapshot.h"

/* The value of a point that ends the factor of its name. */
#define YQ_FACTOR_ENDED UINT64_MAX

/* A point in the timeline of a factor; its value is in units of 10^-6. */
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
	YQ_FACTOR_PROJECT,
	YQ_FACTOR_LABEL,
	YQ_FACTOR_EXECUTION_TYPE,
	YQ_FACTOR_DIMENSIONS,		/* number of dimensions of price_factor */
	YQ_FACTOR_WAITING = YQ_FACTOR_DIMENSIONS,	/* dimension of a factor in charging_rule */
	YQ_FACTOR_KINDS
} YqFactorDimension;

/* A forgiven interval; project is NULL when it applies to all projects. */
typedef struct YqOutage
{
	char	   *project;
	TimestampTz started_at;
	TimestampTz ended_at;
} YqOutage;

/* The resources of a container that its rate adds up (docs/semantics/charging.md 2.1). */
typedef enum YqChargingMode
{
	YQ_CHARGE_DEAREST,
	YQ_CHARGE_SUM,
	YQ_CHARGE_SUM_OF_GROUPS,
	YQ_CHARGING_MODES
} YqChargingMode;

/* The project of a charging mode that holds for all projects without one of their own. */
#define YQ_ALL_PROJECTS ""

/* The mode of a project, or of all projects, from an instant on. */
typedef struct YqModePoint
{
	char	   *project;
	TimestampTz effective_at;
	bool		has_ended;		/* the mode of all projects holds again */
	YqChargingMode mode;
} YqModePoint;

/* A rule for all projects. */
typedef struct YqChargingRule
{
	TimestampTz effective_at;
	int64		minimum_run_time;	/* microseconds, as the next field */
	int64		free_before_preemption;
	bool		any_preemption_source;
	uint32		waiting_factor; /* in units of 10^-6, as the next field */
	uint32		reserved_factor;
} YqChargingRule;

/* The number of past fills for which the timeline knows how many intervals they kept. */
#define YQ_REMEMBERED_FILLS 64

typedef struct YqTimeline
{
	/*
	 * A changed generation means that the window has moved; callers then drop the values that they keep per
	 * interval.  Within a generation, fill number n kept the first kept_by_fill[n % YQ_REMEMBERED_FILLS]
	 * intervals.  It replaced all later intervals, and the factors, outages and rules.
	 */
	uint64		generation;
	uint64		fills;
	int			kept_by_fill[YQ_REMEMBERED_FILLS];
	int64		version;		/* newest pricing_change seen */

	int			resource_count;
	char	  **resource_names; /* sorted bytewise */
	int		   *resource_groups;	/* numbers of their price groups */

	int			interval_count;
	TimestampTz *interval_from;	/* [0] is the start of the window */
	YqPrice    *prices;			/* interval_count x resource_count */
	bool	   *in_outage;		/* per interval: whether it costs nothing */
	uint8	   *modes;			/* per interval: YqChargingMode of projects without one of their own */

	int			factor_count;
	YqFactor   *factors;		/* sorted by dimension, name */
	TimestampTz labels_from;	/* beginning of the first factor of a node label; DT_NOEND for none */
	int			outage_count;
	YqOutage   *outages;
	int			rule_count;
	YqChargingRule *rules;		/* in time order */
	int			mode_count;
	YqModePoint *mode_points;	/* sorted by project, time */
	bool		adds_up;		/* a mode other than YQ_CHARGE_DEAREST occurs */

	TimestampTz horizon;		/* charges before it have been archived and do not change; DT_NOBEGIN for
								 * none */

	int			period_count;
	TimestampTz *period_ends;	/* ends of billing periods closed, or about to be, in time order: no charge
								 * crosses one */
	TimestampTz booked_through; /* rows posted now are booked later than the last closed period was;
								 * DT_NOBEGIN for none */
} YqTimeline;

/*
 * Rows to read in place of those of a table, as an array of its row type; NULL reads the table.  "from" is
 * the earliest instant that callers will ask about, as far as is known, so that rows need to be read only
 * once.
 */
typedef struct YqTerms
{
	TimestampTz from;
	ArrayType  *base_prices;
	ArrayType  *multipliers;
	ArrayType  *calendar_factors;
	ArrayType  *factors;
	const char *charging_mode;	/* name of the mode of all projects; NULL reads charging_rule */
} YqTerms;

typedef struct YqBasePricePoint
{
	int			resource;
	TimestampTz effective_at;
	YqDecimal	base_price;
	int64		unit;
} YqBasePricePoint;

/* A multiplier or a calendar factor. */
typedef struct YqGroupPoint
{
	int			group;
	TimestampTz effective_at;
	YqDecimal	value;
} YqGroupPoint;

typedef struct YqGroupPoints
{
	int			count;
	YqGroupPoint *points;		/* by group, time */
} YqGroupPoints;

/* Rows of tables before intervals are made from them. */
typedef struct YqTimelineLoader
{
	YqTimeline *timeline;		/* gets the rows of the small tables */
	Snapshot	snapshot;
	const YqTerms *terms;		/* NULL when all tables are read */
	TimestampTz factors_from;	/* points of factors of execution types are read from this instant on */
	int			kept_factor_count;
	YqFactor   *kept_factors;	/* their known points until then; with none, the point in force then is read
								 * as well */
	int			group_count;
	char	  **group_names;
	int			base_count;
	YqBasePricePoint *base_points;	/* by resource, time */
	YqGroupPoints multipliers;
	YqGroupPoints calendar_factors;
} YqTimelineLoader;

/* Load resource types, base prices, factors, outages, rules and charging modes, sorted.  See "factors_from". */
extern void yq_timeline_load_tables(YqTimelineLoader *loader);

/*
 * Load the multipliers and the calendar factors of every price group, by group and time: those in force at
 * "from" and all later ones.
 */
extern void yq_timeline_load_group_points(YqTimelineLoader *loader, TimestampTz from);

/*
 * Read the changes after "known_version".  Sets the newest version and whether any change is the
 * transaction's own.  Returns the earliest instant that they affect, which is not computed while no version
 * is known.
 */
#define YQ_NO_VERSION (-1)
extern TimestampTz yq_timeline_load_changes(YqTimelineLoader *loader, int64 known_version,
											int64 *newest, bool *own);

/* Return the index of a resource type of a timeline, or -1. */
extern int	yq_timeline_load_resource(const YqTimeline *timeline, const char *name,
									  int name_length);

/* Return the name of a charging mode, as in the enum type yquota.charging_mode. */
extern const char *yq_timeline_mode_name(YqChargingMode mode);

/* Return the name of a dimension, as in the enum type yquota.factor_dimension, or "waiting". */
extern const char *yq_timeline_dimension_name(int dimension);

#endif							/* YQ_TIMELINE_LOAD_H */
