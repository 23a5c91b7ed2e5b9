--
-- Replay the history in steps of some simulated days, and print a line for each step. One call for the whole history
-- would have the same result; the procedure commits every hour.
--

\pset format unaligned
\pset tuples_only on

WITH step AS (
	SELECT nullif(first, 1) AS first, least(first + days * 24 - 1, last) AS last
	FROM (SELECT (seconds + 3599) / 3600 AS last, greatest(seconds / 86400 / 15, 1) AS days FROM demo.history) AS length,
		LATERAL generate_series(1, last, days * 24) AS first
)
SELECT format('CALL demo.replay(%s, %s)', coalesce(first, 0), last),
	$$
		SELECT format('  %s  %s containers running, %s finished, price GENERAL x%s, GPU x%s',
			to_char(yquota.clock() AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI'),
			to_char((SELECT count(*) FROM yquota.container), '999'),
			to_char((SELECT count(DISTINCT container_id) FROM yquota.charge WHERE settled_by = 'CONTAINER_FINISH'), '9999'),
			to_char(max(multiplier) FILTER (WHERE price_group = 'GENERAL'), 'FM0.00'),
			to_char(max(multiplier) FILTER (WHERE price_group = 'GPU'), 'FM0.00'))
		FROM yquota.current_price
	$$
FROM step ORDER BY last
\gexec

\pset format aligned
\pset tuples_only off

-- Vacuum, because autovacuum has not run yet. Delete the alerts about locks. The worker had to wait for locks of the
-- replay, at times that are hours apart by the clock of the history. An alert about these waits would tell an
-- administrator nothing.
VACUUM (ANALYZE);
DELETE FROM yquota.alert WHERE kind = 'worker_postponed' AND cleared_at IS NOT NULL;
