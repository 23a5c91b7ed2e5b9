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
 * A YqWide is a signed 384-bit integer.  As an amount of money it counts units of 10^-68 credits.  An exact
 * amount has at most 66 decimals (docs/design.md 1.2, 3).  A price has 18, a second 6, each of the six
 * dimensions of price factors 6, and the factor of a wait 6.  The next multiple of 4, the decimals in a digit
 * of a numeric, is 68.  A price is an unsigned 128-bit integer that counts 10^-18 credits.
 *
 * A million containers of 1 TB over ten years at a price of a million credits come to about 10^27 credits.
 * This is 2^316 units, which fits.  A value that does not fit is ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE, never a
 * wrong sum.
 *
 * Nothing here rounds except yq_price_form and yq_divide_half_even.
 */

#define YQ_WIDE_LIMBS 6

/* Decimals of a price and of an amount. */
#define YQ_PRICE_DECIMALS 18
#define YQ_AMOUNT_DECIMALS 68

/*
 * A price in units of 10^-18 credits per native unit and second.  It is the server's
 * type uint128, whose alignment palloc provides.
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
 * Sums of amounts that fit cannot leave 384 bits within the lifetime of a
 * server, so additions are not checked.
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
 * Compute sum += a * b, where "a" is not negative and the sum stays below 2^383.  Most
 * amounts fill at most half of their limbs, and computing a balance of many classes
 * spends most of its time here.
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

/* Compute a *= b.  A product that does not fit is an error. */
extern void yq_wide_multiply(YqWide *a, YqPrice b);

/* Compute a *= b.  Returns false, and leaves "a" unchanged, when the product has more than 383 bits. */
extern bool yq_wide_try_multiply(YqWide *a, YqPrice b);

/* Compute a *= 10^exponent likewise, for any exponent from 0 on. */
extern bool yq_wide_try_scale(YqWide *a, int exponent);

/* Tell whether an amount fits. */
extern bool yq_wide_is_in_range(const YqWide *a);

/* Return 10^exponent, for 0 <= exponent <= 38, the largest power of ten that fits a YqPrice. */
#define YQ_LARGEST_POWER_OF_TEN 38
extern YqPrice yq_power_of_ten(int exponent);

/*
 * Compute multiplier * base price / unit, rounded half to even to 18 decimals.  No
 * other function rounds prices (docs/design.md 1.2).
 */
extern YqPrice yq_price_form(YqDecimal multiplier, YqDecimal calendar_factor, YqDecimal base_price, int64 unit);

/* Compare a * b with c * d, of any size: the result is negative, zero or positive. */
extern int	yq_price_compare_products(YqPrice a, YqPrice b, YqPrice c, YqPrice d);

/*
 * Compute numerator / denominator, rounded only once, half to even, to "decimals"
 * decimals.  A zero denominator is ERRCODE_DIVISION_BY_ZERO.
 */
extern Numeric yq_divide_half_even(Numeric numerator, Numeric denominator, int decimals);

/* Raise the error for an amount that does not fit. */
pg_noreturn extern void yq_amount_out_of_range(void);

/* -- wide numeric -------------------------------------------------------------- */

/*
 * Conversion of amounts and prices from and to numerics.
 *
 * A value that does not fit is ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE.
 */

/* Convert amounts exactly; a numeric may have at most 68 decimals. */
extern Numeric yq_wide_to_numeric(const YqWide *a);
extern void yq_wide_from_numeric(YqWide *result, Numeric value);

/* Convert a finite, non-negative numeric with at most 24 decimals.  The digits must be below 2^127. */
extern YqDecimal yq_decimal_from_numeric(Numeric value);

/*
 * Check that the server stores known values as this file expects.  Another format is
 * ERRCODE_FEATURE_NOT_SUPPORTED.
 */
extern void yq_wide_numeric_check(void);

#endif							/* YQ_WIDE_H */
