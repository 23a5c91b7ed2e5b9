# The example of a local scheduler (docs/examples/local_scheduler.sql) works: node lists and leases,
# container numbers, requests that are partly served, and refusals. The simulation of many local
# schedulers beside central allocation gives the results that docs/opportunistic.md shows.

use strict;
use warnings;

use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('local_schedulers');
$node->init;
$node->start;

sub run_file
{
	my ($database, $file, @arguments) = @_;
	my ($output, $errors);

	$node->safe_psql('postgres', "CREATE DATABASE $database");
	IPC::Run::run([ 'psql', '-XAqt', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr($database), @arguments, '-f', $file ], '>', \$output, '2>', \$errors);
	is($errors, '', "$file runs");
	return $output;
}

#
# The whole round
#
$node->safe_psql('template1', 'CREATE EXTENSION IF NOT EXISTS yquota');
run_file('scheduler', 'docs/examples/local_scheduler.sql');

sub query
{
	my ($sql) = @_;

	return $node->safe_psql('scheduler', "SET timezone = 'UTC'; $sql");
}

# Return the nodes of the containers that a heartbeat gives, and the last part of the containers'
# ids.
sub heartbeat
{
	my ($ask, $id, $type) = @_;
	my $requests =
	  defined $ask
	  ? sprintf("ARRAY[ROW('%s', '[memory-mb=1000,vcores=1]', %d, 1, %d, true, NULL, %s, NULL)]::yquota.container_request[]", @$ask, $id, $type // "'OPPORTUNISTIC'")
	  : "'{}'";

	return query("SELECT concat_ws('|', h.node, h.allocation, h.locality, right(h.container_id, 2), h.reason) FROM local_scheduler.heartbeat('agent', 'application_1_0001', $requests) AS h") =~ s/\n/ /gr;
}

query(q{
	SELECT yquota.set_clock('2026-03-02 10:00+00');
	INSERT INTO yquota.project (name, quota_mode, on_exhausted) VALUES ('p', 'PREPAID', 'stop');
	INSERT INTO yquota.quota_grant (project, amount, reason) VALUES ('p', 100, 'start');
	INSERT INTO yquota.queue (path, capacity) VALUES ('root', NULL), ('root.default', '100');
	INSERT INTO yquota.scheduler_setting (maximum_am_resource_percent, opportunistic_allocation_enabled, distributed_scheduling_enabled, amrmproxy_enabled, opportunistic_queue_capacity)
	VALUES (1, true, true, true, 10);
	INSERT INTO yquota.node (name, rack, total) SELECT 'n' || n, '/r', '[memory-mb=4096,vcores=4]' FROM generate_series(1, 3) AS n;
	SELECT yquota.submit_application('application_1_0001', 'ann', '{}', 'default', project => 'p', unmanaged => true);
	SELECT yquota.report_nodes(ARRAY(SELECT ROW('n' || n, 0, 0, 0, n, NULL, 10, NULL, NULL, NULL)::yquota.node_report FROM generate_series(1, 3) AS n));
});
is(heartbeat([ '*', 5 ], 1), 'n1|[memory-mb=1024,vcores=1]|OFF_SWITCH|75 n2|[memory-mb=1024,vcores=1]|OFF_SWITCH|74 n3|[memory-mb=1024,vcores=1]|OFF_SWITCH|73',
	'each node of the list gets one container');
is(heartbeat(), 'n1|[memory-mb=1024,vcores=1]|OFF_SWITCH|72 n2|[memory-mb=1024,vcores=1]|OFF_SWITCH|71', 'the rest is allocated at the next heartbeat, with the next numbers');
is(heartbeat(), '', 'then the local scheduler allocates no more containers');
is(query('SELECT count(*), count(*) FILTER (WHERE is_running) FROM yquota.container'), '5|0', 'yquota knows the containers, and that they do not run');
query(q{SELECT yquota.set_clock('2026-03-02 10:05+00'); SELECT yquota.report_nodes(ARRAY[ROW('n3', 0, 0, 0, 0, NULL, 10, NULL, NULL, NULL)]::yquota.node_report[])});
is(heartbeat([ '*', 1 ], 2), 'n3|[memory-mb=1024,vcores=1]|OFF_SWITCH|70', 'a new list has another order, but the same epoch');
is(query('SELECT epoch, count(*) OVER () FROM yquota.node_lease'), '2|1', 'a local scheduler has one lease');
query(q{SELECT yquota.set_clock('2026-03-02 10:20+00')});
is(heartbeat([ '*', 1 ], 3), 'n3|[memory-mb=1024,vcores=1]|OFF_SWITCH|75', 'after the lease has expired there is another epoch, and the numbers begin at the start');
is(query('SELECT max(epoch) FROM yquota.node_lease'), '3', 'the new epoch has the next number');
query(q{INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES ('CONTAINER_START', 'x', yquota.clock(), 'p', '[vcores=100]');
	SELECT yquota.set_clock('2026-03-02 10:20:02+00')});
is(heartbeat([ '*', 1 ], 4), 'n3|[memory-mb=1024,vcores=1]|OFF_SWITCH|74|project_quota: p', 'without credit the container is refused, and does not start');
is(heartbeat([ '*', 2 ], 5, 'NULL'), '', 'GUARANTEED containers are not the local scheduler\'s');
is(query(q{SELECT execution_type, count FROM yquota.resource_request}), 'GUARANTEED|2', 'the local scheduler passes on the requests for GUARANTEED containers');
is(query('SELECT count(*) FROM yquota.verify()'), '0', 'the books are right');

#
# Many local schedulers beside central allocation
#
my %outcome;
my $problems = 0;
foreach my $line (split /\n/, run_file('simulation', 'docs/examples/scheduler_simulation.sql', '-v', 'schedulers=400'))
{
	my ($mode, @figures) = split /\|/, $line;

	$outcome{$mode} = {};
	@{ $outcome{$mode} }{qw(given started queued rejected nodes longest)} = @figures if @figures;
	$problems++ if $line =~ /^[1-9]\d*$/;
}
my ($local, $central) = @outcome{qw(distributed central)};
is($problems, 0, 'verify() finds no fault in either mode');
is("$local->{given} $central->{given}", '1200 1200', 'both allocate as many containers as were requested');
cmp_ok($local->{rejected}, '>', $local->{given} / 2, 'nodes reject most containers of local schedulers that all use one list');
is($central->{rejected}, 0, 'nodes reject no container that is allocated centrally');
cmp_ok($central->{started}, '>', 5 * $local->{started}, 'with central allocation, more containers start at once');
cmp_ok($central->{nodes}, '>', 5 * $local->{nodes}, 'with central allocation, they run on more nodes');
cmp_ok($central->{longest}, '<', $local->{longest}, 'with central allocation, the queues are shorter');

done_testing();
