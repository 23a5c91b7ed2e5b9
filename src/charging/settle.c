/*-------------------------------------------------------------------------
 *
 * settle.c
 *	  From accepted events to the ledger: the rule.
 *
 * The records of a container are loaded and its life is assembled.  Events are merged into the life, and a
 * plan of the right records is made.  If the plan equals the present records, settling ends here.
 * Otherwise the transaction claims the container: it deletes the container's row, or inserts a row for a
 * moment when the container is not running.  It then carries out the plan.  When another transaction has
 * changed the records first, settling starts again.
 *
 * Loading is in settle_load.c.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "access/xact.h"
#include "charging/posting.h"
#include "charging/settle.h"
#include "charging/settle_load.h"
#include "miscadmin.h"
#include "pricing/timeline.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

/* A plan: the new records of a container. */
typedef struct RecordsPlan
{
	int			charge_count;
	YqCharge   *charges;		/* charges that should be in effect in the ledger */
	bool	   *is_posted;		/* for each planned charge: true if the ledger already has the charge */
	bool	   *stays;			/* for each loaded row: true if the row stays in effect */
	bool		runs;
	YqContainer container;		/* row of the running container; valid if the container runs */
	bool		container_changes;
} RecordsPlan;

/* State that is passed from one attempt to settle to the next. */
typedef struct Attempt
{
	bool		claimed;		/* this transaction has claimed the container, which is not running */
	bool		has_taken;		/* settle only those waiting events whose rows this transaction has deleted */
	int			waiting_count;
	YqEvent   **waiting;
} Attempt;

typedef struct BadEvent
{
	const YqEvent *event;
	YqProblem  *problem;
} BadEvent;

/* Events of an attempt that are not merged into the life. */
typedef struct LeftOut
{
	BadEvent   *bad_events;
	int			bad_count;
	const YqEvent **known;		/* events that change nothing */
	int			known_count;
} LeftOut;

/* -- merging ------------------------------------------------------------- */

static int
compare_in_merge(const void *a, const void *b)
{
	const YqEvent *left = *(const YqEvent *const *) a;
	const YqEvent *right = *(const YqEvent *const *) b;
	bool		left_starts = (left->kind == YQ_CONTAINER_START);
	bool		right_starts = (right->kind == YQ_CONTAINER_START);

	/* Only a container that has started can be updated or finished. */
	if (left_starts != right_starts)
		return left_starts ? -1 : 1;
	if (left->occurred_at != right->occurred_at)
		return left->occurred_at < right->occurred_at ? -1 : 1;
	if (left->kind != right->kind)
		return (int) left->kind - (int) right->kind;
	/* a repeated START becomes a change at its recorded instant */
	if (left_starts && left->recorded_at != right->recorded_at)
		return left->recorded_at < right->recorded_at ? -1 : 1;
	return 0;
}

/* Check an event against the configuration, and return the problem or NULL. */
static YqProblem *
check_in_context(YqLedger *ledger, const YqContainerLife *life, const YqEvent *event)
{
	YqContainer container;

	if (event->kind == YQ_CONTAINER_START && !life->started)
		return yq_admit_start(ledger, event, &container);
	if (!life->started && yq_admit_check_age(event) != NULL)
		return yq_admit_check_age(event);
	if (event->allocation != NULL)
		return yq_admit_check_allocation(event->allocation, event->occurred_at);
	return NULL;
}

static void
add_bad_event(LeftOut *left_out, const YqEvent *event, YqProblem *problem)
{
	left_out->bad_events[left_out->bad_count].event = event;
	left_out->bad_events[left_out->bad_count++].problem = problem;
}

/* Merge an event into the life.  If that fails, add it to the omitted events. */
static YqMerge
merge_event(YqLedger *ledger, YqContainerLife *life, const YqEvent *event, LeftOut *left_out)
{
	YqProblem  *problem = check_in_context(ledger, life, event);
	YqMerge		merge = YQ_MERGE_BAD;

	if (problem == NULL)
		merge = yq_container_life_merge(life, event, &problem);
	if (merge == YQ_MERGE_BAD)
		add_bad_event(left_out, event, problem);
	else if (merge == YQ_MERGE_KNOWN)
		left_out->known[left_out->known_count++] = event;
	else if (event->kind == YQ_CONTAINER_START)
		yq_state_complete(&life->initial, life->container_id, ledger->labels.guaranteed);
	return merge;
}

static LeftOut
nothing_left_out(int room)
{
	LeftOut		left_out = {palloc(sizeof(BadEvent) * (room + 1)), 0,
	palloc(sizeof(YqEvent *) * (room + 1)), 0};

	return left_out;
}

/* Merge events in order.  Returns false when all events are bad. */
static bool
merge_events(YqLedger *ledger, YqContainerLife *life, const YqEvent *const *events, int count,
			 LeftOut *left_out)
{
	bool		any = false;

	for (int i = 0; i < count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		any |= (merge_event(ledger, life, events[i], left_out) != YQ_MERGE_BAD);
	}
	return any;
}

/* -- planning ------------------------------------------------------------ */

/* Set the columns that all rows of a container share: its names and its START. */
static void
name_container(YqContainer *container, const YqContainerLife *life)
{
	container->container_id = life->container_id;
	container->project = life->project;
	container->application_id = life->application_id;
	container->username = life->username;
	container->is_given = life->is_given;
	container->started_at = life->started_at;
}

/* Plan the charges that should be in effect in the ledger.  Returns false when an amount is out of range. */
static bool
plan_charges(YqLedger *ledger, const YqContainerLife *life, RecordsPlan *plan)
{
	YqSegment  *segments;
	const YqTimeline *timeline = yq_timeline_cached();
	int			count = yq_container_life_segments(life, timeline->period_ends,
												   timeline->period_count, &segments);

	plan->charges = palloc(sizeof(YqCharge) * (count + 1));
	plan->is_posted = palloc0(sizeof(bool) * (count + 1));
	for (int i = 0; i < count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		plan->charges[i] = yq_posting_charge(&plan->container, &segments[i], yq_ledger_wait(segments[i].waits_since),
											 life->has_exit_status, life->exit_status);
		if (!yq_posting_price(ledger, &plan->charges[i]))
			return false;
	}
	plan->charge_count = count;
	if (life->finished &&
		yq_posting_padding(&plan->charges[count - 1], &plan->charges[count]))
	{
		plan->charge_count++;
		return yq_posting_price(ledger, &plan->charges[count]);
	}
	return true;
}

static bool
charge_equal(const YqCharge *a, const YqCharge *b)
{
	return a->from == b->from && a->to == b->to &&
		a->started_at == b->started_at &&
		a->settled_by == b->settled_by &&
		a->padding == b->padding &&
		a->has_exit_status == b->has_exit_status &&
		a->exit_status == b->exit_status &&
		yq_wide_compare(&a->amount, &b->amount) == 0 &&
		a->is_free == b->is_free &&
		yq_wide_compare(&a->given_back, &b->given_back) == 0 &&
		yq_wait_equal(a->wait, b->wait) &&
		yq_varlena_equal(a->dominant, b->dominant) &&
		yq_allocation_equal(a->state.allocation, b->state.allocation) &&
		a->state.execution_type == b->state.execution_type &&
		yq_varlena_equal(a->state.queue, b->state.queue) &&
		yq_varlena_equal(a->state.node, b->state.node) &&
		yq_varlena_equal(a->project, b->project) &&
		yq_varlena_equal(a->application_id, b->application_id) &&
		yq_varlena_equal(a->username, b->username);
}

/* Compare two charges by time.  Padding sorts last. */
static int
compare_in_time(const YqCharge *a, const YqCharge *b)
{
	if (a->from != b->from)
		return a->from < b->from ? -1 : 1;
	if (a->to != b->to)
		return a->to < b->to ? -1 : 1;
	return a->padding == b->padding ? 0 : a->padding < b->padding ? -1 : 1;
}

/* Compare pointers to rows by time.  Rows with equal times keep the order in which they were loaded. */
static int
compare_present(const void *a, const void *b)
{
	const YqCharge *left = *(const YqCharge *const *) a;
	const YqCharge *right = *(const YqCharge *const *) b;
	int			order = compare_in_time(left, right);

	return order != 0 ? order : left < right ? -1 : left > right;
}

/* Pair present charges with planned charges; both lists are in time order.  Returns true when all pairs agree. */
static bool
compare_ledger(const YqContainerRecords *loaded, RecordsPlan *plan)
{
	const YqCharge **present = palloc(sizeof(YqCharge *) * Max(loaded->charge_count, 1));
	int			present_count = 0;
	int			paired = 0;
	int			j = 0;

	plan->stays = palloc0(sizeof(bool) * Max(loaded->charge_count, 1));
	for (int i = 0; i < loaded->charge_count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (loaded->in_effect[i])
			present[present_count++] = &loaded->charges[i];
	}
	qsort(present, present_count, sizeof(YqCharge *), compare_present);

	for (int i = 0; i < present_count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		while (j < plan->charge_count && compare_in_time(&plan->charges[j], present[i]) < 0)
		{
			CHECK_FOR_INTERRUPTS();
			j++;
		}
		if (j == plan->charge_count || !charge_equal(present[i], &plan->charges[j]))
			continue;
		plan->is_posted[j++] = plan->stays[present[i] - loaded->charges] = true;
		paired++;
	}
	pfree(present);
	return paired == present_count && paired == plan->charge_count;
}

/* Return the number of ledger rows that the container will have under the plan. */
static int32
planned_charges(const YqContainerRecords *loaded, const RecordsPlan *plan)
{
	int32		number = loaded->last_number;

	for (int i = 0; i < loaded->charge_count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		number += loaded->in_effect[i] && !plan->stays[i];
	}
	for (int j = 0; j < plan->charge_count; j++)
	{
		CHECK_FOR_INTERRUPTS();
		number += !plan->is_posted[j];
	}
	return number;
}

/* Plan the row of a running container.  Returns false when its accrual is out of range. */
static bool
plan_container(YqLedger *ledger, const YqContainerRecords *loaded,
			   const YqContainerLife *life, RecordsPlan *plan)
{
	YqContainer *container = &plan->container;
	const YqContainer *old = &loaded->container;

	plan->runs = !life->finished;
	plan->container_changes = (loaded->running != plan->runs);
	if (!plan->runs)
		return true;

	container->state = yq_container_life_last_state(life);
	container->settled_at = Max(yq_container_life_last_settled_at(life), yq_timeline_last_period_end());
	container->wait = yq_ledger_wait(yq_container_life_waits_since(life));
	container->label = yq_posting_label(ledger, loaded->running ? old : NULL, container->state.node);
	if (!yq_posting_accrue(ledger, container))
		return false;
	if (loaded->running)
		plan->container_changes =
			old->settled_at != container->settled_at ||
			!yq_allocation_equal(old->state.allocation, container->state.allocation) ||
			old->state.execution_type != container->state.execution_type ||
			!yq_varlena_equal(old->state.queue, container->state.queue) ||
			!yq_varlena_equal(old->state.node, container->state.node) ||
			!yq_state_role_equal(&old->state, &container->state) ||
			!yq_varlena_equal(old->label, container->label) ||
			!yq_wait_equal(old->wait, container->wait) ||
			!yq_varlena_equal(old->factors, container->factors) ||
			yq_wide_compare(&old->accrual_base, &container->accrual_base) != 0;
	return true;
}

/* Plan the records of a life.  Returns false when an amount is out of range. */
static bool
make_plan(YqLedger *ledger, const YqContainerRecords *loaded, YqContainerLife *life,
		  RecordsPlan *plan)
{
	YqContainerLife relabelled;

	memset(plan, 0, sizeof(*plan));
	name_container(&plan->container, life);
	life->free_from = yq_posting_free_from(life);
	relabelled = yq_container_life_relabelled(life);
	return plan_charges(ledger, &relabelled, plan) &&
		plan_container(ledger, loaded, &relabelled, plan);
}

/* Tell whether all amounts are in range after events have been merged. */
static bool
would_fit(YqLedger *ledger, const YqContainerRecords *loaded, const YqContainerLife *life,
		  const YqEvent *const *events, int count)
{
	YqContainerLife longer = yq_container_life_copy(life);
	LeftOut		left_out = nothing_left_out(count);
	RecordsPlan plan;

	return !merge_events(ledger, &longer, events, count, &left_out) ||
		make_plan(ledger, loaded, &longer, &plan);
}

/*
 * Merge events, but omit each event after which an amount would be out of range.  Such an event is
 * a START, or ends a segment.  The function tries several events at once.  It halves their number
 * when an amount is out of range, and otherwise doubles it.
 */
static void
merge_what_fits(YqLedger *ledger, const YqContainerRecords *loaded, YqContainerLife *life,
				RecordsPlan *plan, const YqEvent **events, int count, LeftOut *left_out)
{
	MemoryContext trial = AllocSetContextCreate(CurrentMemoryContext, "yquota trial", ALLOCSET_DEFAULT_SIZES);
	int			together = Max(count / 2, 1);

	*life = yq_container_life_copy(&loaded->life);
	left_out->bad_count = left_out->known_count = 0;
	for (int i = 0; i < count;)
	{
		MemoryContext old_context = MemoryContextSwitchTo(trial);
		bool		fits;

		CHECK_FOR_INTERRUPTS();
		together = Min(together, count - i);
		fits = would_fit(ledger, loaded, life, events + i, together);
		MemoryContextSwitchTo(old_context);
		MemoryContextReset(trial);
		if (!fits && together > 1)
		{
			together /= 2;
			continue;
		}
		if (fits)
			(void) merge_events(ledger, life, events + i, together, left_out);
		else
			add_bad_event(left_out, events[i],
						  yq_problem(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE,
									 psprintf("cost of container \"%s\" is out of range",
											  text_to_cstring(life->container_id)),
									 "Lower the base price, the multiplier or the factor that was in force, or correct the allocation."));
		i += together;
		together *= fits ? 2 : 1;
	}
	MemoryContextDelete(trial);
	if (left_out->bad_count < count && !make_plan(ledger, loaded, life, plan))
		elog(ERROR, "amounts of container \"%s\" fitted before", text_to_cstring(life->container_id));
}

/* -- carrying out -------------------------------------------------------- */

/*
 * Claim the container, so that no other transaction changes its records until this transaction
 * ends.  Returns false when the caller has to load the records again: they have changed since they
 * were loaded, or the container was claimed only now.
 */
static bool
claim_container(YqSettler *settler, const YqContainerRecords *loaded, const RecordsPlan *plan,
				bool *claimed)
{
	YqLedger   *ledger = settler->ledger;

	if (loaded->running)
		return yq_claim_delete(yq_index_scan_relation(yq_ledger_containers(ledger)),
							 (ItemPointer) &loaded->container.tid);
	if (!*claimed)
	{
		*claimed = yq_posting_claim_resting(ledger, loaded->life.container_id);
		return false;
	}
	return !plan->runs || yq_posting_insert(ledger, &plan->container);
}

static void
post_ledger(YqLedger *ledger, const YqContainerRecords *loaded, RecordsPlan *plan)
{
	int32		number = loaded->last_number;

	for (int i = 0; i < loaded->charge_count; i++)
	{
		YqCharge	reversal = loaded->charges[i];

		CHECK_FOR_INTERRUPTS();
		if (!loaded->in_effect[i] || plan->stays[i])
			continue;
		reversal.corrects = reversal.number;
		reversal.number = ++number;
		yq_wide_negate(&reversal.amount);
		yq_wide_negate(&reversal.given_back);
		yq_charge_put(ledger, &reversal);
	}
	for (int i = 0; i < plan->charge_count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (plan->is_posted[i])
			continue;
		plan->charges[i].number = ++number;
		yq_charge_put(ledger, &plan->charges[i]);
	}
}

static void
post_changes(YqLedger *ledger, const YqContainerRecords *loaded, const YqContainerLife *life)
{
	YqChange	start = {.occurred_at = life->started_at,.set = life->initial};
	bool		has_changes = loaded->has_changes;

	/* record that the container never ran, because the ledger does not show it */
	if (!has_changes && life->finished && life->initial.is_running == YQ_ANSWER_NO)
	{
		yq_change_put(ledger, life->container_id, YQ_CONTAINER_START, &start);
		has_changes = true;
	}
	for (int i = 0; i < life->change_count; i++)
	{
		const YqChange *change = yq_container_life_change(life, i);

		CHECK_FOR_INTERRUPTS();
		if (!change->is_new)
			continue;
		if (!has_changes)
			yq_change_put(ledger, life->container_id, YQ_CONTAINER_START, &start);
		has_changes = true;
		yq_change_put(ledger, life->container_id, YQ_CONTAINER_UPDATE, change);
	}
}

/*
 * Tell whether a change has not been recorded yet.  A change without effect is recorded, too, so
 * that its event is recognized when it arrives again.
 */
static bool
has_new_changes(const YqContainerLife *life)
{
	for (int i = 0; i < life->change_count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (yq_container_life_change(life, i)->is_new)
			return true;
	}
	return false;
}

/*
 * Tell whether a preemption by yquota has not been recorded yet.  A transaction that records it
 * claims the container.  The claim conflicts with a transaction that ends the container earlier.
 */
static bool
has_new_preemption(const YqContainerLife *before, const YqContainerLife *after)
{
	bool		any_source;

	return after->own_preemption && !before->own_preemption &&
		yq_timeline_free_before_preemption(after->started_at, &any_source) > 0;
}

/*
 * Return the instant before which two lives of a container cost the same.  Returns DT_NOEND if the
 * lives are equal.  Changes of prices are not considered; pricing_change records them with the
 * instant from which they apply.
 */
static TimestampTz
changed_from(const YqContainerLife *before, const YqContainerLife *after)
{
	TimestampTz from = DT_NOEND;

	if (!before->started)
		return after->started_at;
	for (int i = 0; i < after->change_count; i++)
	{
		const YqChange *change = yq_container_life_change(after, i);

		CHECK_FOR_INTERRUPTS();
		if (change->is_new)
			from = Min(from, change->occurred_at);
	}
	if (after->finished && (!before->finished || before->finished_at != after->finished_at))
		from = Min(from, after->finished_at);
	if (before->finished && (!after->finished || before->finished_at != after->finished_at))
		from = Min(from, before->finished_at);
	if (before->free_from != after->free_from)
		from = Min(from, Min(before->free_from, after->free_from));
	return from;
}

/* Carry out a plan.  If another transaction has changed the records first, returns false and does nothing. */
static bool
carry_out(YqSettler *settler, const YqContainerRecords *loaded, const YqContainerLife *life,
		  RecordsPlan *plan, bool *claimed)
{
	YqLedger   *ledger = settler->ledger;
	TimestampTz from = changed_from(&loaded->life, life);

	if (!claim_container(settler, loaded, plan, claimed))
		return false;
	if (from != DT_NOEND)
		yq_counters_changed_from(ledger->counters, life->project, from);
	if (loaded->running)
		yq_posting_count(ledger, &loaded->container, -1);
	if (loaded->running && plan->runs)
		yq_posting_replace(ledger, &plan->container);
	if (plan->runs)
		yq_posting_count(ledger, &plan->container, 1);
	post_ledger(ledger, loaded, plan);
	post_changes(ledger, loaded, life);
	return true;
}

/* -- the rule ------------------------------------------------------------ */

/*
 * Delete the row of an event that waited.  Returns false if another transaction has deleted or
 * locked the row.  The function does not wait for that transaction.  If that transaction moves
 * the row to container_event, it waits for the container, which this transaction may have
 * claimed.
 */
static bool
take_back_waiting(YqLedger *ledger, const YqEvent *event)
{
	bool		is_taken;
	bool		is_locked;

	/* signal a change, so that this session reads the table again after a rollback, which brings the row back */
	yq_catalog_signal_change(YQ_EVENT_REJECT);
	is_taken = yq_claim_delete_unlocked(yq_index_scan_relation(yq_ledger_waiting(ledger)),
										(ItemPointer) &event->reject_tid, &is_locked);
	if (is_locked)
		yq_ledger_note_skipped(ledger, event);
	return is_taken;
}

/* Report bad events.  Events that wait for a refused START continue to wait. */
static void
report_bad_events(YqSettler *settler, const LeftOut *left_out, bool started, bool has_taken)
{
	for (int i = 0; i < left_out->bad_count; i++)
	{
		const BadEvent *bad = &left_out->bad_events[i];
		const YqEvent *event = bad->event;

		CHECK_FOR_INTERRUPTS();
		if (!event->waited)
			settler->bad_event(settler->argument, event, bad->problem);
		else if (has_taken || (started && take_back_waiting(settler->ledger, event)))
			yq_reject_put(settler->ledger, event, bad->problem, !started);
	}
}

/* Record the ends that the events report, except for the bad events.  "bad" is in the order of the events. */
static void
note_ends(YqLedger *ledger, const YqContainerLife *known, const YqEvent **events, int count,
		  const BadEvent *bad_events, int bad_count)
{
	int			bad = 0;
	int			good = 0;

	for (int i = 0; i < count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (bad < bad_count && bad_events[bad].event == events[i])
			bad++;
		else
			events[good++] = events[i];
	}
	yq_reported_end_note(ledger, known, events, good);
}

/*
 * Record the events that change nothing.  An event that waits may be handled by another
 * transaction.  The first FINISH that reports a preemption by yquota is not recorded here, because
 * it has an effect.
 */
static void
note_known_events(YqLedger *ledger, const LeftOut *left_out, bool has_taken, bool preemption_is_news)
{
	for (int i = 0; i < left_out->known_count; i++)
	{
		const YqEvent *event = left_out->known[i];

		CHECK_FOR_INTERRUPTS();
		if (event->waited && !has_taken && !take_back_waiting(ledger, event))
			continue;
		if (!preemption_is_news || !yq_event_tells_preemption(event) || !yq_event_is_own(event))
			yq_ledger_note_without_effect(ledger, event);
	}
}

/*
 * Delete the rows of the waiting events before the records include these events, because another
 * transaction may be discarding such an event.  The container is claimed first, as when a container
 * is voided.  Returns false when the caller has to settle again.  If only some rows could be
 * deleted, the caller then settles only the events of these rows.
 */
static bool
take_waiting(YqSettler *settler, const YqContainerRecords *loaded, Attempt *attempt)
{
	YqLedger   *ledger = settler->ledger;
	int			taken = 0;
	bool		has_all;

	if (attempt->has_taken || attempt->waiting_count == 0)
		return true;
	if (loaded->running)
	{
		if (!yq_claim_lock(yq_index_scan_relation(yq_ledger_containers(ledger)),
						 (ItemPointer) &loaded->container.tid))
			return false;
	}
	else if (!attempt->claimed)
	{
		attempt->claimed = yq_posting_claim_resting(ledger, loaded->life.container_id);
		return false;
	}

	for (int i = 0; i < attempt->waiting_count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (take_back_waiting(ledger, attempt->waiting[i]))
			attempt->waiting[taken++] = attempt->waiting[i];
	}
	has_all = (taken == attempt->waiting_count);
	attempt->waiting_count = taken;
	attempt->has_taken = true;
	return has_all;
}

/*
 * Try to settle.  Returns false if another transaction has changed the container in the meantime.
 * *corrected tells whether the records were changed.
 */
static bool
try_to_settle(YqSettler *settler, text *container_id,
			  const YqEvent *const *events, int count, Attempt *attempt, bool *corrected)
{
	YqLedger   *ledger = settler->ledger;
	YqContainerRecords loaded;
	YqContainerLife life;
	RecordsPlan	plan;
	const YqEvent **all;
	int			all_count;
	LeftOut		left_out;

	yq_settle_load_records(ledger, &loaded, container_id);
	if (!attempt->has_taken)
		attempt->waiting_count = settler->anything_waiting &&
			(loaded.life.started || (count > 0 && events[0]->kind == YQ_CONTAINER_START)) ?
			yq_settle_load_waiting(ledger, container_id, &attempt->waiting) : 0;

	all_count = count + attempt->waiting_count;
	all = palloc(sizeof(YqEvent *) * (all_count + 1));
	if (count > 0)
		memcpy(all, events, sizeof(YqEvent *) * count);
	if (attempt->waiting_count > 0)
		memcpy(all + count, attempt->waiting, sizeof(YqEvent *) * attempt->waiting_count);

	qsort(all, all_count, sizeof(YqEvent *), compare_in_merge);

	life = yq_container_life_copy(&loaded.life);
	left_out = nothing_left_out(all_count);
	(void) merge_events(ledger, &life, all, all_count, &left_out);
	if (life.started && !make_plan(ledger, &loaded, &life, &plan))
	{
		/* there is no event, so the timelines are the cause of the error */
		if (all_count == 0)
			yq_amount_out_of_range();
		merge_what_fits(ledger, &loaded, &life, &plan, all, all_count, &left_out);
	}
	if (!life.started || (all_count > 0 && left_out.bad_count == all_count))
	{
		report_bad_events(settler, &left_out, life.started, attempt->has_taken);
		return true;
	}

	*corrected = !compare_ledger(&loaded, &plan) || plan.container_changes ||
		has_new_changes(&life) || has_new_preemption(&loaded.life, &life);
	plan.container.charges = planned_charges(&loaded, &plan);
	if (*corrected &&
		(!take_waiting(settler, &loaded, attempt) ||
		 !carry_out(settler, &loaded, &life, &plan, &attempt->claimed)))
		return false;
	report_bad_events(settler, &left_out, true, attempt->has_taken);
	note_ends(ledger, &loaded.life, all, all_count, left_out.bad_events, left_out.bad_count);
	note_known_events(ledger, &left_out, attempt->has_taken,
					  has_new_preemption(&loaded.life, &life));
	return true;
}

bool
yq_settle_events(YqSettler *settler, text *container_id,
				 const YqEvent *const *events, int count)
{
	MemoryContext old_context = MemoryContextSwitchTo(settler->container_context);
	Attempt		attempt = {0};
	bool		corrected = false;

	while (!try_to_settle(settler, container_id, events, count, &attempt, &corrected))
		CHECK_FOR_INTERRUPTS();
	MemoryContextSwitchTo(old_context);
	MemoryContextReset(settler->container_context);
	return corrected;
}

/* -- voiding ------------------------------------------------------------- */

static void
check_voidable(const YqContainerLife *life)
{
	TimestampTz horizon = yq_timeline_cached()->horizon;

	if (life->started_at >= horizon)
		return;
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("cannot void container \"%s\", which started before the archive horizon at %s",
					text_to_cstring(life->container_id), timestamptz_to_str(horizon)),
			 errdetail("The container started at %s. A START before the horizon is accepted only while its container is in the books.",
					   timestamptz_to_str(life->started_at)),
			 errhint("Give credit back with yquota.quota_grant.")));
}

static void
forget_changes(YqLedger *ledger, const text *container_id)
{
	YqIndexScan *scan = yq_ledger_changes(ledger);
	TupleTableSlot *slot;

	yq_index_scan_seek(scan, container_id);
	while ((slot = yq_index_scan_next(scan)) != NULL)
	{
		CHECK_FOR_INTERRUPTS();
		if (!yq_claim_delete(yq_index_scan_relation(scan), &slot->tts_tid))
			elog(ERROR, "could not delete a change of a container");
	}
}

/*
 * Try to void a container by carrying out a plan without records.  Returns false if another
 * transaction has changed the container in the meantime.
 */
static bool
try_to_void(YqSettler *settler, text *container_id, YqVoided *voided, bool *claimed)
{
	YqContainerRecords loaded;
	RecordsPlan	plan = {0};

	yq_settle_load_records(settler->ledger, &loaded, container_id);
	voided->project = loaded.life.project;
	voided->application_id = loaded.life.application_id;
	if (!loaded.life.started)
		return true;
	check_voidable(&loaded.life);

	plan.stays = palloc0(sizeof(bool) * Max(loaded.charge_count, 1));
	if (!carry_out(settler, &loaded, &loaded.life, &plan, claimed))
		return false;
	yq_counters_changed_from(settler->ledger->counters, loaded.life.project,
							 loaded.life.started_at);
	if (loaded.has_changes)
		forget_changes(settler->ledger, container_id);
	memset(&voided->amount, 0, sizeof(YqWide));
	for (int i = 0; i < loaded.charge_count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (loaded.in_effect[i])
			yq_wide_add(&voided->amount, &loaded.charges[i].amount);
	}
	voided->was_running = loaded.running;
	voided->charges = planned_charges(&loaded, &plan);
	return true;
}

bool
yq_settle_void(YqSettler *settler, const text *container_id, YqVoided *voided)
{
	MemoryContext old_context = MemoryContextSwitchTo(settler->container_context);
	bool		claimed = false;

	while (!try_to_void(settler, (text *) container_id, voided, &claimed))
		CHECK_FOR_INTERRUPTS();
	MemoryContextSwitchTo(old_context);
	voided->project = yq_varlena_copy(voided->project);
	voided->application_id = yq_varlena_copy(voided->application_id);
	MemoryContextReset(settler->container_context);
	return voided->project != NULL;
}
