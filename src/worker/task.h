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

/* Shortest delay before a postponed task is tried again. */
#define YQ_TASK_POSTPONED_DELAY_MS 1000

typedef struct YqTask
{
	const char *name;			/* name of the task in error contexts and alerts */
	const char *activity;		/* activity in pg_stat_activity */
	int			lock_timeout_ms;	/* 0: no timeout */
	void		(*step) (struct YqTask *task);
	const char *command;		/* SQL for run_command() and similar steps; its parameter $1 is the time of the clock */
	const char *job;			/* job for start_job_when_due(), which runs it in another process */
	const int  *interval_ms;	/* NULL: the task is not run periodically */

	TimestampTz last_run;		/* time of the last run by yquota's clock; 0: the task has not run yet */
	int			failures;		/* number of failures since the last success */
	bool		postponed;
	bool		outcome_is_open;	/* the job of the task still runs in another process, so its outcome is not known
									 * yet */
	TimestampTz retry_at;		/* system time of the next attempt, if the task failed or was postponed */
} YqTask;

/*
 * Changes of outcomes that have not been written to worker_state yet.  The worker
 * resets them after it has written them.
 */
typedef struct YqTaskReport
{
	bool		is_new;
	char	   *error;			/* last error that was not written yet; NULL: none */
	TimestampTz error_at;		/* clock */
	bool		extension_is_gone;	/* was the extension missing at the last attempt? */
} YqTaskReport;

extern YqTaskReport yq_task_report;

/* Initialize the functions below, before the first task runs.  Steps of tasks run in step_context. */
extern void yq_task_init(const char *database, MemoryContext step_context);

/*
 * Run a task in its own transaction.  Returns false if the task failed or was
 * postponed, and records this in the task.  Afterwards, the current memory context is
 * the context of steps.
 */
extern bool yq_task_attempt(YqTask *task);

/* Record the outcome of a task.  For a failed or postponed task, set the time of the next attempt. */
extern void yq_task_note_success(YqTask *task);
extern void yq_task_note_postponed(YqTask *task, int64 milliseconds);
extern void yq_task_note_failure(YqTask *task, const char *message);

/* Has the task failed or been postponed, and is it not yet time for the next attempt? */
extern bool yq_task_is_held_back(const YqTask *task);

/*
 * Return the milliseconds until the task is due, or 0 if it is due now.  The result is
 * YQ_CLOCK_STANDS if the task has to wait until the clock or a setting is changed.  A
 * task is due if the clock was set back.  A task without an interval is always due.
 */
extern long yq_task_milliseconds_until_due(const YqTask *task);

#endif							/* YQ_TASK_H */
