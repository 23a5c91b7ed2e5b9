/*-------------------------------------------------------------------------
 *
 * scheduler_setting.h
 *	  Settings of the scheduler that name what is not here, or do less than they seem to.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_SCHEDULER_SETTING_H
#define YQ_SCHEDULER_SETTING_H

#include "admission/configuration/preemption_setting.h"
#include "nodes/pg_list.h"

/* Add advice about settings of the whole scheduler; without a test about all of them. */
extern List *yq_scheduler_advise(List *findings, YqSettingTest is_wanted);

/* Add advice about a managed parent that names another management-policy than is here. */
extern List *yq_scheduler_advise_managed_parent(List *findings, const char *queue);

/* Add all properties that no column stands for, with the ones that were probably meant. */
extern List *yq_scheduler_advise_unmapped(List *findings);

#endif							/* YQ_SCHEDULER_SETTING_H */
