#
# Credit.pm: the credit, holds and available amounts of projects. The model computes them in the most naive way
# from the rules of quota_grant, hold and project in docs/reference.md. The cost of containers, and the unit of
# amounts, are those of Model.pm.
#
package Credit;

use strict;
use warnings;
use List::Util qw(max min);
use Math::BigInt try => 'GMP';
use Model;

sub zero { return Math::BigInt->new(0); }
sub least { my ($a, $b) = @_; return $a < $b ? $a : $b; }
sub positive { my ($amount) = @_; return $amount->is_neg ? zero() : $amount; }

# Create a model of credit for a model of charges.
sub new
{
	my ($class, $model) = @_;

	return bless { model => $model, project => {}, grant => [], hold => {} }, $class;
}

sub add_project
{
	my ($self, $name, $parent, $mode, $policy, $limit, $grace) = @_;

	$self->{project}{$name} = { parent => $parent, mode => $mode, policy => $policy, limit => Model::amount($limit // 0), grace => $grace // 0 };
	return;
}

# Return a project and its ancestors, beginning with the project.
sub line
{
	my ($self, $name) = @_;
	my @line;

	for (; defined $name; $name = $self->{project}{$name}{parent})
	{
		push @line, $name;
	}
	return @line;
}

# Return a project and all its descendants.
sub family
{
	my ($self, $name) = @_;

	return grep { my $member = $_; grep { $_ eq $name } $self->line($member) } sort keys %{ $self->{project} };
}

# Return the cost of some containers from one instant to another, with or without padding at the end.
sub cost_of
{
	my ($pieces, $from, $to, $with_last_padding) = @_;
	my $sum = Model::cost($pieces, $from, $to);

	return $sum if !$with_last_padding;
	$sum += $_->[4] foreach grep { defined $_->[4] && $_->[0] == $to && $from <= $to } @$pieces;
	return $sum;
}

# Return the pieces of containers of some projects, or only those of one application.
sub pieces
{
	my ($self, $now, $projects, $application) = @_;
	my %is_member = map { $_ => 1 } @$projects;
	my $containers = $self->{model}{container};
	my @ids = grep {
		my $start = $containers->{$_}{START};

		$start && $is_member{ $start->{project} } && (!defined $application || ($start->{application} // '') eq $application)
	} sort keys %$containers;

	return [ map { @{ $self->{model}->pieces($_, $now) } } @ids ];
}

sub spent
{
	my ($self, $name, $now, $at) = @_;
	my $pieces = $self->{known}{"$name $now"} ||= $self->pieces($now, [ $self->family($name) ]);

	return cost_of($pieces, -Model::FOREVER, $at, 1);
}

# Forget cached results, because a change makes them wrong.
sub changed
{
	my ($self) = @_;

	$self->{known} = {};
	return;
}

#
# Grants: hashes of id, project, amount, kind, begins, expires and takes_from.
#
sub is_own { my ($grant) = @_; return $grant->{kind} =~ /^(?:grant|budget|transfer)$/; }

# Return the instant from which a project has its own credit, which then limits it.
sub own_since
{
	my ($self, $name) = @_;

	return min(Model::FOREVER, map { $_->{begins} } grep { $_->{project} eq $name && is_own($_) } @{ $self->{grant} });
}

# Return the grants that are credit of a project, each with the instant at which it leaves. Refunds and
# corrections of sub-projects without their own credit belong to the nearest ancestor that has some, or to the
# root.
sub terms
{
	my ($self, $name) = @_;
	my @terms;

	foreach my $grant (@{ $self->{grant} })
	{
		my ($until, $from) = (Model::FOREVER);

		if (is_own($grant))
		{
			push @terms, { %$grant, leaves => Model::FOREVER } if $grant->{project} eq $name;
			next;
		}
		foreach my $member ($self->line($grant->{project}))
		{
			$from = defined $self->{project}{$member}{parent} ? $self->own_since($member) : -Model::FOREVER;
			last if $member eq $name;
			$until = min($until, $from);
			undef $from;
		}
		next if !defined $from || $from >= $until || $grant->{begins} >= $until;
		next if $from > $grant->{begins} && !$grant->{amount}->is_neg && $grant->{expires} <= $from;
		# expired credit stays in its project
		$until = Model::FOREVER if !$grant->{amount}->is_neg && $grant->{expires} <= $until;
		push @terms, { %$grant, begins => max($from, $grant->{begins}), leaves => $until };
	}
	return @terms;
}

# Return the state of a project's grants at an instant. It is a hash of the granted amount (less the lost amount), the
# debts, and the rest and the loss of each grant by grant_id. A row that takes credit back is a debt until it leaves. A
# debt has the amount still to be taken, and the amounts taken from each grant. The key '' has spending that was
# reversed.
sub grants_at
{
	my ($self, $name, $now, $at) = @_;
	my @terms = $self->terms($name);
	my $pieces = $self->{known}{"$name $now"} ||= $self->pieces($now, [ $self->family($name) ]);
	my %instants = map { $_ => 1 } grep { $_ <= $at } map { @{$_}{qw(begins expires leaves)} } @terms;
	my ($owed, $spent_before, $granted) = (zero(), zero(), zero());
	my (%left, %lost, %debt, @valid);

	foreach my $instant (sort { $a <=> $b } keys %instants)
	{
		my $spent = cost_of($pieces, -Model::FOREVER, $instant);

		$owed = pay(\%left, \%debt, $owed + $spent - $spent_before, @valid);
		$spent_before = $spent;
		$lost{ $_->{id} } = delete $left{ $_->{id} } foreach grep { $_->{expires} <= $instant } @valid;
		# the amount that a leaving row had taken returns to its grants, and the part in expired grants is lost
		foreach my $debt (map { delete $debt{ $_->{id} } // () } grep { $_->{leaves} == $instant } @terms)
		{
			$owed -= delete $debt->{of}{''} // zero();
			foreach my $id (keys %{ $debt->{of} })
			{
				if (exists $left{$id}) { $left{$id} = $left{$id} + $debt->{of}{$id}; }
				else { $lost{$id} = $lost{$id} + $debt->{of}{$id}; }
			}
		}
		# a leaving row had paid for something: that amount is owed again, or must be taken again
		foreach my $term (grep { $_->{leaves} == $instant && exists $left{ $_->{id} } } @terms)
		{
			$owed += $term->{amount} - delete $left{ $term->{id} };
			foreach my $debt (values %debt)
			{
				my $taken = delete $debt->{of}{ $term->{id} } // next;

				$owed -= $taken;
				$debt->{rest} = $debt->{rest} + $taken;
			}
		}
		foreach my $term (grep { $_->{begins} == $instant && $_->{leaves} > $instant } @terms)
		{
			if ($term->{amount}->is_neg) { $debt{ $term->{id} } = { id => $term->{id}, begins => $instant, rest => -$term->{amount}, of => {} }; }
			elsif ($term->{expires} <= $instant) { $lost{ $term->{id} } = $term->{amount}; }
			else { $left{ $term->{id} } = $term->{amount}->copy; }
		}
		# a transfer takes its part from one grant
		foreach my $term (grep { $_->{begins} == $instant && defined $_->{takes_from} && exists $left{ $_->{takes_from} } } @terms)
		{
			my $taken = least($debt{ $term->{id} }{rest}, $left{ $term->{takes_from} });

			$_ = $_ - $taken foreach $debt{ $term->{id} }{rest}, $left{ $term->{takes_from} };
			$debt{ $term->{id} }{of}{ $term->{takes_from} } = $taken->copy;
		}
		@valid = sort { $a->{expires} <=> $b->{expires} || $a->{id} <=> $b->{id} } grep { exists $left{ $_->{id} } } @terms;
	}
	pay(\%left, \%debt, $owed + cost_of($pieces, -Model::FOREVER, $at, $at == $now) - $spent_before, @valid);
	$granted += $_->{amount} foreach grep { $_->{begins} <= $at && $at < $_->{leaves} } @terms;
	$granted -= $_ foreach values %lost;
	return { granted => $granted, left => \%left, lost => \%lost, debt => \%debt };
}

# Pay the owed amount from grants, and then the amounts that rows take back. Return the amount that is
# still owed.
sub pay
{
	my ($left, $debts, $owed, @grants) = @_;

	foreach my $grant (@grants)
	{
		my $taken = positive(least($owed, $left->{ $grant->{id} }))->copy;

		$left->{ $grant->{id} } = $left->{ $grant->{id} } - $taken;
		$owed = $owed - $taken;
	}
	foreach my $debt (sort { $a->{begins} <=> $b->{begins} || $a->{id} <=> $b->{id} } values %$debts)
	{
		my $given_back = positive(least($debt->{rest}, -$owed))->copy;

		$owed = $owed + $given_back;
		$debt->{rest} = $debt->{rest} - $given_back;
		$debt->{of}{''} = ($debt->{of}{''} // zero()) + $given_back;
		foreach my $grant (@grants)
		{
			my $taken = positive(least($debt->{rest}, $left->{ $grant->{id} }))->copy;

			$left->{ $grant->{id} } = $left->{ $grant->{id} } - $taken;
			$debt->{rest} = $debt->{rest} - $taken;
			$debt->{of}{ $grant->{id} } = ($debt->{of}{ $grant->{id} } // zero()) + $taken;
		}
	}
	return $owed;
}

#
# Holds: {project, application, amount, at, until, released}.
#

# Return the holds of a project in force at an instant, by id. Each has the application's cost since the hold began,
# and the amount still held. The oldest hold of an application is used up first.
sub holds_at
{
	my ($self, $name, $now, $at) = @_;
	my $holds = $self->{hold};
	my @ids = grep {
		my $hold = $holds->{$_};

		$hold->{project} eq $name && $hold->{at} <= $at && $at < $hold->{until} && !(defined $hold->{released} && $hold->{released} <= $at)
	} sort { $a <=> $b } keys %$holds;
	my %state;

	foreach my $application (map { $holds->{$_}{application} } @ids)
	{
		my @chain = grep { $holds->{$_}{application} eq $application } @ids;
		my $pieces = $self->{known}{"$name $application $now"} ||= $self->pieces($now, [$name], $application);
		my $used = zero();    # the amount that the holds before this one still hold

		foreach my $k (0 .. $#chain)
		{
			my $most = zero();
			my $sum = zero();

			# For each j, take the amounts of holds j to k, less the spending since hold j began. Holds 1 to k still
			# hold the greatest of these results.
			foreach my $j (reverse 0 .. $k)
			{
				$sum = $sum + $holds->{ $chain[$j] }{amount};
				my $rest = $sum - cost_of($pieces, $holds->{ $chain[$j] }{at}, $at, 1);

				$most = $rest if $rest > $most;
			}
			$state{ $chain[$k] } = { outstanding => $most - $used, spent => cost_of($pieces, $holds->{ $chain[$k] }{at}, $at, 1) };
			$used = $most;
		}
	}
	return \%state;
}

sub held
{
	my ($self, $name, $now, $at) = @_;
	my $held = zero();

	foreach my $member ($self->family($name))
	{
		$held += $_->{outstanding} foreach values %{ $self->holds_at($member, $now, $at) };
	}
	return $held;
}

# Return the balance of a project at an instant, as a hash of its columns.
sub balance
{
	my ($self, $name, $now, $at) = @_;
	my $grants = $self->grants_at($name, $now, $at);
	my %balance = (granted => $grants->{granted}, spent => $self->spent($name, $now, $at), held => $self->held($name, $now, $at));

	$balance{remaining} = $balance{granted} - $balance{spent} - $balance{held};
	return \%balance;
}

# Return the projects whose budgets limit a project.
sub limits
{
	my ($self, $name, $now) = @_;
	my @line = $self->line($name);
	my $is_free = sub { $self->{project}{ $_[0] }{mode} eq 'NOLIMIT' };
	my @limits = grep { !$is_free->($_) && $self->own_since($_) <= $now } @line;

	return if $is_free->($name);
	@limits = ($line[-1]) if !@limits && !grep { $is_free->($_) } @line;
	return @limits;
}

# Return the amount that a project may still spend, or undef if nothing limits it. It is the lowest remaining amount
# of the budgets that limit the project, each with its credit limit.
sub available
{
	my ($self, $name, $now) = @_;
	my @rests = map { $self->balance($_, $now, $now)->{remaining} + $self->{project}{$_}{limit} } $self->limits($name, $now) or return;
	my ($least, @others) = @rests;

	$least = least($least, $_) foreach @others;
	return $least;
}

# Return the amount left of a budget at an instant, including its credit limit and held credit.
sub unspent
{
	my ($self, $name, $now, $at) = @_;

	return $self->grants_at($name, $now, $at)->{granted} - $self->spent($name, $now, $at) + $self->{project}{$name}{limit};
}

# Return whether something was left of a budget at any instant of its time of grace. A balance is linear
# between two events.
sub is_in_grace
{
	my ($self, $name, $now) = @_;
	my $since = $now - $self->{project}{$name}{grace};
	my $pieces = $self->pieces($now, [ $self->family($name) ]);
	my %instants = map { $_ => 1 } $since, grep { $since < $_ && $_ <= $now } map({ @{$_}{qw(begins expires leaves)} } $self->terms($name)), map { @{$_}[ 0, 1 ] } @$pieces;

	return grep { $self->unspent($name, $now, $_) > 0 } sort { $b <=> $a } keys %instants;
}

# Return the action that exhausted_work must show for a project, with the remaining amount, or nothing if there is
# none.
sub action
{
	my ($self, $name, $now) = @_;
	my @policies = qw(allow refuse_submission drain stop);
	my ($strictest, $least) = (0);

	foreach my $limit ($self->limits($name, $now))
	{
		my $unspent = $self->unspent($limit, $now, $now);
		my $policy = 0;

		$least = !defined $least ? $unspent : least($least, $unspent);
		next if $unspent > 0;
		foreach my $member ($self->line($name))
		{
			my $known = $self->{project}{$member};

			$policy = max($policy, grep { $policies[$_] eq $known->{policy} } 0 .. 3) if $known->{mode} ne 'NOLIMIT';
			last if $member eq $limit;
		}
		$policy = 1 if $policy > 1 && $self->{project}{$limit}{grace} && $self->is_in_grace($limit, $now);
		$strictest = max($strictest, $policy);
	}
	return $strictest > 1 ? ($policies[$strictest], $least) : ();
}

#
# Transfers
#

# Return the sum of the remaining amounts of grants that can be transferred, without held credit. Pairs of grant and
# remaining amount follow, in spending order.
sub transferable
{
	my ($self, $name, $now, @ids) = @_;
	my $left = $self->grants_at($name, $now, $now)->{left};
	my %grants = map { $_->{id} => $_ } @{ $self->{grant} };
	my @parts = map { [ $grants{$_}, $left->{$_} ] } sort { $grants{$a}{expires} <=> $grants{$b}{expires} || $a <=> $b } grep { $left->{$_} > 0 } @ids ? grep({ exists $left->{$_} } @ids) : keys %$left;
	my $sum = zero();

	$sum = $sum + $_->[1] foreach @parts;
	return (positive(least($sum, $self->balance($name, $now, $now)->{remaining})), @parts);
}

# Divide an amount into pairs of grant and amount.
sub parts_of
{
	my ($amount, @parts) = @_;
	my @moved;

	foreach my $part (@parts)
	{
		my $moved = least($amount, $part->[1]);

		push @moved, [ $part->[0], $moved ] if $moved > 0;
		$amount = $amount - $moved;
	}
	return @moved;
}

1;
