# The server is killed under load, again and again. The kill hits its postmaster, a backend during a statement, or a
# worker at a random time. Each time the server recovers from its WAL. Eight clients and two workers run, in a
# database that uses the system's clock and in one whose clock the test moves.
#
# After each recovery no acknowledged statement is lost, each statement is whole or absent, and verify() finds no
# fault. Then the statements of unknown outcome are sent again. Every container and every project owes the amount that
# the driver computes itself, to the last digit (Books.pm), and every event is counted once.
#
# CRASH_SEED repeats the order of kills and the load, but not their timing.

use strict;
use warnings;

use Driver;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Soak;
use Test::More;
use WorkerNode;

use constant { LIVE_CLIENTS => 5, MOVED_CLIENTS => 3, CYCLES_PER_DATABASE => 10 };

my @kinds = qw(postmaster backend worker);
my $seed = $ENV{CRASH_SEED} // int(rand 1_000_000_000);
my %killed = map { $_ => 0 } @kinds;
my %total;
my $generation = 0;
my @gone;

note("CRASH_SEED=$seed");
srand($seed);

my $node = new_node(
	'crash',
	'restart_after_crash = on',
	"shared_preload_libraries = 'yquota'",
	"yquota.databases = 'live, moved'",
	"yquota.compute_interval = '40ms'",
	"yquota.price_interval = '60ms'",
	"yquota.price_lead = '30ms'",
	"yquota.outage_threshold = '300ms'",
	'log_statement = none');
my @drivers;

# Create new databases and their drivers.
sub begin
{
	my $journal = $node->basedir . '/journal_' . ++$generation;

	@drivers = (
		Driver->new($node, 'live', "${journal}_live", LIVE_CLIENTS, undef),
		Driver->new($node, 'moved', "${journal}_moved", MOVED_CLIENTS, 1_900_000_000 * History::SECOND));
	is_deeply([ map { $_->has_worker } @drivers ], [ 1, 1 ], 'both databases have a worker');
	return;
}

sub end
{
	$_->finish(\%total) foreach @drivers;
	@drivers = ();
	return;
}

# kill_one(KIND): kill a process of that kind, and return whether there was one.
sub kill_one
{
	my ($kind) = @_;
	my $driver = History::pick(@drivers);

	@gone = map { $_->{backend} } map { @{ $_->{clients} } } @drivers;
	if ($kind eq 'postmaster')
	{
		push @gone, server_pids($node);
		Driver::pump(rand(0.05), 1, @drivers);
		$node->kill9;
		return 1;
	}
	my @backends =
	    $kind eq 'backend'
	  ? map { $_->{backend} } grep { $_->is_busy } map { @{ $_->{clients} } } @drivers
	  : split ' ', worker_pid($node, $driver->{database});

	Driver::pump(rand(0.05), 1, @drivers) if $kind eq 'worker';
	return @backends && kill 'KILL', History::pick(@backends);
}

sub bring_back
{
	my ($kind) = @_;

	wait_until_gone(@gone);
	$node->start if $kind eq 'postmaster';
	wait_until_up($node);
	return;
}

sub cycle
{
	my ($number, $kind) = @_;
	my %lines;

	$_->{most} += is_soak() ? 250 : 60 foreach @drivers;
	Driver::pump(0.3 + rand(is_soak() ? 2 : 0.5), 1, @drivers);
	Driver::pump(0.001, 1, @drivers) until kill_one($kind);
	$killed{$kind}++;
	Driver::pump(0.05, 1, @drivers);
	Driver::drain(@drivers);
	$_->disconnect foreach @drivers;
	bring_back($kind);

	foreach my $driver (@drivers)
	{
		push @{ $lines{recovered} }, $driver->recover;
		push @{ $lines{proven} }, split /\n/, $node->safe_psql($driver->{database}, 'SELECT * FROM yquota.verify()');
		$driver->connect;
	}
	Driver::pump(0, 0, @drivers);
	foreach my $driver (@drivers)
	{
		push @{ $lines{worker} }, 'no worker' if !$driver->has_worker;
		push @{ $lines{exact} }, $driver->wrong;
	}
	is(join("\n", @{ $lines{recovered} }), '', "cycle $number, $kind killed: every acknowledged statement is there as a whole");
	is(join("\n", @{ $lines{proven} }), '', "cycle $number: the books prove themselves");
	is(join("\n", @{ $lines{worker} // [] }), '', "cycle $number: workers are back");
	is(join("\n", @{ $lines{exact} }), '', "cycle $number: every event is charged once, every balance is exact");
	return;
}

my $cycles = 0;
while (soak_goes_on($cycles, 5, 100))
{
	end() if $cycles && $cycles % CYCLES_PER_DATABASE == 0;
	begin() if !@drivers;
	cycle($cycles + 1, $kinds[ $cycles % @kinds ]);
	$cycles++;
	last if !Test::More->builder->is_passing;
}
end();
note(sprintf '%d cycles: %s killed', $cycles, join ', ', map { "$killed{$_} times a $_" } @kinds);
note(join ', ', map { "$total{$_} $_" } sort keys %total);
cmp_ok($total{unknown}, '>', 0, 'clients lost the answers of some statements');
$node->stop;
done_testing();
