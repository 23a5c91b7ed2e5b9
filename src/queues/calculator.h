/*-------------------------------------------------------------------------
 *
 * calculator.h
 *	  Arithmetic on resources as the CapacityScheduler does it (docs/design.md 5).
 *
 * A resource is an array of amounts in native units, one for each resource type of the
 * hierarchy.  Memory-mb comes first, vcores second, then the other types by name.
 * Figures must equal Hadoop's to the last digit.  Fractions are therefore 32-bit
 * floats, which are widened to double when they meet an amount, and products are
 * truncated.
 *
 * There are two calculators.  The default calculator compares only memory, although it
 * adds and subtracts all types.  A resource that it has rounded has one core if it has
 * any memory, and no other type.  The dominant calculator compares shares of the
 * cluster.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_CALCULATOR_H
#define YQ_CALCULATOR_H

#define YQ_MEMORY	0
#define YQ_VCORES	1

/* Largest number of resource types of a hierarchy. */
#define YQ_MAX_RESOURCE_TYPES	32

typedef struct YqCalculator
{
	bool		is_dominant;
	int			types;			/* number of resource types */
} YqCalculator;

/* Is every amount zero? */
extern bool yq_amounts_are_none(const YqCalculator *calculator, const int64 *a);

/* Are all amounts equal? */
extern bool yq_amounts_are_equal(const YqCalculator *calculator, const int64 *a, const int64 *b);

/* Is every amount of a at most that of b, for both calculators? */
extern bool yq_amounts_fit_in(const YqCalculator *calculator, const int64 *a, const int64 *b);

/*
 * Return a negative number, zero or a positive number if a is less than, equal to or
 * more than b in the cluster.
 */
extern int	yq_amounts_compare(const YqCalculator *calculator, const int64 *cluster,
							   const int64 *a, const int64 *b);

/* Return the smaller or the larger of two resources, compared as a whole; the first if they are equal. */
extern const int64 *yq_amounts_min(const YqCalculator *calculator, const int64 *cluster,
								   const int64 *a, const int64 *b);
extern const int64 *yq_amounts_max(const YqCalculator *calculator, const int64 *cluster,
								   const int64 *a, const int64 *b);

/* Does a fit in b, in the types that the calculator compares? */
extern bool yq_amounts_fit_in_by(const YqCalculator *calculator, const int64 *a, const int64 *b);

/* Add a to "to". */
extern void yq_amounts_add(const YqCalculator *calculator, int64 *to, const int64 *a);

/* Subtract a from "to".  The second function leaves no amount negative. */
extern void yq_amounts_subtract(const YqCalculator *calculator, int64 *to, const int64 *a);
extern void yq_amounts_subtract_to_none(const YqCalculator *calculator, int64 *to, const int64 *a);

/* Set each type of "to" to the smaller, or the larger, of "to" and a. */
extern void yq_amounts_lower_each(const YqCalculator *calculator, int64 *to, const int64 *a);
extern void yq_amounts_raise_each(const YqCalculator *calculator, int64 *to, const int64 *a);

/* Return how many times b fits in a, in the types that the calculator compares. */
extern int64 yq_amounts_available_containers(const YqCalculator *calculator, const int64 *a, const int64 *b);

/* Is any amount above zero, in the types that the calculator compares? */
extern bool yq_amounts_any_above_none(const YqCalculator *calculator, const int64 *a);

/* Is any amount zero or negative, in the types that the calculator compares? */
extern bool yq_amounts_any_none_or_below(const YqCalculator *calculator, const int64 *a);

/*
 * Return a / b, of memory or of the largest shares.  The result may be infinite; that
 * of the second function may also be NaN.
 */
extern float4 yq_amounts_divide(const YqCalculator *calculator, const int64 *cluster,
								const int64 *a, const int64 *b);

/*
 * Return the share of b that a takes: by memory, or the largest share of all types.
 * The share 0 / 0 is 0.  The result may be infinite.
 */
extern float4 yq_amounts_ratio(const YqCalculator *calculator, const int64 *a, const int64 *b);

/* Set "result" to a / by, rounded up, or to zero when "by" is 0.  "result" may be a. */
extern void yq_amounts_divide_and_ceil(const YqCalculator *calculator, int64 *result,
									   const int64 *a, float4 by);
extern void yq_amounts_divide_by_integer_and_ceil(const YqCalculator *calculator, int64 *result,
												  const int64 *a, int64 by);

/* Set "result" to a * by, truncated.  "result" may be a. */
extern void yq_amounts_multiply(const YqCalculator *calculator, int64 *result,
								const int64 *a, double by);

/* Set "result" to a * by, rounded up or down to whole steps.  "result" may be a. */
extern void yq_amounts_multiply_and_normalize_up(const YqCalculator *calculator, int64 *result,
												 const int64 *a, double by, const int64 *step);
extern void yq_amounts_multiply_and_normalize_down(const YqCalculator *calculator, int64 *result,
												   const int64 *a, double by, const int64 *step);

/*
 * Set each type of "result" to a * by of that type, rounded up to an integer.  "result"
 * may be a.  Unlike in the function above, the product does not pass through a 32-bit
 * float.
 */
extern void yq_amounts_multiply_each_and_normalize_up(const YqCalculator *calculator, int64 *result,
													  const int64 *a, const float4 *by);

/* Set "result" to a, rounded up or down to whole steps.  "result" may be a. */
extern void yq_amounts_round_up(const YqCalculator *calculator, int64 *result,
								const int64 *a, const int64 *step);
extern void yq_amounts_round_down(const YqCalculator *calculator, int64 *result,
								  const int64 *a, const int64 *step);

#endif							/* YQ_CALCULATOR_H */
