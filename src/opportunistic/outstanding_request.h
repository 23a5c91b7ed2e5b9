/*-------------------------------------------------------------------------
 *
 * outstanding_request.h
 *	  Keeps the opportunistic containers that an application has requested and not
 *	  received (opportunistic 2).
 *
 * Requests are identified by priority and allocation request id.  Under one such key,
 * an application may request only one size; Hadoop fails when there are two
 * (opportunistic S3).  Amounts are native units, one for each type of the calculator.
 * No function here uses a table.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_OUTSTANDING_REQUEST_H
#define YQ_OUTSTANDING_REQUEST_H

#include "base/compat.h"
#include "queues/calculator.h"
#include "scheduler/state/cluster.h"

/* A host or a rack on which containers are wanted, and their number. */
typedef struct YqWantedPlace
{
	const char *name;
	int32		count;
} YqWantedPlace;

typedef struct YqWantedPlaces
{
	YqWantedPlace *places;		/* sorted by name; only places where containers are wanted */
	int			count;
} YqWantedPlaces;

typedef struct YqOutstandingRequest
{
	int32		priority;
	int64		allocation_request_id;
	const int64 *asked;			/* requested amounts of one container */
	const char *label;			/* label of nodes, for the distributed allocator; "" for the default partition */
	TimestampTz first_seen_at;	/* time since which the request is open; only for central allocation */
	int64		expected_duration;	/* expected duration of a container, microseconds; 0: not known */
	int32		count;			/* number of wanted containers; 0: the request is served */
	YqWantedPlaces hosts;
	YqWantedPlaces racks;
} YqOutstandingRequest;

/* All requests of an application.  The caller zeroes the struct first. */
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
	const char *place;			/* requested host or rack; NULL: any node */
} YqOpportunisticContainer;

/* Allocated containers, in the order of allocation. */
typedef struct YqOpportunisticContainers
{
	YqOpportunisticContainer *containers;
	int			count;
} YqOpportunisticContainers;

/*
 * Limit on the containers that a call allocates.  It bounds the memory and time of a
 * call for any number of wanted containers and for queues of any length.  The
 * application gets the rest in later calls.
 */
#define YQ_MOST_CONTAINERS_IN_CALL 100000

/* Is this the name of a rack? */
extern bool yq_outstanding_request_is_rack(const char *name);

/*
 * Add a request of the application.  Members of "ask" that are not NULL are kept, not
 * copied.
 *
 * A request for "*" sets the number of wanted containers and their expected duration.
 * A request for a host or a rack sets the number for that place.  The first request of
 * a new key also sets the number of wanted containers and the expected duration,
 * whatever name it has.  Returns false when the key exists with another size.
 */
extern bool yq_outstanding_request_add(YqOutstandingRequests *requests, const YqCalculator *calculator,
										 const YqOutstandingRequest *ask, const char *name, int32 count);

/* Add a container to the list of a request.  The caller counts it as served later: see the next function. */
extern void yq_outstanding_request_note(YqOpportunisticContainers *containers, int request, const char *node,
										  YqLocality locality, const char *place);

/*
 * Count containers as served, beginning with the number "from".  A request without
 * wanted containers then has count 0 and no places.  Otherwise the count of the
 * container's place decreases by one.
 */
extern void yq_outstanding_request_serve(YqOutstandingRequests *requests,
										   const YqOpportunisticContainers *containers, int from);

/*
 * Compute the size of the container for the requested amounts.  For each type it is at
 * least the minimum, a multiple of the increment, and at most the maximum.  An
 * increment of 0 does not round. "result" may be the same array as "asked".
 */
extern void yq_outstanding_request_size(const YqCalculator *calculator, int64 *result, const int64 *asked,
										  const YqContainerBounds *bounds);

#endif							/* YQ_OUTSTANDING_REQUEST_H */
