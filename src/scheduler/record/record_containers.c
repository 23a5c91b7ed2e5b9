/*-------------------------------------------------------------------------
 *
 * record_containers.c
 *	  Recording decisions of an allocation cycle: events and rows of
 *	  yquota.decision.
 *
 * There may be hundreds of thousands at once: rows go into the tables directly.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "access/xact.h"
#include "commands/sequence.h"
#include "miscadmin.h"
#include "queues/hierarchy.h"
#include "scheduler/load/promotable_containers.h"
#include "scheduler/record/record_containers.h"
#include "store/bulk_insert.h"
#include "store/clock.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

/* Rows collected before they are written. */
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

/* How far from the request the container may be; where anywhere will do, no other request matters. */
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

/* Columns of container_event, in table order. */
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

/* Columns of decision, in table order. */
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

/* Where rows of a table go, and the next one. */
typedef struct Rows
{
	YqBulkInsert   *writer;
	const YqHierarchy *hierarchy;
	Oid			sequence;		/* of the numbers of events */
	MemoryContext context;		/* of the values of a row; reset with the next */
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

/* Write the row that "fill" makes of a decision. */
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

/* A decision among those that are written. */
typedef struct Place
{
	const YqDecision *decision;
	int			application;	/* place of its application among all, by id */
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
 * Decisions in the order of container ids, unless numbers of containers have come to
 * seven digits.  In that order events are settled, and the indexes on their
 * ids, the widest there are, are written page after page.
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

/* Take consecutive unused numbers; returns the first one. */
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
