/*-------------------------------------------------------------------------
 *
 * container_number.h
 *	  Free numbers of new containers.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_CONTAINER_NUMBER_H
#define YQ_CONTAINER_NUMBER_H

#include "scheduler/load/loaded_cluster.h"

/*
 * Skip used numbers.  An allocation cycle numbers the containers of an application
 * consecutively.  An earlier event may have used the same name.  The event came from a
 * client, or from a resource manager that remembers containers which a failover has
 * lost.  If a container or a waiting event has the name, the new container gets the
 * next free number, with a WARNING.  Later ones move on.  New containers also move
 * behind numbers that were given out while the cycle decided; this gives no WARNING.
 * The function is called under the scheduler's lock before any decision is recorded.
 * Its applications (YqClusterApplication) have decisions, and are in order of their
 * ids.  A name in an open transaction is not seen: charging refuses one of the two.
 */
extern void yq_container_numbers_skip_known(YqLoadedCluster *loaded, const List *applications);

/*
 * Find numbers, from "next" on, for containers of an attempt of an application whose
 * leaf the caller has locked.  Returns the number after the last one.  Used numbers
 * give the WARNING described above.
 */
extern int64 yq_container_numbers_take(const char *application_id, int32 attempt_number, int64 next,
									   int64 *numbers, int count);

#endif							/* YQ_CONTAINER_NUMBER_H */
