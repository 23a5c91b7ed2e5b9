--
-- Bills of closed periods: March is closed and then corrected, and the bill of April contains the
-- corrections. At the end history is archived. A vcore costs one credit per second.
--
CREATE DATABASE yquota_bill;
\c yquota_bill
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS yquota;
SET timezone = 'UTC';
SET datestyle = 'ISO';
\set SHOW_CONTEXT never
SELECT yquota.set_clock('2026-03-01 00:00+00');
INSERT INTO yquota.project (name, parent) VALUES ('lab', NULL), ('lab.ml', 'lab'), ('web', NULL);
-- a budget ends with its month, and the next budget begins at that instant
INSERT INTO yquota.budget (project, period, amount, starts_on) VALUES ('lab', 'month', 20000, '2026-03-01');
INSERT INTO yquota.quota_grant (project, amount, reason) VALUES ('lab', 5000, 'bought'), ('web', 1000, 'bought'), ('web', -100, '<i>taken back</i>');
INSERT INTO yquota.quota_grant (project, amount, reason, expires_at) VALUES ('lab', 300, 'prize', '2026-03-05 00:00+00');
SELECT yquota.set_clock('2026-03-10 12:00+00');
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, application_id, username, queue, allocation) VALUES
	('CONTAINER_START', 'c1', '2026-03-10 08:00+00', 'lab', 'app_1', 'ann', 'root.a', '[vcores=2]'), ('CONTAINER_FINISH', 'c1', '2026-03-10 09:00+00', NULL, NULL, NULL, NULL, NULL),
	('CONTAINER_START', 'c2', '2026-03-10 08:00+00', 'lab.ml', 'app_2', 'bob', 'root.b', '[vcores=1]'), ('CONTAINER_FINISH', 'c2', '2026-03-10 08:30+00', NULL, NULL, NULL, NULL, NULL),
	('CONTAINER_START', 'c3', '2026-03-10 08:00+00', 'lab', NULL, 'ann', NULL, '[vcores=1]'), ('CONTAINER_FINISH', 'c3', '2026-03-10 08:10+00', NULL, NULL, NULL, NULL, NULL),
	('CONTAINER_START', 'w1', '2026-03-10 08:00+00', 'web', 'app_3', 'cyd', 'root.a', '[vcores=1]'), ('CONTAINER_FINISH', 'w1', '2026-03-10 08:05+00', NULL, NULL, NULL, NULL, NULL);
-- a reservation that no container uses
SELECT yquota.set_clock('2026-03-20 07:00+00');
DELETE FROM yquota.resource_type WHERE name NOT IN ('memory-mb', 'vcores');
INSERT INTO yquota.queue (path, capacity, reservable, reservation_policy) VALUES
	('root', NULL, NULL, NULL), ('root.plan', '80', true, 'NoOverCommitPolicy'), ('root.a', '10', NULL, NULL), ('root.b', '10', NULL, NULL);
INSERT INTO yquota.node (name, total) VALUES ('n1', '[memory-mb=102400,vcores=100]');
INSERT INTO yquota.scheduler_setting (reservation_system_enable) VALUES (true);
INSERT INTO yquota.charging_rule (effective_at, reserved_factor) VALUES ('2026-03-20 07:00', 0.5);
SELECT accepted FROM yquota.submit_reservation('reservation_1_0001', 'root.plan', 'cyd', '{}', 'web', yquota.reservation_contract('2026-03-20 08:00', '2026-03-20 08:10',
	ARRAY[yquota.reservation_request('[vcores=1]', 1, interval '10 min', 1)], 'ALL', NULL));
SELECT yquota.set_clock('2026-03-31 23:00+00');
INSERT INTO yquota.container_event (event, container_id, project, application_id, username, queue, allocation) VALUES
	('CONTAINER_START', 'across', 'lab', 'app_1', 'ann', 'root.a', '[vcores=1]');
SELECT yquota.set_clock('2026-04-02 09:00+00');
INSERT INTO yquota.container_event (event, container_id, occurred_at) VALUES ('CONTAINER_FINISH', 'across', '2026-04-01 00:30+00');
SELECT yquota.quota_compute();

-- March, the first period
SELECT * FROM yquota.bill('lab', '2026-04-01');
SELECT settled, closed_at FROM yquota.close_period('2026-04-01');
SELECT line, item, subject, queue, username, application_id, corrected_period, corrected_bill, reason, amount, rounded FROM yquota.bill('lab', '2026-04-01', 'application');
SELECT line, item, subject, queue, username, application_id, corrected_period, corrected_bill, reason, amount, rounded FROM yquota.bill('lab.ml', '2026-04-01', 'application');
SELECT line, item, subject, queue, username, application_id, corrected_period, corrected_bill, reason, amount, rounded FROM yquota.bill('web', '2026-04-01', 'application');
CREATE TABLE issued AS SELECT project.name, period.ends_at, bill.* FROM yquota.project AS project, yquota.billing_period AS period, LATERAL yquota.bill(project.name, period.ends_at, 'user') AS bill;

-- Late facts: a container reported late, for which the expired prize grant would have paid, and a
-- container that never ran. Container c1 is in another queue from half past eight. April has a new
-- grant and a container.
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, application_id, username, queue, allocation) VALUES
	('CONTAINER_START', 'late', '2026-03-04 23:58+00', 'lab', 'app_4', 'ann', 'root.b', '[vcores=1]'), ('CONTAINER_FINISH', 'late', '2026-03-04 23:59+00', NULL, NULL, NULL, NULL, NULL),
	('CONTAINER_UPDATE', 'c1', '2026-03-10 08:30+00', NULL, NULL, NULL, 'root.b', NULL);
SELECT count(*) FROM yquota.void_events('w1', 'never ran');
INSERT INTO yquota.quota_grant (project, amount, reason) VALUES ('lab', 700, 'bought again');
SELECT yquota.set_clock('2026-04-20 12:00+00');
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, application_id, username, queue, allocation) VALUES
	('CONTAINER_START', 'c4', '2026-04-20 08:00+00', 'lab.ml', 'app_5', 'bob', 'root.b', '[vcores=1]'), ('CONTAINER_FINISH', 'c4', '2026-04-20 09:00+00', NULL, NULL, NULL, NULL, NULL);
SELECT yquota.set_clock('2026-05-02 09:00+00');
SELECT yquota.quota_compute();
SELECT count(*) AS differing FROM issued FULL JOIN yquota.bill('lab', '2026-04-01', 'user') AS bill USING (line) WHERE name = 'lab' AND (issued.item, issued.amount) IS DISTINCT FROM (bill.item, bill.amount);
SELECT settled, closed_at FROM yquota.close_period('2026-05-01');
SELECT line, item, subject, queue, username, application_id, corrected_period, corrected_bill, reason, amount, rounded FROM yquota.bill('lab', '2026-05-01', 'application');
SELECT line, item, subject, queue, username, application_id, corrected_period, corrected_bill, reason, amount, rounded FROM yquota.bill('lab.ml', '2026-05-01', 'application');
SELECT line, item, subject, queue, username, application_id, corrected_period, corrected_bill, reason, amount, rounded FROM yquota.bill('web', '2026-05-01', 'application');

-- corrections of March and April are on the bill of May
SELECT * FROM yquota.forgive('2026-04-20 08:30+00', '2026-04-20 08:45+00', 'switch replaced');
SELECT count(*) FROM yquota.void_events('late', 'never ran');
-- a third of a credit is shown as 0.33, and three thirds as 1
SELECT yquota.set_multiplier('GENERAL', 0.333333333, '2026-05-10 00:00+00', '2026-05-11 00:00+00');
SELECT yquota.set_clock('2026-06-02 09:00+00');
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, application_id, username, queue, allocation)
SELECT e.event, 'third ' || n, '2026-05-10 08:00+00'::timestamptz + e.after, 'web', 'app_' || n, 'cyd', 'root.a', '[vcores=1]'
FROM generate_series(1, 3) AS n, (VALUES ('CONTAINER_START'::yquota.container_event_type, interval '0'), ('CONTAINER_FINISH', '1 second')) AS e (event, after);
SELECT yquota.quota_compute();
SELECT settled, closed_at FROM yquota.close_period('2026-06-01');
SELECT line, item, subject, queue, username, application_id, corrected_period, corrected_bill, reason, amount, rounded FROM yquota.bill('lab', '2026-06-01', 'application');
SELECT line, item, subject, queue, username, application_id, corrected_period, corrected_bill, reason, amount, rounded FROM yquota.bill('web', '2026-06-01', 'application');
SELECT * FROM yquota.verify();

-- The items of a bill add up, exact and rounded. Each bill opens with the closing balance of the bill before, and
-- closes with the balance of its time.
CREATE VIEW bills AS SELECT project.name, period.ends_at, bill.* FROM yquota.project AS project, yquota.billing_period AS period, LATERAL yquota.bill(project.name, period.ends_at, 'user') AS bill;
CREATE TABLE before AS TABLE bills;
SELECT count(*) AS bills, count(*) FILTER (WHERE total = closing) AS that_add_up, count(*) FILTER (WHERE opening = coalesce(closed_with, 0)) AS that_follow
FROM (SELECT name, ends_at, sum(amount) FILTER (WHERE item <> 'closing balance') AS total, min(amount) FILTER (WHERE item = 'closing balance') AS closing,
			 min(amount) FILTER (WHERE item = 'opening balance') AS opening,
			 lag(min(amount) FILTER (WHERE item = 'closing balance')) OVER (PARTITION BY name ORDER BY ends_at) AS closed_with
	  FROM before GROUP BY name, ends_at) AS bill;
SELECT before.name, before.amount, balance.remaining, -- the budget of June begins at this instant
	before.amount + CASE before.name WHEN 'lab' THEN 20000 ELSE 0 END = balance.remaining AS agrees
FROM before, LATERAL yquota.balance_at(before.name, before.ends_at) AS balance WHERE ends_at = '2026-06-01' AND item = 'closing balance' ORDER BY name;
SELECT ends_at, - sum(amount) FILTER (WHERE item = 'charge') AS charged, (SELECT amount FROM yquota.closed_period WHERE until = ends_at) AS closed
FROM before WHERE name IN ('lab', 'web') GROUP BY ends_at ORDER BY ends_at;
SELECT count(*) AS differing FROM (TABLE issued EXCEPT ALL TABLE before) AS changed;

-- on the page the rounded amounts also add up, and each page opens with the closing balance of the
-- page before
CREATE VIEW pages AS SELECT project.name, period.ends_at, yquota.bill_html(project.name, period.ends_at) AS page FROM yquota.project AS project, yquota.billing_period AS period;
CREATE TABLE pages_before AS TABLE pages;
CREATE VIEW shown AS SELECT name, ends_at, line.number, line.cell[1] AS item, replace(line.cell[2], ',', '')::numeric AS amount
	FROM pages_before, LATERAL regexp_matches(page, '<tr[^>]*><td>([^<]*)</td>(?:<td>[^<]*</td>){4}<td>(?:<span class="negative">)?([-0-9.,]+)(?:</span>)?</td></tr>', 'g') WITH ORDINALITY AS line (cell, number);
SELECT item, amount FROM shown WHERE name = 'web' AND ends_at = '2026-06-01' ORDER BY number;
SELECT item, amount FROM shown WHERE name = 'lab' AND ends_at = '2026-05-01' ORDER BY number;
SELECT count(*) AS pages, count(*) FILTER (WHERE total = closing) AS that_add_up, count(*) FILTER (WHERE opening = coalesce(closed_with, 0)) AS that_follow
FROM (SELECT name, ends_at, sum(amount) FILTER (WHERE item <> 'Closing balance') AS total, min(amount) FILTER (WHERE item = 'Closing balance') AS closing,
			 min(amount) FILTER (WHERE item = 'Opening balance') AS opening,
			 lag(min(amount) FILTER (WHERE item = 'Closing balance')) OVER (PARTITION BY name ORDER BY ends_at) AS closed_with
	  FROM shown GROUP BY name, ends_at) AS page;
SELECT (SELECT count(*) FROM shown) - (SELECT count(DISTINCT (name, ends_at, item, reason, corrected_period, subject, queue)) FROM before) AS rows_missing;
SELECT substring(page FROM '<title>(.*)</title>'), substring(page FROM '<dl.*</dl>') FROM pages_before WHERE name = 'web' AND ends_at = '2026-04-01';

-- the bills do not change when history leaves
SELECT yquota.seal_history();
SELECT yquota.quota_compute();
CREATE SCHEMA archive;
CREATE TABLE archive.charge (LIKE yquota.charge);
CREATE TABLE archive.container_event (LIKE yquota.container_event);
SELECT archived FROM yquota.archive('archive.charge', 'infinity');
SELECT archived FROM yquota.archive('archive.container_event', 'infinity');
SELECT count(*) FROM yquota.charge;
SELECT count(*) AS differing FROM ((TABLE before EXCEPT ALL TABLE bills) UNION ALL (TABLE bills EXCEPT ALL TABLE before)) AS changed;
SELECT count(*) AS differing FROM pages FULL JOIN pages_before USING (name, ends_at, page) WHERE pages IS NULL OR pages_before IS NULL;
SELECT * FROM yquota.verify();

-- members get the bills of their projects, viewers get all bills, and other roles get none
SET client_min_messages = error;
CREATE ROLE yquota_bill_member;
CREATE ROLE yquota_bill_viewer;
CREATE ROLE yquota_bill_nobody;
SELECT yquota.allow_role('yquota_bill_member', 'member', 'lab.ml');
SELECT yquota.allow_role('yquota_bill_viewer', 'viewer');
GRANT SELECT ON before TO yquota_bill_viewer;
SET ROLE yquota_bill_member;
SELECT count(*) AS rows, min(amount) FILTER (WHERE item = 'closing balance') AS closing FROM yquota.bill('lab.ml', '2026-05-01');
SELECT * FROM yquota.bill('lab', '2026-05-01');
SELECT length(yquota.bill_html('lab.ml', '2026-05-01')) > 0 AS has_page, yquota.bill_html('lab', '2026-05-01');
SET ROLE yquota_bill_viewer;
SELECT count(*) AS differing FROM yquota.bill('lab', '2026-05-01', 'user') AS bill FULL JOIN (SELECT * FROM public.before WHERE name = 'lab' AND ends_at = '2026-05-01') AS before USING (line, amount) WHERE bill.item IS NULL OR before.item IS NULL;
SET ROLE yquota_bill_nobody;
SELECT * FROM yquota.bill('lab', '2026-05-01');
RESET ROLE;
SELECT yquota.disallow_role('yquota_bill_member', 'member', 'lab.ml');
SELECT yquota.disallow_role('yquota_bill_viewer', 'viewer');
DROP OWNED BY yquota_bill_viewer;
DROP ROLE yquota_bill_member, yquota_bill_viewer, yquota_bill_nobody;
RESET client_min_messages;

-- bad input
SELECT * FROM yquota.bill(NULL, '2026-05-01');
SELECT * FROM yquota.bill('lab', NULL);
SELECT * FROM yquota.bill('lab', '2026-05-02');
SELECT * FROM yquota.bill('none', '2026-05-01');
-- the project is checked before the period
SELECT * FROM yquota.bill('none', '2026-05-02');
SELECT * FROM yquota.bill_by_calendar('none', '2026-05-02');
SELECT yquota.bill_html('none', '2026-05-02');
SELECT * FROM yquota.bill('lab', '2026-05-01', 'node');
SELECT * FROM yquota.bill('lab', '2026-05-01', NULL);
SELECT yquota.bill_html('lab', NULL);
SELECT yquota.bill_html('lab', '2026-05-02');
UPDATE yquota_internal.billed_credit SET lost = 0;
DELETE FROM yquota_internal.billed_credit;

\c postgres
DROP DATABASE yquota_bill;
