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
 * measured use of the node is told (measured_use.h), but none while it is above a
 * preemption threshold.  GUARANTEED ones start, and others make room for them, by the
 * allocations alone: whatever is allocated beyond the node's size is taken back, too.
 *
 * Each operation appends what it decides, in Hadoop's order, to the decisions.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_CONTAINER_QUEUE_H
#define YQ_CONTAINER_QUEUE_H

#include "lib/ilist.h"
#include "nodes/pg_list.h"
#include "scheduler/opportunistic/measured_use.h"

/* Amounts of memory and virtual memory in MiB, and cores. */
typedef struct YqNodeAmounts
{
	int64		memory;
	int64		virtual_memory;
	int64		vcores;
} YqNodeAmounts;

typedef enum YqContainerState
{
	YQ_CONTAINER_QUEUED,
	YQ_CONTAINER_RUNNING,
	YQ_CONTAINER_PAUSING,		/* holds its room until it is paused */
	YQ_CONTAINER_PAUSED,		/* waits in its queue, as a QUEUED one does */
	YQ_CONTAINER_KILLING,		/* holds its room until it has ended */
	YQ_CONTAINER_GONE
} YqContainerState;

/* A container at its node; the caller owns it. */
typedef struct YqNodeContainer
{
	dlist_node	node;			/* among those that wait in its queue, or that run */
	bool		is_guaranteed;
	YqContainerState state;
	int64		memory;			/* MiB */
	int64		vcores;
	bool		is_since_report;	/* it began to run after the measured use was told */
} YqNodeContainer;

typedef struct YqContainerQueueSettings
{
	int64		memory;			/* of the node, MiB */
	int64		vcores;			/* likewise */
	float		vmem_ratio;		/* virtual memory for each unit of memory */
	bool		checks_vmem;
	int			capacity;		/* OPPORTUNISTIC containers that may wait; 0 or less: none */
	bool		is_by_resources;	/* as many may wait as the node's free room holds, whatever the capacity */
	bool		uses_pause;		/* instead of killing */
} YqContainerQueueSettings;

typedef enum YqQueueDecisionKind
{
	YQ_QUEUE_START,
	YQ_QUEUE_RESUME,			/* the start of a paused one */
	YQ_QUEUE_PAUSE,
	YQ_QUEUE_KILL,				/* of a running one */
	YQ_QUEUE_REJECT,			/* of one that arrives */
	YQ_QUEUE_SHED				/* of one that waits */
} YqQueueDecisionKind;

typedef struct YqQueueDecision
{
	YqQueueDecisionKind kind;
	YqNodeContainer *container;
	const YqNodeContainer *made_room_for;	/* the GUARANTEED container that it is paused or killed for; NULL: the measured use is too high, or it is neither */
} YqQueueDecision;

typedef struct YqContainerQueue
{
	YqContainerQueueSettings settings;
	YqMeasuredUse measured;		/* the caller's, before containers are added */
	YqNodeAmounts total;
	YqNodeAmounts used;			/* by running containers, those included that are being killed or paused */
	YqNodeAmounts being_freed;	/* by the latter */
	dlist_head	guaranteed;
	dlist_head	opportunistic;
	dlist_head	running;		/* the last one started last */
	int			guaranteed_count;
	int			opportunistic_count;
	int			running_count;
	List	   *decisions;		/* of YqQueueDecision * */
} YqContainerQueue;

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
