# Allocation.pm: the allocation of containers. The cases measure a cycle over the whole cluster, as a dry run and
# recorded. They also measure how its time grows with the cluster, and heartbeats of single nodes.
package Allocation;

use strict;
use warnings;

use Bench;
use Cluster;
use FindBin;
use List::Util qw(min sum);
use Report;
use Time::HiRes qw(sleep);

use constant EVENTS_PER_SECOND => 400;
use constant HEARTBEATS_PER_SECOND => 400;

# The interval in seconds at which counters are compacted during heartbeats, as the worker does.
use constant COMPACT_INTERVAL => 3;
# The number of nodes in one heartbeat call.
use constant BATCH => 100;

# The tolerance of linear growth: a cluster of four times the size may take four times as long, times this factor.
use constant TOLERANCE => 1.1;

my $database = 'allocation';
my $is_prepared;

# The database in which all clusters are measured.
sub database { return $database; }

# An empty database, which is copied.
sub empty
{
	my $name = 'allocation_empty';

	unless ($is_prepared++)
	{
		Cluster::copy_database($name);
		Cluster::once($name, 'CREATE EXTENSION yquota');
		Cluster::once($name, 'VACUUM ANALYZE');
	}
	return $name;
}

# cluster(OPTION...): make a database with a cluster of that size (by default the size of the scale)
# and the requests of its applications. The option "change" is SQL that changes the cluster.
sub cluster
{
	my (%option) = @_;
	my $change = delete $option{change};
	my %size = (nodes => size('nodes'), leaves => size('leaves'), applications => size('active_applications'),
		containers => size('application_containers'), room => 1, levels => 4, %option);

	Cluster::copy_database($database, empty());
	Cluster::run_file($database, "$FindBin::Bin/allocation.sql", %size);
	Cluster::once($database, $change) if defined $change;
	ask(%size, wave => 0);
	return \%size;
}

sub ask
{
	my (%size) = @_;

	Cluster::run_file($database, "$FindBin::Bin/allocation_requests.sql", %size);
	return;
}

sub described { my ($size) = @_; return "$size->{nodes} nodes, $size->{leaves} leaves, $size->{applications} applications"; }

# check_cluster(FINISHED): check that the measured cluster is right. No node holds more than it has room for, and
# FINISHED containers have ended in the books.
sub check_cluster
{
	my ($finished) = @_;
	my ($running, $full) = split /\|/, Cluster::once($database, <<'SQL');
SELECT (SELECT count(*) FROM yquota.container),
	(SELECT count(*) FROM yquota.scheduler_node WHERE yquota.amount(available, 'memory-mb') < 0 OR yquota.amount(available, 'vcores') < 0)
SQL

	die "$full nodes have more than they offer\n" if $full;
	check_books($database, running => $running, events => $running + 2 * $finished, charges => $finished);
	return;
}

#
# The whole cluster
#

# timed(SESSION, CALL): return the milliseconds of a call, the number of its decisions that start
# containers, and the number of all decisions.
sub timed
{
	my ($session, $call) = @_;
	my $answer = $session->run(<<"SQL");
\\timing on
SELECT count(*) FILTER (WHERE decision IN ('allocated', 'swapped')), count(*) FROM $call;
\\timing off
SQL
	my ($containers, $decisions) = $answer =~ /^(\d+)\|(\d+)$/m or die "no counts of: $call\n$answer\n";
	my ($milliseconds) = $answer =~ /^Time: ([0-9.]+) ms/m;

	return ($milliseconds, $containers, $decisions);
}

# The time of a cycle over the whole cluster, as a dry run and recorded. The session has made a dry run
# before.
sub schedule_case
{
	my (@decided, @recorded, @full, $peak, $size);

	foreach my $repetition (1 .. repetitions())
	{
		$size = cluster();
		Cluster::checkpoint();
		my $session = Cluster->new($database);
		timed($session, 'yquota.schedule(dry_run => true)');
		my ($dry, $said, $decisions) = timed($session, 'yquota.schedule(dry_run => true)');
		my ($real, $containers) = timed($session, 'yquota.schedule()');
		die "$containers containers were started, and a dry run had said $said\n" if $containers != $said || !$containers;
		push @decided, $decisions / $dry * 1000;
		push @recorded, $containers / $real * 1000;
		$peak = $session->peak_memory if $repetition == 1;
		my ($milliseconds) = timed($session, 'yquota.schedule(dry_run => true)');
		push @full, $milliseconds;
		$session->close;
		check_cluster(0);
	}
	my @note = (note => described($size));
	Report::add('schedule(), dry run: decisions', figure => median(@decided), figure_unit => '/s', value => median(@decided), unit => '/s', at_least => 300_000, @note);
	Report::add('schedule(): containers recorded and charged', figure => median(@recorded), figure_unit => '/s', value => median(@recorded), unit => '/s', at_least => 50_000, @note);
	Report::add('schedule(), dry run when the cluster is full', figure => median(@full), figure_unit => 'ms', @note);
	Report::add('schedule(), peak memory of the session', figure => $peak / 1024, figure_unit => 'MB', value => $peak / 1024, unit => 'MB', at_most => 500, @note);
	Cluster::drop_database($database);
	return;
}

# cycle_times(OPTION...): return the milliseconds of a cycle that fills the cluster, and of a cycle
# over the full cluster.
sub cycle_times
{
	cluster(@_);
	return times_of_passes();
}

sub times_of_passes
{
	my $session = Cluster->new($database);
	my $best = sub { return (sort { $a <=> $b } map { (timed($session, 'yquota.schedule(dry_run => true)'))[0] } 1 .. 3)[0]; };
	my $filling = $best->();
	timed($session, 'yquota.schedule()');
	my $full = $best->();

	$session->close;
	return ($filling, $full);
}

# Clusters in which most waiting requests cannot be served, each for another reason, and a cluster
# in which each search visits all leaves.
my @regimes = (
	[ 'all leaves below the root', levels => 2 ],
	[ 'more room than demand, every other node small', room => 2, change => <<'SQL' ],
UPDATE yquota.node SET total = '[memory-mb=3072,vcores=8]' WHERE substr(name, 5)::integer % 2 = 1;
SQL
	[ 'all leaves at their maxima', change => <<'SQL' ],
UPDATE yquota.queue SET maximum_capacity = '6' WHERE path LIKE 'root.%.%.%';
SQL
	[ 'every other node shared by its label', change => <<'SQL' ],
SET client_min_messages = error;
UPDATE yquota.scheduler_setting SET node_labels_enabled = true;
INSERT INTO yquota.node_label (name, exclusive) VALUES ('shared', false);
UPDATE yquota.queue SET accessible_node_labels = '{shared}';
INSERT INTO yquota.queue_label (queue, label, capacity) SELECT path, 'shared', '1w' FROM yquota.queue WHERE path <> 'root';
UPDATE yquota.node SET label = 'shared' WHERE substr(name, 5)::integer % 2 = 1;
SQL
);

# Nodes and applications in a single leaf.
my $fair = q(UPDATE yquota.queue SET ordering_policy = 'fair' WHERE path LIKE 'root.%.%.%');
my $elastic = q(INSERT INTO yquota.queue (path, capacity) VALUES ('root.other', '9w'));
my $users = q(UPDATE yquota.application SET username = application_id);
my @leaf = (
	[ 'one leaf', leaves => 1 ],
	[ 'one leaf in fair order', leaves => 1, change => $fair ],
	[ 'one leaf beyond its share', leaves => 1, change => $elastic ],
	[ 'one leaf beyond its share, each application of a user of its own', leaves => 1, change => "$elastic; $users" ],
);

# growth_rows(CALLED, TIMES): add rows for the measurements with one, two and four times the size.
sub growth_rows
{
	my ($called, $times) = @_;

	foreach my $cycle ([ 0, 'filling the cluster' ], [ 1, 'the cluster being full' ])
	{
		my ($place, $kind) = @$cycle;
		my @milliseconds = map { $times->{$_}[$place] } 1, 2, 4;

		Report::add("schedule(), $kind: four times as many $called", figure => $milliseconds[2], figure_unit => 'ms',
			baseline => $milliseconds[0], baseline_name => 'a quarter', value => ratio($milliseconds[2], $milliseconds[0]), unit => 'x',
			at_most => 4 * TOLERANCE, note => sprintf 'half: %s ms', Bench::shown($milliseconds[1]));
	}
	return;
}

# Three sizes, from a quarter to the full measured number. If the time grows linearly, it becomes
# four times as long. If nodes and applications both grow, their product is sixteen times.
sub growth_case
{
	my ($nodes, $applications) = (size('nodes'), size('active_applications'));
	my $everything = [ cycle_times() ];

	foreach my $growing ([ nodes => 'nodes' ], [ active_applications => 'applications' ], [ both => 'nodes and applications' ])
	{
		my ($what, $called) = @$growing;
		my %times = (4 => $everything);

		foreach my $quarters (1, 2)
		{
			$times{$quarters} = [ cycle_times(
				nodes => $what eq 'active_applications' ? $nodes : $nodes * $quarters / 4,
				applications => $what eq 'nodes' ? $applications : $applications * $quarters / 4) ];
		}
		growth_rows($called, \%times);
	}
	Cluster::drop_database($database);
	return;
}

# regime_rows(CALLED, REGIMES): measure up to half of the size, because only the ratio matters.
sub regime_rows
{
	my ($what, @of) = @_;
	my %size = (nodes => size('nodes'), leaves => size('leaves'), applications => size('active_applications'));

	foreach my $regime (@of)
	{
		my ($called, %option) = @$regime;
		my %times;

		foreach my $eighths (1, 2, 4)
		{
			$times{$eighths} = [ cycle_times((map { $_ => int($size{$_} * $eighths / 8) } keys %size), %option) ];
		}
		growth_rows("$what, $called", \%times);
	}
	Cluster::drop_database($database);
	return;
}

sub regimes_case { return regime_rows('nodes, leaves and applications', @regimes); }
sub leaf_case { return regime_rows('nodes and applications', @leaf); }

# An application that requests containers under many request ids. Half of the containers find room.
sub keys_case
{
	my %times;

	foreach my $quarters (1, 2, 4)
	{
		my $keys = size('request_keys') * $quarters / 4;

		Cluster::copy_database($database, empty());
		Cluster::once($database, <<"SQL");
SET client_min_messages = error;
INSERT INTO yquota.project (name) VALUES ('keys');
INSERT INTO yquota.queue (path, capacity) VALUES ('root', NULL), ('root.keys', '100');
INSERT INTO yquota.node (name, total) SELECT 'node' || number, format('[memory-mb=%s,vcores=%s]', 1024 * $keys / 8, $keys / 8)::yquota.resource FROM generate_series(1, 4) AS number;
SELECT yquota.submit_application('application_1_0001', 'keys', '{}', 'keys', project => 'keys', unmanaged => true);
SELECT yquota.request_containers('application_1_0001',
	array_agg(ROW('*', '[memory-mb=1024,vcores=1]', 1, 1, number, true, NULL, NULL, NULL)::yquota.container_request))
FROM generate_series(1, $keys) AS number;
VACUUM ANALYZE yquota.resource_request;
SQL
		$times{$quarters} = [ times_of_passes() ];
	}
	growth_rows('request keys of one application', \%times);
	Cluster::drop_database($database);
	return;
}

#
# Single nodes
#

my %script = (
	heartbeat => <<'SQL',
\set node random(0, :nodes / :clients - 1) * :clients + :client_id
SELECT * FROM yquota.node_heartbeat(ARRAY['node' || lpad(:node::text, 6, '0')]);
SQL
	batch => <<'SQL',
\set first random(0, :nodes / :batch - 1) * :batch
SELECT * FROM yquota.node_heartbeat(ARRAY(SELECT 'node' || lpad((:first + number)::text, 6, '0') FROM generate_series(0, :batch - 1) AS number));
SQL
	opportunistic => <<'SQL',
\set application random(0, :applications - 1)
SELECT * FROM yquota.allocate_opportunistic('application_1700000000000_' || lpad(:application::text, 6, '0'),
	ARRAY[ROW('*', '[memory-mb=1024,vcores=1]', 1, 1, 1, true, NULL, 'OPPORTUNISTIC', NULL)::yquota.container_request]);
SQL
	finish => <<'SQL',
INSERT INTO yquota.container_event (event, container_id, occurred_at, exit_status, source)
SELECT 'CONTAINER_FINISH', e.container_id, clock_timestamp(), 0, 'bench' FROM ending AS e WHERE e.n = (SELECT nextval('ended'));
SQL
);

# full_cluster(OPTION...): make a full cluster in which every application waits for more. Options are those of
# cluster().
sub full_cluster
{
	my $size = cluster(@_);

	Cluster::once($database, 'SELECT count(*) FROM yquota.schedule()');
	# sessions keep the cluster from the second cycle on
	Cluster::once($database, "SELECT count(*) FROM yquota.node_heartbeat(ARRAY(SELECT min(name) FROM yquota.node))");
	Cluster::once($database, 'DELETE FROM yquota.decision');
	ask(%$size, wave => 1);
	Cluster::once($database, <<'SQL');
CREATE TABLE ending AS SELECT row_number() OVER (ORDER BY hashtext(container_id)) AS n, container_id FROM yquota.container;
ALTER TABLE ending ADD PRIMARY KEY (n);
CREATE SEQUENCE ended;
SQL
	compact($database);
	Cluster::once($database, 'VACUUM ANALYZE');
	Cluster::checkpoint();
	return $size;
}

# full_copies(OPTION...): make a full cluster, and return its size and the database that is copied
# to database().
sub full_copies
{
	my $size = full_cluster(@_);
	my $full = "${database}_full";

	Cluster::drop_database($full);
	Cluster::once('postgres', "ALTER DATABASE $database RENAME TO $full");
	return ($size, $full);
}

# running_pgbench(NAME, OPTION...): start pgbench with a log of its transactions.
sub running_pgbench
{
	my ($name, %option) = @_;
	my $file = Bench::directory() . "/$name.sql";

	Report::write_file($file, $script{$name});
	unlink glob Bench::directory() . "/$name.log*";
	my $command = join ' ', 'exec pgbench -n -M prepared -l', '--log-prefix=' . Bench::directory() . "/$name.log", '-f', $file,
	  (map { "$_ '$option{$_}'" } grep { /^-/ } sort keys %option),
	  (map { "-D $_=$option{variables}{$_}" } sort keys %{ $option{variables} || {} }), $database, '2>&1';
	my $pid = open my $output, '-|', $command or die "could not run pgbench: $!\n";

	return { name => $name, output => $output, pid => $pid, command => $command };
}

sub is_running { my ($pgbench) = @_; return -d "/proc/$pgbench->{pid}" && `cat /proc/$pgbench->{pid}/stat` !~ /\) Z /; }

# ended(PGBENCH): return its transactions: the client, the second in which each ended, and its
# milliseconds, without the time that a client waited for its turn.
sub ended
{
	my ($pgbench) = @_;
	my $output = do { local $/; readline $pgbench->{output} };

	close $pgbench->{output};
	die "pgbench failed: $pgbench->{command}\n$output\n" if $? || $output =~ /aborted|ERROR/;
	my @transactions;
	foreach my $name (glob Bench::directory() . "/$pgbench->{name}.log*")
	{
		open my $log, '<', $name or die "could not read \"$name\": $!\n";
		while (my $line = readline $log)
		{
			my ($client, undef, $microseconds, undef, $second, $fraction, $lag) = split ' ', $line;
			push @transactions, { client => $client, ended_at => $second + $fraction / 1e6, milliseconds => ($microseconds - ($lag || 0)) / 1000 };
		}
	}
	die "pgbench did nothing: $pgbench->{command}\n" unless @transactions;
	return sort { $a->{ended_at} <=> $b->{ended_at} } @transactions;
}

# Return how long each client waited for its first transaction, and all waits after the first seconds,
# in ascending order.
sub first_and_others
{
	my @transactions = @_;
	my $from = $transactions[0]{ended_at} - $transactions[0]{milliseconds} / 1000 + size('heartbeat_first_seconds');
	my %first;

	$first{ $_->{client} } //= $_->{milliseconds} foreach @transactions;
	my @others = sort { $a <=> $b } map { $_->{milliseconds} } grep { $_->{ended_at} >= $from } @transactions;
	die "no heartbeat came after the first seconds\n" unless @others;
	return ([ values %first ], \@others);
}

# Work of another session beside heartbeats. The session runs "sql" again and again, "seconds" apart, in a database
# that "prepare" has prepared. "tell" is called with each result, and "note" adds the result to the report at the end.
#
# In every second round leaves with more than their share give some back: a two-hundredth of the cluster, but
# at least ten containers. Containers end in the other rounds.
sub preemption
{
	my ($marked, $killed) = (0, 0);

	return {
		name => sprintf('preemption every %d s', COMPACT_INTERVAL),
		seconds => COMPACT_INTERVAL,
		prepare => <<'SQL',
UPDATE yquota.scheduler_setting SET scheduler_monitor_enable = true, preemption_max_wait_before_kill = 2000,
	preemption_total_preemption_per_round = (SELECT greatest(0.005, 10.0 / count(*)) FROM yquota.container);
CREATE TABLE ending_elsewhere AS
SELECT row_number() OVER (ORDER BY e.n) AS n, e.container_id
FROM ending AS e JOIN yquota.container AS c ON c.container_id = e.container_id JOIN yquota.queue AS q ON q.path = c.queue
WHERE q.capacity <> '1w';
DROP TABLE ending;
ALTER TABLE ending_elsewhere RENAME TO ending;
ALTER TABLE ending ADD PRIMARY KEY (n);
SQL
		sql => q(SELECT count(*) FILTER (WHERE outcome = 'marked'), count(*) FILTER (WHERE outcome = 'killed') FROM yquota.preempt_containers()),
		tell => sub {
			my ($now_marked, $now_killed) = split /\|/, $_[0];
			$marked += $now_marked;
			$killed += $now_killed;
			return;
		},
		note => sub {
			die "no container was selected for preemption\n" unless $marked;
			return sprintf '%.0f containers killed', $killed / repetitions();
		},
	};
}

# heartbeats(SIZE, CLIENTS, RATE, BATCH, BESIDE): return the figures of first_and_others(). During
# the heartbeats containers end, counters are compacted and decisions are acknowledged.
sub heartbeats
{
	my ($size, $clients, $rate, $batch, $beside) = @_;
	my $seconds = size('heartbeat_seconds') && size('heartbeat_first_seconds') + size('heartbeat_seconds');
	my $for = sub { my ($transactions) = @_; return $seconds ? ('-T' => $seconds) : ('-t' => $transactions); };
	my $worker = Cluster->new($database);
	my $other = $beside && Cluster->new($database);
	my $interval = $beside ? $beside->{seconds} : COMPACT_INTERVAL;
	my $turn = 0;
	my $events = running_pgbench('finish', $for->(size('heartbeats')), '--rate' => EVENTS_PER_SECOND);
	my $pgbench = running_pgbench($batch ? 'batch' : 'heartbeat', '-c' => $clients, '-j' => ($clients > 1 ? 2 : 1), $for->(size('heartbeats') / $clients),
		($rate ? ('--rate' => $rate) : ()), variables => { nodes => $size->{nodes}, clients => $clients, batch => $batch // 1 });

	while (is_running($pgbench))
	{
		$other->send($beside->{sql}) if $other;
		sleep($seconds ? $interval : 0.2);
		if (++$turn % (COMPACT_INTERVAL / $interval) == 0)
		{
			$worker->run('SELECT yquota_internal.compact_counters()');
			$worker->run('SELECT yquota.acknowledge_decisions(ARRAY(SELECT d.decision_id FROM yquota.decision AS d))');
		}
		$beside->{tell}->($other->receive) if $other;
	}
	$worker->close;
	$other->close if $other;
	my @heartbeats = ended($pgbench);
	ended($events);
	return first_and_others(@heartbeats);
}

# runs(SIZE, FULL, CLIENTS, RATE, BATCH, BESIDE): return results of heartbeats(), each in a new copy of the full
# cluster.
sub runs
{
	my ($size, $full, @how) = @_;
	my $beside = $how[3];
	my @runs;

	foreach (1 .. repetitions())
	{
		Cluster::copy_database($database, $full);
		Cluster::once($database, $beside->{prepare}) if $beside;
		Cluster::checkpoint();
		push @runs, [ heartbeats($size, @how) ];
		check_heartbeats();
	}
	return @runs;
}

# heartbeat_rows(SIZE, FULL, CLIENTS, RATE, LATEST, BESIDE): add the rows about heartbeats of so
# many clients. LATEST is the limit for 99 % of them, in milliseconds.
sub heartbeat_rows
{
	my ($size, $full, $clients, $rate, $latest, $beside) = @_;
	my (@first, @median, @late, @count);

	foreach my $run (runs($size, $full, $clients, $rate, undef, $beside))
	{
		my ($first, $others) = @$run;

		push @first, median(@$first);
		push @median, median(@$others);
		push @late, $others->[ int(0.99 * $#$others) ];
		push @count, scalar @$others;
	}
	my $name = sprintf 'node_heartbeat() of one node, %s, %d events/s%s beside',
	  $clients == 1 ? '1 client' : "$clients clients" . ($rate ? ", $rate/s together" : ''), EVENTS_PER_SECOND,
	  $beside ? " and $beside->{name}" : '';
	my @note = (note => join '; ', described($size), (size('heartbeat_seconds') ? sprintf('%.0f/s', median(@count) / size('heartbeat_seconds')) : ()),
		($beside ? $beside->{note}->() : ()));

	Report::add("$name: the first of a session", figure => median(@first), figure_unit => 'ms', note => described($size));
	Report::add("$name: median", figure => median(@median), figure_unit => 'ms', value => median(@median), unit => 'ms', at_most => 2, @note);
	Report::add("$name: 99 %", figure => median(@late), figure_unit => 'ms', value => median(@late), unit => 'ms', at_most => $latest, @note);
	return;
}

# Each heartbeat of a session is for many nodes.
sub batch_row
{
	my ($size, $full) = @_;
	my $batch = min(BATCH, $size->{nodes});
	my @rates = map { my (undef, $others) = @$_; 1000 * $batch * @$others / sum(@$others) } runs($size, $full, 1, undef, $batch);

	Report::add(sprintf('node_heartbeat() of %d nodes, 1 client, %d events/s beside', $batch, EVENTS_PER_SECOND),
		figure => median(@rates), figure_unit => 'nodes/s', note => described($size));
	return;
}

# In the full cluster only heartbeats decide, because all earlier decisions were acknowledged.
sub check_heartbeats
{
	my ($finished, $started) = split /\|/, Cluster::once($database, <<'SQL');
SELECT (SELECT count(DISTINCT container_id) FROM yquota.charge),
	(SELECT count(*) FROM yquota.container AS c WHERE NOT EXISTS (SELECT FROM ending AS e WHERE e.container_id = c.container_id))
SQL

	die "nothing was decided\n" if $started < 1;
	check_cluster($finished);
	return;
}

sub heartbeat_case
{
	my ($size, $full) = full_copies();

	heartbeat_rows($size, $full, @$_) foreach [ 1, undef, 10 ], [ 8, undef, 10 ], [ 8, HEARTBEATS_PER_SECOND, 10 ], [ 8, HEARTBEATS_PER_SECOND, 20, preemption() ];
	batch_row($size, $full);
	my $session = Cluster->new($database);
	$session->run("SELECT * FROM yquota.node_heartbeat(ARRAY['node00000$_'])") foreach 0 .. 9;
	my $peak = $session->peak_memory / 1024;
	$session->close;
	Report::add('node_heartbeat(), peak memory of a session', figure => $peak, figure_unit => 'MB', value => $peak, unit => 'MB', at_most => 500, note => described($size));
	Cluster::drop_database($_) foreach $database, $full;
	return;
}

sub cases
{
	return ('allocation-schedule' => \&schedule_case, 'allocation-growth' => \&growth_case, 'allocation-regimes' => \&regimes_case, 'allocation-leaf' => \&leaf_case, 'allocation-keys' => \&keys_case,
		'allocation-heartbeat' => \&heartbeat_case);
}

1;
