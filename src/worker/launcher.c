/*-------------------------------------------------------------------------
 *
 * launcher.c
 *	  Keeps one worker running in each database of yquota.databases.
 *
 * The server starts the launcher when recovery has ended, so a standby has no launcher
 * until it is promoted. The launcher is connected to no database and reads only
 * pg_database, so it never blocks a command on a database.
 *
 * The launcher restarts a worker that has ended for any reason.  The delay before a restart grows
 * while attempts keep failing early.  It therefore costs little if a database is missing, refuses
 * connections or lacks the extension for a long time.  After a reload or a call of start_worker()
 * (SIGUSR2), the launcher retries all workers immediately.  A worker exits by itself when its
 * database is removed from the list.
 *
 * The list of entries is in the launcher's own memory context.  An entry is removed
 * when the setting no longer contains the database and its worker has exited.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include <signal.h>

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "base/settings.h"
#include "catalog/pg_database.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/interrupt.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/procsignal.h"
#include "tcop/tcopprot.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"
#include "utils/varlena.h"
#include "utils/wait_event.h"
#include "worker/worker.h"

/* Delay before a worker is started again.  It doubles each time a worker ends early. */
#define RESTART_DELAY_MIN_MS	1000
#define RESTART_DELAY_MAX_MS	(5 * 60 * 1000)

/* A worker that ends after this time has not ended early. */
#define LIFE_NOT_EARLY_MS		(60 * 1000)

/* Number of seconds after which the server restarts the launcher if it has died. */
#define LAUNCHER_RESTART_S		5

typedef struct DatabaseEntry
{
	char	   *name;
	bool		wanted;			/* does yquota.databases contain the database? */
	BackgroundWorkerHandle *handle; /* NULL: the launcher runs no worker for this database */
	int			attempts;		/* number of consecutive workers that ended early, or could not start */
	TimestampTz started_at;		/* system time of the start; set if handle is not NULL */
	TimestampTz retry_at;		/* system time of the next attempt; set if handle is NULL */
	bool		complained;		/* has the launcher already logged the reason why no worker can start? */
} DatabaseEntry;

static List *entries = NIL;
static MemoryContext launcher_context = NULL;
static volatile sig_atomic_t retry_wanted = false;

static void
on_retry_signal(SIGNAL_ARGS)
{
	int			save_errno = errno;

	retry_wanted = true;
	SetLatch(MyLatch);
	errno = save_errno;
}

/*
 * Return the names in yquota.databases, allocated in the current memory context.  If
 * the setting is not a valid list, write a log message and return NIL.
 */
static List *
listed_databases(void)
{
	List	   *names;

	if (yq_databases == NULL)
		return NIL;
	if (SplitIdentifierString(pstrdup(yq_databases), ',', &names))
		return names;

	ereport(LOG,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("invalid list syntax in parameter \"%s\"", "yquota.databases")));
	return NIL;
}

bool
yq_launcher_lists(const char *database_name)
{
	ListCell   *cell;

	foreach(cell, listed_databases())
	{
		if (strcmp(lfirst(cell), database_name) == 0)
			return true;
	}
	return false;
}

void
yq_worker_describe(BackgroundWorker *worker, const char *database_name,
				   const YqWorkerOrder *order)
{
	yq_worker_process_describe(worker, YQ_WORKER_TYPE, "yq_worker_main", order, sizeof(*order));
	snprintf(worker->bgw_name, BGW_MAXLEN, "yquota worker of %s", database_name);
}

static DatabaseEntry *
find_entry(const char *name)
{
	ListCell   *cell;

	foreach(cell, entries)
	{
		DatabaseEntry *entry = lfirst(cell);

		if (strcmp(entry->name, name) == 0)
			return entry;
	}
	return NULL;
}

/* Add and mark entries so that they match yquota.databases. */
static void
read_list(void)
{
	MemoryContext scratch = AllocSetContextCreate(CurrentMemoryContext,
												  "yquota database list",
												  ALLOCSET_SMALL_SIZES);
	MemoryContext old_context = MemoryContextSwitchTo(scratch);
	List	   *names = listed_databases();
	ListCell   *cell;

	MemoryContextSwitchTo(launcher_context);
	foreach(cell, entries)
		((DatabaseEntry *) lfirst(cell))->wanted = false;
	foreach(cell, names)
	{
		DatabaseEntry *entry = find_entry(lfirst(cell));

		if (entry == NULL)
		{
			entry = palloc0(sizeof(DatabaseEntry));
			entry->name = pstrdup(lfirst(cell));
			entries = lappend(entries, entry);
		}
		entry->wanted = true;
		entry->complained = false;
	}
	MemoryContextSwitchTo(old_context);
	MemoryContextDelete(scratch);
}

/* Forget all failures, so that every worker is tried again immediately.  The cause of the failures may be gone. */
static void
forget_failures(void)
{
	ListCell   *cell;

	foreach(cell, entries)
	{
		DatabaseEntry *entry = lfirst(cell);

		entry->attempts = 0;
		entry->retry_at = 0;
	}
}

static void
delay_start(DatabaseEntry *entry)
{
	int64		milliseconds = RESTART_DELAY_MIN_MS;

	for (int i = 0; i < entry->attempts && milliseconds < RESTART_DELAY_MAX_MS; i++)
		milliseconds *= 2;
	entry->attempts++;
	entry->retry_at = TimestampTzPlusMilliseconds(GetCurrentTimestamp(),
												  Min(milliseconds, RESTART_DELAY_MAX_MS));
}

/* Find out whether the worker of an entry has ended. */
static void
check_worker(DatabaseEntry *entry)
{
	pid_t		pid;

	if (entry->handle == NULL ||
		GetBackgroundWorkerPid(entry->handle, &pid) != BGWH_STOPPED)
		return;

	pfree(entry->handle);
	entry->handle = NULL;
	if (TimestampDifferenceExceeds(entry->started_at, GetCurrentTimestamp(),
								   LIFE_NOT_EARLY_MS))
		entry->attempts = 0;
	delay_start(entry);
}

/* Return the OID of the database, or InvalidOid if it does not exist or does not allow connections. */
static Oid
find_database(const char *name)
{
	Relation	relation;
	SysScanDesc scan;
	ScanKeyData key;
	HeapTuple	tuple;
	Oid			oid = InvalidOid;

	SetCurrentStatementStartTimestamp();
	StartTransactionCommand();
	PushActiveSnapshot(GetTransactionSnapshot());
	relation = table_open(DatabaseRelationId, AccessShareLock);
	ScanKeyInit(&key, Anum_pg_database_datname, BTEqualStrategyNumber, F_NAMEEQ,
				CStringGetDatum(name));
	/* A process that is not connected to a database can open pg_database, but not its indexes. */
	scan = systable_beginscan(relation, InvalidOid, false, NULL, 1, &key);
	tuple = systable_getnext(scan);
	if (HeapTupleIsValid(tuple))
	{
		Form_pg_database database = (Form_pg_database) GETSTRUCT(tuple);

		if (database->datallowconn)
			oid = database->oid;
	}
	systable_endscan(scan);
	table_close(relation, AccessShareLock);
	PopActiveSnapshot();
	CommitTransactionCommand();
	return oid;
}

/* Start the worker of an entry.  If this fails, set the time of the next attempt. */
static void
start_listed_worker(DatabaseEntry *entry)
{
	BackgroundWorker worker;
	YqWorkerOrder order = {.from_launcher = true, .repeated = entry->attempts > 0};
	MemoryContext old_context;

	order.database = find_database(entry->name);
	if (!OidIsValid(order.database))
	{
		if (!entry->complained)
			ereport(LOG,
					(errmsg("database \"%s\" does not exist or does not accept connections",
							entry->name),
					 errhint("Correct yquota.databases or create the database; the yquota launcher keeps trying.")));
		entry->complained = true;
		delay_start(entry);
		return;
	}

	yq_worker_describe(&worker, entry->name, &order);
	worker.bgw_notify_pid = MyProcPid;
	old_context = MemoryContextSwitchTo(launcher_context);
	if (RegisterDynamicBackgroundWorker(&worker, &entry->handle))
	{
		entry->started_at = GetCurrentTimestamp();
		entry->complained = false;
	}
	else
	{
		entry->handle = NULL;
		if (!entry->complained)
			ereport(LOG,
					(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
					 errmsg("could not start the yquota worker of database \"%s\": no background worker slot is free",
							entry->name),
					 errhint("You might need to increase max_worker_processes.")));
		entry->complained = true;
		delay_start(entry);
	}
	MemoryContextSwitchTo(old_context);
}

/*
 * Check every entry, and start workers.  Returns the number of milliseconds until the
 * next attempt.  If no attempt is needed, the result is -1.
 */
static long
tend_entries(void)
{
	long		timeout = -1;
	ListCell   *cell;

	foreach(cell, entries)
	{
		DatabaseEntry *entry = lfirst(cell);
		long		remaining;

		check_worker(entry);
		if (entry->handle == NULL && !entry->wanted)
		{
			entries = foreach_delete_current(entries, cell);
			pfree(entry->name);
			pfree(entry);
			continue;
		}
		if (entry->handle != NULL)
			continue;

		remaining = TimestampDifferenceMilliseconds(GetCurrentTimestamp(),
													entry->retry_at);
		if (remaining == 0)
		{
			start_listed_worker(entry);
			if (entry->handle != NULL)
				continue;
			remaining = TimestampDifferenceMilliseconds(GetCurrentTimestamp(),
														entry->retry_at);
		}
		if (timeout < 0 || remaining < timeout)
			timeout = remaining;
	}
	return timeout;
}

void
yq_launcher_main(Datum main_arg)
{
	uint32		wait_event = WaitEventExtensionNew("YquotaLauncherMain");

	pqsignal(SIGTERM, die);
	pqsignal(SIGINT, SIG_IGN);
	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	pqsignal(SIGUSR2, on_retry_signal);
	BackgroundWorkerUnblockSignals();
	BackgroundWorkerInitializeConnection(NULL, NULL, 0);

	launcher_context = AllocSetContextCreate(TopMemoryContext, "yquota launcher",
											 ALLOCSET_SMALL_SIZES);
	read_list();
	for (;;)
	{
		long		timeout = tend_entries();

		pgstat_report_activity(STATE_IDLE, NULL);
		(void) WaitLatch(MyLatch,
						 WL_LATCH_SET | WL_EXIT_ON_PM_DEATH |
						 (timeout >= 0 ? WL_TIMEOUT : 0),
						 timeout, wait_event);
		ResetLatch(MyLatch);
		CHECK_FOR_INTERRUPTS();

		if (ConfigReloadPending)
		{
			ConfigReloadPending = false;
			ProcessConfigFile(PGC_SIGHUP);
			read_list();
			forget_failures();
		}
		if (retry_wanted)
		{
			retry_wanted = false;
			forget_failures();
		}
	}
}

void
yq_worker_init(void)
{
	BackgroundWorker launcher;

	memset(&launcher, 0, sizeof(launcher));
	strlcpy(launcher.bgw_name, YQ_LAUNCHER_TYPE, BGW_MAXLEN);
	strlcpy(launcher.bgw_type, YQ_LAUNCHER_TYPE, BGW_MAXLEN);
	launcher.bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION;
	launcher.bgw_start_time = BgWorkerStart_RecoveryFinished;
	launcher.bgw_restart_time = LAUNCHER_RESTART_S;
	strlcpy(launcher.bgw_library_name, "yquota", BGW_MAXLEN);
	strlcpy(launcher.bgw_function_name, "yq_launcher_main", BGW_MAXLEN);
	RegisterBackgroundWorker(&launcher);
}
