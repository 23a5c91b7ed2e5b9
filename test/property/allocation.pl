#!/usr/bin/env perl
#
# The test makes random clusters, requests, updates and ends of containers, and runs cycles. No node and no queue
# exceeds its limit, and the same state gives the same decisions. No request that could be served is left waiting, and
# the books agree with the scheduler.
#
# No application waits for certain nodes or racks, so when a cycle assigns nothing any more, the remaining requests
# do not fit.
#
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin, "$FindBin::Bin/../t";
use Test::More;
use Session;
use Soak;
use Trial;

my ($seed, $histories) = Trial::plan_run(5);
my $rounds = 4;
my $most_cycles = 60;
my $most_single_containers = 12;
my $single_containers = 0;
my $among_reservations = 0;
my $explained_limits = 0;

sub one_of { return $_[ rand @_ ]; }

# -- a history --------------------------------------------------------------------

sub begin_history
{
	my ($session, $is_dominant) = @_;
	my $calculator = $is_dominant ? q('org.apache.hadoop.yarn.util.resource.DominantResourceCalculator') : 'NULL';
	my $limited = one_of('100', '60', '30');

	$session->run(<<"SQL");
SELECT yquota.release_containers(ARRAY(SELECT container_id FROM yquota.container));
DELETE FROM yquota.decision;
DELETE FROM yquota.application;
DELETE FROM yquota.node;
BEGIN;
TRUNCATE yquota.queue, yquota.queue_label, yquota.queue_user, yquota.scheduler_setting;
INSERT INTO yquota.scheduler_setting (maximum_am_resource_percent, resource_calculator, reservations_continue_look_all_nodes, per_node_heartbeat_maximum_offswitch_assignments)
VALUES (1, $calculator, @{[ one_of('true', 'false') ]}, @{[ one_of(1, 3, 20) ]});
INSERT INTO yquota.queue (path, capacity, maximum_capacity, user_limit_factor, ordering_policy, position) VALUES
	('root', NULL, NULL, NULL, NULL, 1), ('root.a', '1w', NULL, NULL, 'priority-utilization', 2),
	('root.a.x', '1w', NULL, 1000, 'fair', 3), ('root.a.y', '@{[ one_of(1, 3) ]}w', NULL, 1000, NULL, 4),
	('root.b', '2w', '$limited', 1000, NULL, 5);
COMMIT;
SQL
	# the first node can hold the largest request
	$session->run(q(INSERT INTO yquota.node (name, total) VALUES ('n0', '[memory-mb=8192,vcores=4]')));
	foreach my $node (1 .. 1 + int rand 6)
	{
		$session->run(sprintf q(INSERT INTO yquota.node (name, total) VALUES ('n%d', '[memory-mb=%d,vcores=%d]')),
			$node, 1024 * one_of(4, 8, 16), one_of(4, 8, 16));
	}
	return;
}

my $submissions = 0;

sub submit
{
	my ($session) = @_;

	$session->run(sprintf q(SELECT yquota.submit_application('application_1_%d', '%s', '{}', '%s', am_resource => '[memory-mb=1024,vcores=1]', priority => %d, unmanaged => true, project => 'p')),
		++$submissions, one_of('u', 'v', 'w'), one_of('root.a.x', 'root.a.y', 'root.b'), one_of(0, 0, 5));
	return;
}

# Some applications change the number of containers that they request.
sub request
{
	my ($session) = @_;

	foreach my $application (split /\n/, $session->run(q(SELECT application_id FROM yquota.application WHERE state = 'ACTIVE')))
	{
		next if rand() < 0.4;
		$session->run(sprintf q(SELECT yquota.request_containers('%s', '[memory-mb=%d,vcores=%d]', %d, priority => %d)),
			$application, 1024 * one_of(1, 1, 2, 3, 8), one_of(1, 1, 2, 4), 1 + int rand 8, one_of(1, 2));
	}
	return;
}

sub release
{
	my ($session) = @_;

	$session->run(q(SELECT yquota.release_containers(ARRAY(SELECT container_id FROM yquota.container WHERE random() < 0.3))));
	return;
}

# Some containers get a request for more or less resources, or for another execution type.
sub update
{
	my ($session) = @_;

	$session->run(<<'SQL');
SELECT count(*)
FROM (SELECT c.application_id, array_agg(ROW(c.container_id, coalesce(v.version, 0),
			CASE WHEN c.type IS NULL THEN format('[memory-mb=%s,vcores=%s]', 1024 * (1 + floor(8 * random())), 1 + floor(4 * random())) END,
			c.type, 1, -1)::yquota.container_update_request) AS updates
	  FROM (SELECT *, CASE WHEN random() < 0.3 THEN (CASE WHEN random() < 0.5 THEN 'GUARANTEED' ELSE 'OPPORTUNISTIC' END)::yquota.execution_type END AS type
			FROM yquota.container WHERE random() < 0.3) AS c
	  LEFT JOIN yquota_internal.container_version AS v USING (container_id)
	  GROUP BY c.application_id) AS a, yquota.update_containers(a.application_id, a.updates);
SQL
	return;
}

# -- checks -----------------------------------------------------------------------

# Run a cycle. It must decide like two dry runs before it: a normal one, and an explaining one,
# which visits every application for each container.
sub decide
{
	my ($session, $problems) = @_;
	my $explained = $session->run(q(SELECT * FROM yquota.schedule(dry_run => true, explain => true) WHERE decision <> 'passed over'));
	my @said = map { $session->run("SELECT * FROM yquota.schedule(dry_run => $_)") } qw(true true false);

	push @$problems, "dry runs differ:\n$said[0]\n--\n$said[1]" if $said[0] ne $said[1];
	push @$problems, "who explains decides otherwise:\n$said[0]\n--\n$explained" if $said[0] ne $explained;
	push @$problems, "the cycle differs from its dry run:\n$said[1]\n--\n$said[2]" if $said[1] ne $said[2];
	return $said[2];
}

# The resource types that the calculator considers.
sub types { return $_[0] ? qw(memory-mb vcores) : qw(memory-mb); }

sub exceeded
{
	my ($session, $is_dominant) = @_;
	my @queries;

	foreach my $type (types($is_dominant))
	{
		push @queries,
		  "SELECT 'node ' || node FROM yquota.scheduler_node WHERE coalesce(yquota.amount(guaranteed, '$type'), 0) > coalesce(yquota.amount(total, '$type'), 0)",
		  "SELECT 'queue ' || queue FROM yquota.effective_queue WHERE yquota.amount(used, '$type') > yquota.amount(effective_maximum_capacity, '$type')";
	}
	return $session->run(join "\nUNION ALL ", @queries);
}

# Return the first request of an application that fits on a node, if the requests of all applications fit below the
# limits of their queues. Otherwise the room below a limit may be kept for another application, or for the increase
# of a running container. Applications with reservations are left out.
sub left_waiting
{
	my ($session, $is_dominant) = @_;
	my $fits = sub { my ($what, $room) = @_; return join ' AND ', map { "coalesce(yquota.amount($what, '$_'), 0) <= coalesce(yquota.amount($room, '$_'), 0)" } types($is_dominant); };

	return $session->run(<<"SQL");
WITH wanted AS (
	SELECT DISTINCT ON (r.application_id) a.queue, r.*
	FROM yquota.resource_request AS r JOIN yquota.application AS a USING (application_id)
	ORDER BY r.application_id, r.priority
), above AS (
	SELECT w.application_id, w.allocation, bool_and(@{[ $fits->('e.used OPERATOR(yquota.+) w.allocation', 'e.effective_maximum_capacity') ]}) AS fits
	FROM wanted AS w JOIN yquota.effective_queue AS e ON w.queue = e.queue OR starts_with(w.queue, e.queue || '.')
	GROUP BY w.application_id, w.allocation
)
SELECT w.application_id, w.allocation, n.node, n.available
FROM above AS w JOIN yquota.scheduler_node AS n ON n.reserved IS NULL AND @{[ $fits->('w.allocation', 'n.available') ]}
WHERE (SELECT bool_and(fits) FROM above) AND NOT EXISTS (SELECT FROM yquota.container_update) AND NOT EXISTS (SELECT FROM yquota.reserved_container AS r WHERE r.application_id = w.application_id);
SQL
}

# Allocate one container at a time until a user beyond the limit gets one, and roll back. The first result of a cycle
# counts, if it is a container, or a reservation that does not replace another. Then run cycles until nothing is left
# to give. For users at their limits the result must agree with user_limit().
sub check_user_limits
{
	my ($session) = @_;
	my $beyond = '';

	$session->run(sprintf q(BEGIN; UPDATE yquota.queue SET user_limit_factor = 1, minimum_user_limit_percent = %d WHERE user_limit_factor IS NOT NULL), one_of(20, 50, 100));
	foreach my $step (1 .. $most_single_containers)
	{
		my %reserved = map { $_ => 1 } split /\n/, $session->run('SELECT node FROM yquota.reserved_container');
		my %may = map { $_ => 1 } split /\n/, $session->run(<<'SQL');
SELECT concat(a.queue, ' ', a.username) FROM (SELECT DISTINCT queue, username FROM yquota.application WHERE state = 'ACTIVE') AS a,
	yquota.user_limit(a.queue, a.username) AS l WHERE l.may_be_assigned;
SQL
		my $first = $session->run(<<'SQL');
SELECT concat_ws(';', d.decision, d.node, concat(a.queue, ' ', a.username))
FROM yquota.schedule(max_containers => 1) WITH ORDINALITY AS d JOIN yquota.application AS a USING (application_id) ORDER BY d.ordinality LIMIT 1;
SQL
		chomp $first;
		last if $first eq '';
		my ($decision, $node, $user) = split /;/, $first;

		next if $decision !~ /^(?:allocated|reserved)$/ || $reserved{$node};
		$beyond = $first if !$may{$user};
		$single_containers++;
		$among_reservations++ if %reserved;
	}
	my $cycles = 0;
	while ($session->run('SELECT decision FROM yquota.schedule()') ne '')
	{
		last if ++$cycles > $most_cycles;
	}
	my $said = said_otherwise($session);
	$session->run('ROLLBACK');
	return ($beyond ne '' ? "beyond his limit: $beyond" : (), $said ne '' ? "said otherwise by user_limit(): $said" : ());
}

# Return users who are at their limits according to a cycle that gives nothing more, but not according
# to user_limit().
sub said_otherwise
{
	my ($session) = @_;
	my $explained = q(yquota.schedule(dry_run => true, explain => true) AS x JOIN yquota.application AS a USING (application_id)
		CROSS JOIN LATERAL yquota.user_limit(a.queue, a.username) AS l WHERE x.stopped_by = 'user_limit');

	$explained_limits += $session->run("SELECT count(*) FROM $explained");
	return $session->run("SELECT a.queue, a.username, x.used, l.used, x.maximum, l.resource_limit, l.may_be_assigned FROM $explained
		AND (l.may_be_assigned OR x.used OPERATOR(yquota.<>) l.used OR x.maximum OPERATOR(yquota.<>) l.resource_limit)");
}

sub play
{
	my ($session) = @_;
	my $is_dominant = rand() < 0.5;
	my $updates = rand() < 0.5;
	my (@problems, $containers);

	begin_history($session, $is_dominant);
	foreach my $round (1 .. $rounds)
	{
		my $cycles = 0;

		submit($session) foreach 1 .. 1 + int rand 4;
		request($session);
		update($session) if $updates;
		push @problems, check_user_limits($session);
		while (decide($session, \@problems) =~ /^(?:allocated|swapped|reserved|unreserved)\b/m)
		{
			last if ++$cycles > $most_cycles;
		}
		push @problems, "still something after $cycles cycles" if $cycles > $most_cycles;
		push @problems, map { "exceeded: $_" } exceeded($session, $is_dominant) || ();
		push @problems, map { "left waiting: $_" } left_waiting($session, $is_dominant) || ();
		push @problems, $session->run('SELECT * FROM yquota.verify()') || ();
		last if @problems;
		$containers += $session->run('SELECT count(*) FROM yquota.container');
		release($session);
	}
	diag(join "\n", @problems) if @problems;
	return (!@problems, $containers);
}

my $database = "yquota_allocation_$$";
Session::administer("CREATE DATABASE $database");
my $session = Session->new($database);
$session->run(q(SET client_min_messages = error; CREATE EXTENSION IF NOT EXISTS yquota; INSERT INTO yquota.project (name) VALUES ('p')));

my ($number, $failures, $containers) = (0, 0, 0);
for (my $goes_on = 1; $goes_on && !$failures;)
{
	++$number;
	$goes_on = soak_goes_on($number, $histories, 5 * $histories)
	  || soak_lacks($number, $histories, map { $_ > $histories } $single_containers, $explained_limits, $among_reservations);
	srand($seed + $number);
	$session->run(sprintf 'SELECT setseed(%.3f)', ($seed + $number) % 1000 / 1000);
	my ($is_right, $its_containers) = play($session);
	$failures++ if !$is_right;
	$containers += $its_containers // 0;
}
is($failures, 0, 'nothing is exceeded, left waiting, or said in two ways, and the books agree');
cmp_ok($containers, '>', 10 * $histories, 'containers ran');
cmp_ok($single_containers, '>', $histories, 'containers were allocated to users below their limits');
cmp_ok($explained_limits, '>', $histories, 'users at their limits were passed over');
cmp_ok($among_reservations, '>', $histories, 'containers were given while nodes were reserved');
$session->close;
Session::administer("DROP DATABASE $database WITH (FORCE)");
done_testing();
