/*-------------------------------------------------------------------------
 *
 * wide.c
 *	  Exact fixed-point arithmetic of money, and conversion of its amounts from and to
 *	  numerics.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "base/wide.h"
#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"

/* -- wide ---------------------------------------------------------------------- */

/* The largest number of decimals of a YqDecimal. */
#define YQ_DECIMAL_MAX_SCALE 24

/* The largest number of decimals of a calendar factor. */
#define YQ_CALENDAR_DECIMALS 6

static inline bool
yq_wide_is_negative(const YqWide *a)
{
	return (int64) a->limb[YQ_WIDE_LIMBS - 1] < 0;
}

/* Valid amounts are below 2 to this power. */
#define YQ_AMOUNT_BITS 338

/* Compute a = a * b, where b has one limb.  Returns the carry. */
static inline uint64
yq_wide_multiply_limb(YqWide *a, uint64 b)
{
	YqPrice		carry = 0;

	for (int i = 0; i < YQ_WIDE_LIMBS; i++)
	{
		carry += (YqPrice) a->limb[i] * b;
		a->limb[i] = (uint64) carry;
		carry >>= 64;
	}
	return (uint64) carry;
}

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

bool
yq_wide_try_scale(YqWide *a, int exponent)
{
	for (; exponent > YQ_LARGEST_POWER_OF_TEN; exponent -= YQ_LARGEST_POWER_OF_TEN)
	{
		if (!yq_wide_try_multiply(a, yq_power_of_ten(YQ_LARGEST_POWER_OF_TEN)))
			return false;
	}
	return yq_wide_try_multiply(a, yq_power_of_ten(exponent));
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

/* Compute numerator / denominator, rounded half to even.  Both are below 2^128. */
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

/* Divide a number by a small one in place; returns the remainder. */
static uint32
divide_wide_by_small(YqWide *number, uint32 divisor)
{
	YqPrice		remainder = 0;

	for (int i = YQ_WIDE_LIMBS - 1; i >= 0; i--)
	{
		remainder = (remainder << 64) | number->limb[i];
		number->limb[i] = (uint64) (remainder / divisor);
		remainder %= divisor;
	}
	return (uint32) remainder;
}

/*
 * Divide a numerator of more than 128 bits and round half-even, by long division bit by bit.  The divisor is
 * denominator * 10^zeros; "denominator" is below 2^127.
 */
static YqPrice
divide_wide_half_even(const YqWide *numerator, YqPrice denominator, int zeros)
{
	uint32		divisor = (uint32) yq_power_of_ten(zeros);
	uint32		upper_remainder;
	YqWide		quotient = {{0}};
	YqPrice		remainder = 0;
	YqPrice		low;
	bool		is_above_half;
	bool		is_half;

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
	upper_remainder = divide_wide_by_small(&quotient, divisor);
	if ((quotient.limb[1] >> 63) != 0 ||
		(quotient.limb[2] | quotient.limb[3] | quotient.limb[4] | quotient.limb[5]) != 0)
		yq_amount_out_of_range();
	low = ((YqPrice) quotient.limb[1] << 64) | quotient.limb[0];

	/* the whole remainder is upper_remainder * denominator + remainder */
	if (zeros > 0)
		is_above_half = upper_remainder > divisor / 2 || (upper_remainder == divisor / 2 && remainder > 0);
	else
		is_above_half = remainder > denominator - remainder;
	is_half = zeros > 0 ? upper_remainder == divisor / 2 && remainder == 0 : remainder == denominator - remainder;
	if (is_above_half || (is_half && (low & 1) != 0))
		low++;
	return low;
}

YqPrice
yq_price_form(YqDecimal multiplier, YqDecimal calendar_factor, YqDecimal base_price, int64 unit)
{
	int			decimals = multiplier.decimals + calendar_factor.decimals + base_price.decimals;
	YqWide		numerator = {{(uint64) multiplier.digits,
	(uint64) (multiplier.digits >> 64)}};
	YqPrice		denominator = unit;
	int			zeros = 0;
	YqPrice		product;

	Assert(unit > 0);
	/* nearly all prices have few decimals */
	if (decimals <= YQ_PRICE_DECIMALS &&
		!__builtin_mul_overflow(multiplier.digits, base_price.digits, &product) &&
		!__builtin_mul_overflow(product, calendar_factor.digits, &product) &&
		!__builtin_mul_overflow(product, yq_power_of_ten(YQ_PRICE_DECIMALS - decimals), &product))
		return divide_half_even(product, denominator);

	yq_wide_multiply(&numerator, base_price.digits);
	yq_wide_multiply(&numerator, calendar_factor.digits);
	if (decimals <= YQ_PRICE_DECIMALS)
		yq_wide_multiply(&numerator, yq_power_of_ten(YQ_PRICE_DECIMALS - decimals));
	else
	{
		/*
		 * The multiplier and the base price have at most 18 decimals each, and the calendar factor
		 * has at most 6.  The factor 10^zeros is kept apart, so the denominator is at most 2^123.
		 */
		if (decimals > 2 * YQ_PRICE_DECIMALS + YQ_CALENDAR_DECIMALS)
			yq_amount_out_of_range();
		zeros = Max(decimals - 2 * YQ_PRICE_DECIMALS, 0);
		denominator *= yq_power_of_ten(decimals - YQ_PRICE_DECIMALS - zeros);
	}

	if (zeros == 0 && (numerator.limb[2] | numerator.limb[3] | numerator.limb[4] | numerator.limb[5]) == 0)
		return divide_half_even(((YqPrice) numerator.limb[1] << 64) | numerator.limb[0],
								denominator);
	return divide_wide_half_even(&numerator, denominator, zeros);
}

/* Compute the product a * b as a high and a low half. */
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

/* Return 10^exponent as an exact numeric.  The exponent may be negative. */
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

	/* compare twice |rest| with |denominator|, because |rest| < |denominator| */
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

/* -- wide numeric -------------------------------------------------------------- */

/*
 * Convert amounts and prices from and to numerics.
 *
 * The functions read and write the stored form of numerics, because its base-10000 digits match
 * the 68 decimals of an amount.  The server does not document the format (see numeric.c), but
 * pg_upgrade preserves it.  No other file of yquota depends on the format.  On a server with
 * another format, the library cannot be loaded.
 */

#define NUMERIC_BASE 10000
#define AMOUNT_FRACTION_DIGITS (YQ_AMOUNT_DECIMALS / 4)

/* The largest number of base-10000 digits of a 384-bit integer (116 decimals). */
#define MAX_DIGITS 32

/*
 * The header has one word (short) or two words.  The digits follow, the highest first.  A short
 * header can store up to 63 decimals and a weight of 7 bits.  Such a weight suffices for every
 * amount.
 */
#define SHORT_HEADER 0x8000
#define SHORT_MAX_DECIMALS 63
#define SHORT_NEGATIVE 0x2000
#define SHORT_DECIMALS_SHIFT 7
#define SHORT_WEIGHT_SIGN 0x0040
#define SHORT_WEIGHT_MASK 0x007F
#define LONG_SIGN_MASK 0xC000
#define LONG_NEGATIVE 0x4000

typedef struct StoredDigits
{
	bool		negative;
	int			weight;			/* number of base-10000 digits before the point, less one */
	int			count;
	const int16 *digits;
} StoredDigits;

/*
 * Compute a = a / divisor for a non-negative "a", and return the remainder.  The function divides
 * half a limb at a time, because processors divide 64 bits much faster than 128 bits.
 */
static uint32
divide_small(YqWide *a, uint32 divisor)
{
	uint64		remainder = 0;

	for (int i = YQ_WIDE_LIMBS - 1; i >= 0; i--)
	{
		uint64		high;
		uint64		low;

		if (remainder == 0 && a->limb[i] == 0)
			continue;
		high = (remainder << 32) | (a->limb[i] >> 32);
		low = ((high % divisor) << 32) | (uint32) a->limb[i];
		a->limb[i] = (high / divisor) << 32 | low / divisor;
		remainder = low % divisor;
	}
	return (uint32) remainder;
}

/*
 * Divide a non-negative integer by 10^16.  Returns false, and leaves the integer unchanged, if
 * there is a remainder.  The function divides by 2^16 and then by 5^16.  The division by 5^16
 * begins with the lowest limb.  Each limb of the quotient is a product with the inverse of 5^16
 * modulo 2^64.
 */
static bool
try_divide_exactly(YqWide *a)
{
	const uint64 divisor = UINT64CONST(152587890625);
	const uint64 inverse = UINT64CONST(0xE4A4D1417CD9A041);
	YqWide		quotient;
	uint64		carry = 0;

	if ((a->limb[0] & 0xFFFF) != 0)
		return false;
	for (int i = 0; i < YQ_WIDE_LIMBS; i++)
	{
		uint64		next = i + 1 < YQ_WIDE_LIMBS ? a->limb[i + 1] : 0;
		uint64		limb = a->limb[i] >> 16 | next << 48;

		quotient.limb[i] = (limb - carry) * inverse;
		carry = (uint64) ((YqPrice) quotient.limb[i] * divisor >> 64) + (limb < carry);
	}
	if (carry == 0)
		*a = quotient;
	return carry == 0;
}

/*
 * Convert a non-negative integer to base-10000 digits, the lowest first, and return their number.
 * Most amounts have fewer decimals than the format allows.
 */
static int
wide_to_digits(YqWide a, int16 *digits)
{
	int			count = 0;

	for (; !yq_wide_is_zero(&a) && try_divide_exactly(&a); count += 4)
		memset(&digits[count], 0, sizeof(int16) * 4);
	while (!yq_wide_is_zero(&a))
	{
		uint32		pair = divide_small(&a, NUMERIC_BASE * NUMERIC_BASE);

		digits[count++] = (int16) (pair % NUMERIC_BASE);
		digits[count++] = (int16) (pair / NUMERIC_BASE);
	}
	while (count > 0 && digits[count - 1] == 0)
		count--;
	return count;
}

/* Return the number of decimals of a fraction.  Its last nonzero digit is "digits[lowest]". */
static int
fraction_decimals(const int16 *digits, int lowest)
{
	int			decimals = (AMOUNT_FRACTION_DIGITS - lowest) * 4;

	if (decimals <= 0)
		return 0;
	for (int16 digit = digits[lowest]; digit % 10 == 0; digit /= 10)
		decimals--;
	return decimals;
}

Numeric
yq_wide_to_numeric(const YqWide *a)
{
	bool		negative = yq_wide_is_negative(a);
	YqWide		absolute = *a;
	int16		digits[MAX_DIGITS];
	int			count;
	int			lowest = 0;
	int			decimals = 0;
	int			header = 1;
	uint16	   *stored;
	uint16	   *words;

	StaticAssertStmt(MAX_DIGITS < 64, "the weight of an amount fits a short header");
	if (negative)
		yq_wide_negate(&absolute);
	count = wide_to_digits(absolute, digits);
	while (lowest < count && digits[lowest] == 0)
		lowest++;
	if (count > 0)
		decimals = fraction_decimals(digits, lowest);
	if (decimals > SHORT_MAX_DECIMALS)
		header = 2;

	stored = palloc(VARHDRSZ + sizeof(uint16) * (header + count - lowest));
	SET_VARSIZE(stored, VARHDRSZ + sizeof(uint16) * (header + count - lowest));
	words = (uint16 *) VARDATA(stored);
	if (header == 2)
	{
		*words = (negative ? LONG_NEGATIVE : 0) | decimals;
		*++words = (uint16) (count - 1 - AMOUNT_FRACTION_DIGITS);
	}
	else
	{
		*words = SHORT_HEADER;
		if (count > 0)
			*words |= (negative ? SHORT_NEGATIVE : 0) | decimals << SHORT_DECIMALS_SHIFT |
				((count - 1 - AMOUNT_FRACTION_DIGITS) & SHORT_WEIGHT_MASK);
	}
	for (int i = count - 1; i >= lowest; i--)
		*++words = digits[i];
	return (Numeric) stored;
}

/* Return the digits of a finite numeric, without copying them. */
static StoredDigits
stored_digits(Numeric value)
{
	const uint16 *words = (const uint16 *) VARDATA(value);
	bool		is_short = (words[0] & SHORT_HEADER) != 0;
	int			header = is_short ? 1 : 2;
	StoredDigits stored;

	stored.negative = is_short ? (words[0] & SHORT_NEGATIVE) != 0 :
		(words[0] & LONG_SIGN_MASK) == LONG_NEGATIVE;
	stored.weight = is_short ? (words[0] & SHORT_WEIGHT_MASK) : (int16) words[1];
	if (is_short && (words[0] & SHORT_WEIGHT_SIGN) != 0)
		stored.weight -= SHORT_WEIGHT_MASK + 1;
	stored.count = (VARSIZE(value) - VARHDRSZ) / sizeof(uint16) - header;
	stored.digits = (const int16 *) words + header;
	return stored;
}

/*
 * Read a numeric as an integer number of units of 10^-decimals.  "decimals" is a multiple of four.
 * Returns false when the numeric has more decimals, is not finite, or does not fit.
 */
static bool
numeric_to_wide(YqWide *result, Numeric value, int decimals)
{
	StoredDigits stored;
	int			exponent;
	bool		fits = true;

	memset(result, 0, sizeof(*result));
	if (numeric_is_nan(value) || numeric_is_inf(value))
		return false;
	stored = stored_digits(value);
	exponent = stored.weight + decimals / 4 + 1;

	/* "exponent" counts base-10000 digits, each of which stands for four decimals */
	if (stored.count > 0 && stored.count > exponent)
		fits = false;
	for (int place = 0; fits && stored.count > 0 && place < exponent;)
	{
		YqWide		step = {{0}};
		uint64		scale = 1;

		for (int i = 0; i < 4 && place < exponent; i++, place++)
		{
			step.limb[0] = step.limb[0] * NUMERIC_BASE +
				(place < stored.count ? stored.digits[place] : 0);
			scale *= NUMERIC_BASE;
		}
		fits = yq_wide_multiply_limb(result, scale) == 0 &&
			(result->limb[YQ_WIDE_LIMBS - 1] >> 62) == 0;
		yq_wide_add(result, &step);
	}

	if (stored.negative)
		yq_wide_negate(result);
	return fits;
}

void
yq_wide_from_numeric(YqWide *result, Numeric value)
{
	if (!numeric_to_wide(result, value, YQ_AMOUNT_DECIMALS))
		yq_amount_out_of_range();
}

YqDecimal
yq_decimal_from_numeric(Numeric value)
{
	YqDecimal	decimal = {0, 0};
	StoredDigits stored;
	int			decimals;
	bool		fits;

	if (numeric_is_nan(value) || numeric_is_inf(value))
		yq_amount_out_of_range();
	stored = stored_digits(value);
	decimals = (stored.count - 1 - stored.weight) * 4;
	fits = !stored.negative;

	for (int i = 0; fits && i < stored.count; i++)
	{
		int			digit = stored.digits[i];
		int			scale = NUMERIC_BASE;

		/* the last base-10000 digit is not zero, so at most three decimal zeros have to be dropped */
		for (; i == stored.count - 1 && decimals > 0 && digit % 10 == 0; decimals--)
		{
			digit /= 10;
			scale /= 10;
		}
		fits = !__builtin_mul_overflow(decimal.digits, (YqPrice) scale, &decimal.digits) &&
			!__builtin_add_overflow(decimal.digits, (YqPrice) digit, &decimal.digits);
	}
	for (; fits && stored.count > 0 && decimals < 0; decimals += 4)
		fits = !__builtin_mul_overflow(decimal.digits, (YqPrice) NUMERIC_BASE, &decimal.digits);
	if (!fits || decimals > YQ_DECIMAL_MAX_SCALE || (decimal.digits >> 127) != 0)
		yq_amount_out_of_range();
	decimal.decimals = stored.count > 0 ? decimals : 0;
	return decimal;
}

/* -- the check ------------------------------------------------------------- */

static Numeric
numeric_of_text(const char *text)
{
	return DatumGetNumeric(DirectFunctionCall3(numeric_in, CStringGetDatum(text),
											   ObjectIdGetDatum(InvalidOid), Int32GetDatum(-1)));
}

/* Tell whether the server and this file convert a text to the same value with the same stored bytes. */
static bool
is_understood(const char *text)
{
	Numeric		theirs = numeric_of_text(text);
	YqWide		amount;
	YqWide		again;
	Numeric		ours;

	if (!numeric_to_wide(&amount, theirs, YQ_AMOUNT_DECIMALS))
		return false;
	ours = yq_wide_to_numeric(&amount);
	return VARSIZE(ours) == VARSIZE(theirs) && memcmp(ours, theirs, VARSIZE(ours)) == 0 &&
		DatumGetBool(DirectFunctionCall2(numeric_eq, NumericGetDatum(ours), NumericGetDatum(theirs))) &&
		numeric_to_wide(&again, ours, YQ_AMOUNT_DECIMALS) && yq_wide_compare(&again, &amount) == 0;
}

/*
 * Tell whether the text stands for the given number of units of 10^-68.  The given number has
 * no sign; it counts as negative if the text begins with a minus sign.
 */
static bool
is_read_as(const char *text, uint64 low, uint64 high)
{
	YqWide		expected = {{low, high}};
	YqWide		found;

	if (text[0] == '-')
		yq_wide_negate(&expected);
	return numeric_to_wide(&found, numeric_of_text(text), YQ_AMOUNT_DECIMALS) &&
		yq_wide_compare(&found, &expected) == 0;
}

void
yq_wide_numeric_check(void)
{
	static const char *const amounts[] = {"0", "1", "-1", "9999", "10000", "-10000.0001", "0.5", "-0.00001",
		"123456789012345678901234567890.098765432109876543210987654321",
		"-0.000000000000000000000000000000000000000000000000000000000000001", "-0.0000000000000000000000000000000000000000000000000000000000000001", "0.00000000000000000000000000000000000000000000000000000000000000000001",
	"900000000000000000000000000000000000000000.12345678901234567890123456789012345678901234567890123456789012345678"};
	YqDecimal	decimal;
	bool		is_known = true;

	for (int i = 0; i < (int) lengthof(amounts); i++)
		is_known = is_known && is_understood(amounts[i]);
	/* the headers of these values have two words, because a short header cannot store so many decimals */
	is_known = is_known &&
		is_read_as("0.00000000000000000000000000000000000000000000000000000000000000000007000000000000", 7, 0) &&
		is_read_as("-0.00000000000000000000000000000000000000000000000000000000000000000007000000000000", 7, 0) &&
		is_read_as("0.0000000000000000000000000000000000001", UINT64CONST(13875954555633532928), UINT64CONST(542101086242)) &&
		is_read_as("0.000000000000000000000000000000000001", UINT64CONST(9632337040368467968), UINT64CONST(5421010862427));
	if (is_known)
	{
		decimal = yq_decimal_from_numeric(numeric_of_text("1024.0625"));
		is_known = (decimal.digits == 10240625 && decimal.decimals == 4);
	}
	if (!is_known)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("this server stores values of type numeric in a format that yquota does not know"),
				 errdetail("Amounts would be read and written incorrectly."),
				 errhint("Use a version of yquota that supports this version of PostgreSQL.")));
}
