/*-------------------------------------------------------------------------
 *
 * node_container.h
 *	  Manages the containers of a node: its measured use, and the orders in which containers start
 *	  and are killed.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_NODE_CONTAINER_H
#define YQ_NODE_CONTAINER_H

#include "base/compat.h"

#include "datatype/timestamp.h"
#include "lib/ilist.h"
#include "nodes/pg_list.h"
#include "queues/allocation_setting.h"

/* -- measured use -------------------------------------------------------------- */

/*
 * Computes the measured use of a node by its last report, and compares it with the thresholds.
 * More than the node's size may be allocated to OPPORTUNISTIC containers while their neighbours use
 * less than they hold.
 *
 * Nothing here knows a table.  Amounts are MiB or cores.  A threshold is a part of the node's size,
 * in millionths, and is rounded down to a whole unit.  A report in which a type is missing or 0 has
 * not measured it.
 */

/* The measured use of one resource type. */
typedef struct YqMeasuredAmount
{
	YqOverAllocation thresholds;
	int64		total;			/* size of the node */
	int64		measured;		/* 0: not measured */
	int64		freed;			/* amount of containers ended or paused since the report, while there is an excess */
} YqMeasuredAmount;

typedef struct YqMeasuredUse
{
	bool		is_told;		/* there is a report that counts; otherwise the other members do not matter */
	TimestampTz reported_at;
	YqMeasuredAmount memory;
	YqMeasuredAmount vcores;
} YqMeasuredUse;

/*
 * Return the amount that the threshold leaves to OPPORTUNISTIC containers, below 0 when it is
 * exceeded: threshold - max(measured + GUARANTEED since, GUARANTEED) - OPPORTUNISTIC since.
 * PG_INT64_MIN without a threshold, or when nothing was measured.
 */
extern int64 yq_measured_room(const YqMeasuredAmount *amount, int64 guaranteed, int64 guaranteed_since,
							  int64 opportunistic_since);

/*
 * Return the excess of the measured use over the preemption threshold; 0: no excess, or the node
 * has nothing of the type.
 */
extern int64 yq_measured_excess(const YqMeasuredAmount *amount);

/* Does any type have an excess? */
extern bool yq_measured_has_excess(const YqMeasuredUse *use);

/* Return a threshold of millionths as a decimal fraction, palloc'd. */
extern char *yq_measured_fraction(int64 millionths);

/* -- node container ------------------------------------------------------------ */

/* A container and the queue that holds it; the operations are in container_queue.h. */

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
	YQ_CONTAINER_PAUSED,		/* waits in its queue, as a QUEUED container does */
	YQ_CONTAINER_KILLING,		/* holds its room until it has ended */
	YQ_CONTAINER_GONE
} YqContainerState;

/* A container at its node; the caller owns it. */
typedef struct YqNodeContainer
{
	dlist_node	node;			/* link in the list of its queue, or in that of running containers */
	bool		is_guaranteed;
	YqContainerState state;
	int64		memory;			/* MiB */
	int64		vcores;
	bool		is_since_report;	/* the container began to run after the report of the measured use */
	bool		is_ranked;		/* the next two members are known; only an order of its own needs them */
	int64		start_rank;		/* the smallest starts first */
	int			user;			/* number of its user, from 0 on, below user_count; set if the order is fair */
	int64		kill_rank;		/* the smallest is killed first; set by the queue's callback */
	int			kill_place;		/* place among those that may be killed; the last started has 0 */
} YqNodeContainer;

typedef struct YqContainerQueueSettings
{
	int64		memory;			/* size of the node, MiB */
	int64		vcores;			/* likewise */
	float		vmem_ratio;		/* virtual memory for each unit of memory */
	bool		checks_vmem;
	int			capacity;		/* OPPORTUNISTIC containers that may wait; 0 or less: none */
	bool		is_by_resources;	/* waiting containers must fit into the free room, regardless of the capacity */
	bool		uses_pause;		/* pauses containers instead of killing them */
	YqStartOrder start_order;
	YqKillOrder kill_order;
} YqContainerQueueSettings;

typedef enum YqQueueDecisionKind
{
	YQ_QUEUE_START,
	YQ_QUEUE_RESUME,			/* start of a paused container */
	YQ_QUEUE_PAUSE,
	YQ_QUEUE_KILL,				/* kill of a running container */
	YQ_QUEUE_REJECT,			/* refusal of a container that arrives */
	YQ_QUEUE_SHED				/* drop of a waiting container */
} YqQueueDecisionKind;

typedef struct YqQueueDecision
{
	YqQueueDecisionKind kind;
	YqNodeContainer *container;

	/* GUARANTEED container for which it is paused or killed; NULL: the measured use is too high, or neither applies */
	const YqNodeContainer *made_room_for;
} YqQueueDecision;

typedef struct YqContainerQueue
{
	YqContainerQueueSettings settings;
	YqMeasuredUse measured;		/* set by the caller before containers are added */
	YqNodeAmounts total;
	YqNodeAmounts used;			/* amounts of running containers, including those that are being killed or paused */
	YqNodeAmounts being_freed;	/* amounts of containers that are being killed or paused */
	dlist_head	guaranteed;
	dlist_head	opportunistic;
	dlist_head	running;		/* in the order of their starts */
	int			guaranteed_count;
	int			opportunistic_count;
	int			running_count;
	List	   *decisions;		/* YqQueueDecision * elements */

	/*
	 * Callbacks for orders that need data from outside the queue; set by the caller.  The first
	 * gives start_rank and user to all containers without ranks.  The second gives kill_rank to
	 * those that run.
	 */
	void		(*rank_waiting) (void *argument);
	void		(*rank_running) (void *argument);
	void	   *argument;
	int			user_count;		/* number of users, set by rank_waiting */
} YqContainerQueue;

/* Compute amounts; virtual memory is a float32 product, cut to whole MiB, as ContainersMonitor counts. */
static inline YqNodeAmounts
yq_node_amounts(const YqContainerQueue *queue, int64 memory, int64 vcores)
{
	float		virtual_memory = (float) memory * queue->settings.vmem_ratio;

	return (YqNodeAmounts) {memory, (int64) virtual_memory, vcores};
}

/* Compute the amounts of a container. */
static inline YqNodeAmounts
yq_node_amounts_of(const YqContainerQueue *queue, const YqNodeContainer *container)
{
	return yq_node_amounts(queue, container->memory, container->vcores);
}

/* Add amounts "times" times: 1 or -1. */
static inline void
yq_node_amounts_add(YqNodeAmounts *sum, YqNodeAmounts amounts, int times)
{
	sum->memory += times * amounts.memory;
	sum->virtual_memory += times * amounts.virtual_memory;
	sum->vcores += times * amounts.vcores;
}

/* Is any amount above 0?  Virtual memory counts, even when it is not checked. */
static inline bool
yq_node_amounts_are_lacking(YqNodeAmounts amounts)
{
	return amounts.memory > 0 || amounts.virtual_memory > 0 || amounts.vcores > 0;
}

/* -- start order --------------------------------------------------------------- */

/*
 * Chooses the OPPORTUNISTIC container that starts next among those that wait at a node.
 *
 * Paused containers wait among the others.  Of equal containers the one that came first to the
 * queue is first.  Nothing here knows a table.
 */

/* Return the first container in the start order; at least one must wait. */
extern YqNodeContainer *yq_start_order_first(YqContainerQueue *queue);

/* -- kill order ---------------------------------------------------------------- */

/*
 * Chooses the running OPPORTUNISTIC containers that are paused or killed to free an amount.
 *
 * All reasons to take containers back use one order: GUARANTEED containers without room, and
 * amounts that are no longer free.  The queue's callback sets the ranks for the order.  Of equal
 * containers the last started goes first.  Nothing here knows a table.
 */

/*
 * Return the containers that may be chosen, in the order of the settings.  They run and are neither
 * being killed nor paused.  With YQ_KILL_FEWEST the last started is the first.  The result is a
 * list of YqNodeContainer *.
 */
extern List *yq_kill_order_candidates(YqContainerQueue *queue);

/*
 * Choose from these candidates, in that order, until the amounts lack nothing.  The first ones are
 * chosen or, with YQ_KILL_FEWEST, the fewest that free enough.  All are chosen when they are not
 * enough, and none when nothing lacks.
 */
extern List *yq_kill_order_choose(YqContainerQueue *queue, YqNodeAmounts lacking);

#endif							/* YQ_NODE_CONTAINER_H */
