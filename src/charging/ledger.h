/*-------------------------------------------------------------------------
 *
 * ledger.h
 *	  The ledger and the other tables of charging, open for one statement: rows of
 *	  running and settled containers, and the handles to read and write them.
 *
 * Everything is allocated in ledger->context and goes with it; handles are
 * opened when first needed and closed by yq_ledger_close(), which also posts
 * the statement's counters.
 *
 * Locking: a running container is claimed by inserting its row (the unique
 * index decides) and given up by deleting it; a change replaces the row.  A
 * transaction that changes the records of a container that is not running inserts
 * a row and deletes it at once.  Containers are processed in the order of their
 * ids, so that statements wait for each other in one direction.
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

/* Rows of containers tell whether they were settled less than that before the clock, or after it. */
#define YQ_SETTLED_LATELY USECS_PER_DAY

/* A row of yquota.container.  Pointers are palloc'd or into a slot. */
typedef struct YqContainer
{
	ItemPointerData tid;
	text	   *container_id;
	text	   *project;
	text	   *application_id;
	text	   *username;
	text	   *label;
	YqState		state;
	bool		is_given;		/* by yquota's scheduler */
	TimestampTz started_at;
	TimestampTz settled_at;
	int32		charges;		/* ledger rows so far */
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
	int64		padding;		/* microseconds; 0 on segments of real time */
	text	   *dominant;		/* NULL when nothing was due */
	YqWide		amount;
	bool		is_free;		/* lies in the free window of a preempted container */
	YqWide		given_back;		/* when it is: the amount that it would have had */
	YqWait		wait;
} YqCharge;

typedef struct YqLedger
{
	MemoryContext context;
	TimestampTz now;			/* the statement's clock */
	TimestampTz booked_after;	/* when a period was closed last */
	int64		pricing_version;	/* of the timeline when opened */
	YqEventLabels labels;
	YqCounters *counters;

	/* opened on first use by the functions below */
	YqIndexScan *container_scan;
	YqIndexScan *charge_scan;
	YqIndexScan *change_scan;
	YqIndexScan *end_scan;
	YqIndexScan *waiting_scan;
	YqIndexScan *project_scan;
	YqIndexScan *node_scan;
	YqBulkInsert *container_writer;	/* one row at a time */
	YqBulkInsert *start_writer;	/* of pending starts, for the same table */
	YqBulkInsert *charge_writer;
	YqBulkInsert *change_writer;
	YqBulkInsert *end_writer;
	YqBulkInsert *reject_writer;
	YqBulkInsert *without_effect_writer;
	YqBulkInsert *skipped_writer;
} YqLedger;

extern YqLedger *yq_ledger_open(void);
extern void yq_ledger_close(YqLedger *ledger);

/*
 * Write the rows of ledger, changes, ends and rejects that have been collected, so
 * that index scans see them.
 */
extern void yq_ledger_flush(YqLedger *ledger);

/* Lazily opened handles. */
extern YqIndexScan *yq_ledger_containers(YqLedger *ledger);
extern YqIndexScan *yq_ledger_charges(YqLedger *ledger);
extern YqIndexScan *yq_ledger_changes(YqLedger *ledger);
extern YqIndexScan *yq_ledger_ends(YqLedger *ledger);
extern YqIndexScan *yq_ledger_waiting(YqLedger *ledger);
extern YqBulkInsert *yq_ledger_container_writer(YqLedger *ledger);
extern YqBulkInsert *yq_ledger_start_writer(YqLedger *ledger);
extern YqBulkInsert *yq_ledger_end_writer(YqLedger *ledger, int column_count);

/* Rows between tables and memory; reading points into the slot. */
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
 * Write down that an event of the log changed nothing, because it was known or
 * came after the end.  verify() has it from here: the log does not tell which
 * of several events was accepted.
 */
extern void yq_ledger_note_without_effect(YqLedger *ledger, const YqEvent *event);

/*
 * Write down that an event went on waiting although its container is known, because
 * another transaction holds its row: apply_waiting() looks at the container again.
 */
extern void yq_ledger_note_skipped(YqLedger *ledger, const YqEvent *event);

/*
 * Whether a project exists; creates it when yquota.auto_create_project is on.
 */
extern bool yq_ledger_know_project(YqLedger *ledger, const text *project);

/*
 * Partition of a node, in the current memory context; NULL without one and for
 * a node that is not known.
 */
extern text *yq_ledger_label_of(YqLedger *ledger, const text *node);

/* Factor names of a container in a state and a wait, or none; NULL for none. */
extern ArrayType *yq_ledger_factor_names(const YqLedger *ledger, const text *project,
										 const text *application_id, const text *username,
										 const YqState *state, YqWait wait);

/* The wait of a container, as charged, that began at an instant; DT_NOEND for none. */
extern YqWait yq_ledger_wait(TimestampTz waits_since);

#endif							/* YQ_LEDGER_H */
