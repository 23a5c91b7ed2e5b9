/*-------------------------------------------------------------------------
 *
 * allocation_setting.h
 *	  Settings of yquota.scheduler_setting for allocated containers and for
 *	  OPPORTUNISTIC containers (opportunistic 9), with yquota.over_allocation.
 *
 * Defaults are Hadoop 3.4.1's.  Times are in microseconds, sizes in MiB and cores.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_ALLOCATION_SETTING_H
#define YQ_ALLOCATION_SETTING_H

#include "base/compat.h"

/* Sort key of the load list of nodes: NodeQueueLoadMonitor.LoadComparator. */
typedef enum YqLoadComparator
{
	YQ_LOAD_QUEUE_LENGTH,
	YQ_LOAD_QUEUE_WAIT_TIME,
	YQ_LOAD_QUEUE_LENGTH_THEN_RESOURCES
} YqLoadComparator;

/* Order in which OPPORTUNISTIC containers that wait at a node start.  Ties are resolved by arrival. */
typedef enum YqStartOrder
{
	YQ_START_BY_ARRIVAL,		/* Hadoop's order */
	YQ_START_SHORTEST,			/* by expected duration; containers without a known duration come last */
	YQ_START_BY_PRIORITY,		/* by priority of the application; the larger number comes first */
	YQ_START_FAIR,				/* users with the fewest OPPORTUNISTIC containers that run at the node come first */
	YQ_START_CLOSEST_TO_END		/* by reported progress of the application; the larger comes first */
} YqStartOrder;

/*
 * Order in which OPPORTUNISTIC containers that run at a node are killed.  Among equal
 * containers, the last started is killed first.
 */
typedef enum YqKillOrder
{
	YQ_KILL_LAST_STARTED,		/* Hadoop's order */
	YQ_KILL_LEAST_PAID,			/* by credits charged since the container's start; the fewest come first */
	YQ_KILL_LOWEST_PRIORITY,	/* by priority of the application; the smaller number comes first */
	YQ_KILL_FURTHEST_FROM_END,	/* by reported progress of the application; the smaller comes first */
	YQ_KILL_FEWEST				/* the smallest number of containers that frees enough */
} YqKillOrder;

/* Bounds of the size of an OPPORTUNISTIC container; -1 means that the scheduler's bound applies. */
typedef struct YqOpportunisticBounds
{
	int32		minimum;
	int32		maximum;
	int32		increment;
} YqOpportunisticBounds;

/* Thresholds of the measured use of a resource type, in millionths of a node's capability; 0 means none. */
typedef struct YqOverAllocation
{
	int64		threshold;
	int64		preemption_threshold;
} YqOverAllocation;

typedef struct YqAllocationSettings
{
	int64		allocation_expiry;	/* time in which an allocated container must be acknowledged */
	int64		opportunistic_token_expiry; /* time in which an OPPORTUNISTIC container must reach its node */
	bool		opportunistic_allocation_enabled;
	bool		distributed_scheduling_enabled;
	bool		amrmproxy_enabled;
	bool		auto_update_containers; /* nodes learn of updates directly, not from the applications */
	bool		uses_pause_for_preemption;
	bool		queues_by_resources;	/* opportunistic-containers-queue-policy BY_RESOURCES */
	bool		vmem_check_enabled;
	bool		anywhere_by_turns;	/* true: nodes take turns; false: a random node is chosen */
	bool		ignores_places;
	int32		nodes_used;
	int32		most_per_heartbeat; /* 0 or less: no limit */
	int32		queue_capacity; /* default for nodes that report no capacity of their queue; 0 or less: none */
	int32		min_queue_length;
	int32		max_queue_length;
	int64		min_queue_wait_time;
	int64		max_queue_wait_time;
	int64		node_sorting_interval;
	float4		queue_limit_stdev;
	float4		vmem_pmem_ratio;
	YqLoadComparator load_comparator;
	YqStartOrder start_order;
	YqKillOrder kill_order;
	YqOpportunisticBounds memory;
	YqOpportunisticBounds vcores;
	int64		report_max_age; /* age from which a report of measured use is ignored */
	bool		over_allocates; /* memory or vcores has a threshold */
	YqOverAllocation memory_over_allocation;
	YqOverAllocation vcores_over_allocation;
} YqAllocationSettings;

/*
 * Return the settings as committed and as changed by this transaction.  The session
 * owns the memory, which is valid until the next call.  In a parallel plan, the
 * settings may be as old as the plan's snapshot.
 */
extern const YqAllocationSettings *yq_allocation_settings(void);

/*
 * Return the value of opportunistic_kill_order for an order.  Hadoop's order has no
 * value; the result is NULL.
 */
extern const char *yq_kill_order_name(YqKillOrder order);

/* Do the local schedulers of nodes decide about OPPORTUNISTIC requests? */
extern bool yq_allocation_is_distributed(const YqAllocationSettings *settings);

#endif							/* YQ_ALLOCATION_SETTING_H */
