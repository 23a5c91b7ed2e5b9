--
-- Cutover from another system, as docs/feeding.md describes it. Both systems charge side by side
-- for a day, balances are transferred, and nothing is charged twice. A vcore costs one credit per
-- second.
--
CREATE DATABASE yquota_cutover;
\c yquota_cutover
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS yquota;
SET timezone = 'UTC';
SET datestyle = 'ISO';
\set SHOW_CONTEXT never
SELECT yquota.set_clock('2026-03-31 12:00+00');
SELECT yquota.open_books('2026-04-01 00:00+00');
SELECT yquota.open_books('2026-04-01 00:00+00');
INSERT INTO yquota.project (name) VALUES ('lab'), ('web');
-- side by side: running containers are loaded with their creation times, and cost nothing
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES
	('CONTAINER_START', 'old', '2026-03-01 00:00+00', 'lab', '[vcores=1]'),
	('CONTAINER_START', 'done', '2026-03-31 10:00+00', 'web', '[vcores=1]'), ('CONTAINER_FINISH', 'done', '2026-03-31 11:00+00', NULL, NULL);
SELECT project, charged, accrued, burn_rate FROM yquota.project_balance ORDER BY project;
-- the cutover grants the balances of the other system
SELECT yquota.set_clock('2026-04-01 00:00+00');
INSERT INTO yquota.quota_grant (project, amount, reason, external_id) VALUES
	('lab', 5000.25, 'balance of the other system', 'cutover lab'), ('web', -7, 'balance of the other system', 'cutover web');
SELECT project, granted, charged, accrued, remaining FROM yquota.project_balance ORDER BY project;
SELECT yquota.set_clock('2026-04-01 01:00+00');
INSERT INTO yquota.container_event (event, container_id, occurred_at) VALUES ('CONTAINER_FINISH', 'old', '2026-04-01 00:30+00');
SELECT container_id, started_at, "from", "to", amount FROM yquota.charge ORDER BY container_id;
SELECT project, remaining FROM yquota.project_balance ORDER BY project;
-- on the way back, the other system gets the charges made here since the cutover
SELECT project, amount FROM yquota.cost_between('2026-04-01', 'infinity') ORDER BY project;
SELECT * FROM yquota.verify();
-- bad input
SELECT yquota.open_books('2026-04-02 00:00+00');
SELECT yquota.open_books(NULL);
SELECT yquota.open_books('infinity');
SELECT yquota.open_books('1969-04-02 00:00+00');

\c postgres
DROP DATABASE yquota_cutover;
