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

/* An application as stored in the tables, without its requests. */
typedef struct YqOpportunisticApplication
{
	YqRequester requester;
	const char *project;		/* project that pays for the containers */
	int32		attempt;		/* number of the application's present attempt */
	int64		next_container; /* number that the next container will get */
	bool		is_unmanaged;
} YqOpportunisticApplication;

/*
 * Write the events that start containers and the decisions that announce them, and
 * subtract the containers from the requests.  "allocations" contains values of
 * yquota.resource.  A container whose event is refused is removed from all lists
 * (refusal.h).  Returns the ids of the containers as text, and advances next_container.
 */
extern Datum *yq_record_opportunistic(YqOpportunisticApplication *application, YqOutstandingRequests *requests,
									  YqOpportunisticContainers *containers, Datum *allocations);

/* -- replies ------------------------------------------------------------------ */

/* Is response_id the id of the previous call in the application's present attempt? */
extern bool yq_record_opportunistic_is_last(const char *application_id, int32 response_id);

/*
 * Return the ids of the containers that the previous call allocated, as a text array.
 * Some of the ids may not have been used.
 */
extern Datum yq_record_opportunistic_last(const char *application_id);

/*
 * Store the response id of a call, and the numbers of its containers.  They begin with
 * first_container and end before next_container of the application.
 */
extern void yq_record_opportunistic_response(const YqOpportunisticApplication *application, int32 response_id,
											 int64 first_container);

#endif							/* YQ_RECORD_OPPORTUNISTIC_H */
