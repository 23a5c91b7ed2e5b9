--
-- A bill as a page: names of periods, a statement with a row for each queue, and an appendix with 5,000 applications.
--
CREATE DATABASE yquota_bill_html;
\c yquota_bill_html
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS yquota;
SET timezone = 'UTC';
SET datestyle = 'ISO';
\set SHOW_CONTEXT never

-- A whole month has a name. Other periods have a first and a last day, with a time only if they begin or end within a
-- day. In Sao Paulo the fourth of November 2018 begins at 01:00, and in Havana the first of November 2026 has two
-- midnights.
SELECT zone, yquota_internal.period_in_words(starts_at, ends_at, zone)
FROM (VALUES
	(1, 'UTC', '2026-03-01 00:00+00'::timestamptz, '2026-04-01 00:00+00'::timestamptz),
	(2, 'UTC', '-infinity', '2026-04-01 00:00+00'),
	(3, 'UTC', '-infinity', '2026-04-16 00:00+00'),
	(4, 'UTC', '2026-03-01 00:00+00', '2026-04-16 00:00+00'),
	(5, 'UTC', '2026-12-31 00:00+00', '2027-01-01 00:00+00'),
	(6, 'UTC', '2026-03-01 00:00+00', '2026-03-15 13:30+00'),
	(7, 'UTC', '2026-03-15 13:30+00', '2026-04-01 00:00+00'),
	(8, 'UTC', '2026-03-01 00:00+00', '2026-05-01 00:00+00'),
	(9, 'Europe/Berlin', '2026-02-28 23:00+00', '2026-03-31 22:00+00'),
	(10, 'Europe/Berlin', '2026-03-01 00:00+00', '2026-04-01 00:00+00'),
	(11, 'America/Sao_Paulo', '2018-11-04 03:00+00', '2018-12-01 02:00+00'),
	(12, 'America/Havana', '2026-11-01 04:00+00', '2026-12-01 05:00+00'),
	(13, 'America/Havana', '2026-10-01 04:00+00', '2026-11-01 04:00+00')) AS period (number, zone, starts_at, ends_at)
ORDER BY number;

-- Names of projects, queues and users contain markup. Applications of YARN show only the end of their identifiers.
INSERT INTO yquota.billing_setting (timezone) VALUES ('UTC');
SELECT yquota.set_clock('2026-03-01 00:00+00');
INSERT INTO yquota.project (name, parent) VALUES ('lab', NULL), ('<b>lab</b>', 'lab');
INSERT INTO yquota.quota_grant (project, amount, reason) VALUES ('lab', 9000000, '<i>bought</i>');
SELECT yquota.set_clock('2026-04-02 09:00+00');
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, application_id, username, queue, allocation)
SELECT e.event, 'c' || n, '2026-03-02 08:00+00'::timestamptz + n * interval '7 min' + e.after, CASE n % 5 WHEN 0 THEN '<b>lab</b>' ELSE 'lab' END,
	   format('application_%s_%s', 1772000000000 + n / 3000, lpad(n::text, 5, '0')), 'user' || n * n % 41, (ARRAY['root.etl', 'root.ml', 'root.<u>'])[1 + n % 3],
	   yquota.resource(vcores => 1 + n % 7)
FROM generate_series(1, 5000) AS n, (VALUES ('CONTAINER_START'::yquota.container_event_type, interval '0'), ('CONTAINER_FINISH', '1 minute 0.347 s')) AS e (event, after);
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, application_id, username, queue, allocation)
SELECT e.event, 'm' || e.number, e.at, CASE e.event WHEN 'CONTAINER_START' THEN 'lab' END, CASE e.event WHEN 'CONTAINER_START' THEN e.application_id END,
	   CASE e.event WHEN 'CONTAINER_START' THEN '<s>ann</s>' END, NULL, CASE e.event WHEN 'CONTAINER_START' THEN '[vcores=1]'::yquota.resource END
FROM (VALUES (1, 'CONTAINER_START'::yquota.container_event_type, '2026-03-20 08:00+00'::timestamptz, '<script>alert(1)</script>'), (1, 'CONTAINER_FINISH', '2026-03-20 08:01+00', NULL),
			 (2, 'CONTAINER_START', '2026-03-20 08:00+00', NULL), (2, 'CONTAINER_FINISH', '2026-03-20 08:02+00', NULL)) AS e (number, event, at, application_id);
SELECT yquota.quota_compute();
SELECT closed_at FROM yquota.close_month('2026-03-31');
CREATE TABLE page AS SELECT yquota.bill_html('lab', date '2026-04-01') AS html;
SELECT length(html) < 200000 AS is_small, html ~ '00:00' AS has_midnight, html ~ '<(b|i|u|s|script)>' AS has_markup FROM page;
SELECT substring(html FROM '<h1>.*</h1>') AS title FROM page;
SELECT figure[1] AS name, figure[2] AS figure FROM page, regexp_matches(html, '<dt>([^<]*)</dt><dd>(?:<span class="negative">)?([^<]*)', 'g') AS figure;
CREATE FUNCTION amount(text) RETURNS numeric RETURN replace($1, ',', '')::numeric;
SELECT cell[1] AS item, cell[2] AS project, cell[3] AS queue, cell[4] AS quantity, cell[5] AS unit_price, amount(cell[6]) AS amount
FROM page, regexp_matches(html, '<tr[^>]*><td>([^<]*)</td><td>([^<]*)</td><td>([^<]*)</td><td>([^<]*)</td><td>([^<]*)</td><td>(?:<span class="negative">)?([^<]*)', 'g') AS cell;

-- Each application of the bill has its row in the appendix.
CREATE TABLE appendix AS
	SELECT head[1] AS head, head[2] AS beginning, owner[1] AS username, row[1] AS ending, amount(row[2]) AS amount
	FROM page, unnest(string_to_array(html, '<div class="apps">')) WITH ORDINALITY AS part (html, number),
	LATERAL regexp_match(part.html, '<thead><tr><th>([^<]*)<th>[^<]*(?:<tr><th colspan="2">([^<]*)&hellip;)?<tbody>') AS head,
	LATERAL unnest(string_to_array(part.html, '<tr><th>')) AS owned (html),
	LATERAL regexp_match(owned.html, '^([^<]*)<th>') AS owner,
	LATERAL regexp_matches(owned.html, '<tr><td>([^<]*)<td>([^<]*)', 'g') AS row
	WHERE part.number > 1;
SELECT head, beginning, count(*), count(DISTINCT username) AS users, sum(amount) FROM appendix GROUP BY 1, 2 ORDER BY 1, 2;
SELECT count(*) AS lines, count(listed.amount) AS listed, count(*) FILTER (WHERE abs(listed.amount - bill.amount) < 0.01) AS right
FROM yquota.bill('lab', date '2026-04-01', 'application') AS bill
LEFT JOIN appendix AS listed ON listed.beginning || listed.ending = bill.application_id AND listed.username = bill.username
WHERE bill.application_id LIKE 'application%';
SELECT * FROM appendix WHERE beginning IS NULL ORDER BY ending;

-- The bill of April is in a currency, and corrects the bill of March in credits.
UPDATE yquota.project SET billing_contact = '<i>Ann Lee</i>', cost_centre = '<u>4711</u>' WHERE name = 'lab';
INSERT INTO yquota.billing_currency (effective_at, code, symbol, credits_per_unit, places) VALUES ('2026-04-01 00:00+00', 'EUR', '<b>', 0.007, 3);
SELECT count(*) FROM yquota.void_events('m2', 'never ran');
SELECT yquota.set_clock('2026-05-02 09:00+00');
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, queue, allocation) VALUES
	('CONTAINER_START', 'a1', '2026-04-20 08:00+00', 'lab', 'root.etl', '[vcores=1]'), ('CONTAINER_FINISH', 'a1', '2026-04-20 08:01+00', NULL, NULL, NULL);
SELECT yquota.quota_compute();
SELECT closed_at FROM yquota.close_month('2026-04-30');
TRUNCATE page;
INSERT INTO page SELECT yquota.bill_html('lab', date '2026-05-01');
SELECT html ~ '00:00' AS has_midnight, html ~ '<(b|i|u|s|script)>' AS has_markup, substring(html FROM '<h1>.*</h1>') AS title FROM page;
SELECT figure[1] AS name, figure[2] AS figure FROM page, regexp_matches(html, '<dt>([^<]*)</dt><dd>(?:<span class="negative">)?([^<]*)', 'g') AS figure;
SELECT head[1] AS head FROM page, regexp_matches(html, '<th>([^<]*)</th></tr></thead>', 'g') AS head;
SELECT cell[1] AS item, cell[2] AS queue, cell[3] AS quantity, cell[4] AS unit_price, cell[5] AS amount, cell[6] AS other_currency
FROM page, regexp_matches(html, '<tr[^>]*><td>([^<]*)</td><td>[^<]*</td><td>([^<]*)</td><td>([^<]*)</td><td>([^<]*)</td><td>(?:<span class="negative">)?([^<]*)(?:</span>)?([^<]*)</td>', 'g') AS cell;
SELECT substring(html FROM '<div class="apps">.*</div>') AS applications FROM page;

\c postgres
DROP DATABASE yquota_bill_html;
