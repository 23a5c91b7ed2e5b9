# The connector for Kubernetes (src/connectors/kubernetes) reads an API server with the rights of its manifests, and
# feeds a server. Each pod of the golden files gets the rows and the cost that its file states. Then pods run while the
# database is down, and while connectors are killed: first the leader, whose replica takes over, and later both. A
# comparison that would finish too many pods waits for a person. A node is partitioned, which ends nothing, and is then
# lost. A separate account has the times and sizes of all pods, and every charge agrees with it to the last digit.

use strict;
use warnings;

use Cwd qw(getcwd);
use FindBin;
use lib "$FindBin::RealBin/../t";
use IPC::Open2;
use JSON::PP;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);
use WorkerNode;

use constant { LEASE_S => 4, GIVE_UP_S => 240, OBSERVED_WITHIN_S => 30, FILLERS => 12 };

my $programs = "$ENV{YQUOTA_STAGE}/../kubernetes";
plan skip_all => 'go is not installed' if system('command -v go >/dev/null') != 0;
my $directory = PostgreSQL::Test::Utils::tempdir;
my $source = "$directory/source";
system_or_bail('cp', '-r', getcwd() . '/src/connectors/kubernetes', $source);
my ($wanted) = slurp_file("$source/go.mod") =~ /^go 1\.([0-9]+)/m;
my ($found) = `go env GOVERSION` =~ /^go1\.([0-9]+)/;
plan skip_all => "go 1.$wanted is not installed" if $found < $wanted;
foreach my $program (qw(etcd kube-apiserver))
{
	plan skip_all => "$program is not built: run make kubernetes" if !-x "$programs/$program";
}

my (%pid, $cluster_said, $cluster_told);

# The cluster stops its own programs when there are no more commands.
END
{
	my $status = $?;
	my $cluster = delete $pid{cluster};

	kill 'KILL', values %pid;
	close $cluster_told if $cluster_told;
	waitpid $cluster, 0 if $cluster;
	$? = $status;
}

system_or_bail('go', "-C=$source", 'build', '-buildvcs=false', '-o', "$directory/", '.', './testcluster');

my $node = new_node('books', q(listen_addresses = '127.0.0.1'));
$node->safe_psql('postgres', 'CREATE DATABASE work');
$node->safe_psql('work', <<'SQL');
CREATE EXTENSION IF NOT EXISTS yquota;
CREATE ROLE feeder LOGIN;
SELECT yquota.allow_role('feeder', 'operator');
INSERT INTO yquota.resource_type (name, price_group, base_price, unit) VALUES
	('cpu-milli', 'GENERAL', 1, 1000), ('nvidia.com/gpu', 'GPU', 10, 1);
INSERT INTO yquota.project (name) VALUES ('science'), ('shop'), ('Not a name of Kubernetes');
INSERT INTO yquota.quota_grant (project, amount, reason) VALUES ('science', 1000000.125, 'a year of work');
SQL

sub sql { return $node->safe_psql('work', $_[0]); }

sub lines { return map { [ split /\|/, $_, -1 ] } split /\n/, sql($_[0]); }

# form(AMOUNTS): return an allocation as the server writes it.
sub form { return sql("SELECT yquota.resource '[$_[0]]'"); }

# Start a program whose errors go to a file.
sub begin
{
	my ($name, @command) = @_;
	my $out = "$directory/$name.out";

	append_to_file($out, '');
	my $pid = fork // die "cannot fork: $!";
	if ($pid == 0)
	{
		open STDOUT, '>>', $out or die "cannot write: $!";
		open STDERR, '>&', \*STDOUT or die "cannot redirect: $!";
		exec @command or die "cannot run $command[0]: $!";
	}
	$pid{$name} = $pid;
	return;
}

sub kill_program
{
	my ($name) = @_;

	kill 'KILL', $pid{$name};
	waitpid delete $pid{$name}, 0;
	return;
}

# command(WORD...): tell the cluster a command, and return its answer.
sub command
{
	syswrite $cluster_told, "@_\n" or die "could not tell the cluster: $!";
	return answer();
}

sub answer
{
	my $line = readline $cluster_said;

	return decode_json("[$line]")->[0] if defined $line;
	diag(scalar slurp_file("$directory/cluster.err"));
	BAIL_OUT('the control plane has ended');
}

# wait_for(NAME, CONDITION): wait until the condition holds.
sub wait_for
{
	my ($name, $condition) = @_;
	my $end = time + GIVE_UP_S;

	sleep 0.1 while !$condition->() && time < $end;
	my $holds = ok($condition->(), $name);
	diag(map { "$_:\n" . substr(slurp_file("$directory/$_.out"), -3000) } grep { -e "$directory/$_.out" } 'yquota-0', 'yquota-1') if !$holds;
	return;
}

# The control plane.
open my $errors, '>', "$directory/cluster.err" or die "cannot write: $!";
open my $saved, '>&', \*STDERR or die "cannot keep standard error: $!";
open STDERR, '>&', $errors or die "cannot redirect standard error: $!";
$ENV{KUBEBUILDER_ASSETS} = $programs;
$pid{cluster} = open2($cluster_said, $cluster_told, "$directory/testcluster", "$source/deploy", $directory);
open STDERR, '>&', $saved or die "cannot restore standard error: $!";
is(answer(), 'ready', 'the control plane runs');
# The unit tests run while this test waits.
begin('unit', 'go', "-C=$source", 'test', '-vet=off', './...');
my $golden = command('golden');
command('node', $_, 'True') foreach qw(n1 n2);

# The rights of the connector: it reads, and writes its own Lease.
my %right = map { $_ => 1 } ((map { ("get -/$_ -", "list -/$_ -", "watch -/$_ -") } qw(pods nodes namespaces)),
	(map { "get $_ -" } qw(apps/replicasets apps/statefulsets batch/jobs jobset.x-k8s.io/jobsets ray.io/rayclusters)),
	(map { "$_ yquota.io/yquotas -" } qw(get list watch create delete)), 'update yquota.io/yquotas/status -',
	(map { "$_ coordination.k8s.io/leases yquota" } qw(get update)));
my @resources = qw(-/pods -/pods/status -/pods/eviction -/pods/binding -/pods/exec -/nodes -/namespaces -/secrets -/configmaps -/serviceaccounts/token apps/replicasets
	apps/statefulsets apps/deployments batch/jobs jobset.x-k8s.io/jobsets ray.io/rayclusters rbac.authorization.k8s.io/clusterroles coordination.k8s.io/leases yquota.io/yquotas
	yquota.io/yquotas/status);
my @rights = map { my $resource = $_; map { my $verb = $_; map { "$verb $resource $_" } '-', 'yquota' } qw(get list watch create update patch delete) } @resources;
is_deeply([ grep { command('may', $_) } @rights ], [ grep { $right{$_} || $right{ s/yquota\z/-/r } } @rights ], 'the manifests give these rights and no others');

# The connector, twice.
mkdir "$directory/spool-$_" or die "cannot make a directory: $!" foreach 0, 1;
sub begin_connector
{
	my ($number) = @_;
	my $settings = "$directory/settings-$number.yaml";

	if (!-e $settings)
	{
		append_to_file($settings, slurp_file("$source/golden/settings.yaml") . <<"YAML");
spool: {directory: $directory/spool-$number}
lease: {namespace: yquota, duration: @{[LEASE_S]}s}
compute_interval: 1s
balance_interval: 1s
listen: "127.0.0.1:0"
YAML
	}
	local @ENV{qw(POD_NAME PGHOST PGPORT PGUSER PGDATABASE)} = ("yquota-$number", '127.0.0.1', $node->port, 'feeder', 'work');
	begin("yquota-$number", "$directory/kubernetes", '--settings', $settings, '--kubeconfig', "$directory/connector.kubeconfig");
	return;
}

# A dry run prints rows.
{
	local $ENV{POD_NAME} = 'dry';
	begin('dry', "$directory/kubernetes", '--dry-run', '--settings', "$source/golden/settings.yaml", '--kubeconfig', "$directory/connector.kubeconfig");
	my $rows = sub { return scalar(() = slurp_file("$directory/dry.out") =~ /^\{"event":"CONTAINER_/mg); };
	wait_for('a dry run prints the rows of the golden pods', sub { return $rows->() == 16; });
	kill_program('dry');
}
is(sql('SELECT count(*) FROM yquota.container_event'), 0, 'a dry run sends nothing');

begin_connector(0);
wait_for('the rows of the golden pods arrive', sub { return sql("SELECT count(*) FROM yquota.container_event WHERE event = 'CONTAINER_FINISH'") == 8; });

# The rows of a golden pod name the UIDs that the API server has given.
my (@expected, %cost);
foreach my $want (@$golden)
{
	my %uid = (%{ $want->{owners} // {} }, $want->{golden}{pod}{metadata}{name} => $want->{uid});

	$cost{ $want->{uid} } = $want->{golden}{cost} if @{ $want->{golden}{rows} // [] };
	foreach my $row (@{ $want->{golden}{rows} // [] })
	{
		my $application = $row->{application_id} // '';
		$application =~ s{([^/]+)$}{$uid{$1}};
		my $amounts = $row->{allocation} // {};
		push @expected, join '|', $row->{event}, $want->{uid}, $row->{occurred_at}, $row->{project} // '', $application, $row->{username} // '', $row->{queue} // '',
		  $row->{node} // '', (defined $row->{allocation} ? form(join ',', map { "$_=$amounts->{$_}" } sort keys %$amounts) : ''), $row->{execution_type} // '',
		  $row->{exit_status} // '';
	}
}
is_deeply([ sort split /\n/, sql(<<'SQL') ], [ sort @expected ], 'golden pods become their rows');
SELECT event, container_id, to_char(occurred_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), project, application_id, username, queue, node,
	   allocation, execution_type, exit_status
FROM yquota.container_event WHERE event <> 'QUOTA_COMPUTE'
SQL
is_deeply({ map { $_->[0] => $_->[1] } lines('SELECT container_id, trim_scale(cost) FROM yquota.container_cost') }, \%cost, 'golden pods cost what their file says');
is(sql("SELECT DISTINCT tags FROM yquota.application_tags WHERE application_id LIKE 'Pod/lab/pi-driver/%'"), '{"account": "spark"}', 'an application has the tags of its pod');
is(sql("SELECT string_agg(name || state, ' ' ORDER BY name) FROM yquota.node WHERE total OPERATOR(yquota.=) '[cpu-milli=64000,memory-mb=262144]'"), 'n1RUNNING n2RUNNING',
	'the nodes are known');

# Pods that live now. The account has the sizes of each pod, its start and its end. The connector itself observes some
# ends; for these the account has the time after which they happened.
my %live;
sub run_pod
{
	my ($name, $on, $cpu, $memory) = @_;
	my $pod = command('run', $name, $on, "${cpu}m", "${memory}Mi");
	my ($scheduled) = grep { $_->{type} eq 'PodScheduled' } @{ $pod->{status}{conditions} };

	$live{$name} = { uid => $pod->{metadata}{uid}, memory => $memory, sizes => [ { cpu => $cpu } ], start => $scheduled->{lastTransitionTime} };
	return;
}

sub resize_pod
{
	my ($name, $cpu) = @_;
	my $before = time;

	command('resize', $name, "${cpu}m");
	push @{ $live{$name}{sizes} }, { cpu => $cpu, after => $before };
	return;
}

sub end_pod
{
	my ($name) = @_;

	$live{$name}{end} = command('end', $name)->{status}{containerStatuses}[0]{state}{terminated}{finishedAt};
	return;
}

# The time of the deletion itself has whole seconds.
sub delete_pod
{
	my ($name) = @_;

	$live{$name}{ends_after} = int time;
	command('delete', $name);
	return;
}

# events(POD): return the events of a pod in order. A START counts as it first arrived. An UPDATE that repeats the size
# changes nothing.
sub events
{
	my ($name) = @_;
	my $size = '';
	my @events;

	foreach my $event (lines(<<"SQL"))
SELECT DISTINCT ON (occurred_at, event) event, to_char(occurred_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'),
	   (extract(epoch FROM occurred_at) * 1000000)::bigint, allocation
FROM yquota.container_event
WHERE container_id = '$live{$name}{uid}'
ORDER BY occurred_at, event, event_id
SQL
	{
		push @events, $event if $event->[0] eq 'CONTAINER_FINISH' || $event->[3] ne $size;
		$size = $event->[3] if $event->[3] ne '';
	}
	return @events;
}

sub has_ended { return scalar grep { $_->[0] eq 'CONTAINER_FINISH' } events($_[0]); }

run_pod("filler-$_", 'n1', 10, 16) foreach 1 .. FILLERS;
run_pod("pod-$_", 'n1', 250 * $_, 100 * $_) foreach 1 .. 9;
run_pod("far-$_", 'n2', 500, 64) foreach 1, 2;
wait_for('pods that run are charged', sub { return sql('SELECT count(*) FROM yquota.container') == FILLERS + 11; });
begin_connector(1);
resize_pod('pod-1', 700);
wait_for('a resize arrives', sub { return scalar(events('pod-1')) == 2; });
end_pod('pod-2');
delete_pod('pod-3');
wait_for('ends arrive', sub { return has_ended('pod-2') && has_ended('pod-3'); });

# The database is down. Then the leader is killed, and a pod vanishes before the other replica leads.
$node->stop('immediate');
end_pod('pod-4');
resize_pod('pod-5', 2000);
run_pod('pod-10', 'n1', 333, 77);
sleep LEASE_S / 4;
kill_program('yquota-0');
delete_pod('pod-6');
wait_for('the other replica leads', sub { return command('lease')->{spec}{holderIdentity} eq 'yquota-1'; });
$node->start;
wait_for('what happened meanwhile arrives', sub { return has_ended('pod-4') && has_ended('pod-6') && events('pod-10') > 0 && events('pod-5') > 1; });
begin_connector(0);
my $unready = command('node', 'n2', 'Unknown')->{status}{conditions}[0]{lastTransitionTime};
$live{$_}{end} = $unready foreach 'far-1', 'far-2';

# Both replicas are killed.
sleep LEASE_S / 4;
kill_program($_) foreach 'yquota-0', 'yquota-1';
my $renewed = command('lease')->{spec}{renewTime};
delete_pod('pod-7');
$live{'pod-7'}{end_exactly} = $renewed;
end_pod('pod-8');
run_pod('pod-11', 'n1', 444, 88);
begin_connector(0);
wait_for('pods that vanished are finished', sub { return has_ended('pod-7') && has_ended('pod-8') && events('pod-11') > 0; });

# A comparison that would finish too many pods waits.
wait_for('the leader renews its Lease', sub { return command('lease')->{spec}{renewTime} gt $renewed; });
kill_program('yquota-0');
$renewed = command('lease')->{spec}{renewTime};
foreach (1 .. 5)
{
	delete_pod("filler-$_");
	$live{"filler-$_"}{end_exactly} = $renewed;
}
begin_connector(0);
wait_for('a comparison waits for a person', sub { return sql("SELECT problem FROM yquota.feed_status WHERE source = 'kubernetes'") =~ /would finish 5 of 19 pods/; });
ok(!(grep { has_ended("filler-$_") } 1 .. FILLERS), 'until then nothing is finished');
command('allow', 4);
sleep 3;
ok(!has_ended('filler-1'), 'a person has allowed too little');
command('allow', 5);
wait_for('pods are finished when a person allows it', sub { return !(grep { !has_ended("filler-$_") } 1 .. 5); });
ok(!exists command('lease')->{metadata}{annotations}{'yquota.io/finish-pods'}, 'the allowance counts once');

# A partition ends nothing. When the node is gone, its pods are taken to have ended when the node was last ready.
ok(!has_ended('far-1'), 'a partition ends nothing');
is(sql("SELECT state FROM yquota.node WHERE name = 'n2'"), 'UNHEALTHY', 'a partition is known');
command('lose', 'n2');
wait_for('a node that is gone ends its pods', sub { return has_ended('far-1') && has_ended('far-2'); });
wait_for('the node is lost', sub { return sql("SELECT state FROM yquota.node WHERE name = 'n2'") eq 'LOST'; });

end_pod("filler-$_") foreach 6 .. FILLERS;
end_pod($_) foreach grep { !$live{$_}{end} && !$live{$_}{ends_after} } sort keys %live;
wait_for('all pods end', sub { return sql('SELECT count(*) FROM yquota.container') == 0; });

# The account.
my (@wrong, %expected);
foreach my $name (sort keys %live)
{
	my $pod = $live{$name};
	my @events = events($name);
	my ($start, @updates) = grep { $_->[0] ne 'CONTAINER_FINISH' } @events;
	my ($finish) = grep { $_->[0] eq 'CONTAINER_FINISH' } @events;
	my @sizes = @{ $pod->{sizes} };
	my $charged = 0;

	push @wrong, "$name starts at $start->[1], not at $pod->{start}" if $start->[1] ne $pod->{start};
	push @wrong, "$name has " . @updates . ' updates' if @updates != @sizes - 1;
	push @wrong, "$name ends at $finish->[1], not at $pod->{end}" if $pod->{end} && $finish->[1] ne $pod->{end};
	push @wrong, "$name ends at $finish->[2], not after $pod->{ends_after}"
	  if $pod->{ends_after} && !$pod->{end_exactly} && ($finish->[2] < $pod->{ends_after} * 1_000_000 || $finish->[2] > ($pod->{ends_after} + OBSERVED_WITHIN_S) * 1_000_000);
	push @wrong, "$name ends at $finish->[2], not when it was last seen, at $pod->{end_exactly}"
	  if $pod->{end_exactly} && $finish->[2] != sql("SELECT (extract(epoch FROM timestamptz '$pod->{end_exactly}') * 1000000)::bigint");
	my @bounds = (@{ $start }[2], (map { $_->[2] } @updates), $finish->[2]);
	foreach my $i (0 .. $#sizes)
	{
		push @wrong, "$name changes at $bounds[$i], not after $sizes[$i]{after}"
		  if $i && ($bounds[$i] < $sizes[$i]{after} * 1_000_000 || $bounds[$i] > ($sizes[$i]{after} + OBSERVED_WITHIN_S) * 1_000_000);
		my $rate = $sizes[$i]{cpu} * 1024 > $pod->{memory} * 1000 ? $sizes[$i]{cpu} * 1024 : $pod->{memory} * 1000;
		$charged += ($bounds[ $i + 1 ] - $bounds[$i]) * $rate;
	}
	$expected{ $pod->{uid} } = $charged;
}
is_deeply(\@wrong, [], 'starts, sizes and ends are those of the account');
my %charged = map { $_->[0] => $_->[1] } lines('SELECT container_id, trim_scale(cost * 1024000 * 1000000) FROM yquota.container_cost');
is_deeply({ map { $_ => $charged{$_} } keys %expected }, \%expected, 'every pod costs what the account says, to the last digit');
is(sql('SELECT count(*) FROM yquota.event_reject'), 0, 'no event is set aside');
is(sql('SELECT count(*) FROM yquota.verify()'), 0, 'the books are right');

# The balances in the cluster.
my $written = sub {
	return join "\n", sort map { join '|', $_->{metadata}{name} =~ s/\.[0-9a-f]{16}\z//r, @{ $_->{status} }{qw(project granted spent remaining burnRate)} } @{ command('balances')->{items} };
};
my $balances = join "\n", sort split /\n/, sql(<<'SQL');
SELECT CASE WHEN project LIKE 'Not%' THEN 'project-not-a-name-of-kubernetes' ELSE project END, project, trim_scale(granted), trim_scale(charged + accrued),
	   trim_scale(remaining), 0
FROM yquota.project_balance
SQL
wait_for('balances of projects are in the cluster', sub { return $written->() eq $balances; });
sql("DELETE FROM yquota.project WHERE name LIKE 'Not%'");
wait_for('the balance of a project that is gone is removed', sub { return $written->() !~ /Not/; });

# The rest of the spool of a replica that did not lead changes nothing.
my $books = 'SELECT project, charged, accrued FROM yquota.project_balance ORDER BY project';
my $before = sql($books);
my $told = sub { my ($what) = @_; return scalar(() = slurp_file("$directory/yquota-1.out") =~ /$what/g); };
my ($listed, $compared) = map { $told->($_) } '"listed","resource":"pods"', 'the books are compared';
begin_connector(1);
wait_for('the other replica starts again', sub { return $told->('"listed","resource":"pods"') > $listed; });
kill 'TERM', $pid{'yquota-0'};
waitpid delete $pid{'yquota-0'}, 0;
is($?, 0, 'a connector ends when it is told to');
wait_for('the other replica leads at once', sub { return command('lease')->{spec}{holderIdentity} eq 'yquota-1'; });
wait_for('the other replica compares the books', sub { return $told->('the books are compared') > $compared; });
is(sql($books), $before, 'events that are sent again change nothing');

waitpid delete $pid{unit}, 0;
is($?, 0, 'the unit tests pass') or diag(scalar slurp_file("$directory/unit.out"));

kill_program('yquota-1');
close $cluster_told;
waitpid delete $pid{cluster}, 0;
is($?, 0, 'the control plane ends');
$node->stop;
done_testing();
