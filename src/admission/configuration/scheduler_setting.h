/*-------------------------------------------------------------------------
 *
 * scheduler_setting.h
 *	  Settings as Hadoop reads them: settings of preemption, of OPPORTUNISTIC
 *	  containers, of plans and of the scheduler, with findings about them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_SCHEDULER_SETTING_H
#define YQ_SCHEDULER_SETTING_H

#include "base/compat.h"

#include "nodes/pg_list.h"
#include "store/saved_plan.h"

/* -- monitor policy ------------------------------------------------------------ */

/* Find the policies that the scheduler's monitor runs (preemption 1). */

#define YQ_MONITOR_ENABLE "yarn.resourcemanager.scheduler.monitor.enable"

/*
 * Return which of these two properties turns rounds of preemption off; NULL: there are
 * rounds.  Unset policies mean the preemption policy alone, which is found by the last
 * part of its name.  The settings are read as committed and as changed by this
 * transaction.
 */
extern const char *yq_preemption_off_because(void);

/* -- preemption setting -------------------------------------------------------- */

/*
 * Check settings of preemption that Hadoop refuses, or computes with although they make
 * no sense in a round (ProportionalCapacityPreemptionPolicy).
 *
 * The columns cannot hold NaN or infinity.
 */

/*
 * Is the text a policy of intra-queue-preemption.preemption-order-policy, in any case?
 * Sets whether it is priority_first rather than userlimit_first.
 */
extern bool yq_preemption_find_order(const char *policy, bool *is_priority_first);

/* Add violations of the settings in force; Hadoop reads the settings only where there are rounds. */
extern List *yq_preemption_validate(List *violations);

/* Is advice about a column of scheduler_setting wanted? */
typedef bool (*YqSettingTest) (const char *column);

/* Add advice about numbers that rounds compute with unchecked; without a test, about all of them. */
extern List *yq_preemption_advise(List *findings, YqSettingTest is_wanted);

/* -- opportunistic setting ----------------------------------------------------- */

/*
 * Check settings of OPPORTUNISTIC containers that contradict each other, or that Hadoop
 * follows although they are unwise (opportunistic 6, 9, 13).
 *
 * Checks of the table itself limit the value of a single column.
 */

/* Add a violation where a minimum is above its maximum; Hadoop would take the maximum. */
extern List *yq_opportunistic_validate(List *violations);

/* Add advice about settings without effect, or with another effect than they seem to have. */
extern List *yq_opportunistic_advise(List *findings);

/* -- reservation setting ------------------------------------------------------- */

/*
 * Settings of plans; a plan is a queue with the property reservable (reservation 11).
 *
 * Defaults are Hadoop 3.4.1's.  Agents and policies are known by the last names of
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
	int64		enforcement_window; /* period that the replanner looks ahead */
	bool		moves_on_expiry;	/* applications of an ended reservation move to the default queue */
	bool		limits_users;	/* CapacityOverTimePolicy, not NoOverCommitPolicy */
} YqReservationSettings;

/* Return the settings as committed and as changed by this transaction; "queue" is the path of a plan. */
extern YqReservationSettings yq_reservation_settings(const char *queue);

/*
 * Add violations: unknown classes of plans and of the scheduler, and times that are too
 * long.  The recurrence of an accepted reservation must divide the largest period.
 */
extern List *yq_reservation_validate(List *violations);

/* Add advice about values of a plan that differ in meaning from their appearance. */
extern List *yq_reservation_advise_plan(List *findings, const char *queue);

/* Add advice about settings of all plans; without a test, about all settings. */
extern List *yq_reservation_advise(List *findings, YqSettingTest is_wanted);

/* -- scheduler setting --------------------------------------------------------- */

/* Add advice about settings of the whole scheduler; without a test, about all settings. */
extern List *yq_scheduler_advise(List *findings, YqSettingTest is_wanted);

/* Add advice about a managed parent with a management-policy that is not available here. */
extern List *yq_scheduler_advise_managed_parent(List *findings, const char *queue);

/* Add all properties that no column represents, with the names that were probably meant. */
extern List *yq_scheduler_advise_unmapped(List *findings);

#endif							/* YQ_SCHEDULER_SETTING_H */
