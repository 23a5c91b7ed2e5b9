#!/usr/bin/env perl
#
# Queues that rest, which a pass goes by, get what they would get from a pass that
# walks through all of them for every container, and what is counted of their
# requests is the same.  Explaining passes are such: nothing rests in them.
#
# Random clusters with racks, labels, delays, limits and blacklists, and with requests
# that many nodes may not serve; enough nodes for leaves to rest on all but those
# that they ask for.
#
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin, "$FindBin::Bin/../t";
use Test::More;
use Session;
use Soak;
use Trial;

my ($seed, $histories) = Trial::plan_run(10);
my $rounds = 3;
my $dominant = 'org.apache.hadoop.yarn.util.resource.DominantResourceCalculator';

sub one_of { return $_[ rand @_ ]; }
sub some { my ($most, @of) = @_; return map { $of[ rand @of ] } 1 .. 1 + int rand $most; }

# -- a cluster --------------------------------------------------------------------

sub make_labels
{
	my ($cluster) = @_;

	$cluster->{labels} = one_of([], [], ['x']);
	return map { sprintf q(INSERT INTO yquota.node_label (name, exclusive) VALUES ('%s', %s)), $_, one_of('true', 'false') } @{ $cluster->{labels} };
}

sub make_settings
{
	my ($cluster) = @_;

	return sprintf(q(INSERT INTO yquota.scheduler_setting (node_labels_enabled, maximum_am_resource_percent, resource_calculator,
		reservations_continue_look_all_nodes, per_node_heartbeat_maximum_offswitch_assignments, node_locality_delay, rack_locality_additional_delay)
		VALUES (%s, 1, %s, %s, %d, %d, %d)),
		@{ $cluster->{labels} } ? 'true' : 'false', one_of("'$dominant'", 'NULL'), one_of('true', 'true', 'false'),
		one_of(1, 3, 100), one_of(2, 5, 40), one_of(-1, -1, 0, 3, 20));
}

sub make_queue
{
	my ($cluster, $path, $is_leaf) = @_;
	my @sql = sprintf(q(INSERT INTO yquota.queue (path, capacity, maximum_capacity, user_limit_factor, minimum_user_limit_percent, ordering_policy, accessible_node_labels)
		VALUES ('%s', '%dw', %s, %s, %s, %s, '{%s}')),
		$path, one_of(1, 1, 2, 3), one_of(@{ $cluster->{maxima}[$is_leaf] }), $is_leaf ? one_of(1, 100, 100) : 'NULL',
		$is_leaf ? one_of('NULL', 25, 50) : 'NULL', $is_leaf ? one_of('NULL', "'fair'") : one_of('NULL', "'priority-utilization'"), join ',', @{ $cluster->{labels} });

	push @sql, map { "INSERT INTO yquota.queue_label (queue, label, capacity) VALUES ('$path', '$_', '1w')" } @{ $cluster->{labels} };
	push @{ $cluster->{leaves} }, $path if $is_leaf;
	return @sql;
}

sub make_queues
{
	my ($cluster) = @_;
	my @sql = sprintf q(INSERT INTO yquota.queue (path, accessible_node_labels) VALUES ('root', '{%s}')), join ',', @{ $cluster->{labels} };

	# parents and leaves may have all, or reach limits of theirs, or of those above them
	$cluster->{maxima} = one_of([['NULL', "'60'", "'25'"], ['NULL', "'60'", "'25'"]], [["'20'", "'31.7'"], ['NULL']], [['NULL', "'40'"], ["'33.3'", "'47.1'", "'60'"]]);
	foreach my $parent (map { "root.q$_" } 1 .. 3)
	{
		push @sql, make_queue($cluster, $parent, 0);
		push @sql, map { make_queue($cluster, "$parent.l$_", 1) } 1 .. 1 + int rand 4;
	}
	return @sql;
}

sub make_nodes
{
	my ($cluster) = @_;

	$cluster->{nodes} = 16 + int rand 15;
	$cluster->{racks} = 2 + int rand 5;
	return map { sprintf q(INSERT INTO yquota.node (name, rack, label, total) VALUES ('n%d', '/r%d', '%s', '[memory-mb=%d,vcores=%d]')),
		$_, $_ % $cluster->{racks}, one_of('', '', @{ $cluster->{labels} }), 1024 * ($_ ? one_of(3, 8, 12) : 8), $_ ? one_of(4, 8) : 4 } 0 .. $cluster->{nodes} - 1;
}

sub begin_history
{
	my ($session) = @_;
	# larger ones are reserved, smaller ones stop where there is room
	my $cluster = { applications => 0, sizes => one_of([1, 1, 2, 3, 8], [1, 5, 8], [2, 3, 7]) };

	$session->run(join ";\n", 'BEGIN', q(SELECT yquota.set_clock('2026-03-02 10:00+00')), make_labels($cluster), make_settings($cluster),
		make_queues($cluster), 'SET CONSTRAINTS ALL IMMEDIATE', make_nodes($cluster));
	return $cluster;
}

# -- what is asked for ----------------------------------------------------------------

sub ask
{
	my ($name, $resource, $count, $relaxes, $label) = @_;

	return sprintf q(ROW('%s', '%s', %d, 1, -1, %s, %s, NULL)), $name, $resource, $count, $relaxes, defined $label ? "'$label'" : 'NULL';
}

# Anywhere, or on racks and nodes and elsewhere only after a while, or never.
sub requests
{
	my ($cluster) = @_;
	my $resource = sprintf '[memory-mb=%d,vcores=%d]', 1024 * one_of(@{ $cluster->{sizes} }), one_of(1, 1, 2, 4);
	my $count = one_of(1, 3, 8, 30);
	my $label = @{ $cluster->{labels} } ? one_of('', @{ $cluster->{labels} }) : undef;
	my %asks = ('*' => ask('*', $resource, $count, one_of('true', 'false'), $label));
	my @nodes = rand() < 0.5 ? some(3, 0 .. $cluster->{nodes} - 1) : ();
	my @racks = ((map { $_ % $cluster->{racks} } @nodes), rand() < 0.5 ? some(2, 0 .. $cluster->{racks} - 1) : ());

	$asks{"n$_"} = ask("n$_", $resource, $count, 'true') foreach @nodes;
	$asks{"/r$_"} = ask("/r$_", $resource, $count, one_of('true', 'true', 'false')) foreach @racks;
	return join ', ', map { $asks{$_} } sort keys %asks;
}

sub submit
{
	my ($session, $cluster) = @_;
	my $id = sprintf 'application_1_%04d', ++$cluster->{applications};
	my @sql = sprintf q(SELECT yquota.submit_application('%s', '%s', '{}', '%s', am_resource => '[memory-mb=1024,vcores=1]', priority => %d, unmanaged => true, project => 'p')),
		$id, one_of('u', 'v', 'w'), one_of(@{ $cluster->{leaves} }), one_of(0, 0, 5);

	# a leaf may have no room for its application master yet
	push @sql, sprintf q(SELECT yquota.request_containers(application_id, ARRAY[%s]::yquota.container_request[]) FROM yquota.application
		WHERE application_id = '%s' AND state = 'ACTIVE'), requests($cluster), $id;
	push @sql, sprintf q(SELECT yquota.update_blacklist(application_id, '{n%d}') FROM yquota.application
		WHERE application_id = '%s' AND state = 'ACTIVE'), rand $cluster->{nodes}, $id if rand() < 0.1;
	$session->run(join ";\n", @sql);
	return;
}

# Some ask for something else, so that what was reserved for them is given up by a pass.
sub ask_anew
{
	my ($session, $cluster) = @_;

	$session->run(join ";\n", map {
		sprintf q(SELECT yquota.request_containers(application_id, ARRAY[%s]::yquota.container_request[]) FROM yquota.application
			WHERE application_id = 'application_1_%04d' AND state = 'ACTIVE'), ask('*', '[memory-mb=1024,vcores=1]', one_of(0, 0, 2), 'true'), $_
	} some(4, 1 .. $cluster->{applications}));
	return;
}

# -- what must hold ---------------------------------------------------------------

# What a pass decides, and what there is afterwards.
sub outcome
{
	my ($session, $how) = @_;

	return $session->run(<<"SQL");
SELECT * FROM yquota.schedule($how) WHERE decision <> 'passed over';
SELECT * FROM yquota_internal.request_counter ORDER BY 1, 2, 3;
SELECT application_id, priority, resource_name, count FROM yquota.resource_request ORDER BY 1, 2, 3;
SQL
}

# Twice, as what is counted by the first pass matters to the second.
sub decide
{
	my ($session, $how) = @_;

	return join "--\n", map { outcome($session, $how) } 1 .. 2;
}

sub play
{
	my ($session) = @_;
	my $cluster = begin_history($session);
	my $containers = 0;

	foreach my $round (1 .. $rounds)
	{
		submit($session, $cluster) foreach 1 .. 3 + int rand 12;
		ask_anew($session, $cluster) if $round > 1;
		$session->run('SAVEPOINT walked');
		my $walked = decide($session, 'explain => true');
		$session->run('ROLLBACK TO walked');
		my $rested = decide($session, '');
		if ($walked ne $rested)
		{
			diag("round $round, walked:\n$walked\n--\nrested:\n$rested");
			return (0, $containers);
		}
		$containers += () = $rested =~ /^(?:allocated|swapped)\b/mg;
	}
	$session->run('ROLLBACK');
	return (1, $containers);
}

my $database = "yquota_resting_$$";
Session::administer("CREATE DATABASE $database");
my $session = Session->new($database);
$session->run(q(SET client_min_messages = error; CREATE EXTENSION yquota; INSERT INTO yquota.project (name) VALUES ('p')));

my ($number, $failures, $containers) = (0, 0, 0);
for (my $goes_on = 1; $goes_on && !$failures;)
{
	$goes_on = soak_goes_on(++$number, $histories, 5 * $histories);
	srand($seed + $number);
	my ($is_right, $its_containers) = play($session);
	$failures++ if !$is_right;
	$containers += $its_containers;
}
is($failures, 0, 'queues that rest get what they would get otherwise');
cmp_ok($containers, '>', 10 * $histories, 'containers were allocated');
$session->close;
Session::administer("DROP DATABASE $database WITH (FORCE)");
done_testing();
