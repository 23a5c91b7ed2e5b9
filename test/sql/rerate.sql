--
-- Costs of all projects under other prices. rerate() in a database with the real terms must equal
-- the costs in a database where the other terms were in force.
--
SET client_min_messages = warning;
CREATE DATABASE yquota_rerate;
\c yquota_rerate
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS yquota;
INSERT INTO yquota.project (name) VALUES ('lab'), ('ops'), ('idle');
SELECT yquota.set_clock('2026-03-01 00:00+00');
INSERT INTO yquota.charging_rule (effective_at, minimum_run_time) VALUES ('-infinity', '2 min');
-- utilization rises and falls, so that a separate group is sometimes below GENERAL and sometimes
-- above
CREATE PROCEDURE tell() LANGUAGE plpgsql AS $$
BEGIN
	FOR minute IN 0..120 LOOP
		PERFORM yquota.set_clock('2026-03-01 10:00+00'::timestamptz + minute * interval '1 min');
		INSERT INTO yquota.utilization (resource_type, utilization, reported_at)
		VALUES ('vcores', round((0.6 + 0.39 * sin(minute / 9.0))::numeric, 3), yquota.clock()), ('memory-mb', 0.21, yquota.clock()),
			   ('yarn.io/gpu', round((0.6 + 0.39 * cos(minute / 7.0))::numeric, 3), yquota.clock())
		ON CONFLICT (resource_type) DO UPDATE SET utilization = EXCLUDED.utilization, reported_at = EXCLUDED.reported_at;
		PERFORM yquota.compute_prices();
		INSERT INTO yquota.container_event (event, container_id, occurred_at, project, username, queue, execution_type, allocation)
		SELECT 'CONTAINER_START', format('c%s_%s', minute, i), yquota.clock() - i * interval '7.7 s', CASE WHEN i % 2 = 0 THEN 'lab' ELSE 'ops' END, 'ann',
			   CASE WHEN i % 3 = 0 THEN 'root.prod.a' ELSE 'root.dev' END, 'GUARANTEED',
			   format('[memory-mb=%s,vcores=%s,yarn.io/gpu=%s]', 1024 * (1 + (minute * i) % 5), 1 + (minute + i) % 4, (minute + 2 * i) % 3)::yquota.resource
		FROM generate_series(1, 4) AS i;
		INSERT INTO yquota.container_event (event, container_id, occurred_at, allocation)
		SELECT 'CONTAINER_UPDATE', format('c%s_2', minute - 3), yquota.clock(), '[vcores=3]' WHERE minute % 4 = 3;
		INSERT INTO yquota.container_event (event, container_id, occurred_at)
		SELECT 'CONTAINER_FINISH', format('c%s_%s', minute - 5 * i, i), yquota.clock() - interval '3 s' FROM generate_series(0, 3) AS i WHERE minute >= 5 * i AND i > 0;
	END LOOP;
END $$;
\c postgres
CREATE DATABASE yquota_rerate_other TEMPLATE yquota_rerate;
\set terms '{"base_prices": {"vcores": 1.7, "yarn.io/gpu": {"base_price": 9, "unit": 2}}, "price_groups": {"GENERAL": {"tipping_point": 0.25, "increment_factor": 3, "max_multiplier": 2.5}, "GPU": {"tipping_point": 0.5, "increment_factor": 1.25}}, "factors": [{"dimension": "queue", "name": "root.prod", "factor": 1.5}]}'

-- this database had the other terms
\c yquota_rerate_other
SET timezone = 'UTC';
SET client_min_messages = warning;
SELECT yquota.set_base_price('vcores', 1.7);
SELECT yquota.set_base_price('yarn.io/gpu', 9, 2);
UPDATE yquota.price_group SET tipping_point = 0.25, increment_factor = 3, max_multiplier = 2.5 WHERE name = 'GENERAL';
UPDATE yquota.price_group SET tipping_point = 0.5, increment_factor = 1.25 WHERE name = 'GPU';
INSERT INTO yquota.price_factor (dimension, name, effective_at, factor) VALUES ('queue', 'root.prod', '-infinity', 1.5);
CALL tell();
SELECT project, amount FROM yquota.cost_between('2026-03-01 10:10+00', '2026-03-01 11:30+00') ORDER BY 1;
SELECT project, amount FROM yquota.cost_between('2026-03-01 00:00+00', '2026-03-02 00:00+00') ORDER BY 1;
SELECT project, amount FROM yquota.cost_between('2026-03-01 10:33:33.333333+00', '2026-03-01 10:33:33.5+00') ORDER BY 1;

-- the real terms
\c yquota_rerate
SET timezone = 'UTC';
SET datestyle = 'ISO';
SET client_min_messages = warning;
\set SHOW_CONTEXT never
INSERT INTO yquota.price_factor (dimension, name, effective_at, factor) VALUES ('username', 'bob', '-infinity', 2);
CALL tell();
SELECT project, amount FROM yquota.cost_between('2026-03-01 10:10+00', '2026-03-01 11:30+00') ORDER BY 1;
SELECT * FROM yquota.rerate('2026-03-01 10:10+00', '2026-03-01 11:30+00', :'terms');
SELECT project, would_be FROM yquota.rerate('2026-03-01 00:00+00', '2026-03-02 00:00+00', :'terms');
SELECT project, would_be FROM yquota.rerate('2026-03-01 10:33:33.333333+00', '2026-03-01 10:33:33.5+00', :'terms');
SELECT project, was = would_be AS is_same, difference FROM yquota.rerate('-infinity', 'infinity', '{}');
SELECT project, was = would_be AS is_same FROM yquota.rerate('-infinity', 'infinity', '{"base_prices": {}, "price_groups": {}, "factors": []}');
SELECT project, would_be / was AS ratio FROM yquota.rerate('-infinity', 'infinity', '{"factors": [{"dimension": "username", "name": "ann", "factor": 0.5}]}', 'lab');
SELECT project, would_be FROM yquota.rerate('-infinity', 'infinity', '{"base_prices": {"vcores": 0, "memory-mb": 0, "yarn.io/gpu": 0}}');
-- rerate() leaves everything as it was
SELECT * FROM yquota.verify();
SELECT * FROM yquota.rerate('-infinity', 'infinity', '{"base_prices": {"vcores": 1000000000000}, "price_groups": {"GENERAL": {"increment_factor": 1000000}}, "factors": [{"dimension": "username", "name": "ann", "factor": 1000000}]}') WHERE would_be < 0;
SELECT * FROM yquota.verify();

-- rerate() posts nothing unless requested, and each correction once
SELECT count(*) FROM yquota.quota_grant;
SELECT project, posted FROM yquota.rerate('2026-03-01 10:10+00', '2026-03-01 11:30+00', :'terms', post => true, reason => 'wrong prices');
SELECT project, posted FROM yquota.rerate('2026-03-01 10:10+00', '2026-03-01 11:30+00', :'terms', 'lab', true, 'wrong prices again');
SELECT project, amount, reason, kind FROM yquota.quota_grant ORDER BY 1;
SELECT * FROM yquota.verify();
-- Equal terms in another notation are not posted again. The terms are written differently, repeat
-- values in force, or set factors that do not affect the window.
CREATE VIEW corrections AS SELECT project, count(*), sum(amount) FROM yquota.quota_grant WHERE reason = 'half price' GROUP BY project ORDER BY project;
SELECT project, posted FROM yquota.rerate('2026-03-01 10:10+00', '2026-03-01 11:00+00', '{"base_prices": {"vcores": 0.5}}', NULL, true, 'half price');
TABLE corrections;
SELECT terms, count(*), bool_and(posted) AS posted
FROM (VALUES
	('{"base_prices": {"vcores": 0.50}}'), ('{"base_prices": {"vcores": "0.5"}}'), ('{"base_prices": {"vcores": {"base_price": 0.5}}}'),
	('{"base_prices": {"vcores": {"unit": 1, "base_price": "5e-1"}}}'), ('{"base_prices": {"vcores": {"base_price": 1, "unit": 2}}}'),
	('{"factors": [], "price_groups": {}, "base_prices": {"vcores": 0.5}}'),
	('{"base_prices": {"yarn.io/gpu": 1.0, "vcores": 0.5, "memory-mb": {"base_price": 2, "unit": 2048}}}'),
	('{"base_prices": {"vcores": 0.5}, "price_groups": {"GENERAL": {"tipping_point": "0.20", "max_multiplier": null}}}'),
	('{"base_prices": {"vcores": 0.5}, "factors": [{"name": "bob", "dimension": "username", "factor": 2.00}]}'),
	('{"base_prices": {"vcores": 0.5}, "factors": [{"name": "eve", "dimension": "username", "factor": 9, "effective_at": "2026-03-01 11:00+00"}]}'),
	('{"base_prices": {"vcores": 0.5}, "factors": [{"name": "root.none", "dimension": "queue", "factor": 1}]}')) AS written (terms)
CROSS JOIN LATERAL yquota.rerate('2026-03-01 11:10+01', '2026-03-01 11:00+00', terms::jsonb, NULL, true, 'half price') AS other
GROUP BY terms ORDER BY terms;
TABLE corrections;
-- other terms have not been posted, and neither has another window
SELECT project, posted FROM yquota.rerate('2026-03-01 10:10+00', '2026-03-01 11:00+00', '{"base_prices": {"vcores": 0.51}}');
SELECT project, posted FROM yquota.rerate('2026-03-01 10:10+00', '2026-03-01 11:00+00', '{"base_prices": {"vcores": 0.5}, "factors": [{"name": "bob", "dimension": "username", "factor": 3}]}');
SELECT project, posted FROM yquota.rerate('2026-03-01 10:10+00', '2026-03-01 10:59+00', '{"base_prices": {"vcores": 0.5}}');

-- shadow tariffs are computed beside the tariff in force
INSERT INTO yquota.shadow_tariff (name, terms) VALUES ('twice', '{"base_prices": {"vcores": 2, "memory-mb": 2, "yarn.io/gpu": 2}}'), ('other', :'terms');
SELECT tariff, project, was, would_be / was AS ratio FROM yquota.shadow_costs('2026-03-01 10:10+00', '2026-03-01 11:30+00');
SELECT tariff, project FROM yquota.shadow_costs('2026-03-01 10:10+00', '2026-03-01 11:30+00', 'ops');
INSERT INTO yquota.shadow_tariff (name, terms) VALUES ('wrong', '{"base_prices": {"gold": 1}}');
UPDATE yquota.shadow_tariff SET terms = '{"factors": [{"dimension": "moon"}]}' WHERE name = 'twice';
SELECT table_name, operation, new ->> 'name' AS name FROM yquota.audit WHERE table_name = 'yquota.shadow_tariff' ORDER BY 3;

-- errors
SELECT * FROM yquota.rerate('-infinity', 'infinity', NULL);
SELECT * FROM yquota.rerate(NULL, 'infinity', '{}');
SELECT * FROM yquota.rerate('2026-03-02', '2026-03-01', '{}');
SELECT * FROM yquota.rerate('-infinity', 'infinity', '[]');
SELECT * FROM yquota.rerate('-infinity', 'infinity', '{"prices": 1}');
SELECT * FROM yquota.rerate('-infinity', 'infinity', '{"factors": {}}');
SELECT * FROM yquota.rerate('-infinity', 'infinity', '{"base_prices": {"gold": 1}}');
SELECT * FROM yquota.rerate('-infinity', 'infinity', '{"base_prices": {"vcores": -1}}');
SELECT * FROM yquota.rerate('-infinity', 'infinity', '{"base_prices": {"vcores": "much"}}');
SELECT * FROM yquota.rerate('-infinity', 'infinity', '{"base_prices": {"vcores": "NaN"}}');
SELECT * FROM yquota.rerate('-infinity', 'infinity', '{"price_groups": {"GOLD": {}}}');
SELECT * FROM yquota.rerate('-infinity', 'infinity', '{"price_groups": {"GPU": {"tipping_point": 2}}}');
SELECT * FROM yquota.rerate('-infinity', 'infinity', '{"price_groups": {"GPU": {"tip": 0.2}}}');
SELECT * FROM yquota.rerate('-infinity', 'infinity', '{"factors": [{"dimension": "moon", "name": "x", "factor": 1}]}');
SELECT * FROM yquota.rerate('-infinity', 'infinity', '{"factors": [{"dimension": "queue", "name": "x"}]}');
SELECT * FROM yquota.rerate('-infinity', 'infinity', '{"factors": [{"dimension": "queue", "name": "x", "factor": 2, "efective_at": "2026-03-01"}]}');
SELECT * FROM yquota.rerate('-infinity', 'infinity', '{"factors": [{"dimension": "queue", "name": "x", "factor": 2}, {"dimension": "queue", "name": "x", "factor": 3}]}');
SELECT * FROM yquota.rerate('-infinity', 'infinity', '{"base_prices": {"vcores": {"base_price": 1, "units": 2}}}');
SELECT * FROM yquota.rerate('-infinity', 'infinity', '{"base_prices": {"vcores": {"base_price": 1, "unit": 99999999999999999999}}}');
SELECT * FROM yquota.rerate('2026-03-01', '2026-03-02', '{}', post => true);
SELECT * FROM yquota.rerate('2026-03-01', '2026-03-02', '{}', post => true, reason => 'x');
\c postgres
DROP DATABASE yquota_rerate;
DROP DATABASE yquota_rerate_other;
