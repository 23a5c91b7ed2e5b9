/*-------------------------------------------------------------------------
 *
 * preempted_containers.c
 *	  Running containers that are preempted.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "base/bytes_table.h"
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
yq_preempted_containers_among(const YqPreemptedContainers *containers, const List *ids)
{
	HTAB	   *among = yq_bytes_table_create("yquota preempted containers", sizeof(YqBytes), CurrentMemoryContext);
	bool	   *result = palloc(Max(containers->count, 1) * sizeof(bool));
	ListCell   *cell;
	bool		found;

	foreach(cell, ids)
		(void) yq_bytes_table_enter_kept(among, yq_bytes_of_string(lfirst(cell)), &found);
	for (int i = 0; i < containers->count; i++)
		result[i] = yq_bytes_table_find(among, yq_bytes_of_string(containers->container_ids[i])) != NULL;
	hash_destroy(among);
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

	return yq_preempted_containers_among(containers, containers->count == 0 ? NIL :
										 yq_saved_plan_strings(statement, values));
}

bool *
yq_preempted_containers_claim(const YqPreemptedContainers *containers, Datum now)
{
	static YqSavedPlan claim = {
		.command = YQ_PREEMPTED_RUNNING
		"SELECT r.container_id FROM running AS r JOIN wanted AS w ON w.container_id = r.container_id "
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
		", forgotten AS (DELETE FROM yquota.preemption_mark AS m USING running AS r WHERE m.container_id = r.container_id) "
		"SELECT r.container_id FROM running AS r",
		.types = YQ_PREEMPTED_TYPES,
		.plans_once = true
	};

	return yq_preempted_containers_execute(containers, &end, now);
}
