/*-------------------------------------------------------------------------
 *
 * task.h
 *	  Connections and transactions of workers, and one task: its failures and its due time.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_TASK_H
#define YQ_TASK_H

#include "datatype/timestamp.h"

/* How long a postponed task waits at least before it is tried again */
#define YQ_TASK_POSTPONED_DELAY_MS 1000

typedef struct YqTask
{
	const char *name;			/* in error context and alerts */
	const char *activity;		/* in pg_stat_activity */
	int			lock_timeout_ms;	/* 0 for none */
	void		(*step) (struct YqTask *task);
	const char *command;		/* of run_command and the like; $1 is the clock */
	const char *job;			/* of start_job_when_due: the job that another process performs */
	const int  *interval_ms;	/* NULL when not periodic */

	TimestampTz last_run;		/* clock; 0 before the first run */
	int			failures;		/* in a row */
	bool		postponed;
	bool		outcome_is_open;	/* its work goes on; the worker notes the outcome later */
	TimestampTz retry_at;		/* system time, when failed or postponed */
} YqTask;

/* The outcomes that worker_state does not show yet; the worker clears it. */
typedef struct YqTaskReport
{
	bool		is_new;
	char	   *error;			/* the last one; NULL for none */
	TimestampTz error_at;		/* clock */
	bool		extension_is_gone;	/* as the last attempt found */
} YqTaskReport;

extern YqTaskReport yq_task_report;

/* Once, before the first task.  Steps run in the memory context. */
extern void yq_task_init(const char *database, MemoryContext step_context);

/*
 * Run a task in a transaction of its own; false when it failed or was
 * postponed, which is then noted in it.  Leaves us in the context of steps.
 */
extern bool yq_task_attempt(YqTask *task);

/* Note an outcome, and when a task that did not get through is tried again. */
extern void yq_task_note_success(YqTask *task);
extern void yq_task_note_postponed(YqTask *task, int64 milliseconds);
extern void yq_task_note_failure(YqTask *task, const char *message);

/* Does a failed or postponed task wait for its next attempt? */
extern bool yq_task_is_held_back(const YqTask *task);

/*
 * Milliseconds until the task is due: 0 when it is due, YQ_CLOCK_STANDS when it
 * waits for a change of the clock or of a setting.  A clock that went back makes
 * the task due.  A task without interval is always due.
 */
extern long yq_task_milliseconds_until_due(const YqTask *task);

#endif							/* YQ_TASK_H */
