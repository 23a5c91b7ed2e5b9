/*-------------------------------------------------------------------------
 *
 * application_change.h
 *	  Ending and changing admitted applications (semantics/placement).
 *
 * Every function locks the rows that it decides by (queue_lock.h) until the transaction
 * ends.  An unknown id is an error (ERRCODE_UNDEFINED_OBJECT). caller is the subject
 * that requests the change and needs access (yq_application_access()), else
 * ERRCODE_INSUFFICIENT_PRIVILEGE.  NULL is the resource manager.  Ended applications do
 * not change.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_APPLICATION_CHANGE_H
#define YQ_APPLICATION_CHANGE_H

#include "admission/application/application.h"
#include "admission/application/queue_lock.h"
#include "queues/acl.h"

/*
 * End an application.  Waiting applications of its leaf that fit now become active,
 * applications held by max-parallel-apps become runnable (semantics/placement 3.6,
 * 4.1).  Returns the application's new state.
 */
extern YqApplicationState yq_application_end(const char *application_id, YqApplicationState state,
											 const char *diagnostics, const YqSubject *caller);

/*
 * Move an application to another leaf, as CapacityScheduler.moveApplication() does.
 * Limits of the target count, max-parallel-apps does not.  The application has to find
 * resources for its master anew.  Returns the application's state after the move.
 */
extern YqApplicationState yq_application_move(const char *application_id, const char *queue_name,
											  const YqSubject *caller);

/*
 * Move an application as the scheduler itself does when a queue goes.  Limits of the
 * target count; no right is checked.  Returns false when the limits refuse the
 * application; then *reason is set, and the application stays.
 */
extern bool yq_application_try_move(const char *application_id, const char *queue_name, const char **reason);

/*
 * Take all locks, in their order, that moving several applications (char *) to a queue,
 * or ending them, takes one by one.  The locks of leaves by their paths (char *) are
 * included.  Returns the locks, which may be released as long as nothing is changed
 * under them (queue_lock.h).
 */
extern YqQueueLocks yq_applications_lock(const List *application_ids, const char *queue_name, const List *leaves);

/* Change the priority; returns the new priority, at most the cluster's maximum. */
extern int32 yq_application_change_priority(const char *application_id, int32 priority,
											const YqSubject *caller);

/*
 * Let the application live for so many seconds from now, at most the queue's maximum
 * from its submission.  Returns when it expires. *has_expiry is false for an
 * application that has ended and never had an expiry.
 */
extern TimestampTz yq_application_change_lifetime(const char *application_id, int64 lifetime,
												  const YqSubject *caller, bool *has_expiry);

/*
 * Record whether the application waits for containers; returns whether that has
 * changed.  An application that is not active changes nothing when its user has no
 * active application in the leaf.  The user does not become active by such a request.
 */
extern bool yq_application_change_demand(const char *application_id, bool has_outstanding_requests);

/*
 * Decide again about waiting applications in one leaf or everywhere, as after a change
 * of the configuration or the cluster.  Everywhere includes applications that
 * max-parallel-apps holds.  Returns YqApplication: the applications whose state has
 * changed, with the new state.
 */
extern List *yq_applications_activate(const char *leaf_name);
extern List *yq_applications_refresh(void);

#endif							/* YQ_APPLICATION_CHANGE_H */
