/*-------------------------------------------------------------------------
 *
 * load_node_order.c
 *	  What the orders of a node's queue go by, from tables.
 *
 * Numbers that are compared exactly, credits and progress, become ranks here.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "executor/spi.h"
#include "miscadmin.h"
#include "opportunistic/node_queue/load_node_order.h"
#include "queues/text.h"
#include "scheduler/load/paid_credits.h"
#include "store/saved_plan.h"
#include "utils/builtins.h"

/* Rows of some containers, and a statement that knows something of each. */
typedef struct Ranking
{
	YqNodeQueue *queue;
	YqNodeQueueRow **rows;
	int			count;
} Ranking;

/* A container's number from 1 on, its rank, and what people are shown or NULL. */
#define OF_CONTAINERS \
	"FROM pg_catalog.unnest($1) WITH ORDINALITY AS q (container_id, number) " \
	"JOIN yquota.container AS c ON c.container_id = q.container_id "

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
	.command = "SELECT q.number, COALESCE(a.priority, 0)::bigint, COALESCE(a.priority, 0)::text " OF_CONTAINERS
	"LEFT JOIN yquota.application AS a ON a.application_id = c.application_id",
	.types = {"_text"},
	.plans_once = true
};

/* -- what waits ------------------------------------------------------------------ */

static void
take_largest(Ranking *ranking, YqNodeQueueRow *row, int64 rank, char *shown)
{
	row->container.start_rank = -rank;
}

static void
rank_by_progress(Ranking *ranking)
{
	/* kept with 18 decimals, which are an integer */
	static YqSavedPlan by_application_progress = {
		.command = "SELECT q.number, (COALESCE(p.progress, 0) * 1000000000000000000)::bigint, NULL::text " OF_CONTAINERS
		"LEFT JOIN yquota_internal.reported_application_progress AS p ON p.application_id = c.application_id",
		.types = {"_text"},
		.plans_once = true
	};

	rank_rows(ranking, &by_application_progress, take_largest);
}

/* A user is the place of the name among those of the node. */
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
		.command = "SELECT q.number, 0::bigint, COALESCE(c.username, '')::text " OF_CONTAINERS,
		.types = {"_text"},
		.plans_once = true
	};

	rank_rows(ranking, &by_user, take_user);
}

/* What has started is ranked as well: it may be paused, or its user count. */
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

/* -- what runs --------------------------------------------------------------------- */

static YqSavedPlan by_credits = {
	.command = "SELECT p.number, pg_catalog.rank() OVER (ORDER BY p.paid), pg_catalog.trim_scale(p.paid)::text "
	"FROM (SELECT q.number, " YQ_PAID_CREDITS " AS paid " OF_CONTAINERS ") AS p",
	.types = {"_text"},
	.plans_once = true
};

static YqSavedPlan by_progress = {
	.command = "SELECT q.number, pg_catalog.rank() OVER (ORDER BY COALESCE(p.progress, 0)), COALESCE(p.progress, 0)::text " OF_CONTAINERS
	"LEFT JOIN yquota_internal.reported_progress AS p ON p.container_id = c.container_id",
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
