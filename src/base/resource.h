/*-------------------------------------------------------------------------
 *
 * resource.h
 *	  The type yquota.resource: a sparse vector of named int64 amounts.
 *
 * A value is canonical: entries are sorted by name (bytewise), names are
 * unique, zero amounts are left out.  Two equal vectors are therefore equal
 * byte for byte; equality, hashing and the rate classes of charging rely on
 * that.  Amounts are native units (MiB for memory-mb, whole cores
 * for vcores, devices for yarn.io/gpu) and may be negative in differences; a
 * caller that needs them non-negative checks it.  A name that a vector does not
 * have stands for the amount 0 everywhere.
 *
 * Nothing here reads a catalog: every function is immutable and parallel safe.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_RESOURCE_H
#define YQ_RESOURCE_H

#include "fmgr.h"

/* The most entries one vector may hold; more is an error on input. */
#define YQ_RESOURCE_MAX_ENTRIES 64

/* The largest amount of one resource type in an allocation, so that sums of allocations stay in int64. */
#define YQ_ALLOCATION_MAX_AMOUNT (INT64CONST(1) << 50)

/* The longest name, in bytes. */
#define YQ_RESOURCE_MAX_NAME_LENGTH 255

/* A detoasted value; the header may be a short one.  Opaque to other files. */
typedef struct varlena YqResource;

#define DatumGetYqResourceP(d)		((YqResource *) PG_DETOAST_DATUM_PACKED(d))
#define PG_GETARG_YQ_RESOURCE_P(n)	DatumGetYqResourceP(PG_GETARG_DATUM(n))
#define PG_RETURN_YQ_RESOURCE_P(r)	PG_RETURN_POINTER(r)

/* One entry, as read out of a vector. */
typedef struct YqResourceEntry
{
	const char *name;			/* not terminated; lives in the vector or is
								 * constant */
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
 * Make a vector, palloc'd with a full header, of entries in any order.  Zero
 * amounts are dropped; a name given twice, or one that is no resource name, is
 * ERRCODE_INVALID_PARAMETER_VALUE; too many entries are
 * ERRCODE_PROGRAM_LIMIT_EXCEEDED.  Aliases are stored as the name they mean.
 */
extern YqResource *yq_resource_make(const YqResourceEntry *entries, int count);

/*
 * Replace an alias (memory, vCores) by the name it means.  False when the
 * bytes are no resource name: printable ASCII without white space and
 * []<>,:=, one to YQ_RESOURCE_MAX_NAME_LENGTH of them.
 */
extern bool yq_resource_name_normalize(const char **name, int *name_length);

/* Whether a name is one of those that are constant, and need not be copied. */
extern bool yq_resource_name_is_constant(const char *name);

/* Order of two names: bytewise, a prefix first. */
extern int	yq_resource_name_compare(const char *a, int a_length,
									 const char *b, int b_length);

/* Equality and a 32-bit hash of canonical values. */
extern bool yq_resource_equal(const YqResource *a, const YqResource *b);
extern uint32 yq_resource_hash(const YqResource *resource);
extern uint64 yq_resource_hash_extended(const YqResource *resource, uint64 seed);

/*
 * Total order for sorting: by the amounts of the first name in which the two
 * differ.  It extends fits_in: a vector that fits in another one sorts no
 * later.
 */
extern int	yq_resource_compare(const YqResource *a, const YqResource *b);

/* Is every amount of a at most that of b? */
extern bool yq_resource_fits_in(const YqResource *a, const YqResource *b);

/* The amount of one name, which is not an alias; 0 when absent. */
extern int64 yq_resource_amount(const YqResource *resource,
								const char *name, int name_length);

/*
 * The largest amount/total over the names with a positive amount, as a
 * fraction: 0/1 when there is none.  *total is 0 when the share is infinite: a
 * positive amount of something of which the total has none (or less).
 */
extern void yq_resource_dominant_share(const YqResource *resource,
									   const YqResource *total_resource,
									   int64 *amount, int64 *total);

/*
 * a + b, a - b and a * factor, palloc'd; ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE
 * when an amount does not fit in int64, ERRCODE_PROGRAM_LIMIT_EXCEEDED when
 * the result has too many entries.
 */
extern YqResource *yq_resource_add(const YqResource *a, const YqResource *b);
extern YqResource *yq_resource_subtract(const YqResource *a, const YqResource *b);
extern YqResource *yq_resource_multiply(const YqResource *a, int64 factor);

/*
 * Divide a vector by the greatest common divisor of its amounts, which is
 * returned, 0 for the empty vector.  Amounts must not be
 * negative (ERRCODE_INVALID_PARAMETER_VALUE).
 */
extern int64 yq_resource_reduce(const YqResource *resource, YqResource **shape);

/*
 * A sum of vectors, kept in a memory context of the caller's.  It adds in 128
 * bits, so only the final sum has to fit: errors as for yq_resource_add().
 */
typedef struct YqResourceSum YqResourceSum;
extern YqResourceSum *yq_resource_sum_create(MemoryContext context);

/* Add (sign 1) or take away (-1) a vector. */
extern void yq_resource_sum_add(YqResourceSum *sum, const YqResource *resource, int sign);

/* Whether every amount of the sum is zero. */
extern bool yq_resource_sum_is_zero(const YqResourceSum *sum);

/* Whether two sums are of the same types and amounts; a type whose amount is zero is one of them. */
extern bool yq_resource_sum_equal(const YqResourceSum *a, const YqResourceSum *b);

/* The sum, palloc'd. */
extern YqResource *yq_resource_sum_vector(const YqResourceSum *sum);

/* Text form, palloc'd: [memory-mb=4096,vcores=2]. */
extern char *yq_resource_to_cstring(const YqResource *resource);

#endif							/* YQ_RESOURCE_H */
