/*-------------------------------------------------------------------------
 *
 * access_sql.c
 *	  Access and priorities as SQL functions, see sql/admission/260_queue_access.sql.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "admission/access/access.h"
#include "fmgr.h"
#include "funcapi.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

PG_FUNCTION_INFO_V1(yq_sql_administers);
PG_FUNCTION_INFO_V1(yq_sql_shows_application);
PG_FUNCTION_INFO_V1(yq_sql_application_priority);
PG_FUNCTION_INFO_V1(yq_sql_check_queue_access);

/* Operations that are decided by several access lists. */
#define OPERATION_SUBMIT	YQ_QUEUE_OPERATION_COUNT
#define OPERATION_ADMIN		(YQ_QUEUE_OPERATION_COUNT + 1)

static const char *const operation_names[] = {
	[YQ_SUBMIT_APPLICATIONS] = "SUBMIT_APPLICATIONS",
	[YQ_ADMINISTER_QUEUE] = "ADMINISTER_QUEUE",
	[YQ_ADMINISTER_RESERVATIONS] = "ADMINISTER_RESERVATIONS",
	[YQ_LIST_RESERVATIONS] = "LIST_RESERVATIONS",
	[YQ_SUBMIT_RESERVATIONS] = "SUBMIT_RESERVATIONS",
	[OPERATION_SUBMIT] = "SUBMIT",
	[OPERATION_ADMIN] = "ADMIN",
};

/* Find an operation by Hadoop's name or by the name of the queue's property, ignoring case. */
static int
operation_argument(FunctionCallInfo fcinfo, int argument)
{
	char	   *given = text_to_cstring(yq_required_text(fcinfo, argument, "operation"));
	char	   *name = pg_strncasecmp(given, "acl_", 4) == 0 ? given + 4 : given;

	for (int i = 0; i < (int) lengthof(operation_names); i++)
	{
		if (pg_strcasecmp(name, operation_names[i]) == 0)
			return i;
	}
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("operation \"%s\" is not known", given),
			 errhint("Operations are SUBMIT, SUBMIT_APPLICATIONS, ADMINISTER_QUEUE, ADMINISTER_RESERVATIONS, LIST_RESERVATIONS, SUBMIT_RESERVATIONS and ADMIN.")));
}

/* check_queue_access(username, groups, queue, operation, real_username) */
Datum
yq_sql_check_queue_access(PG_FUNCTION_ARGS)
{
	YqSubject	subject = yq_subject_arguments(fcinfo, 0, 1, 4);
	int			operation = operation_argument(fcinfo, 3);
	char	   *queue = NULL;
	const YqHierarchy *hierarchy = yq_hierarchy_get();
	YqAccessDecision	result;
	Datum		values[3];
	bool		nulls[3] = {false};

	if (operation != OPERATION_ADMIN)
		queue = text_to_cstring(yq_required_text(fcinfo, 2, "queue"));
	if (operation == OPERATION_ADMIN)
		result = yq_access_check_administrator(hierarchy, &subject);
	else if (operation == OPERATION_SUBMIT)
		result = yq_access_check_submission(hierarchy, queue, &subject);
	else
		result = yq_access_check(hierarchy, queue, operation, &subject);

	values[0] = BoolGetDatum(result.allowed);
	nulls[1] = (result.decided_by == NULL);
	if (result.decided_by != NULL)
		values[1] = CStringGetTextDatum(result.decided_by);
	values[2] = CStringGetTextDatum(result.reason);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(yq_result_descriptor(fcinfo),
													  values, nulls)));
}

/* application_priority(username, groups, queue, requested, tags, real_username) */
Datum
yq_sql_application_priority(PG_FUNCTION_ARGS)
{
	YqSubject	subject = yq_subject_arguments(fcinfo, 0, 1, 5);
	char	   *queue = text_to_cstring(yq_required_text(fcinfo, 2, "queue"));
	int32		requested = PG_ARGISNULL(3) ? 0 : PG_GETARG_INT32(3);
	const char **tags;
	int			tag_count = yq_text_array(fcinfo, 4, "tags", &tags);
	const YqHierarchy *hierarchy = yq_hierarchy_get();
	YqPriorityDecision result;
	Datum		values[3];
	bool		nulls[3] = {false};

	result = yq_priority_decide(hierarchy, queue, &subject, PG_ARGISNULL(3) ? NULL : &requested,
								tags, tag_count);
	values[0] = BoolGetDatum(result.allowed);
	values[1] = Int32GetDatum(result.priority);
	values[2] = CStringGetTextDatum(result.reason);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(yq_result_descriptor(fcinfo),
													  values, nulls)));
}

/* -- subjects -------------------------------------------------------------- */

YqSubject
yq_subject_arguments(FunctionCallInfo fcinfo, int username, int groups, int real_username)
{
	YqSubject	subject = {.groups_known = !PG_ARGISNULL(groups)};

	subject.username = text_to_cstring(yq_required_text(fcinfo, username, "username"));
	subject.group_count = yq_text_array(fcinfo, groups, "groups", &subject.groups);
	if (real_username >= 0 && !PG_ARGISNULL(real_username))
		subject.real_username = text_to_cstring(PG_GETARG_TEXT_PP(real_username));
	return subject;
}

/* -- lists and roles of the database --------------------------------------- */

/*
 * May the user administer the queue?  If no queue has the path, its ancestors decide.
 * An access list of root that is not set allows nobody here.
 */
static bool
administers_queue(const YqHierarchy *hierarchy, const char *path, const YqSubject *subject)
{
	YqQueue    *root = yq_hierarchy_find(hierarchy, "root");
	YqAccessDecision	decision = yq_access_search(hierarchy, path, YQ_ADMINISTER_QUEUE, subject);

	return decision.allowed &&
		!(strcmp(decision.decided_by, "root") == 0 && root->acls[YQ_ADMINISTER_QUEUE] == NULL);
}

/* administers(username, groups, queue, unset_is_everybody) */
Datum
yq_sql_administers(PG_FUNCTION_ARGS)
{
	YqSubject	subject = yq_subject_arguments(fcinfo, 0, 1, -1);
	bool		unset_is_everybody = !PG_ARGISNULL(3) && PG_GETARG_BOOL(3);
	const YqHierarchy *hierarchy = yq_hierarchy_get();
	char	   *path;

	if (PG_ARGISNULL(2))
		PG_RETURN_BOOL((unset_is_everybody || hierarchy->access.has_admin_acl) &&
					   yq_access_check_administrator(hierarchy, &subject).allowed);
	path = text_to_cstring(PG_GETARG_TEXT_PP(2));
	PG_RETURN_BOOL(unset_is_everybody ? yq_access_search(hierarchy, path, YQ_ADMINISTER_QUEUE, &subject).allowed :
				   administers_queue(hierarchy, path, &subject));
}

/* -- row-level security of applications ------------------------------------ */

/* Cached result: may the calling role administer the queue? */
typedef struct KnownQueue
{
	YqBytes		path;
	bool		is_administered;
} KnownQueue;

/* State that a query keeps from one row to the next. */
typedef struct Viewer
{
	MemoryContext context;
	text	   *role;
	ArrayType  *groups;
	YqSubject	subject;
	uint64		generation;		/* generation of the hierarchy for which "queues" was filled */
	HTAB	   *queues;			/* KnownQueue entries; NULL before the first look-up */
} Viewer;

static bool
is_same_datum(const void *one, const void *other)
{
	return VARSIZE_ANY(one) == VARSIZE_ANY(other) && memcmp(one, other, VARSIZE_ANY(one)) == 0;
}

/*
 * Return the state kept for the calling role.  The role is the same for all rows of an
 * execution, but another execution of the same plan may have another role.
 */
static Viewer *
viewer_of_call(FunctionCallInfo fcinfo)
{
	Viewer	   *viewer = fcinfo->flinfo->fn_extra;
	text	   *role = PG_GETARG_TEXT_PP(3);
	ArrayType  *groups = PG_GETARG_ARRAYTYPE_P(4);
	MemoryContext old_context;

	if (viewer != NULL && is_same_datum(viewer->role, role) && is_same_datum(viewer->groups, groups))
		return viewer;
	if (viewer != NULL)
		MemoryContextDelete(viewer->context);
	fcinfo->flinfo->fn_extra = NULL;
	old_context = MemoryContextSwitchTo(AllocSetContextCreate(fcinfo->flinfo->fn_mcxt, "yquota viewer",
															  ALLOCSET_SMALL_SIZES));
	viewer = palloc0(sizeof(Viewer));
	viewer->context = CurrentMemoryContext;
	viewer->role = (text *) PG_DETOAST_DATUM_COPY(PointerGetDatum(role));
	viewer->groups = (ArrayType *) PG_DETOAST_DATUM_COPY(PointerGetDatum(groups));
	viewer->subject = yq_subject_arguments(fcinfo, 3, 4, -1);
	MemoryContextSwitchTo(old_context);
	fcinfo->flinfo->fn_extra = viewer;
	return viewer;
}

static bool
administers_known_queue(Viewer *viewer, text *path)
{
	YqBytes		key = {.data = VARDATA_ANY(path), .length = VARSIZE_ANY_EXHDR(path)};
	const YqHierarchy *hierarchy = yq_hierarchy_get();
	KnownQueue *known;
	bool		found;

	if (viewer->queues == NULL || viewer->generation != hierarchy->generation)
	{
		if (viewer->queues != NULL)
			hash_destroy(viewer->queues);
		viewer->queues = yq_bytes_table_create("yquota queues of a viewer", sizeof(KnownQueue), viewer->context);
		viewer->generation = hierarchy->generation;
	}
	known = yq_bytes_table_find(viewer->queues, key);
	if (known == NULL)
	{
		bool		is_administered = administers_queue(hierarchy, text_to_cstring(path), &viewer->subject);

		known = yq_bytes_table_enter(viewer->queues, key, viewer->context, &found);
		known->is_administered = is_administered;
	}
	return known->is_administered;
}

/*
 * shows_application(username, queue, view_acl, role, groups): may the role see the
 * application?  The row-level security policy of yquota.application calls the function
 * for each row.
 */
Datum
yq_sql_shows_application(PG_FUNCTION_ARGS)
{
	text	   *username;
	Viewer	   *viewer;
	const char *name;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(3) || PG_ARGISNULL(4))
		PG_RETURN_BOOL(false);
	username = PG_GETARG_TEXT_PP(0);
	viewer = viewer_of_call(fcinfo);
	if (VARSIZE_ANY_EXHDR(username) == strlen(viewer->subject.username) &&
		memcmp(VARDATA_ANY(username), viewer->subject.username, VARSIZE_ANY_EXHDR(username)) == 0)
		PG_RETURN_BOOL(true);
	if (!PG_ARGISNULL(2) &&
		yq_acl_match(yq_acl_parse(text_to_cstring(PG_GETARG_TEXT_PP(2))), &viewer->subject, &name) != YQ_ACL_NOBODY)
		PG_RETURN_BOOL(true);
	PG_RETURN_BOOL(!PG_ARGISNULL(1) && administers_known_queue(viewer, PG_GETARG_TEXT_PP(1)));
}
