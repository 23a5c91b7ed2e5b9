/*-------------------------------------------------------------------------
 *
 * saved_plan.c
 *	  SQL statements that the library runs often, and work that may fail while the
 *	  transaction continues.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "access/xact.h"
#include "catalog/namespace.h"
#include "catalog/pg_namespace_d.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "store/catalog.h"
#include "store/saved_plan.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/plancache.h"
#include "utils/resowner.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

/* -- attempt ------------------------------------------------------------------- */

/* Run work that may fail in a subtransaction. */

/* Tell whether the error was caused by rows, or by checks or triggers of rows. */
static bool
is_of_rows(int code)
{
	static const char *const classes[] = {"21", "22", "23", "42", "44", "54", "P0", "YQ"};
	const char *state = unpack_sql_state(code);

	for (int i = 0; i < (int) lengthof(classes); i++)
	{
		if (strncmp(state, classes[i], 2) == 0)
			return true;
	}
	return code == ERRCODE_CONFIGURATION_LIMIT_EXCEEDED || code == ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE;
}

static ErrorData *
attempt(void (*function) (void *), void *argument, bool is_dry)
{
	MemoryContext caller = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;
	ErrorData  *volatile error = NULL;

	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(caller);
	PG_TRY();
	{
		function(argument);
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(caller);
		error = CopyErrorData();
		FlushErrorState();
	}
	PG_END_TRY();
	if (error == NULL && !is_dry)
		ReleaseCurrentSubTransaction();
	else
		RollbackAndReleaseCurrentSubTransaction();
	MemoryContextSwitchTo(caller);
	CurrentResourceOwner = owner;
	if (error != NULL && !is_of_rows(error->sqlerrcode))
		ReThrowError(error);
	return error;
}

ErrorData *
yq_attempt(void (*function) (void *), void *argument)
{
	return attempt(function, argument, false);
}

ErrorData *
yq_attempt_dry(void (*function) (void *), void *argument)
{
	return attempt(function, argument, true);
}

/* -- saved plan ---------------------------------------------------------------- */

/*
 * Saved plans use indexes even while a table is small, because the plan is kept when the table
 * grows.
 *
 * Plans refer to tables and types by OID.  They are made again after an invalidation of the table
 * of applications.  Dropping and creating the extension sends such an invalidation.
 *
 * A plan may skip empty tables.  It is made again when one of these tables is not empty any more.
 * Starting plan nodes that find no rows would take longer than running the rest of the plan.
 */

PG_FUNCTION_INFO_V1(yq_sql_may_have_rows);

static uint64 generation = 0;
static bool is_current = false;

/* The tables for which may_have_rows() may be called. */
static const YqTable optional_tables[] = {YQ_PROJECT_FAMILY, YQ_EXPIRED_GRANT, YQ_HOLD, YQ_ACCRUING_RESERVATION};

/*
 * "is_planning" is true while a plan is made; an error sets it to false.  The plan skips the tables
 * whose bits are set in "left_out".  The bits are in the order of optional_tables.
 */
static bool is_planning = false;
static uint32 left_out = 0;

static void
note_generation(void)
{
	static bool is_watching = false;

	if (!is_watching)
	{
		yq_catalog_on_change(YQ_APPLICATION, &is_current);
		yq_catalog_on_abort(&is_planning);
		is_watching = true;
	}
	if (!is_current)
		generation++;
	is_current = true;
}

static Oid
find_parameter_type(const char *name)
{
	static const char own[] = "yquota.";
	Oid			type;

	if (strncmp(name, own, sizeof(own) - 1) == 0)
		return yq_type_oid(name + sizeof(own) - 1);
	type = GetSysCacheOid2(TYPENAMENSP, Anum_pg_type_oid, CStringGetDatum(name),
						   ObjectIdGetDatum(PG_CATALOG_NAMESPACE));
	if (!OidIsValid(type))
		elog(ERROR, "type \"%s\" does not exist", name);
	return type;
}

/*
 * Find the empty tables.  The caller has taken the snapshot before, so the plan need not see rows
 * that are inserted into these tables later.
 */
static uint32
find_empty_tables(void)
{
	uint32		empty = 0;

	for (int i = 0; i < (int) lengthof(optional_tables); i++)
		empty |= (uint32) yq_table_has_no_pages(optional_tables[i]) << i;
	return empty;
}

/* may_have_rows(table): see sql/store/050_readers.sql */
Datum
yq_sql_may_have_rows(PG_FUNCTION_ARGS)
{
	bool		may_have_rows = true;

	for (int i = 0; i < (int) lengthof(optional_tables); i++)
		may_have_rows &= !is_planning || (left_out >> i & 1) == 0 || yq_table_oid(optional_tables[i]) != PG_GETARG_OID(0);
	PG_RETURN_BOOL(may_have_rows);
}

/* Make the generic plan of a prepared statement, which skips the empty tables. */
static void
plan_without(SPIPlanPtr statement, uint32 empty, ResourceOwner owner)
{
	left_out = empty;
	is_planning = true;
	ReleaseCachedPlan(SPI_plan_get_cached_plan(statement), owner);
	is_planning = false;
}

static void
plan(YqSavedPlan *statement, uint32 empty)
{
	Oid			types[YQ_SAVED_PLAN_MAX_PARAMETERS];
	int			count = 0;

	if (statement->plan != NULL)
		SPI_freeplan(statement->plan);
	statement->plan = NULL;
	for (; count < YQ_SAVED_PLAN_MAX_PARAMETERS && statement->types[count] != NULL; count++)
		types[count] = find_parameter_type(statement->types[count]);
	statement->plan = SPI_prepare_cursor(statement->command, count, types,
										 statement->plans_once ? CURSOR_OPT_GENERIC_PLAN :
										 statement->plans_each_time ? CURSOR_OPT_CUSTOM_PLAN : 0);
	if (statement->plan == NULL || SPI_keepplan(statement->plan) != 0)
		elog(ERROR, "could not prepare \"%s\": %s", statement->command,
			 SPI_result_code_string(SPI_result));
	statement->generation = generation;
	if (!statement->skips_empty)
		return;
	statement->left_out = empty;
	plan_without(statement->plan, empty, CurrentResourceOwner);
}

static uint64
execute_saved_plan(YqSavedPlan *statement, Datum *values, const char *nulls, Snapshot snapshot, bool is_read_only)
{
	int			settings = NewGUCNestLevel();
	uint32		empty = statement->skips_empty ? find_empty_tables() : 0;
	int			result;

	note_generation();
	(void) set_config_option("enable_seqscan", "off", PGC_USERSET, PGC_S_SESSION,
							 GUC_ACTION_SAVE, true, 0, false);
	/*
	 * Switch off JIT compilation and parallel workers.  Disabled plan types have such a high cost
	 * that JIT compilation and parallel workers, even new ones for each row, would seem worth their
	 * cost.
	 */
	(void) set_config_option("jit", "off", PGC_USERSET, PGC_S_SESSION,
							 GUC_ACTION_SAVE, true, 0, false);
	(void) set_config_option("max_parallel_workers_per_gather", "0", PGC_USERSET, PGC_S_SESSION,
							 GUC_ACTION_SAVE, true, 0, false);
	if (statement->plan == NULL || statement->generation != generation ||
		(statement->skips_empty && (!SPI_plan_is_valid(statement->plan) || (statement->left_out & ~empty) != 0)))
		plan(statement, empty);
	result = SPI_execute_snapshot(statement->plan, values, nulls, snapshot, InvalidSnapshot,
								  is_read_only, true, 0);
	AtEOXact_GUC(true, settings);
	if (result < 0)
		elog(ERROR, "could not execute \"%s\": %s", statement->command, SPI_result_code_string(result));
	return SPI_processed;
}

uint64
yq_saved_plan_run(YqSavedPlan *statement, Datum *values, const char *nulls)
{
	Snapshot	snapshot = yq_latest_snapshot();
	uint64		processed = execute_saved_plan(statement, values, nulls, snapshot, false);

	UnregisterSnapshot(snapshot);
	CommandCounterIncrement();
	return processed;
}

uint64
yq_saved_plan_read(YqSavedPlan *statement, Datum *values, Snapshot snapshot)
{
	return execute_saved_plan(statement, values, NULL, snapshot, true);
}

/* Plan without a resource owner, because the server needs one only for saved plans. */
uint64
yq_saved_plan_read_once(const char *command)
{
	uint32		empty = find_empty_tables();
	SPIPlanPtr	statement = SPI_prepare(command, 0, NULL);
	int			result;

	if (statement == NULL)
		elog(ERROR, "could not prepare \"%s\": %s", command, SPI_result_code_string(SPI_result));
	note_generation();
	plan_without(statement, empty, NULL);
	result = SPI_execute_plan(statement, NULL, NULL, true, 0);
	if (result != SPI_OK_SELECT)
		elog(ERROR, "could not execute \"%s\": %s", command, SPI_result_code_string(result));
	SPI_freeplan(statement);
	return SPI_processed;
}

uint64
yq_saved_plan_execute(YqSavedPlan *statement, Datum *values, const char *nulls)
{
	uint64		processed;

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	processed = yq_saved_plan_run(statement, values, nulls);
	SPI_finish();
	return processed;
}

uint64
yq_saved_plans_execute(YqSavedPlan *statements, int count, Datum *values)
{
	uint64		processed;

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	processed = yq_saved_plan_run(&statements[0], values, NULL);
	for (int i = 1; i < count && processed > 0; i++)
		(void) yq_saved_plan_run(&statements[i], values, NULL);
	SPI_finish();
	return processed;
}

List *
yq_saved_plan_strings(YqSavedPlan *statement, Datum *values)
{
	MemoryContext caller = CurrentMemoryContext;
	List	   *strings = NIL;
	uint64		rows;

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	rows = yq_saved_plan_run(statement, values, NULL);
	for (uint64 i = 0; i < rows; i++)
	{
		char	   *string = SPI_getvalue(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, 1);
		MemoryContext old_context = MemoryContextSwitchTo(caller);

		CHECK_FOR_INTERRUPTS();
		strings = lappend(strings, pstrdup(string));
		MemoryContextSwitchTo(old_context);
	}
	SPI_finish();
	return strings;
}
