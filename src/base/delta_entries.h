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
 * Many entries of a few columns, packed into one value.
 *
 * Entries follow one another.  An entry begins with a byte that has one bit for each column.  The
 * lowest bit is for the first column.  The bit is set if the column differs from the previous
 * entry.  The values of these columns follow in order.  Before the first entry, all columns count
 * as NULL.
 *
 * A value consists of its length plus one, followed by its bytes.  NULL is a length of zero.  The
 * length is in groups of seven bits, the lowest group first.  The high bit of a byte is set if
 * another group follows.
 *
 * A number begins with a byte that counts the zero bytes at its low end.  The other bytes follow,
 * the lowest first, without bytes that only repeat the sign.  The format is stored on disk and in
 * dumps, and does not depend on the machine.
 */

/* The largest number of columns of an entry. */
#define YQ_ENTRY_COLUMNS 8

typedef struct YqEntryWriter
{
	StringInfoData packed;		/* begins with room for the header of a bytea */
	int			entries;
	struct
	{
		int			at;			/* offset in "packed"; 0 if the column is NULL */
		int			length;
	}			columns[YQ_ENTRY_COLUMNS];	/* columns of the last entry */
} YqEntryWriter;

/* Begin a value in the current memory context. */
extern void yq_entries_begin(YqEntryWriter *writer);

/*
 * Return the value that contains the appended entries.  It stays in the writer's memory until the
 * next yq_entries_begin().
 */
extern bytea *yq_entries_end(YqEntryWriter *writer);

typedef struct YqEntryReader
{
	const uint8 *next;
	const uint8 *end;
	YqBytes		columns[YQ_ENTRY_COLUMNS];	/* columns of the last entry that was read; pointers into the value */
} YqEntryReader;

extern void yq_entries_read(YqEntryReader *reader, const bytea *packed);

/* -- delta entries ------------------------------------------------------------- */

/*
 * A row about a project contains entries about rate classes in its column "packed".  A row about
 * queues or nodes contains entries about usage in this column.
 */

/* Columns of an entry about usage.  Names are the bytes of texts. */
enum
{
	YQ_USAGE_QUEUE,				/* queue; NULL in rows about nodes */
	YQ_USAGE_LABEL,				/* node label; NULL in rows about nodes */
	YQ_USAGE_USERNAME,			/* user; NULL in rows about nodes */
	YQ_USAGE_NODE,				/* node; NULL in rows about queues */
	YQ_USAGE_OPPORTUNISTIC,		/* NULL for GUARANTEED containers */
	YQ_USAGE_ALLOCATION,		/* the bytes of a resource */
	YQ_USAGE_CONTAINERS,		/* a number of one limb */
	YQ_USAGE_COLUMNS
};

/* A change of a project's running containers in one rate class. */
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
	YqBytes		names[YQ_USAGE_OPPORTUNISTIC];	/* values of the columns before YQ_USAGE_OPPORTUNISTIC */
	bool		is_guaranteed;
	struct varlena *allocation;
	int64		containers;
} YqUsageChange;

/* Append a change of usage.  "names" are in the order of YqUsageChange.names. */
extern void yq_delta_append_usage(YqEntryWriter *writer, const struct varlena *const *names, bool is_guaranteed,
								  const YqResource *allocation, int64 containers);

/*
 * Read the next change.  Returns false at the end.  Values are palloc'd, but names point into the
 * packed bytes.
 */
extern bool yq_delta_next_class(YqEntryReader *reader, YqClassChange *change);
extern bool yq_delta_next_usage(YqEntryReader *reader, YqUsageChange *change);

/*
 * Convert a weight to a numeric and back, exactly.  A numeric raises
 * ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE if it has a fraction, is at least 10^36, or is not finite.
 */
extern Numeric yq_weight_to_numeric(int128 weight);
extern int128 yq_weight_from_numeric(Numeric value);

#endif							/* YQ_DELTA_ENTRIES_H */
