/*-------------------------------------------------------------------------
 *
 * outstanding_request.h
 *	  Keeps the opportunistic containers that an application has requested and not received
 *	  (opportunistic 2).
 *
 * Requests are kept by priority and allocation request id.  Under one such key an application
 * requests one size: Hadoop fails when there are two (opportunistic S3).  Amounts are native units,
 * one for each type of the calculator.  Nothing here knows a table.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_OUTSTANDING_REQUEST_H
#define YQ_OUTSTANDING_REQUEST_H

#include "base/compat.h"
#include "queues/calculator.h"
#include "scheduler/state/cluster.h"

/* A host or a rack where containers are wanted, and their number. */
typedef struct YqWantedPlace
{
	const char *name;
	int32		count;
} YqWantedPlace;

typedef struct YqWantedPlaces
{
	YqWantedPlace *places;		/* sorted by name; places without wanted containers are absent */
	int			count;
} YqWantedPlaces;

typedef struct YqOutstandingRequest
{
	int32		priority;
	int64		allocation_request_id;
	const int64 *asked;			/* requested amounts of one container */
	const char *label;			/* label of nodes for the distributed allocator; "" for the default partition */
	TimestampTz first_seen_at;	/* time since which it is open, where containers are allocated centrally */
	int64		expected_duration;	/* expected duration of a container, microseconds; 0: not known */
	int32		count;			/* containers; 0: the request is served */
	YqWantedPlaces hosts;
	YqWantedPlaces racks;
} YqOutstandingRequest;

/* All requests of an application; start with a zeroed struct. */
typedef struct YqOutstandingRequests
{
	YqOutstandingRequest *requests;	/* in the order of service, the largest key first */
	int			count;
} YqOutstandingRequests;

/* Bounds for the size of a container, native units per type. */
typedef struct YqContainerBounds
{
	int64	   *minimum;
	int64	   *maximum;
	int64	   *increment;
} YqContainerBounds;

/* An allocated container. */
typedef struct YqOpportunisticContainer
{
	int			request;		/* number of its request */
	const char *node;
	YqLocality	locality;
	const char *place;			/* requested host or rack; NULL: anywhere */
} YqOpportunisticContainer;

/* Allocated containers, in the order of allocation. */
typedef struct YqOpportunisticContainers
{
	YqOpportunisticContainer *containers;
	int			count;
} YqOpportunisticContainers;

/*
 * A call allocates no more containers than this, so that its memory and time are bounded.  This
 * holds for any number of wanted containers and for queues of any length.  The rest waits for the
 * next call.
 */
#define YQ_MOST_CONTAINERS_IN_CALL 100000

/* Is this the name of a rack? */
extern bool yq_outstanding_request_is_rack(const char *name);

/*
 * Add a request of the application; the members of "ask" that are not NULL are kept, not copied.
 *
 * For "*" the call sets the number of wanted containers and their expected duration.  For a host or
 * a rack it sets the number there.  The first request of a new key sets the former values, too, for
 * any name.  Returns false when the key is known with another size.
 */
extern bool yq_outstanding_request_add(YqOutstandingRequests *requests, const YqCalculator *calculator,
										 const YqOutstandingRequest *ask, const char *name, int32 count);

/* Note a container for a request; the caller counts it as served afterwards, see below. */
extern void yq_outstanding_request_note(YqOpportunisticContainers *containers, int request, const char *node,
										  YqLocality locality, const char *place);

/*
 * Count containers, from a number on, as served.  A request with no wanted containers left has a
 * count of 0 and no places; otherwise the place has one less.
 */
extern void yq_outstanding_request_serve(YqOutstandingRequests *requests,
										   const YqOpportunisticContainers *containers, int from);

/*
 * Compute the size of the container for requested amounts.  For each type it is at least the
 * minimum, in whole steps of the increment, and at most the maximum.  An increment of 0 is none.
 * "result" may be the array of "asked".
 */
extern void yq_outstanding_request_size(const YqCalculator *calculator, int64 *result, const int64 *asked,
										  const YqContainerBounds *bounds);

#endif							/* YQ_OUTSTANDING_REQUEST_H */
