/*-------------------------------------------------------------------------
 *
 * cluster_cache.c
 *	  The cluster that a session keeps between allocation cycles, and the transaction
 *	  numbers in rows about usage.  By these numbers, the session finds the rows that
 *	  it has not read.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "access/transam.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "base/settings.h"
#include "queues/hierarchy.h"
#include "scheduler/cache/cluster_cache.h"
#include "scheduler/load/cluster_load.h"
#include "scheduler/load/cluster_usage.h"
#include "scheduler/load/loaded_cluster.h"
#include "scheduler/record/scheduler_journal.h"
#include "storage/lmgr.h"
#include "store/bulk_insert.h"
#include "store/catalog.h"
#include "store/table_scan.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/xid8.h"

/* -- usage numbering ----------------------------------------------------------- */

/*
 * Asks all transactions to write their numbers into their rows about usage.
 *
 * The first row of usage_numbering asks for the numbers.  The second row contains the number of a
 * transaction: from this transaction on, all transactions have written their numbers.  A
 * transaction that inserts a row holds a lock on the table until it ends.  The server releases the
 * lock only after the commit and after sending the invalidations.  The next transaction that gets
 * the lock therefore knows that both have happened.
 */

/* Columns of usage_numbering, in the order of the table. */
enum
{
	NUMBERING_ASKED_BY,
	NUMBERING_COMPLETE_FROM,
	NUMBERING_COLUMNS
};

static const char *const columns[] = {"asked_by", "complete_from"};

typedef struct Numbering
{
	bool		is_asked_for;
	bool		is_own;			/* this transaction has requested the numbering */
	FullTransactionId complete_from;	/* all transactions from this one on have numbers; invalid if not known */
} Numbering;

static void
read_row(const YqRow *row)
{
	Numbering  *numbering = row->argument;
	bool		isnull;
	Datum		value = yq_row_value(row, NUMBERING_ASKED_BY, &isnull);

	numbering->is_asked_for = true;
	numbering->is_own |= FullTransactionIdEquals(DatumGetFullTransactionId(value), GetTopFullTransactionIdIfAny());
	value = yq_row_value(row, NUMBERING_COMPLETE_FROM, &isnull);
	if (!isnull)
		numbering->complete_from = DatumGetFullTransactionId(value);
}

/* Read the numbering as a snapshot sees it, or as it is now if the snapshot is NULL. */
static Numbering
read_numbering(Snapshot snapshot)
{
	Numbering	numbering = {.complete_from = InvalidFullTransactionId};

	yq_table_scan(YQ_USAGE_NUMBERING, snapshot, columns, lengthof(columns), read_row, &numbering);
	return numbering;
}

/* Is a row missing, and may this transaction insert it? */
static bool
lacks_row(Numbering *numbering)
{
	*numbering = read_numbering(NULL);
	return !FullTransactionIdIsValid(numbering->complete_from) && !numbering->is_own;
}

static void
append_row(FullTransactionId complete_from)
{
	YqBulkInsert *writer = yq_bulk_insert_open(YQ_USAGE_NUMBERING, NUMBERING_COLUMNS, 1, false);
	Datum		values[NUMBERING_COLUMNS] = {FullTransactionIdGetDatum(GetTopFullTransactionId()), FullTransactionIdGetDatum(complete_from)};
	bool		nulls[NUMBERING_COLUMNS] = {false, !FullTransactionIdIsValid(complete_from)};

	yq_bulk_insert_put(writer, values, nulls);
	yq_bulk_insert_close(writer);
	if (nulls[NUMBERING_COMPLETE_FROM])
		yq_catalog_signal_change(YQ_USAGE_NUMBERING);
	CommandCounterIncrement();
}

/*
 * Insert the missing row of usage_numbering: first the row that asks for the numbers, later the row
 * that completes the numbering.  Does nothing if another transaction is inserting a row now.
 */
static void
usage_numbering_ask(void)
{
	Numbering	numbering;

	if (lacks_row(&numbering) &&
		ConditionalLockRelationOid(yq_table_oid(YQ_USAGE_NUMBERING), ShareRowExclusiveLock) &&
		lacks_row(&numbering))
		append_row(numbering.is_asked_for ? ReadNextFullTransactionId() : InvalidFullTransactionId);
}

/* Have all transactions that the snapshot does not see written their numbers into their rows about usage? */
static bool
usage_numbering_is_complete(Snapshot snapshot)
{
	Numbering	numbering = read_numbering(snapshot);

	return FullTransactionIdIsValid(numbering.complete_from) &&
		!FullTransactionIdPrecedes(yq_seen_oldest(snapshot), numbering.complete_from);
}

/* -- cluster cache ------------------------------------------------------------- */

/*
 * The cached cluster contains all rows of two journals that a snapshot sees: the journal of
 * usage, and the journal of the scheduler's changes.  It also contains the decisions of the
 * session's last cycle.  Rows contain the number of their transaction.  By this number, the
 * session finds the rows of other transactions that it has not read.
 *
 * For rows of its own transaction, the session compares numbers of rows instead.  The cluster
 * contains the session's decisions before their rows exist, so a snapshot does not show whether
 * such a row is new.  note_own() counts the rows of the transaction at the end of a cycle.  If the
 * count differs when the journal is read again, the transaction has also written rows outside the
 * cycle.  If the counts of the journal of usage differ, update_usage() gives up the cluster.  If
 * the counts of the journal of changes differ, update() reads again all applications that the
 * transaction's rows name.
 */

/*
 * Limit on the memory of the cluster.  It suffices for more than ten thousand nodes and
 * applications.  Beyond it, the session loads the cluster again, because names of nodes and
 * racks are never removed from a cluster.
 */
#define MOST_BYTES ((Size) 400 * 1024 * 1024)

typedef struct ClusterCache
{
	YqLoadedCluster *loaded;	/* NULL: the session keeps no cluster */
	uint64		generation;		/* generation of the hierarchy from which the cluster was made */
	uint64		plan_version;	/* version of the plans' queues that the cluster contains */
	bool		auto_creates_projects;
	YqUsageVersion usage_version;
	YqSeen		seen;
	Oid			usage_file;		/* file of the journal of usage, see yq_journal_file() */
	Oid			change_file;	/* file of the journal of changes */
	int64		own_deltas;		/* number of this transaction's usage rows that the cluster already contains */
	int64		own_changes;	/* number of this transaction's change rows that the cluster already contains */
	bool		is_of_transaction;	/* the cluster contains uncommitted changes of this transaction */
	bool		is_in_use;		/* a cycle is changing the cluster; an error would leave it half changed */
} ClusterCache;

static ClusterCache cache;
static bool knows_projects = false;

/* -- giving up the cluster ----------------------------------------------------- */

static void
give_up(void)
{
	YqLoadedCluster *loaded = cache.loaded;

	memset(&cache, 0, sizeof(cache));
	if (loaded != NULL)
		MemoryContextDelete(loaded->cluster->context);
}

static void
forget_at_transaction_end(XactEvent event, void *argument)
{
	if (event == XACT_EVENT_COMMIT && !cache.is_in_use)
		cache.is_of_transaction = false;
	else if ((event == XACT_EVENT_ABORT || event == XACT_EVENT_PREPARE || event == XACT_EVENT_COMMIT) &&
			 (cache.is_of_transaction || cache.is_in_use))
		give_up();
}

static void
watch_projects(void)
{
	static bool is_watching = false;

	if (is_watching)
		return;
	yq_catalog_on_change_of_rows(YQ_PROJECT, &knows_projects);
	RegisterXactCallback(forget_at_transaction_end, NULL);
	is_watching = true;
}

/* -- changes that the session has not read --------------------------------------- */

static const YqJournal change_journal = {YQ_SCHEDULER_CHANGE, "scheduler_change_changed_by_idx"};

typedef struct Changes
{
	bool		is_everything;
	bool		is_killable;	/* containers may have become killable, or may no longer be killable */
	List	   *ids;			/* ids (char *) of applications that must be read again */
	List	   *own_ids;		/* ids in rows of this transaction */
	List	   *cycles;			/* YqCycleChange */
	List	   *own_cycles;		/* changes by cycles, from rows of this transaction */
	int64		own_rows;		/* current number of this transaction's rows */
	List	   *queues;			/* queues (char *) in which the counters of a user have changed */
	List	   *usernames;		/* users (char *) of the changed counters, in the order of the queues */
} Changes;

/* Columns in the order of the query. */
typedef enum ChangeColumn
{
	CHANGE_KIND,
	CHANGE_APPLICATION_ID,
	CHANGE_QUEUE,
	CHANGE_USERNAME,
	CHANGE_LOG_POSITION,
	CHANGE_NEXT_CONTAINER,
	CHANGE_PRIORITY,
	CHANGE_ALLOCATION_REQUEST_ID,
	CHANGE_RESOURCE_NAME,
	CHANGE_COUNT,
	CHANGE_OPPORTUNITIES,
	CHANGE_MISSED_NON_PARTITIONED,
	CHANGE_RE_RESERVATIONS,
	CHANGE_NODE,
	CHANGE_CONTAINER,
	CHANGE_ALLOCATION,
	CHANGE_COLUMNS
} ChangeColumn;

static const char *const change_columns[] = {"kind", "application_id", "queue", "username", "log_position",
	"next_container", "priority", "allocation_request_id", "resource_name", "count", "opportunities",
	"missed_non_partitioned", "re_reservations", "node", "container", "allocation"};

static const int64 *
row_amounts(const YqRow *row, int column)
{
	bool		isnull;
	Datum		value = yq_row_value(row, column, &isnull);

	return isnull ? NULL : yq_hierarchy_read_amounts(cache.loaded->cluster->hierarchy, value);
}

static YqCycleChange *
read_cycle_change(const YqRow *row, const char *application_id)
{
	YqCycleChange *change = palloc0(sizeof(YqCycleChange));

	change->log_position = yq_row_bigint(row, CHANGE_LOG_POSITION, 0);
	change->application_id = application_id;
	change->next_container = yq_row_bigint(row, CHANGE_NEXT_CONTAINER, 0);
	change->priority = yq_row_integer(row, CHANGE_PRIORITY, 0);
	change->allocation_request_id = yq_row_bigint(row, CHANGE_ALLOCATION_REQUEST_ID, 0);
	change->resource_name = yq_row_text(row, CHANGE_RESOURCE_NAME);
	change->count = yq_row_integer(row, CHANGE_COUNT, 0);
	change->counters.opportunities = yq_row_bigint(row, CHANGE_OPPORTUNITIES, 0);
	change->counters.missed_non_partitioned = yq_row_bigint(row, CHANGE_MISSED_NON_PARTITIONED, 0);
	change->counters.re_reservations = yq_row_bigint(row, CHANGE_RE_RESERVATIONS, 0);
	change->node = yq_row_text(row, CHANGE_NODE);
	change->container = yq_row_bigint(row, CHANGE_CONTAINER, 0);
	change->amounts = row_amounts(row, CHANGE_ALLOCATION);
	return change;
}

static void
note_change_of_application(Changes *changes, const YqRow *row, char kind, bool is_own)
{
	List	  **ids = is_own ? &changes->own_ids : &changes->ids;
	List	  **cycles = is_own ? &changes->own_cycles : &changes->cycles;
	char	   *id = yq_row_text(row, CHANGE_APPLICATION_ID);

	if (kind == YQ_CHANGE_CYCLE)
		*cycles = lappend(*cycles, read_cycle_change(row, id));
	else if (kind == YQ_CHANGE_APPLICATION)
		*ids = lappend(*ids, id);
}

static void
read_change(const YqRow *row, bool is_own)
{
	Changes    *changes = row->argument;
	char	   *queue = yq_row_text(row, CHANGE_QUEUE);
	bool		isnull;
	char		kind = DatumGetChar(yq_row_value(row, CHANGE_KIND, &isnull));

	changes->own_rows += is_own;
	changes->is_everything = changes->is_everything || kind == YQ_CHANGE_EVERYTHING;
	changes->is_killable = changes->is_killable || (kind == YQ_CHANGE_KILLABLE && !is_own);
	note_change_of_application(changes, row, kind, is_own);
	if (queue == NULL)
		return;
	changes->queues = lappend(changes->queues, queue);
	changes->usernames = lappend(changes->usernames, yq_row_text(row, CHANGE_USERNAME));
}

static void
read_journal_horizon(const YqRow *row)
{
	bool		isnull;

	*(FullTransactionId *) row->argument = DatumGetFullTransactionId(yq_row_value(row, 0, &isnull));
}

/* Do the journals still contain all rows that the session has not read? */
static bool
journals_are_whole(Snapshot snapshot)
{
	static const char *const columns[] = {"trimmed_before"};
	FullTransactionId trimmed_before = FirstNormalFullTransactionId;

	yq_table_scan(YQ_SCHEDULER_CHANGE_HORIZON, snapshot, columns, lengthof(columns), read_journal_horizon, &trimmed_before);
	return !FullTransactionIdPrecedes(cache.seen.oldest, trimmed_before) &&
		cache.change_file == yq_journal_file(&change_journal) && cache.usage_file == yq_journal_file(&yq_usage_journal);
}

/* -- catching up ----------------------------------------------------------------- */

/* Update usage.  Returns false if the cluster must be given up. */
static bool
update_usage(Snapshot snapshot)
{
	YqUsageVersion version = yq_usage_version(snapshot);
	bool		is_known = yq_usage_is_known(&version, &cache.usage_version, &cache.seen);

	cache.usage_version = version;
	cache.usage_version.compacted_but = NULL;
	if (!is_known)
	{
		yq_cluster_read_usage_again(cache.loaded, snapshot);
		return true;
	}
	return yq_cluster_read_new_usage(cache.loaded, &cache.seen, snapshot) == cache.own_deltas;
}

/* Apply changes of the plans' queues.  Returns false if the cluster must be given up. */
static bool
follow_plans(YqLoadedCluster *loaded)
{
	uint64		version = loaded->cluster->hierarchy->plan_version;
	List	   *changed = NIL;
	List	   *came = NIL;
	ListCell   *cell;

	if (cache.plan_version == version)
		return true;
	yq_cluster_follow_plans(loaded->cluster, &changed, &came);
	foreach(cell, came)
	{
		if (yq_loaded_is_stray(loaded, ((const YqClusterQueue *) lfirst(cell))->queue))
			return false;
	}
	list_free(came);
	foreach(cell, changed)
		yq_loaded_note_stale(loaded, lfirst(cell));
	list_free(changed);
	cache.plan_version = version;
	return true;
}

static bool
update(Snapshot snapshot)
{
	YqLoadedCluster *loaded = cache.loaded;
	Changes		changes = {.is_everything = false};

	if (!journals_are_whole(snapshot) || !follow_plans(loaded))
		return false;
	yq_journal_scan(&change_journal, &cache.seen, snapshot, change_columns, CHANGE_COLUMNS, read_change, &changes);
	if (changes.is_everything || !update_usage(snapshot))
		return false;
	/* if the transaction has also made changes outside its cycle, read all its changes */
	if (changes.own_rows != cache.own_changes)
	{
		changes.ids = list_concat(changes.ids, changes.own_ids);
		changes.cycles = list_concat(changes.cycles, changes.own_cycles);
		changes.is_killable = true;
	}
	/* apply changes by cycles first, because applications that are read again already have them */
	changes.ids = list_concat(changes.ids, yq_cluster_follow_cycles(loaded, changes.cycles));
	if (!yq_cluster_reload_applications(loaded, changes.ids))
		return false;
	yq_cluster_reload_counters(loaded, changes.queues, changes.usernames);
	if (changes.is_killable || loaded->has_stale_killable)
		yq_cluster_read_killable(loaded, snapshot);
	yq_cluster_prepare_again(loaded->cluster, loaded->stale_queues);
	yq_loaded_forget_stale(loaded);
	return loaded->cluster->hierarchy->gone == NULL || !yq_cluster_uses_gone_queues(loaded->cluster);
}

/* -- keeping a cluster ----------------------------------------------------------- */

static void
load_cluster(YqHierarchy *hierarchy, Snapshot snapshot)
{
	ClusterCache made = {.is_in_use = true};

	made.loaded = yq_cluster_load(hierarchy, NULL, 0, snapshot);
	made.loaded->is_kept = true;
	made.generation = hierarchy->generation;
	made.plan_version = hierarchy->plan_version;
	made.auto_creates_projects = yq_auto_create_project;
	made.usage_version = yq_usage_version(snapshot);
	made.usage_version.compacted_but = NULL;
	made.usage_file = yq_journal_file(&yq_usage_journal);
	made.change_file = yq_journal_file(&change_journal);
	MemoryContextSetParent(made.loaded->cluster->context, TopMemoryContext);
	cache = made;
}

static bool
is_usable(const YqHierarchy *hierarchy)
{
	return cache.loaded != NULL && !cache.is_in_use && knows_projects && cache.generation == hierarchy->generation &&
		cache.auto_creates_projects == yq_auto_create_project &&
		MemoryContextMemAllocated(cache.loaded->cluster->context, true) < MOST_BYTES;
}

/*
 * Can the session keep a cluster?  It cannot inside a savepoint, because a rollback to the
 * savepoint would remove rows that the cluster contains.
 */
static bool
can_keep(void)
{
	return !IsolationUsesXactSnapshot() && GetCurrentTransactionNestLevel() == 1;
}

YqLoadedCluster *
yq_cluster_cache_get(YqHierarchy *hierarchy)
{
	Snapshot	snapshot;
	bool		is_current;

	watch_projects();
	if (!can_keep())
		return NULL;
	is_current = is_usable(hierarchy);
	knows_projects = true;
	/* let the snapshot see the rows of the current command */
	CommandCounterIncrement();
	snapshot = yq_latest_snapshot();
	if (!usage_numbering_is_complete(snapshot))
	{
		UnregisterSnapshot(snapshot);
		give_up();
		return NULL;
	}
	cache.is_in_use = true;
	if (!is_current || !update(snapshot))
	{
		give_up();
		load_cluster(hierarchy, snapshot);
	}
	yq_seen_forget(&cache.seen);
	yq_seen_set(&cache.seen, snapshot, cache.loaded->cluster->context);
	cache.is_of_transaction = true;
	UnregisterSnapshot(snapshot);
	return cache.loaded;
}

/* Remember how many rows the transaction has written so far. */
static void
note_own(void)
{
	FullTransactionId own = GetTopFullTransactionIdIfAny();
	Snapshot	snapshot;

	cache.seen.own = own;
	cache.own_deltas = cache.own_changes = 0;
	if (!FullTransactionIdIsValid(own))
		return;
	snapshot = yq_latest_snapshot();
	cache.own_deltas = yq_journal_count(&yq_usage_journal, own, snapshot);
	cache.own_changes = yq_journal_count(&change_journal, own, snapshot);
	UnregisterSnapshot(snapshot);
}

/* Can the cluster be brought up to date by reading a few rows? */
static bool
is_recent(const YqHierarchy *hierarchy)
{
	Snapshot	snapshot;
	YqUsageVersion version;

	if (!is_usable(hierarchy))
		return false;
	snapshot = yq_latest_snapshot();
	version = yq_usage_version(snapshot);
	UnregisterSnapshot(snapshot);
	return yq_usage_is_known(&version, &cache.usage_version, &cache.seen);
}

void
yq_cluster_cache_prepare(YqHierarchy *hierarchy)
{
	if (can_keep())
		usage_numbering_ask();
	if (!is_recent(hierarchy))
		yq_cluster_cache_catch_up(hierarchy);
}

void
yq_cluster_cache_catch_up(YqHierarchy *hierarchy)
{
	if (yq_cluster_cache_get(hierarchy) == NULL)
		return;
	note_own();
	cache.is_in_use = false;
}

YqLoadedCluster *
yq_cluster_cache_read(YqHierarchy *hierarchy)
{
	if (RecoveryInProgress() || !can_keep())
		return NULL;
	yq_cluster_cache_catch_up(hierarchy);
	return cache.loaded;
}

/*
 * Does the cluster differ from the tables after a cycle?  It does if decisions for ended
 * applications were dropped.  It also does if containers were updated, because charging
 * counts their new size; promotions by rule are an exception.
 */
static bool
differs(const YqLoadedCluster *loaded)
{
	const YqCluster *cluster = loaded->cluster;

	if (loaded->is_overtaken)
		return true;
	for (int i = 0; i < cluster->touched_count; i++)
	{
		if (yq_loaded(cluster->touched[i])->is_gone)
			return true;
	}
	for (int i = 0; i < cluster->decision_count; i++)
	{
		const YqContainerUpdate *updated = cluster->decisions[i].key->update;

		if (updated != NULL && !updated->is_by_rule)
			return true;
	}
	return false;
}

void
yq_cluster_cache_end_cycle(YqLoadedCluster *loaded)
{
	ListCell   *cell;

	if (differs(loaded))
	{
		give_up();
		return;
	}
	foreach(cell, loaded->changed)
		yq_cluster_settle_application(loaded, lfirst(cell));
	loaded->changed = NIL;
	yq_cluster_end_cycle(loaded->cluster);
	CommandCounterIncrement();
	note_own();
	cache.is_in_use = false;
}

bool
yq_cluster_cache_is_of(const YqHierarchy *hierarchy)
{
	return cache.loaded != NULL && !cache.is_in_use && cache.generation == hierarchy->generation;
}
