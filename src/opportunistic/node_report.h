/*-------------------------------------------------------------------------
 *
 * node_report.h
 *	  Stores the reports of nodes about their queues, and reads the slots taken after a
 *	  report. Estimates how long a container would wait at a node.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_NODE_REPORT_H
#define YQ_NODE_REPORT_H

#include "opportunistic/node_load.h"
#include "postgres.h"
#include "queues/hierarchy.h"
#include "store/table_scan.h"

/* A report of a node, as the caller passes it.  The counts are numbers of containers on the node. */
typedef struct YqNodeReport
{
	const char *node;
	int32		running_guaranteed;
	int32		running_opportunistic;
	int32		queued_guaranteed;
	int32		queued_opportunistic;
	Datum		estimated_wait; /* interval; 0: not reported, and not yet estimated by yq_node_reports_store() */
	bool		has_queue_capacity;
	int32		queue_capacity;
	TimestampTz reported_at;
	Datum		allocated;		/* yquota.resource: amounts allocated to the node's containers; 0: not reported */
	Datum		measured;		/* yquota.resource: measured use; 0: not reported */
	const char *refusal;		/* result of yq_node_reports_store(): reason of the refusal; NULL: stored */
	const char *left_out;		/* result: reason why the node is not listed although its report is stored; NULL:
								 * listed */
	bool		changes_capacity;	/* result: the queue capacity is new, or differs from the previous report */
} YqNodeReport;

/*
 * Store reports that are newer than the stored reports of the same nodes.  Older
 * reports are refused, and so are reports with a time after "now".  A report is also
 * refused if the node does not exist or is not in service.  A node that is already on
 * the list keeps its queue capacity, as in Hadoop.
 */
extern void yq_node_reports_store(const YqAllocationSettings *settings, YqNodeReport *reports, int count, TimestampTz now);

/* -- rows ------------------------------------------------------------------- */

/* Columns of node_queue_report and opportunistic_slot that are read. */
#define YQ_NODE_REPORT_COLUMNS	8
#define YQ_SLOT_COLUMNS			4
extern const char *const yq_node_report_columns[YQ_NODE_REPORT_COLUMNS];
extern const char *const yq_slot_columns[YQ_SLOT_COLUMNS];

/* Position of the node's name among the columns.  The position is the same in both tables. */
#define YQ_NODE_REPORT_NODE		0

/*
 * Read a stored report into a load.  The caller sets the load's name and capability.
 * Returns false if the comparator cannot list the node.  Allocated amounts are read
 * only if the comparator compares resources.
 */
extern bool yq_node_report_read(const YqRow *row, const YqAllocationSettings *settings, const YqHierarchy *hierarchy,
								YqNodeLoad *load);

/* Slots that were taken on a node after its report. */
typedef struct YqTakenSlots
{
	int32		slots;
	int64	   *allocated;		/* allocated amounts, native units per type; NULL: none */
} YqTakenSlots;

/* Read a row of opportunistic_slot.  If its slots belong to another report, the result is empty. */
extern YqTakenSlots yq_node_report_read_slots(const YqRow *row, const YqHierarchy *hierarchy, TimestampTz reported_at);

/* Add the taken slots to the load of a node. */
extern void yq_node_report_add_slots(YqNodeLoad *load, const YqTakenSlots *taken, const YqHierarchy *hierarchy);

/* Does the comparator compare resources? */
extern bool yq_node_report_compares_resources(const YqAllocationSettings *settings);

#endif							/* YQ_NODE_REPORT_H */
