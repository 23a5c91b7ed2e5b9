/*-------------------------------------------------------------------------
 *
 * config_refresh.h
 *	  States of queues, and the permitted changes of a configuration in force
 *	  (docs/design.md 5).
 *
 * yquota_internal.queue_status has the state that was in force when the configuration
 * was last changed.  The state is whether a queue runs, its kind, and the largest
 * container that its applications have been promised.  The present state follows from
 * the table and the configuration.  A queue that does not run is DRAINING while
 * containers run in it, else STOPPED.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_CONFIG_REFRESH_H
#define YQ_CONFIG_REFRESH_H

#include "nodes/pg_list.h"
#include "queues/hierarchy.h"

typedef struct YqQueueStatus
{
	const char *path;			/* set only for queues that are gone */
	bool		is_running;
	YqQueueKind kind;
	bool		is_auto_created;
	int64	   *maximum_allocation;
} YqQueueStatus;

typedef struct YqQueueStatuses
{
	YqQueueStatus **of_queue;	/* by number of the queue; NULL for a new queue */
	List	   *gone;			/* statuses of queues that no longer exist */
} YqQueueStatuses;

/* Read the table, palloc'd. */
extern YqQueueStatuses *yq_queue_status_read(const YqHierarchy *hierarchy);

/*
 * Set is_running of every queue; the queues' containers must be set.  Returns the
 * violations of the rules for a change, in the order of queues.
 */
extern List *yq_hierarchy_refresh(YqHierarchy *hierarchy, const YqQueueStatuses *statuses);

/* Return RUNNING, STOPPED or, with containers or live applications, DRAINING. */
extern const char *yq_queue_state_name(bool is_running, int64 work);

/* Convert kinds to the names in the table, and back. */
extern const char *yq_queue_kind_name(YqQueueKind kind);

/* Return the configuration in force: the hierarchy of this session with effective figures and states of queues. */
extern YqHierarchy *yq_hierarchy_in_force(void);

#endif							/* YQ_CONFIG_REFRESH_H */
