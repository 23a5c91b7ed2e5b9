/*-------------------------------------------------------------------------
 *
 * scheduler_setting.h
 *	  Settings of the scheduler that name what is not here.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_SCHEDULER_SETTING_H
#define YQ_SCHEDULER_SETTING_H

#include "nodes/pg_list.h"

/* Add all properties that no column stands for, with the ones that were probably meant. */
extern List *yq_scheduler_advise_unmapped(List *findings);

#endif							/* YQ_SCHEDULER_SETTING_H */
