#!/usr/bin/env perl
#
# Two feeds send halves of the stream at the same time, partly the same events and events of the same containers. In
# the meantime a third session publishes prices, factors and outages that take effect at the clock or shortly after
# it. Some take effect before the instant up to which a feed is settling at that moment. A fourth session does the
# work of the worker.
#
# Events may be ahead of the clock by less than yquota.max_clock_skew, and so may published points. The order of the
# sessions decides whether a point is refused, but the amounts must be those of the accepted points.
#
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Test::More;
use Trial;

use constant AHEAD => 4 * History::MINUTE;

my ($seed, $histories) = Trial::plan_run(15);

# Return statements and transactions that insert the events, as one text. A transaction takes containers in the order
# of their ids, so that two of them do not wait for each other. Within a single statement, yquota itself takes them in
# this order.
sub feed
{
	my @events = @_;
	my $sql = '';

	while (@events)
	{
		my @part = splice @events, 0, History::between(1, 6);
		my $level = History::pick('READ COMMITTED', 'REPEATABLE READ');

		if (History::chance(0.5))
		{
			$sql .= History::insert_statement(@part) . ";\n";
			next;
		}
		@part = sort { $a->{id} cmp $b->{id} || $a->{at} <=> $b->{at} } @part;
		my $first = History::insert_statement(splice @part, 0, History::between(1, scalar @part)) . ";\n";
		my $second = @part ? History::insert_statement(@part) . ";\n" : '';

		$sql .= History::pick(
			"BEGIN ISOLATION LEVEL $level;\n${first}SELECT pg_sleep(0.002);\n${second}COMMIT;\n",
			"BEGIN;\nSAVEPOINT a;\n${first}ROLLBACK TO a;\n$first${second}COMMIT;\n");
	}
	return $sql . "SELECT 1;\n";
}

# Run one round with all sessions at once. Return false if a session failed.
sub round
{
	my ($trial, $changes, $outages, @events) = @_;
	my @sessions = map { $trial->helper($_) } 0 .. 3;
	my @half = ([], []);
	my @published = History::shuffle(
		map({ [ History::change_statement($_), change => $_ ] } @$changes),
		map({ [ History::outage_statement($_), outage => $_ ] } @$outages));
	my $publish = join('', map { "\\echo published $_\n$published[$_][0];\n" } 0 .. $#published);
	my @sql;

	foreach my $event (@events)
	{
		my $side = int rand 2;

		push @{ $half[$side] }, $event;
		push @{ $half[ 1 - $side ] }, $event if History::chance(0.15);
	}
	@sql = (feed(@{ $half[0] }), feed(@{ $half[1] }), $publish . "SELECT 1;\n");
	push @{ $trial->{log} }, { sql => "-- feed 1:\n$sql[0]-- feed 2:\n$sql[1]-- publisher:\n$sql[2]-- together" };
	push @sql, join('', map {
		"SELECT " . History::pick('yquota.quota_compute()', 'yquota_internal.compact_counters()') . ";\n"
	} 1 .. History::pick(0, 1, 4)) . "SELECT 1;\n";
	$sessions[$_]->send($sql[$_]) foreach History::shuffle(0 .. 3);
	my @answers = map { $_->receive } @sessions;

	foreach my $number (0, 1, 3)
	{
		my $error = Session::error($answers[$number]);

		die "session $number: $error" if defined $error;
	}
	$trial->taken(@events);
	my %refused = map { /^(\d+)\n(.*)/s ? ($1 => Session::error($2)) : () } split /^published /m, $answers[2];
	foreach my $i (0 .. $#published)
	{
		my (undef, $kind, $subject) = @{ $published[$i] };

		if (defined $refused{$i})
		{
			die "publisher: $refused{$i}" if $refused{$i} !~ /^ERROR:  (?:YQ|22|23|55)/;
			push @{ $trial->{log} }, { sql => "-- refused: $published[$i][0]" };
		}
		elsif ($kind eq 'change')
		{
			History::change_model($trial->{model}, $subject);
		}
		else
		{
			History::outage_model($trial->{model}, $subject);
		}
	}
	return;
}

sub play
{
	my ($trial) = @_;
	my $history = $trial->{history};
	my @events = sort { $a->{at} <=> $b->{at} } @{ $history->{events} };
	my @changes = sort { $a->[1] <=> $b->[1] } @{ $history->{changes} };
	my @outages = History::shuffle(@{ $history->{outages} });
	my $rounds = History::between(2, 6);

	$trial->helper($_)->run("SET yquota.on_bad_event = 'set_aside'") foreach 0, 1;
	foreach my $number (1 .. $rounds)
	{
		my $clock = $history->{from} + int(($history->{to} - $history->{from}) * $number / $rounds);
		my $limit = $number == $rounds ? $history->{to} : $clock + AHEAD;
		my (@due, @due_changes, @due_outages);

		$trial->set_clock($clock);
		push @due, shift @events while @events && $events[0]{at} <= $limit;
		push @due_changes, shift @changes while @changes && $changes[0][1] <= $limit;
		$_->[1] = History::between($clock, $limit) foreach @due_changes;
		push @due_outages, shift @outages while @outages && History::chance(0.5);
		round($trial, \@due_changes, \@due_outages, @due);
		if (History::chance(0.3))
		{
			$trial->log_sql($trial->{session}, 'SELECT yquota_internal.compact_counters()');
		}
	}
	$trial->set_clock($history->{to} + AHEAD);
	# do the work of the worker
	$trial->log_sql($trial->{session}, 'SELECT yquota_internal.apply_waiting()');
	$trial->log_sql($trial->{session}, 'SELECT yquota.quota_compute()');
	$trial->check('after everything');
	return;
}

is(Trial::run_histories($seed, $histories, \&play), 0, "$histories histories sent by several sessions at once");
done_testing();
