/*-------------------------------------------------------------------------
 *
 * allocation.c
 *	  The fences around allocated memory (see allocation.h).
 *
 * The server's code is not instrumented, and may use fenced memory again once
 * it is free.  Therefore a fence is removed when its chunk is freed, and all
 * fences are removed after each run.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <sanitizer/asan_interface.h>

#include "allocation.h"

#undef palloc
#undef palloc0
#undef MemoryContextAlloc
#undef MemoryContextAllocZero
#undef repalloc
#undef repalloc_huge
#undef pfree

#define FENCE_BYTES 32

typedef struct Fence
{
	char	   *start;
	struct Fence *next;			/* the fence before */
} Fence;

static Fence *fences = NULL;

static void
put_fence(char *start)
{
	Fence	   *fence = malloc(sizeof(Fence));

	if (fence == NULL)
		abort();
	fence->start = start;
	fence->next = fences;
	fences = fence;
	ASAN_POISON_MEMORY_REGION(start, FENCE_BYTES);
}

void *
yq_fuzz_allocate(MemoryContext context, Size size, bool zero)
{
	char	   *chunk = MemoryContextAllocExtended(context, size + FENCE_BYTES,
												   MCXT_ALLOC_HUGE | (zero ? MCXT_ALLOC_ZERO : 0));

	put_fence(chunk + size);
	return chunk;
}

void *
yq_fuzz_reallocate(void *chunk, Size size)
{
	ASAN_UNPOISON_MEMORY_REGION(chunk, GetMemoryChunkSpace(chunk));
	chunk = repalloc_huge(chunk, size + FENCE_BYTES);
	put_fence((char *) chunk + size);
	return chunk;
}

void
yq_fuzz_free(void *chunk)
{
	ASAN_UNPOISON_MEMORY_REGION(chunk, GetMemoryChunkSpace(chunk));
	pfree(chunk);
}

void
yq_fuzz_remove_fences(void)
{
	while (fences != NULL)
	{
		Fence	   *fence = fences;

		fences = fence->next;
		ASAN_UNPOISON_MEMORY_REGION(fence->start, FENCE_BYTES);
		free(fence);
	}
}
