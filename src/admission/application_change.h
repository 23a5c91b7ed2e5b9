/*-------------------------------------------------------------------------
 *
 * application_change.h
 *	  What happens to applications after they were let in (seed 004).
 *
 * Every function locks what it decides by (queue_lock.h), until the
 * transaction ends.  An id that nobody has submitted is an error
 * (ERRCODE_UNDEFINED_OBJECT).  caller is who asks for the change, and has to be
 * allowed to (yq_application_access()), else ERRCODE_INSUFFICIENT_PRIVILEGE; NULL is
 * the resource manager.  Applications that are over are left as they are.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_APPLICATION_CHANGE_H
#define YQ_APPLICATION_CHANGE_H

#include "admission/application.h"
#include "queues/acl.h"

/*
 * End an application.  What it held up goes on: waiting applications of its leaf
 * that fit now become active, those held by max-parallel-apps runnable
 * (cs-semantics 3.6, 3.7).  Returns the state that it has now.
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

/* Change the priority; returns what it is then, lowered to the cluster's maximum. */
extern int32 yq_application_change_priority(const char *application_id, int32 priority,
											const YqSubject *caller);

/*
 * Let it live so many seconds from now, at most the queue's maximum from its
 * submission; returns when it expires.  NULL in *has_expiry: it is over and never did.
 */
extern TimestampTz yq_application_change_lifetime(const char *application_id, int64 lifetime,
												  const YqSubject *caller, bool *has_expiry);

/*
 * Say whether it waits for containers; returns whether that is news.  It is none of an application
 * that is not active, and whose user has no active one in the leaf: he does not become active by it.
 */
extern bool yq_application_change_demand(const char *application_id, bool has_outstanding_requests);

/*
 * Look again at what waits, as after a change of the configuration or the
 * cluster, in one leaf or everywhere; the latter also at what max-parallel-apps
 * hold.  Returns YqApplication: those whose state has changed, with the new one.
 */
extern List *yq_applications_activate(const char *leaf_name);
extern List *yq_applications_refresh(void);

#endif							/* YQ_APPLICATION_CHANGE_H */
