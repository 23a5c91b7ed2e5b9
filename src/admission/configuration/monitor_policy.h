/*-------------------------------------------------------------------------
 *
 * monitor_policy.h
 *	  Which policies the scheduler's monitor runs (preemption 1).
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_MONITOR_POLICY_H
#define YQ_MONITOR_POLICY_H

#define YQ_MONITOR_ENABLE "yarn.resourcemanager.scheduler.monitor.enable"
#define YQ_MONITOR_POLICIES "yarn.resourcemanager.scheduler.monitor.policies"

/*
 * Which of these two properties has rounds of preemption off; NULL: there are rounds.
 * Policies that are not set are the preemption policy alone, which is found by the last
 * part of its name.  As the setting is now, with the changes of this transaction.
 */
extern const char *yq_preemption_off_because(void);

#endif							/* YQ_MONITOR_POLICY_H */
