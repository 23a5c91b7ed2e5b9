/*-------------------------------------------------------------------------
 *
 * preemption_setting.h
 *	  Settings of preemption that Hadoop refuses, or computes with although no
 *	  round can make sense of them (ProportionalCapacityPreemptionPolicy).
 *
 * NaN and infinity are no values of the columns.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_PREEMPTION_SETTING_H
#define YQ_PREEMPTION_SETTING_H

#include "nodes/pg_list.h"

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

#endif							/* YQ_PREEMPTION_SETTING_H */
