/*-------------------------------------------------------------------------
 *
 * application_change.c
 *	  Ending and changing applications, and the effects on other applications.
 *
 * The backend finds the needed locks in rows that can change until it has taken the locks.  It
 * therefore finds the set of locks again after it has taken them.  If the set has grown, the
 * backend, which has changed nothing yet, releases the old set and takes the new set in order.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "admission/access/access.h"
#include "admission/application/activation.h"
#include "admission/application/application.h"
#include "admission/application/parallel.h"
#include "admission/application/queue_lock.h"
#include "admission/configuration/config_refresh.h"
#include "admission/submission/application_change.h"
#include "admission/submission/submission.h"
#include "catalog/pg_type_d.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "store/catalog.h"
#include "store/clock.h"
#include "store/saved_plan.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

/* -- locking ---------------------------------------------------------------- */

typedef struct Locked
{
	YqHierarchy *hierarchy;
	YqApplication *application;
	const YqQueue *queue;		/* NULL: the application's queue no longer exists */
} Locked;

static void
add_locks(YqQueueLocks *locks, const YqQueue *queue, const char *username)
{
	ListCell   *cell;

	foreach(cell, yq_parallel_limited_queues(queue))
		yq_queue_locks_add(locks, YQ_LOCK_PARALLEL_QUEUE, ((const YqQueue *) lfirst(cell))->path);
	if (yq_parallel_user_limit(username) != YQ_UNLIMITED)
		yq_queue_locks_add(locks, YQ_LOCK_PARALLEL_USER, username);
	yq_queue_locks_add(locks, YQ_LOCK_LEAF, queue->path);
}

static bool
is_running(const YqApplication *application)
{
	return application->state == YQ_APPLICATION_ACCEPTED || application->state == YQ_APPLICATION_ACTIVE;
}

/*
 * Find the locks that a change of an application needs.  A change within the leaf needs
 * only the lock of the leaf.  If the application leaves the leaf, the target is locked,
 * too.  So are the queues and users of held applications that could then run.
 */
static YqQueueLocks
find_locks(const Locked *locked, bool leaves, const YqQueue *target)
{
	const YqApplication *application = locked->application;
	YqQueueLocks locks = {NIL};
	ListCell   *cell;

	if (locked->queue == NULL || !leaves)
	{
		yq_queue_locks_add(&locks, YQ_LOCK_LEAF, application->queue);
		return locks;
	}
	add_locks(&locks, locked->queue, application->username);
	if (target != NULL)
		add_locks(&locks, target, application->username);
	if (!is_running(application))
		return locks;
	foreach(cell, yq_parallel_candidates(locked->hierarchy, locked->queue, application->username))
	{
		const YqApplication *held = lfirst(cell);
		const YqQueue *queue = yq_hierarchy_find(locked->hierarchy, held->queue);

		if (queue != NULL)
			add_locks(&locks, queue, held->username);
	}
	return locks;
}

static Locked
load_application(const char *application_id)
{
	Locked		locked = {.hierarchy = yq_hierarchy_in_force()};

	locked.application = yq_application_find(locked.hierarchy, application_id);
	if (locked.application == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("application \"%s\" does not exist", application_id)));
	if (locked.application->queue != NULL)
		locked.queue = yq_hierarchy_find(locked.hierarchy, locked.application->queue);
	return locked;
}

static void
check_caller(const Locked *locked, const YqSubject *caller)
{
	const YqApplication *application = locked->application;
	YqApplicationOwner owner = {application->application_id, application->username,
		application->queue, application->view_acl, application->modify_acl};
	YqAccessDecision	decision;

	if (caller == NULL)
		return;
	decision = yq_application_access(locked->hierarchy, &owner, YQ_MODIFY_APP, caller);
	if (!decision.allowed)
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("User %s cannot perform operation %s on %s", caller->username,
						yq_application_operation_name(YQ_MODIFY_APP), application->application_id)));
}

/*
 * Return the target queue, or NULL.  If the target is a plan, return its default queue
 * (CapacityScheduler.handleMoveToPlanQueue()).
 */
static const YqQueue *
find_target(const Locked *locked, const char *name)
{
	const YqQueue *target = name == NULL ? NULL : yq_hierarchy_find_by_name(locked->hierarchy, name);

	return target != NULL && target->kind == YQ_QUEUE_PLAN ? yq_plan_default_queue(target) : target;
}

/*
 * Take the locks for a change of an application, and load it.  If it has ended, no lock
 * is taken. target_name is the queue to which the application moves, or NULL.
 */
static Locked
lock_application(const char *application_id, const YqSubject *caller, bool leaves,
				 const char *target_name, const YqQueue **target)
{
	Locked		locked;

	yq_queue_lock_configuration(RowExclusiveLock);
	locked = load_application(application_id);
	check_caller(&locked, caller);
	*target = find_target(&locked, target_name);
	while (yq_application_is_live(locked.application->state))
	{
		YqQueueLocks taken = find_locks(&locked, leaves, *target);
		YqQueueLocks needed;

		CHECK_FOR_INTERRUPTS();
		yq_queue_locks_take(&taken);
		locked = load_application(application_id);
		*target = find_target(&locked, target_name);
		if (!yq_application_is_live(locked.application->state))
			break;
		needed = find_locks(&locked, leaves, *target);
		if (yq_queue_locks_cover(&taken, &needed))
			break;
		yq_queue_locks_release(&taken);
	}
	return locked;
}

/* Find the locks that the transaction needs to move all these applications to a target, or to end them. */
static YqQueueLocks
find_all_locks(const List *application_ids, const char *target_name, const List *leaves)
{
	YqQueueLocks all = {NIL};
	ListCell   *cell;

	foreach(cell, leaves)
		yq_queue_locks_add(&all, YQ_LOCK_LEAF, lfirst(cell));
	foreach(cell, application_ids)
	{
		Locked		locked = load_application(lfirst(cell));
		YqQueueLocks locks;

		CHECK_FOR_INTERRUPTS();
		if (!yq_application_is_live(locked.application->state))
			continue;
		locks = find_locks(&locked, true, find_target(&locked, target_name));
		yq_queue_locks_merge(&all, &locks);
	}
	return all;
}

YqQueueLocks
yq_applications_lock(const List *application_ids, const char *target_name, const List *leaves)
{
	for (;;)
	{
		YqQueueLocks taken = find_all_locks(application_ids, target_name, leaves);
		YqQueueLocks needed;

		yq_queue_locks_take(&taken);
		needed = find_all_locks(application_ids, target_name, leaves);
		if (yq_queue_locks_cover(&taken, &needed))
			return taken;
		yq_queue_locks_release(&taken);
	}
}

/* -- applications that continue -------------------------------------------- */

/*
 * Leaves that a change affects.  Each leaf keeps the number of active users from before
 * the change.  Applications that enter or leave are counted with yq_leaf_note().
 */
typedef struct Leaves
{
	YqHierarchy *hierarchy;
	List	   *read;			/* YqLeafUsage */
} Leaves;

static YqLeafUsage *
find_loaded_leaf(Leaves *leaves, const YqQueue *queue)
{
	YqLeafUsage *leaf;
	ListCell   *cell;

	foreach(cell, leaves->read)
	{
		leaf = lfirst(cell);
		if (leaf->queue == queue)
			return leaf;
	}
	leaf = yq_leaf_read(leaves->hierarchy, queue);
	yq_leaf_keep_active_users(leaf);
	leaves->read = lappend(leaves->read, leaf);
	return leaf;
}

/*
 * Run a round of activation in a leaf.  The newcomer is a held application that may run
 * now, or NULL.  Returns the applications that became active.
 */
static List *
activate_in(YqLeafUsage *leaf, YqApplication *newcomer)
{
	YqActivation *held;
	List	   *activations = yq_leaf_activate(leaf, newcomer, &held);
	List	   *activated = NIL;
	ListCell   *cell;

	if (newcomer != NULL)
		yq_application_set_state(newcomer, YQ_APPLICATION_ACCEPTED, NULL);
	foreach(cell, activations)
	{
		YqApplication *application = ((YqActivation *) lfirst(cell))->application;

		yq_application_set_state(application, YQ_APPLICATION_ACTIVE, NULL);
		activated = lappend(activated, application);
	}
	return activated;
}

static List *
activate_leaf(YqHierarchy *hierarchy, const YqQueue *queue)
{
	return queue == NULL ? NIL : activate_in(yq_leaf_read(hierarchy, queue), NULL);
}

/* Make held applications runnable, one after the other, and run a round of activation for each. */
static List *
let_run(Leaves *leaves, List *applications)
{
	List	   *changed = NIL;
	ListCell   *cell;

	foreach(cell, applications)
	{
		YqApplication *application = lfirst(cell);
		YqLeafUsage *leaf = find_loaded_leaf(leaves, yq_hierarchy_find(leaves->hierarchy, application->queue));

		yq_leaf_note(leaf, application, YQ_APPLICATION_NON_RUNNABLE, YQ_APPLICATION_REJECTED);
		changed = list_concat(changed, activate_in(leaf, application));
		changed = list_append_unique_ptr(changed, application);
	}
	return changed;
}

/*
 * Subtract an application in its former state from the counts of its leaf.  Then
 * activate waiting applications, and make held applications runnable.
 */
static void
go_on(Leaves *leaves, const Locked *locked)
{
	const YqApplication *application = locked->application;
	YqLeafUsage *leaf;

	if (locked->queue == NULL)
		return;
	leaf = find_loaded_leaf(leaves, locked->queue);
	yq_leaf_note(leaf, application, application->state, YQ_APPLICATION_FINISHED);
	(void) activate_in(leaf, NULL);
	if (is_running(application))
		(void) let_run(leaves, yq_parallel_after_end(locked->hierarchy, locked->queue, application->username));
}

/* -- ending ------------------------------------------------------------------- */

YqApplicationState
yq_application_end(const char *application_id, YqApplicationState state, const char *diagnostics,
				   const YqSubject *caller)
{
	static YqSavedPlan update = {
		.command = "UPDATE yquota.application SET state = $2, diagnostics = $3, finished_at = yquota.clock() "
		"WHERE application_id = $1",
		.types = {"text", "yquota.application_state", "text"}
	};
	const YqQueue *target;
	Locked		locked = lock_application(application_id, caller, true, NULL, &target);
	Leaves		leaves = {.hierarchy = locked.hierarchy};
	Datum		values[3];
	char		nulls[] = "   ";

	if (!yq_application_is_live(locked.application->state))
		return locked.application->state;
	if (locked.queue != NULL)
		(void) find_loaded_leaf(&leaves, locked.queue);
	values[0] = CStringGetTextDatum(application_id);
	values[1] = ObjectIdGetDatum(yq_application_state_oid(state));
	values[2] = diagnostics == NULL ? (Datum) 0 : CStringGetTextDatum(diagnostics);
	nulls[2] = diagnostics == NULL ? 'n' : ' ';
	(void) yq_saved_plan_execute(&update, values, nulls);
	go_on(&leaves, &locked);
	return state;
}

/* -- moving ------------------------------------------------------------------- */

/* Set the groups of a user.  They are allocated in the given memory context. */
static void
set_groups(YqSubject *subject, Datum array, MemoryContext context)
{
	Datum	   *names;
	bool	   *nulls;
	int			count;

	deconstruct_array(DatumGetArrayTypeP(array), TEXTOID, -1, false, TYPALIGN_INT, &names, &nulls, &count);
	subject->groups = MemoryContextAlloc(context, sizeof(char *) * Max(count, 1));
	for (int i = 0; i < count; i++)
	{
		if (!nulls[i])
			subject->groups[subject->group_count++] = MemoryContextStrdup(context, TextDatumGetCString(names[i]));
	}
}

/* Return the user who owns the application, with the user's groups. */
static YqSubject
owner_of(const YqApplication *application)
{
	static YqSavedPlan look_up = {
		.command = "SELECT a.groups, a.real_username FROM yquota.application AS a WHERE a.application_id = $1",
		.types = {"text"}
	};
	Datum		values[] = {CStringGetTextDatum(application->application_id)};
	YqSubject	subject = {.username = application->username};
	MemoryContext context = CurrentMemoryContext;

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	if (yq_saved_plan_run(&look_up, values, NULL) > 0)
	{
		bool		isnull;
		Datum		groups = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &isnull);
		char	   *real_username = SPI_getvalue(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 2);

		subject.groups_known = !isnull;
		if (!isnull)
			set_groups(&subject, groups, context);
		subject.real_username = real_username == NULL ? NULL : MemoryContextStrdup(context, real_username);
	}
	SPI_finish();
	return subject;
}

/* May the application's master use its node label in the target queue? */
static bool
has_label(const Locked *locked, const YqQueue *target, YqVerdict *verdict)
{
	return !locked->hierarchy->settings.has_node_labels ||
		yq_am_label_check(locked->hierarchy, target, locked->application->label_name, verdict);
}

/* Can the target queue take another application, in its state and within its limits? */
static bool
has_place(const Locked *locked, const YqQueue *target, YqVerdict *verdict)
{
	return yq_leaf_may_take(yq_leaf_read(locked->hierarchy, target), locked->application->application_id,
							locked->application->username, verdict);
}

/*
 * Check whether the application may move to the target.  The caller needs the right to
 * submit to the target.  If no caller is given, the application's owner needs this
 * right.
 */
static void
check_move_target(const Locked *locked, const YqQueue *target, const char *target_name, const YqSubject *caller)
{
	const YqApplication *application = locked->application;
	YqSubject	owner;
	YqAccessDecision	access;
	YqVerdict	verdict = {0};

	if (target == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("The specified Queue: %s doesn't exist", target_name)));
	if (target->kind != YQ_QUEUE_LEAF)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("The specified Queue: %s is not a Leaf Queue.", target_name)));
	if (caller == NULL)
	{
		owner = owner_of(application);
		caller = &owner;
	}
	access = yq_access_check_submission(locked->hierarchy, target->path, caller);
	if (!access.allowed)
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("User %s cannot submit applications to target queue or the target queue doesn't exist: %s while moving %s",
						caller->username, target_name, application->application_id),
				 errdetail_internal("%s", access.reason)));
	if (!has_label(locked, target, &verdict))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("Specified queue=%s can't satisfy following apps label expressions =[%s]",
						target->path, application->label_name)));
	if (!has_place(locked, target, &verdict))
		ereport(ERROR,
				(errcode(verdict.has_numbers ? ERRCODE_CONFIGURATION_LIMIT_EXCEEDED :
						 ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg_internal("%s", verdict.reason)));
}

/*
 * Move an application into another leaf.  A running application waits there until a round activates
 * it again.  A held application may become runnable immediately.  Hadoop instead holds it until the
 * next refresh, even if the new queue has no limit.
 */
static YqApplicationState
write_queue(const Locked *locked, const YqQueue *target)
{
	static YqSavedPlan update = {
		.command = "UPDATE yquota.application SET queue = $2, state = $3, activated_at = NULL, diagnostics = NULL "
		"WHERE application_id = $1",
		.types = {"text", "text", "yquota.application_state"}
	};
	bool		may_run = is_running(locked->application) ||
		yq_parallel_decide(locked->hierarchy, target, locked->application->username).may_run;
	YqApplicationState state = may_run ? YQ_APPLICATION_ACCEPTED : YQ_APPLICATION_NON_RUNNABLE;
	Datum		values[3];

	values[0] = CStringGetTextDatum(locked->application->application_id);
	values[1] = CStringGetTextDatum(target->path);
	values[2] = ObjectIdGetDatum(yq_application_state_oid(state));
	(void) yq_saved_plan_execute(&update, values, NULL);
	return state;
}

/*
 * Move the containers of an application to its new queue, as Hadoop does.  Each
 * container gets a CONTAINER_UPDATE event at the present time, and is charged for the
 * new queue from then on.  The leaves are locked, so no allocation cycle can start a
 * container in the meantime.
 */
static void
move_containers(const char *application_id, const YqQueue *target)
{
	static YqSavedPlan refuse = {
		.command = "SELECT yquota_internal.refuse_while_deferred('move an application')"
	};
	static YqSavedPlan update = {
		.command = "INSERT INTO yquota.container_event (event, container_id, occurred_at, queue, source) "
		"SELECT 'CONTAINER_UPDATE', c.container_id, "
		"greatest(yquota.clock(), c.settled_at + interval '1 microsecond'), $2, 'scheduler' "
		"FROM yquota.container AS c WHERE c.application_id = $1 AND c.queue IS DISTINCT FROM $2",
		.types = {"text", "text"}
	};
	Datum		values[] = {CStringGetTextDatum(application_id), CStringGetTextDatum(target->path)};

	/* refuse while events are deferred, because their containers and queues are not in the tables of charging yet */
	if (!yq_table_has_no_pages(YQ_DEFERRED_EVENT))
		(void) yq_saved_plan_execute(&refuse, NULL, NULL);
	(void) yq_saved_plan_execute(&update, values, NULL);
}

static void
move_to(const Locked *locked, const YqQueue *target)
{
	Leaves		leaves = {.hierarchy = locked->hierarchy};
	YqLeafUsage *leaf;

	move_containers(locked->application->application_id, target);
	if (locked->queue != NULL)
		(void) find_loaded_leaf(&leaves, locked->queue);
	leaf = find_loaded_leaf(&leaves, target);
	yq_leaf_note(leaf, locked->application, YQ_APPLICATION_REJECTED, write_queue(locked, target));
	go_on(&leaves, locked);
	(void) activate_in(leaf, NULL);
}

YqApplicationState
yq_application_move(const char *application_id, const char *queue_name, const YqSubject *caller)
{
	const YqQueue *target;
	Locked		locked = lock_application(application_id, caller, true, queue_name, &target);

	if (!yq_application_is_live(locked.application->state))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("App in %s state cannot be moved.",
						yq_application_state_name(locked.application->state))));
	check_move_target(&locked, target, queue_name, caller);
	if (target != locked.queue)
		move_to(&locked, target);
	return yq_application_find(locked.hierarchy, application_id)->state;
}

bool
yq_application_try_move(const char *application_id, const char *queue_name, const char **reason)
{
	const YqQueue *target;
	Locked		locked = lock_application(application_id, NULL, true, queue_name, &target);
	YqVerdict	verdict = {0};

	if (!has_label(&locked, target, &verdict) || !has_place(&locked, target, &verdict))
	{
		*reason = verdict.reason;
		return false;
	}
	move_to(&locked, target);
	return true;
}

/* -- priority, lifetime, demand ------------------------------------------------- */

int32
yq_application_change_priority(const char *application_id, int32 priority, const YqSubject *caller)
{
	static YqSavedPlan update = {
		.command = "UPDATE yquota.application SET priority = $2 WHERE application_id = $1",
		.types = {"text", "int4"}
	};
	const YqQueue *target;
	Locked		locked = lock_application(application_id, caller, false, NULL, &target);
	YqSubject	owner;
	YqPriorityDecision decision;
	Datum		values[2];

	if (!yq_application_is_live(locked.application->state))
		return locked.application->priority;
	if (caller == NULL)
	{
		owner = owner_of(locked.application);
		caller = &owner;
	}
	decision = yq_priority_decide(locked.hierarchy, locked.application->queue, caller, &priority, NULL, 0);
	if (!decision.allowed)
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("User %s does not have permission to submit/update %s for %d",
						caller->username, application_id, decision.priority),
				 errdetail_internal("%s", decision.reason)));
	if (decision.priority == locked.application->priority)
		return decision.priority;
	values[0] = CStringGetTextDatum(application_id);
	values[1] = Int32GetDatum(decision.priority);
	(void) yq_saved_plan_execute(&update, values, NULL);
	return decision.priority;
}

static TimestampTz
read_expiry(const char *application_id, bool *has_expiry)
{
	static YqSavedPlan look_up = {
		.command = "SELECT a.expires_at FROM yquota.application AS a WHERE a.application_id = $1",
		.types = {"text"}
	};
	Datum		values[] = {CStringGetTextDatum(application_id)};
	Datum		expiry;
	bool		isnull;

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	(void) yq_saved_plan_run(&look_up, values, NULL);
	expiry = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &isnull);
	SPI_finish();
	*has_expiry = !isnull;
	return isnull ? 0 : DatumGetTimestampTz(expiry);
}

TimestampTz
yq_application_change_lifetime(const char *application_id, int64 lifetime, const YqSubject *caller,
							   bool *has_expiry)
{
	static YqSavedPlan update = {
		.command = "UPDATE yquota.application SET expires_at = $2, lifetime = $3 WHERE application_id = $1",
		.types = {"text", "timestamptz", "int8"}
	};
	const YqQueue *target;
	Locked		locked = lock_application(application_id, caller, false, NULL, &target);
	TimestampTz expiry = yq_application_expiry(yq_clock_now(), lifetime);
	Datum		values[3];

	if (!yq_application_is_live(locked.application->state))
		return read_expiry(application_id, has_expiry);
	if (locked.queue != NULL && locked.queue->maximum_lifetime > 0)
		expiry = Min(expiry, yq_application_expiry(locked.application->submitted_at,
												   locked.queue->maximum_lifetime));
	values[0] = CStringGetTextDatum(application_id);
	values[1] = TimestampTzGetDatum(expiry);
	/* lifetime from the submission, in seconds; at least 1, even if the clock was set back */
	values[2] = Int64GetDatum(TIMESTAMP_NOT_FINITE(expiry) ? lifetime :
							  Max((expiry - locked.application->submitted_at) / USECS_PER_SEC, 1));
	(void) yq_saved_plan_execute(&update, values, NULL);
	*has_expiry = true;
	return expiry;
}

/* May outstanding requests of the application make its user an active user? */
static bool
may_make_active(const Locked *locked)
{
	const YqApplication *application = locked->application;

	return application->state == YQ_APPLICATION_ACTIVE ||
		(locked->queue != NULL &&
		 yq_leaf_user_may_be_active(yq_leaf_user(yq_leaf_read(locked->hierarchy, locked->queue), application->username)));
}

bool
yq_application_change_demand(const char *application_id, bool has_outstanding_requests)
{
	static YqSavedPlan update = {
		.command = "UPDATE yquota.application SET has_outstanding_requests = $2 WHERE application_id = $1",
		.types = {"text", "bool"}
	};
	const YqQueue *target;
	Locked		locked = lock_application(application_id, NULL, false, NULL, &target);
	Datum		values[2];

	if (!yq_application_is_live(locked.application->state) ||
		locked.application->has_outstanding_requests == has_outstanding_requests)
		return false;
	if (has_outstanding_requests && !may_make_active(&locked))
		return false;
	values[0] = CStringGetTextDatum(application_id);
	values[1] = BoolGetDatum(has_outstanding_requests);
	(void) yq_saved_plan_execute(&update, values, NULL);
	return true;
}

/* -- visiting leaves again --------------------------------------------------------- */

List *
yq_applications_activate(const char *leaf_name)
{
	YqHierarchy *hierarchy;
	YqQueue    *queue;

	yq_queue_lock_configuration(RowExclusiveLock);
	hierarchy = yq_hierarchy_in_force();
	queue = yq_hierarchy_find_by_name(hierarchy, leaf_name);
	if (queue == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("queue \"%s\" does not exist", leaf_name)));
	yq_queue_lock_leaf(queue->path);
	return activate_leaf(hierarchy, queue);
}

/* Return the paths of the leaves that have waiting applications. */
static List *
find_waiting(void)
{
	static YqSavedPlan look_up = {
		.command = "SELECT DISTINCT a.queue FROM yquota.application AS a WHERE a.state = 'ACCEPTED' ORDER BY a.queue"
	};

	return yq_saved_plan_strings(&look_up, NULL);
}

/*
 * Decide in Hadoop's order: first about waiting applications, then about applications
 * that max-parallel-apps holds.
 */
List *
yq_applications_refresh(void)
{
	YqHierarchy *hierarchy;
	Leaves		leaves = {.hierarchy = NULL};
	List	   *changed = NIL;
	ListCell   *cell;

	yq_queue_lock_configuration(ShareRowExclusiveLock);
	hierarchy = yq_hierarchy_in_force();
	leaves.hierarchy = hierarchy;
	foreach(cell, find_waiting())
	{
		CHECK_FOR_INTERRUPTS();
		changed = list_concat(changed, activate_leaf(hierarchy, yq_hierarchy_find(hierarchy, lfirst(cell))));
	}
	return list_concat(changed, let_run(&leaves, yq_parallel_after_refresh(hierarchy)));
}
