/*-------------------------------------------------------------------------
 *
 * changed_applications.c
 *	  What sessions that keep a cluster learn of the applications that a cycle
 *	  has changed.
 *
 * Most cycles count missed opportunities, start containers that were asked for,
 * and reserve nodes.  What they leave of requests, counters and reservations is
 * noted row by row, which costs other sessions less than reading the
 * application from its tables.
 *
 * The order of cycles decides about what a request is now.  Numbers of
 * transactions do not tell it: a transaction may have its number long before its
 * cycle has the scheduler's lock.  Places in the write-ahead log do.  A cycle takes
 * one under the lock, which it holds until its transaction has ended, and
 * writes its rows behind it.  Sessions that have lived since compare the rows, so
 * no other log comes between.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "access/xlog.h"
#include "scheduler/record/changed_applications.h"
#include "scheduler/record/scheduler_journal.h"

/* When a cycle has changed more applications, other sessions load the cluster anew. */
#define MOST_APPLICATIONS 2000

/* An application of which more requests have changed is read again. */
#define MOST_REQUESTS 20

/* -- applications of which more has changed than requests and reservations ----------- */

static bool
changes_more(const YqDecision *decision)
{
	return decision->killed != NULL || decision->key->update != NULL || decision->is_master;
}

/* What an update counts is written to the update. */
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

/* Of a key without any, a reservation tells all. */
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

/* Those of applications that are read again come with them. */
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

/* Nodes of which a reservation was made, fulfilled or given up. */
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
