--
-- Typical mistakes in configuration, made by an administrator.  Each error says what to write instead.
--
CREATE DATABASE yquota_mistakes;
\c yquota_mistakes
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS yquota;
SET timezone = 'UTC';
SET datestyle = 'ISO';
SET intervalstyle = 'postgres';
\set SHOW_CONTEXT never
CREATE ROLE yquota_mistakes_admin;
SELECT yquota.allow_role('yquota_mistakes_admin', 'admin');
SELECT yquota.set_clock('2026-03-01 00:00+00');
INSERT INTO yquota.project (name) VALUES ('atlas'), ('borealis'), ('climate');

-- every CHECK constraint of configuration says which values it allows
SELECT t.tgrelid::regclass, k.name, k.expression
FROM pg_trigger AS t, yquota_internal.checks_of(t.tgrelid) AS k
WHERE t.tgname = 'values_are_allowed' AND yquota_internal.allowed_values(k.columns, k.expression, k.description) IS NULL;
-- The sentence of each CHECK, and the hint for a percentage where a fraction is meant. The sentences are read from
-- expressions that the server prints, so a version of the server that prints them in another way shows here.
\pset format unaligned
SELECT t.tgrelid::regclass AS of_table, k.name, yquota_internal.allowed_values(k.columns, k.expression, k.description) AS sentence,
	   yquota_internal.hint_at_value(k.expression, '50') AS hint_at_50
FROM pg_trigger AS t, yquota_internal.checks_of(t.tgrelid) AS k
WHERE t.tgname = 'values_are_allowed'
ORDER BY t.tgrelid::regclass::text COLLATE "C", k.name;
\pset format aligned
-- every audited table has the trigger, except those that only functions write after checks of their own
SELECT DISTINCT c.conrelid::regclass AS without_trigger
FROM pg_constraint AS c
WHERE c.contype = 'c' AND EXISTS (SELECT FROM pg_trigger AS t WHERE t.tgrelid = c.conrelid AND t.tgname = 'audit_truncate')
  AND NOT EXISTS (SELECT FROM pg_trigger AS t WHERE t.tgrelid = c.conrelid AND t.tgname = 'values_are_allowed')
ORDER BY 1;
SELECT count(*) FROM pg_trigger AS t WHERE t.tgname = 'values_are_allowed' AND t.tgrelid = 'yquota.container_event'::regclass;

SET ROLE yquota_mistakes_admin;
-- a word that is not one of the list
INSERT INTO yquota.budget (project, period, amount) VALUES ('atlas', 'monthly', 100);
INSERT INTO yquota.budget (project, period, amount) VALUES ('atlas', 'Month', 100);
INSERT INTO yquota.budget (project, period, amount) VALUES ('atlas', 'hour', 100);
INSERT INTO yquota.quota_grant (project, amount, reason, kind) VALUES ('atlas', 100, 'spring', 'grnat');
INSERT INTO yquota.mapping_rule (kind, position, type, matches, queue) VALUES ('legacy', 1, 'u', 'alice', 'root.a');
INSERT INTO yquota.mapping_rule (kind, position, type, matches, policy) VALUES ('json', 1, 'user', 'alice', 'primarygroup');
INSERT INTO yquota.mapping_rule (kind, position, type, matches, policy, fallback_result) VALUES ('json', 1, 'user', 'alice', 'user', 'default');
INSERT INTO yquota.scheduler_setting (preemption_mode) VALUES ('dry-run');
INSERT INTO yquota.scheduler_setting (node_queue_order) VALUES ('shortest_frist');
INSERT INTO yquota.over_allocation (resource_type, threshold) VALUES ('memory', 0.9);

-- a percentage instead of a fraction
INSERT INTO yquota.spending_threshold (project, fraction) VALUES ('atlas', 80);
INSERT INTO yquota.over_allocation (resource_type, threshold) VALUES ('memory-mb', 90);
INSERT INTO yquota.price_group (name, tipping_point) VALUES ('GPU', 75);
INSERT INTO yquota.charging_rule (project, charging_mode, waiting_factor) VALUES ('', 'sum', 50);

-- a number or an interval out of range
INSERT INTO yquota.quota_grant (project, amount, reason) VALUES ('atlas', 'NaN', 'spring');
INSERT INTO yquota.budget (project, period, amount) VALUES ('atlas', 'month', -100);
INSERT INTO yquota.project (name, credit_limit) VALUES ('delta', -5);
INSERT INTO yquota.project (name, exhaustion_grace) VALUES ('delta', '11 years');
INSERT INTO yquota.price_factor (dimension, name, factor) VALUES ('queue', 'root.a', -0.5);
INSERT INTO yquota.price_factor (dimension, name, factor) VALUES ('queue', 'root.a', 0.33333333);
INSERT INTO yquota.resource_type (name, price_group, base_price) VALUES ('licence', 'GENERAL', -1);
INSERT INTO yquota.retention_setting (keep_months) VALUES (1);
INSERT INTO yquota.price_calendar (price_group, name, timezone, weekdays, factor) VALUES ('GENERAL', 'weekend', 'UTC', '{0,6}', 0.5);

-- a text of another form
INSERT INTO yquota.project (name) VALUES ('');
INSERT INTO yquota.queue (path, capacity) VALUES ('root', '100%');
INSERT INTO yquota.node_label (name) VALUES ('gpu nodes');
INSERT INTO yquota.unmapped_property (property, value) VALUES ('capacity', '50');
INSERT INTO yquota.cluster_setting (cluster_name) VALUES ('');

-- columns that do not go together
INSERT INTO yquota.spending_threshold (project, fraction, remaining) VALUES ('atlas', 0.8, 100);
INSERT INTO yquota.quota_grant (project, amount, reason, valid_from, expires_at) VALUES ('atlas', 1, 'spring', '2026-04-01', '2026-03-01');
INSERT INTO yquota.opportunistic_price (min_factor, max_factor) VALUES (0.9, 0.5);

-- a project, resource type or price group that does not exist
INSERT INTO yquota.quota_grant (project, amount, reason) VALUES ('atlsa', 100, 'spring');
INSERT INTO yquota.budget (project, period, amount) VALUES ('Atlas', 'month', 100);
INSERT INTO yquota.project (name, parent) VALUES ('delta', 'boreals');
INSERT INTO yquota.spending_threshold (project, fraction) VALUES ('physics', 0.8);
INSERT INTO yquota.price_factor (dimension, name, factor) VALUES ('project', 'climat', 0.5);
INSERT INTO yquota.charging_rule (project, charging_mode) VALUES ('climates', 'sum');
INSERT INTO yquota.resource_type (name, price_group, base_price) VALUES ('licence', 'GENERL', 1);
SELECT yquota.hold('atla', 'application_1_1', 5, '1 hour');
SELECT yquota.rerate('2026-02-01', '2026-03-01', '{"factors": [{"dimension": "project", "name": "climate1", "factor": 0.5}]}');

SELECT yquota.set_base_price('memory-bm', 2);
SELECT yquota.set_base_price('memory-mb', -1);
SELECT yquota.set_multiplier('GENERA', 2);
SELECT * FROM yquota.price_quote('[cpu=1]', '1 hour');
SELECT * FROM yquota.price_quote('[vcore=1]', '1 hour');
INSERT INTO yquota.queue (path, capacity) VALUES ('root', NULL), ('root.science', '60'), ('root.sales', '40');
SELECT * FROM yquota.user_limit('root.sience', 'alice');
SELECT * FROM yquota.user_limit('slaes', 'alice');
INSERT INTO yquota.queue (path, capacity) VALUES ('sales', '10');
INSERT INTO yquota.queue (path, capacity) VALUES ('root..sales', '10');
INSERT INTO yquota.queue_label (queue, label, capacity) VALUES ('root.scince', 'gpu', '50');
INSERT INTO yquota.queue_user (queue, username, weight) VALUES ('root.slaes', 'alice', 1);
-- a transaction may insert the settings of a queue before the queue, and delete them again
BEGIN;
INSERT INTO yquota.queue_user (queue, username, weight) VALUES ('root.ops', 'alice', 1), ('root.marketing', 'alice', 1);
INSERT INTO yquota.queue (path, capacity) VALUES ('root.ops', '0');
DELETE FROM yquota.queue_user WHERE queue = 'root.marketing';
COMMIT;
UPDATE yquota.queue_user SET queue = 'root.marketing';

-- the server checks an enum before any trigger; its error does not list the values
INSERT INTO yquota.project (name, quota_mode) VALUES ('delta', 'PREPIAD');

-- Every function with an argument for a project gives the same error for a project that does not exist.  Only a
-- submission raises no error: the row that it returns tells that it is refused.
RESET ROLE;
SELECT * FROM yquota.close_period('2026-03-01 00:00+00');
UPDATE yquota.queue SET reservable = true, state = 'STOPPED' WHERE path = 'root.sales';
CREATE FUNCTION pg_temp.error_of(call text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	code text;
	message text;
	hint text;
BEGIN
	EXECUTE 'SELECT * FROM yquota.' || call;
	RETURN 'no error';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS code = RETURNED_SQLSTATE, message = MESSAGE_TEXT, hint = PG_EXCEPTION_HINT;
	RETURN concat_ws(' ', code, message, hint);
END
$$;
CREATE TEMPORARY TABLE call_with_project (call text, function text GENERATED ALWAYS AS (substring(call FROM E'^\\w+')) STORED);
INSERT INTO call_with_project VALUES
	('allow_role(''yquota_mistakes_admin'', ''member'', ''climate1'')'),
	('balance_at(''climate1'', ''2026-03-01'')'),
	('bill(''climate1'', ''2026-03-01 00:00+00''::timestamptz)'),
	('bill(''climate1'', ''2026-03-01''::date)'),
	('bill_by_calendar(''climate1'', ''2026-03-01 00:00+00''::timestamptz)'),
	('bill_by_calendar(''climate1'', ''2026-03-01''::date)'),
	('bill_html(''climate1'', ''2026-03-01 00:00+00''::timestamptz)'),
	('bill_html(''climate1'', ''2026-03-01''::date)'),
	('disallow_role(''yquota_mistakes_admin'', ''member'', ''climate1'')'),
	('forecast(''climate1'')'),
	('forgive(''2026-02-01'', ''2026-02-02'', ''power cut'', ''climate1'')'),
	('hold(''climate1'', ''application_1_1'', 5, ''1 hour'')'),
	('import_rm_audit(''x'', ''UTC'', project => ''climate1'')'),
	('import_rm_audit_file(current_setting(''data_directory'') || ''/PG_VERSION'', ''UTC'', project => ''climate1'')'),
	('price_quote(''[vcores=1]'', ''1 hour'', project => ''climate1'')'),
	('price_quote(yquota.reservation_contract(''2026-03-01'', ''2026-03-02'', ''{}'', ''ANY''), ''root.sales'', ''alice'', ''{}'', ''climate1'')'),
	('report_html(''2026-02-01'', ''2026-03-01'', ''climate1'')'),
	('report_outage(''2026-02-01'', ''2026-02-02'', ''power cut'', ''climate1'')'),
	('rerate(''2026-02-01'', ''2026-03-01'', ''{}'', ''climate1'')'),
	('shadow_costs(''2026-02-01'', ''2026-03-01'', ''climate1'')'),
	('submit_application(''application_1_0001'', ''alice'', ''{}'', ''root.science'', project => ''climate1'')'),
	('submit_reservation(''reservation_1_0001'', ''root.sales'', ''alice'', ''{}'', ''climate1'', yquota.reservation_contract(''2026-03-01'', ''2026-03-02'', ''{}'', ''ANY''))'),
	('transfer_credit(''climate1'', ''atlas'', 5, ''as agreed'')'),
	('transfer_credit(''atlas'', ''climate1'', 5, ''as agreed'')'),
	('void_events(NULL, ''wrong cluster'', "from" => ''2026-02-01'', "to" => ''2026-02-02'', project => ''climate1'')');
SELECT function, error
FROM (SELECT function, pg_temp.error_of(call) AS error FROM call_with_project OFFSET 0) AS made
WHERE error <> '23503 project "climate1" does not exist Perhaps you meant "climate".';
SELECT DISTINCT p.oid::regprocedure AS not_called
FROM pg_proc AS p, unnest(p.proargnames[1:p.pronargs]) AS argument
WHERE p.pronamespace = 'yquota'::regnamespace AND argument ~ 'project' AND argument <> 'project_from'
  AND NOT EXISTS (SELECT FROM call_with_project AS c WHERE c.function = p.proname);

-- an allocation as Kubernetes writes it, and other slips
SELECT '{"cpu":"500m"}'::yquota.resource;
SELECT '{"vcores":0.5}'::yquota.resource;
SELECT '[memory-mb=4G]'::yquota.resource;
SELECT 'memory-mb=4G'::yquota.resource;
SELECT '{"memory-mb":"4GB"}'::yquota.resource;

-- a statement may insert a project before its parent
INSERT INTO yquota.project (name, parent) VALUES ('leaf', 'trunk'), ('trunk', NULL);
-- a member is told only the projects that the member may read
RESET ROLE;
CREATE ROLE yquota_mistakes_member;
SELECT yquota.allow_role('yquota_mistakes_member', 'member', 'atlas');
SET ROLE yquota_mistakes_member;
SELECT * FROM yquota.balance_at('atlsa', '2026-03-01');
SELECT * FROM yquota.balance_at('boreali', '2026-03-01');
SELECT * FROM yquota.balance_at('borealis', '2026-03-01');
RESET ROLE;
SELECT * FROM yquota.verify();

\c postgres
DROP DATABASE yquota_mistakes;
DROP ROLE yquota_mistakes_admin, yquota_mistakes_member;
