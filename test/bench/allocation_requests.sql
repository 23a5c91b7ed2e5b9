--
-- Requests of the applications of allocation.sql, for :containers containers each. Of sixteen
-- applications eight accept any node, four name two racks, and four name two nodes. A quarter of
-- the applications that name places accept no other places. Every fourth group of sixteen has its
-- requests in two priorities. Requests of another :wave have other priorities.
--
SELECT sum(yquota.request_containers(application_id, requests)) AS asked
FROM (
	SELECT application_id,
		array_agg(ROW(resource_name, allocation, count, priority, -1, relax, NULL, NULL, NULL)::yquota.container_request ORDER BY priority, resource_name)
	FROM (
		SELECT application_id, priority, allocation, resource_name, sum(part)::integer AS count, bool_and(relax) AS relax
		FROM (
			SELECT n, 'application_1700000000000_' || lpad(n::text, 6, '0') AS application_id, :wave * 2 + part AS priority,
				format('[memory-mb=%s,vcores=%s]', 1024 * (1 + (n / 16 + part * 3) % 8), 1 + (n / 16 + part) % 4)::yquota.resource AS allocation,
				CASE WHEN n / 16 % 4 > 0 THEN :containers WHEN part = 1 THEN :containers - :containers / 3 ELSE :containers / 3 END AS count,
				(hashint4(n) & 2147483647) % :nodes AS home
			FROM generate_series(0, :applications - 1) AS n, generate_series(1, CASE WHEN n / 16 % 4 = 0 THEN 2 ELSE 1 END) AS part) AS ask,
		LATERAL (
			SELECT '*', count, n % 16 NOT IN (11, 15)
			UNION ALL
			SELECT '/rack' || lpad((place / 40)::text, 4, '0'), count - count * place_number / 2, n % 16 <> 15
			FROM (VALUES (0, home), (1, (home + 41) % :nodes)) AS two (place_number, place) WHERE n % 16 >= 8
			UNION ALL
			SELECT 'node' || lpad(place::text, 6, '0'), count - count * place_number / 2, true
			FROM (VALUES (0, home), (1, (home + 41) % :nodes)) AS two (place_number, place) WHERE n % 16 >= 12
		) AS place (resource_name, part, relax)
		WHERE part > 0
		GROUP BY application_id, priority, allocation, resource_name) AS request
	GROUP BY application_id) AS asked (application_id, requests) \gset
VACUUM ANALYZE yquota.queue, yquota.node, yquota.application, yquota.resource_request, yquota_internal.application_counter;
