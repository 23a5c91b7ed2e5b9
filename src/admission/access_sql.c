/*-------------------------------------------------------------------------
 *
 * access_sql.c
 *	  Access and priorities as SQL functions, see sql/admission/260_queue_access.sql.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "admission/access.h"
#include "admission/subject.h"
#include "fmgr.h"
#include "funcapi.h"
#include "utils/builtins.h"

PG_FUNCTION_INFO_V1(yq_sql_application_priority);
PG_FUNCTION_INFO_V1(yq_sql_check_queue_access);

/* Operations beyond those that are a single list's. */
#define OPERATION_SUBMIT	YQ_QUEUE_OPERATION_COUNT
#define OPERATION_ADMIN		(YQ_QUEUE_OPERATION_COUNT + 1)

static const char *const operation_names[] = {
	[YQ_SUBMIT_APPLICATIONS] = "SUBMIT_APPLICATIONS",
	[YQ_ADMINISTER_QUEUE] = "ADMINISTER_QUEUE",
	[YQ_ADMINISTER_RESERVATIONS] = "ADMINISTER_RESERVATIONS",
	[YQ_LIST_RESERVATIONS] = "LIST_RESERVATIONS",
	[YQ_SUBMIT_RESERVATIONS] = "SUBMIT_RESERVATIONS",
	[OPERATION_SUBMIT] = "SUBMIT",
	[OPERATION_ADMIN] = "ADMIN",
};

/* Hadoop's name of an operation, or that of the property, in any case. */
static int
operation_argument(FunctionCallInfo fcinfo, int argument)
{
	char	   *given = text_to_cstring(yq_required_text(fcinfo, argument, "operation"));
	char	   *name = pg_strncasecmp(given, "acl_", 4) == 0 ? given + 4 : given;

	for (int i = 0; i < (int) lengthof(operation_names); i++)
	{
		if (pg_strcasecmp(name, operation_names[i]) == 0)
			return i;
	}
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("operation \"%s\" is not known", given),
			 errhint("Operations are SUBMIT, SUBMIT_APPLICATIONS, ADMINISTER_QUEUE, ADMINISTER_RESERVATIONS, LIST_RESERVATIONS, SUBMIT_RESERVATIONS and ADMIN.")));
}

/* check_queue_access(username, groups, queue, operation, real_username) */
Datum
yq_sql_check_queue_access(PG_FUNCTION_ARGS)
{
	YqSubject	subject = yq_subject_arguments(fcinfo, 0, 1, 4);
	int			operation = operation_argument(fcinfo, 3);
	char	   *queue = NULL;
	const YqHierarchy *hierarchy = yq_hierarchy_get();
	YqDecision	result;
	Datum		values[3];
	bool		nulls[3] = {false};

	if (operation != OPERATION_ADMIN)
		queue = text_to_cstring(yq_required_text(fcinfo, 2, "queue"));
	if (operation == OPERATION_ADMIN)
		result = yq_access_check_administrator(hierarchy, &subject);
	else if (operation == OPERATION_SUBMIT)
		result = yq_access_check_submission(hierarchy, queue, &subject);
	else
		result = yq_access_check(hierarchy, queue, operation, &subject);

	values[0] = BoolGetDatum(result.allowed);
	nulls[1] = (result.decided_by == NULL);
	if (result.decided_by != NULL)
		values[1] = CStringGetTextDatum(result.decided_by);
	values[2] = CStringGetTextDatum(result.reason);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(yq_result_descriptor(fcinfo),
													  values, nulls)));
}

/* application_priority(username, groups, queue, requested, tags, real_username) */
Datum
yq_sql_application_priority(PG_FUNCTION_ARGS)
{
	YqSubject	subject = yq_subject_arguments(fcinfo, 0, 1, 5);
	char	   *queue = text_to_cstring(yq_required_text(fcinfo, 2, "queue"));
	int32		requested = PG_ARGISNULL(3) ? 0 : PG_GETARG_INT32(3);
	const char **tags;
	int			tag_count = yq_text_array(fcinfo, 4, "tags", &tags);
	const YqHierarchy *hierarchy = yq_hierarchy_get();
	YqPriorityDecision result;
	Datum		values[3];
	bool		nulls[3] = {false};

	result = yq_priority_decide(hierarchy, queue, &subject, PG_ARGISNULL(3) ? NULL : &requested,
								tags, tag_count);
	values[0] = BoolGetDatum(result.allowed);
	values[1] = Int32GetDatum(result.priority);
	values[2] = CStringGetTextDatum(result.reason);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(yq_result_descriptor(fcinfo),
													  values, nulls)));
}
