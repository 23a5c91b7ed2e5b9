# Opportunistic.pm: opportunistic containers in a cluster of Allocation.pm. The cases measure node reports, sorting of
# the list by load, and the rate at which containers are allocated from the list.
package Opportunistic;

use strict;
use warnings;

use Allocation;
use Bench;
use Cluster;
use FindBin;
use List::Util qw(min);
use Report;

# The number of nodes that report at once, of containers that a call requests, and of free places on
# a node.
use constant { BATCH => 100, CALL => 1000, PLACES => 100 };
# The corresponding numbers for the rule that only the least loaded nodes are used.
use constant { FEW_NODES => 10, FEW_PLACES => 15 };
use constant EVENTS_PER_SECOND => 400;
use constant CALLS_PER_SECOND => 400;

my $database = Allocation::database();

sub application { return sprintf 'application_1700000000000_%06d', $_[0]; }

# Make the cluster without any requests; SETTINGS are columns of scheduler_setting.
sub cluster
{
	my ($settings) = @_;
	my %size = (nodes => size('nodes'), leaves => size('leaves'), applications => size('active_applications'), containers => 1, room => 1, levels => 4);

	Cluster::copy_database($database, Allocation::empty());
	Cluster::run_file($database, "$FindBin::Bin/allocation.sql", %size);
	enable($settings);
	Cluster::once($database, 'VACUUM ANALYZE');
	return \%size;
}

sub enable
{
	my ($settings) = @_;

	Cluster::once($database, "SET client_min_messages = error; UPDATE yquota.scheduler_setting SET opportunistic_allocation_enabled = true, allocation_expiry = '1 day', $settings");
	return;
}

# Return the statements of a round of reports of all nodes, in batches.
sub reports
{
	my ($nodes) = @_;
	my $batch = min(BATCH, $nodes);

	return map {
		sprintf q(SELECT count(*) FROM yquota.report_nodes(ARRAY(SELECT ROW(n.name, 0, 0, 0, 0, NULL, NULL, NULL, NULL, NULL)::yquota.node_report FROM yquota.node AS n WHERE n.name >= 'node%06d' AND n.name < 'node%06d'))),
		  $_ * $batch, ($_ + 1) * $batch
	} 0 .. $nodes / $batch - 1;
}

sub report_all { my ($session, $size) = @_; $session->run($_) foreach reports($size->{nodes}); return; }

sub report_case
{
	my (@processor, @wal, @sort, @first, $size);

	foreach (1 .. repetitions())
	{
		$size = cluster('opportunistic_queue_capacity = 100');
		Cluster::checkpoint();
		my $session = Cluster->new($database);
		my $used = $session->processor_milliseconds;

		report_all($session, $size);
		push @first, $session->processor_milliseconds - $used;
		my $before = $session->wal;
		$used = $session->processor_milliseconds;
		report_all($session, $size);
		push @processor, $session->processor_milliseconds - $used;
		push @wal, ($session->wal - $before) / 1e6;
		foreach (1 .. 5)
		{
			$session->run('SELECT pg_sleep(1.01)');
			$used = $session->processor_milliseconds;
			$session->run(q(SELECT count(*) FROM yquota.report_nodes('{}')));
			push @sort, $session->processor_milliseconds - $used;
		}
		die "the list has not all nodes\n" if $session->run('SELECT count(*) FROM yquota.opportunistic_node') != $size->{nodes};
		$session->close;
	}
	my $called = sprintf 'report_nodes(), a round of %d nodes in batches of %d', $size->{nodes}, min(BATCH, $size->{nodes});
	Report::add("$called: of a processor", figure => median(@processor), figure_unit => 'ms', value => median(@processor), unit => 'ms', at_most => 300,
		note => 'the first one of a session that knows no node: ' . Bench::shown(median(@first)) . ' ms');
	Report::add("$called: WAL", figure => median(@wal), figure_unit => 'MB', value => median(@wal), unit => 'MB', at_most => 1.5);
	Report::add('sorting the nodes and the limit of their queues', figure => median(@sort), figure_unit => 'ms', value => median(@sort), unit => 'ms', at_most => 10,
		note => "$size->{nodes} nodes");
	Cluster::drop_database($database);
	return;
}

# Let an application request many containers, call by call.
sub calls
{
	my ($session, $count) = @_;
	my $call = sprintf q(SELECT count(*) FROM yquota.allocate_opportunistic('%s', ARRAY[ROW('*', '[memory-mb=1024,vcores=1]', %d, 1, 1, true, NULL, 'OPPORTUNISTIC', NULL)::yquota.container_request])),
	  application(1), CALL;

	return map { scalar $session->milliseconds($call) } 1 .. $count;
}

sub allocate_case
{
	my (@rates, $size);

	foreach (1 .. repetitions())
	{
		$size = cluster("opportunistic_queue_capacity = @{[PLACES]}, opportunistic_nodes_used = 1000000, node_sorting_interval = '1 hour'");
		my $session = Cluster->new($database);

		report_all($session, $size);
		# the list was made when only the first nodes had reported
		$session->run(q(DELETE FROM yquota_internal.load_list; SELECT count(*) FROM yquota.report_nodes('{}')));
		Cluster::checkpoint();
		my $calls = min(11, int($size->{nodes} * PLACES / CALL));
		my @milliseconds = calls($session, $calls);
		shift @milliseconds;
		push @rates, 1000 * CALL / median(@milliseconds);
		$session->close;
		# queues do not count opportunistic containers as used
		check_books($database, running => $calls * CALL, used => 0, events => $calls * CALL, charges => 0);
	}
	Report::add(sprintf('allocate_opportunistic() of %d containers: given out, recorded and charged', CALL), figure => median(@rates), figure_unit => '/s',
		value => median(@rates), unit => '/s', at_least => 50_000, note => "$size->{nodes} nodes with room for @{[PLACES]} each");
	Cluster::drop_database($database);
	return;
}

# The ten least loaded nodes have room for 150 containers, for all applications and calls together.
sub rule_case
{
	my $size = cluster(sprintf "opportunistic_queue_capacity = %d, opportunistic_nodes_used = %d, node_sorting_interval = '1 hour'", FEW_PLACES, FEW_NODES);
	my $session = Cluster->new($database);
	my $given = q(SELECT count(*) FROM yquota.container);

	report_all($session, $size);
	foreach my $sort (1 .. 2)
	{
		$session->run(q(DELETE FROM yquota_internal.load_list; SELECT count(*) FROM yquota.report_nodes('{}')));
		calls($session, 2);
		my $containers = $session->run($given);
		die "$containers containers after $sort sorts\n" if $containers != $sort * FEW_NODES * FEW_PLACES;
	}
	$session->close;
	Report::add(sprintf('allocate_opportunistic() from the %d least loaded nodes with %d places: containers per sort', FEW_NODES, FEW_PLACES),
		figure => FEW_NODES * FEW_PLACES, figure_unit => '', value => FEW_NODES * FEW_PLACES, unit => '', at_least => FEW_NODES * FEW_PLACES);
	Cluster::drop_database($database);
	return;
}

# Allocations of single containers, while events arrive.
sub single_case
{
	my ($size, $full) = Allocation::full_copies();
	my $seconds = size('heartbeat_seconds');

	foreach my $clients (1, 8)
	{
		my (@median, @late);

		foreach (1 .. repetitions())
		{
			Cluster::copy_database($database, $full);
			enable('opportunistic_queue_capacity = 1000, opportunistic_nodes_used = 100');
			my $session = Cluster->new($database);
			report_all($session, $size);
			Cluster::checkpoint();
			my @for = $seconds ? ('-T' => $seconds) : ('-t' => size('heartbeats') / $clients);
			my $events = Allocation::running_pgbench('finish', $seconds ? ('-T' => $seconds) : ('-t' => size('heartbeats')), '--rate' => EVENTS_PER_SECOND);
			my $calls = Allocation::running_pgbench('opportunistic', '-c' => $clients, '-j' => ($clients > 1 ? 2 : 1), @for,
				($clients > 1 ? ('--rate' => CALLS_PER_SECOND) : ()), variables => { applications => $size->{applications} });
			my (undef, $others) = Allocation::first_and_others(Allocation::ended($calls));
			Allocation::ended($events);
			push @median, median(@$others);
			push @late, (sort { $a <=> $b } @$others)[ int(0.99 * $#$others) ];
			$session->close;
		}
		my $name = sprintf 'allocate_opportunistic() of one container, %s, %d events/s beside', $clients == 1 ? '1 client' : "$clients clients, " . CALLS_PER_SECOND . '/s together', EVENTS_PER_SECOND;
		Report::add("$name: median", figure => median(@median), figure_unit => 'ms', value => median(@median), unit => 'ms', at_most => 1, note => Allocation::described($size));
		Report::add("$name: 99 %", figure => median(@late), figure_unit => 'ms', ($clients > 1 ? (value => median(@late), unit => 'ms', at_most => 5) : ()), note => Allocation::described($size));
	}
	Cluster::drop_database($_) foreach $database, $full;
	return;
}

# The computation of prices with the load of all queues, and without it.
sub price_case
{
	my (@with, @without, $size);

	foreach (1 .. repetitions())
	{
		$size = cluster('opportunistic_queue_capacity = 100');
		my $session = Cluster->new($database);

		report_all($session, $size);
		$session->run('SELECT count(*) FROM yquota.compute_prices()') foreach 1 .. 2;
		push @without, $session->used_by('SELECT count(*) FROM yquota.compute_prices()');
		$session->run('INSERT INTO yquota.opportunistic_price (min_factor, max_factor) VALUES (0.2, 1); SELECT count(*) FROM yquota.compute_prices()');
		push @with, $session->used_by('SELECT count(*) FROM yquota.compute_prices()');
		$session->close;
	}
	Report::add('compute_prices() with the load of node queues: of a processor', figure => median(@with), figure_unit => 'ms', baseline => median(@without),
		baseline_name => 'without', value => median(@with), unit => 'ms', at_most => 200, note => "$size->{nodes} nodes");
	Cluster::drop_database($database);
	return;
}

# Calls for one container, alternately without an interceptor and with an interceptor that returns its input.
use constant { TURNS => 10, CALLS_OF_TURN => 100 };

sub interceptor_case
{
	my (@ratios, @with, @without, $size);
	my $call = sprintf q(SELECT count(*) FROM yquota.allocate_opportunistic('%s', ARRAY[ROW('*', '[memory-mb=1024,vcores=1]', 1, 1, 1, true, NULL, 'OPPORTUNISTIC', NULL)::yquota.container_request])), application(1);

	$size = cluster("opportunistic_queue_capacity = 1000, node_sorting_interval = '1 hour'");
	my $session = Cluster->new($database);
	report_all($session, $size);
	$session->run(q(DELETE FROM yquota_internal.load_list; SELECT count(*) FROM yquota.report_nodes('{}');
		CREATE FUNCTION public.pass(request yquota.allocate_request) RETURNS yquota.allocate_request
			LANGUAGE plpgsql AS $$ BEGIN RETURN request; END $$));
	foreach my $turn (0 .. TURNS)
	{
		my %used;

		foreach my $is_on (0, 1)
		{
			$session->run($is_on ? q(INSERT INTO yquota.request_interceptor VALUES (1, 'public.pass')) : 'DELETE FROM yquota.request_interceptor');
			$session->run($call);
			$used{$is_on} = $session->used_by(join ";\n", ($call) x CALLS_OF_TURN) / CALLS_OF_TURN;
		}
		# in the first turn the session reads the cluster
		next if !$turn;
		push @without, $used{0};
		push @with, $used{1};
		push @ratios, $used{1} / $used{0};
	}
	$session->close;
	Report::add('allocate_opportunistic() of one container, with a request interceptor in PL/pgSQL: of a processor', figure => median(@with), figure_unit => 'ms',
		baseline => median(@without), baseline_name => 'without', value => median(@ratios), unit => 'x', at_most => 1.1, note => "$size->{nodes} nodes");
	Cluster::drop_database($database);
	return;
}

# On each node several containers arrive. Of the ten OPPORTUNISTIC ones two wait, and two are killed for GUARANTEED
# ones.
my $arriving = <<'SQL';
CREATE TABLE arriving AS
SELECT row_number() OVER (ORDER BY c, n) AS number, 'node' || lpad(n::text, 6, '0') AS node, 'container_' || n || '_' || c AS container_id, c > 10 AS is_guaranteed
FROM generate_series(0, %d - 1) AS n, generate_series(1, 12) AS c;
ALTER TABLE arriving ADD PRIMARY KEY (number);
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, application_id, username, queue, node, allocation, execution_type, is_running, source)
SELECT 'CONTAINER_START', r.container_id, clock_timestamp(), a.project, a.application_id, a.username, a.queue, r.node, '[memory-mb=2048,vcores=1]',
	CASE WHEN r.is_guaranteed THEN 'GUARANTEED' ELSE 'OPPORTUNISTIC' END::yquota.execution_type, r.is_guaranteed, 'bench'
FROM arriving AS r, (SELECT * FROM yquota.application ORDER BY application_id LIMIT 1) AS a;
SQL

# Calls of nodes' agents, each in its own transaction, and the end of a container without a queue.
my @queue_calls = (
	[ 'enqueue_container()', 'SELECT * FROM arriving AS r, yquota.enqueue_container(r.node, r.container_id) WHERE r.number = $1', 'true' ],
	[ 'node_work(), two containers to be killed', 'SELECT * FROM arriving AS r, yquota.node_work(r.node) WHERE r.number = $1', 'r.number <= (SELECT count(DISTINCT node) FROM arriving)' ],
	[ 'container_ended(), and another one starts', 'SELECT * FROM arriving AS r, yquota.container_ended(r.node, r.container_id, exit_status => -108) WHERE r.number = $1',
		q(r.container_id IN (SELECT q.container_id FROM yquota.node_queue AS q WHERE q.state = 'KILLING')) ],
	[ 'shed_containers(), one of two', 'SELECT * FROM arriving AS r, yquota.shed_containers(r.node, 1) WHERE r.number = $1', 'r.number <= (SELECT count(DISTINCT node) FROM arriving)' ],
	[ 'advance_node_queue(), nothing to do', 'SELECT * FROM arriving AS r, yquota.advance_node_queue(r.node) WHERE r.number = $1', 'r.number <= (SELECT count(DISTINCT node) FROM arriving)' ]);
my @event_alone = (
	q(INSERT INTO yquota.container_event (event, container_id, occurred_at, exit_status) SELECT 'CONTAINER_FINISH', r.container_id, clock_timestamp(), 0 FROM arriving AS r WHERE r.number = $1),
	q(r.container_id IN (SELECT q.container_id FROM yquota.node_queue AS q WHERE q.state = 'RUNNING' AND q.execution_type = 'GUARANTEED')));

# Return a session on a cluster in which containers arrive, after STATEMENTS.
sub arriving
{
	my ($nodes, @statements) = @_;

	cluster('opportunistic_queue_capacity = 10');
	Cluster::once($database, $_) foreach sprintf($arriving, $nodes), @statements, 'VACUUM ANALYZE';
	Cluster::checkpoint();
	my $session = Cluster->new($database);
	# make the session load the data that it reads once
	$session->run(q(BEGIN; SELECT * FROM yquota.enqueue_container('node000000', 'container_0_1'); ROLLBACK));
	return $session;
}

sub queue_case
{
	my $nodes = size('queue_nodes');
	my (%found, @alone);

	foreach (1 .. repetitions())
	{
		my $session = arriving($nodes);

		foreach my $call (@queue_calls)
		{
			my ($name, @how) = @$call;

			push @{ $found{$name} }, processor_time($session, @how);
		}
		check_queues($session, $nodes);
		push @alone, processor_time($session, @event_alone);
		$session->close;
	}
	foreach my $name (map { $_->[0] } @queue_calls)
	{
		my $figure = median(@{ $found{$name} });

		Report::add("$name: of a processor", figure => $figure, figure_unit => 'ms', baseline => median(@alone), baseline_name => 'a FINISH alone',
			value => ratio($figure, median(@alone)), unit => 'x', note => "$nodes nodes, 12 containers each");
	}
	Cluster::drop_database($database);
	return;
}

# The cost of an over-allocated node, whose report leaves no more room than the allocations do.
sub over_allocation_case
{
	my $nodes = size('queue_nodes');
	my @measured = (
		q(INSERT INTO yquota.over_allocation (resource_type, threshold, preemption_threshold) VALUES ('memory-mb', 0.8, 0.9), ('vcores', 0.9, 1)),
		q(UPDATE yquota.scheduler_setting SET report_max_age = '1 day'),
		q(SELECT count(*) FROM yquota.report_nodes(ARRAY(SELECT ROW(n.name, 0, 0, 0, 0, NULL, NULL, NULL, NULL, '[memory-mb=1024,vcores=1]')::yquota.node_report
			FROM yquota.node AS n WHERE n.name IN (SELECT node FROM arriving)))));
	my @calls = grep { $_->[0] =~ /^(enqueue_container|advance_node_queue)/ } @queue_calls;
	my %found;

	foreach (1 .. repetitions())
	{
		foreach my $is_over_allocated (0, 1)
		{
			my $session = arriving($nodes, $is_over_allocated ? @measured : ());

			foreach my $call (@calls)
			{
				my ($name, @how) = @$call;

				push @{ $found{$name}[$is_over_allocated] }, processor_time($session, @how);
			}
			$session->close;
		}
	}
	foreach my $name (map { $_->[0] } @calls)
	{
		my ($without, $with) = map { median(@$_) } @{ $found{$name} };

		Report::add("$name, over-allocated: of a processor", figure => $with, figure_unit => 'ms', baseline => $without, baseline_name => 'without thresholds',
			value => ratio($with, $without), unit => 'x', at_most => 1.1, note => "$nodes nodes, 12 containers each");
	}
	Cluster::drop_database($database);
	return;
}

# The extra time of other orders of nodes' queues: when containers arrive, and when a container ends while
# two wait.
my @ranked = (
	q(INSERT INTO yquota_internal.expected_duration (container_id, expected_duration) SELECT container_id, (13 - number % 12) * interval '1 minute' FROM arriving WHERE NOT is_guaranteed),
	q(INSERT INTO yquota_internal.reported_progress (container_id, progress, reported_at) SELECT container_id, number % 100 / 100.0, now() FROM arriving WHERE NOT is_guaranteed),
	q(INSERT INTO yquota_internal.reported_application_progress (application_id, progress, reported_at) SELECT application_id, round(row_number() OVER () % 100 / 100.0, 2), now() FROM yquota.application));
my %setting_of = ((map { $_ => 'node_queue_order' } qw(shortest_first application_priority fair_by_user closest_to_end)),
	(map { $_ => 'opportunistic_kill_order' } qw(least_paid lowest_priority furthest_from_end fewest)));
use constant NODES_OF_TURN => 5;
my @order_calls = (
	[ 'enqueue_container()', $queue_calls[0][1], 'true' ],
	[ 'container_ended()', 'SELECT * FROM arriving AS r, yquota.container_ended(r.node, r.container_id) WHERE r.number = $1',
		q(r.container_id IN (SELECT min(q.container_id) FROM yquota.node_queue AS q WHERE q.state = 'RUNNING' AND q.execution_type = 'GUARANTEED' GROUP BY q.node)) ]);
my $killed_end = q(SELECT count(*) FROM (SELECT node, container_id FROM yquota.node_queue WHERE state = 'KILLING') AS q, yquota.container_ended(q.node, q.container_id, exit_status => -108));

# Return a session on a copy of the cluster in which containers arrive, after STATEMENTS.
sub copy_of_arriving
{
	my ($copy, @statements) = @_;

	Cluster::copy_database($copy, $database);
	Cluster::once($copy, $_) foreach @statements, 'VACUUM ANALYZE';
	return Cluster->new($copy);
}

# Return the milliseconds of a call in two sessions, which take turns node by node, as a list of
# pairs.
sub times_by_turns
{
	my ($sessions, $sql, $which) = @_;
	my @turns = map { [ split / / ] } split /\n/,
	  $sessions->[0]->run("SELECT string_agg(r.number::text, ' ' ORDER BY r.number) FROM arriving AS r WHERE $which GROUP BY right(r.node, 6)::integer / @{[NODES_OF_TURN]}");
	my @times;

	$_->run("PREPARE call (bigint) AS $sql") foreach @$sessions;
	foreach my $turn (@turns)
	{
		push @times, [ map { $_->used_by(join ";\n", map { "EXECUTE call ($_)" } @$turn) / @$turn } @$sessions ];
	}
	$_->run('DEALLOCATE call') foreach @$sessions;
	return @times;
}

# Check that on each node one of the two waiting containers has started.
sub check_orders
{
	my ($session, $nodes) = @_;
	my $found = $session->run(q(SELECT concat_ws(', ', count(*) FILTER (WHERE state = 'RUNNING' AND execution_type = 'OPPORTUNISTIC'), count(*) FILTER (WHERE state = 'QUEUED')) FROM yquota.node_queue));

	die "$found containers run and wait\n" if $found ne join ', ', 7 * $nodes, $nodes;
	return;
}

sub order_case
{
	my $nodes = size('queue_nodes');
	my @copies = map { "${database}_$_" } 'without', 'with';

	arriving($nodes)->close;
	foreach my $order (sort { "$setting_of{$b} $b" cmp "$setting_of{$a} $a" } keys %setting_of)
	{
		my @times;

		foreach (1 .. repetitions())
		{
			my @sessions = (copy_of_arriving($copies[0]), copy_of_arriving($copies[1], @ranked, "UPDATE yquota.scheduler_setting SET $setting_of{$order} = '$order'"));

			push @{ $times[0] }, times_by_turns(\@sessions, @{ $order_calls[0] }[ 1, 2 ]);
			$_->run($killed_end) foreach @sessions;
			push @{ $times[1] }, times_by_turns(\@sessions, @{ $order_calls[1] }[ 1, 2 ]);
			check_orders($_, $nodes) foreach @sessions;
			$_->close foreach @sessions;
		}
		foreach my $call (0 .. $#order_calls)
		{
			my @pairs = @{ $times[$call] };

			Report::add("$order_calls[$call][0], $setting_of{$order} $order: of a processor", figure => median(map { $_->[1] } @pairs), figure_unit => 'ms',
				baseline => median(map { $_->[0] } @pairs), baseline_name => 'without', value => median(map { $_->[1] / $_->[0] } @pairs), unit => 'x', at_most => 1.1,
				note => "$nodes nodes, 12 containers each");
		}
	}
	Cluster::drop_database($_) foreach $database, @copies;
	return;
}

# The extra time of heartbeats when a queue has a promotion rule, but no promotion is due.
sub promotion_case
{
	my ($size, $full) = Allocation::full_copies();
	my $nodes = size('queue_nodes');
	my $heartbeat = 'SELECT * FROM arriving AS r, yquota.node_heartbeat(ARRAY[r.node]) WHERE r.number = $1';
	my $of_each_node = 'r.number <= (SELECT count(DISTINCT node) FROM arriving)';
	my @time;

	foreach (1 .. repetitions())
	{
		foreach my $has_rule (0, 1)
		{
			Cluster::copy_database($database, $full);
			enable('opportunistic_queue_capacity = 10');
			Cluster::once($database, $_) foreach sprintf($arriving, $nodes), 'SELECT count(*) FROM arriving AS r, yquota.enqueue_container(r.node, r.container_id)',
				($has_rule ? q(UPDATE yquota.queue SET auto_promote_after = '1 day' WHERE path = 'root') : ()), 'VACUUM ANALYZE';
			Cluster::checkpoint();
			my $session = Cluster->new($database);

			$session->run(q(SELECT * FROM yquota.node_heartbeat('{node000000}')));
			processor_time($session, $heartbeat, $of_each_node);
			push @{ $time[$has_rule] }, median(map { processor_time($session, $heartbeat, $of_each_node) } 1 .. 9);
			$session->close;
		}
	}
	my ($without, $with) = map { median(@$_) } @time;
	Report::add('node_heartbeat() of one node, with auto_promote_after, none due: of a processor', figure => $with, figure_unit => 'ms', baseline => $without, baseline_name => 'without',
		value => ratio($with, $without), unit => 'x', at_most => 1.1, note => "$nodes nodes, 12 containers each; " . Allocation::described($size));
	Cluster::drop_database($_) foreach $database, $full;
	return;
}

# The extra time of allocations with limits of sharing that are not reached.
sub limits_case
{
	my @limits = (q(UPDATE yquota.queue SET opportunistic_maximum_containers = 10000000 WHERE path = 'root'),
		q(UPDATE yquota.scheduler_setting SET opportunistic_user_maximum_resource = '[memory-mb=100000000000]', opportunistic_application_maximum_containers = 10000000));
	my %found;

	foreach (1 .. repetitions())
	{
		foreach my $is_limited (0, 1)
		{
			my $size = cluster("opportunistic_queue_capacity = @{[PLACES]}, opportunistic_nodes_used = 1000000, node_sorting_interval = '1 hour'");
			my $session = Cluster->new($database);

			Cluster::once($database, $_) foreach $is_limited ? @limits : ();
			report_all($session, $size);
			$session->run(q(DELETE FROM yquota_internal.load_list; SELECT count(*) FROM yquota.report_nodes('{}')));
			foreach my $containers (CALL, 1)
			{
				my $count = $containers == 1 ? 300 : min(10, int($size->{nodes} * PLACES / CALL) - 2);
				my $call = sprintf q(SELECT count(*) FROM yquota.allocate_opportunistic('%s', ARRAY[ROW('*', '[memory-mb=1024,vcores=1]', %d, 1, 1, true, NULL, 'OPPORTUNISTIC', NULL)::yquota.container_request])), application(1), $containers;

				$session->run($call);
				my $used = $session->processor_milliseconds;
				$session->run($call) foreach 1 .. $count;
				push @{ $found{$containers}[$is_limited] }, ($session->processor_milliseconds - $used) / $count;
			}
			$session->close;
		}
	}
	foreach my $containers (CALL, 1)
	{
		my ($without, $with) = map { median(@$_) } @{ $found{$containers} };

		Report::add(sprintf('allocate_opportunistic() of %d container%s, under limits of sharing: of a processor', $containers, $containers == 1 ? '' : 's'), figure => $with, figure_unit => 'ms',
			baseline => $without, baseline_name => 'without limits', value => ratio($with, $without), unit => 'x', at_most => 1.1, note => 'of a queue, a user and an application');
	}
	Cluster::drop_database($database);
	return;
}

# Return the milliseconds of a statement, whose parameter is the number of an arrival that WHICH
# chooses.
sub processor_time
{
	my ($session, $sql, $which) = @_;
	my @numbers = split /\n/, $session->run("SELECT r.number FROM arriving AS r WHERE $which ORDER BY r.number");

	$session->run("PREPARE call (bigint) AS $sql");
	my $used = $session->processor_milliseconds;
	$session->run(join ";\n", map { "EXECUTE call ($_)" } @numbers);
	$used = $session->processor_milliseconds - $used;
	$session->run('DEALLOCATE call');
	return $used / @numbers;
}

sub check_queues
{
	my ($session, $nodes) = @_;
	my %found = map { split /\|/ } split /\n/, $session->run(q(SELECT concat_ws(' ', state, execution_type, left_reason), count(*) FROM yquota.node_queue GROUP BY 1));
	my %right = ('RUNNING OPPORTUNISTIC' => 6, 'RUNNING GUARANTEED' => 2, 'QUEUED OPPORTUNISTIC' => 1, 'GONE OPPORTUNISTIC killed' => 2, 'GONE OPPORTUNISTIC shed' => 1);

	foreach my $what (sort keys %right)
	{
		die sprintf("%d containers are %s, not %d\n", $found{$what} // 0, $what, $nodes * $right{$what}) if ($found{$what} // 0) != $nodes * $right{$what};
	}
	return;
}

sub cases
{
	return ('opportunistic-report' => \&report_case, 'opportunistic-allocate' => \&allocate_case, 'opportunistic-rule' => \&rule_case, 'opportunistic-single' => \&single_case, 'opportunistic-queue' => \&queue_case,
		'opportunistic-limits' => \&limits_case, 'opportunistic-promotion' => \&promotion_case,
		'opportunistic-over-allocation' => \&over_allocation_case, 'opportunistic-order' => \&order_case, 'opportunistic-price' => \&price_case, 'opportunistic-interceptor' => \&interceptor_case);
}

1;
