/*-------------------------------------------------------------------------
 *
 * request_interceptor.c
 *	  Interceptors: functions that check requests of application masters before the
 *	  decision, and responses before they are returned.
 *
 * A session reads the list of interceptors from the newest committed rows.  Each call looks up the
 * function by its name, with the rights of the caller.  A replaced function therefore takes effect
 * immediately.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "access/htup_details.h"
#include "access/xact.h"
#include "base/arguments.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type_d.h"
#include "executor/tuptable.h"
#include "fmgr.h"
#include "funcapi.h"
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
#include "utils/tuplestore.h"
#include "utils/typcache.h"
#include "utils/varlena.h"

/* -- the list ------------------------------------------------------------------------ */

typedef enum Kind
{
	INTERCEPTS_REQUESTS,
	INTERCEPTS_RESPONSES
} Kind;

typedef struct Registered
{
	int32		position;
	char	   *function;		/* qualified name, quoted where necessary */
	Kind		kind;
} Registered;

static MemoryContext list_context = NULL;
static List *registered = NIL;	/* registered functions in order: Registered */
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
	found->kind = strcmp(yq_row_text(row, 2), "response") == 0 ? INTERCEPTS_RESPONSES : INTERCEPTS_REQUESTS;
	registered = lappend(registered, found);
	MemoryContextSwitchTo(old_context);
}

static void
read_list(void)
{
	static const char *const columns[] = {"position", "function", "intercepts"};
	Snapshot	snapshot;

	if (list_context == NULL)
		list_context = AllocSetContextCreate(CacheMemoryContext, "yquota request interceptors", ALLOCSET_SMALL_SIZES);
	MemoryContextReset(list_context);
	registered = NIL;

	/*
	 * An invalidation that arrives while the table is read clears the flag, as does an
	 * error.  A parallel plan may read rows that are older than an invalidation that was
	 * received before, so it never sets the flag.
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

/*
 * Return the names of the functions of a kind, in order.  The list is a copy, because a
 * called function may change the original.
 */
static List *
registered_functions(Kind kind)
{
	List	   *names = NIL;
	ListCell   *cell;

	if (!yq_request_interceptors_exist())
		return NIL;
	foreach(cell, registered)
	{
		const Registered *interceptor = lfirst(cell);

		if (interceptor->kind == kind)
			names = lappend(names, pstrdup(interceptor->function));
	}
	return names;
}

/* -- a call ------------------------------------------------------------------------ */

typedef struct Call
{
	const char *name;			/* name of the function */
	Kind		kind;
	int			argument_count;
	Datum		arguments[2];
	bool		isnull;			/* the result is NULL */
	Datum		result;
} Call;

static const char *const signatures[] = {
	[INTERCEPTS_REQUESTS] = "yquota.allocate_request",
	[INTERCEPTS_RESPONSES] = "yquota.allocate_request, yquota.allocate_response[]",
};

static const char *const results[] = {
	[INTERCEPTS_REQUESTS] = "yquota.allocate_request",
	[INTERCEPTS_RESPONSES] = "integer[]",
};

static void
name_interceptor(void *argument)
{
	const Call *call = argument;

	errcontext("%s interceptor %s", call->kind == INTERCEPTS_REQUESTS ? "request" : "response", call->name);
}

/*
 * Check the owner of the function at each call, because the function runs with the
 * rights of the caller.  The owner may have changed since the registration.
 */
static void
check_owner(Oid function, const Call *call)
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
				 errmsg("function %s(%s) belongs neither to the owner of yquota nor to a superuser", call->name, signatures[call->kind]),
				 errdetail("The function would run with the rights of each role that asks for containers."),
				 errhint("Have a superuser review and own it, or delete its row of yquota.request_interceptor.")));
}

/*
 * Find the function of a call.  The function's owner must be trusted, and the acting role must have
 * the right to call it.
 */
static Oid
find_function(const Call *call)
{
	Oid			request = yq_type_oid("allocate_request");
	Oid			arguments[] = {request, get_array_type(yq_type_oid("allocate_response"))};
	Oid			result = call->kind == INTERCEPTS_REQUESTS ? request : INT4ARRAYOID;
	Oid			function = LookupFuncName(textToQualifiedNameList(cstring_to_text(call->name)),
										  call->argument_count, arguments, true);
	AclResult	allowed;

	if (!OidIsValid(function) || get_func_rettype(function) != result || get_func_retset(function))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_FUNCTION),
				 errmsg("function %s(%s) does not exist, or does not return %s", call->name, signatures[call->kind], results[call->kind]),
				 errhint("Create it again, or delete its row of yquota.request_interceptor.")));
	check_owner(function, call);
	allowed = object_aclcheck(ProcedureRelationId, function, GetUserId(), ACL_EXECUTE);
	if (allowed != ACLCHECK_OK)
		aclcheck_error(allowed, OBJECT_FUNCTION, call->name);
	return function;
}

static void
call_function(Call *call)
{
	LOCAL_FCINFO(arguments, 2);
	FmgrInfo	function;

	fmgr_info(find_function(call), &function);
	InitFunctionCallInfoData(*arguments, &function, call->argument_count, InvalidOid, NULL, NULL);
	for (int i = 0; i < call->argument_count; i++)
		arguments->args[i] = (NullableDatum) {.value = call->arguments[i],.isnull = false};
	call->result = FunctionCallInvoke(arguments);
	call->isnull = arguments->isnull;
}

/*
 * Call the function with the caller's role.  An error ends the transaction or
 * subtransaction, which restores the role.
 */
static void
call_as_caller(Call *call)
{
	ErrorContextCallback callback = {error_context_stack, name_interceptor, call};
	Oid			own;
	Oid			caller = yq_role_scope_sender();
	Oid			forgotten;
	int			context;

	CHECK_FOR_INTERRUPTS();
	error_context_stack = &callback;
	if (InSecurityRestrictedOperation())
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("cannot call a request interceptor within a security-restricted operation")));
	GetUserIdAndSecContext(&own, &context);
	SetUserIdAndSecContext(caller, context | SECURITY_LOCAL_USERID_CHANGE);
	forgotten = yq_role_scope_forget();
	PG_TRY();
	{
		call_function(call);
	}
	PG_FINALLY();
	{
		yq_role_scope_restore(forgotten);
	}
	PG_END_TRY();
	SetUserIdAndSecContext(own, context);
	error_context_stack = callback.previous;
}

/* -- requests ------------------------------------------------------------------------ */

/* Attributes of yquota.allocate_request, in order. */
enum
{
	REQUEST_FUNCTION,
	REQUEST_APPLICATION_ID,
	REQUEST_PARTS,
	REQUEST_REFUSED_BECAUSE = REQUEST_PARTS + YQ_REQUEST_PARTS,
	REQUEST_ATTRIBUTES
};

static const char *const part_names[] = {
	[YQ_PART_REQUESTS] = "requests",
	[YQ_PART_UPDATES] = "updates",
	[YQ_PART_BLACKLIST_ADDITIONS] = "blacklist_additions",
	[YQ_PART_BLACKLIST_REMOVALS] = "blacklist_removals",
	[YQ_PART_RELEASES] = "releases",
};

static Datum
make_row(const char *type_name, Datum *values, bool *nulls)
{
	TupleDesc	descriptor = lookup_rowtype_tupdesc_copy(yq_type_oid(type_name), -1);

	return HeapTupleGetDatum(heap_form_tuple(descriptor, values, nulls));
}

static Datum
request_row(const YqAllocateRequest *request)
{
	Datum		values[REQUEST_ATTRIBUTES] = {0};
	bool		nulls[REQUEST_ATTRIBUTES] = {false};

	values[REQUEST_FUNCTION] = CStringGetTextDatum(request->function);
	nulls[REQUEST_APPLICATION_ID] = request->application_id == NULL;
	if (request->application_id != NULL)
		values[REQUEST_APPLICATION_ID] = CStringGetTextDatum(request->application_id);
	for (int i = 0; i < YQ_REQUEST_PARTS; i++)
	{
		values[REQUEST_PARTS + i] = request->parts[i];
		nulls[REQUEST_PARTS + i] = request->parts[i] == (Datum) 0;
	}
	nulls[REQUEST_REFUSED_BECAUSE] = true;
	return make_row("allocate_request", values, nulls);
}

static void
replace_part(YqAllocateRequest *request, YqRequestPart part, const char *name, Datum value, bool isnull)
{
	if (request->parts[part] == (Datum) 0)
	{
		if (!isnull && ArrayGetNItems(ARR_NDIM(DatumGetArrayTypeP(value)), ARR_DIMS(DatumGetArrayTypeP(value))) > 0)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("function %s returned %s, which %s() does not have", name, part_names[part], request->function)));
		return;
	}
	if (isnull)
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("function %s returned neither %s nor a reason to refuse them", name, part_names[part])));
	if (array_contains_nulls(DatumGetArrayTypeP(value)))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("function %s returned nulls in %s", name, part_names[part])));
	request->parts[part] = value;
}

/* Take over the request that an interceptor has returned.  NULL counts as a row of NULL attributes. */
static void
take_request(YqAllocateRequest *request, const Call *call)
{
	Datum		values[REQUEST_ATTRIBUTES] = {0};
	bool		nulls[REQUEST_ATTRIBUTES];

	memset(nulls, true, sizeof(nulls));
	if (!call->isnull)
		yq_row_attributes(DatumGetHeapTupleHeader(call->result), REQUEST_ATTRIBUTES, values, nulls);
	if (!nulls[REQUEST_REFUSED_BECAUSE])
	{
		request->reason = TextDatumGetCString(values[REQUEST_REFUSED_BECAUSE]);
		request->refused_by = call->name;
		return;
	}
	for (int i = 0; i < YQ_REQUEST_PARTS; i++)
		replace_part(request, i, call->name, values[REQUEST_PARTS + i], nulls[REQUEST_PARTS + i]);
}

void
yq_request_intercept(YqAllocateRequest *request)
{
	ListCell   *cell;

	foreach(cell, registered_functions(INTERCEPTS_REQUESTS))
	{
		Call		call = {.name = lfirst(cell),.kind = INTERCEPTS_REQUESTS,.argument_count = 1};

		call.arguments[0] = request_row(request);
		call_as_caller(&call);
		take_request(request, &call);
		if (request->reason != NULL)
			return;
	}
}

void
yq_request_intercept_or_refuse(YqAllocateRequest *request)
{
	yq_request_intercept(request);
	if (request->reason == NULL)
		return;
	ereport(ERROR,
			(errcode(YQ_ERRCODE_REQUESTS_REFUSED),
			 request->application_id == NULL ?
			 errmsg("requests are refused: %s", request->reason) :
			 errmsg("requests of application \"%s\" are refused: %s", request->application_id, request->reason),
			 errdetail("Request interceptor %s refuses %s().", request->refused_by, request->function)));
}

/* -- responses ----------------------------------------------------------------------- */

/* Attributes of yquota.allocate_response, in order. */
enum
{
	RESPONSE_OUTCOME,
	RESPONSE_CONTAINER_ID,
	RESPONSE_ATTRIBUTES = 7
};

static const char *const response_columns[RESPONSE_ATTRIBUTES] = {
	"outcome", "container_id", "node", "allocation", "priority", "allocation_request_id", "execution_type"
};

/* Rows that are about to be returned. */
typedef struct Rows
{
	TupleDesc	descriptor;
	int			columns[RESPONSE_ATTRIBUTES];	/* column of the descriptor, by attribute; -1: none */
	HeapTuple  *tuples;
	int			count;
} Rows;

static int
find_column(TupleDesc descriptor, const char *name)
{
	for (int i = 0; i < descriptor->natts; i++)
	{
		if (namestrcmp(&TupleDescAttr(descriptor, i)->attname, name) == 0)
			return i;
	}
	return -1;
}

/*
 * Find the columns of the result.  A column "decision" contains outcomes.  If there is
 * only one column, it contains ids.
 */
static void
find_columns(Rows *rows)
{
	for (int i = 0; i < RESPONSE_ATTRIBUTES; i++)
		rows->columns[i] = find_column(rows->descriptor, response_columns[i]);
	if (rows->columns[RESPONSE_OUTCOME] < 0)
		rows->columns[RESPONSE_OUTCOME] = find_column(rows->descriptor, "decision");
	if (rows->descriptor->natts == 1)
		rows->columns[RESPONSE_CONTAINER_ID] = 0;
}

static Rows
take_rows(const ReturnSetInfo *result)
{
	Rows		rows = {.descriptor = result->setDesc};
	TupleTableSlot *slot = MakeSingleTupleTableSlot(result->setDesc, &TTSOpsMinimalTuple);

	find_columns(&rows);
	rows.tuples = palloc(sizeof(HeapTuple) * Max(tuplestore_tuple_count(result->setResult), 1));
	while (tuplestore_gettupleslot(result->setResult, true, false, slot))
	{
		CHECK_FOR_INTERRUPTS();
		rows.tuples[rows.count++] = ExecCopySlotHeapTuple(slot);
	}
	ExecDropSingleTupleTableSlot(slot);
	return rows;
}

static Datum
row_value(const Rows *rows, int number, int attribute, bool *isnull)
{
	*isnull = true;
	if (rows->columns[attribute] < 0)
		return (Datum) 0;
	return heap_getattr(rows->tuples[number], rows->columns[attribute] + 1, rows->descriptor, isnull);
}

static Datum
response_row(const Rows *rows, int number)
{
	Datum		values[RESPONSE_ATTRIBUTES];
	bool		nulls[RESPONSE_ATTRIBUTES];

	for (int i = 0; i < RESPONSE_ATTRIBUTES; i++)
		values[i] = row_value(rows, number, i, &nulls[i]);
	/* a result without outcomes lists ids of released containers */
	if (rows->columns[RESPONSE_OUTCOME] < 0)
	{
		values[RESPONSE_OUTCOME] = CStringGetTextDatum("released");
		nulls[RESPONSE_OUTCOME] = false;
	}
	return make_row("allocate_response", values, nulls);
}

static Datum
response_array(const Rows *rows)
{
	Datum	   *elements = palloc(sizeof(Datum) * Max(rows->count, 1));

	for (int i = 0; i < rows->count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		elements[i] = response_row(rows, i);
	}
	return PointerGetDatum(construct_array(elements, rows->count, yq_type_oid("allocate_response"), -1, false, TYPALIGN_DOUBLE));
}

/*
 * Remove the rows with these numbers, counted from 1, and append the ids of their
 * containers to the list.
 */
static List *
leave_out(Rows *rows, const Call *call, List *ids)
{
	bool	   *is_out = palloc0(sizeof(bool) * Max(rows->count, 1));
	Datum	   *numbers;
	bool	   *nulls;
	int			count;
	int			kept = 0;

	deconstruct_array(DatumGetArrayTypeP(call->result), INT4OID, sizeof(int32), true, TYPALIGN_INT, &numbers, &nulls, &count);
	for (int i = 0; i < count; i++)
	{
		int32		number = nulls[i] ? 0 : DatumGetInt32(numbers[i]);

		if (nulls[i])
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("function %s returned nulls in its numbers of rows", call->name)));
		if (number < 1 || number > rows->count)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("function %s returned number %d, but there are %d rows", call->name, number, rows->count)));
		is_out[number - 1] = true;
	}
	for (int i = 0; i < rows->count; i++)
	{
		bool		isnull;
		Datum		id;

		if (!is_out[i])
		{
			rows->tuples[kept++] = rows->tuples[i];
			continue;
		}
		id = row_value(rows, i, RESPONSE_CONTAINER_ID, &isnull);
		if (!isnull)
			ids = lappend(ids, TextDatumGetCString(id));
	}
	rows->count = kept;
	return ids;
}

static void
put_rows_back(const Rows *rows, ReturnSetInfo *result)
{
	MemoryContext old_context = MemoryContextSwitchTo(result->econtext->ecxt_per_query_memory);

	tuplestore_end(result->setResult);
	result->setResult = tuplestore_begin_heap((result->allowedModes & SFRM_Materialize_Random) != 0, false, work_mem);
	MemoryContextSwitchTo(old_context);
	for (int i = 0; i < rows->count; i++)
		tuplestore_puttuple(result->setResult, rows->tuples[i]);
}

List *
yq_response_intercept(const YqAllocateRequest *request, ReturnSetInfo *result)
{
	List	   *names = registered_functions(INTERCEPTS_RESPONSES);
	List	   *ids = NIL;
	Rows		rows;

	if (names == NIL)
		return NIL;
	rows = take_rows(result);
	for (int i = list_length(names) - 1; i >= 0; i--)
	{
		Call		call = {.name = list_nth(names, i),.kind = INTERCEPTS_RESPONSES,.argument_count = 2};

		call.arguments[0] = request_row(request);
		call.arguments[1] = response_array(&rows);
		call_as_caller(&call);
		if (!call.isnull)
			ids = leave_out(&rows, &call, ids);
	}
	put_rows_back(&rows, result);
	return ids;
}
