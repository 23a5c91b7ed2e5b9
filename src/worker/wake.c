/*-------------------------------------------------------------------------
 *
 * wake.c
 *	  Waking, starting and signalling workers from other backends.
 *
 * Wishes of a transaction are kept in flags and carried out by a transaction
 * callback after the commit is visible, so that the worker finds the committed
 * rows.  The callback may not fail: it reads shared memory, sets latches, sends
 * signals, and at worst warns.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include <signal.h>

#include "access/xact.h"
#include "commands/dbcommands.h"
#include "commands/event_trigger.h"
#include "commands/trigger.h"
#include "miscadmin.h"
#include "storage/latch.h"
#include "storage/proc.h"
#include "store/catalog.h"
#include "utils/builtins.h"
#include "worker/worker.h"

PG_FUNCTION_INFO_V1(yq_sql_is_worker);
PG_FUNCTION_INFO_V1(yq_sql_note_clock_setting);
PG_FUNCTION_INFO_V1(yq_sql_request_worker);
PG_FUNCTION_INFO_V1(yq_sql_wake_worker);
PG_FUNCTION_INFO_V1(yq_sql_wake_worker_on_drop);

static bool callback_registered = false;
static bool wake_wanted = false;
static bool start_wanted = false;

/* Found out before the commit, because looking them up can fail. */
static NameData database_name;
static bool database_is_listed = false;

typedef void (*ProcessAction) (PGPROC *process, int signal_number);

static bool
is_process_of_type(int pid, const char *type)
{
	const char *its_type = GetBackgroundWorkerTypeByPid(pid);

	return its_type != NULL && strcmp(its_type, type) == 0;
}

static void
set_latch(PGPROC *process, int signal_number)
{
	SetLatch(&process->procLatch);
}

static void
send_signal(PGPROC *process, int signal_number)
{
	int			pid = process->pid;

	if (pid != 0)
		(void) kill(pid, signal_number);
}

/*
 * Do something to every process of that type and database; returns how many
 * there were.  PGPROC entries stay where they are, and the type is looked up
 * by pid, so the worst that a process ending meanwhile can cause is a latch
 * set for nothing.
 */
static int
for_each_process(const char *type, Oid database, ProcessAction action,
				 int signal_number)
{
	int			count = 0;

	for (uint32 i = 0; i < ProcGlobal->allProcCount; i++)
	{
		PGPROC	   *process = &ProcGlobal->allProcs[i];
		int			pid = process->pid;

		if (pid == 0 || process->databaseId != database || !is_process_of_type(pid, type))
			continue;
		action(process, signal_number);
		count++;
	}
	return count;
}

/* is_worker(pid): pg_stat_activity hides what a process is from most roles */
Datum
yq_sql_is_worker(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(is_process_of_type(PG_GETARG_INT32(0), YQ_WORKER_TYPE));
}

void
yq_worker_signal(Oid database, int signal_number)
{
	(void) for_each_process(YQ_WORKER_TYPE, database, send_signal, signal_number);
	(void) for_each_process(YQ_JOB_TYPE, database, send_signal, signal_number);
}

/* Have the launcher see to this database now; false when it is not its task. */
static bool
ask_launcher(void)
{
	return database_is_listed &&
		for_each_process(YQ_LAUNCHER_TYPE, InvalidOid, send_signal, SIGUSR2) > 0;
}

/*
 * Let the launcher start the worker if that is its task, else start one here.
 */
static void
start_worker_now(void)
{
	BackgroundWorker worker;
	YqWorkerOrder order = {.database = MyDatabaseId};

	if (ask_launcher())
		return;

	yq_worker_describe(&worker, NameStr(database_name), &order);
	if (!RegisterDynamicBackgroundWorker(&worker, NULL))
		ereport(WARNING,
				(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
				 errmsg("could not start the yquota worker: no background worker slot is free"),
				 errhint("You might need to increase max_worker_processes.")));
}

static void
wake_at_transaction_end(XactEvent event, void *arg)
{
	bool		wake = wake_wanted;
	bool		start = start_wanted;

	if (event == XACT_EVENT_PRE_PREPARE && start)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot PREPARE a transaction that starts a yquota worker")));
	if (event != XACT_EVENT_COMMIT && event != XACT_EVENT_ABORT &&
		event != XACT_EVENT_PREPARE)
		return;

	wake_wanted = false;
	start_wanted = false;
	if (event != XACT_EVENT_COMMIT)
		return;
	if (wake &&
		for_each_process(YQ_WORKER_TYPE, MyDatabaseId, set_latch, 0) == 0)
		(void) ask_launcher();
	if (start)
		start_worker_now();
}

/* Prepare either wish: register the callback and read the data that it needs. */
static void
prepare_wake(void)
{
	if (!callback_registered)
	{
		RegisterXactCallback(wake_at_transaction_end, NULL);
		callback_registered = true;
	}
	namestrcpy(&database_name, get_database_name(MyDatabaseId));
	database_is_listed = yq_launcher_lists(NameStr(database_name));
}

void
yq_worker_wake_at_commit(void)
{
	prepare_wake();
	wake_wanted = true;
}

void
yq_worker_start_at_commit(void)
{
	prepare_wake();
	start_wanted = true;
}

/*
 * SQL functions
 */

/* yquota_internal.note_clock_setting(), trigger of clock_setting */
Datum
yq_sql_note_clock_setting(PG_FUNCTION_ARGS)
{
	if (!CALLED_AS_TRIGGER(fcinfo))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("function was not called by a trigger")));

	yq_catalog_signal_change(YQ_CLOCK_SETTING);
	yq_worker_wake_at_commit();
	PG_RETURN_POINTER(NULL);
}

/* yquota_internal.request_worker() */
Datum
yq_sql_request_worker(PG_FUNCTION_ARGS)
{
	yq_worker_start_at_commit();
	PG_RETURN_VOID();
}

/* yquota_internal.wake_worker() */
Datum
yq_sql_wake_worker(PG_FUNCTION_ARGS)
{
	yq_worker_wake_at_commit();
	PG_RETURN_VOID();
}

/* yquota_internal.wake_worker_on_drop(), event trigger */
Datum
yq_sql_wake_worker_on_drop(PG_FUNCTION_ARGS)
{
	if (!CALLED_AS_EVENT_TRIGGER(fcinfo))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("function was not called by an event trigger")));

	yq_worker_wake_at_commit();
	PG_RETURN_NULL();
}
