/*-------------------------------------------------------------------------
 *
 * record_opportunistic.c
 *	  Records opportunistic containers that were allocated centrally.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "catalog/pg_type_d.h"
#include "executor/spi.h"
#include "opportunistic/record_opportunistic.h"
#include "scheduler/load/loaded_cluster.h"
#include "scheduler/record/container_number.h"
#include "scheduler/record/record_containers.h"
#include "scheduler/record/refusal.h"
#include "scheduler/record/scheduler_journal.h"
#include "scheduler/request/container_request.h"
#include "store/catalog.h"
#include "store/clock.h"
#include "store/saved_plan.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

/* -- arrays of values ----------------------------------------------------------- */

/* Element types of the arrays that are passed to a statement.  All arrays of a call have the same length. */
typedef enum Element
{
	ELEMENT_TEXT,
	ELEMENT_INT4,
	ELEMENT_INT8,
	ELEMENT_INTERVAL,
	ELEMENT_RESOURCE
} Element;

static Datum
make_array(Element element, Datum *values, int count)
{
	switch (element)
	{
		case ELEMENT_TEXT:
			return PointerGetDatum(construct_array(values, count, TEXTOID, -1, false, TYPALIGN_INT));
		case ELEMENT_INT4:
			return PointerGetDatum(construct_array(values, count, INT4OID, sizeof(int32), true, TYPALIGN_INT));
		case ELEMENT_INT8:
			return PointerGetDatum(construct_array(values, count, INT8OID, sizeof(int64), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE));
		case ELEMENT_INTERVAL:
			return PointerGetDatum(construct_array(values, count, INTERVALOID, sizeof(Interval), false, TYPALIGN_DOUBLE));
		case ELEMENT_RESOURCE:
			break;
	}
	return PointerGetDatum(construct_array(values, count, yq_type_oid("resource"), -1, false, TYPALIGN_INT));
}

/* -- containers ------------------------------------------------------------------ */

static Datum *
make_ids(YqOpportunisticApplication *application, int count)
{
	const char *application_id = application->requester.application->application_id;
	int64	   *numbers = palloc(sizeof(int64) * count);
	Datum	   *ids = palloc(sizeof(Datum) * count);

	application->next_container = yq_container_numbers_take(application_id, application->attempt,
															application->next_container, numbers, count);
	for (int i = 0; i < count; i++)
		ids[i] = PointerGetDatum(yq_container_id(application_id, application->attempt, numbers[i]));
	pfree(numbers);
	return ids;
}

/* The containers that a call allocates, and the data to be written about them. */
typedef struct Given
{
	const YqOpportunisticApplication *application;
	YqOutstandingRequests *requests;
	YqOpportunisticContainers *containers;
	Datum	   *ids;
	Datum	   *allocations;
	bool	   *is_refused;
} Given;

/* Write the events that start containers, like record_containers.c, but with is_running = false. */
static void
start(void *argument, int first, int count)
{
	const Given *given = argument;
	const YqOpportunisticApplication *application = given->application;
	static YqSavedPlan write = {
		.command = "WITH given AS MATERIALIZED (SELECT u.* FROM unnest($1, $2, $3, $4, $5, $6, $7) WITH ORDINALITY "
		"AS u (container_id, node, allocation, locality, priority, allocation_request_id, label, place)), "
		"started AS (INSERT INTO yquota.container_event (event, container_id, occurred_at, project, application_id, username, "
		"queue, node, allocation, execution_type, source, priority, allocation_request_id, asked_label, is_am, is_running) "
		"SELECT 'CONTAINER_START', g.container_id, $8, $9, $10, $11, $12, g.node, g.allocation, 'OPPORTUNISTIC', 'scheduler', "
		"g.priority, g.allocation_request_id, g.label, false, false FROM given AS g ORDER BY g.place) "
		"INSERT INTO yquota.decision (decision, container_id, application_id, queue, node, allocation, locality, priority, "
		"allocation_request_id, decided_at, execution_type) "
		"SELECT 'allocated', g.container_id, $10, $12, g.node, g.allocation, g.locality, g.priority, g.allocation_request_id, "
		"$8, 'OPPORTUNISTIC' FROM given AS g ORDER BY g.place",
		.types = {"_text", "_text", "yquota._resource", "_text", "_int4", "_int8", "_text",
		"timestamptz", "text", "text", "text", "text"},
		.plans_once = true
	};
	Datum	   *columns[5];
	Datum		values[12];

	for (int i = 0; i < (int) lengthof(columns); i++)
		columns[i] = palloc(sizeof(Datum) * count);
	for (int i = 0; i < count; i++)
	{
		const YqOpportunisticContainer *container = &given->containers->containers[first + i];
		const YqOutstandingRequest *request = &given->requests->requests[container->request];

		columns[0][i] = CStringGetTextDatum(container->node);
		columns[1][i] = CStringGetTextDatum(yq_locality_name(container->locality));
		columns[2][i] = Int32GetDatum(request->priority);
		columns[3][i] = Int64GetDatum(request->allocation_request_id);
		columns[4][i] = CStringGetTextDatum(request->label);
	}
	values[0] = make_array(ELEMENT_TEXT, given->ids + first, count);
	values[1] = make_array(ELEMENT_TEXT, columns[0], count);
	values[2] = make_array(ELEMENT_RESOURCE, given->allocations + first, count);
	values[3] = make_array(ELEMENT_TEXT, columns[1], count);
	values[4] = make_array(ELEMENT_INT4, columns[2], count);
	values[5] = make_array(ELEMENT_INT8, columns[3], count);
	values[6] = make_array(ELEMENT_TEXT, columns[4], count);
	values[7] = TimestampTzGetDatum(yq_clock_now());
	values[8] = CStringGetTextDatum(application->project);
	values[9] = CStringGetTextDatum(application->requester.application->application_id);
	values[10] = CStringGetTextDatum(application->requester.application->username);
	values[11] = CStringGetTextDatum(application->requester.queue->path);
	(void) yq_saved_plan_execute(&write, values, NULL);
}

/* Refuse a container, and add it again to the number that its request wants. */
static void
refuse(void *argument, int subject, const ErrorData *error)
{
	Given	   *given = argument;

	given->is_refused[subject] = true;
	given->requests->requests[given->containers->containers[subject].request].count++;
	(void) yq_refusal_note(YQ_ROUND_OPPORTUNISTIC, given->application->requester.application->application_id, error);
}

static void
leave_out_refused(Given *given)
{
	int			count = 0;

	for (int i = 0; i < given->containers->count; i++)
	{
		if (given->is_refused[i])
			continue;
		given->containers->containers[count] = given->containers->containers[i];
		given->ids[count] = given->ids[i];
		given->allocations[count++] = given->allocations[i];
	}
	given->containers->count = count;
}

static void
start_all(Given *given)
{
	const YqRound round = {.count = given->containers->count,.work = start,.refuse = refuse,.argument = given};

	given->is_refused = palloc0(sizeof(bool) * given->containers->count);
	yq_round_run(&round);
	leave_out_refused(given);
}

/* Store the expected durations of containers.  The queues of the nodes read them when the containers arrive. */
static void
note_durations(const YqOutstandingRequests *requests, const YqOpportunisticContainers *containers, const Datum *ids)
{
	static YqSavedPlan insert = {
		.command = "INSERT INTO yquota_internal.expected_duration AS e (container_id, expected_duration) "
		"SELECT u.container_id, u.expected_duration FROM unnest($1, $2) AS u (container_id, expected_duration)",
		.types = {"_text", "_interval"},
		.plans_once = true
	};
	Datum	   *known = palloc(sizeof(Datum) * containers->count);
	Datum	   *durations = palloc(sizeof(Datum) * containers->count);
	Datum		values[2];
	int			count = 0;

	for (int i = 0; i < containers->count; i++)
	{
		int64		duration = requests->requests[containers->containers[i].request].expected_duration;

		if (duration == 0)
			continue;
		known[count] = ids[i];
		durations[count++] = yq_expected_duration_interval(duration);
	}
	if (count == 0)
		return;
	values[0] = make_array(ELEMENT_TEXT, known, count);
	values[1] = make_array(ELEMENT_INTERVAL, durations, count);
	(void) yq_saved_plan_execute(&insert, values, NULL);
}

/* -- requests --------------------------------------------------------------------- */

/*
 * Rows of resource_request and the number of containers to subtract from each.  A row
 * is identified by the key and the name of the request.
 */
typedef struct Served
{
	int			count;
	Datum	   *priorities;
	Datum	   *ids;
	Datum	   *names;
	Datum	   *taken;
} Served;

static Served
make_served(int room)
{
	Size		size = sizeof(Datum) * Max(room, 1);

	return (Served) {0, palloc(size), palloc(size), palloc(size), palloc(size)};
}

static void
add_served(Served *served, const YqOutstandingRequest *request, const char *name, int taken)
{
	served->priorities[served->count] = Int32GetDatum(request->priority);
	served->ids[served->count] = Int64GetDatum(request->allocation_request_id);
	served->names[served->count] = CStringGetTextDatum(name);
	served->taken[served->count++] = Int32GetDatum(taken);
}

/*
 * Sum up containers with the same request and place; they follow each other.  A request
 * that wants no more containers goes to "ended", and all its rows will be deleted.  For
 * any other request, each container is subtracted from the row for any node and from
 * the row for its place.
 */
static void
sum_up(const YqOutstandingRequests *requests, const YqOpportunisticContainers *containers,
	   Served *ended, Served *reduced)
{
	int			first = 0;

	for (int i = 1; i <= containers->count; i++)
	{
		const YqOpportunisticContainer *run = &containers->containers[first];
		const YqOutstandingRequest *request = &requests->requests[run->request];

		if (i < containers->count && run->request == containers->containers[i].request && run->place == containers->containers[i].place)
			continue;
		add_served(request->count == 0 ? ended : reduced, request, "*", i - first);
		if (request->count > 0 && run->place != NULL)
			add_served(reduced, request, run->place, i - first);
		first = i;
	}
}

static void
count_containers(const YqOutstandingRequests *requests, const YqOpportunisticContainers *containers)
{
	YqOpportunisticCount count = {.central = containers->count};
	int64		by_locality[YQ_OFF_SWITCH + 1] = {0};
	TimestampTz now = yq_clock_now();

	for (int i = 0; i < containers->count; i++)
	{
		const YqOpportunisticContainer *container = &containers->containers[i];

		by_locality[container->locality]++;
		yq_opportunistic_count_latency(&count, now - requests->requests[container->request].first_seen_at, 1);
	}
	count.node_local = by_locality[YQ_NODE_LOCAL];
	count.rack_local = by_locality[YQ_RACK_LOCAL];
	count.off_switch = by_locality[YQ_OFF_SWITCH];
	yq_opportunistic_count_write(&count);
}

static void
end_requests(Datum application_id, const Served *ended)
{
	static YqSavedPlan drop = {
		.command = "DELETE FROM yquota.resource_request AS r "
		"USING (SELECT DISTINCT u.priority, u.allocation_request_id FROM unnest($2, $3) AS u (priority, allocation_request_id)) AS s "
		"WHERE r.application_id = $1 AND r.execution_type = 'OPPORTUNISTIC' AND r.priority = s.priority "
		"AND r.allocation_request_id = s.allocation_request_id",
		.types = {"text", "_int4", "_int8"},
		.plans_once = true
	};
	Datum		values[] = {
		application_id,
		make_array(ELEMENT_INT4, ended->priorities, ended->count),
		make_array(ELEMENT_INT8, ended->ids, ended->count)
	};

	if (ended->count > 0)
		(void) yq_saved_plan_execute(&drop, values, NULL);
}

/*
 * Subtract containers from rows of resource_request.  A row in which no container is
 * wanted any more is deleted.
 */
static void
reduce_requests(Datum application_id, const Served *reduced)
{
	static YqSavedPlan reduce = {
		.command = "WITH s AS MATERIALIZED (SELECT u.priority, u.allocation_request_id, u.resource_name, sum(u.taken)::integer AS taken "
		"FROM unnest($2, $3, $4, $5) AS u (priority, allocation_request_id, resource_name, taken) GROUP BY 1, 2, 3), "
		"gone AS (DELETE FROM yquota.resource_request AS r USING s "
		"WHERE r.application_id = $1 AND r.execution_type = 'OPPORTUNISTIC' AND r.priority = s.priority "
		"AND r.allocation_request_id = s.allocation_request_id AND r.resource_name = s.resource_name AND r.count = s.taken) "
		"UPDATE yquota.resource_request AS r SET count = r.count - s.taken FROM s "
		"WHERE r.application_id = $1 AND r.execution_type = 'OPPORTUNISTIC' AND r.priority = s.priority "
		"AND r.allocation_request_id = s.allocation_request_id AND r.resource_name = s.resource_name AND r.count > s.taken",
		.types = {"text", "_int4", "_int8", "_text", "_int4"},
		.plans_once = true
	};
	Datum		values[] = {
		application_id,
		make_array(ELEMENT_INT4, reduced->priorities, reduced->count),
		make_array(ELEMENT_INT8, reduced->ids, reduced->count),
		make_array(ELEMENT_TEXT, reduced->names, reduced->count),
		make_array(ELEMENT_INT4, reduced->taken, reduced->count)
	};

	if (reduced->count > 0)
		(void) yq_saved_plan_execute(&reduce, values, NULL);
}

static void
write_attempt(const YqOpportunisticApplication *application)
{
	static YqSavedPlan write = {
		.command = "INSERT INTO yquota_internal.application_attempt AS t (application_id, attempt, next_container) "
		"VALUES ($1, $2, $3) ON CONFLICT (application_id) DO UPDATE SET next_container = excluded.next_container",
		.types = {"text", "int4", "int8"}
	};
	Datum		values[] = {
		CStringGetTextDatum(application->requester.application->application_id),
		Int32GetDatum(application->attempt),
		Int64GetDatum(application->next_container)
	};

	(void) yq_saved_plan_execute(&write, values, NULL);
}

Datum *
yq_record_opportunistic(YqOpportunisticApplication *application, YqOutstandingRequests *requests,
						YqOpportunisticContainers *containers, Datum *allocations)
{
	Datum		application_id;
	Served		ended;
	Served		reduced;
	Given		given = {.application = application,.requests = requests,.containers = containers,.allocations = allocations};

	if (containers->count == 0)
		return NULL;
	application_id = CStringGetTextDatum(application->requester.application->application_id);
	ended = make_served(containers->count);
	reduced = make_served(2 * containers->count);
	yq_scheduler_lock_events();
	given.ids = make_ids(application, containers->count);
	start_all(&given);
	sum_up(requests, containers, &ended, &reduced);
	note_durations(requests, containers, given.ids);
	yq_scheduler_journal_begin_own();
	count_containers(requests, containers);
	end_requests(application_id, &ended);
	reduce_requests(application_id, &reduced);
	write_attempt(application);
	yq_scheduler_journal_end_own();
	/*
	 * invalidate the clusters that other sessions keep, because they contain an old number
	 * of the next container
	 */
	yq_scheduler_journal_applications(list_make1(unconstify(char *, application->requester.application->application_id)));
	return given.ids;
}

/* -- replies ------------------------------------------------------------------------ */

bool
yq_record_opportunistic_is_last(const char *application_id, int32 response_id)
{
	static YqSavedPlan look_up = {
		.command = "SELECT FROM yquota_internal.opportunistic_response AS r WHERE r.application_id = $1 AND r.response_id = $2",
		.types = {"text", "int4"}
	};
	Datum		values[] = {CStringGetTextDatum(application_id), Int32GetDatum(response_id)};

	return yq_saved_plan_execute(&look_up, values, NULL) > 0;
}

Datum
yq_record_opportunistic_last(const char *application_id)
{
	static YqSavedPlan look_up = {
		.command = "SELECT r.attempt, r.first_container, r.end_container "
		"FROM yquota_internal.opportunistic_response AS r WHERE r.application_id = $1",
		.types = {"text"}
	};
	Datum		values[] = {CStringGetTextDatum(application_id)};
	int32		attempt = 1;
	int64		first = 0;
	int64		end = 0;
	Datum	   *ids;
	bool		isnull;

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	if (yq_saved_plan_run(&look_up, values, NULL) > 0)
	{
		attempt = DatumGetInt32(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &isnull));
		first = DatumGetInt64(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 2, &isnull));
		end = DatumGetInt64(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 3, &isnull));
	}
	SPI_finish();
	ids = palloc(sizeof(Datum) * Max(end - first, 1));
	for (int64 number = first; number < end; number++)
		ids[number - first] = PointerGetDatum(yq_container_id(application_id, attempt, number));
	return make_array(ELEMENT_TEXT, ids, (int) (end - first));
}

void
yq_record_opportunistic_response(const YqOpportunisticApplication *application, int32 response_id, int64 first_container)
{
	static YqSavedPlan write = {
		.command = "INSERT INTO yquota_internal.opportunistic_response (application_id, response_id, attempt, first_container, end_container) "
		"VALUES ($1, $2, $3, $4, $5) ON CONFLICT (application_id) DO UPDATE SET response_id = excluded.response_id, "
		"attempt = excluded.attempt, first_container = excluded.first_container, end_container = excluded.end_container",
		.types = {"text", "int4", "int4", "int8", "int8"}
	};
	Datum		values[] = {
		CStringGetTextDatum(application->requester.application->application_id),
		Int32GetDatum(response_id),
		Int32GetDatum(application->attempt),
		Int64GetDatum(first_container),
		Int64GetDatum(application->next_container)
	};

	(void) yq_saved_plan_execute(&write, values, NULL);
}
