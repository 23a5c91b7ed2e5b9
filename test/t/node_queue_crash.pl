# The server or its backends are killed while many nodes' agents ask for work. Then it fails over to a synchronous
# standby.
#
# After each crash every answer that an agent received is still true. Containers that an agent was told to start are
# running or have run, and no container was told to start twice. Running containers of which no agent was told are in
# the work of their node. The lengths of queues are those that the nodes were told. No node runs more than it has room
# for, and verify() finds no fault. In the end every container that arrived has run or was dropped, and has left.
#
# NODE_QUEUE_SEED repeats the calls of clients and the order of kills, but not their exact timing.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use Client;
use IO::Select;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Soak;
use Test::More;
use WorkerNode;

use constant { CLIENTS => 8, NODES => 5, LEAST_STATEMENTS => 200 };

my $seed = $ENV{NODE_QUEUE_SEED} // int(rand 1_000_000_000);
note("NODE_QUEUE_SEED=$seed");
srand($seed);

my $server = new_node('node_queue0', 'max_connections = 40', 'log_statement = none', 'restart_after_crash = on', 'deadlock_timeout = 200ms',
	"shared_preload_libraries = 'yquota'", "yquota.databases = 'cluster'", "yquota.compute_interval = '100ms'", "yquota.price_interval = '100ms'");
$server->safe_psql('postgres', 'CREATE DATABASE cluster TEMPLATE template0');
$server->safe_psql('cluster', <<~"SQL");
	CREATE EXTENSION yquota;
	INSERT INTO yquota.project (name) VALUES ('p');
	INSERT INTO yquota.scheduler_setting (uses_pause_for_preemption) VALUES (true);
	INSERT INTO yquota.node (name, total) SELECT 'n' || n, '[memory-mb=8192,vcores=8]' FROM generate_series(1, ${\ NODES}) AS n;
	-- told once: the agents do not report again
	SELECT accepted FROM yquota.report_nodes(ARRAY(SELECT ROW(name, 0, 0, 0, 0, NULL, 6, NULL, NULL, NULL)::yquota.node_report FROM yquota.node));
	SQL

my ($containers, $statements, $lost, $servers) = (0, 0, 0, 0);
my (%started, %resumed, %arrived, @heard, @unexpected, @slots);

sub any { return $_[ rand @_ ]; }
sub node_name { return 'n' . (1 + int rand NODES); }
sub rows_of { return split /\n/, $server->safe_psql('cluster', $_[0]); }

# -- clients ----------------------------------------------------------------------------

my $told = q('told', a.action, a.container_id);

# Return containers in a given state that no other client handles.
sub own
{
	my ($slot, $state) = @_;

	return "(SELECT q.node, q.container_id FROM yquota.node_queue AS q WHERE q.state = '$state' AND (hashtext(q.container_id) & 7) = $slot->{number} ORDER BY random() LIMIT 1) AS q";
}

sub arriving
{
	my $id = 'c' . ++$containers;
	my $node = node_name();
	my $type = any('GUARANTEED', 'OPPORTUNISTIC', 'OPPORTUNISTIC');

	return {
		arrives => $id,
		sql => sprintf(q(INSERT INTO yquota.container_event (event, container_id, occurred_at, project, node, allocation, execution_type, is_running)
			VALUES ('CONTAINER_START', '%s', yquota.clock(), 'p', '%s', '[memory-mb=%d,vcores=1]', '%s', %s); SELECT %s FROM yquota.enqueue_container('%s', '%s') AS a),
			$id, $node, 1024 * any(1, 1, 2, 4), $type, $type eq 'GUARANTEED' ? 'true' : 'false', $told, $node, $id) };
}

sub next_statement
{
	my ($slot) = @_;
	my $draw = rand;

	return arriving() if $draw < 0.35;
	return { sql => "SELECT $told FROM ${\ own($slot, 'RUNNING')}, yquota.container_ended(q.node, q.container_id) AS a" } if $draw < 0.55;
	return { sql => "SELECT $told FROM ${\ own($slot, 'PAUSING')}, yquota.container_paused(q.node, q.container_id) AS a" } if $draw < 0.7;
	return { sql => "SELECT yquota.release_containers(ARRAY[(SELECT q.container_id FROM ${\ own($slot, any('RUNNING', 'QUEUED'))})])" } if $draw < 0.77;
	return { sql => sprintf "SELECT $told FROM yquota.advance_node_queue('%s') AS a", node_name() } if $draw < 0.84;
	return { sql => sprintf "SELECT $told FROM yquota.shed_containers('%s', %d) AS a", node_name(), any(0, 2, 4) } if $draw < 0.88;
	return { sql => sprintf q(BEGIN; SELECT a.action FROM yquota.advance_node_queue('%s') AS a; ROLLBACK), node_name() } if $draw < 0.92;
	# acknowledge some of the answers that the agent received, so the rest remains in the work
	my @ids = splice @heard, 0, 10;
	return { sql => join '; ', map { my $node = "n$_";
		sprintf q(SELECT yquota.acknowledge_node_work('%s', ARRAY(SELECT w FROM yquota.node_work('%s') AS w WHERE w.container_id = ANY ('{%s}') AND w.action IN ('start', 'resume')))), $node, $node, join ',', @ids } 1 .. NODES };
}

sub note_outcome
{
	my ($slot, $outcome) = @_;
	my $statement = $slot->{statement};

	return $lost++ if $outcome->{lost};
	push @unexpected, "$statement->{sql}: $outcome->{answer}" if defined $outcome->{sqlstate};
	$arrived{ $statement->{arrives} } = 1 if $statement->{arrives} && !defined $outcome->{sqlstate};
	while ($outcome->{answer} =~ /^told\|(\w+)\|(\S+)$/mg)
	{
		$started{$2}++ if $1 eq 'start';
		$resumed{$2}++ if $1 eq 'resume';
		push @heard, $2 if $1 eq 'start' || $1 eq 'resume';
	}
	return;
}

sub connect_clients
{
	@slots = map { { number => $_, client => Client->new($server, 'cluster') } } 0 .. CLIENTS - 1;
	chomp($_->{backend} = $_->{client}->run('SELECT pg_backend_pid()')) foreach @slots;
	return;
}

sub take_answers
{
	my $select = IO::Select->new(map { [ $_->{client}->handle, $_ ] } grep { $_->{client}->is_busy } @slots);

	return 0 if !$select->count;
	foreach my $ready ($select->can_read(1))
	{
		my $slot = $ready->[1];
		my $outcome = $slot->{client}->read or next;

		$slot->{is_lost} ||= $outcome->{lost};
		note_outcome($slot, $outcome);
	}
	return 1;
}

# Let clients work until they have sent so many statements and all are busy, and then kill.
sub kill_after
{
	my ($most, $kill) = @_;
	my $until = $statements + $most;

	do
	{
		foreach my $slot (grep { !$_->{client}->is_busy } @slots)
		{
			$slot->{statement} = next_statement($slot);
			$slot->{client}->send($slot->{statement}{sql});
			$statements++;
		}
	} while ($statements < $until && take_answers());
	$kill->();
	1 while take_answers();
	$_->{client}->close foreach @slots;
	return;
}

# -- kills -------------------------------------------------------------------------------

sub postmaster
{
	my @gone = server_pids($server);

	kill_after($_[0], sub { $server->kill9; });
	wait_until_gone(@gone);
	$server->start;
	return;
}

sub backend
{
	my @gone = map { $_->{backend} } @slots;

	kill_after($_[0], sub { kill 'KILL', $gone[ rand @gone ]; });
	wait_until_gone(@gone);
	wait_until_up($server);
	return;
}

sub failover
{
	my $old = $server;
	my $standby = new_synchronous_standby($old, 'node_queue' . ++$servers);
	my @gone;

	is($standby->safe_psql('cluster', q(SELECT count(*) >= 0 FROM yquota.node_work('n1'))), 't', 'work of nodes can be read on a standby');
	like(($standby->psql('cluster', q(SELECT * FROM yquota.advance_node_queue('n1'))))[2], qr/cannot execute changes of a node's queue (?:in a read-only transaction|during recovery)/,
		'no container starts on a standby');
	@gone = server_pids($old);
	kill_after($_[0], sub { $old->kill9; });
	wait_until_gone(@gone);
	promote_alone($standby);
	$server = $standby;
	$old->clean_node;
	return;
}

# -- checks -----------------------------------------------------------------------------

sub differences
{
	my %row = map { my ($id, @columns) = split /\|/; ($id => [@columns]) } rows_of(q(SELECT container_id, state, started_at IS NOT NULL, pauses, is_acknowledged FROM yquota.node_queue));
	my %work = map { $_ => 1 } map { rows_of("SELECT container_id FROM yquota.node_work('n$_') WHERE action IN ('start', 'resume')") } 1 .. NODES;
	my @wrong = map { "$_ was said to start $started{$_} times" } grep { $started{$_} > 1 } sort keys %started;

	push @wrong, map { "$_ was said to start and has not" } grep { !$row{$_} || $row{$_}[1] ne 't' } sort keys %started;
	push @wrong, map { "$_ was resumed more often than paused" } grep { $resumed{$_} > $row{$_}[2] } sort keys %resumed;
	push @wrong, map { "$_ has arrived and is not known" } grep { !$row{$_} } sort keys %arrived;
	push @wrong, map { "$_ runs, and nobody can hear of it" } grep { $row{$_}[0] eq 'RUNNING' && !$started{$_} && !$work{$_} } sort keys %row;
	push @wrong, rows_of(q(SELECT n.name, yquota.sum(c.allocation) FROM yquota.node AS n JOIN yquota.container AS c ON c.node = n.name AND c.is_running
		JOIN yquota.node_queue AS q ON q.container_id = c.container_id AND q.left_at IS NULL
		GROUP BY n.name, n.total HAVING NOT yquota.sum(c.allocation) OPERATOR(yquota.<@) n.total));
	# each start and each resumption is one event, and so is each pause
	push @wrong, rows_of(q(SELECT 'runs twice at once', e.container_id FROM yquota.container_event AS e
		WHERE e.event <> 'CONTAINER_FINISH' AND e.is_running IS NOT NULL GROUP BY e.container_id
		HAVING count(*) FILTER (WHERE e.is_running) - count(*) FILTER (WHERE NOT e.is_running) NOT IN (-1, 0, 1)));
	return join "\n", @wrong;
}

my %kill = (postmaster => \&postmaster, backend => \&backend, failover => \&failover);
my @kinds = qw(postmaster backend failover);
my $cycles = 0;
for (; soak_goes_on($cycles, 3, 30); $cycles++)
{
	my $kind = $kinds[ $cycles % @kinds ];

	connect_clients();
	$kill{$kind}->(LEAST_STATEMENTS + int rand LEAST_STATEMENTS);
	is(differences(), '', "cycle $cycles, $kind: every answer that a client got is in the rows, once");
	is($server->safe_psql('cluster', 'SELECT * FROM yquota.verify()'), '', "cycle $cycles, $kind: the books prove themselves");
	last if !Test::More->builder->is_passing;
}
is($server->safe_psql('cluster', q(SELECT DISTINCT queue_limit FROM yquota.node_queue WHERE left_reason = 'rejected')), '6', 'queues keep the capacity that nodes reported before the kills');
is(join("\n", @unexpected), '', 'no statement failed for another reason');
cmp_ok($lost, '>', 0, 'clients lost the answers of some statements');
cmp_ok(scalar(keys %started), '>', 30, 'containers were started');
cmp_ok(scalar(keys %resumed), '>', 0, 'containers were resumed');

# Agents end all containers that are left.
my $rounds = 0;
while ($rounds++ < 1000 && $server->safe_psql('cluster', q(SELECT EXISTS (SELECT FROM yquota.node_queue WHERE left_at IS NULL))) eq 't')
{
	$server->safe_psql('cluster', q(SELECT count(*) FROM (SELECT q.node, q.container_id FROM yquota.node_queue AS q WHERE q.state IN ('RUNNING', 'KILLING', 'PAUSING') ORDER BY q.node, q.place) AS q,
		yquota.container_ended(q.node, q.container_id)));
	$server->safe_psql('cluster', sprintf q(SELECT count(*) FROM yquota.advance_node_queue('n%d')), $_) foreach 1 .. NODES;
}
is($server->safe_psql('cluster', q(SELECT container_id, state FROM yquota.node_queue WHERE state <> 'GONE' OR left_reason IN ('ended', 'killed') AND started_at IS NULL
	AND NOT EXISTS (SELECT FROM yquota_internal.reported_end AS e WHERE e.container_id = node_queue.container_id AND e.is_own))), '',
	'every container that arrived has run, was rejected or was released');
is($server->safe_psql('cluster', q(SELECT c.container_id FROM yquota.container AS c JOIN yquota.node_queue AS q USING (container_id))), '', 'no row of an ended container is left');
is($server->safe_psql('cluster', 'SELECT * FROM yquota.verify()'), '', 'the books prove themselves');
note("$statements statements, $lost of unknown outcome, $containers containers, $cycles kills");
$server->stop;
done_testing();
