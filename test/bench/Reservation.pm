# Reservation.pm: a plan with many reservations. The cases measure a submission with both agents and with windows
# of any length. They also measure reports about a week of the plan, and rounds of the plan follower.
package Reservation;

use strict;
use warnings;

use Allocation;
use Bench;
use Cluster;
use List::Util qw(max min);
use Report;

use constant { HOUR => 3600, DAY => 86_400 };
use constant { DAYS => 30, USERS => 100 };
# The number of measured submissions of each kind.
use constant SUBMISSIONS => 21;
# The number of measured calls of reports.
use constant CALLS => 5;
# The number of windows in a search by the aligned agent, and the factor of growth over which its time
# must be linear.
use constant { WINDOWS => 10_000, MORE => 10 };
# The factor by which figures may differ if they should be equal, or should grow with the number of
# windows.
use constant TOLERANCE => 1.2;
# The number of changed shares after which a heartbeat is measured.
use constant AFTER => 30;
# The milliseconds in which a cancelled search must end.
use constant CANCELLED_AFTER => 100;

my $database = 'reservation';
my $number = 100_000;

# Return the instant so many seconds after the first instant of the plan.
sub at { return sprintf q('2026-03-02 00:00+00'::timestamptz + %d * interval '1 s'), $_[0]; }

# plan(seconds => N): return a session with a plan that has accepted reservations of one or two hours within so many
# seconds. Each has up to a twenty-fifth of the plan.
sub plan
{
	my (%option) = @_;
	my $seconds = $option{seconds} // DAYS * DAY;

	Cluster::copy_database($database, Allocation::empty());
	Cluster::once($database, sprintf <<'SQL', $seconds, USERS, size('reservations'));
SELECT yquota.set_clock('2026-03-01 00:00+00');
DELETE FROM yquota.resource_type WHERE name NOT IN ('memory-mb', 'vcores');
INSERT INTO yquota.project (name) VALUES ('p');
INSERT INTO yquota.scheduler_setting (reservation_system_enable) VALUES (true);
INSERT INTO yquota.queue (path, capacity, reservable) VALUES ('root', NULL, NULL), ('root.plan', '100', true);
INSERT INTO yquota.node (name, total) SELECT 'node' || i, '[memory-mb=131072,vcores=128]' FROM generate_series(1, 1000) AS i;
SELECT setseed(0.5);
WITH made AS MATERIALIZED (
	SELECT i, '2026-03-02 00:00+00'::timestamptz + trunc(random() * %1$d) * interval '1 s' AS start, 3600 + trunc(random() * 3600) AS seconds,
		   1 + trunc(random() * 5200)::integer AS containers, 'u' || trunc(random() * %2$d) AS username
	FROM generate_series(100001, 100000 + %3$d) AS i),
defined AS (
	INSERT INTO yquota.reservation_definition (reservation_id, version, queue, username, project, arrival, deadline, interpreter, requests, accepted_at)
	SELECT format('reservation_1_%%s', i), 1, 'root.plan', username, 'p', start, start + seconds * interval '1 s', 'ALL',
		   ARRAY[yquota.reservation_request('[memory-mb=1024,vcores=1]', containers, seconds * interval '1 s', containers)], '2026-03-01 00:00+00'
	FROM made
	RETURNING reservation_id)
INSERT INTO yquota.reservation_allocation (reservation_id, version, queue, username, deadline, "from", "to", allocation)
SELECT format('reservation_1_%%s', i), 1, 'root.plan', username, start + seconds * interval '1 s', start, start + seconds * interval '1 s',
	   yquota.resource(jsonb_build_object('memory-mb', 1024 * containers, 'vcores', containers))
FROM made;
SQL
	Cluster::once($database, 'VACUUM ANALYZE');
	Cluster::checkpoint();
	return Cluster->new($database);
}

# submission(SECONDS, OPTION...): return a call for containers that may run anywhere within so many
# seconds.
sub submission
{
	my ($seconds, %option) = @_;
	my $containers = $option{containers} // 1000;

	return sprintf q(SELECT coalesce(decided_by || ': ' || reason, 'accepted') FROM yquota.submit_reservation('reservation_2_%d', 'root.plan', '%s%d', '{}', 'p',
		yquota.reservation_contract(%s, %s, ARRAY[yquota.reservation_request('[memory-mb=1024,vcores=1]', %d, %d * interval '1 s', %d)], 'ALL'))),
	  ++$number, $option{owner} // 'u', $number % USERS, at(0), at($seconds), $containers, $option{duration} // HOUR, $option{gang} // 10;
}

# Return the milliseconds of an accepted submission, and its processor time. The first submission of a session
# does not count.
sub submit
{
	my ($session, $seconds, %option) = @_;
	my $count = $option{submissions} // SUBMISSIONS;
	my $before = $number;

	$session->run(submission($seconds, %option));
	my $used = $session->processor_milliseconds;
	my @milliseconds = $session->milliseconds(map { submission($seconds, %option) } 1 .. $count);
	my $processor = ($session->processor_milliseconds - $used) / $count;
	my $accepted = $session->run("SELECT count(*) FROM yquota.reservation_definition WHERE reservation_id > 'reservation_2_$before' AND reservation_id <= 'reservation_2_$number'");

	die "only $accepted submissions were accepted\n" if $accepted != $number - $before;
	return (median(@milliseconds), $processor);
}

sub set_agent { my ($session, $agent) = @_; $session->run("UPDATE yquota.queue SET reservation_agent = '$agent' WHERE path = 'root.plan'"); return; }

sub described { return sprintf '%d reservations over %d days', size('reservations'), $_[0] // DAYS; }

sub of_processor { return sprintf '%s ms of a processor', Bench::shown($_[0]); }

#
# The greedy agent: the first place that fits
#

# Compare plans with the same number of segments, in the usual length and in ten times that length.
sub greedy_case
{
	my $found = interleave(map {
		my $times = $_;
		$times => sub {
			my $session = plan(seconds => $times * DAYS * DAY);
			set_agent($session, 'GreedyReservationAgent');
			my %figures;
			@figures{qw(month month_processor)} = submit($session, $times * DAYS * DAY);
			@figures{qw(day day_processor)} = submit($session, $times * DAY, owner => 'v');
			$session->close;
			return %figures;
		}
	} 1, 10);
	my $month = $found->{1}{month};

	Report::add('submit_reservation() by GreedyReservationAgent anywhere in a month', figure => $month, figure_unit => 'ms', value => $month, unit => 'ms', at_most => 20,
		note => described() . '; ' . of_processor($found->{1}{month_processor}));
	Report::add('the same in ten times the time, with as many segments', figure => $found->{10}{month}, figure_unit => 'ms', baseline => $month, baseline_name => 'a month',
		value => ratio($found->{10}{month}, $month), unit => 'x', at_most => TOLERANCE, note => described(10 * DAYS) . '; ' . of_processor($found->{10}{month_processor}));
	Report::add('the same within a day', figure => $found->{1}{day}, figure_unit => 'ms', note => described() . '; ' . of_processor($found->{1}{day_processor}));
	Cluster::drop_database($database);
	return;
}

#
# The aligned agent: the window with the lowest load
#

sub aligned_case
{
	my $seconds = DAYS * DAY;
	my $windows = WINDOWS;
	my (@few, @some, @many, @some_processor, @many_processor, @late);

	foreach (1 .. repetitions())
	{
		my $session = plan();
		set_agent($session, 'AlignedPlannerWithGreedy');
		push @few, (submit($session, $seconds, duration => HOUR))[0];
		foreach my $kind ([ \@some, \@some_processor, 1, SUBMISSIONS ], [ \@many, \@many_processor, MORE, 3 ])
		{
			my ($milliseconds, $processor, $times, $submissions) = @$kind;
			my @taken = submit($session, $seconds, duration => int($seconds / WINDOWS / $times), containers => 100, gang => 1, submissions => $submissions);

			push @$milliseconds, $taken[0];
			push @$processor, $taken[1];
		}
		push @late, cancelled($session);
		$session->close;
	}
	my ($few, $some, $many) = map { median(@$_) } \@few, \@some, \@many;
	Report::add(sprintf('submit_reservation() by AlignedPlannerWithGreedy, %d windows', WINDOWS), figure => $some, figure_unit => 'ms', value => $some, unit => 'ms', at_most => 60,
		note => described() . sprintf('; %s; with %d windows %s ms', of_processor(median(@some_processor)), $seconds / HOUR, Bench::shown($few)));
	Report::add(sprintf('the same with %d times as many', MORE), figure => $many, figure_unit => 'ms', baseline => $some, baseline_name => 'before', value => ratio($many, $some),
		unit => 'x', at_most => MORE * TOLERANCE, note => described() . '; ' . of_processor(median(@many_processor)));
	Report::add('the same, cancelled: until it ends', figure => median(@late), figure_unit => 'ms', value => median(@late), unit => 'ms', at_most => CANCELLED_AFTER,
		note => 'windows of a second');
	Cluster::drop_database($database);
	return;
}

# Return how long a search continues after its statement has timed out.
sub cancelled
{
	my ($session) = @_;
	my $patience = 50;

	$session->run("UPDATE yquota.scheduler_setting SET reservation_most_windows = 10000000; SET statement_timeout = $patience");
	my $call = submission(DAYS * DAY, duration => 1, containers => 1, gang => 1) =~ s/^SELECT/PERFORM/r;
	my $milliseconds = $session->milliseconds("DO \$\$ BEGIN $call; RAISE EXCEPTION 'it was not cancelled'; EXCEPTION WHEN query_canceled THEN NULL; END \$\$");

	$session->run('RESET statement_timeout');
	return $milliseconds - $patience;
}

#
# Views and reports for people
#

sub week_case
{
	my $week = sprintf q("from" => %s, "to" => %s), at(7 * DAY), at(14 * DAY);
	my (@list, @plan, @list_processor, @plan_processor, $listed, $intervals);

	foreach (1 .. repetitions())
	{
		my $session = plan();
		my $list = "SELECT count(*) FROM yquota.list_reservations('root.plan', 'u1', '{}', $week)";
		my $plan = "SELECT count(*) FROM yquota.plan_allocation('root.plan', $week)";

		($listed, $intervals) = map { $session->run($_) } $list, $plan;
		foreach my $kind ([ $list, \@list, \@list_processor ], [ $plan, \@plan, \@plan_processor ])
		{
			my ($call, $milliseconds, $processor) = @$kind;
			my $used = $session->processor_milliseconds;

			push @$milliseconds, $session->milliseconds(($call) x CALLS);
			push @$processor, ($session->processor_milliseconds - $used) / CALLS;
		}
		$session->close;
	}
	Report::add('list_reservations() of a week', figure => median(@list), figure_unit => 'ms', value => median(@list), unit => 'ms', at_most => 50, note => "$listed of " . described() . '; ' . of_processor(median(@list_processor)));
	Report::add('plan_allocation() of a week', figure => median(@plan), figure_unit => 'ms', value => median(@plan), unit => 'ms', at_most => 50, note => "$intervals intervals; " . described() . '; ' . of_processor(median(@plan_processor)));
	Cluster::drop_database($database);
	return;
}

#
# Following the plan
#

# Return a session with a plan of active reservations. They begin together and last for hours, each
# with another amount every twelve minutes. With reserved_factor => N they pay that part of the
# price. The price changes every ten seconds in the first hour.
sub active_plan
{
	my (%option) = @_;
	my $active = size('active_reservations');

	Cluster::copy_database($database, Allocation::empty());
	Cluster::once($database, sprintf <<'SQL', $active, $option{reserved_factor} // 0, $option{reserved_factor} ? 359 : 0);
SELECT yquota.set_clock('2026-03-02 00:00+00');
DELETE FROM yquota.resource_type WHERE name NOT IN ('memory-mb', 'vcores');
INSERT INTO yquota.project (name) VALUES ('p');
INSERT INTO yquota.scheduler_setting (reservation_system_enable) VALUES (true);
INSERT INTO yquota.queue (path, capacity, reservable) VALUES ('root', NULL, NULL), ('root.plan', '100', true);
INSERT INTO yquota.node (name, total) SELECT 'node' || i, '[memory-mb=131072,vcores=128]' FROM generate_series(1, 1000) AS i;
INSERT INTO yquota.charging_rule (effective_at, reserved_factor) VALUES ('2026-03-01 00:00+00', %2$s);
SELECT count(yquota.set_multiplier('GENERAL', 1 + i %% 7 * 0.1, '2026-03-02 00:00+00'::timestamptz + i * interval '10 s')) FROM generate_series(1, %3$d) AS i;
INSERT INTO yquota.reservation_definition (reservation_id, version, queue, username, project, arrival, deadline, interpreter, requests, accepted_at)
SELECT format('reservation_1_%%s', 100000 + i), 1, 'root.plan', 'u' || i %% 50, 'p', start, start + interval '1 hour', 'ALL',
	   ARRAY[yquota.reservation_request('[memory-mb=1024,vcores=1]', 50, '12 min', 50)], '2026-03-01 00:00+00'
FROM generate_series(1, 10 * %1$d) AS i CROSS JOIN LATERAL (SELECT '2026-03-02 00:00+00'::timestamptz + (i - 1) / %1$d * interval '1 hour' AS start) AS s;
INSERT INTO yquota.reservation_allocation (reservation_id, version, queue, username, deadline, "from", "to", allocation)
SELECT d.reservation_id, 1, d.queue, d.username, d.deadline, d.arrival + k * interval '12 min', d.arrival + (k + 1) * interval '12 min',
	   yquota.resource(jsonb_build_object('memory-mb', (50 + k) * 1024, 'vcores', 50 + k))
FROM yquota.reservation_definition AS d CROSS JOIN generate_series(0, 4) AS k;
SQL
	Cluster::once($database, 'VACUUM ANALYZE');
	Cluster::checkpoint();
	return Cluster->new($database);
}

sub follow_case
{
	my $round = q(SELECT count(*) FROM yquota.follow_plans());
	my $active = size('active_reservations');
	my (@resizing, @empty, @wal);

	foreach (1 .. repetitions())
	{
		my $session = active_plan();

		$session->run($round);
		foreach my $part (1 .. 4)
		{
			$session->run(sprintf 'SELECT yquota.set_clock(%s)', at(720 * $part));
			push @resizing, $session->milliseconds($round);
			my $changed = $session->run("SELECT count(*) FROM yquota.reservation_queue WHERE capacity > 0");
			die "$changed queues instead of $active\n" if $changed != $active + 1;
			push @empty, $session->milliseconds(($round) x 5);
		}
		my $before = $session->run('SELECT pg_current_wal_insert_lsn()');
		$session->run($round) for 1 .. 5;
		push @wal, $session->run("SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '$before')");
		$session->close;
	}
	Report::add("follow_plans(): a round that sizes $active queues", figure => median(@resizing), figure_unit => 'ms', value => median(@resizing), unit => 'ms', at_most => 100);
	Report::add('the same when nothing changes', figure => median(@empty), figure_unit => 'ms', value => median(@empty), unit => 'ms', at_most => 10);
	# exclude the WAL that the server sometimes writes by itself
	Report::add('its WAL', figure => min(@wal), figure_unit => 'bytes', value => min(@wal), unit => 'bytes', at_most => 0);
	Cluster::drop_database($database);
	return;
}

#
# Heartbeats beside rounds of the plan follower
#

# Leaves become queues of active reservations, which have nine tenths of the cluster.
my $becomes_plan = <<'SQL';
UPDATE leaf SET path = format('root.plan.reservation_1_%s', 100000 + n);
UPDATE yquota.application AS a SET queue = leaf.path, submitted_queue = 'root.plan' FROM leaf WHERE a.queue = format('root.c%s', n);
UPDATE yquota.queue SET state = 'STOPPED' WHERE path <> 'root';
BEGIN;
DELETE FROM yquota.queue WHERE path <> 'root';
INSERT INTO yquota.queue (path, capacity, reservable, minimum_user_limit_percent, user_limit_factor) VALUES ('root.plan', '100', true, 25, 1000);
UPDATE yquota.scheduler_setting SET reservation_system_enable = true;
COMMIT;
CREATE TABLE part AS
SELECT sum(yquota.amount(total, 'memory-mb')) * 0.9 / (SELECT count(*) FROM leaf) AS memory, sum(yquota.amount(total, 'vcores')) * 0.9 / (SELECT count(*) FROM leaf) AS vcores
FROM yquota.node;
CREATE FUNCTION reserved(share numeric) RETURNS yquota.resource LANGUAGE sql AS
	'SELECT yquota.resource(jsonb_build_object(''memory-mb'', trunc(memory * share), ''vcores'', trunc(vcores * share))) FROM part';
-- whole seconds until it begins and ends, from now on
CREATE FUNCTION reserve(n bigint, begins bigint, ends bigint) RETURNS void LANGUAGE sql AS $$
	INSERT INTO yquota.reservation_definition (reservation_id, version, queue, username, project, arrival, deadline, interpreter, requests, accepted_at)
	SELECT format('reservation_1_%s', 100000 + n), 1, 'root.plan', 'user0', 'project0', second + begins * interval '1 s', second + ends * interval '1 s', 'ALL',
		ARRAY[yquota.reservation_request('[memory-mb=1024,vcores=1]', 1, '1 s', 1)], second
	FROM date_trunc('second', now()) AS second;
	INSERT INTO yquota.reservation_allocation (reservation_id, version, queue, username, deadline, "from", "to", allocation)
	SELECT reservation_id, version, queue, username, deadline, arrival, deadline, reserved(1)
	FROM yquota.reservation_definition WHERE reservation_id = format('reservation_1_%s', 100000 + n);
$$;
SELECT count(reserve(n, -3600, 86400)) FROM leaf;
SELECT count(*) FROM yquota.follow_plans();
SQL

# Each case has a name, its SQL and the minimum number of rows that a round returns. For two minutes after the SQL,
# a round in each second finds changes.
sub changes
{
	my $active = size('active_reservations');

	return ([ 'changes nothing', '', 0 ],
		[ 'changes 11 shares', <<'SQL', 11 ],
UPDATE yquota.reservation_allocation AS a SET "to" = date_trunc('second', now()) + n / 10 * interval '1 s' FROM leaf WHERE leaf.path = a.queue || '.' || a.reservation_id;
INSERT INTO yquota.reservation_allocation (reservation_id, version, queue, username, deadline, "from", "to", allocation)
SELECT reservation_id, version, queue, username, deadline, "to", deadline, reserved(0.95) FROM yquota.reservation_allocation;
SQL
		[ 'makes 3 queues and removes 3', 'SELECT count(reserve(50000 + n, n / 3, n / 3 + 10)) FROM generate_series(0, 359) AS n', 4 ],
		[ 'changes all shares', <<'SQL', $active + 1 ]);
UPDATE yquota.reservation_allocation SET "to" = date_trunc('second', now());
INSERT INTO yquota.reservation_allocation (reservation_id, version, queue, username, deadline, "from", "to", allocation)
SELECT reservation_id, version, queue, username, deadline, "to" + s * interval '1 s', "to" + (s + 1) * interval '1 s', reserved(0.9 + s % 7 * 0.01)
FROM yquota.reservation_allocation, generate_series(0, 119) AS s;
SQL
}

# rounds(NAME, SQL, ROWS): measure the rounds beside Allocation::heartbeats().
sub rounds
{
	my ($name, $sql, $rows) = @_;
	my (@found, @milliseconds);

	return {
		name => "a round of follow_plans() every s that $name",
		seconds => 1,
		prepare => "$sql;\nVACUUM ANALYZE",
		sql => 'SELECT count(*), extract(epoch FROM clock_timestamp() - statement_timestamp()) * 1000 FROM yquota.follow_plans()',
		tell => sub {
			my ($found, $milliseconds) = split /\|/, $_[0];
			push @found, $found;
			push @milliseconds, $milliseconds;
			return;
		},
		note => sub {
			die "no round $name\n" if $rows ? max(@found) < $rows : max(@found) > 0;
			return sprintf '%s queues of plans; a round takes %s ms', size('active_reservations'), Bench::shown(median(@milliseconds));
		},
	};
}

sub heartbeat_case
{
	my $active = size('active_reservations');
	my ($size, $full) = Allocation::full_copies(levels => 2, leaves => $active, change => $becomes_plan);

	Allocation::heartbeat_rows($size, $full, 8, Allocation::HEARTBEATS_PER_SECOND, 20, rounds(@$_)) foreach changes();
	after_row($size, $full);
	Cluster::drop_database($_) foreach Allocation::database(), $full;
	return;
}

# The next heartbeat of a session after ten shares have changed, and further heartbeats.
sub after_row
{
	my ($size, $full) = @_;
	my (@next, @others);

	foreach (1 .. repetitions())
	{
		Cluster::copy_database(Allocation::database(), $full);
		my ($session, $follower) = map { Cluster->new(Allocation::database()) } 1 .. 2;
		my $node = 0;
		my $heartbeats = sub { return $session->milliseconds(map { sprintf q(SELECT count(*) FROM yquota.node_heartbeat(ARRAY['node%06d'])), ++$node % $size->{nodes} } 1 .. $_[0]) };

		$heartbeats->(10);
		foreach (1 .. AFTER)
		{
			$follower->run('UPDATE yquota.reservation_queue SET capacity = capacity * 0.999 WHERE name IN (SELECT name FROM yquota.reservation_queue WHERE reservation_id IS NOT NULL ORDER BY random() LIMIT 10)');
			my ($next, @later) = $heartbeats->(3);
			push @next, $next;
			push @others, @later;
		}
		$_->close foreach $session, $follower;
	}
	Report::add('the next node_heartbeat() of a session after 10 shares have changed', figure => median(@next), figure_unit => 'ms', baseline => median(@others), baseline_name => 'later ones',
		value => median(@next), unit => 'ms', at_most => 2, note => Allocation::described($size));
	return;
}

#
# Charges of reservations
#

sub money_case
{
	my $active = size('active_reservations');
	my $quote = <<~'SQL' =~ s/\n\z//r;
		SELECT yquota_internal.quote_reservation('reservation_3_0001', 'p', 'u1', 'root.plan', array_agg(a."from"), array_agg(a."to"), array_agg(a.allocation), '2026-03-02 00:00+00')
		FROM yquota.reservation_allocation AS a WHERE a.reservation_id = 'reservation_1_100001'
		SQL
	my $explain = q(SELECT count(*) FROM yquota.explain_reservation('reservation_1_100001'));
	my $balance = q(SELECT accrued FROM yquota.project_balance WHERE project = 'p');
	my (@posting, @processor, @quote, @explain, @balance, $rows);

	foreach (1 .. repetitions())
	{
		my $session = active_plan(reserved_factor => 0.5);

		push @quote, $session->milliseconds(($quote) x CALLS);
		foreach my $part (1 .. 4)
		{
			$session->run(sprintf 'SELECT yquota.set_clock(%s)', at(720 * $part));
			push @balance, $session->milliseconds($balance);
			my $used = $session->processor_milliseconds;
			push @posting, $session->milliseconds('SELECT yquota_internal.book_reservations()');
			push @processor, $session->processor_milliseconds - $used;
			my $posted = $session->run('SELECT count(*) FROM yquota.reservation_charge');
			die "$posted rows instead of " . $part * $active . "\n" if $posted != $part * $active;
		}
		push @explain, $session->milliseconds(($explain) x CALLS);
		$rows = $session->run($explain);
		$session->close;
	}
	Report::add("charging $active reservations for an interval", figure => median(@posting), figure_unit => 'ms', note => '72 prices each; ' . of_processor(median(@processor)));
	Report::add('project_balance of their project before', figure => median(@balance), figure_unit => 'ms', note => "$active intervals that are over and not posted");
	Report::add('quote of a reservation', figure => median(@quote), figure_unit => 'ms', note => 'five intervals, 360 prices');
	Report::add('explain_reservation()', figure => median(@explain), figure_unit => 'ms', note => "$rows rows");
	Cluster::drop_database($database);
	return;
}

sub cases
{
	return ('reservation-greedy' => \&greedy_case, 'reservation-aligned' => \&aligned_case, 'reservation-week' => \&week_case, 'reservation-follow' => \&follow_case, 'reservation-money' => \&money_case, 'reservation-heartbeat' => \&heartbeat_case);
}

1;
