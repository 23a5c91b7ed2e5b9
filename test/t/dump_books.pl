# The books survive pg_dump and restore exactly: the log, running and finished containers, updates, and the ledger
# with its corrections. Rejected events, counters and grants survive, too. The restored sequences continue their
# numbers. In the restored books verify() finds no fault, and charging continues, also in the session that restored
# them. The worker takes over without recording an outage. The test repeats this with sealed and archived history, and
# with a dump and restore by an owner without superuser rights. It also restores into a database that a worker waits
# for.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Utils;
use Rows;
use Test::More;
use WorkerNode;

my $node = new_node('dump_books', "shared_preload_libraries = 'yquota'", "yquota.databases = 'at_once, at_once_archived'");
my @psql = ('psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1');
my $clock = '2021-03-02 12:00+00';

# All tables that a dump includes
my @tables;

sub rows
{
	my ($database, $query) = @_;

	return $node->safe_psql($database, "SELECT t::text FROM ($query) AS t ORDER BY t::text COLLATE \"C\"");
}

# Return every row. Transaction ids of deltas are left out, because they belong to each database.
sub contents
{
	my $database = shift;

	return rows_of_each($node, $database,
		map { $_ => $_ eq 'yquota_internal.counter_delta' ? "SELECT to_jsonb(d) - 'changed_by' FROM $_ AS d" : "SELECT * FROM $_" } @tables, @_);
}

# Return the books as reports show them at one instant.
sub shown
{
	my ($database) = @_;

	return rows_of_each($node, $database,
		feed_status => 'SELECT source, events, last_event_at, waiting, rejected FROM yquota.feed_status',
		bill => q(SELECT issued.number, bill.* FROM yquota.issued_bill AS issued, yquota.bill(issued.project, issued.ends_at, 'application') AS bill),
		map { $_ => "SELECT * FROM yquota.$_" }
		  qw(project_balance container_cost daily_cost queue_usage node_usage project_usage exhausted_work charged_through hold_status grant_status transfer_status));
}

my $scratch = PostgreSQL::Test::Utils::tempdir;

sub scratch { return "$scratch/$_[0]"; }

sub dump_of
{
	my ($name, @options) = @_;

	$node->command_ok([ 'pg_dump', '-f', scratch($name), @options, '-d', $node->connstr('original') ],
		"$name: pg_dump");
	return;
}

sub restore
{
	my ($name, @command) = @_;

	$node->safe_psql('postgres', "CREATE DATABASE $name TEMPLATE template0");
	$node->command_ok([ @command, '-d', $node->connstr($name),
			$command[0] eq 'psql' ? ('-f', scratch($name)) : scratch($name) ], "$name: restore");
	return;
}

$node->safe_psql('postgres', 'CREATE DATABASE original');
start_at($node, 'original', $clock);
@tables = split /\n/, $node->safe_psql('original', <<~'SQL');
	SELECT c.oid::regclass FROM pg_extension AS e JOIN pg_class AS c ON c.oid = ANY (e.extconfig)
	WHERE e.extname = 'yquota' AND c.relkind = 'r' ORDER BY 1
	SQL
$node->safe_psql('original', <<~'SQL');
	INSERT INTO yquota.billing_setting (timezone) VALUES ('Europe/Stockholm');
	INSERT INTO yquota.project (name, on_exhausted) VALUES ('lab', 'stop'), ('ops', 'drain');
	-- in an order in which each could not be inserted alone
	INSERT INTO yquota.project (name, parent) VALUES ('lab.optics.laser', 'lab.optics'), ('lab.optics', 'lab');
	INSERT INTO yquota.node (name, total, label) VALUES ('n1', '[memory-mb=65536,vcores=64]', 'ssd');
	INSERT INTO yquota.quota_grant (project, amount, reason) VALUES ('lab', 1000000.000000000000000001, 'a'), ('ops', 1, 'b');
	DELETE FROM yquota.quota_grant WHERE project = 'ops';
	INSERT INTO yquota.charging_rule (effective_at, minimum_run_time, free_before_preemption, any_preemption_source, reserved_factor)
	VALUES ('-infinity', '90 s', '10 min', true, 0.5);
	INSERT INTO yquota.price_factor (dimension, name, effective_at, factor) VALUES ('queue', 'root.a', '2021-03-02 09:30+00', 0.123456);
	INSERT INTO yquota.over_allocation (resource_type, threshold) VALUES ('memory-mb', 0.9);
	INSERT INTO yquota.shadow_tariff (name, terms) VALUES ('dear', '{"base_prices": {"vcores": 2}}');
	INSERT INTO yquota.opportunistic_price (min_factor, max_factor) VALUES (0.2, 1.5);
	-- a calendar that was open in the period that is closed below
	INSERT INTO yquota.calendar_factor (price_group, effective_at, factor, calendar) VALUES
		('GENERAL', '-infinity', 1, NULL), ('GENERAL', '2021-03-02 09:20+00', 1, 'morning'), ('GENERAL', '2021-03-02 09:25+00', 1, NULL);
	CREATE FUNCTION public.pass(request yquota.allocate_request) RETURNS yquota.allocate_request
		LANGUAGE sql RETURN request;
	INSERT INTO yquota.request_interceptor (position, function) VALUES (1, 'public.pass');

	INSERT INTO yquota.container_event (event, container_id, occurred_at, project, username, queue, node, allocation, source)
	SELECT 'CONTAINER_START', format('c%s', number), timestamptz '2021-03-02 09:00+00' + number * interval '7.000001 min',
		   CASE number % 3 WHEN 0 THEN 'ops' ELSE 'lab' END, 'ann', CASE number % 2 WHEN 0 THEN 'root.a' ELSE 'root.b' END,
		   'n1', format('[memory-mb=%s,vcores=3]', number * 100)::yquota.resource, 'feed'
	FROM generate_series(1, 12) AS number;
	INSERT INTO yquota.container_event (event, container_id, occurred_at, allocation, source)
	VALUES ('CONTAINER_UPDATE', 'c1', '2021-03-02 10:30+00', '[vcores=5]', 'feed'),
		   ('CONTAINER_UPDATE', 'c2', '2021-03-02 10:30+00', '[vcores=7]', 'feed'),
		   ('CONTAINER_UPDATE', 'c3', '2021-03-02 10:30+00', '[yarn.io/gpu=1]', 'feed');
	INSERT INTO yquota.container_event (event, container_id, occurred_at, exit_status, source)
	VALUES ('CONTAINER_FINISH', 'c2', '2021-03-02 11:00+00', 0, 'feed'),
		   ('CONTAINER_FINISH', 'c4', '2021-03-02 11:00+00', -100, 'feed'),
		   ('CONTAINER_FINISH', 'c12', '2021-03-02 10:24:20+00', -102, 'feed');
	SELECT yquota.quota_compute();
	-- late, and so corrected
	INSERT INTO yquota.container_event (event, container_id, occurred_at, queue, source)
	VALUES ('CONTAINER_UPDATE', 'c4', '2021-03-02 10:45+00', 'root.a', 'feed');
	SELECT yquota.report_outage('2021-03-02 10:50+00', '2021-03-02 10:55+00', 'all');
	SELECT yquota.report_outage('2021-03-02 10:52+00', '2021-03-02 10:57+00', 'ours', 'ops');
	-- set aside, one to wait and one for good
	SET yquota.on_bad_event = set_aside;
	INSERT INTO yquota.container_event (event, container_id, occurred_at, source)
	VALUES ('CONTAINER_FINISH', 'c13', '2021-03-02 11:30+00', 'feed');
	INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation, source)
	VALUES ('CONTAINER_START', 'c14', '2021-03-02 11:30+00', 'nobody', '[vcores=1]', 'feed');
	INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation, source)
	VALUES ('CONTAINER_START', 'c16', '2021-03-02 11:30+00', 'misspelt', '[vcores=1]', 'feed');
	DELETE FROM yquota.event_reject WHERE container_id = 'c16';
	-- void, and delivered again as it was
	SELECT count(*) FROM yquota.void_events('c8', 'the wrong project');
	INSERT INTO yquota.container_event (event, container_id, occurred_at, project, queue, allocation, source)
	VALUES ('CONTAINER_START', 'c8', '2021-03-02 09:58+00', 'ops', 'root.a', '[vcores=2]', 'feed');
	INSERT INTO yquota.budget (project, period, amount) VALUES ('lab', 'month', 7);
	INSERT INTO yquota.spending_threshold (project, fraction) VALUES (NULL, 0.9), ('lab', 0.000001);
	INSERT INTO yquota.spending_threshold (remaining, before_expiry, lasts_less_than) VALUES (5, NULL, NULL), (NULL, '7 days', NULL), (NULL, NULL, '3 days');
	INSERT INTO yquota.retention_setting (keep_months) VALUES (12);
	INSERT INTO yquota.cluster_setting (cluster_name) VALUES ('north');
	INSERT INTO yquota.federated_cluster (cluster, number, server, weight) VALUES ('south', 1, 'south', 1.5);
	INSERT INTO yquota.federated_cluster (cluster, number, ledger) VALUES ('west', 2, 'public.gone');
	INSERT INTO yquota.written_history (segment, history, target, cluster, written_at) VALUES (1, 'log', 'public.gone', 'north', yquota.clock());
	INSERT INTO yquota.federated_budget (project, period, amount) SELECT min(name), 'month', 100 FROM yquota.project;
	INSERT INTO yquota.budget_lease (project, period, starts_on, cluster, share, valid_from, expires_at, offered_at)
	SELECT project, period, starts_on, 'south', 25.5, yquota.clock(), yquota.clock() + interval '1 h', yquota.clock() FROM yquota.federated_budget;
	INSERT INTO yquota.lending_federation (cluster, federation, history) VALUES ('north', 'all', '1/1/1');
	INSERT INTO yquota.cluster_lease (cluster, federation, identity, history, lease, project, period, starts_on, amount, valid_from, expires_at)
	SELECT 'north', 'all', '00000000-0000-0000-0000-000000000007', '1/1/1', 7, min(name), 'month', '2021-03-01', 0.5, yquota.clock(), yquota.clock() + interval '1 h' FROM yquota.project;
	SELECT settled FROM yquota_internal.close_period_at('2021-03-02 09:30+00', 100);
	-- grants that expire, one of which has
	INSERT INTO yquota.quota_grant (project, amount, reason, kind, expires_at) VALUES
		('lab', 20, 'c', 'budget', '2021-03-02 11:58+00'), ('lab', 30, 'd', 'refund', '2021-03-02 12:30+00');
	SELECT yquota_internal.expire_grants('2021-03-02 12:00+00');
	-- a hold, and one that is over
	INSERT INTO yquota.project (name, quota_mode) VALUES ('spare', 'NOLIMIT');
	-- a transfer of credit and its reversal
	SELECT yquota.transfer_credit('lab', 'spare', 100, 'lent', 'erp-1');
	SELECT * FROM yquota.reverse_transfer(1);
	SELECT yquota.hold('spare', 'app', 1000, '1 day', 'nightly'), yquota.release_hold(yquota.hold('spare', 'app', 0.000001, '1 day'));
	-- and counters that wait to be compacted
	INSERT INTO yquota.container_event (event, container_id, occurred_at, exit_status, source)
	VALUES ('CONTAINER_FINISH', 'c5', '2021-03-02 11:45+00', 0, 'feed');
	SQL
my $contents = contents('original');
my $shown = shown('original');

is(rows('original', 'SELECT * FROM yquota.verify()'), '', 'original: the books prove themselves');
# 20 s of 90, and 12 times the excess of the step over 7 minutes
like($contents->{'yquota.charge'}, qr/,00:01:10\.00072,/, 'a minimum run time was charged');
is( $node->safe_psql('original', <<~'SQL'), 't|t|t|t|t|t|t', 'original: every kind of row is there');
	SELECT (SELECT count(*) > 0 FROM yquota_internal.counter_delta),
		   (SELECT count(*) > 0 FROM yquota_internal.rate_class_counter),
		   (SELECT count(corrects) > 0 FROM yquota.charge),
		   (SELECT bool_or(waiting) AND NOT bool_and(waiting) FROM yquota.event_reject),
		   (SELECT count(*) > 0 FROM yquota.container_change),
		   (SELECT count(*) > 0 FROM yquota_internal.discarded_event),
		   (SELECT bool_or(factors IS NOT NULL) FROM yquota.container)
	SQL

dump_of('plain');
restore('plain', @psql);
dump_of('inserted', '--rows-per-insert=3');
restore('inserted', @psql);
dump_of('archived', '-Fc');
restore('archived', 'pg_restore', '--exit-on-error');
# this option sets row_security to the other value
dump_of('directory', '-Fd', '-j2');
restore('directory', 'pg_restore', '--exit-on-error', '--enable-row-security');
dump_of('filled', '--data-only');
$node->safe_psql('postgres', 'CREATE DATABASE filled');
$node->safe_psql('filled', 'CREATE EXTENSION IF NOT EXISTS yquota');
$node->command_ok([ @psql, '-d', $node->connstr('filled'), '-f', scratch('filled') ], 'filled: restore');

foreach my $database (qw(plain inserted archived directory filled))
{
	is_deeply(contents($database), $contents, "$database: every row is as it was");
	set_clock($node, $database, $clock);
	is_deeply(shown($database), $shown, "$database: shows what the original shows");
	is(rows($database, 'SELECT * FROM yquota.verify()'), '', "$database: the books prove themselves");

	# Events that are sent again unchanged have no effect.
	is( $node->safe_psql($database, <<~'SQL'), 't', "$database: replaying the log charges nothing");
		BEGIN;
		CREATE TEMPORARY TABLE before AS SELECT project, charged, accrued FROM yquota.project_balance;
		SET LOCAL yquota.on_bad_event = set_aside;
		INSERT INTO yquota.container_event
			(event, container_id, occurred_at, project, application_id, username, queue, node, allocation, execution_type, exit_status, source)
		SELECT event, container_id, occurred_at, project, application_id, username, queue, node, allocation, execution_type, exit_status, source
		FROM yquota.container_event AS log
		WHERE event <> 'QUOTA_COMPUTE'
		  -- what is void is not delivered again
		  AND NOT EXISTS (SELECT FROM yquota.event_void AS void WHERE void.container_id = log.container_id AND log.recorded_at <= void.voided_at);
		SELECT count(*) > 0 AND bool_and(before = ROW(now.project, now.charged, now.accrued)::before)
		FROM before FULL JOIN yquota.project_balance AS now USING (project);
		ROLLBACK;
		SQL

	# A waiting event finds its START, running containers finish, numbers continue, and all deltas can be
	# compacted.
	is( $node->safe_psql($database, <<~'SQL'),
		INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation)
		VALUES ('CONTAINER_START', 'c13', '2021-03-02 11:00+00', 'ops', '[vcores=2]');
		INSERT INTO yquota.container_event (event, container_id, occurred_at)
		SELECT 'CONTAINER_FINISH', container_id, '2021-03-02 12:00+00' FROM yquota.container;
		SELECT count(*) > 0 FROM yquota.container_event WHERE container_id = 'c13';
		SELECT cost, finished_at FROM yquota.container_cost WHERE container_id = 'c13';
		INSERT INTO yquota.quota_grant (project, amount, reason) VALUES ('ops', 1, 'c') RETURNING grant_id;
		SELECT yquota.hold('spare', 'app', 1, '1 day');
		SET yquota.on_bad_event = set_aside;
		INSERT INTO yquota.container_event (event, container_id, occurred_at)
		VALUES ('CONTAINER_FINISH', 'c15', '2021-03-02 11:30+00');
		SELECT count(*) = count(DISTINCT reject_id) FROM yquota.event_reject;
		SELECT yquota.quota_compute() = yquota.clock();
		SELECT count(*) FROM yquota.container;
		SELECT count(*) FROM yquota_internal.counter_delta;
		SELECT accrued FROM yquota.project_balance ORDER BY project;
		SELECT * FROM yquota.verify();
		SQL
		# two vcores cost 3600 for half an hour
		"t\n3600|2021-03-02 11:30:00+00\n11\n3\nt\nt\n0\n0\n0\n0\n0\n0\n0", "$database: new events are charged");
}

# The session that restores a dump may then send events.
dump_of('going_on');
append_to_file(scratch('going_on'), <<~'SQL');
	INSERT INTO yquota.container_event (event, container_id, occurred_at)
	VALUES ('CONTAINER_FINISH', 'c6', '2021-03-02 12:00+00');
	SQL
restore('going_on', @psql);
is( $node->safe_psql('going_on', "SELECT finished_at FROM yquota.container_cost WHERE container_id = 'c6'"),
	'2021-03-02 12:00:00+00', 'a statement after a dump in its session is charged');
is(rows('going_on', 'SELECT * FROM yquota.verify()'), '', 'going_on: the books prove themselves');

# Without data, a restored database is a new installation with the rows that the extension ships.
dump_of('empty', '--schema-only');
restore('empty', @psql);
is( $node->safe_psql('empty', 'SELECT resource_type, price, effective_at FROM yquota.price_history ORDER BY 1'),
	"memory-mb|0.0009765625|-infinity\nvcores|1|-infinity\nyarn.io/gpu|1|-infinity",
	'a schema without data begins its timelines');

# The worker takes over, and the time since the dump is not an outage.
my $outages = $node->safe_psql('plain', 'SELECT count(*) FROM yquota.outage');

$node->safe_psql('plain', 'SELECT yquota.start_worker()');
set_clock($node, 'plain', '2021-03-04 12:00+00');
is_soon($node, 'plain', mark() . " = '2021-03-04 12:00+00'", 'the worker goes on');
is($node->safe_psql('plain', 'SELECT count(*) FROM yquota.outage'), $outages, 'the worker of the copy makes no outage');
is(rows('plain', 'SELECT * FROM yquota.verify()'), '', 'the books of the copy prove themselves');
$node->safe_psql('plain', 'SELECT yquota.stop_worker()');


# Restore into databases that a worker waits for. In a single transaction the worker cannot come in
# between.
foreach my $restored ([ 'at_once', 'plain', 'psql', '-X', '-q', '-1', '-v', 'ON_ERROR_STOP=1', '-f' ], [ 'at_once_archived', 'archived', 'pg_restore', '-1' ])
{
	my ($database, $dump, @command) = @$restored;

	$node->safe_psql('postgres', "CREATE DATABASE $database TEMPLATE template0");
	$node->command_ok([ @command, scratch($dump), '-d', $node->connstr($database) ], "$database: restore");
	is_soon($node, $database, "(SELECT state = 'running' FROM yquota.worker_status WHERE database = current_database())", "$database: the worker starts");
	is_soon($node, $database, '(SELECT count(*) = 0 FROM yquota_internal.counter_delta)', "$database: and compacts");
	is(rows($database, 'SELECT * FROM yquota.charge'), $contents->{'yquota.charge'}, "$database: the restore has charged nothing");
	is($node->safe_psql($database, 'SELECT count(*) FROM yquota.outage'), $outages, "$database: the restore has made no outage");
	is($node->safe_psql($database, 'SELECT failures, last_error FROM yquota.worker_status WHERE database = current_database()'), '0|', "$database: the worker has no errors");
	is(rows($database, 'SELECT * FROM yquota.verify()'), '', "$database: the books prove themselves");
}

# Sealed history, and archived history with running containers, whose log is still to be archived.
# Also rights and deferred events. A dump of only the data needs tables, so the schema is restored
# first.
set_clock($node, 'archived', '2021-03-03 12:00+00');
$node->safe_psql('archived', <<~'SQL');
	INSERT INTO yquota.container_event (event, container_id, occurred_at, project, node, allocation)
	SELECT 'CONTAINER_START', format('e%s', number), '2021-03-03 09:00+00', 'lab', 'n1', '[vcores=3]' FROM generate_series(1, 4) AS number;
	INSERT INTO yquota.container_event (event, container_id, occurred_at) VALUES ('CONTAINER_FINISH', 'e1', '2021-03-03 10:00+00');
	SELECT yquota.quota_compute();
	SELECT yquota.seal_history();
	SQL
set_clock($node, 'archived', '2021-03-03 13:00+00');
$node->safe_psql('archived', <<~'SQL');
	CREATE TABLE public.ledger (LIKE yquota.charge);
	CREATE ROLE reader;
	SELECT yquota.allow_role('reader', 'viewer');
	SELECT count(*) FROM yquota.archive('ledger', 'infinity');
	INSERT INTO yquota.container_event (event, container_id, occurred_at) VALUES ('CONTAINER_FINISH', 'e2', '2021-03-03 12:50+00');
	INSERT INTO yquota.container_event (event, container_id, occurred_at, allocation) VALUES ('CONTAINER_UPDATE', 'e4', '2021-03-03 12:30+00', '[vcores=5]');
	SELECT yquota.seal_history();
	INSERT INTO yquota.container_event (event, container_id, occurred_at) VALUES ('CONTAINER_FINISH', 'e3', '2021-03-03 12:55+00');
	-- its end is reported again, at another time
	INSERT INTO yquota.container_event (event, container_id, occurred_at) VALUES ('CONTAINER_FINISH', 'e3', '2021-03-03 12:57+00');
	-- one at a time may run
	INSERT INTO yquota.node (name, total) VALUES ('n2', '[memory-mb=2048,vcores=2]'), ('n3', '[memory-mb=2048,vcores=2]');
	INSERT INTO yquota.queue (path, capacity, max_parallel_apps) VALUES ('root', NULL, 1), ('root.a', '100', NULL);
	SELECT state FROM generate_series(1, 3) AS number, yquota.submit_application(format('application_1_%s', number), 'ann', '{dev}', 'a', project => 'lab', lifetime => 100);
	SELECT yquota.finish_application('application_1_1');
	-- its application master has a container, which nobody has acknowledged, and the next one a reservation
	SELECT decision FROM yquota.schedule('{n2}');
	SELECT yquota.request_containers('application_1_2', '[memory-mb=2048]', 1);
	SELECT decision FROM yquota.schedule('{n2}');
	-- it was demoted, and is to be promoted again
	SELECT yquota.update_container('container_1_2_01_000001', 0, execution_type => 'OPPORTUNISTIC');
	SELECT yquota.update_container('container_1_2_01_000001', 1, execution_type => 'GUARANTEED');
	INSERT INTO yquota.preemption_mark (container_id, marked_at, application_id, queue, selector) VALUES ('container_1_2_01_000001', yquota.clock(), 'application_1_2', 'root.a', 'fifo');
	SELECT action FROM yquota.enqueue_container('n2', 'container_1_2_01_000001');
	INSERT INTO yquota_internal.awaited_container (container_id, allocated_at) VALUES ('container_1_2_01_000009', yquota.clock());
	INSERT INTO yquota_internal.expected_duration (container_id, expected_duration) VALUES ('container_1_2_01_000009', '90 s');
	INSERT INTO yquota_internal.reported_progress (container_id, progress, reported_at) VALUES ('container_1_2_01_000001', 0.25, yquota.clock());
	INSERT INTO yquota_internal.reported_application_progress (application_id, progress, reported_at) VALUES ('application_1_2', 0.125, yquota.clock());
	INSERT INTO yquota.preempted_container (container_id, project, application_id, queue, node, label, allocation, killed_at, is_advised) VALUES ('container_1_1_01_000001', 'lab', 'application_1_1', 'root.a', 'n2', '', '[memory-mb=1024]', yquota.clock(), false);
	INSERT INTO yquota.reservation_definition (reservation_id, version, queue, username, project, arrival, deadline, interpreter, requests, recurrence, accepted_at, quoted_cost)
	VALUES ('reservation_1_0001', 1, 'root.a', 'ann', 'lab', '2021-03-04 00:00+00', '2021-03-04 02:00+00', 'ALL', ARRAY[yquota.reservation_request('[memory-mb=1024]', 2, '1 hour', 2)], '1 day', yquota.clock(), 3600),
		('reservation_1_0002', 1, 'root.a', 'ann', 'lab', yquota.clock() - interval '1 hour', yquota.clock() + interval '1 hour', 'ALL', ARRAY[yquota.reservation_request('[memory-mb=1024]', 2, '30 min', 2)], NULL, yquota.clock() - interval '1 hour', 1800);
	INSERT INTO yquota.reservation_allocation (reservation_id, version, queue, username, deadline, recurrence, "from", "to", allocation)
	VALUES ('reservation_1_0001', 1, 'root.a', 'ann', '2021-03-04 02:00+00', '1 day', '2021-03-04 00:00+00', '2021-03-04 01:00+00', '[memory-mb=2048]'),
		('reservation_1_0002', 1, 'root.a', 'ann', yquota.clock() + interval '1 hour', NULL, yquota.clock() - interval '1 hour', yquota.clock() - interval '30 min', '[memory-mb=2048]'),
		('reservation_1_0002', 1, 'root.a', 'ann', yquota.clock() + interval '1 hour', NULL, yquota.clock() - interval '10 min', yquota.clock() + interval '30 min', '[memory-mb=4096]');
	-- one of three intervals is posted
	SELECT yquota_internal.book_reservations();
	INSERT INTO yquota.reservation_queue (plan, name, reservation_id, capacity, maximum_capacity) VALUES ('root.a', 'reservation_1_0001', 'reservation_1_0001', 0.25, 1);
	INSERT INTO yquota_internal.submission_refusal (decided_by, part, refused) VALUES ('acl', 0, 2);
	SELECT yquota.set_application_tags('application_1_9', '{team=search,urgent}');
	INSERT INTO yquota_internal.reservation_refusal (plan, decided_by, refused, last_at) VALUES ('root.a', 'no_room', 3, yquota.clock());
	INSERT INTO yquota_internal.plan_follower_round (round_at, duration, rounds, changes) VALUES (yquota.clock(), '1 ms', 1, 1);
	INSERT INTO yquota_internal.preemption_round (round_at, server_started_at, rounds, marked, killed, unreserved) VALUES (yquota.clock(), yquota.clock(), 1, 1, 0, 0);
	SET yquota.charging = deferred;
	INSERT INTO yquota.container_event (event, container_id, occurred_at) VALUES ('CONTAINER_FINISH', 'e4', '2021-03-03 12:56+00');
	SQL
$clock = '2021-03-03 13:00+00';
my @own_tables = ('public.ledger', split /\n/, $node->safe_psql('archived', <<~'SQL'));
	SELECT inhrelid::regclass FROM pg_inherits WHERE inhparent IN ('yquota.charge'::regclass, 'yquota.container_event'::regclass)
	UNION SELECT ('yquota_internal.' || log_table)::regclass FROM yquota_internal.released_log
	ORDER BY 1
	SQL
$contents = contents('archived', @own_tables);
$shown = shown('archived');
cmp_ok(scalar @own_tables, '>=', 5, 'segments: ' . join(', ', @own_tables));
my @book_tables = split /\n/, $node->safe_psql('archived', <<~'SQL');
	SELECT c.oid::regclass FROM pg_extension AS e JOIN pg_class AS c ON c.oid = ANY (e.extconfig)
	WHERE e.extname = 'yquota' AND c.relkind = 'r'
	  AND EXISTS (SELECT FROM pg_attribute AS a WHERE a.attrelid = c.oid AND a.attname IN ('project', 'container_id', 'archived_through'))
	  -- which were full above, and all compacted by now
	  AND c.oid <> 'yquota_internal.counter_delta'::regclass
	SQL
is_deeply([ grep { !length $contents->{$_} } @book_tables ], [], 'there are rows of every table about projects, containers and archives');
note('without rows: ', join(', ', grep { !length $contents->{$_} } @tables));
cmp_ok($node->safe_psql('archived', 'SELECT count(*) FROM yquota_internal.usage_numbering'), '>', 0, 'there were allocation cycles');

foreach my $aged ([ 'aged', ['-Fc'] ], [ 'two_steps', ['--schema-only'], ['--data-only'] ])
{
	my ($database, @steps) = @$aged;

	$node->safe_psql('postgres', "CREATE DATABASE $database TEMPLATE template0");
	foreach my $options (@steps)
	{
		my $file = scratch("$database$options->[0]");

		$node->command_ok([ 'pg_dump', '-f', $file, @$options, '-d', $node->connstr('archived') ], "$database: pg_dump @$options");
		$node->command_ok([ $options->[0] eq '-Fc' ? ('pg_restore', '--exit-on-error', $file) : (@psql, '-f', $file), '-d', $node->connstr($database) ],
			"$database: restore");
	}
	is_deeply(contents($database, @own_tables), $contents, "$database: every row is as it was, in every segment");
	is($node->safe_psql($database, 'SELECT count(*) FROM yquota_internal.usage_numbering'), 0, "$database: there have been no allocation cycles");
	set_clock($node, $database, $clock);
	is_deeply(shown($database), $shown, "$database: shows what the original shows");
	is(rows($database, 'SELECT * FROM yquota.verify()'), '', "$database: the books prove themselves");
	is( $node->safe_psql($database, <<~'SQL'), "1|0\n41400\n1\nNON_RUNNABLE\nFINISHED\napplication_1_3|ACTIVE", "$database: new events are charged");
		SELECT charged, remaining FROM yquota.charge_deferred();
		SELECT cost FROM yquota.container_cost WHERE container_id = 'e2';
		SELECT count(*) FROM yquota.archive('public.ledger', 'infinity') WHERE segments > 0;
		SELECT state FROM yquota.submit_application('application_1_4', 'ann', '{dev}', 'a');
		SELECT yquota.finish_application('application_1_2');
		SELECT application_id, state FROM yquota.application WHERE state = 'ACTIVE';
		SELECT * FROM yquota.verify();
		SQL
}

# The owner of the extension may have been a superuser only while creating it.
$node->safe_psql('postgres', 'CREATE ROLE owner LOGIN SUPERUSER');
$node->safe_psql('postgres', "CREATE DATABASE $_ TEMPLATE template0 OWNER owner") foreach qw(owned owned_too refused);
$node->safe_psql($_, 'CREATE EXTENSION yquota', extra_params => [ '-U', 'owner' ]) foreach qw(owned owned_too);
$node->safe_psql('postgres', 'ALTER ROLE owner NOSUPERUSER');
my @as_owner = (extra_params => [ '-U', 'owner' ]);
$node->safe_psql('owned', <<~'SQL', @as_owner);
	INSERT INTO yquota.project (name) VALUES ('lab');
	INSERT INTO yquota.quota_grant (project, amount, reason) VALUES ('lab', 1000, 'a');
	SELECT yquota.set_multiplier('GENERAL', 1.5, '-infinity');
	SELECT yquota.set_clock('2021-03-02 12:00+00');
	INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation)
	SELECT 'CONTAINER_START', format('c%s', number), '2021-03-02 11:00+00', 'lab', '[vcores=2]' FROM generate_series(1, 3) AS number;
	INSERT INTO yquota.container_event (event, container_id, occurred_at) VALUES ('CONTAINER_FINISH', 'c1', '2021-03-02 12:00+00');
	SQL
$node->command_ok([ 'pg_dump', '-U', 'owner', '--data-only', '-f', scratch('owned'), '-d', $node->connstr('owned') ], 'no superuser: pg_dump');
$node->command_ok([ @psql, '-U', 'owner', '-f', scratch('owned'), '-d', $node->connstr('owned_too') ], 'no superuser: restore');
is_deeply(contents('owned_too'), contents('owned'), 'no superuser: every row is as it was');
is( $node->safe_psql('owned_too', <<~'SQL', @as_owner), "10800|21600\n32400|0", 'no superuser: new events are charged');
	SELECT yquota.set_clock('2021-03-02 12:00+00') \g /dev/null
	SELECT charged, accrued FROM yquota.project_balance;
	INSERT INTO yquota.container_event (event, container_id, occurred_at) SELECT 'CONTAINER_FINISH', container_id, '2021-03-02 12:00+00' FROM yquota.container;
	SELECT charged, accrued FROM yquota.project_balance;
	SELECT * FROM yquota.verify();
	SQL
$node->command_ok([ 'pg_dump', '-U', 'owner', '-f', scratch('refused'), '-d', $node->connstr('owned') ], 'no superuser: pg_dump with the extension');
$node->command_checks_all([ @psql, '-U', 'owner', '-f', scratch('refused'), '-d', $node->connstr('refused') ], 3, [], [qr/permission denied to create extension "yquota"/],
	'no superuser: CREATE EXTENSION needs a superuser');

$node->stop;
done_testing();
