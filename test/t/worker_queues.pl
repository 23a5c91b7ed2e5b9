# The worker's jobs for queues. It runs the policies that scheduler_monitor_policies names, each at its own interval
# of the clock, and no others. It also has tasks for the scheduler.

use strict;
use warnings;

use Test::More;
use WorkerNode;

my $node = new_node('queues');

$node->safe_psql('postgres', 'CREATE DATABASE work');
start_at($node, 'work', '2030-01-01 00:00 UTC');
$node->safe_psql('work', <<~'SQL');
	INSERT INTO yquota.node (name, total) VALUES ('n', '[memory-mb=10240,vcores=10]');
	BEGIN;
	INSERT INTO yquota.queue (path, capacity, auto_create_child_queue_enabled, leaf_queue_template, auto_queue_creation_v2_enabled)
	VALUES ('root', NULL, NULL, NULL, true), ('root.m', '1w', true, '{"capacity": "60"}', NULL), ('root.f', '1w', NULL, NULL, true);
	COMMIT;
	SELECT yquota.create_queue('root.m.idle');
	SELECT yquota.create_queue('root.m.busy');
	SELECT yquota.create_queue('root.f.p.q');
	INSERT INTO yquota.application (application_id, username, queue, am_resource, priority, state, submitted_at)
	VALUES ('application_1_1', 'u', 'root.m.busy', '[memory-mb=1024]', 0, 'ACTIVE', yquota.clock());
	SELECT yquota.start_worker();
	SQL
is_soon($node, 'work', mark() . " = '2030-01-01 00:00 UTC'", 'the worker is at work');

# Queries: the leaves that have a guarantee, the created queues, and the number of queues marked for
# removal.
sub active { return q((SELECT string_agg(queue, ' ' ORDER BY queue) FROM yquota_internal.active_leaf)); }
sub paths { return q((SELECT string_agg(path, ' ' ORDER BY path) FROM yquota.queue WHERE auto_created AND path ~ 'root.f')); }
sub marked { return q((SELECT count(*) FROM yquota_internal.created_queue WHERE is_marked)); }

# Move the clock and wait until the worker has charged up to it.
sub run_to
{
	my ($at) = @_;

	set_clock($node, 'work', $at);
	is_soon($node, 'work', mark() . " = '$at'", "the worker is at $at");
	return;
}

run_to('2030-01-01 01:00 UTC');
is($node->safe_psql('work', 'SELECT ' . active()), 'root.m.idle', 'a policy that is not configured does nothing');
is($node->safe_psql('work', 'SELECT ' . paths() . ' || ' . marked()), 'root.f.p root.f.p.q0', 'an unused queue is not removed without a configured policy');

# Policies have no effect while the monitor is off.
$node->safe_psql('work', q(INSERT INTO yquota.scheduler_setting (scheduler_monitor_policies)
	VALUES ('{x.y.QueueManagementDynamicEditPolicy,x.y.AutoCreatedQueueDeletionPolicy}')));
# Inserting this setting changes the configuration, and so moves guarantees.
is($node->safe_psql('work', 'SELECT ' . active()), 'root.m.busy', 'a change of the configuration moves guarantees by itself');
$node->safe_psql('work', q(UPDATE yquota.application SET state = 'FINISHED', finished_at = yquota.clock();
	INSERT INTO yquota.application (application_id, username, queue, am_resource, priority, state, submitted_at)
	VALUES ('application_1_3', 'u', 'root.m.idle', '[memory-mb=1024]', 0, 'ACTIVE', yquota.clock())));
run_to('2030-01-01 02:00 UTC');
is($node->safe_psql('work', 'SELECT ' . active()), 'root.m.busy', 'policies do nothing while the monitor is off');

# A change of the configuration wakes the worker, and moves guarantees by itself.
$node->safe_psql('work', 'UPDATE yquota.scheduler_setting SET scheduler_monitor_enable = true');
is($node->safe_psql('work', 'SELECT ' . active()), 'root.m.idle', 'the leaf with an application gets the guarantee');
is_soon($node, 'work', marked() . ' = 1', 'the queue is marked as unused');

# Each policy runs at its own interval: 1500 milliseconds, and the expiration time.
$node->safe_psql('work', q(UPDATE yquota.application SET state = 'FINISHED', finished_at = yquota.clock() WHERE finished_at IS NULL;
	INSERT INTO yquota.application (application_id, username, queue, am_resource, priority, state, submitted_at)
	VALUES ('application_1_4', 'u', 'root.m.busy', '[memory-mb=1024]', 0, 'ACTIVE', yquota.clock())));
set_clock($node, 'work', '2030-01-01 02:00:01.499 UTC');
$node->safe_psql('work', 'SELECT pg_sleep(0.2)');
is($node->safe_psql('work', 'SELECT ' . active()), 'root.m.idle', 'the worker does not run the policy before its interval is over');
set_clock($node, 'work', '2030-01-01 02:00:01.5 UTC');
is_soon($node, 'work', active() . " = 'root.m.busy'", 'the worker runs the policy after its interval');
is($node->safe_psql('work', 'SELECT ' . paths()), 'root.f.p root.f.p.q', 'queues are not removed at this interval');
set_clock($node, 'work', '2030-01-01 02:05 UTC');
is_soon($node, 'work', paths() . " = 'root.f.p'", 'queues are removed after the expiration time');
set_clock($node, 'work', '2030-01-01 02:10 UTC');
is_soon($node, 'work', marked() . ' = 1', 'then the parent is marked as unused');
set_clock($node, 'work', '2030-01-01 02:15 UTC');
is_soon($node, 'work', paths() . ' IS NULL', 'then no created queue is left');

# The worker does not wait for a session that is changing queues.
$node->safe_psql('work', q(INSERT INTO yquota.application (application_id, username, queue, am_resource, priority, state, submitted_at)
	VALUES ('application_1_5', 'u', 'root.m.idle', '[memory-mb=1024]', 0, 'ACTIVE', yquota.clock());
	UPDATE yquota.application SET state = 'FINISHED', finished_at = yquota.clock() WHERE application_id = 'application_1_4'));
my $administrator = $node->background_psql('work');
$administrator->query_safe('BEGIN; LOCK TABLE yquota_internal.queue_status IN SHARE ROW EXCLUSIVE MODE');
set_clock($node, 'work', '2030-01-01 02:15:02 UTC');
is_soon($node, 'work', q((SELECT 'manage queues' = ANY (postponed) AND failures = 0 FROM yquota.worker_status WHERE database = 'work')),
	'the policy is postponed');
$administrator->query_safe('COMMIT');
$administrator->quit;
is_soon($node, 'work', active() . " = 'root.m.idle'", 'the postponed policy runs afterwards');
is_soon($node, 'work', q((SELECT postponed = '{}' FROM yquota.worker_status WHERE database = 'work')), 'the policy is no longer postponed');

# A decided container that no client acknowledges is released, even if no further cycle runs.
$node->safe_psql('work', q(INSERT INTO yquota.project (name) VALUES ('u')));
is($node->safe_psql('work', 'SELECT count(*) FROM yquota.schedule()'), '1', 'an application master starts');
run_to('2030-01-01 02:25:01 UTC');
$node->safe_psql('work', 'SELECT pg_sleep(0.2)');
is($node->safe_psql('work', 'SELECT count(*) FROM yquota.decision'), '1', 'the container waits to be acknowledged');
set_clock($node, 'work', '2030-01-01 02:25:12 UTC');
is_soon($node, 'work', q((SELECT count(*) = 0 FROM yquota.container) AND (SELECT count(*) = 0 FROM yquota.decision)), 'the container no longer waits to be acknowledged');
is($node->safe_psql('work', 'SELECT exit_status FROM yquota.charge'), '-100', 'the container has the exit status of one that nobody launched');

# Guarantees survive a restart of server and worker, after which nothing has to change.
my $pid = worker_pid($node, 'work');
$node->safe_psql('work', 'SELECT yquota.stop_worker()');
wait_until_gone($pid);
$node->restart;
is($node->safe_psql('work', 'SELECT ' . active()), 'root.m.idle', 'guarantees survive a restart of the server');
is($node->safe_psql('work', q(SELECT absolute_capacity FROM yquota.effective_queue WHERE queue = 'root.m.idle')), '0.3', 'the figures of the queue have the guarantee');
is($node->safe_psql('work', 'SELECT count(*) FROM yquota.manage_queues()'), '0', 'the policy has nothing to change');

$node->stop;
done_testing();
