/*-------------------------------------------------------------------------
 *
 * resource.c
 *	  Fuzz targets of the type yquota.resource: each form from which it is
 *	  read, its representation, and its arithmetic.
 *
 * All forms have the same values, and each writes a value in exactly one way.
 * Therefore a value that was read from one form must be equal after it has
 * been written and read in any form (docs/design.md 4).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "lib/stringinfo.h"
#include "utils/builtins.h"
#include "utils/jsonb.h"
#include "utils/numeric.h"

#include "base/compat.h"
#include "fuzz.h"
#include "pricing/rate_class.h"

extern Datum yq_sql_resource_in(PG_FUNCTION_ARGS);
extern Datum yq_sql_resource_out(PG_FUNCTION_ARGS);
extern Datum yq_sql_resource_recv(PG_FUNCTION_ARGS);
extern Datum yq_sql_resource_send(PG_FUNCTION_ARGS);
extern Datum yq_sql_resource_from_jsonb(PG_FUNCTION_ARGS);
extern Datum yq_sql_resource_to_jsonb(PG_FUNCTION_ARGS);
extern Datum yq_sql_dominant_share(PG_FUNCTION_ARGS);

static YqResource *
call(PGFunction function, Datum argument)
{
	return DatumGetYqResourceP(DirectFunctionCall1(function, argument));
}

static YqResource *
receive(const bytea *message)
{
	StringInfoData wire;

	initStringInfo(&wire);
	appendBinaryStringInfo(&wire, VARDATA_ANY(message), VARSIZE_ANY_EXHDR(message));
	return call(yq_sql_resource_recv, PointerGetDatum(&wire));
}

/* Return the same value as a row stores it: with a header of one byte, unaligned. */
static YqResource *
with_short_header(const YqResource *vector)
{
	Size		size = VARSIZE_ANY_EXHDR(vector);
	char	   *place = palloc(1 + VARHDRSZ_SHORT + size);

	if (size + VARHDRSZ_SHORT > VARATT_SHORT_MAX)
		return unconstify(YqResource *, vector);
	place++;
	SET_VARSIZE_SHORT(place, VARHDRSZ_SHORT + size);
	memcpy(VARDATA_SHORT(place), VARDATA_ANY(vector), size);
	return (YqResource *) place;
}

static void
check_is_zero(const YqResource *vector)
{
	YQ_FUZZ_CHECK(VARSIZE_ANY_EXHDR(vector) == 0);
}

/* Check that a vector without negative amounts is its weight times its shape. */
static void
check_shape(YqResource *vector)
{
	YqResourceEntry entries[YQ_RESOURCE_MAX_ENTRIES];
	int			count = yq_resource_read(vector, entries);
	YqResource *shape;
	int64		weight;

	for (int i = 0; i < count; i++)
	{
		if (entries[i].amount < 0)
			return;
	}
	weight = yq_resource_reduce(vector, &shape);
	YQ_FUZZ_CHECK(yq_resource_equal(yq_resource_multiply(shape, weight), vector));
	YQ_FUZZ_CHECK(weight == 0 || yq_resource_reduce(shape, &shape) == 1);
}

void
yq_fuzz_check_vector(YqResource *vector)
{
	Datum		value = PointerGetDatum(vector);
	Datum		text = DirectFunctionCall1(yq_sql_resource_out, value);
	Datum		binary = DirectFunctionCall1(yq_sql_resource_send, value);
	Datum		json = DirectFunctionCall1(yq_sql_resource_to_jsonb, value);
	YqResource *stored = with_short_header(vector);
	YqResourceEntry entries[YQ_RESOURCE_MAX_ENTRIES];
	int			count = yq_resource_read(stored, entries);

	YQ_FUZZ_CHECK(yq_resource_equal(call(yq_sql_resource_in, text), vector));
	YQ_FUZZ_CHECK(yq_resource_equal(receive(DatumGetByteaPP(binary)), vector));
	YQ_FUZZ_CHECK(yq_resource_equal(call(yq_sql_resource_from_jsonb, json), vector));
	YQ_FUZZ_CHECK(yq_resource_equal(yq_resource_make(entries, count), vector));

	YQ_FUZZ_CHECK(yq_resource_equal(stored, vector));
	YQ_FUZZ_CHECK(yq_resource_compare(stored, vector) == 0);
	YQ_FUZZ_CHECK(yq_resource_hash(stored) == yq_resource_hash(vector));
	YQ_FUZZ_CHECK(yq_resource_hash_extended(stored, 7) == yq_resource_hash_extended(vector, 7));
	YQ_FUZZ_CHECK(yq_resource_fits_in(stored, vector));
	check_is_zero(yq_resource_subtract(stored, vector));
	check_is_zero(yq_resource_multiply(vector, 0));
	YQ_FUZZ_CHECK(yq_resource_equal(yq_resource_multiply(vector, 1), vector));
	for (int i = 0; i < count; i++)
		YQ_FUZZ_CHECK(entries[i].amount != 0 &&
					  yq_resource_amount(vector, entries[i].name, entries[i].name_length) == entries[i].amount);
	check_shape(vector);
}

/* Text: in brackets, or as in YARN's logs. */
void
yq_fuzz_resource_text(YqFuzzInput *input)
{
	char	   *text = yq_fuzz_string(input);

	if (text != NULL)
		yq_fuzz_check_vector(call(yq_sql_resource_in, CStringGetDatum(text)));
}

/* Binary: what is accepted is the same as what would be sent. */
void
yq_fuzz_resource_binary(YqFuzzInput *input)
{
	StringInfoData wire;
	YqResource *vector;
	bytea	   *sent;

	wire.data = palloc(input->left);
	memcpy(wire.data, input->next, input->left);
	wire.len = wire.maxlen = input->left;
	wire.cursor = 0;

	vector = call(yq_sql_resource_recv, PointerGetDatum(&wire));
	sent = DatumGetByteaPP(DirectFunctionCall1(yq_sql_resource_send, PointerGetDatum(vector)));
	YQ_FUZZ_CHECK(VARSIZE_ANY_EXHDR(sent) == wire.cursor);
	YQ_FUZZ_CHECK(memcmp(VARDATA_ANY(sent), wire.data, wire.cursor) == 0);
	yq_fuzz_check_vector(vector);
}

/* JSON. Input that is not JSON is left out. */
void
yq_fuzz_resource_json(YqFuzzInput *input)
{
	char	   *text = yq_fuzz_string(input);
	volatile Datum json = 0;
	MemoryContext context = CurrentMemoryContext;

	if (text == NULL)
		return;
	PG_TRY();
	{
		json = DirectFunctionCall1(jsonb_in, CStringGetDatum(text));
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(context);
		FlushErrorState();
	}
	PG_END_TRY();
	if (json != 0)
		yq_fuzz_check_vector(call(yq_sql_resource_from_jsonb, json));
}

/* Bytes as a damaged disk might have them: the result is an error or some vector. */
void
yq_fuzz_resource_stored(YqFuzzInput *input)
{
	YqResource *a = (YqResource *) yq_fuzz_part(input);
	YqResource *b = (YqResource *) yq_fuzz_part(input);

	(void) yq_resource_to_cstring(a);
	(void) DirectFunctionCall1(yq_sql_resource_to_jsonb, PointerGetDatum(a));
	(void) DirectFunctionCall1(yq_sql_resource_send, PointerGetDatum(a));
	(void) yq_resource_compare(a, b);
	(void) yq_resource_fits_in(a, b);
	(void) DirectFunctionCall2(yq_sql_dominant_share, PointerGetDatum(a), PointerGetDatum(b));
	(void) yq_resource_add(a, b);
	(void) yq_resource_subtract(a, b);
}

/* Two vectors in binary form, one after the other, and a number. */
void
yq_fuzz_resource_pair(YqFuzzInput *input)
{
	StringInfoData wire;
	YqResource *a;
	YqResource *b;
	YqResourceSum *sum = yq_resource_sum_create(CurrentMemoryContext);
	YqResource *total;
	int			order;
	int64		amount;
	int64		whole;

	wire.data = palloc(input->left);
	memcpy(wire.data, input->next, input->left);
	wire.len = wire.maxlen = input->left;
	wire.cursor = 0;
	a = call(yq_sql_resource_recv, PointerGetDatum(&wire));
	b = call(yq_sql_resource_recv, PointerGetDatum(&wire));

	order = yq_resource_compare(a, b);
	YQ_FUZZ_CHECK((order < 0) == (yq_resource_compare(b, a) > 0));
	YQ_FUZZ_CHECK((order == 0) == yq_resource_equal(a, b));
	YQ_FUZZ_CHECK(!yq_resource_fits_in(a, b) || order <= 0);
	yq_resource_dominant_share(a, b, &amount, &whole);
	YQ_FUZZ_CHECK(amount >= 0 && whole >= 0 && (amount > 0 || whole == 1));

	yq_resource_sum_add(sum, a, 1);
	yq_resource_sum_add(sum, b, 1);
	yq_resource_sum_add(sum, b, 1);
	yq_resource_sum_add(sum, b, -1);
	total = yq_resource_add(a, b);
	YQ_FUZZ_CHECK(yq_resource_equal(yq_resource_sum_vector(sum), total));
	YQ_FUZZ_CHECK(yq_resource_sum_is_zero(sum) == (VARSIZE_ANY_EXHDR(total) == 0));
	YQ_FUZZ_CHECK(yq_resource_equal(yq_resource_add(b, a), total));
	YQ_FUZZ_CHECK(yq_resource_equal(yq_resource_subtract(total, b), a));
	yq_fuzz_check_vector(total);

	input->next += wire.cursor;
	input->left -= wire.cursor;
	yq_fuzz_check_vector(yq_resource_multiply(a, yq_fuzz_int64(input)));
}
