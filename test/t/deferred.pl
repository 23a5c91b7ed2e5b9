# Deferred events survive a crash during statements and during charge_deferred(). They also survive dumps, even into a
# database that defers, too. Wherever they are charged, they are charged once, with the same totals. The worker defers
# its own QUOTA_COMPUTEs, reports deferred events, and records no outage while it defers. Only a permitted role can
# defer.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Utils;
use Test::More;
use WorkerNode;

my $node = new_node('deferred');
my $clock = '2021-03-02 12:00+00';
my $scratch = PostgreSQL::Test::Utils::tempdir;

sub deferred_count
{
	my ($database) = @_;

	return $node->safe_psql($database, 'SELECT count(*) FROM yquota_internal.deferred_event');
}

sub check_books
{
	my ($database, $name) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is($node->safe_psql($database, 'SELECT * FROM yquota.verify()'), '', "$name: the books prove themselves");
	return;
}

sub shown
{
	my ($database) = @_;

	return join "\n", map { $node->safe_psql($database, $_) }
	  'SELECT project, charged, accrued FROM yquota.project_balance ORDER BY project',
	  'SELECT container_id, started_at, finished_at, cost FROM yquota.container_cost ORDER BY container_id',
	  'SELECT source, events, last_event_at, waiting, rejected, deferred FROM yquota.feed_status ORDER BY source',
	  'SELECT count(*) FROM yquota.container_event',
	  'SELECT * FROM yquota.charged_through';
}

# Return the events of containers from 9:00 + NUMBER min on, in two statements. Some containers
# start while events are charged at once.
sub lives
{
	my ($mode, $kind, $from, $to) = @_;

	return <<~SQL;
		SET yquota.charging = $mode;
		INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation, source)
		SELECT 'CONTAINER_$kind', format('c%s', number), timestamptz '2021-03-02 09:00+00'
			+ CASE '$kind' WHEN 'START' THEN 1 ELSE 3 END * number * interval '1 min',
			CASE '$kind' WHEN 'START' THEN 'lab' END, '[memory-mb=1000,vcores=3]', 'feed'
		FROM generate_series($from, $to) AS number;
		SQL
}

$node->safe_psql('postgres', 'CREATE DATABASE original');
start_at($node, 'original', $clock);
$node->safe_psql('original', join "\n",
	"INSERT INTO yquota.project (name) VALUES ('lab');",
	"SELECT yquota.set_multiplier('GENERAL', 1.234567890123456789, '2021-03-02 09:30+00');",
	lives('on', 'START', 1, 10), lives('deferred', 'START', 11, 30), lives('deferred', 'FINISH', 6, 20),
	"INSERT INTO yquota.container_event (event, occurred_at, source) VALUES ('QUOTA_COMPUTE', '2021-03-02 11:00+00', 'feed');");
is(deferred_count('original'), 36, 'events are deferred');

#
# Crash
#
my $open = $node->background_psql('original');
$open->query_safe("BEGIN;\n" . lives('deferred', 'START', 31, 40));
my $catching_up = $node->background_psql('original');
$catching_up->query_safe('BEGIN; SELECT * FROM yquota.charge_deferred(10)');
$node->safe_psql('original', lives('deferred', 'START', 41, 42));
$node->stop('immediate');
$node->start;
is(deferred_count('original'), 38, 'after a crash all committed events are there, and those of the open catch-up are still deferred');
check_books('original', 'after a crash');

#
# Dumps
#
my %options = (archived => ['-Fc'], filled => ['--data-only']);
foreach my $name (sort keys %options)
{
	$node->command_ok([ 'pg_dump', '-f', "$scratch/$name", @{ $options{$name} }, '-d', $node->connstr('original') ],
		"$name: pg_dump");
	$node->safe_psql('postgres', "CREATE DATABASE $name TEMPLATE template0; ALTER DATABASE $name SET yquota.charging = deferred");
	$node->safe_psql($name, 'CREATE EXTENSION IF NOT EXISTS yquota') if $name eq 'filled';
	$node->command_ok(
		$name eq 'archived' ? [ 'pg_restore', '--exit-on-error', '-d', $node->connstr($name), "$scratch/$name" ]
		: [ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr($name), '-f', "$scratch/$name" ],
		"$name: restore");
}
my $before = shown('original');
$node->safe_psql('original', 'SELECT * FROM yquota.charge_deferred()');
my $after = shown('original');
isnt($after, $before, 'original: catching up changes what is shown');
like($after, qr/^feed\|48\|2021-03-02 11:00:00\+00\|0\|0\|0$/m, 'original: nothing is deferred any more');
check_books('original', 'original');

foreach my $name (sort keys %options)
{
	set_clock($node, $name, $clock);
	is(shown($name), $before, "$name: shows what the original showed");
	check_books($name, $name);

	# an event that arrives now gets a larger number
	$node->safe_psql($name, lives('deferred', 'FINISH', 41, 41));
	is($node->safe_psql($name, <<~'SQL'), 't', "$name: the numbers of statements continue");
		SELECT max(arrival) FILTER (WHERE container_id = 'c41' AND event = 'CONTAINER_FINISH')
			> max(arrival) FILTER (WHERE container_id <> 'c41')
		FROM yquota_internal.deferred_event
		SQL
	is($node->safe_psql($name, "DELETE FROM yquota_internal.deferred_event WHERE container_id = 'c41' AND event = 'CONTAINER_FINISH' RETURNING 1;
			DELETE FROM yquota.container_event WHERE container_id = 'c41' AND event = 'CONTAINER_FINISH'"), '1', "$name: the statement is rolled back");
	is($node->safe_psql($name, 'SELECT * FROM yquota.charge_deferred()'), '38|0|0', "$name: catches up");
	is($node->safe_psql($name, 'SELECT * FROM yquota.charge_deferred()'), '0|0|0', "$name: each event is charged once");
	is(shown($name), $after, "$name: shows what the original shows");
	check_books($name, "$name after catching up");
}

#
# The worker
#
sub set_charging
{
	my ($mode) = @_;

	$node->safe_psql('postgres', "LOAD 'yquota'; ALTER SYSTEM SET yquota.charging = $mode");
	$node->reload;
	$node->poll_query_until('postgres', "LOAD 'yquota'; SELECT current_setting('yquota.charging')", "LOAD\n$mode")
	  or die "yquota.charging did not become $mode";
	return;
}

my $alert = "(SELECT count(*) FROM yquota.alert WHERE kind = 'events_deferred' AND cleared_at IS NULL)";

$node->safe_psql('original', 'SELECT yquota.start_worker()');
is_soon($node, 'original', mark() . " = '$clock'", 'the worker advances the mark');
set_charging('deferred');
set_clock($node, 'original', '2021-03-02 12:01+00');
is_soon($node, 'original', "(SELECT max(occurred_at) FROM yquota_internal.deferred_event) = '2021-03-02 12:01+00'",
	'the worker defers its own events');
set_clock($node, 'original', '2021-03-02 12:02+00');
is_soon($node, 'original', "$alert = 1", 'an alert says that events are deferred');
is($node->safe_psql('original', 'SELECT ' . mark()), '2021-03-02 12:00:00+00', 'the mark stands');

# The worker is terminated, as by an accident. The next worker must not take the time since the mark
# as an outage.
set_clock($node, 'original', '2021-03-02 12:10+00');
is_soon($node, 'original', "(SELECT max(occurred_at) FROM yquota_internal.deferred_event) = '2021-03-02 12:10+00'",
	'the worker goes on');
$node->safe_psql('postgres', 'SELECT pg_terminate_backend(' . worker_pid($node, 'original') . ', 60000)');
set_charging('on');
set_clock($node, 'original', '2021-03-02 12:10:30+00');
$node->safe_psql('original', 'SELECT yquota.start_worker()');
is_soon($node, 'original', mark() . " = '2021-03-02 12:10:30+00'", 'another worker goes on');
is($node->safe_psql('original', 'SELECT count(*) FROM yquota.outage'), '0', 'a restart of the worker makes no outage');
isnt($node->safe_psql('original', 'SELECT charged, set_aside, remaining FROM yquota.charge_deferred()'), '0|0|0', 'the remaining events are charged');
set_clock($node, 'original', '2021-03-02 12:11+00');
is_soon($node, 'original', "$alert = 0", 'the alert is over');
check_books('original', 'with a worker');
$node->safe_psql('original', 'SELECT yquota.stop_worker()');

#
# A role without the right to defer cannot defer before the library is loaded either.
#
$node->safe_psql('original', <<~'SQL');
	CREATE ROLE feed LOGIN;
	GRANT INSERT ON yquota.container_event TO feed;
	SQL
my ($status, $output, $errors) = $node->psql('original', <<~'SQL', extra_params => [ '-U', 'feed' ]);
	SET yquota.charging = deferred;
	INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation)
	VALUES ('CONTAINER_START', 'of feed', '2021-03-02 12:00+00', 'lab', '[vcores=1]');
	SQL
like($errors, qr/permission denied to set parameter "yquota.charging"/, 'the setting is refused');
is( $node->safe_psql('original', "SELECT count(*) FROM yquota.container WHERE container_id = 'of feed'"),
	'1', 'the event is charged after the setting is refused');

$node->stop;
done_testing();
