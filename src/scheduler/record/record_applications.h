/*-------------------------------------------------------------------------
 *
 * record_applications.h
 *	  Records about applications: whether they wait for containers, the end of their
 *	  containers, and the changes by cycles, for sessions that keep a cluster.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_RECORD_APPLICATIONS_H
#define YQ_RECORD_APPLICATIONS_H

#include "base/compat.h"

#include "scheduler/load/loaded_cluster.h"

/* -- application demand -------------------------------------------------------- */

/* Record whether an application waits for containers, as its requests show. */

/*
 * Make the user of an application active if the application waits for new GUARANTEED
 * containers, or for more resources of running containers.  Returns the number of new
 * containers for which the application waits, including OPPORTUNISTIC ones.  The caller
 * holds the scheduler's lock and the lock of the application's leaf.
 */
extern int64 yq_application_demand_note(const char *application_id);

/* -- completed application ----------------------------------------------------- */

/* End containers of an application that has ended, or of an attempt that has ended. */

/* Selection of the containers of an application that end. */
typedef enum YqContainersOf
{
	YQ_GIVEN_CONTAINERS,		/* containers that the scheduler has started; other sources end their own containers */
	YQ_FORMER_CONTAINERS,		/* containers that the scheduler has started and that do not outlive their attempt */
	YQ_ALL_CONTAINERS			/* all containers of an application that yquota has killed */
} YqContainersOf;

/*
 * End containers of an application, as YARN does when an attempt ends.  Each container
 * gets a CONTAINER_FINISH with the exit status ABORTED, at the time of the clock.  A
 * decision "killed" replaces the decisions that allocated the container.  The caller
 * holds the lock of the application's leaf.  Returns the number of containers that
 * ended.
 */
extern int64 yq_completed_application_end_containers(const char *application_id, YqContainersOf which);

/* Note that an application has ended.  watch_ended_applications() looks for containers that outlive it. */
extern void yq_completed_application_note(const char *application_id);

/* -- changed applications ------------------------------------------------------ */

/*
 * Record the changes of a cycle in the journal, for sessions that keep a cluster.  The
 * changed applications are in loaded->changed.  The caller holds the scheduler's lock.  It
 * has determined the numbers of containers, and has not yet written requests and counters.
 */
extern void yq_changed_applications_note(const YqLoadedCluster *loaded);

#endif							/* YQ_RECORD_APPLICATIONS_H */
