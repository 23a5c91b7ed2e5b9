# Preemption takes the same containers as Hadoop 3.4.1. In random clusters some queues, users or applications have taken
# resources that others then request. The records hold the decisions of Hadoop's policy.
#
# Each line of test/scheduler/preemption.jsonl is a configuration in Hadoop's properties, labels, nodes, the
# applications and containers at the first round, and rounds. A round has the changes since the round before (gone,
# set, apps), and the inputs that the policy computed for each queue and label. For each selector in order, it has the
# chosen containers and the computed figures of queues. Then it has the events that were sent, and the marks that were
# remembered. Vectors are memory, cores and, where it is known, gpu; vectors of zeros are left out. Times are in
# milliseconds. The decisions come from the ProportionalCapacityPreemptionPolicy of hadoop-yarn-server-resourcemanager
# 3.4.1. It ran on a real CapacityScheduler whose state was built by submissions, requests and heartbeats. The file
# has only workloads whose outcome does not depend on names of queues and nodes or on identities of Java objects.
#
# The test plays each line through SQL: import_hadoop_configuration(), submit_application(), events of containers,
# request_containers(), preempt_containers() and the view preemption_state. It writes rows directly where the recorded
# state has no function. These rows are reservations, masters' containers, the state of applications, and requests of
# applications whose masters have no container yet.
#
# The comparison leaves out the figures that yquota does not report. These are the rest of the round's budget, the
# figures of applications within a queue, and whether a cancelled reserved container was also chosen.

use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;

use Falsified qw(falsify unnoticed);
use JSON::PP;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('preemption_decisions');
$node->init;
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION IF NOT EXISTS yquota; ' . slurp_file('test/scheduler/preemption.sql'));

my @workloads = grep { !/^#/ } split /\n/, slurp_file('test/scheduler/preemption.jsonl');

sub play
{
	return split /\n/, $node->safe_psql('postgres',
		join '', map { "BEGIN; SELECT * FROM replay.play(\$workload\$$_\$workload\$); ROLLBACK;\n" } @_);
}

my @played = play(@workloads);
my @kinds = qw(rounds figures chosen events marks reasons);
my %compared;
foreach my $played (@played)
{
	my @counts = split /\|/, $played, @kinds + 1;

	is(pop @counts, '', 'every container, event, mark and figure is as in Hadoop, and the books agree');
	$compared{ $kinds[$_] } += $counts[$_] || 0 foreach 0 .. $#kinds;
}
is(scalar @played, scalar @workloads, 'all workloads were played');
my %families = map { /"family":"(\w+)"/ => 1 } @workloads;
is(scalar keys %families, 22, 'workloads of all families were played');
my $rounds = () = join('', @workloads) =~ /"now":/g;
is($compared{rounds}, $rounds, 'all rounds were compared');
cmp_ok($rounds, '>', 100, 'rounds');
cmp_ok($compared{figures}, '>', 350, 'rows of figures');
cmp_ok($compared{chosen}, '>', 700, 'chosen containers');
cmp_ok($compared{events}, '>', 500, 'events');
cmp_ok($compared{marks}, '>', 500, 'marks');
cmp_ok($compared{reasons}, '>', 500, 'figures by which containers were chosen');
note("$_: $compared{$_}") foreach @kinds;

# Figures that are falsified. The view has figures from before the first selector, and the default calculator uses
# only memory.
sub is_figure
{
	my ($path, $record) = @_;
	my ($round, $rest) = $path =~ m{^rounds/(\d+)/(.+)} or return 0;

	return 1 if $rest =~ m{^(?:events|marked|killable)\b|^selectors/\d+/chosen\b|^queues/[^/]+/[^/]*/(?:guaranteed|max|used)\b};
	return 0 unless $rest =~ m{^(?:queues|selectors/0/queues)/[^/]+/[^/]*/(?:pending|ideal|to_be_preempted|obtain|untouchable)(?:/(\d+))?$};
	return 0 if $1 && $record->{conf}{'yarn.scheduler.capacity.resource-calculator'} !~ /Dominant/;
	return $rest !~ /^selectors/ || $record->{rounds}[$round]{selectors}[0]{selector} eq 'fifo';
}

my @falsified = falsify([ map { decode_json($_) } @workloads ], figure => \&is_figure, steps => 'rounds', maps => qr{/marked$}, name => '1.1');
is(unnoticed(\@falsified, map { (split /\|/, $_, @kinds + 1)[-1] } play(map { encode_json($_->[1]) } @falsified)), '', 'every falsified decision and figure is found');
cmp_ok(scalar @falsified, '>', 50, 'kinds of falsifications');
note(scalar(@falsified) . ' falsifications');

$node->stop;
done_testing();
