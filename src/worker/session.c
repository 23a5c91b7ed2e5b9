/*-------------------------------------------------------------------------
 *
 * session.c
 *	  Connections and transactions of the worker of a database and of the
 *	  processes of its jobs.  Each transaction keeps the extension from being
 *	  dropped.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include <signal.h>

#include "access/xact.h"
#include "catalog/pg_extension.h"
#include "commands/dbcommands.h"
#include "commands/extension.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "postmaster/interrupt.h"
#include "storage/lmgr.h"
#include "tcop/tcopprot.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/snapmgr.h"
#include "worker/worker.h"

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
 * Settings that a database or role may have changed and on which the process
 * depends.  One of a newer server is left out on older ones.
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
 * Keep the extension from being dropped for the rest of the transaction, after
 * waiting for a DROP under way; false when it is not there.
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
