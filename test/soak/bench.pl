# The bench works at toy size: every case gives a figure, and what it measured is right. The test
# does not judge the figures. Of cases that differ only in their rows, a short run has one or two,
# and a long run has all.
use strict;
use warnings;

use File::Basename qw(dirname);
use File::Temp qw(tempdir);
use FindBin;
use lib "$FindBin::RealBin/../t";
use JSON::PP;
use Soak;
use Test::More;

my ($programs) = grep { -x "$_/postgres" } split /:/, $ENV{PATH};

chdir dirname(__FILE__) . '/../..' or die "could not enter the checkout: $!\n";

# The name is short, because the path of the socket has a maximum length.
my $directory = tempdir('yquota-bench-XXXXXX', TMPDIR => 1, CLEANUP => 1);
chmod 0755, $directory;
%ENV = (%ENV, BENCH_PROGRAMS => $programs, BENCH_DIRECTORY => $directory, LC_ALL => 'C.UTF-8');
delete @ENV{qw(BENCH_ONLY BENCH_REPETITIONS)};

# run(NAME => VALUE...): run the bench with these variables. Return the table, the messages, and the
# exit status.
sub run
{
	local %ENV = (%ENV, @_);
	my $table = `test/scripts/bench.sh 2>"$directory/told"`;
	my $status = $? >> 8;

	open my $file, '<', "$directory/told" or die "could not read what was told: $!\n";
	my $told = do { local $/; <$file> };
	return ($table, $told, $status);
}

sub contents
{
	my ($name) = @_;

	open my $file, '<', "$directory/$name" or return '';
	local $/;
	return <$file>;
}

# Cases that resemble others, with the names of their figures.
my %like_others = (
	'copy-yarn-shuffled' => 'COPY, YARN ids, shuffled', 'copy-yarn-few' => 'COPY, YARN ids, shuffled, 20 allocations a project',
	'copy-pod-ordered' => 'COPY, free ids, in order', 'batch-yarn' => '1,000-row INSERTs, YARN ids',
	'single-yarn-8' => 'single rows, YARN ids, 8 clients', 'single-yarn-1-async' => 'single rows, YARN ids, 1 client, synchronous_commit off',
	'single-yarn-8-async' => 'single rows, YARN ids, 8 clients, synchronous_commit off', 'single-pod-1' => 'single rows, free ids, 1 client',
	'single-pod-8' => 'single rows, free ids, 8 clients', 'single-pod-1-async' => 'single rows, free ids, 1 client, synchronous_commit off',
	'hot' => 'one project, 16 clients against', 'memory-starts-4MB' => 'memory of a statement', 'memory-starts-64MB' => 'memory of a statement',
	'memory-lifecycles-4MB' => 'memory of a statement', 'balance-all' => 'balances of', 'flat-batch-yarn' => 'batch, YARN ids',
	'allocation-regimes' => 'schedule(), filling the cluster: four times as many nodes, leaves and applications, all leaves below the root',
	'allocation-leaf' => 'schedule(), filling the cluster: four times as many nodes and applications, one leaf',
	'month-reports-dense' => 'rerate(), factor of a month, 1000 charges',
);
my $only = is_soak() ? '.' : '^(?!(?:' . join('|', sort keys %like_others) . ')$)';
my ($table, $told, $status) = run(BENCH_SCALE => 'toy', BENCH_ONLY => $only);
is($status, 0, 'every case can be run') or diag($told);

my $report = eval { JSON::PP->new->decode(contents('bench.json')) } || { rows => [] };
my @rows = @{ $report->{rows} };
is($report->{about}{scale}, 'toy', 'the report says at which scale');

foreach my $case (
	(is_soak() ? values %like_others : ()), 'COPY, YARN ids, in order', 'COPY, free ids, shuffled', 'COPY, few rows', '1,000-row INSERTs, free ids',
	'single rows, YARN ids, 1 client', 'single rows, free ids, 8 clients, synchronous_commit off', 'one project, 16 clients, 2 ms of other work',
	'memory of a statement', 'QUOTA_COMPUTE', 'new multiplier',
	'base-price change', 'balance of a project', 'balances of', 'cost of a running container',
	'cost of a finished container', 'cost of an application', 'first event of a connection', 'cost of a month', 'report_html() of a month', 'explain_charge() of a month', 'cost by node of a month', 'top_costs() by application of a month', 'balance_at() of a month',
	'forecast() of a month', 'rerate(), base price of a month', 'rerate(), price group of a month',
	'batch, random ids', 'single rows, random ids', 'verify() of the last month', 'verify() of',
	'room of a lifecycle', 'archive() of', 'ACL checks in one session', 'placements in one session',
	'change of one queue', 'one queue more or less', 'change of one mapping rule', 'first ACL check after', 'first look at effective_queue',
	'effective_queue in full', 'import of the whole configuration', 'import of what is configured already', 'export of the whole',
	'submit_application, single rows, 1 client', 'submit_application, single rows, 8 clients', 'finish_application', 'submit_application to one queue',
	'activate_applications() of all queues', 'schedule(), dry run: decisions', 'schedule(): containers recorded', 'schedule(), dry run when the cluster is full',
	'schedule(), peak memory', 'schedule(), filling the cluster: four times as many nodes', 'schedule(), filling the cluster: four times as many applications',
	'schedule(), filling the cluster: four times as many nodes and applications', 'schedule(), the cluster being full: four times as many nodes',
	'schedule(), filling the cluster: four times as many request keys', 'schedule(), the cluster being full: four times as many request keys',
	'node_heartbeat() of one node, 1 client', 'node_heartbeat() of one node, 8 clients', 'node_heartbeat() of one node, 8 clients, 400/s together',
	'node_heartbeat() of one node, 8 clients, 400/s together, 400 events/s and preemption', 'node_heartbeat(), peak memory',
	'preempt_containers() that selects nothing', 'preempt_containers() that marks', 'preempt_containers() that kills',
	'preempt_containers(), memory of a round', 'preempt_containers(), room of', 'preempt_containers() that finds',
	'report_nodes(), a round of', 'sorting the nodes and the limit of their queues', 'allocate_opportunistic() of 1000 containers',
	'allocate_opportunistic() from the', 'allocate_opportunistic() of one container, 1 client', 'allocate_opportunistic() of one container, 8 clients')
{
	my @found = grep { index($_->{case}, $case) == 0 } @rows;
	my @without = grep { !defined $_->{figure} && $_->{verdict} ne 'not there' } @found;

	ok(@found > 0 && !@without, "the case has a figure: $case") or diag(map { "$_->{case}: $_->{verdict}\n" } @without);
}
is_deeply([ map { $_->{case} } grep { $_->{target} ne '' && $_->{verdict} !~ /^(?:met|missed|not there)$/ } @rows ], [],
	'a case that has a target has a verdict');
is_deeply([ map { $_->{case} } grep { $_->{verdict} =~ /^(?:met|missed)$/ && !defined $_->{value} } @rows ], [],
	'a verdict is about a value');
like($table, qr/^\| \Q$_->{case}\E /m, "the table has it: $_->{case}") foreach @rows[ 0, $#rows ];
is(() = $table =~ /^\|/mg, @rows + 2, 'the table has one line for each row');
like(contents('bench.md'), qr/\Q$table\E\z/, 'the table is written to a file');

($table, $told, $status) = run(BENCH_SCALE => 'toy', BENCH_ONLY => 'copy-naive');
is($status, 0, 'a single case can be run');
like($table, qr/^\| COPY, few rows[^\n]*\n\z/m, 'the table of a single case has nothing else');

isnt((run(BENCH_SCALE => 'toy', BENCH_ONLY => 'none'))[2], 0, 'a case that does not exist is an error');
isnt((run(BENCH_SCALE => 'huge'))[2], 0, 'an unknown scale is an error');
ok(!-e "$directory/bench/data", 'the cluster is gone');

done_testing();
