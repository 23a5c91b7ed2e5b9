/*-------------------------------------------------------------------------
 *
 * load_node_queue.c
 *	  Reads the queue of a node from tables, with its measured use and the ranks for its
 *	  orders.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "access/htup_details.h"
#include "access/xlog.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "opportunistic/node_queue/load_node_queue.h"
#include "queues/allocation_setting.h"
#include "queues/text.h"
#include "scheduler/load/held_subjects.h"
#include "scheduler/request/container_request.h"
#include "store/catalog.h"
#include "store/index_scan.h"
#include "store/saved_plan.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

/* -- load measured use --------------------------------------------------------- */

/* Load the measured use of a node from its last report, and the amounts that were freed since the report. */

/* -- reading ----------------------------------------------------------------- */

static Datum
column(YqIndexScan *scan, TupleTableSlot *slot, const char *name, bool *isnull)
{
	return slot_getattr(slot, yq_column(yq_index_scan_relation(scan), name), isnull);
}

static YqMeasuredAmount
make_amount(const YqResource *measured, const char *name, int64 total, YqOverAllocation thresholds)
{
	return (YqMeasuredAmount)
	{
		.thresholds = thresholds,.total = total,.measured = yq_resource_amount(measured, name, strlen(name))
	};
}

static void
read_report(YqNodeQueue *queue, YqIndexScan *scan, TupleTableSlot *slot)
{
	const YqAllocationSettings *settings = yq_allocation_settings();
	const YqContainerQueueSettings *node = &queue->queue->settings;
	YqMeasuredUse *use = &queue->queue->measured;
	bool		isnull;
	Datum		measured = column(scan, slot, "measured", &isnull);
	const YqResource *resource;

	if (isnull)
		return;
	resource = DatumGetYqResourceP(measured);
	use->reported_at = DatumGetTimestampTz(column(scan, slot, "reported_at", &isnull));
	use->is_told = use->reported_at <= queue->now && queue->now - use->reported_at <= settings->report_max_age;
	use->memory = make_amount(resource, "memory-mb", node->memory, settings->memory_over_allocation);
	use->vcores = make_amount(resource, "vcores", node->vcores, settings->vcores_over_allocation);
}

static void
read_freed(YqMeasuredUse *use, YqIndexScan *scan, TupleTableSlot *slot)
{
	bool		isnull;

	if (DatumGetTimestampTz(column(scan, slot, "reported_at", &isnull)) != use->reported_at)
		return;
	use->memory.freed = DatumGetInt64(column(scan, slot, "freed_memory_mb", &isnull));
	use->vcores.freed = DatumGetInt64(column(scan, slot, "freed_vcores", &isnull));
}

/*
 * Load the measured use into a queue that has no containers yet.  A report is ignored
 * if it is older than scheduler_setting.report_max_age, or if its time lies after the
 * clock.  On a standby, every report is ignored.
 */
static void
load_measured_use(YqNodeQueue *queue)
{
	YqMeasuredUse *use = &queue->queue->measured;
	text	   *node = cstring_to_text(queue->node);
	YqIndexScan *scan;
	TupleTableSlot *slot;

	/* unlogged tables cannot be read on a standby */
	if (RecoveryInProgress())
		return;
	scan = yq_index_scan_open(YQ_NODE_QUEUE_REPORT, "node_queue_report_pkey");
	slot = yq_index_scan_find(scan, node);
	if (slot != NULL)
		read_report(queue, scan, slot);
	yq_index_scan_close(scan);
	if (!yq_measured_has_excess(use))
		return;
	scan = yq_index_scan_open(YQ_NODE_PREEMPTION, "node_preemption_pkey");
	slot = yq_index_scan_find(scan, node);
	if (slot != NULL)
		read_freed(use, scan, slot);
	yq_index_scan_close(scan);
}

/* -- writing ----------------------------------------------------------------- */

void
yq_record_node_preemption(YqNodeQueue *queue)
{
	static YqSavedPlan write = {
		.command = "INSERT INTO yquota_internal.node_preemption AS p (node, reported_at, freed_memory_mb, freed_vcores, containers) "
		"VALUES ($1, $2, $3, $4, $5) ON CONFLICT (node) DO UPDATE SET reported_at = excluded.reported_at, "
		"freed_memory_mb = excluded.freed_memory_mb, freed_vcores = excluded.freed_vcores, containers = p.containers + excluded.containers",
		.types = {"text", "timestamptz", "int8", "int8", "int8"}
	};
	const YqMeasuredUse *use = &queue->queue->measured;
	Datum		values[] = {
		CStringGetTextDatum(queue->node), TimestampTzGetDatum(use->reported_at),
		Int64GetDatum(use->memory.freed), Int64GetDatum(use->vcores.freed), Int64GetDatum(queue->preempted)
	};

	if (!queue->has_freed && queue->preempted == 0)
		return;
	(void) yq_saved_plan_execute(&write, values, NULL);
	queue->has_freed = false;
	queue->preempted = 0;
}

/* -- load node order ----------------------------------------------------------- */

/*
 * Load the ranks by which waiting containers start and running containers are killed.
 *
 * Orders by credits and by progress compare exact decimal numbers.  Statements here
 * turn these numbers into integer ranks.
 */

/* The rows of the containers to be ranked. */
typedef struct Ranking
{
	YqNodeQueue *queue;
	YqNodeQueueRow **rows;
	int			count;
} Ranking;

/*
 * FROM clause of the statements that rank containers.  Each statement returns a
 * container's number (from 1), its rank, and the value that is shown to users, or NULL.
 */
#define OF_CONTAINERS \
	"FROM pg_catalog.unnest($1) WITH ORDINALITY AS q (container_id, number) " \
	"JOIN yquota_internal.ranked_container AS r ON r.container_id = q.container_id"

typedef void (*TakeRank) (Ranking *ranking, YqNodeQueueRow *row, int64 rank, char *shown);

static void
rank_rows(Ranking *ranking, YqSavedPlan *look_up, TakeRank take)
{
	const char **ids = palloc(sizeof(char *) * Max(ranking->count, 1));
	MemoryContext caller = CurrentMemoryContext;
	Datum		values[1];
	uint64		found;

	for (int i = 0; i < ranking->count; i++)
		ids[i] = ranking->rows[i]->container_id;
	values[0] = yq_array_of_names(ids, ranking->count);
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	found = yq_saved_plan_run(look_up, values, NULL);
	MemoryContextSwitchTo(caller);
	for (uint64 i = 0; i < found; i++)
	{
		HeapTuple	tuple = SPI_tuptable->vals[i];
		TupleDesc	columns = SPI_tuptable->tupdesc;
		bool		isnull;
		int64		number = DatumGetInt64(SPI_getbinval(tuple, columns, 1, &isnull));
		int64		rank = DatumGetInt64(SPI_getbinval(tuple, columns, 2, &isnull));
		Datum		shown = SPI_getbinval(tuple, columns, 3, &isnull);

		CHECK_FOR_INTERRUPTS();
		take(ranking, ranking->rows[number - 1], rank, isnull ? NULL : TextDatumGetCString(shown));
	}
	SPI_finish();
	pfree(ids);
}

static YqSavedPlan by_priority = {
	.command = "SELECT q.number, r.priority::bigint, r.priority::text " OF_CONTAINERS,
	.types = {"_text"},
	.plans_once = true
};

/* -- waiting containers ---------------------------------------------------------- */

static void
take_largest(Ranking *ranking, YqNodeQueueRow *row, int64 rank, char *shown)
{
	row->container.start_rank = -rank;
}

static void
rank_by_progress(Ranking *ranking)
{
	/* progress has 18 decimals, so this product is an integer */
	static YqSavedPlan by_application_progress = {
		.command = "SELECT q.number, (r.application_progress * 1000000000000000000)::bigint, NULL::text " OF_CONTAINERS,
		.types = {"_text"},
		.plans_once = true
	};

	rank_rows(ranking, &by_application_progress, take_largest);
}

/* Set the container's user to a number: the position of the name in the list of the node's users. */
static void
take_user(Ranking *ranking, YqNodeQueueRow *row, int64 rank, char *shown)
{
	YqNodeQueue *queue = ranking->queue;
	ListCell   *cell;

	row->container.user = 0;
	foreach(cell, queue->users)
	{
		if (strcmp(lfirst(cell), shown) == 0)
			return;
		row->container.user++;
	}
	queue->users = lappend(queue->users, shown);
	queue->queue->user_count = list_length(queue->users);
}

static void
rank_by_user(Ranking *ranking)
{
	static YqSavedPlan by_user = {
		.command = "SELECT q.number, 0::bigint, r.username::text " OF_CONTAINERS,
		.types = {"_text"},
		.plans_once = true
	};

	rank_rows(ranking, &by_user, take_user);
}

/*
 * Collect the rows that have no ranks yet.  Running containers are ranked, too: they
 * may be paused, and they count for their users.
 */
static Ranking
unranked_rows(YqNodeQueue *queue)
{
	Ranking		ranking = {queue, palloc(sizeof(YqNodeQueueRow *) * Max(list_length(queue->rows), 1)), 0};
	ListCell   *cell;

	foreach(cell, queue->rows)
	{
		YqNodeQueueRow *row = lfirst(cell);

		if (row->state != YQ_CONTAINER_GONE && !row->container.is_ranked)
			ranking.rows[ranking.count++] = row;
	}
	return ranking;
}

static void
rank_waiting(void *argument)
{
	YqNodeQueue *queue = argument;
	Ranking		ranking = unranked_rows(queue);

	for (int i = 0; i < ranking.count; i++)
	{
		YqNodeQueueRow *row = ranking.rows[i];

		row->container.is_ranked = true;
		row->container.start_rank = row->expected_duration > 0 ? row->expected_duration : PG_INT64_MAX;
	}
	if (queue->queue->settings.start_order == YQ_START_BY_PRIORITY)
		rank_rows(&ranking, &by_priority, take_largest);
	else if (queue->queue->settings.start_order == YQ_START_FAIR)
		rank_by_user(&ranking);
	else if (queue->queue->settings.start_order == YQ_START_CLOSEST_TO_END)
		rank_by_progress(&ranking);
}

/* -- running containers ------------------------------------------------------------ */

static YqSavedPlan by_credits = {
	.command = "SELECT p.number, pg_catalog.rank() OVER (ORDER BY p.paid), pg_catalog.trim_scale(p.paid)::text "
	"FROM (SELECT q.number, r.paid " OF_CONTAINERS ") AS p",
	.types = {"_text"},
	.plans_once = true
};

static YqSavedPlan by_progress = {
	.command = "SELECT q.number, pg_catalog.rank() OVER (ORDER BY COALESCE(p.progress, 0)), COALESCE(p.progress, 0)::text "
	"FROM pg_catalog.unnest($1) WITH ORDINALITY AS q (container_id, number) "
	"LEFT JOIN yquota_internal.reported_progress AS p ON p.container_id = q.container_id "
	"WHERE EXISTS (SELECT FROM yquota.container AS c WHERE c.container_id = q.container_id)",
	.types = {"_text"},
	.plans_once = true
};

static void
take_kill_rank(Ranking *ranking, YqNodeQueueRow *row, int64 rank, char *shown)
{
	row->container.kill_rank = rank;
	row->kill_figure = shown;
}

static void
rank_running(void *argument)
{
	static YqSavedPlan *const look_ups[] = {
		[YQ_KILL_LEAST_PAID] = &by_credits,
		[YQ_KILL_LOWEST_PRIORITY] = &by_priority,
		[YQ_KILL_FURTHEST_FROM_END] = &by_progress,
	};
	YqNodeQueue *queue = argument;
	Ranking		ranking = {queue, palloc(sizeof(YqNodeQueueRow *) * Max(list_length(queue->rows), 1)), 0};
	ListCell   *cell;

	foreach(cell, queue->rows)
	{
		YqNodeQueueRow *row = lfirst(cell);

		if (row->container.state == YQ_CONTAINER_RUNNING && !row->container.is_guaranteed)
			ranking.rows[ranking.count++] = row;
	}
	rank_rows(&ranking, look_ups[queue->queue->settings.kill_order], take_kill_rank);
}

void
yq_node_order_attach(YqNodeQueue *queue)
{
	queue->queue->rank_waiting = rank_waiting;
	queue->queue->rank_running = rank_running;
	queue->queue->argument = queue;
}

/* -- load node queue ----------------------------------------------------------- */

/* -- the node ---------------------------------------------------------------- */

static int64
amount(Datum resource, const char *name)
{
	return yq_resource_amount(DatumGetYqResourceP(resource), name, strlen(name));
}

/* Is the node in a state in which no agent can start containers? */
static bool
is_gone(const char *state)
{
	return strcmp(state, "LOST") == 0 || strcmp(state, "DECOMMISSIONED") == 0 || strcmp(state, "SHUTDOWN") == 0;
}

/*
 * Set up the queue from the row of the node.  "capacity" is what the node has reported
 * (-1: nothing).  "state" is NULL if the node does not exist.
 */
static void
read_node(YqNodeQueue *queue, Datum total, const char *state, int capacity)
{
	const YqAllocationSettings *allocation = yq_allocation_settings();
	YqContainerQueueSettings settings = {
		.capacity = capacity >= 0 ? capacity : allocation->queue_capacity,
		.is_by_resources = allocation->queues_by_resources,
		.uses_pause = allocation->uses_pause_for_preemption,
		.vmem_ratio = allocation->vmem_pmem_ratio,
		.checks_vmem = allocation->vmem_check_enabled,
		.start_order = allocation->start_order,
		.kill_order = allocation->kill_order
	};

	queue->is_known = state != NULL;
	if (!queue->is_known)
		queue->gone_because = psprintf("Node \"%s\" is not in yquota.node.", queue->node);
	else if (is_gone(state))
		queue->gone_because = psprintf("Node \"%s\" is %s.", queue->node, state);
	if (queue->gone_because == NULL)
	{
		settings.memory = amount(total, "memory-mb");
		settings.vcores = amount(total, "vcores");
	}
	else
	{
		/* let the node have no room, and start no container, not even a GUARANTEED one */
		settings.is_by_resources = true;
	}
	queue->queue = yq_container_queue_make(&settings);
	if (allocation->over_allocates && queue->gone_because == NULL)
		load_measured_use(queue);
}

void
yq_load_node(YqNodeQueue *queue)
{
	static YqSavedPlan look_up = {
		.command = "SELECT n.total, n.state::text, n.queue_capacity FROM yquota_internal.node_of_queue AS n WHERE n.name = $1",
		.types = {"text"}
	};
	MemoryContext caller = CurrentMemoryContext;
	Datum		parameters[] = {CStringGetTextDatum(queue->node)};
	Datum		total = (Datum) 0;
	char	   *state = NULL;
	int			capacity = -1;
	bool		isnull;

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	if (yq_saved_plan_run(&look_up, parameters, NULL) > 0)
	{
		total = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &isnull);
		state = SPI_getvalue(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 2);
		capacity = DatumGetInt32(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 3, &isnull));
	}
	MemoryContextSwitchTo(caller);
	read_node(queue, total, state, capacity);
	SPI_finish();
}

/* -- containers in the books ---------------------------------------------------- */

/* Columns that describe a container in yquota.container, as several views contain them. */
#define BOOKS_COLUMNS(row) \
	row ".allocation_in_books, " row ".is_guaranteed_in_books, " row ".runs_in_books, " row ".changed_at, " row ".next_instant "

typedef enum BooksColumn
{
	BOOKS_ALLOCATION,
	BOOKS_IS_GUARANTEED,
	BOOKS_IS_RUNNING,
	BOOKS_CHANGED_AT,
	BOOKS_NEXT_INSTANT,
	BOOKS_COLUMN_COUNT
} BooksColumn;

static void
set_allocation(YqNodeQueueRow *row, Datum allocation)
{
	row->allocation = PointerGetDatum(PG_DETOAST_DATUM_COPY(allocation));
	row->container.memory = amount(row->allocation, "memory-mb");
	row->container.vcores = amount(row->allocation, "vcores");
}

static void
read_books(YqNodeQueueRow *row, const Datum *values)
{
	row->is_in_books = true;
	set_allocation(row, values[BOOKS_ALLOCATION]);
	row->is_guaranteed_in_books = DatumGetBool(values[BOOKS_IS_GUARANTEED]);
	row->runs_in_books = DatumGetBool(values[BOOKS_IS_RUNNING]);
	row->changed_at = DatumGetTimestampTz(values[BOOKS_CHANGED_AT]);
	row->next_instant = DatumGetTimestampTz(values[BOOKS_NEXT_INSTANT]);
}

/* -- rows ----------------------------------------------------------------------- */

static const char *const state_names[] = {
	[YQ_CONTAINER_QUEUED] = "QUEUED",
	[YQ_CONTAINER_RUNNING] = "RUNNING",
	[YQ_CONTAINER_PAUSING] = "PAUSING",
	[YQ_CONTAINER_PAUSED] = "PAUSED",
	[YQ_CONTAINER_KILLING] = "KILLING",
	[YQ_CONTAINER_GONE] = "GONE",
};

const char *
yq_container_state_name(YqContainerState state)
{
	return state_names[state];
}

static YqContainerState
state_of_name(const char *name)
{
	for (YqContainerState state = YQ_CONTAINER_QUEUED; state <= YQ_CONTAINER_GONE; state++)
	{
		if (strcmp(state_names[state], name) == 0)
			return state;
	}
	elog(ERROR, "invalid state \"%s\" of a container in a node's queue", name);
}

typedef enum RowColumn
{
	ROW_CONTAINER_ID,
	ROW_STATE,
	ROW_PLACE,
	ROW_IS_GUARANTEED,
	ROW_ALLOCATION,
	ROW_STATE_AT,
	ROW_STARTED_AT,
	ROW_MADE_ROOM_FOR,
	ROW_DIAGNOSTICS,
	ROW_IS_ACKNOWLEDGED,
	ROW_WAS_PAUSED,
	ROW_EXPECTED_DURATION,
	ROW_BOOKS,					/* first of the columns in BooksColumn */
	ROW_COLUMNS = ROW_BOOKS + BOOKS_COLUMN_COUNT
} RowColumn;

static YqNodeQueueRow *
read_row(HeapTuple tuple, TupleDesc descriptor)
{
	YqNodeQueueRow *row = palloc0(sizeof(YqNodeQueueRow));
	Datum		values[ROW_COLUMNS];
	bool		nulls[ROW_COLUMNS];

	heap_deform_tuple(tuple, descriptor, values, nulls);
	row->container_id = TextDatumGetCString(values[ROW_CONTAINER_ID]);
	row->state = row->container.state = state_of_name(TextDatumGetCString(values[ROW_STATE]));
	row->place = DatumGetInt64(values[ROW_PLACE]);
	row->container.is_guaranteed = DatumGetBool(values[ROW_IS_GUARANTEED]);
	row->state_at = DatumGetTimestampTz(values[ROW_STATE_AT]);
	row->has_started = !nulls[ROW_STARTED_AT];
	if (row->has_started)
		row->started_at = DatumGetTimestampTz(values[ROW_STARTED_AT]);
	if (!nulls[ROW_MADE_ROOM_FOR])
		row->made_room_for = TextDatumGetCString(values[ROW_MADE_ROOM_FOR]);
	if (!nulls[ROW_DIAGNOSTICS])
		row->diagnostics = TextDatumGetCString(values[ROW_DIAGNOSTICS]);
	row->is_acknowledged = DatumGetBool(values[ROW_IS_ACKNOWLEDGED]);
	row->was_paused = DatumGetBool(values[ROW_WAS_PAUSED]);
	if (!nulls[ROW_EXPECTED_DURATION])
		row->expected_duration = yq_expected_duration_read(values[ROW_EXPECTED_DURATION]);
	if (nulls[ROW_BOOKS])
		set_allocation(row, values[ROW_ALLOCATION]);
	else
		read_books(row, &values[ROW_BOOKS]);
	return row;
}

void
yq_load_node_rows(YqNodeQueue *queue)
{
	static YqSavedPlan look_up = {
		.command = "SELECT q.container_id, q.state, q.place, q.execution_type = 'GUARANTEED', q.allocation, q.state_at, "
		"q.started_at, q.made_room_for, q.diagnostics, q.is_acknowledged, q.pauses > 0, q.expected_duration, " BOOKS_COLUMNS("q")
		"FROM yquota_internal.node_queue_row AS q WHERE q.node = $1 AND q.left_at IS NULL "
		"AND NOT (q.state IN ('QUEUED', 'PAUSED') AND q.is_in_books "
		"AND " YQ_IS_HELD(YQ_ROUND_NODE_QUEUE, "q.container_id") ") ORDER BY q.place",
		.types = {"text"}
	};
	MemoryContext caller = CurrentMemoryContext;
	Datum		parameters[] = {CStringGetTextDatum(queue->node)};
	uint64		count;

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	count = yq_saved_plan_run(&look_up, parameters, NULL);
	MemoryContextSwitchTo(caller);
	for (uint64 i = 0; i < count; i++)
	{
		YqNodeQueueRow *row = read_row(SPI_tuptable->vals[i], SPI_tuptable->tupdesc);

		CHECK_FOR_INTERRUPTS();
		queue->rows = lappend(queue->rows, row);
		queue->last_place = Max(queue->last_place, row->place);
	}
	SPI_finish();
}

/* -- a container that joins -------------------------------------------------------- */

typedef enum JoiningColumn
{
	JOINING_NODE,
	JOINING_OTHER_NODE,			/* other node in whose queue the container is */
	JOINING_EXPECTED_DURATION,
	JOINING_BOOKS,				/* first of the columns in BooksColumn */
	JOINING_COLUMNS = JOINING_BOOKS + BOOKS_COLUMN_COUNT
} JoiningColumn;

/* Return the reason why a container that exists cannot join the queue of this node, or NULL if it can. */
static const char *
reason_of_container(const YqNodeQueue *queue, const char *container_id, const Datum *values, const bool *nulls)
{
	if (nulls[JOINING_NODE])
		return psprintf("Container \"%s\" has no node in the books.", container_id);
	if (strcmp(TextDatumGetCString(values[JOINING_NODE]), queue->node) != 0)
		return psprintf("Container \"%s\" is on node \"%s\" in the books.", container_id,
						TextDatumGetCString(values[JOINING_NODE]));
	if (!nulls[JOINING_OTHER_NODE])
		return psprintf("Container \"%s\" is in the queue of node \"%s\".", container_id,
						TextDatumGetCString(values[JOINING_OTHER_NODE]));
	return NULL;
}

static YqNodeQueueRow *
read_joining(const YqNodeQueue *queue, const char *container_id, const char **reason)
{
	YqNodeQueueRow *row = palloc0(sizeof(YqNodeQueueRow));
	Datum		values[JOINING_COLUMNS];
	bool		nulls[JOINING_COLUMNS];

	heap_deform_tuple(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, values, nulls);
	*reason = reason_of_container(queue, container_id, values, nulls);
	if (*reason != NULL)
		return NULL;
	row->container_id = pstrdup(container_id);
	read_books(row, &values[JOINING_BOOKS]);
	row->container.is_guaranteed = row->is_guaranteed_in_books;
	if (!nulls[JOINING_EXPECTED_DURATION])
		row->expected_duration = yq_expected_duration_read(values[JOINING_EXPECTED_DURATION]);
	return row;
}

/*
 * Load the expected duration that was given with the allocation.  If there is none, the
 * row keeps the duration from an earlier stay at a node.
 */
static void
load_expected_duration(YqNodeQueueRow *row)
{
	static YqSavedPlan look_up = {
		.command = "SELECT e.expected_duration FROM yquota_internal.expected_duration AS e WHERE e.container_id = $1",
		.types = {"text"}
	};
	Datum		parameters[] = {CStringGetTextDatum(row->container_id)};
	bool		isnull;

	if (yq_table_has_no_pages(YQ_EXPECTED_DURATION))
		return;
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	if (yq_saved_plan_run(&look_up, parameters, NULL) > 0)
		row->expected_duration = yq_expected_duration_read(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &isnull));
	SPI_finish();
}

YqNodeQueueRow *
yq_load_joining_row(const YqNodeQueue *queue, const char *container_id, const char **reason)
{
	static YqSavedPlan look_up = {
		.command = "SELECT j.node, CASE WHEN j.queue_node <> $2 AND j.left_at IS NULL THEN j.queue_node END, "
		"j.expected_duration, " BOOKS_COLUMNS("j") "FROM yquota_internal.joining_container AS j WHERE j.container_id = $1",
		.types = {"text", "text"}
	};
	MemoryContext caller = CurrentMemoryContext;
	Datum		parameters[] = {CStringGetTextDatum(container_id), CStringGetTextDatum(queue->node)};
	YqNodeQueueRow *row = NULL;
	uint64		count;

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	count = yq_saved_plan_run(&look_up, parameters, NULL);
	MemoryContextSwitchTo(caller);
	if (count > 0)
		row = read_joining(queue, container_id, reason);
	else
		*reason = psprintf("Container \"%s\" is not in the books.", container_id);
	SPI_finish();
	if (row != NULL && !row->container.is_guaranteed)
		load_expected_duration(row);
	return row;
}

List *
yq_load_ended(const YqNodeQueue *queue, List *container_ids)
{
	static YqSavedPlan look_up = {
		.command = "SELECT u.container_id FROM unnest($1) AS u (container_id) "
		"WHERE NOT EXISTS (SELECT FROM yquota.container AS c WHERE c.container_id = u.container_id AND c.node = $2)",
		.types = {"_text", "text"}
	};
	Datum		parameters[] = {yq_array_of_strings(container_ids), CStringGetTextDatum(queue->node)};

	return yq_saved_plan_strings(&look_up, parameters);
}

TimestampTz
yq_load_end(const char *container_id, TimestampTz fallback)
{
	static YqSavedPlan look_up = {
		.command = "SELECT max(x.\"to\") FROM yquota_internal.charge_in_effect AS x WHERE x.container_id = $1",
		.types = {"text"}
	};
	Datum		parameters[] = {CStringGetTextDatum(container_id)};
	TimestampTz at = fallback;
	Datum		value;
	bool		isnull;

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	(void) yq_saved_plan_run(&look_up, parameters, NULL);
	value = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &isnull);
	if (!isnull)
		at = DatumGetTimestampTz(value);
	SPI_finish();
	return at;
}
