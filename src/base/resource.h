/*-------------------------------------------------------------------------
 *
 * resource.h
 *	  The type yquota.resource: a sparse vector of named int64 amounts.
 *
 * A value is canonical: entries are sorted by name (bytewise), names are unique, and
 * zero amounts are left out. Two equal vectors are therefore equal byte for byte;
 * equality, hashing and the rate classes of charging depend on that.  Amounts are
 * native units (MiB for memory-mb, whole cores for vcores, devices for yarn.io/gpu).
 * They may be negative in differences; a caller that needs non-negative amounts checks
 * them.  In all functions, a name that is missing in a vector counts as the amount 0.
 *
 * No function here reads a catalog; every function is immutable and parallel safe.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_RESOURCE_H
#define YQ_RESOURCE_H

#include "fmgr.h"

/* The largest number of entries of a vector; input with more entries is an error. */
#define YQ_RESOURCE_MAX_ENTRIES 64

/* The largest amount of one resource type in an allocation, so that sums of allocations stay in int64. */
#define YQ_ALLOCATION_MAX_AMOUNT (INT64CONST(1) << 50)

/* The largest number of bytes of a name. */
#define YQ_RESOURCE_MAX_NAME_LENGTH 255

/* A detoasted value, which may have a short header.  Only resource.c reads the content of a value. */
typedef struct varlena YqResource;

#define DatumGetYqResourceP(d)		((YqResource *) PG_DETOAST_DATUM_PACKED(d))
#define PG_GETARG_YQ_RESOURCE_P(n)	DatumGetYqResourceP(PG_GETARG_DATUM(n))
#define PG_RETURN_YQ_RESOURCE_P(r)	PG_RETURN_POINTER(r)

/* An entry that has been read from a vector. */
typedef struct YqResourceEntry
{
	const char *name;			/* name, not terminated; points into the vector or to a constant */
	int			name_length;
	int64		amount;			/* native units */
} YqResourceEntry;

/*
 * Read all entries in canonical order into "entries" (room for
 * YQ_RESOURCE_MAX_ENTRIES) and return their number.  Names point into the
 * vector, which must outlive them.  A corrupt value is ERRCODE_DATA_CORRUPTED.
 */
extern int	yq_resource_read(const YqResource *resource,
							 YqResourceEntry *entries);

/*
 * Make a vector from entries in any order; it is palloc'd with a full header.  Zero
 * amounts are dropped.  A repeated or invalid name is ERRCODE_INVALID_PARAMETER_VALUE,
 * and too many entries are ERRCODE_PROGRAM_LIMIT_EXCEEDED.  Aliases are replaced by the
 * names that they stand for.
 */
extern YqResource *yq_resource_make(const YqResourceEntry *entries, int count);

/*
 * Replace an alias (memory, vCores) by the name that it stands for.  Returns false when the name
 * is not valid.  A valid name has 1 to YQ_RESOURCE_MAX_NAME_LENGTH bytes.  They are printable
 * ASCII, without white space and without the characters []<>,:=.
 */
extern bool yq_resource_name_normalize(const char **name, int *name_length);

/* Tell whether a name points to a constant.  Callers need not copy such a name. */
extern bool yq_resource_name_is_constant(const char *name);

/* Compare two names bytewise.  A name sorts before the longer names that begin with it. */
extern int	yq_resource_name_compare(const char *a, int a_length,
									 const char *b, int b_length);

/*
 * Tell whether two canonical values are equal. yq_resource_hash() computes a 32-bit hash of a
 * canonical value.
 */
extern bool yq_resource_equal(const YqResource *a, const YqResource *b);
extern uint32 yq_resource_hash(const YqResource *resource);
extern uint64 yq_resource_hash_extended(const YqResource *resource, uint64 seed);

/*
 * Compare two vectors for sorting, by their amounts of the first name whose amounts differ.  If
 * "a" fits in "b" according to yq_resource_fits_in(), "a" is never sorted after "b".
 */
extern int	yq_resource_compare(const YqResource *a, const YqResource *b);

/* Tell whether every amount of "a" is at most that of "b". */
extern bool yq_resource_fits_in(const YqResource *a, const YqResource *b);

/*
 * Return the amount of a name, which must not be an alias.  The amount is 0 when the vector does
 * not contain the name.
 */
extern int64 yq_resource_amount(const YqResource *resource,
								const char *name, int name_length);

/*
 * Compute amount/total for each name with a positive amount, and return the largest share as a
 * fraction.  The share is 0/1 when no amount is positive. *total is 0 when the share is infinite:
 * an amount is positive, and its total is zero or negative.
 */
extern void yq_resource_dominant_share(const YqResource *resource,
									   const YqResource *total_resource,
									   int64 *amount, int64 *total);

/*
 * Compute a + b, a - b and a * factor, palloc'd.  Raises ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE when an amount
 * does not fit in int64, and ERRCODE_PROGRAM_LIMIT_EXCEEDED when the result has too many entries.
 */
extern YqResource *yq_resource_add(const YqResource *a, const YqResource *b);
extern YqResource *yq_resource_subtract(const YqResource *a, const YqResource *b);
extern YqResource *yq_resource_multiply(const YqResource *a, int64 factor);

/*
 * Divide a vector by the greatest common divisor of its amounts, and return this divisor.  The
 * divisor of the empty vector is 0.  A negative amount is ERRCODE_INVALID_PARAMETER_VALUE.
 */
extern int64 yq_resource_reduce(const YqResource *resource, YqResource **shape);

/*
 * A sum of vectors in a memory context of the caller.  Amounts of the sum have 128 bits, so only
 * the final result has to fit in int64.  Errors are those of yq_resource_add().
 */
typedef struct YqResourceSum YqResourceSum;
extern YqResourceSum *yq_resource_sum_create(MemoryContext context);

/* Add a vector (sign 1) or subtract it (sign -1). */
extern void yq_resource_sum_add(YqResourceSum *sum, const YqResource *resource, int sign);

/* Tell whether every amount of the sum is zero. */
extern bool yq_resource_sum_is_zero(const YqResourceSum *sum);

/*
 * Tell whether two sums have the same resource types and amounts.  A type that only one sum
 * contains makes a difference, even if its amount is zero.
 */
extern bool yq_resource_sum_equal(const YqResourceSum *a, const YqResourceSum *b);

/* Return the sum, palloc'd. */
extern YqResource *yq_resource_sum_vector(const YqResourceSum *sum);

/* Return the text form, palloc'd, such as [memory-mb=4096,vcores=2]. */
extern char *yq_resource_to_cstring(const YqResource *resource);

#endif							/* YQ_RESOURCE_H */
