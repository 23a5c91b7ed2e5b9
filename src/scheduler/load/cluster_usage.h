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

/* Add all that the snapshot sees to a cluster without usage. */
extern void yq_cluster_read_usage(YqLoadedCluster *loaded, Snapshot snapshot);

/*
 * Add the deltas that have not been seen.  The cluster counts the deltas of seen->own
 * already: returns how many there are.
 */
extern int64 yq_cluster_read_new_usage(YqLoadedCluster *loaded, const YqSeen *seen, Snapshot snapshot);

/* Read everything again, after a compaction. */
extern void yq_cluster_read_usage_again(YqLoadedCluster *loaded, Snapshot snapshot);

/* The version of the compacted counters. */
typedef struct YqUsageVersion
{
	pg_uuid_t	version;
	pg_uuid_t	content;		/* the same as long as deltas of other transactions are compacted, and nothing else changes */
	FullTransactionId compacted_before;	/* of transactions from there on nothing has been compacted ... */
	FullTransactionId *compacted_but; /* ... nor of these (palloc'd); both are of the last compaction */
	int			compacted_but_count;
} YqUsageVersion;

extern YqUsageVersion yq_usage_version(Snapshot snapshot);

/*
 * Does the state differ from another, known one in nothing but that deltas were compacted
 * that have all been seen?  Deltas of seen->own have not.
 */
extern bool yq_usage_is_known(const YqUsageVersion *now, const YqUsageVersion *known, const YqSeen *seen);

#endif							/* YQ_CLUSTER_USAGE_H */
