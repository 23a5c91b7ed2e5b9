# demo.pl
#
# The demonstration works at small scale. It replays a generated history and a trace of a few pods. Its output
# agrees with its description, and its server runs until it is stopped.
use strict;
use warnings;

use File::Basename qw(dirname);
use File::Temp qw(tempdir);
use Test::More;

my $programs;
foreach my $directory (split /:/, $ENV{PATH})
{
	next unless -x "$directory/postgres";
	$programs = $directory;
	last;
}

chdir dirname(__FILE__) . '/../..' or die "could not enter the checkout: $!\n";

# The name is short, because the path of the socket has a maximum length.
my $directory = tempdir('yquota-demo-XXXXXX', TMPDIR => 1, CLEANUP => 1);
chmod 0755, $directory;
%ENV = (%ENV, DEMO_PROGRAMS => $programs, DEMO_DIRECTORY => "$directory/demo", LC_ALL => 'C.UTF-8');
delete $ENV{TRACE};

# Stop the server also when the test gives up.
END
{
	my $status = $?;

	system 'docs/demo/stop.sh' if defined $directory && -e "$directory/demo/programs";
	$? = $status;
}

# run(SCRIPT): return standard output and error of a script as characters, and whether it succeeded.
sub run
{
	my ($script) = @_;

	open my $pipe, '-|:encoding(UTF-8)', "$script 2>&1" or die "could not run $script: $!\n";
	my $output = do { local $/; <$pipe> };
	my $succeeded = close $pipe;
	diag($output) unless $succeeded;
	return ($succeeded, $output // '');
}

sub query
{
	my ($sql) = @_;
	my $result = `'$programs/psql' -XAtq -h '$ENV{DEMO_DIRECTORY}/data.socket' -p 5432 -U postgres -d demo -c "$sql"`;

	chomp $result;
	return $result;
}

sub widest { my $most = 0; foreach (split /\n/, $_[0]) { $most = length if length > $most; } return $most; }

# Return the output of the demonstration without seconds and without the worker's progress.
sub steady { my ($output) = @_; $output =~ s/in \d+ seconds|^The worker .*//mg; return $output; }

#
# A generated history
#
$ENV{DEMO_DAYS} = 2;
my ($succeeded, $output) = run('docs/demo/run.sh');
ok($succeeded, 'a generated history is replayed');
like($output, qr/^=== \Q$_\E/m, "the demo shows: $_")
  foreach 'The price over time', 'The dearest projects', 'Cost by queue', 'Cost by day', 'One container\'s bill',
  'Live balances';
like($output, qr/\x{2588}/, 'the chart has blocks in a UTF-8 locale');
my ($before_hints) = $output =~ /(.*)^The cluster is running/ms;
cmp_ok(widest($before_hints), '<=', 100, 'no line has more than 100 columns');
like($output, qr/equal to the last digit/, 'the explained bill equals the bill in the ledger');
like($output, qr/\d{4}-\d\d-\d\d \d\d:\d\d\n/, 'a balance has a time of exhaustion');

is(query('SELECT count(*) FROM yquota.verify()'), '0', 'the books are right');
is(query('SELECT max(at) = yquota.clock() FROM yquota_internal.charged_through'),
	't', 'all events up to the clock are charged');
is(query('SELECT count(*) > 0 FROM demo.pod WHERE resized IS NOT NULL'), 't', 'several containers were resized');
is( query(
		'SELECT sum(amount) = (SELECT sum(charged + accrued) FROM yquota.project_balance)'
		  . q( FROM yquota.cost_between('-infinity', 'infinity'))),
	't', 'costs and balances agree');
is(query('SELECT state FROM yquota.worker_status'), 'running', 'the worker is running');
cmp_ok(-s "$ENV{DEMO_DIRECTORY}/report.html", '>', 20000, 'there is a report with charts');

my ($again, $same_output) = run('docs/demo/run.sh');
ok($again, 'the report can be run again while its cluster is running');
is(steady($same_output), steady($output), 'a repeated history has the same outcome');

#
# A trace of two nodes, of which only the first is used, with pods of every kind
#
mkdir "$directory/trace" or die "could not make a directory: $!\n";
sub write_file
{
	my ($name, @lines) = @_;

	open my $file, '>', "$directory/trace/$name" or die "could not write \"$name\": $!\n";
	print $file "$_\n" foreach @lines;
	close $file or die "could not write \"$name\": $!\n";
	return;
}
write_file('openb_nodes.csv', 'sn,cpu_milli,memory_mib,gpu,model', 'node-0000,16000,65536,2,T4', 'node-0001,64000,262144,0,');
write_file('openb_pods.csv',
	'name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time',
	'pod-0000,12000,16384,1,1000,,LS,Running,0,172800,0',
	'pod-0001,2500,8192,1,460,,LS,Succeeded,3000,20000,3600',
	'pod-0002,8000,4096,0,0,,BE,Failed,5000,30000,5001',
	'pod-0003,8000,4096,0,0,,LS,Pending,6000,40000,',
	'pod-0004,6000,16384,2,1000,,Burstable,Running,7000,90000,7000');
$ENV{TRACE} = "$directory/trace";
$ENV{LC_ALL} = 'C';
delete $ENV{DEMO_DAYS};
($succeeded, $output) = run('docs/demo/run.sh');
ok($succeeded, 'a trace is replayed');
unlike($output, qr/[^\x00-\x7f]/, 'in another locale the output is pure ASCII');
like($output, qr/^GPU, .*#/ms, 'in another locale the chart is in ASCII');
like($output, qr/equal to the last digit/, 'a bill of the trace is explained');
is(query('SELECT count(*) FROM demo.node'), '1', 'every 200th node takes part');
is( query(
		q(SELECT string_agg(container_id || ' ' || execution_type || ' ' || allocation::text, E'\n' ORDER BY container_id) FROM yquota.container_cost)
	),
	join("\n",
		'pod-0000 GUARANTEED [cpu-milli=12000,gpu-milli=1000,memory-mb=16384]',
		'pod-0001 GUARANTEED [cpu-milli=2500,gpu-milli=460,memory-mb=8192]',
		'pod-0002 OPPORTUNISTIC [cpu-milli=8000,memory-mb=4096]',
		'pod-0004 GUARANTEED [cpu-milli=6000,gpu-milli=2000,memory-mb=16384]'),
	'a pod that ran in the trace is a container, with thousandths of cores and GPUs');
is( query(q(SELECT string_agg(container_id, ' ') FROM yquota.container)),
	'pod-0000', 'a pod that ends at the last instant is still running');
is( query(q(SELECT max(utilization) > 1 FROM yquota.price WHERE price_group = 'GPU')),
	't', 'utilization above 1 is priced');
is(query('SELECT count(*) FROM yquota.verify()'), '0', 'its books are right');

#
# The end
#
ok((run('docs/demo/stop.sh'))[0], 'the cluster is stopped');
ok(!-e "$ENV{DEMO_DIRECTORY}/data", 'the data of the cluster are gone');
ok((run('docs/demo/stop.sh'))[0], 'a second stop is no error');

done_testing();
