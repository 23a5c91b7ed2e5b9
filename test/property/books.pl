#!/usr/bin/env perl
#
# Months in the life of the books. Projects get credit that begins, expires, is held and taken back. Applications hold
# credit from their submission on, and are moved and ended. Events of containers come late. Containers are changed,
# ended again, moved and voided, while prices, factors, rules and outages change. Agents of nodes start containers, let
# them wait, and stop them to make room for others. Steps that end a month follow again and again, in open and in closed
# periods: close_period(), forgive(), rerate(), seal_history(), archive().
#
# After each of these steps verify() finds nothing. A report is the same as before if the step changes nothing, or it
# refuses instants before the archive horizon as docs/reference.md describes. Reports agree with the models: Model.pm
# for charges, Credit.pm for the rest. A report about a bill is the same as when the bill was issued.
#
# The test plays a failing history again without some of its steps, as long as it fails in the same way. It shows the
# remaining steps as SQL.
#
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin, "$FindBin::Bin/../t";
use List::Util qw(max min);
use Test::More;
use Credit;
use History;
use Model;
use Reports;
use Session;
use Soak;
use Trial;

my ($seed, $histories) = Trial::plan_run(3);
my $template = "yquota_books_$$";
my $member = "${template}_member";
my $first_instant = 1_772_236_800 * History::SECOND;
my (%count, $life);

sub pick { return History::pick(@_); }
sub chance { return History::chance(@_); }
sub between { return History::between(@_); }
sub at { return Reports::instant($_[0]); }

#
# A history is a list of steps [kind, ...], which do not depend on earlier results. A step that is
# impossible because another step was left out is skipped.
#
my %terms = (
	cheap => [ '{"base_prices": {"vcores": 0.5}}', '{"base_prices": {"vcores": 0.50}}', '{"base_prices": {"vcores": {"base_price": 0.5}}}', '{"base_prices":{"vcores":{"unit":1,"base_price":0.500}}}' ],
	dear => [ '{"base_prices": {"vcores": 3, "memory-mb": 2}}', '{"base_prices": {"memory-mb": 2.0, "vcores": 3}}' ],
	summed => [ '{"charging_mode": "sum"}', '{"charging_mode":"sum","factors":[]}' ]);
my %terms_prices = (cheap => { vcores => '0.5' }, dear => { vcores => '3', 'memory-mb' => '2' });

sub small_allocation
{
	my %allocation = (vcores => between(1, 4));

	return {} if chance(0.03);
	$allocation{'memory-mb'} = 512 * between(0, 12) if chance(0.6);
	$allocation{'yarn.io/gpu'} = between(1, 2) if chance(0.2);
	return \%allocation;
}

sub random_price { return pick('1', '0', '0.5', '2', '1.000000000000000001', '0.333333333333333333', sprintf('%.3f', rand 3)); }

# Return the quota mode, on_exhausted, credit limit and time of grace of a project.
sub random_project
{
	return (chance(0.85) ? 'PREPAID' : 'NOLIMIT', pick(qw(allow refuse_submission drain stop stop)), chance(0.5) ? 0 : pick('0.5', '20000.000001', between(1, 100_000)),
		chance(0.5) ? 0 : pick(1, between(1, 50) * History::MINUTE, between(1, 30 * History::HOUR)));
}

sub random_life
{
	my $from = $first_instant + pick(0, 0, between(0, 23) * History::HOUR, between(0, History::DAY));
	my @tree = (map({ [ $_, undef ] } qw(a b)), map({ [ "a.$_", 'a' ] } qw(x y)), [ 'a.x.z', 'a.x' ]);
	my @projects = grep { $_->[0] eq 'a' || $_->[0] eq 'a.x' || chance(0.6) } @tree;
	my $new = bless {
		name => 'm', from => $from, to => $from + 1, pool => [$from],
		projects => [ map { $_->[0] } @projects ],
		queues => [ 'root.q', 'root.q.r', 'root.s', undef ],
		users => [qw(ann bob)],
		applications => [ 'app1', 'app2', 'app3', undef ],
	}, 'History';

	$new->{steps} = [ [ 'clock', $from ], map { [ 'project', @$_, random_project() ] } @projects ];
	$new->{horizon} = $from;
	$new->{known} = {};
	return $new;
}

sub add { my @step = @_; push @{ $life->{steps} }, \@step; return; }

# Return an instant that is not in archived history.
sub past_instant
{
	local $life->{from} = max($life->{from}, $life->{horizon}, chance(0.5) ? $life->{to} - between(1, 30) * History::HOUR : 0);

	return $life->instant;
}

sub go_on
{
	my ($by) = @_;

	$life->{to} += $by // pick(
		sub { between(1, 50) * History::MINUTE },
		sub { between(1, 6) * History::HOUR },
		sub { History::HOUR - ($life->{to} - 1) % History::HOUR },
		sub { History::DAY - ($life->{to} - 1) % History::DAY },
		sub { between(1, 10 * History::HOUR) },
		sub { 26 * History::HOUR })->();
	push @{ $life->{pool} }, $life->{to} - 1;
	add('clock', $life->{to} - 1);
	return;
}

# Add a container with its events, some of which arrive later.
sub random_container
{
	my $number = ++$life->{containers};
	local $life->{from} = max($life->{from}, $life->{horizon}, chance(0.7) ? $life->{to} - between(1, 40) * History::HOUR : 0);
	my @events = $life->random_container($number);
	my $holder = $life->{holder} && chance(0.5) ? $life->{holder} : [ @{ $events[0] }{qw(project application)} ];

	@events = grep { $_->{event} ne 'FINISH' } @events if chance(0.3);
	$events[0]{application} = $holder->[1];
	foreach my $event (@events)
	{
		$event->{project} = $holder->[0];
		$event->{allocation} = small_allocation() if defined $event->{allocation};
		$event->{source} = 'feed' if !defined $event->{source};
		delete $event->{owner_in_username};
	}
	$life->{known}{ $events[0]{id} } = \@events;
	return @events;
}

# Add further events of a known container.
sub random_sequel
{
	my ($id) = @_;
	my $events = $life->{known}{$id};
	my ($start) = @$events;
	my %common = (id => $id, project => $start->{project}, without_project => 1, source => 'feed');
	my $at = chance(0.5) ? past_instant() : between($start->{at}, $life->{to} - 1);
	my %taken = map { ($_->{at} => 1) } @$events;
	my $event;

	return () if $at < $start->{at} || $taken{$at};
	if (chance(0.4))
	{
		$event = { %common, event => 'FINISH', at => $at, exit_status => pick(0, 143, -100, undef, -102, -102), source => pick('feed', 'scheduler', 'node_lost') };
	}
	else
	{
		$event = { %common, event => 'UPDATE', at => $at, allocation => chance(0.7) ? small_allocation() : undef,
			queue => chance(0.3) ? pick(@{ $life->{queues} }) : undef,
			node => chance(0.2) ? 'node2' : undef,
			execution_type => chance(0.2) ? pick('GUARANTEED', 'OPPORTUNISTIC') : undef,
			is_running => chance(0.5) ? pick(0, 1) : undef };
	}
	push @$events, $event;
	return $event;
}

sub add_events
{
	my @events = splice @{ $life->{late} }, 0, between(0, scalar @{ $life->{late} ||= [] });

	foreach (1 .. between(1, 3))
	{
		my ($start, @others) = random_container();
		my @later = grep { chance(0.3) } @others;
		my %is_later = map { $_ => 1 } @later;

		push @{ $life->{late} }, @later;
		push @events, grep { !$is_later{$_} } $start, @others;
	}
	push @events, map { random_sequel(pick(sort keys %{ $life->{known} })) } 1 .. between(0, 3);
	@events = History::shuffle(@events) if chance(0.5);
	@{ $life->{late} } = History::shuffle(@{ $life->{late} });
	while (@events)
	{
		add('events', splice @events, 0, between(1, 8));
	}
	return;
}

sub add_grant
{
	my $kind = pick(qw(grant grant refund correction correction budget));
	my $now = $life->{to} - 1;

	add('grant', pick(@{ $life->{projects} }), chance($kind eq 'correction' ? 0.6 : 0.15) ? -between(1, 20_000) : between(1, pick(50_000, 1_000_000, 10_000_000)), $kind,
		chance(0.7) ? undef : chance(0.5) ? past_instant() : $now + between(1, 30 * History::HOUR),
		chance(0.5) ? undef : $now + pick(between(1, 50) * History::MINUTE, History::HOUR, between(1, 30 * History::HOUR)));
	return;
}

sub add_calendar
{
	my $name = pick('night', 'day');

	add('calendar', pick('GENERAL', 'GPU'), $name, chance(0.2) ? undef : Calendar::random($name, $life->{to}, $life->{to} + 3 * History::DAY));
	return;
}

sub add_change
{
	return add_calendar() if chance(0.2);
	my $at = chance(0.7) ? $life->{to} - 1 : chance(0.5) ? $life->{to} - 1 + between(1, 20 * History::HOUR) : past_instant();

	add('change', pick(
		sub { [ 'multiplier', $at, pick('GENERAL', 'GENERAL', 'GPU'), random_price() ] },
		sub { my $type = pick([ 'memory-mb', 1024 ], [ 'vcores', 1 ], [ 'yarn.io/gpu', 1 ]); [ 'base_price', $at, $type->[0], random_price(), $type->[1] ] },
		sub {
			my $dimension = pick(qw(queue application username project label label execution_type));
			my $name = { queue => 'root.q', application => 'app1', username => 'ann', project => pick(@{ $life->{projects} }), label => pick(qw(gpu spot)), execution_type => 'OPPORTUNISTIC' }->{$dimension};

			[ 'factor', $at, $dimension, $name, pick('0', '1', '0.5', '1.25', '0.000001', 'NULL') ];
		},
		sub { [ 'rule', $at, pick(0, 10 * History::SECOND, between(1, 30 * History::MINUTE)), History::random_free_time(), History::random_waiting_factor(), History::random_mode() ] },
		sub { [ 'mode', $at, pick(@{ $life->{projects} }), History::random_project_mode() ] })->());
	return;
}

sub add_relabel
{
	my ($from, $to) = sort { $a <=> $b } past_instant(), past_instant();

	return add('relabel', pick(qw(node1 node2)), pick('', 'gpu', 'spot')) if chance(0.7);
	add('past label', pick(qw(node1 node2)), $from, $to, pick('', 'gpu', 'spot', 'plain'));
	return;
}

sub add_outage
{
	my $near = chance(0.5) ? $life->{closed} : undef;
	my ($from, $to) = sort { $a <=> $b } map { defined $near ? min($life->{to} - 1, max($life->{horizon}, $near + between(-120, 60) * History::MINUTE)) : past_instant() } 1 .. 2;

	$from = $life->{to} - 1 - between(1, 40 * History::HOUR) if chance(0.1);
	add('outage', pick(qw(forgive forgive report)), chance(0.6) ? undef : pick(@{ $life->{projects} }), $from, max($to, $from + 1));
	return;
}

sub add_rerate
{
	my ($from, $to) = @{ $life->{rerated} && chance(0.6) ? $life->{rerated} : [ sort { $a <=> $b } past_instant(), past_instant() ] };
	my $which = pick(sort keys %terms);

	$life->{rerated} = [ $from, $to ];
	add('rerate', $from, $to, $which, pick(@{ $terms{$which} }), chance(0.7) ? undef : pick(@{ $life->{projects} }));
	return;
}

sub add_transfer
{
	my %is_known = map { $_ => 1 } @{ $life->{projects} };
	my @allowed = grep { $is_known{ $_->[0] } && $is_known{ $_->[1] } } [qw(a b)], [qw(b a)], [qw(a.x a.y)], [qw(a.y a.x)];
	my ($from, $to) = @allowed && chance(0.85) ? @{ pick(@allowed) } : History::shuffle(@{ $life->{projects} });

	return if !defined $to;
	# most projects have spent all their grants
	add('grant', $from, between(1, pick(2_000, 10_000_000)), 'grant', undef, chance(0.5) ? undef : $life->{to} - 1 + between(1, 30) * History::HOUR)
	  foreach 1 .. between(0, 3);
	add('transfer', $from, $to, chance(0.4) ? undef : between(1, pick(2_000, 100_000)), 'erp-' . ++$life->{transfers}, chance(0.3));
	return;
}

sub add_hold
{
	my @holder = (pick(@{ $life->{projects} }), pick(qw(app1 app2 app3)));

	@holder = @{ pick(@{ $life->{submitted} }) } if $life->{submitted} && chance(0.3);
	$life->{holder} = \@holder;
	add('hold', @holder, between(1, pick(2_000, 100_000)), pick(between(1, 50) * History::MINUTE, 3 * History::HOUR, 60 * History::HOUR));
	return;
}

# Return containers that an application expects: rows of container_request.
sub random_expected
{
	return map { {
		place => chance(0.1) ? pick(qw(node1 /r)) : pick('*', undef), allocation => small_allocation(), count => between(0, 4), label => chance(0.2) ? pick(qw(gpu spot)) : undef,
		execution_type => chance(0.2) ? 'OPPORTUNISTIC' : undef, duration => chance(0.3) ? undef : pick(1, between(1, 60) * History::MINUTE, between(1, 30 * History::HOUR)) } } 1 .. between(1, 3);
}

# Add an application whose submission holds credit, sometimes after a dry run or repeated.
sub add_submission
{
	my $id = 'held_' . ++$life->{submissions};
	my $project = pick(@{ $life->{projects} });
	my %terms = (queue => pick(qw(root.q.r root.s root.t root.t)), lifetime => chance(0.3) ? undef : pick(between(1, 100), between(60, 40 * 3600)));

	$terms{expected} = [ random_expected() ] if chance(0.7);
	$terms{by_quote} = 1 if chance($terms{expected} ? 0.8 : 0.1);
	$terms{amount} = between(1, pick(2_000, 100_000)) if !$terms{by_quote} || chance(0.2);
	push @{ $life->{submitted} }, [ $project, $id ];
	$life->{holder} = $life->{submitted}[-1];
	add('grant', $project, between(1, pick(100_000, 100_000_000)), 'grant', undef, chance(0.5) ? undef : $life->{to} - 1 + between(1, 30) * History::HOUR)
	  foreach 1 .. between(0, 3);
	add('submit', $project, $id, \%terms);
	add_events() if chance(0.5);
	add_sequel_of_submission() foreach 1 .. between(0, 2);
	return;
}

# Add a change of an application whose submission holds credit.
sub add_sequel_of_submission
{
	return add_submission() if !$life->{submitted};
	my $id = pick(@{ $life->{submitted} })->[1];

	go_on(History::SECOND) if chance(0.7);
	pick(
		sub { add('end', $id, pick(qw(FINISHED FAILED KILLED))) },
		sub { add('move', $id, pick(qw(root.q.r root.s root.t))) },
		sub { add('lifetime', $id, pick(between(1, 100), between(60, 40 * 3600))) },
		sub { add('submit again', $id) })->();
	return;
}

# Add a container that the scheduler has just placed on a node.
sub add_placed
{
	my $id = 'placed_' . ++$life->{containers};
	my $type = pick(qw(GUARANTEED OPPORTUNISTIC OPPORTUNISTIC));
	my $start = { id => $id, event => 'START', at => $life->{to} - 1, project => pick(@{ $life->{projects} }), username => pick(@{ $life->{users} }),
		application => pick(@{ $life->{applications} }), queue => pick(@{ $life->{queues} }), node => pick(qw(node1 node2)), allocation => small_allocation(),
		execution_type => $type, is_running => $type eq 'GUARANTEED' ? 1 : 0, source => 'scheduler' };

	$life->{known}{$id} = [$start];
	add('events', $start);
	return;
}

# Add calls of nodes' agents. Their containers and nodes depend on the state at the time of the call.
sub add_node_calls
{
	foreach (1 .. between(2, 12))
	{
		go_on(History::SECOND);
		add_placed() if chance(0.6);
		add('node call', pick(qw(arrive arrive arrive arrive arrive ended ended done advance shed change recover lost)), between(0, 20),
			chance(0.7) ? undef : past_instant(), pick(0, 143, -108));
	}
	go_on(History::SECOND);
	return;
}

sub add_tag { return add('tag', pick(qw(app1 app2 app3), map { $_->[1] } @{ $life->{submitted} // [] }), pick(qw(team env)), pick('a', 'b', '')); }

# Add a step that may happen at any time.
sub add_anything
{
	pick(
		\&add_events, \&add_events, \&add_events, \&add_grant, \&add_grant, \&add_change, \&add_change, \&add_outage, \&add_rerate,
		\&add_hold, \&add_hold, \&add_submission, \&add_submission, \&add_sequel_of_submission, \&add_sequel_of_submission, \&add_transfer, \&add_transfer, \&add_transfer, \&add_relabel, \&add_relabel, \&add_node_calls, \&add_node_calls, \&add_tag,
		sub { add('reverse', between(0, 3)) },
		sub { add('release', between(0, 3)) },
		sub { add('void', pick(sort keys %{ $life->{known} })) if %{ $life->{known} } },
		sub { add('same price', pick(qw(GPU GENERAL)), past_instant()) },
		sub { add('budget', pick(@{ $life->{projects} }), pick(qw(day day month)), between(1000, 50_000), chance(0.3)) },
		sub { add('replay', between(1, 4), between(0, 3)) },
		sub { add(pick(qw(compute compact roll_up seal))) },
		sub { go_on() },
		sub { go_on(History::SECOND); add('move', 'app1', pick(qw(root.q.r root.s))) },
		sub { add('check') })->();
	return;
}

# Close a period in which no event of running containers arrives at the end, and forgive time before
# its end.
sub add_quiet_night
{
	my $evening = $life->{to} - 1;

	go_on(between(1, 10) * History::HOUR);
	my $until = between($evening + 1, $life->{to} - 1);
	my ($from, $to) = sort { $a <=> $b } map { between($evening, $until) } 1 .. 2;

	add('close', $until, 1000);
	$life->{closed} = $until;
	add('outage', pick(qw(forgive report)), undef, $from, max($to, $from + 1));
	return;
}

# Add some of the steps that end a month.
sub add_ending
{
	add_quiet_night() if chance(0.3);
	if (chance(0.6))
	{
		my $until = chance(0.3) ? $life->{to} - 1 : past_instant();

		add('close', $until, pick(1, 2, 1000));
		$life->{closed} = $until;
	}
	go_on() if chance(0.4);
	add_anything() if chance(0.5);
	add_outage() if chance(0.6);
	add_rerate() if chance(0.2);
	add_anything() if chance(0.4);
	add('compute') if chance(0.5);
	add($_) foreach grep { chance(0.4) } qw(compact roll_up);
	go_on() if chance(0.3);
	add('seal') if chance(0.8);
	if (chance(0.7))
	{
		$life->{horizon} = $life->{to} - 1;
		go_on(History::SECOND);
		add('archive', 'ledger');
		add('archive', 'log') if chance(0.6);
		add('roll_up') if chance(0.4);
		go_on(pick(1, History::MINUTE, History::HOUR)) if chance(0.7);
	}
	add_node_calls() if chance(0.4);
	return;
}

sub random_history
{
	$life = random_life();
	go_on(between(1, 3) * History::HOUR);
	add('nodes', between(2, 8), between(0, 3), pick('BY_QUEUE_LEN', 'BY_RESOURCES'), chance(0.5));
	add_grant() foreach 1 .. between(1, 4);
	add('change', [ 'rule', $first_instant, pick(0, 10 * History::SECOND), History::random_free_time(), History::random_waiting_factor(), History::random_mode() ]) if chance(0.6);
	add_change() foreach 1 .. between(0, 3);
	add_tag() foreach 1 .. between(0, 4);
	foreach (1 .. between(1, 4))
	{
		go_on();
		add_events();
		add_relabel() foreach 1 .. between(0, 2);
		add_anything() foreach 1 .. between(1, 5);
		add_submission() if chance(0.6);
		add_ending();
	}
	add('check');
	return @{ $life->{steps} };
}

#
# Playing them
#
my ($session, $model, $credit, %now);

sub mismatch { push @{ $now{mismatches} }, @_; return; }

sub run
{
	my ($sql) = @_;

	push @{ $now{log} }, $sql;
	return $session->run($sql);
}

# Return the result of a statement, or the SQLSTATE with which it fails.
sub attempt
{
	my ($sql) = @_;
	my ($answer, $error) = $session->attempt($sql);

	push @{ $now{log} }, defined $error ? "$sql -- fails" : $sql;
	return ($answer, defined $error ? ($error =~ /ERROR:  (\w{5}):/)[0] : '', $error // '');
}

sub ids { return grep { $model->{container}{$_}{START} } sort keys %{ $model->{container} }; }

# Return the cost of each project's own containers in a window, from all known events.
sub own_costs
{
	my ($from, $to, $with) = @_;
	my %costs;

	foreach my $id (ids())
	{
		my $project = $model->{container}{$id}{START}{project};
		my $cost = Model::cost(($with // $model)->pieces($id, $now{clock}), $from, $to);

		$costs{$project} = ($costs{$project} // Credit::zero()) + $cost;
	}
	return \%costs;
}

sub no_zeros
{
	my ($amounts) = @_;

	return { map { ($_ => Model::text($amounts->{$_})) } grep { !$amounts->{$_}->is_zero } keys %$amounts };
}

# Return the remaining differences of amounts, by key.
sub less
{
	my ($these, $those) = @_;

	return { map { ($_ => ($these->{$_} // Credit::zero()) - ($those->{$_} // Credit::zero())) } keys %{ { %$these, %$those } } };
}

sub value { my ($sql) = @_; my $answer = $session->run($sql); chomp $answer; return $answer; }
sub rows { my ($sql) = @_; return map { [ split /\|/, $_, -1 ] } split /\n/, $session->run($sql); }

# Read the grants, which are facts, but not their remaining amounts.
sub read_grants
{
	my $us = '(extract(epoch FROM %s) * 1000000)::bigint';

	$credit->{grant} = [ map { {
		id => $_->[0], project => $_->[1], amount => Model::amount($_->[2]), kind => $_->[3],
		takes_from => $_->[8] eq '' ? undef : $_->[8],
		begins => $_->[6] eq 't' ? $_->[4] : max($_->[4], $_->[7]), expires => $_->[6] eq 't' ? $_->[5] : max($_->[5], $_->[7]) } }
		rows(sprintf(q(SELECT g.grant_id, g.project, trim_scale(g.amount), g.kind,
			CASE WHEN isfinite(g.valid_from) THEN %1$s ELSE -%4$s END, CASE WHEN isfinite(g.expires_at) THEN %2$s ELSE %4$s END,
			b.grant_id IS NOT NULL, %3$s, g.takes_from
			FROM yquota.quota_grant AS g LEFT JOIN yquota_internal.budget_grant AS b USING (grant_id) ORDER BY 1),
			map({ sprintf $us, "g.$_" } qw(valid_from expires_at booked_at)), Model::FOREVER)) ];
	$credit->changed;
	return;
}

# Return whether an event may arrive in the known state.
sub is_possible
{
	my ($event) = @_;
	my $known = $model->{container}{ $event->{id} } // { update => {} };
	my $start = $known->{START};

	return 0 if $now{archived}{ $event->{id} } || $event->{at} > $now{clock};
	return !$start && $event->{at} >= $now{horizon} if $event->{event} eq 'START';
	return 0 if !$start && $event->{at} < $now{horizon};
	return 0 if $start && $event->{at} < $start->{at};
	return !$known->{update}{ $event->{at} } || $event->{event} eq 'FINISH';
}

# Return the first project and another one.
sub some_projects
{
	my ($number) = @_;
	my ($first, @others) = sort keys %{ $credit->{project} };

	return ($first, @others ? $others[ $number % @others ] : ());
}

sub asked
{
	my @instants = @{ $now{instants} };
	my @some = map { min($instants[ $#instants * $_ / 4 ], $now{clock}) } 0 .. 4;
	my ($first, $second) = ($some[1], $some[3]);
	my @quarters = map { Reports::QUARTER * int($_ / Reports::QUARTER) } @some[ 0, 2 ];

	return {
		windows => [ [ -Model::FOREVER, Model::FOREVER ], [ $first, max($first, $second) ], [ $quarters[0], max(@quarters) + Reports::QUARTER ], [ -Model::FOREVER, $some[2] ],
			$now{horizon} > 0 ? [ $now{horizon}, Model::FOREVER ] : () ],
		instants => [ $some[3], $now{horizon} > 0 ? $now{horizon} : (), $now{clock} ],
		periods => $now{periods}, horizon => $now{horizon}, now => $now{clock}, from => $now{from}, terms => $terms{cheap}[0], some => \&some_projects };
}

# Return the models' figures, by report and key.
sub expected
{
	my ($asked) = @_;
	my $clock = $now{clock};
	my %expected;

	read_grants();
	foreach my $name (sort keys %{ $credit->{project} })
	{
		my $balance = $credit->balance($name, $clock, $clock);
		my $grants = $credit->grants_at($name, $clock, $clock);
		my $holds = $credit->holds_at($name, $clock, $clock);
		my $available = $credit->available($name, $clock);

		$expected{balance}{"$name|$_"} = $balance->{$_} foreach keys %$balance;
		$expected{balance}{"$name|available"} = $available if defined $available;
		$expected{metrics}{"$name|yquota_project_${_}_credits"} = $balance->{$_} foreach keys %$balance;
		$expected{metrics}{"$name|yquota_project_available_credits"} = $available if defined $available;
		foreach my $id (map { $_->{id} } grep { $_->{project} eq $name } @{ $credit->{grant} })
		{
			$expected{grants}{"$name|$id|remaining"} = $grants->{left}{$id} if exists $grants->{left}{$id};
			$expected{grants}{"$name|$id|lost"} = $grants->{lost}{$id} if exists $grants->{lost}{$id};
		}
		foreach my $id (keys %$holds)
		{
			$expected{holds}{"$name|$id|$_"} = $holds->{$id}{$_} foreach qw(spent outstanding);
		}
		foreach my $at (grep { my $at = $_; grep { $_ eq $name } some_projects($at) } @{ $asked->{instants} })
		{
			my $past = $credit->balance($name, $clock, $at);

			$expected{"balance_at $at"}{"$name|$_"} = $past->{$_} foreach keys %$past;
		}
	}
	foreach my $id (ids())
	{
		my $pieces = $model->pieces($id, $clock);
		my $project = $model->{container}{$id}{START}{project};

		$expected{containers}{"$project|$id|cost"} = Model::cost($pieces, -Model::FOREVER, Model::FOREVER);
		$expected{explained}{"$project|$id|cost"} = $expected{containers}{"$project|$id|cost"};
		add_windows(\%expected, $asked, $id, $project, $pieces);
		add_lost(\%expected, $asked, $id);
		add_days(\%expected, $project, $pieces);
	}
	return \%expected;
}

sub add_windows
{
	my ($expected, $asked, $id, $project, $pieces) = @_;

	foreach my $window (@{ $asked->{windows} })
	{
		my $name = join ' to ', "cost $window->[0]", $window->[1];
		my $costs = $expected->{$name} //= {};
		my $by_tag = $expected->{ $name =~ s/cost/cost by tag/r } //= {};

		$expected->{"container $name"}{"$project|$id"} = Model::cost($pieces, @$window);
		foreach my $piece (@$pieces)
		{
			my $cost = Model::cost([$piece], @$window);
			my $key = join('|', $project, map { $_ // '' } @{ $piece->[3] }{qw(username queue application execution_type)});

			next if $cost->is_zero;
			$costs->{$key} = ($costs->{$key} // Credit::zero()) + $cost;
			$key = join('|', $project, map { $now{tags}{ $piece->[3]{application} // '' }{$_} // 'untagged' } qw(team env));
			$by_tag->{$key} = ($by_tag->{$key} // Credit::zero()) + $cost;
		}
	}
	return;
}

# Add the losses by preemption of containers that ended in the windows.
sub add_lost
{
	my ($expected, $asked, $id) = @_;
	my ($gross, $given_back) = $model->lost($id, $now{clock}) or return;
	my $container = $model->{container}{$id};
	my ($held) = map { $_->[2] } (Model::segments($container, $now{clock}))[-1];
	my $key = join('|', map { $_ // '' } @$held{qw(project username queue)});

	foreach my $window (grep { $_->[0] <= $container->{FINISH}{at} && $container->{FINISH}{at} < $_->[1] } @{ $asked->{windows} })
	{
		my $lost = $expected->{ join ' to ', "preempted $window->[0]", $window->[1] } //= {};
		my %amounts = (containers => Model::amount(1), gross => $gross, given_back => $given_back);

		$lost->{"$key|$_"} = ($lost->{"$key|$_"} // Credit::zero()) + $amounts{$_} foreach keys %amounts;
	}
	$count{preempted}++;
	$count{free}++ if !$given_back->is_zero;
	return;
}

sub add_days
{
	my ($expected, $project, $pieces) = @_;

	for (my $day = int($now{from} / History::DAY); $day * History::DAY <= $now{clock}; $day++)
	{
		my $midnight = $day * History::DAY;
		my $cost = Model::cost($pieces, $midnight, $midnight + History::DAY);
		my $key = "$project|" . substr(History::timestamp($midnight), 0, 10);

		next if $cost->is_zero;
		$expected->{cost_by_day}{$key} = ($expected->{cost_by_day}{$key} // Credit::zero()) + $cost;
		$expected->{daily_cost}{$key} = $expected->{cost_by_day}{$key};
	}
	return;
}

# Return whether a time of grace that ends now begins in archived history, of which only quarter-hours
# are known.
sub grace_is_archived { return grep { $now{clock} - $_->{grace} < $now{horizon} } values %{ $credit->{project} }; }

# Remove from an answer the values that are not reported after history has been archived.
sub told_still
{
	my ($report, $answer) = @_;

	return $answer if !ref $answer;
	return {} if $report->{graces} && grace_is_archived();
	return { map { ($_ => $answer->{$_}) } grep {
		my (undef, $second) = split /\|/;

		$report->{leaves} ? !$now{archived}{ $second // '' }
		  : $report->{ranks} ? !/\|(?:previous|growth)$/ : 1
	} keys %$answer };
}

# Compare all reports with their answers before, if nothing has changed since, and with the models.
sub check
{
	my ($what, $before) = @_;
	my $asked = asked();
	my @reports = Reports::all($asked);
	my $answers = Reports::answers($session, @reports);
	my $expected = expected($asked);

	$count{checks}++;
	mismatch(map { "$what: verify: " . join(', ', @$_) } rows('SELECT * FROM yquota.verify()'));
	foreach my $report (@reports)
	{
		my $name = $report->{name};
		my $answer = $answers->{$name};

		$count{reports}++;
		if ($report->{refused})
		{
			mismatch("$what: $name should be refused, says " . (ref $answer ? 'something' : $answer)) if ref $answer || $answer !~ /^refused 22023/;
			next;
		}
		$answer = told_still($report, $answer) if $now{horizon} > 0;
		if (!ref $answer)
		{
			mismatch("$what: $name: $answer");
			next;
		}
		if ($before && ref $before->{$name})
		{
			my $old = $now{horizon} > 0 ? told_still($report, $before->{$name}) : $before->{$name};

			$old = { %$answer, %$old } if $report->{grows};
			mismatch(map { "$what: before: $_" } Reports::differences($name, $old, $answer));
		}
		compare_with_model($what, $report, $expected->{$name}, $answer);
	}
	compare_bills($what, $answers);
	compare_exhausted($what, $answers) if !grace_is_archived();
	compare_identities($what, $answers);
	return $answers;
}

sub compare_with_model
{
	my ($what, $report, $expected, $answer) = @_;

	return if !$expected && $report->{name} !~ /^(?:container )?cost|^daily|^preempted/;
	$expected = told_still($report, $expected // {}) if $now{horizon} > 0;
	foreach my $key (sort keys %{ { %{ $expected // {} }, $report->{name} =~ /^(?:container )?cost|^daily|^preempted/ ? %$answer : () } })
	{
		my ($want, $got) = (defined $expected->{$key} ? Model::text($expected->{$key}) : 'nothing', $answer->{$key} // 'nothing');

		mismatch("$what: model: $report->{name}: $key: $want, found $got") if $want ne $got && "$want $got" ne '0 nothing';
	}
	return;
}

# Test that no bill has changed since it was issued.
sub compare_bills
{
	my ($what, $answers) = @_;

	foreach my $name (sort keys %{ $now{bills} })
	{
		mismatch(map { "$what: issued: $_" } Reports::differences($name, $now{bills}{$name}, $answers->{$name}));
	}
	foreach my $name (grep { /^bill .* in detail|^issued bill/ } sort keys %$answers)
	{
		$now{bills}{$name} //= $answers->{$name};
	}
	return;
}

# Test that containers must be drained or stopped exactly when the time of grace is over.
sub compare_exhausted
{
	my ($what, $answers) = @_;
	my %expected;

	foreach my $name (sort keys %{ $credit->{project} })
	{
		my ($action, $left) = $credit->action($name, $now{clock});
		my $at = $answers->{acts}{"$name|acts_at"};

		if (defined $action)
		{
			$expected{$_} = "$action " . Model::text($left) foreach grep { $answers->{containers}{"$_|finished_at"} eq 'none' }
			  map { /^(\Q$name\E\|[^|]+)\|started_at$/ ? $1 : () } keys %{ $answers->{containers} };
			mismatch("$what: model: acts: $name: $now{clock}, found " . ($at // 'nothing')) if ($at // '') ne $now{clock};
			next;
		}
		next if !defined $at || $at !~ /^\d+$/;
		mismatch("$what: model: acts: $name: later than $now{clock}, found $at") if $at <= $now{clock};
		my @limits = $credit->limits($name, $now{clock});

		# the project is in the time of grace of its only budget
		next if @limits != 1 || $credit->unspent($limits[0], $now{clock}, $now{clock}) > 0;
		my $ended = $at - $credit->{project}{ $limits[0] }{grace};

		mismatch("$what: model: acts: $name: credit did not end at $ended")
		  if $credit->unspent($limits[0], $now{clock}, $ended) > 0 || $credit->unspent($limits[0], $now{clock}, $ended - 1) <= 0;
		$count{graces}++;
	}
	mismatch(map { "$what: model: $_" } Reports::differences('exhausted', \%expected, $answers->{exhausted}));
	return;
}

sub compare_identities
{
	my ($what, $answers) = @_;
	my $balance = $answers->{balance};
	my $sum = Credit::zero();

	$sum += Model::amount($balance->{"$_|spent"}) foreach grep { !defined $credit->{project}{$_}{parent} } sort keys %{ $credit->{project} };
	mismatch(map { my $name = $_; map { "$what: $name: $_: $answers->{$name}{$_}" } sort keys %{ $answers->{$name} } } grep { /^idle identity/ && ref $answers->{$_} } sort keys %$answers);
	mismatch("$what: identity: balances sum up to " . Model::text($sum) . ", all costs to $answers->{'grand total'}{''}")
	  if Model::text($sum) ne ($answers->{'grand total'}{''} // '0');
	my $last = "balance_at $now{clock}";

	foreach my $key (map { my $name = $_; map { "$name|$_" } qw(spent granted held remaining burn_rate) } some_projects($now{clock}))
	{
		mismatch("$what: identity: $key is $balance->{$key}, balance_at() at the clock says " . ($answers->{$last}{$key} // 'nothing'))
		  if $balance->{$key} ne ($answers->{$last}{$key} // '');
	}
	return;
}

# Test that a member of a project sees the same as the administrator of the project and its
# sub-projects, and nothing else.
sub compare_member
{
	my ($project) = @_;
	my %seen = map { $_ => 1 } $credit->family($project);
	my @reports = grep { !$_->{refused} && $_->{name} =~ /^(?:balance$|holds|grants|containers|daily_cost|cost|container cost|forecast|preempted|bill|node queues)/ } Reports::all(asked());

	$session->run("SELECT yquota.allow_role('$member', 'member', '$project'); SET ROLE $member");
	my $answers = Reports::answers($session, @reports);

	$session->run("RESET ROLE; SELECT yquota.disallow_role('$member', 'member', '$project')");
	foreach my $report (@reports)
	{
		my $name = $report->{name};
		my $all = $now{answers}{$name};
		my %own = map { ($_ => $all->{$_}) } grep { $seen{ (split /\|/)[0] } } keys %$all;

		mismatch(map { "member of $project: $_" } Reports::differences($name, \%own, $answers->{$name}));
	}
	$count{members}++;
	return;
}

# Do something that changes no report, and that may fail in only one way. Return whether it
# succeeded, and the reports before.
sub without_change
{
	my ($what, $sql, $may_fail) = @_;
	my $before = last_answers();
	my (undef, $state, $error) = attempt($sql);

	mismatch("$what: $error") if $state ne '' && $state ne ($may_fail // '');
	return ($state eq '', $before);
}

sub last_answers { return $now{answers} && !$now{changed} ? $now{answers} : Reports::answers($session, Reports::all(asked())); }

sub checked
{
	my ($what, $before) = @_;

	$now{answers} = check($what, $before);
	$now{changed} = 0;
	return;
}

# Remember the applications that the ledger names.
sub find_charged_applications
{
	$now{charged}{ $_->[0] } = 1 foreach rows('SELECT DISTINCT application_id FROM yquota.charge WHERE application_id IS NOT NULL');
	return;
}

sub archive
{
	my ($history) = @_;

	find_charged_applications();
	my ($done, $before) = without_change("archive $history", "SELECT yquota.archive('archived_$history', 'infinity')", '55000');

	return if !$done;
	my $horizon = value('SELECT (extract(epoch FROM max(horizon)) * 1000000)::bigint FROM yquota.history_segment');
	# a container is archived when neither table has a row of it
	my %kept = map { ($_->[0] => 1) } rows('SELECT container_id FROM yquota.container UNION SELECT container_id FROM yquota.charge');

	$now{horizon} = $horizon if $horizon ne '';
	$now{archived} = { map { ($_ => 1) } grep { !$kept{$_} } ids() };
	$count{archived} += keys %{ $now{archived} };
	checked("archive $history", $before);
	return;
}

# Make the points of calendars until 14 days ahead.
sub set_calendars
{
	my ($group) = @_;

	run('SELECT yquota_internal.extend_calendars()');
	$model->set_calendars($group, $now{clock}, [ grep { $_ } values %{ $now{calendars}{$group} } ], $now{clock} + 14 * History::DAY);
	return;
}

# Test that a transfer has moved the parts that the model expects.
sub check_parts
{
	my ($id, $from, $to, @parts) = @_;
	my @wanted = map {
		my ($grant, $amount) = @$_;

		("$from|-" . Model::text($amount) . "|$grant->{id}|0", "$to|" . Model::text($amount) . "||$grant->{expires}")
	} @parts;
	my @found = map { join '|', @$_ } rows(sprintf q(SELECT project, trim_scale(amount), takes_from,
		CASE WHEN amount < 0 THEN 0 WHEN isfinite(expires_at) THEN (extract(epoch FROM expires_at) * 1000000)::bigint ELSE %s END
		FROM yquota.quota_grant WHERE transfer_id = %s ORDER BY grant_id), Model::FOREVER, $id);

	mismatch("transfer $id: parts @wanted, found @found") if "@wanted" ne "@found";
	return;
}

#
# Submissions that hold credit
#

# Submit an application, and return state, decided_by, quoted_cost, held, hold_id, available and fitting_lifetime.
sub submission
{
	my ($project, $id, $terms, $dry_run) = @_;
	my @arguments = ("'$id', 'ann', '{}', '$terms->{queue}', project => '$project'");

	push @arguments, "lifetime => $terms->{lifetime}" if defined $terms->{lifetime};
	push @arguments, 'expected => ARRAY[' . join(', ', map { request_text($_) } @{ $terms->{expected} }) . ']' if $terms->{expected};
	push @arguments, q(hold => 'quote') if $terms->{by_quote};
	push @arguments, "hold_amount => $terms->{amount}" if defined $terms->{amount};
	push @arguments, 'dry_run => true' if $dry_run;
	my $call = 'yquota.submit_application(' . join(', ', @arguments) . ')';

	push @{ $now{log} }, "SELECT * FROM $call";
	return (rows("SELECT state, coalesce(decided_by, ''), trim_scale(quoted_cost), trim_scale(held), hold_id, trim_scale(available), fitting_lifetime FROM $call"))[0];
}

sub request_text
{
	my ($request) = @_;

	return sprintf q(ROW(%s, '%s', %s, NULL, NULL, NULL, %s, %s, %s * interval '1 microsecond')::yquota.container_request), History::quoted($request->{place}),
	  History::allocation_text($request->{allocation}), $request->{count}, History::quoted($request->{label}), History::quoted($request->{execution_type}), $request->{duration} // 'NULL';
}

sub minimum_run_time { my $rule = Model::point_at($model->{rule}, $now{clock}); return $rule ? $rule->[1] : 0; }

# Return the cost of the expected containers for a lifetime in seconds if they start now, or undef if it is not known.
sub quoted_cost
{
	my ($project, $id, $terms, $lifetime) = @_;
	my $sum = Credit::zero();

	foreach my $request (grep { ($_->{place} // '*') eq '*' } @{ $terms->{expected} })
	{
		my $time = min(grep { defined } $request->{duration}, defined $lifetime ? $lifetime * History::SECOND : undef) // return;
		my $until = $now{clock} + $time;

		$model->take({ event => 'START', id => 'quoted', at => $now{clock}, project => $project, application => $id, username => 'ann', queue => $terms->{queue},
			label => $request->{label}, allocation => $request->{allocation}, execution_type => $request->{execution_type} });
		$model->take({ event => 'FINISH', id => 'quoted', at => $until });
		$sum = $sum + Model::cost($model->pieces('quoted', $until), -Model::FOREVER, Model::FOREVER) * $request->{count};
		delete $model->{container}{quoted};
		delete $model->{known}{pieces}{quoted};
	}
	return $sum;
}

# Compare the answer to a submission with the model.
sub compare_submission
{
	my ($found, $project, $id, $terms) = @_;
	my ($state, $decided_by, $cost, $held, undef, $left, $fitting) = @$found;
	my $quoted = $terms->{expected} ? quoted_cost($project, $id, $terms, $terms->{lifetime}) : undef;
	my $available = $credit->available($project, $now{clock});
	my @amounts = grep { defined } $terms->{by_quote} ? $quoted : (), defined $terms->{amount} ? Model::amount($terms->{amount}) : ();
	my $amount = @amounts > 1 && $amounts[1] > $amounts[0] ? $amounts[1] : $amounts[0];
	my $is_unknown = $terms->{by_quote} && !defined $quoted;
	my $wanted;

	# a project without credit may refuse every submission
	return mismatch("submission of $id: refused by project_quota, available is " . (defined $available ? Model::text($available) : 'all'))
	  if $decided_by eq 'project_quota' && (!defined $available || $available > 0);
	return if $decided_by eq 'project_quota';
	if ($is_unknown || defined $available && $amount > $available && !$amount->is_zero)
	{
		$wanted = join '|', 'REJECTED', 'hold', defined $quoted ? Model::text($quoted) : '', '', $is_unknown ? '' : Model::text($available);
		if ($fitting ne '')
		{
			mismatch("submission of $id: the cost of $fitting seconds does not fit") if quoted_cost($project, $id, $terms, $fitting) > $available;
		}
		# padding may cost less after a longer run
		if (!$is_unknown && $terms->{by_quote} && $amount == $quoted && minimum_run_time() <= (($fitting || 0) + 1) * History::SECOND)
		{
			mismatch("submission of $id: a lifetime longer than '$fitting' seconds fits") if quoted_cost($project, $id, $terms, ($fitting || 0) + 1) <= $available;
		}
	}
	else
	{
		$wanted = join '|', $state =~ /^(?:ACTIVE|ACCEPTED|NON_RUNNABLE)$/ ? $state : 'ACTIVE', $decided_by eq 'hold' ? '' : $decided_by,
		  defined $quoted ? Model::text($quoted) : '', $amount->is_zero ? '' : Model::text($amount), '';
	}
	my $got = join '|', $state, $decided_by, $cost, $held, $left;

	mismatch("submission of $id: wanted $wanted, found $got") if $wanted ne $got;
	return;
}

# Read when applications were activated and ended, which are facts. The ends of their holds follow.
sub read_applications
{
	foreach my $row (rows(q(SELECT application_id, hold_id, (extract(epoch FROM activated_at) * 1000000)::bigint, lifetime, (extract(epoch FROM finished_at) * 1000000)::bigint
		FROM yquota.application WHERE application_id LIKE 'held%')))
	{
		my ($id, $hold_id, $activated_at, $lifetime, $finished_at) = @$row;
		my $hold = $hold_id ne '' ? $credit->{hold}{$hold_id} : undef;

		$now{application}{$id}{ended} = 1 if $finished_at ne '' && $now{application}{$id};
		next if !$hold || defined $hold->{released};
		$hold->{released} = $finished_at if $finished_at ne '';
		next if $finished_at ne '' || $hold->{until} <= $now{clock};
		$hold->{until} = $activated_at ne '' && $lifetime ne '' ? $activated_at + $lifetime * History::SECOND : Model::FOREVER;
	}
	return;
}

my %play = (
	project => sub {
		my ($name, $parent, @terms) = @_;

		return if defined $parent && !$credit->{project}{$parent};
		run(sprintf q(INSERT INTO yquota.project (name, parent, quota_mode, on_exhausted, credit_limit, exhaustion_grace)
			VALUES ('%s', %s, '%s', '%s', %s, %s * interval '1 microsecond')), $name, History::quoted($parent), @terms);
		$credit->add_project($name, $parent, @terms);
	},
	clock => sub {
		my ($at) = @_;

		run('SELECT yquota.set_clock(' . at($at) . ')');
		$now{clock} = $at;
		$now{changed} = 1;
		set_calendars($_) foreach keys %{ $now{calendars} };
	},
	grant => sub {
		my ($project, $amount, $kind, $from, $until) = @_;

		run(sprintf q(INSERT INTO yquota.quota_grant (project, amount, reason, kind, valid_from, expires_at) VALUES ('%s', %s, 'r', '%s', %s, %s)),
			$project, $amount, $kind, at($from // -Model::FOREVER), at($until // Model::FOREVER))
		  if !defined $until || !defined $from || $from < $until;
		$now{changed} = 1;
	},
	budget => sub {
		my ($project, $period, $amount, $rollover) = @_;

		run(sprintf q(INSERT INTO yquota.budget (project, period, amount, rollover) VALUES ('%s', '%s', %s, %s) ON CONFLICT DO NOTHING), $project, $period, $amount, $rollover ? 'true' : 'false');
		$now{changed} = 1;
	},
	hold => sub {
		my ($project, $application, $amount, $ttl) = @_;
		my ($answer, $state, $error) = attempt("SELECT yquota.hold('$project', '$application', $amount, $ttl * interval '1 microsecond')");

		read_grants();
		my $available = $credit->available($project, $now{clock});

		mismatch("hold of $amount, available is " . (defined $available ? Model::text($available) : 'all') . ": $error")
		  if $state ne (!defined $available || $available >= Model::amount($amount) ? '' : 'YQ001');
		$now{changed} = 1;
		return if $state ne '';
		$credit->{hold}{ int $answer } = { project => $project, application => $application, amount => Model::amount($amount), at => $now{clock}, until => $now{clock} + $ttl };
		$count{holds}++;
	},
	transfer => sub {
		my ($from, $to, $amount, $id, $repeats) = @_;

		return if grep { !$credit->{project}{$_} } $from, $to;
		read_grants();
		my ($fits, @rests) = $credit->transferable($from, $now{clock});
		my $moves = defined $amount ? Model::amount($amount) : $fits;

		return if $moves <= 0;
		my $call = sprintf q(SELECT yquota.transfer_credit('%s', '%s', %s, 'r', '%s')), $from, $to, Model::text($moves), $id;
		my ($answer, $state, $error) = attempt($call);
		my $wanted = ($credit->{project}{$from}{parent} // '') ne ($credit->{project}{$to}{parent} // '') ? '22023' : $moves > $fits ? 'YQ001' : '';

		mismatch("transfer of @{[ Model::text($moves) ]}, @{[ Model::text($fits) ]} could move: $error") if $state ne $wanted;
		$now{changed} = 1;
		return if $state ne '';
		check_parts(int $answer, $from, $to, Credit::parts_of($moves, @rests));
		push @{ $now{transfers} }, { id => int $answer, from => $from, to => $to, amount => $moves, returned => Credit::zero() };
		mismatch("$call once more is another one") if $repeats && value($call) != $answer;
		$count{transfers}++;
	},
	reverse => sub {
		my ($number) = @_;
		my $transfer = $now{transfers}[$number] // return;

		read_grants();
		my @ids = map { $_->[0] } rows("SELECT grant_id FROM yquota.quota_grant WHERE transfer_id = $transfer->{id} AND amount > 0");
		my ($fits, @rests) = $credit->transferable($transfer->{to}, $now{clock}, @ids);
		my ($answer) = rows("SELECT trim_scale(returned), trim_scale(returned_before), trim_scale(not_returned) FROM yquota.reverse_transfer($transfer->{id})");
		my @wanted = map { Model::text($_) } $fits, $transfer->{returned}, $transfer->{amount} - $transfer->{returned} - $fits;

		push @{ $now{log} }, "SELECT * FROM yquota.reverse_transfer($transfer->{id})";
		mismatch("reversal of $transfer->{id}: @wanted, found @$answer") if "@wanted" ne "@$answer";
		$transfer->{returned} = $transfer->{returned} + $fits;
		$now{changed} = 1;
		return if $fits <= 0;
		check_parts(value('SELECT max(transfer_id) FROM yquota.credit_transfer'), @{$transfer}{qw(to from)}, Credit::parts_of($fits, @rests));
		$count{reversals}++;
	},
	tag => sub {
		my ($application, $key, $value) = @_;
		my $tags = $now{tags}{$application} //= {};
		my (undef, $state, $error) = attempt("SELECT yquota.set_application_tags('$application', '{$key=$value}')");

		find_charged_applications();
		mismatch("tag $key=$value of $application: $error")
		  if $state ne (defined $tags->{$key} ? $tags->{$key} eq $value ? '' : '55000' : $now{charged}{$application} ? '55000' : '');
		$count{ $state eq '' ? 'tags' : 'tags refused' }++;
		return if $state ne '';
		$tags->{$key} = $value;
		$now{changed} = 1;
	},
	release => sub {
		my ($number) = @_;
		my @held = grep { !$credit->{hold}{$_}{of_submission} && !defined $credit->{hold}{$_}{released} && $now{clock} < $credit->{hold}{$_}{until} } sort { $a <=> $b } keys %{ $credit->{hold} };
		my $id = $held[$number] // return;

		run("SELECT yquota.release_hold($id)");
		$credit->{hold}{$id}{released} = $now{clock};
		$now{changed} = 1;
	},
	events => sub {
		my @events = grep { is_possible($_) } @_ or return;
		my %seen;

		@events = grep { !$seen{"$_->{id} $_->{at} $_->{event}"}++ } @events;
		# the node reports whether the container runs
		@events = map { $_->{event} eq 'UPDATE' && $now{arrived}{ $_->{id} } ? { %$_, is_running => undef } : $_ } @events;
		run(History::insert_statement(@events));
		foreach my $event (@events)
		{
			$model->take($event);
			push @{ $now{sent}{ $event->{id} } }, $event;
		}
		$count{events} += @events;
		$now{changed} = 1;
		mismatch(map { 'refused: ' . join(', ', @$_) } rows('SELECT event, container_id, occurred_at, sqlstate, reason FROM yquota.event_reject WHERE NOT waiting'));
	},
	replay => sub {
		my ($every, $offset) = @_;
		my @events = map { @{ $now{sent}{$_} } } ids();

		@events = @events[ grep { $_ % $every == $offset % $every } 0 .. $#events ];
		return if !@events;
		my (undef, $before) = without_change('replay', History::insert_statement(@events));

		run(q(DELETE FROM yquota.event_reject WHERE NOT waiting AND sqlstate = '22023')) if $now{horizon} > 0;
		mismatch(map { 'replay: refused: ' . join(', ', @$_) } rows('SELECT event, container_id, occurred_at, sqlstate, reason FROM yquota.event_reject WHERE NOT waiting'));
		checked('replay', $before);
	},
	change => sub {
		my ($change) = @_;
		my (undef, $state, $error) = attempt(History::change_statement($change));

		mismatch("change: $error") if $state !~ /^(?:55000)?$/ || $state ne '' && $change->[1] >= $now{clock};
		History::change_model($model, $change) if $state eq '';
		$now{changed} = 1;
	},
	calendar => sub {
		my ($group, $name, $calendar) = @_;

		run(Calendar::statement($group, $name, $calendar));
		$now{calendars}{$group}{$name} = $calendar;
		set_calendars($group);
		$now{changed} = 1;
	},
	relabel => sub {
		my ($node, $label) = @_;

		run("UPDATE yquota.node SET label = '$label' WHERE name = '$node'");
		$model->set_label($node, $now{clock}, $label);
		$now{changed} = 1;
	},
	# a label for a time in the past, between two points of the label's history
	'past label' => sub {
		my ($node, $from, $to, $label) = @_;
		my $after = $model->label_at($node, $to) // '';

		return if $from >= $to || grep { $from <= $_->[0] && $_->[0] <= $to } @{ $model->{label}{$node} };
		my (undef, $state, $error) = attempt("INSERT INTO yquota.node_label_history (node, effective_at, label) VALUES ('$node', "
			. at($from) . ", '$label'), ('$node', " . at($to) . ", '$after')");

		return $count{'past label refused'}++ if $state eq '55000';
		return mismatch("past label: $error") if $state ne '';
		$model->set_label($node, $from, $label);
		$model->set_label($node, $to, $after);
		$now{changed} = 1;
	},
	'same price' => sub {
		my ($group, $at) = @_;
		my $value = Model::text(Model::point_at($model->{multiplier}{$group}, $at)->[1] * Math::BigInt->new(10)->bpow(Model::DECIMALS - 18));
		my (undef, $state, $error) = attempt(History::change_statement([ 'multiplier', $at, $group, $value ]));

		mismatch("same price: $error") if $state ne '' && $at >= $now{horizon};
		$model->set_multiplier($group, $at, $value) if $state eq '';
		$now{changed} = 1;
	},
	outage => sub {
		my ($how, $project, $from, $to) = @_;
		my $before = own_costs(-Model::FOREVER, Model::FOREVER);
		my $arguments = join(', ', at($from), at($to), q('r'), History::quoted($project));
		my ($answer, $state, $error) = attempt($how eq 'forgive' ? "SELECT project, trim_scale(amount) FROM yquota.forgive($arguments) ORDER BY project" : "SELECT yquota.report_outage($arguments)");

		if ($from < $now{horizon})
		{
			mismatch("$how: before the horizon: '$state' $error") if $state ne ($how eq 'forgive' ? '22023' : '55000');
			return;
		}
		return mismatch("$how: $error") if $state ne '';
		$model->add_outage($project, $from, $to);
		my $given_back = no_zeros(less($before, own_costs(-Model::FOREVER, Model::FOREVER)));
		my $expected = join('', map { "$_|$given_back->{$_}\n" } sort keys %$given_back);

		mismatch("forgive returned\n$answer, not\n$expected") if $how eq 'forgive' && $answer ne $expected;
		$count{forgiven}++ if $expected ne '';
		checked($how);
	},
	void => sub {
		my ($id) = @_;
		my $start = $model->{container}{$id}{START} or return;

		return if $start->{at} < $now{horizon} || $now{archived}{$id};
		run("SELECT count(*) FROM yquota.void_events('$id', 'wrong')");
		$model->forget($id);
		$now{sent}{$id} = [];
		$count{voided}++;
		checked('void');
	},
	submit => sub {
		my ($project, $id, $terms) = @_;

		return if !$credit->{project}{$project};
		my $dry = submission($project, $id, $terms, 1);

		read_grants();
		compare_submission($dry, $project, $id, $terms);
		my $found = submission($project, $id, $terms, 0);

		mismatch("submission of $id: @$dry in a dry run, then @$found") if "@$dry[ 0 .. 3, 5, 6 ]" ne "@$found[ 0 .. 3, 5, 6 ]" || $dry->[4] ne '';
		$now{changed} = 1;
		$count{"submission $found->[0]"}++;
		return if $found->[0] eq 'REJECTED';
		$now{application}{$id} = { queue => $terms->{queue}, project => $project, terms => $terms, hold => $found->[4] };
		return if $found->[4] eq '';
		$credit->{hold}{ $found->[4] } = { project => $project, application => $id, amount => Model::amount($found->[3]), at => $now{clock}, until => Model::FOREVER, of_submission => 1 };
		read_applications();
		$count{'holds at submission'}++;
	},
	'submit again' => sub {
		my ($id) = @_;
		my $application = $now{application}{$id} // return;

		return if $application->{hold} eq '';
		my $holds = value('SELECT count(*) FROM yquota.hold');
		my $found = submission($application->{project}, $id, $application->{terms}, 0);

		mismatch("$id submitted again: hold $application->{hold}, found @$found") if $found->[4] ne $application->{hold} || $holds ne value('SELECT count(*) FROM yquota.hold');
		$now{changed} = 1;
	},
	end => sub {
		my ($id, $state) = @_;

		return if !$now{application}{$id};
		run("SELECT yquota.finish_application('$id', '$state')");
		read_applications();
		$now{changed} = 1;
	},
	lifetime => sub {
		my ($id, $seconds) = @_;

		return if !$now{application}{$id} || $now{application}{$id}{ended};
		run("SELECT yquota.update_application_lifetime('$id', $seconds)");
		read_applications();
		$now{changed} = 1;
	},
	move => sub {
		my ($name, $queue) = @_;
		my $application = $now{application}{$name} // return;

		return if $queue eq $application->{queue} || $application->{ended};
		run("SELECT yquota.move_application('$name', '$queue')");
		$application->{queue} = $queue;
		read_applications();
		foreach my $id (ids())
		{
			my $container = $model->{container}{$id};
			my ($held) = map { $_->[2] } (Model::segments($container, $now{clock}))[-1];

			next if $container->{FINISH} || ($held->{application} // '') ne $name || ($held->{queue} // '') eq $queue;
			my $event = { event => 'UPDATE', id => $id, at => $now{clock}, queue => $queue, source => 'scheduler' };

			$model->take($event);
			push @{ $now{sent}{$id} }, $event;
			$count{moved}++;
		}
		checked('move');
	},
	rerate => sub {
		my ($from, $to, $which, $terms, $project) = @_;
		my $arguments = join(', ', at($from), at($to), "'$terms'", History::quoted($project), 'true', q('r'));

		return if $from < $now{horizon} || $from >= $to;
		my $other = bless { %$model, base => { %{ $model->{base} } }, known => {} }, 'Model';

		foreach my $type (keys %{ $terms_prices{$which} })
		{
			$other->{base}{$type} = [ [ -Model::FOREVER, Model::scaled($terms_prices{$which}{$type}, 18), $type eq 'memory-mb' ? 1024 : 1 ] ];
		}
		$other->{mode} = { '' => [ [ -Model::FOREVER, 'sum' ] ] } if $which eq 'summed';
		my ($was, $would_be) = (own_costs($from, $to), own_costs($from, $to, $other));
		my $difference = less($was, $would_be);
		my $posted_before = posted();
		my %new;

		foreach my $name (grep { !defined $project || $_ eq $project } keys %$difference)
		{
			next if $now{posted}{"$from $to $which $name"} || $difference->{$name}->is_zero;
			$now{posted}{"$from $to $which $name"} = 1;
			$new{$name} = $difference->{$name};
		}
		run("SELECT count(*) FROM yquota.rerate($arguments)");
		my $posted = less(posted(), $posted_before);
		my @differences = Reports::differences('rerate', no_zeros(\%new), no_zeros($posted));

		mismatch(map { "posted: $_" } @differences);
		$count{rerated}++;
		checked('rerate');
	},
	close => sub {
		my ($until, $most) = @_;

		return if $until > $now{clock} || $until < $now{horizon} || grep { $_->{until} >= $until } @{ $now{periods} };
		my $closed_at = '';
		my $before = last_answers();

		my $close = 'SELECT closed_at FROM yquota_internal.close_period_at(' . at($until) . ", $most)";

		$closed_at = value($close) while $closed_at eq '';
		push @{ $now{log} }, "$close -- repeated while it is NULL";
		push @{ $now{periods} }, { until => $until, closed_at => $closed_at };
		foreach my $i (0 .. $#{ $now{periods} })
		{
			my $costs = own_costs($i ? $now{periods}[ $i - 1 ]{until} : -Model::FOREVER, $now{periods}[$i]{until});

			$now{bills}{"bill $i as of $#{ $now{periods} }"} = no_zeros($costs);
		}
		$count{closed}++;
		checked('close', $before);
	},
	compute => sub {
		my $grants = value('SELECT count(*) FROM yquota.quota_grant');
		my (undef, $before) = without_change('compute', 'SELECT yquota.quota_compute()');

		checked('compute', $grants == value('SELECT count(*) FROM yquota.quota_grant') ? $before : undef);
	},
	compact => sub { my (undef, $before) = without_change('compact', 'SELECT yquota_internal.compact_counters()'); checked('compact', $before); },
	roll_up => sub { my (undef, $before) = without_change('roll_up', join('; ', Trial::roll_up_statements())); checked('roll_up', $before); },
	seal => sub { my (undef, $before) = without_change('seal', 'SELECT yquota.seal_history()'); checked('seal', $before); },
	archive => \&archive,
	check => sub {
		checked('check');
		compare_member($_) foreach some_projects($now{clock});
	});

# Return the amounts that rerate() has posted so far, by project.
sub posted
{
	return { map { ($_->[0] => Model::amount($_->[1])) } rows("SELECT project, trim_scale(sum(amount)) FROM yquota.quota_grant WHERE kind = 'correction' AND external_id IS NOT NULL GROUP BY project") };
}

#
# Queues of nodes
#

# Return the row of a container or of node_queue at some rank, or nothing if there are no rows.
sub ranked
{
	my ($rank, $sql) = @_;
	my @rows = rows($sql) or return;

	return @{ $rows[ $rank % @rows ] };
}

# Call a function of a node's queue; the models read its events from the log.
sub node_call
{
	my ($call) = @_;
	my $last = value('SELECT coalesce(max(event_id), 0) FROM yquota.container_event');

	$count{"node: $_"}++ foreach map { /^(\w+)\|/ } split /\n/, run("SELECT * FROM yquota.$call");
	foreach my $row (rows('SELECT substr(event::text, 11), container_id, (extract(epoch FROM occurred_at) * 1000000)::bigint, exit_status, is_running, source '
		. "FROM yquota.container_event WHERE event_id > $last ORDER BY event_id"))
	{
		my ($kind, $id, $at, $exit_status, $is_running, $source) = @$row;
		my $event = { event => $kind, id => $id, at => $at, exit_status => $exit_status ne '' ? $exit_status : undef,
			is_running => $is_running ne '' ? ($is_running eq 't' ? 1 : 0) : undef, source => $source ne '' ? $source : undef };

		$model->take($event);
		push @{ $now{sent}{$id} }, $event;
	}
	$now{changed} = 1;
	return;
}

my $at_nodes = 'SELECT q.container_id, q.node, q.state, q.execution_type FROM yquota.node_queue AS q WHERE q.left_at IS NULL';

my %node_call = (
	arrive => sub {
		my ($rank) = @_;
		my ($id, $node) = ranked($rank, 'SELECT c.container_id, c.node FROM yquota.container AS c WHERE c.node IS NOT NULL '
			. 'AND NOT EXISTS (SELECT FROM yquota.node_queue AS q WHERE q.container_id = c.container_id AND q.left_at IS NULL) ORDER BY 1') or return;

		node_call("enqueue_container('$node', '$id')");
		$now{arrived}{$id} = 1;
	},
	ended => sub {
		my ($rank, $at, $exit_status) = @_;
		my ($id, $node) = ranked($rank, "$at_nodes ORDER BY 1") or return;
		my $start = $model->{container}{$id}{START} or return;

		$at = max($at, $start->{at}, $now{horizon}) if defined $at;
		node_call("container_ended('$node', '$id', " . (defined $at ? at(min($at, $now{clock})) : 'NULL') . ", $exit_status)");
	},
	# the agents carry out their orders
	done => sub {
		foreach my $row (rows("$at_nodes AND q.state IN ('KILLING', 'PAUSING') ORDER BY 1"))
		{
			my ($id, $node, $state) = @$row;

			node_call($state eq 'KILLING' ? "container_ended('$node', '$id', exit_status => -108)" : "container_paused('$node', '$id')");
		}
	},
	advance => sub { my ($rank) = @_; node_call(sprintf q(advance_node_queue('node%d')), 1 + $rank % 2); },
	shed => sub { my ($rank) = @_; node_call(sprintf q(shed_containers('node%d', %d)), 1 + $rank % 2, int($rank / 2) % 3); },
	change => sub {
		my ($rank) = @_;
		my ($id, $node, undef, $type) = ranked($rank, "$at_nodes ORDER BY 1") or return;
		my $event = { event => 'UPDATE', id => $id, at => $now{clock}, execution_type => $type eq 'GUARANTEED' ? 'OPPORTUNISTIC' : 'GUARANTEED', source => 'feed' };

		$play{events}->($event);
		node_call("advance_node_queue('$node')");
	},
	# an agent that restarts has only some of its containers
	recover => sub {
		my ($rank) = @_;
		my $node = sprintf 'node%d', 1 + $rank % 2;
		my @running = map { $_->[0] } rows("$at_nodes AND q.node = '$node' AND q.state <> 'QUEUED' ORDER BY 1");

		node_call("recover_node_queue('$node', '{" . join(',', grep { ($rank + length) % 3 } @running) . "}')");
	},
	lost => sub {
		my ($rank) = @_;

		return if $rank % 3;
		node_call("node_lost('node2')");
		run("UPDATE yquota.node SET state = 'RUNNING' WHERE name = 'node2'");
	});

$play{nodes} = sub {
	my ($vcores, $capacity, $policy, $pauses) = @_;

	run("UPDATE yquota.node SET total = '[memory-mb=1000000,vcores=$vcores]'; INSERT INTO yquota.scheduler_setting (opportunistic_queue_capacity, opportunistic_queue_policy, uses_pause_for_preemption, vmem_check_enabled) "
		. "VALUES ($capacity, '$policy', " . ($pauses ? 'true' : 'false') . ', false)');
};
$play{'node call'} = sub { my ($kind, @arguments) = @_; $node_call{$kind}->(@arguments); };

# Play steps in a new database and return the failures.
sub play
{
	my @steps = @_;
	my $database = "${template}_play";
	my ($from) = map { $_->[1] } grep { $_->[0] eq 'clock' } @steps;

	Session::administer("CREATE DATABASE $database TEMPLATE $template");
	$session = Session->new($database);
	$model = Model->new;
	foreach my $type (grep { $_->[0] =~ /^(?:memory-mb|vcores|yarn.io\/gpu)$/ } @History::resource_types)
	{
		$model->add_resource_type(@$type);
	}
	$model->add_node($_, $from, '') foreach qw(node1 node2);
	$credit = Credit->new($model);
	%now = (log => [], mismatches => [], horizon => -Model::FOREVER, archived => {}, periods => [], bills => {}, posted => {}, transfers => [], application => { app1 => { queue => 'root.s' } }, from => $from, clock => $from);
	$now{instants} = [ sort { $a <=> $b } map { $_->{at} } map { my ($kind, @events) = @$_; $kind eq 'events' ? @events : () } @steps ];
	push @{ $now{instants} }, $from if !@{ $now{instants} };
	eval {
		run(q(SET yquota.on_bad_event = 'set_aside'));
		foreach my $step (@steps)
		{
			my ($kind, @arguments) = @$step;

			$play{$kind}->(@arguments);
			$count{$kind}++;
			last if @{ $now{mismatches} };
		}
		1;
	} or mismatch("died: $@");
	eval { $session->close; };
	Session::administer("DROP DATABASE $database WITH (FORCE)");
	return @{ $now{mismatches} };
}

# Return the subject of a mismatch, by which the same mismatch is recognized with fewer steps.
sub subject { my ($text) = @_; return ($text =~ /^([^:]*: [^:|,\d]*(?:: [^:|,\d]*)?)/)[0] // ''; }

# Return only the steps that are needed for the failure.
sub shrink
{
	my ($subject, @steps) = @_;
	my $until = time + 120;

	for (my $size = int(@steps / 2); $size >= 1; $size = int($size / 2))
	{
		for (my $i = 0; $i < @steps && time < $until;)
		{
			my @fewer = @steps;

			splice @fewer, $i, $size, grep { $_->[0] eq 'project' } @fewer[ $i .. min($i + $size - 1, $#fewer) ];
			my ($found) = play(@fewer);

			if (@fewer < @steps && defined $found && subject($found) eq $subject)
			{
				@steps = @fewer;
			}
			else
			{
				$i += $size;
			}
		}
	}
	return @steps;
}

# Create a database that is copied for each history.
Session::administer("CREATE ROLE $member");
Session::administer("CREATE DATABASE $template");
my $setup = Session->new($template);

$setup->run('CREATE EXTENSION IF NOT EXISTS yquota; CREATE TABLE archived_ledger (LIKE yquota.charge); CREATE TABLE archived_log (LIKE yquota.container_event)');
$setup->run(q(INSERT INTO yquota.node (name, rack, total) VALUES ('node1', '/r', '[memory-mb=1000000,vcores=1000]'), ('node2', '/r', '[memory-mb=1000000,vcores=1000]')));
$setup->run(q(INSERT INTO yquota.queue (path, capacity) VALUES ('root', NULL), ('root.q', '1w'), ('root.q.r', '1w'), ('root.s', '1w')));
$setup->run(q(INSERT INTO yquota.queue (path, capacity, max_parallel_apps) VALUES ('root.t', '1w', 1)));
$setup->run(q(SELECT yquota.submit_application('app1', 'ann', '{}', 'root.s')));
Reports::install($setup);
$setup->close;

my $failed = 0;
my $done = 0;

for (; $failed < 3 && soak_goes_on($done, $histories, 5 * $histories); $done++)
{
	srand($seed + $done);
	my @steps = random_history();
	my @wrong = play(@steps) or next;

	$failed++;
	diag("history of YQUOTA_SEED=@{[ $seed + $done ]} YQUOTA_HISTORIES=1: " . join("\n  ", @wrong[ 0 .. min(9, $#wrong) ]));
	@steps = shrink(subject($wrong[0]), @steps);
	@wrong = play(@steps);
	diag("with fewer steps: " . join("\n  ", @wrong[ 0 .. min(9, $#wrong) ]));
	diag(join("\n", map { "  $_;" } @{ $now{log} }));
}
Session::administer("DROP DATABASE $template");
Session::administer("DROP ROLE $member");
is($failed, 0, "$done histories agree with the model");
note(join(', ', map { "$_: $count{$_}" } sort keys %count));
done_testing();
