/*-------------------------------------------------------------------------
 *
 * am_request.c
 *	  What is asked for an application master (cs-semantics 5.9, 3.7).
 *
 * Checked and rounded as Hadoop's RMAppManager and SchedulerUtils do.  An
 * unmanaged application master asks for nothing and is charged as a minimum
 * allocation in the default partition.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "lib/stringinfo.h"
#include "queues/submission.h"
#include "queues/text.h"

static bool
refuse(YqVerdict *verdict, const char *decided_by, const YqQueue *queue, char *reason)
{
	verdict->decided_by = decided_by;
	verdict->decided_at = queue == NULL ? NULL : queue->path;
	verdict->reason = reason;
	return false;
}

static int64
round_up(int64 amount, int64 step)
{
	return step == 0 ? amount : (amount + (step - 1)) / step * step;
}

/* In whole steps of the minimum, which is also the least, and at most the maximum. */
static void
normalize(const YqHierarchy *hierarchy, int64 *amounts, const int64 *maximum)
{
	const int64 *minimum = hierarchy->settings.minimum_allocation;
	int			types = hierarchy->calculator.is_dominant ? hierarchy->calculator.types : YQ_MEMORY + 1;

	for (int i = 0; i < types; i++)
		amounts[i] = Min(round_up(Max(amounts[i], minimum[i]), minimum[i]), maximum[i]);
	/* the default calculator knows memory alone; a container has a core */
	for (int i = types; i < hierarchy->calculator.types; i++)
		amounts[i] = i == YQ_VCORES && amounts[YQ_MEMORY] > 0 ? 1 : 0;
}

/* The most that a container may have: the cluster's, and the queue's if it is a leaf. */
static int64 *
maximum_allocation(const YqHierarchy *hierarchy, const YqQueue *queue)
{
	int64	   *result = yq_hierarchy_amounts(hierarchy);

	for (int i = 0; i < hierarchy->calculator.types; i++)
	{
		result[i] = hierarchy->settings.maximum_allocation[i];
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
find_type(const YqHierarchy *hierarchy, const YqResourceEntry *entry)
{
	for (int i = 0; i < hierarchy->calculator.types; i++)
	{
		if (strlen(hierarchy->type_names[i]) == (Size) entry->name_length &&
			memcmp(hierarchy->type_names[i], entry->name, entry->name_length) == 0)
			return i;
	}
	return -1;
}

static bool
read_request(const YqHierarchy *hierarchy, const YqQueue *queue, const YqResource *request,
			 int64 *amounts, YqVerdict *verdict)
{
	YqResourceEntry entries[YQ_RESOURCE_MAX_ENTRIES];
	int			count = yq_resource_read(request, entries);

	for (int i = 0; i < count; i++)
	{
		int			type = find_type(hierarchy, &entries[i]);

		if (type < 0)
			return refuse(verdict, "am_resource", queue,
						  psprintf("Unknown resource '%s'. Known resources are [%s]",
								   pnstrdup(entries[i].name, entries[i].name_length),
								   known_types(hierarchy)));
		amounts[type] = entries[i].amount;
	}
	return true;
}

static bool
check_amounts(const YqHierarchy *hierarchy, const YqQueue *queue, const int64 *amounts,
			  const int64 *maximum, YqVerdict *verdict)
{
	for (int i = 0; i < hierarchy->calculator.types; i++)
	{
		if (amounts[i] < 0)
			return refuse(verdict, "am_resource", queue,
						  psprintf("Invalid resource request! Requested resource is less than 0: requested resource type=[%s], requested resource=%s",
								   hierarchy->type_names[i], yq_amounts_text(hierarchy, amounts)));
		if (amounts[i] > maximum[i])
		{
			verdict->used_amounts = amounts;
			verdict->maximum_amounts = maximum;
			return refuse(verdict, "am_resource", queue,
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
		return refuse(verdict, "label", queue,
					  psprintf("Invalid label resource request, cluster do not contain, label= %s", label));
	}
	return refuse(verdict, "label", queue,
				  psprintf("Invalid resource request, queue=%s doesn't have permission to access all labels in resource request. labelExpression of resource request=%s",
						   queue->path, label));
}

/* The label, without blanks around it; NULL when the queue, yet to be created, decides. */
static bool
find_label(const YqHierarchy *hierarchy, const YqQueue *queue, const char *requested,
		   YqApplication *application, YqVerdict *verdict)
{
	const char *label = requested;

	if (label != NULL)
		label = yq_trim(label, label + strlen(label));
	if (!hierarchy->settings.has_node_labels)
	{
		application->label_name = "";
		if (label == NULL || label[0] == '\0')
			return true;
		return refuse(verdict, "label", queue,
					  pstrdup("Invalid resource request, node label not enabled but request contains label expression"));
	}
	if (label == NULL && queue != NULL)
		label = queue->default_label == NULL ? "" : queue->default_label;
	application->label_name = label;
	if (label != NULL && strstr(label, "&&") != NULL)
		return refuse(verdict, "label", queue,
					  psprintf("Invalid resource request, queue=%s specified more than one node label in a node label expression, node label expression = %s",
							   queue == NULL ? "" : queue->path, label));
	return label == NULL || queue == NULL || yq_am_label_check(hierarchy, queue, label, verdict);
}

bool
yq_am_request_decide(const YqHierarchy *hierarchy, const YqQueue *queue, const YqSubmission *submission,
					 YqApplication *application, YqVerdict *verdict)
{
	int64	   *maximum = maximum_allocation(hierarchy, queue);

	application->label_name = "";
	application->am_amounts = yq_hierarchy_amounts(hierarchy);
	memcpy(application->am_amounts, hierarchy->settings.minimum_allocation,
		   hierarchy->calculator.types * sizeof(int64));
	if (submission->is_unmanaged)
		return true;
	if (submission->am_resource != NULL)
	{
		memset(application->am_amounts, 0, hierarchy->calculator.types * sizeof(int64));
		if (!read_request(hierarchy, queue, submission->am_resource, application->am_amounts, verdict))
			return false;
	}
	if (!find_label(hierarchy, queue, submission->label, application, verdict) ||
		!check_amounts(hierarchy, queue, application->am_amounts, maximum, verdict))
		return false;
	normalize(hierarchy, application->am_amounts, maximum);
	return true;
}
