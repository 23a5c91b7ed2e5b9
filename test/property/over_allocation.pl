#!/usr/bin/env perl
#
# The queue of a node that is over-allocated by its measured use agrees with a model in Perl.
#
# Random containers arrive at a node and end, by themselves, as reported by its agent or by another source. The agent
# kills or pauses them as ordered. The node reports random measures, sometimes late or never, under random thresholds,
# which change. The model knows the containers, the last report, and the rule of docs/reference.md (over_allocation).
# After each call the model and yquota must have given the same answers, in the same order, and must agree on the
# figures of node_room.
#
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin, "$FindBin::Bin/../t";
use List::Util qw(max sum0);
use Test::More;
use Session;
use Soak;
use Trial;

my ($seed, $histories) = Trial::plan_run(25);
my $steps = 80;
my ($session, %total);
my @events = (qw(start queued kill pause resume rejected relieved report over-allocated), 'ended elsewhere');
my %name = (m => 'memory-mb', v => 'vcores');

sub one_of { return $_[ rand @_ ]; }
sub chance { return rand() < $_[0]; }

# -- the model: a node {total, capacity, pauses, thresholds, report, freed, now, guaranteed, opportunistic, running} --

# Hadoop's virtual memory for so many MiB, which is a product of 32-bit floats.
sub float { return unpack 'f', pack 'f', $_[0]; }
sub virtual { return int float($_[0] * float(2.1)); }

sub used { my ($node, $type) = @_; return sum0(map { $_->{$type} } @{ $node->{running} }); }
sub used_virtual { my ($node) = @_; return sum0(map { virtual($_->{m}) } @{ $node->{running} }); }
sub is_leaving { return $_[0]{state} =~ /^(KILLING|PAUSING)$/; }

# Return the report that counts, if any.
sub report_in_force
{
	my ($node) = @_;
	my $report = $node->{report};

	return $report && defined $report->{m} && $report->{at} <= $node->{now} && $node->{now} - $report->{at} <= 10_000_000 ? $report : undef;
}

# This is exact, because both numbers are integers far below 2^53.
sub part { my ($total, $millionths) = @_; return int($total * $millionths / 1_000_000); }

sub excess
{
	my ($node, $type) = @_;
	my $report = report_in_force($node) or return 0;
	my $limit = $node->{preemption}{$type} or return 0;

	return max(0, $report->{$type} - part($node->{total}{$type}, $limit));
}

# Return whether a container began to run since the report. For a container that is being killed or
# paused, this is known unless it was paused before.
sub is_since
{
	my ($container, $report) = @_;

	return ($container->{state} eq 'RUNNING' || $container->{pauses} ? $container->{state_at} : $container->{started}) > $report->{at};
}

sub room
{
	my ($node, $type) = @_;
	my $free = $node->{total}{$type} - used($node, $type);
	my $report = report_in_force($node);

	return $free if !$report || !$node->{threshold}{$type} || !$report->{$type};
	my ($guaranteed, $guaranteed_since, $since) = (0, 0, 0);
	foreach my $container (@{ $node->{running} })
	{
		$guaranteed += $container->{$type} if $container->{type} eq 'GUARANTEED';
		next if !is_since($container, $report);
		$container->{type} eq 'GUARANTEED' ? ($guaranteed_since += $container->{$type}) : ($since += $container->{$type});
	}
	return max($free, part($node->{total}{$type}, $node->{threshold}{$type}) - max($report->{$type} + $guaranteed_since, $guaranteed) - $since);
}

sub fits
{
	my ($node, $container) = @_;
	my $memory_fits = used($node, 'm') + $container->{m} <= $node->{total}{m} && used_virtual($node) + virtual($container->{m}) <= virtual($node->{total}{m});
	my $free = $node->{total}{m} - used($node, 'm');

	return $memory_fits && used($node, 'v') + $container->{v} <= $node->{total}{v} if $container->{type} eq 'GUARANTEED';
	return 0 if excess($node, 'm') || excess($node, 'v');
	return $container->{v} <= room($node, 'v') && (room($node, 'm') > $free ? $container->{m} <= room($node, 'm') : $memory_fits);
}

sub start_waiting
{
	my ($node) = @_;
	my @told;

	foreach my $queue ($node->{guaranteed}, $node->{opportunistic})
	{
		while (@$queue && fits($node, $queue->[0]))
		{
			my $container = shift @$queue;
			my $report = report_in_force($node);

			push @told, ($container->{state} eq 'PAUSED' ? 'resume ' : 'start ') . $container->{id};
			$container->{state} = 'RUNNING';
			$container->{state_at} = $report ? max($node->{now}, $report->{at} + 1) : $node->{now};
			$container->{started} //= $container->{state_at};
			push @{ $node->{running} }, $container;
		}
		last if @$queue;
	}
	return @told;
}

# Choose victims, the most recently started first, until nothing of the request is left.
sub take
{
	my ($node, %lacking) = @_;
	my @told;

	foreach my $container (reverse @{ $node->{running} })
	{
		last if !grep { $_ > 0 } values %lacking;
		next if $container->{type} eq 'GUARANTEED' || is_leaving($container);
		$container->{state} = $node->{pauses} ? 'PAUSING' : 'KILLING';
		$container->{state_at} = $node->{now};
		push @told, ($node->{pauses} ? 'pause ' : 'kill ') . $container->{id};
		$lacking{$_} -= $container->{$_} foreach qw(m v);
		$lacking{virtual} -= virtual($container->{m}) if defined $lacking{virtual};
	}
	return @told;
}

sub make_room
{
	my ($node, $arrived) = @_;
	my @leaving = grep { is_leaving($_) } @{ $node->{running} };
	my @waiting = @{ $node->{guaranteed} };

	return take($node,
		(map { my $type = $_; $type => used($node, $type) + sum0(map { $_->{$type} } @waiting) - sum0(map { $_->{$type} } @leaving) - $node->{total}{$type} } qw(m v)),
		virtual => used_virtual($node) + sum0(map { virtual($_->{m}) } @waiting) - sum0(map { virtual($_->{m}) } @leaving) - virtual($node->{total}{m}));
}

# Do the last step of each call.
sub relieve
{
	my ($node) = @_;
	my @leaving = grep { is_leaving($_) } @{ $node->{running} };

	return if !excess($node, 'm') && !excess($node, 'v');
	my @told = take($node, map { my $type = $_; $type => excess($node, $type) - $node->{freed}{$type} - sum0(map { $_->{$type} } @leaving) } qw(m v));
	$total{relieved} += @told;
	return @told;
}

# Remove a container; return true if it had used room.
sub give_back
{
	my ($node, $container, $at) = @_;
	my $ran = grep { $_ == $container } @{ $node->{running} };
	my $report = report_in_force($node);

	@$_ = grep { $_ != $container } @$_ foreach $node->{running}, $node->{guaranteed}, $node->{opportunistic};
	if ($ran && $report && (excess($node, 'm') || excess($node, 'v')) && $at >= $report->{at} && (is_leaving($container) || !is_since($container, $report)))
	{
		$node->{freed}{$_} += $container->{$_} foreach qw(m v);
	}
	return $ran;
}

# Learn the ends that other sources have reported, as each call does first.
sub learn
{
	my ($node) = @_;
	my @ended = grep { defined $_->{ended} } map { @$_ } @{$node}{qw(running guaranteed opportunistic)};
	my $frees = 0;

	$frees = give_back($node, $_, $_->{ended}) || $frees foreach @ended;
	return $frees ? start_waiting($node) : ();
}

sub model_arrive
{
	my ($node, $container) = @_;
	my @told = learn($node);

	if ($container->{type} eq 'GUARANTEED')
	{
		push @{ $node->{guaranteed} }, $container;
		push @told, start_waiting($node);
		push @told, make_room($node, $container) if $container->{state} eq 'QUEUED';
	}
	else
	{
		push @told, start_waiting($node);
		if (@{ $node->{opportunistic} } >= $node->{capacity})
		{
			$container->{state} = 'GONE';
			push @told, "rejected $container->{id}";
		}
		else
		{
			push @{ $node->{opportunistic} }, $container;
			push @told, start_waiting($node);
		}
	}
	unshift @told, "queued $container->{id}" if $container->{state} eq 'QUEUED';
	return (@told, relieve($node));
}

sub model_end
{
	my ($node, $container) = @_;
	# if this call has started the container before it learned of the end, the container must be
	# stopped
	my @told = map { s/^\w+ (?=$container->{id}$)/stop /r } learn($node);

	push @told, start_waiting($node) if give_back($node, $container, $node->{now});
	return (@told, relieve($node));
}

sub model_paused
{
	my ($node, $container) = @_;
	my @told = learn($node);

	give_back($node, $container, $node->{now});
	$container->{state} = 'PAUSED';
	$container->{pauses}++;
	push @{ $node->{opportunistic} }, $container;
	return (@told, start_waiting($node), relieve($node));
}

sub model_advance
{
	my ($node) = @_;

	return (learn($node), start_waiting($node), relieve($node));
}

# -- yquota ----------------------------------------------------------------------------

sub rows { return map { [ split /\|/, $_, -1 ] } split /\n/, $session->run($_[0]); }
sub instant { return sprintf q(timestamptz '2026-03-02 10:00+00' + %d * interval '1 us'), $_[0]; }
sub call { my ($sql) = @_; return map { "$_->[0] $_->[1]" } rows("SELECT a.action, a.container_id FROM yquota.$sql AS a"); }

sub set_thresholds
{
	my ($node) = @_;

	$session->run('DELETE FROM yquota.over_allocation');
	foreach my $type (qw(m v))
	{
		my $threshold = one_of(undef, 333333, 700000, 900000, 1000000, 1500000);
		my $preemption = one_of(undef, 800000, 950001, 1100000, 1500000);

		$threshold = $preemption if $threshold && $preemption && $threshold > $preemption;
		($node->{threshold}{$type}, $node->{preemption}{$type}) = ($threshold, $preemption);
		next if !$threshold && !$preemption && chance(0.5);
		$session->run(sprintf q(INSERT INTO yquota.over_allocation VALUES ('%s', %s, %s)), $name{$type}, map { defined $_ ? sprintf '%.6f', $_ / 1_000_000 : 'NULL' } $threshold, $preemption);
	}
	return;
}

sub begin_history
{
	my $node = { total => { m => 1024 * one_of(4, 8, 10), v => one_of(4, 8, 16) }, capacity => one_of(1, 3, 10), pauses => chance(0.4), now => 0, containers => 0,
		freed => { m => 0, v => 0 }, running => [], guaranteed => [], opportunistic => [] };

	$session->run(join ";\n", 'BEGIN', 'SELECT yquota.set_clock(' . instant(0) . ')',
		sprintf('INSERT INTO yquota.scheduler_setting (opportunistic_queue_capacity, uses_pause_for_preemption) VALUES (%d, %s)', $node->{capacity}, $node->{pauses} ? 'true' : 'false'),
		"INSERT INTO yquota.node (name, total) VALUES ('n', '[memory-mb=$node->{total}{m},vcores=$node->{total}{v}]')");
	set_thresholds($node);
	return $node;
}

# -- steps: answers of yquota, and the model ----------------------------------------------

sub any { my ($node, $condition) = @_; my @found = grep { $condition->($_) } map { @$_ } @{$node}{qw(running guaranteed opportunistic)}; return one_of(@found); }

sub arrive
{
	my ($node) = @_;
	my $container = { id => 'c' . ++$node->{containers}, type => one_of(qw(GUARANTEED OPPORTUNISTIC OPPORTUNISTIC OPPORTUNISTIC)), state => 'QUEUED', pauses => 0,
		m => one_of(256, 512, 1000, 1024, 2048), v => one_of(1, 1, 2) };

	$session->run(sprintf q(INSERT INTO yquota.container_event (event, container_id, occurred_at, project, node, allocation, execution_type, is_running)
		VALUES ('CONTAINER_START', '%s', yquota.clock(), 'p', 'n', '[memory-mb=%d,vcores=%d]', '%s', %s)), @{$container}{qw(id m v type)}, $container->{type} eq 'GUARANTEED' ? 'true' : 'false');
	return ([ call("enqueue_container('n', '$container->{id}')") ], [ model_arrive($node, $container) ]);
}

sub end
{
	my ($node) = @_;
	my $container = any($node, sub { !defined $_[0]{ended} }) or return advance($node);

	return ([ call("container_ended('n', '$container->{id}')") ], [ model_end($node, $container) ]);
}

sub end_elsewhere
{
	my ($node) = @_;
	my $container = any($node, sub { !defined $_[0]{ended} }) or return advance($node);

	$session->run("SELECT count(*) FROM yquota.release_containers(ARRAY['$container->{id}'])");
	$container->{ended} = $node->{now};
	$total{'ended elsewhere'}++;
	return ([], []);
}

sub obey
{
	my ($node) = @_;
	my $container = any($node, sub { is_leaving($_[0]) && !defined $_[0]{ended} }) or return advance($node);

	return $container->{state} eq 'KILLING'
	  ? ([ call("container_ended('n', '$container->{id}', exit_status => -108)") ], [ model_end($node, $container) ])
	  : ([ call("container_paused('n', '$container->{id}')") ], [ model_paused($node, $container) ]);
}

sub report
{
	my ($node) = @_;
	my %measured = map { $_ => int($node->{total}{$_} * one_of(0, rand, rand, rand, rand(1.4))) } qw(m v);
	my $at = $node->{now} - one_of(0, 0, 0, 500_000, 3_000_000);
	my $is_told = chance(0.9);

	$session->run(sprintf q(SELECT accepted FROM yquota.report_nodes(ARRAY[ROW('n', 0, 0, 0, 0, NULL, NULL, %s, NULL, %s)::yquota.node_report])), instant($at),
		$is_told ? sprintf q('[memory-mb=%d,vcores=%d]'), @measured{qw(m v)} : 'NULL');
	if (!$node->{report} || $at > $node->{report}{at})
	{
		$node->{report} = { at => $at, $is_told ? %measured : () };
		$node->{freed} = { m => 0, v => 0 };
		$total{report}++;
	}
	return ([], []);
}

sub advance { my ($node) = @_; return ([ call(q(advance_node_queue('n'))) ], [ model_advance($node) ]); }

sub change_thresholds { my ($node) = @_; set_thresholds($node); return ([], []); }

# Return the figures as of the next call, which first learns of ends.
sub figures
{
	my ($node) = @_;

	return ([], []) if grep { defined $_->{ended} } map { @$_ } @{$node}{qw(running guaranteed opportunistic)};
	return ([ map { join ' ', @$_ } rows(q(SELECT r.resource_type, r.allocated, r.free, r.room, r.excess, coalesce(r.freed, 0) FROM yquota.node_room AS r ORDER BY 1)) ],
		[ map { my $type = $_; join ' ', $name{$type}, used($node, $type), $node->{total}{$type} - used($node, $type), room($node, $type), excess($node, $type),
			excess($node, $type) ? $node->{freed}{$type} : 0 } qw(m v) ]);
}

sub play
{
	my ($number) = @_;
	my $node = begin_history();
	my @actions = ((\&arrive) x 8, (\&end) x 3, \&end_elsewhere, (\&obey) x 3, (\&report) x 5, (\&advance) x 3, one_of(\&change_thresholds, \&advance));

	foreach my $step (1 .. $steps)
	{
		$node->{now} += one_of(0, 0, 1, 250_000, 1_000_000, 1_000_000, 4_000_000, 11_000_000 * chance(0.2));
		$session->run('SELECT yquota.set_clock(' . instant($node->{now}) . ')');
		foreach my $what (one_of(@actions), \&figures)
		{
			my ($told, $model) = $what->($node);

			$total{ (split / /)[0] }++ foreach $what == \&figures ? () : @$told;
			$total{'over-allocated'}++ if $what == \&figures && grep { $node->{total}{$_} < used($node, $_) } qw(m v);
			next if join(', ', @$told) eq join(', ', @$model);
			diag("history $number, step $step: told " . join(', ', @$told) . '; the model: ' . join(', ', @$model));
			return 0;
		}
		next if $step % 40;
		my $wrong = $session->run('SELECT * FROM yquota.verify()');
		next if $wrong eq '';
		diag("history $number, step $step: $wrong");
		return 0;
	}
	return 1;
}

my $database = "yquota_over_allocation_$$";
Session::administer("CREATE DATABASE $database");
$session = Session->new($database);
$session->run(q(SET client_min_messages = error; CREATE EXTENSION IF NOT EXISTS yquota; INSERT INTO yquota.project (name) VALUES ('p')));

my ($number, $failures) = (0, 0);
for (my $goes_on = 1; $goes_on && !$failures;)
{
	$goes_on = soak_goes_on(++$number, $histories, 5 * $histories) || soak_lacks($number, $histories, @total{@events});
	srand($seed + $number);
	$failures++ if !play($number);
	$session->run('ROLLBACK');
}
is($failures, 0, 'nodes are over-allocated as the model says');
cmp_ok($total{$_} // 0, '>', 0, "$_: it happened") foreach @events;
note("$_: $total{$_}") foreach sort keys %total;
$session->close;
Session::administer("DROP DATABASE $database WITH (FORCE)");
done_testing();
