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
 * Compute the measured use of a node from its last report, and compare it with the
 * thresholds.  If containers use less than is allocated to them, OPPORTUNISTIC
 * containers may be allocated beyond the node's size.
 *
 * No function here reads a table.  Amounts are MiB or cores.  A threshold is a fraction
 * of the node's size, in millionths, and is rounded down to a whole unit.  A type that
 * is missing or 0 in a report was not measured.
 */

/* Measured use of a resource type at a node. */
typedef struct YqMeasuredAmount
{
	YqOverAllocation thresholds;
	int64		total;			/* size of the node in this type */
	int64		measured;		/* 0: not measured */
	int64		freed;			/* amount freed by containers that ended or paused since the report, if the report
								 * has an excess */
} YqMeasuredAmount;

typedef struct YqMeasuredUse
{
	bool		is_told;		/* the node has a valid report; if not, the other members are not set */
	TimestampTz reported_at;
	YqMeasuredAmount memory;
	YqMeasuredAmount vcores;
} YqMeasuredUse;

/*
 * Return the amount that is left to OPPORTUNISTIC containers: threshold - max(measured
 * + guaranteed_since, guaranteed) - opportunistic_since.  The result is negative if the
 * threshold is exceeded.  It is PG_INT64_MIN if there is no threshold, or if nothing
 * was measured.
 */
extern int64 yq_measured_room(const YqMeasuredAmount *amount, int64 guaranteed, int64 guaranteed_since,
							  int64 opportunistic_since);

/*
 * Return by how much the measured use exceeds the preemption threshold, or 0 if it does
 * not.  The result is also 0 if the node does not have this type.
 */
extern int64 yq_measured_excess(const YqMeasuredAmount *amount);

/* Does the measured use of any type exceed its preemption threshold? */
extern bool yq_measured_has_excess(const YqMeasuredUse *use);

/* Return a threshold in millionths as a decimal fraction, palloc'd. */
extern char *yq_measured_fraction(int64 millionths);

/* -- node container ------------------------------------------------------------ */

/* Containers at a node, and the queue that contains them.  Operations on the queue are in container_queue.h. */

/* Amounts: memory and virtual memory in MiB, and cores. */
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
	YQ_CONTAINER_PAUSED,		/* waits in its queue, like a QUEUED container */
	YQ_CONTAINER_KILLING,		/* uses its resources until it has ended */
	YQ_CONTAINER_GONE
} YqContainerState;

/* A container at its node.  The caller owns the memory. */
typedef struct YqNodeContainer
{
	dlist_node	node;			/* link in the list of waiting containers of its type, or in the list of running
								 * containers */
	bool		is_guaranteed;
	YqContainerState state;
	int64		memory;			/* MiB */
	int64		vcores;
	bool		is_since_report;	/* did the container begin to run after the report of the measured use? */
	bool		is_ranked;		/* are start_rank and user set?  Hadoop's orders do not need these members */
	int64		start_rank;		/* the container with the smallest rank is started first */
	int			user;			/* number of the container's user, from 0 to user_count - 1; set for the order
								 * YQ_START_FAIR */
	int64		kill_rank;		/* the container with the smallest rank is killed first; set by rank_running */
	int			kill_place;		/* position among the containers that may be killed, the last started first, from 0 */
} YqNodeContainer;

typedef struct YqContainerQueueSettings
{
	int64		memory;			/* memory of the node in MiB */
	int64		vcores;			/* cores of the node */
	float		vmem_ratio;		/* virtual memory per unit of memory */
	bool		checks_vmem;
	int			capacity;		/* number of OPPORTUNISTIC containers that may wait; 0 or less: none may wait */
	bool		is_by_resources;	/* waiting containers must fit into the room of the node; "capacity" is ignored */
	bool		uses_pause;		/* pause containers instead of killing them */
	YqStartOrder start_order;
	YqKillOrder kill_order;
} YqContainerQueueSettings;

typedef enum YqQueueDecisionKind
{
	YQ_QUEUE_START,
	YQ_QUEUE_RESUME,			/* start a paused container again */
	YQ_QUEUE_PAUSE,
	YQ_QUEUE_KILL,				/* kill a running container */
	YQ_QUEUE_REJECT,			/* refuse an arriving container */
	YQ_QUEUE_SHED				/* drop a waiting container */
} YqQueueDecisionKind;

typedef struct YqQueueDecision
{
	YqQueueDecisionKind kind;
	YqNodeContainer *container;

	/* GUARANTEED container for which other containers make room by this decision; NULL: none */
	const YqNodeContainer *made_room_for;
} YqQueueDecision;

typedef struct YqContainerQueue
{
	YqContainerQueueSettings settings;
	YqMeasuredUse measured;		/* measured use; set by the caller before the first container is added */
	YqNodeAmounts total;
	YqNodeAmounts used;			/* amounts of running containers, also of those that are being killed or paused */
	YqNodeAmounts being_freed;	/* amounts of containers being killed or paused */
	dlist_head	guaranteed;
	dlist_head	opportunistic;
	dlist_head	running;		/* running containers, in the order in which they were started */
	int			guaranteed_count;
	int			opportunistic_count;
	int			running_count;
	List	   *decisions;		/* YqQueueDecision * elements */

	/*
	 * Callbacks for orders that need data from tables; the caller sets them.  rank_waiting
	 * sets start_rank and user of all containers that have no ranks yet.  rank_running sets
	 * kill_rank of the running containers.
	 */
	void		(*rank_waiting) (void *argument);
	void		(*rank_running) (void *argument);
	void	   *argument;
	int			user_count;		/* number of different users, set by rank_waiting */
} YqContainerQueue;

/*
 * Compute amounts.  The amount of virtual memory is a float32 product, truncated to
 * whole MiB and at most the largest int64, as in Hadoop's ContainersMonitor.
 */
static inline YqNodeAmounts
yq_node_amounts(const YqContainerQueue *queue, int64 memory, int64 vcores)
{
	float		virtual_memory = (float) memory * queue->settings.vmem_ratio;

	return (YqNodeAmounts) {memory, FLOAT4_FITS_IN_INT64(virtual_memory) ? (int64) virtual_memory : PG_INT64_MAX, vcores};
}

/* Return the amounts of a container. */
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

/* Is any amount above 0?  Virtual memory counts even if the node does not check it. */
static inline bool
yq_node_amounts_are_lacking(YqNodeAmounts amounts)
{
	return amounts.memory > 0 || amounts.virtual_memory > 0 || amounts.vcores > 0;
}

/* -- start order --------------------------------------------------------------- */

/*
 * Choose the next OPPORTUNISTIC container to start, among those that wait at the node.
 *
 * Paused containers wait with the other containers.  Containers that are equal in the
 * order start in the order in which they entered the queue.  No function here reads a
 * table.
 */

/* Return the container that starts next.  At least one OPPORTUNISTIC container must wait. */
extern YqNodeContainer *yq_start_order_first(YqContainerQueue *queue);

/* -- kill order ---------------------------------------------------------------- */

/*
 * Choose the running OPPORTUNISTIC containers that are paused or killed to free given
 * amounts.
 *
 * Containers are paused or killed if GUARANTEED containers have no room, or if the
 * measured use is too high.  The order is the same in both cases.  A callback of the
 * queue sets the ranks for the order.  Among containers with equal ranks, the last
 * started is chosen first.  No function here reads a table.
 */

/*
 * Return the containers that may be paused or killed, in the kill order:
 * YqNodeContainer *.  They run, and are not already being paused or killed.  With
 * YQ_KILL_FEWEST, the last started comes first.
 */
extern List *yq_kill_order_candidates(YqContainerQueue *queue);

/*
 * Choose containers from the candidates, in their order, until no amount is lacking.
 * With YQ_KILL_FEWEST, the smallest number of containers that frees enough is chosen
 * instead.  If all candidates together are not enough, all are chosen.  If no amount is
 * lacking, none is chosen.
 */
extern List *yq_kill_order_choose(YqContainerQueue *queue, YqNodeAmounts lacking);

#endif							/* YQ_NODE_CONTAINER_H */
