# A plan accepts the same reservations as Hadoop 3.4.1's plan. Random reservations are submitted, updated and deleted
# in random plans. The test compares the results with the decisions of Hadoop's agents and sharing policies.
#
# Each line of test/scheduler/reservation.jsonl is a configuration in Hadoop's properties, nodes, the classes of the
# plan, and steps with their results. Submissions, updates and deletions have the allocation or the reason of the
# refusal. Ready-made allocations are only checked by the sharing policy (add). Queries give the amounts of the plan
# and of a user over time (load), or the reservations that overlap an interval (search). A round of the plan follower
# gives the queues and the remaining reservations of the plan (follow). In between the cluster shrinks and grows
# (cluster). Vectors are memory and cores, times are milliseconds, and shares of queues are floats of 32 bits. The
# InMemoryPlan and the CapacitySchedulerPlanFollower of hadoop-yarn-server-resourcemanager 3.4.1 decided them.
# YQUOTA_RESERVATION_RECORDS may name a file of further records, which are played, too.
#
# Each line is played through SQL: import_hadoop_configuration(), submit_reservation(), update_reservation(),
# delete_reservation(), follow_plans(), plan_allocation() and list_reservations().
#
# The comparison leaves out the amount that a user could get (available), which no function returns. It also leaves
# out the steps after the first intended difference. For example, in yquota a reservation that has been over for a
# window is in no plan, with or without a round of the follower. In yquota an update does not restore a deleted
# reservation. A submission that is due makes a round at once, as in Hadoop's resource manager. The records cover only
# the plan, so the test then restores the earlier queues.

use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;

use Falsified qw(falsify unnoticed);
use JSON::PP;
use List::Util qw(sum0);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('reservation_decisions');
$node->init;
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION IF NOT EXISTS yquota; ' . slurp_file('test/scheduler/reservation.sql'));

my @records = grep { !/^#/ }
  map { split /\n/, slurp_file($_) } grep { defined } 'test/scheduler/reservation.jsonl', $ENV{YQUOTA_RESERVATION_RECORDS};

sub play
{
	return split /\n/, $node->safe_psql('postgres', join '', map { "BEGIN; SELECT * FROM replay.play(\$record\$$_\$record\$); ROLLBACK;\n" } @_);
}

my @played = play(@records);
my (%compared, %last);
foreach my $number (0 .. $#played)
{
	my ($counts, $difference) = split /\|/, $played[$number], 2;
	my %counts = $counts =~ /"(\w+)": (\d+)/g;

	is($difference, '', 'every answer, allocation, load, list and queue is as in Hadoop');
	$compared{$_} += $counts{$_} foreach keys %counts;
	$last{ decode_json($records[$number])->{id} } = sum0(values %counts);
}
is(scalar @played, scalar @records, 'all records were played');
my %families = map { /"family":"(\w+)"/ => 1 } @records;
is(join(' ', sort keys %families), 'agent follower periodic policy', 'records of all families were played');
my %least = (submit => 150, update => 20, delete => 30, add => 80, load => 30, search => 30, follow => 60, cluster => 20);
cmp_ok($compared{$_} // 0, '>', $least{$_}, "steps with $_") foreach sort keys %least;
note("$_: $compared{$_}") foreach sort keys %compared;

# Results that are falsified, in steps that are compared. For a refusal only its class is compared, not its
# message. The refusal of a ready-made allocation with several intervals is not compared.
sub is_figure
{
	my ($path, $record) = @_;
	my ($step, $name) = $path =~ m{^steps/(\d+)/result/(ok|error|allocation|period|user|accepted_at|load|user_load|found|queues|plan_capacity|reservations)\b} or return 0;

	return $step < $last{ $record->{id} } && !($name eq 'error' && $record->{steps}[$step]{op} eq 'add' && @{ $record->{steps}[$step]{intervals} } > 1);
}

my @falsified = falsify([ map { decode_json($_) } @records ], figure => \&is_figure, maps => qr{/queues$}, name => '99');
is(unnoticed(\@falsified, map { (split /\|/, $_, 2)[1] } play(map { encode_json($_->[1]) } @falsified)), '', 'every falsified decision and figure is found');
cmp_ok(scalar @falsified, '>', 40, 'kinds of falsifications');
note(scalar(@falsified) . ' falsifications');

$node->stop;
done_testing();
