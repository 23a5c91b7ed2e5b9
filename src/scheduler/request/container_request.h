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
 * Read how long an application master expects OPPORTUNISTIC containers to run.
 *
 * Durations are in microseconds, 0 when unknown.  A month has 30 days and a day 24
 * hours, as in PostgreSQL's comparison of intervals.
 */

/* Read a duration; ERRCODE_INVALID_PARAMETER_VALUE unless it is more than 0 and at most 36500 days. */
extern int64 yq_expected_duration_read(Datum interval);

/* Return an interval in the current memory context, in days of 24 hours and time. */
extern Datum yq_expected_duration_interval(int64 duration);

/* -- container request --------------------------------------------------------- */

/*
 * As in YARN, a request replaces the earlier request with its priority, its allocation
 * request id, its execution type and its resource name.  Count 0 for * ends all
 * GUARANTEED requests with that priority and id; OPPORTUNISTIC requests have rules of
 * their own.
 *
 * Every function locks the rows that it decides by until the transaction ends.  An
 * unknown application is ERRCODE_UNDEFINED_OBJECT.  An application that may not request
 * containers is ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE.
 */

/* Name for any node; its count is the total number of wanted containers. */
#define YQ_ANYWHERE_NAME "*"

/* A row of a request. */
typedef struct YqContainerRequest
{
	const char *resource_name;	/* name of a node or rack, or YQ_ANYWHERE_NAME */
	const YqResource *allocation;	/* size of a container, native units */
	int32		count;
	int32		priority;
	int64		allocation_request_id;
	bool		relaxes_locality;
	const char *label;			/* NULL: the queue's default, or none for OPPORTUNISTIC requests */
	bool		is_guaranteed;	/* false: OPPORTUNISTIC */
	int64		expected_duration;	/* microseconds, 0: unknown; ignored in GUARANTEED requests */
} YqContainerRequest;

/*
 * Record requests, all or none; a later request replaces an earlier one for the same
 * count.  Returns how many containers, of both types, the application then waits for.
 * An invalid request is ERRCODE_INVALID_PARAMETER_VALUE.
 */
extern int64 yq_container_request(const char *application_id, const YqContainerRequest *requests, int count);

/*
 * End running containers that are not wanted, from an array of ids, whether they have
 * been acknowledged or not.  Returns the ids of the containers that ran, as C strings.
 */
extern List *yq_containers_release(Datum container_ids);

/* The requesting application, with its leaf. */
typedef struct YqRequester
{
	const YqHierarchy *hierarchy;
	const YqApplication *application;
	const YqQueue *queue;
} YqRequester;

/* Is the application ACTIVE, or ACCEPTED in a queue into which its master has moved? */
extern bool yq_requester_may_ask(const YqApplication *application);

/* Lock the application: it neither ends nor moves meanwhile, and no cycle decides. */
extern YqRequester yq_requester_lock(const char *application_id);

/* Lock the application while a cycle may decide: the cycle waits before it writes changes of the leaf. */
extern YqRequester yq_requester_lock_leaf(const char *application_id);

/* Exclude some nodes and racks for the application, and readmit others. */
extern void yq_blacklist_update(const char *application_id, const char **additions, int addition_count,
								const char **removals, int removal_count);

/*
 * Delete the requests and reservations of the application, and its application master.
 * The next attempt starts without them, and numbers its containers anew.
 */
extern void yq_application_begin_attempt(const char *application_id);

/* -- request row --------------------------------------------------------------- */

/* Read rows of the type yquota.container_request as requests. */

/*
 * Read a row as a request; a NULL attribute has YARN's default.  A NULL allocation or
 * count is ERRCODE_NULL_VALUE_NOT_ALLOWED.
 */
extern YqContainerRequest yq_container_request_of_row(HeapTupleHeader row);

/* Read an array of rows without nulls as requests, palloc'd.  Returns their number. */
extern int	yq_container_requests_of_array(Datum array, const YqContainerRequest **requests);

#endif							/* YQ_CONTAINER_REQUEST_H */
