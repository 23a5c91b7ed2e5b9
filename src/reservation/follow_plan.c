/*-------------------------------------------------------------------------
 *
 * follow_plan.c
 *	  Runs rounds of the plan follower: reads their input, decides, and writes the
 *	  results.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "admission/application/queue_lock.h"
#include "admission/configuration/config_refresh.h"
#include "admission/submission/application_change.h"
#include "catalog/pg_type_d.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "queues/text.h"
#include "reservation/follow_plan.h"
#include "reservation/load_plan.h"
#include "reservation/plan_follower.h"
#include "reservation/record_reservation.h"
#include "reservation/reservation_definition.h"
#include "scheduler/load/cluster_load.h"
#include "scheduler/record/record_applications.h"
#include "scheduler/record/refusal.h"
#include "scheduler/record/scheduler_journal.h"
#include "store/clock.h"
#include "store/saved_plan.h"
#include "utils/array.h"
#include "utils/builtins.h"

static char *plan_queue_path(const YqPlanRound *round, const YqPlanQueue *queue);

/* -- record round -------------------------------------------------------------- */

/* Reads the queues below plans from their table, and writes the results of rounds. */

/*
 * Limit on the applications that one round moves or kills; the next round continues.  Each
 * application takes 1.3 ms, and allocation waits for all of them.
 */
#define MOST_APPLICATIONS 100

/* -- reading ---------------------------------------------------------------------- */

/* Columns of the statement, numbered from 1. */
typedef enum QueueColumn
{
	QUEUE_RESERVATION_ID = 1,
	QUEUE_CAPACITY,
	QUEUE_MAXIMUM_CAPACITY
} QueueColumn;

static float4
share_of(uint64 row, int column)
{
	bool		isnull;

	return DatumGetFloat4(SPI_getbinval(SPI_tuptable->vals[row], SPI_tuptable->tupdesc, column, &isnull));
}

static YqPlanQueue
read_queue(uint64 row)
{
	YqPlanQueue queue = {.exists = true};
	char	   *id = SPI_getvalue(SPI_tuptable->vals[row], SPI_tuptable->tupdesc, QUEUE_RESERVATION_ID);

	queue.is_default = id == NULL;
	if (id != NULL)
		queue.id = yq_reservation_id_parse(id);
	queue.before = (YqShare) {share_of(row, QUEUE_CAPACITY), share_of(row, QUEUE_MAXIMUM_CAPACITY)};
	queue.share = queue.before;
	return queue;
}

/* Load the queues below a plan, with its default queue.  The result is palloc'd. */
static YqPlanQueues
plan_queues_load(const char *path)
{
	static YqSavedPlan look_up = {
		.command = "SELECT q.reservation_id, q.capacity, q.maximum_capacity FROM yquota.reservation_queue AS q "
		"WHERE q.plan = $1 ORDER BY q.reservation_id NULLS FIRST",
		.types = {"text"},
		.plans_once = true
	};
	Datum		values[] = {CStringGetTextDatum(path)};
	YqPlanQueues queues = {NULL, 0};
	MemoryContext caller = CurrentMemoryContext;
	uint64		rows;

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	rows = yq_saved_plan_run(&look_up, values, NULL);
	queues.queues = MemoryContextAllocHuge(caller, sizeof(YqPlanQueue) * (rows + 1));
	/* a default queue without a row has the plan's whole share */
	if (rows == 0 || !read_queue(0).is_default)
		queues.queues[queues.count++] = (YqPlanQueue) {.is_default = true,.before = {1, 1},.share = {1, 1}};
	for (uint64 row = 0; row < rows; row++)
	{
		CHECK_FOR_INTERRUPTS();
		queues.queues[queues.count++] = read_queue(row);
	}
	SPI_finish();
	return queues;
}

/* -- applications of queues that have expired ------------------------------------------- */

static List *
find_applications(const char *queue)
{
	static YqSavedPlan look_up = {
		.command = "SELECT a.application_id FROM yquota.application AS a "
		"WHERE a.queue = $1 AND a.finished_at IS NULL ORDER BY a.application_id",
		.types = {"text"},
		.plans_once = true
	};
	Datum		values[] = {CStringGetTextDatum(queue)};

	return yq_saved_plan_strings(&look_up, values);
}

static bool
has_expired(const YqPlanQueue *queue)
{
	return !queue->is_active && !queue->is_default;
}

/* Add the applications (YqFollowedApplication) of an expired queue, up to the limit of a round. */
static List *
append_applications(List *applications, const YqPlanRound *round, int place)
{
	YqPlanQueue *queue = &round->queues.queues[place];
	bool		is_enough = list_length(applications) >= MOST_APPLICATIONS;
	List	   *ids = is_enough ? NIL : find_applications(plan_queue_path(round, queue));
	ListCell   *cell;

	foreach(cell, ids)
	{
		YqFollowedApplication *application = palloc0(sizeof(YqFollowedApplication));

		if (list_length(applications) >= MOST_APPLICATIONS)
		{
			is_enough = true;
			break;
		}
		application->application_id = lfirst(cell);
		application->queue = place;
		applications = lappend(applications, application);
	}
	queue->is_postponed = is_enough;
	queue->is_kept = is_enough;
	return applications;
}

/* Find the applications (YqFollowedApplication) of all expired queues. */
static List *
find_all_applications(const YqPlanRound *round)
{
	List	   *applications = NIL;

	for (int i = 0; i < round->queues.count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (has_expired(&round->queues.queues[i]))
			applications = append_applications(applications, round, i);
	}
	return applications;
}

static List *
ids_of(const List *applications)
{
	List	   *ids = NIL;
	ListCell   *cell;

	foreach(cell, applications)
		ids = lappend(ids, unconstify(char *, ((const YqFollowedApplication *) lfirst(cell))->application_id));
	return ids;
}

/* Kill an application with Hadoop's message. */
static void
kill_application(const YqFollowedApplication *application, const char *queue)
{
	(void) yq_application_end(application->application_id, YQ_APPLICATION_KILLED,
							  psprintf("Application killed due to expiry of reservation queue %s.", queue), NULL);
	(void) yq_completed_application_end_containers(application->application_id, YQ_ALL_CONTAINERS);
}

/*
 * Move an application to the default queue, or kill it if that queue refuses it.  After a
 * kill the expired queue stays until the next round, as in Hadoop.
 */
static void
expire_application(const YqPlanRound *round, YqFollowedApplication *application)
{
	YqPlanQueue *queue = &round->queues.queues[application->queue];
	const char *default_queue = plan_queue_path(round, &round->queues.queues[0]);

	if (round->settings.moves_on_expiry &&
		yq_application_try_move(application->application_id, default_queue, &application->reason))
		return;
	if (application->reason != NULL)
		ereport(LOG,
				(errmsg("application \"%s\" is killed because it could not move to queue \"%s\"", application->application_id, default_queue),
				 errdetail_internal("%s", application->reason)));
	kill_application(application, yq_plan_queue_name(round, queue));
	application->is_killed = true;
	queue->is_kept = true;
}

static int
compare_applications(const YqFollowedApplication *a, const YqFollowedApplication *b)
{
	return a->queue != b->queue ? a->queue - b->queue : strcmp(a->application_id, b->application_id);
}

/* Does "others" contain all of these applications?  Both lists are in the order in which applications are found. */
static bool
are_all_among(const List *applications, const List *others)
{
	ListCell   *other = list_head(others);
	ListCell   *cell;

	foreach(cell, applications)
	{
		while (other != NULL && compare_applications(lfirst(other), lfirst(cell)) < 0)
			other = lnext(others, other);
		if (other == NULL || compare_applications(lfirst(other), lfirst(cell)) != 0)
			return false;
	}
	return true;
}

static List *
expired_leaves(const YqPlanRound *round)
{
	List	   *paths = NIL;

	for (int i = 0; i < round->queues.count; i++)
	{
		if (has_expired(&round->queues.queues[i]))
			paths = lappend(paths, plan_queue_path(round, &round->queues.queues[i]));
	}
	return paths;
}

/*
 * Find the applications of expired queues, and take all locks before the first change.  The
 * locks of the queues keep applications from being submitted to a queue that is about to be
 * removed.
 */
static void
lock_expired(YqPlanRound *round)
{
	List	   *leaves = expired_leaves(round);

	round->applications = find_all_applications(round);
	while (leaves != NIL)
	{
		YqQueueLocks taken = yq_applications_lock(ids_of(round->applications), plan_queue_path(round, &round->queues.queues[0]), leaves);
		List	   *known = round->applications;

		CHECK_FOR_INTERRUPTS();
		round->applications = find_all_applications(round);
		if (are_all_among(round->applications, known))
			break;
		yq_queue_locks_release(&taken);
	}
}

static void
expire(void *argument, int first, int count)
{
	YqPlanRound *round = argument;

	for (int i = first; i < first + count; i++)
	{
		YqFollowedApplication *application = list_nth(round->applications, i);

		CHECK_FOR_INTERRUPTS();
		application->is_killed = false;
		application->reason = NULL;
		expire_application(round, application);
	}
}

/* Record that an application could not be moved or killed.  The application stays in its queue until the next round. */
static void
refuse_application(void *argument, int subject, const ErrorData *error)
{
	YqPlanRound *round = argument;
	YqFollowedApplication *application = list_nth(round->applications, subject);

	application->is_refused = true;
	application->reason = error->message;
	round->queues.queues[application->queue].is_kept = true;
	(void) yq_refusal_note(YQ_ROUND_PLANS, application->application_id, error);
}

static void
expire_applications(YqPlanRound *round)
{
	YqRound		all = {.work = expire,.refuse = refuse_application,.argument = round};

	lock_expired(round);
	all.count = list_length(round->applications);
	if (round->applications != NIL)
		yq_cluster_check_charging();
	yq_round_run(&all);
}

/* -- queues ------------------------------------------------------------------------------ */

/* Rows of yquota.reservation_queue, in columns. */
typedef struct Rows
{
	Datum	   *names;
	Datum	   *ids;
	bool	   *has_no_id;
	Datum	   *capacities;
	Datum	   *maximum_capacities;
	int			count;
} Rows;

static Rows
make_rows(int room)
{
	return (Rows) {palloc(sizeof(Datum) * room), palloc(sizeof(Datum) * room), palloc(sizeof(bool) * room),
		palloc(sizeof(Datum) * room), palloc(sizeof(Datum) * room), 0};
}

static void
append_row(Rows *rows, const YqPlanRound *round, const YqPlanQueue *queue)
{
	rows->names[rows->count] = CStringGetTextDatum(yq_plan_queue_name(round, queue));
	rows->has_no_id[rows->count] = queue->is_default;
	rows->ids[rows->count] = rows->names[rows->count];
	rows->capacities[rows->count] = Float4GetDatum(queue->share.capacity);
	rows->maximum_capacities[rows->count] = Float4GetDatum(queue->share.maximum_capacity);
	rows->count++;
}

static Datum
array_of(Datum *values, int count, Oid type)
{
	return PointerGetDatum(type == TEXTOID ? construct_array(values, count, TEXTOID, -1, false, TYPALIGN_INT) :
						   construct_array(values, count, FLOAT4OID, sizeof(float4), true, TYPALIGN_INT));
}

static void
insert_rows(const YqPlanRound *round, const Rows *rows)
{
	static YqSavedPlan insert = {
		.command = "INSERT INTO yquota.reservation_queue (plan, name, reservation_id, capacity, maximum_capacity) "
		"SELECT $1, u.* FROM unnest($2, $3, $4, $5) AS u",
		.types = {"text", "_text", "_text", "_float4", "_float4"},
		.plans_once = true
	};
	int			dimensions[1] = {rows->count};
	int			bounds[1] = {1};
	Datum		values[] = {CStringGetTextDatum(round->path), array_of(rows->names, rows->count, TEXTOID),
		PointerGetDatum(construct_md_array(rows->ids, rows->has_no_id, 1, dimensions, bounds, TEXTOID, -1, false, TYPALIGN_INT)),
		array_of(rows->capacities, rows->count, FLOAT4OID), array_of(rows->maximum_capacities, rows->count, FLOAT4OID)};

	if (rows->count > 0)
		(void) yq_saved_plan_execute(&insert, values, NULL);
}

/*
 * Update rows.  Allocation waits for this statement; INSERT with ON CONFLICT would take
 * three times as long.
 */
static void
update_rows(const YqPlanRound *round, const Rows *rows)
{
	static YqSavedPlan update = {
		.command = "UPDATE yquota.reservation_queue AS q SET capacity = u.capacity, maximum_capacity = u.maximum_capacity "
		"FROM unnest($2, $3, $4) AS u (name, capacity, maximum_capacity) WHERE q.plan = $1 AND q.name = u.name",
		.types = {"text", "_text", "_float4", "_float4"},
		.plans_once = true
	};
	Datum		values[] = {CStringGetTextDatum(round->path), array_of(rows->names, rows->count, TEXTOID),
		array_of(rows->capacities, rows->count, FLOAT4OID), array_of(rows->maximum_capacities, rows->count, FLOAT4OID)};

	if (rows->count > 0)
		(void) yq_saved_plan_execute(&update, values, NULL);
}

static void
remove_rows(const YqPlanRound *round, const List *names)
{
	static YqSavedPlan remove = {
		.command = "DELETE FROM yquota.reservation_queue AS q WHERE q.plan = $1 AND q.name = ANY ($2)",
		.types = {"text", "_text"},
		.plans_once = true
	};
	Datum		values[] = {CStringGetTextDatum(round->path), yq_array_of_strings(names)};

	if (names != NIL)
		(void) yq_saved_plan_execute(&remove, values, NULL);
}

static void
record_queues(const YqPlanRound *round)
{
	Rows		coming = make_rows(round->queues.count);
	Rows		changed = make_rows(round->queues.count);
	List	   *gone = NIL;

	for (int i = 0; i < round->queues.count; i++)
	{
		const YqPlanQueue *queue = &round->queues.queues[i];

		CHECK_FOR_INTERRUPTS();
		if (queue->is_active || queue->is_kept)
		{
			if (yq_plan_queue_has_changed(queue))
				append_row(queue->exists ? &changed : &coming, round, queue);
		}
		else
			gone = lappend(gone, yq_plan_queue_name(round, queue));
	}
	remove_rows(round, gone);
	update_rows(round, &changed);
	insert_rows(round, &coming);
}

/* -- applications that wait in queues with a larger share -------------------------------- */

/* Find the queues whose share has grown and which have waiting applications.  Returns their paths. */
static List *
find_waiting(const YqPlanRound *round)
{
	static YqSavedPlan look_up = {
		.command = "SELECT DISTINCT a.queue FROM yquota.application AS a WHERE a.state = 'ACCEPTED' AND a.queue = ANY ($1) ORDER BY 1",
		.types = {"_text"},
		.plans_once = true
	};
	List	   *paths = NIL;
	Datum		values[1];

	for (int i = 0; i < round->queues.count; i++)
	{
		const YqPlanQueue *queue = &round->queues.queues[i];

		if (queue->share.capacity > queue->before.capacity)
			paths = lappend(paths, plan_queue_path(round, queue));
	}
	values[0] = yq_array_of_strings(paths);
	return paths == NIL ? NIL : yq_saved_plan_strings(&look_up, values);
}

/* Activate waiting applications.  Hadoop does this only when another application starts or ends. */
static void
activate_waiting(const YqPlanRound *round)
{
	List	   *paths = find_waiting(round);
	YqQueueLocks locks = {NIL};
	ListCell   *cell;

	foreach(cell, paths)
		yq_queue_locks_add(&locks, YQ_LOCK_LEAF, lfirst(cell));
	yq_queue_locks_take(&locks);
	foreach(cell, paths)
	{
		CHECK_FOR_INTERRUPTS();
		(void) yq_applications_activate(lfirst(cell));
	}
}

/* -- a round ------------------------------------------------------------------------------ */

/* Log the refused shares, as Hadoop does. */
static void
log_refusals(const YqPlanRound *round)
{
	for (int i = 0; i < round->queues.count; i++)
	{
		const YqPlanQueue *queue = &round->queues.queues[i];

		if (queue->refusal != YQ_SHARE_GIVEN)
			ereport(LOG,
					(errmsg("queue \"%s\" keeps its share of the plan", plan_queue_path(round, queue)),
					 errdetail_internal("%s", yq_plan_queue_refusal_text(queue))));
	}
}

/*
 * Write the decisions of a round, and move or kill the applications of expired queues,
 * which are listed in the round.  The caller holds all locks.
 */
static void
plan_round_record(YqPlanRound *round)
{
	if (round->replanned != NIL)
		yq_reservations_end(round->replanned, "replanned", round->now);
	expire_applications(round);
	record_queues(round);
	activate_waiting(round);
	if (round->archived != NIL)
		yq_reservations_end(round->archived, "archived", round->now);
	log_refusals(round);
}

/* -- follow plan --------------------------------------------------------------- */

/*
 * Suffix of the name of the default queue, as in CapacityScheduler.  The default queue gets
 * the rest of the plan's share.
 */
#define DEFAULT_QUEUE_SUFFIX "-default"

char *
yq_plan_queue_name(const YqPlanRound *round, const YqPlanQueue *queue)
{
	const char *dot = strrchr(round->path, '.');

	return queue->is_default ? psprintf("%s" DEFAULT_QUEUE_SUFFIX, dot == NULL ? round->path : dot + 1) :
		yq_reservation_id_text(queue->id);
}

/* Return the path of a queue below a plan, palloc'd. */
static char *
plan_queue_path(const YqPlanRound *round, const YqPlanQueue *queue)
{
	return psprintf("%s.%s", round->path, yq_plan_queue_name(round, queue));
}

/* Has the round anything to write? */
static bool
plan_round_changes(const YqPlanRound *round)
{
	if (round->replanned != NIL || round->archived != NIL)
		return true;
	for (int i = 0; i < round->queues.count; i++)
	{
		const YqPlanQueue *queue = &round->queues.queues[i];

		if (!queue->is_active || yq_plan_queue_has_changed(queue))
			return true;
	}
	return false;
}

/* -- computing ----------------------------------------------------------------------- */

/* Return the ids of the reservations that must be removed because the plan has become smaller. */
static List *
replan(const YqPlanRound *round, int64 now)
{
	YqPlan	   *plan = yq_plan_load(round->hierarchy, round->queue, &round->settings);
	int64		window = Min(round->settings.enforcement_window, YQ_RESERVATION_TIME_ENDS - now);
	List	   *ids = NIL;
	List	   *removed;
	ListCell   *cell;

	yq_plan_load_reservations(plan, round->hierarchy, round->path, now, now + Max(window, 0), 0);
	removed = yq_plan_shrink(plan, now, window, yq_plan_goes_on(round->path, now + Max(window, 0)));
	foreach(cell, removed)
		ids = lappend(ids, yq_reservation_id_text(((const YqPlanReservation *) lfirst(cell))->id));
	return ids;
}

static bool
has_too_much(const YqPlan *plan, const int64 *cluster, int64 time)
{
	int64		reserved[YQ_MAX_RESOURCE_TYPES];

	yq_plan_reserved_at(plan, time, reserved);
	return yq_amounts_compare(plan->calculator, cluster, reserved, plan->capacity) > 0;
}

/* Return the strings that another list does not contain. */
static List *
without(const List *strings, const List *others)
{
	List	   *result = NIL;
	ListCell   *cell;

	foreach(cell, strings)
	{
		bool		is_other = false;
		ListCell   *other;

		foreach(other, others)
			is_other = is_other || strcmp(lfirst(cell), lfirst(other)) == 0;
		if (!is_other)
			result = lappend(result, lfirst(cell));
	}
	return result;
}

/* Follow the steps of AbstractSchedulerPlanFollower.synchronizePlan(). */
static void
compute_plan(YqPlanRound *round, bool replans)
{
	const int64 *cluster = round->hierarchy->cluster;
	YqPlan	   *plan = yq_plan_load(round->hierarchy, round->queue, &round->settings);
	int64		now = yq_reservation_time(round->now - round->now % 1000, "now");
	int64		time = yq_plan_follower_time(plan, now);

	yq_plan_load_active(plan, round->hierarchy, round->path, time);
	round->queues = plan_queues_load(round->path);
	if (replans && has_too_much(plan, cluster, time))
		round->replanned = replan(round, now);
	yq_plan_follow(plan, cluster, yq_queue_label(round->queue, 0)->absolute_capacity, time, !replans, &round->queues);
	round->archived = without(yq_plan_completed(plan, round->path, yq_plan_archived_until(&round->settings, time)),
							  round->replanned);
}

static YqPlanRound *
compute(const YqHierarchy *hierarchy, const char *path, bool replans)
{
	YqPlanRound *round = palloc0(sizeof(YqPlanRound));

	round->hierarchy = hierarchy;
	round->path = path;
	round->now = yq_clock_now();
	round->queue = yq_hierarchy_find(hierarchy, path);
	if (round->queue != NULL && round->queue->kind != YQ_QUEUE_PLAN)
		round->queue = NULL;
	if (round->queue == NULL)
		return round;
	round->settings = yq_reservation_settings(path);
	compute_plan(round, replans);
	return round;
}

static List *
compute_all(const List *paths, bool replans)
{
	const YqHierarchy *hierarchy = yq_hierarchy_in_force();
	List	   *rounds = NIL;
	ListCell   *cell;

	foreach(cell, paths)
	{
		CHECK_FOR_INTERRUPTS();
		rounds = lappend(rounds, compute(hierarchy, lfirst(cell), replans));
	}
	return rounds;
}

/* Is the plan follower enabled?  The setting applies to all plans. */
bool
yq_plan_follower_is_on(void)
{
	return yq_reservation_settings("").is_enabled;
}

/* -- choice of plans -------------------------------------------------------------------- */

static List *
all_paths(const YqHierarchy *hierarchy)
{
	List	   *paths = NIL;

	for (int i = 0; i < hierarchy->queue_count; i++)
	{
		if (hierarchy->queues[i]->kind == YQ_QUEUE_PLAN)
			paths = lappend(paths, pstrdup(hierarchy->queues[i]->path));
	}
	return paths;
}

static List *
changing_paths(const List *rounds)
{
	List	   *paths = NIL;
	ListCell   *cell;

	foreach(cell, rounds)
	{
		YqPlanRound *round = lfirst(cell);

		if (plan_round_changes(round))
			paths = lappend(paths, unconstify(char *, round->path));
	}
	return paths;
}

/* -- a round ------------------------------------------------------------------------------ */

static void
record(void *argument, int first, int count)
{
	const List *rounds = argument;

	for (int i = first; i < first + count; i++)
	{
		YqPlanRound *round = list_nth(rounds, i);

		if (plan_round_changes(round))
			plan_round_record(round);
	}
}

static void
refuse(void *argument, int subject, const ErrorData *error)
{
	const List *rounds = argument;
	YqPlanRound *round = list_nth(rounds, subject);

	round->is_refused = true;
	(void) yq_refusal_note(YQ_ROUND_PLANS, round->path, error);
}

static void
record_all(const List *rounds)
{
	const YqRound all = {.count = list_length(rounds),.work = record,.refuse = refuse,.argument = unconstify(List *, rounds)};

	yq_round_run(&all);
}

/*
 * Take the locks for writing rounds.  If the configuration has changed since the rounds
 * were computed, compute them again.
 */
static List *
lock_to_write(List *rounds, const List *paths, bool replans)
{
	uint64		generation = ((const YqPlanRound *) linitial(rounds))->hierarchy->generation;

	yq_scheduler_lock(ExclusiveLock);
	yq_queue_lock_configuration(RowExclusiveLock);
	return yq_hierarchy_in_force()->generation == generation ? rounds : compute_all(paths, replans);
}

List *
yq_plans_follow(const char *queue, bool replans, bool is_dry_run)
{
	const YqHierarchy *hierarchy = yq_hierarchy_in_force();
	List	   *paths = queue == NULL ? all_paths(hierarchy) : list_make1(pstrdup(yq_plan_queue(hierarchy, queue)->path));
	List	   *rounds = compute_all(paths, replans);

	if (is_dry_run)
		return rounds;
	paths = changing_paths(rounds);
	if (paths == NIL)
		return rounds;
	yq_plans_lock(paths);
	rounds = lock_to_write(compute_all(paths, replans), paths, replans);
	record_all(rounds);
	return rounds;
}

void
yq_plan_follow_now(const char *path)
{
	YqPlanRound *round = compute(yq_hierarchy_in_force(), path, true);

	if (plan_round_changes(round))
		plan_round_record(round);
}
