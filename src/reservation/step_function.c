/*-------------------------------------------------------------------------
 *
 * step_function.c
 *	  Amounts over time (semantics/reservations 4.1, 4.2).
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "miscadmin.h"
#include "reservation/step_function.h"

static const int64 none[YQ_MAX_RESOURCE_TYPES];

int
yq_times_compare(const void *a, const void *b)
{
	int64		first = *(const int64 *) a;
	int64		second = *(const int64 *) b;

	return first < second ? -1 : first > second;
}

/* -- construction and single steps ------------------------------------------- */

YqStepFunction *
yq_steps_make(const YqCalculator *calculator, int64 period)
{
	YqStepFunction *function = palloc0(sizeof(YqStepFunction));

	function->calculator = calculator;
	function->context = CurrentMemoryContext;
	function->period = period;
	return function;
}

void
yq_steps_free(YqStepFunction *function)
{
	if (function->room > 0)
	{
		pfree(function->times);
		pfree(function->is_defined);
		pfree(function->amounts);
	}
	pfree(function);
}

static void
make_room(YqStepFunction *function, int count)
{
	Size		bytes = sizeof(int64) * function->calculator->types;
	int			room = Max(8, function->room);

	if (count <= function->room)
		return;
	while (room < count)
		room *= 2;
	if (function->room == 0)
	{
		function->times = MemoryContextAllocHuge(function->context, sizeof(int64) * room);
		function->is_defined = MemoryContextAllocHuge(function->context, sizeof(bool) * room);
		function->amounts = MemoryContextAllocHuge(function->context, bytes * room);
	}
	else
	{
		function->times = repalloc_huge(function->times, sizeof(int64) * room);
		function->is_defined = repalloc_huge(function->is_defined, sizeof(bool) * room);
		function->amounts = repalloc_huge(function->amounts, bytes * room);
	}
	function->room = room;
}

/* Set a step.  The step is undefined if "amounts" is NULL. */
static void
set_step(YqStepFunction *function, int step, int64 time, const int64 *amounts)
{
	function->times[step] = time;
	function->is_defined[step] = amounts != NULL;
	memmove(yq_step_amounts(function, step), amounts == NULL ? none : amounts,
			sizeof(int64) * function->calculator->types);
}

/* Append a step.  If the last step has the same time, it is replaced. */
static void
append_step(YqStepFunction *function, int64 time, const int64 *amounts)
{
	if (function->count > 0 && function->times[function->count - 1] == time)
		function->count--;
	make_room(function, function->count + 1);
	set_step(function, function->count++, time, amounts);
}

static void
insert_step(YqStepFunction *function, int at, int64 time, const int64 *amounts)
{
	int			after = function->count - at;

	make_room(function, function->count + 1);
	memmove(function->times + at + 1, function->times + at, sizeof(int64) * after);
	memmove(function->is_defined + at + 1, function->is_defined + at, sizeof(bool) * after);
	memmove(yq_step_amounts(function, at + 1), yq_step_amounts(function, at),
			sizeof(int64) * function->calculator->types * after);
	function->count++;
	set_step(function, at, time, amounts);
}

static void
delete_step(YqStepFunction *function, int at)
{
	int			after = --function->count - at;

	memmove(function->times + at, function->times + at + 1, sizeof(int64) * after);
	memmove(function->is_defined + at, function->is_defined + at + 1, sizeof(bool) * after);
	memmove(yq_step_amounts(function, at), yq_step_amounts(function, at + 1),
			sizeof(int64) * function->calculator->types * after);
}

static const int64 *
defined_amounts(const YqStepFunction *function, int step)
{
	return function->is_defined[step] ? yq_step_amounts(function, step) : NULL;
}

YqStepFunction *
yq_steps_make_constant(const YqCalculator *calculator, int64 start, const int64 *amounts)
{
	YqStepFunction *function = yq_steps_make(calculator, 0);

	append_step(function, start, amounts);
	return function;
}

/* -- reading ------------------------------------------------------------------- */

int
yq_steps_find(const YqStepFunction *function, int64 time)
{
	int			low = 0;
	int			high = function->count;

	while (low < high)
	{
		int			middle = (low + high) / 2;

		if (function->times[middle] <= time)
			low = middle + 1;
		else
			high = middle;
	}
	return low - 1;
}

void
yq_steps_at(const YqStepFunction *function, int64 time, int64 *amounts)
{
	int			step = yq_steps_find(function, function->period > 0 ? time % function->period : time);
	const int64 *value = step < 0 ? NULL : defined_amounts(function, step);

	memcpy(amounts, value == NULL ? none : value, sizeof(int64) * function->calculator->types);
}

int64
yq_steps_earliest(const YqStepFunction *function)
{
	return function->count == 0 ? -1 : function->times[0];
}

int64
yq_steps_latest(const YqStepFunction *function)
{
	int			last = function->count - 1;

	if (last >= 0 && !function->is_defined[last])
		last--;
	return last < 0 ? -1 : function->times[last];
}

bool
yq_steps_are_empty(const YqStepFunction *function)
{
	return function->count == 0 ||
		(function->count == 2 && function->is_defined[0] && !function->is_defined[1] &&
		 yq_amounts_are_none(function->calculator, yq_step_amounts(function, 0)));
}

int
yq_steps_intervals(const YqStepFunction *function, YqTimeInterval **intervals)
{
	int			count = 0;

	*intervals = palloc_extended(sizeof(YqTimeInterval) * Max(function->count, 1), MCXT_ALLOC_HUGE);
	if (yq_steps_are_empty(function))
		return 0;
	for (int i = 1; i < function->count; i++)
	{
		YqTimeInterval *interval = &(*intervals)[count];

		if (!function->is_defined[i])
			continue;
		interval->start = function->times[i - 1];
		interval->end = function->times[i];
		memcpy(interval->amounts, yq_step_amounts(function, i - 1), sizeof(int64) * function->calculator->types);
		count++;
	}
	return count;
}

/* Put a step, not necessarily at the end: the closing steps of a range may lie after the range. */
void
yq_steps_put(YqStepFunction *function, int64 time, const int64 *amounts)
{
	int			step = yq_steps_find(function, time);

	if (step >= 0 && function->times[step] == time)
		set_step(function, step, time, amounts);
	else
		insert_step(function, step + 1, time, amounts);
}

/* -- parts ---------------------------------------------------------------------- */

static YqStepFunction *
copy_steps(const YqStepFunction *function, int first, int last)
{
	YqStepFunction *copy = yq_steps_make(function->calculator, 0);

	for (int i = first; i <= last; i++)
		append_step(copy, function->times[i], defined_amounts(function, i));
	return copy;
}

bool
yq_steps_repeat_too_often(const YqStepFunction *function, int64 start, int64 end)
{
	return function->period > 0 && function->count > 0 &&
		(end - start) / function->period + 2 > YQ_MOST_REPEATED_STEPS / function->count;
}

/*
 * Expand a periodic function into the steps of a range.  As in Hadoop, the range begins
 * with the step in force at "start", and has no closing step.
 */
static YqStepFunction *
unroll(const YqStepFunction *function, int64 start, int64 end)
{
	YqStepFunction *range = yq_steps_make(function->calculator, 0);
	int64		relative_start = start >= 0 ? start % function->period : 0;
	int			holds = yq_steps_find(function, relative_start);
	int64		previous = holds < 0 ? 0 : function->times[holds];

	for (int64 i = 0; i <= 1 + (end - start) / function->period; i++)
	{
		CHECK_FOR_INTERRUPTS();
		for (int j = 0; j < function->count; j++)
		{
			/* this sum wraps around for YQ_TIME_ENDS, so the closing step is put only once */
			int64		time = (int64) ((uint64) function->times[j] + (uint64) i * (uint64) function->period);

			if (time >= previous && (int64) ((uint64) (start - relative_start) + (uint64) time) <= end)
				yq_steps_put(range, time, defined_amounts(function, j));
		}
	}
	yq_steps_shift(range, start - relative_start);
	return range;
}

YqStepFunction *
yq_steps_range(const YqStepFunction *function, int64 start, int64 end)
{
	int			first = 0;
	int			last = function->count - 1;

	if (function->period > 0)
		return unroll(function, start, end);
	if (function->count > 0 && start > function->times[0])
		first = yq_steps_find(function, start);
	if (function->count > 0 && end < function->times[last])
		last = yq_steps_find(function, end);
	return copy_steps(function, first, last);
}

void
yq_steps_shift(YqStepFunction *function, int64 delta)
{
	for (int i = 0; i < function->count; i++)
	{
		if (function->times[i] != YQ_TIME_BEGINS && function->times[i] != YQ_TIME_ENDS)
			function->times[i] += delta;
	}
}

/* -- merging -------------------------------------------------------------------- */

static void
negate(const YqCalculator *calculator, int64 *result, const int64 *a)
{
	for (int i = 0; i < calculator->types; i++)
		result[i] = -a[i];
}

/*
 * Subtract from an empty left side, by negating the steps.  This function fails in other
 * cases than the subtraction from a left side that is not empty (semantics/reservations
 * 4.1).
 */
static YqStepFunction *
negate_steps(YqStepFunction *function, YqStepOperator operator)
{
	for (int i = 0; i < function->count; i++)
	{
		int64	   *amounts = yq_step_amounts(function, i);

		if (!function->is_defined[i])
			continue;
		negate(function->calculator, amounts, amounts);
		if (operator == YQ_STEPS_SUBTRACT_WITHIN && !yq_amounts_are_none(function->calculator, amounts) &&
			yq_amounts_fit_in(function->calculator, amounts, none))
			return NULL;
	}
	return function;
}

/*
 * Combine two values; NULL is an undefined value.  The result may point to "scratch".
 * Returns false if the result would be negative but must not be.
 */
static bool
combine(const YqCalculator *calculator, const int64 *cluster, YqStepOperator operator,
		const int64 *a, const int64 *b, int64 *scratch, const int64 **result)
{
	if (b == NULL)
		*result = a;
	else if (a == NULL && operator == YQ_STEPS_SUBTRACT)
	{
		negate(calculator, scratch, b);
		*result = scratch;
	}
	else if (a == NULL)
		*result = b;
	else if (operator == YQ_STEPS_MIN)
		*result = yq_amounts_min(calculator, cluster, a, b);
	else if (operator == YQ_STEPS_MAX)
		*result = yq_amounts_max(calculator, cluster, a, b);
	else
	{
		if (operator == YQ_STEPS_SUBTRACT_WITHIN && !yq_amounts_fit_in(calculator, b, a))
			return false;
		memcpy(scratch, a, sizeof(int64) * calculator->types);
		if (operator == YQ_STEPS_ADD)
			yq_amounts_add(calculator, scratch, b);
		else
			yq_amounts_subtract(calculator, scratch, b);
		*result = scratch;
	}
	return true;
}

/* Append a step if it changes the value.  After an undefined step, only another undefined step is appended. */
static void
append_if_needed(YqStepFunction *function, int64 time, const int64 *amounts)
{
	int			last = function->count - 1;

	if (last < 0 || amounts == NULL ||
		(function->is_defined[last] &&
		 !yq_amounts_are_equal(function->calculator, yq_step_amounts(function, last), amounts)))
		append_step(function, time, amounts);
}

void
yq_steps_cut_below_zero(YqStepFunction *function)
{
	int			count = function->count;

	function->count = 0;
	for (int i = 0; i < count; i++)
	{
		int64		amounts[YQ_MAX_RESOURCE_TYPES];

		for (int j = 0; j < function->calculator->types; j++)
			amounts[j] = Max(yq_step_amounts(function, i)[j], 0);
		append_if_needed(function, function->times[i], function->is_defined[i] ? amounts : NULL);
	}
}

static YqStepFunction *
merge_steps(const int64 *cluster, const YqStepFunction *a, const YqStepFunction *b,
			YqStepOperator operator, int64 start, int64 end)
{
	YqStepFunction *result = yq_steps_make(a->calculator, 0);
	const int64 *value_a = NULL;
	const int64 *value_b = NULL;
	int64		scratch[YQ_MAX_RESOURCE_TYPES];
	int			at_a = 0;
	int			at_b = 0;

	make_room(result, a->count + b->count + 1);
	while (at_a < a->count || at_b < b->count)
	{
		int64		next_a = at_a < a->count ? a->times[at_a] : YQ_TIME_ENDS;
		int64		next_b = at_b < b->count ? b->times[at_b] : YQ_TIME_ENDS;
		bool		takes_a = at_a < a->count && (at_b >= b->count || next_a <= next_b);
		bool		takes_b = at_b < b->count && (at_a >= a->count || next_b <= next_a);
		const int64 *value;

		if (takes_a)
			value_a = defined_amounts(a, at_a++);
		if (takes_b)
			value_b = defined_amounts(b, at_b++);
		if (!combine(a->calculator, cluster, operator, value_a, value_b, scratch, &value))
		{
			yq_steps_free(result);
			return NULL;
		}
		append_if_needed(result, Max(takes_a ? next_a : next_b, start), value);
	}
	yq_steps_put(result, end, NULL);
	return result;
}

YqStepFunction *
yq_steps_merge(const int64 *cluster, const YqStepFunction *a, const YqStepFunction *b,
			   YqStepOperator operator, int64 start, int64 end)
{
	YqStepFunction *range_a = yq_steps_range(a, start, end);
	YqStepFunction *range_b = yq_steps_range(b, start, end);
	YqStepFunction *result;

	if (range_a->count == 0)
	{
		yq_steps_free(range_a);
		return operator == YQ_STEPS_SUBTRACT || operator == YQ_STEPS_SUBTRACT_WITHIN ?
			negate_steps(range_b, operator) : range_b;
	}
	if (range_b->count == 0)
	{
		yq_steps_free(range_b);
		return range_a;
	}
	result = merge_steps(cluster, range_a, range_b, operator, start, end);
	yq_steps_free(range_a);
	yq_steps_free(range_b);
	return result;
}

/* -- changing ------------------------------------------------------------------- */

static void
delete_if_like_previous(YqStepFunction *function, int64 time)
{
	int			step = yq_steps_find(function, time);

	if (step > 0 && function->is_defined[step - 1] && function->is_defined[step] &&
		yq_amounts_are_equal(function->calculator, yq_step_amounts(function, step - 1), yq_step_amounts(function, step)))
		delete_step(function, step);
}

/* Split the step at a time: add a step there that has the same value.  Returns the position of the added step. */
static int
split_at(YqStepFunction *function, int64 time)
{
	int			step = yq_steps_find(function, time);
	int64		amounts[YQ_MAX_RESOURCE_TYPES];

	if (step >= 0 && function->times[step] == time)
		return step;
	memcpy(amounts, step < 0 ? none : yq_step_amounts(function, step), sizeof(int64) * function->calculator->types);
	insert_step(function, step + 1, time, amounts);
	return step + 1;
}

/*
 * Add to the values in an interval, or subtract from them.  After every change but the
 * first, the function ends with an undefined step, as after a merge in Hadoop.
 */
static void
change_interval(YqStepFunction *function, int64 start, int64 end, const int64 *amounts, bool adds)
{
	bool		was_empty = function->count == 0;
	int64		begin = was_empty ? start : function->times[0];
	int			first = split_at(function, start);
	int			last = split_at(function, end);

	for (int i = first; i < last; i++)
	{
		if (adds)
			yq_amounts_add(function->calculator, yq_step_amounts(function, i), amounts);
		else
			yq_amounts_subtract(function->calculator, yq_step_amounts(function, i), amounts);
	}
	/* drop steps that now equal the value before them; the former first step may have become zero */
	delete_if_like_previous(function, end);
	delete_if_like_previous(function, begin);
	delete_if_like_previous(function, start);
	if (!was_empty && function->is_defined[function->count - 1])
		append_step(function, YQ_TIME_ENDS, NULL);
}

static bool
contains(const YqStepFunction *function, int64 start, int64 end)
{
	return function->period == 0 || (start >= 0 && end > start && end <= function->period);
}

bool
yq_steps_add_interval(YqStepFunction *function, int64 start, int64 end, const int64 *amounts)
{
	if (!contains(function, start, end))
		return false;
	if (!yq_amounts_are_none(function->calculator, amounts))
		change_interval(function, start, end, amounts, true);
	return true;
}

/* Does the function have at least these amounts during the whole interval? */
static bool
has_interval(const YqStepFunction *function, int64 start, int64 end, const int64 *amounts)
{
	YqStepFunction *range = yq_steps_range(function, start, end - 1);
	bool		has = true;

	for (int i = 0; i < range->count && has; i++)
		has = !range->is_defined[i] || yq_amounts_fit_in(function->calculator, amounts, yq_step_amounts(range, i));
	yq_steps_free(range);
	return has;
}

bool
yq_steps_remove_interval(YqStepFunction *function, int64 start, int64 end, const int64 *amounts)
{
	if (function->period > 0 && (!has_interval(function, start, end, amounts) || !contains(function, start, end)))
		return false;
	if (!yq_amounts_are_none(function->calculator, amounts))
		change_interval(function, start, end, amounts, false);
	return true;
}

/* -- a sum ------------------------------------------------------------------------ */

/* A time at which the sum changes by some amounts. */
typedef struct Change
{
	int64		time;
	const int64 *amounts;
	bool		begins;
} Change;

struct YqStepSum
{
	const YqCalculator *calculator;
	int64		period;
	Change	   *changes;
	int			count;
	int			room;
};

/* inline the comparison; the server's qsort() would call a function for each comparison */
#define ST_SORT sort_changes
#define ST_ELEMENT_TYPE Change
#define ST_COMPARE(a, b) ((a)->time < (b)->time ? -1 : (a)->time > (b)->time)
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

YqStepSum *
yq_steps_begin_sum(const YqCalculator *calculator, int64 period)
{
	YqStepSum  *sum = palloc0(sizeof(YqStepSum));

	sum->calculator = calculator;
	sum->period = period;
	sum->room = 64;
	sum->changes = palloc(sizeof(Change) * sum->room);
	return sum;
}

void
yq_steps_add_to_sum(YqStepSum *sum, int64 start, int64 end, const int64 *amounts)
{
	if (yq_amounts_are_none(sum->calculator, amounts) ||
		(sum->period > 0 && !(start >= 0 && end > start && end <= sum->period)))
		return;
	if (sum->count + 2 > sum->room)
	{
		sum->room *= 2;
		sum->changes = repalloc_huge(sum->changes, sizeof(Change) * sum->room);
	}
	sum->changes[sum->count++] = (Change) {start, amounts, true};
	sum->changes[sum->count++] = (Change) {end, amounts, false};
}

YqStepFunction *
yq_steps_end_sum(YqStepSum *sum)
{
	YqStepFunction *function = yq_steps_make(sum->calculator, sum->period);
	int64		amounts[YQ_MAX_RESOURCE_TYPES] = {0};
	const Change *changes = sum->changes;

	sort_changes(sum->changes, sum->count);
	for (int i = 0; i < sum->count; i++)
	{
		if (changes[i].begins)
			yq_amounts_add(sum->calculator, amounts, changes[i].amounts);
		else
			yq_amounts_subtract(sum->calculator, amounts, changes[i].amounts);
		if (i + 1 == sum->count || changes[i + 1].time != changes[i].time)
			append_if_needed(function, changes[i].time, amounts);
	}
	if (sum->count > 2)
		append_step(function, YQ_TIME_ENDS, NULL);
	pfree(sum->changes);
	pfree(sum);
	return function;
}

YqStepFunction *
yq_steps_make_sum(const YqCalculator *calculator, int64 period, const YqTimeInterval *intervals, int count)
{
	YqStepSum  *sum = yq_steps_begin_sum(calculator, period);

	for (int i = 0; i < count; i++)
		yq_steps_add_to_sum(sum, intervals[i].start, intervals[i].end, intervals[i].amounts);
	return yq_steps_end_sum(sum);
}

/* -- a period ---------------------------------------------------------------------- */

/*
 * Move the steps into the first period.  A step after the end of the period is moved by a whole
 * number of periods into the first period.  From the beginning of the period until the new time,
 * the step's value holds.  At the new time, the value returns to the one that the function has
 * there.
 */
YqStepFunction *
yq_steps_make_periodic(const YqStepFunction *function, int64 period)
{
	YqStepFunction *steps = copy_steps(function, 0, function->count - 1);
	YqStepFunction *result = yq_steps_make(function->calculator, period);
	YqStepFunction *wrapped = yq_steps_make(function->calculator, 0);
	int64		earliest = yq_steps_earliest(function);
	int64		amounts[YQ_MAX_RESOURCE_TYPES];

	yq_steps_shift(steps, earliest % period - earliest);
	steps->period = period;
	for (int i = 0; i < steps->count; i++)
	{
		int64		time = steps->times[i];

		if (time <= period)
		{
			yq_steps_put(result, time, defined_amounts(steps, i));
			continue;
		}
		if (!steps->is_defined[i])
			continue;
		yq_steps_put(wrapped, period, yq_step_amounts(steps, i));
		yq_steps_at(steps, time % period, amounts);
		yq_steps_put(wrapped, time % period, amounts);
		yq_steps_put(wrapped, 0, yq_step_amounts(steps, i));
	}
	for (int i = 0; i < wrapped->count; i++)
		yq_steps_put(result, wrapped->times[i], defined_amounts(wrapped, i));
	yq_steps_free(wrapped);
	yq_steps_free(steps);
	return result;
}
