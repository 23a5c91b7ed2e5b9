-- Metrics of waiting applications and of refused submissions.

SET client_min_messages = warning;
DROP DATABASE IF EXISTS yquota_waiting_metrics WITH (FORCE);
CREATE DATABASE yquota_waiting_metrics;
\c yquota_waiting_metrics
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS yquota;
SET timezone = 'UTC';
SET datestyle = 'ISO';
SELECT yquota.set_clock('2026-03-02 10:00+00');
INSERT INTO yquota.project (name) VALUES ('p'), ('q');
DELETE FROM yquota.resource_type WHERE name NOT IN ('memory-mb', 'vcores');
BEGIN;
INSERT INTO yquota.scheduler_setting (maximum_am_resource_percent, node_labels_enabled, maximum_allocation_mb) VALUES (0.5, true, 8192);
INSERT INTO yquota.node_label (name) VALUES ('gpu');
INSERT INTO yquota.queue (path, capacity, maximum_capacity, user_limit_factor, max_parallel_apps, maximum_applications, accessible_node_labels, auto_created) VALUES
	('root', NULL, NULL, NULL, NULL, NULL, NULL, false), ('root.a', '50', '100', 10, NULL, 6, '{gpu}', false), ('root.b', '25', '100', 10, 1, NULL, NULL, false),
	('root.made', '25', '100', NULL, NULL, NULL, NULL, false), ('root.made.ann', '50', '100', NULL, NULL, NULL, NULL, true), ('root.made.bob', '50', '100', NULL, NULL, NULL, NULL, true);
INSERT INTO yquota.queue_label (queue, label, capacity) VALUES ('root', 'gpu', '100'), ('root.a', 'gpu', '100');
COMMIT;
CREATE FUNCTION submit(number integer, queue text, username text DEFAULT 'ann', project text DEFAULT 'p', unmanaged boolean DEFAULT false, megabytes integer DEFAULT 1024, dry_run boolean DEFAULT false) RETURNS text LANGUAGE sql
	RETURN (SELECT concat_ws(' ', s.state, s.decided_by) FROM yquota.submit_application('application_1_' || number, username, '{}', queue, project => project,
		am_resource => format('[memory-mb=%s,vcores=1]', megabytes)::yquota.resource, unmanaged => unmanaged, dry_run => dry_run) AS s);
CREATE VIEW figures AS
	SELECT metric, labels, trim_scale(value) AS value FROM yquota.metrics WHERE family IN ('waiting', 'submission_refused') ORDER BY metric, labels;

-- No metrics without applications.
SELECT * FROM figures;

-- Without nodes, no application starts.
SELECT submit(1, 'a');
SELECT * FROM figures;
INSERT INTO yquota.node (name, total) VALUES ('h1', '[memory-mb=8192,vcores=8]');
SELECT count(*) FROM yquota.activate_applications();

-- Limits of application masters, of the queue and of the user, and of parallel applications.
SELECT yquota.set_clock('2026-03-02 10:01+00');
SELECT submit(2, 'a'), submit(3, 'a', megabytes => 4096), submit(4, 'b'), submit(5, 'b', 'bob');
SELECT submit(6, 'root.made.ann', megabytes => 3072), submit(7, 'root.made.ann', megabytes => 4096), submit(8, 'root.made.bob', megabytes => 3072), submit(9, 'root.made.bob', megabytes => 4096);
SELECT yquota.set_clock('2026-03-02 10:03+00');
-- created queues count in the queue that creates them
SELECT * FROM figures;

-- An application that has its master waits for a label, for its project and for nothing.
SELECT submit(10, 'a', 'cid', unmanaged => true), submit(11, 'a', 'cid', 'q', unmanaged => true);
SELECT yquota.request_containers('application_1_10', '[memory-mb=1024,vcores=1]', 3, label => 'gpu'), yquota.request_containers('application_1_11', '[memory-mb=1024,vcores=1]', 3);
UPDATE yquota.application SET project = 'gone' WHERE application_id = 'application_1_11';
SELECT * FROM figures WHERE labels ->> 'reason' IN ('label', 'project', 'requests');

-- Refused submissions count by rule; dry runs and applications that wait do not count.
SELECT submit(20, 'nowhere'), submit(21, 'nowhere'), submit(21, 'nowhere'), submit(22, 'nowhere', dry_run => true), submit(23, 'a', project => 'unknown'), submit(24, 'a', megabytes => 9000),
	submit(25, 'a'), submit(26, 'a'), submit(27, 'a');
BEGIN;
SELECT submit(28, 'nowhere');
ROLLBACK;
SELECT * FROM figures WHERE metric = 'yquota_submission_refused_total';
-- the numbers stay when the applications are removed
SELECT yquota.remove_finished_applications('2026-03-03') > 0 AS removed;
SELECT * FROM figures WHERE metric = 'yquota_submission_refused_total';
-- a session counts in the same row of each rule
SELECT decided_by, count(*) FROM yquota_internal.submission_refusal GROUP BY decided_by ORDER BY decided_by;

-- A role that may read the view sees the applications of all projects.
CREATE ROLE yquota_waiting_exporter;
GRANT SELECT ON yquota.metrics TO yquota_waiting_exporter;
SELECT count(*) AS as_owner FROM figures \gset
SET ROLE yquota_waiting_exporter;
SELECT count(*) = :as_owner AS sees_all FROM yquota.metrics WHERE family IN ('waiting', 'submission_refused');
RESET ROLE;
DROP OWNED BY yquota_waiting_exporter;
DROP ROLE yquota_waiting_exporter;
\c postgres
DROP DATABASE yquota_waiting_metrics WITH (FORCE);
