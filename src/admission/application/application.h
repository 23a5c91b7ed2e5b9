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
	const char *queue;			/* path; NULL: refused before a queue was chosen */
	const char *label_name;		/* label of its application master; "" is the default partition */
	int			label;			/* number of the label in the hierarchy; -1: the label no longer exists */
	const char *node_label_expression;	/* default label of all its containers; NULL: none */
	int32		priority;
	int64	   *am_amounts;		/* resource of its application master, native units, per type */
	YqApplicationState state;
	bool		has_outstanding_requests;
	TimestampTz submitted_at;
	const char *view_acl;		/* NULL: not set, so the list contains no user; also for modify_acl */
	const char *modify_acl;
} YqApplication;

/* Return the label of a state. */
extern const char *yq_application_state_name(YqApplicationState state);

/* Convert the label of a state to its OID, and back. */
extern Oid	yq_application_state_oid(YqApplicationState state);
extern YqApplicationState yq_application_state_of_oid(Oid oid);

/* Is the application live, that is, none of FINISHED, FAILED, KILLED, REJECTED? */
extern bool yq_application_is_live(YqApplicationState state);

/*
 * Return a negative number, zero or a positive number if a comes before b, is equal to
 * b, or comes after b.
 */
extern int	yq_application_id_compare(const char *a, const char *b);
extern int	yq_application_compare(const YqApplication *a, const YqApplication *b);

/* Compare two YqApplication for list_sort().  The application that was submitted earlier comes first. */
extern int	yq_application_compare_submissions(const ListCell *a, const ListCell *b);

/* Return the application with an id, palloc'd, or NULL. */
extern YqApplication *yq_application_find(const YqHierarchy *hierarchy, const char *application_id);

/* Return the applications of a leaf in one of the live states: YqApplication, in order. */
extern List *yq_applications_of_leaf(const YqHierarchy *hierarchy, const char *queue,
									 YqApplicationState state);

/* Insert an application into a list of a leaf, at its position. */
extern List *yq_applications_insert(List *applications, YqApplication *application);

/*
 * Return the smallest amount of a resource type, YQ_MEMORY or YQ_VCORES, that the
 * master of an ACCEPTED application needs.  Only applications of a leaf on a label
 * count.  The amount is in native units; 0 means that there are none.
 */
extern int64 yq_applications_least_waiting(const YqHierarchy *hierarchy, const char *queue,
										   const char *label, int type);

/*
 * Return the NON_RUNNABLE applications of a user in all queues.  The second function
 * returns those of a queue and all its descendants ("root": all).  The list of
 * YqApplication is in order of submission: by submitted_at, then by id.
 */
extern List *yq_applications_held_of_user(const YqHierarchy *hierarchy, const char *username);
extern List *yq_applications_held_below(const YqHierarchy *hierarchy, const char *path);

/* Add seconds to an instant; infinity when the sum is out of range. */
extern TimestampTz yq_application_expiry(TimestampTz from, int64 seconds);

/*
 * Change the state of a live application to another live state; its counters change,
 * too. why, which may be NULL, becomes the diagnostics.
 */
extern void yq_application_set_state(YqApplication *application, YqApplicationState state,
									 const char *why);

/*
 * Return the lifetime that an application gets in a queue, in seconds; 0 or less means
 * no limit.  A requested lifetime of 0 or less requests no limit (semantics/placement
 * 3.5).
 */
extern int64 yq_application_lifetime(const YqQueue *queue, int64 requested);

typedef enum YqApplicationOperation
{
	YQ_VIEW_APP,
	YQ_MODIFY_APP
} YqApplicationOperation;

/* Properties of an application on which access to it depends. */
typedef struct YqApplicationOwner
{
	const char *application_id;
	const char *username;
	const char *queue;			/* path; NULL when the application has none */
	const char *view_acl;		/* NULL: not set, so the list contains no user; also for modify_acl */
	const char *modify_acl;
} YqApplicationOwner;

/* Return Hadoop's name of an operation: VIEW_APP, MODIFY_APP. */
extern const char *yq_application_operation_name(YqApplicationOperation operation);

/* Return the operation with a name, in any case.  An unknown name is an error (22023). */
extern YqApplicationOperation yq_application_operation(const char *name);

/* Check access to an application.  If the administrators' list of a queue decides, decided_by is its path. */
extern YqAccessDecision yq_application_access(const YqHierarchy *hierarchy, const YqApplicationOwner *application,
										YqApplicationOperation operation,
										const YqSubject *subject);

#endif							/* YQ_APPLICATION_H */
