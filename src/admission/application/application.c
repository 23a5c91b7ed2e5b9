/*-------------------------------------------------------------------------
 *
 * application.c
 *	  Reading applications by their indexes, and changing their state.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "access/genam.h"
#include "access/stratnum.h"
#include "access/table.h"
#include "access/tableam.h"
#include "admission/application/application.h"
#include "catalog/pg_collation_d.h"
#include "common/int.h"
#include "executor/tuptable.h"
#include "miscadmin.h"
#include "queues/hierarchy.h"
#include "store/catalog.h"
#include "store/saved_plan.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

static const char *const state_names[YQ_APPLICATION_STATES] = {
	[YQ_APPLICATION_NON_RUNNABLE] = "NON_RUNNABLE",
	[YQ_APPLICATION_ACCEPTED] = "ACCEPTED",
	[YQ_APPLICATION_ACTIVE] = "ACTIVE",
	[YQ_APPLICATION_FINISHED] = "FINISHED",
	[YQ_APPLICATION_FAILED] = "FAILED",
	[YQ_APPLICATION_KILLED] = "KILLED",
	[YQ_APPLICATION_REJECTED] = "REJECTED",
};

const char *
yq_application_state_name(YqApplicationState state)
{
	return state_names[state];
}

bool
yq_application_is_live(YqApplicationState state)
{
	return state <= YQ_APPLICATION_ACTIVE;
}

/* -- states in the table ----------------------------------------------------- */

static Oid	state_oids[YQ_APPLICATION_STATES];
static bool states_are_known = false;

static void
look_up_states(void)
{
	static bool is_watching = false;

	if (!is_watching)
	{
		yq_catalog_on_change(YQ_APPLICATION, &states_are_known);
		is_watching = true;
	}
	if (states_are_known)
		return;
	for (int i = 0; i < YQ_APPLICATION_STATES; i++)
		state_oids[i] = yq_enum_oid("application_state", state_names[i]);
	states_are_known = true;
}

Oid
yq_application_state_oid(YqApplicationState state)
{
	look_up_states();
	return state_oids[state];
}

YqApplicationState
yq_application_state_of_oid(Oid oid)
{
	look_up_states();
	for (int i = 0; i < YQ_APPLICATION_STATES; i++)
	{
		if (state_oids[i] == oid)
			return i;
	}
	elog(ERROR, "state %u of an application is not known", oid);
}

/* -- order ----------------------------------------------------------------- */

/*
 * Find the digits between "begin" and "end", without leading zeros.  Returns false if
 * the text contains anything but digits.
 */
static bool
find_digits(const char *begin, const char *end, const char **digits, int *count)
{
	if (begin == end || strspn(begin, "0123456789") < (Size) (end - begin))
		return false;
	while (begin < end - 1 && *begin == '0')
		begin++;
	*digits = begin;
	*count = end - begin;
	return true;
}

static int
compare_digits(const char *a, int a_count, const char *b, int b_count)
{
	if (a_count != b_count)
		return a_count < b_count ? -1 : 1;
	return memcmp(a, b, a_count);
}

typedef struct IdParts
{
	const char *cluster;
	int			cluster_length;
	const char *number;
	int			number_length;
} IdParts;

static bool
parse_id(const char *id, IdParts *parts)
{
	static const char prefix[] = "application_";
	const char *cluster = id + sizeof(prefix) - 1;
	const char *underscore;

	if (strncmp(id, prefix, sizeof(prefix) - 1) != 0)
		return false;
	underscore = strchr(cluster, '_');
	return underscore != NULL &&
		find_digits(cluster, underscore, &parts->cluster, &parts->cluster_length) &&
		find_digits(underscore + 1, id + strlen(id), &parts->number, &parts->number_length);
}

int
yq_application_id_compare(const char *a, const char *b)
{
	IdParts		left;
	IdParts		right;
	bool		left_is_numbered = parse_id(a, &left);
	bool		right_is_numbered = parse_id(b, &right);
	int			order = 0;

	if (left_is_numbered != right_is_numbered)
		return left_is_numbered ? -1 : 1;
	if (left_is_numbered)
		order = compare_digits(left.cluster, left.cluster_length, right.cluster, right.cluster_length);
	if (left_is_numbered && order == 0)
		order = compare_digits(left.number, left.number_length, right.number, right.number_length);
	return order != 0 ? order : strcmp(a, b);
}

int
yq_application_compare(const YqApplication *a, const YqApplication *b)
{
	if (a->priority != b->priority)
		return a->priority > b->priority ? -1 : 1;
	return yq_application_id_compare(a->application_id, b->application_id);
}

static int
compare_cells(const ListCell *a, const ListCell *b)
{
	return yq_application_compare(lfirst(a), lfirst(b));
}

int
yq_application_compare_submissions(const ListCell *a, const ListCell *b)
{
	const YqApplication *left = lfirst(a);
	const YqApplication *right = lfirst(b);

	if (left->submitted_at != right->submitted_at)
		return left->submitted_at < right->submitted_at ? -1 : 1;
	return yq_application_id_compare(left->application_id, right->application_id);
}

/* -- reading --------------------------------------------------------------- */

typedef enum ReadColumn
{
	READ_APPLICATION_ID,
	READ_USERNAME,
	READ_QUEUE,
	READ_LABEL,
	READ_NODE_LABEL_EXPRESSION,
	READ_PRIORITY,
	READ_AM_RESOURCE,
	READ_STATE,
	READ_HAS_OUTSTANDING_REQUESTS,
	READ_SUBMITTED_AT,
	READ_VIEW_ACL,
	READ_MODIFY_ACL,
	READ_COLUMNS
} ReadColumn;

static const char *const column_names[READ_COLUMNS] = {
	[READ_APPLICATION_ID] = "application_id",
	[READ_USERNAME] = "username",
	[READ_QUEUE] = "queue",
	[READ_LABEL] = "label",
	[READ_NODE_LABEL_EXPRESSION] = "node_label_expression",
	[READ_PRIORITY] = "priority",
	[READ_AM_RESOURCE] = "am_resource",
	[READ_STATE] = "state",
	[READ_HAS_OUTSTANDING_REQUESTS] = "has_outstanding_requests",
	[READ_SUBMITTED_AT] = "submitted_at",
	[READ_VIEW_ACL] = "view_acl",
	[READ_MODIFY_ACL] = "modify_acl",
};

static char *
string_or_null(Datum value, bool isnull)
{
	return isnull ? NULL : TextDatumGetCString(value);
}

static YqApplication *
make_application(const YqHierarchy *hierarchy, TupleTableSlot *slot, const AttrNumber *columns)
{
	YqApplication *application = palloc(sizeof(YqApplication));
	Datum		values[READ_COLUMNS];
	bool		nulls[READ_COLUMNS];

	for (int i = 0; i < READ_COLUMNS; i++)
		values[i] = slot_getattr(slot, columns[i], &nulls[i]);
	application->application_id = TextDatumGetCString(values[READ_APPLICATION_ID]);
	application->username = TextDatumGetCString(values[READ_USERNAME]);
	application->queue = string_or_null(values[READ_QUEUE], nulls[READ_QUEUE]);
	application->label_name = TextDatumGetCString(values[READ_LABEL]);
	application->label = yq_hierarchy_label(hierarchy, application->label_name);
	application->node_label_expression = string_or_null(values[READ_NODE_LABEL_EXPRESSION], nulls[READ_NODE_LABEL_EXPRESSION]);
	application->priority = DatumGetInt32(values[READ_PRIORITY]);
	application->am_amounts = yq_hierarchy_read_amounts(hierarchy, values[READ_AM_RESOURCE]);
	application->state = yq_application_state_of_oid(DatumGetObjectId(values[READ_STATE]));
	application->has_outstanding_requests = DatumGetBool(values[READ_HAS_OUTSTANDING_REQUESTS]);
	application->submitted_at = DatumGetTimestampTz(values[READ_SUBMITTED_AT]);
	application->view_acl = string_or_null(values[READ_VIEW_ACL], nulls[READ_VIEW_ACL]);
	application->modify_acl = string_or_null(values[READ_MODIFY_ACL], nulls[READ_MODIFY_ACL]);
	return application;
}

/*
 * Read the applications that an index scan with these keys returns, in the order of the
 * index.  With first_alone, only the first application is read.
 */
static List *
read_by_index(const YqHierarchy *hierarchy, const char *index_name, ScanKeyData *keys, int key_count,
			  bool first_alone)
{
	Relation	relation = yq_table_open(YQ_APPLICATION, AccessShareLock);
	Relation	index = index_open(yq_index_oid(YQ_APPLICATION, index_name), AccessShareLock);
	Snapshot	snapshot = yq_latest_snapshot();
	TupleTableSlot *slot = table_slot_create(relation, NULL);
	IndexScanDesc scan = index_beginscan(relation, index, snapshot, NULL, key_count, 0);
	AttrNumber	columns[READ_COLUMNS];
	List	   *result = NIL;

	for (int i = 0; i < READ_COLUMNS; i++)
		columns[i] = yq_column(relation, column_names[i]);
	index_rescan(scan, keys, key_count, NULL, 0);
	while (!(first_alone && result != NIL) && index_getnext_slot(scan, ForwardScanDirection, slot))
	{
		CHECK_FOR_INTERRUPTS();
		result = lappend(result, make_application(hierarchy, slot, columns));
	}
	index_endscan(scan);
	ExecDropSingleTupleTableSlot(slot);
	UnregisterSnapshot(snapshot);
	index_close(index, AccessShareLock);
	table_close(relation, AccessShareLock);
	return result;
}

static void
set_text_key(ScanKeyData *key, AttrNumber column, StrategyNumber strategy, const char *value)
{
	ScanKeyEntryInitialize(key, 0, column, strategy, InvalidOid, C_COLLATION_OID,
						   strategy == BTEqualStrategyNumber ? F_TEXTEQ :
						   strategy == BTLessStrategyNumber ? F_TEXT_LT : F_TEXT_GE,
						   CStringGetTextDatum(value));
}

YqApplication *
yq_application_find(const YqHierarchy *hierarchy, const char *application_id)
{
	ScanKeyData key;
	List	   *found;

	set_text_key(&key, 1, BTEqualStrategyNumber, application_id);
	found = read_by_index(hierarchy, "application_pkey", &key, 1, true);
	return found == NIL ? NULL : linitial(found);
}

List *
yq_applications_of_leaf(const YqHierarchy *hierarchy, const char *queue, YqApplicationState state)
{
	ScanKeyData keys[2];
	List	   *found;

	set_text_key(&keys[0], 1, BTEqualStrategyNumber, queue);
	ScanKeyInit(&keys[1], 2, BTEqualStrategyNumber, F_ENUM_EQ,
				ObjectIdGetDatum(yq_application_state_oid(state)));
	found = read_by_index(hierarchy, "application_live_idx", keys, lengthof(keys), false);
	list_sort(found, compare_cells);
	return found;
}

List *
yq_applications_insert(List *applications, YqApplication *application)
{
	int			place = 0;
	ListCell   *cell;

	foreach(cell, applications)
	{
		if (yq_application_compare(application, lfirst(cell)) < 0)
			break;
		place++;
	}
	return list_insert_nth(applications, place, application);
}

TimestampTz
yq_application_expiry(TimestampTz from, int64 seconds)
{
	int64		microseconds;
	int64		instant;

	if (pg_mul_s64_overflow(seconds, USECS_PER_SEC, &microseconds) ||
		pg_add_s64_overflow(from, microseconds, &instant) || !IS_VALID_TIMESTAMP(instant))
		return DT_NOEND;
	return instant;
}

int64
yq_applications_least_waiting(const YqHierarchy *hierarchy, const char *queue, const char *label, int type)
{
	static const char *const indexes[] = {
		[YQ_MEMORY] = "application_waiting_memory_idx",
		[YQ_VCORES] = "application_waiting_vcores_idx",
	};
	ScanKeyData keys[2];
	List	   *found;

	set_text_key(&keys[0], 1, BTEqualStrategyNumber, queue);
	set_text_key(&keys[1], 2, BTEqualStrategyNumber, label);
	found = read_by_index(hierarchy, indexes[type], keys, lengthof(keys), true);
	return found == NIL ? 0 : ((YqApplication *) linitial(found))->am_amounts[type];
}

List *
yq_applications_held_of_user(const YqHierarchy *hierarchy, const char *username)
{
	ScanKeyData key;
	List	   *found;

	set_text_key(&key, 1, BTEqualStrategyNumber, username);
	found = read_by_index(hierarchy, "application_held_username_idx", &key, 1, false);
	list_sort(found, yq_application_compare_submissions);
	return found;
}

List *
yq_applications_held_below(const YqHierarchy *hierarchy, const char *path)
{
	ScanKeyData keys[2];
	List	   *found;

	set_text_key(&keys[0], 1, BTEqualStrategyNumber, path);
	found = read_by_index(hierarchy, "application_held_queue_idx", keys, 1, false);
	/* descendants' paths lie between "path."  and "path/", because a slash is the character after a dot */
	set_text_key(&keys[0], 1, BTGreaterEqualStrategyNumber, psprintf("%s.", path));
	set_text_key(&keys[1], 1, BTLessStrategyNumber, psprintf("%s/", path));
	found = list_concat(found, read_by_index(hierarchy, "application_held_queue_idx", keys, lengthof(keys), false));
	list_sort(found, yq_application_compare_submissions);
	return found;
}

/* -- changing -------------------------------------------------------------- */

void
yq_application_set_state(YqApplication *application, YqApplicationState state, const char *why)
{
	static YqSavedPlan update = {
		.command = "UPDATE yquota.application AS a SET state = $2, diagnostics = $3, "
		"activated_at = CASE WHEN $4 THEN yquota.clock() END, "
		"has_outstanding_requests = a.has_outstanding_requests OR ($4 AND EXISTS ("
		"SELECT FROM yquota_internal.outstanding_request AS r WHERE r.application_id = $1)) "
		"WHERE application_id = $1",
		.types = {"text", "yquota.application_state", "text", "bool"}
	};
	Datum		values[4];
	char		nulls[] = "    ";

	Assert(yq_application_is_live(application->state) && yq_application_is_live(state));
	values[0] = CStringGetTextDatum(application->application_id);
	values[1] = ObjectIdGetDatum(yq_application_state_oid(state));
	values[2] = why == NULL ? (Datum) 0 : CStringGetTextDatum(why);
	nulls[2] = why == NULL ? 'n' : ' ';
	values[3] = BoolGetDatum(state == YQ_APPLICATION_ACTIVE);
	if (yq_saved_plan_execute(&update, values, nulls) != 1)
		elog(ERROR, "application \"%s\" is gone", application->application_id);
	application->state = state;
}

int64
yq_application_lifetime(const YqQueue *queue, int64 requested)
{
	if (queue == NULL || queue->kind != YQ_QUEUE_LEAF)
		return requested;
	if (requested <= 0)
		return queue->default_lifetime;
	return queue->maximum_lifetime > 0 ? Min(requested, queue->maximum_lifetime) : requested;
}

/* -- access to an application ---------------------------------------------- */

static const char *const operation_names[] = {
	[YQ_VIEW_APP] = "VIEW_APP",
	[YQ_MODIFY_APP] = "MODIFY_APP",
};

const char *
yq_application_operation_name(YqApplicationOperation operation)
{
	return operation_names[operation];
}

YqApplicationOperation
yq_application_operation(const char *name)
{
	for (int i = 0; i < (int) lengthof(operation_names); i++)
	{
		if (pg_strcasecmp(name, operation_names[i]) == 0)
			return i;
	}
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("operation \"%s\" is not known", name),
			 errhint("Operations on applications are VIEW_APP and MODIFY_APP.")));
}

static YqAccessDecision
allowed(const char *decided_by, char *reason)
{
	YqAccessDecision	result = {.allowed = true, .decided_by = decided_by, .reason = reason};

	return result;
}

YqAccessDecision
yq_application_access(const YqHierarchy *hierarchy, const YqApplicationOwner *application, YqApplicationOperation operation,
					  const YqSubject *subject)
{
	const char *list = operation == YQ_VIEW_APP ? application->view_acl : application->modify_acl;
	YqAccessDecision	result;

	if (!hierarchy->access.acl_enable)
		return allowed(NULL, "ACLs are off (yarn.acl.enable)");
	if (strcmp(subject->username, application->username) == 0)
		return allowed(NULL, psprintf("user \"%s\" is its owner", subject->username));
	result = yq_access_check_administrator(hierarchy, subject);
	if (result.allowed)
		return result;
	if (list != NULL)
	{
		const char *name = NULL;
		YqAclMatch	match = yq_acl_match(yq_acl_parse(list), subject, &name);

		if (match != YQ_ACL_NOBODY)
			return allowed(NULL, psprintf("its %s allows %s",
										  operation == YQ_VIEW_APP ? "view_acl" : "modify_acl",
										  yq_acl_match_text(match, name)));
	}
	if (application->queue != NULL)
	{
		result = yq_access_search(hierarchy, application->queue, YQ_ADMINISTER_QUEUE, subject);
		if (result.allowed)
			return result;
	}
	result.allowed = false;
	result.decided_by = NULL;
	result.reason = psprintf("User %s cannot perform operation %s on application %s", subject->username,
							 operation_names[operation], application->application_id);
	return result;
}
