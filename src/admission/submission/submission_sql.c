/*-------------------------------------------------------------------------
 *
 * submission_sql.c
 *	  Submission and changes of applications as SQL functions, see
 *	  sql/admission/320_submission.sql.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "admission/access/access.h"
#include "admission/application/application.h"
#include "admission/submission/application_change.h"
#include "admission/submission/submission.h"
#include "admission/submission/tags.h"
#include "base/arguments.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "funcapi.h"
#include "queues/hierarchy.h"
#include "queues/text.h"
#include "store/role_scope.h"
#include "store/saved_plan.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

PG_FUNCTION_INFO_V1(yq_sql_activate_applications);
PG_FUNCTION_INFO_V1(yq_sql_application_submit);
PG_FUNCTION_INFO_V1(yq_sql_check_application_access);
PG_FUNCTION_INFO_V1(yq_sql_finish_application);
PG_FUNCTION_INFO_V1(yq_sql_move_application);
PG_FUNCTION_INFO_V1(yq_sql_set_outstanding_requests);
PG_FUNCTION_INFO_V1(yq_sql_update_application_lifetime);
PG_FUNCTION_INFO_V1(yq_sql_update_application_priority);

/* Length limit of names in the columns of yquota.application, in bytes. */
#define NAME_MAX_BYTES 255

/* -- arguments ---------------------------------------------------------------- */

static char *
name_argument(FunctionCallInfo fcinfo, int argument, const char *name)
{
	char	   *value = text_to_cstring(yq_required_text(fcinfo, argument, name));

	if (strlen(value) > NAME_MAX_BYTES)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s is too long", name),
				 errdetail("The limit is %d bytes.", NAME_MAX_BYTES)));
	return value;
}

static char *
optional_text(FunctionCallInfo fcinfo, int argument)
{
	return PG_ARGISNULL(argument) ? NULL : text_to_cstring(PG_GETARG_TEXT_PP(argument));
}

/* Return the user who calls, or NULL for the resource manager. */
static const YqSubject *
caller_arguments(FunctionCallInfo fcinfo, int caller, int groups)
{
	YqSubject  *subject;

	if (PG_ARGISNULL(caller))
		return NULL;
	subject = palloc(sizeof(YqSubject));
	*subject = yq_subject_arguments(fcinfo, caller, groups, -1);
	return subject;
}

/* Argument numbers of submit_application(). */
enum
{
	SUBMIT_APPLICATION_ID,
	SUBMIT_USERNAME,
	SUBMIT_GROUPS,
	SUBMIT_QUEUE,
	SUBMIT_APPLICATION_NAME,
	SUBMIT_AM_RESOURCE,
	SUBMIT_PRIORITY,
	SUBMIT_LIFETIME,
	SUBMIT_TAGS,
	SUBMIT_LABEL,
	SUBMIT_UNMANAGED,
	SUBMIT_PROJECT,
	SUBMIT_REAL_USERNAME,
	SUBMIT_VIEW_ACL,
	SUBMIT_MODIFY_ACL,
	SUBMIT_NODE_LABEL_EXPRESSION,
	SUBMIT_DRY_RUN,
	SUBMIT_RESERVATION,
	SUBMIT_KEEP_CONTAINERS,
	SUBMIT_EXPECTED,
	SUBMIT_HOLD,
	SUBMIT_HOLD_AMOUNT
};

static void
hold_arguments(FunctionCallInfo fcinfo, YqSubmission *submission)
{
	char	   *hold = optional_text(fcinfo, SUBMIT_HOLD);

	submission->expected = fcinfo->args[SUBMIT_EXPECTED];
	submission->hold_amount = fcinfo->args[SUBMIT_HOLD_AMOUNT];
	submission->holds_quote = hold != NULL && strcmp(hold, "quote") == 0;
	if (hold != NULL && !submission->holds_quote && strcmp(hold, "none") != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid value of hold: \"%s\"", hold),
				 errhint("It is quote or none.")));
}

static void
submission_arguments(FunctionCallInfo fcinfo, YqSubmission *submission, int32 *priority, int64 *lifetime)
{
	memset(submission, 0, sizeof(YqSubmission));
	submission->application_id = name_argument(fcinfo, SUBMIT_APPLICATION_ID, "application_id");
	(void) name_argument(fcinfo, SUBMIT_USERNAME, "username");
	submission->subject = yq_subject_arguments(fcinfo, SUBMIT_USERNAME, SUBMIT_GROUPS, SUBMIT_REAL_USERNAME);
	submission->queue = text_to_cstring(yq_required_text(fcinfo, SUBMIT_QUEUE, "queue"));
	submission->application_name = optional_text(fcinfo, SUBMIT_APPLICATION_NAME);
	if (!PG_ARGISNULL(SUBMIT_AM_RESOURCE))
		submission->am_resource = PG_GETARG_YQ_RESOURCE_P(SUBMIT_AM_RESOURCE);
	if (!PG_ARGISNULL(SUBMIT_PRIORITY))
	{
		*priority = PG_GETARG_INT32(SUBMIT_PRIORITY);
		submission->priority = priority;
	}
	if (!PG_ARGISNULL(SUBMIT_LIFETIME))
	{
		*lifetime = PG_GETARG_INT64(SUBMIT_LIFETIME);
		submission->lifetime = lifetime;
	}
	submission->tag_count = yq_text_array(fcinfo, SUBMIT_TAGS, "tags", &submission->tags);
	submission->tag_values = yq_tags_read(submission->tags, submission->tag_count);
	submission->label = optional_text(fcinfo, SUBMIT_LABEL);
	submission->is_unmanaged = !PG_ARGISNULL(SUBMIT_UNMANAGED) && PG_GETARG_BOOL(SUBMIT_UNMANAGED);
	submission->keeps_containers = !PG_ARGISNULL(SUBMIT_KEEP_CONTAINERS) && PG_GETARG_BOOL(SUBMIT_KEEP_CONTAINERS);
	submission->project = optional_text(fcinfo, SUBMIT_PROJECT);
	submission->view_acl = optional_text(fcinfo, SUBMIT_VIEW_ACL);
	submission->modify_acl = optional_text(fcinfo, SUBMIT_MODIFY_ACL);
	submission->node_label_expression = optional_text(fcinfo, SUBMIT_NODE_LABEL_EXPRESSION);
	if (!PG_ARGISNULL(SUBMIT_RESERVATION))
		submission->reservation_id =
			yq_reservation_id_text(yq_reservation_id_parse(text_to_cstring(PG_GETARG_TEXT_PP(SUBMIT_RESERVATION))));
	hold_arguments(fcinfo, submission);
}

/* -- results -------------------------------------------------------------------- */

static void
put_amounts(YqRowBuilder *row, const YqHierarchy *hierarchy, const int64 *amounts)
{
	yq_row_put(row, amounts == NULL ? (Datum) 0 : yq_hierarchy_bounded_resource(hierarchy, amounts), amounts == NULL);
}

static Datum
admission_row(FunctionCallInfo fcinfo, const YqAdmission *admission)
{
	const YqApplication *application = &admission->application;
	const YqVerdict *verdict = &admission->verdict;
	const YqSubmissionHold *hold = &admission->hold;
	bool		is_refused = application->state == YQ_APPLICATION_REJECTED;
	YqRowBuilder row = {.count = 0};

	yq_row_put_text(&row, application->application_id);
	yq_row_put_text(&row, application->queue);
	yq_row_put(&row, Int32GetDatum(application->priority), is_refused);
	yq_row_put(&row, Int64GetDatum(admission->lifetime), is_refused || admission->lifetime <= 0);
	yq_row_put(&row, ObjectIdGetDatum(yq_application_state_oid(application->state)), false);
	yq_row_put(&row, BoolGetDatum(application->state == YQ_APPLICATION_ACTIVE), false);
	yq_row_put_text(&row, verdict->decided_by);
	yq_row_put_text(&row, verdict->decided_at);
	yq_row_put(&row, Int64GetDatum(verdict->used), !verdict->has_numbers);
	yq_row_put(&row, Int64GetDatum(verdict->maximum), !verdict->has_numbers);
	put_amounts(&row, admission->hierarchy, verdict->used_amounts);
	put_amounts(&row, admission->hierarchy, verdict->maximum_amounts);
	yq_row_put_text(&row, verdict->reason);
	yq_row_put(&row, hold->quoted_cost.value, hold->quoted_cost.isnull);
	yq_row_put(&row, hold->amount.value, hold->amount.isnull);
	yq_row_put(&row, hold->hold_id.value, hold->hold_id.isnull);
	yq_row_put(&row, hold->available.value, hold->available.isnull);
	yq_row_put(&row, hold->fitting_lifetime.value, hold->fitting_lifetime.isnull);
	return HeapTupleGetDatum(heap_form_tuple(yq_result_descriptor(fcinfo), row.values, row.nulls));
}

/* -- submission -------------------------------------------------------------------- */

/*
 * Operators and administrators act for the resource manager.  Another role may only ask about itself:
 * check_dry_run() refuses everything else, and returns the groups of the role if the argument is NULL.
 */
static void
check_caller(FunctionCallInfo fcinfo)
{
	static YqSavedPlan check = {
		.command = "SELECT yquota_internal.check_dry_run($1, $2, $3, $4, $5, $6)",
		.types = {"text", "text", "_text", "text", "text", "bool"}
	};
	static const int arguments[] = {SUBMIT_APPLICATION_ID, SUBMIT_USERNAME, SUBMIT_GROUPS, SUBMIT_REAL_USERNAME,
	SUBMIT_PROJECT, SUBMIT_DRY_RUN};
	NullableDatum *groups = &fcinfo->args[SUBMIT_GROUPS];
	MemoryContext context = CurrentMemoryContext;
	Oid			role = yq_role_scope_role();
	Datum		values[lengthof(arguments)];
	char		nulls[lengthof(arguments) + 1] = {0};
	bool		isnull;

	if (yq_role_scope_acts_as(role, "operator") || yq_role_scope_acts_as(role, "admin"))
		return;
	for (int i = 0; i < (int) lengthof(arguments); i++)
	{
		values[i] = fcinfo->args[arguments[i]].value;
		nulls[i] = PG_ARGISNULL(arguments[i]) ? 'n' : ' ';
	}
	SPI_connect();
	(void) yq_saved_plan_run(&check, values, nulls);
	values[0] = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &isnull);
	MemoryContextSwitchTo(context);
	groups->value = PointerGetDatum(PG_DETOAST_DATUM_COPY(values[0]));
	groups->isnull = false;
	SPI_finish();
}

static Datum
submit_application(FunctionCallInfo fcinfo)
{
	YqSubmission submission;
	YqAdmission admission;
	int32		priority;
	int64		lifetime;
	bool		dry_run = PG_GETARG_BOOL(SUBMIT_DRY_RUN);

	submission_arguments(fcinfo, &submission, &priority, &lifetime);
	admission = yq_submission_decide(&submission, !dry_run);
	if (!dry_run)
		yq_submission_record(&submission, &admission);
	return admission_row(fcinfo, &admission);
}

/* The decision reads limits and credit that the calling role does not see. */
static Datum
submit_for_owner(FunctionCallInfo fcinfo)
{
	Oid			forgotten = yq_role_scope_forget();
	volatile Datum row = (Datum) 0;

	PG_TRY();
	{
		row = submit_application(fcinfo);
	}
	PG_FINALLY();
	{
		yq_role_scope_restore(forgotten);
	}
	PG_END_TRY();
	return row;
}

/* submit_application(application_id, username, groups, queue, ..., expected, hold, hold_amount) */
Datum
yq_sql_application_submit(PG_FUNCTION_ARGS)
{
	yq_require_value(PG_ARGISNULL(SUBMIT_DRY_RUN), "dry_run");
	(void) name_argument(fcinfo, SUBMIT_APPLICATION_ID, "application_id");
	(void) name_argument(fcinfo, SUBMIT_USERNAME, "username");
	check_caller(fcinfo);
	PG_RETURN_DATUM(submit_for_owner(fcinfo));
}

/* -- changes ------------------------------------------------------------------------ */

/* finish_application(application_id, state, diagnostics, caller, caller_groups) */
Datum
yq_sql_finish_application(PG_FUNCTION_ARGS)
{
	char	   *application_id = name_argument(fcinfo, 0, "application_id");
	YqApplicationState state;

	yq_require_value(PG_ARGISNULL(1), "state");
	state = yq_application_state_of_oid(PG_GETARG_OID(1));
	if (yq_application_is_live(state) || state == YQ_APPLICATION_REJECTED)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("an application cannot end as %s", yq_application_state_name(state)),
				 errhint("Final states are FINISHED, FAILED and KILLED.")));
	state = yq_application_end(application_id, state, optional_text(fcinfo, 2), caller_arguments(fcinfo, 3, 4));
	PG_RETURN_OID(yq_application_state_oid(state));
}

/* move_application(application_id, queue, caller, caller_groups) */
Datum
yq_sql_move_application(PG_FUNCTION_ARGS)
{
	char	   *application_id = name_argument(fcinfo, 0, "application_id");
	char	   *queue = text_to_cstring(yq_required_text(fcinfo, 1, "queue"));
	YqApplicationState state = yq_application_move(application_id, queue, caller_arguments(fcinfo, 2, 3));

	PG_RETURN_OID(yq_application_state_oid(state));
}

/* update_application_priority(application_id, priority, caller, caller_groups) */
Datum
yq_sql_update_application_priority(PG_FUNCTION_ARGS)
{
	char	   *application_id = name_argument(fcinfo, 0, "application_id");

	yq_require_value(PG_ARGISNULL(1), "priority");
	PG_RETURN_INT32(yq_application_change_priority(application_id, PG_GETARG_INT32(1),
												   caller_arguments(fcinfo, 2, 3)));
}

/* update_application_lifetime(application_id, lifetime, caller, caller_groups) */
Datum
yq_sql_update_application_lifetime(PG_FUNCTION_ARGS)
{
	char	   *application_id = name_argument(fcinfo, 0, "application_id");
	bool		has_expiry;
	TimestampTz expiry;

	yq_require_value(PG_ARGISNULL(1), "lifetime");
	if (PG_GETARG_INT64(1) <= 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("Invalid application timeout, value=" INT64_FORMAT " for type=LIFETIME", PG_GETARG_INT64(1))));
	expiry = yq_application_change_lifetime(application_id, PG_GETARG_INT64(1),
											caller_arguments(fcinfo, 2, 3), &has_expiry);
	if (!has_expiry)
		PG_RETURN_NULL();
	PG_RETURN_TIMESTAMPTZ(expiry);
}

/* set_outstanding_requests(application_id, has_outstanding_requests) */
Datum
yq_sql_set_outstanding_requests(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(yq_application_change_demand(name_argument(fcinfo, 0, "application_id"), PG_GETARG_BOOL(1)));
}

/* activate_applications(queue) */
Datum
yq_sql_activate_applications(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	List	   *changed;
	ListCell   *cell;

	InitMaterializedSRF(fcinfo, 0);
	changed = PG_ARGISNULL(0) ? yq_applications_refresh() :
		yq_applications_activate(text_to_cstring(yq_required_text(fcinfo, 0, "queue")));
	foreach(cell, changed)
	{
		const YqApplication *application = lfirst(cell);
		YqRowBuilder row = {.count = 0};

		yq_row_put_text(&row, application->application_id);
		yq_row_put_text(&row, application->queue);
		yq_row_put(&row, ObjectIdGetDatum(yq_application_state_oid(application->state)), false);
		tuplestore_putvalues(result->setResult, result->setDesc, row.values, row.nulls);
	}
	return (Datum) 0;
}

/* check_application_access(application_id, caller, caller_groups, operation) */
Datum
yq_sql_check_application_access(PG_FUNCTION_ARGS)
{
	char	   *application_id = name_argument(fcinfo, 0, "application_id");
	YqSubject	caller = yq_subject_arguments(fcinfo, 1, 2, -1);
	YqApplicationOperation operation =
		yq_application_operation(text_to_cstring(yq_required_text(fcinfo, 3, "operation")));
	const YqHierarchy *hierarchy = yq_hierarchy_get();
	YqApplication *application = yq_application_find(hierarchy, application_id);
	YqRowBuilder row = {.count = 0};
	YqApplicationOwner owner;
	YqAccessDecision	decision;

	if (application == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("application \"%s\" does not exist", application_id)));
	owner.application_id = application->application_id;
	owner.username = application->username;
	owner.queue = application->queue;
	owner.view_acl = application->view_acl;
	owner.modify_acl = application->modify_acl;
	decision = yq_application_access(hierarchy, &owner, operation, &caller);
	yq_row_put(&row, BoolGetDatum(decision.allowed), false);
	yq_row_put_text(&row, decision.decided_by);
	yq_row_put_text(&row, decision.reason);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(yq_result_descriptor(fcinfo), row.values, row.nulls)));
}
