# yquota allocates the next container to the same application and node as Hadoop 3.4.1. The records are random clusters,
# queues, requests and heartbeats, with the decisions of Hadoop's resource manager.
#
# Each line of test/scheduler/decisions.jsonl is a configuration in Hadoop's properties, labels, nodes, and steps. If
# the line names no rack, node nI is in rack I modulo 3, and node mI in rack I modulo 10. A step has the operation and
# its decisions in order: containers killed, allocated, reserved, unreserved, or updated, with node, memory, cores and
# locality. It has the containers that ended, the applications that failed, and the reservations after the step (by
# node: application, memory, cores). It also has the state after the step; the last step may lack it. The state is the
# amounts that applications hold, have reserved and wait for, by label, and the free amounts of nodes.
#
# A ResourceManager (MockRM of hadoop-yarn-server-resourcemanager 3.4.1) did the steps one by one, each after all
# events of the step before. Requests went directly to its CapacityScheduler, and application masters fetched their
# containers after each step. An application may have reservations for the same request on several nodes. Among these,
# the recorder let the first node by name come first, instead of the first in a hash table. It ordered the killable
# containers of a node by id; a step "killable" lists them. A step "refresh" has the whole configuration that was then
# in force. Before a step "figures" the scheduler recomputed everything that it keeps between heartbeats. That step
# has the used and reserved amounts of queues, and the usage of users. It has the users' limits, among waiting users
# and among all users, and the headroom of applications over all labels that they have requested.
#
# The comparison leaves out the differences that docs/internals.md lists as intended. Two of Hadoop's orders are
# accidents of its Java objects, and yquota has neither. First, a refresh of a parent puts its children in the order
# of a hash table. The function replay.refresh() configures that order, and the comparison continues. Second, in fair
# order Hadoop leaves an application in an outdated place until another container of it starts or ends. The function
# replay.is_older_place() finds from the recorded decisions whether the first differing decision follows from such a
# place. Hadoop also limits application masters by the amounts that other queues left when a leaf was last visited. In
# contrast, yquota uses the amounts that they leave now. The function replay.is_older_limit() finds whether an
# application waits only because of this older limit. The remaining decisions of such a workload cannot be compared.
# The test names these workloads and the steps from which they differ.

use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;

use Falsified qw(falsify unnoticed);
use JSON::PP;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('allocation_decisions');
$node->init;
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION IF NOT EXISTS yquota; ' . slurp_file('test/scheduler/decisions.sql'));

my @scenarios = grep { !/^#/ } split /\n/, slurp_file('test/scheduler/decisions.jsonl');

sub play
{
	return split /\n/, $node->safe_psql('postgres',
		join '', map { "BEGIN; SELECT * FROM replay.play(\$scenario\$$_\$scenario\$); ROLLBACK;\n" } @_);
}

my @played = play(@scenarios);
my ($steps, $decisions, $reserved, $figures, @partings) = (0, 0, 0, 0);
foreach my $played (@played)
{
	my ($its_steps, $its_decisions, $its_reserved, $its_figures, $parting, $difference) = split /\|/, $played, 6;

	is($difference, '', 'every decision and figure is as in Hadoop, and the books agree');
	push @partings, $parting if $parting ne '';
	$figures += $its_figures;
	$steps += $its_steps;
	$decisions += $its_decisions;
	$reserved += $its_reserved;
}
is(scalar @played, scalar @scenarios, 'all scenarios were played');
is_deeply(
	[ sort @partings ],
	[   'older limit: am-232 from step 43 of 88', 'older limit: amlabels-113 from step 10 of 56',
		'older place: s-fair-4 from step 24 of 101', 'older place: s-reserve-108 from step 64 of 67' ],
	'workloads that Hadoop decides by older limits for application masters, or older places in fair order');
my $uncompared = 0;
foreach (@partings)
{
	my ($from, $count) = /from step (\d+) of (\d+)/;

	$uncompared += $count - $from + 1;
}
my $refreshes = () = join('', @scenarios) =~ /"do":"refresh"/g;
cmp_ok($steps, '>', 1000, 'steps');
cmp_ok($decisions, '>', 400, 'decisions');
cmp_ok($reserved, '>', 400, 'nodes that were reserved after a step');
cmp_ok($figures, '>', 100, 'figures of limits');
note("$steps steps, $decisions decisions, $reserved reserved, $figures figures");
note(scalar(@partings) . ' of ' . scalar(@scenarios) . " workloads part from Hadoop by older places or limits, $uncompared steps are not compared; $refreshes refreshes with Hadoop's order of siblings");

# Falsified results, which the comparison must find. A figure without a value is one that Hadoop
# does not have.
my @falsified = falsify([ map { decode_json($_) } @scenarios ], figure => sub { $_[0] =~ m{^steps/\d+/(?:decided|reserved|state|figures|errors)\b} && $_[0] !~ m{/figures$} },
	maps => qr{^steps/\d+/(?:reserved|figures)$}, name => 'queue root.added <>');
is(unnoticed(\@falsified, map { (split /\|/, $_, 6)[5] } play(map { encode_json($_->[1]) } @falsified)), '', 'every falsified decision and figure is found');
cmp_ok(scalar @falsified, '>', 100, 'kinds of falsifications');
note(scalar(@falsified) . ' falsifications');

$node->stop;
done_testing();
