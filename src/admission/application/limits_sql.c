/*-------------------------------------------------------------------------
 *
 * limits_sql.c
 *	  Limits of users as SQL functions, see sql/admission/330_user_limit.sql.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "access/htup_details.h"
#include "admission/access/access.h"
#include "admission/application/leaf_usage.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "queues/hierarchy.h"
#include "store/role_scope.h"
#include "utils/builtins.h"

PG_FUNCTION_INFO_V1(yq_sql_user_limit);
PG_FUNCTION_INFO_V1(yq_sql_headroom);

/*
 * May the role ask about the user?  A user's limits reveal what other users use.  An
 * ordinary role may therefore only ask about the user of the same name.
 */
static bool
may_ask_about(const char *username)
{
	Oid			role = yq_role_scope_role();

	return yq_role_scope_reads_all(role) || yq_role_scope_acts_as(role, "operator") ||
		strcmp(GetUserNameFromId(role, false), username) == 0;
}

static void
check_role(const char *username)
{
	if (!may_ask_about(username))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("permission denied for limits of user \"%s\"", username),
				 errdetail("Administrators, viewers and operators may ask about any user, other roles only about the user of the same name.")));
}

static const YqQueue *
find_named_leaf(const YqHierarchy *hierarchy, const char *name)
{
	const YqQueue *queue = yq_hierarchy_find_by_name(hierarchy, name);

	if (queue == NULL)
	{
		const char *similar = yq_hierarchy_similar_queue(hierarchy, name);

		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("queue \"%s\" does not exist", name),
				 similar != NULL ? errhint("Perhaps you meant \"%s\".", similar) :
				 errhint("Use the path of the queue, or its short name if that is unique.")));
	}
	if (queue->kind != YQ_QUEUE_LEAF)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("queue \"%s\" is not a leaf queue", queue->path),
				 errdetail("Only leaf queues have limits of users.")));
	return queue;
}

static int
find_label(const YqHierarchy *hierarchy, const char *name)
{
	int			label = yq_hierarchy_label(hierarchy, name);

	if (label < 0)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("node label \"%s\" does not exist", name)));
	return label;
}

/* State of a result row whose columns are filled from left to right. */
typedef struct RowWriter
{
	const YqHierarchy *hierarchy;
	Datum		values[24];
	int			count;
} RowWriter;

static void
put_value(RowWriter *writer, Datum value)
{
	Assert(writer->count < (int) lengthof(writer->values));
	writer->values[writer->count++] = value;
}

static void
put_limit_amounts(RowWriter *writer, const int64 *amounts)
{
	put_value(writer, yq_hierarchy_resource(writer->hierarchy, amounts));
}

static Datum
finish_row(FunctionCallInfo fcinfo, RowWriter *writer)
{
	TupleDesc	descriptor = yq_result_descriptor(fcinfo);
	bool		nulls[lengthof(writer->values)] = {false};

	if (writer->count != descriptor->natts)
		elog(ERROR, "row has %d columns instead of %d", writer->count, descriptor->natts);
	return HeapTupleGetDatum(heap_form_tuple(descriptor, writer->values, nulls));
}

static void
put_sharers(RowWriter *writer, const YqUserLimit *limit)
{
	put_value(writer, Int32GetDatum(limit->users));
	put_value(writer, Float4GetDatum(limit->weights));
	put_limit_amounts(writer, limit->used);
	put_limit_amounts(writer, limit->share);
	put_limit_amounts(writer, limit->limit);
}

/* user_limit(queue, username, label, ignore_exclusivity) */
Datum
yq_sql_user_limit(PG_FUNCTION_ARGS)
{
	char	   *name = text_to_cstring(yq_required_text(fcinfo, 0, "queue"));
	char	   *username = text_to_cstring(yq_required_text(fcinfo, 1, "username"));
	bool		ignores_exclusivity = !PG_ARGISNULL(3) && PG_GETARG_BOOL(3);
	YqHierarchy *hierarchy = yq_hierarchy_get();
	int			label = PG_ARGISNULL(2) ? 0 : find_label(hierarchy, text_to_cstring(PG_GETARG_TEXT_PP(2)));
	int64	   *nothing = yq_hierarchy_amounts(hierarchy);
	RowWriter	writer = {.hierarchy = hierarchy};
	const YqUserLimit *active;
	const YqUserLimit *all;
	const YqLeafUser *user;
	const int64 *used;
	int64	   *limit;
	float4		weight;
	YqLeafUsage *leaf;

	check_role(username);
	leaf = yq_leaf_read(hierarchy, find_named_leaf(hierarchy, name));
	active = yq_user_limit_compute(leaf, label, YQ_ACTIVE_USERS, ignores_exclusivity);
	all = yq_user_limit_compute(leaf, label, YQ_ALL_USERS, ignores_exclusivity);
	user = yq_leaf_user(leaf, username);
	weight = user == NULL ? 1 : user->weight;
	used = user == NULL || user->used[label] == NULL ? nothing : user->used[label];
	limit = yq_user_limit_for(leaf, active, weight);

	put_limit_amounts(&writer, limit);
	put_limit_amounts(&writer, used);
	put_value(&writer, BoolGetDatum(user != NULL && yq_user_may_be_assigned(leaf, used, limit)));
	put_value(&writer, Float4GetDatum(weight));
	put_value(&writer, BoolGetDatum(user != NULL && yq_leaf_user_is_active(user)));
	put_value(&writer, Float4GetDatum(active->usage_ratio));
	put_limit_amounts(&writer, active->consumed);
	put_limit_amounts(&writer, active->current_capacity);
	put_limit_amounts(&writer, active->minimum_share);
	put_limit_amounts(&writer, active->most);
	put_sharers(&writer, active);
	put_limit_amounts(&writer, yq_user_limit_for(leaf, all, weight));
	put_sharers(&writer, all);
	return finish_row(fcinfo, &writer);
}

/*
 * Find a live application.  For a role that may not ask about the application's owner,
 * the application does not exist.
 */
static const YqApplication *
find_live_application(const YqHierarchy *hierarchy, const char *application_id)
{
	const YqApplication *application = yq_application_find(hierarchy, application_id);

	if (application == NULL || !may_ask_about(application->username))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("application \"%s\" does not exist", application_id)));
	if (!yq_application_is_live(application->state))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("application \"%s\" is %s", application_id,
						yq_application_state_name(application->state))));
	return application;
}

/* headroom(application_id, label) */
Datum
yq_sql_headroom(PG_FUNCTION_ARGS)
{
	char	   *application_id = text_to_cstring(yq_required_text(fcinfo, 0, "application_id"));
	YqHierarchy *hierarchy = yq_hierarchy_get();
	const YqApplication *application = find_live_application(hierarchy, application_id);
	const char *label_name = PG_ARGISNULL(1) ? application->label_name : text_to_cstring(PG_GETARG_TEXT_PP(1));
	int			label = find_label(hierarchy, label_name);
	YqLeafUsage *leaf = yq_leaf_read(hierarchy, find_named_leaf(hierarchy, application->queue));
	const YqHeadroom *headroom = yq_headroom_compute(leaf, label, application->username);
	RowWriter	writer = {.hierarchy = hierarchy};

	put_value(&writer, CStringGetTextDatum(leaf->queue->path));
	put_value(&writer, CStringGetTextDatum(application->username));
	put_value(&writer, CStringGetTextDatum(label_name));
	put_limit_amounts(&writer, headroom->user_limit);
	put_limit_amounts(&writer, headroom->user_used);
	put_limit_amounts(&writer, headroom->queue_limit);
	put_limit_amounts(&writer, headroom->queue_used);
	put_limit_amounts(&writer, headroom->total);
	put_limit_amounts(&writer, headroom->free);
	put_limit_amounts(&writer, headroom->headroom);
	return finish_row(fcinfo, &writer);
}
