/*-------------------------------------------------------------------------
 *
 * scheduler_setting.c
 *	  Settings of the scheduler that name what is not here, or do less than they seem to.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "admission/configuration/scheduler_setting.h"
#include "admission/configuration/setting_query.h"
#include "utils/builtins.h"

#define SCHEDULER "CapacityScheduler"
#define MANAGEMENT_POLICY "GuaranteedOrZeroCapacityOverTimePolicy"

/*
 * A request that names places waits for other racks by both delays together
 * (RegularContainerAllocator.canAssign); a negative additional one is not set.
 */
#define STILL_WAITS \
	"coalesce(s.rack_locality_additional_delay, -1) < 0 OR s.node_locality_delay::bigint + s.rack_locality_additional_delay >= 0"

List *
yq_scheduler_advise(List *findings, YqSettingTest is_wanted)
{
	static YqSavedPlan find_unwise = {
		.command = "SELECT NULL, p.property, p.value, p.advice, p.setting "
		"FROM yquota.scheduler_setting AS s CROSS JOIN LATERAL (VALUES "
		"(1, 'scheduler_class', 'yarn.resourcemanager.scheduler.class', s.scheduler_class, "
		"CASE WHEN " YQ_LAST_NAME("s.scheduler_class") " <> '" SCHEDULER "' "
		"THEN 'decisions are those of the " SCHEDULER ", the only scheduler that is here' END), "
		"(2, 'node_locality_delay', 'node-locality-delay', s.node_locality_delay::text, "
		"CASE WHEN s.node_locality_delay < 0 AND (" STILL_WAITS ") "
		"THEN 'a request that names nodes or racks still waits before it may be elsewhere: "
		"rack-locality-additional-delay 0 ends that' END), "
		"(3, 'multi_node_placement_enabled', 'multi-node-placement-enabled', s.multi_node_placement_enabled::text, "
		"CASE WHEN s.multi_node_placement_enabled THEN 'there is no placement over several nodes: "
		"containers go to the nodes that report, one after the other, and policies that sort nodes are not asked' END)"
		") AS p (place, setting, property, value, advice) WHERE p.advice IS NOT NULL ORDER BY p.place"
	};

	return yq_setting_findings(findings, &find_unwise, NULL, is_wanted);
}

List *
yq_scheduler_advise_managed_parent(List *findings, const char *queue)
{
	static YqSavedPlan find_unknown = {
		.command = "SELECT q.path, 'auto-create-child-queue.management-policy', q.auto_create_child_queue_management_policy, "
		"'leaves have capacity by " MANAGEMENT_POLICY ", the only policy that is here' "
		"FROM yquota.queue AS q WHERE q.path = $1 "
		"AND " YQ_LAST_NAME("q.auto_create_child_queue_management_policy") " <> '" MANAGEMENT_POLICY "'",
		.types = {"text"}
	};
	Datum		values[] = {CStringGetTextDatum(queue)};

	return yq_setting_findings(findings, &find_unknown, values, NULL);
}

List *
yq_scheduler_advise_unmapped(List *findings)
{
	static YqSavedPlan list_unmapped = {
		.command = "SELECT * FROM yquota_internal.advice_about_unmapped_properties()"
	};

	return yq_setting_findings(findings, &list_unmapped, NULL, NULL);
}
