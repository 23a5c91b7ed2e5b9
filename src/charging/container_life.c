/*-------------------------------------------------------------------------
 *
 * container_life.c
 *	  Merging events into the life of a container.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "base/bytes_table.h"
#include "charging/container_life.h"
#include "miscadmin.h"
#include "pricing/node_label.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

void
yq_state_apply(YqState *state, const YqState *set)
{
	if (set->allocation != NULL)
		state->allocation = set->allocation;
	if (OidIsValid(set->execution_type))
		state->execution_type = set->execution_type;
	if (set->queue != NULL)
		state->queue = set->queue;
	if (set->node != NULL)
		state->node = set->node;
	if (set->role.has_priority)
	{
		state->role.has_priority = true;
		state->role.priority = set->role.priority;
	}
	if (set->role.has_allocation_request_id)
	{
		state->role.has_allocation_request_id = true;
		state->role.allocation_request_id = set->role.allocation_request_id;
	}
	if (set->role.asked_label != NULL)
		state->role.asked_label = set->role.asked_label;
	if (set->role.is_am != YQ_ANSWER_NULL)
		state->role.is_am = set->role.is_am;
	if (set->is_running != YQ_ANSWER_NULL)
		state->is_running = set->is_running;
}

/*
 * Tell by its id whether a container is the first one of its application attempt.  YARN gives this
 * container the number 000001.
 */
static bool
is_first_container(const text *container_id)
{
	static const char first[] = "_000001";
	Size		length = sizeof(first) - 1;

	return VARSIZE_ANY_EXHDR(container_id) > length &&
		memcmp(VARDATA_ANY(container_id) + VARSIZE_ANY_EXHDR(container_id) - length,
			   first, length) == 0;
}

void
yq_state_complete(YqState *state, const text *container_id, Oid guaranteed)
{
	YqState		given = *state;

	state->execution_type = guaranteed;
	state->role.has_priority = state->role.has_allocation_request_id = true;
	state->role.priority = 0;
	state->role.allocation_request_id = -1;
	state->role.asked_label = cstring_to_text("");
	state->role.is_am = is_first_container(container_id) ? YQ_ANSWER_YES : YQ_ANSWER_NO;
	state->is_running = YQ_ANSWER_YES;
	yq_state_apply(state, &given);
}

bool
yq_state_role_equal(const YqState *a, const YqState *b)
{
	return a->role.has_priority == b->role.has_priority &&
		a->role.priority == b->role.priority &&
		a->role.has_allocation_request_id == b->role.has_allocation_request_id &&
		a->role.allocation_request_id == b->role.allocation_request_id &&
		yq_varlena_equal(a->role.asked_label, b->role.asked_label) &&
		a->role.is_am == b->role.is_am && a->is_running == b->is_running;
}

/* Tell whether two events have the same content.  Of the columns of the role, only is_running is compared. */
static bool
state_equal(const YqState *a, const YqState *b)
{
	return yq_allocation_equal(a->allocation, b->allocation) &&
		a->execution_type == b->execution_type &&
		yq_varlena_equal(a->queue, b->queue) &&
		yq_varlena_equal(a->node, b->node) &&
		a->is_running == b->is_running;
}

YqState
yq_state_of_event(const YqEvent *event)
{
	YqState		state = {event->allocation, event->execution_type, event->queue, event->node,
	event->role, event->is_running};

	return state;
}

bool
yq_state_is_empty(const YqState *state)
{
	const YqState nothing = {0};

	return state_equal(state, &nothing) && yq_state_role_equal(state, &nothing);
}

YqState
yq_container_life_last_state(const YqContainerLife *life)
{
	YqState		state = life->initial;

	for (int i = 0; i < life->change_count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		yq_state_apply(&state, &yq_container_life_change(life, i)->set);
	}
	return state;
}

/*
 * Return the start of the wait of a container that entered "state" at an instant.  "before" is the
 * result for the previous state.  A wait continues if both states wait.
 */
static TimestampTz
waits_since(const YqContainerLife *life, const YqState *state, TimestampTz since, TimestampTz before)
{
	return yq_state_waits(state, life->opportunistic) ? Min(since, before) : DT_NOEND;
}

TimestampTz
yq_container_life_waits_since(const YqContainerLife *life)
{
	YqState		state = life->initial;
	TimestampTz since = waits_since(life, &state, life->started_at, DT_NOEND);

	for (int i = 0; i < life->change_count; i++)
	{
		const YqChange *change = yq_container_life_change(life, i);

		CHECK_FOR_INTERRUPTS();
		yq_state_apply(&state, &change->set);
		since = waits_since(life, &state, change->occurred_at, since);
	}
	return since;
}

TimestampTz
yq_container_life_last_settled_at(const YqContainerLife *life)
{
	return life->change_count == 0 ? life->started_at :
		yq_container_life_change(life, life->change_count - 1)->occurred_at;
}

/* Move the gap so that it lies before the change with the given number. */
static void
move_gap(YqContainerLife *life, int number)
{
	int			room = life->change_room - life->change_count;
	int			gap = life->change_gap;

	if (number < gap)
		memmove(&life->changes[number + room], &life->changes[number], sizeof(YqChange) * (gap - number));
	else if (number > gap)
		memmove(&life->changes[gap], &life->changes[gap + room], sizeof(YqChange) * (number - gap));
	life->change_gap = number;
}

YqContainerLife
yq_container_life_copy(const YqContainerLife *life)
{
	YqContainerLife copy = *life;

	copy.change_room = copy.change_gap = life->change_count;
	copy.changes = NULL;
	copy.repeated = NULL;
	if (life->change_count > 0)
	{
		copy.changes = palloc(sizeof(YqChange) * life->change_count);
		for (int i = 0; i < life->change_count; i++)
		{
			CHECK_FOR_INTERRUPTS();
			copy.changes[i] = *yq_container_life_change(life, i);
		}
	}
	return copy;
}

/* Store a change at the start of the gap. */
static void
put_change(YqContainerLife *life, const YqChange *change)
{
	life->changes[life->change_gap++] = *change;
	life->change_count++;
	life->last_allocation = NULL;
}

static void
make_room(YqContainerLife *life)
{
	if (life->change_count < life->change_room)
		return;
	life->change_gap = life->change_count;
	life->change_room = Max(4, life->change_room * 2);
	life->changes = life->changes == NULL ?
		palloc(sizeof(YqChange) * life->change_room) :
		repalloc(life->changes, sizeof(YqChange) * life->change_room);
}

void
yq_container_life_add_change(YqContainerLife *life, const YqChange *change)
{
	make_room(life);
	put_change(life, change);
}

static int
compare_changes(const void *a, const void *b)
{
	TimestampTz left = ((const YqChange *) a)->occurred_at;
	TimestampTz right = ((const YqChange *) b)->occurred_at;

	return left == right ? 0 : left < right ? -1 : 1;
}

void
yq_container_life_complete(YqContainerLife *life)
{
	if (life->change_count > 1)
		qsort(life->changes, life->change_count, sizeof(YqChange), compare_changes);
}

/* Return the number of changes at or before an instant. */
static int
changes_until(const YqContainerLife *life, TimestampTz at)
{
	int			low = 0;
	int			high = life->change_count;

	/* usually all changes are at or before the instant */
	if (high > 0 && yq_container_life_change(life, high - 1)->occurred_at <= at)
		return high;
	while (low < high)
	{
		int			middle = low + (high - low) / 2;

		if (yq_container_life_change(life, middle)->occurred_at <= at)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static const YqChange *
find_change(const YqContainerLife *life, TimestampTz occurred_at)
{
	int			count = changes_until(life, occurred_at);
	const YqChange *last = count == 0 ? NULL : yq_container_life_change(life, count - 1);

	return last != NULL && last->occurred_at == occurred_at ? last : NULL;
}

/* Insert a change in time order. */
static void
insert_change(YqContainerLife *life, const YqChange *change)
{
	make_room(life);
	move_gap(life, changes_until(life, change->occurred_at));
	put_change(life, change);
}

/* Return the end of the known time after the first "number" changes: the next change, or the finish. */
static TimestampTz
known_until(const YqContainerLife *life, int changes)
{
	if (changes < life->change_count)
		return yq_container_life_change(life, changes)->occurred_at;
	/* the padding takes account of a change of label at the instant of the finish */
	return life->finished ? life->finished_at + 1 : DT_NOEND;
}

YqContainerLife
yq_container_life_relabelled(const YqContainerLife *life)
{
	YqContainerLife relabelled;
	const text *node = life->initial.node;
	TimestampTz at = life->started_at;
	int			next = 0;

	if (!yq_node_labels_matter())
		return *life;
	relabelled = yq_container_life_copy(life);
	for (;;)
	{
		YqChange	change = {.occurred_at = yq_node_label_next_change(node, at),.is_relabel = true};

		CHECK_FOR_INTERRUPTS();
		if (change.occurred_at < known_until(&relabelled, next))
			insert_change(&relabelled, &change);
		else if (next == relabelled.change_count)
			return relabelled;
		at = yq_container_life_change(&relabelled, next)->occurred_at;
		if (yq_container_life_change(&relabelled, next)->set.node != NULL)
			node = yq_container_life_change(&relabelled, next)->set.node;
		next++;
	}
}

/* Remove all changes after an instant. */
static void
remove_changes_after(YqContainerLife *life, TimestampTz at)
{
	if (yq_container_life_last_settled_at(life) <= at)
		return;
	move_gap(life, life->change_count);
	life->change_count = life->change_gap = changes_until(life, at);
	life->last_allocation = NULL;
	life->repeated = NULL;
}

/* -- problems ------------------------------------------------------------ */

static YqMerge
bad(YqProblem **problem, int sqlstate, char *message, const char *hint)
{
	*problem = yq_problem(sqlstate, message, hint);
	return YQ_MERGE_BAD;
}

static YqMerge
bad_not_started(YqProblem **problem, const YqContainerLife *life)
{
	*problem = yq_problem(ERRCODE_FOREIGN_KEY_VIOLATION,
						  psprintf("container \"%s\" was never started",
								   text_to_cstring(life->container_id)),
						  "Send its CONTAINER_START, or set yquota.on_bad_event to set_aside to let events wait for it.");
	(*problem)->may_wait = true;
	return YQ_MERGE_BAD;
}

static YqMerge
bad_other_content(YqProblem **problem, const YqContainerLife *life, const YqEvent *event)
{
	return bad(problem, ERRCODE_UNIQUE_VIOLATION,
			   psprintf("%s of container \"%s\" at %s is already recorded with other content",
						yq_event_kind_name(event->kind),
						text_to_cstring(life->container_id),
						timestamptz_to_str(event->occurred_at)),
			   "An event is a fact and cannot be changed by sending it again.");
}

static YqMerge
bad_before_start(YqProblem **problem, const YqContainerLife *life, const YqEvent *event)
{
	return bad(problem, ERRCODE_CHECK_VIOLATION,
			   psprintf("%s of container \"%s\" lies before its start at %s",
						yq_event_kind_name(event->kind),
						text_to_cstring(life->container_id),
						timestamptz_to_str(life->started_at)),
			   "Check the clocks of the senders of the two events.");
}

static YqMerge
bad_project(YqProblem **problem, const YqContainerLife *life, const text *project)
{
	return bad(problem, ERRCODE_CHECK_VIOLATION,
			   psprintf("container \"%s\" belongs to project \"%s\", not \"%s\"",
						text_to_cstring(life->container_id),
						text_to_cstring(life->project),
						text_to_cstring(project)),
			   "A container never changes its project.");
}

/* -- merging ------------------------------------------------------------- */

static void
enter_repeated(YqContainerLife *life, const YqResource *allocation)
{
	bool		found;

	(void) yq_bytes_table_enter_kept(life->repeated, yq_bytes_of_varlena(allocation), &found);
}

/* Tell whether an earlier START with this allocation became an UPDATE. */
static bool
was_repeated_with(YqContainerLife *life, const YqResource *allocation)
{
	if (life->repeated == NULL)
	{
		life->repeated = yq_bytes_table_create_for("yquota repeated starts", sizeof(YqBytes), 16,
												   CurrentMemoryContext);
		for (int i = 0; i < life->change_count; i++)
		{
			const YqChange *change = yq_container_life_change(life, i);

			CHECK_FOR_INTERRUPTS();
			if (change->repeated_start)
				enter_repeated(life, change->set.allocation);
		}
	}
	return yq_bytes_table_find(life->repeated, yq_bytes_of_varlena(allocation)) != NULL;
}

/* Return the allocation after the last change. */
static const YqResource *
last_allocation(YqContainerLife *life)
{
	if (life->last_allocation != NULL)
		return life->last_allocation;
	life->last_allocation = life->initial.allocation;
	for (int i = life->change_count; i-- > 0;)
	{
		const YqResource *allocation = yq_container_life_change(life, i)->set.allocation;

		CHECK_FOR_INTERRUPTS();
		if (allocation == NULL)
			continue;
		life->last_allocation = allocation;
		break;
	}
	return life->last_allocation;
}

/*
 * Return the instant at which a START with a new allocation changes the container.  This is the
 * time of arrival, unless a known event lies at or after that time.  The instant is then later, so
 * that no charge changes (docs/design.md 3).
 *
 * A known event can lie later when the clock was set back, or when an UPDATE lies ahead of the
 * clock.  A START that was set aside and is settled later keeps its time of arrival.
 */
static TimestampTz
instant_of_repeated_start(const YqContainerLife *life, const YqEvent *event)
{
	TimestampTz arrived_at = Max(event->recorded_at, life->started_at);
	TimestampTz last = yq_container_life_last_settled_at(life);

	return event->recorded_at >= life->now && life->change_count > 0 ?
		Max(arrived_at, last + 1) : arrived_at;
}

/*
 * Merge a START of a known container.  A recovering resource manager sends it with the first
 * allocation, the present allocation or a new one (docs/design.md 3).
 */
static YqMerge
merge_repeated_start(YqContainerLife *life, const YqEvent *event, const text *project,
					 YqProblem **problem)
{
	YqChange	change = {0};

	if (project != NULL && !yq_varlena_equal(project, life->project))
		return bad_project(problem, life, project);
	if (event->occurred_at != life->started_at)
		return bad(problem, ERRCODE_UNIQUE_VIOLATION,
				   psprintf("container \"%s\" has already started at %s",
							text_to_cstring(life->container_id),
							timestamptz_to_str(life->started_at)),
				   "A container id is used once; a recovered container keeps its creation time.");
	if (yq_allocation_equal(event->allocation, life->initial.allocation) ||
		yq_allocation_equal(event->allocation, last_allocation(life)) ||
		was_repeated_with(life, event->allocation))
		return YQ_MERGE_KNOWN;

	change.occurred_at = instant_of_repeated_start(life, event);
	change.set.allocation = event->allocation;
	change.repeated_start = true;
	change.event_id = event->event_id;
	change.is_new = true;
	if (life->finished &&
		(change.occurred_at > life->finished_at || event->recorded_at >= life->now))
		return YQ_MERGE_KNOWN;
	if (find_change(life, change.occurred_at) != NULL)
		return bad_other_content(problem, life, event);
	insert_change(life, &change);
	enter_repeated(life, change.set.allocation);
	return YQ_MERGE_ACCEPTED;
}

static YqMerge
merge_start(YqContainerLife *life, const YqEvent *event, YqProblem **problem)
{
	text	   *project;
	text	   *username;

	yq_event_payer(event, &project, &username);
	if (life->started)
		return merge_repeated_start(life, event, project, problem);

	life->started = true;
	life->project = project;
	life->username = username;
	life->application_id = event->application_id;
	life->is_given = yq_event_is_given(event);
	life->started_at = event->occurred_at;
	life->initial = yq_state_of_event(event);
	return YQ_MERGE_ACCEPTED;
}

static YqMerge
merge_update(YqContainerLife *life, const YqEvent *event, YqProblem **problem)
{
	YqChange	change = {.occurred_at = event->occurred_at,
		.set = yq_state_of_event(event),.event_id = event->event_id,.is_new = true};
	const YqChange *known;

	if (yq_state_is_empty(&change.set) ||
		(life->finished && event->occurred_at > life->finished_at))
		return YQ_MERGE_KNOWN;
	known = find_change(life, event->occurred_at);
	if (known != NULL)
		return state_equal(&known->set, &change.set) ? YQ_MERGE_KNOWN :
			bad_other_content(problem, life, event);
	insert_change(life, &change);
	return YQ_MERGE_ACCEPTED;
}

/*
 * Compare two FINISH events at the same instant.  The event with the smaller exit status counts.
 * An event without exit status sorts last.
 */
static bool
is_smaller_status(const YqEvent *event, const YqContainerLife *life)
{
	return event->has_exit_status &&
		(!life->has_exit_status || event->exit_status < life->exit_status);
}

/*
 * Merge a FINISH. The earliest FINISH ends the container, whatever its source and the order of
 * arrival (docs/design.md 3).  Later UPDATEs are then removed from the life.
 */
static YqMerge
merge_finish(YqContainerLife *life, const YqEvent *event)
{
	if (yq_event_tells_preemption(event) && yq_event_is_own(event))
		life->own_preemption = true;
	if (life->finished &&
		(event->occurred_at > life->finished_at ||
		 (event->occurred_at == life->finished_at && !is_smaller_status(event, life))))
		return YQ_MERGE_KNOWN;

	life->finished = true;
	life->finished_at = event->occurred_at;
	life->has_exit_status = event->has_exit_status;
	life->exit_status = event->exit_status;
	remove_changes_after(life, life->finished_at);
	return YQ_MERGE_ACCEPTED;
}

YqMerge
yq_container_life_merge(YqContainerLife *life, const YqEvent *event, YqProblem **problem)
{
	if (event->kind == YQ_CONTAINER_START)
		return merge_start(life, event, problem);
	if (!life->started)
		return bad_not_started(problem, life);
	if (event->project != NULL && !yq_varlena_equal(event->project, life->project))
		return bad_project(problem, life, event->project);
	if (event->occurred_at < life->started_at)
		return bad_before_start(problem, life, event);
	if (event->kind == YQ_CONTAINER_UPDATE)
		return merge_update(life, event, problem);
	return merge_finish(life, event);
}

/* A list of segments, and the instants that no segment may cross. */
typedef struct SegmentList
{
	const TimestampTz *period_ends; /* ends of periods that are still to come, ascending */
	int			period_count;
	TimestampTz free_from;
	YqSegment  *segments;
	int			count;
} SegmentList;

/* Add a segment to the list.  If the free window begins within the segment, split the segment there. */
static void
add_segment(SegmentList *list, const YqSegment *segment)
{
	YqSegment	part = *segment;

	if (part.from < list->free_from && list->free_from < part.to)
	{
		part.to = list->free_from;
		part.settled_by = YQ_QUOTA_COMPUTE;
		list->segments[list->count++] = part;
		part = *segment;
		part.from = list->free_from;
	}
	part.is_free = part.from >= list->free_from && part.from < part.to;
	list->segments[list->count++] = part;
}

/*
 * Split a segment at the ends of periods, and add all parts except the last to the list.  The last
 * part remains in *segment.
 */
static void
add_until_period_ends(SegmentList *list, YqSegment *segment)
{
	for (; list->period_count > 0 && *list->period_ends < segment->to; list->period_ends++, list->period_count--)
	{
		YqSegment	part = *segment;

		CHECK_FOR_INTERRUPTS();
		part.to = *list->period_ends;
		part.settled_by = YQ_QUOTA_COMPUTE;
		if (part.to <= segment->from)
			continue;
		add_segment(list, &part);
		segment->from = part.to;
	}
}

int
yq_container_life_segments(const YqContainerLife *life, const TimestampTz *period_ends, int period_count,
						   YqSegment **segments)
{
	YqSegment	segment = {life->started_at, 0, life->initial, YQ_CONTAINER_UPDATE, false,
		waits_since(life, &life->initial, life->started_at, DT_NOEND)};
	SegmentList list = {period_ends, period_count, life->free_from, NULL, 0};

	list.segments = palloc(sizeof(YqSegment) * (life->change_count + 2 + period_count));
	for (int i = 0; i < life->change_count; i++)
	{
		const YqChange *change = yq_container_life_change(life, i);

		CHECK_FOR_INTERRUPTS();
		segment.to = change->occurred_at;
		segment.settled_by = change->is_relabel ? YQ_QUOTA_COMPUTE : YQ_CONTAINER_UPDATE;
		add_until_period_ends(&list, &segment);
		if (segment.to > segment.from)
			add_segment(&list, &segment);
		segment.from = segment.to;
		yq_state_apply(&segment.state, &change->set);
		segment.waits_since = waits_since(life, &segment.state, segment.from, segment.waits_since);
	}
	segment.to = life->finished ? life->finished_at : DT_NOEND;
	add_until_period_ends(&list, &segment);
	if (life->finished)
	{
		segment.settled_by = YQ_CONTAINER_FINISH;
		add_segment(&list, &segment);
	}
	*segments = list.segments;
	return list.count;
}
