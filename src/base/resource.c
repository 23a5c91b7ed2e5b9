/*-------------------------------------------------------------------------
 *
 * resource.c
 *	  Representation, canonical form and arithmetic of yquota.resource.
 *
 * The bytes after the varlena header are the entries in canonical order (see resource.h).  Each is a name
 * and an amount:
 *
 *     name     one byte, the code of a well-known name; or a zero byte, a length byte (1 to 255) and
 *              the name itself
 *     amount   a signed 64-bit number, zigzag coded (sign in the lowest bit), then in groups of seven
 *              bits, lowest first, high bit set on all but the last byte; as short as possible, never zero
 *
 * A well-known name is always written as its code, so equal vectors are equal bytes.  The format is
 * on disk: codes are never reused or renumbered.  No name is ever added to the list, because stored
 * values spell this name out and would no longer equal new values.
 *
 * Values are read byte by byte, so a value may begin at any address and have a short header.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "common/int.h"

#include "base/compat.h"
#include "base/resource.h"

/* The largest number of bytes of a packed amount: 64 bits in groups of seven. */
#define MAX_AMOUNT_BYTES 10

/* Code of a name that is not well known; the name itself follows the code. */
#define SPELLED_NAME 0

typedef struct ResourceName
{
	const char *name;
	int			length;
} ResourceName;

#define RESOURCE_NAME(literal) {literal, sizeof(literal) - 1}

/* The well-known names in bytewise order.  The code of a name is its position plus one. */
static const ResourceName known_names[] = {
	RESOURCE_NAME("amd.com/gpu"),
	RESOURCE_NAME("cpu-milli"),
	RESOURCE_NAME("ephemeral-storage"),
	RESOURCE_NAME("gpu-milli"),
	RESOURCE_NAME("memory-mb"),
	RESOURCE_NAME("nvidia.com/gpu"),
	RESOURCE_NAME("vcores"),
	RESOURCE_NAME("yarn.io/fpga"),
	RESOURCE_NAME("yarn.io/gpu"),
};

StaticAssertDecl(lengthof(known_names) == 9,
				 "the dictionary is part of the format on disk");

/* Other spellings from YARN's logs.  They are read but never stored. */
static const struct
{
	ResourceName alias;
	ResourceName meaning;
}			aliases[] = {
	{RESOURCE_NAME("memory"), RESOURCE_NAME("memory-mb")},
	{RESOURCE_NAME("vCores"), RESOURCE_NAME("vcores")},
};

static void
report_corrupt(const char *what)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("stored resource vector is corrupt"),
			 errdetail_internal("%s", what)));
}

static void
report_out_of_range(const YqResourceEntry *entry)
{
	ereport(ERROR,
			(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
			 errmsg("amount of resource \"%.*s\" is out of range",
					entry->name_length, entry->name),
			 errdetail("Amounts are 64-bit integers.")));
}

static void
report_too_many(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
			 errmsg("too many entries in a resource vector"),
			 errdetail("A vector holds at most %d names.",
					   YQ_RESOURCE_MAX_ENTRIES)));
}

/* ------------------------------------------------------------------------
 * Names
 * ------------------------------------------------------------------------
 */

bool
yq_resource_name_is_constant(const char *name)
{
	for (int i = 0; i < (int) lengthof(known_names); i++)
	{
		if (known_names[i].name == name)
			return true;
	}
	return false;
}

int
yq_resource_name_compare(const char *a, int a_length,
						 const char *b, int b_length)
{
	int			result;

	if (a == b && a_length == b_length)
		return 0;				/* both names are well known, and are therefore the same pointer */

	result = memcmp(a, b, Min(a_length, b_length));
	if (result != 0)
		return result;
	return (a_length > b_length) - (a_length < b_length);
}

static inline int
compare_entry_names(const YqResourceEntry *a, const YqResourceEntry *b)
{
	return yq_resource_name_compare(a->name, a->name_length,
									b->name, b->name_length);
}

static inline bool
entry_has_name(const ResourceName *known, const char *name, int name_length)
{
	return known->length == name_length &&
		(known->name == name || memcmp(known->name, name, name_length) == 0);
}

/* Return the code of a name, or SPELLED_NAME if the name is not well known. */
static uint8
name_code(const char *name, int name_length)
{
	for (int i = 0; i < (int) lengthof(known_names); i++)
	{
		if (entry_has_name(&known_names[i], name, name_length))
			return i + 1;
	}
	return SPELLED_NAME;
}

bool
yq_resource_name_normalize(const char **name, int *name_length)
{
	if (*name_length < 1 || *name_length > YQ_RESOURCE_MAX_NAME_LENGTH)
		return false;

	for (int i = 0; i < *name_length; i++)
	{
		char		c = (*name)[i];

		if (c <= ' ' || c > '~' || strchr("[]<>,:=", c) != NULL)
			return false;
	}

	for (int i = 0; i < (int) lengthof(aliases); i++)
	{
		if (entry_has_name(&aliases[i].alias, *name, *name_length))
		{
			*name = aliases[i].meaning.name;
			*name_length = aliases[i].meaning.length;
			break;
		}
	}
	return true;
}

/* ------------------------------------------------------------------------
 * Reading and writing the representation
 * ------------------------------------------------------------------------
 */

static const uint8 *
decode_name(const uint8 *p, const uint8 *end, YqResourceEntry *entry)
{
	uint8		code = *p++;

	if (code != SPELLED_NAME)
	{
		if (code > lengthof(known_names))
			report_corrupt("Unknown name code.");
		entry->name = known_names[code - 1].name;
		entry->name_length = known_names[code - 1].length;
		return p;
	}

	if (p >= end || *p == 0 || end - p - 1 < *p)
		report_corrupt("Name is cut off.");
	entry->name_length = *p++;
	entry->name = (const char *) p;
	return p + entry->name_length;
}

static const uint8 *
decode_amount(const uint8 *p, const uint8 *end, YqResourceEntry *entry)
{
	uint64		zigzag = 0;

	for (int i = 0; i < MAX_AMOUNT_BYTES && p < end; i++)
	{
		uint8		byte = *p++;

		zigzag |= ((uint64) (byte & 0x7f)) << (7 * i);
		if ((byte & 0x80) == 0)
		{
			if (byte == 0 || (i == MAX_AMOUNT_BYTES - 1 && byte > 1))
				break;			/* the packed amount is zero, longer than necessary, or has more than 64 bits */
			entry->amount = (int64) ((zigzag >> 1) ^ -(zigzag & 1));
			return p;
		}
	}
	report_corrupt("Amount is cut off or not in its shortest form.");
	return NULL;
}

int
yq_resource_read(const YqResource *resource, YqResourceEntry *entries)
{
	const uint8 *p = (const uint8 *) VARDATA_ANY(resource);
	const uint8 *end = p + VARSIZE_ANY_EXHDR(resource);
	int			count = 0;

	while (p < end)
	{
		if (count == YQ_RESOURCE_MAX_ENTRIES)
			report_corrupt("Too many entries.");
		p = decode_name(p, end, &entries[count]);
		p = decode_amount(p, end, &entries[count]);
		if (count > 0 &&
			compare_entry_names(&entries[count - 1], &entries[count]) >= 0)
			report_corrupt("Names are not in order.");
		count++;
	}
	return count;
}

static uint8 *
write_entry(uint8 *p, const YqResourceEntry *entry)
{
	uint8		code = name_code(entry->name, entry->name_length);
	uint64		zigzag = ((uint64) entry->amount << 1) ^
		(entry->amount < 0 ? ~UINT64CONST(0) : 0);

	*p++ = code;
	if (code == SPELLED_NAME)
	{
		*p++ = entry->name_length;
		memcpy(p, entry->name, entry->name_length);
		p += entry->name_length;
	}
	for (; zigzag >= 0x80; zigzag >>= 7)
		*p++ = (zigzag & 0x7f) | 0x80;
	*p++ = zigzag;
	return p;
}

/* Make a vector from entries that are already canonical. */
static YqResource *
write_entries(const YqResourceEntry *entries, int count)
{
	YqResource *result;
	Size		room = VARHDRSZ;
	uint8	   *p;

	if (count > YQ_RESOURCE_MAX_ENTRIES)
		report_too_many();

	for (int i = 0; i < count; i++)
		room += 2 + entries[i].name_length + MAX_AMOUNT_BYTES;

	result = (YqResource *) palloc(room);
	p = (uint8 *) VARDATA(result);
	for (int i = 0; i < count; i++)
		p = write_entry(p, &entries[i]);
	SET_VARSIZE(result, p - (uint8 *) result);
	return result;
}

/* Insert "entry" at its position into an array of "count" sorted entries. */
static void
insert_entry(YqResourceEntry *sorted, int count, const YqResourceEntry *entry)
{
	int			i = count;

	/* search from the end, because callers mostly pass entries in order */
	for (; i > 0; i--)
	{
		int			order = compare_entry_names(&sorted[i - 1], entry);

		if (order < 0)
			break;
		if (order == 0)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("resource \"%.*s\" is given more than once",
							entry->name_length, entry->name)));
	}
	memmove(&sorted[i + 1], &sorted[i], (count - i) * sizeof(YqResourceEntry));
	sorted[i] = *entry;
}

YqResource *
yq_resource_make(const YqResourceEntry *entries, int count)
{
	YqResourceEntry sorted[YQ_RESOURCE_MAX_ENTRIES];
	int			kept = 0;

	if (count > YQ_RESOURCE_MAX_ENTRIES)
		report_too_many();

	for (int i = 0; i < count; i++)
	{
		YqResourceEntry entry = entries[i];

		if (!yq_resource_name_normalize(&entry.name, &entry.name_length))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("invalid resource name \"%.*s\"",
							entry.name_length, entry.name)));
		insert_entry(sorted, i, &entry);
	}

	/*
	 * drop zero amounts only here, because the loop above must also refuse a second entry of a name
	 * whose amount is zero
	 */
	for (int i = 0; i < count; i++)
	{
		if (sorted[i].amount != 0)
			sorted[kept++] = sorted[i];
	}
	return write_entries(sorted, kept);
}

/* ------------------------------------------------------------------------
 * Walking two vectors side by side
 * ------------------------------------------------------------------------
 */

typedef struct ResourcePair
{
	YqResourceEntry a[YQ_RESOURCE_MAX_ENTRIES];
	YqResourceEntry b[YQ_RESOURCE_MAX_ENTRIES];
	int			a_count;
	int			b_count;
	int			a_next;
	int			b_next;
} ResourcePair;

/* A resource type that at least one of the vectors contains, with both amounts. */
typedef struct ResourcePairEntry
{
	YqResourceEntry entry;		/* the name, and the amount in vector a */
	int64		b_amount;
} ResourcePairEntry;

static void
pair_start(ResourcePair *pair, const YqResource *a, const YqResource *b)
{
	pair->a_count = yq_resource_read(a, pair->a);
	pair->b_count = yq_resource_read(b, pair->b);
	pair->a_next = 0;
	pair->b_next = 0;
}

/* Step to the next name of either vector, in name order.  Returns false at the end. */
static bool
pair_next(ResourcePair *pair, ResourcePairEntry *next)
{
	bool		has_a = pair->a_next < pair->a_count;
	bool		has_b = pair->b_next < pair->b_count;
	int			order;

	if (!has_a && !has_b)
		return false;
	if (has_a && has_b)
		order = compare_entry_names(&pair->a[pair->a_next],
									&pair->b[pair->b_next]);
	else
		order = has_a ? -1 : 1;

	next->entry = (order <= 0) ? pair->a[pair->a_next] : pair->b[pair->b_next];
	if (order > 0)
		next->entry.amount = 0;
	next->b_amount = (order >= 0) ? pair->b[pair->b_next].amount : 0;
	pair->a_next += (order <= 0);
	pair->b_next += (order >= 0);
	return true;
}

/* ------------------------------------------------------------------------
 * Comparison
 * ------------------------------------------------------------------------
 */

bool
yq_resource_equal(const YqResource *a, const YqResource *b)
{
	Size		size = VARSIZE_ANY_EXHDR(a);

	return size == VARSIZE_ANY_EXHDR(b) &&
		memcmp(VARDATA_ANY(a), VARDATA_ANY(b), size) == 0;
}

uint32
yq_resource_hash(const YqResource *resource)
{
	return hash_bytes((const unsigned char *) VARDATA_ANY(resource),
					  VARSIZE_ANY_EXHDR(resource));
}

uint64
yq_resource_hash_extended(const YqResource *resource, uint64 seed)
{
	return hash_bytes_extended((const unsigned char *) VARDATA_ANY(resource),
							   VARSIZE_ANY_EXHDR(resource), seed);
}

int
yq_resource_compare(const YqResource *a, const YqResource *b)
{
	ResourcePair pair;
	ResourcePairEntry next;

	pair_start(&pair, a, b);
	while (pair_next(&pair, &next))
	{
		if (next.entry.amount != next.b_amount)
			return next.entry.amount < next.b_amount ? -1 : 1;
	}
	return 0;
}

bool
yq_resource_fits_in(const YqResource *a, const YqResource *b)
{
	ResourcePair pair;
	ResourcePairEntry next;

	pair_start(&pair, a, b);
	while (pair_next(&pair, &next))
	{
		if (next.entry.amount > next.b_amount)
			return false;
	}
	return true;
}

int64
yq_resource_amount(const YqResource *resource,
				   const char *name, int name_length)
{
	YqResourceEntry entries[YQ_RESOURCE_MAX_ENTRIES];
	int			count = yq_resource_read(resource, entries);

	for (int i = 0; i < count; i++)
	{
		if (yq_resource_name_compare(entries[i].name, entries[i].name_length,
									 name, name_length) == 0)
			return entries[i].amount;
	}
	return 0;
}

void
yq_resource_dominant_share(const YqResource *resource,
						   const YqResource *total_resource,
						   int64 *amount, int64 *total)
{
	ResourcePair pair;
	ResourcePairEntry next;

	*amount = 0;
	*total = 1;

	pair_start(&pair, resource, total_resource);
	while (pair_next(&pair, &next))
	{
		if (next.entry.amount <= 0)
			continue;
		if (next.b_amount <= 0)
		{
			*amount = next.entry.amount;
			*total = 0;
			return;
		}
		if ((int128) next.entry.amount * *total >
			(int128) *amount * next.b_amount)
		{
			*amount = next.entry.amount;
			*total = next.b_amount;
		}
	}
}

/* ------------------------------------------------------------------------
 * Arithmetic
 * ------------------------------------------------------------------------
 */

typedef bool (*CombineAmounts) (int64 a, int64 b, int64 *result);

static bool
add_overflows(int64 a, int64 b, int64 *result)
{
	return pg_add_s64_overflow(a, b, result);
}

static bool
subtract_overflows(int64 a, int64 b, int64 *result)
{
	return pg_sub_s64_overflow(a, b, result);
}

static YqResource *
combine(const YqResource *a, const YqResource *b, CombineAmounts overflows)
{
	YqResourceEntry entries[2 * YQ_RESOURCE_MAX_ENTRIES];
	ResourcePair pair;
	ResourcePairEntry next;
	int			count = 0;

	pair_start(&pair, a, b);
	while (pair_next(&pair, &next))
	{
		int64		amount;

		if (overflows(next.entry.amount, next.b_amount, &amount))
			report_out_of_range(&next.entry);
		if (amount == 0)
			continue;
		entries[count] = next.entry;
		entries[count++].amount = amount;
	}
	return write_entries(entries, count);
}

YqResource *
yq_resource_add(const YqResource *a, const YqResource *b)
{
	return combine(a, b, add_overflows);
}

YqResource *
yq_resource_subtract(const YqResource *a, const YqResource *b)
{
	return combine(a, b, subtract_overflows);
}

YqResource *
yq_resource_multiply(const YqResource *a, int64 factor)
{
	YqResourceEntry entries[YQ_RESOURCE_MAX_ENTRIES];
	int			count = yq_resource_read(a, entries);

	if (factor == 0)
		return write_entries(entries, 0);

	for (int i = 0; i < count; i++)
	{
		if (pg_mul_s64_overflow(entries[i].amount, factor, &entries[i].amount))
			report_out_of_range(&entries[i]);
	}
	return write_entries(entries, count);
}

static int64
greatest_common_divisor(int64 a, int64 b)
{
	while (b != 0)
	{
		int64		rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

int64
yq_resource_reduce(const YqResource *resource, YqResource **shape)
{
	YqResourceEntry entries[YQ_RESOURCE_MAX_ENTRIES];
	int			count = yq_resource_read(resource, entries);
	int64		divisor = 0;

	for (int i = 0; i < count; i++)
	{
		if (entries[i].amount < 0)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("amount of resource \"%.*s\" is negative",
							entries[i].name_length, entries[i].name)));
		divisor = greatest_common_divisor(divisor, entries[i].amount);
	}
	for (int i = 0; divisor > 1 && i < count; i++)
		entries[i].amount /= divisor;
	*shape = yq_resource_make(entries, count);
	return divisor;
}
