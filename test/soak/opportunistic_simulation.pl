# The simulation of idle capacity (docs/examples/opportunistic_simulation) is repeatable, and agrees with yquota's
# charges of each container. On a few hours of a generated history it gives the results that idle-capacity.md states.

use strict;
use warnings;

use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('opportunistic_simulation');
$node->init;
$node->append_conf('postgresql.conf', "fsync = off\njit = off");
$node->start;

# Run the simulation, and return columns of simulation.outcome by scenario.
sub play
{
	my ($database, @arguments) = @_;
	my ($output, $errors);
	my %outcome;

	$node->safe_psql('postgres', "CREATE DATABASE $database");
	IPC::Run::run(
		[ 'psql', '-XAqt', '-d', $node->connstr($database), @arguments, '-f', 'docs/examples/opportunistic_simulation/run.sql' ],
		'>', \$output, '2>', \$errors);
	is($errors, '', "the simulation runs in $database");
	foreach my $row (split /\n/, $node->safe_psql($database, 'SELECT * FROM simulation.outcome'))
	{
		my ($scenario, @figures) = split /\|/, $row;

		@{ $outcome{$scenario} }{
			qw(cores useful memory memory_useful completed median mean most kills lost guaranteed_median guaranteed_most guaranteed_credits credits differences problems)
		} = @figures;
	}
	return \%outcome;
}

my @window = map { ('-v', $_) } qw(days=30 first_hour=249 hours=4 folded_hours=24);
my $outcome = play('simulation', @window);
my $hadoop = $outcome->{'as in Hadoop'};

foreach my $scenario (sort keys %$outcome)
{
	is("$outcome->{$scenario}{differences} $outcome->{$scenario}{problems}",
		'0 0', "$scenario: containers are what yquota says of them, and verify() has no objections");
}
is($node->safe_psql('simulation', 'SELECT count(*) FROM simulation.scenario'), scalar keys %$outcome, 'every scenario has an outcome');

cmp_ok($hadoop->{kills}, '>', 0, 'Hadoop kills OPPORTUNISTIC containers');
cmp_ok($hadoop->{useful}, '<', $hadoop->{cores}, 'Hadoop loses the work of killed containers');
my $pause = $outcome->{'pause, not kill'};
is("$pause->{kills} $pause->{lost}", '0 0', 'nothing is killed that is paused');
is($pause->{useful}, $pause->{cores}, 'no work of paused containers is lost');
is($pause->{guaranteed_most}, $hadoop->{guaranteed_most}, 'GUARANTEED containers wait no longer');

#
# Run the simulation again, and add up its charges independently
#
my $again = play('repeated', @window, '-v', 'only=as in Hadoop');
is_deeply($again, { 'as in Hadoop' => $hadoop }, 'the window has an equal outcome in a second run');
is( $node->safe_psql('repeated_played', q{
		SELECT sum(greatest(vcores, memory_mb / 4096.0) * seconds * CASE WHEN is_opportunistic THEN 0.5 ELSE 1 END)
			   = (SELECT sum(amount) FROM yquota.cost_between('-infinity', 'infinity'))
		FROM simulation.run}),
	't', 'the charge is for the time that containers ran');
is($node->safe_psql('repeated_played', q{SELECT count(*) FROM simulation.told WHERE decision = 'killed'}), $hadoop->{kills}, 'each kill was told as a decision');
is( $node->safe_psql('repeated_played', 'SELECT count(*) > 0 FROM simulation.pod WHERE is_opportunistic AND asks_at > (SELECT to_at FROM simulation.plan)'),
	'f', 'all pods ask in the window');

#
# Load a trace: all columns of its files are read, and pods that never ran also make requests
#
my $trace = PostgreSQL::Test::Utils::tempdir();
append_to_file("$trace/openb_nodes.csv", "sn,cpu_milli,memory_mib,gpu,model\nnode-0000,16000,65536,2,T4\n");
append_to_file("$trace/openb_pods.csv", <<'END');
name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time
pod-0000,10000,16384,1,1000,,LS,Running,0,172800,0
pod-0001,2500,8192,0,0,,BE,Succeeded,3000,4200,3600
pod-0002,8000,4096,0,0,,LS,Pending,3100,4000,
pod-0003,4000,4096,0,0,,BE,Failed,10210,10300,10211
pod-0004,32000,4096,0,0,,LS,Running,0,4000,0
END
my $traced = play('traced', '-v', "trace=$trace", '-v', 'first_hour=0', '-v', 'hours=2', '-v', 'folded_hours=2', '-v', 'only=as in Hadoop');
is( $node->safe_psql('traced_played', q{
		SELECT string_agg(concat_ws('|', p.number, p.is_opportunistic, p.vcores, p.memory_mb, p.asks_at - from_at, p.duration, round(w.seconds), p.completed_at - from_at), ' ' ORDER BY p.number)
		FROM simulation.pod AS p JOIN simulation.wait AS w USING (number), simulation.plan}),
	join(' ', '0|f|10|16384|00:00:00|48:00:00|0', '1|t|3|8192|00:50:00|00:10:00|0|01:00:00', '2|f|8|4096|00:51:40|00:15:00|4100', '3|t|4|4096|00:50:10|00:01:29|590|01:01:29'),
	'a pod too large for a node is left out, one waits for its room to the end, and one until another has ended');

done_testing();
