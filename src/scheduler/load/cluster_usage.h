/*-------------------------------------------------------------------------
 *
 * cluster_usage.h
 *	  Resources that GUARANTEED containers use in queues, for users and on nodes, from the
 *	  counters that charging keeps (docs/design.md 3).
 *
 * Charging appends each change of usage to counter_delta.  Compaction adds these rows to
 * usage_counter and node_counter, and changes usage_version in the same transaction.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_CLUSTER_USAGE_H
#define YQ_CLUSTER_USAGE_H

#include "scheduler/load/loaded_cluster.h"
#include "store/table_scan.h"
#include "utils/uuid.h"

/* The table counter_delta, as a journal of changes (store/table_scan.h). */
extern const YqJournal yq_usage_journal;

/* Add all usage that the snapshot sees to a cluster that contains no usage yet. */
extern void yq_cluster_read_usage(YqLoadedCluster *loaded, Snapshot snapshot);

/*
 * Add the rows of counter_delta that the session has not read yet.  Rows of the transaction
 * seen->own are not added, because the cluster already contains them.  Returns the number
 * of rows of that transaction.
 */
extern int64 yq_cluster_read_new_usage(YqLoadedCluster *loaded, const YqSeen *seen, Snapshot snapshot);

/* Read all usage again after a compaction. */
extern void yq_cluster_read_usage_again(YqLoadedCluster *loaded, Snapshot snapshot);

/* Version of the compacted counters. */
typedef struct YqUsageVersion
{
	pg_uuid_t	version;
	pg_uuid_t	content;		/* unchanged if a transaction has only compacted rows of other transactions */
	FullTransactionId compacted_before;	/* from this transaction on, the last compaction took no rows */
	FullTransactionId *compacted_but; /* earlier transactions of which the last compaction took no rows, palloc'd */
	int			compacted_but_count;
} YqUsageVersion;

extern YqUsageVersion yq_usage_version(Snapshot snapshot);

/*
 * Have compactions since the version "known" moved only rows that the session has read?  If so, the
 * session need not read all usage again.  Rows of the transaction seen->own count as not read.
 */
extern bool yq_usage_is_known(const YqUsageVersion *now, const YqUsageVersion *known, const YqSeen *seen);

#endif							/* YQ_CLUSTER_USAGE_H */
