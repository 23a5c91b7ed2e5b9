/*-------------------------------------------------------------------------
 *
 * application_change.h
 *	  Ending and changing admitted applications (semantics/placement).
 *
 * Every function locks the rows on which its decision depends (queue_lock.h) until the
 * transaction ends.  An unknown id is an error (ERRCODE_UNDEFINED_OBJECT).  "caller" is
 * the user who requests the change; NULL is the resource manager.  A user without
 * access (yq_application_access()) gets ERRCODE_INSUFFICIENT_PRIVILEGE.  Applications
 * that have ended do not change.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_APPLICATION_CHANGE_H
#define YQ_APPLICATION_CHANGE_H

#include "admission/application/application.h"
#include "admission/application/queue_lock.h"
#include "queues/acl.h"

/*
 * End an application.  Waiting applications of its leaf that fit now become active, and
 * applications that max-parallel-apps holds become runnable (semantics/placement 3.6,
 * 4.1).  Returns the new state of the ended application.
 */
extern YqApplicationState yq_application_end(const char *application_id, YqApplicationState state,
											 const char *diagnostics, const YqSubject *caller);

/*
 * Move an application to another leaf, as CapacityScheduler.moveApplication() does.
 * The limits of the target queue apply, except max-parallel-apps.  The application's
 * master must be activated again.  Returns the application's state after the move.
 */
extern YqApplicationState yq_application_move(const char *application_id, const char *queue_name,
											  const YqSubject *caller);

/*
 * Move an application without a user's request, because its queue is removed.  The
 * limits of the target queue apply, but no right is checked.  If a limit is reached,
 * the application stays where it is, and the function sets *reason and returns false.
 */
extern bool yq_application_try_move(const char *application_id, const char *queue_name, const char **reason);

/*
 * Take all locks that are needed to move applications to a queue, or to end them, one after the
 * other.  The ids of the applications are char *.  The leaves with the paths in "leaves" (char *)
 * are locked, too.  The function takes all these locks in one pass, in their order.  The caller may
 * release the returned locks as long as it has changed nothing under them (queue_lock.h).
 */
extern YqQueueLocks yq_applications_lock(const List *application_ids, const char *queue_name, const List *leaves);

/* Change the priority of an application.  Returns the new priority, which is at most the cluster's maximum. */
extern int32 yq_application_change_priority(const char *application_id, int32 priority,
											const YqSubject *caller);

/*
 * Let the application expire after the given number of seconds from now.  The queue's
 * maximum lifetime, counted from the submission, still applies.  Returns the time of
 * expiry.  *has_expiry is false if the application has ended without ever having an
 * expiry.
 */
extern TimestampTz yq_application_change_lifetime(const char *application_id, int64 lifetime,
												  const YqSubject *caller, bool *has_expiry);

/*
 * Record whether the application has outstanding requests, and return whether the record has
 * changed.  New outstanding requests make the user active, but only if the user has an active
 * application in the leaf.  Otherwise, they are not recorded.
 */
extern bool yq_application_change_demand(const char *application_id, bool has_outstanding_requests);

/*
 * Decide again about waiting applications, for example after a change of the
 * configuration or the cluster.  yq_applications_activate() decides in one leaf.
 * yq_applications_refresh() decides in all leaves, and also about applications that
 * max-parallel-apps holds.  Both return the applications whose state has changed
 * (YqApplication *), with the new state.
 */
extern List *yq_applications_activate(const char *leaf_name);
extern List *yq_applications_refresh(void);

#endif							/* YQ_APPLICATION_CHANGE_H */
