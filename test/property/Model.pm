#
# Model.pm: the charges of containers, computed from docs/design.md 2, 3 in the most naive way. The model splits
# the life of a container at every instant at which anything changes, prices each piece, and adds up. It shares no
# code and no data structure with the extension: no rate classes, no cumulative sums, no ledger, no order of
# arrival.
#
# Units: instants and durations are integers of microseconds (instants since 1970 UTC). Amounts of money are
# Math::BigInt in units of 10^-66 credits, in which every exact amount is an integer. A price has 18 decimals, each
# of 6 factors has 6, the factor of a wait has 6, and time has 6. Decimal numbers are read as text and are never
# floats.
#
package Model;

use strict;
use warnings;
use Calendar;
use Math::BigInt try => 'GMP';

use constant FOREVER => 9_000_000_000_000_000_000;

use constant DECIMALS => 66;

use constant PREEMPTED => -102;

# Sources of the events that yquota sends itself.
my %is_own = map { $_ => 1 } qw(scheduler reconcile node_lost);

my @dimensions = qw(queue application username project label execution_type);

# Convert the text of a decimal number to an integer in units of the last decimal.
sub scaled
{
	my ($text, $decimals) = @_;
	my ($sign, $whole, $rest) = $text =~ /^(-?)(\d+)(?:\.(\d*))?$/
	  or die "not a decimal number: $text";

	$rest = '' unless defined $rest;
	$rest =~ s/0+$//;
	die "more than $decimals decimals: $text" if length($rest) > $decimals;
	return Math::BigInt->new($sign . $whole . $rest . '0' x ($decimals - length $rest));
}

# Convert the text of an amount to an integer.
sub amount
{
	return scaled($_[0], DECIMALS);
}

# Return the text of an amount without trailing zeros, as numeric's trim_scale() shows it.
sub text
{
	my ($amount) = @_;
	my $digits = $amount->copy->babs->bstr;

	$digits = '0' x (DECIMALS + 1 - length $digits) . $digits if length($digits) <= DECIMALS;
	substr($digits, -(DECIMALS), 0, '.');
	$digits =~ s/\.?0+$//;
	return ($amount->is_neg ? '-' : '') . $digits;
}

# Divide two positive numbers and round the result half-even to an integer.
sub half_even
{
	my ($numerator, $denominator) = @_;
	my ($quotient, $rest) = $numerator->copy->bdiv($denominator);
	my $side = ($rest * 2)->bcmp($denominator);

	$quotient->binc if $side > 0 || ($side == 0 && $quotient->is_odd);
	return $quotient;
}

sub new
{
	my ($class) = @_;

	return bless {
		group => {},         # resource type -> price group
		base => {},          # resource type -> [[instant, price, unit] ...]
		multiplier => {},    # price group -> [[instant, multiplier] ...]
		calendars => {},     # price group -> [[instant, calendars, until when they count] ...]
		factor => {},        # dimension -> name -> [[instant, factor or undef] ...]
		label => {},         # node -> [[instant, label] ...]
		rule => [],          # [[instant, minimum run time, free before preemption, by any source, factor of waits] ...]
		mode => {},          # project, or '' for all -> [[instant, charging mode or undef] ...]
		outage => [],        # [[project or undef, from, to] ...]
		container => {},
		known => {},         # what has been computed since the last change
	}, $class;
}

# Put a point into a timeline; it replaces a point at the same instant.
sub put_point
{
	my ($timeline, $at, @values) = @_;

	@$timeline = sort { $a->[0] <=> $b->[0] } (grep({ $_->[0] != $at } @$timeline), [ $at, @values ]);
	return;
}

# Return the point in force at an instant, or undef before the first point.
sub point_at
{
	my ($timeline, $at) = @_;
	my $found;

	foreach my $point (@$timeline)
	{
		last if $point->[0] > $at;
		$found = $point;
	}
	return $found;
}

sub add_resource_type
{
	my ($self, $name, $group, $base_price, $unit) = @_;

	$self->{group}{$name} = $group;
	$self->{multiplier}{$group} ||= [ [ -FOREVER(), scaled(1, 18) ] ];
	$self->{base}{$name} = [ [ -FOREVER(), scaled($base_price, 18), $unit ] ];
	$self->{known} = {};
	return;
}

sub set_multiplier
{
	my ($self, $group, $at, $multiplier) = @_;

	put_point($self->{multiplier}{$group}, $at, scaled($multiplier, 18));
	$self->{known} = {};
	return;
}

# Set the calendars of a price group from an instant on, until others are set.
sub set_calendars
{
	my ($self, $group, $at, $calendars, $until) = @_;
	my $sets = $self->{calendars}{$group} ||= [];

	$sets->[-1][2] = $at if @$sets;
	put_point($sets, $at, $calendars, $until);
	$self->{known} = {};
	return;
}

# In 10^-6
sub calendar_factor
{
	my ($self, $group, $at) = @_;
	my $set = point_at($self->{calendars}{$group} || [], $at);

	return scaled($set ? (Calendar::factor_at($set->[1], $at))[0] : '1', 6);
}

sub set_base_price
{
	my ($self, $name, $at, $base_price, $unit) = @_;

	put_point($self->{base}{$name}, $at, scaled($base_price, 18), $unit);
	$self->{known} = {};
	return;
}

sub set_factor
{
	my ($self, $dimension, $name, $at, $factor) = @_;

	put_point($self->{factor}{$dimension}{$name} ||= [], $at, $factor eq 'NULL' ? undef : scaled($factor, 6));
	$self->{known} = {};
	return;
}

# Add a node. If it is added while labels have factors, it had no label before.
sub add_node
{
	my ($self, $node, $at, $label) = @_;
	my $first = $self->labels_from == FOREVER() ? $label : '';

	$self->{label}{$node} = [ [ -FOREVER(), $first ] ];
	$self->set_label($node, $at, $label) if $label ne $first;
	return;
}

sub set_label
{
	my ($self, $node, $at, $label) = @_;

	put_point($self->{label}{$node}, $at, $label);
	$self->{known} = {};
	return;
}

# Return the label of a node, or undef for none.
sub label_at
{
	my ($self, $node, $at) = @_;
	my $point = defined $node ? point_at($self->{label}{$node} || [], $at) : undef;

	return $point && $point->[1] ne '' ? $point->[1] : undef;
}

# Return the instant of the first factor of any label.
sub labels_from
{
	my ($self) = @_;
	my ($first) = sort { $a <=> $b } map { $_->[0] } grep { defined $_->[1] } map { @$_ } values %{ $self->{factor}{label} || {} };

	return defined $first ? $first : FOREVER();
}

sub set_rule
{
	my ($self, $at, $minimum_run_time, $free_before_preemption, $any_source, $waiting_factor, $mode) = @_;

	$self->set_mode('', $at, $mode || 'dearest');
	put_point($self->{rule}, $at, $minimum_run_time, $free_before_preemption || 0, $any_source, scaled($waiting_factor || '0', 6));
	$self->{known} = {};
	return;
}

# Set the charging mode of a project, or of all projects if the name is empty; undef ends the mode
# of a project.
sub set_mode
{
	my ($self, $project, $at, $mode) = @_;

	put_point($self->{mode}{$project} ||= [], $at, $mode);
	$self->{known} = {};
	return;
}

sub add_outage
{
	my ($self, $project, $from, $to) = @_;

	push @{ $self->{outage} }, [ $project, $from, $to ];
	$self->{known} = {};
	return;
}

# Take one lifecycle event, a hash of event (START, UPDATE or FINISH), id and at. The hash also has the event's
# project, application, username, queue, allocation (hash of amounts), execution_type and is_running (1 or 0). The
# order of calls does not matter, and a repeated event changes nothing. The earliest of several FINISHes counts. At one
# instant, the FINISH with the smallest exit status counts. The model remembers whether one of them is a preemption by
# yquota.
sub take
{
	my ($self, $event) = @_;
	my $container = $self->{container}{ $event->{id} } ||= { update => {} };

	delete $self->{known}{pieces}{ $event->{id} };
	if ($event->{event} eq 'UPDATE')
	{
		$container->{update}{ $event->{at} } = $event;
	}
	elsif ($event->{event} eq 'FINISH')
	{
		my $known = $container->{FINISH};

		$container->{FINISH} = $event if !$known || ends_before($event, $known);
		$container->{own_preemption} = 1
		  if is_preemption($event) && $is_own{ defined $event->{source} ? $event->{source} : '' };
	}
	else
	{
		$container->{ $event->{event} } = $event;
	}
	return;
}

sub is_preemption
{
	my ($finish) = @_;

	return defined $finish->{exit_status} && $finish->{exit_status} == PREEMPTED;
}

sub ends_before
{
	my ($finish, $other) = @_;

	return $finish->{at} < $other->{at} if $finish->{at} != $other->{at};
	return 0 unless defined $finish->{exit_status};
	return !defined $other->{exit_status} || $finish->{exit_status} < $other->{exit_status};
}

# Forget all events of the container.
sub forget
{
	my ($self, $id) = @_;

	$self->{container}{$id} = { update => {} };
	delete $self->{known}{pieces}{$id};
	return;
}

# Return the price in credits per native unit and second, with 18 decimals.
sub price
{
	my ($self, $resource, $at) = @_;

	return $self->{known}{price}{$resource}{$at} ||= do
	{
		my (undef, $base, $unit) = @{ point_at($self->{base}{$resource}, $at) };
		my (undef, $multiplier) = @{ point_at($self->{multiplier}{ $self->{group}{$resource} }, $at) };

		half_even($multiplier * $base * $self->calendar_factor($self->{group}{$resource}, $at), Math::BigInt->new(10)->bpow(24)->bmul($unit));
	};
}

# Return the names that may have a factor for a container in one dimension, the most specific first.
sub factor_names
{
	my ($self, $dimension, $held, $at) = @_;
	my $name = $dimension eq 'label' && !defined $held->{label} ? $self->label_at($held->{node}, $at) : $held->{$dimension};
	my @names;

	return () unless defined $name;
	return ($name) if $dimension ne 'queue';
	my @path = split /\./, $name;
	while (@path)
	{
		push @names, join('.', @path);
		pop @path;
	}
	return @names;
}

# Return the part of the price that a container pays, with 6 decimals. While the container waits, the rule in force when
# the wait began sets this part.
sub waiting_factor
{
	my ($self, $held) = @_;

	return Math::BigInt->new(1_000_000) unless defined $held->{waits_since};
	my $rule = point_at($self->{rule}, $held->{waits_since});

	return $rule ? $rule->[4]->copy : Math::BigInt->new(0);
}

# Return the product of the factors in force, with 42 decimals.
sub factor_product
{
	my ($self, $held, $at) = @_;
	my $product = $self->waiting_factor($held);

	foreach my $dimension (@dimensions)
	{
		my $factor = Math::BigInt->new(1_000_000);

		foreach my $name ($self->factor_names($dimension, $held, $at))
		{
			my $point = point_at($self->{factor}{$dimension}{$name} || [], $at);

			next unless $point && defined $point->[1];

			$factor = $point->[1];
			last;
		}
		$product *= $factor;
	}
	return $product;
}

sub in_outage
{
	my ($self, $project, $at) = @_;

	return scalar grep {
		(!defined $_->[0] || $_->[0] eq $project) && $_->[1] <= $at && $at < $_->[2]
	} @{ $self->{outage} };
}

# Return how resources are charged at an instant: dearest, sum or sum_of_groups.
sub charging_mode
{
	my ($self, $project, $at) = @_;

	foreach my $name ($project, '')
	{
		my $point = point_at($self->{mode}{$name} || [], $at);

		return $point->[1] if $point && defined $point->[1];
	}
	return 'dearest';
}

# Return the price per second of the held resources at an instant, with 60 decimals, and the paid part of each
# resource type. Resources are divided into groups, and each group pays for its dearest resource. Among equally
# expensive resources the first by name is paid for.
sub rate
{
	my ($self, $held, $at) = @_;
	my $mode = $self->charging_mode($held->{project}, $at);
	my $sum = Math::BigInt->new(0);
	my (%dearest, %part);

	return ($sum, {}) if $self->in_outage($held->{project}, $at);
	foreach my $resource (sort keys %{ $held->{allocation} })
	{
		my $pot = { dearest => 'all', sum => $resource, sum_of_groups => $self->{group}{$resource} }->{$mode};
		my $price = $self->price($resource, $at) * $held->{allocation}{$resource};

		$dearest{$pot} = [ $price, $resource ] if !$dearest{$pot} || $price > $dearest{$pot}[0];
	}
	my $factor = $self->factor_product($held, $at);

	foreach my $paid (values %dearest)
	{
		$part{ $paid->[1] } = $paid->[0] * $factor;
		$sum += $part{ $paid->[1] };
	}
	return ($sum, \%part);
}

# Return every instant at which a rate may change, in order.
sub all_cuts
{
	my ($self) = @_;
	my %seen;

	foreach my $timeline (
		values %{ $self->{base} },
		values %{ $self->{multiplier} },
		values %{ $self->{label} },
		map({ values %$_ } values %{ $self->{factor} }),
		values %{ $self->{mode} })
	{
		$seen{ $_->[0] } = 1 foreach @$timeline;
	}
	foreach my $set (map { @$_ } values %{ $self->{calendars} })
	{
		my ($from, $calendars, $until) = @$set;

		$seen{ $_->[0] } = 1 foreach Calendar::points($calendars, $from, $until);
	}
	foreach my $outage (@{ $self->{outage} })
	{
		$seen{ $outage->[1] } = 1;
		$seen{ $outage->[2] } = 1;
	}
	return [ sort { $a <=> $b } keys %seen ];
}

# Return the instants strictly between two others.
sub cuts
{
	my ($self, $from, $to) = @_;

	$self->{known}{cuts} ||= $self->all_cuts;
	return grep { $from < $_ && $_ < $to } @{ $self->{known}{cuts} };
}

# Record in "held" since when a container waits, if it waits from an instant on. A container waits
# when it is OPPORTUNISTIC and does not run.
sub note_wait
{
	my ($held, $at) = @_;

	if ($held->{is_running} || $held->{execution_type} ne 'OPPORTUNISTIC')
	{
		delete $held->{waits_since};
	}
	elsif (!defined $held->{waits_since})
	{
		$held->{waits_since} = $at;
	}
	return;
}

# Return the resources that a container held over time, as [[from, to, held] ...], at most up to "now". A
# container without a known start held nothing.
sub segments
{
	my ($container, $now) = @_;
	my $start = $container->{START} or return;
	my $end = $container->{FINISH} ? $container->{FINISH}{at} : $now;
	my %held = (
		project => $start->{project},
		application => $start->{application},
		username => $start->{username},
		queue => $start->{queue},
		node => $start->{node},
		label => $start->{label},
		allocation => $start->{allocation},
		execution_type => $start->{execution_type} || 'GUARANTEED',
		is_running => defined $start->{is_running} ? $start->{is_running} : 1);
	my $from = $start->{at};
	my @segments;

	note_wait(\%held, $from);
	foreach my $at (sort { $a <=> $b } keys %{ $container->{update} })
	{
		my $update = $container->{update}{$at};

		# an update after the end has no effect
		last if $container->{FINISH} && $at > $end;
		# an update without values ends no segment
		next unless grep { defined $update->{$_} } qw(allocation execution_type queue node is_running);
		push @segments, [ $from, $at, {%held} ] if $from < $at;
		foreach my $field (qw(allocation execution_type queue node is_running))
		{
			$held{$field} = $update->{$field} if defined $update->{$field};
		}
		note_wait(\%held, $at);
		$from = $at;
	}
	push @segments, [ $from, $end, {%held} ];
	return @segments;
}

# Return the segments, split also where the label of the container's node changes. Labels count from the first factor
# of any label.
sub labelled_segments
{
	my ($self, $container, $now) = @_;
	my @segments = segments($container, $now);
	my $labels_from = $self->labels_from;
	my @labelled;

	foreach my $i (0 .. $#segments)
	{
		my ($from, $to, $held) = @{ $segments[$i] };
		my $until = $i == $#segments && !$container->{FINISH} ? FOREVER() : $to;
		my $label = '';

		foreach my $point (defined $held->{node} ? @{ $self->{label}{ $held->{node} } || [] } : ())
		{
			my $changes = $point->[1] ne $label;

			$label = $point->[1];
			next unless $changes && $point->[0] > $labels_from && $from < $point->[0] && $point->[0] <= $until;
			push @labelled, [ $from, $point->[0], $held ];
			$from = $point->[0];
			$held = {%$held};
		}
		push @labelled, [ $from, $to, $held ];
	}
	return @labelled;
}

# Return the instant from which a preempted container is free, or undef.
sub free_from
{
	my ($self, $container) = @_;
	my $finish = $container->{FINISH};
	my $rule = $finish && is_preemption($finish) ? point_at($self->{rule}, $container->{START}{at}) : undef;

	return undef unless $rule && $rule->[2] && ($rule->[3] || $container->{own_preemption});
	my $from = $finish->{at} - $rule->[2];

	return $from > $container->{START}{at} ? $from : $container->{START}{at};
}

# Split a segment in two if an instant lies within it.
sub cut_at
{
	my ($at, $segment) = @_;
	my ($from, $to, $held) = @$segment;

	return $segment unless defined $at && $from < $at && $at < $to;
	return ([ $from, $at, $held ], [ $at, $to, {%$held} ]);
}

# Return the charge of a container up to "now" as pieces. A piece is [from, to, rate, held, amount of padding, parts
# of the rate by resource type, rate that is given back]. Padding is a piece with from = to, and pieces of one segment
# share "held".
sub pieces
{
	my ($self, $id, $now) = @_;

	return $self->{known}{pieces}{$id}{$now} ||= $self->compute_pieces($id, $now);
}

sub compute_pieces
{
	my ($self, $id, $now) = @_;
	my $container = $self->{container}{$id};
	my $free_from = $container->{START} ? $self->free_from($container) : undef;
	my @segments = map { cut_at($free_from, $_) } $self->labelled_segments($container, $now) or return [];
	my @pieces;

	foreach my $segment (@segments)
	{
		my ($from, $to, $held) = @$segment;
		my @instants = ($from, $self->cuts($from, $to), $to);

		for my $i (0 .. $#instants - 1)
		{
			next if $instants[$i] >= $instants[ $i + 1 ];
			my ($rate, $parts) = $self->rate($held, $instants[$i]);

			push @pieces, defined $free_from && $from >= $free_from
			  ? [ $instants[$i], $instants[ $i + 1 ], Math::BigInt->new(0), $held, undef, undef, $rate ]
			  : [ $instants[$i], $instants[ $i + 1 ], $rate, $held, undef, $parts ];
		}
	}

	if ($container->{FINISH})
	{
		my $rule = point_at($self->{rule}, $container->{START}{at});
		my $finish = $container->{FINISH}{at};
		my $missing = $rule ? $container->{START}{at} + $rule->[1] - $finish : 0;
		my $held = $segments[-1][2];

		push @pieces, [ $finish, $finish, undef, $held, ($self->rate($held, $finish))[0] * $missing ]
		  if $missing > 0;
	}
	return \@pieces;
}

# Return the cost of the part of these pieces in [from, to); padding lies at its instant.
sub cost
{
	my ($pieces, $from, $to) = @_;
	my $sum = Math::BigInt->new(0);

	foreach my $piece (@$pieces)
	{
		my ($begin, $end, $rate, undef, $padding) = @$piece;

		if (defined $padding)
		{
			$sum += $padding if $from <= $begin && $begin < $to;
			next;
		}
		$begin = $from if $begin < $from;
		$end = $to if $end > $to;
		$sum += $rate * ($end - $begin) if $begin < $end;
	}
	return $sum;
}

# Return what a container lost by preemption: its cost without padding, including the free time before the preemption,
# and the part for that free time. A container that was not preempted lost nothing.
sub lost
{
	my ($self, $id, $now) = @_;
	my $finish = $self->{container}{$id}{FINISH};
	my ($gross, $given_back) = (Math::BigInt->new(0), Math::BigInt->new(0));

	return () unless $finish && is_preemption($finish);
	foreach my $piece (@{ $self->pieces($id, $now) })
	{
		my ($from, $to, $rate, undef, $padding, undef, $free_rate) = @$piece;

		next if defined $padding;
		$gross += ($free_rate // $rate) * ($to - $from);
		$given_back += $free_rate * ($to - $from) if defined $free_rate;
	}
	return ($gross, $given_back);
}

# Return the ledger's rows for a container when everything is settled. There is a row for each segment that has
# ended, [from, to, amount, dominant resource type], and a row of padding, [finish, finish, amount, undef].
sub settled
{
	my ($self, $id, $now) = @_;
	my $container = $self->{container}{$id};
	my $pieces = $self->pieces($id, $now);
	my @segments = $self->labelled_segments($container, $now);
	my $unsettled_from = $container->{FINISH} || !@segments ? FOREVER : $segments[-1][0];
	my (@rows, %parts, $held);

	foreach my $piece (@$pieces)
	{
		my ($from, $to, $rate, $held_then, $padding, $part_rates) = @$piece;

		if (defined $padding)
		{
			push @rows, [ $from, $to, $padding, undef ];
			next;
		}
		last if $from >= $unsettled_from;
		if (!defined $held || $held_then != $held)
		{
			push @rows, [ $from, $to, Math::BigInt->new(0), undef ];
			$held = $held_then;
			%parts = ();
		}
		my $amount = $rate * ($to - $from);
		my $row = $rows[-1];

		$row->[1] = $to;
		$row->[2] = $row->[2] + $amount;
		next if $amount->is_zero;
		$parts{$_} = ($parts{$_} || 0) + $part_rates->{$_} * ($to - $from) foreach keys %$part_rates;
		($row->[3]) = sort { $parts{$b} <=> $parts{$a} || $a cmp $b } keys %parts;
	}
	return @rows;
}

1;
