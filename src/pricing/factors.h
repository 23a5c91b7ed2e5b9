/*-------------------------------------------------------------------------
 *
 * factors.h
 *	  Names and values of the factors and outages of a rate class, and the multiplier of one resource
 *	  type.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_FACTORS_H
#define YQ_FACTORS_H

#include "pricing/timeline.h"
#include "utils/array.h"
#include "utils/numeric.h"

/*
 * The state of waiting.  An OPPORTUNISTIC container waits while it does not run, and then pays a
 * part of its price.  "factor" is this part in units of 10^-6.  It is 0 for a container that runs.
 */
typedef struct YqWait
{
	bool		waits;
	uint32		factor;
} YqWait;

static inline bool
yq_wait_equal(YqWait a, YqWait b)
{
	return a.waits == b.waits && a.factor == b.factor;
}

/*
 * Convert a wait from and to the numeric in a table.  The numeric is the factor of the wait; it is
 * NULL if the container does not wait.
 */
extern YqWait yq_wait_from_numeric(Datum factor, bool isnull);
extern Datum yq_wait_to_numeric(YqWait wait, bool *isnull);

/* The payer of a container.  These values determine which factors and outages apply. */
typedef struct YqPayer
{
	const char *project;
	const char *application_id; /* NULL when not known */
	const char *username;		/* NULL when not known */
	const char *queue;			/* NULL when not known */
	const char *label;			/* label of the container's node; NULL when not known */
	const char *execution_type; /* label of yquota.execution_type; NULL when not known */
	YqWait		wait;
} YqPayer;

/* The factors of one dimension, the most specific one first. */
typedef struct YqFactorChain
{
	int			count;
	const YqFactor **factors;
} YqFactorChain;

typedef struct YqFactorSet
{
	int			chain_count;
	YqFactorChain chains[YQ_FACTOR_KINDS];
	int			outage_count;	/* outages that are limited to the class's project */
	const YqOutage **outages;
	const char *project_of_mode;	/* the class's project if this project has its own charging mode, otherwise NULL */
} YqFactorSet;

/*
 * Find the named factors and outages in the timeline.  The set is palloc'd in the current context
 * and points into the timeline.  It is valid until the timeline is filled again.
 */
extern YqFactorSet *yq_factor_set_resolve(const YqTimeline *timeline,
										  ArrayType *names);

/*
 * Return the value of a chain at an instant, in units of 10^-6.  *in_force is set to the factor
 * that has this value, or to NULL when no factor is in force.  "in_force" may be NULL.
 */
extern uint64 yq_factor_chain_value(const YqFactorChain *chain, TimestampTz at,
									const YqFactor **in_force);

/* Tell whether a factor or an outage of the set begins, ends or changes between two instants. */
extern bool yq_factor_set_changes(const YqFactorSet *set, TimestampTz from, TimestampTz to);

/* Tell whether an outage of the set covers an instant.  Outages of all projects are not in the set. */
extern bool yq_factor_set_in_outage(const YqFactorSet *set, TimestampTz at);

/*
 * Return the names of the factors, outages and charging modes that apply to the payer.  The result
 * is a palloc'd array of dimension, name, dimension, name, and so on.  It is NULL when none
 * applies.  For each dimension, the array contains the most specific name that has a factor.  If
 * the container waits, the first dimension is "waiting".
 */
extern ArrayType *yq_factor_names(const YqPayer *payer);

/*
 * Tell whether yq_factor_names() may return a name for a container that does not wait, as of the
 * last refresh.
 */
extern bool yq_factors_exist(void);

#endif							/* YQ_FACTORS_H */
