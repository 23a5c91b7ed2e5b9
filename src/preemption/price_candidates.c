/*-------------------------------------------------------------------------
 *
 * price_candidates.c
 *	  What the containers of an application have cost so far, for the order of
 *	  candidates YQ_LEAST_PAID.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "executor/spi.h"
#include "miscadmin.h"
#include "preemption/price_candidates.h"
#include "queues/text.h"
#include "scheduler/load/paid_credits.h"
#include "store/saved_plan.h"

static YqSavedPlan look_up = {
	.command = "SELECT q.number, pg_catalog.rank() OVER (ORDER BY " YQ_PAID_CREDITS ") "
	"FROM pg_catalog.unnest($1) WITH ORDINALITY AS q (container_id, number) "
	"JOIN yquota.container AS c ON c.container_id = q.container_id",
	.types = {"_text"},
	.plans_once = true
};

void
yq_price_candidates(YqPreemption *state, YqPreemptionApplication *application)
{
	const char **ids = palloc(sizeof(char *) * Max(application->container_count, 1));
	Datum		values[1];
	uint64		found;

	for (int i = 0; i < application->container_count; i++)
		ids[i] = application->containers[i]->container_id;
	values[0] = yq_array_of_names(ids, application->container_count);
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	found = yq_saved_plan_run(&look_up, values, NULL);
	for (uint64 i = 0; i < found; i++)
	{
		HeapTuple	tuple = SPI_tuptable->vals[i];
		bool		isnull;
		int64		number = DatumGetInt64(SPI_getbinval(tuple, SPI_tuptable->tupdesc, 1, &isnull));

		CHECK_FOR_INTERRUPTS();
		application->containers[number - 1]->paid_rank =
			DatumGetInt64(SPI_getbinval(tuple, SPI_tuptable->tupdesc, 2, &isnull));
	}
	SPI_finish();
	pfree(ids);
}
