--
-- Bills that are issued: their numbers, addressees and currencies, and their rounded amounts. A vcore costs one
-- credit per second. The currency changes from 700 to 900 credits per euro, and then to yen without decimals.
--
CREATE DATABASE yquota_issued_bill;
\c yquota_issued_bill
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS yquota;
SET timezone = 'UTC';
SET datestyle = 'ISO';
\set SHOW_CONTEXT never
SELECT yquota.set_clock('2026-03-01 00:00+00');
INSERT INTO yquota.billing_currency (effective_at, code, symbol, credits_per_unit) VALUES ('-infinity', 'EUR', 'E', 700);
INSERT INTO yquota.project (name, parent, billing_contact) VALUES ('lab', NULL, 'Ann Lee'), ('lab.ml', 'lab', NULL);
INSERT INTO yquota.budget (project, period, amount, starts_on) VALUES ('lab', 'month', 20000, '2026-03-01');
INSERT INTO yquota.quota_grant (project, amount, reason) VALUES ('lab', 5000, 'invoice 1');
SELECT yquota.set_clock('2026-04-02 09:00+00');
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, application_id, username, queue, allocation) VALUES
	('CONTAINER_START', 'c1', '2026-03-10 08:00+00', 'lab', 'app_1', 'ann', 'root.a', '[vcores=2]'), ('CONTAINER_FINISH', 'c1', '2026-03-10 09:00+00', NULL, NULL, NULL, NULL, NULL),
	('CONTAINER_START', 'c2', '2026-03-10 08:00+00', 'lab.ml', 'app_2', 'bob', 'root.b', '[vcores=1]'), ('CONTAINER_FINISH', 'c2', '2026-03-10 08:30+00', NULL, NULL, NULL, NULL, NULL),
	('CONTAINER_START', 'c3', '2026-03-31 23:00+00', 'lab', 'app_3', 'ann', 'root.a', '[vcores=1]'), ('CONTAINER_FINISH', 'c3', '2026-04-01 00:30+00', NULL, NULL, NULL, NULL, NULL);
SELECT yquota.quota_compute();
SELECT closed_at FROM yquota.close_month('2026-03-31');
CREATE VIEW issued AS SELECT project, ends_at, number, cluster, starts_at, issued_at, addressee, currency, symbol, credits_per_unit, places FROM yquota.issued_bill ORDER BY ends_at, project;
CREATE VIEW bills AS
	SELECT issued.number, issued.ends_at, bill.* FROM issued, unnest('{queue,user,application}'::text[]) AS detail, yquota.bill(issued.project, issued.ends_at, detail) AS bill;
SELECT * FROM issued;
SELECT line, item, subject, queue, username, amount, currency, rounded FROM yquota.bill('lab', '2026-04-01', 'user');
CREATE TABLE march AS TABLE bills;

-- later changes: another contact, another value and another currency, and corrections of March
UPDATE yquota.project SET billing_contact = 'Bob Ray' WHERE name = 'lab';
INSERT INTO yquota.billing_currency (effective_at, code, symbol, credits_per_unit) VALUES ('2026-04-01', 'EUR', 'E', 900);
SELECT project, amount FROM yquota.forgive('2026-03-10 08:10+00', '2026-03-10 08:20+00', 'switch replaced', 'lab.ml');
SELECT yquota.set_clock('2026-05-02 09:00+00');
INSERT INTO yquota.billing_currency (effective_at, code, symbol, credits_per_unit, places) VALUES ('2026-05-01', 'JPY', 'Y', 6, 0);
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, application_id, username, queue, allocation) VALUES
	('CONTAINER_START', 'late', '2026-03-31 12:00+00', 'lab', 'app_4', 'ann', 'root.a', '[vcores=1]'), ('CONTAINER_FINISH', 'late', '2026-03-31 12:05+00', NULL, NULL, NULL, NULL, NULL),
	('CONTAINER_START', 'c4', '2026-04-20 08:00+00', 'lab.ml', 'app_5', 'bob', 'root.b', '[vcores=1]'), ('CONTAINER_FINISH', 'c4', '2026-04-20 09:00+00', NULL, NULL, NULL, NULL, NULL);
SELECT yquota.quota_compute();
SELECT closed_at FROM yquota.close_month('2026-04-30');
SELECT line, item, subject, queue, corrected_bill, reason, amount, currency, rounded FROM yquota.bill('lab', '2026-05-01');

-- a period that is not a month, in a cluster that has a name, and corrections in another currency
INSERT INTO yquota.cluster_setting (cluster_name) VALUES ('north');
SELECT yquota.set_clock('2026-06-02 09:00+00');
SELECT project, amount FROM yquota.forgive('2026-04-20 08:00+00', '2026-04-20 08:10+00', 'switch replaced', 'lab.ml');
SELECT closed_at FROM yquota.close_period(date '2026-06-02');
SELECT line, item, subject, queue, corrected_bill, reason, amount, currency, rounded FROM yquota.bill('lab', '2026-06-02');
SELECT * FROM issued;
-- a project that is inserted later has no earlier bills
INSERT INTO yquota.project (name) VALUES ('new');
SELECT line, item, amount, currency, rounded FROM yquota.bill('new', '2026-06-02');

-- The bills of March have not changed. The rounded lines in the currency of a bill add up to its closing balance, with
-- which the next bill begins. The lines about sub-projects agree with the bills of the sub-projects.
SELECT count(*) AS differing FROM (TABLE march EXCEPT ALL TABLE bills) AS changed;
CREATE TABLE total AS
SELECT issued.project, issued.ends_at, detail,
	   sum(bill.amount) FILTER (WHERE item !~ '^(closing|application)') = min(bill.amount) FILTER (WHERE item = 'closing balance') AS exact,
	   sum(bill.rounded) FILTER (WHERE item !~ '^(closing|application)' AND bill.currency = issued.currency) = min(bill.rounded) FILTER (WHERE item = 'closing balance') AS rounded,
	   min(concat(bill.rounded, bill.currency)) FILTER (WHERE item = 'opening balance') AS opening, min(concat(bill.rounded, bill.currency)) FILTER (WHERE item = 'closing balance') AS closing
FROM issued, unnest('{queue,user,application}'::text[]) AS detail, yquota.bill(issued.project, issued.ends_at, detail) AS bill
GROUP BY 1, 2, 3;
SELECT count(*), bool_and(exact) AS exact, bool_and(rounded) AS rounded FROM total;
SELECT bool_and(next.opening = total.closing) AS follow FROM total JOIN total AS next USING (project, detail)
WHERE next.ends_at = (SELECT min(later.ends_at) FROM total AS later WHERE later.ends_at > total.ends_at);
CREATE VIEW line_of_child AS
	SELECT number ~ 'ml$' AS own, concat_ws('|', ends_at, item, queue, username, application_id, amount, currency, rounded) AS line FROM bills
	WHERE subject = 'lab.ml' AND concat(item, reason) !~ 'balance';
SELECT count(*) FROM line_of_child WHERE own;
SELECT line, count(*) FILTER (WHERE own) AS own, count(*) FILTER (WHERE NOT own) AS of_parent FROM line_of_child
GROUP BY line HAVING count(*) FILTER (WHERE own) <> count(*) FILTER (WHERE NOT own);

-- refused rows and changes
INSERT INTO yquota.billing_currency (effective_at, code, symbol, credits_per_unit) VALUES ('2026-06-01 23:59:59.999999', 'EUR', 'E', 1);
INSERT INTO yquota.billing_currency (effective_at, code, symbol, credits_per_unit) VALUES ('2026-07-01', 'eur', 'E', 1);
INSERT INTO yquota.billing_currency (effective_at, code, symbol, credits_per_unit) VALUES ('2026-07-01', 'EUR', 'E', 0);
INSERT INTO yquota.billing_currency (effective_at, code, symbol, credits_per_unit) VALUES ('2026-07-01', 'EUR', 'E', 'NaN');
INSERT INTO yquota.billing_currency (effective_at, code, symbol, credits_per_unit, places) VALUES ('2026-07-01', 'EUR', 'E', 1, 7);
UPDATE yquota.billing_currency SET credits_per_unit = 1 WHERE effective_at = '-infinity';
DELETE FROM yquota.billing_currency WHERE effective_at = '-infinity';
TRUNCATE yquota.billing_currency;
UPDATE yquota.issued_bill SET addressee = 'Bob Ray';
DELETE FROM yquota.issued_bill;
TRUNCATE yquota.issued_bill;
INSERT INTO yquota.billing_currency (effective_at, code, symbol, credits_per_unit, set_by) VALUES ('2026-07-01', 'EUR', 'E', 1, 'nobody');
SELECT set_by = session_user AS by_session FROM yquota.billing_currency WHERE effective_at = '2026-07-01';
SELECT yquota.withdraw_point('yquota.billing_currency', '2026-07-01') AS withdrawn, yquota.withdraw_point('yquota.billing_currency', '2026-07-01') AS again;
SELECT operation, new ->> 'code' AS code FROM yquota.audit WHERE table_name = 'yquota.billing_currency' ORDER BY audit_id;
SELECT * FROM yquota.verify();

-- members see their own bills
CREATE ROLE yquota_issued_bill_member;
SELECT yquota.allow_role('yquota_issued_bill_member', 'member', 'lab.ml');
SET ROLE yquota_issued_bill_member;
SELECT number FROM yquota.issued_bill ORDER BY ends_at;
INSERT INTO yquota.billing_currency (code, symbol, credits_per_unit) VALUES ('EUR', 'E', 1);
RESET ROLE;
-- operators see the credit of all projects, but no bills of other projects
SELECT yquota.allow_role('yquota_issued_bill_member', 'operator');
SET ROLE yquota_issued_bill_member;
SELECT remaining IS NOT NULL AS sees_credit FROM yquota.balance_at('lab', '2026-04-01');
SELECT count(*) FROM yquota.bill('lab.ml', '2026-04-01');
SELECT count(*) FROM yquota.bill('lab', '2026-04-01', 'application');
SELECT yquota.bill_html('lab', '2026-04-01');
SELECT count(*) FROM yquota.bill_by_calendar('lab', '2026-04-01');
RESET ROLE;
SELECT yquota.disallow_role('yquota_issued_bill_member', 'operator');
SELECT yquota.disallow_role('yquota_issued_bill_member', 'member', 'lab.ml');
DROP ROLE yquota_issued_bill_member;

-- A correction of a period names no bill if the project was inserted after that period had been closed.
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, application_id, username, queue, allocation) VALUES
	('CONTAINER_START', 'n1', '2026-05-20 08:00+00', 'new', 'app_6', 'ann', 'root.a', '[vcores=1]'), ('CONTAINER_FINISH', 'n1', '2026-05-20 09:00+00', NULL, NULL, NULL, NULL, NULL);
SELECT yquota.quota_compute();
INSERT INTO yquota.project (name) VALUES ('spare'), ('unused');
SELECT yquota.set_clock('2026-06-03 09:00+00');
SELECT closed_at FROM yquota.close_period(date '2026-06-03');
SELECT line, item, corrected_period, corrected_bill, reason, amount, rounded FROM yquota.bill('new', '2026-06-03');
-- bills of projects that have been deleted or renamed
DELETE FROM yquota.project WHERE name = 'spare';
UPDATE yquota.project SET name = 'renamed' WHERE name = 'unused';
SELECT issued.number, line, item, amount, rounded
FROM yquota.issued_bill AS issued CROSS JOIN yquota.bill(issued.project, issued.ends_at)
WHERE issued.project IN ('spare', 'unused') ORDER BY issued.number, line;
SELECT yquota.bill_html('spare', '2026-06-03') ~ '<h1>Bill 2026-06-02/north/spare, 2 June 2026</h1>' AS named;
SELECT count(*) FROM yquota.bill_by_calendar('spare', '2026-06-03');
SELECT * FROM yquota.bill('spare', '2026-06-02');
\c postgres
DROP DATABASE yquota_issued_bill;
