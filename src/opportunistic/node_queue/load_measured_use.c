/*-------------------------------------------------------------------------
 *
 * load_measured_use.c
 *	  The measured use of a node from its last report, and what was freed there
 *	  since.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "access/xlog.h"
#include "opportunistic/node_queue/load_measured_use.h"
#include "store/index_scan.h"
#include "store/saved_plan.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

/* -- reading ----------------------------------------------------------------- */

static Datum
column(YqIndexScan *scan, TupleTableSlot *slot, const char *name, bool *isnull)
{
	return slot_getattr(slot, yq_column(yq_index_scan_relation(scan), name), isnull);
}

static YqMeasuredAmount
make_amount(const YqResource *measured, const char *name, int64 total, YqOverAllocation thresholds)
{
	return (YqMeasuredAmount)
	{
		.thresholds = thresholds,.total = total,.measured = yq_resource_amount(measured, name, strlen(name))
	};
}

static void
read_report(YqNodeQueue *queue, YqIndexScan *scan, TupleTableSlot *slot)
{
	const YqAllocationSettings *settings = yq_allocation_settings();
	const YqContainerQueueSettings *node = &queue->queue->settings;
	YqMeasuredUse *use = &queue->queue->measured;
	bool		isnull;
	Datum		measured = column(scan, slot, "measured", &isnull);
	const YqResource *resource;

	if (isnull)
		return;
	resource = DatumGetYqResourceP(measured);
	use->reported_at = DatumGetTimestampTz(column(scan, slot, "reported_at", &isnull));
	use->is_told = use->reported_at <= queue->now && queue->now - use->reported_at <= settings->report_max_age;
	use->memory = make_amount(resource, "memory-mb", node->memory, settings->memory_over_allocation);
	use->vcores = make_amount(resource, "vcores", node->vcores, settings->vcores_over_allocation);
}

static void
read_freed(YqMeasuredUse *use, YqIndexScan *scan, TupleTableSlot *slot)
{
	bool		isnull;

	if (DatumGetTimestampTz(column(scan, slot, "reported_at", &isnull)) != use->reported_at)
		return;
	use->memory.freed = DatumGetInt64(column(scan, slot, "freed_memory_mb", &isnull));
	use->vcores.freed = DatumGetInt64(column(scan, slot, "freed_vcores", &isnull));
}

void
yq_load_measured_use(YqNodeQueue *queue)
{
	YqMeasuredUse *use = &queue->queue->measured;
	text	   *node = cstring_to_text(queue->node);
	YqIndexScan *scan;
	TupleTableSlot *slot;

	/* unlogged tables are empty there, and cannot be opened */
	if (RecoveryInProgress())
		return;
	scan = yq_index_scan_open(YQ_NODE_QUEUE_REPORT, "node_queue_report_pkey");
	slot = yq_index_scan_find(scan, node);
	if (slot != NULL)
		read_report(queue, scan, slot);
	yq_index_scan_close(scan);
	if (!yq_measured_has_excess(use))
		return;
	scan = yq_index_scan_open(YQ_NODE_PREEMPTION, "node_preemption_pkey");
	slot = yq_index_scan_find(scan, node);
	if (slot != NULL)
		read_freed(use, scan, slot);
	yq_index_scan_close(scan);
}

/* -- writing ----------------------------------------------------------------- */

void
yq_record_node_preemption(YqNodeQueue *queue)
{
	static YqSavedPlan write = {
		.command = "INSERT INTO yquota_internal.node_preemption AS p (node, reported_at, freed_memory_mb, freed_vcores, containers) "
		"VALUES ($1, $2, $3, $4, $5) ON CONFLICT (node) DO UPDATE SET reported_at = excluded.reported_at, "
		"freed_memory_mb = excluded.freed_memory_mb, freed_vcores = excluded.freed_vcores, containers = p.containers + excluded.containers",
		.types = {"text", "timestamptz", "int8", "int8", "int8"}
	};
	const YqMeasuredUse *use = &queue->queue->measured;
	Datum		values[] = {
		CStringGetTextDatum(queue->node), TimestampTzGetDatum(use->reported_at),
		Int64GetDatum(use->memory.freed), Int64GetDatum(use->vcores.freed), Int64GetDatum(queue->preempted)
	};

	if (!queue->has_freed && queue->preempted == 0)
		return;
	(void) yq_saved_plan_execute(&write, values, NULL);
	queue->has_freed = false;
	queue->preempted = 0;
}
