/*-------------------------------------------------------------------------
 *
 * task.c
 *	  One task of the worker: its transaction, its failures and its due time.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "access/xact.h"
#include "common/pg_prng.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "store/clock.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"
#include "worker/task.h"
#include "worker/worker.h"

/* Delays before a failed task is tried again. */
#define RETRY_DELAY_MIN_MS		1000
#define RETRY_DELAY_MAX_MS		(5 * 60 * 1000)

YqTaskReport yq_task_report;

static const char *database_name;
static MemoryContext step_context = NULL;
static MemoryContext error_context = NULL;

void
yq_task_init(const char *database, MemoryContext context)
{
	database_name = database;
	step_context = context;
	error_context = AllocSetContextCreate(TopMemoryContext, "yquota worker error",
										  ALLOCSET_SMALL_SIZES);
}

static void
add_task_context(void *arg)
{
	errcontext("yquota worker of database \"%s\", task \"%s\"",
			   database_name, ((YqTask *) arg)->name);
}

/* A step of yq_worker_transaction() */
static void
run_step(void *task)
{
	((YqTask *) task)->step(task);
}

/* Note when a task that did not get through is tried again. */
static void
delay_task(YqTask *task, int64 milliseconds)
{
	task->retry_at = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), milliseconds);
}

void
yq_task_note_failure(YqTask *task, const char *message)
{
	int64		milliseconds = RETRY_DELAY_MIN_MS;

	for (int i = 0; i < task->failures && milliseconds < RETRY_DELAY_MAX_MS; i++)
		milliseconds *= 2;
	milliseconds = Min(milliseconds, RETRY_DELAY_MAX_MS);
	task->failures++;
	task->postponed = false;

	/* Spread, so that workers that fail together do not retry together. */
	delay_task(task, (int64) pg_prng_uint64_range(&pg_global_prng_state,
												  milliseconds / 2, milliseconds));

	MemoryContextReset(error_context);
	yq_task_report.error = MemoryContextStrdup(error_context, psprintf("%s: %s", task->name, message));
	yq_task_report.error_at = yq_clock_now();
	yq_task_report.is_new = true;
}

void
yq_task_note_postponed(YqTask *task, int64 milliseconds)
{
	yq_task_report.is_new |= !task->postponed;
	task->postponed = true;
	delay_task(task, milliseconds);
}

void
yq_task_note_success(YqTask *task)
{
	yq_task_report.is_new |= task->failures > 0 || task->postponed;
	task->failures = 0;
	task->postponed = false;
}

bool
yq_task_attempt(YqTask *task)
{
	ErrorContextCallback callback = {error_context_stack, add_task_context, task};
	volatile bool succeeded = false;

	/* A cancel request that came between transactions is for nothing. */
	QueryCancelPending = false;
	SetCurrentStatementStartTimestamp();
	pgstat_report_activity(STATE_RUNNING, task->activity);
	error_context_stack = &callback;

	PG_TRY();
	{
		yq_task_report.extension_is_gone = !yq_worker_transaction(task->lock_timeout_ms, run_step, task);
		succeeded = true;
	}
	PG_CATCH();
	{
		ErrorData  *error;

		HOLD_INTERRUPTS();
		MemoryContextSwitchTo(step_context);
		error = CopyErrorData();
		if (error->sqlerrcode == ERRCODE_LOCK_NOT_AVAILABLE)
			yq_task_note_postponed(task, task->interval_ms ?
								   Min(*task->interval_ms, YQ_TASK_POSTPONED_DELAY_MS) : YQ_TASK_POSTPONED_DELAY_MS);
		else
		{
			EmitErrorReport();
			yq_task_note_failure(task, error->message);
		}
		AbortCurrentTransaction();
		FlushErrorState();
		RESUME_INTERRUPTS();
	}
	PG_END_TRY();

	error_context_stack = callback.previous;
	MemoryContextSwitchTo(step_context);
	pgstat_report_stat(true);
	pgstat_report_activity(STATE_IDLE, NULL);

	if (succeeded && !task->outcome_is_open)
		yq_task_note_success(task);
	return succeeded;
}

bool
yq_task_is_held_back(const YqTask *task)
{
	return (task->failures > 0 || task->postponed) &&
		task->retry_at > GetCurrentTimestamp();
}

long
yq_task_milliseconds_until_due(const YqTask *task)
{
	if (task->interval_ms != NULL && *task->interval_ms == 0)
		return YQ_CLOCK_STANDS;
	if (task->failures > 0 || task->postponed)
		return TimestampDifferenceMilliseconds(GetCurrentTimestamp(), task->retry_at);
	if (task->interval_ms == NULL || task->last_run == 0 || task->last_run > yq_clock_now())
		return 0;
	return yq_clock_milliseconds_until(TimestampTzPlusMilliseconds(task->last_run,
																   *task->interval_ms));
}
