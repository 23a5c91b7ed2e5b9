--
-- Filters of the container ids of sealed history: with one, without one and
-- with one that is out of date an INSERT of events finds the same containers.
--
CREATE DATABASE yquota_bloom_filter;
\c yquota_bloom_filter
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS yquota;
SET timezone = 'UTC';
\set SHOW_CONTEXT never
SELECT yquota.set_clock('2026-03-02 10:00');
INSERT INTO yquota.project (name) VALUES ('lab');

-- ids of many lengths, some of many bytes a character
CREATE TABLE container AS
SELECT i, CASE i % 4 WHEN 0 THEN format('container_e17_1700000000000_0001_01_%s', to_char(i, 'FM000000'))
					 WHEN 1 THEN md5(i::text)::uuid::text
					 WHEN 2 THEN repeat(i::text, 1 + i % 50)
					 ELSE format('контейнер %s', i) END AS id
FROM generate_series(1, 4000) AS i;
CREATE FUNCTION send_lives(first integer, last integer) RETURNS void LANGUAGE sql BEGIN ATOMIC
	INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation)
	SELECT 'CONTAINER_START', id, '2026-03-02 09:00', 'lab', '[vcores=1]' FROM container WHERE i BETWEEN first AND last;
	INSERT INTO yquota.container_event (event, container_id, occurred_at)
	SELECT 'CONTAINER_FINISH', id, '2026-03-02 09:01' FROM container WHERE i BETWEEN first AND last;
END;
SELECT send_lives(1, 1500);
SELECT yquota.seal_history();
SELECT send_lives(1501, 3000);
SELECT yquota.seal_history();
SELECT send_lives(3001, 3500);
SELECT yquota.seal_history();

-- One at a time.  The worker does it.
SELECT yquota_internal.tend_history();
SELECT yquota_internal.tend_history();
SELECT yquota_internal.has_bloom_filter('yquota_internal.charge_sealed_1'),
	   yquota_internal.has_bloom_filter('yquota_internal.charge_sealed_2'),
	   yquota_internal.has_bloom_filter('yquota_internal.charge_sealed_3');

-- and an index of its applications
SELECT indrelid::regclass, pg_get_indexdef(indexrelid) FROM pg_index
WHERE indrelid = 'yquota_internal.charge_sealed_1'::regclass ORDER BY 2;

-- All is known that was, in batches and one by one; what is new is charged
CREATE VIEW books AS
	SELECT count(*) AS charges, count(DISTINCT container_id) AS containers, trim_scale(sum(amount)) AS amount
	FROM yquota.charge;
SELECT * FROM books;
SELECT send_lives(1, 3500);
SELECT count(send_lives(i, i)) FROM generate_series(1, 3500, 7) AS i;
SELECT * FROM books;
SELECT send_lives(1, 4000);
SELECT * FROM books;
SELECT * FROM yquota.verify();

-- A filter is worth having: it rules out nearly all ids that are not there.
-- Asked here by how often the index of the table is looked into.
SELECT yquota_internal.tend_history();
SELECT yquota_internal.tend_history();
CREATE VIEW looks_into_indexes AS
	SELECT sum(idx_scan) AS looks FROM pg_stat_all_indexes
	WHERE indexrelname LIKE 'charge_sealed_%_container_id_idx';
SELECT pg_stat_force_next_flush();
SELECT looks AS looks_before FROM looks_into_indexes \gset
INSERT INTO container SELECT 10000 + i, 'new ' || i FROM generate_series(1, 2000) AS i;
SELECT count(send_lives(i, i)) FROM generate_series(10001, 12000) AS i;
SELECT pg_stat_force_next_flush();
SELECT looks - :looks_before < 3 * 2000 * 0.05 AS few FROM looks_into_indexes;
SELECT * FROM books;

-- A table that has been written anew is not what its filter was made of
VACUUM FULL yquota_internal.charge_sealed_1;
SELECT yquota_internal.has_bloom_filter('yquota_internal.charge_sealed_1');
SELECT send_lives(1, 1500);
SELECT * FROM books;
SELECT yquota_internal.tend_history();
SELECT yquota_internal.has_bloom_filter('yquota_internal.charge_sealed_1');
SELECT send_lives(1, 1500);
SELECT * FROM books;

-- nor is a filter that somebody has touched
TRUNCATE yquota_internal.charge_sealed_2_filter;
SELECT yquota_internal.has_bloom_filter('yquota_internal.charge_sealed_2');
SELECT send_lives(1501, 3000);
SELECT * FROM books;

-- nor one that lacks pages, which must not be looked for.  An autovacuum that reads
-- a table of the database would keep deleted rows from being removed.
CREATE PROCEDURE wait_for_snapshots() LANGUAGE plpgsql AS $$
BEGIN
	WHILE EXISTS (SELECT FROM pg_stat_activity
				  WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_xmin IS NOT NULL) LOOP
		PERFORM pg_sleep(0.01);
		PERFORM pg_stat_clear_snapshot();
	END LOOP;
END
$$;
DELETE FROM yquota_internal.charge_sealed_1_filter
WHERE ctid <> (SELECT min(ctid) FROM yquota_internal.charge_sealed_1_filter);
CALL wait_for_snapshots();
VACUUM yquota_internal.charge_sealed_1_filter;
SELECT pg_relation_size('yquota_internal.charge_sealed_1_filter') / current_setting('block_size')::integer AS pages,
	   yquota_internal.has_bloom_filter('yquota_internal.charge_sealed_1');
SELECT send_lives(1, 1500);
SELECT * FROM books;

-- A restore makes a table before it brings rows, and the worker may come in
-- between, or between two rows.
SELECT yquota_internal.tend_history() FROM generate_series(1, 2);
CREATE TABLE rows_of_3 AS SELECT * FROM yquota_internal.charge_sealed_3 ORDER BY container_id;
DELETE FROM yquota_internal.charge_sealed_3;
CALL wait_for_snapshots();
VACUUM yquota_internal.charge_sealed_3;
SELECT pg_relation_size('yquota_internal.charge_sealed_3') AS size;
SELECT yquota_internal.tend_history();
SELECT yquota_internal.has_bloom_filter('yquota_internal.charge_sealed_3');
INSERT INTO yquota_internal.charge_sealed_3 SELECT * FROM rows_of_3 LIMIT 10;
SELECT yquota_internal.has_bloom_filter('yquota_internal.charge_sealed_3');
SELECT yquota_internal.tend_history();
SELECT yquota_internal.has_bloom_filter('yquota_internal.charge_sealed_3');
INSERT INTO yquota_internal.charge_sealed_3 SELECT * FROM rows_of_3 OFFSET 10 LIMIT 1;
SELECT yquota_internal.has_bloom_filter('yquota_internal.charge_sealed_3');
INSERT INTO yquota_internal.charge_sealed_3 SELECT * FROM rows_of_3 OFFSET 11;
SELECT send_lives(3001, 3500);
SELECT * FROM books;
SELECT * FROM yquota.verify();

-- Rows that were never committed may have lost what was kept out of line.
INSERT INTO container
SELECT 20000, string_agg(encode(sha256(i::text::bytea), 'hex'), '') FROM generate_series(1, 40) AS i;
BEGIN;
SELECT send_lives(20000, 20000);
ROLLBACK;
SELECT send_lives(12000, 12000);
SELECT 'pg_toast.pg_toast_' || 'yquota.charge'::regclass::oid AS toast \gset
VACUUM :toast;
SELECT yquota.seal_history();
SELECT yquota_internal.tend_history() FROM generate_series(1, 2);

-- A filter is written where it is made, or not at all.
BEGIN;
CREATE TABLE filter (bits bytea NOT NULL);
ALTER TABLE filter ALTER COLUMN bits SET STORAGE PLAIN;
SAVEPOINT inner_transaction;
SELECT yquota_internal.fill_bloom_filter('filter', 'yquota_internal.charge_sealed_1', 'container_id');
ROLLBACK;

-- It goes with its table.
CREATE TABLE archive (LIKE yquota.charge);
SELECT history, segments, archived FROM yquota.archive('archive', 'infinity');
SELECT relname FROM pg_class WHERE relname LIKE '%\_filter' ORDER BY 1;
SELECT * FROM yquota.verify();
SELECT yquota_internal.fill_bloom_filter('archive', 'yquota.charge', 'container_id');

\c postgres
DROP DATABASE yquota_bloom_filter;
