/*-------------------------------------------------------------------------
 *
 * outstanding_request.h
 *	  Keeps the opportunistic containers that an application has requested and not
 *	  received (semantics/opportunistic 1).
 *
 * The key of a request consists of its priority and its allocation request id.  All
 * requests of an application with the same key must have the same size; Hadoop fails if
 * they differ.  Amounts are in native units, one for each type of the calculator.  No
 * function here reads a table.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_OUTSTANDING_REQUEST_H
#define YQ_OUTSTANDING_REQUEST_H

#include "base/compat.h"
#include "queues/calculator.h"
#include "scheduler/state/cluster.h"

/* A host or rack that a request names, and the number of containers wanted there. */
typedef struct YqWantedPlace
{
	const char *name;
	int32		count;
} YqWantedPlace;

typedef struct YqWantedPlaces
{
	YqWantedPlace *places;		/* sorted by name; a place where no container is wanted is left out */
	int			count;
} YqWantedPlaces;

typedef struct YqOutstandingRequest
{
	int32		priority;
	int64		allocation_request_id;
	const int64 *asked;			/* requested amounts for a single container */
	const char *label;			/* node label, used by the distributed allocator; "" is the default partition */
	TimestampTz first_seen_at;	/* time of the request, used by the central allocator */
	int64		expected_duration;	/* expected duration of a container in microseconds; 0: not known */
	int32		count;			/* number of containers still wanted; 0: the request is served */
	YqWantedPlaces hosts;
	YqWantedPlaces racks;
} YqOutstandingRequest;

/* All requests of an application.  The caller initializes the struct with zeros. */
typedef struct YqOutstandingRequests
{
	YqOutstandingRequest *requests;	/* in the order in which they are served: the largest key first */
	int			count;
} YqOutstandingRequests;

/* Bounds of the size of a container, in native units per type. */
typedef struct YqContainerBounds
{
	int64	   *minimum;
	int64	   *maximum;
	int64	   *increment;
} YqContainerBounds;

/* An allocated container. */
typedef struct YqOpportunisticContainer
{
	int			request;		/* index of the request for which the container was allocated */
	const char *node;
	YqLocality	locality;
	const char *place;			/* host or rack named by the request; NULL: the request named none */
} YqOpportunisticContainer;

/* Allocated containers, in the order in which they were allocated. */
typedef struct YqOpportunisticContainers
{
	YqOpportunisticContainer *containers;
	int			count;
} YqOpportunisticContainers;

/*
 * Limit on the containers that a single call allocates.  It limits the memory and time
 * of a call, even if very many containers are wanted and queues are very long.  The
 * application gets the other containers in later calls.
 */
#define YQ_MOST_CONTAINERS_IN_CALL 100000

/* Is the name the name of a rack, and not of a host? */
extern bool yq_outstanding_request_is_rack(const char *name);

/*
 * Add a request of the application.  The members of "ask" that are pointers must remain
 * valid, because they are not copied.
 *
 * A request with the name "*" sets the number of wanted containers and the expected
 * duration.  A request with the name of a host or rack sets the number of containers
 * wanted there.  The first request with a new key sets the number of wanted containers
 * and the expected duration in any case.  Returns false if a request with the same key
 * has another size.
 */
extern bool yq_outstanding_request_add(YqOutstandingRequests *requests, const YqCalculator *calculator,
										 const YqOutstandingRequest *ask, const char *name, int32 count);

/*
 * Append a container for a request to the list.  yq_outstanding_request_serve()
 * subtracts it from the request later.
 */
extern void yq_outstanding_request_note(YqOpportunisticContainers *containers, int request, const char *node,
										  YqLocality locality, const char *place);

/*
 * Subtract containers from their requests, beginning with the container at index "from".  Each
 * container decreases the number of wanted containers of its request by one, and the number for its
 * place by one.  When a request wants no more containers, all its places are removed.
 */
extern void yq_outstanding_request_serve(YqOutstandingRequests *requests,
										   const YqOpportunisticContainers *containers, int from);

/*
 * Compute the size of a container from the requested amounts.  Each amount is rounded
 * up to a multiple of the increment, is at least the minimum, and at most the maximum.
 * An increment of 0 means no rounding.  "result" and "asked" may be the same array.
 */
extern void yq_outstanding_request_size(const YqCalculator *calculator, int64 *result, const int64 *asked,
										  const YqContainerBounds *bounds);

#endif							/* YQ_OUTSTANDING_REQUEST_H */
