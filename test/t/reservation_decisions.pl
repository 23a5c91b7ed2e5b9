# What a plan promises is what Hadoop 3.4.1's plan promises: random plans and reservations that
# come, change and go, with what its agents and sharing policies decided.
#
# Each line of test/scheduler/reservation.jsonl is a configuration in Hadoop's properties, nodes,
# the classes of the plan, and steps with their results: submissions, updates and deletions with
# the allocation or the reason of the refusal, ready allocations that meet the sharing policy
# alone (add), and what the plan and a user have over time (load), which reservations
# touch an interval (search), or which queues the plan has after a round of its follower, and what
# it still promises (follow), on a cluster that shrinks and grows (cluster).  Vectors are memory and cores,
# times milliseconds, shares of queues floats of 32 bits.  The InMemoryPlan and the CapacitySchedulerPlanFollower of
# hadoop-yarn-server-resourcemanager 3.4.1 decided them.  YQUOTA_RESERVATION_RECORDS may name
# another file of such records, which is played besides.
#
# Each is played through SQL: import_hadoop_configuration(), submit_reservation(),
# update_reservation(), delete_reservation(), follow_plans(), plan_allocation() and list_reservations().
#
# Left out is what a user could get (available), which no function tells, and
# steps after the first one of which yquota says otherwise on purpose: what has been over for a
# window is in no plan, with a round of the follower or without one, and an update does not bring
# back what was deleted.  A submission that is due makes a round at once, as Hadoop's resource manager
# does; the records are of the plan alone, so the queues of before are put back.

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
is(join(' ', sort keys %families), 'agent follower periodic policy', 'of all families');
my %least = (submit => 150, update => 20, delete => 30, add => 80, load => 30, search => 30, follow => 60, cluster => 20);
cmp_ok($compared{$_} // 0, '>', $least{$_}, "steps with $_") foreach sort keys %least;
note("$_: $compared{$_}") foreach sort keys %compared;

# What Hadoop has not decided so, in steps that are compared.  Of a refusal the class is compared, not the words; that of an allocation
# that no request gets is not.
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
