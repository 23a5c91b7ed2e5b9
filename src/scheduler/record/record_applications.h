/*-------------------------------------------------------------------------
 *
 * record_applications.h
 *	  What sessions that keep a cluster, tables and containers learn of applications that a
 *	  cycle has changed or that are over.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_RECORD_APPLICATIONS_H
#define YQ_RECORD_APPLICATIONS_H

#include "base/compat.h"

#include "scheduler/load/loaded_cluster.h"

/* -- application demand -------------------------------------------------------- */

/* Whether an application waits for anything, as its requests have it. */

/*
 * Have the user of an application count as active if it waits for anything of the
 * scheduler's, new GUARANTEED containers or more for running ones.  Returns how many new
 * containers it waits for, OPPORTUNISTIC ones included.  The caller holds the scheduler's
 * lock, and that of the application's leaf.
 */
extern int64 yq_application_demand_note(const char *application_id);

/* -- completed application ----------------------------------------------------- */

/* Containers of an application that is over, or of an attempt of it. */

/* Which containers of an application end. */
typedef enum YqContainersOf
{
	YQ_GIVEN_CONTAINERS,		/* that the scheduler gave: others are their sources' to end */
	YQ_FORMER_CONTAINERS,		/* of these, those that do not outlive their attempt */
	YQ_ALL_CONTAINERS			/* of an application that yquota has killed */
} YqContainersOf;

/*
 * End containers of an application, as YARN ends those of an attempt that is done: a
 * CONTAINER_FINISH of the exit status ABORTED at the clock, and a decision "killed" in place of
 * decisions that gave something.  Called under the lock of the application's leaf.  Returns how
 * many ended.
 */
extern int64 yq_completed_application_end_containers(const char *application_id, YqContainersOf which);

/* Note that an application has ended: watch_ended_applications() looks for what outlives it. */
extern void yq_completed_application_note(const char *application_id);

/* -- changed applications ------------------------------------------------------ */

/*
 * What sessions that keep a cluster learn of the applications that a cycle
 * has changed.
 */

/*
 * Note all that the cycle has changed (loaded->changed) in the journal.  Called under the
 * scheduler's lock when numbers of containers are final, and before counters are
 * written down.
 */
extern void yq_changed_applications_note(const YqLoadedCluster *loaded);

#endif							/* YQ_RECORD_APPLICATIONS_H */
