# Prepared transactions: their charges count only after their commit. The commit may come after a
# crash, from any session, and beside a worker.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use Control;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Soak;
use Test::More;
use WorkerNode;

use constant PARTS => 5;

my $node = new_node('two_phase', "shared_preload_libraries = 'yquota'", "yquota.databases = 'books'", 'max_prepared_transactions = 20', 'fsync = off');
my $columns = Control::EVENT_COLUMNS;
my %count = map { $_ => 0 } qw(prepared committed rolled_back crashes);

sub sql
{
	my ($sql) = @_;

	return $node->safe_psql('books', $sql);
}

# failure(SQL): return the error with its SQLSTATE
sub failure
{
	my ($sql) = @_;
	my ($code, $out, $error) = $node->psql('books', "\\set VERBOSITY verbose\n$sql");

	return $error;
}

sub balance { return sql('SELECT project, charged, accrued FROM yquota.project_balance ORDER BY 1'); }

sub prepared { return sql('SELECT count(*) FROM pg_prepared_xacts'); }

sub crash
{
	$node->stop('immediate');
	$node->start;
	$count{crashes}++;
	return;
}

# Prepare a transaction of three statements, of which one is rolled back
sub prepare
{
	my ($name, $condition) = @_;
	my $insert = "INSERT INTO yquota.container_event ($columns) SELECT $columns FROM script WHERE $condition";

	sql(<<~SQL);
		SET yquota.on_bad_event = 'set_aside';
		BEGIN;
		$insert AND number % 2 = 0;
		SAVEPOINT a;
		$insert AND number % 3 = 0;
		ROLLBACK TO a;
		$insert AND number % 2 = 1;
		PREPARE TRANSACTION '$name';
		SQL
	$count{prepared}++;
	return;
}

sub finish
{
	my ($name, $commits) = @_;

	sql(($commits ? 'COMMIT' : 'ROLLBACK') . " PREPARED '$name'");
	$count{ $commits ? 'committed' : 'rolled_back' }++;
	return;
}

sub start_sql
{
	my ($id, $project) = @_;

	return "INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES ('CONTAINER_START', '$id', '2026-03-02 10:00+00', '$project', '[vcores=1]')";
}

sub finish_sql
{
	my ($id) = @_;

	return "INSERT INTO yquota.container_event (event, container_id, occurred_at) VALUES ('CONTAINER_FINISH', '$id', '2026-03-02 11:00+00')";
}

make_books($node, 'books', 'control');
is_soon($node, 'books', "(SELECT state = 'running' FROM yquota.worker_status WHERE database = 'books')", 'a worker runs');

# A prepared transaction is committed after a crash
make_script($node, 'books', 'a', 60);
my $before = balance();
prepare('a', "container_id LIKE 'a-%'");
is(balance(), $before, 'prepared: the balance is as before');
is_proven($node, 'books', 'prepared');
crash();
is(prepared(), '1', 'the prepared transaction is there after a crash');
is(balance(), $before, 'prepared, after a crash: the balance is as before');
is_soon($node, 'books', "(SELECT state = 'running' FROM yquota.worker_status WHERE database = 'books')", 'prepared, after a crash: the worker is at work');
like(failure("SET lock_timeout = '100ms'; INSERT INTO yquota.container_event ($columns) SELECT $columns FROM script WHERE container_id = 'a-5' AND event = 'CONTAINER_START'"),
	qr/55P03:/, 'a session that sends an event of a prepared container waits');
is(failure(start_sql('free', 'p0')), '', 'a session that sends another event does not wait');
isnt(sql('SELECT yquota.quota_compute()'), '', 'compaction does not wait');
is_proven($node, 'books', 'prepared, compacted');
finish('a', 1);
sql(finish_sql('free') . ';' . 'SELECT yquota.quota_compute()');
$node->safe_psql('control', start_sql('free', 'p0') . ';' . finish_sql('free'));
sql("SELECT * FROM yquota.retry_rejects()");
is_same_as_control($node, 'books', 'control', 'a', 'committed by another session');

# A session caches projects while the outcome of another transaction is open
my $session = $node->background_psql('books', on_error_stop => 0);
$session->query("BEGIN; INSERT INTO yquota.project (name) VALUES ('ghost'); " . start_sql('g1', 'ghost') . "; PREPARE TRANSACTION 'ghost'");
$session->query(start_sql('g2', 'ghost'));
is($session->query("SELECT count(*) FROM yquota.container WHERE container_id = 'g2'"), '0', 'a prepared project does not exist for the session that prepared it');
finish('ghost', 0);
$session->query(start_sql('g2', 'ghost'));
is($session->query("SELECT count(*) FROM yquota.container WHERE project = 'ghost'"), '0', 'a prepared project does not exist after its rollback');
$session->query("BEGIN; INSERT INTO yquota.project (name) VALUES ('late'); " . start_sql('l1', 'late') . "; PREPARE TRANSACTION 'late'");
crash();
finish('late', 1);
is(failure(start_sql('l2', 'late')), '', 'a prepared project exists after its commit');
is(sql("SELECT string_agg(container_id, ' ' ORDER BY container_id) FROM yquota.container WHERE project = 'late'"), 'l1 l2', 'all containers of the project are there');

# After its commit, every session knows of a waiting event
$session = $node->background_psql('books', on_error_stop => 0);
$session->query(start_sql('w0', 'p0'));
sql("SET yquota.on_bad_event = 'set_aside'; BEGIN; " . finish_sql('w1') . "; PREPARE TRANSACTION 'waits'");
$session->query(start_sql('w2', 'p0'));
finish('waits', 1);
$session->query(start_sql('w1', 'p0'));
is(sql("SELECT count(*) FROM yquota.charge WHERE container_id = 'w1'"), '1', 'a FINISH that waited is applied by the START, which is committed in two steps');

# A price change: compaction waits for it, and charges made in the meantime are corrected
sql("BEGIN; SELECT yquota.set_multiplier('GENERAL', 9, yquota.clock() + '1 min'); PREPARE TRANSACTION 'price'");
crash();
$session = $node->background_psql('books', on_error_stop => 0);
my $at = sql("SELECT yquota.clock() + '2 min'");
$session->query("SELECT yquota.set_clock('$at')");
$session->query("INSERT INTO yquota.container_event (event, container_id, occurred_at) VALUES ('CONTAINER_FINISH', 'l1', '$at')");
my $charged = $session->query("SELECT amount FROM yquota.charge WHERE container_id = 'l1'");
is(sql('SELECT yquota_internal.compact_counters()'), '0', 'while a price is prepared, nothing is compacted');
finish('price', 1);
sql('SELECT yquota.quota_compute()');
cmp_ok($session->query("SELECT sum(amount) FROM yquota.charge WHERE container_id = 'l1'"), '>', $charged, 'a charge at the old price is corrected');
is($session->query("SELECT sum(amount) = yquota_internal.accrued('[vcores=1]', NULL, '2026-03-02 10:00+00', '$at') FROM yquota.charge WHERE container_id = 'l1'"), 't', 'the corrected charge is exact');
$session->quit;
is_proven($node, 'books', 'after a prepared price');
$node->safe_psql('control', "SELECT yquota.set_multiplier('GENERAL', 9, yquota.clock() + '1 min'); SELECT yquota.set_clock('$at')");

like(failure("BEGIN; SELECT yquota.start_worker(); PREPARE TRANSACTION 'worker'"), qr/0A000: cannot PREPARE a transaction that starts a yquota worker/, 'a transaction that starts a worker cannot be prepared');

# Several prepared transactions at once, some of which are rolled back and sent again
for (my $round = 0; soak_goes_on($round, 2, 15); $round++)
{
	my $prefix = "r$round";
	my %open = map { ("$prefix-$_" => "container_id LIKE '$prefix-%' AND hashtext(container_id) & 1023 BETWEEN " . int(1024 * $_ / PARTS) . ' AND ' . (int(1024 * ($_ + 1) / PARTS) - 1)) } 0 .. PARTS - 1;
	my %again = %open;

	make_script($node, 'books', $prefix, 80);
	prepare($_, $open{$_}) foreach sort keys %open;
	while (%open)
	{
		my $name = (sort keys %open)[ rand keys %open ];
		# at least one transaction is rolled back
		my $commits = keys %open < PARTS && rand() < 0.6;

		crash() if rand() < 0.2;
		finish($name, $commits);
		delete $open{$name};
		delete $again{$name} if $commits;
		is_proven($node, 'books', "round $round: $name " . ($commits ? 'committed' : 'rolled back'));
		sql('SELECT yquota.quota_compute()') if rand() < 0.5;
	}
	deliver($node, 'books', $again{$_}) foreach sort keys %again;
	sql("SELECT * FROM yquota.retry_rejects()");
	sql("SELECT yquota.quota_compute()");
	$node->safe_psql('control', "COPY yquota.container_event ($columns) FROM STDIN;\n"
		  . sql("COPY (SELECT $columns FROM script WHERE container_id LIKE '$prefix-%' ORDER BY number) TO STDOUT") . "\n\\.\n");
	is(sql("SELECT count(*), sum(cost) FROM yquota.container_cost WHERE container_id LIKE '$prefix-%'"),
		$node->safe_psql('control', "SELECT count(*), sum(cost) FROM yquota.container_cost WHERE container_id LIKE '$prefix-%'"),
		"round $round: the books are those of a control database");
}

is(prepared(), '0', 'no prepared transaction is left');
$node->stop;
note('two phases: ' . join ', ', map { "$count{$_} $_" } sort keys %count);
done_testing();
