/*-------------------------------------------------------------------------
 *
 * container_life.h
 *	  The life of one container: its known facts, and the segments that follow.
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

/* The allocation, queue, node and role of a container between two events. */
typedef struct YqState
{
	YqResource *allocation;
	Oid			execution_type;
	text	   *queue;
	text	   *node;
	YqContainerRole role;		/* no price depends on the role */
	YqAnswer	is_running;		/* NO while the container waits at its node or is paused */
} YqState;

/* Tell whether a container in that state waits: GUARANTEED containers never do. */
static inline bool
yq_state_waits(const YqState *state, Oid opportunistic)
{
	return state->is_running == YQ_ANSWER_NO && state->execution_type == opportunistic;
}

/* Return the state in an event; columns that the event leaves out are NULL or InvalidOid. */
extern YqState yq_state_of_event(const YqEvent *event);
extern bool yq_state_is_empty(const YqState *state);

/* Fill in the columns that a START has left out. */
extern void yq_state_complete(YqState *state, const text *container_id, Oid guaranteed);

/* Tell whether two states of a container have the same role in every column. */
extern bool yq_state_role_equal(const YqState *a, const YqState *b);

/* Change the columns that "set" does not leave out. */
extern void yq_state_apply(YqState *state, const YqState *set);

/* An accepted UPDATE; columns that it left unchanged are NULL or InvalidOid. */
typedef struct YqChange
{
	TimestampTz occurred_at;
	YqState		set;
	bool		repeated_start; /* it came as a START with a new allocation */
	int64		event_id;		/* number of its event; 0 when the event has no number */
	bool		is_new;			/* not recorded yet */
	bool		is_relabel;		/* no event: the label of the node changes */
} YqChange;

typedef struct YqContainerLife
{
	text	   *container_id;
	TimestampTz now;			/* the statement's clock */
	Oid			opportunistic;	/* the execution type of containers that may wait */
	bool		started;
	text	   *project;		/* resolved, as is username */
	text	   *application_id;
	text	   *username;
	bool		is_given;		/* yquota's scheduler gave the running container */
	TimestampTz started_at;
	YqState		initial;
	int			change_count;
	int			change_room;
	int			change_gap;		/* the free room lies before the change with this number */
	YqChange   *changes;		/* in time order; see yq_container_life_change() */
	const YqResource *last_allocation;	/* allocation of the last change that has one; NULL until it is
										 * asked for */
	HTAB	   *repeated;		/* allocations of repeated STARTs; NULL until one is asked for */
	bool		finished;
	TimestampTz finished_at;
	bool		has_exit_status;
	int32		exit_status;
	bool		own_preemption; /* yquota sent a FINISH with the status of a preempted container;
								 * set only if a rule needs it */
	TimestampTz free_from;		/* instant from which the preempted container is free; DT_NOEND for never */
} YqContainerLife;

/*
 * Return the change with a number, in time order.  The free room lies where the last change was inserted.
 * Changes that come in time order therefore move each other change at most once.
 */
static inline YqChange *
yq_container_life_change(const YqContainerLife *life, int number)
{
	return &life->changes[number < life->change_gap ? number :
						  number + life->change_room - life->change_count];
}

/* A segment of a life that one ledger row settles. */
typedef struct YqSegment
{
	TimestampTz from;
	TimestampTz to;
	YqState		state;
	YqEventKind settled_by;
	bool		is_free;		/* lies in the free window of a preempted container */
	TimestampTz waits_since;	/* DT_NOEND when the container does not wait */
} YqSegment;

typedef enum YqMerge
{
	YQ_MERGE_ACCEPTED,			/* new, and now part of the life */
	YQ_MERGE_KNOWN,				/* nothing new */
	YQ_MERGE_BAD				/* see *problem */
} YqMerge;

/*
 * Add an event, already checked by itself.  The life keeps pointers into the event.  An event after the end
 * counts as known and changes nothing.  A START of a container that has started is judged by its
 * allocation.  It may become an UPDATE at event->recorded_at.
 */
extern YqMerge yq_container_life_merge(YqContainerLife *life, const YqEvent *event,
									   YqProblem **problem);

/* Return a copy that can be added to; both lives share the values that they point to. */
extern YqContainerLife yq_container_life_copy(const YqContainerLife *life);

/*
 * Return the life with a change for each change of the label of a node while the container was there.  The result
 * is the life itself while labels have no factors.
 */
extern YqContainerLife yq_container_life_relabelled(const YqContainerLife *life);

/* Add a recorded change, in any order.  Callers use the life only after yq_container_life_complete(). */
extern void yq_container_life_add_change(YqContainerLife *life, const YqChange *change);
extern void yq_container_life_complete(YqContainerLife *life);

/* Return the state after the last change. */
extern YqState yq_container_life_last_state(const YqContainerLife *life);

/* Return the instant of the last change, or of the start when there is no change. */
extern TimestampTz yq_container_life_last_settled_at(const YqContainerLife *life);

/*
 * Return the start of the wait that continues after the last change; DT_NOEND when the container does not
 * wait.
 */
extern TimestampTz yq_container_life_waits_since(const YqContainerLife *life);

/*
 * Return the settled segments in ascending order: up to each change that took time, and up to the finish.
 * No segment crosses the beginning of the free window or the end of a period.  "period_ends" are in
 * ascending order; the last one settles a running container as well.  Returns the number of segments;
 * *segments is palloc'd.
 */
extern int	yq_container_life_segments(const YqContainerLife *life,
									   const TimestampTz *period_ends, int period_count,
									   YqSegment **segments);

#endif							/* YQ_CONTAINER_LIFE_H */
