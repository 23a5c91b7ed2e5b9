/*-------------------------------------------------------------------------
 *
 * kill_order_sql.c
 *	  Which containers of a node would go, as an SQL function, see
 *	  sql/opportunistic/397_node_queue_order.sql.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "base/arguments.h"
#include "base/resource.h"
#include "funcapi.h"
#include "opportunistic/node_queue/kill_order.h"
#include "opportunistic/node_queue/node_queue.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

PG_FUNCTION_INFO_V1(yq_sql_explain_reclaim);

/* What is to be freed for the container, as if it came, or was promoted, now. */
static YqNodeAmounts
lacking_for(const YqNodeQueue *queue, const char *container_id)
{
	const YqNodeQueueRow *row = yq_node_queue_find(queue, container_id);
	bool		waits = row->state == YQ_CONTAINER_QUEUED || row->state == YQ_CONTAINER_PAUSED;

	/* one that is promoted makes room as soon as it lacks anything, also what is not checked */
	if (!waits || (row->has_joined && yq_container_queue_starts_at_once(queue->queue, &row->container)))
		return (YqNodeAmounts) {0, 0, 0};
	return yq_container_queue_lacking(queue->queue, &row->container);
}

static YqNodeAmounts
amounts_argument(FunctionCallInfo fcinfo, int argument, const YqNodeQueue *queue)
{
	const YqResource *amount = (const YqResource *) PG_DETOAST_DATUM_PACKED(PG_GETARG_DATUM(argument));

	return yq_node_amounts(queue->queue, yq_resource_amount(amount, "memory-mb", strlen("memory-mb")),
									  yq_resource_amount(amount, "vcores", strlen("vcores")));
}

static void
return_candidate(FunctionCallInfo fcinfo, const YqNodeQueue *queue, int place, YqNodeContainer *container, bool is_chosen)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	const YqNodeQueueRow *row = yq_node_queue_row(container);
	YqRowBuilder values = {.count = 0};

	yq_row_put(&values, Int32GetDatum(place), false);
	yq_row_put_text(&values, row->container_id);
	yq_row_put(&values, row->allocation, false);
	yq_row_put(&values, TimestampTzGetDatum(row->state_at), false);
	yq_row_put_text(&values, yq_kill_order_name(queue->queue->settings.kill_order));
	yq_row_put_text(&values, row->kill_figure);
	yq_row_put(&values, BoolGetDatum(is_chosen), false);
	tuplestore_putvalues(result->setResult, result->setDesc, values.values, values.nulls);
}

/* explain_reclaim(node, container_id, amount) */
Datum
yq_sql_explain_reclaim(PG_FUNCTION_ARGS)
{
	const char *node = text_to_cstring(yq_required_text(fcinfo, 0, "node"));
	const char *container_id = yq_text_argument(fcinfo, 1);
	YqNodeQueue *queue;
	const List *candidates;
	const List *chosen;
	ListCell   *cell;

	if ((container_id == NULL) == PG_ARGISNULL(2))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("either container_id or amount must be given")));
	InitMaterializedSRF(fcinfo, 0);
	queue = yq_node_queue_read_promoted(node, container_id);
	candidates = yq_kill_order_candidates(queue->queue);
	chosen = yq_kill_order_choose(queue->queue, container_id != NULL ? lacking_for(queue, container_id) :
								  amounts_argument(fcinfo, 2, queue));
	foreach(cell, candidates)
		return_candidate(fcinfo, queue, foreach_current_index(cell) + 1, lfirst(cell), list_member_ptr(chosen, lfirst(cell)));
	return (Datum) 0;
}
