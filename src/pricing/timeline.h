/*-------------------------------------------------------------------------
 *
 * timeline.h
 *	  The prices in force at every instant, as each backend has them cached.
 *
 * Time is cut into intervals at every point of a multiplier, a base price, a
 * factor, and at both ends of every outage; within an interval no price, factor
 * or outage changes.  The cache holds a window of intervals that reaches from
 * some full hour on to the future and grows backwards on demand, so that a new
 * connection need not read years of prices.
 *
 * The cache is filled with the newest committed state, not the transaction's
 * snapshot (docs/design.md 2; but see yq_timeline_pin()), and is brought up to date by yq_timeline_refresh() only:
 * within a statement prices do not move.  The returned version is recorded with
 * each amount, so that a change which became visible too late for a statement
 * differs from one that it saw.
 *
 * Floor: pricing.  Nothing here knows of containers or of the ledger.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_TIMELINE_H
#define YQ_TIMELINE_H

#include "pricing/timeline_load.h"

/*
 * Bring the cache up to date and return it.  Called once at the start of every
 * function that prices; pointers into the timeline and rate classes got earlier
 * are invalid afterwards.
 */
extern const YqTimeline *yq_timeline_refresh(void);

/*
 * From the next refresh on, price by other terms; by those of the tables again
 * when "terms" is NULL.  The caller keeps them, and takes them back also after
 * an error: meanwhile everything in this session is priced by them.
 */
extern void yq_timeline_assume(const YqTerms *terms);

/*
 * From the next refresh on, price by what the active snapshot sees, for a reader
 * that compares prices with other rows of this snapshot; by the newest committed
 * state again after yq_timeline_unpin(), and when the transaction or subtransaction
 * aborts.  Nothing may be charged meanwhile.
 */
extern void yq_timeline_pin(void);
extern void yq_timeline_unpin(void);

/* How many intervals from the first on are as they were at fill number "fills". */
extern int	yq_timeline_unchanged_intervals(uint64 fills);

/* The timeline as last refreshed. */
extern const YqTimeline *yq_timeline_cached(void);

/*
 * The earliest instant that a change of prices after a version bears on:
 * DT_NOEND when there is none, DT_NOBEGIN when the version is not known.
 */
extern TimestampTz yq_timeline_changed_from(int64 version);

/*
 * Make the window reach back to "instant".  Interval numbers obtained before
 * are invalid afterwards.
 */
extern void yq_timeline_reach(TimestampTz instant);

/* Number of the interval that holds an instant within the window. */
extern int	yq_timeline_interval(TimestampTz instant);

/* How many points of a factor lie at or before an instant. */
extern int	yq_factor_points_until(const YqFactor *factor, TimestampTz instant);

/* Index of a resource type, or -1 when it is not one. */
extern int	yq_timeline_resource(const char *name, int name_length);

/* The full hour (UTC) at or before an instant: the start of accruals. */
extern TimestampTz yq_timeline_full_hour(TimestampTz instant);

/* The end of the last period that is closed or about to be; DT_NOBEGIN for none. */
extern TimestampTz yq_timeline_last_period_end(void);

/* Minimum run time, in microseconds, of a container started then. */
extern int64 yq_timeline_minimum_run_time(TimestampTz started_at);

/*
 * How long before a preemption a container started then is free, in microseconds, and
 * whether a FINISH from any source tells of the preemption.
 */
extern int64 yq_timeline_free_before_preemption(TimestampTz started_at, bool *any_source);

/*
 * The part of its price that a container pays during a wait that began then, in
 * units of 10^-6.
 */
extern uint32 yq_timeline_waiting_factor(TimestampTz began_at);

/* The part of its price that a reservation pays that was accepted then, likewise. */
extern uint32 yq_timeline_reserved_factor(TimestampTz accepted_at);

#endif							/* YQ_TIMELINE_H */
