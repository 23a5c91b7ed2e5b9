/*-------------------------------------------------------------------------
 *
 * kept_cluster.c
 *	  The cluster that a session keeps from one allocation pass to the next.
 *
 * What it counts is what one snapshot sees, and what the pass itself has written.  The
 * former is told by numbers of transactions.  The latter is told from what else its
 * transaction has written by their number of rows: if there are others, it is given up.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "access/xact.h"
#include "base/settings.h"
#include "scheduler/cache/change_reader.h"
#include "scheduler/cache/kept_cluster.h"
#include "scheduler/decide/look.h"
#include "scheduler/load/cluster_usage.h"
#include "store/bulk_insert.h"
#include "store/catalog.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/xid8.h"

/* More than a cluster of ten thousand nodes and applications needs; names only grow. */
#define MOST_BYTES ((Size) 400 * 1024 * 1024)

typedef struct Kept
{
	YqLoadedCluster *loaded;	/* NULL: nothing is kept */
	uint64		generation;		/* of the hierarchy */
	bool		auto_creates_projects;
	YqUsageVersion usage_version;
	YqSeen		seen;
	YqFollower	deltas;
	Oid			changes_file;
	int64		own_rows;		/* deltas of seen.own that are counted */
	int64		own_changes;	/* rows of scheduler_change of seen.own that say nothing new */
	bool		is_of_transaction;	/* what this transaction has done is in it */
	bool		is_in_use;		/* half changed, if there is an error now */
	bool		is_whole;		/* its transaction had written nothing before, and has not rolled back a part since */
	bool		is_for_one_pass;	/* nobody could tell later what it counts */
} Kept;

static Kept kept;
static bool knows_projects = false;

/* -- giving it up -------------------------------------------------------------- */

static void
give_up(void)
{
	YqLoadedCluster *loaded = kept.loaded;

	memset(&kept, 0, sizeof(kept));
	if (loaded != NULL)
		MemoryContextDelete(loaded->cluster->context);
}

static void
on_transaction_end(XactEvent event, void *argument)
{
	if (event == XACT_EVENT_COMMIT && !kept.is_in_use)
		kept.is_of_transaction = false;
	else if ((event == XACT_EVENT_ABORT || event == XACT_EVENT_PREPARE || event == XACT_EVENT_COMMIT) &&
			 (kept.is_of_transaction || kept.is_in_use))
		give_up();
}

static void
watch(void)
{
	static bool is_watching = false;

	if (is_watching)
		return;
	yq_catalog_on_change_of_rows(YQ_PROJECT, &knows_projects);
	yq_catalog_on_abort(&kept.is_whole);
	RegisterXactCallback(on_transaction_end, NULL);
	is_watching = true;
}

/* -- what has changed ---------------------------------------------------------- */

static void
read_horizon(const YqRow *row)
{
	bool		isnull;

	*(FullTransactionId *) row->argument = DatumGetFullTransactionId(yq_row_value(row, 0, &isnull));
}

/* Are changes that have not been seen still there? */
static bool
changes_are_there(Snapshot snapshot)
{
	static const char *const columns[] = {"trimmed_before"};
	FullTransactionId trimmed_before = FirstNormalFullTransactionId;
	uint64		oldest = U64FromFullTransactionId(kept.seen.next) -
		(uint32) (XidFromFullTransactionId(kept.seen.next) - kept.seen.snapshot.xmin);

	yq_table_scan(YQ_SCHEDULER_CHANGE_HORIZON, snapshot, columns, lengthof(columns), read_horizon, &trimmed_before);
	return U64FromFullTransactionId(trimmed_before) <= oldest && kept.changes_file == yq_changes_file();
}

/* False when it has to be given up. */
static bool
follow_usage(Snapshot snapshot)
{
	YqUsageVersion version = yq_usage_version(snapshot);
	bool		is_known = yq_usage_is_known(&version, &kept.usage_version, &kept.seen);
	int64		own_rows;

	kept.usage_version = version;
	kept.usage_version.folded_but = NULL;
	if (!is_known)
	{
		yq_cluster_read_usage_again(kept.loaded, snapshot, &kept.deltas);
		return true;
	}
	own_rows = yq_cluster_read_new_usage(kept.loaded, &kept.seen, snapshot, &kept.deltas);
	return own_rows == kept.own_rows;
}

static bool
follow(Snapshot snapshot)
{
	YqLoadedCluster *loaded = kept.loaded;
	YqChanges	changes = {.is_everything = false};

	if (!changes_are_there(snapshot))
		return false;
	yq_changes_read(&kept.seen, snapshot, &changes);
	if (changes.is_everything || !follow_usage(snapshot))
		return false;
	if (changes.has_am_limits)
		yq_looks_forget_known(loaded->cluster);
	/* what the pass has changed is known, what its transaction did besides is not */
	if (changes.own_rows != kept.own_changes)
		changes.ids = list_concat(changes.ids, changes.own_ids);
	if (!yq_cluster_reload_applications(loaded, changes.ids))
		return false;
	yq_cluster_reload_counters(loaded, changes.queues, changes.usernames);
	yq_cluster_prepare_again(loaded->cluster, loaded->stale_queues);
	yq_loaded_forget_stale(loaded);
	return true;
}

/* -- having one ------------------------------------------------------------------ */

static void
load(YqHierarchy *hierarchy, Snapshot snapshot)
{
	Kept		made = {.is_in_use = true};

	made.loaded = yq_cluster_load(hierarchy, NULL, 0, snapshot, &made.deltas);
	made.loaded->is_kept = true;
	made.generation = hierarchy->generation;
	made.auto_creates_projects = yq_auto_create_project;
	made.usage_version = yq_usage_version(snapshot);
	made.usage_version.folded_but = NULL;
	made.changes_file = yq_changes_file();
	MemoryContextSetParent(made.loaded->cluster->context, TopMemoryContext);
	kept = made;
}

static bool
is_usable(const YqHierarchy *hierarchy)
{
	return kept.loaded != NULL && !kept.is_in_use && knows_projects && kept.generation == hierarchy->generation &&
		kept.auto_creates_projects == yq_auto_create_project && yq_seen_is_recent(&kept.seen) &&
		MemoryContextMemAllocated(kept.loaded->cluster->context, true) < MOST_BYTES;
}

/* Rows of this transaction are told by one number. */
static bool
can_keep(void)
{
	TransactionId *children;

	return !IsolationUsesXactSnapshot() && GetCurrentTransactionNestLevel() == 1 &&
		xactGetCommittedChildren(&children) == 0;
}

YqLoadedCluster *
yq_kept_cluster_get(YqHierarchy *hierarchy)
{
	Snapshot	snapshot;
	bool		is_current;

	watch();
	if (!can_keep())
		return NULL;
	is_current = is_usable(hierarchy);
	knows_projects = true;
	/* what this command has written so far counts, too */
	CommandCounterIncrement();
	snapshot = yq_latest_snapshot();
	kept.is_in_use = true;
	if (!is_current || !follow(snapshot))
	{
		give_up();
		load(hierarchy, snapshot);
	}
	yq_seen_forget(&kept.seen);
	kept.is_for_one_pass = !yq_seen_set(&kept.seen, snapshot, kept.loaded->cluster->context);
	kept.is_of_transaction = true;
	kept.is_whole = !TransactionIdIsValid(GetTopTransactionIdIfAny());
	UnregisterSnapshot(snapshot);
	return kept.loaded;
}

/* What the transaction at hand has written is counted; whatever it writes from now on is not. */
static void
note_own(void)
{
	Snapshot	snapshot;

	kept.seen.own = GetTopTransactionIdIfAny();
	kept.own_rows = kept.own_changes = 0;
	if (!TransactionIdIsValid(kept.seen.own))
		return;
	if (kept.is_whole)
	{
		kept.own_rows = yq_bulk_insert_rows_of_transaction(YQ_COUNTER_DELTA);
		kept.own_changes = yq_bulk_insert_rows_of_transaction(YQ_SCHEDULER_CHANGE);
		return;
	}
	snapshot = yq_latest_snapshot();
	kept.own_rows = yq_usage_count_own(&kept.seen, snapshot, &kept.deltas);
	kept.own_changes = yq_changes_count_own(&kept.seen, snapshot);
	UnregisterSnapshot(snapshot);
}

/* Is what has come since it was last looked at told by few rows? */
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
	return yq_usage_is_known(&version, &kept.usage_version, &kept.seen);
}

void
yq_kept_cluster_prepare(YqHierarchy *hierarchy)
{
	if (!is_recent(hierarchy))
		yq_kept_cluster_catch_up(hierarchy);
}

void
yq_kept_cluster_catch_up(YqHierarchy *hierarchy)
{
	if (yq_kept_cluster_get(hierarchy) == NULL)
		return;
	if (kept.is_for_one_pass)
	{
		give_up();
		return;
	}
	note_own();
	kept.is_in_use = false;
}

/*
 * Does the cluster count what has not been written down?  Decisions for applications
 * that were gone have not, and containers that have become larger are for the door to
 * count.
 */
static bool
differs(const YqCluster *cluster)
{
	for (int i = 0; i < cluster->touched_count; i++)
	{
		if (yq_loaded(cluster->touched[i])->is_gone)
			return true;
	}
	for (int i = 0; i < cluster->decision_count; i++)
	{
		if (cluster->decisions[i].key->update != NULL)
			return true;
	}
	return false;
}

void
yq_kept_cluster_end_pass(YqLoadedCluster *loaded)
{
	ListCell   *cell;

	if (kept.is_for_one_pass || differs(loaded->cluster))
	{
		give_up();
		return;
	}
	foreach(cell, loaded->changed)
		yq_cluster_settle_application(loaded, lfirst(cell));
	loaded->changed = NIL;
	yq_cluster_end_pass(loaded->cluster);
	CommandCounterIncrement();
	note_own();
	kept.is_in_use = false;
}

bool
yq_kept_cluster_is_of(const YqHierarchy *hierarchy)
{
	return kept.loaded != NULL && !kept.is_in_use && kept.generation == hierarchy->generation;
}
