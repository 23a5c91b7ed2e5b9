/*-------------------------------------------------------------------------
 *
 * step_function.h
 *	  Amounts over time: what a plan has promised, or has left (reservation 4.1).
 *
 * A step holds from its time to that of the next one.  Before the first step the
 * function is zero.  A step may be undefined: it closes the range that the function
 * was computed for.  Times are milliseconds since the epoch, amounts native units per
 * resource type of the calculator.  No two neighbours are equal.
 *
 * A periodic function repeats its steps, which lie in [0, period].
 *
 * Functions are allocated in the memory context that is current when they are made,
 * and grow there.  The rules are those of Hadoop's RLESparseResourceAllocation to the
 * last closing step, since planners read those steps.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_STEP_FUNCTION_H
#define YQ_STEP_FUNCTION_H

#include "queues/calculator.h"

/* The ends of time. */
#define YQ_TIME_BEGINS PG_INT64_MIN
#define YQ_TIME_ENDS PG_INT64_MAX

typedef struct YqStepFunction
{
	const YqCalculator *calculator;
	MemoryContext context;
	int64		period;			/* milliseconds; 0: it does not repeat */
	int			count;
	int			room;
	int64	   *times;			/* ascending */
	bool	   *is_defined;
	int64	   *amounts;		/* step after step */
} YqStepFunction;

/* Amounts that hold from "start" to before "end". */
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
	YQ_STEPS_SUBTRACT_WITHIN,	/* fails where the right side is more than the left one in any type */
	YQ_STEPS_MIN,				/* the lesser of two whole resources */
	YQ_STEPS_MAX
} YqStepOperator;

/* The amounts of a step. */
#define yq_step_amounts(function, step) \
	((function)->amounts + (Size) (step) * (function)->calculator->types)

/* One without steps; with a period, a periodic one. */
extern YqStepFunction *yq_steps_make(const YqCalculator *calculator, int64 period);

/* A constant from a time on. */
extern YqStepFunction *yq_steps_make_constant(const YqCalculator *calculator, int64 start, const int64 *amounts);

/*
 * The sum of intervals, in any order; as if they had been added one by one, but
 * without steps that additions and removals leave behind.
 */
extern YqStepFunction *yq_steps_make_sum(const YqCalculator *calculator, int64 period,
										 const YqTimeInterval *intervals, int count);

/* The same of intervals that come one by one; their amounts stay where they are until the end. */
typedef struct YqStepSum YqStepSum;
extern YqStepSum *yq_steps_begin_sum(const YqCalculator *calculator, int64 period);
extern void yq_steps_add_to_sum(YqStepSum *sum, int64 start, int64 end, const int64 *amounts);
extern YqStepFunction *yq_steps_end_sum(YqStepSum *sum);

/* A function that repeats another one, which is not empty, with a period (reservation 4.2). */
extern YqStepFunction *yq_steps_make_periodic(const YqStepFunction *function, int64 period);

extern void yq_steps_free(YqStepFunction *function);

/*
 * The last step at or before a time, or -1.  It is found by halving, so it may be
 * asked for often.
 */
extern int	yq_steps_find(const YqStepFunction *function, int64 time);

/* amounts := the value at a time; zero where it is undefined. */
extern void yq_steps_at(const YqStepFunction *function, int64 time, int64 *amounts);

/* The first time, and the last one that is defined; -1 when there is none. */
extern int64 yq_steps_earliest(const YqStepFunction *function);
extern int64 yq_steps_latest(const YqStepFunction *function);

/* Nothing at all over all time? */
extern bool yq_steps_are_empty(const YqStepFunction *function);

/*
 * Add amounts over an interval, or take them away; nothing when they are zero.  False,
 * and nothing is done, when a periodic function does not contain the interval, or has
 * less to take away.
 */
extern bool yq_steps_add_interval(YqStepFunction *function, int64 start, int64 end, const int64 *amounts);
extern bool yq_steps_remove_interval(YqStepFunction *function, int64 start, int64 end, const int64 *amounts);

/* As many steps of a periodic function are written out; more would take all memory. */
#define YQ_MOST_REPEATED_STEPS (4 * 1024 * 1024)

/* Has a function that repeats more steps than that between two times? */
extern bool yq_steps_repeat_too_often(const YqStepFunction *function, int64 start, int64 end);

/* The steps that matter between two times, the latter included; of a periodic function, its repetitions. */
extern YqStepFunction *yq_steps_range(const YqStepFunction *function, int64 start, int64 end);

/*
 * Combine two functions between two times.  "cluster" decides which resource is the
 * lesser one.  NULL when YQ_STEPS_SUBTRACT_WITHIN fails.
 */
extern YqStepFunction *yq_steps_merge(const int64 *cluster, const YqStepFunction *a, const YqStepFunction *b,
									  YqStepOperator operator, int64 start, int64 end);

/* Set the step of a time; amounts NULL: undefined.  The caller keeps neighbours different. */
extern void yq_steps_put(YqStepFunction *function, int64 time, const int64 *amounts);

/* Put zero in the place of amounts that are less. */
extern void yq_steps_cut_below_zero(YqStepFunction *function);

/* Of two times (int64), for qsort(). */
extern int	yq_times_compare(const void *a, const void *b);

/* Move all steps by so many milliseconds; the ends of time stay where they are. */
extern void yq_steps_shift(YqStepFunction *function, int64 delta);

/*
 * The intervals between steps, palloc'd; the one that ends with an undefined step is
 * left out, zero ones are not.
 */
extern int	yq_steps_intervals(const YqStepFunction *function, YqTimeInterval **intervals);

#endif							/* YQ_STEP_FUNCTION_H */
