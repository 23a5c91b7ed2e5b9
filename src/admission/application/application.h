/*-------------------------------------------------------------------------
 *
 * application.h
 *	  Applications of the scheduler as rows of yquota.application (docs/design.md 5).
 *
 * Applications are read in the newest committed state, with the changes of this
 * transaction, at every isolation level.  A caller that decides by them holds
 * the locks of queue_lock.h, so that they stay true.
 *
 * Applications are ordered as a leaf of Hadoop has them: the larger priority
 * first, then the smaller id.  Ids of the form application_<number>_<number>
 * compare by their numbers, which is the order of submission; all others come
 * after them, as text.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_APPLICATION_H
#define YQ_APPLICATION_H

#include "admission/access/access.h"
#include "datatype/timestamp.h"
#include "nodes/pg_list.h"
#include "queues/hierarchy.h"

/* In the order of yquota.application_state. */
typedef enum YqApplicationState
{
	YQ_APPLICATION_NON_RUNNABLE,	/* held by max-parallel-apps */
	YQ_APPLICATION_ACCEPTED,	/* waits for room for its application master */
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
	const char *queue;			/* path; NULL when it was refused before it had one */
	const char *label_name;		/* of its application master; "" is the default partition */
	int			label;			/* its number in the hierarchy; -1 when the label is gone */
	const char *node_label_expression;	/* of all its containers; NULL: none */
	int32		priority;
	int64	   *am_amounts;		/* of its application master, native units, per type */
	YqApplicationState state;
	bool		has_outstanding_requests;
	TimestampTz submitted_at;
	const char *view_acl;		/* NULL: not set, which admits no user; so the next one */
	const char *modify_acl;
} YqApplication;

/* The label of a state. */
extern const char *yq_application_state_name(YqApplicationState state);

/* The label of a state as OID, and back. */
extern Oid	yq_application_state_oid(YqApplicationState state);
extern YqApplicationState yq_application_state_of_oid(Oid oid);

/* Has it a place in a queue: none of FINISHED, FAILED, KILLED, REJECTED? */
extern bool yq_application_is_live(YqApplicationState state);

/* Negative, zero, positive: a comes before, with, after b. */
extern int	yq_application_id_compare(const char *a, const char *b);
extern int	yq_application_compare(const YqApplication *a, const YqApplication *b);

/* For list_sort() of YqApplication: those submitted earlier come first. */
extern int	yq_application_compare_submissions(const ListCell *a, const ListCell *b);

/* The application of an id, palloc'd, or NULL. */
extern YqApplication *yq_application_find(const YqHierarchy *hierarchy, const char *application_id);

/* Those of a leaf in one of the live states: YqApplication, in order. */
extern List *yq_applications_of_leaf(const YqHierarchy *hierarchy, const char *queue,
									 YqApplicationState state);

/* Put one into a list of a leaf, in its place. */
extern List *yq_applications_insert(List *applications, YqApplication *application);

/*
 * The least of a resource type, YQ_MEMORY or YQ_VCORES, that the application master
 * of an ACCEPTED one needs, of those of a leaf on a label, in native units; 0 when
 * there is none.
 */
extern int64 yq_applications_least_waiting(const YqHierarchy *hierarchy, const char *queue,
										   const char *label, int type);

/*
 * Those that are NON_RUNNABLE, of a user in all queues, or of a queue and all
 * queues below it ("root": all): YqApplication, in order of submission, which is
 * that of submitted_at, then of ids.
 */
extern List *yq_applications_held_of_user(const YqHierarchy *hierarchy, const char *username);
extern List *yq_applications_held_below(const YqHierarchy *hierarchy, const char *path);

/* An instant plus seconds, or infinity when the sum is out of range. */
extern TimestampTz yq_application_expiry(TimestampTz from, int64 seconds);

/*
 * Change the state of a live application to another live one; its counters
 * follow. why may be NULL; it becomes the diagnostics.
 */
extern void yq_application_set_state(YqApplication *application, YqApplicationState state,
									 const char *why);

/*
 * The lifetime that an application gets in a queue, in seconds, not positive
 * for none.  A requested lifetime that is not positive asks for none
 * (semantics/placement 3.5).
 */
extern int64 yq_application_lifetime(const YqQueue *queue, int64 requested);

typedef enum YqApplicationOperation
{
	YQ_VIEW_APP,
	YQ_MODIFY_APP
} YqApplicationOperation;

/* The properties of an application that decide about access. */
typedef struct YqApplicationOwner
{
	const char *application_id;
	const char *username;
	const char *queue;			/* path; NULL when it has none */
	const char *view_acl;		/* NULL: not set, which admits no user; so the next one */
	const char *modify_acl;
} YqApplicationOwner;

/* Hadoop's name of an operation: VIEW_APP, MODIFY_APP. */
extern const char *yq_application_operation_name(YqApplicationOperation operation);

/* The operation of a name in any case, or an error (22023). */
extern YqApplicationOperation yq_application_operation(const char *name);

/* decided_by is a queue's path when its administrators' list decided. */
extern YqAccessDecision yq_application_access(const YqHierarchy *hierarchy, const YqApplicationOwner *application,
										YqApplicationOperation operation,
										const YqSubject *subject);

#endif							/* YQ_APPLICATION_H */
