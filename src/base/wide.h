/*-------------------------------------------------------------------------
 *
 * wide.h
 *	  Exact fixed-point arithmetic of money, and conversion of its amounts from and to
 *	  numerics.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_WIDE_H
#define YQ_WIDE_H

#include "utils/numeric.h"

/* -- wide ---------------------------------------------------------------------- */

/*
 * A YqWide is a signed 384-bit integer.  An amount of money is a number of units of 10^-68 credits.
 *
 * An exact amount has at most 66 decimals (docs/design.md 1.2, 3).  The price contributes 18 and the
 * seconds 6 of them.  Each of the six dimensions of price factors contributes 6, and the factor of a
 * wait contributes 6.  A digit of a numeric stands for four decimals, and 68 is the next multiple of
 * four.  A price is an unsigned 128-bit integer that counts units of 10^-18 credits.
 *
 * A million containers of 1 TB cost about 10^27 credits over ten years at a price of a million
 * credits.  This is 2^316 units, which fits.  A value that does not fit raises
 * ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE; the result is never wrong.
 *
 * Only yq_price_form and yq_divide_half_even round.
 */

#define YQ_WIDE_LIMBS 6

/* Number of decimals of a price and of an amount. */
#define YQ_PRICE_DECIMALS 18
#define YQ_AMOUNT_DECIMALS 68

/*
 * A price in units of 10^-18 credits per native unit and second.  The type is the server's
 * uint128. palloc aligns memory for this type.
 */
typedef uint128 YqPrice;

/* Two's complement, least significant limb first. */
typedef struct YqWide
{
	uint64		limb[YQ_WIDE_LIMBS];
} YqWide;

/* A non-negative decimal number: digits * 10^-decimals. */
typedef struct YqDecimal
{
	YqPrice		digits;
	int			decimals;
} YqDecimal;

static inline bool
yq_wide_is_zero(const YqWide *a)
{
	uint64		any = 0;

	for (int i = 0; i < YQ_WIDE_LIMBS; i++)
		any |= a->limb[i];
	return any == 0;
}

/*
 * A sum of amounts that fit cannot leave 384 bits within the lifetime of a server.  Additions are
 * therefore not checked.
 */
static inline void
yq_wide_add(YqWide *sum, const YqWide *a)
{
	YqPrice		carry = 0;

	for (int i = 0; i < YQ_WIDE_LIMBS; i++)
	{
		carry += (YqPrice) sum->limb[i] + a->limb[i];
		sum->limb[i] = (uint64) carry;
		carry >>= 64;
	}
}

static inline void
yq_wide_negate(YqWide *a)
{
	YqPrice		carry = 1;

	for (int i = 0; i < YQ_WIDE_LIMBS; i++)
	{
		carry += (YqPrice) ~a->limb[i];
		a->limb[i] = (uint64) carry;
		carry >>= 64;
	}
}

static inline void
yq_wide_subtract(YqWide *difference, const YqWide *a)
{
	YqWide		minus = *a;

	yq_wide_negate(&minus);
	yq_wide_add(difference, &minus);
}

/* Compute a * b.  Returns false when the product has more than 128 bits. */
static inline bool
yq_price_try_multiply(YqPrice a, uint64 b, YqPrice *product)
{
	YqPrice		low = (YqPrice) (uint64) a * b;
	YqPrice		high = (YqPrice) (uint64) (a >> 64) * b + (low >> 64);

	/* nearly all values of "a" are below 2^64 */
	if (likely(a >> 64 == 0))
	{
		*product = low;
		return true;
	}
	*product = high << 64 | (uint64) low;
	return high >> 64 == 0;
}

/* Compute sum += a * b, for accumulating price * time. */
static inline void
yq_wide_add_product(YqWide *sum, YqPrice a, uint64 b)
{
	YqPrice		low = (YqPrice) (uint64) a * b;
	YqPrice		high = (YqPrice) (uint64) (a >> 64) * b;
	bool		carry;

	low += sum->limb[0];
	high += (low >> 64) + sum->limb[1];
	sum->limb[0] = (uint64) low;
	sum->limb[1] = (uint64) high;
	carry = __builtin_add_overflow(sum->limb[2], (uint64) (high >> 64), &sum->limb[2]);
	for (int i = 3; i < YQ_WIDE_LIMBS && carry; i++)
		carry = (++sum->limb[i] == 0);
}

/*
 * Compute sum += a * b, where "a" is not negative and the sum stays below 2^383.  Computing a
 * balance of many classes spends most of its time here.  The loop is short for most amounts, which
 * fill at most half of their limbs.
 */
static inline void
yq_wide_add_multiple(YqWide *sum, const YqWide *a, uint64 b)
{
	YqPrice		carry = 0;
	int			used = YQ_WIDE_LIMBS;
	int			i;

	while (used > 0 && a->limb[used - 1] == 0)
		used--;
	for (i = 0; i < used; i++)
	{
		carry += (YqPrice) a->limb[i] * b + sum->limb[i];
		sum->limb[i] = (uint64) carry;
		carry >>= 64;
	}
	for (; carry != 0 && i < YQ_WIDE_LIMBS; i++)
	{
		carry += sum->limb[i];
		sum->limb[i] = (uint64) carry;
		carry >>= 64;
	}
}

/* Compare signed numbers: the result is negative, zero or positive. */
extern int	yq_wide_compare(const YqWide *a, const YqWide *b);

/* Compute a *= b.  Raises an error if the product does not fit. */
extern void yq_wide_multiply(YqWide *a, YqPrice b);

/* Compute a *= b.  If the product has more than 383 bits, returns false and leaves "a" unchanged. */
extern bool yq_wide_try_multiply(YqWide *a, YqPrice b);

/* Compute a *= 10^exponent, or return false as yq_wide_try_multiply() does.  The exponent is at least 0. */
extern bool yq_wide_try_scale(YqWide *a, int exponent);

/* Tell whether an amount fits. */
extern bool yq_wide_is_in_range(const YqWide *a);

/* Return 10^exponent, for 0 <= exponent <= 38. 10^38 is the largest power of ten that fits in a YqPrice. */
#define YQ_LARGEST_POWER_OF_TEN 38
extern YqPrice yq_power_of_ten(int exponent);

/*
 * Compute multiplier * base price / unit, rounded half to even to 18 decimals.  No
 * other function rounds prices (docs/design.md 1.2).
 */
extern YqPrice yq_price_form(YqDecimal multiplier, YqDecimal calendar_factor, YqDecimal base_price, int64 unit);

/* Compare a * b with c * d; the products may have any size.  The result is negative, zero or positive. */
extern int	yq_price_compare_products(YqPrice a, YqPrice b, YqPrice c, YqPrice d);

/*
 * Compute numerator / denominator with the given number of decimals.  The quotient is rounded only
 * once, half to even.  A zero denominator is ERRCODE_DIVISION_BY_ZERO.
 */
extern Numeric yq_divide_half_even(Numeric numerator, Numeric denominator, int decimals);

/* Raise the error for an amount out of range. */
pg_noreturn extern void yq_amount_out_of_range(void);

/* -- wide numeric -------------------------------------------------------------- */

/*
 * Convert amounts and prices from and to numerics.
 *
 * A value that does not fit is ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE.
 */

/* Convert amounts exactly; a numeric may have at most 68 decimals. */
extern Numeric yq_wide_to_numeric(const YqWide *a);
extern void yq_wide_from_numeric(YqWide *result, Numeric value);

/* Convert a finite, non-negative numeric with at most 24 decimals.  The digits must be below 2^127. */
extern YqDecimal yq_decimal_from_numeric(Numeric value);

/*
 * Check that the server stores some known values in the format that this file expects.  Another
 * format raises ERRCODE_FEATURE_NOT_SUPPORTED.
 */
extern void yq_wide_numeric_check(void);

#endif							/* YQ_WIDE_H */
