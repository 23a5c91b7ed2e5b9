--
-- The journal of a period has the rounded amounts of its bills, by project and cost centre. A vcore costs one credit
-- per second. The currency changes from 700 credits per euro to yen without decimals.
--
CREATE DATABASE yquota_billing_journal;
\c yquota_billing_journal
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS yquota;
SET timezone = 'UTC';
SET datestyle = 'ISO';
\set SHOW_CONTEXT never
SELECT yquota.set_clock('2026-03-01 00:00+00');
INSERT INTO yquota.billing_currency (effective_at, code, symbol, credits_per_unit) VALUES ('-infinity', 'EUR', 'E', 700);
INSERT INTO yquota.project (name, parent, cost_centre) VALUES ('lab', NULL, '4711'), ('lab.ml', 'lab', '4712'), ('lab.ml.x', 'lab.ml', '4712'), ('web', NULL, NULL), ('unused', NULL, '4713');
INSERT INTO yquota.project (name, cost_centre) VALUES ('wrong', '');
INSERT INTO yquota.budget (project, period, amount, starts_on) VALUES ('lab', 'month', 20000, '2026-03-01');
INSERT INTO yquota.quota_grant (project, amount, reason) VALUES ('lab', 5000, 'invoice 1'), ('web', 1000, 'invoice 2');
SELECT yquota.set_clock('2026-04-02 09:00+00');
CREATE PROCEDURE run(project text, application_id text, queue text, started_at timestamptz, seconds integer) LANGUAGE sql AS $$
	INSERT INTO yquota.container_event (event, container_id, occurred_at, project, application_id, username, queue, allocation)
	VALUES ('CONTAINER_START', application_id, started_at, project, application_id, 'ann', queue, '[vcores=1]'),
		   ('CONTAINER_FINISH', application_id, started_at + seconds * interval '1 second', NULL, NULL, NULL, NULL, NULL);
$$;
-- 10, 10 and 4 credits are 0.0143, 0.0143 and 0.0057 euros
CALL run('lab', 'a1', 'root.a', '2026-03-10 08:00+00', 10);
CALL run('lab', 'a2', 'root.b', '2026-03-10 08:00+00', 10);
CALL run('lab', 'a3', 'root.c', '2026-03-10 08:00+00', 4);
CALL run('lab.ml', 'a4', 'root.a', '2026-03-10 08:00+00', 1800);
CALL run('lab.ml.x', 'a5', 'root.a', '2026-03-10 08:00+00', 333);
CALL run('web', 'a6', 'root.a', '2026-03-10 08:00+00', 600);
SELECT yquota.quota_compute();
SELECT closed_at FROM yquota.close_month('2026-03-31');
SELECT * FROM yquota.billing_journal(date '2026-04-01');
CREATE VIEW journal AS SELECT p.ends_at, j.* FROM yquota.billing_period AS p, yquota.billing_journal(p.ends_at) AS j WHERE p.closed_at IS NOT NULL;
CREATE TABLE march AS TABLE journal;

-- April has corrections that exceed its charges, and another currency. A project and a cost centre are new, and an
-- unused project is gone.
UPDATE yquota.project SET cost_centre = '9999' WHERE name = 'lab';
DELETE FROM yquota.project WHERE name = 'unused';
INSERT INTO yquota.project (name, cost_centre) VALUES ('late', '4714');
INSERT INTO yquota.billing_currency (effective_at, code, symbol, credits_per_unit, places) VALUES ('2026-04-15', 'JPY', 'Y', 6, 0);
SELECT project, amount FROM yquota.forgive('2026-03-10 08:00+00', '2026-03-10 09:00+00', 'switch replaced', 'lab.ml');
SELECT yquota.set_clock('2026-05-02 09:00+00');
CALL run('lab.ml', 'a7', 'root.a', '2026-04-10 08:00+00', 100);
CALL run('late', 'a8', 'root.a', '2026-04-10 08:00+00', 100);
SELECT yquota.quota_compute();
SELECT closed_at FROM yquota.close_month('2026-04-30');
SELECT * FROM yquota.billing_journal('2026-05-01 00:00+00');
SELECT count(*) AS rows, count(*) FILTER (WHERE march IS NULL OR journal IS NULL) AS differing
FROM march FULL JOIN (SELECT * FROM journal WHERE ends_at = '2026-04-01') AS journal ON march = journal;

-- Debits and credits have the same sum. The rows of a project and its sub-projects sum up to the difference between
-- the rounded closing and opening balances on its bill. An opening balance in another currency is converted first.
SELECT ends_at, account, sum(debit) AS debit, sum(credit) AS credit FROM journal GROUP BY ends_at, account ORDER BY ends_at, account;
SELECT bill.ends_at, bill.project, bill.difference, (
		   SELECT coalesce(sum(coalesce(journal.credit, 0) - coalesce(journal.debit, 0)), 0) FROM journal
		   WHERE journal.ends_at = bill.ends_at AND (journal.project = bill.project OR journal.project LIKE bill.project || '.%')) AS journal
FROM (SELECT issued.ends_at, issued.project,
			 sum(CASE WHEN bill.item = 'closing balance' THEN bill.rounded ELSE - bill.rounded END) AS difference
	  FROM (SELECT * FROM yquota.issued_bill WHERE project <> 'unused' OFFSET 0) AS issued
	  CROSS JOIN yquota.bill(issued.project, issued.ends_at) AS bill
	  WHERE bill.currency = issued.currency AND (bill.item LIKE '%balance' OR bill.item = 'conversion' AND bill.corrected_period IS NULL)
	  GROUP BY issued.ends_at, issued.project) AS bill
ORDER BY bill.ends_at, bill.project;

-- The rows of a project are the sums of the lines on its own bill.
SELECT count(*) AS rows, count(*) FILTER (WHERE journal.amount IS DISTINCT FROM lines.amount) AS differing
FROM (SELECT ends_at, project, account, coalesce(credit, - debit) AS amount FROM journal WHERE project IS NOT NULL) AS journal
FULL JOIN (SELECT issued.ends_at, issued.project, CASE WHEN bill.item IN ('grant', 'transfer', 'expired') THEN 'credit' ELSE 'usage' END AS account, sum(bill.rounded) AS amount
		   FROM (SELECT * FROM yquota.issued_bill WHERE project <> 'unused' OFFSET 0) AS issued
		   CROSS JOIN yquota.bill(issued.project, issued.ends_at) AS bill
		   WHERE bill.subject = issued.project AND bill.currency = issued.currency
			 AND bill.item NOT LIKE '%balance' AND (bill.item <> 'conversion' OR bill.corrected_period IS NOT NULL)
		   GROUP BY 1, 2, 3 HAVING sum(bill.rounded) <> 0) AS lines USING (ends_at, project, account);

-- Members get the rows of their projects, which balance, too. Other roles get nothing.
CREATE ROLE yquota_journal_member;
CREATE ROLE yquota_journal_nobody;
SELECT yquota.allow_role('yquota_journal_member', 'member', 'lab.ml');
SET ROLE yquota_journal_member;
SELECT * FROM yquota.billing_journal(date '2026-04-01');
SET ROLE yquota_journal_nobody;
SELECT * FROM yquota.billing_journal(date '2026-04-01');
RESET ROLE;
SELECT yquota.disallow_role('yquota_journal_member', 'member', 'lab.ml');
DROP ROLE yquota_journal_member, yquota_journal_nobody;
SELECT * FROM yquota.billing_journal(NULL::timestamptz);
SELECT * FROM yquota.billing_journal('2026-05-02');
SELECT * FROM yquota.verify();

\c postgres
DROP DATABASE yquota_billing_journal;
