/*-------------------------------------------------------------------------
 *
 * hierarchy_resolve.c
 *	  The effective properties of a queue: set by the queue or its template, or
 *	  inherited (docs/design.md 5).
 *
 * A parent's properties are set before the properties of its children, so a child
 * inherits by copying.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "queues/hierarchy_labels.h"
#include "queues/text.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

const char *const yq_inherited_property_names[YQ_INHERITED_PROPERTIES] = {
	[YQ_INHERITED_ACCESSIBLE_NODE_LABELS] = "accessible_node_labels",
	[YQ_INHERITED_DEFAULT_APPLICATION_LIFETIME] = "default_application_lifetime",
	[YQ_INHERITED_DEFAULT_NODE_LABEL_EXPRESSION] = "default_node_label_expression",
	[YQ_INHERITED_DISABLE_PREEMPTION] = "disable_preemption",
	[YQ_INHERITED_INTRA_QUEUE_DISABLE_PREEMPTION] = "intra_queue_preemption_disable_preemption",
	[YQ_INHERITED_MAX_PARALLEL_APPS] = "max_parallel_apps",
	[YQ_INHERITED_MAXIMUM_ALLOCATION] = "maximum_allocation",
	[YQ_INHERITED_MAXIMUM_AM_RESOURCE_PERCENT] = "maximum_am_resource_percent",
	[YQ_INHERITED_MAXIMUM_APPLICATION_LIFETIME] = "maximum_application_lifetime",
	[YQ_INHERITED_MINIMUM_USER_LIMIT_PERCENT] = "minimum_user_limit_percent",
	[YQ_INHERITED_MULTI_NODE_SORTING_POLICY] = "multi_node_sorting_policy",
	[YQ_INHERITED_ORDERING_POLICY] = "ordering_policy",
	[YQ_INHERITED_USER_LIMIT_FACTOR] = "user_limit_factor",
};

const char yq_from_setting[] = "scheduler_setting";
const char yq_from_template[] = "template";

/* -- properties of the queue itself ---------------------------------------------- */

static bool
own_float(YqResolving *resolving, YqQueueColumn column, const char *property, float4 *value)
{
	char	   *text;

	if (yq_resolving_is_own(resolving, column))
	{
		*value = DatumGetFloat4(resolving->row->values[column]);
		return true;
	}
	text = yq_resolving_template(resolving, property);
	if (text == NULL)
		return false;
	*value = strtof(text, NULL);
	return true;
}

static bool
own_integer(YqResolving *resolving, YqQueueColumn column, bool is_long, const char *property, int64 *value)
{
	char	   *text;

	if (yq_resolving_is_own(resolving, column))
	{
		*value = is_long ? DatumGetInt64(resolving->row->values[column]) :
			DatumGetInt32(resolving->row->values[column]);
		return true;
	}
	text = yq_resolving_template(resolving, property);
	if (text == NULL)
		return false;
	*value = strtoll(text, NULL, 10);
	return true;
}

static bool
row_flag(const YqQueueRow *row, YqQueueColumn column)
{
	return !row->nulls[column] && DatumGetBool(row->values[column]);
}

static bool
own_flag(YqResolving *resolving, YqQueueColumn column, const char *property, bool otherwise)
{
	if (yq_resolving_is_own(resolving, column))
		return row_flag(resolving->row, column);
	return yq_template_flag(yq_resolving_template(resolving, property), otherwise);
}

/* -- inheriting ------------------------------------------------------------ */

static float4
resolve_float(YqResolving *resolving, YqInheritedProperty property, YqQueueColumn column,
			  const char *hadoop_property, float4 setting, bool is_set, float4 created)
{
	YqQueue    *queue = resolving->queue;
	float4		value;

	if (own_float(resolving, column, hadoop_property, &value))
		yq_resolving_note(queue, property, yq_float_text(value), resolving->from);
	else if (queue->is_dynamic && queue->kind == YQ_QUEUE_LEAF)
	{
		value = created;
		yq_resolving_note(queue, property, yq_float_text(value), NULL);
	}
	else
	{
		value = setting;
		/* make the text only for root, because all queues that inherit it share the pointer */
		if (queue->parent != NULL && queue->parent->inherited[property].from != queue->parent->path &&
			queue->parent->inherited[property].value != NULL &&
			queue->parent->inherited[property].from != yq_from_template)
			queue->inherited[property] = queue->parent->inherited[property];
		else
			yq_resolving_note(queue, property, yq_float_text(value), is_set ? yq_from_setting : NULL);
	}
	return value;
}

static void
resolve_parallel_limit(YqResolving *resolving)
{
	const YqSchedulerSettings *settings = &resolving->loader->hierarchy->settings;
	int64		value;

	if (own_integer(resolving, YQ_COL_MAX_PARALLEL_APPS, false, "max-parallel-apps", &value))
		yq_resolving_note(resolving->queue, YQ_INHERITED_MAX_PARALLEL_APPS, psprintf(INT64_FORMAT, value), resolving->from);
	else if (settings->has_max_parallel_apps)
		yq_resolving_note(resolving->queue, YQ_INHERITED_MAX_PARALLEL_APPS, psprintf("%d", settings->max_parallel_apps),
						  yq_from_setting);
}

static void
resolve_am_percent(YqResolving *resolving)
{
	const YqSchedulerSettings *settings = &resolving->loader->hierarchy->settings;

	resolving->queue->am_percent = resolve_float(resolving, YQ_INHERITED_MAXIMUM_AM_RESOURCE_PERCENT,
												 YQ_COL_MAXIMUM_AM_RESOURCE_PERCENT, "maximum-am-resource-percent",
												 settings->am_percent, settings->has_am_percent, 1);
}

/*
 * Set the properties of a queue of a plan.  Its only limits for users are those of the
 * plan (ReservationQueue.updateQuotas()).
 */
static void
resolve_limits_of_plan(YqResolving *resolving)
{
	YqQueue    *queue = resolving->queue;
	const YqQueue *plan = queue->parent;

	queue->user_limit = plan->user_limit;
	yq_resolving_note_parent(queue, YQ_INHERITED_MINIMUM_USER_LIMIT_PERCENT, NULL);
	queue->user_limit_factor = plan->user_limit_factor;
	yq_resolving_note_parent(queue, YQ_INHERITED_USER_LIMIT_FACTOR, NULL);
	resolve_am_percent(resolving);
	resolve_parallel_limit(resolving);
}

static void
resolve_user_limits(YqResolving *resolving)
{
	YqQueue    *queue = resolving->queue;
	const YqSchedulerSettings *settings = &resolving->loader->hierarchy->settings;
	int64		value;

	if (yq_queue_is_of_plan(queue))
	{
		resolve_limits_of_plan(resolving);
		return;
	}
	queue->user_limit = resolve_float(resolving, YQ_INHERITED_MINIMUM_USER_LIMIT_PERCENT,
									  YQ_COL_MINIMUM_USER_LIMIT_PERCENT, "minimum-user-limit-percent",
									  settings->user_limit, settings->has_user_limit, settings->user_limit);
	queue->user_limit_factor = resolve_float(resolving, YQ_INHERITED_USER_LIMIT_FACTOR, YQ_COL_USER_LIMIT_FACTOR,
											 "user-limit-factor", settings->user_limit_factor,
											 settings->has_user_limit_factor, -1);
	resolve_am_percent(resolving);
	queue->maximum_applications = -1;
	if (own_integer(resolving, YQ_COL_MAXIMUM_APPLICATIONS, false, "maximum-applications", &value))
		queue->maximum_applications = (int) value;
	resolve_parallel_limit(resolving);
}

static void
resolve_lifetimes(YqResolving *resolving)
{
	YqQueue    *queue = resolving->queue;
	YqQueue    *parent = queue->parent;
	bool		has_maximum = own_integer(resolving, YQ_COL_MAXIMUM_APPLICATION_LIFETIME, true,
										  "maximum-application-lifetime", &queue->maximum_lifetime);
	const char *maximum_from = resolving->from;
	bool		has_default;

	if (!has_maximum)
		queue->maximum_lifetime = -1;
	if (queue->maximum_lifetime >= 0 || parent == NULL)
		yq_resolving_note(queue, YQ_INHERITED_MAXIMUM_APPLICATION_LIFETIME, psprintf(INT64_FORMAT, queue->maximum_lifetime),
					   has_maximum ? maximum_from : NULL);
	else
	{
		queue->maximum_lifetime = parent->maximum_lifetime;
		yq_resolving_note_parent(queue, YQ_INHERITED_MAXIMUM_APPLICATION_LIFETIME, NULL);
	}

	has_default = own_integer(resolving, YQ_COL_DEFAULT_APPLICATION_LIFETIME, true,
							  "default-application-lifetime", &queue->default_lifetime);
	if (!has_default)
		queue->default_lifetime = -1;
	queue->default_lifetime_is_specified = queue->default_lifetime >= 0 ||
		(parent != NULL && parent->default_lifetime_is_specified);
	if (parent != NULL && queue->default_lifetime < 0)
		queue->default_lifetime = queue->default_lifetime_is_specified ?
			Min(parent->default_lifetime, queue->maximum_lifetime) : queue->maximum_lifetime;
	queue->checked_default_lifetime = queue->default_lifetime;
	if (parent != NULL && queue->default_lifetime <= 0)
		queue->default_lifetime = queue->maximum_lifetime;
	if (has_default || parent == NULL)
		yq_resolving_note(queue, YQ_INHERITED_DEFAULT_APPLICATION_LIFETIME, psprintf(INT64_FORMAT, queue->default_lifetime),
					   has_default ? resolving->from : NULL);
	else if (queue->default_lifetime == parent->default_lifetime)
		yq_resolving_note_parent(queue, YQ_INHERITED_DEFAULT_APPLICATION_LIFETIME, NULL);
	else
		yq_resolving_note(queue, YQ_INHERITED_DEFAULT_APPLICATION_LIFETIME, psprintf(INT64_FORMAT, queue->default_lifetime),
					   queue->inherited[YQ_INHERITED_MAXIMUM_APPLICATION_LIFETIME].from);
}

/* Return maximum-allocation, or NULL if it is not set.  A template writes it as memory-mb=1024,vcores=1. */
static const int64 *
own_allocation(YqResolving *resolving)
{
	YqHierarchy *hierarchy = resolving->loader->hierarchy;
	YqCapacity	capacity;
	char	   *text;

	if (yq_resolving_is_own(resolving, YQ_COL_MAXIMUM_ALLOCATION))
		return yq_hierarchy_read_amounts(hierarchy, resolving->row->values[YQ_COL_MAXIMUM_ALLOCATION]);
	text = yq_resolving_template(resolving, "maximum-allocation");
	if (text == NULL)
		return NULL;
	yq_capacity_parse(&capacity, psprintf("[%s]", text), hierarchy->type_names, hierarchy->calculator.types);
	return capacity.amounts;
}

/* Set the largest container that a queue allows.  Types that the queue does not set get the parent's amount. */
static void
resolve_maximum_allocation(YqResolving *resolving)
{
	YqHierarchy *hierarchy = resolving->loader->hierarchy;
	YqQueue    *queue = resolving->queue;
	const int64 *most = hierarchy->settings.maximum_allocation;
	const int64 *above = queue->parent == NULL ? most : queue->parent->maximum_allocation;
	const int64 *own = own_allocation(resolving);
	const int64 *shown = NULL;
	const char *from = resolving->from;
	bool		exceeds = false;

	queue->maximum_allocation = yq_hierarchy_amounts(hierarchy);
	memcpy(queue->maximum_allocation, above, hierarchy->calculator.types * sizeof(int64));
	if (own != NULL)
	{
		for (int i = 0; i < hierarchy->calculator.types; i++)
		{
			exceeds = exceeds || own[i] > most[i];
			/* a maximum-allocation always sets memory and cores, but other types only if they are named */
			if (i <= YQ_VCORES || own[i] != 0)
				queue->maximum_allocation[i] = own[i];
		}
		shown = own;
	}
	else
	{
		static const YqQueueColumn columns[] = {YQ_COL_MAXIMUM_ALLOCATION_MB, YQ_COL_MAXIMUM_ALLOCATION_VCORES};
		static const char *const properties[] = {"maximum-allocation-mb", "maximum-allocation-vcores"};

		for (int i = 0; i < 2; i++)
		{
			int64		value;

			if (!own_integer(resolving, columns[i], false, properties[i], &value) || value == -1)
				continue;
			queue->maximum_allocation[i] = value;
			from = resolving->from;
			exceeds = exceeds || queue->maximum_allocation[i] > most[i];
			shown = queue->maximum_allocation;
		}
	}
	if (exceeds)
		queue->maximum_allocation_problem = yq_amounts_text(hierarchy, shown);
	if (shown != NULL || queue->parent == NULL)
		yq_resolving_note(queue, YQ_INHERITED_MAXIMUM_ALLOCATION, yq_amounts_text(hierarchy, queue->maximum_allocation),
					   shown != NULL ? from : yq_from_setting);
	else
		yq_resolving_note_parent(queue, YQ_INHERITED_MAXIMUM_ALLOCATION, NULL);
}

static void
resolve_flag(YqResolving *resolving, YqInheritedProperty property, YqQueueColumn column, const char *hadoop_property)
{
	char	   *text;

	if (yq_resolving_is_own(resolving, column))
		yq_resolving_note(resolving->queue, property, row_flag(resolving->row, column) ? "true" : "false",
					   resolving->from);
	else if ((text = yq_resolving_template(resolving, hadoop_property)) != NULL)
		yq_resolving_note(resolving->queue, property, yq_template_flag(text, false) ? "true" : "false",
					   resolving->from);
	else
		yq_resolving_note_parent(resolving->queue, property, "false");
}

/* Return the value of an option whose name follows "ordering-policy." in Hadoop's properties. */
static char *
own_option(YqResolving *resolving, const char *option)
{
	char	   *text = NULL;

	if (yq_resolving_is_own(resolving, YQ_COL_ORDERING_POLICY_OPTIONS))
		text = yq_template_text(DatumGetJsonbP(resolving->row->values[YQ_COL_ORDERING_POLICY_OPTIONS]), option);
	return text != NULL ? text : yq_resolving_template(resolving, psprintf("ordering-policy.%s", option));
}

static void
resolve_order(YqResolving *resolving)
{
	YqQueue    *queue = resolving->queue;
	int64		priority;

	if (own_integer(resolving, YQ_COL_PRIORITY, false, "priority", &priority))
		queue->priority = (int32) priority;
	queue->weighs_by_size = yq_template_flag(own_option(resolving, "fair.enable-size-based-weight"), false);
	queue->own_partitions = own_option(resolving, "exclusive-enforced-partitions");
}

static void
resolve_policies(YqResolving *resolving)
{
	YqHierarchy *hierarchy = resolving->loader->hierarchy;
	YqQueue    *queue = resolving->queue;
	char	   *policy = yq_resolving_text(resolving, YQ_COL_ORDERING_POLICY, "ordering-policy");

	if (policy != NULL)
		yq_resolving_note(queue, YQ_INHERITED_ORDERING_POLICY, policy, resolving->from);
	else if (queue->kind == YQ_QUEUE_LEAF)
		yq_resolving_note(queue, YQ_INHERITED_ORDERING_POLICY, "fifo", NULL);
	else
		yq_resolving_note_parent(queue, YQ_INHERITED_ORDERING_POLICY, "utilization");

	policy = yq_resolving_text(resolving, YQ_COL_MULTI_NODE_SORTING_POLICY, "multi-node-sorting.policy");
	queue->multi_node_policy = policy != NULL ? policy : hierarchy->settings.multi_node_policy;
	if (queue->multi_node_policy != NULL)
		yq_resolving_note(queue, YQ_INHERITED_MULTI_NODE_SORTING_POLICY, queue->multi_node_policy,
					   policy != NULL ? resolving->from : yq_from_setting);
	resolve_flag(resolving, YQ_INHERITED_DISABLE_PREEMPTION, YQ_COL_DISABLE_PREEMPTION, "disable_preemption");
	resolve_flag(resolving, YQ_INHERITED_INTRA_QUEUE_DISABLE_PREEMPTION, YQ_COL_INTRA_QUEUE_DISABLE_PREEMPTION,
				 "intra-queue-preemption.disable_preemption");
}

/* -- resolving ------------------------------------------------------------- */

static YqQueueKind
resolve_kind(const YqQueue *queue, const YqQueueRow *row)
{
	if (row_flag(row, YQ_COL_AUTO_CREATE_CHILD_QUEUE_ENABLED))
		return YQ_QUEUE_MANAGED_PARENT;
	if (row->is_plan)
		return YQ_QUEUE_PLAN;
	return queue->child_count > 0 || row_flag(row, YQ_COL_V2_ENABLED) ? YQ_QUEUE_PARENT : YQ_QUEUE_LEAF;
}

/*
 * Set the properties of dynamic queues: whether and how children are created, and how
 * long an unused queue lives.
 */
static void
resolve_creation(YqResolving *resolving)
{
	YqQueue    *queue = resolving->queue;
	const YqSchedulerSettings *settings = &resolving->loader->hierarchy->settings;
	bool		is_managed = queue->kind == YQ_QUEUE_MANAGED_PARENT;
	int64		value;

	queue->most_children = 1000;
	if (is_managed ? own_integer(resolving, YQ_COL_AUTO_CREATE_CHILD_QUEUE_MAX_QUEUES, false,
								 "auto-create-child-queue.max-queues", &value) :
		own_integer(resolving, YQ_COL_V2_MAX_QUEUES, false, "auto-queue-creation-v2.max-queues", &value))
		queue->most_children = (int) value;
	queue->maximum_depth = settings->maximum_depth;
	if (own_integer(resolving, YQ_COL_V2_MAXIMUM_QUEUE_DEPTH, false,
					"auto-queue-creation-v2.maximum-queue-depth", &value))
		queue->maximum_depth = (int) value;
	queue->fails_beyond_guarantee = is_managed && row_flag(resolving->row, YQ_COL_AUTO_CREATE_CHILD_QUEUE_FAIL);
	queue->is_removed_when_unused = queue->is_dynamic &&
		own_flag(resolving, YQ_COL_V2_AUTO_REMOVAL, "auto-queue-creation-v2.queue-auto-removal.enable", true);
}

static void
resolve_state(YqResolving *resolving)
{
	const YqQueueRow *row = resolving->row;
	char	   *text;

	if (!row->nulls[YQ_COL_STATE])
		resolving->queue->configured_state =
			DatumGetObjectId(row->values[YQ_COL_STATE]) == resolving->loader->running ? 'R' : 'S';
	else if ((text = yq_resolving_template(resolving, "state")) != NULL)
		resolving->queue->configured_state = pg_strcasecmp(text, "STOPPED") == 0 ? 'S' :
			pg_strcasecmp(text, "RUNNING") == 0 ? 'R' : 0;
}

/* Set the users' weights from rows, or from templates for users without a row. */
static void
resolve_weights(YqResolving *resolving)
{
	YqQueue    *queue = resolving->queue;
	const YqWeightRow *rows = yq_templates_weights(&resolving->templates, resolving->row->weights);
	int			count = 0;

	for (const YqWeightRow *weight = rows; weight != NULL; weight = weight->next)
		count++;
	queue->own_weights = count == 0 ? NULL : palloc(sizeof(YqUserWeight) * count);
	for (const YqWeightRow *weight = rows; weight != NULL; weight = weight->next)
	{
		queue->own_weights[queue->own_weight_count].username = pstrdup(weight->username);
		queue->own_weights[queue->own_weight_count++].weight = weight->weight;
	}
	queue->weights_from = count > 0 ? queue : queue->parent == NULL ? NULL : queue->parent->weights_from;
}

/* Set auto_promote_after.  A month counts as 30 days, as in the server's comparison of intervals. */
static void
resolve_promotion(YqResolving *resolving)
{
	YqHierarchy *hierarchy = resolving->loader->hierarchy;
	YqQueue    *queue = resolving->queue;
	const YqQueueRow *row = resolving->row;
	const Interval *after;

	queue->promotes_as = queue->parent == NULL ? NULL : queue->parent->promotes_as;
	if (row->nulls[YQ_COL_AUTO_PROMOTE_AFTER])
		return;
	after = DatumGetIntervalP(row->values[YQ_COL_AUTO_PROMOTE_AFTER]);
	queue->auto_promote_after = after->time + (after->day + (int64) after->month * DAYS_PER_MONTH) * USECS_PER_DAY;
	queue->promotes_as = queue;
	if (hierarchy->shortest_auto_promotion == 0 || queue->auto_promote_after < hierarchy->shortest_auto_promotion)
		hierarchy->shortest_auto_promotion = queue->auto_promote_after;
}

static bool
holds_quotes(const YqQueue *queue, const YqQueueRow *row)
{
	if (row->nulls[YQ_COL_HOLD_POLICY])
		return queue->parent != NULL && queue->parent->holds_quotes;
	return strcmp(TextDatumGetCString(row->values[YQ_COL_HOLD_POLICY]), "quote") == 0;
}

void
yq_hierarchy_resolve(YqHierarchyLoader *loader, YqQueue *queue, const bool *configured_anywhere)
{
	YqResolving	resolving = {.loader = loader, .queue = queue,
		.row = loader->row_of[queue->number]};
	const YqQueueRow *row = resolving.row;

	queue->kind = resolve_kind(queue, row);
	queue->is_reservable = row_flag(row, YQ_COL_RESERVABLE);
	queue->shows_reservations = row->is_plan && row_flag(row, YQ_COL_SHOW_RESERVATIONS);
	queue->allows_zero_sum = row_flag(row, YQ_COL_ALLOW_ZERO_CAPACITY_SUM);
	queue->is_dynamic = queue->is_auto_created && queue->parent != NULL &&
		queue->parent->kind != YQ_QUEUE_MANAGED_PARENT;
	queue->creates_v2 = row_flag(row, YQ_COL_V2_ENABLED) || (queue->is_auto_created && queue->child_count > 0);
	queue->holds_quotes = holds_quotes(queue, row);
	resolving.templates = yq_templates_of(loader, queue);
	resolve_state(&resolving);
	resolve_creation(&resolving);
	resolve_user_limits(&resolving);
	resolve_lifetimes(&resolving);
	resolve_maximum_allocation(&resolving);
	resolve_policies(&resolving);
	resolve_order(&resolving);
	yq_resolve_accessible_labels(&resolving);
	yq_resolve_default_label(&resolving);
	yq_resolve_labels(&resolving, configured_anywhere);
	yq_resolve_leaf_template(&resolving);
	resolve_weights(&resolving);
	resolve_promotion(&resolving);
	yq_hierarchy_resolve_access(queue, row, &resolving.templates);
}
