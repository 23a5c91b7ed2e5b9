/*-------------------------------------------------------------------------
 *
 * timeline.h
 *	  The prices in force at every instant, which each backend caches.
 *
 * Time is cut into intervals at every point of a multiplier, a base price, a factor or a charging
 * mode.  Both ends of every outage cut it as well.  Within an interval no price, factor, mode or
 * outage changes.  The cache holds a window of intervals.  The window begins at a full hour and has
 * no end.  It grows backwards on demand, so that a new connection need not read years of prices.
 *
 * The cache is filled with the newest committed state, not with the transaction's snapshot (docs/design.md
 * 2; but see yq_timeline_pin()).  Only yq_timeline_refresh() brings it up to date, so prices do not move
 * within a statement.  The returned version is recorded with each amount.  The version shows whether the
 * statement saw a change of prices, or the change became visible too late.
 *
 * Pricing does not read containers or the ledger.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_TIMELINE_H
#define YQ_TIMELINE_H

#include "pricing/timeline_load.h"

/*
 * Bring the cache up to date and return it.  Every function that computes costs calls this
 * function once, at its start.  Pointers into the timeline and rate classes that were obtained
 * earlier are invalid afterwards.
 */
extern const YqTimeline *yq_timeline_refresh(void);

/*
 * Use assumed terms (YqTerms) from the next refresh on.  If "terms" is NULL, use the tables
 * again.
 *
 * The caller keeps the terms in memory.  The caller must call this function with NULL afterwards,
 * also after an error, because the terms apply to all costs that this session computes.
 */
extern void yq_timeline_assume(const YqTerms *terms);

/*
 * Read prices, and the labels of nodes, with the active snapshot from the next refresh on.  A reader
 * needs this to compare prices with other rows of the same snapshot.
 *
 * yq_timeline_unpin() returns to the newest committed prices.  An abort of the transaction or
 * subtransaction does so, too.  The caller must not charge anything while the snapshot is pinned.
 */
extern void yq_timeline_pin(void);
extern void yq_timeline_unpin(void);

/*
 * Register the snapshot with which prices are read now: the pinned snapshot, or else the
 * latest snapshot.
 */
extern Snapshot yq_timeline_take_snapshot(void);

/*
 * Return a number that tells with which snapshot the rows in a cache were read.  The number is
 * different for each pinned snapshot and for each snapshot of a parallel plan, and 0 for the
 * latest snapshot.
 */
extern uint64 yq_timeline_snapshot_number(void);

/* Return how many intervals, counted from the first one, have not changed since fill number "fills". */
extern int	yq_timeline_unchanged_intervals(uint64 fills);

/* Return the timeline as of the last refresh. */
extern const YqTimeline *yq_timeline_cached(void);

/*
 * Return the earliest instant that is affected by a price change later than a version.  The result
 * is DT_NOEND when there is no such change, and DT_NOBEGIN when the version is unknown.
 */
extern TimestampTz yq_timeline_changed_from(int64 version);

/* Extend the window back to "instant".  Interval numbers that were obtained earlier are invalid afterwards. */
extern void yq_timeline_reach(TimestampTz instant);

/* Return the number of the interval that contains an instant, which must be within the window. */
extern int	yq_timeline_interval(TimestampTz instant);

/* Return the number of points of a factor at or before an instant. */
extern int	yq_factor_points_until(const YqFactor *factor, TimestampTz instant);

/* Return the index of a resource type, or -1 when there is no such type. */
extern int	yq_timeline_resource(const char *name, int name_length);

/* Return the full hour (UTC) at or before an instant.  Accruals are computed from full hours. */
extern TimestampTz yq_timeline_full_hour(TimestampTz instant);

/*
 * Return the end of the last billing period that is closed or is being closed.  Returns DT_NOBEGIN
 * if there is none.
 */
extern TimestampTz yq_timeline_last_period_end(void);

/* Return the minimum run time, in microseconds, of a container that started at "started_at". */
extern int64 yq_timeline_minimum_run_time(TimestampTz started_at);

/*
 * Return how many microseconds before a preemption are free, for a container that started at
 * "started_at".  *any_source tells whether a FINISH event from any source counts as a report of
 * the preemption.
 */
extern int64 yq_timeline_free_before_preemption(TimestampTz started_at, bool *any_source);

/*
 * Return the part of the price that a waiting container pays, in units of 10^-6.  The rule in force
 * when the wait began sets this part.
 */
extern uint32 yq_timeline_waiting_factor(TimestampTz began_at);

/*
 * Return the part of the price that a reservation pays, in units of 10^-6.  The rule in force when
 * the reservation was accepted decides.
 */
extern uint32 yq_timeline_reserved_factor(TimestampTz accepted_at);

/* Tell whether a project has or had its own charging mode. */
extern bool yq_timeline_has_mode(const char *project);

/*
 * Return the charging mode of a project at an instant.  YQ_ALL_PROJECTS stands for the projects
 * without their own mode.
 */
extern YqChargingMode yq_timeline_mode(const char *project, TimestampTz at);

/* Tell whether the charging mode of a project may change between two instants. */
extern bool yq_timeline_mode_changes(const char *project, TimestampTz from, TimestampTz to);

#endif							/* YQ_TIMELINE_H */
