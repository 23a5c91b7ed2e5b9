#!/usr/bin/env perl
#
# The clock moves forward while everything happens. Prices, factors and rules are published at or before their
# instant. Outages are reported before, during and after. Events arrive late, at once or ahead of the clock, and the
# clock sometimes goes back. The figures at each time must be right for the events that have arrived so far.
#
use strict;
use warnings;
use FindBin;
use List::Util;
use lib $FindBin::Bin;
use Test::More;
use Trial;

# Less than yquota.max_clock_skew.
use constant AHEAD => 4 * History::MINUTE;

my ($seed, $histories) = Trial::plan_run(30);

# Return the time at which something about an instant is sent: the instant itself, or a later time
# in the window.
sub later
{
	my ($history, $at, $promptness) = @_;

	return History::chance($promptness) ? $at : History::between($at, $history->{to});
}

# Return the time at which an event arrives: some time before it happens, the time of the clock, or
# a time as in later().
sub arrival
{
	my ($history, $at, $promptness) = @_;

	return later($history, $at, $promptness) if History::chance(0.8);
	return History::between(List::Util::max($history->{from}, $at - AHEAD), $at);
}

# Return whether some of the arrived events lie ahead of the clock.
sub is_settled_ahead
{
	my ($trial) = @_;

	return ($trial->{latest_event} // 0) > $trial->{clock};
}

# Return an instant at or before another.
sub earlier
{
	my ($history, $at) = @_;

	return History::chance(0.5) ? $at : History::between($history->{from}, $at);
}

# Return whether a container with padding finished at that instant, because a point there may then
# be too late.
sub padded_finish_at
{
	my ($trial, $at) = @_;

	return scalar grep {
		$_->{FINISH} && $_->{FINISH}{at} == $at
	} values %{ $trial->{model}{container} };
}

# Repeat the START of a running container, as a recovering resource manager does. It may have an
# allocation that is new to yquota, which then counts as an UPDATE now.
sub repeat_start
{
	my ($trial) = @_;
	my $model = $trial->{model};
	my $now = $trial->{clock};
	my %taken_at = map { ("$_->{id} $_->{at}" => 1) } @{ $trial->{history}{events} };
	my @running = grep {
		$model->{container}{$_}{START} && !$model->{container}{$_}{FINISH} && !is_settled_ahead($trial)
		  && !$taken_at{"$_ $now"}
	} sort keys %{ $trial->{taken} };
	my $id = History::pick(@running) or return;
	my $start = $model->{container}{$id}{START};
	my @segments = Model::segments($model->{container}{$id}, $now);
	my $held = $segments[-1][2];
	my $allocation = History::pick($start->{allocation}, $held->{allocation}, History::random_allocation());
	my $text = canonical($allocation);

	$trial->log_sql($trial->{session}, History::insert_statement({ %$start, allocation => $allocation }));
	# a START that became an UPDATE is known when it is repeated
	return if $text eq canonical($start->{allocation}) || $text eq canonical($held->{allocation})
	  || $trial->{repeated}{$id}{$text}++;
	$model->take({ event => 'UPDATE', id => $id, at => $now, allocation => $allocation });
	return;
}

# Return the text of an allocation without amounts of zero.
sub canonical
{
	my ($allocation) = @_;

	return join(',', map { $allocation->{$_} ? "$_=$allocation->{$_}" : () } sort keys %$allocation);
}

sub play
{
	my ($trial) = @_;
	my $history = $trial->{history};
	my $session = $trial->{session};
	my $promptness = History::pick(1, 0.8, 0.3);
	my @actions;

	foreach my $event (@{ $history->{events} })
	{
		push @actions, [ arrival($history, $event->{at}, $promptness), event => $event ];
		push @actions, [ later($history, $event->{at}, 0), event => $event ] if History::chance(0.1);
	}
	push @actions, [ earlier($history, $_->[1]), change => $_ ] foreach @{ $history->{changes} };
	foreach my $outage (@{ $history->{outages} })
	{
		push @actions, [ History::pick(
			earlier($history, $outage->[1]),
			later($history, $outage->[1], 0),
			later($history, $outage->[2], 0.5)), outage => $outage ];
	}
	push @actions, [ $history->instant, $_ ]
	  foreach map { History::pick(qw(compact check compute repeat_start late_change step_back relabel relabel)) } 1 .. History::between(1, 8);

	$trial->log_sql($session, "SET yquota.on_bad_event = 'set_aside'");
	$trial->add_nodes;
	@actions = sort { $a->[0] <=> $b->[0] } History::shuffle(@actions);
	while (my $action = shift @actions)
	{
		my ($at, $kind, $subject) = @$action;

		$trial->set_clock($at) if $at > $trial->{clock};
		if ($kind eq 'event')
		{
			my @events = ($subject);

			push @events, (shift @actions)->[2]
			  while @actions && $actions[0][1] eq 'event' && $actions[0][2]{at} <= $at && History::chance(0.6);
			$trial->deliver($session, History::statement(@events), @events);
			$trial->{latest_event} = List::Util::max($trial->{latest_event} // 0, map { $_->{at} } @events);
		}
		elsif ($kind eq 'change')
		{
			$trial->change($subject, is_settled_ahead($trial) || padded_finish_at($trial, $subject->[1]));
		}
		elsif ($kind eq 'late_change')
		{
			my $change = $history->random_change;

			$trial->change($change, 1) if $change->[0] =~ /^(?:multiplier|base_price)$/;
		}
		elsif ($kind eq 'outage')
		{
			$trial->report_outage($subject);
		}
		elsif ($kind eq 'compact')
		{
			$trial->log_sql($session, 'SELECT yquota_internal.compact_counters()');
		}
		elsif ($kind eq 'compute')
		{
			my $event = { event => 'COMPUTE', at => $at };

			$trial->deliver($session, History::statement($event), $event);
		}
		elsif ($kind eq 'relabel')
		{
			$trial->relabel;
		}
		elsif ($kind eq 'repeat_start')
		{
			repeat_start($trial);
		}
		elsif ($kind eq 'step_back')
		{
			$trial->set_clock(History::between(List::Util::max($history->{from}, $at - History::pick(AHEAD, 2 * History::HOUR)), $at));
			$trial->check('with the clock back');
			return if $trial->{mismatches};
			$trial->set_clock($at);
		}
		else
		{
			$trial->check('on the way at ' . History::timestamp($at));
			return if $trial->{mismatches};
		}
	}
	$trial->set_clock($history->{to});
	$trial->check('at the end');
	return;
}

is(Trial::run_histories($seed, $histories, \&play), 0, "$histories histories with changes on the way");
done_testing();
