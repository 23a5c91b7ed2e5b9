/*-------------------------------------------------------------------------
 *
 * node_container.h
 *	  Manages the containers of a node: its measured use, and the orders in which
 *	  containers start and are killed.
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
 * Computes the measured use of a node from its last report, and compares it with the
 * thresholds.  While other containers use less than their allocations, OPPORTUNISTIC
 * containers may be allocated more than the node's size.
 *
 * No function here uses a table.  Amounts are MiB or cores.  A threshold is a fraction
 * of the node's size, in millionths, and is rounded down to a whole unit.  If a type is
 * missing or 0 in a report, it was not measured.
 */

/* The measured use of one resource type. */
typedef struct YqMeasuredAmount
{
	YqOverAllocation thresholds;
	int64		total;			/* size of the node */
	int64		measured;		/* 0: not measured */
	int64		freed;			/* amount of containers ended or paused since the report, during an excess */
} YqMeasuredAmount;

typedef struct YqMeasuredUse
{
	bool		is_told;		/* a valid report exists; otherwise the other members are not set */
	TimestampTz reported_at;
	YqMeasuredAmount memory;
	YqMeasuredAmount vcores;
} YqMeasuredUse;

/*
 * Return the amount that the threshold leaves to OPPORTUNISTIC containers: threshold -
 * max(measured + GUARANTEED since, GUARANTEED) - OPPORTUNISTIC since. The result is
 * negative if the threshold is exceeded, and PG_INT64_MIN without a threshold or if
 * nothing was measured.
 */
extern int64 yq_measured_room(const YqMeasuredAmount *amount, int64 guaranteed, int64 guaranteed_since,
							  int64 opportunistic_since);

/*
 * Return the excess of the measured use over the preemption threshold; 0 means no
 * excess, or a node without this type.
 */
extern int64 yq_measured_excess(const YqMeasuredAmount *amount);

/* Does any type have an excess? */
extern bool yq_measured_has_excess(const YqMeasuredUse *use);

/* Return a threshold in millionths as a decimal fraction, palloc'd. */
extern char *yq_measured_fraction(int64 millionths);

/* -- node container ------------------------------------------------------------ */

/* A container and the queue that holds it; the operations are in container_queue.h. */

/* Amounts of memory and virtual memory in MiB, and of cores. */
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
	YQ_CONTAINER_PAUSING,		/* uses its resources until it is paused */
	YQ_CONTAINER_PAUSED,		/* waits in its queue, as a QUEUED container does */
	YQ_CONTAINER_KILLING,		/* uses its resources until it has ended */
	YQ_CONTAINER_GONE
} YqContainerState;

/* A container at its node; the caller owns it. */
typedef struct YqNodeContainer
{
	dlist_node	node;			/* link in the list of its queue, or in the list of running containers */
	bool		is_guaranteed;
	YqContainerState state;
	int64		memory;			/* MiB */
	int64		vcores;
	bool		is_since_report;	/* the container began to run after the report of the measured use */
	bool		is_ranked;		/* the next two members are set; only orders that Hadoop does not have need them */
	int64		start_rank;		/* the container with the smallest rank starts first */
	int			user;			/* number of its user, from 0, less than user_count; set if the order is fair */
	int64		kill_rank;		/* the smallest rank is killed first; set by the queue's callback */
	int			kill_place;		/* position among the containers that may be killed; the last started has 0 */
} YqNodeContainer;

typedef struct YqContainerQueueSettings
{
	int64		memory;			/* size of the node, MiB */
	int64		vcores;			/* likewise */
	float		vmem_ratio;		/* virtual memory for each unit of memory */
	bool		checks_vmem;
	int			capacity;		/* number of OPPORTUNISTIC containers that may wait; 0 or less: none */
	bool		is_by_resources;	/* waiting containers must fit into the free room, whatever the capacity is */
	bool		uses_pause;		/* the node pauses containers instead of killing them */
	YqStartOrder start_order;
	YqKillOrder kill_order;
} YqContainerQueueSettings;

typedef enum YqQueueDecisionKind
{
	YQ_QUEUE_START,
	YQ_QUEUE_RESUME,			/* start of a paused container */
	YQ_QUEUE_PAUSE,
	YQ_QUEUE_KILL,				/* kill of a running container */
	YQ_QUEUE_REJECT,			/* refusal of an arriving container */
	YQ_QUEUE_SHED				/* drop of a waiting container */
} YqQueueDecisionKind;

typedef struct YqQueueDecision
{
	YqQueueDecisionKind kind;
	YqNodeContainer *container;

	/* the GUARANTEED container for which the decision makes room; NULL: there is none */
	const YqNodeContainer *made_room_for;
} YqQueueDecision;

typedef struct YqContainerQueue
{
	YqContainerQueueSettings settings;
	YqMeasuredUse measured;		/* set by the caller before containers are added */
	YqNodeAmounts total;
	YqNodeAmounts used;			/* amounts of running containers, including containers being killed or paused */
	YqNodeAmounts being_freed;	/* amounts of containers that are being killed or paused */
	dlist_head	guaranteed;
	dlist_head	opportunistic;
	dlist_head	running;		/* in the order of their starts */
	int			guaranteed_count;
	int			opportunistic_count;
	int			running_count;
	List	   *decisions;		/* YqQueueDecision * elements */

	/*
	 * Callbacks for orders that need data from outside the queue; set by the caller.  The
	 * first callback sets start_rank and user of all containers without ranks.  The second
	 * sets kill_rank of the running containers.
	 */
	void		(*rank_waiting) (void *argument);
	void		(*rank_running) (void *argument);
	void	   *argument;
	int			user_count;		/* number of users, set by rank_waiting */
} YqContainerQueue;

/* Compute amounts.  Virtual memory is a float32 product, truncated to whole MiB, as in ContainersMonitor. */
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

/* Add amounts to a sum, or subtract them: "times" is 1 or -1. */
static inline void
yq_node_amounts_add(YqNodeAmounts *sum, YqNodeAmounts amounts, int times)
{
	sum->memory += times * amounts.memory;
	sum->virtual_memory += times * amounts.virtual_memory;
	sum->vcores += times * amounts.vcores;
}

/* Is any amount above 0?  Virtual memory counts even when it is not checked. */
static inline bool
yq_node_amounts_are_lacking(YqNodeAmounts amounts)
{
	return amounts.memory > 0 || amounts.virtual_memory > 0 || amounts.vcores > 0;
}

/* -- start order --------------------------------------------------------------- */

/*
 * Chooses the next OPPORTUNISTIC container to start among the containers that wait at a
 * node.
 *
 * Paused containers wait together with the others.  Among equal containers, the
 * container that came to the queue first is first.  No function here uses a table.
 */

/* Return the first container in the start order.  At least one container must wait. */
extern YqNodeContainer *yq_start_order_first(YqContainerQueue *queue);

/* -- kill order ---------------------------------------------------------------- */

/*
 * Chooses the running OPPORTUNISTIC containers that are paused or killed to free given
 * amounts.
 *
 * There are two reasons to take containers back: GUARANTEED containers without room,
 * and amounts that are no longer free.  Both use the same order.  The queue's callback
 * sets the ranks for the order. Among equal containers, the last started goes first.
 * No function here uses a table.
 */

/*
 * Return the containers that may be chosen, in the order of the settings.  They run,
 * and are neither being killed nor paused.  With YQ_KILL_FEWEST the last started comes
 * first.  The result is a list of YqNodeContainer *.
 */
extern List *yq_kill_order_candidates(YqContainerQueue *queue);

/*
 * Choose from these candidates, in that order, until no amount is lacking.  The
 * function chooses the first containers or, with YQ_KILL_FEWEST, the fewest that free
 * enough.  If all are not enough, it chooses all; if no amount is lacking, it chooses
 * none.
 */
extern List *yq_kill_order_choose(YqContainerQueue *queue, YqNodeAmounts lacking);

#endif							/* YQ_NODE_CONTAINER_H */
