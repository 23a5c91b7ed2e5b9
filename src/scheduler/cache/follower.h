/*-------------------------------------------------------------------------
 *
 * follower.h
 *	  What has come to an append-only table of ours since it was last looked at.
 *
 * Rows of such a table are inserted, and deleted when they are of no use any more;
 * none is updated.  Whoever follows it keeps, from one transaction to the next, which
 * transactions he has seen (YqSeen) and where there was nothing else to be seen
 * (YqFollower): a page that has not been changed since, and had no rows of
 * transactions that were still at work, is passed over.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_FOLLOWER_H
#define YQ_FOLLOWER_H

#include "access/transam.h"
#include "access/xlogdefs.h"
#include "storage/block.h"
#include "storage/buf.h"
#include "store/table_scan.h"

/* The transactions whose work has been seen: those of a snapshot, and a part of one's own. */
typedef struct YqSeen
{
	SnapshotData snapshot;		/* its arrays belong to it */
	FullTransactionId next;		/* began no earlier than the snapshot was taken */
	TransactionId own;			/* transaction that looked; invalid when it wrote nothing */
} YqSeen;

typedef struct YqFollower
{
	YqTable		table;
	MemoryContext context;		/* of what follows */
	Oid			file;			/* 0 before the first look */
	XLogRecPtr	through;		/* pages not changed later were read ... */
	BlockNumber *unsettled;		/* ... but for these, in order */
	int			unsettled_count;
	int			unsettled_room;
	Buffer	   *buffers;		/* per block: where it was when it was read last */
	Size		buffer_room;
} YqFollower;

/* Is the row of the transaction that looked last?  Others are new, or it is the first look. */
typedef void (*YqNewRowReader) (const YqRow *row, bool is_own);

/*
 * Remember a snapshot, in a context; false when it does not know all transactions,
 * so that nothing can be told by it later.
 */
extern bool yq_seen_set(YqSeen *seen, Snapshot snapshot, MemoryContext context);

/* Nothing has been seen; what it has allocated is released. */
extern void yq_seen_forget(YqSeen *seen);

/* Can transaction numbers still be compared with those that it knows? */
extern bool yq_seen_is_recent(const YqSeen *seen);

/* The whole number of one of those transactions: numbers of a snapshot are not far from the one that was next. */
extern FullTransactionId yq_seen_full_number(const YqSeen *seen, TransactionId number);

/* Follow a table from its first row on. */
extern void yq_follower_begin(YqFollower *follower, YqTable table, MemoryContext context);

/* Free what it has allocated; it does not follow any more. */
extern void yq_follower_forget(YqFollower *follower);

/*
 * Call the reader for every row that the snapshot sees and "seen" (NULL: nothing)
 * has not; of seen->own for all that the snapshot sees, too.  False, without a row,
 * when the table has been written anew, so that it has to be followed from the
 * beginning.  With "peeks" the follower stays where it is.
 */
extern bool yq_follower_read(YqFollower *follower, const YqSeen *seen, Snapshot snapshot, bool peeks,
							 const char *const *names, int count, YqNewRowReader reader, void *argument);

#endif							/* YQ_FOLLOWER_H */
