/*-------------------------------------------------------------------------
 *
 * record_opportunistic.h
 *	  Records opportunistic containers that were allocated centrally.
 *
 * The caller holds the lock of the application's leaf.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_RECORD_OPPORTUNISTIC_H
#define YQ_RECORD_OPPORTUNISTIC_H

#include "opportunistic/outstanding_request.h"
#include "scheduler/request/container_request.h"

/* An application without its requests, as stored in the tables. */
typedef struct YqOpportunisticApplication
{
	YqRequester requester;
	const char *project;		/* the project that pays */
	int32		attempt;		/* number of its application master */
	int64		next_container; /* number of the next container */
	bool		is_unmanaged;
} YqOpportunisticApplication;

/*
 * Start containers with their allocations (yquota.resource) by events, announce them as
 * decisions, and deduct them from the requests.  If a container cannot be written, it
 * is removed from all three lists (refusal.h).  Returns the ids of the containers,
 * text, and advances next_container.
 */
extern Datum *yq_record_opportunistic(YqOpportunisticApplication *application, YqOutstandingRequests *requests,
									  YqOpportunisticContainers *containers, Datum *allocations);

/* -- replies ------------------------------------------------------------------ */

/* Is this the response id of the last call in the application's present attempt? */
extern bool yq_record_opportunistic_is_last(const char *application_id, int32 response_id);

/* Return the ids of the containers that the last call may have allocated, as an array of text. */
extern Datum yq_record_opportunistic_last(const char *application_id);

/*
 * Store the response id of a call.  The numbers of its containers begin with
 * first_container and end before the application's next container.
 */
extern void yq_record_opportunistic_response(const YqOpportunisticApplication *application, int32 response_id,
											 int64 first_container);

#endif							/* YQ_RECORD_OPPORTUNISTIC_H */
