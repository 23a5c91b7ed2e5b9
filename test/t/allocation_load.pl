# Many clients report nodes, also the same nodes at the same time. Others request containers, release them and send
# the ends of containers. In the meantime counters are compacted, and clients are killed.
#
# At no instant may a node, a queue or a user have more than its limit. In the end each decided container has
# started once. No requested container is lost or given twice. Containers that no client was told of can still be
# fetched, and verify() finds no fault.
#
# ALLOCATION_SEED repeats the calls of clients, but not their timing.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use Client;
use PostgreSQL::Test::Utils;
use SchedulerLoad;
use Soak;
use Test::More;
use WorkerNode;

use constant { STATEMENTS_A_ROUND => 160, TOGETHER_A_ROUND => 5 };

my $seed = $ENV{ALLOCATION_SEED} // int(rand 1_000_000_000);
note("ALLOCATION_SEED=$seed");
srand($seed);

my $node = new_node('allocation_load', 'max_connections = 40', 'log_statement = none', 'fsync = off');
my $database = 'cluster';
my $load = SchedulerLoad->new($node, $database);
my $kills = 0;

# Kill a client in the middle of a statement, which its server process still finishes.
sub kill_client
{
	my ($slot) = @_;

	kill 'KILL', $slot->{client}{pid};
	$load->note_outcome($slot, { lost => 1 }) if $slot->{client}->is_busy;
	$slot->{client}->close;
	$kills++;
	wait_until_gone($slot->{backend});
	$load->connect_client($slot->{number});
	return;
}

# A node becomes empty, and all clients report it at the same time.
sub report_together
{
	my $name = 'n' . (1 + int rand SchedulerLoad::NODES);

	$load->{slots}[0]{client}->run("INSERT INTO yquota.container_event (event, container_id, occurred_at) SELECT 'CONTAINER_FINISH', container_id, greatest(started_at, yquota.clock()) FROM yquota.container WHERE node = '$name'");
	$load->send($_, SchedulerLoad::reporting("'$name'")) foreach @{ $load->{slots} };
	$load->drain;
	return;
}

$load->connect_clients;
my $rounds = 0;
my @beyond;
for (; soak_goes_on($rounds, 8, 400); $rounds++)
{
	$load->work(STATEMENTS_A_ROUND, sub { my ($slot, $left) = @_; kill_client($slot) if $left % 80 == 40; return 1; });
	# clients continue to work while the limits are checked
	$load->send($_) foreach @{ $load->{slots} };
	push @beyond, $load->exceeded;
	$load->drain;
	report_together() foreach 1 .. TOGETHER_A_ROUND;
	push @beyond, $load->exceeded;
	last if @beyond;
}
is(join("\n", @beyond), '', 'no node, queue or user has ever more than it may have');
is(join("\n", @{ $load->{unexpected} }), '', 'no statement fails, and no deadlock occurs');
is($load->differences, '', 'every requested container still waits or started exactly once, and its client knows of it or can ask');
is($node->safe_psql($database, 'SELECT * FROM yquota.verify()'), '', 'the books are proven');
cmp_ok($load->{containers}, '>', 20 * $rounds, 'containers started');
$load->close_clients;

# A cycle stays open, while events of the same queues, nodes and applications arrive.
$node->safe_psql($database, "SELECT yquota.request_containers('$load->{applications}[0]', '[memory-mb=1024,vcores=1]', 5, priority => 1000000)");
$node->safe_psql($database, 'SELECT yquota.release_containers(ARRAY(SELECT container_id FROM yquota.container ORDER BY container_id OFFSET 8))');
my $cycle = Client->new($node, $database);
like($cycle->run("BEGIN;\nSELECT decision, node FROM yquota.schedule()"), qr/^allocated\|/m, 'a cycle has decided, and is not over');
my $event = 'INSERT INTO yquota.container_event (event, container_id, occurred_at';
is($node->safe_psql($database, <<"SQL"), '', 'no event waits for the open cycle');
SET lock_timeout = '1s';
$event, project, application_id, username, queue, node, allocation)
VALUES ('CONTAINER_START', 'outside', yquota.clock(), 'p', '$load->{applications}[0]', 'u0', 'root.a.x', 'n1', '[memory-mb=1,vcores=1]');
$event, allocation) VALUES ('CONTAINER_UPDATE', 'outside', yquota.clock(), '[memory-mb=2,vcores=1]');
$event) SELECT 'CONTAINER_FINISH', container_id, yquota.clock() FROM yquota.container WHERE started_at <= yquota.clock();
SQL
$cycle->run('COMMIT');
$cycle->close;
is($node->safe_psql($database, 'SELECT * FROM yquota.verify()'), '', 'both events are counted');

note("$load->{statements} statements, $load->{containers} containers, $kills kills of clients");
$node->stop;
done_testing();
