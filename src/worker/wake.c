/*-------------------------------------------------------------------------
 *
 * wake.c
 *	  Waking, starting and signalling workers from other backends, and ending workers
 *	  for commands that must be alone in their database.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include <signal.h>

#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/pg_database.h"
#include "commands/dbcommands.h"
#include "commands/defrem.h"
#include "commands/event_trigger.h"
#include "commands/trigger.h"
#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "storage/latch.h"
#include "storage/lmgr.h"
#include "storage/proc.h"
#include "store/catalog.h"
#include "tcop/utility.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "worker/worker.h"

/* -- give way ------------------------------------------------------------------ */

/*
 * End workers if a command needs their database for itself.
 *
 * Some commands wait a few seconds for other processes in a database to exit, and then
 * fail.  They are DROP DATABASE, ALTER DATABASE ... RENAME TO, ALTER DATABASE ... SET
 * TABLESPACE and CREATE DATABASE from a template.  Before such a command, the hook
 * takes the lock on the database that the command will take.  No new worker can then
 * connect.  Then it sends SIGTERM to the workers; the command itself waits until they
 * have exited.  The hook does this only for the owner of the database.  The server
 * refuses the command to other roles, and these must not be able to end workers.
 */

static ProcessUtility_hook_type previous_hook = NULL;

/* Return the option with this name, or NULL. */
static DefElem *
find_option(List *options, const char *name)
{
	ListCell   *cell;

	foreach(cell, options)
	{
		DefElem    *option = lfirst_node(DefElem, cell);

		if (strcmp(option->defname, name) == 0)
			return option;
	}
	return NULL;
}

/*
 * Return the name of the database that the command needs for itself, and set *lockmode
 * to the lock that the command takes on it.  Returns NULL for any other command.
 */
static const char *
database_needed_alone(Node *command, LOCKMODE *lockmode)
{
	*lockmode = AccessExclusiveLock;
	switch (nodeTag(command))
	{
		case T_DropdbStmt:
			return ((DropdbStmt *) command)->dbname;
		case T_RenameStmt:
			if (((RenameStmt *) command)->renameType == OBJECT_DATABASE)
				return ((RenameStmt *) command)->subname;
			return NULL;
		case T_AlterDatabaseStmt:
			if (find_option(((AlterDatabaseStmt *) command)->options, "tablespace"))
				return ((AlterDatabaseStmt *) command)->dbname;
			return NULL;
		case T_CreatedbStmt:
			{
				DefElem    *option = find_option(((CreatedbStmt *) command)->options,
												 "template");

				*lockmode = ShareLock;
				if (option == NULL || option->arg == NULL)
					return "template1";
				return defGetString(option);
			}
		default:
			return NULL;
	}
}

static void
give_way(Node *command)
{
	LOCKMODE	lockmode;
	const char *name = database_needed_alone(command, &lockmode);
	Oid			database;

	if (name == NULL)
		return;
	database = get_database_oid(name, true);
	if (!OidIsValid(database) || database == MyDatabaseId ||
		!object_ownercheck(DatabaseRelationId, database, GetUserId()))
		return;

	LockSharedObject(DatabaseRelationId, database, 0, lockmode);
	yq_worker_signal(database, SIGTERM);
}

static void
on_utility(PlannedStmt *statement, const char *query, bool read_only_tree,
		   ProcessUtilityContext context, ParamListInfo parameters,
		   QueryEnvironment *environment, DestReceiver *receiver,
		   QueryCompletion *completion)
{
	/* in a transaction block and during recovery, the server refuses these commands anyway */
	if (context == PROCESS_UTILITY_TOPLEVEL && !IsInTransactionBlock(true) &&
		!RecoveryInProgress())
		give_way(statement->utilityStmt);

	if (previous_hook)
		previous_hook(statement, query, read_only_tree, context, parameters,
					  environment, receiver, completion);
	else
		standard_ProcessUtility(statement, query, read_only_tree, context,
								parameters, environment, receiver, completion);
}

void
yq_give_way_init(void)
{
	previous_hook = ProcessUtility_hook;
	ProcessUtility_hook = on_utility;
}

/* -- wake ---------------------------------------------------------------------- */

/*
 * Wake or start a worker when the transaction commits.
 *
 * A call sets a flag.  A transaction callback then acts after the commit, when the
 * worker can see the committed rows.  At this point, the callback must not raise an
 * error.  It only reads shared memory, sets latches and sends signals; the worst that
 * it raises is a warning.
 */

PG_FUNCTION_INFO_V1(yq_sql_is_worker);
PG_FUNCTION_INFO_V1(yq_sql_note_clock_setting);
PG_FUNCTION_INFO_V1(yq_sql_request_worker);
PG_FUNCTION_INFO_V1(yq_sql_wake_worker);
PG_FUNCTION_INFO_V1(yq_sql_wake_worker_on_drop);

static bool callback_registered = false;
static bool wake_wanted = false;
static bool start_wanted = false;

/* Values that are looked up when the flag is set, because a look-up after the commit could fail. */
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
 * Call "action" for every process of the given type in a database.  Returns the number of
 * processes.  PGPROC entries are never freed, and the type is looked up by the pid.  If a process
 * ends during the call, "action" may set a latch for which no process waits, which does no harm.
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

/* is_worker(pid): is the process a worker?  Most roles cannot see the type in pg_stat_activity */
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

/*
 * Signal the launcher to try this database now.  Returns false if the database is not
 * listed, or if there is no launcher.
 */
static bool
ask_launcher(void)
{
	return database_is_listed &&
		for_each_process(YQ_LAUNCHER_TYPE, InvalidOid, send_signal, SIGUSR2) > 0;
}

/* Start a worker now.  If the database is listed, the launcher starts it; otherwise, this backend does. */
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

/* Prepare for a wake-up or a start at commit: register the callback, and look up the data that it needs. */
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

/* yquota_internal.note_clock_setting(): trigger on clock_setting */
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
