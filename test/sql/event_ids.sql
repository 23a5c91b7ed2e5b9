--
-- Long container ids: ids that an index compresses, also in a sealed segment of the ledger, and ids
-- that no index can hold.
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
-- Ids that are compressed in the index: many of them are found in one scan of it
--
SET statement_timeout = '60s';
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation)
	SELECT 'CONTAINER_START', id, '2026-03-02 09:00', 'lab', '[vcores=1]' FROM long_id;
INSERT INTO yquota.container_event (event, container_id, occurred_at)
	SELECT 'CONTAINER_FINISH', id, '2026-03-02 09:01' FROM long_id;
SELECT count(*) FROM yquota.container;
SELECT count(*), sum(amount) FROM yquota.charge;

-- all events again change nothing
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation)
	SELECT 'CONTAINER_START', id, '2026-03-02 09:00', 'lab', '[vcores=1]' FROM long_id;
SELECT count(*), sum(amount) FROM yquota.charge;

--
-- An index in another order is not used as the index on container_id, even if it is the older one
-- in a sealed segment
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

-- Other names are limited so that all names of a counter together fit its indexes.
CREATE FUNCTION random_name(bytes integer) RETURNS text LANGUAGE sql IMMUTABLE
	RETURN (SELECT left(string_agg(md5(n::text), '' ORDER BY n), bytes) FROM generate_series(1, 63) AS n);
\set VERBOSITY terse
INSERT INTO yquota.node (name, total) VALUES (random_name(256), '[]');
INSERT INTO yquota.node (name, total, label) VALUES ('n1', '[]', random_name(256));
INSERT INTO yquota.project (name) VALUES (random_name(256));
\set VERBOSITY default
INSERT INTO yquota.project (name) VALUES (random_name(255));
INSERT INTO yquota.node (name, total, label) VALUES (random_name(255), '[]', random_name(255));
INSERT INTO yquota.container_event
		(event, container_id, project, application_id, username, queue, node, source, asked_label, allocation)
	VALUES ('CONTAINER_START', 'long_names', random_name(255), random_name(255), random_name(255), random_name(2000),
			random_name(255), random_name(255), random_name(2016), '[memory-mb=1]');
INSERT INTO yquota.container_event
		(event, container_id, project, application_id, username, queue, node, source, allocation)
	SELECT 'CONTAINER_START', 'too_long', 'lab', n.names[1], n.names[2], n.names[3], n.names[4], n.names[5], '[]'
	FROM (SELECT ARRAY(SELECT CASE WHEN place = too_long THEN random_name(CASE place WHEN 3 THEN 2001 ELSE 256 END) END
					   FROM generate_series(1, 5) AS place ORDER BY place) AS names
		  FROM generate_series(1, 5) AS too_long) AS n;
INSERT INTO yquota.container_event (event, container_id, project, allocation)
	VALUES ('CONTAINER_START', 'too_long', random_name(256), '[]');
INSERT INTO yquota.container_event (event, source) VALUES ('QUOTA_COMPUTE', random_name(256));
SELECT event, sqlstate, reason FROM yquota.event_reject WHERE container_id IS NULL OR container_id = 'too_long' ORDER BY reason, event;
SELECT yquota_internal.compact_counters() > 0 AS compacted;
SELECT octet_length(queue) AS queue, octet_length(label) AS label, octet_length(username) AS username, containers
	FROM yquota_internal.usage_counter WHERE username <> '';
SELECT * FROM yquota.verify();

\c postgres
DROP DATABASE yquota_event_ids;
