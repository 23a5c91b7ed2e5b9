/*-------------------------------------------------------------------------
 *
 * preempted_containers.c
 *	  Preempted containers, including those that their applications have not fetched.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "access/htup_details.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "queues/text.h"
#include "scheduler/record/preempted_containers.h"
#include "scheduler/record/record_applications.h"
#include "scheduler/record/refusal.h"
#include "scheduler/record/scheduler_journal.h"
#include "store/bulk_insert.h"
#include "store/catalog.h"
#include "store/saved_plan.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

/* -- preempted containers ------------------------------------------------------ */

/* Number of rows that are collected, and then written together. */
#define ROWS_PER_FLUSH 1000

/* Columns of preempted_container, in the order of the table. */
enum
{
	ROW_CONTAINER_ID,
	ROW_PROJECT,
	ROW_APPLICATION_ID,
	ROW_USERNAME,
	ROW_QUEUE,
	ROW_NODE,
	ROW_LABEL,
	ROW_ALLOCATION,
	ROW_KILLED_AT,
	ROW_IS_ADVISED,
	ROW_MARKED_AT,
	ROW_SELECTOR,
	ROW_USED,					/* first of the amounts of a reason, in the order of YqPreemptionReason */
	ROW_GUARANTEED,
	ROW_IDEAL,
	ROW_TO_BE_PREEMPTED,
	ROW_ACTUALLY_TO_BE_PREEMPTED,
	ROW_NEEDED_BY_APPLICATION,
	ROW_NEEDED_BY_QUEUE,
	ROW_COLUMNS
};

YqPreemptedContainers
yq_preempted_containers_make(int room)
{
	Size		size = Max(room, 1) * sizeof(char *);

	return (YqPreemptedContainers) {.container_ids = palloc(size),.application_ids = palloc(size),.queues = palloc(size),
		.queue_names = palloc(size),.allocations = palloc(Max(room, 1) * sizeof(Datum))};
}

/* -- statements ------------------------------------------------------------------------ */

/*
 * Beginning of a statement about containers ($1 to $5) that have not changed since the caller read
 * them.  "running" locks these containers, and contains them with their positions in the caller's
 * columns.  "arrays" are further arrays, and "columns" are their names; both lists begin with a
 * comma.
 */
#define RUNNING_WITH(arrays, columns) \
	"WITH wanted AS MATERIALIZED (SELECT w.* FROM unnest($1, $2, $3, $4, $5" arrays ") WITH ORDINALITY " \
	"AS w (container_id, application_id, queue, queue_name, allocation" columns ", place)), " \
	"running AS MATERIALIZED (SELECT w.place, c.container_id, c.project, c.application_id, c.username, w.queue, " \
	"COALESCE(c.node, '') AS node, COALESCE(c.label, '') AS label, c.allocation, c.priority, c.allocation_request_id, c.settled_at" \
	columns " FROM wanted AS w JOIN yquota.container AS c ON c.container_id = w.container_id " \
	"AND c.application_id = w.application_id AND c.queue IN (w.queue, w.queue_name) " \
	"AND c.allocation OPERATOR(yquota.<@) w.allocation AND c.execution_type = 'GUARANTEED' " \
	"ORDER BY c.container_id FOR UPDATE OF c SKIP LOCKED) "
#define RUNNING RUNNING_WITH("", "")

#define TYPES "_text", "_text", "_text", "_text", "yquota._resource", "timestamptz"

/*
 * End of a statement.  It returns positions, and the first columns of new rows of
 * preempted_container, which replace earlier rows.
 */
#define RETURN_ROWS(advised, noted) \
	", replaced AS (DELETE FROM yquota.preempted_container AS p USING running AS r WHERE p.container_id = r.container_id) " \
	"SELECT r.place, r.container_id, r.project, r.application_id, r.username, r.queue, r.node, r.label, r.allocation, " \
	"$6, " advised noted " FROM running AS r"

/* Further columns for RETURN_ROWS(): the reasons stored with the marks. */
#define NOTED_REASONS \
	", m.marked_at, m.told_selector, m.used, m.guaranteed, m.ideal, m.to_be_preempted, m.actually_to_be_preempted"
#define WITH_MARKS " LEFT JOIN yquota_internal.preemption_mark AS m ON m.container_id = r.container_id"

/* Beginning of a statement that ends containers with ContainerExitStatus.PREEMPTED. */
#define END_RUNNING \
	RUNNING \
	", ended AS (INSERT INTO yquota.container_event (event, container_id, occurred_at, exit_status, source) " \
	"SELECT 'CONTAINER_FINISH', r.container_id, greatest(yquota.clock(), r.settled_at), -102, 'scheduler' FROM running AS r) " \
	YQ_PREEMPTED_TELL("killed", "false") \
	", forgotten AS (DELETE FROM yquota_internal.preemption_mark AS m USING running AS r WHERE m.container_id = r.container_id) "

static Datum
array_of_resources(Datum *resources, int count)
{
	return PointerGetDatum(construct_array(resources, count, yq_type_oid("resource"), -1, false, TYPALIGN_INT));
}

/* Set the values of a statement that begins with RUNNING. */
static void
set_values(const YqPreemptedContainers *containers, Datum now, Datum *values)
{
	values[0] = yq_array_of_names(containers->container_ids, containers->count);
	values[1] = yq_array_of_names(containers->application_ids, containers->count);
	values[2] = yq_array_of_names(containers->queues, containers->count);
	values[3] = yq_array_of_names(containers->queue_names, containers->count);
	values[4] = array_of_resources(containers->allocations, containers->count);
	values[5] = now;
}

/* Run a statement.  Returns the number of rows in SPI; their first column is the position. */
static uint64
connect_and_run(YqSavedPlan *statement, Datum *values)
{
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	return yq_saved_plan_run(statement, values, NULL);
}

/* Return the position of a row's container, counting from 0. */
static int64
place_of(uint64 row)
{
	bool		isnull;

	return DatumGetInt64(SPI_getbinval(SPI_tuptable->vals[row], SPI_tuptable->tupdesc, 1, &isnull)) - 1;
}

bool *
yq_preempted_containers_run(int count, YqSavedPlan *statement, Datum *values)
{
	bool	   *result = palloc0(Max(count, 1) * sizeof(bool));
	uint64		rows;

	if (count == 0)
		return result;
	rows = connect_and_run(statement, values);
	for (uint64 i = 0; i < rows; i++)
	{
		CHECK_FOR_INTERRUPTS();
		result[place_of(i)] = true;
	}
	SPI_finish();
	return result;
}

/* -- rows of preempted_container --------------------------------------------------------- */

static void
set_text(Datum *values, bool *nulls, int column, const char *value)
{
	values[column] = CStringGetTextDatum(value);
	nulls[column] = false;
}

static void
set_reason(Datum *values, bool *nulls, const YqPreemptionReason *reason, TimestampTz marked_at)
{
	values[ROW_MARKED_AT] = TimestampTzGetDatum(marked_at);
	nulls[ROW_MARKED_AT] = false;
	set_text(values, nulls, ROW_SELECTOR, reason->selector);
	for (int i = 0; i < YQ_PREEMPTION_REASON_FIGURES; i++)
	{
		values[ROW_USED + i] = reason->figures[i];
		nulls[ROW_USED + i] = false;
	}
}

/* Write a row of preempted_container from a row of the statement's result. */
static void
write_row(YqBulkInsert *writer, const YqPreemptedContainers *containers, uint64 row)
{
	Datum		result[1 + ROW_COLUMNS];	/* includes the position */
	bool		result_nulls[1 + ROW_COLUMNS];
	Datum	   *values = result + 1;
	bool	   *nulls = result_nulls + 1;
	int64		place = place_of(row);

	memset(result_nulls, true, sizeof(result_nulls));
	heap_deform_tuple(SPI_tuptable->vals[row], SPI_tuptable->tupdesc, result, result_nulls);
	if (containers->reasons != NULL)
		set_reason(values, nulls, containers->reasons[place], containers->marked_at[place]);
	if (containers->needed_by_applications != NULL)
	{
		set_text(values, nulls, ROW_NEEDED_BY_APPLICATION, containers->needed_by_applications[place]);
		set_text(values, nulls, ROW_NEEDED_BY_QUEUE, containers->needed_by_queues[place]);
	}
	yq_bulk_insert_put(writer, values, nulls);
}

/* A statement about containers, and which containers it has found. */
typedef struct Running
{
	const YqPreemptedContainers *containers;
	YqSavedPlan *statement;
	Datum		now;
	bool	   *result;
} Running;

/* Return a part of the containers, as columns. */
static YqPreemptedContainers
part_of(const YqPreemptedContainers *containers, int first, int count)
{
	YqPreemptedContainers part = *containers;

	part.count = count;
	part.container_ids += first;
	part.application_ids += first;
	part.queues += first;
	part.queue_names += first;
	part.allocations += first;
	if (part.reasons != NULL)
	{
		part.reasons += first;
		part.marked_at += first;
	}
	if (part.needed_by_applications != NULL)
	{
		part.needed_by_applications += first;
		part.needed_by_queues += first;
	}
	return part;
}

static void
run_and_write_part(void *argument, int first, int count)
{
	const Running *running = argument;
	YqPreemptedContainers part = part_of(running->containers, first, count);
	bool	   *result = running->result + first;
	Datum		values[6];
	YqBulkInsert *writer;
	uint64		rows;

	memset(result, false, count * sizeof(bool));
	set_values(&part, running->now, values);
	rows = connect_and_run(running->statement, values);
	writer = yq_bulk_insert_open(YQ_PREEMPTED_CONTAINER, ROW_COLUMNS, ROWS_PER_FLUSH, false);
	for (uint64 i = 0; i < rows; i++)
	{
		CHECK_FOR_INTERRUPTS();
		result[place_of(i)] = true;
		write_row(writer, &part, i);
	}
	yq_bulk_insert_close(writer);
	SPI_finish();
}

static void
refuse(void *argument, int subject, const ErrorData *error)
{
	const Running *running = argument;

	running->result[subject] = false;
	(void) yq_refusal_note(running->containers->round, running->containers->container_ids[subject], error);
}

static bool *
run_and_write(const YqPreemptedContainers *containers, YqSavedPlan *statement, Datum now)
{
	Running		running = {containers, statement, now, palloc0(Max(containers->count, 1) * sizeof(bool))};
	const YqRound round = {.count = containers->count,.work = run_and_write_part,.refuse = refuse,.argument = &running};

	if (containers->count == 0)
		return running.result;
	if (containers->round == NULL)
		run_and_write_part(&running, 0, containers->count);
	else
		yq_round_run(&round);
	return running.result;
}

/* -- actions on containers ---------------------------------------------------------------- */

bool *
yq_preempted_containers_claim(const YqPreemptedContainers *containers)
{
	static YqSavedPlan claim = {
		.command = RUNNING
		"SELECT r.place FROM running AS r JOIN wanted AS w ON w.place = r.place "
		"WHERE w.allocation OPERATOR(yquota.<@) r.allocation",
		.types = {TYPES},
		.plans_once = true
	};
	Datum		values[6];

	set_values(containers, (Datum) 0, values);
	return yq_preempted_containers_run(containers->count, &claim, values);
}

bool *
yq_preempted_containers_end(const YqPreemptedContainers *containers, Datum now)
{
	static YqSavedPlan end = {
		.command = END_RUNNING RETURN_ROWS("false", ""),
		.types = {TYPES},
		.plans_once = true
	};
	static YqSavedPlan end_killable = {
		.command = END_RUNNING RETURN_ROWS("false", NOTED_REASONS) WITH_MARKS,
		.types = {TYPES},
		.plans_once = true
	};

	return run_and_write(containers, containers->reasons != NULL ? &end : &end_killable, now);
}

bool *
yq_preempted_containers_advise(const YqPreemptedContainers *containers, Datum now)
{
	static YqSavedPlan advise = {
		.command = RUNNING YQ_PREEMPTED_TELL("killed", "true")
		", noted AS (UPDATE yquota_internal.preemption_mark AS m SET is_advised = true, told_at = $6 FROM running AS r "
		"WHERE m.container_id = r.container_id) "
		RETURN_ROWS("true", ""),
		.types = {TYPES},
		.plans_once = true
	};

	return run_and_write(containers, &advise, now);
}

bool *
yq_preempted_containers_make_killable(const YqPreemptedContainers *containers, Datum now)
{
	static YqSavedPlan make = {
		.command = RUNNING_WITH(", $7, $8, $9, $10, $11, $12",
								", selector, used, guaranteed, ideal, to_be_preempted, actually_to_be_preempted")
		YQ_PREEMPTED_TELL("killable", "false")
		", noted AS (UPDATE yquota_internal.preemption_mark AS m SET is_killable = true, told_at = $6, told_selector = r.selector, "
		"used = r.used, guaranteed = r.guaranteed, ideal = r.ideal, to_be_preempted = r.to_be_preempted, "
		"actually_to_be_preempted = r.actually_to_be_preempted FROM running AS r WHERE m.container_id = r.container_id) "
		"SELECT r.place FROM running AS r",
		.types = {TYPES, "_text", "yquota._resource", "yquota._resource", "yquota._resource", "yquota._resource", "yquota._resource"},
		.plans_once = true
	};
	int			count = containers->count;
	const char **selectors = palloc(Max(count, 1) * sizeof(char *));
	Datum	   *figures = palloc(Max(count, 1) * sizeof(Datum));
	Datum		values[7 + YQ_PREEMPTION_REASON_FIGURES];

	set_values(containers, now, values);
	for (int i = 0; i < count; i++)
		selectors[i] = containers->reasons[i]->selector;
	values[6] = yq_array_of_names(selectors, count);
	for (int figure = 0; figure < YQ_PREEMPTION_REASON_FIGURES; figure++)
	{
		for (int i = 0; i < count; i++)
			figures[i] = containers->reasons[i]->figures[figure];
		values[7 + figure] = array_of_resources(figures, count);
	}
	return yq_preempted_containers_run(count, &make, values);
}

/* -- unfetched containers ------------------------------------------------------ */

/* Requests again the containers that were preempted before their applications fetched them. */

YqUnfetchedContainer *
yq_unfetched_containers_find(const YqPreemptedContainers *containers)
{
	static YqSavedPlan look_up = {
		.command = "SELECT w.place, CASE WHEN NOT c.is_am THEN c.asked_label END "
		"FROM unnest($1) WITH ORDINALITY AS w (container_id, place) JOIN yquota.container AS c ON c.container_id = w.container_id "
		"WHERE EXISTS (SELECT FROM yquota.decision AS d WHERE d.container_id = w.container_id "
		"AND d.decision IN ('allocated', 'swapped'))",
		.types = {"_text"},
		.plans_once = true
	};
	YqUnfetchedContainer *unfetched = palloc0(Max(containers->count, 1) * sizeof(YqUnfetchedContainer));
	MemoryContext caller = CurrentMemoryContext;
	Datum		values[] = {yq_array_of_names(containers->container_ids, containers->count)};
	uint64		count;

	if (containers->count == 0)
		return NULL;
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	count = yq_saved_plan_run(&look_up, values, NULL);
	for (uint64 i = 0; i < count; i++)
	{
		bool		isnull;
		int64		at = DatumGetInt64(SPI_getbinval(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, 1, &isnull)) - 1;
		Datum		label = SPI_getbinval(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, 2, &isnull);
		MemoryContext spi_context = MemoryContextSwitchTo(caller);

		CHECK_FOR_INTERRUPTS();
		unfetched[at] = (YqUnfetchedContainer) {true, isnull ? NULL : TextDatumGetCString(label)};
		MemoryContextSwitchTo(spi_context);
	}
	SPI_finish();
	return count == 0 ? NULL : unfetched;
}

/*
 * Request the containers again.  A container counts as fetched if another transaction is
 * acknowledging its decision.
 */
static List *
ask_again(Datum ids, Datum asked, Datum labels)
{
	static YqSavedPlan put_back = {
		.command = "WITH due AS MATERIALIZED (SELECT d.* FROM yquota.decision AS d "
		"WHERE d.container_id = ANY ($1) AND d.decision IN ('allocated', 'swapped') ORDER BY d.decision_id FOR UPDATE SKIP LOCKED), "
		"forgotten AS (DELETE FROM yquota.decision AS d USING due WHERE d.decision_id = due.decision_id), "
		"asked AS (SELECT due.application_id, due.priority, due.allocation_request_id, r.resource_name, count(*) AS count, "
		"(array_agg(due.allocation))[1] AS allocation, bool_and(r.relax_locality) AS relax_locality, min(r.label) AS label "
		"FROM due JOIN yquota.application AS a ON a.application_id = due.application_id AND a.state IN ('ACTIVE', 'ACCEPTED') "
		"JOIN unnest($2, $3) AS e (container_id, asked_label) ON e.container_id = due.container_id "
		"LEFT JOIN yquota.node AS n ON n.name = due.node "
		"CROSS JOIN LATERAL (VALUES ('*', true, COALESCE(due.farthest, 'OFF_SWITCH') = 'OFF_SWITCH', e.asked_label), "
		"(n.rack, due.locality <> 'OFF_SWITCH', COALESCE(due.farthest, 'OFF_SWITCH') <> 'NODE_LOCAL', NULL), "
		"(due.node, due.locality = 'NODE_LOCAL', true, NULL)) AS r (resource_name, is_served, relax_locality, label) "
		"WHERE r.is_served AND r.resource_name IS NOT NULL GROUP BY 1, 2, 3, 4), "
		"put_back AS (INSERT INTO yquota.resource_request AS r (application_id, priority, allocation_request_id, resource_name, "
		"count, allocation, relax_locality, label, execution_type) "
		"SELECT a.application_id, a.priority, a.allocation_request_id, a.resource_name, a.count, a.allocation, a.relax_locality, "
		"a.label, 'GUARANTEED' FROM asked AS a "
		"ON CONFLICT (application_id, priority, allocation_request_id, execution_type, resource_name) DO UPDATE SET count = least(r.count::bigint + excluded.count, 2147483647) "
		"RETURNING r.application_id) "
		"SELECT DISTINCT p.application_id FROM put_back AS p",
		.types = {"_text", "_text", "_text"},
		.plans_once = true
	};
	Datum		values[] = {ids, asked, labels};

	return yq_saved_plan_strings(&put_back, values);
}

bool
yq_unfetched_containers_put_back(const YqPreemptedContainers *containers, const YqUnfetchedContainer *unfetched,
								 const bool *is_ended)
{
	Size		size = Max(containers->count, 1) * sizeof(char *);
	const char **ids = palloc(size);
	const char **asked = palloc(size);
	const char **labels = palloc(size);
	int			count = 0;
	int			asked_count = 0;
	List	   *applications;
	ListCell   *cell;

	for (int i = 0; unfetched != NULL && i < containers->count; i++)
	{
		if (!unfetched[i].is_unfetched || !is_ended[i])
			continue;
		ids[count++] = containers->container_ids[i];
		if (unfetched[i].asked_label == NULL)
			continue;
		asked[asked_count] = containers->container_ids[i];
		labels[asked_count++] = unfetched[i].asked_label;
	}
	if (count == 0)
		return false;
	applications = ask_again(yq_array_of_names(ids, count), yq_array_of_names(asked, asked_count),
							 yq_array_of_names(labels, asked_count));
	yq_scheduler_journal_applications(applications);
	foreach(cell, applications)
	{
		CHECK_FOR_INTERRUPTS();
		(void) yq_application_demand_note(lfirst(cell));
	}
	return true;
}
