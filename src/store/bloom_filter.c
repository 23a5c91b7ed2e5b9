/*-------------------------------------------------------------------------
 *
 * bloom_filter.c
 *	  Telling quickly that a sealed table has no row of a key.
 *
 * A filter is a heap with one row a page, whose only column holds the bits of
 * that page; the first row describes the table for which the filter was made.
 * The page of a key is known by its hash, and so are a line of 64 bytes in it
 * and the bits in that line: one page and one cache line per question.  With 12
 * bits a key about one answer in a hundred is a needless look into the index.
 *
 * Rows are read without checks of visibility: they are written together with
 * the table, which no other transaction finds before the commit.
 *
 * Only a restore writes to a sealed table: the table exists before its rows,
 * and may get a filter in between.  So a filter also says how far its table
 * went; rows that are appended make it longer.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/namespace.h"
#include "catalog/pg_am_d.h"
#include "catalog/pg_type_d.h"
#include "common/hashfn.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "store/bloom_filter.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"

PG_FUNCTION_INFO_V1(yq_sql_fill_bloom_filter);
PG_FUNCTION_INFO_V1(yq_sql_has_bloom_filter);

#define FILTER_SUFFIX "_filter"
#define BITS_PER_KEY 12
#define PROBES 6
#define LINE_BYTES 64
#define LINE_BITS (LINE_BYTES * BITS_PER_BYTE)
#define LINES_PER_PAGE \
	((MaxHeapTupleSize - MAXALIGN(SizeofHeapTupleHeader) - VARHDRSZ) / LINE_BYTES)
#define PAGE_BYTES (LINES_PER_PAGE * LINE_BYTES)

StaticAssertDecl(LINE_BITS == 1 << 9, "a probe takes nine bits of the hash");

/* The first row: the table for which the filter was made. */
typedef struct FilterHead
{
	uint32		server_major;	/* server version of the hash function */
	Oid			file_number;	/* of the table */
	uint32		page_count;		/* with bits */
	BlockNumber block_count;	/* of the table */
	OffsetNumber last_row;		/* on its last page */
} FilterHead;

struct YqBloomFilter
{
	Relation	relation;
	uint32		page_count;
};

/* -- where a key is ------------------------------------------------------- */

StaticAssertDecl(PROBES * 9 <= 64, "probes must come from one hash");

YqKeyHash
yq_bloom_filter_hash(const text *key)
{
	YqKeyHash	hash;

	hash.place = hash_bytes_extended((const unsigned char *) VARDATA_ANY(key),
									 VARSIZE_ANY_EXHDR(key), 0);
	hash.probes = hash_bytes_uint32_extended((uint32) (hash.place >> 32), hash.place);
	return hash;
}

/* From 0, not counting the page of the first row. */
static inline uint32
page_of_hash(const YqKeyHash *hash, uint32 page_count)
{
	return (uint32) (((hash->place >> 32) * page_count) >> 32);
}

/* Where its line begins in the bytes of its page. */
static inline uint32
line_of_hash(const YqKeyHash *hash)
{
	return (uint32) (((hash->place & 0xFFFFFFFF) * LINES_PER_PAGE) >> 32) * LINE_BYTES;
}

static inline uint32
probe_bit(const YqKeyHash *hash, int probe)
{
	return (uint32) (hash->probes >> (9 * probe)) & (LINE_BITS - 1);
}

/* -- asking ---------------------------------------------------------------- */

/* The bytes of the row on a page that is locked; NULL when they are not ours. */
static const uint8 *
row_bytes(Buffer buffer)
{
	Page		page = BufferGetPage(buffer);
	ItemId		item;
	HeapTupleHeader row;
	struct varlena *value;

	if (PageGetMaxOffsetNumber(page) != FirstOffsetNumber)
		return NULL;
	item = PageGetItemId(page, FirstOffsetNumber);
	if (!ItemIdIsNormal(item))
		return NULL;
	row = (HeapTupleHeader) PageGetItem(page, item);
	value = (struct varlena *) ((char *) row + row->t_hoff);
	if (VARATT_IS_EXTENDED(value) || VARSIZE(value) != VARHDRSZ + PAGE_BYTES)
		return NULL;
	return (const uint8 *) VARDATA(value);
}

static bool
read_head(Relation relation, FilterHead *head)
{
	BlockNumber block_count = RelationGetNumberOfBlocks(relation);
	const uint8 *bytes;
	Buffer		buffer;

	if (block_count == 0)
		return false;
	buffer = ReadBuffer(relation, 0);
	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	bytes = row_bytes(buffer);
	if (bytes != NULL)
		memcpy(head, bytes, sizeof(FilterHead));
	UnlockReleaseBuffer(buffer);
	return bytes != NULL && head->page_count == block_count - 1;
}

/* How far a table goes: its blocks and the number of rows on the last one. */
static void
find_end(Relation table, BlockNumber *block_count, OffsetNumber *last_row)
{
	Buffer		buffer;

	*last_row = InvalidOffsetNumber;
	*block_count = RelationGetNumberOfBlocks(table);
	if (*block_count == 0)
		return;
	buffer = ReadBuffer(table, *block_count - 1);
	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	*last_row = PageGetMaxOffsetNumber(BufferGetPage(buffer));
	UnlockReleaseBuffer(buffer);
}

/* Whether a filter was made of the table as it is. */
static bool
is_made_of(const FilterHead *head, Relation table)
{
	BlockNumber block_count;
	OffsetNumber last_row;

	if (head->server_major != YQ_SERVER_MAJOR || head->file_number != YQ_FILE_NUMBER(table))
		return false;
	find_end(table, &block_count, &last_row);
	return head->block_count == block_count && head->last_row == last_row;
}

YqBloomFilter *
yq_bloom_filter_open(Relation table)
{
	char		name[NAMEDATALEN + sizeof(FILTER_SUFFIX)];
	Relation	relation;
	YqBloomFilter *filter;
	FilterHead	head;
	Oid			oid;

	snprintf(name, sizeof(name), "%s" FILTER_SUFFIX, RelationGetRelationName(table));
	oid = get_relname_relid(name, RelationGetNamespace(table));
	if (!OidIsValid(oid))
		return NULL;
	relation = try_relation_open(oid, AccessShareLock);
	if (relation == NULL)
		return NULL;
	if (relation->rd_rel->relam != HEAP_TABLE_AM_OID ||
		!read_head(relation, &head) || !is_made_of(&head, table))
	{
		/* a transaction that rebuilds the filter need not wait for this one */
		relation_close(relation, AccessShareLock);
		return NULL;
	}
	filter = palloc(sizeof(YqBloomFilter));
	filter->relation = relation;
	filter->page_count = head.page_count;
	return filter;
}

void
yq_bloom_filter_close(YqBloomFilter *filter)
{
	relation_close(filter->relation, NoLock);
	pfree(filter);
}

bool
yq_bloom_filter_may_have(YqBloomFilter *filter, const YqKeyHash *hash)
{
	Buffer		buffer = ReadBuffer(filter->relation, page_of_hash(hash, filter->page_count) + 1);
	bool		may_have = true;
	const uint8 *bytes;

	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	bytes = row_bytes(buffer);
	if (bytes != NULL)
	{
		const uint8 *line = bytes + line_of_hash(hash);

		for (int probe = 0; may_have && probe < PROBES; probe++)
		{
			uint32		bit = probe_bit(hash, probe);

			may_have = (line[bit / BITS_PER_BYTE] >> (bit % BITS_PER_BYTE)) & 1;
		}
	}
	UnlockReleaseBuffer(buffer);
	return may_have;
}

/* -- making ---------------------------------------------------------------- */

static void
set_bits(uint8 *bytes, const text *key, uint32 page_count)
{
	YqKeyHash	hash = yq_bloom_filter_hash(key);
	uint8	   *line = bytes + (Size) page_of_hash(&hash, page_count) * PAGE_BYTES +
		line_of_hash(&hash);

	for (int probe = 0; probe < PROBES; probe++)
	{
		uint32		bit = probe_bit(&hash, probe);

		line[bit / BITS_PER_BYTE] |= 1 << (bit % BITS_PER_BYTE);
	}
}

/*
 * Rows of transactions that failed do not count, and may lack the values that
 * are kept out of line.  The caller's lock keeps other writers away.
 */
static uint64
scan_keys(Relation table, AttrNumber column, uint8 *bytes, uint32 page_count)
{
	TableScanDesc scan = table_beginscan(table, SnapshotSelf, 0, NULL);
	TupleTableSlot *slot = table_slot_create(table, NULL);
	uint64		keys = 0;

	while (table_scan_getnextslot(scan, ForwardScanDirection, slot))
	{
		bool		isnull;
		Datum		value = slot_getattr(slot, column, &isnull);

		CHECK_FOR_INTERRUPTS();
		if (isnull)
			continue;
		keys++;
		if (bytes != NULL)
		{
			text	   *key = DatumGetTextPP(value);

			set_bits(bytes, key, page_count);
			if ((Pointer) key != DatumGetPointer(value))
				pfree(key);
		}
	}
	ExecDropSingleTupleTableSlot(slot);
	table_endscan(scan);
	return keys;
}

/* Each row must get the page of its number, alone. */
static void
append_row(Relation relation, BlockNumber number, const void *data, Size length)
{
	bytea	   *value = palloc0(VARHDRSZ + PAGE_BYTES);
	Datum		datum = PointerGetDatum(value);
	bool		isnull = false;
	HeapTuple	row;

	SET_VARSIZE(value, VARHDRSZ + PAGE_BYTES);
	memcpy(VARDATA(value), data, length);
	row = heap_form_tuple(RelationGetDescr(relation), &datum, &isnull);
	heap_insert(relation, row, GetCurrentCommandId(true),
				HEAP_INSERT_FROZEN | HEAP_INSERT_SKIP_FSM, NULL);
	if (ItemPointerGetBlockNumber(&row->t_self) != number ||
		ItemPointerGetOffsetNumber(&row->t_self) != FirstOffsetNumber)
		elog(ERROR, "row %u of key filter \"%s\" is at (%u,%u)", number,
			 RelationGetRelationName(relation),
			 ItemPointerGetBlockNumber(&row->t_self),
			 ItemPointerGetOffsetNumber(&row->t_self));
	heap_freetuple(row);
	pfree(value);
}

/* NULL when there is no such table, or no more. */
static Relation
try_open_table(Oid oid, LOCKMODE lockmode)
{
	Relation	table = try_relation_open(oid, lockmode);

	if (table == NULL ||
		(table->rd_rel->relkind == RELKIND_RELATION && table->rd_rel->relam == HEAP_TABLE_AM_OID))
		return table;
	relation_close(table, lockmode);
	return NULL;
}

static Relation
open_filter_table(Oid oid, LOCKMODE lockmode)
{
	Relation	table = try_open_table(oid, lockmode);

	if (table == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("relation %u is not an ordinary table", oid)));
	return table;
}

/* The filtered column, after checks of the filter table. */
static AttrNumber
check_purpose(Relation filter, Relation table, const char *column_name)
{
	AttrNumber	column = get_attnum(RelationGetRelid(table), column_name);
	TupleDesc	columns = RelationGetDescr(filter);

	/* rows that all see must not outlive a subtransaction that fails */
	if (filter->rd_createSubid != GetCurrentSubTransactionId() ||
		RelationGetNumberOfBlocks(filter) != 0 ||
		columns->natts != 1 || TupleDescAttr(columns, 0)->atttypid != BYTEAOID ||
		TupleDescAttr(columns, 0)->attstorage != TYPSTORAGE_PLAIN ||
		column <= 0 || TupleDescAttr(RelationGetDescr(table), column - 1)->atttypid != TEXTOID)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot make a Bloom filter of table \"%s\"",
						RelationGetRelationName(table)),
				 errdetail("It takes a table that was created in the current subtransaction, with one plain column of type bytea, and a column of type text.")));
	return column;
}

/*
 * fill_bloom_filter(filter regclass, source regclass, key_column name): write the
 * filter of a table into a table with one column, which the current
 * subtransaction has created.
 */
Datum
yq_sql_fill_bloom_filter(PG_FUNCTION_ARGS)
{
	Relation	filter = open_filter_table(PG_GETARG_OID(0), AccessExclusiveLock);
	Relation	table = open_filter_table(PG_GETARG_OID(1), ShareLock);
	AttrNumber	column = check_purpose(filter, table, NameStr(*PG_GETARG_NAME(2)));
	FilterHead	head = {.server_major = YQ_SERVER_MAJOR, .file_number = YQ_FILE_NUMBER(table)};
	uint64		keys = scan_keys(table, column, NULL, 0);
	uint8	   *bytes;

	find_end(table, &head.block_count, &head.last_row);
	head.page_count = keys * BITS_PER_KEY / (PAGE_BYTES * BITS_PER_BYTE) + 1;
	bytes = palloc_extended((Size) head.page_count * PAGE_BYTES, MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	(void) scan_keys(table, column, bytes, head.page_count);

	append_row(filter, 0, &head, sizeof(head));
	for (uint32 page = 0; page < head.page_count; page++)
	{
		CHECK_FOR_INTERRUPTS();
		append_row(filter, page + 1, bytes + (Size) page * PAGE_BYTES, PAGE_BYTES);
	}
	pfree(bytes);
	relation_close(table, NoLock);
	relation_close(filter, NoLock);
	PG_RETURN_VOID();
}

/*
 * has_bloom_filter(source regclass): whether it has one that is of use.  archive()
 * may drop the table after the caller has read its name: then it has none.
 */
Datum
yq_sql_has_bloom_filter(PG_FUNCTION_ARGS)
{
	Relation	table = try_open_table(PG_GETARG_OID(0), AccessShareLock);
	YqBloomFilter *filter;
	bool		has_filter;

	if (table == NULL)
		PG_RETURN_BOOL(false);
	filter = yq_bloom_filter_open(table);
	has_filter = filter != NULL;
	if (has_filter)
		yq_bloom_filter_close(filter);
	relation_close(table, AccessShareLock);
	PG_RETURN_BOOL(has_filter);
}
