/*-------------------------------------------------------------------------
 *
 * cluster_usage.h
 *	  Resources of queues, users and nodes that GUARANTEED containers use, from
 *	  the counters that charging keeps (docs/design.md 3).
 *
 * Compaction moves rows of counter_delta to usage_counter and node_counter, and
 * changes usage_version in the same transaction.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_CLUSTER_USAGE_H
#define YQ_CLUSTER_USAGE_H

#include "scheduler/load/loaded_cluster.h"
#include "store/table_scan.h"
#include "utils/uuid.h"

/* counter_delta. */
extern const YqJournal yq_usage_journal;

/* Add all usage that the snapshot sees to a cluster that contains no usage yet. */
extern void yq_cluster_read_usage(YqLoadedCluster *loaded, Snapshot snapshot);

/*
 * Add the deltas that have not been seen yet, and return their number.  Deltas of the
 * transaction seen->own are not added, because the cluster already contains them.
 */
extern int64 yq_cluster_read_new_usage(YqLoadedCluster *loaded, const YqSeen *seen, Snapshot snapshot);

/* Read all usage again after a compaction. */
extern void yq_cluster_read_usage_again(YqLoadedCluster *loaded, Snapshot snapshot);

/* Version of the compacted counters. */
typedef struct YqUsageVersion
{
	pg_uuid_t	version;
	pg_uuid_t	content;		/* does not change if only deltas of other transactions are compacted */
	FullTransactionId compacted_before;	/* transactions that the last compaction skipped: this one, later ones ... */
	FullTransactionId *compacted_but; /* ... and these (palloc'd) */
	int			compacted_but_count;
} YqUsageVersion;

extern YqUsageVersion yq_usage_version(Snapshot snapshot);

/*
 * Is the only difference from a known state that deltas were compacted which have all been
 * seen?  Deltas of the transaction seen->own do not count as seen.
 */
extern bool yq_usage_is_known(const YqUsageVersion *now, const YqUsageVersion *known, const YqSeen *seen);

#endif							/* YQ_CLUSTER_USAGE_H */
