/*-------------------------------------------------------------------------
 *
 * delta_entries.c
 *	  Many changes of counters in one row of yquota_internal.counter_delta.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "base/delta_entries.h"
#include "base/varlena.h"
#include "base/wide_numeric.h"
#include "catalog/pg_type_d.h"
#include "funcapi.h"
#include "libpq/pqformat.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/timestamp.h"

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
		yq_entries_report_corruption();
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
		[YQ_CLASS_REFERENCE_AT] = yq_entry_number(numbers[0], &reference_at, 1),
		[YQ_CLASS_WEIGHT] = yq_entry_number(numbers[1], weight, lengthof(weight)),
		[YQ_CLASS_ACCRUAL_BASE] = yq_entry_number(numbers[2], change->accrual_base.limb, YQ_WIDE_LIMBS),
	};

	yq_entries_append(writer, columns, YQ_CLASS_COLUMNS);
}

bool
yq_delta_next_class(YqEntryReader *reader, YqClassChange *change)
{
	uint64		weight[2];
	uint64		reference_at;

	if (!yq_entries_next(reader))
		return false;
	if (reader->columns[YQ_CLASS_SHAPE].data == NULL)
		yq_entries_report_corruption();
	change->shape = yq_entry_varlena(reader->columns[YQ_CLASS_SHAPE]);
	change->factors = unpack_factors(reader->columns[YQ_CLASS_FACTORS]);
	yq_entry_read_number(reader->columns[YQ_CLASS_REFERENCE_AT], &reference_at, 1);
	yq_entry_read_number(reader->columns[YQ_CLASS_WEIGHT], weight, lengthof(weight));
	yq_entry_read_number(reader->columns[YQ_CLASS_ACCRUAL_BASE], change->accrual_base.limb, YQ_WIDE_LIMBS);
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

	/* take it through the money type */
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
	columns[YQ_USAGE_CONTAINERS] = yq_entry_number(number, &limb, 1);
	yq_entries_append(writer, columns, YQ_USAGE_COLUMNS);
}

bool
yq_delta_next_usage(YqEntryReader *reader, YqUsageChange *change)
{
	uint64		limb;

	if (!yq_entries_next(reader))
		return false;
	if (reader->columns[YQ_USAGE_ALLOCATION].data == NULL)
		yq_entries_report_corruption();
	memcpy(change->names, reader->columns, sizeof(change->names));
	change->is_guaranteed = (reader->columns[YQ_USAGE_OPPORTUNISTIC].data == NULL);
	change->allocation = yq_entry_varlena(reader->columns[YQ_USAGE_ALLOCATION]);
	yq_entry_read_number(reader->columns[YQ_USAGE_CONTAINERS], &limb, 1);
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
	RESULT_QUEUE,				/* this and the next up to the node as in entries */
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
		yq_varlena_put(values, nulls, RESULT_QUEUE + i, yq_entry_varlena(change.names[i]));
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
