/*-------------------------------------------------------------------------
 *
 * scheduler_setting.c
 *	  Settings of the scheduler that name what is not here.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "admission/configuration/scheduler_setting.h"
#include "admission/configuration/setting_query.h"

List *
yq_scheduler_advise_unmapped(List *findings)
{
	static YqSavedPlan list_unmapped = {
		.command = "SELECT * FROM yquota_internal.advice_about_unmapped_properties()"
	};

	return yq_setting_findings(findings, &list_unmapped, NULL, NULL);
}
