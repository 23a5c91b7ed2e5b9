--
-- Members ask whether an application would start. They ask as themselves, for projects that they see.
--
SET client_min_messages = warning;
CREATE DATABASE yquota_dry_run;
\c yquota_dry_run
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS yquota;
SET timezone = 'UTC';
\set SHOW_CONTEXT never
SELECT yquota.set_clock('2026-03-02 10:00+00');
INSERT INTO yquota.scheduler_setting (acl_enable) VALUES (true);
BEGIN;
INSERT INTO yquota.queue (path, capacity, acl_submit_applications, acl_administer_queue, maximum_applications) VALUES
	('root', NULL, ' ', ' ', NULL), ('root.open', '60', '*', ' ', NULL), ('root.staff', '20', ' yquota_dry_staff', ' ', NULL), ('root.full', '20', '*', ' ', 1);
COMMIT;
INSERT INTO yquota.node (name, total) VALUES ('n1', '[memory-mb=100000,vcores=100]');
INSERT INTO yquota.project (name, quota_mode) VALUES ('lab', 'PREPAID'), ('secret', 'PREPAID');
INSERT INTO yquota.project (name, quota_mode, parent) VALUES ('child', 'NOLIMIT', 'lab');
INSERT INTO yquota.quota_grant (project, amount, reason) VALUES ('lab', 5000, 'test'), ('secret', 77777, 'test');
CREATE ROLE yquota_dry_staff;
CREATE ROLE yquota_dry_member IN ROLE yquota_dry_staff;
CREATE ROLE yquota_dry_viewer;
CREATE ROLE yquota_dry_operator;
CREATE ROLE yquota_dry_admin;
CREATE ROLE yquota_dry_nobody;
SELECT yquota.allow_role('yquota_dry_member', 'member', 'lab'), yquota.allow_role('yquota_dry_viewer', 'viewer'),
	   yquota.allow_role('yquota_dry_operator', 'operator'), yquota.allow_role('yquota_dry_admin', 'admin');
INSERT INTO yquota.price_factor (dimension, name, factor) VALUES ('application', 'application_1_0077', 7);
SELECT application_id, state FROM yquota.submit_application('application_1_0001', 'mallory', '{}', 'root.full', project => 'secret');

-- the answer is that of the resource manager
SET ROLE yquota_dry_member;
CREATE TEMPORARY TABLE asked AS
SELECT ask.number, answer.*
FROM (VALUES (1, 'root.open', 'lab'), (2, 'root.open', 'child'), (3, 'root.open', NULL), (4, 'root.staff', 'lab'), (5, 'root.full', 'lab'), (6, 'root.nowhere', 'lab')) AS ask (number, queue, project)
CROSS JOIN LATERAL yquota.submit_application('application_1_0002', 'yquota_dry_member', NULL, ask.queue, project => ask.project, lifetime => 60,
	expected => ARRAY[('*', '[vcores=10]', 2, NULL, NULL, NULL, NULL, NULL, NULL)::yquota.container_request], hold => 'quote', dry_run => true) AS answer;
SELECT number, queue, state, activated, decided_by, decided_at, used, maximum, quoted_cost, held, available FROM asked ORDER BY number;
-- credit is too little
SELECT decided_by, decided_at, quoted_cost, available, fitting_lifetime
FROM yquota.submit_application('application_1_0002', 'yquota_dry_member', '{yquota_dry_staff}', 'root.open', project => 'lab', lifetime => 3600,
	expected => ARRAY[('*', '[vcores=10]', 2, NULL, NULL, NULL, NULL, NULL, NULL)::yquota.container_request], hold => 'quote', dry_run => true);
-- fewer groups than the role has
SELECT queue, state, decided_by FROM yquota.submit_application('application_1_0002', 'yquota_dry_member', '{}', 'root.staff', project => 'lab', dry_run => true);
SET ROLE yquota_dry_operator;
CREATE TEMPORARY TABLE answered AS
SELECT ask.number, answer.*
FROM (VALUES (1, 'root.open', 'lab'), (2, 'root.open', 'child'), (3, 'root.open', NULL), (4, 'root.staff', 'lab'), (5, 'root.full', 'lab'), (6, 'root.nowhere', 'lab')) AS ask (number, queue, project)
CROSS JOIN LATERAL yquota.submit_application('application_1_0002', 'yquota_dry_member', '{yquota_dry_staff}', ask.queue, project => ask.project, lifetime => 60,
	expected => ARRAY[('*', '[vcores=10]', 2, NULL, NULL, NULL, NULL, NULL, NULL)::yquota.container_request], hold => 'quote', dry_run => true) AS answer;
RESET ROLE;
SELECT count(*) AS equal FROM (SELECT a::text FROM asked AS a INTERSECT SELECT a::text FROM answered AS a) AS both_say;
SELECT application_id FROM yquota.application;
SELECT count(*) AS holds FROM yquota.hold;

-- everything else is refused
SET ROLE yquota_dry_member;
\set VERBOSITY sqlstate
SELECT * FROM yquota.submit_application('application_1_0002', 'yquota_dry_member', NULL, 'root.open', project => 'lab');
\set VERBOSITY default
SELECT * FROM yquota.submit_application('application_1_0002', 'yquota_dry_member', NULL, 'root.open', project => 'lab');
SELECT * FROM yquota.submit_application('application_1_0002', 'mallory', NULL, 'root.open', project => 'lab', dry_run => true);
SELECT * FROM yquota.submit_application('application_1_0002', 'yquota_dry_member', NULL, 'root.open', project => 'lab', real_username => 'mallory', dry_run => true);
SELECT * FROM yquota.submit_application('application_1_0002', 'yquota_dry_member', '{yquota_dry_staff,yquota_dry_operator}', 'root.open', project => 'lab', dry_run => true);
SELECT * FROM yquota.submit_application('application_1_0002', 'yquota_dry_member', '{NULL}', 'root.open', project => 'lab', dry_run => true);
SELECT * FROM yquota.submit_application('application_1_0002', 'yquota_dry_member', NULL, 'root.open', project => 'secret', dry_run => true);
SELECT * FROM yquota.submit_application('application_1_0002', 'yquota_dry_member', NULL, 'root.open', project => 'no such project', dry_run => true);
SELECT * FROM yquota.submit_application('application_1_0001', 'yquota_dry_member', NULL, 'root.open', project => 'lab', dry_run => true);
SELECT * FROM yquota.submit_application('application_1_0077', 'yquota_dry_member', NULL, 'root.open', project => 'lab', dry_run => true);
SELECT * FROM yquota.submit_application('application_1_0002', 'yquota_dry_member', NULL, 'root.open', project => 'lab', dry_run => NULL);
SELECT * FROM yquota.submit_application('application_1_0002', NULL, NULL, 'root.open', project => 'lab', dry_run => true);
SELECT * FROM yquota.move_application('application_1_0001', 'root.open');
-- a viewer asks as itself, too, for any project
SET ROLE yquota_dry_viewer;
SELECT state FROM yquota.submit_application('application_1_0002', 'yquota_dry_viewer', NULL, 'root.open', project => 'secret', dry_run => true);
SELECT * FROM yquota.submit_application('application_1_0002', 'yquota_dry_member', NULL, 'root.open', project => 'secret', dry_run => true);
SELECT * FROM yquota.submit_application('application_1_0002', 'yquota_dry_viewer', NULL, 'root.open', project => 'secret');
SET ROLE yquota_dry_nobody;
SELECT * FROM yquota.submit_application('application_1_0002', 'yquota_dry_nobody', NULL, dry_run => true);
-- administrators and operators submit, also through a function of their own that others call
SET ROLE yquota_dry_admin;
SELECT state FROM yquota.submit_application('application_1_0003', 'ann', '{}', 'root.open', project => 'lab');
RESET ROLE;
CREATE FUNCTION submit(id text) RETURNS yquota.application_state LANGUAGE sql SECURITY DEFINER
	RETURN (SELECT s.state FROM yquota.submit_application(id, 'ann', '{}', 'root.open', project => 'lab') AS s);
ALTER FUNCTION submit(text) OWNER TO yquota_dry_operator;
SET ROLE yquota_dry_member;
SELECT submit('application_1_0004');
RESET ROLE;
SELECT application_id, username, state FROM yquota.application ORDER BY 1;

\c postgres
DROP DATABASE yquota_dry_run;
DROP ROLE yquota_dry_member, yquota_dry_staff, yquota_dry_viewer, yquota_dry_operator, yquota_dry_admin, yquota_dry_nobody;
