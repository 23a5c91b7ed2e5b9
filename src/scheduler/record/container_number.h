/*-------------------------------------------------------------------------
 *
 * container_number.h
 *	  Numbers of containers that nobody else has used.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_CONTAINER_NUMBER_H
#define YQ_CONTAINER_NUMBER_H

#include "scheduler/load/loaded_cluster.h"

/*
 * A pass numbers containers of an application one after the other, as if nobody else
 * did.  Events may have named such a container all the same: by hand, or those of a
 * resource manager that remembers what a failover has lost.  Where the books know a
 * name, or an event waits for it, take the next number that is free, with a WARNING;
 * those that follow move on.  Called under the lock of passes, before anything is
 * written down, with the applications (YqClusterApplication) of which something will
 * be, in order of their ids.  Who uses a name at this very moment, in a transaction
 * that has not ended, is not seen: the door refuses one of the two.
 */
extern void yq_container_numbers_skip_known(YqLoadedCluster *loaded, const List *applications);

#endif							/* YQ_CONTAINER_NUMBER_H */
