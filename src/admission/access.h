/*-------------------------------------------------------------------------
 *
 * access.h
 *	  Who may do what in a queue, and with which priority (seed 004).
 *
 * Decided as Hadoop 3.4.1 does; where the documentation of it says otherwise,
 * what the program does (found by running it):
 *
 * - An operation is allowed if the list of the queue or of any queue above it has
 *   the user.  Not set is nobody, for the root everybody.  yarn.admin.acl takes
 *   no part in that; it is about applications and the configuration.
 * - The lists about reservations are a queue's own: not inherited, and everybody
 *   where they are not set.
 * - Submitting needs SUBMIT_APPLICATIONS or ADMINISTER_QUEUE.  For a queue that
 *   is yet to be created, templates count as well; where nothing could be
 *   created nobody is refused here, because the submission fails later.
 * - A group of a priority list is read by position: the first of user= and
 *   group= is the list of users, the second that of groups.
 *
 * What is returned is palloc'd, or valid as long as the hierarchy.
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
	const char *decided_by;		/* path of a queue; NULL when no queue's list decided */
	char	   *reason;
} YqAccessDecision;

typedef struct YqPriorityDecision
{
	bool		allowed;
	int32		priority;
	char	   *reason;
} YqPriorityDecision;

/* The parts of acl_application_max_priority, by descending maximum. */
typedef struct YqPriorityGroup
{
	int32		max_priority;
	bool		has_default;
	int32		default_priority;
	YqAcl	   *acl;
} YqPriorityGroup;

/*
 * Look at the list of one operation from a path upwards.  The path need not be a
 * queue's.  ACLs are taken to be on.
 */
extern YqAccessDecision yq_access_walk(const YqHierarchy *hierarchy, const char *path, YqQueueOperation operation,
								 const YqSubject *subject);

/* The same with yarn.acl.enable; an ambiguous or unknown short name is refused. */
extern YqAccessDecision yq_access_check(const YqHierarchy *hierarchy, const char *queue, YqQueueOperation operation,
								  const YqSubject *subject);

/* May somebody submit to a queue, named by path or short name? */
extern YqAccessDecision yq_access_check_submission(const YqHierarchy *hierarchy, const char *queue, const YqSubject *subject);

/* Does yarn.admin.acl have somebody? */
extern YqAccessDecision yq_access_check_administrator(const YqHierarchy *hierarchy, const YqSubject *subject);

/*
 * The priority of an application: what is asked for or else a default, clamped;
 * then what its workflow is mapped to.  tags may be NULL.
 */
extern YqPriorityDecision yq_priority_decide(const YqHierarchy *hierarchy, const char *queue, const YqSubject *subject,
											 const int32 *requested, const char *const *tags,
											 int tag_count);

/*
 * Parse a priority list.  Returns NULL, or what is wrong with it: Hadoop does not
 * start with that.
 */
extern char *yq_priority_acl_parse(const char *text, int32 maximum_priority, List **groups);

/*
 * Which parents of a path would have to be created before it, from the top down,
 * as paths; returns NULL and sets *missing, or says why it cannot be created.
 */
extern char *yq_missing_parents(const YqHierarchy *hierarchy, const char *path, List **missing);

/* Who asks; -1 for a function without the argument real_username. */
extern YqSubject yq_subject_arguments(FunctionCallInfo fcinfo, int username, int groups,
									  int real_username);

#endif							/* YQ_ACCESS_H */
