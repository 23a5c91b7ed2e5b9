/*-------------------------------------------------------------------------
 *
 * posting.c
 *	  Records that a START, a change or an end of a container posts, for all ways of settling.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "access/xact.h"
#include "base/settings.h"
#include "charging/posting.h"
#include "pricing/timeline.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

/* -- admit --------------------------------------------------------------------- */

/*
 * Check whether charging accepts a container or an allocation.
 *
 * These functions check against the configuration: projects, resource types, prices and the
 * archive horizon.  event.c checks the content of an event.
 */

YqProblem *
yq_admit_check_allocation(const YqResource *allocation, TimestampTz at)
{
	YqResourceEntry entries[YQ_RESOURCE_MAX_ENTRIES];
	int			count = yq_resource_read(allocation, entries);
	uint64		weight;
	char	   *unknown;
	YqRateClass *rate_class;

	for (int i = 0; i < count; i++)
	{
		if (entries[i].amount > YQ_ALLOCATION_MAX_AMOUNT)
			return yq_problem(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE,
							  psprintf("allocation of resource \"%.*s\" is out of range",
									   entries[i].name_length, entries[i].name),
							  "An allocation holds at most 2^50 native units of a resource type.");
	}
	rate_class = yq_rate_class_find(allocation, NULL, &weight, &unknown);
	if (rate_class == NULL)
		return yq_problem(ERRCODE_FOREIGN_KEY_VIOLATION,
						  psprintf("resource type \"%s\" does not exist", unknown),
						  yq_rate_class_hint(unknown));
	if (!yq_rate_class_is_payable(rate_class, at))
		return yq_problem(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE,
						  pstrdup("price of the allocation is out of range"),
						  "Lower the base price or the multiplier, or correct the allocation.");
	return NULL;
}

YqProblem *
yq_admit_check_age(const YqEvent *event)
{
	TimestampTz horizon = yq_timeline_cached()->horizon;

	if (event->occurred_at >= horizon)
		return NULL;
	return yq_problem(ERRCODE_INVALID_PARAMETER_VALUE,
					  psprintf("%s of container \"%s\" lies before the archive horizon at %s",
							   yq_event_kind_name(event->kind),
							   text_to_cstring(event->container_id),
							   timestamptz_to_str(horizon)),
					  "Look for the container in the archive. An event before the horizon is accepted only if its container is still in the books.");
}

/* Refuse a START if it arrives so late that its instant may be wrong. */
static YqProblem *
check_start_age(const YqEvent *event)
{
	if (yq_max_event_age == 0 ||
		event->recorded_at - event->occurred_at <= (int64) yq_max_event_age * USECS_PER_SEC)
		return NULL;
	return yq_problem(ERRCODE_DATETIME_FIELD_OVERFLOW,
					  psprintf("CONTAINER_START of container \"%s\" at %s is older than yquota.max_event_age",
							   text_to_cstring(event->container_id),
							   timestamptz_to_str(event->occurred_at)),
					  "Send the instant of the event. To accept an event that old, have it set aside and call yquota.retry_rejects().");
}

static YqProblem *
check_project(YqLedger *ledger, const text *project)
{
	if (project == NULL)
		return yq_problem(ERRCODE_NOT_NULL_VIOLATION,
						  pstrdup("CONTAINER_START names no project"),
						  "Set project, or username in the form project__user.");
	if (!yq_ledger_know_project(ledger, project))
		return yq_problem(ERRCODE_FOREIGN_KEY_VIOLATION,
						  psprintf("project \"%s\" does not exist", text_to_cstring(project)),
						  "Insert it into yquota.project, or turn on yquota.auto_create_project.");
	return NULL;
}

YqProblem *
yq_admit_start(YqLedger *ledger, const YqEvent *event, YqContainer *container)
{
	YqProblem  *problem;

	memset(container, 0, sizeof(*container));
	yq_event_payer(event, &container->project, &container->username);
	problem = yq_admit_check_age(event);
	if (problem == NULL)
		problem = check_start_age(event);
	if (problem == NULL)
		problem = check_project(ledger, container->project);
	if (problem == NULL)
		problem = yq_admit_check_allocation(event->allocation, event->occurred_at);
	if (problem != NULL)
		return problem;

	container->container_id = event->container_id;
	container->application_id = event->application_id;
	container->is_given = yq_event_is_given(event);
	container->state = yq_state_of_event(event);
	yq_state_complete(&container->state, event->container_id, ledger->labels.guaranteed);
	container->label = yq_ledger_label_of(ledger, event->node);
	container->started_at = event->occurred_at;
	container->settled_at = event->occurred_at;
	container->wait = yq_ledger_wait(yq_state_waits(&container->state, ledger->labels.opportunistic) ?
									 container->started_at : DT_NOEND);
	return NULL;
}

/* -- posting ------------------------------------------------------------------- */

/* Carry out the decisions that settle.c and settler.c make. */

bool
yq_posting_price(YqLedger *ledger, YqCharge *charge)
{
	uint64		weight;
	const char *dominant;
	bool		fits;
	ArrayType  *factors = yq_ledger_factor_names(ledger, charge->project,
												 charge->application_id,
												 charge->username, &charge->state,
												 charge->wait, charge->from);
	YqRateClass *rate_class = yq_rate_class_require(charge->state.allocation, factors,
													&weight);

	if (charge->padding > 0)
		fits = yq_rate_class_try_cost_at(rate_class, weight, charge->to,
										 (uint64) charge->padding, &charge->amount, &dominant);
	else
		fits = yq_rate_class_try_cost(rate_class, weight, charge->from, charge->to,
									  &charge->amount, &dominant);
	charge->dominant = dominant == NULL ? NULL : cstring_to_text(dominant);
	if (charge->is_free)
	{
		charge->given_back = charge->amount;
		memset(&charge->amount, 0, sizeof(charge->amount));
		charge->dominant = NULL;
	}
	yq_counters_priced(ledger->counters, charge->to);
	return fits;
}

TimestampTz
yq_posting_free_from(const YqContainerLife *life)
{
	bool		any_source;
	int64		duration;

	if (!life->finished || !life->has_exit_status || life->exit_status != YQ_EXIT_PREEMPTED)
		return DT_NOEND;
	duration = yq_timeline_free_before_preemption(life->started_at, &any_source);
	if (duration == 0 || !(any_source || life->own_preemption))
		return DT_NOEND;
	return Max(life->started_at, life->finished_at - duration);
}

YqCharge
yq_posting_charge(const YqContainer *container, const YqSegment *segment, YqWait wait, bool has_exit_status, int32 exit_status)
{
	YqCharge	charge = {
		.container_id = container->container_id,
		.project = container->project,
		.application_id = container->application_id,
		.username = container->username,
		.state = segment->state,
		.started_at = container->started_at,
		.from = segment->from,
		.to = segment->to,
		.settled_by = segment->settled_by,
		.is_free = segment->is_free,
		.wait = wait
	};

	if (segment->settled_by == YQ_CONTAINER_FINISH)
	{
		charge.has_exit_status = has_exit_status;
		charge.exit_status = exit_status;
	}
	return charge;
}

bool
yq_posting_padding(const YqCharge *finish, YqCharge *padding)
{
	int64		missing = yq_timeline_minimum_run_time(finish->started_at) -
		(finish->to - finish->started_at);

	if (missing <= 0)
		return false;
	*padding = *finish;
	padding->is_free = false;
	memset(&padding->given_back, 0, sizeof(padding->given_back));
	padding->from = finish->to;
	padding->padding = missing;
	return true;
}

bool
yq_posting_accrue(YqLedger *ledger, YqContainer *container)
{
	uint64		weight;
	YqRateClass *rate_class;

	container->factors = yq_ledger_factor_names(ledger, container->project,
												container->application_id,
												container->username, &container->state,
												container->wait, container->settled_at);
	rate_class = yq_rate_class_require(container->state.allocation, container->factors,
									   &weight);
	yq_counters_priced(ledger->counters, container->settled_at);
	return yq_rate_class_try_cost(rate_class, weight, yq_timeline_full_hour(container->settled_at),
								  container->settled_at, &container->accrual_base, NULL);
}

text *
yq_posting_label(YqLedger *ledger, const YqContainer *before, const text *node)
{
	text	   *label = yq_ledger_label_of(ledger, node);

	if (label == NULL && before != NULL && yq_varlena_equal(before->state.node, node))
		return before->label;
	return label;
}

void
yq_posting_count(YqLedger *ledger, const YqContainer *container, int sign)
{
	uint64		weight;
	YqRateClass *rate_class = yq_rate_class_require(container->state.allocation,
													container->factors, &weight);

	yq_counters_accrue(ledger->counters, container->project, rate_class,
					   container->factors, container->settled_at, weight,
					   &container->accrual_base, sign);
	if (!container->wait.waits)
		yq_counters_use(ledger->counters, container->state.queue, container->label,
						container->username, container->state.node,
						container->state.execution_type, container->state.allocation, sign);
	if (container->state.execution_type != ledger->labels.guaranteed)
		yq_counters_share(ledger->counters, container->state.queue, container->username,
						  container->application_id, container->state.allocation, sign);
}

/* -- claims ---------------------------------------------------------------- */

typedef struct Claim
{
	YqIndexScan *scan;			/* scan for a claim; NULL when no other transaction can have claimed the container */
	const text *container_id;
	bool		is_taken;
} Claim;

static bool
is_taken(void *argument, int row, ItemPointer tid, bool may_be_taken)
{
	Claim	   *claim = argument;

	claim->is_taken = may_be_taken && claim->scan != NULL &&
		yq_index_scan_is_taken(claim->scan, claim->container_id, tid);
	return claim->is_taken;
}

static bool
insert(YqLedger *ledger, const YqContainer *container, YqIndexScan *scan)
{
	YqBulkInsert *writer = yq_ledger_container_writer(ledger);
	Claim		claim = {scan, container->container_id, false};

	yq_container_put(ledger, writer, container);
	yq_bulk_insert_claim(writer, NULL, is_taken, &claim);
	CommandCounterIncrement();
	return !claim.is_taken;
}

bool
yq_posting_insert(YqLedger *ledger, const YqContainer *container)
{
	return insert(ledger, container, yq_ledger_containers(ledger));
}

void
yq_posting_replace(YqLedger *ledger, const YqContainer *container)
{
	(void) insert(ledger, container, NULL);
}

void
yq_posting_withdraw(YqLedger *ledger, const text *container_id)
{
	YqIndexScan *scan = yq_ledger_containers(ledger);
	TupleTableSlot *slot = yq_index_scan_find(scan, container_id);

	if (slot == NULL)
		elog(ERROR, "row of a container is missing");
	CommandCounterIncrement();
	if (!yq_claim_delete(yq_index_scan_relation(scan), &slot->tts_tid))
		elog(ERROR, "could not take back the row of a container");
}

bool
yq_posting_claim_resting(YqLedger *ledger, text *container_id)
{
	YqIndexScan *scan = yq_ledger_containers(ledger);
	YqContainer passing = {0};

	if (yq_index_scan_is_ours(scan, container_id))
		return true;
	passing.container_id = passing.project = container_id;
	passing.state.allocation = yq_resource_make(NULL, 0);
	yq_state_complete(&passing.state, container_id, ledger->labels.guaranteed);
	while (yq_index_scan_wait_for(scan, container_id) == NULL)
	{
		if (yq_posting_insert(ledger, &passing))
		{
			yq_posting_withdraw(ledger, container_id);
			return true;
		}
	}
	return false;
}
