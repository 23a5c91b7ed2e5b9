/*-------------------------------------------------------------------------
 *
 * application_change.h
 *	  Ending and changing admitted applications (semantics/placement).
 *
 * Every function locks the rows that it decides by (queue_lock.h) until the
 * transaction ends.  An unknown id is an error (ERRCODE_UNDEFINED_OBJECT).
 * caller is the subject that wants the change and needs access
 * (yq_application_access()), else ERRCODE_INSUFFICIENT_PRIVILEGE; NULL is the
 * resource manager.  Ended applications stay as they are.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_APPLICATION_CHANGE_H
#define YQ_APPLICATION_CHANGE_H

#include "admission/application/application.h"
#include "admission/application/queue_lock.h"
#include "queues/acl.h"

/*
 * End an application.  Waiting applications of its leaf that fit now become
 * active, those held by max-parallel-apps become runnable (semantics/placement 3.6,
 * 4.1).  Returns the application's new state.
 */
extern YqApplicationState yq_application_end(const char *application_id, YqApplicationState state,
											 const char *diagnostics, const YqSubject *caller);

/*
 * Move an application to another leaf, as CapacityScheduler.moveApplication() does:
 * limits of the target count, max-parallel-apps do not, and it has to find room
 * for its application master anew.  Returns the state that it has then.
 */
extern YqApplicationState yq_application_move(const char *application_id, const char *queue_name,
											  const YqSubject *caller);

/*
 * Move one as the scheduler itself does, when its queue goes: limits of the target count, no
 * right is asked for.  False when they do not let it in; *reason is set, and it stays.
 */
extern bool yq_application_try_move(const char *application_id, const char *queue_name, const char **reason);

/*
 * Take, in their order, all locks that moving several applications (char *) to a queue, or ending
 * them, takes one by one, and those of leaves by their paths (char *).  Returns them, to be
 * released as long as nothing is changed under them (queue_lock.h).
 */
extern YqQueueLocks yq_applications_lock(const List *application_ids, const char *queue_name, const List *leaves);

/* Change the priority; returns the new one, at most the cluster's maximum. */
extern int32 yq_application_change_priority(const char *application_id, int32 priority,
											const YqSubject *caller);

/*
 * Let it live so many seconds from now, at most the queue's maximum from its
 * submission; returns when it expires.  NULL in *has_expiry: it is over and never did.
 */
extern TimestampTz yq_application_change_lifetime(const char *application_id, int64 lifetime,
												  const YqSubject *caller, bool *has_expiry);

/*
 * Record whether the application waits for containers; returns whether that has
 * changed.  An application that is not active makes no change when its user has
 * no active application in the leaf: the user does not become active by it.
 */
extern bool yq_application_change_demand(const char *application_id, bool has_outstanding_requests);

/*
 * Decide again about waiting applications in one leaf or everywhere, as after a
 * change of the configuration or the cluster.  Everywhere includes applications
 * that max-parallel-apps holds.  Returns YqApplication: the applications whose
 * state has changed, with the new state.
 */
extern List *yq_applications_activate(const char *leaf_name);
extern List *yq_applications_refresh(void);

#endif							/* YQ_APPLICATION_CHANGE_H */
