/*-------------------------------------------------------------------------
 *
 * monitor_policy.c
 *	  Which policies the scheduler's monitor runs.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "admission/configuration/monitor_policy.h"
#include "catalog/pg_type_d.h"
#include "fmgr.h"
#include "store/table_scan.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/snapmgr.h"

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
