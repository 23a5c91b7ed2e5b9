--
-- Feeds: a role that may only feed, events that are set aside and tried again, and books that are
-- reconciled with the running containers. The test uses its own database, because the clock is
-- global.
--
CREATE DATABASE yquota_feed;
\c yquota_feed
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS yquota;
SET timezone = 'UTC';
SET datestyle = 'ISO';
SET intervalstyle = 'postgres';
SELECT yquota.set_clock('2026-03-02 10:00:00+00');
INSERT INTO yquota.project (name) VALUES ('lab'), ('ops');
INSERT INTO yquota.node (name, total) VALUES ('n1', '[memory-mb=8192,vcores=8]'), ('n2', '[memory-mb=8192,vcores=8]');

--
-- INSERT on one table is the only privilege that a feed needs, and the only thing that it can do
--
CREATE ROLE yquota_feeder;
GRANT INSERT ON yquota.container_event TO yquota_feeder;
SET ROLE yquota_feeder;
SET yquota.on_bad_event = set_aside;
-- a line that cannot be parsed as a row fails the statement under every setting
COPY yquota.container_event (event, container_id, occurred_at, project, allocation) FROM STDIN;
CONTAINER_START	container_1_000001	2026-03-02 09:00:00+00	lab	[vcores=1]
CONTAINER_START	container_1_000002	yesterday morning	lab	[vcores=1]
\.
COPY yquota.container_event (event, container_id, occurred_at, project, username, application_id, queue, node, allocation, source) FROM STDIN;
CONTAINER_START	container_1_000001	2026-03-02 09:00:00+00	lab	ann	app_1	root.a	n1	[memory-mb=1024,vcores=1]	rm-1
CONTAINER_START	container_1_000002	2026-03-02 09:00:00+00	lab	ann	app_1	root.a	n1	[vcores=2]	rm-1
CONTAINER_START	container_2_000001	2026-03-02 09:30:00+00	new	bob	app_2	root.b	n2	[vcores=4]	rm-1
CONTAINER_FINISH	container_3_000001	2026-03-02 09:50:00+00	\N	\N	\N	\N	\N	\N	rm-2
\.
INSERT INTO yquota.container_event (event, occurred_at, source) VALUES ('QUOTA_COMPUTE', '2026-03-02 09:55:00+00', 'rm-2');
SELECT event, container_id, occurred_at, project, application_id, username, queue, node, allocation, execution_type, exit_status, source, recorded_at FROM yquota.container_event;
UPDATE yquota.container_event SET project = 'ops';
DELETE FROM yquota.event_reject;
SELECT * FROM yquota.feed_status;
SELECT * FROM yquota.retry_rejects();
SELECT * FROM yquota.reconcile('[]', '2026-03-02 10:00:00+00');
SELECT * FROM yquota.node_lost('n1');
SELECT yquota_internal.apply_waiting();
SELECT yquota_internal.resend_rejects('{1}');
RESET ROLE;
RESET yquota.on_bad_event;

--
-- Events set aside
--
SELECT source, event, container_id, waiting, sqlstate FROM yquota.event_reject ORDER BY container_id, reject_id;
SELECT * FROM yquota.feed_status ORDER BY source;
-- nothing has changed, so the bad event comes back, and events that wait for a START are not even
-- tried
SELECT * FROM yquota.retry_rejects();
SELECT container_id, waiting, sqlstate FROM yquota.event_reject ORDER BY container_id, reject_id;
-- only the events of one source or of one container are tried
SELECT * FROM yquota.retry_rejects(source => 'rm-2');
SELECT * FROM yquota.retry_rejects(container_id => 'container_1_000001');
INSERT INTO yquota.project (name) VALUES ('new');
SELECT * FROM yquota.retry_rejects(source => 'rm-1', container_id => 'container_2_000001');
SELECT container_id, project, started_at FROM yquota.container ORDER BY container_id;
SELECT container_id, waiting, sqlstate FROM yquota.event_reject ORDER BY container_id, reject_id;
SELECT * FROM yquota.retry_rejects();
-- a START releases the events that wait for it
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation, source)
VALUES ('CONTAINER_START', 'container_3_000001', '2026-03-02 09:40:00+00', 'lab', '[vcores=1]', 'rm-2');
SELECT container_id, finished_at, cost FROM yquota.container_cost WHERE container_id = 'container_3_000001';
SELECT count(*) FROM yquota.event_reject;
-- when both arrived at the same time, the worker applies the waiting event
INSERT INTO yquota.event_reject (event, container_id, occurred_at, exit_status, source, recorded_at, waiting, sqlstate, reason)
VALUES ('CONTAINER_FINISH', 'container_2_000001', '2026-03-02 09:45:00+00', 0, 'rm-2', '2026-03-02 10:00:00+00', true, '23503', 'waits'),
	   ('CONTAINER_FINISH', 'container_4_000001', '2026-03-02 09:45:00+00', 0, 'rm-2', '2026-03-02 10:00:00+00', true, '23503', 'waits');
SELECT yquota_internal.apply_waiting();
SELECT yquota_internal.apply_waiting();
SELECT container_id, finished_at, exit_status, cost FROM yquota.container_cost WHERE container_id = 'container_2_000001';
SELECT container_id, waiting FROM yquota.event_reject;
SELECT * FROM yquota.feed_status ORDER BY source;
-- a correction does not count as an event of the feed without a name
BEGIN;
SELECT yquota.report_outage('2026-03-02 09:30:00+00', '2026-03-02 09:50:00+00', 'test');
SELECT count(corrects) AS corrections FROM yquota.charge;
SELECT source, events FROM yquota.feed_status ORDER BY source;
ROLLBACK;

--
-- reconcile() first only shows the differences
--
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, username, application_id, queue, node, allocation, source)
VALUES ('CONTAINER_START', 'container_1_000003', '2026-03-02 09:10:00+00', 'lab', 'ann', 'app_1', 'root.a', 'n1', '[vcores=1]', 'rm-1'),
	   ('CONTAINER_START', 'container_1_000004', '2026-03-02 09:10:00+00', 'lab', 'ann', 'app_1', 'root.a', 'n1', '[vcores=1]', 'rm-1'),
	   ('CONTAINER_UPDATE', 'container_1_000004', '2026-03-02 09:56:00+00', NULL, NULL, NULL, NULL, NULL, '[vcores=5]', 'rm-1'),
	   ('CONTAINER_START', 'container_1_000005', '2026-03-02 09:57:00+00', 'lab', 'ann', 'app_1', 'root.a', 'n1', '[vcores=1]', 'rm-1'),
	   ('CONTAINER_START', 'container_1_000006', '2026-03-02 09:10:00+00', 'lab', 'ann', 'app_1', 'root.a', 'n1', '[vcores=1]', 'rm-1'),
	   ('CONTAINER_FINISH', 'container_1_000006', '2026-03-02 09:58:00+00', NULL, NULL, NULL, NULL, NULL, NULL, 'rm-1');
\set list '[{"container_id": "container_1_000001", "project": "lab", "username": "ann", "application_id": "app_1", "queue": "root.a", "node": "n1", "allocation": {"memory-mb": 1024, "vcores": 1}, "execution_type": "GUARANTEED", "started_at": "2026-03-02T10:00:00+01:00"}, {"container_id": "container_1_000002", "queue": "root.b", "allocation": "<memory:512, vCores:2>", "execution_type": null}, {"container_id": "container_1_000006"}, {"container_id": "container_2_000001"}, {"container_id": "container_5_000001", "project": "ops", "queue": "root.a", "allocation": {"vcores": 3}, "started_at": "2026-03-02 09:20"}, {"container_id": "container_5_000002", "project": "ops", "allocation": {"vcores": 3}, "started_at": "2026-03-02 09:55:00.000001"}, {"container_id": "container_5_000003", "project": "ops"}]'
-- No row is returned for a container that agrees with the list, or that was updated, started or
-- finished after as_of.
SELECT * FROM yquota.reconcile(:'list', '2026-03-02 09:55:00+00');
SELECT count(*) AS sent FROM yquota.container_event WHERE source = 'reconcile';
SELECT * FROM yquota.reconcile(:'list', '2026-03-02 09:55:00+00', dry_run => false);
SELECT event, container_id, occurred_at, queue, allocation FROM yquota.container_event WHERE source = 'reconcile' ORDER BY container_id;
SELECT container_id, queue, allocation, finished_at, cost FROM yquota.container_cost ORDER BY container_id;
-- a repeated call sends nothing
SELECT * FROM yquota.reconcile(:'list', '2026-03-02 09:55:00+00', dry_run => false);
SELECT count(*) AS sent FROM yquota.container_event WHERE source = 'reconcile';
-- columns that an event cannot change, with other values in the list
SELECT action, container_id, detail FROM yquota.reconcile(
	'[{"container_id": "container_1_000001", "project": "ops", "username": "eve", "started_at": "2026-03-02 08:00", "queue": "root.c"},
	  {"container_id": "container_1_000002"}, {"container_id": "container_1_000004"}, {"container_id": "container_1_000005"},
	  {"container_id": "container_5_000001", "application_id": "app_5"}]',
	'2026-03-02 10:00:00+00', dry_run => false);
-- with an empty list all containers have ended
SELECT action, container_id FROM yquota.reconcile('[]', '2026-03-02 10:00:00+00');

-- bad lists
\set SHOW_CONTEXT never
SELECT * FROM yquota.reconcile('{}', '2026-03-02 10:00:00+00');
SELECT * FROM yquota.reconcile('[[]]', '2026-03-02 10:00:00+00');
\set VERBOSITY sqlstate
SELECT * FROM yquota.reconcile(NULL, '2026-03-02 10:00:00+00');
\set VERBOSITY default
SELECT * FROM yquota.reconcile('[]', NULL);
SELECT * FROM yquota.reconcile('[]', 'infinity');
SELECT * FROM yquota.reconcile('[]', '2026-03-02 10:00:00.000001+00');
SELECT * FROM yquota.reconcile('[{"container_id": "c1"}, {"project": "lab"}]', '2026-03-02 10:00:00+00');
SELECT * FROM yquota.reconcile('[{"container_id": ""}]', '2026-03-02 10:00:00+00');
SELECT * FROM yquota.reconcile('[{"container_id": "c1", "alocation": {}}]', '2026-03-02 10:00:00+00');
SELECT * FROM yquota.reconcile('[{"container_id": "c1", "allocation": "[vcores]"}]', '2026-03-02 10:00:00+00');
SELECT * FROM yquota.reconcile('[{"container_id": "c1", "allocation": 7}]', '2026-03-02 10:00:00+00');
SELECT * FROM yquota.reconcile('[{"container_id": "c1", "execution_type": "BEST_EFFORT"}]', '2026-03-02 10:00:00+00');
SELECT * FROM yquota.reconcile('[{"container_id": "c1", "started_at": "yesterday morning"}]', '2026-03-02 10:00:00+00');
SELECT * FROM yquota.reconcile('[{"container_id": "c1"}, {"container_id": "c2"}, {"container_id": "c1"}]', '2026-03-02 10:00:00+00');
-- values that an INSERT of events would refuse
SELECT * FROM yquota.reconcile('[{"container_id": "c1", "project": "nobody", "allocation": {"vcores": 1}, "started_at": "2026-03-02 09:00"}]',
							   '2026-03-02 09:05:00+00', dry_run => false);
SELECT count(*) AS sent FROM yquota.container_event WHERE source = 'reconcile';

--
-- A node is lost. A container that started after the loss belongs to the node's next life.
--
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, node, allocation)
VALUES ('CONTAINER_START', 'container_6_000001', '2026-03-02 09:00:00+00', 'lab', 'n2', '[vcores=1]'),
	   ('CONTAINER_START', 'container_6_000002', '2026-03-02 09:00:00+00', 'lab', 'n2', '[vcores=1]'),
	   ('CONTAINER_UPDATE', 'container_6_000002', '2026-03-02 09:35:00+00', NULL, NULL, '[vcores=2]'),
	   ('CONTAINER_START', 'container_6_000003', '2026-03-02 09:45:00+00', 'lab', 'n2', '[vcores=1]');
SELECT * FROM yquota.node_lost('n2', '2026-03-02 09:30:00+00');
SELECT container_id, finished_at, exit_status, cost FROM yquota.container_cost WHERE node = 'n2' ORDER BY container_id;
SELECT name, state, updated_at FROM yquota.node WHERE name = 'n2';
SELECT * FROM yquota.node_lost('n2', '2026-03-02 09:30:00+00');
SELECT container_id, reason FROM yquota.suspect_container;
SELECT * FROM yquota.node_lost('n2', exit_status => 137);
SELECT finished_at, exit_status FROM yquota.container_cost WHERE container_id = 'container_6_000003';
SELECT * FROM yquota.node_lost(NULL);
SELECT * FROM yquota.node_lost('n3');

-- the node comes back, and a report that is older or repeated changes nothing
SELECT yquota.register_node('n2', '[memory-mb=8192,vcores=8]', '/rack-2', at => '2026-03-02 09:10:00+00') AS too_old;
SELECT yquota.register_node('n2', '[memory-mb=8192,vcores=8]', '/rack-2', at => '2026-03-02 09:50:00+00') AS changed;
SELECT yquota.register_node('n2', '[memory-mb=8192,vcores=8]', '/rack-2', at => '2026-03-02 09:55:00+00') AS changed;
SELECT yquota.register_node('n5', '[vcores=1]', label => 'gpu', at => '2026-03-02 09:55:00+00') AS changed;
SELECT name, rack, label, total, state, updated_at FROM yquota.node WHERE name IN ('n2', 'n5') ORDER BY name;
SELECT yquota.register_node(NULL, '[vcores=1]');
SELECT yquota.register_node('n6', '[vcores=-1]');

--
-- Several reported ends of a container: the earliest counts. An end that yquota itself sent never
-- counts as a difference. A container that yquota has ended and that still runs is ending.
--
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation, source)
SELECT 'CONTAINER_START', 'container_8_00000' || number, '2026-03-02 09:00:00+00', 'lab', '[vcores=1]', 'rm-1' FROM generate_series(1, 6) AS number;
INSERT INTO yquota.container_event (event, container_id, occurred_at, exit_status, source) VALUES
	('CONTAINER_FINISH', 'container_8_000001', '2026-03-02 09:20:00+00', 0, 'rm-1'),
	('CONTAINER_FINISH', 'container_8_000002', '2026-03-02 09:20:00+00', 0, 'rm-1'),
	('CONTAINER_FINISH', 'container_8_000003', '2026-03-02 09:20:00+00', -100, 'scheduler'),
	('CONTAINER_FINISH', 'container_8_000004', '2026-03-02 09:20:00+00', -100, 'reconcile'),
	('CONTAINER_FINISH', 'container_8_000005', '2026-03-02 09:20:00+00', 0, 'rm-1');
INSERT INTO yquota.container_event (event, container_id, occurred_at, exit_status, source) VALUES
	('CONTAINER_FINISH', 'container_8_000001', '2026-03-02 09:20:00+00', 0, 'rm-2'),
	('CONTAINER_FINISH', 'container_8_000002', '2026-03-02 09:19:00+00', 143, 'rm-2'),
	('CONTAINER_FINISH', 'container_8_000003', '2026-03-02 09:21:00+00', 143, 'rm-1'),
	('CONTAINER_FINISH', 'container_8_000004', '2026-03-02 09:21:00+00', 143, 'rm-1'),
	('CONTAINER_FINISH', 'container_8_000004', '2026-03-02 09:22:00+00', NULL, 'rm-2'),
	('CONTAINER_FINISH', 'container_8_000005', '2026-03-02 09:10:00+00', -100, 'node_lost'),
	('CONTAINER_FINISH', 'container_8_000006', '2026-03-02 09:20:00+00', NULL, NULL),
	('CONTAINER_FINISH', 'container_8_000006', '2026-03-02 09:20:00+00', 1, NULL);
SELECT container_id, reason FROM yquota.suspect_container WHERE container_id ~ '^container_8' ORDER BY container_id;
SELECT container_id, finished_at, exit_status, cost FROM yquota.container_cost WHERE container_id ~ '^container_8' ORDER BY container_id;
SELECT action, container_id, detail FROM yquota.reconcile((SELECT jsonb_agg(jsonb_build_object('container_id', 'container_8_00000' || number)) FROM generate_series(1, 6) AS number),
	'2026-03-02 10:00:00+00') WHERE container_id ~ '^container_8';
-- A repeated end is known, a void forgets the ends, and ends of sealed containers are no longer
-- compared.
INSERT INTO yquota.container_event (event, container_id, occurred_at, exit_status, source) VALUES
	('CONTAINER_FINISH', 'container_8_000004', '2026-03-02 09:22:00+00', NULL, 'rm-2'), ('CONTAINER_FINISH', 'container_8_000003', '2026-03-02 09:20:00+00', -100, 'scheduler');
SELECT container_id, occurred_at, exit_status, is_own FROM yquota_internal.reported_end WHERE container_id ~ '^container_8' ORDER BY 1, 2, 3, 4;
SELECT container_id, amount FROM yquota.void_events('container_8_000006', 'test');
SELECT yquota.seal_history() IS NOT NULL AS sealed;
SELECT container_id, reason FROM yquota.suspect_container WHERE container_id ~ '^container_8' ORDER BY container_id;
SELECT yquota.set_clock('2026-03-02 10:00:01+00');
INSERT INTO yquota.container_event (event, container_id, occurred_at, exit_status, source) VALUES
	('CONTAINER_FINISH', 'container_8_000004', '2026-03-02 09:22:00+00', NULL, 'rm-2'), ('CONTAINER_FINISH', 'container_8_000001', '2026-03-02 09:25:00+00', 0, 'rm-2');
SELECT container_id, reason FROM yquota.suspect_container WHERE container_id ~ '^container_8' ORDER BY container_id;
SELECT action, container_id FROM yquota.reconcile('[{"container_id": "container_8_000003"}]', '2026-03-02 10:00:00+00') WHERE container_id ~ '^container_8';
SELECT container_id, count(*) FROM yquota_internal.reported_end WHERE container_id ~ '^container_8' GROUP BY 1 ORDER BY 1;
SELECT * FROM yquota.verify();

--
-- An end by reconcile() is reversed when a feed reports a later end, and the container's events
-- until then count again. It is also reversed when a list has the container. An earlier end from a
-- feed always counts, and an end by the scheduler is a decision.
--
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation, source)
SELECT 'CONTAINER_START', 'concluded_' || number, '2026-03-02 09:00:00+00', 'lab', '[vcores=1]', 'rm-1' FROM generate_series(1, 5) AS number;
INSERT INTO yquota.container_event (event, container_id, occurred_at, source)
SELECT 'CONTAINER_FINISH', 'concluded_' || number, '2026-03-02 09:10:00+00', CASE number WHEN 4 THEN 'scheduler' ELSE 'reconcile' END FROM generate_series(1, 5) AS number;
SELECT reason FROM yquota.suspect_container WHERE container_id ~ '^concluded';
INSERT INTO yquota.container_event (event, container_id, occurred_at, allocation, exit_status, source) VALUES
	('CONTAINER_UPDATE', 'concluded_1', '2026-03-02 09:20:00+00', '[vcores=2]', NULL, 'rm-1'),
	('CONTAINER_FINISH', 'concluded_1', '2026-03-02 09:30:00+00', NULL, 0, 'rm-1'),
	('CONTAINER_FINISH', 'concluded_3', '2026-03-02 09:05:00+00', NULL, 0, 'rm-1'),
	('CONTAINER_FINISH', 'concluded_4', '2026-03-02 09:12:00+00', NULL, 0, 'rm-1');
SELECT container_id, reason FROM yquota.suspect_container WHERE container_id ~ '^concluded' ORDER BY 1;
SELECT differing_ends FROM yquota.feed_status WHERE source = 'rm-1';
SELECT container_id, finished_at, exit_status, cost FROM yquota.container_cost WHERE container_id ~ '^concluded' ORDER BY 1;
CREATE VIEW list_with_concluded AS
SELECT jsonb_agg(jsonb_build_object('container_id', container_id)) AS list
FROM (SELECT container_id FROM yquota.container UNION VALUES ('concluded_2'), ('concluded_4')) AS runs;
SELECT reconciled.* FROM list_with_concluded, yquota.reconcile(list, '2026-03-02 10:00:00+00') AS reconciled WHERE container_id ~ '^concluded';
SELECT reconciled.* FROM list_with_concluded, yquota.reconcile(list, '2026-03-02 10:00:00+00', false) AS reconciled WHERE container_id ~ '^concluded';
SELECT reconciled.* FROM list_with_concluded, yquota.reconcile(list, '2026-03-02 10:00:00+00', false) AS reconciled WHERE container_id ~ '^concluded';
SELECT container_id, finished_at, exit_status, cost FROM yquota.container_cost WHERE container_id ~ '^concluded' ORDER BY 1;
SELECT container_id, reason FROM yquota.suspect_container WHERE container_id ~ '^concluded' ORDER BY 1;
SELECT * FROM yquota.verify();
-- a waiting container is restored as waiting, and a list may say that it waits or runs
SELECT action, container_id, occurred_at, detail FROM list_with_concluded, yquota.reconcile(list || '[{"container_id": "concluded_6", "project": "lab", "allocation": {"vcores": 1},
	"execution_type": "OPPORTUNISTIC", "started_at": "2026-03-02T09:00:00", "is_running": false}]', '2026-03-02 09:30:00+00', false) WHERE container_id ~ '^concluded';
SELECT action, container_id, occurred_at, detail FROM list_with_concluded, yquota.reconcile((SELECT jsonb_agg(CASE element ->> 'container_id' WHEN 'concluded_6' THEN element || '{"is_running": true}' ELSE element END)
	FROM jsonb_array_elements(list) AS element), '2026-03-02 09:40:00+00', false) WHERE container_id ~ '^concluded';
SELECT container_id, is_running, settled_at FROM yquota.container WHERE container_id = 'concluded_6';
SELECT * FROM yquota.reconcile('[{"container_id": "c1", "is_running": "sometimes"}]', '2026-03-02 10:00:00+00');
DROP VIEW list_with_concluded;

--
-- Two resource managers take turns. The time between their activity is forgiven, from the last
-- known sign of life of either manager.
--
CREATE DATABASE yquota_feed_pair;
\c yquota_feed_pair
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS yquota;
SET timezone = 'UTC';
SET datestyle = 'ISO';
SELECT yquota.set_clock('2026-03-02 10:00:00+00');
INSERT INTO yquota.project (name, quota_mode) VALUES ('lab', 'NOLIMIT');
CREATE ROLE yquota_pair;
SELECT yquota.allow_role('yquota_pair', 'operator');
SET ROLE yquota_pair;
-- with the first report of a feed nothing is forgiven, and the containers of its nodes are started
SELECT yquota.report_recovery('pair', NULL, '2026-03-02 08:00');
-- a bad container is set aside and not counted
BEGIN;
SET LOCAL yquota.on_bad_event = 'set_aside_quietly';
SELECT yquota.recover_containers('pair', '[{"container_id": "p0", "project": "lab", "allocation": {"vcores": 1}, "started_at": "2026-03-02T07:30:00Z"},
	{"container_id": "unpaid", "project": "nobody", "allocation": {"vcores": 1}, "started_at": "2026-03-02T07:30:00Z"},
	{"container_id": "queued", "project": "lab", "allocation": {"vcores": 1}, "execution_type": "OPPORTUNISTIC", "started_at": "2026-03-02T07:30:00Z", "is_running": false}]', '2026-03-02 08:00:05');
COMMIT;
SELECT container_id, reason FROM yquota.my_rejects;
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation, source) VALUES
	('CONTAINER_START', 'p1', '2026-03-02 08:10', 'lab', '[vcores=1]', 'pair'),
	('QUOTA_COMPUTE', NULL, '2026-03-02 08:20', NULL, NULL, 'pair'),
	('CONTAINER_START', 'p2', '2026-03-02 08:21', 'lab', '[vcores=1]', 'pair');
-- the second manager was last active a week ago, but the reports of the first one count
SELECT yquota.report_recovery('pair', '2026-02-23 08:00', '2026-03-02 08:30') IS NOT NULL AS is_forgiven;
SELECT yquota.recover_containers('pair', '[{"container_id": "p9", "project": "lab", "allocation": {"vcores": 1}, "started_at": "2026-03-02T08:00:00Z"}]', '2026-03-02 08:30:05');
INSERT INTO yquota.container_event (event, occurred_at, source) VALUES ('QUOTA_COMPUTE', '2026-03-02 08:40', 'pair');
-- the call is repeated, because its answer was lost
SELECT yquota.report_recovery('pair', '2026-02-23 08:00', '2026-03-02 08:30') IS NOT NULL AS is_known;
RESET ROLE;
SELECT started_at, ended_at, reason, reported_by = session_user AS is_reported FROM yquota.outage ORDER BY 1;
SELECT container_id, cost FROM yquota.container_cost ORDER BY 1;
SET ROLE yquota_pair;
-- the first manager still had events in its spool: containers, a sign of life, and an unreported
-- take-over
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation, source) VALUES
	('CONTAINER_START', 'p3', '2026-03-02 08:25', 'lab', '[vcores=1]', 'pair'),
	('QUOTA_COMPUTE', NULL, '2026-03-02 08:26', NULL, NULL, 'pair');
SELECT yquota.report_recovery('pair', '2026-03-02 08:26');
RESET ROLE;
SELECT started_at, ended_at FROM yquota.outage ORDER BY 1;
SELECT container_id, cost FROM yquota.container_cost ORDER BY 1;
SET ROLE yquota_pair;
-- Late take-overs are reported in any order: one by the first manager at 08:50, and then one by the
-- second at 08:45.
SELECT yquota.report_recovery('pair', '2026-03-02 08:26', '2026-03-02 08:50') IS NOT NULL AS is_forgiven;
INSERT INTO yquota.container_event (event, occurred_at, source) VALUES ('QUOTA_COMPUTE', '2026-03-02 09:00', 'pair');
SELECT yquota.report_recovery('pair', '2026-03-02 08:42', '2026-03-02 08:45') IS NOT NULL AS is_forgiven;
SELECT yquota.report_recovery('pair', '2026-03-02 08:48');
RESET ROLE;
SELECT started_at, ended_at FROM yquota.outage ORDER BY 1;
-- a change by an administrator is not undone
UPDATE yquota.outage SET started_at = '2026-03-02 08:49' WHERE ended_at = '2026-03-02 08:50';
SET ROLE yquota_pair;
-- Containers that did not survive end where the last outage began. Containers that were reported
-- since then, or arrived later, end when the list was made.
INSERT INTO yquota.container_event (event, container_id, occurred_at, queue, source) VALUES ('CONTAINER_UPDATE', 'p2', '2026-03-02 08:55', 'root.other', 'pair');
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation, source) VALUES ('CONTAINER_START', 'p4', '2026-03-02 08:52', 'lab', '[vcores=1]', 'pair');
SELECT action, container_id, occurred_at FROM yquota.reconcile('[{"container_id": "p3"}]', '2026-03-02 09:05', false, 'pair');
SELECT action, container_id, occurred_at FROM yquota.reconcile('[]', '2026-03-02 09:05', true);
SELECT action, container_id, occurred_at FROM yquota.reconcile('[]', '2026-03-02 09:05', true, 'another');
SELECT yquota.report_recovery(NULL, '2026-03-02 08:42', '2026-03-02 08:45');
SELECT yquota.report_recovery('pair', NULL, NULL);
SELECT yquota.report_recovery('pair', 'infinity', '2026-03-02 08:45');
SELECT yquota.report_recovery('pair', NULL, '-infinity');
-- the clock of the feed was set back
SELECT yquota.report_recovery('pair', '2026-03-02 09:30', '2026-03-02 09:20') IS NOT NULL AS is_forgiven;
SELECT yquota.recover_containers('pair', NULL, '2026-03-02 09:20');
RESET ROLE;
SELECT started_at, ended_at FROM yquota.outage ORDER BY 1;
SELECT container_id, cost FROM yquota.container_cost ORDER BY 1;
SELECT * FROM yquota.verify();
-- A sign of life in the far future does not forgive future time. A sign of 1970 stands for a missing
-- date, and does not forgive the whole past. A sign of life after the recovery does not count.
SELECT yquota.report_recovery('pair', '2026-03-02 09:50', '2026-03-02 10:05:00.000001');
SELECT yquota.report_recovery('pair', '2026-03-02 10:05:00.000001');
SELECT yquota.report_recovery('other', '1970-01-01', '2026-03-02 09:50');
SELECT yquota.report_recovery('pair', '2030-01-01', '2026-03-02 09:50') IS NOT NULL AS is_forgiven;
SELECT started_at, ended_at FROM yquota.outage WHERE ended_at > '2026-03-02 09:30' ORDER BY 1;
-- An administrator deletes the last outage. Containers that the list lacks then end with the list,
-- not where an earlier outage began.
DELETE FROM yquota.outage WHERE ended_at = '2026-03-02 09:50';
SELECT action, container_id, occurred_at FROM yquota.reconcile('[]', '2026-03-02 09:55', false, 'pair');
-- two feeds were away at the same time, and reports of one do not count for the other
SELECT yquota.report_recovery('other', '2026-03-02 09:56', '2026-03-02 09:58') <> yquota.report_recovery('third', '2026-03-02 09:56', '2026-03-02 09:58') AS is_own;
SELECT yquota.report_recovery('other', '2026-03-02 09:57');
SELECT started_at, ended_at FROM yquota.outage WHERE ended_at = '2026-03-02 09:58' ORDER BY 1;
-- a late sign of life in archived time changes nothing there, and does not prevent a recovery
SELECT yquota.set_clock('2026-03-02 11:00:00+00');
SELECT yquota.seal_history() IS NOT NULL AS sealed, yquota_internal.compact_counters() > 0 AS compacted, yquota_internal.correct_late_prices() AS corrected;
CREATE SCHEMA archive;
CREATE TABLE archive.charge (LIKE yquota.charge);
SELECT archived > 0 AS is_archived FROM yquota.archive('archive.charge', 'infinity');
SELECT yquota.set_clock('2026-03-02 12:00:00+00');
INSERT INTO yquota.container_event (event, occurred_at, source) VALUES ('QUOTA_COMPUTE', '2026-03-02 11:30', 'pair');
SELECT yquota.report_recovery('pair', '2026-03-02 08:43', '2026-03-02 11:40') IS NOT NULL AS is_forgiven;
SELECT yquota.report_recovery('pair', '2026-03-02 08:44');
SELECT started_at, ended_at FROM yquota.outage ORDER BY 1;
SELECT * FROM yquota.verify();
\c yquota_feed
SET client_min_messages = warning;
SET timezone = 'UTC';
SET datestyle = 'ISO';
SET intervalstyle = 'postgres';
DROP DATABASE yquota_feed_pair;
DROP ROLE yquota_pair;

--
-- Ghosts: containers that are far older than the rest of their application
--
SELECT yquota.set_clock('2026-03-04 12:00:00+00');
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, application_id, allocation)
SELECT 'CONTAINER_START', 'container_7_00000' || number, started_at::timestamptz, 'ops', application_id, '[vcores=1]'
FROM (VALUES
	(1, '2026-03-01 12:00:00+00', 'app_7'),		-- the master may be old
	(2, '2026-03-02 12:00:00+00', 'app_7'),		-- a ghost
	(3, '2026-03-04 11:00:00+00', 'app_7'),
	(4, '2026-03-04 11:59:00+00', 'app_7'),		-- young
	(5, '2026-03-02 12:00:00+00', 'app_8'),		-- all old together
	(6, '2026-03-02 12:00:00+00', 'app_8'),
	(7, '2026-03-02 12:00:00+00', 'app_9'),		-- alone
	(8, '2026-03-02 12:00:00+00', NULL),
	(9, '2026-03-04 11:59:00+00', NULL)) AS v (number, started_at, application_id);
SELECT container_id, reason FROM yquota.suspect_container ORDER BY container_id;
UPDATE yquota.node SET state = 'DECOMMISSIONED' WHERE name = 'n1';
SELECT container_id, reason FROM yquota.suspect_container ORDER BY container_id;
SELECT * FROM yquota.verify();

-- drivers declare parameters as text or varchar
PREPARE send (text, varchar, varchar, text) AS
	INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation, execution_type)
	VALUES ($1, $2, '2026-03-04 11:00:00+00', 'lab', $3, $4);
EXECUTE send('CONTAINER_START', 'container_9_000001', '{"vcores": 1, "memory-mb": "1Gi"}', 'GUARANTEED');
EXECUTE send('CONTAINER_START', 'container_9_000002', '[vcores=1', 'GUARANTEED');
EXECUTE send('CONTAINER_BEGINS', 'container_9_000003', '[vcores=1]', NULL);
SELECT container_id, allocation, execution_type FROM yquota.container WHERE container_id LIKE 'container_9_%';

\c postgres
DROP DATABASE yquota_feed;
DROP ROLE yquota_feeder;
