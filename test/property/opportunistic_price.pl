#!/usr/bin/env perl
#
# The test compares a price that follows the load of node queues with a model in fractions.
#
# Nodes report queues of all lengths, and stop reporting. Administrators change the bounds and turn the price off and
# on. They set factors by hand, at the clock and ahead of it, and withdraw them, and prices are computed at any time.
# After each step the timeline has the model's points. Before prices are computed, the explanation agrees with the
# model, too. At the end of a history each container has paid the integral of the model's timeline. This holds in a
# session that has followed every change and in a new one.
#
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin, "$FindBin::Bin/../t";
use Math::BigRat;
use Test::More;
use Session;
use Soak;
use Trial;

use constant { SECOND => 1_000_000, LEAD => 1_000_000, INTERVAL => 10_000_000 };

my ($seed, $histories) = Trial::plan_run(15);
my $steps = 100;
my ($session, %total);
my @events = ('computed', 'unchanged', 'not due', 'set by hand', 'no node has reported', 'off', 'dismissed', 'withdrawn');
my $began_at = 0;				# microseconds from 2026-03-02 on, as all instants

sub one_of { return $_[ rand @_ ]; }

sub instant { return sprintf q(timestamptz '2026-03-02 00:00+00' + interval '%d microseconds'), $_[0]; }

# -- the model: factors are fractions, or undef for a point without one -----------------

sub last_point
{
	my ($history, $at, $is_wanted) = @_;
	my ($last) = sort { $b <=> $a } grep { $_ <= $at && $is_wanted->($history->{points}{$_}) } keys %{ $history->{points} };

	return $last;
}

sub load_of_queues
{
	my ($history) = @_;
	my @parts = map { my $queued = Math::BigRat->new("$_->{queued}/$_->{capacity}"); $queued > 1 ? Math::BigRat->new(1) : $queued }
	  grep { $_->{capacity} > 0 && defined $_->{at} && $_->{at} > $history->{clock} - $history->{max_age} } values %{ $history->{nodes} };
	my $sum = Math::BigRat->new(0);

	$sum += $_ foreach @parts;
	return (scalar @parts, @parts ? $sum / scalar @parts : undef);
}

sub half_even
{
	my ($fraction) = @_;
	my $scaled = $fraction * 1_000_000;
	my $whole = $scaled->copy->bfloor;
	my $rest = $scaled - $whole;
	my $up = $rest > Math::BigRat->new('1/2') || ($rest == Math::BigRat->new('1/2') && $whole->numerator->is_odd);

	return ($whole + ($up ? 1 : 0)) / 1_000_000;
}

# Return the number of nodes, the factor, and its outcome.
sub expected_outcome
{
	my ($history) = @_;
	my $publish_at = $history->{clock} + LEAD;
	my ($nodes, $load) = load_of_queues($history);
	my $in_force_at = last_point($history, $publish_at, sub { 1 });
	my $in_force = $history->{points}{$in_force_at};
	my $computed_at = last_point($history, 9**15, sub { !$_[0]{by_hand} });
	my $wanted = $nodes ? half_even($history->{min} + ($history->{max} - $history->{min}) * $load) : undef;
	my $paid = $in_force->{factor} // Math::BigRat->new(1);

	return ($nodes, $wanted, $paid,
		$in_force->{by_hand} && defined $in_force->{factor} ? 'set by hand'
		: !$nodes ? 'no node has reported'
		: defined $computed_at && $computed_at > $publish_at ? 'the last published factor is later'
		: defined $computed_at && $computed_at > $publish_at - INTERVAL || $history->{points}{$publish_at} ? 'not due'
		: ($wanted - $paid)->babs < Math::BigRat->new('1/100') ? 'unchanged'
		: 'computed');
}

sub cost
{
	my ($history, $from, $to) = @_;
	my @cuts = ($from, (sort { $a <=> $b } grep { $_ > $from && $_ < $to } keys %{ $history->{points} }), $to);
	my $cost = Math::BigRat->new(0);

	foreach my $i (0 .. $#cuts - 1)
	{
		my $at = last_point($history, $cuts[$i], sub { 1 });

		$cost += ($history->{points}{$at}{factor} // 1) * Math::BigRat->new($cuts[ $i + 1 ] - $cuts[$i]) / SECOND;
	}
	return $cost;
}

sub decimal { return defined $_[0] ? $_[0]->numify : ''; }

# -- events -----------------------------------------------------------------------------

sub advance
{
	my ($history) = @_;

	$history->{clock} += one_of(1, 500_000, SECOND, 3 * SECOND, INTERVAL - 1, INTERVAL, 2 * INTERVAL);
	$session->run('SELECT yquota.set_clock(' . instant($history->{clock}) . ')');
	return;
}

sub report
{
	my ($history) = @_;

	foreach my $name (grep { rand() < 0.6 } keys %{ $history->{nodes} })
	{
		my $node = $history->{nodes}{$name};

		next if defined $node->{at} && $node->{at} == $history->{clock};
		@$node{qw(queued at)} = (int rand(1.4 * $node->{capacity} + 1), $history->{clock});
		$session->run(sprintf q(SELECT * FROM yquota.report_nodes(ARRAY[ROW('%s', 0, 0, 0, %d, NULL, %s, NULL, NULL, NULL)::yquota.node_report])),
			$name, $node->{queued}, $node->{tells} ? $node->{capacity} : 'NULL');
	}
	return;
}

sub lose_node
{
	my ($history) = @_;
	my $name = one_of(keys %{ $history->{nodes} });

	$session->run("UPDATE yquota.node SET state = 'LOST' WHERE name = '$name'; UPDATE yquota.node SET state = 'RUNNING' WHERE name = '$name'");
	$history->{nodes}{$name}{at} = undef;
	return;
}

sub compute
{
	my ($history) = @_;
	my ($nodes, $wanted, $paid, $outcome) = expected_outcome($history);
	my $expected = join '|', $nodes, decimal($wanted), decimal($paid), $outcome;
	my $found = $session->run('SELECT nodes, computed_factor, factor, outcome FROM yquota.explain_opportunistic_price()');

	chomp $found;
	$session->run('SELECT count(*) FROM yquota.compute_prices()');
	$total{ $history->{is_on} ? $outcome : 'off' }++;
	return $found eq '' ? () : "explained $found" if !$history->{is_on};
	$history->{points}{ $history->{clock} + LEAD } = { factor => $wanted, by_hand => 0 } if $outcome eq 'computed';
	# a factor before a point that lies ahead removes that point
	set_by_hand($history, LEAD) if $outcome eq 'computed' && rand() < 0.4;
	return $found eq $expected ? () : "explained $found, expected $expected";
}

# Remove computed points after an instant, up to the next point that was set by hand.
sub dismiss
{
	my ($history, $at) = @_;

	foreach my $later (sort { $a <=> $b } grep { $_ > $at } keys %{ $history->{points} })
	{
		last if $history->{points}{$later}{by_hand};
		delete $history->{points}{$later};
		$total{dismissed}++;
	}
	return;
}

sub set_by_hand
{
	my ($history, $before) = @_;
	my $at = $history->{clock} + (defined $before ? one_of(0, $before / 2) : one_of(0, 0, 500_000, SECOND, 12 * SECOND));
	my $thousandths = defined $before ? one_of(0, 300, 2500) : one_of((undef) x 5, 0, 300, 2500);
	my $known = $history->{points}{$at};

	return if $known && $known->{by_hand};
	$session->run(sprintf q(INSERT INTO yquota.price_factor (dimension, name, effective_at, factor) VALUES ('execution_type', 'OPPORTUNISTIC', %s, %s)),
		instant($at), defined $thousandths ? $thousandths / 1000 : 'NULL');
	dismiss($history, $at) if defined $thousandths;
	$history->{points}{$at} = { factor => defined $thousandths ? Math::BigRat->new("$thousandths/1000") : undef, by_hand => 1 };
	return;
}

sub withdraw
{
	my ($history) = @_;
	my $at = one_of(grep { $_ > $history->{clock} && $history->{points}{$_}{by_hand} } keys %{ $history->{points} });

	return if !defined $at;
	$session->run(sprintf q(SELECT yquota.withdraw_point('yquota.price_factor', %s, 'OPPORTUNISTIC', 'execution_type')), instant($at));
	delete $history->{points}{$at};
	$total{withdrawn}++;
	return;
}

sub set_bounds
{
	my ($history) = @_;
	my ($min, $max) = sort { $a <=> $b } int rand 1_500_000, int rand 1_500_000;

	@$history{qw(min max)} = map { Math::BigRat->new("$_/1000000") } $min, $max;
	$session->run(sprintf 'UPDATE yquota.opportunistic_price SET min_factor = %.6f, max_factor = %.6f', $min / 1e6, $max / 1e6);
	return;
}

sub switch
{
	my ($history) = @_;

	return if $history->{is_on} && rand() < 0.8;
	$history->{is_on} = !$history->{is_on};
	if ($history->{is_on})
	{
		$session->run(sprintf 'INSERT INTO yquota.opportunistic_price (min_factor, max_factor) VALUES (%s, %s)', map { decimal($_) } @$history{qw(min max)});
		return;
	}
	$session->run('DELETE FROM yquota.opportunistic_price');
	delete $history->{points}{$_} foreach grep { $_ > $history->{clock} && !$history->{points}{$_}{by_hand} } keys %{ $history->{points} };
	my $in_force = last_point($history, $history->{clock}, sub { 1 });
	$history->{points}{ $history->{clock} } = { factor => undef, by_hand => 1 } if !$history->{points}{$in_force}{by_hand};
	return;
}

sub set_age
{
	my ($history) = @_;

	$history->{max_age} = one_of(SECOND, INTERVAL, 25 * SECOND);
	$session->run(sprintf q(UPDATE yquota.scheduler_setting SET report_max_age = '%d s'), $history->{max_age} / SECOND);
	return;
}

sub start_container
{
	my ($history) = @_;
	my $id = sprintf 'c%d_%d', $history->{number}, scalar keys %{ $history->{started} };

	$history->{started}{$id} = $history->{clock};
	$session->run(sprintf q(INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation, execution_type)
		VALUES ('CONTAINER_START', '%s', %s, 'p', '[vcores=1]', 'OPPORTUNISTIC')), $id, instant($history->{clock}));
	return;
}

sub show { $session->run('SELECT yquota.quota_compute()'); return; }

sub differences
{
	my ($history) = @_;
	my $expected = join ', ', map { my $point = $history->{points}{$_}; sprintf '%d %s %s', $_, decimal($point->{factor}), $point->{by_hand} ? 'by hand' : 'computed' }
	  sort { $a <=> $b } keys %{ $history->{points} };
	my $found = $session->run(sprintf q(SELECT string_agg(concat_ws(' ', round(1000000 * extract(epoch FROM effective_at - timestamptz '2026-03-02 00:00+00')), coalesce(trim_scale(factor)::text, ''),
		CASE WHEN load IS NULL THEN 'by hand' ELSE 'computed' END), ', ' ORDER BY effective_at)
		FROM yquota.price_factor WHERE dimension = 'execution_type' AND effective_at >= %s), instant($history->{began_at}));

	chomp $found;
	return $found eq $expected ? () : "points $found, expected $expected";
}

sub differences_of_costs
{
	my ($history, $asked) = @_;
	my %paid = map { split /\|/ } split /\n/, $asked->run(sprintf q(SELECT container_id, trim_scale(cost) FROM yquota.container_cost WHERE container_id LIKE 'c%d\_%%'), $history->{number});

	return map { my $cost = cost($history, $history->{started}{$_}, $history->{clock});
		Math::BigRat->new($paid{$_} // 0) == $cost ? () : sprintf('%s paid %s, expected %s', $_, $paid{$_} // 'nothing', decimal($cost)) } sort keys %{ $history->{started} };
}

sub begin_history
{
	my ($number) = @_;
	my $history = { number => $number, began_at => $began_at, clock => $began_at, max_age => INTERVAL, started => {}, is_on => 0,
		min => Math::BigRat->new('1/5'), max => Math::BigRat->new(1) };

	$session->run(join ";\n", 'SELECT yquota.set_clock(' . instant($began_at) . ')',
		'DELETE FROM yquota.opportunistic_price', 'DELETE FROM yquota.node', 'UPDATE yquota.scheduler_setting SET report_max_age = NULL',
		sprintf q(INSERT INTO yquota.price_factor (dimension, name, effective_at, factor) VALUES ('execution_type', 'OPPORTUNISTIC', %s, NULL)
			ON CONFLICT (dimension, name, effective_at) DO NOTHING), instant($began_at));
	$history->{points}{$began_at} = { factor => undef, by_hand => 1 };
	foreach my $name (map { "n$_" } 1 .. one_of(1, 3, 7))
	{
		my $tells = rand() < 0.8;

		$history->{nodes}{$name} = { tells => $tells, capacity => $tells ? one_of(0, 1, 2, 3, 7, 10, 97) : 6, queued => 0, at => undef };
		$session->run("INSERT INTO yquota.node (name, total) VALUES ('$name', '[vcores=8]')");
	}
	switch($history);
	return $history;
}

sub play
{
	my ($number) = @_;
	my $history = begin_history($number);
	my @actions = ((\&report) x 4, (\&compute) x 5, (\&set_by_hand) x 2, \&withdraw, \&set_bounds, (\&switch) x 2, \&set_age, \&lose_node, \&start_container, \&show);
	my @found;

	foreach my $step (1 .. $steps)
	{
		advance($history) if rand() < 0.5;
		@found = one_of(@actions)->($history);
		push @found, differences($history);
		last if @found;
	}
	advance($history);
	if (!@found)
	{
		my $other = Session->new($session->{database});

		push @found, differences_of_costs($history, $session), differences_of_costs($history, $other);
		$other->close;
		$session->run("INSERT INTO yquota.container_event (event, container_id) VALUES ('CONTAINER_FINISH', '$_')") foreach sort keys %{ $history->{started} };
		push @found, differences_of_costs($history, $session), $session->run('SELECT * FROM yquota.verify()');
	}
	$began_at = $history->{clock} + 100 * SECOND;
	@found = grep { $_ ne '' } @found;
	diag("history $number: $_") foreach @found;
	return !@found;
}

my $database = "yquota_opportunistic_price_$$";
Session::administer("CREATE DATABASE $database");
$session = Session->new($database);
$session->run(q(SET client_min_messages = error; CREATE EXTENSION IF NOT EXISTS yquota; INSERT INTO yquota.project (name) VALUES ('p');
	INSERT INTO yquota.scheduler_setting (opportunistic_queue_capacity) VALUES (6)));

my ($number, $failures) = (0, 0);
for (my $goes_on = 1; $goes_on && !$failures;)
{
	$goes_on = soak_goes_on(++$number, $histories, 5 * $histories) || soak_lacks($number, $histories, @total{@events});
	srand($seed + $number);
	$failures++ if !play($number);
}
is($failures, 0, 'factors and costs are those of the model');
cmp_ok($total{$_} // 0, '>', 0, "$_: it happened") foreach @events;
note("$_: $total{$_}") foreach sort keys %total;
$session->close;
Session::administer("DROP DATABASE $database WITH (FORCE)");
done_testing();
