/*-------------------------------------------------------------------------
 *
 * follower.c
 *	  What has come to an append-only table of ours since it was last looked at.
 *
 * A page that changes gets a later position in the log of the server: whoever
 * inserts a row holds the page's lock from before he logs it until he has noted the
 * position.  Positions are compared with one that was noted before the last look
 * began, so that what came meanwhile counts as changed.  That a transaction commits
 * does not change the page, which is why pages with rows of transactions at work are
 * remembered.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "miscadmin.h"
#include "scheduler/cache/follower.h"
#include "storage/bufmgr.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

/* Numbers of transactions further apart than this are not compared. */
#define MOST_TRANSACTIONS_BETWEEN UINT64CONST(1000000000)

/* -- what has been seen ------------------------------------------------------ */

/* A snapshot has no array where it has no transactions. */
static TransactionId *
copy_numbers(const TransactionId *numbers, int count, MemoryContext context)
{
	TransactionId *copy = MemoryContextAlloc(context, Max(count, 1) * sizeof(TransactionId));

	if (count > 0)
		memcpy(copy, numbers, count * sizeof(TransactionId));
	return copy;
}

bool
yq_seen_set(YqSeen *seen, Snapshot snapshot, MemoryContext context)
{
	SnapshotData *copy = &seen->snapshot;

	if (snapshot->suboverflowed || snapshot->takenDuringRecovery)
		return false;
	*copy = *snapshot;
	copy->xip = copy_numbers(snapshot->xip, snapshot->xcnt, context);
	copy->subxip = copy_numbers(snapshot->subxip, snapshot->subxcnt, context);
	seen->next = ReadNextFullTransactionId();
	seen->own = GetTopTransactionIdIfAny();
	return true;
}

void
yq_seen_forget(YqSeen *seen)
{
	if (seen->snapshot.xip != NULL)
	{
		pfree(seen->snapshot.xip);
		pfree(seen->snapshot.subxip);
	}
	memset(seen, 0, sizeof(YqSeen));
}

bool
yq_seen_is_recent(const YqSeen *seen)
{
	return U64FromFullTransactionId(ReadNextFullTransactionId()) -
		U64FromFullTransactionId(seen->next) < MOST_TRANSACTIONS_BETWEEN;
}

FullTransactionId
yq_seen_full_number(const YqSeen *seen, TransactionId number)
{
	return FullTransactionIdFromU64(U64FromFullTransactionId(seen->next) -
									(uint32) (XidFromFullTransactionId(seen->next) - number));
}

/* -- one page ------------------------------------------------------------------ */

typedef struct Look
{
	const YqSeen *seen;			/* NULL: nothing */
	Snapshot	snapshot;
	TransactionId settled_before;	/* invalid: none is */
	Relation	relation;
	YqRow		row;
	YqNewRowReader reader;
	OffsetNumber offsets[MaxHeapTuplesPerPage]; /* of rows that are new on the page at hand */
	bool		is_own[MaxHeapTuplesPerPage];
	int			count;
} Look;

static HeapTupleData
tuple_at(const Look *look, Buffer buffer, OffsetNumber offset)
{
	Page		page = BufferGetPage(buffer);
	ItemId		item = PageGetItemId(page, offset);
	HeapTupleData tuple = {.t_len = 0};

	if (!ItemIdIsNormal(item))
		return tuple;
	tuple.t_data = (HeapTupleHeader) PageGetItem(page, item);
	tuple.t_len = ItemIdGetLength(item);
	tuple.t_tableOid = RelationGetRelid(look->relation);
	ItemPointerSet(&tuple.t_self, BufferGetBlockNumber(buffer), offset);
	return tuple;
}

/* Everything that earlier transactions did is in both snapshots, and nothing of it one's own. */
static TransactionId
settled_before(const YqSeen *seen, Snapshot snapshot)
{
	TransactionId first;

	if (seen == NULL)
		return InvalidTransactionId;
	first = seen->snapshot.xmin;
	if (TransactionIdPrecedes(snapshot->xmin, first))
		first = snapshot->xmin;
	if (TransactionIdIsValid(seen->own) && TransactionIdPrecedes(seen->own, first))
		first = seen->own;
	return first;
}

/* Note the new rows of a locked page; true when it may have more for the next look. */
static bool
look_at_rows(Look *look, Buffer buffer)
{
	OffsetNumber last = PageGetMaxOffsetNumber(BufferGetPage(buffer));
	bool		is_unsettled = false;

	look->count = 0;
	for (OffsetNumber offset = FirstOffsetNumber; offset <= last; offset++)
	{
		HeapTupleData tuple = tuple_at(look, buffer, offset);
		TransactionId inserter;
		bool		is_own;

		if (tuple.t_len == 0 || HeapTupleHeaderXminInvalid(tuple.t_data))
			continue;
		inserter = HeapTupleHeaderGetRawXmin(tuple.t_data);
		if (TransactionIdIsValid(look->settled_before) && TransactionIdPrecedes(inserter, look->settled_before))
			continue;
		is_unsettled = is_unsettled || TransactionIdIsCurrentTransactionId(inserter) ||
			XidInMVCCSnapshot(inserter, look->snapshot);
		is_own = look->seen != NULL && TransactionIdIsValid(look->seen->own) && inserter == look->seen->own;
		if (look->seen != NULL && !is_own && !XidInMVCCSnapshot(inserter, unconstify(SnapshotData *, &look->seen->snapshot)))
			continue;
		if (!HeapTupleSatisfiesVisibility(&tuple, look->snapshot, buffer))
			continue;
		look->is_own[look->count] = is_own;
		look->offsets[look->count++] = offset;
	}
	return is_unsettled;
}

static void
read_rows(Look *look, Buffer buffer)
{
	for (int i = 0; i < look->count; i++)
	{
		HeapTupleData tuple = tuple_at(look, buffer, look->offsets[i]);

		ExecStoreBufferHeapTuple(&tuple, look->row.slot, buffer);
		look->reader(&look->row, look->is_own[i]);
	}
	ExecClearTuple(look->row.slot);
}

/* Mostly it is where it was. */
static Buffer
read_page(YqFollower *follower, Relation relation, BlockNumber block)
{
	Buffer	   *recent = &follower->buffers[block];

	if (!BufferIsValid(*recent) || !ReadRecentBuffer(YQ_FILE_OF(relation), MAIN_FORKNUM, block, *recent))
		*recent = ReadBuffer(relation, block);
	return *recent;
}

/* True when the page has to be looked at again though nobody changes it. */
static bool
look_at_page(Look *look, Buffer buffer, XLogRecPtr through)
{
	bool		is_unsettled = false;

	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	look->count = 0;
	if (through == InvalidXLogRecPtr || PageGetLSN(BufferGetPage(buffer)) > through)
		is_unsettled = look_at_rows(look, buffer);
	LockBuffer(buffer, BUFFER_LOCK_UNLOCK);
	read_rows(look, buffer);
	ReleaseBuffer(buffer);
	return is_unsettled;
}

/* -- the table ------------------------------------------------------------------- */

void
yq_follower_begin(YqFollower *follower, YqTable table, MemoryContext context)
{
	*follower = (YqFollower)
	{
		.table = table,.context = context
	};
}

void
yq_follower_forget(YqFollower *follower)
{
	if (follower->unsettled != NULL)
		pfree(follower->unsettled);
	if (follower->buffers != NULL)
		pfree(follower->buffers);
	follower->unsettled = NULL;
	follower->buffers = NULL;
}

static void
note_unsettled(YqFollower *follower, BlockNumber block)
{
	if (follower->unsettled_count == follower->unsettled_room)
	{
		follower->unsettled_room = Max(follower->unsettled_room * 2, 16);
		follower->unsettled = follower->unsettled == NULL ?
			MemoryContextAlloc(follower->context, follower->unsettled_room * sizeof(BlockNumber)) :
			repalloc_huge(follower->unsettled, follower->unsettled_room * sizeof(BlockNumber));
	}
	follower->unsettled[follower->unsettled_count++] = block;
}

static void
make_room_for_buffers(YqFollower *follower, BlockNumber count)
{
	Size		room = Max((Size) count + count / 4, 64);

	if (count <= follower->buffer_room)
		return;
	follower->buffers = follower->buffers == NULL ?
		MemoryContextAllocHuge(follower->context, room * sizeof(Buffer)) :
		repalloc_huge(follower->buffers, room * sizeof(Buffer));
	for (Size i = follower->buffer_room; i < room; i++)
		follower->buffers[i] = InvalidBuffer;
	follower->buffer_room = room;
}

/* Blocks below "count"; the unsettled ones are found anew, in their order. */
static void
look_at_pages(YqFollower *follower, Look *look, bool peeks)
{
	BlockNumber count = RelationGetNumberOfBlocks(look->relation);
	int			known_count = follower->unsettled_count;
	BlockNumber *known = palloc(Max(known_count, 1) * sizeof(BlockNumber));
	int			at = 0;

	if (known_count > 0)
		memcpy(known, follower->unsettled, known_count * sizeof(BlockNumber));
	make_room_for_buffers(follower, count);
	if (!peeks)
		follower->unsettled_count = 0;
	for (BlockNumber block = 0; block < count; block++)
	{
		bool		was_unsettled = at < known_count && known[at] == block;

		CHECK_FOR_INTERRUPTS();
		at += was_unsettled;
		if (look_at_page(look, read_page(follower, look->relation, block),
						 was_unsettled ? InvalidXLogRecPtr : follower->through) && !peeks)
			note_unsettled(follower, block);
	}
	pfree(known);
}

bool
yq_follower_read(YqFollower *follower, const YqSeen *seen, Snapshot snapshot, bool peeks,
				 const char *const *names, int count, YqNewRowReader reader, void *argument)
{
	Relation	relation = yq_table_open(follower->table, AccessShareLock);
	AttrNumber *columns = palloc(count * sizeof(AttrNumber));
	XLogRecPtr	position = GetXLogInsertRecPtr();
	bool		is_same = follower->file == 0 || follower->file == YQ_FILE_NUMBER(relation);
	Look	   *look = palloc(sizeof(Look));

	if (is_same)
	{
		for (int i = 0; i < count; i++)
			columns[i] = yq_column(relation, names[i]);
		*look = (Look)
		{
			.seen = seen,.snapshot = snapshot,.settled_before = settled_before(seen, snapshot),.relation = relation,
				.reader = reader,
				.row = {.slot = table_slot_create(relation, NULL),.columns = columns,.argument = argument}
		};
		look_at_pages(follower, look, peeks);
		ExecDropSingleTupleTableSlot(look->row.slot);
		follower->file = YQ_FILE_NUMBER(relation);
		if (!peeks)
			follower->through = position;
	}
	pfree(look);
	pfree(columns);
	table_close(relation, AccessShareLock);
	return is_same;
}
