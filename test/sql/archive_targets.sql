--
-- Archiving into tables of other servers, and into tables that several clusters share. A vcore
-- costs one credit per second here.
--
CREATE DATABASE yquota_archive_ledger;
CREATE DATABASE yquota_archive_targets;
\c yquota_archive_ledger
-- as in docs/scale-out.md: columns with types of yquota are text here
CREATE TABLE charge (
	container_id text, project text, application_id text, username text, queue text, node text, execution_type text,
	allocation text, started_at timestamptz, "from" timestamptz, "to" timestamptz, booked_at timestamptz,
	number integer, corrects integer, settled_by text, exit_status integer, padding interval, dominant text,
	amount numeric, given_back numeric, waiting_factor numeric, cluster text, stretch integer,
	PRIMARY KEY (cluster, container_id, number));
CREATE TABLE container_event (
	event text, container_id text, occurred_at timestamptz, project text, application_id text, username text, queue text,
	node text, allocation text, execution_type text, exit_status integer, source text, recorded_at timestamptz,
	priority integer, allocation_request_id bigint, asked_label text, is_am boolean, is_running boolean,
	event_id bigint, cluster text, stretch integer, PRIMARY KEY (cluster, event_id));
-- rows that another cluster has archived
INSERT INTO charge (container_id, project, amount, number, cluster, stretch) VALUES ('theirs', 'lab', 77, 1, 'south', 1);
\c yquota_archive_targets
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS yquota;
CREATE EXTENSION postgres_fdw;
SET timezone = 'UTC';
SET datestyle = 'ISO';
\set SHOW_CONTEXT never
SELECT format('OPTIONS (host %L, port %L, dbname ''yquota_archive_ledger'', batch_size ''100'')',
			  split_part(current_setting('unix_socket_directories'), ',', 1), current_setting('port')) AS options \gset
CREATE SERVER ledger FOREIGN DATA WRAPPER postgres_fdw :options;
CREATE USER MAPPING FOR CURRENT_USER SERVER ledger;
CREATE SCHEMA shared;
IMPORT FOREIGN SCHEMA public FROM SERVER ledger INTO shared;
SELECT yquota.set_clock('2026-03-02 10:00');
INSERT INTO yquota.cluster_setting (cluster_name) VALUES ('north');
INSERT INTO yquota.project (name) VALUES ('lab'), ('ops');
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, username, queue, allocation) VALUES
	('CONTAINER_START', 'a', '2026-03-02 09:00', 'lab', 'ann', 'root.a', '[vcores=1]'), ('CONTAINER_START', 'b', '2026-03-02 09:00', 'ops', 'bob', NULL, '[memory-mb=2048,vcores=2]'),
	('CONTAINER_START', 'late', '2026-03-02 09:00', 'lab', 'ann', 'root.a', '[vcores=1]'), ('CONTAINER_START', 'runs', '2026-03-02 09:00', 'ops', 'bob', NULL, '[vcores=1]');
INSERT INTO yquota.container_event (event, container_id, occurred_at) VALUES
	('CONTAINER_FINISH', 'a', '2026-03-02 09:10'), ('CONTAINER_FINISH', 'b', '2026-03-02 09:20'), ('CONTAINER_FINISH', 'late', '2026-03-02 09:30');
SELECT yquota.seal_history();
SELECT yquota.set_clock('2026-03-02 10:30');
CREATE VIEW told AS
	SELECT concat(c) AS line FROM yquota.charge AS c UNION ALL SELECT concat(e) FROM yquota.container_event AS e
	UNION ALL SELECT concat(b) FROM yquota.project_balance AS b UNION ALL SELECT concat(v) FROM yquota.verify() AS v;
CREATE TABLE told_before AS SELECT line FROM told;
CREATE FUNCTION difference() RETURNS TABLE (line text) LANGUAGE sql
	AS 'WITH now AS MATERIALIZED (TABLE told) (TABLE now EXCEPT ALL TABLE told_before) UNION ALL (TABLE told_before EXCEPT ALL TABLE now)';

-- a table of another server needs columns that name the cluster and the segment of each row
CREATE SCHEMA plain;
IMPORT FOREIGN SCHEMA public LIMIT TO (charge) FROM SERVER ledger INTO plain;
ALTER FOREIGN TABLE plain.charge DROP COLUMN cluster, DROP COLUMN stretch;
SELECT * FROM yquota.archive('plain.charge', 'infinity');
CREATE TABLE shared.parts (LIKE yquota.charge) PARTITION BY LIST (project);
CREATE FOREIGN TABLE shared.part PARTITION OF shared.parts DEFAULT SERVER ledger OPTIONS (schema_name 'public', table_name 'charge');
SELECT * FROM yquota.archive('shared.parts', 'infinity');
ALTER FOREIGN TABLE plain.charge ADD COLUMN cluster text, ADD COLUMN stretch bigint;
SELECT * FROM yquota.archive('plain.charge', 'infinity');
DROP TABLE shared.parts;

-- archiving takes two calls in separate transactions, and reports show the same amounts between the
-- calls
BEGIN;
SELECT segments, archived, charged, status FROM yquota.archive('shared.charge', 'infinity');
SELECT segments, archived, charged, status FROM yquota.archive('shared.charge', 'infinity');
ROLLBACK;
SELECT count(*) FROM shared.charge WHERE cluster = 'north';
SELECT segments, archived, charged, digest, status FROM yquota.archive('shared.charge', 'infinity');
SELECT segment, history, target, cluster FROM yquota.written_history;
SELECT container_id, project, allocation, amount, cluster, stretch FROM shared.charge ORDER BY cluster, container_id, number;
SELECT * FROM difference();
-- a written segment cannot be archived into another table, and the cluster's name cannot change
CREATE TABLE elsewhere (LIKE yquota.charge);
SELECT * FROM yquota.archive('elsewhere', 'infinity');
DELETE FROM yquota.cluster_setting;
-- the other server computes the compared sums
CREATE FUNCTION plan_of_comparison() RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || yquota_internal.comparison_query(
		'shared.charge', yquota_internal.own_rows('{1}'), 'yquota.charge', 'shared.charge') LOOP
		RETURN NEXT line;
	END LOOP;
END $$;
SELECT * FROM plan_of_comparison();

-- an incomplete set of rows is written again
DELETE FROM shared.charge WHERE cluster = 'north' AND container_id = 'b';
SELECT archived, status FROM yquota.archive('shared.charge', 'infinity');
UPDATE shared.charge SET amount = amount + 1 WHERE container_id = 'a';
SELECT archived, status FROM yquota.archive('shared.charge', 'infinity');
-- When an event arrives here after the write, archive() also writes the rows again. The container
-- of the event stays in the ledger for now.
INSERT INTO yquota.container_event (event, container_id, occurred_at) VALUES ('CONTAINER_FINISH', 'late', '2026-03-02 09:25');
SELECT archived, status FROM yquota.archive('shared.charge', 'infinity');
SELECT container_id FROM shared.charge WHERE cluster = 'north' ORDER BY 1;

-- the other server cannot be reached
DELETE FROM told_before;
INSERT INTO told_before SELECT line FROM told;
ALTER SERVER ledger OPTIONS (SET dbname 'nowhere');
\set VERBOSITY sqlstate
SELECT archived, status FROM yquota.archive('shared.charge', 'infinity');
\set VERBOSITY default
ALTER SERVER ledger OPTIONS (SET dbname 'yquota_archive_ledger');
SELECT * FROM difference();
SELECT segments, archived, charged, status FROM yquota.archive('shared.charge', 'infinity');
SELECT * FROM yquota.written_history;
SELECT segment, history, target, cluster FROM yquota.archived_history;
SELECT archive.project, archive.archived, archive.charged, archive.digest = opening.digest AS is_right
FROM yquota.archive_digest('shared.charge') AS archive JOIN yquota.opening_balance AS opening USING (project) ORDER BY 1;
SELECT * FROM yquota.verify();
SELECT container_id, number, amount FROM yquota.charge ORDER BY 1, 2;
SELECT project, charged, accrued FROM yquota.project_balance ORDER BY project;
SELECT yquota.explain_charge('a');
-- explain_charge() does not show a container of another cluster
SELECT yquota.explain_charge('theirs');
-- the other server is asked only for one container, or for the time around an instant
CREATE FUNCTION remote_query(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (VERBOSE, COSTS OFF) ' || query LOOP
		IF line ~ 'Remote SQL|Filter' THEN
			RETURN NEXT trim(line);
		END IF;
	END LOOP;
END $$;
SELECT * FROM remote_query(yquota_internal.archived_charges_query('shared.charge', '{1}', format('r.container_id = %L', 'a')));
SELECT * FROM remote_query(yquota_internal.archived_charges_query('shared.charge', '{1}',
	format('r.project = ANY (%L) AND r."to" >= %L AND r."from" <= %L', '{lab}'::text[], '2026-03-02 09:05:00Z', '2026-03-02 09:14:59.999999Z')));
SELECT spent, burn_rate FROM yquota.balance_at('lab', '2026-03-02 09:07:00.000001');
-- members see the archived charges of their projects without any privilege on the archive
CREATE ROLE yquota_test_archived;
SELECT yquota.allow_role('yquota_test_archived', 'member', 'lab');
SET SESSION AUTHORIZATION yquota_test_archived;
SELECT "from", "to", amount FROM yquota.explain_charge('a');
SELECT * FROM yquota.explain_charge('b');
SELECT spent, burn_rate FROM yquota.balance_at('lab', '2026-03-02 09:07:00.000001');
SELECT * FROM yquota.balance_at('ops', '2026-03-02 09:07');
SELECT count(*) FROM shared.charge;
RESET SESSION AUTHORIZATION;
-- a change in the archive is noticed
UPDATE shared.charge SET amount = amount - 1 WHERE container_id = 'a';
SELECT * FROM yquota.explain_charge('a');
SELECT * FROM yquota.balance_at('lab', '2026-03-02 09:07');
UPDATE shared.charge SET amount = amount + 1 WHERE container_id = 'a';
-- reports fail while the other server cannot be reached, and while the table has another name
ALTER SERVER ledger OPTIONS (SET dbname 'nowhere');
SELECT * FROM yquota.explain_charge('a');
SELECT * FROM yquota.balance_at('lab', '2026-03-02 09:07');
SELECT sum(amount) FROM yquota.explain_charge('late');
SELECT spent FROM yquota.balance_at('lab', '2026-03-02 10:30');
ALTER SERVER ledger OPTIONS (SET dbname 'yquota_archive_ledger');
ALTER FOREIGN TABLE shared.charge RENAME TO elsewhere;
SELECT * FROM yquota.explain_charge('a');
SELECT * FROM yquota.balance_at('lab', '2026-03-02 09:07');
CREATE VIEW shared.charge AS SELECT * FROM shared.elsewhere;
SELECT * FROM yquota.explain_charge('a');
DROP VIEW shared.charge;
ALTER FOREIGN TABLE shared.elsewhere RENAME TO charge;

-- the log is archived in the same way
SELECT segments, archived, status FROM yquota.archive('shared.container_event', 'infinity');
SELECT segments, archived, status FROM yquota.archive('shared.container_event', 'infinity');
SELECT segments, archived, status FROM yquota.archive('shared.container_event', 'infinity');
SELECT event, container_id, occurred_at, cluster, stretch FROM shared.container_event ORDER BY occurred_at, container_id;

-- The target has rows of a transaction that failed here, and rows that are not this cluster's.
INSERT INTO yquota.container_event (event, container_id, occurred_at) VALUES ('CONTAINER_FINISH', 'runs', '2026-03-02 10:20');
SELECT yquota.seal_history();
INSERT INTO shared.charge (container_id, project, amount, number, cluster, stretch) VALUES ('runs', 'ops', 1, 1, 'north', 2), ('strange', 'ops', 1, 1, 'north', 2);
SELECT archived, status FROM yquota.archive('shared.charge', 'infinity');
DELETE FROM shared.charge WHERE container_id = 'strange';
SELECT archived, status FROM yquota.archive('shared.charge', 'infinity');
-- The target of written segments has gone. The new target is a local table, with or without the two
-- columns.
DROP FOREIGN TABLE shared.charge;
CREATE TABLE kept (LIKE yquota.charge);
ALTER TABLE kept ADD COLUMN cluster text, ADD COLUMN stretch integer;
SELECT archived, charged, status FROM yquota.archive('kept', 'infinity');
SELECT container_id, number, amount, cluster, stretch FROM kept ORDER BY 1, 2;
SELECT * FROM yquota.written_history;
SELECT * FROM yquota.verify();

\c postgres
DROP DATABASE yquota_archive_targets;
DROP DATABASE yquota_archive_ledger;
DROP ROLE yquota_test_archived;
