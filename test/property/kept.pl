#!/usr/bin/env perl
#
# Several sessions make random changes, in transactions that commit or roll back, as a whole or in
# part. Some sessions keep the cluster between cycles. They must decide like a session that reads
# all rows again, which makes a dry run just before each cycle. Between two cycles of a session,
# other sessions serve the same applications, sometimes in transactions that began earlier.
#
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin, "$FindBin::Bin/../t";
use Test::More;
use Session;
use Soak;
use Trial;

my ($seed, $histories) = Trial::plan_run(3);
my $steps = 60;
my $nodes = 7;
my @configured = qw(root.a.x root.a.y root.b.x root.b.y);
# the queues of the plan may exist or not
my @leaves = (@configured, qw(root.plan.plan-default root.plan.reservation_1_0001 root.plan.reservation_1_0002 root.plan.reservation_1_0003));
my $submitted = 0;
my $started = 0;
my $killed = 0;

sub one_of { return $_[ rand @_ ]; }
sub a_node { return 'n' . int rand $nodes; }
# mostly an application that can request containers
sub an_application { return sprintf q((SELECT application_id FROM yquota.application WHERE state %s ORDER BY random() LIMIT 1)), one_of(q(= 'ACTIVE'), q(= 'ACTIVE'), q(IN ('ACTIVE', 'ACCEPTED'))); }
sub a_reservation { return sprintf 'reservation_1_%04d', 1 + int rand 3; }
sub an_allocation { return sprintf '[memory-mb=%d,vcores=%d]', 1024 * one_of(1, 1, 2, 3, 8), one_of(1, 1, 2, 4); }

# -- changes ---------------------------------------------------------------------

# Statements that may fail, for example because no such application exists.
my %change = (
	submit => sub {
		return sprintf q(SELECT yquota.submit_application('application_1_%d', '%s', '{}', '%s', am_resource => '[memory-mb=1024,vcores=1]', priority => %d, unmanaged => %s, project => '%s')),
			++$submitted, one_of('u', 'v', 'w'), one_of(@leaves), one_of(0, 0, 5), one_of('true', 'true', 'false'), one_of('p', 'p', 'q');
	},
	submit_to_plan => sub {
		return sprintf q(SELECT yquota.submit_application('application_1_%d', '%s', '{}', 'root.plan', am_resource => '[memory-mb=1024,vcores=1]', unmanaged => true, project => 'p', reservation => %s)),
			++$submitted, one_of('u', 'v', 'w'), one_of('NULL', q(') . a_reservation() . q('));
	},
	# changes like those of the plan follower, and changes that it never makes
	share => sub { return sprintf q(UPDATE yquota.reservation_queue SET capacity = %s, maximum_capacity = %s WHERE random() < 0.7), one_of('random() / 2', '0', '0.3'), one_of(1, 1, 'random()'); },
	come => sub {
		my $id = a_reservation();
		return sprintf q(INSERT INTO yquota.reservation_queue VALUES ('root.plan', '%1$s', '%1$s', random() / 2, 1), ('root.plan', 'plan-default', NULL, random(), 1) ON CONFLICT DO NOTHING), $id;
	},
	go => sub {
		my $id = a_reservation();
		return sprintf q(%2$s; DELETE FROM yquota.reservation_queue WHERE name = '%1$s'), $id, rand() < 0.2 ? 'SELECT' :
			qq(SELECT yquota.move_application(application_id, 'root.plan') FROM yquota.application WHERE queue = 'root.plan.$id' AND finished_at IS NULL);
	},
	finish => sub { return sprintf q(SELECT yquota.finish_application(%s, 'FINISHED')), an_application(); },
	move => sub { return sprintf q(SELECT yquota.move_application(%s, '%s')), an_application(), one_of(@leaves); },
	prefer => sub { return sprintf q(SELECT yquota.update_application_priority(%s, %d)), an_application(), one_of(0, 5, 9); },
	want => sub {
		return sprintf q(SELECT yquota.request_containers(%s, '%s', %d, priority => %d)),
			an_application(), an_allocation(), int rand 8, one_of(1, 2);
	},
	want_there => sub {
		my $node = a_node();
		my $there = 1 + int rand 2;
		my $near = $there + int rand 2;
		return sprintf q(SELECT yquota.request_containers(%1$s, ARRAY[('%3$s', '%2$s', %6$d, 1, -1, true, NULL, NULL, NULL), ('/r%4$d', '%2$s', %7$d, 1, -1, %5$s, NULL, NULL, NULL), ('*', '%2$s', %8$d, 1, -1, %5$s, NULL, NULL, NULL)]::yquota.container_request[])),
			an_application(), an_allocation(), $node, substr($node, 1) % 2, one_of('true', 'false'), $there, $near, $near + int rand 4;
	},
	# opportunistic requests are not for the scheduler, so its decisions must not change
	want_opportunistic => sub {
		return sprintf q(SELECT yquota.request_containers(%s, '%s', %d, '%s', %d, execution_type => 'OPPORTUNISTIC')),
			an_application(), an_allocation(), int rand 8, one_of('*', a_node()), one_of(1, 2);
	},
	avoid => sub { return sprintf q(SELECT yquota.update_blacklist(%s, ARRAY['%s'], ARRAY['%s'])), an_application(), a_node(), a_node(); },
	release => sub { return q(SELECT yquota.release_containers(ARRAY(SELECT container_id FROM yquota.container WHERE random() < 0.2))); },
	# a START like the scheduler's own: a contradiction to its application is noticed later
	start => sub {
		return sprintf q(INSERT INTO yquota.container_event (event, container_id, project, application_id, username, queue, node, allocation)
			SELECT 'CONTAINER_START', 'c%d', 'p', application_id, username, queue, '%s', '%s' FROM yquota.application WHERE application_id = %s),
			++$started, a_node(), an_allocation(), an_application();
	},
	stray => sub {
		return sprintf q(INSERT INTO yquota.container_event (event, container_id, project, username, queue, node, allocation) VALUES ('CONTAINER_START', 'c%d', 'p', '%s', '%s', '%s', '%s')),
			++$started, one_of('u', 'v', 'w'), one_of(@leaves, 'root.a'), a_node(), an_allocation();
	},
	change => sub {
		return sprintf q(INSERT INTO yquota.container_event (event, container_id, allocation) SELECT 'CONTAINER_UPDATE', container_id, '%s' FROM yquota.container ORDER BY random() LIMIT 2), an_allocation();
	},
	# a waiting container does not count in the usage, and counts again when it runs
	pause => sub {
		return sprintf q(INSERT INTO yquota.container_event (event, container_id, execution_type, is_running) SELECT 'CONTAINER_UPDATE', container_id, '%s', %s FROM yquota.container ORDER BY random() LIMIT 2),
			one_of('OPPORTUNISTIC', 'OPPORTUNISTIC', 'GUARANTEED'), one_of('true', 'false', 'false');
	},
	exchange => sub {
		return sprintf q(WITH one AS (SELECT c.*, a.application_id AS other FROM yquota.container AS c JOIN yquota.application AS a USING (queue, username) WHERE a.state = 'ACTIVE' ORDER BY random() LIMIT 1)
			INSERT INTO yquota.container_event (event, container_id, project, application_id, username, queue, node, allocation)
			SELECT 'CONTAINER_FINISH'::yquota.container_event_type, c.container_id, NULL::text, NULL::text, NULL::text, NULL::text, NULL::text, NULL::yquota.resource FROM one AS c UNION ALL
			SELECT 'CONTAINER_START', 'c%d', c.project, c.other, c.username, c.queue, c.node, c.allocation FROM one AS c), ++$started;
	},
	grow => sub {
		return sprintf q(SELECT yquota.update_container(c.container_id, 0, allocation => '[memory-mb=8192,vcores=8]') FROM yquota.container AS c JOIN yquota.application AS a USING (application_id) ORDER BY c.container_id LIMIT 1);
	},
	# two rounds mark containers and make them killable at once
	preempt => sub { return 'SELECT count(*) FROM yquota.preempt_containers(); SELECT count(*) FROM yquota.preempt_containers()'; },
	spare_none => sub {
		return q(SELECT count(*) FROM yquota.preempt_containers();
			INSERT INTO yquota.preemption_mark (container_id, marked_at, application_id, queue, selector, is_killable, told_at)
			SELECT c.container_id, r.round_at, c.application_id, c.queue, 'fifo', true, r.round_at
			FROM yquota.container AS c CROSS JOIN yquota_internal.preemption_round AS r
			WHERE c.application_id IS NOT NULL AND c.queue IS NOT NULL AND random() < 0.4 ON CONFLICT DO NOTHING);
	},
	compact => sub { return 'SELECT yquota_internal.compact_counters()'; },
	trim => sub { return q(UPDATE yquota_internal.scheduler_change_horizon SET noted_at = '-infinity'; SELECT yquota_internal.trim_scheduler_changes()); },
	acknowledge => sub { return 'SELECT yquota.acknowledge_decisions(ARRAY(SELECT decision_id FROM yquota.decision))'; },
	resize => sub { return sprintf q(UPDATE yquota.node SET total = '[memory-mb=%d,vcores=%d]' WHERE name = '%s'), 1024 * one_of(4, 8, 16), one_of(4, 8), a_node(); },
	retire => sub { return sprintf q(UPDATE yquota.node SET state = '%s' WHERE name = '%s'), one_of('RUNNING', 'LOST'), a_node(); },
	rack => sub { return sprintf q(UPDATE yquota.node SET rack = '/r%d' WHERE name = '%s'), one_of(0, 1), a_node(); },
	weigh => sub { return sprintf q(UPDATE yquota.queue SET capacity = '%dw' WHERE path = '%s'), one_of(1, 2, 5), one_of(@configured); },
	pay => sub { return one_of(q(INSERT INTO yquota.project (name) VALUES ('q') ON CONFLICT DO NOTHING), q(DELETE FROM yquota.project WHERE name = 'q')); },
	by_hand => sub {
		return sprintf one_of(q(UPDATE yquota.resource_request SET count = count + 5, allocation = '[memory-mb=1024,vcores=1]' WHERE application_id = %s), q(DELETE FROM yquota.resource_request WHERE application_id = %s)),
			an_application();
	},
	delay => sub { return q(UPDATE yquota_internal.request_counter SET opportunities = opportunities + 3); },
);
# Changes that happen so often that sessions must not read all rows again each time.
my @usual = qw(submit submit_to_plan share share come go finish move prefer want want want want_there want_there want_opportunistic avoid release release start start stray change pause exchange exchange acknowledge by_hand compact preempt preempt spare_none spare_none);

sub some_change
{
	my $name = rand() < 0.97 ? one_of(@usual) : one_of(sort keys %change);

	return $change{$name}->();
}

# Make one or several changes, and roll back some or all of them.
sub change
{
	my ($session) = @_;
	my $kind = rand;

	return attempt($session, some_change()) if $kind < 0.8;
	attempt($session, 'BEGIN');
	foreach (1 .. 1 + int rand 3)
	{
		attempt($session, 'SAVEPOINT s') if rand() < 0.5;
		attempt($session, some_change());
		attempt($session, one_of('ROLLBACK TO s', 'RELEASE s')) if rand() < 0.5;
		heartbeat($session) if rand() < 0.2;
	}
	attempt($session, one_of('COMMIT', 'COMMIT', 'ROLLBACK'));
	return;
}

# heartbeat(SESSION, NODE...): run a cycle over some nodes, or over one random node.
sub heartbeat
{
	my ($session, @nodes) = @_;

	return attempt($session, sprintf q(SELECT * FROM yquota.node_heartbeat('{%s}')), join ',', @nodes ? @nodes : a_node());
}

# Begin a transaction with statements that lock nothing for which cycles wait. It ends when other
# sessions have read.
my $is_lingering = 0;

sub begin_lingering
{
	my ($session) = @_;

	attempt($session, 'BEGIN');
	attempt($session, 'SAVEPOINT s') if rand() < 0.3;
	attempt($session, $change{stray}->());
	attempt($session, sprintf q(INSERT INTO yquota.blacklist (application_id, resource_name) VALUES (%s, '/r%d') ON CONFLICT DO NOTHING), an_application(), int rand 2)
	  if rand() < 0.6;
	$is_lingering = 1;
	return;
}

# End that transaction, with a cycle in it that comes after cycles of younger transactions.
sub end_lingering
{
	my ($session) = @_;

	heartbeat($session, map { "n$_" } 0 .. $nodes - 1) if rand() < 0.7;
	attempt($session, one_of('COMMIT', 'COMMIT', 'ROLLBACK'));
	$is_lingering = 0;
	return;
}

sub linger
{
	my ($session) = @_;

	return $is_lingering ? (rand() < 0.3 && end_lingering($session)) : (rand() < 0.2 && begin_lingering($session));
}

# Run a statement that may fail, but not by a fault of the library.
sub attempt
{
	my ($session, $sql) = @_;
	my ($answer, $error) = $session->attempt($sql);

	die "$error\nin: $sql\n" if defined $error && $error =~ /XX\d\d\d/;
	return;
}

# -- checks ----------------------------------------------------------------------

sub decide
{
	my ($keeping, $fresh) = @_;
	my $cycle = rand() < 0.15 ? 'yquota.schedule(%s)' : sprintf q(yquota.node_heartbeat(ARRAY['%s','%s'])), a_node(), a_node();
	my $dry = $cycle;

	# after a rollback to a savepoint the session reads the hierarchy again
	$fresh->run('BEGIN; SAVEPOINT s; ROLLBACK TO s; COMMIT');
	# do what a cycle does before it decides
	$fresh->run('SELECT yquota.schedule(max_containers => 0)');
	$cycle =~ s/%s//;
	$dry =~ s/node_heartbeat\((.*)\)/schedule($1, dry_run => true)/;
	$dry =~ s/%s/dry_run => true/;
	my $said = $fresh->run("SELECT * FROM $dry");
	my $done = $keeping->run("SELECT * FROM $cycle");
	return ("$cycle\nsaid:\n${said}done:\n$done", 0) if $said ne $done;
	$killed += () = $done =~ /^killed/mg;
	return (undef, scalar(() = $done =~ /^(?:allocated|swapped)/mg));
}

sub begin_history
{
	my ($session) = @_;

	$session->run(<<"SQL");
SELECT yquota.release_containers(ARRAY(SELECT container_id FROM yquota.container));
DELETE FROM yquota.decision;
DELETE FROM yquota.application;
DELETE FROM yquota.node;
BEGIN;
TRUNCATE yquota.queue, yquota.queue_label, yquota.queue_user, yquota.scheduler_setting;
INSERT INTO yquota.scheduler_setting (maximum_am_resource_percent, resource_calculator, per_node_heartbeat_maximum_offswitch_assignments,
	opportunistic_allocation_enabled, scheduler_monitor_enable, lazy_preemption_enabled, preemption_max_wait_before_kill, preemption_total_preemption_per_round,
	preemption_natural_termination_factor)
VALUES (1, @{[ one_of('NULL', q('org.apache.hadoop.yarn.util.resource.DominantResourceCalculator')) ]}, @{[ one_of(1, 20) ]}, true, true, true, 0, 1, 1);
INSERT INTO yquota.queue (path, capacity, user_limit_factor, ordering_policy, position, minimum_user_limit_percent) VALUES
	('root', NULL, NULL, NULL, 1, NULL), ('root.a', '1w', NULL, NULL, 2, NULL), ('root.b', '2w', NULL, NULL, 3, NULL),
	('root.a.x', '1w', 1000, 'fair', 4, NULL), ('root.a.y', '2w', 1, NULL, 5, 25), ('root.b.x', '1w', 2, 'fair', 6, 25),
	('root.b.y', '1w', 1000, NULL, 7, 40), ('root.plan', '2w', 2, NULL, 8, 30);
UPDATE yquota.queue SET reservable = true WHERE path = 'root.plan';
COMMIT;
INSERT INTO yquota.node (name, rack, total) SELECT 'n' || n, '/r' || n % 2, '[memory-mb=8192,vcores=8]' FROM generate_series(0, $nodes - 1) AS n;
SQL
	return;
}

sub play
{
	my ($fresh, $slow, $changing, @keeping) = @_;
	my $containers = 0;

	begin_history($fresh);
	attempt($changing, $change{submit}->()) foreach 1 .. 8;
	foreach my $step (1 .. $steps)
	{
		my ($difference, $started);

		# a session that fails or rolls back keeps nothing, so most changes are made in other
		# sessions
		change(rand() < 0.9 ? $changing : one_of(@keeping)) foreach 1 .. 1 + int rand 3;
		heartbeat(one_of(@keeping)) foreach 1 .. int rand 4;
		linger($slow);
		($difference, $started) = decide(one_of(@keeping), $fresh);
		$containers += $started;
		next if !defined $difference;
		diag("step $step: $difference");
		return (0, $containers);
	}
	end_lingering($slow) if $is_lingering;
	# delete rows that were inserted directly for an application that has since ended
	$fresh->run('DELETE FROM yquota.blacklist AS b USING yquota.application AS a WHERE a.application_id = b.application_id AND a.finished_at IS NOT NULL');
	my $problems = $fresh->run('SELECT * FROM yquota.verify()');
	diag($problems) if $problems ne '';
	# a container that a cycle has started moves with its application, whichever session moves the application
	my $left_behind = $fresh->run(q(SELECT c.container_id, c.queue, a.queue FROM yquota.container AS c JOIN yquota.application AS a USING (application_id)
		WHERE c.container_id LIKE 'container%' AND a.finished_at IS NULL AND c.queue <> a.queue));
	diag("left in another queue: $left_behind") if $left_behind ne '';
	return ($problems eq '' && $left_behind eq '', $containers);
}

my $database = "yquota_kept_$$";
Session::administer("CREATE DATABASE $database");
my ($fresh, @sessions) = map { Session->new($database) } 1 .. 6;
$fresh->run(q(SET client_min_messages = error; CREATE EXTENSION IF NOT EXISTS yquota; INSERT INTO yquota.project (name) VALUES ('p')));

my ($number, $failures, $containers) = (0, 0, 0);
for (my $goes_on = 1; $goes_on && !$failures;)
{
	# a few histories may not have covered enough cases
	$goes_on = soak_goes_on(++$number, $histories, 5 * $histories) || $number < 10 * $histories && ($containers <= 10 * $histories || !$killed);
	srand($seed + $number);
	$_->run(sprintf 'SELECT setseed(%.3f)', ($seed + $number) % 1000 / 1000) foreach $fresh, @sessions;
	my ($is_right, $its_containers) = play($fresh, @sessions);
	$failures++ if !$is_right;
	$containers += $its_containers;
}
is($failures, 0, 'sessions that keep the cluster in memory decide as one that reads it anew');
cmp_ok($containers, '>', 10 * $histories, 'containers ran');
cmp_ok($killed, '>', 0, 'killable containers gave way');
$_->close foreach $fresh, @sessions;
Session::administer("DROP DATABASE $database WITH (FORCE)");
done_testing();
