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

/* The largest number of entries in a vector; input with more is an error. */
#define YQ_RESOURCE_MAX_ENTRIES 64

/* The largest amount of one resource type in an allocation, so that sums of allocations stay in int64. */
#define YQ_ALLOCATION_MAX_AMOUNT (INT64CONST(1) << 50)

/* The longest name, in bytes. */
#define YQ_RESOURCE_MAX_NAME_LENGTH 255

/* A detoasted value, whose header may be short.  Other files do not access its content. */
typedef struct varlena YqResource;

#define DatumGetYqResourceP(d)		((YqResource *) PG_DETOAST_DATUM_PACKED(d))
#define PG_GETARG_YQ_RESOURCE_P(n)	DatumGetYqResourceP(PG_GETARG_DATUM(n))
#define PG_RETURN_YQ_RESOURCE_P(r)	PG_RETURN_POINTER(r)

/* An entry that has been read from a vector. */
typedef struct YqResourceEntry
{
	const char *name;			/* not terminated; points into the vector or is constant */
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
 * Replace an alias (memory, vCores) by the name that it stands for.  Returns false when
 * the name is not valid. A valid name has 1 to YQ_RESOURCE_MAX_NAME_LENGTH bytes of
 * printable ASCII without white space and []<>,:=.
 */
extern bool yq_resource_name_normalize(const char **name, int *name_length);

/* Tell whether a name is a constant string, which callers need not copy. */
extern bool yq_resource_name_is_constant(const char *name);

/* Compare two names bytewise; a prefix comes first. */
extern int	yq_resource_name_compare(const char *a, int a_length,
									 const char *b, int b_length);

/* Compare canonical values for equality.  The second function computes a 32-bit hash of a value. */
extern bool yq_resource_equal(const YqResource *a, const YqResource *b);
extern uint32 yq_resource_hash(const YqResource *resource);
extern uint64 yq_resource_hash_extended(const YqResource *resource, uint64 seed);

/*
 * Compare two vectors for sorting, by the amounts of the first name in which they
 * differ.  The order extends yq_resource_fits_in(): a vector that fits in another
 * vector is not sorted after it.
 */
extern int	yq_resource_compare(const YqResource *a, const YqResource *b);

/* Tell whether every amount of "a" is at most that of "b". */
extern bool yq_resource_fits_in(const YqResource *a, const YqResource *b);

/* Return the amount of a name, which must not be an alias; 0 when the vector does not contain the name. */
extern int64 yq_resource_amount(const YqResource *resource,
								const char *name, int name_length);

/*
 * Find the largest amount/total over the names with a positive amount, as a fraction;
 * it is 0/1 when there are no such names. *total is 0 when the share is infinite,
 * because the total of a name with a positive amount is zero or negative.
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
 * Divide a vector by the greatest common divisor of its amounts, and return the
 * divisor, which is 0 for the empty vector.  A negative amount is
 * ERRCODE_INVALID_PARAMETER_VALUE.
 */
extern int64 yq_resource_reduce(const YqResource *resource, YqResource **shape);

/*
 * A sum of vectors in a memory context of the caller.  The sum has 128 bits, so only
 * the final result has to fit; the errors are those of yq_resource_add().
 */
typedef struct YqResourceSum YqResourceSum;
extern YqResourceSum *yq_resource_sum_create(MemoryContext context);

/* Add a vector (sign 1) or subtract it (sign -1). */
extern void yq_resource_sum_add(YqResourceSum *sum, const YqResource *resource, int sign);

/* Tell whether every amount of the sum is zero. */
extern bool yq_resource_sum_is_zero(const YqResourceSum *sum);

/* Tell whether two sums have the same types and amounts.  Types with a zero amount also count. */
extern bool yq_resource_sum_equal(const YqResourceSum *a, const YqResourceSum *b);

/* Return the sum, palloc'd. */
extern YqResource *yq_resource_sum_vector(const YqResourceSum *sum);

/* Return the text form, palloc'd: [memory-mb=4096,vcores=2]. */
extern char *yq_resource_to_cstring(const YqResource *resource);

#endif							/* YQ_RESOURCE_H */
