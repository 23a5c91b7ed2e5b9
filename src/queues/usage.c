/*-------------------------------------------------------------------------
 *
 * usage.c
 *	  Usage of queues: running containers, from the counters of charging (docs/design.md
 *	  3), and reservations.
 *
 * Only GUARANTEED containers use resources of a queue, but containers of both execution
 * types make a queue nonempty.  A container names its queue by path, or by a name that
 * only one queue has.  A container that does not name an existing queue does not count.
 * A reservation on a node counts as if the container ran there (ResourceUsage.incUsed()
 * for a reservation).
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "base/delta_entries.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "queues/effective.h"
#include "queues/hierarchy.h"
#include "queues/usage.h"
#include "store/catalog.h"
#include "store/saved_plan.h"
#include "store/table_scan.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/uuid.h"

/* -- killable marks ------------------------------------------------------------ */

/* Find the containers that lazy preemption has made killable. */

static const char *const mark_columns[] = {"container_id", "is_killable"};

static void
read_mark(const YqRow *row)
{
	List	  **ids = row->argument;

	CHECK_FOR_INTERRUPTS();
	if (yq_row_bool(row, 1))
		*ids = lappend(*ids, yq_row_text(row, 0));
}

List *
yq_killable_marks_find(Snapshot snapshot)
{
	List	   *ids = NIL;

	if (!yq_table_has_no_pages(YQ_PREEMPTION_MARK))
		yq_table_scan(YQ_PREEMPTION_MARK, snapshot, mark_columns, lengthof(mark_columns), read_mark, &ids);
	return ids;
}

void
yq_killable_marks_read_containers(const List *ids, Snapshot snapshot, const char *const *names, int count,
							YqRowReader reader, void *argument)
{
	ListCell   *cell;

	foreach(cell, ids)
	{
		CHECK_FOR_INTERRUPTS();
		yq_table_scan_index(YQ_CONTAINER, "container_pkey", snapshot, lfirst(cell), NULL, names, count, reader, argument);
	}
}

/* -- usage --------------------------------------------------------------------- */


typedef enum UsageColumn
{
	USAGE_QUEUE,
	USAGE_LABEL,
	USAGE_USERNAME,
	USAGE_EXECUTION_TYPE,
	USAGE_ALLOCATION,
	USAGE_CONTAINERS,
	USAGE_SCOPE,				/* column of counter_delta that the counter table lacks */
	USAGE_PACKED,				/* column of counter_delta that the counter table lacks */
	USAGE_COLUMNS
} UsageColumn;

static const char *const column_names[USAGE_COLUMNS] = {
	[USAGE_QUEUE] = "queue",
	[USAGE_LABEL] = "label",
	[USAGE_USERNAME] = "username",
	[USAGE_EXECUTION_TYPE] = "execution_type",
	[USAGE_ALLOCATION] = "allocation",
	[USAGE_CONTAINERS] = "containers",
	[USAGE_SCOPE] = "scope",
	[USAGE_PACKED] = "packed",
};

/* -- rows ------------------------------------------------------------------ */

typedef struct UsageScan
{
	const YqHierarchy *hierarchy;
	const YqQueue *queue;		/* NULL: all queues */
	Oid			guaranteed;
	MemoryContext row_context;	/* memory context for the values of the current row */
	Snapshot	snapshot;
	YqUsageReader reader;
	void	   *argument;
} UsageScan;

static UsageScan
begin_usage_scan(const YqHierarchy *hierarchy, const YqQueue *queue, YqUsageReader reader, void *argument)
{
	UsageScan	scan = {.hierarchy = hierarchy, .queue = queue, .reader = reader, .argument = argument};

	scan.guaranteed = yq_enum_oid("execution_type", "GUARANTEED");
	scan.row_context = AllocSetContextCreate(CurrentMemoryContext, "yquota usage", ALLOCSET_SMALL_SIZES);
	scan.snapshot = yq_latest_snapshot();
	return scan;
}

static void
end_usage_scan(UsageScan *scan)
{
	UnregisterSnapshot(scan->snapshot);
	MemoryContextDelete(scan->row_context);
}

/* Return the number of a label.  If node labels are off, everything is in the default partition. */
static int
find_usage_label(const YqHierarchy *hierarchy, const char *label)
{
	return hierarchy->settings.has_node_labels && label != NULL ? yq_hierarchy_label(hierarchy, label) : 0;
}

static char *
string_of(YqBytes bytes)
{
	return bytes.data == NULL ? NULL : pnstrdup(bytes.data, bytes.length);
}

/* Pass an item of usage to the reader, unless the scan is for another queue. */
static void
tell_usage(const UsageScan *scan, const YqBytes *names, bool is_guaranteed, Datum allocation, int64 containers)
{
	const YqHierarchy *hierarchy = scan->hierarchy;
	YqUsage		usage = {.queue_name = string_of(names[YQ_USAGE_QUEUE])};

	if (usage.queue_name == NULL ||
		(scan->queue != NULL && yq_hierarchy_find_by_name(hierarchy, usage.queue_name) != scan->queue))
		return;
	usage.username = string_of(names[YQ_USAGE_USERNAME]);
	usage.label = find_usage_label(hierarchy, string_of(names[YQ_USAGE_LABEL]));
	usage.is_guaranteed = is_guaranteed;
	usage.amounts = yq_hierarchy_read_amounts(hierarchy, allocation);
	usage.containers = containers;
	scan->reader(&usage, scan->argument);
}

static void
read_usage(const UsageScan *scan, const YqRow *row)
{
	const YqBytes names[] = {
		[YQ_USAGE_QUEUE] = yq_row_bytes(row, USAGE_QUEUE),
		[YQ_USAGE_LABEL] = yq_row_bytes(row, USAGE_LABEL),
		[YQ_USAGE_USERNAME] = yq_row_bytes(row, USAGE_USERNAME),
	};
	bool		nulls[3];
	Datum		execution_type = yq_row_value(row, USAGE_EXECUTION_TYPE, &nulls[0]);
	Datum		allocation = yq_row_value(row, USAGE_ALLOCATION, &nulls[1]);
	Datum		containers = yq_row_value(row, USAGE_CONTAINERS, &nulls[2]);

	if (!nulls[0] && !nulls[1] && !nulls[2])
		tell_usage(scan, names, DatumGetObjectId(execution_type) == scan->guaranteed, allocation,
				   DatumGetInt64(containers));
}

static void
read_counted_usage(const YqRow *row)
{
	const UsageScan *scan = row->argument;
	MemoryContext old_context = MemoryContextSwitchTo(scan->row_context);

	read_usage(scan, row);
	MemoryContextSwitchTo(old_context);
	MemoryContextReset(scan->row_context);
}

/* Read a row of counter_delta.  It contains a single item of usage, or packed items for several queues. */
static void
read_usage_delta(const YqRow *row)
{
	const UsageScan *scan = row->argument;
	MemoryContext old_context = MemoryContextSwitchTo(scan->row_context);
	bool		isnull;
	char		scope = DatumGetChar(yq_row_value(row, USAGE_SCOPE, &isnull));

	if (scope == 'a' || scope == 'u')
		read_usage(scan, row);
	if (scope == 'u')
	{
		Datum		packed = yq_row_value(row, USAGE_PACKED, &isnull);
		YqEntryReader entries;
		YqUsageChange change;

		if (!isnull)
			yq_entries_read(&entries, DatumGetByteaPP(packed));
		while (!isnull && yq_delta_next_usage(&entries, &change))
		{
			CHECK_FOR_INTERRUPTS();
			tell_usage(scan, change.names, change.is_guaranteed, PointerGetDatum(change.allocation), change.containers);
		}
	}
	MemoryContextSwitchTo(old_context);
	MemoryContextReset(scan->row_context);
}

/* -- reservations ------------------------------------------------------------ */

typedef enum ReservedColumn
{
	RESERVED_QUEUE = 1,
	RESERVED_USERNAME,
	RESERVED_LABEL,
	RESERVED_ALLOCATION
} ReservedColumn;

#define LOOK_UP_RESERVED(condition) \
	"SELECT r.queue, r.username, r.label, r.allocation FROM yquota_internal.reserved_container_in_force AS r " condition

static void
read_reserved(const UsageScan *scan, HeapTuple row, TupleDesc descriptor)
{
	YqUsage		usage = {.is_guaranteed = true};
	bool		isnull;

	usage.queue_name = SPI_getvalue(row, descriptor, RESERVED_QUEUE);
	usage.username = SPI_getvalue(row, descriptor, RESERVED_USERNAME);
	usage.label = find_usage_label(scan->hierarchy, SPI_getvalue(row, descriptor, RESERVED_LABEL));
	usage.amounts = yq_hierarchy_read_amounts(scan->hierarchy, SPI_getbinval(row, descriptor, RESERVED_ALLOCATION, &isnull));
	scan->reader(&usage, scan->argument);
}

static void
read_all_reserved(const UsageScan *scan)
{
	static YqSavedPlan look_up_all = {.command = LOOK_UP_RESERVED("WHERE r.queue IS NOT NULL")};
	static YqSavedPlan look_up_leaf = {.command = LOOK_UP_RESERVED("WHERE r.queue = $1"),.types = {"text"}};
	Datum		values[1];
	uint64		count;

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	if (scan->queue != NULL)
		values[0] = CStringGetTextDatum(scan->queue->path);
	count = yq_saved_plan_read(scan->queue == NULL ? &look_up_all : &look_up_leaf, values, scan->snapshot);
	for (uint64 i = 0; i < count; i++)
	{
		MemoryContext old_context = MemoryContextSwitchTo(scan->row_context);

		CHECK_FOR_INTERRUPTS();
		read_reserved(scan, SPI_tuptable->vals[i], SPI_tuptable->tupdesc);
		MemoryContextSwitchTo(old_context);
		MemoryContextReset(scan->row_context);
	}
	SPI_finish();
}

/*
 * Count reserved containers with the rights of the extension's owner.  The caller needs
 * no privileges on the tables.
 */
static void
count_reservations(const UsageScan *scan)
{
	Oid			user;
	int			security_context;

	if (yq_table_has_no_pages(YQ_RESERVED_CONTAINER))
		return;
	GetUserIdAndSecContext(&user, &security_context);
	SetUserIdAndSecContext(yq_extension_owner(), security_context | SECURITY_LOCAL_USERID_CHANGE);
	read_all_reserved(scan);
	SetUserIdAndSecContext(user, security_context);
}

/* -- counting ---------------------------------------------------------------- */

static void
count_elsewhere(YqHierarchy *hierarchy, const char *name, int64 containers)
{
	YqBytes		key = yq_bytes_of_string(name);
	bool		found;
	YqNameCount *entry = yq_bytes_table_enter(hierarchy->containers_elsewhere, key,
											  hierarchy->context, &found);

	if (!found)
		entry->count = entry->compacted = 0;
	entry->count += containers;
}

int64
yq_containers_elsewhere(const YqHierarchy *hierarchy, const char *path)
{
	const char *dot = strrchr(path, '.');
	const char *names[] = {path, dot == NULL ? path : dot + 1};
	int64		count = 0;

	for (int i = 0; i < (dot == NULL ? 1 : 2); i++)
	{
		YqBytes		key = yq_bytes_of_string(names[i]);
		YqNameCount *entry = yq_bytes_table_find(hierarchy->containers_elsewhere, key);

		count += entry == NULL ? 0 : entry->count;
	}
	return count;
}

int64
yq_containers_elsewhere_below(const YqHierarchy *hierarchy, const char *path)
{
	Size		length = strlen(path);
	HASH_SEQ_STATUS elsewhere;
	YqNameCount *entry;
	int64		count = 0;

	hash_seq_init(&elsewhere, hierarchy->containers_elsewhere);
	while ((entry = hash_seq_search(&elsewhere)) != NULL)
	{
		if (entry->key.length > length && memcmp(entry->key.data, path, length) == 0 && entry->key.data[length] == '.')
			count += entry->count;
	}
	return count;
}

static void
add_counted_usage(const YqUsage *usage, void *argument)
{
	YqHierarchy *hierarchy = argument;
	YqQueue    *queue = yq_hierarchy_find_by_name(hierarchy, usage->queue_name);

	if (queue == NULL)
		count_elsewhere(hierarchy, usage->queue_name, usage->containers);
	for (; queue != NULL; queue = queue->parent)
	{
		YqQueueLabel *entry = yq_queue_label(queue, usage->label);

		queue->containers += usage->containers;
		for (int i = 0; usage->is_guaranteed && entry != NULL && i < hierarchy->calculator.types; i++)
			entry->used[i] += usage->amounts[i];
	}
}

/* -- kept compacted usage ----------------------------------------------------- */

/*
 * Usage as compacted at the last compaction, kept by the session.
 *
 * Compacted usage changes only at a compaction, every few seconds.  Uncompacted rows
 * are added by every charge.  The session therefore keeps the compacted usage and its
 * version.  Each reading first resets the queues that have uncompacted rows to their
 * compacted usage.  It then adds the uncompacted rows.
 */
typedef struct YqCompactedUsage
{
	bool		is_valid;
	pg_uuid_t	version;
	int64	  **used;			/* indexed by queue number; each element has the amounts of all labels, one after
								 * another */
	int64	   *containers;		/* indexed by queue number */
	bool	   *has_uncompacted; /* indexed by queue number: have uncompacted rows been added? */
	int		   *uncompacted;	/* numbers of the queues for which has_uncompacted is set */
	int			uncompacted_count;
} YqCompactedUsage;

static YqCompactedUsage *
make_compacted_usage(const YqHierarchy *hierarchy)
{
	MemoryContext old_context = MemoryContextSwitchTo(hierarchy->context);
	int			count = Max(hierarchy->queue_count, 1);
	YqCompactedUsage *compacted = palloc0(sizeof(YqCompactedUsage));

	compacted->used = palloc_extended(sizeof(int64 *) * count, MCXT_ALLOC_HUGE);
	compacted->containers = palloc_extended(sizeof(int64) * count, MCXT_ALLOC_HUGE);
	compacted->has_uncompacted = palloc_extended(sizeof(bool) * count, MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	compacted->uncompacted = palloc_extended(sizeof(int) * count, MCXT_ALLOC_HUGE);
	for (int i = 0; i < hierarchy->queue_count; i++)
		compacted->used[i] = palloc(sizeof(int64) * hierarchy->calculator.types *
									Max(hierarchy->queues[i]->label_count, 1));
	MemoryContextSwitchTo(old_context);
	return compacted;
}

static void
copy_queue(const YqHierarchy *hierarchy, YqQueue *queue, bool is_back)
{
	YqCompactedUsage *compacted = hierarchy->compacted_usage;
	int			types = hierarchy->calculator.types;
	int64	   *kept = compacted->used[queue->number];

	for (int i = 0; i < queue->label_count; i++, kept += types)
		memcpy(is_back ? queue->labels[i].used : kept, is_back ? kept : queue->labels[i].used,
			   types * sizeof(int64));
	if (is_back)
		queue->containers = compacted->containers[queue->number];
	else
		compacted->containers[queue->number] = queue->containers;
}

static void
copy_elsewhere(const YqHierarchy *hierarchy, bool is_back)
{
	HASH_SEQ_STATUS elsewhere;
	YqNameCount *entry;

	hash_seq_init(&elsewhere, hierarchy->containers_elsewhere);
	while ((entry = hash_seq_search(&elsewhere)) != NULL)
	{
		if (is_back)
			entry->count = entry->compacted;
		else
			entry->compacted = entry->count;
	}
}

/* Set the usage of all queues to which uncompacted rows were added back to the compacted usage. */
static void
forget_uncompacted(YqHierarchy *hierarchy)
{
	YqCompactedUsage *compacted = hierarchy->compacted_usage;

	for (int i = 0; i < compacted->uncompacted_count; i++)
	{
		copy_queue(hierarchy, hierarchy->queues[compacted->uncompacted[i]], true);
		compacted->has_uncompacted[compacted->uncompacted[i]] = false;
	}
	compacted->uncompacted_count = 0;
	copy_elsewhere(hierarchy, true);
}

static void
add_uncompacted(const YqUsage *usage, void *argument)
{
	YqHierarchy *hierarchy = argument;
	YqCompactedUsage *compacted = hierarchy->compacted_usage;
	YqQueue    *queue = yq_hierarchy_find_by_name(hierarchy, usage->queue_name);

	for (; queue != NULL && !compacted->has_uncompacted[queue->number]; queue = queue->parent)
	{
		compacted->has_uncompacted[queue->number] = true;
		compacted->uncompacted[compacted->uncompacted_count++] = queue->number;
	}
	add_counted_usage(usage, hierarchy);
}

/* -- killable containers ------------------------------------------------------ */

typedef enum KillableColumn
{
	KILLABLE_QUEUE,
	KILLABLE_LABEL,
	KILLABLE_EXECUTION_TYPE,
	KILLABLE_ALLOCATION,
	KILLABLE_COLUMNS
} KillableColumn;

static const char *const killable_columns[KILLABLE_COLUMNS] = {"queue", "label", "execution_type", "allocation"};

static int64 *
killable_of(const YqHierarchy *hierarchy, const YqQueue *queue)
{
	return &hierarchy->killable[(Size) queue->number * hierarchy->calculator.types];
}

const int64 *
yq_queue_killable(const YqHierarchy *hierarchy, const YqQueue *queue)
{
	return hierarchy->killable == NULL ? NULL : killable_of(hierarchy, queue);
}

static void
add_killable(const YqHierarchy *hierarchy, const char *queue_name, const int64 *amounts)
{
	for (const YqQueue *queue = yq_hierarchy_find_by_name(hierarchy, queue_name); queue != NULL; queue = queue->parent)
		yq_amounts_add(&hierarchy->calculator, killable_of(hierarchy, queue), amounts);
}

static void
read_killable(const YqRow *row)
{
	const UsageScan *scan = row->argument;
	MemoryContext old_context = MemoryContextSwitchTo(scan->row_context);
	const char *queue = yq_row_text(row, KILLABLE_QUEUE);
	bool		isnull;

	if (queue != NULL && find_usage_label(scan->hierarchy, yq_row_text(row, KILLABLE_LABEL)) == 0 &&
		DatumGetObjectId(yq_row_value(row, KILLABLE_EXECUTION_TYPE, &isnull)) == scan->guaranteed)
		add_killable(scan->hierarchy, queue, yq_hierarchy_read_amounts(scan->hierarchy, yq_row_value(row, KILLABLE_ALLOCATION, &isnull)));
	MemoryContextSwitchTo(old_context);
	MemoryContextReset(scan->row_context);
}

static void
count_killable(YqHierarchy *hierarchy, UsageScan *scan)
{
	List	   *ids = yq_killable_marks_find(scan->snapshot);

	if (hierarchy->killable != NULL)
		pfree(hierarchy->killable);
	hierarchy->killable = NULL;
	if (ids == NIL)
		return;
	hierarchy->killable = MemoryContextAllocZero(hierarchy->context, sizeof(int64) * hierarchy->calculator.types * hierarchy->queue_count);
	yq_killable_marks_read_containers(ids, scan->snapshot, killable_columns, KILLABLE_COLUMNS, read_killable, scan);
}

/* -- usage of all queues --------------------------------------------------- */

static void
clear_queue_usage(YqHierarchy *hierarchy)
{
	HASH_SEQ_STATUS elsewhere;
	YqNameCount *entry;

	hash_seq_init(&elsewhere, hierarchy->containers_elsewhere);
	while ((entry = hash_seq_search(&elsewhere)) != NULL)
		entry->count = 0;
	for (int i = 0; i < hierarchy->queue_count; i++)
	{
		YqQueue    *queue = hierarchy->queues[i];

		queue->containers = 0;
		for (int j = 0; j < queue->label_count; j++)
			memset(queue->labels[j].used, 0, hierarchy->calculator.types * sizeof(int64));
	}
}

static void
read_compacted(YqHierarchy *hierarchy, UsageScan *scan)
{
	YqCompactedUsage *compacted = hierarchy->compacted_usage;

	compacted->is_valid = false;
	clear_queue_usage(hierarchy);
	scan->reader = add_counted_usage;
	yq_table_scan(YQ_USAGE_COUNTER, scan->snapshot, column_names, USAGE_SCOPE, read_counted_usage, scan);
	for (int i = 0; i < hierarchy->queue_count; i++)
		copy_queue(hierarchy, hierarchy->queues[i], false);
	copy_elsewhere(hierarchy, false);
	memset(compacted->has_uncompacted, 0, sizeof(bool) * hierarchy->queue_count);
	compacted->uncompacted_count = 0;
}

typedef struct Version
{
	bool		is_known;
	pg_uuid_t	version;
} Version;

static void
read_usage_version(const YqRow *row)
{
	Version    *version = row->argument;
	bool		isnull;

	version->version = *DatumGetUUIDP(yq_row_value(row, 0, &isnull));
	version->is_known = true;
}

static Version
find_version(Snapshot snapshot)
{
	static const char *const columns[] = {"version"};
	Version		version = {.is_known = false};

	yq_table_scan(YQ_USAGE_VERSION, snapshot, columns, lengthof(columns), read_usage_version, &version);
	return version;
}

void
yq_hierarchy_forget_usage(YqHierarchy *hierarchy)
{
	if (hierarchy->compacted_usage != NULL)
		hierarchy->compacted_usage->is_valid = false;
}

void
yq_hierarchy_read_usage(YqHierarchy *hierarchy)
{
	UsageScan	scan = begin_usage_scan(hierarchy, NULL, NULL, hierarchy);
	/* read everything with one snapshot, because compaction moves rows from one table to another */
	Version		version = find_version(scan.snapshot);
	YqCompactedUsage *compacted;

	if (hierarchy->compacted_usage == NULL)
		hierarchy->compacted_usage = make_compacted_usage(hierarchy);
	compacted = hierarchy->compacted_usage;
	if (compacted->is_valid && version.is_known &&
		memcmp(&compacted->version, &version.version, sizeof(pg_uuid_t)) == 0)
		forget_uncompacted(hierarchy);
	else
		read_compacted(hierarchy, &scan);
	/* an error below would leave incomplete usage behind */
	compacted->is_valid = false;
	scan.reader = add_uncompacted;
	yq_table_scan(YQ_COUNTER_DELTA, scan.snapshot, column_names, USAGE_COLUMNS, read_usage_delta, &scan);
	count_reservations(&scan);
	count_killable(hierarchy, &scan);
	compacted->version = version.version;
	compacted->is_valid = version.is_known;
	end_usage_scan(&scan);
}

/* -- usage of one queue ---------------------------------------------------- */

void
yq_usage_of_leaf_read(const YqHierarchy *hierarchy, const YqQueue *leaf,
					  YqUsageReader reader, void *argument)
{
	static const char index_name[] = "usage_counter_queue_label_username_execution_type_key";
	UsageScan	scan = begin_usage_scan(hierarchy, leaf, reader, argument);

	/*
	 * look for both the path and the short name, because events name the queue by either; use one
	 * snapshot, as in yq_hierarchy_read_usage()
	 */
	yq_table_scan_index(YQ_USAGE_COUNTER, index_name, scan.snapshot, leaf->path, NULL,
					   column_names, USAGE_SCOPE, read_counted_usage, &scan);
	if (leaf->name != leaf->path)
		yq_table_scan_index(YQ_USAGE_COUNTER, index_name, scan.snapshot, leaf->name, NULL,
						   column_names, USAGE_SCOPE, read_counted_usage, &scan);
	yq_table_scan(YQ_COUNTER_DELTA, scan.snapshot, column_names, USAGE_COLUMNS, read_usage_delta, &scan);
	count_reservations(&scan);
	end_usage_scan(&scan);
}
