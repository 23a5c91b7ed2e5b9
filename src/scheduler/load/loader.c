/*-------------------------------------------------------------------------
 *
 * loader.c
 *	  Rows of statements on their way into a cluster.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "access/htup_details.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "queues/hierarchy.h"
#include "scheduler/load/loader.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

bool
yq_loader_is_null(const YqLoaderRow *row, int column)
{
	return row->nulls[column - 1];
}

/* Null is 0, or false. */
Datum
yq_loader_value(const YqLoaderRow *row, int column)
{
	return row->nulls[column - 1] ? (Datum) 0 : row->values[column - 1];
}

/* A string that lives as long as the cluster, or NULL. */
char *
yq_loader_text(const YqLoaderRow *row, int column)
{
	MemoryContext caller;
	char	   *result;

	if (yq_loader_is_null(row, column))
		return NULL;
	caller = MemoryContextSwitchTo(row->loader->cluster->context);
	result = TextDatumGetCString(yq_loader_value(row, column));
	MemoryContextSwitchTo(caller);
	return result;
}

int64 *
yq_loader_amounts(const YqLoaderRow *row, int column)
{
	return yq_hierarchy_read_amounts(row->loader->hierarchy, yq_loader_value(row, column));
}

/* The number of a label; -1 when it is gone.  Without labels there is one partition. */
int
yq_loader_label(const YqLoaderRow *row, int column)
{
	const YqHierarchy *hierarchy = row->loader->hierarchy;

	if (!hierarchy->settings.has_node_labels || yq_loader_is_null(row, column))
		return 0;
	return yq_hierarchy_label(hierarchy, TextDatumGetCString(yq_loader_value(row, column)));
}

void
yq_loader_read(YqClusterLoader *loader, YqSavedPlan *statement, Datum *values, YqLoaderReader reader)
{
	YqLoaderRow row = {.loader = loader};
	TupleDesc	descriptor;
	MemoryContext scratch;
	uint64		count;

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	count = yq_saved_plan_run(statement, values, NULL);
	descriptor = SPI_tuptable->tupdesc;
	row.values = palloc(descriptor->natts * sizeof(Datum));
	row.nulls = palloc(descriptor->natts * sizeof(bool));
	scratch = AllocSetContextCreate(CurrentMemoryContext, "yquota rows", ALLOCSET_SMALL_SIZES);
	for (uint64 i = 0; i < count; i++)
	{
		MemoryContext caller = MemoryContextSwitchTo(scratch);

		CHECK_FOR_INTERRUPTS();
		heap_deform_tuple(SPI_tuptable->vals[i], descriptor, row.values, row.nulls);
		reader(&row);
		MemoryContextSwitchTo(caller);
		MemoryContextReset(scratch);
	}
	SPI_finish();
}

/* To a list that lives as long as the cluster. */
List *
yq_loader_append(const YqClusterLoader *loader, List *list, void *element)
{
	MemoryContext caller = MemoryContextSwitchTo(loader->cluster->context);

	list = lappend(list, element);
	MemoryContextSwitchTo(caller);
	return list;
}
