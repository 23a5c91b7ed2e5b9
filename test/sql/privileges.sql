--
-- Operators, viewers, members and administrators: their rights, limits that they cannot bypass, and
-- the audit. The privileges of tables and functions are in security.sql.
--
SET client_min_messages = warning;
DROP DATABASE IF EXISTS yquota_privileges WITH (FORCE);
CREATE DATABASE yquota_privileges;
\c yquota_privileges
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS yquota;
SET timezone = 'UTC';
SET datestyle = 'ISO';
SET intervalstyle = 'postgres';
\set SHOW_CONTEXT never
CREATE ROLE yquota_test_operator;
CREATE ROLE yquota_test_viewer;
CREATE ROLE yquota_test_member;
CREATE ROLE yquota_test_group;
CREATE ROLE yquota_test_admin;
CREATE ROLE yquota_test_other;
SELECT yquota.set_clock('2026-03-02 10:00');
INSERT INTO yquota.project (name, on_exhausted) VALUES ('lab', 'stop'), ('secret', 'stop');
INSERT INTO yquota.quota_grant (project, amount, reason) VALUES ('lab', 1000, 'gift'), ('secret', 1000, 'secret reason');
INSERT INTO yquota.billing_currency (effective_at, code, symbol, credits_per_unit) VALUES ('-infinity', 'EUR', 'EUR', 100);
INSERT INTO yquota.node (name, total, state) VALUES ('n1', '[vcores=100]', 'LOST');
SELECT yquota.allow_role('yquota_test_operator', 'operator');
SELECT yquota.allow_role('yquota_test_viewer', 'viewer');
SELECT yquota.allow_role('yquota_test_member', 'member', 'lab');
SELECT yquota.allow_role('yquota_test_admin', 'admin');
SELECT role, kind, project, granted_by = session_user AS by_me FROM yquota.role_grant ORDER BY role;
SELECT yquota.allow_role('yquota_test_other', 'boss');
SELECT yquota.allow_role('yquota_test_other', NULL);
SELECT yquota.allow_role('yquota_test_other', 'member');
SELECT yquota.allow_role('yquota_test_other', 'member', 'nothing');
SELECT yquota.allow_role('yquota_test_other', 'viewer', 'lab');
SELECT yquota.disallow_role('yquota_test_other', 'viewer');
-- an administrator can allow every kind of role except administrators
SET ROLE yquota_test_admin;
SELECT yquota.allow_role('yquota_test_other', 'admin');
SELECT yquota.disallow_role('yquota_test_admin', 'admin');
SELECT yquota.allow_role('yquota_test_other', 'member', 'lab');
SELECT yquota.disallow_role('yquota_test_other', 'member', 'lab');
SELECT yquota.disallow_role('yquota_test_other', 'member', 'lab');
SET ROLE yquota_test_viewer;
SELECT yquota.allow_role('yquota_test_other', 'viewer');
RESET ROLE;
SELECT role, kind FROM yquota.role_grant WHERE role = 'yquota_test_other';

SET ROLE yquota_test_operator;
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, username, queue, node, application_id, allocation)
SELECT 'CONTAINER_START', p || '_' || i, '2026-03-02 09:00', p, p || '_user', 'root.' || p, 'n1', p || '_app', format('[vcores=%s]', i)::yquota.resource
FROM unnest('{lab,secret}'::text[]) AS p, generate_series(1, 3) AS i;
INSERT INTO yquota.container_event (event, container_id, occurred_at)
SELECT 'CONTAINER_FINISH', p || '_1', '2026-03-02 09:30' FROM unnest('{lab,secret}'::text[]) AS p;
SELECT events, rejected FROM yquota.feed_status;
-- calls that a scheduler needs: balances, quotes, prices, containers to stop, running containers,
-- lost nodes and outages
SELECT project, remaining, available FROM yquota.project_balance ORDER BY project;
SELECT paying_project, remaining, affordable FROM yquota.price_quote('[vcores=1]', '1 hour', project => 'secret');
SELECT resource_type FROM yquota.current_price ORDER BY resource_type;
SELECT DISTINCT project, action FROM yquota.exhausted_work ORDER BY project;
BEGIN;
SELECT action, count(*) FROM yquota.reconcile('[]', '2026-03-02 09:50', true) GROUP BY action;
SELECT count(*) AS lost FROM yquota.node_lost('n1', '2026-03-02 09:40');
SELECT yquota.report_outage('2026-03-02 09:10', '2026-03-02 09:11', 'the network was down') > 0 AS reported;
ROLLBACK;
SELECT count(*) FROM yquota.container_cost;
SELECT count(*) FROM yquota.quota_grant;
SELECT yquota.set_multiplier('GENERAL', 0);
RESET ROLE;
SELECT yquota.report_outage('2026-03-02 09:10', '2026-03-02 09:11', 'secret outage', 'secret') > 0 AS reported;
SELECT yquota.report_outage('2026-03-02 08:10', '2026-03-02 08:11', 'slow disks', 'lab') > 0 AS reported,
	   yquota.report_outage('2026-03-02 08:00', '2026-03-02 08:01', 'a cable', NULL) > 0 AS of_all;
SELECT yquota_internal.note_crossings(yquota.clock());

--
-- A member reads all rows of the member's project, and no rows of other projects
--
SET ROLE yquota_test_member;
SELECT project, granted, charged, accrued, remaining < 0 AS is_exhausted FROM yquota.project_balance;
SELECT relname, (xpath('/row/rows/text()', x))[1] AS rows, (xpath('/row/of_others/text()', x))[1] AS of_others
FROM pg_class,
	 LATERAL query_to_xml(format('SELECT count(*) AS rows, count(*) FILTER (WHERE t::text ~ ''secret'') AS of_others FROM yquota.%I AS t', relname), false, true, '') AS x
WHERE relnamespace = 'yquota'::regnamespace AND relkind IN ('r', 'v') AND has_table_privilege(oid, 'SELECT')
  AND relname <> 'price_history'
ORDER BY relname;
SELECT project, started_at, forgiven, reason FROM yquota.readable_outage ORDER BY started_at;
SELECT project, kind, subject, detail FROM yquota.readable_alert ORDER BY alert_id;
SELECT project, amount FROM yquota.cost_between('-infinity', 'infinity');
SELECT container_id, amount FROM yquota.cost_between('-infinity', 'infinity', '{container_id}') ORDER BY 1;
SELECT amount FROM yquota.explain_charge('lab_1');
SELECT "from", "to", amount FROM yquota.explain_charge('lab_2');
SELECT * FROM yquota.explain_charge('secret_1');
SELECT * FROM yquota.explain_charge('no such container');
SELECT count(*) FROM yquota.container_cost WHERE container_id = 'secret_1' OR project = 'secret' OR application_id = 'secret_app';
-- and writes nothing
INSERT INTO yquota.container_event (event) VALUES ('QUOTA_COMPUTE');
INSERT INTO yquota.readable_grant (project, amount, reason) VALUES ('lab', 1, 'mine');
UPDATE yquota.readable_charge SET amount = 0;
DELETE FROM yquota.readable_container;
SELECT count(*) FROM yquota.verify();
SELECT yquota.allow_role('yquota_test_other', 'member', 'lab');
SELECT yquota_internal.reads_all();
SELECT * FROM yquota_internal.cost_between_as_owner('-infinity', 'infinity', '{project}');

--
-- Attempts to see more: by functions and operators that reveal their arguments, and by errors,
-- statistics and plans. Further attempts use plans of other roles, and code that other roles run.
--
RESET ROLE;
GRANT CREATE ON SCHEMA public TO yquota_test_member;
SET ROLE yquota_test_member;
CREATE TABLE told (what text);
CREATE FUNCTION tell(anyelement) RETURNS boolean LANGUAGE plpgsql COST 0.0000001 AS
	$$BEGIN INSERT INTO told VALUES ($1::text); RETURN true; END$$;
CREATE FUNCTION tell_same(text, text) RETURNS boolean LANGUAGE plpgsql COST 0.0000001 AS
	$$BEGIN INSERT INTO told VALUES ($1), ($2); RETURN true; END$$;
CREATE OPERATOR <<== (FUNCTION = tell_same, LEFTARG = text, RIGHTARG = text, RESTRICT = eqsel, JOIN = eqjoinsel);
DO $$
DECLARE
	name text;
BEGIN
	FOR name IN
		SELECT format('%I.%I', table_schema, table_name) FROM information_schema.columns
		WHERE table_schema = 'yquota' AND column_name = 'project'
		  AND has_table_privilege(format('%I.%I', table_schema, table_name), 'SELECT')
	LOOP
		EXECUTE format('SELECT count(*) FROM %s AS t WHERE tell(t::text)', name);
		EXECUTE format('SELECT count(*) FROM %s AS t WHERE tell(t.project) AND t.project <<== ''x''', name);
		EXECUTE format('SELECT count(*) FROM %s AS t JOIN %s AS u ON t.project <<== u.project', name, name);
		EXECUTE format('SELECT count(*) FROM %s AS t GROUP BY t.project HAVING tell(t.project) ORDER BY count(*) FILTER (WHERE tell(t.project))', name);
		EXECUTE format('SELECT (SELECT tell(t.project) LIMIT 1), t.* FROM %s AS t LIMIT 5', name);
		EXECUTE format('SELECT * FROM unnest(''{secret,lab}''::text[]) AS g, LATERAL (SELECT FROM %s AS t WHERE t.project = g AND tell(t.project)) AS s', name);
	END LOOP;
END
$$;
SELECT count(*) > 100 AS was_told, count(*) FILTER (WHERE what ~ 'secret') AS of_others FROM told;
-- errors that depend on values of hidden rows
SELECT count(*) FROM yquota.readable_charge WHERE (CASE project WHEN 'lab' THEN 'lab' ELSE project END)::text <> '' AND 1 / (CASE WHEN project = 'lab' THEN 1 ELSE 0 END) = 1;
SELECT count(*) FROM yquota.container_cost WHERE CASE WHEN project = 'lab' THEN 1 ELSE username::integer END = 1;
SELECT count(*) FROM yquota.project_balance WHERE CASE WHEN project = 'lab' THEN 1 ELSE project::integer END = 1;
SELECT count(*) FROM yquota.daily_cost WHERE CASE WHEN project = 'lab' THEN 1 ELSE username::integer END = 1;
-- statistics
RESET ROLE;
-- the currency of bills is no secret, and all members see its statistics
DELETE FROM yquota.billing_currency;
ANALYZE;
SELECT count(*) > 0 AS there_are_some FROM pg_stats WHERE schemaname ~ '^yquota' AND most_common_vals::text ~ 'secret';
SET ROLE yquota_test_member;
SELECT count(*) FROM pg_stats WHERE schemaname ~ '^yquota';
SELECT count(*) FROM pg_stats_ext WHERE schemaname ~ '^yquota';
SELECT count(*) FROM pg_statistic;
-- plans show the number of rows, but no contents
CREATE FUNCTION pg_temp.plan_of(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, VERBOSE) ' || query LOOP
		RETURN NEXT line;
	END LOOP;
END
$$;
SELECT relation, bool_or(line ~ 'Rows Removed by Filter: [1-9]') AS counts_rows, bool_or(line ~ 'secret') AS names_others
FROM unnest('{readable_charge,readable_container,readable_grant,container_cost,daily_cost,project_balance}'::text[]) AS relation,
	 pg_temp.plan_of('SELECT * FROM yquota.' || relation) AS line
GROUP BY relation ORDER BY relation;
RESET ROLE;
-- a plan that was made for another role, and a cursor that another role opened
SET ROLE yquota_test_viewer;
PREPARE projects AS SELECT project FROM yquota.project_balance ORDER BY 1;
EXECUTE projects;
-- server versions name the first condition of the filter in two ways
DO $$
DECLARE
	line text;
BEGIN
	FOR line IN EXPLAIN (COSTS off) SELECT container_id FROM yquota.readable_container LOOP
		RAISE WARNING '%', regexp_replace(regexp_replace(line, '\(InitPlan (\d)\)\.col1|\$0|\$1', '?', 'g'), ' \(returns \?\)', '');
	END LOOP;
END
$$;
SET ROLE yquota_test_member;
EXECUTE projects;
SET plan_cache_mode = force_generic_plan;
EXECUTE projects;
RESET plan_cache_mode;
-- code that belongs to the role, and that another role runs
CREATE TABLE mine (id integer);
INSERT INTO mine VALUES (1);
CREATE FUNCTION seen(integer) RETURNS integer LANGUAGE plpgsql IMMUTABLE AS
	$$BEGIN
		RAISE WARNING 'projects of "%": %', current_user, (SELECT string_agg(project, ', ') FROM yquota.project_balance);
		RAISE WARNING 'costs: %', (SELECT string_agg(project, ', ') FROM yquota.cost_between('-infinity', 'infinity'));
		RETURN 1;
	END$$;
CREATE INDEX mine_seen_idx ON mine (seen(id));
RESET ROLE;
REINDEX INDEX mine_seen_idx;
ANALYZE mine;
-- views of roles that see more, and tables that were granted directly
SET ROLE yquota_test_viewer;
CREATE TEMPORARY VIEW of_viewer AS SELECT project FROM yquota.readable_grant;
GRANT SELECT ON of_viewer TO yquota_test_member, yquota_test_other;
SELECT * FROM of_viewer ORDER BY 1;
SET ROLE yquota_test_other;
SELECT * FROM of_viewer;
SET ROLE yquota_test_member;
SELECT * FROM of_viewer;
RESET ROLE;
GRANT SELECT ON ALL TABLES IN SCHEMA yquota TO yquota_test_member, yquota_test_other;
SET ROLE yquota_test_member;
SELECT (SELECT array_agg(name) FROM yquota.project) AS project, (SELECT array_agg(DISTINCT project) FROM yquota.charge) AS charge,
	   (SELECT array_agg(DISTINCT project) FROM yquota.container) AS container, (SELECT array_agg(DISTINCT project) FROM yquota.quota_grant) AS quota_grant,
	   (SELECT count(*) FROM yquota.outage) AS outages, (SELECT count(*) FROM yquota.audit) AS audit, (SELECT count(*) FROM yquota.role_grant) AS role_grant;
SET row_security = off;
SELECT count(*) FROM yquota.charge;
RESET row_security;
SET ROLE yquota_test_other;
SELECT (SELECT count(*) FROM yquota.project) AS project, (SELECT count(*) FROM yquota.charge) AS charge, (SELECT count(*) FROM yquota.project_balance) AS project_balance,
	   (SELECT count(*) FROM yquota.readable_grant) AS readable_grant;
RESET ROLE;
REVOKE SELECT ON ALL TABLES IN SCHEMA yquota FROM yquota_test_member, yquota_test_other;
DROP VIEW of_viewer;
SELECT yquota.renew_role_grants();
-- a failed report does not leave the session with the rights of its owner
SET ROLE yquota_test_member;
SELECT * FROM yquota.cost_between('infinity', '-infinity');
BEGIN;
SAVEPOINT inside;
SELECT * FROM yquota.cost_between(NULL, NULL);
ROLLBACK TO inside;
SELECT project FROM yquota.readable_grant;
COMMIT;
SET ROLE yquota_test_viewer;
SELECT project FROM yquota.project_balance ORDER BY 1;
SELECT project, amount FROM yquota.cost_between('-infinity', 'infinity') ORDER BY 1;
RESET ROLE;

--
-- The rights of a member, and how they end
--
SELECT yquota.allow_role('yquota_test_member', 'member', 'lab');
SELECT yquota.allow_role('yquota_test_member', 'member', 'secret');
SET ROLE yquota_test_member;
SELECT project FROM yquota.project_balance ORDER BY 1;
RESET ROLE;
SELECT yquota.disallow_role('yquota_test_member', 'member', 'secret');
SELECT yquota.disallow_role('yquota_test_member', 'member', 'secret');
SET ROLE yquota_test_member;
SELECT project FROM yquota.project_balance;
RESET ROLE;
-- a group, as long as its members inherit its privileges
SELECT yquota.allow_role('yquota_test_group', 'member', 'secret');
GRANT yquota_test_group TO yquota_test_member;
SET ROLE yquota_test_member;
SELECT project FROM yquota.project_balance ORDER BY 1;
RESET ROLE;
REVOKE yquota_test_group FROM yquota_test_member;
ALTER ROLE yquota_test_member NOINHERIT;
GRANT yquota_test_group TO yquota_test_member;
SET ROLE yquota_test_member;
SELECT project FROM yquota.project_balance ORDER BY 1;
SET ROLE yquota_test_group;
SELECT project FROM yquota.project_balance ORDER BY 1;
RESET ROLE;
ALTER ROLE yquota_test_member INHERIT;
REVOKE yquota_test_group FROM yquota_test_member;
-- a renamed role keeps its rights, and a new role of the old name has none
ALTER ROLE yquota_test_group RENAME TO yquota_test_renamed;
SET ROLE yquota_test_renamed;
SELECT project FROM yquota.project_balance;
RESET ROLE;
CREATE ROLE yquota_test_group;
GRANT SELECT ON yquota.project_balance TO yquota_test_group;
SET ROLE yquota_test_group;
SELECT project FROM yquota.project_balance;
RESET ROLE;
REVOKE SELECT ON yquota.project_balance FROM yquota_test_group;
SELECT yquota.disallow_role('yquota_test_renamed', 'member', 'secret');
DROP ROLE yquota_test_renamed, yquota_test_group;
-- a role keeps its rights on a project that is renamed, and loses them when the project is deleted
INSERT INTO yquota.project (name) VALUES ('brief');
SELECT yquota.allow_role('yquota_test_member', 'member', 'brief');
UPDATE yquota.project SET name = 'short' WHERE name = 'brief';
SELECT project FROM yquota.role_grant WHERE role = 'yquota_test_member' ORDER BY 1;
DELETE FROM yquota.project WHERE name = 'short';
SELECT project FROM yquota.role_grant WHERE role = 'yquota_test_member' ORDER BY 1;
-- several kinds of one role: when one kind ends, the rights of the others stay
SELECT yquota.allow_role('yquota_test_member', 'viewer');
SELECT yquota.allow_role('yquota_test_member', 'operator');
SELECT yquota.disallow_role('yquota_test_member', 'viewer');
SELECT has_table_privilege('yquota_test_member', 'yquota.project_balance', 'SELECT') AS balance,
	   has_table_privilege('yquota_test_member', 'yquota.charge', 'SELECT') AS charge,
	   has_table_privilege('yquota_test_member', 'yquota.container_event', 'INSERT') AS events,
	   has_function_privilege('yquota_test_member', 'yquota.verify(timestamptz)', 'EXECUTE') AS verify;
SELECT yquota.disallow_role('yquota_test_member', 'operator');
SELECT has_table_privilege('yquota_test_member', 'yquota.charged_through', 'SELECT') AS mark,
	   has_table_privilege('yquota_test_member', 'yquota.feed_status', 'SELECT') AS feeds,
	   has_table_privilege('yquota_test_member', 'yquota.container_event', 'INSERT') AS events;
SELECT yquota.renew_role_grants();
-- a role name may have any characters
CREATE ROLE "yquota_test ""; DROP";
SELECT yquota.allow_role('"yquota_test ""; DROP"', 'member', 'lab');
SET ROLE "yquota_test ""; DROP";
SELECT project FROM yquota.project_balance;
RESET ROLE;
SELECT yquota.disallow_role('"yquota_test ""; DROP"', 'member', 'lab');
DROP ROLE "yquota_test ""; DROP";
-- bad arguments, and the right to allow roles
SELECT yquota.allow_role('yquota_test_member', 'member', 'no such project');
SELECT yquota.allow_role('no such role', 'viewer');
SELECT yquota.allow_role('public', 'viewer');
SELECT yquota.allow_role('-', 'viewer');
SELECT yquota.allow_role(NULL, 'viewer');
SELECT yquota.disallow_role('-', 'viewer');
SET ROLE yquota_test_admin;
SELECT yquota.allow_role('yquota_test_other', 'member', 'lab');
SELECT yquota.allow_role('yquota_test_other', 'admin');
SELECT yquota.disallow_role('yquota_test_admin', 'admin');
INSERT INTO yquota.role_grant (role, role_oid, kind) VALUES ('yquota_test_other', 0, 'admin');
SET ROLE yquota_test_other;
SELECT project FROM yquota.project_balance;
RESET ROLE;
SELECT yquota.disallow_role('yquota_test_other', 'member', 'lab');
DROP ROLE yquota_test_other;

--
-- Append-only tables: only the owner can change their rows, even if others have all privileges
--
GRANT ALL ON ALL TABLES IN SCHEMA yquota TO yquota_test_admin;
CREATE TABLE tried (relation text, command text, sqlstate text, message text);
GRANT ALL ON tried TO yquota_test_admin;
SET ROLE yquota_test_admin;
DO $$
DECLARE
	t record;
	command text;
BEGIN
	FOR t IN
		SELECT c.relname, (SELECT attname FROM pg_attribute WHERE attrelid = c.oid AND attnum = 2) AS name
		FROM pg_class AS c WHERE c.relnamespace = 'yquota'::regnamespace AND c.relkind = 'r'
	LOOP
		FOREACH command IN ARRAY ARRAY['UPDATE yquota.%1$I SET %2$I = %2$I WHERE false', 'DELETE FROM yquota.%1$I WHERE false', 'TRUNCATE yquota.%1$I'] LOOP
			BEGIN
				EXECUTE format(command, t.relname, t.name);
				INSERT INTO tried VALUES (t.relname, split_part(command, ' ', 1), '', 'done');
				RAISE EXCEPTION 'undone' USING ERRCODE = 'YQ999';
			EXCEPTION WHEN sqlstate 'YQ999' THEN
				INSERT INTO tried VALUES (t.relname, split_part(command, ' ', 1), '', 'done');
			WHEN others THEN
				INSERT INTO tried VALUES (t.relname, split_part(command, ' ', 1), SQLSTATE, SQLERRM);
			END;
		END LOOP;
	END LOOP;
END
$$;
RESET ROLE;
SELECT relation, string_agg(command || ' ' || coalesce(nullif(sqlstate, ''), 'ok'), ', ' ORDER BY command DESC) AS result
FROM tried GROUP BY relation ORDER BY relation;
SET ROLE yquota_test_admin;
UPDATE yquota.charge SET amount = 0;
DELETE FROM yquota.quota_grant;
TRUNCATE yquota.container_event;
INSERT INTO yquota.charge SELECT * FROM yquota.charge;
INSERT INTO yquota.audit (table_name, operation) VALUES ('yquota.price', 'DELETE');
DELETE FROM yquota.price_factor;
INSERT INTO yquota.quota_grant (project, amount, reason, external_id) VALUES ('lab', 1, 'twice', 'x')
	ON CONFLICT (external_id) DO UPDATE SET amount = EXCLUDED.amount;
\copy yquota.charge FROM '/dev/null'
RESET ROLE;
REVOKE ALL ON ALL TABLES IN SCHEMA yquota FROM yquota_test_admin;
SELECT yquota.renew_role_grants();
-- a function withdraws points of the future
SET ROLE yquota_test_admin;
INSERT INTO yquota.price_factor (dimension, name, effective_at, factor) VALUES ('queue', 'root.lab', '2026-03-02 10:00', 2), ('queue', 'root.lab', '2026-03-03', 3);
INSERT INTO yquota.charging_rule (effective_at, minimum_run_time) VALUES ('2026-03-03', '1 min');
SELECT yquota.set_base_price('vcores', 2, NULL, '2026-03-03');
DELETE FROM yquota.price_factor;
SELECT yquota.withdraw_point('yquota.price_factor', '2026-03-02 10:00', 'root.lab', 'queue');
SELECT yquota.withdraw_point('yquota.price_factor', '2026-03-03', 'root.lab', 'queue') AS factor,
	   yquota.withdraw_point('yquota.price_factor', '2026-03-03', 'root.lab', 'queue') AS again,
	   yquota.withdraw_point('yquota.charging_rule', '2026-03-03') AS rule,
	   yquota.withdraw_point('yquota.base_price', '2026-03-03', 'vcores') AS base_price;
SELECT yquota.withdraw_point('yquota.price', '2026-03-03', 'GENERAL');
SELECT yquota.withdraw_point('yquota.price_factor', NULL, 'root.lab', 'queue');
RESET ROLE;
SELECT count(*) FROM yquota.price_factor;

--
-- The audit
--
SELECT max(audit_id) AS before FROM yquota.audit \gset
SET application_name = 'privileges test';
SET ROLE yquota_test_admin;
BEGIN;
INSERT INTO yquota.price_group (name) VALUES ('FPGA');
INSERT INTO yquota.resource_type VALUES ('yarn.io/fpga', 'FPGA', 5, 1);
UPDATE yquota.resource_type SET base_price = 6 WHERE name = 'yarn.io/fpga';
UPDATE yquota.project SET on_exhausted = 'drain' WHERE name = 'lab';
INSERT INTO yquota.quota_grant (project, amount, reason) VALUES ('lab', 5, 'more');
SELECT yquota.set_multiplier('FPGA', 2);
SELECT yquota.clear_multiplier('FPGA');
SELECT yquota.report_outage('2026-03-02 09:40', '2026-03-02 09:41', 'network') > 0 AS reported;
DELETE FROM yquota.resource_type WHERE name = 'yarn.io/fpga';
SELECT yquota.allow_role('yquota_test_viewer', 'viewer');
SELECT yquota.disallow_role('yquota_test_viewer', 'viewer');
SELECT yquota.stop_worker();
COMMIT;
BEGIN;
UPDATE yquota.project SET description = 'rolled back';
ROLLBACK;
INSERT INTO yquota.node (name, total) VALUES ('n2', '[vcores=1]');
SELECT price_group, published FROM yquota.compute_prices();
RESET ROLE;
SELECT yquota.set_clock('2026-03-02 10:00:10');
UPDATE yquota.node SET state = 'RUNNING';
UPDATE yquota.price_group SET tipping_point = 0 WHERE name = 'GENERAL';
SELECT price_group, published FROM yquota.compute_prices();
TRUNCATE yquota.price_pin;
SET yquota.auto_create_project = on;
SET ROLE yquota_test_operator;
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES ('CONTAINER_START', 'new_1', '2026-03-02 10:00', 'new', '[vcores=1]');
RESET ROLE;
-- rows that are deleted with others are deleted in the owner's name, up to PostgreSQL 17
SELECT table_name, operation, acting_role = session_user AND (table_name, operation) <> ('yquota.base_price', 'DELETE') AS as_owner,
	   (SELECT string_agg(key || ': ' || coalesce(old ->> key, '-') || ' > ' || coalesce(new ->> key, '-'), ', ' ORDER BY key)
		FROM jsonb_object_keys(coalesce(old, new)) AS key
		WHERE key !~ '(_at|_id|_oid|_by)$' AND old -> key IS DISTINCT FROM new -> key AND coalesce(old ->> key, new ->> key) IS NOT NULL) AS change
FROM yquota.audit WHERE audit_id > :before ORDER BY audit_id;
SELECT count(DISTINCT transaction_id) AS transactions, bool_and(session_role = session_user) AS session_role, bool_and(application_name = 'privileges test') AS application_name,
	   bool_and(pid = pg_backend_pid()) AS pid, bool_and(client_address IS NOT DISTINCT FROM inet_client_addr()) AS client_address,
	   bool_and(changed_at > now() - interval '1 hour') AS changed_at
FROM yquota.audit WHERE audit_id > :before;
-- the session's user is recorded, also when a user logs in as an administrator
SET SESSION AUTHORIZATION yquota_test_admin;
UPDATE yquota.project SET description = 'x' WHERE name = 'lab';
SELECT yquota.set_multiplier('GENERAL', 3);
SELECT table_name, operation, session_role, acting_role = session_role AS by_himself FROM yquota.audit ORDER BY audit_id DESC LIMIT 3;
UPDATE yquota.audit SET session_role = 'somebody else';
RESET SESSION AUTHORIZATION;
SET ROLE yquota_test_member;
SELECT count(*) FROM yquota.audit;
RESET ROLE;

--
-- Planted objects: everything that yquota uses exists a second time in a schema that comes first in
-- search_path. Each planted object reports when it is used.
--
RESET application_name;
REVOKE CREATE ON SCHEMA public FROM yquota_test_member;
CREATE SCHEMA planted AUTHORIZATION yquota_test_member;
CREATE TABLE planting (statement text);
GRANT SELECT ON planting TO yquota_test_member;
-- plant functions and tables of yquota under their own names, and the functions of the server that
-- yquota's functions and views call
INSERT INTO planting
SELECT DISTINCT format('CREATE OR REPLACE FUNCTION planted.%I(%s) RETURNS %s LANGUAGE plpgsql AS $$BEGIN RAISE EXCEPTION ''planted function %s''; END$$', p.proname,
			  (SELECT string_agg(format_type(a, NULL), ', ' ORDER BY n) FROM unnest(p.proargtypes::oid[]) WITH ORDINALITY AS t (a, n)),
			  CASE WHEN p.proretset THEN 'SETOF ' ELSE '' END || format_type(p.prorettype, NULL), p.proname)
FROM pg_proc AS p
WHERE p.prokind = 'f' AND p.prorettype NOT IN ('internal'::regtype, 'event_trigger'::regtype)
  AND NOT EXISTS (SELECT FROM unnest(p.proargtypes::oid[] || p.prorettype) AS a JOIN pg_type AS t ON t.oid = a WHERE t.typnamespace = 'yquota_internal'::regnamespace OR t.typtype = 'p' AND t.typname NOT IN ('record', 'void', 'trigger'))
  AND (p.prorettype <> 'record'::regtype OR p.proretset)
  AND (p.pronamespace IN ('yquota'::regnamespace, 'yquota_internal'::regnamespace)
	   OR p.pronamespace = 'pg_catalog'::regnamespace
		  AND p.proname IN (SELECT (regexp_matches(f.prosrc, '\m([a-z_]+)\(', 'g'))[1] FROM pg_proc AS f
							WHERE f.pronamespace IN ('yquota'::regnamespace, 'yquota_internal'::regnamespace)));
INSERT INTO planting
SELECT DISTINCT format('CREATE FUNCTION planted.%I(%s, %s) RETURNS boolean LANGUAGE plpgsql AS $$BEGIN RAISE EXCEPTION ''planted operator %s''; END$$',
			  'op' || o.oid, o.oprleft::regtype, o.oprright::regtype, o.oprname)
	   || format('; CREATE OPERATOR planted.%s (FUNCTION = planted.%I, LEFTARG = %s, RIGHTARG = %s)',
			  o.oprname, 'op' || o.oid, o.oprleft::regtype, o.oprright::regtype)
FROM pg_operator AS o
WHERE o.oprnamespace IN ('pg_catalog'::regnamespace, 'yquota'::regnamespace) AND o.oprkind = 'b'
  AND o.oprname IN ('=', '<>', '<', '<=', '>', '>=', '+', '-', '*', '/', '||', '<@', '@>', '->>', '->', '~', '&&')
  AND (o.oprleft = o.oprright OR o.oprleft = 'jsonb'::regtype)
  AND o.oprleft IN ('text'::regtype, 'numeric'::regtype, 'timestamptz'::regtype, 'integer'::regtype, 'bigint'::regtype, 'boolean'::regtype, 'interval'::regtype,
					'name'::regtype, 'oid'::regtype, 'jsonb'::regtype, '"char"'::regtype, 'anyarray'::regtype, 'anyenum'::regtype, 'yquota.resource'::regtype)
  AND NOT (o.oprleft IN ('anyarray'::regtype, 'anyenum'::regtype));
INSERT INTO planting
SELECT DISTINCT format('CREATE TABLE planted.%I AS SELECT * FROM (VALUES (''planted'')) AS t (planted)', c.relname)
FROM pg_class AS c WHERE c.relkind IN ('r', 'v') AND (c.relnamespace IN ('yquota'::regnamespace, 'yquota_internal'::regnamespace)
	OR c.relnamespace = 'pg_catalog'::regnamespace AND c.relname IN ('pg_class', 'pg_roles', 'pg_attribute', 'pg_proc', 'pg_inherits', 'pg_database', 'pg_index', 'pg_am'));
INSERT INTO planting
SELECT format('CREATE TYPE planted.%I AS ENUM (''planted'')', t.typname) FROM pg_type AS t
WHERE t.typnamespace IN ('yquota'::regnamespace) AND t.typtype IN ('e', 'b') AND t.typcategory <> 'A'
   OR t.typnamespace = 'pg_catalog'::regnamespace AND t.typname IN ('text', 'numeric', 'timestamptz', 'interval', 'int4', 'int8', 'bool', 'regclass', 'regrole', 'jsonb', 'name', 'date');
SET SESSION AUTHORIZATION yquota_test_member;
-- create types last, because otherwise columns and arguments of the other objects would have the
-- planted types
DO $$
DECLARE
	s text;
BEGIN
	FOR s IN SELECT statement FROM planting ORDER BY statement ~ '^CREATE TYPE', statement LOOP EXECUTE s; END LOOP;
END
$$;
-- plant the tables a second time as temporary tables
DO $$
DECLARE
	s text;
BEGIN
	FOR s IN SELECT replace(statement, 'TABLE planted.', 'TABLE pg_temp.') FROM planting WHERE statement ~ '^CREATE TABLE' LOOP EXECUTE s; END LOOP;
END
$$;
RESET SESSION AUTHORIZATION;
GRANT USAGE ON SCHEMA planted TO PUBLIC;
SELECT count(*) > 300 AS planted FROM planting;
-- it works
SET search_path = planted, pg_temp, pg_catalog;
SELECT statement_clock();
SELECT 'a'::pg_catalog.text = 'b'::pg_catalog.text;
SELECT * FROM price;
-- run everything that yquota does, as all kinds of roles, with the planted schema first
SET ROLE yquota_test_admin;
INSERT INTO yquota.price_group (name) VALUES ('PLANTED');
INSERT INTO yquota.resource_type VALUES ('planted', 'PLANTED', 5, 1);
UPDATE yquota.resource_type SET base_price = 6 WHERE name OPERATOR(pg_catalog.=) 'planted';
INSERT INTO yquota.price_factor (dimension, name, factor) VALUES ('username', 'planted', 0.5);
INSERT INTO yquota.charging_rule (minimum_run_time) VALUES ('1 min');
INSERT INTO yquota.project (name) VALUES ('planted');
UPDATE yquota.project SET name = 'planted twice' WHERE name OPERATOR(pg_catalog.=) 'planted';
INSERT INTO yquota.quota_grant (project, amount, reason) VALUES ('planted twice', 1, 'x');
INSERT INTO yquota.node (name, total) VALUES ('planted', '[vcores=1]');
INSERT INTO yquota.utilization VALUES ('vcores', 0.5, '2026-03-02 10:00:10');
SELECT yquota.set_multiplier('PLANTED', 2);
SELECT yquota.clear_multiplier('PLANTED');
SELECT yquota.set_base_price('planted', 3);
SELECT yquota.withdraw_point('yquota.base_price', '2027-01-01', 'planted');
SELECT price_group FROM yquota.compute_prices();
SELECT yquota.report_outage('2026-03-02 09:50', '2026-03-02 09:51', 'x', 'lab') OPERATOR(pg_catalog.>) 0;
SELECT yquota.quota_compute();
SELECT container_id FROM yquota.reconcile('[]', '2026-03-02 10:00:10', false);
SELECT container_id FROM yquota.node_lost('planted');
SELECT * FROM yquota.retry_rejects();
SELECT yquota.allow_role('yquota_test_viewer', 'operator');
SELECT yquota.disallow_role('yquota_test_viewer', 'operator');
SELECT yquota.stop_worker();
SELECT yquota.seal_history();
SELECT pg_catalog.count(*) FROM yquota.void_events('lab_1', 'wrong');
SELECT * FROM yquota.charge_deferred();
SELECT * FROM yquota.verify();
SET ROLE yquota_test_operator;
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES
	('CONTAINER_START', 'planted_1', '2026-03-02 10:00', 'lab', '[vcores=1]'), ('CONTAINER_UPDATE', 'planted_1', '2026-03-02 10:00:01', NULL, '[vcores=2]'),
	('CONTAINER_FINISH', 'planted_1', '2026-03-02 10:00:02', NULL, NULL), ('QUOTA_COMPUTE', NULL, '2026-03-02 10:00:10', NULL, NULL);
SET ROLE yquota_test_member;
SELECT project FROM yquota.project_balance;
SELECT project, pg_catalog.count(*) FROM yquota.cost_between('-infinity', 'infinity') GROUP BY project;
SELECT pg_catalog.count(*) FROM yquota.explain_charge('lab_2');
SELECT pg_catalog.count(*) FROM yquota.daily_cost;
SELECT pg_catalog.count(*) FROM yquota.container_cost;
SELECT pg_catalog.count(*) FROM yquota.suspect_container;
SELECT pg_catalog.count(*) FROM yquota.price_history;
RESET ROLE;
RESET search_path;
SELECT yquota.disallow_role('yquota_test_admin', 'admin'), yquota.disallow_role('yquota_test_operator', 'operator'), yquota.disallow_role('yquota_test_member', 'member', 'lab');
SELECT role, kind FROM yquota.role_grant;
SELECT * FROM yquota.verify();

\c postgres
DROP DATABASE yquota_privileges;
DROP ROLE yquota_test_operator, yquota_test_viewer, yquota_test_member, yquota_test_admin;
