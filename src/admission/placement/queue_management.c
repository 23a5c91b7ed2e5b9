/*-------------------------------------------------------------------------
 *
 * queue_management.c
 *	  Leaves of a managed parent that have a guarantee.
 *
 * Arithmetic follows Java: floats, and a tolerance that Hadoop adds to the remaining
 * share.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include <math.h>

#include "admission/application/application.h"
#include "admission/placement/queue_management.h"
#include "catalog/pg_type_d.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "queues/effective.h"
#include "queues/text.h"
#include "queues/validate.h"
#include "store/saved_plan.h"
#include "utils/array.h"
#include "utils/builtins.h"

/* Hadoop's CSQueueUtils.EPSILON */
#define TOLERANCE 1e-4f

/* -- deciding -------------------------------------------------------------- */

/* Capacity of a managed parent on a label of its template, and the part that active leaves have. */
typedef struct Room
{
	const char *label_name;
	const YqQueue *parent;
	const YqQueueLabel *template;
	float4		parent_capacity;
	float4		activated;
} Room;

static bool
is_active(const YqQueue *leaf, int label)
{
	const YqQueueLabel *entry = yq_queue_label(leaf, label);

	return entry != NULL && entry->is_active;
}

static Room
room_of(const YqHierarchy *hierarchy, const YqQueue *parent, const YqQueueLabel *template, bool anew)
{
	const YqQueueLabel *above = yq_queue_label(parent, template->label);
	Room		room = {.label_name = hierarchy->labels[template->label], .parent = parent,
		.template = template, .activated = 0};

	room.parent_capacity = above == NULL ? 0 : above->absolute_capacity;
	for (int i = 0; !anew && i < parent->child_count; i++)
	{
		if (is_active(parent->children[i], template->label))
			room.activated += template->absolute_capacity;
	}
	return room;
}

List *
yq_labels_of_new_leaf(const YqHierarchy *hierarchy, const YqQueue *parent)
{
	List	   *labels = NIL;

	for (int i = 0; i < parent->template_label_count; i++)
	{
		const YqQueueLabel *template = &parent->template_labels[i];
		Room		room = room_of(hierarchy, parent, template, false);
		float4		available = room.parent_capacity - room.activated + TOLERANCE;

		if (available >= template->absolute_capacity)
			labels = lappend_int(labels, template->label);
	}
	return labels;
}

static void
add_change(List **changes, const YqQueue *leaf, const Room *room, bool becomes_active)
{
	YqLeafChange *change = palloc(sizeof(YqLeafChange));

	change->queue = leaf->path;
	change->label = room->label_name;
	change->is_active = becomes_active;
	*changes = lappend(*changes, change);
}

/* A leaf that is to become active, and its application that was submitted first. */
typedef struct Candidate
{
	const YqQueue *leaf;
	const char *application;
} Candidate;

static int
compare_candidates(const void *a, const void *b)
{
	const Candidate *left = a;
	const Candidate *right = b;

	return yq_application_id_compare(left->application, right->application);
}

/*
 * Find the leaves that could become active, sorted by their first applications.  The
 * result is the same as if all applications were visited in order and each leaf were
 * taken at its first application.
 */
static int
find_activation_candidates(const Room *room, const YqLeafDemand *demands, bool anew, Candidate *candidates)
{
	int			count = 0;

	for (int i = 0; i < room->parent->child_count; i++)
	{
		const YqQueue *leaf = room->parent->children[i];

		if (demands[leaf->number].first_application == NULL || (!anew && is_active(leaf, room->template->label)))
			continue;
		candidates[count].leaf = leaf;
		candidates[count++].application = demands[leaf->number].first_application;
	}
	qsort(candidates, count, sizeof(Candidate), compare_candidates);
	return count;
}

/*
 * Compare a new decision about all leaves with the present state, and add the changes.
 * First come the leaves that become active, in order, then the leaves that are no
 * longer active.
 */
static void
add_differences(List **changes, const Room *room, const Candidate *candidates, int count)
{
	int			label = room->template->label;
	int			first = room->parent->number;
	/* in the hierarchy's array, the numbers of leaves directly follow their parent's number */
	bool	   *gets = palloc0(sizeof(bool) * (room->parent->child_count + 1));

	for (int i = 0; i < count; i++)
	{
		gets[candidates[i].leaf->number - first] = true;
		if (!is_active(candidates[i].leaf, label))
			add_change(changes, candidates[i].leaf, room, true);
	}
	for (int i = 0; i < room->parent->child_count; i++)
	{
		const YqQueue *leaf = room->parent->children[i];

		if (is_active(leaf, label) && !gets[leaf->number - first])
			add_change(changes, leaf, room, false);
	}
	pfree(gets);
}

static void
decide_label(List **changes, Room room, const YqLeafDemand *demands, bool anew)
{
	const YqQueue *parent = room.parent;
	float4		each = room.template->absolute_capacity;
	float4		freed = 0;
	float4		available;
	Candidate  *candidates = palloc(sizeof(Candidate) * Max(parent->child_count, 1));
	int			count = 0;

	for (int i = 0; !anew && i < parent->child_count; i++)
	{
		if (demands[parent->children[i]->number].has_applications || !is_active(parent->children[i], room.template->label))
			continue;
		add_change(changes, parent->children[i], &room, false);
		freed += each;
	}
	available = room.parent_capacity - room.activated + freed + TOLERANCE;
	if (available >= each && each > 0)
		count = Min(find_activation_candidates(&room, demands, anew, candidates), (int) floorf(available / each));
	if (anew)
		add_differences(changes, &room, candidates, count);
	for (int i = 0; !anew && i < count; i++)
		add_change(changes, candidates[i].leaf, &room, true);
	pfree(candidates);
}

List *
yq_queue_management_decide(const YqHierarchy *hierarchy, const YqQueue *parent,
						   const YqLeafDemand *demands, bool anew)
{
	List	   *changes = NIL;

	for (int i = 0; i < parent->template_label_count; i++)
		decide_label(&changes, room_of(hierarchy, parent, &parent->template_labels[i], anew), demands, anew);
	return changes;
}

/* -- a change of the configuration ------------------------------------------ */

List *
yq_queue_management_validate(YqHierarchy *hierarchy, List *violations)
{
	yq_hierarchy_compute(hierarchy);
	for (int i = 0; i < hierarchy->queue_count; i++)
	{
		const YqQueue *parent = hierarchy->queues[i];
		float4		sum = 0;

		if (!parent->fails_beyond_guarantee)
			continue;
		for (int j = 0; j < parent->child_count; j++)
			sum += parent->children[j]->labels[0].capacity_fraction;
		if (parent->labels[0].capacity_fraction < sum)
			violations = yq_violation_add(violations, parent->path,
										  "auto-create-child-queue.fail-on-exceeding-parent-capacity", "true",
										  psprintf("Total of Auto Created leaf queues guaranteed capacity : %s exceeds Parent queue's %s guaranteed capacity %s.Cannot enforce policy to auto create queues beyond parent queue's capacity",
												   yq_java_float_text(sum), parent->path,
												   yq_java_float_text(parent->labels[0].capacity_fraction)));
	}
	return violations;
}

/* -- applications ---------------------------------------------------------- */

/* Does the policy of managed parents apply to the queue? */
static bool
is_managed(const YqQueue *parent, bool anew)
{
	return parent->kind == YQ_QUEUE_MANAGED_PARENT && parent->child_count > 0 &&
		(anew || !parent->fails_beyond_guarantee);
}

/* Is there a label on which the leaf is not active and could become active? */
static bool
may_become_active(const YqQueue *leaf, bool anew)
{
	for (int i = 0; i < leaf->label_count; i++)
	{
		if (anew || !leaf->labels[i].is_active)
			return true;
	}
	return false;
}

/*
 * Return the paths of leaves of managed parents, as a text array.  "which" selects the
 * leaves that could become active on some label, or all other leaves.
 */
static Datum
leaf_paths(const YqHierarchy *hierarchy, bool anew, bool which, int *count)
{
	Datum	   *paths = palloc(sizeof(Datum) * Max(hierarchy->queue_count, 1));

	*count = 0;
	for (int i = 0; i < hierarchy->queue_count; i++)
	{
		const YqQueue *leaf = hierarchy->queues[i];

		if (leaf->parent != NULL && is_managed(leaf->parent, anew) && may_become_active(leaf, anew) == which)
			paths[(*count)++] = CStringGetTextDatum(leaf->path);
	}
	return PointerGetDatum(construct_array(paths, *count, TEXTOID, -1, false, TYPALIGN_INT));
}

static const char *
column_text(uint64 row, int column)
{
	bool		isnull;
	Datum		value = SPI_getbinval(SPI_tuptable->vals[row], SPI_tuptable->tupdesc, column, &isnull);

	return isnull ? NULL : TextDatumGetCString(value);
}

/*
 * Record that a leaf has an application, and the application's id if it may run.  An
 * application that is held by max-parallel-apps has no id here, because it requests
 * nothing.
 */
static void
note_demand(const YqHierarchy *hierarchy, YqLeafDemand *demands, uint64 row)
{
	const YqQueue *leaf = yq_hierarchy_find(hierarchy, column_text(row, 1));
	const char *application = column_text(row, 2);
	YqLeafDemand *demand = &demands[leaf->number];

	demand->has_applications = true;
	if (application != NULL && (demand->first_application == NULL ||
								yq_application_id_compare(application, demand->first_application) < 0))
		demand->first_application = application;
}

static void
read_demands_of(const YqHierarchy *hierarchy, YqSavedPlan *statement, bool anew, bool which,
				YqLeafDemand *demands)
{
	int			count;
	Datum		paths = leaf_paths(hierarchy, anew, which, &count);
	uint64		rows = count == 0 ? 0 : yq_saved_plan_run(statement, &paths, NULL);

	for (uint64 row = 0; row < rows; row++)
	{
		CHECK_FOR_INTERRUPTS();
		note_demand(hierarchy, demands, row);
	}
}

/*
 * Read the demands of leaves.  For a leaf that is active on all labels, find_busy
 * only checks whether the leaf has an application.
 */
static void
read_demands(const YqHierarchy *hierarchy, bool anew, YqLeafDemand *demands)
{
	static YqSavedPlan find_busy = {
		.command = "SELECT leaf, NULL::text FROM unnest($1) AS leaf "
		"WHERE EXISTS (SELECT FROM yquota.application WHERE queue = leaf AND finished_at IS NULL)",
		.types = {"_text"}
	};
	static YqSavedPlan find_applications = {
		.command = "SELECT queue, CASE WHEN state <> 'NON_RUNNABLE' THEN application_id END "
		"FROM yquota.application WHERE queue = ANY ($1) AND finished_at IS NULL",
		.types = {"_text"}
	};

	read_demands_of(hierarchy, &find_busy, anew, false, demands);
	read_demands_of(hierarchy, &find_applications, anew, true, demands);
}

/* -- running --------------------------------------------------------------- */

static void
write_changes(List *changes)
{
	static YqSavedPlan activate = {
		.command = "INSERT INTO yquota_internal.active_leaf (queue, label) VALUES ($1, $2) ON CONFLICT DO NOTHING",
		.types = {"text", "text"}
	};
	static YqSavedPlan deactivate = {
		.command = "DELETE FROM yquota_internal.active_leaf WHERE queue = $1 AND label = $2",
		.types = {"text", "text"}
	};
	ListCell   *cell;

	foreach(cell, changes)
	{
		YqLeafChange *change = lfirst(cell);
		Datum		values[] = {CStringGetTextDatum(change->queue),
			CStringGetTextDatum(change->label)};

		CHECK_FOR_INTERRUPTS();
		(void) yq_saved_plan_execute(change->is_active ? &activate : &deactivate, values, NULL);
	}
}

/*
 * Return the changes that the policy makes, for the leaves of all parents.  The result
 * is allocated in the caller's memory context.
 */
static List *
decide_all_parents(YqHierarchy *hierarchy, bool anew)
{
	MemoryContext caller = CurrentMemoryContext;
	YqLeafDemand *demands = palloc0(sizeof(YqLeafDemand) * Max(hierarchy->queue_count, 1));
	List	   *changes = NIL;

	yq_hierarchy_compute(hierarchy);
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	read_demands(hierarchy, anew, demands);
	MemoryContextSwitchTo(caller);
	for (int i = 0; i < hierarchy->queue_count; i++)
	{
		if (is_managed(hierarchy->queues[i], anew))
			changes = list_concat(changes, yq_queue_management_decide(hierarchy, hierarchy->queues[i],
																	  demands, anew));
	}
	SPI_finish();
	return changes;
}

static bool
has_managed_leaves(const YqHierarchy *hierarchy, bool anew)
{
	for (int i = 0; i < hierarchy->queue_count; i++)
	{
		if (is_managed(hierarchy->queues[i], anew))
			return true;
	}
	return false;
}

bool
yq_queue_management_is_due(YqHierarchy *hierarchy)
{
	return has_managed_leaves(hierarchy, false) && decide_all_parents(hierarchy, false) != NIL;
}

List *
yq_queue_management_run(YqHierarchy *hierarchy, bool anew)
{
	List	   *changes = has_managed_leaves(hierarchy, anew) ? decide_all_parents(hierarchy, anew) : NIL;

	write_changes(changes);
	return changes;
}
