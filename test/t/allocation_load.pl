# Many clients report nodes, the same ones too, while others ask for containers,
# give them back and send what ended, counters are folded, and clients are killed.
#
# At no moment has a node, a queue or a user more than it may have.  In the end each
# container that was decided started once; of what was asked for, nothing is lost or
# given twice; what nobody was told is still to be heard; and the books are proven.
#
# ALLOCATION_SEED repeats what clients do, though not when.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use Client;
use IO::Select;
use PostgreSQL::Test::Utils;
use Soak;
use Test::More;
use WorkerNode;

use constant { CLIENTS => 8, NODES => 12, APPLICATIONS => 24, STATEMENTS_A_ROUND => 160, TOGETHER_A_ROUND => 5, LARGEST_MB => 4096 };

my $seed = $ENV{ALLOCATION_SEED} // int(rand 1_000_000_000);
note("ALLOCATION_SEED=$seed");
srand($seed);

my $node = new_node('allocation_load', 'max_connections = 40', 'log_statement = none', 'fsync = off');
my $database = 'cluster';
my @leaves = qw(root.a.x root.a.y root.b);
my %total = (statements => 0, containers => 0, kills => 0);

# Users may have a fixed part of their queues, so that the limit does not fall when
# others want something.
$node->safe_psql('postgres', "CREATE DATABASE $database");
$node->safe_psql($database, <<"SQL");
CREATE EXTENSION yquota;
INSERT INTO yquota.project (name) VALUES ('p');
INSERT INTO yquota.node (name, rack, total)
SELECT 'n' || n, '/r' || n % 3, '[memory-mb=16384,vcores=16]' FROM generate_series(1, ${\ NODES}) AS n;
BEGIN;
INSERT INTO yquota.scheduler_setting (resource_calculator, maximum_am_resource_percent, per_node_heartbeat_maximum_offswitch_assignments)
VALUES ('org.apache.hadoop.yarn.util.resource.DominantResourceCalculator', 1, 5);
INSERT INTO yquota.queue (path, capacity, maximum_capacity, minimum_user_limit_percent, user_limit_factor, ordering_policy) VALUES
	('root', NULL, NULL, NULL, NULL, NULL), ('root.a', '60', NULL, NULL, NULL, NULL),
	('root.a.x', '50', '70', 100, 1, NULL), ('root.a.y', '50', NULL, 100, 2, 'fair'), ('root.b', '40', '50', 100, 1, NULL);
COMMIT;
SQL
my @applications = map { submitted($_) } 0 .. APPLICATIONS - 1;

sub submitted
{
	my ($n) = @_;
	my $id = "application_1_$n";

	$node->safe_psql($database, sprintf q(SELECT yquota.submit_application('%s', 'u%d', '{}', '%s', am_resource => '[memory-mb=1024,vcores=1]', unmanaged => true, project => 'p')),
		$id, $n % 4, $leaves[ $n % @leaves ]);
	return $id;
}

# What is beyond its limits, in MiB and computed from the containers that run.
my $exceeded = <<"SQL";
WITH held AS (
	SELECT queue, username, node, yquota.amount(allocation, 'memory-mb') AS mb, yquota.amount(allocation, 'vcores') AS vcores FROM yquota.container
)
SELECT format('node %s has %s, %s', node, sum(mb), sum(vcores)) FROM held GROUP BY node HAVING sum(mb) > 16384 OR sum(vcores) > 16
UNION ALL
SELECT format('queue %s has %s', q.path, sum(mb))
FROM held JOIN (VALUES ('root.a.x', 0.7), ('root.b', 0.5)) AS q (path, part) ON q.path = held.queue
GROUP BY q.path, q.part HAVING sum(mb) > q.part * 16384 * ${\ NODES}
UNION ALL
SELECT format('user %s of %s has %s', username, q.path, sum(mb))
FROM held JOIN (VALUES ('root.a.x', 0.3), ('root.a.y', 0.6), ('root.b', 0.4)) AS q (path, part) ON q.path = held.queue
GROUP BY username, q.path, q.part HAVING sum(mb) > ceil(q.part * 16 * ${\ NODES}) * 1024 + ${\ LARGEST_MB}
SQL

#
# Clients
#

# What is known: how often a container was said to start, what was asked for by
# application (and what may have been), what was acknowledged (or may have been).
my (%told, %asked, %perhaps_asked, %acknowledged, %perhaps_acknowledged, @unexpected);
my (@slots, %priority);
my $heartbeat = q(SELECT 'told', container_id FROM yquota.node_heartbeat(ARRAY[%s]) WHERE decision IN ('allocated', 'swapped'));

sub any { return $_[ rand @_ ]; }

sub node_names { return join ', ', map { "'n" . (1 + int rand NODES) . "'" } 1 .. $_[0]; }

# Containers that nobody else ends: which ones are whose follows from their names.
sub own_containers
{
	my ($slot, $most) = @_;

	return "yquota.container WHERE (hashtext(container_id) & 7) = $slot->{number} ORDER BY random() LIMIT $most";
}

sub asking
{
	my $id = any(@applications);
	my $priority = ++$priority{$id};
	my $count = 1 + int rand 20;
	my $allocation = sprintf '[memory-mb=%d,vcores=1]', 1024 * any(1, 1, 2, LARGEST_MB / 1024);
	my $place = 1 + int rand NODES;
	my @names = any([ '*' ], [ '*' ], [ "n$place", '/r' . $place % 3, '*' ]);
	my $rows = join ', ', map { "ROW('$_', '$allocation', $count, $priority, -1, true, NULL, NULL)::yquota.container_request" } @{ $names[0] };

	return { sql => "SELECT yquota.request_containers('$id', ARRAY[$rows])", id => $id, count => $count };
}

sub acknowledging
{
	my ($slot) = @_;
	my @ids = splice @{ $slot->{heard} }, 0, 20;

	return { sql => sprintf(q(SELECT yquota.acknowledge('{%s}')), join ',', @ids), acknowledges => \@ids };
}

sub next_statement
{
	my ($slot) = @_;
	my $draw = rand;
	my $columns = 'event, container_id, occurred_at, exit_status, source';

	return asking() if $draw < 0.15;
	return { sql => "INSERT INTO yquota.container_event ($columns) SELECT 'CONTAINER_FINISH', container_id, greatest(started_at, yquota.clock()), 0, 'feed' FROM " . own_containers($slot, 3) }
	  if $draw < 0.3;
	return { sql => 'SELECT yquota.release_containers(ARRAY(SELECT container_id FROM ' . own_containers($slot, 2) . '))' } if $draw < 0.37;
	return acknowledging($slot) if $draw < 0.45;
	return { sql => 'SELECT yquota_internal.fold_counters()' } if $draw < 0.48;
	return { sql => sprintf "BEGIN;\n$heartbeat;\nROLLBACK", node_names(2) } if $draw < 0.53;
	return { sql => sprintf($heartbeat, node_names(any(1, 1, 1, 3))), tells => 1 };
}

sub note_outcome
{
	my ($slot, $outcome) = @_;
	my $statement = $slot->{statement};

	if ($outcome->{lost})
	{
		$perhaps_asked{ $statement->{id} } += $statement->{count} if $statement->{id};
		$perhaps_acknowledged{$_} = 1 foreach @{ $statement->{acknowledges} // [] };
		return;
	}
	push @unexpected, "$statement->{sql}: $outcome->{answer}" if defined $outcome->{sqlstate};
	$asked{ $statement->{id} } += $statement->{count} if $statement->{id};
	$acknowledged{$_} = 1 foreach @{ $statement->{acknowledges} // [] };
	return if !$statement->{tells};
	foreach my $id ($outcome->{answer} =~ /^told\|(\S+)$/mg)
	{
		$told{$id}++;
		push @{ $slot->{heard} }, $id;
	}
	return;
}

# A client in a slot; its containers are not ended by the one before any more.
sub connect_client
{
	my ($number) = @_;
	my $slot = { number => $number, client => Client->new($node, $database), heard => [] };

	chomp($slot->{backend} = $slot->{client}->run('SELECT pg_backend_pid()'));
	$slots[$number] = $slot;
	return;
}

# It dies with whatever it was about; its server process ends what it has begun.
sub kill_client
{
	my ($slot) = @_;

	kill 'KILL', $slot->{client}{pid};
	note_outcome($slot, { lost => 1 }) if $slot->{client}->is_busy;
	$slot->{client}->close;
	$total{kills}++;
	wait_until_gone($slot->{backend});
	connect_client($slot->{number});
	return;
}

# work(STATEMENTS): so many by all of them together, and their answers.
sub work
{
	my ($left) = @_;

	while (1)
	{
		my $select = IO::Select->new;

		foreach my $slot (@slots)
		{
			if (!$slot->{client}->is_busy && $left > 0)
			{
				$slot->{statement} = next_statement($slot);
				$slot->{client}->send($slot->{statement}{sql});
				$total{statements}++;
				$left--;
				kill_client($slot) if $left % 80 == 40;
			}
			$select->add([ $slot->{client}->handle, $slot ]) if $slot->{client}->is_busy;
		}
		last if !$select->count;
		foreach my $ready ($select->can_read(1))
		{
			my $slot = $ready->[1];
			my $outcome = $slot->{client}->read or next;

			note_outcome($slot, $outcome);
		}
	}
	return;
}

# A node becomes empty, and everybody reports it at the same time.
sub report_together
{
	my $name = 'n' . (1 + int rand NODES);

	$slots[0]{client}->run("INSERT INTO yquota.container_event (event, container_id, occurred_at) SELECT 'CONTAINER_FINISH', container_id, greatest(started_at, yquota.clock()) FROM yquota.container WHERE node = '$name'");
	foreach my $slot (@slots)
	{
		$slot->{statement} = { sql => sprintf($heartbeat, "'$name'"), tells => 1 };
		$slot->{client}->send($slot->{statement}{sql});
		$total{statements}++;
	}
	work(0);
	return;
}

#
# What must hold
#

sub rows_of { my ($query) = @_; return split /\n/, $node->safe_psql($database, $query); }

# What started is what was decided, and of what was asked for it is what no longer
# waits.
sub differences
{
	my %starts = map { split /\|/ } rows_of(q(SELECT container_id, count(*) FROM yquota.container_event WHERE event = 'CONTAINER_START' GROUP BY 1));
	my %to_be_heard = map { $_ => 1 } rows_of(q(SELECT container_id FROM yquota.decision WHERE decision IN ('allocated', 'swapped')));
	my %waits = map { split /\|/ } rows_of(q(SELECT application_id, sum(count) FROM yquota.resource_request WHERE resource_name = '*' GROUP BY 1));
	my %started = map { split /\|/ } rows_of(q(SELECT application_id, count(*) FROM yquota.container_event WHERE event = 'CONTAINER_START' GROUP BY 1));
	my @wrong = map { "$_ started $starts{$_} times" } grep { $starts{$_} != 1 } sort keys %starts;

	push @wrong, map { "$_ was decided $told{$_} times and started " . ($starts{$_} // 0) . ' times' } grep { $told{$_} != 1 || !$starts{$_} } sort keys %told;
	push @wrong, map { "$_ runs and cannot be heard of" }
	  grep { !$acknowledged{$_} && !$perhaps_acknowledged{$_} && !$to_be_heard{$_} } rows_of('SELECT container_id FROM yquota.container');
	push @wrong, map { "$_ was acknowledged and is still to be heard" } grep { $to_be_heard{$_} } sort keys %acknowledged;
	foreach my $id (@applications)
	{
		my $comes_to = ($waits{$id} // 0) + ($started{$id} // 0);
		my ($least, $most) = ($asked{$id} // 0, ($asked{$id} // 0) + ($perhaps_asked{$id} // 0));

		push @wrong, "$id asked for $least to $most and got or waits for $comes_to" if $comes_to < $least || $comes_to > $most;
	}
	$total{containers} = keys %starts;
	return join "\n", @wrong;
}

connect_client($_) foreach 0 .. CLIENTS - 1;
my $rounds = 0;
my @beyond;
for (; soak_goes_on($rounds, 8, 400); $rounds++)
{
	work(STATEMENTS_A_ROUND);
	# they work on while this is asked
	foreach my $slot (@slots)
	{
		$slot->{statement} = next_statement($slot);
		$slot->{client}->send($slot->{statement}{sql});
	}
	push @beyond, rows_of($exceeded);
	work(0);
	report_together() foreach 1 .. TOGETHER_A_ROUND;
	push @beyond, rows_of($exceeded);
	last if @beyond;
}
is(join("\n", @beyond), '', 'no node, queue or user has ever more than it may have');
is(join("\n", @unexpected), '', 'no statement fails, nor waits in a circle');
is(differences(), '', 'everything that was asked for waits or started, once, and was heard of or can be');
is($node->safe_psql($database, 'SELECT * FROM yquota.verify()'), '', 'the books are proven');
cmp_ok($total{containers}, '>', 20 * $rounds, 'containers started');
$_->{client}->close foreach @slots;

# A pass that is not over, and events of the same queues, nodes and applications.
$node->safe_psql($database, "SELECT yquota.request_containers('$applications[0]', '[memory-mb=1024,vcores=1]', 5, priority => 1000000)");
$node->safe_psql($database, 'SELECT yquota.release_containers(ARRAY(SELECT container_id FROM yquota.container ORDER BY container_id OFFSET 8))');
my $pass = Client->new($node, $database);
like($pass->run("BEGIN;\nSELECT decision, node FROM yquota.schedule()"), qr/^allocated\|/m, 'a pass decides, and is not over');
my $event = 'INSERT INTO yquota.container_event (event, container_id, occurred_at';
is($node->safe_psql($database, <<"SQL"), '', 'no event waits for it');
SET lock_timeout = '1s';
$event, project, application_id, username, queue, node, allocation)
VALUES ('CONTAINER_START', 'outside', yquota.clock(), 'p', '$applications[0]', 'u0', 'root.a.x', 'n1', '[memory-mb=1,vcores=1]');
$event, allocation) VALUES ('CONTAINER_UPDATE', 'outside', yquota.clock(), '[memory-mb=2,vcores=1]');
$event) SELECT 'CONTAINER_FINISH', container_id, yquota.clock() FROM yquota.container WHERE started_at <= yquota.clock();
SQL
$pass->run('COMMIT');
$pass->close;
is($node->safe_psql($database, 'SELECT * FROM yquota.verify()'), '', 'and both count');

note("$total{statements} statements, $total{containers} containers, $total{kills} kills of clients");
$node->stop;
done_testing();
