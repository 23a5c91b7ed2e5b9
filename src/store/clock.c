/*-------------------------------------------------------------------------
 *
 * clock.c
 *	  The one clock (contract in clock.h; docs/design.md 3).
 *
 * The cached setting is valid if it was read completely ("setting_read") and no change was
 * signalled since the read began ("setting_current").  The relation cache callback of catalog.c
 * clears the second flag.  With two flags, the cache stays invalid if an error or a signal
 * interrupts the read.
 *
 * While the clock is set by hand, the statement clock and the clock show the same
 * instant.  A script that sets the clock and continues in the same statement expects
 * the new time.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include <limits.h>

#include "access/parallel.h"
#include "access/xact.h"
#include "fmgr.h"
#include "store/clock.h"
#include "store/table_scan.h"
#include "utils/timestamp.h"

PG_FUNCTION_INFO_V1(yq_sql_clock);
PG_FUNCTION_INFO_V1(yq_sql_statement_clock);

static bool setting_current = false;
static bool setting_read = false;
static bool clock_stands = false;	/* true if the clock is set by hand */
static TimestampTz clock_at = 0;	/* instant that the clock shows; valid if clock_stands is true */

static void
read_clock_row(const YqRow *row)
{
	bool		isnull;

	clock_at = DatumGetTimestampTz(yq_row_value(row, 0, &isnull));
	*(bool *) row->argument = true;
}

/*
 * Read the row of the table, if there is one.  In a parallel plan the result is not cached,
 * because the leader may read an older row.
 */
static void
read_clock_setting(void)
{
	static const char *const columns[] = {"at"};
	bool		stands = false;

	setting_current = true;
	setting_read = false;
	yq_table_scan(YQ_CLOCK_SETTING, NULL, columns, lengthof(columns), read_clock_row, &stands);
	clock_stands = stands;
	setting_read = IsParallelWorker() || !IsInParallelMode();
}

/*
 * Tell whether the clock is set by hand.  Without the extension's tables it never is.  Outside a
 * transaction, the cached setting is used.
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

	/* round up, so that the caller does not wake just before its time */
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
