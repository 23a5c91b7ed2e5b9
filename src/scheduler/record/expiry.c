/*-------------------------------------------------------------------------
 *
 * expiry.c
 *	  Release of containers whose decisions were not acknowledged, and of OPPORTUNISTIC
 *	  containers that do not arrive at their nodes.
 *
 * Cycles run many times a second, and each scan of an index would pass many dead entries
 * of acknowledged decisions.  A session therefore remembers the time of the oldest
 * decision, and does not scan again before that decision expires.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "executor/spi.h"
#include "queues/allocation_setting.h"
#include "queues/text.h"
#include "scheduler/record/expiry.h"
#include "scheduler/record/record_containers.h"
#include "scheduler/record/refusal.h"
#include "scheduler/record/scheduler_journal.h"
#include "store/catalog.h"
#include "store/clock.h"
#include "store/saved_plan.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

/* Result of the last scan.  There is one result per execution type, because each type has its own expiry. */
static bool is_current = false; /* reset when the table changes, and after an error */
static TimestampTz checked_at;
static TimestampTz guaranteed_oldest_at;	/* time of the oldest decision or, if there is none, of the scan */
static TimestampTz opportunistic_oldest_at;

static void
watch_decisions(void)
{
	static bool is_watching = false;

	if (is_watching)
		return;
	yq_catalog_on_change(YQ_DECISION, &is_current);
	yq_catalog_on_abort(&is_current);
	is_watching = true;
}

/*
 * Find the oldest decision.  Decisions are numbered in the order of time, because only one
 * transaction at a time numbers them.
 */
static TimestampTz
find_oldest(const char *execution_type, TimestampTz otherwise)
{
	static YqSavedPlan look_up = {
		.command = "SELECT d.decided_at FROM yquota.decision AS d WHERE d.decision IN " YQ_EXPIRING_DECISIONS " "
		"AND d.execution_type::text = $1 AND NOT " YQ_IS_HELD(YQ_ROUND_EXPIRY, "d.container_id") " ORDER BY d.decision_id LIMIT 1",
		.types = {"text"}
	};
	Datum		values[] = {CStringGetTextDatum(execution_type)};
	TimestampTz oldest = otherwise;
	bool		isnull;

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	if (yq_saved_plan_run(&look_up, values, NULL) > 0)
		oldest = DatumGetTimestampTz(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &isnull));
	SPI_finish();
	return oldest;
}

static TimestampTz
find_oldest_awaited(TimestampTz otherwise)
{
	static YqSavedPlan look_up = {
		.command = "SELECT coalesce(min(w.allocated_at), $1) FROM yquota_internal.awaited_container AS w "
		"WHERE NOT " YQ_IS_HELD(YQ_ROUND_EXPIRY, "w.container_id"),
		.types = {"timestamptz"}
	};
	Datum		values[] = {TimestampTzGetDatum(otherwise)};
	TimestampTz oldest;
	bool		isnull;

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	(void) yq_saved_plan_run(&look_up, values, NULL);
	oldest = DatumGetTimestampTz(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &isnull));
	SPI_finish();
	return oldest;
}

static void
read_oldest_decisions(TimestampTz now)
{
	is_current = true;
	checked_at = now;
	guaranteed_oldest_at = find_oldest("GUARANTEED", now);
	/*
	 * read decisions before awaited containers, because an acknowledgement turns a decision
	 * into an awaited container
	 */
	opportunistic_oldest_at = Min(find_oldest("OPPORTUNISTIC", now), find_oldest_awaited(now));
}

static bool
is_any_due(const YqAllocationSettings *settings, TimestampTz now)
{
	return now >= guaranteed_oldest_at + settings->allocation_expiry ||
		now >= opportunistic_oldest_at + settings->opportunistic_token_expiry;
}

/*
 * SQL condition: the container "c" is OPPORTUNISTIC, has not run, and is in no queue of a
 * node.  If a container did not run from its START on, container_change has its START and
 * its updates.
 */
#define HAS_NOT_COME \
	"c.waiting_factor IS NOT NULL " \
	"AND NOT EXISTS (SELECT FROM yquota.node_queue AS q WHERE q.container_id = c.container_id AND q.left_at IS NULL) " \
	"AND NOT EXISTS (SELECT FROM yquota.container_change AS u WHERE u.container_id = c.container_id AND u.is_running) "

/*
 * End of a WITH list that ends containers.  The list has defined "running", the containers to end,
 * and "due", whose column ends_at contains their times of expiry.  A container ends at its expiry,
 * even if the expiry is noticed later.  The application of an OPPORTUNISTIC container gets a
 * decision, because it may already know the container from the reply to a call.  The diagnostics
 * are the text of SchedulerUtils.EXPIRED_CONTAINER.
 */
#define END_RUNNING \
	"told AS (INSERT INTO yquota.decision (decision, container_id, application_id, queue, node, allocation, priority, " \
	"allocation_request_id, decided_at, diagnostics, execution_type) " \
	"SELECT 'expired', r.container_id, COALESCE(r.application_id, ''), COALESCE(r.queue, ''), COALESCE(r.node, ''), r.allocation, " \
	"r.priority, r.allocation_request_id, yquota.clock(), 'Container expired since it was unused', r.execution_type " \
	"FROM running AS r WHERE r.execution_type = 'OPPORTUNISTIC' ORDER BY r.container_id), " \
	"ended AS (INSERT INTO yquota.container_event (event, container_id, occurred_at, exit_status, source) " \
	"SELECT 'CONTAINER_FINISH', r.container_id, greatest((SELECT max(d.ends_at) FROM due AS d " \
	"WHERE d.container_id = r.container_id), r.settled_at), -100, 'scheduler' FROM running AS r) "

/* Containers whose decisions have expired, and how far their release has come. */
typedef struct Due
{
	YqSavedPlan *statement;
	const char *execution_type; /* execution type of the decisions; NULL: awaited containers are released */
	TimestampTz now;
	int64		expiry;			/* microseconds */
	const char **container_ids;
	int64		done;			/* number of decisions or awaited containers that have been handled */
} Due;

/* Release expired decisions.  An increase remains if another transaction is ending or changing its container. */
static YqSavedPlan expire_decisions = {
	.command = "WITH due AS MATERIALIZED ("
	"SELECT d.decision_id, d.container_id, d.decided_at + $3 * interval '1 microsecond' AS ends_at, "
	"d.decision IN ('allocated', 'swapped') AND (d.execution_type = 'GUARANTEED' "
	"OR EXISTS (SELECT FROM yquota.container AS c WHERE c.container_id = d.container_id AND " HAS_NOT_COME ")) AS starts "
	"FROM yquota.decision AS d "
	"WHERE d.container_id = ANY ($2) AND d.decision IN " YQ_EXPIRING_DECISIONS " AND d.execution_type::text = $4 "
	"AND d.decided_at <= $1 AND (d.decision <> 'increased' OR NOT EXISTS ("
	"SELECT FROM yquota.container AS c WHERE c.container_id = d.container_id)) FOR UPDATE SKIP LOCKED), "
	"running AS MATERIALIZED (SELECT c.* FROM yquota.container AS c "
	"WHERE c.container_id = ANY (ARRAY(SELECT due.container_id FROM due WHERE due.starts)) FOR UPDATE SKIP LOCKED), "
	"expired AS (DELETE FROM yquota.decision AS d USING due WHERE d.decision_id = due.decision_id "
	"AND (NOT due.starts OR due.container_id IN (SELECT r.container_id FROM running AS r) OR NOT EXISTS ("
	"SELECT FROM yquota.container AS c WHERE c.container_id = due.container_id)) RETURNING 1), "
	END_RUNNING
	"SELECT FROM expired",
	.types = {"timestamptz", "_text", "int8", "text"}
};

/* Release expired awaited containers.  A container remains awaited if another transaction is ending or changing it. */
static YqSavedPlan expire_awaited = {
	.command = "WITH due AS MATERIALIZED (SELECT w.container_id, w.allocated_at + $3 * interval '1 microsecond' AS ends_at "
	"FROM yquota_internal.awaited_container AS w WHERE w.container_id = ANY ($2) AND w.allocated_at <= $1 FOR UPDATE SKIP LOCKED), "
	"waiting AS MATERIALIZED (SELECT c.container_id FROM yquota.container AS c "
	"WHERE c.container_id = ANY (ARRAY(SELECT due.container_id FROM due)) AND " HAS_NOT_COME "), "
	"running AS MATERIALIZED (SELECT c.* FROM yquota.container AS c "
	"WHERE c.container_id = ANY (ARRAY(SELECT w.container_id FROM waiting AS w)) "
	"AND c.waiting_factor IS NOT NULL FOR UPDATE SKIP LOCKED), "
	"expired AS (DELETE FROM yquota_internal.awaited_container AS w USING due WHERE w.container_id = due.container_id "
	"AND (w.container_id IN (SELECT r.container_id FROM running AS r) "
	"OR w.container_id NOT IN (SELECT a.container_id FROM waiting AS a)) RETURNING 1), "
	END_RUNNING
	"SELECT FROM expired",
	.types = {"timestamptz", "_text", "int8"}
};

/* Return the ids of expired containers; the earliest expiry comes first. */
static List *
find_due(const Due *due)
{
	static YqSavedPlan find_decided = {
		.command = "SELECT d.container_id FROM yquota.decision AS d WHERE d.decision_id IN ("
		"SELECT o.decision_id FROM yquota.decision AS o WHERE o.decision IN " YQ_EXPIRING_DECISIONS " "
		"AND o.execution_type::text = $3 AND NOT " YQ_IS_HELD(YQ_ROUND_EXPIRY, "o.container_id") " ORDER BY o.decision_id LIMIT $2) "
		"AND d.decided_at <= $1 GROUP BY 1 ORDER BY min(d.decision_id)",
		.types = {"timestamptz", "int8", "text"}
	};
	static YqSavedPlan find_awaited = {
		.command = "SELECT w.container_id FROM yquota_internal.awaited_container AS w WHERE w.allocated_at <= $1 "
		"AND NOT " YQ_IS_HELD(YQ_ROUND_EXPIRY, "w.container_id") " ORDER BY w.allocated_at LIMIT $2",
		.types = {"timestamptz", "int8"}
	};
	Datum		values[3] = {TimestampTzGetDatum(due->now - due->expiry), Int64GetDatum(YQ_EXPIRY_BATCH)};

	if (due->execution_type == NULL)
		return yq_saved_plan_strings(&find_awaited, values);
	values[2] = CStringGetTextDatum(due->execution_type);
	return yq_saved_plan_strings(&find_decided, values);
}

static void
end_due(void *argument, int first, int count)
{
	Due		   *due = argument;
	Datum		values[4] = {TimestampTzGetDatum(due->now - due->expiry), yq_array_of_names(due->container_ids + first, count),
	Int64GetDatum(due->expiry)};

	if (due->execution_type != NULL)
	{
		yq_update_events_take_back(values[1], due->now, due->expiry);
		values[3] = CStringGetTextDatum(due->execution_type);
	}
	due->done += yq_saved_plan_execute(due->statement, values, NULL);
}

static void
refuse(void *argument, int subject, const ErrorData *error)
{
	const Due  *due = argument;

	(void) yq_refusal_note(YQ_ROUND_EXPIRY, due->container_ids[subject], error);
}

/* Release a batch.  Returns how many decisions or awaited containers the batch contained. */
static int
release(Due due)
{
	List	   *ids = find_due(&due);
	YqRound		round = {.count = list_length(ids),.work = end_due,.refuse = refuse,.argument = &due};
	ListCell   *cell;
	int			count = 0;

	if (ids == NIL)
		return 0;
	due.container_ids = palloc(sizeof(char *) * list_length(ids));
	foreach(cell, ids)
		due.container_ids[count++] = lfirst(cell);
	yq_round_run(&round);
	return (int) due.done;
}

int
yq_release_expired(const YqHierarchy *hierarchy)
{
	TimestampTz now = yq_clock_now();
	const YqAllocationSettings *settings = yq_allocation_settings();
	int			guaranteed;
	int			opportunistic;
	int			awaited;

	watch_decisions();
	if (is_current && now >= checked_at && !is_any_due(settings, now))
		return 0;
	read_oldest_decisions(now);
	if (!is_any_due(settings, now))
		return 0;
	is_current = false;
	if (hierarchy != NULL)
		yq_scheduler_lock_leaves(hierarchy);
	yq_scheduler_lock_events();
	guaranteed = release((Due) {.statement = &expire_decisions,.execution_type = "GUARANTEED",.now = now,.expiry = settings->allocation_expiry});
	opportunistic = release((Due) {.statement = &expire_decisions,.execution_type = "OPPORTUNISTIC",.now = now,
	.expiry = settings->opportunistic_token_expiry});
	awaited = release((Due) {.statement = &expire_awaited,.now = now,.expiry = settings->opportunistic_token_expiry});
	return Max(Max(guaranteed, opportunistic), awaited);
}
