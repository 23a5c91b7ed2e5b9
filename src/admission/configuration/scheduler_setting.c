/*-------------------------------------------------------------------------
 *
 * scheduler_setting.c
 *	  Settings as Hadoop reads them: settings of preemption, of OPPORTUNISTIC
 *	  containers, of plans and of the scheduler, with findings about them.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "admission/configuration/scheduler_setting.h"
#include "catalog/pg_type_d.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "queues/allocation_setting.h"
#include "queues/validate.h"
#include "store/saved_plan.h"
#include "store/table_scan.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/formatting.h"
#include "utils/snapmgr.h"

/* -- setting query ------------------------------------------------------------- */

/* Run an SQL statement that returns findings about settings. */

/* Columns that the statement returns, counted from 1. */
typedef enum FindingColumn
{
	FINDING_QUEUE = 1,
	FINDING_PROPERTY,
	FINDING_VALUE,
	FINDING_MESSAGE,
	FINDING_COLUMN				/* column of scheduler_setting */
} FindingColumn;

static char *
finding_text(uint64 row, FindingColumn column)
{
	return SPI_getvalue(SPI_tuptable->vals[row], SPI_tuptable->tupdesc, column);
}

/*
 * Run a statement, and add its findings to a list of violations or of advice
 * (validate.h).  Its columns are queue, property, value and message, all of type text.
 * If is_wanted is not NULL, a fifth column names a column of scheduler_setting, and
 * is_wanted() decides by this name about the finding.
 */
static List *
setting_findings(List *findings, YqSavedPlan *statement, Datum *values, YqSettingTest is_wanted)
{
	MemoryContext caller = CurrentMemoryContext;
	uint64		count;

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	count = yq_saved_plan_run(statement, values, NULL);
	for (uint64 i = 0; i < count; i++)
	{
		MemoryContext old_context = MemoryContextSwitchTo(caller);

		CHECK_FOR_INTERRUPTS();
		if (is_wanted == NULL || is_wanted(finding_text(i, FINDING_COLUMN)))
			findings = yq_violation_add(findings, finding_text(i, FINDING_QUEUE), finding_text(i, FINDING_PROPERTY),
										finding_text(i, FINDING_VALUE), finding_text(i, FINDING_MESSAGE));
		MemoryContextSwitchTo(old_context);
	}
	SPI_finish();
	return findings;
}

/* -- monitor policy ------------------------------------------------------------ */

/* Does the scheduler's monitor run the preemption policy? */

#define YQ_MONITOR_POLICIES "yarn.resourcemanager.scheduler.monitor.policies"

PG_FUNCTION_INFO_V1(yq_sql_preemption_off_because);

#define PREEMPTION_POLICY "ProportionalCapacityPreemptionPolicy"

static bool
is_preemption_policy(const char *class_name)
{
	const char *last = strrchr(class_name, '.');

	return strcmp(last == NULL ? class_name : last + 1, PREEMPTION_POLICY) == 0;
}

static bool
names_preemption(Datum policies)
{
	Datum	   *names;
	int			count;

	deconstruct_array(DatumGetArrayTypeP(policies), TEXTOID, -1, false, TYPALIGN_INT, &names, NULL, &count);
	for (int i = 0; i < count; i++)
	{
		if (is_preemption_policy(TextDatumGetCString(names[i])))
			return true;
	}
	return false;
}

static void
read_monitor(const YqRow *row)
{
	const char **off_because = row->argument;
	bool		isnull;
	Datum		policies = yq_row_value(row, 1, &isnull);

	if (yq_row_bool(row, 0))
		*off_because = isnull || names_preemption(policies) ? NULL : YQ_MONITOR_POLICIES;
}

const char *
yq_preemption_off_because(void)
{
	static const char *const columns[] = {"scheduler_monitor_enable", "scheduler_monitor_policies"};
	const char *off_because = YQ_MONITOR_ENABLE;
	Snapshot	snapshot = yq_latest_snapshot();

	yq_table_scan(YQ_SCHEDULER_SETTING, snapshot, columns, lengthof(columns), read_monitor, &off_because);
	UnregisterSnapshot(snapshot);
	return off_because;
}

/* preemption_off_because() */
Datum
yq_sql_preemption_off_because(PG_FUNCTION_ARGS)
{
	const char *off_because = yq_preemption_off_because();

	if (off_because == NULL)
		PG_RETURN_NULL();
	PG_RETURN_TEXT_P(cstring_to_text(off_because));
}

/* -- preemption setting -------------------------------------------------------- */

/*
 * Check the settings of preemption.  Hadoop rejects some values, and uses others that
 * make no sense in a round of preemption.
 */

#define PREEMPTION_PREFIX "yarn.resourcemanager.monitor.capacity.preemption."
#define ORDER_POLICY PREEMPTION_PREFIX "intra-queue-preemption.preemption-order-policy"

#define NO_FRACTION "the value is a fraction, of which 1 is all; a round computes with it as it is"

/* Data type and sensible range of a number. */
typedef enum NumberKind
{
	NUMBER_REAL_FRACTION,		/* float4, from 0 to 1 */
	NUMBER_FRACTION,			/* float8, from 0 to 1 */
	NUMBER_SHARE,				/* float8, 0 or more */
	NUMBER_INTERVAL,			/* bigint, above 0 */
	NUMBER_WAIT,				/* int8, 0 or more */
	NUMBER_OTHER_WAIT			/* int8, above 0; otherwise max_wait_before_kill applies instead */
} NumberKind;

typedef struct NumberSetting
{
	const char *column;
	const char *property;
	NumberKind	kind;
} NumberSetting;

static const NumberSetting number_settings[] = {
	{"preemption_monitoring_interval", PREEMPTION_PREFIX "monitoring_interval", NUMBER_INTERVAL},
	{"preemption_max_wait_before_kill", PREEMPTION_PREFIX "max_wait_before_kill", NUMBER_WAIT},
	{"preemption_total_preemption_per_round", PREEMPTION_PREFIX "total_preemption_per_round", NUMBER_REAL_FRACTION},
	{"preemption_max_ignored_over_capacity", PREEMPTION_PREFIX "max_ignored_over_capacity", NUMBER_SHARE},
	{"preemption_natural_termination_factor", PREEMPTION_PREFIX "natural_termination_factor", NUMBER_FRACTION},
	{"preemption_balance_after_satisfied_max_wait_before_kill",
	PREEMPTION_PREFIX "preemption-to-balance-queue-after-satisfied.max-wait-before-kill", NUMBER_OTHER_WAIT},
	{"intra_queue_preemption_minimum_threshold", PREEMPTION_PREFIX "intra-queue-preemption.minimum-threshold", NUMBER_REAL_FRACTION},
	{"intra_queue_preemption_max_allowable_limit", PREEMPTION_PREFIX "intra-queue-preemption.max-allowable-limit",
	NUMBER_REAL_FRACTION},
};

/* -- preemption order within a queue --------------------------------------------- */

bool
yq_preemption_find_order(const char *policy, bool *is_priority_first)
{
	*is_priority_first = pg_strcasecmp(policy, "priority_first") == 0;
	return *is_priority_first || pg_strcasecmp(policy, "userlimit_first") == 0;
}

static void
read_order(const YqRow *row)
{
	char	  **policy = row->argument;

	*policy = yq_row_text(row, 0);
}

/*
 * Reject an unknown name, as the valueOf() of a Java enum does.  The message also lists
 * the valid names, which Java does not.
 */
List *
yq_preemption_validate(List *violations)
{
	static const char *const columns[] = {"intra_queue_preemption_preemption_order_policy"};
	char	   *policy = NULL;
	bool		is_priority_first;
	Snapshot	snapshot;

	if (yq_preemption_off_because() != NULL)
		return violations;
	snapshot = yq_latest_snapshot();
	yq_table_scan(YQ_SCHEDULER_SETTING, snapshot, columns, lengthof(columns), read_order, &policy);
	UnregisterSnapshot(snapshot);
	if (policy == NULL || yq_preemption_find_order(policy, &is_priority_first))
		return violations;
	return yq_violation_add(violations, NULL, ORDER_POLICY, policy,
							psprintf("No enum constant org.apache.hadoop.yarn.server.resourcemanager.monitor.capacity.ProportionalCapacityPreemptionPolicy.IntraQueuePreemptionOrderPolicy.%s; policies are userlimit_first and priority_first",
									 asc_toupper(policy, strlen(policy))));
}

/* -- numbers ------------------------------------------------------------------------ */

/* Return advice about a number, or NULL if the number is sensible. */
static const char *
advice_about(NumberKind kind, float8 number)
{
	switch (kind)
	{
		case NUMBER_REAL_FRACTION:
		case NUMBER_FRACTION:
			return number < 0 || number > 1 ? NO_FRACTION : NULL;
		case NUMBER_SHARE:
			return number < 0 ? "queues that use no more than their guarantee are considered, too" : NULL;
		case NUMBER_INTERVAL:
			return number <= 0 ? "the worker makes no rounds at such an interval, and a resource manager of Hadoop does not start" : NULL;
		case NUMBER_WAIT:
			return number < 0 ? "every mark is forgotten in the round that makes it, and nothing is killed" : NULL;
		case NUMBER_OTHER_WAIT:
			return number <= 0 ? "max_wait_before_kill holds instead" : NULL;
	}
	pg_unreachable();
}

static float8
number_of(NumberKind kind, Datum value, const char **text)
{
	if (kind == NUMBER_REAL_FRACTION)
	{
		*text = DatumGetCString(DirectFunctionCall1(float4out, value));
		return DatumGetFloat4(value);
	}
	if (kind == NUMBER_FRACTION || kind == NUMBER_SHARE)
	{
		*text = DatumGetCString(DirectFunctionCall1(float8out, value));
		return DatumGetFloat8(value);
	}
	*text = psprintf(INT64_FORMAT, DatumGetInt64(value));
	return (float8) DatumGetInt64(value);
}

/* State while numbers are checked: the findings, and the test that selects columns. */
typedef struct NumberAdvice
{
	List	   *findings;
	YqSettingTest is_wanted;
} NumberAdvice;

static void
advise_numbers(const YqRow *row)
{
	NumberAdvice *wanted = row->argument;

	for (int i = 0; i < (int) lengthof(number_settings); i++)
	{
		const NumberSetting *setting = &number_settings[i];
		bool		isnull;
		Datum		value = yq_row_value(row, i, &isnull);
		const char *text;
		const char *advice = isnull ? NULL : advice_about(setting->kind, number_of(setting->kind, value, &text));

		if (advice != NULL && (wanted->is_wanted == NULL || wanted->is_wanted(setting->column)))
			wanted->findings = yq_violation_add(wanted->findings, NULL, setting->property, text, advice);
	}
}

List *
yq_preemption_advise(List *findings, YqSettingTest is_wanted)
{
	NumberAdvice wanted = {.findings = findings, .is_wanted = is_wanted};
	const char *columns[lengthof(number_settings)];
	Snapshot	snapshot = yq_latest_snapshot();

	for (int i = 0; i < (int) lengthof(columns); i++)
		columns[i] = number_settings[i].column;
	yq_table_scan(YQ_SCHEDULER_SETTING, snapshot, columns, lengthof(columns), advise_numbers, &wanted);
	UnregisterSnapshot(snapshot);
	return wanted.findings;
}

/* -- opportunistic setting ----------------------------------------------------- */

/*
 * Check the settings of OPPORTUNISTIC containers.  Some contradict each other; others
 * are unwise, although Hadoop uses them.
 */

#define ALLOCATION "yarn.resourcemanager.opportunistic-container-allocation."
#define QUEUING "yarn.resourcemanager.nm-container-queuing."
#define NODE_MANAGER "yarn.nodemanager."
#define SIZES "yarn.opportunistic-containers."

/* -- contradictions ------------------------------------------------------------------ */

static List *
check_bounds(List *violations, const char *property, int64 minimum, const char *maximum_property, int64 maximum)
{
	if (minimum <= maximum)
		return violations;
	return yq_violation_add(violations, NULL, property, psprintf(INT64_FORMAT, minimum),
							psprintf("it is above %s, which is " INT64_FORMAT, maximum_property, maximum));
}

/* Check that a minimum size does not exceed the maximum size, if a maximum is set. */
static List *
check_sizes(List *violations, const char *property, const char *maximum_property, const YqOpportunisticBounds *bounds)
{
	if (bounds->maximum < 0)
		return violations;
	return check_bounds(violations, property, bounds->minimum, maximum_property, bounds->maximum);
}

List *
yq_opportunistic_validate(List *violations)
{
	const YqAllocationSettings *settings = yq_allocation_settings();

	violations = check_bounds(violations, QUEUING "min-queue-length", settings->min_queue_length,
							  QUEUING "max-queue-length", settings->max_queue_length);
	violations = check_bounds(violations, QUEUING "min-queue-wait-time-ms", settings->min_queue_wait_time / 1000,
							  QUEUING "max-queue-wait-time-ms", settings->max_queue_wait_time / 1000);
	violations = check_sizes(violations, SIZES "min-memory-mb", SIZES "max-memory-mb", &settings->memory);
	return check_sizes(violations, SIZES "min-vcores", SIZES "max-vcores", &settings->vcores);
}

/* -- advice -------------------------------------------------------------------------- */

/* Advise about switches that have no effect because another switch is off. */
static List *
advise_switches(List *findings, const YqAllocationSettings *settings)
{
	if (!settings->distributed_scheduling_enabled)
		return findings;
	if (!settings->opportunistic_allocation_enabled)
		findings = yq_violation_add(findings, NULL, NODE_MANAGER "distributed-scheduling.enabled", "true",
									"no node allocates a container: " ALLOCATION "enabled is false");
	if (!settings->amrmproxy_enabled)
		findings = yq_violation_add(findings, NULL, NODE_MANAGER "distributed-scheduling.enabled", "true",
									"no node allocates a container: " NODE_MANAGER "amrmproxy.enabled is false");
	return findings;
}

static List *
advise_allocation(List *findings, const YqAllocationSettings *settings)
{
	if (settings->queue_capacity <= 0 && !settings->queues_by_resources)
		findings = yq_violation_add(findings, NULL, NODE_MANAGER "opportunistic-containers-max-queue-length",
									psprintf("%d", settings->queue_capacity),
									"nodes that report no capacity of their own reject every OPPORTUNISTIC container, even while they are idle");
	if (settings->nodes_used == 0)
		findings = yq_violation_add(findings, NULL, ALLOCATION "nodes-used", "0",
									"containers for anywhere are allocated on no node");
	if (settings->load_comparator == YQ_LOAD_QUEUE_WAIT_TIME)
		findings = yq_violation_add(findings, NULL, QUEUING "load-comparator", "QUEUE_WAIT_TIME",
									"queues have no limit: slots of nodes are not counted, and nodes do not follow a limit of waiting times");
	return findings;
}

List *
yq_opportunistic_advise(List *findings)
{
	const YqAllocationSettings *settings = yq_allocation_settings();

	findings = advise_switches(findings, settings);
	if (settings->opportunistic_allocation_enabled)
		findings = advise_allocation(findings, settings);
	return findings;
}

/* -- reservation setting ------------------------------------------------------- */

/* Read and check the settings of plans. */

/* -- reading --------------------------------------------------------------------- */

/* Columns that reservation_settings() returns, counted from 1. */
typedef enum SettingColumn
{
	SETTING_IS_ENABLED = 1,
	SETTING_CHECKS_ACCESS,
	SETTING_STEP,
	SETTING_LARGEST_PERIOD,
	SETTING_SMOOTHNESS,
	SETTING_FAVORS_EARLY,
	SETTING_WRAPS,
	SETTING_REPEATS,
	SETTING_PLANS_AROUND,
	SETTING_READS_FRACTIONS,
	SETTING_ENDS_AVERAGES,
	SETTING_MOST_WINDOWS,
	SETTING_MOST_COPIES,
	SETTING_MOST_REQUESTS,
	SETTING_WINDOW,
	SETTING_INSTANTANEOUS,
	SETTING_AVERAGE,
	SETTING_ALIGNS,
	SETTING_LIMITS_USERS,
	SETTING_ENFORCEMENT_WINDOW,
	SETTING_MOVES_ON_EXPIRY
} SettingColumn;

static Datum
value_of(int column)
{
	bool		isnull;

	return SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, column, &isnull);
}

/*
 * Convert a configured share to a fraction.  By Hadoop's manual, 1 is the whole plan,
 * but Hadoop takes it as one per cent.  A setting chooses between the two.
 */
static float4
share_of(int column)
{
	float4		share = DatumGetFloat4(value_of(column));

	return share <= 1 && DatumGetBool(value_of(SETTING_READS_FRACTIONS)) ? share : share / 100;
}

static YqReservationSettings
read_settings(void)
{
	return (YqReservationSettings) {
		.is_enabled = DatumGetBool(value_of(SETTING_IS_ENABLED)),
		.checks_access = DatumGetBool(value_of(SETTING_CHECKS_ACCESS)),
		.step = DatumGetInt64(value_of(SETTING_STEP)),
		.largest_period = DatumGetInt64(value_of(SETTING_LARGEST_PERIOD)),
		.smoothness = DatumGetInt32(value_of(SETTING_SMOOTHNESS)),
		.favors_early = DatumGetBool(value_of(SETTING_FAVORS_EARLY)),
		.wraps = DatumGetBool(value_of(SETTING_WRAPS)),
		.repeats = DatumGetBool(value_of(SETTING_REPEATS)),
		.plans_around = DatumGetBool(value_of(SETTING_PLANS_AROUND)),
		.ends_averages = DatumGetBool(value_of(SETTING_ENDS_AVERAGES)),
		.most_windows = DatumGetInt32(value_of(SETTING_MOST_WINDOWS)),
		.most_copies = DatumGetInt32(value_of(SETTING_MOST_COPIES)),
		.most_requests = DatumGetInt32(value_of(SETTING_MOST_REQUESTS)),
		.window = DatumGetInt64(value_of(SETTING_WINDOW)),
		.instantaneous_share = share_of(SETTING_INSTANTANEOUS),
		.average_share = share_of(SETTING_AVERAGE),
		.aligns = DatumGetBool(value_of(SETTING_ALIGNS)),
		.limits_users = DatumGetBool(value_of(SETTING_LIMITS_USERS)),
		.enforcement_window = DatumGetInt64(value_of(SETTING_ENFORCEMENT_WINDOW)),
		.moves_on_expiry = DatumGetBool(value_of(SETTING_MOVES_ON_EXPIRY))
	};
}

YqReservationSettings
yq_reservation_settings(const char *queue)
{
	static YqSavedPlan look_up = {
		.command = "SELECT s.* FROM yquota_internal.reservation_settings($1) AS s",
		.types = {"text"}
	};
	Datum		values[] = {CStringGetTextDatum(queue)};
	YqReservationSettings settings;

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	(void) yq_saved_plan_run(&look_up, values, NULL);
	settings = read_settings();
	SPI_finish();
	return settings;
}

/* -- violations and advice ----------------------------------------------------------- */

List *
yq_reservation_validate(List *violations)
{
	static YqSavedPlan find_refused = {
		.command = "SELECT r.queue, r.property, r.value, r.message FROM yquota_internal.refused_settings() AS r "
		"ORDER BY r.kind, r.queue COLLATE \"C\", r.place"
	};

	return setting_findings(violations, &find_refused, NULL, NULL);
}

List *
yq_reservation_advise_plan(List *findings, const char *queue)
{
	static YqSavedPlan find_unwise = {
		.command = "SELECT u.queue, u.property, u.value, u.advice "
		"FROM yquota_internal.unwise_settings('plan', $1) AS u ORDER BY u.place",
		.types = {"text"}
	};
	Datum		values[] = {CStringGetTextDatum(queue)};

	return setting_findings(findings, &find_unwise, values, NULL);
}

List *
yq_reservation_advise(List *findings, YqSettingTest is_wanted)
{
	static YqSavedPlan find_unwise = {
		.command = "SELECT u.queue, u.property, u.value, u.advice, u.setting "
		"FROM yquota_internal.unwise_settings('reservation system', NULL) AS u ORDER BY u.place"
	};

	return setting_findings(findings, &find_unwise, NULL, is_wanted);
}

/* -- scheduler setting --------------------------------------------------------- */

List *
yq_scheduler_advise(List *findings, YqSettingTest is_wanted)
{
	static YqSavedPlan find_unwise = {
		.command = "SELECT u.queue, u.property, u.value, u.advice, u.setting "
		"FROM yquota_internal.unwise_settings('scheduler', NULL) AS u ORDER BY u.place"
	};

	return setting_findings(findings, &find_unwise, NULL, is_wanted);
}

List *
yq_scheduler_advise_managed_parent(List *findings, const char *queue)
{
	static YqSavedPlan find_unknown = {
		.command = "SELECT u.queue, u.property, u.value, u.advice "
		"FROM yquota_internal.unwise_settings('managed parent', $1) AS u",
		.types = {"text"}
	};
	Datum		values[] = {CStringGetTextDatum(queue)};

	return setting_findings(findings, &find_unknown, values, NULL);
}

List *
yq_scheduler_advise_unmapped(List *findings)
{
	static YqSavedPlan list_unmapped = {
		.command = "SELECT * FROM yquota_internal.advice_about_unmapped_properties()"
	};

	return setting_findings(findings, &list_unmapped, NULL, NULL);
}
