--
-- Two small months whose figures are computed by hand, and agree in all reports. A core costs one credit per second,
-- and 3600 credits are one euro, so a core-hour is one euro. Cores are counted in thousandths, as in Kubernetes.
--
CREATE DATABASE yquota_month;
\c yquota_month
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS yquota;
SET timezone = 'UTC';
SET datestyle = 'ISO';
SELECT yquota.set_clock('2026-03-01 00:00+00');
INSERT INTO yquota.resource_type (name, price_group, base_price, unit) VALUES ('cpu-milli', 'GENERAL', 1, 1000), ('gpu-milli', 'GPU', 20, 1000);
INSERT INTO yquota.billing_currency (effective_at, code, symbol, credits_per_unit) VALUES ('-infinity', 'EUR', 'E', 3600);
INSERT INTO yquota.project (name, parent, cost_centre) VALUES ('lab', NULL, '4711'), ('lab.ml', 'lab', '4712');
INSERT INTO yquota.quota_grant (project, amount, reason) VALUES ('lab', 36000, 'invoice 1');
INSERT INTO yquota.node (name, total) VALUES ('n1', '[cpu-milli=10000,gpu-milli=1000]');
SELECT yquota.set_application_tags('app_1', '{team=web}'), yquota.set_application_tags('app_3', '{team=ml}');
CREATE PROCEDURE ran(name text, project text, queue text, allocation yquota.resource, started_at timestamptz, life interval) LANGUAGE sql AS $$
	INSERT INTO yquota.container_event (event, container_id, occurred_at, project, application_id, username, queue, node, allocation)
	VALUES ('CONTAINER_START', name, started_at, project, 'app_' || name, 'ann', queue, 'n1', allocation),
		   ('CONTAINER_FINISH', name, started_at + life, NULL, NULL, NULL, NULL, NULL, NULL);
$$;

-- March: lab uses 2.5 core-hours for 9000 credits, and lab.ml twice a third of a core-hour, for 1200 credits each.
-- The thirds are rounded to 0.33 each, and together to 0.67, so the rounding is -0.01. The balances are
-- 36000 - 9000 = 27000 credits or 7.50, and -2400 credits or -0.67, together 6.83.
SELECT yquota.set_clock('2026-04-02 09:00+00');
CALL ran('1', 'lab', 'root.a', '[cpu-milli=2500]', '2026-03-10 08:00+00', '1 h');
CALL ran('2', 'lab.ml', 'root.a', '[cpu-milli=1000]', '2026-03-10 08:00+00', '20 min');
CALL ran('3', 'lab.ml', 'root.b', '[cpu-milli=500]', '2026-03-10 08:00+00', '40 min');
SELECT yquota.quota_compute() IS NOT NULL AS computed;
SELECT closed_at FROM yquota.close_month('2026-03-31');

-- April: container 2 of March never ran, so 0.33 are given back. lab uses half a GPU for 12 minutes, which is a tenth
-- of a GPU-hour at 20 euros, or 7200 credits. The balances are 19800 credits or 5.50, and -1200 credits or -0.33.
SELECT project, amount FROM yquota.void_events('2', 'never ran');
SELECT yquota.set_clock('2026-05-02 09:00+00');
CALL ran('4', 'lab', 'root.a', '[gpu-milli=500]', '2026-04-10 08:00+00', '12 min');
SELECT yquota.quota_compute() IS NOT NULL AS computed;
SELECT closed_at FROM yquota.close_month('2026-04-30');
CREATE VIEW bills AS
	SELECT issued.project, issued.ends_at, bill.*
	FROM yquota.issued_bill AS issued, yquota.bill(issued.project, issued.ends_at) AS bill;
SELECT ends_at, line, item, subject, queue, corrected_bill, quantity, unit, unit_price, amount, rounded FROM bills WHERE project = 'lab' ORDER BY ends_at, line;

-- The parent's balance is the sum of its own and its sub-project's: 7.50 - 0.67, and 5.50 - 0.33.
SELECT project, ends_at, rounded FROM bills WHERE item = 'closing balance' ORDER BY ends_at, project;
SELECT ends_at, bill, cost_centre, account, debit, credit
FROM yquota.billing_period AS period, yquota.billing_journal(period.ends_at) AS journal ORDER BY ends_at, line;

-- FOCUS has the exact amounts of each bill, in the same units.
SELECT "InvoiceId", "ChargeCategory", "PricingUnit", sum("PricingQuantity") AS quantity, trim_scale(round(sum("BilledCost") * 3600, 9)) AS credits
FROM yquota.focus_cost GROUP BY 1, 2, 3 ORDER BY 1, 2, 3;

-- In all, 9000 + 1200 + 7200 = 17400 credits. Of the node's ten core-hours from 8 to 9, 2.5 + 0.333 are sold.
SELECT tags, amount FROM yquota.cost_between('-infinity', '2026-05-01', '{tag:team}') ORDER BY amount;
SELECT resource_type, capacity, charged, unsold FROM yquota.idle_cost('2026-03-10 08:00+00', '2026-03-10 09:00+00') WHERE resource_type = 'cpu-milli';
SELECT * FROM yquota.verify();
\c postgres
DROP DATABASE yquota_month;
