/*-------------------------------------------------------------------------
 *
 * credit_sql.c
 *	  The credit that a project has left, and the C functions of verify().
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "base/arguments.h"
#include "base/bytes_table.h"
#include "base/resource.h"
#include "base/wide.h"
#include "common/hashfn.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "pricing/factors.h"
#include "pricing/node_label.h"
#include "pricing/rate_class.h"
#include "storage/lmgr.h"
#include "store/catalog.h"
#include "store/saved_plan.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/numeric.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

/* -- credit sql ---------------------------------------------------------------- */

/*
 * Take the lock of a project's credit until the end of the transaction.  Transactions that decide
 * about the credit of the same project wait for each other.  They read the newest committed state
 * at every isolation level, so only one of two transactions gets the last credit.
 *
 * The lock is an object lock on yquota.hold.  The object number, shown by pg_locks, is a hash of
 * the project's name.  Charging does not take the lock.
 *
 * A sub-project spends the credit of its ancestors, too.  The ancestors are locked before the
 * sub-project, beginning with the root.  Only the transaction that holds the root's lock can wait
 * for other locks of the family, so there is no deadlock.
 */

PG_FUNCTION_INFO_V1(yq_sql_lock_credit);
PG_FUNCTION_INFO_V1(yq_sql_credit_of);
PG_FUNCTION_INFO_V1(yq_sql_find_hold);

static void
lock_project(const text *project)
{
	LOCKTAG		tag;

	SET_LOCKTAG_OBJECT(tag, MyDatabaseId, yq_table_oid(YQ_HOLD),
					   hash_bytes((const unsigned char *) VARDATA_ANY(project), VARSIZE_ANY_EXHDR(project)), 0);
	(void) LockAcquire(&tag, ExclusiveLock, false, false);
}

static void
lock_ancestors(Datum project)
{
	static YqSavedPlan look_up = {
		.command = "SELECT f.ancestor FROM yquota_internal.project_family AS f WHERE f.member = $1 ORDER BY f.depth DESC",
		.types = {"text"},
		.plans_once = true
	};
	ListCell   *cell;

	if (yq_table_has_no_pages(YQ_PROJECT_FAMILY))
		return;
	foreach(cell, yq_saved_plan_strings(&look_up, &project))
		lock_project(cstring_to_text(lfirst(cell)));
}

/* Return the result of a statement that finds at most one row, in the caller's memory; or 0 if there is no row. */
static Datum
read_row(YqSavedPlan *look_up, Datum *values, Snapshot snapshot)
{
	bool		isnull;
	Datum		row = (Datum) 0;

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	if (yq_saved_plan_read(look_up, values, snapshot) == 1)
		row = SPI_datumTransfer(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &isnull), false, -1);
	SPI_finish();
	return row;
}

/* Return the row of project_credit for a project.  It has the columns of credit_of(), in the same order. */
static Datum
read_credit(Datum project, Snapshot snapshot)
{
	static YqSavedPlan look_up = {
		.command = "SELECT c FROM yquota_internal.project_credit AS c WHERE c.project = $1",
		.types = {"text"},
		.plans_once = true,
		.skips_empty = true
	};

	return read_row(&look_up, &project, snapshot);
}

/* lock_credit(project): see sql/charging/180_hold.sql */
Datum
yq_sql_lock_credit(PG_FUNCTION_ARGS)
{
	text	   *project = PG_GETARG_TEXT_PP(0);
	Snapshot	snapshot;
	Datum		credit;
	Datum		available = (Datum) 0;
	bool		isnull = true;

	PreventCommandIfReadOnly("changes of holds");
	lock_ancestors(PointerGetDatum(project));
	lock_project(project);
	snapshot = yq_latest_snapshot();
	credit = read_credit(PointerGetDatum(project), snapshot);
	UnregisterSnapshot(snapshot);
	if (credit != (Datum) 0)
		available = GetAttributeByName(DatumGetHeapTupleHeader(credit), "available", &isnull);
	if (isnull)
		PG_RETURN_NULL();
	PG_RETURN_DATUM(available);
}

/* find_hold(project, external_id): see sql/charging/180_hold.sql */
Datum
yq_sql_find_hold(PG_FUNCTION_ARGS)
{
	static YqSavedPlan look_up = {
		.command = "SELECT h FROM yquota.hold AS h WHERE h.project = $1 AND h.external_id = $2",
		.types = {"text", "text"}
	};
	Datum		values[] = {PG_GETARG_DATUM(0), PG_GETARG_DATUM(1)};
	Snapshot	snapshot = yq_latest_snapshot();
	Datum		hold = read_row(&look_up, values, snapshot);

	UnregisterSnapshot(snapshot);
	if (hold == (Datum) 0)
		PG_RETURN_NULL();
	PG_RETURN_DATUM(hold);
}

/* -- readers --------------------------------------------------------------- */

/*
 * The number of projects that a query reads one by one.  For the next project, the query reads
 * all projects at once.
 */
#define SINGLE_PROJECTS 2

typedef struct ProjectCredit
{
	YqBytes		key;			/* name of the project */
	Datum		credit;
} ProjectCredit;

/* State of a query that calls credit_of(). */
typedef struct CreditReader
{
	int			asked;
	HTAB	   *credits;		/* credit of all projects; NULL until all projects are read */
} CreditReader;

static HTAB *
read_all(MemoryContext context)
{
	HTAB	   *credits = yq_bytes_table_create("yquota credits", sizeof(ProjectCredit), context);
	MemoryContext spi;

	uint64		rows;

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	rows = yq_saved_plan_read_once("SELECT c.project, c FROM yquota_internal.project_credit AS c");
	spi = MemoryContextSwitchTo(context);
	for (uint64 i = 0; i < rows; i++)
	{
		bool		ignored;
		Datum		project = SPI_getbinval(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, 1, &ignored);
		Datum		credit = SPI_getbinval(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, 2, &ignored);
		ProjectCredit *entry = yq_bytes_table_enter(credits, yq_bytes_of_varlena(DatumGetTextPP(project)), context, &ignored);

		CHECK_FOR_INTERRUPTS();
		entry->credit = datumCopy(credit, false, -1);
	}
	MemoryContextSwitchTo(spi);
	SPI_finish();
	return credits;
}

/*
 * credit_of(project): see sql/charging/280_reports.sql.  For a single project, a saved plan takes
 * less time than planning the view.  For many projects, the counters are read only once.
 */
Datum
yq_sql_credit_of(PG_FUNCTION_ARGS)
{
	CreditReader *reader = fcinfo->flinfo->fn_extra;
	ProjectCredit *found;
	Datum		credit;

	if (reader == NULL)
		fcinfo->flinfo->fn_extra = reader = MemoryContextAllocZero(fcinfo->flinfo->fn_mcxt, sizeof(CreditReader));
	if (reader->asked++ < SINGLE_PROJECTS)
		credit = read_credit(PG_GETARG_DATUM(0), GetActiveSnapshot());
	else
	{
		if (reader->credits == NULL)
			reader->credits = read_all(fcinfo->flinfo->fn_mcxt);
		found = yq_bytes_table_find(reader->credits, yq_bytes_of_varlena(PG_GETARG_TEXT_PP(0)));
		credit = found == NULL ? (Datum) 0 : found->credit;
	}
	if (credit == (Datum) 0)
		PG_RETURN_NULL();
	PG_RETURN_DATUM(credit);
}

/* -- verify sql ---------------------------------------------------------------- */

/*
 * C functions of verify(), which are called once per ledger row and once per remembered value
 * (docs/design.md 1.9).  The queries are in sql/charging/430_verify.sql.
 *
 * These functions share no code with charging, except for the computation of costs, which SQL can
 * call through pricing_sql.c.  Checking a row of the ledger would need three calls of these
 * functions from SQL. Because the ledger is long, is_due() makes the check in a single call.
 */

PG_FUNCTION_INFO_V1(yq_sql_is_due);
PG_FUNCTION_INFO_V1(yq_sql_last_known_step);

/* Arguments of is_due(). */
enum
{
	DUE_PROJECT,
	DUE_APPLICATION_ID,
	DUE_USERNAME,
	DUE_QUEUE,
	DUE_NODE,
	DUE_EXECUTION_TYPE,
	DUE_ALLOCATION,
	DUE_FROM,
	DUE_TO,
	DUE_AMOUNT,
	DUE_DOMINANT
};

static const text *
due_node(FunctionCallInfo fcinfo)
{
	return PG_ARGISNULL(DUE_NODE) ? NULL : PG_GETARG_TEXT_PP(DUE_NODE);
}

/* Return the names of factors and outages that apply, or NULL when there are none. */
static ArrayType *
factors_of_arguments(FunctionCallInfo fcinfo)
{
	YqPayer		payer = {0};

	if (!yq_factors_exist())
		return NULL;
	payer.project = yq_text_argument(fcinfo, DUE_PROJECT);
	payer.application_id = yq_text_argument(fcinfo, DUE_APPLICATION_ID);
	payer.username = yq_text_argument(fcinfo, DUE_USERNAME);
	payer.queue = yq_text_argument(fcinfo, DUE_QUEUE);
	payer.label = yq_node_label_at(due_node(fcinfo), PG_GETARG_TIMESTAMPTZ(DUE_FROM));
	payer.execution_type =
		DatumGetCString(DirectFunctionCall1(enum_out, PG_GETARG_DATUM(DUE_EXECUTION_TYPE)));
	return yq_factor_names(&payer);
}

/*
 * is_due(project, application_id, username, queue, node, execution_type, allocation, from_at,
 * to_at, amount, dominant)
 *
 * It tells whether the amount is the cost of the interval for a container that does not wait and
 * whose node keeps its label.  Otherwise, or when there is nothing to compare, the result is
 * false.
 */
Datum
yq_sql_is_due(PG_FUNCTION_ARGS)
{
	static const int needed[] = {DUE_PROJECT, DUE_EXECUTION_TYPE, DUE_ALLOCATION,
	DUE_FROM, DUE_TO, DUE_AMOUNT};
	YqRateClass *rate_class;
	uint64		weight;
	YqWide		amount;
	const char *dominant;

	for (size_t i = 0; i < lengthof(needed); i++)
	{
		if (PG_ARGISNULL(needed[i]))
			PG_RETURN_BOOL(false);
	}
	if (TIMESTAMP_NOT_FINITE(PG_GETARG_TIMESTAMPTZ(DUE_FROM)) ||
		TIMESTAMP_NOT_FINITE(PG_GETARG_TIMESTAMPTZ(DUE_TO)))
		PG_RETURN_BOOL(false);

	(void) yq_rate_class_refresh();
	if (yq_node_label_next_change(due_node(fcinfo), PG_GETARG_TIMESTAMPTZ(DUE_FROM)) <= PG_GETARG_TIMESTAMPTZ(DUE_TO))
		PG_RETURN_BOOL(false);
	rate_class = yq_rate_class_require(PG_GETARG_YQ_RESOURCE_P(DUE_ALLOCATION),
									   factors_of_arguments(fcinfo), &weight);
	yq_rate_class_cost(rate_class, weight, PG_GETARG_TIMESTAMPTZ(DUE_FROM),
					   PG_GETARG_TIMESTAMPTZ(DUE_TO), &amount, &dominant);
	PG_RETURN_BOOL(yq_varlena_is(PG_ARGISNULL(DUE_DOMINANT) ? NULL : PG_GETARG_TEXT_PP(DUE_DOMINANT), dominant) &&
				   DatumGetBool(DirectFunctionCall2(numeric_eq,
													NumericGetDatum(yq_wide_to_numeric(&amount)),
													PG_GETARG_DATUM(DUE_AMOUNT))));
}

/*
 * Transition function of the aggregate last_known.  It is strict, so it is called only for values
 * that are not NULL. Each value replaces the previous one.
 */
Datum
yq_sql_last_known_step(PG_FUNCTION_ARGS)
{
	PG_RETURN_DATUM(PG_GETARG_DATUM(1));
}
