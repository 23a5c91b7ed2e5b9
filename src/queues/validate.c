/*-------------------------------------------------------------------------
 *
 * validate.c
 *	  Hadoop's rules for a configuration: validation of a hierarchy of queues.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include <math.h>

#include "miscadmin.h"
#include "queues/text.h"
#include "queues/validate.h"

/* Tolerance when a sum of fractions is compared with 1 or with 0. */
#define PRECISION 0.0005f

List *
yq_violation_add(List *violations, const char *queue, const char *property,
				 const char *value, const char *message)
{
	YqViolation *violation = palloc(sizeof(YqViolation));

	violation->queue = queue;
	violation->property = property;
	violation->value = value;
	violation->message = message;
	return lappend(violations, violation);
}

char *
yq_label_property(const YqHierarchy *hierarchy, int label, const char *property)
{
	return label == 0 ? pstrdup(property) :
		psprintf("accessible-node-labels.%s.%s", hierarchy->labels[label], property);
}

/* State of the check: the queue being checked, and the violations found so far. */
typedef struct Check
{
	const YqHierarchy *hierarchy;
	const YqQueue *queue;
	List	   *violations;
} Check;

static void
complain(Check *check, const char *property, const char *value, const char *message)
{
	check->violations = yq_violation_add(check->violations, check->queue == NULL ? NULL : check->queue->path,
										 property, value, message);
}

/* -- the tree -------------------------------------------------------------- */

static void
check_place(Check *check)
{
	const YqQueue *queue = check->queue;

	if (queue->parent == NULL && queue != check->hierarchy->root)
		complain(check, "queues", NULL,
				 psprintf("Queue %s has no parent: there is no queue %s", queue->path,
						  pnstrdup(queue->path, queue->name - queue->path - 1)));
	if (queue == check->hierarchy->root && queue->kind == YQ_QUEUE_LEAF)
		complain(check, "queues", NULL, "Queue configuration missing child queue names for root");
	if (queue->is_reservable && queue->kind != YQ_QUEUE_PLAN)
		complain(check, "reservable", "true",
				 psprintf("Only Leaf Queues can be reservable for %s", queue->path));
}

/* -- capacities ------------------------------------------------------------ */

static void
check_percent(Check *check, const YqQueueLabel *label, const YqCapacity *capacity, const char *property)
{
	const char *name = check->hierarchy->labels[label->label];
	const char *number;

	if (capacity->text == NULL || !capacity->is_percent || capacity->problem != NULL ||
		(capacity->number >= 0 && capacity->number <= 100))
		return;
	number = yq_java_float_text(capacity->number);
	complain(check, yq_label_property(check->hierarchy, label->label, property), capacity->text,
			 label->label == 0 ?
			 psprintf("Illegal capacity of %s for queue %s", number, check->queue->path) :
			 psprintf("Illegal capacity of %s for node-label=%s in queue=%s, valid capacity should in range of [0, 100].",
					  number, name, check->queue->path));
}

static void
check_weight(Check *check, const YqQueueLabel *label)
{
	float4		weight = label->capacity.weight;

	if ((weight < -1e-6 && fabsf(weight + 1) > 1e-6) || weight > 10000)
		complain(check, yq_label_property(check->hierarchy, label->label, "capacity"), label->capacity.text,
				 psprintf("Illegal weight=%s for queue=%slabel=%s. Acceptable values: [0, 10000], -1 is same as not set",
						  yq_java_float_text(weight), check->queue->path, check->hierarchy->labels[label->label]));
}

/* Check that the maximum is not a weight.  A weight may be a single number or an entry of a vector. */
static void
check_maximum_weight(Check *check, const YqQueueLabel *label)
{
	const YqHierarchy *hierarchy = check->hierarchy;
	const YqCapacity *maximum = &label->maximum;
	char	   *property;

	if (maximum->text == NULL)
		return;
	property = yq_label_property(hierarchy, label->label, "maximum-capacity");
	if (!maximum->is_percent && maximum->text[0] != '[' && label->label == 0)
		complain(check, property, maximum->text, psprintf("For input string: \"%s\"", maximum->text));
	if (hierarchy->settings.is_legacy || maximum->vector == NULL || check->queue->parent == NULL)
		return;
	for (int i = 0; i < hierarchy->calculator.types; i++)
	{
		if (maximum->vector[i].unit == YQ_CAPACITY_WEIGHT && label->capacity.vector != NULL)
		{
			complain(check, property, maximum->text,
					 psprintf("Resource %s has WEIGHT maximum capacity type, which is not supported",
							  hierarchy->type_names[i]));
			return;
		}
	}
}

static void
check_notation(Check *check, const YqQueueLabel *label)
{
	/* root always has the whole cluster; its configured capacity has no effect */
	if (label->capacity.problem != NULL && check->queue->parent != NULL)
		complain(check, yq_label_property(check->hierarchy, label->label, "capacity"),
				 label->capacity.text, label->capacity.problem);
	if (label->maximum.problem != NULL)
		complain(check, yq_label_property(check->hierarchy, label->label, "maximum-capacity"),
				 label->maximum.text, label->maximum.problem);
	if (check->queue->parent != NULL)
		check_percent(check, label, &label->capacity, "capacity");
	if (check->queue->parent != NULL && label->label != 0)
		check_percent(check, label, &label->maximum, "maximum-capacity");
	check_weight(check, label);
	check_maximum_weight(check, label);
}

/* Check absolute amounts: the minimum must fit in the maximum, and the maximum in the parent's maximum. */
static void
check_amounts(Check *check, const YqQueueLabel *label)
{
	static const int64 nothing[YQ_MAX_RESOURCE_TYPES];
	const YqHierarchy *hierarchy = check->hierarchy;
	const YqQueueLabel *above = check->queue->parent == NULL ? NULL :
		yq_queue_label(check->queue->parent, label->label);
	const int64 *own_most = label->maximum.amounts == NULL ? nothing : label->maximum.amounts;
	const int64 *least = label->minimum_amounts == NULL ? nothing : label->minimum_amounts;

	if (above != NULL && above->maximum_amounts != NULL &&
		yq_amounts_compare(&hierarchy->calculator, hierarchy->cluster, own_most, above->maximum_amounts) > 0)
		complain(check, yq_label_property(hierarchy, label->label, "maximum-capacity"), label->maximum.text,
				 psprintf("Max resource configuration %s is greater than parents max value:%s in queue:%s",
						  yq_amounts_text(hierarchy, own_most),
						  yq_amounts_text(hierarchy, above->maximum_amounts), check->queue->path));
	if (label->maximum_amounts != NULL &&
		yq_amounts_compare(&hierarchy->calculator, hierarchy->cluster, least, label->maximum_amounts) > 0)
		complain(check, yq_label_property(hierarchy, label->label, "capacity"), label->capacity.text,
				 psprintf("Min resource configuration %s is greater than its max value:%s in queue:%s",
						  yq_amounts_text(hierarchy, least),
						  yq_amounts_text(hierarchy, label->maximum_amounts), check->queue->path));
}

static void
check_capacities(Check *check)
{
	const YqQueue *queue = check->queue;

	for (int i = 0; i < queue->label_count; i++)
	{
		check_notation(check, &queue->labels[i]);
		check_amounts(check, &queue->labels[i]);
	}
	if (queue->mixes_modes && check->hierarchy->settings.is_legacy)
		complain(check, "capacity", queue->labels[0].capacity.text,
				 psprintf("Queue '%s' should use either percentage based capacity configuration or absolute resource.",
						  queue->path));
}

/* -- siblings -------------------------------------------------------------- */

typedef enum SiblingMode
{
	MODE_WEIGHT,
	MODE_ABSOLUTE,
	MODE_PERCENT
} SiblingMode;

/* Collect the children that configuration files list.  Created children follow other rules. */
static int
static_children(const YqQueue *queue, const YqQueue **children)
{
	int			count = 0;

	for (int i = 0; i < queue->child_count; i++)
	{
		if (!queue->children[i]->is_auto_created)
			children[count++] = queue->children[i];
	}
	return count;
}

/* Kinds of capacity that siblings use. */
typedef struct SiblingModes
{
	bool		percent;
	bool		weight;
	bool		absolute;
} SiblingModes;

/*
 * Return the kinds of capacity that the given queues use on the labels of the checked queue.
 * Unless "details" is NULL, append a description of the kinds to it.  As in Hadoop, the result
 * depends on the order of the queues: an absolute amount clears "percent", but a later percentage
 * sets it again.
 */
static SiblingModes
find_modes(const Check *check, const YqQueue **queues, int count, StringInfo details)
{
	const YqQueue *owner = check->queue;
	SiblingModes modes = {false, false, false};

	for (int i = 0; i < count; i++)
	{
		for (int j = 0; j < owner->label_count; j++)
		{
			const YqQueueLabel *label = yq_queue_label(queues[i], owner->labels[j].label);
			const char *name = check->hierarchy->labels[owner->labels[j].label];

			if (label == NULL)
				continue;
			modes.percent = modes.percent || label->configured > 0;
			modes.weight = modes.weight || label->weight >= 0;
			if (label->minimum_amounts != NULL)
			{
				modes.absolute = true;
				modes.percent = false;
			}
			if (details == NULL)
				continue;
			if (label->weight >= 0)
				appendStringInfo(details, "{Queue=%s, label=%s uses weight mode}. ", queues[i]->path, name);
			if (label->minimum_amounts != NULL)
				appendStringInfo(details, "{Queue=%s, label=%s uses absolute mode}. ", queues[i]->path, name);
			if (modes.percent)
				appendStringInfo(details, "{Queue=%s, label=%s uses percentage mode}. ", queues[i]->path, name);
		}
	}
	return modes;
}

static SiblingMode
mode_of(Check *check, const YqQueue **queues, int count)
{
	SiblingModes modes = find_modes(check, queues, count, NULL);

	if (modes.percent + modes.weight + modes.absolute > 1 && queues[0]->parent != NULL)
	{
		StringInfoData details;

		initStringInfo(&details);
		(void) find_modes(check, queues, count, &details);
		complain(check, "capacity", NULL,
				 psprintf("Parent queue '%s' have children queue used mixed of  weight mode, percentage and absolute mode, it is not allowed, please double check, details:%s",
						  check->queue->path, details.data));
	}
	return modes.weight ? MODE_WEIGHT : modes.absolute ? MODE_ABSOLUTE : MODE_PERCENT;
}

static void
check_absolute_sum(Check *check, const YqQueue **children, int count, const YqQueueLabel *label)
{
	const YqHierarchy *hierarchy = check->hierarchy;
	int64		sum[YQ_MAX_RESOURCE_TYPES] = {0};

	if (label->minimum_amounts == NULL)
		return;
	for (int i = 0; i < count; i++)
	{
		const YqQueueLabel *below = yq_queue_label(children[i], label->label);

		for (int k = 0; below != NULL && below->minimum_amounts != NULL && k < hierarchy->calculator.types; k++)
			sum[k] += below->minimum_amounts[k];
	}
	if (yq_amounts_compare(&hierarchy->calculator, hierarchy->totals[label->label],
						   label->minimum_amounts, sum) < 0)
		complain(check, yq_label_property(hierarchy, label->label, "capacity"), label->capacity.text,
				 psprintf("Parent Queues capacity: %s is less than to its children:%s for queue:%s",
						  yq_amounts_text(hierarchy, label->minimum_amounts),
						  yq_amounts_text(hierarchy, sum), check->queue->name));
}

static void
check_percent_sum(Check *check, const YqQueue **children, int count, const YqQueueLabel *label,
				  SiblingMode mode)
{
	const YqQueue *queue = check->queue;
	float4		sum = 0;
	bool		is_closed = mode == MODE_PERCENT && !queue->allows_zero_sum;
	const char *rest = NULL;

	for (int i = 0; i < count; i++)
	{
		const YqQueueLabel *below = yq_queue_label(children[i], label->label);

		sum += below == NULL ? 0 : below->configured;
	}
	if (fabsf(1 - sum) > PRECISION)
	{
		if (fabsf(sum) > PRECISION)
			rest = "It should be either 0 or 1.0";
		else if (is_closed && fabsf(label->configured) > PRECISION)
			rest = "It is set to 0, but parent percent != 0, and doesn't allow children capacity to set to 0";
	}
	else if (is_closed && fabsf(label->configured) <= 0)
		rest = psprintf("queue=%s has zero capacity, but childqueues have positive capacities", queue->name);
	if (rest != NULL)
		complain(check, yq_label_property(check->hierarchy, label->label, "capacity"), label->capacity.text,
				 psprintf("Illegal capacity sum of %s for children of queue %s for label=%s. %s",
						  yq_java_float_text(sum), queue->name, check->hierarchy->labels[label->label], rest));
}

static void
check_children(Check *check)
{
	const YqQueue *queue = check->queue;
	const YqQueue **children = palloc(sizeof(YqQueue *) * Max(queue->child_count, 1));
	int			count = static_children(queue, children);
	SiblingMode children_mode;
	SiblingMode own_mode;

	if (count == 0 || !check->hierarchy->settings.is_legacy)
		return;
	children_mode = mode_of(check, children, count);
	own_mode = mode_of(check, &check->queue, 1);
	if (children_mode == MODE_ABSOLUTE || own_mode == MODE_ABSOLUTE)
	{
		if (children_mode != own_mode && queue->parent != NULL)
			complain(check, "capacity", queue->labels[0].capacity.text,
					 psprintf("Parent=%s: When absolute minResource is used, we must make sure both parent and child all use absolute minResource",
							  queue->path));
		for (int i = 0; i < queue->label_count; i++)
			check_absolute_sum(check, children, count, &queue->labels[i]);
	}
	if (children_mode == MODE_PERCENT)
	{
		for (int i = 0; i < queue->label_count; i++)
			check_percent_sum(check, children, count, &queue->labels[i], own_mode);
	}
	pfree(children);
}

/* -- labels ---------------------------------------------------------------- */

static void
check_accessible_labels(Check *check)
{
	const YqQueue *queue = check->queue;
	StringInfoData missing;

	if (queue->parent == NULL || queue->parent->any_label || queue->accessible == queue->parent->accessible)
		return;
	if (queue->any_label)
	{
		complain(check, "accessible-node-labels", "*",
				 "Parent's accessible queue is not ANY(*), but child's accessible queue is *");
		return;
	}
	initStringInfo(&missing);
	for (int i = 1; i < check->hierarchy->label_count; i++)
	{
		if (queue->accessible[i] && !queue->parent->accessible[i])
			appendStringInfo(&missing, "%s%s", missing.len > 0 ? "," : "", check->hierarchy->labels[i]);
	}
	if (missing.len > 0)
		complain(check, "accessible-node-labels", yq_labels_text(check->hierarchy, queue->accessible),
				 psprintf("Some labels of child queue is not a subset of parent queue, these labels=[%s]", missing.data));
}

/* Check that the queue may use every label of default-node-label-expression, where && separates labels. */
static void
check_default_label(Check *check)
{
	const YqQueue *queue = check->queue;
	char	   *rest;
	bool		is_refused = false;

	if (queue->default_label == NULL || queue->any_label)
		return;
	rest = pstrdup(queue->default_label);
	while (rest != NULL)
	{
		char	   *name = rest;
		char	   *next = strstr(rest, "&&");
		int			label;

		if (next != NULL)
			*next = '\0';
		rest = next == NULL ? NULL : next + 2;
		name += strspn(name, " \t\n");
		name[strcspn(name, " \t\n")] = '\0';
		label = yq_hierarchy_label(check->hierarchy, name);
		is_refused = is_refused || (*name != '\0' && (label < 0 || !queue->accessible[label]));
	}
	if (is_refused)
	{
		char	   *labels = yq_labels_text(check->hierarchy, queue->accessible);

		complain(check, "default-node-label-expression", queue->default_label,
				 psprintf("Invalid default label expression of  queue=%s doesn't have permission to access all labels in default label expression. labelExpression of resource request=%s. Queue labels=%.*s",
						  queue->path, queue->default_label, (int) strlen(labels) - 2, labels + 1));
	}
}

/* -- templates of managed parents ------------------------------------------ */

static void
check_leaf_template(Check *check)
{
	const YqQueue *queue = check->queue;

	for (int i = 0; i < queue->template_label_count; i++)
	{
		const YqQueueLabel *template = &queue->template_labels[i];
		const char *name = check->hierarchy->labels[template->label];
		char	   *property = psprintf("leaf-queue-template.%s",
										yq_label_property(check->hierarchy, template->label, "capacity"));

		if (yq_queue_label(queue, template->label) == NULL)
			complain(check, property, template->capacity.text,
					 psprintf("Invalid node label %s on configured leaf template on parent queue %s", name, queue->path));
		else if (!queue->is_absolute && template->minimum_amounts != NULL)
			complain(check, property, template->capacity.text,
					 psprintf("Managed Parent Queue %s config type is different from leaf queue template config type",
							  queue->path));
		else if (template->capacity.is_percent && (template->capacity.number < 0 || template->capacity.number > 100))
			complain(check, property, template->capacity.text,
					 template->label == 0 ?
					 psprintf("Illegal capacity of %s for queue %s.leaf-queue-template",
							  yq_java_float_text(template->capacity.number), queue->path) :
					 psprintf("Illegal capacity of %s for node-label=%s in queue=%s.leaf-queue-template, valid capacity should in range of [0, 100].",
							  yq_java_float_text(template->capacity.number), name, queue->path));
	}
}

/* -- other properties ------------------------------------------------------ */

static void
check_maximum_allocation(Check *check)
{
	if (check->queue->maximum_allocation_problem != NULL)
		complain(check, "maximum-allocation", check->queue->maximum_allocation_problem,
				 psprintf("Queue maximum allocation cannot be larger than the cluster setting for queue %s max allocation per queue: %s cluster setting: %s",
						  check->queue->path, check->queue->maximum_allocation_problem,
						  yq_amounts_text(check->hierarchy, check->hierarchy->settings.maximum_allocation)));
}

static void
check_lifetime(Check *check)
{
	const YqQueue *queue = check->queue;

	if (queue->parent != NULL && queue->maximum_lifetime > 0 &&
		queue->checked_default_lifetime > queue->maximum_lifetime)
		complain(check, "default-application-lifetime", psprintf(INT64_FORMAT, queue->checked_default_lifetime),
				 psprintf("Default lifetime " INT64_FORMAT " can't exceed maximum lifetime " INT64_FORMAT,
						  queue->checked_default_lifetime, queue->maximum_lifetime));
}

/* Check the users' weights, also the weights that the queue inherits from ancestors. */
static void
check_user_weights(Check *check)
{
	const YqQueue *queue = check->queue;
	float4		limit = Min(100.0f, queue->user_limit);

	for (const YqQueue *owner = queue->weights_from; owner != NULL;
		 owner = owner->parent == NULL ? NULL : owner->parent->weights_from)
	{
		for (int i = 0; i < owner->own_weight_count; i++)
		{
			const YqUserWeight *weight = &owner->own_weights[i];
			bool		is_overridden = false;

			for (const YqQueue *nearer = queue->weights_from; nearer != owner; nearer = nearer->parent->weights_from)
			{
				for (int j = 0; j < nearer->own_weight_count; j++)
					is_overridden = is_overridden || strcmp(nearer->own_weights[j].username, weight->username) == 0;
			}
			if (!is_overridden && (weight->weight < 0 || weight->weight > 100.0f / limit))
				complain(check, psprintf("user-settings.%s.weight", weight->username),
						 yq_java_float_text(weight->weight),
						 psprintf("Weight (%s) for user \"%s\" must be between 0 and 100 / %s (= %s, the number of concurrent active users in %s)",
								  yq_java_float_text(weight->weight), weight->username, yq_java_float_text(limit),
								  yq_java_float_text(100.0f / limit), queue->path));
		}
	}
}

static void
check_policies(Check *check)
{
	static const char *const leaf_policies[] = {"fifo", "fair", "fifo-with-partitions", "fifo-for-pending-apps"};
	const YqQueue *queue = check->queue;
	const char *policy = queue->inherited[YQ_INHERITED_ORDERING_POLICY].value;
	bool		is_leaf = queue->kind == YQ_QUEUE_LEAF;
	/* only the resource manager knows whether the class of a policy exists */
	bool		is_known = strchr(policy, '.') != NULL;

	for (int i = 0; is_leaf && i < (int) lengthof(leaf_policies); i++)
		is_known = is_known || strcmp(policy, leaf_policies[i]) == 0;
	if (!is_leaf)
		is_known = is_known || strcmp(policy, "utilization") == 0 || strcmp(policy, "priority-utilization") == 0;
	if (!is_known && queue->inherited[YQ_INHERITED_ORDERING_POLICY].from == queue->path)
		complain(check, "ordering-policy", policy,
				 is_leaf ? psprintf("Unable to construct ordering policy for: %s, %s", policy, policy) :
				 psprintf("Unable to construct queue ordering policy=%s queue=%s", policy, queue->path));

	if (queue->multi_node_policy != NULL && *queue->multi_node_policy != '\0')
	{
		bool		has_class = false;

		for (int i = 0; i < check->hierarchy->policy_count; i++)
			has_class = has_class || strcmp(check->hierarchy->policies_with_class[i], queue->multi_node_policy) == 0;
		if (!has_class)
			complain(check, "multi-node-sorting.policy", queue->multi_node_policy,
					 psprintf("%s Class is not configured or not an instance of org.apache.hadoop.yarn.server.resourcemanager.scheduler.placement.MultiNodeLookupPolicy",
							  queue->multi_node_policy));
	}
}

/* -- settings of the scheduler --------------------------------------------- */

static void
check_bounds(Check *check, const int64 *bounds, const char *what, const char *suffix)
{
	if (bounds[0] > 0 && bounds[0] <= bounds[1])
		return;
	complain(check, psprintf("yarn.scheduler.minimum-allocation-%s", suffix), psprintf(INT64_FORMAT, bounds[0]),
			 psprintf("Invalid resource scheduler %s allocation configuration, yarn.scheduler.minimum-allocation-%s=" INT64_FORMAT
					  ", yarn.scheduler.maximum-allocation-%s=" INT64_FORMAT
					  ", min and max should be greater than 0, max should be no smaller than min.",
					  what, suffix, bounds[0], suffix, bounds[1]));
}

static void
check_queue(Check *check, const YqQueue *queue)
{
	check->queue = queue;
	check_place(check);
	check_accessible_labels(check);
	check_capacities(check);
	check_maximum_allocation(check);
	check_lifetime(check);
	check_policies(check);
	check_leaf_template(check);
	if (queue->kind == YQ_QUEUE_LEAF)
	{
		check_default_label(check);
		check_user_weights(check);
	}
}

/* Check a queue, then its descendants, and then the relations between its children, in Hadoop's order. */
static void
check_subtree(Check *check, const YqQueue *queue)
{
	CHECK_FOR_INTERRUPTS();
	check_stack_depth();
	check_queue(check, queue);
	/* the queues of a plan are in no configuration file */
	if (queue->kind == YQ_QUEUE_PLAN)
		return;
	for (int i = 0; i < queue->child_count; i++)
		check_subtree(check, queue->children[i]);
	check->queue = queue;
	if (queue->child_count > 0)
		check_children(check);
}

List *
yq_hierarchy_validate(const YqHierarchy *hierarchy)
{
	Check		check = {.hierarchy = hierarchy};

	check_bounds(&check, hierarchy->settings.memory_bounds, "memory", "mb");
	check_bounds(&check, hierarchy->settings.vcores_bounds, "vcores", "vcores");
	if (hierarchy->queue_count > 0 && hierarchy->root == NULL)
		complain(&check, "queues", NULL, "Queue configuration missing child queue names for root");
	if (hierarchy->root != NULL)
		check_subtree(&check, hierarchy->root);
	/* orphans come last */
	for (int i = hierarchy->queue_count - hierarchy->orphan_count; i < hierarchy->queue_count; i++)
	{
		check.queue = hierarchy->queues[i];
		check_place(&check);
	}
	return check.violations;
}

List *
yq_hierarchy_validate_queue(const YqHierarchy *hierarchy, const YqQueue *queue)
{
	Check		check = {.hierarchy = hierarchy};

	check_queue(&check, queue);
	return check.violations;
}
