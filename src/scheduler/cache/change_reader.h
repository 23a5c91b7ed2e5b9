/*-------------------------------------------------------------------------
 *
 * change_reader.h
 *	  What has come to the log of changes (change_log.h) since it was last looked at.
 *
 * Rows are found by the transactions that wrote them: those that had not begun at the
 * last look, and those that were at work then.  How long the log is does not matter.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_CHANGE_READER_H
#define YQ_CHANGE_READER_H

#include "nodes/pg_list.h"
#include "scheduler/cache/follower.h"

typedef struct YqChanges
{
	bool		is_everything;
	bool		has_am_limits;	/* of others than seen->own */
	List	   *ids;			/* of applications, char *, as in the next ones */
	List	   *own_ids;		/* those that seen->own has noted */
	int64		own_rows;
	List	   *queues;			/* whose counters of a user have changed */
	List	   *usernames;		/* those users, in pairs */
} YqChanges;

/* The file that the log is in: another one when it has been emptied by hand, or written anew. */
extern Oid	yq_changes_file(void);

/*
 * Add what the snapshot sees and "seen" has not; of seen->own all that the snapshot sees.
 * Lists are allocated in the current memory context.
 */
extern void yq_changes_read(const YqSeen *seen, Snapshot snapshot, YqChanges *changes);

/* How many rows of seen->own the snapshot sees. */
extern int64 yq_changes_count_own(const YqSeen *seen, Snapshot snapshot);

#endif							/* YQ_CHANGE_READER_H */
