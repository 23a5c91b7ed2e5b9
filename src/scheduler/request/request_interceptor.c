/*-------------------------------------------------------------------------
 *
 * request_interceptor.c
 *	  Functions that see a set of requests before it is decided.
 *
 * The list is that of the newest committed rows.  A function is looked up by its name at
 * each call, with the rights of the caller, so that one that was replaced since is the new
 * one.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "access/htup_details.h"
#include "access/xact.h"
#include "base/arguments.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type_d.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "parser/parse_func.h"
#include "scheduler/request/request_interceptor.h"
#include "store/catalog.h"
#include "store/role_scope.h"
#include "store/table_scan.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"
#include "utils/varlena.h"

/* -- the list ------------------------------------------------------------------------ */

typedef struct Registered
{
	int32		position;
	char	   *function;		/* qualified name, quoted where it needs to be */
} Registered;

static MemoryContext list_context = NULL;
static List *registered = NIL;	/* of Registered, in order */
static bool is_current = false;

static int
compare_positions(const ListCell *a, const ListCell *b)
{
	int32		left = ((const Registered *) lfirst(a))->position;
	int32		right = ((const Registered *) lfirst(b))->position;

	return left < right ? -1 : left > right;
}

static void
add_registered(const YqRow *row)
{
	MemoryContext old_context = MemoryContextSwitchTo(list_context);
	Registered *found = palloc(sizeof(Registered));

	found->position = yq_row_integer(row, 0, 0);
	found->function = yq_row_text(row, 1);
	registered = lappend(registered, found);
	MemoryContextSwitchTo(old_context);
}

static void
read_list(void)
{
	static const char *const columns[] = {"position", "function"};
	Snapshot	snapshot;

	if (list_context == NULL)
		list_context = AllocSetContextCreate(CacheMemoryContext, "yquota request interceptors", ALLOCSET_SMALL_SIZES);
	MemoryContextReset(list_context);
	registered = NIL;

	/*
	 * A change that comes while the table is read sets it back, an error as well.  A
	 * parallel plan may read rows that are older than an invalidation that has been
	 * received already.
	 */
	is_current = !IsInParallelMode();
	snapshot = yq_latest_snapshot();
	yq_table_scan(YQ_REQUEST_INTERCEPTOR, snapshot, columns, lengthof(columns), add_registered, NULL);
	UnregisterSnapshot(snapshot);
	list_sort(registered, compare_positions);
}

static void
watch_list(void)
{
	static bool is_watching = false;

	if (is_watching)
		return;
	yq_catalog_on_change_of_rows(YQ_REQUEST_INTERCEPTOR, &is_current);
	yq_catalog_on_abort(&is_current);
	is_watching = true;
}

bool
yq_request_interceptors_exist(void)
{
	watch_list();
	yq_catalog_accept_changes();
	if (!is_current)
		read_list();
	return registered != NIL;
}

/* -- one call ------------------------------------------------------------------------ */

static void
name_interceptor(void *function)
{
	errcontext("request interceptor %s", (const char *) function);
}

/* The function runs with the rights of the caller, and its owner may have changed since it was registered. */
static void
check_owner(Oid function, const char *name)
{
	HeapTuple	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	Oid			owner;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for function %u", function);
	owner = ((Form_pg_proc) GETSTRUCT(tuple))->proowner;
	ReleaseSysCache(tuple);
	if (!yq_role_scope_is_trusted(owner))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("function %s(text, yquota.container_request[]) belongs neither to the owner of yquota nor to a superuser", name),
				 errdetail("It would run with the rights of each role that asks for containers."),
				 errhint("Have a superuser look at it and own it, or delete its row of yquota.request_interceptor.")));
}

/* The function of that name for an application and requests; its owner is trusted, and the acting role may call it. */
static Oid
find_function(const char *name)
{
	Oid			arguments[] = {TEXTOID, get_array_type(yq_type_oid("container_request"))};
	Oid			function = LookupFuncName(textToQualifiedNameList(cstring_to_text(name)),
										  lengthof(arguments), arguments, true);
	AclResult	allowed;

	if (!OidIsValid(function) || get_func_rettype(function) != yq_type_oid("intercepted_requests") || get_func_retset(function))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_FUNCTION),
				 errmsg("function %s(text, yquota.container_request[]) does not exist, or does not return yquota.intercepted_requests", name),
				 errhint("Create it again, or delete its row of yquota.request_interceptor.")));
	check_owner(function, name);
	allowed = object_aclcheck(ProcedureRelationId, function, GetUserId(), ACL_EXECUTE);
	if (allowed != ACLCHECK_OK)
		aclcheck_error(allowed, OBJECT_FUNCTION, name);
	return function;
}

/* Attributes of yquota.intercepted_requests, in order. */
enum
{
	ATTRIBUTE_REQUESTS,
	ATTRIBUTE_REFUSED_BECAUSE,
	INTERCEPTED_ATTRIBUTES
};

static YqIntercepted
call_function(const char *name, const char *application_id, Datum requests)
{
	LOCAL_FCINFO(call, 2);
	FmgrInfo	function;
	Datum		result = (Datum) 0;
	Datum		values[INTERCEPTED_ATTRIBUTES];
	bool		nulls[INTERCEPTED_ATTRIBUTES] = {true, true};

	fmgr_info(find_function(name), &function);
	InitFunctionCallInfoData(*call, &function, 2, InvalidOid, NULL, NULL);
	call->args[0].isnull = application_id == NULL;
	call->args[0].value = application_id == NULL ? (Datum) 0 : CStringGetTextDatum(application_id);
	call->args[1].isnull = false;
	call->args[1].value = requests;
	call->isnull = function.fn_strict && application_id == NULL;
	if (!call->isnull)
		result = FunctionCallInvoke(call);
	if (!call->isnull)
		yq_row_attributes(DatumGetHeapTupleHeader(result), INTERCEPTED_ATTRIBUTES, values, nulls);
	if (nulls[ATTRIBUTE_REQUESTS] && nulls[ATTRIBUTE_REFUSED_BECAUSE])
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("function %s returned neither requests nor a reason to refuse them", name)));
	if (!nulls[ATTRIBUTE_REQUESTS] && array_contains_nulls(DatumGetArrayTypeP(values[ATTRIBUTE_REQUESTS])))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("requests must not contain nulls")));
	return (YqIntercepted) {
		.requests = nulls[ATTRIBUTE_REQUESTS] ? (Datum) 0 : values[ATTRIBUTE_REQUESTS],
		.reason = nulls[ATTRIBUTE_REFUSED_BECAUSE] ? NULL : TextDatumGetCString(values[ATTRIBUTE_REFUSED_BECAUSE]),
		.refused_by = nulls[ATTRIBUTE_REFUSED_BECAUSE] ? NULL : name
	};
}

/* An error ends the transaction or subtransaction, which puts the role back. */
static YqIntercepted
call_as_caller(const char *name, const char *application_id, Datum requests)
{
	ErrorContextCallback callback = {error_context_stack, name_interceptor, unconstify(char *, name)};
	Oid			own;
	Oid			caller = yq_role_scope_sender();
	Oid			forgotten;
	int			context;
	YqIntercepted intercepted;

	error_context_stack = &callback;
	if (InSecurityRestrictedOperation())
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("cannot call a request interceptor within security-restricted operation")));
	GetUserIdAndSecContext(&own, &context);
	SetUserIdAndSecContext(caller, context | SECURITY_LOCAL_USERID_CHANGE);
	forgotten = yq_role_scope_forget();
	PG_TRY();
	{
		intercepted = call_function(name, application_id, requests);
	}
	PG_FINALLY();
	{
		yq_role_scope_restore(forgotten);
	}
	PG_END_TRY();
	SetUserIdAndSecContext(own, context);
	error_context_stack = callback.previous;
	return intercepted;
}

YqIntercepted
yq_requests_intercept(const char *application_id, Datum requests)
{
	YqIntercepted intercepted = {.requests = requests};
	List	   *names = NIL;
	ListCell   *cell;

	/* the functions may change the list */
	if (yq_request_interceptors_exist())
	{
		foreach(cell, registered)
			names = lappend(names, pstrdup(((const Registered *) lfirst(cell))->function));
	}
	foreach(cell, names)
	{
		CHECK_FOR_INTERRUPTS();
		intercepted = call_as_caller(lfirst(cell), application_id, intercepted.requests);
		if (intercepted.reason != NULL)
			break;
	}
	return intercepted;
}
