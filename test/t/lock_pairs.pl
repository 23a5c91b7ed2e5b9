# Statements that share locks run at the same time. No single statement may become part of a deadlock.
#
# Each of several sessions calls one statement in its own transaction, keeps its locks for a moment, and rolls back.
# The server checks for deadlocks soon. "make check" uses groups of statements that are known to share locks. "make
# soak" also uses random groups of all statements that change state, in which each statement shares a lock with
# another one.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use Client;
use IO::Select;
use List::Util qw(shuffle);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Soak;
use Statements;
use Test::More;
use WorkerNode;

use constant { SESSIONS => 4, ROUNDS => 12, PATIENCE_S => 180 };

my @groups = (
	[ 'forgiving and sealing', 'yquota.forgive', 'yquota.report_outage', 'yquota.seal_history', 'INSERT price_factor' ],
	[ 'retrying and closing', 'yquota.retry_rejects', 'yquota.close_period', 'INSERT container_event', 'yquota.void_events', 'DELETE event_reject' ],
	[ 'prices', 'yquota.decide_outage', 'UPDATE outage', 'INSERT price_group', 'DELETE price_group', 'INSERT resource_type', 'UPDATE resource_type', 'yquota.set_base_price', 'yquota.set_multiplier', 'yquota.compute_prices' ],
	[ 'heartbeats, requests and configuration', 'yquota.node_heartbeat', 'yquota.request_containers', 'yquota.update_container', 'yquota.release_containers', 'UPDATE queue', 'yquota.mutate_configuration', 'yquota.submit_application', 'yquota.move_application', 'yquota.finish_application' ],
	[ 'reservations', 'yquota.submit_reservation', 'yquota.update_reservation', 'yquota.delete_reservation', 'yquota.follow_plans', 'yquota.node_heartbeat', 'yquota.remove_ended_reservations', 'UPDATE queue', 'UPDATE node' ],
	[ 'nodes', 'yquota.node_heartbeat', 'yquota.import_nodes', 'UPDATE node', 'yquota.node_lost', 'yquota.finish_application', 'yquota.update_container' ],
	[ 'queues of nodes', 'yquota.enqueue_container', 'yquota.container_ended', 'yquota.container_paused', 'yquota.shed_containers', 'yquota.recover_node_queue', 'yquota.acknowledge_node_work', 'yquota.node_lost', 'UPDATE node state', 'yquota.acknowledge_decisions', 'yquota.reconcile' ],
	[ 'opportunistic containers', 'yquota.allocate_opportunistic', 'yquota.report_nodes', 'yquota.lease_nodes', 'yquota.report_distributed_containers', 'yquota.request_containers', 'yquota.node_heartbeat', 'UPDATE node', 'UPDATE node state', 'yquota.finish_application' ],
	[ 'projects', 'DELETE project', 'UPDATE project', 'INSERT project', 'yquota.allow_role', 'yquota.hold', 'yquota.transfer_credit', 'yquota.reverse_transfer', 'yquota.quota_compute', 'INSERT container_event' ],
	[ 'alerts', 'task of the worker: crossings', 'task of the worker: forecasts', 'job forecast', 'yquota.quota_compute', 'INSERT quota_grant', 'INSERT spending_threshold', 'UPDATE spending_threshold', 'DELETE spending_threshold', 'UPDATE alert', 'job retention', 'yquota.read_notifications' ],
	[ 'privileges and tables', 'yquota.allow_role', 'yquota.disallow_role', 'yquota.renew_role_grants', 'yquota.seal_history', 'yquota.archive', 'yquota.federate_cluster' ],
	[ 'federation', 'yquota.remove_federated_cluster', 'yquota.federate_cluster', 'yquota.renew_leases', 'job leases', 'UPDATE federated_cluster', 'INSERT federated_budget' ],
	[ 'history', 'yquota.archive', 'yquota.seal_history', 'yquota.roll_up_charges', 'yquota.forgive', 'INSERT container_event', 'yquota.close_period' ]);

my $node = new_node('lock_pairs', 'fsync = off', 'max_connections = 20', "client_min_messages = 'error'", 'deadlock_timeout = 100ms', 'log_lock_waits = off');
load_books($node, 'books');
my @sessions = map { Client->new($node, 'books') } 1 .. SESSIONS;
my %total = (calls => 0, circles => 0);

sub wait_for_all
{
	my $select = IO::Select->new(map { $_->handle } @sessions);
	my %session = map { $_->handle => $_ } @sessions;
	my @outcomes;

	while ($select->count)
	{
		my @ready = $select->can_read(PATIENCE_S) or die "statements have not ended\n";

		foreach my $handle (@ready)
		{
			my $outcome = $session{$handle}->read or next;

			$select->remove($handle);
			push @outcomes, $outcome;
		}
	}
	return @outcomes;
}

# Run one round of statements, and return the deadlocks as text.
sub play
{
	my @names = @_;
	my @circles;

	foreach my $i (0 .. $#sessions)
	{
		$sessions[$i]->send(sprintf "SELECT pg_sleep(%.4f);\n%s;\nSELECT pg_sleep(%.4f);\nROLLBACK", rand 0.004, call_of($names[ $i % @names ]), rand 0.008);
	}
	foreach my $outcome (wait_for_all())
	{
		my $state = $outcome->{sqlstate} // '';

		die "lost a session: $outcome->{answer}" if $outcome->{lost};
		$total{calls}++;
		$total{"refused by $state"}++ if $state ne '';
		push @circles, join(', ', @names) . ': ' . substr $outcome->{answer}, 0, 2000 if $state =~ /^(?:40P01|XX)/;
	}
	$total{circles} += @circles;
	return @circles;
}

# first_of(SESSION...): wait until one session has ended, and return it and its outcome.
sub first_of
{
	my @running = @_;
	my $select = IO::Select->new(map { $_->handle } @running);

	while (my @ready = $select->can_read(PATIENCE_S))
	{
		foreach my $session (@running)
		{
			next if !grep { $_ == $session->handle } @ready;
			my $outcome = $session->read;

			return ($session, $outcome) if $outcome;
		}
	}
	die "statements have not ended\n";
}

# Sealing waits for a reader of the ledger. Forgiving reads the ledger and posts to it, and neither
# forgiving nor sealing waits for the other.
sub forgive_beside_sealing
{
	my ($reader, $sealing, $forgiving) = @sessions;
	my ($first, $outcome);

	$reader->run('BEGIN; SELECT count(*) FROM yquota.charge');
	$sealing->send(call_of('yquota.seal_history()'));
	1 until $reader->run(q(SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'yquota.charge'::regclass)) > 0;
	foreach my $name (grep { /^yquota\.forgive/ } statements())
	{
		$forgiving->send(call_of($name) . ";\nROLLBACK");
		($first, $outcome) = first_of($sealing, $forgiving);
		is($first == $forgiving ? $outcome->{sqlstate} : 'sealed', undef, "$name does not wait for sealing");
	}
	$reader->run('COMMIT');
	($first, $outcome) = first_of($sealing);
	is($outcome->{sqlstate}, undef, 'sealing does not wait for the statement');
	$sealing->run('ROLLBACK');
	return;
}

# Closing a period settles containers for which rejected events wait. A session that retries these
# events waits for the closing session, which does not wait for the other.
sub retry_beside_closing
{
	my ($feed, $closing, $retrying) = @sessions;

	$feed->run(q(BEGIN; SELECT FROM yquota.container WHERE container_id = 'c21' FOR UPDATE));
	$closing->send(call_of('yquota.close_period(timestamp with time zone,integer)') . ";\nROLLBACK");
	1 until $feed->run(q(SELECT count(*) FROM pg_locks WHERE NOT granted AND locktype = 'transactionid')) > 0;
	$retrying->send(call_of('yquota.retry_rejects(text,text)') . ";\nROLLBACK");
	1 until $feed->run(q(SELECT count(*) FROM pg_locks WHERE NOT granted)) > 1;
	$feed->run('ROLLBACK');
	foreach (1 .. 2)
	{
		my ($session, $outcome) = first_of(grep { $_->is_busy } $closing, $retrying);

		is($outcome->{sqlstate}, undef, ($session == $closing ? 'closing' : 'retrying') . ' gets through');
	}
	return;
}

sub pick { return $_[ rand @_ ]; }

forgive_beside_sealing();
retry_beside_closing();
foreach my $group (@groups)
{
	my ($title, @heads) = @$group;
	my @names = map { my $head = $_; grep { /^\Q$head\E(?:\(| |$)/ } statements() } @heads;
	my @circles;

	push @circles, play((shuffle(@names))[ 0 .. SESSIONS - 1 ]) foreach 1 .. ROUNDS * (is_soak() ? 4 : 1);
	is(scalar @circles, 0, $title) or diag(join "\n", @circles);
}

if (is_soak())
{
	my $pid = $sessions[0]->run('SELECT pg_backend_pid()') + 0;
	my (%users, @circles);

	foreach my $name (statements())
	{
		$sessions[0]->send(call_of($name));
		1 until $sessions[0]->read;
		push @{ $users{ $_->[0] } }, $name foreach grep { $_->[1] !~ /^(?:AccessShare|RowShare)Lock$/ } locks_of($sessions[1], $pid, 'true');
		$sessions[0]->run('ROLLBACK');
	}
	# tables that only one statement writes to are of no use here
	my @shared = grep { @{ $users{$_} } > 1 } sort keys %users;

	cmp_ok(scalar @shared, '>', 10, 'locks are shared');
	for (my $round = 0; soak_goes_on($round, 0, 300); $round++)
	{
		my $users = $users{ pick(@shared) };

		push @circles, play(map { pick(@$users) } 1 .. SESSIONS);
	}
	is(scalar @circles, 0, 'random statements that share a lock') or diag(join "\n", @circles);
}

note('lock pairs: ', join ', ', map { "$total{$_} $_" } sort keys %total);
$_->close foreach @sessions;
$node->stop;
done_testing();
