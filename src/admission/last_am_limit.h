/*-------------------------------------------------------------------------
 *
 * last_am_limit.h
 *	  The limit for application masters that is in force in a leaf: that of the
 *	  last look at it.
 *
 * The CapacityScheduler takes what others leave for a leaf (AbstractLeafQueue's
 * queueResourceLimitsInfo) as it was when an application of the leaf was last looked
 * at for containers, on a node of whatever label, or when the cluster or the
 * configuration changed.  What follows from that for application masters in the
 * default partition stands in yquota_internal.am_limit: a row for each leaf where it
 * is not what follows when nothing is used, and one for root.  Without the latter no
 * pass has looked at anything, and nothing is remembered; with no amounts in it the
 * cluster has changed since, and all is to be computed again.
 *
 * Rows are written under the lock of passes, or one of the configuration that
 * excludes passes.  Amounts are palloc'd, in native units.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_LAST_AM_LIMIT_H
#define YQ_LAST_AM_LIMIT_H

#include "queues/hierarchy.h"

/* Is anything remembered, as committed now? */
extern bool yq_last_am_limits_are_known(void);

/* Of a leaf, if anything is. */
extern int64 *yq_last_am_limit(const YqHierarchy *hierarchy, const YqQueue *leaf);

/* Of all leaves, by number of the queue; NULL when nothing is remembered. */
extern int64 **yq_last_am_limits(const YqHierarchy *hierarchy);

/* The limit for application masters in the default partition of a leaf to which so much is handed down. */
extern int64 *yq_leaf_am_limit_of(const YqHierarchy *hierarchy, const YqQueue *leaf, const int64 *limit);

/* Have leaves have those limits. */
extern void yq_last_am_limits_write(const YqHierarchy *hierarchy, const YqQueue **leaves, int64 **limits, int count);

/*
 * Have all leaves have what is left to them now: by containers on nodes in service, and
 * by reservations; the latter only if passes have looked at anything yet.
 */
extern void yq_last_am_limits_compute(YqHierarchy *hierarchy);
extern void yq_last_am_limits_compute_again(YqHierarchy *hierarchy);

/* The cluster has changed: they have to be computed again, unless nothing is remembered. */
extern void yq_last_am_limits_forget(void);

#endif							/* YQ_LAST_AM_LIMIT_H */
