/*-------------------------------------------------------------------------
 *
 * priority_heap.c
 *	  A binary heap of which equal elements come out as they do of Java's.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "preemption/priority_heap.h"

void
yq_priority_heap_add(void **heap, int count, void *element, YqHeapComparison compare, void *argument)
{
	int			at = count;

	while (at > 0 && compare(element, heap[(at - 1) / 2], argument) < 0)
	{
		heap[at] = heap[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	heap[at] = element;
}

void *
yq_priority_heap_remove(void **heap, int count, YqHeapComparison compare, void *argument)
{
	void	   *first = heap[0];
	void	   *last = heap[count - 1];
	int			left = count - 1;
	int			at = 0;

	while (at * 2 + 1 < left)
	{
		int			below = at * 2 + 1;

		if (below + 1 < left && compare(heap[below], heap[below + 1], argument) > 0)
			below++;
		if (compare(last, heap[below], argument) <= 0)
			break;
		heap[at] = heap[below];
		at = below;
	}
	heap[at] = last;
	return first;
}
