# Calls of every statement that changes state. These are the public functions that are VOLATILE, each command that
# administrators and operators may use on a public table, and the worker's statements. The catalog lists the
# statements that need a call.
#
#	load_books(NODE, DATABASE)	a database, created if it is missing, in which every statement has an effect.
#	missing_statements(NODE, DATABASE)	the statements of the catalog without a call here.
#	statements()	names of calls, in order.
#	sql_of(NAME)	its text: one statement, or several that belong together.
#	reading_of(SIGNATURE)	a call of a public function that blocks no other session, for the test of privileges.
#	call_of(NAME)	the text of sql_of() in a transaction that is left open, with deferred work done at its end.
#	locks_of(CLIENT, PID, GRANTED)	locks of tables and objects of the extension that a process
#		has ('true') or waits for ('false'), as seen by a client: [name, mode, kind]
#
# A name is a function's signature or "COMMAND table". A further word distinguishes several calls of
# one statement.

package Statements;

use strict;
use warnings;

use Exporter 'import';

our @EXPORT = qw(load_books missing_statements statements sql_of reading_of call_of locks_of);

# Functions that take no locks that another session waits for, with the reason.
my %not_called = (
	'yquota.clock()' => 'reads',
	'yquota.sequence_commands()' => 'reads',
	'yquota.install_cron_jobs()' => 'the locks are those of pg_cron',
	'yquota.remove_cron_jobs()' => 'the locks are those of pg_cron',
);

sub load_books
{
	my ($node, $database) = @_;

	$node->safe_psql('postgres', "CREATE DATABASE $database") if $node->safe_psql('postgres', "SELECT count(*) FROM pg_database WHERE datname = '$database'") eq '0';
	$node->safe_psql($database, <<~'SQL');
		SET client_min_messages = error;
		CREATE EXTENSION IF NOT EXISTS yquota;
		SELECT yquota.set_clock('2026-03-01 00:00+00');
		DO $$ BEGIN CREATE ROLE clerk; EXCEPTION WHEN duplicate_object THEN NULL; END $$;
		DO $$ BEGIN CREATE ROLE chief; EXCEPTION WHEN duplicate_object THEN NULL; END $$;
		INSERT INTO yquota.project (name, quota_mode, parent) VALUES ('p', 'PREPAID', NULL), ('q', 'PREPAID', NULL), ('s', 'PREPAID', 'q'), ('unused', 'NOLIMIT', NULL);
		INSERT INTO yquota.quota_grant (project, amount, reason, expires_at) VALUES ('p', 100000000, 'start', 'infinity'), ('q', 100000000, 'start', 'infinity'), ('s', 100000000, 'start', 'infinity'), ('q', 100, 'start', '2026-03-01 06:00+00');
		SELECT yquota.allow_role('clerk', 'viewer'), yquota.allow_role('clerk', 'operator'), yquota.allow_role('clerk', 'member', 'p'), yquota.allow_role('clerk', 'admin'), yquota.allow_role('chief', 'admin'), yquota.allow_role('chief', 'operator');
		INSERT INTO yquota.node_label (name, exclusive) VALUES ('x', false);
		INSERT INTO yquota.node (name, rack, total) VALUES ('h1', '/r1', '[memory-mb=16384,vcores=16]'), ('h2', '/r1', '[memory-mb=16384,vcores=16]'), ('h3', '/r2', '[memory-mb=4096,vcores=4]');
		BEGIN;
		INSERT INTO yquota.scheduler_setting (maximum_am_resource_percent, maximum_allocation_mb, scheduler_monitor_enable) VALUES (1, 8192, true);
		INSERT INTO yquota.queue (path, capacity, user_limit_factor, max_parallel_apps, ordering_policy, auto_queue_creation_v2_enabled, accessible_node_labels) VALUES
			('root', NULL, NULL, NULL, NULL, true, '{*}'), ('root.a', '5w', 2, NULL, NULL, NULL, NULL), ('root.b', '3w', 4, 1, 'fair', NULL, NULL),
			('root.c', '2w', 4, NULL, NULL, NULL, NULL), ('root.d', '1w', 4, NULL, NULL, NULL, NULL), ('root.e', '1w', 4, NULL, NULL, NULL, NULL);
		UPDATE yquota.queue SET state = 'STOPPED' WHERE path = 'root.e';
		INSERT INTO yquota.queue_user (queue, username, weight) VALUES ('root.a', 'ann', 1);
		INSERT INTO yquota.queue_label (queue, label, capacity) VALUES ('root.a', 'x', '1w'), ('root.b', 'x', '1w'), ('root.c', 'x', '1w'), ('root.d', 'x', '1w');
		INSERT INTO yquota.user_setting (username, max_parallel_apps) VALUES ('ann', 5);
		COMMIT;
		INSERT INTO yquota.charging_rule (effective_at, minimum_run_time) VALUES ('2026-03-01 00:10+00', '1 s');
		INSERT INTO yquota.price_factor (dimension, name, effective_at, factor) VALUES ('queue', 'root.feed', '2026-03-01 00:10+00', 2);
		INSERT INTO yquota.spending_threshold (project, fraction, lasts_less_than) VALUES ('p', 0.000001, NULL), ('p', NULL, '10 years');
		INSERT INTO yquota.budget (project, period, amount, starts_on) VALUES ('s', 'month', 1000, '2026-03-01');
		INSERT INTO yquota.shadow_tariff (name, terms) VALUES ('dear', '{"base_prices": {"vcores": 3}}');
		INSERT INTO yquota.opportunistic_price (min_factor, max_factor) VALUES (0.2, 1);
		INSERT INTO yquota.price_calendar (name, price_group, timezone, "from", "to", factor) VALUES ('night', 'GENERAL', 'Europe/Madrid', '22:00', '06:00', 0.5);
		CREATE FUNCTION public.pass(request yquota.allocate_request) RETURNS yquota.allocate_request LANGUAGE sql RETURN request;
		CREATE FUNCTION public.pass_too(request yquota.allocate_request) RETURNS yquota.allocate_request LANGUAGE sql RETURN request;
		INSERT INTO yquota.request_interceptor (position, function) VALUES (1, 'public.pass');
		INSERT INTO yquota.retention_setting (keep_months) VALUES (12);
		INSERT INTO yquota.unmapped_property (property, value) VALUES ('yarn.scheduler.capacity.kept', '1');
		INSERT INTO yquota.mapping_rule (kind, position, type, matches, policy) VALUES ('json', 1, 'user', 'nobody', 'user');
		INSERT INTO yquota.multi_node_sorting_policy (name, class) VALUES ('p', 'c');
		INSERT INTO yquota.workflow_priority_mapping (position, workflow_id, queue, priority) VALUES (1, 'w', 'root.a', 1);
		INSERT INTO yquota.wildcard_template (path, auto_queue_creation_v2_template) VALUES ('root.*', '{"capacity": "1w"}');
		INSERT INTO yquota.utilization (resource_type, utilization, reported_at) VALUES ('vcores', 0.5, '2026-03-01 00:00+00');
		INSERT INTO yquota.pending_demand (source, demand, reported_at) VALUES ('rm', '[vcores=1]', '2026-03-01 00:00+00');
		INSERT INTO yquota.price_group (name) VALUES ('spare');
		INSERT INTO yquota.resource_type (name, price_group) VALUES ('spare', 'spare');

		-- a federation of this database alone
		CREATE EXTENSION postgres_fdw;
		DO $$ BEGIN
			EXECUTE format('CREATE SERVER own FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host %L, port %L, dbname %L)', current_setting('unix_socket_directories'), current_setting('port'), current_database());
		END $$;
		CREATE USER MAPPING FOR CURRENT_USER SERVER own;
		SELECT yquota.federate_cluster('yarn_cluster', 'own');
		INSERT INTO yquota.federated_budget (project, period, amount) VALUES ('p', 'month', 1000), ('q', 'month', 1000);
		SELECT * FROM yquota.renew_leases();

		-- sealed, and ready to be archived
		SELECT yquota.set_clock('2026-03-01 12:00+00');
		INSERT INTO yquota.container_event (event, container_id, occurred_at, project, username, queue, node, allocation, source)
		SELECT 'CONTAINER_START', 'old' || n, timestamptz '2026-03-01 01:00+00' + n * interval '1 min', (ARRAY['p', 'q'])[1 + n % 2], 'ann', 'root.feed', 'h1', '[memory-mb=1024,vcores=1]', 'rm' FROM generate_series(1, 20) AS n;
		INSERT INTO yquota.container_event (event, container_id, occurred_at, allocation) SELECT 'CONTAINER_UPDATE', 'old' || n, '2026-03-01 02:00+00', '[memory-mb=2048,vcores=1]' FROM generate_series(1, 20, 3) AS n;
		INSERT INTO yquota.container_event (event, container_id, occurred_at, exit_status) SELECT 'CONTAINER_FINISH', 'old' || n, '2026-03-01 03:00+00', 0 FROM generate_series(1, 20) AS n;
		SELECT yquota.quota_compute();
		SELECT yquota.seal_history();
		CREATE TABLE public.archived_charge (LIKE yquota.charge);
		CREATE TABLE public.archived_event (LIKE yquota.container_event);
		SELECT yquota.set_clock('2026-03-01 15:00+00');
		INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES ('CONTAINER_START', 'old30', '2026-03-01 13:00+00', 'p', '[vcores=1]');
		INSERT INTO yquota.container_event (event, container_id, occurred_at, allocation) VALUES ('CONTAINER_UPDATE', 'old30', '2026-03-01 13:30+00', '[vcores=2]');
		INSERT INTO yquota.container_event (event, container_id, occurred_at) VALUES ('CONTAINER_FINISH', 'old30', '2026-03-01 14:00+00');
		SELECT yquota.seal_history();

		-- what a feed brings
		SELECT yquota.set_clock('2026-03-02 12:00+00');
		INSERT INTO yquota.container_event (event, container_id, occurred_at, project, username, queue, node, allocation, source)
		SELECT 'CONTAINER_START', 'c' || n, timestamptz '2026-03-01 20:00+00' + n * interval '1 min', (ARRAY['p', 'q', 's'])[1 + n % 3], 'ann', 'root.feed', 'h3', '[memory-mb=1,vcores=1]', 'rm' FROM generate_series(1, 30) AS n;
		INSERT INTO yquota.container_event (event, container_id, occurred_at, allocation) SELECT 'CONTAINER_UPDATE', 'c' || n, '2026-03-02 01:00+00', '[memory-mb=2,vcores=1]' FROM generate_series(1, 30, 3) AS n;
		INSERT INTO yquota.container_event (event, container_id, occurred_at, exit_status) SELECT 'CONTAINER_FINISH', 'c' || n, '2026-03-02 03:00+00', 0 FROM generate_series(1, 20) AS n;
		SET yquota.on_bad_event = set_aside;
		INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation, source) VALUES
			('CONTAINER_START', 'late1', '2026-03-02 03:00+00', 'newcomer', '[vcores=1]', 'rm'), ('CONTAINER_START', 'bad1', '2026-03-02 03:00+00', 'nobody', '[vcores=1]', 'rm'),
			('CONTAINER_FINISH', 'waits', '2026-03-02 03:00+00', NULL, NULL, 'rm');
		SET yquota.on_bad_event = error;
		-- set aside while the START was on its way
		INSERT INTO yquota.event_reject (event, container_id, occurred_at, queue, source, recorded_at, waiting, sqlstate, reason)
		VALUES ('CONTAINER_UPDATE', 'c28', '2026-03-02 02:00+00', 'root.feed', 'rm', '2026-03-02 12:00+00', true, '23503', 'waits');
		INSERT INTO yquota.project (name, quota_mode) VALUES ('newcomer', 'NOLIMIT');
		SELECT yquota.hold('p', 'application_9', 1, '1 day', external_id => 'erp-1'),
			   yquota.hold('p', 'application_9', 10, '1 day'), yquota.hold('s', 'application_9', 10, '1 day');
		SELECT yquota.transfer_credit('p', 'q', 10, 'lent');
		INSERT INTO yquota.outage (started_at, ended_at, forgiven, reason) VALUES ('2026-03-02 02:00+00', '2026-03-02 02:30+00', false, 'to be decided');

		-- what the scheduler does
		SELECT yquota.submit_application('application_1_' || n, 'ann', '{}', 'root.' || q, project => 'p', am_resource => '[memory-mb=512,vcores=1]')
		FROM (VALUES (1, 'a'), (2, 'a'), (3, 'b'), (4, 'b'), (5, 'c')) AS s (n, q);
		SELECT count(*) FROM yquota.schedule(ARRAY['h1', 'h2', 'h1', 'h2']);
		SELECT yquota.request_containers('application_1_1', '[memory-mb=1024,vcores=1]', 3), yquota.request_containers('application_1_2', '[memory-mb=1024,vcores=1]', 2),
			   yquota.request_containers('application_1_3', '[memory-mb=1024,vcores=1]', 2);
		SELECT count(*) FROM yquota.schedule(ARRAY['h1', 'h2', 'h1', 'h2', 'h1', 'h2', 'h1', 'h2']);
		SELECT yquota.acknowledge_decisions(ARRAY(SELECT decision_id FROM yquota.decision WHERE application_id <> 'application_1_2'));
		SELECT yquota.update_container(container_id, 0, '[memory-mb=2048,vcores=1]') FROM yquota.container WHERE application_id = 'application_1_1' ORDER BY container_id DESC LIMIT 1;
		SELECT yquota.request_containers('application_1_1', '[memory-mb=1024,vcores=1]', 1), yquota.request_containers('application_1_2', '[memory-mb=1024,vcores=1]', 1);
		SELECT yquota.update_blacklist('application_1_1', '{h3}');
		SELECT yquota.submit_application('application_1_8', 'ann', '{}', 'root.c', project => 'p', am_resource => '[memory-mb=512,vcores=1]'), yquota.finish_application('application_1_8');
		-- one has lost its master, a container that was to become larger has ended, and decisions have expired
		SELECT yquota.submit_application('application_1_6', 'ann', '{}', 'root.d', project => 'p', am_resource => '[memory-mb=512,vcores=1]');
		SELECT count(*) FROM yquota.schedule(ARRAY['h1', 'h2', 'h1', 'h2']);
		SELECT yquota.request_containers('application_1_6', '[memory-mb=1024,vcores=1]', 1);
		INSERT INTO yquota.container_event (event, container_id, occurred_at)
		SELECT 'CONTAINER_FINISH', am_container_id, yquota.clock() FROM yquota_internal.application_attempt WHERE application_id = 'application_1_6';
		SELECT count(*) FROM yquota.schedule(ARRAY['h1']);
		SELECT yquota.update_container(max(container_id), 0, '[memory-mb=8192,vcores=1]') FROM yquota.container WHERE application_id = 'application_1_3';
		INSERT INTO yquota.container_event (event, container_id, occurred_at)
		SELECT 'CONTAINER_FINISH', container_id, yquota.clock() FROM yquota.container_update WHERE application_id = 'application_1_3';
		SELECT yquota.create_queue('root.unused');
		-- a plan, and a reservation that it has
		INSERT INTO yquota.queue (path, capacity, reservable) VALUES ('root.plan', '0.1w', true);
		UPDATE yquota.scheduler_setting SET reservation_system_enable = true;
		INSERT INTO yquota.charging_rule (effective_at, reserved_factor) VALUES (yquota.clock(), 0.5);
		SELECT yquota.submit_reservation('reservation_1_0001', 'root.plan', 'ann', '{}', 'p', yquota.reservation_contract('2026-03-03 00:00+00', '2026-03-03 02:00+00',
			ARRAY[yquota.reservation_request('[memory-mb=1]', 2, '1 hour')]));
		-- one that is past its lifetime, and containers that are to be preempted
		SELECT yquota.update_application_lifetime('application_1_5', 60);
		UPDATE yquota.scheduler_setting SET preemption_natural_termination_factor = 1, preemption_total_preemption_per_round = 1;
		SELECT yquota.request_containers('application_1_6', '[memory-mb=1024,vcores=1]', 8);
		SELECT count(*) FROM yquota.schedule(ARRAY['h1', 'h2', 'h1', 'h2', 'h1', 'h2', 'h1', 'h2', 'h1', 'h2']);
		SELECT yquota.request_containers('application_1_' || n, '[memory-mb=8192,vcores=1]', 3) FROM (VALUES (1), (3), (5)) AS a (n);
		SELECT count(*) FROM yquota.preempt_containers();
		-- opportunistic containers: of applications without a master in the cluster, and of local schedulers
		UPDATE yquota.scheduler_setting SET opportunistic_allocation_enabled = true, opportunistic_queue_capacity = 10,
			distributed_scheduling_enabled = true, amrmproxy_enabled = true, opportunistic_user_maximum_containers = 1000;
		SELECT yquota.submit_application('application_1_' || n, 'ann', '{}', 'root.' || q, unmanaged => true, project => 'p') FROM (VALUES (10, 'd'), (11, 'c')) AS s (n, q);
		-- whatever room there is for masters
		UPDATE yquota.application SET state = 'ACTIVE' WHERE unmanaged;
		SELECT yquota.request_containers('application_1_' || n, '[memory-mb=512,vcores=1]', 3, execution_type => 'OPPORTUNISTIC') FROM generate_series(10, 11) AS n;
		SELECT count(*) FROM yquota.report_nodes(ARRAY(SELECT ROW(n.name, 0, 0, 0, 0, NULL, NULL, NULL, NULL, NULL)::yquota.node_report FROM yquota.node AS n));
		-- a node that only its queue uses: one container has ended unheard, another is being paused, two wait, and one has yet to arrive
		UPDATE yquota.scheduler_setting SET opportunistic_queue_capacity = 10, uses_pause_for_preemption = true;
		INSERT INTO yquota.node (name, total, state) VALUES ('q1', '[memory-mb=4096,vcores=4]', 'DECOMMISSIONING');
		INSERT INTO yquota.container_event (event, container_id, occurred_at, project, node, allocation, execution_type, is_running)
		SELECT 'CONTAINER_START', 'k' || n, yquota.clock(), 'p', 'q1', '[memory-mb=1024,vcores=1]', CASE WHEN n IN (4, 7) THEN 'GUARANTEED' ELSE 'OPPORTUNISTIC' END::yquota.execution_type, n IN (4, 7)
		FROM generate_series(1, 7) AS n;
		SELECT count(*) FROM unnest('{k1,k2,k3,k6,k4,k5}'::text[]) AS k (id), yquota.enqueue_container('q1', k.id);
		SELECT yquota.set_clock('2026-03-02 12:30+00');
		INSERT INTO yquota.container_event (event, container_id, occurred_at) VALUES ('CONTAINER_FINISH', 'k1', yquota.clock());
		SELECT count(*) FROM yquota.lease_nodes('h1');
		SELECT yquota.remove_unused_queues();
		SELECT yquota_internal.compact_counters();
		INSERT INTO yquota_internal.correction_due (changed_from) VALUES ('2026-03-02 00:00+00');
		INSERT INTO yquota.billing_setting (timezone) VALUES ('UTC');
		SQL
	return;
}

# A container that the scheduler started.
my $scheduled = q((SELECT max(container_id) FROM yquota.container WHERE application_id = 'application_1_1'));
my $start = q(INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation, source) VALUES);
my $audit_line = q(E'2026-03-02 10:00:00,125 INFO resourcemanager.RMAuditLogger: USER=p__ann\tOPERATION=AM Allocated Container\tTARGET=SchedulerApp\tRESULT=SUCCESS\tAPPID=application_9_0001\tCONTAINERID=container_9_0001_01_000001\tRESOURCE=<memory:2048, vCores:1>\tQUEUENAME=root.feed');
my $request = q(ROW('*', '[memory-mb=1024,vcores=1]', 1, 1, -1, true, NULL, NULL, NULL)::yquota.container_request);
my $contract = q(yquota.reservation_contract('2026-03-03 00:00+00', '2026-03-03 02:00+00', ARRAY[yquota.reservation_request('[memory-mb=1]', 1, '1 hour')]));
my $configuration = q({"yarn.scheduler.capacity.root.a.maximum-applications": "77"});

my @calls = (
	'yquota.acknowledge_decisions(bigint[])' => q(SELECT yquota.acknowledge_decisions(ARRAY(SELECT decision_id FROM yquota.decision))),
	'yquota.activate_applications(text)' => q(SELECT * FROM yquota.activate_applications()),
	'yquota.activate_applications(text) queue' => q(SELECT * FROM yquota.activate_applications('root.c')),
	'yquota.allocate_opportunistic(text,yquota.container_request[],text[],text[],bigint,integer)' => q(SELECT * FROM yquota.allocate_opportunistic('application_1_10', seed => 1)),
	'yquota.allocate_opportunistic(text,yquota.container_request[],text[],text[],bigint,integer) and requests' => qq(SELECT * FROM yquota.allocate_opportunistic('application_1_10', ARRAY[$request], '{h3}', seed => 1, response_id => 7)),
	'yquota.allow_role(regrole,text,text)' => q(SELECT yquota.allow_role('clerk', 'member', 'q')),
	'yquota.archive(regclass,timestamp with time zone)' => q(SELECT * FROM yquota.archive('public.archived_charge', 'infinity')),
	'yquota.archive(regclass,timestamp with time zone) log' =>
	  q(SELECT * FROM yquota.archive('public.archived_charge', 'infinity'); SELECT * FROM yquota.archive('public.archived_event', 'infinity')),
	'yquota.charge_deferred(bigint)' => q(SELECT * FROM yquota.charge_deferred()),
	'yquota.clear_multiplier(text)' => q(SELECT yquota.clear_multiplier('GENERAL')),
	'yquota.close_month(date,integer)' => q(SELECT * FROM yquota.close_month('2026-02-11')),
	'yquota.close_period(date,integer)' => q(SELECT * FROM yquota.close_period(date '2026-03-02')),
	'yquota.close_period(timestamp with time zone,integer)' => q(SELECT * FROM yquota.close_period('2026-03-02 00:00+00')),
	'yquota.close_period(timestamp with time zone,integer) in part' => q(SELECT * FROM yquota.close_period('2026-03-02 00:00+00', 3)),
	'yquota.compute_prices(timestamp with time zone)' => q(SELECT * FROM yquota.compute_prices()),
	'yquota.create_queue(text)' => q(SELECT * FROM yquota.create_queue('root.auto')),
	'yquota.decide_outage(bigint,boolean)' => q(SELECT yquota.decide_outage(max(outage_id), true) FROM yquota.outage),
	'yquota.disallow_role(regrole,text,text)' => q(SELECT yquota.disallow_role('clerk', 'member', 'p')),
	'yquota.end_expired_applications(integer)' => q(SELECT * FROM yquota.end_expired_applications()),
	'yquota.finish_application(text,yquota.application_state,text,text,text[])' => q(SELECT yquota.finish_application('application_1_1')),
	'yquota.finish_application(text,yquota.application_state,text,text,text[]) lets go on' => q(SELECT yquota.finish_application('application_1_3')),
	'yquota.forgive(timestamp with time zone,timestamp with time zone,text,text)' => q(SELECT * FROM yquota.forgive('2026-03-01 21:00+00', '2026-03-01 22:00+00', 'it was down')),
	'yquota.forgive(timestamp with time zone,timestamp with time zone,text,text) project' => q(SELECT * FROM yquota.forgive('2026-03-01 21:00+00', '2026-03-01 22:00+00', 'it was down', 'p')),
	'yquota.hold(text,text,numeric,interval,text,text,boolean)' => q(SELECT yquota.hold('p', 'application_1_1', 1, '1 hour')),
	'yquota.hold(text,text,numeric,interval,text,text,boolean) replace' => q(SELECT yquota.hold('p', 'application_9', 2, '1 day', external_id => 'erp-1', replace => true)),
	'yquota.hold(text,text,numeric,interval,text,text,boolean) family' => q(SELECT yquota.hold('s', 'application_1_1', 1, '1 hour')),
	'yquota.import_cluster_metrics(jsonb,timestamp with time zone,text)' => q(SELECT * FROM yquota.import_cluster_metrics('{"clusterMetrics": {"totalMB": 100, "totalVirtualCores": 10, "allocatedMB": 10, "allocatedVirtualCores": 1}}')),
	'yquota.import_hadoop_configuration(jsonb,text,boolean)' => qq(SELECT * FROM yquota.import_hadoop_configuration('$configuration'::jsonb, 'merge')),
	'yquota.import_hadoop_configuration(text,text,boolean)' => q(SELECT * FROM yquota.import_hadoop_configuration('<configuration><property><name>yarn.scheduler.capacity.root.a.maximum-applications</name><value>77</value></property></configuration>'::text, 'merge')),
	'yquota.import_hadoop_configuration(text[],text,boolean)' => q(SELECT * FROM yquota.import_hadoop_configuration(ARRAY['<configuration><property><name>yarn.scheduler.capacity.root.a.maximum-applications</name><value>77</value></property></configuration>'], 'merge')),
	'yquota.import_hadoop_configuration(xml,text,boolean)' => q(SELECT * FROM yquota.import_hadoop_configuration(xml '<configuration><property><name>yarn.scheduler.capacity.root.a.maximum-applications</name><value>77</value></property></configuration>', 'merge')),
	'yquota.import_nodes(jsonb,text,boolean)' => q(SELECT * FROM yquota.import_nodes('{"nodes": {"node": [{"nodeHostName": "h1", "rack": "/r1", "state": "RUNNING", "nodeLabels": ["x"], "totalResource": {"memory": 16384, "vCores": 16}},
		{"nodeHostName": "h9", "rack": "/r1", "state": "RUNNING", "totalResource": {"memory": 16384, "vCores": 16}}]}}', missing_are_lost => true)),
	'yquota.import_rm_audit(text,text,integer,text,text,text,timestamp with time zone)' => qq(SELECT * FROM yquota.import_rm_audit($audit_line)),
	'yquota.import_rm_audit_file(text,text,integer,text,text,text,timestamp with time zone)' => q(SELECT * FROM yquota.import_rm_audit_file('PG_VERSION')),
	'yquota.lease_nodes(text,integer,bigint)' => q(SELECT * FROM yquota.lease_nodes('h2')),
	'yquota.lease_nodes(text,integer,bigint) renews' => q(SELECT * FROM yquota.lease_nodes('h1', held_epoch => 2)),
	'yquota.manage_queues()' => q(SELECT * FROM yquota.manage_queues()),
	'yquota.move_application(text,text,text,text[])' => q(SELECT yquota.move_application('application_1_1', 'root.c')),
	'yquota.move_application(text,text,text,text[]) lets go on' => q(SELECT yquota.move_application('application_1_3', 'root.a')),
	'yquota.mutate_configuration(jsonb,text,text[])' => q(SELECT * FROM yquota.mutate_configuration('{"update-queue": {"queue-name": "root.a", "params": {"maximum-applications": "78"}}}')),
	'yquota.mutate_configuration(jsonb,text,text[]) queues' => q(SELECT * FROM yquota.mutate_configuration('{"add-queue": {"queue-name": "root.f", "params": {"capacity": "1w"}}}')),
	'yquota.node_heartbeat(text[],boolean)' => q(SELECT * FROM yquota.node_heartbeat('{h1,h2}')),
	'yquota.node_heartbeat(text[],boolean) nothing expired' => q(SELECT yquota.set_clock('2026-03-02 12:06+00'); SELECT * FROM yquota.node_heartbeat('{h1,h2}')),
	'yquota.node_lost(text,timestamp with time zone,integer)' => q(SELECT * FROM yquota.node_lost('h1')),
	'yquota.node_lost(text,timestamp with time zone,integer) queue' => q(SELECT * FROM yquota.node_lost('q1')),
	'yquota.enqueue_container(text,text)' => q(SELECT * FROM yquota.enqueue_container('q1', 'k7')),
	'yquota.container_ended(text,text,timestamp with time zone,integer)' => q(SELECT * FROM yquota.container_ended('q1', 'k2')),
	'yquota.container_paused(text,text,timestamp with time zone)' => q(SELECT * FROM yquota.container_paused('q1', 'k6')),
	'yquota.advance_node_queue(text)' => q(SELECT * FROM yquota.advance_node_queue('q1')),
	'yquota.shed_containers(text,integer)' => q(SELECT * FROM yquota.shed_containers('q1', 0)),
	'yquota.recover_node_queue(text,text[])' => q(SELECT * FROM yquota.recover_node_queue('q1', '{k2,k3,k7}')),
	'yquota.acknowledge_node_work(text,yquota.node_action[])' => q(SELECT yquota.acknowledge_node_work('q1', ARRAY(SELECT w FROM yquota.node_work('q1') AS w))),
	'yquota.open_books(timestamp with time zone)' => q(SELECT yquota.open_books('2026-03-01 20:30+00')),
	'yquota.quota_compute()' => q(SELECT yquota.quota_compute()),
	'yquota.reconcile(jsonb,timestamp with time zone,boolean,text)' => q(SELECT * FROM yquota.reconcile('[{"container_id": "c21", "allocation": "[vcores=2]"}, {"container_id": "n1", "project": "p", "allocation": "[vcores=2]", "started_at": "2026-03-02 10:00+00"}]', '2026-03-02 11:00+00', false)),
	'yquota.recover_containers(text,jsonb,timestamp with time zone)' => q(SELECT yquota.recover_containers('rm-new', '[{"container_id": "n2", "project": "p", "allocation": "[vcores=2]", "started_at": "2026-03-02 10:00+00"}]', '2026-03-02 11:00+00')),
	'yquota.reject_call(text,jsonb,text,text,text)' => q(SELECT yquota.reject_call('rm', '{"function": "yquota.finish_application", "arguments": ["application_7_1"]}', '42704', 'it does not exist')),
	'yquota.report_feed_problem(text,text,text)' => q(SELECT yquota.report_feed_problem('rm', '42501', 'permission denied')),
	'yquota.report_recovery(text,timestamp with time zone,timestamp with time zone)' => q(SELECT yquota.report_recovery('rm', '2026-03-01 21:00+00', '2026-03-02 04:00+00')),
	'yquota.register_node(text,yquota.resource,text,text,timestamp with time zone)' => q(SELECT yquota.register_node('h1', '[memory-mb=8192,vcores=8]')),
	'yquota.reverse_transfer(bigint,text)' => q(SELECT * FROM yquota.reverse_transfer(1)),
	'yquota.transfer_credit(text,text,numeric,text,text)' => q(SELECT yquota.transfer_credit('p', 'q', 1, 'lent', 'erp-1')),
	'yquota.release_hold(bigint)' => q(SELECT yquota.release_hold(max(hold_id)) FROM yquota.hold WHERE reservation_id IS NULL),
	'yquota.release_containers(text[])' => q(SELECT * FROM yquota.release_containers(ARRAY(SELECT container_id FROM yquota.decision))),
	'yquota.delete_reservation(text,text,text[])' => q(SELECT * FROM yquota.delete_reservation('reservation_1_0001', 'ann', '{}')),
	'yquota.follow_plans(text,boolean,boolean)' => q(SELECT yquota.set_clock('2026-03-03 00:30+00'); SELECT * FROM yquota.follow_plans()),
	'yquota.price_quote(yquota.reservation_contract,text,text,text[],text,numeric)' => qq(SELECT * FROM yquota.price_quote($contract, 'root.plan', 'ann', '{}', 'p', multiplier => 2)),
	'yquota.new_reservation_id()' => q(SELECT yquota.new_reservation_id()),
	'yquota.remove_ended_reservations(timestamp with time zone)' => q(SELECT yquota.remove_ended_reservations('infinity')),
	'yquota.submit_reservation(text,text,text,text[],text,yquota.reservation_contract,boolean)' => qq(SELECT * FROM yquota.submit_reservation('reservation_1_0009', 'root.plan', 'ann', '{}', 'p', $contract)),
	'yquota.submit_reservation(text,text,text,text[],text,yquota.reservation_contract,boolean) at once' => qq(SELECT yquota.set_clock('2026-03-03 00:00+00'); SELECT * FROM yquota.submit_reservation('reservation_1_0009', 'root.plan', 'ann', '{}', 'p', $contract)),
	'yquota.update_reservation(text,text,text[],yquota.reservation_contract,boolean)' => qq(SELECT * FROM yquota.update_reservation('reservation_1_0001', 'ann', '{}', $contract)),
	'yquota.remove_finished_applications(timestamp with time zone)' => q(SELECT yquota.remove_finished_applications('infinity')),
	'yquota.remove_unused_queues()' => q(SELECT * FROM yquota.remove_unused_queues()),
	'yquota.renew_role_grants()' => q(SELECT yquota.renew_role_grants()),
	'yquota.report_outage(timestamp with time zone,timestamp with time zone,text,text)' => q(SELECT yquota.report_outage('2026-03-01 21:00+00', '2026-03-01 22:00+00', 'it was down')),
	'yquota.report_outage(timestamp with time zone,timestamp with time zone,text,text) project' => q(SELECT yquota.report_outage('2026-03-01 21:00+00', '2026-03-01 22:00+00', 'it was down', 'p')),
	'yquota.report_distributed_containers(text,yquota.distributed_container[])' =>
	  q(SELECT * FROM yquota.report_distributed_containers('h1', ARRAY[ROW('application_1_10', (2::bigint << 40) - 1, 'h2', '[memory-mb=512,vcores=1]', 1, -1, NULL, NULL, NULL, NULL)::yquota.distributed_container])),
	'yquota.report_application_progress(text,numeric)' => q(SELECT yquota.report_application_progress('application_1_1', 0.5)),
	'yquota.report_progress(yquota.container_progress[])' => q(SELECT yquota.report_progress(ARRAY(SELECT ROW(container_id, 0.5)::yquota.container_progress FROM yquota.container WHERE container_id LIKE 'k%'))),
	'yquota.report_nodes(yquota.node_report[])' => q(SELECT * FROM yquota.report_nodes(ARRAY[ROW('h2', 0, 0, 0, 1, NULL, NULL, NULL, NULL, NULL), ROW('h1', 0, 0, 0, 2, NULL, NULL, NULL, NULL, NULL)]::yquota.node_report[])),
	'yquota.request_containers(text,yquota.container_request[])' => qq(SELECT yquota.request_containers('application_1_1', ARRAY[$request])),
	'yquota.request_containers(text,yquota.resource,bigint,text,integer,bigint,boolean,text,yquota.execution_type,interval)' => q(SELECT yquota.request_containers('application_1_3', '[memory-mb=1024,vcores=1]', 5)),
	'yquota.rerate(timestamp with time zone,timestamp with time zone,jsonb,text,boolean,text)' => q(SELECT * FROM yquota.rerate('2026-03-01 20:00+00', '2026-03-02 00:00+00', '{"base_prices": {"vcores": 2}}', post => true, reason => 'wrong')),
	'yquota.reset_clock()' => q(SELECT yquota.reset_clock()),
	'yquota.retry_rejects(text,text)' => q(SELECT * FROM yquota.retry_rejects()),
	'yquota.roll_up_charges()' => q(SELECT yquota.roll_up_charges()),
	'yquota.preempt_containers(timestamp with time zone,boolean,boolean)' => q(SELECT * FROM yquota.preempt_containers()),
	'yquota.schedule(text[],integer,boolean,boolean)' => q(SELECT * FROM yquota.schedule()),
	'yquota.schedule(text[],integer,boolean,boolean) explain' => q(SELECT * FROM yquota.schedule(explain => true)),
	'yquota.seal_history()' => q(SELECT yquota.seal_history()),
	'yquota.set_application_tags(text,text[])' => q(SELECT yquota.set_application_tags('application_1_5', '{team=search}')),
	'yquota.set_base_price(text,numeric,bigint,timestamp with time zone)' => q(SELECT yquota.set_base_price('vcores', 2)),
	'yquota.set_clock(timestamp with time zone)' => q(SELECT yquota.set_clock('2026-03-02 12:10+00')),
	'yquota.set_multiplier(text,numeric,timestamp with time zone,timestamp with time zone)' => q(SELECT yquota.set_multiplier('GENERAL', 2)),
	'yquota.set_outstanding_requests(text,boolean)' => q(SELECT yquota.set_outstanding_requests('application_1_5', false)),
	'yquota.shadow_costs(timestamp with time zone,timestamp with time zone,text)' => q(SELECT * FROM yquota.shadow_costs('2026-03-01 20:00+00', '2026-03-02 00:00+00')),
	'yquota.start_worker()' => q(SELECT yquota.start_worker()),
	'yquota.stop_worker()' => q(SELECT yquota.stop_worker()),
	'yquota.submit_application(text,text,text[],text,text,yquota.resource,integer,bigint,text[],text,boolean,text,text,text,text,text,boolean,text,boolean,yquota.container_request[],text,numeric)' =>
	  q(SELECT * FROM yquota.submit_application('application_1_9', 'ann', '{}', 'root.a', project => 'p')),
	'yquota.submit_application(text,text,text[],text,text,yquota.resource,integer,bigint,text[],text,boolean,text,text,text,text,text,boolean,text,boolean,yquota.container_request[],text,numeric) new queue' =>
	  q(SELECT * FROM yquota.submit_application('application_1_9', 'ann', '{}', 'root.auto', project => 'p')),
	'yquota.submit_application(text,text,text[],text,text,yquota.resource,integer,bigint,text[],text,boolean,text,text,text,text,text,boolean,text,boolean,yquota.container_request[],text,numeric) hold' =>
	  q(SELECT * FROM yquota.submit_application('application_1_9', 'ann', '{}', 'root.a', project => 's', hold_amount => 1)),
	'yquota.update_application_lifetime(text,bigint,text,text[])' => q(SELECT yquota.update_application_lifetime('application_1_1', 1000)),
	'yquota.update_application_priority(text,integer,text,text[])' => q(SELECT yquota.update_application_priority('application_1_1', 3)),
	'yquota.update_blacklist(text,text[],text[])' => q(SELECT yquota.update_blacklist('application_1_1', '{h2}', '{h3}')),
	'yquota.update_container(text,integer,yquota.resource,yquota.execution_type,integer,bigint)' => qq(SELECT yquota.update_container($scheduled, 0, '[memory-mb=512,vcores=1]')),
	'yquota.update_container(text,integer,yquota.resource,yquota.execution_type,integer,bigint) more' => qq(SELECT yquota.update_container($scheduled, 0, '[memory-mb=4096,vcores=1]')),
	'yquota.update_containers(text,yquota.container_update_request[])' => q(SELECT * FROM yquota.update_containers('application_1_2', ARRAY(SELECT ROW(container_id, 0, '[memory-mb=512,vcores=1]', NULL, NULL, NULL)::yquota.container_update_request
		FROM yquota.container WHERE application_id = 'application_1_2'))),
	'yquota.void_events(text,text,text,timestamp with time zone,timestamp with time zone,text,text)' => q(SELECT * FROM yquota.void_events('c3', 'wrong')),
	'yquota.void_events(text,text,text,timestamp with time zone,timestamp with time zone,text,text) window' => q(SELECT * FROM yquota.void_events("from" => '2026-03-01 20:00+00', "to" => '2026-03-01 20:10+00', reason => 'wrong')),
	'yquota.federate_cluster(text,name,regclass)' => q(SELECT yquota.remove_federated_cluster('yarn_cluster', true); SELECT yquota.federate_cluster('yarn_cluster', 'own')),
	'yquota.remove_federated_cluster(text,boolean)' => q(SELECT yquota.remove_federated_cluster('yarn_cluster', true)),
	'yquota.renew_leases()' => q(SELECT * FROM yquota.renew_leases()),
	'yquota.withdraw_point(regclass,timestamp with time zone,text,text)' => q(SELECT yquota.set_base_price('vcores', 2, effective_at => '2026-03-03 00:00+00'); SELECT yquota.withdraw_point('yquota.base_price', '2026-03-03 00:00+00', 'vcores')),

	'yquota_internal.worker_start(integer,timestamp with time zone)' => q(SELECT yquota_internal.worker_start(pg_backend_pid(), yquota.clock())),
	'yquota_internal.worker_leave(integer,timestamp with time zone)' => q(SELECT yquota_internal.worker_leave(pg_backend_pid(), yquota.clock())),
	'yquota_internal.note_node_differences(timestamp with time zone)' => q(SELECT yquota_internal.note_node_differences(yquota.clock())),
	'yquota_internal.tell_of_nodes(text,text[],timestamp with time zone,text,timestamp with time zone)' => q(SELECT yquota_internal.tell_of_nodes('kind', '{q1}', yquota.clock(), '%s %s %s', yquota.clock())),
	'yquota_internal.watch_node_reports(timestamp with time zone)' => q(SELECT yquota_internal.watch_node_reports(yquota.clock())),
	'yquota_internal.watch_decisions(timestamp with time zone)' => q(SELECT yquota_internal.watch_decisions(yquota.clock() + interval '1 day')),
	'yquota_internal.watch_ended_applications(timestamp with time zone)' => q(SELECT yquota_internal.watch_ended_applications(yquota.clock() + interval '1 day')),
	'yquota_internal.end_containers_of(text)' => q(SELECT yquota_internal.end_containers_of('application_1_0001')),
	'yquota_internal.kill_expired(text[],text)' => q(SELECT yquota_internal.kill_expired('{application_1_0001}', 'late')),
	'yquota_internal.watch_refusals(timestamp with time zone)' => q(SELECT yquota_internal.watch_refusals(yquota.clock() + interval '1 day')),
	'yquota_internal.worker_follow_plans()' => q(SELECT yquota.set_clock('2026-03-03 00:30+00'); SELECT yquota_internal.worker_follow_plans()),
	'yquota_internal.worker_preempt(timestamp with time zone)' => q(SELECT yquota_internal.worker_preempt(yquota.clock())),
	'yquota_internal.worker_end_expired()' => q(SELECT yquota_internal.worker_end_expired()),
	'yquota_internal.worker_price(timestamp with time zone)' => q(SELECT yquota_internal.worker_price(yquota.clock())),
	'yquota_internal.worker_seal(timestamp with time zone)' => q(SELECT yquota_internal.worker_seal('2026-05-02 12:00+00')),
	'yquota_internal.worker_seal(timestamp with time zone) tends' => q(SELECT yquota_internal.tend_history()),
	'yquota_internal.worker_credit(timestamp with time zone,integer)' => q(SELECT yquota_internal.worker_credit(yquota.clock())),
	'yquota_internal.worker_job(text,timestamp with time zone)' => q(SELECT yquota_internal.worker_job('credit', yquota.clock())),
	'yquota_internal.worker_record(integer,timestamp with time zone,timestamp with time zone,timestamp with time zone,timestamp with time zone,text,timestamp with time zone,text[])' =>
	  q(SELECT yquota_internal.worker_record(0, yquota.clock(), yquota.clock(), yquota.clock(), yquota.clock(), NULL, NULL, '{price}')),
	(map { ("job $_" => "SELECT yquota_internal.run_job('$_', 'worker')") } qw(credit forecast history leases retention roll-up verify)),
	'task of the worker: compaction' => q(SELECT yquota_internal.compact_counters()),
	'task of the worker: reservations' => q(SELECT yquota.set_clock('2026-03-03 06:00+00'); SELECT yquota_internal.book_reservations()),
	'task of the worker: late prices' => q(SELECT yquota_internal.correct_late_prices()),
	'task of the worker: what waits' => q(SELECT yquota_internal.apply_waiting()),
	'yquota.read_notifications(text,integer)' => q(SELECT * FROM yquota.read_notifications()),
	'task of the worker: forecasts' => q(SELECT yquota_internal.note_forecasts(yquota.clock())),
	'task of the worker: crossings' => q(SELECT yquota_internal.note_crossings(yquota.clock())),

	'INSERT container_event' => qq($start ('CONTAINER_START', 'n1', yquota.clock(), 'p', '[vcores=1]', 'rm'), ('CONTAINER_FINISH', 'c25', yquota.clock(), NULL, NULL, 'rm')),
	'INSERT container_event update' => q(INSERT INTO yquota.container_event (event, container_id, occurred_at, allocation) VALUES ('CONTAINER_UPDATE', 'c26', yquota.clock(), '[vcores=9]')),
	'INSERT container_event late' => q(INSERT INTO yquota.container_event (event, container_id, occurred_at, allocation) VALUES ('CONTAINER_UPDATE', 'c4', '2026-03-01 23:00+00', '[vcores=9]'), ('CONTAINER_UPDATE', 'c27', '2026-03-01 23:00+00', '[vcores=9]')),
	'INSERT container_event waiting' => qq($start ('CONTAINER_START', 'waits', '2026-03-02 02:00+00', 'p', '[vcores=1]', 'rm')),
	'INSERT container_event bad' => qq(SET LOCAL yquota.on_bad_event = set_aside; $start ('CONTAINER_START', 'n2', yquota.clock(), 'nobody', '[vcores=1]', 'rm')),
	'INSERT container_event compute' => q(INSERT INTO yquota.container_event (event) VALUES ('QUOTA_COMPUTE')),
	'INSERT container_event deferred' => qq(SET LOCAL yquota.charging = deferred; $start ('CONTAINER_START', 'n1', yquota.clock(), 'p', '[vcores=1]', 'rm')),
	'INSERT container_event new project' => qq(SET LOCAL yquota.auto_create_project = on; $start ('CONTAINER_START', 'n1', yquota.clock(), 'brandnew', '[vcores=1]', 'rm')),
	'UPDATE event_reject' => q(UPDATE yquota.event_reject SET project = 'p' WHERE container_id = 'bad1'),
	'DELETE event_reject' => q(DELETE FROM yquota.event_reject),
	'DELETE feed_reject' => q(DELETE FROM yquota.feed_reject),
	'INSERT project' => q(INSERT INTO yquota.project (name) VALUES ('t')),
	'INSERT project family' => q(INSERT INTO yquota.project (name, parent) VALUES ('t', 'p')),
	'UPDATE project' => q(UPDATE yquota.project SET on_exhausted = 'drain'),
	'UPDATE project family' => q(UPDATE yquota.project SET parent = 'p' WHERE name = 'unused'),
	'DELETE project' => q(DELETE FROM yquota.project WHERE name = 'unused'),
	'INSERT quota_grant' => q(INSERT INTO yquota.quota_grant (project, amount, reason) VALUES ('p', 1, 'more')),
	'INSERT budget' => q(INSERT INTO yquota.budget (project, period, amount, starts_on) VALUES ('p', 'month', 5, '2026-03-01')),
	'UPDATE budget' => q(UPDATE yquota.budget SET amount = 6),
	'DELETE budget' => q(DELETE FROM yquota.budget),
	'INSERT spending_threshold' => q(INSERT INTO yquota.spending_threshold (project, fraction) VALUES ('q', 0.5)),
	'UPDATE spending_threshold' => q(UPDATE yquota.spending_threshold SET fraction = 0.25 WHERE fraction IS NOT NULL),
	'DELETE spending_threshold' => q(DELETE FROM yquota.spending_threshold),
	'INSERT billing_setting' => q(DELETE FROM yquota.billing_setting; INSERT INTO yquota.billing_setting (timezone) VALUES ('UTC')),
	'UPDATE billing_setting' => q(UPDATE yquota.billing_setting SET timezone = 'UTC'),
	'DELETE billing_setting' => q(DELETE FROM yquota.billing_setting),
	'INSERT billing_currency' => q(INSERT INTO yquota.billing_currency (code, symbol, credits_per_unit) VALUES ('EUR', 'EUR', 100)),
	'INSERT cluster_setting' => q(DELETE FROM yquota.cluster_setting; INSERT INTO yquota.cluster_setting (cluster_name) VALUES ('north')),
	'UPDATE cluster_setting' => q(UPDATE yquota.cluster_setting SET cluster_name = 'south'),
	'DELETE cluster_setting' => q(DELETE FROM yquota.cluster_setting),
	'INSERT federated_budget' => q(INSERT INTO yquota.federated_budget (project, period, amount) VALUES ('q', 'week', 5)),
	'UPDATE federated_budget' => q(UPDATE yquota.federated_budget SET amount = 6),
	'DELETE federated_budget' => q(DELETE FROM yquota.federated_budget),
	'UPDATE federated_cluster' => q(UPDATE yquota.federated_cluster SET weight = 2),
	'INSERT price_group' => q(INSERT INTO yquota.price_group (name) VALUES ('g')),
	'UPDATE price_group' => q(UPDATE yquota.price_group SET increment_factor = 2),
	'DELETE price_group' => q(DELETE FROM yquota.resource_type WHERE name = 'spare'; DELETE FROM yquota.price_group WHERE name = 'spare'),
	'INSERT resource_type' => q(INSERT INTO yquota.resource_type (name, price_group) VALUES ('t', 'GENERAL')),
	'UPDATE resource_type' => q(UPDATE yquota.resource_type SET base_price = 2 WHERE name = 'vcores'),
	'DELETE resource_type' => q(DELETE FROM yquota.resource_type WHERE name = 'spare'),
	'INSERT price_factor' => q(INSERT INTO yquota.price_factor (dimension, name, effective_at, factor) VALUES ('username', 'ann', yquota.clock(), 2)),
	'INSERT price_factor known' => q(INSERT INTO yquota.price_factor (dimension, name, effective_at, factor) VALUES ('queue', 'root.feed', yquota.clock(), 3)),
	'INSERT price_factor OPPORTUNISTIC' => q(INSERT INTO yquota.price_factor (dimension, name, effective_at, factor) VALUES ('execution_type', 'OPPORTUNISTIC', yquota.clock(), 0.5)),
	'INSERT price_calendar' => q(INSERT INTO yquota.price_calendar (name, price_group, timezone, "from", "to", factor) VALUES ('late', 'GENERAL', 'UTC', '20:00', '24:00', 0.5)),
	'UPDATE price_calendar' => q(UPDATE yquota.price_calendar SET factor = 0.25),
	'DELETE price_calendar' => q(DELETE FROM yquota.price_calendar),
	'INSERT price_factor label' => q(INSERT INTO yquota.price_factor (dimension, name, effective_at, factor) VALUES ('label', 'x', yquota.clock(), 2)),
	'INSERT node_label_history' => q(INSERT INTO yquota.node_label_history (node, effective_at, label) SELECT name, yquota.clock() - interval '1 microsecond', label FROM yquota.node LIMIT 1),
	'INSERT opportunistic_price' => q(DELETE FROM yquota.opportunistic_price; INSERT INTO yquota.opportunistic_price (min_factor, max_factor) VALUES (0.2, 1)),
	'UPDATE opportunistic_price' => q(UPDATE yquota.opportunistic_price SET max_factor = 2),
	'DELETE opportunistic_price' => q(DELETE FROM yquota.opportunistic_price),
	'INSERT charging_rule' => q(INSERT INTO yquota.charging_rule (effective_at, minimum_run_time) VALUES (yquota.clock(), '2 s')),
	'INSERT charging_rule of a project' => q(INSERT INTO yquota.charging_rule (project, effective_at, charging_mode) VALUES ('p', yquota.clock(), 'sum')),
	'INSERT outage' => q(INSERT INTO yquota.outage (started_at, ended_at, reason) VALUES ('2026-03-01 23:00+00', '2026-03-01 23:30+00', 'down')),
	'UPDATE outage' => q(UPDATE yquota.outage SET forgiven = true),
	'DELETE outage' => q(DELETE FROM yquota.outage),
	'INSERT utilization' => q(INSERT INTO yquota.utilization (resource_type, utilization, reported_at) VALUES ('memory-mb', 0.5, yquota.clock())),
	'UPDATE utilization' => q(UPDATE yquota.utilization SET utilization = 0.7),
	'DELETE utilization' => q(DELETE FROM yquota.utilization),
	'INSERT pending_demand' => q(INSERT INTO yquota.pending_demand (source, demand, reported_at) VALUES ('other', '[vcores=1]', yquota.clock())),
	'UPDATE pending_demand' => q(UPDATE yquota.pending_demand SET demand = '[vcores=2]'),
	'DELETE pending_demand' => q(DELETE FROM yquota.pending_demand),
	'UPDATE alert' => q(UPDATE yquota.alert SET cleared_at = yquota.clock()),
	'INSERT node' => q(INSERT INTO yquota.node (name, total) VALUES ('h9', '[memory-mb=1024,vcores=1]')),
	'UPDATE node' => q(UPDATE yquota.node SET total = '[memory-mb=20480,vcores=20]'),
	'UPDATE node label' => q(UPDATE yquota.node SET label = 'x'),
	'UPDATE node state' => q(UPDATE yquota.node SET state = 'LOST'),
	'DELETE node' => q(DELETE FROM yquota.node),
	'INSERT queue' => q(INSERT INTO yquota.queue (path, capacity) VALUES ('root.f', '1w')),
	'UPDATE queue' => q(UPDATE yquota.queue SET maximum_applications = 99 WHERE path = 'root.a'),
	'UPDATE queue limit of sharing' => q(UPDATE yquota.queue SET opportunistic_maximum_containers = 9 WHERE path = 'root.b'),
	'UPDATE queue parallel' => q(UPDATE yquota.queue SET max_parallel_apps = 9 WHERE path = 'root.b'),
	'DELETE queue' => q(DELETE FROM yquota.queue WHERE path = 'root.e'),
	'INSERT queue_label' => q(INSERT INTO yquota.queue_label (queue, label, capacity) VALUES ('root', 'x', '100')),
	'UPDATE queue_label' => q(UPDATE yquota.queue_label SET maximum_am_resource_percent = 0.5),
	'DELETE queue_label' => q(DELETE FROM yquota.queue_label),
	'INSERT queue_user' => q(INSERT INTO yquota.queue_user (queue, username, weight) VALUES ('root.a', 'bob', 1)),
	'UPDATE queue_user' => q(UPDATE yquota.queue_user SET weight = 0.5),
	'DELETE queue_user' => q(DELETE FROM yquota.queue_user),
	(map { ("INSERT $_->[0]" => "INSERT INTO yquota.$_->[0] $_->[1]", "UPDATE $_->[0]" => "UPDATE yquota.$_->[0] SET $_->[2]", "DELETE $_->[0]" => "DELETE FROM yquota.$_->[0]") } (
		[ 'wildcard_template', q((path, auto_queue_creation_v2_template) VALUES ('root.a.*', '{"capacity": "1w"}')), q(auto_queue_creation_v2_template = '{"capacity": "2w"}') ],
		[ 'mapping_rule', q((kind, position, type, matches, policy) VALUES ('json', 2, 'user', 'x', 'user')), q(matches = 'y') ],
		[ 'workflow_priority_mapping', q((position, workflow_id, queue, priority) VALUES (2, 'v', 'root.a', 1)), q(priority = 2) ],
		[ 'user_setting', q((username, max_parallel_apps) VALUES ('bob', 5)), q(max_parallel_apps = 6) ],
		[ 'multi_node_sorting_policy', q((name, class) VALUES ('r', 'c')), q(class = 'd') ],
		[ 'unmapped_property', q((property, value) VALUES ('yarn.scheduler.capacity.other', '1')), q(value = '2') ],
		[ 'over_allocation', q((resource_type, threshold) VALUES ('vcores', 0.8)), q(threshold = 0.9) ],
		[ 'request_interceptor', q((position, function) VALUES (2, 'public.pass_too')), q(position = position + 10) ],
		[ 'shadow_tariff', q((name, terms) VALUES ('cheap', '{"base_prices": {"vcores": 1}}')), q(description = 'x') ] )),
	'INSERT node_label' => q(INSERT INTO yquota.node_label (name, exclusive) VALUES ('y', false)),
	'UPDATE node_label' => q(UPDATE yquota.node_label SET exclusive = true),
	'DELETE node_label' => q(DELETE FROM yquota.queue_label; DELETE FROM yquota.node_label),
	'INSERT scheduler_setting' => q(DELETE FROM yquota.scheduler_setting; INSERT INTO yquota.scheduler_setting (maximum_am_resource_percent, maximum_allocation_mb) VALUES (1, 8192)),
	'UPDATE scheduler_setting last limit of sharing' => q(UPDATE yquota.scheduler_setting SET opportunistic_user_maximum_containers = NULL),
	'UPDATE scheduler_setting' => q(UPDATE yquota.scheduler_setting SET maximum_applications = 5000),
	'DELETE scheduler_setting' => q(DELETE FROM yquota.scheduler_setting),
	'INSERT retention_setting' => q(DELETE FROM yquota.retention_setting; INSERT INTO yquota.retention_setting (keep_months) VALUES (3)),
	'UPDATE retention_setting' => q(UPDATE yquota.retention_setting SET keep_months = 3),
	'DELETE retention_setting' => q(DELETE FROM yquota.retention_setting),
);
my %sql = @calls;
my @names = @calls[ grep { $_ % 2 == 0 } 0 .. $#calls ];

my $window = q('2026-03-01 00:00+00', '2026-03-02 00:00+00');
my %reading = (
	'yquota.allocate_distributed(yquota.leased_node[],yquota.container_request[],yquota.container_request[],text[],integer,yquota.resource,yquota.resource,yquota.resource)' =>
	  qq(SELECT * FROM yquota.allocate_distributed(ARRAY[ROW('h1', '/r1', NULL)]::yquota.leased_node[], ARRAY[$request])),
	'yquota.application_priority(text,text[],text,integer,text[],text)' => q(SELECT * FROM yquota.application_priority('ann', '{}', 'root.a', 3)),
	'yquota.archive_digest(regclass)' => q(SELECT * FROM yquota.archive_digest('public.archived_charge')),
	'yquota.archive_digest_query(text,text)' => q(SELECT yquota.archive_digest_query('public.archived_charge')),
	'yquota.balance_at(text,timestamp with time zone)' => q(SELECT * FROM yquota.balance_at('p', '2026-03-02 00:00+00')),
	'yquota.bill(text,date,text)' => q(SELECT * FROM yquota.close_period('2026-03-02 00:00+00'); SELECT * FROM yquota.bill('p', date '2026-03-02')),
	'yquota.bill(text,timestamp with time zone,text)' => q(SELECT * FROM yquota.close_period('2026-03-02 00:00+00'); SELECT * FROM yquota.bill('p', '2026-03-02 00:00+00')),
	'yquota.bill_by_calendar(text,date)' => q(SELECT * FROM yquota.close_period('2026-03-02 00:00+00'); SELECT * FROM yquota.bill_by_calendar('p', date '2026-03-02')),
	'yquota.bill_by_calendar(text,timestamp with time zone)' => q(SELECT * FROM yquota.close_period('2026-03-02 00:00+00'); SELECT * FROM yquota.bill_by_calendar('p', '2026-03-02 00:00+00')),
	'yquota.bill_html(text,date)' => q(SELECT * FROM yquota.close_period('2026-03-02 00:00+00'); SELECT yquota.bill_html('p', date '2026-03-02')),
	'yquota.bill_html(text,timestamp with time zone)' => q(SELECT * FROM yquota.close_period('2026-03-02 00:00+00'); SELECT yquota.bill_html('p', '2026-03-02 00:00+00')),
	'yquota.billing_journal(date)' => q(SELECT * FROM yquota.close_period('2026-03-02 00:00+00'); SELECT * FROM yquota.billing_journal(date '2026-03-02')),
	'yquota.billing_journal(timestamp with time zone)' => q(SELECT * FROM yquota.close_period('2026-03-02 00:00+00'); SELECT * FROM yquota.billing_journal('2026-03-02 00:00+00')),
	'yquota.check_application_access(text,text,text[],text)' => q(SELECT * FROM yquota.check_application_access('application_1_1', 'ann', '{}', 'VIEW_APP')),
	'yquota.check_queue_access(text,text[],text,text,text)' => q(SELECT * FROM yquota.check_queue_access('ann', '{}', 'root.a', 'SUBMIT_APPLICATIONS')),
	'yquota.clock()' => q(SELECT yquota.clock()),
	'yquota.cluster_name()' => q(SELECT yquota.cluster_name()),
	'yquota.configuration_advice()' => q(SELECT * FROM yquota.configuration_advice()),
	'yquota.focus_query(timestamp with time zone,timestamp with time zone)' => qq(SELECT yquota.focus_query($window)),
	'yquota.usage_between(timestamp with time zone,timestamp with time zone,text[])' => qq(SELECT * FROM yquota.usage_between($window)),
	'yquota.cost_between(timestamp with time zone,timestamp with time zone,text[],timestamp with time zone)' => qq(SELECT * FROM yquota.cost_between($window)),
	'yquota.cost_by_calendar(timestamp with time zone,timestamp with time zone,text[])' => q(SELECT * FROM yquota.cost_by_calendar('2026-03-01 00:00+00', '2026-03-02 00:00+00')),
	'yquota.cost_by_day(date,date,text[],text)' => q(SELECT * FROM yquota.cost_by_day('2026-03-01', '2026-03-01')),
	'yquota.diff_hadoop_configuration(jsonb,text)' => qq(SELECT * FROM yquota.diff_hadoop_configuration('$configuration'::jsonb, 'merge')),
	'yquota.diff_hadoop_configuration(text,text)' => q(SELECT * FROM yquota.diff_hadoop_configuration('<configuration/>'::text, 'merge')),
	'yquota.diff_hadoop_configuration(text[],text)' => q(SELECT * FROM yquota.diff_hadoop_configuration(ARRAY['<configuration/>'], 'merge')),
	'yquota.diff_hadoop_configuration(xml,text)' => q(SELECT * FROM yquota.diff_hadoop_configuration(xml '<configuration/>', 'merge')),
	'yquota.expired_applications()' => q(SELECT * FROM yquota.expired_applications()),
	'yquota.explain_charge(text)' => q(SELECT * FROM yquota.explain_charge('c3')),
	'yquota.explain_opportunistic_price(timestamp with time zone)' => q(SELECT * FROM yquota.explain_opportunistic_price()),
	'yquota.explain_reclaim(text,text,yquota.resource)' => q(SELECT * FROM yquota.explain_reclaim('q1', amount => '[vcores=1]')),
	'yquota.explain_reservation(text)' => q(SELECT * FROM yquota.explain_reservation('reservation_1_0001')),
	'yquota.export_hadoop_configuration(text)' => q(SELECT yquota.export_hadoop_configuration()),
	'yquota.federated_bill(date,boolean)' => q(SELECT * FROM yquota.federated_bill('2026-03-01')),
	'yquota.federated_cost(date,date,text[],boolean)' => q(SELECT * FROM yquota.federated_cost('2026-03-01', '2026-03-01')),
	'yquota.federated_top_costs(date,date,text[],integer,boolean)' => q(SELECT * FROM yquota.federated_top_costs('2026-03-01', '2026-03-01')),
	'yquota.federation_status()' => q(SELECT * FROM yquota.federation_status()),
	'yquota.forecast(text,integer,numeric)' => q(SELECT * FROM yquota.forecast('p', multiplier => 2)),
	'yquota.hadoop_configuration(text)' => q(SELECT * FROM yquota.hadoop_configuration()),
	'yquota.headroom(text,text)' => q(SELECT * FROM yquota.headroom('application_1_1')),
	'yquota.help(text)' => q(SELECT * FROM yquota.help()),
	'yquota.list_reservations(text,text,text[],text,timestamp with time zone,timestamp with time zone,boolean)' => q(SELECT * FROM yquota.list_reservations('root.plan', 'ann', '{}')),
	'yquota.map_reduce_request(text,bigint,integer,boolean)' => q(SELECT * FROM yquota.map_reduce_request('reduce')),
	'yquota.node_work(text)' => q(SELECT * FROM yquota.node_work('q1')),
	'yquota.place_application(text,text[],text,text,boolean)' => q(SELECT * FROM yquota.place_application('ann', '{}', 'root.a')),
	'yquota.plan_allocation(text,timestamp with time zone,timestamp with time zone)' => qq(SELECT * FROM yquota.plan_allocation('root.plan', $window)),
	'yquota.planned_leases()' => q(SELECT * FROM yquota.planned_leases()),
	'yquota.preemption_cost(timestamp with time zone,timestamp with time zone)' => qq(SELECT * FROM yquota.preemption_cost($window)),
	'yquota.preemption_message(text)' => q(SELECT * FROM yquota.preemption_message('application_1_1')),
	'yquota.price_quote(yquota.resource,interval,text,yquota.execution_type,text,text,text,text,numeric)' => q(SELECT * FROM yquota.price_quote('[vcores=1]', '1 hour', username => 'ann', project => 'p', application_id => 'application_1_1', multiplier => 2)),
	'yquota.publication_commands(text)' => q(SELECT * FROM yquota.publication_commands()),
	'yquota.report_html(timestamp with time zone,timestamp with time zone,text,text)' => qq(SELECT yquota.report_html($window)),
	'yquota.reservation_contract(timestamp with time zone,timestamp with time zone,yquota.reservation_request[],yquota.reservation_interpreter,interval,integer,text)' => qq(SELECT $contract),
	'yquota.reservation_plan_html(text,timestamp with time zone,timestamp with time zone)' => q(SELECT yquota.reservation_plan_html('root.plan')),
	'yquota.reservation_plan_text(text,timestamp with time zone,timestamp with time zone,integer,integer,text)' => q(SELECT * FROM yquota.reservation_plan_text('root.plan')),
	'yquota.reservation_request(yquota.resource,integer,interval,integer)' => q(SELECT yquota.reservation_request('[memory-mb=1]', 1, '1 hour')),
	'yquota.sequence_commands()' => q(SELECT * FROM yquota.sequence_commands()),
	'yquota.statement_clock()' => q(SELECT yquota.statement_clock()),
	'yquota.idle_cost(timestamp with time zone,timestamp with time zone,text)' => qq(SELECT * FROM yquota.idle_cost($window)),
	'yquota.top_costs(timestamp with time zone,timestamp with time zone,text[],integer)' => qq(SELECT * FROM yquota.top_costs($window)),
	'yquota.user_limit(text,text,text,boolean)' => q(SELECT * FROM yquota.user_limit('root.a', 'ann')),
	'yquota.verify(timestamp with time zone)' => q(SELECT * FROM yquota.verify()),
	'yquota.install_cron_jobs()' => q(SELECT * FROM yquota.install_cron_jobs()),
	'yquota.remove_cron_jobs()' => q(SELECT yquota.remove_cron_jobs()),
);

sub statements { return @names; }
sub sql_of { return $sql{ $_[0] } // die "no statement \"$_[0]\"\n"; }
sub reading_of { return $reading{ $_[0] }; }
sub call_of { return "BEGIN;\n" . sql_of($_[0]) . ";\nSET CONSTRAINTS ALL IMMEDIATE"; }

# The locks of a session. Creating or dropping a partition of history excludes only readers of that partition. The
# foreign tables of clusters are locked together and share one name.
sub locks_of
{
	my ($client, $pid, $granted) = @_;

	return grep { $_->[0] !~ /_(?:sealed|carried)_\d+/ } map { [ split /\|/ ] } split /\n/, $client->run(<<~"SQL");
		SELECT DISTINCT CASE WHEN report.parent IS NOT NULL THEN 'yquota_internal.federated_report'
							 WHEN l.locktype = 'relation' THEN c.oid::regclass::text ELSE 'objects of ' || c.oid::regclass::text END, l.mode, l.locktype
		FROM pg_locks AS l
		JOIN pg_class AS c ON c.oid = CASE l.locktype WHEN 'relation' THEN l.relation WHEN 'object' THEN l.classid END AND c.relkind IN ('r', 'p')
		LEFT JOIN yquota_internal.federated_report AS report ON report.parent = c.relname
		WHERE l.pid = $pid AND l.granted = $granted AND c.relnamespace IN ('yquota'::regnamespace, 'yquota_internal'::regnamespace)
		ORDER BY 1, 2
		SQL
}

sub missing_statements
{
	my ($node, $database) = @_;
	my @wanted = split /\n/, $node->safe_psql($database, <<~'SQL');
		SELECT 'yquota.' || substr(p.oid::regprocedure::text, length('yquota.') + 1) FROM pg_proc AS p
		WHERE p.pronamespace = 'yquota'::regnamespace AND p.provolatile = 'v' AND p.prokind = 'f'
		UNION ALL
		SELECT p.oid::regprocedure::text FROM pg_proc AS p
		WHERE p.pronamespace = 'yquota_internal'::regnamespace AND p.provolatile = 'v' AND p.proname ~ '^worker_' AND p.prorettype <> 'trigger'::regtype
		UNION ALL
		SELECT format('job %s', name) FROM yquota_internal.job
		UNION ALL
		SELECT DISTINCT format('%s %s', command, c.relname)
		FROM pg_class AS c, unnest('{INSERT,UPDATE,DELETE}'::text[]) AS command, unnest('{clerk,chief}'::text[]) AS role
		WHERE c.relnamespace = 'yquota'::regnamespace AND c.relkind = 'r' AND has_table_privilege(role, c.oid, command)
		ORDER BY 1
		SQL

	return grep { !exists $sql{$_} && !exists $not_called{$_} } @wanted;
}

1;
