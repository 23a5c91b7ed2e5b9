/*-------------------------------------------------------------------------
 *
 * scheduler_sql.c
 *	  Allocation cycles as SQL functions, see sql/scheduler/380_scheduler.sql.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "admission/access/access.h"
#include "admission/application/queue_lock.h"
#include "admission/configuration/config_refresh.h"
#include "admission/submission/submission.h"
#include "base/arguments.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "queues/hierarchy.h"
#include "scheduler/allocation_cycle.h"
#include "scheduler/decide/container_allocator.h"
#include "scheduler/record/record_containers.h"
#include "scheduler/record/scheduler_journal.h"
#include "store/catalog.h"
#include "store/role_scope.h"
#include "utils/builtins.h"
#include "utils/tuplestore.h"

PG_FUNCTION_INFO_V1(yq_sql_lock_leaves);
PG_FUNCTION_INFO_V1(yq_sql_lock_passes);
PG_FUNCTION_INFO_V1(yq_sql_node_heartbeat);
PG_FUNCTION_INFO_V1(yq_sql_schedule);

/* Columns of the result, in order. */
typedef enum ResultColumn
{
	RESULT_DECISION,
	RESULT_CONTAINER_ID,
	RESULT_APPLICATION_ID,
	RESULT_QUEUE,
	RESULT_NODE,
	RESULT_ALLOCATION,
	RESULT_LOCALITY,
	RESULT_PRIORITY,
	RESULT_ALLOCATION_REQUEST_ID,
	RESULT_UNRESERVED_NODE,
	RESULT_STOPPED_BY,
	RESULT_USED,
	RESULT_MAXIMUM,
	RESULT_OPPORTUNITIES,
	RESULT_OPPORTUNITIES_NEEDED,
	RESULT_COLUMNS
} ResultColumn;

typedef struct ResultRow
{
	const YqHierarchy *hierarchy;
	MemoryContext context;		/* memory for the values of the current row */
	Datum	   *paths;			/* paths of queues, by number of the queue; 0: not computed yet */
	const YqClusterNode *node;	/* node to which node_name belongs; NULL: none */
	Datum		node_name;
	Datum		values[RESULT_COLUMNS];
	bool		nulls[RESULT_COLUMNS];
} ResultRow;

static void
begin_row(ResultRow *row)
{
	MemoryContextReset(row->context);
	memset(row->nulls, true, sizeof(row->nulls));
}

static void
set_result(ResultRow *row, ResultColumn column, Datum value)
{
	row->values[column] = value;
	row->nulls[column] = false;
}

static void
set_result_text(ResultRow *row, ResultColumn column, const char *text)
{
	if (text != NULL)
		set_result(row, column, CStringGetTextDatum(text));
}

/* Set the path of a queue.  The path is cached, because many rows have the same queue. */
static void
set_result_queue(ResultRow *row, const YqClusterQueue *queue)
{
	Datum	   *path;

	if (queue == NULL)
		return;
	path = &row->paths[queue->queue->number];
	if (*path == 0)
	{
		MemoryContext caller = MemoryContextSwitchTo(MemoryContextGetParent(row->context));

		*path = CStringGetTextDatum(queue->queue->path);
		MemoryContextSwitchTo(caller);
	}
	set_result(row, RESULT_QUEUE, *path);
}

static void
set_node(ResultRow *row, const YqClusterNode *node)
{
	if (node == NULL)
		return;
	if (row->node != node)
	{
		MemoryContext caller = MemoryContextSwitchTo(MemoryContextGetParent(row->context));

		if (row->node != NULL)
			pfree(DatumGetPointer(row->node_name));
		row->node = node;
		row->node_name = CStringGetTextDatum(node->name);
		MemoryContextSwitchTo(caller);
	}
	set_result(row, RESULT_NODE, row->node_name);
}

static void
set_amounts(ResultRow *row, ResultColumn column, const int64 *amounts)
{
	if (amounts != NULL)
		set_result(row, column, yq_hierarchy_resource(row->hierarchy, amounts));
}

static void
set_result_key(ResultRow *row, const YqSchedulerKey *key)
{
	if (key == NULL)
		return;
	set_result(row, RESULT_PRIORITY, Int32GetDatum(key->priority));
	set_result(row, RESULT_ALLOCATION_REQUEST_ID, Int64GetDatum(key->allocation_request_id));
}

static void
fill_result_decision(ResultRow *row, const YqDecision *decision)
{
	const YqClusterApplication *application = decision->key->application;

	set_result_text(row, RESULT_DECISION, yq_decision_name(decision));
	set_result(row, RESULT_CONTAINER_ID, PointerGetDatum(yq_decision_container_id(decision)));
	set_result_text(row, RESULT_APPLICATION_ID, application->application_id);
	set_result_queue(row, application->leaf);
	set_node(row, decision->node);
	set_amounts(row, RESULT_ALLOCATION, yq_decision_allocation(decision));
	set_result_text(row, RESULT_LOCALITY, yq_decision_locality(decision));
	set_result_key(row, decision->key);
	if (decision->kind == YQ_SWAPPED)
		set_result_text(row, RESULT_UNRESERVED_NODE, decision->reservation->node->name);
}

/* Fill a row for a killed container, without the columns about a request. */
static void
fill_killed(ResultRow *row, const YqKillableContainer *killed)
{
	set_result_text(row, RESULT_DECISION, "killed");
	set_result_text(row, RESULT_CONTAINER_ID, killed->container_id);
	set_result_text(row, RESULT_APPLICATION_ID, killed->application_id);
	set_result_queue(row, killed->user->leaf);
	set_node(row, killed->node);
	set_amounts(row, RESULT_ALLOCATION, killed->amounts);
}

static void
fill_skip(ResultRow *row, const YqSkip *skip)
{
	set_result_text(row, RESULT_DECISION, "passed over");
	if (skip->application != NULL)
		set_result_text(row, RESULT_APPLICATION_ID, skip->application->application_id);
	set_result_queue(row, skip->queue);
	set_node(row, skip->node);
	set_amounts(row, RESULT_ALLOCATION, skip->required);
	set_result_key(row, skip->key);
	if (skip->key != NULL && skip->key->update != NULL && skip->key->update->is_by_rule)
		set_result_text(row, RESULT_CONTAINER_ID, skip->key->update->container_id);
	set_result_text(row, RESULT_STOPPED_BY, yq_skip_reason_name(skip->reason));
	set_amounts(row, RESULT_USED, skip->used);
	set_amounts(row, RESULT_MAXIMUM, skip->limit);
	if (skip->needed > 0)
	{
		set_result(row, RESULT_OPPORTUNITIES, Int64GetDatum(skip->opportunities));
		set_result(row, RESULT_OPPORTUNITIES_NEEDED, Int64GetDatum(skip->needed));
	}
}

static void
return_cluster(ReturnSetInfo *result, const YqLoadedCluster *loaded)
{
	const YqCluster *cluster = loaded->cluster;
	ResultRow	row = {.hierarchy = cluster->hierarchy};
	/* do not allocate in the cluster's memory, because the session may keep the cluster */
	MemoryContext all = AllocSetContextCreate(CurrentMemoryContext, "yquota decisions", ALLOCSET_DEFAULT_SIZES);
	MemoryContext caller;

	row.paths = MemoryContextAllocZero(all, Max(cluster->hierarchy->queue_count, 1) * sizeof(Datum));
	row.context = AllocSetContextCreate(all, "yquota decision", ALLOCSET_DEFAULT_SIZES);
	caller = MemoryContextSwitchTo(row.context);
	for (int i = 0; i < cluster->decision_count; i++)
	{
		for (const YqKillableContainer *killed = cluster->decisions[i].killed; killed != NULL; killed = killed->next)
		{
			begin_row(&row);
			fill_killed(&row, killed);
			tuplestore_putvalues(result->setResult, result->setDesc, row.values, row.nulls);
		}
		begin_row(&row);
		fill_result_decision(&row, &cluster->decisions[i]);
		tuplestore_putvalues(result->setResult, result->setDesc, row.values, row.nulls);
	}
	for (int i = 0; i < cluster->skip_count; i++)
	{
		begin_row(&row);
		fill_skip(&row, &cluster->skips[i]);
		tuplestore_putvalues(result->setResult, result->setDesc, row.values, row.nulls);
	}
	MemoryContextSwitchTo(caller);
	MemoryContextDelete(all);
}

static void
node_arguments(FunctionCallInfo fcinfo, int argument, YqAllocationCycle *cycle)
{
	if (!PG_ARGISNULL(argument))
		cycle->node_count = yq_text_array(fcinfo, argument, "nodes", &cycle->nodes);
}

static Datum
return_decisions(FunctionCallInfo fcinfo, const YqAllocationCycle *cycle)
{
	YqLoadedCluster *loaded;

	InitMaterializedSRF(fcinfo, 0);
	loaded = yq_allocation_cycle_run(cycle);
	return_cluster((ReturnSetInfo *) fcinfo->resultinfo, loaded);
	yq_allocation_cycle_end(loaded);
	return (Datum) 0;
}

/* schedule(nodes, max_containers, dry_run, explain) */
Datum
yq_sql_schedule(PG_FUNCTION_ARGS)
{
	YqAllocationCycle cycle = {.most = -1};

	node_arguments(fcinfo, 0, &cycle);
	if (!PG_ARGISNULL(1))
		cycle.most = PG_GETARG_INT32(1);
	if (cycle.most < 0 && !PG_ARGISNULL(1))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("max_containers must not be negative")));
	cycle.is_dry = !PG_ARGISNULL(2) && PG_GETARG_BOOL(2);
	cycle.explains = !PG_ARGISNULL(3) && PG_GETARG_BOOL(3);
	return return_decisions(fcinfo, &cycle);
}

/* node_heartbeat(nodes, explain) */
Datum
yq_sql_node_heartbeat(PG_FUNCTION_ARGS)
{
	YqAllocationCycle cycle = {.most = -1};

	yq_require_value(PG_ARGISNULL(0), "nodes");
	node_arguments(fcinfo, 0, &cycle);
	cycle.explains = !PG_ARGISNULL(1) && PG_GETARG_BOOL(1);
	return return_decisions(fcinfo, &cycle);
}

/* lock_passes() */
Datum
yq_sql_lock_passes(PG_FUNCTION_ARGS)
{
	PreventCommandIfReadOnly("changes of nodes");
	yq_scheduler_lock(ExclusiveLock);
	yq_queue_lock_configuration(RowExclusiveLock);
	PG_RETURN_VOID();
}

/* lock_leaves() */
Datum
yq_sql_lock_leaves(PG_FUNCTION_ARGS)
{
	yq_scheduler_lock_leaves(yq_hierarchy_in_force());
	PG_RETURN_VOID();
}
