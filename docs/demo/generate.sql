--
-- Generate a history that resembles a real one. It has few long services and many short jobs (Pareto lifetimes), and
-- more work by day than at night and at weekends. Pods share GPUs, a third of the pods are best effort, and some pods
-- are resized while they run. Random numbers are md5 sums of the pod's number, so the history is the same every time
-- and everywhere. The psql variable "days" is its length.
--

CREATE FUNCTION demo.dice(number integer, purpose text) RETURNS numeric
	LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
	RETURN ('x' || left(md5(number || purpose), 7))::bit(28)::integer / 268435456.0;
COMMENT ON FUNCTION demo.dice(integer, text) IS 'Random number from 0 to below 1, the same for the same arguments';

INSERT INTO demo.history (title, nodes, origin, seconds, allowance)
VALUES ('a generated history, the same every time', 'made up', '2024-01-01 00:00+00', :days * 86400, 20000000);

INSERT INTO demo.node (sn, cpu_milli, memory_mib, gpu)
SELECT 'node-' || to_char(number, 'FM00'), cores * 1000, gibibytes * 1024, gpu
FROM (VALUES (1, 32, 256, 0), (2, 64, 256, 0), (3, 64, 256, 2), (4, 96, 384, 8), (5, 96, 384, 8),
	(6, 64, 512, 0)) AS kind(number, cores, gibibytes, gpu);

-- Ten services begin in the first hours. Other pods arrive evenly over time. Some of them are then removed, depending
-- on the hour and the weekday (the history begins on a Monday).
INSERT INTO demo.pod (number, name, cpu_milli, memory_mib, gpu_milli, qos, exit_status, started,
	deleted, resized, resized_cpu_milli, resized_memory_mib)
WITH candidate AS (
	SELECT number, number <= 10 AS founding,
		CASE WHEN number <= 10 THEN number * 600 ELSE floor(demo.dice(number, 'arrival') * seconds)::bigint END AS started,
		CASE WHEN number <= 10 THEN 'LS'
			WHEN demo.dice(number, 'qos') < 0.33 THEN 'BE'
			WHEN demo.dice(number, 'qos') < 0.97 THEN 'LS' ELSE 'Burstable' END AS qos
	FROM demo.history, generate_series(1, :days * 330) AS number
), arrival AS (
	SELECT *, CASE WHEN founding OR qos = 'LS' AND demo.dice(number, 'service') < 0.02
			THEN 2 + 10 * demo.dice(number, 'life')
			ELSE least(power(1 - demo.dice(number, 'life'), -1.4) / 600, 2) END * 86400 AS lifetime
	FROM candidate
	WHERE founding OR demo.dice(number, 'thinning') < CASE WHEN started / 86400 % 7 >= 5 THEN 0.4 ELSE 1 END
		* (ARRAY[20, 15, 12, 10, 10, 12, 20, 35, 60, 85, 100, 100, 90, 85, 100, 100, 95, 85, 70,
			60, 50, 45, 35, 25])[started % 86400 / 3600 + 1] / 100
), sized AS (
	SELECT *, started + 1 + floor(lifetime)::bigint AS deleted,
		(ARRAY[2, 4, 4, 6, 8, 8, 12, 16])[floor(demo.dice(number, 'cores') * 8)::integer + 1] * 1000 AS cpu_milli,
		(ARRAY[2, 4, 4, 6])[floor(demo.dice(number, 'memory') * 4)::integer + 1] * 1024 AS memory_per_core,
		(ARRAY[0, 0, 0, 230, 320, 460, 460, 1000, 1000, 2000])[floor(demo.dice(number, 'gpu') * 10)::integer + 1] AS gpu_milli
	FROM arrival
)
SELECT row_number() OVER (ORDER BY started, number) - 1, '', cpu_milli,
	cpu_milli / 1000 * memory_per_core, gpu_milli, qos,
	CASE WHEN demo.dice(number, 'exit') < 0.1 THEN 1 ELSE 0 END, started,
	CASE WHEN deleted <= seconds THEN deleted END,
	CASE WHEN resizes THEN (started + deleted) / 2 END,
	CASE WHEN resizes THEN cpu_milli * 3 / 2 END,
	CASE WHEN resizes THEN cpu_milli / 1000 * memory_per_core * 2 END
FROM sized, demo.history, LATERAL (
	SELECT deleted - started > 7200 AND (started + deleted) / 2 < seconds
		AND demo.dice(number, 'resize') < 0.4) AS decision(resizes);
UPDATE demo.pod SET name = 'pod-' || to_char(number, 'FM0000');
