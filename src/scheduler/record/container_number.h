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
 * consecutively.  An earlier event may have used the same name.  It may come from a
 * client, or from a resource manager that remembers containers which a failover has
 * lost.  If a container or a waiting event has the name, the new container gets the
 * next free number, and the function raises a WARNING.  Later containers get later
 * numbers. New containers also get numbers after those that were taken while the cycle
 * decided; this gives no WARNING.
 *
 * The caller holds the scheduler's lock and has not recorded any decision.  The
 * applications (YqClusterApplication) have decisions, and are sorted by id.  The
 * function does not see a name that an open transaction has used; charging then refuses
 * one of the two containers.
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
