/*-------------------------------------------------------------------------
 *
 * delta_entries.h
 *	  Many changes of counters, packed into one row of yquota_internal.counter_delta.
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
 * Entries follow one another.  An entry begins with a byte that has a bit for each
 * column; the lowest bit is the first column.  The bit is set if the column differs
 * from the previous entry.  The values of these columns follow in order.  A value is
 * coded as its length plus one, followed by its bytes; NULL is coded as zero.  The
 * length is in groups of seven bits, lowest first, with the high bit set in all groups
 * except the last.  Before the first entry, all columns count as NULL.
 *
 * A number begins with a byte that contains the number of its low bytes that are zero.
 * The other bytes follow, lowest first, without bytes that only repeat the sign.  The
 * format is on disk and in dumps, and does not depend on the machine.
 */

/* The largest number of columns of an entry. */
#define YQ_ENTRY_COLUMNS 8

typedef struct YqEntryWriter
{
	StringInfoData packed;		/* begins with room for the header of a bytea */
	int			entries;
	struct
	{
		int			at;			/* offset in "packed"; 0: the column is NULL */
		int			length;
	}			columns[YQ_ENTRY_COLUMNS];	/* columns of the last entry */
} YqEntryWriter;

/* Begin a value in the current memory context. */
extern void yq_entries_begin(YqEntryWriter *writer);

/* Return a value with the appended entries.  It is in the writer's memory until the writer begins again. */
extern bytea *yq_entries_end(YqEntryWriter *writer);

typedef struct YqEntryReader
{
	const uint8 *next;
	const uint8 *end;
	YqBytes		columns[YQ_ENTRY_COLUMNS];	/* columns of the last entry that was read; they point into the value */
} YqEntryReader;

extern void yq_entries_read(YqEntryReader *reader, const bytea *packed);

/* -- delta entries ------------------------------------------------------------- */

/*
 * In a row about a project, the column "packed" contains entries of rate classes.  In a
 * row about queues or nodes, it contains entries of usage.
 */

/* Columns of usage.  Names are the bytes of texts. */
enum
{
	YQ_USAGE_QUEUE,				/* NULL in rows about nodes, as are the next two columns */
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
	YqBytes		names[YQ_USAGE_OPPORTUNISTIC];	/* the columns before YQ_USAGE_OPPORTUNISTIC */
	bool		is_guaranteed;
	struct varlena *allocation;
	int64		containers;
} YqUsageChange;

/* Append a change of usage.  "names" are in the order of YqUsageChange. */
extern void yq_delta_append_usage(YqEntryWriter *writer, const struct varlena *const *names, bool is_guaranteed,
								  const YqResource *allocation, int64 containers);

/*
 * Read the next change.  Returns false at the end.  Values are palloc'd; names point
 * into the bytes that are read.
 */
extern bool yq_delta_next_class(YqEntryReader *reader, YqClassChange *change);
extern bool yq_delta_next_usage(YqEntryReader *reader, YqUsageChange *change);

/*
 * Convert a weight to a numeric exactly, and convert it back.  A numeric that has a
 * fraction, is at least 10^36, or is not finite raises
 * ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE.
 */
extern Numeric yq_weight_to_numeric(int128 weight);
extern int128 yq_weight_from_numeric(Numeric value);

#endif							/* YQ_DELTA_ENTRIES_H */
