/*-------------------------------------------------------------------------
 *
 * container_life.h
 *	  The life of one container: its known facts, and the segments that follow from them.
 *
 * Facts are merged one by one, in any order.  The order does not matter: the same facts always make the
 * same life and therefore the same segments (docs/design.md 3).  Nothing here reads tables or prices.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_CONTAINER_LIFE_H
#define YQ_CONTAINER_LIFE_H

#include "charging/event.h"
#include "utils/hsearch.h"

/* The allocation, queue, node and role of a container from one event to the next. */
typedef struct YqState
{
	YqResource *allocation;
	Oid			execution_type;
	text	   *queue;
	text	   *node;
	YqContainerRole role;		/* role of the container; prices do not depend on it */
	YqAnswer	is_running;		/* NO while the container waits at its node or is paused */
} YqState;

/* Tell whether a container in a state waits.  GUARANTEED containers never wait. */
static inline bool
yq_state_waits(const YqState *state, Oid opportunistic)
{
	return state->is_running == YQ_ANSWER_NO && state->execution_type == opportunistic;
}

/* Return the state that an event contains.  Columns without a value in the event are NULL or InvalidOid. */
extern YqState yq_state_of_event(const YqEvent *event);
extern bool yq_state_is_empty(const YqState *state);

/* Set the columns that a START has left out. */
extern void yq_state_complete(YqState *state, const text *container_id, Oid guaranteed);

/* Tell whether all columns of the role are equal in two states of a container. */
extern bool yq_state_role_equal(const YqState *a, const YqState *b);

/* Change the columns for which "set" has a value. */
extern void yq_state_apply(YqState *state, const YqState *set);

/* An accepted UPDATE. Columns that it does not change are NULL or InvalidOid. */
typedef struct YqChange
{
	TimestampTz occurred_at;
	YqState		set;
	bool		repeated_start; /* the event was a START with a new allocation */
	int64		event_id;		/* number of the event; 0 if the event has no number */
	bool		is_new;			/* not recorded yet */
	bool		is_relabel;		/* the change is not an event: the label of the node changed */
} YqChange;

typedef struct YqContainerLife
{
	text	   *container_id;
	TimestampTz now;			/* the statement's clock */
	Oid			opportunistic;	/* OID of the execution type OPPORTUNISTIC */
	bool		started;
	text	   *project;		/* project that yq_event_payer() found */
	text	   *application_id;
	text	   *username;		/* user that yq_event_payer() found */
	bool		is_given;		/* the START came from yquota's scheduler */
	TimestampTz started_at;
	YqState		initial;
	int			change_count;
	int			change_room;
	int			change_gap;		/* number of the change before which the gap lies */
	YqChange   *changes;		/* changes in time order around a gap; see yq_container_life_change() */
	const YqResource *last_allocation;	/* last allocation that a change has set; NULL until it is needed */
	HTAB	   *repeated;		/* allocations of repeated STARTs; NULL until it is needed */
	bool		finished;
	TimestampTz finished_at;
	bool		has_exit_status;
	int32		exit_status;
	bool		own_preemption; /* a FINISH from yquota preempted the container; set only if a rule needs to know it */
	TimestampTz free_from;		/* start of the free window before a preemption; DT_NOEND if there is no free window */
} YqContainerLife;

/*
 * Return a change by its number in time order.  The array has a gap of free elements where the
 * last change was inserted.  If changes come in time order, each change is therefore moved at most
 * once.
 */
static inline YqChange *
yq_container_life_change(const YqContainerLife *life, int number)
{
	return &life->changes[number < life->change_gap ? number :
						  number + life->change_room - life->change_count];
}

/* A part of a life for which the ledger has one row. */
typedef struct YqSegment
{
	TimestampTz from;
	TimestampTz to;
	YqState		state;
	YqEventKind settled_by;
	bool		is_free;		/* is in the free window of a preempted container */
	TimestampTz waits_since;	/* DT_NOEND when the container does not wait */
} YqSegment;

typedef enum YqMerge
{
	YQ_MERGE_ACCEPTED,			/* the event was new, and has been merged into the life */
	YQ_MERGE_KNOWN,				/* nothing new */
	YQ_MERGE_BAD				/* see *problem */
} YqMerge;

/*
 * Merge an event that has passed the checks of its own content.  The life keeps pointers into the
 * event.
 *
 * An event after the end counts as known and changes nothing.  So does a repeated START, unless its
 * allocation is new.  With a new allocation, it becomes an UPDATE at event->recorded_at or later.
 */
extern YqMerge yq_container_life_merge(YqContainerLife *life, const YqEvent *event,
									   YqProblem **problem);

/* Return a copy of a life that can be changed.  Both lives share the values that they point to. */
extern YqContainerLife yq_container_life_copy(const YqContainerLife *life);

/*
 * Return a copy of a life with an additional change wherever the label of the container's node
 * changed.  If no label has a factor, return the life itself.
 */
extern YqContainerLife yq_container_life_relabelled(const YqContainerLife *life);

/*
 * Add a recorded change.  Changes may be added in any order.  Callers then call
 * yq_container_life_complete() before they use the life.
 */
extern void yq_container_life_add_change(YqContainerLife *life, const YqChange *change);
extern void yq_container_life_complete(YqContainerLife *life);

/* Return the state after the last change. */
extern YqState yq_container_life_last_state(const YqContainerLife *life);

/* Return the instant of the last change, or of the start when there is no change. */
extern TimestampTz yq_container_life_last_settled_at(const YqContainerLife *life);

/*
 * Return the start of the wait that continues after the last change.  Returns DT_NOEND when the
 * container does not wait.
 */
extern TimestampTz yq_container_life_waits_since(const YqContainerLife *life);

/*
 * Return the settled segments in ascending order.  A segment ends at each change that is later
 * than the previous change, and at the finish.  *segments is palloc'd, and the result is the
 * number of segments.
 *
 * No segment crosses the beginning of the free window or the end of a period.  "period_ends" are
 * in ascending order.  A running container has a segment up to the last period end, too.
 */
extern int	yq_container_life_segments(const YqContainerLife *life,
									   const TimestampTz *period_ends, int period_count,
									   YqSegment **segments);

#endif							/* YQ_CONTAINER_LIFE_H */
