/*-------------------------------------------------------------------------
 *
 * cluster.c
 *	  State of an allocation cycle: building the cluster, and sorting its contents.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "admission/application/application.h"
#include "admission/application/leaf_usage.h"
#include "miscadmin.h"
#include "scheduler/state/limits.h"
#include "scheduler/state/order.h"
#include "utils/memutils.h"

static const int64 nothing[YQ_MAX_RESOURCE_TYPES];

typedef struct NameEntry
{
	YqBytes		key;
	YqName		number;
} NameEntry;

/* Make room for another element in an array of the cluster.  "room" is its capacity. */
static void *
grow_array(const YqCluster *cluster, void *array, int count, int *room, Size size)
{
	if (count < *room)
		return array;
	*room = *room == 0 ? 4 : *room * 2;
	return array == NULL ? MemoryContextAllocHuge(cluster->context, *room * size) :
		repalloc_huge(array, *room * size);
}

#define MAKE_ROOM(cluster, array, count, room) \
	((array) = grow_array((cluster), (array), (count), &(room), sizeof(*(array))))

static void *
make(const YqCluster *cluster, Size size)
{
	return MemoryContextAllocZero(cluster->context, size);
}

Size
yq_cluster_amounts_size(const YqCluster *cluster)
{
	return cluster->hierarchy->label_count * cluster->calculator->types * sizeof(int64);
}

/* Return zero amounts for every label. */
static int64 *
make_amounts_of_labels(const YqCluster *cluster)
{
	return make(cluster, yq_cluster_amounts_size(cluster));
}

static int64 *
copy_cluster_amounts(const YqCluster *cluster, const int64 *amounts)
{
	int64	   *result = make(cluster, cluster->calculator->types * sizeof(int64));

	memcpy(result, amounts, cluster->calculator->types * sizeof(int64));
	return result;
}

/* -- queues ---------------------------------------------------------------- */

static void
set_leaf(YqCluster *cluster, YqClusterQueue *queue)
{
	int			types = cluster->calculator->types;
	int			labels = cluster->hierarchy->label_count;
	const int64 *minimum = cluster->hierarchy->settings.minimum_allocation;
	int64		difference[YQ_MAX_RESOURCE_TYPES];

	queue->is_leaf = true;
	queue->maximum_allocation = queue->queue->maximum_allocation;
	for (int i = 0; i < types; i++)
		difference[i] = queue->maximum_allocation[i] - minimum[i];
	queue->minimum_allocation_factor = yq_amounts_ratio(cluster->calculator, difference,
														queue->maximum_allocation);
	queue->is_own_partition = make(cluster, labels * sizeof(bool));
	queue->demanding = make(cluster, labels * sizeof(YqClusterApplication **));
	queue->demanding_count = make(cluster, labels * sizeof(int));
	queue->shares = make(cluster, labels * sizeof(YqLeafShares));
	for (int label = 0; label < labels; label++)
	{
		queue->shares[label].used_by_active = make(cluster, types * sizeof(int64));
		queue->shares[label].limit[YQ_RESPECT_EXCLUSIVITY] = make(cluster, types * sizeof(int64));
		queue->shares[label].limit[YQ_IGNORE_EXCLUSIVITY] = make(cluster, types * sizeof(int64));
	}
}

static void
set_parent(YqCluster *cluster, YqClusterQueue *queue)
{
	const char *policy = queue->queue->inherited[YQ_INHERITED_ORDERING_POLICY].value;

	queue->respects_priority = policy != NULL && strcmp(policy, "priority-utilization") == 0;
	queue->child_count = queue->queue->child_count;
	queue->children = make(cluster, Max(queue->child_count, 1) * sizeof(YqClusterQueue *));
	for (int i = 0; i < queue->child_count; i++)
	{
		YqClusterQueue *child = &cluster->queues[queue->queue->children[i]->number];

		queue->children[i] = child;
		child->parent = queue;
		child->position = i;
	}
	queue->order = make(cluster, cluster->hierarchy->label_count * sizeof(YqClusterQueue **));
	queue->ordered = make(cluster, cluster->hierarchy->label_count * sizeof(int));
}

static void
set_queue(YqCluster *cluster, YqClusterQueue *queue, const YqQueue *from)
{
	int			labels = cluster->hierarchy->label_count;

	queue->queue = from;
	queue->used = make_amounts_of_labels(cluster);
	queue->reserved = make_amounts_of_labels(cluster);
	queue->killable = make_amounts_of_labels(cluster);
	queue->pending = make_amounts_of_labels(cluster);
	queue->is_demanding = make(cluster, labels * sizeof(bool));
	queue->maximum = make(cluster, labels * sizeof(int64 *));
	queue->ranks = make(cluster, labels * sizeof(YqQueueRank));
	for (int label = 0; label < labels; label++)
	{
		const YqQueueLabel *configured = yq_queue_label(from, label);

		queue->maximum[label] = configured == NULL ? nothing : configured->effective_maximum;
		queue->ranks[label].configured = configured;
		queue->ranks[label].may_use = yq_queue_may_use_label(from, label);
		queue->ranks[label].has_capacity = configured != NULL && configured->absolute_capacity > 0;
	}
	if (yq_queue_is_of_plan(from))
		yq_cluster_note_share(queue);
	if (from->kind == YQ_QUEUE_LEAF)
		set_leaf(cluster, queue);
	else
		set_parent(cluster, queue);
}

/* -- making ---------------------------------------------------------------- */

/* Defaults of docs/hadoop-properties.md. */
static const YqClusterSettings default_settings = {
	.node_locality_delay = 40,
	.rack_locality_additional_delay = -1,
	.rack_locality_full_reset = true,
	.continues_looking = true,
	.assigns_multiple = true,
	.maximum_containers = 100,
	.maximum_off_switch = 1
};

YqCluster *
yq_cluster_create(YqHierarchy *hierarchy)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "yquota cluster",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext caller = MemoryContextSwitchTo(context);
	YqCluster  *cluster = palloc0(sizeof(YqCluster));

	cluster->context = context;
	cluster->hierarchy = hierarchy;
	cluster->calculator = &hierarchy->calculator;
	cluster->settings = default_settings;
	cluster->shares = palloc0(hierarchy->label_count * sizeof(bool));
	cluster->names = yq_bytes_table_create("yquota names of nodes and racks", sizeof(NameEntry), context);
	cluster->user_limit = yq_user_limit_create(hierarchy);
	cluster->user_limit->sharers = YQ_ACTIVE_USERS;
	cluster->queues = MemoryContextAllocHuge(context, Max(hierarchy->queue_count, 1) * sizeof(YqClusterQueue));
	memset(cluster->queues, 0, hierarchy->queue_count * sizeof(YqClusterQueue));
	for (int i = 0; i < hierarchy->queue_count; i++)
		set_queue(cluster, &cluster->queues[i], hierarchy->queues[i]);
	if (hierarchy->root != NULL)
		cluster->root = &cluster->queues[hierarchy->root->number];
	MemoryContextSwitchTo(caller);
	return cluster;
}

YqClusterQueue *
yq_cluster_queue(const YqCluster *cluster, const char *path)
{
	const YqQueue *queue = yq_hierarchy_find(cluster->hierarchy, path);

	return queue == NULL ? NULL : &cluster->queues[queue->number];
}

YqName
yq_cluster_name(YqCluster *cluster, const char *name)
{
	YqBytes		key = yq_bytes_of_string(name);
	bool		found;
	NameEntry  *entry = yq_bytes_table_enter(cluster->names, key, cluster->context, &found);

	if (!found)
	{
		entry->number = cluster->name_count;
		MAKE_ROOM(cluster, cluster->nodes, cluster->name_count, cluster->name_room);
		cluster->nodes[cluster->name_count++] = NULL;
	}
	return entry->number;
}

YqClusterNode *
yq_cluster_add_node(YqCluster *cluster, const char *name, const char *rack, int label, const int64 *total)
{
	YqClusterNode *node = make(cluster, sizeof(YqClusterNode));

	node->name = name;
	node->name_number = yq_cluster_name(cluster, name);
	node->rack_number = yq_cluster_name(cluster, rack);
	node->label = label;
	node->total = copy_cluster_amounts(cluster, total);
	node->unallocated = copy_cluster_amounts(cluster, total);
	cluster->nodes[node->name_number] = node;
	return node;
}

YqClusterNode *
yq_cluster_find_node(const YqCluster *cluster, YqBytes name)
{
	const NameEntry *entry = yq_bytes_table_find(cluster->names, name);

	return entry == NULL ? NULL : cluster->nodes[entry->number];
}

YqClusterNode *
yq_cluster_node(const YqCluster *cluster, const char *name)
{
	return yq_cluster_find_node(cluster, (YqBytes) {name, strlen(name)});
}

YqClusterUser *
yq_cluster_add_user(YqCluster *cluster, YqClusterQueue *leaf, const char *username, float4 weight)
{
	YqClusterUser *user = make(cluster, sizeof(YqClusterUser));

	Assert(leaf->is_leaf);
	user->username = username;
	user->leaf = leaf;
	user->weight = weight;
	user->used = make_amounts_of_labels(cluster);
	user->usage_ratio = make(cluster, cluster->hierarchy->label_count * sizeof(float4));
	for (int mode = YQ_RESPECT_EXCLUSIVITY; mode <= YQ_IGNORE_EXCLUSIVITY; mode++)
	{
		user->limit[mode] = make_amounts_of_labels(cluster);
		user->limit_version[mode] = make(cluster, cluster->hierarchy->label_count * sizeof(uint64));
	}
	MAKE_ROOM(cluster, leaf->users, leaf->user_count, leaf->user_room);
	leaf->users[leaf->user_count++] = user;
	return user;
}

YqClusterApplication *
yq_cluster_add_application(YqCluster *cluster, YqClusterUser *user, const char *application_id, int32 priority)
{
	YqClusterApplication *application = make(cluster, sizeof(YqClusterApplication));
	YqClusterQueue *leaf = user->leaf;

	application->application_id = application_id;
	application->leaf = leaf;
	application->user = user;
	application->priority = priority;
	application->next_container = 1;
	application->used = make_amounts_of_labels(cluster);
	application->reserved = make_amounts_of_labels(cluster);
	application->pending = make_amounts_of_labels(cluster);
	MAKE_ROOM(cluster, leaf->applications, leaf->application_count, leaf->application_room);
	leaf->applications[leaf->application_count++] = application;
	return application;
}

YqSchedulerKey *
yq_cluster_add_key(YqCluster *cluster, YqClusterApplication *application, int32 priority,
				   int64 allocation_request_id, int label)
{
	YqSchedulerKey *key = make(cluster, sizeof(YqSchedulerKey));

	key->application = application;
	key->priority = priority;
	key->allocation_request_id = allocation_request_id;
	key->label = label;
	key->anywhere.name = YQ_ANYWHERE;
	key->anywhere.relaxes_locality = true;
	MAKE_ROOM(cluster, application->keys, application->key_count, application->key_room);
	application->keys[application->key_count++] = key;
	key->wanted_from = application->key_count;
	return key;
}

YqResourceRequest *
yq_cluster_add_request(YqCluster *cluster, YqSchedulerKey *key, YqName name, int64 count,
					   const int64 *amounts, bool relaxes_locality)
{
	YqResourceRequest *request = &key->anywhere;

	if (name != YQ_ANYWHERE)
	{
		MAKE_ROOM(cluster, key->requests, key->request_count, key->request_room);
		request = &key->requests[key->request_count++];
	}
	memset(request, 0, sizeof(YqResourceRequest));
	request->name = name;
	request->count = count;
	request->amounts = copy_cluster_amounts(cluster, amounts);
	request->relaxes_locality = relaxes_locality;
	key->unique_requests++;
	return request;
}

/* Insert a reservation.  The reservations of a key are in the order of their nodes' names. */
static void
insert_reservation(const YqCluster *cluster, YqSchedulerKey *key, YqReservation *reservation)
{
	int			at = key->reservation_count;

	MAKE_ROOM(cluster, key->reservations, key->reservation_count, key->reservation_room);
	for (; at > 0 && strcmp(key->reservations[at - 1]->node->name, reservation->node->name) > 0; at--)
		key->reservations[at] = key->reservations[at - 1];
	key->reservations[at] = reservation;
	key->reservation_count++;
}

YqReservation *
yq_cluster_make_reservation(YqCluster *cluster, YqSchedulerKey *key, YqClusterNode *node,
							int64 container, const int64 *amounts)
{
	YqReservation *reservation = make(cluster, sizeof(YqReservation));
	YqClusterApplication *application = key->application;

	Assert(node->reservation == NULL);
	reservation->key = key;
	reservation->node = node;
	reservation->container = container;
	reservation->amounts = copy_cluster_amounts(cluster, amounts);
	node->reservation = reservation;
	insert_reservation(cluster, key, reservation);
	application->reservation_count++;
	yq_amounts_add(cluster->calculator, yq_at(cluster, application->reserved, node->label), amounts);
	for (YqClusterQueue *queue = application->leaf; queue != NULL; queue = queue->parent)
		yq_amounts_add(cluster->calculator, yq_at(cluster, queue->reserved, node->label), amounts);
	return reservation;
}

YqReservation *
yq_cluster_add_reservation(YqCluster *cluster, YqSchedulerKey *key, YqClusterNode *node,
						   int64 container, const int64 *amounts)
{
	yq_cluster_add_usage(cluster, key->application->leaf, key->application->user, node->label, amounts);
	return yq_cluster_make_reservation(cluster, key, node, container, amounts);
}

void
yq_cluster_add_to_blacklist(YqCluster *cluster, YqClusterApplication *application, YqName name)
{
	MAKE_ROOM(cluster, application->blacklist, application->blacklist_count, application->blacklist_room);
	application->blacklist[application->blacklist_count++] = name;
}

void
yq_cluster_add_usage(YqCluster *cluster, YqClusterQueue *leaf, YqClusterUser *user, int label,
					 const int64 *amounts)
{
	for (YqClusterQueue *queue = leaf; queue != NULL; queue = queue->parent)
		yq_amounts_add(cluster->calculator, yq_at(cluster, queue->used, label), amounts);
	if (user != NULL)
		yq_amounts_add(cluster->calculator, yq_at(cluster, user->used, label), amounts);
}

/* -- sorting --------------------------------------------------------------- */

static int
compare_interned_names(const void *a, const void *b)
{
	YqName		left = *(const YqName *) a;
	YqName		right = *(const YqName *) b;

	return left < right ? -1 : left > right;
}

static int
compare_requests(const void *a, const void *b)
{
	return compare_interned_names(&((const YqResourceRequest *) a)->name, &((const YqResourceRequest *) b)->name);
}

static int
compare_users(const void *a, const void *b)
{
	return strcmp((*(YqClusterUser *const *) a)->username, (*(YqClusterUser *const *) b)->username);
}

/* Compare ids of containers.  The ids of an application are then in the order of attempts and numbers. */
static int
compare_container_ids(const char *left, const char *right)
{
	Size		left_length = strlen(left);
	Size		right_length = strlen(right);

	if (left_length != right_length)
		return left_length < right_length ? -1 : 1;
	return strcmp(left, right);
}

/*
 * Compare keys: the smaller priority number comes first, then the smaller request id
 * (semantics/allocation 4).  Updates come after all other keys.
 * SchedulerRequestKey.compareTo() does the same, although its comment says otherwise.
 */
static int
compare_keys(const void *a, const void *b)
{
	const YqSchedulerKey *left = *(YqSchedulerKey *const *) a;
	const YqSchedulerKey *right = *(YqSchedulerKey *const *) b;

	if ((left->update != NULL) != (right->update != NULL))
		return left->update != NULL ? 1 : -1;
	if (left->priority != right->priority)
		return left->priority < right->priority ? -1 : 1;
	if (left->allocation_request_id != right->allocation_request_id)
		return left->allocation_request_id < right->allocation_request_id ? -1 : 1;
	return left->update == NULL ? 0 : compare_container_ids(left->update->container_id, right->update->container_id);
}

static int
compare_ids(const void *a, const void *b)
{
	return yq_application_id_compare((*(YqClusterApplication *const *) a)->application_id,
									 (*(YqClusterApplication *const *) b)->application_id);
}

void
yq_cluster_sort_keys(YqClusterApplication *application)
{
	if (application->key_count > 0)
		qsort(application->keys, application->key_count, sizeof(YqSchedulerKey *), compare_keys);
	yq_cluster_find_wanted_keys(application);
}

YqSchedulerKey *
yq_cluster_find_key(const YqClusterApplication *application, int sorted_count, int32 priority,
					int64 allocation_request_id, const char *container_to_update)
{
	YqContainerUpdate update = {.container_id = container_to_update};
	YqSchedulerKey wanted = {
		.priority = priority,.allocation_request_id = allocation_request_id,
		.update = container_to_update == NULL ? NULL : &update
	};
	const YqSchedulerKey *key = &wanted;
	YqSchedulerKey **found = sorted_count == 0 ? NULL :
		bsearch(&key, application->keys, sorted_count, sizeof(YqSchedulerKey *), compare_keys);

	return found == NULL ? NULL : *found;
}

void
yq_cluster_find_wanted_keys(YqClusterApplication *application)
{
	for (int i = 0; i < application->key_count; i++)
		application->keys[i]->wanted_from = i + 1;
}

int
yq_cluster_wanted_key(YqClusterApplication *application, int from)
{
	int			at = from;

	while (at < application->key_count && application->keys[at]->anywhere.count <= 0)
		at = application->keys[at]->wanted_from;
	/* let the next search skip these keys, so that all searches of a cycle visit each key only a few times */
	while (from < at)
	{
		int			next = application->keys[from]->wanted_from;

		application->keys[from]->wanted_from = at;
		from = next;
	}
	return at;
}

static void
prepare_key(YqCluster *cluster, YqSchedulerKey *key)
{
	YqClusterApplication *application = key->application;

	if (key->request_count > 0)
		qsort(key->requests, key->request_count, sizeof(YqResourceRequest), compare_requests);
	if (key->anywhere.count <= 0)
		return;
	application->is_demanding = true;
	if (key->label >= 0)
		yq_pending_change(cluster, application, key->label, key->anywhere.amounts, key->anywhere.count);
}

void
yq_cluster_prepare_application(YqCluster *cluster, YqClusterApplication *application)
{
	yq_cluster_sort_keys(application);
	if (application->blacklist_count > 0)
		qsort(application->blacklist, application->blacklist_count, sizeof(YqName), compare_interned_names);
	for (int i = 0; i < application->key_count; i++)
		prepare_key(cluster, application->keys[i]);
}

/* Prepare a leaf after its applications have been prepared. */
static void
prepare_leaf(YqCluster *cluster, YqClusterQueue *leaf)
{
	if (leaf->user_count > 0)
		qsort(leaf->users, leaf->user_count, sizeof(YqClusterUser *), compare_users);
	yq_users_sum_up(cluster, leaf);
	if (leaf->application_count > 0)
		qsort(leaf->applications, leaf->application_count, sizeof(YqClusterApplication *), compare_ids);
	for (int i = 0; i < leaf->application_count; i++)
		leaf->applications[i]->number = i;
	yq_order_applications(cluster, leaf);
}

void
yq_cluster_prepare(YqCluster *cluster)
{
	MemoryContext caller = MemoryContextSwitchTo(cluster->context);

	for (int i = 0; i < cluster->hierarchy->queue_count; i++)
	{
		YqClusterQueue *queue = &cluster->queues[i];

		CHECK_FOR_INTERRUPTS();
		for (int j = 0; j < queue->application_count; j++)
			yq_cluster_prepare_application(cluster, queue->applications[j]);
		if (queue->is_leaf)
			prepare_leaf(cluster, queue);
	}
	/* order the queues now, because their pending resources are known */
	for (int i = 0; i < cluster->hierarchy->queue_count; i++)
		yq_order_set_used(cluster, &cluster->queues[i]);
	for (int i = 0; i < cluster->hierarchy->queue_count; i++)
	{
		if (!cluster->queues[i].is_leaf)
			yq_order_children(cluster, &cluster->queues[i]);
	}
	MemoryContextSwitchTo(caller);
}

/* -- killable containers ------------------------------------------------------ */

static int
compare_killable(const void *a, const void *b)
{
	const YqKillableContainer *left = a;
	const YqKillableContainer *right = b;
	int			order = yq_application_id_compare(left->application_id, right->application_id);

	return order != 0 ? order : compare_container_ids(left->container_id, right->container_id);
}

void
yq_cluster_set_killable(YqCluster *cluster, YqKillableContainer *containers, int count)
{
	for (int i = 0; i < cluster->hierarchy->queue_count; i++)
		memset(cluster->queues[i].killable, 0, yq_cluster_amounts_size(cluster));
	for (int i = 0; i < cluster->name_count; i++)
	{
		if (cluster->nodes[i] != NULL)
			cluster->nodes[i]->killable = NULL;
	}
	if (count > 0)
		qsort(containers, count, sizeof(YqKillableContainer), compare_killable);
	cluster->killable = containers;
	cluster->killable_count = count;
	for (int i = count - 1; i >= 0; i--)
	{
		YqKillableContainer *container = &containers[i];

		CHECK_FOR_INTERRUPTS();
		for (YqClusterQueue *queue = container->user->leaf; queue != NULL; queue = queue->parent)
			yq_amounts_add(cluster->calculator, yq_at(cluster, queue->killable, container->label), container->amounts);
		if (container->node == NULL)
			continue;
		container->next = container->node->killable;
		container->node->killable = container;
	}
}

void
yq_cluster_node_room(const YqCluster *cluster, const YqClusterNode *node, int64 *room)
{
	memcpy(room, node->unallocated, cluster->calculator->types * sizeof(int64));
	for (const YqKillableContainer *container = node->killable; container != NULL; container = container->next)
		yq_amounts_add(cluster->calculator, room, container->amounts);
}

/* -- following -------------------------------------------------------------- */

static void
subtract_amounts(const YqCluster *cluster, int64 *from, const int64 *amounts)
{
	for (int i = 0; i < cluster->calculator->types; i++)
		from[i] -= amounts[i];
}

/* Remove a reservation that is no longer needed. */
static void
remove_reservation(YqCluster *cluster, YqReservation *reservation)
{
	YqClusterApplication *application = reservation->key->application;
	int			label = reservation->node->label;

	for (YqClusterQueue *queue = application->leaf; queue != NULL; queue = queue->parent)
	{
		subtract_amounts(cluster, yq_at(cluster, queue->used, label), reservation->amounts);
		subtract_amounts(cluster, yq_at(cluster, queue->reserved, label), reservation->amounts);
	}
	subtract_amounts(cluster, yq_at(cluster, application->user->used, label), reservation->amounts);
	reservation->node->reservation = NULL;
	pfree(unconstify(int64 *, reservation->amounts));
	pfree(reservation);
}

void
yq_cluster_remove_reservation(YqCluster *cluster, YqReservation *reservation)
{
	YqSchedulerKey *key = reservation->key;
	YqClusterApplication *application = key->application;
	int			at = 0;

	while (key->reservations[at] != reservation)
		at++;
	key->reservation_count--;
	application->reservation_count--;
	memmove(key->reservations + at, key->reservations + at + 1,
			(key->reservation_count - at) * sizeof(YqReservation *));
	subtract_amounts(cluster, yq_at(cluster, application->reserved, reservation->node->label), reservation->amounts);
	remove_reservation(cluster, reservation);
}

static void
free_if_any(const void *pointer)
{
	if (pointer != NULL)
		pfree(unconstify(void *, pointer));
}

static void
remove_key(YqCluster *cluster, YqSchedulerKey *key)
{
	for (int i = 0; i < key->reservation_count; i++)
		remove_reservation(cluster, key->reservations[i]);
	for (int i = 0; i < key->request_count; i++)
		free_if_any(key->requests[i].amounts);
	free_if_any(key->anywhere.amounts);
	free_if_any(key->requests);
	free_if_any(key->reservations);
	pfree(key);
}

void
yq_cluster_drop_empty_keys(YqClusterApplication *application)
{
	int			count = 0;

	for (int i = 0; i < application->key_count; i++)
	{
		YqSchedulerKey *key = application->keys[i];

		if (key->anywhere.amounts == NULL && key->request_count == 0 && key->reservation_count == 0)
			remove_key(NULL, key);
		else
			application->keys[count++] = key;
	}
	application->key_count = count;
	yq_cluster_find_wanted_keys(application);
}

static void
subtract_pending(YqCluster *cluster, YqClusterApplication *application)
{
	for (int label = 0; label < cluster->hierarchy->label_count; label++)
	{
		int64		pending[YQ_MAX_RESOURCE_TYPES];

		memcpy(pending, yq_at(cluster, application->pending, label), cluster->calculator->types * sizeof(int64));
		yq_pending_change(cluster, application, label, pending, -1);
	}
}

void
yq_cluster_remove_application(YqCluster *cluster, YqClusterApplication *application)
{
	YqClusterQueue *leaf = application->leaf;
	int			at = 0;

	Assert(!application->is_touched);
	while (leaf->applications[at] != application)
		at++;
	leaf->application_count--;
	memmove(leaf->applications + at, leaf->applications + at + 1,
			(leaf->application_count - at) * sizeof(YqClusterApplication *));
	subtract_pending(cluster, application);
	for (int i = 0; i < application->key_count; i++)
		remove_key(cluster, application->keys[i]);
	free_if_any(application->keys);
	free_if_any(application->blacklist);
	pfree(application->used);
	pfree(application->reserved);
	pfree(application->pending);
	pfree(application);
}

void
yq_cluster_prepare_again(YqCluster *cluster, const List *queues)
{
	MemoryContext caller = MemoryContextSwitchTo(cluster->context);
	bool	   *is_done = palloc0(Max(cluster->hierarchy->queue_count, 1) * sizeof(bool));
	ListCell   *cell;

	foreach(cell, queues)
	{
		YqClusterQueue *queue = lfirst(cell);

		CHECK_FOR_INTERRUPTS();
		queue->is_out_of_order = queue->is_leaf;
		for (; queue != NULL && !is_done[queue->queue->number]; queue = queue->parent)
		{
			yq_order_place(cluster, queue);
			is_done[queue->queue->number] = true;
		}
	}
	pfree(is_done);
	MemoryContextSwitchTo(caller);
}

void
yq_cluster_order_leaf(YqCluster *cluster, YqClusterQueue *leaf)
{
	MemoryContext caller;

	if (!leaf->is_out_of_order)
		return;
	cluster->complete_leaf(cluster, leaf);
	caller = MemoryContextSwitchTo(cluster->context);
	prepare_leaf(cluster, leaf);
	MemoryContextSwitchTo(caller);
	leaf->is_out_of_order = false;
}

/* -- cycles ----------------------------------------------------------------- */

void
yq_cluster_touch(YqCluster *cluster, YqSchedulerKey *key)
{
	YqClusterApplication *application = key->application;

	key->is_changed = true;
	if (application->is_touched)
		return;
	application->is_touched = true;
	MAKE_ROOM(cluster, cluster->touched, cluster->touched_count, cluster->touched_room);
	cluster->touched[cluster->touched_count++] = application;
}

/* Do any nodes with a label also serve the default partition? */
static bool
has_shared_nodes(const YqCluster *cluster)
{
	for (int label = 0; label < cluster->hierarchy->label_count; label++)
	{
		if (cluster->shares[label])
			return true;
	}
	return false;
}

bool
yq_scheduler_key_counters_differ(const YqCluster *cluster, const YqSchedulerKey *key)
{
	return key->opportunities != key->written.opportunities ||
		key->re_reservations != key->written.re_reservations ||
		(key->missed_non_partitioned != key->written.missed_non_partitioned && has_shared_nodes(cluster));
}

static int
compare_id_bytes(const void *a, const void *b)
{
	return strcmp((*(YqClusterApplication *const *) a)->application_id,
				  (*(YqClusterApplication *const *) b)->application_id);
}

void
yq_cluster_sort_touched(YqCluster *cluster)
{
	if (cluster->touched_count > 0)
		qsort(cluster->touched, cluster->touched_count, sizeof(YqClusterApplication *), compare_id_bytes);
}

void
yq_cluster_end_cycle(YqCluster *cluster)
{
	for (int i = 0; i < cluster->touched_count; i++)
		cluster->touched[i]->is_touched = false;
	cluster->touched_count = cluster->decision_count = 0;
}

bool
yq_is_fair(YqApplicationPolicy policy)
{
	return policy == YQ_FAIR || policy == YQ_FAIR_BY_SIZE;
}

YqResourceRequest *
yq_scheduler_key_request(const YqSchedulerKey *key, YqName name)
{
	int			low = 0;
	int			high = key->request_count;

	while (low < high)
	{
		int			middle = (low + high) / 2;

		if (key->requests[middle].name == name)
			return &key->requests[middle];
		if (key->requests[middle].name < name)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}
