#!/usr/bin/env perl
#
# The queue of a node decides like a model of it, under all orders in which OPPORTUNISTIC containers start and are
# killed.
#
# Random containers arrive at a node, end, are promoted and dropped, and report their progress. The agent pauses and
# kills them as ordered, sooner or later, and the configured orders change. After each call the model has made the
# same decisions, in the same order. Before each GUARANTEED container arrives, explain_reclaim() returns the model's
# choice for it. The model tries all sets of containers to find the smallest, and computes credits by itself.
#
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin, "$FindBin::Bin/../t";
use List::Util qw(max min sum0);
use Test::More;
use Session;
use Soak;
use Trial;

my ($seed, $histories) = Trial::plan_run(12);
my $steps = 70;
my ($session, %total);
my @events = qw(start queued kill pause resume rejected shed promoted progress explained application_progress);

my @start_orders = (undef, qw(arrival shortest_first application_priority fair_by_user closest_to_end));
my @kill_orders = (undef, qw(last_started least_paid lowest_priority furthest_from_end fewest));

sub one_of { return $_[ rand @_ ]; }

# -- the model ------------------------------------------------------------------------
#
# A node has its size, and its waiting and running containers in order of time. A container has its size, type,
# state, the figures that orders use, and its cost. The cost is microseconds times the dearest resource, where a
# core or 1024 MiB costs a credit a second. Two events of a container have different instants.

sub float4 { return unpack 'f', pack 'f', $_[0]; }

sub amounts
{
	my ($memory, $vcores) = @_;

	return [ $memory, int float4($memory * float4(2.1)), $vcores ];
}

sub plus
{
	my ($sum, $amounts, $times) = @_;

	return [ map { $sum->[$_] + $times * $amounts->[$_] } 0 .. 2 ];
}

sub lacks { return scalar grep { $_ > 0 } @{ $_[0] }; }

sub used
{
	my ($node) = @_;
	my $used = [ 0, 0, 0 ];

	$used = plus($used, $_->{amounts}, 1) foreach @{ $node->{running} };
	return $used;
}

sub has_room
{
	my ($node, $container) = @_;
	my $left = plus(plus($node->{total}, used($node), -1), $container->{amounts}, -1);

	$left->[1] = 0 if !$node->{checks_vmem};
	return !grep { $_ < 0 } @$left;
}

# Return the first container with the lowest figure.
sub least
{
	my ($figure, @containers) = @_;
	my $least = min(map { $figure->($_) } @containers);
	my ($first) = grep { $figure->($_) == $least } @containers;

	return $first;
}

sub next_to_start
{
	my ($node) = @_;
	my @waiting = @{ $node->{opportunistic} };
	my %runs;

	$runs{ $_->{user} }++ foreach grep { !$_->{guaranteed} && $_->{state} eq 'RUNNING' } @{ $node->{running} };
	my %figures = (
		shortest_first => sub { $_[0]{duration} // 'inf' },
		application_priority => sub { -$_[0]{priority} },
		fair_by_user => sub { $runs{ $_[0]{user} } // 0 },
		closest_to_end => sub { -($node->{progress}{ $_[0]{application} } // 0) });
	my $figure = $figures{ $node->{start_order} // '' } // return $waiting[0];

	return least($figure, @waiting);
}

sub without
{
	my ($list, $container) = @_;

	@$list = grep { $_ != $container } @$list;
	return;
}

sub next_instant
{
	my ($node, $container) = @_;
	my $at = max($node->{now}, $container->{next} // 0);

	$container->{next} = $at + 1;
	return $at;
}

sub cost
{
	my ($node, $container, $until) = @_;

	return $container->{paid} + ($until - $container->{runs_since}) * max($container->{memory}, 1024 * $container->{vcores});
}

sub start
{
	my ($node, $container, $told) = @_;

	without($node->{ $container->{guaranteed} ? 'guaranteed' : 'opportunistic' }, $container);
	$container->{runs_since} = next_instant($node, $container);
	push @$told, ($container->{state} eq 'PAUSED' ? 'resume' : 'start') . " $container->{id}";
	$container->{state} = 'RUNNING';
	push @{ $node->{running} }, $container;
	return;
}

sub start_what_can
{
	my ($node, $told) = @_;

	while (@{ $node->{guaranteed} })
	{
		return if !has_room($node, $node->{guaranteed}[0]);
		start($node, $node->{guaranteed}[0], $told);
	}
	while (@{ $node->{opportunistic} })
	{
		my $next = next_to_start($node);

		return if !has_room($node, $next);
		start($node, $next, $told);
	}
	return;
}

# Return all sets of so many numbers, from one number on.
sub sets
{
	my ($size, $from, $below) = @_;

	return [] if $size == 0;
	return map {
		my $first = $_;
		map { [ $first, @$_ ] } sets($size - 1, $first + 1, $below)
	} $from .. $below - $size;
}

# Return the smallest set. The newest container is the first in the list, so sets come in the order of
# their newest containers.
sub fewest
{
	my ($lacking, @containers) = @_;

	foreach my $size (0 .. @containers)
	{
		foreach my $set (sets($size, 0, scalar @containers))
		{
			my $left = $lacking;

			$left = plus($left, $containers[$_]{amounts}, -1) foreach @$set;
			return @containers[@$set] if !lacks($left);
		}
	}
	return @containers;
}

# Return the containers that are stopped for an amount, in order.
sub victims
{
	my ($node, $lacking) = @_;
	my @newest_first = reverse grep { !$_->{guaranteed} && $_->{state} eq 'RUNNING' } @{ $node->{running} };
	my $order = $node->{kill_order} // '';
	my %figures = (
		least_paid => sub { cost($node, $_[0], $node->{now}) },
		lowest_priority => sub { $_[0]{priority} },
		furthest_from_end => sub { $_[0]{progress} });
	my @victims;

	return fewest($lacking, @newest_first) if $order eq 'fewest';
	while (@newest_first && lacks($lacking))
	{
		my $next = exists $figures{$order} ? least($figures{$order}, @newest_first) : $newest_first[0];

		without(\@newest_first, $next);
		push @victims, $next;
		$lacking = plus($lacking, $next->{amounts}, -1);
	}
	return @victims;
}

sub lacking_for
{
	my ($node, $container) = @_;
	my $lacking = plus(used($node), $node->{total}, -1);

	$lacking = plus($lacking, $_->{amounts}, -1) foreach grep { $_->{state} =~ /^(?:PAUSING|KILLING)$/ } @{ $node->{running} };
	foreach my $waiting (@{ $node->{guaranteed} })
	{
		$lacking = plus($lacking, $waiting->{amounts}, 1);
		last if $waiting == $container;
	}
	return $lacking;
}

sub reclaim
{
	my ($node, $container, $told) = @_;

	foreach my $victim (victims($node, lacking_for($node, $container)))
	{
		$victim->{state} = $node->{pauses} ? 'PAUSING' : 'KILLING';
		push @$told, ($node->{pauses} ? 'pause' : 'kill') . " $victim->{id} for $container->{id}";
	}
	return;
}

sub model_arrive
{
	my ($node, $container) = @_;
	my @told;

	$container->{state} = 'QUEUED';
	if ($container->{guaranteed})
	{
		push @{ $node->{guaranteed} }, $container;
		start_what_can($node, \@told);
		reclaim($node, $container, \@told) if $container->{state} eq 'QUEUED';
	}
	else
	{
		start_what_can($node, \@told);
		return (@told, "rejected $container->{id}") if @{ $node->{opportunistic} } >= $node->{capacity};
		push @{ $node->{opportunistic} }, $container;
		start_what_can($node, \@told);
	}
	unshift @told, "queued $container->{id}" if $container->{state} eq 'QUEUED';
	return @told;
}

sub model_leave
{
	my ($node, $container) = @_;
	my $ran = grep { $_ == $container } @{ $node->{running} };
	my @told;

	without($node->{$_}, $container) foreach qw(running guaranteed opportunistic);
	start_what_can($node, \@told) if $ran;
	return @told;
}

sub model_pause
{
	my ($node, $container) = @_;
	my @told;

	without($node->{running}, $container);
	$container->{paid} = cost($node, $container, next_instant($node, $container));
	$container->{state} = 'PAUSED';
	push @{ $node->{opportunistic} }, $container;
	start_what_can($node, \@told);
	return @told;
}

sub model_promote
{
	my ($node, $container) = @_;
	my @told;

	without($node->{opportunistic}, $container);
	$container->{guaranteed} = 1;
	push @{ $node->{guaranteed} }, $container;
	reclaim($node, $container, \@told);
	start_what_can($node, \@told);
	return @told;
}

sub model_shed
{
	my ($node, $limit) = @_;
	my @told;

	return () if $limit < 0 || $limit >= @{ $node->{opportunistic} };
	foreach my $waiting (@{ $node->{opportunistic} })
	{
		push @told, "shed $waiting->{id}" if $waiting->{state} ne 'PAUSED' && $limit-- <= 0;
	}
	foreach my $id (map { substr $_, 5 } @told)
	{
		@{ $node->{opportunistic} } = grep { $_->{id} ne $id } @{ $node->{opportunistic} };
	}
	return @told;
}

sub all_of { return map { @{ $_[0]{$_} } } qw(running guaranteed opportunistic); }

# -- the database ------------------------------------------------------------------------

sub literal { return defined $_[0] ? "'$_[0]'" : 'NULL'; }

sub set_orders
{
	my ($node) = @_;

	$node->{start_order} = one_of(@start_orders);
	$node->{kill_order} = one_of(@kill_orders);
	$session->run(sprintf 'UPDATE yquota.scheduler_setting SET node_queue_order = %s, opportunistic_kill_order = %s',
		literal($node->{start_order}), literal($node->{kill_order}));
	return ();
}

sub begin_history
{
	my ($memory, $vcores) = (1024 * one_of(6, 8, 10), one_of(8, 16));
	my $node = {
		total => amounts($memory, $vcores),
		capacity => one_of(1, 4, 8),
		pauses => one_of(0, 0, 1),
		checks_vmem => one_of(0, 1),
		running => [],
		guaranteed => [],
		opportunistic => [],
		containers => 0,
		progress => {},
		now => 0
	};

	$session->run(join ";\n", 'BEGIN', q(SELECT yquota.set_clock('2026-03-02 10:00+00')),
		sprintf(q(INSERT INTO yquota.scheduler_setting (opportunistic_queue_capacity, uses_pause_for_preemption, vmem_check_enabled) VALUES (%d, %s, %s)),
			$node->{capacity}, map { $_ ? 'true' : 'false' } @{$node}{qw(pauses checks_vmem)}),
		"INSERT INTO yquota.node (name, total) VALUES ('n', '[memory-mb=$memory,vcores=$vcores]')");
	set_orders($node);
	return $node;
}

# Return the results of a call in the notation of the model.
sub told
{
	my ($call) = @_;

	my @told = split /\n/, $session->run(
		"SELECT concat_ws(' for ', a.action || ' ' || a.container_id, a.made_room_for) FROM yquota.$call WITH ORDINALITY AS a (action, container_id, execution_type, allocation, exit_status, diagnostics, made_room_for, place) ORDER BY a.place"
	);

	$total{ (split / /, $_)[0] }++ foreach @told;
	return @told;
}

sub difference
{
	my ($what, $expected, $found) = @_;

	return "@$expected" eq "@$found" ? () : "$what: model: @{[join ', ', @$expected]}; found: @{[join ', ', @$found]}";
}

# Return all explained containers, including those that are skipped, and none twice.
sub explained
{
	my ($node, $container) = @_;
	my @rows = map { [ split /\|/ ] } split /\n/, $session->run("SELECT container_id, chosen FROM yquota.explain_reclaim('n', '$container->{id}') ORDER BY place");
	my %candidates = map { ($_->{id} => 1) } grep { !$_->{guaranteed} && $_->{state} eq 'RUNNING' } @{ $node->{running} };
	my @expected = has_room($node, $container) && !@{ $node->{guaranteed} } ? () : map { $_->{id} } victims($node, plus(lacking_for($node, $container), $container->{amounts}, 1));
	my @found = map { $_->[0] } grep { $_->[1] eq 't' } @rows;

	$total{explained} += @found;
	return (difference("explained for $container->{id}", [ sort keys %candidates ], [ sort map { $_->[0] } @rows ]),
		difference("explained for $container->{id}", \@expected, \@found));
}

sub arrive
{
	my ($node) = @_;
	my $application = one_of(1 .. 3);
	my ($memory, $vcores) = (one_of(768, 1024, 1024, 1536, 2048), one_of(1, 1, 2, 3));
	my $container = {
		id => 'c' . ++$node->{containers},
		guaranteed => one_of(0, 0, 1),
		memory => $memory,
		vcores => $vcores,
		amounts => amounts($memory, $vcores),
		application => $application,
		priority => 10 * $application,
		user => one_of(1 .. 3),
		duration => one_of(undef, 10, 20, 20, 30),
		progress => 0,
		paid => 0
	};

	$container->{duration} = undef if $container->{guaranteed};
	$session->run(sprintf q(INSERT INTO yquota.container_event (event, container_id, occurred_at, project, application_id, username, node, allocation, execution_type, is_running)
		VALUES ('CONTAINER_START', '%s', yquota.clock(), 'p', 'application_1_000%d', 'u%d', 'n', '[memory-mb=%d,vcores=%d]', '%s', %s)),
		$container->{id}, $application, $container->{user}, $memory, $vcores,
		$container->{guaranteed} ? ('GUARANTEED', 'true') : ('OPPORTUNISTIC', 'false'));
	$session->run("INSERT INTO yquota_internal.expected_duration VALUES ('$container->{id}', '$container->{duration} s')") if defined $container->{duration};
	my @found = $container->{guaranteed} ? explained($node, $container) : ();

	return (@found, difference("arrival of $container->{id}", [ model_arrive($node, $container) ], [ told("enqueue_container('n', '$container->{id}')") ]));
}

sub end
{
	my ($node) = @_;
	my $container = one_of(all_of($node)) // return ();

	return difference("end of $container->{id}", [ model_leave($node, $container) ], [ told("container_ended('n', '$container->{id}')") ]);
}

sub promote
{
	my ($node) = @_;
	my $container = one_of(grep { $_->{state} eq 'QUEUED' } @{ $node->{opportunistic} }) // return ();

	$total{promoted}++;
	$session->run("INSERT INTO yquota.container_event (event, container_id, occurred_at, execution_type) VALUES ('CONTAINER_UPDATE', '$container->{id}', yquota.clock(), 'GUARANTEED')");
	# the call itself starts these containers after that
	my @expected = model_promote($node, $container);
	start_what_can($node, \@expected);
	return difference("promotion of $container->{id}", \@expected, [ told(q(advance_node_queue('n'))) ]);
}

sub shed
{
	my ($node) = @_;
	my $limit = one_of(-1, 0, 1, 2, 5);

	return difference("limit $limit", [ model_shed($node, $limit) ], [ told("shed_containers('n', $limit)") ]);
}

sub report_progress
{
	my ($node) = @_;
	my $container = one_of(all_of($node)) // return ();

	$container->{progress} = int(rand 11) / 10;
	$session->run("SELECT yquota.report_progress(ARRAY[('$container->{id}', $container->{progress})]::yquota.container_progress[])");
	$total{progress}++;
	return ();
}

sub report_application_progress
{
	my ($node) = @_;
	my $application = one_of(1 .. 3);

	$node->{progress}{$application} = int(rand 11) / 10;
	$session->run("SELECT yquota.report_application_progress('application_1_000$application', $node->{progress}{$application})");
	$total{application_progress}++;
	return ();
}

# Let the agent carry out a random order to pause or kill.
sub obey
{
	my ($node) = @_;
	my $container = one_of(grep { $_->{state} =~ /^(?:PAUSING|KILLING)$/ } @{ $node->{running} }) // return ();

	return difference("pause of $container->{id}", [ model_pause($node, $container) ], [ told("container_paused('n', '$container->{id}')") ])
		if $container->{state} eq 'PAUSING';
	return difference("kill of $container->{id}", [ model_leave($node, $container) ], [ told("container_ended('n', '$container->{id}', exit_status => -108)") ]);
}

sub pass_time
{
	my ($node) = @_;
	my $seconds = one_of(1, 1, 2, 5);

	$session->run("SELECT yquota.set_clock(yquota.clock() + interval '$seconds s')");
	$node->{now} += 1_000_000 * $seconds;
	return;
}

sub play
{
	my ($number) = @_;
	my $node = begin_history();
	my @actions = ((\&arrive) x 8, (\&end) x 4, \&promote, \&shed, (\&report_progress) x 3, \&report_application_progress, (\&obey) x 5, \&set_orders);

	foreach my $step (1 .. $steps)
	{
		pass_time($node);
		my @found = one_of(@actions)->($node);

		next if !@found;
		diag("history $number, step $step, orders " . join(', ', map { $_ // 'NULL' } @{$node}{qw(start_order kill_order)}) . ": $_") foreach @found;
		return 0;
	}
	my $problems = $session->run('SELECT * FROM yquota.verify()');

	diag("history $number: $problems") if $problems ne '';
	return $problems eq '';
}

my $database = "yquota_node_queue_order_$$";
Session::administer("CREATE DATABASE $database");
$session = Session->new($database);
$session->run(q(SET client_min_messages = error; CREATE EXTENSION IF NOT EXISTS yquota; INSERT INTO yquota.project (name) VALUES ('p');
	INSERT INTO yquota.queue (path, capacity) VALUES ('root', NULL), ('root.default', '100');
	SELECT yquota.set_clock('2026-03-02 10:00+00');
	SELECT count(*) FROM generate_series(1, 3) AS n, yquota.submit_application('application_1_000' || n, 'u', '{}', 'default', project => 'p', unmanaged => true);
	UPDATE yquota.application SET priority = substr(application_id, 17)::integer * 10));

my ($number, $failures) = (0, 0);
for (my $goes_on = 1; $goes_on && !$failures;)
{
	$goes_on = soak_goes_on(++$number, $histories, 5 * $histories) || soak_lacks($number, $histories, @total{@events});
	srand($seed + $number);
	$failures++ if !play($number);
	$session->run('ROLLBACK');
}
is($failures, 0, 'the queue decides as the model does');
cmp_ok($total{$_} // 0, '>', 0, "$_: it happened") foreach @events;
note("$_: $total{$_}") foreach sort keys %total;
$session->close;
Session::administer("DROP DATABASE $database WITH (FORCE)");
done_testing();
