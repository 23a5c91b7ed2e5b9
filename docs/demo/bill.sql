--
-- Compute the bill of a finished container from public tables. The query shows each interval between two changes of a
-- price or of the allocation, and the resource that costs the most in it. It compares the sum of the intervals with the
-- charges. The container has a GPU, ran for 2 to 8 hours, was resized if possible, and has the largest change of price.
--

SELECT coalesce((
	SELECT container_id
	FROM (
		SELECT container_id, count(*) AS segments, bool_and(yquota.amount(allocation, 'gpu-milli') > 0) AS has_gpu,
			max("to") - min("from") BETWEEN '2 hours' AND '8 hours' AS readable,
			(SELECT max(multiplier) - min(multiplier) FROM yquota.price
				WHERE price_group = 'GPU' AND effective_at BETWEEN min("from") AND max("to")) AS change
		FROM yquota.charge
		GROUP BY container_id
		HAVING bool_or(settled_by = 'CONTAINER_FINISH')
	) AS finished
	ORDER BY readable DESC, has_gpu DESC, segments > 1 DESC, change DESC NULLS LAST, container_id
	LIMIT 1
), '') AS container \gset
SELECT :'container' <> '' AS has_finished \gset

\if :has_finished

\pset format unaligned
\pset tuples_only on
SELECT format(E'  %s of %s, project %s, user %s,\n  queue %s, node %s, %s%s; from %s for %s',
	container_id, application_id, project, username, queue, node, execution_type,
	CASE execution_type WHEN 'OPPORTUNISTIC' THEN ' at half price' END,
	to_char(started_at, 'YYYY-MM-DD HH24:MI:SS'), finished_at - started_at)
FROM yquota.container_cost WHERE container_id = :'container';
SELECT format('  holding from day %s on: %s cores, %s GiB, %s GPU', to_char("from", 'DD HH24:MI:SS'),
	to_char(coalesce(yquota.amount(allocation, 'cpu-milli'), 0) / 1000.0, 'FM990.0'),
	to_char(coalesce(yquota.amount(allocation, 'memory-mb'), 0) / 1024.0, 'FM9990.0'),
	to_char(coalesce(yquota.amount(allocation, 'gpu-milli'), 0) / 1000.0, 'FM990.00'))
FROM yquota.charge WHERE container_id = :'container' AND corrects IS NULL ORDER BY number;
\pset tuples_only off
\pset format aligned

-- Each interval between two changes of a price or of the allocation, with its cost. The cost is price x amount of the
-- resource that costs the most, x the factor, x the seconds.
CREATE OR REPLACE VIEW demo.bill AS
WITH segment AS (
	SELECT * FROM yquota.charge AS entry
	WHERE corrects IS NULL AND NOT EXISTS (
		SELECT FROM yquota.charge AS taken_back
		WHERE taken_back.container_id = entry.container_id AND taken_back.corrects = entry.number)
), bound AS (
	SELECT container_id, number, "from" AS since FROM segment
	UNION
	SELECT container_id, number, effective_at FROM segment
	JOIN (SELECT effective_at FROM yquota.price_history UNION SELECT effective_at FROM yquota.price_factor) AS change
		ON effective_at > "from" AND effective_at < "to"
), price_interval AS (
	SELECT segment.*, since,
		lead(since, 1, segment."to") OVER (PARTITION BY container_id, number ORDER BY since) AS until
	FROM bound JOIN segment USING (container_id, number)
), part AS (
	SELECT container_id, since, until, resource_type, multiplier,
		price * yquota.amount(allocation, resource_type) AS rate, coalesce(factor, 1) AS factor
	FROM price_interval
	CROSS JOIN (VALUES ('cpu-milli'), ('memory-mb'), ('gpu-milli')) AS held(resource_type)
	CROSS JOIN LATERAL (
		SELECT multiplier, price FROM yquota.price_history
		WHERE price_history.resource_type = held.resource_type AND effective_at <= since
		ORDER BY effective_at DESC LIMIT 1) AS price
	LEFT JOIN LATERAL (
		SELECT factor FROM yquota.price_factor
		WHERE dimension = 'execution_type' AND name = execution_type::text AND effective_at <= since
		ORDER BY effective_at DESC LIMIT 1) AS factor ON true
)
SELECT container_id, since, until,
	max(multiplier) FILTER (WHERE resource_type = 'cpu-milli') AS general,
	max(multiplier) FILTER (WHERE resource_type = 'gpu-milli') AS gpu,
	max(rate) FILTER (WHERE resource_type = 'cpu-milli') AS cpu_rate,
	max(rate) FILTER (WHERE resource_type = 'memory-mb') AS memory_rate,
	max(rate) FILTER (WHERE resource_type = 'gpu-milli') AS gpu_rate,
	(array_agg(resource_type ORDER BY rate DESC NULLS LAST, resource_type))[1] AS dominant,
	max(factor) AS factor,
	max(rate) * max(factor) * extract(epoch FROM until - since) AS amount
FROM part
GROUP BY container_id, since, until;
COMMENT ON VIEW demo.bill IS
	'Intervals of the bills of containers; rates are in credits per second.  Query it with a container_id';

\echo
\echo 'Multipliers, and credits per second of each resource; the dearest one is paid:'
\echo
SELECT to_char(since, 'DD HH24:MI:SS') AS "from, day", to_char(extract(epoch FROM until - since), '99990.9') AS seconds,
	to_char(general, '"x"FM0.0000') AS "GENERAL", to_char(gpu, '"x"FM0.0000') AS "GPU",
	to_char(cpu_rate, '990.000') AS cores, to_char(memory_rate, '990.000') AS memory,
	to_char(gpu_rate, '990.000') AS "GPUs", dominant AS dearest, 'x' || trim_scale(factor) AS factor,
	to_char(amount, '9,999,990.00') AS credits
FROM demo.bill WHERE container_id = :'container' ORDER BY bill.since;

\pset format unaligned
\pset tuples_only on
SELECT format(E'  sum of the intervals  %s\n  the ledger says       %s   %s', bill.amount, ledger.amount,
	CASE WHEN bill.amount = ledger.amount THEN 'equal to the last digit' ELSE 'DIFFERENT' END)
FROM (SELECT trim_scale(sum(amount)) AS amount FROM demo.bill WHERE container_id = :'container') AS bill,
	(SELECT trim_scale(sum(amount)) AS amount FROM yquota.charge WHERE container_id = :'container') AS ledger;
\pset tuples_only off
\pset format aligned

\else
	\echo '  No container has finished yet.'
\endif
