--
-- Idle cost: the capacity of the cluster at the list price, sold and unsold.
--
CREATE DATABASE yquota_idle_cost;
\c yquota_idle_cost
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS yquota;
SET timezone = 'UTC';
SET datestyle = 'ISO';
\set SHOW_CONTEXT never
SELECT yquota.set_clock('2026-03-02 10:00+00');
INSERT INTO yquota.project (name, quota_mode) VALUES ('a', 'NOLIMIT'), ('b', 'NOLIMIT'), ('c', 'NOLIMIT');
INSERT INTO yquota.node (name, label, total) VALUES
	('n1', '', '[memory-mb=10240,vcores=10,fpga=3]'), ('n2', 'gpu', '[memory-mb=4096,vcores=4,yarn.io/gpu=2]'), ('n3', '', '[memory-mb=10240,vcores=10]');
INSERT INTO yquota.price_factor (dimension, name, effective_at, factor) VALUES ('label', 'gpu', '2026-03-02 09:00+00', 2.5), ('project', 'b', '2026-03-02 09:00+00', 0.5);
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, queue, node, allocation, execution_type, is_running) VALUES
	-- 4 GiB and 2 vcores for half an hour, of which ten minutes are an outage
	('CONTAINER_START', 'c1', '2026-03-02 10:00+00', 'a', 'root.x', 'n1', '[memory-mb=4096,vcores=2]', NULL, NULL),
	-- two GPUs for an hour, at half the price of its label
	('CONTAINER_START', 'c2', '2026-03-02 10:00+00', 'b', 'root.y', 'n2', '[memory-mb=1024,vcores=1,yarn.io/gpu=2]', NULL, NULL),
	-- a container that waits for forty minutes, and then runs
	('CONTAINER_START', 'c3', '2026-03-02 10:00+00', 'c', 'root.y', 'n1', '[vcores=1]', 'OPPORTUNISTIC', false);
SELECT yquota.set_clock('2026-03-02 10:40+00');
INSERT INTO yquota.container_event (event, container_id, occurred_at, is_running) VALUES
	('CONTAINER_FINISH', 'c1', '2026-03-02 10:30+00', NULL), ('CONTAINER_UPDATE', 'c3', '2026-03-02 10:40+00', true);
SELECT yquota.report_outage('2026-03-02 10:10+00', '2026-03-02 10:20+00', 'test') > 0 AS reported;
-- nodes that are not RUNNING, and deleted nodes, offer nothing; a renamed node offers nothing under its old name; a
-- heartbeat changes nothing
UPDATE yquota.node SET updated_at = clock_timestamp();
UPDATE yquota.node SET state = 'LOST' WHERE name = 'n3';
SELECT yquota.set_clock('2026-03-02 11:00+00');
SELECT * FROM yquota.capacity_history ORDER BY 1, 2, 3;
SELECT * FROM yquota.idle_cost('-infinity', 'infinity');
SELECT * FROM yquota.idle_cost('-infinity', 'infinity', 'by_cost');
SELECT project, amount FROM yquota.cost_between('-infinity', 'infinity') ORDER BY 1;

-- Queues guarantee 30, 50 and 20 percent.  A queue's share goes to the projects with cost in it; root.idle has none.
INSERT INTO yquota.node_label (name) VALUES ('gpu');
BEGIN;
INSERT INTO yquota.queue (path, capacity, accessible_node_labels) VALUES ('root', NULL, '{*}'), ('root.x', '30', '{*}'), ('root.y', '50', '{*}'), ('root.idle', '20', '{}');
INSERT INTO yquota.queue_label (queue, label, capacity) VALUES ('root', 'gpu', '100'), ('root.x', 'gpu', '25'), ('root.y', 'gpu', '75');
COMMIT;
SELECT label, resource_type, project, allocated, unsold FROM yquota.idle_cost('-infinity', 'infinity', 'by_guarantee');

-- The history of nodes: changes at one instant count once, and a renamed node goes on.
BEGIN;
UPDATE yquota.node SET total = '[vcores=1]' WHERE name = 'n1';
UPDATE yquota.node SET total = '[vcores=5]' WHERE name = 'n1';
UPDATE yquota.node SET name = 'n9', label = 'new' WHERE name = 'n1';
INSERT INTO yquota.node (name, total, state) VALUES ('n4', '[vcores=2]', 'RUNNING'), ('n5', '[vcores=2]', 'DECOMMISSIONED');
DELETE FROM yquota.node WHERE name = 'n2';
SELECT node, effective_at, total FROM yquota_internal.node_capacity ORDER BY 1, 2;
SELECT * FROM yquota.capacity_history WHERE resource_type = 'vcores' ORDER BY 1, 2, 3;
SELECT yquota.set_clock('2026-03-02 10:50+00');
-- the clock went back: the new change counts from the instant of the last change on
DELETE FROM yquota.node WHERE name = 'n4';
SELECT * FROM yquota.verify() WHERE problem ~ 'capacity';
SELECT yquota.set_clock('2026-03-02 11:20+00');
TRUNCATE yquota.node;
SELECT node, effective_at, total FROM yquota_internal.node_capacity WHERE effective_at >= '2026-03-02 11:00' ORDER BY 1, 2;
DELETE FROM yquota_internal.node_capacity WHERE effective_at >= '2026-03-02 11:00';
SELECT subject, expected, found FROM yquota.verify() WHERE problem ~ 'capacity' ORDER BY subject;
SELECT yquota_internal.forget_capacity('2026-03-02 10:45');
SELECT node, effective_at, total FROM yquota_internal.node_capacity ORDER BY 1, 2;
ROLLBACK;

-- A label that is corrected later moves capacity and allocations.  Neither label has a factor.
BEGIN;
INSERT INTO yquota.node_label_history (node, effective_at, label) VALUES ('n1', '2026-03-02 10:15+00', 'lent'), ('n1', '2026-03-02 10:45+00', '');
SELECT label, resource_type, capacity, allocated, unsold FROM yquota.idle_cost('-infinity', 'infinity') WHERE resource_type = 'vcores';
ROLLBACK;

-- Random books against a model that reads only the log, the tables of prices and its own record of nodes.
INSERT INTO yquota.price (price_group, effective_at, multiplier)
SELECT CASE i % 2 WHEN 0 THEN 'GENERAL' ELSE 'GPU' END, '2026-03-02 11:00:03+00'::timestamptz + i * interval '7.000001 min', 1 + i * 0.01375 FROM generate_series(1, 12) AS i;
INSERT INTO yquota.price_factor (dimension, name, effective_at, factor) VALUES
	('label', 'gpu', '2026-03-02 11:30+00', 0.7), ('label', 'spot', '2026-03-02 11:10+00', 0.25), ('queue', 'root.x', '2026-03-02 11:20+00', 1.5), ('username', 'u2', '2026-03-02 11:05+00', 0);
INSERT INTO yquota.charging_rule (project, effective_at, charging_mode) VALUES ('c', '2026-03-02 11:25+00', 'sum'), ('', '2026-03-02 12:10+00', 'sum_of_groups');
CREATE TABLE node_model (at timestamptz, name text, label text, total yquota.resource);
DO $$
DECLARE
	at timestamptz;
BEGIN
	PERFORM setseed(0.5);
	FOR i IN 1 .. 24 LOOP
		at := '2026-03-02 11:00+00'::timestamptz + i * interval '3.123457 min';
		PERFORM yquota.set_clock(at);
		INSERT INTO yquota.container_event (event, container_id, occurred_at, project, username, queue, node, allocation)
		SELECT 'CONTAINER_START', format('r%s_%s', i, k), at - k * interval '11.000007 s', (ARRAY['a', 'b', 'c'])[1 + (i + k) % 3], 'u' || k % 4,
			   (ARRAY['root.x', 'root.y'])[1 + k % 2], 'n' || 1 + (i * k) % 3,
			   format('[memory-mb=%s,vcores=%s,yarn.io/gpu=%s]', (i * k * 977) % 9000, (i + k) % 7, CASE WHEN k % 3 = 0 THEN i % 3 ELSE 0 END)::yquota.resource
		FROM generate_series(1, 5) AS k;
		INSERT INTO yquota.container_event (event, container_id, occurred_at)
		SELECT 'CONTAINER_FINISH', format('r%s_%s', i - 5, k), at - interval '1.5 min' FROM generate_series(1, 4) AS k WHERE i > 5;
		UPDATE yquota.node SET label = CASE WHEN i % 5 = 0 THEN 'spot' ELSE label END, state = (ARRAY['RUNNING', 'UNHEALTHY', 'RUNNING'])[1 + i % 3]::yquota.node_state,
			total = CASE WHEN i % 4 = 0 THEN format('[memory-mb=%s,vcores=%s,yarn.io/gpu=1]', 2000 * i, i)::yquota.resource ELSE total END
		WHERE name = 'n' || 1 + i % 3;
		INSERT INTO node_model SELECT at, n.name, n.label, CASE WHEN n.state = 'RUNNING' THEN n.total ELSE '[]' END FROM yquota.node AS n;
	END LOOP;
END
$$;
-- late changes: an UPDATE, a finish and an outage of one project
INSERT INTO yquota.container_event (event, container_id, occurred_at, allocation) VALUES ('CONTAINER_UPDATE', 'r3_1', '2026-03-02 11:12+00', '[memory-mb=77,vcores=9]');
INSERT INTO yquota.container_event (event, container_id, occurred_at) VALUES ('CONTAINER_FINISH', 'r24_5', yquota.clock() - interval '30 s');
SELECT yquota.report_outage('2026-03-02 11:40+00', '2026-03-02 11:50+00', 'test', project => 'a') > 0 AS reported;
SELECT yquota.quota_compute() IS NOT NULL AS computed;
CREATE TABLE model AS
WITH cut AS (
	SELECT unnest AS at FROM (
		SELECT '2026-03-02 11:04+00'::timestamptz UNION SELECT yquota.clock() UNION SELECT at FROM node_model UNION SELECT occurred_at FROM yquota.container_event
		UNION SELECT effective_at FROM yquota.price UNION SELECT effective_at FROM yquota.price_factor) AS instant (unnest)
	WHERE unnest BETWEEN '2026-03-02 11:04+00' AND yquota.clock()
), slice AS (
	SELECT cut.at, extract(epoch FROM lead(cut.at) OVER (ORDER BY cut.at) - cut.at) AS seconds FROM cut
), present AS (
	SELECT slice.*, node.name, node.label, node.total, coalesce(f.factor, 1) AS factor
	FROM slice
	CROSS JOIN LATERAL (SELECT DISTINCT ON (m.name) m.* FROM node_model AS m WHERE m.at <= slice.at ORDER BY m.name, m.at DESC) AS node
	LEFT JOIN LATERAL (SELECT p.factor FROM yquota.price_factor AS p WHERE p.dimension = 'label' AND p.name = node.label AND p.effective_at <= slice.at
					   ORDER BY p.effective_at DESC LIMIT 1) AS f ON true
	WHERE slice.seconds IS NOT NULL
), state AS (
	SELECT e.container_id, e.occurred_at AS since, lead(e.occurred_at, 1, 'infinity') OVER life AS until, e.event, e.allocation,
		   first_value(e.node) OVER life AS node
	FROM yquota.container_event AS e WHERE e.event <> 'QUOTA_COMPUTE' AND e.container_id ~ '^(r|c2)'
	WINDOW life AS (PARTITION BY e.container_id ORDER BY e.occurred_at ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)
), held AS (
	SELECT present.at, present.seconds, present.label, present.factor, entry.name, 0 AS offered, sum(entry.amount) AS held
	FROM present JOIN state ON state.node = present.name AND state.since <= present.at AND present.at < state.until AND state.event <> 'CONTAINER_FINISH'
	CROSS JOIN LATERAL yquota.resource_entries(state.allocation) AS entry GROUP BY 1, 2, 3, 4, 5
	UNION ALL
	SELECT present.at, present.seconds, present.label, present.factor, entry.name, sum(entry.amount), 0
	FROM present CROSS JOIN LATERAL yquota.resource_entries(present.total) AS entry GROUP BY 1, 2, 3, 4, 5
)
SELECT held.label, held.name AS resource_type, sum(held.offered * value.value) AS capacity, sum((held.offered - held.held) * value.value) AS unsold
FROM held
JOIN yquota.resource_type AS type ON type.name = held.name
CROSS JOIN LATERAL (SELECT held.seconds * held.factor * round(price.multiplier * type.base_price / type.unit, 18) AS value
					FROM yquota.price WHERE price.price_group = type.price_group AND price.effective_at <= held.at
					ORDER BY price.effective_at DESC LIMIT 1) AS value
GROUP BY 1, 2;
-- c3 has run on n1 since 10:40, beside the model
SELECT label, resource_type, idle.capacity = model.capacity AS same_capacity,
	   trim_scale(model.unsold - idle.unsold - coalesce(other.value, 0)) AS difference, idle.unsold < 0 AS is_over
FROM model
FULL JOIN yquota.idle_cost('2026-03-02 11:04+00', 'infinity') AS idle USING (label, resource_type)
LEFT JOIN LATERAL (
	SELECT sum(yquota_internal.accrued('[vcores=1]', ARRAY['label', span.label], greatest(span."from", '2026-03-02 11:04+00'), least(span."to", yquota.clock()))) AS value
	FROM yquota_internal.label_span AS span
	WHERE span.node = 'n1' AND span.label = model.label AND model.resource_type = 'vcores' AND span."to" > '2026-03-02 11:04+00' AND span."from" < yquota.clock()
) AS other ON true
ORDER BY 1, 2;

-- With each rule and in each window, the parts add up to the whole, to the last digit.
SELECT rule, count(*) > 6 AS has_rows, bool_and(allocated + unsold = capacity) AS is_whole, bool_and(charged + carried_along + free = allocated) AS is_divided,
	   sum(charged) = (SELECT sum(amount) FROM yquota.cost_between('-infinity', 'infinity')) AS is_cost
FROM unnest('{none,by_cost,by_guarantee}'::text[]) AS rule
CROSS JOIN LATERAL yquota.idle_cost('-infinity', 'infinity', rule)
GROUP BY rule ORDER BY rule;
SELECT rule, count(*) AS differ
FROM yquota.idle_cost('-infinity', 'infinity') AS whole
CROSS JOIN unnest('{by_cost,by_guarantee}'::text[]) AS rule
CROSS JOIN LATERAL (
	SELECT sum(part.unsold) AS unsold, sum(part.capacity) AS capacity, sum(part.free) AS free FROM yquota.idle_cost('-infinity', 'infinity', rule) AS part
	WHERE part.label = whole.label AND part.resource_type = whole.resource_type) AS split
WHERE (split.unsold, split.capacity, split.free) <> (whole.unsold, whole.capacity, whole.free)
GROUP BY rule;
SELECT count(*) AS differ
FROM yquota.idle_cost('2026-03-02 10:30+00', '2026-03-02 11:55+00') AS whole
FULL JOIN (SELECT part.label, part.resource_type, sum(part.capacity) AS capacity, sum(part.charged) AS charged, sum(part.unsold) AS unsold
		   FROM (SELECT * FROM yquota.idle_cost('2026-03-02 10:30+00', '2026-03-02 11:33:33.333333+00')
				 UNION ALL SELECT * FROM yquota.idle_cost('2026-03-02 11:33:33.333333+00', '2026-03-02 11:55+00')) AS part GROUP BY 1, 2) AS parts USING (label, resource_type)
WHERE (whole.capacity, whole.charged, whole.unsold) IS DISTINCT FROM (parts.capacity, parts.charged, parts.unsold);
SELECT * FROM yquota.verify();

-- bad input, and time without capacity
SELECT * FROM yquota.idle_cost('2026-03-03', '2026-03-02');
SELECT * FROM yquota.idle_cost('2026-03-02', NULL);
SELECT * FROM yquota.idle_cost('2026-03-02', 'infinity', 'by_size');
SELECT * FROM yquota.idle_cost('2026-03-02', 'infinity', NULL);
SELECT count(*) FROM yquota.idle_cost('2026-03-01', '2026-03-02');
SELECT count(*) FROM yquota.idle_cost(yquota.clock(), 'infinity');

-- viewers read idle cost; members may not, and their reports leave it out
CREATE ROLE yquota_idle_viewer;
CREATE ROLE yquota_idle_member;
SELECT yquota.allow_role('yquota_idle_viewer', 'viewer'), yquota.allow_role('yquota_idle_member', 'member', 'a');
SET ROLE yquota_idle_member;
SELECT * FROM yquota.idle_cost('-infinity', 'infinity');
SELECT * FROM yquota.capacity_history;
SELECT yquota.report_html('2026-03-02', '2026-03-03') ~ 'unsold' AS has_section;
SET ROLE yquota_idle_viewer;
SELECT count(*) > 6 AS read FROM yquota.idle_cost('-infinity', 'infinity');
SELECT count(*) > 6 AS read FROM yquota.capacity_history;
SELECT yquota.report_html('2026-03-02', '2026-03-03') ~ 'unsold' AS has_section, yquota.report_html('2026-03-02', '2026-03-03', 'a') ~ 'unsold' AS of_project;
RESET ROLE;
SELECT left(yquota_internal.report_idle(w, 100000), 120) AS section, yquota_internal.report_idle(w, 100) AS of_many_charges
FROM (SELECT ROW('2026-03-02', '2026-03-03', yquota.clock(), 'UTC', NULL)::yquota_internal.report_window AS w) AS w;

-- the archive keeps no charges
SELECT yquota.seal_history();
CREATE TABLE old_charge (LIKE yquota.charge);
SELECT history, archived > 0 AS moved FROM yquota.archive('old_charge', 'infinity');
SELECT * FROM yquota.idle_cost('2026-03-02', 'infinity');
SELECT yquota.report_html('2026-03-02', '2026-03-03') ~ 'unsold' AS has_section;

\c postgres
DROP DATABASE yquota_idle_cost;
DROP ROLE yquota_idle_viewer, yquota_idle_member;
