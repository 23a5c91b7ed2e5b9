/*-------------------------------------------------------------------------
 *
 * dynamic_queues_sql.c
 *	  Dynamic queues for SQL: creating one, giving and taking guarantees, and
 *	  removing unused queues.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "admission/dynamic_queues.h"
#include "admission/queue_lock.h"
#include "admission/queue_management.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "store/catalog.h"
#include "utils/builtins.h"
#include "utils/tuplestore.h"

PG_FUNCTION_INFO_V1(yq_sql_create_queue);
PG_FUNCTION_INFO_V1(yq_sql_manage_queues);
PG_FUNCTION_INFO_V1(yq_sql_remove_unused_queues);

/* Keep others from changing queues and from submitting to them; see dynamic_queues.h. */
static YqHierarchy *
lock_queues(void)
{
	PreventCommandIfReadOnly("changes of queues");
	LockRelationOid(yq_table_oid(YQ_QUEUE_STATUS), ShareRowExclusiveLock);
	return yq_hierarchy_get();
}

static void
put_paths(ReturnSetInfo *result, const List *paths)
{
	const ListCell *cell;

	foreach(cell, paths)
	{
		Datum		value = CStringGetTextDatum(lfirst(cell));
		bool		isnull = false;

		tuplestore_putvalues(result->setResult, result->setDesc, &value, &isnull);
	}
}

/* create_queue(path text) */
Datum
yq_sql_create_queue(PG_FUNCTION_ARGS)
{
	YqQueueCreation creation;
	char	   *path;

	if (PG_ARGISNULL(0))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("path of the queue must not be null")));
	path = text_to_cstring(PG_GETARG_TEXT_PP(0));
	yq_queue_lock_rows();
	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	creation = yq_queue_creation_decide(lock_queues(), path);
	if (creation.problem == NULL && creation.paths != NIL)
		creation.problem = yq_queue_creation_execute(&creation);
	if (creation.problem != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("%s", creation.problem)));
	put_paths((ReturnSetInfo *) fcinfo->resultinfo, creation.paths);
	return (Datum) 0;
}

/* manage_queues(): most calls have nothing to do, and take no lock. */
Datum
yq_sql_manage_queues(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	YqHierarchy *hierarchy;
	List	   *changes;
	ListCell   *cell;

	InitMaterializedSRF(fcinfo, 0);
	if (!yq_queue_management_is_due(yq_hierarchy_get()))
		return (Datum) 0;
	hierarchy = lock_queues();
	changes = yq_queue_management_run(hierarchy, false);
	foreach(cell, changes)
	{
		YqLeafChange *change = lfirst(cell);
		Datum		values[3];
		bool		nulls[3] = {false};

		values[0] = CStringGetTextDatum(change->queue);
		values[1] = CStringGetTextDatum(change->label);
		values[2] = BoolGetDatum(change->is_active);
		tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
	}
	return (Datum) 0;
}

/* remove_unused_queues() */
Datum
yq_sql_remove_unused_queues(PG_FUNCTION_ARGS)
{
	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	PreventCommandIfReadOnly("remove_unused_queues()");
	/* unused queues wait while the configuration is being changed */
	if (ConditionalLockRelationOid(yq_table_oid(YQ_QUEUE), ExclusiveLock))
		put_paths((ReturnSetInfo *) fcinfo->resultinfo, yq_unused_queues_remove(lock_queues()));
	return (Datum) 0;
}
