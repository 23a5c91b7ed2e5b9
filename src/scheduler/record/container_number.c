/*-------------------------------------------------------------------------
 *
 * container_number.c
 *	  Numbers of containers that are not used yet.
 *
 * There are hundreds of thousands of names at once, nearly all of them free,
 * nearly all in ascending order: indexes are scanned forward as charging does.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "base/varlena.h"
#include "miscadmin.h"
#include "scheduler/record/container_number.h"
#include "scheduler/record/record_containers.h"
#include "store/catalog.h"
#include "store/index_scan.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

/* Where names of containers are known. */
typedef struct Names
{
	YqIndexScan *scans[3];			/* running before finished: a container that ends meanwhile is in either */
	int			scan_count;
	MemoryContext contexts[2];	/* of the name at hand and the one before */
	text	   *last;			/* NULL: none yet */
	int			turn;
} Names;

static Names
open_names(void)
{
	Names		names = {.scan_count = 0};

	names.scans[names.scan_count++] = yq_index_scan_open(YQ_CONTAINER, "container_pkey");
	names.scans[names.scan_count++] = yq_index_scan_open(YQ_CHARGE, "charge_container_id_idx");
	if (!yq_table_has_no_pages(YQ_EVENT_REJECT))
		names.scans[names.scan_count++] = yq_index_scan_open(YQ_EVENT_REJECT, "event_reject_waiting_idx");
	for (int i = 0; i < (int) lengthof(names.contexts); i++)
		names.contexts[i] = AllocSetContextCreate(CurrentMemoryContext, "yquota container name", ALLOCSET_SMALL_SIZES);
	return names;
}

static void
close_names(Names *names)
{
	for (int i = 0; i < names->scan_count; i++)
		yq_index_scan_close(names->scans[i]);
	for (int i = 0; i < (int) lengthof(names->contexts); i++)
		MemoryContextDelete(names->contexts[i]);
}

/* The name of a container, good until the call after the next. */
static text *
make_name(Names *names, const YqClusterApplication *application, int64 number)
{
	MemoryContext caller;
	text	   *name;

	names->turn = 1 - names->turn;
	MemoryContextReset(names->contexts[names->turn]);
	caller = MemoryContextSwitchTo(names->contexts[names->turn]);
	name = yq_loaded_container_id(application, number);
	MemoryContextSwitchTo(caller);
	return name;
}

static bool
is_known_number(Names *names, const YqClusterApplication *application, int64 number)
{
	text	   *name = make_name(names, application, number);
	bool		goes_on = names->last != NULL && yq_varlena_compare(names->last, name) < 0;

	names->last = name;
	for (int i = 0; i < names->scan_count; i++)
	{
		if (!goes_on)
			yq_index_scan_restart(names->scans[i]);
		if (yq_index_scan_advance(names->scans[i], name) != NULL)
			return true;
	}
	return false;
}

/* The used numbers that were skipped for an application. */
typedef struct Known
{
	int			count;
	int64		first;
} Known;

static int64
next_free(Names *names, const YqClusterApplication *application, int64 from, Known *known)
{
	for (; is_known_number(names, application, from); from++)
	{
		CHECK_FOR_INTERRUPTS();
		if (known->count++ == 0)
			known->first = from;
	}
	return from;
}

static void
warn_of_taken_number(const YqClusterApplication *application, const Known *known)
{
	ereport(WARNING,
			(errcode(ERRCODE_DUPLICATE_OBJECT),
			 errmsg_plural("%d container id of application \"%s\" is in use already",
						   "%d container ids of application \"%s\" are in use already",
						   known->count, known->count, application->application_id),
			 errdetail("The scheduler did not give \"%s\", and goes on with other numbers.",
					   text_to_cstring(yq_loaded_container_id(application, known->first))),
			 errhint("Send no CONTAINER_START for new containers of applications that the scheduler serves.")));
}

/* -- new numbers -------------------------------------------------------------- */

static bool
is_any_known(Names *names, const YqClusterApplication *application)
{
	for (int64 number = yq_loaded(application)->next_container; number < application->next_container; number++)
	{
		CHECK_FOR_INTERRUPTS();
		if (is_known_number(names, application, number))
			return true;
	}
	return false;
}

/* Those that the cycle has given, moved on where one is known; of reservations, too. */
static void
renumber(Names *names, YqClusterApplication *application)
{
	YqLoadedApplication *source = yq_loaded(application);
	int64		count = application->next_container - source->next_container;
	int64		next = source->next_container;
	Known		known = {0};

	source->renumbered = MemoryContextAllocHuge(CurrentMemoryContext, count * sizeof(int64));
	for (int64 i = 0; i < count; i++)
	{
		source->renumbered[i] = next_free(names, application, next, &known);
		next = source->renumbered[i] + 1;
	}
	application->next_container = next;
	warn_of_taken_number(application, &known);
}

static void
move_on(YqDecision *decision)
{
	const YqLoadedApplication *source = yq_loaded(decision->key->application);

	if (source->renumbered == NULL || decision->container < source->next_container)
		return;
	decision->container = source->renumbered[decision->container - source->next_container];
	if (decision->kind == YQ_RESERVED)
		decision->reservation->container = decision->container;
}

/* -- numbers of reservations that earlier cycles have made ------------------------ */

static void
renumber_older(Names *names, YqDecision *decision)
{
	YqClusterApplication *application = decision->key->application;
	Known		known = {0};

	if (!yq_decision_starts(decision) || decision->container >= yq_loaded(application)->next_container ||
		!is_known_number(names, application, decision->container))
		return;
	known.count = 1;
	known.first = decision->container;
	decision->container = next_free(names, application, application->next_container, &known);
	application->next_container = decision->container + 1;
	warn_of_taken_number(application, &known);
}

void
yq_container_numbers_skip_known(YqLoadedCluster *loaded, const List *applications)
{
	YqCluster  *cluster = loaded->cluster;
	Names		names;
	ListCell   *cell;

	if (cluster->decision_count == 0)
		return;
	names = open_names();
	foreach(cell, applications)
	{
		if (is_any_known(&names, lfirst(cell)))
			renumber(&names, lfirst(cell));
	}
	for (int i = 0; i < cluster->decision_count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		move_on(&cluster->decisions[i]);
		renumber_older(&names, &cluster->decisions[i]);
	}
	foreach(cell, applications)
	{
		YqLoadedApplication *source = yq_loaded((YqClusterApplication *) lfirst(cell));

		if (source->renumbered != NULL)
			pfree(source->renumbered);
		source->renumbered = NULL;
	}
	close_names(&names);
}
