/*-------------------------------------------------------------------------
 *
 * load_sharing_limits.c
 *	  Limits of sharing, from the tables.
 *
 * The lock is an object lock of yquota_internal.opportunistic_counter, as pg_locks shows it.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "executor/spi.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "scheduler/opportunistic/load_sharing_limits.h"
#include "storage/lmgr.h"
#include "store/catalog.h"
#include "store/saved_plan.h"
#include "utils/builtins.h"

PG_FUNCTION_INFO_V1(yq_sql_lock_sharing);

/* Changes that are read one by one at each call, before they are moved to the counters. */
#define MOST_CHANGES 64

static void
lock_sharing(void)
{
	LockDatabaseObject(yq_table_oid(YQ_OPPORTUNISTIC_COUNTER), 0, 0, ExclusiveLock);
}

/* lock_sharing() */
Datum
yq_sql_lock_sharing(PG_FUNCTION_ARGS)
{
	lock_sharing();
	PG_RETURN_VOID();
}

/* -- what the tables say ---------------------------------------------------------- */

static int64 *
read_maximum(const YqHierarchy *hierarchy, Datum value, bool isnull)
{
	int64	   *maximum = isnull ? yq_hierarchy_amounts(hierarchy) : yq_hierarchy_read_amounts(hierarchy, value);

	for (int i = 0; i < hierarchy->calculator.types; i++)
	{
		if (maximum[i] == 0)
			maximum[i] = PG_INT64_MAX;
	}
	return maximum;
}

static YqSharingLimit
read_limit(const YqHierarchy *hierarchy, const Datum *values, const bool *nulls)
{
	return (YqSharingLimit)
	{
		.scope = TextDatumGetCString(values[0]),
			.name = TextDatumGetCString(values[1]),
			.maximum_containers = nulls[2] ? PG_INT64_MAX : DatumGetInt32(values[2]),
			.maximum = read_maximum(hierarchy, values[3], nulls[3]),
			.containers = DatumGetInt64(values[4]),
			.used = yq_hierarchy_read_amounts(hierarchy, values[5])
	};
}

static YqSharingLimits
read_limits(const YqRequester *requester, int64 *changes)
{
	static YqSavedPlan look_up = {
		.command = "SELECT l.scope, l.name, l.maximum_containers, l.maximum_resource, l.containers, l.allocation, l.changes "
		"FROM yquota_internal.limits_of_sharing($1, $2, $3) AS l",
		.types = {"text", "text", "text"},
		.plans_once = true
	};
	MemoryContext caller = CurrentMemoryContext;
	YqSharingLimits limits = {NULL, 0};
	Datum		values[] = {
		CStringGetTextDatum(requester->application->application_id),
		CStringGetTextDatum(requester->application->username),
		CStringGetTextDatum(requester->queue->path)
	};
	uint64		count;

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	count = yq_saved_plan_run(&look_up, values, NULL);
	MemoryContextSwitchTo(caller);
	limits.limits = palloc(sizeof(YqSharingLimit) * Max(count, 1));
	for (uint64 i = 0; i < count; i++)
	{
		Datum		row[7];
		bool		nulls[7];

		heap_deform_tuple(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, row, nulls);
		limits.limits[limits.count++] = read_limit(requester->hierarchy, row, nulls);
		*changes = DatumGetInt64(row[6]);
	}
	SPI_finish();
	return limits;
}

static bool
has_limits(const YqRequester *requester)
{
	static YqSavedPlan look_up = {
		.command = "SELECT FROM yquota_internal.opportunistic_counting WHERE EXISTS ("
		"SELECT FROM yquota_internal.opportunistic_limit AS l "
		"WHERE l.scope <> 'queue' OR l.name = ANY (yquota_internal.queues_above($1)))",
		.types = {"text"},
		.plans_once = true
	};
	Datum		values[] = {CStringGetTextDatum(requester->queue->path)};

	return !yq_table_has_no_pages(YQ_OPPORTUNISTIC_COUNTING) && yq_saved_plan_execute(&look_up, values, NULL) > 0;
}

YqSharingLimits
yq_sharing_limits_load(const YqRequester *requester)
{
	static YqSavedPlan fold = {.command = "SELECT yquota_internal.fold_opportunistic_changes()"};
	YqSharingLimits limits = {NULL, 0};
	int64		changes = 0;

	if (!has_limits(requester))
		return limits;
	lock_sharing();
	limits = read_limits(requester, &changes);
	if (changes > MOST_CHANGES)
		(void) yq_saved_plan_execute(&fold, NULL, NULL);
	return limits;
}
