--
-- Results of a scenario, at the end of the window.
--

-- Each attempt with the time for which it ran in the window. The time of a killed container is lost. The time of other
-- containers counts as useful, even if they are killed after the window.
CREATE VIEW simulation.run AS
	SELECT a.container_id, p.number, p.is_opportunistic, p.vcores, p.memory_mb, a.outcome = 'killed' IS TRUE AS is_lost,
		   extract(epoch FROM a.ran + coalesce(w.to_at - a.running_since, '0')) AS seconds
	FROM simulation.attempt AS a JOIN simulation.pod AS p USING (number), simulation.plan AS w;
COMMENT ON VIEW simulation.run IS 'Running times of containers in the window';

-- The time since a pod's request in which the pod did not run, including times after it was killed. For pods that wait
-- at the end of the window, the time ends there.
CREATE VIEW simulation.wait AS
	SELECT p.number, p.is_opportunistic, extract(epoch FROM p.waited + coalesce(w.to_at - p.waiting_since, '0')) AS seconds
	FROM simulation.pod AS p, simulation.plan AS w;
COMMENT ON VIEW simulation.wait IS 'How long pods waited';

-- The facts that yquota returned about each allocated container, and those that the simulation recorded. With
-- over-allocation, a start is a microsecond later than the report.
CREATE VIEW simulation.difference AS
	SELECT a.container_id, a.outcome, q.left_reason, a.started_at, q.started_at AS started_by_queue, q.waited
	FROM simulation.attempt AS a FULL JOIN yquota.node_queue AS q USING (container_id)
	LEFT JOIN (SELECT container_id, count(*) AS killed FROM simulation.told WHERE decision = 'killed' GROUP BY 1) AS t USING (container_id)
	WHERE (a.started_at IS NULL) <> (q.started_at IS NULL)
	   OR abs(extract(epoch FROM a.started_at - q.started_at)) > 0.001
	   OR CASE a.outcome WHEN 'completed' THEN 'ended' ELSE a.outcome END IS DISTINCT FROM q.left_reason
	   OR coalesce(t.killed, 0) <> (a.outcome = 'killed' IS TRUE)::integer
	   OR q.pauses = 0 AND abs(extract(epoch FROM q.waited - (coalesce(a.started_at, a.ended_at) - q.enqueued_at))) > 0.001;
COMMENT ON VIEW simulation.difference IS 'Containers about which yquota and the simulation differ; expected to be empty';

CREATE TABLE simulation.outcome (
	scenario text PRIMARY KEY,
	cores_used numeric NOT NULL,
	cores_useful numeric NOT NULL,
	memory_used numeric NOT NULL,
	memory_useful numeric NOT NULL,
	completed bigint NOT NULL,
	opportunistic_median interval NOT NULL,
	opportunistic_mean interval NOT NULL,
	opportunistic_most interval NOT NULL,
	kills bigint NOT NULL,
	lost_core_hours numeric NOT NULL,
	guaranteed_median interval NOT NULL,
	guaranteed_most interval NOT NULL,
	guaranteed_credits numeric NOT NULL,
	opportunistic_credits numeric NOT NULL,
	differences bigint NOT NULL,
	problems bigint NOT NULL
);
COMMENT ON TABLE simulation.outcome IS 'Results of each scenario';
COMMENT ON COLUMN simulation.outcome.cores_used IS 'percent of the core-seconds of all nodes that containers held while they ran';
COMMENT ON COLUMN simulation.outcome.cores_useful IS 'percent of the core-seconds of all nodes that containers held while they ran, without killed containers';
COMMENT ON COLUMN simulation.outcome.completed IS 'OPPORTUNISTIC pods that have run for their whole duration';
COMMENT ON COLUMN simulation.outcome.opportunistic_median IS 'longest wait of the half of the OPPORTUNISTIC pods that waited least';
COMMENT ON COLUMN simulation.outcome.opportunistic_most IS 'longest wait of the 95 percent of the OPPORTUNISTIC pods that waited least';
COMMENT ON COLUMN simulation.outcome.guaranteed_most IS 'longest wait of the 99 percent of the GUARANTEED pods that waited least';
COMMENT ON COLUMN simulation.outcome.differences IS 'rows of simulation.difference; expected to be 0';
COMMENT ON COLUMN simulation.outcome.problems IS 'rows of yquota.verify(); expected to be 0';

CREATE VIEW simulation.result AS
	SELECT NULL::text AS scenario, r.*, o.*, k.*, g.*, c.*,
		   (SELECT count(*) FROM simulation.difference) AS differences, (SELECT count(*) FROM yquota.verify()) AS problems
	FROM simulation.plan AS w
	CROSS JOIN LATERAL (SELECT extract(epoch FROM w.to_at - w.from_at) * sum(yquota.amount(total, 'vcores')) AS core_seconds,
			extract(epoch FROM w.to_at - w.from_at) * sum(yquota.amount(total, 'memory-mb')) AS memory_seconds FROM yquota.node) AS n
	CROSS JOIN LATERAL (SELECT round(100 * sum(vcores * seconds) / n.core_seconds, 2) AS cores_used,
			round(100 * sum(vcores * seconds) FILTER (WHERE NOT is_lost) / n.core_seconds, 2) AS cores_useful,
			round(100 * sum(memory_mb * seconds) / n.memory_seconds, 2) AS memory_used,
			round(100 * sum(memory_mb * seconds) FILTER (WHERE NOT is_lost) / n.memory_seconds, 2) AS memory_useful FROM simulation.run) AS r
	CROSS JOIN LATERAL (SELECT (SELECT count(*) FROM simulation.pod WHERE is_opportunistic AND completed_at IS NOT NULL) AS completed,
			percentile_disc(0.5) WITHIN GROUP (ORDER BY seconds) * interval '1 s' AS opportunistic_median,
			round(avg(seconds)) * interval '1 s' AS opportunistic_mean,
			percentile_disc(0.95) WITHIN GROUP (ORDER BY seconds) * interval '1 s' AS opportunistic_most FROM simulation.wait WHERE is_opportunistic) AS o
	CROSS JOIN LATERAL (SELECT count(*) AS kills, coalesce(round(sum(vcores * seconds) / 3600, 1), 0) AS lost_core_hours FROM simulation.run WHERE is_lost) AS k
	CROSS JOIN LATERAL (SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY seconds) * interval '1 s' AS guaranteed_median,
			percentile_disc(0.99) WITHIN GROUP (ORDER BY seconds) * interval '1 s' AS guaranteed_most FROM simulation.wait WHERE NOT is_opportunistic) AS g
	CROSS JOIN LATERAL (SELECT coalesce(sum(amount) FILTER (WHERE execution_type = 'GUARANTEED'), 0) AS guaranteed_credits,
			coalesce(sum(amount) FILTER (WHERE execution_type = 'OPPORTUNISTIC'), 0) AS opportunistic_credits
			FROM yquota.cost_between(w.from_at, w.to_at, '{execution_type}')) AS c;
COMMENT ON VIEW simulation.result IS 'Results of the scenario that was played in this database';
