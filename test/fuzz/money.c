/*-------------------------------------------------------------------------
 *
 * money.c
 *	  Fuzz targets of money: amounts, prices, and the packed weights by which
 *	  a balance multiplies them.
 *
 * The results are checked with the server's numeric, whose limits are far away
 * (docs/design.md 1.2).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/numeric.h"

#include "base/compat.h"
#include "base/wide.h"
#include "base/wide.h"
#include "charging/packed_weights.h"
#include "fuzz.h"

extern Datum yq_sql_merge_weights(PG_FUNCTION_ARGS);

/* Return a finite number from a part of the input, or NULL if it is none. */
static Numeric
finite_number(YqFuzzInput *input)
{
	char	   *text = yq_fuzz_string(input);
	volatile Datum number = 0;
	MemoryContext context = CurrentMemoryContext;

	/* numeric_in() would take a gigabyte for 1e100000 */
	if (text == NULL || strlen(text) > 200 ||
		strspn(text, "0123456789.-+") != strlen(text))
		return NULL;
	PG_TRY();
	{
		number = DirectFunctionCall3(numeric_in, CStringGetDatum(text),
									 ObjectIdGetDatum(InvalidOid), Int32GetDatum(-1));
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(context);
		FlushErrorState();
	}
	PG_END_TRY();
	return number == 0 ? NULL : DatumGetNumeric(number);
}

static Numeric
calculate(PGFunction operation, Numeric a, Numeric b)
{
	return DatumGetNumeric(DirectFunctionCall2(operation, NumericGetDatum(a), NumericGetDatum(b)));
}

static bool
is_equal(Numeric a, Numeric b)
{
	return DatumGetBool(DirectFunctionCall2(numeric_eq, NumericGetDatum(a), NumericGetDatum(b)));
}

static Numeric
integer_to_numeric(YqPrice value)
{
	Numeric		two_to_32 = int64_to_numeric(INT64CONST(1) << 32);
	Numeric		number = int64_to_numeric(0);

	for (int shift = 96; shift >= 0; shift -= 32)
		number = calculate(numeric_add, calculate(numeric_mul, number, two_to_32),
						   int64_to_numeric((int64) (uint32) (value >> shift)));
	return number;
}

static Numeric
power_of_ten(int exponent)
{
	return DatumGetNumeric(DirectFunctionCall3(numeric_in,
											   CStringGetDatum(psprintf("1e%d", exponent)),
											   ObjectIdGetDatum(InvalidOid), Int32GetDatum(-1)));
}

static void
check_canonical(Numeric number)
{
	Datum		text = DirectFunctionCall1(numeric_out, NumericGetDatum(number));
	Datum		trimmed = DirectFunctionCall1(numeric_trim_scale, NumericGetDatum(number));

	YQ_FUZZ_CHECK(strcmp(DatumGetCString(text),
						 DatumGetCString(DirectFunctionCall1(numeric_out, trimmed))) == 0);
}

/* Two amounts and a factor. */
void
yq_fuzz_amount(YqFuzzInput *input)
{
	YqPrice		factor = (YqPrice) (uint64) yq_fuzz_int64(input) << 64 | (uint64) yq_fuzz_int64(input);
	Numeric		a = finite_number(input);
	Numeric		b = finite_number(input);
	YqWide		wide_a;
	YqWide		wide_b;
	YqWide		sum;

	if (a == NULL || b == NULL)
		return;
	yq_wide_from_numeric(&wide_a, a);
	YQ_FUZZ_CHECK(is_equal(yq_wide_to_numeric(&wide_a), a));
	check_canonical(yq_wide_to_numeric(&wide_a));
	yq_wide_from_numeric(&wide_b, b);
	YQ_FUZZ_CHECK(yq_wide_compare(&wide_a, &wide_b) ==
				  DatumGetInt32(DirectFunctionCall2(numeric_cmp, NumericGetDatum(a), NumericGetDatum(b))));

	/* additions have no overflow check, because amounts are far from the limit */
	if (((wide_a.limb[YQ_WIDE_LIMBS - 1] + 1) >> 1 | (wide_b.limb[YQ_WIDE_LIMBS - 1] + 1) >> 1) == 0)
	{
		sum = wide_a;
		yq_wide_add(&sum, &wide_b);
		YQ_FUZZ_CHECK(is_equal(yq_wide_to_numeric(&sum), calculate(numeric_add, a, b)));
		yq_wide_subtract(&sum, &wide_b);
		YQ_FUZZ_CHECK(yq_wide_compare(&sum, &wide_a) == 0);
	}

	yq_wide_multiply(&wide_a, factor);
	YQ_FUZZ_CHECK(is_equal(yq_wide_to_numeric(&wide_a),
						   calculate(numeric_mul, a, integer_to_numeric(factor))));
}

/* A price: multiplier, calendar factor, base price, unit. */
void
yq_fuzz_price(YqFuzzInput *input)
{
	int64		unit = yq_fuzz_int64(input) & PG_INT64_MAX;
	Numeric		multiplier = finite_number(input);
	Numeric		calendar_factor = finite_number(input);
	Numeric		base_price = finite_number(input);
	YqPrice		price;
	Numeric		expected;

	if (multiplier == NULL || calendar_factor == NULL || base_price == NULL || unit == 0)
		return;
	price = yq_price_form(yq_decimal_from_numeric(multiplier), yq_decimal_from_numeric(calendar_factor),
						  yq_decimal_from_numeric(base_price), unit);
	expected = calculate(numeric_mul, calculate(numeric_mul, multiplier, calendar_factor), base_price);
	expected = yq_divide_half_even(expected, int64_to_numeric(unit), YQ_PRICE_DECIMALS);
	YQ_FUZZ_CHECK(is_equal(integer_to_numeric(price),
						   calculate(numeric_mul, expected, power_of_ten(YQ_PRICE_DECIMALS))));
}

static bytea *
merge(const bytea *a, const bytea *b)
{
	return DatumGetByteaPP(DirectFunctionCall2(yq_sql_merge_weights,
											   PointerGetDatum(a), PointerGetDatum(b)));
}

static bool
is_same(const bytea *a, const bytea *b)
{
	return VARSIZE_ANY_EXHDR(a) == VARSIZE_ANY_EXHDR(b) &&
		memcmp(VARDATA_ANY(a), VARDATA_ANY(b), VARSIZE_ANY_EXHDR(a)) == 0;
}

/* Check two lists of weights: an accepted list must be exactly what would be written. */
void
yq_fuzz_packed_weights(YqFuzzInput *input)
{
	Size		wanted = yq_fuzz_byte(input);
	Size		length = Min(wanted, input->left);
	YqFuzzInput first = {input->next, length};
	YqFuzzInput second = {input->next + length, input->left - length};
	bytea	   *lists[2];
	bytea	   *empty = palloc(VARHDRSZ);
	bytea	   *merged;
	YqWeightReader reader;
	uint32		class_id;
	uint32		previous = 0;
	int128		weight;

	SET_VARSIZE(empty, VARHDRSZ);
	for (int i = 0; i < 2; i++)
	{
		const YqFuzzInput *part = i == 0 ? &first : &second;

		lists[i] = palloc(VARHDRSZ + part->left);
		SET_VARSIZE(lists[i], VARHDRSZ + part->left);
		memcpy(VARDATA(lists[i]), part->next, part->left);
		YQ_FUZZ_CHECK(is_same(merge(lists[i], empty), lists[i]));
	}
	merged = merge(lists[0], lists[1]);
	YQ_FUZZ_CHECK(is_same(merged, merge(lists[1], lists[0])));
	yq_weights_begin(&reader, merged);
	while (yq_weights_next(&reader, &class_id, &weight))
	{
		YQ_FUZZ_CHECK(weight != 0 && class_id > previous);
		previous = class_id;
	}
}
