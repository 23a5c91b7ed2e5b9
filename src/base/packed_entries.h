/*-------------------------------------------------------------------------
 *
 * packed_entries.h
 *	  Many entries of a few columns in one value.
 *
 * Entries follow one another.  An entry is a byte with a bit for each column that
 * differs from the entry before, the first column the lowest bit, and these columns
 * in order: the length plus one, zero for NULL, in groups of seven bits, lowest
 * first, the high bit set on all but the last, and the bytes.  All columns before the first entry are NULL.
 *
 * A number is a byte that counts low bytes of zero, and the other bytes, lowest first,
 * no more than the sign needs.  The format is on disk and in dumps: it is the
 * same on all machines.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_PACKED_ENTRIES_H
#define YQ_PACKED_ENTRIES_H

#include "base/bytes_table.h"

/* The most columns of an entry. */
#define YQ_ENTRY_COLUMNS 8

/* Room to write a number of six limbs. */
#define YQ_ENTRY_NUMBER_BYTES (2 + 6 * sizeof(uint64))

typedef struct YqEntryWriter
{
	StringInfoData packed;		/* begins with room for the header of a bytea */
	int			entries;
	struct
	{
		int			at;			/* in "packed"; 0 for NULL */
		int			length;
	}			columns[YQ_ENTRY_COLUMNS];	/* of the last entry */
} YqEntryWriter;

/* Begin in the current memory context. */
extern void yq_entries_begin(YqEntryWriter *writer);

/* Append an entry of "count" columns; data of a NULL is NULL. */
extern void yq_entries_append(YqEntryWriter *writer, const YqBytes *columns, int count);

/* What has been appended; it lives in the writer, which may begin again. */
extern bytea *yq_entries_end(YqEntryWriter *writer);

typedef struct YqEntryReader
{
	const uint8 *next;
	const uint8 *end;
	YqBytes		columns[YQ_ENTRY_COLUMNS];	/* of the last entry read; they lie in the value */
} YqEntryReader;

extern void yq_entries_read(YqEntryReader *reader, const bytea *packed);

/* Read the next entry; false at the end. */
extern bool yq_entries_next(YqEntryReader *reader);

/* Other bytes, or columns that the caller does not expect, are ERRCODE_DATA_CORRUPTED. */
extern void yq_entries_report_corruption(void);

/*
 * A number of "count" limbs, two's complement, lowest first, as bytes of the
 * buffer, which has room for YQ_ENTRY_NUMBER_BYTES; and the number again.
 */
extern YqBytes yq_entry_number(uint8 *buffer, const uint64 *limbs, int count);
extern void yq_entry_read_number(YqBytes bytes, uint64 *limbs, int count);

/* A column as a text or resource, palloc'd; NULL for NULL. */
extern struct varlena *yq_entry_varlena(YqBytes bytes);

#endif							/* YQ_PACKED_ENTRIES_H */
