--
-- Make a configured cluster and a list of lifecycle events from the history in the tables of stage.sql.
--
-- Derive the data that the history lacks from the numbers of the pods. Eight successive pods are one application.
-- Applications are distributed over 24 projects of three users each. Pods are distributed over the GPUs of the nodes,
-- or over their cores in steps of 16. The queue is "root." with the pod's qos. Best-effort pods (BE) run as
-- OPPORTUNISTIC.
--

DO $$ BEGIN PERFORM yquota.set_clock(origin) FROM demo.history; END $$;

-- Prices: 1 credit for a core-second, a quarter of a credit for a GiB-second, 20 credits for a GPU-second. Best effort
-- costs half.
INSERT INTO yquota.resource_type (name, price_group, base_price, unit)
VALUES ('cpu-milli', 'GENERAL', 1, 1000), ('gpu-milli', 'GPU', 20, 1000);
UPDATE yquota.resource_type SET base_price = 0.25 WHERE name = 'memory-mb';

INSERT INTO yquota.price_factor (dimension, name, effective_at, factor)
SELECT 'execution_type', 'OPPORTUNISTIC', origin, 0.5 FROM demo.history;

INSERT INTO yquota.node (name, total, updated_at)
SELECT sn, format('[memory-mb=%s,cpu-milli=%s,gpu-milli=%s]', memory_mib, cpu_milli, gpu * 1000)::yquota.resource, origin
FROM demo.node, demo.history;

INSERT INTO yquota.project (name, created_at)
SELECT name, origin
FROM demo.history, unnest(ARRAY['atlas', 'aurora', 'basalt', 'beacon', 'cobalt', 'comet', 'delta', 'ember',
	'falcon', 'fjord', 'glacier', 'harbor', 'indigo', 'juniper', 'krypton', 'lumen', 'meteor',
	'nimbus', 'onyx', 'prism', 'quartz', 'rivet', 'sierra', 'tundra']) AS name;

INSERT INTO yquota.quota_grant (project, amount, reason, granted_at)
SELECT name, allowance, 'allowance at the start', origin FROM yquota.project, demo.history;

CREATE TABLE demo.container AS
WITH project AS (
	SELECT name, row_number() OVER (ORDER BY name) - 1 AS place FROM yquota.project
), slot AS (
	SELECT sn, has_gpu, row_number() OVER (PARTITION BY has_gpu ORDER BY sn, unit) - 1 AS place,
		count(*) OVER (PARTITION BY has_gpu) AS slots
	FROM demo.node, LATERAL (VALUES (true, gpu), (false, cpu_milli / 16000)) AS kind(has_gpu, units),
		LATERAL generate_series(1, units) AS unit
)
SELECT pod.number, pod.name AS container_id, project.name AS project,
	'application_' || to_char(pod.number / 8, 'FM0000') AS application_id,
	project.name || '__' || (ARRAY['ada', 'ben', 'cleo'])[pod.number / 8 / 24 % 3 + 1] AS username,
	'root.' || lower(pod.qos) AS queue, slot.sn AS node,
	(CASE pod.qos WHEN 'BE' THEN 'OPPORTUNISTIC' ELSE 'GUARANTEED' END)::yquota.execution_type AS execution_type,
	format('[memory-mb=%s,cpu-milli=%s,gpu-milli=%s]', memory_mib, cpu_milli, gpu_milli)::yquota.resource AS allocation,
	CASE WHEN resized IS NOT NULL THEN format('[memory-mb=%s,cpu-milli=%s,gpu-milli=%s]', resized_memory_mib,
		resized_cpu_milli, gpu_milli)::yquota.resource END AS resized_allocation,
	exit_status, started, resized, deleted
FROM demo.pod
JOIN project ON project.place = pod.number / 8 % 24
JOIN slot ON slot.has_gpu = (gpu_milli > 0) AND slot.place = pod.number % slot.slots;

-- Hour h has the events after hour h - 1 and up to hour h. The replay sends them when the clock shows h.
CREATE TABLE demo.event AS
SELECT (second + 3599) / 3600 AS hour, event, container_id, origin + second * interval '1 second' AS occurred_at,
	project, application_id, username, queue, node, event.allocation, event.execution_type, event.exit_status
FROM demo.history, demo.container, LATERAL (VALUES
	('CONTAINER_START'::yquota.container_event_type, started, container.allocation, container.execution_type, NULL::integer),
	('CONTAINER_UPDATE', resized, resized_allocation, NULL, NULL),
	('CONTAINER_FINISH', deleted, NULL, NULL, container.exit_status)
) AS event(event, second, allocation, execution_type, exit_status)
WHERE second IS NOT NULL;
CREATE INDEX event_hour_idx ON demo.event (hour);
ANALYZE demo.event;

CREATE FUNCTION demo.clock_at(hour bigint) RETURNS timestamptz
	LANGUAGE sql STABLE STRICT PARALLEL SAFE
	RETURN (SELECT origin + least(hour * 3600, seconds) * interval '1 second' FROM demo.history);
COMMENT ON FUNCTION demo.clock_at(bigint) IS 'Instant at the end of an hour of the history';

-- Each hour is one transaction, so that the worker never sees a clock that is ahead of the events. The worker computes
-- prices, too, and compute_prices() does not wait for other transactions that change prices. So the replay waits here.
CREATE PROCEDURE demo.replay(from_hour bigint, to_hour bigint)
	LANGUAGE plpgsql AS $$
DECLARE
	clock timestamptz;
BEGIN
	FOR current_hour IN from_hour .. to_hour LOOP
		clock := demo.clock_at(current_hour);
		LOCK TABLE yquota.pricing_change IN SHARE ROW EXCLUSIVE MODE;
		PERFORM yquota.set_clock(clock);
		INSERT INTO yquota.container_event (event, container_id, occurred_at, project, application_id,
			username, queue, node, allocation, execution_type, exit_status, source)
		SELECT event, container_id, occurred_at, project, application_id, username, queue, node,
			allocation, execution_type, exit_status, 'replay'
		FROM demo.event WHERE hour = current_hour;
		PERFORM yquota.compute_prices(clock);
		PERFORM yquota.quota_compute();
		IF current_hour % 24 = 0 THEN
			CALL demo.top_up(clock);
		END IF;
		COMMIT;
	END LOOP;
END $$;
COMMENT ON PROCEDURE demo.replay(bigint, bigint) IS 'Inserts the events of these hours and computes the prices at the end of each';

CREATE PROCEDURE demo.top_up(clock timestamptz)
	LANGUAGE sql AS $$
	INSERT INTO yquota.quota_grant (project, amount, reason, granted_at, external_id)
	SELECT project, allowance, 'topped up', clock, format('top-up %s %s', project, clock)
	FROM yquota.project_balance, demo.history
	WHERE remaining < allowance / 4;
$$;
COMMENT ON PROCEDURE demo.top_up(timestamptz) IS 'Grants the allowance again to projects that have less than a quarter of it left';

-- Start the worker with the clock of the history.
ALTER SYSTEM SET yquota.databases = 'demo';
SELECT pg_reload_conf() \g /dev/null
