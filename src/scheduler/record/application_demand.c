/*-------------------------------------------------------------------------
 *
 * application_demand.c
 *	  Whether an application waits for anything, as its requests have it.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "admission/submission/application_change.h"
#include "executor/spi.h"
#include "scheduler/record/application_demand.h"
#include "store/saved_plan.h"
#include "utils/builtins.h"

int64
yq_application_demand_note(const char *application_id)
{
	static YqSavedPlan look_up = {
		.command = "SELECT COALESCE(pg_catalog.sum(r.count), 0), "
		"COALESCE(pg_catalog.bool_or(r.count > 0) FILTER (WHERE r.execution_type = 'GUARANTEED'), false) "
		"OR EXISTS (SELECT FROM yquota.container_update AS u WHERE u.application_id = $1) FROM yquota.resource_request AS r "
		"WHERE r.application_id = $1 AND r.resource_name = '*'",
		.types = {"text"}
	};
	Datum		values[] = {CStringGetTextDatum(application_id)};
	bool		isnull;
	int64		count;
	bool		is_demanding;

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	(void) yq_saved_plan_run(&look_up, values, NULL);
	count = DatumGetInt64(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &isnull));
	is_demanding = DatumGetBool(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 2, &isnull));
	SPI_finish();
	(void) yq_application_change_demand(application_id, is_demanding);
	return count;
}
