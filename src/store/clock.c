/*-------------------------------------------------------------------------
 *
 * clock.c
 *	  The one clock (contract in clock.h; DESIGN 3, "Time is an interface").
 *
 * The cached setting is usable when it was read to the end ("setting_read")
 * and no change was signalled since the reading began ("setting_current").  The
 * relation cache callback of catalog.c sets the latter to false.  Two flags, because
 * an error or a signal in the middle of reading must leave the cache unusable.
 *
 * While the clock is set by hand, statement clock and clock are the same: a
 * script that sets it and goes on in one statement means the new time.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include <limits.h>

#include "access/parallel.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "executor/tuptable.h"
#include "fmgr.h"
#include "store/catalog.h"
#include "store/clock.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

PG_FUNCTION_INFO_V1(yq_sql_clock);
PG_FUNCTION_INFO_V1(yq_sql_statement_clock);

static bool setting_current = false;
static bool setting_read = false;
static bool clock_stands = false;	/* is it set by hand? */
static TimestampTz clock_at = 0;	/* valid when clock_stands */

/*
 * Read the table's row, if any.  The leader of a parallel plan may read an
 * older row, which is not kept.
 */
static void
read_clock_setting(void)
{
	Relation	relation;
	Snapshot	snapshot;
	TableScanDesc scan;
	TupleTableSlot *slot;

	relation = yq_table_open(YQ_CLOCK_SETTING, AccessShareLock);
	setting_current = true;
	setting_read = false;

	snapshot = yq_latest_snapshot();
	slot = table_slot_create(relation, NULL);
	scan = table_beginscan(relation, snapshot, 0, NULL);
	clock_stands = table_scan_getnextslot(scan, ForwardScanDirection, slot);
	if (clock_stands)
	{
		bool		isnull;

		clock_at = DatumGetTimestampTz(slot_getattr(slot,
													yq_column(relation, "at"),
													&isnull));
	}
	table_endscan(scan);
	ExecDropSingleTupleTableSlot(slot);
	UnregisterSnapshot(snapshot);
	table_close(relation, AccessShareLock);

	setting_read = IsParallelWorker() || !IsInParallelMode();
}

/*
 * Is the clock set by hand?  Without the extension's tables it never is, and
 * outside a transaction nothing can be read.
 */
static bool
is_set(void)
{
	static bool registered = false;

	if (!registered && IsTransactionState())
	{
		yq_catalog_on_change(YQ_CLOCK_SETTING, &setting_current);
		registered = true;
	}
	if ((setting_current && setting_read) || !IsTransactionState())
		return clock_stands;
	if (OidIsValid(yq_table_oid(YQ_CLOCK_SETTING)))
		read_clock_setting();
	else
		clock_stands = false;
	return clock_stands;
}

TimestampTz
yq_clock_now(void)
{
	return is_set() ? clock_at : GetCurrentTimestamp();
}

TimestampTz
yq_clock_statement(void)
{
	return is_set() ? clock_at : GetCurrentStatementStartTimestamp();
}

long
yq_clock_milliseconds_until(TimestampTz until)
{
	TimestampTz now = yq_clock_now();
	uint64		microseconds;

	if (until <= now)
		return 0;
	if (clock_stands)
		return YQ_CLOCK_STANDS;

	/* Rounded up, so that the sleeper does not wake just before its time. */
	microseconds = (uint64) until - (uint64) now;
	return (long) Min(microseconds / 1000 + 1, (uint64) INT_MAX);
}

bool
yq_clock_reread(void)
{
	bool		stood = clock_stands;
	TimestampTz stood_at = clock_at;

	setting_read = false;
	return is_set() != stood || (stood && clock_at != stood_at);
}

/*
 * SQL functions
 */

/* yquota.clock() */
Datum
yq_sql_clock(PG_FUNCTION_ARGS)
{
	PG_RETURN_TIMESTAMPTZ(yq_clock_now());
}

/* yquota.statement_clock() */
Datum
yq_sql_statement_clock(PG_FUNCTION_ARGS)
{
	PG_RETURN_TIMESTAMPTZ(yq_clock_statement());
}
