--
-- Placement: which queue an application goes to. The vectors are those of Hadoop's
-- TestCSMappingPlacementRule, and the other results were compared with the engine of Hadoop 3.4.1.
--
SET client_min_messages = warning;
CREATE DATABASE yquota_queue_placement;
\c yquota_queue_placement
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS yquota;
\set VERBOSITY terse

-- all queues except root have a weight, which is valid at every place in the hierarchy
ALTER TABLE yquota.queue ALTER capacity SET DEFAULT '1w';
BEGIN;
INSERT INTO yquota.queue (path, capacity) VALUES ('root', NULL);
INSERT INTO yquota.queue (path) VALUES
	('root.default'), ('root.ambiguous'), ('root.ambiguous.user'), ('root.ambiguous.user.ambi'), ('root.ambiguous.user.alice'),
	('root.ambiguous.group'), ('root.ambiguous.group.tester'), ('root.ambiguous.group.ambi'), ('root.disambiguous'), ('root.disambiguous.deep'),
	('root.disambiguous.deep.disambiuser'), ('root.disambiguous.deep.disambiuser.disambi'), ('root.disambiguous.deep.disambiuser.emily'),
	('root.disambiguous.deep.group'), ('root.disambiguous.deep.group.developer'), ('root.unman'), ('root.unman.static'), ('root.user'), ('root.user.bob');
-- the queue is stopped so that it may be deleted, and placement does not check the state
INSERT INTO yquota.queue (path, state) VALUES ('root.sales', 'STOPPED');
INSERT INTO yquota.queue (path, auto_create_child_queue_enabled, leaf_queue_template) VALUES
	('root.man', true, '{"capacity": "10"}'), ('root.ambiguous.managed', true, '{"capacity": "10"}'), ('root.unman.managed', true, '{"capacity": "10"}');
INSERT INTO yquota.queue (path, auto_queue_creation_v2_enabled) VALUES ('root.dynamic', true);
COMMIT;

CREATE FUNCTION pg_temp.legacy(rules text[]) RETURNS void LANGUAGE sql AS $$
	DELETE FROM yquota.mapping_rule;
	INSERT INTO yquota.mapping_rule (kind, position, type, matches, queue)
	SELECT 'legacy', n, CASE split_part(rule, ':', 1) WHEN 'u' THEN 'user' ELSE 'group' END, split_part(rule, ':', 2), split_part(rule, ':', 3)
	FROM unnest(rules) WITH ORDINALITY AS r (rule, n) WHERE rule !~ '^a:';
	INSERT INTO yquota.mapping_rule (kind, position, type, matches, queue)
	SELECT 'application', n, 'application', split_part(rule, ':', 2), split_part(rule, ':', 3)
	FROM unnest(rules) WITH ORDINALITY AS r (rule, n) WHERE rule ~ '^a:';
	INSERT INTO yquota.scheduler_setting (mapping_rule_format) VALUES (NULL)
	ON CONFLICT (only_row) DO UPDATE SET mapping_rule_format = NULL;
$$;
CREATE FUNCTION pg_temp.json(rules jsonb) RETURNS void LANGUAGE sql AS $$
	DELETE FROM yquota.mapping_rule;
	INSERT INTO yquota.mapping_rule (kind, position, type, matches, policy, parent_queue, custom_placement, value, create_queue, fallback_result)
	SELECT 'json', n, coalesce(r->>'type', 'user'), r->>'matches', r->>'policy', r->>'parentQueue', r->>'customPlacement', r->>'value', (r->>'create')::boolean, r->>'fallbackResult'
	FROM jsonb_array_elements(rules) WITH ORDINALITY AS e (r, n);
	INSERT INTO yquota.scheduler_setting (mapping_rule_format) VALUES ('json')
	ON CONFLICT (only_row) DO UPDATE SET mapping_rule_format = 'json';
$$;

-- V31: legacy rules into existing queues (testLegacyPlacementToExistingQueue). The target of bob's
-- rule is ambiguous, and the scheduler would not start with it, so the test does not commit.
BEGIN;
SELECT pg_temp.legacy('{u:alice:root.ambiguous.user.ambi,u:bob:ambi,u:dave:disambi,u:%user:disambiuser.%user}');
SELECT username, p.queue_path, p.outcome, p.rule_kind, p.rule_position, p.must_create, p.reason, p.earlier_rules
FROM unnest('{alice,bob,dave,emily,charlie}'::text[]) AS username, yquota.place_application(username, '{}') AS p;
SELECT rule_kind, rule_position, matches, target, decides, reason FROM yquota.place_application('emily', '{}', explain => true) WHERE outcome IS NULL;
SELECT rule_kind, rule_position, matches, target, decides, reason FROM yquota.place_application('bob', '{}', explain => true) WHERE outcome IS NULL;
-- explain also shows the result after all rules
SELECT outcome, queue_path, rule_kind, rule_position, matches, target, decides FROM yquota.place_application('bob', '{}', explain => true);
ROLLBACK;

-- V32: legacy rules into managed parents (testLegacyPlacementToManagedQueues)
BEGIN;
SELECT pg_temp.legacy('{u:alice:root.ambiguous.managed.%user,u:bob:managed.%user,u:charlie:root.unman.charlie,u:dave:non-existent.%user,u:%user:root.man.%user}');
SELECT username, p.queue_path, p.outcome, p.rule_position, p.must_create, p.reason
FROM unnest('{alice,bob,charlie,dave,emily}'::text[]) AS username, yquota.place_application(username, '{}') AS p;
ROLLBACK;

-- V34: fallbacks (testRuleFallbackHandling)
BEGIN;
SELECT pg_temp.json('[{"matches": "alice", "policy": "custom", "customPlacement": "non-existent", "fallbackResult": "reject"},
	{"matches": "bob", "policy": "custom", "customPlacement": "non-existent", "fallbackResult": "skip"},
	{"matches": "bob", "policy": "setDefaultQueue", "value": "root.invalid"},
	{"matches": "bob", "policy": "defaultQueue", "fallbackResult": "reject"},
	{"matches": "charlie", "policy": "custom", "customPlacement": "non-existent", "fallbackResult": "placeDefault"},
	{"matches": "emily", "policy": "setDefaultQueue", "value": "root.invalid"},
	{"matches": "emily", "policy": "custom", "customPlacement": "non-existent", "fallbackResult": "placeDefault"},
	{"type": "application", "matches": "ShouldFail", "policy": "custom", "customPlacement": "root.default"}]');
SELECT application, username, p.queue_path, p.outcome, p.rule_position, p.reason, p.earlier_rules
FROM (VALUES ('ShouldFail', 'alice'), ('ShouldFail', 'bob'), ('ShouldSucceed', 'charlie'), ('ShouldSucceed', 'dave'), ('ShouldFail', 'dave'), ('ShouldFail', 'emily')) AS v (application, username),
	 yquota.place_application(username, '{}', 'default', application) AS p;
SELECT rule_kind, rule_position, matches, target, decides, reason FROM yquota.place_application('bob', '{}', 'default', 'ShouldFail', explain => true) WHERE outcome IS NULL;
ROLLBACK;

-- V37: the queue that the submission names (testSpecified). "default" counts as no name, and
-- root.default counts as one.
SELECT pg_temp.json('[{"matches": "*", "policy": "specified", "fallbackResult": "skip"}, {"matches": "*", "policy": "custom", "customPlacement": "root.ambiguous.group.tester"}, {"matches": "*", "policy": "reject"}]');
UPDATE yquota.scheduler_setting SET queue_mappings_override_enable = true;
SELECT queue, p.queue_path, p.outcome, p.rule_position, p.reason, p.earlier_rules
FROM unnest(ARRAY[NULL, 'default', 'root.default', 'bob', 'ambi', 'root.man', 'root.man.new', 'root..x', 'root.', 'root.user. bob', 'none']) AS queue,
	 yquota.place_application('alice', '{}', queue) AS p;

-- Without override, a queue that the submission names is used as it is
UPDATE yquota.scheduler_setting SET queue_mappings_override_enable = NULL;
SELECT queue, p.queue_path, p.outcome, p.must_create, p.rule_position, p.reason, p.earlier_rules
FROM unnest(ARRAY['default', 'root.default', 'bob', 'ambi', 'user', 'root.man.new', 'root.dynamic.a', 'root.dynamic.a.b', 'root.dynamic.a.b.c', 'dynamic.a', 'root.user.x',
				  'root..x', 'x', '.', 'root.sales.x']) AS queue,
	 yquota.place_application('alice', '{}', queue) AS p;
BEGIN;
INSERT INTO yquota.queue (path, auto_created, capacity) VALUES ('root.man.made', true, '10');
SELECT p.queue_path, p.outcome, p.must_create, p.rule_kind, p.rule_position, p.reason, p.earlier_rules FROM yquota.place_application('alice', '{}', 'root.man.made') AS p;
ROLLBACK;
DELETE FROM yquota.mapping_rule;
SELECT queue, p.queue_path, p.outcome, p.must_create, p.rule_kind, p.rule_position, p.reason, p.earlier_rules
FROM unnest('{default,sales,none}'::text[]) AS queue, yquota.place_application('alice', '{}', queue) AS p;
BEGIN;
INSERT INTO yquota.queue (path) VALUES ('root.user.default');
SELECT p.queue_path, p.outcome, p.must_create, p.rule_kind, p.rule_position, p.reason, p.earlier_rules FROM yquota.place_application('alice', '{}') AS p;
ROLLBACK;

-- Engines: both names mean the same engine, and with another engine no application is placed here
SELECT pg_temp.legacy('{u:%user:sales}');
DO $$
DECLARE
	engines text[];
BEGIN
	FOREACH engines SLICE 1 IN ARRAY '{{app-name,x},{user-group,app-name},{com.example.Rule,x}}'::text[] LOOP
		UPDATE yquota.scheduler_setting SET queue_placement_rules = engines;
		RAISE WARNING '% %', engines, (SELECT p.queue_path || ': ' || p.reason FROM yquota.place_application('alice', '{}') AS p);
	END LOOP;
	UPDATE yquota.scheduler_setting SET queue_placement_rules = NULL;
END
$$;

-- Order of rules: rules for users and groups as configured, then rules for applications
SELECT pg_temp.legacy('{a:etl:root.sales,u:alice:bob,g:dev:disambi,a:%user:root.unman.static,g:ops:emily}');
SELECT username, groups, application, p.queue_path, p.rule_kind, p.rule_position, p.earlier_rules
FROM (VALUES ('alice', '{dev}'::text[], 'etl'), ('eve', '{ops,dev}', 'etl'), ('eve', '{x,ops}', 'etl'), ('eve', '{x}', 'etl'), ('eve', NULL, 'eve'), ('eve', '{}', NULL)) AS v (username, groups, application),
	 yquota.place_application(username, groups, 'default', application) AS p;

-- Variables. A dot in a name becomes _dot_ in a path, and rules compare the original name.
BEGIN;
INSERT INTO yquota.queue (path) VALUES ('root.user.a_dot_b'), ('root.user.dev'), ('root.user.g_dot_h'), ('root.unman.dev'), ('root.unman.dev.bob'), ('root.unman.%primary_group');
SELECT policy, parent, username, groups, p.queue_path, p.outcome, p.must_create, p.earlier_rules
FROM (VALUES ('user', 'root.user', 'a.b', '{}'::text[]), ('user', 'root.user', 'bob', '{}'), ('user', 'user', 'bob', '{}'), ('user', 'root.dynamic', 'x.y', '{}'), ('user', NULL, 'sales', '{}'), ('user', 'root.dynamic', ' x', '{}'),
			 ('primaryGroup', 'root.user', 'u', '{dev,bob}'), ('primaryGroup', 'root.user', 'u', '{g.h}'), ('primaryGroup', 'root.unman', 'u', '{}'), ('primaryGroup', 'root.unman', 'u', NULL), ('primaryGroup', NULL, 'u', '{sales}'),
			 ('primaryGroup', 'root.dynamic', 'u', '{}'), ('primaryGroup', 'root.dynamic', 'u', NULL),
			 ('secondaryGroup', 'root.user', 'u', '{bob,x,dev,bob}'), ('secondaryGroup', 'root.user', 'u', '{x,x}'), ('secondaryGroup', 'root.user', 'u', '{dev}'), ('secondaryGroup', 'root.user', 'u', '{x,g.h}'), ('secondaryGroup', 'user', 'u', '{x,dev}'),
			 ('secondaryGroup', NULL, 'u', '{x,ambi,sales}'), ('secondaryGroup', 'root.dynamic', 'u', '{x,y}'), ('secondaryGroup', 'root.dynamic', 'u', '{}'),
			 ('primaryGroupUser', 'root.unman', 'bob', '{dev}'), ('primaryGroupUser', 'root.dynamic', 'bob', '{dev}'), ('primaryGroupUser', 'root.man', 'bob', '{dev}'), ('secondaryGroupUser', 'root.unman', 'bob', '{x,dev}'), ('secondaryGroupUser', 'root.dynamic', 'bob', '{x,dev}'),
			 ('applicationName', 'root.user', 'u', '{}'), ('reject', NULL, 'u', '{}'), ('defaultQueue', NULL, 'u', '{}')) AS v (policy, parent, username, groups),
	 LATERAL (SELECT pg_temp.json(jsonb_build_array(jsonb_build_object('matches', '*', 'policy', policy, 'parentQueue', parent))), username AS name, groups AS of OFFSET 0) AS s,
	 LATERAL yquota.place_application(s.name, s.of, 'default', 'bob') AS p;
ROLLBACK;

-- %default, and values that are compared with variables
SELECT pg_temp.json('[{"matches": "*", "policy": "setDefaultQueue", "value": "root.user.%user"},
	{"type": "group", "matches": "%user", "policy": "custom", "customPlacement": "%default"},
	{"matches": "%application", "policy": "custom", "customPlacement": "root.sales"},
	{"type": "application", "matches": "%primary_group%user", "policy": "defaultQueue", "fallbackResult": "reject"}]');
SELECT username, groups, application, p.queue_path, p.outcome, p.rule_position, p.earlier_rules
FROM (VALUES ('bob', '{x,bob}'::text[], NULL), ('bob', '{x}', 'bob'), ('bob', '{x}', 'xbob'), ('eve', '{x}', 'xeve'), ('a.b', '{x}', 'a.b'), ('a.b', '{x}', 'xa_dot_b'), ('eve', '{}', NULL)) AS v (username, groups, application),
	 yquota.place_application(username, groups, 'default', application) AS p;
SELECT rule_kind, rule_position, matches, target, decides, reason FROM yquota.place_application('eve', '{x}', 'default', 'xeve', explain => true) WHERE outcome IS NULL;
SELECT rule_kind, rule_position, matches, target, decides, reason FROM yquota.place_application('eve', '{x}', 'root.sales', explain => true) WHERE outcome IS NULL;

-- The option create, and how deep rules look for queues. The scheduler would not start with the
-- last rule.
BEGIN;
SELECT pg_temp.json('[{"matches": "a", "policy": "user", "parentQueue": "root.dynamic", "create": false, "fallbackResult": "reject"},
	{"matches": "*", "policy": "custom", "customPlacement": "dynamic.p.%user", "create": true},
	{"matches": "*", "policy": "custom", "customPlacement": "root.dynamic.p.q.%user", "fallbackResult": "placeDefault"}]');
SELECT username, p.queue_path, p.outcome, p.must_create, p.rule_position, p.reason, p.earlier_rules
FROM unnest('{a,b}'::text[]) AS username, yquota.place_application(username, '{}') AS p;
UPDATE yquota.mapping_rule SET create_queue = false WHERE position = 2;
SELECT username, p.queue_path, p.outcome, p.must_create, p.rule_position, p.reason, p.earlier_rules
FROM unnest('{b}'::text[]) AS username, yquota.place_application(username, '{}') AS p;
ROLLBACK;

--
-- V35: a configuration that Hadoop would not start with cannot be committed, and one error lists
-- all violations
--
\set VERBOSITY default
SELECT pg_temp.legacy('{u:a:sales}');
SELECT pg_temp.legacy('{u:a:non-existent}');
SELECT pg_temp.legacy('{u:a:%token}');
SELECT pg_temp.legacy('{u:a:ambi,u:b:bob.%user,u:c:root.user.x,u:d:sales,g:e:root..x,a:f:user,u:g:root.unman.x.%user,u:h:x.%user,u:i:root.dynamic.a.b.c,u:j:.}');
SELECT pg_temp.json('[{"type": "group", "matches": "*", "policy": "reject"}, {"matches": "x", "policy": "custom"}, {"matches": "x", "policy": "setDefaultQueue"}, {"matches": "x", "policy": "user", "parentQueue": ""},
	{"matches": "x", "policy": "user", "parentQueue": "sales"}, {"matches": "x", "policy": "secondaryGroupUser", "parentQueue": "root.none"}]');
\set VERBOSITY terse
-- rules that may lead to a queue are accepted
SELECT pg_temp.legacy('{u:a:%specified,u:b:%primary_group.%user,u:c:root.man.x,u:d:root.dynamic.x.y,u:e:dynamic.x.%user.y,u:f:man.%user,u:g:root.%user.x,u:h:root.user.bob.}');
-- a queue that a rule needs can neither be deleted nor become a parent
SELECT pg_temp.legacy('{u:a:root.sales}');
DELETE FROM yquota.queue WHERE path = 'root.sales';
INSERT INTO yquota.queue (path) VALUES ('root.sales.more');
UPDATE yquota.queue SET path = 'root.sold' WHERE path = 'root.sales';
-- a change of the configuration cannot make a short name ambiguous, but a submission that creates a
-- queue can
SELECT pg_temp.legacy('{u:a:sales}');
INSERT INTO yquota.queue (path) VALUES ('root.user.sales');
INSERT INTO yquota.queue (path, auto_created) VALUES ('root.dynamic.sales', true);
SELECT p.queue_path, p.outcome, p.must_create, p.rule_kind, p.rule_position, p.reason, p.earlier_rules FROM yquota.place_application('a', '{}') AS p;
DELETE FROM yquota.queue WHERE auto_created;
-- within a transaction the order does not matter, but immediate checks see the state at once
BEGIN;
SELECT pg_temp.legacy('{u:a:root.soon}');
INSERT INTO yquota.queue (path) VALUES ('root.soon');
COMMIT;
BEGIN;
SET CONSTRAINTS ALL IMMEDIATE;
UPDATE yquota.mapping_rule SET queue = 'root.later';
ROLLBACK;
-- rules that are not in force are not checked
BEGIN;
UPDATE yquota.scheduler_setting SET mapping_rule_format = 'json';
UPDATE yquota.mapping_rule SET queue = 'root.later';
COMMIT;
UPDATE yquota.scheduler_setting SET mapping_rule_format = 'legacy';
DELETE FROM yquota.scheduler_setting;
UPDATE yquota.mapping_rule SET queue = 'root.soon';
UPDATE yquota.scheduler_setting SET queue_placement_rules = '{user-group,user-group}';
UPDATE yquota.scheduler_setting SET queue_placement_rules = '{com.example.Rule}';
UPDATE yquota.mapping_rule SET queue = 'root.later';
DELETE FROM yquota.mapping_rule;
UPDATE yquota.scheduler_setting SET queue_placement_rules = NULL;
-- priority lists
\set VERBOSITY default
UPDATE yquota.queue SET acl_application_max_priority = '[user=a max_priority=x]' WHERE path IN ('root.sales', 'root.user.bob');
\set VERBOSITY terse

-- Bad input
SELECT yquota.place_application(NULL, '{}');
SELECT yquota.place_application('', '{}');
SELECT yquota.place_application('a', '{a,NULL}');
SELECT yquota.place_application('a', '{}', '');
SELECT p.outcome, length(p.reason) FROM yquota.place_application('a', '{}', repeat('x.', 5000) || 'x') AS p;
INSERT INTO yquota.mapping_rule (kind, position, type, matches, queue) VALUES ('legacy', 1, 'user', NULL, 'x');
INSERT INTO yquota.mapping_rule (kind, position, type, matches, queue) VALUES ('legacy', 1, 'user', '', 'x');
INSERT INTO yquota.mapping_rule (kind, position, type, matches, queue) VALUES ('legacy', 1, 'host', 'x', 'x');
INSERT INTO yquota.mapping_rule (kind, position, type, matches, policy) VALUES ('json', 1, 'user', 'x', 'anywhere');
INSERT INTO yquota.mapping_rule (kind, position, type, matches, policy, fallback_result) VALUES ('json', 1, 'user', 'x', 'user', 'later');

-- Names with characters of all scripts
INSERT INTO yquota.queue (path) VALUES ('root.Müller & Söhne'), ('root.user.o''brien "x"');
SELECT pg_temp.legacy(ARRAY['u:Jürgen:Müller & Söhne', 'g:grün:root.user.o''brien "x"', 'u:%user:root.user.%user']);
SELECT username, groups, p.queue_path, p.outcome FROM (VALUES ('Jürgen', '{}'::text[]), ('JÜRGEN', '{}'), ('x', '{rot,grün}'), ('o''brien "x"', NULL), ('; DROP TABLE', NULL)) AS v (username, groups), yquota.place_application(username, groups) AS p;

-- Many rules: a search by name finds the same rules, in order, as a walk through all rules
DELETE FROM yquota.mapping_rule;
INSERT INTO yquota.queue (path) SELECT 'root.unman.q' || n FROM generate_series(1, 100) AS n;
INSERT INTO yquota.mapping_rule (kind, position, type, matches, queue)
SELECT 'legacy', n, CASE n % 3 WHEN 0 THEN 'group' ELSE 'user' END, CASE n % 3 WHEN 0 THEN 'g' ELSE 'u' END || n % 700, 'root.unman.q' || 1 + n % 100
FROM generate_series(1, 5000) AS n;
INSERT INTO yquota.mapping_rule (kind, position, type, matches, queue) SELECT 'application', n, 'application', 'a' || n, 'root.unman.q' || 1 + n % 100 FROM generate_series(1, 100) AS n;
SELECT count(*) AS decisions, count(DISTINCT p.queue_path) AS queues, count(*) FILTER (WHERE p.outcome = 'PLACED') AS placed,
	   count(*) FILTER (WHERE (p.rule_kind, p.rule_position) IS DISTINCT FROM (e.rule_kind, e.rule_position)) AS differences
FROM generate_series(1, 40) AS n,
	 LATERAL (SELECT 'u' || n * 37 % 2500 AS username, ARRAY['g' || n * 53 % 2500, 'g' || n * 211 % 2500, 'x'] AS groups, 'a' || n * 7 % 200 AS application OFFSET 0) AS v,
	 yquota.place_application(username, groups, 'default', application) AS p
	 LEFT JOIN LATERAL (SELECT * FROM yquota.place_application(username, groups, 'default', application, explain => true) WHERE decides) AS e ON true;

\c postgres
SET client_min_messages = warning;
DROP DATABASE yquota_queue_placement WITH (FORCE);
