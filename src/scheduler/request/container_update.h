/*-------------------------------------------------------------------------
 *
 * container_update.h
 *	  Updates of running containers: another size, or another execution type
 *	  (semantics/allocation 8).  Decisions follow Hadoop 3.4.1.
 *
 * A decrease and a demotion to OPPORTUNISTIC take effect immediately.  An increase and a promotion
 * to GUARANTEED wait in yquota.container_update for an allocation cycle.  The cycle treats each of
 * them as a separate scheduler key, which requests one container of the missing amount on the
 * container's node only.  When an update takes effect, it becomes a CONTAINER_UPDATE event in
 * container_event, which raises the version of the container by one.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_CONTAINER_UPDATE_H
#define YQ_CONTAINER_UPDATE_H

#include "base/resource.h"
#include "queues/hierarchy.h"

/* A requested update of a container. */
typedef struct YqUpdateRequest
{
	const char *container_id;
	int32		version;
	const YqResource *allocation;	/* the complete new allocation, native units; NULL: no change */
	bool		has_execution_type;
	bool		is_guaranteed;	/* the new execution type */
	int32		priority;		/* priority of the container */
	int64		allocation_request_id;	/* allocation request id of the container */
} YqUpdateRequest;

/* Reason of a refusal.  Hadoop has all of these reasons except the last one. */
typedef enum YqUpdateRefusal
{
	YQ_UPDATE_ACCEPTED,
	YQ_UPDATE_INVALID_CONTAINER,
	YQ_UPDATE_INCORRECT_VERSION,
	YQ_UPDATE_OUTSTANDING,
	YQ_UPDATE_OUTSIDE_RANGE,
	YQ_UPDATE_OPPORTUNISTIC		/* the container is OPPORTUNISTIC, and only GUARANTEED containers become larger */
} YqUpdateRefusal;

typedef enum YqUpdateAction
{
	YQ_UPDATE_NOTHING,			/* no change is needed; a pending change of the size is dropped */
	YQ_UPDATE_PROMOTE,
	YQ_UPDATE_INCREASE,
	YQ_UPDATE_DEMOTE,
	YQ_UPDATE_DECREASE
} YqUpdateAction;

typedef struct YqUpdateOutcome
{
	YqUpdateRefusal refusal;
	YqUpdateAction action;		/* action of an accepted update */
	int32		version;		/* present version of the container; -1 when the container does not run */
	Datum		allocation;		/* present allocation, a yquota.resource; 0 when the container does not run */
} YqUpdateOutcome;

/* Return Hadoop's word for a refusal; NULL for YQ_UPDATE_ACCEPTED. */
extern const char *yq_update_refusal_name(YqUpdateRefusal refusal);

/*
 * Apply update requests to containers of an application.  Returns the outcome of each
 * request.  The function takes the locks of yq_container_request(), and raises the same
 * errors for the application.  It also locks the containers, so it waits for
 * transactions that end or change one of them.  An unknown resource type is
 * ERRCODE_INVALID_PARAMETER_VALUE, and so is a request for both changes or for neither.
 */
extern YqUpdateOutcome *yq_containers_update(const char *application_id, const YqUpdateRequest *requests,
											 int count);

/*
 * Drop pending updates of containers that no longer run.  If there is such an update,
 * the function locks every leaf.  An allocation cycle calls the function while it
 * holds the scheduler's lock.
 */
extern void yq_container_updates_tidy(const YqHierarchy *hierarchy);

#endif							/* YQ_CONTAINER_UPDATE_H */
