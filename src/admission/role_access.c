/*-------------------------------------------------------------------------
 *
 * role_access.c
 *	  What Hadoop's lists give to roles of the database, see
 *	  sql/queues/350_queue_mutation.sql and sql/admission/360_application_readers.sql.
 *
 * A role is the user of its name, and the roles it is in are his groups.  To
 * Hadoop a list of root or yarn.admin.acl that is not set is everybody, and while
 * ACLs are off (yarn.acl.enable) all lists are.  A role gets nothing by that:
 * only a list that somebody has written makes it an administrator.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "admission/access.h"
#include "admission/subject.h"
#include "fmgr.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

PG_FUNCTION_INFO_V1(yq_sql_administers);
PG_FUNCTION_INFO_V1(yq_sql_shows_application);

/* May he administer the queue, or the queues above a path that is none? */
static bool
administers_queue(const YqHierarchy *hierarchy, const char *path, const YqSubject *subject)
{
	YqQueue    *root = yq_hierarchy_find(hierarchy, "root");
	YqDecision	decision = yq_access_walk(hierarchy, path, YQ_ADMINISTER_QUEUE, subject);

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
	PG_RETURN_BOOL(unset_is_everybody ? yq_access_walk(hierarchy, path, YQ_ADMINISTER_QUEUE, &subject).allowed :
				   administers_queue(hierarchy, path, &subject));
}

/* -- row-level security of applications ------------------------------------ */

/* What is known of a queue for the role that asks. */
typedef struct KnownQueue
{
	YqBytes		path;
	bool		is_administered;
} KnownQueue;

/* What a query remembers from row to row. */
typedef struct Viewer
{
	MemoryContext context;
	text	   *role;
	ArrayType  *groups;
	YqSubject	subject;
	uint64		generation;		/* of the hierarchy that the next is of */
	HTAB	   *queues;			/* KnownQueue; NULL: none yet */
} Viewer;

static bool
is_same_datum(const void *one, const void *other)
{
	return VARSIZE_ANY(one) == VARSIZE_ANY(other) && memcmp(one, other, VARSIZE_ANY(one)) == 0;
}

/* The role does not change within a query; a plan that is used again may have another. */
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
 * shows_application(username, queue, view_acl, role, groups): for the policy of
 * yquota.application, which calls it for each row
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
