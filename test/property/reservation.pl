#!/usr/bin/env perl
#
# Plan.pm judges random plans, and reservations that are submitted, updated and deleted. The reservations of a plan
# never exceed its capacity, unless the plan has become smaller. An accepted reservation satisfies its definition:
# every container of a request, in gangs, for the requested time, in order, without gaps, between arrival and
# deadline. It fits in the amount that the sharing policy left at each instant. A refused call and a dry run change
# nothing, and a deleted reservation returns exactly its amount.
#
# The test covers all interpreters, both agents in both directions, both policies, both calculators, and single and
# periodic reservations. Hadoop compares two vectors by only one resource, and takes the lesser vector as a whole.
# Therefore a plan may be overcommitted in one resource. It is never overcommitted if all requests have the plan's
# ratio of resources. It is not overcommitted either if there are neither limits of users nor periods.
#
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin, "$FindBin::Bin/../t";
use List::Util qw(max min sum0);
use Plan;
use Session;
use Soak;
use Test::More;
use Trial;

my ($seed, $histories) = Trial::plan_run(12);
my $steps = 30;
my $number = 0;
my %count = map { $_ => 0 } qw(accepted refused periodic updated deleted shrunk judged ANY ALL ORDER ORDER_NO_GAP);

use constant { SECOND => 1000, MINUTE => 60_000, HOUR => 3_600_000, DAY => 86_400_000 };
# 2026-03-02 00:00 UTC
use constant BEGIN_MS => 1_772_409_600_000;
# The memory of a request is a digit of a number in this base, so each request has fewer containers
# than that.
use constant BASE => 64;

sub one_of { return $_[ rand @_ ]; }
sub value { my ($session, $sql) = @_; return $session->run($sql) =~ s/\n\z//r; }
sub flag { return $_[0] ? 'true' : 'false'; }
sub time_sql { my ($ms) = @_; return "to_timestamp(0) + $ms * interval '1 ms'"; }
sub ms_sql { my ($time) = @_; return "round(extract(epoch FROM $time) * 1000)"; }

# -- a history ----------------------------------------------------------------------------

sub choose_plan
{
	my $is_even = rand() < 0.5;
	my $memory = 4096 * (20 + int rand 60);

	return Plan->new(
		is_even => $is_even,
		capacity => [ $memory, $is_even ? $memory : 40 + int rand 160 ],
		is_dominant => rand() < 0.5,
		max_periodicity => DAY,
		step => one_of(SECOND, 10 * SECOND, MINUTE),
		policy => one_of('NoOverCommitPolicy', 'CapacityOverTimePolicy', 'CapacityOverTimePolicy'),
		window => one_of(HOUR, 4 * HOUR, DAY),
		instantaneous => one_of(100, 100, 75, 40) / 100,
		average => one_of(100, 60, 25) / 100,
		wraps => rand() < 0.5,
		ends_averages => rand() < 0.5,
		agent => one_of('AlignedPlannerWithGreedy', 'GreedyReservationAgent'),
		is_early => rand() < 0.5,
		smoothness => one_of(1, 10),
		# probability that a reservation is periodic
		periodic => one_of(0, 0, 0.3, 1));
}

sub set_capacity
{
	my ($session, $plan) = @_;

	$session->run(sprintf q(DELETE FROM yquota.node; INSERT INTO yquota.node (name, total) VALUES ('n', '[memory-mb=%d,vcores=%d]')),
		map { 2 * $_ } @{ $plan->{capacity} });
	return;
}

sub begin_history
{
	my ($session, $plan) = @_;
	my ($instantaneous, $average) = map { 100 * $plan->{$_} } qw(instantaneous average);
	my $calculator = $plan->{is_dominant} ? q('org.apache.hadoop.yarn.util.resource.DominantResourceCalculator') : 'NULL';

	$session->run(<<"SQL");
BEGIN;
TRUNCATE yquota.reservation_definition CASCADE;
TRUNCATE yquota.queue, yquota.scheduler_setting CASCADE;
INSERT INTO yquota.scheduler_setting (reservation_system_enable, resource_calculator, maximum_allocation_mb, maximum_allocation_vcores, reservation_system_planfollower_time_step,
	reservation_system_max_periodicity, reservation_system_favor_early_allocation, reservation_system_smoothness_factor, reservation_wraps_periods, reservation_ends_averages)
VALUES (true, $calculator, 8192, 8192, $plan->{step}, $plan->{max_periodicity}, @{[ flag($plan->{is_early}) ]}, $plan->{smoothness}, @{[ flag($plan->{wraps}) ]}, @{[ flag($plan->{ends_averages}) ]});
INSERT INTO yquota.queue (path, capacity, reservable, reservation_agent, reservation_policy, reservation_window, instantaneous_max_capacity, average_capacity, position) VALUES
	('root', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1),
	('root.plan', '50', true, '$plan->{agent}', '$plan->{policy}', $plan->{window}, $instantaneous, $average, 2),
	('root.other', '50', NULL, NULL, NULL, NULL, NULL, NULL, 3);
COMMIT;
SQL
	set_capacity($session, $plan);
	return;
}

# Choose up to three requests, for which a plan sometimes has room.
sub choose_definition
{
	my ($plan) = @_;
	my $interpreter = one_of(qw(ANY ALL ORDER ORDER_NO_GAP));
	my $period = rand() < $plan->{periodic} ? one_of(HOUR, 4 * HOUR, DAY) : 0;
	my $longest = $period ? min(HOUR, $period / 6) : HOUR;
	my @memories = sort { rand() <=> 0.5 } map { BASE**$_ } 0 .. 2;
	my @requests;

	foreach my $i (1 .. one_of(1, 1, 2, 3))
	{
		my $gang = one_of(1, 1, 2, 5);
		my $memory = shift @memories;

		push @requests, {
			number => $i, memory => $memory, cores => $plan->{is_even} ? $memory : 1 + int rand 4, concurrency => $gang,
			containers => $gang * (1 + int rand int((BASE - 1) / $gang)),
			# durations are whole steps or not
			duration => one_of(int(rand $longest / MINUTE) * MINUTE || MINUTE, 1 + int rand $longest),
		};
	}
	my $needed = ($interpreter =~ /^ORDER/ ? sub { sum0(@_) } : sub { max(@_) })->(map { $plan->rounded_up($_->{duration}) } @requests);
	my $arrival = BEGIN_MS + one_of(MINUTE, MINUTE, 1) * int rand one_of(0, 6 * 60, 6 * 60);
	my $deadline = $arrival + one_of($needed, int($needed * (1 + rand 4)), int($needed * (1 + rand 4)), int($needed * 0.9));
	$deadline = min($deadline, $arrival + $period) if $period;

	return { interpreter => $interpreter, arrival => $arrival, deadline => $deadline, recurrence => $period, requests => \@requests };
}

sub definition_sql
{
	my ($definition) = @_;
	my @requests = map { sprintf q(yquota.reservation_request('[memory-mb=%d,vcores=%d]', %d, %d * interval '1 ms', %d)), @$_{qw(memory cores containers duration concurrency)} }
		@{ $definition->{requests} };

	return sprintf q(yquota.reservation_contract(%s, %s, ARRAY[%s], '%s', %d * interval '1 ms')), time_sql($definition->{arrival}), time_sql($definition->{deadline}),
		join(', ', @requests), @$definition{qw(interpreter recurrence)};
}

# -- checks ---------------------------------------------------------------------------------

my ($from, $to) = (BEGIN_MS - 2 * HOUR, BEGIN_MS + DAY + 2 * HOUR);

sub plan_allocation
{
	my ($session) = @_;

	return $session->run(<<"SQL");
SELECT @{[ ms_sql('p."from"') ]}, coalesce(yquota.amount(p.committed, 'memory-mb'), 0), coalesce(yquota.amount(p.committed, 'vcores'), 0),
	coalesce(yquota.amount(p.available, 'memory-mb'), 0), coalesce(yquota.amount(p.available, 'vcores'), 0),
	(SELECT coalesce(string_agg(format('%s %s %s', u.key, coalesce(yquota.amount(u.value::yquota.resource, 'memory-mb'), 0), coalesce(yquota.amount(u.value::yquota.resource, 'vcores'), 0)), ';'), '')
	 FROM jsonb_each_text(p.by_user) AS u)
FROM yquota.plan_allocation('root.plan', @{[ time_sql($from) ]}, @{[ time_sql($to) ]}) AS p;
SQL
}

# Return where plan_allocation() disagrees with the sums of all reservations, or of each user's.
sub wrong_sums
{
	my ($plan, $now, $said) = @_;
	my @rows = map { [ split /\|/, $_, -1 ] } split /\n/, $said;
	my %parts = ('' => [ map { [ @$_[ 0 .. 2 ] ] } @rows ]);

	foreach my $row (@rows)
	{
		my %of = map { my ($user, @amounts) = split / /; ($user => \@amounts) } split /;/, $row->[5];

		push @{ $parts{$_} }, [ $row->[0], @{ $of{$_} // [ 0, 0 ] } ] foreach qw(u v w);
		return "what is left at $row->[0]" if grep { $row->[ 3 + $_ ] != $plan->{capacity}[$_] - $row->[ 1 + $_ ] } 0, 1;
	}
	foreach my $part (sort keys %parts)
	{
		my @right = $plan->committed($now, $from, $to, $part ne '' ? (user => $part) : ());

		foreach my $at (map { $_->[0] } @right, @{ $parts{$part} })
		{
			my @pair = map { join ' ', Plan::value_at($at, $_) } \@right, $parts{$part};

			return "the sum at $at of '$part' is $pair[1], not $pair[0]" if $pair[0] ne $pair[1];
		}
	}
	return;
}

# Return instants at which the plan is overcommitted. A plan may be overcommitted where a periodic reservation was not
# checked: before the arrival, or after the last instance.
sub overcommitted
{
	my ($plan, $now) = @_;
	my @periodic = map { $_->{definition}{arrival} } grep { $_->{definition}{recurrence} } $plan->promised($now);
	my @once = grep { !$_->{definition}{recurrence} } $plan->promised($now);
	my ($begin, $end) = @periodic && @once ? (max(@periodic), min(@periodic) + $plan->{max_periodicity}) : ($from, $to);

	return if $plan->{has_shrunk} || !($plan->{is_even} || ($plan->{policy} eq 'NoOverCommitPolicy' && !@periodic)) || $begin >= $end;
	foreach my $sum ($plan->committed($now, $begin, $end))
	{
		my ($at, @amounts) = @$sum;

		return "more than the capacity at $at" unless Plan::fits(\@amounts, $plan->{capacity});
	}
	return;
}

# Return whether the plan keeps all of a definition. Without "wraps" it loses the part beyond a multiple of the
# period.
sub is_whole
{
	my ($plan, $definition) = @_;
	my $period = $definition->{recurrence};

	return !$period || $plan->{wraps} || $definition->{arrival} % $period + $definition->{deadline} - $definition->{arrival} <= $period;
}

# -- changes ---------------------------------------------------------------------------------

sub intervals
{
	my ($session, $id) = @_;

	return map { [ map { 0 + $_ } @$_ ] } $session->rows(<<"SQL");
SELECT @{[ ms_sql('a."from"') ]}, @{[ ms_sql('a."to"') ]}, coalesce(yquota.amount(a.allocation, 'memory-mb'), 0), coalesce(yquota.amount(a.allocation, 'vcores'), 0)
FROM yquota.reservation_allocation AS a WHERE a.reservation_id = '$id' AND a.ended_at IS NULL ORDER BY a."from";
SQL
}

my $ids = 0;

# Submit or update a reservation, and return the fault of the result.
sub change
{
	my ($session, $plan, $now, $id, $user) = @_;
	my $definition = choose_definition($plan);
	my $is_update = defined $id;
	$id //= sprintf 'reservation_1_%04d', ++$ids;
	my $call = $is_update ? "yquota.update_reservation('$id', '$user', '{}', " : "yquota.submit_reservation('$id', 'root.plan', '$user', '{}', 'p', ";
	my @answers = map { value($session, "SELECT accepted, \"from\", \"to\", coalesce(decided_by, '') FROM $call" . definition_sql($definition) . ", dry_run => $_)") } qw(true false);
	my ($accepted, $start, $end, $rule) = split /\|/, $answers[1];

	return "without effect it is $answers[0], else $answers[1]" if $answers[0] ne $answers[1];
	if ($accepted eq 'f')
	{
		$count{refused}++;
		$count{"refused by $rule"}++;
		return "a refused submission is stored" if !$is_update && value($session, "SELECT count(*) FROM yquota.reservation_definition WHERE reservation_id = '$id'") ne '0';
		return;
	}
	# A plan may reserve too much of one resource type if it compares by another. The follower, which
	# runs when a reservation is due, then ends the newest reservations.
	my @taken_back = map { $_->[0] } $session->rows("SELECT reservation_id FROM yquota.reservation_definition WHERE ended_by = 'replanned'");
	delete @{ $plan->{reservations} }{@taken_back};
	if (grep { $_ eq $id } @taken_back)
	{
		$count{replanned}++;
		return;
	}
	my $reservation = { id => $id, user => $user, definition => $definition, intervals => [ intervals($session, $id) ] };
	my $problem = $plan->overcommitment($now, $reservation);
	return "$id: $problem\n" . (join "", explain($reservation)) if defined $problem;
	if (is_whole($plan, $definition))
	{
		$problem = $plan->violation($definition, BASE, @{ $reservation->{intervals} });
		return "$id: $problem\n" . (join "", explain($reservation)) if defined $problem;
		$count{judged}++;
	}
	$count{$_}++ foreach 'accepted', $definition->{interpreter}, ($is_update ? 'updated' : ()), ($definition->{recurrence} ? 'periodic' : ());
	$plan->{reservations}{$id} = $reservation;
	return;
}

sub end
{
	my ($session, $plan, $reservation) = @_;

	$count{deleted}++;
	delete $plan->{reservations}{ $reservation->{id} };
	return 'it is not deleted' if value($session, "SELECT deleted FROM yquota.delete_reservation('$reservation->{id}', '$reservation->{user}', '{}')") ne 't';
	return;
}

# Add and delete a reservation, which must leave the plan as it was.
sub come_and_go
{
	my ($session, $plan, $now) = @_;
	my $before = plan_allocation($session);
	my %known = %{ $plan->{reservations} };
	my $problem = change($session, $plan, $now, undef, one_of(qw(u v w)));
	my ($new) = grep { !$known{ $_->{id} } } values %{ $plan->{reservations} };

	return $problem if defined $problem || !defined $new;
	$problem = end($session, $plan, $new);
	return $problem if defined $problem;
	return $before eq plan_allocation($session) ? undef : 'it has not given back what it had';
}

sub shrink
{
	my ($session, $plan) = @_;

	$plan->{capacity} = [ map { max(1, int($_ * 0.6)) } @{ $plan->{capacity} } ];
	$plan->{has_shrunk} = 1;
	$count{shrunk}++;
	set_capacity($session, $plan);
	return;
}

sub play
{
	my ($session) = @_;
	my $plan = choose_plan();
	my $now = BEGIN_MS - MINUTE;

	begin_history($session, $plan);
	$session->run('SELECT yquota.set_clock(' . time_sql($now) . ')');
	foreach my $step (1 .. $steps)
	{
		my @held = $plan->promised($now);
		my $what = rand;
		my $problem;

		if ($what < 0.1 && @held)
		{
			$problem = end($session, $plan, one_of(@held));
		}
		elsif ($what < 0.25 && @held)
		{
			my $reservation = one_of(@held);

			$problem = change($session, $plan, $now, @$reservation{qw(id user)});
		}
		elsif ($what < 0.35)
		{
			$problem = come_and_go($session, $plan, $now);
		}
		elsif ($what < 0.4)
		{
			$now += one_of(1, 20) * MINUTE;
			$session->run('SELECT yquota.set_clock(' . time_sql($now) . ')');
		}
		elsif ($what < 0.42)
		{
			shrink($session, $plan);
		}
		else
		{
			$problem = change($session, $plan, $now, undef, one_of(qw(u v w)));
		}
		$problem //= wrong_sums($plan, $now, plan_allocation($session)) // overcommitted($plan, $now);
		if (defined $problem)
		{
			diag("history $number, step $step: $problem\n", explain($plan));
			return 0;
		}
	}
	return 1;
}

my $database = "yquota_reservation_$$";
Session::administer("CREATE DATABASE $database");
my $session = Session->new($database);
$session->run(<<'SQL');
SET client_min_messages = error;
CREATE EXTENSION IF NOT EXISTS yquota;
DELETE FROM yquota.resource_type WHERE name NOT IN ('memory-mb', 'vcores');
INSERT INTO yquota.project (name) VALUES ('p');
SQL

my $failures = 0;
for (my $goes_on = 1; $goes_on && !$failures;)
{
	$goes_on = soak_goes_on(++$number, $histories, 10 * $histories);
	srand($seed + $number);
	$failures++ if !play($session);
}
is($failures, 0, 'plans promise what they have, and what was asked for');
note("$_: $count{$_}") foreach sort keys %count;
cmp_ok($count{accepted}, '>', 4 * $histories, 'reservations were accepted');
cmp_ok($count{refused}, '>', 2 * $histories, 'reservations were refused');
cmp_ok($count{judged}, '>', 0.6 * $count{accepted}, 'most were compared with their definitions');
cmp_ok($count{$_}, '>', 0, $_) foreach qw(ANY ALL ORDER ORDER_NO_GAP periodic updated deleted shrunk);
$session->close;
Session::administer("DROP DATABASE $database WITH (FORCE)");
done_testing();
