/*-------------------------------------------------------------------------
 *
 * record_opportunistic.h
 *	  Recording opportunistic containers that were given out centrally.
 *
 * Called under the lock of the application's leaf.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_RECORD_OPPORTUNISTIC_H
#define YQ_RECORD_OPPORTUNISTIC_H

#include "opportunistic/outstanding_request.h"
#include "scheduler/request/container_request.h"

/* What the tables know of the application beside its requests. */
typedef struct YqOpportunisticApplication
{
	YqRequester requester;
	const char *project;		/* the payer */
	int32		attempt;		/* number of its application master */
	int64		next_container; /* number of the container that comes next */
	bool		is_unmanaged;
} YqOpportunisticApplication;

/*
 * Start containers of some allocations (yquota.resource) by events, tell them as decisions,
 * and take them off the requests.  Those that cannot be written leave all three lists (refusal.h).
 * Returns their ids, text, and counts next_container on.
 */
extern Datum *yq_record_opportunistic(YqOpportunisticApplication *application, YqOutstandingRequests *requests,
									  YqOpportunisticContainers *containers, Datum *allocations);

/* -- replies ------------------------------------------------------------------ */

/* Was that the id of the last call for the application's present attempt? */
extern bool yq_record_opportunistic_is_last(const char *application_id, int32 response_id);

/* The ids of the containers that the last call may have given out, as an array of text. */
extern Datum yq_record_opportunistic_last(const char *application_id);

/* Note the id of a call, whose containers have numbers from one on, up to that of the next. */
extern void yq_record_opportunistic_response(const YqOpportunisticApplication *application, int32 response_id,
											 int64 first_container);

#endif							/* YQ_RECORD_OPPORTUNISTIC_H */
