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
	const char *decided_by;		/* path of a queue; NULL: no list of a queue decided */
	char	   *reason;
} YqAccessDecision;

typedef struct YqPriorityDecision
{
	bool		allowed;
	int32		priority;
	char	   *reason;
} YqPriorityDecision;

/* Groups of acl_application_max_priority, by descending maximum. */
typedef struct YqPriorityGroup
{
	int32		max_priority;
	bool		has_default;
	int32		default_priority;
	YqAcl	   *acl;
} YqPriorityGroup;

/*
 * Search the lists of one operation from a path upwards.  There need not be a queue
 * with the path.  The search assumes that ACLs are enabled.
 */
extern YqAccessDecision yq_access_search(const YqHierarchy *hierarchy, const char *path, YqQueueOperation operation,
								 const YqSubject *subject);

/* Check access as above, but obey yarn.acl.enable.  An ambiguous or unknown short name is refused. */
extern YqAccessDecision yq_access_check(const YqHierarchy *hierarchy, const char *queue, YqQueueOperation operation,
								  const YqSubject *subject);

/* May the subject submit to a queue, named by path or short name? */
extern YqAccessDecision yq_access_check_submission(const YqHierarchy *hierarchy, const char *queue, const YqSubject *subject);

/* Does yarn.admin.acl contain the subject? */
extern YqAccessDecision yq_access_check_administrator(const YqHierarchy *hierarchy, const YqSubject *subject);

/*
 * Decide the priority of an application.  It is the requested priority or, if there is
 * none, a default, limited to the maximum.  The priority of its workflow replaces it.
 * tags may be NULL.
 */
extern YqPriorityDecision yq_priority_decide(const YqHierarchy *hierarchy, const char *queue, const YqSubject *subject,
											 const int32 *requested, const char *const *tags,
											 int tag_count);

/* Parse a priority list.  Returns NULL, or the error that prevents Hadoop from starting. */
extern char *yq_priority_acl_parse(const char *text, int32 maximum_priority, List **groups);

/*
 * Set *missing to the paths of the parents that must be created before a path, from the
 * top down, and return NULL.  If the path cannot be created, return the reason instead.
 */
extern char *yq_missing_parents(const YqHierarchy *hierarchy, const char *path, List **missing);

/* Read the subject from arguments of an SQL function.  real_username is -1 if there is no such argument. */
extern YqSubject yq_subject_arguments(FunctionCallInfo fcinfo, int username, int groups,
									  int real_username);

#endif							/* YQ_ACCESS_H */
