/*-------------------------------------------------------------------------
 *
 * opportunistic_setting.h
 *	  Settings of OPPORTUNISTIC containers that contradict each other, or that Hadoop
 *	  follows although they are unwise (opportunistic 6, 9, 13).
 *
 * What a column alone may hold is checked by its table.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_OPPORTUNISTIC_SETTING_H
#define YQ_OPPORTUNISTIC_SETTING_H

#include "nodes/pg_list.h"

/* Add violations: a minimum above its maximum.  Hadoop would take the maximum. */
extern List *yq_opportunistic_validate(List *violations);

/* Add advice about settings that have no effect, or another one than they seem to. */
extern List *yq_opportunistic_advise(List *findings);

#endif							/* YQ_OPPORTUNISTIC_SETTING_H */
