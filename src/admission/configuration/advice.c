/*-------------------------------------------------------------------------
 *
 * advice.c
 *	  Advice about configurations that Hadoop accepts but that are unwise.
 *
 * Some findings need the hierarchy.  Others need the index of queues with lists,
 * priorities and rules.  A commit checks only queues whose rows the transaction has
 * changed, and the index only when a list, priority or rule has changed.  A change
 * among ten thousand queues therefore costs little.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "access/htup_details.h"
#include "access/xact.h"
#include "admission/access/access.h"
#include "admission/configuration/advice.h"
#include "admission/configuration/scheduler_setting.h"
#include "commands/trigger.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "queues/mapping_rule.h"
#include "queues/text.h"
#include "store/catalog.h"
#include "store/table_scan.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/fmgroids.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/tuplestore.h"

PG_FUNCTION_INFO_V1(yq_sql_configuration_advice);
PG_FUNCTION_INFO_V1(yq_sql_note_advice);

/* Limit on the number of warnings per transaction.  configuration_advice() returns all findings. */
#define MOST_WARNINGS 20

/* Differences between fractions that are smaller than this do not count. */
#define PRECISION 0.00005f

typedef struct Advising
{
	const YqHierarchy *hierarchy;
	const YqQueue *queue;		/* NULL: the settings of the whole cluster are checked */
	YqSettingTest is_wanted;	/* selects the settings that give advice; NULL: all of them */
	List	   *findings;
} Advising;

static void
advise(Advising *advising, const char *property, const char *value, const char *advice)
{
	advising->findings = yq_violation_add(advising->findings,
										  advising->queue == NULL ? NULL : advising->queue->path,
										  property, value, advice);
}

static bool
sets(const YqQueue *queue, YqInheritedProperty property)
{
	return queue->inherited[property].value != NULL && queue->inherited[property].from == queue->path;
}

/* -- findings in the hierarchy --------------------------------------------- */

static void
keep_root_labels(const YqRow *row)
{
	char	  **labels = row->argument;
	char	   *path = yq_row_text(row, 0);
	bool		isnull;
	Datum		value = yq_row_value(row, 1, &isnull);

	if (isnull || strcmp(path, "root") != 0)
		return;
	*labels = OidOutputFunctionCall(F_ARRAY_OUT, value);
}

/*
 * Return the labels that are configured for root, or NULL.  The hierarchy does not
 * contain them, because root may use every label.
 */
static char *
root_labels(void)
{
	static const char *const columns[] = {"path", "accessible_node_labels"};
	Snapshot	snapshot = yq_latest_snapshot();
	char	   *labels = NULL;

	yq_table_scan(YQ_QUEUE, snapshot, columns, lengthof(columns), keep_root_labels, &labels);
	UnregisterSnapshot(snapshot);
	return labels;
}

static void
advise_root(Advising *advising)
{
	const YqCapacity *capacity = &advising->queue->labels[0].capacity;
	char	   *labels = root_labels();

	if (capacity->text != NULL && !(capacity->is_percent && capacity->number == 100))
		advise(advising, "capacity", capacity->text, "the capacity of root is not used: root always has the whole cluster");
	if (labels != NULL && strcmp(labels, "{*}") != 0)
		advise(advising, "accessible-node-labels", labels, "labels of root are not used: root may always use all of them");
}

/* Advise about capacities that are percentages.  Weights and amounts are checked elsewhere. */
static void
advise_capacities(Advising *advising)
{
	const YqHierarchy *hierarchy = advising->hierarchy;

	for (int i = 0; i < advising->queue->label_count; i++)
	{
		const YqQueueLabel *label = &advising->queue->labels[i];
		const YqCapacity *most = &label->maximum;
		const char *number;

		if (most->text == NULL || !most->is_percent)
			continue;
		number = yq_float_text(most->number);
		if (most->number > 100 || (most->number < 0 && most->number != -1))
			advise(advising, yq_label_property(hierarchy, label->label, "maximum-capacity"), most->text,
				   psprintf("a percentage of %s is taken as it is: it should be between 0 and 100", number));
		else if (label->capacity.is_percent && label->configured > label->configured_maximum + PRECISION)
			advise(advising, yq_label_property(hierarchy, label->label, "capacity"), label->capacity.text,
				   psprintf("the capacity is more than maximum-capacity %s, which is all that the queue may use", number));
	}
}

/* Advise about labels that the queue may use by its own setting, but for which it has no capacity. */
static void
advise_labels(Advising *advising)
{
	const YqHierarchy *hierarchy = advising->hierarchy;
	const YqQueue *queue = advising->queue;

	if (queue->parent == NULL || queue->any_label || !hierarchy->settings.is_legacy ||
		!sets(queue, YQ_INHERITED_ACCESSIBLE_NODE_LABELS))
		return;
	for (int i = 1; i < hierarchy->label_count; i++)
	{
		const YqQueueLabel *label = yq_queue_label(queue, i);

		if (queue->accessible[i] &&
			(label == NULL || (label->configured <= 0 && label->weight < 0 && label->minimum_amounts == NULL)))
			advise(advising, yq_label_property(hierarchy, i, "capacity"),
				   label == NULL ? NULL : label->capacity.text,
				   "the queue may use the label without a guarantee: it gets the rest that other queues leave");
	}
}

/*
 * Return a product of floats as a percentage.  Rounding removes the error of the
 * floats: 1.2 times 50 % is written as 60.
 */
static char *
percent_text(double fraction)
{
	return psprintf("%.6g", 100 * fraction);
}

static void
advise_user_limits(Advising *advising)
{
	const YqQueue *queue = advising->queue;
	const YqQueueLabel *label = &queue->labels[0];
	float4		factor = queue->user_limit_factor;

	if (sets(queue, YQ_INHERITED_MINIMUM_USER_LIMIT_PERCENT) && (queue->user_limit > 100 || queue->user_limit <= 0))
		advise(advising, "minimum-user-limit-percent", yq_float_text(queue->user_limit),
			   queue->user_limit > 100 ? "a value above 100 counts as 100: the first user is promised everything" :
			   "no user is guaranteed anything");
	if (sets(queue, YQ_INHERITED_USER_LIMIT_FACTOR))
	{
		if (factor != -1 && factor <= 0)
			advise(advising, "user-limit-factor", yq_float_text(factor), "no user may use anything of the queue; -1 is no limit");
		else if (factor > 0 && label->maximum.text != NULL && label->configured > 0 && label->configured <= label->configured_maximum &&
				 label->configured_maximum <= 1 &&
				 factor * label->configured < label->configured_maximum - PRECISION)
			advise(advising, "user-limit-factor", yq_float_text(factor),
				   psprintf("a user alone may use %s %% of the parent, and never maximum-capacity %s %%",
							percent_text((double) factor * label->configured),
							percent_text(label->configured_maximum)));
	}
	for (int i = 0; i < queue->own_weight_count; i++)
	{
		if (queue->own_weights[i].weight == 0)
			advise(advising, psprintf("user-settings.%s.weight", queue->own_weights[i].username), "0",
				   "the user may not use anything of the queue");
	}
}

static void
advise_applications(Advising *advising)
{
	const YqQueue *queue = advising->queue;
	const YqInheritedValue *parallel = &queue->inherited[YQ_INHERITED_MAX_PARALLEL_APPS];

	if (queue->kind == YQ_QUEUE_LEAF && queue->maximum_applications == 0)
		advise(advising, "maximum-applications", "0", "no user can submit to the queue; to stop it, set state");
	if (sets(queue, YQ_INHERITED_MAX_PARALLEL_APPS) && pg_strtoint32(parallel->value) <= 0)
		advise(advising, "max-parallel-apps", parallel->value, "applications are accepted and never start");
	if (sets(queue, YQ_INHERITED_MAXIMUM_AM_RESOURCE_PERCENT) && (queue->am_percent > 1 || queue->am_percent < 0))
		advise(advising, "maximum-am-resource-percent", yq_float_text(queue->am_percent),
			   "the value is a fraction, of which 1 is the whole queue, not a percentage");
	if (queue->child_count > 0 && sets(queue, YQ_INHERITED_DEFAULT_APPLICATION_LIFETIME) &&
		queue->default_lifetime > 0 && queue->maximum_lifetime <= 0)
		advise(advising, "default-application-lifetime", psprintf(INT64_FORMAT, queue->default_lifetime),
			   "queues below inherit it only with a maximum-application-lifetime");
}

/* Advise about disable_preemption while preemption is off, because no queue loses containers then. */
static void
advise_preemption(Advising *advising)
{
	const char *off_because;

	if (!sets(advising->queue, YQ_INHERITED_DISABLE_PREEMPTION) ||
		strcmp(advising->queue->inherited[YQ_INHERITED_DISABLE_PREEMPTION].value, "true") != 0)
		return;
	off_because = yq_preemption_off_because();
	if (off_because != NULL)
		advise(advising, "disable_preemption", "true",
			   psprintf("the setting has no effect: preemption is off because of %s", off_because));
}

/*
 * Advise about a managed parent that has configured children.  Hadoop accepts such a
 * queue when it starts.  When its configuration is refreshed, Hadoop does not turn a
 * queue with children into a managed parent.
 */
static void
advise_managed_parent(Advising *advising)
{
	const YqQueue *queue = advising->queue;

	for (int i = 0; i < queue->child_count; i++)
	{
		if (queue->children[i]->is_auto_created)
			continue;
		advise(advising, "auto-create-child-queue.enabled", "true",
			   psprintf("%s is configured below the queue, which creates its children itself: Hadoop supports only one of the two",
						queue->children[i]->path));
		break;
	}
	advising->findings = yq_scheduler_advise_managed_parent(advising->findings, queue->path);
}

static void
advise_queue(Advising *advising, const YqQueue *queue)
{
	advising->queue = queue;
	if (queue->parent == NULL)
		advise_root(advising);
	else
		advise_capacities(advising);
	advise_labels(advising);
	if (queue->kind == YQ_QUEUE_LEAF)
		advise_user_limits(advising);
	if (queue->kind == YQ_QUEUE_MANAGED_PARENT)
		advise_managed_parent(advising);
	if (queue->kind == YQ_QUEUE_PLAN)
		advising->findings = yq_reservation_advise_plan(advising->findings, queue->path);
	advise_applications(advising);
	advise_preemption(advising);
}

/* -- findings in lists, priorities and rules ------------------------------- */

static bool
is_open(const YqQueue *queue, YqQueueOperation operation)
{
	const YqAcl *acl = queue->acls[operation];

	return acl == NULL ? strcmp(queue->path, "root") == 0 : acl->everybody;
}

/* Does the queue have an access list that does not admit everybody? */
static bool
is_restricted(const YqQueue *queue, YqQueueOperation operation)
{
	return queue->acls[operation] != NULL && !queue->acls[operation]->everybody;
}

/* Return the nearest ancestor whose access list admits everybody, or NULL. */
static const YqQueue *
open_queue_above(const YqQueue *queue, YqQueueOperation operation)
{
	for (queue = queue->parent; queue != NULL; queue = queue->parent)
	{
		if (is_open(queue, operation))
			return queue;
	}
	return NULL;
}

static void
advise_lists(Advising *advising, const YqQueue *queue)
{
	for (YqQueueOperation operation = YQ_SUBMIT_APPLICATIONS; operation <= YQ_ADMINISTER_QUEUE; operation++)
	{
		const YqQueue *open = open_queue_above(queue, operation);

		if (queue->parent == NULL && is_open(queue, operation))
			advise(advising, yq_acl_columns[operation], queue->acls[operation] == NULL ? NULL : "*",
				   psprintf("every user may %s all queues, because lists add up from the queue to root; one blank is no user",
							operation == YQ_SUBMIT_APPLICATIONS ? "submit to" : "administer"));
		else if (is_restricted(queue, operation) && open != NULL)
			advise(advising, yq_acl_columns[operation], NULL,
				   psprintf("the list has no effect: the list of %s allows every user, and lists add up from the queue to root", open->path));
	}
}

static void
advise_access(Advising *advising, const YqQueue *queue)
{
	const YqAccessSettings *settings = &advising->hierarchy->access;
	int32		most = settings->maximum_priority;

	advising->queue = queue;
	if (settings->acl_enable)
		advise_lists(advising, queue);
	if (queue->default_priority > most)
		advise(advising, "default-application-priority", psprintf("%d", queue->default_priority),
			   psprintf("the priority is lowered to yarn.cluster.max-application-priority, which is %d", most));
}

/* -- settings of the cluster ----------------------------------------------- */

static const char *
property_of_rules(YqRuleKind kind)
{
	return kind == YQ_RULE_JSON ? "mapping-rule-json" :
		kind == YQ_RULE_LEGACY ? "queue-mappings" : "queue-placement-rules.app-name";
}

/* Advise about rules that are never tried, because an earlier rule matches everybody. */
static void
advise_rules(Advising *advising)
{
	const YqMappingRule *rules = advising->hierarchy->mapping_rules.rules;
	int			count = advising->hierarchy->mapping_rules.count;

	if (count > 0 && !advising->hierarchy->access.rules_in_force)
		advise(advising, property_of_rules(rules[0].kind), NULL,
			   "no rule is used: yarn.scheduler.queue-placement-rules has neither user-group nor app-name");
	for (int i = 0; i < count - 1; i++)
	{
		const YqMappingRule *rule = &rules[i];

		if (rule->match == YQ_MATCH_EVERYBODY &&
			(rule->action == YQ_RULE_REJECT ||
			 (rule->action == YQ_RULE_PLACE && rule->fallback != YQ_FALLBACK_SKIP)))
		{
			advise(advising, property_of_rules(rule->kind), rule->target,
				   psprintf("%s mapping rule %d decides for every user: %d after it are never looked at",
							yq_rule_kind_name(rule->kind), rule->position, count - 1 - i));
			return;
		}
	}
}

static bool
is_restricted_anywhere(const YqHierarchy *hierarchy)
{
	for (int i = 0; i < hierarchy->queue_count; i++)
	{
		const YqQueue *queue = hierarchy->queues[i];

		if (is_restricted(queue, YQ_SUBMIT_APPLICATIONS) || is_restricted(queue, YQ_ADMINISTER_QUEUE))
			return true;
	}
	return false;
}

static bool
has_labels(const YqHierarchy *hierarchy)
{
	for (int i = 0; i < hierarchy->queue_count; i++)
	{
		if (hierarchy->queues[i]->label_count > 1)
			return true;
	}
	return false;
}

static void
advise_cluster(Advising *advising)
{
	const YqAccessSettings *settings = &advising->hierarchy->access;

	advising->queue = NULL;
	if (!settings->acl_enable && is_restricted_anywhere(advising->hierarchy))
		advise(advising, "yarn.acl.enable", "false", "lists of queues name users and groups, but are ignored");
	if (settings->acl_enable && settings->admin_acl->everybody)
		advise(advising, "yarn.admin.acl", settings->has_admin_acl ? "*" : NULL, "every user is an administrator of the cluster");
	if (!advising->hierarchy->settings.has_node_labels && has_labels(advising->hierarchy))
		advise(advising, "yarn.node-labels.enabled", "false", "queues have capacities on labels, but labels are not used");
	advise_rules(advising);
	advising->findings = yq_scheduler_advise(advising->findings, advising->is_wanted);
	advising->findings = yq_preemption_advise(advising->findings, advising->is_wanted);
	advising->findings = yq_opportunistic_advise(advising->findings);
	advising->findings = yq_reservation_advise(advising->findings, advising->is_wanted);
}

/*
 * Advise about a plan whose reservations are not protected by preemption.  This finding
 * is only in configuration_advice().  A change of a plan gives no warning, because the
 * finding also depends on another setting.
 */
static void
advise_promises(Advising *advising, const YqQueue *queue)
{
	const char *off_because = queue->kind == YQ_QUEUE_PLAN ? yq_preemption_off_because() : NULL;

	if (off_because != NULL)
		advise(advising, "reservable", "true",
			   psprintf("reservations wait until containers of other queues end: preemption is off because of %s", off_because));
}

List *
yq_configuration_advice(const YqHierarchy *hierarchy)
{
	Advising	advising = {.hierarchy = hierarchy};

	for (int i = 0; i < hierarchy->queue_count - hierarchy->orphan_count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (hierarchy->queues[i]->is_auto_created || yq_queue_is_of_plan(hierarchy->queues[i]))
			continue;
		advise_queue(&advising, hierarchy->queues[i]);
		advise_promises(&advising, hierarchy->queues[i]);
		advise_access(&advising, hierarchy->queues[i]);
	}
	advise_cluster(&advising);
	return yq_scheduler_advise_unmapped(advising.findings);
}

/* -- warnings -------------------------------------------------------------- */

/* Changes that this transaction has made, in memory of the transaction. */
typedef struct Changes
{
	TransactionId transaction;
	HTAB	   *queues;			/* YqBytes: paths */
	bool		lists_too;		/* access lists or priorities of some queue have changed */
	bool		cluster_too;	/* settings of the whole cluster have changed, too */
	List	   *settings;		/* columns of scheduler_setting that have changed: char * elements */
} Changes;

static Changes changes = {.transaction = InvalidTransactionId};

static Changes *
changes_of_transaction(void)
{
	if (changes.transaction != GetTopTransactionId())
	{
		memset(&changes, 0, sizeof(changes));
		changes.queues = yq_bytes_table_create("yquota changed queues", sizeof(YqBytes), TopTransactionContext);
		changes.transaction = GetTopTransactionId();
	}
	return &changes;
}

/* Does the column have the same value before and after an UPDATE? */
static bool
is_same_column(TriggerData *trigger, const char *name)
{
	TupleDesc	descriptor = RelationGetDescr(trigger->tg_relation);
	AttrNumber	column = yq_column(trigger->tg_relation, name);
	Form_pg_attribute attribute = TupleDescAttr(descriptor, column - 1);
	bool		old_isnull;
	bool		new_isnull;
	Datum		old_value = heap_getattr(trigger->tg_trigtuple, column, descriptor, &old_isnull);
	Datum		new_value = heap_getattr(trigger->tg_newtuple, column, descriptor, &new_isnull);

	return old_isnull == new_isnull &&
		(old_isnull || datum_image_eq(old_value, new_value, attribute->attbyval, attribute->attlen));
}

static bool
changes_lists(TriggerData *trigger)
{
	return !TRIGGER_FIRED_BY_UPDATE(trigger->tg_event) ||
		!is_same_column(trigger, "acl_submit_applications") ||
		!is_same_column(trigger, "acl_administer_queue") ||
		!is_same_column(trigger, "default_application_priority");
}

static bool
is_changed_setting(const char *column)
{
	ListCell   *cell;

	foreach(cell, changes.settings)
	{
		if (strcmp(lfirst(cell), column) == 0)
			return true;
	}
	return false;
}

/*
 * Record the changed columns of scheduler_setting: all columns of an inserted or
 * deleted row, or the columns that an UPDATE changes.
 */
static void
note_settings(TriggerData *trigger)
{
	TupleDesc	descriptor = RelationGetDescr(trigger->tg_relation);
	MemoryContext caller = MemoryContextSwitchTo(TopTransactionContext);

	for (int i = 0; i < descriptor->natts; i++)
	{
		const char *column = NameStr(TupleDescAttr(descriptor, i)->attname);

		if (TupleDescAttr(descriptor, i)->attisdropped || is_changed_setting(column) ||
			(TRIGGER_FIRED_BY_UPDATE(trigger->tg_event) && is_same_column(trigger, column)))
			continue;
		changes.settings = lappend(changes.settings, pstrdup(column));
	}
	MemoryContextSwitchTo(caller);
}

/*
 * Record a change for the warnings at commit, as a trigger AFTER the change.  On a
 * table of queues, the trigger is FOR EACH ROW and its argument is the column that
 * contains the path.  On scheduler_setting, it is FOR EACH ROW without an argument.  On
 * other tables with settings of the whole cluster, it is FOR EACH STATEMENT.
 */
Datum
yq_sql_note_advice(PG_FUNCTION_ARGS)
{
	TriggerData *trigger = (TriggerData *) fcinfo->context;
	Changes    *noted;
	HeapTuple	row;
	bool		isnull;
	bool		found;
	text	   *path;
	YqBytes		key;

	if (!CALLED_AS_TRIGGER(fcinfo) || !TRIGGER_FIRED_AFTER(trigger->tg_event) ||
		trigger->tg_trigger->tgnargs > 1 ||
		(trigger->tg_trigger->tgnargs == 1 && !TRIGGER_FIRED_FOR_ROW(trigger->tg_event)))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("note_advice() must be called as a trigger AFTER a change")));
	noted = changes_of_transaction();
	if (trigger->tg_trigger->tgnargs == 0)
	{
		noted->cluster_too = true;
		if (TRIGGER_FIRED_FOR_ROW(trigger->tg_event))
			note_settings(trigger);
		PG_RETURN_POINTER(NULL);
	}
	row = TRIGGER_FIRED_BY_UPDATE(trigger->tg_event) ? trigger->tg_newtuple : trigger->tg_trigtuple;
	path = DatumGetTextPP(heap_getattr(row, yq_column(trigger->tg_relation, trigger->tg_trigger->tgargs[0]),
									   RelationGetDescr(trigger->tg_relation), &isnull));
	key.data = VARDATA_ANY(path);
	key.length = VARSIZE_ANY_EXHDR(path);
	(void) yq_bytes_table_enter(noted->queues, key, TopTransactionContext, &found);
	noted->lists_too = noted->lists_too ||
		(RelationGetRelid(trigger->tg_relation) == yq_table_oid(YQ_QUEUE) && changes_lists(trigger));
	PG_RETURN_POINTER(NULL);
}

static char *
describe_place(const YqViolation *finding)
{
	char	   *place = psprintf("%s, property %s",
								 finding->queue == NULL ? "Cluster" : psprintf("Queue %s", finding->queue),
								 finding->property);

	return finding->value == NULL ? place : psprintf("%s, value %s", place, finding->value);
}

static void
warn_of_findings(List *findings)
{
	for (int i = 0; i < Min(list_length(findings), MOST_WARNINGS); i++)
	{
		const YqViolation *finding = list_nth(findings, i);

		ereport(WARNING,
				(errmsg("unwise configuration of queues: %s", finding->message),
				 errdetail("%s.", describe_place(finding))));
	}
	if (list_length(findings) > MOST_WARNINGS)
		ereport(WARNING,
				(errmsg("unwise configuration of queues: %d more findings", list_length(findings) - MOST_WARNINGS),
				 errhint("All findings are in yquota.configuration_advice().")));
}

void
yq_advise_transaction(const YqHierarchy *hierarchy)
{
	Advising	advising = {.hierarchy = hierarchy, .is_wanted = is_changed_setting};

	if (changes.transaction != GetTopTransactionIdIfAny() || !TransactionIdIsValid(changes.transaction))
		return;
	for (int i = 0; hash_get_num_entries(changes.queues) > 0 && i < hierarchy->queue_count - hierarchy->orphan_count; i++)
	{
		const YqQueue *queue = hierarchy->queues[i];

		if (queue->is_auto_created || yq_bytes_table_find(changes.queues, queue->key) == NULL)
			continue;
		advise_queue(&advising, queue);
		if (changes.lists_too)
			advise_access(&advising, queue);
	}
	if (changes.cluster_too)
		advise_cluster(&advising);
	changes.transaction = InvalidTransactionId;
	warn_of_findings(advising.findings);
}

/* configuration_advice() */
Datum
yq_sql_configuration_advice(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	List	   *findings;
	ListCell   *cell;

	InitMaterializedSRF(fcinfo, 0);
	findings = yq_configuration_advice(yq_hierarchy_get());
	foreach(cell, findings)
	{
		const YqViolation *finding = lfirst(cell);
		const char *const texts[] = {finding->queue, finding->property, finding->value, finding->message};
		Datum		values[lengthof(texts)];
		bool		nulls[lengthof(texts)];

		for (int i = 0; i < (int) lengthof(texts); i++)
		{
			nulls[i] = (texts[i] == NULL);
			values[i] = nulls[i] ? (Datum) 0 : CStringGetTextDatum(texts[i]);
		}
		tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
	}
	return (Datum) 0;
}
