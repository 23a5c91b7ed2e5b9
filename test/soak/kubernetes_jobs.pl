# The connector for Kubernetes (src/connectors/kubernetes) charges pods of the real scheduler and controller manager.
# They come from a Deployment, a DaemonSet, a CronJob and Jobs, two of which wait in a queue of Kueue. The controller
# manager tries a Job again, and replaces an evicted pod. It evicts the pods of a node that does not report, and
# removes pods that have ended or whose node is gone. testcluster plays the kubelets. Each pod is charged once, to the
# application that made it. The charge reaches from the time at which the scheduler bound the pod to the end that the
# documentation names.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../t";
use KubernetesCluster;
use List::Util qw(first);
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);
use Time::Local qw(timegm);

use constant { REPORTS_WITHIN_S => 10, FAILED => 1, TERMINATED => 143, NODE_LOST => -100 };

my $cluster = KubernetesCluster->new(needs => [ 'kube-scheduler', 'kube-controller-manager' ]);

sub command { return $cluster->command(@_); }

command('start', 'kube-scheduler');
command('start', 'kube-controller-manager', '--node-monitor-grace-period=' . REPORTS_WITHIN_S . 's', '--terminated-pod-gc-threshold=1');
command('kubelet', $_) foreach qw(n1 n2 n3);

# Objects of users. A pod that tolerates its node for a second is evicted soon after the node does not report.
sub pod
{
	my ($cpu, $more) = @_;

	return "spec: {serviceAccountName: default, containers: [{name: main, image: i, resources: {requests: {cpu: ${cpu}m, memory: 64Mi}}}]$more}";
}

sub only_on
{
	return ", affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: [$_[0]]}]}]}}}";
}
my %cpu = (web => 300, agent => 70, tick => 100, work => 700, queued => 800, 'far-2' => 222, 'far-3' => 333);
my $soon = ', restartPolicy: Never, tolerations: [{key: node.kubernetes.io/unreachable, operator: Exists, effect: NoExecute, tolerationSeconds: 1}]';
my $file = $cluster->directory . '/objects.yaml';
append_to_file($file, <<"YAML");
{apiVersion: v1, kind: Namespace, metadata: {name: lab, labels: {yquota.io/project: science}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: lab}
spec: {replicas: 2, selector: {matchLabels: {is: web}}, template: {metadata: {labels: {is: web}}, @{[pod($cpu{web}, only_on('n1'))]}}}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent, namespace: lab}
spec: {selector: {matchLabels: {is: agent}}, template: {metadata: {labels: {is: agent}}, @{[pod($cpu{agent}, '')]}}}
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: tick, namespace: lab}
spec: {schedule: "* * * * *", concurrencyPolicy: Forbid, jobTemplate: {spec: {template: {@{[pod($cpu{tick}, only_on('n1') . $soon)]}}}}}
---
apiVersion: batch/v1
kind: Job
metadata: {name: work, namespace: lab}
spec: {backoffLimit: 3, template: {@{[pod($cpu{work}, only_on('n1') . $soon)]}}}
---
apiVersion: batch/v1
kind: Job
metadata: {name: far-2, namespace: lab}
spec: {template: {@{[pod($cpu{'far-2'}, only_on('n2') . $soon)]}}}
---
apiVersion: batch/v1
kind: Job
metadata: {name: far-3, namespace: lab}
spec: {template: {@{[pod($cpu{'far-3'}, only_on('n3') . $soon)]}}}
YAML
command('create', $file);
$cluster->begin_connector(0);

# All pods that were seen, by their UIDs, as they were last seen.
my %seen;

sub look
{
	my @pods = @{ command('pods') // [] };

	$seen{ $_->{metadata}{uid} } = $_ foreach @pods;
	return @pods;
}

sub kind_of { return $_[0]{metadata}{name} =~ /^(far-[23]|[a-z]+)/ ? $1 : die "a pod has the name $_[0]{metadata}{name}"; }

# running(KIND, NODE): return the running pods of a kind, on a node if there is one.
sub running
{
	my ($kind, $on) = @_;

	return grep { kind_of($_) eq $kind && $_->{status}{phase} eq 'Running' && !$_->{metadata}{deletionTimestamp} && (!$on || $_->{spec}{nodeName} eq $on) } look();
}

sub wait_for_running
{
	my ($kind, $count) = @_;

	$cluster->wait_for("$count of $kind run", sub { return running($kind) == $count; });
	return running($kind);
}

sub seconds
{
	my ($year, $month, $day, $hour, $minute, $second) = $_[0] =~ /^(\d+)-(\d+)-(\d+)T(\d+):(\d+):(\d+)Z$/ or die "\"$_[0]\" is no time";

	return timegm($second, $minute, $hour, $day, $month - 1, $year);
}

sub condition_time
{
	my ($object, $type) = @_;

	return seconds((first { $_->{type} eq $type } @{ $object->{status}{conditions} })->{lastTransitionTime});
}

# The ends that the account knows, as the first and last possible second, by UIDs.
my %end;

sub finish
{
	my ($how, $pod, $status) = @_;
	my $ended = command($how, $pod->{metadata}{name});

	$end{ $pod->{metadata}{uid} } = [ (seconds($ended->{status}{containerStatuses}[0]{state}{terminated}{finishedAt})) x 2, $status ];
	return;
}

# A Job whose first pod fails, and a CronJob.
my ($failing) = wait_for_running('work', 1);
finish('fail', $failing, FAILED);
my ($again) = wait_for_running('work', 1);
isnt($again->{metadata}{uid}, $failing->{metadata}{uid}, 'a Job tries again');
finish('end', $again, 0);
my ($tick) = wait_for_running('tick', 1);
finish('end', $tick, 0);

# An evicted pod is replaced.
wait_for_running('agent', 3);
my ($evicted) = wait_for_running('web', 2);
my $before = int time;
command('evict', $evicted->{metadata}{name});
$cluster->wait_for('an evicted pod is replaced', sub { return !grep({ $_->{metadata}{uid} eq $evicted->{metadata}{uid} } look()) && running('web') == 2; });
$end{ $evicted->{metadata}{uid} } = [ $before, int time, TERMINATED ];

# Kueue admits the second of two Jobs when the first has ended.
my $queued = 0;
SKIP:
{
	my $lacks = KubernetesCluster::lacks('', 'kueue');

	skip $lacks, 4 if $lacks;
	command('start', 'kueue');
	append_to_file("$file.queued", <<"YAML" . join '', map { <<"YAML" } 1, 2);
{apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {name: any}}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: all}
spec: {namespaceSelector: {}, resourceGroups: [{coveredResources: [cpu, memory], flavors: [{name: any, resources: [{name: cpu, nominalQuota: 1}, {name: memory, nominalQuota: 1Gi}]}]}]}
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {name: day, namespace: lab}, spec: {clusterQueue: all}}
YAML
---
apiVersion: batch/v1
kind: Job
metadata: {name: queued-$_, namespace: lab, labels: {kueue.x-k8s.io/queue-name: day}}
spec: {template: {@{[pod($cpu{queued}, only_on('n1') . $soon)]}}}
YAML
	command('create', "$file.queued");
	my ($first) = wait_for_running('queued', 1);
	finish('end', $first, 0);
	my ($second) = wait_for_running('queued', 1);
	isnt($second->{metadata}{uid}, $first->{metadata}{uid}, 'Kueue admits a Job when another has ended');
	finish('end', $second, 0);
	is($cluster->sql("SELECT count(*) FROM yquota.container_event WHERE queue = 'root.lab.day'"), 2, 'a pod that Kueue admits has its queue');
	$queued = 1;
}

# Two nodes do not report. The controller manager evicts pods that do not tolerate it, which ends nothing.
wait_for_running($_, 1) foreach qw(far-2 far-3);
my %on = map { my $on = $_; $on => [ grep { ($_->{spec}{nodeName} // '') eq $on } look() ] } qw(n2 n3);
is(scalar @{ $on{$_} }, 2, "two pods are on $_") foreach qw(n2 n3);
command('partition', $_) foreach qw(n2 n3);
$cluster->wait_for('pods of nodes that do not report are evicted', sub {
	return 2 == grep { kind_of($_) =~ /^far/ && $_->{metadata}{deletionTimestamp} } look();
});
my %lost_at = map { $_->{metadata}{name} => condition_time($_, 'Ready') } @{ command('nodes') };
$cluster->wait_for('the nodes are known to be unhealthy', sub { return $cluster->sql("SELECT count(*) FROM yquota.node WHERE state = 'UNHEALTHY'") == 2; });
my $open = sub { return $cluster->sql("SELECT count(*) FROM yquota.container WHERE node IN ('n2', 'n3')"); };
is($open->(), 4, 'a node that does not report ends nothing');

# The first node is gone, and the second is known to be shut down. Then the controller manager removes their pods.
command('lose', 'n2');
command('out-of-service', 'n3');
$cluster->wait_for('nodes that are lost end their pods', sub { return $open->() == 0; });
foreach my $node (qw(n2 n3))
{
	$end{ $_->{metadata}{uid} } = [ ($lost_at{$node}) x 2, NODE_LOST ] foreach @{ $on{$node} };
}
my %gone = map { $_->{metadata}{uid} => 1 } map { @$_ } values %on;
$cluster->wait_for('the controller manager removes the pods of lost nodes', sub { return !grep { $gone{ $_->{metadata}{uid} } } look(); });
$cluster->wait_for('the controller manager removes pods that have ended', sub { return 1 >= grep { $_->{status}{phase} =~ /^(Succeeded|Failed)$/ } look(); });

# No Job of the CronJob begins while the account looks at the running pods.
command('suspend', 'tick');
$cluster->wait_for('the pods that run are in the books', sub {
	return $cluster->sql('SELECT count(*) FROM yquota.container') == grep { $_->{spec}{nodeName} && !$end{ $_->{metadata}{uid} } } look();
});

# The account.
my (@wrong, %events);
foreach my $row ($cluster->lines(<<'SQL'))
SELECT container_id, event, extract(epoch FROM occurred_at)::numeric, project, application_id, node, exit_status
FROM yquota.container_event WHERE container_id IS NOT NULL ORDER BY occurred_at, event_id
SQL
{
	push @{ $events{ $row->[0] }{ $row->[1] } }, $row;
}
my %cost = map { $_->[0] => $_->[1] } $cluster->lines('SELECT container_id, trim_scale(cost * 1024000) FROM yquota.container_cost');
my %application;
foreach my $uid (sort keys %seen)
{
	my $pod = $seen{$uid};
	my $name = $pod->{metadata}{name};
	my ($start, @more) = @{ $events{$uid}{CONTAINER_START} // [] };

	if (!$pod->{spec}{nodeName})
	{
		push @wrong, map { "$name never had a node, but has the event @$_" } map { @$_ } values %{ $events{$uid} // {} };
		next;
	}
	push @wrong, "$name has " . (1 + @more) . ' starts' if !$start || @more;
	next if !$start;
	my $bound = condition_time($pod, 'PodScheduled');
	push @wrong, "$name starts at $start->[2], not at $bound" if $start->[2] != $bound;
	push @wrong, "$name is charged to $start->[3], on $start->[5]" if $start->[3] ne 'science' || $start->[5] ne $pod->{spec}{nodeName};
	$application{ $start->[4] }++;
	# The first end counts: the connector also sees how the controller manager ends pods of a lost node.
	my @finishes = @{ $events{$uid}{CONTAINER_FINISH} // [] };
	if (!$end{$uid})
	{
		push @wrong, "$name has an end, but runs" if @finishes;
		next;
	}
	push @wrong, "$name has no end" if !@finishes;
	next if !@finishes;
	my ($from, $to, $status) = @{ $end{$uid} };
	my $at = $finishes[0][2];
	push @wrong, "$name ends at $at, not between $from and $to" if $at < $from || $at > $to || $at != int $at;
	push @wrong, "$name has the exit status $finishes[0][6], not $status" if $finishes[0][6] ne $status;
	my $charge = ($at - $bound) * $cpu{ kind_of($pod) } * 1024;
	push @wrong, "$name costs $cost{$uid}, not $charge" if ($cost{$uid} // -1) != $charge;
}
is_deeply(\@wrong, [], 'starts, ends and charges are those of the account') or diag(map { "$_\n" } @wrong);
my %pods = map { $_ => $application{$_} } grep { !m{^Job/lab/tick-} } keys %application;
my %names;
$names{ s{/[0-9a-f-]+\z}{}r } += $pods{$_} foreach keys %pods;
is_deeply(\%names, { ($queued ? ('Job/lab/queued-1' => 1, 'Job/lab/queued-2' => 1) : ()), 'Deployment/lab/web' => 3, 'DaemonSet/lab/agent' => 3, 'Job/lab/work' => 2, 'Job/lab/far-2' => 1, 'Job/lab/far-3' => 1 },
	'pods belong to the applications that made them');
is(scalar keys %names, scalar keys %pods, 'all pods of an application have one UID of it');
cmp_ok(scalar(grep { m{^Job/lab/tick-[0-9]+/} } keys %application), '>=', 1, 'each Job of a CronJob is an application of its own');
is($cluster->sql('SELECT count(*) FROM yquota.event_reject'), 0, 'no event is set aside');
is($cluster->sql('SELECT count(*) FROM yquota.verify()'), 0, 'the books are right');

$cluster->end('yquota-0', 'KILL');
$cluster->stop;
done_testing();
