/*-------------------------------------------------------------------------
 *
 * reservation_setting.h
 *	  Settings of plans, which are queues with the property reservable
 *	  (reservation 11).
 *
 * Defaults are those of Hadoop 3.4.1.  Agents and policies are known by the last names of
 * their classes.  Times are in milliseconds.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_RESERVATION_SETTING_H
#define YQ_RESERVATION_SETTING_H

#include "admission/configuration/preemption_setting.h"
#include "base/compat.h"
#include "nodes/pg_list.h"

typedef struct YqReservationSettings
{
	bool		is_enabled;		/* reservation-system.enable */
	bool		checks_access;	/* yarn.acl.enable and yarn.acl.reservation-enable */
	int64		step;			/* planfollower.time-step; above 0 */
	int64		largest_period; /* max-periodicity; above 0 */
	int			smoothness;		/* above 0 */
	bool		favors_early;
	bool		wraps;			/* reservation_wraps_periods */
	bool		repeats;		/* reservation_repeats_allocation */
	bool		plans_around;	/* reservation_plans_around_overcommitment */
	bool		ends_averages;	/* reservation_ends_averages */
	int			most_windows;
	int			most_copies;
	int			most_requests;
	int64		window;			/* reservation-window; above 0 */
	float4		instantaneous_share;	/* fraction */
	float4		average_share;	/* fraction */
	bool		aligns;			/* AlignedPlannerWithGreedy, not GreedyReservationAgent */
	int64		enforcement_window; /* that the replanner looks ahead */
	bool		moves_on_expiry;	/* applications of a reservation that is over go on in the default queue, else they are killed */
	bool		limits_users;	/* CapacityOverTimePolicy, not NoOverCommitPolicy */
} YqReservationSettings;

/* As committed and as changed by this transaction; "queue" is the path of a plan. */
extern YqReservationSettings yq_reservation_settings(const char *queue);

/*
 * Add classes that are not known, of plans and of the scheduler, times that are too long, and a
 * largest period that the recurrence of an accepted reservation does not divide.
 */
extern List *yq_reservation_validate(List *violations);

/* Add advice about values of a plan that mean something else than they seem to. */
extern List *yq_reservation_advise_plan(List *findings, const char *queue);

/* Add advice about settings of all plans; without a test about all of them. */
extern List *yq_reservation_advise(List *findings, YqSettingTest is_wanted);

#endif							/* YQ_RESERVATION_SETTING_H */
