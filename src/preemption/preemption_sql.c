/*-------------------------------------------------------------------------
 *
 * preemption_sql.c
 *	  Offers rounds of preemption as SQL functions, see
 *	  sql/preemption/385_preemption.sql.
 *
 * A round computes without the scheduler's lock, and takes the lock to write.  If
 * another round, or a change of the configuration, was committed in the meantime, it
 * computes again under the lock.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include <math.h>

#include "access/htup_details.h"
#include "admission/application/queue_lock.h"
#include "admission/configuration/config_refresh.h"
#include "admission/configuration/scheduler_setting.h"
#include "base/arguments.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "preemption/ideal_allocation.h"
#include "preemption/preemption_round.h"
#include "preemption/record_preemption.h"
#include "scheduler/load/cluster_load.h"
#include "scheduler/record/scheduler_journal.h"
#include "store/clock.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

PG_FUNCTION_INFO_V1(yq_sql_minimum_containers);
PG_FUNCTION_INFO_V1(yq_sql_preempt_containers);
PG_FUNCTION_INFO_V1(yq_sql_preemption_figures);

/* Columns of the result of preempt_containers(), in order. */
typedef enum ResultColumn
{
	RESULT_OUTCOME,
	RESULT_CONTAINER_ID,
	RESULT_APPLICATION_ID,
	RESULT_USERNAME,
	RESULT_QUEUE,
	RESULT_NODE,
	RESULT_LABEL,
	RESULT_ALLOCATION,
	RESULT_SELECTOR,
	RESULT_MARKED_AT,
	RESULT_KILL_AT,
	RESULT_KILLED_AT,
	RESULT_USED,
	RESULT_GUARANTEED,
	RESULT_IDEAL,
	RESULT_TO_BE_PREEMPTED,
	RESULT_ACTUALLY_TO_BE_PREEMPTED,
	RESULT_REASON,
	RESULT_COLUMNS
} ResultColumn;

/* Columns of the result of preemption_figures(), in order. */
typedef enum FigureColumn
{
	FIGURE_QUEUE,
	FIGURE_LABEL,
	FIGURE_ORDINAL,
	FIGURE_GUARANTEED,
	FIGURE_MAXIMUM,
	FIGURE_USED,
	FIGURE_PENDING,
	FIGURE_IDEAL,
	FIGURE_TO_BE_PREEMPTED,
	FIGURE_ACTUALLY_TO_BE_PREEMPTED,
	FIGURE_DEAD_ZONE_LIMIT,
	FIGURE_UNTOUCHABLE,
	FIGURE_IS_DISABLED,
	FIGURE_DISABLED_BY,
	FIGURE_COLUMNS
} FigureColumn;

#define MOST_COLUMNS Max((int) RESULT_COLUMNS, (int) FIGURE_COLUMNS)

typedef struct ResultRow
{
	ReturnSetInfo *result;
	const YqHierarchy *hierarchy;
	MemoryContext context;		/* memory context of the values of a row */
	Datum		values[MOST_COLUMNS];
	bool		nulls[MOST_COLUMNS];
} ResultRow;

/* -- rows --------------------------------------------------------------------------- */

static void
set_result(ResultRow *row, int column, Datum value)
{
	row->values[column] = value;
	row->nulls[column] = false;
}

static void
set_result_text(ResultRow *row, int column, const char *text)
{
	if (text != NULL)
		set_result(row, column, CStringGetTextDatum(text));
}

static void
set_result_amounts(ResultRow *row, int column, const int64 *amounts)
{
	set_result(row, column, yq_hierarchy_resource(row->hierarchy, amounts));
}

static void
set_result_figure(ResultRow *row, int column, const int64 *amounts)
{
	set_result(row, column, yq_preemption_figure(row->hierarchy, amounts));
}

static void
set_result_time(ResultRow *row, int column, TimestampTz time)
{
	if (!TIMESTAMP_IS_NOBEGIN(time))
		set_result(row, column, TimestampTzGetDatum(time));
}

static void
begin_row(ResultRow *row)
{
	MemoryContextReset(row->context);
	memset(row->nulls, true, sizeof(row->nulls));
}

static void
put_row(ResultRow *row)
{
	tuplestore_putvalues(row->result->setResult, row->result->setDesc, row->values, row->nulls);
}

static ResultRow
make_row(FunctionCallInfo fcinfo, const YqHierarchy *hierarchy)
{
	return (ResultRow) {.result = (ReturnSetInfo *) fcinfo->resultinfo,.hierarchy = hierarchy,
		.context = AllocSetContextCreate(CurrentMemoryContext, "yquota preemption row", ALLOCSET_SMALL_SIZES)};
}

/* -- outcomes ----------------------------------------------------------------------- */

static const char *const outcome_names[] = {
	[YQ_PREEMPTION_MARKED] = "marked",
	[YQ_PREEMPTION_OBSERVED] = "observed",
	[YQ_PREEMPTION_KILLED] = "killed",
	[YQ_PREEMPTION_KILLABLE] = "killable",
	[YQ_PREEMPTION_UNRESERVED] = "unreserved",
	[YQ_PREEMPTION_MOVED] = "moved",
};

static void
set_why(ResultRow *row, const YqPreemptionFigures *figures)
{
	if (figures == NULL)
		return;
	set_result_amounts(row, RESULT_USED, figures->used);
	set_result_amounts(row, RESULT_GUARANTEED, figures->guaranteed);
	set_result_figure(row, RESULT_IDEAL, figures->ideal);
	set_result_figure(row, RESULT_TO_BE_PREEMPTED, figures->to_be_preempted);
	set_result_figure(row, RESULT_ACTUALLY_TO_BE_PREEMPTED, figures->obtain);
}

static void
fill_outcome(ResultRow *row, const YqLoadedPreemption *preemption, const YqPreemptionOutcome *outcome, bool is_done)
{
	const YqPreemptionContainer *container = outcome->container;

	set_result_text(row, RESULT_OUTCOME, is_done ? outcome_names[outcome->kind] : "observed");
	set_result_text(row, RESULT_CONTAINER_ID, container->container_id);
	set_result_text(row, RESULT_APPLICATION_ID, container->application->application_id);
	set_result_text(row, RESULT_USERNAME, container->application->user->username);
	set_result_text(row, RESULT_QUEUE, container->application->leaf->path);
	set_result_text(row, RESULT_NODE, outcome->node != NULL ? outcome->node->name : container->node->name);
	set_result_text(row, RESULT_LABEL, row->hierarchy->labels[container->node->label]);
	set_result_amounts(row, RESULT_ALLOCATION, container->amounts);
	set_result_text(row, RESULT_SELECTOR, yq_preemption_selector_name(outcome->selector));
	set_result_time(row, RESULT_MARKED_AT, outcome->marked_at);
	set_result_time(row, RESULT_KILL_AT, outcome->kill_at);
	if (outcome->kind == YQ_PREEMPTION_KILLED && is_done)
		set_result_time(row, RESULT_KILLED_AT, preemption->recorded_at);
	set_why(row, outcome->figures);
	if (!is_done)
		set_result_text(row, RESULT_REASON, "it has ended or changed since the round began, or is just changing");
	else if (outcome->kind == YQ_PREEMPTION_KILLED && preemption->configuration.is_advising)
		set_result_text(row, RESULT_REASON, "advised: the resource manager is to end it");
	else if (container->is_killable)
		set_result_text(row, RESULT_REASON, "it is killable already: it ends when its room is needed");
	else if (preemption->state->settings.observes_only)
		set_result_text(row, RESULT_REASON, "the round only observes: preemption_observe_only is on");
}

/*
 * Explain why a leaf gives up nothing on a label.  Returns NULL if the leaf gives something
 * up, or has no excess.
 */
static const char *
reason_to_spare(const YqPreemption *state, const YqPreemptionQueue *leaf, int label)
{
	const YqPreemptionQueueLabel *entry = &leaf->labels[label];

	if (yq_amounts_are_none(state->calculator, entry->used))
		return NULL;
	if (yq_amounts_compare(state->calculator, state->totals[label], entry->used, entry->guaranteed) <= 0)
		return "it uses no more than its guarantee";
	if (leaf->is_disabled)
		return "preemption is disabled";
	if (!yq_amounts_any_above_none(state->calculator, entry->to_be_preempted))
		return "the demand of queues below their guarantees is met without it";
	if (!yq_amounts_any_above_none(state->calculator, entry->obtain))
		return "the excess is within max_ignored_over_capacity, or too small for natural_termination_factor";
	return NULL;
}

static void
put_spared(ResultRow *row, const YqPreemption *state)
{
	for (int i = 0; i < state->queue_count; i++)
	{
		const YqPreemptionQueue *leaf = state->queues[i];

		CHECK_FOR_INTERRUPTS();
		for (int label = 0; leaf->is_leaf && label < state->label_count; label++)
		{
			const YqPreemptionQueueLabel *entry = &leaf->labels[label];
			const char *reason = reason_to_spare(state, leaf, label);

			if (reason == NULL)
				continue;
			begin_row(row);
			set_result_text(row, RESULT_OUTCOME, "spared");
			set_result_text(row, RESULT_QUEUE, leaf->path);
			set_result_text(row, RESULT_LABEL, row->hierarchy->labels[label]);
			set_result_amounts(row, RESULT_USED, entry->used);
			set_result_amounts(row, RESULT_GUARANTEED, entry->guaranteed);
			set_result_figure(row, RESULT_IDEAL, entry->ideal);
			set_result_figure(row, RESULT_TO_BE_PREEMPTED, entry->to_be_preempted);
			set_result_figure(row, RESULT_ACTUALLY_TO_BE_PREEMPTED, entry->obtain);
			set_result_text(row, RESULT_REASON, reason);
			put_row(row);
		}
	}
}

static void
return_outcomes(FunctionCallInfo fcinfo, const YqLoadedPreemption *preemption, const bool *is_done, bool explains)
{
	const YqPreemption *state = preemption->state;
	ResultRow	row = make_row(fcinfo, preemption->hierarchy);
	MemoryContext caller = MemoryContextSwitchTo(row.context);

	for (int i = 0; i < state->outcome_count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (!yq_preemption_is_told(&state->outcomes[i]))
			continue;
		begin_row(&row);
		fill_outcome(&row, preemption, &state->outcomes[i], is_done == NULL || is_done[i]);
		put_row(&row);
	}
	if (explains)
		put_spared(&row, state);
	MemoryContextSwitchTo(caller);
	MemoryContextDelete(row.context);
}

static void
return_off(FunctionCallInfo fcinfo, const char *property)
{
	ResultRow	row = make_row(fcinfo, NULL);
	MemoryContext caller = MemoryContextSwitchTo(row.context);

	begin_row(&row);
	set_result_text(&row, RESULT_OUTCOME, "off");
	set_result_text(&row, RESULT_REASON, strcmp(property, YQ_MONITOR_ENABLE) == 0 ?
					psprintf("there are no rounds: %s is not true", property) :
					psprintf("there are no rounds: %s is set, and does not name ProportionalCapacityPreemptionPolicy", property));
	put_row(&row);
	MemoryContextSwitchTo(caller);
	MemoryContextDelete(row.context);
}

/* -- a round -------------------------------------------------------------------------- */

static void
check_time(const YqPreemptionRoundRow *last, TimestampTz as_of)
{
	TimestampTz now = yq_clock_now();

	if (TIMESTAMP_IS_NOBEGIN(as_of))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("as_of must be finite")));
	if (as_of > now)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("as_of must not be later than the clock"),
				 errdetail("as_of is %s, and the clock shows %s.", pstrdup(timestamptz_to_str(as_of)),
						   pstrdup(timestamptz_to_str(now)))));
	if (last->is_there && as_of < last->round_at)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("as_of must not be before the last round of preemption"),
				 errdetail("as_of is %s, and the last round was at %s.", pstrdup(timestamptz_to_str(as_of)),
						   pstrdup(timestamptz_to_str(last->round_at)))));
}

static YqLoadedPreemption *
compute(YqHierarchy *hierarchy, const YqPreemptionConfiguration *configuration, const YqPreemptionRoundRow *last,
		TimestampTz as_of)
{
	uint64		plan_version = hierarchy->plan_version;
	YqLoadedPreemption *preemption = yq_preemption_load(hierarchy, configuration, last, as_of);
	MemoryContext caller = MemoryContextSwitchTo(preemption->state->context);

	preemption->plan_version = plan_version;
	yq_preemption_round(preemption->state, as_of);
	MemoryContextSwitchTo(caller);
	return preemption;
}

static bool
is_same_round(const YqPreemptionRoundRow *a, const YqPreemptionRoundRow *b)
{
	return a->is_there == b->is_there && a->round_at == b->round_at && a->server_started_at == b->server_started_at;
}

/*
 * Take the lock, and compute the round again if the data have changed in the meantime.  Returns
 * NULL if rounds have been turned off.  Also returns NULL if another round has been recorded for
 * this time or, when the time was read from the clock, for a later time.
 */
static YqLoadedPreemption *
lock_and_look_again(YqLoadedPreemption *preemption, TimestampTz as_of, bool is_by_clock)
{
	uint64		generation = preemption->hierarchy->generation;
	YqPreemptionRoundRow last;
	YqPreemptionConfiguration configuration;
	YqHierarchy *hierarchy;

	yq_scheduler_lock(ExclusiveLock);
	yq_queue_lock_configuration(RowExclusiveLock);
	last = yq_preemption_last_round();
	hierarchy = yq_hierarchy_in_force();
	if (hierarchy->generation == generation && hierarchy->plan_version == preemption->plan_version &&
		is_same_round(&last, &preemption->last))
		return preemption;
	yq_preemption_unload(preemption);
	if (last.is_there && (last.round_at == as_of || (is_by_clock && last.round_at > as_of)))
		return NULL;
	check_time(&last, as_of);
	configuration = yq_preemption_configuration();
	if (configuration.off_because != NULL)
		return NULL;
	return compute(hierarchy, &configuration, &last, as_of);
}

/* preempt_containers(as_of, dry_run, explain) */
Datum
yq_sql_preempt_containers(PG_FUNCTION_ARGS)
{
	bool		is_dry = !PG_ARGISNULL(1) && PG_GETARG_BOOL(1);
	bool		explains = !PG_ARGISNULL(2) && PG_GETARG_BOOL(2);
	YqPreemptionConfiguration configuration;
	YqPreemptionRoundRow last;
	TimestampTz as_of;
	YqLoadedPreemption *preemption;
	bool	   *is_done = NULL;

	InitMaterializedSRF(fcinfo, 0);
	if (!is_dry)
		PreventCommandIfReadOnly("a round of preemption");
	yq_cluster_check_charging();
	configuration = yq_preemption_configuration();
	last = yq_preemption_last_round();
	/* read the clock only now, so that the last round, which was read above, cannot be later */
	as_of = PG_ARGISNULL(0) ? yq_clock_now() : PG_GETARG_TIMESTAMPTZ(0);
	check_time(&last, as_of);
	if (configuration.off_because != NULL)
	{
		return_off(fcinfo, configuration.off_because);
		return (Datum) 0;
	}
	if (!is_dry && last.is_there && last.round_at == as_of)
		return (Datum) 0;
	preemption = compute(yq_hierarchy_in_force(), &configuration, &last, as_of);
	if (!is_dry)
	{
		preemption = lock_and_look_again(preemption, as_of, PG_ARGISNULL(0));
		if (preemption == NULL)
			return (Datum) 0;
		is_done = yq_preemption_record(preemption);
	}
	return_outcomes(fcinfo, preemption, is_done, explains);
	yq_preemption_unload(preemption);
	return (Datum) 0;
}

/* -- figures for administrators ---------------------------------------------------------- */

static void
set_leaf_figures(ResultRow *row, const YqPreemption *state, const YqPreemptionQueueLabel *entry)
{
	int64		limit[YQ_MAX_RESOURCE_TYPES];

	yq_amounts_multiply(state->calculator, limit, entry->guaranteed, 1 + state->settings.ignored_over_capacity);
	set_result_figure(row, FIGURE_ACTUALLY_TO_BE_PREEMPTED, entry->obtain);
	set_result_amounts(row, FIGURE_DEAD_ZONE_LIMIT, limit);
}

static void
put_figures(ResultRow *row, const YqPreemption *state, const YqPreemptionQueue *queue, int label)
{
	const YqPreemptionQueueLabel *entry = &queue->labels[label];

	begin_row(row);
	set_result_text(row, FIGURE_QUEUE, queue->path);
	set_result_text(row, FIGURE_LABEL, row->hierarchy->labels[label]);
	set_result(row, FIGURE_ORDINAL, Int32GetDatum(queue->number + 1));
	set_result_amounts(row, FIGURE_GUARANTEED, entry->guaranteed);
	set_result_amounts(row, FIGURE_MAXIMUM, entry->maximum);
	set_result_amounts(row, FIGURE_USED, entry->used);
	set_result_figure(row, FIGURE_PENDING, entry->pending);
	set_result_figure(row, FIGURE_IDEAL, entry->ideal);
	set_result_figure(row, FIGURE_TO_BE_PREEMPTED, entry->to_be_preempted);
	set_result_figure(row, FIGURE_UNTOUCHABLE, entry->untouchable);
	if (queue->is_leaf)
		set_leaf_figures(row, state, entry);
	set_result(row, FIGURE_IS_DISABLED, BoolGetDatum(queue->is_disabled));
	set_result_text(row, FIGURE_DISABLED_BY, queue->disabled_by);
	put_row(row);
}

/* preemption_figures() */
Datum
yq_sql_preemption_figures(PG_FUNCTION_ARGS)
{
	YqPreemptionConfiguration configuration = yq_preemption_configuration();
	YqPreemptionRoundRow last = yq_preemption_last_round();
	YqLoadedPreemption *preemption;
	YqPreemption *state;
	ResultRow	row;
	MemoryContext caller;

	InitMaterializedSRF(fcinfo, 0);
	yq_cluster_check_charging();
	preemption = yq_preemption_load(yq_hierarchy_in_force(), &configuration, &last, yq_clock_now());
	state = preemption->state;
	yq_preemption_begin_round(state, yq_clock_now());
	yq_ideal_allocation_compute(state, state->settings.balances_reserved, false);
	row = make_row(fcinfo, preemption->hierarchy);
	caller = MemoryContextSwitchTo(row.context);
	for (int i = 0; i < state->queue_count; i++)
	{
		for (int label = 0; label < state->label_count; label++)
			put_figures(&row, state, state->queues[i], label);
	}
	MemoryContextSwitchTo(caller);
	MemoryContextDelete(row.context);
	yq_preemption_unload(preemption);
	return (Datum) 0;
}

/* -- replies to an application -------------------------------------------------------------- */

/* minimum_containers(total): Java divides floats and rounds the quotient up (Resources.divide()) */
Datum
yq_sql_minimum_containers(PG_FUNCTION_ARGS)
{
	YqHierarchy *hierarchy = yq_hierarchy_in_force();
	const int64 *minimum = hierarchy->settings.minimum_allocation;
	float4		quotient = yq_amounts_divide(&hierarchy->calculator, hierarchy->cluster,
											 yq_hierarchy_read_amounts(hierarchy, PG_GETARG_DATUM(0)), minimum);
	Datum		values[2];
	bool		nulls[2] = {false, false};

	values[0] = yq_hierarchy_resource(hierarchy, minimum);
	values[1] = Int64GetDatum(!isfinite(quotient) ? 0 :
							  FLOAT4_FITS_IN_INT64(quotient) ? (int64) ceil(quotient) : PG_INT64_MAX);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(yq_result_descriptor(fcinfo), values, nulls)));
}
