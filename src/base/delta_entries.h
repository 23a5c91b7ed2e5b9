/*-------------------------------------------------------------------------
 *
 * delta_entries.h
 *	  Many changes of counters in one row of yquota_internal.counter_delta, packed.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_DELTA_ENTRIES_H
#define YQ_DELTA_ENTRIES_H

#include "base/bytes_table.h"
#include "base/resource.h"
#include "base/wide.h"
#include "datatype/timestamp.h"
#include "utils/array.h"

/* -- packed entries ------------------------------------------------------------ */

/*
 * Many entries of a few columns in one value.
 *
 * Entries follow one another.  An entry has a byte with a bit for each column that differs from the entry
 * before; the lowest bit is the first column.  These columns follow in order.  Each is its length plus one,
 * or zero for NULL, and then its bytes.  The length is in groups of seven bits, lowest first, with the high
 * bit set on all but the last.  All columns before the first entry are NULL.
 *
 * A number is a byte that counts low bytes of zero, and the other bytes, lowest first, no more than the
 * sign needs.  The format is on disk and in dumps, and does not depend on the machine.
 */

/* The largest number of columns of an entry. */
#define YQ_ENTRY_COLUMNS 8

typedef struct YqEntryWriter
{
	StringInfoData packed;		/* begins with room for the header of a bytea */
	int			entries;
	struct
	{
		int			at;			/* in "packed"; 0 for NULL */
		int			length;
	}			columns[YQ_ENTRY_COLUMNS];	/* columns of the last entry */
} YqEntryWriter;

/* Begin in the current memory context. */
extern void yq_entries_begin(YqEntryWriter *writer);

/* Return the appended entries.  The value lives in the writer, which may begin again. */
extern bytea *yq_entries_end(YqEntryWriter *writer);

typedef struct YqEntryReader
{
	const uint8 *next;
	const uint8 *end;
	YqBytes		columns[YQ_ENTRY_COLUMNS];	/* columns of the last entry read; they lie in the value */
} YqEntryReader;

extern void yq_entries_read(YqEntryReader *reader, const bytea *packed);

/* -- delta entries ------------------------------------------------------------- */

/*
 * The column "packed" has entries of rate classes in a row about a project.  In a row about queues or nodes
 * it has entries of usage.
 */

/* Columns of usage.  Names are the bytes of texts. */
enum
{
	YQ_USAGE_QUEUE,				/* NULL in rows about nodes, as the next two */
	YQ_USAGE_LABEL,
	YQ_USAGE_USERNAME,
	YQ_USAGE_NODE,				/* NULL in rows about queues */
	YQ_USAGE_OPPORTUNISTIC,		/* NULL for GUARANTEED containers */
	YQ_USAGE_ALLOCATION,		/* bytes of a resource */
	YQ_USAGE_CONTAINERS,		/* a number of one limb */
	YQ_USAGE_COLUMNS
};

/* A change of the running containers of a project in a rate class. */
typedef struct YqClassChange
{
	const YqResource *shape;
	ArrayType  *factors;
	TimestampTz reference_at;	/* a full hour */
	int128		weight;
	YqWide		accrual_base;
} YqClassChange;

extern void yq_delta_append_class(YqEntryWriter *writer, const YqClassChange *change);

/* A change of the usage of a queue or of a node. */
typedef struct YqUsageChange
{
	YqBytes		names[YQ_USAGE_OPPORTUNISTIC];	/* the columns before that one */
	bool		is_guaranteed;
	struct varlena *allocation;
	int64		containers;
} YqUsageChange;

/* Append a change of usage; "names" are as in YqUsageChange. */
extern void yq_delta_append_usage(YqEntryWriter *writer, const struct varlena *const *names, bool is_guaranteed,
								  const YqResource *allocation, int64 containers);

/* Read the next change; false at the end.  Values are palloc'd; names point into the bytes that are read. */
extern bool yq_delta_next_class(YqEntryReader *reader, YqClassChange *change);
extern bool yq_delta_next_usage(YqEntryReader *reader, YqUsageChange *change);

/*
 * Convert a weight to a numeric, exactly, and back.  Raises ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE for a
 * numeric that has a fraction, is 10^36 or more, or is not finite.
 */
extern Numeric yq_weight_to_numeric(int128 weight);
extern int128 yq_weight_from_numeric(Numeric value);

#endif							/* YQ_DELTA_ENTRIES_H */
