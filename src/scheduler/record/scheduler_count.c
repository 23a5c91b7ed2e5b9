/*-------------------------------------------------------------------------
 *
 * scheduler_count.c
 *	  Counts of the scheduler for metrics.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "admission/application/queue_lock.h"
#include "scheduler/record/scheduler_count.h"
#include "store/saved_plan.h"
#include "utils/builtins.h"

void
yq_scheduler_count_add(const char *name, int64 number)
{
	static YqSavedPlan add = {
		.command = "INSERT INTO yquota_internal.scheduler_count AS c (name, part, total) VALUES ($1, $2, $3) "
		"ON CONFLICT (name, part) DO UPDATE SET total = c.total + excluded.total",
		.types = {"text", "int4", "int8"}
	};
	Datum		values[3];

	if (number == 0)
		return;
	values[0] = CStringGetTextDatum(name);
	values[1] = Int32GetDatum(yq_queue_lock_total());
	values[2] = Int64GetDatum(number);
	(void) yq_saved_plan_execute(&add, values, NULL);
}
