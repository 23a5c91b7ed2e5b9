/*-------------------------------------------------------------------------
 *
 * last_am_limit.c
 *	  The limit for application masters that is in force in a leaf: that of the
 *	  last look at it.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "admission/am_limit.h"
#include "admission/last_am_limit.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "queues/effective.h"
#include "queues/hierarchy.h"
#include "store/catalog.h"
#include "store/row_update.h"
#include "store/saved_plan.h"
#include "store/table_scan.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

int64 *
yq_leaf_am_limit_of(const YqHierarchy *hierarchy, const YqQueue *leaf, const int64 *limit)
{
	const YqQueueLabel *label = yq_queue_may_use_label(leaf, 0) ? yq_queue_label(leaf, 0) : NULL;

	return label == NULL ? yq_hierarchy_amounts(hierarchy) : yq_queue_am_limit(hierarchy, label, limit);
}

static int64 *
idle_am_limit(const YqHierarchy *hierarchy, const YqQueue *leaf)
{
	return yq_leaf_am_limit_of(hierarchy, leaf, yq_queue_limit_by(hierarchy, leaf, NULL));
}

static bool
is_leaf(const YqQueue *queue)
{
	return (queue->kind == YQ_QUEUE_LEAF || queue->kind == YQ_QUEUE_PLAN) && queue->parent != NULL;
}

/* -- reading --------------------------------------------------------------- */

typedef enum LimitColumn
{
	LIMIT_AMOUNTS,
	LIMIT_QUEUE,
	LIMIT_COLUMNS
} LimitColumn;

static const char *const column_names[LIMIT_COLUMNS] = {
	[LIMIT_AMOUNTS] = "amounts",
	[LIMIT_QUEUE] = "queue",
};

typedef struct Reading
{
	const YqHierarchy *hierarchy;
	int64	   *limit;			/* of the last row; NULL: there was none */
	int64	  **of_queue;
} Reading;

static void
read_limit(const YqRow *row)
{
	Reading    *reading = row->argument;
	bool		isnull;
	Datum		amounts = yq_row_value(row, LIMIT_AMOUNTS, &isnull);

	reading->limit = isnull ? NULL : yq_hierarchy_read_amounts(reading->hierarchy, amounts);
}

static void
read_limit_of_queue(const YqRow *row)
{
	Reading    *reading = row->argument;
	const YqQueue *queue = yq_hierarchy_find_bytes(reading->hierarchy, yq_row_bytes(row, LIMIT_QUEUE));

	read_limit(row);
	if (queue != NULL)
		reading->of_queue[queue->number] = reading->limit;
}

static int64 *
read_row(const YqHierarchy *hierarchy, const YqQueue *queue)
{
	Reading		reading = {.hierarchy = hierarchy};
	Snapshot	snapshot = yq_latest_snapshot();

	yq_table_scan_index(YQ_AM_LIMIT, "am_limit_pkey", snapshot, queue->path, NULL, column_names, LIMIT_QUEUE,
					   read_limit, &reading);
	UnregisterSnapshot(snapshot);
	return reading.limit;
}

/* What the row of root tells. */
typedef struct RootRow
{
	bool		is_there;
	bool		is_current;
} RootRow;

static void
read_root(const YqRow *row)
{
	RootRow    *root = row->argument;
	bool		isnull;

	(void) yq_row_value(row, LIMIT_AMOUNTS, &isnull);
	root->is_there = true;
	root->is_current = !isnull;
}

static RootRow
find_root(void)
{
	RootRow		root = {false};
	Snapshot	snapshot;

	if (yq_table_has_no_pages(YQ_AM_LIMIT))
		return root;
	snapshot = yq_latest_snapshot();
	yq_table_scan_index(YQ_AM_LIMIT, "am_limit_pkey", snapshot, "root", NULL, column_names, LIMIT_QUEUE, read_root, &root);
	UnregisterSnapshot(snapshot);
	return root;
}

bool
yq_last_am_limits_are_known(void)
{
	return find_root().is_current;
}

int64 *
yq_last_am_limit(const YqHierarchy *hierarchy, const YqQueue *leaf)
{
	int64	   *limit = read_row(hierarchy, leaf);

	return limit == NULL ? idle_am_limit(hierarchy, leaf) : limit;
}

int64 **
yq_last_am_limits(const YqHierarchy *hierarchy)
{
	Reading		reading = {.hierarchy = hierarchy};
	Snapshot	snapshot;

	if (!yq_last_am_limits_are_known())
		return NULL;
	reading.of_queue = palloc_extended(sizeof(int64 *) * hierarchy->queue_count, MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	snapshot = yq_latest_snapshot();
	yq_table_scan(YQ_AM_LIMIT, snapshot, column_names, LIMIT_COLUMNS, read_limit_of_queue, &reading);
	UnregisterSnapshot(snapshot);
	for (int i = 0; i < hierarchy->queue_count; i++)
	{
		if (reading.of_queue[i] == NULL && is_leaf(hierarchy->queues[i]))
			reading.of_queue[i] = idle_am_limit(hierarchy, hierarchy->queues[i]);
	}
	return reading.of_queue;
}

/* -- writing --------------------------------------------------------------- */

void
yq_last_am_limits_write(const YqHierarchy *hierarchy, const YqQueue **leaves, int64 **limits, int count)
{
	static const char *const columns[] = {"queue", "amounts"};
	YqRowUpdate  *changer = yq_row_update_open(YQ_AM_LIMIT, "am_limit_pkey", columns, lengthof(columns));

	for (int i = 0; i < count; i++)
	{
		Datum		key = CStringGetTextDatum(leaves[i]->path);

		CHECK_FOR_INTERRUPTS();
		(void) yq_row_update_find(changer, &key);
		yq_row_update_set(changer, 1, yq_hierarchy_resource(hierarchy, limits[i]));
		yq_row_update_write(changer);
	}
	yq_row_update_close(changer);
}

static void
forget(void)
{
	static YqSavedPlan statement = {
		.command = "WITH gone AS (DELETE FROM yquota_internal.am_limit WHERE queue <> 'root') "
		"UPDATE yquota_internal.am_limit SET amounts = NULL WHERE queue = 'root'"
	};

	(void) yq_saved_plan_execute(&statement, NULL, NULL);
}

void
yq_last_am_limits_forget(void)
{
	if (yq_last_am_limits_are_known())
		forget();
}

/* -- what is left now -------------------------------------------------------- */

/* Count less for the queue that events name, and those above it. */
static void
take_off(const YqHierarchy *hierarchy, int64 **used, const char *queue_name, const int64 *amounts)
{
	for (const YqQueue *queue = yq_hierarchy_find_by_name(hierarchy, queue_name); queue != NULL; queue = queue->parent)
	{
		for (int i = 0; i < hierarchy->calculator.types; i++)
			used[queue->number][i] -= amounts[i];
	}
}

/* What a node holds that is out of service does not count for the others. */
static void
take_off_lost(const YqHierarchy *hierarchy, int64 **used)
{
	static YqSavedPlan look_up = {
		.command = "SELECT c.queue, c.allocation FROM yquota.container AS c "
		"WHERE c.execution_type = 'GUARANTEED' AND c.node IN ("
		"SELECT n.name FROM yquota.node AS n WHERE n.state <> 'RUNNING' AND (n.label = '' OR NOT $1))",
		.types = {"bool"}
	};
	Datum		values[] = {BoolGetDatum(hierarchy->settings.has_node_labels)};
	uint64		rows;

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	rows = yq_saved_plan_run(&look_up, values, NULL);
	for (uint64 i = 0; i < rows; i++)
	{
		HeapTuple	row = SPI_tuptable->vals[i];
		char	   *queue = SPI_getvalue(row, SPI_tuptable->tupdesc, 1);
		bool		isnull;
		Datum		allocation = SPI_getbinval(row, SPI_tuptable->tupdesc, 2, &isnull);

		CHECK_FOR_INTERRUPTS();
		if (queue != NULL)
			take_off(hierarchy, used, queue, yq_hierarchy_read_amounts(hierarchy, allocation));
	}
	SPI_finish();
}

/* By number of the queue, in the default partition. */
static int64 **
read_use(YqHierarchy *hierarchy)
{
	int64	  **used = palloc_extended(sizeof(int64 *) * hierarchy->queue_count, MCXT_ALLOC_HUGE);

	yq_hierarchy_read_usage(hierarchy);
	for (int i = 0; i < hierarchy->queue_count; i++)
	{
		const YqQueueLabel *label = yq_queue_label(hierarchy->queues[i], 0);

		used[i] = yq_hierarchy_amounts(hierarchy);
		if (label != NULL)
			memcpy(used[i], label->used, sizeof(int64) * hierarchy->calculator.types);
	}
	take_off_lost(hierarchy, used);
	return used;
}

static void
compute(YqHierarchy *hierarchy)
{
	const YqQueue **leaves = palloc_extended(sizeof(YqQueue *) * (hierarchy->queue_count + 1), MCXT_ALLOC_HUGE);
	int64	  **limits = palloc_extended(sizeof(int64 *) * (hierarchy->queue_count + 1), MCXT_ALLOC_HUGE);
	int64	  **used = read_use(hierarchy);
	int			count = 0;

	leaves[count] = hierarchy->root;
	limits[count++] = yq_hierarchy_amounts(hierarchy);
	for (int i = 0; i < hierarchy->queue_count; i++)
	{
		const YqQueue *leaf = hierarchy->queues[i];

		CHECK_FOR_INTERRUPTS();
		if (!is_leaf(leaf))
			continue;
		limits[count] = yq_leaf_am_limit_of(hierarchy, leaf, yq_queue_limit_by(hierarchy, leaf, used));
		if (yq_amounts_are_equal(&hierarchy->calculator, limits[count], idle_am_limit(hierarchy, leaf)))
			continue;
		leaves[count++] = leaf;
	}
	yq_last_am_limits_write(hierarchy, leaves, limits, count);
}

void
yq_last_am_limits_compute(YqHierarchy *hierarchy)
{
	MemoryContext scratch;
	MemoryContext old_context;

	if (hierarchy->root == NULL)
		return;
	scratch = AllocSetContextCreate(CurrentMemoryContext, "yquota limits of leaves", ALLOCSET_DEFAULT_SIZES);
	old_context = MemoryContextSwitchTo(scratch);
	yq_hierarchy_compute(hierarchy);
	forget();
	compute(hierarchy);
	MemoryContextSwitchTo(old_context);
	MemoryContextDelete(scratch);
}

void
yq_last_am_limits_compute_again(YqHierarchy *hierarchy)
{
	if (find_root().is_there)
		yq_last_am_limits_compute(hierarchy);
}
