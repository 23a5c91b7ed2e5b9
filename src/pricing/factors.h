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
 * A wait of a container.  An OPPORTUNISTIC container waits while it does not run.  It then pays a part of
 * its price, in units of 10^-6; the part is 0 for a container that runs.
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

/* Convert a wait between a table and memory: the numeric is its factor, NULL for no wait. */
extern YqWait yq_wait_from_numeric(Datum factor, bool isnull);
extern Datum yq_wait_to_numeric(YqWait wait, bool *isnull);

/* The payer of a container, which decides about factors and outages. */
typedef struct YqPayer
{
	const char *project;
	const char *application_id; /* NULL when not known, as the next fields */
	const char *username;
	const char *queue;
	const char *label;			/* label of the node */
	const char *execution_type; /* label of yquota.execution_type */
	YqWait		wait;
} YqPayer;

/* The factors of one dimension, most specific first. */
typedef struct YqFactorChain
{
	int			count;
	const YqFactor **factors;
} YqFactorChain;

typedef struct YqFactorSet
{
	int			chain_count;
	YqFactorChain chains[YQ_FACTOR_KINDS];
	int			outage_count;	/* outages limited to the class's project */
	const YqOutage **outages;
	const char *project_of_mode;	/* the class's project when it has a charging mode of its own, or NULL */
} YqFactorSet;

/*
 * Look the names up in the timeline.  The set is palloc'd in the current context and points into the
 * timeline.  It is valid until the timeline is filled again.
 */
extern YqFactorSet *yq_factor_set_resolve(const YqTimeline *timeline,
										  ArrayType *names);

/*
 * Return the value of a chain at an instant, in units of 10^-6.  *in_force is the factor that it comes
 * from, NULL when none is in force; "in_force" may be NULL.
 */
extern uint64 yq_factor_chain_value(const YqFactorChain *chain, TimestampTz at,
									const YqFactor **in_force);

/* Tell whether factors or outages of the set begin, end or change between two instants. */
extern bool yq_factor_set_changes(const YqFactorSet *set, TimestampTz from, TimestampTz to);

/* Tell whether an outage that is limited to the project covers an instant. */
extern bool yq_factor_set_in_outage(const YqFactorSet *set, TimestampTz at);

/*
 * Return the names of the factors, outages and charging modes that apply: an array of dimension, name,
 * dimension, name ..., palloc'd.  Returns NULL when none applies.  Each dimension contributes the most
 * specific name that has a factor.  For a container that waits the first dimension is "waiting".
 */
extern ArrayType *yq_factor_names(const YqPayer *payer);

/* Tell whether any such name could apply to a container that does not wait, as of the last refresh. */
extern bool yq_factors_exist(void);

#endif							/* YQ_FACTORS_H */
