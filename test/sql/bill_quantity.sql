--
-- Quantities on bills: the resource types that were charged, how much of them was paid for, and unit prices. A second
-- computation by explain_charge() gives the same quantities. History is archived before and after its period is closed.
--
CREATE DATABASE yquota_bill_quantity;
\c yquota_bill_quantity
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS yquota;
SET timezone = 'UTC';
SET datestyle = 'ISO';
\set SHOW_CONTEXT never
SELECT yquota.set_clock('2026-03-01 00:00+00');
INSERT INTO yquota.project (name, parent) VALUES ('lab', NULL), ('lab.ml', 'lab'), ('sum', NULL);
-- A vcore costs 1 credit per second. A GiB costs 0.25 until noon on 10 March, and 4 from then on. A GPU costs 10. The
-- queue root.half pays half.
SELECT yquota.set_base_price('memory-mb', 0.25, 1024), yquota.set_base_price('yarn.io/gpu', 10), yquota.set_base_price('memory-mb', 4, 1024, '2026-03-10 12:00+00');
INSERT INTO yquota.price_factor (dimension, name, effective_at, factor) VALUES ('queue', 'root.half', '2026-03-01', 0.5), ('queue', 'root.free', '2026-03-01', 0);
INSERT INTO yquota.charging_rule (project, effective_at, minimum_run_time, charging_mode) VALUES ('', '2026-03-01', '1 min', 'dearest');
INSERT INTO yquota.charging_rule (project, effective_at, charging_mode) VALUES ('sum', '2026-03-01', 'sum');
SELECT yquota.set_clock('2026-03-31 23:30+00');
CREATE PROCEDURE ran(container_id text, project text, application_id text, queue text, held yquota.resource, "from" timestamptz, "to" timestamptz) LANGUAGE sql AS $$
	INSERT INTO yquota.container_event (event, container_id, occurred_at, project, application_id, username, queue, allocation)
	VALUES ('CONTAINER_START', container_id, "from", project, application_id, 'ann', queue, held);
	INSERT INTO yquota.container_event (event, container_id, occurred_at) SELECT 'CONTAINER_FINISH', container_id, "to" WHERE isfinite("to");
$$;
-- half an hour of 4 vcores, and then half an hour of 2 GiB, which cost 8
CALL ran('a', 'lab', 'app_1', 'root.a', '[vcores=4,memory-mb=2048]', '2026-03-10 11:30+00', '2026-03-10 12:30+00');
CALL ran('gpu', 'lab', 'app_2', 'root.half', '[vcores=4,yarn.io/gpu=2]', '2026-03-11 08:00+00', '2026-03-11 08:00:00.000007+00');
CALL ran('padded', 'lab.ml', 'app_3', 'root.a', '[vcores=3]', '2026-03-12 08:00+00', '2026-03-12 08:00:10+00');
CALL ran('free', 'lab.ml', 'app_3', 'root.free', '[vcores=3]', '2026-03-12 08:00+00', '2026-03-12 09:00+00');
CALL ran('both', 'sum', 'app_4', 'root.a', '[vcores=1,memory-mb=512]', '2026-03-12 08:00+00', '2026-03-12 09:00+00');
CALL ran('outage', 'sum', 'app_5', NULL, '[vcores=1]', '2026-03-14 08:00+00', '2026-03-14 09:00+00');
CALL ran('across', 'lab', 'app_6', 'root.a', '[vcores=1]', '2026-03-31 23:00+00', 'infinity');
SELECT yquota.forgive('2026-03-14 08:10+00', '2026-03-14 08:30+00', 'switch replaced');
SELECT yquota.set_clock('2026-04-02 09:00+00');
SELECT yquota.quota_compute();

CREATE VIEW explained AS
	SELECT c.project, e.queue, part.type, e."from", trim_scale(yquota.amount(e.allocation, part.type) * held.seconds) AS held, trim_scale(part.rate::numeric * held.seconds) AS amount
	FROM yquota.container_cost AS c
	CROSS JOIN LATERAL yquota.explain_charge(c.container_id) AS e
	CROSS JOIN LATERAL jsonb_each_text(e.rates) AS part (type, rate)
	CROSS JOIN LATERAL (SELECT coalesce(extract(epoch FROM e.padding), extract(epoch FROM least(e."to", '2026-04-01')) - extract(epoch FROM e."from")) AS seconds) AS held
	WHERE e.amount <> 0 AND e."from" < '2026-04-01';
CREATE TABLE march AS SELECT project, queue, type, sum(held) AS held, sum(amount) AS amount FROM explained GROUP BY 1, 2, 3;
SELECT closed_at FROM yquota.close_month('2026-03-31');
SELECT item, subject, queue, resource_type, resource_seconds, quantity, unit, unit_price, amount, rounded FROM yquota.bill('lab', date '2026-04-01');
SELECT item, subject, queue, resource_type, resource_seconds, quantity, unit, unit_price, amount FROM yquota.bill('sum', date '2026-04-01');
CREATE VIEW of_march AS
	SELECT subject, queue, resource_type, resource_seconds, - amount AS amount
	FROM unnest('{lab,sum}'::text[]) AS project, yquota.bill(project, date '2026-04-01') AS bill WHERE item = 'charge';
SELECT count(*) AS compared FROM march;
SELECT * FROM ((TABLE march EXCEPT TABLE of_march) UNION ALL (TABLE of_march EXCEPT TABLE march)) AS differing;
SELECT * FROM yquota.verify();

-- A late container, an outage and a late change of queue are corrections.
CREATE TABLE issued AS SELECT project, bill.* FROM unnest('{lab,lab.ml,sum}'::text[]) AS project, yquota.bill(project, date '2026-04-01', 'application') AS bill;
CALL ran('late', 'lab', 'app_1', 'root.a', '[memory-mb=1024]', '2026-03-20 08:00+00', '2026-03-20 08:15+00');
SELECT yquota.forgive('2026-03-10 11:50+00', '2026-03-10 12:10+00', 'switch replaced', 'lab');
INSERT INTO yquota.container_event (event, container_id, occurred_at, queue) VALUES ('CONTAINER_UPDATE', 'both', '2026-03-12 08:30+00', 'root.half');
CALL ran('april', 'sum', 'app_4', 'root.a', '[memory-mb=512]', '2026-04-01 08:00+00', '2026-04-01 08:30+00');
INSERT INTO yquota.container_event (event, container_id, occurred_at) VALUES ('CONTAINER_FINISH', 'across', '2026-04-01 00:30+00');
SELECT yquota.set_clock('2026-05-02 09:00+00');
SELECT yquota.quota_compute();
CREATE VIEW bills AS
	SELECT issued.number, bill.* FROM yquota.issued_bill AS issued, yquota.bill(issued.project, issued.ends_at, 'application') AS bill;
SELECT yquota.seal_history();
SELECT yquota.set_clock('2026-05-04 09:00+00');
BEGIN;
SELECT closed_at FROM yquota.close_period(date '2026-05-04');
SELECT item, subject, queue, reason, resource_type, resource_seconds, quantity, unit_price, amount FROM yquota.bill('lab', date '2026-05-04') WHERE item IN ('charge', 'correction');
SELECT item, subject, queue, reason, resource_type, resource_seconds, quantity, unit_price, amount FROM yquota.bill('sum', date '2026-05-04') WHERE item IN ('charge', 'correction');
SELECT md5(string_agg(b::text, '' ORDER BY number, line)) AS digest FROM bills AS b \gset
ROLLBACK;
-- the bills are the same if history is archived before their period is closed, and later
CREATE SCHEMA archive;
CREATE TABLE archive.charge (LIKE yquota.charge);
CREATE TABLE archive.container_event (LIKE yquota.container_event);
SELECT archived FROM yquota.archive('archive.charge', 'infinity');
SELECT count(*) FROM yquota.charge;
SELECT closed_at FROM yquota.close_period(date '2026-05-04');
SELECT md5(string_agg(b::text, '' ORDER BY number, line)) = :'digest' AS same FROM bills AS b;
SELECT count(*) AS differing FROM issued FULL JOIN yquota.bill('lab', date '2026-04-01', 'application') AS bill USING (line) WHERE project = 'lab' AND (issued.item, issued.amount, issued.quantity) IS DISTINCT FROM (bill.item, bill.amount, bill.quantity);
SELECT * FROM yquota.verify();

-- bills differ from the ledger only if they are changed by hand
ALTER TABLE yquota_internal.billed_charge DISABLE TRIGGER keep;
UPDATE yquota_internal.billed_charge SET amount = amount + 1 WHERE project = 'sum' AND queue = 'root.half' AND resource_type = 'vcores';
SELECT * FROM yquota.verify();
UPDATE yquota_internal.billed_charge SET amount = amount - 1 WHERE project = 'sum' AND queue = 'root.half' AND resource_type = 'vcores';
ALTER TABLE yquota_internal.billed_charge ENABLE TRIGGER keep;
UPDATE yquota_internal.billed_charge SET amount = 0;
\c postgres
DROP DATABASE yquota_bill_quantity;
