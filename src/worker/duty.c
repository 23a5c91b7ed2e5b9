/*-------------------------------------------------------------------------
 *
 * duty.c
 *	  Duties that take long, each in a process of its own, so that the worker
 *	  goes on computing prices meanwhile.
 *
 * The worker has one such process at a time.  It lives for one duty, which is
 * one transaction, and says in a piece of shared memory what came of it; one
 * that has said nothing when it is gone was ended from outside.  When the
 * worker leaves, it ends the process.  That a duty is not done twice at a time,
 * by a process that is not gone yet or by pg_cron, follows from the row of
 * duty_run that whoever does it writes first.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "access/xact.h"
#include "catalog/pg_type_d.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/dsm.h"
#include "storage/ipc.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "worker/worker.h"

/* A message is cut to this. */
#define MESSAGE_LENGTH 512

/* What the process tells. */
typedef struct DutyOutcome
{
	bool		is_known;		/* false while it is at work */
	int			sqlerrcode;		/* 0 when the duty was done */
	char		message[MESSAGE_LENGTH];
} DutyOutcome;

/* What the process is told, in bgw_extra. */
typedef struct DutyOrder
{
	Oid			database;
	dsm_handle	outcome;
	NameData	duty;
} DutyOrder;

StaticAssertDecl(sizeof(DutyOrder) <= BGW_EXTRALEN,
				 "DutyOrder does not fit in bgw_extra");

/*
 * The worker's side
 */

static BackgroundWorkerHandle *process = NULL;	/* NULL when there is none */
static dsm_segment *segment = NULL;

static void
end_process(int code, Datum arg)
{
	if (process != NULL)
		TerminateBackgroundWorker(process);
}

static void
describe(BackgroundWorker *worker, const char *database_name, const DutyOrder *order)
{
	yq_worker_process_describe(worker, YQ_DUTY_TYPE, "yq_duty_main", order, sizeof(*order));
	snprintf(worker->bgw_name, BGW_MAXLEN, "yquota duty %s of %s", NameStr(order->duty), database_name);
	worker->bgw_notify_pid = MyProcPid;
}

/* Shared memory for the outcome, which outlives the transaction. */
static dsm_handle
make_outcome(void)
{
	static bool registered = false;

	if (!registered)
		before_shmem_exit(end_process, (Datum) 0);
	registered = true;

	segment = dsm_create(sizeof(DutyOutcome), 0);
	memset(dsm_segment_address(segment), 0, sizeof(DutyOutcome));
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
yq_duty_start(const char *duty, const char *database_name)
{
	BackgroundWorker worker;
	DutyOrder	order = {.database = MyDatabaseId};
	MemoryContext caller = MemoryContextSwitchTo(TopMemoryContext);
	bool		is_registered;

	Assert(process == NULL);
	namestrcpy(&order.duty, duty);
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
			 errmsg("could not start a process for duty \"%s\": no background worker slot is free", duty),
			 errhint("You might need to increase max_worker_processes.")));
}

YqDutyState
yq_duty_state(char **error)
{
	DutyOutcome *outcome;
	YqDutyState state;
	pid_t		pid;

	if (process == NULL)
		return YQ_DUTY_NONE;
	if (GetBackgroundWorkerPid(process, &pid) != BGWH_STOPPED)
		return YQ_DUTY_RUNS;

	outcome = dsm_segment_address(segment);
	*error = NULL;
	if (!outcome->is_known)
	{
		*error = pstrdup("its process was ended before it was done");
		state = YQ_DUTY_FAILED;
	}
	else if (outcome->sqlerrcode == 0)
		state = YQ_DUTY_DONE;
	else if (outcome->sqlerrcode == ERRCODE_LOCK_NOT_AVAILABLE)
		state = YQ_DUTY_POSTPONED;
	else
	{
		*error = pstrdup(outcome->message);
		state = YQ_DUTY_FAILED;
	}
	forget_outcome();
	pfree(process);
	process = NULL;
	return state;
}

/*
 * The process
 */

static void
add_context(void *arg)
{
	errcontext("yquota duty \"%s\"", ((const char *) arg));
}

/* A step of yq_worker_transaction() */
static void
perform(void *duty)
{
	Oid			types[] = {TEXTOID};
	Datum		values[] = {CStringGetTextDatum(duty)};

	yq_worker_execute("SELECT yquota_internal.perform_duty($1, 'worker')", lengthof(types), types, values, NULL);
}

/* Do the duty in a transaction, and keep what came of it. */
static void
attempt(char *duty, DutyOutcome *outcome)
{
	ErrorContextCallback callback = {error_context_stack, add_context, duty};
	MemoryContext caller = CurrentMemoryContext;

	SetCurrentStatementStartTimestamp();
	pgstat_report_activity(STATE_RUNNING, psprintf("yquota: duty %s", duty));
	error_context_stack = &callback;
	PG_TRY();
	{
		(void) yq_worker_transaction(YQ_TASK_LOCK_TIMEOUT_MS, perform, duty);
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
		strlcpy(outcome->message, error->message, MESSAGE_LENGTH);
		RESUME_INTERRUPTS();
	}
	PG_END_TRY();
	error_context_stack = callback.previous;
	outcome->is_known = true;
	pgstat_report_stat(true);
}

void
yq_duty_main(Datum main_arg)
{
	DutyOrder	order;
	NameData	database_name;
	dsm_segment *shared;

	memcpy(&order, MyBgworkerEntry->bgw_extra, sizeof(order));
	yq_worker_connect(order.database, &database_name);
	MemoryContextSwitchTo(AllocSetContextCreate(TopMemoryContext, "yquota duty",
												ALLOCSET_DEFAULT_SIZES));
	/* not there when the worker has left meanwhile */
	shared = dsm_attach(order.outcome);
	if (shared != NULL)
		attempt(NameStr(order.duty), dsm_segment_address(shared));
	proc_exit(0);
}
