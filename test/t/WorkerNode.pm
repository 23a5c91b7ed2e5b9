# Servers for the tests of clock and worker.
#
# Time is the clock's: it is set by hand and stands still in between, so what
# the worker does can be waited for and counted.  Nothing sleeps for a while
# and hopes.

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

# A worker sleeps a minute at most, so an earlier reaction comes from a signal.
use constant AT_ONCE_S => 40;

# new_node(NAME, CONFIGURATION...): a running server with the given lines in its configuration. The buffers that
# init() gives to servers with replication do not hold the catalog that one session reads. The locks that init() gives
# to ten connections are too few for DROP EXTENSION beside a worker.
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

# start_at(NODE, DATABASE, AT): the extension, with the clock set before any
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

# is_soon(NODE, DATABASE, CONDITION, NAME): the condition becomes true, sooner than a worker without a wake-up would
# make it true.
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

# The server's processes but the postmaster, which go by themselves, some sooner,
# some later, when that is killed; only then can the server start again.
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

# make_synchronous(PRIMARY, STANDBY): from now on commits wait for the standby.
sub make_synchronous
{
	my ($primary, $standby) = @_;

	$primary->safe_psql('postgres', "ALTER SYSTEM SET synchronous_standby_names = '" . $standby->name . "'");
	$primary->reload;
	$primary->poll_query_until('postgres', "SELECT count(*) = 1 FROM pg_stat_replication WHERE sync_state = 'sync'")
	  or die "the standby is not synchronous\n";
	return;
}

# new_synchronous_standby(PRIMARY, NAME): a running standby that commits wait for.
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

# promote_alone(STANDBY): it is the primary, and waits for no standby.
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

# live_through(NODE, DATABASE, STEPS, STEP): move the clock that many times,
# each time after the worker has charged through the last; in one session.
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

# wait_until_up(NODE): until it answers again after a crash.  A psql that is refused
# may end before it has read the query, of which poll_query_until() dies.
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
