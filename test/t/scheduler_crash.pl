# The server or its backends are killed while many clients schedule. Then it fails over to a synchronous standby.
#
# After each crash every container that a client was told of exists once, with its CONTAINER_START. Requested
# containers wait or have started. Acknowledged containers are not told again, and containers that no client was
# told of can be fetched. Reservations stay. No limit is exceeded, the books agree with the scheduler, and
# scheduling continues.
#
# SCHEDULER_SEED repeats the calls of clients and the order of kills, but not their exact timing.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SchedulerLoad;
use Soak;
use Test::More;
use WorkerNode;

use constant { LEAST_STATEMENTS => 150, STATEMENTS => 1_000_000 };

my $seed = $ENV{SCHEDULER_SEED} // int(rand 1_000_000_000);
note("SCHEDULER_SEED=$seed");
srand($seed);

my @kinds = qw(postmaster backend failover);
my $nodes = 0;
my $server = new_node(
	'scheduler0',
	'max_connections = 40',
	'log_statement = none',
	'restart_after_crash = on',
	"shared_preload_libraries = 'yquota'",
	"yquota.databases = 'cluster'",
	"yquota.compute_interval = '100ms'",
	"yquota.price_interval = '100ms'");
my $load = SchedulerLoad->new($server, 'cluster');

# kill_after(STATEMENTS, KILL): let clients work until they have sent so many statements, and kill
# while all are busy. Their answers are recorded.
sub kill_after
{
	my ($statements, $kill) = @_;

	$load->work(STATEMENTS, sub {
		my ($slot, $left) = @_;

		return 1 if STATEMENTS - $left < $statements || grep { !$_->{client}->is_busy } @{ $load->{slots} };
		$kill->();
		return 0;
	});
	$load->drain;
	$load->close_clients;
	return;
}

sub backends { return map { $_->{backend} } @{ $load->{slots} }; }

sub postmaster
{
	my @gone = server_pids($server);

	kill_after($_[0], sub { $server->kill9; });
	wait_until_gone(@gone);
	$server->start;
	return;
}

sub backend
{
	my @gone = backends();

	kill_after($_[0], sub { kill 'KILL', $gone[ rand @gone ]; });
	wait_until_gone(@gone);
	wait_until_up($server);
	return;
}

sub failover
{
	my $old = $server;
	my $standby = new_synchronous_standby($old, 'scheduler' . ++$nodes);
	my @gone;

	@gone = server_pids($old);
	kill_after($_[0], sub { $old->kill9; });
	wait_until_gone(@gone);
	promote_alone($standby);
	$server = $load->{node} = $standby;
	$old->clean_node;
	return;
}

my %kill = (postmaster => \&postmaster, backend => \&backend, failover => \&failover);
my $cycles = 0;
for (; soak_goes_on($cycles, 3, 30); $cycles++)
{
	my $kind = $kinds[ $cycles % @kinds ];
	my $containers = $load->{containers};

	$load->connect_clients;
	$kill{$kind}->(LEAST_STATEMENTS + int rand LEAST_STATEMENTS);
	is($load->differences, '', "cycle $cycles, $kind: every acknowledged change is there, and every request waits or was served once");
	is(join("\n", $load->exceeded), '', "cycle $cycles, $kind: no limit is exceeded");
	is($server->safe_psql('cluster', 'SELECT * FROM yquota.verify()'), '', "cycle $cycles, $kind: the books prove themselves");
	cmp_ok($load->{containers}, '>', $containers, "cycle $cycles, $kind: scheduling went on");
	last if !Test::More->builder->is_passing;
}
is(join("\n", @{ $load->{unexpected} }), '', 'no statement failed for another reason');
cmp_ok($load->{lost}, '>', 0, 'clients lost the answers of some statements');
note("$load->{statements} statements, $load->{lost} of unknown outcome, $load->{containers} containers, $cycles kills");
$server->stop;
done_testing();
