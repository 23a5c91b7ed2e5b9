/*-------------------------------------------------------------------------
 *
 * delta_entries.c
 *	  Many changes of counters, packed into one row of yquota_internal.counter_delta.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "base/bytes_table.h"
#include "base/delta_entries.h"
#include "base/wide.h"
#include "catalog/pg_type_d.h"
#include "funcapi.h"
#include "libpq/pqformat.h"
#include "miscadmin.h"
#include "port/pg_bswap.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/timestamp.h"

/* -- packed entries ------------------------------------------------------------ */

/* Many entries of a few columns, packed into one value. */

/* Size of a buffer for a packed number of up to six limbs. */
#define YQ_ENTRY_NUMBER_BYTES (2 + 6 * sizeof(uint64))

/* The largest number of bytes of a packed length, which has 32 bits. */
#define MAX_LENGTH_BYTES 5

/* -- writing --------------------------------------------------------------- */

void
yq_entries_begin(YqEntryWriter *writer)
{
	memset(writer, 0, sizeof(YqEntryWriter));
	initStringInfo(&writer->packed);
	writer->packed.len = VARHDRSZ;
}

static char *
write_length(char *to, uint32 length)
{
	for (; length >= 0x80; length >>= 7)
		*to++ = (char) (length | 0x80);
	*to++ = (char) length;
	return to;
}

/* Does the column have the same value as in the previous entry? */
static inline bool
is_same(const YqEntryWriter *writer, int column, YqBytes bytes)
{
	int			at = writer->columns[column].at;

	if (bytes.data == NULL || at == 0)
		return bytes.data == NULL && at == 0;
	return (Size) writer->columns[column].length == bytes.length &&
		memcmp(writer->packed.data + at, bytes.data, bytes.length) == 0;
}

/* Append an entry of "count" columns.  "data" of a NULL column is NULL. */
static void
entries_append(YqEntryWriter *writer, const YqBytes *columns, int count)
{
	int			changed_at = writer->packed.len;
	uint8		changed = 0;

	appendStringInfoChar(&writer->packed, 0);
	for (int i = 0; i < count; i++)
	{
		YqBytes		bytes = columns[i];
		char	   *to;

		if (is_same(writer, i, bytes))
			continue;
		changed |= 1 << i;
		enlargeStringInfo(&writer->packed, MAX_LENGTH_BYTES + (int) bytes.length);
		to = write_length(writer->packed.data + writer->packed.len, bytes.data == NULL ? 0 : (uint32) bytes.length + 1);
		writer->columns[i].at = bytes.data == NULL ? 0 : to - writer->packed.data;
		writer->columns[i].length = (int) bytes.length;
		if (bytes.data != NULL)
			memcpy(to, bytes.data, bytes.length);
		writer->packed.len = to - writer->packed.data + (bytes.data == NULL ? 0 : (int) bytes.length);
	}
	writer->packed.data[changed_at] = (char) changed;
	writer->entries++;
}

bytea *
yq_entries_end(YqEntryWriter *writer)
{
	bytea	   *packed = (bytea *) writer->packed.data;

	SET_VARSIZE(packed, writer->packed.len);
	writer->packed.len = VARHDRSZ;
	writer->entries = 0;
	memset(writer->columns, 0, sizeof(writer->columns));
	return packed;
}

/*
 * Write a number of "count" limbs into the buffer, which has YQ_ENTRY_NUMBER_BYTES bytes.  The
 * number is in two's complement, the lowest limb first. entry_read_number() reads the number
 * again.
 */
static YqBytes
entry_number(uint8 *buffer, const uint64 *limbs, int count)
{
	uint8	   *digits = buffer + 1;
	uint8		sign = (int64) limbs[count - 1] < 0 ? 0xFF : 0;
	int			skipped = 0;
	int			zeros = 0;
	int			length = 0;

	/* limbs that only repeat the sign are not written */
	while (count > 1 && limbs[count - 1] == (uint64) (int8) sign)
		count--;
	while (skipped < count - 1 && limbs[skipped] == 0)
		skipped++;
	for (int i = skipped; i < count; i++, length += sizeof(uint64))
	{
		uint64		lowest_first = pg_bswap64(pg_hton64(limbs[i]));

		memcpy(digits + length, &lowest_first, sizeof(uint64));
	}
	digits[length++] = sign;
	while (length > 1 && digits[length - 1] == sign && (digits[length - 2] & 0x80) == (sign & 0x80))
		length--;
	while (zeros < length - 1 && digits[zeros] == 0)
		zeros++;
	buffer[zeros] = (uint8) (skipped * sizeof(uint64) + zeros);
	return (YqBytes) {(char *) buffer + zeros, 1 + length - zeros};
}

/* -- reading ----------------------------------------------------------------- */

/* Raise ERRCODE_DATA_CORRUPTED: the bytes do not contain the columns that the caller expects. */
static void
entries_report_corruption(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("packed entries are corrupted")));
}

void
yq_entries_read(YqEntryReader *reader, const bytea *packed)
{
	memset(reader, 0, sizeof(YqEntryReader));
	reader->next = (const uint8 *) VARDATA_ANY(packed);
	reader->end = reader->next + VARSIZE_ANY_EXHDR(packed);
}

static uint32
read_length(YqEntryReader *reader)
{
	uint64		length = 0;

	for (int i = 0; i < MAX_LENGTH_BYTES && reader->next < reader->end; i++)
	{
		uint8		byte = *reader->next++;

		length |= (uint64) (byte & 0x7F) << (7 * i);
		if ((byte & 0x80) == 0 && length <= (uint64) (reader->end - reader->next) + 1)
			return (uint32) length;
	}
	entries_report_corruption();
	return 0;
}

/* Read the next entry.  Returns false at the end. */
static bool
entries_next(YqEntryReader *reader)
{
	uint8		changed;

	if (reader->next == reader->end)
		return false;
	changed = *reader->next++;
	for (int i = 0; changed != 0; changed >>= 1, i++)
	{
		uint32		length;

		if ((changed & 1) == 0)
			continue;
		length = read_length(reader);
		reader->columns[i].data = length == 0 ? NULL : (const char *) reader->next;
		reader->columns[i].length = length == 0 ? 0 : length - 1;
		reader->next += reader->columns[i].length;
	}
	return true;
}

static void
entry_read_number(YqBytes bytes, uint64 *limbs, int count)
{
	const uint8 *digits = (const uint8 *) bytes.data + 1;
	Size		zeros = bytes.length < 2 ? 0 : (uint8) bytes.data[0];
	Size		length = bytes.length < 2 ? 0 : bytes.length - 1;

	if (length == 0 || zeros + length > (Size) count * sizeof(uint64))
		entries_report_corruption();
	memset(limbs, (digits[length - 1] & 0x80) != 0 ? 0xFF : 0, count * sizeof(uint64));
	for (Size i = 0; i < zeros + length; i++)
	{
		int			shift = 8 * (i % sizeof(uint64));

		limbs[i / sizeof(uint64)] &= ~((uint64) 0xFF << shift);
		limbs[i / sizeof(uint64)] |= (uint64) (i < zeros ? 0 : digits[i - zeros]) << shift;
	}
}

/* Return a column as a palloc'd text or resource, or NULL if the column is NULL. */
static struct varlena *
entry_varlena(YqBytes bytes)
{
	struct varlena *value;

	if (bytes.data == NULL)
		return NULL;
	value = palloc(VARHDRSZ + bytes.length);
	SET_VARSIZE(value, VARHDRSZ + bytes.length);
	memcpy(VARDATA(value), bytes.data, bytes.length);
	return value;
}

/* -- delta entries ------------------------------------------------------------- */

/* Columns of an entry about a rate class. */
enum
{
	YQ_CLASS_SHAPE,				/* the bytes of a resource */
	YQ_CLASS_FACTORS,			/* names, a zero byte after each; may be NULL */
	YQ_CLASS_REFERENCE_AT,		/* number: a TimestampTz */
	YQ_CLASS_WEIGHT,			/* a number of two limbs */
	YQ_CLASS_ACCRUAL_BASE,		/* number: a YqWide */
	YQ_CLASS_COLUMNS
};

PG_FUNCTION_INFO_V1(yq_sql_unpack_delta);

/* -- rate classes ---------------------------------------------------------- */

static YqBytes
pack_factors(ArrayType *factors)
{
	StringInfoData names;
	Datum	   *elements;
	int			count;

	if (factors == NULL)
		return (YqBytes) {NULL, 0};
	initStringInfo(&names);
	deconstruct_array(factors, TEXTOID, -1, false, TYPALIGN_INT, &elements, NULL, &count);
	for (int i = 0; i < count; i++)
	{
		appendStringInfoString(&names, TextDatumGetCString(elements[i]));
		appendStringInfoChar(&names, '\0');
	}
	return (YqBytes) {names.data, names.len};
}

static ArrayType *
unpack_factors(YqBytes names)
{
	Datum	   *elements = palloc(sizeof(Datum) * Max(names.length, 1));
	int			count = 0;

	if (names.data == NULL)
		return NULL;
	if (names.length > 0 && names.data[names.length - 1] != '\0')
		entries_report_corruption();
	for (const char *name = names.data; name < names.data + names.length; name += strlen(name) + 1)
		elements[count++] = CStringGetTextDatum(name);
	return construct_array(elements, count, TEXTOID, -1, false, TYPALIGN_INT);
}

void
yq_delta_append_class(YqEntryWriter *writer, const YqClassChange *change)
{
	uint8		numbers[3][YQ_ENTRY_NUMBER_BYTES];
	uint64		weight[2] = {(uint64) change->weight, (uint64) ((uint128) change->weight >> 64)};
	uint64		reference_at = (uint64) change->reference_at;
	YqBytes		columns[YQ_CLASS_COLUMNS] = {
		[YQ_CLASS_SHAPE] = yq_bytes_of_varlena(change->shape),
		[YQ_CLASS_FACTORS] = pack_factors(change->factors),
		[YQ_CLASS_REFERENCE_AT] = entry_number(numbers[0], &reference_at, 1),
		[YQ_CLASS_WEIGHT] = entry_number(numbers[1], weight, lengthof(weight)),
		[YQ_CLASS_ACCRUAL_BASE] = entry_number(numbers[2], change->accrual_base.limb, YQ_WIDE_LIMBS),
	};

	entries_append(writer, columns, YQ_CLASS_COLUMNS);
}

bool
yq_delta_next_class(YqEntryReader *reader, YqClassChange *change)
{
	uint64		weight[2];
	uint64		reference_at;

	if (!entries_next(reader))
		return false;
	if (reader->columns[YQ_CLASS_SHAPE].data == NULL)
		entries_report_corruption();
	change->shape = entry_varlena(reader->columns[YQ_CLASS_SHAPE]);
	change->factors = unpack_factors(reader->columns[YQ_CLASS_FACTORS]);
	entry_read_number(reader->columns[YQ_CLASS_REFERENCE_AT], &reference_at, 1);
	entry_read_number(reader->columns[YQ_CLASS_WEIGHT], weight, lengthof(weight));
	entry_read_number(reader->columns[YQ_CLASS_ACCRUAL_BASE], change->accrual_base.limb, YQ_WIDE_LIMBS);
	change->reference_at = (TimestampTz) reference_at;
	change->weight = (int128) ((uint128) weight[1] << 64 | weight[0]);
	return true;
}

Numeric
yq_weight_to_numeric(int128 weight)
{
	YqPrice		absolute = weight < 0 ? -(YqPrice) weight : (YqPrice) weight;
	YqWide		wide = {{(uint64) absolute, (uint64) (absolute >> 64)}};

	if (weight >= PG_INT64_MIN && weight <= PG_INT64_MAX)
		return int64_to_numeric((int64) weight);

	/* convert the number by way of the money type */
	yq_wide_multiply(&wide, yq_power_of_ten(YQ_AMOUNT_DECIMALS / 2));
	yq_wide_multiply(&wide, yq_power_of_ten(YQ_AMOUNT_DECIMALS / 2));
	if (weight < 0)
		yq_wide_negate(&wide);
	return yq_wide_to_numeric(&wide);
}

int128
yq_weight_from_numeric(Numeric value)
{
	bytea	   *bytes = DatumGetByteaPP(DirectFunctionCall1(numeric_send, NumericGetDatum(value)));
	StringInfoData wire = {.data = VARDATA_ANY(bytes), .len = VARSIZE_ANY_EXHDR(bytes)};
	int			count = (int16) pq_getmsgint(&wire, 2);
	int			places = (int16) pq_getmsgint(&wire, 2) + 1;
	bool		negative = pq_getmsgint(&wire, 2) != 0;
	int128		weight = 0;

	(void) pq_getmsgint(&wire, 2);
	if (numeric_is_nan(value) || numeric_is_inf(value) ||
		(count > 0 && (count > places || places > 9)))
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("weight of a rate class is out of range")));
	for (int i = 0; count > 0 && i < places; i++)
		weight = weight * 10000 + (i < count ? (int) pq_getmsgint(&wire, 2) : 0);
	pfree(bytes);
	return negative ? -weight : weight;
}

/* -- usage ------------------------------------------------------------------ */

void
yq_delta_append_usage(YqEntryWriter *writer, const struct varlena *const *names, bool is_guaranteed,
					  const YqResource *allocation, int64 containers)
{
	uint8		number[YQ_ENTRY_NUMBER_BYTES];
	uint64		limb = (uint64) containers;
	YqBytes		columns[YQ_USAGE_COLUMNS];

	for (int i = YQ_USAGE_QUEUE; i <= YQ_USAGE_NODE; i++)
		columns[i] = yq_bytes_of_varlena(names[i]);
	columns[YQ_USAGE_OPPORTUNISTIC] = (YqBytes) {is_guaranteed ? NULL : "", 0};
	columns[YQ_USAGE_ALLOCATION] = yq_bytes_of_varlena(allocation);
	columns[YQ_USAGE_CONTAINERS] = entry_number(number, &limb, 1);
	entries_append(writer, columns, YQ_USAGE_COLUMNS);
}

bool
yq_delta_next_usage(YqEntryReader *reader, YqUsageChange *change)
{
	uint64		limb;

	if (!entries_next(reader))
		return false;
	if (reader->columns[YQ_USAGE_ALLOCATION].data == NULL)
		entries_report_corruption();
	memcpy(change->names, reader->columns, sizeof(change->names));
	change->is_guaranteed = (reader->columns[YQ_USAGE_OPPORTUNISTIC].data == NULL);
	change->allocation = entry_varlena(reader->columns[YQ_USAGE_ALLOCATION]);
	entry_read_number(reader->columns[YQ_USAGE_CONTAINERS], &limb, 1);
	change->containers = (int64) limb;
	return true;
}

/* -- SQL ------------------------------------------------------------------- */

/* Columns of the result of unpack_delta(). */
enum
{
	RESULT_SHAPE,
	RESULT_FACTORS,
	RESULT_REFERENCE_AT,
	RESULT_WEIGHT,
	RESULT_ACCRUAL_BASE,
	RESULT_QUEUE,				/* the columns from queue to node have the order of an entry about usage */
	RESULT_OPPORTUNISTIC = RESULT_QUEUE + YQ_USAGE_OPPORTUNISTIC,
	RESULT_ALLOCATION,
	RESULT_CONTAINERS,
	RESULT_COLUMNS
};

static bool
next_class_row(YqEntryReader *reader, Datum *values, bool *nulls)
{
	YqClassChange change;

	if (!yq_delta_next_class(reader, &change))
		return false;
	yq_varlena_put(values, nulls, RESULT_SHAPE, change.shape);
	yq_varlena_put(values, nulls, RESULT_FACTORS, change.factors);
	values[RESULT_REFERENCE_AT] = TimestampTzGetDatum(change.reference_at);
	values[RESULT_WEIGHT] = NumericGetDatum(yq_weight_to_numeric(change.weight));
	values[RESULT_ACCRUAL_BASE] = NumericGetDatum(yq_wide_to_numeric(&change.accrual_base));
	nulls[RESULT_REFERENCE_AT] = nulls[RESULT_WEIGHT] = nulls[RESULT_ACCRUAL_BASE] = false;
	return true;
}

static bool
next_usage_row(YqEntryReader *reader, Datum *values, bool *nulls)
{
	YqUsageChange change;

	if (!yq_delta_next_usage(reader, &change))
		return false;
	for (int i = YQ_USAGE_QUEUE; i <= YQ_USAGE_NODE; i++)
		yq_varlena_put(values, nulls, RESULT_QUEUE + i, entry_varlena(change.names[i]));
	yq_varlena_put(values, nulls, RESULT_ALLOCATION, change.allocation);
	values[RESULT_OPPORTUNISTIC] = BoolGetDatum(!change.is_guaranteed);
	values[RESULT_CONTAINERS] = Int64GetDatum(change.containers);
	nulls[RESULT_OPPORTUNISTIC] = nulls[RESULT_CONTAINERS] = false;
	return true;
}

/* unpack_delta(scope "char", packed bytea) */
Datum
yq_sql_unpack_delta(PG_FUNCTION_ARGS)
{
	bool		(*next_row) (YqEntryReader *, Datum *, bool *) = PG_GETARG_CHAR(0) == 'p' ? next_class_row : next_usage_row;
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	MemoryContext row_context = AllocSetContextCreate(CurrentMemoryContext, "yquota packed delta", ALLOCSET_SMALL_SIZES);
	MemoryContext old_context;
	YqEntryReader reader;
	Datum		values[RESULT_COLUMNS] = {0};
	bool		nulls[RESULT_COLUMNS];

	InitMaterializedSRF(fcinfo, 0);
	memset(nulls, true, sizeof(nulls));
	yq_entries_read(&reader, PG_GETARG_BYTEA_PP(1));
	old_context = MemoryContextSwitchTo(row_context);
	while (next_row(&reader, values, nulls))
	{
		CHECK_FOR_INTERRUPTS();
		tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
		MemoryContextReset(row_context);
	}
	MemoryContextSwitchTo(old_context);
	MemoryContextDelete(row_context);
	return (Datum) 0;
}
