/*-------------------------------------------------------------------------
 *
 * calculator.h
 *	  Arithmetic on resources as the CapacityScheduler does it (docs/design.md 5).
 *
 * A resource is an array of amounts in native units, one for each resource type of the
 * hierarchy.  The type memory-mb comes first and vcores second; the other types follow,
 * sorted by name.  Figures must equal Hadoop's to the last digit.  Fractions are
 * therefore 32-bit floats, which are widened to double when they meet an amount, and
 * products are truncated.
 *
 * There are two calculators.  The default calculator compares only memory, although it adds and
 * subtracts all types.  When it rounds a resource, the result consists of the rounded memory, one
 * core if there is any memory, and zero for all other types.  The dominant calculator compares
 * shares of the cluster.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_CALCULATOR_H
#define YQ_CALCULATOR_H

#define YQ_MEMORY	0
#define YQ_VCORES	1

/* Maximum number of resource types. */
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

/* Is each amount of "a" at most the amount of "b"?  With both calculators, all types count. */
extern bool yq_amounts_fit_in(const YqCalculator *calculator, const int64 *a, const int64 *b);

/*
 * Compare "a" with "b", relative to the cluster: return a negative number, zero or a
 * positive number if "a" is smaller, equal or larger.
 */
extern int	yq_amounts_compare(const YqCalculator *calculator, const int64 *cluster,
							   const int64 *a, const int64 *b);

/* Return the smaller or the larger of two whole resources, or the first if they compare as equal. */
extern const int64 *yq_amounts_min(const YqCalculator *calculator, const int64 *cluster,
								   const int64 *a, const int64 *b);
extern const int64 *yq_amounts_max(const YqCalculator *calculator, const int64 *cluster,
								   const int64 *a, const int64 *b);

/* Does "a" fit in "b"?  Types that the calculator does not compare are ignored. */
extern bool yq_amounts_fit_in_by(const YqCalculator *calculator, const int64 *a, const int64 *b);

/* Add "a" to "to". */
extern void yq_amounts_add(const YqCalculator *calculator, int64 *to, const int64 *a);

/* Subtract "a" from "to".  yq_amounts_subtract_to_none() stops at 0, so no amount becomes negative. */
extern void yq_amounts_subtract(const YqCalculator *calculator, int64 *to, const int64 *a);
extern void yq_amounts_subtract_to_none(const YqCalculator *calculator, int64 *to, const int64 *a);

/* Set each amount of "to" to the smaller, or to the larger, of "to" and "a". */
extern void yq_amounts_lower_each(const YqCalculator *calculator, int64 *to, const int64 *a);
extern void yq_amounts_raise_each(const YqCalculator *calculator, int64 *to, const int64 *a);

/* Return how many containers of size "b" fit in "a".  Types that the calculator does not compare are ignored. */
extern int64 yq_amounts_available_containers(const YqCalculator *calculator, const int64 *a, const int64 *b);

/* Is any amount above zero?  Types that the calculator does not compare are ignored. */
extern bool yq_amounts_any_above_none(const YqCalculator *calculator, const int64 *a);

/* Is any amount zero or negative?  Types that the calculator does not compare are ignored. */
extern bool yq_amounts_any_none_or_below(const YqCalculator *calculator, const int64 *a);

/*
 * Return "a" / "b": the quotient of the memory amounts or, with the dominant calculator, of
 * the largest shares.  The result may be infinite.  With the dominant calculator, 0 / 0
 * is NaN.
 */
extern float4 yq_amounts_divide(const YqCalculator *calculator, const int64 *cluster,
								const int64 *a, const int64 *b);

/*
 * Return the share of "b" that "a" takes: the share of memory, or the largest share of all
 * types. 0 / 0 is 0.  The result may be infinite.
 */
extern float4 yq_amounts_ratio(const YqCalculator *calculator, const int64 *a, const int64 *b);

/* Set "result" to "a" / "by", rounded up, or to zero if "by" is 0.  "result" and "a" may be the same array. */
extern void yq_amounts_divide_and_ceil(const YqCalculator *calculator, int64 *result,
									   const int64 *a, float4 by);
extern void yq_amounts_divide_by_integer_and_ceil(const YqCalculator *calculator, int64 *result,
												  const int64 *a, int64 by);

/* Set "result" to "a" * "by", truncated.  "result" and "a" may be the same array. */
extern void yq_amounts_multiply(const YqCalculator *calculator, int64 *result,
								const int64 *a, double by);

/* Set "result" to "a" * "by", rounded up or down to a multiple of "step".  "result" and "a" may be the same array. */
extern void yq_amounts_multiply_and_normalize_up(const YqCalculator *calculator, int64 *result,
												 const int64 *a, double by, const int64 *step);
extern void yq_amounts_multiply_and_normalize_down(const YqCalculator *calculator, int64 *result,
												   const int64 *a, double by, const int64 *step);

/*
 * Set "result" to the product of "a" and "by", type by type, rounded up to an integer.
 * "result" and "a" may be the same array.  The product is not computed as a 32-bit float,
 * unlike the product in yq_amounts_multiply_and_normalize_up().
 */
extern void yq_amounts_multiply_each_and_normalize_up(const YqCalculator *calculator, int64 *result,
													  const int64 *a, const float4 *by);

/* Set "result" to "a", rounded up or down to a multiple of "step".  "result" and "a" may be the same array. */
extern void yq_amounts_round_up(const YqCalculator *calculator, int64 *result,
								const int64 *a, const int64 *step);
extern void yq_amounts_round_down(const YqCalculator *calculator, int64 *result,
								  const int64 *a, const int64 *step);

#endif							/* YQ_CALCULATOR_H */
