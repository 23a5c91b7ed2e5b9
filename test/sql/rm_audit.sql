--
-- The ResourceManager's audit log as events: layouts of lines, clocks that are set back, timestamps
-- without a year, repeated imports, and files.
--
CREATE DATABASE yquota_rm_audit;
\c yquota_rm_audit
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS yquota;
SET timezone = 'UTC';
SET datestyle = 'ISO';
SET intervalstyle = 'postgres';
\set SHOW_CONTEXT never
SELECT yquota.set_clock('2026-03-02 12:00:00+00');
INSERT INTO yquota.project (name) VALUES ('lab'), ('ops'), ('ann');

-- a line of the log, as log4j and RMAuditLogger write it
CREATE FUNCTION line(at text, operation text, container text, rest text DEFAULT E'\tRESOURCE=<memory:1024, vCores:1>\tQUEUENAME=root.ops',
					 username text DEFAULT 'lab__ann') RETURNS text
	LANGUAGE sql RETURN format(E'%s INFO resourcemanager.RMAuditLogger: USER=%s\tIP=10.0.0.7\tOPERATION=%s\tTARGET=SchedulerApp\tRESULT=SUCCESS\tAPPID=application_1770000000000_0001\tCONTAINERID=container_1770000000000_0001_01_%s%s',
							   at, username, operation, container, rest);
\set log `printf '%s\n' "2026-03-02 09:59:59,000 INFO org.apache.hadoop.yarn.server.resourcemanager.RMAuditLogger: USER=lab__ann	IP=10.0.0.7	OPERATION=Submit Application Request	TARGET=ClientRMService	RESULT=SUCCESS	APPID=application_1770000000000_0001	QUEUENAME=root.ops" "2026-03-02 10:00:00,125 INFO org.apache.hadoop.yarn.server.resourcemanager.RMAuditLogger: USER=lab__ann	OPERATION=AM Allocated Container	TARGET=SchedulerApp	RESULT=SUCCESS	APPID=application_1770000000000_0001	CONTAINERID=container_1770000000000_0001_01_000001	RESOURCE=<memory:2048, vCores:1>	QUEUENAME=root.ops" "" "java.io.IOException: Connection reset by peer" "2026-03-02 10:00:01,000 INFO org.apache.hadoop.yarn.server.resourcemanager.RMAuditLogger: USER=lab__ann	OPERATION=AM Allocated Container	TARGET=SchedulerApp	RESULT=SUCCESS	APPID=application_1770000000000_0001	CONTAINERID=container_1770000000000_0001_01_000002	RESOURCE=<memory:1024, vCores:4, yarn.io/gpu: 1>	QUEUENAME=root.ops" "2026-03-02 10:10:01,000 INFO org.apache.hadoop.yarn.server.resourcemanager.RMAuditLogger: USER=lab__ann	OPERATION=AM Released Container	TARGET=SchedulerApp	RESULT=SUCCESS	APPID=application_1770000000000_0001	CONTAINERID=container_1770000000000_0001_01_000002	RESOURCE=<memory:1024, vCores:4, yarn.io/gpu: 1>	QUEUENAME=root.ops" "2026-03-02 10:10:02,000 WARN org.apache.hadoop.yarn.server.resourcemanager.RMAuditLogger: USER=lab__ann	OPERATION=AM Released Container	TARGET=Scheduler	RESULT=FAILURE	DESCRIPTION=Trying to release container not owned by app or with invalid id.	PERMISSIONS=Unauthorized access or invalid container	APPID=application_1770000000000_0001	CONTAINERID=container_1770000000000_0001_01_000001"`
SELECT * FROM yquota.import_rm_audit(:'log');
SELECT event, container_id, occurred_at, project, username, queue, allocation, source FROM yquota.container_event ORDER BY occurred_at;
SELECT container_id, amount FROM yquota.charge;
-- the log is imported again, with some new lines, and known lines are not even sent as events
SELECT * FROM yquota.import_rm_audit(:'log');
SELECT * FROM yquota.import_rm_audit(:'log' || E'\n' || line('2026-03-02 10:20:00,125', 'AM Released Container', '000001'));
SELECT * FROM yquota.import_rm_audit(line('2026-03-02 10:20:00,125', 'AM Released Container', '000001') || E'\r\n' || line('2026-03-02 10:20:00,125', 'AM Released Container', '000001'));
SELECT container_id, amount FROM yquota.charge ORDER BY container_id;
SELECT count(*) FROM yquota.container_event;

-- Layouts: each means ten o'clock in Berlin, except the last ones, which are not timestamps.
CREATE TABLE layout (number integer GENERATED ALWAYS AS IDENTITY, at text);
INSERT INTO layout (at) VALUES
	('2026-03-01 10:00:00,000'), ('2026-03-01 10:00:00.000'), ('2026-03-01T10:00:00,000'), ('26/03/01 10:00:00'), ('2026/03/01 10:00:00'),
	('01 Mar 2026 10:00:00,000'), ('1 Mar 2026 10:00:00,000'), ('03-01 10:00:00,000'), ('03/01 10:00:00'), ('Mar 01 10:00:00'), ('Mar  1 10:00:00'),
	('2026-03-01T09:00:00,000Z'), ('2026-03-01 04:00:00,000-0500'), ('2026-03-01T14:30:00.000+05:30'),
	('10:00:00,000'), ('2026-02-30 10:00:00'), ('13/13 10:00:00'), ('Foo 01 10:00:00'), ('2026-03-01 25:00:00'), ('');
SELECT at, (yquota.import_rm_audit(line(at, 'AM Allocated Container', 'a' || number), timezone => 'Europe/Berlin')).last_at FROM layout ORDER BY number;
-- spaces instead of tabs, and a value that looks like a field
SELECT * FROM yquota.import_rm_audit(replace(line('2026-03-01 10:00:00,000', 'AM Allocated Container', 'spaces'), E'\t', '    '));
SELECT * FROM yquota.import_rm_audit(line('2026-03-01 10:00:00,000', 'AM Allocated Container', 'caller',
	E'\tRESOURCE=<memory:1024, vCores:1>\tQUEUENAME=root.ops\tCALLERCONTEXT=x RESOURCE=<memory:1, vCores:1>\tCONTAINERID=other'));
SELECT container_id, allocation FROM yquota.container WHERE container_id ~ 'spaces|caller|other';

-- Clocks are set back at three o'clock, so half past two occurs twice, and the first one comes
-- first.
SELECT * FROM yquota.import_rm_audit(concat_ws(E'\n',
	line('2025-10-26 01:50:00,000', 'AM Allocated Container', 'b1'), line('2025-10-26 02:30:00,000', 'AM Allocated Container', 'b2'),
	line('2025-10-26 02:59:59,900', 'AM Allocated Container', 'b3'), line('2025-10-26 02:59:59,800', 'AM Allocated Container', 'b4'),
	line('2025-10-26 02:10:00,000', 'AM Released Container', 'b2'), line('2025-10-26 02:10:00,000', 'AM Released Container', 'b3'),
	line('2025-10-26 03:10:00,000', 'AM Released Container', 'b1')), timezone => 'Europe/Berlin');
SELECT right(container_id, 2) AS container, "from", "to", amount FROM yquota.charge WHERE container_id ~ '_b' ORDER BY container_id;
-- this part of the log begins within that hour, and continues another part
SELECT last_at FROM yquota.import_rm_audit(line('2025-10-26 02:15:00,000', 'AM Released Container', 'b4'), 'Europe/Berlin', after => '2025-10-26 01:10+00');
-- when clocks go forward, half past two does not exist
SELECT last_at FROM yquota.import_rm_audit(line('2025-03-30 02:30:00,000', 'AM Allocated Container', 'c1'), 'Europe/Berlin');

-- timestamps without a year: across New Year, slightly out of order, in the given year
SELECT * FROM yquota.import_rm_audit(concat_ws(E'\n',
	line('12-31 23:50:00,000', 'AM Allocated Container', 'd1'), line('01-01 00:00:00,001', 'AM Allocated Container', 'd2'),
	line('12-31 23:59:59,999', 'AM Allocated Container', 'd3'), line('01-01 00:10:00,000', 'AM Released Container', 'd1'),
	line('01-01 00:10:00,000', 'AM Released Container', 'd2'), line('01-01 00:10:00,000', 'AM Released Container', 'd3')), year => 2024);
SELECT right(container_id, 2) AS container, "from", "to" FROM yquota.charge WHERE container_id ~ '_d' ORDER BY container_id;
SELECT last_at FROM yquota.import_rm_audit(line('12-31 23:50:00,000', 'AM Allocated Container', 'd4'));
SELECT last_at FROM yquota.import_rm_audit(line('02-28 23:50:00,000', 'AM Allocated Container', 'd5'));
SELECT last_at FROM yquota.import_rm_audit(line('01-01 00:10:00,000', 'AM Released Container', 'd4'), after => '2025-12-31 23:50+00');

-- the paying project
SELECT * FROM yquota.import_rm_audit(line('2026-03-01 11:00:00,000', 'AM Allocated Container', 'e1', username => 'ann'), project => 'lab');
SELECT * FROM yquota.import_rm_audit(line('2026-03-01 11:00:00,000', 'AM Allocated Container', 'e2', username => 'ann'), project_from => 'username');
SELECT * FROM yquota.import_rm_audit(line('2026-03-01 11:00:00,000', 'AM Allocated Container', 'e3', username => 'ann'), project_from => 'queue');
SELECT right(container_id, 2) AS container, project, username FROM yquota.container WHERE container_id ~ '_e' ORDER BY container_id;

-- A refused line is set aside, and is known from then on. The lines have an unknown project, no
-- allocation (Hadoop 2), a bad allocation, and an end without a start.
SELECT * FROM yquota.import_rm_audit(concat_ws(E'\n', line('2026-03-01 11:00:00,000', 'AM Allocated Container', 'f1', username => 'x__ann'),
	line('2026-03-01 11:00:00,000', 'AM Allocated Container', 'f2', ''), line('2026-03-01 11:00:00,000', 'AM Allocated Container', 'f3', E'\tRESOURCE=<many>'),
	line('2026-03-01 11:30:00,000', 'AM Released Container', 'f4'), line('2026-03-01 11:00:00,000', 'AM Allocated Container', 'f5')), source => 'rm-1');
SELECT right(container_id, 2) AS container, event, waiting, sqlstate, reason FROM yquota.event_reject ORDER BY container_id;
SELECT * FROM yquota.import_rm_audit(concat_ws(E'\n', line('2026-03-01 11:00:00,000', 'AM Allocated Container', 'f1', username => 'x__ann'),
	line('2026-03-01 11:30:00,000', 'AM Released Container', 'f4')), source => 'rm-1');
INSERT INTO yquota.project (name) VALUES ('x');
SELECT * FROM yquota.retry_rejects('rm-1');
-- the missing start of f4 is imported
SELECT * FROM yquota.import_rm_audit(line('2026-03-01 11:00:00,000', 'AM Allocated Container', 'f4'), source => 'rm-1');
SELECT "from", "to" FROM yquota.charge WHERE container_id ~ '_f4';

--
-- Containers without an end in the log, and rows that are not containers. Such rows are temporary
-- containers of an increase (2 grows by 3), and of a decrease or a demotion (4). Container 5
-- belongs to an application that ends. It was demoted, or ended while the ResourceManager was down.
--
CREATE FUNCTION life(from_at text, to_at text) RETURNS text LANGUAGE sql RETURN (
	SELECT replace(string_agg(line(at, operation, container, coalesce(format(E'\tRESOURCE=%s\tQUEUENAME=root.ops', resource), '')), E'\n' ORDER BY at), '000_0001', '000_0002')
	FROM (VALUES
		('2026-03-01 08:00:00,000', 'AM Allocated Container', '000001', '<memory:1024, vCores:1>'),
		('2026-03-01 08:00:01,000', 'AM Allocated Container', '000002', '<memory:1024, vCores:1>'),
		('2026-03-01 08:10:00,000', 'AM Allocated Container', '000003', '<memory:1024, vCores:0>'),
		('2026-03-01 08:10:01,000', 'AM Released Container', '000003', '<memory:0, vCores:0>'),
		('2026-03-01 08:15:00,000', 'AM Released Container', '000004', '<memory:1024, vCores:1>'),
		('2026-03-01 08:20:00,000', 'AM Allocated Container', '000005', '<memory:1024, vCores:1>'),
		('2026-03-01 08:40:00,000', 'AM Released Container', '000002', '<memory:2048, vCores:1>'),
		('2026-03-01 08:50:00,000', 'AM Released Container', '000001', '<memory:1024, vCores:1>'),
		('2026-03-01 08:50:00,010', 'Application Finished - Succeeded', 'none', NULL)) AS l (at, operation, container, resource)
	WHERE at BETWEEN from_at AND to_at);
CREATE VIEW outcome AS
	SELECT right(container_id, 6) AS container, "from", "to", amount FROM yquota_internal.charge_in_effect WHERE container_id ~ '000_0002'
	UNION ALL SELECT right(container_id, 6), started_at, NULL, NULL FROM yquota.container WHERE container_id ~ '000_0002';
BEGIN;
SELECT * FROM yquota.import_rm_audit(life('2026', '2027'));
SELECT * FROM outcome ORDER BY 1;
SELECT right(container_id, 6) AS container, reason FROM yquota.suspect_container;
SELECT count(*) FROM yquota.event_reject WHERE waiting;
SELECT * FROM yquota.import_rm_audit(life('2026', '2027'));
SELECT * FROM yquota.verify();
-- an end that is found later, and an end that comes after the assumed one
SELECT finishes FROM yquota.import_rm_audit(replace(line('2026-03-01 08:45:00,000', 'AM Released Container', '000005') || E'\n'
	|| line('2026-03-01 08:50:00,020', 'AM Released Container', '000002'), '000_0001', '000_0002'));
SELECT * FROM outcome ORDER BY 1;
SELECT right(container_id, 6) AS container, reason FROM yquota.suspect_container;
SELECT * FROM yquota.verify();
ROLLBACK;
-- The log is imported in parts. A row that was first taken for a container is voided, and is known
-- from then on.
SELECT * FROM yquota.import_rm_audit(life('2026', '2026-03-01 08:10:00,500'));
SELECT * FROM outcome ORDER BY 1;
SELECT * FROM yquota.import_rm_audit(life('2026-03-01 08:10:00,500', '2026-03-01 08:30'));
SELECT * FROM yquota.import_rm_audit(life('2026', '2026-03-01 08:10:00,500'));
SELECT * FROM yquota.import_rm_audit(life('2026-03-01 08:30', '2027'));
SELECT * FROM outcome ORDER BY 1;
SELECT yquota.seal_history() IS NOT NULL AS sealed;
SELECT count(*) FROM yquota.suspect_container;
SELECT * FROM yquota.verify();

-- errors
SELECT * FROM yquota.import_rm_audit(NULL);
SELECT * FROM yquota.import_rm_audit('x', project_from => 'moon');
SELECT * FROM yquota.import_rm_audit('x', timezone => 'Moon/Tranquility');
SELECT * FROM yquota.import_rm_audit('x', year => 99);
SELECT * FROM yquota.import_rm_audit('');
SELECT * FROM yquota.import_rm_audit_file(NULL);
SELECT * FROM yquota.import_rm_audit_file('no such file');

--
-- Files: longer than a single read, with invalid bytes, and with an incomplete last line
--
SELECT lo_from_bytea(4711, convert_to((
	SELECT string_agg(line(to_char(timestamp '2026-01-05' + i * interval '1 s', 'YYYY-MM-DD HH24:MI:SS,MS'),
						   CASE i % 2 WHEN 0 THEN 'AM Allocated Container' ELSE 'AM Released Container' END, 'g' || i / 2, username => 'lab__jörg') || E'\n', '' ORDER BY i)
	FROM generate_series(0, 999) AS i), 'UTF8')
	|| '\x00ff'::bytea || convert_to(repeat('x', 1500000) || E'\n' || line('2026-01-06 00:00:00,000', 'AM Allocated Container', 'h') || E'\n'
	|| line('2026-01-06 00:00:01,000', 'AM Released Container', 'h'), 'UTF8'));
SELECT lo_export(4711, 'yquota_rm_audit.log');
SELECT * FROM yquota.import_rm_audit_file('yquota_rm_audit.log');
SELECT count(*), count(DISTINCT container_id), min("from"), max("to"), sum(amount), min(username) = 'jörg' AS is_jörg FROM yquota.charge WHERE container_id ~ '_g';
SELECT container_id, started_at FROM yquota.container WHERE container_id ~ '_h';
SELECT * FROM yquota.import_rm_audit_file('yquota_rm_audit.log');
-- a role that may feed cannot read files in this way
CREATE ROLE yquota_rm_audit_feed;
SELECT yquota.allow_role('yquota_rm_audit_feed', 'operator');
SET ROLE yquota_rm_audit_feed;
SELECT * FROM yquota.import_rm_audit_file('yquota_rm_audit.log');
SELECT lines, duplicates FROM yquota.import_rm_audit(:'log');
RESET ROLE;
GRANT EXECUTE ON FUNCTION pg_read_binary_file(text, bigint, bigint) TO yquota_rm_audit_feed;
SET ROLE yquota_rm_audit_feed;
SELECT duplicates FROM yquota.import_rm_audit_file('yquota_rm_audit.log');
SELECT * FROM yquota.import_rm_audit_file('/etc/hostname');
RESET ROLE;
COPY (SELECT) TO PROGRAM 'cat && rm yquota_rm_audit.log';
SELECT * FROM yquota.verify();

-- while charging is deferred, the books do not have the deferred events
SET yquota.charging = deferred;
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES ('CONTAINER_START', 'kept', '2026-03-02 11:00', 'lab', '[vcores=1]');
SELECT * FROM yquota.import_rm_audit(:'log');
\c postgres
DROP DATABASE yquota_rm_audit;
DROP ROLE yquota_rm_audit_feed;
