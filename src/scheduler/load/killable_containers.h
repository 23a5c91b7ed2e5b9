/*-------------------------------------------------------------------------
 *
 * killable_containers.h
 *	  Loading the containers that lazy preemption has made killable.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_KILLABLE_CONTAINERS_H
#define YQ_KILLABLE_CONTAINERS_H

#include "scheduler/load/loaded_cluster.h"
#include "utils/snapshot.h"

/*
 * Set the killable containers that run in a snapshot, the one that the usage was read
 * with.  Those of unknown queues are left out.
 */
extern void yq_cluster_read_killable(YqLoadedCluster *loaded, Snapshot snapshot);

#endif							/* YQ_KILLABLE_CONTAINERS_H */
