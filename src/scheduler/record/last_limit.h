/*-------------------------------------------------------------------------
 *
 * last_limit.h
 *	  Limits for application masters that follow from what passes hand down.
 *
 * A pass notes what the parents of leaves hand down (yq_cluster_note_limit()).  The
 * limit for application masters follows from it until the next pass that offers a
 * node to an application of the leaf (admission/last_am_limit.h).
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_LAST_LIMIT_H
#define YQ_LAST_LIMIT_H

#include "scheduler/state/cluster.h"

/* Before a pass that is recorded: bring remembered limits up to date with the cluster. */
extern void yq_last_limits_prepare(YqCluster *cluster);

/* After the pass: write the limits that have changed. */
extern void yq_last_limits_write(YqCluster *cluster);

#endif							/* YQ_LAST_LIMIT_H */
