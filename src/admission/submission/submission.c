/*-------------------------------------------------------------------------
 *
 * submission.c
 *	  Decisions about submissions, and the record of a submission.
 *
 * A decision runs a table of steps; each step may refuse the submission.  The messages
 * of refusals are worded like Hadoop's.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "admission/access/access.h"
#include "admission/application/activation.h"
#include "admission/application/application_counter.h"
#include "admission/application/parallel.h"
#include "admission/application/project_credit.h"
#include "admission/application/queue_lock.h"
#include "admission/configuration/config_refresh.h"
#include "admission/placement/dynamic_queues.h"
#include "admission/placement/placement.h"
#include "admission/submission/submission.h"
#include "admission/submission/submission_hold.h"
#include "base/arguments.h"
#include "queues/effective.h"
#include "queues/hierarchy.h"
#include "queues/text.h"
#include "storage/lmgr.h"
#include "store/bulk_insert.h"
#include "store/catalog.h"
#include "store/clock.h"
#include "store/index_scan.h"
#include "store/saved_plan.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

typedef struct Decision
{
	const YqSubmission *submission;
	bool		is_to_be_let_in;
	YqHierarchy *hierarchy;
	YqPlacement placement;
	const char *queue_name;		/* path that the placement chose, or the queue that the submission names */
	const YqQueue *queue;		/* NULL: the queue does not exist yet */
	YqLeafUsage *leaf;
	YqAdmission *admission;
} Decision;

static bool
refuse_submission(Decision *decision, const char *decided_by, const char *decided_at, char *reason)
{
	YqVerdict  *verdict = &decision->admission->verdict;

	verdict->decided_by = decided_by;
	verdict->decided_at = decided_at;
	verdict->reason = reason;
	return false;
}

static void
find_placed_queue(Decision *decision)
{
	decision->queue = decision->placement.queue == NULL ?
		yq_hierarchy_find_by_name(decision->hierarchy, decision->queue_name) :
		yq_hierarchy_find(decision->hierarchy, decision->placement.queue);
	if (decision->queue != NULL)
		decision->admission->application.queue = pstrdup(decision->queue->path);
}

/* -- checks of the resource manager ---------------------------------------- */

static void
ask_for_place(Decision *decision)
{
	const YqSubmission *submission = decision->submission;
	YqApplicant applicant = {.subject = &submission->subject, .queue = submission->queue,
		.application_name = submission->application_name == NULL ? "" : submission->application_name};

	decision->hierarchy = yq_hierarchy_in_force();
	decision->placement = yq_place_application(decision->hierarchy, &applicant);
}

/*
 * Lock the configuration and choose the queue.  If the placement requires a new queue,
 * a stronger lock is taken and the placement is repeated.  No other transaction can
 * submit until this one ends.
 */
static bool
place(Decision *decision)
{
	LOCKMODE	mode = RowExclusiveLock;

	if (decision->is_to_be_let_in)
		yq_queue_lock_configuration(mode);
	ask_for_place(decision);
	while (decision->is_to_be_let_in && decision->placement.must_create && mode == RowExclusiveLock)
	{
		UnlockRelationOid(yq_table_oid(YQ_QUEUE_STATUS), mode);
		mode = ShareRowExclusiveLock;
		yq_queue_lock_rows();
		yq_queue_lock_configuration(mode);
		ask_for_place(decision);
	}
	if (decision->placement.outcome == YQ_PLACEMENT_REJECTED)
		return refuse_submission(decision, "placement", NULL,
								 psprintf("Application %s submitted by user %s was rejected by a mapping rule: %s",
										  decision->submission->application_id, decision->submission->subject.username,
										  decision->placement.reason));
	decision->queue_name = decision->placement.queue == NULL ? decision->submission->queue :
		decision->placement.queue;
	find_placed_queue(decision);
	return true;
}

static bool
decide_lifetime(Decision *decision)
{
	const int64 *requested = decision->submission->lifetime;

	if (requested != NULL && *requested <= 0)
		return refuse_submission(decision, "lifetime", NULL,
								 psprintf("Invalid application timeout, value=" INT64_FORMAT " for type=LIFETIME", *requested));
	decision->admission->lifetime = yq_application_lifetime(decision->queue, requested == NULL ? -1 : *requested);
	return true;
}

static bool
decide_am_request(Decision *decision)
{
	return yq_am_request_decide(decision->hierarchy, decision->queue, decision->submission,
								&decision->admission->application, &decision->admission->verdict);
}

/*
 * Decide the priority without the workflow.  map_workflow() applies the workflow's
 * priority when the queue exists.
 */
static bool
decide_priority(Decision *decision)
{
	const YqSubmission *submission = decision->submission;
	YqPriorityDecision priority = yq_priority_decide(decision->hierarchy, decision->queue_name, &submission->subject,
													 submission->priority, NULL, 0);

	decision->admission->application.priority = priority.priority;
	if (priority.allowed)
		return true;
	return refuse_submission(decision, "priority_acl", decision->queue == NULL ? NULL : decision->queue->path,
							 psprintf("User %s does not have permission to submit/update %s for %d",
									  submission->subject.username, submission->application_id, priority.priority));
}

static bool
check_access(Decision *decision)
{
	const YqSubject *subject = &decision->submission->subject;
	YqAccessDecision	access = yq_access_check_submission(decision->hierarchy, decision->queue_name, subject);

	if (access.allowed)
		return true;
	return refuse_submission(decision, "acl", decision->queue == NULL ? NULL : decision->queue->path,
							 psprintf("User %s does not have permission to submit %s to queue %s: %s",
									  subject->username, decision->submission->application_id,
									  decision->queue_name, access.reason));
}

/* -- checks of the scheduler ----------------------------------------------- */

/*
 * If the chosen queue is a plan, find the queue below it that receives the application
 * (semantics/reservations 9; CapacityScheduler.resolveReservationQueueName()).  The name of the
 * reservation may be the name of a queue of another plan; such a queue is refused.
 */
static bool
resolve_reservation(Decision *decision)
{
	const char *reservation = decision->submission->reservation_id;
	const YqQueue *plan = decision->queue;
	const YqQueue *queue;

	if (plan == NULL || plan->kind != YQ_QUEUE_PLAN)
		return true;
	queue = reservation == NULL ? yq_plan_default_queue(plan) : yq_hierarchy_find_by_name(decision->hierarchy, reservation);
	if (queue == NULL || !yq_queue_is_of_plan(queue))
		return refuse_submission(decision, "reservation", plan->path,
								 psprintf("Application %s submitted to a reservation which is not currently active: %s",
										  decision->submission->application_id, reservation));
	if (queue->parent != plan)
		return refuse_submission(decision, "reservation", plan->path,
								 psprintf("Application: %s submitted to a reservation %s which does not belong to the specified queue: %s",
										  decision->submission->application_id, reservation, plan->path));
	decision->queue = queue;
	decision->queue_name = decision->admission->application.queue = pstrdup(queue->path);
	return true;
}

static bool
check_system(Decision *decision)
{
	int			maximum = decision->hierarchy->settings.maximum_applications;
	YqSystemDecision system = yq_system_decide(maximum, decision->is_to_be_let_in);

	if (system.is_allowed)
		return true;
	decision->admission->verdict.has_numbers = true;
	decision->admission->verdict.used = system.applications;
	decision->admission->verdict.maximum = maximum;
	return refuse_submission(decision, "maximum_applications_system", NULL,
							 psprintf("Maximum system application limit reached, cannot accept submission of application: %s",
									  decision->submission->application_id));
}

/* Create the queue that the placement requires: the target of a rule, or the full path in the submission. */
static bool
create_queue(Decision *decision)
{
	const YqSubmission *submission = decision->submission;
	YqQueueCreation creation = yq_queue_creation_decide(decision->hierarchy, decision->queue_name);

	if (creation.problem == NULL && decision->is_to_be_let_in)
		creation.problem = yq_queue_creation_execute(&creation);
	if (creation.problem != NULL && decision->placement.outcome == YQ_PLACED_AS_NAMED)
		return refuse_submission(decision, "placement", NULL,
								 psprintf("Application %s submitted by user %s to unknown queue: %s: %s",
										  submission->application_id, submission->subject.username,
										  decision->queue_name, creation.problem));
	if (creation.problem != NULL)
		return refuse_submission(decision, "placement", NULL,
								 psprintf("Application %s submission by user : %s to  queue : %s failed : %s",
										  submission->application_id, submission->subject.username,
										  decision->queue_name, creation.problem));
	decision->queue_name = decision->admission->application.queue = creation.leaf;
	if (!decision->is_to_be_let_in)
		return true;
	decision->hierarchy = yq_hierarchy_in_force();
	decision->queue = yq_hierarchy_find(decision->hierarchy, creation.leaf);
	return true;
}

static bool
have_queue(Decision *decision)
{
	const YqSubmission *submission = decision->submission;
	const char *id = submission->application_id;
	const char *username = submission->subject.username;

	if (decision->queue == NULL && decision->placement.must_create && !create_queue(decision))
		return false;
	if (decision->queue == NULL && decision->placement.must_create)
		return true;			/* a dry run creates nothing and continues as if the queue existed */
	if (decision->queue == NULL && yq_hierarchy_name_is_ambiguous(decision->hierarchy, decision->queue_name))
		return refuse_submission(decision, "placement", NULL,
								 psprintf("Application %s submitted by user %s to ambiguous queue: %s please use full queue path instead.",
										  id, username, decision->queue_name));
	if (decision->queue == NULL)
		return refuse_submission(decision, "placement", NULL,
								 psprintf("Application %s submitted by user %s to unknown queue: %s",
										  id, username, decision->queue_name));
	if (decision->queue->kind != YQ_QUEUE_LEAF)
		return refuse_submission(decision, "placement", decision->queue->path,
								 psprintf("Application %s submitted by user : %s to non-leaf queue : %s",
										  id, username, decision->queue_name));
	if (yq_queue_is_created_leaf(decision->queue) && decision->placement.outcome != YQ_PLACED &&
		decision->placement.outcome != YQ_PLACED_BY_DEFAULT)
		return refuse_submission(decision, "placement", decision->queue->path,
								 psprintf("Application %s submission by user : %s to specified queue : %s  is prohibited. Verify automatic queue mapping for user exists in yarn.scheduler.capacity.queue-mappings",
										  id, username, decision->queue_name));
	return true;
}

/*
 * Set and check the node label of the application master.  The default label comes from
 * the queue, which may have been created only now.
 */
static bool
decide_for_new_queue(Decision *decision)
{
	YqApplication *application = &decision->admission->application;

	if (decision->queue == NULL)
	{
		application->label_name = application->label_name == NULL ? "" : application->label_name;
		return true;
	}
	if (application->label_name == NULL)
		application->label_name = decision->queue->default_label == NULL ? "" : decision->queue->default_label;
	application->label = yq_hierarchy_label(decision->hierarchy, application->label_name);
	return yq_am_label_check(decision->hierarchy, decision->queue, application->label_name,
							 &decision->admission->verdict);
}

static bool
map_workflow(Decision *decision)
{
	const YqSubmission *submission = decision->submission;
	YqPriorityDecision priority;

	if (submission->tag_count == 0)
		return true;
	priority = yq_priority_decide(decision->hierarchy, decision->queue_name, &submission->subject, submission->priority,
								  submission->tags, submission->tag_count);
	decision->admission->application.priority = priority.priority;
	if (priority.allowed)
		return true;
	return refuse_submission(decision, "priority_acl", decision->queue_name,
							 psprintf("Failed to submit application %s submitted by user %s reason: User %s does not have permission to submit/update %s for %d",
									  submission->application_id, submission->subject.username,
									  submission->subject.username, submission->application_id, priority.priority));
}

/* -- limits of the leaf ------------------------------------------------------ */

static bool
check_running(const YqQueue *queue, const char *application_id, YqVerdict *verdict)
{
	if (queue->is_running)
		return true;
	verdict->decided_by = "queue_state";
	verdict->decided_at = queue->path;
	verdict->reason = psprintf("Queue %s is STOPPED. Cannot accept submission of application: %s",
							   queue->path, application_id);
	return false;
}

static bool
check_number(const YqQueue *queue, const char *decided_by, const char *decided_at, int64 used, int64 maximum,
			 YqVerdict *verdict, char *reason)
{
	if (used < maximum || yq_queue_is_created_leaf(queue))
		return true;
	verdict->decided_by = decided_by;
	verdict->decided_at = decided_at;
	verdict->has_numbers = true;
	verdict->used = used;
	verdict->maximum = maximum;
	verdict->reason = reason;
	return false;
}

bool
yq_leaf_may_take(const YqLeafUsage *leaf, const char *application_id, const char *username, YqVerdict *verdict)
{
	const YqQueue *queue = leaf->queue;
	const YqLeafUser *user = yq_leaf_user(leaf, username);
	int64		all = leaf->non_runnable + leaf->accepted + leaf->active;
	int64		own = user == NULL ? 0 : user->accepted + user->active;

	/* the queue's limit counts applications that max-parallel-apps holds; the user's limit does not */
	if (!check_running(queue, application_id, verdict) ||
		!check_number(queue, "maximum_applications", queue->path, all, queue->most_applications, verdict,
					  psprintf("Queue %s already has " INT64_FORMAT " applications, cannot accept submission of application: %s",
							   queue->path, all, application_id)) ||
		!check_number(queue, "maximum_applications_per_user", username, own, queue->most_applications_per_user, verdict,
					  psprintf("Queue %s already has " INT64_FORMAT " applications from user %s cannot accept submission of application: %s",
							   queue->path, own, username, application_id)))
		return false;
	for (const YqQueue *above = queue->parent; above != NULL; above = above->parent)
	{
		if (!check_running(above, application_id, verdict))
			return false;
	}
	return true;
}

/* Lock the leaf, and the queues and users that have a limit of parallel applications. */
static void
lock_leaf(Decision *decision)
{
	const char *username = decision->submission->subject.username;
	YqQueueLocks locks = {NIL};
	ListCell   *cell;

	foreach(cell, yq_parallel_limited_queues(decision->queue))
		yq_queue_locks_add(&locks, YQ_LOCK_PARALLEL_QUEUE, ((const YqQueue *) lfirst(cell))->path);
	if (yq_parallel_user_limit(username) != YQ_UNLIMITED)
		yq_queue_locks_add(&locks, YQ_LOCK_PARALLEL_USER, username);
	yq_queue_locks_add(&locks, YQ_LOCK_LEAF, decision->queue->path);
	yq_queue_locks_take(&locks);
}

/* Check that the queue of the reservation still exists, now that it is locked. */
static bool
find_locked_leaf(Decision *decision)
{
	const char *path = decision->queue->path;

	if (!yq_queue_is_of_plan(decision->queue))
		return true;
	decision->hierarchy = yq_hierarchy_in_force();
	decision->queue = yq_hierarchy_find(decision->hierarchy, path);
	if (decision->queue != NULL)
		return true;
	return refuse_submission(decision, "reservation", path,
							 psprintf("Application %s submitted to a reservation which is not currently active: %s",
									  decision->submission->application_id, strrchr(path, '.') + 1));
}

static bool
take_leaf(Decision *decision)
{
	if (decision->queue == NULL || !decision->is_to_be_let_in)
		return true;
	lock_leaf(decision);
	return find_locked_leaf(decision);
}

static bool
check_leaf(Decision *decision)
{
	if (decision->queue == NULL)
		return true;
	decision->leaf = yq_leaf_read(decision->hierarchy, decision->queue);
	return yq_leaf_may_take(decision->leaf, decision->submission->application_id,
							decision->submission->subject.username, &decision->admission->verdict);
}

/* -- credit ------------------------------------------------------------------ */

/* Check that the project exists.  It must have credit, or be allowed to overdraw. */
static bool
check_credit(Decision *decision)
{
	const YqSubmission *submission = decision->submission;
	YqProjectCredit credit;

	if (submission->project == NULL)
		return true;
	credit = yq_project_credit(submission->project, submission->application_id, decision->queue == NULL ? NULL : decision->queue->path,
							   YQ_CREDIT_FOR_SUBMISSION);
	if (!credit.is_known)
		return refuse_submission(decision, "project", submission->project,
								 psprintf("Project %s does not exist, cannot accept submission of application: %s",
										  submission->project, submission->application_id));
	if (credit.suffices)
		return true;
	return refuse_submission(decision, "project_quota", credit.limited_by,
							 psprintf("Project %s has no credit left (%s), cannot accept submission of application: %s",
									  credit.limited_by, credit.remaining, submission->application_id));
}

/* Is the submission new?  If it repeats a recorded submission with a hold, the steps end here. */
static bool
is_first_call(Decision *decision)
{
	return !yq_submission_find_recorded(decision->submission, decision->admission);
}

/*
 * Must the application hold the cost of its expected containers?  In the queue of a
 * reservation it need not, because the reservation has its own hold.  For a queue that
 * does not exist yet, the nearest queue above it decides.
 */
static bool
must_hold_quote(const Decision *decision)
{
	const YqQueue *queue = decision->queue;
	char	   *path = pstrdup(decision->queue_name);
	char	   *dot;

	if (queue != NULL)
		return queue->holds_quotes &&
			(!yq_queue_is_of_plan(queue) || queue == yq_plan_default_queue(queue->parent));
	while (queue == NULL && (dot = strrchr(path, '.')) != NULL)
	{
		*dot = '\0';
		queue = yq_hierarchy_find(decision->hierarchy, path);
	}
	return queue != NULL && queue->holds_quotes;
}

static bool
decide_hold(Decision *decision)
{
	const YqSubmission *submission = decision->submission;
	bool		by_quote = submission->holds_quote || must_hold_quote(decision);

	if (!by_quote && !yq_submission_names_hold(submission))
		return true;
	return yq_submission_decide_hold(submission, decision->queue_name, by_quote, decision->is_to_be_let_in, decision->admission);
}

/* -- may it start? ------------------------------------------------------------ */

static void
hold_for_parallel(Decision *decision, const YqParallelDecision *parallel)
{
	YqVerdict  *verdict = &decision->admission->verdict;
	const char *username = decision->submission->subject.username;

	verdict->decided_by = "max_parallel_apps";
	verdict->decided_at = parallel->queue == NULL ? username : parallel->queue->path;
	verdict->has_numbers = true;
	verdict->used = parallel->running;
	verdict->maximum = parallel->limit;
	verdict->reason = parallel->queue == NULL ?
		psprintf("Maximum runnable apps exceeded for user %s: " INT64_FORMAT " of %d run",
				 username, parallel->running, parallel->limit) :
		psprintf("Maximum runnable apps exceeded for queue %s: " INT64_FORMAT " of %d run",
				 parallel->queue->path, parallel->running, parallel->limit);
}

static void
hold_for_activation(Decision *decision, const YqActivation *held)
{
	YqVerdict  *verdict = &decision->admission->verdict;

	verdict->decided_by = yq_activation_limit_name(held->outcome);
	verdict->decided_at = held->outcome == YQ_ACTIVATION_USER_AM_LIMIT ?
		decision->submission->subject.username : decision->queue->path;
	verdict->used_amounts = held->used;
	verdict->maximum_amounts = held->limit;
	verdict->reason = yq_activation_reason(decision->leaf, held);
}

/*
 * Record that the application master is requested, unless the application is unmanaged.  The record
 * is made after the decision about activation.  If the user had no active application, the request
 * does not make the user active, even when the application starts later
 * (UsersManager.activateApplication()).
 */
static void
note_outstanding_am_request(Decision *decision)
{
	YqApplication *application = &decision->admission->application;
	const YqLeafUser *user = yq_leaf_user(decision->leaf, application->username);

	application->has_outstanding_requests = !decision->submission->is_unmanaged && yq_leaf_user_may_be_active(user);
}

/* Decide whether the application is held, waits or starts.  It can no longer be refused. */
static void
start(Decision *decision)
{
	YqAdmission *admission = decision->admission;
	YqApplication *application = &admission->application;
	YqActivation *held;
	List	   *activated;
	YqParallelDecision parallel;
	ListCell   *cell;

	application->state = YQ_APPLICATION_ACCEPTED;
	/* decide nothing more in a dry run that would create the queue */
	if (decision->queue == NULL)
		return;
	parallel = yq_parallel_decide(decision->hierarchy, decision->queue, application->username);
	if (!parallel.may_run)
	{
		application->state = YQ_APPLICATION_NON_RUNNABLE;
		note_outstanding_am_request(decision);
		hold_for_parallel(decision, &parallel);
		return;
	}
	activated = yq_leaf_activate(decision->leaf, application, &held);
	foreach(cell, activated)
	{
		YqActivation *activation = lfirst(cell);

		if (activation->application == application)
			application->state = YQ_APPLICATION_ACTIVE;
		else
			admission->also_activated = lappend(admission->also_activated, activation->application);
	}
	note_outstanding_am_request(decision);
	if (held != NULL)
		hold_for_activation(decision, held);
}

/* -- the decision -------------------------------------------------------------- */

static bool (*const steps[]) (Decision *decision) = {
	is_first_call,
	place,
	decide_lifetime,
	decide_am_request,
	decide_priority,
	check_access,
	resolve_reservation,
	check_system,
	have_queue,
	decide_for_new_queue,
	map_workflow,
	take_leaf,
	/*
	 * repeated under the lock of the leaf, because the first call of the same submission
	 * may have committed only now
	 */
	is_first_call,
	check_leaf,
	check_credit,
	decide_hold,
};

YqAdmission
yq_submission_decide(const YqSubmission *submission, bool is_to_be_let_in)
{
	static const NullableDatum none = {.isnull = true};
	YqAdmission admission = {.lifetime = -1, .hold = {NULL, none, none, none, none, none}};
	Decision	decision = {.submission = submission, .is_to_be_let_in = is_to_be_let_in,
		.admission = &admission};
	bool		goes_on = true;

	admission.application.application_id = submission->application_id;
	admission.application.username = submission->subject.username;
	admission.application.label_name = "";
	admission.application.state = YQ_APPLICATION_REJECTED;
	admission.application.has_outstanding_requests = false;
	admission.application.submitted_at = yq_clock_now();
	for (int i = 0; i < (int) lengthof(steps) && goes_on; i++)
		goes_on = steps[i] (&decision);
	if (goes_on)
		start(&decision);
	admission.hierarchy = decision.hierarchy;
	return admission;
}

/* -- recording ----------------------------------------------------------------- */

/*
 * Return the resource of the application master: the requested resource if the
 * application is refused, otherwise the resource that is charged.
 */
static Datum
am_resource(const YqSubmission *submission, const YqAdmission *admission)
{
	if (admission->application.state != YQ_APPLICATION_REJECTED)
		return yq_hierarchy_resource(admission->hierarchy, admission->application.am_amounts);
	return PointerGetDatum(submission->am_resource == NULL ? yq_resource_make(NULL, 0) : submission->am_resource);
}

/* Put the values of a row, in the order of the columns of yquota.application. */
static void
put_columns(YqRowBuilder *row, const YqSubmission *submission, const YqAdmission *admission)
{
	const YqApplication *application = &admission->application;
	const YqSubject *subject = &submission->subject;
	bool		is_refused = application->state == YQ_APPLICATION_REJECTED;
	TimestampTz submitted_at = application->submitted_at;

	yq_row_put_text(row, submission->application_id);
	yq_row_put_text(row, subject->username);
	yq_row_put(row, yq_array_of_names(subject->groups, subject->group_count), !subject->groups_known);
	yq_row_put_text(row, subject->real_username);
	yq_row_put_text(row, submission->application_name);
	yq_row_put(row, yq_array_of_names(submission->tags, submission->tag_count), submission->tag_count == 0);
	yq_row_put_text(row, submission->queue);
	yq_row_put_text(row, application->queue);
	yq_row_put_text(row, application->label_name == NULL ? "" : application->label_name);
	yq_row_put_text(row, submission->node_label_expression);
	yq_row_put_text(row, submission->project);
	yq_row_put(row, am_resource(submission, admission), false);
	yq_row_put(row, BoolGetDatum(submission->is_unmanaged), false);
	yq_row_put(row, Int32GetDatum(application->priority), false);
	yq_row_put(row, Int64GetDatum(admission->lifetime), admission->lifetime <= 0);
	yq_row_put(row, ObjectIdGetDatum(yq_application_state_oid(application->state)), false);
	yq_row_put(row, BoolGetDatum(application->has_outstanding_requests), false);
	yq_row_put_text(row, submission->view_acl);
	yq_row_put_text(row, submission->modify_acl);
	yq_row_put(row, TimestampTzGetDatum(submitted_at), false);
	yq_row_put(row, TimestampTzGetDatum(submitted_at), application->state != YQ_APPLICATION_ACTIVE);
	yq_row_put(row, TimestampTzGetDatum(yq_application_expiry(submitted_at, Max(admission->lifetime, 0))),
		is_refused || admission->lifetime <= 0);
	yq_row_put(row, TimestampTzGetDatum(submitted_at), !is_refused);
	yq_row_put_text(row, admission->verdict.reason);
	yq_row_put_text(row, submission->reservation_id);
	yq_row_put(row, BoolGetDatum(submission->keeps_containers), false);
	yq_row_put(row, admission->hold.hold_id.value, admission->hold.hold_id.isnull);
}

/* Delete an earlier application that has the same id and was refused. */
static void
make_way(const char *application_id)
{
	static YqSavedPlan forget = {
		.command = "DELETE FROM yquota.application AS a WHERE a.application_id = $1 AND a.state = 'REJECTED'",
		.types = {"text"}
	};
	Datum		id = CStringGetTextDatum(application_id);
	YqIndexScan *scan = yq_index_scan_open(YQ_APPLICATION, "application_pkey");
	bool		is_taken = yq_index_scan_wait_for(scan, (text *) DatumGetPointer(id)) != NULL;

	yq_index_scan_close(scan);
	if (is_taken && yq_saved_plan_execute(&forget, &id, NULL) == 0)
		ereport(ERROR,
				(errcode(ERRCODE_DUPLICATE_OBJECT),
				 errmsg("application \"%s\" has already been submitted", application_id),
				 errhint("An id may be submitted again only if it was refused.")));
}

static void
insert(const YqSubmission *submission, const YqAdmission *admission)
{
	YqRowBuilder row = {.count = 0};
	YqBulkInsert *writer;

	put_columns(&row, submission, admission);
	writer = yq_bulk_insert_open_statement(YQ_APPLICATION, row.count, 1);
	yq_bulk_insert_put(writer, row.values, row.nulls);
	yq_bulk_insert_close(writer);
}

/*
 * Record the tags for reports of costs.  A key that has a value keeps it.  The ledger is not
 * searched for charges, because a submission announces the application before its first container.
 * The statement waits for another transaction that sets tags of the same application.
 */
static void
record_tags(const YqSubmission *submission)
{
	static YqSavedPlan record = {
		.command = "INSERT INTO yquota.application_tags AS t (application_id, tags, set_at) VALUES ($1, $2, $3) "
		"ON CONFLICT (application_id) DO UPDATE SET tags = excluded.tags || t.tags "
		"WHERE excluded.tags || t.tags <> t.tags",
		.types = {"text", "jsonb", "timestamptz"},
		.plans_once = true
	};
	Datum		values[] = {CStringGetTextDatum(submission->application_id), JsonbPGetDatum(submission->tag_values),
	TimestampTzGetDatum(yq_clock_now())};

	(void) yq_saved_plan_execute(&record, values, NULL);
}

/* Count the refusal for metrics.  Simultaneous transactions change different rows, so none waits. */
static void
count_refusal(const char *decided_by)
{
	static YqSavedPlan count = {
		.command = "INSERT INTO yquota_internal.submission_refusal AS r (decided_by, part, refused) VALUES ($1, $2, 1) "
		"ON CONFLICT (decided_by, part) DO UPDATE SET refused = r.refused + 1",
		.types = {"text", "int4"}
	};
	Datum		values[] = {CStringGetTextDatum(decided_by), Int32GetDatum(yq_queue_lock_total())};

	(void) yq_saved_plan_execute(&count, values, NULL);
}

void
yq_submission_record(const YqSubmission *submission, YqAdmission *admission)
{
	ListCell   *cell;

	if (admission->is_recorded)
		return;
	make_way(submission->application_id);
	yq_submission_record_hold(submission, admission);
	insert(submission, admission);
	foreach(cell, admission->also_activated)
		yq_application_set_state(lfirst(cell), YQ_APPLICATION_ACTIVE, NULL);
	if (admission->application.state == YQ_APPLICATION_REJECTED)
		count_refusal(admission->verdict.decided_by);
	else
	{
		yq_auto_created_queue_used(admission->hierarchy,
								   yq_hierarchy_find(admission->hierarchy, admission->application.queue));
		if (submission->tag_count > 0)
			record_tags(submission);
	}
}
