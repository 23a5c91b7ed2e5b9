/*-------------------------------------------------------------------------
 *
 * resource.h
 *	  The type yquota.resource: a sparse vector of named int64 amounts.
 *
 * A value is canonical: entries are sorted by name (bytewise), names are
 * unique, zero amounts are left out.  Two equal vectors are therefore equal
 * byte for byte, which is what equality, hashing and the rate classes of
 * charging rely on.  Amounts are native units (MiB for memory-mb, whole cores
 * for vcores, devices for yarn.io/gpu) and may be negative in differences;
 * whoever needs them non-negative checks it.
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
 * amounts are dropped; a name given twice is ERRCODE_INVALID_PARAMETER_VALUE.
 */
extern YqResource *yq_resource_make(const YqResourceEntry *entries, int count);

/* Equality and a 32-bit hash of canonical values. */
extern bool yq_resource_equal(const YqResource *a, const YqResource *b);
extern uint32 yq_resource_hash(const YqResource *resource);

/*
 * a + b and a - b, palloc'd; ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE when an amount
 * does not fit in int64.
 */
extern YqResource *yq_resource_add(const YqResource *a, const YqResource *b);
extern YqResource *yq_resource_subtract(const YqResource *a, const YqResource *b);

/* Text form, palloc'd: [memory-mb=4096,vcores=2]. */
extern char *yq_resource_to_cstring(const YqResource *resource);

#endif							/* YQ_RESOURCE_H */
