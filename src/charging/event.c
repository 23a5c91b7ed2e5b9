/*-------------------------------------------------------------------------
 *
 * event.c
 *	  Reading, checking and describing lifecycle events.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "base/settings.h"
#include "charging/event.h"
#include "miscadmin.h"
#include "store/catalog.h"
#include "store/role_scope.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

/* -- errors -------------------------------------------------------------------- */

/* Problems: errors that can be recorded instead of raised. */

YqProblem *
yq_problem(int sqlstate, char *message, const char *hint)
{
	YqProblem  *problem = palloc0(sizeof(YqProblem));

	problem->sqlstate = sqlstate;
	problem->message = message;
	problem->hint = hint == NULL ? NULL : pstrdup(hint);
	return problem;
}

void
yq_problem_raise(const YqProblem *problem, const char *detail)
{
	ereport(ERROR,
			(errcode(problem->sqlstate),
			 errmsg("%s", problem->message),
			 detail == NULL ? 0 : errdetail("%s", detail),
			 problem->hint == NULL ? 0 : errhint("%s", problem->hint)));
}

/* -- event --------------------------------------------------------------------- */

/*
 * The earliest instant of an event: 2000-01-01 00:00 UTC, the epoch of the server.  A program that
 * does not set a date often sends the year 1, 1601 or 1970, when no container ran.
 */
#define EARLIEST_INSTANT INT64CONST(0)

/*
 * The largest number of bytes of a container id and of a queue name.  An index entry has room for
 * the longest id.  It also has room for the longest queue name together with two other names.
 */
#define MAX_ID_LENGTH 2600
#define MAX_QUEUE_LENGTH 2000

static const char *const kind_names[YQ_EVENT_KINDS] = {
	[YQ_CONTAINER_START] = "CONTAINER_START",
	[YQ_CONTAINER_UPDATE] = "CONTAINER_UPDATE",
	[YQ_CONTAINER_FINISH] = "CONTAINER_FINISH",
	[YQ_QUOTA_COMPUTE] = "QUOTA_COMPUTE",
};

const YqEventLayout yq_event_logged = {1, 1 + YQ_EVENT_SECOND_RUN, 0};
const YqEventLayout yq_event_rejected = {2, 2 + YQ_EVENT_SECOND_RUN + 4, 2 + YQ_EVENT_COLUMNS + 4};
const YqEventLayout yq_event_deferred = {1, 1 + YQ_EVENT_SECOND_RUN + 1, 1 + YQ_EVENT_COLUMNS + 1};

/* A cache of enum labels, valid until the table that stores them changes. */
static YqEventLabels cached_labels;
static bool labels_loaded = false;
static bool labels_unchanged = false;	/* a change of container_event sets this flag to false */
static bool labels_watched = false;

void
yq_event_labels_load(YqEventLabels *labels)
{
	if (!labels_watched)
		yq_catalog_on_change(YQ_CONTAINER_EVENT, &labels_unchanged);
	labels_watched = true;
	if (!labels_loaded || !labels_unchanged)
	{
		labels_loaded = false;
		labels_unchanged = true;
		for (int kind = 0; kind < YQ_EVENT_KINDS; kind++)
			cached_labels.kinds[kind] = yq_enum_oid("container_event_type", kind_names[kind]);
		cached_labels.guaranteed = yq_enum_oid("execution_type", "GUARANTEED");
		cached_labels.opportunistic = yq_enum_oid("execution_type", "OPPORTUNISTIC");
		labels_loaded = true;
	}
	*labels = cached_labels;
}

const char *
yq_event_kind_name(YqEventKind kind)
{
	return kind_names[kind];
}

static YqEventKind
kind_of_label(Oid label, const YqEventLabels *labels)
{
	for (int kind = 0; kind < YQ_EVENT_KINDS; kind++)
	{
		if (labels->kinds[kind] == label)
			return kind;
	}
	elog(ERROR, "unknown container event type %u", label);
}

/* Columns of a role and is_running, in the order that they have in all tables. */
enum
{
	ROLE_PRIORITY,
	ROLE_ALLOCATION_REQUEST_ID,
	ROLE_ASKED_LABEL,
	ROLE_IS_AM,
	ROLE_IS_RUNNING
};

#define VARLENA_COLUMN(column) \
	(nulls[column] ? NULL : (void *) PG_DETOAST_DATUM_PACKED(values[column]))

void
yq_event_read_place(YqEvent *event, TupleTableSlot *slot, const YqEventLayout *layout,
					const YqEventLabels *labels)
{
	Datum	   *values = &slot->tts_values[layout->first_run - 1];
	bool	   *nulls = &slot->tts_isnull[layout->first_run - 1];

	slot_getsomeattrs(slot, layout->first_run + YQ_EVENT_OCCURRED_AT);
	event->kind = kind_of_label(DatumGetObjectId(values[YQ_EVENT_KIND]), labels);
	event->container_id = VARLENA_COLUMN(YQ_EVENT_CONTAINER_ID);
	event->has_occurred_at = !nulls[YQ_EVENT_OCCURRED_AT];
	event->occurred_at = event->has_occurred_at ?
		DatumGetTimestampTz(values[YQ_EVENT_OCCURRED_AT]) : 0;
}

static YqAnswer
answer_at(TupleTableSlot *slot, int place)
{
	if (slot->tts_isnull[place])
		return YQ_ANSWER_NULL;
	return DatumGetBool(slot->tts_values[place]) ? YQ_ANSWER_YES : YQ_ANSWER_NO;
}

void
yq_event_read_role(YqContainerRole *role, YqAnswer *is_running, TupleTableSlot *slot,
				   AttrNumber first)
{
	Datum	   *values = &slot->tts_values[first - 1];
	bool	   *nulls = &slot->tts_isnull[first - 1];

	role->has_priority = !nulls[ROLE_PRIORITY];
	role->priority = role->has_priority ? DatumGetInt32(values[ROLE_PRIORITY]) : 0;
	role->has_allocation_request_id = !nulls[ROLE_ALLOCATION_REQUEST_ID];
	role->allocation_request_id = role->has_allocation_request_id ?
		DatumGetInt64(values[ROLE_ALLOCATION_REQUEST_ID]) : 0;
	role->asked_label = VARLENA_COLUMN(ROLE_ASKED_LABEL);
	role->is_am = answer_at(slot, first - 1 + ROLE_IS_AM);
	*is_running = answer_at(slot, first - 1 + ROLE_IS_RUNNING);
}

void
yq_event_read(YqEvent *event, TupleTableSlot *slot, const YqEventLayout *layout,
			  const YqEventLabels *labels)
{
	Datum	   *values = &slot->tts_values[layout->first_run - 1];
	bool	   *nulls = &slot->tts_isnull[layout->first_run - 1];
	int			id = YQ_EVENT_ATTRIBUTE(layout, YQ_EVENT_EVENT_ID) - 1;

	slot_getallattrs(slot);
	yq_event_read_place(event, slot, layout, labels);
	event->project = VARLENA_COLUMN(YQ_EVENT_PROJECT);
	event->application_id = VARLENA_COLUMN(YQ_EVENT_APPLICATION_ID);
	event->username = VARLENA_COLUMN(YQ_EVENT_USERNAME);
	event->queue = VARLENA_COLUMN(YQ_EVENT_QUEUE);
	event->node = VARLENA_COLUMN(YQ_EVENT_NODE);
	event->allocation = VARLENA_COLUMN(YQ_EVENT_ALLOCATION);
	event->execution_type = nulls[YQ_EVENT_EXECUTION_TYPE] ? InvalidOid :
		DatumGetObjectId(values[YQ_EVENT_EXECUTION_TYPE]);
	event->has_exit_status = !nulls[YQ_EVENT_EXIT_STATUS];
	event->exit_status = event->has_exit_status ?
		DatumGetInt32(values[YQ_EVENT_EXIT_STATUS]) : 0;
	event->source = VARLENA_COLUMN(YQ_EVENT_SOURCE);
	event->recorded_at = DatumGetTimestampTz(values[YQ_EVENT_RECORDED_AT]);
	yq_event_read_role(&event->role, &event->is_running, slot, layout->second_run);
	event->event_id = slot->tts_isnull[id] ? 0 : DatumGetInt64(slot->tts_values[id]);
	event->arrival = 0;
	event->sent_by = NULL;
	if (layout->sent_by != 0 && !slot->tts_isnull[layout->sent_by - 1])
		event->sent_by = DatumGetTextPP(slot->tts_values[layout->sent_by - 1]);
	event->waited = false;
	ItemPointerSetInvalid(&event->reject_tid);
}

#undef VARLENA_COLUMN

YqEvent *
yq_event_copy(const YqEvent *event)
{
	static const Size values[] = {offsetof(YqEvent, container_id), offsetof(YqEvent, project),
		offsetof(YqEvent, application_id), offsetof(YqEvent, username), offsetof(YqEvent, queue),
		offsetof(YqEvent, node), offsetof(YqEvent, allocation), offsetof(YqEvent, source),
	offsetof(YqEvent, role.asked_label), offsetof(YqEvent, sent_by)};
	Size		size = MAXALIGN(sizeof(YqEvent));
	YqEvent    *copy;
	char	   *place;

	for (int i = 0; i < (int) lengthof(values); i++)
	{
		const void *value = *(void *const *) ((const char *) event + values[i]);

		size += value == NULL ? 0 : MAXALIGN(VARSIZE_ANY(value));
	}
	copy = palloc(size);
	*copy = *event;
	place = (char *) copy + MAXALIGN(sizeof(YqEvent));
	for (int i = 0; i < (int) lengthof(values); i++)
	{
		void	  **value = (void **) ((char *) copy + values[i]);

		if (*value == NULL)
			continue;
		*value = memcpy(place, *value, VARSIZE_ANY(*value));
		place += MAXALIGN(VARSIZE_ANY(place));
	}
	return copy;
}

void
yq_event_write_role(const YqContainerRole *role, YqAnswer is_running, Datum *values,
					bool *nulls, AttrNumber first)
{
	values += first - 1;
	nulls += first - 1;
	values[ROLE_PRIORITY] = Int32GetDatum(role->priority);
	nulls[ROLE_PRIORITY] = !role->has_priority;
	values[ROLE_ALLOCATION_REQUEST_ID] = Int64GetDatum(role->allocation_request_id);
	nulls[ROLE_ALLOCATION_REQUEST_ID] = !role->has_allocation_request_id;
	yq_varlena_put(values, nulls, ROLE_ASKED_LABEL, role->asked_label);
	values[ROLE_IS_AM] = BoolGetDatum(role->is_am == YQ_ANSWER_YES);
	nulls[ROLE_IS_AM] = (role->is_am == YQ_ANSWER_NULL);
	values[ROLE_IS_RUNNING] = BoolGetDatum(is_running == YQ_ANSWER_YES);
	nulls[ROLE_IS_RUNNING] = (is_running == YQ_ANSWER_NULL);
}

void
yq_event_write(const YqEvent *event, Datum *values, bool *nulls,
			   const YqEventLayout *layout, const YqEventLabels *labels)
{
	int			id = YQ_EVENT_ATTRIBUTE(layout, YQ_EVENT_EVENT_ID) - 1;

	values[id] = Int64GetDatum(event->event_id);
	nulls[id] = (event->event_id == 0);
	yq_event_write_role(&event->role, event->is_running, values, nulls, layout->second_run);
	if (layout->sent_by != 0)
		yq_varlena_put(values, nulls, layout->sent_by - 1, event->sent_by);

	values += layout->first_run - 1;
	nulls += layout->first_run - 1;
	values[YQ_EVENT_KIND] = ObjectIdGetDatum(labels->kinds[event->kind]);
	nulls[YQ_EVENT_KIND] = false;
	yq_varlena_put(values, nulls, YQ_EVENT_CONTAINER_ID, event->container_id);
	values[YQ_EVENT_OCCURRED_AT] = TimestampTzGetDatum(event->occurred_at);
	nulls[YQ_EVENT_OCCURRED_AT] = !event->has_occurred_at;
	yq_varlena_put(values, nulls, YQ_EVENT_PROJECT, event->project);
	yq_varlena_put(values, nulls, YQ_EVENT_APPLICATION_ID, event->application_id);
	yq_varlena_put(values, nulls, YQ_EVENT_USERNAME, event->username);
	yq_varlena_put(values, nulls, YQ_EVENT_QUEUE, event->queue);
	yq_varlena_put(values, nulls, YQ_EVENT_NODE, event->node);
	yq_varlena_put(values, nulls, YQ_EVENT_ALLOCATION, event->allocation);
	values[YQ_EVENT_EXECUTION_TYPE] = ObjectIdGetDatum(event->execution_type);
	nulls[YQ_EVENT_EXECUTION_TYPE] = !OidIsValid(event->execution_type);
	values[YQ_EVENT_EXIT_STATUS] = Int32GetDatum(event->exit_status);
	nulls[YQ_EVENT_EXIT_STATUS] = !event->has_exit_status;
	yq_varlena_put(values, nulls, YQ_EVENT_SOURCE, event->source);
	values[YQ_EVENT_RECORDED_AT] = TimestampTzGetDatum(event->recorded_at);
	nulls[YQ_EVENT_RECORDED_AT] = false;
}

static bool
is_ahead(TimestampTz at, TimestampTz now)
{
	return at > now + (int64) yq_max_clock_skew * 1000;
}

bool
yq_event_is_ahead(const YqEvent *event, TimestampTz now)
{
	return event->has_occurred_at && is_ahead(event->occurred_at, now);
}

static YqProblem *
check_instant(const YqEvent *event, TimestampTz now, TimestampTz latest)
{
	if (!event->has_occurred_at)
		return yq_problem(ERRCODE_NOT_NULL_VIOLATION,
						  pstrdup("occurred_at must not be null"),
						  "Leave the column out to use the clock.");
	if (TIMESTAMP_NOT_FINITE(event->occurred_at))
		return yq_problem(ERRCODE_DATETIME_FIELD_OVERFLOW,
						  pstrdup("occurred_at must be finite"),
						  "Send the instant of the event, or leave the column out to use the clock.");
	if (event->occurred_at < EARLIEST_INSTANT)
		return yq_problem(ERRCODE_DATETIME_FIELD_OVERFLOW,
						  psprintf("occurred_at %s lies before the year 2000",
								   timestamptz_to_str(event->occurred_at)),
						  "A program may have sent an empty date. Send the instant of the event.");
	if (is_ahead(event->occurred_at, now) && event->occurred_at > latest)
		return yq_problem(ERRCODE_DATETIME_FIELD_OVERFLOW,
						  psprintf("occurred_at %s is in the future",
								   timestamptz_to_str(event->occurred_at)),
						  "Synchronize the clocks, or raise yquota.max_clock_skew.");
	/* a repeated START with a new allocation is an UPDATE at this instant */
	if (TIMESTAMP_NOT_FINITE(event->recorded_at) || is_ahead(event->recorded_at, now))
		return yq_problem(ERRCODE_DATETIME_FIELD_OVERFLOW,
						  psprintf("recorded_at %s is in the future or not finite",
								   timestamptz_to_str(event->recorded_at)),
						  "Leave the column out. It is set by the clock.");
	if (event->recorded_at < EARLIEST_INSTANT)
		return yq_problem(ERRCODE_DATETIME_FIELD_OVERFLOW,
						  psprintf("recorded_at %s lies before the year 2000",
								   timestamptz_to_str(event->recorded_at)),
						  "Leave the column out. It is set by the clock.");
	return NULL;
}

static YqProblem *
check_allocation(const YqEvent *event)
{
	YqResourceEntry entries[YQ_RESOURCE_MAX_ENTRIES];
	int			count;

	if (event->allocation == NULL)
	{
		if (event->kind != YQ_CONTAINER_START)
			return NULL;
		return yq_problem(ERRCODE_NOT_NULL_VIOLATION,
						  pstrdup("allocation of a CONTAINER_START must not be null"),
						  "Use the empty allocation [] for a container that holds nothing.");
	}

	count = yq_resource_read(event->allocation, entries);
	for (int i = 0; i < count; i++)
	{
		if (entries[i].amount < 0)
			return yq_problem(ERRCODE_INVALID_PARAMETER_VALUE,
							  psprintf("allocation of resource \"%.*s\" is negative",
									   entries[i].name_length, entries[i].name),
							  "Amounts of an allocation are zero or more.");
	}
	return NULL;
}

static YqProblem *
check_lengths(const YqEvent *event)
{
	const struct
	{
		const char *column;
		const text *value;
		size_t		limit;
	}			names[] = {
		{"container_id", event->container_id, MAX_ID_LENGTH},
		{"project", event->project, YQ_NAME_MAX_LENGTH},
		{"application_id", event->application_id, YQ_NAME_MAX_LENGTH},
		{"username", event->username, YQ_NAME_MAX_LENGTH},
		{"queue", event->queue, MAX_QUEUE_LENGTH},
		{"node", event->node, YQ_NAME_MAX_LENGTH},
		{"source", event->source, YQ_NAME_MAX_LENGTH},
	};

	for (size_t i = 0; i < lengthof(names); i++)
	{
		if (names[i].value != NULL && VARSIZE_ANY_EXHDR(names[i].value) > names[i].limit)
			return yq_problem(ERRCODE_STRING_DATA_RIGHT_TRUNCATION,
							  psprintf("%s is longer than %zu bytes", names[i].column, names[i].limit),
							  "Send the name that the resource manager uses.");
	}
	return NULL;
}

YqProblem *
yq_event_check(const YqEvent *event, TimestampTz now, TimestampTz latest)
{
	YqProblem  *problem = check_instant(event, now, latest);

	if (problem == NULL)
		problem = check_lengths(event);
	if (problem != NULL || event->kind == YQ_QUOTA_COMPUTE)
		return problem;
	if (event->container_id == NULL)
		return yq_problem(ERRCODE_NOT_NULL_VIOLATION,
						  psprintf("container_id of a %s must not be null",
								   kind_names[event->kind]),
						  "Only a QUOTA_COMPUTE has no container.");
	if (VARSIZE_ANY_EXHDR(event->container_id) == 0)
		return yq_problem(ERRCODE_INVALID_PARAMETER_VALUE,
						  pstrdup("container_id must not be empty"),
						  "Send the id that the resource manager gave the container.");
	return check_allocation(event);
}

text *
yq_event_sender(void)
{
	return cstring_to_text(GetUserNameFromId(yq_role_scope_sender(), false));
}

/* Sources of the events that yquota's own functions insert. */
/* The source of decisions of yquota's scheduler. */
static const char scheduler_source[] = "scheduler";

static const char *const own_sources[] = {scheduler_source, "reconcile", "node_lost"};

bool
yq_event_is_own(const YqEvent *event)
{
	for (int i = 0; i < (int) lengthof(own_sources); i++)
	{
		if (yq_varlena_is(event->source, own_sources[i]))
			return true;
	}
	return false;
}

bool
yq_event_is_given(const YqEvent *event)
{
	return event->kind == YQ_CONTAINER_START && yq_varlena_is(event->source, scheduler_source);
}

bool
yq_event_tells_preemption(const YqEvent *event)
{
	return event->kind == YQ_CONTAINER_FINISH && event->has_exit_status &&
		event->exit_status == YQ_EXIT_PREEMPTED;
}

char *
yq_event_describe(const YqEvent *event)
{
	StringInfoData words;

	initStringInfo(&words);
	appendStringInfo(&words, "The row is a %s", kind_names[event->kind]);
	if (event->container_id != NULL)
		appendStringInfo(&words, " of container \"%s\"",
						 text_to_cstring(event->container_id));
	if (event->has_occurred_at)
		appendStringInfo(&words, " at %s", timestamptz_to_str(event->occurred_at));
	if (event->source != NULL)
		appendStringInfo(&words, " from source \"%s\"", text_to_cstring(event->source));
	appendStringInfoChar(&words, '.');
	return words.data;
}

bool
yq_allocation_equal(const YqResource *a, const YqResource *b)
{
	if (a == NULL || b == NULL)
		return a == b;
	return yq_resource_equal(a, b);
}

void
yq_event_payer(const YqEvent *event, text **project, text **username)
{
	char	   *owner;
	char	   *separator;
	char	   *next;

	*project = event->project;
	*username = event->username;
	if (event->project != NULL || event->username == NULL)
		return;

	owner = text_to_cstring(event->username);
	separator = strstr(owner, "__");
	if (separator == NULL)
	{
		*project = event->username;
		return;
	}
	next = strstr(separator + 2, "__");
	*project = cstring_to_text_with_len(owner, separator - owner);
	*username = next == NULL ? cstring_to_text(separator + 2) :
		cstring_to_text_with_len(separator + 2, next - separator - 2);
	pfree(owner);
}
