-- Until the first allocation cycle, rows about usage are not numbered with their transaction, and
-- the index of these numbers stays empty.
CREATE EXTENSION IF NOT EXISTS yquota;
SELECT yquota.set_clock('2026-03-02 10:00+00');
INSERT INTO yquota.queue (path, capacity) VALUES ('root', NULL), ('root.a', '100');
INSERT INTO yquota.scheduler_setting (scheduler_monitor_enable) VALUES (true);
INSERT INTO yquota.project (name) VALUES ('p'), ('q');
INSERT INTO yquota.node (name, total) VALUES ('n1', '[memory-mb=65536,vcores=64]');
CREATE FUNCTION start(prefix text, containers integer) RETURNS void LANGUAGE sql AS $$
	INSERT INTO yquota.container_event (event, container_id, project, queue, username, node, allocation)
	SELECT 'CONTAINER_START', prefix || n, CASE WHEN n % 2 = 0 THEN 'p' ELSE 'q' END, 'root.a', 'ann', 'n1', '[memory-mb=1024,vcores=1]'
	FROM generate_series(1, containers) AS n;
$$;
CREATE VIEW delta AS
	SELECT scope, count(*), count(containers) AS usage, count(changed_by) AS numbered FROM yquota_internal.counter_delta GROUP BY scope ORDER BY scope;
CREATE VIEW index AS
	SELECT pg_relation_size('yquota_internal.counter_delta_changed_by_idx') > current_setting('block_size')::integer AS has_entries;

SELECT start('one_', 1);
SELECT start('many_', 5);
SELECT * FROM delta;
SELECT * FROM index;

-- Numbering does not start in a dry run, a read-only transaction, REPEATABLE READ, or a transaction
-- with savepoints.
SELECT count(*) AS preempted FROM yquota.preempt_containers(dry_run => true);
SELECT decision FROM yquota.schedule(ARRAY['n1'], dry_run => true);
BEGIN READ ONLY;
SELECT count(*) AS preempted FROM yquota.preempt_containers(dry_run => true);
COMMIT;
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT decision FROM yquota.node_heartbeat(ARRAY['n1']);
COMMIT;
BEGIN;
SAVEPOINT s;
SELECT decision FROM yquota.node_heartbeat(ARRAY['n1']);
COMMIT;
SELECT count(*) FROM yquota_internal.usage_numbering;

-- a cycle starts the numbering
SELECT decision FROM yquota.node_heartbeat(ARRAY['n1']);
SELECT count(*), count(complete_from) AS complete FROM yquota_internal.usage_numbering;
SELECT start('two_', 1);
SELECT start('more_', 5);
SELECT * FROM delta;
SELECT * FROM index;
SELECT decision FROM yquota.node_heartbeat(ARRAY['n1']);
SELECT decision FROM yquota.node_heartbeat(ARRAY['n1']);
SELECT decision FROM yquota.node_heartbeat(ARRAY['n1']);
SELECT count(*), count(complete_from) AS complete FROM yquota_internal.usage_numbering;

-- compaction treats rows without a number as the oldest rows
SELECT yquota_internal.compact_counters() IS NOT NULL AS compacted;
SELECT * FROM delta;
SELECT queue, allocation FROM yquota.queue_usage WHERE queue = 'root.a';
SELECT * FROM yquota.verify();
-- while cycles run, compaction may leave the newest rows about usage, but no other rows
SELECT state FROM yquota.submit_application('application_1_0001', 'ann', NULL, 'a', project => 'p', unmanaged => true);
SELECT start('late_', 5);
SELECT yquota_internal.compact_counters() IS NOT NULL AS compacted;
SELECT count(*) FROM delta WHERE scope IN ('p', 'f');
SELECT queue, allocation FROM yquota.queue_usage WHERE queue = 'root.a';
SELECT * FROM yquota.verify();
DELETE FROM yquota_internal.counter_delta;

-- rows about usage get a number even if they come by hand, from a dump or from a publication; rows
-- about projects get none
INSERT INTO yquota_internal.counter_delta (scope, project, charged, changed_by) VALUES ('p', 'p', 0, '3');
INSERT INTO yquota_internal.counter_delta (scope, queue, label, username, execution_type, allocation, containers, changed_by)
VALUES ('u', 'root.a', '', 'ann', 'GUARANTEED', '[]', 0, '3');
SELECT scope, changed_by > '3' AS is_of_this_database FROM yquota_internal.counter_delta ORDER BY scope;

-- a replicated row is ignored, because it has the id of a transaction of another database
SET session_replication_role = replica;
INSERT INTO yquota_internal.usage_numbering (asked_by, complete_from) VALUES ('3', '3');
RESET session_replication_role;
SELECT count(*) FROM yquota_internal.usage_numbering;

-- when the table is empty, the database counts again as one without cycles
TRUNCATE yquota_internal.usage_numbering;
SELECT start('three_', 1);
SELECT scope, changed_by IS NULL AS has_none FROM yquota_internal.counter_delta WHERE project = 'q';
SELECT decision FROM yquota.node_heartbeat(ARRAY['n1']);
SELECT count(*), count(complete_from) AS complete FROM yquota_internal.usage_numbering;
