# Statements are interrupted at random times: they are cancelled, time out, run out of memory, or their session is
# terminated. Each statement is charged as a whole or not at all. A session that still exists continues, and the
# statement succeeds when it is sent again.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use Control;
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Soak;
use Test::More;
use Time::HiRes qw(sleep time);
use WorkerNode;

# The time in which a cancelled statement of a million rows must end.
use constant REACTION_S => 1;

my $node = new_node('interrupted', 'fsync = off', 'max_connections = 30', "client_min_messages = 'error'");
my $columns = Control::EVENT_COLUMNS;
my %count = map { $_ => 0 } qw(million cancelled timed_out terminated out_of_memory finished);
my ($session, $pid);

sub open_session
{
	$session = $node->background_psql('books', on_error_stop => 0);
	# the time limit is for each query, not for all queries together
	$session->set_query_timer_restart();
	$pid = $session->query('SELECT pg_backend_pid()');
	# a failure to load the library for lack of memory would have another message
	$session->query("LOAD 'yquota'");
	return;
}

# Run SQL in a separate psql process, without waiting for it.
sub in_background
{
	my ($database, $sql) = @_;
	my %run = (out => '', error => '');

	$run{handle} = IPC::Run::start(
		[ 'psql', '-XAtq', '-d', $node->connstr($database), '-c', $sql ],
		'<', \undef, '>', \$run{out}, '2>', \$run{error});
	return \%run;
}

# query(SQL): run it in the session, and return the error, or '' when there is none.
sub query
{
	my ($sql) = @_;

	$session->query($sql);
	my $error = $session->{stderr};
	$session->{stderr} = '';
	$error =~ s/^background_psql.*$//mg;
	return $error;
}

# Return the contents of the books and the log as numbers.
sub numbers
{
	return $node->safe_psql('books', <<~'SQL');
		SELECT (SELECT count(*) FROM yquota.container_event), (SELECT count(*) FROM yquota.container), (SELECT count(*) FROM yquota.charge),
			   (SELECT count(*) FROM yquota.container_change), (SELECT sum(charged) + sum(accrued) FROM yquota.project_balance);
		SQL
}

# Ways to interrupt a statement. Each gets the statement and the seconds after which something
# happens to it, and returns the statement's error.

sub with_timeout
{
	my ($sql, $after) = @_;
	my $error = query(sprintf('SET statement_timeout = %d; %s', 1 + 1000 * $after, $sql));

	query('RESET statement_timeout');
	return $error;
}

sub with_signal
{
	my ($function, $sql, $after) = @_;
	my $signal = in_background('postgres', "DO 'BEGIN PERFORM pg_sleep($after); END'; SELECT $function($pid)");
	my $error = query($sql);

	$signal->{handle}->finish;
	return $error;
}

sub with_termination
{
	my ($sql, $after) = @_;
	my $run = in_background('books', "SET application_name = 'victim'; $sql");

	sleep($after);
	$node->safe_psql('postgres', "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE application_name = 'victim'");
	$run->{handle}->finish;
	return $run->{error};
}

# Limit by how many bytes the address space of the session's process may grow.
sub with_little_memory
{
	my ($sql, $bytes) = @_;
	my ($used_kb) = slurp_file("/proc/$pid/status") =~ /VmSize:\s+(\d+) kB/;
	my $limit = 1024 * $used_kb + int($bytes);

	query("SET work_mem = '1GB'");
	system_or_bail('prlimit', '--pid', $pid, "--as=$limit:");
	my $error = query($sql);
	system_or_bail('prlimit', '--pid', $pid, '--as=unlimited:');
	query('RESET work_mem');
	return $error;
}

my %ways = (
	cancelled => { run => sub { with_signal('pg_cancel_backend', @_) }, error => qr/canceling statement due to user request/ },
	timed_out => { run => \&with_timeout, error => qr/canceling statement due to statement timeout/ },
	terminated => { run => \&with_termination, error => qr/terminating connection|server closed the connection|connection to server was lost/ });

make_books($node, 'books', 'control');
open_session();

# Statements of some thousand events in random order are interrupted. This ends when a statement
# succeeds, or all ways have been tried twice. A session that is terminated may have committed
# already.
for (my $round = 0; soak_goes_on($round, 2, 12, 50); $round++)
{
	if ($round > 0 && $round % 8 == 0)
	{
		# otherwise the books would grow, and verify() would take longer and longer
		$session->quit;
		make_books($node, 'books', 'control');
		open_session();
	}
	my $events = make_script($node, 'books', "r$round", 1200);
	my $sql = "INSERT INTO yquota.container_event ($columns) SELECT $columns FROM script WHERE container_id LIKE 'r$round-%' ORDER BY number";
	my $before = numbers();
	my $started = time;
	my $undisturbed = query("BEGIN; $sql; ROLLBACK");
	my $longest = time - $started;
	my @turns = (sort keys %ways) x 2;

	is($undisturbed, '', "round $round: the events can be charged");
	push @turns, shift @turns foreach 1 .. $round % 3;
	while (my $way = shift @turns)
	{
		my $error = $ways{$way}{run}->($sql, rand(0.9 * $longest));
		my $after = numbers();

		if ($error eq '' || ($way eq 'terminated' && $after ne $before))
		{
			$count{finished}++;
			is((split /\|/, $after)[0], (split /\|/, $before)[0] + $events, "round $round: the statement was charged as a whole before it was $way");
			last;
		}
		like($error, $ways{$way}{error}, "round $round: $way");
		is($after, $before, "round $round: $way, nothing is charged");
		$count{$way}++;
	}
	is(query($sql), '', "round $round: the events are charged when they are sent again");
	is($session->query('SELECT pg_backend_pid()'), $pid, "round $round: the same session charges them");
	is_same_as_control($node, 'books', 'control', "r$round", "round $round");
}

use constant MANY => 40_000;
my $longest;

# many_rows(PREFIX, COUNT): return a statement of so many rows. Each container has a START and a FINISH, which are
# far from each other and in another order than the ids.
sub many_rows
{
	my ($prefix, $rows) = @_;
	my $half = $rows / 2;

	return <<~SQL;
		INSERT INTO yquota.container_event (event, container_id, occurred_at, project, username, queue, allocation)
		SELECT CASE WHEN n < $half THEN 'CONTAINER_START' ELSE 'CONTAINER_FINISH' END::yquota.container_event_type,
			   '$prefix-' || n % $half * 7919 % $half, timestamptz '2026-03-02 01:00+00' + n % 1000 * interval '1 s' + (n >= $half)::integer * interval '1 h',
			   CASE WHEN n < $half THEN 'p' || n % 4 END, CASE WHEN n < $half THEN 'u' || n % 20000 END, CASE WHEN n < $half THEN 'root.q' || n % 1000 END,
			   CASE WHEN n < $half THEN format('[memory-mb=%s,vcores=%s]', 1 + n % 500, 1 + n % 13) END::yquota.resource
		FROM generate_series(0::bigint, $rows - 1) AS n
		SQL
}

# The process may not take more memory. Its session continues, and what it has cached of prices and
# classes stays valid.
my $many = many_rows('memory', MANY);
SKIP:
{
	my $before = numbers();

	skip 'the memory of a process cannot be limited here: no prlimit or no /proc', 1
	  if !-r "/proc/$pid/status" || system("prlimit --pid $pid >/dev/null 2>&1");
	for (my $round = 0; soak_goes_on($round, 8, 40, 75); $round++)
	{
		# a new session must build its caches
		if ($round % 4 == 0)
		{
			$session->quit;
			open_session();
		}
		# in a new session the caches alone need more than the lowest of these limits
		my $error = with_little_memory("BEGIN; $many; ROLLBACK", rand(($round % 4 == 0 ? 1 : 48) * 1024 * 1024));

		query('ROLLBACK');
		next if $error eq '';
		$count{out_of_memory}++;
		like($error, qr/ERROR:  out of memory/, 'out of memory');
		is(numbers(), $before, 'out of memory: nothing is charged');
	}
	cmp_ok($count{out_of_memory}, '>', 0, 'memory ran out');
}
my $started = time;
is(query($many), '', 'a session that had run out of memory charges many rows');
$longest = (time - $started) / MANY * 1_000_000;
$node->safe_psql('control', $many);
is(Control::books($node, 'books'), Control::books($node, 'control'), 'many rows: the books are those of a control database');
is_proven($node, 'books', 'many rows');

# A million rows are sorted on disk. The interrupted statement ends soon, whatever it was doing.
my $million = many_rows('million', 1_000_000);
my $slowest = 0;
for (my $round = 0; soak_goes_on($round, 1, 8); $round++)
{
	my $before = numbers();
	my $run = in_background('books', "SET application_name = 'victim'; BEGIN; $million; ROLLBACK");

	sleep($longest * (0.2 + rand(0.6)));
	my $cancelled_at = time;
	$node->safe_psql('postgres', "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE application_name = 'victim'");
	$run->{handle}->finish;
	my $took = time - $cancelled_at;

	is(numbers(), $before, 'a million rows: nothing is charged');
	next if $run->{error} eq '';
	like($run->{error}, $ways{cancelled}{error}, 'a million rows: cancelled');
	cmp_ok($took, '<', REACTION_S, sprintf('a million rows, cancelled: over after %.2f s', $took));
	$count{million}++;
	$slowest = $took if $took > $slowest;
}

# Many late UPDATEs of one container, which are charged together. The interrupted statement also
# ends soon.
my $updates = sub {
	my ($shift) = @_;
	return <<~SQL;
		INSERT INTO yquota.container_event (event, container_id, occurred_at, allocation)
		SELECT 'CONTAINER_UPDATE', 'busy', timestamptz '2026-03-01 00:00+00' + n * interval '1 s' + interval '$shift',
			   format('[vcores=%s]', 1 + n % 5)::yquota.resource
		FROM generate_series(1, 64000) AS n
		SQL
};
$node->safe_psql('books', "INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES ('CONTAINER_START', 'busy', '2026-03-01 00:00+00', 'p0', '[vcores=1]')");
is(query($updates->('0')), '', 'many updates of a container arrive in order');
for (1 .. 3)
{
	my $before = numbers();
	my $after = 0.2 + rand(0.3);
	my $started_at = time;
	my $cancelled = with_timeout($updates->('0.5 s'), $after);
	my $took = time - $started_at - $after;

	last if $cancelled eq '';
	is(numbers(), $before, 'many late updates of a container: nothing is charged');
	like($cancelled, $ways{timed_out}{error}, 'many late updates of a container: timed out');
	cmp_ok($took, '<', REACTION_S, sprintf('many late updates of a container, timed out: over after %.2f s', $took));
}
is(query($updates->('0.5 s')), '', 'many late updates of a container are charged');

# A session that is idle in its transaction is terminated, which rolls back its container and
# releases its claim on the container
my $idle = $node->background_psql('books', on_error_stop => 0);
$idle->query("SET idle_in_transaction_session_timeout = '300ms'");
$idle->query("BEGIN; INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES ('CONTAINER_START', 'idle', '2026-03-02 10:00+00', 'p0', '[vcores=1]')");
my $waiting = in_background('books', "INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES ('CONTAINER_START', 'idle', '2026-03-02 11:00+00', 'p1', '[vcores=2]')");
$waiting->{handle}->finish;
is($waiting->{error}, '', 'a session that waited for an idle session past its timeout gets the container');
is($node->safe_psql('books', "SELECT project, started_at = '2026-03-02 11:00+00' FROM yquota.container WHERE container_id = 'idle'"), 'p1|t', 'the container belongs to the session that waited');
$idle->{run}->finish;

# A statement times out while it waits for one of its containers
$session->query("BEGIN; INSERT INTO yquota.container_event (event, container_id, occurred_at) VALUES ('CONTAINER_FINISH', 'idle', '2026-03-02 12:00+00')");
my $sql = "INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES ('CONTAINER_START', 'a-lock', '2026-03-02 10:00+00', 'p0', '[vcores=1]'), ('CONTAINER_FINISH', 'idle', '2026-03-02 12:00+00', NULL, NULL), ('CONTAINER_START', 'z-lock', '2026-03-02 10:00+00', 'p0', '[vcores=1]')";
my ($code, $out, $error) = $node->psql('books', "\\set VERBOSITY verbose\nSET lock_timeout = '100ms';\n$sql");
like($error, qr/55P03: canceling statement due to lock timeout/, 'a lock timeout');
is($node->safe_psql('books', "SELECT count(*) FROM yquota.container WHERE container_id LIKE '%-lock'"), '0', 'a lock timeout: nothing is charged');
$session->query('COMMIT');
$node->safe_psql('books', $sql);
is($node->safe_psql('books', "SELECT (SELECT count(*) FROM yquota.container WHERE container_id LIKE '%-lock'), (SELECT count(*) FROM yquota.charge WHERE container_id = 'idle')"),
	'2|1', 'the statement succeeds when the lock is released');
is_proven($node, 'books', 'in the end');

$session->quit;
$node->stop;
is(count_in_log($node, qr/PANIC|terminated by signal|TRAP/), 0, 'no server process crashed');
note(sprintf 'interrupted: %s; the slowest of a million rows ended after %.2f s', join(', ', map { "$count{$_} $_" } sort keys %count), $slowest);
done_testing();
