# The launcher starts workers for the databases of yquota.databases. Some commands need a database without a worker.

use strict;
use warnings;

use Test::More;
use Time::HiRes qw(usleep);
use WorkerNode;

my $node = new_node(
	'launcher',
	"shared_preload_libraries = 'yquota'",
	"yquota.databases = 'first, \"Second One\", missing'");
my $at = '2030-01-01 00:00 UTC';

sub has_worker
{
	my ($database, $pid) = @_;

	return "EXISTS (SELECT FROM pg_stat_activity WHERE backend_type = 'yquota worker' AND datname = '$database'"
	  . ($pid ? " AND pid <> $pid" : '') . ')';
}

is_soon($node, 'postgres', "(SELECT count(*) = 1 FROM pg_stat_activity WHERE backend_type = 'yquota launcher')",
	'the launcher runs');
$node->wait_for_log(qr/database "missing" does not exist/);

$node->safe_psql('postgres', 'CREATE DATABASE first TEMPLATE template0');
$node->safe_psql('postgres', 'CREATE DATABASE "Second One" TEMPLATE template0');
$node->safe_psql('postgres', 'CREATE DATABASE third TEMPLATE template0');
start_at($node, $_, $at) for 'first', 'Second One', 'third';
for my $database ('first', 'Second One')
{
	# A reload makes the launcher find a database that was created after it last looked.
	$node->reload;
	is_soon($node, $database, has_worker($database), "database \"$database\" has a worker");
}
is_soon($node, 'first', mark() . " = '$at'", 'the worker advances the mark');
is_soon($node, 'first', "(SELECT last_compact_at = '$at' FROM yquota.worker_status WHERE database = 'first')", 'the worker records what it has done');
is( $node->safe_psql('first',
		q(SELECT string_agg(database || ' ' || state || ' ' || (last_compute_at IS NOT NULL), ',' ORDER BY database <> 'first') FROM yquota.worker_status)),
	'first running true,Second One running false',
	'worker_status tells about it, and that the other one is there');
is( $node->safe_psql('first', q(SELECT string_agg(state, ',') FROM pg_stat_activity WHERE backend_type LIKE 'yquota%' AND wait_event_type = 'Extension')),
	'idle,idle,idle', 'all workers sleep on their latches');
is( $node->safe_psql('first', q(SELECT count(*) FROM pg_locks JOIN pg_stat_activity USING (pid) WHERE backend_type LIKE 'yquota%' AND locktype NOT IN ('advisory', 'virtualxid'))),
	'0', 'the workers hold no lock but the lock of their database');
is( $node->safe_psql('first', q(SELECT count(*) FROM pg_stat_activity WHERE backend_type LIKE 'yquota%' AND (backend_xmin IS NOT NULL OR backend_xid IS NOT NULL))),
	'0', 'the workers hold no snapshot');

# A setting that seems to lack its unit. The session that changes it gets a warning, and for a value in the file the
# log gets one warning.
my $warned = qr/WARNING:  "yquota\.price_interval" is no more than 30 ms\nHINT:  A value without a unit is in milliseconds: write "10s", for example\./;
my $before = -s $node->logfile;
my (undef, undef, $told) = $node->psql('postgres', 'ALTER SYSTEM SET yquota.price_interval = 30');
like($told, $warned, 'a duration without a unit gives a warning');
$node->reload;
$node->wait_for_log(qr/parameter "yquota.price_interval" changed to "30"/, $before);
$node->safe_psql('first', 'SELECT yquota.clock()');
(undef, undef, $told) = $node->psql('postgres', q(ALTER SYSTEM SET yquota.price_interval = '30s'));
is($told, '', 'a value with a unit gives no warning');
$node->safe_psql('postgres', 'ALTER SYSTEM RESET yquota.price_interval');
my $reset = -s $node->logfile;
$node->reload;
$node->wait_for_log(qr/parameter "yquota.price_interval" (?:changed|removed)/, $reset);
my $complaints = () = PostgreSQL::Test::Utils::slurp_file($node->logfile, $before) =~ /"yquota\.price_interval" is no more than/g;
is($complaints, 2, 'the session and the server give the warning, and no other process that reads the file');

# A worker that is terminated is replaced.
my $pid = worker_pid($node, 'first');
$node->safe_psql('postgres', "SELECT pg_terminate_backend($pid, 20000)");
is_soon($node, 'postgres', has_worker('first', $pid), 'a terminated worker is replaced');

# A worker that is cancelled continues, whether it sleeps, runs a task or is between two tasks.
is_soon($node, 'first', "(SELECT state = 'running' FROM yquota.worker_status WHERE database = 'first')", 'the new worker is in state running');
$pid = worker_pid($node, 'first');
$node->safe_psql(
	'first', qq(
	DO \$\$BEGIN
		FOR i IN 1 .. 300 LOOP
			PERFORM yquota.set_clock('2030-01-01'::timestamptz + i * interval '1 minute');
			COMMIT;
			PERFORM pg_sleep(random() * 0.02), pg_cancel_backend($pid);
		END LOOP;
	END\$\$));
set_clock($node, 'first', '2030-01-02 00:00 UTC');
is_soon($node, 'first', mark() . " = '2030-01-02 00:00 UTC'", 'a cancelled worker continues');
is(worker_pid($node, 'first'), $pid, 'the worker that was cancelled is still the same process');

# stop_worker() works although the launcher would start another worker.
$node->safe_psql('first', 'SELECT yquota.stop_worker()');
is_soon($node, 'postgres', 'NOT ' . has_worker('first'), 'stop_worker() stops the worker');
my $log_end = -s $node->logfile;
my $leaves = qr/worker of database "first" exits: yquota.stop_worker\(\) was called/;
# At a reload the launcher starts nothing before it knows that the worker has left.
for (1 .. 1800)
{
	$node->reload;
	last if PostgreSQL::Test::Utils::slurp_file($node->logfile, $log_end) =~ $leaves;
	usleep(100_000);
}
like(PostgreSQL::Test::Utils::slurp_file($node->logfile, $log_end), $leaves, 'the launcher starts another worker');
is_soon($node, 'postgres', 'NOT ' . has_worker('first'), 'this worker leaves at once');
is($node->safe_psql('first', q(SELECT state FROM yquota.worker_status WHERE database = 'first')),
	'stopped', 'the worker stays switched off');
$node->safe_psql('first', 'SELECT yquota.start_worker()');
is_soon($node, 'first', "(SELECT state = 'running' FROM yquota.worker_status WHERE database = 'first')",
	'start_worker() switches the worker on');

# DROP EXTENSION and CREATE EXTENSION
$node->safe_psql('first', 'DROP EXTENSION yquota');
is_soon($node, 'postgres', 'NOT ' . has_worker('first'), 'the worker leaves when the extension is dropped');
start_at($node, 'first', $at);
is_soon($node, 'first', has_worker('first'), 'another worker starts when the extension is created again');

# The list may change at any time.
$node->append_conf('postgresql.conf', "yquota.databases = 'first, third'");
$node->reload;
is_soon($node, 'postgres', has_worker('third'), 'a database added to the list gets a worker');
is_soon($node, 'postgres', 'NOT ' . has_worker('Second One'), 'a database taken off the list loses its worker');

# When a role without the right tries to drop the database, the worker is not disturbed.
is_soon($node, 'first', "(SELECT state = 'running' FROM yquota.worker_status WHERE database = 'first')", 'the worker is in state running');
$pid = worker_pid($node, 'first');
$node->safe_psql('postgres', 'CREATE ROLE stranger LOGIN CREATEDB');
my $stranger = $node->connstr('postgres') . ' user=stranger';
for my $command ('DROP DATABASE first', 'ALTER DATABASE first RENAME TO mine', 'CREATE DATABASE mine TEMPLATE first')
{
	my ($status, $out, $error) = $node->psql('postgres', $command, connstr => $stranger);

	like($error, qr/must be owner|permission denied/, "a role without rights is refused: $command");
}
my ($status, $out, $error) = $node->psql('postgres', "BEGIN;\nDROP DATABASE first;");
like($error, qr/cannot run inside a transaction block/, 'a command of the owner in a transaction block is refused');
is(worker_pid($node, 'first'), $pid, 'none of the refused commands ended the worker');

# The owner's commands need a database without sessions, so the worker leaves for them.
is($node->psql('postgres', 'CREATE DATABASE copy TEMPLATE first'), 0, 'CREATE DATABASE ... TEMPLATE succeeds');
is_soon($node, 'postgres', has_worker('first', $pid), 'the worker comes back afterwards');
is($node->psql('postgres', 'ALTER DATABASE first RENAME TO renamed'), 0, 'ALTER DATABASE ... RENAME succeeds');
$node->safe_psql('postgres', 'ALTER DATABASE renamed RENAME TO first');
$node->reload;
is_soon($node, 'postgres', has_worker('first'), 'the worker comes back when the database has its name again');
is($node->psql('postgres', 'DROP DATABASE first'), 0, 'DROP DATABASE succeeds');

# All slots for workers are taken.
$node->append_conf('postgresql.conf', "max_worker_processes = 3\nyquota.databases = 'third, copy'");
$node->restart;
$node->wait_for_log(qr/no background worker slot is free.*?HINT: *You might need to increase max_worker_processes/s);
my ($served, $waiting) = worker_pid($node, 'third') ? ('third', 'copy') : ('copy', 'third');
is_soon($node, 'postgres', has_worker($served), 'exactly one database is served');
is(count_in_log($node, qr/no background worker slot is free/), 1, 'the lack of slots is reported once');
$node->safe_psql($served, 'SELECT yquota.stop_worker()');
ok($node->poll_query_until('postgres', 'SELECT ' . has_worker($waiting)), 'the other database is served when a slot is free');
is(count_in_log($node, qr/no background worker slot is free/), 1, 'the lack was not reported again');

$node->stop;
is(count_in_log($node, qr/PANIC|TRAP|terminated by signal/), 0, 'no server process crashed');
done_testing();
