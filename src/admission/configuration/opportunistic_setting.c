/*-------------------------------------------------------------------------
 *
 * opportunistic_setting.c
 *	  Settings of OPPORTUNISTIC containers that contradict each other, or that Hadoop
 *	  follows although they are unwise.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "admission/configuration/opportunistic_setting.h"
#include "queues/allocation_setting.h"
#include "queues/validate.h"

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

/* Bounds that are set both; the scheduler's own give way to the other. */
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

/* Switches that need others. */
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
									"nodes that tell no capacity of their own reject every OPPORTUNISTIC container, also while they are idle");
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
