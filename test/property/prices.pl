#!/usr/bin/env perl
#
# The test checks only the computation of prices: the cost of random allocations over random intervals and per second,
# and their dominant resource. The test asks sessions that have followed every change, and new sessions.
#
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Test::More;
use Trial;

my ($seed, $histories) = Trial::plan_run(20);

# Return a question as SQL, and its answer.
sub question
{
	my ($trial) = @_;
	my ($history, $model) = @$trial{qw(history model)};
	my ($from, $to) = sort { $a <=> $b } $history->instant, $history->instant;
	my %held = (
		id => 'asked', event => 'START',
		project => History::pick(@{ $history->{projects} }),
		username => History::pick(@{ $history->{users} }),
		queue => History::pick(@{ $history->{queues} }),
		label => History::pick(undef, grep { $_ ne '' } @{ $history->{labels} }),
		application => History::pick(@{ $history->{applications} }),
		execution_type => History::pick('GUARANTEED', 'OPPORTUNISTIC'),
		allocation => History::random_allocation(),
		is_running => History::pick(0, 1));

	$from -= int rand(3 * History::DAY) if History::chance(0.1);
	$model->{container}{asked} = { START => { %held, at => $from }, FINISH => { at => $to }, update => {} };
	my ($row) = grep { $_->[0] < $_->[1] } $model->settled('asked', $to);
	my (undef, undef, $cost, $dominant) = @{ $row || [ 0, 0, Math::BigInt->new(0), undef ] };
	Model::note_wait(\%held, $from);
	my ($rate) = $model->rate(\%held, $to);
	my $waiting_factor = defined $held{waits_since} ? sprintf('%.6f', $model->waiting_factor(\%held)->numify / 1_000_000) : undef;
	delete $model->{container}{asked};
	delete $model->{known}{pieces}{asked};

	my $factors = sprintf('yquota_internal.factor_names(%s)',
		join(', ', map { History::quoted($_) } @held{qw(project application username queue)}, undef, undef, $held{execution_type}, $waiting_factor, $held{label}));
	my $what = History::quoted(History::allocation_text($held{allocation})) . ", $factors";
	my ($since, $till) = map { History::quoted(History::timestamp($_)) } $from, $to;

	return (
		"SELECT trim_scale(yquota_internal.accrued($what, $since, $till)), "
		  . "yquota_internal.dominant($what, $since, $till), trim_scale(yquota_internal.rate($what, $till))",
		join('|', Model::text($cost), defined $dominant ? $dominant : '', Model::text($rate * History::SECOND)));
}

sub ask
{
	my ($trial, $session) = @_;

	foreach (1 .. 20)
	{
		my ($sql, $expected) = question($trial);
		my $found = $session->run($sql);

		chomp $found;
		$trial->mismatch("$sql: expected $expected, found $found") if $found ne $expected;
	}
	return;
}

sub play
{
	my ($trial) = @_;
	my $history = $trial->{history};

	foreach my $change (@{ $history->{changes} })
	{
		$trial->change($change);
		ask($trial, $trial->{session}) if History::chance(0.1);
	}
	$trial->report_outage($_) foreach @{ $history->{outages} };
	ask($trial, $trial->{session});
	$trial->set_clock($history->{to});
	if (History::chance(0.3))
	{
		my $session = Session->new($trial->{database});

		ask($trial, $session);
		$session->close;
	}
	return;
}

is(Trial::run_histories($seed, $histories, \&play), 0, "$histories histories of prices");
done_testing();
