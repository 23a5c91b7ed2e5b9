/*-------------------------------------------------------------------------
 *
 * record_containers.c
 *	  Records of allocated and updated containers: events, rows, and counts for metrics.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "access/xact.h"
#include "admission/application/queue_lock.h"
#include "catalog/pg_type_d.h"
#include "commands/sequence.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "queues/hierarchy.h"
#include "scheduler/load/promotable_containers.h"
#include "scheduler/record/record_containers.h"
#include "store/bulk_insert.h"
#include "store/catalog.h"
#include "store/clock.h"
#include "store/row_update.h"
#include "store/saved_plan.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

/* -- update event -------------------------------------------------------------- */

/* Writes the updates of running containers when the updates take effect. */

/*
 * The update must not have the time of an earlier update, so its time is after the
 * container's last event.  It may have the time of the container's START.
 */
void
yq_update_event_write(const char *container_id, Datum allocation, const char *execution_type, bool is_revertible)
{
	static YqSavedPlan update = {
		.command = "WITH running AS (SELECT c.container_id, c.application_id, c.allocation, "
		"greatest(yquota.clock(), CASE WHEN c.settled_at > c.started_at OR EXISTS ("
		"SELECT FROM yquota_internal.container_version AS v WHERE v.container_id = $1) OR EXISTS ("
		"SELECT FROM yquota.container_change AS u WHERE u.container_id = $1 AND u.occurred_at = c.started_at "
		"AND u.event = 'CONTAINER_UPDATE') "
		"THEN c.settled_at + interval '1 microsecond' ELSE c.started_at END) AS at "
		"FROM yquota.container AS c WHERE c.container_id = $1), "
		"pending AS (DELETE FROM yquota.container_update AS u WHERE u.container_id = $1), "
		"counted AS (INSERT INTO yquota_internal.container_version AS v "
		"(container_id, application_id, version, previous_allocation) "
		"SELECT r.container_id, r.application_id, 1, CASE WHEN $4 AND NOT COALESCE((SELECT s.auto_update_containers "
		"FROM yquota.scheduler_setting AS s), false) THEN r.allocation END FROM running AS r "
		"ON CONFLICT (container_id) DO UPDATE SET version = v.version + 1, previous_allocation = excluded.previous_allocation) "
		"INSERT INTO yquota.container_event (event, container_id, occurred_at, allocation, execution_type, source) "
		"SELECT 'CONTAINER_UPDATE', r.container_id, r.at, $2, $3::yquota.execution_type, 'scheduler' FROM running AS r",
		.types = {"text", "yquota.resource", "text", "bool"}
	};
	Datum		values[4] = {CStringGetTextDatum(container_id), allocation};
	char		nulls[] = "    ";

	nulls[1] = DatumGetPointer(allocation) == NULL ? 'n' : ' ';
	if (execution_type != NULL)
		values[2] = CStringGetTextDatum(execution_type);
	nulls[2] = execution_type == NULL ? 'n' : ' ';
	values[3] = BoolGetDatum(is_revertible);
	(void) yq_saved_plan_execute(&update, values, nulls);
}

/*
 * Revert increases, as the resource manager does if an application does not use the token
 * of an increase in time.
 */
void
yq_update_events_take_back(Datum container_ids, TimestampTz now, int64 expiry)
{
	static YqSavedPlan revert = {
		.command = "WITH due AS MATERIALIZED ("
		"SELECT d.decision_id, d.container_id, d.decided_at + $3 * interval '1 microsecond' AS ends_at "
		"FROM yquota.decision AS d WHERE d.container_id = ANY ($2) AND d.decision = 'increased' AND d.decided_at <= $1 "
		"FOR UPDATE SKIP LOCKED), "
		"running AS MATERIALIZED (SELECT c.container_id, c.allocation, c.settled_at FROM yquota.container AS c "
		"WHERE c.container_id = ANY (ARRAY(SELECT due.container_id FROM due)) FOR UPDATE SKIP LOCKED), "
		"expired AS (DELETE FROM yquota.decision AS d USING due JOIN running AS r ON r.container_id = due.container_id "
		"WHERE d.decision_id = due.decision_id), "
		"larger AS (SELECT c.container_id, v.previous_allocation, "
		"greatest((SELECT max(d.ends_at) FROM due AS d WHERE d.container_id = c.container_id), "
		"c.settled_at + interval '1 microsecond') AS at "
		"FROM yquota_internal.container_version AS v JOIN running AS c ON c.container_id = v.container_id "
		"WHERE v.previous_allocation OPERATOR(yquota.<@) c.allocation), "
		"counted AS (UPDATE yquota_internal.container_version AS v SET version = v.version + 1, previous_allocation = NULL "
		"WHERE v.container_id IN (SELECT l.container_id FROM larger AS l)) "
		"INSERT INTO yquota.container_event (event, container_id, occurred_at, allocation, source) "
		"SELECT 'CONTAINER_UPDATE', l.container_id, l.at, l.previous_allocation, 'scheduler' FROM larger AS l",
		.types = {"timestamptz", "_text", "int8"}
	};
	Datum		values[] = {TimestampTzGetDatum(now - expiry), container_ids, Int64GetDatum(expiry)};

	if (!yq_table_has_no_pages(YQ_CONTAINER_VERSION))
		(void) yq_saved_plan_execute(&revert, values, NULL);
}

bool
yq_update_event_claim(const YqHierarchy *hierarchy, const YqContainerUpdate *update)
{
	static YqSavedPlan lock = {
		.command = "SELECT c.allocation FROM yquota.container AS c WHERE c.container_id = $1 "
		"AND (NOT $2 OR c.execution_type = 'OPPORTUNISTIC' AND c.is_running) FOR UPDATE SKIP LOCKED",
		.types = {"text", "bool"}
	};
	Datum		values[] = {CStringGetTextDatum(update->container_id), BoolGetDatum(update->is_by_rule)};
	bool		is_as_known = false;
	bool		isnull;

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	if (yq_saved_plan_run(&lock, values, NULL) > 0)
	{
		Datum		allocation = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &isnull);

		is_as_known = yq_amounts_are_equal(&hierarchy->calculator, yq_hierarchy_read_amounts(hierarchy, allocation),
										   update->present);
	}
	SPI_finish();
	return is_as_known;
}

/* Write the counters of an update that still waits. */
static void
write_update_counters(const YqSchedulerKey *key)
{
	static YqSavedPlan count = {
		.command = "UPDATE yquota.container_update AS u "
		"SET opportunities = $2, missed_non_partitioned = $3, re_reservations = $4 WHERE u.container_id = $1 "
		"AND (u.opportunities, u.missed_non_partitioned, u.re_reservations) <> ($2, $3, $4)",
		.types = {"text", "int8", "int8", "int8"}
	};
	Datum		values[] = {
		CStringGetTextDatum(key->update->container_id),
		Int64GetDatum(key->opportunities),
		Int64GetDatum(key->missed_non_partitioned),
		Int64GetDatum(key->re_reservations)
	};

	(void) yq_saved_plan_execute(&count, values, NULL);
}

void
yq_update_event_record(const YqCluster *cluster, const YqDecision *decision)
{
	const YqContainerUpdate *update = decision->key->update;

	if (update->is_promotion)
		yq_update_event_write(update->container_id, PointerGetDatum(NULL), "GUARANTEED", false);
	else
		yq_update_event_write(update->container_id, yq_hierarchy_resource(cluster->hierarchy, update->allocation), NULL, true);
}

void
yq_update_events_record(const YqCluster *cluster, const List *applications)
{
	ListCell   *cell;

	for (int i = 0; i < cluster->decision_count; i++)
	{
		if (yq_decision_updates(&cluster->decisions[i]))
			yq_update_event_record(cluster, &cluster->decisions[i]);
	}
	foreach(cell, applications)
	{
		const YqClusterApplication *application = lfirst(cell);

		for (int i = 0; i < application->key_count; i++)
		{
			if (application->keys[i]->update != NULL && application->keys[i]->is_changed &&
				application->keys[i]->anywhere.count > 0)
				write_update_counters(application->keys[i]);
		}
	}
}

/* -- opportunistic count ------------------------------------------------------- */

/* Counts allocated OPPORTUNISTIC containers for metrics. */

#define MILLISECONDS(n) (INT64CONST(n) * 1000)

/*
 * The low bounds are for requests that a call serves immediately.  The high bounds are for requests
 * that wait for many heartbeats.
 */
const int64 yq_latency_bounds[YQ_LATENCY_BOUND_COUNT] = {
	MILLISECONDS(10), MILLISECONDS(50), MILLISECONDS(100), MILLISECONDS(250), MILLISECONDS(500),
	MILLISECONDS(1000), MILLISECONDS(2500), MILLISECONDS(5000), MILLISECONDS(10000),
	MILLISECONDS(30000), MILLISECONDS(60000), MILLISECONDS(300000)
};

void
yq_opportunistic_count_latency(YqOpportunisticCount *count, int64 latency, int64 containers)
{
	latency = Max(latency, 0);
	count->timed += containers;
	count->latency += latency * containers;
	for (int i = 0; i < YQ_LATENCY_BOUND_COUNT; i++)
	{
		if (latency <= yq_latency_bounds[i])
			count->within[i] += containers;
	}
}

/* -- writing ------------------------------------------------------------------ */

enum
{
	COUNT_PART,
	COUNT_CENTRAL,
	COUNT_NODE_LOCAL,
	COUNT_RACK_LOCAL,
	COUNT_OFF_SWITCH,
	COUNT_DEMOTED,
	COUNT_PROMOTED_BY_RULE,
	COUNT_TIMED,
	COUNT_LATENCY,
	COUNT_WITHIN,
	COUNT_COLUMNS
};

static const char *const column_names[] = {
	"part", "central", "node_local", "rack_local", "off_switch", "demoted", "promoted_by_rule", "timed", "latency", "within"
};

static void
add_to_column(YqRowUpdate *row, bool is_found, int column, int64 number)
{
	int64		before = is_found ? DatumGetInt64(yq_row_update_value(row, column)) : 0;

	yq_row_update_set(row, column, Int64GetDatum(before + number));
}

static void
add_within(YqRowUpdate *row, bool is_found, const int64 *within)
{
	Datum		sums[YQ_LATENCY_BOUND_COUNT];

	for (int i = 0; i < YQ_LATENCY_BOUND_COUNT; i++)
		sums[i] = Int64GetDatum(within[i]);
	if (is_found)
	{
		Datum	   *before;
		int			count;

		deconstruct_array(DatumGetArrayTypeP(yq_row_update_value(row, COUNT_WITHIN)), INT8OID, sizeof(int64), FLOAT8PASSBYVAL,
						  TYPALIGN_DOUBLE, &before, NULL, &count);
		for (int i = 0; i < Min(count, YQ_LATENCY_BOUND_COUNT); i++)
			sums[i] = Int64GetDatum(DatumGetInt64(before[i]) + within[i]);
	}
	yq_row_update_set(row, COUNT_WITHIN, PointerGetDatum(construct_array(sums, YQ_LATENCY_BOUND_COUNT, INT8OID, sizeof(int64),
																		 FLOAT8PASSBYVAL, TYPALIGN_DOUBLE)));
}

void
yq_opportunistic_count_write(const YqOpportunisticCount *count)
{
	Datum		part = Int32GetDatum(yq_queue_lock_total());
	YqRowUpdate *row = yq_row_update_open(YQ_OPPORTUNISTIC_COUNT, "opportunistic_count_pkey", column_names, COUNT_COLUMNS);
	bool		is_found = yq_row_update_find(row, &part);

	add_to_column(row, is_found, COUNT_CENTRAL, count->central);
	add_to_column(row, is_found, COUNT_NODE_LOCAL, count->node_local);
	add_to_column(row, is_found, COUNT_RACK_LOCAL, count->rack_local);
	add_to_column(row, is_found, COUNT_OFF_SWITCH, count->off_switch);
	add_to_column(row, is_found, COUNT_DEMOTED, count->demoted);
	add_to_column(row, is_found, COUNT_PROMOTED_BY_RULE, count->promoted_by_rule);
	add_to_column(row, is_found, COUNT_TIMED, count->timed);
	add_to_column(row, is_found, COUNT_LATENCY, count->latency);
	add_within(row, is_found, count->within);
	yq_row_update_write(row);
	yq_row_update_close(row);
}

/* -- record containers --------------------------------------------------------- */

/* Appends rows directly to the tables, because a cycle may write hundreds of thousands of rows. */

/* Number of rows that are collected, and then written together. */
#define ROWS_PER_FLUSH 1000

/* -- names ----------------------------------------------------------------- */

static const char *const decision_names[] = {
	[YQ_ALLOCATED] = "allocated",
	[YQ_RESERVED] = "reserved",
	[YQ_UNRESERVED] = "unreserved",
	[YQ_SWAPPED] = "swapped",
};

static const char *const locality_names[] = {
	[YQ_NODE_LOCAL] = "NODE_LOCAL",
	[YQ_RACK_LOCAL] = "RACK_LOCAL",
	[YQ_OFF_SWITCH] = "OFF_SWITCH",
};

const char *
yq_locality_name(YqLocality locality)
{
	return locality_names[locality];
}

static bool
is_allocation(const YqDecision *decision)
{
	return decision->kind == YQ_ALLOCATED || decision->kind == YQ_SWAPPED;
}

bool
yq_decision_starts(const YqDecision *decision)
{
	return is_allocation(decision) && decision->key->update == NULL;
}

bool
yq_decision_updates(const YqDecision *decision)
{
	return is_allocation(decision) && decision->key->update != NULL;
}

bool
yq_decision_is_by_rule(const YqDecision *decision)
{
	return yq_decision_updates(decision) && decision->key->update->is_by_rule;
}

const char *
yq_decision_name(const YqDecision *decision)
{
	if (yq_decision_updates(decision))
		return decision->key->update->is_promotion ? "promoted" : "increased";
	return decision_names[decision->kind];
}

const int64 *
yq_decision_allocation(const YqDecision *decision)
{
	return yq_decision_updates(decision) ? decision->key->update->allocation : decision->amounts;
}

const char *
yq_decision_locality(const YqDecision *decision)
{
	return yq_decision_starts(decision) ? locality_names[decision->locality] : NULL;
}

/*
 * Return the name of the widest locality that the key accepts, or NULL if no container
 * starts.
 */
static const char *
farthest_name(const YqDecision *decision)
{
	const YqSchedulerKey *key = decision->key;
	const YqResourceRequest *rack = yq_scheduler_key_request(key, decision->node->rack_number);

	if (!yq_decision_starts(decision))
		return NULL;
	if (key->anywhere.relaxes_locality)
		return locality_names[YQ_OFF_SWITCH];
	return locality_names[rack != NULL && rack->relaxes_locality ? YQ_RACK_LOCAL : YQ_NODE_LOCAL];
}

text *
yq_decision_container_id(const YqDecision *decision)
{
	if (yq_decision_updates(decision))
		return cstring_to_text(decision->key->update->container_id);
	return yq_loaded_container_id(decision->key->application, decision->container);
}

/* -- rows ------------------------------------------------------------------ */

/* Columns of container_event, in the order of the table. */
enum
{
	EVENT_KIND,
	EVENT_CONTAINER_ID,
	EVENT_OCCURRED_AT,
	EVENT_PROJECT,
	EVENT_APPLICATION_ID,
	EVENT_USERNAME,
	EVENT_QUEUE,
	EVENT_NODE,
	EVENT_ALLOCATION,
	EVENT_EXECUTION_TYPE,
	EVENT_EXIT_STATUS,
	EVENT_SOURCE,
	EVENT_RECORDED_AT,
	EVENT_PRIORITY,
	EVENT_ALLOCATION_REQUEST_ID,
	EVENT_ASKED_LABEL,
	EVENT_IS_AM,
	EVENT_IS_RUNNING,
	EVENT_ID,
	EVENT_COLUMNS
};

/* Columns of decision, in the order of the table. */
enum
{
	DECISION_ID,
	DECISION_DECISION,
	DECISION_CONTAINER_ID,
	DECISION_APPLICATION_ID,
	DECISION_QUEUE,
	DECISION_NODE,
	DECISION_ALLOCATION,
	DECISION_LOCALITY,
	DECISION_PRIORITY,
	DECISION_ALLOCATION_REQUEST_ID,
	DECISION_UNRESERVED_NODE,
	DECISION_DECIDED_AT,
	DECISION_ADVISED,
	DECISION_FARTHEST,
	DECISION_DIAGNOSTICS,
	DECISION_EXECUTION_TYPE,
	DECISION_COLUMNS
};

#define MOST_COLUMNS Max((int) EVENT_COLUMNS, (int) DECISION_COLUMNS)

/* A table to which rows are appended, with the row that is being filled. */
typedef struct Rows
{
	YqBulkInsert   *writer;
	const YqHierarchy *hierarchy;
	Oid			sequence;		/* sequence from which events are numbered */
	MemoryContext context;		/* memory for the values of one row */
	Datum		values[MOST_COLUMNS];
	bool		nulls[MOST_COLUMNS];
} Rows;

static void
open_rows(Rows *rows, const YqCluster *cluster, YqBulkInsert *writer)
{
	rows->writer = writer;
	rows->hierarchy = cluster->hierarchy;
	rows->context = AllocSetContextCreate(CurrentMemoryContext, "yquota decision", ALLOCSET_SMALL_SIZES);
	memset(rows->nulls, true, sizeof(rows->nulls));
}

static void
set_value(Rows *rows, int column, Datum value)
{
	rows->values[column] = value;
	rows->nulls[column] = false;
}

static void
set_text(Rows *rows, int column, const char *value)
{
	rows->nulls[column] = (value == NULL);
	if (value != NULL)
		rows->values[column] = CStringGetTextDatum(value);
}

/* Write a row that "fill" fills with the values of a decision. */
static void
put_decision_row(Rows *rows, const YqDecision *decision, void (*fill) (Rows *, const YqDecision *))
{
	MemoryContext caller = MemoryContextSwitchTo(rows->context);

	CHECK_FOR_INTERRUPTS();
	fill(rows, decision);
	MemoryContextSwitchTo(caller);
	yq_bulk_insert_put(rows->writer, rows->values, rows->nulls);
	MemoryContextReset(rows->context);
}

static void
close_rows(Rows *rows)
{
	yq_bulk_insert_close(rows->writer);
	MemoryContextDelete(rows->context);
}

/* -- order ---------------------------------------------------------------------- */

/* A decision's position in the order of writing. */
typedef struct Place
{
	const YqDecision *decision;
	int			application;	/* position of the decision's application in the list sorted by id */
} Place;

static int
compare_places(const void *a, const void *b)
{
	const Place *left = a;
	const Place *right = b;

	if (left->application != right->application)
		return left->application < right->application ? -1 : 1;
	if (left->decision->container != right->decision->container)
		return left->decision->container < right->decision->container ? -1 : 1;
	return left->decision < right->decision ? -1 : 1;
}

/*
 * Sort decisions by application and container number.  This is the order of container ids,
 * unless container numbers have seven digits.  Charging settles events in that order.  The
 * indexes on ids, which are the widest, are then filled page by page.
 */
static Place *
in_order(const YqLoadedCluster *loaded)
{
	const YqCluster *cluster = loaded->cluster;
	Place	   *places = MemoryContextAllocHuge(CurrentMemoryContext, sizeof(Place) * Max(cluster->decision_count, 1));

	for (int i = 0; i < cluster->touched_count; i++)
		yq_loaded(cluster->touched[i])->place = i;
	for (int i = 0; i < cluster->decision_count; i++)
	{
		places[i].decision = &cluster->decisions[i];
		places[i].application = yq_loaded(cluster->decisions[i].key->application)->place;
	}
	qsort(places, cluster->decision_count, sizeof(Place), compare_places);
	return places;
}

/* -- containers ---------------------------------------------------------------- */

static void
fill_start(Rows *rows, const YqDecision *decision)
{
	const YqSchedulerKey *key = decision->key;
	const YqClusterApplication *application = key->application;

	set_value(rows, EVENT_CONTAINER_ID, PointerGetDatum(yq_decision_container_id(decision)));
	set_text(rows, EVENT_PROJECT, yq_loaded(application)->project);
	set_text(rows, EVENT_APPLICATION_ID, application->application_id);
	set_text(rows, EVENT_USERNAME, application->user->username);
	set_text(rows, EVENT_QUEUE, application->leaf->queue->path);
	set_text(rows, EVENT_NODE, decision->node->name);
	set_value(rows, EVENT_ALLOCATION, yq_hierarchy_resource(rows->hierarchy, decision->amounts));
	set_value(rows, EVENT_PRIORITY, Int32GetDatum(key->priority));
	set_value(rows, EVENT_ALLOCATION_REQUEST_ID, Int64GetDatum(key->allocation_request_id));
	set_text(rows, EVENT_ASKED_LABEL, key->label < 0 ? "" : rows->hierarchy->labels[key->label]);
	set_value(rows, EVENT_IS_AM, BoolGetDatum(decision->is_master));
	set_value(rows, EVENT_ID, Int64GetDatum(nextval_internal(rows->sequence, false)));
}

static bool
does_any_start(const Place *places, int count)
{
	for (int i = 0; i < count; i++)
	{
		if (yq_decision_starts(places[i].decision))
			return true;
	}
	return false;
}

static void
start_containers(const YqCluster *cluster, const Place *places, int count)
{
	Rows		rows;

	if (!does_any_start(places, count))
		return;
	open_rows(&rows, cluster, yq_bulk_insert_open_statement(YQ_CONTAINER_EVENT, EVENT_COLUMNS, ROWS_PER_FLUSH));
	set_value(&rows, EVENT_KIND, ObjectIdGetDatum(yq_enum_oid("container_event_type", "CONTAINER_START")));
	set_value(&rows, EVENT_OCCURRED_AT, TimestampTzGetDatum(yq_clock_now()));
	set_value(&rows, EVENT_EXECUTION_TYPE, ObjectIdGetDatum(yq_enum_oid("execution_type", "GUARANTEED")));
	set_text(&rows, EVENT_SOURCE, "scheduler");
	set_value(&rows, EVENT_IS_RUNNING, BoolGetDatum(true));
	rows.sequence = yq_identity_sequence(yq_bulk_insert_relation(rows.writer), EVENT_ID + 1);
	set_value(&rows, EVENT_RECORDED_AT, TimestampTzGetDatum(yq_clock_statement()));
	for (int i = 0; i < count; i++)
	{
		if (yq_decision_starts(places[i].decision))
			put_decision_row(&rows, places[i].decision, fill_start);
	}
	close_rows(&rows);
}

/* -- decisions ------------------------------------------------------------------- */

/* Take consecutive unused numbers, and return the first of them. */
static int64
take_numbers(Relation relation, int64 count)
{
	Oid			sequence = yq_identity_sequence(relation, DECISION_ID + 1);
	int64		first = nextval_internal(sequence, false);

	if (count > 1)
		(void) DirectFunctionCall2(setval_oid, ObjectIdGetDatum(sequence), Int64GetDatum(first + count - 1));
	return first;
}

static void
fill_decision_row(Rows *rows, const YqDecision *decision)
{
	const YqClusterApplication *application = decision->key->application;

	set_text(rows, DECISION_DECISION, yq_decision_name(decision));
	set_value(rows, DECISION_CONTAINER_ID, PointerGetDatum(yq_decision_container_id(decision)));
	set_text(rows, DECISION_APPLICATION_ID, application->application_id);
	set_text(rows, DECISION_QUEUE, application->leaf->queue->path);
	set_text(rows, DECISION_NODE, decision->node->name);
	set_value(rows, DECISION_ALLOCATION, yq_hierarchy_resource(rows->hierarchy, yq_decision_allocation(decision)));
	set_text(rows, DECISION_LOCALITY, yq_decision_locality(decision));
	set_value(rows, DECISION_PRIORITY, Int32GetDatum(decision->key->priority));
	set_value(rows, DECISION_ALLOCATION_REQUEST_ID, Int64GetDatum(decision->key->allocation_request_id));
	set_text(rows, DECISION_FARTHEST, farthest_name(decision));
	set_text(rows, DECISION_UNRESERVED_NODE,
			 decision->kind == YQ_SWAPPED ? decision->reservation->node->name : NULL);
	set_text(rows, DECISION_DIAGNOSTICS, yq_decision_is_by_rule(decision) ? yq_promotion_diagnostics(decision->key) : NULL);
}

static void
keep_decisions(const YqCluster *cluster, const Place *places)
{
	Rows		rows;
	int64		first;

	open_rows(&rows, cluster, yq_bulk_insert_open(YQ_DECISION, DECISION_COLUMNS, ROWS_PER_FLUSH, false));
	first = take_numbers(yq_bulk_insert_relation(rows.writer), cluster->decision_count);
	set_value(&rows, DECISION_DECIDED_AT, TimestampTzGetDatum(yq_clock_now()));
	set_value(&rows, DECISION_ADVISED, BoolGetDatum(false));
	set_value(&rows, DECISION_EXECUTION_TYPE, ObjectIdGetDatum(yq_enum_oid("execution_type", "GUARANTEED")));
	for (int i = 0; i < cluster->decision_count; i++)
	{
		set_value(&rows, DECISION_ID, Int64GetDatum(first + (places[i].decision - cluster->decisions)));
		put_decision_row(&rows, places[i].decision, fill_decision_row);
	}
	close_rows(&rows);
	CommandCounterIncrement();
}

void
yq_record_containers(const YqLoadedCluster *loaded)
{
	Place	   *places;

	if (loaded->cluster->decision_count == 0)
		return;
	places = in_order(loaded);
	start_containers(loaded->cluster, places, loaded->cluster->decision_count);
	keep_decisions(loaded->cluster, places);
	pfree(places);
}

void
yq_record_starts(const YqCluster *cluster, int first, int count)
{
	Place	   *places = palloc(sizeof(Place) * Max(count, 1));

	for (int i = 0; i < count; i++)
		places[i] = (Place) {.decision = &cluster->decisions[first + i]};
	start_containers(cluster, places, count);
	pfree(places);
}
