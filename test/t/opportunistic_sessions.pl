# Eight clients allocate opportunistic containers at the same time. They repeat some calls and roll back others. Then
# the server is killed, and fails over.
#
# While a node sends no new report, its containers never exceed the room in its last report, and in the end they fill
# it exactly. The test counts containers in the books, not in yquota's own counters of slots. A repeated call gives
# the same containers. After a crash, and on a promoted standby, no node is known until it reports. On a standby the
# views are empty.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use Client;
use IO::Select;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use WorkerNode;

use constant { CLIENTS => 8, NODES => 12, CALLS => 40 };

my $seed = $ENV{YQUOTA_SEED} // int(rand 1_000_000_000);
note("YQUOTA_SEED=$seed");
srand($seed);

my $node = new_node('opportunistic', 'max_connections = 40', 'synchronous_commit = on');
$node->safe_psql('postgres', <<~SQL);
	BEGIN;
	CREATE EXTENSION IF NOT EXISTS yquota;
	SELECT yquota.set_clock('2026-03-02 10:00+00');
	INSERT INTO yquota.project (name) VALUES ('p');
	INSERT INTO yquota.queue (path, capacity) VALUES ('root', NULL), ('root.a', '50'), ('root.b', '50');
	INSERT INTO yquota.scheduler_setting (maximum_am_resource_percent, opportunistic_allocation_enabled, opportunistic_queue_capacity, opportunistic_nodes_used, allocation_expiry)
	VALUES (1, true, 20, 5, '1 day');
	INSERT INTO yquota.node (name, rack, total) SELECT 'n' || n, '/r' || n % 3, '[memory-mb=8192,vcores=8]' FROM generate_series(1, @{[NODES]}) AS n;
	COMMIT;
	SELECT count(*) FROM generate_series(1, @{[CLIENTS]}) AS n,
		LATERAL yquota.submit_application('application_1_' || n, 'ann', NULL, CASE n % 2 WHEN 0 THEN 'a' ELSE 'b' END, project => 'p', unmanaged => true);
	SQL

# The room that the last report of each node leaves, as the test computes it.
my %room;

# Let nodes report queues of random lengths. Older containers have ended or run by then.
sub report
{
	my @rows;

	foreach my $number (1 .. NODES)
	{
		my $length = int rand 21;

		$room{"n$number"} = 20 - $length;
		push @rows, "ROW('n$number', 0, 0, 0, $length, NULL, NULL, NULL, NULL, NULL)";
	}
	$node->safe_psql('postgres', "SELECT yquota.set_clock(yquota.clock() + interval '2 s'); "
		. "SELECT yquota.report_nodes(ARRAY[" . join(', ', @rows) . ']::yquota.node_report[])');
	return;
}

# Return the number of containers that have started since, by node.
sub started
{
	my ($since) = @_;

	return map { split /\|/ } split /\n/, $node->safe_psql('postgres', "SELECT node, count(*) FROM yquota.container_event WHERE event = 'CONTAINER_START' AND event_id > $since GROUP BY 1");
}

sub last_event { return $node->safe_psql('postgres', 'SELECT coalesce(max(event_id), 0) FROM yquota.container_event'); }

# Return the nodes that have more containers than their reports left room for.
sub overfull
{
	my (%started) = @_;

	return join ', ', map { "$_: $started{$_} of $room{$_}" } grep { $started{$_} > $room{$_} } sort keys %started;
}

my %response = map { ($_ => 0) } 1 .. CLIENTS;

# Return the next statement of a client: a call in a transaction of a random kind, which is sometimes
# rolled back.
sub statement
{
	my ($client) = @_;
	my $place = ('*', '*', 'n' . (1 + int rand NODES), '/r' . int rand 3)[ int rand 4 ];
	my $count = 1 + int rand 4;
	my $id = 1 + int rand 3;
	my $asks = join ', ', map { "ROW('$_', '[memory-mb=512,vcores=1]', $count, 1, $id, true, NULL, 'OPPORTUNISTIC', NULL)" } $place eq '*' ? '*' : ($place, '*');
	my $call = "SELECT container_id FROM yquota.allocate_opportunistic('application_1_$client', ARRAY[$asks]::yquota.container_request[], response_id => " . ++$response{$client} . ')';
	my $level = ('READ COMMITTED', 'REPEATABLE READ', 'SERIALIZABLE')[ int rand 3 ];

	# a reply is lost, so the call is repeated
	return "$call; $call" if rand() < 0.2;
	return "BEGIN ISOLATION LEVEL $level; SELECT count(*) FROM yquota.container; $call; COMMIT" if rand() < 0.4;
	return "BEGIN; $call; ROLLBACK" if rand() < 0.3;
	return $call;
}

# Let clients work until each has made so many calls, or until "until" returns true. Return their
# answers.
sub work
{
	my ($calls, $until) = @_;
	my @clients = map { { number => $_, client => Client->new($node, 'postgres'), left => $calls } } 1 .. CLIENTS;
	my @outcomes;

	while (grep { $_->{left} > 0 || $_->{client}->is_busy } @clients)
	{
		foreach my $slot (grep { $_->{left} > 0 && !$_->{client}->is_busy } @clients)
		{
			$slot->{left}--;
			$slot->{sql} = statement($slot->{number});
			$slot->{client}->send($slot->{sql});
		}
		my %by_handle = map { ($_->{client}->handle => $_) } grep { $_->{client}->is_busy } @clients;
		foreach my $handle (IO::Select->new(map { $_->{client}->handle } values %by_handle)->can_read(60))
		{
			my $slot = $by_handle{$handle};
			my $outcome = $slot->{client}->read or next;

			push @outcomes, { %$outcome, sql => $slot->{sql} };
			$slot->{left} = 0 if $outcome->{lost};
		}
		last if defined $until && $until->(scalar @outcomes);
	}
	return @outcomes;
}

# -- as many as there is room for -------------------------------------------------------

foreach my $round (1 .. 3)
{
	report();
	my $since = last_event();
	my @outcomes = work(CALLS);
	my %started = started($since);

	# a serializable transaction may fail, and would have to be repeated
	my @failed = grep { defined $_->{sqlstate} && !($_->{sqlstate} eq '40001' && $_->{sql} =~ /SERIALIZABLE/) } @outcomes;
	is(join("\n", map { "$_->{sql}: $_->{answer}" } @failed), '', "round $round: no call failed");
	is(overfull(%started), '', "round $round: no node has more containers than fit by its report");
	# requests for any node use all the room that is left
	$node->safe_psql('postgres', "UPDATE yquota.scheduler_setting SET opportunistic_nodes_used = @{[NODES]}; SELECT yquota.set_clock(yquota.clock() + interval '2 s'); "
		. "SELECT count(*) FROM yquota.allocate_opportunistic('application_1_1', ARRAY[ROW('*', '[memory-mb=512,vcores=1]', 1000, 9, 9, true, NULL, 'OPPORTUNISTIC', NULL)]::yquota.container_request[]); "
		. "UPDATE yquota.scheduler_setting SET opportunistic_nodes_used = 5; SELECT yquota.request_containers('application_1_1', '[memory-mb=512,vcores=1]', 0, priority => 9, allocation_request_id => 9, execution_type => 'OPPORTUNISTIC')");
	%started = started($since);
	is(join(', ', map { "$_ " . ($started{$_} // 0) } sort keys %room), join(', ', map { "$_ $room{$_}" } sort keys %room), "round $round: in the end, all slots are used");
}

# -- repeated calls ------------------------------------------------------------------------

report();
$node->safe_psql('postgres', join '; ', map { "SELECT count(*) FROM yquota.allocate_opportunistic('application_1_$_', response_id => " . ++$response{$_} . ')' } 1 .. CLIENTS);
my $before = $node->safe_psql('postgres', 'SELECT count(*) FROM yquota.container');
my $again = join '; ', map { "SELECT count(*) FROM yquota.allocate_opportunistic('application_1_$_', ARRAY[ROW('*', '[memory-mb=512,vcores=1]', 9, 1, 1, true, NULL, 'OPPORTUNISTIC', NULL)]::yquota.container_request[], response_id => $response{$_})" } 1 .. CLIENTS;
$node->safe_psql('postgres', $again);
is($node->safe_psql('postgres', 'SELECT count(*) FROM yquota.container'), $before, 'a repeated call allocates no more containers');

# -- crash and failover ----------------------------------------------------------------------

sub books_are_right
{
	my ($when) = @_;

	is($node->safe_psql('postgres', 'SELECT * FROM yquota.verify()'), '', "$when: the books prove themselves");
	is($node->safe_psql('postgres', 'SELECT container_id FROM yquota.container_event GROUP BY 1 HAVING count(*) > 1'), '', "$when: no container started twice");
	is($node->safe_psql('postgres', "SELECT count(*) FROM yquota.container AS c FULL JOIN yquota.decision AS d USING (container_id) WHERE c.container_id IS NULL OR d.container_id IS NULL"), '0',
		"$when: every container has its decision");
	return;
}

sub is_told_once
{
	my ($when, @outcomes) = @_;
	# a serializable transaction may fail at commit, after it has answered
	my %told = map { ($_ => 1) } map { $_->{sql} =~ /ROLLBACK/ || $_->{lost} || defined $_->{sqlstate} ? () : $_->{answer} =~ /^(container_\w+)$/mg } @outcomes;
	my %there = map { ($_ => 1) } split /\n/, $node->safe_psql('postgres', 'SELECT container_id FROM yquota.container');

	cmp_ok(scalar keys %told, '>', 0, "$when: clients got containers");
	is(join(', ', grep { !$there{$_} } sort keys %told), '', "$when: every container that a client got is in the books");
	books_are_right($when);
	is($node->safe_psql('postgres', 'SELECT count(*) FROM yquota.opportunistic_node') . $node->safe_psql('postgres', 'SELECT count(*) FROM yquota.node_queue_report'), '00', "$when: no node is known");
	is($node->safe_psql('postgres', "SELECT count(*) FROM yquota.allocate_opportunistic('application_1_1', ARRAY[ROW('n1', '[memory-mb=512,vcores=1]', 1, 1, 7, true, NULL, 'OPPORTUNISTIC', NULL)]::yquota.container_request[])"), '0', "$when: no node gets a container");
	report();
	my $since = last_event();
	work(5);
	my %started = started($since);
	cmp_ok(scalar keys %started, '>', 0, "$when: nodes that have reported get containers");
	is(overfull(%started), '', "$when: nodes get as many containers as they have room for");
	return;
}

books_are_right('before the crash');
report();
my @outcomes = work(1000, sub { return $_[0] > 60; });
$node->stop('immediate');
$node->start;
is_told_once('after the crash', @outcomes);

$node->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('opportunistic_standby');
$standby->init_from_backup($node, 'backup', has_streaming => 1);
$standby->start;
report();
@outcomes = work(6);
$node->wait_for_catchup($standby);
is($standby->safe_psql('postgres', 'SELECT count(*), count(measured), bool_and(room = free) FROM yquota.node_room'), $standby->safe_psql('postgres', 'SELECT 2 * count(*) FROM yquota.node') . '|0|t',
	'a standby knows the containers of nodes, but not their reports');
is($standby->safe_psql('postgres', 'SELECT count(*) FROM yquota.opportunistic_node') . $standby->safe_psql('postgres', 'SELECT count(*) FROM yquota.node_queue_report'), '00', 'views of reports are empty on a standby');
foreach my $statement ("yquota.report_nodes('{}')", "yquota.allocate_opportunistic('application_1_1')", "yquota.lease_nodes('n1')", "yquota.report_distributed_containers('n1', '{}')")
{
	my (undef, undef, $error) = $standby->psql('postgres', "\\set VERBOSITY verbose\nSELECT * FROM $statement");

	like($error, qr/25006|distributed scheduling is not enabled/, "refused on a standby: $statement");
}
$node->stop('immediate');
$standby->promote;
$node = $standby;
is_told_once('after the failover', @outcomes);

$node->stop;
done_testing();
