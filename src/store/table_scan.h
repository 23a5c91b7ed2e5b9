/*-------------------------------------------------------------------------
 *
 * table_scan.h
 *	  Reading a small table of ours, or a part of one, column by column.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_TABLE_SCAN_H
#define YQ_TABLE_SCAN_H

#include "access/skey.h"
#include "base/bytes_table.h"
#include "executor/tuptable.h"
#include "store/catalog.h"

/* A row, of which columns are called by their rank among those asked for. */
typedef struct YqRow
{
	TupleTableSlot *slot;
	const AttrNumber *columns;
	void	   *argument;		/* of the caller */
} YqRow;

typedef void (*YqRowReader) (const YqRow *row);

/*
 * Call the reader for each row; names are those of the columns it needs.  Without a
 * snapshot (NULL) rows are those of the newest committed state, once the table is locked.
 */
extern void yq_table_scan(YqTable table, Snapshot snapshot, const char *const *names, int count,
						 YqRowReader reader, void *argument);

/* The same of the rows that meet conditions on columns of an index, in its order. */
extern void yq_table_scan_keys(YqTable table, const char *index_name, Snapshot snapshot, ScanKey keys, int key_count,
							  const char *const *names, int count, YqRowReader reader, void *argument);

/*
 * Scan rows in the order of an index whose first column is a text with
 * collation "C": of one key, or, when "below" is not NULL, of the keys from
 * "from" up to, and without, "below".
 */
extern void yq_table_scan_index(YqTable table, const char *index_name, Snapshot snapshot,
							   const char *from, const char *below,
							   const char *const *names, int count,
							   YqRowReader reader, void *argument);

/* The value of a column. */
extern Datum yq_row_value(const YqRow *row, int column, bool *isnull);

/* The same as a palloc'd string, or NULL. */
extern char *yq_row_text(const YqRow *row, int column);

/* The bytes of a text, as long as the row is at hand; data is NULL for null. */
extern YqBytes yq_row_bytes(const YqRow *row, int column);

/* The same of a boolean; null is false. */
extern bool yq_row_bool(const YqRow *row, int column);

/* The integer in a column, or "otherwise" for null. */
extern int32 yq_row_integer(const YqRow *row, int column, int32 otherwise);
extern int64 yq_row_bigint(const YqRow *row, int column, int64 otherwise);

#endif							/* YQ_TABLE_SCAN_H */
