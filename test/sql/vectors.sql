--
-- The vectors that Hops asserts about charges, and vectors derived from its formulas, one with a
-- minimum run time of 10 s. The test uses its own database, because prices and the clock are
-- global.
--
\set home :DBNAME
CREATE DATABASE yquota_vectors;
\c yquota_vectors
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS yquota;
SET timezone = 'UTC';
SET datestyle = 'ISO, YMD';

--
-- 6.2: 45 containers of 1024 MB and 1 vcore are created at 0 s, and attempt i has i containers.
--
SELECT yquota.set_clock('2026-03-02 00:00:00+00');
INSERT INTO yquota.charging_rule (effective_at, minimum_run_time) VALUES ('-infinity', '10 s');
INSERT INTO yquota.project (name) VALUES ('Project07');
INSERT INTO yquota.quota_grant (project, amount, reason) VALUES ('Project07', 50, 'initial credit');

CREATE TEMPORARY TABLE attempt_container AS
	SELECT attempt, format('container_%s_%s', attempt, number) AS container_id
	FROM generate_series(0, 9) attempt, generate_series(1, attempt) number;

-- Return what containers of some attempts have cost beyond the charges of the earlier steps.
PREPARE added (integer, integer, numeric) AS
	SELECT count(*) AS containers, trim_scale(cost - $3) AS each,
		   trim_scale(sum(cost - $3)) AS subtotal
	FROM yquota.container_cost JOIN attempt_container USING (container_id)
	WHERE attempt BETWEEN $1 AND $2
	GROUP BY cost;

INSERT INTO yquota.container_event
	(event, container_id, occurred_at, username, application_id, allocation)
	SELECT 'CONTAINER_START', container_id, '2026-03-02 00:00:00+00', 'Project07__rizvi',
		   'attempt_' || attempt, '[memory-mb=1024,vcores=1]'
	FROM attempt_container;
SELECT count(*), min(project) AS project, min(username) AS username FROM yquota.container;

-- V1: the containers finish after a second, and are charged for ten
INSERT INTO yquota.container_event (event, container_id, occurred_at)
	SELECT 'CONTAINER_FINISH', container_id, '2026-03-02 00:00:01+00'
	FROM attempt_container WHERE attempt IN (1, 2);
EXECUTE added (1, 2, 0);

-- V2: the other containers are charged for ten seconds
SELECT yquota.set_clock('2026-03-02 00:00:10+00');
INSERT INTO yquota.container_event (event) VALUES ('QUOTA_COMPUTE');
EXECUTE added (3, 9, 0);

-- V3: these containers finish nine seconds later, and the minimum is not charged again
SELECT yquota.set_clock('2026-03-02 00:00:19+00');
INSERT INTO yquota.container_event (event, container_id, occurred_at)
	SELECT 'CONTAINER_FINISH', container_id, '2026-03-02 00:00:19+00'
	FROM attempt_container WHERE attempt BETWEEN 3 AND 5;
EXECUTE added (3, 5, 10);

-- V4: until an update the old size is charged
SELECT yquota.set_clock('2026-03-02 00:00:20+00');
INSERT INTO yquota.container_event (event, container_id, occurred_at, allocation)
	SELECT 'CONTAINER_UPDATE', container_id, '2026-03-02 00:00:20+00', '[memory-mb=2048,vcores=1]'
	FROM attempt_container WHERE attempt >= 6;
EXECUTE added (6, 9, 10);

-- V5: after the update the new size of two units of memory is charged
SELECT yquota.set_clock('2026-03-02 00:00:30+00');
INSERT INTO yquota.container_event (event, container_id, occurred_at)
	SELECT 'CONTAINER_FINISH', container_id, '2026-03-02 00:00:30+00'
	FROM attempt_container WHERE attempt >= 6;
EXECUTE added (6, 9, 20);

-- V6: the project
SELECT trim_scale(granted) AS granted, trim_scale(charged) AS used, trim_scale(accrued) AS accrued,
	   trim_scale(remaining) AS remaining
FROM yquota.project_balance WHERE project = 'Project07';

-- V7: its day
SELECT day, project, username, trim_scale(sum(amount)) AS amount
FROM yquota.daily_cost GROUP BY day, project, username;
SELECT * FROM yquota.verify();

--
-- 6.6: a charge does not depend on the quota mode of a project or on its remaining credit. Running
-- work may make the balance negative.
--
SELECT yquota.set_clock('2026-03-02 01:00:00+00');
INSERT INTO yquota.project (name, quota_mode, on_exhausted) VALUES
	('prepaid0', 'PREPAID', 'allow'), ('prepaid-10', 'PREPAID', 'stop'),
	('prepaid1', 'PREPAID', 'drain'), ('prepaid1000', 'PREPAID', 'stop'),
	('nolimit0', 'NOLIMIT', 'stop'), ('nolimit-10', 'NOLIMIT', 'stop');
INSERT INTO yquota.quota_grant (project, amount, reason)
	SELECT name, replace(replace(name, 'prepaid', ''), 'nolimit', '')::numeric, 'initial credit'
	FROM yquota.project WHERE name <> 'Project07';
SELECT project, quota_mode, trim_scale(remaining) AS remaining
FROM yquota.project_balance WHERE project <> 'Project07' ORDER BY project COLLATE "C";

INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation)
	SELECT 'CONTAINER_START', 'container_' || name, '2026-03-02 01:00:00+00', name, '[vcores=2]'
	FROM yquota.project WHERE name <> 'Project07';
SELECT yquota.set_clock('2026-03-02 01:01:00+00');
SELECT project, trim_scale(accrued) AS accrued, trim_scale(remaining) AS remaining, exhausted_at
FROM yquota.project_balance WHERE project <> 'Project07' ORDER BY project COLLATE "C";
SELECT project, on_exhausted, trim_scale(remaining) AS remaining, container_id
FROM yquota.exhausted_work ORDER BY project COLLATE "C";

INSERT INTO yquota.container_event (event, container_id, occurred_at)
	SELECT 'CONTAINER_FINISH', container_id, '2026-03-02 01:01:00+00' FROM yquota.container;
SELECT project, trim_scale(charged) AS charged, trim_scale(accrued) AS accrued,
	   trim_scale(remaining) AS remaining
FROM yquota.project_balance WHERE project <> 'Project07' ORDER BY project COLLATE "C";
SELECT count(*) FROM yquota.exhausted_work;

--
-- 6.7: the dearest resource is charged; its units, multipliers and base prices
-- are those of the vector.
--
SELECT yquota.set_clock('2026-03-03 00:00:00+00');
INSERT INTO yquota.charging_rule (effective_at, minimum_run_time) VALUES ('2026-03-03', '0');
INSERT INTO yquota.project (name) VALUES ('vectors');
CREATE TEMPORARY TABLE vector (number integer, ms integer, vcores integer, mb integer, gpu integer,
	m_general numeric, m_gpu numeric, b_general numeric, b_gpu numeric, charge numeric, dominant text,
	start timestamptz);
INSERT INTO vector VALUES
	(1, 10000, 1, 128, 0, 1, 1, 1, 1, 10, 'vcores'),
	(2, 10000, 4, 2048, 1, 4, 17, 1, 1, 170, 'yarn.io/gpu'),
	(3, 10000, 8, 2048, 1, 1, 1, 1, 1, 80, 'vcores'),
	(4, 3600000, 2, 4096, 1, 1.5, 1.8, 1, 2, 21600, 'memory-mb'),
	(5, 500, 1, 1536, 0, 1, 1, 1, 1, 0.75, 'memory-mb');
UPDATE vector SET start = timestamptz '2026-03-03 00:00:00+00' + number * interval '2 h';
SELECT count(yquota.set_multiplier('GENERAL', m_general, start)),
	   count(yquota.set_multiplier('GPU', m_gpu, start)),
	   count(yquota.set_base_price('vcores', b_general, 1, start)),
	   count(yquota.set_base_price('memory-mb', b_general, 1024, start)),
	   count(yquota.set_base_price('yarn.io/gpu', b_gpu, 1, start))
FROM vector;
SELECT yquota.set_clock('2026-03-04 00:00:00+00');
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation)
	SELECT event, 'vector_' || number,
		   CASE event WHEN 'CONTAINER_START' THEN start ELSE start + ms * interval '1 ms' END, 'vectors',
		   CASE event WHEN 'CONTAINER_START'
		   THEN format('[memory-mb=%s,vcores=%s,yarn.io/gpu=%s]', mb, vcores, gpu)::yquota.resource END
	FROM vector, unnest('{CONTAINER_START,CONTAINER_FINISH}'::yquota.container_event_type[]) event;
SELECT vector.number, trim_scale(charge.amount) AS amount, trim_scale(charge.amount) = vector.charge AS as_expected,
	   charge.dominant, charge.dominant = vector.dominant AS as_expected
FROM vector JOIN yquota.charge ON charge.container_id = 'vector_' || vector.number
ORDER BY vector.number;
SELECT trim_scale(charged) AS charged FROM yquota.project_balance WHERE project = 'vectors';
SELECT * FROM yquota.verify();

\c :home
DROP DATABASE yquota_vectors;
