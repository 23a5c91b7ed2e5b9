/*-------------------------------------------------------------------------
 *
 * opportunistic_request.h
 *	  Requests for OPPORTUNISTIC containers (opportunistic 2).
 *
 * They stay open until they are served, as OpportunisticContainerContext keeps them: an
 * entry for a priority and an allocation request id has a size, a count, and counts of
 * nodes and racks.  Rows of yquota.resource_request hold it: that of * has the count.
 * Sizes are those that were asked for; what is given may be larger or smaller.  Cycles of
 * the scheduler do not look at these rows, so none of their changes is noted for sessions
 * that keep a cluster.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_OPPORTUNISTIC_REQUEST_H
#define YQ_OPPORTUNISTIC_REQUEST_H

#include "scheduler/request/container_request.h"

/*
 * ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE, which names the property, while there are no
 * OPPORTUNISTIC containers to be had, or local schedulers of nodes give them out.
 */
extern void yq_opportunistic_request_check_enabled(const char *application_id);

/*
 * Merge a request, which has a valid name and count.  For * it sets the count.  For a node
 * or a rack it sets the count of that, of which 0 is none; the first request of an entry
 * supplies the entry's count, whatever it is for.  The label is kept, and not checked: no
 * allocation looks at it.
 *
 * ERRCODE_INVALID_PARAMETER_VALUE: an unknown resource type, an amount below 0, or another
 * size than that of an entry that is still wanted; an entry with count 0 gives way to it.
 * The caller holds the lock of the application's leaf, and may hold that of cycles.
 */
extern void yq_opportunistic_request_merge(const YqRequester *requester, const YqContainerRequest *request);

#endif							/* YQ_OPPORTUNISTIC_REQUEST_H */
