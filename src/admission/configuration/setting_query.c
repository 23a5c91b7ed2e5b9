/*-------------------------------------------------------------------------
 *
 * setting_query.c
 *	  Findings about settings that a statement finds.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "admission/configuration/setting_query.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "queues/validate.h"

/* Columns of the statement, in their order, from 1 on. */
typedef enum FindingColumn
{
	FINDING_QUEUE = 1,
	FINDING_PROPERTY,
	FINDING_VALUE,
	FINDING_MESSAGE,
	FINDING_COLUMN				/* of scheduler_setting */
} FindingColumn;

static char *
finding_text(uint64 row, FindingColumn column)
{
	return SPI_getvalue(SPI_tuptable->vals[row], SPI_tuptable->tupdesc, column);
}

List *
yq_setting_findings(List *findings, YqSavedPlan *statement, Datum *values, YqSettingTest is_wanted)
{
	MemoryContext caller = CurrentMemoryContext;
	uint64		count;

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	count = yq_saved_plan_run(statement, values, NULL);
	for (uint64 i = 0; i < count; i++)
	{
		MemoryContext old_context = MemoryContextSwitchTo(caller);

		CHECK_FOR_INTERRUPTS();
		if (is_wanted == NULL || is_wanted(finding_text(i, FINDING_COLUMN)))
			findings = yq_violation_add(findings, finding_text(i, FINDING_QUEUE), finding_text(i, FINDING_PROPERTY),
										finding_text(i, FINDING_VALUE), finding_text(i, FINDING_MESSAGE));
		MemoryContextSwitchTo(old_context);
	}
	SPI_finish();
	return findings;
}
