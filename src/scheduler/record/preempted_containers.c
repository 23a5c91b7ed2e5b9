/*-------------------------------------------------------------------------
 *
 * preempted_containers.c
 *	  Running containers that are preempted.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "executor/spi.h"
#include "queues/text.h"
#include "scheduler/record/preempted_containers.h"
#include "store/catalog.h"
#include "utils/array.h"

YqPreemptedContainers
yq_preempted_containers_make(int room)
{
	Size		size = Max(room, 1) * sizeof(char *);

	return (YqPreemptedContainers) {.container_ids = palloc(size),.application_ids = palloc(size),.queues = palloc(size),
		.queue_names = palloc(size),.allocations = palloc(Max(room, 1) * sizeof(Datum))};
}

static Datum
array_of_allocations(const YqPreemptedContainers *containers)
{
	return PointerGetDatum(construct_array(containers->allocations, containers->count, yq_type_oid("resource"), -1, false,
										   TYPALIGN_INT));
}

bool *
yq_preempted_containers_run(int count, YqSavedPlan *statement, Datum *values)
{
	bool	   *result = palloc0(Max(count, 1) * sizeof(bool));
	uint64		rows;
	bool		isnull;

	if (count == 0)
		return result;
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	rows = yq_saved_plan_run(statement, values, NULL);
	for (uint64 i = 0; i < rows; i++)
		result[DatumGetInt64(SPI_getbinval(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, 1, &isnull)) - 1] = true;
	SPI_finish();
	return result;
}

bool *
yq_preempted_containers_execute(const YqPreemptedContainers *containers, YqSavedPlan *statement, Datum now)
{
	Datum		values[] = {
		yq_array_of_names(containers->container_ids, containers->count),
		yq_array_of_names(containers->application_ids, containers->count),
		yq_array_of_names(containers->queues, containers->count),
		yq_array_of_names(containers->queue_names, containers->count),
		array_of_allocations(containers),
		now
	};

	return yq_preempted_containers_run(containers->count, statement, values);
}

bool *
yq_preempted_containers_claim(const YqPreemptedContainers *containers, Datum now)
{
	static YqSavedPlan claim = {
		.command = YQ_PREEMPTED_RUNNING
		"SELECT r.place FROM running AS r JOIN wanted AS w ON w.place = r.place "
		"WHERE w.allocation OPERATOR(yquota.<@) r.allocation",
		.types = YQ_PREEMPTED_TYPES,
		.plans_once = true
	};

	return yq_preempted_containers_execute(containers, &claim, now);
}

bool *
yq_preempted_containers_end(const YqPreemptedContainers *containers, Datum now)
{
	/* ContainerExitStatus.PREEMPTED */
	static YqSavedPlan end = {
		.command = YQ_PREEMPTED_RUNNING
		", ended AS (INSERT INTO yquota.container_event (event, container_id, occurred_at, exit_status, source) "
		"SELECT 'CONTAINER_FINISH', r.container_id, greatest(yquota.clock(), r.settled_at), -102, 'scheduler' FROM running AS r) "
		YQ_PREEMPTED_TELL("killed", "false")
		", forgotten AS (DELETE FROM yquota_internal.preemption_mark AS m USING running AS r WHERE m.container_id = r.container_id) "
		"SELECT r.place FROM running AS r",
		.types = YQ_PREEMPTED_TYPES,
		.plans_once = true
	};

	return yq_preempted_containers_execute(containers, &end, now);
}
