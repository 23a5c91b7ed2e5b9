/*-------------------------------------------------------------------------
 *
 * worker.h
 *	  Background processes: one launcher per server, one worker per database, and one
 *	  more process while a job runs.
 *
 * The processes share no memory with sessions.  A session finds a process by its type
 * in the server's list of processes, and wakes it through its latch.  Sessions and
 * processes communicate through rows (yquota_internal.worker_state,
 * yquota_internal.clock_setting).  A missed wake-up delays work, but never makes a
 * result wrong.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_WORKER_H
#define YQ_WORKER_H

#include "fmgr.h"
#include "postmaster/bgworker.h"

/* Types of the processes, as pg_stat_activity.backend_type shows them. */
#define YQ_LAUNCHER_TYPE	"yquota launcher"
#define YQ_WORKER_TYPE		"yquota worker"
#define YQ_JOB_TYPE		"yquota job"

/* Time for which a task waits for a lock.  After that, the task is postponed. */
#define YQ_TASK_LOCK_TIMEOUT_MS 500

/* Data that a worker receives in bgw_extra when it is started. */
typedef struct YqWorkerOrder
{
	Oid			database;
	bool		from_launcher;	/* started by the launcher; the worker exits when yquota.databases no longer lists
								 * the database */
	bool		repeated;		/* has the launcher's previous worker for this database ended early? */
} YqWorkerOrder;

StaticAssertDecl(sizeof(YqWorkerOrder) <= BGW_EXTRALEN,
				 "YqWorkerOrder does not fit in bgw_extra");

/* Register the launcher.  The library calls this function when it is preloaded. */
extern void yq_worker_init(void);

/*
 * launcher.c: fill in the registration of a worker. yq_launcher_lists() tells whether
 * yquota.databases lists a database.
 */
extern void yq_worker_describe(BackgroundWorker *worker, const char *database_name,
							   const YqWorkerOrder *order);
extern bool yq_launcher_lists(const char *database_name);

/*
 * wake.c: when the current transaction commits, wake the worker of this database
 * (first function), or start a worker (second function).  If the database is listed,
 * the launcher starts the worker, even if the first function finds no worker to
 * wake.  If the transaction aborts, nothing happens.
 */
extern void yq_worker_wake_at_commit(void);
extern void yq_worker_start_at_commit(void);

/* wake.c: send a signal to the workers of a database and to the processes of its jobs. */
extern void yq_worker_signal(Oid database, int signal_number);

/*
 * wake.c: install the hook that ends the workers of a database before a command that needs the
 * database for itself.
 */
extern void yq_give_way_init(void);

/*
 * task.c: fill in the registration of a process that serves a database.  The caller adds the name.
 * The server does not restart the process.  The entry point finds a copy of "order" in bgw_extra.
 */
extern void yq_worker_process_describe(BackgroundWorker *worker, const char *type, const char *function,
									   const void *order, Size order_size);

/*
 * task.c: connect the process to a database, and return the name of the database.  The
 * function also sets the parameters on which the process depends.
 */
extern void yq_worker_connect(Oid database, NameData *database_name);

/*
 * task.c: run a step in its own transaction, connected to SPI.  During the transaction,
 * the extension cannot be dropped.  Returns false if the extension is not installed.
 * If an error is raised, the caller aborts the transaction.  A lock timeout of 0 means
 * no timeout.
 */
typedef void (*YqWorkerStep) (void *argument);
extern bool yq_worker_transaction(int lock_timeout_ms, YqWorkerStep step, void *argument);

/*
 * task.c: execute SQL with parameters.  Apart from an unexpected SPI result, only the
 * SQL itself raises errors.
 */
extern void yq_worker_execute(const char *command, int count, Oid *types, Datum *values,
							  const char *nulls);

/*
 * job.c: start a process for a job, which is a row of yquota_internal.job.  A worker
 * can have only one such process at a time.  When the process has ended, the server
 * sets the worker's latch.  Raises an error if no background worker slot is free.
 */
extern void yq_job_start(const char *job, const char *database_name);

/*
 * job.c: return the state of the process that yq_job_start() started.  After the end of
 * the process, the first call returns how the job ended, and later calls return
 * YQ_JOB_NONE.  For a failed job, *error is palloc'd.
 */
typedef enum YqJobState
{
	YQ_JOB_NONE,
	YQ_JOB_RUNS,
	YQ_JOB_DONE,
	YQ_JOB_POSTPONED,			/* the job could not get a lock in time */
	YQ_JOB_FAILED
} YqJobState;

extern YqJobState yq_job_state(char **error);

/* Entry points of the launcher, the worker and the process of a job. */
extern PGDLLEXPORT void yq_launcher_main(Datum main_arg);
extern PGDLLEXPORT void yq_worker_main(Datum main_arg);
extern PGDLLEXPORT void yq_job_main(Datum main_arg);

#endif							/* YQ_WORKER_H */
