/*-------------------------------------------------------------------------
 *
 * config_refresh.h
 *	  States of queues, and the permitted changes of the current configuration
 *	  (docs/design.md 5).
 *
 * yquota_internal.queue_status contains the state of queues after the last change of
 * the configuration.  The state is whether a queue runs, its kind, and the largest
 * container that its applications have been promised.  The present state follows from
 * the table and the configuration.  A queue that does not run is DRAINING while
 * containers run in it, otherwise STOPPED.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_CONFIG_REFRESH_H
#define YQ_CONFIG_REFRESH_H

#include "nodes/pg_list.h"
#include "queues/hierarchy.h"

typedef struct YqQueueStatus
{
	const char *path;			/* set only for queues that no longer exist */
	bool		is_running;
	YqQueueKind kind;
	bool		is_auto_created;
	int64	   *maximum_allocation;
} YqQueueStatus;

typedef struct YqQueueStatuses
{
	YqQueueStatus **of_queue;	/* by number of the queue; NULL: a new queue */
	List	   *gone;			/* statuses of queues that no longer exist */
} YqQueueStatuses;

/* Read the table, palloc'd. */
extern YqQueueStatuses *yq_queue_status_read(const YqHierarchy *hierarchy);

/*
 * Set is_running of every queue.  The number of containers of each queue must be set.
 * Returns the violations of the rules for a change, in the order of queues.
 */
extern List *yq_hierarchy_refresh(YqHierarchy *hierarchy, const YqQueueStatuses *statuses);

/*
 * Return RUNNING or, for a queue that does not run, DRAINING if it has containers or
 * live applications, else STOPPED.
 */
extern const char *yq_queue_state_name(bool is_running, int64 work);

/* Convert kinds to the names in the table, and back. */
extern const char *yq_queue_kind_name(YqQueueKind kind);

/*
 * Return the current configuration: the hierarchy of this session, with effective
 * figures and states of queues.
 */
extern YqHierarchy *yq_hierarchy_in_force(void);

#endif							/* YQ_CONFIG_REFRESH_H */
