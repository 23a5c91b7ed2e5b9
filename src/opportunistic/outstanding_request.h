/*-------------------------------------------------------------------------
 *
 * outstanding_request.h
 *	  What an application has asked for in opportunistic containers and has not
 *	  got (opportunistic 2).
 *
 * Requests are kept by priority and allocation request id.  Under one such key an
 * application asks for one size: Hadoop fails when there are two (opportunistic S3).
 * Amounts are native units, one for each type of the calculator.  Knows no table.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_OUTSTANDING_REQUEST_H
#define YQ_OUTSTANDING_REQUEST_H

#include "base/compat.h"
#include "queues/calculator.h"
#include "scheduler/state/cluster.h"

/* A host or a rack where containers are wanted, and how many of them. */
typedef struct YqWantedPlace
{
	const char *name;
	int32		count;
} YqWantedPlace;

typedef struct YqWantedPlaces
{
	YqWantedPlace *places;		/* by name; those of which none is wanted any more are not there */
	int			count;
} YqWantedPlaces;

typedef struct YqOutstandingRequest
{
	int32		priority;
	int64		allocation_request_id;
	const int64 *asked;			/* for one container, as asked for */
	const char *label;			/* that nodes must have for the distributed allocator; "" for the default partition */
	TimestampTz first_seen_at;	/* since when it is open, where containers are given out centrally */
	int64		expected_duration;	/* of a container, microseconds; 0: not known */
	int32		count;			/* of containers; 0: there is nothing to do */
	YqWantedPlaces hosts;
	YqWantedPlaces racks;
} YqOutstandingRequest;

/* All of an application; begin with one that is all zero. */
typedef struct YqOutstandingRequests
{
	YqOutstandingRequest *requests;	/* in the order in which they are served, the largest key first */
	int			count;
} YqOutstandingRequests;

/* Of the size of a container, native units per type. */
typedef struct YqContainerBounds
{
	int64	   *minimum;
	int64	   *maximum;
	int64	   *increment;
} YqContainerBounds;

/* A container that was given out. */
typedef struct YqOpportunisticContainer
{
	int			request;		/* number of the request that it is for */
	const char *node;
	YqLocality	locality;
	const char *place;			/* the host or rack that it was asked for; NULL: anywhere */
} YqOpportunisticContainer;

/* In the order in which they were given out. */
typedef struct YqOpportunisticContainers
{
	YqOpportunisticContainer *containers;
	int			count;
} YqOpportunisticContainers;

/*
 * A call gives out no more containers than these, however many are wanted and however long
 * the queues of nodes are, so that its memory and time are bounded.  Those that are left
 * wait for the next call.
 */
#define YQ_MOST_CONTAINERS_IN_CALL 100000

/* Is that the name of a rack? */
extern bool yq_outstanding_request_is_rack(const char *name);

/*
 * Add what the application asks for now, all that is not NULL of which is kept.  For "*"
 * it sets how many containers are wanted and how long they are expected to run, for a host or
 * a rack how many there; the first one of a new key sets the former, too, whatever its name is.  False when the key is
 * known with another size.
 */
extern bool yq_outstanding_request_add(YqOutstandingRequests *requests, const YqCalculator *calculator,
										 const YqOutstandingRequest *ask, const char *name, int32 count);

/* Note a container for a request, of which its bookkeeping follows: see below. */
extern void yq_outstanding_request_note(YqOpportunisticContainers *containers, int request, const char *node,
										  YqLocality locality, const char *place);

/*
 * Count containers, from a number on, as served.  A request of which none is wanted any
 * more has a count of 0 and no places, and otherwise the place has one less.
 */
extern void yq_outstanding_request_serve(YqOutstandingRequests *requests,
										   const YqOpportunisticContainers *containers, int from);

/*
 * The size of the container for an asked one: at least the minimum, in whole steps of the
 * increment, at most the maximum, of each type; an increment of 0 is none.  result may be asked.
 */
extern void yq_outstanding_request_size(const YqCalculator *calculator, int64 *result, const int64 *asked,
										  const YqContainerBounds *bounds);

#endif							/* YQ_OUTSTANDING_REQUEST_H */
