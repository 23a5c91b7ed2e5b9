/*-------------------------------------------------------------------------
 *
 * job.c
 *	  Long jobs, each in its own process, while the worker continues to compute prices.
 *
 * The worker has only one such process at a time.  The process performs one job in one
 * transaction, and writes the outcome to shared memory.  If a process ends without an
 * outcome, it was killed or has crashed.  Before the worker exits, it ends the process.
 * A job never runs twice at the same time, even if an older process or pg_cron starts
 * it.  Each run first writes the job's row in job_run, and thereby locks the row.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "access/xact.h"
#include "catalog/pg_type_d.h"
#include "executor/spi.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/dsm.h"
#include "storage/ipc.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "worker/worker.h"

/* Length to which error messages are truncated. */
#define MESSAGE_LENGTH 512

/* Result of a job, which the job's process writes to shared memory. */
typedef struct JobOutcome
{
	bool		is_known;		/* false: the process is still running, or has died */
	int			sqlerrcode;		/* SQLSTATE of the error; 0: the job succeeded */
	char		message[MESSAGE_LENGTH];
} JobOutcome;

/* Instructions that the process of a job receives in bgw_extra. */
typedef struct JobOrder
{
	Oid			database;
	dsm_handle	outcome;
	NameData	job;
} JobOrder;

StaticAssertDecl(sizeof(JobOrder) <= BGW_EXTRALEN,
				 "JobOrder does not fit in bgw_extra");

/* Functions that the worker calls */

static BackgroundWorkerHandle *process = NULL;	/* NULL: no job is running */
static dsm_segment *segment = NULL;

static void
end_process(int code, Datum arg)
{
	if (process != NULL)
		TerminateBackgroundWorker(process);
}

static void
describe(BackgroundWorker *worker, const char *database_name, const JobOrder *order)
{
	yq_worker_process_describe(worker, YQ_JOB_TYPE, "yq_job_main", order, sizeof(*order));
	snprintf(worker->bgw_name, BGW_MAXLEN, "yquota job %s of %s", NameStr(order->job), database_name);
	worker->bgw_notify_pid = MyProcPid;
}

/* Create the shared memory for the result of a job.  It stays mapped after the transaction ends. */
static dsm_handle
make_outcome(void)
{
	static bool registered = false;

	if (!registered)
		before_shmem_exit(end_process, (Datum) 0);
	registered = true;

	segment = dsm_create(sizeof(JobOutcome), 0);
	memset(dsm_segment_address(segment), 0, sizeof(JobOutcome));
	dsm_pin_mapping(segment);
	return dsm_segment_handle(segment);
}

static void
forget_outcome(void)
{
	dsm_detach(segment);
	segment = NULL;
}

void
yq_job_start(const char *job, const char *database_name)
{
	BackgroundWorker worker;
	JobOrder	order = {.database = MyDatabaseId};
	MemoryContext caller = MemoryContextSwitchTo(TopMemoryContext);
	bool		is_registered;

	Assert(process == NULL);
	namestrcpy(&order.job, job);
	order.outcome = make_outcome();
	describe(&worker, database_name, &order);
	is_registered = RegisterDynamicBackgroundWorker(&worker, &process);
	MemoryContextSwitchTo(caller);
	if (is_registered)
		return;

	process = NULL;
	forget_outcome();
	ereport(ERROR,
			(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
			 errmsg("could not start a process for job \"%s\": no background worker slot is free", job),
			 errhint("You might need to increase max_worker_processes.")));
}

YqJobState
yq_job_state(char **error)
{
	JobOutcome *outcome;
	YqJobState state;
	pid_t		pid;

	if (process == NULL)
		return YQ_JOB_NONE;
	if (GetBackgroundWorkerPid(process, &pid) != BGWH_STOPPED)
		return YQ_JOB_RUNS;

	outcome = dsm_segment_address(segment);
	*error = NULL;
	if (!outcome->is_known)
	{
		*error = pstrdup("the process ended before the job was done");
		state = YQ_JOB_FAILED;
	}
	else if (outcome->sqlerrcode == 0)
		state = YQ_JOB_DONE;
	else if (outcome->sqlerrcode == ERRCODE_LOCK_NOT_AVAILABLE)
		state = YQ_JOB_POSTPONED;
	else
	{
		*error = pstrdup(outcome->message);
		state = YQ_JOB_FAILED;
	}
	forget_outcome();
	pfree(process);
	process = NULL;
	return state;
}

/* Functions that the job's process calls */

static void
add_job_context(void *arg)
{
	errcontext("yquota job \"%s\"", ((const char *) arg));
}

/* Run the job.  This function is a step for yq_worker_transaction(). */
static void
perform(void *job)
{
	Oid			types[] = {TEXTOID};
	Datum		values[] = {CStringGetTextDatum(job)};

	yq_worker_execute("SELECT yquota_internal.run_job($1, 'worker')", lengthof(types), types, values, NULL);
}

/* Run the job in a transaction, and store its result or its error. */
static void
attempt_job(char *job, JobOutcome *outcome)
{
	ErrorContextCallback callback = {error_context_stack, add_job_context, job};
	MemoryContext caller = CurrentMemoryContext;

	SetCurrentStatementStartTimestamp();
	pgstat_report_activity(STATE_RUNNING, psprintf("yquota: job %s", job));
	error_context_stack = &callback;
	PG_TRY();
	{
		(void) yq_worker_transaction(YQ_TASK_LOCK_TIMEOUT_MS, perform, job);
	}
	PG_CATCH();
	{
		ErrorData  *error;

		HOLD_INTERRUPTS();
		MemoryContextSwitchTo(caller);
		error = CopyErrorData();
		if (error->sqlerrcode != ERRCODE_LOCK_NOT_AVAILABLE)
			EmitErrorReport();
		AbortCurrentTransaction();
		FlushErrorState();
		outcome->sqlerrcode = error->sqlerrcode;
		strlcpy(outcome->message, error->message,
				pg_mbcliplen(error->message, strlen(error->message), MESSAGE_LENGTH - 1) + 1);
		RESUME_INTERRUPTS();
	}
	PG_END_TRY();
	error_context_stack = callback.previous;
	outcome->is_known = true;
	pgstat_report_stat(true);
}

void
yq_job_main(Datum main_arg)
{
	JobOrder	order;
	NameData	database_name;
	dsm_segment *shared;

	memcpy(&order, MyBgworkerEntry->bgw_extra, sizeof(order));
	yq_worker_connect(order.database, &database_name);
	MemoryContextSwitchTo(AllocSetContextCreate(TopMemoryContext, "yquota job",
												ALLOCSET_DEFAULT_SIZES));
	/* if the worker has exited, the segment no longer exists */
	shared = dsm_attach(order.outcome);
	if (shared != NULL)
		attempt_job(NameStr(order.job), dsm_segment_address(shared));
	proc_exit(0);
}
