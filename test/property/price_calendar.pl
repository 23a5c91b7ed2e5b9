#!/usr/bin/env perl
#
# The test compares recurring prices with a model that asks the C library for offsets of time zones (Calendar.pm).
#
# Random calendars of many time zones are compared over random years: the points, and the factor at random instants.
# Then the clock moves, calendars are added, changed and removed, and points are made, often too late. The timeline
# must be the model's. Points that the clock has passed stay, and missed points are made from the calendars as they
# then were. Sometimes the clock is set back, or a point in the future is altered, as if rules of a time zone had
# changed.
# verify() must agree, and a quote must be the sum of the model's factors, also where no points are made yet.
#
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin, "$FindBin::Bin/../t";
use List::Util qw(max min);
use Test::More;
use Calendar;
use Session;
use Soak;
use Trial;

use constant { SECOND => 1_000_000, DAY => 86_400_000_000, AHEAD => 14 * 86_400_000_000, FOREVER => 9_000_000_000_000_000_000 };

my ($seed, $histories) = Trial::plan_run(12);
my $steps = 12;
my ($session, %total);
my @events = ('made late', 'made ahead', 'inserted', 'updated', 'deleted', 'overlap', 'quoted ahead', 'set back', 'altered');

sub instant { return sprintf q(timestamptz '1970-01-01 00:00+00' + interval '%d microseconds'), $_[0]; }

# Return rows of points as texts, without those that repeat the row before.
sub text
{
	my ($before, @texts) = ('');

	foreach (@_)
	{
		my $value = join('|', $_->[1] + 0, $_->[2]);

		push @texts, "$_->[0]|$value" if $value ne $before;
		$before = $value;
	}
	return @texts;
}

sub found_points
{
	my ($relation) = @_;

	return text($session->rows("SELECT (extract(epoch FROM effective_at) * 1000000)::bigint, factor, calendar FROM $relation ORDER BY effective_at"));
}

# Return the first line in which two lists differ, or nothing.
sub difference
{
	my ($what, $found, $expected) = @_;

	foreach my $i (0 .. ($#$found > $#$expected ? $#$found : $#$expected))
	{
		my ($one, $other) = map { $_->[$i] // 'none' } $found, $expected;

		return "$what: found $one, expected $other" if $one ne $other;
	}
	return;
}

# Compare all calendars of the table between two instants that are years apart.
sub compare_years
{
	my ($history) = @_;
	my $from = $history->{clock} + int rand(4 * 365 * DAY);
	my $to = $from + int rand(200 * DAY);
	my $all = 'ARRAY(SELECT c FROM yquota.price_calendar AS c)';
	my @expected = Calendar::points($history->{calendars}, $from, $to);
	my @found = found_points(sprintf q(yquota_internal.calendar_points(%s, 'GENERAL', %s, %s)), $all, instant($from), instant($to));
	my @differences = difference('years', \@found, [ text(@expected) ]);

	$total{overlap} += grep { my $at = $_->[0]; 1 < grep { my $c = $_; grep { $_->[0] <= $at && $at < $_->[1] } Calendar::windows_near($c, $at) } @{ $history->{calendars} } } @expected;
	foreach (1 .. 5)
	{
		my $at = $from + int rand($to - $from + 1);
		my ($point) = sort { $b->[0] <=> $a->[0] } grep { $_->[0] <= $at } @expected;
		my ($factor) = Calendar::factor_at($history->{calendars}, $at);

		push @differences, "at $at: $point->[1], not $factor" if $point->[1] != $factor;
	}
	return @differences;
}

# Return the expected timeline: the points before the change, then the points of the present
# calendars.
sub expected_points
{
	my ($history) = @_;

	return if !defined $history->{changed_at};
	return (@{ $history->{past} }, Calendar::points($history->{calendars}, $history->{changed_at}, $history->{made_until}));
}

sub change_calendars
{
	my ($history) = @_;
	my $calendars = $history->{calendars};
	my $number = @$calendars ? int rand @$calendars : 0;
	my $action = @$calendars == 0 || @$calendars < 3 && rand() < 0.5 ? 'inserted' : Calendar::pick('updated', 'deleted');
	my $calendar = Calendar::random($action eq 'updated' ? $calendars->[$number]{name} : 'c' . $history->{count}++,
		$history->{clock} - 10 * DAY, $history->{clock} + 60 * DAY);

	# points before the change stay, and missing points are made first
	$history->{made_until} = $history->{clock} + AHEAD;
	$history->{past} = [ grep { $_->[0] < $history->{clock} } expected_points($history) ];
	if ($action eq 'inserted')
	{
		$session->run("INSERT INTO yquota.price_calendar (name, price_group, $Calendar::columns) VALUES ('$calendar->{name}', 'GENERAL', "
			  . Calendar::values_of($calendar) . ')');
		push @$calendars, $calendar;
	}
	elsif ($action eq 'updated')
	{
		$session->run("UPDATE yquota.price_calendar SET ($Calendar::columns) = ROW (" . Calendar::values_of($calendar)
			  . ") WHERE name = '$calendar->{name}'");
		$calendars->[$number] = $calendar;
	}
	else
	{
		$session->run("DELETE FROM yquota.price_calendar WHERE name = '$calendars->[$number]{name}'");
		splice @$calendars, $number, 1;
	}
	$total{$action}++;
	$history->{changed_at} = $history->{clock};
	$history->{made_until} = $history->{clock} + AHEAD;
	return;
}

sub make_points
{
	my ($history) = @_;
	my $late = $history->{made_until} < $history->{clock};

	$session->run(Calendar::pick('SELECT yquota.quota_compute()', 'SELECT count(*) FROM yquota.compute_prices()'));
	# without a calendar no points are made, and the last point stays in force
	$history->{made_until} = max($history->{made_until}, $history->{clock} + AHEAD);
	$total{ $late ? 'made late' : 'made ahead' }++ if @{ $history->{calendars} };
	return;
}

# Alter a point in the future. verify() reports it, and the points after the clock are made again.
sub alter_points
{
	my ($history) = @_;
	my $future = instant(max($history->{clock}, $history->{changed_at}));
	my ($altered) = $session->rows("UPDATE yquota.calendar_factor SET factor = 7
		WHERE effective_at = (SELECT min(effective_at) FROM yquota.calendar_factor
			WHERE effective_at > $future AND effective_at <= yquota_internal.calendar_reach()) RETURNING effective_at");

	return if !$altered;
	$total{altered}++;
	return "verify() does not report the altered point at $altered->[0]"
	  if !$session->rows("SELECT 1 FROM yquota_internal.verify_calendars() WHERE found = '7' OR found LIKE '7 by %'");
	$history->{past} = [ grep { $_->[0] < $history->{clock} } expected_points($history) ];
	$history->{changed_at} = $history->{clock};
	make_points($history);
	$history->{made_until} = $history->{clock} + AHEAD;
	return;
}

# Compare a quote for a run that begins at the clock with the model's timeline, as if nothing changed any more.
sub compare_quote
{
	my ($history) = @_;
	my $until = $history->{clock} + Calendar::pick(int rand(DAY), int rand(14 * DAY), int rand(90 * DAY));
	my @points = ([ -(FOREVER), 1, '' ], expected_points({ %$history, made_until => $until }));
	my @parts = ('(0, 0)');

	foreach my $i (0 .. $#points)
	{
		my $from = max($points[$i][0], $history->{clock});
		my $to = $i < $#points ? $points[ $i + 1 ][0] : $until;

		push @parts, "($points[$i][1], " . (min($to, $until) - $from) . ')' if $from < min($to, $until);
	}
	$total{'quoted ahead'}++ if $until > $history->{clock} + AHEAD && @{ $history->{calendars} };

	my $quote = sprintf q(yquota.price_quote('[vcores=1]', interval '%d microseconds')), $until - $history->{clock};
	my ($cost, $expected) = @{ ($session->rows("SELECT cost, (SELECT trim_scale(sum(factor * microseconds) * 0.000001) FROM (VALUES "
			  . join(', ', @parts) . ") AS part (factor, microseconds)) FROM $quote"))[0] };

	return $cost eq $expected ? () : "quote until $until: found $cost, expected $expected";
}

sub play
{
	my ($number) = @_;
	my $history = { clock => 1_704_067_200 * SECOND + int rand(3 * 365 * DAY), calendars => [], past => [], count => 0 };
	my @found;

	$session->run('BEGIN; SELECT yquota.set_clock(' . instant($history->{clock}) . ')');
	change_calendars($history);
	foreach (1 .. $steps)
	{
		$history->{clock} += Calendar::pick(0, 1, SECOND, int rand(DAY), int rand(20 * DAY), int rand(60 * DAY), -int rand(20 * DAY));
		$total{'set back'}++ if $history->{clock} < $history->{changed_at};
		$session->run('SELECT yquota.set_clock(' . instant($history->{clock}) . ')');
		make_points($history) if rand() < 0.6;
		change_calendars($history) if rand() < 0.4;
		@found = rand() < 0.2 ? alter_points($history) : ();
		push @found, difference('timeline', [ found_points(q((SELECT * FROM yquota.calendar_factor WHERE effective_at > '-infinity') AS p)) ],
			[ text(expected_points($history)) ]);
		push @found, map { "verify(): @$_" } $session->rows('SELECT subject, expected, found FROM yquota_internal.verify_calendars()');
		push @found, compare_quote($history) if !@found;
		last if @found;
	}
	@found = compare_years($history) if !@found;
	$session->run('ROLLBACK');
	diag("history $number: $_") foreach @found;
	return !@found;
}

my $database = "yquota_price_calendar_$$";
Session::administer("CREATE DATABASE $database");
$session = Session->new($database);
$session->run('SET client_min_messages = error; CREATE EXTENSION IF NOT EXISTS yquota');

my ($number, $failures) = (0, 0);
for (my $goes_on = 1; $goes_on && !$failures;)
{
	$goes_on = soak_goes_on(++$number, $histories, 5 * $histories) || soak_lacks($number, $histories, @total{@events});
	srand($seed + $number);
	$failures++ if !play($number);
}
is($failures, 0, 'points and factors are those of the model');
cmp_ok($total{$_} // 0, '>', 0, "$_: it happened") foreach @events;
note("$_: $total{$_}") foreach sort keys %total;
$session->close;
Session::administer("DROP DATABASE $database WITH (FORCE)");
done_testing();
