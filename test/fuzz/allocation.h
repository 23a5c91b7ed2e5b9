/*-------------------------------------------------------------------------
 *
 * allocation.h
 *	  palloc with a fence behind every chunk, for the address sanitizer.
 *
 * The server's allocator gives out pieces of large blocks.  So the sanitizer
 * does not notice a write past the end of a piece.
 *
 * fuzz.sh includes this file in front of every source of yquota.  Then every
 * chunk that yquota allocates is followed by bytes that must not be touched.
 * The server's own chunks have no fence.
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

/* Remove all fences, before a memory context is reset. */
extern void yq_fuzz_remove_fences(void);

#define palloc(size)	yq_fuzz_allocate(CurrentMemoryContext, size, false)
#define palloc0(size)	yq_fuzz_allocate(CurrentMemoryContext, size, true)
#define MemoryContextAlloc(context, size)		yq_fuzz_allocate(context, size, false)
#define MemoryContextAllocZero(context, size)	yq_fuzz_allocate(context, size, true)
#define repalloc(chunk, size)		yq_fuzz_reallocate(chunk, size)
#define repalloc_huge(chunk, size)	yq_fuzz_reallocate(chunk, size)
#define pfree(chunk)	yq_fuzz_free(chunk)

#endif							/* YQ_FUZZ_ALLOCATION_H */
