/*-------------------------------------------------------------------------
 *
 * preemption_loader.c
 *	  Completes leaves of a round of preemption when a selector first needs them: adds
 *	  their containers and reservations.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "executor/spi.h"
#include "miscadmin.h"
#include "preemption/loaded_preemption.h"
#include "preemption/preemption_state.h"
#include "queues/text.h"
#include "store/catalog.h"
#include "store/saved_plan.h"
#include "store/table_scan.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

/* -- price candidates ---------------------------------------------------------- */

/* Computes what each container of an application has cost so far, for the order YQ_LEAST_PAID. */

static YqSavedPlan look_up = {
	.command = "SELECT q.number, pg_catalog.rank() OVER (ORDER BY r.paid) "
	"FROM pg_catalog.unnest($1) WITH ORDINALITY AS q (container_id, number) "
	"JOIN yquota_internal.ranked_container AS r ON r.container_id = q.container_id",
	.types = {"_text"},
	.plans_once = true
};

/* Rank the containers of an application by the credits that each of them has cost so far. */
static void
rank_by_price(YqPreemption *state, YqPreemptionApplication *application)
{
	const char **ids = palloc(sizeof(char *) * Max(application->container_count, 1));
	Datum		values[1];
	uint64		found;

	for (int i = 0; i < application->container_count; i++)
		ids[i] = application->containers[i]->container_id;
	values[0] = yq_array_of_names(ids, application->container_count);
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	found = yq_saved_plan_run(&look_up, values, NULL);
	for (uint64 i = 0; i < found; i++)
	{
		HeapTuple	tuple = SPI_tuptable->vals[i];
		bool		isnull;
		int64		number = DatumGetInt64(SPI_getbinval(tuple, SPI_tuptable->tupdesc, 1, &isnull));

		CHECK_FOR_INTERRUPTS();
		application->containers[number - 1]->paid_rank =
			DatumGetInt64(SPI_getbinval(tuple, SPI_tuptable->tupdesc, 2, &isnull));
	}
	SPI_finish();
	pfree(ids);
}

/* -- preemption containers ----------------------------------------------------- */

/*
 * Reads the running containers of the leaves that a round of preemption examines.
 *
 * The table of containers has no index by queue, so one scan reads the containers of all
 * wanted leaves.  A leaf is wanted if it must give up containers.  For intra-queue
 * preemption, leaves with unmet demand are wanted, too.
 *
 * A container without an application is never selected, because there is no application to
 * inform.
 */

/* Containers that have been read, but not yet added to the state. */
typedef struct YqPreemptionReading YqPreemptionReading;

/* A container as read from the table. */
typedef struct ReadContainer
{
	YqPreemptionApplicationEntry *application;
	YqPreemptionNode *node;
	const char *container_id;
	const int64 *amounts;
	int32		priority;
	int64		allocation_request_id;
	int			label;
	TimestampTz started_at;
	bool		is_master;
} ReadContainer;

struct YqPreemptionReading
{
	YqPreemptionLoader *loader;
	Oid			guaranteed;
	ReadContainer *containers;
	int64		count;
	int64		room;
	const int64 *last_amounts;	/* amounts of the previous container; the next container often has equal amounts */
	MemoryContext row_context;
};

typedef struct YqPreemptionReading Reading;

/* Columns, in the order of the scan's result. */
typedef enum ContainerColumn
{
	CONTAINER_EXECUTION_TYPE,
	CONTAINER_QUEUE,
	CONTAINER_CONTAINER_ID,
	CONTAINER_APPLICATION_ID,
	CONTAINER_USERNAME,
	CONTAINER_NODE,
	CONTAINER_LABEL,
	CONTAINER_ALLOCATION,
	CONTAINER_STARTED_AT,
	CONTAINER_PRIORITY,
	CONTAINER_ALLOCATION_REQUEST_ID,
	CONTAINER_ASKED_LABEL,
	CONTAINER_IS_AM,
	CONTAINER_COLUMNS
} ContainerColumn;

static const char *const container_columns[] = {"execution_type", "queue", "container_id", "application_id", "username", "node",
	"label", "allocation", "started_at", "priority", "allocation_request_id", "asked_label", "is_am"};

/*
 * Return a number that orders the containers of an application by attempt, then by
 * container number.  Both numbers are at the end of the container's id.  Returns 0 if the
 * id ends in another way.
 */
static int64
preemption_container_number(const char *container_id)
{
	const char *number = strrchr(container_id, '_');
	const char *attempt = number;
	int64		result;

	if (number == NULL)
		return 0;
	while (attempt > container_id && attempt[-1] != '_')
		attempt--;
	result = strtoll(number + 1, NULL, 10);
	return ((int64) (strtol(attempt, NULL, 10) & 0x7FFF) << 48) | (result & INT64CONST(0xFFFFFFFFFFFF));
}

/* Return the number of the label in a column, or -1.  A cluster without labels has a single partition. */
static int
label_of(const YqHierarchy *hierarchy, const YqRow *row, ContainerColumn column)
{
	const char *label = hierarchy->settings.has_node_labels ? yq_row_text(row, column) : NULL;

	return label == NULL ? 0 : yq_hierarchy_label(hierarchy, label);
}

/* Return the wanted leaf to which a container belongs, or NULL. */
static YqPreemptionQueue *
wanted_leaf(const YqPreemptionLoader *loader, const YqRow *row)
{
	YqBytes		name = yq_row_bytes(row, CONTAINER_QUEUE);
	const YqQueue *queue;
	YqPreemptionQueue *leaf;

	if (name.data == NULL)
		return NULL;
	queue = yq_hierarchy_find_bytes(loader->preemption->hierarchy, name);
	if (queue == NULL)
		queue = yq_hierarchy_find_by_name(loader->preemption->hierarchy, pnstrdup(name.data, name.length));
	leaf = queue == NULL ? NULL : yq_loaded_preemption_queue(loader->preemption, queue);
	return leaf != NULL && loader->is_wanted[leaf->number] ? leaf : NULL;
}

static const int64 *
keep_amounts(Reading *reading, Datum allocation)
{
	const YqPreemption *state = reading->loader->preemption->state;
	const int64 *amounts = yq_hierarchy_read_amounts(reading->loader->preemption->hierarchy, allocation);

	if (reading->last_amounts == NULL || !yq_amounts_are_equal(state->calculator, amounts, reading->last_amounts))
		reading->last_amounts = yq_preemption_copy(state, amounts);
	return reading->last_amounts;
}

static ReadContainer *
new_container(Reading *reading)
{
	if (reading->count == reading->room)
	{
		reading->room = Max(reading->room * 2, 1024);
		reading->containers = reading->containers == NULL ?
			MemoryContextAllocHuge(reading->loader->preemption->state->context, reading->room * sizeof(ReadContainer)) :
			repalloc_huge(reading->containers, reading->room * sizeof(ReadContainer));
	}
	return &reading->containers[reading->count++];
}

static YqBytes
bytes_or_empty(const YqRow *row, ContainerColumn column)
{
	YqBytes		bytes = yq_row_bytes(row, column);

	return bytes.data == NULL ? (YqBytes) {"", 0} : bytes;
}

static void
keep_container(Reading *reading, const YqRow *row, YqPreemptionQueue *leaf, int label)
{
	YqPreemptionLoader *loader = reading->loader;
	const YqHierarchy *hierarchy = loader->preemption->hierarchy;
	YqBytes		username = bytes_or_empty(row, CONTAINER_USERNAME);
	ReadContainer *container = new_container(reading);
	bool		isnull;

	container->application = yq_preemption_applications_enter(loader, leaf, yq_row_bytes(row, CONTAINER_APPLICATION_ID), username);
	container->node = yq_loaded_preemption_node(loader, bytes_or_empty(row, CONTAINER_NODE), label);
	container->container_id = yq_loaded_preemption_keep(loader, yq_row_bytes(row, CONTAINER_CONTAINER_ID));
	container->amounts = keep_amounts(reading, yq_row_value(row, CONTAINER_ALLOCATION, &isnull));
	container->priority = yq_row_integer(row, CONTAINER_PRIORITY, 0);
	container->allocation_request_id = yq_row_bigint(row, CONTAINER_ALLOCATION_REQUEST_ID, 0);
	container->label = label_of(hierarchy, row, CONTAINER_ASKED_LABEL);
	container->started_at = DatumGetTimestampTz(yq_row_value(row, CONTAINER_STARTED_AT, &isnull));
	container->is_master = yq_row_bool(row, CONTAINER_IS_AM);
}

static void
read_container(const YqRow *row)
{
	Reading    *reading = row->argument;
	YqPreemptionLoader *loader = reading->loader;
	bool		isnull;
	Datum		type = yq_row_value(row, CONTAINER_EXECUTION_TYPE, &isnull);
	MemoryContext caller;
	YqPreemptionQueue *leaf;
	int			label;

	if (isnull || DatumGetObjectId(type) != reading->guaranteed)
		return;
	caller = MemoryContextSwitchTo(reading->row_context);
	leaf = wanted_leaf(loader, row);
	label = label_of(loader->preemption->hierarchy, row, CONTAINER_LABEL);
	if (leaf != NULL && label >= 0 && yq_row_bytes(row, CONTAINER_APPLICATION_ID).data != NULL)
		keep_container(reading, row, leaf, label);
	MemoryContextSwitchTo(caller);
	MemoryContextReset(reading->row_context);
}

/* Read the containers of the wanted leaves, and add their applications to the found applications. */
static YqPreemptionReading *
preemption_containers_read(YqPreemptionLoader *loader)
{
	Snapshot	snapshot = yq_latest_snapshot();
	Reading    *reading = palloc0(sizeof(Reading));

	reading->loader = loader;
	reading->guaranteed = yq_enum_oid("execution_type", "GUARANTEED");
	reading->row_context = AllocSetContextCreate(CurrentMemoryContext, "yquota containers", ALLOCSET_SMALL_SIZES);
	yq_table_scan(YQ_CONTAINER, snapshot, container_columns, CONTAINER_COLUMNS, read_container, reading);
	MemoryContextDelete(reading->row_context);
	UnregisterSnapshot(snapshot);
	return reading;
}

static const YqPreemptionMark *
find_mark(const YqPreemptionLoader *loader, const ReadContainer *read)
{
	HTAB	   *marks = loader->preemption->marks;

	return marks == NULL ? NULL : yq_bytes_table_find(marks, yq_bytes_of_string(read->container_id));
}

/* Subtract a container that counts as ended from the usage of its user and of its node. */
static void
leave_out(const YqPreemption *state, const ReadContainer *read)
{
	int64	   *used = read->application->application->user->labels[read->node->label].used;

	for (int i = 0; i < state->calculator->types; i++)
	{
		used[i] -= read->amounts[i];
		read->node->allocated[i] -= read->amounts[i];
	}
}

static void
add_container(YqPreemption *state, const ReadContainer *read, const YqPreemptionMark *mark)
{
	YqPreemptionApplication *application = read->application->application;
	YqPreemptionContainer *container = yq_preemption_add_container(state, application, read->node, read->container_id,
																   preemption_container_number(read->container_id), read->amounts, false);

	container->label = read->label;
	container->priority = read->priority;
	container->allocation_request_id = read->allocation_request_id;
	container->started_at = read->started_at;
	container->is_master = read->is_master;
	yq_amounts_add(state->calculator, application->labels[read->node->label].used, read->amounts);
	if (mark == NULL)
		return;
	container->is_killable = mark->is_killable;
	container->marked_at = mark->marked_at;
}

/*
 * Add the containers, with the data of their marks, to the state, which already contains
 * their applications.  Frees the list of containers.
 *
 * After a kill has been advised, the container counts as ended until the resource manager's
 * time for ending it has passed.
 */
static void
preemption_containers_add(Reading *reading)
{
	const YqPreemptionLoader *loader = reading->loader;
	YqPreemption *state = loader->preemption->state;

	for (int64 i = 0; i < reading->count; i++)
	{
		const ReadContainer *read = &reading->containers[i];
		const YqPreemptionMark *mark = find_mark(loader, read);

		CHECK_FOR_INTERRUPTS();
		if (mark != NULL && mark->is_advised)
			leave_out(state, read);
		else
			add_container(state, read, mark);
	}
	if (reading->containers != NULL)
		pfree(reading->containers);
	pfree(reading);
}

/* -- preemption reservations --------------------------------------------------- */

/* Reservations of the applications that a round of preemption examines. */

typedef struct ReservedAtEntry
{
	YqBytes		key;			/* name of the node */
	TimestampTz reserved_at;
	bool		is_moved;
} ReservedAtEntry;

static void
read_reserved_at(const YqRow *row)
{
	YqPreemptionLoader *loader = row->argument;
	bool		isnull;
	bool		found;
	ReservedAtEntry *entry = yq_bytes_table_enter(loader->reserved_at, yq_row_bytes(row, 0),
												  loader->preemption->state->context, &found);

	entry->reserved_at = DatumGetTimestampTz(yq_row_value(row, 1, &isnull));
	(void) yq_row_value(row, 2, &isnull);
	entry->is_moved = !isnull;
}

/* Set the remaining fields from the reservation's row.  A reservation without a row counts as made now. */
static void
set_reserved_at(YqPreemptionLoader *loader, YqPreemptionContainer *container)
{
	static const char *const columns[] = {"node", "reserved_at", "moved_at"};
	const ReservedAtEntry *entry;

	if (loader->reserved_at == NULL)
	{
		Snapshot	snapshot = yq_latest_snapshot();

		loader->reserved_at = yq_bytes_table_create("yquota times of reservations", sizeof(ReservedAtEntry),
													loader->preemption->state->context);
		yq_table_scan(YQ_RESERVED_CONTAINER, snapshot, columns, lengthof(columns), read_reserved_at, loader);
		UnregisterSnapshot(snapshot);
	}
	entry = yq_bytes_table_find(loader->reserved_at, yq_bytes_of_string(container->node->name));
	container->started_at = entry == NULL ? loader->preemption->state->now : entry->reserved_at;
	container->is_moved = entry != NULL && entry->is_moved;
}

static void
add_reservation(YqPreemptionLoader *loader, YqPreemptionApplication *application, const YqReservation *reservation)
{
	const YqSchedulerKey *key = reservation->key;
	YqPreemptionNode *node = yq_loaded_preemption_node(loader, yq_bytes_of_string(reservation->node->name), reservation->node->label);
	char	   *id = text_to_cstring(yq_loaded_container_id(key->application, reservation->container));
	YqPreemptionContainer *container = yq_preemption_add_container(loader->preemption->state, application, node, id,
																   preemption_container_number(id), reservation->amounts, true);

	container->label = key->label;
	container->priority = key->priority;
	container->allocation_request_id = key->allocation_request_id;
	set_reserved_at(loader, container);
	container->is_update = key->update != NULL;
	container->relaxes_locality = key->anywhere.relaxes_locality;
	container->source = unconstify(YqReservation *, reservation);
}

/* Add the reservations of the found applications.  The state already contains these applications. */
static void
preemption_reservations_add(YqPreemptionLoader *loader)
{
	ListCell   *cell;

	foreach(cell, loader->found)
	{
		const YqPreemptionApplicationEntry *entry = lfirst(cell);

		for (int i = 0; entry->from != NULL && i < entry->from->key_count; i++)
		{
			for (int j = 0; j < entry->from->keys[i]->reservation_count; j++)
				add_reservation(loader, entry->application, entry->from->keys[i]->reservations[j]);
		}
	}
}

/* -- preemption loader --------------------------------------------------------- */

static YqPreemptionLoader *
loader_of(const YqPreemption *state)
{
	return ((YqLoadedPreemption *) state->source)->loader;
}

static bool
is_likely_wanted(const YqPreemption *state, const YqPreemptionQueue *leaf)
{
	for (int label = 0; label < state->label_count; label++)
	{
		const YqPreemptionQueueLabel *entry = &leaf->labels[label];

		if (yq_amounts_any_above_none(state->calculator, entry->obtain) ||
			(state->settings.selects_intra_queue && entry->is_underserved))
			return true;
	}
	return false;
}

/* Add the missing data of the leaves that are marked as wanted. */
static void
complete_wanted(YqPreemptionLoader *loader)
{
	YqPreemption *state = loader->preemption->state;
	YqPreemptionQueue **leaves = palloc(Max(state->queue_count, 1) * sizeof(YqPreemptionQueue *));
	int			count = 0;
	YqPreemptionReading *containers;

	for (int i = 0; i < state->queue_count; i++)
	{
		if (loader->is_wanted[i])
			leaves[count++] = state->queues[i];
	}
	yq_preemption_applications_find(loader, leaves, count);
	containers = preemption_containers_read(loader);
	yq_preemption_applications_add(loader);
	preemption_reservations_add(loader);
	preemption_containers_add(containers);
	for (int i = 0; i < count; i++)
	{
		yq_preemption_applications_set_user_limits(loader, leaves[i]);
		leaves[i]->is_complete = true;
	}
	pfree(leaves);
}

static void
complete_leaf(YqPreemption *state, YqPreemptionQueue *leaf)
{
	YqPreemptionLoader *loader = loader_of(state);

	for (int i = 0; i < state->queue_count; i++)
	{
		YqPreemptionQueue *queue = state->queues[i];

		loader->is_wanted[i] = queue->is_leaf && !queue->is_complete && (queue == leaf || is_likely_wanted(state, queue));
	}
	complete_wanted(loader);
}

static void
complete_all(YqPreemption *state)
{
	YqPreemptionLoader *loader = loader_of(state);
	const YqCluster *cluster = loader->preemption->loaded->cluster;

	for (int i = 0; i < state->queue_count; i++)
		loader->is_wanted[i] = state->queues[i]->is_leaf && !state->queues[i]->is_complete;
	complete_wanted(loader);
	for (int i = 0; i < cluster->name_count; i++)
	{
		if (cluster->nodes[i] != NULL)
			(void) yq_loaded_preemption_node(loader, yq_bytes_of_string(cluster->nodes[i]->name), cluster->nodes[i]->label);
	}
}

void
yq_preemption_loader_begin(YqLoadedPreemption *preemption)
{
	YqPreemption *state = preemption->state;
	MemoryContext caller = MemoryContextSwitchTo(state->context);
	YqPreemptionLoader *loader = palloc0(sizeof(YqPreemptionLoader));

	loader->preemption = preemption;
	yq_preemption_applications_begin(loader);
	yq_loaded_preemption_begin_nodes(loader);
	loader->is_wanted = palloc0(Max(state->queue_count, 1) * sizeof(bool));
	loader->queues = palloc0(Max(preemption->hierarchy->queue_count, 1) * sizeof(YqPreemptionQueue *));
	for (int i = 0; i < state->queue_count; i++)
		loader->queues[yq_preemption_queue(state->queues[i])->number] = state->queues[i];
	preemption->loader = loader;
	state->complete_leaf = complete_leaf;
	state->complete_all = complete_all;
	state->price_candidates = rank_by_price;
	MemoryContextSwitchTo(caller);
}
