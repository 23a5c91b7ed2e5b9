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
#include "utils/timestamp.h"

/* The result of the last scan. */
static bool is_current = false; /* taken back by a change of the table, and aborts */
static TimestampTz checked_at;
static TimestampTz oldest_at;	/* when there was none: checked_at */

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
static void
read_oldest_decision(TimestampTz now)
{
	static YqSavedPlan look_up = {
		.command = "SELECT d.decided_at FROM yquota.decision AS d WHERE d.decision IN " YQ_EXPIRING_DECISIONS " "
		"ORDER BY d.decision_id LIMIT 1"
	};
	bool		isnull;

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	is_current = true;
	checked_at = oldest_at = now;
	if (yq_saved_plan_run(&look_up, NULL, NULL) > 0)
		oldest_at = DatumGetTimestampTz(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &isnull));
	SPI_finish();
}

/*
 * The remaining increases are those of containers that another transaction is
 * ending or changing.
 */
int
yq_release_expired(const YqHierarchy *hierarchy)
{
	static YqSavedPlan release = {
		.command = "WITH due AS MATERIALIZED ("
		"SELECT d.decision_id, d.container_id, d.decision IN ('allocated', 'swapped') AS starts FROM yquota.decision AS d "
		"WHERE d.decision_id IN (SELECT o.decision_id FROM yquota.decision AS o WHERE o.decision IN " YQ_EXPIRING_DECISIONS " "
		"ORDER BY o.decision_id LIMIT $2) "
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
		.types = {"timestamptz", "int8"}
	};
	TimestampTz now = yq_clock_now();
	int64		expiry = yq_allocation_settings()->allocation_expiry;
	Datum		values[] = {TimestampTzGetDatum(now - expiry), Int64GetDatum(YQ_EXPIRY_BATCH)};

	watch_decisions();
	if (is_current && now >= checked_at && now < oldest_at + expiry)
		return 0;
	read_oldest_decision(now);
	if (now < oldest_at + expiry)
		return 0;
	is_current = false;
	if (hierarchy != NULL)
		yq_scheduler_lock_leaves(hierarchy);
	yq_update_events_take_back(now - expiry, YQ_EXPIRY_BATCH);
	return (int) yq_saved_plan_execute(&release, values, NULL);
}
