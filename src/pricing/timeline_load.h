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

/* The value of a point at which the factor ends. */
#define YQ_FACTOR_ENDED UINT64_MAX

/* A point of a factor; "value" applies from effective_at on, in units of 10^-6. */
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
	YQ_FACTOR_DIMENSIONS,		/* number of dimensions of yquota.price_factor */
	YQ_FACTOR_WAITING = YQ_FACTOR_DIMENSIONS,	/* the factor comes from charging_rule */
	YQ_FACTOR_KINDS
} YqFactorDimension;

/* An interval that is not charged; "project" is NULL if it applies to all projects. */
typedef struct YqOutage
{
	char	   *project;
	TimestampTz started_at;
	TimestampTz ended_at;
} YqOutage;

/* The charging mode, which determines the resources that a container pays for (docs/semantics/charging.md 2.1). */
typedef enum YqChargingMode
{
	YQ_CHARGE_DEAREST,
	YQ_CHARGE_SUM,
	YQ_CHARGE_SUM_OF_GROUPS,
	YQ_CHARGING_MODES
} YqChargingMode;

/* Stands for all projects that have no charging mode of their own. */
#define YQ_ALL_PROJECTS ""

/* The charging mode of a project, or of YQ_ALL_PROJECTS, from an instant on. */
typedef struct YqModePoint
{
	char	   *project;
	TimestampTz effective_at;
	bool		has_ended;		/* the project's own mode ends here */
	YqChargingMode mode;
} YqModePoint;

/* A charging rule that applies to all projects. */
typedef struct YqChargingRule
{
	TimestampTz effective_at;
	int64		minimum_run_time;	/* shortest paid time of a container, in microseconds */
	int64		free_before_preemption; /* free time before a preemption, in microseconds */
	bool		any_preemption_source;
	uint32		waiting_factor; /* part of the price that a container pays while it waits, in units of 10^-6 */
	uint32		reserved_factor;	/* part of the price that a reservation pays, in units of 10^-6 */
} YqChargingRule;

/* The timeline remembers, for this number of past fills, how many intervals each fill kept. */
#define YQ_REMEMBERED_FILLS 64

typedef struct YqTimeline
{
	/*
	 * The generation changes when the window moves.  Callers then drop the values that they have
	 * stored per interval.  Within a generation, fill number n kept the first kept_by_fill[n %
	 * YQ_REMEMBERED_FILLS] intervals.  The fill replaced all later intervals, and all factors,
	 * outages and rules.
	 */
	uint64		generation;
	uint64		fills;
	int			kept_by_fill[YQ_REMEMBERED_FILLS];
	int64		version;		/* newest pricing_change seen */

	int			resource_count;
	char	  **resource_names; /* sorted bytewise */
	int		   *resource_groups;	/* number of the price group of each resource */

	int			interval_count;
	TimestampTz *interval_from;	/* interval_from[0] is the start of the window */
	YqPrice    *prices;			/* interval_count x resource_count */
	bool	   *in_outage;		/* per interval: true if no project pays, because of an outage */
	uint8	   *modes;			/* per interval: YqChargingMode of YQ_ALL_PROJECTS */

	int			factor_count;
	YqFactor   *factors;		/* sorted by dimension, name */
	TimestampTz labels_from;	/* instant at which the first factor of a label begins; DT_NOEND if there is none */
	int			outage_count;
	YqOutage   *outages;
	int			rule_count;
	YqChargingRule *rules;		/* in time order */
	int			mode_count;
	YqModePoint *mode_points;	/* sorted by project, time */
	bool		adds_up;		/* true if any mode other than YQ_CHARGE_DEAREST occurs */

	TimestampTz horizon;		/* charges before this instant have been archived and cannot change; DT_NOBEGIN
								 * if nothing has been archived */

	int			period_count;
	TimestampTz *period_ends;	/* ends of billing periods that are closed or being closed, in time order;
								 * no charge crosses an end */
	TimestampTz booked_through; /* rows posted from now on have a later booking time than this;
								 * DT_NOBEGIN if no period is closed */
} YqTimeline;

/*
 * Assumed terms.  Each array contains rows of a table's row type that are read instead of the rows
 * of that table.  If an array is NULL, the table is read.  "from" is the earliest instant that
 * callers will probably ask about.  The window begins there, so that rows are usually read only
 * once.
 */
typedef struct YqTerms
{
	TimestampTz from;
	ArrayType  *base_prices;
	ArrayType  *multipliers;
	ArrayType  *calendar_factors;
	ArrayType  *factors;
	const char *charging_mode;	/* name of the mode of all projects; if NULL, charging_rule is read */
	bool		without_outages;	/* no time is forgiven */
} YqTerms;

typedef struct YqBasePricePoint
{
	int			resource;
	TimestampTz effective_at;
	YqDecimal	base_price;
	int64		unit;
} YqBasePricePoint;

/* A point of a multiplier or of a calendar factor. */
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

/* The rows of tables from which intervals are made. */
typedef struct YqTimelineLoader
{
	YqTimeline *timeline;		/* timeline that receives the rows of the small tables */
	Snapshot	snapshot;
	const YqTerms *terms;		/* assumed terms; NULL if all tables are read */
	TimestampTz factors_from;	/* points of execution-type factors are read from this instant on */
	int			kept_factor_count;
	YqFactor   *kept_factors;	/* cached points before factors_from; a factor without them also reads the point
								 * in force at factors_from */
	int			group_count;
	char	  **group_names;
	int			base_count;
	YqBasePricePoint *base_points;	/* by resource, time */
	YqGroupPoints multipliers;
	YqGroupPoints calendar_factors;
} YqTimelineLoader;

/*
 * Load and sort resource types, base prices, factors, outages, rules and charging modes.  Factors
 * of execution types are read only from "factors_from" on.
 */
extern void yq_timeline_load_tables(YqTimelineLoader *loader);

/*
 * Load the multipliers and the calendar factors of every price group, sorted by group and time.
 * The function loads the points in force at "from" and all later points.
 */
extern void yq_timeline_load_group_points(YqTimelineLoader *loader, TimestampTz from);

/*
 * Read the changes after "known_version", and return the earliest instant that they affect.  If
 * "known_version" is YQ_NO_VERSION, this instant is not computed.  *newest is set to the newest
 * version.  *own is set if the transaction itself has made a change.
 */
#define YQ_NO_VERSION (-1)
extern TimestampTz yq_timeline_load_changes(YqTimelineLoader *loader, int64 known_version,
											int64 *newest, bool *own);

/* Return the index of a resource type in a timeline, or -1 if the timeline does not have it. */
extern int	yq_timeline_load_resource(const YqTimeline *timeline, const char *name,
									  int name_length);

/* Return the name of a charging mode, as in the enum type yquota.charging_mode. */
extern const char *yq_timeline_mode_name(YqChargingMode mode);

/* Return the name of a dimension, as in the enum type yquota.factor_dimension, or "waiting". */
extern const char *yq_timeline_dimension_name(int dimension);

#endif							/* YQ_TIMELINE_LOAD_H */
