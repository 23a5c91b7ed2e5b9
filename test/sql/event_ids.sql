--
-- Long container ids: those that an index compresses, the same in a sealed
-- segment of the ledger, and those that no index can hold.
--
CREATE DATABASE yquota_event_ids;
\c yquota_event_ids
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS yquota;
SET timezone = 'UTC';
SET datestyle = 'ISO';
\set SHOW_CONTEXT never
SELECT yquota.set_clock('2026-03-02 10:00');
INSERT INTO yquota.project (name) VALUES ('lab');
CREATE VIEW long_id AS SELECT repeat('application_', 60) || n AS id FROM generate_series(100, 399) AS n;

--
-- Ids that are compressed in the index: many of them are found going along it
--
SET statement_timeout = '60s';
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation)
	SELECT 'CONTAINER_START', id, '2026-03-02 09:00', 'lab', '[vcores=1]' FROM long_id;
INSERT INTO yquota.container_event (event, container_id, occurred_at)
	SELECT 'CONTAINER_FINISH', id, '2026-03-02 09:01' FROM long_id;
SELECT count(*) FROM yquota.container;
SELECT count(*), sum(amount) FROM yquota.charge;

-- all again: no-ops
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation)
	SELECT 'CONTAINER_START', id, '2026-03-02 09:00', 'lab', '[vcores=1]' FROM long_id;
SELECT count(*), sum(amount) FROM yquota.charge;

--
-- An index in another order is not taken for that on container_id, although it
-- is the elder one of a sealed segment
--
CREATE INDEX charge_descending_idx ON yquota.charge (container_id DESC);
REINDEX INDEX CONCURRENTLY yquota.charge_container_id_idx;
SELECT yquota.set_clock('2026-03-02 11:00');
SELECT yquota.seal_history() IS NOT NULL AS sealed;
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation)
	SELECT 'CONTAINER_START', id, '2026-03-02 09:00', 'lab', '[vcores=1]' FROM long_id;
SELECT count(*) FROM yquota.container;
SELECT count(*), sum(amount) FROM yquota.charge;
RESET statement_timeout;

--
-- Ids that are too long
--
INSERT INTO yquota.container_event (event, container_id, project, allocation)
	SELECT 'CONTAINER_START', left(string_agg(md5(n::text), ''), 2600), 'lab', '[]' FROM generate_series(1, 200) AS n;
\set VERBOSITY terse
INSERT INTO yquota.container_event (event, container_id, project, allocation)
	VALUES ('CONTAINER_START', repeat('x', 2601), 'lab', '[]');
\set VERBOSITY default
SET yquota.on_bad_event = set_aside;
INSERT INTO yquota.container_event (event, container_id, project, allocation)
	SELECT event, container_id, 'lab', '[]'
	FROM (SELECT string_agg(md5(n::text), '') AS container_id FROM generate_series(1, 200) AS n) AS ids,
		unnest('{CONTAINER_START,CONTAINER_UPDATE,CONTAINER_FINISH}'::yquota.container_event_type[]) AS event;
SELECT event, waiting, sqlstate, reason FROM yquota.event_reject ORDER BY event;
SELECT * FROM yquota.verify();

\c postgres
DROP DATABASE yquota_event_ids;
