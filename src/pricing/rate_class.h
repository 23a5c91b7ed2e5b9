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
#include "pricing/timeline.h"
#include "utils/array.h"

typedef struct YqRateClass YqRateClass;

/*
 * Bring prices up to date.  Every function that prices calls this at its start.  Returns the version of the
 * timeline.  Classes found before are invalid afterwards.
 */
extern int64 yq_rate_class_refresh(void);

/*
 * Return the class of an allocation under the named factors (NULL for none), and its weight.  Returns NULL
 * when the allocation holds a resource type that yquota does not know; the name is then stored in *unknown.
 * Amounts must not be negative.
 */
extern YqRateClass *yq_rate_class_find(const YqResource *allocation,
									   ArrayType *factors, uint64 *weight,
									   char **unknown);

/*
 * Return the class and weight of an allocation whose types are known to have existed.  Raises
 * ERRCODE_FOREIGN_KEY_VIOLATION when a type is unknown.
 */
extern YqRateClass *yq_rate_class_require(const YqResource *allocation,
										  ArrayType *factors, uint64 *weight);

/*
 * Return the generation of classes.  Classes live across refreshes as long as it stays the same.  A caller
 * that keeps a class checks that its resource types exist when it uses the class again; the computation of
 * a cost does so.
 */
extern uint64 yq_rate_class_generation(void);

/* Return the shape of a class, which lives as long as the class. */
extern const YqResource *yq_rate_class_shape(const YqRateClass *rate_class);

/*
 * Compute the credits for weight times the shape from "from" to "to".  The amount is negative when "to"
 * comes first. *dominant is the name of the resource type with the largest part, or NULL when nothing is
 * due.  Ties go to the first name.  "dominant" may be NULL.
 */
extern void yq_rate_class_cost(YqRateClass *rate_class, uint64 weight,
							   TimestampTz from, TimestampTz to,
							   YqWide *amount, const char **dominant);

/* Compute the cost as yq_rate_class_cost() does; false when the amount, or a price on the way, does not fit. */
extern bool yq_rate_class_try_cost(YqRateClass *rate_class, uint64 weight,
								   TimestampTz from, TimestampTz to,
								   YqWide *amount, const char **dominant);

/*
 * Compute the credits for that many microseconds at the prices in force at an instant.  *dominant is the
 * resource type with the largest part, or NULL when nothing is due.
 */
extern void yq_rate_class_cost_at(YqRateClass *rate_class, uint64 weight,
								  TimestampTz at, uint64 microseconds,
								  YqWide *amount, const char **dominant);

/* Compute the cost as yq_rate_class_cost_at() does; false when the amount does not fit. */
extern bool yq_rate_class_try_cost_at(YqRateClass *rate_class, uint64 weight,
									  TimestampTz at, uint64 microseconds,
									  YqWide *amount, const char **dominant);

/* The prices that charge an allocation at an instant. */
typedef struct YqPricesInForce
{
	TimestampTz until;			/* start of the next interval of the timeline; DT_NOEND in the last one */
	bool		is_forgiven;	/* true in an outage, which costs nothing */
	YqChargingMode mode;
	int			part_count;		/* resources of the shape */
	const char *names[YQ_RESOURCE_MAX_ENTRIES]; /* they live as long as the class */
	YqPrice		prices[YQ_RESOURCE_MAX_ENTRIES];	/* per native unit and second */
	YqWide		factor;			/* product of the factors, in units of an amount */
	int			factor_count;
	const YqFactor *factors[YQ_FACTOR_KINDS];	/* factors in force; they live until prices are refreshed */
	uint64		factor_values[YQ_FACTOR_KINDS]; /* units of 10^-6 */
} YqPricesInForce;

/* Compute the credits per second that each resource of the shape adds at an instant. */
extern void yq_rate_class_part_rates(YqRateClass *rate_class, uint64 weight, TimestampTz at, YqWide *rates);

extern void yq_rate_class_prices_at(YqRateClass *rate_class, TimestampTz at,
									YqPricesInForce *in_force);

/*
 * Compute the credits for one unit of the shape from "from" to "at" (negative when "at" comes first), and
 * the credits per second at "at".  Callers ask many classes about the same two instants.  The results live
 * in the class until the next call.
 */
extern void yq_rate_class_unit_cost(YqRateClass *rate_class, TimestampTz from,
									TimestampTz at, const YqWide **accrued,
									const YqWide **rate);

/* Tell whether the price of the class at an instant is in range. */
extern bool yq_rate_class_is_payable(YqRateClass *rate_class, TimestampTz at);

#endif							/* YQ_RATE_CLASS_H */
