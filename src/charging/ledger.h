/*-------------------------------------------------------------------------
 *
 * ledger.h
 *	  The ledger and the other tables of charging, open for a single statement.
 *
 * The ledger has the rows of running and settled containers, and the handles to read and write them.
 * Everything is allocated in ledger->context and freed with it.  Handles are opened when first needed.
 * yq_ledger_close() closes them and posts the statement's counters.
 *
 * Locking: a transaction claims a running container by inserting its row.  If two transactions try
 * this, the unique index lets only one of them succeed.  The transaction that ends the container
 * deletes the row; a change replaces the row.  A transaction that changes the records of a
 * container that is not running inserts a row and immediately deletes it.  Containers are processed
 * in the order of their ids, so that statements wait for each other in one direction.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_LEDGER_H
#define YQ_LEDGER_H

#include "charging/container_life.h"
#include "charging/counters.h"
#include "charging/event.h"
#include "pricing/factors.h"
#include "pricing/rate_class.h"
#include "store/bulk_insert.h"
#include "store/index_scan.h"
#include "store/row_update.h"
#include "utils/array.h"

/*
 * The row of a container records whether the container was settled less than this time before the
 * clock, or ahead of the clock.
 */
#define YQ_SETTLED_LATELY USECS_PER_DAY

/* A row of yquota.container.  Pointers are palloc'd or point into a slot. */
typedef struct YqContainer
{
	ItemPointerData tid;
	text	   *container_id;
	text	   *project;
	text	   *application_id;
	text	   *username;
	text	   *label;
	YqState		state;
	bool		is_given;		/* the START came from yquota's scheduler */
	TimestampTz started_at;
	TimestampTz settled_at;
	int32		charges;		/* number of the container's ledger rows so far */
	YqWait		wait;
	ArrayType  *factors;		/* NULL for none */
	YqWide		accrual_base;
} YqContainer;

/* A row of yquota.charge. */
typedef struct YqCharge
{
	text	   *container_id;
	text	   *project;
	text	   *application_id;
	text	   *username;
	YqState		state;
	TimestampTz started_at;
	TimestampTz from;
	TimestampTz to;
	int32		number;
	int32		corrects;		/* 0 for none */
	YqEventKind settled_by;
	bool		has_exit_status;
	int32		exit_status;
	int64		padding;		/* missing run time, in microseconds; 0 for segments */
	text	   *dominant;		/* dominant resource; NULL when the amount is zero */
	YqWide		amount;
	bool		is_free;		/* is in the free window of a preempted container */
	YqWide		given_back;		/* the amount that the row would have if it were not free */
	YqWait		wait;
} YqCharge;

typedef struct YqLedger
{
	MemoryContext context;
	TimestampTz now;			/* the statement's clock */
	TimestampTz booked_after;	/* time at which the last closed period was closed */
	int64		pricing_version;	/* version of the timeline when the ledger was opened */
	YqEventLabels labels;
	YqCounters *counters;

	/* handles that the functions below open at their first use */
	YqIndexScan *container_scan;
	YqIndexScan *charge_scan;
	YqIndexScan *change_scan;
	YqIndexScan *end_scan;
	YqIndexScan *waiting_scan;
	YqIndexScan *project_scan;
	YqIndexScan *node_scan;
	YqBulkInsert *container_writer;	/* writes each row immediately */
	YqBulkInsert *start_writer;	/* writes rows of pending STARTs into yquota.container */
	YqBulkInsert *charge_writer;
	YqBulkInsert *change_writer;
	YqBulkInsert *end_writer;
	YqBulkInsert *reject_writer;
	YqBulkInsert *without_effect_writer;
	YqBulkInsert *skipped_writer;
} YqLedger;

extern YqLedger *yq_ledger_open(void);
extern void yq_ledger_close(YqLedger *ledger);

/* Write the collected rows of the ledger, of changes, of ends and of rejects.  Index scans then see them. */
extern void yq_ledger_flush(YqLedger *ledger);

/* Return a handle, which is opened at its first use. */
extern YqIndexScan *yq_ledger_containers(YqLedger *ledger);
extern YqIndexScan *yq_ledger_charges(YqLedger *ledger);
extern YqIndexScan *yq_ledger_changes(YqLedger *ledger);
extern YqIndexScan *yq_ledger_ends(YqLedger *ledger);
extern YqIndexScan *yq_ledger_waiting(YqLedger *ledger);
extern YqBulkInsert *yq_ledger_container_writer(YqLedger *ledger);
extern YqBulkInsert *yq_ledger_start_writer(YqLedger *ledger);
extern YqBulkInsert *yq_ledger_end_writer(YqLedger *ledger, int column_count);

/* Convert rows between tables and memory.  A row that was read points into the slot. */
extern void yq_container_read(const YqLedger *ledger, YqContainer *container,
							  TupleTableSlot *slot);
extern void yq_container_put(YqLedger *ledger, YqBulkInsert *writer,
							 const YqContainer *container);
extern void yq_charge_read(const YqLedger *ledger, YqCharge *charge, TupleTableSlot *slot);
extern void yq_charge_put(YqLedger *ledger, const YqCharge *charge);
extern void yq_change_read(const YqLedger *ledger, YqEventKind *kind, YqChange *change,
						   TupleTableSlot *slot);
extern void yq_change_put(YqLedger *ledger, const text *container_id, YqEventKind kind,
						  const YqChange *change);
extern void yq_reject_put(YqLedger *ledger, const YqEvent *event,
						  const YqProblem *problem, bool waiting);

/*
 * Record that an event of the log changed nothing, because it was known already or came after the
 * end.  Without this record, verify() could not find out from the log which of several events was
 * accepted.
 */
extern void yq_ledger_note_without_effect(YqLedger *ledger, const YqEvent *event);

/*
 * Record that an event still waits although its container is known.  This happens when another
 * transaction holds the row of the event.  apply_waiting() settles it later.
 */
extern void yq_ledger_note_skipped(YqLedger *ledger, const YqEvent *event);

/* Tell whether a project exists.  If yquota.auto_create_project is on, a missing project is created. */
extern bool yq_ledger_know_project(YqLedger *ledger, const text *project);

/*
 * Return the partition of a node, in the current memory context.  Returns NULL if the node has no
 * partition or is unknown.
 */
extern text *yq_ledger_label_of(YqLedger *ledger, const text *node);

/*
 * Return the factor names of a container in a state and a wait, from an instant on.  Returns NULL
 * if there are none.  "wait" may be empty.  The label of the node is the one in force at the
 * instant.
 */
extern ArrayType *yq_ledger_factor_names(const YqLedger *ledger, const text *project,
										 const text *application_id, const text *username,
										 const YqState *state, YqWait wait, TimestampTz since);

/*
 * Return the wait of a container that has waited since an instant, with its factor.  DT_NOEND
 * means that the container does not wait.
 */
extern YqWait yq_ledger_wait(TimestampTz waits_since);

#endif							/* YQ_LEDGER_H */
