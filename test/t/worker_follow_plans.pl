# The worker follows plans: it runs a round at every time step of the clock and reports the result. The test covers
# clocks that step, a server that is killed between two rounds, and a standby that is promoted. It also covers many
# reservations that end at once, and rounds of two sessions at the same time.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use WorkerNode;

my $node = new_node('follow_plans', "timezone = 'UTC'");
my $standby = PostgreSQL::Test::Cluster->new('follow_plans_standby');

$node->safe_psql('postgres', 'CREATE DATABASE work');
start_at($node, 'work', '2030-01-01 00:00 UTC');
$node->safe_psql('work', <<~'SQL');
	INSERT INTO yquota.project (name) VALUES ('p');
	INSERT INTO yquota.node (name, total) SELECT 'n' || i, '[memory-mb=131072,vcores=128]' FROM generate_series(1, 10) AS i;
	BEGIN;
	INSERT INTO yquota.scheduler_setting (maximum_applications, maximum_am_resource_percent) VALUES (100000, 1);
	INSERT INTO yquota.queue (path, capacity, reservable, reservation_policy, maximum_applications, user_limit_factor) VALUES
		('root', NULL, NULL, NULL, NULL, NULL), ('root.plan', '100', true, 'NoOverCommitPolicy', 100000, 100), ('root.other', '0', NULL, NULL, NULL, NULL);
	COMMIT;
	CREATE ROLE manager;
	SELECT yquota.allow_role('manager', 'operator');
	CREATE FUNCTION public.reserve(number integer, arrival timestamptz, containers integer, duration interval) RETURNS boolean LANGUAGE sql
		BEGIN ATOMIC
			SELECT s.accepted FROM yquota.submit_reservation(format('reservation_1_%s', lpad(number::text, 4, '0')), 'root.plan', 'ann', '{}', 'p',
				yquota.reservation_contract(arrival, arrival + duration, ARRAY[yquota.reservation_request('[memory-mb=1024,vcores=1]', containers, duration, containers)])) AS s;
		END;
	SELECT yquota.start_worker();
	SQL
is_soon($node, 'work', mark() . " = '2030-01-01 00:00 UTC'", 'the worker is at work');
my $listener = $node->background_psql('work');
$listener->query_safe('LISTEN yquota');

# Shares of the plan, in percent.
sub queues { return q((SELECT string_agg(format('%s=%s', split_part(name, '_', 3), round(capacity::numeric * 100)), ' ' ORDER BY name) FROM yquota.reservation_queue)); }

$node->safe_psql('work', q(UPDATE yquota.scheduler_setting SET reservation_system_enable = true));
is($node->safe_psql('work', q(SELECT public.reserve(1, '2030-01-01 00:00:05 UTC', 128, '10 s'), public.reserve(2, '2030-01-01 00:00:10 UTC', 256, '20 s'))), 't|t', 'two reservations are accepted');
is($node->safe_psql('work', 'SELECT ' . queues()), '', 'the reservations have no queues before their time');
set_clock($node, 'work', '2030-01-01 00:00:05 UTC');
is_soon($node, 'work', queues() . " = '=90 0001=10'", 'the worker makes a queue when a reservation begins');
like($listener->query('SELECT 1'), qr/"yquota" with payload "\{"at": "2030-01-01T00:00:05\+00:00", "kind": "plan_follower"\}"/, 'the worker notifies about the queue');
set_clock($node, 'work', '2030-01-01 00:00:05.9 UTC');
$node->safe_psql('work', 'SELECT pg_sleep(0.3)');
set_clock($node, 'work', '2030-01-01 00:00:10 UTC');
is_soon($node, 'work', queues() . " = '=70 0001=10 0002=20'", 'the worker makes a queue for the next reservation');
unlike($listener->query('SELECT 1'), qr/00:00:05\.9/, 'a round without changes sends no notification');

# An operator calls follow_plans() without a worker.
$node->safe_psql('work', q(SELECT yquota.stop_worker()));
is_soon($node, 'work', 'NOT EXISTS (SELECT FROM yquota_internal.worker_state WHERE pid IS NOT NULL)', 'the worker leaves');
my $before = $node->safe_psql('work', 'SELECT pg_current_wal_insert_lsn()');
is($node->safe_psql('work', 'BEGIN; SET ROLE manager; SELECT count(*) FROM yquota.follow_plans(); SELECT pg_current_xact_id_if_assigned() IS NULL; COMMIT'), "0\nt", 'a round without changes uses no transaction id');
set_clock($node, 'work', '2030-01-01 00:00:16 UTC');
is($node->safe_psql('work', 'SET ROLE manager; SELECT outcome, queue FROM yquota.follow_plans() ORDER BY 1, 2'), "archived|\nremoved|reservation_1_0001\nresized|plan-default", 'an operator runs a round');

# The server is killed between two rounds, and during a round.
set_clock($node, 'work', '2030-01-01 00:00:31 UTC');
$node->safe_psql('work', q(SELECT public.reserve(3, '2030-01-01 00:00:31 UTC', 640, '1 hour')));
is($node->safe_psql('work', 'SELECT ' . queues()), '=50 0003=50', 'a reservation submitted at its start gets its queue at once, and the queues of past ones are removed');
$node->safe_psql('work', q(SELECT public.reserve(4, '2030-01-01 00:01 UTC', 128, '1 hour')));
set_clock($node, 'work', '2030-01-01 00:01 UTC');
my $open = $node->background_psql('work');
$open->query_safe('BEGIN; SELECT count(*) FROM yquota.follow_plans()');
$node->stop('immediate');
$open->{run}->kill_kill;
$node->start;
is($node->safe_psql('work', 'SELECT ' . queues()), '=50 0003=50', 'after a kill of the server, the uncommitted queue is not there');
is($node->safe_psql('work', 'SELECT outcome, queue FROM yquota.follow_plans() ORDER BY 1, 2'), "created|reservation_1_0004\nresized|plan-default", 'the round is repeated');
is($node->safe_psql('work', 'SELECT count(*) FROM yquota.follow_plans()'), '0', 'once');

# A standby can do dry runs, and continues when it is promoted.
$node->backup('backup');
$standby->init_from_backup($node, 'backup', has_streaming => 1);
$standby->start;
set_clock($node, 'work', '2030-01-01 01:00:31 UTC');
$node->wait_for_catchup($standby);
is($standby->safe_psql('work', 'SELECT outcome, queue FROM yquota.follow_plans(dry_run => true) ORDER BY 1, 2'), "archived|\nremoved|reservation_1_0003\nresized|plan-default", 'a dry run works on a standby');
like(($standby->psql('work', 'SELECT yquota.follow_plans()'))[2], qr/cannot execute a round of the plan follower in a read-only transaction/, 'a standby cannot run a round');
$node->stop('immediate');
$standby->promote;
$standby->safe_psql('work', 'SELECT yquota.start_worker()');
is_soon($standby, 'work', queues() . " = '=90 0004=10'", 'a promoted standby runs the round');

# The clock steps back and forward again. The queues are those of the clock's time, but archived
# reservations stay archived.
set_clock($standby, 'work', '2030-01-01 00:30 UTC');
is_soon($standby, 'work', queues() . " = '=90 0004=10'", 'the clock is set back into the reservation');
set_clock($standby, 'work', '2030-01-01 00:00:40 UTC');
is_soon($standby, 'work', queues() . " = '=100'", 'the clock is set back before the reservation, so its queue is removed');
is($standby->safe_psql('work', q(SELECT last_error FROM yquota.worker_status WHERE database = 'work')), '', 'the backward step is no error');
set_clock($standby, 'work', '2030-01-01 02:00 UTC');
is_soon($standby, 'work', q((SELECT count(*) = 0 FROM yquota.reservation_definition WHERE ended_at IS NULL)), 'the clock is set forward: all reservations have ended');

# A thousand reservations end at once, with an application in each, while another session also runs
# a round.
$standby->safe_psql('work', q(SELECT count(*) FROM generate_series(1001, 2000) AS i WHERE public.reserve(i, '2030-01-01 02:00:10 UTC', 1, '10 s')));
set_clock($standby, 'work', '2030-01-01 02:00:10 UTC');
is_soon($standby, 'work', '(SELECT count(*) FROM yquota.reservation_queue) = 1001', 'a thousand reservations begin at once');
$standby->safe_psql('work', <<~'SQL');
	SELECT yquota.submit_application('application_1_' || i, 'u' || i % 10, '{}', 'root.plan', unmanaged => true, project => 'p', reservation => 'reservation_1_' || i) FROM generate_series(1001, 2000) AS i;
	INSERT INTO yquota.container_event (event, container_id, occurred_at, project, username, application_id, queue, node, allocation)
	SELECT 'CONTAINER_START', 'container_1_' || i || '_01_000002', yquota.clock(), 'p', 'u' || i % 10, 'application_1_' || i, 'root.plan.reservation_1_' || i, 'n1', '[memory-mb=1024,vcores=1]' FROM generate_series(1001, 2000) AS i;
	SQL
is($standby->safe_psql('work', q(SELECT count(*) FROM yquota.application WHERE state = 'ACTIVE')), '1000', 'each reservation runs an application');
my @others = map { $standby->background_psql('work') } 1 .. 2;
set_clock($standby, 'work', '2030-01-01 02:00:21 UTC');
$_->query_until(qr/^$/, "DO \$\$ BEGIN FOR i IN 1 .. 12 LOOP PERFORM count(*) FROM yquota.follow_plans(); COMMIT; END LOOP; END \$\$;\n") foreach @others;
is_soon($standby, 'work', '(SELECT count(*) FROM yquota.reservation_queue) = 1', 'three sessions run rounds that remove the queues');
is($_->query('SELECT 1'), '1', 'none of the rounds failed') foreach @others;
$_->quit foreach @others;
is($standby->safe_psql('work', q(SELECT queue, count(*) FROM yquota.application WHERE state = 'ACTIVE' GROUP BY 1)), 'root.plan.plan-default|1000', 'all applications go on in the default queue');
is($standby->safe_psql('work', q(SELECT queue, count(*) FROM yquota.container GROUP BY 1)), 'root.plan.plan-default|1000', 'their containers go on in the default queue');
is($standby->safe_psql('work', q(SELECT split_part(queue, '_', 1), "to", count(*) FROM yquota.charge GROUP BY 1, 2)), 'root.plan.reservation|2030-01-01 02:00:21+00|1000', 'the applications were charged in the old queue until then');
is($standby->safe_psql('work', q(SELECT ended_by, count(*) FROM yquota.reservation_definition GROUP BY 1)), 'archived|1004', 'all reservations are archived');

# Killed containers are charged up to that instant.
$standby->safe_psql('work', q(UPDATE yquota.queue SET reservation_move_on_expiry = false WHERE path = 'root.plan'; SELECT public.reserve(3001, '2030-01-01 02:00:21 UTC', 1, '10 s')));
$standby->safe_psql('work', q(SELECT yquota.submit_application('application_1_3001', 'ann', '{}', 'root.plan', unmanaged => true, project => 'p', reservation => 'reservation_1_3001');
	INSERT INTO yquota.container_event (event, container_id, occurred_at, project, username, application_id, queue, node, allocation)
	VALUES ('CONTAINER_START', 'container_1_3001_01_000002', yquota.clock(), 'p', 'ann', 'application_1_3001', 'root.plan.reservation_1_3001', 'n1', '[memory-mb=1024,vcores=1]')));
set_clock($standby, 'work', '2030-01-01 02:00:31.000345 UTC');
is_soon($standby, 'work', q((SELECT state = 'KILLED' FROM yquota.application WHERE application_id = 'application_1_3001')), 'without a move an application is killed');
is($standby->safe_psql('work', q(SELECT "to", exit_status FROM yquota.charge WHERE container_id = 'container_1_3001_01_000002')), '2030-01-01 02:00:31.000345+00|-100', 'the killed application is charged to the microsecond');
is($standby->safe_psql('work', q(SELECT decision, container_id FROM yquota.decision)), 'killed|container_1_3001_01_000002', 'the resource manager gets a decision');
set_clock($standby, 'work', '2030-01-01 02:00:33 UTC');
is_soon($standby, 'work', '(SELECT count(*) FROM yquota.reservation_queue) = 1', 'the next round removes the queue');

# A change of the configuration makes the queue an ordinary queue.
$standby->safe_psql('work', q(SELECT public.reserve(4001, '2030-01-01 02:00:33 UTC', 1, '1 hour')));
is($standby->safe_psql('work', 'SELECT ' . queues()), '=100 4001=0', 'the plan has a reservation');
$standby->safe_psql('work', q(SELECT yquota.finish_application(application_id) FROM yquota.application WHERE finished_at IS NULL;
	SELECT count(*) FROM yquota.release_containers(ARRAY(SELECT container_id FROM yquota.container))));
$standby->safe_psql('work', q(UPDATE yquota.queue SET reservable = NULL WHERE path = 'root.plan'));
set_clock($standby, 'work', '2030-01-01 02:00:35 UTC');
is($standby->safe_psql('work', 'SELECT count(*) FROM yquota.follow_plans()'), '0', 'after the plan has become a leaf there is nothing to follow');
is($standby->safe_psql('work', 'SELECT count(*) FROM yquota.reservation_queue'), '0', 'the plan has no queue of a reservation');
is($standby->safe_psql('work', q(SELECT last_error FROM yquota.worker_status WHERE database = 'work')), '', 'the worker has no errors');
is($standby->safe_psql('work', 'SELECT * FROM yquota.verify()'), '', 'the books are right');

done_testing();
