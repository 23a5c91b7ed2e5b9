/*-------------------------------------------------------------------------
 *
 * allocation_setting.h
 *	  Settings of yquota.scheduler_setting for allocated containers and for OPPORTUNISTIC
 *	  containers, and thresholds of yquota.over_allocation.
 *
 * The defaults are those of Hadoop 3.4.1.  Times are in microseconds, and sizes are in
 * MiB and cores.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_ALLOCATION_SETTING_H
#define YQ_ALLOCATION_SETTING_H

#include "base/compat.h"

/* Figures by which the list of nodes is sorted by load, as in Hadoop's NodeQueueLoadMonitor.LoadComparator. */
typedef enum YqLoadComparator
{
	YQ_LOAD_QUEUE_LENGTH,
	YQ_LOAD_QUEUE_WAIT_TIME,
	YQ_LOAD_QUEUE_LENGTH_THEN_RESOURCES
} YqLoadComparator;

/*
 * Order in which a node starts its waiting OPPORTUNISTIC containers.  Containers that
 * are equal in this order start in the order of their arrival.
 */
typedef enum YqStartOrder
{
	YQ_START_BY_ARRIVAL,		/* Hadoop's order */
	YQ_START_SHORTEST,			/* by expected duration, shortest first; unknown durations come last */
	YQ_START_BY_PRIORITY,		/* by priority of the application, largest number first */
	YQ_START_FAIR,				/* by number of the user's running OPPORTUNISTIC containers at the node, fewest first */
	YQ_START_CLOSEST_TO_END		/* by progress that the application has reported, largest first */
} YqStartOrder;

/*
 * Order in which OPPORTUNISTIC containers that run at a node are killed.  Among equal
 * containers, the last started is killed first.
 */
typedef enum YqKillOrder
{
	YQ_KILL_LAST_STARTED,		/* Hadoop's order */
	YQ_KILL_LEAST_PAID,			/* by credits charged since the container's start, fewest first */
	YQ_KILL_LOWEST_PRIORITY,	/* by priority of the application, smallest number first */
	YQ_KILL_FURTHEST_FROM_END,	/* by progress that the application has reported, smallest first */
	YQ_KILL_FEWEST				/* kill the smallest number of containers that frees enough */
} YqKillOrder;

/* Bounds of the size of an OPPORTUNISTIC container.  A bound of -1 stands for the scheduler's general bound. */
typedef struct YqOpportunisticBounds
{
	int32		minimum;
	int32		maximum;
	int32		increment;
} YqOpportunisticBounds;

/*
 * Over-allocation thresholds: measured use of a resource type, in millionths of the
 * node's capability.  0: none.
 */
typedef struct YqOverAllocation
{
	int64		threshold;
	int64		preemption_threshold;
} YqOverAllocation;

typedef struct YqAllocationSettings
{
	int64		allocation_expiry;	/* time limit for an application to acknowledge an allocated container */
	int64		opportunistic_token_expiry; /* time limit for an OPPORTUNISTIC container to reach its node */
	bool		opportunistic_allocation_enabled;
	bool		distributed_scheduling_enabled;
	bool		amrmproxy_enabled;
	bool		auto_update_containers; /* the scheduler, not the application, tells nodes about updated containers */
	bool		uses_pause_for_preemption;
	bool		queues_by_resources;	/* opportunistic-containers-queue-policy BY_RESOURCES */
	bool		vmem_check_enabled;
	bool		anywhere_by_turns;	/* a request for any node gets the next node (true) or a random
									 * node (false) */
	bool		ignores_places;
	int32		nodes_used;
	int32		most_per_heartbeat; /* limit on containers allocated per heartbeat; 0 or less: no limit */
	int32		queue_capacity; /* length limit of a node's queue if the node reports none; 0 or less: nothing waits */
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
	int64		report_max_age; /* age from which a report of a node's measured use is ignored */
	bool		over_allocates; /* memory or vcores has an over-allocation threshold */
	YqOverAllocation memory_over_allocation;
	YqOverAllocation vcores_over_allocation;
} YqAllocationSettings;

/*
 * Return the committed settings, including the changes made by this transaction.  The
 * result belongs to the session and is valid until the next call.  In a parallel plan,
 * the settings may be as old as the plan's snapshot.
 */
extern const YqAllocationSettings *yq_allocation_settings(void);

/*
 * Return the keyword that yquota.scheduler_setting.opportunistic_kill_order uses for a
 * kill order, or NULL for Hadoop's order, which has no keyword.
 */
extern const char *yq_kill_order_name(YqKillOrder order);

/* Do the nodes' local schedulers, instead of the central scheduler, decide about OPPORTUNISTIC requests? */
extern bool yq_allocation_is_distributed(const YqAllocationSettings *settings);

#endif							/* YQ_ALLOCATION_SETTING_H */
