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

/* The queue of a node in memory: its rows, and the changes that a call makes to them. */

typedef struct YqNodeQueueRow
{
	YqNodeContainer container;	/* as the queue sees it */
	const char *container_id;
	Datum		allocation;		/* YqResource *, as in the books now or last */

	/* columns from the books */
	bool		is_in_books;	/* and the books have it on this node */
	bool		is_guaranteed_in_books;
	bool		runs_in_books;	/* is_running in the books */
	TimestampTz changed_at;		/* time of its last event in the books */
	TimestampTz next_instant;	/* earliest time of the container's next event */

	/* columns of node_queue */
	YqContainerState state;
	int64		place;
	TimestampTz state_at;
	bool		has_started;
	TimestampTz started_at;		/* time of its start, if it has started */
	int64		expected_duration;	/* microseconds; 0: not known */
	const char *kill_figure;	/* figure behind its kill_rank, for people; NULL: none */
	TimestampTz left_at;		/* time at which the container left, if it is GONE */
	int64		waited;			/* microseconds to add */
	int			pauses;			/* number to add */
	const char *made_room_for;	/* container id, or NULL */
	const char *left_reason;
	bool		has_exit_status;
	int			exit_status;
	const char *diagnostics;
	bool		has_queue_limit;
	int			queue_limit;
	bool		is_acknowledged;	/* the agent has carried out the last action about it */

	bool		was_paused;		/* the container was paused before this call */
	bool		has_joined;		/* the row is made in this call, or made anew */
	bool		is_changed;		/* the row has changed since its last write */
	bool		is_written;		/* the row was written in this call, and not compared with the books since */
} YqNodeQueueRow;

/* An event to append: a FINISH, or an UPDATE of is_running. */
typedef struct YqNodeQueueEvent
{
	const char *container_id;
	TimestampTz at;
	bool		is_finish;
	bool		is_running;
	int			exit_status;
	bool		is_reported;	/* reported by the node's agent, and not decided here */
} YqNodeQueueEvent;

typedef struct YqNodeQueue
{
	const char *node;
	TimestampTz now;			/* time of this call */
	YqContainerQueue *queue;
	List	   *rows;			/* YqNodeQueueRow * elements, by place */
	List	   *events;			/* YqNodeQueueEvent * elements */
	List	   *arrived;		/* container ids (char *) that the node has received */
	List	   *expected;		/* arrived containers whose expected duration is known */
	List	   *users;			/* names (char *) of users that the fair order numbers */
	int64		last_place;
	int			shed_limit;		/* limit of a shed in this call */
	bool		has_freed;		/* amounts of the measured excess were given back: to be written */
	int			preempted;		/* number of containers to be killed or paused for the measured use: likewise */
	int			noted;			/* number of decisions of the queue that are in the rows */
	int			told;			/* number of decisions of the queue that are in yquota.decision */
	bool		is_known;		/* the node is in yquota.node */
	const char *gone_because;	/* reason why no container may join the node, and none starts; NULL: they may */
} YqNodeQueue;

/* -- node queue ---------------------------------------------------------------- */

/*
 * A call about a node opens its queue: this locks the queue until the transaction ends, and reads
 * it.  The queue then learns the changes of the books since the last call: containers that have
 * ended, were promoted or demoted, or have another size.  The caller then performs its operation
 * and writes everything: rows, events in container_event, and rows of yquota.decision.
 *
 * The containers that wait or run on a node are those that were enqueued there.  Each container's
 * existence, size and execution type are as in yquota.container.
 */

/* YARN's ContainerExitStatus */
#define YQ_EXIT_KILLED_BY_CONTAINER_SCHEDULER (-108)
#define YQ_EXIT_ABORTED (-100)

/*
 * Lock a node's queue until the transaction ends.  Raises ERRCODE_READ_ONLY_SQL_TRANSACTION in a
 * read-only transaction.
 */
extern void yq_node_queue_lock(const char *node);

/*
 * Lock a node's queue and read it.  Raises ERRCODE_UNDEFINED_OBJECT when the node does not exist and
 * no container is left at it, and ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE while charging is
 * deferred.  Until yq_node_queue_settle() the caller may recover containers, and do nothing else.
 */
extern YqNodeQueue *yq_node_queue_open(const char *node);

/* Let the queue learn the changes of the books. */
extern void yq_node_queue_settle(YqNodeQueue *queue);

/* Return the row of a container that waits or runs at the node, or NULL. */
extern YqNodeQueueRow *yq_node_queue_find(const YqNodeQueue *queue, const char *container_id);

/*
 * Make a row for a container that the books have on the node.  Returns NULL when it cannot join the
 * node: then "reason" tells why.
 */
extern YqNodeQueueRow *yq_node_queue_join(YqNodeQueue *queue, const char *container_id, const char **reason);

/* Let a joined container arrive: its localisation is done. */
extern void yq_node_queue_arrive(YqNodeQueue *queue, YqNodeQueueRow *row);

/* Record that a container runs, as the node's agent says; call this before yq_node_queue_settle(). */
extern void yq_node_queue_recover(YqNodeQueue *queue, YqNodeQueueRow *row);

/* End a container, and let others start.  The agent reported the end, or it was decided here. */
extern void yq_node_queue_end(YqNodeQueue *queue, YqNodeQueueRow *row, TimestampTz at, int exit_status, bool is_reported);

/* Note the end, reported by the agent, of a container that the node's queue does not have. */
extern void yq_node_queue_note_end(YqNodeQueue *queue, const char *container_id, TimestampTz at, int exit_status);

/* Record that a PAUSING container is paused since an instant. */
extern void yq_node_queue_pause(YqNodeQueue *queue, YqNodeQueueRow *row, TimestampTz at);

/* Drop waiting OPPORTUNISTIC containers beyond a limit. */
extern void yq_node_queue_shed(YqNodeQueue *queue, int limit);

/* Start the containers that can start. */
extern void yq_node_queue_advance(YqNodeQueue *queue);

/* Kill or pause containers while the measured use is too high; this is the last step of a call. */
extern void yq_node_queue_preempt(YqNodeQueue *queue);

/*
 * Read the queue as the next call about the node finds it, without a lock and only for display.  A
 * node without rows has an empty queue.
 */
extern YqNodeQueue *yq_node_queue_read(const char *node);

/*
 * Read the queue as if a container were promoted there, or arrived, as the last waiting GUARANTEED
 * one; NULL: none.  Raises the errors of yq_node_queue_open(), and ERRCODE_INVALID_PARAMETER_VALUE
 * when the books do not have the container on the node.
 */
extern YqNodeQueue *yq_node_queue_read_promoted(const char *node, const char *container_id);

/*
 * Learn late ends after the decisions have been written.  These are ends of its containers while
 * their events waited for locks, or since the books were read.  Returns false when there are none;
 * otherwise the caller writes the decisions made since.
 */
extern bool yq_node_queue_learn_late_ends(YqNodeQueue *queue);

/* Return the row of a container of the queue. */
extern YqNodeQueueRow *yq_node_queue_row(YqNodeContainer *container);

/* Return Hadoop's words for a decision, or the figures of the measured use that caused it. */
extern const char *yq_node_queue_diagnostics(const YqNodeQueue *queue, const YqQueueDecision *decision);

#endif							/* YQ_NODE_QUEUE_H */
