/*-------------------------------------------------------------------------
 *
 * node_queue_row.h
 *	  The queue of a node in memory: its rows, and what a call makes of them.
 *
 * node_queue.h has what is done to it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_NODE_QUEUE_ROW_H
#define YQ_NODE_QUEUE_ROW_H

#include "base/resource.h"
#include "datatype/timestamp.h"
#include "opportunistic/node_queue/node_container.h"

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

#endif							/* YQ_NODE_QUEUE_ROW_H */
