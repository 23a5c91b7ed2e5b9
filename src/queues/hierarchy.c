/*-------------------------------------------------------------------------
 *
 * hierarchy.c
 *	  The hierarchy of queues in memory: look-ups and amounts.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "base/nearest_name.h"
#include "base/resource.h"
#include "miscadmin.h"
#include "queues/hierarchy.h"
#include "store/role_scope.h"

/* -- looking up ------------------------------------------------------------ */

YqQueue *
yq_hierarchy_find_bytes(const YqHierarchy *hierarchy, YqBytes path)
{
	YqQueueEntry *entry = yq_bytes_table_find(hierarchy->by_path, path);

	return entry == NULL ? NULL : entry->queue;
}

YqQueue *
yq_hierarchy_find_gone(const YqHierarchy *hierarchy, YqBytes path)
{
	YqQueueEntry *entry = hierarchy->gone == NULL ? NULL : yq_bytes_table_find(hierarchy->gone, path);

	return entry == NULL ? NULL : entry->queue;
}

YqQueue *
yq_hierarchy_find(const YqHierarchy *hierarchy, const char *path)
{
	YqBytes		key = yq_bytes_of_string(path);

	return yq_hierarchy_find_bytes(hierarchy, key);
}

YqQueue *
yq_hierarchy_find_by_name(const YqHierarchy *hierarchy, const char *name)
{
	YqBytes		key = yq_bytes_of_string(name);
	YqQueue    *queue = yq_hierarchy_find(hierarchy, name);
	YqQueueEntry *entry;

	/*
	 * the name "root" always refers to the root, even if another queue has this short name
	 * (semantics/queues 1.4)
	 */
	if (queue != NULL || strcmp(name, "root") == 0)
		return queue;
	entry = yq_bytes_table_find(hierarchy->by_name, key);
	return entry == NULL ? NULL : entry->queue;
}

bool
yq_hierarchy_name_is_ambiguous(const YqHierarchy *hierarchy, const char *name)
{
	YqBytes		key = yq_bytes_of_string(name);
	YqQueueEntry *entry = yq_bytes_table_find(hierarchy->by_name, key);

	return entry != NULL && entry->queue == NULL;
}

const char *
yq_hierarchy_similar_queue(const YqHierarchy *hierarchy, const char *name)
{
	YqNearestName search;
	const char *path = NULL;

	if (yq_hierarchy_name_is_ambiguous(hierarchy, name) || !yq_role_scope_reads_all(yq_role_scope_role()))
		return NULL;
	yq_nearest_name_begin(&search, name, strlen(name));
	for (int i = 0; i < hierarchy->queue_count; i++)
	{
		const YqQueue *queue = hierarchy->queues[i];
		const char *before = search.nearest;

		CHECK_FOR_INTERRUPTS();
		yq_nearest_name_compare(&search, queue->path, strlen(queue->path));
		yq_nearest_name_compare(&search, queue->name, strlen(queue->name));
		if (search.nearest != before)
			path = queue->path;
	}
	return path;
}

char *
yq_path_above(const char *path)
{
	const char *dot = strrchr(path, '.');

	return dot == NULL ? NULL : pnstrdup(path, dot - path);
}

bool
yq_path_has_empty_part(const char *path)
{
	size_t		length = strlen(path);

	return length == 0 || path[0] == '.' || path[length - 1] == '.' || strstr(path, "..") != NULL;
}

bool
yq_queue_is_created_leaf(const YqQueue *queue)
{
	return queue->is_auto_created && queue->parent != NULL && queue->parent->kind == YQ_QUEUE_MANAGED_PARENT;
}

bool
yq_queue_is_of_plan(const YqQueue *queue)
{
	return queue->parent != NULL && queue->parent->kind == YQ_QUEUE_PLAN;
}

bool
yq_queue_is_hidden(const YqQueue *queue)
{
	return queue->is_vacant || (yq_queue_is_of_plan(queue) && !queue->parent->shows_reservations);
}

YqQueue *
yq_plan_default_queue(const YqQueue *plan)
{
	Assert(plan->kind == YQ_QUEUE_PLAN);
	return plan->children[0];
}

bool
yq_queue_is_leaf(const YqQueue *queue)
{
	return queue->kind == YQ_QUEUE_LEAF && queue->name != queue->path;
}

int
yq_hierarchy_label(const YqHierarchy *hierarchy, const char *label)
{
	int			low = 0;
	int			high = hierarchy->label_count;

	while (low < high)
	{
		int			middle = (low + high) / 2;
		int			order = strcmp(hierarchy->labels[middle], label);

		if (order == 0)
			return middle;
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return -1;
}

YqQueueLabel *
yq_queue_label(const YqQueue *queue, int label)
{
	for (int i = 0; i < queue->label_count; i++)
	{
		if (queue->labels[i].label == label)
			return &queue->labels[i];
	}
	return NULL;
}

bool
yq_queue_may_use_label(const YqQueue *queue, int label)
{
	return label == 0 || queue->any_label || queue->accessible[label];
}

int64 *
yq_hierarchy_amounts(const YqHierarchy *hierarchy)
{
	return palloc0(hierarchy->calculator.types * sizeof(int64));
}

/* -- amounts --------------------------------------------------------------- */

void
yq_hierarchy_add_amounts(const YqHierarchy *hierarchy, int64 *amounts, Datum resource)
{
	YqResourceEntry entries[YQ_RESOURCE_MAX_ENTRIES];
	int			count = yq_resource_read(DatumGetYqResourceP(resource), entries);

	for (int i = 0; i < count; i++)
	{
		for (int type = 0; type < hierarchy->calculator.types; type++)
		{
			const char *name = hierarchy->type_names[type];

			if ((int) strlen(name) == entries[i].name_length &&
				memcmp(name, entries[i].name, entries[i].name_length) == 0)
				amounts[type] += entries[i].amount;
		}
	}
}

int64 *
yq_hierarchy_read_amounts(const YqHierarchy *hierarchy, Datum resource)
{
	int64	   *amounts = yq_hierarchy_amounts(hierarchy);

	yq_hierarchy_add_amounts(hierarchy, amounts, resource);
	return amounts;
}

Datum
yq_hierarchy_resource(const YqHierarchy *hierarchy, const int64 *amounts)
{
	YqResourceEntry entries[YQ_MAX_RESOURCE_TYPES];
	int			count = 0;

	for (int i = 0; i < hierarchy->calculator.types; i++)
	{
		if (amounts[i] == 0)
			continue;
		entries[count].name = hierarchy->type_names[i];
		entries[count].name_length = strlen(hierarchy->type_names[i]);
		entries[count++].amount = amounts[i];
	}
	return PointerGetDatum(yq_resource_make(entries, count));
}

Datum
yq_hierarchy_bounded_resource(const YqHierarchy *hierarchy, const int64 *amounts)
{
	int64		bounded[YQ_MAX_RESOURCE_TYPES];

	for (int i = 0; i < hierarchy->calculator.types; i++)
		bounded[i] = amounts[i] == PG_INT64_MAX ? 0 : amounts[i];
	return yq_hierarchy_resource(hierarchy, bounded);
}
