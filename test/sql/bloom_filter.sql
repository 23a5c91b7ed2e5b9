--
-- The Bloom filter of the container ids of sealed history. An INSERT of events finds the same
-- containers with the filter, without it, and while it is out of date.
--
CREATE DATABASE yquota_bloom_filter;
\c yquota_bloom_filter
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS yquota;
SET timezone = 'UTC';
\set SHOW_CONTEXT never
SELECT yquota.set_clock('2026-03-02 10:00');
INSERT INTO yquota.project (name) VALUES ('lab');

-- ids of many lengths, some with several bytes a character
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

-- The worker builds the filter first, and then the indexes of applications.
SELECT yquota_internal.is_bloom_filter_complete();
SELECT yquota_internal.tend_history() FROM generate_series(1, 5);
SELECT yquota_internal.is_bloom_filter_complete();

-- the worker has also created an index of the applications
SELECT indrelid::regclass, pg_get_indexdef(indexrelid) FROM pg_index
WHERE indrelid = 'yquota_internal.charge_sealed_1'::regclass ORDER BY 2;

-- All old ids are known, in batches and one by one, and new ids are charged
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

-- A filter must rule out nearly all ids that are not in its table. The scans of the table's index
-- show how often the filter failed.
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

-- A table that has been rewritten has the same keys.
VACUUM FULL yquota_internal.charge_sealed_1;
SELECT yquota_internal.is_bloom_filter_complete();
SELECT send_lives(1, 1500);
SELECT * FROM books;

-- A filter that was emptied rules out nothing.
TRUNCATE yquota_internal.charge_filter;
SELECT yquota_internal.is_bloom_filter_complete();
SELECT send_lives(1501, 3000);
SELECT * FROM books;
SELECT yquota_internal.tend_history() FROM generate_series(1, 2);

-- A filter that lacks pages rules out nothing either, because missing pages must not be read. The
-- test waits for other snapshots: an autovacuum in this database would keep VACUUM from removing
-- the deleted rows.
CREATE PROCEDURE wait_for_snapshots() LANGUAGE plpgsql AS $$
BEGIN
	WHILE EXISTS (SELECT FROM pg_stat_activity
				  WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_xmin IS NOT NULL) LOOP
		PERFORM pg_sleep(0.01);
		PERFORM pg_stat_clear_snapshot();
	END LOOP;
END
$$;
CREATE VIEW filter_pages AS
	SELECT pg_relation_size('yquota_internal.charge_filter') / current_setting('block_size')::integer AS pages,
		   yquota_internal.is_bloom_filter_complete();
SELECT * FROM filter_pages;
DELETE FROM yquota_internal.charge_filter
WHERE ctid <> (SELECT min(ctid) FROM yquota_internal.charge_filter);
CALL wait_for_snapshots();
VACUUM yquota_internal.charge_filter;
SELECT * FROM filter_pages;
SELECT send_lives(1, 1500);
SELECT * FROM books;
SELECT yquota_internal.tend_history() FROM generate_series(1, 3);
SELECT * FROM filter_pages;

-- A filter page that has lost its row rules out nothing.
DELETE FROM yquota_internal.charge_filter WHERE ctid = '(0,1)';
CALL wait_for_snapshots();
VACUUM yquota_internal.charge_filter;
SELECT * FROM filter_pages;
SELECT send_lives(1, 3500);
SELECT * FROM books;

-- A restore creates a table before it inserts rows. The worker may run before the first row, or
-- between two rows. This session has noted that the filter is complete.
CREATE TABLE rows_of_3 AS SELECT * FROM yquota_internal.charge_sealed_3 ORDER BY container_id;
DELETE FROM yquota_internal.charge_sealed_3;
CALL wait_for_snapshots();
VACUUM yquota_internal.charge_sealed_3;
SELECT pg_relation_size('yquota_internal.charge_sealed_3') AS size;
SELECT yquota_internal.tend_history() FROM generate_series(1, 3);
SELECT yquota_internal.is_bloom_filter_complete();
INSERT INTO yquota_internal.charge_sealed_3 SELECT * FROM rows_of_3 LIMIT 10;
SELECT * FROM filter_pages;
SELECT yquota_internal.tend_history();
SELECT yquota_internal.is_bloom_filter_complete();
INSERT INTO yquota_internal.charge_sealed_3 SELECT * FROM rows_of_3 OFFSET 10 LIMIT 1;
SELECT send_lives(i, i) FROM container WHERE id = (SELECT container_id FROM rows_of_3 OFFSET 10 LIMIT 1);
SELECT yquota_internal.tend_history();
-- without triggers, as pg_restore --disable-triggers inserts rows
SELECT send_lives(20001, 20001);
ALTER TABLE yquota_internal.charge_sealed_3 DISABLE TRIGGER ALL;
INSERT INTO yquota_internal.charge_sealed_3 SELECT * FROM rows_of_3 OFFSET 11;
ALTER TABLE yquota_internal.charge_sealed_3 ENABLE TRIGGER ALL;
SELECT yquota_internal.is_bloom_filter_complete();
SELECT send_lives(3001, 3500);
SELECT * FROM books;
SELECT * FROM yquota.verify();

-- A restore inserts the rows before it creates the trigger that empties the filter.
SELECT yquota_internal.tend_history() FROM generate_series(1, 3);
BEGIN;
DROP TRIGGER empty_bloom_filter ON yquota_internal.charge_sealed_3;
SELECT yquota_internal.is_bloom_filter_complete();
ROLLBACK;
SELECT yquota_internal.is_bloom_filter_complete();

-- The filter ignores a table that was attached by hand, and does not miss a table that was detached
-- by hand.
SELECT send_lives(1, 10);
BEGIN;
ALTER TABLE yquota_internal.charge_sealed_3 NO INHERIT yquota.charge;
SELECT yquota_internal.is_bloom_filter_complete();
SELECT send_lives(1, 10);
ALTER TABLE yquota_internal.charge_sealed_3 INHERIT yquota.charge;
CREATE TABLE by_hand (LIKE yquota.charge INCLUDING INDEXES) INHERITS (yquota.charge);
SELECT yquota_internal.is_bloom_filter_complete();
ROLLBACK;
SELECT send_lives(3001, 3500);
SELECT * FROM books;

-- Rows that were never committed may have lost their TOAST values.
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

-- The filter keeps what a failed transaction wrote to it, and is complete.
TRUNCATE yquota_internal.charge_filter;
BEGIN;
SELECT yquota_internal.tend_history();
ROLLBACK;
SELECT * FROM filter_pages;
SELECT yquota_internal.fill_bloom_filter();

-- The worker fills the filter again when tables have left it.
CREATE TABLE archive (LIKE yquota.charge);
SELECT history, segments, archived FROM yquota.archive('archive', 'infinity');
SELECT * FROM filter_pages;
SELECT yquota_internal.tend_history() FROM generate_series(1, 3);
SELECT * FROM filter_pages;
SELECT * FROM yquota.verify();

\c postgres
DROP DATABASE yquota_bloom_filter;
