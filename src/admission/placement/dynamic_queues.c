/*-------------------------------------------------------------------------
 *
 * dynamic_queues.c
 *	  Queues that submissions create, and their removal when they are unused.
 *
 * The checks follow Hadoop 3.4.1 in order and text (semantics/queues 3.1, 3.3).
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "access/xact.h"
#include "admission/placement/dynamic_queues.h"
#include "admission/placement/placement.h"
#include "admission/placement/queue_management.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "queues/effective.h"
#include "queues/text.h"
#include "queues/validate.h"
#include "store/catalog.h"
#include "store/clock.h"
#include "utils/builtins.h"
#include "utils/resowner.h"
#include "utils/timestamp.h"

/* Length limit of a path, as in the domain queue_path.  A longer path would not fit into an index entry. */
#define PATH_LENGTH_MAX 2000

/* -- paths ----------------------------------------------------------------- */

/* A path with its two parts: the parent's path and the name.  Blanks around the last dot have been removed. */
typedef struct PathParts
{
	const char *full;
	const char *parent;			/* NULL: none */
	const char *name;
} PathParts;

static PathParts
split_path(const char *path)
{
	PathParts	parts = {.full = yq_path_tidy(path)};
	const char *dot = strrchr(parts.full, '.');

	parts.parent = dot == NULL ? NULL : pnstrdup(parts.full, dot - parts.full);
	parts.name = dot == NULL ? parts.full : dot + 1;
	return parts;
}

/*
 * Is the text a valid name of a queue in yquota?  Hadoop has no such rule, and creates
 * queues whose paths it cannot read again.
 */
static bool
is_name(const char *begin, const char *end)
{
	for (const char *c = begin; c < end; c++)
	{
		if (*c == ',' || (isspace((unsigned char) *c) && (*c != ' ' || c == begin || c == end - 1)))
			return false;
	}
	return begin < end;
}

static char *
problem_of_names(const char *path)
{
	const char *begin = path;

	if (strlen(path) > PATH_LENGTH_MAX)
		return psprintf("Could not auto-create queue: its path has %zu bytes, more than %d", strlen(path), PATH_LENGTH_MAX);
	for (;;)
	{
		const char *end = begin + strcspn(begin, ".");

		if (!is_name(begin, end))
			return psprintf("Could not auto-create queue %s: \"%s\" is not the name of a queue",
							path, pnstrdup(begin, end - begin));
		if (*end == '\0')
			return NULL;
		begin = end + 1;
	}
}

/* -- finding ---------------------------------------------------------------- */

/* Is this a short name that several queues share? */
static bool
is_ambiguous(const YqHierarchy *hierarchy, const char *name)
{
	return yq_hierarchy_find(hierarchy, name) == NULL && yq_hierarchy_name_is_ambiguous(hierarchy, name);
}

/* Ancestors of a path without a queue: the nearest existing queue, and the nearest static queue. */
typedef struct Ancestors
{
	YqQueue    *existing;
	YqQueue    *first_static;
	int			distance;		/* levels from the new leaf up to the static queue; 1 if the static queue is its
								 * parent */
	List	   *missing;		/* paths without a queue, as given, topmost first */
} Ancestors;

static Ancestors
find_ancestors(const YqHierarchy *hierarchy, const char *parent_path)
{
	Ancestors	result = {.distance = 1};
	char	   *candidate = pstrdup(parent_path);

	result.existing = yq_hierarchy_find_by_name(hierarchy, candidate);
	result.first_static = result.existing;
	while ((result.first_static == NULL || result.first_static->is_dynamic) && candidate != NULL)
	{
		result.distance++;
		if (result.existing == NULL)
			result.missing = lcons(candidate, result.missing);
		candidate = yq_path_above(candidate);
		result.first_static = candidate == NULL ? NULL : yq_hierarchy_find_by_name(hierarchy, candidate);
		if (result.existing == NULL)
			result.existing = result.first_static;
	}
	return result;
}

/* -- the first generation --------------------------------------------------- */

static char *
refuse_managed(const YqQueue *parent, const char *path)
{
	float4		activated = 0;

	if (parent->child_count >= parent->most_children)
		return psprintf("Cannot auto create leaf queue %s.Max Child Queue limit exceeded which is configured as : %d and number of child queues is : %d",
						path, parent->most_children, parent->child_count);
	for (int i = 0; i < parent->child_count; i++)
		activated += parent->children[i]->labels[0].absolute_capacity;
	if (parent->fails_beyond_guarantee &&
		parent->template_labels[0].absolute_capacity + activated > parent->labels[0].absolute_capacity)
		return psprintf("Cannot auto create leaf queue %s. Child queues capacities have reached parent queue : %s's guaranteed capacity",
						path, parent->path);
	return NULL;
}

static void
decide_managed(YqHierarchy *hierarchy, const YqQueue *parent, const PathParts *parts, YqQueueCreation *creation)
{
	char	   *path = psprintf("%s.%s", parent->path, parts->name);
	ListCell   *cell;

	yq_hierarchy_compute(hierarchy);
	creation->problem = refuse_managed(parent, path);
	if (creation->problem != NULL)
		return;
	creation->leaf = path;
	creation->is_managed = true;
	creation->paths = list_make1(path);
	foreach(cell, yq_labels_of_new_leaf(hierarchy, parent))
		creation->active_labels = lappend(creation->active_labels,
										  pstrdup(hierarchy->labels[lfirst_int(cell)]));
}

/* -- the second generation -------------------------------------------------- */

/* Do all children of a queue have weights, on all labels?  The result is true if there are no children. */
static bool
uses_weights(const YqQueue *parent)
{
	bool		others = false;
	bool		weights = parent->child_count == 0;

	for (int i = 0; i < parent->child_count; i++)
	{
		for (int j = 0; j < parent->children[i]->label_count; j++)
		{
			const YqQueueLabel *label = &parent->children[i]->labels[j];

			if (yq_queue_label(parent, label->label) == NULL)
				continue;
			weights = weights || label->weight >= 0;
			others = others || label->configured > 0 || label->minimum_amounts != NULL;
		}
	}
	return weights && !others;
}

/* Return the reason why an existing parent accepts no further child, or NULL if it accepts one. */
static char *
refuse_child(const YqHierarchy *hierarchy, const YqQueue *parent, const char *path)
{
	if (parent->child_count >= parent->most_children)
		return psprintf("Cannot auto create queue %s. Max Child Queue limit exceeded which is configured as: %d and number of child queues is: %d",
						path, parent->most_children, parent->child_count);
	if (hierarchy->settings.is_legacy && !uses_weights(parent))
		return psprintf("Trying to create new queue=%s but not all the queues under parent=%s are using weight-based capacity. Failed to created queue",
						path, parent->path);
	return NULL;
}

static char *
refuse_place(const Ancestors *ancestors, const PathParts *parts)
{
	if (ancestors->existing == NULL || ancestors->first_static == NULL)
		return psprintf("Could not auto-create queue %s parent queue does not exist.", parts->full);
	if (ancestors->distance > ancestors->first_static->maximum_depth)
		return psprintf("Could not auto create queue %s. The distance of the LeafQueue from the first static ParentQueue is %d, which is above the limit.",
						parts->full, ancestors->distance);
	if (ancestors->existing->kind == YQ_QUEUE_LEAF)
		return psprintf("Could not auto create hierarchy of %s. Queue %s is not a ParentQueue.",
						parts->full, parts->parent);
	if (ancestors->existing->kind != YQ_QUEUE_PARENT || !ancestors->existing->creates_v2)
		return psprintf("Auto creation of queue %s is not enabled under parent %s",
						parts->full, ancestors->existing->path);
	return NULL;
}

static void
decide_flexible(YqHierarchy *hierarchy, const PathParts *parts, YqQueueCreation *creation)
{
	Ancestors	ancestors;
	List	   *names = NIL;
	ListCell   *cell;
	const char *path;

	if (is_ambiguous(hierarchy, parts->parent))
	{
		creation->problem = psprintf("Could not auto-create queue %s due to ParentQueue %s being ambiguous.",
									 parts->full, parts->parent);
		return;
	}
	ancestors = find_ancestors(hierarchy, parts->parent);
	creation->problem = refuse_place(&ancestors, parts);
	if (creation->problem == NULL)
		creation->problem = refuse_child(hierarchy, ancestors.existing, ancestors.missing == NIL ?
										 psprintf("%s.%s", ancestors.existing->path, parts->name) :
										 linitial(ancestors.missing));
	if (creation->problem != NULL)
		return;

	foreach(cell, ancestors.missing)
		names = lappend(names, strrchr(lfirst(cell), '.') + 1);
	names = lappend(names, unconstify(char *, parts->name));
	path = ancestors.existing->path;
	foreach(cell, names)
	{
		path = psprintf("%s.%s", path, (char *) lfirst(cell));
		creation->paths = lappend(creation->paths, unconstify(char *, path));
	}
	creation->leaf = path;
	if (ancestors.existing->is_dynamic)
		creation->dynamic_parent = pstrdup(ancestors.existing->path);
}

/* -- both ------------------------------------------------------------------- */

YqQueueCreation
yq_queue_creation_decide(YqHierarchy *hierarchy, const char *path)
{
	YqQueueCreation creation = {.leaf = NULL, .paths = NIL};
	PathParts	parts = split_path(path);
	YqQueue    *queue = yq_hierarchy_find_by_name(hierarchy, path);
	YqQueue    *parent;

	if (queue != NULL)
		creation.leaf = pstrdup(queue->path);
	else if (is_ambiguous(hierarchy, path))
		creation.problem = psprintf("Ambiguous queue reference: %s please use full queue path instead.", path);
	else if (yq_path_has_empty_part(parts.full))
		creation.problem = psprintf("Application submitted to invalid path due to empty parts: '%s'", parts.full);
	else if (parts.parent == NULL)
		creation.problem = psprintf("Could not auto-create leaf queue for %s. Queue mapping does not specify which parent queue it needs to be created under.",
									parts.name);
	if (creation.leaf != NULL || creation.problem != NULL)
		return creation;

	parent = yq_hierarchy_find_by_name(hierarchy, parts.parent);
	if (parent != NULL && parent->kind == YQ_QUEUE_MANAGED_PARENT)
		decide_managed(hierarchy, parent, &parts, &creation);
	else
		decide_flexible(hierarchy, &parts, &creation);
	if (creation.problem == NULL)
		creation.problem = problem_of_names(creation.leaf);
	if (creation.problem != NULL)
	{
		creation.leaf = NULL;
		creation.paths = NIL;
	}
	return creation;
}

/* -- writing ----------------------------------------------------------------- */

/* True while a statement creates or removes dynamic queues.  The configuration does not change then. */
static bool is_changing = false;

bool
yq_is_changing_queues(void)
{
	return is_changing;
}

void
yq_change_queues(YqSavedPlan *statement, Datum *values)
{
	is_changing = true;
	PG_TRY();
	{
		(void) yq_saved_plan_execute(statement, values, NULL);
	}
	PG_FINALLY();
	{
		is_changing = false;
	}
	PG_END_TRY();
}

/*
 * Write the rows of created queues.  Each created parent has
 * auto_queue_creation_v2_enabled set in its row.  Without the flag, the parent would
 * become a leaf when its last child is removed.
 */
static void
write_rows(const YqQueueCreation *creation)
{
	static YqSavedPlan insert_queues = {
		.command = "INSERT INTO yquota.queue (path, position, auto_created, auto_queue_creation_v2_enabled) "
		"SELECT p.path, (SELECT COALESCE(pg_catalog.max(s.position), 0) + 1 FROM yquota.queue AS s "
		"WHERE s.auto_created AND s.parent = pg_catalog.regexp_replace(p.path, '[.][^.]*$', '')), "
		"true, CASE WHEN p.place < cardinality($1) THEN true END "
		"FROM unnest($1) WITH ORDINALITY AS p (path, place)",
		.types = {"_text"}
	};
	static YqSavedPlan insert_labels = {
		.command = "INSERT INTO yquota_internal.active_leaf (queue, label) SELECT $1, l FROM unnest($2) AS l",
		.types = {"text", "_text"}
	};
	Datum		values[2];

	values[0] = yq_array_of_strings(creation->paths);
	yq_change_queues(&insert_queues, values);
	if (!creation->is_managed)
	{
		List	   *used = list_copy(creation->paths);

		/* the creation of a child counts as a use of its parent */
		if (creation->dynamic_parent != NULL)
			used = lappend(used, unconstify(char *, creation->dynamic_parent));
		yq_created_queues_used(used);
		return;
	}
	values[0] = CStringGetTextDatum(creation->leaf);
	values[1] = yq_array_of_strings(creation->active_labels);
	(void) yq_saved_plan_execute(&insert_labels, values, NULL);
}

/* Return the first problem of the created queues, palloc'd, or NULL. */
static char *
find_problem(const YqQueueCreation *creation)
{
	YqHierarchy *hierarchy = yq_hierarchy_get();
	ListCell   *cell;

	foreach(cell, creation->paths)
	{
		YqQueue    *queue = yq_hierarchy_find(hierarchy, lfirst(cell));
		List	   *violations = yq_hierarchy_validate_queue(hierarchy, queue);

		if (violations != NIL)
			return pstrdup(((YqViolation *) linitial(violations))->message);
	}
	return NULL;
}

char *
yq_queue_creation_execute(const YqQueueCreation *creation)
{
	MemoryContext context = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;
	char	   *volatile problem = NULL;
	ErrorData  *volatile error = NULL;

	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(context);
	PG_TRY();
	{
		write_rows(creation);
		CommandCounterIncrement();
		problem = find_problem(creation);
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		FlushErrorState();
	}
	PG_END_TRY();
	if (problem == NULL && error == NULL)
		ReleaseCurrentSubTransaction();
	else
		RollbackAndReleaseCurrentSubTransaction();
	MemoryContextSwitchTo(context);
	CurrentResourceOwner = owner;
	if (error != NULL)
		ReThrowError(error);
	return problem;
}

/* -- use ------------------------------------------------------------------- */

void
yq_auto_created_queue_used(const YqHierarchy *hierarchy, const YqQueue *queue)
{
	static YqSavedPlan update = {
		.command = "UPDATE yquota_internal.created_queue SET last_used_at = $2 "
		"WHERE queue = $1 AND last_used_at < $3",
		.types = {"text", "timestamptz", "timestamptz"}
	};
	TimestampTz now = yq_clock_now();
	Datum		values[3];

	if (!queue->is_removed_when_unused)
		return;
	values[0] = CStringGetTextDatum(queue->path);
	values[1] = TimestampTzGetDatum(now);
	values[2] = TimestampTzGetDatum(now - hierarchy->settings.expiration_seconds * USECS_PER_SEC / 10);
	(void) yq_saved_plan_execute(&update, values, NULL);
}

void
yq_created_queues_used(const List *paths)
{
	static YqSavedPlan upsert = {
		.command = "INSERT INTO yquota_internal.created_queue AS c (queue, last_used_at) "
		"SELECT p, $2 FROM unnest($1) AS p "
		"ON CONFLICT (queue) DO UPDATE SET last_used_at = EXCLUDED.last_used_at",
		.types = {"_text", "timestamptz"}
	};
	Datum		values[2];

	values[0] = yq_array_of_strings(paths);
	values[1] = TimestampTzGetDatum(yq_clock_now());
	(void) yq_saved_plan_execute(&upsert, values, NULL);
}

/* -- removals -------------------------------------------------------------- */

/* Decisions of a run about the removal of queues: lists of their paths. */
typedef struct Removals
{
	List	   *marked;			/* queues that this run marks for removal */
	List	   *unmarked;		/* queues whose mark this run removes */
	List	   *removed;
} Removals;

/* Could the queue be empty, as far as the hierarchy shows?  Its applications are checked later. */
static bool
is_candidate(const YqQueue *queue)
{
	return queue->is_removed_when_unused && queue->child_count == 0 && queue->containers == 0;
}

static List *
find_removal_candidates(const YqHierarchy *hierarchy)
{
	List	   *paths = NIL;

	for (int i = 0; i < hierarchy->queue_count; i++)
	{
		if (is_candidate(hierarchy->queues[i]))
			paths = lappend(paths, unconstify(char *, hierarchy->queues[i]->path));
	}
	return paths;
}

static bool
has_expired(const YqHierarchy *hierarchy, TimestampTz last_used_at)
{
	/* compare whole seconds, as Hadoop does */
	return (yq_clock_now() - last_used_at) / USECS_PER_SEC > hierarchy->settings.expiration_seconds;
}

/* Columns that removal_candidates() returns, counted from 1. */
typedef enum CandidateColumn
{
	CANDIDATE_QUEUE = 1,
	CANDIDATE_IS_EMPTY,
	CANDIDATE_IS_MARKED,
	CANDIDATE_LAST_USED_AT
} CandidateColumn;

static void
decide_removal(const YqHierarchy *hierarchy, HeapTuple row, TupleDesc descriptor, Removals *removals)
{
	bool		isnull;
	char	   *path = TextDatumGetCString(SPI_getbinval(row, descriptor, CANDIDATE_QUEUE, &isnull));
	bool		is_empty = DatumGetBool(SPI_getbinval(row, descriptor, CANDIDATE_IS_EMPTY, &isnull));
	bool		is_marked = DatumGetBool(SPI_getbinval(row, descriptor, CANDIDATE_IS_MARKED, &isnull));
	Datum		last_used_at = SPI_getbinval(row, descriptor, CANDIDATE_LAST_USED_AT, &isnull);

	if (!is_empty && is_marked)
		removals->unmarked = lappend(removals->unmarked, path);
	else if (is_empty && !is_marked)
		removals->marked = lappend(removals->marked, path);
	else if (is_empty && !isnull && has_expired(hierarchy, DatumGetTimestampTz(last_used_at)))
		removals->removed = lappend(removals->removed, path);
	else if (is_empty)
		removals->unmarked = lappend(removals->unmarked, path);
}

/* Decide about the queues that could be empty now, and about the queues that the last run has marked. */
static Removals
decide_all_removals(const YqHierarchy *hierarchy, MemoryContext caller)
{
	static YqSavedPlan find = {
		.command = "SELECT c.queue, c.is_empty, c.is_marked, c.last_used_at "
		"FROM yquota_internal.removal_candidates($1) AS c ORDER BY c.queue COLLATE \"C\"",
		.types = {"_text"}
	};
	Datum		paths = yq_array_of_strings(find_removal_candidates(hierarchy));
	uint64		rows = yq_saved_plan_run(&find, &paths, NULL);
	Removals	removals = {.marked = NIL};
	MemoryContext own = MemoryContextSwitchTo(caller);

	for (uint64 row = 0; row < rows; row++)
	{
		CHECK_FOR_INTERRUPTS();
		decide_removal(hierarchy, SPI_tuptable->vals[row], SPI_tuptable->tupdesc, &removals);
	}
	MemoryContextSwitchTo(own);
	return removals;
}

/*
 * Write the marks.  A queue that was created by hand has no row yet; it counts as used
 * at the time of its first mark.
 */
static void
write_marks(const Removals *removals)
{
	static YqSavedPlan mark = {
		.command = "INSERT INTO yquota_internal.created_queue (queue, last_used_at, is_marked) "
		"SELECT p, $2, true FROM unnest($1) AS p "
		"ON CONFLICT (queue) DO UPDATE SET is_marked = true",
		.types = {"_text", "timestamptz"}
	};
	static YqSavedPlan unmark = {
		.command = "UPDATE yquota_internal.created_queue SET is_marked = false WHERE queue = ANY ($1)",
		.types = {"_text"}
	};
	Datum		values[2];

	values[1] = TimestampTzGetDatum(yq_clock_now());
	values[0] = yq_array_of_strings(removals->marked);
	if (removals->marked != NIL)
		(void) yq_saved_plan_run(&mark, values, NULL);
	values[0] = yq_array_of_strings(removals->unmarked);
	if (removals->unmarked != NIL)
		(void) yq_saved_plan_run(&unmark, values, NULL);
}

List *
yq_unused_queues_remove(YqHierarchy *hierarchy)
{
	static YqSavedPlan remove = {
		.command = "DELETE FROM yquota.queue WHERE path = ANY ($1)",
		.types = {"_text"}
	};
	MemoryContext caller = CurrentMemoryContext;
	Removals	removals;
	Datum		paths;

	yq_hierarchy_read_usage(hierarchy);
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	removals = decide_all_removals(hierarchy, caller);
	write_marks(&removals);
	paths = yq_array_of_strings(removals.removed);
	if (removals.removed != NIL)
		yq_change_queues(&remove, &paths);
	SPI_finish();
	return removals.removed;
}
