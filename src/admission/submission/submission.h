/*-------------------------------------------------------------------------
 *
 * submission.h
 *	  Admitting or refusing applications (semantics/placement 3).
 *
 * Decisions follow the order of Hadoop 3.4.1's resource manager: placement, lifetime,
 * application master, priority, access.  Then come the checks of its scheduler: the
 * reservation, where the queue is a plan, and the limit of the cluster.  The queue
 * follows, which may have to be created, with its states and limits.  Last come credit
 * of the project and its hold (not in Hadoop), parallel applications, and resources for
 * the application master.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_SUBMISSION_H
#define YQ_SUBMISSION_H

#include "admission/application/application.h"
#include "admission/application/leaf_usage.h"
#include "base/resource.h"
#include "queues/acl.h"

/* A submission.  Texts may be NULL where a comment says so. */
typedef struct YqSubmission
{
	const char *application_id;
	YqSubject	subject;
	const char *queue;			/* queue as named by the submission */
	const char *application_name;	/* may be NULL */
	const YqResource *am_resource;	/* native units; NULL: the minimum allocation */
	const int32 *priority;		/* NULL: the default */
	const int64 *lifetime;		/* seconds; NULL: the queue's default */
	int			tag_count;
	const char **tags;
	const char *label;			/* label of its application master; NULL or "": node_label_expression applies */
	const char *node_label_expression;	/* label of all its containers; NULL: the queue's default */
	bool		is_unmanaged;
	bool		keeps_containers;	/* containers survive the loss of the application master */
	const char *project;		/* may be NULL */
	const char *reservation_id; /* as stored; NULL: none.  It matters only in a plan */
	const char *view_acl;		/* may be NULL, like modify_acl */
	const char *modify_acl;
	NullableDatum expected;		/* yquota.container_request[] */
	bool		holds_quote;	/* hold the cost of the expected containers */
	NullableDatum hold_amount;	/* numeric: hold so much at least */
} YqSubmission;

/* The limit or rule that decided, when an application waits or is refused. */
typedef struct YqVerdict
{
	const char *decided_by;		/* NULL: the application neither waits nor is refused */
	const char *decided_at;		/* path of a queue or name of a user; may be NULL */
	bool		has_numbers;
	int64		used;
	int64		maximum;
	const int64 *used_amounts;	/* NULL when the limit is not one of amounts */
	const int64 *maximum_amounts;
	char	   *reason;
} YqVerdict;

/* Credit that an application holds from its submission on (submission_hold.h); the values are numeric. */
typedef struct YqSubmissionHold
{
	const char *project;		/* project that pays */
	NullableDatum quoted_cost;	/* cost of the expected containers */
	NullableDatum amount;		/* credits that are held */
	NullableDatum available;	/* credit that remains, when it is too little */
	NullableDatum fitting_lifetime; /* int8: seconds for which that credit is enough */
	NullableDatum hold_id;		/* int8 */
} YqSubmissionHold;

typedef struct YqAdmission
{
	YqApplication application;
	int64		lifetime;		/* seconds; not positive for none */
	YqVerdict	verdict;
	List	   *also_activated; /* YqApplication: further applications that the same round activated */
	const YqHierarchy *hierarchy;	/* hierarchy that the amounts belong to */
	YqSubmissionHold hold;
	bool		is_recorded;	/* an earlier call has recorded it */
} YqAdmission;

/*
 * Decide about a submission.  With is_to_be_let_in, the function locks the rows that
 * the decision depends on (queue_lock.h) and creates the queue where needed.  Otherwise
 * it locks and changes nothing.
 */
extern YqAdmission yq_submission_decide(const YqSubmission *submission, bool is_to_be_let_in);

/*
 * Record the application, refused or not, and activate the applications that may start.
 * Nothing is recorded again when the admission is_recorded.  An application of the same
 * id that was not refused is an error (ERRCODE_DUPLICATE_OBJECT).
 */
extern void yq_submission_record(const YqSubmission *submission, YqAdmission *admission);

/* -- parts of it ------------------------------------------------------------ */

/*
 * May a leaf take another application of a user?  The check covers states of the leaf
 * and of the queues above it, and the number of its applications.  False with the
 * verdict filled.
 */
extern bool yq_leaf_may_take(const YqLeafUsage *leaf, const char *application_id, const char *username,
							 YqVerdict *verdict);

/*
 * Determine the request for the application master, as charged.  Amounts are whole
 * steps of the minimum allocation, at most the maximum allocation.  The label is set, too.
 * "queue" is NULL when it is yet to be created; then the label may stay NULL.
 * Returns false and fills the verdict when the request cannot be met.
 */
extern bool yq_am_request_decide(const YqHierarchy *hierarchy, const YqQueue *queue,
								 const YqSubmission *submission, YqApplication *application,
								 YqVerdict *verdict);

/* May a leaf use a label?  False with the verdict filled. */
extern bool yq_am_label_check(const YqHierarchy *hierarchy, const YqQueue *queue, const char *label,
							  YqVerdict *verdict);


#endif							/* YQ_SUBMISSION_H */
