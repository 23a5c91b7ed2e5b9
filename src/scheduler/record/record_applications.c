/*-------------------------------------------------------------------------
 *
 * record_applications.c
 *	  Records about applications: whether they wait for containers, the end of their
 *	  containers, and the changes by cycles, for sessions that keep a cluster.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "access/xlog.h"
#include "admission/submission/application_change.h"
#include "executor/spi.h"
#include "queues/text.h"
#include "scheduler/record/record_applications.h"
#include "scheduler/record/record_containers.h"
#include "scheduler/record/refusal.h"
#include "scheduler/record/scheduler_journal.h"
#include "store/saved_plan.h"
#include "utils/builtins.h"

/* -- application demand -------------------------------------------------------- */

/* Records whether an application waits for containers, according to its requests. */

int64
yq_application_demand_note(const char *application_id)
{
	static YqSavedPlan look_up = {
		.command = "SELECT COALESCE(pg_catalog.sum(r.count), 0), "
		"COALESCE(pg_catalog.bool_or(r.count > 0) FILTER (WHERE r.execution_type = 'GUARANTEED'), false) "
		"OR EXISTS (SELECT FROM yquota.container_update AS u WHERE u.application_id = $1) FROM yquota.resource_request AS r "
		"WHERE r.application_id = $1 AND r.resource_name = '*'",
		.types = {"text"}
	};
	Datum		values[] = {CStringGetTextDatum(application_id)};
	bool		isnull;
	int64		count;
	bool		is_demanding;

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	(void) yq_saved_plan_run(&look_up, values, NULL);
	count = DatumGetInt64(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &isnull));
	is_demanding = DatumGetBool(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 2, &isnull));
	SPI_finish();
	(void) yq_application_change_demand(application_id, is_demanding);
	return count;
}

/* -- completed application ----------------------------------------------------- */

/* Ends the containers of an application, or of an attempt, that has ended. */

/* Text of SchedulerUtils.COMPLETED_APPLICATION. */
#define COMPLETED "'Container of a completed application'"

/*
 * SQL condition: the container "c" outlives its attempt.  Its application keeps containers
 * across attempts, and has fetched this container.
 */
#define IS_KEPT \
	"(SELECT a.keeps_containers FROM yquota.application AS a WHERE a.application_id = $1) AND NOT EXISTS (" \
	"SELECT FROM yquota.decision AS d WHERE d.container_id = c.container_id AND d.decision IN ('allocated', 'swapped'))"

/* End containers, and return their ids. */
static List *
end_containers(const char *application_id, YqContainersOf which)
{
	static YqSavedPlan end = {
		.command = "WITH running AS MATERIALIZED (SELECT c.* FROM yquota.container AS c "
		"WHERE c.application_id = $1 AND ($2 OR c.is_given AND NOT ($3 AND " IS_KEPT "))), "
		"told AS (INSERT INTO yquota.decision (decision, container_id, application_id, queue, node, allocation, priority, "
		"allocation_request_id, decided_at, diagnostics, execution_type) "
		"SELECT 'killed', r.container_id, r.application_id, COALESCE(r.queue, ''), COALESCE(r.node, ''), r.allocation, r.priority, "
		"r.allocation_request_id, yquota.clock(), " COMPLETED ", r.execution_type "
		"FROM running AS r ORDER BY r.container_id), "
		"ended AS (INSERT INTO yquota.container_event (event, container_id, occurred_at, exit_status, source) "
		"SELECT 'CONTAINER_FINISH', r.container_id, greatest(yquota.clock(), r.settled_at), -100, 'scheduler' FROM running AS r) "
		"SELECT r.container_id FROM running AS r",
		.types = {"text", "bool", "bool"}
	};
	Datum		values[] = {CStringGetTextDatum(application_id), BoolGetDatum(which == YQ_ALL_CONTAINERS),
	BoolGetDatum(which == YQ_FORMER_CONTAINERS)};

	return yq_saved_plan_strings(&end, values);
}

/*
 * Delete the decisions that allocated the containers.  Another transaction may have ended a
 * container while this transaction waited for the container's lock.  The decision "killed"
 * of that container is then deleted, too.  Returns the number of deleted decisions "killed".
 * All sessions lock these rows in the order of their numbers.
 */
static int64
drop_decisions(const List *container_ids)
{
	static YqSavedPlan drop = {
		.command = "WITH given AS MATERIALIZED (SELECT d.decision_id, d.decision FROM yquota.decision AS d "
		"WHERE d.container_id = ANY ($1) AND (d.decision IN " YQ_EXPIRING_DECISIONS " OR d.diagnostics = " COMPLETED " "
		"AND EXISTS (SELECT FROM yquota_internal.charge_in_effect AS x WHERE x.container_id = d.container_id "
		"AND x.settled_by = 'CONTAINER_FINISH' AND (x.exit_status IS DISTINCT FROM -100 OR x.\"to\" < d.decided_at))) "
		"ORDER BY d.decision_id FOR UPDATE), "
		"dropped AS (DELETE FROM yquota.decision AS d USING given AS g WHERE d.decision_id = g.decision_id) "
		"SELECT FROM given AS g WHERE g.decision = 'killed'",
		.types = {"_text"},
		.plans_once = true
	};
	Datum		values[] = {yq_array_of_strings(container_ids)};

	return yq_saved_plan_execute(&drop, values, NULL);
}

int64
yq_completed_application_end_containers(const char *application_id, YqContainersOf which)
{
	List	   *container_ids;
	int64		count;

	yq_scheduler_lock_events();
	container_ids = end_containers(application_id, which);
	if (container_ids == NIL)
		return 0;
	count = list_length(container_ids) - drop_decisions(container_ids);
	yq_scheduler_count_add(YQ_COUNT_COMPLETED, count);
	return count;
}

void
yq_completed_application_note(const char *application_id)
{
	static YqSavedPlan note = {
		.command = "INSERT INTO yquota_internal.ended_application AS e (application_id, ended_at) VALUES ($1, yquota.clock()) "
		"ON CONFLICT (application_id) DO UPDATE SET ended_at = excluded.ended_at",
		.types = {"text"}
	};
	Datum		values[] = {CStringGetTextDatum(application_id)};

	(void) yq_saved_plan_execute(&note, values, NULL);
}

/* -- changed applications ------------------------------------------------------ */

/*
 * Records the applications that a cycle has changed, for sessions that keep a cluster.
 *
 * Most cycles only count missed opportunities, start requested containers, and reserve
 * nodes.  They record each change of a request, counter or reservation as a row.  A session
 * can apply such a row faster than it can read the application again.
 *
 * The last change of a request contains its current state, so the order of the cycles matters.
 * Transaction numbers do not show this order, because a transaction may get its number long before
 * its cycle takes the scheduler's lock.  Rows therefore contain a position in the write-ahead log.
 * A cycle reads this position under the lock, before it writes its rows, and holds the lock until
 * its transaction has ended.  A session compares only rows that are newer than its cluster, so all
 * their positions belong to the present log.
 */

/* Limit on the applications that a cycle records one by one.  Above it, other sessions load the whole cluster again. */
#define MOST_APPLICATIONS 2000

/* Limit on the changed requests of an application.  Above it, other sessions read the application again. */
#define MOST_REQUESTS 20

/* -- changes other than changes of requests and reservations ---------------------------- */

static bool
changes_more(const YqDecision *decision)
{
	return decision->killed != NULL || decision->key->update != NULL || decision->is_master;
}

/* Has the counter of any update changed?  It is in the row of the update, not with the counters of requests. */
static bool
has_other_changes(const YqClusterApplication *application)
{
	for (int i = 0; i < application->key_count; i++)
	{
		if (application->keys[i]->is_changed && application->keys[i]->update != NULL)
			return true;
	}
	return false;
}

static void
mark_other_changes(const YqLoadedCluster *loaded)
{
	const YqCluster *cluster = loaded->cluster;
	ListCell   *cell;

	foreach(cell, loaded->changed)
		yq_loaded((YqClusterApplication *) lfirst(cell))->has_other_changes = has_other_changes(lfirst(cell));
	for (int i = 0; i < cluster->decision_count; i++)
	{
		if (changes_more(&cluster->decisions[i]))
			yq_loaded(cluster->decisions[i].key->application)->has_other_changes = true;
	}
}

/* -- requests ------------------------------------------------------------------------ */

static YqCycleChange *
make_change_of_key(const YqSchedulerKey *key, XLogRecPtr log_position)
{
	YqCycleChange *change = palloc0(sizeof(YqCycleChange));

	change->log_position = log_position;
	change->application_id = key->application->application_id;
	change->next_container = key->application->next_container;
	change->priority = key->priority;
	change->allocation_request_id = key->allocation_request_id;
	change->counters = (YqRequestCounters) {key->opportunities, key->missed_non_partitioned, key->re_reservations};
	return change;
}

static List *
add_request(List *changes, const YqSchedulerKey *key, const YqResourceRequest *request, XLogRecPtr log_position)
{
	YqCycleChange *change;

	if (!request->is_changed)
		return changes;
	change = make_change_of_key(key, log_position);
	change->resource_name = request->source;
	change->count = request->count;
	return lappend(changes, change);
}

static List *
list_changes_of_key(const YqCluster *cluster, const YqSchedulerKey *key, XLogRecPtr log_position)
{
	List	   *changes = add_request(NIL, key, &key->anywhere, log_position);

	for (int i = 0; i < key->request_count; i++)
		changes = add_request(changes, key, &key->requests[i], log_position);
	if (changes == NIL && yq_scheduler_key_counters_differ(cluster, key))
		changes = list_make1(make_change_of_key(key, log_position));
	return changes;
}

/*
 * List the changes of an application.  If a key has a reservation and is otherwise
 * unchanged, the change of the reservation suffices.
 */
static List *
list_changes_of_application(const YqCluster *cluster, const YqClusterApplication *application, XLogRecPtr log_position)
{
	List	   *changes = NIL;

	for (int i = 0; i < application->key_count && list_length(changes) <= MOST_REQUESTS; i++)
	{
		if (application->keys[i]->is_changed)
			changes = list_concat(changes, list_changes_of_key(cluster, application->keys[i], log_position));
	}
	return changes;
}

/* -- reservations ---------------------------------------------------------------------- */

/*
 * Is the reservation recorded as a change?  Otherwise other sessions read its application
 * again, with all its reservations.
 */
static bool
is_noted(const YqReservation *reservation)
{
	return reservation != NULL && !yq_loaded(reservation->key->application)->is_gone &&
		!yq_loaded(reservation->key->application)->has_other_changes;
}

static YqCycleChange *
make_change_of_node(const YqClusterNode *node, XLogRecPtr log_position)
{
	const YqReservation *reservation = node->reservation;
	YqCycleChange *change;

	if (!is_noted(reservation))
		change = palloc0(sizeof(YqCycleChange));
	else
	{
		change = make_change_of_key(reservation->key, log_position);
		change->container = reservation->container;
		change->amounts = reservation->amounts;
	}
	change->log_position = log_position;
	change->node = node->name;
	return change;
}

/* List the nodes whose reservation was made, fulfilled or given up. */
static List *
list_changes_of_nodes(const YqCluster *cluster, XLogRecPtr log_position)
{
	List	   *changes = NIL;

	for (int i = 0; i < cluster->decision_count; i++)
	{
		const YqReservation *reservation = cluster->decisions[i].reservation;

		if (reservation != NULL)
			changes = lappend(changes, make_change_of_node(reservation->node, log_position));
	}
	return changes;
}

/* -- all --------------------------------------------------------------------------------- */

void
yq_changed_applications_note(const YqLoadedCluster *loaded)
{
	XLogRecPtr	log_position = GetXLogInsertRecPtr();
	List	   *changes = NIL;
	List	   *ids = NIL;
	ListCell   *cell;

	if (list_length(loaded->changed) > MOST_APPLICATIONS)
	{
		yq_scheduler_journal_everything();
		return;
	}
	mark_other_changes(loaded);
	foreach(cell, loaded->changed)
	{
		YqClusterApplication *application = lfirst(cell);
		List	   *of_application = list_changes_of_application(loaded->cluster, application, log_position);

		if (list_length(of_application) > MOST_REQUESTS)
			yq_loaded(application)->has_other_changes = true;
		if (yq_loaded(application)->has_other_changes)
			ids = lappend(ids, unconstify(char *, application->application_id));
		else
			changes = list_concat(changes, of_application);
	}
	changes = list_concat(changes, list_changes_of_nodes(loaded->cluster, log_position));
	yq_scheduler_journal_applications(ids);
	yq_scheduler_journal_cycle(loaded->cluster->hierarchy, changes);
}
