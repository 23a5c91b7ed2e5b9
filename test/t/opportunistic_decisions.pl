# yquota allocates opportunistic containers as Hadoop 3.4.1 does.
#
# Each line of test/scheduler/opportunistic.jsonl is a workload with the results of Hadoop's NodeQueueLoadMonitor,
# QueueLimitCalculator, CentralizedOpportunisticContainerAllocator and DistributedOpportunisticContainerAllocator.
# The steps of a workload are nodes that join, report and leave, sorts, selections of a node, and heartbeats of
# applications. Each step has its result. Hadoop draws a random node at which a search for any node begins. The
# record has this node, and the test gives it to yquota.
#
# Each line is played through SQL: rows of yquota.node, report_nodes(), the views of the load list,
# allocate_opportunistic() and allocate_distributed(). OPPORTUNISTIC_RECORDS may name a file of further records,
# which are played, too.
#
# Hadoop tries the hosts of a request and the nodes of a rack in the order of hash tables, and yquota tries them by
# name. The test renames nodes so that both orders are the same. A workload ends before the first step in which the
# orders contradict each other.

use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;

use Falsified qw(falsify unnoticed);
use JSON::PP;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# Return the position of a name in a Java hash table of up to 12 names.
sub bucket
{
	my ($name) = @_;
	my $hash = 0;

	$hash = ($hash * 31 + ord) & 0xffffffff foreach split //, $name;
	return ($hash ^ $hash >> 16) & 15;
}

# Return pairs of nodes of which the first must come before the second.
sub constraints
{
	my ($workload) = @_;
	my %before;
	my %wanted;

	foreach my $order (values %{ $workload->{rack_order} || {} })
	{
		$before{ $order->[ $_ - 1 ] }{ $order->[$_] } = 1 foreach 1 .. $#$order;
	}
	foreach my $step (@{ $workload->{steps} })
	{
		foreach my $ask (grep { $_->{where} !~ /^[*\/]/ } @{ $step->{asks} || [] })
		{
			my $hosts = $wanted{"$step->{app} $ask->{priority} $ask->{id}"} ||= [];

			push @$hosts, $ask->{where} unless grep { $_ eq $ask->{where} } @$hosts;
		}
	}
	foreach my $hosts (values %wanted)
	{
		my @ordered = map { $hosts->[$_] } sort { bucket($hosts->[$a]) <=> bucket($hosts->[$b]) || $a <=> $b } 0 .. $#$hosts;

		$before{ $ordered[ $_ - 1 ] }{ $ordered[$_] } = 1 foreach 1 .. $#ordered;
	}
	return \%before;
}

# Return new names in an order that satisfies the constraints, or undef if there is none.
sub new_names
{
	my ($before) = @_;
	my %waits;
	my %names;

	foreach my $first (keys %$before)
	{
		$waits{$first} ||= 0;
		$waits{$_}++ foreach keys %{ $before->{$first} };
	}
	while (my ($next) = sort grep { !$waits{$_} } keys %waits)
	{
		$names{$next} = sprintf 'n%03d-%s', scalar keys %names, $next;
		delete $waits{$next};
		$waits{$_}-- foreach keys %{ $before->{$next} };
	}
	return %waits ? undef : \%names;
}

my $json = JSON::PP->new->canonical;

sub prepare
{
	my ($line) = @_;
	my $workload = $json->decode($line);

	pop @{ $workload->{steps} } until $workload->{names} = new_names(constraints($workload));
	return $workload;
}

sub lines_of
{
	my ($file) = @_;

	return grep { !/^#/ } split /\n/, slurp_file($file);
}

my $node = PostgreSQL::Test::Cluster->new('opportunistic_decisions');
$node->init;
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION IF NOT EXISTS yquota; ' . slurp_file('test/scheduler/opportunistic.sql'));

my @lines = lines_of('test/scheduler/opportunistic.jsonl');
push @lines, lines_of($ENV{OPPORTUNISTIC_RECORDS}) if $ENV{OPPORTUNISTIC_RECORDS};
my @workloads = map { prepare($_) } @lines;

sub play
{
	return split /\n/, $node->safe_psql('postgres',
		join '', map { 'BEGIN; SELECT * FROM replay.play($workload$' . $json->encode($_) . "\$workload\$); ROLLBACK;\n" } @_);
}

my @played = play(@workloads);
my %compared = (steps => 0, containers => 0);
foreach my $played (@played)
{
	my ($steps, $containers, $difference) = split /\|/, $played, 3;

	is($difference, '', 'every list, limit, container and request is as in Hadoop, and the books agree');
	$compared{steps} += $steps;
	$compared{containers} += $containers;
}
is(scalar @played, scalar @workloads, 'all workloads were played');
my $steps = 0;
$steps += @{ $_->{steps} } foreach @workloads;
is($compared{steps}, $steps, 'all steps were compared');
my $recorded = () = join('', @lines) =~ /"op":/g;
note("steps without an order of names: ", $recorded - $steps);
my %kinds = map { (join(' ', $_->{family}, $_->{comparator} || ()) => 1) } @workloads;
is(scalar keys %kinds, 7, 'steps of all families were compared under every comparator');
note("$_: $compared{$_}") foreach sort keys %compared;
cmp_ok($compared{containers}, '>', 100, 'containers were given out');

# Falsified results, which the comparison must find. The random nodes are inputs, and are not
# falsified.
my @falsified = falsify(\@workloads, figure => sub { $_[0] =~ m{^steps/\d+/result/(?!any_starts)} },
	maps => qr{^steps/\d+/result/(?:outstanding|nodes_after|outstanding/[^/]+/locations)$}, name => 'added');
is(unnoticed(\@falsified, map { (split /\|/, $_, 3)[2] } play(map { $_->[1] } @falsified)), '', 'every falsified decision and figure is found');
cmp_ok(scalar @falsified, '>', 40, 'kinds of falsifications');
note(scalar(@falsified) . ' falsifications');

$node->stop;
done_testing();
