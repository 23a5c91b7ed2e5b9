#!/usr/bin/env perl
#
# Timelines are known beforehand; the stream arrives in any order, in any
# statements and transactions, more than once.  Outages are reported before
# and after the containers they touch have been settled.  History is sealed at
# any time, and in some databases archived between two histories.
#
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Test::More;
use Trial;

my ($seed, $histories) = Trial::plan_run(170);

# The events in an order in which they may arrive, and whether some of them
# must wait for others.
sub arrange
{
	my ($history) = @_;
	my @containers = map { [@$_] } containers(@{ $history->{events} });
	my @events = map { @$_ } @containers;

	return History::pick(
		sub { (0, sort { $a->{at} <=> $b->{at} } @events) },
		sub { (0, map { @$_ } History::shuffle(@containers)) },
		sub { (0, map({ shift @$_ } @containers), History::shuffle(map { @$_ } @containers)) },
		sub { (1, reverse sort { $a->{at} <=> $b->{at} } @events) },
		sub { (1, History::shuffle(@events)) },
		sub { (1, History::shuffle(@events)) })->();
}

# The events of each container, still in order of time.
sub containers
{
	my %events;

	push @{ $events{ $_->{id} } }, $_ foreach @_;
	return map { $events{$_} } sort keys %events;
}

# Copies of events, each somewhere after its original, and some QUOTA_COMPUTE.
sub repeat
{
	my ($history, @events) = @_;

	return @events if History::chance(0.4);
	foreach my $i (reverse 0 .. $#events)
	{
		next unless History::chance(0.3);
		splice @events, History::between($i + 1, scalar @events), 0, $events[$i];
	}
	foreach (1 .. History::pick(0, 0, 1, 3))
	{
		splice @events, rand(@events + 1), 0, { event => 'COMPUTE', at => $history->instant };
	}
	push @events, @events if History::chance(0.2);
	return @events;
}

# Cuts the events into statements.
sub cut
{
	my @events = @_;
	my $most = History::pick(1, 3, 8, 1000);
	my @statements;

	push @statements, [ splice @events, 0, History::between(1, $most) ] while @events;
	return @statements;
}

# Transactions around statements: what is rolled back is sent again.
sub in_transactions
{
	my @statements = map { [ History::statement(@$_), @$_ ] } @_;
	my @transactions;

	while (@statements)
	{
		my @group = splice @statements, 0, History::between(1, 4);
		my $sql = join('', map { $_->[0] =~ /\n\z/ ? $_->[0] : "$_->[0];\n" } @group);
		my @events = map { my (undef, @rest) = @$_; @rest } @group;
		my $level = History::pick('READ COMMITTED', 'REPEATABLE READ', 'SERIALIZABLE');

		$sql = History::pick(
			sub { $sql },
			sub { "BEGIN ISOLATION LEVEL $level;\n${sql}COMMIT;\n" },
			sub { "BEGIN;\nSELECT count(*) FROM yquota.project_balance;\n${sql}ROLLBACK;\n$sql" },
			sub { "BEGIN ISOLATION LEVEL $level;\nSAVEPOINT a;\n${sql}ROLLBACK TO a;\n${sql}RELEASE a;\nCOMMIT;\n" })->();
		push @transactions, [ $sql, @events ];
	}
	return @transactions;
}

# What has been archived is not told by reports any more; the books still prove
# themselves, and balances stay.
sub archive
{
	my ($trial) = @_;

	$trial->log_sql($trial->{session}, $_) foreach
	  'CREATE TABLE IF NOT EXISTS ledger (LIKE yquota.charge)',
	  'CREATE TABLE IF NOT EXISTS log (LIKE yquota.container_event)',
	  'SELECT yquota.quota_compute()',
	  History::pick('SELECT yquota.seal_history()', 'SELECT 1'),
	  "SELECT yquota.archive('ledger', 'infinity')",
	  "SELECT yquota.archive('log', 'infinity')";
	$trial->check_balances('after archiving');
	return;
}

sub play
{
	my ($trial) = @_;
	my $history = $trial->{history};
	my $archives = $trial->{has_archive} //= History::chance(0.4);
	my ($waits, @events) = arrange($history);
	my @late = grep { History::chance(0.5) || !$trial->report_outage($_) && 0 } @{ $history->{outages} };
	my @folds = map { int rand 20 } 1 .. History::pick(0, 0, 2);

	$trial->change($_) foreach @{ $history->{changes} };
	$trial->set_clock($history->{to});
	$trial->log_sql($trial->{session},
		'SET yquota.on_bad_event = ' . ($waits || History::chance(0.5) ? 'set_aside' : 'error'));
	foreach my $transaction (in_transactions(cut(repeat($history, @events))))
	{
		my ($sql, @brought) = @$transaction;

		$trial->deliver($trial->{session}, $sql, @brought);
		$trial->report_outage(shift @late) if @late && History::chance(0.2);
		$trial->log_sql($trial->{session}, 'SELECT yquota_internal.fold_counters()')
		  if grep { $_ == 0 } @folds;
		$_-- foreach @folds;
		$trial->log_sql($trial->{session}, 'SELECT yquota.seal_history()') if History::chance(0.05);
	}
	$trial->report_outage($_) foreach @late;
	$archives ? $trial->check_balances('after the stream') : $trial->check('after the stream');
	return if $trial->{mismatches};
	$trial->log_sql($trial->{session}, 'SELECT yquota_internal.fold_counters()');
	$trial->check_balances('after folding');
	archive($trial) if $archives && History::chance(0.5);
	return;
}

is(Trial::run_histories($seed, $histories, \&play), 0, "$histories histories in any order of arrival");
done_testing();
