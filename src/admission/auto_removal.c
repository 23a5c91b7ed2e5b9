/*-------------------------------------------------------------------------
 *
 * auto_removal.c
 *	  Queues of the second generation that nobody uses any more.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "admission/auto_create.h"
#include "admission/auto_removal.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "queues/effective.h"
#include "queues/text.h"
#include "store/clock.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

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

/* -- a pass ---------------------------------------------------------------- */

/* Paths, by what becomes of the queue. */
typedef struct Pass
{
	List	   *marked;			/* is marked now */
	List	   *unmarked;		/* was, and is not any more */
	List	   *removed;
} Pass;

/* May it be empty, as far as the hierarchy tells? */
static bool
is_candidate(const YqQueue *queue)
{
	return queue->is_removed_when_unused && queue->child_count == 0 && queue->containers == 0;
}

static List *
find_candidates(const YqHierarchy *hierarchy)
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
	/* whole seconds, as Hadoop counts them */
	return (yq_clock_now() - last_used_at) / USECS_PER_SEC > hierarchy->settings.expiration_seconds;
}

static void
decide(const YqHierarchy *hierarchy, HeapTuple row, TupleDesc descriptor, Pass *pass)
{
	bool		isnull;
	char	   *path = TextDatumGetCString(SPI_getbinval(row, descriptor, 1, &isnull));
	bool		is_empty = DatumGetBool(SPI_getbinval(row, descriptor, 2, &isnull));
	bool		is_marked = DatumGetBool(SPI_getbinval(row, descriptor, 3, &isnull));
	Datum		last_used_at = SPI_getbinval(row, descriptor, 4, &isnull);

	if (!is_empty && is_marked)
		pass->unmarked = lappend(pass->unmarked, path);
	else if (is_empty && !is_marked)
		pass->marked = lappend(pass->marked, path);
	else if (is_empty && !isnull && has_expired(hierarchy, DatumGetTimestampTz(last_used_at)))
		pass->removed = lappend(pass->removed, path);
	else if (is_empty)
		pass->unmarked = lappend(pass->unmarked, path);
}

/* Decide about all candidates, and all that were one in the last pass. */
static Pass
decide_all(const YqHierarchy *hierarchy, MemoryContext caller)
{
	static YqSavedPlan find = {
		.command = "SELECT q.path, q.path = ANY ($1) AND NOT EXISTS ("
		"SELECT FROM yquota.application AS a WHERE a.queue = q.path AND a.finished_at IS NULL), "
		"coalesce(c.is_marked, false), c.last_used_at "
		"FROM (SELECT unnest($1) AS path UNION SELECT queue FROM yquota_internal.created_queue WHERE is_marked) AS q "
		"LEFT JOIN yquota_internal.created_queue AS c ON c.queue = q.path ORDER BY q.path",
		.types = {"_text"}
	};
	Datum		paths = yq_array_of_strings(find_candidates(hierarchy));
	uint64		rows = yq_saved_plan_run(&find, &paths, NULL);
	Pass		pass = {.marked = NIL};
	MemoryContext own = MemoryContextSwitchTo(caller);

	for (uint64 row = 0; row < rows; row++)
	{
		CHECK_FOR_INTERRUPTS();
		decide(hierarchy, SPI_tuptable->vals[row], SPI_tuptable->tupdesc, &pass);
	}
	MemoryContextSwitchTo(own);
	return pass;
}

/* A queue that somebody has made by hand is in use from when it is first seen. */
static void
write_marks(const Pass *pass)
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
	values[0] = yq_array_of_strings(pass->marked);
	if (pass->marked != NIL)
		(void) yq_saved_plan_run(&mark, values, NULL);
	values[0] = yq_array_of_strings(pass->unmarked);
	if (pass->unmarked != NIL)
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
	Pass		pass;
	Datum		paths;

	yq_hierarchy_read_usage(hierarchy);
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	pass = decide_all(hierarchy, caller);
	write_marks(&pass);
	paths = yq_array_of_strings(pass.removed);
	if (pass.removed != NIL)
		yq_change_queues(&remove, &paths);
	SPI_finish();
	return pass.removed;
}
