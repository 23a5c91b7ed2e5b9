/*-------------------------------------------------------------------------
 *
 * wide_numeric.c
 *	  Amounts and prices from and to numerics, as the server stores them.
 *
 * Numerics are taken apart and put together as they are stored: their base-10000
 * digits line up with the 56 decimals of an amount.  The server does not publish
 * the format (numeric.c), and pg_upgrade keeps it.  Nothing else in yquota knows
 * it, and a server that has another one is found when the library is loaded.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "base/wide_numeric.h"
#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"

#define NUMERIC_BASE 10000
#define AMOUNT_FRACTION_DIGITS (YQ_AMOUNT_DECIMALS / 4)

/* Most base-10000 digits of a 384-bit integer (116 decimals). */
#define MAX_DIGITS 32

/*
 * A header of one word (short) or two, then the digits, the highest first.  A
 * header of one word has at most 63 decimals and a weight of 7 bits, which every
 * amount fits.
 */
#define SHORT_HEADER 0x8000
#define SHORT_NEGATIVE 0x2000
#define SHORT_DECIMALS_SHIFT 7
#define SHORT_WEIGHT_SIGN 0x0040
#define SHORT_WEIGHT_MASK 0x007F
#define LONG_SIGN_MASK 0xC000
#define LONG_NEGATIVE 0x4000

typedef struct StoredDigits
{
	bool		negative;
	int			weight;			/* base-10000 places before the point, less one */
	int			count;
	const int16 *digits;
} StoredDigits;

/*
 * a = a / divisor for non-negative a; returns the remainder.  Divides halves
 * of limbs, which a processor does much faster than whole ones.
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
 * Divide a non-negative integer by 10^16 if nothing is left over: by 2^16, then by
 * 5^16 from the lowest limb up, each limb of the quotient by the inverse modulo 2^64.
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
 * Cut a non-negative integer into base-10000 digits, least significant first;
 * returns their number.  Most amounts have fewer decimals than there is room for.
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

/* Decimals needed for the fraction whose last non-zero digit is "digits[lowest]". */
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
	uint16	   *stored;
	uint16	   *words;

	StaticAssertStmt(YQ_AMOUNT_DECIMALS < 64 && MAX_DIGITS < 64, "an amount fits a short header");
	if (negative)
		yq_wide_negate(&absolute);
	count = wide_to_digits(absolute, digits);
	while (lowest < count && digits[lowest] == 0)
		lowest++;

	stored = palloc(VARHDRSZ + sizeof(uint16) * (1 + count - lowest));
	SET_VARSIZE(stored, VARHDRSZ + sizeof(uint16) * (1 + count - lowest));
	words = (uint16 *) VARDATA(stored);
	*words = SHORT_HEADER;
	if (count > 0)
		*words |= (negative ? SHORT_NEGATIVE : 0) |
			fraction_decimals(digits, lowest) << SHORT_DECIMALS_SHIFT |
			((count - 1 - AMOUNT_FRACTION_DIGITS) & SHORT_WEIGHT_MASK);
	for (int i = count - 1; i >= lowest; i--)
		*++words = digits[i];
	return (Numeric) stored;
}

/* The digits of a finite numeric, in place. */
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
 * Read a numeric as an integer that counts 10^-decimals, decimals being a
 * multiple of four.  False when it has more decimals than that, is not finite
 * or does not fit.
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

	/* "exponent" counts the base-10000 places; four of them make a step */
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

		/* the last digit is not zero: at most three zeros to drop */
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

/* Whether the server reads what is written here, writes the same bytes, and is read right. */
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

/* Whether a numeric is read as that many times 10^-56, by its sign. */
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
		"-0.00000000000000000000000000000000000000000000000000000001",
	"9000000000000000000000000000000000000000000000000000000.12345678901234567890123456789012345678901234567890123456"};
	YqDecimal	decimal;
	bool		is_known = true;

	for (int i = 0; i < (int) lengthof(amounts); i++)
		is_known = is_known && is_understood(amounts[i]);
	/* a header of two words: more decimals are shown than a short one can tell */
	is_known = is_known &&
		is_read_as("0.0000000000000000000000000000000000000000000000000000000700000000000000000000", 7, 0) &&
		is_read_as("-0.0000000000000000000000000000000000000000000000000000000700000000000000000000", 7, 0) &&
		is_read_as("0.0000000000000000000000000000000000001", UINT64CONST(10000000000000000000), 0) &&
		is_read_as("0.000000000000000000000000000000000001", UINT64CONST(7766279631452241920), 5);
	if (is_known)
	{
		decimal = yq_decimal_from_numeric(numeric_of_text("1024.0625"));
		is_known = (decimal.digits == 10240625 && decimal.decimals == 4);
	}
	if (!is_known)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("this server stores values of type numeric in a format that yquota does not know"),
				 errdetail("Amounts would be read and written wrong."),
				 errhint("Use a version of yquota that supports this version of PostgreSQL.")));
}
