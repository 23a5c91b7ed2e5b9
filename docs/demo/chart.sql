--
-- Print the multiplier of a price group over time as a chart of at most 88 columns. psql variables: "group";
-- "first_hour", the first hour of the history to show; "average" and "peak", the characters of the chart for these
-- values.
--

\pset format unaligned
\pset tuples_only on

WITH length AS (
	SELECT demo.clock_at(:first_hour) AS origin, origin + seconds * interval '1 second' AS finish,
		hours, tick, ceil((seconds / 3600.0 - :first_hour) / hours)::integer AS columns
	FROM demo.history, LATERAL (
		SELECT * FROM (VALUES (1, 24), (2, 12), (3, 16), (4, 12), (6, 12), (12, 14), (24, 14), (48, 15), (96, 15))
			AS width(hours, tick)
		WHERE seconds / 3600.0 - :first_hour <= hours * 80 ORDER BY hours LIMIT 1) AS fitting
), price_interval AS (
	SELECT multiplier, effective_at AS since, lead(effective_at, 1, 'infinity') OVER (ORDER BY effective_at) AS until
	FROM yquota.price WHERE price_group = :'group'
), point AS (
	SELECT place, max(multiplier) AS peak,
		sum(multiplier * extract(epoch FROM least(until, span_end) - greatest(since, span_start)))
			/ extract(epoch FROM span_end - span_start) AS average
	FROM length, generate_series(0, columns - 1) AS place,
		LATERAL (SELECT origin + place * hours * interval '1 hour',
			least(origin + (place + 1) * hours * interval '1 hour', finish)) AS span(span_start, span_end)
	JOIN price_interval ON since < span_end AND until > span_start
	GROUP BY place, span_start, span_end
), scale AS (
	SELECT greatest(ceil((max(peak) - 1) / 8 * 50), 1) / 50 AS step FROM point
), line AS (
	SELECT 9 - level AS sequence, format('%s |%s', lpad(to_char(1 + level * step, 'FM"x"990.00'), 6),
			string_agg(CASE WHEN average > 1 + (level - 0.5) * step THEN :'average'
				WHEN peak > 1 + (level - 0.5) * step THEN :'peak' ELSE ' ' END, '' ORDER BY place)) AS text
	FROM point, scale, generate_series(1, 8) AS level
	GROUP BY level, step
	UNION ALL
	SELECT 0, format('%s, one column per %s', :'group', CASE hours WHEN 1 THEN 'hour' ELSE hours || ' hours' END) || (
		SELECT format('; the highest is x%s on %s, at %s %% utilization', to_char(multiplier, 'FM990.00'),
			to_char(effective_at, 'Mon DD HH24:MI'), round(100 * utilization))
		FROM yquota.price
		WHERE price_group = :'group' AND effective_at >= length.origin
		ORDER BY multiplier DESC, effective_at LIMIT 1)
	FROM length
	UNION ALL
	SELECT 9, ' x1.00 +' || repeat('-', columns) FROM length
	UNION ALL
	SELECT 10, '        ' || string_agg(rpad(to_char(origin + place * hours * interval '1 hour', 'Mon DD'), tick), '' ORDER BY place)
	FROM length, generate_series(0, columns - 6, tick) AS place
	GROUP BY tick
)
SELECT rtrim(text) FROM line ORDER BY sequence;

\pset format aligned
\pset tuples_only off
