/*-------------------------------------------------------------------------
 *
 * step_function.c
 *	  SQL functions for test/t/step_functions.pl: the step functions of plans, and
 *	  what agents read from them.  No function of yquota shows these.
 *
 * The cost of a window and the search for gaps are static functions of the agents.  Therefore
 * this file includes the agents' sources.
 *
 * A step function is written as its steps: time:memory,cores, or time:- for an undefined step.
 * A periodic one begins with its period, as in "20| 0:10,10 5:7,7".
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "fmgr.h"
#include "lib/stringinfo.h"
#include "reservation/reservation_agent.c"
#include "reservation/stage_allocator.c"
#include "utils/array.h"
#include "utils/builtins.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(merge_steps);
PG_FUNCTION_INFO_V1(change_steps);
PG_FUNCTION_INFO_V1(value_of_steps);
PG_FUNCTION_INFO_V1(intervals_of_steps);
PG_FUNCTION_INFO_V1(range_of_steps);
PG_FUNCTION_INFO_V1(window_of_steps);
PG_FUNCTION_INFO_V1(steps_have_gap);

static YqCalculator calculator = {.types = 2};

static int64
read_number(const char **text)
{
	char	   *end;
	int64		number = strtoll(*text, &end, 10);

	if (end == *text)
		elog(ERROR, "no number: %s", *text);
	*text = end;
	return number;
}

static void
expect(const char **text, char separator)
{
	if (*(*text)++ != separator)
		elog(ERROR, "no \"%c\" before: %s", separator, *text - 1);
}

static void
skip_blanks(const char **text)
{
	while (**text == ' ')
		(*text)++;
}

static int64
read_period(const char **text)
{
	int64		period = 0;

	if (strchr(*text, '|') != NULL)
	{
		period = read_number(text);
		expect(text, '|');
	}
	return period;
}

static YqStepFunction *
read_steps(const char *text)
{
	YqStepFunction *steps = yq_steps_make(&calculator, read_period(&text));

	for (skip_blanks(&text); *text != '\0'; skip_blanks(&text))
	{
		int64		time = read_number(&text);
		int64		amounts[YQ_MAX_RESOURCE_TYPES] = {0};

		expect(&text, ':');
		if (*text == '-' && (text[1] == ' ' || text[1] == '\0'))
		{
			text++;
			yq_steps_put(steps, time, NULL);
			continue;
		}
		amounts[YQ_MEMORY] = read_number(&text);
		expect(&text, ',');
		amounts[YQ_VCORES] = read_number(&text);
		yq_steps_put(steps, time, amounts);
	}
	return steps;
}

static YqStepFunction *
steps_argument(FunctionCallInfo fcinfo, int argument)
{
	return read_steps(text_to_cstring(PG_GETARG_TEXT_PP(argument)));
}

static void
append_amounts(StringInfo text, const int64 *amounts)
{
	appendStringInfo(text, INT64_FORMAT "," INT64_FORMAT, amounts[YQ_MEMORY], amounts[YQ_VCORES]);
}

static text *
write_steps(const YqStepFunction *steps)
{
	StringInfoData written;

	initStringInfo(&written);
	if (steps->period > 0)
		appendStringInfo(&written, INT64_FORMAT "| ", steps->period);
	for (int i = 0; i < steps->count; i++)
	{
		appendStringInfo(&written, i == 0 ? INT64_FORMAT ":" : " " INT64_FORMAT ":", steps->times[i]);
		if (steps->is_defined[i])
			append_amounts(&written, yq_step_amounts(steps, i));
		else
			appendStringInfoChar(&written, '-');
	}
	return cstring_to_text_with_len(written.data, written.len);
}

static YqStepOperator
read_operator(const char *name)
{
	static const char *const names[] = {
		[YQ_STEPS_ADD] = "add", [YQ_STEPS_SUBTRACT] = "subtract", [YQ_STEPS_SUBTRACT_WITHIN] = "subtractTestNonNegative",
		[YQ_STEPS_MIN] = "min", [YQ_STEPS_MAX] = "max"
	};

	for (int i = 0; i < (int) lengthof(names); i++)
	{
		if (strcmp(name, names[i]) == 0)
			return i;
	}
	elog(ERROR, "unknown operator \"%s\"", name);
}

/*
 * merge_steps(a text, b text, operator text, from bigint, to bigint, is_dominant boolean,
 *			   memory bigint, cores bigint)
 */
Datum
merge_steps(PG_FUNCTION_ARGS)
{
	int64		cluster[YQ_MAX_RESOURCE_TYPES] = {PG_GETARG_INT64(6), PG_GETARG_INT64(7)};
	YqStepFunction *merged;

	calculator.is_dominant = PG_GETARG_BOOL(5);
	merged = yq_steps_merge(cluster, steps_argument(fcinfo, 0), steps_argument(fcinfo, 1),
							read_operator(text_to_cstring(PG_GETARG_TEXT_PP(2))), PG_GETARG_INT64(3), PG_GETARG_INT64(4));
	if (merged == NULL)
		PG_RETURN_NULL();
	PG_RETURN_TEXT_P(write_steps(merged));
}

/*
 * change_steps(steps text, changes text): a change adds, as in +from-to:memory,cores, or removes,
 * as in -from-to:memory,cores.
 */
Datum
change_steps(PG_FUNCTION_ARGS)
{
	YqStepFunction *steps = steps_argument(fcinfo, 0);
	const char *changes = text_to_cstring(PG_GETARG_TEXT_PP(1));

	for (skip_blanks(&changes); *changes != '\0'; skip_blanks(&changes))
	{
		bool		adds = *changes == '+';
		int64		start = (changes++, read_number(&changes));
		int64		end = (expect(&changes, '-'), read_number(&changes));
		int64		amounts[YQ_MAX_RESOURCE_TYPES] = {0};

		expect(&changes, ':');
		amounts[YQ_MEMORY] = read_number(&changes);
		expect(&changes, ',');
		amounts[YQ_VCORES] = read_number(&changes);
		if (!(adds ? yq_steps_add_interval(steps, start, end, amounts) : yq_steps_remove_interval(steps, start, end, amounts)))
			PG_RETURN_NULL();
	}
	PG_RETURN_TEXT_P(write_steps(steps));
}

/* value_of_steps(steps text, at bigint) */
Datum
value_of_steps(PG_FUNCTION_ARGS)
{
	int64		amounts[YQ_MAX_RESOURCE_TYPES];
	StringInfoData written;

	yq_steps_at(steps_argument(fcinfo, 0), PG_GETARG_INT64(1), amounts);
	initStringInfo(&written);
	append_amounts(&written, amounts);
	PG_RETURN_TEXT_P(cstring_to_text_with_len(written.data, written.len));
}

/* intervals_of_steps(steps text) */
Datum
intervals_of_steps(PG_FUNCTION_ARGS)
{
	YqTimeInterval *intervals;
	int			count = yq_steps_intervals(steps_argument(fcinfo, 0), &intervals);
	StringInfoData written;

	initStringInfo(&written);
	for (int i = 0; i < count; i++)
	{
		appendStringInfo(&written, i == 0 ? "[" INT64_FORMAT "," INT64_FORMAT ")=" : " [" INT64_FORMAT "," INT64_FORMAT ")=", intervals[i].start, intervals[i].end);
		append_amounts(&written, intervals[i].amounts);
	}
	PG_RETURN_TEXT_P(cstring_to_text_with_len(written.data, written.len));
}

/* range_of_steps(steps text, from bigint, to bigint) */
Datum
range_of_steps(PG_FUNCTION_ARGS)
{
	PG_RETURN_TEXT_P(write_steps(yq_steps_range(steps_argument(fcinfo, 0), PG_GETARG_INT64(1), PG_GETARG_INT64(2))));
}

/* Make one of the agents' placements, in a plan of 100 GB whose step is 1. */
static YqPlacement
make_placement(YqReservationAgent *agent, YqPlan *plan)
{
	*plan = (YqPlan) {.calculator = &calculator,.capacity = {102400, 100},.step = 1};
	calculator.is_dominant = false;
	return (YqPlacement) {.agent = agent,.plan = plan};
}

/* window_of_steps(net text, load text, changes text, from bigint, to bigint): return how many gangs of 1 GB fit, and
 * the cost */
Datum
window_of_steps(PG_FUNCTION_ARGS)
{
	YqReservationAgent agent = {.favors_early = true};
	YqPlan		plan;
	YqPlacement placement = make_placement(&agent, &plan);
	AlignedSearch search = {.placement = &placement,.duration = PG_GETARG_INT64(4) - PG_GETARG_INT64(3),
	.net = steps_argument(fcinfo, 0),.gang = {1024, 1}};
	Window	   *window = make_window(&search, PG_GETARG_INT64(3));

	placement.load = steps_argument(fcinfo, 1);
	placement.changes = steps_argument(fcinfo, 2);
	if (!find_room(&search, window))
		PG_RETURN_NULL();
	find_cost(&search, window);
	PG_RETURN_TEXT_P(cstring_to_text(psprintf(INT64_FORMAT " %.2f", window->room, window->cost)));
}

/* steps_have_gap(result text, request text, favors_early boolean): return whether there is a gap in the request, or
 * between it and the result */
Datum
steps_have_gap(PG_FUNCTION_ARGS)
{
	YqReservationAgent agent = {.favors_early = PG_GETARG_BOOL(2)};
	YqPlan		plan;
	YqPlacement placement = make_placement(&agent, &plan);
	YqStagePlaces places;

	placement.result = steps_argument(fcinfo, 0);
	places.count = yq_steps_intervals(steps_argument(fcinfo, 1), &places.intervals);
	PG_RETURN_BOOL(has_gap(&placement, &places));
}
