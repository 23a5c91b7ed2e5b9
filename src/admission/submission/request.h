/*-------------------------------------------------------------------------
 *
 * request.h
 *	  Requests for containers: amounts and node labels (semantics/allocation 7).
 *
 * Checked and rounded as Hadoop's SchedulerUtils does, for application masters
 * and for their requests.  Amounts are in native units, per type of the
 * hierarchy.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_REQUEST_H
#define YQ_REQUEST_H

#include "admission/submission/submission.h"
#include "base/resource.h"

/*
 * The most that a container may have: the cluster's, that of the largest node if
 * there are any, and the queue's if it is a leaf; palloc'd.
 */
extern int64 *yq_request_maximum(const YqHierarchy *hierarchy, const YqQueue *queue);

/*
 * Read a requested resource into amounts, which are zero so far.  Returns false
 * and fills the verdict when it names an unknown type.
 */
extern bool yq_request_read(const YqHierarchy *hierarchy, const YqQueue *queue,
							const YqResource *resource, int64 *amounts, YqVerdict *verdict);

/* Neither less than nothing nor more than the maximum?  False with the verdict filled. */
extern bool yq_request_check(const YqHierarchy *hierarchy, const YqQueue *queue, const int64 *amounts,
							 const int64 *maximum, YqVerdict *verdict);

/* In whole steps of the minimum allocation, which is also the least, and at most the maximum. */
extern void yq_request_normalize(const YqHierarchy *hierarchy, int64 *amounts, const int64 *maximum);

/*
 * The label that containers are for, without blanks around it: the requested
 * one, or (NULL) the default of the queue.  NULL stays NULL for a queue (NULL)
 * that is yet to be created.  Returns false and fills the verdict when the
 * queue may not use the label.
 */
extern bool yq_request_label(const YqHierarchy *hierarchy, const YqQueue *queue, const char *requested,
							 const char **label, YqVerdict *verdict);

#endif							/* YQ_REQUEST_H */
