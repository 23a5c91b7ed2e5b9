/*-------------------------------------------------------------------------
 *
 * usage_numbering.c
 *	  Whether transactions number their rows about usage.
 *
 * The lock, kept to the end of the transaction, tells that the transaction of the
 * first row has not only committed, but sent its signal: it gives its locks back after that.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "access/transam.h"
#include "access/xact.h"
#include "scheduler/cache/usage_numbering.h"
#include "store/bulk_insert.h"
#include "store/journal_scan.h"
#include "storage/lmgr.h"
#include "utils/xid8.h"

/* Columns of usage_numbering, in table order. */
enum
{
	NUMBERING_ASKED_BY,
	NUMBERING_COMPLETE_FROM,
	NUMBERING_COLUMNS
};

static const char *const columns[] = {"asked_by", "complete_from"};

typedef struct Numbering
{
	bool		is_asked_for;
	bool		is_own;			/* by this transaction */
	FullTransactionId complete_from;	/* invalid: not known yet */
} Numbering;

static void
read_row(const YqRow *row)
{
	Numbering  *numbering = row->argument;
	bool		isnull;
	Datum		value = yq_row_value(row, NUMBERING_ASKED_BY, &isnull);

	numbering->is_asked_for = true;
	numbering->is_own |= FullTransactionIdEquals(DatumGetFullTransactionId(value), GetTopFullTransactionIdIfAny());
	value = yq_row_value(row, NUMBERING_COMPLETE_FROM, &isnull);
	if (!isnull)
		numbering->complete_from = DatumGetFullTransactionId(value);
}

/* Without a snapshot: as it is now. */
static Numbering
read_numbering(Snapshot snapshot)
{
	Numbering	numbering = {.complete_from = InvalidFullTransactionId};

	yq_table_scan(YQ_USAGE_NUMBERING, snapshot, columns, lengthof(columns), read_row, &numbering);
	return numbering;
}

/* Does a row lack that this transaction can append? */
static bool
lacks_row(Numbering *numbering)
{
	*numbering = read_numbering(NULL);
	return !FullTransactionIdIsValid(numbering->complete_from) && !numbering->is_own;
}

static void
append_row(FullTransactionId complete_from)
{
	YqBulkInsert *writer = yq_bulk_insert_open(YQ_USAGE_NUMBERING, NUMBERING_COLUMNS, 1, false);
	Datum		values[NUMBERING_COLUMNS] = {FullTransactionIdGetDatum(GetTopFullTransactionId()), FullTransactionIdGetDatum(complete_from)};
	bool		nulls[NUMBERING_COLUMNS] = {false, !FullTransactionIdIsValid(complete_from)};

	yq_bulk_insert_put(writer, values, nulls);
	yq_bulk_insert_close(writer);
	if (nulls[NUMBERING_COMPLETE_FROM])
		yq_catalog_signal_change(YQ_USAGE_NUMBERING);
	CommandCounterIncrement();
}

void
yq_usage_numbering_ask(void)
{
	Numbering	numbering;

	if (lacks_row(&numbering) &&
		ConditionalLockRelationOid(yq_table_oid(YQ_USAGE_NUMBERING), ShareRowExclusiveLock) &&
		lacks_row(&numbering))
		append_row(numbering.is_asked_for ? ReadNextFullTransactionId() : InvalidFullTransactionId);
}

bool
yq_usage_numbering_is_complete(Snapshot snapshot)
{
	Numbering	numbering = read_numbering(snapshot);

	return FullTransactionIdIsValid(numbering.complete_from) &&
		!FullTransactionIdPrecedes(yq_seen_oldest(snapshot), numbering.complete_from);
}
