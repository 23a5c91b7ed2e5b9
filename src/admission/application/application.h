/*-------------------------------------------------------------------------
 *
 * application.h
 *	  Applications of the scheduler as rows of yquota.application (docs/design.md 5).
 *
 * Applications are read in the newest committed state, with the changes of this
 * transaction, at every isolation level.  A caller whose decision depends on them holds
 * the locks of queue_lock.h, so that they do not change.
 *
 * Applications are sorted as in a leaf in Hadoop: the larger priority comes first, then
 * the smaller id.  Ids of the form application_<number>_<number> compare by their
 * numbers, which is the order of submission.  All other ids come after them, and
 * compare as text.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_APPLICATION_H
#define YQ_APPLICATION_H

#include "admission/access/access.h"
#include "datatype/timestamp.h"
#include "nodes/pg_list.h"
#include "queues/hierarchy.h"

/* States in the order of yquota.application_state. */
typedef enum YqApplicationState
{
	YQ_APPLICATION_NON_RUNNABLE,	/* held by max-parallel-apps */
	YQ_APPLICATION_ACCEPTED,	/* waiting for resources for its application master */
	YQ_APPLICATION_ACTIVE,
	YQ_APPLICATION_FINISHED,
	YQ_APPLICATION_FAILED,
	YQ_APPLICATION_KILLED,
	YQ_APPLICATION_REJECTED,
	YQ_APPLICATION_STATES
} YqApplicationState;

typedef struct YqApplication
{
	const char *application_id;
	const char *username;
	const char *queue;			/* path of the queue; NULL: the application was refused before a queue was chosen */
	const char *label_name;		/* node label of the application's master; "" is the default partition */
	int			label;			/* number of label_name in the hierarchy; -1: the label no longer exists */
	const char *node_label_expression;	/* default node label of the application's containers; NULL: none */
	int32		priority;
	int64	   *am_amounts;		/* resource of the application's master: native units, one amount per type */
	YqApplicationState state;
	bool		has_outstanding_requests;
	TimestampTz submitted_at;
	const char *view_acl;		/* NULL: the list is not set, so it names no user */
	const char *modify_acl;		/* NULL: the list is not set, so it names no user */
} YqApplication;

/* Return the label of a state in the enum yquota.application_state. */
extern const char *yq_application_state_name(YqApplicationState state);

/* Convert a state to the OID of its enum label, and back. */
extern Oid	yq_application_state_oid(YqApplicationState state);
extern YqApplicationState yq_application_state_of_oid(Oid oid);

/* Is this the state of a live application?  The states FINISHED, FAILED, KILLED and REJECTED are not. */
extern bool yq_application_is_live(YqApplicationState state);

/*
 * Compare two applications, or two ids, by their order.  The result is negative if
 * "a" comes before "b", zero if they are equal, and positive if "a" comes after "b".
 */
extern int	yq_application_id_compare(const char *a, const char *b);
extern int	yq_application_compare(const YqApplication *a, const YqApplication *b);

/* Compare two YqApplication, for list_sort().  The application that was submitted first comes first. */
extern int	yq_application_compare_submissions(const ListCell *a, const ListCell *b);

/* Return the application with this id, palloc'd, or NULL. */
extern YqApplication *yq_application_find(const YqHierarchy *hierarchy, const char *application_id);

/* Return the applications of a leaf that are in this live state, as YqApplication *, in order. */
extern List *yq_applications_of_leaf(const YqHierarchy *hierarchy, const char *queue,
									 YqApplicationState state);

/* Insert an application into a sorted list of the leaf's applications. */
extern List *yq_applications_insert(List *applications, YqApplication *application);

/*
 * Return the smallest amount of memory or cores (YQ_MEMORY, YQ_VCORES) that the master
 * of an ACCEPTED application needs.  Only applications of this leaf whose masters run
 * on this label count.  The amount is in native units.  It is 0 if there is no such
 * application.
 */
extern int64 yq_applications_least_waiting(const YqHierarchy *hierarchy, const char *queue,
										   const char *label, int type);

/*
 * Return the NON_RUNNABLE applications of a user in all queues.
 * yq_applications_held_below() returns the NON_RUNNABLE applications of a queue and of
 * its descendants; "root" stands for all queues.  The list of YqApplication * is
 * sorted by submitted_at, then by id.
 */
extern List *yq_applications_held_of_user(const YqHierarchy *hierarchy, const char *username);
extern List *yq_applications_held_below(const YqHierarchy *hierarchy, const char *path);

/* Add seconds to an instant.  The result is infinity if the sum is out of range. */
extern TimestampTz yq_application_expiry(TimestampTz from, int64 seconds);

/*
 * Change the state of a live application to another live state, and update the counters
 * of applications.  The text "why" becomes the diagnostics, and may be NULL.
 */
extern void yq_application_set_state(YqApplication *application, YqApplicationState state,
									 const char *why);

/*
 * Return the lifetime in seconds that an application gets in a queue (semantics/placement 3.5).  In
 * "requested" and in the result, 0 or less means no limit.
 */
extern int64 yq_application_lifetime(const YqQueue *queue, int64 requested);

typedef enum YqApplicationOperation
{
	YQ_VIEW_APP,
	YQ_MODIFY_APP
} YqApplicationOperation;

/* The properties of an application that decide who may access it. */
typedef struct YqApplicationOwner
{
	const char *application_id;
	const char *username;
	const char *queue;			/* path of the queue; NULL: the application has no queue */
	const char *view_acl;		/* NULL: the list is not set, so it names no user */
	const char *modify_acl;		/* NULL: the list is not set, so it names no user */
} YqApplicationOwner;

/* Return Hadoop's name of an operation: VIEW_APP or MODIFY_APP. */
extern const char *yq_application_operation_name(YqApplicationOperation operation);

/* Return the operation with this name, ignoring case.  An unknown name is an error (SQLSTATE 22023). */
extern YqApplicationOperation yq_application_operation(const char *name);

/*
 * Check access to an application.  If the access list of a queue's administrators
 * decides, decided_by is the queue's path.
 */
extern YqAccessDecision yq_application_access(const YqHierarchy *hierarchy, const YqApplicationOwner *application,
										YqApplicationOperation operation,
										const YqSubject *subject);

#endif							/* YQ_APPLICATION_H */
