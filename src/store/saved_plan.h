/*-------------------------------------------------------------------------
 *
 * saved_plan.h
 *	  SQL statements that the library runs often, and work that may fail while the transaction goes on.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_SAVED_PLAN_H
#define YQ_SAVED_PLAN_H

#include "base/compat.h"

#include "nodes/pg_list.h"
#include "utils/snapshot.h"

/* -- attempt ------------------------------------------------------------------- */

/* Work that may fail while the transaction goes on. */

/*
 * Run a function in a subtransaction.  Returns NULL when it succeeds; its effects then stay.  Otherwise
 * they are undone, and the result is the error, in the caller's context, if rows or their checks have
 * caused it.  Errors of the server, the session or other transactions are thrown.
 */
extern ErrorData *yq_attempt(void (*function) (void *), void *argument);

/* Run a function in a subtransaction and undo its effects in any case: NULL means that it would succeed. */
extern ErrorData *yq_attempt_dry(void (*function) (void *), void *argument);

/* -- saved plan ---------------------------------------------------------------- */

/*
 * Locks that other code (queue_lock.h) takes beforehand cover the rows that such a statement changes.  It
 * never meets a row that another transaction is changing.  Triggers fire.
 */

#define YQ_SAVED_PLAN_MAX_PARAMETERS 25

/*
 * A saved statement, to be defined as static: the fields after skips_empty belong to saved_plan.c.  Types
 * are names in pg_catalog, or in yquota when they begin with "yquota.".
 */
typedef struct YqSavedPlan
{
	const char *command;
	const char *types[YQ_SAVED_PLAN_MAX_PARAMETERS];	/* up to the first NULL */
	bool		plans_once;		/* the plan never depends on the values given, such as the length of arrays */
	bool		plans_each_time;	/* the plan is made for the values at hand */
	bool		skips_empty;	/* the plan does not read tables for which may_have_rows() is false */
	struct _SPI_plan *plan;
	uint64		generation;		/* generation at which it was planned */
	uint32		left_out;		/* tables that it does not read, a bit for each */
} YqSavedPlan;

/*
 * Run the statement; nulls may be NULL when no value is null.  Returns the number of rows.  The caller is
 * connected to SPI, which holds the returned rows.
 */
extern uint64 yq_saved_plan_run(YqSavedPlan *statement, Datum *values, const char *nulls);

/* Run a SELECT without nulls among its values, at a snapshot. */
extern uint64 yq_saved_plan_read(YqSavedPlan *statement, Datum *values, Snapshot snapshot);

/* Run a statement without a connection to SPI; returns the number of rows. */
extern uint64 yq_saved_plan_execute(YqSavedPlan *statement, Datum *values, const char *nulls);

/*
 * Run statements with the same values and types one after the other, as long as the first one has rows.
 * Returns the number of rows of the first one.
 */
extern uint64 yq_saved_plans_execute(YqSavedPlan *statements, int count, Datum *values);

/* Return the first column of the resulting rows, as strings (char *) in the caller's context. */
extern List *yq_saved_plan_strings(YqSavedPlan *statement, Datum *values);

#endif							/* YQ_SAVED_PLAN_H */
