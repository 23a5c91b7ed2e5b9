# The worker preempts: it runs rounds at their interval of the clock, no more than needed, and reports them. Time in
# which the server did not run, or was a standby, does not count as waiting. The worker also ends applications after
# their lifetime.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use WorkerNode;

my $node = new_node('preemption', "timezone = 'UTC'");
my $standby = PostgreSQL::Test::Cluster->new('preemption_standby');

$node->safe_psql('postgres', 'CREATE DATABASE work');
start_at($node, 'work', '2030-01-01 00:00 UTC');
$node->safe_psql('work', <<~'SQL');
	INSERT INTO yquota.project (name) VALUES ('p');
	INSERT INTO yquota.node (name, total) VALUES ('n', '[memory-mb=8192,vcores=8]');
	BEGIN;
	INSERT INTO yquota.scheduler_setting (preemption_total_preemption_per_round, preemption_natural_termination_factor,
		per_node_heartbeat_maximum_offswitch_assignments) VALUES (1, 1, 100);
	INSERT INTO yquota.queue (path, capacity, user_limit_factor) VALUES ('root', NULL, NULL), ('root.a', '50', 10), ('root.b', '50', 10);
	COMMIT;
	SELECT yquota.submit_application('application_1_0001', 'ann', '{}', 'a', project => 'p', unmanaged => true);
	SELECT yquota.request_containers('application_1_0001', '[memory-mb=1024]', 8);
	SELECT count(*) FROM yquota.schedule();
	SELECT yquota.acknowledge_decisions(ARRAY(SELECT decision_id FROM yquota.decision));
	SELECT yquota.submit_application('application_1_0002', 'bob', '{}', 'b', project => 'p', unmanaged => true);
	SELECT yquota.request_containers('application_1_0002', '[memory-mb=1024]', 2);
	SELECT yquota.start_worker();
	SQL
is_soon($node, 'work', mark() . " = '2030-01-01 00:00 UTC'", 'the worker is at work');
my $listener = $node->background_psql('work');
$listener->query_safe('LISTEN yquota');

sub round_at { return q((SELECT round_at FROM yquota_internal.preemption_round)); }
sub marks { return q((SELECT count(*) FROM yquota.preemption_mark)); }
sub containers { return q((SELECT count(*) FROM yquota.container)); }

is($node->safe_psql('work', 'SELECT ' . round_at()), '', 'no rounds while the monitor is off');
$node->safe_psql('work', 'UPDATE yquota.scheduler_setting SET scheduler_monitor_enable = true');
is_soon($node, 'work', round_at() . " = '2030-01-01 00:00 UTC'", 'the worker notices that the monitor is on, and runs a round at once');
is($node->safe_psql('work', 'SELECT ' . marks()), '2', 'the round marks containers');
like($listener->query('SELECT 1'), qr/"yquota" with payload "\{"at": "2030-01-01T00:00:00\+00:00", "kind": "preemption"\}"/, 'the round notifies the resource manager');

# The interval counts from the last round of any session.
set_clock($node, 'work', '2030-01-01 00:00:02 UTC');
$node->safe_psql('work', 'SELECT count(*) FROM yquota.preempt_containers()');
set_clock($node, 'work', '2030-01-01 00:00:04.9 UTC');
$node->safe_psql('work', 'SELECT pg_sleep(0.3)');
is($node->safe_psql('work', 'SELECT ' . round_at()), '2030-01-01 00:00:02+00', 'no round runs within the interval after a round of another caller');
set_clock($node, 'work', '2030-01-01 00:00:08 UTC');
is_soon($node, 'work', round_at() . " = '2030-01-01 00:00:08 UTC'", 'the next round runs after the interval');
set_clock($node, 'work', '2030-01-01 00:00:01 UTC');
$node->safe_psql('work', 'SELECT pg_sleep(0.3)');
is($node->safe_psql('work', q(SELECT last_error FROM yquota.worker_status WHERE database = 'work')), '', 'a clock that steps back is no error');
set_clock($node, 'work', '2030-01-01 00:00:15 UTC');
is_soon($node, 'work', containers() . ' = 6', 'a container that was marked long enough before is killed');
is($node->safe_psql('work', 'SELECT exit_status, count(*) FROM yquota.charge GROUP BY 1'), '-102|2', 'the killed container is charged until that instant');
is($node->safe_psql('work', 'SELECT * FROM yquota.verify()'), '', 'the books are right');

# A standby can do dry runs, and writes nothing.
$node->backup('backup');
$standby->init_from_backup($node, 'backup', has_streaming => 1);
$standby->start;
$node->safe_psql('work', 'SELECT count(*) FROM yquota.schedule(); SELECT yquota.acknowledge_decisions(ARRAY(SELECT decision_id FROM yquota.decision));'
	. q(SELECT yquota.request_containers('application_1_0002', '[memory-mb=1024]', 1)));
set_clock($node, 'work', '2030-01-01 00:01 UTC');
is_soon($node, 'work', marks() . ' = 1', 'another container is marked');
$node->wait_for_catchup($standby);
is($standby->safe_psql('work', q(SELECT outcome, count(*) FROM yquota.preempt_containers(dry_run => true) GROUP BY 1)), 'observed|1',
	'a dry run on a standby knows the mark');
is($standby->safe_psql('work', q(SELECT count(*) FROM yquota.preemption_state)), '3', 'a dry run on a standby knows the figures of queues');
like(($standby->psql('work', 'SELECT yquota.preempt_containers()'))[2], qr/cannot execute a round of preemption in a read-only transaction/, 'a dry run on a standby records no round');

# The server did not run for a while, which does not count.
my $pid = worker_pid($node, 'work');
$listener->quit;
$node->safe_psql('work', 'SELECT yquota.stop_worker()');
wait_until_gone($pid);
$node->restart;
set_clock($node, 'work', '2030-01-01 01:00 UTC');
is($node->safe_psql('work', q(SELECT outcome, to_char(kill_at, 'HH24:MI:SS') FROM yquota.preempt_containers(dry_run => true))),
	'observed|01:00:15', 'the time until the first round after a new start does not count as waiting');
$node->safe_psql('work', 'SELECT yquota.start_worker()');
is_soon($node, 'work', q((SELECT marked_at = '2030-01-01 01:00 UTC' FROM yquota.preemption_mark)), 'marks are moved by this time');
set_clock($node, 'work', '2030-01-01 01:00:14 UTC');
is_soon($node, 'work', round_at() . " = '2030-01-01 01:00:14 UTC'", 'from then on the time counts');
is($node->safe_psql('work', 'SELECT ' . marks()), '1', 'no container is killed before the rest of the wait is over');

# Time as a standby does not count either.
$pid = worker_pid($node, 'work');
$node->safe_psql('work', 'SELECT yquota.stop_worker()');
wait_until_gone($pid);
$node->wait_for_catchup($standby);
$node->stop('immediate');
$standby->promote;
set_clock($standby, 'work', '2030-01-01 02:00 UTC');
$standby->safe_psql('work', 'SELECT yquota.start_worker()');
is_soon($standby, 'work', q((SELECT marked_at = '2030-01-01 01:59:46 UTC' FROM yquota.preemption_mark)), 'a promoted standby goes on with the waits');
set_clock($standby, 'work', '2030-01-01 02:00:01 UTC');
$standby->safe_psql('work', 'SELECT count(*) FROM yquota.preempt_containers()');
is($standby->safe_psql('work', 'SELECT exit_status, count(*) FROM yquota.charge GROUP BY 1'), '-102|3', 'preempt_containers() kills a container once');
is($standby->safe_psql('work', 'SELECT * FROM yquota.verify()'), '', 'the books of the promoted standby are right, too');

# Applications past their lifetime are ended one after the other, unless a setting disables that.
$standby->safe_psql('work', q(UPDATE yquota.scheduler_setting SET end_expired_applications = false;
	SELECT yquota.update_application_lifetime('application_1_0001', 60), yquota.update_application_lifetime('application_1_0002', 60)));
set_clock($standby, 'work', '2030-01-01 03:00 UTC');
is_soon($standby, 'work', mark() . " = '2030-01-01 03:00 UTC'", 'the clock is at the end of two lifetimes');
is($standby->safe_psql('work', 'SELECT count(*) FROM yquota.expired_applications()'), '2', 'containers past the lifetime are left to the resource manager');
$standby->safe_psql('work', 'UPDATE yquota.scheduler_setting SET end_expired_applications = NULL');
set_clock($standby, 'work', '2030-01-01 03:00:10 UTC');
is_soon($standby, 'work', q((SELECT count(*) = 2 FROM yquota.application WHERE state = 'KILLED') AND ) . containers() . ' = 0', 'applications end with their containers');
is($standby->safe_psql('work', 'SELECT count(*) FROM yquota.charge WHERE exit_status = -100'), '7', 'the ended containers were not preempted');

done_testing();
