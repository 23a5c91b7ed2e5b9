/*-------------------------------------------------------------------------
 *
 * request.c
 *	  Requests for containers: amounts and node labels.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "admission/submission/request.h"
#include "lib/stringinfo.h"
#include "queues/text.h"

static bool
refuse_request(YqVerdict *verdict, const char *decided_by, const YqQueue *queue, char *reason)
{
	verdict->decided_by = decided_by;
	verdict->decided_at = queue == NULL ? NULL : queue->path;
	verdict->reason = reason;
	return false;
}

static int64
round_up_to_step(int64 amount, int64 step)
{
	return step == 0 ? amount : (amount + (step - 1)) / step * step;
}

void
yq_request_normalize(const YqHierarchy *hierarchy, int64 *amounts, const int64 *maximum)
{
	const int64 *minimum = hierarchy->settings.minimum_allocation;
	int			types = hierarchy->calculator.is_dominant ? hierarchy->calculator.types : YQ_MEMORY + 1;

	for (int i = 0; i < types; i++)
		amounts[i] = Min(round_up_to_step(Max(amounts[i], minimum[i]), minimum[i]), maximum[i]);
	/* the default calculator looks only at memory; every container has one core */
	for (int i = types; i < hierarchy->calculator.types; i++)
		amounts[i] = i == YQ_VCORES && amounts[YQ_MEMORY] > 0 ? 1 : 0;
}

int64 *
yq_request_maximum(const YqHierarchy *hierarchy, const YqQueue *queue)
{
	int64	   *result = yq_hierarchy_amounts(hierarchy);
	bool		has_nodes = !yq_amounts_are_none(&hierarchy->calculator, hierarchy->largest_node);

	for (int i = 0; i < hierarchy->calculator.types; i++)
	{
		/* amounts must not exceed the limit of charging, because running containers are charged */
		result[i] = Min(hierarchy->settings.maximum_allocation[i], YQ_ALLOCATION_MAX_AMOUNT);
		if (has_nodes)
			result[i] = Min(result[i], hierarchy->largest_node[i]);
		if (queue != NULL && queue->kind == YQ_QUEUE_LEAF)
			result[i] = Min(result[i], queue->maximum_allocation[i]);
	}
	return result;
}

static char *
known_types(const YqHierarchy *hierarchy)
{
	StringInfoData text;

	initStringInfo(&text);
	for (int i = 0; i < hierarchy->calculator.types; i++)
		appendStringInfo(&text, "%s%s", i > 0 ? ", " : "", hierarchy->type_names[i]);
	return text.data;
}

static int
find_entry_type(const YqHierarchy *hierarchy, const YqResourceEntry *entry)
{
	for (int i = 0; i < hierarchy->calculator.types; i++)
	{
		if (strlen(hierarchy->type_names[i]) == (Size) entry->name_length &&
			memcmp(hierarchy->type_names[i], entry->name, entry->name_length) == 0)
			return i;
	}
	return -1;
}

bool
yq_request_read(const YqHierarchy *hierarchy, const YqQueue *queue, const YqResource *resource,
				int64 *amounts, YqVerdict *verdict)
{
	YqResourceEntry entries[YQ_RESOURCE_MAX_ENTRIES];
	int			count = yq_resource_read(resource, entries);

	for (int i = 0; i < count; i++)
	{
		int			type = find_entry_type(hierarchy, &entries[i]);

		if (type < 0)
			return refuse_request(verdict, "allocation", queue,
								  psprintf("Unknown resource '%s'. Known resources are [%s]",
										   pnstrdup(entries[i].name, entries[i].name_length),
										   known_types(hierarchy)));
		amounts[type] = entries[i].amount;
	}
	return true;
}

bool
yq_request_check(const YqHierarchy *hierarchy, const YqQueue *queue, const int64 *amounts,
				 const int64 *maximum, YqVerdict *verdict)
{
	for (int i = 0; i < hierarchy->calculator.types; i++)
	{
		if (amounts[i] < 0)
			return refuse_request(verdict, "allocation", queue,
								  psprintf("Invalid resource request! Requested resource is less than 0: requested resource type=[%s], requested resource=%s",
										   hierarchy->type_names[i], yq_amounts_text(hierarchy, amounts)));
		if (amounts[i] > maximum[i])
		{
			verdict->used_amounts = amounts;
			verdict->maximum_amounts = maximum;
			return refuse_request(verdict, "allocation", queue,
								  psprintf("Invalid resource request! Requested resource is greater than maximum allowed allocation: requested resource type=[%s], requested resource=%s, maximum allowed allocation=%s",
										   hierarchy->type_names[i], yq_amounts_text(hierarchy, amounts),
										   yq_amounts_text(hierarchy, maximum)));
		}
	}
	return true;
}

bool
yq_am_label_check(const YqHierarchy *hierarchy, const YqQueue *queue, const char *label,
				  YqVerdict *verdict)
{
	int			number = yq_hierarchy_label(hierarchy, label);

	if (label[0] == '\0' || queue->any_label || (number >= 0 && yq_queue_may_use_label(queue, number)))
	{
		if (number >= 0)
			return true;
		return refuse_request(verdict, "label", queue,
							  psprintf("Invalid label resource request, cluster do not contain, label= %s", label));
	}
	return refuse_request(verdict, "label", queue,
						  psprintf("Invalid resource request, queue=%s doesn't have permission to access all labels in resource request. labelExpression of resource request=%s",
								   queue->path, label));
}

bool
yq_request_label(const YqHierarchy *hierarchy, const YqQueue *queue, const char *requested,
				 const char **label, YqVerdict *verdict)
{
	const char *found = requested;

	if (found != NULL)
		found = yq_trim(found, found + strlen(found));
	if (!hierarchy->settings.has_node_labels)
	{
		*label = "";
		if (found == NULL || found[0] == '\0')
			return true;
		return refuse_request(verdict, "label", queue,
							  pstrdup("Invalid resource request, node label not enabled but request contains label expression"));
	}
	if (found == NULL && queue != NULL)
		found = queue->default_label == NULL ? "" : queue->default_label;
	*label = found;
	if (found != NULL && strstr(found, "&&") != NULL)
		return refuse_request(verdict, "label", queue,
							  psprintf("Invalid resource request, queue=%s specified more than one node label in a node label expression, node label expression = %s",
									   queue == NULL ? "" : queue->path, found));
	return found == NULL || queue == NULL || yq_am_label_check(hierarchy, queue, found, verdict);
}

/* -- the request for an application master --------------------------------- */

/* Refuse the requested resource of the application master. */
static bool
refuse_amounts(YqVerdict *verdict)
{
	verdict->decided_by = "am_resource";
	return false;
}

/*
 * Return the requested label of the application master.  An empty label counts as
 * missing (RMAppManager.validateAndCreateResourceRequest()).
 */
static const char *
requested_label(const YqSubmission *submission)
{
	if (submission->label != NULL && submission->label[0] != '\0')
		return submission->label;
	return submission->node_label_expression;
}

bool
yq_am_request_decide(const YqHierarchy *hierarchy, const YqQueue *queue, const YqSubmission *submission,
					 YqApplication *application, YqVerdict *verdict)
{
	int64	   *maximum = yq_request_maximum(hierarchy, queue);

	application->label_name = "";
	application->am_amounts = yq_hierarchy_amounts(hierarchy);
	memcpy(application->am_amounts, hierarchy->settings.minimum_allocation,
		   hierarchy->calculator.types * sizeof(int64));
	if (submission->is_unmanaged)
		return true;
	if (submission->am_resource != NULL)
	{
		memset(application->am_amounts, 0, hierarchy->calculator.types * sizeof(int64));
		if (!yq_request_read(hierarchy, queue, submission->am_resource, application->am_amounts, verdict))
			return refuse_amounts(verdict);
	}
	if (!yq_request_label(hierarchy, queue, requested_label(submission), &application->label_name, verdict))
		return false;
	if (!yq_request_check(hierarchy, queue, application->am_amounts, maximum, verdict))
		return refuse_amounts(verdict);
	yq_request_normalize(hierarchy, application->am_amounts, maximum);
	return true;
}
