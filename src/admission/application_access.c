/*-------------------------------------------------------------------------
 *
 * application_access.c
 *	  Who may see an application, and who may change or end it.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "admission/application_access.h"

static const char *const operation_names[] = {
	[YQ_VIEW_APP] = "VIEW_APP",
	[YQ_MODIFY_APP] = "MODIFY_APP",
};

const char *
yq_application_operation_name(YqApplicationOperation operation)
{
	return operation_names[operation];
}

YqApplicationOperation
yq_application_operation(const char *name)
{
	for (int i = 0; i < (int) lengthof(operation_names); i++)
	{
		if (pg_strcasecmp(name, operation_names[i]) == 0)
			return i;
	}
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("operation \"%s\" is not known", name),
			 errhint("Operations on applications are VIEW_APP and MODIFY_APP.")));
}

static YqDecision
allowed(const char *decided_by, char *reason)
{
	YqDecision	result = {.allowed = true, .decided_by = decided_by, .reason = reason};

	return result;
}

YqDecision
yq_application_access(const YqHierarchy *hierarchy, const YqApplicationOwner *application, YqApplicationOperation operation,
					  const YqSubject *subject)
{
	const char *list = operation == YQ_VIEW_APP ? application->view_acl : application->modify_acl;
	YqDecision	result;

	if (!hierarchy->access.acl_enable)
		return allowed(NULL, "ACLs are off (yarn.acl.enable)");
	if (strcmp(subject->username, application->username) == 0)
		return allowed(NULL, psprintf("user \"%s\" is its owner", subject->username));
	result = yq_access_check_administrator(hierarchy, subject);
	if (result.allowed)
		return result;
	if (list != NULL)
	{
		const char *name = NULL;
		YqAclMatch	match = yq_acl_match(yq_acl_parse(list), subject, &name);

		if (match != YQ_ACL_NOBODY)
			return allowed(NULL, psprintf("its %s has %s",
										  operation == YQ_VIEW_APP ? "view_acl" : "modify_acl",
										  yq_acl_match_text(match, name)));
	}
	if (application->queue != NULL)
	{
		result = yq_access_walk(hierarchy, application->queue, YQ_ADMINISTER_QUEUE, subject);
		if (result.allowed)
			return result;
	}
	result.allowed = false;
	result.decided_by = NULL;
	result.reason = psprintf("User %s cannot perform operation %s on application %s", subject->username,
							 operation_names[operation], application->application_id);
	return result;
}
