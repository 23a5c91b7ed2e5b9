/*-------------------------------------------------------------------------
 *
 * expiry.c
 *	  Releasing containers whose decisions were not acknowledged.
 *
 * Cycles run many times a second, and an index scan passes the dead entries of
 * acknowledged decisions.  So a session remembers the age of the oldest
 * decision, and does not scan again before that decision expires.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "executor/spi.h"
#include "queues/allocation_setting.h"
#include "scheduler/record/expiry.h"
#include "scheduler/record/record_containers.h"
#include "scheduler/record/scheduler_lock.h"
#include "scheduler/record/update_event.h"
#include "store/catalog.h"
#include "store/clock.h"
#include "store/saved_plan.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

/* The result of the last scan, by execution type, since each has a time of its own. */
static bool is_current = false; /* taken back by a change of the table, and aborts */
static TimestampTz checked_at;
static TimestampTz guaranteed_oldest_at;	/* when there was none: checked_at */
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

/* Numbers are given in the order of time, to one transaction after the other. */
static TimestampTz
find_oldest(const char *execution_type, TimestampTz otherwise)
{
	static YqSavedPlan look_up = {
		.command = "SELECT d.decided_at FROM yquota.decision AS d WHERE d.decision IN " YQ_EXPIRING_DECISIONS " "
		"AND d.execution_type::text = $1 ORDER BY d.decision_id LIMIT 1",
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

static void
read_oldest_decisions(TimestampTz now)
{
	is_current = true;
	checked_at = now;
	guaranteed_oldest_at = find_oldest("GUARANTEED", now);
	opportunistic_oldest_at = find_oldest("OPPORTUNISTIC", now);
}

static bool
is_any_due(const YqAllocationSettings *settings, TimestampTz now)
{
	return now >= guaranteed_oldest_at + settings->allocation_expiry ||
		now >= opportunistic_oldest_at + settings->opportunistic_token_expiry;
}

/*
 * The remaining increases are those of containers that another transaction is
 * ending or changing.
 */
static int
release(const char *execution_type, TimestampTz until)
{
	static YqSavedPlan expire = {
		.command = "WITH due AS MATERIALIZED ("
		"SELECT d.decision_id, d.container_id, d.decision IN ('allocated', 'swapped') AND NOT (d.execution_type = 'OPPORTUNISTIC' "
		"AND (EXISTS (SELECT FROM yquota.container AS c WHERE c.container_id = d.container_id AND c.is_running) "
		"OR EXISTS (SELECT FROM yquota.node_queue AS q WHERE q.container_id = d.container_id AND q.left_at IS NULL))) AS starts "
		"FROM yquota.decision AS d "
		"WHERE d.decision_id IN (SELECT o.decision_id FROM yquota.decision AS o WHERE o.decision IN " YQ_EXPIRING_DECISIONS " "
		"AND o.execution_type::text = $3 ORDER BY o.decision_id LIMIT $2) "
		"AND d.decided_at <= $1 AND (d.decision <> 'increased' OR NOT EXISTS ("
		"SELECT FROM yquota.container AS c WHERE c.container_id = d.container_id)) FOR UPDATE SKIP LOCKED), "
		"running AS MATERIALIZED (SELECT c.container_id, c.settled_at FROM yquota.container AS c "
		"WHERE c.container_id = ANY (ARRAY(SELECT due.container_id FROM due WHERE due.starts)) FOR UPDATE SKIP LOCKED), "
		"expired AS (DELETE FROM yquota.decision AS d USING due WHERE d.decision_id = due.decision_id "
		"AND (NOT due.starts OR due.container_id IN (SELECT r.container_id FROM running AS r) OR NOT EXISTS ("
		"SELECT FROM yquota.container AS c WHERE c.container_id = due.container_id)) RETURNING 1), "
		"ended AS (INSERT INTO yquota.container_event (event, container_id, occurred_at, exit_status, source) "
		"SELECT 'CONTAINER_FINISH', r.container_id, greatest(yquota.clock(), r.settled_at), -100, 'scheduler' "
		"FROM running AS r) "
		"SELECT FROM expired",
		.types = {"timestamptz", "int8", "text"}
	};
	Datum		values[] = {TimestampTzGetDatum(until), Int64GetDatum(YQ_EXPIRY_BATCH), CStringGetTextDatum(execution_type)};

	return (int) yq_saved_plan_execute(&expire, values, NULL);
}

int
yq_release_expired(const YqHierarchy *hierarchy)
{
	TimestampTz now = yq_clock_now();
	const YqAllocationSettings *settings = yq_allocation_settings();
	int			guaranteed;
	int			opportunistic;

	watch_decisions();
	if (is_current && now >= checked_at && !is_any_due(settings, now))
		return 0;
	read_oldest_decisions(now);
	if (!is_any_due(settings, now))
		return 0;
	is_current = false;
	if (hierarchy != NULL)
		yq_scheduler_lock_leaves(hierarchy);
	yq_update_events_take_back(now - settings->allocation_expiry, YQ_EXPIRY_BATCH);
	guaranteed = release("GUARANTEED", now - settings->allocation_expiry);
	opportunistic = release("OPPORTUNISTIC", now - settings->opportunistic_token_expiry);
	return Max(guaranteed, opportunistic);
}
