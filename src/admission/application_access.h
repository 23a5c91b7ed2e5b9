/*-------------------------------------------------------------------------
 *
 * application_access.h
 *	  Who may see an application, and who may change or end it (seed 004).
 *
 * Decided as ClientRMService of Hadoop 3.4.1 does: the owner, whom the
 * application's list of that operation has, yarn.admin.acl, and whoever may
 * administer its queue.  Everybody while ACLs are off (yarn.acl.enable).
 *
 * What is returned is palloc'd, or valid as long as the hierarchy.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_APPLICATION_ACCESS_H
#define YQ_APPLICATION_ACCESS_H

#include "admission/access.h"

typedef enum YqApplicationOperation
{
	YQ_VIEW_APP,
	YQ_MODIFY_APP
} YqApplicationOperation;

/* What is asked about of an application. */
typedef struct YqApplicationOwner
{
	const char *application_id;
	const char *username;
	const char *queue;			/* path; NULL when it has none */
	const char *view_acl;		/* NULL: not set, which is nobody; so the next one */
	const char *modify_acl;
} YqApplicationOwner;

/* Hadoop's name of an operation: VIEW_APP, MODIFY_APP. */
extern const char *yq_application_operation_name(YqApplicationOperation operation);

/* The operation of a name in any case, or an error (22023). */
extern YqApplicationOperation yq_application_operation(const char *name);

/* decided_by is a queue's path when its administrators' list decided. */
extern YqDecision yq_application_access(const YqHierarchy *hierarchy, const YqApplicationOwner *application,
										YqApplicationOperation operation,
										const YqSubject *subject);

#endif							/* YQ_APPLICATION_ACCESS_H */
