/*-------------------------------------------------------------------------
 *
 * container_number.h
 *	  Numbers of containers that are not used yet.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_CONTAINER_NUMBER_H
#define YQ_CONTAINER_NUMBER_H

#include "scheduler/load/loaded_cluster.h"

/*
 * An allocation cycle numbers the containers of an application consecutively.
 * Events may have used such a name before: sent by hand, or by a resource
 * manager that remembers containers which a failover has lost.  Where a
 * container or a waiting event has such a name, the new container gets the next free number, with
 * a WARNING, and later ones move on.  So they do, without one, behind numbers that were given
 * out while the cycle decided.  Called under the scheduler's lock before
 * any decision is recorded, with the applications (YqClusterApplication) that
 * have decisions, in order of their ids.  A name that an open transaction uses
 * is not seen: charging refuses one of the two.
 */
extern void yq_container_numbers_skip_known(YqLoadedCluster *loaded, const List *applications);

/*
 * Find numbers, from "next" on, for containers of an attempt of an application whose leaf
 * the caller has locked.  Returns the one after the last; the same WARNING.
 */
extern int64 yq_container_numbers_take(const char *application_id, int32 attempt_number, int64 next,
									   int64 *numbers, int count);

#endif							/* YQ_CONTAINER_NUMBER_H */
