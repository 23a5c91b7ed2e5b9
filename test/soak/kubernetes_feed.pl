# The connector for Kubernetes (src/connectors/kubernetes) reads an API server with the rights of its manifests, and
# feeds a server. Each pod of the golden files gets the rows and the cost that its file states. Then pods run while the
# database is down, and while connectors are killed: first the leader, whose replica takes over, and later both. A
# comparison that would finish too many pods waits for a person. A node is partitioned, which ends nothing, and is then
# lost. A separate account has the times and sizes of all pods, and every charge agrees with it to the last digit.
# Finally, the golden pods get the same rows and costs with the oldest Kubernetes that the connector supports.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../t";
use KubernetesCluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

use constant { LEASE_S => KubernetesCluster::LEASE_S, OBSERVED_WITHIN_S => 30, FILLERS => 12 };

my $cluster = KubernetesCluster->new;

sub sql { return $cluster->sql($_[0]); }

sub lines { return $cluster->lines($_[0]); }

sub command { return $cluster->command(@_); }

sub wait_for { return $cluster->wait_for(@_); }

sub kill_program { return $cluster->end($_[0], 'KILL'); }

# form(CLUSTER, AMOUNTS): return an allocation as the cluster's server writes it.
sub form { return $_[0]->sql("SELECT yquota.resource '[$_[1]]'"); }

# check_golden(CLUSTER, GOLDEN): check rows and costs of the golden pods. The rows name the UIDs that the API server
# has given.
sub check_golden
{
	my ($on, $golden) = @_;
	my (@expected, %cost);

	$on->wait_for('the rows of the golden pods arrive', sub { return $on->sql("SELECT count(*) FROM yquota.container_event WHERE event = 'CONTAINER_FINISH'") == 8; });
	foreach my $want (@$golden)
	{
		my %uid = (%{ $want->{owners} // {} }, $want->{golden}{pod}{metadata}{name} => $want->{uid});

		$cost{ $want->{uid} } = $want->{golden}{cost} if @{ $want->{golden}{rows} // [] };
		foreach my $row (@{ $want->{golden}{rows} // [] })
		{
			my $application = $row->{application_id} // '';
			$application =~ s{([^/]+)$}{$uid{$1}};
			my $amounts = $row->{allocation} // {};
			push @expected, join '|', $row->{event}, $want->{uid}, $row->{occurred_at}, $row->{project} // '', $application, $row->{username} // '',
			  $row->{queue} // '', $row->{node} // '', (defined $row->{allocation} ? form($on, join ',', map { "$_=$amounts->{$_}" } sort keys %$amounts) : ''),
			  $row->{execution_type} // '', $row->{exit_status} // '';
		}
	}
	is_deeply([ sort split /\n/, $on->sql(<<'SQL') ], [ sort @expected ], 'golden pods become their rows');
SELECT event, container_id, to_char(occurred_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), project, application_id, username, queue, node,
	   allocation, execution_type, exit_status
FROM yquota.container_event WHERE event <> 'QUOTA_COMPUTE'
SQL
	is_deeply({ map { $_->[0] => $_->[1] } $on->lines('SELECT container_id, trim_scale(cost) FROM yquota.container_cost') },
		\%cost, 'golden pods cost what their file says');
	return;
}

# The unit tests run while this test waits.
my $source = $cluster->source;
$cluster->begin('unit', 'go', "-C=$source", 'test', '-vet=off', './...');
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

# A dry run prints rows.
$cluster->run_connector('dry', '--dry-run', '--settings', "$source/golden/settings.yaml");
wait_for('a dry run prints the rows of the golden pods', sub { return 16 == scalar(() = $cluster->output('dry') =~ /^\{"event":"CONTAINER_/mg); });
kill_program('dry');
is(sql('SELECT count(*) FROM yquota.container_event'), 0, 'a dry run sends nothing');

$cluster->begin_connector(0);
check_golden($cluster, $golden);
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
$cluster->begin_connector(1);
resize_pod('pod-1', 700);
wait_for('a resize arrives', sub { return scalar(events('pod-1')) == 2; });
end_pod('pod-2');
delete_pod('pod-3');
wait_for('ends arrive', sub { return has_ended('pod-2') && has_ended('pod-3'); });

# The database is down. Then the leader is killed, and a pod vanishes before the other replica leads.
$cluster->books->stop('immediate');
end_pod('pod-4');
resize_pod('pod-5', 2000);
run_pod('pod-10', 'n1', 333, 77);
sleep LEASE_S / 4;
kill_program('yquota-0');
delete_pod('pod-6');
wait_for('the other replica leads', sub { return command('lease')->{spec}{holderIdentity} eq 'yquota-1'; });
$cluster->books->start;
wait_for('what happened meanwhile arrives', sub { return has_ended('pod-4') && has_ended('pod-6') && events('pod-10') > 0 && events('pod-5') > 1; });
$cluster->begin_connector(0);
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
$cluster->begin_connector(0);
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
$cluster->begin_connector(0);
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
my $told = sub { my ($what) = @_; return scalar(() = $cluster->output('yquota-1') =~ /$what/g); };
my ($listed, $compared) = map { $told->($_) } '"listed","resource":"pods"', 'the books are compared';
$cluster->begin_connector(1);
wait_for('the other replica starts again', sub { return $told->('"listed","resource":"pods"') > $listed; });
is($cluster->end('yquota-0', 'TERM'), 0, 'a connector ends when it is told to');
wait_for('the other replica leads at once', sub { return command('lease')->{spec}{holderIdentity} eq 'yquota-1'; });
wait_for('the other replica compares the books', sub { return $told->('the books are compared') > $compared; });
is(sql($books), $before, 'events that are sent again change nothing');

is($cluster->end('unit'), 0, 'the unit tests pass') or diag($cluster->output('unit'));

kill_program('yquota-1');
$cluster->stop;

# The oldest Kubernetes that the connector supports.
SKIP:
{
	my $lacks = KubernetesCluster::lacks('1.35');

	skip $lacks, 1 if $lacks;
	my $oldest = KubernetesCluster->new(version => '1.35');
	my $pods = $oldest->command('golden');
	$oldest->begin_connector(0);
	check_golden($oldest, $pods);
	$oldest->end('yquota-0', 'KILL');
	$oldest->stop;
}
done_testing();
