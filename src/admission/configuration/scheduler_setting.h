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

/* Does the scheduler's monitor run the preemption policy? */

#define YQ_MONITOR_ENABLE "yarn.resourcemanager.scheduler.monitor.enable"

/*
 * Return the property that turns preemption off, or NULL if preemption is on.  The
 * property is YQ_MONITOR_ENABLE or YQ_MONITOR_POLICIES.  If no policies are set, the
 * preemption policy runs.  The policy is recognized by the last part of its class name.
 * The result takes the changes of this transaction into account.
 */
extern const char *yq_preemption_off_because(void);

/* -- preemption setting -------------------------------------------------------- */

/*
 * Check the settings of preemption (ProportionalCapacityPreemptionPolicy).  Hadoop
 * rejects some values, and uses others that make no sense in a round of preemption.
 *
 * The columns cannot contain NaN or infinity.
 */

/*
 * Is the text a value of intra-queue-preemption.preemption-order-policy, ignoring case?
 * Sets *is_priority_first to true for priority_first, and to false for userlimit_first.
 */
extern bool yq_preemption_find_order(const char *policy, bool *is_priority_first);

/* Add violations in the current settings.  Hadoop reads these settings only if preemption is on. */
extern List *yq_preemption_validate(List *violations);

/* Test that selects columns of scheduler_setting: is advice about this column wanted? */
typedef bool (*YqSettingTest) (const char *column);

/* Add advice about numbers that Hadoop uses without a check.  If is_wanted is NULL, all numbers are checked. */
extern List *yq_preemption_advise(List *findings, YqSettingTest is_wanted);

/* -- opportunistic setting ----------------------------------------------------- */

/*
 * Check the settings of OPPORTUNISTIC containers.  Some contradict each other;
 * others are unwise, although Hadoop uses them.
 *
 * The range of a single column is checked by the table's constraints.
 */

/* Add a violation for each minimum that exceeds its maximum.  Hadoop would use the maximum. */
extern List *yq_opportunistic_validate(List *violations);

/* Add advice about settings that have no effect, or not the effect that users expect. */
extern List *yq_opportunistic_advise(List *findings);

/* -- reservation setting ------------------------------------------------------- */

/*
 * Settings of plans.  A plan is a queue with the property reservable.
 *
 * Defaults are those of Hadoop 3.4.1.  Agents and policies are recognized by their
 * class names without the package.  Times are in milliseconds.
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
	bool		aligns;			/* true: AlignedPlannerWithGreedy; false: GreedyReservationAgent */
	int64		enforcement_window; /* period after the present for which the replanner repairs a plan */
	bool		moves_on_expiry;	/* after its end, a reservation's applications move to the plan's default queue */
	bool		limits_users;	/* true: CapacityOverTimePolicy; false: NoOverCommitPolicy */
} YqReservationSettings;

/*
 * Return the settings of the plan with the path "queue".  The result takes the changes
 * of this transaction into account.
 */
extern YqReservationSettings yq_reservation_settings(const char *queue);

/*
 * Add violations.  The classes of plans and of the scheduler must be known, and times
 * must not be too long.  The recurrence of each accepted reservation must divide the
 * largest period.
 */
extern List *yq_reservation_validate(List *violations);

/* Add advice about values of a plan that mean something other than users expect. */
extern List *yq_reservation_advise_plan(List *findings, const char *queue);

/* Add advice about settings of all plans.  If is_wanted is NULL, all settings are checked. */
extern List *yq_reservation_advise(List *findings, YqSettingTest is_wanted);

/* -- scheduler setting --------------------------------------------------------- */

/* Add advice about settings of the whole scheduler.  If is_wanted is NULL, all settings are checked. */
extern List *yq_scheduler_advise(List *findings, YqSettingTest is_wanted);

/* Add advice about a managed parent whose management-policy is a class that yquota does not have. */
extern List *yq_scheduler_advise_managed_parent(List *findings, const char *queue);

/* Add all properties that yquota does not represent, each with the known name that was probably meant. */
extern List *yq_scheduler_advise_unmapped(List *findings);

#endif							/* YQ_SCHEDULER_SETTING_H */
