/*-------------------------------------------------------------------------
 *
 * rate_class.h
 *	  The exact cost of an allocation between two instants.
 *
 * Allocations with the same shape (amounts divided by their greatest common
 * divisor) and the same set of factors form a rate class: each of its
 * containers costs weight (the divisor) times the cost of the shape (docs/design.md 3).
 *
 * At every instant the dearest resource is charged, and the contribution of
 * each resource is summed apart, which gives the dominant one of an interval.
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
 * Bring prices up to date; called at the start of every function that prices.
 * Returns the version of the timeline.  Classes found before are invalid
 * afterwards.
 */
extern int64 yq_rate_class_refresh(void);

/*
 * The class of an allocation under the factors named (NULL for none), and its
 * weight.  NULL when it holds a resource type that yquota does not know, whose
 * name is then stored in *unknown.  Amounts must not be negative.
 */
extern YqRateClass *yq_rate_class_find(const YqResource *allocation,
									   ArrayType *factors, uint64 *weight,
									   char **unknown);

/*
 * The same where the type is known to have existed: when it is unknown, raises
 * ERRCODE_FOREIGN_KEY_VIOLATION.
 */
extern YqRateClass *yq_rate_class_require(const YqResource *allocation,
										  ArrayType *factors, uint64 *weight);

/*
 * Classes live across refreshes as long as this stays the same.  A caller that
 * keeps a class checks that its resource types exist when it uses the class
 * again: computing a cost does so.
 */
extern uint64 yq_rate_class_generation(void);

/* Its shape; lives as long as the class. */
extern const YqResource *yq_rate_class_shape(const YqRateClass *rate_class);

/*
 * Credits for weight times the shape from "from" to "to" (negative when "to"
 * comes first), and the name of the resource type with the largest part, NULL
 * when nothing is due; ties go to the first name.  "dominant" may be NULL.
 */
extern void yq_rate_class_cost(YqRateClass *rate_class, uint64 weight,
							   TimestampTz from, TimestampTz to,
							   YqWide *amount, const char **dominant);

/* The same; false when the amount does not fit, or a price on the way does not. */
extern bool yq_rate_class_try_cost(YqRateClass *rate_class, uint64 weight,
								   TimestampTz from, TimestampTz to,
								   YqWide *amount, const char **dominant);

/*
 * Credits for holding it for some microseconds at the prices in force at one
 * instant, and the resource type charged then, NULL when nothing is due.
 */
extern void yq_rate_class_cost_at(YqRateClass *rate_class, uint64 weight,
								  TimestampTz at, uint64 microseconds,
								  YqWide *amount, const char **dominant);

/* The same; false when the amount does not fit. */
extern bool yq_rate_class_try_cost_at(YqRateClass *rate_class, uint64 weight,
									  TimestampTz at, uint64 microseconds,
									  YqWide *amount, const char **dominant);

/* The prices that charge an allocation at an instant. */
typedef struct YqPricesInForce
{
	TimestampTz until;			/* where the next interval of the timeline
								 * begins; DT_NOEND in the last one */
	bool		is_forgiven;	/* an outage, which costs nothing */
	int			part_count;		/* resources of the shape */
	const char *names[YQ_RESOURCE_MAX_ENTRIES]; /* live as long as the class */
	YqPrice		prices[YQ_RESOURCE_MAX_ENTRIES];	/* per native unit and second */
	YqWide		factor;			/* product of the factors, in units of an amount */
	int			factor_count;
	const YqFactor *factors[YQ_FACTOR_KINDS];	/* those in force; live until prices
												 * are refreshed */
	uint64		factor_values[YQ_FACTOR_KINDS]; /* in units of 10^-6 */
} YqPricesInForce;

extern void yq_rate_class_prices_at(YqRateClass *rate_class, TimestampTz at,
									YqPricesInForce *in_force);

/*
 * Credits for one unit of the shape from "from" to "at" (negative when "at"
 * comes first), and credits per second at "at".  For asking many classes about
 * the same two instants; the results live in the class until the next call.
 */
extern void yq_rate_class_unit_cost(YqRateClass *rate_class, TimestampTz from,
									TimestampTz at, const YqWide **accrued,
									const YqWide **rate);

/* Whether the price of the class at an instant is in range. */
extern bool yq_rate_class_is_payable(YqRateClass *rate_class, TimestampTz at);

#endif							/* YQ_RATE_CLASS_H */
