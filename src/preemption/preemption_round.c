/*-------------------------------------------------------------------------
 *
 * preemption_round.c
 *	  One round of preemption: selectors in order, then marks and kills.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "common/int.h"
#include "preemption/preemption_round.h"
#include "preemption/preemption_selectors.h"

static bool
is_enabled(const YqPreemptionSettings *settings, YqPreemptionSelector selector)
{
	switch (selector)
	{
		case YQ_SELECTOR_QUEUE_PRIORITY:
			return settings->selects_by_priority;
		case YQ_SELECTOR_RESERVED:
			return settings->selects_by_reserved;
		case YQ_SELECTOR_FIFO:
			return true;
		case YQ_SELECTOR_FIFO_BALANCE:
			return settings->balances_satisfied;
		case YQ_SELECTOR_INTRA_QUEUE:
			return settings->selects_intra_queue;
		case YQ_SELECTORS:
			break;
	}
	pg_unreachable();
}

static void
run(YqPreemption *state, YqPreemptionSelector selector)
{
	state->selector = selector;
	switch (selector)
	{
		case YQ_SELECTOR_QUEUE_PRIORITY:
			yq_select_by_queue_priority(state);
			break;
		case YQ_SELECTOR_RESERVED:
			yq_select_for_reservations(state);
			break;
		case YQ_SELECTOR_FIFO:
		case YQ_SELECTOR_FIFO_BALANCE:
			yq_select_fifo(state);
			break;
		case YQ_SELECTOR_INTRA_QUEUE:
			yq_select_intra_queue(state);
			break;
		case YQ_SELECTORS:
			pg_unreachable();
	}
	if (state->note_selector != NULL)
		state->note_selector(state, selector);
}

/* A wait that is too long for the clock never ends. */
static TimestampTz
end_of_wait(TimestampTz marked_at, int64 wait)
{
	TimestampTz end;

	return pg_add_s64_overflow(marked_at, wait, &end) ? DT_NOEND : end;
}

/*
 * Mark a selected container, or kill it when it has been marked for long enough.  One that
 * is killable stays so: Hadoop tells its application and the scheduler once more.
 */
static void
decide(YqPreemption *state, const YqPreemptionSelection *selection)
{
	YqPreemptionContainer *container = selection->container;
	YqPreemptionOutcomeKind kind = YQ_PREEMPTION_OBSERVED;
	TimestampTz marked_at = container->marked_at;
	TimestampTz kill_at = DT_NOBEGIN;
	bool		was_marked = !TIMESTAMP_IS_NOBEGIN(marked_at);
	bool		acts = !state->settings.observes_only && !container->is_killable;
	YqPreemptionOutcome *outcome;

	if (!was_marked && acts)
	{
		kind = YQ_PREEMPTION_MARKED;
		marked_at = state->now;
	}
	if (!TIMESTAMP_IS_NOBEGIN(marked_at))
		kill_at = end_of_wait(marked_at, yq_preemption_wait(state, selection->selector));
	if (was_marked && kill_at <= state->now && acts)
		kind = state->settings.is_lazy ? YQ_PREEMPTION_KILLABLE : YQ_PREEMPTION_KILLED;
	if (kind == YQ_PREEMPTION_OBSERVED && container->is_unreserved)
		return;
	state->selector = selection->selector;
	outcome = yq_preemption_add_outcome(state, kind, container);
	outcome->marked_at = marked_at;
	outcome->kill_at = kill_at;
	outcome->figures = selection->figures;
}

void
yq_preemption_begin_round(YqPreemption *state, TimestampTz now)
{
	state->now = now;
	yq_amounts_multiply(state->calculator, state->allowed, state->cluster, state->settings.total_per_round);
}

void
yq_preemption_round(YqPreemption *state, TimestampTz now)
{
	yq_preemption_begin_round(state, now);
	for (int selector = 0; selector < YQ_SELECTORS; selector++)
	{
		if (is_enabled(&state->settings, selector))
			run(state, selector);
	}
	for (int i = 0; i < state->selection_count; i++)
		decide(state, &state->selections[i]);
}
