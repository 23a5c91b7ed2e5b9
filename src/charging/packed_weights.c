/*-------------------------------------------------------------------------
 *
 * packed_weights.c
 *	  The weights of many rate classes in a few bytes each.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "base/arguments.h"
#include "base/delta_entries.h"
#include "charging/packed_weights.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/memutils.h"

PG_FUNCTION_INFO_V1(yq_sql_add_weight);
PG_FUNCTION_INFO_V1(yq_sql_pack_weights);
PG_FUNCTION_INFO_V1(yq_sql_merge_weights);

/* The largest number of bytes of an entry: 32 bits of a difference and 128 bits of a weight. */
#define MAX_DIFFERENCE_BYTES 5
#define MAX_WEIGHT_BYTES 19
#define MAX_ENTRY_BYTES (MAX_DIFFERENCE_BYTES + MAX_WEIGHT_BYTES)

/* The largest last byte of a weight of the maximum length.  Such a byte contains only two of the 128 bits. */
#define MAX_LAST_BYTE 3

/* -- reading ------------------------------------------------------------- */

void
yq_weights_begin(YqWeightReader *reader, const bytea *packed)
{
	reader->next = (const uint8 *) VARDATA_ANY(packed);
	reader->end = reader->next + VARSIZE_ANY_EXHDR(packed);
	reader->class_id = 0;
}

static void
report_corruption(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("packed weights of rate classes are corrupted")));
}

/*
 * Read a number.  Nearly all numbers have one or two bytes.  A number that is longer than
 * necessary is an error.
 */
static inline uint128
read_number(YqWeightReader *reader, int max_bytes)
{
	uint128		number = 0;

	if (reader->end - reader->next >= 2)
	{
		uint32		first = reader->next[0];
		uint32		second = reader->next[1];

		if (first < 0x80)
		{
			reader->next++;
			return first;
		}
		if (second < 0x80 && second != 0)
		{
			reader->next += 2;
			return (first & 0x7F) | second << 7;
		}
	}
	for (int i = 0; i < max_bytes && reader->next < reader->end; i++)
	{
		uint8		byte = *reader->next++;

		if ((i == MAX_WEIGHT_BYTES - 1 && byte > MAX_LAST_BYTE) || (byte == 0 && i > 0))
			break;
		number |= (uint128) (byte & 0x7F) << (7 * i);
		if ((byte & 0x80) == 0)
			return number;
	}
	report_corruption();
	return 0;
}

bool
yq_weights_next(YqWeightReader *reader, uint32 *class_id, int128 *weight)
{
	uint64		difference;
	uint128		number;

	if (reader->next == reader->end)
		return false;
	difference = (uint64) read_number(reader, MAX_DIFFERENCE_BYTES);
	number = read_number(reader, MAX_WEIGHT_BYTES);
	if (difference == 0 || difference > PG_UINT32_MAX - reader->class_id || number <= 1)
		report_corruption();
	reader->class_id += (uint32) difference;
	*class_id = reader->class_id;
	*weight = (number & 1) != 0 ? -(int128) (number >> 1) : (int128) (number >> 1);
	return true;
}

/* Add a weight.  The smallest 128-bit integer is never a weight, because its negation does not fit. */
static inline void
add_weight(int128 *sum, int128 weight)
{
	if (__builtin_add_overflow(*sum, weight, sum) || *sum == (int128) ((uint128) 1 << 127))
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("weight of a rate class is out of range")));
}

/* -- writing ------------------------------------------------------------- */

typedef struct Writer
{
	uint8	   *next;
	uint32		class_id;		/* class number that was written last */
} Writer;

static void
write_number(Writer *writer, uint128 number)
{
	while (number >= 0x80)
	{
		*writer->next++ = (uint8) number | 0x80;
		number >>= 7;
	}
	*writer->next++ = (uint8) number;
}

static void
write_weight(Writer *writer, uint32 class_id, int128 weight)
{
	if (weight == 0)
		return;
	write_number(writer, class_id - writer->class_id);
	writer->class_id = class_id;
	write_number(writer, weight < 0 ? ((uint128) -weight << 1) | 1 : (uint128) weight << 1);
}

static bytea *
begin_packed(Writer *writer, Size most_bytes)
{
	bytea	   *packed = palloc(VARHDRSZ + most_bytes);

	writer->next = (uint8 *) VARDATA(packed);
	writer->class_id = 0;
	return packed;
}

static bytea *
end_packed(const Writer *writer, bytea *packed)
{
	SET_VARSIZE(packed, (const char *) writer->next - (const char *) packed);
	return packed;
}

/* -- the aggregate pack_weights() ---------------------------------------- */

typedef struct Weight
{
	uint32		class_id;
	int128		weight;
} Weight;

typedef struct WeightList
{
	int			count;
	int			room;
	Weight	   *weights;
} WeightList;

static int
compare_weights(const void *a, const void *b)
{
	uint32		left = ((const Weight *) a)->class_id;
	uint32		right = ((const Weight *) b)->class_id;

	return left < right ? -1 : left > right;
}

/* add_weight(state, class_id integer, weight numeric) */
Datum
yq_sql_add_weight(PG_FUNCTION_ARGS)
{
	WeightList *list = PG_ARGISNULL(0) ? NULL : (WeightList *) PG_GETARG_POINTER(0);
	MemoryContext context = yq_require_aggregate(fcinfo, "pack_weights()");

	if (list == NULL)
	{
		list = MemoryContextAllocZero(context, sizeof(WeightList));
		list->room = 16;
		list->weights = MemoryContextAlloc(context, sizeof(Weight) * list->room);
	}
	if (PG_ARGISNULL(1) || PG_ARGISNULL(2) || PG_GETARG_INT32(1) < 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("class must be a positive number and weight must not be null")));
	if (list->count == list->room)
	{
		list->room *= 2;
		list->weights = repalloc_huge(list->weights, sizeof(Weight) * list->room);
	}
	list->weights[list->count].class_id = PG_GETARG_UINT32(1);
	list->weights[list->count++].weight = yq_weight_from_numeric(PG_GETARG_NUMERIC(2));
	PG_RETURN_POINTER(list);
}

/* Final function: return the packed list, in which each class occurs once. */
Datum
yq_sql_pack_weights(PG_FUNCTION_ARGS)
{
	WeightList *list;
	Writer		writer;
	bytea	   *packed;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	list = (WeightList *) PG_GETARG_POINTER(0);
	qsort(list->weights, list->count, sizeof(Weight), compare_weights);
	packed = begin_packed(&writer, (Size) list->count * MAX_ENTRY_BYTES);
	for (int i = 0; i < list->count;)
	{
		uint32		class_id = list->weights[i].class_id;
		int128		weight = 0;

		for (; i < list->count && list->weights[i].class_id == class_id; i++)
			add_weight(&weight, list->weights[i].weight);
		write_weight(&writer, class_id, weight);
	}
	PG_RETURN_BYTEA_P(end_packed(&writer, packed));
}

/* merge_weights(a bytea, b bytea): add the weights of two lists. */
Datum
yq_sql_merge_weights(PG_FUNCTION_ARGS)
{
	bytea	   *a = PG_GETARG_BYTEA_PP(0);
	bytea	   *b = PG_GETARG_BYTEA_PP(1);
	YqWeightReader readers[2];
	uint32		class_ids[2];
	int128		weights[2];
	bool		more[2];
	Writer		writer;
	bytea	   *packed;

	yq_weights_begin(&readers[0], a);
	yq_weights_begin(&readers[1], b);
	for (int i = 0; i < 2; i++)
		more[i] = yq_weights_next(&readers[i], &class_ids[i], &weights[i]);

	/* divide by two, because each entry has at least two bytes */
	packed = begin_packed(&writer,
						  (VARSIZE_ANY_EXHDR(a) + VARSIZE_ANY_EXHDR(b)) / 2 * MAX_ENTRY_BYTES);
	while (more[0] || more[1])
	{
		uint32		class_id = !more[1] || (more[0] && class_ids[0] < class_ids[1]) ?
			class_ids[0] : class_ids[1];
		int128		weight = 0;

		CHECK_FOR_INTERRUPTS();
		for (int i = 0; i < 2; i++)
		{
			if (!more[i] || class_ids[i] != class_id)
				continue;
			add_weight(&weight, weights[i]);
			more[i] = yq_weights_next(&readers[i], &class_ids[i], &weights[i]);
		}
		write_weight(&writer, class_id, weight);
	}
	PG_RETURN_BYTEA_P(end_packed(&writer, packed));
}
