/*-------------------------------------------------------------------------
 *
 * node_queue.h
 *	  What calls about a node do to its queue.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_NODE_QUEUE_H
#define YQ_NODE_QUEUE_H

#include "base/resource.h"
#include "datatype/timestamp.h"
#include "opportunistic/node_queue/container_queue.h"
#include "opportunistic/node_queue/node_container.h"

/* -- node queue row ------------------------------------------------------------ */

/* The queue of a node in memory: its rows, and what a call makes of them. */

typedef struct YqNodeQueueRow
{
	YqNodeContainer container;	/* as the queue decides about it */
	const char *container_id;
	Datum		allocation;		/* YqResource *, as the books have it or last had it */

	/* what the books say */
	bool		is_in_books;	/* and on this node */
	bool		is_guaranteed_in_books;
	bool		runs_in_books;	/* is_running */
	TimestampTz changed_at;		/* its last event there */
	TimestampTz next_instant;	/* its next event must not be earlier */

	/* columns of node_queue */
	YqContainerState state;
	int64		place;
	TimestampTz state_at;
	bool		has_started;
	TimestampTz started_at;		/* if it has started */
	int64		expected_duration;	/* microseconds; 0: not known */
	const char *kill_figure;	/* what its kill_rank is from, for people; NULL: nothing */
	TimestampTz left_at;		/* if it is GONE */
	int64		waited;			/* microseconds to be added */
	int			pauses;			/* to be added */
	const char *made_room_for;	/* container id, or NULL */
	const char *left_reason;
	bool		has_exit_status;
	int			exit_status;
	const char *diagnostics;
	bool		has_queue_limit;
	int			queue_limit;
	bool		is_acknowledged;	/* the agent has done the last action about it */

	bool		was_paused;		/* before this call */
	bool		has_joined;		/* in this call: its row is made, or made anew */
	bool		is_changed;		/* since it was written */
	bool		is_written;		/* in this call, and not compared with the books since */
} YqNodeQueueRow;

/* An event that is to be appended: a FINISH, or an UPDATE of is_running. */
typedef struct YqNodeQueueEvent
{
	const char *container_id;
	TimestampTz at;
	bool		is_finish;
	bool		is_running;
	int			exit_status;
	bool		is_reported;	/* by the node's agent, and not decided here */
} YqNodeQueueEvent;

typedef struct YqNodeQueue
{
	const char *node;
	TimestampTz now;			/* of this call */
	YqContainerQueue *queue;
	List	   *rows;			/* of YqNodeQueueRow *, by place */
	List	   *events;			/* of YqNodeQueueEvent * */
	List	   *arrived;		/* container ids (char *) that the node has received */
	List	   *expected;		/* those of them whose expected duration is known */
	List	   *users;			/* names (char *) of users that the fair order numbers */
	int64		last_place;
	int			shed_limit;		/* of this call */
	bool		has_freed;		/* containers have given back what the measured use is above: to be written */
	int			preempted;		/* containers to be killed or paused for the measured use: likewise */
	int			noted;			/* decisions of the queue that are in the rows */
	int			told;			/* decisions of the queue that are in yquota.decision */
	bool		is_known;		/* the node is in yquota.node */
	const char *gone_because;	/* why no container may join the node, and none starts; NULL: they may */
} YqNodeQueue;

/* -- node queue ---------------------------------------------------------------- */

/*
 * A call about a node opens its queue, which locks it until the transaction ends and reads
 * it, and has it learn what the books say since the last call: containers that have ended,
 * were promoted or demoted, or have another size.  The caller then does its operation, and
 * writes everything: rows, events in container_event, and rows of yquota.decision.
 *
 * What waits or runs on a node is what was enqueued there; whether it still exists, its
 * size and its execution type are what yquota.container says.
 */

/* YARN's ContainerExitStatus */
#define YQ_EXIT_KILLED_BY_CONTAINER_SCHEDULER (-108)
#define YQ_EXIT_ABORTED (-100)

/*
 * Lock a node's queue until the transaction ends; ERRCODE_READ_ONLY_SQL_TRANSACTION in a
 * read-only transaction.
 */
extern void yq_node_queue_lock(const char *node);

/*
 * Lock a node's queue and read it.  ERRCODE_UNDEFINED_OBJECT when there is no such node, and
 * nothing is left at it; ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE while charging is deferred.
 * Until yq_node_queue_settle() the caller may recover containers, and do nothing else.
 */
extern YqNodeQueue *yq_node_queue_open(const char *node);

/* Let the queue learn what the books say. */
extern void yq_node_queue_settle(YqNodeQueue *queue);

/* The row of a container that waits or runs at the node, or NULL. */
extern YqNodeQueueRow *yq_node_queue_find(const YqNodeQueue *queue, const char *container_id);

/*
 * Make a row for a container that the books have on the node.  NULL when it cannot join
 * the node: then "reason" says why.
 */
extern YqNodeQueueRow *yq_node_queue_join(YqNodeQueue *queue, const char *container_id, const char **reason);

/* One that has joined arrives: its localisation is done. */
extern void yq_node_queue_arrive(YqNodeQueue *queue, YqNodeQueueRow *row);

/* The node's agent says that a container runs; before yq_node_queue_settle(). */
extern void yq_node_queue_recover(YqNodeQueue *queue, YqNodeQueueRow *row);

/* A container has ended, and lets others start.  Told by the agent, or decided here. */
extern void yq_node_queue_end(YqNodeQueue *queue, YqNodeQueueRow *row, TimestampTz at, int exit_status, bool is_reported);

/* The agent tells the end of a container that the node's queue does not have. */
extern void yq_node_queue_note_end(YqNodeQueue *queue, const char *container_id, TimestampTz at, int exit_status);

/* A PAUSING container is paused since an instant. */
extern void yq_node_queue_pause(YqNodeQueue *queue, YqNodeQueueRow *row, TimestampTz at);

/* Drop waiting OPPORTUNISTIC containers beyond a limit. */
extern void yq_node_queue_shed(YqNodeQueue *queue, int limit);

/* Start what can start. */
extern void yq_node_queue_advance(YqNodeQueue *queue);

/* Kill or pause while the measured use is too high; the last step of a call. */
extern void yq_node_queue_preempt(YqNodeQueue *queue);

/*
 * The queue as the next call about the node finds it, without a lock, to look at alone.  A
 * node without rows has an empty one.
 */
extern YqNodeQueue *yq_node_queue_read(const char *node);

/*
 * The same when a container is promoted there, or arrives, as the last of the GUARANTEED ones
 * that wait; NULL: none.  Errors as of yq_node_queue_open(), and ERRCODE_INVALID_PARAMETER_VALUE
 * when the books do not have it on the node.
 */
extern YqNodeQueue *yq_node_queue_read_promoted(const char *node, const char *container_id);

/*
 * After what was decided has been written: have the queue learn which of those containers
 * ended while their events waited for locks, or since the books were read.  False when none
 * did; else what has been decided since is to be written.
 */
extern bool yq_node_queue_learn_late_ends(YqNodeQueue *queue);

/* The row of a container of the queue. */
extern YqNodeQueueRow *yq_node_queue_row(YqNodeContainer *container);

/* Hadoop's words for a decision, or the figures of the measured use that it follows. */
extern const char *yq_node_queue_diagnostics(const YqNodeQueue *queue, const YqQueueDecision *decision);

#endif							/* YQ_NODE_QUEUE_H */
