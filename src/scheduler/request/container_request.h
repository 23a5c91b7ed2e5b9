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
 * Durations are in microseconds; 0 means unknown.  A month has 30 days and a day 24
 * hours, as in PostgreSQL's comparison of intervals.
 */

/*
 * Read a duration.  A duration that is not more than 0 or exceeds 36500 days is
 * ERRCODE_INVALID_PARAMETER_VALUE.
 */
extern int64 yq_expected_duration_read(Datum interval);

/* Return the duration as an interval of days of 24 hours and time, in the current memory context. */
extern Datum yq_expected_duration_interval(int64 duration);

/* -- container request --------------------------------------------------------- */

/*
 * As in YARN, a request replaces the earlier request with the same priority, allocation
 * request id, execution type and resource name.  Count 0 for * ends all GUARANTEED
 * requests with that priority and id.  OPPORTUNISTIC requests follow rules of their
 * own.
 *
 * Every function locks the rows on which its decision depends, until the transaction
 * ends.  An unknown application is ERRCODE_UNDEFINED_OBJECT.  An application that may
 * not request containers is ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE.
 */

/* Name that stands for any node.  The count of this name is the total number of wanted containers. */
#define YQ_ANYWHERE_NAME "*"

/* A request, as an application master sends it. */
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
 * Record all requests or none.  If two requests set the same count, the later
 * request counts.  Returns the number of containers, of both execution types, for
 * which the application then waits.  An invalid request is
 * ERRCODE_INVALID_PARAMETER_VALUE.
 */
extern int64 yq_container_request(const char *application_id, const YqContainerRequest *requests, int count);

/*
 * End the running containers with the ids of an array, whether they have been
 * acknowledged or not.  Returns the ids of the containers that were running, as C
 * strings.
 */
extern List *yq_containers_release(Datum container_ids);

/* The application that requests containers, with its leaf. */
typedef struct YqRequester
{
	const YqHierarchy *hierarchy;
	const YqApplication *application;
	const YqQueue *queue;
} YqRequester;

/*
 * May the application request containers?  It may if it is ACTIVE.  It also may if it was
 * moved, and is ACCEPTED in its new queue while its application master runs.
 */
extern bool yq_requester_may_ask(const YqApplication *application);

/*
 * Lock the application.  Until the transaction ends, the application neither ends nor
 * moves, and no cycle decides.
 */
extern YqRequester yq_requester_lock(const char *application_id);

/* Lock the application, but let cycles decide.  A cycle waits before it writes changes of the leaf. */
extern YqRequester yq_requester_lock_leaf(const char *application_id);

/* Add nodes and racks to the application's blacklist, and remove others from it. */
extern void yq_blacklist_update(const char *application_id, const char **additions, int addition_count,
								const char **removals, int removal_count);

/*
 * Begin the next attempt of the application.  Its requests, reservations, blacklist and
 * application master are deleted, and the attempt numbers its containers from 1 again.
 */
extern void yq_application_begin_attempt(const char *application_id);

/* -- request row --------------------------------------------------------------- */

/* Read rows of the type yquota.container_request as requests. */

/*
 * Read a row as a request.  A NULL attribute gets YARN's default, but a NULL allocation
 * or count is ERRCODE_NULL_VALUE_NOT_ALLOWED.
 */
extern YqContainerRequest yq_container_request_of_row(HeapTupleHeader row);

/* Read an array of rows without nulls as requests, which are palloc'd.  Returns their number. */
extern int	yq_container_requests_of_array(Datum array, const YqContainerRequest **requests);

#endif							/* YQ_CONTAINER_REQUEST_H */
