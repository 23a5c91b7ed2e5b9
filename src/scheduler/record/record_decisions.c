/*-------------------------------------------------------------------------
 *
 * record_decisions.c
 *	  The record of the decisions of an allocation cycle.
 *
 * record_containers.c writes containers and decisions.  All other changes concern a few
 * rows of a few tables, which are found by their keys.  Every other transaction that
 * changes these rows also holds the scheduler's lock, or the lock of their leaf.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "admission/application/queue_lock.h"
#include "base/bytes_table.h"
#include "miscadmin.h"
#include "queues/hierarchy.h"
#include "scheduler/record/container_number.h"
#include "scheduler/record/preempted_containers.h"
#include "scheduler/record/record_applications.h"
#include "scheduler/record/record_containers.h"
#include "scheduler/record/record_decisions.h"
#include "scheduler/record/refusal.h"
#include "scheduler/record/scheduler_journal.h"
#include "store/catalog.h"
#include "store/clock.h"
#include "store/index_scan.h"
#include "store/row_update.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

/* -- applications that still exist ----------------------------------------- */

/*
 * Has the cycle changed the application?  It has if it made decisions for the application.
 * Without decisions, only updates and counters can have changed.
 */
static bool
is_touched(const YqCluster *cluster, const YqClusterApplication *application)
{
	if (yq_loaded(application)->is_decided)
		return true;
	for (int i = 0; i < application->key_count; i++)
	{
		const YqSchedulerKey *key = application->keys[i];

		if (key->is_changed && (key->update != NULL || yq_scheduler_key_counters_differ(cluster, key)))
			return true;
	}
	return false;
}

static List *
list_touched(const YqLoadedCluster *loaded)
{
	const YqCluster *cluster = loaded->cluster;
	List	   *touched = NIL;

	for (int i = 0; i < cluster->decision_count; i++)
		yq_loaded(cluster->decisions[i].key->application)->is_decided = true;
	for (int i = 0; i < cluster->touched_count; i++)
	{
		if (is_touched(cluster, cluster->touched[i]))
			touched = lappend(touched, cluster->touched[i]);
		yq_loaded(cluster->touched[i])->is_decided = false;
	}
	return touched;
}

static void
add_leaves_of_applications(const List *applications, YqQueueLocks *locks)
{
	const YqClusterQueue *last = NULL;
	ListCell   *cell;

	foreach(cell, applications)
	{
		const YqClusterApplication *application = lfirst(cell);

		if (application->leaf != last)
			yq_queue_locks_add(locks, YQ_LOCK_LEAF, application->leaf->queue->path);
		last = application->leaf;
	}
}

/*
 * Leave out the applications with an update of a container that has ended or changed.  Such
 * an application gets no container in this cycle, and is read again before the next cycle.
 * If the update is a promotion by rule, only the promotion is left out, because no other
 * decision depends on it.  Returns the remaining applications.
 */
static List *
leave_out_changed(YqLoadedCluster *loaded, List *applications)
{
	const YqCluster *cluster = loaded->cluster;

	for (int i = 0; i < cluster->decision_count; i++)
	{
		YqDecision *decision = &cluster->decisions[i];
		YqClusterApplication *application = decision->key->application;

		CHECK_FOR_INTERRUPTS();
		if (!yq_decision_updates(decision) || yq_loaded(application)->is_gone ||
			yq_update_event_claim(cluster->hierarchy, decision->key->update))
			continue;
		if (decision->key->update->is_by_rule)
		{
			/* the cluster contains this promotion, but the tables will not */
			decision->is_void = loaded->is_overtaken = true;
			continue;
		}
		yq_loaded(application)->is_gone = true;
		applications = list_delete_ptr(applications, application);
	}
	return applications;
}

/* Collect the containers that the first "count" decisions kill, in the order of the decisions. */
static YqPreemptedContainers
collect_killed_for(const YqCluster *cluster, int first, int count)
{
	YqPreemptedContainers containers = yq_preempted_containers_make(cluster->killable_count);
	Size		size = Max(cluster->killable_count, 1) * sizeof(char *);

	containers.needed_by_applications = palloc(size);
	containers.needed_by_queues = palloc(size);
	for (int i = first; i < first + count; i++)
	{
		const YqClusterApplication *gets = cluster->decisions[i].key->application;

		for (const YqKillableContainer *killed = cluster->decisions[i].killed; killed != NULL; killed = killed->next)
		{
			const YqQueue *leaf = killed->user->leaf->queue;
			int			at = containers.count++;

			containers.container_ids[at] = killed->container_id;
			containers.application_ids[at] = killed->application_id;
			containers.queues[at] = leaf->path;
			containers.queue_names[at] = leaf->name;
			containers.allocations[at] = yq_hierarchy_resource(cluster->hierarchy, killed->amounts);
			containers.needed_by_applications[at] = gets->application_id;
			containers.needed_by_queues[at] = gets->leaf->queue->path;
		}
	}
	return containers;
}

static YqPreemptedContainers
collect_killed(const YqCluster *cluster)
{
	return collect_killed_for(cluster, 0, cluster->decision_count);
}

/* Mark the applications with decisions that would kill a container that has ended or changed since it was read. */
static void
mark_deprived(const YqCluster *cluster, const bool *is_claimed)
{
	int			at = 0;

	for (int i = 0; i < cluster->decision_count; i++)
	{
		const YqDecision *decision = &cluster->decisions[i];

		for (const YqKillableContainer *killed = decision->killed; killed != NULL; killed = killed->next)
		{
			if (!is_claimed[at++])
				yq_loaded(decision->key->application)->is_gone = true;
		}
	}
}

/*
 * Mark further applications.  The containers that were to be killed for a marked application
 * are not killed.  Applications with decisions on the nodes of these containers may have got
 * a part of their resources, so they are marked, too.  This is repeated until no application
 * is added.
 */
static void
mark_without_room(const YqCluster *cluster)
{
	bool		goes_on = true;

	while (goes_on)
	{
		goes_on = false;
		for (int i = 0; i < cluster->decision_count; i++)
		{
			const YqDecision *decision = &cluster->decisions[i];
			const YqKillableContainer *killed = yq_loaded(decision->key->application)->is_gone ? decision->killed : NULL;

			for (; killed != NULL; killed = killed->next)
			{
				if (killed->node != NULL)
					killed->node->has_false_room = true;
			}
		}
		for (int i = 0; i < cluster->decision_count; i++)
		{
			const YqDecision *decision = &cluster->decisions[i];

			if (!decision->node->has_false_room || yq_loaded(decision->key->application)->is_gone)
				continue;
			yq_loaded(decision->key->application)->is_gone = goes_on = true;
		}
	}
}

/*
 * Lock the containers that the decisions kill.  If one of them cannot be locked, the
 * application gets no containers in this cycle.  Returns the remaining applications.
 */
static List *
leave_out_deprived(const YqCluster *cluster, List *applications)
{
	YqPreemptedContainers containers;
	List	   *left = NIL;
	ListCell   *cell;

	if (cluster->killable_count == 0)
		return applications;
	containers = collect_killed(cluster);
	if (containers.count == 0)
		return applications;
	mark_deprived(cluster, yq_preempted_containers_claim(&containers));
	mark_without_room(cluster);
	foreach(cell, applications)
	{
		YqClusterApplication *application = lfirst(cell);

		if (!yq_loaded(application)->is_gone)
			left = lappend(left, application);
	}
	return left;
}

/* Add the leaves of killed containers that will be requested again. */
static void
add_leaves_of_unfetched(const YqCluster *cluster, YqQueueLocks *locks)
{
	YqPreemptedContainers containers;
	const YqUnfetchedContainer *unfetched;

	if (cluster->killable_count == 0)
		return;
	containers = collect_killed(cluster);
	unfetched = yq_unfetched_containers_find(&containers);
	for (int i = 0; unfetched != NULL && i < containers.count; i++)
	{
		if (unfetched[i].is_unfetched)
			yq_queue_locks_add(locks, YQ_LOCK_LEAF, containers.queues[i]);
	}
}

/* Containers that the cycle has killed. */
typedef struct Killed
{
	YqPreemptedContainers containers;
	const YqUnfetchedContainer *unfetched;
	const bool *is_ended;
} Killed;

/* End the killed containers, which are locked and have not changed since the cycle read them. */
static Killed
end_killed(const YqCluster *cluster)
{
	Killed		killed = {.containers = {.count = 0}};

	if (cluster->killable_count == 0)
		return killed;
	killed.containers = collect_killed(cluster);
	killed.unfetched = yq_unfetched_containers_find(&killed.containers);
	killed.is_ended = yq_preempted_containers_end(&killed.containers, TimestampTzGetDatum(yq_clock_now()));
	return killed;
}

/*
 * Request killed containers again.  This comes after the cycle's own requests have been
 * written, because the cluster does not contain the restored requests.
 */
static void
put_requests_back(YqLoadedCluster *loaded, const Killed *killed)
{
	loaded->is_overtaken |= yq_unfetched_containers_put_back(&killed->containers, killed->unfetched, killed->is_ended);
}

/* Drop void decisions, and decisions for marked applications. */
static void
drop_void_decisions(YqCluster *cluster)
{
	int			count = 0;

	for (int i = 0; i < cluster->decision_count; i++)
	{
		if (!yq_loaded(cluster->decisions[i].key->application)->is_gone && !cluster->decisions[i].is_void)
			cluster->decisions[count++] = cluster->decisions[i];
	}
	cluster->decision_count = count;
}

/* Scan of the table of applications, to find those that have not ended or moved. */
typedef struct Presence
{
	YqIndexScan *applications;
	AttrNumber	state;
	AttrNumber	queue;
	Oid			active;
} Presence;

/* Is the application ACTIVE, and still in the same leaf? */
static bool
is_present(const Presence *presence, const YqClusterApplication *application)
{
	const char *path = application->leaf->queue->path;
	TupleTableSlot *slot;
	Datum		state;
	text	   *queue;
	bool		isnull;

	slot = yq_index_scan_find(presence->applications, cstring_to_text(application->application_id));
	if (slot == NULL)
		return false;
	state = slot_getattr(slot, presence->state, &isnull);
	if (DatumGetObjectId(state) != presence->active)
		return false;
	queue = DatumGetTextPP(slot_getattr(slot, presence->queue, &isnull));
	return yq_varlena_is(queue, path);
}

/* Return the applications that have not ended or moved, and mark the others. */
static List *
find_present(const List *applications)
{
	YqIndexScan *scan = yq_index_scan_open(YQ_APPLICATION, "application_pkey");
	Presence	presence = {
		.applications = scan,
		.state = yq_column(yq_index_scan_relation(scan), "state"),
		.queue = yq_column(yq_index_scan_relation(scan), "queue"),
		.active = yq_enum_oid("application_state", "ACTIVE")
	};
	List	   *present = NIL;
	ListCell   *cell;

	foreach(cell, applications)
	{
		YqClusterApplication *application = lfirst(cell);

		CHECK_FOR_INTERRUPTS();
		yq_loaded(application)->is_gone = !is_present(&presence, application);
		if (!yq_loaded(application)->is_gone)
			present = lappend(present, application);
	}
	yq_index_scan_close(scan);
	return present;
}

/*
 * Return the applications whose rows the cycle will write, after locking their leaves.
 * Applications that have ended or moved since they were read are marked and left out.  So
 * are applications whose decisions update or kill a container that has changed, or that
 * another transaction has locked.  Decisions for marked applications are dropped.
 */
static List *
find_touched(YqLoadedCluster *loaded)
{
	List	   *touched = list_touched(loaded);
	List	   *present;
	YqQueueLocks locks = {NIL};

	if (touched == NIL)
		return NIL;
	add_leaves_of_applications(touched, &locks);
	add_leaves_of_unfetched(loaded->cluster, &locks);
	yq_queue_locks_take(&locks);
	yq_scheduler_lock_events();
	present = leave_out_changed(loaded, find_present(touched));
	present = leave_out_deprived(loaded->cluster, present);
	drop_void_decisions(loaded->cluster);
	return present;
}

/* -- refused decisions ------------------------------------------------------ */

/* Write the events of "count" consecutive decisions, beginning with "first". */
static void
write_events(void *argument, int first, int count)
{
	const YqLoadedCluster *loaded = argument;
	const YqCluster *cluster = loaded->cluster;
	YqPreemptedContainers killed = collect_killed_for(cluster, first, count);

	(void) yq_preempted_containers_end(&killed, TimestampTzGetDatum(yq_clock_now()));
	yq_record_starts(cluster, first, count);
	for (int i = first; i < first + count; i++)
	{
		if (yq_decision_updates(&cluster->decisions[i]))
			yq_update_event_record(cluster, &cluster->decisions[i]);
	}
}

/* Hold back the subject of a failed decision: the container of an update, or the application of a new container. */
static void
refuse(void *argument, int subject, const ErrorData *error)
{
	YqLoadedCluster *loaded = argument;
	const YqSchedulerKey *key = loaded->cluster->decisions[subject].key;
	bool		is_news = yq_refusal_note(YQ_ROUND_SCHEDULE, key->update != NULL ? key->update->container_id :
										  key->application->application_id, error);

	loaded->has_refused |= is_news;
	if (is_news)
		yq_scheduler_journal_applications(list_make1(unconstify(char *, key->application->application_id)));
}

bool
yq_record_refusals(YqLoadedCluster *loaded)
{
	const YqRound round = {.count = loaded->cluster->decision_count,.work = write_events,.refuse = refuse,.argument = loaded};

	loaded->has_refused = false;
	yq_round_try(&round);
	return loaded->has_refused;
}

/* -- changing rows ------------------------------------------------------------ */

/* A table that is opened only when its first row is changed. */
typedef struct Rows
{
	YqTable		table;
	const char *primary_key;
	const char *const *columns;
	int			count;
	YqRowUpdate  *update;
} Rows;

static bool
find(Rows *rows, const Datum *key)
{
	CHECK_FOR_INTERRUPTS();
	if (rows->update == NULL)
		rows->update = yq_row_update_open(rows->table, rows->primary_key, rows->columns, rows->count);
	return yq_row_update_find(rows->update, key);
}

/* -- reservations ------------------------------------------------------------------ */

static const char *const reservation_columns[] = {"node", "application_id", "container_id", "label", "container_to_update",
	"priority", "allocation_request_id", "allocation", "reserved_at", "moved_at"};

static Rows
reservation_rows(void)
{
	return (Rows) {.table = YQ_RESERVED_CONTAINER,.primary_key = "reserved_container_pkey",.columns = reservation_columns,.count = lengthof(reservation_columns)};
}

/* Delete the reservations that have been fulfilled or given up. */
static void
drop_reservations(const YqCluster *cluster)
{
	Rows		rows = reservation_rows();

	for (int i = 0; i < cluster->decision_count; i++)
	{
		const YqReservation *reservation = cluster->decisions[i].reservation;
		Datum		node;

		if (reservation == NULL || reservation->node->reservation == reservation)
			continue;
		node = CStringGetTextDatum(reservation->node->name);
		if (find(&rows, &node))
			yq_row_update_delete(rows.update);
	}
	yq_row_update_close(rows.update);
}

static void
write_reservation(Rows *rows, const YqCluster *cluster, const YqReservation *reservation)
{
	const YqSchedulerKey *key = reservation->key;
	const YqClusterNode *node = reservation->node;
	Datum		name = CStringGetTextDatum(node->name);
	YqRowUpdate  *update;

	(void) find(rows, &name);
	update = rows->update;
	yq_row_update_set(update, 1, CStringGetTextDatum(key->application->application_id));
	yq_row_update_set(update, 2, PointerGetDatum(yq_loaded_container_id(key->application, reservation->container)));
	yq_row_update_set(update, 3, CStringGetTextDatum(cluster->hierarchy->labels[node->label]));
	if (key->update == NULL)
		yq_row_update_set_null(update, 4);
	else
		yq_row_update_set(update, 4, CStringGetTextDatum(key->update->container_id));
	yq_row_update_set(update, 5, Int32GetDatum(key->priority));
	yq_row_update_set(update, 6, Int64GetDatum(key->allocation_request_id));
	yq_row_update_set(update, 7, yq_hierarchy_resource(cluster->hierarchy, reservation->amounts));
	yq_row_update_set(update, 8, TimestampTzGetDatum(yq_clock_now()));
	yq_row_update_set_null(update, 9);
	yq_row_update_write(update);
}

/* Write the reservations.  A row of the node is replaced if it belongs to an application that is no longer ACTIVE. */
static void
write_reservations(const YqCluster *cluster)
{
	Rows		rows = reservation_rows();

	for (int i = 0; i < cluster->decision_count; i++)
	{
		const YqDecision *decision = &cluster->decisions[i];

		if (decision->kind == YQ_RESERVED && decision->node->reservation == decision->reservation)
			write_reservation(&rows, cluster, decision->reservation);
	}
	yq_row_update_close(rows.update);
}

/* -- requests --------------------------------------------------------------------- */

static const char *const request_columns[] = {"application_id", "priority", "allocation_request_id", "execution_type",
	"resource_name", "count"};
static const char *const counter_columns[] = {"application_id", "priority", "allocation_request_id", "execution_type",
	"opportunities", "missed_non_partitioned", "re_reservations"};

/* The rows of an application in the tables of requests and of counters. */
typedef struct RequestRows
{
	Rows		requests;
	Rows		counters;
	Datum		application_id;
	Datum		execution_type; /* execution type of the requests that cycles serve: GUARANTEED */
} RequestRows;

/* Write the count of a request, or delete its row if all its containers have been served. */
static void
write_resource_request(RequestRows *rows, const YqSchedulerKey *key, const YqResourceRequest *request)
{
	Datum		row_key[5] = {rows->application_id, Int32GetDatum(key->priority), Int64GetDatum(key->allocation_request_id),
	rows->execution_type};
	YqRowUpdate  *update;

	if (!request->is_changed || request->source == NULL)
		return;
	row_key[4] = CStringGetTextDatum(request->source);
	if (!find(&rows->requests, row_key))
		return;
	update = rows->requests.update;
	yq_row_update_set(update, 5, Int32GetDatum(request->count));
	if (request->count > 0)
		yq_row_update_write(update);
	else
		yq_row_update_delete(update);
}

static void
write_request_counters(RequestRows *rows, YqSchedulerKey *key)
{
	const Datum row_key[] = {rows->application_id, Int32GetDatum(key->priority), Int64GetDatum(key->allocation_request_id),
	rows->execution_type};
	YqRowUpdate  *update;

	(void) find(&rows->counters, row_key);
	update = rows->counters.update;
	key->written = (YqRequestCounters) {key->opportunities, key->missed_non_partitioned, key->re_reservations};
	yq_row_update_set(update, 4, Int64GetDatum(key->opportunities));
	yq_row_update_set(update, 5, Int64GetDatum(key->missed_non_partitioned));
	yq_row_update_set(update, 6, Int64GetDatum(key->re_reservations));
	yq_row_update_write(update);
}

/*
 * Write the counts of the changed requests.  If a key's count for * becomes 0, its other
 * requests are kept, and count again when the key is requested again.  Counters are kept as
 * well (LocalityAppPlacementAllocator, SchedulerApplicationAttempt).
 */
static void
write_requests(const YqCluster *cluster, const List *applications)
{
	RequestRows rows = {
		.requests = {.table = YQ_RESOURCE_REQUEST,.primary_key = "resource_request_pkey",.columns = request_columns,.count = lengthof(request_columns)},
		.counters = {.table = YQ_REQUEST_COUNTER,.primary_key = "request_counter_pkey",.columns = counter_columns,.count = lengthof(counter_columns)},
		.execution_type = ObjectIdGetDatum(yq_enum_oid("execution_type", "GUARANTEED"))
	};
	ListCell   *cell;

	foreach(cell, applications)
	{
		const YqClusterApplication *application = lfirst(cell);

		rows.application_id = CStringGetTextDatum(application->application_id);
		for (int i = 0; i < application->key_count; i++)
		{
			YqSchedulerKey *key = application->keys[i];

			if (!key->is_changed || key->update != NULL)
				continue;
			if (yq_scheduler_key_counters_differ(cluster, key))
				write_request_counters(&rows, key);
			write_resource_request(&rows, key, &key->anywhere);
			for (int j = 0; j < key->request_count; j++)
				write_resource_request(&rows, key, &key->requests[j]);
		}
	}
	yq_row_update_close(rows.counters.update);
	yq_row_update_close(rows.requests.update);
}

/* -- applications ------------------------------------------------------------------- */

static const char *const attempt_columns[] = {"application_id", "attempt", "next_container", "am_container_id"};

static void
note_masters(const YqCluster *cluster)
{
	for (int i = 0; i < cluster->decision_count; i++)
	{
		const YqDecision *decision = &cluster->decisions[i];

		if (decision->is_master && yq_decision_starts(decision))
			yq_loaded(decision->key->application)->master = decision;
	}
}

static void
write_attempt(Rows *rows, YqClusterApplication *application)
{
	YqLoadedApplication *source = yq_loaded(application);
	Datum		id = CStringGetTextDatum(application->application_id);
	bool		is_found = find(rows, &id);
	YqRowUpdate  *update = rows->update;

	if (!is_found)
		yq_row_update_set(update, 1, Int32GetDatum(source->attempt));
	yq_row_update_set(update, 2, Int64GetDatum(application->next_container));
	if (source->master != NULL)
		yq_row_update_set(update, 3, PointerGetDatum(yq_decision_container_id(source->master)));
	yq_row_update_write(update);
	source->next_container = application->next_container;
	source->master = NULL;
}

/* Write each application's next container number, and the containers of application masters. */
static void
write_attempts(const YqCluster *cluster, const List *applications)
{
	Rows		rows = {.table = YQ_APPLICATION_ATTEMPT,.primary_key = "application_attempt_pkey",.columns = attempt_columns,.count = lengthof(attempt_columns)};
	ListCell   *cell;

	note_masters(cluster);
	foreach(cell, applications)
	{
		YqClusterApplication *application = lfirst(cell);

		if (application->next_container != yq_loaded(application)->next_container ||
			yq_loaded(application)->master != NULL)
			write_attempt(&rows, application);
	}
	yq_row_update_close(rows.update);
}

/*
 * Record that applications have no outstanding requests any more, because all their
 * requests have been served.
 */
static void
end_demand(const List *applications)
{
	static const char *const columns[] = {"application_id", "has_outstanding_requests"};
	Rows		rows = {.table = YQ_APPLICATION,.primary_key = "application_pkey",.columns = columns,.count = lengthof(columns)};
	ListCell   *cell;

	foreach(cell, applications)
	{
		const YqClusterApplication *application = lfirst(cell);
		Datum		id = CStringGetTextDatum(application->application_id);

		if (application->is_demanding || !find(&rows, &id) || !DatumGetBool(yq_row_update_value(rows.update, 1)))
			continue;
		yq_row_update_set(rows.update, 1, BoolGetDatum(false));
		yq_row_update_write(rows.update);
	}
	yq_row_update_close(rows.update);
}

/* Count the decisions that are promotions by rule, for metrics. */
static void
count_promoted(const YqCluster *cluster)
{
	YqOpportunisticCount counted = {0};

	for (int i = 0; i < cluster->decision_count; i++)
		counted.promoted_by_rule += yq_decision_is_by_rule(&cluster->decisions[i]);
	if (counted.promoted_by_rule > 0)
		yq_opportunistic_count_write(&counted);
}

/*
 * Record the decisions.  The order is important:
 *
 * 1.  Leaves are locked before any row is written.  Decisions for applications that have
 * ended or moved since they were read are dropped.  The later steps write the remaining
 * decisions.
 *
 * 2.  Numbers that other containers already have are skipped before any id is written.
 *
 * 3.  Killed containers end before the containers that replace them start.  Events of
 * updates follow the events of starts.
 *
 * 4.  A node has only one row in reserved_container.  A node's old reservation is therefore
 * deleted before its new reservation is inserted.
 *
 * 5.  Changes of requests are recorded for other sessions before they are written to the
 * tables. write_requests() then sets the written state (YqSchedulerKey.written) to the new
 * state, so the changes can no longer be found.
 *
 * 6.  The end of demand is the last change of an application's row.  Step 5 has already
 * recorded the application, so the row's trigger need not do it again.
 *
 * 7.  The requests of containers that were killed before they were fetched are restored
 * last.  The cluster does not contain these requests, so writing its own requests would
 * overwrite them.
 */
void
yq_record_decisions(YqLoadedCluster *loaded)
{
	List	   *applications;
	Killed		killed;

	yq_cluster_sort_touched(loaded->cluster);
	applications = loaded->changed = find_touched(loaded);
	yq_container_numbers_skip_known(loaded, applications);
	killed = end_killed(loaded->cluster);
	yq_record_containers(loaded);
	yq_update_events_record(loaded->cluster, applications);
	count_promoted(loaded->cluster);
	drop_reservations(loaded->cluster);
	write_reservations(loaded->cluster);
	yq_changed_applications_note(loaded);
	write_requests(loaded->cluster, applications);
	write_attempts(loaded->cluster, applications);
	yq_scheduler_journal_expect_end_of_demand();
	end_demand(applications);
	put_requests_back(loaded, &killed);
}
