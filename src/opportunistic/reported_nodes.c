/*-------------------------------------------------------------------------
 *
 * reported_nodes.c
 *	  The nodes that the central allocator chooses from.
 *
 * A call looks at few of them, so that each is looked up by its name.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "common/pg_prng.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "opportunistic/node_report.h"
#include "opportunistic/reported_nodes.h"
#include "store/catalog.h"
#include "store/index_scan.h"
#include "store/row_update.h"
#include "store/saved_plan.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

/* What is known of a node that the allocator has asked for. */
typedef struct KnownNode
{
	YqBytes		key;			/* its name */
	YqNodeLoad	load;
	bool		is_listed;		/* it is in service, and has reported */
	bool		is_passed;		/* another transaction takes slots there: not read yet */
	int32		reported_length;
	int64	   *reported_allocated; /* native units, per type; NULL: does not matter */
	YqTakenSlots before;		/* slots that earlier calls took since the report */
} KnownNode;

/* A table of ours of which rows are looked up. */
typedef struct Lookup
{
	YqIndexScan *scan;
	AttrNumber *columns;
} Lookup;

struct YqReportedNodes
{
	YqNodeChoice choice;		/* first: the functions are called with it */
	const YqHierarchy *hierarchy;
	const YqAllocationSettings *settings;
	const YqLoadList *list;
	HTAB	   *known;
	KnownNode **candidates;		/* by place in the list; NULL: not looked up yet */
	List	   *listed;			/* KnownNode that have reported, in the order in which they were asked for */
	Lookup		nodes;
	Lookup		reports;
	Lookup		slots;
	Oid			running;
	const YqAnywhereOrder *order;
	YqSlotLocks *locks;
	int			drawn;			/* recorded draws that were used */
	pg_prng_state random;
	int32		turn;			/* where the next search begins, round robin */
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

/* Is the node in service?  Its capability is read if it matters. */
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
 * Fill what the tables know of a node; false when it is not listed.  One of the list was in
 * service when that was made, and if it is no more its report has been forgotten.
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

/* Read a node, and say whether it has slots that one transaction at a time may take. */
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
 * Read a node that has slots under its lock.  One that has none is not waited for, nor kept
 * locked: it gets none before its next report.
 */
static void
read_locked(YqReportedNodes *nodes, KnownNode *node, bool is_candidate, bool waits)
{
	bool		is_locked = yq_slot_locks_try(nodes->locks, node->load.name);
	bool		has_slots = read_slots(nodes, node, is_candidate);

	node->is_passed = has_slots && !is_locked && !waits;
	if (has_slots && !is_locked && waits)
	{
		is_locked = yq_slot_locks_wait(nodes->locks, node->load.name);
		has_slots = is_locked && read_slots(nodes, node, is_candidate);
	}
	if (is_locked && !has_slots)
		yq_slot_locks_give_back(nodes->locks, node->load.name);
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
	/* what is decided from here on does not count */
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
				 errmsg("there is no recorded draw for the search for any node"),
				 errdetail("Draw number %d of %d would have to be from 0 to %d.",
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

/* A new list begins with its first node. */
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

/* -- beginning and end -------------------------------------------------------------- */

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
