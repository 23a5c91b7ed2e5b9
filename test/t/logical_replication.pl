# A copy by logical replication. The ledger and all its tables are replicated as data. The subscriber charges nothing,
# because statement triggers do not fire there. The copy begins with a dump of the slot's snapshot, including history,
# while events continue. The copy must show the same rows as the publisher after changes of prices, corrections and
# voids, also in sessions that have cached older prices. The test repeats this after rejected events, deferred events,
# compaction, sealing and archiving. A publication of all tables does not prevent any operation on the publisher.
# After a switch-over the copy continues where the publisher stopped.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use WorkerNode;

my $publisher = PostgreSQL::Test::Cluster->new('publisher');
my $subscriber = PostgreSQL::Test::Cluster->new('subscriber');
my $slot = 'yquota_copy';

$publisher->init(allows_streaming => 'logical');
$publisher->append_conf('postgresql.conf', "max_worker_processes = 16\nyquota.outage_policy = 'charge'\n");
$publisher->start;
$subscriber->init;
$subscriber->append_conf('postgresql.conf', "shared_preload_libraries = 'yquota'\nyquota.databases = ''\nmax_worker_processes = 16\n");
$subscriber->start;

sub at { return "2026-03-02 $_[0]+00"; }

# Set both clocks, because the setting of the clock is not replicated.
sub set_clocks
{
	my ($at) = @_;

	set_clock($_, 'postgres', at($at)) foreach $publisher, $subscriber;
	return;
}

sub run { return $publisher->safe_psql('postgres', $_[0]); }

# Queries that must have equal results on both servers. From the log they read only the events of
# containers.
my @shown = ('SELECT project, granted, charged, accrued, remaining, burn_rate FROM yquota.project_balance',
	'SELECT * FROM yquota.container_cost', 'SELECT * FROM yquota.daily_cost', 'SELECT * FROM yquota.queue_usage',
	'SELECT * FROM yquota.node_usage', 'SELECT * FROM yquota.current_price', 'SELECT * FROM yquota.price_history', 'SELECT * FROM yquota.tariff',
	'SELECT * FROM yquota.container', 'SELECT * FROM yquota.event_reject', 'SELECT * FROM yquota.quota_grant',
	'SELECT * FROM yquota.outage', "SELECT * FROM yquota.event_void",
	'SELECT * FROM yquota.scheduler_node', 'SELECT * FROM yquota.scheduler_queue', 'SELECT * FROM yquota.scheduler_application',
	'SELECT * FROM yquota.decision', 'SELECT * FROM yquota.reserved_container', 'SELECT * FROM yquota.blacklist',
	'SELECT * FROM yquota.container_update', 'SELECT * FROM yquota.schedule(dry_run => true)',
	"SELECT * FROM yquota.cost_between('2026-03-02 10:00+00', '2026-03-02 13:37+00')");

sub is_alike
{
	my ($name) = @_;
	my $query = join "\n", map { "SELECT t::text FROM ($_) AS t ORDER BY 1;" } @shown;

	$publisher->wait_for_catchup($slot);
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is($subscriber->safe_psql('postgres', $query), run($query), "$name: the copy shows what the publisher shows");
	is($_->safe_psql('postgres', 'SELECT * FROM yquota.verify()'), '', "$name: the books prove themselves: " . $_->name) foreach $publisher, $subscriber;
	return;
}

sub starts
{
	my ($prefix, $count, $at) = @_;

	run("INSERT INTO yquota.container_event (event, container_id, occurred_at, project, queue, node, allocation, source)
		SELECT 'CONTAINER_START', format('$prefix%s', number), '${\ at($at)}', CASE number % 2 WHEN 0 THEN 'lab' ELSE 'ops' END, 'root.a', 'n1',
			   format('[memory-mb=%s,vcores=2]', number * 1000)::yquota.resource, 'feed' FROM generate_series(1, $count) AS number");
	return;
}

sub finish
{
	my ($prefix, $first, $last, $at) = @_;

	run("INSERT INTO yquota.container_event (event, container_id, occurred_at, source)
		SELECT 'CONTAINER_FINISH', format('$prefix%s', number), '${\ at($at)}', 'feed' FROM generate_series($first, $last) AS number");
	return;
}

# Sealed and archived history, with containers that continue to run
start_at($publisher, 'postgres', at('10:00'));
run(<<~'SQL');
	INSERT INTO yquota.project (name) VALUES ('lab'), ('ops');
	INSERT INTO yquota.node (name, total) VALUES ('n1', '[memory-mb=1000000,vcores=1000]');
	INSERT INTO yquota.quota_grant (project, amount, reason) VALUES ('lab', 1000000, 'a'), ('ops', 1000000, 'b');
	CREATE TABLE public.ledger (LIKE yquota.charge);
	SQL
starts('a', 6, '09:00');
finish('a', 1, 3, '09:30');
run('SELECT yquota.quota_compute(); SELECT yquota.seal_history()');
set_clock($publisher, 'postgres', at('11:00'));
finish('a', 4, 4, '10:30');
run("SELECT count(*) FROM yquota.archive('public.ledger', 'infinity'); SELECT yquota.seal_history()");
finish('a', 5, 5, '10:45');

# Make the copy, while events arrive between slot and dump, and between dump and subscription
run($_) foreach split /\n/, run('SELECT * FROM yquota.publication_commands()');
is(run("SELECT string_agg(pubname, ', ' ORDER BY pubname) FROM pg_publication"), 'yquota_books, yquota_state', 'the books are published');
is( run(<<~'SQL'), 'yquota.charge, yquota.container_change, yquota.container_event, yquota_internal.billed_charge, yquota_internal.charged_through, yquota_internal.counter_delta',
	SELECT string_agg(format('%s.%s', schemaname, tablename), ', ' ORDER BY schemaname, tablename) FROM pg_publication_tables WHERE pubname = 'yquota_books'
	SQL
	'of these tables only insertions are published');
my $session = $publisher->background_psql('postgres', replication => 'database');
my ($snapshot) = $session->query("CREATE_REPLICATION_SLOT $slot LOGICAL pgoutput") =~ /^$slot\|[^|]*\|([^|]+)\|/m;
ok(defined $snapshot, 'a slot is made, with the snapshot at which it begins');
starts('b', 6, '10:50');
my $file = PostgreSQL::Test::Utils::tempdir . '/dump';
$publisher->command_ok([ 'pg_dump', '-Fc', '--no-publications', "--snapshot=$snapshot", '-f', $file, '-d', $publisher->connstr('postgres') ], 'pg_dump of the snapshot');
$session->quit;
finish('b', 1, 2, '10:55');
$subscriber->command_ok([ 'pg_restore', '-1', '-d', $subscriber->connstr('postgres'), $file ], 'pg_restore');
is($subscriber->safe_psql('postgres', "SELECT count(*) FROM yquota.container_event WHERE container_id LIKE 'b%'"), 0, 'an event after the slot is not in the dump');
$subscriber->safe_psql('postgres', "CREATE SUBSCRIPTION $slot CONNECTION '" . $publisher->connstr . " dbname=postgres' PUBLICATION yquota_books, yquota_state WITH (copy_data = off, create_slot = off, slot_name = $slot)");
set_clocks('11:00');
is_alike('events while the copy was made');

# Replicated rows are not charged even if the trigger charge_events always fires.
$subscriber->safe_psql('postgres', 'ALTER TABLE yquota.container_event ENABLE ALWAYS TRIGGER charge_events');
finish('b', 3, 3, '10:58');
is_alike("events, with the trigger charge_events on the copy enabled always");
$subscriber->safe_psql('postgres', 'ALTER TABLE yquota.container_event ENABLE TRIGGER charge_events');

# A repeated START inserts a row of container and removes it again, and such rows do not reach the
# copy.
starts('b', 7, '10:50');
is_alike('STARTs that are repeated, of running and of finished containers, and a new one');

# A session on the copy has cached prices
my $balance = "SELECT burn_rate FROM yquota.project_balance WHERE project = 'lab'";
my $reader = $subscriber->background_psql('postgres', on_error_stop => 1);
my $rate = $reader->query_safe($balance);

run("SELECT yquota.set_multiplier('GENERAL', 3, yquota.clock(), '2099-01-01')");
$publisher->wait_for_catchup($slot);
is($reader->query_safe($balance), 3 * $rate, 'a session of the copy that had read prices notices a new price');
set_clocks('12:00');
is_alike('a new price');
isnt($reader->query_safe($balance), '', 'the copy goes on');
$reader->quit;

# All other changes of the books
run(<<~'SQL');
	INSERT INTO yquota.container_event (event, container_id, occurred_at, allocation) VALUES ('CONTAINER_UPDATE', 'b4', '2026-03-02 11:30+00', '[vcores=9]');
	INSERT INTO yquota.container_event (event, container_id, occurred_at, queue) VALUES ('CONTAINER_UPDATE', 'b2', '2026-03-02 10:52+00', 'root.b');
	INSERT INTO yquota.price_factor (dimension, name, effective_at, factor) VALUES ('queue', 'root.b', '2026-03-02 12:30+00', 0.5);
	INSERT INTO yquota.price_calendar (name, price_group, timezone, "from", "to", factor) VALUES ('noon', 'GENERAL', 'UTC', '12:15', '12:45', 0.5);
	SELECT yquota.report_outage('2026-03-02 11:10+00', '2026-03-02 11:15+00', 'all');
	SELECT count(*) FROM yquota.void_events('b5', 'wrong');
	UPDATE yquota.project SET on_exhausted = 'stop' WHERE name = 'lab';
	UPDATE yquota.node SET label = 'ssd' WHERE name = 'n1';
	SET yquota.on_bad_event = set_aside;
	INSERT INTO yquota.container_event (event, container_id, occurred_at, source) VALUES ('CONTAINER_FINISH', 'c9', '2026-03-02 11:30+00', 'feed');
	INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES ('CONTAINER_START', 'x1', '2026-03-02 11:30+00', 'nobody', '[vcores=1]');
	DELETE FROM yquota.event_reject WHERE container_id = 'x1';
	SQL
is_alike('corrections, a void, an outage, events set aside and discarded');
starts('c', 9, '11:20');
is_alike('an event that waited');
run(q(SET yquota.charging = deferred; INSERT INTO yquota.container_event (event, container_id, occurred_at) VALUES ('CONTAINER_FINISH', 'c1', '2026-03-02 11:50+00')));
run('SELECT charged FROM yquota.charge_deferred()');
is_alike('an event that was deferred');

# The scheduler: an application master, containers, a reservation, an increase that waits, and an
# increase that was acknowledged
run(<<~'SQL');
	INSERT INTO yquota.queue (path, capacity) VALUES ('root', NULL), ('root.q', '100');
	INSERT INTO yquota.node (name, total) VALUES ('m1', '[memory-mb=4096,vcores=4]'), ('m2', '[memory-mb=4096,vcores=4]');
	SELECT yquota.submit_application('application_1_0001', 'ann', '{}', 'q', project => 'lab');
	SELECT count(*) FROM yquota.schedule('{m1}');
	SELECT yquota.request_containers('application_1_0001', '[memory-mb=1024]', 1);
	SELECT count(*) FROM yquota.schedule('{m1}');
	SELECT yquota.update_container('container_1_0001_01_000002', 0, '[memory-mb=4096]');
	SELECT yquota.update_blacklist('application_1_0001', '{m2}');
	SELECT count(*) FROM yquota.schedule('{m1}');
	SELECT yquota.request_containers('application_1_0001', '[memory-mb=1024]', 3, priority => 2);
	SELECT yquota.acknowledge_decisions(ARRAY(SELECT decision_id FROM yquota.decision WHERE container_id = ANY ('{container_1_0001_01_000001}')));
	SQL
isnt(run('SELECT (SELECT count(*) FROM yquota.reserved_container) * (SELECT count(*) FROM yquota.decision) * (SELECT count(*) FROM yquota.container_update)'), 0, 'there are reservations, decisions and updates');
is_alike('what the scheduler decided');

# Compact while all tables are also published to another subscriber
run('CREATE PUBLICATION everything FOR ALL TABLES');
run('SELECT yquota.start_worker()');
live_through($publisher, 'postgres', 3, '1 min');
is_soon($publisher, 'postgres', '(SELECT count(*) = 0 FROM yquota_internal.counter_delta)', 'the publisher compacts');
finish('c', 2, 3, '12:02');
run('SELECT count(*) FROM yquota.void_events(\'c2\', \'wrong\')');
run('UPDATE yquota.event_reject SET waiting = waiting; DELETE FROM yquota.event_reject');
is(run("SELECT failures, last_error FROM yquota.worker_status WHERE database = 'postgres'"), '0|', 'a publication of all tables is no trouble to the worker');
set_clocks('12:03');
is_alike('compacted there');
my $deltas = 'SELECT count(*) FROM yquota_internal.counter_delta';
isnt($subscriber->safe_psql('postgres', $deltas), 0, 'the worker does not serve the copy');
$subscriber->safe_psql('postgres', 'SELECT yquota_internal.compact_counters()');
is($subscriber->safe_psql('postgres', $deltas), 0, 'the copy compacts by itself');
is_alike('compacted on the copy');

# Archiving deletes history only on the publisher.
run("SELECT yquota.stop_worker()");
run("SELECT yquota.seal_history()");
set_clocks('13:00');
run("SELECT count(*) FROM yquota.archive('public.ledger', 'infinity')");
cmp_ok($subscriber->safe_psql('postgres', 'SELECT count(*) FROM yquota.charge'), '>', run('SELECT count(*) FROM yquota.charge'), 'the copy keeps what the publisher has archived');
my $balances = 'SELECT project, charged, accrued FROM yquota.project_balance ORDER BY 1';
starts('d', 4, '12:30');
finish('c', 4, 6, '12:45');
$publisher->wait_for_catchup($slot);
is($subscriber->safe_psql('postgres', $balances), run($balances), 'archived by the publisher: the balances are the same');
is($_->safe_psql('postgres', 'SELECT * FROM yquota.verify()'), '', 'archived there: the books prove themselves: ' . $_->name) foreach $publisher, $subscriber;

# Switch-over, as docs/backup.md describes it
my $totals = 'SELECT project, charged, accrued FROM yquota.project_balance ORDER BY 1';
my $before = run($totals);
my $sequences = run('SELECT * FROM yquota.sequence_commands()');
$publisher->wait_for_catchup($slot);
$subscriber->safe_psql('postgres', "DROP SUBSCRIPTION $slot");
$publisher->stop;
$subscriber->safe_psql('postgres', "SELECT yquota.set_clock('${\ at('13:00:01')}'), yquota.set_clock('${\ at('13:00')}') FROM generate_series(1, 50)");
$subscriber->safe_psql('postgres', join ';', split /\n/, $sequences);
set_clock($subscriber, 'postgres', at('13:00'));
is($subscriber->safe_psql('postgres', $totals), $before, 'switched over: the totals are those of the publisher');
$subscriber->append_conf('postgresql.conf', "yquota.databases = 'postgres'");
$subscriber->reload;
is_soon($subscriber, 'postgres', "(SELECT state = 'running' FROM yquota.worker_status WHERE database = 'postgres')", 'switched over: the worker starts');
is($subscriber->safe_psql('postgres', 'SELECT count(*) FROM yquota.outage'), 1, 'switched over: the worker makes no outage');
is( $subscriber->safe_psql('postgres', <<~'SQL'), "t\nt\n0", 'switched over: replays change nothing, numbers continue, events are charged');
	INSERT INTO yquota.container_event (event, container_id, occurred_at, source)
	SELECT 'CONTAINER_FINISH', format('c%s', number), '2026-03-02 12:45+00', 'feed' FROM generate_series(4, 6) AS number;
	INSERT INTO yquota.quota_grant (project, amount, reason) VALUES ('ops', 1, 'c') RETURNING grant_id = 3;
	SELECT yquota.report_outage('2026-03-02 11:20+00', '2026-03-02 11:21+00', 'next') = 2;
	INSERT INTO yquota.container_event (event, container_id, occurred_at)
	SELECT 'CONTAINER_FINISH', format('d%s', number), '2026-03-02 13:00+00' FROM generate_series(1, 4) AS number;
	SELECT count(*) FROM yquota.container WHERE container_id LIKE 'd%';
	SELECT * FROM yquota.verify();
	SQL
$subscriber->safe_psql('postgres', q(SELECT yquota.update_blacklist('application_1_0001', '{}', '{m2}')));
like($subscriber->safe_psql('postgres', 'SELECT decision, container_id, node FROM yquota.schedule()'), qr/^allocated\|container_1_0001_01_000004\|m2$/m, 'switched over: scheduling goes on');
is($subscriber->safe_psql('postgres', 'SELECT * FROM yquota.verify()'), '', 'switched over: the books prove themselves');
is($subscriber->safe_psql('postgres', "SELECT failures, last_error FROM yquota.worker_status WHERE database = 'postgres'"), '0|', 'switched over: the worker has no errors');
$subscriber->stop;
done_testing();
