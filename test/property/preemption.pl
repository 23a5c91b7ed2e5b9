#!/usr/bin/env perl
#
# The test makes random clusters, in which some queues have taken resources that others then request, and runs rounds of
# preemption. It checks the limits of a round, its queues and containers, and that rounds come to an end.
#
# Some rules hold for all settings, except the queue priority selector, which is off here. A round selects no more
# than its budget. A leaf from which one selector takes keeps its guarantee, less at most one container, in a resource
# that the calculator considers. The master of an application is selected only after all containers of the same leaf
# and label that are not larger than the master. Other rules hold with a fixed demand, a dead zone of 0, a termination
# factor of 1, equal containers and guarantees of whole containers. Then rounds and allocation reach a state in which
# nothing is selected. Where a queue lacks a part of a container, a container may be killed for it. Its former queue
# may then get the container back again and again, in Hadoop, too. After each round verify() finds nothing.
#
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin, "$FindBin::Bin/../t";
use Test::More;
use Session;
use Soak;
use Trial;

my ($seed, $histories) = Trial::plan_run(8);
my $most_rounds = 60;
my $most_passes = 60;
my $clock = 0;
my $number = 0;
my %count = map { $_ => 0 } qw(rounds selected killed masters ended);

sub one_of { return $_[ rand @_ ]; }
sub flag { return $_[0] ? 'true' : 'false'; }

# -- a history --------------------------------------------------------------------

my $wait_ms = 1000;

# Choose the settings of a history; in a calm history preemption comes to an end.
sub choose_settings
{
	my $is_calm = $number % 2;
	my $takes_all = $number % 4 == 0;
	my $is_plain = $is_calm || $takes_all;

	return {
		is_calm => $is_calm,
		# rounds may take everything from root.a, including application masters
		takes_all => $takes_all,
		is_dominant => rand() < 0.5,
		has_label => !$takes_all && rand() < 0.4,
		per_round => $is_plain ? 1 : one_of(1, 0.5, 0.2),
		factor => $is_plain ? 1 : one_of(1, 0.5, 0.2),
		dead_zone => $is_plain ? 0 : one_of(0, 0.1, 0.5),
		balances => flag(!$is_plain && rand() < 0.5),
		selects_by_reserved => flag(!$is_plain && rand() < 0.5),
		intra_queue => flag(!$is_plain && rand() < 0.5),
	};
}

my $nodes = 0;

sub begin_history
{
	my ($session, $settings) = @_;
	my $calculator = $settings->{is_dominant} ? q('org.apache.hadoop.yarn.util.resource.DominantResourceCalculator') : 'NULL';
	my $share = $settings->{takes_all} ? 2 : one_of(20, 50, 80);
	my $inner = $settings->{is_calm} ? 50 : one_of(30, 50);
	my $rest = 100 - $share;
	my $outer = 100 - $inner;

	$session->run(<<"SQL");
SELECT yquota.release_containers(ARRAY(SELECT container_id FROM yquota.container));
DELETE FROM yquota.preemption_mark;
DELETE FROM yquota.decision;
DELETE FROM yquota.application;
DELETE FROM yquota.node;
BEGIN;
TRUNCATE yquota.queue, yquota.queue_label, yquota.queue_user, yquota.scheduler_setting;
INSERT INTO yquota.scheduler_setting (maximum_am_resource_percent, resource_calculator, per_node_heartbeat_maximum_offswitch_assignments,
	node_labels_enabled, scheduler_monitor_enable, preemption_max_wait_before_kill, preemption_total_preemption_per_round, preemption_natural_termination_factor,
	preemption_max_ignored_over_capacity, preemption_balance_after_satisfied_enabled, preemption_balance_after_satisfied_max_wait_before_kill,
	preemption_select_based_on_reserved_containers, intra_queue_preemption_enabled, intra_queue_preemption_max_allowable_limit)
VALUES (1, $calculator, 100, true, true, $wait_ms, $settings->{per_round}, $settings->{factor},
	$settings->{dead_zone}, $settings->{balances}, $wait_ms, $settings->{selects_by_reserved}, $settings->{intra_queue}, 1);
INSERT INTO yquota.queue (path, capacity, user_limit_factor, accessible_node_labels, position) VALUES
	('root', NULL, NULL, '{*}', 1), ('root.a', '$share', NULL, '{*}', 2), ('root.a.x', '$inner', 1000, '{*}', 3), ('root.a.y', '$outer', 1000, '{*}', 4),
	('root.b', '$rest', 1000, '{*}', 5);
INSERT INTO yquota.queue_label (queue, label, capacity) VALUES ('root.a', 'l', '$share'), ('root.a.x', 'l', '50'), ('root.a.y', 'l', '50'), ('root.b', 'l', '$rest');
COMMIT;
SQL
	add_nodes($session, $settings);
	return;
}

# Create nodes. In a calm history 40 containers fit in each partition, so that guarantees are whole
# containers.
sub add_nodes
{
	my ($session, $settings) = @_;
	my @labels = $settings->{has_label} ? ('', 'l') : ('');
	my @sizes = $settings->{is_calm} ? map { my $label = $_; map { [ $label, $_, $_ ] } one_of([ 8, 16, 16 ], [ 20, 20 ], [ 10, 10, 10, 10 ])->@* } @labels
		: map { [ one_of(@labels), one_of(8, 16), one_of(8, 16) ] } 1 .. 2 + int rand 5;

	foreach my $node (@sizes)
	{
		$session->run(sprintf q(INSERT INTO yquota.node (name, label, total) VALUES ('n%d', '%s', '[memory-mb=%d,vcores=%d]')),
			++$nodes, $node->[0], 1024 * $node->[1], $node->[2]);
	}
	return;
}

my @leaves = qw(root.a.x root.a.y root.b);
my $submissions = 0;

# Submit an application to a leaf; some masters run outside the cluster.
sub submit
{
	my ($session, $leaf, $unmanaged) = @_;
	my $id = sprintf 'application_1_%04d', ++$submissions;

	$session->run(sprintf q(SELECT yquota.submit_application('%s', '%s', '{}', '%s', am_resource => '[memory-mb=1024,vcores=1]', priority => %d, unmanaged => %s, project => 'p')),
		$id, one_of('u', 'v'), $leaf, one_of(0, 0, 5), flag(rand() < $unmanaged));
	return $id;
}

# Request containers for an application once its master runs.
sub request
{
	my ($session, $settings, $id) = @_;
	my $mb = $settings->{is_calm} ? 1024 : 1024 * one_of(1, 1, 2, 3);
	my $cores = $settings->{is_calm} ? 1 : one_of(1, 1, 2);
	my $label = $settings->{has_label} && rand() < 0.4 ? q('l') : q('');

	return if $session->run(<<"SQL") == 0;
SELECT count(*) FROM yquota.application AS a LEFT JOIN yquota_internal.application_attempt AS t USING (application_id)
WHERE a.application_id = '$id' AND a.state = 'ACTIVE' AND (a.unmanaged OR t.am_container_id IS NOT NULL);
SQL
	$session->run(sprintf q(SELECT yquota.request_containers('%s', '[memory-mb=%d,vcores=%d]', %d, priority => %d, label => %s)),
		$id, $mb, $cores, ($settings->{takes_all} ? 100 : 4) + int rand 60, one_of(1, 2, 5), $label);
	return;
}

# Run cycles until none gives anything, and acknowledge their containers.
sub allocate
{
	my ($session) = @_;

	foreach (1 .. $most_passes)
	{
		my $decided = $session->run('SELECT count(*) FROM yquota.schedule()');

		$session->run('SELECT yquota.acknowledge_decisions(ARRAY(SELECT decision_id FROM yquota.decision))');
		return if $decided == 0;
	}
	return;
}

sub tick
{
	my ($session) = @_;

	$clock += $wait_ms;
	$session->run("SELECT yquota.set_clock('2026-03-02 10:00+00'::timestamptz + $clock * interval '1 ms')");
	return;
}

# -- checks -----------------------------------------------------------------------

# Run a round and keep the state before it.
my $round = <<'SQL';
TRUNCATE before_queue, before_container, selected;
INSERT INTO before_queue SELECT s.queue, s.label, s.used, s.guaranteed FROM yquota.preemption_state AS s;
INSERT INTO before_container SELECT c.container_id, c.queue, c.label, c.allocation, c.is_am, c.asked_label
	FROM yquota.container AS c WHERE c.execution_type = 'GUARANTEED';
INSERT INTO selected SELECT p.outcome, p.container_id, p.queue, p.label, p.allocation, p.selector FROM yquota.preempt_containers() AS p;
SQL

# The resource types that the calculator considers.
sub types { return $_[0]{is_dominant} ? qw(memory-mb vcores) : qw(memory-mb); }
sub amount { my ($what, $type) = @_; return "coalesce(yquota.amount($what, '$type'), 0)"; }

sub beyond_budget
{
	my ($session, $settings) = @_;

	return $session->run(join ' UNION ALL ', map { <<"SQL" =~ s/\n\z//r } types($settings));
SELECT 'beyond the budget: $_ ' || @{[ amount('s.taken', $_) ]} FROM
	(SELECT yquota.sum(s.allocation) AS taken FROM selected AS s JOIN before_container AS c USING (container_id)) AS s,
	(SELECT yquota.sum(n.total) AS total FROM yquota.node AS n) AS n
WHERE @{[ amount('s.taken', $_) ]} > trunc(@{[ amount('n.total', $_) ]} * $settings->{per_round}::real::double precision)
SQL
}

# Return leaves that have fallen below their guarantee. Containers selected for the same leaf do not count. A selector
# deducts earlier selected containers only while they are smaller, by the calculator, than what it must still take. So
# a selector may take up to two of the largest containers too many.
sub below_guarantee
{
	my ($session, $settings) = @_;
	my @types = types($settings);
	my $share = 'greatest(' . (join ', ', map { "@{[ amount('c.allocation', $_) ]}::numeric / @{[ amount('p.total', $_) ]}" } @types) . ')';
	my $most = join ', ', map { "max(@{[ amount('c.allocation', $_) ]}) AS \"most $_\"" } @types;
	my @kept = map { "@{[ amount('q.used', $_) ]} - @{[ amount('t.taken', $_) ]} + CASE t.selectors WHEN 1 THEN t.\"most $_\" "
		. "ELSE (2 * t.selectors - 1) * t.share * @{[ amount('t.total', $_) ]} END > @{[ amount('q.guaranteed', $_) ]}" } @types;

	return $session->run(<<"SQL");
SELECT 'below its guarantee', q.*, t.taken, t.selectors FROM before_queue AS q JOIN (
	SELECT c.queue, c.label, p.total, yquota.sum(c.allocation) AS taken, count(DISTINCT s.selector) AS selectors, max($share) AS share, $most
	FROM selected AS s JOIN before_container AS c USING (container_id)
	JOIN (SELECT n.label, yquota.sum(n.total) AS total FROM yquota.node AS n GROUP BY n.label) AS p ON p.label = c.label
	WHERE s.selector <> 'intra_queue' GROUP BY 1, 2, 3) AS t USING (queue, label)
WHERE NOT (@{[ join ' OR ', @kept ]});
SQL
}

# Return masters that were selected although another container of the same queue and label, which was not larger, was
# not selected. Containers that did not ask for a label but run on a node with one come first, whether they are
# masters or not.
sub masters_before_others
{
	my ($session) = @_;

	return $session->run(<<'SQL');
SELECT 'a master before another container', m.container_id, c.container_id
FROM before_container AS m JOIN selected AS s USING (container_id)
JOIN before_container AS c ON c.queue = m.queue AND c.label = m.label AND NOT c.is_am AND c.allocation OPERATOR(yquota.<@) m.allocation
WHERE m.is_am AND s.selector = 'fifo' AND NOT (m.label <> '' AND m.asked_label = '')
	AND NOT EXISTS (SELECT FROM selected AS other WHERE other.container_id = c.container_id);
SQL
}

sub without_reason
{
	my ($session) = @_;

	return $session->run(<<'SQL');
SELECT 'killed without a reason', s.container_id FROM selected AS s
WHERE s.outcome = 'killed' AND NOT EXISTS (
	SELECT FROM yquota.preempted_container AS p WHERE p.container_id = s.container_id AND NOT p.is_advised
		AND (p.queue, p.label, p.selector, p.killed_at) = (s.queue, s.label, s.selector, yquota.clock()) AND p.allocation OPERATOR(yquota.=) s.allocation);
SQL
}

# Run a round, and return how many containers and reservations it concerns.
sub run_round
{
	my ($session, $settings, $problems) = @_;

	$session->run($round);
	push @$problems, grep { $_ ne '' } beyond_budget($session, $settings), below_guarantee($session, $settings), masters_before_others($session),
		without_reason($session),
		$session->run('SELECT * FROM yquota.verify()');
	$count{rounds}++;
	$count{killed} += $session->run(q(SELECT count(*) FROM selected WHERE outcome = 'killed'));
	$count{masters} += $session->run(q(SELECT count(*) FROM selected AS s JOIN before_container AS c USING (container_id) WHERE c.is_am));
	my $selected = $session->run('SELECT count(*) FROM selected');
	$count{selected} += $selected;
	return $selected;
}

sub play
{
	my ($session) = @_;
	my $settings = choose_settings();
	my (@problems, @applications);

	begin_history($session, $settings);
	# some leaves take all resources, then others ask, and few of those wait for their masters
	my @takers = @leaves[0 .. ($settings->{takes_all} ? 1 : int rand @leaves)];
	foreach my $phase ($settings->{takes_all} ? ([ 0, @takers ], [ 1, @leaves ]) : ([ 0.3, @takers ], [ 0.8, @leaves ]))
	{
		my ($unmanaged, @of) = @$phase;

		foreach my $leaf (@of)
		{
			push @applications, map { submit($session, $leaf, $unmanaged) } 1 .. one_of(1, 1, 3);
			allocate($session);
			request($session, $settings, $_) foreach @applications;
			allocate($session) if rand() < 0.7;
			tick($session);
		}
	}
	# leaves keep resources for application masters
	$session->run('UPDATE yquota.scheduler_setting SET maximum_am_resource_percent = ' . ($settings->{takes_all} ? 0 : one_of(1, 0))) if !$settings->{is_calm};
	my $selected = 1;
	foreach (1 .. ($settings->{is_calm} ? $most_rounds : 5))
	{
		tick($session);
		$selected = run_round($session, $settings, \@problems);
		last if @problems || $selected == 0 && $settings->{is_calm};
		allocate($session);
	}
	push @problems, "rounds do not end" if $settings->{is_calm} && $selected > 0 && !@problems;
	$count{ended}++ if $settings->{is_calm} && $selected == 0;
	diag(join "\n", @problems, map { "$_: $settings->{$_}" } sort keys %$settings) if @problems;
	return !@problems;
}

# -- time until a queue gets back its guarantee ----------------------------------------

# Half of the cluster belongs to root.b, and root.a has taken all of it. Rounds come every 3 s, and no container ends
# by itself.
sub given_back
{
	my ($session) = @_;
	my $wait_s = 15;

	begin_history($session, { is_dominant => 0, has_label => 0, per_round => 1, factor => 0.5, dead_zone => 0,
		balances => 'false', selects_by_reserved => 'false', intra_queue => 'false' });
	$session->run(<<"SQL");
DELETE FROM yquota.node;
INSERT INTO yquota.node (name, total) SELECT 'n' || i, '[memory-mb=51200,vcores=50]' FROM generate_series(1, 10) AS i;
BEGIN;
UPDATE yquota.scheduler_setting SET preemption_max_wait_before_kill = 1000 * $wait_s;
UPDATE yquota.queue SET capacity = '50' WHERE path IN ('root.a', 'root.b');
UPDATE yquota.queue_label SET capacity = '50' WHERE queue IN ('root.a', 'root.b');
COMMIT;
SQL
	my @ids = map { submit_without_master($session, $_) } qw(root.a.x root.b);
	$session->run("SELECT yquota.request_containers('$ids[0]', '[memory-mb=1024,vcores=1]', 500)");
	allocate($session);
	$session->run("SELECT yquota.request_containers('$ids[1]', '[memory-mb=1024,vcores=1]', 250)");
	my @killed;
	for (my $seconds = 0; $seconds <= 5 * $wait_s; $seconds += 3)
	{
		$session->run("SELECT yquota.set_clock('2026-03-02 10:00+00'::timestamptz + $clock * interval '1 ms' + $seconds * interval '1 s')");
		push @killed, 0 + $session->run(q(SELECT count(*) FROM yquota.preempt_containers() WHERE outcome = 'killed'));
		allocate($session);
	}
	$clock += 1000 * 5 * $wait_s;
	is($session->run(q(SELECT * FROM yquota.verify())), '', 'the books agree');
	return (0 + $session->run("SELECT count(*) FROM yquota.container WHERE application_id = '$ids[1]'"), grep { $_ > 0 } @killed);
}

sub submit_without_master
{
	my ($session, $leaf) = @_;
	my $id = sprintf 'application_1_%04d', ++$submissions;

	$session->run("SELECT yquota.submit_application('$id', 'u', '{}', '$leaf', unmanaged => true, project => 'p')");
	return $id;
}

my $database = "yquota_preemption_$$";
Session::administer("CREATE DATABASE $database");
my $session = Session->new($database);
$session->run(<<'SQL');
SET client_min_messages = error;
CREATE EXTENSION IF NOT EXISTS yquota;
INSERT INTO yquota.project (name) VALUES ('p');
INSERT INTO yquota.node_label (name, exclusive) VALUES ('l', false);
CREATE TEMPORARY TABLE before_queue (queue text, label text, used yquota.resource, guaranteed yquota.resource);
CREATE TEMPORARY TABLE before_container (container_id text COLLATE "C", queue text, label text, allocation yquota.resource, is_am boolean, asked_label text);
CREATE TEMPORARY TABLE selected (outcome text, container_id text COLLATE "C", queue text, label text, allocation yquota.resource, selector text);
SQL

my $failures = 0;
for (my $goes_on = 1; $goes_on && !$failures;)
{
	$goes_on = soak_goes_on(++$number, $histories, 5 * $histories);
	srand($seed + $number);
	tick($session);
	$failures++ if !play($session);
}
is($failures, 0, 'no round takes more than it may, or from whom it may not, and rounds end');
note("$_: $count{$_}") foreach sort keys %count;
cmp_ok($count{rounds}, '>=', 2 * $histories, 'rounds');
cmp_ok($count{selected}, '>', 10 * $histories, 'containers and reservations were selected');
cmp_ok($count{killed}, '>', 2 * $histories, 'containers were killed');
cmp_ok($count{masters}, '>', 0, 'containers of application masters were killed');
cmp_ok($count{ended}, '>', 0, 'rounds came to their end');

tick($session);
my ($back, @killed) = given_back($session);
is_deeply(\@killed, [ 125, 63, 31, 16 ], 'each time half of the excess is taken');
is($back, 235, 'with a factor of 0.5 almost 95 % of the excess of 250 come back within five times max_wait_before_kill');
$session->close;
Session::administer("DROP DATABASE $database WITH (FORCE)");
done_testing();
