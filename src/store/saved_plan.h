/*-------------------------------------------------------------------------
 *
 * saved_plan.h
 *	  SQL statements of the library that are run often, and work that may fail while the
 *	  transaction goes on.
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
 * Run a function in a subtransaction.  NULL: what it has done stays.  Else it is undone, and the
 * result is its error, in the caller's context: one that rows or their checks are the cause of.
 * Errors of the server, the session or other transactions are thrown.
 */
extern ErrorData *yq_attempt(void (*function) (void *), void *argument);

/* The same, and what it has done is undone in any case: NULL means that it would succeed. */
extern ErrorData *yq_attempt_dry(void (*function) (void *), void *argument);

/* -- saved plan ---------------------------------------------------------------- */

/*
 * Rows that such a statement changes are locked beforehand by other means
 * (queue_lock.h), so that it never meets a row that another transaction is
 * changing; triggers fire.
 */

#define YQ_SAVED_PLAN_MAX_PARAMETERS 25

/*
 * To be defined as static: the fields after skips_empty belong to
 * saved_plan.c.  Types are names in pg_catalog, or in yquota when they begin
 * with "yquota.".
 */
typedef struct YqSavedPlan
{
	const char *command;
	const char *types[YQ_SAVED_PLAN_MAX_PARAMETERS];	/* up to the first NULL */
	bool		plans_once;		/* never for the values given, such as the length of arrays */
	bool		plans_each_time;	/* for the values at hand */
	bool		skips_empty;	/* the plan does not read tables for which may_have_rows() is false */
	struct _SPI_plan *plan;
	uint64		generation;		/* when it was planned */
	uint32		left_out;		/* tables that it does not read, a bit for each */
} YqSavedPlan;

/*
 * Run it; nulls may be NULL when there are none.  Returns the number of rows.
 * The caller is connected to SPI, which has the returned rows.
 */
extern uint64 yq_saved_plan_run(YqSavedPlan *statement, Datum *values, const char *nulls);

/* The same for a SELECT without nulls among its values, at a snapshot. */
extern uint64 yq_saved_plan_read(YqSavedPlan *statement, Datum *values, Snapshot snapshot);

/* Run a statement without a connection to SPI; returns the number of rows. */
extern uint64 yq_saved_plan_execute(YqSavedPlan *statement, Datum *values, const char *nulls);

/*
 * The same of statements with the same values and types, one after the other, as long as the first one has
 * rows; returns how many it has.
 */
extern uint64 yq_saved_plans_execute(YqSavedPlan *statements, int count, Datum *values);

/* The first column of the rows that it returns, as strings (char *) in the caller's context. */
extern List *yq_saved_plan_strings(YqSavedPlan *statement, Datum *values);

#endif							/* YQ_SAVED_PLAN_H */
