/*-------------------------------------------------------------------------
 *
 * access.h
 *	  Access of users to queues, and the priorities with which users may submit.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_ACCESS_H
#define YQ_ACCESS_H

#include "base/arguments.h"
#include "queues/acl.h"
#include "queues/hierarchy.h"

typedef struct YqAccessDecision
{
	bool		allowed;
	const char *decided_by;		/* path of the queue whose access list decided; NULL: no queue's list decided */
	char	   *reason;
} YqAccessDecision;

typedef struct YqPriorityDecision
{
	bool		allowed;
	int32		priority;
	char	   *reason;
} YqPriorityDecision;

/* A group of acl_application_max_priority.  Groups are sorted by descending maximum. */
typedef struct YqPriorityGroup
{
	int32		max_priority;
	bool		has_default;
	int32		default_priority;
	YqAcl	   *acl;
} YqPriorityGroup;

/*
 * Search the access lists for one operation, from the queue with this path upwards.  If
 * no queue has the path, the search begins at the nearest existing ancestor.  The
 * caller has checked that ACLs are enabled.
 */
extern YqAccessDecision yq_access_search(const YqHierarchy *hierarchy, const char *path, YqQueueOperation operation,
								 const YqSubject *subject);

/*
 * Check access to a queue like yq_access_search(), but allow everything if
 * yarn.acl.enable is off.  A short name that is ambiguous or unknown is refused.
 */
extern YqAccessDecision yq_access_check(const YqHierarchy *hierarchy, const char *queue, YqQueueOperation operation,
								  const YqSubject *subject);

/* May the user submit to the queue?  The queue is given by its path or short name. */
extern YqAccessDecision yq_access_check_submission(const YqHierarchy *hierarchy, const char *queue, const YqSubject *subject);

/* Does yarn.admin.acl contain the user? */
extern YqAccessDecision yq_access_check_administrator(const YqHierarchy *hierarchy, const YqSubject *subject);

/*
 * Decide the priority of an application.  The result is the requested priority, or the default if
 * none is requested.  If a tag names a workflow that has a priority, the workflow's priority is
 * used instead.  The result is at most the cluster's maximum.  "tags" may be NULL.
 */
extern YqPriorityDecision yq_priority_decide(const YqHierarchy *hierarchy, const char *queue, const YqSubject *subject,
											 const int32 *requested, const char *const *tags,
											 int tag_count);

/* Parse acl_application_max_priority.  Returns NULL, or the error with which Hadoop would refuse to start. */
extern char *yq_priority_acl_parse(const char *text, int32 maximum_priority, List **groups);

/*
 * Find the parents that must be created before the queue with a path.  Sets *missing to
 * their paths, topmost first, and returns NULL.  If the queue cannot be created,
 * returns the reason.
 */
extern char *yq_missing_parents(const YqHierarchy *hierarchy, const char *path, List **missing);

/*
 * Read a user from the arguments of an SQL function.  The parameters are argument
 * numbers; real_username is -1 if the function has no such argument.
 */
extern YqSubject yq_subject_arguments(FunctionCallInfo fcinfo, int username, int groups,
									  int real_username);

#endif							/* YQ_ACCESS_H */
