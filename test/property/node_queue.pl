#!/usr/bin/env perl
#
# GUARANTEED containers start at a node as if there were no OPPORTUNISTIC containers. A GUARANTEED container starts as
# soon as the containers that are killed or paused for it have made room.
#
# Random containers arrive at two nodes of one size, end, and are promoted and demoted while they wait. Limits drop
# waiting containers, events are voided, and the books are maintained. Half of the nodes are over-allocated with
# random measures. OPPORTUNISTIC containers start and are killed in any order. The first node gets all containers, and
# the second only the GUARANTEED ones. After each step the agent carries out all its orders. Then both nodes run the
# same GUARANTEED containers, and the same ones wait, in the same order. At no time does a node run more than it has
# room for; an over-allocated node may exceed that only with OPPORTUNISTIC containers. Each container is started once,
# and resumed as often as it was paused. A repeated call changes nothing, and at the end verify() finds nothing.
#
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin, "$FindBin::Bin/../t";
use Test::More;
use Session;
use Soak;
use Trial;

my ($seed, $histories) = Trial::plan_run(15);
my $steps = 60;
my ($session, %total);
my @events = (qw(start kill pause resume rejected shed void), 'to GUARANTEED', 'to OPPORTUNISTIC');

sub one_of { return $_[ rand @_ ]; }

# -- a history ----------------------------------------------------------------------

sub begin_history
{
	my $history = { containers => 0, clock => 0, started => {}, resumed => {}, paused => {} };
	my $total = sprintf '[memory-mb=%d,vcores=%d]', 1024 * one_of(2, 4, 8), one_of(2, 4, 8);

	$session->run(join ";\n", 'BEGIN', q(SELECT yquota.set_clock('2026-03-02 10:00+00')),
		sprintf(q(INSERT INTO yquota.scheduler_setting (opportunistic_queue_capacity, opportunistic_queue_policy, uses_pause_for_preemption, vmem_check_enabled,
			node_queue_order, opportunistic_kill_order) VALUES (%d, '%s', %s, %s, %s, %s)), one_of(1, 3, 3, 10), one_of('BY_QUEUE_LEN', 'BY_QUEUE_LEN', 'BY_RESOURCES'), one_of('true', 'false'), one_of('true', 'false'),
			one_of('NULL', q('shortest_first'), q('application_priority'), q('fair_by_user')), one_of('NULL', q('least_paid'), q('lowest_priority'), q('furthest_from_end'), q('fewest'))),
		"INSERT INTO yquota.node (name, total) VALUES ('all', '$total'), ('guaranteed', '$total')");
	$history->{over_allocates} = one_of(0, 1);
	$session->run(sprintf q(INSERT INTO yquota.over_allocation VALUES ('memory-mb', %s, 1.2), ('vcores', %s, NULL)), one_of(0.7, 1, 1.2), one_of(0.9, 1.5)) if $history->{over_allocates};
	return $history;
}

# Return the rows of a query, as arrays.
sub rows { return map { [ split /\|/ ] } split /\n/, $session->run($_[0]); }

# Call a function of a node's queue, and record its orders to the agent.
sub call
{
	my ($history, $sql) = @_;

	foreach my $row (rows("SELECT a.action, a.container_id FROM yquota.$sql AS a"))
	{
		my ($action, $id) = @$row;

		$history->{started}{$id}++ if $action eq 'start';
		$history->{resumed}{$id}++ if $action eq 'resume';
		$total{$action}++;
	}
	return;
}

# Repeat the call; the waiting and running containers must not change.
sub call_again
{
	my ($sql) = @_;
	my $state = q(SELECT md5(string_agg(q::text, ',' ORDER BY container_id)), (SELECT count(*) FROM yquota.container_event), (SELECT count(*) FROM yquota.decision) FROM yquota.node_queue AS q);
	my $before = $session->run($state);

	$session->run("SELECT a.action FROM yquota.$sql AS a");
	return $session->run($state) eq $before ? () : "$sql again changes something";
}

sub start_sql
{
	my ($id, $node, $type, $size) = @_;

	return sprintf(q(INSERT INTO yquota.container_event (event, container_id, occurred_at, project, node, allocation, execution_type, is_running)
		VALUES ('CONTAINER_START', '%s', yquota.clock(), 'p', '%s', '%s', '%s', %s)), $id, $node, $size, $type, $type eq 'GUARANTEED' ? 'true' : 'false');
}

# Let a GUARANTEED container arrive at the second node. A container that is promoted again is a new
# container there.
sub arrive_guaranteed
{
	my ($history, $number, $size) = @_;
	my $id = sprintf 'g%d-%d', $number, ++$history->{promotions}{$number};

	$history->{alone}{$number} = $id;
	$session->run(start_sql($id, 'guaranteed', 'GUARANTEED', $size));
	call($history, "enqueue_container('guaranteed', '$id')");
	return;
}

sub arrive
{
	my ($history) = @_;
	my $number = ++$history->{containers};
	my $type = one_of('GUARANTEED', 'OPPORTUNISTIC', 'OPPORTUNISTIC');
	my $size = sprintf '[memory-mb=%d,vcores=%d]', one_of(256, 512, 1024, 2048, 5000), one_of(1, 1, 2, 4);

	$session->run(start_sql("a$number", 'all', $type, $size));
	call($history, "enqueue_container('all', 'a$number')");
	arrive_guaranteed($history, $number, $size) if $type eq 'GUARANTEED';
	return call_again("enqueue_container('all', 'a$number')");
}

# Return a random container at the first node: its number, its type, and whether it waits; or
# nothing.
sub any_container
{
	my ($condition) = @_;
	my @found = rows("SELECT substr(container_id, 2), execution_type, allocation FROM yquota.node_queue WHERE node = 'all' AND left_at IS NULL AND ($condition) ORDER BY place");

	return @found ? @{ one_of(@found) } : ();
}

sub end
{
	my ($history) = @_;
	my ($number, $type) = any_container('true') or return ();

	call($history, "container_ended('all', 'a$number')");
	call($history, "container_ended('guaranteed', '$history->{alone}{$number}')") if $type eq 'GUARANTEED';
	return call_again("container_ended('all', 'a$number')");
}

# Let another source report the end.
sub end_elsewhere
{
	my ($history) = @_;
	my ($number) = any_container('true') or return ();

	$session->run("SELECT count(*) FROM yquota.release_containers(ARRAY['a$number', '" . ($history->{alone}{$number} // '') . "'])");
	return ();
}

# Void all events of a container.
sub void
{
	my ($history) = @_;
	my ($number, $type) = any_container('true') or return ();

	$session->run("SELECT count(*) FROM yquota.void_events('$_', 'never was')") foreach "a$number", $type eq 'GUARANTEED' ? $history->{alone}{$number} : ();
	$total{void}++;
	return ();
}

# Change the books in other sessions. These changes must not affect the nodes.
sub tend_books
{
	my $sql = one_of('SELECT yquota_internal.compact_counters()', q(SELECT count(*) FROM yquota.forgive(yquota.clock() - interval '9 s', yquota.clock() - interval '5 s', 'it was down')),
		'SELECT yquota.quota_compute()', join('; ', Trial::roll_up_statements()));

	$session->run($sql);
	return ();
}

sub change_type
{
	my ($history) = @_;
	my $other = one_of('GUARANTEED', 'OPPORTUNISTIC');
	my ($number, $type, $size) = any_container("state = 'QUEUED' AND execution_type <> '$other'") or return ();

	$session->run("INSERT INTO yquota.container_event (event, container_id, occurred_at, execution_type) VALUES ('CONTAINER_UPDATE', 'a$number', yquota.clock(), '$other')");
	if ($type eq 'GUARANTEED')
	{
		call($history, "container_ended('guaranteed', '$history->{alone}{$number}')");
	}
	else
	{
		call($history, q(advance_node_queue('all')));
		arrive_guaranteed($history, $number, $size);
	}
	$total{"to $other"}++;
	return ();
}

sub shed
{
	my ($history) = @_;
	my $call = sprintf q(shed_containers('all', %d)), one_of(-1, 0, 0, 1);

	call($history, $call);
	return call_again($call);
}

# Let the first node report its usage.
sub report
{
	my ($history) = @_;

	$session->run(sprintf q(SELECT r.accepted FROM yquota.node AS n, yquota.report_nodes(ARRAY[ROW(n.name, 0, 0, 0, 0, NULL, NULL, NULL, NULL,
		format('[memory-mb=%%s,vcores=%%s]', round(yquota.amount(n.total, 'memory-mb') * %f), round(yquota.amount(n.total, 'vcores') * %f))::yquota.resource)::yquota.node_report]) AS r WHERE n.name = 'all'),
		rand(1.4), rand(1.2)) if $history->{over_allocates};
	return ();
}

# Let the agent carry out its orders.
sub obey
{
	my ($history) = @_;

	while (my ($row) = rows(q(SELECT container_id, state FROM yquota.node_queue WHERE state IN ('KILLING', 'PAUSING') ORDER BY random() LIMIT 1)))
	{
		my ($id, $state) = @$row;

		$history->{paused}{$id}++ if $state eq 'PAUSING';
		call($history, $state eq 'KILLING' ? "container_ended('all', '$id', exit_status => -108)" : "container_paused('all', '$id')");
	}
	call($history, "advance_node_queue('$_')") foreach qw(all guaranteed);
	return;
}

# -- checks ----------------------------------------------------------------------------

my $guaranteed = q(SELECT string_agg(split_part(substr(q.container_id, 2), '-', 1) || CASE WHEN q.state IN ('QUEUED', 'PAUSED') THEN ' waits' ELSE ' runs' END, ', '
		ORDER BY q.state IN ('QUEUED', 'PAUSED'), q.place)
	FROM yquota.node_queue AS q WHERE q.node = '%s' AND q.execution_type = 'GUARANTEED' AND q.left_at IS NULL);
my $crowded = q(SELECT n.name, yquota.sum(c.allocation) FROM yquota.node AS n JOIN yquota.node_queue AS q ON q.node = n.name AND q.left_at IS NULL
	JOIN yquota.container AS c USING (container_id) WHERE c.is_running AND c.execution_type IN (%s) GROUP BY n.name, n.total HAVING NOT yquota.sum(c.allocation) OPERATOR(yquota.<@) n.total);

sub differences
{
	my ($history) = @_;
	my ($all, $alone) = map { $session->run(sprintf $guaranteed, $_) } qw(all guaranteed);
	my @found = $all eq $alone ? () : "with others: $all; alone: $alone";

	my $crowded_nodes = $session->run(sprintf $crowded, $history->{over_allocates} ? q('GUARANTEED') : q('GUARANTEED', 'OPPORTUNISTIC'));
	push @found, "no room: $crowded_nodes" if $crowded_nodes ne '';
	push @found, map { "$_ was started $history->{started}{$_} times" } grep { $history->{started}{$_} > 1 } sort keys %{ $history->{started} };
	push @found, map { "$_ was resumed too often" } grep { $history->{resumed}{$_} > ($history->{paused}{$_} // 0) } sort keys %{ $history->{resumed} };
	return @found;
}

sub play
{
	my ($number) = @_;
	my $history = begin_history();
	my @actions = ((\&arrive) x 6, (\&end) x 3, \&end_elsewhere, (\&change_type) x 3, (\&shed) x 2, one_of(\&void, \&tend_books), (\&report) x 3);

	foreach my $step (1 .. $steps)
	{
		$session->run('SELECT yquota.set_clock(yquota.clock() + interval $$1 s$$)');
		my @found = one_of(@actions)->($history);

		obey($history);
		push @found, differences($history);
		push @found, $session->run('SELECT * FROM yquota.verify()') if $step % 20 == 0;
		@found = grep { $_ ne '' } @found;
		next if !@found;
		diag("history $number, step $step: $_") foreach @found;
		return 0;
	}
	return 1;
}

my $database = "yquota_node_queue_$$";
Session::administer("CREATE DATABASE $database");
$session = Session->new($database);
$session->run(q(SET client_min_messages = error; CREATE EXTENSION IF NOT EXISTS yquota; INSERT INTO yquota.project (name) VALUES ('p')));

my ($number, $failures) = (0, 0);
for (my $goes_on = 1; $goes_on && !$failures;)
{
	$goes_on = soak_goes_on(++$number, $histories, 5 * $histories) || soak_lacks($number, $histories, @total{@events});
	srand($seed + $number);
	$session->run('SELECT setseed(' . rand() . ')');
	$failures++ if !play($number);
	$session->run('ROLLBACK');
}
is($failures, 0, 'guaranteed containers start as if they were alone');
cmp_ok($total{$_} // 0, '>', 0, "$_: it happened") foreach @events;
note("$_: $total{$_}") foreach sort keys %total;
$session->close;
Session::administer("DROP DATABASE $database WITH (FORCE)");
done_testing();
