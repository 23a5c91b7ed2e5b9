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
 * Return which of these two properties turns rounds of preemption off, or NULL if there
 * are rounds.  If no policies are set, there is only the preemption policy.  It is
 * recognized by the last part of its name.  The settings are read as committed and as
 * changed by this transaction.
 */
extern const char *yq_preemption_off_because(void);

/* -- preemption setting -------------------------------------------------------- */

/*
 * Check settings of preemption that Hadoop refuses, or that it uses although they make
 * no sense in a round (ProportionalCapacityPreemptionPolicy).
 *
 * The columns cannot contain NaN or infinity.
 */

/*
 * Is the text a policy of intra-queue-preemption.preemption-order-policy, in any case?
 * Sets *is_priority_first to true for priority_first, and to false for userlimit_first.
 */
extern bool yq_preemption_find_order(const char *policy, bool *is_priority_first);

/* Add violations of the current settings.  Hadoop reads the settings only if there are rounds. */
extern List *yq_preemption_validate(List *violations);

/* Is advice about a column of scheduler_setting wanted? */
typedef bool (*YqSettingTest) (const char *column);

/* Add advice about numbers that rounds use unchecked.  Without a test, all numbers are checked. */
extern List *yq_preemption_advise(List *findings, YqSettingTest is_wanted);

/* -- opportunistic setting ----------------------------------------------------- */

/*
 * Check settings of OPPORTUNISTIC containers that contradict each other, or that Hadoop
 * follows although they are unwise (opportunistic 6, 9, 13).
 *
 * Checks of the table itself limit the value of a single column.
 */

/* Add a violation if a minimum exceeds its maximum.  Hadoop would use the maximum. */
extern List *yq_opportunistic_validate(List *violations);

/* Add advice about settings that have no effect, or an effect other than expected. */
extern List *yq_opportunistic_advise(List *findings);

/* -- reservation setting ------------------------------------------------------- */

/*
 * Settings of plans; a plan is a queue with the property reservable (reservation 11).
 *
 * Defaults are those of Hadoop 3.4.1.  Agents and policies are recognized by the class
 * name without the package.  Times are in milliseconds.
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
	int64		enforcement_window; /* time for which the replanner looks ahead */
	bool		moves_on_expiry;	/* applications of an ended reservation move to the default queue */
	bool		limits_users;	/* true: CapacityOverTimePolicy; false: NoOverCommitPolicy */
} YqReservationSettings;

/* Return the settings as committed and as changed by this transaction; "queue" is the path of a plan. */
extern YqReservationSettings yq_reservation_settings(const char *queue);

/*
 * Add violations: unknown classes of plans and of the scheduler, and times that are too
 * long.  The recurrence of an accepted reservation must divide the largest period.
 */
extern List *yq_reservation_validate(List *violations);

/* Add advice about values of a plan whose meaning differs from their appearance. */
extern List *yq_reservation_advise_plan(List *findings, const char *queue);

/* Add advice about settings of all plans.  Without a test, all settings are checked. */
extern List *yq_reservation_advise(List *findings, YqSettingTest is_wanted);

/* -- scheduler setting --------------------------------------------------------- */

/* Add advice about settings of the whole scheduler.  Without a test, all settings are checked. */
extern List *yq_scheduler_advise(List *findings, YqSettingTest is_wanted);

/* Add advice about a managed parent whose management-policy is not available here. */
extern List *yq_scheduler_advise_managed_parent(List *findings, const char *queue);

/* Add all properties that no column represents, with the known names that were probably meant. */
extern List *yq_scheduler_advise_unmapped(List *findings);

#endif							/* YQ_SCHEDULER_SETTING_H */
