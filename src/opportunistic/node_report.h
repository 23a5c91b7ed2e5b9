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

/* A report as the caller passes it.  Counts are numbers of containers on the node. */
typedef struct YqNodeReport
{
	const char *node;
	int32		running_guaranteed;
	int32		running_opportunistic;
	int32		queued_guaranteed;
	int32		queued_opportunistic;
	Datum		estimated_wait; /* interval; 0: not known, until yq_node_reports_store() estimates it */
	bool		has_queue_capacity;
	int32		queue_capacity;
	TimestampTz reported_at;
	Datum		allocated;		/* amounts allocated to the containers, a yquota.resource; 0: use the books */
	Datum		measured;		/* measured use, a yquota.resource; 0: not reported */
	const char *refusal;		/* set by yq_node_reports_store(): reason of the refusal; NULL: stored */
	const char *left_out;		/* set there: reason why the node of a stored report is not listed; NULL: listed */
	bool		changes_capacity;	/* set there: the queue capacity is new, or differs from the last report */
} YqNodeReport;

/*
 * Store reports that are newer than the stored reports.  The function refuses older
 * reports, reports after "now", and reports of nodes that do not exist or are not in
 * service.  A node that is already listed keeps its queue capacity, as in Hadoop.
 */
extern void yq_node_reports_store(const YqAllocationSettings *settings, YqNodeReport *reports, int count, TimestampTz now);

/* -- rows ------------------------------------------------------------------- */

/* Columns of the two tables, for scans. */
#define YQ_NODE_REPORT_COLUMNS	8
#define YQ_SLOT_COLUMNS			4
extern const char *const yq_node_report_columns[YQ_NODE_REPORT_COLUMNS];
extern const char *const yq_slot_columns[YQ_SLOT_COLUMNS];

/* Position of the node's name in the columns of both tables. */
#define YQ_NODE_REPORT_NODE		0

/*
 * Read a row of a report into a load.  The caller sets its name and capability.
 * Returns false when the comparator does not list the node.  Amounts are read only if
 * the comparator uses them.
 */
extern bool yq_node_report_read(const YqRow *row, const YqAllocationSettings *settings, const YqHierarchy *hierarchy,
								YqNodeLoad *load);

/* Slots that were taken after a report. */
typedef struct YqTakenSlots
{
	int32		slots;
	int64	   *allocated;		/* native units, per type; NULL: none */
} YqTakenSlots;

/* Read a row of slots.  If the slots were taken before the report, the row counts as empty. */
extern YqTakenSlots yq_node_report_read_slots(const YqRow *row, const YqHierarchy *hierarchy, TimestampTz reported_at);

/* Add taken slots to a load. */
extern void yq_node_report_add_slots(YqNodeLoad *load, const YqTakenSlots *taken, const YqHierarchy *hierarchy);

/* Does the comparator use resources? */
extern bool yq_node_report_compares_resources(const YqAllocationSettings *settings);

#endif							/* YQ_NODE_REPORT_H */
