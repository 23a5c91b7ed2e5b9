/*-------------------------------------------------------------------------
 *
 * credit_sql.c
 *	  The rest of a project's credit, for decisions about it.
 *
 * Decisions about the credit of one project wait for each other to the end of
 * the transaction, and read the newest committed state, at every isolation
 * level: of two transactions that want the last credit one gets it.  The lock
 * is an object lock of yquota.hold, the object a hash of the project's name, as
 * pg_locks shows it.  Charging does not know of it.
 *
 * A sub-project spends the credit of its ancestors as well, so that they are
 * locked before it, the root first: the transaction with the lock of the root
 * is the only one in the whole family, so no transactions wait in a circle.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "catalog/pg_type_d.h"
#include "common/hashfn.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "store/catalog.h"
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

/*
 * Run a query about a project by the newest committed state; its rows are in
 * SPI_tuptable until SPI_finish().
 */
static void
ask(const char *command, Datum project)
{
	Oid			types[] = {TEXTOID};
	Snapshot	snapshot;
	SPIPlanPtr	plan;

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	plan = SPI_prepare(command, lengthof(types), types);
	snapshot = yq_latest_snapshot();
	if (plan == NULL ||
		SPI_execute_snapshot(plan, &project, NULL, snapshot, InvalidSnapshot, true, false, 0) != SPI_OK_SELECT)
		elog(ERROR, "could not execute \"%s\": %s", command, SPI_result_code_string(SPI_result));
	UnregisterSnapshot(snapshot);
}

static void
lock_ancestors(Datum project)
{
	uint64		i;

	if (yq_table_has_no_pages(YQ_PROJECT_FAMILY))
		return;
	ask("SELECT f.ancestor FROM yquota_internal.project_family AS f WHERE f.member = $1 ORDER BY f.depth DESC", project);
	for (i = 0; i < SPI_processed; i++)
	{
		bool		isnull;
		Datum		ancestor = SPI_getbinval(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, 1, &isnull);

		lock_project(DatumGetTextPP(ancestor));
	}
	SPI_finish();
}

/* Available credit by the newest committed state; NULL when it is not limited. */
static Numeric
read_available(Datum project)
{
	MemoryContext caller = CurrentMemoryContext;
	Numeric		available = NULL;

	ask("SELECT c.available FROM yquota_internal.project_credit AS c WHERE c.project = $1", project);
	if (SPI_processed == 1)
	{
		bool		isnull;
		Datum		value = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &isnull);
		MemoryContext spi = MemoryContextSwitchTo(caller);

		if (!isnull)
			available = DatumGetNumericCopy(value);
		MemoryContextSwitchTo(spi);
	}
	SPI_finish();
	return available;
}

/* lock_credit(project): see sql/charging/180_hold.sql */
Datum
yq_sql_lock_credit(PG_FUNCTION_ARGS)
{
	text	   *project = PG_GETARG_TEXT_PP(0);
	Numeric		available;

	PreventCommandIfReadOnly("changes of holds");
	lock_ancestors(PointerGetDatum(project));
	lock_project(project);
	available = read_available(PointerGetDatum(project));
	if (available == NULL)
		PG_RETURN_NULL();
	PG_RETURN_NUMERIC(available);
}
