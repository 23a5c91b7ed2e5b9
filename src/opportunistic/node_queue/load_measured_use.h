/*-------------------------------------------------------------------------
 *
 * load_measured_use.h
 *	  The measured use of a node from its last report, and what was freed there
 *	  since: yquota_internal.node_preemption.
 *
 * A row of node_preemption names the report that it counts from, and a newer report makes it void.
 * It is written under the lock of the node's queue, and only while the report has an excess,
 * so that the same report never has more killed than it asks for.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_LOAD_MEASURED_USE_H
#define YQ_LOAD_MEASURED_USE_H

#include "opportunistic/node_queue/node_queue.h"

/*
 * Read it into a queue that has no containers yet.  Nothing is told by a report that is older than
 * scheduler_setting.report_max_age or lies after the clock, nor on a standby.
 */
extern void yq_load_measured_use(YqNodeQueue *queue);

/* Write what containers have given back in this call, and how many it has killed or paused for the measured use. */
extern void yq_record_node_preemption(YqNodeQueue *queue);

#endif							/* YQ_LOAD_MEASURED_USE_H */
