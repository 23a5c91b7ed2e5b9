/*-------------------------------------------------------------------------
 *
 * opportunistic_rule.c
 *	  May an application have opportunistic containers?
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "admission/application/project_credit.h"
#include "base/settings.h"
#include "opportunistic/opportunistic_rule.h"

YqOpportunisticStop
yq_opportunistic_stop(const YqRequester *requester, const char *project)
{
	const YqQueue *queue = requester->queue;
	YqProjectCredit credit;

	do
	{
		if (!queue->is_running)
			return (YqOpportunisticStop) {"queue state", queue->path};
		queue = queue->parent;
	} while (queue != NULL);
	credit = yq_project_credit(project, requester->application->application_id, requester->queue->path, YQ_CREDIT_FOR_CONTAINERS);
	/* charging would refuse a container without a payer */
	if (!credit.is_known && !yq_auto_create_project)
		return (YqOpportunisticStop) {"project", project};
	if (!credit.suffices)
		return (YqOpportunisticStop) {"project_quota", credit.limited_by};
	return (YqOpportunisticStop) {NULL, NULL};
}
