/*-------------------------------------------------------------------------
 *
 * task.h
 *	  Connections and transactions of workers, and the execution of one task: its
 *	  failures and its due time.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_TASK_H
#define YQ_TASK_H

#include "datatype/timestamp.h"

/* The shortest delay before a postponed task is tried again. */
#define YQ_TASK_POSTPONED_DELAY_MS 1000

typedef struct YqTask
{
	const char *name;			/* name in error context and alerts */
	const char *activity;		/* activity in pg_stat_activity */
	int			lock_timeout_ms;	/* 0: no timeout */
	void		(*step) (struct YqTask *task);
	const char *command;		/* SQL of run_command() and similar steps; $1 is the clock */
	const char *job;			/* job of start_job_when_due(), which another process performs */
	const int  *interval_ms;	/* NULL: the task is not periodic */

	TimestampTz last_run;		/* time of the clock; 0 before the first run */
	int			failures;		/* number of consecutive failures */
	bool		postponed;
	bool		outcome_is_open;	/* another process still does the work; the worker records the outcome later */
	TimestampTz retry_at;		/* system time, if the task failed or was postponed */
} YqTask;

/* Outcomes that worker_state does not contain yet.  The worker clears them. */
typedef struct YqTaskReport
{
	bool		is_new;
	char	   *error;			/* the last error; NULL: none */
	TimestampTz error_at;		/* clock */
	bool		extension_is_gone;	/* the last attempt found no extension */
} YqTaskReport;

extern YqTaskReport yq_task_report;

/* Initialize tasks once, before the first task runs.  Steps run in the memory context. */
extern void yq_task_init(const char *database, MemoryContext step_context);

/*
 * Run a task in its own transaction.  Returns false when the task failed or was
 * postponed; the task then contains the outcome.  On return, the context of steps is
 * the current memory context.
 */
extern bool yq_task_attempt(YqTask *task);

/* Record an outcome and, for a failed or postponed task, the time of the next attempt. */
extern void yq_task_note_success(YqTask *task);
extern void yq_task_note_postponed(YqTask *task, int64 milliseconds);
extern void yq_task_note_failure(YqTask *task, const char *message);

/* Tell whether a failed or postponed task waits for its next attempt. */
extern bool yq_task_is_held_back(const YqTask *task);

/*
 * Return the milliseconds until the task is due.  The result is 0 when the task is due,
 * and YQ_CLOCK_STANDS when it waits for a change of the clock or of a setting.  A task
 * is also due when the clock was set back.  A task without an interval is always due.
 */
extern long yq_task_milliseconds_until_due(const YqTask *task);

#endif							/* YQ_TASK_H */
