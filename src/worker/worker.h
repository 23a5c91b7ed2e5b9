/*-------------------------------------------------------------------------
 *
 * worker.h
 *	  Background processes: one launcher per server, one worker per database, and one
 *	  more process while a job runs.
 *
 * No session shares memory with them.  Sessions find the processes by their type in the
 * server's list of processes, and wake them through their latches.  They communicate
 * through rows (yquota_internal.worker_state, yquota_internal.clock_setting).  A missed
 * wake-up delays work, but never makes a result wrong.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_WORKER_H
#define YQ_WORKER_H

#include "fmgr.h"
#include "postmaster/bgworker.h"

/* Names of the processes in pg_stat_activity.backend_type. */
#define YQ_LAUNCHER_TYPE	"yquota launcher"
#define YQ_WORKER_TYPE		"yquota worker"
#define YQ_JOB_TYPE		"yquota job"

/* The time for which a task waits for a lock before it is postponed. */
#define YQ_TASK_LOCK_TIMEOUT_MS 500

/* The order that a worker gets at its start, in bgw_extra. */
typedef struct YqWorkerOrder
{
	Oid			database;
	bool		from_launcher;	/* the worker exits when yquota.databases no longer contains its database */
	bool		repeated;		/* an earlier worker of the launcher has ended early */
} YqWorkerOrder;

StaticAssertDecl(sizeof(YqWorkerOrder) <= BGW_EXTRALEN,
				 "YqWorkerOrder does not fit in bgw_extra");

/*
 * Register the launcher, and the hook that ends workers for commands on databases.  The
 * library calls this when it is preloaded.
 */
extern void yq_worker_init(void);

/* launcher.c: fill in the registration of a worker; read yquota.databases. */
extern void yq_worker_describe(BackgroundWorker *worker, const char *database_name,
							   const YqWorkerOrder *order);
extern bool yq_launcher_lists(const char *database_name);

/*
 * wake.c: at commit of the current transaction, wake the worker of this database, or
 * start a worker.  If the database is listed and no worker runs, waking makes the
 * launcher try again, and starting is left to the launcher.  Nothing happens when the
 * transaction aborts.
 */
extern void yq_worker_wake_at_commit(void);
extern void yq_worker_start_at_commit(void);

/* wake.c: send a signal to the workers of a database, and to the processes of their jobs. */
extern void yq_worker_signal(Oid database, int signal_number);

/* wake.c: install the hook that ends workers for commands that must be alone in their database. */
extern void yq_give_way_init(void);

/*
 * task.c: fill in the registration of a process that serves a database, except for its
 * name.  The server does not restart the process.  The entry point of the process can
 * read the order.
 */
extern void yq_worker_process_describe(BackgroundWorker *worker, const char *type, const char *function,
									   const void *order, Size order_size);

/*
 * task.c: connect the process to a database, and return its name.  Afterwards the
 * settings on which the process depends are set.
 */
extern void yq_worker_connect(Oid database, NameData *database_name);

/*
 * task.c: run a step in its own transaction, connected to SPI.  During the transaction,
 * the extension cannot be dropped.  Returns false when the extension is not installed.
 * On an error, the caller aborts the transaction. A lock timeout of 0 means no timeout.
 */
typedef void (*YqWorkerStep) (void *argument);
extern bool yq_worker_transaction(int lock_timeout_ms, YqWorkerStep step, void *argument);

/* task.c: run SQL with the given parameters.  It raises no errors other than those of the SQL. */
extern void yq_worker_execute(const char *command, int count, Oid *types, Datum *values,
							  const char *nulls);

/*
 * job.c: start a process that performs a row of yquota_internal.job.  A worker has only one such process at
 * a time.  The server sets the worker's latch when the process has ended.  Raises an error when no
 * background worker slot is free.
 */
extern void yq_job_start(const char *job, const char *database_name);

/*
 * job.c: return the state of that process.  The end of a process is returned only once.
 * The error of a failed process is in the current memory context.
 */
typedef enum YqJobState
{
	YQ_JOB_NONE,
	YQ_JOB_RUNS,
	YQ_JOB_DONE,
	YQ_JOB_POSTPONED,			/* the job would have had to wait for a lock */
	YQ_JOB_FAILED
} YqJobState;

extern YqJobState yq_job_state(char **error);

/* Entry points of the processes. */
extern PGDLLEXPORT void yq_launcher_main(Datum main_arg);
extern PGDLLEXPORT void yq_worker_main(Datum main_arg);
extern PGDLLEXPORT void yq_job_main(Datum main_arg);

#endif							/* YQ_WORKER_H */
