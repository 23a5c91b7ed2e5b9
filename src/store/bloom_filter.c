/*-------------------------------------------------------------------------
 *
 * bloom_filter.c
 *	  A quick test that no sealed table has a row with a key.
 *
 * The filter is a heap with one row per page.  The only column of a row contains the
 * bits of its page.  The last row, the head, describes the tables from which the filter
 * was made.  The hash of a key determines its page, a line of 64 bytes in the page, and
 * the bits in that line.  A test therefore reads one page and one cache line, however
 * many tables there are.  With 12 bits per key, about one test in a hundred causes an
 * unnecessary look-up in the indexes.
 *
 * Sessions read the rows without checking whether they are visible.  Because the head is written
 * last, a filter is either complete or unusable, even if the transaction that wrote it has failed.
 *
 * Only a restore writes to a sealed table.  A trigger of the table then empties the filter.  A
 * restore may create this trigger after the rows, so the head also records where each table ends.
 * A table that has grown since then shows that the filter is incomplete.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_type_d.h"
#include "common/hashfn.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "store/bloom_filter.h"
#include "store/catalog.h"
#include "utils/inval.h"
#include "utils/snapmgr.h"

PG_FUNCTION_INFO_V1(yq_sql_fill_bloom_filter);
PG_FUNCTION_INFO_V1(yq_sql_is_bloom_filter_complete);

#define KEY_COLUMN "container_id"
#define BITS_PER_KEY 12
#define PROBES 6
#define LINE_BYTES 64
#define LINE_BITS (LINE_BYTES * BITS_PER_BYTE)
#define LINES_PER_PAGE \
	((MaxHeapTupleSize - MAXALIGN(SizeofHeapTupleHeader) - VARHDRSZ) / LINE_BYTES)
#define PAGE_BYTES (LINES_PER_PAGE * LINE_BYTES)

StaticAssertDecl(LINE_BITS == 1 << 9, "a probe takes nine bits of the hash");

/* The number of pages that are built in memory at a time. */
#define PAGES_PER_PASS 8192

/*
 * A table whose keys are in the filter.  The last two fields describe where the table ended when
 * the filter was made.
 */
typedef struct FilteredTable
{
	Oid			oid;
	BlockNumber block_count;
	uint32		last_row;		/* number of rows on the table's last page */
} FilteredTable;

/* The content of the filter's last row. */
typedef struct FilterHead
{
	uint64		magic;
	uint32		server_major;	/* major version of the server that hashed the keys */
	uint32		page_count;		/* number of pages with bits */
	uint32		table_count;
	FilteredTable tables[FLEXIBLE_ARRAY_MEMBER];
} FilterHead;

#define MAGIC UINT64CONST(0x7971626c6f6f6d21)
#define MAX_TABLES ((int) ((PAGE_BYTES - offsetof(FilterHead, tables)) / sizeof(FilteredTable)))

struct YqBloomFilter
{
	Relation	relation;
	uint32		page_count;
};

/* is_complete is true while the filter is known to contain the keys of all sealed tables */
static bool is_watched;
static bool is_complete;

/* -- position of a key ---------------------------------------------------- */

StaticAssertDecl(PROBES * 9 <= 64, "probes must come from one hash");

typedef struct KeyHash
{
	uint64		place;
	uint64		probes;
} KeyHash;

static KeyHash
hash_key(const text *key)
{
	KeyHash		hash;

	hash.place = hash_bytes_extended((const unsigned char *) VARDATA_ANY(key),
									 VARSIZE_ANY_EXHDR(key), 0);
	hash.probes = hash_bytes_uint32_extended((uint32) (hash.place >> 32), hash.place);
	return hash;
}

static inline uint32
page_of_hash(const KeyHash *hash, uint32 page_count)
{
	return (uint32) (((hash->place >> 32) * page_count) >> 32);
}

/* Return the offset of the line of a key within the bytes of a page. */
static inline uint32
line_of_hash(const KeyHash *hash)
{
	return (uint32) (((hash->place & 0xFFFFFFFF) * LINES_PER_PAGE) >> 32) * LINE_BYTES;
}

static inline uint32
probe_bit(const KeyHash *hash, int probe)
{
	return (uint32) (hash->probes >> (9 * probe)) & (LINE_BITS - 1);
}

/* -- asking ---------------------------------------------------------------- */

/* Return the bytes of the row on a locked page.  Returns NULL when the page does not belong to the filter. */
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

/* Describe the end of a table by its number of blocks and by the number of rows on the last block. */
static FilteredTable
describe(Relation table)
{
	FilteredTable found = {.oid = RelationGetRelid(table), .block_count = RelationGetNumberOfBlocks(table)};
	Buffer		buffer;

	if (found.block_count == 0)
		return found;
	buffer = ReadBuffer(table, found.block_count - 1);
	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	found.last_row = PageGetMaxOffsetNumber(BufferGetPage(buffer));
	UnlockReleaseBuffer(buffer);
	return found;
}

/*
 * Tell whether the filter was made from the present children of the ledger, in their present state.
 * Each child must also have the trigger that empties the filter when rows are inserted.
 */
static bool
is_of_all_children(const FilterHead *head)
{
	List	   *oids = find_inheritance_children(yq_table_oid(YQ_CHARGE), AccessShareLock);
	ListCell   *cell;
	bool		is_of_all = true;

	foreach(cell, oids)
	{
		Relation	table = table_open(lfirst_oid(cell), NoLock);
		FilteredTable present = describe(table);
		bool		found = false;

		for (uint32 i = 0; !found && i < head->table_count; i++)
			found = memcmp(&head->tables[i], &present, sizeof(present)) == 0;
		is_of_all &= found && table->trigdesc != NULL && table->trigdesc->trig_insert_after_statement;
		table_close(table, NoLock);
	}
	list_free(oids);
	return is_of_all;
}

/* Tell whether the open filter is complete and up to date.  Sets the filter's number of pages. */
static bool
check_head(YqBloomFilter *filter)
{
	BlockNumber block_count = RelationGetNumberOfBlocks(filter->relation);
	union
	{
		FilterHead	head;
		uint8		bytes[PAGE_BYTES];
	}			copy;
	const uint8 *bytes;
	Buffer		buffer;

	filter->page_count = block_count - 1;
	if (block_count == 0 || is_complete)
		return block_count != 0;
	buffer = ReadBuffer(filter->relation, block_count - 1);
	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	bytes = row_bytes(buffer);
	if (bytes != NULL)
		memcpy(copy.bytes, bytes, PAGE_BYTES);
	UnlockReleaseBuffer(buffer);
	if (bytes == NULL || copy.head.magic != MAGIC || copy.head.server_major != YQ_SERVER_MAJOR ||
		copy.head.page_count != filter->page_count)
		return false;
	/* an invalidation that arrives during this check sets is_complete to false again */
	is_complete = true;
	if (!is_of_all_children(&copy.head))
		is_complete = false;
	return is_complete;
}

YqBloomFilter *
yq_bloom_filter_open(void)
{
	YqBloomFilter *filter = palloc(sizeof(YqBloomFilter));

	if (!is_watched)
	{
		yq_catalog_on_change(YQ_CHARGE, &is_complete);
		yq_catalog_on_change(YQ_CHARGE_FILTER, &is_complete);
		yq_catalog_on_abort(&is_complete);
		is_watched = true;
	}
	filter->relation = yq_table_open(YQ_CHARGE_FILTER, AccessShareLock);
	if (check_head(filter))
		return filter;
	table_close(filter->relation, AccessShareLock);
	pfree(filter);
	return NULL;
}

void
yq_bloom_filter_close(YqBloomFilter *filter)
{
	relation_close(filter->relation, NoLock);
	pfree(filter);
}

bool
yq_bloom_filter_may_have(YqBloomFilter *filter, const text *key)
{
	KeyHash		hash = hash_key(key);
	Buffer		buffer = ReadBuffer(filter->relation, page_of_hash(&hash, filter->page_count));
	bool		may_have = true;
	const uint8 *bytes;

	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	bytes = row_bytes(buffer);
	if (bytes != NULL)
	{
		const uint8 *line = bytes + line_of_hash(&hash);

		for (int probe = 0; may_have && probe < PROBES; probe++)
		{
			uint32		bit = probe_bit(&hash, probe);

			may_have = (line[bit / BITS_PER_BYTE] >> (bit % BITS_PER_BYTE)) & 1;
		}
	}
	UnlockReleaseBuffer(buffer);
	return may_have;
}

/* -- making ---------------------------------------------------------------- */

/* The bits of some consecutive pages, and the number of the first of these pages. */
typedef struct FilterPass
{
	uint8	   *bytes;
	uint32		first_page;
	uint32		page_count;
	uint32		total_pages;
} FilterPass;

static void
set_bits(FilterPass *pass, const text *key)
{
	KeyHash		hash = hash_key(key);
	uint32		page = page_of_hash(&hash, pass->total_pages) - pass->first_page;
	uint8	   *line = pass->bytes + (Size) page * PAGE_BYTES + line_of_hash(&hash);

	if (page >= pass->page_count)
		return;
	for (int probe = 0; probe < PROBES; probe++)
	{
		uint32		bit = probe_bit(&hash, probe);

		line[bit / BITS_PER_BYTE] |= 1 << (bit % BITS_PER_BYTE);
	}
}

/*
 * Count the keys of a table, or set their bits.  Rows of failed transactions are ignored, because
 * their out-of-line values may be missing.  The caller's lock prevents other transactions from
 * writing to the table.
 */
static uint64
scan_keys(Relation table, FilterPass *pass)
{
	AttrNumber	column = yq_column(table, KEY_COLUMN);
	TableScanDesc scan = table_beginscan(table, SnapshotSelf, 0, NULL);
	TupleTableSlot *slot = table_slot_create(table, NULL);
	uint64		keys = 0;

	while (table_scan_getnextslot(scan, ForwardScanDirection, slot))
	{
		bool		isnull;
		Datum		value;

		CHECK_FOR_INTERRUPTS();
		keys++;
		if (pass == NULL)
			continue;
		value = slot_getattr(slot, column, &isnull);
		if (!isnull)
		{
			text	   *key = DatumGetTextPP(value);

			set_bits(pass, key);
			if ((Pointer) key != DatumGetPointer(value))
				pfree(key);
		}
	}
	ExecDropSingleTupleTableSlot(slot);
	table_endscan(scan);
	return keys;
}

static uint64
scan_tables(List *oids, FilterPass *pass)
{
	uint64		keys = 0;
	ListCell   *cell;

	foreach(cell, oids)
	{
		Relation	table = table_open(lfirst_oid(cell), NoLock);

		keys += scan_keys(table, pass);
		table_close(table, NoLock);
	}
	return keys;
}

/* Write a row onto its own page.  The caller gives the number of the page. */
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
				HEAP_INSERT_FROZEN | HEAP_INSERT_SKIP_FSM | HEAP_INSERT_NO_LOGICAL, NULL);
	if (ItemPointerGetBlockNumber(&row->t_self) != number ||
		ItemPointerGetOffsetNumber(&row->t_self) != FirstOffsetNumber)
		elog(ERROR, "row %u of Bloom filter \"%s\" is at (%u,%u)", number,
			 RelationGetRelationName(relation),
			 ItemPointerGetBlockNumber(&row->t_self),
			 ItemPointerGetOffsetNumber(&row->t_self));
	heap_freetuple(row);
	pfree(value);
}

static void
append_head(Relation relation, List *oids, uint32 page_count)
{
	FilterHead *head = palloc0(PAGE_BYTES);
	ListCell   *cell;

	head->magic = MAGIC;
	head->server_major = YQ_SERVER_MAJOR;
	head->page_count = page_count;
	foreach(cell, oids)
	{
		Relation	table = table_open(lfirst_oid(cell), NoLock);

		head->tables[head->table_count++] = describe(table);
		table_close(table, NoLock);
	}
	append_row(relation, page_count, head, PAGE_BYTES);
	pfree(head);
}

/*
 * fill_bloom_filter() makes the filter of all sealed tables of the ledger.  The caller has emptied
 * the table of the filter.  Sessions do not use the filter until the head is written.
 */
Datum
yq_sql_fill_bloom_filter(PG_FUNCTION_ARGS)
{
	Relation	relation = yq_table_open(YQ_CHARGE_FILTER, ShareRowExclusiveLock);
	List	   *oids = find_inheritance_children(yq_table_oid(YQ_CHARGE), ShareLock);
	FilterPass	pass = {.total_pages = 1 + scan_tables(oids, NULL) * BITS_PER_KEY / (PAGE_BYTES * BITS_PER_BYTE)};

	if (RelationGetNumberOfBlocks(relation) != 0 || list_length(oids) > MAX_TABLES)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot fill the Bloom filter of the ledger"),
				 errdetail("The filter must be empty and cover at most %d tables.", MAX_TABLES)));
	pass.bytes = palloc((Size) Min(PAGES_PER_PASS, pass.total_pages) * PAGE_BYTES);
	for (uint32 page = 0; page < pass.total_pages; page++)
	{
		CHECK_FOR_INTERRUPTS();
		if (page % PAGES_PER_PASS == 0)
		{
			pass.first_page = page;
			pass.page_count = Min(PAGES_PER_PASS, pass.total_pages - page);
			memset(pass.bytes, 0, (Size) pass.page_count * PAGE_BYTES);
			(void) scan_tables(oids, &pass);
		}
		append_row(relation, page, pass.bytes + (Size) (page - pass.first_page) * PAGE_BYTES, PAGE_BYTES);
	}
	append_head(relation, oids, pass.total_pages);
	pfree(pass.bytes);
	CacheInvalidateRelcache(relation);
	table_close(relation, NoLock);
	PG_RETURN_VOID();
}

/*
 * is_bloom_filter_complete() tells whether the filter contains the keys of all sealed tables in
 * their present state.
 */
Datum
yq_sql_is_bloom_filter_complete(PG_FUNCTION_ARGS)
{
	YqBloomFilter *filter;

	is_complete = false;
	filter = yq_bloom_filter_open();
	if (filter != NULL)
		yq_bloom_filter_close(filter);
	PG_RETURN_BOOL(filter != NULL || find_inheritance_children(yq_table_oid(YQ_CHARGE), NoLock) == NIL);
}
