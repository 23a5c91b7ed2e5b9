/*-------------------------------------------------------------------------
 *
 * reservation_books_sql.c
 *	  The ledger of reservations, brought in line with the due amounts.
 *
 * The definitions of reservations determine the segments that are due, and the amount of each
 * (sql/charging/107_reservation_charge.sql).  A row in effect that agrees with no segment is
 * reversed, and a segment without a row is posted.  Rows and definitions are read at the newest
 * committed state, at every isolation level.
 *
 * The caller has locked the rows of the reservations' last versions, or is the transaction that ends the
 * reservations.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "access/table.h"
#include "base/wide.h"
#include "charging/counters.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "pricing/rate_class.h"
#include "pricing/timeline.h"
#include "store/catalog.h"
#include "store/clock.h"
#include "store/saved_plan.h"
#include "utils/builtins.h"
#include "utils/numeric.h"
#include "utils/timestamp.h"

PG_FUNCTION_INFO_V1(yq_sql_settle_reservations);

/* Columns of a row that was posted. */
typedef enum PostedColumn
{
	POSTED_PROJECT = 1,
	POSTED_AMOUNT,
	POSTED_FROM,
	POSTED_TO,
	POSTED_CHANGES				/* true if the row changes spending; false if it turns an accrual into a charge */
} PostedColumn;

static Datum
posted(uint64 row, PostedColumn column)
{
	bool		isnull;

	return SPI_getbinval(SPI_tuptable->vals[row], SPI_tuptable->tupdesc, column, &isnull);
}

static void
count_posted(YqCounters *counters, uint64 row)
{
	const text *project = DatumGetTextPP(posted(row, POSTED_PROJECT));
	YqWide		amount;

	yq_wide_from_numeric(&amount, DatumGetNumeric(posted(row, POSTED_AMOUNT)));
	yq_counters_charge(counters, project, &amount);
	yq_counters_priced(counters, DatumGetTimestampTz(posted(row, POSTED_TO)));
	if (DatumGetBool(posted(row, POSTED_CHANGES)))
		yq_counters_changed_from(counters, project, DatumGetTimestampTz(posted(row, POSTED_FROM)));
}

/* Reverse some rows and post others.  Returns the number of rows. */
static uint64
post(YqCounters *counters, Datum *values)
{
	static YqSavedPlan post = {
		.command = "INSERT INTO yquota.reservation_charge AS c (reservation_id, number, version, project, username, queue, allocation, "
		"reserved_factor, \"from\", \"to\", amount, booked_at, corrects) "
		"SELECT p.reservation_id, p.number, p.version, p.project, p.username, p.queue, p.allocation, p.reserved_factor, "
		"p.\"from\", p.\"to\", p.amount, $4, p.corrects FROM yquota_internal.reservation_postings($1, $2, $3) AS p "
		"RETURNING c.project, c.amount, c.\"from\", c.\"to\", c.corrects IS NOT NULL",
		.types = {"_text", "_timestamptz", "timestamptz", "timestamptz"},
		.plans_each_time = true
	};
	uint64		count;

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	count = yq_saved_plan_run(&post, values, NULL);
	for (uint64 row = 0; row < count; row++)
		count_posted(counters, row);
	SPI_finish();
	return count;
}

/* Record the instant from which the cost of reservations has not been posted yet. */
static void
note_rest(Datum *values)
{
	static YqSavedPlan note = {
		.command = "WITH next AS MATERIALIZED (SELECT n.* FROM yquota_internal.unposted_reservations($1, $2, $3) AS n), "
		"whole AS (DELETE FROM yquota_internal.accruing_reservation AS a WHERE a.reservation_id = ANY ($1) "
		"AND NOT EXISTS (SELECT FROM next WHERE next.reservation_id = a.reservation_id AND next.version = a.version)) "
		"UPDATE yquota_internal.accruing_reservation AS a SET settled_until = next.\"from\" FROM next "
		"WHERE a.reservation_id = next.reservation_id AND a.version = next.version AND a.settled_until <> next.\"from\"",
		.types = {"_text", "_timestamptz", "timestamptz"},
		.plans_each_time = true
	};

	(void) yq_saved_plan_execute(&note, values, NULL);
}

/* settle_reservations(ids, since): both arrays have the same length */
Datum
yq_sql_settle_reservations(PG_FUNCTION_ARGS)
{
	TimestampTz now = yq_clock_statement();
	/* lock the ledger before reading, because a transaction that closes a period takes a conflicting lock */
	Relation	ledger = yq_table_open(YQ_RESERVATION_CHARGE, RowExclusiveLock);
	YqCounters *counters = yq_counters_create(yq_rate_class_refresh(), now);
	Datum		values[] = {PG_GETARG_DATUM(0), PG_GETARG_DATUM(1), TimestampTzGetDatum(now),
	TimestampTzGetDatum(Max(now, yq_timeline_cached()->booked_through + 1))};
	uint64		count = post(counters, values);

	note_rest(values);
	yq_counters_post(counters);
	table_close(ledger, NoLock);
	PG_RETURN_INT64((int64) count);
}
