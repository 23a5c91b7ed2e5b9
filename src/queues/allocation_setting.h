/*-------------------------------------------------------------------------
 *
 * allocation_setting.h
 *	  Settings of yquota.scheduler_setting about what becomes of allocated
 *	  containers, and about OPPORTUNISTIC ones (opportunistic 9), with
 *	  yquota.over_allocation.
 *
 * Defaults are those of Hadoop 3.4.1.  Times are in microseconds, sizes in MiB and
 * cores.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_ALLOCATION_SETTING_H
#define YQ_ALLOCATION_SETTING_H

#include "base/compat.h"

/* What the load list of nodes is sorted by: NodeQueueLoadMonitor.LoadComparator. */
typedef enum YqLoadComparator
{
	YQ_LOAD_QUEUE_LENGTH,
	YQ_LOAD_QUEUE_WAIT_TIME,
	YQ_LOAD_QUEUE_LENGTH_THEN_RESOURCES
} YqLoadComparator;

/* Which of the OPPORTUNISTIC containers that wait at a node starts next; ties by arrival. */
typedef enum YqStartOrder
{
	YQ_START_BY_ARRIVAL,		/* Hadoop's */
	YQ_START_SHORTEST,			/* expected duration; those whose duration is not known come last */
	YQ_START_BY_PRIORITY,		/* of the application, the larger number first */
	YQ_START_FAIR,				/* the user with the fewest OPPORTUNISTIC containers that run at the node */
	YQ_START_CLOSEST_TO_END		/* progress of the application, as it was reported, the larger first */
} YqStartOrder;

/* Which of the OPPORTUNISTIC containers that run at a node goes first; of equal ones the last started. */
typedef enum YqKillOrder
{
	YQ_KILL_LAST_STARTED,		/* Hadoop's */
	YQ_KILL_LEAST_PAID,			/* credits since its start */
	YQ_KILL_LOWEST_PRIORITY,	/* of the application, the smaller number first */
	YQ_KILL_FURTHEST_FROM_END,	/* progress, as it was reported */
	YQ_KILL_FEWEST				/* as few as free enough */
} YqKillOrder;

/* Bounds of the size of an OPPORTUNISTIC container; -1: the scheduler's bound holds. */
typedef struct YqOpportunisticBounds
{
	int32		minimum;
	int32		maximum;
	int32		increment;
} YqOpportunisticBounds;

/* Thresholds of the measured use of a resource type, in millionths of what a node has; 0: none. */
typedef struct YqOverAllocation
{
	int64		threshold;
	int64		preemption_threshold;
} YqOverAllocation;

typedef struct YqAllocationSettings
{
	int64		allocation_expiry;	/* until a container ends whose decision was not acknowledged */
	int64		opportunistic_token_expiry; /* until an OPPORTUNISTIC one ends that has not come to its node */
	bool		opportunistic_allocation_enabled;
	bool		distributed_scheduling_enabled;
	bool		amrmproxy_enabled;
	bool		auto_update_containers; /* nodes are told of updates without their applications */
	bool		uses_pause_for_preemption;
	bool		queues_by_resources;	/* opportunistic-containers-queue-policy BY_RESOURCES */
	bool		vmem_check_enabled;
	bool		anywhere_by_turns;	/* and not at random */
	bool		ignores_places;
	int32		nodes_used;
	int32		most_per_heartbeat; /* 0 or less: no limit */
	int32		queue_capacity; /* of nodes that tell none; 0 or less: none */
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
	int64		report_max_age; /* from which on a report of measured use counts as none */
	bool		over_allocates; /* one of the two that follow is set */
	YqOverAllocation memory_over_allocation;
	YqOverAllocation vcores_over_allocation;
} YqAllocationSettings;

/*
 * The settings as committed and as changed by this transaction, per session: until the
 * next call, in memory that the caller does not free.  In a parallel plan they may be as
 * its snapshot has them.
 */
extern const YqAllocationSettings *yq_allocation_settings(void);

/* The word of opportunistic_kill_order; NULL of Hadoop's order, which has none. */
extern const char *yq_kill_order_name(YqKillOrder order);

/* Are OPPORTUNISTIC requests decided by the local schedulers of nodes? */
extern bool yq_allocation_is_distributed(const YqAllocationSettings *settings);

#endif							/* YQ_ALLOCATION_SETTING_H */
