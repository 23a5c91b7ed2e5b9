# Containers start, wait, are paused and are killed at a node as in Hadoop 3.4.1. Random containers arrive, end, and
# are promoted and demoted. The test compares the decisions with those of Hadoop's node manager.
#
# Each line of test/scheduler/container_queue.jsonl is a node (node: memory and cores), its settings (vmem_ratio,
# vmem_check, max_queue_length, queue_policy, use_pause) and steps. Step arrive brings a container (c: the container's
# number, type G or O, res: memory and cores). Step done ends a container, whether it runs or waits. In step
# done_all_killed the agent has ended all containers that it was told to kill. In step paused_all it has paused those
# that it was told to pause. Step limit sets the number of containers that may wait (n). The other steps are promote
# and demote. A step has the orders that containers got (events) and the running usage (utilization: memory, virtual
# memory, cores). It also has the numbers of waiting and running containers. The ContainerScheduler of
# hadoop-yarn-server-nodemanager 3.4.1 decided them (test/oracle, area container-queue).
#
# Each line is played through SQL: events of containers, enqueue_container(), container_ended(), container_paused(),
# shed_containers() and advance_node_queue().
#
# YQUOTA_CONTAINER_QUEUES may name a file with further lines, which are played, too.

use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;

use Falsified qw(falsify unnoticed);
use JSON::PP;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('container_queue_decisions');
$node->init;
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION IF NOT EXISTS yquota; ' . slurp_file('test/scheduler/container_queue.sql'));

my @records = records('test/scheduler/container_queue.jsonl');
push @records, records($ENV{YQUOTA_CONTAINER_QUEUES}) if $ENV{YQUOTA_CONTAINER_QUEUES};

sub records { return grep { !/^#/ } split /\n/, slurp_file($_[0]); }

# Return the numbers of steps and events that were compared, and the first difference.
sub play
{
	return map { [split /\|/, $_, 3] } split /\n/, $node->safe_psql('postgres',
		join '', map { "BEGIN; SELECT * FROM replay.play(\$record\$$_\$record\$); ROLLBACK;\n" } @_);
}

my ($steps, $events) = (0, 0);
my @played = play(@records);
is(scalar @played, scalar @records, 'all records were played');
foreach my $played (@played)
{
	is($played->[2], '', 'every decision and figure is as in Hadoop, and the books agree');
	$steps += $played->[0];
	$events += $played->[1];
}
my $recorded = () = join('', @records) =~ /"op":/g;
is($steps, $recorded, 'all steps were compared');
my $decided = () = join('', @records) =~ /\["(?:start|pause|kill)",/g;
is($events, $decided, 'all events were compared');
cmp_ok($steps, '>', 900, 'steps');
cmp_ok($events, '>', 300, 'events');
foreach my $kind (qr/\["pause"/, qr/make room for/, qr/queue is full/, qr/queuing limits/, qr/"BY_RESOURCES"/, qr/"BY_QUEUE_LEN"/)
{
	like("@records", $kind, "records have $kind");
}

my @falsified = falsify([ map { decode_json($_) } @records ], figure => sub { $_[0] =~ m{^steps/\d+/(?!(?:op|c|type|res|n)\b)} });
is(unnoticed(\@falsified, map { $_->[2] } play(map { encode_json($_->[1]) } @falsified)), '', 'every falsified decision and figure is found');
cmp_ok(scalar @falsified, '>', 40, 'kinds of falsifications');
note(scalar(@falsified) . ' falsifications');

$node->stop;
done_testing();
