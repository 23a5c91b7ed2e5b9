/*-------------------------------------------------------------------------
 *
 * sharing_limit.c
 *	  Limits the number and size of OPPORTUNISTIC containers of queues, users and
 *	  applications.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "executor/spi.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "opportunistic/sharing_limit.h"
#include "storage/lmgr.h"
#include "store/catalog.h"
#include "store/saved_plan.h"
#include "store/table_scan.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

/* -- sharing limit ------------------------------------------------------------- */

YqSharingLimits
yq_sharing_limits_copy(const YqCalculator *calculator, const YqSharingLimits *limits)
{
	YqSharingLimits copy = {.count = limits->count};
	Size		size = calculator->types * sizeof(int64);

	copy.limits = palloc(sizeof(YqSharingLimit) * Max(copy.count, 1));
	for (int i = 0; i < copy.count; i++)
	{
		copy.limits[i] = limits->limits[i];
		copy.limits[i].used = memcpy(palloc(size), limits->limits[i].used, size);
	}
	return copy;
}

/* Return how many more containers of this size a sharing limit admits. */
static int64
room_of(const YqCalculator *calculator, const YqSharingLimit *limit, const int64 *size)
{
	int64		room = limit->maximum_containers - limit->containers;

	for (int i = 0; i < calculator->types; i++)
	{
		if (size[i] > 0 && limit->maximum[i] != PG_INT64_MAX)
			room = Min(room, limit->used[i] > limit->maximum[i] ? 0 : (limit->maximum[i] - limit->used[i]) / size[i]);
	}
	return Max(room, 0);
}

int
yq_sharing_limits_room(const YqCalculator *calculator, const YqSharingLimits *limits, const int64 *size,
					   int wanted, const YqSharingLimit **refusing)
{
	int64		room = wanted;

	*refusing = NULL;
	for (int i = 0; i < limits->count; i++)
	{
		int64		of_limit = room_of(calculator, &limits->limits[i], size);

		if (of_limit >= room)
			continue;
		room = of_limit;
		*refusing = &limits->limits[i];
	}
	return (int) room;
}

void
yq_sharing_limits_count(const YqCalculator *calculator, YqSharingLimits *limits, const int64 *size, int containers)
{
	for (int i = 0; i < limits->count; i++)
	{
		limits->limits[i].containers += containers;
		for (int j = 0; j < calculator->types; j++)
			limits->limits[i].used[j] += size[j] * containers;
	}
}

/* -- load sharing limits ------------------------------------------------------- */

/*
 * Load sharing limits from the tables.
 *
 * The lock on sharing is an object lock on yquota_internal.opportunistic_counter, and
 * is visible as such in pg_locks.
 */

PG_FUNCTION_INFO_V1(yq_sql_lock_sharing);

/*
 * Limit on the rows of changes that calls read one by one.  If there are more, they are
 * added to the counters.
 */
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

/* -- limits as configured --------------------------------------------------------- */

typedef struct ConfiguredLimit
{
	const char *scope;
	const char *name;			/* path of the queue; NULL: the limit applies to each user or each application */
	int64		maximum_containers; /* PG_INT64_MAX: no limit */
	int64	   *maximum;		/* per type; PG_INT64_MAX: no limit */
} ConfiguredLimit;

/*
 * The configured limits, kept until the configuration changes.  Usually there are none;
 * then a call reads no table.
 */
static struct
{
	uint64		generation;		/* generation of the hierarchy for which the limits were read; 0: none have been read */
	MemoryContext context;
	ConfiguredLimit *limits;	/* limits, in the order in which they are checked */
	int			count;
}			configured;

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

/* Columns that the statement returns, counted from 0. */
enum
{
	LIMIT_SCOPE,
	LIMIT_NAME,
	LIMIT_CONTAINERS,
	LIMIT_RESOURCE,
	LIMIT_COLUMNS
};

static void
read_configured(const YqHierarchy *hierarchy, HeapTuple row, TupleDesc columns)
{
	Datum		values[LIMIT_COLUMNS];
	bool		nulls[LIMIT_COLUMNS];

	heap_deform_tuple(row, columns, values, nulls);
	configured.limits[configured.count++] = (ConfiguredLimit)
	{
		.scope = TextDatumGetCString(values[LIMIT_SCOPE]),
			.name = nulls[LIMIT_NAME] ? NULL : TextDatumGetCString(values[LIMIT_NAME]),
			.maximum_containers = nulls[LIMIT_CONTAINERS] ? PG_INT64_MAX : DatumGetInt32(values[LIMIT_CONTAINERS]),
			.maximum = read_maximum(hierarchy, values[LIMIT_RESOURCE], nulls[LIMIT_RESOURCE])
	};
}

static void
read_configuration(const YqHierarchy *hierarchy)
{
	static YqSavedPlan look_up = {
		.command = "SELECT l.scope, l.name, l.maximum_containers, l.maximum_resource FROM yquota_internal.opportunistic_limit AS l "
		"ORDER BY l.scope = 'application', l.scope = 'user', l.name"
	};
	uint64		count;

	configured.generation = 0;
	configured.count = 0;
	if (configured.context == NULL)
		configured.context = AllocSetContextCreate(CacheMemoryContext, "yquota limits of sharing", ALLOCSET_SMALL_SIZES);
	MemoryContextReset(configured.context);
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	count = yq_saved_plan_run(&look_up, NULL, NULL);
	MemoryContextSwitchTo(configured.context);
	configured.limits = palloc(sizeof(ConfiguredLimit) * Max(count, 1));
	for (uint64 i = 0; i < count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		read_configured(hierarchy, SPI_tuptable->vals[i], SPI_tuptable->tupdesc);
	}
	SPI_finish();
	configured.generation = hierarchy->generation;
}

/* -- limits of an application ----------------------------------------------------- */

/* Is "path" the queue "above", or a descendant of it? */
static bool
is_within(YqBytes path, const char *above)
{
	Size		length = strlen(above);

	return path.length >= length && memcmp(path.data, above, length) == 0 && (path.length == length || path.data[length] == '.');
}

static YqSharingLimits
find_limits(const YqRequester *requester)
{
	YqSharingLimits limits = {palloc(sizeof(YqSharingLimit) * Max(configured.count, 1)), 0};

	for (int i = 0; i < configured.count; i++)
	{
		const ConfiguredLimit *limit = &configured.limits[i];
		const char *name = limit->name != NULL ? limit->name :
			strcmp(limit->scope, "user") == 0 ? requester->application->username : requester->application->application_id;

		if (limit->name == NULL || is_within(yq_bytes_of_string(requester->queue->path), name))
			limits.limits[limits.count++] = (YqSharingLimit) {.scope = limit->scope,.name = name,
				.maximum_containers = limit->maximum_containers,.maximum = limit->maximum,
				.used = yq_hierarchy_amounts(requester->hierarchy)};
	}
	return limits;
}

/* -- counted containers and amounts ----------------------------------------------- */

typedef struct Counting
{
	const YqHierarchy *hierarchy;
	YqSharingLimits *limits;
	YqSharingLimit *limit;		/* limit whose counter is being read */
	int			changes;		/* number of rows of changes that were read */
} Counting;

static void
add(const Counting *counting, YqSharingLimit *limit, int64 containers, Datum allocation)
{
	limit->containers += containers;
	yq_amounts_add(&counting->hierarchy->calculator, limit->used, yq_hierarchy_read_amounts(counting->hierarchy, allocation));
}

static const char *const counter_columns[] = {"scope", "containers", "allocation"};
static const char *const change_columns[] = {"queue", "username", "application_id", "containers", "allocation"};

static void
read_counter(const YqRow *row)
{
	const Counting *counting = row->argument;
	bool		isnull;

	if (strcmp(yq_row_text(row, 0), counting->limit->scope) == 0)
		add(counting, counting->limit, yq_row_bigint(row, 1, 0), yq_row_value(row, 2, &isnull));
}

static void
read_change(const YqRow *row)
{
	Counting   *counting = row->argument;
	const YqBytes names[] = {yq_row_bytes(row, 0), yq_row_bytes(row, 1), yq_row_bytes(row, 2)};
	bool		isnull;

	counting->changes++;
	for (int i = 0; i < counting->limits->count; i++)
	{
		YqSharingLimit *limit = &counting->limits->limits[i];
		bool		is_queue = strcmp(limit->scope, "queue") == 0;
		YqBytes		name = names[is_queue ? 0 : strcmp(limit->scope, "user") == 0 ? 1 : 2];

		if (name.data != NULL && is_within(name, limit->name) && (is_queue || name.length == strlen(limit->name)))
			add(counting, limit, yq_row_bigint(row, 3, 0), yq_row_value(row, 4, &isnull));
	}
}

static void
count_holdings(const YqHierarchy *hierarchy, YqSharingLimits *limits)
{
	static YqSavedPlan fold = {.command = "SELECT yquota_internal.fold_opportunistic_changes()"};
	Counting	counting = {.hierarchy = hierarchy,.limits = limits};
	Snapshot	snapshot = yq_latest_snapshot();

	for (int i = 0; i < limits->count; i++)
	{
		counting.limit = &limits->limits[i];
		yq_table_scan_index(YQ_OPPORTUNISTIC_COUNTER, "opportunistic_counter_pkey", snapshot, counting.limit->name, NULL,
							counter_columns, lengthof(counter_columns), read_counter, &counting);
	}
	yq_table_scan(YQ_OPPORTUNISTIC_CHANGE, snapshot, change_columns, lengthof(change_columns), read_change, &counting);
	UnregisterSnapshot(snapshot);
	if (counting.changes > MOST_CHANGES)
		(void) yq_saved_plan_execute(&fold, NULL, NULL);
}

YqSharingLimits
yq_sharing_limits_load(const YqRequester *requester)
{
	YqSharingLimits limits;

	if (configured.generation != requester->hierarchy->generation)
		read_configuration(requester->hierarchy);
	limits = find_limits(requester);
	if (limits.count == 0)
		return limits;
	lock_sharing();
	count_holdings(requester->hierarchy, &limits);
	return limits;
}
