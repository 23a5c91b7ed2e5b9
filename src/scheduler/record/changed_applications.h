/*-------------------------------------------------------------------------
 *
 * changed_applications.h
 *	  What sessions that keep a cluster learn of the applications that a cycle
 *	  has changed.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_CHANGED_APPLICATIONS_H
#define YQ_CHANGED_APPLICATIONS_H

#include "scheduler/load/loaded_cluster.h"

/*
 * Note all that the cycle has changed (loaded->changed) in the journal.  Called under the
 * scheduler's lock when numbers of containers are final, and before counters are
 * written down.
 */
extern void yq_changed_applications_note(const YqLoadedCluster *loaded);

#endif							/* YQ_CHANGED_APPLICATIONS_H */
