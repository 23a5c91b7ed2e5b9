--
-- Sessions cache facts about the tables that they charge to. Each change of the tables must
-- invalidate the cache. Here the changes happen between two statements about single containers.
--
CREATE DATABASE yquota_event_open_tables;
\c yquota_event_open_tables
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS yquota;
SET timezone = 'UTC';
SET datestyle = 'ISO';
\set SHOW_CONTEXT never
SELECT yquota.set_clock('2026-03-02 10:00');
INSERT INTO yquota.project (name) VALUES ('lab');
CREATE PROCEDURE run(id text) LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO yquota.container_event (event, container_id, occurred_at, project, queue, allocation)
	VALUES ('CONTAINER_START', id, '2026-03-02 09:00', 'lab', nullif(left(id, 1), 'n'), '[vcores=1]');
	INSERT INTO yquota.container_event (event, container_id, occurred_at) VALUES ('CONTAINER_FINISH', id, '2026-03-02 09:30');
END
$$;
-- return whether the plan uses the index, and which ledger rows it finds
CREATE FUNCTION found(condition text) RETURNS TABLE (uses_index boolean, containers text) LANGUAGE plpgsql
	SET enable_seqscan = off
	AS $$
DECLARE
	line text;
	rows text := 'FROM yquota.charge WHERE ' || condition;
BEGIN
	uses_index := false;
	FOR line IN EXECUTE 'EXPLAIN SELECT ' || rows LOOP
		uses_index := uses_index OR line ~ '(using|on) extra\M';
	END LOOP;
	EXECUTE 'SELECT string_agg(container_id, '' '' ORDER BY container_id) ' || rows INTO containers;
	RETURN NEXT;
END
$$;
CALL run('b0');

--
-- A new index of an administrator gets entries at once, whatever its kind
--
CREATE INDEX extra ON yquota.charge ((upper(container_id)));
CALL run('b1');
SELECT * FROM found($$upper(container_id) = 'B1'$$);
DROP INDEX yquota.extra;
CALL run('b2');
CREATE INDEX extra ON yquota.charge (number) WHERE queue IS NOT NULL;
CALL run('b3');
CALL run('n3');
SELECT * FROM found($$number = 1 AND queue IS NOT NULL$$);
DROP INDEX yquota.extra;
CREATE INDEX extra ON yquota.charge (number) WHERE queue IS NULL;
CALL run('b4');
CALL run('n4');
SELECT * FROM found($$number = 1 AND queue IS NULL$$);
DROP INDEX yquota.extra;
CREATE INDEX extra ON yquota.charge (number) WHERE queue = 'c';
CALL run('c5');
CALL run('b5');
SELECT * FROM found($$number = 1 AND queue = 'c'$$);
DROP INDEX yquota.extra;
CREATE INDEX extra ON yquota.charge USING brin (number) WHERE queue IS NULL;
CALL run('b6');
CALL run('n6');
SELECT * FROM found($$number = 1 AND queue IS NULL$$);
DROP INDEX yquota.extra;
CREATE INDEX extra ON yquota.charge USING hash (queue);
CALL run('b7');
SELECT * FROM found($$queue = 'b'$$);
DROP INDEX yquota.extra;

--
-- The uniqueness of the index is enforced: immediate, deferred to the end of the transaction, and
-- as an exclusion constraint
--
CREATE UNIQUE INDEX extra ON yquota.charge (queue) WHERE queue = 'u';
CALL run('u1');
CALL run('u2');
CALL run('n7');
DROP INDEX yquota.extra;
CALL run('u2');
ALTER TABLE yquota.charge ADD CONSTRAINT extra UNIQUE (waiting_factor, padding, queue, container_id) DEFERRABLE INITIALLY DEFERRED;
CALL run('u3');
ALTER TABLE yquota.charge DROP CONSTRAINT extra, ADD CONSTRAINT extra EXCLUDE USING btree (queue WITH =) WHERE (queue = 'x');
CALL run('x1');
CALL run('x2');
ALTER TABLE yquota.charge DROP CONSTRAINT extra;
CALL run('x2');

--
-- The index is created in a transaction, and dropped in a subtransaction that is rolled back
--
BEGIN;
CREATE INDEX extra ON yquota.charge (queue);
CALL run('y1');
SELECT * FROM found($$queue = 'y'$$);
SAVEPOINT before_drop;
DROP INDEX yquota.extra;
CALL run('y2');
ROLLBACK TO before_drop;
CALL run('y3');
SELECT * FROM found($$queue = 'y'$$);
ROLLBACK;
CALL run('y4');
SELECT * FROM found($$queue = 'y'$$);
-- an index that the library finds by its name
BEGIN;
ALTER INDEX yquota.charge_container_id_idx RENAME TO other_name;
CREATE INDEX charge_container_id_idx ON yquota.charge (container_id);
DROP INDEX yquota.other_name;
CALL run('z1');
DROP INDEX yquota.charge_container_id_idx;
CALL run('z2');
ROLLBACK;
CALL run('z1');
-- an error in the middle of a statement
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES
	('CONTAINER_START', 'e1', '2026-03-02 09:00', 'lab', '[vcores=1]'), ('CONTAINER_START', 'e2', '2026-03-02 09:00', 'lab', '[vcores=-1]');
CALL run('e1');

--
-- A table is refused as soon as it is distributed, because distributing it changes its triggers
--
CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
BEGIN;
SET LOCAL allow_system_table_mods = on;
CREATE TABLE pg_catalog.pg_dist_partition (logicalrelid oid);
CALL run('d1');
INSERT INTO pg_catalog.pg_dist_partition VALUES ('yquota.charge'::regclass);
CREATE TRIGGER distributed AFTER TRUNCATE ON yquota.charge EXECUTE FUNCTION nothing();
CALL run('d2');
ROLLBACK;
CALL run('d2');
BEGIN;
CREATE TABLE child () INHERITS (yquota.container);
CALL run('d3');
ROLLBACK;
CALL run('d3');

--
-- Nodes are read together, and later changes of nodes take effect
--
CREATE FUNCTION start(id text, node text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	label text;
BEGIN
	INSERT INTO yquota.container_event (event, container_id, occurred_at, project, node, allocation)
	VALUES ('CONTAINER_START', id, '2026-03-02 09:00', 'lab', start.node, '[vcores=1]');
	SELECT container.label INTO label FROM yquota.container WHERE container_id = id;
	RETURN label;
END
$$;
INSERT INTO yquota.node (name, label, total) SELECT 'node' || n, 'gpu', '[vcores=8]' FROM generate_series(1, 4) AS n;
SELECT start('l1', 'node1');
UPDATE yquota.node SET label = 'ssd' WHERE name = 'node2';
SELECT start('l2', 'node2');
SELECT start('l3', 'node5');
INSERT INTO yquota.node (name, label, total) VALUES ('node5', 'late', '[vcores=8]');
SELECT start('l4', 'node5');
BEGIN;
UPDATE yquota.node SET label = 'never';
SELECT start('l5', 'node3');
ROLLBACK;
SELECT start('l6', 'node3');
DELETE FROM yquota.node WHERE name = 'node4';
SELECT start('l7', 'node4');

--
-- Sealed history, an emptied ledger, new relation files, and a new extension
--
SELECT yquota.seal_history();
CALL run('s1');
CALL run('s1');
CALL run('b1');
SELECT tableoid = 'yquota.charge'::regclass AS is_new, count(*) FROM yquota.charge GROUP BY 1 ORDER BY 1;
CLUSTER yquota.charge USING charge_container_id_idx;
CALL run('s2');
REINDEX TABLE yquota.container;
CALL run('s3');
SELECT * FROM yquota.verify();
DROP EXTENSION yquota CASCADE;
CREATE EXTENSION yquota;
SELECT yquota.set_clock('2026-03-02 10:00');
CALL run('p1');
INSERT INTO yquota.project (name) VALUES ('lab');
CALL run('p1');
CREATE INDEX extra ON yquota.charge (queue);
CALL run('p2');
SELECT * FROM found($$queue = 'p'$$);
SELECT * FROM yquota.verify();
\c postgres
DROP DATABASE yquota_event_open_tables;
