/*-------------------------------------------------------------------------
 *
 * config_refresh.h
 *	  States of queues, and the permitted changes of the current configuration
 *	  (docs/design.md 5).
 *
 * yquota_internal.queue_status contains the state of queues after the last change of
 * the configuration.  A row tells whether the queue runs, its kind, and the largest
 * container that its applications have been promised.  The present state is computed
 * from the table and the configuration.  A queue that does not run is DRAINING while
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
	const char *path;			/* path of a queue that no longer exists; not set for existing queues */
	bool		is_running;
	YqQueueKind kind;
	bool		is_auto_created;
	int64	   *maximum_allocation;
} YqQueueStatus;

typedef struct YqQueueStatuses
{
	YqQueueStatus **of_queue;	/* indexed by queue number; NULL: the queue is new */
	List	   *gone;			/* YqQueueStatus * of queues that no longer exist */
} YqQueueStatuses;

/* Read yquota_internal.queue_status.  The result is palloc'd. */
extern YqQueueStatuses *yq_queue_status_read(const YqHierarchy *hierarchy);

/*
 * Set is_running of every queue.  The caller has set the number of containers of each
 * queue.  Returns the violations of rules about changes of the configuration, in the
 * order of the queues.
 */
extern List *yq_hierarchy_refresh(YqHierarchy *hierarchy, const YqQueueStatuses *statuses);

/*
 * Return the name of a queue's state: RUNNING if the queue runs, DRAINING if it does
 * not run but still has containers or live applications ("work"), otherwise STOPPED.
 */
extern const char *yq_queue_state_name(bool is_running, int64 work);

/* Return the name of a kind in yquota_internal.queue_status. */
extern const char *yq_queue_kind_name(YqQueueKind kind);

/*
 * Return the hierarchy of this session with the current configuration.  The figures of
 * the queues and their states are computed.
 */
extern YqHierarchy *yq_hierarchy_in_force(void);

#endif							/* YQ_CONFIG_REFRESH_H */
