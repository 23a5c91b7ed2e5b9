# Bench.pm: what all cases use: sizes, repetitions, databases for measurements, and the check that
# the measured work is right.
package Bench;

use strict;
use warnings;

use Cluster;
use Exporter 'import';
use FindBin;
use Report;
use Workload;

our @EXPORT = qw(size repetitions interleave median events_file load compact check_books ratio shown);

my %sizes = (
	#                        full        small      toy
	copy_containers => [     500_000,    20_000,    500 ],
	naive_containers => [     20_000,     4_000,    200 ],
	batch_containers => [    100_000,     5_000,  1_000 ],
	# how long pgbench runs, or, if that is 0, how many containers it sends
	single_seconds => [            2,         0,      0 ],
	single_containers => [         0,     1_600,     80 ],
	hot_seconds => [               2,         1,      0 ],
	memory_containers => [   500_000,    40_000,  1_000 ],
	memory_part => [          50_000,     4_000,    500 ],
	running_few => [           1_000,     1_000,    100 ],
	running_some => [        100_000,     5_000,    500 ],
	running_most => [      1_000_000,    50_000,  2_000 ],
	running_projects => [      1_000,     1_000,    200 ],
	threshold_projects => [  10_000,     1_000,    100 ],
	price_changes => [        10_000,    10_000,    200 ],
	prices => [            1_000_000,   100_000,  1_000 ],
	books_first => [          10_000,     5_000,    200 ],
	books_second => [        100_000,    10_000,    500 ],
	books_third => [       1_000_000,    20_000,  1_000 ],
	books_all => [        10_000_000,    60_000,  2_400 ],
	books_batch => [         100_000,     5_000,    200 ],
	month_prices => [        259_000,    10_000,    500 ],
	queue_branches => [           10,         2,      1 ],
	mapping_rules => [         5_000,       500,    100 ],
	queue_decisions => [     200_000,    20_000,  1_000 ],
	applications => [        100_000,     5_000,    160 ],
	waiting_applications => [  5_000,       800,     80 ],
	nodes => [                10_000,     1_000,     40 ],
	leaves => [                1_000,       100,      8 ],
	active_applications => [  10_000,     1_000,     40 ],
	application_containers => [   20,        20,      4 ],
	request_keys => [        100_000,    10_000,    400 ],
	queue_nodes => [             500,       100,     20 ],
	grants => [              100_000,    10_000,    500 ],
	scale_out_charges => [ 1_000_000,    20_000,    500 ],
	federated_charges => [   200_000,    20_000,    200 ],
	scale_out_rows => [   10_000_000,   200_000,  5_000 ],
	reservations => [        10_000,     2_000,    100 ],
	active_reservations => [  1_000,       200,     20 ],
	# How long heartbeats run, after some seconds in which sessions read the cluster. If that is 0, the number of
	# heartbeats.
	heartbeat_seconds => [        15,         3,      0 ],
	heartbeat_first_seconds => [   5,         1,      0 ],
	heartbeats => [                0,         0,     80 ],
	patience_seconds => [        300,        30,     30 ],
	repetitions => [               5,         2,      1 ],
);

my $scale = $ENV{BENCH_SCALE};
my $column = { full => 0, small => 1, toy => 2 }->{$scale};
my ($directory) = @ARGV;

# A directory in which files may be written for the server to read.
sub directory { return $directory; }

sub size { my ($name) = @_; return $sizes{$name}[$column] // die "no size is called $name\n"; }

sub repetitions { return $ENV{BENCH_REPETITIONS} || size('repetitions'); }

sub median
{
	my @sorted = sort { $a <=> $b } @_;

	die "median of nothing\n" unless @sorted;
	return ($sorted[ $#sorted / 2 ] + $sorted[ @sorted / 2 ]) / 2;
}

sub ratio { my ($one, $other) = @_; return $other > 0 ? $one / $other : 9**9**9; }

# interleave(NAME => CODE...): run the variants alternately, in reverse order every second time. Each
# returns a list of name => figure. Return the medians by variant and name. CODE gets the number of
# the repetition.
sub interleave
{
	my (@variants) = @_;
	my (@names, %code, %found);

	while (my ($name, $code) = splice @variants, 0, 2)
	{
		push @names, $name;
		$code{$name} = $code;
	}
	foreach my $repetition (1 .. repetitions())
	{
		foreach my $name ($repetition % 2 ? @names : reverse @names)
		{
			my %figures = $code{$name}->($repetition);
			push @{ $found{$name}{$_} }, $figures{$_} foreach keys %figures;
		}
	}
	foreach my $figures (values %found)
	{
		$_ = median(@$_) foreach values %$figures;
	}
	return \%found;
}

# shown(NUMBER): show the number with three digits, or with all digits before the decimal point.
sub shown
{
	my ($number) = @_;

	return 'infinite' if $number == 9**9**9;
	return sprintf '%.0f', $number if abs $number >= 100;
	return sprintf '%.1f', $number if abs $number >= 10;
	return sprintf '%.2f', $number if abs $number >= 0.1 || $number == 0;
	return sprintf '%.2g', $number;
}

# patient_milliseconds(SESSION, SQL): return how long the statement took, or how long the case
# waited and whether it gave up.
sub patient_milliseconds
{
	my ($session, $sql) = @_;
	my $patience = size('patience_seconds');
	my $milliseconds;

	$session->run("SET statement_timeout = '${patience}s'");
	my $done = eval { $milliseconds = $session->milliseconds($sql); 1 };
	die $@ unless $done || $@ =~ /canceling statement due to statement timeout/;
	$session->run('RESET statement_timeout');
	return wantarray ? ($milliseconds // $patience * 1000, !$done) : $milliseconds // $patience * 1000;
}

#
# Databases
#

# prepared(NAME, OPTION...): make a database with projects, prices and the baselines, once for each
# set of options.
my %prepared;

sub prepared
{
	my (%option) = @_;
	my $projects = $option{projects} || Workload::PROJECTS;
	my $name = "prepared_$projects";

	return $name if $prepared{$name}++;
	Cluster::copy_database($name);
	Cluster::once($name, Workload::preparation(projects => $projects));
	Cluster::run_file($name, "$FindBin::Bin/$_.sql") foreach qw(b s n);
	Cluster::once($name, 'VACUUM ANALYZE');
	return $name;
}

# fresh(NAME, OPTION...): copy a database that prepared() has made.
sub fresh
{
	my ($name, %option) = @_;

	Cluster::copy_database($name, prepared(%option));
	return $name;
}

# events_file(NAME, QUERY): write the rows of the query to a file that COPY reads.
sub events_file
{
	my ($name, $query) = @_;
	my $file = "$directory/$name";

	Cluster::once(prepared(), "COPY ($query) TO '$file'") unless -e $file;
	return $file;
}

# load(DATABASE, FROM, TO, OPTION...): insert the events of containers by INSERT ... SELECT
# statements of half a million containers. With running => 1 the containers continue to run.
sub load
{
	my ($database, $from, $to, %option) = @_;
	my $running = delete $option{running};
	my $session = Cluster->new($database);
	my $step = 500_000;

	for (my $n = $from; $n < $to; $n += $step)
	{
		my $end = $n + $step < $to ? $n + $step : $to;
		my $seconds = $option{seconds} * ($end - $n) / ($to - $from);
		my ($start, $finish) = Workload::stream(%option, from => $n, to => $end, seconds => $seconds,
			origin => $option{origin} + $option{seconds} * ($n - $from) / ($to - $from));
		my $columns = Workload::columns();

		$session->run("INSERT INTO yquota.container_event ($columns) $start");
		$session->run("INSERT INTO yquota.container_event ($columns) $finish") unless $running;
		$session->run('SELECT yquota_internal.compact_counters()');
	}
	$session->close;
	return;
}

# compact(DATABASE): compact the counters, as the worker does every ten seconds.
sub compact
{
	my ($database) = @_;

	Cluster::once($database, 'SELECT yquota_internal.compact_counters(), yquota_internal.correct_late_prices()');
	return;
}

# check_books(DATABASE, expected counts): check that the books are right, because otherwise the
# figures are worthless. No event is set aside, every container is charged once, and the balances
# agree with the ledger. verify() also checks small books.
sub check_books
{
	my ($database, %expected) = @_;
	my $session = Cluster->new($database);

	$session->run(q(SET work_mem = '512MB'));
	my %found = map { split /=/ } split /\n/, $session->run(<<~'SQL');
		SELECT 'rejects=' || count(*) FROM yquota.event_reject
		UNION ALL SELECT 'events=' || count(*) FROM yquota.container_event
		UNION ALL SELECT 'running=' || count(*) FROM yquota.container
		UNION ALL SELECT 'charges=' || count(*) FROM yquota.charge
		UNION ALL SELECT 'charged=' || count(DISTINCT container_id) FROM yquota.charge
		UNION ALL SELECT 'free=' || count(*) FROM yquota.charge WHERE amount <= 0
		UNION ALL SELECT 'used=' || coalesce(sum(containers), 0) FROM yquota.queue_usage
		UNION ALL SELECT 'differing=' || ((SELECT coalesce(sum(charged), 0) FROM yquota.project_balance)
			- (SELECT coalesce(sum(amount), 0) FROM yquota.charge))
		SQL
	my %right = (rejects => 0, free => 0, differing => 0, running => 0, charged => $expected{charges}, %expected);
	$right{used} //= $right{running};
	foreach my $what (sort keys %right)
	{
		die "the books of $database are wrong: $what is $found{$what}, not $right{$what}\n"
		  if $found{$what} != $right{$what};
	}
	if ($expected{charges} <= 1000)
	{
		my $problems = $session->run('SELECT * FROM yquota.verify()');
		die "the books of $database are wrong:\n$problems\n" if $problems ne '';
	}
	$session->close;
	return;
}

1;
