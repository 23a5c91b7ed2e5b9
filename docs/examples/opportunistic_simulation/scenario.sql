--
-- Play the first scenario that has no outcome yet, in a copy of the prepared database, and then the other scenarios.
-- The copy of the last scenario stays for later queries.
--
SELECT name AS scenario, current_database() AS staged, current_database() || '_played' AS played
FROM simulation.scenario AS s WHERE NOT EXISTS (SELECT FROM simulation.outcome AS o WHERE o.scenario = s.name)
ORDER BY position LIMIT 1 \gset

\connect postgres
SET client_min_messages = warning;
DROP DATABASE IF EXISTS :"played";
CREATE DATABASE :"played" TEMPLATE :"staged";
\connect :"played"
SET client_min_messages = warning;
SET jit = off;
SELECT unnest(settings) FROM simulation.scenario WHERE name = :'scenario' \gexec
CALL simulation.play();
SELECT to_jsonb(o) AS outcome FROM simulation.result AS o \gset
\connect :"staged"
INSERT INTO simulation.outcome SELECT * FROM jsonb_populate_record(NULL::simulation.outcome, jsonb_set(:'outcome', '{scenario}', to_jsonb(:'scenario'::text)));
SELECT count(*) > 0 AS more FROM simulation.scenario AS s WHERE NOT EXISTS (SELECT FROM simulation.outcome AS o WHERE o.scenario = s.name) \gset
\if :more
	\ir scenario.sql
\endif
