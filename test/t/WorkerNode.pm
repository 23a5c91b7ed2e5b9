# Servers for the tests of clock and worker.
#
# The tests set the clock by hand, and it stands still in between. So a test can wait for what the
# worker does, and count it. No test sleeps for a fixed time and hopes.

package WorkerNode;

use strict;
use warnings;

use Exporter 'import';
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time sleep);

our @EXPORT = qw(new_node set_clock start_at mark is_soon worker_pid server_pids wait_until_gone
	make_synchronous new_synchronous_standby promote_alone count_in_log live_through wait_until_up);

# A worker sleeps for at most a minute, so an earlier reaction comes from a signal.
use constant AT_ONCE_S => 40;

# new_node(NAME, CONFIGURATION...): start a server with the given lines in its configuration. A server with
# replication gets few shared buffers from init(), fewer than the catalog that one session reads. It also gets locks
# for ten connections, which are too few for DROP EXTENSION beside a worker.
sub new_node
{
	my ($name, @configuration) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);

	$node->init(allows_streaming => 1);
	$node->append_conf('postgresql.conf', join("\n", 'shared_buffers = 32MB', 'max_locks_per_transaction = 128', @configuration, ''));
	$node->start;
	return $node;
}

sub set_clock
{
	my ($node, $database, $at) = @_;

	$node->safe_psql($database, "SELECT yquota.set_clock('$at')");
	return;
}

# start_at(NODE, DATABASE, AT): create the extension and set the clock in one transaction, before a
# worker can see it.
sub start_at
{
	my ($node, $database, $at) = @_;

	$node->safe_psql($database,
		"BEGIN; CREATE EXTENSION IF NOT EXISTS yquota; SELECT yquota.set_clock('$at'); COMMIT");
	return;
}

# The charged-through mark as a query.
sub mark { return '(SELECT max(at) FROM yquota_internal.charged_through)'; }

# is_soon(NODE, DATABASE, CONDITION, NAME): test that the condition becomes true, and sooner than a sleeping worker
# would make it true by itself.
sub is_soon
{
	my ($node, $database, $condition, $name) = @_;
	my $started = time;
	my $came = $node->poll_query_until($database, "SELECT coalesce($condition, false)");
	my $took = time - $started;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	ok($came && $took < AT_ONCE_S, $name) or diag("took $took s");
	return;
}

sub worker_pid
{
	my ($node, $database) = @_;

	return $node->safe_psql('postgres',
		"SELECT pid FROM pg_stat_activity WHERE backend_type = 'yquota worker' AND datname = '$database'");
}

# Return the server's processes except the postmaster. When the postmaster is killed, they end by
# themselves, some later than others. The server can start again only after that.
sub server_pids
{
	my ($node) = @_;

	return split ' ', $node->safe_psql('postgres', 'SELECT pid FROM pg_stat_activity WHERE pid <> pg_backend_pid()');
}

sub wait_until_gone
{
	my (@pids) = @_;
	my $give_up_at = time + 60;

	while (@pids = grep { kill 0, $_ } @pids)
	{
		die "still there after a kill: @pids\n" if time > $give_up_at;
		sleep 0.02;
	}
	return;
}

# make_synchronous(PRIMARY, STANDBY): let commits wait for the standby from now on.
sub make_synchronous
{
	my ($primary, $standby) = @_;

	$primary->safe_psql('postgres', "ALTER SYSTEM SET synchronous_standby_names = '" . $standby->name . "'");
	$primary->reload;
	$primary->poll_query_until('postgres', "SELECT count(*) = 1 FROM pg_stat_replication WHERE sync_state = 'sync'")
	  or die "the standby is not synchronous\n";
	return;
}

# new_synchronous_standby(PRIMARY, NAME): start a standby that commits wait for.
sub new_synchronous_standby
{
	my ($primary, $name) = @_;
	my $standby = PostgreSQL::Test::Cluster->new($name);

	$primary->backup('backup');
	$standby->init_from_backup($primary, 'backup', has_streaming => 1);
	$standby->start;
	make_synchronous($primary, $standby);
	return $standby;
}

# promote_alone(STANDBY): make it the primary, whose commits wait for no standby.
sub promote_alone
{
	my ($standby) = @_;

	$standby->promote;
	$standby->safe_psql('postgres', 'ALTER SYSTEM RESET synchronous_standby_names');
	$standby->reload;
	return;
}

sub count_in_log
{
	my ($node, $pattern) = @_;
	my $log = slurp_file($node->logfile);
	my @found = $log =~ /$pattern/g;

	return scalar @found;
}

# live_through(NODE, DATABASE, STEPS, STEP): in one session, move the clock so many times by STEP.
# Each move waits until the worker has charged up to the last one.
sub live_through
{
	my ($node, $database, $steps, $step) = @_;

	$node->safe_psql($database, <<~SQL);
		DO \$\$
		DECLARE
			give_up_at timestamptz := clock_timestamp() + '3 minutes';
		BEGIN
			FOR step IN 1 .. $steps LOOP
				PERFORM yquota.set_clock(yquota.clock() + '$step');
				COMMIT;
				WHILE ${\ mark()} IS DISTINCT FROM yquota.clock() LOOP
					IF clock_timestamp() > give_up_at THEN
						RAISE 'the worker is stuck in step %', step;
					END IF;
					PERFORM pg_sleep(0.005);
				END LOOP;
			END LOOP;
		END
		\$\$
		SQL
	return;
}

# wait_until_up(NODE): wait until the server answers again after a crash. A psql that is refused may
# end before it has read the query, and poll_query_until() would die of that.
sub wait_until_up
{
	my ($node) = @_;
	my $is_up;

	foreach (1 .. 100)
	{
		$is_up = eval { $node->poll_query_until('postgres', 'SELECT true') };
		last if defined $is_up;
	}
	die "the server does not come back\n" if !$is_up;
	return;
}

1;
