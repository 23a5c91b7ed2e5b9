/*-------------------------------------------------------------------------
 *
 * container_number.h
 *	  Free numbers for new containers.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_CONTAINER_NUMBER_H
#define YQ_CONTAINER_NUMBER_H

#include "scheduler/load/loaded_cluster.h"

/*
 * Skip numbers that are in use.  An allocation cycle numbers the containers of an
 * application consecutively, without reading tables.  A container may already have the id
 * with the next number, because a client has sent an event with this id.  After a failover
 * that has lost decisions, the resource manager may also report containers by the ids of
 * the lost decisions.  If a container or a waiting event has the id, the new container gets
 * the next free number, and the function raises a WARNING.  Later containers get later
 * numbers.
 *
 * Other transactions may have taken numbers of the application while the cycle decided.
 * New containers then get later numbers, without a WARNING.
 *
 * The caller holds the scheduler's lock and has not recorded any decision.  All
 * applications (YqClusterApplication) with decisions are in the list, which is sorted by
 * id.  The function does not see ids that open transactions use; charging then refuses the
 * second container with the id.
 */
extern void yq_container_numbers_skip_known(YqLoadedCluster *loaded, const List *applications);

/*
 * Find numbers, starting with "next", for containers of an attempt of an application.
 * The caller has locked its leaf.  Returns the number after the last one.  Used numbers
 * give the WARNING described above.
 */
extern int64 yq_container_numbers_take(const char *application_id, int32 attempt_number, int64 next,
									   int64 *numbers, int count);

#endif							/* YQ_CONTAINER_NUMBER_H */
