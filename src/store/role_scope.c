/*-------------------------------------------------------------------------
 *
 * role_scope.c
 *	  The acting role, and the projects that it may see.
 *
 * Row-level security rests on three SQL functions: policies and views compare a row's project with the
 * results of reads_all() and readable_projects().  Uncorrelated subqueries call these functions, so that the
 * server evaluates them once per query.  In a parallel query the leader evaluates them, because parallel
 * workers do not know the acting role.
 *
 * A report that reads tables closed to its caller runs as yquota's owner.  With SECURITY DEFINER
 * alone, the report would not know the calling role.  The public function is therefore a shell in C
 * that stores the calling role.  The shell then calls a function with the same arguments and the
 * suffix _as_owner.  This function is SECURITY DEFINER, and only the owner may call it.  Triggers
 * that record the role behind a change work the same way.
 *
 * A row of role_grant counts while the role has both the name and the OID that are stored in the
 * row.  The row therefore gives nothing to a new role with the name of a dropped role.  It also
 * gives nothing to a role that has the stored OID by chance after a restore.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "access/htup_details.h"
#include "access/parallel.h"
#include "catalog/namespace.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "commands/extension.h"
#include "commands/trigger.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "nodes/execnodes.h"
#include "store/catalog.h"
#include "store/role_scope.h"
#include "store/table_scan.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/guc_tables.h"
#include "utils/rel.h"
#include "utils/rls.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

/* The role that called the function which now runs as the owner; InvalidOid if no such function runs. */
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
yq_role_scope_check_attributable(const char *table_name)
{
	if (InSecurityRestrictedOperation())
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("cannot change table \"%s\" within security-restricted operation",
						table_name),
				 errdetail("Changes are recorded with the role that made them, which is not known there."),
				 errhint("Functions of indexes and materialized views must not change anything.")));
}

Oid
yq_role_scope_role(void)
{
	return OidIsValid(caller) ? caller : GetUserId();
}

Oid
yq_role_scope_sender(void)
{
	Oid			role = yq_role_scope_role();

	return role == yq_extension_owner() ? GetOuterUserId() : role;
}

/* The projects that a role may see, collected while tables are read. */
typedef struct Readable
{
	Oid			role;
	bool		all;
	ArrayBuildState *projects;
} Readable;

enum
{
	ALLOWED_ROLE_OID,
	ALLOWED_ROLE,
	ALLOWED_KIND,
	ALLOWED_PROJECT,
	ALLOWED_COLUMNS
};

static const char *const allowed_columns[ALLOWED_COLUMNS] = {
	[ALLOWED_ROLE_OID] = "role_oid",
	[ALLOWED_ROLE] = "role",
	[ALLOWED_KIND] = "kind",
	[ALLOWED_PROJECT] = "project",
};

/* Return the kind of access that a row of role_grant gives to a role, or NULL. */
static char *
allowed_kind(const YqRow *row, Oid role)
{
	bool		isnull;
	Oid			allowed_role = DatumGetObjectId(yq_row_value(row, ALLOWED_ROLE_OID, &isnull));
	char	   *name = GetUserNameFromId(allowed_role, true);

	if (name == NULL ||
		strcmp(name, NameStr(*DatumGetName(yq_row_value(row, ALLOWED_ROLE, &isnull)))) != 0 ||
		!has_privs_of_role(role, allowed_role))
		return NULL;
	return yq_row_text(row, ALLOWED_KIND);
}

static void
add_project(Readable *readable, const YqRow *row, int column)
{
	bool		isnull;
	Datum		project = yq_row_value(row, column, &isnull);

	if (!isnull)
		readable->projects = accumArrayResult(readable->projects, project, false, TEXTOID,
											  CurrentMemoryContext);
}

static void
add_allowed(const YqRow *row)
{
	Readable   *readable = row->argument;
	char	   *kind = allowed_kind(row, readable->role);

	if (kind == NULL)
		return;
	if (strcmp(kind, "viewer") == 0 || strcmp(kind, "admin") == 0)
		readable->all = true;
	add_project(readable, row, ALLOWED_PROJECT);
}

static void
add_descendant(const YqRow *row)
{
	add_project(row->argument, row, 0);
}

/* Add the descendants of projects, because a role that may see a project may also see its descendants. */
static void
add_descendants(Readable *readable, Snapshot snapshot)
{
	static const char *const columns[] = {"member"};
	int			granted = readable->projects->nelems;

	if (yq_table_has_no_pages(YQ_PROJECT_FAMILY))
		return;
	for (int i = 0; i < granted; i++)
		yq_table_scan_index(YQ_PROJECT_FAMILY, "project_family_ancestor_idx", snapshot,
							TextDatumGetCString(readable->projects->dvalues[i]), NULL,
							columns, lengthof(columns), add_descendant, readable);
}

/* Find the projects that a role may see, by the newest committed rows of role_grant. */
static Readable
find_readable(Oid role)
{
	Readable	readable = {.role = role};
	Snapshot	snapshot;

	if (IsParallelWorker())
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("the projects of a role cannot be read in a parallel worker")));
	if (has_bypassrls_privilege(role) || has_privs_of_role(role, yq_extension_owner()))
	{
		readable.all = true;
		return readable;
	}

	snapshot = yq_latest_snapshot();
	yq_table_scan(YQ_ROLE_GRANT, snapshot, allowed_columns, ALLOWED_COLUMNS, add_allowed, &readable);
	if (!readable.all && readable.projects != NULL)
		add_descendants(&readable, snapshot);
	UnregisterSnapshot(snapshot);
	return readable;
}

bool
yq_role_scope_reads_all(Oid role)
{
	return find_readable(role).all;
}

/* The kind of access that is searched for in the grants of a role. */
typedef struct WantedKind
{
	Oid			role;
	const char *kind;
	bool		is_granted;
} WantedKind;

static void
compare_allowed(const YqRow *row)
{
	WantedKind *wanted = row->argument;
	char	   *kind = allowed_kind(row, wanted->role);

	wanted->is_granted |= kind != NULL && strcmp(kind, wanted->kind) == 0;
}

/* Read the whole table for each call, because the table is small. */
bool
yq_role_scope_acts_as(Oid role, const char *kind)
{
	WantedKind	wanted = {.role = role, .kind = kind};

	if (has_privs_of_role(role, yq_extension_owner()))
		return true;
	yq_table_scan(YQ_ROLE_GRANT, NULL, allowed_columns, ALLOWED_COLUMNS, compare_allowed, &wanted);
	return wanted.is_granted;
}

bool
yq_role_scope_is_trusted(Oid role)
{
	return role == yq_extension_owner() || superuser_arg(role);
}

PG_FUNCTION_INFO_V1(yq_sql_is_trusted);

/* is_trusted(role) */
Datum
yq_sql_is_trusted(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(yq_role_scope_is_trusted(PG_GETARG_OID(0)));
}

PG_FUNCTION_INFO_V1(yq_sql_reads_all);

/* reads_all() tells whether the calling role may see every project. */
Datum
yq_sql_reads_all(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(yq_role_scope_reads_all(yq_role_scope_role()));
}

PG_FUNCTION_INFO_V1(yq_sql_readable_projects);

/*
 * readable_projects() returns the projects that were granted to the calling role individually, and
 * their descendants.
 */
Datum
yq_sql_readable_projects(PG_FUNCTION_ARGS)
{
	Readable	readable = find_readable(yq_role_scope_role());

	if (readable.projects == NULL)
		PG_RETURN_ARRAYTYPE_P(construct_empty_array(TEXTOID));
	PG_RETURN_DATUM(makeArrayResult(readable.projects, CurrentMemoryContext));
}

PG_FUNCTION_INFO_V1(yq_sql_acts_as);

/* acts_as(kind) tells whether the calling role has this kind of access or is the owner. */
Datum
yq_sql_acts_as(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(yq_role_scope_acts_as(yq_role_scope_role(), text_to_cstring(PG_GETARG_TEXT_PP(0))));
}

PG_FUNCTION_INFO_V1(yq_sql_acting_role);

/* acting_role(): the name of the calling role */
Datum
yq_sql_acting_role(PG_FUNCTION_ARGS)
{
	Name		name = palloc0(sizeof(NameData));

	namestrcpy(name, GetUserNameFromId(yq_role_scope_role(), false));
	PG_RETURN_NAME(name);
}

PG_FUNCTION_INFO_V1(yq_sql_sending_role);

/*
 * sending_role(): the name of the calling role, or of the session's current role if yquota's owner
 * runs the statement
 */
Datum
yq_sql_sending_role(PG_FUNCTION_ARGS)
{
	Name		name = palloc0(sizeof(NameData));

	namestrcpy(name, GetUserNameFromId(yq_role_scope_sender(), false));
	PG_RETURN_NAME(name);
}

static const struct config_generic *
find_setting(const char *name)
{
#ifdef YQ_FIND_OPTION
	return find_option(name, false, true, ERROR);
#else
	struct config_generic **settings = get_guc_variables();

	for (int i = 0; i < GetNumConfigOptions(); i++)
	{
		if (strcmp(settings[i]->name, name) == 0)
			return settings[i];
	}
	return NULL;
#endif
}

/* Tell whether the session itself has assigned a value to a setting. */
static bool
is_set_by_session(const char *name)
{
	const struct config_generic *setting = find_setting(name);

	return setting != NULL && setting->source == PGC_S_SESSION;
}

/*
 * Check for the settings that a dump makes first.  A dump always sets row_security, but
 * --enable-row-security sets it to on.  While a session restores a dump, CREATE EXTENSION and
 * functions of indexes may insert rows that are not in the dump.  These rows do not count as
 * restored.
 */
bool
yq_role_scope_is_restoring(void)
{
	Oid			owner;

	if (creating_extension || check_function_bodies || client_min_messages != WARNING ||
		InSecurityRestrictedOperation() || !is_set_by_session("row_security"))
		return false;
	owner = yq_extension_owner();
	return has_privs_of_role(GetSessionUserId(), owner) && has_privs_of_role(yq_role_scope_role(), owner);
}

PG_FUNCTION_INFO_V1(yq_sql_restoring);

/* restoring() */
Datum
yq_sql_restoring(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(yq_role_scope_is_restoring());
}

/* Return the function that a shell calls. */
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

/* Call a function on behalf of the calling role. */
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

/* Call the function behind a shell.  All shells are declared with this C function. */
Datum
yq_sql_run_as_owner(PG_FUNCTION_ARGS)
{
	LOCAL_FCINFO(behind, FUNC_MAX_ARGS);
	ReturnSetInfo *rows = NULL;
	int			modes = 0;
	Datum		result;

	if (CALLED_AS_TRIGGER(fcinfo))
		yq_role_scope_check_attributable(RelationGetRelationName(((TriggerData *) fcinfo->context)->tg_relation));
	if (fcinfo->flinfo->fn_extra == NULL)
	{
		FmgrInfo   *function = MemoryContextAlloc(fcinfo->flinfo->fn_mcxt, sizeof(FmgrInfo));

		fmgr_info_cxt(function_behind(fcinfo->flinfo->fn_oid), function, fcinfo->flinfo->fn_mcxt);
		fcinfo->flinfo->fn_extra = function;
	}
	InitFunctionCallInfoData(*behind, (FmgrInfo *) fcinfo->flinfo->fn_extra, fcinfo->nargs,
							 fcinfo->fncollation, fcinfo->context, fcinfo->resultinfo);
	memcpy(behind->args, fcinfo->args, sizeof(NullableDatum) * fcinfo->nargs);
	/* FROM passes a ReturnSetInfo for every function, including functions that return a single value */
	if (behind->flinfo->fn_retset)
	{
		/* return all rows in one call, because the acting role is known only during this call */
		rows = (ReturnSetInfo *) fcinfo->resultinfo;
		if (rows == NULL || !IsA(rows, ReturnSetInfo) || (rows->allowedModes & SFRM_Materialize) == 0)
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("set-valued function called in context that cannot accept a set")));
		modes = rows->allowedModes;
		/* functions in SQL require SFRM_ValuePerCall, but use the preferred SFRM_Materialize */
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
