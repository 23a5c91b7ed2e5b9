#!/usr/bin/env perl
#
# Explaining cycles decide the same as other cycles, and count requests in the same way. An
# explaining cycle searches the whole hierarchy for each container. So it is the model for normal
# cycles, which skip requests that cannot be served. Its explanations must be possible.
#
# Random clusters have racks, labels, delays, limits and blacklists, and requests that only some
# nodes may serve. In some clusters heartbeats assign only a little below a tight maximum, so that a
# sibling or a cousin crosses it. In some, most requests become reservations, which are given up
# when their requests are withdrawn. In some, a leaf has many applications of few or of many users.
# The test also builds rare cases: a reservation that is given up in the middle of a cycle makes
# room for a queue elsewhere.
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
my %rounds = (wide => 3, crossing => 1, reserving => 3, many => 2);
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
		reservations_continue_look_all_nodes, per_node_heartbeat_maximum_container_assignments, per_node_heartbeat_maximum_offswitch_assignments,
		node_locality_delay, rack_locality_additional_delay)
		VALUES (%s, 1, %s, %s, %d, %d, %d, %d)),
		@{ $cluster->{labels} } ? 'true' : 'false', one_of("'$dominant'", 'NULL'), one_of('true', 'true', 'false'),
		$cluster->{regime} eq 'crossing' ? one_of(1, 2) : 100, one_of(1, 3, 100),
		$cluster->{regime} eq 'crossing' ? (one_of(5, 40), one_of(-1, 3, 20, 20)) : (one_of(2, 5, 40), one_of(-1, -1, 0, 3, 20)));
}

sub make_queue
{
	my ($cluster, $path, $is_leaf) = @_;
	my @sql = sprintf(q(INSERT INTO yquota.queue (path, capacity, maximum_capacity, user_limit_factor, minimum_user_limit_percent, ordering_policy, priority, accessible_node_labels)
		VALUES ('%s', '%dw', %s, %s, %s, %s, %d, '{%s}')),
		$path, one_of(1, 1, 2, 3), one_of(@{ $cluster->{maxima}[$is_leaf] }), $is_leaf ? one_of(1, 100, 100) : 'NULL',
		$is_leaf ? one_of('NULL', 25, 50) : 'NULL', $is_leaf ? one_of('NULL', "'fair'") : one_of('NULL', "'priority-utilization'"), one_of(0, 0, 5),
		join ',', @{ $cluster->{labels} });

	push @sql, map { "INSERT INTO yquota.queue_label (queue, label, capacity) VALUES ('$path', '$_', '1w')" } @{ $cluster->{labels} };
	push @{ $cluster->{leaves} }, $path if $is_leaf;
	return @sql;
}

sub make_queues
{
	my ($cluster) = @_;
	my @sql = sprintf q(INSERT INTO yquota.queue (path, accessible_node_labels) VALUES ('root', '{%s}')), join ',', @{ $cluster->{labels} };

	return @sql, make_large_leaves($cluster) if $cluster->{regime} eq 'many';
	return @sql, make_tight_queues($cluster) if $cluster->{regime} ne 'wide';
	# parents and leaves may have no maximum, or reach their own maximum or that of a queue above
	$cluster->{maxima} = one_of([['NULL', "'60'", "'25'"], ['NULL', "'60'", "'25'"]], [["'20'", "'31.7'"], ['NULL']], [['NULL', "'40'"], ["'33.3'", "'47.1'", "'60'"]]);
	return @sql, map { make_parent($cluster, "root.q$_", 4) } 1 .. 3;
}

sub make_parent
{
	my ($cluster, $path, $most) = @_;

	return (make_queue($cluster, $path, 0), map { make_queue($cluster, "$path.l$_", 1) } 1 .. 1 + int rand $most);
}

# Create leaves below one maximum, some of them together in a parent, and some with their own
# maximum.
sub make_tight_queues
{
	my ($cluster) = @_;
	my @own = one_of([], [], ["'3.3'", "'6.1'"]);

	$cluster->{maxima} = [ $cluster->{regime} eq 'crossing' ? ["'9'", "'14.3'", "'22'"] : ["'20'", "'31.7'", "'45'"], [ 'NULL', 'NULL', map { @$_ } @own ] ];
	my @sql = make_parent($cluster, 'root.q', 2);
	$cluster->{maxima}[0] = ['NULL'];
	return @sql, map { make_parent($cluster, "root.q.p$_", 3) } 1 .. one_of(1, 1, 2);
}

# Create one or two leaves in which other users may have most, so that limits of users rise with the
# usage.
sub make_large_leaves
{
	my ($cluster) = @_;

	$cluster->{maxima} = one_of([ ['NULL'], ['NULL'] ], [ ['NULL'], [ "'33.3'", "'47.1'" ] ], [ ["'41'"], [ "'55'", "'80'" ] ]);
	$cluster->{rare} = one_of([], [], ['other'], ['large'], [ 'large', 'large', 'other' ]);
	return ((map { make_parent($cluster, "root.q$_", 1) } 1 .. one_of(1, 2, 2)),
		one_of(undef, "INSERT INTO yquota.queue (path, capacity) VALUES ('root.other', '20w')") // ());
}

sub make_nodes
{
	my ($cluster) = @_;

	$cluster->{nodes} = 16 + int rand 15;
	$cluster->{racks} = 2 + int rand 5;
	# the nodes have room for many application masters
	my $times = $cluster->{regime} eq 'many' ? 3 : 1;
	return map { sprintf q(INSERT INTO yquota.node (name, rack, label, total) VALUES ('n%d', '/r%d', '%s', '[memory-mb=%d,vcores=%d]')),
		$_, $_ % $cluster->{racks}, one_of('', '', @{ $cluster->{labels} }), $times * 1024 * ($_ ? one_of(3, 8, 12) : 8), $times * ($_ ? one_of(4, 8) : 4) } 0 .. $cluster->{nodes} - 1;
}

sub begin_history
{
	my ($session, $regime) = @_;
	# larger requests are reserved, and smaller ones stop although there is room
	my $cluster = { applications => 0, regime => $regime, sizes => one_of([1, 1, 2, 3, 8], [1, 5, 8], [2, 3, 7]) };

	$cluster->{sizes} = [1, 3, 5, 8] if $regime eq 'reserving';
	$cluster->{users} = $regime eq 'many' ? one_of([ 'u', 'v', 'w' ], [ map { "u$_" } 1 .. 7 ], [ map { "u$_" } 1 .. 90 ]) : [ 'u', 'v', 'w' ];
	$session->run(join ";\n", 'BEGIN', q(SELECT yquota.set_clock('2026-03-02 10:00+00')), make_labels($cluster), make_settings($cluster),
		make_queues($cluster), 'SET CONSTRAINTS ALL IMMEDIATE', make_nodes($cluster));
	return $cluster;
}

# -- requests -------------------------------------------------------------------------

sub ask
{
	my ($name, $resource, $count, $relaxes, $label, $priority) = @_;

	return sprintf q(ROW('%s', '%s', %d, %d, -1, %s, %s, NULL, NULL)), $name, $resource, $count, $priority // 1, $relaxes, defined $label ? "'$label'" : 'NULL';
}

# Return requests for any node, or for racks and nodes and elsewhere only after a while or never.
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

# Return many small requests, a large request that may stop a queue, or a request that only waits, for a node or for
# long.
sub crossing_requests
{
	my ($cluster) = @_;
	my $kind = one_of(qw(hungry hungry large waiting));
	my ($size, $count) = @{ { hungry => [1, 30], large => [one_of(5, 8), 2], waiting => [one_of(1, 2, 3, 5), one_of(2, 10)] }->{$kind} };
	my $resource = sprintf '[memory-mb=%d,vcores=1]', 1024 * $size;
	my $node = int rand $cluster->{nodes};

	return ask('*', $resource, $count, 'true') if $kind ne 'waiting';
	return join ', ', ask('*', $resource, $count, one_of('true', 'true', 'false')), ask("n$node", $resource, $count, 'true'),
	  ask('/r' . $node % $cluster->{racks}, $resource, $count, 'true');
}

# Return a few small requests for some or any nodes, behind many requests that wait for their nodes, and
# sometimes other requests.
sub requests_of_many
{
	my ($cluster) = @_;
	my $kind = one_of(qw(small small small waiting waiting waiting waiting waiting waiting waiting), @{ $cluster->{rare} });
	my $resource = sprintf '[memory-mb=%d,vcores=1]', 1024 * one_of(1, 1, 2);
	my ($node, $count) = (int rand $cluster->{nodes}, one_of(1, 3, 6));

	return requests($cluster) if $kind eq 'other';
	return ask('*', sprintf('[memory-mb=%d,vcores=2]', 1024 * one_of(5, 7, 8)), one_of(1, 2), 'true') if $kind eq 'large';
	return ask('*', $resource, $count, 'true') if $kind eq 'small';
	return join ', ', ask('*', $resource, $count, one_of('true', 'true', 'true', 'false')), ask("n$node", $resource, $count, 'true'),
	  ask('/r' . $node % $cluster->{racks}, $resource, $count, one_of('true', 'true', 'false'));
}

my %asks_for = (wide => \&requests, crossing => \&crossing_requests, reserving => \&requests, many => \&requests_of_many);

sub submit
{
	my ($cluster) = @_;
	my $id = sprintf 'application_1_%04d', ++$cluster->{applications};
	my @sql = sprintf q(SELECT yquota.submit_application('%s', '%s', '{}', '%s', am_resource => '[memory-mb=1024,vcores=1]', priority => %d, unmanaged => true, project => 'p')),
		$id, one_of(@{ $cluster->{users} }), one_of(@{ $cluster->{leaves} }), one_of(0, 0, 5);

	# a leaf may have no room for the application master yet
	push @sql, sprintf q(SELECT yquota.request_containers(application_id, ARRAY[%s]::yquota.container_request[]) FROM yquota.application
		WHERE application_id = '%s' AND state = 'ACTIVE'), $asks_for{ $cluster->{regime} }->($cluster), $id;
	push @sql, sprintf q(SELECT yquota.update_blacklist(application_id, '{n%d}') FROM yquota.application
		WHERE application_id = '%s' AND state = 'ACTIVE'), rand $cluster->{nodes}, $id if rand() < 0.1;
	return @sql;
}

# Some applications change their requests, so that a cycle gives up their reservations.
sub ask_anew
{
	my ($session, $cluster) = @_;

	$session->run(join ";\n", map {
		sprintf q(SELECT yquota.request_containers(application_id, ARRAY[%s]::yquota.container_request[]) FROM yquota.application
			WHERE application_id = 'application_1_%04d' AND state = 'ACTIVE'), ask('*', '[memory-mb=1024,vcores=1]', one_of(0, 0, 2), 'true'), $_
	} some($cluster->{regime} eq 'reserving' ? 12 : 4, 1 .. $cluster->{applications}));
	return;
}

# Lower limits, possibly below the present usage.
sub shrink
{
	my ($session, $cluster) = @_;

	$session->run(sprintf q(UPDATE yquota.queue SET maximum_capacity = '%s' WHERE path = '%s'; SET CONSTRAINTS ALL IMMEDIATE), @$_)
	  foreach [ one_of(6, 12, 20), one_of(@{ $cluster->{leaves} }) ], [ one_of(18, 25, 45), 'root.q' ];
	return;
}

# -- prepared situations ---------------------------------------------------------

# Return an amount of GiB, plus half a GiB, as a percentage of the cluster of begin_exactly().
sub part_of_cluster { return sprintf '%.4f', 100 * ($_[0] + 0.5) / 164; }

sub a_queue
{
	my ($path, $maximum, $user_limit_factor) = @_;

	return "INSERT INTO yquota.queue (path, capacity, maximum_capacity, user_limit_factor) VALUES ('$path', '1w', '$maximum', $user_limit_factor)";
}

sub request
{
	my ($application, @asks) = @_;

	return sprintf q(SELECT yquota.request_containers('application_1_%04d', ARRAY[%s]::yquota.container_request[])), $application, join ', ', @asks;
}

sub submitted
{
	my ($number, $leaf, $user) = @_;

	return sprintf q(SELECT yquota.submit_application('application_1_%04d', '%s', '{}', '%s', am_resource => '[memory-mb=1024,vcores=1]', unmanaged => true, project => 'p')), $number, $user // 'u', $leaf;
}

# Create a cluster with these queues and twenty nodes: one node in the middle has 12 GiB, and the
# others 8 GiB.
sub begin_exactly
{
	my ($calculator, @queues) = @_;

	return ('BEGIN', q(SELECT yquota.set_clock('2026-03-02 10:00+00')),
		"INSERT INTO yquota.scheduler_setting (maximum_am_resource_percent, resource_calculator, maximum_allocation_mb) VALUES (1, $calculator, 12288)",
		q(INSERT INTO yquota.queue (path) VALUES ('root')), @queues, 'SET CONSTRAINTS ALL IMMEDIATE',
		q(INSERT INTO yquota.node (name, rack, total) SELECT 'n' || lpad(n::text, 2, '0'), '/r',
			CASE n WHEN 10 THEN '[memory-mb=12288,vcores=20]' ELSE '[memory-mb=8192,vcores=20]' END::yquota.resource FROM generate_series(0, 19) AS n));
}

# Return requests for $count containers of $gib GiB. They may run only on these nodes, one on each node.
sub fixed
{
	my ($gib, $count, @nodes) = @_;
	my $resource = sprintf '[memory-mb=%d,vcores=1]', 1024 * $gib;

	return (ask('*', $resource, $count, 'false'), ask('/r', $resource, $count, 'false'), map { ask($_, $resource, 1, 'true') } @nodes);
}

# Prepare this situation. A node has 4 GiB free, and a queue may use 4 GiB more. A leaf below the queue has a
# reservation, and could reserve 8 GiB. The leaf can do so when another reservation, on a node in the second half, is
# released. In one variant the queue's usage has shrunk before the release, so its leaf is visited only after the
# release. In another variant the leaf has no reservation until the release, but other leaves of the same parent have
# one.
sub begin_release
{
	my ($session, $leaf, $reserves, $shrinks, $calculator) = @_;
	my $cycle = 'SELECT FROM yquota.schedule()';
	my $other = $leaf =~ s/l$/o/r;
	my %asked = (
		again => [ request(3, ask('*', '[memory-mb=8192,vcores=1]', 3, 'true')), $cycle ],
		apart => [ request(3, fixed(5, 1, 'n05')), $cycle, request(3, ask('*', '[memory-mb=8192,vcores=1]', 3, 'true', undef, 2)), $cycle ],
		other => [ request(4, fixed(5, 1, 'n15')), $cycle, request(4, ask('*', '[memory-mb=5120,vcores=1]', 0, 'false')), request(3, ask('*', '[memory-mb=1024,vcores=1]', 3, 'true')) ],
	);

	$session->run(join ";\n", begin_exactly($calculator, a_queue('root.f', 100, 100), a_queue('root.q', part_of_cluster($reserves eq 'again' ? 35 : 24), 'NULL'),
			($leaf eq 'root.q.l' ? () : a_queue('root.q.p', 100, 'NULL')), a_queue('root.q.m', 100, 100), a_queue($leaf, 100, 100), a_queue($other, 100, 100)),
		submitted(1, 'root.f'), submitted(2, 'root.q.m'), submitted(3, $leaf), submitted(4, $other),
		request(1, fixed(4, 20, map { sprintf 'n%02d', $_ } 0 .. 19)), $cycle,
		request(2, fixed(12, 1, 'n10')), request(3, fixed(3, 1, 'n00')), $cycle,
		@{ $asked{$reserves} },
		$shrinks ? (sprintf(q(UPDATE yquota.queue SET maximum_capacity = '%s' WHERE path = 'root.q'), part_of_cluster($reserves eq 'other' ? 18 : 13)), 'SET CONSTRAINTS ALL IMMEDIATE') : (),
		request(2, ask('*', '[memory-mb=12288,vcores=1]', 0, 'false')));
	return;
}

# Prepare this situation. A parent has two leaves. One leaf is stopped by its own maximum, and the rest up to that
# maximum is kept for it. The other waits for a node and needs 4 GiB more than that rest. Leaves after the parent
# may use the rest beyond both.
sub begin_kept
{
	my ($session) = @_;

	$session->run(join ";\n", begin_exactly("'$dominant'", a_queue('root.q', part_of_cluster(12), 'NULL'), a_queue('root.q.p', 100, 'NULL'),
			a_queue('root.q.p.a', 20, 100), a_queue('root.q.p.w', 100, 100), a_queue('root.q.z', 100, 100)),
		submitted(1, 'root.q.p.a'), submitted(2, 'root.q.p.w'), submitted(3, 'root.q.z'),
		request(1, ask('*', '[memory-mb=3072,vcores=1]', 1, 'true')), request(2, fixed(4, 1, 'n19')),
		request(3, ask('*', '[memory-mb=1024,vcores=1]', 30, 'true')));
	return;
}

# Prepare this situation. A leaf uses more than its share, so that each container puts its user over the limit,
# and other users below theirs. Most applications wait for a node, or until a number of other nodes have been
# offered.
sub begin_passing
{
	my ($session, $policy) = @_;
	my @users = ('u', 'v', 'w');
	my $resource = '[memory-mb=1024,vcores=1]';

	$session->run(join ";\n", begin_exactly("'$dominant'", a_queue('root.l', 100, 100), q(INSERT INTO yquota.queue (path, capacity) VALUES ('root.other', '20w')),
			"UPDATE yquota.queue SET minimum_user_limit_percent = 10, ordering_policy = '$policy' WHERE path = 'root.l'",
			'UPDATE yquota.scheduler_setting SET per_node_heartbeat_maximum_offswitch_assignments = 100, rack_locality_additional_delay = 10'),
		(map { submitted($_, 'root.l', $users[ $_ % 3 ]) } 1 .. 33),
		(map { request($_, ask('*', $resource, 1, 'true'), ask($_ % 2 ? 'n19' : 'n05', $resource, 1, 'true')) } 1 .. 30),
		(map { request($_, ask('*', $resource, 30, 'true')) } 31 .. 33));
	return;
}

# Prepare this situation. Few users of a label want more of it than a user may have, and nodes of the label keep
# room. On a label they may exceed their limits in exchange for reservations, which some have and others lack.
sub begin_labelled
{
	my ($session) = @_;
	my @labelled = map { "INSERT INTO yquota.queue_label (queue, label, capacity) VALUES ('$_', 'x', '1w')" } qw(root.l root.o);
	my $users = one_of(1, 1, 2, 3);

	$session->run(join ";\n", begin_exactly(one_of("'$dominant'", "'$dominant'", 'NULL'),
			q(INSERT INTO yquota.node_label (name) VALUES ('x')), a_queue('root.l', 100, one_of(0.5, 1, 1)), a_queue('root.o', 100, 1), @labelled,
			q(UPDATE yquota.queue SET accessible_node_labels = '{x}'),
			'UPDATE yquota.scheduler_setting SET node_labels_enabled = true, per_node_heartbeat_maximum_offswitch_assignments = ' . one_of(1, 5, 100)),
		q(UPDATE yquota.node SET label = 'x' WHERE name > ) . one_of("'n10'", "'n15'"),
		(map { submitted($_, 'root.l', 'u' . $_ % $users) } 1 .. 4),
		(map { my $application = $_; map { request($application, ask('*', sprintf('[memory-mb=%d,vcores=%d]', 1024 * one_of(1, 2, 3, 5), one_of(1, 1, 2, 4)), one_of(1, 8, 30), 'true', one_of('x', 'x', 'x', ''), $_)) }
			1 .. one_of(1, 2) } 1 .. 4));
	return;
}

# -- checks -----------------------------------------------------------------------

# Return the decisions of a cycle, and the state after it.
sub outcome
{
	my ($session, $how) = @_;

	return $session->run(<<"SQL");
SELECT * FROM yquota.schedule($how) WHERE decision <> 'passed over';
SELECT * FROM yquota_internal.request_counter ORDER BY 1, 2, 3;
SELECT application_id, priority, resource_name, count FROM yquota.resource_request ORDER BY 1, 2, 3;
SELECT application_id, node, allocation FROM yquota.reserved_container ORDER BY 1, 2;
SQL
}

# Run two cycles, because the counts of the first cycle affect the second.
sub decide
{
	my ($session, $how) = @_;

	return join "--\n", map { outcome($session, $how) } 1 .. 2;
}

# Return impossible results of an explaining cycle: a negative wanted amount, or a user within a limit that the
# user is said to exceed.
sub odd_explanations
{
	my ($session) = @_;

	return $session->run(<<'SQL');
SELECT node, queue, application_id, allocation, stopped_by, used, maximum FROM yquota.schedule(dry_run => true, explain => true)
WHERE allocation::text LIKE '%=-%' OR stopped_by IN ('user_limit', 'reserved_container') AND (used IS NULL AND allocation IS NOT NULL OR used OPERATOR(yquota.<@) maximum);
SQL
}

# Compare both cycles: the decisions, and whether the remaining requests are explained. Return the number of
# allocated containers, too.
sub compare
{
	my ($session, $called) = @_;

	$session->run('SAVEPOINT before');
	my $explained = decide($session, 'explain => true');
	$session->run('ROLLBACK TO before');
	my $decided = decide($session, '');
	my $odd = odd_explanations($session);
	diag("$called, explained:\n$explained\n--\nnot explained:\n$decided") if $explained ne $decided;
	diag("$called, explained:\n$odd") if $odd ne '';
	return ($explained eq $decided && $odd eq '', scalar(() = $decided =~ /^(?:allocated|swapped)\b/mg));
}

sub play
{
	my ($session, $number) = @_;
	my $regime = one_of(qw(wide wide crossing reserving many many));
	my $cluster = begin_history($session, $regime);
	my $containers = 0;

	foreach my $round (1 .. $rounds{$regime})
	{
		$session->run(join ";\n", map { submit($cluster) } 1 .. ($regime eq 'many' ? (130, 30)[ $round - 1 ] : 3) + int rand 12);
		ask_anew($session, $cluster) if $round > 1;
		shrink($session, $cluster) if $round > 1 && $regime eq 'reserving';
		my ($is_right, $its_containers) = compare($session, "history $number, $regime, round $round");
		return (0, $containers) if !$is_right;
		$containers += $its_containers;
	}
	return (1, $containers);
}

my $database = "yquota_explaining_$$";
Session::administer("CREATE DATABASE $database");
my $session = Session->new($database);
$session->run(q(SET client_min_messages = error; CREATE EXTENSION IF NOT EXISTS yquota; INSERT INTO yquota.project (name) VALUES ('p')));

my ($number, $failures, $containers) = (0, 0, 0);
for (my $goes_on = 1; $goes_on && !$failures;)
{
	$goes_on = soak_goes_on(++$number, $histories, 5 * $histories);
	srand($seed + $number);
	my ($is_right, $its_containers) = play($session, $number);
	$session->run('ROLLBACK');
	$failures++ if !$is_right;
	$containers += $its_containers;
}
is($failures, 0, 'cycles that explain decide the same as cycles that do not');
cmp_ok($containers, '>', 10 * $histories, 'containers were allocated');

begin_kept($session);
my ($is_kept, $kept_from) = compare($session, 'the cluster is kept for both leaves');
ok($is_kept && $kept_from == 6, 'an answer kept for both leaves of a parent is not used by others') or diag("$kept_from containers");
$session->run('ROLLBACK');
foreach my $policy ('fifo', 'fair')
{
	begin_passing($session, $policy);
	my ($is_right, $from) = compare($session, "users pass their limits, $policy");
	ok($is_right && $from > 100, "users pass their limits and come below them, $policy") or diag("$from containers");
	$session->run('ROLLBACK');
}
foreach my $of_label (1 .. $histories)
{
	begin_labelled($session);
	my ($is_right) = compare($session, "users of a label, $of_label");
	ok($is_right, "users of a label pass their limits, $of_label");
	$session->run('ROLLBACK');
}
foreach my $leaf ('root.q.l', 'root.q.p.l')
{
	foreach my $reserves (qw(again apart other))
	{
		foreach my $shrinks (0, 1)
		{
			my $called = "a reservation goes: $leaf, $reserves" . ($shrinks ? ', the queue may use less' : '');

			begin_release($session, $leaf, $reserves, $shrinks, $shrinks ? 'NULL' : "'$dominant'");
			my ($is_right) = compare($session, $called);
			ok($is_right, $called);
			$session->run('ROLLBACK');
		}
	}
}
$session->close;
Session::administer("DROP DATABASE $database WITH (FORCE)");
done_testing();
