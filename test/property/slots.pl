#!/usr/bin/env perl
#
# Slots in the queues of nodes: the room that a node's last report leaves is allocated once, whichever sessions ask at
# the same time.
#
# In each round some nodes report, and sessions then call allocate_opportunistic() at once: for hosts, racks and any
# node. Their transactions have several calls and every isolation level, and are sometimes rolled back. After a round
# no node has more containers in the books than its reports left room for. yquota has recorded as many slots as the
# books have containers. A call that is rolled back and repeated with the same seed gives the same containers. At the
# end a single call gets all that is left.
#
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin, "$FindBin::Bin/../t";
use List::Util qw(max min);
use Test::More;
use Session;
use Soak;
use Trial;

use constant { SESSIONS => 4, ROUNDS => 4 };

my ($seed, $histories) = Trial::plan_run(5);
my $template = "yquota_slots_$$";
my $database = "${template}_play";
my ($session, %total);

sub one_of { return $_[ rand @_ ]; }
sub chance { return rand() < $_[0]; }
sub between { my ($low, $high) = @_; return $low + int rand($high - $low + 1); }

# Return the rows of a query, as arrays.
sub rows { return map { [ split /\|/, $_, -1 ] } split /\n/, $session->run($_[0]); }

sub value { my ($sql) = @_; my $value = $session->run($sql); chomp $value; return $value; }

# -- a history ----------------------------------------------------------------------------

# Begin a history. With QUEUE_LENGTH_THEN_RESOURCES all containers have one size, so that their order does not
# matter.
sub begin_history
{
	my $by_resources = chance(0.25);
	my $history = { by_resources => $by_resources, nodes => between(2, 6), round => 0, size => [ 1024 * between(1, 2), between(1, 2) ] };

	$session->run(join ";\n", q(SELECT yquota.set_clock('2026-03-02 10:00+00')),
		sprintf(q(UPDATE yquota.scheduler_setting SET node_load_comparator = '%s', opportunistic_nodes_used = %d, opportunistic_max_per_heartbeat = %d,
			opportunistic_anywhere_order = '%s', opportunistic_ignores_places = %s),
			$by_resources ? 'QUEUE_LENGTH_THEN_RESOURCES' : 'QUEUE_LENGTH', between(1, $history->{nodes}), one_of(-1, -1, 3),
			one_of('random', 'random', 'round_robin'), one_of('false', 'false', 'true')),
		map { sprintf q(INSERT INTO yquota.node (name, rack, total) VALUES ('%s', '/r%d', '[memory-mb=8192,vcores=8]')), node($_), $_ % 2 } 1 .. $history->{nodes});
	return $history;
}

# Some of these names share a lock, and their order differs from the order of their locks.
sub node { my ($number) = @_; return "node$number"; }

# Let nodes report their queues.
sub report
{
	my ($history) = @_;
	my @reports;

	$session->run(q(SELECT yquota.set_clock(yquota.clock() + interval '2 s')));
	$history->{round}++;
	foreach my $number (1 .. $history->{nodes})
	{
		my $name = node($number);
		my $known = $history->{reports}{$name};
		next if $known && chance(0.4);
		# a node that is in the list keeps its capacity
		my $capacity = $known ? $known->{capacity} : between(0, 8);
		my $length = between(0, $capacity + 1);
		my @allocated = (1024 * between(0, 9), between(0, 9));

		$history->{reports}{$name} = { capacity => $capacity, length => $length, allocated => \@allocated, since => value('SELECT yquota.clock()') };
		push @reports, sprintf q(ROW('%s', 0, 0, 0, %d, NULL, %d, NULL, '[memory-mb=%d,vcores=%d]', NULL)), $name, $length, $capacity, @allocated;
	}
	$session->run('SELECT count(*) FROM yquota.report_nodes(ARRAY[' . join(', ', @reports) . ']::yquota.node_report[])');
	return;
}

# Return how many containers of a history's size a node may get by its last report.
sub room
{
	my ($history, $report) = @_;
	my $queue = max($report->{capacity} - $report->{length}, 0);

	return $queue if !$history->{by_resources};
	my @free = map { max(8 * ($_ == 0 ? 1024 : 1) - $report->{allocated}[$_], 0) } 0, 1;
	return $queue + min(map { int($free[$_] / $history->{size}[$_]) } 0, 1);
}

# -- calls --------------------------------------------------------------------------------

sub asks
{
	my ($history) = @_;
	my @asks;

	foreach my $priority (1 .. between(1, 3))
	{
		my $place = one_of('*', '*', node(between(1, $history->{nodes})), '/r' . between(0, 1));
		my $count = between(1, 4);
		my ($memory, $vcores) = $history->{by_resources} ? @{ $history->{size} } : (1024 * $priority, $priority);

		push @asks, map { "ROW('$_', '[memory-mb=$memory,vcores=$vcores]', $count, $priority, $priority, true, NULL, 'OPPORTUNISTIC', NULL)" } $place eq '*' ? '*' : ($place, '*');
	}
	return 'ARRAY[' . join(', ', @asks) . ']::yquota.container_request[]';
}

sub call
{
	my ($history, $application, $more) = @_;
	my $blacklist = chance(0.1) ? sprintf ", blacklist_additions => '{%s}'", node(between(1, $history->{nodes})) : chance(0.1) ? ', blacklist_removals => ARRAY(SELECT name FROM yquota.node)' : '';

	return sprintf "SELECT count(*) FROM yquota.allocate_opportunistic('application_1_%d', %s%s%s)", $application, asks($history), $blacklist, $more // '';
}

# Return a transaction of several calls, each of which may fail by a deadlock or a serialization
# failure.
sub transaction
{
	my ($history, $application) = @_;
	my $level = one_of('READ COMMITTED', 'READ COMMITTED', 'REPEATABLE READ', 'SERIALIZABLE');
	my @calls = map { call($history, $application) } 1 .. 3;

	return one_of(
		$calls[0],
		$calls[0],
		"BEGIN ISOLATION LEVEL $level; SELECT count(*) FROM yquota.container; $calls[0]; COMMIT",
		"BEGIN ISOLATION LEVEL $level; $calls[0]; $calls[1]; COMMIT",
		"BEGIN; $calls[0]; ROLLBACK",
		"BEGIN; $calls[0]; SAVEPOINT a; $calls[1]; ROLLBACK TO a; $calls[2]; COMMIT");
}

sub work
{
	my ($history, @sessions) = @_;
	my @wrong;

	$sessions[$_]->send(join ";\n", map { transaction($history, $_ + 1) } 1 .. between(1, 5)) foreach 0 .. $#sessions;
	$session->run('SELECT yquota_internal.compact_counters()') if chance(0.5);
	foreach my $client (@sessions)
	{
		my $answer = $client->receive;

		$total{calls}++ while $answer =~ /^\d+$/mg;
		foreach my $error ($answer =~ /^(?:ERROR|FATAL|PANIC):  (.*)$/mg)
		{
			$total{'could not go on'}++;
			push @wrong, $error if $error !~ /^(?:40P01|40001|25P02):/;
		}
	}
	return @wrong;
}

# -- checks -------------------------------------------------------------------------------

sub check_nodes
{
	my ($history) = @_;
	my @wrong;

	foreach my $row (rows(q(SELECT n.name, coalesce(s.slots, 0), s.allocated FROM yquota.node AS n
		LEFT JOIN yquota_internal.node_queue_report AS r ON r.node = n.name LEFT JOIN yquota_internal.opportunistic_slot AS s ON s.node = r.node AND s.reported_at = r.reported_at ORDER BY n.name)))
	{
		my ($name, $slots) = @$row;
		my $report = $history->{reports}{$name} or next;
		my $given = value("SELECT count(*) FROM yquota.container_event WHERE event = 'CONTAINER_START' AND node = '$name' AND occurred_at >= '$report->{since}'");
		my $room = room($history, $report);

		$report->{given} = $given;
		push @wrong, "$name has $given containers, and its report left room for $room" if $given > $room;
		push @wrong, "$name has $given containers, and $slots slots are taken" if !$history->{by_resources} && $given != $slots;
		$total{full}++ if $given == $room && $room > 0;
	}
	my $untold = value(q(SELECT count(*) FROM yquota.container AS c FULL JOIN yquota.decision AS d USING (container_id) WHERE c.container_id IS NULL OR d.container_id IS NULL));
	push @wrong, "$untold containers are not told" if $untold;
	return @wrong;
}

# Roll a call back, and repeat it with the same seed.
sub check_seed
{
	my ($history) = @_;
	my $call = call($history, 1, ', seed => ' . between(0, 1_000_000)) =~ s/count\(\*\)/string_agg(format('%s %s', container_id, node), ', ')/r;
	my @answers = map { value("BEGIN; $call; ROLLBACK") } 1, 2;

	$total{repeated}++ if $answers[0] ne '';
	return $answers[0] eq $answers[1] ? () : "with the same seed: $answers[0], and then: $answers[1]";
}

# Make a new list, and let one application request more than there is.
sub check_rest
{
	my ($history) = @_;
	my ($memory, $vcores) = $history->{by_resources} ? @{ $history->{size} } : (1024, 1);

	$session->run(q(UPDATE yquota.scheduler_setting SET opportunistic_nodes_used = 100, opportunistic_max_per_heartbeat = -1; SELECT yquota.set_clock(yquota.clock() + interval '2 s')));
	$session->run("SELECT count(*) FROM yquota.allocate_opportunistic('application_1_9', ARRAY[ROW('*', '[memory-mb=$memory,vcores=$vcores]', 1000, 1, 1, true, NULL, 'OPPORTUNISTIC', NULL)]::yquota.container_request[])");
	my @wrong = check_nodes($history);
	foreach my $name (split /\n/, $session->run('SELECT node FROM yquota.opportunistic_node'))
	{
		my $report = $history->{reports}{$name};

		push @wrong, "$name has $report->{given} containers in the end, and room for " . room($history, $report) if $report->{given} != room($history, $report);
	}
	return (@wrong, value('SELECT * FROM yquota.verify()'));
}

sub play
{
	Session::administer("CREATE DATABASE $database TEMPLATE $template");
	$session = Session->new($database);
	my $history = begin_history();
	my @sessions = map { Session->new($database) } 1 .. SESSIONS;
	my @wrong;

	$_->run(q(SET deadlock_timeout = '20ms')) foreach @sessions;
	foreach (1 .. ROUNDS)
	{
		report($history);
		push @wrong, check_seed($history), work($history, @sessions), check_nodes($history);
	}
	push @wrong, check_rest($history);
	$_->close foreach @sessions, $session;
	Session::administer("DROP DATABASE $database WITH (FORCE)");
	return grep { $_ ne '' } @wrong;
}

Session::administer("CREATE DATABASE $template");
$session = Session->new($template);
$session->run(<<~'SQL');
	SET client_min_messages = error;
	CREATE EXTENSION IF NOT EXISTS yquota;
	INSERT INTO yquota.project (name) VALUES ('p');
	INSERT INTO yquota.queue (path, capacity) VALUES ('root', NULL), ('root.a', '50'), ('root.b', '50');
	INSERT INTO yquota.scheduler_setting (maximum_am_resource_percent, opportunistic_allocation_enabled, allocation_expiry) VALUES (1, true, '1 day');
	-- it never reports
	INSERT INTO yquota.node (name, rack, total) VALUES ('silent', '/r0', '[memory-mb=8192,vcores=8]');
	SELECT count(*) FROM generate_series(1, 9) AS n,
		LATERAL yquota.submit_application('application_1_' || n, 'ann', NULL, CASE n % 2 WHEN 0 THEN 'a' ELSE 'b' END, project => 'p', unmanaged => true);
	SQL
$session->close;

my $failed = 0;
for (my $done = 0; !$failed && soak_goes_on($done, $histories, 5 * $histories); $done++)
{
	srand($seed + $done);
	my @wrong = play() or next;

	$failed++;
	diag("history of YQUOTA_SEED=@{[ $seed + $done ]} YQUOTA_HISTORIES=1: " . join("\n  ", @wrong[ 0 .. min(9, $#wrong) ]));
}
Session::administer("DROP DATABASE $template");
is($failed, 0, 'slots of nodes are given out once');
cmp_ok($total{$_} // 0, '>', 0, "$_: it happened") foreach qw(calls full repeated);
note("$_: $total{$_}") foreach sort keys %total;
done_testing();
