/*-------------------------------------------------------------------------
 *
 * allocation_setting.c
 *	  Settings of yquota.scheduler_setting for allocated containers and for
 *	  OPPORTUNISTIC containers.
 *
 * Calls about nodes and containers read these settings many times a second, and need no
 * queue.  The settings are therefore kept apart from the hierarchy of queues, which is
 * large.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "access/xact.h"
#include "queues/allocation_setting.h"
#include "store/table_scan.h"
#include "utils/fmgrprotos.h"
#include "utils/numeric.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

typedef enum SettingKind
{
	SETTING_BOOLEAN,
	SETTING_INTEGER,
	SETTING_REAL,
	SETTING_INTERVAL
} SettingKind;

typedef struct Setting
{
	const char *column;
	SettingKind kind;
	size_t		offset;			/* offset of a field (bool, int32, float4 or int64) in YqAllocationSettings */
} Setting;

#define SETTING(column, kind, field) {column, kind, offsetof(YqAllocationSettings, field)}

static const Setting settings[] = {
	SETTING("allocation_expiry", SETTING_INTERVAL, allocation_expiry),
	SETTING("opportunistic_token_expiry", SETTING_INTERVAL, opportunistic_token_expiry),
	SETTING("opportunistic_allocation_enabled", SETTING_BOOLEAN, opportunistic_allocation_enabled),
	SETTING("distributed_scheduling_enabled", SETTING_BOOLEAN, distributed_scheduling_enabled),
	SETTING("amrmproxy_enabled", SETTING_BOOLEAN, amrmproxy_enabled),
	SETTING("auto_update_containers", SETTING_BOOLEAN, auto_update_containers),
	SETTING("uses_pause_for_preemption", SETTING_BOOLEAN, uses_pause_for_preemption),
	SETTING("vmem_check_enabled", SETTING_BOOLEAN, vmem_check_enabled),
	SETTING("opportunistic_ignores_places", SETTING_BOOLEAN, ignores_places),
	SETTING("opportunistic_nodes_used", SETTING_INTEGER, nodes_used),
	SETTING("opportunistic_max_per_heartbeat", SETTING_INTEGER, most_per_heartbeat),
	SETTING("opportunistic_queue_capacity", SETTING_INTEGER, queue_capacity),
	SETTING("min_queue_length", SETTING_INTEGER, min_queue_length),
	SETTING("max_queue_length", SETTING_INTEGER, max_queue_length),
	SETTING("min_queue_wait_time", SETTING_INTERVAL, min_queue_wait_time),
	SETTING("max_queue_wait_time", SETTING_INTERVAL, max_queue_wait_time),
	SETTING("node_sorting_interval", SETTING_INTERVAL, node_sorting_interval),
	SETTING("queue_limit_stdev", SETTING_REAL, queue_limit_stdev),
	SETTING("vmem_pmem_ratio", SETTING_REAL, vmem_pmem_ratio),
	SETTING("opportunistic_minimum_allocation_mb", SETTING_INTEGER, memory.minimum),
	SETTING("opportunistic_maximum_allocation_mb", SETTING_INTEGER, memory.maximum),
	SETTING("opportunistic_increment_allocation_mb", SETTING_INTEGER, memory.increment),
	SETTING("opportunistic_minimum_allocation_vcores", SETTING_INTEGER, vcores.minimum),
	SETTING("opportunistic_maximum_allocation_vcores", SETTING_INTEGER, vcores.maximum),
	SETTING("opportunistic_increment_allocation_vcores", SETTING_INTEGER, vcores.increment),
	SETTING("report_max_age", SETTING_INTERVAL, report_max_age),
};

/* Columns of scheduler_setting whose value is a keyword.  They are read after the columns in settings[]. */
static const char *const words[] = {
	"node_load_comparator", "opportunistic_queue_policy", "opportunistic_anywhere_order", "node_queue_order", "opportunistic_kill_order"
};

static const char *const start_orders[] = {
	[YQ_START_BY_ARRIVAL] = NULL,
	[YQ_START_SHORTEST] = "shortest_first",
	[YQ_START_BY_PRIORITY] = "application_priority",
	[YQ_START_FAIR] = "fair_by_user",
	[YQ_START_CLOSEST_TO_END] = "closest_to_end",
};

static const char *const kill_orders[] = {
	[YQ_KILL_LAST_STARTED] = NULL,
	[YQ_KILL_LEAST_PAID] = "least_paid",
	[YQ_KILL_LOWEST_PRIORITY] = "lowest_priority",
	[YQ_KILL_FURTHEST_FROM_END] = "furthest_from_end",
	[YQ_KILL_FEWEST] = "fewest",
};

static const YqAllocationSettings defaults = {
	.allocation_expiry = INT64CONST(600) * USECS_PER_SEC,
	.opportunistic_token_expiry = -1,
	.vmem_check_enabled = true,
	.nodes_used = 10,
	.most_per_heartbeat = -1,
	.min_queue_length = 5,
	.max_queue_length = 15,
	.min_queue_wait_time = INT64CONST(10) * 1000,
	.max_queue_wait_time = INT64CONST(100) * 1000,
	.node_sorting_interval = USECS_PER_SEC,
	.queue_limit_stdev = 1.0f,
	.vmem_pmem_ratio = 2.1f,
	.memory = {-1, -1, -1},
	.vcores = {-1, -1, -1},
	.report_max_age = INT64CONST(10) * USECS_PER_SEC,
};

static YqAllocationSettings current;
static bool is_current = false;

/* Convert an interval to microseconds.  The CHECK constraint of the column excludes months and overflow. */
static int64
microseconds_of(const Interval *interval)
{
	return interval->time + (int64) interval->day * USECS_PER_DAY;
}

static void
read_setting(const Setting *setting, Datum value)
{
	char	   *field = (char *) &current + setting->offset;

	switch (setting->kind)
	{
		case SETTING_BOOLEAN:
			*(bool *) field = DatumGetBool(value);
			return;
		case SETTING_INTEGER:
			*(int32 *) field = DatumGetInt32(value);
			return;
		case SETTING_REAL:
			*(float4 *) field = DatumGetFloat4(value);
			return;
		case SETTING_INTERVAL:
			*(int64 *) field = microseconds_of(DatumGetIntervalP(value));
			return;
	}
	pg_unreachable();
}

static bool
is_word(const YqRow *row, int column, const char *word)
{
	char	   *found = yq_row_text(row, lengthof(settings) + column);

	return found != NULL && strcmp(found, word) == 0;
}

/* Return the position of the column's keyword in a list of keywords, or 0 if the column is NULL. */
static int
place_of_word(const YqRow *row, int column, const char *const *among, int count)
{
	for (int i = 1; i < count; i++)
	{
		if (is_word(row, column, among[i]))
			return i;
	}
	return 0;
}

static void
read_settings(const YqRow *row)
{
	for (int i = 0; i < (int) lengthof(settings); i++)
	{
		bool		isnull;
		Datum		value = yq_row_value(row, i, &isnull);

		if (!isnull)
			read_setting(&settings[i], value);
	}
	if (is_word(row, 0, "QUEUE_WAIT_TIME"))
		current.load_comparator = YQ_LOAD_QUEUE_WAIT_TIME;
	else if (is_word(row, 0, "QUEUE_LENGTH_THEN_RESOURCES"))
		current.load_comparator = YQ_LOAD_QUEUE_LENGTH_THEN_RESOURCES;
	current.queues_by_resources = is_word(row, 1, "BY_RESOURCES");
	current.anywhere_by_turns = is_word(row, 2, "round_robin");
	current.start_order = place_of_word(row, 3, start_orders, lengthof(start_orders));
	current.kill_order = place_of_word(row, 4, kill_orders, lengthof(kill_orders));
}

/* -- over-allocation ----------------------------------------------------------- */

static const char *const over_allocation_columns[] = {"resource_type", "threshold", "preemption_threshold"};

/* Convert to millionths.  The CHECK constraint of the column allows at most 6 decimals and excludes overflow. */
static int64
millionths_of(const YqRow *row, int column)
{
	bool		isnull;
	Datum		value = yq_row_value(row, column, &isnull);

	if (isnull)
		return 0;
	value = DirectFunctionCall2(numeric_mul, value, NumericGetDatum(int64_to_numeric(1000000)));
	return DatumGetInt64(DirectFunctionCall1(numeric_int8, value));
}

static void
read_over_allocation(const YqRow *row)
{
	YqOverAllocation over_allocation = {millionths_of(row, 1), millionths_of(row, 2)};

	if (strcmp(yq_row_text(row, 0), "memory-mb") == 0)
		current.memory_over_allocation = over_allocation;
	else
		current.vcores_over_allocation = over_allocation;
	if (over_allocation.threshold > 0 || over_allocation.preemption_threshold > 0)
		current.over_allocates = true;
}

/* -- the current settings ------------------------------------------------------- */

/*
 * Register callbacks for invalidations.  A change of the configuration invalidates
 * yquota.queue.  A replica that applies such a change invalidates the changed table
 * instead.
 */
static void
watch_settings(void)
{
	static bool is_watching = false;

	if (is_watching)
		return;
	yq_catalog_on_change_of_rows(YQ_QUEUE, &is_current);
	yq_catalog_on_change_of_rows(YQ_SCHEDULER_SETTING, &is_current);
	yq_catalog_on_change_of_rows(YQ_OVER_ALLOCATION, &is_current);
	yq_catalog_on_abort(&is_current);
	is_watching = true;
}

const YqAllocationSettings *
yq_allocation_settings(void)
{
	const char *columns[lengthof(settings) + lengthof(words)];
	Snapshot	snapshot;

	watch_settings();
	yq_catalog_accept_changes();
	if (is_current)
		return &current;

	for (int i = 0; i < (int) lengthof(settings); i++)
		columns[i] = settings[i].column;
	memcpy(&columns[lengthof(settings)], words, sizeof(words));

	/*
	 * Set the flag before the table is read.  An invalidation that arrives during the read
	 * clears the flag, and so does an error.  A parallel plan never sets the flag, because
	 * its snapshot may be older than an invalidation that was already processed.
	 */
	is_current = !IsInParallelMode();
	current = defaults;
	snapshot = yq_latest_snapshot();
	yq_table_scan(YQ_SCHEDULER_SETTING, snapshot, columns, lengthof(columns), read_settings, NULL);
	yq_table_scan(YQ_OVER_ALLOCATION, snapshot, over_allocation_columns, lengthof(over_allocation_columns),
				  read_over_allocation, NULL);
	UnregisterSnapshot(snapshot);
	if (current.opportunistic_token_expiry < 0)
		current.opportunistic_token_expiry = current.allocation_expiry;
	return &current;
}

const char *
yq_kill_order_name(YqKillOrder order)
{
	return kill_orders[order];
}

bool
yq_allocation_is_distributed(const YqAllocationSettings *settings)
{
	return settings->distributed_scheduling_enabled && settings->amrmproxy_enabled;
}
