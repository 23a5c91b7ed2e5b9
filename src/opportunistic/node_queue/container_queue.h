/*-------------------------------------------------------------------------
 *
 * container_queue.h
 *	  Decides which containers of a node start, wait, are paused or are killed: the
 *	  ContainerScheduler of Hadoop's node manager.
 *
 * The queue uses no table.  A node has a queue of GUARANTEED and a queue of
 * OPPORTUNISTIC containers, both in the order in which containers joined them.  It also
 * has a list of running containers in the order in which they started.  The room of a
 * node is its size less the allocations of its running containers.  Only memory,
 * virtual memory and cores count.
 *
 * Unlike in Hadoop, OPPORTUNISTIC containers may have more room if the measured use of
 * the node is reported (node_container.h).  They have no room while the measured use
 * exceeds a preemption threshold.  For GUARANTEED containers, both their starts and the
 * room that others make for them depend only on the allocations.  Allocations beyond
 * the node's size are therefore taken back, too.
 *
 * Settings may choose orders other than Hadoop's for starting OPPORTUNISTIC containers
 * and for killing running ones (node_container.h).
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

/* Add a container that is already at the node, at the end of the queue or list that its state implies. */
extern void yq_container_queue_add(YqContainerQueue *queue, YqNodeContainer *container);

/* Let a container arrive.  Afterwards its state is running, waiting or GONE. */
extern void yq_container_queue_arrive(YqContainerQueue *queue, YqNodeContainer *container);

/*
 * Remove a container that has ended, whether it ran or waited.  The caller removes
 * several containers before any other container starts.  Returns true if the container
 * ran, so that others may start.
 */
extern bool yq_container_queue_remove(YqContainerQueue *queue, YqNodeContainer *container);

/* Remove a container that has ended, and start other containers in its room. */
extern void yq_container_queue_complete(YqContainerQueue *queue, YqNodeContainer *container);

/* Move a PAUSING container, which has released its resources, to the end of its queue. */
extern void yq_container_queue_paused(YqContainerQueue *queue, YqNodeContainer *container);

/*
 * Promote or demote a container.  A waiting container moves to the end of the other
 * queue.  Other containers make room for a promoted container.
 */
extern void yq_container_queue_change_type(YqContainerQueue *queue, YqNodeContainer *container, bool is_guaranteed);

/*
 * Drop the newest of the waiting OPPORTUNISTIC containers that exceed a limit.  Paused
 * containers are neither dropped nor counted.  A negative limit means no limit.
 */
extern void yq_container_queue_shed(YqContainerQueue *queue, int limit);

/* Return the amounts that the node lacks to run all waiting GUARANTEED containers, up to the given one. */
extern YqNodeAmounts yq_container_queue_lacking(const YqContainerQueue *queue, const YqNodeContainer *container);

/* Would a GUARANTEED container start at once if it were the last to wait, without others making room? */
extern bool yq_container_queue_starts_at_once(const YqContainerQueue *queue, const YqNodeContainer *container);

/* Start the containers that can start, as after a recovery. */
extern void yq_container_queue_start_pending(YqContainerQueue *queue);

/*
 * Pause or kill OPPORTUNISTIC containers until their amounts cover the excess of the
 * measured use. Amounts that are being freed, or were freed since the report, count,
 * too.  Returns the number of containers.
 */
extern int	yq_container_queue_preempt(YqContainerQueue *queue);

/* Sums over the containers that run at the node, including those that are being killed or paused. */
typedef struct YqRunningSums
{
	YqNodeAmounts guaranteed;
	YqNodeAmounts guaranteed_since;	/* amounts of those that began to run after the report of the measured use */
	YqNodeAmounts opportunistic_since;
} YqRunningSums;

extern YqRunningSums yq_container_queue_running(const YqContainerQueue *queue);

/* Return the unallocated amounts, which are the room in Hadoop; negative at an over-allocated node. */
extern YqNodeAmounts yq_container_queue_free(const YqContainerQueue *queue);

/*
 * Return the room for OPPORTUNISTIC containers: the unallocated amounts, or the room by
 * measured use if that is larger.
 */
extern YqNodeAmounts yq_container_queue_room(const YqContainerQueue *queue);

/* Return the capacity that the node reports for its queue. */
extern int	yq_container_queue_capacity(const YqContainerQueue *queue);

#endif							/* YQ_CONTAINER_QUEUE_H */
