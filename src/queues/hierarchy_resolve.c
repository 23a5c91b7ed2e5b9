/*-------------------------------------------------------------------------
 *
 * hierarchy_resolve.c
 *	  What applies to a queue: what it sets, what its template says, what it
 *	  inherits (DESIGN 5).
 *
 * Parents are resolved before their children, so that inheriting is copying.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "catalog/pg_type_d.h"
#include "miscadmin.h"
#include "queues/template.h"
#include "queues/text.h"
#include "utils/array.h"
#include "utils/builtins.h"

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

/* -- what a queue sets itself ---------------------------------------------- */

/* A queue and its row, while it is resolved. */
typedef struct Resolving
{
	YqHierarchyLoader *loader;
	YqQueue    *queue;
	const YqQueueRow *row;
	YqTemplates templates;
	const char *from;			/* of the value that was found last */
} Resolving;

static bool
is_own_setting(Resolving *resolving, YqQueueColumn column)
{
	resolving->from = resolving->queue->path;
	return !resolving->row->nulls[column];
}

/* Look into the templates for what the row has not. */
static char *
own_template(Resolving *resolving, const char *property)
{
	resolving->from = yq_from_template;
	return yq_templates_text(&resolving->templates, property);
}

static char *
own_text(Resolving *resolving, YqQueueColumn column, const char *property)
{
	if (is_own_setting(resolving, column))
		return TextDatumGetCString(resolving->row->values[column]);
	return own_template(resolving, property);
}

static bool
own_float(Resolving *resolving, YqQueueColumn column, const char *property, float4 *value)
{
	char	   *text;

	if (is_own_setting(resolving, column))
	{
		*value = DatumGetFloat4(resolving->row->values[column]);
		return true;
	}
	text = own_template(resolving, property);
	if (text == NULL)
		return false;
	*value = strtof(text, NULL);
	return true;
}

static bool
own_integer(Resolving *resolving, YqQueueColumn column, bool is_long, const char *property, int64 *value)
{
	char	   *text;

	if (is_own_setting(resolving, column))
	{
		*value = is_long ? DatumGetInt64(resolving->row->values[column]) :
			DatumGetInt32(resolving->row->values[column]);
		return true;
	}
	text = own_template(resolving, property);
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
own_flag(Resolving *resolving, YqQueueColumn column, const char *property, bool otherwise)
{
	if (is_own_setting(resolving, column))
		return row_flag(resolving->row, column);
	return yq_template_flag(own_template(resolving, property), otherwise);
}

/* -- inheriting ------------------------------------------------------------ */

static void
note_inherited(YqQueue *queue, YqInheritedProperty property, const char *value, const char *from)
{
	queue->inherited[property].value = value;
	queue->inherited[property].from = from;
}

static void
note_from_parent(YqQueue *queue, YqInheritedProperty property, const char *fallback)
{
	if (queue->parent != NULL)
		queue->inherited[property] = queue->parent->inherited[property];
	else
		note_inherited(queue, property, fallback, NULL);
}

static float4
resolve_float(Resolving *resolving, YqInheritedProperty property, YqQueueColumn column,
			  const char *hadoop_property, float4 setting, bool is_set, float4 created)
{
	YqQueue    *queue = resolving->queue;
	float4		value;

	if (own_float(resolving, column, hadoop_property, &value))
		note_inherited(queue, property, yq_float_text(value), resolving->from);
	else if (queue->is_dynamic && queue->kind == YQ_QUEUE_LEAF)
	{
		value = created;
		note_inherited(queue, property, yq_float_text(value), NULL);
	}
	else
	{
		value = setting;
		/* the same text for all; root has made it */
		if (queue->parent != NULL && queue->parent->inherited[property].from != queue->parent->path &&
			queue->parent->inherited[property].value != NULL &&
			queue->parent->inherited[property].from != yq_from_template)
			queue->inherited[property] = queue->parent->inherited[property];
		else
			note_inherited(queue, property, yq_float_text(value), is_set ? yq_from_setting : NULL);
	}
	return value;
}

static void
resolve_user_limits(Resolving *resolving)
{
	YqQueue    *queue = resolving->queue;
	const YqSchedulerSettings *settings = &resolving->loader->hierarchy->settings;
	int64		value;

	queue->user_limit = resolve_float(resolving, YQ_INHERITED_MINIMUM_USER_LIMIT_PERCENT,
									  YQ_COL_MINIMUM_USER_LIMIT_PERCENT, "minimum-user-limit-percent",
									  settings->user_limit, settings->has_user_limit, settings->user_limit);
	queue->user_limit_factor = resolve_float(resolving, YQ_INHERITED_USER_LIMIT_FACTOR, YQ_COL_USER_LIMIT_FACTOR,
											 "user-limit-factor", settings->user_limit_factor,
											 settings->has_user_limit_factor, -1);
	queue->am_percent = resolve_float(resolving, YQ_INHERITED_MAXIMUM_AM_RESOURCE_PERCENT,
									  YQ_COL_MAXIMUM_AM_RESOURCE_PERCENT, "maximum-am-resource-percent",
									  settings->am_percent, settings->has_am_percent, 1);
	queue->maximum_applications = -1;
	if (own_integer(resolving, YQ_COL_MAXIMUM_APPLICATIONS, false, "maximum-applications", &value))
		queue->maximum_applications = (int) value;
	if (own_integer(resolving, YQ_COL_MAX_PARALLEL_APPS, false, "max-parallel-apps", &value))
		note_inherited(queue, YQ_INHERITED_MAX_PARALLEL_APPS, psprintf(INT64_FORMAT, value), resolving->from);
	else if (settings->has_max_parallel_apps)
		note_inherited(queue, YQ_INHERITED_MAX_PARALLEL_APPS, psprintf("%d", settings->max_parallel_apps), yq_from_setting);
}

static void
resolve_lifetimes(Resolving *resolving)
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
		note_inherited(queue, YQ_INHERITED_MAXIMUM_APPLICATION_LIFETIME, psprintf(INT64_FORMAT, queue->maximum_lifetime),
					   has_maximum ? maximum_from : NULL);
	else
	{
		queue->maximum_lifetime = parent->maximum_lifetime;
		note_from_parent(queue, YQ_INHERITED_MAXIMUM_APPLICATION_LIFETIME, NULL);
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
		note_inherited(queue, YQ_INHERITED_DEFAULT_APPLICATION_LIFETIME, psprintf(INT64_FORMAT, queue->default_lifetime),
					   has_default ? resolving->from : NULL);
	else if (queue->default_lifetime == parent->default_lifetime)
		note_from_parent(queue, YQ_INHERITED_DEFAULT_APPLICATION_LIFETIME, NULL);
	else
		note_inherited(queue, YQ_INHERITED_DEFAULT_APPLICATION_LIFETIME, psprintf(INT64_FORMAT, queue->default_lifetime),
					   queue->inherited[YQ_INHERITED_MAXIMUM_APPLICATION_LIFETIME].from);
}

/* maximum-allocation, which a template writes as memory-mb=1024,vcores=1; or NULL. */
static const int64 *
own_allocation(Resolving *resolving)
{
	YqHierarchy *hierarchy = resolving->loader->hierarchy;
	YqCapacity	capacity;
	char	   *text;

	if (is_own_setting(resolving, YQ_COL_MAXIMUM_ALLOCATION))
		return yq_hierarchy_read_amounts(hierarchy, resolving->row->values[YQ_COL_MAXIMUM_ALLOCATION]);
	text = own_template(resolving, "maximum-allocation");
	if (text == NULL)
		return NULL;
	yq_capacity_parse(&capacity, psprintf("[%s]", text), hierarchy->type_names, hierarchy->calculator.types);
	return capacity.amounts;
}

/* The largest container: what the queue sets of it, and the parent's rest. */
static void
resolve_maximum_allocation(Resolving *resolving)
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
			/* memory and cores are always set, others only where they are named */
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
		note_inherited(queue, YQ_INHERITED_MAXIMUM_ALLOCATION, yq_amounts_text(hierarchy, queue->maximum_allocation),
					   shown != NULL ? from : yq_from_setting);
	else
		note_from_parent(queue, YQ_INHERITED_MAXIMUM_ALLOCATION, NULL);
}

static void
resolve_flag(Resolving *resolving, YqInheritedProperty property, YqQueueColumn column, const char *hadoop_property)
{
	char	   *text;

	if (is_own_setting(resolving, column))
		note_inherited(resolving->queue, property, row_flag(resolving->row, column) ? "true" : "false",
					   resolving->from);
	else if ((text = own_template(resolving, hadoop_property)) != NULL)
		note_inherited(resolving->queue, property, yq_template_flag(text, false) ? "true" : "false",
					   resolving->from);
	else
		note_from_parent(resolving->queue, property, "false");
}

/* What follows ordering-policy. in Hadoop's names. */
static char *
own_option(Resolving *resolving, const char *option)
{
	char	   *text = NULL;

	if (is_own_setting(resolving, YQ_COL_ORDERING_POLICY_OPTIONS))
		text = yq_template_text(DatumGetJsonbP(resolving->row->values[YQ_COL_ORDERING_POLICY_OPTIONS]), option);
	return text != NULL ? text : own_template(resolving, psprintf("ordering-policy.%s", option));
}

static void
resolve_order(Resolving *resolving)
{
	YqQueue    *queue = resolving->queue;
	int64		priority;

	if (own_integer(resolving, YQ_COL_PRIORITY, false, "priority", &priority))
		queue->priority = (int32) priority;
	queue->weighs_by_size = yq_template_flag(own_option(resolving, "fair.enable-size-based-weight"), false);
	queue->own_partitions = own_option(resolving, "exclusive-enforced-partitions");
}

static void
resolve_policies(Resolving *resolving)
{
	YqHierarchy *hierarchy = resolving->loader->hierarchy;
	YqQueue    *queue = resolving->queue;
	char	   *policy = own_text(resolving, YQ_COL_ORDERING_POLICY, "ordering-policy");

	if (policy != NULL)
		note_inherited(queue, YQ_INHERITED_ORDERING_POLICY, policy, resolving->from);
	else if (queue->kind == YQ_QUEUE_LEAF || queue->kind == YQ_QUEUE_PLAN)
		note_inherited(queue, YQ_INHERITED_ORDERING_POLICY, "fifo", NULL);
	else
		note_from_parent(queue, YQ_INHERITED_ORDERING_POLICY, "utilization");

	policy = own_text(resolving, YQ_COL_MULTI_NODE_SORTING_POLICY, "multi-node-sorting.policy");
	queue->multi_node_policy = policy != NULL ? policy : hierarchy->settings.multi_node_policy;
	if (queue->multi_node_policy != NULL)
		note_inherited(queue, YQ_INHERITED_MULTI_NODE_SORTING_POLICY, queue->multi_node_policy,
					   policy != NULL ? resolving->from : yq_from_setting);
	resolve_flag(resolving, YQ_INHERITED_DISABLE_PREEMPTION, YQ_COL_DISABLE_PREEMPTION, "disable_preemption");
	resolve_flag(resolving, YQ_INHERITED_INTRA_QUEUE_DISABLE_PREEMPTION, YQ_COL_INTRA_QUEUE_DISABLE_PREEMPTION,
				 "intra-queue-preemption.disable_preemption");
}

/* -- labels ---------------------------------------------------------------- */

/* One label of a list, * for all of them. */
static void
add_accessible_label(Resolving *resolving, const char *name, bool *accessible)
{
	int			label = yq_hierarchy_label(resolving->loader->hierarchy, name);

	if (strcmp(name, "*") == 0)
		resolving->queue->any_label = true;
	else if (label >= 0)
		accessible[label] = true;
}

static void
add_accessible_row(Resolving *resolving, bool *accessible)
{
	Datum	   *labels;
	bool	   *nulls;
	int			count;

	deconstruct_array(DatumGetArrayTypeP(resolving->row->values[YQ_COL_ACCESSIBLE_NODE_LABELS]),
					  TEXTOID, -1, false, TYPALIGN_INT, &labels, &nulls, &count);
	for (int i = 0; i < count; i++)
	{
		if (!nulls[i])
			add_accessible_label(resolving, TextDatumGetCString(labels[i]), accessible);
	}
}

/* A template's list is Hadoop's: names parted by commas. */
static void
add_accessible_list(Resolving *resolving, char *list, bool *accessible)
{
	char	   *state = NULL;

	for (char *name = strtok_r(list, ", \t\n", &state); name != NULL; name = strtok_r(NULL, ", \t\n", &state))
		add_accessible_label(resolving, name, accessible);
}

static void
resolve_accessible_labels(Resolving *resolving)
{
	YqHierarchy *hierarchy = resolving->loader->hierarchy;
	YqQueue    *queue = resolving->queue;
	bool		has_row = is_own_setting(resolving, YQ_COL_ACCESSIBLE_NODE_LABELS);
	char	   *list;
	bool	   *accessible;

	if (queue->parent == NULL)
	{
		/* whatever is configured */
		queue->any_label = true;
		note_inherited(queue, YQ_INHERITED_ACCESSIBLE_NODE_LABELS, "{*}", NULL);
		return;
	}
	list = has_row ? NULL : own_template(resolving, "accessible-node-labels");
	if (!has_row && list == NULL)
	{
		queue->any_label = queue->parent->any_label;
		queue->accessible = queue->parent->accessible;
		note_from_parent(queue, YQ_INHERITED_ACCESSIBLE_NODE_LABELS, NULL);
		return;
	}
	accessible = palloc0(sizeof(bool) * hierarchy->label_count);
	if (has_row)
		add_accessible_row(resolving, accessible);
	else
		add_accessible_list(resolving, list, accessible);
	queue->accessible = accessible;
	note_inherited(queue, YQ_INHERITED_ACCESSIBLE_NODE_LABELS,
				   queue->any_label ? "{*}" : yq_labels_text(hierarchy, accessible), resolving->from);
}

/* Does a queue's set of labels contain all of its parent's? */
static bool
has_labels_of_parent(const YqHierarchy *hierarchy, const YqQueue *queue)
{
	if (queue->parent->any_label || queue->any_label)
		return queue->any_label && queue->parent->any_label;
	for (int i = 0; i < hierarchy->label_count; i++)
	{
		if (queue->parent->accessible[i] && !queue->accessible[i])
			return false;
	}
	return true;
}

static void
resolve_default_label(Resolving *resolving)
{
	YqQueue    *queue = resolving->queue;
	char	   *label = own_text(resolving, YQ_COL_DEFAULT_NODE_LABEL_EXPRESSION, "default-node-label-expression");

	if (label != NULL)
	{
		queue->default_label = label;
		note_inherited(queue, YQ_INHERITED_DEFAULT_NODE_LABEL_EXPRESSION, label, resolving->from);
	}
	else if (queue->parent != NULL && has_labels_of_parent(resolving->loader->hierarchy, queue))
	{
		queue->default_label = queue->parent->default_label;
		note_from_parent(queue, YQ_INHERITED_DEFAULT_NODE_LABEL_EXPRESSION, NULL);
	}
}

static float4
fraction_of(const YqQueue *parent, const YqCapacity *capacity)
{
	if (parent == NULL)
		return 1;
	return capacity->is_percent ? capacity->number / 100 : 0;
}

static float4
maximum_fraction_of(const YqQueue *parent, const YqCapacity *maximum, int label)
{
	if (parent == NULL && label != 0)
		return 1;
	if (maximum->text == NULL || !maximum->is_percent || (label == 0 && maximum->number == -1))
		return 1;
	return maximum->number / 100;
}

/* What is configured for a queue below a parent on a label; what is not is as NULL. */
static void
set_label(const YqHierarchy *hierarchy, const YqQueue *parent, YqQueueLabel *entry, int label,
		  const char *capacity, const char *maximum, float4 am_percent)
{
	const YqQueueLabel *above = parent == NULL ? NULL : yq_queue_label(parent, label);

	entry->label = label;
	entry->is_configured = true;
	yq_capacity_parse(&entry->capacity, capacity, hierarchy->type_names, hierarchy->calculator.types);
	yq_capacity_parse(&entry->maximum, maximum, hierarchy->type_names, hierarchy->calculator.types);
	entry->configured = fraction_of(parent, &entry->capacity);
	entry->configured_maximum = maximum_fraction_of(parent, &entry->maximum, label);
	entry->weight = entry->capacity.weight;
	entry->minimum_amounts = entry->capacity.amounts;
	entry->maximum_amounts = entry->maximum.amounts;
	if (entry->maximum_amounts == NULL && entry->minimum_amounts != NULL && above != NULL)
		entry->maximum_amounts = above->maximum_amounts;
	entry->am_percent = am_percent;
	entry->effective_minimum = yq_hierarchy_amounts(hierarchy);
	entry->effective_maximum = yq_hierarchy_amounts(hierarchy);
	entry->used = yq_hierarchy_amounts(hierarchy);
	entry->am_used = yq_hierarchy_amounts(hierarchy);
}

/* A queue created by the second generation has weight 1 unless told otherwise. */
static void
set_created_weight(Resolving *resolving, YqQueueLabel *entry)
{
	YqQueue    *queue = resolving->queue;

	if (!queue->is_dynamic || entry->weight != -1)
		return;
	if (resolving->loader->hierarchy->settings.is_legacy)
		entry->weight = 1;
	else if (entry->capacity.vector == NULL)
	{
		yq_capacity_parse(&entry->capacity, "1w", resolving->loader->hierarchy->type_names,
						  resolving->loader->hierarchy->calculator.types);
		yq_capacity_parse(&entry->maximum, "100", resolving->loader->hierarchy->type_names,
						  resolving->loader->hierarchy->calculator.types);
		entry->weight = 1;
	}
}

static const YqLabelRow *
find_label_row(const YqQueueRow *row, const char *label)
{
	for (const YqLabelRow *entry = row->labels; entry != NULL; entry = entry->next)
	{
		if (strcmp(entry->label, label) == 0)
			return entry;
	}
	return NULL;
}

static bool
has_templated_label(const Resolving *resolving, const char *label)
{
	return resolving->queue->is_auto_created &&
		(yq_template_has_label(resolving->templates.labels, label) ||
		 yq_templates_kept_label(&resolving->templates, label));
}

static float4
templated_am_percent(const Resolving *resolving, const char *label, float4 otherwise)
{
	char	   *text = label[0] == '\0' ? NULL :
		yq_templates_label_text(&resolving->templates, label, "maximum-am-resource-percent");

	return text == NULL ? otherwise : strtof(text, NULL);
}

/* Add a label if the queue, or its template, configures it. */
static void
add_label(Resolving *resolving, int label, bool is_everybodys)
{
	YqHierarchy *hierarchy = resolving->loader->hierarchy;
	YqQueue    *queue = resolving->queue;
	const char *name = hierarchy->labels[label];
	const YqLabelRow *row = find_label_row(resolving->row, name);
	char	   *capacity = row == NULL ? NULL : row->capacity;
	char	   *maximum = row == NULL ? NULL : row->maximum;
	float4		am_percent = row != NULL && row->has_am_percent ? row->am_percent : queue->am_percent;

	if (queue->is_auto_created && capacity == NULL)
		capacity = yq_templates_label_text(&resolving->templates, name, "capacity");
	if (queue->is_auto_created && maximum == NULL)
		maximum = yq_templates_label_text(&resolving->templates, name, "maximum-capacity");
	if (row == NULL && !is_everybodys && !has_templated_label(resolving, name))
		return;
	if (queue->is_auto_created && (row == NULL || !row->has_am_percent))
		am_percent = templated_am_percent(resolving, name, am_percent);
	set_label(hierarchy, queue->parent, &queue->labels[queue->label_count++], label,
			  capacity == NULL ? NULL : pstrdup(capacity),
			  maximum == NULL ? NULL : pstrdup(maximum), am_percent);
	set_created_weight(resolving, &queue->labels[queue->label_count - 1]);
}

/*
 * In legacy mode a created queue has a weight on every label of its parent, so
 * that it counts among its siblings there; without being configured for the label
 * it has no amounts (cs-semantics 2.5, 7.3).
 */
static void
add_created_weight(Resolving *resolving, int label)
{
	YqQueue    *queue = resolving->queue;
	YqQueueLabel *entry;

	if (!queue->is_dynamic || !resolving->loader->hierarchy->settings.is_legacy ||
		yq_queue_label(queue->parent, label) == NULL || yq_queue_label(queue, label) != NULL)
		return;
	entry = &queue->labels[queue->label_count++];
	set_label(resolving->loader->hierarchy, queue->parent, entry, label, NULL, NULL, queue->am_percent);
	set_created_weight(resolving, entry);
	entry->is_configured = false;
}

/* -- leaves of managed parents --------------------------------------------- */

/* What the leaves of a managed parent get of each label that its template has. */
static void
resolve_leaf_template(Resolving *resolving)
{
	YqHierarchy *hierarchy = resolving->loader->hierarchy;
	YqQueue    *queue = resolving->queue;
	Jsonb	   *template = resolving->row->nulls[YQ_COL_LEAF_QUEUE_TEMPLATE] ? NULL :
		DatumGetJsonbP(resolving->row->values[YQ_COL_LEAF_QUEUE_TEMPLATE]);

	if (queue->kind != YQ_QUEUE_MANAGED_PARENT)
		return;
	queue->template_labels = palloc0(sizeof(YqQueueLabel) * hierarchy->label_count);
	for (int label = 0; label < hierarchy->label_count; label++)
	{
		const char *name = hierarchy->labels[label];
		const char *prefix = label == 0 ? "" : psprintf("accessible-node-labels.%s.", name);

		if (label != 0 && !yq_template_has_label(template, name))
			continue;
		set_label(hierarchy, queue, &queue->template_labels[queue->template_label_count++], label,
				  yq_template_text(template, psprintf("%scapacity", prefix)),
				  yq_template_text(template, psprintf("%smaximum-capacity", prefix)), 0);
	}
}

/*
 * The leaf of a managed parent has what its template says, or nothing but the
 * maximum, as the policy of the parent decides (queue_management.h).
 */
static void
add_managed_label(Resolving *resolving, const YqQueueLabel *template)
{
	const YqHierarchy *hierarchy = resolving->loader->hierarchy;
	YqQueue    *queue = resolving->queue;
	const char *name = hierarchy->labels[template->label];
	const YqLabelRow *row = find_label_row(resolving->row, name);
	YqQueueLabel *entry = &queue->labels[queue->label_count++];

	*entry = *template;
	entry->template = template;
	entry->effective_minimum = yq_hierarchy_amounts(hierarchy);
	entry->effective_maximum = yq_hierarchy_amounts(hierarchy);
	entry->used = yq_hierarchy_amounts(hierarchy);
	entry->am_used = yq_hierarchy_amounts(hierarchy);
	entry->am_percent = row != NULL && row->has_am_percent ? row->am_percent :
		templated_am_percent(resolving, name, queue->am_percent);
	entry->is_active = yq_hierarchy_leaf_is_active(resolving->loader, queue->path, name);
	if (entry->is_active)
		return;
	yq_capacity_parse(&entry->capacity, template->capacity.is_absolute ? "[memory=0]" : "0",
					  hierarchy->type_names, hierarchy->calculator.types);
	entry->configured = 0;
	entry->weight = -1;
	entry->minimum_amounts = NULL;
	entry->maximum_amounts = entry->maximum.amounts;
}

/* -- all labels ------------------------------------------------------------ */

static void
add_labels(Resolving *resolving, const bool *configured_anywhere)
{
	YqHierarchy *hierarchy = resolving->loader->hierarchy;
	YqQueue    *queue = resolving->queue;
	int			room = 1;

	if (queue->parent == NULL || queue->is_auto_created)
		room = hierarchy->label_count;
	for (const YqLabelRow *row = resolving->row->labels; row != NULL; row = row->next)
		room++;
	queue->labels = palloc0(sizeof(YqQueueLabel) * room);
	queue->label_count = 1;
	set_label(hierarchy, queue->parent, &queue->labels[0], 0,
			  own_text(resolving, YQ_COL_CAPACITY, "capacity"),
			  own_text(resolving, YQ_COL_MAXIMUM_CAPACITY, "maximum-capacity"), queue->am_percent);
	set_created_weight(resolving, &queue->labels[0]);
	for (int label = 1; room > 1 && label < hierarchy->label_count; label++)
	{
		add_label(resolving, label, queue->parent == NULL && configured_anywhere[label]);
		add_created_weight(resolving, label);
	}
}

static void
resolve_labels(Resolving *resolving, const bool *configured_anywhere)
{
	YqHierarchy *hierarchy = resolving->loader->hierarchy;
	YqQueue    *queue = resolving->queue;

	if (yq_queue_is_created_leaf(queue))
	{
		queue->labels = palloc0(sizeof(YqQueueLabel) * queue->parent->template_label_count);
		for (int i = 0; i < queue->parent->template_label_count; i++)
			add_managed_label(resolving, &queue->parent->template_labels[i]);
	}
	else
		add_labels(resolving, configured_anywhere);

	/* the first label decides about the mode */
	queue->is_absolute = queue->parent != NULL &&
		(hierarchy->settings.is_legacy ? queue->labels[0].capacity.is_absolute :
		 yq_capacity_uniform_unit(&queue->labels[0].capacity, hierarchy->calculator.types) == YQ_CAPACITY_ABSOLUTE);
	for (int i = 1; i < queue->label_count; i++)
		queue->mixes_modes = queue->mixes_modes || (queue->parent != NULL &&
			queue->labels[i].capacity.is_absolute != queue->labels[0].capacity.is_absolute);
}

/* -- resolving ------------------------------------------------------------- */

static YqQueueKind
resolve_kind(const YqQueue *queue, const YqQueueRow *row)
{
	if (row_flag(row, YQ_COL_AUTO_CREATE_CHILD_QUEUE_ENABLED))
		return YQ_QUEUE_MANAGED_PARENT;
	if (queue->child_count > 0 || row_flag(row, YQ_COL_V2_ENABLED))
		return YQ_QUEUE_PARENT;
	return row_flag(row, YQ_COL_RESERVABLE) ? YQ_QUEUE_PLAN : YQ_QUEUE_LEAF;
}

/* Whether and how queues are created below this one, and how long it stays itself. */
static void
resolve_creation(Resolving *resolving)
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
resolve_state(Resolving *resolving)
{
	const YqQueueRow *row = resolving->row;
	char	   *text;

	if (!row->nulls[YQ_COL_STATE])
		resolving->queue->configured_state =
			DatumGetObjectId(row->values[YQ_COL_STATE]) == resolving->loader->running ? 'R' : 'S';
	else if ((text = own_template(resolving, "state")) != NULL)
		resolving->queue->configured_state = pg_strcasecmp(text, "STOPPED") == 0 ? 'S' :
			pg_strcasecmp(text, "RUNNING") == 0 ? 'R' : 0;
}

/* Weights of users: of rows, and of templates for users without a row. */
static void
resolve_weights(Resolving *resolving)
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

void
yq_hierarchy_resolve(YqHierarchyLoader *loader, YqQueue *queue, const bool *configured_anywhere)
{
	Resolving	resolving = {.loader = loader, .queue = queue,
		.row = loader->row_of[queue->number]};
	const YqQueueRow *row = resolving.row;

	queue->kind = resolve_kind(queue, row);
	queue->is_reservable = row_flag(row, YQ_COL_RESERVABLE);
	queue->allows_zero_sum = row_flag(row, YQ_COL_ALLOW_ZERO_CAPACITY_SUM);
	queue->is_dynamic = queue->is_auto_created && queue->parent != NULL &&
		queue->parent->kind != YQ_QUEUE_MANAGED_PARENT;
	queue->creates_v2 = row_flag(row, YQ_COL_V2_ENABLED) || (queue->is_auto_created && queue->child_count > 0);
	resolving.templates = yq_templates_of(loader, queue);
	resolve_state(&resolving);
	resolve_creation(&resolving);
	resolve_user_limits(&resolving);
	resolve_lifetimes(&resolving);
	resolve_maximum_allocation(&resolving);
	resolve_policies(&resolving);
	resolve_order(&resolving);
	resolve_accessible_labels(&resolving);
	resolve_default_label(&resolving);
	resolve_labels(&resolving, configured_anywhere);
	resolve_leaf_template(&resolving);
	resolve_weights(&resolving);
	yq_hierarchy_resolve_access(queue, row, &resolving.templates);
}
