/*-------------------------------------------------------------------------
 *
 * submission_hold.c
 *	  Credit that an application holds from its submission on.
 *
 * The amounts are computed in SQL, by the arithmetic of quotes
 * (sql/admission/315_application_hold.sql).
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "admission/application/application.h"
#include "admission/submission/submission_hold.h"
#include "base/arguments.h"
#include "commands/trigger.h"
#include "executor/executor.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "store/catalog.h"
#include "store/role_scope.h"
#include "store/saved_plan.h"
#include "utils/builtins.h"
#include "utils/rel.h"
#include "utils/timestamp.h"

PG_FUNCTION_INFO_V1(yq_sql_follow_application);

/* -- rows ------------------------------------------------------------------- */

/*
 * Run a statement that returns at most one row, with one column.  The value is copied
 * to the caller's memory context.
 */
static bool
fetch_value(YqSavedPlan *statement, Datum *values, const char *nulls, bool is_by_value, Datum *value)
{
	bool		isnull = true;

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	if (yq_saved_plan_run(statement, values, nulls) == 1)
	{
		*value = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &isnull);
		if (!isnull && !is_by_value)
			*value = SPI_datumTransfer(*value, false, -1);
	}
	SPI_finish();
	return !isnull;
}

static NullableDatum
attribute(Datum row, const char *name)
{
	NullableDatum result;

	result.value = GetAttributeByName(DatumGetHeapTupleHeader(row), name, &result.isnull);
	return result;
}

static char *
text_attribute(Datum row, const char *name)
{
	NullableDatum value = attribute(row, name);

	return value.isnull ? NULL : TextDatumGetCString(value.value);
}

/* Return the name of the calling role, which submits, ends or removes the application. */
static Datum
sender(void)
{
	return CStringGetTextDatum(GetUserNameFromId(yq_role_scope_sender(), false));
}

/* -- the decision ------------------------------------------------------------- */

bool
yq_submission_names_hold(const YqSubmission *submission)
{
	return submission->holds_quote || !submission->expected.isnull || !submission->hold_amount.isnull;
}

bool
yq_submission_decide_hold(const YqSubmission *submission, const char *queue, bool by_quote, bool locks,
						  YqAdmission *admission)
{
	static YqSavedPlan decide = {
		.command = "SELECT d FROM yquota_internal.decide_hold($1, $2, $3, $4, $5, $6, $7, $8, $9) AS d",
		.types = {"text", "text", "text", "text", "int8", "yquota._container_request", "bool", "numeric", "bool"}
	};
	Datum		values[] = {CStringGetTextDatum(submission->application_id), CStringGetTextDatum(submission->subject.username),
		submission->project == NULL ? (Datum) 0 : CStringGetTextDatum(submission->project), CStringGetTextDatum(queue),
		Int64GetDatum(admission->lifetime), submission->expected.value, BoolGetDatum(by_quote),
	submission->hold_amount.value, BoolGetDatum(locks)};
	char		nulls[] = "         ";
	YqSubmissionHold *hold = &admission->hold;
	Datum		row;

	nulls[2] = submission->project == NULL ? 'n' : ' ';
	nulls[4] = admission->lifetime <= 0 ? 'n' : ' ';
	nulls[5] = submission->expected.isnull ? 'n' : ' ';
	nulls[7] = submission->hold_amount.isnull ? 'n' : ' ';
	if (!fetch_value(&decide, values, nulls, false, &row))
		elog(ERROR, "hold of application \"%s\" was not decided", submission->application_id);
	hold->project = text_attribute(row, "paying_project");
	hold->quoted_cost = attribute(row, "quoted_cost");
	hold->amount = attribute(row, "amount");
	admission->verdict.reason = text_attribute(row, "reason");
	if (admission->verdict.reason == NULL)
		return true;
	hold->available = attribute(row, "available");
	hold->fitting_lifetime = attribute(row, "fitting_lifetime");
	hold->amount.isnull = true;
	admission->verdict.decided_by = "hold";
	admission->verdict.decided_at = text_attribute(row, "decided_at");
	return false;
}

/* -- the record --------------------------------------------------------------- */

void
yq_submission_record_hold(const YqSubmission *submission, YqAdmission *admission)
{
	static YqSavedPlan insert = {
		.command = "INSERT INTO yquota.hold (project, application_id, amount, held_by, held_at, expires_at, of_submission) "
		"VALUES ($1, $2, $3, $4, yquota.statement_clock(), $5, true) RETURNING hold_id",
		.types = {"text", "text", "numeric", "text", "timestamptz"}
	};
	YqSubmissionHold *hold = &admission->hold;
	const YqApplication *application = &admission->application;
	bool		ends = application->state == YQ_APPLICATION_ACTIVE && admission->lifetime > 0;
	Datum		values[5];

	if (hold->amount.isnull)
		return;
	values[0] = CStringGetTextDatum(hold->project);
	values[1] = CStringGetTextDatum(submission->application_id);
	values[2] = hold->amount.value;
	values[3] = sender();
	values[4] = TimestampTzGetDatum(ends ? yq_application_expiry(application->submitted_at, admission->lifetime) : DT_NOEND);
	hold->hold_id.isnull = !fetch_value(&insert, values, NULL, true, &hold->hold_id.value);
}

/* -- a repeated submission ------------------------------------------------------ */

/*
 * Is the amount that the submission names equal to the amount held?  If the submission
 * names none, the result is true.
 */
static bool
names_amount(const YqSubmission *submission, NullableDatum held)
{
	return submission->hold_amount.isnull || held.isnull || submission->holds_quote || !submission->expected.isnull ||
		DatumGetBool(DirectFunctionCall2(numeric_eq, submission->hold_amount.value, held.value));
}

bool
yq_submission_find_recorded(const YqSubmission *submission, YqAdmission *admission)
{
	static YqSavedPlan look_up = {
		.command = "SELECT a FROM yquota_internal.application_hold AS a WHERE a.application_id = $1 AND a.username = $2",
		.types = {"text", "text"}
	};
	YqApplication *application = &admission->application;
	Datum		values[2];
	NullableDatum lifetime;
	Datum		row;

	if (!yq_submission_names_hold(submission))
		return false;
	values[0] = CStringGetTextDatum(submission->application_id);
	values[1] = CStringGetTextDatum(submission->subject.username);
	if (!fetch_value(&look_up, values, NULL, false, &row) || !names_amount(submission, attribute(row, "amount")))
		return false;
	application->queue = text_attribute(row, "queue");
	application->priority = DatumGetInt32(attribute(row, "priority").value);
	application->state = yq_application_state_of_oid(DatumGetObjectId(attribute(row, "state").value));
	lifetime = attribute(row, "lifetime");
	admission->lifetime = lifetime.isnull ? -1 : DatumGetInt64(lifetime.value);
	admission->verdict.reason = text_attribute(row, "diagnostics");
	admission->hold.hold_id = attribute(row, "hold_id");
	admission->hold.amount = attribute(row, "amount");
	admission->is_recorded = true;
	return true;
}

/* -- changes of the application --------------------------------------------------- */

static void
release(Datum hold_id)
{
	static YqSavedPlan update = {
		.command = "UPDATE yquota.hold SET released_by = $2, released_at = yquota.statement_clock() "
		"WHERE hold_id = $1 AND released_at IS NULL",
		.types = {"int8", "text"}
	};
	Datum		values[] = {hold_id, sender()};

	(void) yq_saved_plan_execute(&update, values, NULL);
}

static void
release_all(void)
{
	static YqSavedPlan update = {
		.command = "UPDATE yquota.hold SET released_by = $1, released_at = yquota.statement_clock() "
		"WHERE of_submission AND released_at IS NULL",
		.types = {"text"}
	};
	Datum		released_by = sender();

	(void) yq_saved_plan_execute(&update, &released_by, NULL);
}

/*
 * Set the expiry of a hold to the activation plus the application's lifetime.  A hold
 * that has expired stays expired.
 */
static void
prolong(Datum hold_id, NullableDatum activated_at, NullableDatum lifetime)
{
	static YqSavedPlan update = {
		.command = "UPDATE yquota.hold AS h SET expires_at = greatest($2, h.held_at + interval '1 microsecond') "
		"WHERE h.hold_id = $1 AND h.released_at IS NULL AND yquota.statement_clock() < h.expires_at",
		.types = {"int8", "timestamptz"}
	};
	Datum		values[] = {hold_id,
	TimestampTzGetDatum(activated_at.isnull || lifetime.isnull ? DT_NOEND :
						yq_application_expiry(DatumGetTimestampTz(activated_at.value), DatumGetInt64(lifetime.value)))};

	(void) yq_saved_plan_execute(&update, values, NULL);
}

static NullableDatum
column_of(Relation relation, HeapTuple tuple, const char *name)
{
	NullableDatum result;

	result.value = heap_getattr(tuple, yq_column(relation, name), RelationGetDescr(relation), &result.isnull);
	return result;
}

/* Trigger on yquota.application: AFTER UPDATE OR DELETE FOR EACH ROW that has a hold, and AFTER TRUNCATE. */
Datum
yq_sql_follow_application(PG_FUNCTION_ARGS)
{
	TriggerData *trigger = (TriggerData *) fcinfo->context;
	Relation	relation;
	HeapTuple	tuple;

	yq_require_trigger(fcinfo, "follow_application");
	if (yq_role_scope_is_restoring())
		PG_RETURN_POINTER(NULL);
	relation = trigger->tg_relation;
	tuple = TRIGGER_FIRED_BY_UPDATE(trigger->tg_event) ? trigger->tg_newtuple : trigger->tg_trigtuple;
	if (TRIGGER_FIRED_BY_TRUNCATE(trigger->tg_event))
		release_all();
	else if (TRIGGER_FIRED_BY_DELETE(trigger->tg_event) || !column_of(relation, tuple, "finished_at").isnull)
		release(column_of(relation, tuple, "hold_id").value);
	else
		prolong(column_of(relation, tuple, "hold_id").value, column_of(relation, tuple, "activated_at"),
				column_of(relation, tuple, "lifetime"));
	PG_RETURN_POINTER(NULL);
}
