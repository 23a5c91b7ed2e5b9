/*-------------------------------------------------------------------------
 *
 * container_request.h
 *	  Requests of application masters, for GUARANTEED and for OPPORTUNISTIC containers.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_CONTAINER_REQUEST_H
#define YQ_CONTAINER_REQUEST_H

#include "access/htup.h"
#include "admission/application/application.h"
#include "base/resource.h"
#include "postgres.h"

/* -- expected duration --------------------------------------------------------- */

/*
 * How long an application master expects OPPORTUNISTIC containers to run.
 *
 * In microseconds, a month being 30 days and a day 24 hours, as PostgreSQL compares
 * intervals; 0 when it is not known.
 */

/* ERRCODE_INVALID_PARAMETER_VALUE unless it is more than 0 and at most 36500 days. */
extern int64 yq_expected_duration_read(Datum interval);

/* An interval in the current memory context, in days of 24 hours and time. */
extern Datum yq_expected_duration_interval(int64 duration);

/* -- container request --------------------------------------------------------- */

/*
 * As in YARN, a request replaces the earlier one with its priority, its
 * allocation request id, its execution type and its resource name.  Count 0 for *
 * ends all GUARANTEED requests with that priority and id; OPPORTUNISTIC ones have
 * rules of their own.
 *
 * Every function locks the rows that it decides by until the transaction ends.
 * An unknown application is ERRCODE_UNDEFINED_OBJECT; one that may not request
 * containers is ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE.
 */

/* Means any node, and how many containers are wanted in all. */
#define YQ_ANYWHERE_NAME "*"

/* One row of a request. */
typedef struct YqContainerRequest
{
	const char *resource_name;	/* of a node or rack, or YQ_ANYWHERE_NAME */
	const YqResource *allocation;	/* of one container, native units */
	int32		count;
	int32		priority;
	int64		allocation_request_id;
	bool		relaxes_locality;
	const char *label;			/* NULL: the queue's default, or none of OPPORTUNISTIC ones */
	bool		is_guaranteed;	/* else OPPORTUNISTIC */
	int64		expected_duration;	/* microseconds, 0: not known; of GUARANTEED ones it is not looked at */
} YqContainerRequest;

/*
 * Record them, all or none; the later one of two for the same counts.  Returns
 * how many containers the application waits for then, of both types.  An invalid request is
 * ERRCODE_INVALID_PARAMETER_VALUE.
 */
extern int64 yq_container_request(const char *application_id, const YqContainerRequest *requests, int count);

/*
 * End running containers that are not wanted, of an array of ids, whether they have been
 * acknowledged or not.  Returns the ids of those that ran, as C strings.
 */
extern List *yq_containers_release(Datum container_ids);

/* The requesting application, with its leaf. */
typedef struct YqRequester
{
	const YqHierarchy *hierarchy;
	const YqApplication *application;
	const YqQueue *queue;
} YqRequester;

/* Is it ACTIVE, or ACCEPTED in a queue into which its master has moved? */
extern bool yq_requester_may_ask(const YqApplication *application);

/* Lock the application as it stands: it neither ends nor moves meanwhile, and no cycle decides. */
extern YqRequester yq_requester_lock(const char *application_id);

/* The same while a cycle may decide: it waits before it writes down what concerns the leaf. */
extern YqRequester yq_requester_lock_leaf(const char *application_id);

/* Have it get no containers on some nodes and racks, and again on others. */
extern void yq_blacklist_update(const char *application_id, const char **additions, int addition_count,
								const char **removals, int removal_count);

/*
 * Delete the requests and reservations of the application, and its application
 * master: the next attempt starts without them, and numbers its containers
 * anew.
 */
extern void yq_application_begin_attempt(const char *application_id);

/* -- request row --------------------------------------------------------------- */

/* Rows of the type yquota.container_request as requests. */

/*
 * The request that a row is; an attribute that is null is as YARN has it without.  No
 * allocation or count is ERRCODE_NULL_VALUE_NOT_ALLOWED.
 */
extern YqContainerRequest yq_container_request_of_row(HeapTupleHeader row);

/* Those of an array of rows, without nulls in it.  Returns how many, palloc'd. */
extern int	yq_container_requests_of_array(Datum array, const YqContainerRequest **requests);

#endif							/* YQ_CONTAINER_REQUEST_H */
