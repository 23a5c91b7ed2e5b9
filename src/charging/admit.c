/*-------------------------------------------------------------------------
 *
 * admit.c
 *	  Whether the records of charging admit a container or an allocation.
 *
 * The checks ask the configuration: projects, resource types, prices and the
 * archive horizon.  event.c checks an event by itself.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "base/settings.h"
#include "charging/admit.h"
#include "pricing/timeline.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

YqProblem *
yq_admit_check_allocation(const YqResource *allocation, TimestampTz at)
{
	YqResourceEntry entries[YQ_RESOURCE_MAX_ENTRIES];
	int			count = yq_resource_read(allocation, entries);
	uint64		weight;
	char	   *unknown;
	YqRateClass *rate_class;

	for (int i = 0; i < count; i++)
	{
		if (entries[i].amount > YQ_ALLOCATION_MAX_AMOUNT)
			return yq_problem(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE,
							  psprintf("allocation of resource \"%.*s\" is out of range",
									   entries[i].name_length, entries[i].name),
							  "An allocation holds at most 2^50 native units of a resource type.");
	}
	rate_class = yq_rate_class_find(allocation, NULL, &weight, &unknown);
	if (rate_class == NULL)
		return yq_problem(ERRCODE_FOREIGN_KEY_VIOLATION,
						  psprintf("resource type \"%s\" does not exist", unknown),
						  "Insert it into yquota.resource_type.");
	if (!yq_rate_class_is_payable(rate_class, at))
		return yq_problem(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE,
						  pstrdup("price of the allocation is out of range"),
						  "Lower the base price or the multiplier, or correct the allocation.");
	return NULL;
}

YqProblem *
yq_admit_check_age(const YqEvent *event)
{
	TimestampTz horizon = yq_timeline_cached()->horizon;

	if (event->occurred_at >= horizon)
		return NULL;
	return yq_problem(ERRCODE_INVALID_PARAMETER_VALUE,
					  psprintf("%s of container \"%s\" lies before the archive horizon at %s",
							   yq_event_kind_name(event->kind),
							   text_to_cstring(event->container_id),
							   timestamptz_to_str(horizon)),
					  "Look for the container in the archive; so old an event is accepted only when its container is still in the books.");
}

/* A START that arrives so late that its instant may be a mistake. */
static YqProblem *
check_start_age(const YqEvent *event)
{
	if (yq_max_event_age == 0 ||
		event->recorded_at - event->occurred_at <= (int64) yq_max_event_age * USECS_PER_SEC)
		return NULL;
	return yq_problem(ERRCODE_DATETIME_FIELD_OVERFLOW,
					  psprintf("CONTAINER_START of container \"%s\" at %s is older than yquota.max_event_age",
							   text_to_cstring(event->container_id),
							   timestamptz_to_str(event->occurred_at)),
					  "Send the instant at which it happened. One that is as old as that is accepted by yquota.retry_rejects() when it has been set aside.");
}

static YqProblem *
check_project(YqLedger *ledger, const text *project)
{
	if (project == NULL)
		return yq_problem(ERRCODE_NOT_NULL_VIOLATION,
						  pstrdup("CONTAINER_START names no project"),
						  "Set project, or username in the form project__user.");
	if (!yq_ledger_know_project(ledger, project))
		return yq_problem(ERRCODE_FOREIGN_KEY_VIOLATION,
						  psprintf("project \"%s\" does not exist", text_to_cstring(project)),
						  "Insert it into yquota.project, or turn on yquota.auto_create_project.");
	return NULL;
}

YqProblem *
yq_admit_start(YqLedger *ledger, const YqEvent *event, YqContainer *container)
{
	YqProblem  *problem;

	memset(container, 0, sizeof(*container));
	yq_event_payer(event, &container->project, &container->username);
	problem = yq_admit_check_age(event);
	if (problem == NULL)
		problem = check_start_age(event);
	if (problem == NULL)
		problem = check_project(ledger, container->project);
	if (problem == NULL)
		problem = yq_admit_check_allocation(event->allocation, event->occurred_at);
	if (problem != NULL)
		return problem;

	container->container_id = event->container_id;
	container->application_id = event->application_id;
	container->is_given = yq_event_is_given(event);
	container->state = yq_state_of_event(event);
	yq_state_complete(&container->state, event->container_id, ledger->labels.guaranteed);
	container->label = yq_ledger_label_of(ledger, event->node);
	container->started_at = event->occurred_at;
	container->settled_at = event->occurred_at;
	container->wait = yq_ledger_wait(yq_state_waits(&container->state, ledger->labels.opportunistic) ?
									 container->started_at : DT_NOEND);
	return NULL;
}
