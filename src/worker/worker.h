/*-------------------------------------------------------------------------
 *
 * worker.h
 *	  Background processes: one launcher per server, one worker per database.
 *
 * Nobody shares memory with them.  They are found by their type in the
 * server's list of processes, woken through their latches and asked through
 * rows (yquota_internal.worker_state, yquota_internal.clock_setting): a missed
 * wake-up costs time, never correctness.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_WORKER_H
#define YQ_WORKER_H

#include "fmgr.h"
#include "postmaster/bgworker.h"

/* What they are called in pg_stat_activity.backend_type. */
#define YQ_LAUNCHER_TYPE	"yquota launcher"
#define YQ_WORKER_TYPE		"yquota worker"

/* What a worker is told at its start, in bgw_extra. */
typedef struct YqWorkerOrder
{
	Oid			database;
	bool		from_launcher;	/* leaves when yquota.databases drops it */
	bool		repeated;		/* the launcher's earlier attempt ended early */
} YqWorkerOrder;

StaticAssertDecl(sizeof(YqWorkerOrder) <= BGW_EXTRALEN,
				 "YqWorkerOrder does not fit in bgw_extra");

/*
 * Register the launcher and the hook that makes workers give way to commands
 * on databases.  Called when the library is preloaded.
 */
extern void yq_worker_init(void);

/* launcher.c: fill in the registration of a worker; read yquota.databases. */
extern void yq_worker_describe(BackgroundWorker *worker, const char *database_name,
							   const YqWorkerOrder *order);
extern bool yq_launcher_lists(const char *database_name);

/*
 * wake.c: at commit of the current transaction wake this database's worker, or
 * start one for it.  When none runs, waking makes the launcher try again if
 * the database is one of its own, and starting is left to it.  Nothing happens
 * when the transaction aborts.
 */
extern void yq_worker_wake_at_commit(void);
extern void yq_worker_start_at_commit(void);

/* wake.c: send a signal to the workers of a database. */
extern void yq_worker_signal(Oid database, int signal_number);

/* give_way.c */
extern void yq_give_way_init(void);

/* Entry points of the processes. */
extern PGDLLEXPORT void yq_launcher_main(Datum main_arg);
extern PGDLLEXPORT void yq_worker_main(Datum main_arg);

#endif							/* YQ_WORKER_H */
