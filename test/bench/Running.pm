# Running.pm: the cost of prices and balances while many containers run.
package Running;

use strict;
use warnings;

use Bench;
use Cluster;
use Report;
use Workload;

# Times of fractions of a millisecond differ more from run to run.
use constant SAME_TIME => 1.3;

# running(SIZE, OPTION...): return a database with that many running containers. It is made once,
# and no case may charge to it.
my %made;

sub running
{
	my ($size, %option) = @_;
	my %load = (projects => size('running_projects'), kinds => Workload::ALLOCATIONS, %option);
	my $database = join '_', 'running', size($size), @load{qw(projects kinds)};

	return $database if $made{$database}++;
	Bench::fresh($database, projects => $load{projects});
	Bench::load($database, 0, size($size), %load, running => 1, origin => Workload::ORIGIN, seconds => 7200);
	check_books($database, events => size($size), running => size($size), charges => 0);
	Cluster::once($database, 'VACUUM ANALYZE');
	return $database;
}

# copy_of(DATABASE): return a copy that a case may change and drop.
sub copy_of
{
	my ($database) = @_;

	Cluster::copy_database("changed_$database", $database);
	return "changed_$database";
}

#
# QUOTA_COMPUTE and a new multiplier
#

my %changes = (
	QUOTA_COMPUTE => sub { return q(INSERT INTO yquota.container_event (event, source) VALUES ('QUOTA_COMPUTE', 'bench')) },
	'new multiplier' => sub { return sprintf q(SELECT yquota.set_multiplier('GENERAL', 1.%04d)), $_[0] },
);
my $changed = 0;

# Several changes, each of which writes its WAL. One change comes between the checkpoint and the measured changes. So
# the full pages of tables that every change touches are not measured. The median excludes full pages that only one of
# the changes touches.
sub change
{
	my ($what, $session) = @_;
	my (@milliseconds, @wal);

	Cluster::checkpoint();
	$session->run($changes{$what}->(++$changed));
	foreach (1 .. 5)
	{
		my $before = $session->wal;
		push @milliseconds, scalar $session->milliseconds($changes{$what}->(++$changed));
		push @wal, $session->wal - $before;
	}
	return (time => median(@milliseconds), wal => median(@wal));
}

# The cost of an UPDATE of every running container.
sub update_all
{
	my ($session) = @_;

	Cluster::checkpoint();
	$session->run('BEGIN');
	my $milliseconds = $session->milliseconds('UPDATE plain.running SET charged = charged + 1');
	$session->run('ROLLBACK');
	return (time => $milliseconds);
}

sub change_case
{
	my @sizes = qw(running_few running_some running_most);
	my %session;

	foreach my $size (@sizes)
	{
		$session{$size} = Cluster->new(copy_of(running($size)));
		next unless $size eq 'running_most';
		$session{$size}->run('CREATE SCHEMA plain');
		$session{$size}->run('CREATE TABLE plain.running AS SELECT container_id, 0::numeric AS charged FROM yquota.container');
		$session{$size}->run('CREATE UNIQUE INDEX ON plain.running (container_id)');
	}
	my $found = interleave(
		(map {
			my $what = $_;
			map { my $size = $_; ("$what $size" => sub { return change($what, $session{$size}) }) } @sizes
		} sort keys %changes),
		update => sub { return update_all($session{running_most}) });

	foreach my $what (sort keys %changes)
	{
		my ($few, $most) = map { $found->{"$what $_"} } @sizes[ 0, 2 ];

		foreach my $size (@sizes)
		{
			my $case = "$what, @{[ size($size) ]} running";
			my $figures = $found->{"$what $size"};
			Report::add($case, figure => $figures->{time}, figure_unit => 'ms', value => $figures->{time}, unit => 'ms', at_most => 2);
			Report::add("$case, WAL", figure => $figures->{wal}, figure_unit => 'B', value => $figures->{wal}, unit => 'B', at_most => 4096);
		}
		my $case = "$what, @{[ size('running_most') ]} running against @{[ size('running_few') ]}";
		Report::add($case, figure => $most->{time}, figure_unit => 'ms', baseline => $few->{time},
			value => ratio($most->{time}, $few->{time}), unit => 'x', at_most => SAME_TIME,
			target => 'the same (' . SAME_TIME . ' x)');
		Report::add("$case, WAL", figure => $most->{wal}, figure_unit => 'B', baseline => $few->{wal},
			value => ratio($most->{wal}, $few->{wal}), unit => 'x', at_most => 1.1, target => 'the same (1.1 x)');
		Report::add("$what, @{[ size('running_most') ]} running, cheaper than updating all",
			figure => $most->{time}, figure_unit => 'ms', baseline => $found->{update}{time}, baseline_name => 'UPDATE',
			value => ratio($found->{update}{time}, $most->{time}), unit => 'x', at_least => 1000);
	}
	foreach my $session (values %session)
	{
		$session->close;
		Cluster::drop_database($session->{database});
	}
	return;
}

#
# A change of a base price, and events during it
#

sub base_price_case
{
	my $database = copy_of(running('running_most'));
	my $administrator = Cluster->new($database);
	my $feed = Cluster->new($database);
	my $events = 0;
	my $start = sub {
		my $id = 'meanwhile-' . ++$events;
		return "INSERT INTO yquota.container_event (event, container_id, project, allocation) VALUES ('CONTAINER_START', '$id', 'p1000', '[vcores=1]')";
	};

	# an event that waits gives up after a time
	$feed->run(q(SET lock_timeout = '10s'));
	$feed->run($start->()) foreach 1 .. 20;
	my $found = interleave(
		change => sub {
			my ($repetition) = @_;
			my $price = 1 + $repetition / 8;
			my $before = Bench::median($feed->milliseconds(map { $start->() } 1 .. 5));

			Cluster::checkpoint();
			$administrator->run('BEGIN');
			my $milliseconds = $administrator->milliseconds("SELECT yquota.set_base_price('vcores', $price)");
			my $meanwhile = $feed->milliseconds($start->());
			$milliseconds += $administrator->milliseconds('COMMIT');
			my ($after) = $feed->milliseconds($start->());
			return (time => $milliseconds, before => $before, meanwhile => $meanwhile, after => $after);
		})->{change};
	$_->close foreach $administrator, $feed;
	compact($database);
	check_books($database, events => size('running_most') + $events, running => size('running_most') + $events, charges => 0);
	Cluster::drop_database($database);

	my $case = "base-price change, @{[ size('running_most') ]} running";
	Report::add($case, figure => $found->{time}, figure_unit => 'ms', value => $found->{time}, unit => 'ms', at_most => 1000);
	Report::add("$case, an event while it is open", figure => $found->{meanwhile}, figure_unit => 'ms',
		baseline => $found->{before}, baseline_name => 'before it', value => $found->{meanwhile} - $found->{before},
		unit => 'ms', at_most => 5, target => 'waits for nothing (5 ms)',
		note => sprintf('the first one after it: %.1f ms', $found->{after}));
	return;
}

# A node among many gets another label, which has a factor. Only the charges of its containers are
# split.
sub node_label_case
{
	my $database = copy_of(running('running_most'));
	my $session = Cluster->new($database);
	my ($node, $held) = split /\|/, Cluster::once($database,
		'SELECT node, count(*) FROM yquota.container WHERE node IS NOT NULL GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 1');

	$session->run(q(INSERT INTO yquota.price_factor (dimension, name, factor) VALUES ('label', 'bench', 2)));
	my $found = interleave(
		change => sub {
			my ($repetition) = @_;
			my $label = $repetition % 2 ? '' : 'bench';

			Cluster::checkpoint();
			return (time => scalar $session->milliseconds("UPDATE yquota.node SET label = '$label' WHERE name = '$node'"));
		})->{change};
	$session->close;
	Cluster::drop_database($database);
	Report::add("new label of a node with $held of @{[ size('running_most') ]} running",
		figure => $found->{time}, figure_unit => 'ms', value => $found->{time}, unit => 'ms', at_most => 1000);
	return;
}

#
# Recurring prices: ten calendars compared with none, and a change of all calendars
#

sub price_calendar_case
{
	my $database = copy_of(running('running_most'));
	my $session = Cluster->new($database);
	my $compute = 'SELECT count(*) FROM yquota.compute_prices()';
	my (@with, @without, @change);

	$session->run($compute) foreach 1 .. 2;
	foreach my $repetition (1 .. repetitions())
	{
		push @without, $session->used_by($compute);
		$session->run(q(INSERT INTO yquota.price_calendar (name, price_group, timezone, "from", "to", factor)
			SELECT 'hour ' || n, 'GENERAL', 'Europe/Madrid', time '00:00' + n * interval '2 hours', time '01:00' + n * interval '2 hours', 0.5
			FROM generate_series(0, 9) AS n));
		$session->run($compute);
		push @with, $session->used_by($compute);
		push @change, $session->milliseconds(sprintf 'UPDATE yquota.price_calendar SET factor = 0.%d', $repetition);
		$session->run('DELETE FROM yquota.price_calendar');
	}
	$session->close;
	Cluster::drop_database($database);
	Report::add('compute_prices() with 10 calendars: of a processor', figure => median(@with), figure_unit => 'ms', baseline => median(@without),
		baseline_name => 'without', value => median(@with) - median(@without), unit => 'ms', at_most => 20);
	Report::add("change of 10 calendars, @{[ size('running_most') ]} running", figure => median(@change), figure_unit => 'ms',
		value => median(@change), unit => 'ms', at_most => 1000);
	return;
}

#
# Balances
#

sub balance_one_case
{
	my $session = Cluster->new(running('running_most', projects => 1));
	my $query = q(SELECT * FROM yquota.project_balance WHERE project = 'p1000');
	my ($first) = Bench::patient_milliseconds($session, $query);
	my $found = interleave(read => sub { return (time => scalar Bench::patient_milliseconds($session, $query)) })->{read};

	$session->close;
	Report::add("balance of a project with @{[ size('running_most') ]} running",
		figure => $found->{time}, figure_unit => 'ms', value => $found->{time}, unit => 'ms', at_most => 1,
		note => sprintf('first of the session: %.1f ms', $first));
	return;
}

# Half of the grants have expired, each at another instant. The case is repeated with a tenth of the grants, of which
# half have expired, too.
sub grants_case
{
	my %few_and_all = (few => size('grants') / 10, all => size('grants'));
	my %database;

	foreach my $which (sort keys %few_and_all)
	{
		my $name = $database{$which} = copy_of(running('running_few', projects => 1));
		my $session = Cluster->new($name);

		$session->run(qq(INSERT INTO yquota.quota_grant (project, amount, reason, expires_at)
			SELECT 'p1000', 10, 'bench', yquota.clock() + (n - $few_and_all{$which} / 2) * interval '1 s' FROM generate_series(1, $few_and_all{$which}) AS n));
		$session->run('ANALYZE yquota.quota_grant');
		$session->close;
	}
	foreach my $view (qw(project_balance grant_status))
	{
		my %session = map { $_ => Cluster->new($database{$_}) } keys %database;
		my $query = "SELECT count(*), sum(remaining) FROM yquota.$view WHERE project = 'p1000'";
		my $found = interleave(map { my $which = $_; ($which => sub { return (time => scalar Bench::patient_milliseconds($session{$which}, $query)) }) } keys %session);

		Report::add("$view of a project with @{[ size('grants') ]} grants", figure => $found->{all}{time}, figure_unit => 'ms',
			baseline => $found->{few}{time}, baseline_name => 'a tenth of them', value => $found->{all}{time} / $found->{few}{time}, unit => 'x', at_most => 15);
		$_->close foreach values %session;
	}
	transfer_case($database{all});
	Cluster::drop_database($_) foreach values %database;
	return;
}

# A transfer of one credit from many grants and its reversal, which alternate with reading the grants.
sub transfer_case
{
	my ($database) = @_;
	my $session = Cluster->new($database);

	# The running containers spend the other grants.
	$session->run(q(INSERT INTO yquota.project (name) VALUES ('borrower'); INSERT INTO yquota.quota_grant (project, amount, reason) VALUES ('p1000', 1e18, 'bench')));
	my $found = interleave(
		transfer => sub {
			my ($repetition) = @_;

			return (
				time => scalar Bench::patient_milliseconds($session, "SELECT yquota.transfer_credit('p1000', 'borrower', 1, 'bench', 'bench $repetition')"),
				back => scalar Bench::patient_milliseconds($session, "SELECT r.* FROM yquota.credit_transfer AS t, yquota.reverse_transfer(t.transfer_id) AS r WHERE t.external_id = 'bench $repetition'"));
		},
		read => sub { return (time => scalar Bench::patient_milliseconds($session, q(SELECT count(*) FROM yquota.grant_status WHERE project = 'p1000'))) });

	$session->close;
	Report::add("transfer of credit of a project with @{[ size('grants') ]} grants", figure => $found->{transfer}{time}, figure_unit => 'ms',
		baseline => $found->{read}{time}, baseline_name => 'grant_status', value => $found->{transfer}{time} / $found->{read}{time}, unit => 'x', at_most => 3,
		note => sprintf('its reversal: %.1f ms', $found->{transfer}{back}));
	return;
}

# Each of many projects has a running container, and a grant that expires in 20 days. A quarter-hourly check raises
# alerts about all grants, and the next one about none.
sub thresholds_case
{
	my $database = Bench::fresh('thresholds');
	my $projects = size('threshold_projects');
	my $session = Cluster->new($database);
	my %found;

	$session->run(qq(SELECT yquota.set_clock('2025-03-03 10:00+00')));
	$session->run("INSERT INTO yquota.project (name) SELECT 'p' || n FROM generate_series(1, $projects) AS n ON CONFLICT DO NOTHING");
	$session->run("INSERT INTO yquota.quota_grant (project, amount, reason, expires_at) SELECT 'p' || n, 1000000000, 'bench', '2025-03-23 10:00+00' FROM generate_series(1, $projects) AS n");
	$session->run("INSERT INTO yquota.container_event (event, container_id, project, allocation) SELECT 'CONTAINER_START', 'threshold ' || n, 'p' || n, '[vcores=1]' FROM generate_series(1, $projects) AS n");
	$session->run(qq(SELECT yquota.set_clock('2025-03-04 10:00+00')));
	$session->run('SELECT yquota.quota_compute()');
	$session->run('ANALYZE');
	foreach my $check (
		[ fractions => '' => 'note_crossings' ],
		[ remaining => "(remaining) VALUES (5)" => 'note_crossings' ],
		[ raised => "(before_expiry) VALUES ('30 days')" => 'note_forecasts' ],
		[ expiry => '' => 'note_forecasts' ],
		[ rate => "(lasts_less_than) VALUES ('3 days')" => 'note_forecasts' ])
	{
		my ($name, $rows, $function) = @$check;

		$session->run("INSERT INTO yquota.spending_threshold $rows") if $rows;
		$found{$name} = Bench::patient_milliseconds($session, "SELECT yquota_internal.$function(yquota.clock())");
	}
	$session->close;
	Cluster::drop_database($database);
	Report::add("thresholds of $projects projects, fractions and remaining credits", figure => $found{remaining}, figure_unit => 'ms',
		baseline => $found{fractions}, baseline_name => 'fractions alone', value => $found{remaining} / $found{fractions}, unit => 'x', at_most => 2);
	Report::add("thresholds of $projects projects, before the expiry of grants", figure => $found{expiry}, figure_unit => 'ms',
		note => sprintf('with as many alerts: %.0f ms; with rates: %.0f ms', $found{raised}, $found{rate}));
	return;
}

# The reader has cached the earlier prices. Another session then makes the changes in one statement,
# because the reader does not depend on the way in which they are made.
sub balance_all_case
{
	my ($name, $kinds, $case, $charging_mode) = @_;
	my $database = copy_of(running('running_most', kinds => $kinds));

	# the mode applies from a day after the last start on, and is inserted without triggers like the prices of
	# many_prices()
	Cluster::once($database, <<~"SQL") if defined $charging_mode;
		SET session_replication_role = replica;
		INSERT INTO yquota.charging_rule (effective_at, charging_mode) VALUES (to_timestamp(@{[ Workload::ORIGIN + 86400 ]}), '$charging_mode')
		SQL
	my $session = Cluster->new($database);
	my $query = 'SELECT * FROM yquota.project_balance';
	my $changes = size('price_changes');

	Bench::patient_milliseconds($session, $query);
	my $found = interleave(
		read => sub {
			my ($repetition) = @_;
			Cluster::once($database, <<~"SQL");
				INSERT INTO yquota.price (price_group, effective_at, multiplier)
				SELECT CASE WHEN n % 2 = 0 THEN 'GENERAL' ELSE 'GPU' END,
					to_timestamp(@{[ Workload::ORIGIN + 100 * 86400 ]} + (n * 20 + $repetition) * 10), 1 + n % 100 * 0.01
				FROM generate_series(1, $changes) AS n
				SQL
			Cluster::checkpoint();
			my ($first) = Bench::patient_milliseconds($session, $query);
			my ($second) = Bench::patient_milliseconds($session, $query);
			return (first => $first, second => $second);
		})->{read};
	my $classes = Cluster::once($database, 'SELECT count(*) FROM yquota_internal.rate_class_counter');
	$session->close;
	Cluster::drop_database($database);
	Report::add("balances of @{[ size('running_projects') ]} projects after $changes price changes, $case",
		figure => $found->{first}, figure_unit => 'ms', value => $found->{first}, unit => 'ms', at_most => 50,
		note => sprintf('%d running, %d counters of rate classes; read again: %.1f ms', size('running_most'), $classes, $found->{second}));
	return;
}

#
# A new connection with many prices
#

# The prices are inserted without the triggers of timelines, because inserting them is not measured.
sub many_prices
{
	my $database = Bench::fresh('many_prices');
	my $prices = size('prices') / 2;
	my $now = Workload::ORIGIN + 5 * 86400;

	Cluster::once($database, <<~"SQL");
		SET session_replication_role = replica;
		INSERT INTO yquota.price (price_group, effective_at, multiplier)
		SELECT name, to_timestamp($now - n * (365.0 * 86400 / $prices)), 1 + n % 100 * 0.01
		FROM yquota.price_group, generate_series(0, $prices - 1) AS n
		ON CONFLICT DO NOTHING
		SQL
	Cluster::once($database, 'VACUUM ANALYZE');
	return $database;
}

sub first_event_case
{
	my $database = many_prices();
	my $now = 'to_timestamp(' . (Workload::ORIGIN + 5 * 86400) . ')';
	my $number = 0;
	my $start = sub {
		my ($table, $ago) = @_;
		my $id = 'started-' . ++$number;
		return "INSERT INTO $table.container_event (event, container_id, occurred_at, project, allocation) VALUES ('CONTAINER_START', '$id', $now - interval '$ago', 'p1000', '[memory-mb=4096,vcores=2]')";
	};
	my $finish = sub {
		my ($table, $id) = @_;
		return "INSERT INTO $table.container_event (event, container_id, occurred_at) VALUES ('CONTAINER_FINISH', 'started-$id', $now)";
	};
	my $warm = 10;

	# first_and_warm(statements): return the time of the first statement in a new connection, and
	# the median of the others.
	my $first_and_warm = sub {
		my (@statements) = @_;
		my $session = Cluster->new($database);
		Cluster::checkpoint();
		my ($first, @others) = $session->milliseconds(@statements);
		$session->close;
		return (first => $first, warm => median(@others), more => $first - median(@others));
	};
	my $old_containers = sub {
		my ($table) = @_;
		my @ids;
		foreach (0 .. $warm)
		{
			Cluster::once($database, $start->($table, '4 days 3 hours'));
			push @ids, $number;
		}
		return @ids;
	};
	my $found = interleave(
		start => sub { return $first_and_warm->(map { $start->('yquota', '1 hour') } 0 .. $warm) },
		finish => sub { return $first_and_warm->(map { $finish->('yquota', $_) } $old_containers->('yquota')) },
		plain => sub { return $first_and_warm->(map { $start->('b', '1 hour') } 0 .. $warm) });
	my $counts = Cluster::once($database, 'SELECT (SELECT count(*) FROM yquota.container), (SELECT count(*) FROM yquota.charge)');
	my ($running, $charges) = split /\|/, $counts;
	compact($database);
	check_books($database, events => $running + 2 * $charges, running => $running, charges => repetitions() * ($warm + 1));
	Cluster::drop_database($database);

	foreach my $what ([ start => 'a START' ], [ finish => 'the FINISH of a container of days ago' ])
	{
		my ($name, $called) = @$what;
		Report::add("first event of a connection with @{[ size('prices') ]} prices, $called",
			figure => $found->{$name}{first}, figure_unit => 'ms', baseline => $found->{$name}{warm}, baseline_name => 'warm',
			value => $found->{$name}{more}, unit => 'ms', at_most => 5,
			note => sprintf('a plain table: %.1f ms', $found->{plain}{more}));
	}
	return;
}

sub cases
{
	return (
		'change' => \&change_case,
		'base-price' => \&base_price_case, 'price-calendar' => \&price_calendar_case,
		'node-label' => \&node_label_case,
		'balance-one' => \&balance_one_case,
		'balance-all' => sub { balance_all_case(@_, Workload::ALLOCATIONS, 'each uses any allocation') },
		'balance-all-few' => sub { balance_all_case(@_, 20, 'each uses 20 allocations') },
		'balance-all-sum' => sub { balance_all_case(@_, Workload::ALLOCATIONS, 'each pays the sum of any allocation', 'sum') },
		'grants' => \&grants_case,
		'thresholds' => \&thresholds_case,
		'first-event' => \&first_event_case,
	);
}

1;
