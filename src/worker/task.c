/*-------------------------------------------------------------------------
 *
 * task.c
 *	  Connections and transactions of workers, and the execution of one task: its
 *	  failures and its due time.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include <signal.h>

#include "access/xact.h"
#include "catalog/pg_extension.h"
#include "commands/dbcommands.h"
#include "commands/extension.h"
#include "common/pg_prng.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/interrupt.h"
#include "storage/lmgr.h"
#include "store/clock.h"
#include "tcop/tcopprot.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"
#include "worker/task.h"
#include "worker/worker.h"

/* -- session ------------------------------------------------------------------- */

/*
 * Connections and transactions of the worker of a database and of its job processes.
 * During each transaction, the extension cannot be dropped.
 */

void
yq_worker_process_describe(BackgroundWorker *worker, const char *type, const char *function,
						   const void *order, Size order_size)
{
	Assert(order_size <= BGW_EXTRALEN);
	memset(worker, 0, sizeof(*worker));
	strlcpy(worker->bgw_type, type, BGW_MAXLEN);
	worker->bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION;
	worker->bgw_start_time = BgWorkerStart_RecoveryFinished;
	worker->bgw_restart_time = BGW_NEVER_RESTART;
	strlcpy(worker->bgw_library_name, "yquota", BGW_MAXLEN);
	strlcpy(worker->bgw_function_name, function, BGW_MAXLEN);
	memcpy(worker->bgw_extra, order, order_size);
}

/*
 * Set the parameters on which the process depends to fixed values.  The database or the
 * role may have other values.  A parameter that the server does not know is skipped.
 */
static void
pin_settings(void)
{
	static const char *const pinned[][2] = {
		{"DateStyle", "ISO"},
		{"TimeZone", "UTC"},
		{"default_transaction_deferrable", "off"},
		{"default_transaction_isolation", "read committed"},
		{"default_transaction_read_only", "off"},
		{"idle_in_transaction_session_timeout", "0"},
		{"lock_timeout", "0"},
		{"row_security", "on"},
		{"search_path", "pg_catalog, pg_temp"},
		{"session_replication_role", "origin"},
		{"statement_timeout", "0"},
		{"transaction_timeout", "0"},
		{"yquota.on_bad_event", "error"}
	};

	for (size_t i = 0; i < lengthof(pinned); i++)
	{
		if (GetConfigOption(pinned[i][0], true, false) != NULL)
			SetConfigOption(pinned[i][0], pinned[i][1], PGC_SUSET, PGC_S_OVERRIDE);
	}
}

void
yq_worker_connect(Oid database, NameData *database_name)
{
	pqsignal(SIGTERM, die);
	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	BackgroundWorkerUnblockSignals();
	BackgroundWorkerInitializeConnectionByOid(database, InvalidOid, 0);

	StartTransactionCommand();
	namestrcpy(database_name, get_database_name(MyDatabaseId));
	CommitTransactionCommand();
	pin_settings();
}

/*
 * Lock the extension, so that it cannot be dropped until the transaction ends.  The
 * lock waits for a concurrent DROP EXTENSION.  Returns false if the extension does not
 * exist.
 */
static bool
lock_extension(void)
{
	Oid			extension = get_extension_oid("yquota", true);

	if (!OidIsValid(extension))
		return false;
	LockDatabaseObject(ExtensionRelationId, extension, 0, AccessShareLock);
	return get_extension_oid("yquota", true) == extension;
}

bool
yq_worker_transaction(int lock_timeout_ms, YqWorkerStep step, void *argument)
{
	char		lock_timeout[16];
	bool		is_installed;

	snprintf(lock_timeout, sizeof(lock_timeout), "%d", lock_timeout_ms);

	StartTransactionCommand();
	(void) set_config_option("lock_timeout", lock_timeout, PGC_USERSET,
							 PGC_S_SESSION, GUC_ACTION_LOCAL, true, 0, false);
	is_installed = lock_extension();
	if (is_installed)
	{
		SPI_connect();
		PushActiveSnapshot(GetTransactionSnapshot());
		step(argument);
		PopActiveSnapshot();
		SPI_finish();
	}
	CommitTransactionCommand();
	return is_installed;
}

void
yq_worker_execute(const char *command, int count, Oid *types, Datum *values, const char *nulls)
{
	int			result = SPI_execute_with_args(command, count, types, values,
											   nulls, false, 0);

	if (result < 0)
		elog(ERROR, "could not execute \"%s\": %s", command,
			 SPI_result_code_string(result));
}

/* -- task ---------------------------------------------------------------------- */

/* Shortest and longest delay before a failed task is tried again. */
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

/* Run the step of a task.  This function is itself a step for yq_worker_transaction(). */
static void
run_step(void *task)
{
	((YqTask *) task)->step(task);
}

/* Set the time of the next attempt of a task that failed or was postponed. */
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

	/*
	 * randomize the delay, so that workers that failed at the same time are not all tried
	 * again at the same time
	 */
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

	/* Discard a cancel request that arrived between two transactions. */
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
