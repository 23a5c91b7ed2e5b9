/*-------------------------------------------------------------------------
 *
 * preemption_setting.c
 *	  Settings of preemption that Hadoop refuses, or computes with although no
 *	  round can make sense of them.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "admission/configuration/monitor_policy.h"
#include "admission/configuration/preemption_setting.h"
#include "catalog/pg_type_d.h"
#include "queues/validate.h"
#include "store/table_scan.h"
#include "utils/builtins.h"
#include "utils/formatting.h"
#include "utils/snapmgr.h"

#define PREFIX "yarn.resourcemanager.monitor.capacity.preemption."
#define ORDER_POLICY PREFIX "intra-queue-preemption.preemption-order-policy"

#define NO_FRACTION "the value is a fraction, of which 1 is all; a round computes with it as it is"

/* What a number should be. */
typedef enum NumberKind
{
	NUMBER_REAL_FRACTION,		/* real, from 0 to 1 */
	NUMBER_FRACTION,			/* double precision, from 0 to 1 */
	NUMBER_SHARE,				/* double precision, 0 or more */
	NUMBER_INTERVAL,			/* bigint, above 0 */
	NUMBER_WAIT,				/* bigint, 0 or more */
	NUMBER_OTHER_WAIT			/* bigint, above 0: others wait for max_wait_before_kill */
} NumberKind;

typedef struct NumberSetting
{
	const char *column;
	const char *property;
	NumberKind	kind;
} NumberSetting;

static const NumberSetting number_settings[] = {
	{"preemption_monitoring_interval", PREFIX "monitoring_interval", NUMBER_INTERVAL},
	{"preemption_max_wait_before_kill", PREFIX "max_wait_before_kill", NUMBER_WAIT},
	{"preemption_total_preemption_per_round", PREFIX "total_preemption_per_round", NUMBER_REAL_FRACTION},
	{"preemption_max_ignored_over_capacity", PREFIX "max_ignored_over_capacity", NUMBER_SHARE},
	{"preemption_natural_termination_factor", PREFIX "natural_termination_factor", NUMBER_FRACTION},
	{"preemption_balance_after_satisfied_max_wait_before_kill",
	PREFIX "preemption-to-balance-queue-after-satisfied.max-wait-before-kill", NUMBER_OTHER_WAIT},
	{"intra_queue_preemption_minimum_threshold", PREFIX "intra-queue-preemption.minimum-threshold", NUMBER_REAL_FRACTION},
	{"intra_queue_preemption_max_allowable_limit", PREFIX "intra-queue-preemption.max-allowable-limit",
	NUMBER_REAL_FRACTION},
};

/* -- the order within a queue ---------------------------------------------------- */

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

/* As Java's valueOf() refuses a name; it does not tell which there are. */
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

/* What is unwise about a number; NULL: nothing. */
static const char *
advice_about(NumberKind kind, float8 number)
{
	switch (kind)
	{
		case NUMBER_REAL_FRACTION:
		case NUMBER_FRACTION:
			return number < 0 || number > 1 ? NO_FRACTION : NULL;
		case NUMBER_SHARE:
			return number < 0 ? "queues that use no more than their guarantee are looked at, too" : NULL;
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

/* Findings, and of which columns they are wanted. */
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
