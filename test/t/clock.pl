# The clock is set in one session and seen in all. The worker runs through months.

use strict;
use warnings;

use PostgreSQL::Test::Utils;
use Test::More;
use WorkerNode;

my $node = new_node('clock', "shared_preload_libraries = 'yquota'", "yquota.databases = 'months'");

$node->safe_psql('postgres', 'CREATE EXTENSION IF NOT EXISTS yquota');
is( $node->safe_psql('postgres',
		'SELECT abs(extract(epoch FROM yquota.clock() - clock_timestamp())) < 1, yquota.statement_clock() = statement_timestamp()'),
	't|t', 'it is the system\'s clock until it is set');

# Another session that has already read the clock notices the change.
my $other = $node->background_psql('postgres');
$other->query_safe('SELECT yquota.clock()');
$node->safe_psql('postgres', "SELECT yquota.set_clock('2030-01-01 00:00 UTC')");
like($other->query_safe("SELECT yquota.clock() = '2030-01-01 00:00 UTC'"),
	qr/t/, 'another session sees the new clock');

# A clock that is set in an open transaction, or rolled back, is seen only in its own session.
$other->query_safe("BEGIN; SELECT yquota.set_clock('2031-01-01 00:00 UTC')");
like($other->query_safe("SELECT yquota.clock() = '2031-01-01 00:00 UTC'"),
	qr/t/, 'the session itself sees the clock before it commits');
is($node->safe_psql('postgres', "SELECT yquota.clock() = '2030-01-01 00:00 UTC'"),
	't', 'other sessions do not see it');
$other->query_safe("SAVEPOINT s; SELECT yquota.set_clock('2032-01-01 00:00 UTC'); SELECT yquota.clock(); ROLLBACK TO s");
like($other->query_safe("SELECT yquota.clock() = '2031-01-01 00:00 UTC'"),
	qr/t/, 'a rolled back savepoint takes its setting with it');
$other->query_safe('ROLLBACK');
like($other->query_safe("SELECT yquota.clock() = '2030-01-01 00:00 UTC'"),
	qr/t/, 'a rolled back transaction takes its setting with it');

is( $node->safe_psql('postgres', <<~SQL),
	SET default_transaction_isolation = 'repeatable read';
	SELECT yquota.clock() = yquota.statement_clock()
	SQL
	't', 'yquota.clock() equals yquota.statement_clock() while the clock stands');
my $force = $node->pg_version < 16 ? 'force_parallel_mode' : 'debug_parallel_query';
is( $node->safe_psql('postgres', <<~SQL),
	SET $force = on;
	SET parallel_setup_cost = 0;
	SET parallel_tuple_cost = 0;
	SET min_parallel_table_scan_size = 0;
	SELECT DISTINCT yquota.statement_clock() = '2030-01-01 00:00 UTC' AND yquota.clock() = '2030-01-01 00:00 UTC' FROM pg_class
	SQL
	't', 'parallel workers see the clock');
$node->safe_psql('postgres', 'SELECT yquota.reset_clock()');
like($other->query_safe("SELECT yquota.clock() < '2030-01-01 00:00 UTC'"),
	qr/t/, 'it goes back to the system\'s');
$other->quit;

my ($status, $out, $error) = $node->psql('postgres', "SELECT yquota.set_clock('infinity')");
like($error, qr/cannot be set to infinity/, 'the clock cannot be set to infinity');
($status, $out, $error) = $node->psql('postgres', "SELECT yquota.set_clock('2100-01-01 00:00 UTC')");
like($error, qr/cannot be set to 2100-01-01.*roll-ups can add up/s, 'the clock cannot be set beyond the limit of roll-ups');
($status, $out, $error) = $node->psql('postgres', 'SELECT yquota.set_clock(NULL)');
like($error, qr/cannot be set to null/, 'the clock cannot be set to null');
$node->safe_psql('postgres', 'CREATE ROLE member LOGIN');
for my $call ("set_clock('2030-01-01')", 'reset_clock()')
{
	($status, $out, $error) = $node->psql('postgres', "SELECT yquota.$call",
		connstr => $node->connstr('postgres') . ' user=member');
	like($error, qr/permission denied for function/, "a member may not call $call");
}
is( $node->safe_psql('postgres', 'SELECT yquota.clock() IS NOT NULL AND yquota.statement_clock() IS NOT NULL',
		connstr => $node->connstr('postgres') . ' user=member'),
	't', 'every role may read the clock');

# Half a year, one day at a time: each day is charged once, however many compute intervals it has.
$node->safe_psql('postgres', 'CREATE DATABASE months TEMPLATE template0');
start_at($node, 'months', '2030-01-01 00:00 UTC');
is_soon($node, 'months', mark() . " = '2030-01-01 00:00 UTC'", 'the first day is computed');
live_through($node, 'months', 180, '1 day');
is( $node->safe_psql('months',
		"SELECT count(*), min(occurred_at), max(occurred_at), count(DISTINCT occurred_at) FROM yquota.container_event WHERE event = 'QUOTA_COMPUTE' AND source = 'yquota worker'"),
	$node->safe_psql('months', "SELECT 181, '2030-01-01 00:00 UTC'::timestamptz, '2030-06-30 00:00 UTC'::timestamptz, 181"),
	'each of 180 days has a QUOTA_COMPUTE');
is_soon($node, 'months',
	"(SELECT last_price_at = '2030-06-30 00:00 UTC' AND last_compute_at = last_price_at AND last_compact_at = last_price_at AND failures = 0 FROM yquota.worker_status WHERE database = 'months')",
	'prices, the mark and the counters are at the last day');

# When the clock goes back, the worker continues, and does not wait for the clock to reach the old time again.
set_clock($node, 'months', '2030-03-01 00:00 UTC');
is_soon($node, 'months', "(SELECT last_compute_at = '2030-03-01 00:00 UTC' FROM yquota.worker_status WHERE database = 'months')",
	'the worker goes on after the clock went back');
is($node->safe_psql('months', 'SELECT ' . mark() . " = '2030-06-30 00:00 UTC'"),
	't', 'the mark does not go back');

$node->stop;
done_testing();
