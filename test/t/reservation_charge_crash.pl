# Charges of reservations survive a server that is killed at every step. Kills come between two rounds of the plan
# follower, and during a round. Another kill comes when an interval has been posted but its caller has no answer yet.
# Further kills come while a reservation is accepted, updated and deleted. In the middle a standby takes over, and in
# the end a worker continues.
#
# The test first makes these steps without any kill. After each step with a kill verify() finds nothing, and the
# results are the same to the last digit. These are the ledger, bills of reservations and of periods, holds, balances
# and shares of the plan.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use WorkerNode;

# The step in which the standby takes over.
use constant FAILOVER => 6;

my $plan = <<~'SQL';
	SET client_min_messages = error;
	CREATE EXTENSION IF NOT EXISTS yquota;
	SELECT yquota.set_clock('2030-01-01 10:00 UTC');
	DELETE FROM yquota.resource_type WHERE name NOT IN ('memory-mb', 'vcores');
	INSERT INTO yquota.project (name, parent, quota_mode) VALUES ('lab', NULL, 'PREPAID'), ('laser', 'lab', 'PREPAID');
	INSERT INTO yquota.quota_grant (project, amount, reason, expires_at) VALUES ('lab', 1000000, 'start', 'infinity'), ('laser', 500000, 'start', 'infinity');
	INSERT INTO yquota.node (name, total) SELECT 'n' || i, '[memory-mb=131072,vcores=128]' FROM generate_series(1, 4) AS i;
	BEGIN;
	INSERT INTO yquota.scheduler_setting (reservation_system_enable, maximum_am_resource_percent) VALUES (true, 1);
	INSERT INTO yquota.queue (path, capacity, reservable, reservation_policy) VALUES ('root', NULL, NULL, NULL), ('root.plan', '100', true, 'NoOverCommitPolicy'), ('root.other', '0', NULL, NULL);
	COMMIT;
	INSERT INTO yquota.charging_rule (effective_at, reserved_factor) VALUES ('2030-01-01 10:00 UTC', 0.5);
	SELECT yquota.set_multiplier('GENERAL', 1.5, '2030-01-01 10:12:34.567891 UTC', 'infinity');
	INSERT INTO yquota.price_factor (dimension, name, effective_at, factor) VALUES ('queue', 'root.plan', '2030-01-01 10:22:22.000001 UTC', 0.8);
	CREATE FUNCTION public.contract(arrival timestamptz, vcores integer, duration interval) RETURNS yquota.reservation_contract LANGUAGE sql
		RETURN yquota.reservation_contract(arrival, arrival + duration, ARRAY[yquota.reservation_request('[memory-mb=1024,vcores=1]', vcores, duration, vcores)]);
	SQL

my $follow = 'SELECT count(*) FROM yquota.follow_plans()';
my $compute = 'SELECT yquota.quota_compute()';
# [time, the call at that time]; each call may be repeated.
my @steps = (
	[ '10:00:01', q(SELECT yquota.submit_reservation('reservation_1_0001', 'root.plan', 'ann', '{}', 'laser', public.contract('2030-01-01 10:05 UTC', 100, '20 min'))) ],
	[ '10:00:02', q(SELECT yquota.submit_reservation('reservation_1_0002', 'root.plan', 'bob', '{}', 'lab', public.contract('2030-01-01 10:10 UTC', 60, '30 min'))) ],
	[ '10:05:00', $follow ],
	[ '10:06:07.89', q(SELECT yquota.submit_application('application_1_1', 'ann', '{}', 'root.plan', unmanaged => true, project => 'laser', reservation => 'reservation_1_0001')
		WHERE NOT EXISTS (SELECT FROM yquota.application);
		INSERT INTO yquota.container_event (event, container_id, occurred_at, project, username, application_id, queue, node, allocation)
		VALUES ('CONTAINER_START', 'container_1_1_01_000002', '2030-01-01 10:06:07.89 UTC', 'laser', 'ann', 'application_1_1', 'root.plan.reservation_1_0001', 'n1', '[memory-mb=1024,vcores=3]')) ],
	[ '10:10:00', "$follow; $compute" ],
	[ '10:15:16.171819', q(SELECT yquota.update_reservation('reservation_1_0002', 'bob', '{}', public.contract('2030-01-01 10:20 UTC', 90, '25 min'))) ],
	[ '10:20:00', $follow ],
	[ '10:25:00.5', "$follow; $compute" ],
	[ '10:30:00', q(SELECT yquota_internal.close_period_at('2030-01-01 10:23 UTC', 100)) ],
	[ '10:31:00', q(SELECT * FROM yquota.forgive('2030-01-01 10:21 UTC', '2030-01-01 10:24 UTC', 'switch', 'lab') WHERE NOT EXISTS (SELECT FROM yquota.outage)) ],
	[ '10:35:36.363636', q(SELECT yquota.delete_reservation('reservation_1_0002', 'bob', '{}')) ],
	[ '10:36:00', q(SELECT yquota.submit_reservation('reservation_1_0003', 'root.plan', 'bob', '{}', 'lab', public.contract('2030-01-01 10:36 UTC', 10, '10 min'))) ]);
my $last = '2030-01-01 10:47 UTC';

my $told = <<~'SQL';
	SELECT 'ledger' AS what, c::text AS line FROM yquota.reservation_charge AS c
	UNION ALL SELECT 'accruing', a::text FROM yquota_internal.accruing_reservation AS a
	UNION ALL SELECT 'bill', concat(id, e) FROM unnest('{1,2,3}'::text[]) AS id, yquota.explain_reservation('reservation_1_000' || id) AS e
	UNION ALL SELECT 'hold', (to_jsonb(h) - 'hold_id')::text FROM yquota.hold_status AS h
	UNION ALL SELECT 'balance', concat(project, granted, ' ', charged, ' ', accrued, ' ', held, ' ', remaining, ' ', available) FROM yquota.project_balance
	UNION ALL SELECT 'cost', c::text FROM yquota.cost_between('-infinity', 'infinity', '{project,username,queue}') AS c
	UNION ALL SELECT 'period', p::text FROM yquota.closed_period AS p
	UNION ALL SELECT 'queue', q::text FROM yquota.reservation_queue AS q
	UNION ALL SELECT 'container', concat(container_id, queue, settled_at) FROM yquota.container
	UNION ALL SELECT 'problem', v::text FROM yquota.verify() AS v
	ORDER BY 1, 2
	SQL

my $server = new_node('reservation_charge', 'fsync = off', "timezone = 'UTC'", 'restart_after_crash = off', "yquota.outage_policy = 'charge'");
my $standby = PostgreSQL::Test::Cluster->new('reservation_charge_standby');

# -- without a kill ----------------------------------------------------------------------

$server->safe_psql('postgres', 'CREATE DATABASE calm');
$server->safe_psql('calm', $plan);
my @expected;
foreach my $step (@steps)
{
	my ($at, $sql) = @$step;

	$server->safe_psql('calm', "SELECT yquota.set_clock('2030-01-01 $at UTC'); $sql");
	push @expected, $server->safe_psql('calm', $told);
}
$server->safe_psql('calm', "SELECT yquota.set_clock('$last'); $follow; $compute");
my $expected_last = $server->safe_psql('calm', $told);

# Preconditions: the steps without kills must include these cases.
is($server->safe_psql('calm', q(SELECT string_agg(DISTINCT ended_by, ',' ORDER BY ended_by) FROM yquota.reservation_definition)), 'archived,deleted,updated', 'reservations end in each of three ways');
is($server->safe_psql('calm', 'SELECT count(DISTINCT reservation_id), count(*) > 8, count(corrects) > 0 FROM yquota.reservation_charge'), '3|t|t', 'reservations are charged, and charges are corrected');
like($expected[4], qr/^hold\|.*"state": "held"/m, 'credit is held');

# -- with kills --------------------------------------------------------------------------

# Kill the server in the middle of its work.
sub kill_server
{
	my (@sessions) = @_;
	my @pids = server_pids($server);

	$server->kill9;
	$_->{run}->kill_kill foreach @sessions;
	wait_until_gone(@pids);
	return;
}

$server->safe_psql('postgres', 'CREATE DATABASE work');
$server->safe_psql('work', $plan);
$server->backup('backup');
$standby->init_from_backup($server, 'backup', has_streaming => 1);
$standby->start;
foreach my $number (0 .. $#steps)
{
	my ($at, $sql) = @{ $steps[$number] };
	my $step = "SELECT yquota.set_clock('2030-01-01 $at UTC'); $sql";

	# nothing of the step is committed
	my $session = $server->background_psql('work');
	$session->query_safe("BEGIN; $step");
	if ($number == FAILOVER)
	{
		$server->wait_for_catchup($standby);
		kill_server($session);
		$standby->promote;
		$server = $standby;
	}
	else
	{
		kill_server($session);
		$server->start;
	}
	# the whole step is committed, but its client does not know that
	$server->safe_psql('work', $step);
	kill_server();
	$server->start;
	is($server->safe_psql('work', $told), $expected[$number], "at $at");
	$server->safe_psql('work', $step);
	is($server->safe_psql('work', $told), $expected[$number], "at $at, repeated");
}

# The worker continues, and is killed in between.
$server->safe_psql('work', 'SELECT yquota.start_worker()');
set_clock($server, 'work', '2030-01-01 10:40 UTC');
is_soon($server, 'work', mark() . " = '2030-01-01 10:40 UTC'", 'the worker charges reservations');
kill_server();
$server->start;
$server->safe_psql('work', 'SELECT yquota.start_worker()');
set_clock($server, 'work', $last);
is_soon($server, 'work', q(NOT EXISTS (SELECT FROM yquota_internal.accruing_reservation) AND NOT EXISTS (SELECT FROM yquota.hold WHERE released_at IS NULL)), 'the worker posts the charges of the last reservation');
is($server->safe_psql('work', $told), $expected_last, 'the charges are equal to the last digit');

done_testing();
