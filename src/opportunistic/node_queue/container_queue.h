/*-------------------------------------------------------------------------
 *
 * container_queue.h
 *	  Decides which containers of a node start, wait, are paused or are killed: the
 *	  ContainerScheduler of Hadoop's node manager.
 *
 * The queue knows no table.  A node has a queue of GUARANTEED and one of OPPORTUNISTIC containers,
 * both in the order in which containers joined them.  It also has a list of running containers in
 * the order in which they started.  The room of a node is its size less the allocations of its
 * running containers.  Memory, virtual memory and cores count, and no other resource types.
 *
 * Unlike in Hadoop, OPPORTUNISTIC containers may have more room where the measured use of the node
 * is reported (node_container.h).  They have none while it is above a preemption threshold.
 * GUARANTEED containers start, and others make room for them, by the allocations alone.
 * Allocations beyond the node's size are therefore taken back, too.
 *
 * Settings may choose other orders than Hadoop's for the starts of OPPORTUNISTIC containers and for
 * the kills of running ones (node_container.h).
 *
 * Each operation appends its decisions, in Hadoop's order.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_CONTAINER_QUEUE_H
#define YQ_CONTAINER_QUEUE_H

#include "opportunistic/node_queue/node_container.h"

/* Make a queue in the current memory context. */
extern YqContainerQueue *yq_container_queue_make(const YqContainerQueueSettings *settings);

/* Add a container that the node has already, at the end of the queue or list of its state. */
extern void yq_container_queue_add(YqContainerQueue *queue, YqNodeContainer *container);

/* Let a container arrive; afterwards its state tells whether it runs, waits or is GONE. */
extern void yq_container_queue_arrive(YqContainerQueue *queue, YqNodeContainer *container);

/*
 * Remove a container that has ended, whether it ran or waited, when others are to be removed before
 * any starts.  Returns true if it ran: only its end lets others start.
 */
extern bool yq_container_queue_remove(YqContainerQueue *queue, YqNodeContainer *container);

/* Remove a container that has ended, and start others in its room. */
extern void yq_container_queue_complete(YqContainerQueue *queue, YqNodeContainer *container);

/* Move a PAUSING container, which has given back its room, to the end of its queue. */
extern void yq_container_queue_paused(YqContainerQueue *queue, YqNodeContainer *container);

/*
 * Promote or demote a container.  A waiting one goes to the end of the other queue, and others make
 * room for a promoted one.
 */
extern void yq_container_queue_change_type(YqContainerQueue *queue, YqNodeContainer *container, bool is_guaranteed);

/*
 * Drop the newest of the waiting OPPORTUNISTIC containers that exceed a limit.  Paused ones are
 * neither dropped nor counted.  A negative limit is none.
 */
extern void yq_container_queue_shed(YqContainerQueue *queue, int limit);

/* Return the amounts that the node lacks when all waiting GUARANTEED containers, up to this one, run. */
extern YqNodeAmounts yq_container_queue_lacking(const YqContainerQueue *queue, const YqNodeContainer *container);

/* Would a GUARANTEED container, as the last one to wait, start without others making room? */
extern bool yq_container_queue_starts_at_once(const YqContainerQueue *queue, const YqNodeContainer *container);

/* Start the containers that can start, as after a recovery. */
extern void yq_container_queue_start_pending(YqContainerQueue *queue);

/*
 * Pause or kill OPPORTUNISTIC containers until their amounts cover the excess of the measured use.
 * Amounts that are being freed, or were freed since the report, count as well.  Returns the number
 * of containers.
 */
extern int	yq_container_queue_preempt(YqContainerQueue *queue);

/* Sums over the containers that run at the node, or are being killed or paused. */
typedef struct YqRunningSums
{
	YqNodeAmounts guaranteed;
	YqNodeAmounts guaranteed_since;	/* amounts of these that began to run after the report of the measured use */
	YqNodeAmounts opportunistic_since;
} YqRunningSums;

extern YqRunningSums yq_container_queue_running(const YqContainerQueue *queue);

/* Return the unallocated amounts, which are Hadoop's room; below 0 at an over-allocated node. */
extern YqNodeAmounts yq_container_queue_free(const YqContainerQueue *queue);

/*
 * Return the room of OPPORTUNISTIC containers: the unallocated amounts, or the room by measured use
 * if that is larger.
 */
extern YqNodeAmounts yq_container_queue_room(const YqContainerQueue *queue);

/* Return the capacity that the node reports for its queue. */
extern int	yq_container_queue_capacity(const YqContainerQueue *queue);

#endif							/* YQ_CONTAINER_QUEUE_H */
