--
-- Show the results as a user sees them, from the public views and functions. The script can be run again at any time.
-- The psql variables "average" and "peak", if set, are as in chart.sql.
--

\if :{?average}
\else
	\set average '#'
	\set peak ':'
\endif

SELECT seconds / 3600 * 3 / 4 / 24 * 24 AS last_quarter,
	to_char(origin, 'YYYY-MM-DD') AS origin, to_char(demo.clock_at(seconds), 'YYYY-MM-DD HH24:MI') AS finish
FROM demo.history \gset

\pset border 0

\echo
\set key '(':average' average, ':peak' peak of each column)'
\echo '=== The price over time: multiplier on the base prices' :key
\echo
\set first_hour 0
\set group GENERAL
\ir chart.sql
\echo
\set group GPU
\ir chart.sql
\echo
\echo 'The last quarter of it:'
\set first_hour :last_quarter
\ir chart.sql

\echo
\echo '=== The dearest projects (cost_between(): what ran, the running ones up to now)'
\echo
WITH cost AS (
	SELECT project, amount, sum(amount) OVER () AS total
	FROM yquota.cost_between('-infinity', 'infinity', '{project}')
)
SELECT project, to_char(amount, '9,999,999,990') AS "credits", to_char(100 * amount / total, '990.0') || ' %' AS share,
	repeat(:'average', round(40 * amount / max(amount) OVER ())::integer) AS " "
FROM cost ORDER BY amount DESC, project LIMIT 8;

\echo '=== Cost by queue'
\echo
SELECT queue, execution_type AS "execution type", to_char(sum(amount), '9,999,999,990') AS "credits",
	to_char(100 * sum(amount) / sum(sum(amount)) OVER (), '990.0') || ' %' AS share
FROM yquota.cost_between('-infinity', 'infinity', '{queue,execution_type}')
GROUP BY queue, execution_type ORDER BY sum(amount) DESC;

\echo '=== Cost by day, the last ten (daily_cost: split exactly at midnight)'
\echo
SELECT to_char(day, 'Dy YYYY-MM-DD') AS day,
	to_char(sum(amount), '9,999,999,990') AS "credits",
	to_char(coalesce(sum(amount) FILTER (WHERE execution_type = 'OPPORTUNISTIC'), 0), '9,999,999,990') AS "of it best effort",
	repeat(:'average', round(40 * sum(amount) / max(sum(amount)) OVER ())::integer) AS " "
FROM yquota.daily_cost
WHERE day > (SELECT max(day) FROM yquota.daily_cost) - 10
GROUP BY daily_cost.day ORDER BY daily_cost.day;

\echo '=== One container''s bill, explained'
\echo
\ir bill.sql

\echo
\echo '=== Live balances, those that run out first (credits; at the prices of this moment)'
\echo
SELECT project, to_char(granted, '9,999,999,990') AS granted, to_char(charged, '9,999,999,990') AS charged,
	to_char(accrued, '9,999,999,990') AS running, to_char(remaining, '9,999,999,990') AS remaining,
	to_char(burn_rate * 3600, '9,999,990') AS "per hour", to_char(exhausted_at, 'YYYY-MM-DD HH24:MI') AS "exhausted at"
FROM yquota.project_balance ORDER BY exhausted_at, project LIMIT 8;

\echo '=== The books'
\echo
\pset format unaligned
\pset tuples_only on
SELECT format('The worker is %s; it last computed prices at %s.', state, to_char(last_price_at, 'YYYY-MM-DD HH24:MI'))
FROM yquota.worker_status WHERE database = current_database();
SELECT format('verify() computed everything again from %s events and %s prices: %s problems.',
	trim(to_char((SELECT count(*) FROM yquota.container_event WHERE event <> 'QUOTA_COMPUTE'), '9,999,990')),
	trim(to_char((SELECT count(*) FROM yquota.price), '9,999,990')), count(*))
FROM yquota.verify();
\pset tuples_only off
\pset format aligned
\pset border 1
