/*-------------------------------------------------------------------------
 *
 * reported_nodes.c
 *	  Provides the nodes from which allocators choose: the list by load, their free
 *	  slots, and the locks of these slots.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "common/hashfn.h"
#include "common/pg_prng.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "opportunistic/node_load.h"
#include "opportunistic/node_report.h"
#include "opportunistic/reported_nodes.h"
#include "queues/text.h"
#include "storage/lmgr.h"
#include "store/catalog.h"
#include "store/index_scan.h"
#include "store/row_update.h"
#include "store/saved_plan.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

/* -- slot lock ----------------------------------------------------------------- */

/*
 * Lock nodes while slots are taken on them.
 *
 * The locks are object locks on yquota_internal.opportunistic_slot, and are visible as
 * such in pg_locks.  Object 0 stands for the turn.  The objects from 1 stand for the
 * hash values of nodes' names.
 */

static int
number_of(const char *node)
{
	return hash_bytes((const unsigned char *) node, strlen(node)) % YQ_SLOT_LOCKS;
}

static bool
acquire(int object, bool waits)
{
	LOCKTAG		tag;

	SET_LOCKTAG_OBJECT(tag, MyDatabaseId, yq_table_oid(YQ_OPPORTUNISTIC_SLOT), object, 0);
	return LockAcquire(&tag, ExclusiveLock, false, !waits) != LOCKACQUIRE_NOT_AVAIL;
}

static void
release(int object)
{
	LOCKTAG		tag;

	SET_LOCKTAG_OBJECT(tag, MyDatabaseId, yq_table_oid(YQ_OPPORTUNISTIC_SLOT), object, 0);
	LockRelease(&tag, ExclusiveLock, false);
}

static bool
take(YqSlotLocks *locks, int number, bool waits)
{
	if (!acquire(number + 1, waits))
		return false;
	locks->taken[number]++;
	return true;
}

static void
give_back(YqSlotLocks *locks, int number)
{
	release(number + 1);
	locks->taken[number]--;
}

void
yq_slot_lock_turn(void)
{
	(void) acquire(0, true);
}

/* Lock a node without waiting.  Returns false if another transaction has the lock. */
static bool
slot_locks_try(YqSlotLocks *locks, const char *node)
{
	return take(locks, number_of(node), false);
}

/*
 * Wait for the lock of a node.  A call that holds a lock with a higher number must not
 * wait.  In that case, the lock is recorded as missed, and the result is false.
 */
static bool
slot_locks_wait(YqSlotLocks *locks, const char *node)
{
	int			number = number_of(node);

	for (int i = number + 1; i < YQ_SLOT_LOCKS && !locks->has_missed; i++)
		locks->has_missed = locks->taken[i] > 0;
	locks->missed = number;
	return !locks->has_missed && take(locks, number, true);
}

/* Release the lock of a node on which the call has taken no slot. */
static void
slot_locks_give_back(YqSlotLocks *locks, const char *node)
{
	give_back(locks, number_of(node));
}

void
yq_slot_locks_take_missed(YqSlotLocks *locks)
{
	bool		is_wanted[YQ_SLOT_LOCKS];

	for (int i = 0; i < YQ_SLOT_LOCKS; i++)
	{
		is_wanted[i] = locks->taken[i] > 0 || i == locks->missed;
		while (locks->taken[i] > 0)
			give_back(locks, i);
	}
	for (int i = 0; i < YQ_SLOT_LOCKS; i++)
	{
		if (is_wanted[i])
			(void) take(locks, i, true);
	}
	locks->has_missed = false;
}

/* -- load list ----------------------------------------------------------------- */

/* Make and read the list of nodes by load, and compute the queue limit from it. */

/* -- the row ------------------------------------------------------------------- */

/* The current list, and the data that are needed to make the next list. */
typedef struct Row
{
	YqLoadList	list;
	TimestampTz sorted_at;
	YqQueueLoadFigures figures;
} Row;

/* Columns that the statement returns, counted from 1. */
enum
{
	LIST_SORT_NUMBER = 1,
	LIST_SORTED_AT,
	LIST_MEAN,
	LIST_DEVIATION,
	LIST_MAX_QUEUE_LENGTH,
	LIST_MAX_WAIT,
	LIST_CANDIDATES
};

static int32
integer_of(int column, int32 otherwise)
{
	bool		isnull;
	Datum		value = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, column, &isnull);

	return isnull ? otherwise : DatumGetInt32(value);
}

/* Read the candidates of the list into the memory context that was current before SPI_connect(). */
static void
read_candidates(YqLoadList *list, MemoryContext context)
{
	bool		isnull;
	Datum		value = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, LIST_CANDIDATES, &isnull);
	MemoryContext caller = MemoryContextSwitchTo(context);
	Datum	   *names;

	deconstruct_array(DatumGetArrayTypeP(value), TEXTOID, -1, false, TYPALIGN_INT, &names, NULL, &list->candidate_count);
	list->candidates = palloc(sizeof(char *) * Max(list->candidate_count, 1));
	for (int i = 0; i < list->candidate_count; i++)
		list->candidates[i] = TextDatumGetCString(names[i]);
	pfree(names);
	MemoryContextSwitchTo(caller);
}

static Row
read_row(bool wants_candidates)
{
	static YqSavedPlan look_up = {
		.command = "SELECT l.sort_number, l.sorted_at, l.mean, l.deviation, l.max_queue_length, l.max_wait_ms, "
		"CASE WHEN $1 THEN l.candidates END FROM yquota_internal.load_list AS l",
		.types = {"bool"}
	};
	Datum		values[] = {BoolGetDatum(wants_candidates)};
	Row			row = {.list = {.max_queue_length = -1,.max_wait = -1}};
	MemoryContext caller = CurrentMemoryContext;
	bool		isnull;

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	if (yq_saved_plan_run(&look_up, values, NULL) > 0)
	{
		row.list.number = DatumGetInt64(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, LIST_SORT_NUMBER, &isnull));
		row.sorted_at = DatumGetTimestampTz(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, LIST_SORTED_AT, &isnull));
		row.figures = (YqQueueLoadFigures) {integer_of(LIST_MEAN, 0), integer_of(LIST_DEVIATION, 0)};
		row.list.max_queue_length = integer_of(LIST_MAX_QUEUE_LENGTH, -1);
		row.list.max_wait = integer_of(LIST_MAX_WAIT, -1);
		if (wants_candidates)
			read_candidates(&row.list, caller);
	}
	SPI_finish();
	return row;
}

/* -- loads --------------------------------------------------------------------- */

/* A node that is in service. */
typedef struct NodeEntry
{
	YqBytes		key;			/* name of the node */
	YqNodeLoad	load;
	bool		has_reported;
} NodeEntry;

typedef struct Loads
{
	const YqHierarchy *hierarchy;
	const YqAllocationSettings *settings;
	bool		reads_amounts;
	Oid			running;
	HTAB	   *nodes;
	YqNodeLoad **reported;
	int			count;
	int			room;
} Loads;

static void
read_reported_node(const YqRow *row)
{
	Loads	   *loads = row->argument;
	NodeEntry  *entry;
	bool		found;
	bool		isnull;

	if (DatumGetObjectId(yq_row_value(row, 1, &isnull)) != loads->running)
		return;
	entry = yq_bytes_table_enter(loads->nodes, yq_row_bytes(row, 0), CurrentMemoryContext, &found);
	memset(&entry->load, 0, sizeof(entry->load));
	entry->has_reported = false;
	if (loads->reads_amounts)
		entry->load.capability = yq_hierarchy_read_amounts(loads->hierarchy, yq_row_value(row, 2, &isnull));
}

static void
read_report(const YqRow *row)
{
	Loads	   *loads = row->argument;
	NodeEntry  *entry = yq_bytes_table_find(loads->nodes, yq_row_bytes(row, YQ_NODE_REPORT_NODE));

	if (entry == NULL || !yq_node_report_read(row, loads->settings, loads->hierarchy, &entry->load))
		return;
	entry->load.name = pnstrdup(entry->key.data, entry->key.length);
	entry->has_reported = true;
	if (loads->count == loads->room)
	{
		loads->room *= 2;
		loads->reported = repalloc_huge(loads->reported, sizeof(YqNodeLoad *) * loads->room);
	}
	loads->reported[loads->count++] = &entry->load;
}

static void
read_reported_slots(const YqRow *row)
{
	Loads	   *loads = row->argument;
	NodeEntry  *entry = yq_bytes_table_find(loads->nodes, yq_row_bytes(row, YQ_NODE_REPORT_NODE));
	YqTakenSlots taken;

	if (entry == NULL || !entry->has_reported)
		return;
	taken = yq_node_report_read_slots(row, loads->hierarchy, entry->load.reported_at);
	yq_node_report_add_slots(&entry->load, &taken, loads->hierarchy);
}

static void
read_loads(Loads *loads)
{
	static const char *const node_columns[] = {"name", "state", "total"};
	Snapshot	snapshot = yq_latest_snapshot();

	loads->reads_amounts = yq_node_report_compares_resources(loads->settings);
	loads->running = yq_enum_oid("node_state", "RUNNING");
	loads->nodes = yq_bytes_table_create_for("yquota node loads", sizeof(NodeEntry), 1000, CurrentMemoryContext);
	loads->room = 1000;
	loads->reported = palloc(sizeof(YqNodeLoad *) * loads->room);
	yq_table_scan(YQ_NODE, snapshot, node_columns, loads->reads_amounts ? 3 : 2, read_reported_node, loads);
	yq_table_scan(YQ_NODE_QUEUE_REPORT, snapshot, yq_node_report_columns, YQ_NODE_REPORT_COLUMNS, read_report, loads);
	yq_table_scan(YQ_OPPORTUNISTIC_SLOT, snapshot, yq_slot_columns, YQ_SLOT_COLUMNS, read_reported_slots, loads);
	UnregisterSnapshot(snapshot);
}

static const int64 *
sum_capabilities(const Loads *loads)
{
	int64	   *sum = yq_hierarchy_amounts(loads->hierarchy);

	for (int i = 0; i < loads->count && loads->reads_amounts; i++)
		yq_amounts_add(&loads->hierarchy->calculator, sum, loads->reported[i]->capability);
	return sum;
}

/* -- sorting --------------------------------------------------------------------- */

static Datum
array_of_loads(YqNodeLoad *const *loads, int count)
{
	const char **names = palloc(sizeof(char *) * Max(count, 1));

	for (int i = 0; i < count; i++)
		names[i] = loads[i]->name;
	return yq_array_of_names(names, count);
}

static void
set_limit(Row *row, const YqAllocationSettings *settings)
{
	row->list.max_queue_length = row->list.max_wait = -1;
	if (settings->load_comparator == YQ_LOAD_QUEUE_WAIT_TIME)
		row->list.max_wait = yq_queue_limit_of(&row->figures, settings->queue_limit_stdev,
											   (int32) (settings->min_queue_wait_time / 1000),
											   (int32) (settings->max_queue_wait_time / 1000));
	else
		row->list.max_queue_length = yq_queue_limit_of(&row->figures, settings->queue_limit_stdev,
													   settings->min_queue_length, settings->max_queue_length);
}

static void
write_row(const Row *row, const YqAllocationSettings *settings, YqNodeLoad *const *loads, int count)
{
	static YqSavedPlan write = {
		.command = "INSERT INTO yquota_internal.load_list AS l (sort_number, sorted_at, comparator, mean, deviation, "
		"max_queue_length, max_wait_ms, candidates, others) VALUES ($1, $2, $3, $4, $5, nullif($6, -1), nullif($7, -1), $8, $9) "
		"ON CONFLICT (only_row) DO UPDATE SET (sort_number, sorted_at, comparator, mean, deviation, max_queue_length, "
		"max_wait_ms, candidates, others) = (excluded.sort_number, excluded.sorted_at, excluded.comparator, excluded.mean, "
		"excluded.deviation, excluded.max_queue_length, excluded.max_wait_ms, excluded.candidates, excluded.others)",
		.types = {"int8", "timestamptz", "text", "int4", "int4", "int4", "int4", "_text", "_text"},
		.plans_once = true
	};
	int			candidates = Min(settings->nodes_used, count);
	Datum		values[] = {
		Int64GetDatum(row->list.number),
		TimestampTzGetDatum(row->sorted_at),
		CStringGetTextDatum(yq_node_load_comparator_name(settings->load_comparator)),
		Int32GetDatum(row->figures.mean),
		Int32GetDatum(row->figures.deviation),
		Int32GetDatum(row->list.max_queue_length),
		Int32GetDatum(row->list.max_wait),
		array_of_loads(loads, candidates),
		array_of_loads(loads + candidates, count - candidates)
	};

	(void) yq_saved_plan_execute(&write, values, NULL);
}

static void
sort_nodes(Row *row, const YqHierarchy *hierarchy, const YqAllocationSettings *settings, TimestampTz now)
{
	MemoryContext own = AllocSetContextCreate(CurrentMemoryContext, "yquota load list", ALLOCSET_DEFAULT_SIZES);
	MemoryContext caller = MemoryContextSwitchTo(own);
	Loads		loads = {.hierarchy = hierarchy,.settings = settings};
	int			left;

	read_loads(&loads);
	left = yq_node_load_sort(settings->load_comparator, &hierarchy->calculator, sum_capabilities(&loads),
							 loads.reported, loads.count);
	yq_queue_limit_note_sort(&row->figures, settings->load_comparator, loads.reported, left);
	row->list.number++;
	row->sorted_at = now;
	set_limit(row, settings);
	write_row(row, settings, loads.reported, left);
	MemoryContextSwitchTo(caller);
	MemoryContextDelete(own);
}

/* Must a new list be made?  After the clock was set back, a new list must be made immediately. */
static bool
is_due(const Row *row, const YqAllocationSettings *settings, TimestampTz now)
{
	return row->list.number == 0 || now < row->sorted_at || now - row->sorted_at >= settings->node_sorting_interval;
}

static bool
try_lock_list(void)
{
	LOCKTAG		tag;

	SET_LOCKTAG_OBJECT(tag, MyDatabaseId, yq_table_oid(YQ_LOAD_LIST), 0, 0);
	return LockAcquire(&tag, ExclusiveLock, false, true) != LOCKACQUIRE_NOT_AVAIL;
}

YqLoadList
yq_load_list_refresh(const YqHierarchy *hierarchy, const YqAllocationSettings *settings, TimestampTz now, bool wants_candidates)
{
	Row			row = read_row(wants_candidates);

	if (!is_due(&row, settings, now) || !try_lock_list())
		return row.list;
	/* another transaction may have made the list while this one tried to get the lock */
	row = read_row(false);
	if (is_due(&row, settings, now))
		sort_nodes(&row, hierarchy, settings, now);
	return wants_candidates ? read_row(true).list : row.list;
}

/* -- reported nodes ------------------------------------------------------------ */

/* Look up nodes by their names, one at a time.  A call usually examines only few nodes. */

/* A node that the allocator has asked for. */
typedef struct KnownNode
{
	YqBytes		key;			/* name of the node */
	YqNodeLoad	load;
	bool		is_listed;		/* is the node in service, and has it reported? */
	bool		is_passed;		/* not read yet, because another transaction is taking slots on the node */
	int32		reported_length;
	int64	   *reported_allocated; /* reported allocated amounts, native units per type; NULL: not needed */
	YqTakenSlots before;		/* slots that earlier calls have taken since the node's report */
} KnownNode;

/* A table in which rows are looked up by an index. */
typedef struct Lookup
{
	YqIndexScan *scan;
	AttrNumber *columns;
} Lookup;

struct YqReportedNodes
{
	YqNodeChoice choice;		/* must be the first member, because the callbacks cast its address to
								 * YqReportedNodes */
	const YqHierarchy *hierarchy;
	const YqAllocationSettings *settings;
	const YqLoadList *list;
	HTAB	   *known;
	KnownNode **candidates;		/* indexed by position in the list; NULL: the node has not been looked up yet */
	List	   *listed;			/* KnownNode * elements that are listed and were read, in the order of their look-ups */
	Lookup		nodes;
	Lookup		reports;
	Lookup		slots;
	Oid			running;
	const YqAnywhereOrder *order;
	YqSlotLocks *locks;
	int			drawn;			/* number of recorded draws that have been used */
	pg_prng_state random;
	int32		turn;			/* position at which the next search begins, if nodes take turns */
	int32		turn_before;
};

/* -- look-ups ------------------------------------------------------------------- */

static const char *const node_columns[] = {"name", "state", "total"};

static Lookup
open_lookup(YqTable table, const char *index, const char *const *columns, int count)
{
	Lookup		lookup = {yq_index_scan_open(table, index), palloc(sizeof(AttrNumber) * count)};

	for (int i = 0; i < count; i++)
		lookup.columns[i] = yq_column(yq_index_scan_relation(lookup.scan), columns[i]);
	return lookup;
}

static bool
look_up(const Lookup *lookup, const text *key, YqRow *row)
{
	row->slot = yq_index_scan_find(lookup->scan, key);
	row->columns = lookup->columns;
	return row->slot != NULL;
}

static int64 *
copy_amounts(const YqReportedNodes *nodes, const int64 *amounts)
{
	Size		size = sizeof(int64) * nodes->hierarchy->calculator.types;

	return amounts == NULL ? NULL : memcpy(palloc(size), amounts, size);
}

/* Is the node in service?  If the comparator needs the node's capability, read it. */
static bool
read_node(YqReportedNodes *nodes, KnownNode *node, const text *key)
{
	YqRow		row = {.slot = NULL};
	bool		isnull;

	if (!look_up(&nodes->nodes, key, &row) || DatumGetObjectId(yq_row_value(&row, 1, &isnull)) != nodes->running)
		return false;
	if (yq_node_report_compares_resources(nodes->settings))
		node->load.capability = yq_hierarchy_read_amounts(nodes->hierarchy, yq_row_value(&row, 2, &isnull));
	return true;
}

/*
 * Read a node from the tables.  Returns false if the node is not listed.  The state of
 * a candidate need not be checked.  The candidate was in service when the list was
 * made, and its report is deleted when it leaves service.
 */
static bool
read_known(YqReportedNodes *nodes, KnownNode *node, bool is_candidate)
{
	text	   *key = cstring_to_text(node->load.name);
	YqRow		row = {.slot = NULL};

	if ((!is_candidate || yq_node_report_compares_resources(nodes->settings)) && !read_node(nodes, node, key))
		return false;
	if (!look_up(&nodes->reports, key, &row) || !yq_node_report_read(&row, nodes->settings, nodes->hierarchy, &node->load))
		return false;
	node->reported_length = node->load.queue_length;
	node->reported_allocated = copy_amounts(nodes, node->load.allocated);
	if (look_up(&nodes->slots, key, &row))
	{
		node->before = yq_node_report_read_slots(&row, nodes->hierarchy, node->load.reported_at);
		yq_node_report_add_slots(&node->load, &node->before, nodes->hierarchy);
	}
	pfree(key);
	return true;
}

/* Read a node.  Returns true if it has slots that only one transaction at a time may take. */
static bool
read_slots(YqReportedNodes *nodes, KnownNode *node, bool is_candidate)
{
	const char *name = node->load.name;

	memset(&node->load, 0, sizeof(node->load));
	node->before = (YqTakenSlots) {0, NULL};
	node->load.name = name;
	node->is_listed = read_known(nodes, node, is_candidate);
	return node->is_listed && yq_node_load_counts_slots(nodes->settings->load_comparator, &node->load);
}

/*
 * Read a node.  Slots of the node are taken only under its lock, so the call locks a node with
 * slots and reads it again if necessary.  For a node without slots, the call neither waits for the
 * lock nor keeps it, because the node gets no slots before its next report.
 */
static void
read_locked(YqReportedNodes *nodes, KnownNode *node, bool is_candidate, bool waits)
{
	bool		is_locked = slot_locks_try(nodes->locks, node->load.name);
	bool		has_slots = read_slots(nodes, node, is_candidate);

	node->is_passed = has_slots && !is_locked && !waits;
	if (has_slots && !is_locked && waits)
	{
		is_locked = slot_locks_wait(nodes->locks, node->load.name);
		has_slots = is_locked && read_slots(nodes, node, is_candidate);
	}
	if (is_locked && !has_slots)
		slot_locks_give_back(nodes->locks, node->load.name);
}

static KnownNode *
find_node(YqReportedNodes *nodes, const char *name, bool is_candidate, bool waits)
{
	bool		found;
	KnownNode  *node = yq_bytes_table_enter(nodes->known, yq_bytes_of_string(name), CurrentMemoryContext, &found);

	if (found && !(node->is_passed && waits))
		return node;
	node->load.name = pstrdup(name);
	node->is_listed = node->is_passed = false;
	/* read nothing after a missed lock, because the call will decide again */
	if (nodes->locks->has_missed)
		return node;
	read_locked(nodes, node, is_candidate, waits);
	if (node->is_listed && !node->is_passed)
		nodes->listed = lappend(nodes->listed, node);
	return node;
}

/* -- the choice ------------------------------------------------------------------ */

static YqNodeLoad *
choose_node(YqNodeChoice *choice, const char *name)
{
	KnownNode  *node = find_node((YqReportedNodes *) choice, name, false, true);

	return node->is_listed ? &node->load : NULL;
}

static YqNodeLoad *
choose_candidate(YqNodeChoice *choice, int place, bool waits)
{
	YqReportedNodes *nodes = (YqReportedNodes *) choice;
	KnownNode  *node = nodes->candidates[place];

	if (node == NULL || node->is_passed)
		node = nodes->candidates[place] = find_node(nodes, nodes->list->candidates[place], true, waits);
	choice->has_passed |= node->is_passed;
	return node->is_listed && !node->is_passed ? &node->load : NULL;
}

static int
choose_rack(YqNodeChoice *choice, const char *rack, const char *const **names)
{
	static YqSavedPlan look_up_rack = {
		.command = "SELECT n.name::text FROM yquota.node AS n WHERE n.rack = $1 ORDER BY n.name",
		.types = {"text"}
	};
	Datum		values[] = {CStringGetTextDatum(rack)};
	List	   *found = yq_saved_plan_strings(&look_up_rack, values);
	const char **array = palloc(sizeof(char *) * Max(list_length(found), 1));
	int			count = 0;
	ListCell   *cell;

	foreach(cell, found)
		array[count++] = lfirst(cell);
	*names = array;
	return count;
}

static int
choose_recorded_start(YqReportedNodes *nodes)
{
	int32		start = nodes->drawn < nodes->order->start_count ? nodes->order->starts[nodes->drawn] : -1;

	nodes->drawn++;
	if (start < 0 || start >= nodes->choice.candidate_count)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("the search for any node has no recorded draw"),
				 errdetail("Draw number %d of %d must be between 0 and %d.",
						   nodes->drawn, nodes->order->start_count, nodes->choice.candidate_count - 1)));
	return start;
}

static int
choose_start(YqNodeChoice *choice)
{
	YqReportedNodes *nodes = (YqReportedNodes *) choice;

	if (nodes->order->starts != NULL)
		return choose_recorded_start(nodes);
	if (nodes->settings->anywhere_by_turns)
		return nodes->turn % choice->candidate_count;
	return (int) pg_prng_uint64_range(&nodes->random, 0, choice->candidate_count - 1);
}

static void
note_found(YqNodeChoice *choice, int place)
{
	((YqReportedNodes *) choice)->turn = place + 1;
}

/* -- turns ------------------------------------------------------------------------ */

/* Return the position at which the next search begins.  A new list begins with its first node. */
static int32
read_turn(const YqLoadList *list)
{
	static YqSavedPlan look_up_turn = {
		.command = "SELECT t.place FROM yquota_internal.anywhere_turn AS t WHERE t.sort_number = $1",
		.types = {"int8"}
	};
	Datum		values[] = {Int64GetDatum(list->number)};
	int32		turn = 0;
	bool		isnull;

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	if (yq_saved_plan_run(&look_up_turn, values, NULL) > 0)
		turn = DatumGetInt32(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &isnull));
	SPI_finish();
	return turn;
}

static void
write_turn(const YqReportedNodes *nodes)
{
	static YqSavedPlan write = {
		.command = "INSERT INTO yquota_internal.anywhere_turn AS t (sort_number, place) VALUES ($1, $2) "
		"ON CONFLICT (only_row) DO UPDATE SET sort_number = excluded.sort_number, place = excluded.place",
		.types = {"int8", "int4"}
	};
	Datum		values[] = {Int64GetDatum(nodes->list->number), Int32GetDatum(nodes->turn)};

	(void) yq_saved_plan_execute(&write, values, NULL);
}

/* -- opening and closing ------------------------------------------------------------ */

YqReportedNodes *
yq_reported_nodes_open(const YqHierarchy *hierarchy, const YqAllocationSettings *settings, const YqLoadList *list,
					   const YqAnywhereOrder *order, YqSlotLocks *locks)
{
	YqReportedNodes *nodes = palloc0(sizeof(YqReportedNodes));

	nodes->choice = (YqNodeChoice) {
		.comparator = settings->load_comparator,
		.calculator = &hierarchy->calculator,
		.candidate_count = list->candidate_count,
		.candidate = choose_candidate,
		.node = choose_node,
		.rack = choose_rack,
		.start = choose_start,
		.found = note_found
	};
	nodes->hierarchy = hierarchy;
	nodes->settings = settings;
	nodes->list = list;
	nodes->order = order;
	nodes->locks = locks;
	nodes->known = yq_bytes_table_create("yquota reported nodes", sizeof(KnownNode), CurrentMemoryContext);
	nodes->candidates = palloc0(sizeof(KnownNode *) * Max(list->candidate_count, 1));
	nodes->nodes = open_lookup(YQ_NODE, "node_pkey", node_columns, lengthof(node_columns));
	nodes->reports = open_lookup(YQ_NODE_QUEUE_REPORT, "node_queue_report_pkey", yq_node_report_columns, YQ_NODE_REPORT_COLUMNS);
	nodes->slots = open_lookup(YQ_OPPORTUNISTIC_SLOT, "opportunistic_slot_pkey", yq_slot_columns, YQ_SLOT_COLUMNS);
	nodes->running = yq_enum_oid("node_state", "RUNNING");
	if (order->has_seed)
		pg_prng_seed(&nodes->random, (uint64) order->seed);
	else
		pg_prng_seed(&nodes->random, pg_prng_uint64(&pg_global_prng_state));
	if (settings->anywhere_by_turns)
		nodes->turn = nodes->turn_before = read_turn(list);
	return nodes;
}

YqNodeChoice *
yq_reported_nodes_choice(YqReportedNodes *nodes)
{
	return &nodes->choice;
}

static bool
has_taken_any(const YqReportedNodes *nodes, const KnownNode *node)
{
	if (node->load.queue_length != node->reported_length + node->before.slots)
		return true;
	if (node->reported_allocated == NULL)
		return false;
	for (int i = 0; i < nodes->hierarchy->calculator.types; i++)
	{
		if (node->load.allocated[i] != node->reported_allocated[i] + (node->before.allocated == NULL ? 0 : node->before.allocated[i]))
			return true;
	}
	return false;
}

static void
write_slots(YqReportedNodes *nodes, YqRowUpdate *row, const KnownNode *node)
{
	Datum		key = CStringGetTextDatum(node->load.name);

	(void) yq_row_update_find(row, &key);
	yq_row_update_set(row, 1, TimestampTzGetDatum(node->load.reported_at));
	yq_row_update_set(row, 2, Int32GetDatum(node->load.queue_length - node->reported_length));
	yq_row_update_set_null(row, 3);
	if (node->reported_allocated != NULL)
	{
		int64	   *taken = copy_amounts(nodes, node->load.allocated);

		yq_amounts_subtract(&nodes->hierarchy->calculator, taken, node->reported_allocated);
		yq_row_update_set(row, 3, yq_hierarchy_resource(nodes->hierarchy, taken));
	}
	yq_row_update_write(row);
}

static void
write_all_slots(YqReportedNodes *nodes)
{
	YqRowUpdate *row = NULL;
	ListCell   *cell;

	foreach(cell, nodes->listed)
	{
		const KnownNode *node = lfirst(cell);

		if (!has_taken_any(nodes, node))
			continue;
		if (row == NULL)
			row = yq_row_update_open(YQ_OPPORTUNISTIC_SLOT, "opportunistic_slot_pkey", yq_slot_columns, YQ_SLOT_COLUMNS);
		write_slots(nodes, row, node);
	}
	yq_row_update_close(row);
}

bool
yq_reported_nodes_close(YqReportedNodes *nodes)
{
	yq_index_scan_close(nodes->nodes.scan);
	yq_index_scan_close(nodes->reports.scan);
	yq_index_scan_close(nodes->slots.scan);
	if (nodes->locks->has_missed)
		return false;
	write_all_slots(nodes);
	if (nodes->settings->anywhere_by_turns && nodes->turn != nodes->turn_before)
		write_turn(nodes);
	return true;
}
