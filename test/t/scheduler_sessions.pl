# Some cycles do not end by COMMIT. Some are prepared, also across a crash, and finished by other sessions. Others are
# terminated, cancelled or timed out while they wait. Many cycles with COMMIT need no more memory than few.
#
# After each outcome every session must decide like a dry run of a new session, which reads all rows again. This
# includes sessions that keep the cluster, and the interrupted session.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use Client;
use PostgreSQL::Test::Utils;
use Test::More;
use WorkerNode;

my $database = 'postgres';
my $node = new_node('scheduler_sessions', 'max_prepared_transactions = 5', 'fsync = off');
my $cycle = 'SELECT decision, container_id, node FROM yquota.schedule(max_containers => 2';

$node->safe_psql($database, <<~'SQL');
	CREATE EXTENSION IF NOT EXISTS yquota;
	INSERT INTO yquota.project (name) VALUES ('p');
	BEGIN;
	INSERT INTO yquota.scheduler_setting (per_node_heartbeat_maximum_offswitch_assignments) VALUES (10);
	INSERT INTO yquota.queue (path, capacity, ordering_policy) VALUES ('root', NULL, NULL), ('root.a', '50', 'fair'), ('root.b', '50', NULL);
	COMMIT;
	INSERT INTO yquota.node (name, total) SELECT 'n' || n, '[memory-mb=65536,vcores=64]' FROM generate_series(1, 3) AS n;
	SELECT yquota.submit_application('application_1_000' || n, 'u' || n, '{}', CASE n % 2 WHEN 0 THEN 'a' ELSE 'b' END, project => 'p', unmanaged => true)
	FROM generate_series(1, 4) AS n;
	SELECT yquota.request_containers('application_1_000' || n, '[memory-mb=1024,vcores=1]', 60) FROM generate_series(1, 4) AS n;
	SQL

sub sql { return $node->safe_psql($database, $_[0]); }

my %session;

sub connect_sessions { $session{$_} = Client->new($node, $database) foreach qw(one two three); return; }

# Test that both cycles of every session decide like a new session. The second cycle uses the
# cluster that the session has kept.
sub are_right
{
	my ($name) = @_;
	my (@decided, @expected);

	foreach my $session (map { @session{qw(one two three)} } 1, 2)
	{
		push @expected, sql("$cycle, dry_run => true)");
		chomp(my $decided = $session->run("$cycle)"));
		push @decided, $decided;
	}
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is_deeply(\@decided, \@expected, "$name: every session decides as a dry run does");
	is(sql('SELECT * FROM yquota.verify()'), '', "$name: the books prove themselves");
	is(sql('SELECT container_id FROM yquota.container EXCEPT SELECT container_id FROM yquota.decision'), '', "$name: every running container has a decision");
	return;
}

# Return the SQLSTATE with which a statement fails.
sub failure
{
	my ($session, $statement) = @_;
	my $outcome;

	$session->send($statement);
	1 until $outcome = $session->read;
	return $outcome->{sqlstate} // 'none';
}

sub wait_until_waiting
{
	my ($count) = @_;

	$node->poll_query_until($database, "SELECT count(*) = $count FROM pg_stat_activity WHERE wait_event_type = 'Lock'") or die "nobody waits\n";
	return;
}

connect_sessions();
are_right('at first');

#
# Prepared
#

foreach my $end (qw(COMMIT ROLLBACK))
{
	foreach my $crashes (0, 1)
	{
		my $name = lc($end) . ' of a prepared cycle' . ($crashes ? ' after a crash' : '');
		my ($id) = $session{one}->run("BEGIN;\n$cycle);\nPREPARE TRANSACTION 'cycle'") =~ /allocated\|(\w+)/;

		if ($crashes)
		{
			$_->close foreach values %session;
			$node->stop('immediate');
			$node->start;
			connect_sessions();
		}
		is(failure($session{two}, "SET lock_timeout = '100ms';\n$cycle)"), '55P03', "$name: other cycles wait");
		is(failure($session{two}, "SELECT yquota.request_containers('application_1_0001', '[memory-mb=1024,vcores=1]', 1, priority => 7)"), '55P03', "$name: requests wait");
		is(failure($session{two}, "SELECT yquota.acknowledge_decisions('{0}')"), 'none', "$name: acknowledgements do not wait");
		is(failure($session{two}, "INSERT INTO yquota.container_event (event, container_id) SELECT 'CONTAINER_FINISH', min(container_id) FROM yquota.container"), 'none', "$name: events do not wait");
		$session{two}->run('RESET lock_timeout');
		# some sessions learn of the outcome by the rows that they find, and others had read the
		# rows before
		$session{$crashes ? 'one' : 'three'}->run("$end PREPARED 'cycle'");
		are_right($name);
		is(sql("SELECT count(*) FROM yquota.container_event WHERE container_id = '$id' AND event = 'CONTAINER_START'"), 1, "$name: the first container has started once, now or later");
	}
}

#
# Interrupted
#

# An allocation cycle in session one waits in its INSERT for a transaction that uses the name of the next container.
# An allocation cycle in session two waits for session one.
sub begin_waiting
{
	my ($settings) = @_;
	my ($next) = sql("$cycle, dry_run => true)") =~ /^allocated\|(\w+)/;

	$session{three}->run("BEGIN;\nINSERT INTO yquota.container_event (event, container_id, project, allocation) VALUES ('CONTAINER_START', '$next', 'p', '[]')");
	$session{one}->send("$settings$cycle)");
	wait_until_waiting(1);
	$session{two}->send("$cycle)");
	wait_until_waiting(2);
	return;
}

# Test the outcome of session one. Session two continues after it has ended, and session three gives up the
# name.
sub ends_with
{
	my ($name, $sqlstate, $interrupt) = @_;
	my ($one, $two);

	$interrupt->();
	1 until $one = $session{one}->read;
	is($one->{sqlstate}, $sqlstate, "$name: the cycle that waits in its INSERT is ended");
	$session{three}->run('ROLLBACK');
	1 until $two = $session{two}->read;
	is($two->{sqlstate}, undef, "$name: the cycle that waits for the first one goes on");
	if ($one->{lost})
	{
		$session{one}->close;
		$session{one} = Client->new($node, $database);
	}
	$session{one}->run('RESET lock_timeout; RESET statement_timeout');
	are_right($name);
	return;
}

sub backend_of_one { return "(SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock' ORDER BY query_start LIMIT 1)"; }

begin_waiting('');
ends_with('terminated', '57P01', sub { sql('SELECT pg_terminate_backend(' . backend_of_one() . ')'); });
begin_waiting('');
ends_with('cancelled', '57014', sub { sql('SELECT pg_cancel_backend(' . backend_of_one() . ')'); });
begin_waiting("SET statement_timeout = '1s';\n");
ends_with('timed out', '57014', sub { });
begin_waiting("SET lock_timeout = '1s';\n");
ends_with('timed out, waiting', '55P03', sub { });

# A session is idle after its decisions
$session{one}->run("BEGIN;\n$cycle)");
$session{two}->send("$cycle)");
wait_until_waiting(1);
sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE state = 'idle in transaction'");
my $outcome;
1 until $outcome = $session{two}->read;
is($outcome->{sqlstate}, undef, 'a session that waits for an idle session goes on when the idle session is terminated');
$session{one}->close;
$session{one} = Client->new($node, $database);
are_right('terminated, idle');

#
# Many
#

# Request containers, serve them by a cycle in session one, and end as many containers.
sub pass_by
{
	foreach (1 .. $_[0])
	{
		$session{two}->run("SELECT yquota.request_containers('application_1_000' || n, '[memory-mb=1024,vcores=1]', 1, priority => 7) FROM generate_series(1, 2) AS n");
		$session{one}->run("$cycle)");
		$session{two}->run("INSERT INTO yquota.container_event (event, container_id) SELECT 'CONTAINER_FINISH', container_id FROM yquota.container ORDER BY container_id LIMIT 2");
	}
	chomp(my $used = $session{one}->run(q(SELECT used_bytes FROM pg_backend_memory_contexts WHERE name = 'yquota cluster')));
	return $used;
}

# an open transaction is listed in every snapshot
$session{three}->run("BEGIN;\nINSERT INTO yquota.project (name) VALUES ('lingering')");
my $used_by_few = pass_by(30);
my $used_by_many = pass_by(150);
$session{three}->run('ROLLBACK');
ok($used_by_many < 1.05 * $used_by_few, 'the kept notes about the cluster do not grow with cycles') or diag("$used_by_few bytes after 30, $used_by_many after 180");
are_right('after many cycles');

$_->close foreach values %session;
$node->stop;
is(count_in_log($node, qr/PANIC|terminated by signal|TRAP/), 0, 'no server process crashed');
done_testing();
