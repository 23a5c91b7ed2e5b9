/*-------------------------------------------------------------------------
 *
 * credit_sql.c
 *	  What remains of a project's credit, for decisions about it.
 *
 * Decisions about the credit of one project wait for each other to the end of
 * the transaction, and read what is committed then, whatever the isolation
 * level: of two who want the last credit one gets it.  The lock is an object
 * lock of yquota.hold, the object a hash of the project's name, as pg_locks
 * shows it.  Charging does not know of it.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "base/catalog.h"
#include "catalog/pg_type_d.h"
#include "common/hashfn.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/numeric.h"
#include "utils/snapmgr.h"

PG_FUNCTION_INFO_V1(yq_sql_lock_credit);

static void
lock_project(const text *project)
{
	LOCKTAG		tag;

	SET_LOCKTAG_OBJECT(tag, MyDatabaseId, yq_table_oid(YQ_HOLD),
					   hash_bytes((const unsigned char *) VARDATA_ANY(project), VARSIZE_ANY_EXHDR(project)), 0);
	(void) LockAcquire(&tag, ExclusiveLock, false, false);
}

/* What remains by the newest committed state; NULL when there is no such project. */
static Numeric
read_remaining(Datum project)
{
	static const char command[] =
		"SELECT b.granted - b.charged - b.accrued - b.held FROM yquota_internal.balance AS b WHERE b.project = $1";
	Oid			types[] = {TEXTOID};
	MemoryContext caller = CurrentMemoryContext;
	Numeric		remaining = NULL;
	Snapshot	snapshot;
	SPIPlanPtr	plan;

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	plan = SPI_prepare(command, lengthof(types), types);
	snapshot = yq_latest_snapshot();
	if (plan == NULL ||
		SPI_execute_snapshot(plan, &project, NULL, snapshot, InvalidSnapshot, true, false, 1) != SPI_OK_SELECT)
		elog(ERROR, "could not execute \"%s\": %s", command, SPI_result_code_string(SPI_result));
	UnregisterSnapshot(snapshot);
	if (SPI_processed == 1)
	{
		bool		isnull;
		Datum		value = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &isnull);
		MemoryContext spi = MemoryContextSwitchTo(caller);

		remaining = DatumGetNumericCopy(value);
		MemoryContextSwitchTo(spi);
	}
	SPI_finish();
	return remaining;
}

/* lock_credit(project): see sql/41_hold.sql */
Datum
yq_sql_lock_credit(PG_FUNCTION_ARGS)
{
	text	   *project = PG_GETARG_TEXT_PP(0);
	Numeric		remaining;

	lock_project(project);
	remaining = read_remaining(PointerGetDatum(project));
	if (remaining == NULL)
		PG_RETURN_NULL();
	PG_RETURN_NUMERIC(remaining);
}
