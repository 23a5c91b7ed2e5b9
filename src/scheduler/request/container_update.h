/*-------------------------------------------------------------------------
 *
 * container_update.h
 *	  Running containers that are to have more or less, or another execution
 *	  type (cs-semantics 9; where Hadoop 3.4.1 differs, it is as in 3.4.1).
 *
 * Less, and OPPORTUNISTIC, is at once.  More, and GUARANTEED, waits in
 * yquota.container_update for a pass: there it is a request key of its own, for
 * one container of what is missing, on the container's node and nowhere else.
 * Either becomes a CONTAINER_UPDATE event through the one door, and each that
 * took effect raises the version of the container by one.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_CONTAINER_UPDATE_H
#define YQ_CONTAINER_UPDATE_H

#include "base/resource.h"
#include "queues/hierarchy.h"

/* What is asked for one container: either allocation or execution type. */
typedef struct YqUpdateRequest
{
	const char *container_id;
	int32		version;
	const YqResource *allocation;	/* all that it is to have, native units; NULL: no change */
	bool		has_execution_type;
	bool		is_guaranteed;	/* the execution type that it is to have */
	int32		priority;		/* of the container */
	int64		allocation_request_id;	/* of the container */
} YqUpdateRequest;

/* Why a request is refused, in Hadoop's words but for the last one. */
typedef enum YqUpdateRefusal
{
	YQ_UPDATE_ACCEPTED,
	YQ_UPDATE_INVALID_CONTAINER,
	YQ_UPDATE_INCORRECT_VERSION,
	YQ_UPDATE_OUTSTANDING,
	YQ_UPDATE_OUTSIDE_RANGE,
	YQ_UPDATE_OPPORTUNISTIC		/* only GUARANTEED containers become larger */
} YqUpdateRefusal;

typedef enum YqUpdateAction
{
	YQ_UPDATE_NOTHING,			/* it is like that already; what was pending for its size is not any more */
	YQ_UPDATE_PROMOTE,
	YQ_UPDATE_INCREASE,
	YQ_UPDATE_DEMOTE,
	YQ_UPDATE_DECREASE
} YqUpdateAction;

typedef struct YqUpdateOutcome
{
	YqUpdateRefusal refusal;
	YqUpdateAction action;		/* when accepted */
	int32		version;		/* that the container has now; -1 when it does not run */
	Datum		allocation;		/* that it has now, a yquota.resource; 0 when it does not run */
} YqUpdateOutcome;

/* Hadoop's word for a refusal; NULL when there is none. */
extern const char *yq_update_refusal_name(YqUpdateRefusal refusal);

/*
 * Do what can be done for containers of an application, and say of each request
 * what became of it.  Locks like yq_container_request(), with the same errors for
 * the application, and the containers, too: whoever is ending or changing one is
 * waited for.  What names no type of resource, and what asks for both or neither,
 * is ERRCODE_INVALID_PARAMETER_VALUE.
 */
extern YqUpdateOutcome *yq_containers_update(const char *application_id, const YqUpdateRequest *requests,
											 int count);

/*
 * Drop what was to be done for containers that run no more.  Locks every leaf if
 * there is any.  For passes, under their lock.
 */
extern void yq_container_updates_tidy(const YqHierarchy *hierarchy);

#endif							/* YQ_CONTAINER_UPDATE_H */
