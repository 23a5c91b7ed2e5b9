/*-------------------------------------------------------------------------
 *
 * container_number.c
 *	  Free numbers for new containers.
 *
 * A cycle may check hundreds of thousands of ids.  Nearly all of them are free, and they are in
 * ascending order.  Each index is therefore scanned forward once, as in charging.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "base/bytes_table.h"
#include "miscadmin.h"
#include "scheduler/load/loaded_cluster.h"
#include "scheduler/record/container_number.h"
#include "scheduler/record/record_containers.h"
#include "store/catalog.h"
#include "store/index_scan.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

/* Indexes of the tables in which known container ids are. */
typedef struct Names
{
	YqIndexScan *scans[3];			/* running containers first, because a container that ends moves to the charges */
	int			scan_count;
	MemoryContext contexts[2];	/* memory of the current id and of the previous id */
	text	   *last;			/* id that was checked last; NULL before the first id */
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

/* The attempt of an application, within which containers are numbered. */
typedef struct Attempt
{
	const char *application_id;
	int32		number;
} Attempt;

static Attempt
attempt_of(const YqClusterApplication *application)
{
	return (Attempt) {application->application_id, yq_loaded(application)->attempt};
}

/* Return the id of a container.  The result is valid until the function has been called twice more. */
static text *
make_name(Names *names, Attempt attempt, int64 number)
{
	MemoryContext caller;
	text	   *name;

	names->turn = 1 - names->turn;
	MemoryContextReset(names->contexts[names->turn]);
	caller = MemoryContextSwitchTo(names->contexts[names->turn]);
	name = yq_container_id(attempt.application_id, attempt.number, number);
	MemoryContextSwitchTo(caller);
	return name;
}

static bool
is_known_number(Names *names, Attempt attempt, int64 number)
{
	text	   *name = make_name(names, attempt, number);
	bool		goes_on = names->last != NULL && yq_varlena_compare(names->last, name) < 0;

	names->last = name;
	for (int i = 0; i < names->scan_count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (!goes_on)
			yq_index_scan_restart(names->scans[i]);
		if (yq_index_scan_advance(names->scans[i], name) != NULL)
			return true;
	}
	return false;
}

/* Skipped numbers of an application, which were in use: how many there are, and the first of them. */
typedef struct Known
{
	int			count;
	int64		first;
} Known;

static int64
next_free(Names *names, Attempt attempt, int64 from, Known *known)
{
	for (; is_known_number(names, attempt, from); from++)
	{
		CHECK_FOR_INTERRUPTS();
		if (known->count++ == 0)
			known->first = from;
	}
	return from;
}

static void
warn_of_taken_number(Attempt attempt, const Known *known)
{
	if (known->count == 0)
		return;
	ereport(WARNING,
			(errcode(ERRCODE_DUPLICATE_OBJECT),
			 errmsg_plural("%d container id of application \"%s\" is already in use",
						   "%d container ids of application \"%s\" are already in use",
						   known->count, known->count, attempt.application_id),
			 errdetail("The scheduler did not give \"%s\", and goes on with other numbers.",
					   text_to_cstring(yq_container_id(attempt.application_id, attempt.number, known->first))),
			 errhint("Send no CONTAINER_START for new containers of applications that the scheduler serves.")));
}

/* -- without a cluster ---------------------------------------------------------- */

int64
yq_container_numbers_take(const char *application_id, int32 attempt_number, int64 next, int64 *numbers, int count)
{
	Attempt		attempt = {application_id, attempt_number};
	Names		names = open_names();
	Known		known = {0};

	for (int i = 0; i < count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		numbers[i] = next_free(&names, attempt, next, &known);
		next = numbers[i] + 1;
	}
	close_names(&names);
	warn_of_taken_number(attempt, &known);
	return next;
}

/* -- numbers that were taken while the cycle decided ------------------------------ */

/*
 * Return the first number that was not taken while the cycle decided.  allocate_opportunistic()
 * takes numbers under the leaf's lock.  While deciding, the cycle did not hold this lock; now it
 * does.
 */
static int64
first_left(YqIndexScan *attempts, AttrNumber column, const YqClusterApplication *application)
{
	int64		next = yq_loaded(application)->next_container;
	TupleTableSlot *slot;
	bool		isnull;

	slot = yq_index_scan_find(attempts, cstring_to_text(application->application_id));
	return slot == NULL ? next : Max(next, DatumGetInt64(slot_getattr(slot, column, &isnull)));
}

/* -- new numbers -------------------------------------------------------------- */

static bool
is_any_known(Names *names, const YqClusterApplication *application)
{
	for (int64 number = yq_loaded(application)->next_container; number < application->next_container; number++)
	{
		CHECK_FOR_INTERRUPTS();
		if (is_known_number(names, attempt_of(application), number))
			return true;
	}
	return false;
}

/* Renumber the cycle's new containers and reservations, beginning with "next".  Numbers in use are skipped. */
static void
renumber(Names *names, YqClusterApplication *application, int64 next)
{
	YqLoadedApplication *source = yq_loaded(application);
	int64		count = application->next_container - source->next_container;
	Known		known = {0};

	source->renumbered = MemoryContextAllocHuge(CurrentMemoryContext, count * sizeof(int64));
	for (int64 i = 0; i < count; i++)
	{
		source->renumbered[i] = next_free(names, attempt_of(application), next, &known);
		next = source->renumbered[i] + 1;
	}
	application->next_container = next;
	warn_of_taken_number(attempt_of(application), &known);
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
		!is_known_number(names, attempt_of(application), decision->container))
		return;
	known.count = 1;
	known.first = decision->container;
	decision->container = next_free(names, attempt_of(application), application->next_container, &known);
	application->next_container = decision->container + 1;
	warn_of_taken_number(attempt_of(application), &known);
}

/* Renumber the new containers of each application that has numbers in use. */
static void
renumber_new(Names *names, const List *applications)
{
	YqIndexScan *attempts = yq_index_scan_open(YQ_APPLICATION_ATTEMPT, "application_attempt_pkey");
	AttrNumber	column = yq_column(yq_index_scan_relation(attempts), "next_container");
	ListCell   *cell;

	foreach(cell, applications)
	{
		YqClusterApplication *application = lfirst(cell);
		int64		next = yq_loaded(application)->next_container;

		if (application->next_container == next)
			continue;
		next = first_left(attempts, column, application);
		if (next != yq_loaded(application)->next_container || is_any_known(names, application))
			renumber(names, application, next);
	}
	yq_index_scan_close(attempts);
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
	renumber_new(&names, applications);
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
