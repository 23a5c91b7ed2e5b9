/*-------------------------------------------------------------------------
 *
 * submission.h
 *	  Admitting or refusing applications (semantics/placement 3).
 *
 * Decisions follow the order of Hadoop 3.4.1's resource manager: placement, lifetime,
 * application master, priority, access.  The scheduler's checks come next: the
 * reservation, if the queue is a plan, and the limit of the cluster.  The next steps
 * create the queue if necessary, and check its state and limits.  Then come two steps
 * that Hadoop does not have: they check the credit of the project, and decide about
 * the hold.  The last checks are the limit of parallel applications and the resources
 * for the application master.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_SUBMISSION_H
#define YQ_SUBMISSION_H

#include "admission/application/application.h"
#include "admission/application/leaf_usage.h"
#include "base/resource.h"
#include "queues/acl.h"
#include "utils/jsonb.h"

/* The arguments of a submission.  A text is NULL only if its comment says so. */
typedef struct YqSubmission
{
	const char *application_id;
	YqSubject	subject;
	const char *queue;			/* queue that the submission names */
	const char *application_name;	/* may be NULL */
	const YqResource *am_resource;	/* resource of the application master, in native units; NULL: the minimum
									 * allocation */
	const int32 *priority;		/* NULL: the default */
	const int64 *lifetime;		/* lifetime in seconds; NULL: the queue's default */
	int			tag_count;
	const char **tags;
	Jsonb	   *tag_values;		/* the tags as keys and values */
	const char *label;			/* node label of the application master; NULL or "": node_label_expression applies */
	const char *node_label_expression;	/* node label of all containers; NULL: the queue's default */
	bool		is_unmanaged;
	bool		keeps_containers;	/* containers keep running if the application master is lost */
	const char *project;		/* may be NULL */
	const char *reservation_id; /* id in its stored form; NULL: none; used only if the queue is a plan */
	const char *view_acl;		/* may be NULL */
	const char *modify_acl;		/* may be NULL */
	NullableDatum expected;		/* yquota.container_request[] */
	bool		holds_quote;	/* hold the cost of the expected containers */
	NullableDatum hold_amount;	/* numeric: hold at least this amount */
} YqSubmission;

/* The limit or rule because of which an application waits or is refused. */
typedef struct YqVerdict
{
	const char *decided_by;		/* name of the limit or rule; NULL: the application neither waits nor is refused */
	const char *decided_at;		/* path of the queue or name of the user to which the limit belongs; may be NULL */
	bool		has_numbers;
	int64		used;
	int64		maximum;
	const int64 *used_amounts;	/* NULL: the limit is not about resources */
	const int64 *maximum_amounts;
	char	   *reason;
} YqVerdict;

/*
 * Credit that an application holds from its submission until it ends
 * (submission_hold.h).  Amounts are numeric.
 */
typedef struct YqSubmissionHold
{
	const char *project;		/* project that pays */
	NullableDatum quoted_cost;	/* quoted cost of the expected containers */
	NullableDatum amount;		/* credits that the hold takes */
	NullableDatum available;	/* credits that the project has left; set only if they do not suffice */
	NullableDatum fitting_lifetime; /* int8: number of seconds for which the available credits would suffice */
	NullableDatum hold_id;		/* int8 */
} YqSubmissionHold;

typedef struct YqAdmission
{
	YqApplication application;
	int64		lifetime;		/* lifetime in seconds; 0 or less: no limit */
	YqVerdict	verdict;
	List	   *also_activated; /* YqApplication *: other applications that the same round activated */
	const YqHierarchy *hierarchy;	/* hierarchy to which the amounts belong */
	YqSubmissionHold hold;
	bool		is_recorded;	/* an earlier call has already recorded the submission */
} YqAdmission;

/*
 * Decide about a submission.  With is_to_be_let_in, the function locks the rows on
 * which the decision depends (queue_lock.h), and creates the queue if necessary.
 * Without it, the call is a dry run, which locks nothing and changes nothing.
 */
extern YqAdmission yq_submission_decide(const YqSubmission *submission, bool is_to_be_let_in);

/*
 * Record the application, even if it is refused, and activate the applications that may
 * start.  If is_recorded is set, the function does nothing.  If an earlier application
 * has the same id and was not refused, raises ERRCODE_DUPLICATE_OBJECT.
 */
extern void yq_submission_record(const YqSubmission *submission, YqAdmission *admission);

/* -- parts of it ------------------------------------------------------------ */

/*
 * May the leaf take another application of the user?  The leaf and the queues above it
 * must be RUNNING, and the leaf must have fewer applications than its limits.  If not,
 * fills the verdict and returns false.
 */
extern bool yq_leaf_may_take(const YqLeafUsage *leaf, const char *application_id, const char *username,
							 YqVerdict *verdict);

/*
 * Determine the request for the application master, and set the resource and label of
 * "application".  Each amount is a multiple of the minimum allocation, and at most the
 * maximum allocation.  If the queue does not exist yet, "queue" is NULL, and the label
 * may stay NULL.  If the request cannot be met, fills the verdict and returns false.
 */
extern bool yq_am_request_decide(const YqHierarchy *hierarchy, const YqQueue *queue,
								 const YqSubmission *submission, YqApplication *application,
								 YqVerdict *verdict);

/* May the leaf use the node label?  If not, fills the verdict and returns false. */
extern bool yq_am_label_check(const YqHierarchy *hierarchy, const YqQueue *queue, const char *label,
							  YqVerdict *verdict);


#endif							/* YQ_SUBMISSION_H */
