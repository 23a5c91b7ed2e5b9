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

#include "admission/request.h"

/* It is the application master that was asked for. */
static bool
refuse_amounts(YqVerdict *verdict)
{
	verdict->decided_by = "am_resource";
	return false;
}

/* An empty label is none (RMAppManager.validateAndCreateResourceRequest()). */
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
