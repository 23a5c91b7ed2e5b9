/*-------------------------------------------------------------------------
 *
 * timeline.h
 *	  The prices in force at every instant, as each backend has them cached.
 *
 * Time is cut into stretches at every point of a multiplier, a base price, a
 * factor, and at both ends of every outage; within a stretch nothing that
 * bears on an amount changes.  The cache holds a window of stretches that
 * reaches from some full hour on to the future and grows backwards on demand,
 * so that a new connection need not read years of prices.
 *
 * The cache is filled with the newest committed state, not the transaction's
 * snapshot (DESIGN 2), and is brought up to date by yq_timeline_refresh()
 * only: within a statement prices do not move.  The version that it returns
 * is recorded with what was priced, so that a change which became visible too
 * late for a statement can be told from one that it saw.
 *
 * Floor: pricing.  Nothing here knows of containers or of the books.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_TIMELINE_H
#define YQ_TIMELINE_H

#include "base/wide.h"
#include "datatype/timestamp.h"
#include "utils/array.h"

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
	YQ_FACTOR_DIMENSIONS
} YqFactorDimension;

/* A forgiven stretch; project is NULL when it is for all. */
typedef struct YqOutage
{
	char	   *project;
	TimestampTz started_at;
	TimestampTz ended_at;
} YqOutage;

typedef struct YqChargingRule
{
	TimestampTz effective_at;
	int64		minimum_run_time;	/* microseconds */
} YqChargingRule;

/* How many fills back it is known which stretches they kept. */
#define YQ_REMEMBERED_FILLS 64

typedef struct YqTimeline
{
	/*
	 * What was computed per stretch under another generation must go: the
	 * window has moved.  Within a generation, fill number n kept the first
	 * kept_by_fill[n % YQ_REMEMBERED_FILLS] stretches as they were and
	 * replaced all later ones, factors, outages and rules.
	 */
	uint64		generation;
	uint64		fills;
	int			kept_by_fill[YQ_REMEMBERED_FILLS];
	int64		version;		/* newest pricing_change seen */

	int			resource_count;
	char	  **resource_names; /* sorted bytewise */

	int			stretch_count;
	TimestampTz *stretch_from;	/* [0] is where the window begins */
	YqPrice    *prices;			/* stretch_count x resource_count */
	bool	   *in_outage;		/* per stretch: nobody pays */

	int			factor_count;
	YqFactor   *factors;		/* sorted by dimension, name */
	int			outage_count;
	YqOutage   *outages;
	int			rule_count;
	YqChargingRule *rules;		/* in time order */

	TimestampTz horizon;		/* what was charged before has been archived
								 * and does not change; DT_NOBEGIN for none */

	int			period_count;
	TimestampTz *period_ends;	/* of billing periods closed, or about to be, in
								 * time order: no charge crosses one */
	TimestampTz booked_through; /* what is posted now is booked later than the
								 * last closed period was; DT_NOBEGIN for none */
} YqTimeline;

/*
 * Bring the cache up to date and return it.  To be called once at the start of
 * whatever prices something; pointers into the timeline and rate classes got
 * earlier are invalid afterwards.
 */
extern const YqTimeline *yq_timeline_refresh(void);

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

/*
 * From the next refresh on, price by other terms; by those of the tables again
 * when "terms" is NULL.  The caller keeps them, and takes them back whatever
 * happens: meanwhile everything in this session is priced by them.
 */
extern void yq_timeline_assume(const YqTerms *terms);

/* How many stretches from the first on are as they were at fill number "fills". */
extern int	yq_timeline_unchanged_stretches(uint64 fills);

/* The timeline as last refreshed. */
extern const YqTimeline *yq_timeline_cached(void);

/*
 * The earliest instant that a change of prices after a version bears on:
 * DT_NOEND when there is none, DT_NOBEGIN when the version is not known.
 */
extern TimestampTz yq_timeline_changed_from(int64 version);

/*
 * Make the window reach back to "instant".  Stretch numbers obtained before
 * are invalid afterwards.
 */
extern void yq_timeline_reach(TimestampTz instant);

/* Number of the stretch that holds an instant within the window. */
extern int	yq_timeline_stretch(TimestampTz instant);

/* Index of a resource type, or -1 when it is not one. */
extern int	yq_timeline_resource(const char *name, int name_length);

/* The full hour (UTC) at or before an instant: what accruals count from. */
extern TimestampTz yq_full_hour(TimestampTz instant);

/* The end of the last period that is closed or about to be; DT_NOBEGIN for none. */
extern TimestampTz yq_last_period_end(void);

/* Minimum run time, in microseconds, of a container started then. */
extern int64 yq_minimum_run_time(TimestampTz started_at);

/* Name of a dimension, as in the enum type yquota.factor_dimension. */
extern const char *yq_factor_dimension_name(int dimension);

#endif							/* YQ_TIMELINE_H */
