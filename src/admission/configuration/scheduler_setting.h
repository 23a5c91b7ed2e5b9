/*-------------------------------------------------------------------------
 *
 * scheduler_setting.h
 *	  Settings as Hadoop reads them: those of preemption, of OPPORTUNISTIC containers, of
 *	  plans and of the scheduler, with findings about them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_SCHEDULER_SETTING_H
#define YQ_SCHEDULER_SETTING_H

#include "base/compat.h"

#include "nodes/pg_list.h"
#include "store/saved_plan.h"

/* -- monitor policy ------------------------------------------------------------ */

/* Which policies the scheduler's monitor runs (preemption 1). */

#define YQ_MONITOR_ENABLE "yarn.resourcemanager.scheduler.monitor.enable"

/*
 * Which of these two properties has rounds of preemption off; NULL: there are rounds.
 * Policies that are not set are the preemption policy alone, which is found by the last
 * part of its name.  As the setting is now, with the changes of this transaction.
 */
extern const char *yq_preemption_off_because(void);

/* -- preemption setting -------------------------------------------------------- */

/*
 * Settings of preemption that Hadoop refuses, or computes with although no
 * round can make sense of them (ProportionalCapacityPreemptionPolicy).
 *
 * NaN and infinity are no values of the columns.
 */

/*
 * Is it a policy of intra-queue-preemption.preemption-order-policy, in letters of any
 * case?  Sets whether it is priority_first rather than userlimit_first.
 */
extern bool yq_preemption_find_order(const char *policy, bool *is_priority_first);

/* Add violations of the settings in force: Hadoop reads them where there are rounds only. */
extern List *yq_preemption_validate(List *violations);

/* Is advice about a column of scheduler_setting wanted? */
typedef bool (*YqSettingTest) (const char *column);

/* Add advice about numbers that rounds compute with as they are; without a test about all. */
extern List *yq_preemption_advise(List *findings, YqSettingTest is_wanted);

/* -- opportunistic setting ----------------------------------------------------- */

/*
 * Settings of OPPORTUNISTIC containers that contradict each other, or that Hadoop
 * follows although they are unwise (opportunistic 6, 9, 13).
 *
 * What a column alone may hold is checked by its table.
 */

/* Add violations: a minimum above its maximum.  Hadoop would take the maximum. */
extern List *yq_opportunistic_validate(List *violations);

/* Add advice about settings that have no effect, or another one than they seem to. */
extern List *yq_opportunistic_advise(List *findings);

/* -- reservation setting ------------------------------------------------------- */

/*
 * Settings of plans, which are queues with the property reservable
 * (reservation 11).
 *
 * Defaults are those of Hadoop 3.4.1.  Agents and policies are known by the last names of
 * their classes.  Times are in milliseconds.
 */

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

/* -- scheduler setting --------------------------------------------------------- */

/* Add advice about settings of the whole scheduler; without a test about all of them. */
extern List *yq_scheduler_advise(List *findings, YqSettingTest is_wanted);

/* Add advice about a managed parent that names another management-policy than is here. */
extern List *yq_scheduler_advise_managed_parent(List *findings, const char *queue);

/* Add all properties that no column stands for, with the ones that were probably meant. */
extern List *yq_scheduler_advise_unmapped(List *findings);

#endif							/* YQ_SCHEDULER_SETTING_H */
