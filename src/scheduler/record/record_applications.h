/*-------------------------------------------------------------------------
 *
 * record_applications.h
 *	  Records of applications that a cycle has changed or that have ended, for tables,
 *	  containers, and sessions that keep a cluster.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_RECORD_APPLICATIONS_H
#define YQ_RECORD_APPLICATIONS_H

#include "base/compat.h"

#include "scheduler/load/loaded_cluster.h"

/* -- application demand -------------------------------------------------------- */

/* Record whether an application waits for containers, from its requests. */

/*
 * Make the user of an application active if the application waits for new GUARANTEED
 * containers or for more resources of running ones.  Returns how many new containers it
 * waits for, OPPORTUNISTIC ones included.  The caller holds the scheduler's lock, and
 * that of the application's leaf.
 */
extern int64 yq_application_demand_note(const char *application_id);

/* -- completed application ----------------------------------------------------- */

/* End containers of an application that has ended, or of an ended attempt. */

/* Containers of an application that end. */
typedef enum YqContainersOf
{
	YQ_GIVEN_CONTAINERS,		/* containers from the scheduler; other sources end their own */
	YQ_FORMER_CONTAINERS,		/* containers from the scheduler that do not outlive their attempt */
	YQ_ALL_CONTAINERS			/* all containers, of an application that yquota has killed */
} YqContainersOf;

/*
 * End containers of an application, as YARN does when an attempt ends.  Each gets a
 * CONTAINER_FINISH with the exit status ABORTED at the clock.  A decision "killed"
 * replaces decisions that allocated the container.  The caller holds the lock of the
 * application's leaf.  Returns how many containers ended.
 */
extern int64 yq_completed_application_end_containers(const char *application_id, YqContainersOf which);

/* Note that an application has ended: watch_ended_applications() looks for containers that outlive it. */
extern void yq_completed_application_note(const char *application_id);

/* -- changed applications ------------------------------------------------------ */

/* Note the applications that a cycle has changed, for sessions that keep a cluster. */

/*
 * Note all changes of the cycle (loaded->changed) in the journal.  Called under the
 * scheduler's lock when numbers of containers are final, and before counters are
 * written.
 */
extern void yq_changed_applications_note(const YqLoadedCluster *loaded);

#endif							/* YQ_RECORD_APPLICATIONS_H */
