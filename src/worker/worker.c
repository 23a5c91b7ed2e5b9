/*-------------------------------------------------------------------------
 *
 * worker.c
 *	  The worker of one database, and its tasks.
 *
 * The worker computes prices, and advances the charged-through mark to the clock.  It
 * compacts counters, corrects late prices and maintains credit.  It applies the
 * policies of queues, preempts containers, follows plans of reservations and ends
 * applications past their lifetime.  Another process performs long jobs (job.c).
 *
 * Each task runs in its own transaction, as a client's statement does (task.h).  The
 * worker writes failures to yquota_internal.worker_state, and raises an alert for a
 * postponed task.
 *
 * A session-level advisory lock, which no SQL function can take, ensures that the
 * database has only one worker. Between transactions the worker holds nothing else: no
 * lock, no snapshot.  Every transaction begins by locking the extension.  A DROP
 * EXTENSION therefore either waits for the transaction, or has the effect that the
 * transaction finds no extension.
 *
 * The worker exits when the extension is dropped, when stop_worker() was called, or
 * when its database is no longer listed.  It does not restart by itself.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "access/xact.h"
#include "base/settings.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "postmaster/interrupt.h"
#include "scheduler/record/expiry.h"
#include "scheduler/record/scheduler_journal.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/lock.h"
#include "store/catalog.h"
#include "store/clock.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"
#include "utils/wait_event.h"
#include "worker/task.h"
#include "worker/worker.h"

/* Advisory lock of the worker.  SQL functions cannot take it, because its last field is neither 1 nor 2. */
#define WORKER_LOCK_KEY			0x79717561
#define WORKER_LOCK_CLASS		0x7971

/* Time within which a worker that is about to exit releases its lock. */
#define WORKER_LOCK_PATIENCE_MS 2000

/* Limit on how long a task that publishes prices waits for a lock. */
#define PUBLISH_LOCK_TIMEOUT_MS 10

/* Longest sleep.  A wake-up that was lost delays the tasks by at most this time. */
#define SLEEP_MAX_MS			(60 * 1000)

static void run_command(YqTask *task);
static void maintain_credit(YqTask *task);
static void start_job_when_due(YqTask *task);
static void run_queue_policy(YqTask *task);
static void run_until_done(YqTask *task);
static void release_expired(YqTask *task);
static void check_state(YqTask *task);
static void start_up(YqTask *task);
static void record(YqTask *task);
static void sign_off(YqTask *task);

/*
 * Intervals of the queue policies, from the last reading of the configuration.  0: not
 * read yet, or switched off.
 */
static int	manage_queues_interval_ms = 0;
static int	remove_queues_interval_ms = 0;
static int	preempt_interval_ms = 0;
static int	follow_plans_interval_ms = 0;

enum
{
	PRICE,
	COMPUTE,
	COMPACT,
	CORRECT,
	BOOK,
	APPLY_WAITING,
	CREDIT,
	THRESHOLDS,
	SEAL,
	RETENTION,
	LEASES,
	FORECAST,
	ROLL_UP,
	VERIFY,
	RELEASE,
	WATCH_DECISIONS,
	MANAGE_QUEUES,
	REMOVE_QUEUES,
	PREEMPT,
	FOLLOW_PLANS,
	END_EXPIRED,
	PERIODIC_COUNT
};

static YqTask periodic[PERIODIC_COUNT] = {
	[PRICE] = {
		.name = "price",
		.activity = "yquota: computing prices",
		.lock_timeout_ms = PUBLISH_LOCK_TIMEOUT_MS,
		.step = run_command,
		.command = "SELECT yquota_internal.worker_price($1)",
		.interval_ms = &yq_price_interval
	},
	[COMPUTE] = {
		.name = "compute",
		.activity = "yquota: advancing the charged-through mark",
		.lock_timeout_ms = YQ_TASK_LOCK_TIMEOUT_MS,
		.step = run_command,
		.command = "INSERT INTO yquota.container_event (event, occurred_at, source) "
			"VALUES ('QUOTA_COMPUTE', $1, 'yquota worker')",
		.interval_ms = &yq_compute_interval
	},
	[COMPACT] = {
		.name = "compact",
		.activity = "yquota: compacting counters",
		.lock_timeout_ms = YQ_TASK_LOCK_TIMEOUT_MS,
		.step = run_command,
		.command = "SELECT yquota_internal.compact_counters()",
		.interval_ms = &yq_compute_interval
	},
	[CORRECT] = {
		.name = "correct",
		.activity = "yquota: correcting late prices",
		.lock_timeout_ms = YQ_TASK_LOCK_TIMEOUT_MS,
		.step = run_command,
		.command = "SELECT yquota_internal.correct_late_prices()",
		.interval_ms = &yq_compute_interval
	},
	[BOOK] = {
		.name = "book",
		.activity = "yquota: posting charges of reservations",
		.lock_timeout_ms = YQ_TASK_LOCK_TIMEOUT_MS,
		.step = run_command,
		.command = "SELECT yquota_internal.book_reservations()",
		.interval_ms = &yq_compute_interval
	},
	[APPLY_WAITING] = {
		.name = "apply waiting",
		.activity = "yquota: applying waiting events",
		.lock_timeout_ms = YQ_TASK_LOCK_TIMEOUT_MS,
		.step = run_command,
		.command = "SELECT yquota_internal.apply_waiting(false)",
		.interval_ms = &yq_compute_interval
	},
	/* periodic jobs; each of these tasks first checks whether its job is due, and whether pg_cron runs it */
	[CREDIT] = {
		.name = "credit",
		.activity = "yquota: maintaining credit",
		.lock_timeout_ms = YQ_TASK_LOCK_TIMEOUT_MS,
		.step = maintain_credit,
		.command = "SELECT yquota_internal.worker_job('credit', $1)",
		.interval_ms = &yq_compute_interval
	},
	/*
	 * this task is not a job: it must find crossed thresholds within yquota.compute_interval,
	 * and run after new credit has been granted
	 */
	[THRESHOLDS] = {
		.name = "thresholds",
		.activity = "yquota: raising alerts of crossed thresholds",
		.lock_timeout_ms = YQ_TASK_LOCK_TIMEOUT_MS,
		.step = run_command,
		.command = "SELECT yquota_internal.note_crossings($1)",
		.interval_ms = &yq_compute_interval
	},
	/* long jobs; each runs in its own process, and only one at a time */
	[SEAL] = {
		.name = "seal",
		.activity = "yquota: checking whether history is to be sealed",
		.lock_timeout_ms = YQ_TASK_LOCK_TIMEOUT_MS,
		.step = start_job_when_due,
		.job = "history",
		.interval_ms = &yq_compute_interval
	},
	[RETENTION] = {
		.name = "retention",
		.activity = "yquota: checking whether history is to be archived",
		.lock_timeout_ms = YQ_TASK_LOCK_TIMEOUT_MS,
		.step = start_job_when_due,
		.job = "retention",
		.interval_ms = &yq_compute_interval
	},
	[LEASES] = {
		.name = "leases",
		.activity = "yquota: checking whether leases are to be renewed",
		.lock_timeout_ms = YQ_TASK_LOCK_TIMEOUT_MS,
		.step = start_job_when_due,
		.job = "leases",
		.interval_ms = &yq_compute_interval
	},
	[FORECAST] = {
		.name = "forecast",
		.activity = "yquota: checking whether to look for credit that expires or runs out soon",
		.lock_timeout_ms = YQ_TASK_LOCK_TIMEOUT_MS,
		.step = start_job_when_due,
		.job = "forecast",
		.interval_ms = &yq_compute_interval
	},
	[ROLL_UP] = {
		.name = "roll-up",
		.activity = "yquota: checking whether to roll up",
		.lock_timeout_ms = YQ_TASK_LOCK_TIMEOUT_MS,
		.step = start_job_when_due,
		.job = "roll-up",
		.interval_ms = &yq_compute_interval
	},
	[VERIFY] = {
		.name = "verify",
		.activity = "yquota: checking whether the books are to be proved",
		.lock_timeout_ms = YQ_TASK_LOCK_TIMEOUT_MS,
		.step = start_job_when_due,
		.job = "verify",
		.interval_ms = &yq_compute_interval
	},
	[RELEASE] = {
		.name = "release",
		.activity = "yquota: releasing unacknowledged containers",
		.lock_timeout_ms = YQ_TASK_LOCK_TIMEOUT_MS,
		.step = release_expired,
		.interval_ms = &yq_compute_interval
	},
	[WATCH_DECISIONS] = {
		.name = "watch decisions",
		.activity = "yquota: looking at decisions, reports of nodes and plans",
		.lock_timeout_ms = YQ_TASK_LOCK_TIMEOUT_MS,
		.step = run_command,
		.command = "SELECT yquota_internal.watch_decisions($1), yquota_internal.watch_node_reports($1), yquota_internal.watch_plans($1)",
		.interval_ms = &yq_compute_interval
	},
	/* The next four tasks run policies of the scheduler.  The configuration sets the interval of each of them. */
	[MANAGE_QUEUES] = {
		.name = "manage queues",
		.activity = "yquota: managing queues",
		.lock_timeout_ms = YQ_TASK_LOCK_TIMEOUT_MS,
		.step = run_queue_policy,
		.command = "SELECT FROM yquota.manage_queues()",
		.interval_ms = &manage_queues_interval_ms
	},
	[REMOVE_QUEUES] = {
		.name = "remove queues",
		.activity = "yquota: removing unused queues",
		.lock_timeout_ms = YQ_TASK_LOCK_TIMEOUT_MS,
		.step = run_queue_policy,
		.command = "SELECT FROM yquota.remove_unused_queues()",
		.interval_ms = &remove_queues_interval_ms
	},
	[PREEMPT] = {
		.name = "preempt",
		.activity = "yquota: preempting containers",
		.lock_timeout_ms = YQ_TASK_LOCK_TIMEOUT_MS,
		.step = run_queue_policy,
		.command = "SELECT yquota_internal.worker_preempt(yquota.clock())",
		.interval_ms = &preempt_interval_ms
	},
	[FOLLOW_PLANS] = {
		.name = "follow plans",
		.activity = "yquota: following plans of reservations",
		.lock_timeout_ms = YQ_TASK_LOCK_TIMEOUT_MS,
		.step = run_until_done,
		.command = "SELECT yquota_internal.worker_follow_plans()",
		.interval_ms = &follow_plans_interval_ms
	},
	[END_EXPIRED] = {
		.name = "end expired",
		.activity = "yquota: ending applications past their lifetime",
		.lock_timeout_ms = YQ_TASK_LOCK_TIMEOUT_MS,
		.step = run_until_done,
		.command = "SELECT yquota_internal.worker_end_expired()",
		.interval_ms = &yq_compute_interval
	}
};

static YqTask check_task = {
	.name = "check",
	.activity = "yquota: checking for due tasks",
	.lock_timeout_ms = 0,
	.step = check_state
};
static YqTask start_task = {
	.name = "start",
	.activity = "yquota: starting",
	.lock_timeout_ms = YQ_TASK_LOCK_TIMEOUT_MS,
	.step = start_up
};
static YqTask record_task = {
	.name = "record",
	.activity = "yquota: recording finished tasks",
	.lock_timeout_ms = YQ_TASK_LOCK_TIMEOUT_MS,
	.step = record
};
static YqTask sign_off_task = {
	.name = "sign off",
	.activity = "yquota: leaving",
	.lock_timeout_ms = YQ_TASK_LOCK_TIMEOUT_MS,
	.step = sign_off
};

static YqWorkerOrder order;
static NameData database_name;
static MemoryContext step_context = NULL;

/* Results of the last run of check_state(). */
static bool told_to_stop = false;
static bool no_longer_listed = false;
static bool started = false;	/* does worker_state now name this process as the worker? */
static bool was_started = false;	/* has worker_state ever named this process? */
static bool clock_was_set = false;

/* Has the last run of the task "credit" recorded anything?  If so, the next batch may have more to record. */
static bool more_credit_is_due = false;

/* Task whose job is running in another process, or NULL, and the system time at which the job was started. */
static YqTask *task_of_job = NULL;
static TimestampTz job_began_at = 0;

/* Due times */

/* Return the milliseconds until the task is due.  A task with a job is not due while another job is running. */
static long
milliseconds_until_due(const YqTask *task)
{
	if (task->job != NULL && task_of_job != NULL)
		return YQ_CLOCK_STANDS;
	return yq_task_milliseconds_until_due(task);
}

static long
milliseconds_to_sleep(void)
{
	long		sleep = SLEEP_MAX_MS;

	if (no_longer_listed)
		sleep = Min(sleep, milliseconds_until_due(&sign_off_task));
	if (!started)
		return Min(sleep, milliseconds_until_due(&start_task));
	for (int i = 0; i < PERIODIC_COUNT; i++)
	{
		long		until_due = milliseconds_until_due(&periodic[i]);

		if (until_due != YQ_CLOCK_STANDS)
			sleep = Min(sleep, until_due);
	}
	if (yq_task_report.is_new)
		sleep = Min(sleep, milliseconds_until_due(&record_task));
	return sleep;
}

/* Try failed tasks again immediately, because a change may have removed the cause. */
static void
retry_at_once(void)
{
	start_task.retry_at = 0;
	record_task.retry_at = 0;
	for (int i = 0; i < PERIODIC_COUNT; i++)
		periodic[i].retry_at = 0;
}

/* Steps of tasks */

/* Run the SQL of a periodic task, and record the time of the run. */
static void
run_at_clock(YqTask *task, const char *command)
{
	TimestampTz now = yq_clock_now();
	Oid			types[1] = {TIMESTAMPTZOID};
	Datum		values[1] = {TimestampTzGetDatum(now)};

	yq_worker_execute(command, 1, types, values, NULL);
	task->last_run = now;
	yq_task_report.is_new = true;
}

static void
run_command(YqTask *task)
{
	run_at_clock(task, task->command);
}

/*
 * Maintain credit in a single batch.  While more batches are needed, reading balances
 * is slow.  Therefore the task "thresholds", which reads all balances, runs only after
 * the last batch.  Prices are published between batches.
 */
static void
maintain_credit(YqTask *task)
{
	bool		isnull = true;

	more_credit_is_due = false;
	SPI_processed = 0;
	run_command(task);
	if (SPI_processed == 1)
		(void) SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &isnull);
	more_credit_is_due = !isnull;
	if (more_credit_is_due)
		task->last_run = 0;
}

/* If the job of the task is due, start a process for it. */
static void
start_job_when_due(YqTask *task)
{
	bool		isnull;

	run_at_clock(task, psprintf("SELECT yquota_internal.job_is_due('%s', $1)", task->job));
	if (!DatumGetBool(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &isnull)))
		return;
	yq_job_start(task->job, NameStr(database_name));
	task->outcome_is_open = true;
	task_of_job = task;
	job_began_at = GetCurrentTimestamp();
}

/*
 * If the process of a job has ended, record the outcome.  A job that could not get a lock is
 * postponed by the time that it has run.  Otherwise, it could start again and again.
 */
static void
collect_job(void)
{
	YqTask	   *task = task_of_job;
	char	   *error = NULL;
	YqJobState state = yq_job_state(&error);

	if (state == YQ_JOB_NONE || state == YQ_JOB_RUNS)
		return;
	task_of_job = NULL;
	task->outcome_is_open = false;
	/* run the task again soon, because the job may have left work for another run */
	task->last_run = 0;
	if (state == YQ_JOB_DONE)
		yq_task_note_success(task);
	else if (state == YQ_JOB_POSTPONED)
		yq_task_note_postponed(task,
							   Max(YQ_TASK_POSTPONED_DELAY_MS,
								   TimestampDifferenceMilliseconds(job_began_at, GetCurrentTimestamp())));
	else
		yq_task_note_failure(task, error);
}

/* Columns that the statement returns, counted from 1. */
typedef enum PolicyColumn
{
	POLICY_MANAGE_QUEUES = 1,
	POLICY_REMOVE_QUEUES,
	POLICY_PREEMPT,
	POLICY_FOLLOW_PLANS
} PolicyColumn;

/* Return the interval in a column in milliseconds, or 0 if the policy is switched off. */
static int
interval_of_column(PolicyColumn column)
{
	bool		isnull;
	Datum		value = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, column, &isnull);

	return isnull ? 0 : (int) Max(1, Min(DatumGetInt64(value), PG_INT32_MAX));
}

/* Set the interval of a policy.  If the policy is switched off (0), forget its failures. */
static void
set_interval(YqTask *task, int *interval_ms, int milliseconds)
{
	*interval_ms = milliseconds;
	if (milliseconds == 0)
		yq_task_note_success(task);
}

static void
read_queue_policies(void)
{
	yq_worker_execute("SELECT manage_interval_ms, removal_interval_ms, yquota_internal.preemption_interval(), "
			"yquota_internal.plan_follower_interval() FROM yquota_internal.queue_policy_intervals()",
			0, NULL, NULL, NULL);
	set_interval(&periodic[MANAGE_QUEUES], &manage_queues_interval_ms, interval_of_column(POLICY_MANAGE_QUEUES));
	set_interval(&periodic[REMOVE_QUEUES], &remove_queues_interval_ms, interval_of_column(POLICY_REMOVE_QUEUES));
	set_interval(&periodic[PREEMPT], &preempt_interval_ms, interval_of_column(POLICY_PREEMPT));
	set_interval(&periodic[FOLLOW_PLANS], &follow_plans_interval_ms, interval_of_column(POLICY_FOLLOW_PLANS));
}

/*
 * Run the SQL of a policy.  worker_state does not record the run, because its effect is
 * visible in the queues.
 */
static void
run_queue_policy(YqTask *task)
{
	TimestampTz now = yq_clock_now();

	yq_worker_execute(task->command, 0, NULL, NULL, NULL);
	task->last_run = now;
}

/*
 * Run the SQL of a task.  Unless the SQL reports that nothing is left to do, the task is due again
 * immediately, and runs in another transaction.
 */
static void
run_until_done(YqTask *task)
{
	TimestampTz now = yq_clock_now();
	bool		isnull;

	yq_worker_execute(task->command, 0, NULL, NULL, NULL);
	task->last_run = DatumGetInt64(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &isnull)) > 0 ? 0 : now;
}

/*
 * Release a batch of expired containers.  If the batch was full, the task is due again immediately.
 * While an allocation cycle runs, the task does nothing, because the cycle releases expired
 * containers itself.
 */
static void
release_expired(YqTask *task)
{
	TimestampTz now = yq_clock_now();
	bool		is_done = !yq_scheduler_try_lock(ExclusiveLock) || yq_release_expired(NULL) < YQ_EXPIRY_BATCH;

	task->last_run = is_done ? now : 0;
}

/* Read the clock and the intervals of policies, and find out whether the worker must exit. */
static void
check_state(YqTask *task)
{
	bool		isnull;
	Datum		pid;

	clock_was_set = yq_clock_reread();
	no_longer_listed = order.from_launcher &&
		!yq_launcher_lists(NameStr(database_name));
	read_queue_policies();

	yq_worker_execute("SELECT stopped_on_purpose, pid FROM yquota_internal.worker_state",
			0, NULL, NULL, NULL);
	told_to_stop = false;
	if (SPI_processed == 0)
	{
		started = false;
		return;
	}
	told_to_stop = DatumGetBool(SPI_getbinval(SPI_tuptable->vals[0],
											  SPI_tuptable->tupdesc, 1, &isnull));

	/*
	 * stop_worker() removes the pid of this process from the row; start_worker() may have
	 * been called since, before this process has exited
	 */
	pid = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 2, &isnull);
	started = started && !isnull && DatumGetInt32(pid) == MyProcPid;
}

/* Enter this process in worker_state.  The time since the last worker is recorded as an outage. */
static void
start_up(YqTask *task)
{
	TimestampTz now = yq_clock_now();
	Oid			types[2] = {INT4OID, TIMESTAMPTZOID};
	Datum		values[2] = {Int32GetDatum(MyProcPid), TimestampTzGetDatum(now)};

	yq_worker_execute("SELECT yquota_internal.worker_start($1, $2)", 2, types, values, NULL);
	periodic[COMPUTE].last_run = now;
}

/* Return the names of the tasks that are postponed now, as a text array. */
static Datum
postponed_tasks(void)
{
	Datum		names[PERIODIC_COUNT];
	int			count = 0;

	for (int i = 0; i < PERIODIC_COUNT; i++)
	{
		if (periodic[i].postponed)
			names[count++] = CStringGetTextDatum(periodic[i].name);
	}
	return PointerGetDatum(construct_array(names, count, TEXTOID, -1, false,
										   TYPALIGN_INT));
}

static int
failures_in_all(void)
{
	int			failures = start_task.failures;

	for (int i = 0; i < PERIODIC_COUNT; i++)
		failures += periodic[i].failures;
	return failures;
}

/* Write the state of the tasks to worker_state, and raise or clear alerts. */
static void
record(YqTask *task)
{
	Oid			types[8] = {INT4OID, TIMESTAMPTZOID, TIMESTAMPTZOID, TIMESTAMPTZOID,
		TIMESTAMPTZOID, TEXTOID, TIMESTAMPTZOID, TEXTARRAYOID};
	Datum		values[8];
	char		nulls[9] = "        ";

	values[0] = Int32GetDatum(failures_in_all());
	values[1] = TimestampTzGetDatum(yq_clock_now());
	values[2] = TimestampTzGetDatum(periodic[PRICE].last_run);
	values[3] = TimestampTzGetDatum(periodic[COMPUTE].last_run);
	values[4] = TimestampTzGetDatum(periodic[COMPACT].last_run);
	values[5] = yq_task_report.error ? CStringGetTextDatum(yq_task_report.error) : (Datum) 0;
	values[6] = TimestampTzGetDatum(yq_task_report.error_at);
	values[7] = postponed_tasks();
	for (int i = 0; i < 3; i++)
	{
		if (values[2 + i] == TimestampTzGetDatum(0))
			nulls[2 + i] = 'n';
	}
	if (yq_task_report.error == NULL)
		nulls[5] = nulls[6] = 'n';

	yq_worker_execute("SELECT yquota_internal.worker_record($1, $2, $3, $4, $5, $6, $7, $8)",
			8, types, values, nulls);
}

/* Record that the worker exits on purpose.  The time until the next worker is then not counted as an outage. */
static void
sign_off(YqTask *task)
{
	Oid			types[2] = {INT4OID, TIMESTAMPTZOID};
	Datum		values[2] = {Int32GetDatum(MyProcPid), TimestampTzGetDatum(yq_clock_now())};

	yq_worker_execute("SELECT yquota_internal.worker_leave($1, $2)", 2, types, values, NULL);
}

/* Main loop of the worker */

static void
leave(const char *reason)
{
	ereport(order.repeated && !was_started ? DEBUG1 : LOG,
			(errmsg("yquota worker of database \"%s\" exits: %s",
					NameStr(database_name), reason)));
	proc_exit(0);
}

static void
leave_if_told(void)
{
	if (yq_task_report.extension_is_gone)
		leave("extension \"yquota\" is not installed");
	if (told_to_stop)
		leave("yquota.stop_worker() was called");
	if (no_longer_listed && !yq_task_is_held_back(&sign_off_task) &&
		yq_task_attempt(&sign_off_task))
		leave("yquota.databases does not list the database");
}

/*
 * Exit if the server requests it.  A cancel request that arrives between two tasks is
 * discarded, because there is nothing to cancel.  Without HOLD_CANCEL_INTERRUPTS(), it
 * would end the worker.
 */
static void
check_for_shutdown(void)
{
	HOLD_CANCEL_INTERRUPTS();
	CHECK_FOR_INTERRUPTS();
	QueryCancelPending = false;
	RESUME_CANCEL_INTERRUPTS();
}

/* Run the periodic tasks that are due.  Returns true if at least one was due. */
static bool
run_periodic_tasks(void)
{
	bool		has_run = false;

	for (int i = 0; i < PERIODIC_COUNT && !yq_task_report.extension_is_gone; i++)
	{
		check_for_shutdown();
		if (milliseconds_until_due(&periodic[i]) != 0)
			continue;
		(void) yq_task_attempt(&periodic[i]);
		has_run = true;
		if (i == CREDIT && more_credit_is_due)
			break;
	}
	return has_run;
}

/* Run all tasks that are due.  Returns the number of milliseconds to sleep. */
static long
run_due_tasks(void)
{
	bool		has_run = false;

	collect_job();
	if (yq_task_is_held_back(&check_task))
		return milliseconds_until_due(&check_task);
	if (!yq_task_attempt(&check_task))
		return milliseconds_until_due(&check_task);
	leave_if_told();
	if (clock_was_set)
		retry_at_once();

	if (!started && !yq_task_is_held_back(&start_task) && yq_task_attempt(&start_task))
	{
		ereport(was_started ? DEBUG1 : LOG,
				(errmsg("yquota worker of database \"%s\" started",
						NameStr(database_name))));
		started = was_started = true;
		yq_task_report.is_new = true;
	}
	if (started)
		has_run = run_periodic_tasks();
	if (yq_task_report.is_new && !yq_task_report.extension_is_gone && !yq_task_is_held_back(&record_task) &&
		yq_task_attempt(&record_task))
	{
		yq_task_report.is_new = false;
		yq_task_report.error = NULL;
	}
	leave_if_told();
	/*
	 * Do not sleep after a task has run.  While it waited for a lock or for parallel
	 * workers, it may have reset the latch that was set to wake the worker.
	 */
	return has_run ? 0 : milliseconds_to_sleep();
}

/* Become the only worker of this database.  Returns false if another worker keeps its lock. */
static bool
lock_office(uint32 wait_event)
{
	LOCKTAG		tag;

	SET_LOCKTAG_ADVISORY(tag, MyDatabaseId, WORKER_LOCK_KEY, 0, WORKER_LOCK_CLASS);
	for (int waited_ms = 0; waited_ms <= WORKER_LOCK_PATIENCE_MS; waited_ms += 100)
	{
		LockAcquireResult result;

		StartTransactionCommand();
		result = LockAcquire(&tag, ExclusiveLock, true, true);
		CommitTransactionCommand();
		if (result != LOCKACQUIRE_NOT_AVAIL)
			return true;

		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
						 100, wait_event);
		ResetLatch(MyLatch);
		check_for_shutdown();
	}
	return false;
}

static void
connect_to_database(void)
{
	memcpy(&order, MyBgworkerEntry->bgw_extra, sizeof(order));

	yq_worker_connect(order.database, &database_name);
	step_context = AllocSetContextCreate(TopMemoryContext, "yquota worker step",
										 ALLOCSET_DEFAULT_SIZES);
	yq_task_init(NameStr(database_name), step_context);
}

void
yq_worker_main(Datum main_arg)
{
	uint32		wait_event = WaitEventExtensionNew("YquotaWorkerMain");

	connect_to_database();
	if (!lock_office(wait_event))
	{
		ereport(DEBUG1,
				(errmsg("another yquota worker runs in database \"%s\"",
						NameStr(database_name))));
		proc_exit(0);
	}

	for (;;)
	{
		long		timeout;

		MemoryContextSwitchTo(step_context);
		timeout = run_due_tasks();
		MemoryContextReset(step_context);

		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
						 timeout, wait_event);
		ResetLatch(MyLatch);
		check_for_shutdown();
		if (ConfigReloadPending)
		{
			ConfigReloadPending = false;
			ProcessConfigFile(PGC_SIGHUP);
			check_task.retry_at = 0;
			retry_at_once();
		}
	}
}
