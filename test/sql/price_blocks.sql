--
-- Costs of allocations over thousands of intervals. They equal the sum of the costs of all
-- intervals, for repeated calls in any order. The test uses its own database, because prices and
-- the clock are global.
--
CREATE DATABASE yquota_price_blocks;
\c yquota_price_blocks
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS yquota;
SET timezone = 'UTC';
SELECT yquota.set_clock('2026-03-03 00:00+00');
INSERT INTO yquota.project (name) VALUES ('lab'), ('ops');
-- The prices of GENERAL and GPU change at different times, and base prices change twice. No
-- container runs yet, so the trigger need not check each of these points against the past.
ALTER TABLE yquota.price DISABLE TRIGGER keep;
INSERT INTO yquota.price (price_group, effective_at, multiplier)
SELECT 'GENERAL', '2026-03-01 00:00+00'::timestamptz + n * interval '10 s', 1 + (n * 7919 % 97) * 0.013 FROM generate_series(0, 12000) AS n
UNION ALL
SELECT 'GPU', '2026-03-01 00:00:05+00'::timestamptz + n * interval '20 s', 1 + (n / 50 * 31 % 17) * 0.3 FROM generate_series(0, 6000) AS n;
ALTER TABLE yquota.price ENABLE TRIGGER keep;
INSERT INTO yquota.base_price (resource_type, effective_at, base_price, unit) VALUES
	('vcores', '2026-03-01 08:00:03.5+00', 1.3, 1), ('memory-mb', '2026-03-01 20:00+00', 2.000000000000000001, 1000);
INSERT INTO yquota.price_factor (dimension, name, effective_at, factor) VALUES
	('queue', 'root.a', '2026-03-01 06:00:01+00', 0.5), ('queue', 'root.a', '2026-03-01 18:30:02+00', 3.333333), ('username', 'ann', '2026-03-01 12:00+00', 2);
SELECT yquota.report_outage('2026-03-01 10:00:02+00', '2026-03-01 10:20:07+00', 'for all');
SELECT yquota.report_outage('2026-03-01 16:00:02+00', '2026-03-01 17:00:07+00', 'for one', 'ops');

-- the cost of each interval, computed only in SQL
CREATE TABLE change AS
SELECT c.at, lead(c.at) OVER (ORDER BY c.at) AS next_at
FROM (SELECT effective_at AS at FROM yquota.price WHERE isfinite(effective_at)
	  UNION SELECT effective_at FROM yquota.base_price WHERE isfinite(effective_at)
	  UNION SELECT effective_at FROM yquota.price_factor UNION SELECT started_at FROM yquota.outage UNION SELECT ended_at FROM yquota.outage) AS c;
CREATE TABLE priced AS
SELECT change.at, change.next_at, type.name, yquota_internal.divide_half_even(p.multiplier * b.base_price, b.unit, 18) AS price
FROM change
CROSS JOIN yquota.resource_type AS type
CROSS JOIN LATERAL (SELECT multiplier FROM yquota.price WHERE price_group = type.price_group AND effective_at <= change.at ORDER BY effective_at DESC LIMIT 1) AS p
CROSS JOIN LATERAL (SELECT base_price, unit FROM yquota.base_price WHERE resource_type = type.name AND effective_at <= change.at ORDER BY effective_at DESC LIMIT 1) AS b;
CREATE INDEX ON priced (at);
CREATE TABLE question AS
SELECT n, (ARRAY['[vcores=1]', '[memory-mb=1024,vcores=1]', '[memory-mb=3000,vcores=3,yarn.io/gpu=1]', '[memory-mb=4000,yarn.io/gpu=3]'])[1 + n % 4]::yquota.resource AS allocation,
	   '2026-03-01 00:00:05+00'::timestamptz + (n * 7907 % 86400) * interval '1.000001 s' AS since,
	   '2026-03-01 00:00:05+00'::timestamptz + (n * 7907 % 86400 + 1 + n * 104729 % (ARRAY[600, 9000, 30000])[1 + n % 3]) * interval '1.000001 s' AS until,
	   (ARRAY['lab', 'ops'])[1 + n % 2] AS project, (ARRAY['root.a.x', 'root.b'])[1 + n / 2 % 2] AS queue, (ARRAY['ann', 'bob'])[1 + n / 3 % 2] AS username
FROM generate_series(1, 90) AS n;
CREATE TABLE expected AS
SELECT q.n, sum(due.rate * extract(epoch FROM least(s.next_at, q.until) - greatest(s.at, q.since))) AS amount
FROM question AS q
JOIN change AS s ON s.at < q.until AND s.next_at > q.since
CROSS JOIN LATERAL (
	SELECT CASE WHEN s.at >= '2026-03-01 10:00:02+00' AND s.at < '2026-03-01 10:20:07+00'
				  OR q.project = 'ops' AND s.at >= '2026-03-01 16:00:02+00' AND s.at < '2026-03-01 17:00:07+00' THEN 0
			ELSE max(p.price * yquota.amount(q.allocation, p.name))
				* CASE WHEN q.queue <> 'root.a.x' OR s.at < '2026-03-01 06:00:01+00' THEN 1 WHEN s.at < '2026-03-01 18:30:02+00' THEN 0.5 ELSE 3.333333 END
				* CASE WHEN q.username = 'ann' AND s.at >= '2026-03-01 12:00+00' THEN 2 ELSE 1 END END AS rate
	FROM priced AS p WHERE p.at = s.at) AS due
GROUP BY q.n;

-- each cost is requested repeatedly, so the code computes by steps, then by blocks, then by sums
SELECT round.number, count(*) AS questions, count(DISTINCT expected.amount) AS different,
	   count(*) FILTER (WHERE yquota_internal.accrued(q.allocation,
			yquota_internal.factor_names(q.project, NULL, q.username, q.queue, NULL, NULL, 'GUARANTEED', NULL), q.since, q.until) <> expected.amount) AS wrong
FROM generate_series(1, 4) AS round (number)
CROSS JOIN LATERAL (SELECT * FROM question ORDER BY question.n * round.number % 91) AS q
JOIN expected USING (n)
GROUP BY round.number ORDER BY round.number;
-- all charging modes, also as rules of a project
BEGIN;
INSERT INTO yquota.charging_rule (effective_at, charging_mode) VALUES
	('2026-03-01 03:00:01+00', 'sum'), ('2026-03-01 11:00:02+00', 'sum_of_groups'), ('2026-03-01 22:00:04+00', 'dearest');
INSERT INTO yquota.charging_rule (project, effective_at, charging_mode) VALUES
	('ops', '2026-03-01 07:00:01+00', 'sum_of_groups'), ('ops', '2026-03-01 12:00+00', NULL), ('ops', '2026-03-01 14:00:00.5+00', 'dearest'), ('ops', '2026-03-01 19:00+00', 'sum');
CREATE TABLE ruled AS
SELECT cut.at, lead(cut.at) OVER (PARTITION BY project.name ORDER BY cut.at) AS next_at, project.name AS project, price.memory, price.vcores, price.gpu,
	   coalesce((SELECT coalesce(r.charging_mode::text, 'ended') FROM yquota.charging_rule AS r WHERE r.project = project.name AND r.effective_at <= cut.at ORDER BY r.effective_at DESC LIMIT 1), 'ended') AS own_mode,
	   coalesce((SELECT r.charging_mode::text FROM yquota.charging_rule AS r WHERE r.project = '' AND r.effective_at <= cut.at ORDER BY r.effective_at DESC LIMIT 1), 'dearest') AS mode
FROM (SELECT point.at, max(change.at) OVER (ORDER BY point.at) AS priced_at
	  FROM (SELECT at FROM change UNION SELECT effective_at FROM yquota.charging_rule) AS point LEFT JOIN change USING (at)) AS cut
CROSS JOIN yquota.project
JOIN LATERAL (SELECT max(p.price) FILTER (WHERE p.name = 'memory-mb') AS memory, max(p.price) FILTER (WHERE p.name = 'vcores') AS vcores, max(p.price) FILTER (WHERE p.name = 'yarn.io/gpu') AS gpu
			  FROM priced AS p WHERE p.at = cut.priced_at) AS price ON true;
CREATE TABLE expected_by_mode AS
SELECT q.n, sum(due.rate * extract(epoch FROM least(s.next_at, q.until) - greatest(s.at, q.since))) AS amount
FROM (SELECT *, yquota.amount(allocation, 'memory-mb') AS memory, yquota.amount(allocation, 'vcores') AS vcores, yquota.amount(allocation, 'yarn.io/gpu') AS gpu FROM question) AS q
JOIN ruled AS s ON s.project = q.project AND s.at < q.until AND s.next_at > q.since
CROSS JOIN LATERAL (
	SELECT CASE WHEN s.at >= '2026-03-01 10:00:02+00' AND s.at < '2026-03-01 10:20:07+00'
				  OR q.project = 'ops' AND s.at >= '2026-03-01 16:00:02+00' AND s.at < '2026-03-01 17:00:07+00' THEN 0
			ELSE CASE CASE s.own_mode WHEN 'ended' THEN s.mode ELSE s.own_mode END
				 WHEN 'sum' THEN s.memory * q.memory + s.vcores * q.vcores + s.gpu * q.gpu
				 WHEN 'sum_of_groups' THEN greatest(s.memory * q.memory, s.vcores * q.vcores) + s.gpu * q.gpu
				 ELSE greatest(s.memory * q.memory, s.vcores * q.vcores, s.gpu * q.gpu) END
				* CASE WHEN q.queue <> 'root.a.x' OR s.at < '2026-03-01 06:00:01+00' THEN 1 WHEN s.at < '2026-03-01 18:30:02+00' THEN 0.5 ELSE 3.333333 END
				* CASE WHEN q.username = 'ann' AND s.at >= '2026-03-01 12:00+00' THEN 2 ELSE 1 END END AS rate) AS due
GROUP BY q.n;
SELECT round.number, count(*) AS questions, count(*) FILTER (WHERE e.amount <> d.amount) AS dearer,
	   count(*) FILTER (WHERE yquota_internal.accrued(q.allocation,
			yquota_internal.factor_names(q.project, NULL, q.username, q.queue, NULL, NULL, 'GUARANTEED', NULL), q.since, q.until) <> e.amount) AS wrong
FROM generate_series(1, 4) AS round (number)
CROSS JOIN LATERAL (SELECT * FROM question ORDER BY question.n * round.number % 91) AS q
JOIN expected_by_mode AS e USING (n)
JOIN expected AS d USING (n)
GROUP BY round.number ORDER BY round.number;
ROLLBACK;

-- a container pays for the first of equally expensive resources
SELECT yquota_internal.dominant('[memory-mb=1024,vcores=1]', NULL, '2026-03-01 00:10+00', '2026-03-01 07:00+00') AS before,
	   yquota_internal.dominant('[memory-mb=1024,vcores=1]', NULL, '2026-03-01 09:00+00', '2026-03-01 18:00+00') AS between,
	   yquota_internal.dominant('[memory-mb=1024,vcores=1]', NULL, '2026-03-01 21:00+00', '2026-03-02 06:00+00') AS after;
-- a change does not alter earlier prices
INSERT INTO yquota.price (price_group, effective_at, multiplier)
SELECT 'GENERAL', '2026-03-01 15:00:03+00'::timestamptz + n * interval '10 s', 9 FROM generate_series(0, 3000) AS n;
SELECT count(*) FILTER (WHERE q.until <= '2026-03-01 15:00:03+00' AND now.amount <> expected.amount) AS wrong,
	   count(*) FILTER (WHERE q.since >= '2026-03-01 15:00:03+00' AND now.amount < expected.amount) AS cheaper,
	   count(*) FILTER (WHERE now.amount <> parts.amount) AS not_whole
FROM question AS q JOIN expected USING (n)
CROSS JOIN LATERAL yquota_internal.factor_names(q.project, NULL, q.username, q.queue, NULL, NULL, 'GUARANTEED', NULL) AS names
CROSS JOIN LATERAL yquota_internal.accrued(q.allocation, names, q.since, q.until) AS now (amount)
CROSS JOIN LATERAL (
	SELECT sum(yquota_internal.accrued(q.allocation, names, part.since, least(part.since + interval '77 s', q.until))) AS amount
	FROM generate_series(q.since, q.until - interval '1 us', interval '77 s') AS part (since)) AS parts;

\c postgres
DROP DATABASE yquota_price_blocks;
