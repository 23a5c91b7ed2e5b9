/*-------------------------------------------------------------------------
 *
 * request.h
 *	  Requests for containers: amounts and node labels (semantics/allocation 7).
 *
 * Requests are checked and rounded as Hadoop's SchedulerUtils does, both for
 * application masters and for requests of masters.  Amounts are in native units, per
 * type of the hierarchy.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_REQUEST_H
#define YQ_REQUEST_H

#include "admission/submission/submission.h"
#include "base/resource.h"

/*
 * Return the largest container, palloc'd.  The limits are the cluster's maximum, the
 * largest node if there are nodes, and the maximum of the queue if it is a leaf.
 */
extern int64 *yq_request_maximum(const YqHierarchy *hierarchy, const YqQueue *queue);

/*
 * Read a requested resource into amounts, which are zero on entry.  Returns false and
 * fills the verdict when the resource names an unknown type.
 */
extern bool yq_request_read(const YqHierarchy *hierarchy, const YqQueue *queue,
							const YqResource *resource, int64 *amounts, YqVerdict *verdict);

/* Check that no amount is negative or exceeds the maximum; false with the verdict filled. */
extern bool yq_request_check(const YqHierarchy *hierarchy, const YqQueue *queue, const int64 *amounts,
							 const int64 *maximum, YqVerdict *verdict);

/* Round up to whole steps of the minimum allocation, which is also the least amount, and limit to the maximum. */
extern void yq_request_normalize(const YqHierarchy *hierarchy, int64 *amounts, const int64 *maximum);

/*
 * Determine the label of containers, without blanks around it: the requested label, or
 * (NULL) the default of the queue.  NULL stays NULL for a queue (NULL) that is yet to
 * be created.  Returns false and fills the verdict when the queue may not use the
 * label.
 */
extern bool yq_request_label(const YqHierarchy *hierarchy, const YqQueue *queue, const char *requested,
							 const char **label, YqVerdict *verdict);

#endif							/* YQ_REQUEST_H */
