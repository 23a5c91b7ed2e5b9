/*-------------------------------------------------------------------------
 *
 * subject.c
 *	  Who asks, among the arguments of SQL functions.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "admission/subject.h"
#include "utils/builtins.h"

YqSubject
yq_subject_arguments(FunctionCallInfo fcinfo, int username, int groups, int real_username)
{
	YqSubject	subject = {.groups_known = !PG_ARGISNULL(groups)};

	subject.username = text_to_cstring(yq_required_text(fcinfo, username, "username"));
	subject.group_count = yq_text_array(fcinfo, groups, "groups", &subject.groups);
	if (real_username >= 0 && !PG_ARGISNULL(real_username))
		subject.real_username = text_to_cstring(PG_GETARG_TEXT_PP(real_username));
	return subject;
}
