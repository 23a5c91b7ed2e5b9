/*-------------------------------------------------------------------------
 *
 * rate_class.h
 *	  The exact cost of an allocation between two instants.
 *
 * Allocations with the same shape and the same set of factors form a rate class.  The shape is the amounts
 * divided by their greatest common divisor; the divisor is the weight.  A container costs weight times the
 * cost of the shape (docs/design.md 3).
 *
 * At every instant the dearest resource is charged, or a sum of resources (docs/semantics/charging.md 2.1).
 * The contribution of each resource has a sum of its own, which gives the dominant resource of an interval.
 * A class is never reduced to one resource.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_RATE_CLASS_H
#define YQ_RATE_CLASS_H

#include "base/resource.h"
#include "base/wide.h"
#include "datatype/timestamp.h"
#include "fmgr.h"
#include "pricing/timeline.h"
#include "utils/array.h"

typedef struct YqRateClass YqRateClass;

/*
 * Bring prices up to date, and return the version of the timeline.  Every function that computes
 * costs calls this function first.  Classes that were found earlier are invalid afterwards.
 */
extern int64 yq_rate_class_refresh(void);

/*
 * Return the rate class of an allocation under the named factors (NULL for no factor), and the
 * weight of the allocation.
 *
 * If the allocation contains a resource type that yquota does not know, the function returns NULL
 * and sets *unknown to the name of the type.  Amounts must not be negative.
 */
extern YqRateClass *yq_rate_class_find(const YqResource *allocation,
									   ArrayType *factors, uint64 *weight,
									   char **unknown);

/* Return a hint for a resource type that does not exist. */
extern char *yq_rate_class_hint(const char *unknown);

/*
 * Return the class and the weight of an allocation that yquota has accepted before.  Raises
 * ERRCODE_FOREIGN_KEY_VIOLATION if one of its resource types has been removed since.
 */
extern YqRateClass *yq_rate_class_require(const YqResource *allocation,
										  ArrayType *factors, uint64 *weight);

/*
 * Bring prices up to date, and return the class and the weight of an allocation as
 * yq_rate_class_require() does.  The allocation is an argument of an SQL function; the next
 * argument contains the factors, and may be null.
 */
extern YqRateClass *yq_rate_class_argument(FunctionCallInfo fcinfo, int argument, uint64 *weight);

/*
 * Return the generation of classes.  A class stays valid after a refresh if the generation has not
 * changed.  A caller that keeps a class after a refresh must check that the class's resource types
 * still exist.  Computing a cost makes this check.
 */
extern uint64 yq_rate_class_generation(void);

/* Return the shape of a class.  The shape exists as long as the class. */
extern const YqResource *yq_rate_class_shape(const YqRateClass *rate_class);

/*
 * Compute the credits for "weight" units of the shape from "from" to "to".  The amount is negative
 * when "to" is before "from".
 *
 * *dominant is set to the name of the resource type with the largest part, or to NULL when the
 * amount is zero.  The first name wins if parts are equal.  "dominant" may be NULL.
 */
extern void yq_rate_class_cost(YqRateClass *rate_class, uint64 weight,
							   TimestampTz from, TimestampTz to,
							   YqWide *amount, const char **dominant);

/*
 * Compute the cost as yq_rate_class_cost() does, but return false when the amount or a price in
 * the interval is out of range.
 */
extern bool yq_rate_class_try_cost(YqRateClass *rate_class, uint64 weight,
								   TimestampTz from, TimestampTz to,
								   YqWide *amount, const char **dominant);

/*
 * Compute the credits for a number of microseconds at the prices in force at an instant.
 * *dominant is set to the resource type with the largest part, or to NULL when the amount is zero.
 */
extern void yq_rate_class_cost_at(YqRateClass *rate_class, uint64 weight,
								  TimestampTz at, uint64 microseconds,
								  YqWide *amount, const char **dominant);

/* Compute the cost as yq_rate_class_cost_at() does, but return false when the amount is out of range. */
extern bool yq_rate_class_try_cost_at(YqRateClass *rate_class, uint64 weight,
									  TimestampTz at, uint64 microseconds,
									  YqWide *amount, const char **dominant);

/* The prices at which an allocation is charged at an instant. */
typedef struct YqPricesInForce
{
	TimestampTz until;			/* start of the next interval of the timeline; DT_NOEND if there is no next one */
	bool		is_forgiven;	/* true during an outage, when nothing is charged */
	YqChargingMode mode;
	int			part_count;		/* number of resources of the shape */
	const char *names[YQ_RESOURCE_MAX_ENTRIES]; /* names of the resource types; they exist as long as the class */
	YqPrice		prices[YQ_RESOURCE_MAX_ENTRIES];	/* per native unit and second */
	YqWide		factor;			/* product of the factors, in the units of a YqWide amount */
	int			factor_count;
	const YqFactor *factors[YQ_FACTOR_KINDS];	/* factors in force; valid until the next refresh of prices */
	uint64		factor_values[YQ_FACTOR_KINDS]; /* units of 10^-6 */
} YqPricesInForce;

/*
 * Divide the credits from "from" to "to" among the resources of the shape, and store them in
 * "costs".  "to" is not before "from".  "alone" is set to the credits that each resource would cost
 * without the others.
 */
extern void yq_rate_class_part_costs(YqRateClass *rate_class, uint64 weight, TimestampTz from, TimestampTz to,
									 YqWide *costs, YqWide *alone);

/* Return the number of resources of the shape, and the name of one of them. */
extern int	yq_rate_class_part_count(const YqRateClass *rate_class);
extern const char *yq_rate_class_part_name(const YqRateClass *rate_class, int part);

/* Divide the credits per second at an instant among the resources of the shape. */
extern void yq_rate_class_part_rates(YqRateClass *rate_class, uint64 weight, TimestampTz at, YqWide *rates);

/* The part of a charge that a resource pays for. */
typedef struct YqPaidPart
{
	const char *name;			/* name of the resource type; it exists as long as the class */
	YqWide		amount;			/* credits */
	YqWide		held;			/* native units times seconds, in the units of a YqWide amount */
} YqPaidPart;

/*
 * Divide the cost between two instants among the charged resources.  A resource counts as held only
 * while it costs something.  Returns the number of parts; "parts" has room for
 * YQ_RESOURCE_MAX_ENTRIES.
 */
extern int	yq_rate_class_parts(YqRateClass *rate_class, uint64 weight, TimestampTz from, TimestampTz to,
								YqPaidPart *parts);

/* Divide the cost of a number of microseconds, at the prices in force at an instant, among the charged resources. */
extern int	yq_rate_class_parts_at(YqRateClass *rate_class, uint64 weight, TimestampTz at, uint64 microseconds,
								   YqPaidPart *parts);

extern void yq_rate_class_prices_at(YqRateClass *rate_class, TimestampTz at,
									YqPricesInForce *in_force);

/*
 * Compute the credits for one unit of the shape from "from" to "at", and the credits per second at
 * "at".  The credits are negative when "at" is before "from".  Callers ask many classes about the
 * same two instants.  The class stores the results until the next call for this class.
 */
extern void yq_rate_class_unit_cost(YqRateClass *rate_class, TimestampTz from,
									TimestampTz at, const YqWide **accrued,
									const YqWide **rate);

/* Tell whether the price of a class at an instant is in range. */
extern bool yq_rate_class_is_payable(YqRateClass *rate_class, TimestampTz at);

#endif							/* YQ_RATE_CLASS_H */
