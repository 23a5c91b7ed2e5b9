#
# Plan.pm: the rules of a plan of reservations, taken from Hadoop's documentation and computed in the most naive way.
# The model uses lists of intervals, their sums, and the values at every instant at which anything changes. It shares
# no code and no data structure with the extension.
#
# Times are integers of milliseconds since 1970 UTC, and amounts are [memory, cores]. An interval is [start, end,
# memory, cores].
#
package Plan;

use strict;
use warnings;
use List::Util qw(all max min sum0);
use POSIX ();

# new(OPTION...): return a plan without reservations. These are the options:
# - "capacity", "max_periodicity" and "step" are properties of the plan.
# - "policy" is NoOverCommitPolicy or CapacityOverTimePolicy.
# - "window", "instantaneous" and "average" are limits of CapacityOverTimePolicy. The last two are fractions of the
#   capacity.
# - "ends_averages" is true if averages end a window after the deadline, even if the load continues.
# - "is_dominant" is true if the plan has the dominant calculator.
# - "wraps" is true if a periodic reservation keeps the part beyond a multiple of its period.
sub new
{
	my ($class, %option) = @_;

	return bless { %option, reservations => {} }, $class;
}

# -- intervals over time --------------------------------------------------------------

# Return the intervals of a reservation that overlap [FROM, TO), including those of its later
# instances.
sub occurrences
{
	my ($reservation, $from, $to) = @_;
	my $period = $reservation->{definition}{recurrence};
	my @found;

	foreach my $interval (@{ $reservation->{intervals} })
	{
		my ($start, $end, @amounts) = @$interval;

		unless ($period)
		{
			push @found, $interval if $start < $to && $end > $from;
			next;
		}
		for (my $shift = POSIX::floor(($from - $end) / $period) * $period; $start + $shift < $to; $shift += $period)
		{
			push @found, [ $start + $shift, $end + $shift, @amounts ] if $end + $shift > $from;
		}
	}
	return @found;
}

# Return FROM and the instants in [FROM, TO) at which the sum of intervals may change, each with the
# sum.
sub sums
{
	my ($from, $to, @intervals) = @_;
	my %change = ($from => [ 0, 0 ]);

	foreach my $interval (@intervals)
	{
		my ($start, $end, @amounts) = @$interval;

		next if $start >= $to || $end <= $from;
		foreach my $edge ([ max($start, $from), 1 ], [ $end, -1 ])
		{
			my ($at, $sign) = @$edge;

			next if $at >= $to;
			$change{$at}[$_] += $sign * $amounts[$_] foreach 0, 1;
		}
	}
	my @now = (0, 0);
	return map { my $at = $_; $now[$_] += $change{$at}[$_] foreach 0, 1; [ $at, @now ] } sort { $a <=> $b } keys %change;
}

# Return the reservations in the plan at a time, except the reservation "without", and only those of a user
# if one is named.
sub promised
{
	my ($self, $now, %option) = @_;
	my $window = $self->{policy} eq 'NoOverCommitPolicy' ? 0 : $self->{window};

	return grep {
		$_->{definition}{deadline} > $now - $window && (!defined $option{user} || $_->{user} eq $option{user})
		  && (!defined $option{without} || $_->{id} ne $option{without})
	} map { $self->{reservations}{$_} } sort keys %{ $self->{reservations} };
}

# Return the amounts of all reservations, and of each user's, over time.
sub committed
{
	my ($self, $now, $from, $to, %option) = @_;

	return sums($from, $to, map { occurrences($_, $from, $to) } $self->promised($now, %option));
}

sub value_at
{
	my ($at, $sums) = @_;
	my ($low, $high) = (0, scalar @$sums);

	while ($low < $high)
	{
		my $middle = int(($low + $high) / 2);

		($low, $high) = $sums->[$middle][0] <= $at ? ($middle + 1, $high) : ($low, $middle);
	}
	return $low ? @{ $sums->[ $low - 1 ] }[ 1, 2 ] : (0, 0);
}

sub fits { my ($small, $large) = @_; return $small->[0] <= $large->[0] && $small->[1] <= $large->[1]; }

# -- requests of a definition -------------------------------------------------------------

sub rounded_up { my ($self, $time) = @_; return POSIX::ceil($time / $self->{step}) * $self->{step}; }

# Return how many containers of each request run at each change of an allocation. Each request has a memory
# size from which the numbers can be read like the digits of a number.
sub containers_over_time
{
	my ($definition, $base, @intervals) = @_;
	my @requests = sort { $b->{memory} <=> $a->{memory} } @{ $definition->{requests} };
	my %over_time;

	foreach my $sum (sums(min(map { $_->[0] } @intervals), 1 + max(map { $_->[1] } @intervals), @intervals))
	{
		my ($at, $memory, $cores) = @$sum;

		foreach my $request (@requests)
		{
			my $count = int($memory / $request->{memory});

			return (undef, "$count containers at once at $at") if $count >= $base;
			$memory -= $count * $request->{memory};
			$cores -= $count * $request->{cores};
			push @{ $over_time{ $request->{number} } }, [ $at, $count ];
		}
		return (undef, "$memory MB and $cores cores at $at are no containers that were asked for") if $memory || $cores;
	}
	return (\%over_time);
}

# Return the gangs of a request as [start, end, gangs]. A gang begins where the number of containers
# grows or another gang ends, and lasts for the requested time.
sub gangs
{
	my ($self, $request, $over_time) = @_;
	my $duration = $self->rounded_up($request->{duration});
	my (%ends, @gangs);
	my $before = 0;
	my %change = map { my $grown = $_->[1] - $before; $before = $_->[1]; ($_->[0] => $grown) } @$over_time;
	my @instants = sort { $a <=> $b } keys %change;

	while (defined(my $at = shift @instants))
	{
		my $grown = ($change{$at} // 0) + ($ends{$at} // 0);

		return (undef, "a gang ends too early at $at") if $grown < 0;
		return (undef, "part of a gang at $at") if $grown % $request->{concurrency};
		next unless $grown;
		push @gangs, [ $at, $at + $duration, $grown / $request->{concurrency} ];
		$ends{ $at + $duration } += $grown;
		@instants = sort { $a <=> $b } @instants, $at + $duration unless exists $change{ $at + $duration };
		$change{ $at + $duration } //= 0;
	}
	return \@gangs;
}

# Return why an allocation violates its definition, or nothing if it satisfies it.
sub violation
{
	my ($self, $definition, $base, @intervals) = @_;
	my ($over_time, $problem) = containers_over_time($definition, $base, @intervals);
	my @satisfied;

	return $problem if defined $problem;
	return 'before its arrival, or after its deadline'
	  if min(map { $_->[0] } @intervals) < $definition->{arrival} || max(map { $_->[1] } @intervals) > $definition->{deadline};
	foreach my $request (@{ $definition->{requests} })
	{
		my $of_request = $over_time->{ $request->{number} };

		if (all { $_->[1] == 0 } @$of_request)
		{
			return "request $request->{number} has nothing" if $definition->{interpreter} ne 'ANY';
			next;
		}
		my ($gangs, $what) = $self->gangs($request, $of_request);
		return "request $request->{number}: $what" unless defined $gangs;
		my $count = sum0(map { $_->[2] } @$gangs);
		return "request $request->{number} has $count gangs" if $count != $request->{containers} / $request->{concurrency};
		push @satisfied, $gangs;
	}
	return 'more than one request is satisfied' if $definition->{interpreter} eq 'ANY' && @satisfied > 1;
	return out_of_order($definition->{interpreter}, @satisfied) if $definition->{interpreter} =~ /^ORDER/;
	return;
}

sub out_of_order
{
	my ($interpreter, @satisfied) = @_;
	my $end;

	foreach my $gangs (@satisfied)
	{
		my $start = min(map { $_->[0] } @$gangs);
		my $reached = $start;

		return 'a request begins before the end of the one before' if defined $end && $start < $end;
		return 'a gap between requests' if $interpreter eq 'ORDER_NO_GAP' && defined $end && $start > $end;
		foreach my $gang (sort { $a->[0] <=> $b->[0] } @$gangs)
		{
			return 'a gap within a request' if $interpreter eq 'ORDER_NO_GAP' && $gang->[0] > $reached;
			$reached = max($reached, $gang->[1]);
		}
		$end = $reached;
	}
	return;
}

# -- sharing ---------------------------------------------------------------------------------

# Return the lesser of two vectors by the calculator, or the first if they are equal.
sub lesser
{
	my ($self, $one, $other) = @_;
	my $capacity = $self->{capacity};

	return $one->[0] <= $other->[0] ? $one : $other unless $self->{is_dominant};
	my ($first, $second) = map { [ sort { $b <=> $a } $_->[0] * $capacity->[1], $_->[1] * $capacity->[0] ] } $one, $other;
	return $first->[0] < $second->[0] || ($first->[0] == $second->[0] && $first->[1] <= $second->[1]) ? $one : $other;
}

# Return Java's product of an amount and a 32-bit float.
sub share { my ($self, $fraction) = @_; my $share = unpack 'f', pack 'f', $fraction; return [ map { int($_ * $share) } @{ $self->{capacity} } ]; }

# Return the amount that a user may still get at an instant, or undef if the reservations exceed the
# plan.
sub left_at
{
	my ($self, $at, $all, $own, $old) = @_;
	my @committed = value_at($at, $all);
	my @net = map { $self->{capacity}[$_] - $committed[$_] } 0, 1;
	my @kept = value_at($at, $old);

	return if min(@net) < 0;
	$net[$_] += $kept[$_] foreach 0, 1;
	return \@net if $self->{policy} eq 'NoOverCommitPolicy';
	my @used = value_at($at, $own);
	my $quota = $self->share($self->{instantaneous});
	return $self->lesser(\@net, [ map { $quota->[$_] - $used[$_] + $kept[$_] } 0, 1 ]);
}

# Return the amounts of the plan, of the user and of the old version during one instance of the reservation,
# shifted to its first instance.
sub around_instance
{
	my ($self, $now, $reservation, $old, $shift) = @_;
	my ($from, $to) = ($reservation->{definition}{arrival} + $shift, $reservation->{definition}{deadline} + $shift + 1);

	return map { [ map { [ $_->[0] - $shift, @$_[ 1, 2 ] ] } @$_ ] } [ $self->committed($now, $from, $to) ],
	  [ $self->committed($now, $from, $to, user => $reservation->{user}) ],
	  [ defined $old ? sums($from, $to, occurrences($old, $from, $to)) : () ];
}

# Return why a reservation that was accepted at a time exceeds the plan. The plan is as it was before, including
# the version that the reservation replaces, if any.
sub overcommitment
{
	my ($self, $now, $reservation) = @_;
	my ($arrival, $deadline, $period) = @{ $reservation->{definition} }{qw(arrival deadline recurrence)};
	my $old = $self->{reservations}{ $reservation->{id} };

	my @instances = map { [ $self->around_instance($now, $reservation, $old, $_ * ($period || 0)) ] } 0 .. ($period ? $self->{max_periodicity} / $period - 1 : 0);
	my @asked = sums($arrival, $deadline + 1, occurrences($reservation, $arrival, $deadline + 1));
	my ($first) = map { $_->[0] } grep { $_->[1] || $_->[2] } @asked;

	foreach my $at (sort { $a <=> $b } keys %{ { map { ($_->[0] => 1) } @asked, map { @{ $_->[0] } } @instances } })
	{
		my $least;

		# consider all instances that begin before the end of the largest period
		foreach my $instance (@instances)
		{
			my $left = $self->left_at($at, @$instance);

			return "more was promised than there is at $at" unless defined $left;
			$least = defined $least ? $self->lesser($least, $left) : $left;
		}
		# Before its first interval the reservation requests nothing, which fits even if the user has too much (4.1:
		# one side is undefined). After the interval it requests 0.
		return "more than is left at $at" unless $at < $first || fits([ value_at($at, \@asked) ], $least);
	}
	return $self->{policy} eq 'CapacityOverTimePolicy' ? $self->beyond_average($now, $reservation, $old) : undef;
}

# Check each instant at which the user's load changes, and one instant per window between them. The figure is the
# usage up to that instant, less the usage up to the last such instant at least a window earlier. The old version
# counts as well, because Hadoop adds it twice. A tolerance of two absorbs rounding.
sub beyond_average
{
	my ($self, $now, $reservation, $old) = @_;
	my ($window, $definition) = ($self->{window}, $reservation->{definition});
	my ($from, $to) = ($definition->{arrival} - $window, $definition->{deadline} + $window);
	my @intervals = map { occurrences($_, $from, $to + 1) } $self->promised($now, user => $reservation->{user}), grep { defined } $reservation, $old;
	my @load = sums($from, $to, @intervals);
	my $quota = $self->share($self->{average});
	my (@points, @used);

	# a load that continues beyond the window has no end in Hadoop, and no average
	return if !$self->{ends_averages} && grep { $_->[0] <= $to && $_->[1] > $to } @intervals;
	foreach my $i (0 .. $#load)
	{
		my ($at, @amounts) = @{ $load[$i] };
		my $next = $i < $#load ? $load[ $i + 1 ][0] : $to;

		# an interval that is longer than a window gets one instant per window
		for (; $at < $next; $at = min($at + $window, $next))
		{
			push @points, [ $at, @used ? @used : (@used = (0, 0)) ];
			$used[$_] += $amounts[$_] * (min($at + $window, $next) - $at) foreach 0, 1;
		}
	}
	push @points, [ $to, @used ];
	foreach my $point (@points)
	{
		my ($before) = reverse grep { $_->[0] <= $point->[0] - $window } @points;
		my @average = map { ($point->[ 1 + $_ ] - ($before ? $before->[ 1 + $_ ] : 0)) / $window } 0, 1;

		return "@average on average until $point->[0]" unless fits(\@average, [ map { $_ + 2 } @$quota ]);
	}
	return;
}

1;
