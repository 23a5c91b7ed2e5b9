/*-------------------------------------------------------------------------
 *
 * request.h
 *	  Requests for containers: amounts and node labels (semantics/allocation 7).
 *
 * Requests are checked and rounded as Hadoop's SchedulerUtils does, for application
 * masters and for the containers that masters request.  Amounts are in native units,
 * per type of the hierarchy.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_REQUEST_H
#define YQ_REQUEST_H

#include "admission/submission/submission.h"
#include "base/resource.h"

/*
 * Return the largest container that may be requested, palloc'd.  It is limited by the
 * cluster's maximum and by the largest node, if there are nodes.  If the queue is a
 * leaf, it is also limited by the queue's maximum.
 */
extern int64 *yq_request_maximum(const YqHierarchy *hierarchy, const YqQueue *queue);

/*
 * Read a requested resource into amounts.  All amounts are zero before the call.  If
 * the resource names an unknown type, fills the verdict and returns false.
 */
extern bool yq_request_read(const YqHierarchy *hierarchy, const YqQueue *queue,
							const YqResource *resource, int64 *amounts, YqVerdict *verdict);

/* Check the amounts.  If an amount is negative or exceeds the maximum, fills the verdict and returns false. */
extern bool yq_request_check(const YqHierarchy *hierarchy, const YqQueue *queue, const int64 *amounts,
							 const int64 *maximum, YqVerdict *verdict);

/*
 * Round amounts up to a multiple of the minimum allocation, at least the minimum
 * allocation and at most the maximum.
 */
extern void yq_request_normalize(const YqHierarchy *hierarchy, int64 *amounts, const int64 *maximum);

/*
 * Determine the node label of containers: the requested label or, if it is NULL, the
 * queue's default label.  Blanks around the label are removed.  If the queue does not
 * exist yet, "queue" is NULL, and a label of NULL stays NULL.  If the queue may not use
 * the label, fills the verdict and returns false.
 */
extern bool yq_request_label(const YqHierarchy *hierarchy, const YqQueue *queue, const char *requested,
							 const char **label, YqVerdict *verdict);

#endif							/* YQ_REQUEST_H */
