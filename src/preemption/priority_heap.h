/*-------------------------------------------------------------------------
 *
 * priority_heap.h
 *	  A binary heap of which equal elements come out as they do of Java's.
 *
 * Hadoop serves equal siblings in the order in which java.util.PriorityQueue has
 * them, so every step is that of its offer() and poll(), where the server's
 * lib/binaryheap.h takes others.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_PRIORITY_HEAP_H
#define YQ_PRIORITY_HEAP_H

/* Negative when the first element comes out first. */
typedef int (*YqHeapComparison) (const void *a, const void *b, void *argument);

/* Add an element to a heap of "count", which has room for it. */
extern void yq_priority_heap_add(void **heap, int count, void *element, YqHeapComparison compare, void *argument);

/* Remove the first element of a heap of "count", which is not empty. */
extern void *yq_priority_heap_remove(void **heap, int count, YqHeapComparison compare, void *argument);

#endif							/* YQ_PRIORITY_HEAP_H */
