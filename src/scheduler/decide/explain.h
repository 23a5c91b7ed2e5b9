/*-------------------------------------------------------------------------
 *
 * explain.h
 *	  Noting skipped queues and applications, with the limit.
 *
 * Nothing is noted unless the cluster explains.  Amounts are copied.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_EXPLAIN_H
#define YQ_EXPLAIN_H

#include "scheduler/state/cluster.h"

/* Note a skip. */
extern void yq_explain(YqCluster *cluster, const YqSkip *skip);

/* The name of a reason, in lower case with underscores. */
extern const char *yq_skip_reason_name(YqSkipReason reason);

#endif							/* YQ_EXPLAIN_H */
