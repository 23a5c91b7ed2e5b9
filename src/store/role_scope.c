/*-------------------------------------------------------------------------
 *
 * role_scope.c
 *	  Who asks, and whose projects he may see.
 *
 * Three SQL functions are the whole of row-level security: policies and views
 * compare a row's project with what reads_all() and readable_projects() say.
 * They stand in uncorrelated subqueries there, so that they are evaluated once
 * per query, by the leader of a parallel one: its workers do not know who asks.
 *
 * A report that reads what its caller has no right on runs as yquota's owner.
 * SECURITY DEFINER alone would make it forget who called; so the function that
 * people call is a shell in C, which notes the caller and then calls the
 * function of the same name and arguments with the suffix _as_owner, a SECURITY
 * DEFINER function that nobody else may call.  The same serves triggers that
 * have to tell who changed a row.
 *
 * A row of role_grant counts while the role has both the name and the OID that
 * it had: neither a role made anew under an old name nor, after a restore, one
 * that happens to have the OID inherits anything.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/parallel.h"
#include "access/stratnum.h"
#include "access/table.h"
#include "access/tableam.h"
#include "catalog/namespace.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "commands/extension.h"
#include "commands/trigger.h"
#include "executor/tuptable.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "nodes/execnodes.h"
#include "store/catalog.h"
#include "store/role_scope.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/guc.h"
#include "utils/rel.h"
#include "utils/rls.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

/* Who called the function that runs as the owner now; InvalidOid if none does. */
static Oid	caller = InvalidOid;

Oid
yq_role_scope_forget(void)
{
	Oid			forgotten = caller;

	caller = InvalidOid;
	return forgotten;
}

void
yq_role_scope_restore(Oid forgotten)
{
	caller = forgotten;
}

void
yq_check_attributable(const char *table_name)
{
	if (InSecurityRestrictedOperation())
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("cannot change table \"%s\" within security-restricted operation",
						table_name),
				 errdetail("Changes are recorded with who made them, which is not known there."),
				 errhint("Functions of indexes and materialized views must not change anything.")));
}

typedef struct Readable
{
	bool		all;
	ArrayBuildState *projects;
} Readable;

Oid
yq_role_scope_role(void)
{
	return OidIsValid(caller) ? caller : GetUserId();
}

/* The kind that a row of role_grant makes the reader, or NULL. */
static char *
granted_kind(Relation relation, TupleTableSlot *slot, Oid reader)
{
	bool		isnull;
	Oid			role = DatumGetObjectId(slot_getattr(slot, yq_column(relation, "role_oid"), &isnull));
	char	   *name = GetUserNameFromId(role, true);
	Datum		value = slot_getattr(slot, yq_column(relation, "role"), &isnull);

	if (name == NULL || strcmp(name, NameStr(*DatumGetName(value))) != 0 ||
		!has_privs_of_role(reader, role))
		return NULL;
	return TextDatumGetCString(slot_getattr(slot, yq_column(relation, "kind"), &isnull));
}

static void
add_grant(Readable *readable, Relation relation, TupleTableSlot *slot, Oid reader)
{
	char	   *kind = granted_kind(relation, slot, reader);
	bool		isnull;
	Datum		value;

	if (kind == NULL)
		return;
	if (strcmp(kind, "viewer") == 0 || strcmp(kind, "admin") == 0)
		readable->all = true;
	value = slot_getattr(slot, yq_column(relation, "project"), &isnull);
	if (!isnull)
		readable->projects = accumArrayResult(readable->projects, value, false, TEXTOID,
											  CurrentMemoryContext);
}

/* Whoever may see a project may see all that descend from it. */
static void
add_descendants(Readable *readable, Snapshot snapshot)
{
	Relation	relation;
	Oid			index;
	int			granted = readable->projects->nelems;
	int			i;

	if (yq_table_has_no_pages(YQ_PROJECT_FAMILY))
		return;
	relation = yq_table_open(YQ_PROJECT_FAMILY, AccessShareLock);
	index = yq_index_oid(YQ_PROJECT_FAMILY, "project_family_ancestor_idx");
	for (i = 0; i < granted; i++)
	{
		SysScanDesc scan;
		ScanKeyData key;
		HeapTuple	tuple;

		ScanKeyInit(&key, yq_column(relation, "ancestor"), BTEqualStrategyNumber, F_TEXTEQ,
					readable->projects->dvalues[i]);
		scan = systable_beginscan(relation, index, true, snapshot, 1, &key);
		while (HeapTupleIsValid(tuple = systable_getnext(scan)))
		{
			bool		isnull;
			Datum		member = heap_getattr(tuple, yq_column(relation, "member"),
											  RelationGetDescr(relation), &isnull);

			readable->projects = accumArrayResult(readable->projects, member, isnull, TEXTOID,
												  CurrentMemoryContext);
		}
		systable_endscan(scan);
	}
	table_close(relation, AccessShareLock);
}

/* What a role may see, by the newest committed grants. */
static Readable
find_readable(Oid reader)
{
	Readable	readable = {.all = false, .projects = NULL};
	Relation	relation;
	Snapshot	snapshot;
	TableScanDesc scan;
	TupleTableSlot *slot;

	if (IsParallelWorker())
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("what a role may read cannot be found out in a parallel worker")));
	if (has_bypassrls_privilege(reader) || has_privs_of_role(reader, yq_extension_owner()))
	{
		readable.all = true;
		return readable;
	}

	relation = yq_table_open(YQ_ROLE_GRANT, AccessShareLock);
	snapshot = yq_latest_snapshot();
	slot = table_slot_create(relation, NULL);
	scan = table_beginscan(relation, snapshot, 0, NULL);
	while (!readable.all && table_scan_getnextslot(scan, ForwardScanDirection, slot))
		add_grant(&readable, relation, slot, reader);
	table_endscan(scan);
	ExecDropSingleTupleTableSlot(slot);
	if (!readable.all && readable.projects != NULL)
		add_descendants(&readable, snapshot);
	UnregisterSnapshot(snapshot);
	table_close(relation, AccessShareLock);
	return readable;
}

bool
yq_reads_all(Oid role)
{
	return find_readable(role).all;
}

/* Rows of role_grant are few, and read whenever somebody asks. */
bool
yq_acts_as(Oid role, const char *kind)
{
	Relation	relation;
	Snapshot	snapshot;
	TableScanDesc scan;
	TupleTableSlot *slot;
	bool		found = false;

	if (has_privs_of_role(role, yq_extension_owner()))
		return true;
	relation = yq_table_open(YQ_ROLE_GRANT, AccessShareLock);
	snapshot = yq_latest_snapshot();
	slot = table_slot_create(relation, NULL);
	scan = table_beginscan(relation, snapshot, 0, NULL);
	while (!found && table_scan_getnextslot(scan, ForwardScanDirection, slot))
	{
		char	   *granted = granted_kind(relation, slot, role);

		found = granted != NULL && strcmp(granted, kind) == 0;
	}
	table_endscan(scan);
	ExecDropSingleTupleTableSlot(slot);
	UnregisterSnapshot(snapshot);
	table_close(relation, AccessShareLock);
	return found;
}

PG_FUNCTION_INFO_V1(yq_sql_reads_all);

/* reads_all(): whether whoever asks may see every project */
Datum
yq_sql_reads_all(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(yq_reads_all(yq_role_scope_role()));
}

PG_FUNCTION_INFO_V1(yq_sql_readable_projects);

/* readable_projects(): those that are granted one by one, and what descends from them */
Datum
yq_sql_readable_projects(PG_FUNCTION_ARGS)
{
	Readable	readable = find_readable(yq_role_scope_role());

	if (readable.projects == NULL)
		PG_RETURN_ARRAYTYPE_P(construct_empty_array(TEXTOID));
	PG_RETURN_DATUM(makeArrayResult(readable.projects, CurrentMemoryContext));
}

PG_FUNCTION_INFO_V1(yq_sql_acts_as);

/* acts_as(kind): whether whoever asks is a role of that kind, or the owner */
Datum
yq_sql_acts_as(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(yq_acts_as(yq_role_scope_role(), text_to_cstring(PG_GETARG_TEXT_PP(0))));
}

PG_FUNCTION_INFO_V1(yq_sql_acting_role);

/* acting_role(): who asks, as a name */
Datum
yq_sql_acting_role(PG_FUNCTION_ARGS)
{
	Name		name = palloc0(sizeof(NameData));

	namestrcpy(name, GetUserNameFromId(yq_role_scope_role(), false));
	PG_RETURN_NAME(name);
}

/*
 * CREATE EXTENSION in a session that restores a dump inserts rows of its own,
 * and so may the function of an index that the session builds: neither are
 * rows of the dump.
 */
bool
yq_is_restoring(void)
{
	Oid			owner;

	if (creating_extension || check_function_bodies || row_security || client_min_messages != WARNING ||
		InSecurityRestrictedOperation())
		return false;
	owner = yq_extension_owner();
	return has_privs_of_role(GetSessionUserId(), owner) && has_privs_of_role(yq_role_scope_role(), owner);
}

PG_FUNCTION_INFO_V1(yq_sql_restoring);

/* restoring() */
Datum
yq_sql_restoring(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(yq_is_restoring());
}

/* The function that a shell stands for. */
static Oid
function_behind(Oid shell)
{
	HeapTuple	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(shell));
	Form_pg_proc form;
	Oid			found;
	char	   *name;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for function %u", shell);
	form = (Form_pg_proc) GETSTRUCT(tuple);
	name = psprintf("%s_as_owner", NameStr(form->proname));
	found = GetSysCacheOid3(PROCNAMEARGSNSP, Anum_pg_proc_oid, CStringGetDatum(name),
							PointerGetDatum(&form->proargtypes),
							ObjectIdGetDatum(get_namespace_oid("yquota_internal", false)));
	ReleaseSysCache(tuple);
	if (!OidIsValid(found))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("function \"yquota_internal.%s\" does not exist", name)));
	return found;
}

/* Call a function and let it know who asks. */
static Datum
call_for(Oid reader, FunctionCallInfo call)
{
	Oid			outer_caller = caller;
	Datum		result;

	caller = reader;
	PG_TRY();
	{
		result = FunctionCallInvoke(call);
	}
	PG_FINALLY();
	{
		caller = outer_caller;
	}
	PG_END_TRY();
	return result;
}

PG_FUNCTION_INFO_V1(yq_sql_run_as_owner);

/* Every shell: call the function behind it. */
Datum
yq_sql_run_as_owner(PG_FUNCTION_ARGS)
{
	LOCAL_FCINFO(behind, FUNC_MAX_ARGS);
	ReturnSetInfo *rows = NULL;
	int			modes = 0;
	Datum		result;

	if (CALLED_AS_TRIGGER(fcinfo))
		yq_check_attributable(RelationGetRelationName(((TriggerData *) fcinfo->context)->tg_relation));
	if (fcinfo->flinfo->fn_extra == NULL)
	{
		FmgrInfo   *function = MemoryContextAlloc(fcinfo->flinfo->fn_mcxt, sizeof(FmgrInfo));

		fmgr_info_cxt(function_behind(fcinfo->flinfo->fn_oid), function, fcinfo->flinfo->fn_mcxt);
		fcinfo->flinfo->fn_extra = function;
	}
	InitFunctionCallInfoData(*behind, (FmgrInfo *) fcinfo->flinfo->fn_extra, fcinfo->nargs,
							 fcinfo->fncollation, fcinfo->context, fcinfo->resultinfo);
	memcpy(behind->args, fcinfo->args, sizeof(NullableDatum) * fcinfo->nargs);
	/* FROM passes a ReturnSetInfo for every function, also for one that returns a single value */
	if (behind->flinfo->fn_retset)
	{
		/* all rows at once: later ones would come when the caller is forgotten */
		rows = (ReturnSetInfo *) fcinfo->resultinfo;
		if (rows == NULL || !IsA(rows, ReturnSetInfo) || (rows->allowedModes & SFRM_Materialize) == 0)
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("set-valued function called in context that cannot accept a set")));
		modes = rows->allowedModes;
		/* functions in SQL insist on the first one and then keep to the last */
		rows->allowedModes = SFRM_ValuePerCall | SFRM_Materialize | SFRM_Materialize_Preferred;
	}
	result = call_for(GetUserId(), behind);
	if (rows != NULL)
	{
		rows->allowedModes = modes;
		if (rows->returnMode != SFRM_Materialize)
			elog(ERROR, "function %u did not return all of its rows", behind->flinfo->fn_oid);
	}
	fcinfo->isnull = behind->isnull;
	return result;
}
