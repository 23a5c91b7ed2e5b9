/*-------------------------------------------------------------------------
 *
 * preemption_reservations.c
 *	  Reservations of the applications that a round of preemption looks at.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "preemption/preemption_applications.h"
#include "preemption/preemption_containers.h"
#include "preemption/preemption_reservations.h"
#include "store/table_scan.h"
#include "utils/builtins.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

typedef struct ReservedAtEntry
{
	YqBytes		key;			/* name of the node */
	TimestampTz reserved_at;
	bool		is_moved;
} ReservedAtEntry;

static void
read_reserved_at(const YqRow *row)
{
	YqPreemptionLoader *loader = row->argument;
	bool		isnull;
	bool		found;
	ReservedAtEntry *entry = yq_bytes_table_enter(loader->reserved_at, yq_row_bytes(row, 0),
												  loader->preemption->state->context, &found);

	entry->reserved_at = DatumGetTimestampTz(yq_row_value(row, 1, &isnull));
	(void) yq_row_value(row, 2, &isnull);
	entry->is_moved = !isnull;
}

/* The rest of a reservation's row; one that has just been made is of now. */
static void
set_reserved_at(YqPreemptionLoader *loader, YqPreemptionContainer *container)
{
	static const char *const columns[] = {"node", "reserved_at", "moved_at"};
	const ReservedAtEntry *entry;

	if (loader->reserved_at == NULL)
	{
		Snapshot	snapshot = yq_latest_snapshot();

		loader->reserved_at = yq_bytes_table_create("yquota times of reservations", sizeof(ReservedAtEntry),
													loader->preemption->state->context);
		yq_table_scan(YQ_RESERVED_CONTAINER, snapshot, columns, lengthof(columns), read_reserved_at, loader);
		UnregisterSnapshot(snapshot);
	}
	entry = yq_bytes_table_find(loader->reserved_at, yq_bytes_of_string(container->node->name));
	container->started_at = entry == NULL ? loader->preemption->state->now : entry->reserved_at;
	container->is_moved = entry != NULL && entry->is_moved;
}

static void
add_reservation(YqPreemptionLoader *loader, YqPreemptionApplication *application, const YqReservation *reservation)
{
	const YqSchedulerKey *key = reservation->key;
	YqPreemptionNode *node = yq_loaded_preemption_node(loader, yq_bytes_of_string(reservation->node->name), reservation->node->label);
	char	   *id = text_to_cstring(yq_loaded_container_id(key->application, reservation->container));
	YqPreemptionContainer *container = yq_preemption_add_container(loader->preemption->state, application, node, id,
																   yq_preemption_container_number(id), reservation->amounts, true);

	container->label = key->label;
	container->priority = key->priority;
	container->allocation_request_id = key->allocation_request_id;
	set_reserved_at(loader, container);
	container->is_update = key->update != NULL;
	container->relaxes_locality = key->anywhere.relaxes_locality;
	container->source = unconstify(YqReservation *, reservation);
}

void
yq_preemption_reservations_add(YqPreemptionLoader *loader)
{
	ListCell   *cell;

	foreach(cell, loader->found)
	{
		const YqPreemptionApplicationEntry *entry = lfirst(cell);

		for (int i = 0; entry->from != NULL && i < entry->from->key_count; i++)
		{
			for (int j = 0; j < entry->from->keys[i]->reservation_count; j++)
				add_reservation(loader, entry->application, entry->from->keys[i]->reservations[j]);
		}
	}
}
