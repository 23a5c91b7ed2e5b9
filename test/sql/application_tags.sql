--
-- Tags of applications, and costs by tag. A vcore costs one credit per second.
--
CREATE DATABASE yquota_application_tags;
\c yquota_application_tags
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS yquota;
SET timezone = 'UTC';
SET datestyle = 'ISO';
SET jit = off;
\set SHOW_CONTEXT never
SELECT yquota.set_clock('2026-03-02 08:00');
INSERT INTO yquota.project (name) VALUES ('lab'), ('web');
INSERT INTO yquota.queue (path, capacity) VALUES ('root', 100), ('root.q', 100);

--
-- Tags
--
SELECT yquota.set_application_tags('app_1', '{team=search,env=prod,"query=a=b",urgent,"équipe=日本 東京",note=}');
SELECT application_id, tags, set_at FROM yquota.application_tags;
-- a repeated call, or a call with some of the tags, returns all tags
SELECT yquota.set_application_tags('app_1', '{urgent=,team=search}') = tags AS same FROM yquota.application_tags;
SELECT yquota.set_application_tags('app_1', '{}') = tags AS same FROM yquota.application_tags;
SELECT xmin = pg_current_xact_id()::xid AS written_again FROM yquota.application_tags;
-- a call without tags changes nothing
SELECT yquota.set_application_tags('app_9', '{}');
-- the first value of a key stays, and other keys can be added
SELECT yquota.set_application_tags('app_1', '{cost-center=7,team=ads}');
SELECT yquota.set_application_tags('app_1', '{Team=ads}') - 'équipe';

SELECT yquota.set_application_tags('app_9', NULL);
SELECT yquota.set_application_tags(NULL, '{a=b}');
SELECT yquota.set_application_tags('', '{a=b}');
SELECT yquota.set_application_tags(repeat('x', 256), '{a=b}');
SELECT yquota.set_application_tags('app_9', '{a=b,NULL}');
SELECT yquota.set_application_tags('app_9', '{a=b,a=b}');
SELECT yquota.set_application_tags('app_9', '{a,a=}');
SELECT yquota.set_application_tags('app_9', '{=b}');
SELECT yquota.set_application_tags('app_9', '{""}');
SELECT yquota.set_application_tags('app_9', ARRAY[repeat('k', 256)]);
SELECT yquota.set_application_tags('app_9', ARRAY['k=' || repeat('é', 128)]);
SELECT yquota.set_application_tags('app_9', ARRAY(SELECT 'k' || n FROM generate_series(1, 51) AS n));
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT yquota.set_application_tags('app_9', '{a=b}');
ROLLBACK;
BEGIN READ ONLY;
SELECT yquota.set_application_tags('app_9', '{a=b}');
ROLLBACK;
SELECT count(*) FROM yquota.application_tags WHERE application_id <> 'app_1';
-- the longest key and value, and the largest number of tags
BEGIN;
SELECT length(k), length(v) FROM jsonb_each_text(yquota.set_application_tags('app_9', ARRAY[repeat('k', 255) || '=' || repeat('v', 255)])) AS t (k, v);
SELECT count(*) FROM jsonb_each(yquota.set_application_tags('app_8', ARRAY(SELECT 'k' || n FROM generate_series(1, 50) AS n)));
ROLLBACK;

-- a submission's tags are read in the same way; a refused submission and a dry run leave no tags
SELECT state FROM yquota.submit_application('app_2', 'ann', NULL, 'root.q', tags => '{team=ads,workflowid:w1,x=1=2}', project => 'lab');
SELECT state FROM yquota.submit_application('app_3', 'bob', NULL, 'root.q', tags => '{team=search}', project => 'web', dry_run => true);
SELECT state FROM yquota.submit_application('app_4', 'bob', NULL, 'root.nowhere', tags => '{team=search}', project => 'web');
SELECT state FROM yquota.submit_application('app_5', 'bob', NULL, 'root.q', tags => '{team=a,team=b}', project => 'web');
SELECT state FROM yquota.submit_application('app_5', 'bob', NULL, 'root.q', tags => '{}', project => 'web');
-- the first value of a key stays
SELECT state FROM yquota.submit_application('app_1', 'ann', NULL, 'root.q', tags => '{team=ads,from=submission}', project => 'lab');
SELECT yquota.set_application_tags('app_2', '{team=search}');
SELECT yquota.set_application_tags('app_2', '{env=test}');
SELECT application_id, tags - '{équipe,query,note,Team}'::text[] FROM yquota.application_tags ORDER BY 1;
SELECT application_id, tags FROM yquota.application ORDER BY 1;

--
-- The first charge fixes the tags. app_6 and app_7 are known only from events.
--
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, application_id, username, queue, allocation) VALUES
	('CONTAINER_START', 'c1', '2026-03-02 08:00', 'lab', 'app_1', 'ann', 'root.q', '[vcores=1]'),
	('CONTAINER_START', 'c2', '2026-03-02 08:00', 'lab', 'app_2', 'ann', 'root.q', '[vcores=2]'),
	('CONTAINER_START', 'c5', '2026-03-02 08:00', 'web', 'app_5', 'bob', 'root.q', '[vcores=4]'),
	('CONTAINER_START', 'c6', '2026-03-02 08:00', 'web', 'app_6', 'bob', 'root.q', '[vcores=8]'),
	('CONTAINER_START', 'c7', '2026-03-02 08:00', 'lab', 'app_7', 'cyd', 'root.q', '[vcores=16]'),
	('CONTAINER_START', 'c0', '2026-03-02 08:00', 'lab', NULL, 'cyd', 'root.q', '[vcores=32]');
SELECT yquota.set_clock('2026-03-02 08:10');
SELECT yquota.quota_compute();
SELECT yquota.set_application_tags('app_6', '{team=search}');
INSERT INTO yquota.container_event (event, container_id, occurred_at, allocation) VALUES
	('CONTAINER_UPDATE', 'c6', '2026-03-02 08:05', '[vcores=8,memory-mb=1024]'),
	('CONTAINER_FINISH', 'c7', '2026-03-02 08:10', NULL);
SELECT yquota.set_application_tags('app_6', '{env=prod}');
SELECT yquota.set_application_tags('app_6', '{team=ads}');
SELECT yquota.set_application_tags('app_6', '{team=search}');
SELECT yquota.set_application_tags('app_7', '{team=search}');
SELECT yquota.set_application_tags('app_7', '{}');

--
-- Reports. 10 minutes are 600 credits per vcore: app_1 600, app_2 1200, app_5 2400, app_6 4800, app_7 9600, none 19200.
--
SELECT yquota.set_clock('2026-03-02 08:10');
SELECT tags, amount FROM yquota.cost_between('-infinity', 'infinity', '{tag:team}') ORDER BY amount;
SELECT project, tags, amount FROM yquota.cost_between('-infinity', 'infinity', '{tag:team,project,tag:env}') ORDER BY amount;
SELECT application_id, tags, amount FROM yquota.cost_between('-infinity', 'infinity', '{application_id,tag:urgent}') ORDER BY amount;
SELECT tags, amount FROM yquota.cost_between('-infinity', 'infinity', ARRAY['tag:équipe', 'tag:x', 'tag:it''s "\']) ORDER BY amount;
SELECT tags, amount FROM yquota.cost_between('-infinity', 'infinity', '{project}') ORDER BY amount;
SELECT container_id, tags FROM yquota.cost_between('-infinity', 'infinity', '{container_id,tag:team}') ORDER BY 1;
SELECT day, tags, amount FROM yquota.cost_by_day('2026-03-01', '2026-03-02', '{tag:team}') ORDER BY amount;
SELECT calendars, tags, amount FROM yquota.cost_by_calendar('2026-03-02 08:05', 'infinity', '{tag:team}') ORDER BY amount;
SELECT rank, tags, amount, share FROM yquota.top_costs('2026-03-02', '2026-03-03', '{tag:team}', 2);
SELECT tags, resource_type, resource_seconds FROM yquota.usage_between('-infinity', 'infinity', '{tag:team}') ORDER BY resource_type, resource_seconds;
SELECT regexp_replace(split_part(substring(yquota.report_html('2026-03-02', '2026-03-03', tag => 'team') FROM 'Tag team.*'), '</table>', 1), '(<[^>]*>)+', ' | ', 'g') AS listed;
SELECT yquota.report_html('2026-03-02', '2026-03-03', 'web', '<b>') ~ 'Tag &lt;b&gt;', yquota.report_html('2026-03-02', '2026-03-03') ~ 'Tag ';
SELECT yquota.report_html('2026-03-02', '2026-03-03', tag => '');
SELECT * FROM yquota.cost_between('-infinity', 'infinity', '{tag}');
SELECT * FROM yquota.cost_between('-infinity', 'infinity', '{tag:}');
SELECT * FROM yquota.cost_by_day('2026-03-01', '2026-03-02', '{tags:team}');
SELECT * FROM yquota.federated_cost('2026-03-01', '2026-03-02', '{tag:team}');

-- members read the tags of the costs that they may read
SET client_min_messages = error;
CREATE ROLE yquota_tags_member;
SELECT yquota.allow_role('yquota_tags_member', 'member', 'web');
SET ROLE yquota_tags_member;
SELECT tags, amount FROM yquota.cost_between('-infinity', 'infinity', '{tag:team}') ORDER BY amount;
SELECT yquota.set_application_tags('app_5', '{team=ads}');
TABLE yquota.application_tags;
RESET ROLE;
SELECT yquota.disallow_role('yquota_tags_member', 'member', 'web');
DROP ROLE yquota_tags_member;
RESET client_min_messages;

--
-- Reports stay the same when applications and containers end, from roll-ups, on bills and from archived history.
--
SELECT yquota.set_clock('2026-03-02 09:00');
INSERT INTO yquota.container_event (event, container_id, occurred_at) VALUES
	('CONTAINER_FINISH', 'c1', '2026-03-02 08:10'), ('CONTAINER_FINISH', 'c2', '2026-03-02 08:10'), ('CONTAINER_FINISH', 'c5', '2026-03-02 08:10'),
	('CONTAINER_FINISH', 'c6', '2026-03-02 08:10'), ('CONTAINER_FINISH', 'c0', '2026-03-02 08:10');
CREATE VIEW told AS
	SELECT 'cost' AS what, cost::text AS line FROM yquota.cost_between('-infinity', '2026-03-02 09:00', '{tag:team,tag:env,username}') AS cost
	UNION ALL SELECT 'day', day::text FROM yquota.cost_by_day('2026-03-01', '2026-03-02', '{project,tag:team}') AS day
	UNION ALL SELECT 'top', top::text FROM yquota.top_costs('2026-03-02', '2026-03-03', '{tag:team}') AS top;
CREATE TABLE told_before AS TABLE told;
CREATE FUNCTION difference() RETURNS TABLE (what text, line text) LANGUAGE sql
	AS 'WITH now AS MATERIALIZED (TABLE told) (TABLE now EXCEPT ALL TABLE told_before) UNION ALL (TABLE told_before EXCEPT ALL TABLE now)';
SELECT what, count(*) FROM told_before GROUP BY what ORDER BY what;
SELECT yquota.finish_application('app_1'), yquota.finish_application('app_2'), yquota.finish_application('app_5');
SELECT yquota.remove_finished_applications('2026-03-03') > 0 AS removed;
SELECT * FROM difference();
UPDATE yquota_internal.rollup_state SET charges_per_sum = 0;
SELECT yquota.roll_up_charges() > 0 AS rolled_up;
SELECT (yquota_internal.rolled_up_range('{2026-03-02,2026-03-03}', yquota_internal.columns_of_report('{tag:team}')))."from" IS NOT NULL AS is_read;
SELECT * FROM difference();
SELECT yquota.set_clock('2026-03-03 09:00');
SELECT settled FROM yquota.close_period('2026-03-03');
SELECT settled FROM yquota.close_period('2026-03-03');
SELECT tags, amount FROM yquota.cost_between('-infinity', '2026-03-03', '{tag:team}', as_booked => '2026-03-03 09:00') ORDER BY amount;
SELECT yquota.seal_history();
CREATE TABLE history (LIKE yquota.charge);
SELECT segments FROM yquota.archive('history', 'infinity');
SELECT count(*) FROM yquota.charge;
SELECT * FROM difference();
SELECT tags, amount FROM yquota.cost_between('-infinity', '2026-03-03', '{tag:team}', as_booked => '2026-03-03 09:00') ORDER BY amount;
SELECT yquota.set_application_tags('app_7', '{team=search}');
SELECT * FROM yquota.usage_between('2026-03-02', 'infinity', '{tag:team}');
SELECT * FROM yquota.cost_between('2026-03-02', 'infinity', '{tag:team,node}');
SELECT count(*) FROM yquota.cost_between('2026-03-02', 'infinity', ARRAY(SELECT 'tag:' || n FROM generate_series(1, 50) AS n));
SELECT count(*) FROM yquota.usage_between('2026-03-02', 'infinity', ARRAY(SELECT 'tag:' || n FROM generate_series(1, 51) AS n));

--
-- Retention: a row stays while the ledger, the archived history, a container or an application needs it.
--
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, application_id, allocation) VALUES
	('CONTAINER_START', 'c8', '2026-03-03 09:00', 'web', 'app_8', '[vcores=1]');
SELECT state FROM yquota.submit_application('app_10', 'bob', NULL, 'root.q', tags => '{team=search}', project => 'web');
SELECT yquota.set_application_tags('app_8', '{team=ads}'), yquota.set_application_tags('app_11', '{team=ads}');
SELECT yquota.set_clock('2026-03-03 09:01');
SELECT yquota.set_application_tags('app_12', '{team=ads}');
SELECT yquota_internal.forget_application_tags('2026-03-03 09:01');
SELECT application_id FROM yquota.application_tags ORDER BY set_at, application_id;
SELECT * FROM yquota.verify();
\c postgres
DROP DATABASE yquota_application_tags;
