/*-------------------------------------------------------------------------
 *
 * record_round.c
 *	  Queues of plans as their table has them, and writing down a round of the follower.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "admission/application/queue_lock.h"
#include "admission/submission/application_change.h"
#include "catalog/pg_type_d.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "queues/text.h"
#include "reservation/record_reservation.h"
#include "reservation/record_round.h"
#include "reservation/reservation_definition.h"
#include "scheduler/load/cluster_load.h"
#include "scheduler/record/completed_application.h"
#include "scheduler/record/refusal.h"
#include "store/saved_plan.h"
#include "utils/array.h"
#include "utils/builtins.h"

/* Applications that a round moves or kills, at 1.3 ms each, while allocation waits; the next one goes on. */
#define MOST_APPLICATIONS 100

/* -- reading ---------------------------------------------------------------------- */

/* Columns of the statement, in its order, from 1 on. */
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

YqPlanQueues
yq_plan_queues_load(const char *path)
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
	/* without a row the default queue has the whole plan */
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

/* Add those (YqFollowedApplication) of an expired queue, which is not looked at when there are enough for a round. */
static List *
append_applications(List *applications, const YqPlanRound *round, int place)
{
	YqPlanQueue *queue = &round->queues.queues[place];
	bool		is_enough = list_length(applications) >= MOST_APPLICATIONS;
	List	   *ids = is_enough ? NIL : find_applications(yq_plan_queue_path(round, queue));
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

/* Applications (YqFollowedApplication) in expired queues. */
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

/* The words are Hadoop's. */
static void
kill_application(const YqFollowedApplication *application, const char *queue)
{
	(void) yq_application_end(application->application_id, YQ_APPLICATION_KILLED,
							  psprintf("Application killed due to expiry of reservation queue %s.", queue), NULL);
	(void) yq_completed_application_end_containers(application->application_id, YQ_ALL_CONTAINERS);
}

/* What the default queue does not take is killed, and its queue stays until the next round, as in Hadoop. */
static void
expire_application(const YqPlanRound *round, YqFollowedApplication *application)
{
	YqPlanQueue *queue = &round->queues.queues[application->queue];
	const char *default_queue = yq_plan_queue_path(round, &round->queues.queues[0]);

	if (round->settings.moves_on_expiry &&
		yq_application_try_move(application->application_id, default_queue, &application->reason))
		return;
	if (application->reason != NULL)
		ereport(LOG,
				(errmsg("application \"%s\" cannot move to queue \"%s\", and is killed", application->application_id, default_queue),
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

/* Both are in the order in which they are found. */
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
			paths = lappend(paths, yq_plan_queue_path(round, &round->queues.queues[i]));
	}
	return paths;
}

/*
 * Find the applications of expired queues, with all locks taken before the first change.  Those
 * of the queues keep submissions from coming in while the queue goes.
 */
static void
lock_expired(YqPlanRound *round)
{
	List	   *leaves = expired_leaves(round);

	round->applications = find_all_applications(round);
	while (leaves != NIL)
	{
		YqQueueLocks taken = yq_applications_lock(ids_of(round->applications), yq_plan_queue_path(round, &round->queues.queues[0]), leaves);
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

/* It stays, and its queue until the next round. */
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

/* Allocation waits meanwhile, and INSERT with ON CONFLICT would take three times as long. */
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

/* -- applications that wait in queues that have more now --------------------------------- */

/* Paths of queues in which an application master may fit now. */
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
			paths = lappend(paths, yq_plan_queue_path(round, queue));
	}
	values[0] = yq_array_of_strings(paths);
	return paths == NIL ? NIL : yq_saved_plan_strings(&look_up, values);
}

/* Hadoop looks at them when something else comes or goes. */
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

/* Shares that were refused, as Hadoop logs them. */
static void
log_refusals(const YqPlanRound *round)
{
	for (int i = 0; i < round->queues.count; i++)
	{
		const YqPlanQueue *queue = &round->queues.queues[i];

		if (queue->refusal != YQ_SHARE_GIVEN)
			ereport(LOG,
					(errmsg("queue \"%s\" keeps its share of the plan", yq_plan_queue_path(round, queue)),
					 errdetail_internal("%s", yq_plan_queue_refusal_text(queue))));
	}
}

void
yq_plan_round_record(YqPlanRound *round)
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
