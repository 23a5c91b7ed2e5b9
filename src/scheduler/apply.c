/*-------------------------------------------------------------------------
 *
 * apply.c
 *	  Writing down what a pass has decided.
 *
 * But for containers and decisions (decision.h), every table is written by one
 * statement with arrays of values, however many rows there are.  unnest() of several arrays is known to the parser by this
 * name alone, without a schema.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "base/catalog.h"
#include "base/clock.h"
#include "catalog/pg_type_d.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "queues/hierarchy_read.h"
#include "queues/statement.h"
#include "queues/submission_lock.h"
#include "scheduler/apply.h"
#include "scheduler/container_number.h"
#include "scheduler/container_update.h"
#include "scheduler/decision.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

/* -- arrays ---------------------------------------------------------------- */

/* Values of one column for all rows of a statement. */
typedef struct Column
{
	Oid			type;
	Datum	   *values;
	bool	   *nulls;
	int			count;
} Column;

static Column
make_column(Oid type, int room)
{
	Column		column = {.type = type};

	column.values = MemoryContextAllocHuge(CurrentMemoryContext, sizeof(Datum) * Max(room, 1));
	column.nulls = MemoryContextAllocHuge(CurrentMemoryContext, sizeof(bool) * Max(room, 1));
	return column;
}

static void
put(Column *column, Datum value)
{
	column->values[column->count] = value;
	column->nulls[column->count++] = false;
}

static void
put_text(Column *column, const char *text)
{
	column->values[column->count] = text == NULL ? (Datum) 0 : CStringGetTextDatum(text);
	column->nulls[column->count++] = text == NULL;
}

static Datum
array_of(const Column *column)
{
	int			dimensions[1] = {column->count};
	int			bounds[1] = {1};
	int16		length;
	bool		by_value;
	char		alignment;

	get_typlenbyvalalign(column->type, &length, &by_value, &alignment);
	return PointerGetDatum(construct_md_array(column->values, column->nulls, 1, dimensions, bounds,
											  column->type, length, by_value, alignment));
}

/* Run a statement whose parameters are the columns, unless there are no rows. */
static void
run(YqStatement *statement, const Column *columns, int count)
{
	Datum		values[YQ_STATEMENT_MAX_PARAMETERS];

	if (columns[0].count == 0)
		return;
	for (int i = 0; i < count; i++)
		values[i] = array_of(&columns[i]);
	(void) yq_statement_execute(statement, values, NULL);
}

/* -- who is still there ------------------------------------------------------- */

/* Are there nodes with a label that serve the default partition, too? */
static bool
has_shared_nodes(const YqCluster *cluster)
{
	for (int label = 0; label < cluster->hierarchy->label_count; label++)
	{
		if (cluster->shares[label])
			return true;
	}
	return false;
}

/*
 * Is there anything new to be counted?  What was missed for the default partition
 * decides on shared nodes alone.  Every node that reports lets many requests miss it,
 * so without such nodes it is written down along with other counters only.
 */
static bool
counters_differ(const YqCluster *cluster, const YqRequestKey *key)
{
	return key->opportunities != key->written.opportunities ||
		key->re_reservations != key->written.re_reservations ||
		(key->missed_non_partitioned != key->written.missed_non_partitioned && has_shared_nodes(cluster));
}

/* Requests are served by decisions only. */
static bool
is_touched(const YqCluster *cluster, const YqClusterApplication *application)
{
	if (yq_loaded(application)->is_decided || application->is_place_changed)
		return true;
	for (int i = 0; i < application->key_count; i++)
	{
		const YqRequestKey *key = application->keys[i];

		if (key->is_changed && (key->update != NULL || counters_differ(cluster, key)))
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
lock_leaves(const List *applications)
{
	YqSubmissionLocks locks = {NIL};
	const YqClusterQueue *last = NULL;
	ListCell   *cell;

	foreach(cell, applications)
	{
		const YqClusterApplication *application = lfirst(cell);

		if (application->leaf != last)
			yq_submission_locks_add(&locks, YQ_LOCK_LEAF, application->leaf->queue->path);
		last = application->leaf;
	}
	yq_submission_locks_take(&locks);
}

/*
 * A container that was to be updated may have ended or changed: then its application
 * gets nothing in this pass, and is read again by the next one.  Returns those that
 * are left.
 */
static List *
leave_out_changed(const YqCluster *cluster, List *applications)
{
	for (int i = 0; i < cluster->decision_count; i++)
	{
		const YqDecision *decision = &cluster->decisions[i];
		YqClusterApplication *application = decision->key->application;

		if (!yq_decision_updates(decision) || yq_loaded(application)->is_gone ||
			yq_container_update_claim(cluster->hierarchy, decision->key->update))
			continue;
		yq_loaded(application)->is_gone = true;
		applications = list_delete_ptr(applications, application);
	}
	return applications;
}

/* What was decided for those that are gone never was. */
static void
drop_decisions_of_gone(YqCluster *cluster)
{
	int			count = 0;

	for (int i = 0; i < cluster->decision_count; i++)
	{
		if (!yq_loaded(cluster->decisions[i].key->application)->is_gone)
			cluster->decisions[count++] = cluster->decisions[i];
	}
	cluster->decision_count = count;
}

/*
 * Applications of which something is to be written, locked; those that have ended
 * or moved since they were read, and such with containers that are not to be updated
 * now, are left out, and marked, and decisions for them dropped.
 */
static List *
find_touched(const YqLoadedCluster *loaded)
{
	static YqStatement look_up = {
		.command = "SELECT u.number::int4 "
		"FROM unnest($1, $2) WITH ORDINALITY AS u (application_id, queue, number) "
		"JOIN yquota.application AS a ON a.application_id = u.application_id "
		"WHERE a.state = 'ACTIVE' AND a.queue = u.queue ORDER BY u.number",
		.types = {"_text", "_text"},
		.plans_once = true
	};
	List	   *touched = list_touched(loaded);
	List	   *present = NIL;
	Column		columns[2];
	Datum		values[2];
	ListCell   *cell;
	MemoryContext caller = CurrentMemoryContext;
	uint64		rows;

	if (touched == NIL)
		return NIL;
	lock_leaves(touched);
	columns[0] = make_column(TEXTOID, list_length(touched));
	columns[1] = make_column(TEXTOID, list_length(touched));
	foreach(cell, touched)
	{
		YqClusterApplication *application = lfirst(cell);

		put_text(&columns[0], application->application_id);
		put_text(&columns[1], application->leaf->queue->path);
		yq_loaded(application)->is_gone = true;
	}
	values[0] = array_of(&columns[0]);
	values[1] = array_of(&columns[1]);
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	rows = yq_statement_run(&look_up, values, NULL);
	MemoryContextSwitchTo(caller);
	for (uint64 i = 0; i < rows; i++)
	{
		bool		isnull;
		Datum		number = SPI_getbinval(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, 1, &isnull);
		YqClusterApplication *application = list_nth(touched, DatumGetInt32(number) - 1);

		yq_loaded(application)->is_gone = false;
		present = lappend(present, application);
	}
	SPI_finish();
	present = leave_out_changed(loaded->cluster, present);
	if (list_length(present) < list_length(touched))
		drop_decisions_of_gone(loaded->cluster);
	return present;
}

/* -- reservations ------------------------------------------------------------------ */

/* Such as were fulfilled or given up. */
static void
drop_reservations(const YqCluster *cluster)
{
	static YqStatement drop = {
		.command = "DELETE FROM yquota.reservation AS r WHERE r.node = ANY ($1)",
		.types = {"_text"},
		.plans_once = true
	};
	Column		nodes = make_column(TEXTOID, cluster->decision_count);

	for (int i = 0; i < cluster->decision_count; i++)
	{
		const YqReservation *reservation = cluster->decisions[i].reservation;

		if (reservation != NULL && reservation->node->reservation != reservation)
			put_text(&nodes, reservation->node->name);
	}
	run(&drop, &nodes, 1);
}

/* One of an application that is not ACTIVE any more is replaced. */
static void
write_reservations(const YqCluster *cluster)
{
	static YqStatement upsert = {
		.command = "INSERT INTO yquota.reservation "
		"(node, application_id, container_id, label, container_to_update, priority, allocation_request_id, allocation, reserved_at) "
		"SELECT u.node, u.application_id, u.container_id, u.label, u.container_to_update, u.priority, u.allocation_request_id, "
		"u.allocation, yquota.clock() FROM unnest($1, $2, $3, $4, $5, $6, $7, $8) "
		"AS u (node, application_id, container_id, label, container_to_update, priority, allocation_request_id, allocation) "
		"ON CONFLICT (node) DO UPDATE SET application_id = excluded.application_id, container_id = excluded.container_id, "
		"label = excluded.label, priority = excluded.priority, allocation_request_id = excluded.allocation_request_id, "
		"allocation = excluded.allocation, reserved_at = excluded.reserved_at, container_to_update = excluded.container_to_update",
		.types = {"_text", "_text", "_text", "_text", "_text", "_int4", "_int8", "yquota._resource"},
		.plans_once = true
	};
	Column		columns[8];

	for (int i = 0; i < 5; i++)
		columns[i] = make_column(TEXTOID, cluster->decision_count);
	columns[5] = make_column(INT4OID, cluster->decision_count);
	columns[6] = make_column(INT8OID, cluster->decision_count);
	columns[7] = make_column(yq_type_oid("resource"), cluster->decision_count);
	for (int i = 0; i < cluster->decision_count; i++)
	{
		const YqReservation *reservation = cluster->decisions[i].reservation;
		const YqClusterNode *node = cluster->decisions[i].node;

		if (cluster->decisions[i].kind != YQ_RESERVED || node->reservation != reservation)
			continue;
		put_text(&columns[0], node->name);
		put_text(&columns[1], reservation->key->application->application_id);
		put(&columns[2], PointerGetDatum(yq_container_id(reservation->key->application, reservation->container)));
		put_text(&columns[3], cluster->hierarchy->labels[node->label]);
		put_text(&columns[4], reservation->key->update == NULL ? NULL : reservation->key->update->container_id);
		put(&columns[5], Int32GetDatum(reservation->key->priority));
		put(&columns[6], Int64GetDatum(reservation->key->allocation_request_id));
		put(&columns[7], yq_hierarchy_resource(cluster->hierarchy, reservation->amounts));
	}
	run(&upsert, columns, lengthof(columns));
}

/* -- requests --------------------------------------------------------------------- */

/* Columns that name a key: application, priority, id; followed by up to four more. */
typedef struct KeyColumns
{
	Column		columns[7];
} KeyColumns;

static KeyColumns
make_key_columns(int room)
{
	KeyColumns	result;

	result.columns[0] = make_column(TEXTOID, room);
	result.columns[1] = make_column(INT4OID, room);
	result.columns[2] = make_column(INT8OID, room);
	return result;
}

static void
put_key(KeyColumns *to, const YqRequestKey *key)
{
	put_text(&to->columns[0], key->application->application_id);
	put(&to->columns[1], Int32GetDatum(key->priority));
	put(&to->columns[2], Int64GetDatum(key->allocation_request_id));
}

static int
count_keys(const List *applications, int *asks)
{
	int			keys = 0;
	ListCell   *cell;

	*asks = 0;
	foreach(cell, applications)
	{
		const YqClusterApplication *application = lfirst(cell);

		keys += application->key_count;
		for (int i = 0; i < application->key_count; i++)
			*asks += application->keys[i]->ask_count + 1;
	}
	return keys;
}

static void
put_ask(KeyColumns *updated, KeyColumns *served, const YqRequestKey *key, const YqAsk *ask)
{
	KeyColumns *to = ask->count > 0 ? updated : served;

	if (!ask->is_changed || ask->source == NULL)
		return;
	put_key(to, key);
	put_text(&to->columns[3], ask->source);
	if (to == updated)
		put(&to->columns[4], Int32GetDatum(ask->count));
}

static void
put_counters(KeyColumns *to, YqRequestKey *key)
{
	key->written = (YqRequestCounters) {key->opportunities, key->missed_non_partitioned, key->re_reservations};
	put_key(to, key);
	put(&to->columns[3], Int64GetDatum(key->opportunities));
	put(&to->columns[4], Int64GetDatum(key->missed_non_partitioned));
	put(&to->columns[5], Int64GetDatum(key->re_reservations));
}

/*
 * Counts of what is still asked for; of what has been served there is no row.  What
 * else was asked for with the key stays, though nothing is wanted anywhere, and
 * counts when it is asked for again; counters stay, too
 * (LocalityAppPlacementAllocator, SchedulerApplicationAttempt).
 */
static void
write_requests(const YqCluster *cluster, const List *applications)
{
	static YqStatement drop = {
		.command = "DELETE FROM yquota.resource_request AS r "
		"USING unnest($1, $2, $3, $4) AS u (application_id, priority, allocation_request_id, resource_name) "
		"WHERE r.application_id = u.application_id AND r.priority = u.priority "
		"AND r.allocation_request_id = u.allocation_request_id AND r.resource_name = u.resource_name",
		.types = {"_text", "_int4", "_int8", "_text"},
		.plans_once = true
	};
	static YqStatement update = {
		.command = "UPDATE yquota.resource_request AS r SET count = u.count "
		"FROM unnest($1, $2, $3, $4, $5) AS u (application_id, priority, allocation_request_id, resource_name, count) "
		"WHERE r.application_id = u.application_id AND r.priority = u.priority "
		"AND r.allocation_request_id = u.allocation_request_id AND r.resource_name = u.resource_name",
		.types = {"_text", "_int4", "_int8", "_text", "_int4"},
		.plans_once = true
	};
	static YqStatement count = {
		.command = "INSERT INTO yquota_internal.request_counter AS c "
		"(application_id, priority, allocation_request_id, opportunities, missed_non_partitioned, re_reservations) "
		"SELECT u.* FROM unnest($1, $2, $3, $4, $5, $6) AS u "
		"ON CONFLICT (application_id, priority, allocation_request_id) DO UPDATE "
		"SET opportunities = excluded.opportunities, missed_non_partitioned = excluded.missed_non_partitioned, "
		"re_reservations = excluded.re_reservations",
		.types = {"_text", "_int4", "_int8", "_int8", "_int8", "_int8"},
		.plans_once = true
	};
	int			asks;
	int			keys = count_keys(applications, &asks);
	KeyColumns	served = make_key_columns(asks);
	KeyColumns	updated = make_key_columns(asks);
	KeyColumns	counted = make_key_columns(keys);
	ListCell   *cell;

	served.columns[3] = make_column(TEXTOID, asks);
	updated.columns[3] = make_column(TEXTOID, asks);
	updated.columns[4] = make_column(INT4OID, asks);
	for (int i = 3; i < 6; i++)
		counted.columns[i] = make_column(INT8OID, keys);
	foreach(cell, applications)
	{
		const YqClusterApplication *application = lfirst(cell);

		for (int i = 0; i < application->key_count; i++)
		{
			YqRequestKey *key = application->keys[i];

			if (!key->is_changed || key->update != NULL)
				continue;
			if (counters_differ(cluster, key))
				put_counters(&counted, key);
			put_ask(&updated, &served, key, &key->anywhere);
			for (int j = 0; j < key->ask_count; j++)
				put_ask(&updated, &served, key, &key->asks[j]);
		}
	}
	run(&drop, served.columns, 4);
	run(&update, updated.columns, 5);
	run(&count, counted.columns, 6);
}

/* -- applications ------------------------------------------------------------------- */

/* Numbers of containers, and containers of application masters. */
static void
write_attempts(const YqCluster *cluster, const List *applications)
{
	static YqStatement upsert = {
		.command = "INSERT INTO yquota_internal.application_attempt AS t (application_id, attempt, next_container) "
		"SELECT u.* FROM unnest($1, $2, $3) AS u "
		"ON CONFLICT (application_id) DO UPDATE SET next_container = excluded.next_container",
		.types = {"_text", "_int4", "_int8"},
		.plans_once = true
	};
	static YqStatement note_masters = {
		.command = "UPDATE yquota_internal.application_attempt AS t SET am_container_id = u.container_id "
		"FROM unnest($1, $2) AS u (application_id, container_id) WHERE t.application_id = u.application_id",
		.types = {"_text", "_text"},
		.plans_once = true
	};
	Column		attempts[3];
	Column		masters[2];
	ListCell   *cell;

	attempts[0] = make_column(TEXTOID, list_length(applications));
	attempts[1] = make_column(INT4OID, list_length(applications));
	attempts[2] = make_column(INT8OID, list_length(applications));
	masters[0] = make_column(TEXTOID, cluster->decision_count);
	masters[1] = make_column(TEXTOID, cluster->decision_count);
	foreach(cell, applications)
	{
		const YqClusterApplication *application = lfirst(cell);

		if (application->next_container == yq_loaded(application)->next_container)
			continue;
		yq_loaded(application)->next_container = application->next_container;
		put_text(&attempts[0], application->application_id);
		put(&attempts[1], Int32GetDatum(yq_loaded(application)->attempt));
		put(&attempts[2], Int64GetDatum(application->next_container));
	}
	for (int i = 0; i < cluster->decision_count; i++)
	{
		const YqDecision *decision = &cluster->decisions[i];

		if (!decision->is_master || !yq_decision_starts(decision))
			continue;
		put_text(&masters[0], decision->key->application->application_id);
		put(&masters[1], PointerGetDatum(yq_decision_container_id(decision)));
	}
	run(&upsert, attempts, 3);
	run(&note_masters, masters, 2);
}

/* Places in fair order. */
static void
write_places(const List *applications)
{
	static YqStatement update = {
		.command = "UPDATE yquota_internal.application_attempt AS t SET placed_memory = u.placed_memory, "
		"placed_pending = u.placed_pending, uncounted_memory = u.uncounted_memory "
		"FROM unnest($1, $2, $3, $4) AS u (application_id, placed_memory, placed_pending, uncounted_memory) "
		"WHERE t.application_id = u.application_id",
		.types = {"_text", "_int8", "_int8", "_int8"},
		.plans_once = true
	};
	Column		columns[4];
	ListCell   *cell;

	columns[0] = make_column(TEXTOID, list_length(applications));
	for (int i = 1; i < 4; i++)
		columns[i] = make_column(INT8OID, list_length(applications));
	foreach(cell, applications)
	{
		YqClusterApplication *application = lfirst(cell);

		if (!application->is_place_changed)
			continue;
		application->is_place_changed = false;
		put_text(&columns[0], application->application_id);
		put(&columns[1], Int64GetDatum(application->placed_memory));
		columns[1].nulls[columns[1].count - 1] = application->placed_memory < 0;
		put(&columns[2], Int64GetDatum(application->placed_pending));
		put(&columns[3], Int64GetDatum(application->uncounted_memory));
	}
	run(&update, columns, 4);
}

/* Who has got all that he asked for waits for nothing any more. */
static void
end_demand(const List *applications)
{
	static YqStatement update = {
		.command = "UPDATE yquota.application AS a SET has_outstanding_requests = false "
		"WHERE a.application_id = ANY ($1) AND a.has_outstanding_requests",
		.types = {"_text"},
		.plans_once = true
	};
	Column		ids = make_column(TEXTOID, list_length(applications));
	ListCell   *cell;

	foreach(cell, applications)
	{
		const YqClusterApplication *application = lfirst(cell);

		if (!application->is_demanding)
			put_text(&ids, application->application_id);
	}
	run(&update, &ids, 1);
}

void
yq_decisions_apply(YqLoadedCluster *loaded)
{
	List	   *applications;

	yq_cluster_sort_touched(loaded->cluster);
	applications = loaded->changed = find_touched(loaded);
	yq_container_numbers_skip_known(loaded, applications);
	yq_decisions_write(loaded);
	yq_container_updates_record(loaded->cluster, applications);
	drop_reservations(loaded->cluster);
	write_reservations(loaded->cluster);
	write_requests(loaded->cluster, applications);
	write_attempts(loaded->cluster, applications);
	write_places(applications);
	end_demand(applications);
}
