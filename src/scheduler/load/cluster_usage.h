/*-------------------------------------------------------------------------
 *
 * cluster_usage.h
 *	  What GUARANTEED containers hold of queues, users and nodes, from the counters
 *	  that charging keeps (DESIGN 3).
 *
 * Folding moves what it finds in counter_delta to usage_counter and node_counter, and
 * changes usage_version in the same transaction.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_CLUSTER_USAGE_H
#define YQ_CLUSTER_USAGE_H

#include "scheduler/load/cluster_load.h"
#include "utils/uuid.h"

/* Add all that the snapshot sees to a cluster that knows of none, and follow deltas from there. */
extern void yq_cluster_read_usage(YqLoadedCluster *loaded, Snapshot snapshot, YqFollower *deltas);

/*
 * Add what deltas say that have not been seen.  What the transaction seen->own wrote is
 * counted already: returns how many such rows there are; -1 when the table has been
 * written anew.
 */
extern int64 yq_cluster_read_new_usage(YqLoadedCluster *loaded, const YqSeen *seen, Snapshot snapshot,
									   YqFollower *deltas);

/* How many rows of seen->own the snapshot sees; the follower stays where it is. */
extern int64 yq_usage_count_own(const YqSeen *seen, Snapshot snapshot, YqFollower *deltas);

/* Read everything again, after a folding. */
extern void yq_cluster_read_usage_again(YqLoadedCluster *loaded, Snapshot snapshot, YqFollower *deltas);

/* Which state of what is folded it is. */
typedef struct YqUsageVersion
{
	pg_uuid_t	version;
	pg_uuid_t	content;		/* the same as long as deltas of other transactions are folded, and nothing else changes */
	FullTransactionId folded_before;	/* of transactions from there on nothing has been folded ... */
	FullTransactionId *folded_but;	/* ... nor of these (palloc'd); both are of the last folding */
	int			folded_but_count;
} YqUsageVersion;

extern YqUsageVersion yq_usage_version(Snapshot snapshot);

/*
 * Does the state differ from another, known one in nothing but that deltas were folded
 * that have all been seen?  Deltas of seen->own have not.
 */
extern bool yq_usage_is_known(const YqUsageVersion *now, const YqUsageVersion *known, const YqSeen *seen);

#endif							/* YQ_CLUSTER_USAGE_H */
