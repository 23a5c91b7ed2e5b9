/*-------------------------------------------------------------------------
 *
 * completed_application.h
 *	  Containers of an application that is over, or of an attempt of it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_COMPLETED_APPLICATION_H
#define YQ_COMPLETED_APPLICATION_H

#include "base/compat.h"

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

#endif							/* YQ_COMPLETED_APPLICATION_H */
