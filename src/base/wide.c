/*-------------------------------------------------------------------------
 *
 * wide.c
 *	  Exact fixed-point arithmetic of money: products and division.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "base/wide.h"
#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"

void
yq_amount_out_of_range(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
			 errmsg("amount of credits is out of range")));
}

int
yq_wide_compare(const YqWide *a, const YqWide *b)
{
	YqWide		difference = *a;

	yq_wide_subtract(&difference, b);
	if (yq_wide_is_zero(&difference))
		return 0;
	return yq_wide_is_negative(&difference) ? -1 : 1;
}

YqPrice
yq_power_of_ten(int exponent)
{
	static const uint64 powers[] = {
		UINT64CONST(1), UINT64CONST(10), UINT64CONST(100), UINT64CONST(1000), UINT64CONST(10000),
		UINT64CONST(100000), UINT64CONST(1000000), UINT64CONST(10000000), UINT64CONST(100000000),
		UINT64CONST(1000000000), UINT64CONST(10000000000), UINT64CONST(100000000000),
		UINT64CONST(1000000000000), UINT64CONST(10000000000000), UINT64CONST(100000000000000),
		UINT64CONST(1000000000000000), UINT64CONST(10000000000000000),
		UINT64CONST(100000000000000000), UINT64CONST(1000000000000000000),
		UINT64CONST(10000000000000000000)
	};
	const int	highest = lengthof(powers) - 1;

	Assert(exponent >= 0 && exponent <= 2 * highest);
	return exponent <= highest ? powers[exponent] : (YqPrice) powers[highest] * powers[exponent - highest];
}

bool
yq_wide_try_multiply(YqWide *a, YqPrice b)
{
	bool		negative = yq_wide_is_negative(a);
	uint64		high = (uint64) (b >> 64);
	YqWide		absolute = *a;
	YqWide		low_product;
	uint64		lost;

	if (negative)
		yq_wide_negate(&absolute);

	low_product = absolute;
	lost = yq_wide_multiply_limb(&low_product, (uint64) b);
	if (high != 0)
	{
		YqWide		high_product = absolute;

		lost |= yq_wide_multiply_limb(&high_product, high);
		lost |= high_product.limb[YQ_WIDE_LIMBS - 1];
		memmove(&high_product.limb[1], &high_product.limb[0],
				sizeof(uint64) * (YQ_WIDE_LIMBS - 1));
		high_product.limb[0] = 0;
		lost |= high_product.limb[YQ_WIDE_LIMBS - 1] >> 62;
		lost |= low_product.limb[YQ_WIDE_LIMBS - 1] >> 62;
		yq_wide_add(&low_product, &high_product);
	}
	if (lost != 0 || yq_wide_is_negative(&low_product))
		return false;

	*a = low_product;
	if (negative)
		yq_wide_negate(a);
	return true;
}

void
yq_wide_multiply(YqWide *a, YqPrice b)
{
	if (!yq_wide_try_multiply(a, b))
		yq_amount_out_of_range();
}

bool
yq_wide_is_in_range(const YqWide *a)
{
	YqWide		absolute = *a;

	StaticAssertStmt(YQ_AMOUNT_BITS / 64 == YQ_WIDE_LIMBS - 1,
					 "the highest limb tells whether an amount fits");
	if (yq_wide_is_negative(a))
		yq_wide_negate(&absolute);
	return absolute.limb[YQ_WIDE_LIMBS - 1] >> (YQ_AMOUNT_BITS % 64) == 0;
}

/* numerator / denominator rounded half to even, both below 2^128. */
static YqPrice
divide_half_even(YqPrice numerator, YqPrice denominator)
{
	YqPrice		quotient = numerator / denominator;
	YqPrice		remainder = numerator % denominator;
	YqPrice		rest = denominator - remainder;

	if (remainder > rest || (remainder == rest && (quotient & 1) != 0))
		quotient++;
	return quotient;
}

/*
 * The same for a numerator that needs more than 128 bits, by long division bit
 * by bit; the denominator stays below 2^127.
 */
static YqPrice
divide_wide_half_even(const YqWide *numerator, YqPrice denominator)
{
	YqWide		quotient = {{0}};
	YqPrice		remainder = 0;
	YqPrice		low;

	for (int bit = YQ_WIDE_LIMBS * 64 - 1; bit >= 0; bit--)
	{
		remainder = (remainder << 1) |
			((numerator->limb[bit / 64] >> (bit % 64)) & 1);
		if (remainder >= denominator)
		{
			remainder -= denominator;
			quotient.limb[bit / 64] |= UINT64CONST(1) << (bit % 64);
		}
	}
	if ((quotient.limb[1] >> 63) != 0 ||
		(quotient.limb[2] | quotient.limb[3] | quotient.limb[4] | quotient.limb[5]) != 0)
		yq_amount_out_of_range();
	low = ((YqPrice) quotient.limb[1] << 64) | quotient.limb[0];
	if (remainder > denominator - remainder ||
		(remainder == denominator - remainder && (low & 1) != 0))
		low++;
	return low;
}

YqPrice
yq_price_form(YqDecimal multiplier, YqDecimal base_price, int64 unit)
{
	int			decimals = multiplier.decimals + base_price.decimals;
	YqWide		numerator = {{(uint64) multiplier.digits,
	(uint64) (multiplier.digits >> 64)}};
	YqPrice		denominator = unit;

	YqPrice		product;

	Assert(unit > 0);
	/* nearly all prices have few decimals */
	if (decimals <= YQ_PRICE_DECIMALS &&
		!__builtin_mul_overflow(multiplier.digits, base_price.digits, &product) &&
		!__builtin_mul_overflow(product, yq_power_of_ten(YQ_PRICE_DECIMALS - decimals), &product))
		return divide_half_even(product, denominator);

	yq_wide_multiply(&numerator, base_price.digits);
	if (decimals <= YQ_PRICE_DECIMALS)
		yq_wide_multiply(&numerator, yq_power_of_ten(YQ_PRICE_DECIMALS - decimals));
	else
	{
		/* Both have at most 18 decimals, so this is at most 2^60 * 2^63. */
		if (decimals > 2 * YQ_PRICE_DECIMALS)
			yq_amount_out_of_range();
		denominator *= yq_power_of_ten(decimals - YQ_PRICE_DECIMALS);
	}

	if ((numerator.limb[2] | numerator.limb[3] | numerator.limb[4] | numerator.limb[5]) == 0)
		return divide_half_even(((YqPrice) numerator.limb[1] << 64) | numerator.limb[0],
								denominator);
	return divide_wide_half_even(&numerator, denominator);
}

/* a x b as high and low half. */
static void
multiply_prices(YqPrice a, YqPrice b, YqPrice *high, YqPrice *low)
{
	YqPrice		a_low = (uint64) a;
	YqPrice		b_low = (uint64) b;
	YqPrice		lowest = a_low * b_low;
	YqPrice		middle = (a >> 64) * b_low + (lowest >> 64);
	YqPrice		other_middle = a_low * (b >> 64) + (uint64) middle;

	*high = (a >> 64) * (b >> 64) + (middle >> 64) + (other_middle >> 64);
	*low = (other_middle << 64) | (uint64) lowest;
}

int
yq_price_compare_products(YqPrice a, YqPrice b, YqPrice c, YqPrice d)
{
	YqPrice		high1,
				low1,
				high2,
				low2;

	if (((a | b | c | d) >> 64) == 0)
	{
		low1 = a * b;
		low2 = c * d;
		return low1 < low2 ? -1 : low1 > low2;
	}
	multiply_prices(a, b, &high1, &low1);
	multiply_prices(c, d, &high2, &low2);
	if (high1 != high2)
		return high1 < high2 ? -1 : 1;
	return low1 < low2 ? -1 : low1 > low2;
}

static Numeric
call_numeric(PGFunction function, Numeric a, Numeric b)
{
	return DatumGetNumeric(DirectFunctionCall2(function, NumericGetDatum(a),
											   NumericGetDatum(b)));
}

static int
compare_numeric(Numeric a, Numeric b)
{
	return DatumGetInt32(DirectFunctionCall2(numeric_cmp, NumericGetDatum(a),
											 NumericGetDatum(b)));
}

/* 10^exponent as a numeric, exactly; the exponent may be negative. */
static Numeric
numeric_power_of_ten(int exponent)
{
	char		text[16];

	snprintf(text, sizeof(text), "1e%d", exponent);
	return DatumGetNumeric(DirectFunctionCall3(numeric_in, CStringGetDatum(text),
											   ObjectIdGetDatum(InvalidOid),
											   Int32GetDatum(-1)));
}

Numeric
yq_divide_half_even(Numeric numerator, Numeric denominator, int decimals)
{
	Numeric		zero = int64_to_numeric(0);
	Numeric		one = int64_to_numeric(1);
	Numeric		two = int64_to_numeric(2);
	Numeric		scaled = call_numeric(numeric_mul, numerator, numeric_power_of_ten(decimals));
	Numeric		quotient = call_numeric(numeric_div_trunc, scaled, denominator);
	Numeric		rest = call_numeric(numeric_sub, scaled,
									call_numeric(numeric_mul, quotient, denominator));
	bool		negative = compare_numeric(scaled, zero) * compare_numeric(denominator, zero) < 0;
	Numeric		twice;
	int			order;

	/* |rest| < |denominator|: compare twice the rest with the whole */
	twice = DatumGetNumeric(DirectFunctionCall1(numeric_abs,
												NumericGetDatum(call_numeric(numeric_mul, rest, two))));
	order = compare_numeric(twice,
							DatumGetNumeric(DirectFunctionCall1(numeric_abs,
																NumericGetDatum(denominator))));
	if (order > 0 ||
		(order == 0 && compare_numeric(call_numeric(numeric_mod, quotient, two), zero) != 0))
		quotient = call_numeric(negative ? numeric_sub : numeric_add, quotient, one);
	return call_numeric(numeric_mul, quotient, numeric_power_of_ten(-decimals));
}
