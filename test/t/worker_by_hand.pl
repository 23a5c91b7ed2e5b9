# A worker without preloading, its errors, and what wakes it.

use strict;
use warnings;

use JSON::PP;
use Test::More;
use WorkerNode;

my $node = new_node('by_hand');
my $running = "EXISTS (SELECT FROM pg_stat_activity WHERE backend_type = 'yquota worker' AND datname = 'work')";

# A condition on worker_status
sub status
{
	my ($condition) = @_;

	return "(SELECT $condition FROM yquota.worker_status WHERE database = 'work')";
}

# The notifications for project web
sub figures
{
	my ($threshold, $hard, $spent, $remaining) = @_;

	return { project => 'web', measure => 'fraction', threshold => $threshold, granted => 7200, spent => $spent, remaining => $remaining, hard => $hard ? JSON::PP::true : JSON::PP::false };
}

$node->safe_psql('postgres', 'CREATE DATABASE work');
start_at($node, 'work', '2030-01-01 00:00 UTC');
is($node->safe_psql('work', 'SELECT ' . status("state || ' ' || failures")),
	'stopped 0', 'there is no worker at first');

# Starting
$node->safe_psql('work', 'BEGIN; SELECT yquota.start_worker(); ROLLBACK');
my ($code, $out, $error) = $node->psql('work', "BEGIN;\nSELECT yquota.start_worker();\nPREPARE TRANSACTION 'x';");
like($error, qr/cannot PREPARE a transaction that starts a yquota worker/, 'a prepared transaction cannot start a worker');
is(count_in_log($node, qr/yquota worker of database "work" started/), 0, 'a transaction that is rolled back does not start a worker');
$node->safe_psql('work', 'SELECT yquota.start_worker()');
is_soon($node, 'work', status("state = 'running'"), 'start_worker() starts a worker');
is_soon($node, 'work', mark() . " = '2030-01-01 00:00 UTC'", 'the worker advances the mark');
my $pid = worker_pid($node, 'work');
$node->safe_psql('work', 'SELECT yquota.start_worker()');
ok($node->poll_query_until('work', "SELECT count(*) = 1 FROM pg_stat_activity WHERE backend_type = 'yquota worker'"), 'a second worker leaves');
is(worker_pid($node, 'work'), $pid, 'the first worker stays');
$node->safe_psql('work', 'CREATE ROLE reader; GRANT SELECT ON yquota.worker_status TO reader');
is($node->safe_psql('work', 'SET ROLE reader; SELECT ' . status("state || ' ' || pid")),
	"running $pid", 'a role that may read worker_status sees the worker');
$node->safe_psql('work', <<~'SQL');
	CREATE ROLE boss;
	GRANT USAGE ON SCHEMA yquota_internal TO boss;
	GRANT EXECUTE ON FUNCTION yquota_internal.is_worker(integer) TO boss;
	ALTER FUNCTION yquota_internal.worker_processes() OWNER TO boss;
	SQL
is($node->safe_psql('work', 'SET ROLE reader; SELECT ' . status("state || ' ' || pid")),
	"running $pid", 'the role sees the worker where the owner of yquota is no superuser, too');
$node->safe_psql('work', 'ALTER FUNCTION yquota_internal.worker_processes() OWNER TO CURRENT_USER');

# The worker uses changed settings at once.
$node->append_conf('postgresql.conf', "yquota.compute_interval = '1d'");
$node->reload;
live_through($node, 'work', 1, '1 day');
set_clock($node, 'work', '2030-01-02 01:00 UTC');
is_soon($node, 'work', status("last_price_at = '2030-01-02 01:00 UTC'"), 'prices are computed after an hour');
is($node->safe_psql('work', 'SELECT ' . mark() . " = '2030-01-02 00:00 UTC'"),
	't', 'the mark is not due before a day has passed');
$node->append_conf('postgresql.conf', "yquota.compute_interval = '30min'");
$node->reload;
is_soon($node, 'work', mark() . " = '2030-01-02 01:00 UTC'", 'with a shorter interval the mark is due at once');

# An error is recorded, delays nothing else, and the worker recovers from it.
$node->safe_psql('work', q(ALTER TABLE yquota.container_event ADD CONSTRAINT refused CHECK (source <> 'yquota worker') NOT VALID));
set_clock($node, 'work', '2030-01-03 00:00 UTC');
is_soon($node, 'work', status(q(failures > 0 AND last_error LIKE 'compute: %refused%' AND last_error_at = '2030-01-03 00:00 UTC')),
	'an error is recorded');
is_soon($node, 'work', status("last_price_at = '2030-01-03 00:00 UTC' AND last_compact_at = last_price_at AND last_compute_at < last_price_at"),
	'the other tasks are done');
is_soon($node, 'work', status('failures > 1'), 'the failed task is tried again automatically');
cmp_ok(count_in_log($node, qr/violates check constraint "refused".*?yquota worker of database "work", task "compute"/s),
	'>', 1, 'each attempt is logged with its context');
$node->safe_psql('work', 'ALTER TABLE yquota.container_event DROP CONSTRAINT refused');
$node->reload;
is_soon($node, 'work', mark() . " = '2030-01-03 00:00 UTC'", 'after a reload the worker tries again at once');
is_soon($node, 'work', status('failures = 0 AND last_error IS NOT NULL'), 'success resets the count of failures, and the last error is kept');
is(worker_pid($node, 'work'), $pid, 'the same process has done all this');

# When open transactions hold locks, tasks are postponed, which is not a failure.
my $administrator = $node->background_psql('work');
$administrator->query_safe('BEGIN; LOCK TABLE yquota.price_group, yquota.pricing_change IN ACCESS EXCLUSIVE MODE');
set_clock($node, 'work', '2030-01-04 00:00 UTC');
is_soon($node, 'work', status(q('price' = ANY (postponed) AND failures = 0 AND last_price_at < '2030-01-04 00:00 UTC')),
	'prices are postponed while another session holds their lock');
is($node->safe_psql('work', q(SELECT count(*) FROM yquota.alert WHERE kind = 'worker_postponed' AND subject = 'price' AND cleared_at IS NULL)),
	'1', 'an alert is raised');
is_soon($node, 'work', mark() . " = '2030-01-04 00:00 UTC'", 'the mark is not postponed');
$administrator->query_safe('COMMIT');
$administrator->quit;
is_soon($node, 'work', status(q(postponed = '{}' AND last_price_at = '2030-01-04 00:00 UTC')), 'prices are computed when the lock is free');
is($node->safe_psql('work', q(SELECT count(*) FROM yquota.alert WHERE kind = 'worker_postponed' AND cleared_at IS NULL)),
	'0', 'the alert is over');

# Budgets are granted a day ahead, and expired grants are recorded.
$node->safe_psql('work', <<~'SQL');
	INSERT INTO yquota.project (name) VALUES ('lab');
	INSERT INTO yquota.quota_grant (project, amount, reason, expires_at) VALUES ('lab', 5, 'a day', '2030-01-05 00:00 UTC');
	INSERT INTO yquota.budget (project, period, amount) VALUES ('lab', 'day', 3);
	SQL
set_clock($node, 'work', '2030-01-06 00:00 UTC');
is_soon($node, 'work', <<~'SQL', 'grants expire and alerts are raised');
	(SELECT count(*) = 4 FROM yquota.quota_grant WHERE kind = 'budget')
	AND (SELECT count(*) = 3 AND sum(lost) = 2 * 3 + 5 FROM yquota.expired_grant)
	AND (SELECT remaining = 3 FROM yquota.project_balance WHERE project = 'lab')
	SQL

# Listeners are notified once of each threshold that spending crosses, and of nothing else.
my $listener = $node->background_psql('work');
my $heard = '';
$listener->query_safe('LISTEN yquota');
$node->safe_psql('work', <<~'SQL');
	INSERT INTO yquota.project (name, on_exhausted) VALUES ('web', 'stop');
	INSERT INTO yquota.quota_grant (project, amount, reason) VALUES ('web', 7200, 'two hours');
	INSERT INTO yquota.container_event (event, container_id, project, application_id, allocation)
	VALUES ('CONTAINER_START', 'web1', 'web', 'web_app', '[vcores=1]');
	SELECT yquota.hold('web', 'other', 600, '1 day');
	SQL
foreach my $expected ([ '01:00', 0.5 ], [ '03:00', 0.5, 0.8, 1 ])
{
	my ($time, @thresholds) = @$expected;
	my $open = scalar @thresholds;

	set_clock($node, 'work', "2030-01-06 $time UTC");
	is_soon($node, 'work', "(SELECT count(*) = $open FROM yquota.alert WHERE kind = 'spending_threshold' AND cleared_at IS NULL)",
		"at $time there are alerts of thresholds");
	for (my $tries = 0; $tries < 400 && (() = $heard =~ /received/g) < $open; $tries++)
	{
		$heard .= $listener->query_safe('SELECT pg_sleep(0.05)');
	}
}
$node->safe_psql('work', "INSERT INTO yquota.container_event (event, container_id) VALUES ('CONTAINER_FINISH', 'web1')");
live_through($node, 'work', 1, '1 hour');
$heard .= $listener->query_safe('SELECT 1');
is(() = $heard =~ /notification "yquota"/g, 3, 'each alert is notified once');
is_deeply([ $heard =~ /payload "(\{.*\})" received/g ],
	[ split /\n/, $node->safe_psql('work', q(SELECT jsonb_build_object('kind', kind, 'alert_id', alert_id) FROM yquota.alert WHERE kind = 'spending_threshold' ORDER BY alert_id)) ],
	'a notification has only the number of the alert, because every role may listen');
$node->safe_psql('work', q(CREATE ROLE webmaster; CREATE ROLE librarian; SELECT yquota.allow_role('webmaster', 'member', 'web'), yquota.allow_role('librarian', 'member', 'lab')));
is_deeply([ map { decode_json($_) } split /\n/, $node->safe_psql('work', 'SET ROLE webmaster; SELECT figures FROM yquota.readable_alert ORDER BY alert_id') ],
	[ figures(0.5, 0, 3600, 3000), figures(0.8, 0, 10800, -4200), figures(1, 1, 10800, -4200) ], 'members read the figures of alerts');
is($node->safe_psql('work', 'SET ROLE librarian; SELECT count(*) FROM yquota.readable_alert'), 0, 'members do not read the other columns');
$listener->quit;

# Settings of the database do not change the worker's behaviour.
$node->safe_psql('postgres', "ALTER DATABASE work SET $_")
  for "default_transaction_read_only = on", "search_path = nowhere", "session_replication_role = replica", "default_transaction_isolation = serializable";
$node->safe_psql('postgres', "SELECT pg_terminate_backend($pid, 20000)");
$node->safe_psql('work', 'SET default_transaction_read_only = off; SELECT yquota.start_worker()');
is_soon($node, 'work', status("state = 'running' AND pid <> $pid"), 'a new worker runs under hostile settings');
$node->safe_psql('postgres', 'ALTER DATABASE work RESET ALL');
live_through($node, 'work', 1, '1 day');
is($node->safe_psql('work', 'SELECT ' . status('failures')), '0', 'the worker has no errors');

# The worker is stopped, and started again before it has left
$node->safe_psql('work', 'SELECT yquota.stop_worker(); SELECT yquota.start_worker()');
is_soon($node, 'work', status("state = 'running'"), 'after stop_worker() and start_worker() a worker runs');
live_through($node, 'work', 1, '1 day');
$node->safe_psql('work', 'SELECT yquota.stop_worker()');
is_soon($node, 'work', status("state = 'stopped'"), 'stop_worker() stops the worker');

# A DROP EXTENSION that is rolled back changes nothing. While it is open the worker waits for it, but not forever.
# When it commits, the worker leaves.
my $waits = "EXISTS (SELECT FROM pg_stat_activity WHERE backend_type = 'yquota worker' AND wait_event_type = 'Lock')";
$administrator = $node->background_psql('work');
$node->safe_psql('work', 'SELECT yquota.start_worker()');
is_soon($node, 'work', status("state = 'running'"), 'the worker is started again');
$administrator->query_safe('BEGIN; DROP EXTENSION yquota');
$node->reload;
is_soon($node, 'postgres', $waits, 'the worker waits for an open DROP EXTENSION');
$administrator->query_safe('ROLLBACK');
live_through($node, 'work', 1, '1 day');
is($node->safe_psql('work', 'SELECT ' . status('failures')), '0', 'the worker goes on when DROP EXTENSION is rolled back');
$administrator->query_safe('BEGIN; DROP EXTENSION yquota');
$node->reload;
is_soon($node, 'postgres', $waits, 'the worker waits for DROP EXTENSION again');
$pid = worker_pid($node, 'work');
is($node->safe_psql('postgres', "SELECT pg_terminate_backend($pid, 20000)"), 't', 'a waiting worker ends when it is terminated');
$administrator->query_safe('ROLLBACK');
$node->safe_psql('work', 'SELECT yquota.start_worker()');
is_soon($node, 'work', status("state = 'running'"), 'another worker starts');
$administrator->query_safe('BEGIN; DROP EXTENSION yquota');
$node->reload;
is_soon($node, 'postgres', $waits, 'the next worker waits, too');
$administrator->query_safe('COMMIT');
$administrator->quit;
is_soon($node, 'postgres', "NOT $running", 'the worker leaves when the extension is dropped');
start_at($node, 'work', '2030-01-01 00:00 UTC');
$node->safe_psql('work', 'SELECT yquota.start_worker()');
is_soon($node, 'work', status("state = 'running'"), 'the worker starts with the next extension');
$node->safe_psql('work', 'DROP EXTENSION yquota');
is_soon($node, 'postgres', "NOT $running", 'a sleeping worker leaves when the extension is dropped');
is(count_in_log($node, qr/ERROR: .*does not exist/), 0, 'the worker has no errors');

# DROP DATABASE ... WITH (FORCE) works while a worker runs.
start_at($node, 'work', '2030-01-01 00:00 UTC');
$node->safe_psql('work', 'SELECT yquota.start_worker()');
is_soon($node, 'work', status("state = 'running'"), 'a worker runs');
is($node->psql('postgres', 'DROP DATABASE work WITH (FORCE)'), 0, 'DROP DATABASE ... WITH (FORCE) ends it');
is($node->safe_psql('postgres', "SELECT $running"), 'f', 'the worker does not come back');

$node->stop;
done_testing();
