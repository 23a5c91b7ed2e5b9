/*-------------------------------------------------------------------------
 *
 * saved_plan.h
 *	  SQL statements that the library runs often, and work that may fail while the
 *	  transaction continues.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_SAVED_PLAN_H
#define YQ_SAVED_PLAN_H

#include "base/compat.h"

#include "nodes/pg_list.h"
#include "utils/snapshot.h"

/* -- attempt ------------------------------------------------------------------- */

/* Run work that may fail in a subtransaction. */

/*
 * Run a function in a subtransaction.  If the function succeeds, its effects stay and the result
 * is NULL. If rows or their checks cause an error, its effects are undone.  The result is then the
 * error, in the caller's context.  Errors of the server, the session or other transactions are
 * thrown.
 */
extern ErrorData *yq_attempt(void (*function) (void *), void *argument);

/*
 * Run a function in a subtransaction, and always undo its effects.  The result is NULL if the
 * function succeeds.
 */
extern ErrorData *yq_attempt_dry(void (*function) (void *), void *argument);

/* -- saved plan ---------------------------------------------------------------- */

/*
 * Run saved SQL statements.  The caller has locked the rows that a statement changes
 * (queue_lock.h), so no other transaction is changing them.  Triggers fire.
 */

#define YQ_SAVED_PLAN_MAX_PARAMETERS 25

/*
 * A saved statement.  Define a saved statement as static.  Only saved_plan.c uses the fields after
 * skips_empty.  Types are names in pg_catalog, or in schema yquota if they begin with "yquota.".
 */
typedef struct YqSavedPlan
{
	const char *command;
	const char *types[YQ_SAVED_PLAN_MAX_PARAMETERS];	/* types of the parameters, followed by NULL */
	bool		plans_once;		/* use a generic plan, which does not depend on the values */
	bool		plans_each_time;	/* make a new plan for the values of each call */
	bool		skips_empty;	/* the plan skips tables for which may_have_rows() is false */
	struct _SPI_plan *plan;
	uint64		generation;		/* generation in which the plan was made */
	uint32		left_out;		/* tables that the plan skips, one bit per table */
} YqSavedPlan;

/*
 * Run the statement.  "nulls" may be NULL when no value is null.  Returns the number of rows.  The
 * caller is connected to SPI, and finds the rows in SPI_tuptable.
 */
extern uint64 yq_saved_plan_run(YqSavedPlan *statement, Datum *values, const char *nulls);

/* Run a SELECT, whose values are not null, with a snapshot. */
extern uint64 yq_saved_plan_read(YqSavedPlan *statement, Datum *values, Snapshot snapshot);

/*
 * Plan a SELECT without parameters for this call only, and run it with the active snapshot.  The
 * plan skips tables for which may_have_rows() is false.  Returns the number of rows.  The caller is
 * connected to SPI, and finds the rows in SPI_tuptable.
 */
extern uint64 yq_saved_plan_read_once(const char *command);

/* Run a statement when the caller is not connected to SPI. Returns the number of rows. */
extern uint64 yq_saved_plan_execute(YqSavedPlan *statement, Datum *values, const char *nulls);

/*
 * Run a statement.  If it returns rows, run the other statements one after another with the same
 * values and types.  Returns the number of rows of the first statement.
 */
extern uint64 yq_saved_plans_execute(YqSavedPlan *statements, int count, Datum *values);

/* Return the first column of the result as strings (char *) in the caller's context. */
extern List *yq_saved_plan_strings(YqSavedPlan *statement, Datum *values);

#endif							/* YQ_SAVED_PLAN_H */
