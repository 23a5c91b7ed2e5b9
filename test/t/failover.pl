# The primary is killed under load, and its standby takes over. This repeats for as many rounds as the test runs: the
# new primary gets a standby and is killed, too.
#
# In synchronous replication no acknowledged event is lost. In asynchronous replication the standby was cut off, and
# feed_status shows which events are missing. Sending the driver's journal again, in any order, restores them. In
# both cases the last primary's prices are in force at once. The worker starts, and makes one outage of the time in
# between. Every amount equals the driver's own computation (Driver.pm, Books.pm).
#
# FAILOVER_SEED repeats the load, but not its timing.

use strict;
use warnings;

use Driver;
use File::Path qw(remove_tree);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Soak;
use Test::More;
use Time::HiRes qw(time sleep);
use WorkerNode;

use constant { LIVE_CLIENTS => 5, MOVED_CLIENTS => 3, ROUNDS_PER_DATABASE => 6, AWAY_S => 0.5 };

my $seed = $ENV{FAILOVER_SEED} // int(rand 1_000_000_000);
my (%total, @drivers);
my ($generation, $nodes) = (0, 0);

note("FAILOVER_SEED=$seed");
srand($seed);

my $primary = new_node(
	'node0',
	"shared_preload_libraries = 'yquota'",
	"yquota.databases = 'live, moved'",
	"yquota.compute_interval = '40ms'",
	"yquota.price_interval = '60ms'",
	"yquota.price_lead = '30ms'",
	"yquota.outage_threshold = '300ms'",
	'log_statement = none');
my $journals = $PostgreSQL::Test::Utils::tmp_check;

sub begin
{
	my $journal = "$journals/failover_journal_" . ++$generation;

	@drivers = (
		Driver->new($primary, 'live', "${journal}_live", LIVE_CLIENTS, undef),
		Driver->new($primary, 'moved', "${journal}_moved", MOVED_CLIENTS, 1_900_000_000 * History::SECOND));
	return;
}

sub end
{
	$_->finish(\%total) foreach @drivers;
	@drivers = ();
	return;
}

sub new_standby
{
	my $standby = PostgreSQL::Test::Cluster->new('node' . ++$nodes);
	my $backup = 'for_' . $standby->name;

	$primary->backup($backup);
	$standby->init_from_backup($primary, $backup, has_streaming => 1);
	$standby->start;
	remove_tree($primary->backup_dir . "/$backup");
	return $standby;
}

# Wait until all outcomes of the load are known, and start new load.
sub make_load
{
	$_->{most} += 120 foreach @drivers;
	Driver::pump(0.5 + rand 0.5, 1, @drivers);
	return;
}

sub outages
{
	my ($driver) = @_;

	return $primary->safe_psql($driver->{database}, 'SELECT count(*) FROM yquota.outage');
}

# Kill the primary and let the standby take over. Return for each driver the first prices that the
# new primary shows.
sub fail_over
{
	my ($standby) = @_;
	my $old = $primary;
	my @gone = server_pids($old);

	$old->kill9;
	Driver::pump(0.05, 1, @drivers);
	Driver::drain(@drivers);
	wait_until_gone(@gone);
	sleep AWAY_S;
	$standby->promote;
	my @prices = map { [ split /\n/, $standby->safe_psql($_->{database}, Books::current_prices()) ] } @drivers;

	$primary = $standby;
	$_->move($primary) foreach @drivers;
	$old->clean_node;
	return @prices;
}

# Test that all is exact after a new primary has taken over and all statements were sent again.
sub is_exact
{
	my ($name, @outages_before) = @_;
	my (@workers, @lines);

	foreach my $driver (@drivers)
	{
		push @workers, $driver->{database} if !$driver->has_worker;
		push @lines, $driver->wrong;
	}
	is_deeply(\@workers, [], "$name: the worker starts on the new primary");
	is(join("\n", @lines), '', "$name: every event is charged once, every balance is exact");
	is(outages($drivers[0]) - $outages_before[0], 1, "$name: the time without a primary became one outage");
	cmp_ok(outages($drivers[1]) - $outages_before[1], '<=', 1, "$name: by a clock that stood still there is no outage");
	return;
}

sub prices_are_right
{
	my ($name, @prices) = @_;

	is(join("\n", map { $drivers[$_]{books}->wrong_prices(@{ $prices[$_] }) } 0 .. $#drivers),
		'', "$name: the last computed prices are in force at once");
	return;
}

# Case 1: the standby has all acknowledged events.
sub synchronous
{
	my ($name) = @_;
	my $standby = new_standby();

	make_synchronous($primary, $standby);
	make_load();
	my @outages = map { outages($_) } @drivers;
	my @prices = fail_over($standby);

	is(join("\n", map { $_->recover } @drivers), '', "$name: every acknowledged statement is there as a whole");
	prices_are_right($name, @prices);
	$_->connect foreach @drivers;
	Driver::pump(0, 0, @drivers);
	is_exact($name, @outages);
	return;
}

# Case 2: the standby lacks the events that were acknowledged last.
sub asynchronous
{
	my ($name) = @_;
	my $standby = new_standby();

	make_load();
	Driver::drain(@drivers);
	$primary->wait_for_catchup($standby, 'replay', $primary->lsn('flush'));
	$standby->safe_psql('postgres', "ALTER SYSTEM SET primary_conninfo = ''");
	$standby->reload;
	$primary->poll_query_until('postgres', 'SELECT count(*) = 0 FROM pg_stat_replication') or die "the standby is not cut off\n";
	my @outages = map { outages($_) } @drivers;

	make_load();
	Driver::drain(@drivers);
	Driver::pump(0, 0, @drivers);
	$_->say_hello foreach @drivers;
	Driver::pump(0, 0, @drivers);
	my @prices = fail_over($standby);
	$standby->safe_psql('postgres', 'ALTER SYSTEM RESET primary_conninfo');

	my @lost = map { $_->lose } @drivers;
	prices_are_right($name, @prices);
	foreach my $i (0 .. $#drivers)
	{
		my $lost = $lost[$i];

		cmp_ok($lost->{events}, '>', 0, "$name: events were lost");
		is(join("\n", @{ $lost->{unseen} }), '', "$name: feed_status shows for every source that its last events are missing");
		$total{"lost_$_"} += $lost->{$_} foreach qw(events points);
	}
	$_->connect foreach @drivers;
	$_->replay foreach @drivers;
	Driver::pump(0, 0, @drivers);
	is_exact($name, @outages);
	return;
}

my $rounds = 0;
while (soak_goes_on($rounds, 2, 20))
{
	end() if $rounds && $rounds % ROUNDS_PER_DATABASE == 0;
	begin() if !@drivers;
	$rounds % 2 ? asynchronous("round " . ($rounds + 1) . ', asynchronous') : synchronous("round " . ($rounds + 1) . ', synchronous');
	$rounds++;
	last if !Test::More->builder->is_passing;
}
end();
note("$rounds failovers");
note(join ', ', map { "$total{$_} $_" } sort keys %total);
$primary->stop;
done_testing();
