/*-------------------------------------------------------------------------
 *
 * node_container.h
 *	  The containers of a node: what of it is in use, which of them start next, and which go
 *	  first.
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
 * What of a node is in use by its last report, and the thresholds that this
 * is compared with: more may be allocated to OPPORTUNISTIC containers than the
 * node has while their neighbours use less than they hold.
 *
 * Knows no table.  Amounts are MiB or cores.  A threshold is a part of what the node has,
 * in millionths, and is rounded down to a whole unit.  A report in which a type is missing
 * or 0 has not measured it.
 */

/* Of one resource type. */
typedef struct YqMeasuredAmount
{
	YqOverAllocation thresholds;
	int64		total;			/* of the node */
	int64		measured;		/* 0: not measured */
	int64		freed;			/* by containers that have ended or paused since the report, while there is an excess */
} YqMeasuredAmount;

typedef struct YqMeasuredUse
{
	bool		is_told;		/* there is a report that counts; otherwise nothing else matters */
	TimestampTz reported_at;
	YqMeasuredAmount memory;
	YqMeasuredAmount vcores;
} YqMeasuredUse;

/*
 * What the threshold leaves to OPPORTUNISTIC containers, below 0 when it is exceeded:
 * threshold - max(measured + GUARANTEED since, GUARANTEED) - OPPORTUNISTIC since.
 * PG_INT64_MIN without a threshold, or when nothing was measured.
 */
extern int64 yq_measured_room(const YqMeasuredAmount *amount, int64 guaranteed, int64 guaranteed_since,
							  int64 opportunistic_since);

/* By how much the measured use is above the preemption threshold; 0: it is not, or the node has nothing of the type. */
extern int64 yq_measured_excess(const YqMeasuredAmount *amount);

/* Is that so of any type? */
extern bool yq_measured_has_excess(const YqMeasuredUse *use);

/* A threshold of millionths as a decimal fraction, palloc'd. */
extern char *yq_measured_fraction(int64 millionths);

/* -- node container ------------------------------------------------------------ */

/* container_queue.h has what is done to them. */

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
	bool		is_ranked;		/* the next two are known; without an order of its own the queue needs neither */
	int64		start_rank;		/* the smallest starts first */
	int			user;			/* number of its user, from 0 on, of the queue's user_count; if the order is fair */
	int64		kill_rank;		/* the smallest is killed first; once the queue's callback has set it */
	int			kill_place;		/* among those that may be killed, the last started being 0 */
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
	YqStartOrder start_order;
	YqKillOrder kill_order;
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

	/*
	 * Where an order needs what the queue does not know: rank all containers that are not ranked
	 * yet by start_rank and user; give those that run their kill_rank.  Set by the caller.
	 */
	void		(*rank_waiting) (void *argument);
	void		(*rank_running) (void *argument);
	void	   *argument;
	int			user_count;		/* of users, by rank_waiting */
} YqContainerQueue;

/* A float32 product, cut to whole MiB, as ContainersMonitor counts. */
static inline YqNodeAmounts
yq_node_amounts(const YqContainerQueue *queue, int64 memory, int64 vcores)
{
	float		virtual_memory = (float) memory * queue->settings.vmem_ratio;

	return (YqNodeAmounts) {memory, (int64) virtual_memory, vcores};
}

/* Of a container. */
static inline YqNodeAmounts
yq_node_amounts_of(const YqContainerQueue *queue, const YqNodeContainer *container)
{
	return yq_node_amounts(queue, container->memory, container->vcores);
}

/* Add so many times: 1 or -1. */
static inline void
yq_node_amounts_add(YqNodeAmounts *sum, YqNodeAmounts amounts, int times)
{
	sum->memory += times * amounts.memory;
	sum->virtual_memory += times * amounts.virtual_memory;
	sum->vcores += times * amounts.vcores;
}

/* Is any of them above 0?  Virtual memory is part of it, even when it is not checked. */
static inline bool
yq_node_amounts_are_lacking(YqNodeAmounts amounts)
{
	return amounts.memory > 0 || amounts.virtual_memory > 0 || amounts.vcores > 0;
}

/* -- start order --------------------------------------------------------------- */

/*
 * Which of the OPPORTUNISTIC containers that wait at a node starts next.
 *
 * Paused ones wait among the others.  Of equal ones the one that came first to the queue
 * is first.  Knows no table.
 */

/* One of them must wait. */
extern YqNodeContainer *yq_start_order_first(YqContainerQueue *queue);

/* -- kill order ---------------------------------------------------------------- */

/*
 * Which of the OPPORTUNISTIC containers that run at a node are paused or
 * killed for an amount.
 *
 * One order for all that takes containers back: for GUARANTEED ones that have no room, and
 * for amounts that are free no longer.  Ranks that an order goes by are those that the
 * queue's callback gives; of equal ones the last started goes first.  Knows no table.
 */

/*
 * Those that may be chosen, in the order of the settings: they run and are neither being
 * killed nor paused.  With YQ_KILL_FEWEST the last started is the first.  A list of
 * YqNodeContainer *.
 */
extern List *yq_kill_order_candidates(YqContainerQueue *queue);

/*
 * Those of them that are to go until nothing of the amounts lacks, in that order: the first
 * ones, or with YQ_KILL_FEWEST the fewest that free enough.  All of them when they are
 * not enough, none when nothing lacks.
 */
extern List *yq_kill_order_choose(YqContainerQueue *queue, YqNodeAmounts lacking);

#endif							/* YQ_NODE_CONTAINER_H */
