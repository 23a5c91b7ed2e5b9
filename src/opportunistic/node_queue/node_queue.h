/*-------------------------------------------------------------------------
 *
 * node_queue.h
 *	  Applies calls about a node to its queue.
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

/* The queue of a node in memory, and the changes that a call makes to its rows. */

typedef struct YqNodeQueueRow
{
	YqNodeContainer container;	/* the container as container_queue.c handles it */
	const char *container_id;
	Datum		allocation;		/* YqResource *: present allocation in yquota.container, or the last known allocation */

	/* columns from yquota.container */
	bool		is_in_books;	/* is the container still on this node, according to yquota.container? */
	bool		is_guaranteed_in_books;
	bool		runs_in_books;	/* value of is_running in yquota.container */
	TimestampTz changed_at;		/* time of the container's last event */
	TimestampTz next_instant;	/* earliest time that the container's next event may have */

	/* columns of node_queue */
	YqContainerState state;
	int64		place;
	TimestampTz state_at;
	bool		has_started;
	TimestampTz started_at;		/* time at which the container started, if has_started */
	int64		expected_duration;	/* expected duration in microseconds; 0: not known */
	const char *kill_figure;	/* figure shown to users from which kill_rank was computed; NULL: none */
	TimestampTz left_at;		/* time at which the container left the node; set if the state is GONE */
	int64		waited;			/* microseconds of waiting to add to the stored row */
	int			pauses;			/* number of pauses to add to the stored row */
	const char *made_room_for;	/* id of the GUARANTEED container for which this container made room, or NULL */
	const char *left_reason;
	bool		has_exit_status;
	int			exit_status;
	const char *diagnostics;
	bool		has_queue_limit;
	int			queue_limit;
	bool		is_acknowledged;	/* has the agent carried out the last action for this container? */

	bool		was_paused;		/* had the container been paused before this call? */
	bool		has_joined;		/* has this call inserted the row, or replaced an older row? */
	bool		is_changed;		/* has the row changed since it was last written? */
	bool		is_written;		/* has the row been written in this call, and not been compared with yquota.container
								 * since? */
} YqNodeQueueRow;

/* An event to be written: the end of a container, or a change of is_running. */
typedef struct YqNodeQueueEvent
{
	const char *container_id;
	TimestampTz at;
	bool		is_finish;
	bool		is_running;
	int			exit_status;
	bool		is_reported;	/* true: the node's agent has reported the event; false: yquota has decided it */
} YqNodeQueueEvent;

typedef struct YqNodeQueue
{
	const char *node;
	TimestampTz now;			/* time at which this call began */
	YqContainerQueue *queue;
	List	   *rows;			/* YqNodeQueueRow * elements, sorted by place */
	List	   *events;			/* YqNodeQueueEvent * elements */
	List	   *arrived;		/* ids (char *) of containers that have arrived at the node in this call */
	List	   *expected;		/* ids (char *) of arrived containers that have an expected duration */
	List	   *users;			/* names (char *) of users, in the order of their numbers (YqNodeContainer.user) */
	int64		last_place;
	int			shed_limit;		/* limit to which this call drops waiting containers */
	bool		has_freed;		/* have containers freed amounts during an excess that are still to be written? */
	int			preempted;		/* number of containers paused or killed for the measured use, still to be written */
	int			noted;			/* number of the queue's decisions whose effect is in the rows */
	int			told;			/* number of the queue's decisions that have been written to yquota.decision */
	bool		is_known;		/* does the node exist in yquota.node? */
	const char *gone_because;	/* reason why no container may join or start at the node; NULL: containers may */
} YqNodeQueue;

/* -- node queue ---------------------------------------------------------------- */

/*
 * A call about a node opens the node's queue: it locks the queue until the transaction
 * ends, and reads it.  Then the call applies what has changed in yquota.container since
 * the last call.  Containers may have ended, or their execution type or size may have
 * changed.  After its own operation, the call writes rows of node_queue, events in
 * container_event, and rows of yquota.decision.
 *
 * A container waits or runs at a node if it was enqueued there.  Whether the container
 * still exists, its size and its execution type are determined by yquota.container.
 */

/* YARN's ContainerExitStatus */
#define YQ_EXIT_KILLED_BY_CONTAINER_SCHEDULER (-108)
#define YQ_EXIT_ABORTED (-100)

/*
 * Lock a node's queue until the transaction ends.  Raises
 * ERRCODE_READ_ONLY_SQL_TRANSACTION in a read-only transaction.
 */
extern void yq_node_queue_lock(const char *node);

/*
 * Lock a node's queue and read it.  Raises ERRCODE_UNDEFINED_OBJECT if the node does
 * not exist and no container is left at it.  Raises
 * ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE while charging is deferred.  Until the
 * caller calls yq_node_queue_settle(), it may only recover containers.
 */
extern YqNodeQueue *yq_node_queue_open(const char *node);

/* Apply to the queue what has changed in yquota.container since the last call. */
extern void yq_node_queue_settle(YqNodeQueue *queue);

/* Return the row of a container that waits or runs at this node, or NULL. */
extern YqNodeQueueRow *yq_node_queue_find(const YqNodeQueue *queue, const char *container_id);

/*
 * Make a row for a container that yquota.container assigns to the node.  If the
 * container cannot join the node, sets *reason and returns NULL.
 */
extern YqNodeQueueRow *yq_node_queue_join(YqNodeQueue *queue, const char *container_id, const char **reason);

/* Process the arrival of a container that has joined the node and whose localization is done. */
extern void yq_node_queue_arrive(YqNodeQueue *queue, YqNodeQueueRow *row);

/*
 * Record that a container runs, according to a report of the node's agent.  The caller
 * calls this function before yq_node_queue_settle().
 */
extern void yq_node_queue_recover(YqNodeQueue *queue, YqNodeQueueRow *row);

/* End a container, and start others in its room.  With is_reported, the agent has reported the end. */
extern void yq_node_queue_end(YqNodeQueue *queue, YqNodeQueueRow *row, TimestampTz at, int exit_status, bool is_reported);

/* Record a reported end of a container that is not in the node's queue. */
extern void yq_node_queue_note_end(YqNodeQueue *queue, const char *container_id, TimestampTz at, int exit_status);

/* Record that a PAUSING container was paused at this time. */
extern void yq_node_queue_pause(YqNodeQueue *queue, YqNodeQueueRow *row, TimestampTz at);

/* Drop waiting OPPORTUNISTIC containers until at most "limit" wait. */
extern void yq_node_queue_shed(YqNodeQueue *queue, int limit);

/* Start waiting containers that have room. */
extern void yq_node_queue_advance(YqNodeQueue *queue);

/* Pause or kill containers if the measured use is too high.  This is the last step of a call. */
extern void yq_node_queue_preempt(YqNodeQueue *queue);

/*
 * Read the queue for display, without a lock.  The result is the queue as the next call
 * about the node will find it.  A node without rows has an empty queue.
 */
extern YqNodeQueue *yq_node_queue_read(const char *node);

/*
 * Read the queue as if a container were promoted or arrived at this moment.  The
 * container becomes the last waiting GUARANTEED container; NULL stands for no
 * container.  Raises the errors of yq_node_queue_open().  Raises
 * ERRCODE_INVALID_PARAMETER_VALUE if the container is not on the node.
 */
extern YqNodeQueue *yq_node_queue_read_promoted(const char *node, const char *container_id);

/*
 * After the decisions have been written, process the ends of containers that were not
 * known before.  They occurred while events waited for locks, or after yquota.container
 * was read.  Returns false if there are none.  Otherwise the caller writes the
 * decisions that have been made since.
 */
extern bool yq_node_queue_learn_late_ends(YqNodeQueue *queue);

/* Return the row of a container that is in the queue. */
extern YqNodeQueueRow *yq_node_queue_row(YqNodeContainer *container);

/* Return the diagnostics of a decision: Hadoop's text, or the figures of the measured use that caused it. */
extern const char *yq_node_queue_diagnostics(const YqNodeQueue *queue, const YqQueueDecision *decision);

#endif							/* YQ_NODE_QUEUE_H */
