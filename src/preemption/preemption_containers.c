/*-------------------------------------------------------------------------
 *
 * preemption_containers.c
 *	  Running containers of the leaves that a round of preemption looks at.
 *
 * The table of containers has no index by queue.  One scan reads the containers
 * of every leaf that is wanted at that time: those that are to give something,
 * and, for intra-queue preemption, those with unmet demand.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "miscadmin.h"
#include "preemption/preemption_applications.h"
#include "preemption/preemption_containers.h"
#include "store/catalog.h"
#include "store/table_scan.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

/* A container as it was read. */
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
	const int64 *last_amounts;	/* the next container often has the same */
	MemoryContext row_context;
};

typedef struct YqPreemptionReading Reading;

/* Columns in the order in which they are asked for. */
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

int64
yq_preemption_container_number(const char *container_id)
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

/* The number of a label that a column names, or -1.  Without labels there is one partition. */
static int
label_of(const YqHierarchy *hierarchy, const YqRow *row, ContainerColumn column)
{
	const char *label = hierarchy->settings.has_node_labels ? yq_row_text(row, column) : NULL;

	return label == NULL ? 0 : yq_hierarchy_label(hierarchy, label);
}

/* The wanted leaf that a container is counted in, or NULL. */
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

YqPreemptionReading *
yq_preemption_containers_read(YqPreemptionLoader *loader)
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

/* Take a container that counts as gone out of the figures of its user and node. */
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
																   yq_preemption_container_number(read->container_id), read->amounts, false);

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

/* An advised kill counts as done, until the resource manager has had its time. */
void
yq_preemption_containers_add(Reading *reading)
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
