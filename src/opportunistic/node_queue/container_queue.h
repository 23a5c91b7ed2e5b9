/*-------------------------------------------------------------------------
 *
 * container_queue.h
 *	  Which containers of a node start, wait, are paused or are killed: the
 *	  ContainerScheduler of Hadoop's node manager.
 *
 * Knows no table.  A node has a queue of GUARANTEED and one of OPPORTUNISTIC
 * containers, both in the order in which containers joined them, and a list of
 * running ones in the order in which they started.  The room of a node is its size
 * less the allocations of its running containers.  Memory, virtual memory and cores
 * count, and no other resource types.
 *
 * Otherwise than in Hadoop, OPPORTUNISTIC containers may have more room where the
 * measured use of the node is told (node_container.h), but none while it is above a
 * preemption threshold.  GUARANTEED ones start, and others make room for them, by the
 * allocations alone: whatever is allocated beyond the node's size is taken back, too.
 *
 * Settings may have the OPPORTUNISTIC queue start, and running ones be killed, in other orders
 * than Hadoop's (node_container.h, node_container.h).
 *
 * Each operation appends what it decides, in Hadoop's order, to the decisions.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_CONTAINER_QUEUE_H
#define YQ_CONTAINER_QUEUE_H

#include "opportunistic/node_queue/node_container.h"

/* In the current memory context. */
extern YqContainerQueue *yq_container_queue_make(const YqContainerQueueSettings *settings);

/* Add a container that the node has already, at the end of what its state puts it in. */
extern void yq_container_queue_add(YqContainerQueue *queue, YqNodeContainer *container);

/* A container arrives; afterwards its state tells whether it runs, waits or is GONE. */
extern void yq_container_queue_arrive(YqContainerQueue *queue, YqNodeContainer *container);

/*
 * A container has ended, whether it ran or waited, and others are to be removed before any
 * starts.  True if it ran: only such a one lets others start.
 */
extern bool yq_container_queue_remove(YqContainerQueue *queue, YqNodeContainer *container);

/* A container has ended, and others start in its room. */
extern void yq_container_queue_complete(YqContainerQueue *queue, YqNodeContainer *container);

/* A PAUSING container has given its room back; it goes to the end of its queue. */
extern void yq_container_queue_paused(YqContainerQueue *queue, YqNodeContainer *container);

/*
 * A container was promoted or demoted.  One that waits goes to the end of the other queue,
 * and a promoted one is made room for.
 */
extern void yq_container_queue_change_type(YqContainerQueue *queue, YqNodeContainer *container, bool is_guaranteed);

/*
 * Drop the newest of the OPPORTUNISTIC containers that wait, beyond so many; paused ones
 * are neither dropped nor counted.  A negative limit is none.
 */
extern void yq_container_queue_shed(YqContainerQueue *queue, int limit);

/* What the node lacks when all GUARANTEED containers that wait, up to this one, run. */
extern YqNodeAmounts yq_container_queue_lacking(const YqContainerQueue *queue, const YqNodeContainer *container);

/* Would a GUARANTEED container that is the last to wait start without that others make room? */
extern bool yq_container_queue_starts_at_once(const YqContainerQueue *queue, const YqNodeContainer *container);

/* Start what can start, as after a recovery. */
extern void yq_container_queue_start_pending(YqContainerQueue *queue);

/*
 * Pause or kill OPPORTUNISTIC containers until what they hold, with what is being freed and
 * was freed since the report, covers the excess of the measured use.  Returns how many.
 */
extern int	yq_container_queue_preempt(YqContainerQueue *queue);

/* What runs at the node, or is being killed or paused. */
typedef struct YqRunningSums
{
	YqNodeAmounts guaranteed;
	YqNodeAmounts guaranteed_since;	/* of these, what began to run since the measured use was told */
	YqNodeAmounts opportunistic_since;
} YqRunningSums;

extern YqRunningSums yq_container_queue_running(const YqContainerQueue *queue);

/* What is not allocated, which is Hadoop's room; below 0 at a node that is over-allocated. */
extern YqNodeAmounts yq_container_queue_free(const YqContainerQueue *queue);

/* The room of OPPORTUNISTIC containers: that, or what the measured use leaves if it is more. */
extern YqNodeAmounts yq_container_queue_room(const YqContainerQueue *queue);

/* What the node reports as the capacity of its queue. */
extern int	yq_container_queue_capacity(const YqContainerQueue *queue);

#endif							/* YQ_CONTAINER_QUEUE_H */
