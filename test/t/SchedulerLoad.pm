# Many clients of a scheduler, with a journal of their answers.
#
# Some clients report nodes, also the same nodes at the same time. Others request containers, release them and
# acknowledge them. Others send the ends of containers, and counters are compacted. The test knows the answers and
# requests of each client. The outcome of a statement is unknown if its answer was lost. The functions differences()
# and exceeded() report violations.
#
# All randomness comes from rand(), which the caller seeds.

package SchedulerLoad;

use strict;
use warnings;

use Client;
use IO::Select;

use constant { CLIENTS => 8, NODES => 12, APPLICATIONS => 24, NODE_MB => 16384, LARGEST_MB => 4096 };

my @leaves = qw(root.a.x root.a.y root.b);

# new(NODE, DATABASE): create the database. Users may have a fixed share of their queues, so that
# their limit does not fall when other users become active.
sub new
{
	my ($class, $node, $database) = @_;
	my $self = bless {
		node => $node, database => $database, slots => [], priority => {}, unexpected => [],
		told => {},             # container -> how often it was said to start
		asked => {},            # application -> containers that it requested
		perhaps_asked => {},    # requests of statements with unknown outcome
		acknowledged => {}, perhaps_acknowledged => {},
		statements => 0, containers => 0, lost => 0,
	}, $class;

	$node->safe_psql('postgres', "CREATE DATABASE $database TEMPLATE template0");
	$node->safe_psql($database, <<"SQL");
CREATE EXTENSION yquota;
INSERT INTO yquota.project (name) VALUES ('p');
INSERT INTO yquota.node (name, rack, total)
SELECT 'n' || n, '/r' || n % 3, '[memory-mb=${\ NODE_MB},vcores=16]' FROM generate_series(1, ${\ NODES}) AS n;
BEGIN;
INSERT INTO yquota.scheduler_setting (resource_calculator, maximum_am_resource_percent, per_node_heartbeat_maximum_offswitch_assignments)
VALUES ('org.apache.hadoop.yarn.util.resource.DominantResourceCalculator', 1, 5);
INSERT INTO yquota.queue (path, capacity, maximum_capacity, minimum_user_limit_percent, user_limit_factor, ordering_policy) VALUES
	('root', NULL, NULL, NULL, NULL, NULL), ('root.a', '60', NULL, NULL, NULL, NULL),
	('root.a.x', '50', '70', 100, 1, NULL), ('root.a.y', '50', NULL, 100, 2, 'fair'), ('root.b', '40', '50', 100, 1, NULL);
COMMIT;
SQL
	$self->{applications} = [ map { $self->submitted($_) } 0 .. APPLICATIONS - 1 ];
	return $self;
}

sub submitted
{
	my ($self, $n) = @_;
	my $id = "application_1_$n";

	$self->{node}->safe_psql($self->{database}, sprintf q(SELECT yquota.submit_application('%s', 'u%d', '{}', '%s', am_resource => '[memory-mb=1024,vcores=1]', unmanaged => true, project => 'p')),
		$id, $n % 4, $leaves[ $n % @leaves ]);
	return $id;
}

#
# Actions of clients
#

my $heartbeat = q(SELECT 'told', container_id, decision FROM yquota.node_heartbeat(ARRAY[%s]) WHERE decision IN ('allocated', 'swapped'));

sub any { return $_[ rand @_ ]; }

sub node_names { return join ', ', map { "'n" . (1 + int rand NODES) . "'" } 1 .. $_[0]; }

sub reporting { return { sql => sprintf($heartbeat, $_[0]), tells => 1 }; }

# Return containers that no other client ends, which their names show.
sub own_containers
{
	my ($slot, $most) = @_;

	return "yquota.container WHERE (hashtext(container_id) & 7) = $slot->{number} ORDER BY random() LIMIT $most";
}

sub asking
{
	my ($self) = @_;
	my $id = any(@{ $self->{applications} });
	my $priority = ++$self->{priority}{$id};
	my $count = 1 + int rand 20;
	my $allocation = sprintf '[memory-mb=%d,vcores=1]', 1024 * any(1, 1, 2, LARGEST_MB / 1024);
	my $place = 1 + int rand NODES;
	my @names = any([ '*' ], [ '*' ], [ "n$place", '/r' . $place % 3, '*' ]);
	my $rows = join ', ', map { "ROW('$_', '$allocation', $count, $priority, -1, true, NULL, NULL, NULL)::yquota.container_request" } @{ $names[0] };

	return { sql => "SELECT yquota.request_containers('$id', ARRAY[$rows])", id => $id, count => $count };
}

# Return containers to release, except those of given-up reservations, because differences() looks
# for these.
sub releasing
{
	my ($slot) = @_;

	my $own = own_containers($slot, 2);

	return { sql => "SELECT yquota.release_containers(ARRAY((SELECT container_id FROM $own) EXCEPT SELECT container_id FROM yquota.decision WHERE decision = 'swapped'))" };
}

sub acknowledging
{
	my ($slot) = @_;
	my @ids = splice @{ $slot->{heard} }, 0, 20;

	return { sql => sprintf(q(SELECT yquota.acknowledge_decisions(ARRAY(SELECT decision_id FROM yquota.decision WHERE container_id = ANY ('{%s}')))), join ',', @ids), acknowledges => \@ids };
}

sub next_statement
{
	my ($self, $slot) = @_;
	my $draw = rand;
	my $columns = 'event, container_id, occurred_at, exit_status, source';

	return $self->asking if $draw < 0.15;
	return { sql => "INSERT INTO yquota.container_event ($columns) SELECT 'CONTAINER_FINISH', container_id, greatest(started_at, yquota.clock()), 0, 'feed' FROM " . own_containers($slot, 3) }
	  if $draw < 0.3;
	return releasing($slot) if $draw < 0.37;
	return acknowledging($slot) if $draw < 0.45;
	return { sql => 'SELECT yquota_internal.compact_counters()' } if $draw < 0.48;
	return { sql => sprintf "BEGIN;\n$heartbeat;\nROLLBACK", node_names(2) } if $draw < 0.53;
	return reporting(node_names(any(1, 1, 1, 3)));
}

# send(SLOT, STATEMENT): send the statement, by default the next one.
sub send
{
	my ($self, $slot, $statement) = @_;

	$slot->{statement} = $statement // $self->next_statement($slot);
	$slot->{client}->send($slot->{statement}{sql});
	$self->{statements}++;
	return;
}

sub note_outcome
{
	my ($self, $slot, $outcome) = @_;
	my $statement = $slot->{statement};

	if ($outcome->{lost})
	{
		$self->{lost}++;
		$self->{perhaps_asked}{ $statement->{id} } += $statement->{count} if $statement->{id};
		$self->{perhaps_acknowledged}{$_} = 1 foreach @{ $statement->{acknowledges} // [] };
		return;
	}
	push @{ $self->{unexpected} }, "$statement->{sql}: $outcome->{answer}" if defined $outcome->{sqlstate};
	$self->{asked}{ $statement->{id} } += $statement->{count} if $statement->{id};
	$self->{acknowledged}{$_} = 1 foreach @{ $statement->{acknowledges} // [] };
	return if !$statement->{tells};
	while ($outcome->{answer} =~ /^told\|(\S+)\|(\w+)$/mg)
	{
		$self->{told}{$1}++;
		push @{ $slot->{heard} }, $1 if $2 eq 'allocated';
	}
	return;
}

# Connect a new client in a slot. The new client does not end the containers of the previous client.
sub connect_client
{
	my ($self, $number) = @_;
	my $slot = { number => $number, client => Client->new($self->{node}, $self->{database}), heard => [] };

	chomp($slot->{backend} = $slot->{client}->run('SELECT pg_backend_pid()'));
	$self->{slots}[$number] = $slot;
	return;
}

sub connect_clients { $_[0]->connect_client($_) foreach 0 .. CLIENTS - 1; return; }

sub close_clients { $_->{client}->close foreach @{ $_[0]{slots} }; return; }

# Wait for busy clients and take their answers. Return false when no client is busy.
sub take_answers
{
	my ($self) = @_;
	my $select = IO::Select->new(map { [ $_->{client}->handle, $_ ] } grep { $_->{client}->is_busy } @{ $self->{slots} });

	return 0 if !$select->count;
	foreach my $ready ($select->can_read(1))
	{
		my $slot = $ready->[1];
		my $outcome = $slot->{client}->read or next;

		$slot->{is_lost} ||= $outcome->{lost};
		$self->note_outcome($slot, $outcome);
	}
	return 1;
}

# work(STATEMENTS, AFTER_EACH): let all clients together send so many statements, and take their
# answers. AFTER_EACH is called with the slot and the number of statements left, and returns whether
# the load continues.
sub work
{
	my ($self, $left, $after_each) = @_;

	do
	{
		foreach my $slot (grep { !$_->{client}->is_busy && !$_->{is_lost} } @{ $self->{slots} })
		{
			last if $left == 0;
			$self->send($slot);
			$left--;
			return if defined $after_each && !$after_each->($slot, $left);
		}
	} while $self->take_answers;
	return;
}

# Take all answers that are still to come.
sub drain { my ($self) = @_; 1 while $self->take_answers; return; }

#
# Checks
#

sub rows_of { my ($self, $query) = @_; return split /\n/, $self->{node}->safe_psql($self->{database}, $query); }

# Return the amounts that exceed their limits, in MiB, computed from the running containers.
sub exceeded
{
	my ($self) = @_;

	return $self->rows_of(<<"SQL");
WITH held AS (
	SELECT queue, username, node, yquota.amount(allocation, 'memory-mb') AS mb, yquota.amount(allocation, 'vcores') AS vcores FROM yquota.container
)
SELECT format('node %s has %s, %s', node, sum(mb), sum(vcores)) FROM held GROUP BY node HAVING sum(mb) > ${\ NODE_MB} OR sum(vcores) > 16
UNION ALL
SELECT format('queue %s has %s', q.path, sum(mb))
FROM held JOIN (VALUES ('root.a.x', 0.7), ('root.b', 0.5)) AS q (path, part) ON q.path = held.queue
GROUP BY q.path, q.part HAVING sum(mb) > q.part * ${\ NODE_MB} * ${\ NODES}
UNION ALL
SELECT format('user %s of %s has %s', username, q.path, sum(mb))
FROM held JOIN (VALUES ('root.a.x', 0.3), ('root.a.y', 0.6), ('root.b', 0.4)) AS q (path, part) ON q.path = held.queue
GROUP BY username, q.path, q.part HAVING sum(mb) > ceil(q.part * 16 * ${\ NODES}) * 1024 + ${\ LARGEST_MB}
SQL
}

# Return the differences. Each container that has started must have been decided, and each request that was served
# must no longer wait. A reservation must exist unless it was fulfilled or given up.
sub differences
{
	my ($self) = @_;
	my %starts = map { split /\|/ } $self->rows_of(q(SELECT container_id, count(*) FROM yquota.container_event WHERE event = 'CONTAINER_START' GROUP BY 1));
	my %to_be_heard = map { $_ => 1 } $self->rows_of(q(SELECT container_id FROM yquota.decision WHERE decision IN ('allocated', 'swapped')));
	my %waits = map { split /\|/ } $self->rows_of(q(SELECT application_id, sum(count) FROM yquota.resource_request WHERE resource_name = '*' GROUP BY 1));
	my %started = map { split /\|/ } $self->rows_of(q(SELECT application_id, count(*) FROM yquota.container_event WHERE event = 'CONTAINER_START' GROUP BY 1));
	my %is_heard = (%{ $self->{acknowledged} }, %{ $self->{perhaps_acknowledged} });
	my @wrong = map { "$_ started $starts{$_} times" } grep { $starts{$_} != 1 } sort keys %starts;

	push @wrong, map { "$_ was decided $self->{told}{$_} times and started " . ($starts{$_} // 0) . ' times' }
	  grep { $self->{told}{$_} != 1 || !$starts{$_} } sort keys %{ $self->{told} };
	push @wrong, map { "$_ runs and cannot be heard of" } grep { !$is_heard{$_} && !$to_be_heard{$_} } $self->rows_of('SELECT container_id FROM yquota.container');
	push @wrong, map { "$_ was acknowledged and is still to be heard" } grep { $to_be_heard{$_} } sort keys %{ $self->{acknowledged} };
	push @wrong, $self->rows_of(<<~'SQL');
		SELECT format('%s is reserved for %s no longer', d.node, d.container_id) FROM yquota.decision AS d
		WHERE d.decision = 'reserved' AND d.container_id NOT IN (SELECT r.container_id FROM yquota.reserved_container AS r)
		AND NOT EXISTS (SELECT FROM yquota.container_event AS e WHERE e.container_id = d.container_id)
		AND NOT EXISTS (SELECT FROM yquota.decision AS later WHERE later.decision_id > d.decision_id
			AND ((later.decision, later.container_id) = ('unreserved', d.container_id) OR later.unreserved_node = d.node))
		SQL
	foreach my $id (@{ $self->{applications} })
	{
		my $comes_to = ($waits{$id} // 0) + ($started{$id} // 0);
		my $least = $self->{asked}{$id} // 0;
		my $most = $least + ($self->{perhaps_asked}{$id} // 0);

		push @wrong, "$id asked for $least to $most and got or waits for $comes_to" if $comes_to < $least || $comes_to > $most;
	}
	$self->{containers} = keys %starts;
	return join "\n", @wrong;
}

1;
