/*-------------------------------------------------------------------------
 *
 * reservation_sql.c
 *	  Offers reservations and rounds of the plan follower as SQL functions, see
 *	  sql/reservation/395_reservation.sql and sql/reservation/396_plan_follower.sql.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "admission/access/access.h"
#include "admission/configuration/config_refresh.h"
#include "base/arguments.h"
#include "base/resource.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "reservation/change_reservation.h"
#include "reservation/follow_plan.h"
#include "reservation/load_plan.h"
#include "store/clock.h"
#include "utils/builtins.h"
#include "utils/jsonb.h"
#include "utils/memutils.h"
#include "utils/tuplestore.h"

/* -- reservation sql ----------------------------------------------------------- */

PG_FUNCTION_INFO_V1(yq_sql_delete_reservation);
PG_FUNCTION_INFO_V1(yq_sql_place_reservation);
PG_FUNCTION_INFO_V1(yq_sql_plan_allocation);
PG_FUNCTION_INFO_V1(yq_sql_plans_now);
PG_FUNCTION_INFO_V1(yq_sql_reservation_listing);
PG_FUNCTION_INFO_V1(yq_sql_reservation_occurs);
PG_FUNCTION_INFO_V1(yq_sql_submit_reservation);
PG_FUNCTION_INFO_V1(yq_sql_update_reservation);

/* Largest length of texts in yquota.reservation_definition. */
#define NAME_MAX_BYTES 255

/* -- changes ---------------------------------------------------------------------- */

static YqSubject
subject_argument(FunctionCallInfo fcinfo, int username, int groups)
{
	YqSubject	subject = yq_subject_arguments(fcinfo, username, groups, -1);

	if (strlen(subject.username) > NAME_MAX_BYTES)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s is too long", "username"),
				 errdetail("The limit is %d bytes.", NAME_MAX_BYTES)));
	return subject;
}

/* Read a reservation id, which must be spelled canonically. */
static char *
id_argument(FunctionCallInfo fcinfo, int argument)
{
	char	   *id = text_to_cstring(yq_required_text(fcinfo, argument, "reservation_id"));

	return yq_reservation_id_text(yq_reservation_id_parse(id));
}

/* Read the definition.  NULL is refused later, after the plan has been checked. */
static HeapTupleHeader
definition_argument(FunctionCallInfo fcinfo, int argument)
{
	return PG_ARGISNULL(argument) ? NULL : PG_GETARG_HEAPTUPLEHEADER(argument);
}

static bool
dry_run_argument(FunctionCallInfo fcinfo, int argument)
{
	yq_require_value(PG_ARGISNULL(argument), "dry_run");
	return PG_GETARG_BOOL(argument);
}

static void
put_amounts(YqRowBuilder *row, const YqHierarchy *hierarchy, const int64 *amounts)
{
	yq_row_put(row, amounts == NULL ? (Datum) 0 : yq_hierarchy_resource(hierarchy, amounts), amounts == NULL);
}

static void
put_definition(YqRowBuilder *row, HeapTupleHeader definition)
{
	yq_row_put(row, definition == NULL ? (Datum) 0 : HeapTupleHeaderGetDatum(definition), definition == NULL);
}

static Datum
form_row(FunctionCallInfo fcinfo, YqRowBuilder *row)
{
	return HeapTupleGetDatum(heap_form_tuple(yq_result_descriptor(fcinfo), row->values, row->nulls));
}

static void
put_cost(YqRowBuilder *row, const char *cost)
{
	yq_row_put(row, cost == NULL ? (Datum) 0 :
			   DirectFunctionCall3(numeric_in, CStringGetDatum(cost), ObjectIdGetDatum(InvalidOid), Int32GetDatum(-1)), cost == NULL);
}

/* Append the columns id, accepted, decided_by and reason. */
static YqRowBuilder
begin_answer(const YqReservationCall *call, const YqReservationAnswer *answer)
{
	YqRowBuilder row = {.count = 0};

	yq_row_put_text(&row, call->id);
	yq_row_put(&row, BoolGetDatum(answer->verdict.accepted), false);
	yq_row_put_text(&row, answer->verdict.decided_by);
	yq_row_put_text(&row, answer->verdict.reason);
	return row;
}

static Datum
answer_row(FunctionCallInfo fcinfo, const YqReservationCall *call, const YqReservationAnswer *answer)
{
	YqRowBuilder row = begin_answer(call, answer);
	bool		is_refused = !answer->verdict.accepted;

	put_amounts(&row, answer->hierarchy, answer->verdict.asked);
	put_amounts(&row, answer->hierarchy, answer->verdict.maximum);
	yq_row_put(&row, TimestampTzGetDatum(answer->at), is_refused);
	yq_row_put(&row, TimestampTzGetDatum(answer->start), is_refused);
	yq_row_put(&row, TimestampTzGetDatum(answer->end), is_refused);
	put_definition(&row, answer->with_later_deadline);
	put_definition(&row, answer->with_fewer_containers);
	put_cost(&row, answer->quoted_cost);
	return form_row(fcinfo, &row);
}

/* submit_reservation(reservation_id, queue, username, groups, project, definition, dry_run) */
Datum
yq_sql_submit_reservation(PG_FUNCTION_ARGS)
{
	YqReservationCall call = {
		.id = id_argument(fcinfo, 0),
		.queue = text_to_cstring(yq_required_text(fcinfo, 1, "queue")),
		.subject = subject_argument(fcinfo, 2, 3),
		.project = text_to_cstring(yq_required_text(fcinfo, 4, "project")),
		.definition = definition_argument(fcinfo, 5),
		.is_dry_run = dry_run_argument(fcinfo, 6)
	};
	YqReservationAnswer answer = yq_reservation_submit(&call);

	PG_RETURN_DATUM(answer_row(fcinfo, &call, &answer));
}

/* place_reservation(queue, username, groups, project, definition, multipliers): a dry run of a submission */
Datum
yq_sql_place_reservation(PG_FUNCTION_ARGS)
{
	YqReservationCall call = {
		.id = YQ_UNNAMED_RESERVATION,
		.queue = text_to_cstring(yq_required_text(fcinfo, 0, "queue")),
		.subject = subject_argument(fcinfo, 1, 2),
		.project = PG_ARGISNULL(3) ? NULL : text_to_cstring(PG_GETARG_TEXT_PP(3)),
		.definition = definition_argument(fcinfo, 4),
		.multipliers = PG_ARGISNULL(5) ? (Datum) 0 : PG_GETARG_DATUM(5),
		.is_dry_run = true
	};
	YqReservationAnswer answer = yq_reservation_submit(&call);

	PG_RETURN_DATUM(answer_row(fcinfo, &call, &answer));
}

/* update_reservation(reservation_id, username, groups, definition, dry_run) */
Datum
yq_sql_update_reservation(PG_FUNCTION_ARGS)
{
	YqReservationCall call = {
		.id = id_argument(fcinfo, 0),
		.subject = subject_argument(fcinfo, 1, 2),
		.definition = definition_argument(fcinfo, 3),
		.is_dry_run = dry_run_argument(fcinfo, 4)
	};
	YqReservationAnswer answer = yq_reservation_update(&call);

	PG_RETURN_DATUM(answer_row(fcinfo, &call, &answer));
}

/* delete_reservation(reservation_id, username, groups) */
Datum
yq_sql_delete_reservation(PG_FUNCTION_ARGS)
{
	YqReservationCall call = {
		.id = id_argument(fcinfo, 0),
		.subject = subject_argument(fcinfo, 1, 2)
	};
	YqReservationAnswer answer = yq_reservation_delete(&call);
	YqRowBuilder row = begin_answer(&call, &answer);

	yq_row_put(&row, TimestampTzGetDatum(answer.at), !answer.verdict.accepted);
	PG_RETURN_DATUM(form_row(fcinfo, &row));
}

/* -- lists ------------------------------------------------------------------------- */

/* Read the start.  NULL is the beginning of time, as in Hadoop when a client gives no time. */
static int64
from_argument(FunctionCallInfo fcinfo, int argument)
{
	return PG_ARGISNULL(argument) ? 0 : yq_reservation_time(PG_GETARG_TIMESTAMPTZ(argument), "\"from\"");
}

static int64
to_argument(FunctionCallInfo fcinfo, int argument)
{
	return PG_ARGISNULL(argument) ? PG_INT64_MAX : yq_reservation_time(PG_GETARG_TIMESTAMPTZ(argument), "\"to\"");
}

static int64
now_in_milliseconds(void)
{
	TimestampTz now = yq_clock_statement();

	return yq_reservation_time(now - now % 1000, "now");
}

/* reservation_listing(queue, username, groups, reservation_id, from, to) */
Datum
yq_sql_reservation_listing(PG_FUNCTION_ARGS)
{
	char	   *name = text_to_cstring(yq_required_text(fcinfo, 0, "queue"));
	YqSubject	subject = subject_argument(fcinfo, 1, 2);
	const YqHierarchy *hierarchy = yq_hierarchy_in_force();
	const YqQueue *queue;
	YqReservationSettings settings;
	YqRowBuilder row = {.count = 0};

	if (PG_ARGISNULL(3))
		yq_plan_check_interval(from_argument(fcinfo, 4), to_argument(fcinfo, 5));
	queue = yq_plan_queue(hierarchy, name);
	settings = yq_reservation_settings(queue->path);
	yq_row_put_text(&row, queue->path);
	yq_row_put_text(&row, PG_ARGISNULL(3) ? NULL : id_argument(fcinfo, 3));
	yq_row_put(&row, BoolGetDatum(yq_reservation_check_access(hierarchy, &settings, queue->path, YQ_LIST_RESERVATIONS, &subject).accepted), false);
	yq_row_put(&row, TimestampTzGetDatum(yq_reservation_timestamp(yq_plan_archived_until(&settings, now_in_milliseconds()))), false);
	yq_row_put(&row, BoolGetDatum(settings.repeats), false);
	PG_RETURN_DATUM(form_row(fcinfo, &row));
}

/* reservation_occurs(arrival, deadline, recurrence, from, to) */
Datum
yq_sql_reservation_occurs(PG_FUNCTION_ARGS)
{
	if (PG_ARGISNULL(0) || PG_ARGISNULL(1) || PG_ARGISNULL(2))
		PG_RETURN_NULL();
	PG_RETURN_BOOL(yq_plan_occurs(yq_reservation_time(PG_GETARG_TIMESTAMPTZ(0), "arrival"),
								  yq_reservation_time(PG_GETARG_TIMESTAMPTZ(1), "deadline"),
								  yq_reservation_duration(PG_GETARG_INTERVAL_P(2), "recurrence"),
								  from_argument(fcinfo, 3), to_argument(fcinfo, 4)));
}

/* -- a plan over time ------------------------------------------------------------------ */

/* The promises to a user over time. */
typedef struct UserPart
{
	const char *username;
	YqStepFunction *committed;
	int			step;			/* number of the step at the current time; -1: none yet */
	char	   *text;			/* the amounts of this step as text; NULL: no amounts */
} UserPart;

/* A plan to report over time, with the functions that the report reads. */
typedef struct Report
{
	MemoryContext context;
	const YqHierarchy *hierarchy;
	const YqPlan *plan;
	YqStepFunction *committed;
	List	   *users;			/* UserPart elements */
	int64	   *times;			/* times at which amounts change, ascending */
	int			time_count;
} Report;

/* Compare users in jsonb's order of keys, so that no object has to be sorted. */
static int
compare_users(const ListCell *a, const ListCell *b)
{
	const char *first = ((const UserPart *) lfirst(a))->username;
	const char *second = ((const UserPart *) lfirst(b))->username;

	if (strlen(first) != strlen(second))
		return strlen(first) < strlen(second) ? -1 : 1;
	return strcmp(first, second);
}

static void
add_users(Report *report, int64 start, int64 end)
{
	const YqPlan *plan = report->plan;

	for (int i = 0; i < plan->user_count; i++)
	{
		UserPart   *user = palloc(sizeof(UserPart));

		CHECK_FOR_INTERRUPTS();
		user->username = plan->users[i].username;
		user->committed = yq_plan_committed_to(plan, user->username, start, end);
		user->step = -1;
		user->text = NULL;
		report->users = lappend(report->users, user);
	}
	list_sort(report->users, compare_users);
}

/* Collect the times of both ends and of all steps between them. */
static void
find_times(Report *report, int64 start, int64 end)
{
	List	   *functions = list_make1(report->committed);
	int			room = 2 + report->committed->count;
	ListCell   *cell;
	int			count = 0;

	foreach(cell, report->users)
	{
		UserPart   *user = lfirst(cell);

		functions = lappend(functions, user->committed);
		room += user->committed->count;
	}
	report->times = palloc_extended(sizeof(int64) * room, MCXT_ALLOC_HUGE);
	report->times[count++] = start;
	report->times[count++] = end;
	foreach(cell, functions)
	{
		const YqStepFunction *function = lfirst(cell);

		for (int i = 0; i < function->count; i++)
		{
			if (function->times[i] > start && function->times[i] < end)
				report->times[count++] = function->times[i];
		}
	}
	qsort(report->times, count, sizeof(int64), yq_times_compare);
	for (int i = 0; i < count; i++)
	{
		if (i == 0 || report->times[i] != report->times[i - 1])
			report->times[report->time_count++] = report->times[i];
	}
}

/*
 * Return the user's amounts at a time as text, or NULL if the user has none.  Each call
 * must pass a later time than the call before.
 */
static char *
text_at(const Report *report, UserPart *user, int64 time)
{
	const YqStepFunction *committed = user->committed;
	int			before = user->step;

	while (user->step + 1 < committed->count && committed->times[user->step + 1] <= time)
		user->step++;
	if (user->step == before)
		return user->text;
	user->text = NULL;
	if (committed->is_defined[user->step] &&
		!yq_amounts_are_none(report->plan->calculator, yq_step_amounts(committed, user->step)))
		user->text = MemoryContextStrdup(report->context, yq_resource_to_cstring(
			DatumGetYqResourceP(yq_hierarchy_resource(report->hierarchy, yq_step_amounts(committed, user->step)))));
	return user->text;
}

static JsonbValue
string_value(const char *string)
{
	JsonbValue	value = {.type = jbvString};

	value.val.string.val = unconstify(char *, string);
	value.val.string.len = strlen(string);
	return value;
}

/* Make an object that maps each user with amounts to the amounts. */
static Datum
users_at(const Report *report, int64 time)
{
	JsonbParseState *state = NULL;
	ListCell   *cell;

	(void) pushJsonbValue(&state, WJB_BEGIN_OBJECT, NULL);
	foreach(cell, report->users)
	{
		UserPart   *user = lfirst(cell);
		char	   *text = text_at(report, user, time);
		JsonbValue	key;
		JsonbValue	value;

		if (text == NULL)
			continue;
		key = string_value(user->username);
		value = string_value(text);
		(void) pushJsonbValue(&state, WJB_KEY, &key);
		(void) pushJsonbValue(&state, WJB_VALUE, &value);
	}
	return JsonbPGetDatum(JsonbValueToJsonb(pushJsonbValue(&state, WJB_END_OBJECT, NULL)));
}

static void
put_interval(ReturnSetInfo *result, const Report *report, int64 start, int64 end)
{
	YqRowBuilder row = {.count = 0};
	int64		committed[YQ_MAX_RESOURCE_TYPES];
	int64		available[YQ_MAX_RESOURCE_TYPES];

	yq_steps_at(report->committed, start, committed);
	memcpy(available, report->plan->capacity, sizeof(available));
	yq_amounts_subtract(report->plan->calculator, available, committed);
	yq_row_put(&row, TimestampTzGetDatum(yq_reservation_timestamp(start)), false);
	yq_row_put(&row, TimestampTzGetDatum(yq_reservation_timestamp(end)), false);
	put_amounts(&row, report->hierarchy, report->plan->capacity);
	put_amounts(&row, report->hierarchy, committed);
	put_amounts(&row, report->hierarchy, available);
	yq_row_put(&row, users_at(report, start), false);
	tuplestore_putvalues(result->setResult, result->setDesc, row.values, row.nulls);
}

/* Append the intervals to the result.  The memory of each interval is freed before the next interval. */
static void
put_intervals(ReturnSetInfo *result, const Report *report)
{
	MemoryContext row_context = AllocSetContextCreate(report->context, "yquota plan row", ALLOCSET_DEFAULT_SIZES);
	MemoryContext caller = MemoryContextSwitchTo(row_context);

	for (int i = 0; i + 1 < report->time_count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		put_interval(result, report, report->times[i], report->times[i + 1]);
		MemoryContextReset(row_context);
	}
	MemoryContextSwitchTo(caller);
	MemoryContextDelete(row_context);
}

/* plan_allocation(queue, from, to) */
Datum
yq_sql_plan_allocation(PG_FUNCTION_ARGS)
{
	char	   *name = text_to_cstring(yq_required_text(fcinfo, 0, "queue"));
	Report		report = {.context = CurrentMemoryContext,.hierarchy = yq_hierarchy_in_force()};
	const YqQueue *queue = yq_plan_queue(report.hierarchy, name);
	YqReservationSettings settings = yq_reservation_settings(queue->path);
	YqPlan	   *plan = yq_plan_load(report.hierarchy, queue, &settings);
	int64		start;
	int64		end;

	yq_plan_window_arguments(fcinfo, 1, 2, &settings, &start, &end);
	InitMaterializedSRF(fcinfo, 0);
	yq_plan_load_intervals(plan, report.hierarchy, queue->path, NULL, start, end,
						   yq_plan_archived_until(&settings, now_in_milliseconds()));
	yq_plan_check_length(plan, start, end);
	report.plan = plan;
	report.committed = yq_plan_committed(plan, start, end);
	add_users(&report, start, end);
	find_times(&report, start, end);
	put_intervals((ReturnSetInfo *) fcinfo->resultinfo, &report);
	PG_RETURN_NULL();
}

/* -- all plans at the clock ---------------------------------------------------------------- */

static void
put_plan(ReturnSetInfo *result, const YqHierarchy *hierarchy, const YqQueue *queue, int64 now)
{
	YqReservationSettings settings = yq_reservation_settings(queue->path);
	YqPlan	   *plan = yq_plan_load(hierarchy, queue, &settings);
	int64		committed[YQ_MAX_RESOURCE_TYPES];

	yq_plan_load_intervals(plan, hierarchy, queue->path, NULL, now, now, yq_plan_archived_until(&settings, now));
	yq_steps_at(yq_plan_committed(plan, now, now + 1), now, committed);
	for (int i = 0; i < hierarchy->calculator.types; i++)
	{
		YqRowBuilder row = {.count = 0};

		yq_row_put_text(&row, queue->path);
		yq_row_put_text(&row, hierarchy->type_names[i]);
		yq_row_put(&row, Int64GetDatum(plan->capacity[i]), false);
		yq_row_put(&row, Int64GetDatum(committed[i]), false);
		tuplestore_putvalues(result->setResult, result->setDesc, row.values, row.nulls);
	}
}

/* plans_now() */
Datum
yq_sql_plans_now(PG_FUNCTION_ARGS)
{
	const YqHierarchy *hierarchy = yq_hierarchy_in_force();
	int64		now = now_in_milliseconds();

	InitMaterializedSRF(fcinfo, 0);
	for (int i = 0; i < hierarchy->queue_count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (hierarchy->queues[i]->kind == YQ_QUEUE_PLAN)
			put_plan((ReturnSetInfo *) fcinfo->resultinfo, hierarchy, hierarchy->queues[i], now);
	}
	PG_RETURN_NULL();
}

/* -- follow sql ---------------------------------------------------------------- */

/*
 * Provides rounds of the plan follower as a SQL function; see
 * sql/reservation/396_plan_follower.sql.
 */

PG_FUNCTION_INFO_V1(yq_sql_follow_plans);

/* A row of the function's result. */
typedef struct ResultRow
{
	const char *outcome;
	const char *queue;
	const char *reservation_id;
	const char *application_id;
	const YqShare *share;		/* NULL: none */
	const char *reason;
} ResultRow;

static void
put_row(ReturnSetInfo *result, const YqPlanRound *round, const ResultRow *values)
{
	YqRowBuilder row = {.count = 0};
	const YqShare *share = values->share;

	yq_row_put_text(&row, values->outcome);
	yq_row_put_text(&row, round == NULL ? NULL : round->path);
	yq_row_put_text(&row, values->queue);
	yq_row_put_text(&row, values->reservation_id);
	yq_row_put_text(&row, values->application_id);
	yq_row_put(&row, share == NULL ? (Datum) 0 : Float4GetDatum(share->capacity), share == NULL);
	yq_row_put(&row, share == NULL ? (Datum) 0 : Float4GetDatum(share->maximum_capacity), share == NULL);
	yq_row_put_text(&row, values->reason);
	tuplestore_putvalues(result->setResult, result->setDesc, row.values, row.nulls);
}

static void
put_reservations(ReturnSetInfo *result, const YqPlanRound *round, const List *ids, const char *outcome)
{
	ListCell   *cell;

	foreach(cell, ids)
		put_row(result, round, &(ResultRow) {.outcome = outcome,.reservation_id = lfirst(cell)});
}

static void
put_applications(ReturnSetInfo *result, const YqPlanRound *round)
{
	ListCell   *cell;

	foreach(cell, round->applications)
	{
		const YqFollowedApplication *application = lfirst(cell);
		const char *name = yq_plan_queue_name(round, &round->queues.queues[application->queue]);

		put_row(result, round, &(ResultRow) {.outcome = application->is_refused ? "refused" : application->is_killed ? "killed" : "moved",.queue = name,
											 .reservation_id = name,.application_id = application->application_id,.reason = application->reason});
	}
}

/* Append the row of a queue.  If the queue's share was refused, a second row reports the refusal. */
static void
put_queue(ReturnSetInfo *result, const YqPlanRound *round, const YqPlanQueue *queue)
{
	ResultRow	row = {.queue = yq_plan_queue_name(round, queue)};
	YqShare		refused = {.capacity = queue->refused_capacity,.maximum_capacity = 1};

	row.reservation_id = queue->is_default ? NULL : row.queue;
	row.share = &queue->share;
	if (!queue->is_active && !queue->is_kept)
		put_row(result, round, &(ResultRow) {.outcome = "removed",.queue = row.queue,.reservation_id = row.reservation_id});
	else if (yq_plan_queue_has_changed(queue))
	{
		row.outcome = queue->exists || queue->is_default ? "resized" : "created";
		put_row(result, round, &row);
	}
	if (queue->is_postponed)
		put_row(result, round, &(ResultRow) {.outcome = "postponed",.queue = row.queue,.reservation_id = row.reservation_id});
	if (queue->refusal == YQ_SHARE_GIVEN)
		return;
	row.outcome = "refused";
	row.share = &refused;
	row.reason = yq_plan_queue_refusal_text(queue);
	put_row(result, round, &row);
}

static void
put_round(ReturnSetInfo *result, const YqPlanRound *round)
{
	if (round->is_refused)
		return;
	put_reservations(result, round, round->replanned, "replanned");
	put_applications(result, round);
	for (int i = 0; i < round->queues.count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		put_queue(result, round, &round->queues.queues[i]);
	}
	put_reservations(result, round, round->archived, "archived");
}

/* follow_plans(queue, replan, dry_run) */
Datum
yq_sql_follow_plans(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	char	   *queue = PG_ARGISNULL(0) ? NULL : text_to_cstring(yq_required_text(fcinfo, 0, "queue"));
	bool		is_dry;
	List	   *rounds;
	ListCell   *cell;

	yq_require_value(PG_ARGISNULL(1), "replan");
	yq_require_value(PG_ARGISNULL(2), "dry_run");
	is_dry = PG_GETARG_BOOL(2);
	if (!is_dry)
		PreventCommandIfReadOnly("a round of the plan follower");
	InitMaterializedSRF(fcinfo, 0);
	if (!yq_plan_follower_is_on())
	{
		put_row(result, NULL, &(ResultRow) {.outcome = "off",.reason = "yarn.resourcemanager.reservation-system.enable is not true"});
		return (Datum) 0;
	}
	rounds = yq_plans_follow(queue, PG_GETARG_BOOL(1), is_dry);
	foreach(cell, rounds)
		put_round(result, lfirst(cell));
	return (Datum) 0;
}
