--
-- help(): topics, and the objects that the calling role may use.
--
\set VERBOSITY terse
SET client_min_messages = warning;
SELECT * FROM yquota.help();

-- Every table, view and function that a kind of role may use belongs to a topic,
-- and every topic has some of them.
WITH known AS MATERIALIZED (
	SELECT t.topic, split_part(translate(h.call, ' ', '('), '(', 1) AS name
	FROM yquota.help() AS t LEFT JOIN LATERAL yquota.help(t.topic) AS h ON true
)
SELECT p.object
FROM yquota_internal.privilege AS p
WHERE p.object LIKE 'yquota.%' AND p.object <> 'yquota.help(text)'
  AND split_part(p.object, '(', 1) NOT IN (SELECT name FROM known WHERE name IS NOT NULL)
UNION ALL
SELECT topic FROM known GROUP BY 1 HAVING count(name) < 3;

-- Objects for other databases are in one topic, and in no other.
SELECT DISTINCT split_part(translate(call, ' ', '('), '(', 1) AS for_other_databases FROM yquota.help('cluster') ORDER BY 1;
SELECT t.topic, h.call
FROM yquota.help() AS t, yquota.help(t.topic) AS h, yquota.help('cluster') AS other
WHERE t.topic <> 'cluster' AND other.call = h.call;

-- A topic, a word that is not a topic but occurs in texts, and a word that occurs nowhere.
SELECT kind, call FROM yquota.help('outage');
SELECT topic, kind, call FROM yquota.help('MIDNIGHT');
SELECT count(*) FROM yquota.help('no such word');

-- A member sees only what a member may call.
INSERT INTO yquota.project (name) VALUES ('p');
CREATE ROLE regress_help_member;
SELECT yquota.allow_role('regress_help_member', 'member', 'p');
SET ROLE regress_help_member;
SELECT topic, kind, split_part(call, '(', 1) FROM yquota.help('price');
RESET ROLE;
DROP OWNED BY regress_help_member;
DROP ROLE regress_help_member;
DELETE FROM yquota.project WHERE name = 'p';
