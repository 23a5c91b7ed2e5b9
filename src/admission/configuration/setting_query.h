/*-------------------------------------------------------------------------
 *
 * setting_query.h
 *	  Findings about settings that a statement finds.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_SETTING_QUERY_H
#define YQ_SETTING_QUERY_H

#include "admission/configuration/preemption_setting.h"
#include "nodes/pg_list.h"
#include "store/saved_plan.h"

/* Of a class: the name without its package, by which it is known. */
#define YQ_LAST_NAME(column) "substring(" column " FROM '[^.]*$')"

/*
 * Add what the statement finds as violations or advice (validate.h).  Its columns, all of
 * text, are queue, property, value and message, and with a test the column of
 * scheduler_setting that decides whether the finding is wanted.
 */
extern List *yq_setting_findings(List *findings, YqSavedPlan *statement, Datum *values, YqSettingTest is_wanted);

#endif							/* YQ_SETTING_QUERY_H */
