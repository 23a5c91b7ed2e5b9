--
-- Grants, balances and projects without credit: docs/design.md 3 and 4. A vcore costs one credit
-- per second here, so every figure can be checked by hand. The test uses its own database, because
-- prices and the clock are global.
--
CREATE DATABASE yquota_balance;
\c yquota_balance
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS yquota;
SET timezone = 'UTC';
SET datestyle = 'ISO';
\set SHOW_CONTEXT never
SET intervalstyle = 'postgres';
SELECT yquota.set_clock('2026-03-02 10:00:00+00');

--
-- Grants: a repeated grant counts once, and each grant counts during its validity
--
INSERT INTO yquota.project (name, quota_mode) VALUES
	('lab', 'PREPAID'), ('ops', 'NOLIMIT'), ('idle', 'PREPAID');
INSERT INTO yquota.quota_grant (project, amount, reason, external_id) VALUES
	('lab', 993, 'budget', 'erp-1') ON CONFLICT (external_id) DO NOTHING;
INSERT INTO yquota.quota_grant (project, amount, reason, external_id) VALUES
	('lab', 993, 'budget', 'erp-1') ON CONFLICT (external_id) DO NOTHING;
-- a negative amount is taken from the grant that expires first
INSERT INTO yquota.quota_grant (project, amount, reason) VALUES ('lab', -200, 'entered twice');
INSERT INTO yquota.quota_grant (project, amount, reason, expires_at) VALUES
	('lab', 50, 'ended at this very instant', '2026-03-02 10:00:00+00'),
	('lab', 7, 'ends later', '2026-03-02 10:00:00.000001+00');
INSERT INTO yquota.quota_grant (project, amount, reason, valid_from) VALUES
	('lab', 3, 'begins at this very instant', '2026-03-02 10:00:00+00'),
	('lab', 5000, 'begins later', '2026-03-02 12:00:00+00');
SELECT project, granted, remaining FROM yquota.project_balance ORDER BY project;

-- these grants name an unknown project, have no amount, or are never valid
\set VERBOSITY terse
INSERT INTO yquota.quota_grant (project, amount, reason) VALUES ('nobody', 1, 'budget');
INSERT INTO yquota.quota_grant (project, amount, reason) VALUES ('lab', 'NaN', 'budget');
INSERT INTO yquota.quota_grant (project, amount, reason, valid_from, expires_at) VALUES
	('lab', 1, 'budget', '2026-03-02', '2026-03-02');
\set VERBOSITY default

--
-- Balances are exact at every instant of the clock, without any further event
--
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, username, application_id, queue, allocation)
VALUES
	('CONTAINER_START', 'l1', '2026-03-02 10:00:00+00', 'lab', 'ann', 'app_1', 'root.a', '[memory-mb=1024,vcores=3]'),
	('CONTAINER_START', 'o1', '2026-03-02 10:00:00+00', 'ops', 'bob', 'app_2', 'root.b', '[vcores=2]');
SELECT project, charged, accrued, held, remaining, burn_rate, exhausted_at
FROM yquota.project_balance ORDER BY project;
-- 803 credits at 3 per second last 267.666… s, rounded up to the microsecond
SELECT yquota.set_clock('2026-03-02 10:00:00.5+00');
SELECT project, charged, accrued, held, remaining, burn_rate, exhausted_at
FROM yquota.project_balance WHERE project IN ('lab', 'ops') ORDER BY project;

-- at the first instant some credit is left, and a microsecond later none
SELECT yquota.set_clock('2026-03-02 10:04:27.666666+00');
SELECT remaining, exhausted_at FROM yquota.project_balance WHERE project = 'lab';
SELECT yquota.set_clock('2026-03-02 10:04:27.666667+00');
SELECT remaining, exhausted_at FROM yquota.project_balance WHERE project = 'lab';

-- an UPDATE moves credits from accrued to charged, and otherwise changes only the rate
SELECT yquota.set_clock('2026-03-02 10:10:00+00');
SELECT charged, accrued, remaining, burn_rate FROM yquota.project_balance WHERE project = 'lab';
INSERT INTO yquota.container_event (event, container_id, occurred_at, allocation)
VALUES ('CONTAINER_UPDATE', 'l1', '2026-03-02 10:05:00+00', '[vcores=1]');
SELECT charged, accrued, remaining, burn_rate FROM yquota.project_balance WHERE project = 'lab';

-- a future price does not affect the current rate
SELECT yquota.set_multiplier('GENERAL', 2.5, '2026-03-02 10:20:00+00');
SELECT burn_rate FROM yquota.project_balance WHERE project = 'lab';
SELECT yquota.set_clock('2026-03-02 10:30:00+00');
SELECT charged, accrued, burn_rate FROM yquota.project_balance WHERE project = 'lab';

-- the costs of all containers of a project add up to what the project owes
SELECT balance.project, charged + accrued AS owed, cost, charged + accrued = cost AS equal
FROM yquota.project_balance balance
JOIN (SELECT project, sum(cost) AS cost FROM yquota.container_cost GROUP BY project) c USING (project)
ORDER BY project;

-- the sums are still equal after compaction, and after all containers have ended
SELECT yquota_internal.compact_counters() > 0 AS compacted;
SELECT project, charged, accrued, burn_rate FROM yquota.project_balance ORDER BY project;
INSERT INTO yquota.container_event (event, container_id, occurred_at)
VALUES ('CONTAINER_FINISH', 'o1', '2026-03-02 10:30:00+00');
SELECT project, charged, accrued, burn_rate, exhausted_at FROM yquota.project_balance ORDER BY project;
SELECT yquota_internal.compact_counters() > 0 AS compacted;
SELECT project, charged, accrued, burn_rate, exhausted_at FROM yquota.project_balance ORDER BY project;
SELECT * FROM yquota.verify();

--
-- used_up_at() computes to the microsecond how long credit lasts
--
SELECT credits, rate, yquota_internal.used_up_at('2026-03-02 10:00:00+00', credits, rate)
FROM (VALUES (10, 3), (9, 3), (0.000001, 1), (0.0000011, 1), (1, 3000000), (0, 1), (-5, 1), (1, 0), (0, 0),
			 (9000000000000000, 1000), (9000000000000000, 1), (1e40, 1e-18)) AS v (credits, rate);

--
-- Containers to stop
--
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, username, application_id, queue, allocation)
VALUES
	('CONTAINER_START', 'l2', '2026-03-02 10:30:00+00', 'lab', 'ann', 'app_1', 'root.a', '[]'),
	('CONTAINER_START', 'i1', '2026-03-02 10:30:00+00', 'idle', 'cid', 'app_3', 'root.a', '[vcores=1]'),
	('CONTAINER_START', 'o2', '2026-03-02 10:30:00+00', 'ops', 'bob', 'app_2', 'root.b', '[vcores=2]');
SELECT project, quota_mode, on_exhausted, remaining FROM yquota.project_balance ORDER BY project;
SELECT * FROM yquota.exhausted_work;
UPDATE yquota.project SET on_exhausted = 'refuse_submission' WHERE name = 'lab';
SELECT * FROM yquota.exhausted_work;
UPDATE yquota.project SET on_exhausted = 'drain' WHERE name = 'lab';
UPDATE yquota.project SET on_exhausted = 'stop' WHERE name IN ('idle', 'ops');
SELECT project, action, remaining, application_id, container_id, queue, allocation
FROM yquota.exhausted_work ORDER BY project, container_id;
INSERT INTO yquota.quota_grant (project, amount, reason) VALUES ('idle', 0.000001, 'a little');
SELECT project, action, container_id FROM yquota.exhausted_work ORDER BY project, container_id;

--
-- A project cannot be removed or renamed while the books name it
--
DELETE FROM yquota.project WHERE name = 'ops';
UPDATE yquota.project SET name = 'operations' WHERE name = 'lab';
INSERT INTO yquota.project (name) VALUES ('entered by mistake');
DELETE FROM yquota.project WHERE name = 'entered by mistake';

--
-- SELECT on the view is all that a reader needs
--
CREATE ROLE yquota_balance_reader;
SET ROLE yquota_balance_reader;
SELECT * FROM yquota.project_balance;
RESET ROLE;
SELECT yquota.allow_role('yquota_balance_reader', 'viewer');
SET ROLE yquota_balance_reader;
SELECT project, remaining, exhausted_at FROM yquota.project_balance ORDER BY project;
SELECT count(*) FROM yquota.exhausted_work;
SELECT container_id, cost FROM yquota.container_cost WHERE container_id = 'l1';
SELECT * FROM yquota.charge;
RESET ROLE;

--
-- All hours of a rate class are one row of the running totals. The totals count from the last full
-- hour in which something was settled.
--
SELECT yquota.set_clock('2026-03-02 14:10:00+00');
INSERT INTO yquota.project (name) VALUES ('hours');
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation)
SELECT 'CONTAINER_START', format('h%s', h), '2026-03-02 10:30:00+00'::timestamptz + h * interval '1 hour', 'hours', '[vcores=1]'
FROM generate_series(0, 3) AS h;
SELECT charged, accrued, burn_rate FROM yquota.project_balance WHERE project = 'hours';
SELECT yquota_internal.compact_counters() > 0 AS compacted;
SELECT reference_at, weight, accrual_base FROM yquota_internal.rate_class_counter WHERE project = 'hours' ORDER BY 1;
SELECT class.shape, class.factors, total.weights = yquota_internal.pack_weights(class.class_id, 4) AS is_four
FROM yquota_internal.running_total AS total, yquota_internal.running_class AS class
WHERE project = 'hours' AND class.shape OPERATOR(yquota.=) '[vcores=1]' GROUP BY 1, 2, total.weights;
-- At 13:00 three containers have run since 10:30, 11:30 and 12:30, together for 4.5 hours. The
-- container of 13:30 counts as minus half an hour. An hour costs 2.5 credits per second.
SELECT reference_at, accrual_base FROM yquota_internal.valid_reference, yquota_internal.project_counter WHERE project = 'hours';
SELECT charged, accrued, burn_rate FROM yquota.project_balance WHERE project = 'hours';
SELECT yquota.set_clock('2026-03-02 16:00:00+00');
SELECT charged, accrued, burn_rate FROM yquota.project_balance WHERE project = 'hours';
SELECT yquota_internal.compact_counters() AS compacted;
SELECT reference_at, accrual_base FROM yquota_internal.valid_reference, yquota_internal.project_counter WHERE project = 'hours';
SELECT charged, accrued, burn_rate FROM yquota.project_balance WHERE project = 'hours';

-- container h0 ends, h4 is reported late, and h5 moves the reference of the totals
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES
	('CONTAINER_FINISH', 'h0', '2026-03-02 15:30:00+00', NULL, NULL),
	('CONTAINER_START', 'h4', '2026-03-02 12:30:00+00', 'hours', '[vcores=2]'),
	('CONTAINER_START', 'h5', '2026-03-02 15:30:00+00', 'hours', '[vcores=1]');
SELECT charged, accrued, burn_rate FROM yquota.project_balance WHERE project = 'hours';
SELECT yquota_internal.compact_counters() > 0 AS compacted;
SELECT reference_at, accrual_base FROM yquota_internal.valid_reference, yquota_internal.project_counter WHERE project = 'hours';
SELECT charged, accrued, burn_rate FROM yquota.project_balance WHERE project = 'hours';
SELECT * FROM yquota.verify();

-- an outage before the reference invalidates the totals until they are computed again
SELECT yquota.report_outage('2026-03-02 12:00+00', '2026-03-02 13:00+00', 'test') IS NOT NULL AS reported;
SELECT count(*) FROM yquota_internal.valid_reference;
SELECT charged, accrued, burn_rate FROM yquota.project_balance WHERE project = 'hours';
SELECT yquota_internal.compact_counters() > 0 AS compacted;
SELECT reference_at, accrual_base FROM yquota_internal.valid_reference, yquota_internal.project_counter WHERE project = 'hours';
SELECT charged, accrued, burn_rate FROM yquota.project_balance WHERE project = 'hours';
SELECT * FROM yquota.verify();
INSERT INTO yquota.container_event (event, container_id, occurred_at)
SELECT 'CONTAINER_FINISH', format('h%s', h), '2026-03-02 16:00:00+00' FROM generate_series(1, 5) AS h;
SELECT charged, accrued, burn_rate FROM yquota.project_balance WHERE project = 'hours';
SELECT yquota_internal.compact_counters() > 0 AS compacted;
SELECT project, weights FROM yquota_internal.running_total WHERE project = 'hours';
SELECT charged, accrued, burn_rate FROM yquota.project_balance WHERE project = 'hours';

--
-- Packed weights may have any size, and classes whose weights add up to zero are left out
--
SELECT yquota_internal.pack_weights(n, w) FROM (VALUES (5, 1), (1, 63), (2, -64), (5, 2), (3, 1e30), (4, 7), (4, -7)) AS v (n, w);
SELECT a.list = b.list AS equal, yquota_internal.merge_weights(a.list, c.list) AS nothing
FROM (SELECT yquota_internal.pack_weights(n, n * 1e9 - 2e10) AS list FROM generate_series(1, 300) AS n) AS a,
	 (SELECT yquota_internal.merge_weights(yquota_internal.pack_weights(n, n * 1e9) FILTER (WHERE n % 3 > 0),
			 yquota_internal.merge_weights(yquota_internal.pack_weights(n, -2e10),
				yquota_internal.pack_weights(n, n * 1e9) FILTER (WHERE n % 3 = 0))) AS list
	  FROM generate_series(1, 300) AS n) AS b,
	 (SELECT yquota_internal.pack_weights(n, 2e10 - n * 1e9) AS list FROM generate_series(1, 300) AS n) AS c;

--
-- The code adds up the costs of many classes in a different way than those of one class. Both ways
-- must give equal amounts. The prices change the dominant resource, and are sometimes zero.
--
INSERT INTO yquota.price (price_group, effective_at, multiplier)
SELECT price_group, '2026-03-02 17:00:00+00'::timestamptz + n * interval '7.000001 seconds',
	   round(n * prime % 97 * CASE WHEN n % 11 < 3 THEN 0 WHEN n % 2 = 0 THEN 1 ELSE 40 END / 7.0, 17)
FROM generate_series(1, 400) AS n, (VALUES ('GENERAL', 31), ('GPU', 53)) AS g (price_group, prime);
SELECT yquota.set_base_price('vcores', 2.25, effective_at => '2026-03-02 17:30:00+00') IS NOT NULL AS set;
SELECT yquota.report_outage('2026-03-02 17:10+00', '2026-03-02 17:11+00', 'test') IS NOT NULL AS reported;
SELECT yquota.set_clock('2026-03-02 18:00:00+00');
CREATE TEMPORARY TABLE held AS
SELECT n, yquota_internal.shape(format('[memory-mb=%s,vcores=%s,yarn.io/gpu=%s]',
	   1024 * (n % 5) + n % 3 * 77, n % 7, n % 4 * (n % 2))::yquota.resource) AS shape
FROM generate_series(1, 60) AS n;
SELECT part.until_at, count(DISTINCT shape) AS shapes, sum(one.accrued) = many.accrued AS equal, many.accrued
FROM (VALUES ('2026-03-02 17:20:00.123456+00'::timestamptz), ('2026-03-02 17:45:00+00'), ('2026-03-02 18:00:00+00')) AS part (until_at)
CROSS JOIN LATERAL (
	SELECT yquota_internal.accrued_sum(shape, NULL, 3, NULL, '2026-03-02 16:00:00+00', part.until_at) AS accrued
	FROM (SELECT shape FROM held ORDER BY n) AS h
) AS many
CROSS JOIN LATERAL (
	SELECT shape, 3 * yquota_internal.accrued(shape, NULL, '2026-03-02 16:00:00+00', part.until_at) AS accrued FROM held
) AS one
GROUP BY part.until_at, many.accrued
ORDER BY part.until_at;

--
-- Settling ahead of the clock, in an hour that has not begun. A later change of prices may affect
-- the time between the reference and that hour. Then the totals must not be used.
--
SELECT yquota.set_multiplier('GENERAL', 1, effective_at => '2026-03-02 18:00:00+00');
SELECT yquota.set_multiplier('GPU', 1, effective_at => '2026-03-02 18:00:00+00');
SELECT yquota.set_clock('2026-03-02 18:58:00+00');
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES
	('CONTAINER_START', 'h6', '2026-03-02 18:30:00+00', 'hours', '[memory-mb=1024]'),
	('CONTAINER_START', 'h7', '2026-03-02 19:01:00+00', 'hours', '[memory-mb=1024]');
SELECT yquota_internal.compact_counters() > 0 AS compacted;
SELECT reference_at, priced_through FROM yquota_internal.running_reference;
SELECT yquota.report_outage('2026-03-02 18:40+00', '2026-03-02 18:50+00', 'test') IS NOT NULL AS reported;
SELECT yquota.set_clock('2026-03-02 20:00:00+00');
SELECT count(*) FROM yquota_internal.valid_reference;
-- 80 and 59 minutes at one credit per second, before and after compaction
SELECT accrued, 139 * 60 AS expected FROM yquota.project_balance WHERE project = 'hours';
SELECT yquota_internal.compact_counters() > 0 AS compacted;
SELECT accrued, 139 * 60 AS expected FROM yquota.project_balance WHERE project = 'hours';
SELECT reference_at, priced_through FROM yquota_internal.running_reference;
SELECT * FROM yquota.verify();

-- a change of prices after the last settlement does not invalidate the totals
SELECT yquota.set_multiplier('GENERAL', 2, effective_at => '2026-03-02 20:00:00+00');
SELECT count(*) FROM yquota_internal.valid_reference;
INSERT INTO yquota.container_event (event, container_id, occurred_at)
SELECT 'CONTAINER_FINISH', unnest(ARRAY['h6', 'h7']), '2026-03-02 20:00:00+00';
SELECT yquota_internal.compact_counters() > 0 AS compacted;
SELECT reference_at, priced_through FROM yquota_internal.running_reference;
SELECT accrued, burn_rate FROM yquota.project_balance WHERE project = 'hours';

-- A session that has cached too many allocations forgets all of them, and must not take an old
-- class for a new one. The cost is 3600 s at 2 x 2 and 2 x 3 credits per second.
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES
	('CONTAINER_START', 'h8', '2026-03-02 20:00:00+00', 'hours', '[memory-mb=2048]'),
	('CONTAINER_START', 'h9', '2026-03-02 20:00:00+00', 'hours', '[memory-mb=3072,vcores=1]');
SELECT yquota_internal.compact_counters() > 0 AS compacted;
SELECT yquota.set_clock('2026-03-02 21:00:00+00');
SELECT accrued, burn_rate FROM yquota.project_balance WHERE project = 'hours';
SELECT count(yquota_internal.accrued(format('[vcores=%s,memory-mb=1]', n)::yquota.resource, NULL,
									 '2026-03-02 10:00:00+00', '2026-03-02 11:00:00+00'))
FROM generate_series(1, 100001) AS n;
SELECT count(yquota_internal.accrued(format('[vcores=%s,memory-mb=1]', n)::yquota.resource, NULL,
									 '2026-03-02 10:00:00+00', '2026-03-02 11:00:00+00'))
FROM generate_series(200001, 201000) AS n;
SELECT yquota.set_clock('2026-03-02 22:00:00+00');
SELECT accrued, burn_rate FROM yquota.project_balance WHERE project = 'hours';

\c postgres
DROP DATABASE yquota_balance;
DROP ROLE yquota_balance_reader;
