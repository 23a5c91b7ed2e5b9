/*-------------------------------------------------------------------------
 *
 * worker.h
 *	  Background processes: one launcher per server, one worker per database,
 *	  and one more for as long as a job takes.
 *
 * No session shares memory with them.  They are found by their type in the
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

/* Names of the processes in pg_stat_activity.backend_type. */
#define YQ_LAUNCHER_TYPE	"yquota launcher"
#define YQ_WORKER_TYPE		"yquota worker"
#define YQ_JOB_TYPE		"yquota job"

/* How long a task waits for a lock before it is postponed */
#define YQ_TASK_LOCK_TIMEOUT_MS 500

/* The order that a worker gets at its start, in bgw_extra. */
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

/* wake.c: send a signal to the workers of a database, and to the processes of their jobs. */
extern void yq_worker_signal(Oid database, int signal_number);

/* wake.c */
extern void yq_give_way_init(void);

/*
 * task.c: fill in the registration of a process that serves a database and is
 * not started again by itself, all but its name; its entry point finds the order.
 */
extern void yq_worker_process_describe(BackgroundWorker *worker, const char *type, const char *function,
									   const void *order, Size order_size);

/*
 * task.c: connect the process to a database, whose name is returned, with
 * the settings that its work depends on.
 */
extern void yq_worker_connect(Oid database, NameData *database_name);

/*
 * task.c: run a step in a transaction of its own, connected to SPI, in which
 * the extension cannot be dropped; false when it is not installed.  The caller
 * handles an error by aborting the transaction.  A lock timeout of 0 is none.
 */
typedef void (*YqWorkerStep) (void *argument);
extern bool yq_worker_transaction(int lock_timeout_ms, YqWorkerStep step, void *argument);

/* task.c: run SQL with the given parameters; errors other than the SQL's cannot be. */
extern void yq_worker_execute(const char *command, int count, Oid *types, Datum *values,
							  const char *nulls);

/*
 * job.c: start a process that performs a row of yquota_internal.job.  A worker
 * has one at a time; the server sets its latch when the process has ended.  An
 * error when no background worker slot is free.
 */
extern void yq_job_start(const char *job, const char *database_name);

/*
 * job.c: the state of that process.  The end of a process is returned once; the
 * error, if it failed, is in the current memory context.
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
