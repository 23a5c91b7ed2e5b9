/*-------------------------------------------------------------------------
 *
 * load_preemption.c
 *	  Loads the state of a round of preemption: configuration, queues, marks.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "admission/configuration/scheduler_setting.h"
#include "common/int.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "preemption/load_preemption.h"
#include "preemption/loaded_preemption.h"
#include "queues/allocation_setting.h"
#include "queues/effective.h"
#include "queues/text.h"
#include "scheduler/cache/cluster_cache.h"
#include "scheduler/state/limits.h"
#include "store/clock.h"
#include "store/saved_plan.h"
#include "store/table_scan.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#define INTRA_QUEUE_ENABLED "yarn.resourcemanager.monitor.capacity.preemption.intra-queue-preemption.enabled"

/* -- configuration --------------------------------------------------------------- */

typedef enum SettingColumn
{
	SETTING_MONITOR_ENABLE,
	SETTING_OBSERVE_ONLY,
	SETTING_MAX_WAIT_BEFORE_KILL,
	SETTING_TOTAL_PREEMPTION_PER_ROUND,
	SETTING_MAX_IGNORED_OVER_CAPACITY,
	SETTING_NATURAL_TERMINATION_FACTOR,
	SETTING_SELECT_BASED_ON_RESERVED_CONTAINERS,
	SETTING_ADDITIONAL_RES_BALANCE,
	SETTING_BALANCE_ENABLED,
	SETTING_BALANCE_MAX_WAIT_BEFORE_KILL,
	SETTING_CONSERVATIVE_DRF,
	SETTING_INTRA_QUEUE_ENABLED,
	SETTING_INTRA_QUEUE_MINIMUM_THRESHOLD,
	SETTING_INTRA_QUEUE_MAX_ALLOWABLE_LIMIT,
	SETTING_INTRA_QUEUE_ORDER,
	SETTING_INTRA_QUEUE_CONSERVATIVE_DRF,
	SETTING_UNDERUTILIZED_ENABLED,
	SETTING_UNDERUTILIZED_DELAY,
	SETTING_UNDERUTILIZED_MOVES,
	SETTING_LAZY,
	SETTING_CANDIDATE_ORDER,
	SETTING_MODE,
	SETTING_BALANCE_KEEPS_MARKS
} SettingColumn;

/* Columns of scheduler_setting. */
static const char *const setting_columns[] = {
	[SETTING_MONITOR_ENABLE] = "scheduler_monitor_enable",
	[SETTING_OBSERVE_ONLY] = "preemption_observe_only",
	[SETTING_MAX_WAIT_BEFORE_KILL] = "preemption_max_wait_before_kill",
	[SETTING_TOTAL_PREEMPTION_PER_ROUND] = "preemption_total_preemption_per_round",
	[SETTING_MAX_IGNORED_OVER_CAPACITY] = "preemption_max_ignored_over_capacity",
	[SETTING_NATURAL_TERMINATION_FACTOR] = "preemption_natural_termination_factor",
	[SETTING_SELECT_BASED_ON_RESERVED_CONTAINERS] = "preemption_select_based_on_reserved_containers",
	[SETTING_ADDITIONAL_RES_BALANCE] = "preemption_additional_res_balance_based_on_reserved_containers",
	[SETTING_BALANCE_ENABLED] = "preemption_balance_after_satisfied_enabled",
	[SETTING_BALANCE_MAX_WAIT_BEFORE_KILL] = "preemption_balance_after_satisfied_max_wait_before_kill",
	[SETTING_CONSERVATIVE_DRF] = "preemption_conservative_drf",
	[SETTING_INTRA_QUEUE_ENABLED] = "intra_queue_preemption_enabled",
	[SETTING_INTRA_QUEUE_MINIMUM_THRESHOLD] = "intra_queue_preemption_minimum_threshold",
	[SETTING_INTRA_QUEUE_MAX_ALLOWABLE_LIMIT] = "intra_queue_preemption_max_allowable_limit",
	[SETTING_INTRA_QUEUE_ORDER] = "intra_queue_preemption_preemption_order_policy",
	[SETTING_INTRA_QUEUE_CONSERVATIVE_DRF] = "intra_queue_preemption_conservative_drf",
	[SETTING_UNDERUTILIZED_ENABLED] = "underutilized_preemption_enabled",
	[SETTING_UNDERUTILIZED_DELAY] = "underutilized_preemption_reserved_container_delay_ms",
	[SETTING_UNDERUTILIZED_MOVES] = "underutilized_preemption_allow_move_reservation",
	[SETTING_LAZY] = "lazy_preemption_enabled",
	[SETTING_CANDIDATE_ORDER] = "preemption_candidate_order",
	[SETTING_MODE] = "preemption_mode",
	[SETTING_BALANCE_KEEPS_MARKS] = "preemption_balance_keeps_marks",
};

/* Read a column of the only row.  Returns false when the column is NULL. */
static bool
find_setting(const YqRow *row, SettingColumn column, Datum *value)
{
	bool		isnull;

	*value = yq_row_value(row, column, &isnull);
	return !isnull;
}

static void
set_flag(const YqRow *row, bool *flag, SettingColumn column)
{
	Datum		value;

	if (find_setting(row, column, &value))
		*flag = DatumGetBool(value);
}

/* Convert milliseconds to microseconds.  The largest possible wait becomes an endless wait. */
static void
set_wait(const YqRow *row, int64 *wait, SettingColumn column)
{
	Datum		value;

	if (find_setting(row, column, &value) && pg_mul_s64_overflow(DatumGetInt64(value), 1000, wait))
		*wait = DatumGetInt64(value) < 0 ? PG_INT64_MIN : PG_INT64_MAX;
}

static void
set_float4(const YqRow *row, float4 *number, SettingColumn column)
{
	Datum		value;

	if (find_setting(row, column, &value))
		*number = DatumGetFloat4(value);
}

static void
set_float8(const YqRow *row, float8 *number, SettingColumn column)
{
	Datum		value;

	if (find_setting(row, column, &value))
		*number = DatumGetFloat8(value);
}

/*
 * Set the order of the intra-queue selector.  The name may be unknown, because a commit refuses
 * unknown names only if rounds read the setting.
 */
static void
set_intra_queue_order(const YqRow *row, YqPreemptionConfiguration *configuration)
{
	Datum		value;
	const char *name;
	bool		is_priority_first;

	if (!find_setting(row, SETTING_INTRA_QUEUE_ORDER, &value))
		return;
	name = TextDatumGetCString(value);
	if (yq_preemption_find_order(name, &is_priority_first))
		configuration->settings.intra_queue_order = is_priority_first ? YQ_PRIORITY_FIRST : YQ_USERLIMIT_FIRST;
	else if (configuration->off_because == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid intra_queue_preemption_preemption_order_policy \"%s\"", name),
				 errhint("Policies are userlimit_first and priority_first.")));
}

static void
set_own_settings(const YqRow *row, YqPreemptionConfiguration *configuration)
{
	Datum		value;

	if (find_setting(row, SETTING_CANDIDATE_ORDER, &value) && strcmp(TextDatumGetCString(value), "least_paid") == 0)
		configuration->settings.candidate_order = YQ_LEAST_PAID;
	configuration->is_advising = find_setting(row, SETTING_MODE, &value) && strcmp(TextDatumGetCString(value), "advise") == 0;
	set_flag(row, &configuration->settings.keeps_balance_marks, SETTING_BALANCE_KEEPS_MARKS);
}

static void
read_settings(const YqRow *row)
{
	YqPreemptionConfiguration *configuration = row->argument;
	YqPreemptionSettings *settings = &configuration->settings;

	set_flag(row, &configuration->is_monitor_on, SETTING_MONITOR_ENABLE);
	set_flag(row, &settings->observes_only, SETTING_OBSERVE_ONLY);
	set_wait(row, &settings->maximum_wait, SETTING_MAX_WAIT_BEFORE_KILL);
	set_float4(row, &settings->total_per_round, SETTING_TOTAL_PREEMPTION_PER_ROUND);
	set_float8(row, &settings->ignored_over_capacity, SETTING_MAX_IGNORED_OVER_CAPACITY);
	set_float8(row, &settings->natural_termination_factor, SETTING_NATURAL_TERMINATION_FACTOR);
	set_flag(row, &settings->selects_by_reserved, SETTING_SELECT_BASED_ON_RESERVED_CONTAINERS);
	set_flag(row, &settings->balances_reserved, SETTING_ADDITIONAL_RES_BALANCE);
	set_flag(row, &settings->balances_satisfied, SETTING_BALANCE_ENABLED);
	set_wait(row, &settings->balance_wait, SETTING_BALANCE_MAX_WAIT_BEFORE_KILL);
	set_flag(row, &settings->is_conservative, SETTING_CONSERVATIVE_DRF);
	set_flag(row, &settings->selects_intra_queue, SETTING_INTRA_QUEUE_ENABLED);
	set_float4(row, &settings->intra_queue_threshold, SETTING_INTRA_QUEUE_MINIMUM_THRESHOLD);
	set_float4(row, &settings->intra_queue_limit, SETTING_INTRA_QUEUE_MAX_ALLOWABLE_LIMIT);
	set_intra_queue_order(row, configuration);
	set_flag(row, &settings->intra_queue_is_conservative, SETTING_INTRA_QUEUE_CONSERVATIVE_DRF);
	set_flag(row, &settings->selects_by_priority, SETTING_UNDERUTILIZED_ENABLED);
	set_wait(row, &settings->reservation_delay, SETTING_UNDERUTILIZED_DELAY);
	set_flag(row, &settings->moves_reservations, SETTING_UNDERUTILIZED_MOVES);
	set_flag(row, &settings->is_lazy, SETTING_LAZY);
	set_own_settings(row, configuration);
}

YqPreemptionConfiguration
yq_preemption_configuration(void)
{
	YqPreemptionConfiguration configuration = {.off_because = yq_preemption_off_because()};
	Snapshot	snapshot;

	yq_preemption_set_defaults(&configuration.settings);
	snapshot = yq_latest_snapshot();
	yq_table_scan(YQ_SCHEDULER_SETTING, snapshot, setting_columns, lengthof(setting_columns), read_settings, &configuration);
	UnregisterSnapshot(snapshot);
	return configuration;
}

/* -- the last round ---------------------------------------------------------------- */

static void
read_round(const YqRow *row)
{
	YqPreemptionRoundRow *last = row->argument;
	bool		isnull;

	last->is_there = true;
	last->round_at = DatumGetTimestampTz(yq_row_value(row, 0, &isnull));
	last->server_started_at = DatumGetTimestampTz(yq_row_value(row, 1, &isnull));
}

YqPreemptionRoundRow
yq_preemption_last_round(void)
{
	static const char *const columns[] = {"round_at", "server_started_at"};
	YqPreemptionRoundRow last = {.is_there = false};
	Snapshot	snapshot = yq_latest_snapshot();

	yq_table_scan(YQ_PREEMPTION_ROUND, snapshot, columns, lengthof(columns), read_round, &last);
	UnregisterSnapshot(snapshot);
	return last;
}

/* -- queues ------------------------------------------------------------------------ */

/* Set the effective amount.  If it is zero in all types, set a fraction of the partition instead. */
static void
set_effective(const YqPreemption *state, int64 *result, const int64 *effective, int label, float4 part)
{
	if (effective != NULL && !yq_amounts_are_none(state->calculator, effective))
		memcpy(result, effective, state->calculator->types * sizeof(int64));
	else
		yq_amounts_multiply(state->calculator, result, state->totals[label], part);
}

static void
set_preemption_label(const YqLoadedPreemption *preemption, YqPreemptionQueue *queue, int label)
{
	const YqCluster *cluster = preemption->loaded->cluster;
	const YqClusterQueue *from = queue->source;
	const YqQueueLabel *configured = yq_queue_label(from->queue, label);
	YqPreemptionQueueLabel *entry = &queue->labels[label];
	Size		size = cluster->calculator->types * sizeof(int64);

	entry->absolute_capacity = configured == NULL ? 0 : configured->absolute_capacity;
	set_effective(preemption->state, entry->guaranteed, configured == NULL ? NULL : configured->effective_minimum, label,
				  entry->absolute_capacity);
	set_effective(preemption->state, entry->maximum, configured == NULL ? NULL : configured->effective_maximum, label,
				  cluster->shares[label] ? 1 : configured == NULL ? 0 : configured->absolute_maximum);
	memcpy(entry->used, yq_at(cluster, from->used, label), size);
	memcpy(entry->reserved, yq_at(cluster, from->reserved, label), size);
	if (queue->is_leaf && configured != NULL)
		entry->used_capacity = yq_queue_used(cluster->hierarchy, configured, entry->used);
}

static bool
is_set(const YqQueue *queue, YqInheritedProperty property)
{
	const char *value = queue->inherited[property].value;

	return value != NULL && strcmp(value, "true") == 0;
}

static void
set_disabled(const YqLoadedPreemption *preemption, YqPreemptionQueue *queue, const YqQueue *from)
{
	if (!preemption->configuration.is_monitor_on)
		queue->disabled_by = YQ_MONITOR_ENABLE;
	else if (is_set(from, YQ_INHERITED_DISABLE_PREEMPTION))
		queue->disabled_by = from->inherited[YQ_INHERITED_DISABLE_PREEMPTION].from;
	queue->is_disabled = !preemption->configuration.is_monitor_on || is_set(from, YQ_INHERITED_DISABLE_PREEMPTION);

	if (!preemption->state->settings.selects_intra_queue)
		queue->intra_disabled_by = INTRA_QUEUE_ENABLED;
	else if (is_set(from, YQ_INHERITED_INTRA_QUEUE_DISABLE_PREEMPTION))
		queue->intra_disabled_by = from->inherited[YQ_INHERITED_INTRA_QUEUE_DISABLE_PREEMPTION].from;
	else if (queue->is_disabled)
		queue->intra_disabled_by = queue->disabled_by;
	queue->is_intra_disabled = queue->is_disabled || !preemption->state->settings.selects_intra_queue ||
		is_set(from, YQ_INHERITED_INTRA_QUEUE_DISABLE_PREEMPTION);
}

static void
set_preemption_leaf(const YqPreemption *state, YqPreemptionQueue *queue, const YqClusterQueue *from)
{
	const YqQueueLabel *configured = yq_queue_label(from->queue, 0);

	if (configured != NULL && configured->effective_minimum != NULL)
		memcpy(queue->capacity, configured->effective_minimum, state->calculator->types * sizeof(int64));
	queue->maximum_am_percent = from->queue->am_percent;
	queue->is_fair = yq_is_fair(from->policy);
}

static void
add_queue(YqLoadedPreemption *preemption, YqPreemptionQueue *parent, YqClusterQueue *from)
{
	YqPreemptionQueue *added = yq_preemption_add_queue(preemption->state, parent, from->queue->path, from->is_leaf);

	CHECK_FOR_INTERRUPTS();
	check_stack_depth();
	added->source = from;
	if (parent != NULL && from->parent->respects_priority)
		added->relative_priority = from->priority;
	set_disabled(preemption, added, from->queue);
	if (from->is_leaf)
		set_preemption_leaf(preemption->state, added, from);
	for (int label = 0; label < preemption->loaded->cluster->hierarchy->label_count; label++)
		set_preemption_label(preemption, added, label);
	for (int i = 0; i < from->child_count; i++)
	{
		if (!from->children[i]->queue->is_vacant)
			add_queue(preemption, added, from->children[i]);
	}
}

/* -- demand within the limits of users ------------------------------------------------ */

/* The amounts that a user of a leaf may still get on a label. */
typedef struct Headroom
{
	YqClusterUser *user;		/* part of the key, as is the label */
	int64		label;
	int64		left[2][YQ_MAX_RESOURCE_TYPES];	/* index 0: for all demand; index 1: for demand without reservations */
} Headroom;

static Headroom *
find_headroom(HTAB *headrooms, const YqCluster *cluster, YqClusterUser *user, int label)
{
	struct
	{
		YqClusterUser *user;
		int64		label;
	}			key = {user, label};
	bool		found;
	Headroom   *headroom = hash_search(headrooms, &key, HASH_ENTER, &found);

	if (!found)
	{
		const int64 *limit = yq_user_limit(cluster, user, label, YQ_RESPECT_EXCLUSIVITY);
		const int64 *used = yq_at(cluster, user->used, label);

		for (int i = 0; i < cluster->calculator->types; i++)
			headroom->left[0][i] = headroom->left[1][i] = Max(limit[i] - used[i], 0);
	}
	return headroom;
}

/* Add the demand of an application, but no more than its user may still get. */
static void
add_demand(const YqCluster *cluster, int64 *pending, int64 *left, const int64 *wanted, const int64 *reserved)
{
	for (int i = 0; i < cluster->calculator->types; i++)
	{
		int64		want = Max(wanted[i] - (reserved == NULL ? 0 : reserved[i]), 0);
		int64		take = Min(left[i], want);

		pending[i] += take;
		left[i] -= take;
	}
}

static void
add_leaf_demand(const YqCluster *cluster, HTAB *headrooms, YqPreemptionQueue *leaf, int label)
{
	const YqClusterQueue *from = leaf->source;
	YqPreemptionQueueLabel *entry = &leaf->labels[label];

	for (int i = 0; i < from->demanding_count[label]; i++)
	{
		const YqClusterApplication *application = from->demanding[label][i];
		Headroom   *headroom = find_headroom(headrooms, cluster, application->user, label);
		const int64 *pending = yq_at(cluster, application->pending, label);

		add_demand(cluster, entry->pending, headroom->left[0], pending, NULL);
		add_demand(cluster, entry->pending_without_reserved, headroom->left[1], pending,
				   yq_at(cluster, application->reserved, label));
	}
}

static void
add_pending_amounts(YqLoadedPreemption *preemption)
{
	YqCluster  *cluster = preemption->loaded->cluster;
	HASHCTL		control = {.keysize = offsetof(Headroom, left),.entrysize = sizeof(Headroom),.hcxt = CurrentMemoryContext};
	HTAB	   *headrooms = hash_create("yquota headroom of users", 256, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);

	for (int i = 0; i < preemption->state->queue_count; i++)
	{
		YqPreemptionQueue *queue = preemption->state->queues[i];
		YqClusterQueue *from = queue->source;
		bool		is_ordered = false;

		CHECK_FOR_INTERRUPTS();
		for (int label = 0; queue->is_leaf && label < cluster->hierarchy->label_count; label++)
		{
			if (!from->is_demanding[label])
				continue;
			if (!is_ordered)
				yq_cluster_order_leaf(cluster, from);
			is_ordered = true;
			add_leaf_demand(cluster, headrooms, queue, label);
		}
	}
	hash_destroy(headrooms);
}

/* -- marks ----------------------------------------------------------------------------- */

typedef enum MarkColumn
{
	MARK_CONTAINER_ID,
	MARK_MARKED_AT,
	MARK_SELECTOR,
	MARK_IS_KILLABLE,
	MARK_IS_ADVISED,
	MARK_TOLD_AT,
	MARK_COLUMNS
} MarkColumn;

static const char *const mark_columns[] = {"container_id", "marked_at", "selector", "is_killable", "is_advised", "told_at"};

static YqPreemptionSelector
selector_of_name(const char *name)
{
	YqPreemptionSelector selector = YQ_SELECTOR_QUEUE_PRIORITY;

	while (selector + 1 < YQ_SELECTORS && strcmp(yq_preemption_selector_name(selector), name) != 0)
		selector++;
	return selector;
}

/* Has the time passed in which the resource manager should have ended the container? */
static bool
is_ignored(const YqLoadedPreemption *preemption, const YqRow *row)
{
	bool		isnull;
	Datum		told_at = yq_row_value(row, MARK_TOLD_AT, &isnull);

	return !isnull && yq_row_bool(row, MARK_IS_ADVISED) &&
		yq_clock_now() >= DatumGetTimestampTz(told_at) + preemption->gap + yq_allocation_settings()->allocation_expiry;
}

/* Is a mark forgotten in the round that makes it?  This happens if the wait is negative. */
static bool
is_forgotten_at_once(const YqLoadedPreemption *preemption, const YqRow *row)
{
	const YqPreemption *state = preemption->state;

	return !yq_row_bool(row, MARK_IS_KILLABLE) && !yq_row_bool(row, MARK_IS_ADVISED) &&
		yq_preemption_forget_before(state, selector_of_name(yq_row_text(row, MARK_SELECTOR))) > state->now;
}

static void
read_mark(const YqRow *row)
{
	YqLoadedPreemption *preemption = row->argument;
	MemoryContext caller = MemoryContextSwitchTo(preemption->state->context);
	YqPreemptionMark *mark;
	bool		isnull;
	bool		found;

	if (is_ignored(preemption, row))
	{
		preemption->ignored = lappend(preemption->ignored, yq_row_text(row, MARK_CONTAINER_ID));
		preemption->forgotten = lappend(preemption->forgotten, llast(preemption->ignored));
		MemoryContextSwitchTo(caller);
		return;
	}
	if (is_forgotten_at_once(preemption, row))
	{
		preemption->forgotten = lappend(preemption->forgotten, yq_row_text(row, MARK_CONTAINER_ID));
		MemoryContextSwitchTo(caller);
		return;
	}
	mark = yq_bytes_table_enter(preemption->marks, yq_row_bytes(row, MARK_CONTAINER_ID), preemption->state->context, &found);
	mark->marked_at = DatumGetTimestampTz(yq_row_value(row, MARK_MARKED_AT, &isnull)) + preemption->gap;
	/* without lazy preemption, a container marked as killable is killed when it is selected again */
	mark->is_killable = yq_row_bool(row, MARK_IS_KILLABLE) && preemption->state->settings.is_lazy;
	mark->is_advised = yq_row_bool(row, MARK_IS_ADVISED);
	if (mark->is_killable || mark->is_advised)
		preemption->has_told = true;
	else if (mark->marked_at < yq_preemption_forget_before(preemption->state,
														   selector_of_name(yq_row_text(row, MARK_SELECTOR))))
		preemption->forgotten = lappend(preemption->forgotten, yq_row_text(row, MARK_CONTAINER_ID));
	MemoryContextSwitchTo(caller);
}

/*
 * Forget the marks of containers that have ended or have become OPPORTUNISTIC.  No round
 * takes an OPPORTUNISTIC container.
 */
static void
forget_other_marks(YqLoadedPreemption *preemption)
{
	static YqSavedPlan look_up = {
		.command = "SELECT m.container_id FROM yquota_internal.preemption_mark AS m WHERE NOT EXISTS ("
		"SELECT FROM yquota.container AS c WHERE c.container_id = m.container_id AND c.execution_type = 'GUARANTEED')"
	};

	preemption->forgotten = list_concat(preemption->forgotten, yq_saved_plan_strings(&look_up, NULL));
}

/* Columns of the statement, numbered from 1. */
enum
{
	TOLD_QUEUE = 1,
	TOLD_LABEL,
	TOLD_ALLOCATION,
	TOLD_IS_KILLABLE
};

/* Add a container to the figures of its queues, if the container is killable or counts as ended. */
static void
count_told(YqLoadedPreemption *preemption, HeapTuple tuple, TupleDesc descriptor)
{
	const YqHierarchy *hierarchy = preemption->hierarchy;
	bool		isnull;
	const char *path = TextDatumGetCString(SPI_getbinval(tuple, descriptor, TOLD_QUEUE, &isnull));
	int			label = !hierarchy->settings.has_node_labels ? 0 :
		yq_hierarchy_label(hierarchy, TextDatumGetCString(SPI_getbinval(tuple, descriptor, TOLD_LABEL, &isnull)));
	const int64 *amounts = yq_hierarchy_read_amounts(hierarchy, SPI_getbinval(tuple, descriptor, TOLD_ALLOCATION, &isnull));
	bool		is_killable = DatumGetBool(SPI_getbinval(tuple, descriptor, TOLD_IS_KILLABLE, &isnull));
	const YqQueue *from = yq_hierarchy_find_by_name(hierarchy, path);
	YqPreemptionQueue *queue = from == NULL ? NULL : yq_loaded_preemption_queue(preemption, from);

	for (; queue != NULL && label >= 0; queue = queue->parent)
	{
		YqPreemptionQueueLabel *entry = &queue->labels[label];

		for (int i = 0; i < preemption->state->calculator->types; i++)
		{
			if (is_killable)
				entry->killable[i] += amounts[i];
			else
				entry->used[i] -= amounts[i];
		}
	}
}

static void
count_all_told(YqLoadedPreemption *preemption)
{
	static YqSavedPlan look_up = {
		.command = "SELECT m.queue, m.label, m.allocation, NOT m.is_advised FROM yquota_internal.marked_container AS m "
		"WHERE m.is_killable AND $2 OR m.is_advised AND m.container_id <> ALL ($1)",
		.types = {"_text", "bool"}
	};
	Datum		values[] = {yq_array_of_strings(preemption->ignored), BoolGetDatum(preemption->state->settings.is_lazy)};
	uint64		count;

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	count = yq_saved_plan_run(&look_up, values, NULL);
	for (uint64 i = 0; i < count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		count_told(preemption, SPI_tuptable->vals[i], SPI_tuptable->tupdesc);
	}
	SPI_finish();
}

static void
read_marks(YqLoadedPreemption *preemption)
{
	Snapshot	snapshot;

	if (yq_table_has_no_pages(YQ_PREEMPTION_MARK))
		return;
	preemption->marks = yq_bytes_table_create("yquota marks for preemption", sizeof(YqPreemptionMark),
											  preemption->state->context);
	snapshot = yq_latest_snapshot();
	yq_table_scan(YQ_PREEMPTION_MARK, snapshot, mark_columns, MARK_COLUMNS, read_mark, preemption);
	UnregisterSnapshot(snapshot);
	forget_other_marks(preemption);
	if (preemption->has_told)
		count_all_told(preemption);
}

/*
 * Return the time since the last round in which no round could run, because the server was down.  A
 * container's wait does not include this time.  After a restart or a failover, this is the whole
 * time since the last round, because no table records when the server went down.
 */
static int64
gap_since(const YqPreemptionRoundRow *last, TimestampTz as_of)
{
	if (!last->is_there || last->server_started_at == PgStartTime || as_of <= last->round_at)
		return 0;
	return as_of - last->round_at;
}

/* -- all ---------------------------------------------------------------------------------- */

/* Return the session's cluster.  If there is none, load a cluster for this round only. */
static YqLoadedCluster *
find_preemption_cluster(YqHierarchy *hierarchy)
{
	YqLoadedCluster *loaded = yq_cluster_cache_read(hierarchy);
	Snapshot	snapshot;

	if (loaded != NULL)
		return loaded;
	snapshot = yq_latest_snapshot();
	loaded = yq_cluster_load(hierarchy, NULL, 0, snapshot);
	UnregisterSnapshot(snapshot);
	return loaded;
}

static void
set_cluster_figures(YqLoadedPreemption *preemption)
{
	const YqCluster *cluster = preemption->loaded->cluster;
	const YqHierarchy *hierarchy = preemption->hierarchy;
	YqPreemption *state = preemption->state;
	Size		size = cluster->calculator->types * sizeof(int64);

	for (int label = 0; label < hierarchy->label_count; label++)
		memcpy(state->totals[label], hierarchy->totals[label], size);
	memcpy(state->cluster, hierarchy->cluster, size);
	memcpy(state->minimum_allocation, hierarchy->settings.minimum_allocation, size);
	for (int i = 0; i < cluster->name_count && !state->has_reservations; i++)
		state->has_reservations = cluster->nodes[i] != NULL && cluster->nodes[i]->reservation != NULL;
}

YqLoadedPreemption *
yq_preemption_load(YqHierarchy *hierarchy, const YqPreemptionConfiguration *configuration,
				   const YqPreemptionRoundRow *last, TimestampTz as_of)
{
	YqPreemption *state = yq_preemption_create(&hierarchy->calculator, hierarchy->label_count);
	MemoryContext caller = MemoryContextSwitchTo(state->context);
	YqLoadedPreemption *preemption = palloc0(sizeof(YqLoadedPreemption));

	preemption->state = state;
	preemption->hierarchy = hierarchy;
	preemption->configuration = *configuration;
	preemption->last = *last;
	preemption->gap = gap_since(last, as_of);
	preemption->recorded_at = DT_NOBEGIN;
	preemption->loaded = find_preemption_cluster(hierarchy);
	state->settings = configuration->settings;
	state->now = as_of;
	state->source = preemption;
	set_cluster_figures(preemption);
	if (preemption->loaded->cluster->root != NULL)
		add_queue(preemption, NULL, preemption->loaded->cluster->root);
	add_pending_amounts(preemption);
	yq_preemption_loader_begin(preemption);
	read_marks(preemption);
	yq_preemption_prepare(state);
	MemoryContextSwitchTo(caller);
	return preemption;
}

/*
 * Free the state.  A cluster that was loaded only for this round is freed as well, because
 * it is in the state's context.
 */
void
yq_preemption_unload(YqLoadedPreemption *preemption)
{
	MemoryContextDelete(preemption->state->context);
}
