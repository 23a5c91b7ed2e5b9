/*-------------------------------------------------------------------------
 *
 * step_function.h
 *	  Amounts over time: the promises of a plan, or its available amounts
 *	  (semantics/reservations 4.1).
 *
 * A step holds from its time until the next step.  Before the first step the function
 * is zero.  An undefined step closes the range for which the function was computed.
 * Times are milliseconds since the epoch; amounts are native units per resource type of
 * the calculator.  Two neighbouring steps are never equal.
 *
 * A periodic function repeats its steps, which lie in [0, period].
 *
 * Functions are allocated in the memory context that is current when they are made, and
 * grow there. The rules are those of Hadoop's RLESparseResourceAllocation, including
 * the closing steps, because planners read those steps.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_STEP_FUNCTION_H
#define YQ_STEP_FUNCTION_H

#include "queues/calculator.h"

/* The first and the last possible time. */
#define YQ_TIME_BEGINS PG_INT64_MIN
#define YQ_TIME_ENDS PG_INT64_MAX

typedef struct YqStepFunction
{
	const YqCalculator *calculator;
	MemoryContext context;
	int64		period;			/* milliseconds; 0: the function does not repeat */
	int			count;
	int			room;
	int64	   *times;			/* ascending */
	bool	   *is_defined;
	int64	   *amounts;		/* step after step */
} YqStepFunction;

/* Amounts from "start" up to, but not including, "end". */
typedef struct YqTimeInterval
{
	int64		start;
	int64		end;
	int64		amounts[YQ_MAX_RESOURCE_TYPES];
} YqTimeInterval;

typedef enum YqStepOperator
{
	YQ_STEPS_ADD,
	YQ_STEPS_SUBTRACT,
	YQ_STEPS_SUBTRACT_WITHIN,	/* fails if the right value exceeds the left value in any type */
	YQ_STEPS_MIN,				/* takes the smaller value; all types are compared together */
	YQ_STEPS_MAX
} YqStepOperator;

/* Return a step's amounts. */
#define yq_step_amounts(function, step) \
	((function)->amounts + (Size) (step) * (function)->calculator->types)

/* Make a function without steps.  If the period is not 0, the function is periodic. */
extern YqStepFunction *yq_steps_make(const YqCalculator *calculator, int64 period);

/* Make a function that is constant from a time on. */
extern YqStepFunction *yq_steps_make_constant(const YqCalculator *calculator, int64 start, const int64 *amounts);

/*
 * Make the sum of intervals, which may be in any order.  The result has the same values as
 * if they had been added one by one.  It does not have the steps that
 * remain where intervals were added and removed again.
 */
extern YqStepFunction *yq_steps_make_sum(const YqCalculator *calculator, int64 period,
										 const YqTimeInterval *intervals, int count);

/*
 * Make the sum of intervals that are added one by one.  The amounts are not copied, so they
 * must exist until yq_steps_end_sum().
 */
typedef struct YqStepSum YqStepSum;
extern YqStepSum *yq_steps_begin_sum(const YqCalculator *calculator, int64 period);
extern void yq_steps_add_to_sum(YqStepSum *sum, int64 start, int64 end, const int64 *amounts);
extern YqStepFunction *yq_steps_end_sum(YqStepSum *sum);

/* Make a periodic function that repeats a function, which must not be empty (semantics/reservations 4.2). */
extern YqStepFunction *yq_steps_make_periodic(const YqStepFunction *function, int64 period);

extern void yq_steps_free(YqStepFunction *function);

/*
 * Return the position of the last step at or before a time, or -1.  The binary search is
 * cheap enough for frequent calls.
 */
extern int	yq_steps_find(const YqStepFunction *function, int64 time);

/* Set "amounts" to the value at a time; an undefined value becomes zero. */
extern void yq_steps_at(const YqStepFunction *function, int64 time, int64 *amounts);

/* Return the time of the first step, or of the last defined step; -1 if there is no such step. */
extern int64 yq_steps_earliest(const YqStepFunction *function);
extern int64 yq_steps_latest(const YqStepFunction *function);

/* Is the function zero at all times? */
extern bool yq_steps_are_empty(const YqStepFunction *function);

/*
 * Add amounts in an interval, or subtract them.  Zero amounts change nothing.  If the
 * function is periodic, the interval must be within the period, and must have the amounts
 * to be subtracted.  Otherwise the result is false, and nothing changes.
 */
extern bool yq_steps_add_interval(YqStepFunction *function, int64 start, int64 end, const int64 *amounts);
extern bool yq_steps_remove_interval(YqStepFunction *function, int64 start, int64 end, const int64 *amounts);

/*
 * Limit on the number of steps that expanding a periodic function may produce.  More steps
 * would take too much memory.
 */
#define YQ_MOST_REPEATED_STEPS (4 * 1024 * 1024)

/* Would expanding the function between two times exceed YQ_MOST_REPEATED_STEPS? */
extern bool yq_steps_repeat_too_often(const YqStepFunction *function, int64 start, int64 end);

/*
 * Return the steps that determine the values between two times, including the second.  A
 * periodic function is expanded.
 */
extern YqStepFunction *yq_steps_range(const YqStepFunction *function, int64 start, int64 end);

/*
 * Combine two functions between two times.  "cluster" is used to compare amounts.  Returns
 * NULL if YQ_STEPS_SUBTRACT_WITHIN fails.
 */
extern YqStepFunction *yq_steps_merge(const int64 *cluster, const YqStepFunction *a, const YqStepFunction *b,
									  YqStepOperator operator, int64 start, int64 end);

/*
 * Set the step at a time.  The step is undefined if "amounts" is NULL.  The caller must
 * avoid adjacent steps with equal values.
 */
extern void yq_steps_put(YqStepFunction *function, int64 time, const int64 *amounts);

/* Replace negative amounts by zero. */
extern void yq_steps_cut_below_zero(YqStepFunction *function);

/* Compare two times (int64), for qsort(). */
extern int	yq_times_compare(const void *a, const void *b);

/* Move all steps by "delta" milliseconds.  Steps at the first or the last possible time do not move. */
extern void yq_steps_shift(YqStepFunction *function, int64 delta);

/*
 * Return the intervals between the steps, palloc'd.  An interval with zero amounts is
 * included.  An interval that ends at an undefined step is not.
 */
extern int	yq_steps_intervals(const YqStepFunction *function, YqTimeInterval **intervals);

#endif							/* YQ_STEP_FUNCTION_H */
