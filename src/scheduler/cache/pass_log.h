/*-------------------------------------------------------------------------
 *
 * pass_log.h
 *	  What a pass tells other sessions that keep a cluster.
 *
 * Most passes change nothing of an application but how many containers it asks for,
 * what is counted of its requests for delays, and the number of its next container.
 * These are told with their new values, so that whoever keeps a cluster sets them and
 * reads nothing.  Whoever follows applies the rows of an application in the order of
 * passes, unless the application has to be read again for another reason, which tells
 * all of them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_PASS_LOG_H
#define YQ_PASS_LOG_H

#include "scheduler/load/cluster_load.h"

/* Note what the pass has written down (loaded->changed), before it is settled. */
extern void yq_pass_log_write(const YqLoadedCluster *loaded);

/* Grows from pass to pass. */
extern uint64 yq_pass_log_position(const bytea *values);

/* Set what has been told of an application; false when it has to be read again instead. */
extern bool yq_pass_log_apply(YqLoadedCluster *loaded, const char *application_id, const bytea *values);

#endif							/* YQ_PASS_LOG_H */
