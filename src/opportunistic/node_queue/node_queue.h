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
	YqNodeContainer container;	/* the container as the queue handles it */
	const char *container_id;
	Datum		allocation;		/* allocation (YqResource *) in the books, now or when the books last had it */

	/* columns from the books */
	bool		is_in_books;	/* the container is on this node according to the books */
	bool		is_guaranteed_in_books;
	bool		runs_in_books;	/* is_running in the books */
	TimestampTz changed_at;		/* time of its last event in the books */
	TimestampTz next_instant;	/* earliest possible time of the container's next event */

	/* columns of node_queue */
	YqContainerState state;
	int64		place;
	TimestampTz state_at;
	bool		has_started;
	TimestampTz started_at;		/* time of its start, if it has started */
	int64		expected_duration;	/* microseconds; 0: not known */
	const char *kill_figure;	/* value behind its kill_rank, for users; NULL: none */
	TimestampTz left_at;		/* time at which the container left, if it is GONE */
	int64		waited;			/* microseconds to add to the waiting time */
	int			pauses;			/* number of pauses to add */
	const char *made_room_for;	/* id of the container for which it made room, or NULL */
	const char *left_reason;
	bool		has_exit_status;
	int			exit_status;
	const char *diagnostics;
	bool		has_queue_limit;
	int			queue_limit;
	bool		is_acknowledged;	/* the agent has carried out the last action about the container */

	bool		was_paused;		/* the container was paused before this call */
	bool		has_joined;		/* this call has made the row, or made it again */
	bool		is_changed;		/* the row has changed since its last write */
	bool		is_written;		/* the row was written in this call, and has not been compared with the books since */
} YqNodeQueueRow;

/* An event to append: a FINISH, or an UPDATE of is_running. */
typedef struct YqNodeQueueEvent
{
	const char *container_id;
	TimestampTz at;
	bool		is_finish;
	bool		is_running;
	int			exit_status;
	bool		is_reported;	/* the node's agent has reported the event; otherwise it was decided here */
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
	List	   *users;			/* names (char *) of the users that the fair order numbers */
	int64		last_place;
	int			shed_limit;		/* limit of a shed in this call */
	bool		has_freed;		/* containers released amounts of the measured excess, which are to be written */
	int			preempted;		/* number of containers to be killed or paused for the measured use, to be written */
	int			noted;			/* number of the queue's decisions that are in the rows */
	int			told;			/* number of the queue's decisions that are in yquota.decision */
	bool		is_known;		/* the node is in yquota.node */
	const char *gone_because;	/* reason why no container may join or start; NULL: containers may */
} YqNodeQueue;

/* -- node queue ---------------------------------------------------------------- */

/*
 * A call about a node opens its queue: this locks the queue until the transaction ends,
 * and reads it. The queue then takes over the changes in the books since the last call.
 * Containers have ended, were promoted or demoted, or have another size.  The caller
 * then performs its operation, and writes rows, events in container_event, and rows of
 * yquota.decision.
 *
 * The containers that wait or run on a node are those that were enqueued there.
 * yquota.container determines whether each container exists, and its size and execution
 * type.
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
 * Lock a node's queue and read it.  Raises ERRCODE_UNDEFINED_OBJECT when the node does
 * not exist and no container is left at it, and
 * ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE while charging is deferred.  Before it calls
 * yq_node_queue_settle(), the caller may only recover containers.
 */
extern YqNodeQueue *yq_node_queue_open(const char *node);

/* Let the queue take over the changes in the books. */
extern void yq_node_queue_settle(YqNodeQueue *queue);

/* Return the row of a container that waits or runs at the node, or NULL. */
extern YqNodeQueueRow *yq_node_queue_find(const YqNodeQueue *queue, const char *container_id);

/*
 * Make a row for a container that is on the node according to the books.  Returns NULL
 * when it cannot join the node, and sets "reason".
 */
extern YqNodeQueueRow *yq_node_queue_join(YqNodeQueue *queue, const char *container_id, const char **reason);

/* Let a joined container arrive after its localisation is done. */
extern void yq_node_queue_arrive(YqNodeQueue *queue, YqNodeQueueRow *row);

/*
 * Record that a container runs, as the node's agent reports.  The caller calls this
 * before yq_node_queue_settle().
 */
extern void yq_node_queue_recover(YqNodeQueue *queue, YqNodeQueueRow *row);

/* End a container, and let others start.  "is_reported" tells whether the agent reported the end. */
extern void yq_node_queue_end(YqNodeQueue *queue, YqNodeQueueRow *row, TimestampTz at, int exit_status, bool is_reported);

/* Record an end that the agent has reported, of a container that is not in the node's queue. */
extern void yq_node_queue_note_end(YqNodeQueue *queue, const char *container_id, TimestampTz at, int exit_status);

/* Record that a PAUSING container has been paused at an instant. */
extern void yq_node_queue_pause(YqNodeQueue *queue, YqNodeQueueRow *row, TimestampTz at);

/* Drop waiting OPPORTUNISTIC containers that exceed a limit. */
extern void yq_node_queue_shed(YqNodeQueue *queue, int limit);

/* Start the containers that can start. */
extern void yq_node_queue_advance(YqNodeQueue *queue);

/* Kill or pause containers while the measured use is too high.  This is the last step of a call. */
extern void yq_node_queue_preempt(YqNodeQueue *queue);

/*
 * Read the queue as the next call about the node finds it, without a lock and only for
 * display.  A node without rows has an empty queue.
 */
extern YqNodeQueue *yq_node_queue_read(const char *node);

/*
 * Read the queue as if a container (NULL: none) were promoted there, or arrived, as the
 * last waiting GUARANTEED container.  Raises the errors of yq_node_queue_open(), and
 * ERRCODE_INVALID_PARAMETER_VALUE when the container is not on the node according to
 * the books.
 */
extern YqNodeQueue *yq_node_queue_read_promoted(const char *node, const char *container_id);

/*
 * Take over ends after the decisions have been written.  The ends came while the events
 * of the containers waited for locks, or after the books were read.  Returns false when
 * there are none; otherwise the caller writes the decisions that have been made since.
 */
extern bool yq_node_queue_learn_late_ends(YqNodeQueue *queue);

/* Return the row of a container of the queue. */
extern YqNodeQueueRow *yq_node_queue_row(YqNodeContainer *container);

/* Return Hadoop's text for a decision, or the figures of the measured use that caused it. */
extern const char *yq_node_queue_diagnostics(const YqNodeQueue *queue, const YqQueueDecision *decision);

#endif							/* YQ_NODE_QUEUE_H */
