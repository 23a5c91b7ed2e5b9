/*-------------------------------------------------------------------------
 *
 * copy_out.c
 *	  Inserts rows that only yquota's owner may read, as the calling role.
 *
 * archive() reads tables on which its caller has no privileges, and writes to a table of the
 * caller's choice.  The triggers, defaults and foreign server of that table must not run with the
 * owner's privileges.  The owner therefore reads the rows into a tuplestore, which spills to disk,
 * and the caller inserts them from there.  yq_role_scope_role() returns the caller, which the
 * wrapper of archive() has stored.  The session user and the role of SET ROLE may have more
 * privileges.  For example, when autovacuum runs the function of an index, the session user is a
 * superuser.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "executor/spi.h"
#include "executor/tstoreReceiver.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "store/role_scope.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/queryenvironment.h"
#include "utils/syscache.h"
#include "utils/tuplestore.h"

/* The name under which the inserting command reads the rows. */
#define SOURCE_NAME "yquota_archived"

static void
refuse_query(const char *query)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("could not read \"%s\"", query),
			 errdetail("Only a SELECT returns rows to be copied.")));
}

/*
 * Prevent the table from being dropped or renamed until the transaction ends.  Check that it has
 * not been dropped since the caller looked it up.
 */
static void
lock_target(Oid target)
{
	LockRelationOid(target, RowExclusiveLock);
	if (!SearchSysCacheExists1(RELOID, ObjectIdGetDatum(target)))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("relation with OID %u does not exist", target)));
}

/* Run a query and store its rows.  Returns the number of rows. */
static uint64
read_copied_rows(const char *query, Tuplestorestate *rows)
{
	SPIExecuteOptions options = {0};
	DestReceiver *receiver = CreateTuplestoreDestReceiver();
	int			result;

	SetTuplestoreDestReceiverParams(receiver, rows, CurrentMemoryContext, false, NULL, NULL);
	options.dest = receiver;
	options.read_only = false;
	result = SPI_execute_extended(query, &options);
	if (result != SPI_OK_SELECT)
		refuse_query(query);
	receiver->rDestroy(receiver);
	return SPI_processed;
}

/* Return the descriptor of the columns that a query returns. */
static TupleDesc
columns_of(const char *query)
{
	int			result = SPI_execute(psprintf("SELECT * FROM (%s) AS q LIMIT 0", query), true, 0);

	if (result != SPI_OK_SELECT)
		refuse_query(query);
	return CreateTupleDescCopy(SPI_tuptable->tupdesc);
}

/* Give the rows a name that later commands can use. */
static void
name_rows(Tuplestorestate *rows, uint64 count, TupleDesc columns)
{
	EphemeralNamedRelation source = palloc0(sizeof(EphemeralNamedRelationData));
	int			result;

	source->md.name = pstrdup(SOURCE_NAME);
	source->md.reliddesc = InvalidOid;
	source->md.tupdesc = columns;
	source->md.enrtype = ENR_NAMED_TUPLESTORE;
	source->md.enrtuples = (double) count;
	source->reldata = rows;
	result = SPI_register_relation(source);
	if (result != SPI_OK_REL_REGISTER)
		elog(ERROR, "could not name rows: %s", SPI_result_code_string(result));
}

/*
 * Run a command as a role.  Returns the result of SPI_execute().  If "only_reads" is set, the
 * command uses the snapshot of the calling statement, and its changes of settings are undone.  If
 * these changes lasted, functions of an archive's owner could set the search path of a superuser
 * who reads a report.
 */
static int
run_as(Oid role, const char *command, bool only_reads)
{
	Oid			owner;
	Oid			forgotten = yq_role_scope_forget();
	int			context;
	int			settings = only_reads ? NewGUCNestLevel() : 0;
	volatile int result = 0;

	GetUserIdAndSecContext(&owner, &context);
	SetUserIdAndSecContext(role, context | SECURITY_LOCAL_USERID_CHANGE | (only_reads ? SECURITY_RESTRICTED_OPERATION : 0));
	PG_TRY();
	{
		result = SPI_execute(command, only_reads, 0);
	}
	PG_FINALLY();
	{
		yq_role_scope_restore(forgotten);
	}
	PG_END_TRY();
	if (only_reads)
		AtEOXact_GUC(false, settings);
	SetUserIdAndSecContext(owner, context);
	if (result < 0)
		elog(ERROR, "could not run \"%s\": %s", command, SPI_result_code_string(result));
	return result;
}

static uint64
insert_copied_rows(const char *target, const char *columns, const char *source)
{
	const char *command = psprintf("INSERT INTO %s (%s) OVERRIDING SYSTEM VALUE SELECT %s FROM %s",
								   target, columns, columns, source);

	if (run_as(yq_role_scope_role(), command, false) != SPI_OK_INSERT)
		elog(ERROR, "\"%s\" inserted nothing", command);
	return SPI_processed;
}

/*
 * Insert rows by way of a temporary table.  Citus plans an INSERT ... SELECT a second time, and
 * this plan cannot read a named tuplestore.
 */
static uint64
insert_staged_rows(const char *target, const char *columns)
{
	uint64		inserted;

	run_as(yq_role_scope_role(), "CREATE TEMPORARY TABLE " SOURCE_NAME " AS SELECT * FROM " SOURCE_NAME, false);
	inserted = insert_copied_rows(target, columns, "pg_temp." SOURCE_NAME);
	run_as(yq_role_scope_role(), "DROP TABLE pg_temp." SOURCE_NAME, false);
	return inserted;
}

PG_FUNCTION_INFO_V1(yq_sql_copy_out);

/* copy_out(query text, target regclass, columns text, is_staged boolean) */
Datum
yq_sql_copy_out(PG_FUNCTION_ARGS)
{
	char	   *query = text_to_cstring(PG_GETARG_TEXT_PP(0));
	Oid			target = PG_GETARG_OID(1);
	char	   *columns = text_to_cstring(PG_GETARG_TEXT_PP(2));
	bool		is_staged = PG_GETARG_BOOL(3);
	char	   *target_name;
	Tuplestorestate *rows;
	uint64		read;
	uint64		inserted;

	lock_target(target);
	target_name = quote_qualified_identifier(get_namespace_name(get_rel_namespace(target)), get_rel_name(target));
	SPI_connect();
	rows = tuplestore_begin_heap(false, false, work_mem);
	read = read_copied_rows(query, rows);
	name_rows(rows, read, columns_of(query));
	if (is_staged)
		inserted = insert_staged_rows(target_name, columns);
	else
		inserted = insert_copied_rows(target_name, columns, SOURCE_NAME);
	if (inserted != read)
		ereport(ERROR,
				(errcode(ERRCODE_TRIGGERED_DATA_CHANGE_VIOLATION),
				 errmsg("table \"%s\" did not take every row", get_rel_name(target)),
				 errdetail("The table was given " UINT64_FORMAT " rows and stored " UINT64_FORMAT " rows.",
						   read, inserted),
				 errhint("Remove the triggers and rules of the table that leave rows out.")));
	tuplestore_end(rows);
	SPI_finish();
	PG_RETURN_INT64((int64) inserted);
}

PG_FUNCTION_INFO_V1(yq_sql_run_as);

/* run_as(role name, command text, only_reads boolean) */
Datum
yq_sql_run_as(PG_FUNCTION_ARGS)
{
	MemoryContext caller = CurrentMemoryContext;
	Oid			role = get_role_oid(NameStr(*PG_GETARG_NAME(0)), false);
	char	   *value = NULL;

	SPI_connect();
	if (run_as(role, text_to_cstring(PG_GETARG_TEXT_PP(1)), PG_GETARG_BOOL(2)) == SPI_OK_SELECT && SPI_processed > 0)
	{
		MemoryContext spi = MemoryContextSwitchTo(caller);

		value = SPI_getvalue(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1);
		MemoryContextSwitchTo(spi);
	}
	SPI_finish();
	if (value == NULL)
		PG_RETURN_NULL();
	PG_RETURN_TEXT_P(cstring_to_text(value));
}
