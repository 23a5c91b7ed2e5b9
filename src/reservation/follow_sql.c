/*-------------------------------------------------------------------------
 *
 * follow_sql.c
 *	  Rounds of the plan follower as a SQL function, see
 *	  sql/reservation/396_plan_follower.sql.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "base/arguments.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "reservation/follow_plan.h"
#include "utils/builtins.h"
#include "utils/tuplestore.h"

PG_FUNCTION_INFO_V1(yq_sql_follow_plans);

/* A row of the result. */
typedef struct ResultRow
{
	const char *outcome;
	const char *queue;
	const char *reservation_id;
	const char *application_id;
	const YqShare *share;		/* NULL: none */
	const char *reason;
} ResultRow;

static void
put_row(ReturnSetInfo *result, const YqPlanRound *round, const ResultRow *values)
{
	YqRowBuilder row = {.count = 0};
	const YqShare *share = values->share;

	yq_row_put_text(&row, values->outcome);
	yq_row_put_text(&row, round == NULL ? NULL : round->path);
	yq_row_put_text(&row, values->queue);
	yq_row_put_text(&row, values->reservation_id);
	yq_row_put_text(&row, values->application_id);
	yq_row_put(&row, share == NULL ? (Datum) 0 : Float4GetDatum(share->capacity), share == NULL);
	yq_row_put(&row, share == NULL ? (Datum) 0 : Float4GetDatum(share->maximum_capacity), share == NULL);
	yq_row_put_text(&row, values->reason);
	tuplestore_putvalues(result->setResult, result->setDesc, row.values, row.nulls);
}

static void
put_reservations(ReturnSetInfo *result, const YqPlanRound *round, const List *ids, const char *outcome)
{
	ListCell   *cell;

	foreach(cell, ids)
		put_row(result, round, &(ResultRow) {.outcome = outcome,.reservation_id = lfirst(cell)});
}

static void
put_applications(ReturnSetInfo *result, const YqPlanRound *round)
{
	ListCell   *cell;

	foreach(cell, round->applications)
	{
		const YqFollowedApplication *application = lfirst(cell);
		const char *name = yq_plan_queue_name(round, &round->queues.queues[application->queue]);

		put_row(result, round, &(ResultRow) {.outcome = application->is_refused ? "refused" : application->is_killed ? "killed" : "moved",.queue = name,
											 .reservation_id = name,.application_id = application->application_id,.reason = application->reason});
	}
}

/* Of a queue whose share was refused there is a row more. */
static void
put_queue(ReturnSetInfo *result, const YqPlanRound *round, const YqPlanQueue *queue)
{
	ResultRow	row = {.queue = yq_plan_queue_name(round, queue)};
	YqShare		refused = {.capacity = queue->refused_capacity,.maximum_capacity = 1};

	row.reservation_id = queue->is_default ? NULL : row.queue;
	row.share = &queue->share;
	if (!queue->is_active && !queue->is_kept)
		put_row(result, round, &(ResultRow) {.outcome = "removed",.queue = row.queue,.reservation_id = row.reservation_id});
	else if (yq_plan_queue_has_changed(queue))
	{
		row.outcome = queue->exists || queue->is_default ? "resized" : "created";
		put_row(result, round, &row);
	}
	if (queue->is_postponed)
		put_row(result, round, &(ResultRow) {.outcome = "postponed",.queue = row.queue,.reservation_id = row.reservation_id});
	if (queue->refusal == YQ_SHARE_GIVEN)
		return;
	row.outcome = "refused";
	row.share = &refused;
	row.reason = yq_plan_queue_refusal_text(queue);
	put_row(result, round, &row);
}

static void
put_round(ReturnSetInfo *result, const YqPlanRound *round)
{
	if (round->is_refused)
		return;
	put_reservations(result, round, round->replanned, "replanned");
	put_applications(result, round);
	for (int i = 0; i < round->queues.count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		put_queue(result, round, &round->queues.queues[i]);
	}
	put_reservations(result, round, round->archived, "archived");
}

/* follow_plans(queue, replan, dry_run) */
Datum
yq_sql_follow_plans(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	char	   *queue = PG_ARGISNULL(0) ? NULL : text_to_cstring(yq_required_text(fcinfo, 0, "queue"));
	bool		is_dry;
	List	   *rounds;
	ListCell   *cell;

	yq_require_value(PG_ARGISNULL(1), "replan");
	yq_require_value(PG_ARGISNULL(2), "dry_run");
	is_dry = PG_GETARG_BOOL(2);
	if (!is_dry)
		PreventCommandIfReadOnly("a round of the plan follower");
	InitMaterializedSRF(fcinfo, 0);
	if (!yq_plan_follower_is_on())
	{
		put_row(result, NULL, &(ResultRow) {.outcome = "off",.reason = "yarn.resourcemanager.reservation-system.enable is not true"});
		return (Datum) 0;
	}
	rounds = yq_plans_follow(queue, PG_GETARG_BOOL(1), is_dry);
	foreach(cell, rounds)
		put_round(result, lfirst(cell));
	return (Datum) 0;
}
