/*-------------------------------------------------------------------------
 *
 * hierarchy_labels.c
 *	  The node labels that a queue may use, and its capacities on each label (docs/design.md 5).
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "catalog/pg_type_d.h"
#include "queues/hierarchy_labels.h"
#include "queues/text.h"
#include "utils/array.h"
#include "utils/builtins.h"

/* -- accessible labels ---------------------------------------------------- */

/* Mark a label from a list as accessible.  "*" stands for all labels. */
static void
add_accessible_label(YqResolving *resolving, const char *name, bool *accessible)
{
	int			label = yq_hierarchy_label(resolving->loader->hierarchy, name);

	if (strcmp(name, "*") == 0)
		resolving->queue->any_label = true;
	else if (label >= 0)
		accessible[label] = true;
}

static void
add_accessible_row(YqResolving *resolving, bool *accessible)
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

/* Read a template's list of accessible labels in Hadoop's notation, where commas separate the names. */
static void
add_accessible_list(YqResolving *resolving, char *list, bool *accessible)
{
	char	   *state = NULL;

	for (char *name = strtok_r(list, ", \t\n", &state); name != NULL; name = strtok_r(NULL, ", \t\n", &state))
		add_accessible_label(resolving, name, accessible);
}

void
yq_resolve_accessible_labels(YqResolving *resolving)
{
	YqHierarchy *hierarchy = resolving->loader->hierarchy;
	YqQueue    *queue = resolving->queue;
	bool		has_row = yq_resolving_is_own(resolving, YQ_COL_ACCESSIBLE_NODE_LABELS);
	char	   *list;
	bool	   *accessible;

	if (queue->parent == NULL)
	{
		/* root may always use every label */
		queue->any_label = true;
		yq_resolving_note(queue, YQ_INHERITED_ACCESSIBLE_NODE_LABELS, "{*}", NULL);
		return;
	}
	list = has_row ? NULL : yq_resolving_template(resolving, "accessible-node-labels");
	if (!has_row && list == NULL)
	{
		queue->any_label = queue->parent->any_label;
		queue->accessible = queue->parent->accessible;
		yq_resolving_note_parent(queue, YQ_INHERITED_ACCESSIBLE_NODE_LABELS, NULL);
		return;
	}
	accessible = palloc0(sizeof(bool) * hierarchy->label_count);
	if (has_row)
		add_accessible_row(resolving, accessible);
	else
		add_accessible_list(resolving, list, accessible);
	queue->accessible = accessible;
	yq_resolving_note(queue, YQ_INHERITED_ACCESSIBLE_NODE_LABELS,
				   queue->any_label ? "{*}" : yq_labels_text(hierarchy, accessible), resolving->from);
}

/*
 * Does the queue's list of labels contain the parent's list?  A list with "*" and a list without it
 * never contain each other.
 */
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

void
yq_resolve_default_label(YqResolving *resolving)
{
	YqQueue    *queue = resolving->queue;
	char	   *label = yq_resolving_text(resolving, YQ_COL_DEFAULT_NODE_LABEL_EXPRESSION, "default-node-label-expression");

	if (label != NULL)
	{
		queue->default_label = label;
		yq_resolving_note(queue, YQ_INHERITED_DEFAULT_NODE_LABEL_EXPRESSION, label, resolving->from);
	}
	else if (queue->parent != NULL && has_labels_of_parent(resolving->loader->hierarchy, queue))
	{
		queue->default_label = queue->parent->default_label;
		yq_resolving_note_parent(queue, YQ_INHERITED_DEFAULT_NODE_LABEL_EXPRESSION, NULL);
	}
}

/* -- capacities on a label ------------------------------------------------- */

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

/* Fill the configuration of a queue for a label.  A capacity or maximum that is not configured is NULL. */
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

/* Set the weight of a queue that the second generation created.  The weight is 1 unless it is configured. */
static void
set_created_weight(YqResolving *resolving, YqQueueLabel *entry)
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
has_templated_label(const YqResolving *resolving, const char *label)
{
	return resolving->queue->is_auto_created &&
		(yq_template_has_label(resolving->templates.labels, label) ||
		 yq_templates_kept_label(&resolving->templates, label));
}

static float4
templated_am_percent(const YqResolving *resolving, const char *label, float4 otherwise)
{
	char	   *text = label[0] == '\0' ? NULL :
		yq_templates_label_text(&resolving->templates, label, "maximum-am-resource-percent");

	return text == NULL ? otherwise : strtof(text, NULL);
}

/* Add the configuration for a label if the queue or its template configures the label. */
static void
add_label(YqResolving *resolving, int label, bool is_of_root)
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
	if (row == NULL && !is_of_root && !has_templated_label(resolving, name))
		return;
	if (queue->is_auto_created && (row == NULL || !row->has_am_percent))
		am_percent = templated_am_percent(resolving, name, am_percent);
	set_label(hierarchy, queue->parent, &queue->labels[queue->label_count++], label,
			  capacity == NULL ? NULL : pstrdup(capacity),
			  maximum == NULL ? NULL : pstrdup(maximum), am_percent);
	set_created_weight(resolving, &queue->labels[queue->label_count - 1]);
}

/*
 * Give a created queue a weight on each label of its parent, if the hierarchy is in
 * legacy mode.  The weight counts in the sum of the siblings' weights.  If the label is
 * not configured for the queue, the queue gets no amounts on it (semantics/queues 2.5,
 * 3.3).
 */
static void
add_created_weight(YqResolving *resolving, int label)
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

void
yq_resolve_leaf_template(YqResolving *resolving)
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
 * Configure a label for a leaf of a managed parent.  An active leaf gets the template's
 * capacity and maximum, and an inactive leaf only the maximum.  The policy of the
 * managed parent activates its leaves (queue_management.h).
 */
static void
add_managed_label(YqResolving *resolving, const YqQueueLabel *template)
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

/* -- queues of plans --------------------------------------------------------- */

/*
 * Give a queue of a plan its share of the default partition.  The queue gets nothing in
 * other partitions (setEntitlement()).
 */
static void
set_share(YqResolving *resolving)
{
	const YqPlanShare *share = resolving->row->share;
	YqQueue    *queue = resolving->queue;

	queue->labels = palloc0(sizeof(YqQueueLabel));
	queue->label_count = 1;
	set_label(resolving->loader->hierarchy, queue->parent, &queue->labels[0], 0, NULL, NULL, queue->am_percent);
	queue->labels[0].configured = share->capacity;
	queue->labels[0].configured_maximum = share->maximum;
}

/* -- all labels ------------------------------------------------------------ */

static void
add_labels(YqResolving *resolving, const bool *configured_anywhere)
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
			  yq_resolving_text(resolving, YQ_COL_CAPACITY, "capacity"),
			  yq_resolving_text(resolving, YQ_COL_MAXIMUM_CAPACITY, "maximum-capacity"), queue->am_percent);
	set_created_weight(resolving, &queue->labels[0]);
	for (int label = 1; room > 1 && label < hierarchy->label_count; label++)
	{
		add_label(resolving, label, queue->parent == NULL && configured_anywhere[label]);
		add_created_weight(resolving, label);
	}
}

void
yq_resolve_labels(YqResolving *resolving, const bool *configured_anywhere)
{
	YqHierarchy *hierarchy = resolving->loader->hierarchy;
	YqQueue    *queue = resolving->queue;

	if (yq_queue_is_created_leaf(queue))
	{
		queue->labels = palloc0(sizeof(YqQueueLabel) * queue->parent->template_label_count);
		for (int i = 0; i < queue->parent->template_label_count; i++)
			add_managed_label(resolving, &queue->parent->template_labels[i]);
	}
	else if (resolving->row->share != NULL)
		set_share(resolving);
	else
		add_labels(resolving, configured_anywhere);

	/* the mode on the first label counts for all labels */
	queue->is_absolute = queue->parent != NULL &&
		(hierarchy->settings.is_legacy ? queue->labels[0].capacity.is_absolute :
		 yq_capacity_uniform_unit(&queue->labels[0].capacity, hierarchy->calculator.types) == YQ_CAPACITY_ABSOLUTE);
	for (int i = 1; i < queue->label_count; i++)
		queue->mixes_modes = queue->mixes_modes || (queue->parent != NULL &&
			queue->labels[i].capacity.is_absolute != queue->labels[0].capacity.is_absolute);
}
