--
-- Charges of reservations are archived with the ledger. Reports of balances, holds, grants, costs
-- and bills do not change, and archived charges can be proved. A vcore costs one credit per second
-- at multiplier 1.
--
SET client_min_messages = warning;
DROP DATABASE IF EXISTS yquota_reservation_archive WITH (FORCE);
CREATE DATABASE yquota_reservation_archive;
\c yquota_reservation_archive
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS yquota;
SET timezone = 'UTC';
SET datestyle = 'ISO';
SET jit = off;
\set SHOW_CONTEXT never
SELECT yquota.set_clock('2026-03-02 10:00');
INSERT INTO yquota.project (name, parent) VALUES ('lab', NULL), ('laser', 'lab'), ('web', NULL);
DELETE FROM yquota.resource_type WHERE name NOT IN ('memory-mb', 'vcores');
INSERT INTO yquota.queue (path, capacity, reservable, reservation_policy) VALUES
	('root', NULL, NULL, NULL), ('root.plan', '80', true, 'NoOverCommitPolicy'), ('root.other', '20', NULL, NULL);
INSERT INTO yquota.node (name, total) SELECT 'n' || i, '[memory-mb=102400,vcores=100]' FROM generate_series(1, 10) AS i;
INSERT INTO yquota.scheduler_setting (reservation_system_enable, reservation_repeats_allocation) VALUES (true, true);
INSERT INTO yquota.charging_rule (effective_at, reserved_factor) VALUES ('2026-03-02 10:00', 0.5);
-- no reservation, price or grant begins or ends on a full quarter of an hour
SELECT yquota.set_multiplier('GENERAL', 1.5, '2026-03-02 11:07:07.000007');
INSERT INTO yquota.price_factor (dimension, name, effective_at, factor) VALUES ('queue', 'root.plan', '2026-03-02 11:22:22', 0.8);
INSERT INTO yquota.quota_grant (project, amount, reason, valid_from, expires_at) VALUES
	('lab', 4000, 'short', '2026-03-02 10:00', '2026-03-02 11:11:11.123456'), ('lab', 900000, 'long', '2026-03-02 10:00', 'infinity'), ('web', 900000, 'long', '2026-03-02 11:05:05', 'infinity');
CREATE FUNCTION pg_temp.reserve(number integer, project text, arrival time, deadline time, vcores integer, recurrence interval DEFAULT NULL) RETURNS text LANGUAGE sql
	RETURN (SELECT format('%s %s', accepted, decided_by) FROM yquota.submit_reservation(format('reservation_1_000%s', number), 'root.plan', 'ann', '{}', project,
		yquota.reservation_contract('2026-03-02'::date + arrival, '2026-03-02'::date + deadline,
			ARRAY[yquota.reservation_request(yquota.resource(vcores => vcores), 1, deadline - arrival, 1)], 'ALL', recurrence)));
-- Two reservations that are removed later, one of them updated, and one that stays. Another is
-- periodic, and the last one is corrected late.
SELECT pg_temp.reserve(1, 'lab', '11:03:03', '11:33:33', 2), pg_temp.reserve(2, 'laser', '11:02', '11:52', 4), pg_temp.reserve(3, 'web', '11:05:05.5', '11:35:05.5', 1),
	   pg_temp.reserve(4, 'web', '11:04', '11:09', 3, '30 min'), pg_temp.reserve(5, 'web', '11:00:01', '11:10:01', 8);
SELECT yquota.set_clock('2026-03-02 11:10');
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, application_id, username, queue, allocation) VALUES
	('CONTAINER_START', 'c1', '2026-03-02 11:05', 'web', 'app_1', 'ann', 'root.plan.reservation_1_0003', '[vcores=1]'), ('CONTAINER_START', 'c2', '2026-03-02 11:05', 'lab', 'app_2', 'ann', 'root.other', '[vcores=1]');
SELECT yquota.set_clock('2026-03-02 11:21:21');
SELECT accepted FROM yquota.update_reservation('reservation_1_0002', 'ann', '{}',
	yquota.reservation_contract('2026-03-02 11:23', '2026-03-02 11:33', ARRAY[yquota.reservation_request('[vcores=3]', 1, '10 min', 1)], 'ALL'));
INSERT INTO yquota.container_event (event, container_id) VALUES ('CONTAINER_FINISH', 'c1');
-- a period ends while all reservations but one continue, and its charges are corrected in the next
-- period
SELECT yquota.set_clock('2026-03-02 11:40');
SELECT closed_at FROM yquota_internal.close_period_at('2026-03-02 11:20', 100);
SELECT * FROM yquota.forgive('2026-03-02 11:16', '2026-03-02 11:18:18', 'switch');
SELECT yquota.set_clock('2026-03-02 12:05');
SELECT yquota_internal.book_reservations() > 0 AS booked;
-- all days are rolled up
UPDATE yquota_internal.rollup_state SET charges_per_sum = 0;
SELECT yquota.roll_up_charges() > 0 AS rolled_up;
SELECT closed_at FROM yquota_internal.close_period_at('2026-03-02 12:01:01', 100);
SELECT closed_at FROM yquota_internal.close_period_at('2026-03-02 12:01:01', 100);
SELECT yquota.set_clock('2026-03-03 12:06');
SELECT yquota_internal.book_reservations() > 0 AS booked;
SELECT yquota.remove_ended_reservations('2026-03-03 11:34');
SELECT reservation_id, version, ended_by FROM yquota.reservation_definition ORDER BY 1, 2;

-- everything that reports show
CREATE VIEW told AS
	SELECT 'balance' AS what, b::text AS line FROM yquota.project_balance AS b
	UNION ALL SELECT 'balance at', concat(at, p.name, b) FROM unnest(ARRAY['2026-03-03 12:06', yquota.statement_clock()]) AS at, yquota.project AS p, LATERAL yquota.balance_at(p.name, at) AS b
	UNION ALL SELECT 'balance before', concat(at, p.name, b) FROM generate_series('2026-03-02 10:59:59.5'::timestamptz, '2026-03-02 11:55', '7 min 7.000001 s') AS at, yquota.project AS p, LATERAL yquota.balance_at(p.name, at) AS b
	UNION ALL SELECT 'hold', h::text FROM yquota.hold_status AS h
	UNION ALL SELECT 'grant', (to_jsonb(g) - 'grant_id')::text FROM yquota.grant_status AS g
	UNION ALL SELECT 'forecast', f::text FROM yquota.forecast() AS f
	UNION ALL SELECT 'daily_cost', d::text FROM yquota.daily_cost AS d
	UNION ALL SELECT 'day', c::text FROM yquota.cost_by_day('2026-03-02', '2026-03-03', '{project,username,queue,application_id,execution_type}', 'Asia/Kathmandu') AS c
	UNION ALL SELECT 'quarter', concat(n, c) FROM generate_series('2026-03-02 10:45', '2026-03-02 12:15', interval '15 min') AS n,
		LATERAL yquota.cost_between(n, n + interval '15 min', '{project,username,queue,application_id,execution_type}') AS c
	UNION ALL SELECT 'all', c::text FROM yquota.cost_between('-infinity', 'infinity', '{project,queue}') AS c
	UNION ALL SELECT 'top', t::text FROM yquota.top_costs('2026-03-02 11:00', '2026-03-02 12:00', '{username}') AS t
	UNION ALL SELECT 'bill', concat(p.ends_at, b.closed_at, c) FROM yquota.billing_period AS p, yquota.billing_period AS b,
		LATERAL yquota.cost_between(p.starts_at, p.ends_at, '{project,username,queue,application_id,execution_type}', b.closed_at) AS c WHERE b.closed_at >= p.closed_at
	UNION ALL SELECT 'bill by now', concat(p.ends_at, c) FROM yquota.billing_period AS p, LATERAL yquota.cost_between('-infinity', p.ends_at, '{project,queue}', 'infinity') AS c
	UNION ALL SELECT 'explained', e::text FROM unnest('{3,4}'::text[]) AS number, LATERAL yquota.explain_reservation('reservation_1_000' || number) AS e
	-- archived charges have no list by resource type, and no section about capacity
	UNION ALL SELECT 'report', regexp_replace(regexp_replace(yquota.report_html('2026-03-02 00:00', '2026-03-03 00:00'),
		'<div><div><div class="wide" tabindex="0"><table class="f2"><thead><tr><th>Resource type<.*?</p></div>', ''), '<h2>Capacity: .*?</table></div>', '')
	UNION ALL SELECT 'problem', v::text FROM yquota.verify() AS v;
CREATE TABLE told_before AS TABLE told;
CREATE FUNCTION difference() RETURNS TABLE (what text, line text) LANGUAGE sql
	AS 'WITH now AS MATERIALIZED (TABLE told) (TABLE now EXCEPT ALL TABLE told_before) UNION ALL (TABLE told_before EXCEPT ALL TABLE now)';
SELECT what, count(*) FROM told_before GROUP BY what ORDER BY what;
SELECT project, granted, charged, accrued, held, remaining FROM yquota.project_balance ORDER BY project;
SELECT grant_id, state, spent, remaining, lost FROM yquota.grant_status ORDER BY grant_id;
SELECT reservation_id, number, version, project, "from", "to", amount, booked_at, corrects FROM yquota.reservation_charge WHERE reservation_id <> 'reservation_1_0004' ORDER BY 1, 2;

-- a removed reservation leaves with all its rows
SELECT yquota.seal_history();
SELECT yquota_internal.compact_counters() > 0 AS compacted, yquota_internal.correct_late_prices() AS corrected;
-- a charge that is booked after the segment was sealed keeps its reservation here
SELECT yquota.set_clock('2026-03-03 12:07');
SELECT * FROM yquota.forgive('2026-03-02 11:04:04', '2026-03-02 11:04:05', 'late', 'web');
TRUNCATE told_before;
INSERT INTO told_before TABLE told;
CREATE SCHEMA archive;
CREATE TABLE archive.charge (LIKE yquota.charge);
CREATE INDEX ON archive.charge (container_id);
CREATE TABLE archive.container_event (LIKE yquota.container_event);
SELECT segments, archived, archived_before, charged FROM yquota.archive('archive.charge', 'infinity');
SELECT container_id, number, project, application_id, username, queue, execution_type, allocation, started_at, "from", "to", booked_at, corrects, settled_by, amount, waiting_factor
FROM archive.charge ORDER BY container_id, number;
SELECT reservation_id, count(*), sum(amount) FROM yquota.reservation_charge GROUP BY 1 ORDER BY 1;
SELECT * FROM difference();
SELECT project, archive.digest = opening.digest AS is_right, archive.charged = opening.charged AS adds_up
FROM yquota.archive_digest('archive.charge') AS archive
FULL JOIN (SELECT DISTINCT ON (project) * FROM yquota.opening_balance ORDER BY project, archived_through DESC) AS opening USING (project) ORDER BY project;
-- a repeated call archives nothing
SELECT segments, archived FROM yquota.archive('archive.charge', 'infinity');
-- reports are the same, whether the days are rolled up again or not
SELECT yquota.roll_up_charges() >= 0 AS rolled_up;
SELECT * FROM difference();
UPDATE yquota_internal.rollup_state SET horizon = NULL;
SELECT * FROM difference();
SELECT yquota.roll_up_charges() > 0 AS rolled_up;
SELECT * FROM difference();
SELECT count(*) FROM pg_class WHERE relname LIKE 'reservation\_charge\_leaving%';

-- explain_reservation() of an archived reservation names the archive table
SELECT * FROM yquota.explain_reservation('reservation_1_0001');
SELECT * FROM yquota.explain_reservation('reservation_1_0099');
SELECT * FROM yquota.explain_reservation('c2');
CREATE ROLE yquota_test_archived;
SELECT yquota.allow_role('yquota_test_archived', 'member', 'web');
SET SESSION AUTHORIZATION yquota_test_archived;
SELECT * FROM yquota.explain_reservation('reservation_1_0001');
SELECT count(*) > 0 AS explained FROM yquota.explain_reservation('reservation_1_0003');
RESET SESSION AUTHORIZATION;
-- an archived reservation is not charged again
SELECT * FROM yquota.forgive('2026-03-02 11:10', '2026-03-02 11:12', 'too late');
SELECT yquota_internal.correct_reservations('-infinity');
SELECT * FROM difference();

-- the other reservations leave with the next segment
SELECT yquota.set_clock('2026-03-04 13:00');
SELECT deleted FROM yquota.delete_reservation('reservation_1_0004', 'ann', '{}');
INSERT INTO yquota.container_event (event, container_id, occurred_at) VALUES ('CONTAINER_FINISH', 'c2', '2026-03-04 12:59');
SELECT yquota.remove_ended_reservations('infinity');
SELECT yquota.set_clock('2026-03-04 13:01');
CREATE VIEW told_again AS SELECT * FROM told WHERE what NOT IN ('balance at', 'explained');
CREATE TABLE told_then AS TABLE told_again;
SELECT yquota.seal_history();
SELECT yquota_internal.compact_counters() > 0 AS compacted, yquota_internal.correct_late_prices() AS corrected;
SELECT segments, archived, charged FROM yquota.archive('archive.charge', 'infinity');
SELECT segments, archived FROM yquota.archive('archive.container_event', 'infinity');
WITH now AS MATERIALIZED (TABLE told_again) (TABLE now EXCEPT ALL TABLE told_then) UNION ALL (TABLE told_then EXCEPT ALL TABLE now);
SELECT count(*) FROM yquota.reservation_charge;
SELECT project, charged, accrued FROM yquota.project_balance ORDER BY 1;
SELECT project, archive.digest = opening.digest AS is_right, archive.charged = opening.charged AS adds_up
FROM yquota.archive_digest('archive.charge') AS archive
FULL JOIN (SELECT DISTINCT ON (project) * FROM yquota.opening_balance ORDER BY project, archived_through DESC) AS opening USING (project) ORDER BY project;
-- verify() finds every difference
BEGIN;
UPDATE yquota_internal.archived_cost SET amount = amount + 1 WHERE project = 'laser';
SELECT problem, subject FROM yquota.verify();
ROLLBACK;

-- The retention job removes reservations that are older than the history that leaves, and their charges leave with
-- the next segment.
SELECT accepted FROM yquota.submit_reservation('reservation_1_0006', 'root.plan', 'ann', '{}', 'web',
	yquota.reservation_contract('2026-03-04 14:00', '2026-03-04 14:10', ARRAY[yquota.reservation_request('[vcores=1]', 1, '10 min', 1)]));
SELECT yquota.set_clock('2026-03-05 10:00');
SELECT yquota_internal.book_reservations();
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES ('CONTAINER_START', 'c3', '2026-03-05 09:00', 'web', '[vcores=1]'), ('CONTAINER_FINISH', 'c3', '2026-03-05 09:01', NULL, NULL);
SELECT yquota.quota_compute() IS NOT NULL AS computed, yquota.seal_history();
SELECT yquota.set_clock('2026-05-05 14:10');
SELECT yquota_internal.run_job('retention', 'worker');
INSERT INTO yquota.retention_setting (keep_months) VALUES (2);
SELECT closed_at FROM yquota_internal.close_period_at('2026-05-05 14:00', 100);
SELECT yquota_internal.run_job('retention', 'worker');
SELECT yquota_internal.run_job('retention', 'worker');
-- the job waits until the window of the plan after the reservation's deadline is over, and then for two months
SELECT yquota_internal.run_job('retention', 'worker');
SELECT yquota.set_clock('2026-05-05 14:10:00.000001');
SELECT yquota_internal.run_job('retention', 'worker');
SELECT count(*) FROM yquota.reservation_definition;
SELECT number, amount FROM yquota.reservation_charge;
SELECT yquota.quota_compute() IS NOT NULL AS computed, yquota.seal_history();
SELECT yquota.set_clock('2026-08-05 00:00');
SELECT closed_at FROM yquota_internal.close_period_at('2026-07-05 14:00', 100);
SELECT yquota.quota_compute() IS NOT NULL AS computed;
SELECT yquota_internal.run_job('retention', 'worker');
SELECT container_id, number, amount, tableoid::regclass AS archived_in FROM yquota_archive.charge ORDER BY 1, 2;
SELECT * FROM yquota.explain_reservation('reservation_1_0006');
SELECT * FROM yquota.verify();

\c postgres
DROP DATABASE yquota_reservation_archive;
DROP ROLE yquota_test_archived;
