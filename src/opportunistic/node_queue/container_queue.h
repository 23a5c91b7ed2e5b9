/*-------------------------------------------------------------------------
 *
 * container_queue.h
 *	  Decides which containers of a node start, wait, are paused or are killed: the
 *	  ContainerScheduler of Hadoop's node manager.
 *
 * No function here reads a table.  A node has a queue of GUARANTEED and a queue of
 * OPPORTUNISTIC containers, both in the order in which containers joined them.  It also
 * has a list of running containers in the order in which they started.  The room of a
 * node is its size less the allocations of its running containers.  Only memory,
 * virtual memory and cores count.
 *
 * Unlike in Hadoop, OPPORTUNISTIC containers may have more room if the measured use of the node is
 * reported (node_container.h).  They have no room while the measured use exceeds a preemption
 * threshold.  Whether a GUARANTEED container starts, and how much room other containers make for
 * it, depends only on the allocations.  If more is allocated than the node has, the other
 * containers free this excess, too.
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

/* Create a queue in the current memory context. */
extern YqContainerQueue *yq_container_queue_make(const YqContainerQueueSettings *settings);

/*
 * Add a container that is already at the node.  It is appended to the waiting or
 * running containers, depending on its state.
 */
extern void yq_container_queue_add(YqContainerQueue *queue, YqNodeContainer *container);

/* Process the arrival of a container.  After the call, the container runs, waits, or is GONE. */
extern void yq_container_queue_arrive(YqContainerQueue *queue, YqNodeContainer *container);

/*
 * Remove a container that has ended, from the running or the waiting containers.  If
 * several containers have ended, the caller removes all of them before it starts
 * others.  Returns true if the container was running, so that others may have room now.
 */
extern bool yq_container_queue_remove(YqContainerQueue *queue, YqNodeContainer *container);

/* Remove a container that has ended, and start waiting containers in the freed room. */
extern void yq_container_queue_complete(YqContainerQueue *queue, YqNodeContainer *container);

/* Move a PAUSING container to the end of its queue.  The container has released its resources. */
extern void yq_container_queue_paused(YqContainerQueue *queue, YqNodeContainer *container);

/*
 * Change the execution type of a container.  A waiting container moves to the end of
 * the other queue.  If it becomes GUARANTEED, OPPORTUNISTIC containers are paused or
 * killed to make room for it.
 */
extern void yq_container_queue_change_type(YqContainerQueue *queue, YqNodeContainer *container, bool is_guaranteed);

/*
 * Drop waiting OPPORTUNISTIC containers until at most "limit" wait.  The newest are
 * dropped first.  Paused containers are not dropped and do not count.  A negative limit
 * means no limit.
 */
extern void yq_container_queue_shed(YqContainerQueue *queue, int limit);

/*
 * Return the amounts that the node lacks to start the given GUARANTEED container and
 * all GUARANTEED containers that wait before it.
 */
extern YqNodeAmounts yq_container_queue_lacking(const YqContainerQueue *queue, const YqNodeContainer *container);

/*
 * Would this GUARANTEED container start immediately if it were the last in its queue, without
 * pausing or killing other containers?
 */
extern bool yq_container_queue_starts_at_once(const YqContainerQueue *queue, const YqNodeContainer *container);

/* Start the waiting containers that have room, for example after a recovery. */
extern void yq_container_queue_start_pending(YqContainerQueue *queue);

/*
 * Pause or kill OPPORTUNISTIC containers until their amounts cover the excess of the
 * measured use.  Amounts that are being freed, or have been freed since the report,
 * count as covered.  Returns the number of containers that were paused or killed.
 */
extern int	yq_container_queue_preempt(YqContainerQueue *queue);

/* Amounts of the containers that run at the node.  Containers that are being killed or paused are included. */
typedef struct YqRunningSums
{
	YqNodeAmounts guaranteed;
	YqNodeAmounts guaranteed_since;	/* amounts of containers that began to run after the report of the measured use */
	YqNodeAmounts opportunistic_since;
} YqRunningSums;

extern YqRunningSums yq_container_queue_running(const YqContainerQueue *queue);

/*
 * Return the node's unallocated amounts, which are its room in Hadoop.  At an
 * over-allocated node they are negative.
 */
extern YqNodeAmounts yq_container_queue_free(const YqContainerQueue *queue);

/*
 * Return the room for OPPORTUNISTIC containers.  It is the larger of the unallocated
 * amounts and the room that the measured use leaves.
 */
extern YqNodeAmounts yq_container_queue_room(const YqContainerQueue *queue);

/* Return the capacity that the node reports for its queue of OPPORTUNISTIC containers. */
extern int	yq_container_queue_capacity(const YqContainerQueue *queue);

#endif							/* YQ_CONTAINER_QUEUE_H */
