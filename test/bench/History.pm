# History.pm: whether a long history makes new events slower, what reports and verify() cost with a long history, and
# how much space it takes.
#
# The books cover a year. They grow in stages, each in its own database. The first three stages lie within the last
# month. The other stages cover the eleven months before, at first with a tenth of their containers. Half of the
# containers have YARN's ids. The others have random ids, which touch all parts of an index. Prices change every
# hour.
package History;

use strict;
use warnings;

use Bench;
use Cluster;
use Events;
use Report;
use Running;
use Workload;

# Growth up to this factor counts as flat, because figures of equal work differ by that much here.
use constant FLAT => 1.2;

use constant MONTH_S => 30 * 86400;
use constant OTHERS_S => 335 * 86400;

my @stages = qw(books_first books_second books_third books_thin books_all);
my @sizes = grep { $_ ne 'books_thin' } @stages;
my %loaded = (month => 0, others => 0);
my $next = 0;

# function_exists(DATABASE, FUNCTION): return whether this version of yquota has the function.
sub function_exists
{
	my ($database, $function) = @_;

	return Cluster::once($database, "SELECT count(*) FROM pg_proc WHERE pronamespace = 'yquota'::regnamespace AND proname = '$function'");
}

# add_containers(DATABASE, month or others, up to how many, parts): add containers, and seal history
# after each part.
sub add_containers
{
	my ($database, $part, $to, $parts) = @_;
	my $more = int(($to - $loaded{$part}) / $parts);
	my ($origin, $seconds) = $part eq 'month'
	  ? (Workload::ORIGIN, MONTH_S) : (Workload::ORIGIN - OTHERS_S, int(OTHERS_S / $parts));
	my $half = int($more / 2);

	foreach my $number (1 .. $parts)
	{
		Bench::load($database, $next, $next + $half, ids => 'yarn', origin => $origin, seconds => $seconds - 4 * 3600);
		Bench::load($database, $next + $half, $next + $more, ids => 'random', origin => $origin, seconds => $seconds - 4 * 3600);
		Cluster::once($database, 'SELECT yquota.seal_history()') if function_exists($database, 'seal_history');
		$next += $more;
		$origin += $seconds;
	}
	$loaded{$part} += $more * $parts;
	return;
}

sub hourly_prices
{
	my ($database) = @_;

	Cluster::once($database, <<~"SQL");
		INSERT INTO yquota.price (price_group, effective_at, multiplier)
		SELECT name, to_timestamp(@{[ Workload::ORIGIN ]} + n * 3600 + 15), 1 + (n * 7919 % 100 + 100) % 100 * 0.02
		FROM yquota.price_group, generate_series(-@{[ OTHERS_S / 3600 ]}, @{[ MONTH_S / 3600 + 24 ]}) AS n
		SQL
	return;
}

# books(STAGE): return the database of a stage. It is made when that stage or a later one is first
# requested.
my $made = 0;
my (%size_at, %containers_at);

sub books
{
	my ($stage) = @_;
	my ($wanted) = grep { $stages[$_] eq $stage } 0 .. $#stages;

	for (; $made <= $wanted; $made++)
	{
		my $database = $stages[$made];
		my $others = size('books_all') - size('books_third');

		if ($made == 0)
		{
			Bench::fresh($database);
			hourly_prices($database);
			$size_at{empty} = database_size($database);
		}
		else
		{
			Cluster::copy_database($database, $stages[ $made - 1 ]);
		}
		if ($database eq 'books_thin')
		{
			add_containers($database, 'others', int($others / 10), 1);
		}
		elsif ($database eq 'books_all')
		{
			add_containers($database, 'others', $others, 11);
		}
		else
		{
			add_containers($database, 'month', size($database), 1);
		}
		finish_stage($database);
		$size_at{$database} = database_size($database);
		$containers_at{$database} = $loaded{month} + $loaded{others};
	}
	return $stage;
}

sub finish_stage
{
	my ($database) = @_;
	my $containers = $loaded{month} + $loaded{others};

	# do what the worker does
	1 while Cluster::once($database, 'SELECT yquota_internal.tend_history()') ne '';
	Cluster::once($database, 'VACUUM ANALYZE');
	Cluster::checkpoint();
	check_books($database, events => 2 * $containers, charges => $containers);
	return;
}

sub database_size
{
	my ($database) = @_;

	return Cluster::once($database, <<~'SQL');
		SELECT sum(pg_total_relation_size(c.oid)) FROM pg_class AS c
		JOIN pg_namespace AS n ON n.oid = c.relnamespace
		WHERE n.nspname IN ('yquota', 'yquota_internal') AND c.relkind IN ('r', 'm', 'p')
		SQL
}

# Stages with a readable name; the last one has only running containers.
sub states_of_the_books
{
	return ((map { [ $_, books($_), size($_) . ' finished' ] } @sizes),
		[ 'running', Running::running('running_most'), size('running_most') . ' running' ]);
}

sub flat_rows
{
	my ($case, $unit, $found, @states) = @_;
	my $base = $found->{ $states[0][0] }{time};

	foreach my $state (@states)
	{
		my ($name, undef, $called) = @$state;
		my $time = $found->{$name}{time};
		Report::add("$case with $called", figure => $time, figure_unit => $unit,
			$name eq $states[0][0] ? () : (baseline => $base, baseline_name => "$states[0][2]:",
				value => ratio($time, $base), unit => 'x', at_most => FLAT, target => 'flat (' . FLAT . ' x)'));
	}
	return;
}

#
# The cost of an event after a long history
#

# Each batch is rolled back, so the books keep their size.
sub flat_batch_case
{
	my ($name, $case, $ids) = @_;
	my @states = states_of_the_books();
	my $containers = size('books_batch');
	my $columns = Workload::columns();
	my @run;

	foreach my $state (@states)
	{
		my ($stage, $database) = @$state;
		push @run, $stage => sub {
			my ($repetition) = @_;
			my $from = 90_000_000 + $repetition * $containers;
			my @queries = Workload::stream(from => $from, to => $from + $containers, ids => $ids, shuffled => 1,
				origin => Workload::ORIGIN + MONTH_S);
			my @files = map { events_file("flat-$ids-$repetition-$_", $queries[$_]) } 0, 1;
			my $session = Cluster->new($database);
			Cluster::checkpoint();
			$session->run('BEGIN');
			my @times = $session->milliseconds(map { "COPY yquota.container_event ($columns) FROM '$_'" } @files);
			my $charged = $session->run(sprintf q(SELECT count(*) FROM yquota.charge WHERE "from" >= to_timestamp(%1$d) AND "to" >= to_timestamp(%1$d)), Workload::ORIGIN + MONTH_S);
			die "$charged of $containers containers were charged\n" if $charged != $containers;
			$session->run('ROLLBACK');
			$session->close;
			return (time => ($times[0] + $times[1]) * 1000 / (2 * $containers));
		};
	}
	my $found = interleave(@run);
	unlink glob "$ARGV[0]/flat-$ids-*";
	flat_rows($case, 'us/event', $found, @states);
	return;
}

# Single rows stay in the books, a few thousand in each repetition.
sub flat_single_case
{
	my ($name, $case) = @_;
	my @states = states_of_the_books();
	my @run;

	foreach my $state (@states)
	{
		my ($stage, $database) = @$state;
		Cluster::copy_database("changed_$database", $database) unless $stage eq 'books_all';
		$database = "changed_$database" unless $stage eq 'books_all';
		push @run, $stage => sub {
			my %figures = Events::single_rows('yquota', $database, clients => 1, ids => 'pod', asynchronous => 1);
			return (time => 1e6 / $figures{rate});
		};
	}
	my $found = interleave(@run);
	Cluster::drop_database("changed_$_") foreach map { $_->[1] } @states;
	flat_rows($case, 'us/event', $found, @states);
	return;
}

#
# Reports
#

sub month_cost_case
{
	my $query = sprintf q(SELECT * FROM yquota.cost_between(to_timestamp(%d), to_timestamp(%d), '{project}')),
	  Workload::ORIGIN, Workload::ORIGIN + MONTH_S;
	my (@run, @sessions);

	# the larger books are a copy of the smaller books, which no session may use during the copy
	books('books_all');
	foreach my $stage (qw(books_thin books_all))
	{
		my $session = Cluster->new($stage);
		push @sessions, $session;
		Bench::patient_milliseconds($session, $query);
		push @run, $stage => sub { return (time => scalar Bench::patient_milliseconds($session, $query)) };
	}
	my $found = interleave(@run);
	$_->close foreach @sessions;
	my ($thin, $full) = map { $found->{$_}{time} } qw(books_thin books_all);
	my $case = "cost of a month by project, @{[ size('books_third') ]} of @{[ size('books_all') ]} charges";

	Report::add($case, figure => $full, figure_unit => 'ms', value => $full, unit => 'ms', at_most => 1000);
	Report::add("$case, against a tenth in the other months", figure => $full, figure_unit => 'ms',
		baseline => $thin, value => ratio($full, $thin), unit => 'x', at_most => 1.15, target => 'no slower (1.15 x)');
	return;
}

# The costs of one application in the largest books, half of whose containers run.
sub container_cost_case
{
	my $database = books('books_all');
	my $session = Cluster->new($database);
	my $containers = 1000;
	my $at = 'to_timestamp(' . (Workload::ORIGIN + MONTH_S) . ')';

	$session->run('BEGIN');
	$session->run(Workload::started('yquota') . <<~"SQL");

		SELECT 'CONTAINER_START', 'application-' || n, $at, 'p1000', 'application_of_many', 'p1000__u1', 'root.q1.prod',
			'node1000', '[memory-mb=4096,vcores=2]', 'GUARANTEED', 'bench'
		FROM generate_series(1, $containers) AS n
		SQL
	$session->run(<<~"SQL");
		INSERT INTO yquota.container_event (event, container_id, occurred_at)
		SELECT 'CONTAINER_FINISH', 'application-' || n, $at + interval '1 hour' FROM generate_series(1, $containers / 2) AS n
		SQL
	$session->run('COMMIT');
	compact($database);
	Cluster::once($database, 'VACUUM ANALYZE');
	my %query = (
		running => "SELECT * FROM yquota.container_cost WHERE container_id = 'application-$containers'",
		finished => q(SELECT * FROM yquota.container_cost WHERE container_id = 'application-1'),
		application => q(SELECT count(*), sum(cost) FROM yquota.container_cost WHERE application_id = 'application_of_many'),
		bill => q(SELECT * FROM yquota.explain_charge('application-1')),
	);
	my ($count) = $session->run($query{application}) =~ /^(\d+)\|/;
	die "the application has $count containers, not $containers\n" if $count != $containers;
	my $found = interleave(map { my $what = $_; $what => sub { return (time => scalar Bench::patient_milliseconds($session, $query{$what})) } } sort keys %query);
	$session->close;

	my $case = 'with ' . size('books_all') . ' charges';
	foreach my $what ([ running => 'a running container', 1 ], [ finished => 'a finished container', 1 ],
		[ application => "an application of $containers containers", 20 ], [ bill => 'a finished container, as a bill,', 5 ])
	{
		my ($name, $called, $target) = @$what;
		Report::add("cost of $called $case", figure => $found->{$name}{time}, figure_unit => 'ms',
			value => $found->{$name}{time}, unit => 'ms', at_most => $target);
	}
	return;
}

# Books of only one month, with prices as in a busy cluster: each group changes every ten seconds.
my $dense_is_made = 0;

sub dense_books
{
	my $database = 'books_dense';
	my $containers = size('books_third');

	return $database if $dense_is_made++;
	Bench::fresh($database);
	Cluster::once($database, <<~"SQL");
		INSERT INTO yquota.price (price_group, effective_at, multiplier, utilization)
		SELECT name, to_timestamp(@{[ Workload::ORIGIN + 25_201 ]}) + n * (interval '@{[ MONTH_S - 25_201 ]} s' / @{[ size('month_prices') ]})
			+ CASE name WHEN 'GPU' THEN interval '1 s' ELSE '0' END, 1 + greatest(busy - 0.2, 0), busy
		FROM yquota.price_group, generate_series(0, @{[ size('month_prices') - 1 ]}) AS n,
			LATERAL (SELECT round((0.5 + 0.45 * sin(n / 700.0 + length(name)) * cos(n / 33.3))::numeric, 4)) AS measured (busy)
		SQL
	Bench::load($database, 0, $containers, ids => 'yarn', seconds => MONTH_S - 4 * 3600, origin => Workload::ORIGIN);
	Cluster::once($database, 'VACUUM ANALYZE');
	Cluster::checkpoint();
	check_books($database, events => 2 * $containers, charges => $containers);
	return $database;
}

# Reports about a month, some of them with a limit in milliseconds.
sub questions_of_month
{
	my ($database) = @_;
	my ($from, $to) = map { "to_timestamp($_)" } Workload::ORIGIN, Workload::ORIGIN + MONTH_S;
	my ($container) = Cluster::once($database, qq(SELECT container_id FROM yquota.charge WHERE "from" >= $from LIMIT 1));
	my $by_day = "yquota.cost_by_day(($from)::date, ($to)::date, '{project}')";

	return (
		[ 'report_html()' => "SELECT length(yquota.report_html($from, $to))", 5000 ],
		[ 'explain_charge()' => "SELECT * FROM yquota.explain_charge('$container')", 5 ],
		(map { [ "cost by $_" => "SELECT count(*) FROM yquota.cost_between($from, $to, '{$_}')" ] } qw(username queue application_id node execution_type)),
		[ 'cost by day' => "SELECT count(*) FROM $by_day" ],
		[ 'top_costs() by application' => "SELECT * FROM yquota.top_costs($from, $to, '{application_id}')" ],
		[ 'balance_at()' => "SELECT * FROM yquota.balance_at('p1001', $to)" ],
		[ 'forecast()' => 'SELECT count(*) FROM yquota.forecast()' ],
		[ 'forecast() at another multiplier' => 'SELECT count(*) FROM yquota.forecast(multiplier => 2)' ],
		[ 'usage_between() by project' => "SELECT count(*) FROM yquota.usage_between($from, $to)" ],
		[ 'price_quote() at another multiplier, at the end' => q(SELECT cost FROM yquota.price_quote('[vcores=1]', '1 hour', multiplier => 2)) ],
		[ 'tariff at the end' => 'SELECT count(*) FROM yquota.tariff' ],
		[ 'rerate(), base price' => qq(SELECT count(*) FROM yquota.rerate($from, $to, '{"base_prices": {"vcores": 2}}')), 10_000 ],
		[ 'rerate(), price group' => qq(SELECT count(*) FROM yquota.rerate($from, $to, '{"price_groups": {"GENERAL": {"tipping_point": 0.3}}}')), 10_000 ],
		[ 'rerate(), factor' => qq(SELECT count(*) FROM yquota.rerate($from, $to, '{"factors": [{"dimension": "queue", "name": "root.q1", "factor": 0.5}]}')), 10_000 ],
	);
}

# The clock stands at the end of the month. The case measures the first report in a new connection,
# and a second one.
sub month_reports_case
{
	my ($name) = @_;
	my ($database, $case) = $name eq 'month-reports-dense'
	  ? (dense_books(), "@{[ size('books_third') ]} charges, @{[ size('month_prices') ]} prices a group")
	  : (books('books_all'), "@{[ size('books_third') ]} of @{[ size('books_all') ]} charges");

	foreach my $question (questions_of_month($database))
	{
		my ($called, $query, $at_most) = @$question;
		my $found = interleave(once => sub {
			my $session = Cluster->new($database);
			$session->run('BEGIN');
			$session->run('SELECT yquota.set_clock(to_timestamp(' . (Workload::ORIGIN + MONTH_S) . '))');
			my $first = Bench::patient_milliseconds($session, $query);
			my $next = Bench::patient_milliseconds($session, $query);
			$session->run('ROLLBACK');
			$session->close;
			return (first => $first, next => $next);
		});
		my ($first, $next) = @{ $found->{once} }{qw(first next)};
		Report::add("$called of a month, $case", figure => $next, figure_unit => 'ms', note => "the first one @{[ shown($first) ]} ms",
			$at_most ? (value => $next, unit => 'ms', at_most => $at_most) : ());
	}
	return;
}

# Books of only one month, in which hardly two containers have the same project, user and queue.
sub scattered_books
{
	my $database = 'books_scattered';

	Bench::fresh($database);
	hourly_prices($database);
	Bench::load($database, 0, size('books_third'), ids => 'yarn', scattered => 1, seconds => MONTH_S - 4 * 3600, origin => Workload::ORIGIN);
	Cluster::once($database, 'VACUUM ANALYZE');
	return $database;
}

# A roll-up of the whole ledger, what it gains, and the size of the sums.
sub roll_up_case
{
	my ($name) = @_;
	my $database = 'rolled_up';
	my ($books, $case) = $name eq 'roll-up-scattered'
	  ? (scattered_books(), size('books_third') . ' scattered charges') : (books('books_all'), size('books_all') . ' charges');
	my $by_day = sprintf q(SELECT * FROM yquota.cost_by_day(to_timestamp(%d)::date, to_timestamp(%d)::date, '{project,queue}')),
	  Workload::ORIGIN, Workload::ORIGIN + MONTH_S;

	Cluster::copy_database($database, $books);
	my $session = Cluster->new($database);
	my (undef, $from_ledger) = map { scalar Bench::patient_milliseconds($session, $by_day) } 1, 2;
	my ($rolling, $in_vain) = Bench::patient_milliseconds($session, 'SELECT yquota.roll_up_charges()');
	$session->run('VACUUM ANALYZE yquota_internal.charge_rollup');
	my (undef, $rolled_up) = map { scalar Bench::patient_milliseconds($session, $by_day) } 1, 2;
	my ($sums, $ledger) = map { megabytes($session, $_) } qw(yquota_internal.charge_rollup yquota.charge);
	$session->close;
	Cluster::drop_database($database);
	Report::add("roll-up of $case", figure => $rolling / 1000, figure_unit => 's',
		value => $rolling / 1000, unit => 's', note => $in_vain ? 'given up' : 'once');
	Report::add("cost of a month by day, project and queue, rolled up, $case",
		figure => $rolled_up, figure_unit => 'ms', baseline => $from_ledger, baseline_name => 'ledger:', note => 'once',
		$name eq 'roll-up-scattered' ? (value => ratio($rolled_up, $from_ledger), unit => 'x', at_most => FLAT)
		: (value => $rolled_up, unit => 'ms', at_most => 2000));
	Report::add("sums of a roll-up, $case", figure => $sums, figure_unit => 'MB', baseline => $ledger, baseline_name => 'ledger:',
		value => ratio($sums, $ledger), unit => 'x', at_most => 0.2);
	return;
}

# Return the size of a table and its children, including indexes.
sub megabytes
{
	my ($session, $table) = @_;

	return $session->run(<<~"SQL");
		SELECT round(sum(pg_total_relation_size(part.relation)) / 1e6, 1)
		FROM (SELECT '$table'::regclass AS relation UNION ALL SELECT inhrelid FROM pg_inherits WHERE inhparent = '$table'::regclass) AS part
		SQL
}

#
# Verification, archiving and space
#

# prove(DATABASE, ARGUMENT): return the milliseconds of verify(), measured only once because it
# takes long.
sub prove
{
	my ($database, $argument) = @_;
	my $session = Cluster->new($database);

	Cluster::checkpoint();
	my ($milliseconds, $in_vain) = Bench::patient_milliseconds($session,
		"DO \$\$ BEGIN IF EXISTS (SELECT FROM yquota.verify($argument)) THEN RAISE 'the books of $database are wrong'; END IF; END \$\$");
	$session->close;
	return ($milliseconds / 1000, $in_vain);
}

sub verify_case
{
	my $database = books('books_all');

	if (Cluster::once($database, q(SELECT to_regprocedure('yquota.verify(timestamptz)') IS NULL)) eq 't')
	{
		Report::add('verify(since)', missing => 'not there');
		return;
	}
	my ($month, $month_in_vain) = prove($database, 'to_timestamp(' . Workload::ORIGIN . ')');
	my ($third, $third_in_vain) = prove('books_third', '');
	my ($whole, $whole_in_vain) = prove($database, '');
	my %note = map { $_->[0] => $_->[1] ? 'given up' : 'once' }
	  [ month => $month_in_vain ], [ whole => $whole_in_vain || $third_in_vain ];

	Report::add("verify() of the last month, @{[ size('books_third') ]} of @{[ size('books_all') ]} lifecycles",
		figure => $month, figure_unit => 's', value => $month, unit => 's', at_most => 20, note => $note{month});
	Report::add("verify() of @{[ size('books_all') ]} lifecycles against @{[ size('books_third') ]}, per lifecycle",
		figure => $whole * 1e6 / size('books_all'), figure_unit => 'us', baseline => $third * 1e6 / size('books_third'),
		value => ratio($whole / size('books_all'), $third / size('books_third')), unit => 'x', at_most => 1.3,
		target => 'linear (1.3 x)', note => sprintf('%.0f s, %s', $whole, $note{whole}));
	return;
}

# This case must be the last one to use the third stage, because it removes the history of that stage.
sub archive_case
{
	my $database = books('books_third');

	unless (function_exists($database, 'archive'))
	{
		Report::add('archive()', missing => 'not there');
		return;
	}
	my $session = Cluster->new($database);
	foreach my $history (qw(charge container_event))
	{
		$session->run("CREATE TABLE public.archived_$history (LIKE yquota.$history)");
		Cluster::checkpoint();
		my $milliseconds = $session->milliseconds("SELECT yquota.archive('public.archived_$history', 'infinity')");
		my $archived = $session->run("SELECT count(*) FROM public.archived_$history");
		die "nothing of $history was archived\n" unless $archived;
		Report::add("archive() of $archived rows of $history", figure => $milliseconds / 1000, figure_unit => 's',
			value => $milliseconds * 1000 / $archived, unit => 'us per row', note => 'once');
	}
	my $problems = $session->run('SELECT * FROM yquota.verify()');
	die "the books are wrong after archiving:\n$problems\n" if $problems ne '';
	$session->close;
	return;
}

sub room_case
{
	books('books_all');
	foreach my $stage (@sizes)
	{
		Report::add("room of a lifecycle, @{[ size($stage) ]} finished", figure => ($size_at{$stage} - $size_at{empty}) / $containers_at{$stage},
			figure_unit => 'B');
	}
	return;
}

sub cases
{
	return (
		'flat-batch-yarn' => sub { flat_batch_case(@_, 'batch, YARN ids,', 'yarn') },
		'flat-batch-random' => sub { flat_batch_case(@_, 'batch, random ids,', 'random') },
		'cost-between' => \&month_cost_case,
		'verify' => \&verify_case,
		'container-cost' => \&container_cost_case,
		'month-reports' => \&month_reports_case,
		'month-reports-dense' => \&month_reports_case,
		'roll-up' => \&roll_up_case,
		'roll-up-scattered' => \&roll_up_case,
		'flat-single' => sub { flat_single_case(@_, 'single rows, random ids, synchronous_commit off,') },
		'room' => \&room_case,
		'archive' => \&archive_case,
	);
}

1;
