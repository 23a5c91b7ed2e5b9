/*-------------------------------------------------------------------------
 *
 * allocation.h
 *	  palloc with a fence behind every chunk, for the address sanitizer.
 *
 * The server's allocator hands out pieces of large blocks, so writing past the
 * end of a piece goes unnoticed.  fuzz.sh includes this file in front of every
 * source; from then on what yquota allocates is followed by bytes that must
 * not be touched.  What the server allocates is not.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_FUZZ_ALLOCATION_H
#define YQ_FUZZ_ALLOCATION_H

#include "postgres.h"

#include "utils/memutils.h"

extern void *yq_fuzz_allocate(MemoryContext context, Size size, bool zero);
extern void *yq_fuzz_reallocate(void *chunk, Size size);
extern void yq_fuzz_free(void *chunk);

/* Take away all fences: before a memory context is emptied. */
extern void yq_fuzz_remove_fences(void);

#define palloc(size)	yq_fuzz_allocate(CurrentMemoryContext, size, false)
#define palloc0(size)	yq_fuzz_allocate(CurrentMemoryContext, size, true)
#define MemoryContextAlloc(context, size)		yq_fuzz_allocate(context, size, false)
#define MemoryContextAllocZero(context, size)	yq_fuzz_allocate(context, size, true)
#define repalloc(chunk, size)		yq_fuzz_reallocate(chunk, size)
#define repalloc_huge(chunk, size)	yq_fuzz_reallocate(chunk, size)
#define pfree(chunk)	yq_fuzz_free(chunk)

#endif							/* YQ_FUZZ_ALLOCATION_H */
