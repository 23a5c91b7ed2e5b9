/*-------------------------------------------------------------------------
 *
 * books.h
 *	  The books, open for one statement: rows of running and settled containers,
 *	  and the handles to read and write them.
 *
 * Everything is allocated in books->context and goes with it; handles are
 * opened when first needed and closed by yq_books_close(), which also posts
 * the statement's counters.
 *
 * Locking: a running container is claimed by inserting its row (the unique
 * index decides) and given up by deleting it; a change replaces the row.  A
 * transaction that changes the books of a container that is not running inserts
 * a row and deletes it at once.  Containers are processed in the order of their
 * ids, so that statements wait for each other in one direction.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_BOOKS_H
#define YQ_BOOKS_H

#include "charging/counters.h"
#include "charging/event.h"
#include "charging/history.h"
#include "pricing/rate_class.h"
#include "store/bulk_insert.h"
#include "store/claim.h"
#include "store/index_scan.h"
#include "utils/array.h"

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
	TimestampTz started_at;
	TimestampTz settled_at;
	int32		charges;		/* ledger rows so far */
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
} YqCharge;

typedef struct YqBooks
{
	MemoryContext context;
	TimestampTz now;			/* the statement's clock */
	TimestampTz booked_after;	/* when a period was closed last */
	int64		pricing_version;	/* of the timeline when the books were
									 * opened */
	YqEventLabels labels;
	YqCounters *counters;

	/* opened on first use by the functions below */
	YqIndexScan   *container_finder;
	YqIndexScan   *charge_finder;
	YqIndexScan   *change_finder;
	YqIndexScan   *end_finder;
	YqIndexScan   *waiting_finder;
	YqIndexScan   *project_finder;
	YqIndexScan   *node_finder;
	YqBulkInsert   *container_writer;	/* one row at a time */
	YqBulkInsert   *start_writer;	/* of pending starts, for the same table */
	YqBulkInsert   *charge_writer;
	YqBulkInsert   *change_writer;
	YqBulkInsert   *end_writer;
	YqBulkInsert   *reject_writer;
	YqBulkInsert   *without_effect_writer;
} YqBooks;

extern YqBooks *yq_books_open(void);
extern void yq_books_close(YqBooks *books);

/*
 * Write the rows of ledger, changes, ends and rejects that have been collected, so
 * that finders see them.
 */
extern void yq_books_flush(YqBooks *books);

/* Lazily opened handles. */
extern YqIndexScan *yq_books_containers(YqBooks *books);
extern YqIndexScan *yq_books_charges(YqBooks *books);
extern YqIndexScan *yq_books_changes(YqBooks *books);
extern YqIndexScan *yq_books_ends(YqBooks *books);
extern YqIndexScan *yq_books_waiting(YqBooks *books);
extern YqBulkInsert *yq_books_container_writer(YqBooks *books);
extern YqBulkInsert *yq_books_start_writer(YqBooks *books);
extern YqBulkInsert *yq_books_end_writer(YqBooks *books, int column_count);

/* Rows between tables and memory; reading points into the slot. */
extern void yq_container_read(const YqBooks *books, YqContainer *container,
							  TupleTableSlot *slot);
extern void yq_container_put(YqBooks *books, YqBulkInsert *writer,
							 const YqContainer *container);
extern void yq_charge_read(const YqBooks *books, YqCharge *charge, TupleTableSlot *slot);
extern void yq_charge_put(YqBooks *books, const YqCharge *charge);
extern void yq_change_read(const YqBooks *books, YqEventKind *kind, YqChange *change,
						   TupleTableSlot *slot);
extern void yq_change_put(YqBooks *books, const text *container_id, YqEventKind kind,
						  const YqChange *change);
extern void yq_reject_put(YqBooks *books, const YqEvent *event,
						  const YqProblem *problem, bool waiting);

/*
 * Write down that an event of the log changed nothing, because it was known or
 * came after the end.  verify() has it from here: the log does not tell which
 * of several events was accepted.
 */
extern void yq_books_note_without_effect(YqBooks *books, const YqEvent *event);

/*
 * Whether a project exists; creates it when yquota.auto_create_project is on.
 */
extern bool yq_books_know_project(YqBooks *books, const text *project);

/*
 * Partition of a node, in the current memory context; NULL without one and for
 * a node that is not known.
 */
extern text *yq_books_label_of(YqBooks *books, const text *node);

/* Label of an execution type, for matching factors. */
extern const char *yq_books_execution_type_name(const YqBooks *books, Oid execution_type);

/* Factor names of a container in a state; NULL for none. */
extern ArrayType *yq_books_factor_names(const YqBooks *books, const text *project,
										const text *application_id, const text *username,
										const YqState *state);

#endif							/* YQ_BOOKS_H */
