#!/usr/bin/env perl
#
# The test sends any part of the sent events again: in any order, split into any statements, some of it several
# times. It does so during the stream and after it, before and after history was sealed or archived. Afterwards
# only the log may show a difference: no row of ledger and containers changes, and no digit of a balance. Where
# order matters to the feed, no event is refused either.
#
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Test::More;
use Trial;

my ($seed, $histories) = Trial::plan_run(15);
my ($replays, $repeated) = (0, 0);

# Everything that must not change, as text.
my $state = join(' UNION ALL ', map { "SELECT '$_' AS name, t::text AS row FROM yquota.$_ AS t" }
	qw(project_balance charge container container_change queue_usage node_usage project_usage));

sub state_of
{
	my ($trial) = @_;

	return $trial->{session}->run("SELECT name, row FROM ($state) AS s ORDER BY 1, 2");
}

# Do maintenance in between, which changes no figure either.
sub keep_house
{
	my ($trial) = @_;

	$trial->log_sql($trial->{session}, History::pick(
		'SELECT yquota_internal.compact_counters()', 'SELECT yquota.quota_compute()', 'SELECT yquota.seal_history()'));
	return;
}

# Return statements that send a part of the events again.
sub replay_statements
{
	my @part = grep { History::chance(History::pick(0.1, 0.5, 1)) } @_;
	my $most = History::pick(1, 4, 1000);
	my $sql = '';

	push @part, map { History::pick(@part) } 1 .. @part / 2 if @part && History::chance(0.5);
	@part = History::pick(sub { History::shuffle(@part) }, sub { reverse @part }, sub { @part })->();
	$repeated += @part;
	while (@part)
	{
		my $statement = History::statement(splice @part, 0, History::between(1, $most));

		$statement .= ";\n" if $statement !~ /\n\z/;
		$sql .= History::chance(0.2) ? "BEGIN;\nSAVEPOINT a;\n${statement}ROLLBACK TO a;\n${statement}COMMIT;\n" : $statement;
	}
	return $sql;
}

# Send a part of the events again, and compare the states before and after.
sub replay
{
	my ($trial, @events) = @_;
	my $before = state_of($trial);

	foreach (1 .. History::between(1, 3))
	{
		my $sql = replay_statements(@events) or next;

		$trial->deliver($trial->{session}, $sql, @events);
		keep_house($trial) if History::chance(0.3);
		$replays++;
	}
	my $after = state_of($trial);

	$trial->mismatch("a replay changed:\n" . changed($before, $after)) if $after ne $before;
	return;
}

sub changed
{
	my ($before, $after) = @_;
	my %is_before = map { $_ => 1 } split /\n/, $before;
	my %is_after = map { $_ => 1 } split /\n/, $after;

	return join("\n", (map { "- $_" } grep { !$is_after{$_} } sort keys %is_before), map { "+ $_" } grep { !$is_before{$_} } sort keys %is_after);
}

# Test that events of archived containers are refused, because the server cannot know whether they
# are new.
sub replay_archived
{
	my ($trial, @events) = @_;
	my $session = $trial->{session};

	$trial->log_sql($session, $_) foreach
	  'CREATE TABLE IF NOT EXISTS ledger (LIKE yquota.charge)',
	  'CREATE TABLE IF NOT EXISTS log (LIKE yquota.container_event)',
	  'SELECT yquota.quota_compute()',
	  'SELECT yquota.seal_history()',
	  "SELECT yquota.archive('ledger', 'infinity')",
	  "SELECT yquota.archive('log', 'infinity')",
	  "SET yquota.on_bad_event = 'set_aside'";
	replay($trial, @events);
	my $others = $session->run("SELECT DISTINCT sqlstate FROM yquota.event_reject WHERE sqlstate <> '22023'");

	$trial->mismatch("after archiving, set aside with $others") if $others ne '';
	$trial->log_sql($session, 'DELETE FROM yquota.event_reject');
	$trial->check_balances('after replaying what is archived');
	return;
}

sub play
{
	my ($trial) = @_;
	my $history = $trial->{history};
	my @events = sort { $a->{at} <=> $b->{at} || $a->{id} cmp $b->{id} } @{ $history->{events} };
	my $waits = History::chance(0.4);
	my $archives = $trial->{has_archive} //= History::chance(0.3);
	my @sent;

	$trial->change($_) foreach @{ $history->{changes} };
	$trial->report_outage($_) foreach @{ $history->{outages} };
	$trial->log_sql($trial->{session}, 'SET yquota.on_bad_event = ' . ($waits ? 'set_aside' : 'error'));
	@events = History::shuffle(@events) if $waits;
	$trial->set_clock($history->{to}) if $waits;
	while (@events)
	{
		my @part = splice @events, 0, History::between(1, scalar @events);

		$trial->set_clock($part[-1]{at}) if !$waits && $part[-1]{at} > $trial->{clock};
		$trial->deliver($trial->{session}, History::statement(@part), @part);
		push @sent, @part;
		replay($trial, @sent);
		return if $trial->{mismatches};
	}
	$trial->set_clock($history->{to});
	replay($trial, @sent);
	my $left = $trial->{session}->run('SELECT * FROM yquota.event_reject');

	$trial->mismatch("set aside although everything is known: $left") if $left ne '';
	$archives ? $trial->check_balances('at the end') : $trial->check('at the end');
	replay_archived($trial, @sent) if $archives && !$trial->{mismatches} && History::chance(0.5);
	return;
}

is(Trial::run_histories($seed, $histories, \&play), 0, "$histories histories of which parts are sent again");
note("$replays replays of $repeated events");
done_testing();
