# Events.pm: the cost of sending events by COPY, in batches, as single rows, and for one hot
# project. The cases also measure WAL and memory.
package Events;

use strict;
use warnings;

use Bench;
use Cluster;
use Report;
use Workload;

my %table = (yquota => 'yquota', B => 'b', S => 's', N => 'n');

# The naive trigger needs index plans; see n.sql.
sub prepare_session
{
	my ($variant, $session) = @_;

	$session->run('SET enable_seqscan = off') if $variant eq 'N';
	return;
}

sub pair_time { my ($seconds, $containers) = @_; return $seconds * 1e6 / $containers; }

# lifecycles(VARIANT, CONTAINERS, SEND): send STARTs and FINISHes to a fresh database by
# SEND(session, table, part). Return microseconds and WAL bytes per pair. The tables are new, so
# hardly any page is older than the checkpoint, and the WAL has no full pages.
sub lifecycles
{
	my ($variant, $containers, $send) = @_;
	my $database = Bench::fresh('events');
	my $milliseconds = 0;
	my $wal = 0;

	foreach my $part (0, 1)
	{
		my $session = Cluster->new($database);
		prepare_session($variant, $session);
		Cluster::checkpoint();
		my $before = $session->wal;
		$milliseconds += $send->($session, $table{$variant}, $part);
		$wal += $session->wal - $before;
		$session->close;
		compact($database) if $variant eq 'yquota';
	}
	check_books($database, events => 2 * $containers, charges => $containers) if $variant eq 'yquota';
	Cluster::drop_database($database);
	return (time => pair_time($milliseconds / 1000, $containers), wal => $wal / $containers);
}

# pair_rows(CASE, MEDIANS, COMPARISONS): add one row for each baseline.
sub pair_rows
{
	my ($case, $found, @comparisons) = @_;

	foreach my $comparison (@comparisons)
	{
		my ($baseline, $direction, $target) = @$comparison;
		my ($ours, $theirs) = ($found->{yquota}{time}, $found->{$baseline}{time});
		my $value = $direction eq 'at_most' ? ratio($ours, $theirs) : ratio($theirs, $ours);

		Report::add("$case, " . ($direction eq 'at_most' ? "time against $baseline" : "times faster than $baseline"),
			figure => $ours, figure_unit => 'us/pair', baseline => $theirs, baseline_name => $baseline,
			value => $value, unit => 'x', $direction => $target);
	}
	return;
}

sub wal_row
{
	my ($case, $found) = @_;

	Report::add("$case, WAL of a lifecycle",
		figure => $found->{yquota}{wal}, figure_unit => 'B', baseline => $found->{B}{wal}, baseline_name => 'B',
		value => ratio($found->{yquota}{wal}, $found->{B}{wal}), unit => 'x', at_most => 1.4);
	return;
}

#
# COPY
#

sub copied
{
	my ($variant, $containers, @files) = @_;
	my $columns = Workload::columns();

	return lifecycles($variant, $containers,
		sub {
			my ($session, $table, $part) = @_;
			return scalar $session->milliseconds("COPY $table.container_event ($columns) FROM '$files[$part]'");
		});
}

sub copy_files
{
	my ($name, $containers, %option) = @_;
	my @queries = Workload::stream(to => $containers, %option);

	return map { events_file("$name-$_", $queries[$_]) } 0, 1;
}

sub copy_case
{
	my ($name, $case, %option) = @_;
	my $containers = size('copy_containers');
	my @files = copy_files($name, $containers, %option);
	my $found = interleave(map { my $variant = $_; $variant => sub { copied($variant, $containers, @files) } } qw(yquota B S));

	pair_rows($case, $found, [ B => at_most => 1.0 ], [ S => at_least => 2 ]);
	wal_row($case, $found);
	unlink @files;
	return;
}

# The naive trigger is measured with fewer rows than the other variants. Its comparison uses as few
# rows.
sub naive_case
{
	my $containers = size('naive_containers');
	my @files = copy_files('naive', $containers, shuffled => 1);
	my $found = interleave(map { my $variant = $_; $variant => sub { copied($variant, $containers, @files) } } qw(yquota N));

	pair_rows('COPY, few rows', $found, [ N => at_least => 5 ]);
	unlink @files;
	return;
}

#
# Write INSERT statements of a thousand rows, each in its own transaction
#

sub batch_files
{
	my ($name, $containers, %option) = @_;
	my $rows = 1000;
	my $columns = Workload::columns();
	my @files;

	foreach my $plain (copy_files($name, $containers, %option))
	{
		my @statements;
		my @values;
		open my $in, '<', $plain or die "could not read \"$plain\": $!\n";
		while (my $line = <$in>)
		{
			chomp $line;
			push @values, '(' . join(', ', map { $_ eq '\N' ? 'NULL' : "'$_'" } split /\t/, $line) . ')';
			if (@values == $rows || eof $in)
			{
				push @statements, "INSERT INTO :table.container_event ($columns) VALUES\n" . join(",\n", @values) . ";\n";
				@values = ();
			}
		}
		close $in;
		Report::write_file("$plain.sql", join '', @statements);
		unlink $plain;
		push @files, "$plain.sql";
	}
	return @files;
}

sub batch_case
{
	my ($name, $case, %option) = @_;
	my $containers = size('batch_containers');
	my @files = batch_files($name, $containers, %option);
	my $send = sub {
		my ($session, $table, $part) = @_;
		my $answer = $session->run("\\set table $table\n\\timing on\n\\i $files[$part]\n\\timing off\n");
		my $total = 0;
		$total += $_ foreach $answer =~ /^Time: ([0-9.]+) ms/mg;
		return $total;
	};
	my $found = interleave(map { my $variant = $_; $variant => sub { lifecycles($variant, $containers, $send) } } qw(yquota B S));

	pair_rows($case, $found, [ B => at_most => 1.1 ]);
	# report the time of S here, because no target is about it
	Report::add("$case, times faster than S",
		figure => $found->{yquota}{time}, figure_unit => 'us/pair', baseline => $found->{S}{time}, baseline_name => 'S',
		value => ratio($found->{S}{time}, $found->{yquota}{time}), unit => 'x');
	wal_row($case, $found);
	unlink @files;
	return;
}

#
# Single rows
#

# A client finishes the container that it started this number of containers earlier.
use constant BACKLOG => 200;
use constant FIRST => 1_000_000;

my $runs = 0;

# duration(CLIENTS, SECONDS): return pgbench's options for the length of a run.
sub duration
{
	my ($clients, $seconds) = @_;

	return $seconds ? ('-T' => $seconds) : ('-t' => int(size('single_containers') / $clients) || 1);
}

# single_rows(VARIANT, DATABASE, OPTION...): return transactions per second, with one event in each,
# and WAL bytes per container.
sub single_rows
{
	my ($variant, $database, %option) = @_;
	my %script = (table => $table{$variant}, map { $_ => $option{$_} } grep { defined $option{$_} } qw(ids projects other_work_s));
	my $file = "$ARGV[0]/script.pgbench";
	my $settings = join ' ', ($option{asynchronous} ? '-c synchronous_commit=off' : ()),
	  ($variant eq 'N' ? '-c enable_seqscan=off' : ());
	my $session = Cluster->new($database);
	my $run = ++$runs;

	prepare_session($variant, $session);
	$session->run(Workload::backlog(%script, run => $run, clients => $option{clients}, backlog => BACKLOG, first => FIRST));
	Report::write_file($file, Workload::script(%script));
	Cluster::checkpoint();
	my $before = $session->wal;
	my ($transactions, $per_second) = Cluster::pgbench($database, $file,
		'-c' => $option{clients}, '-j' => $option{clients} > 2 ? 2 : $option{clients}, duration($option{clients}, $option{seconds} // size('single_seconds')),
		settings => $settings, variables => { run => $run, backlog => BACKLOG, next => FIRST });
	my $wal = $session->wal - $before;
	$session->close;
	compact($database) if $variant eq 'yquota';
	if ($variant eq 'yquota' && $option{count})
	{
		$option{count}{running} += $option{clients} * BACKLOG;
		$option{count}{charges} += $transactions;
		check_books($database, %{ $option{count} }, events => $option{count}{running} + 2 * $option{count}{charges});
	}
	return (rate => 2 * $per_second, wal => $wal / $transactions);
}

# single_case(NAME, [VARIANTS], OPTION...): report medians. Each variant has one database, in which
# the runs follow each other.
sub single_case
{
	my ($name, $variants, %option) = @_;
	my %count;
	my @run;

	foreach my $variant (@$variants)
	{
		my $database = Bench::fresh("single_$table{$variant}");
		push @run, $variant => sub { single_rows($variant, $database, %option, count => \%count) };
	}
	my $found = interleave(@run);
	Cluster::drop_database("single_$table{$_}") foreach @$variants;
	return $found;
}

sub rate_row
{
	my ($case, $found, $baseline, $target) = @_;

	Report::add($case, figure => $found->{yquota}{rate}, figure_unit => 'tps',
		baseline => $found->{$baseline}{rate}, baseline_name => $baseline,
		value => ratio($found->{yquota}{rate}, $found->{$baseline}{rate}), unit => 'x', at_least => $target);
	return;
}

sub many_projects_case
{
	my ($name, $case, $clients, $target, %option) = @_;
	my $found = single_case($name, [qw(yquota B)], clients => $clients, %option);

	rate_row("$case against B", $found, 'B', $target);
	# each run follows a checkpoint, so the WAL of both variants includes full pages
	Report::add("$case, WAL of a lifecycle", figure => $found->{yquota}{wal}, figure_unit => 'B',
		baseline => $found->{B}{wal}, baseline_name => 'B', value => ratio($found->{yquota}{wal}, $found->{B}{wal}),
		unit => 'x', at_most => 1.4)
	  if $option{asynchronous} && $clients == 1;
	return;
}

#
# All clients send events of one common project
#

# Samples of sessions that wait for a lock, taken by a session beside pgbench. Waits for the extension of a table
# are not counted, because they are not about a balance.
sub sampler
{
	my ($database) = @_;
	my $session = Cluster->new('postgres');

	$session->run('CREATE TEMP TABLE waiting (event text, samples bigint)');
	$session->send(<<~"SQL");
		DO \$\$
		DECLARE
			stop_at timestamptz := clock_timestamp() + '@{[ size('hot_seconds') || 0.2 ]} s';
		BEGIN
			WHILE clock_timestamp() < stop_at LOOP
				PERFORM pg_stat_clear_snapshot();
				INSERT INTO waiting
				SELECT wait_event, count(*) FROM pg_stat_activity
				WHERE datname = '$database' AND wait_event_type = 'Lock' GROUP BY 1;
				PERFORM pg_sleep(0.005);
			END LOOP;
		END
		\$\$
		SQL
	return $session;
}

sub hot_case
{
	my ($name, $case, $other_work_s, $naive_target) = @_;
	my %option = (clients => 16, projects => 1, seconds => size('hot_seconds'), $other_work_s ? (other_work_s => $other_work_s) : ());
	my (%count, %waits, @run);

	foreach my $variant (qw(yquota B N))
	{
		my $database = Bench::fresh("single_$table{$variant}");
		push @run, $variant => sub {
			my $sampler = $variant eq 'B' ? undef : sampler($database);
			my %figures = single_rows($variant, $database, %option, count => \%count);
			if ($sampler)
			{
				$sampler->receive;
				$waits{$variant}{ $_->[0] } += $_->[1]
				  foreach map { [ split /\|/ ] } split /\n/, $sampler->run('SELECT event, sum(samples) FROM waiting GROUP BY 1');
				$sampler->close;
			}
			return %figures;
		};
	}
	my $found = interleave(@run);
	Cluster::drop_database("single_$table{$_}") foreach qw(yquota B N);

	my %balance;
	foreach my $variant (qw(yquota N))
	{
		$balance{$variant} = 0;
		$balance{$variant} += $waits{$variant}{$_} foreach grep { $_ ne 'extend' } keys %{ $waits{$variant} || {} };
	}
	rate_row("$case against B", $found, 'B', 0.8);
	rate_row("$case against N", $found, 'N', $naive_target);
	Report::add("$case, lock waits seen", figure => $balance{yquota}, figure_unit => 'samples',
		baseline => $balance{N}, baseline_name => 'N', value => $balance{yquota}, unit => 'samples', at_most => 0,
		note => $waits{yquota}{extend} ? "$waits{yquota}{extend} more waits to extend a table" : '');
	return;
}

#
# Memory
#

# memory_case: the peak memory of a backend after one statement of many rows, and after one of fewer rows. The
# rows are STARTs only, or all events of half as many containers.
sub memory_case
{
	my ($name, $case, $work_mem_mb, $whole) = @_;
	my $columns = Workload::columns();
	my %containers = map { $_ => size("memory_$_") * ($whole ? 1 : 2) } qw(containers part);
	my @run;

	# memory is the same in each repetition
	local $ENV{BENCH_REPETITIONS} = 1;
	foreach my $part (sort keys %containers)
	{
		my ($start, $finish) = Workload::stream(to => $containers{$part}, shuffled => 1);
		my $file = events_file("memory-$part", $whole ? "SELECT * FROM (($start) UNION ALL ($finish)) AS event" : $start);
		push @run, $part => sub {
			my $database = Bench::fresh('memory');
			my $session = Cluster->new($database);

			$session->run("SET work_mem = '${work_mem_mb}MB'");
			# make the backend load the data that it needs to charge anything
			$session->run("INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES ('CONTAINER_START', 'first', '2023-11-14 23:00+00', 'p1000', '[vcores=1]')");
			$session->run("INSERT INTO yquota.container_event (event, container_id, occurred_at) VALUES ('CONTAINER_FINISH', 'first', '2023-11-14 23:30+00')");
			my $before = $session->peak_memory;
			$session->run("COPY yquota.container_event ($columns) FROM '$file'");
			my $peak = $session->peak_memory;
			$session->close;
			compact($database);
			check_books($database, events => 2 + ($whole ? 2 : 1) * $containers{$part},
				charges => 1 + ($whole ? $containers{$part} : 0), running => $whole ? 0 : $containers{$part});
			Cluster::drop_database($database);
			return (peak => $peak / 1024, used => ($peak - $before) / 1024);
		};
	}
	my $found = eval { interleave(@run) };
	my $error = $@;
	unlink map { "$ARGV[0]/memory-$_" } keys %containers;
	die $error unless $found;

	my $rows = sub { return $_[0] * ($whole ? 2 : 1) };
	Report::add("memory of a statement of @{[ $rows->($containers{containers}) ]} $case at work_mem ${work_mem_mb}MB",
		figure => $found->{containers}{used}, figure_unit => 'MB', baseline => $found->{part}{used},
		baseline_name => "@{[ $rows->($containers{part}) ]} rows:",
		# the peak must stay below a small multiple of work_mem
		value => ratio($found->{containers}{used}, $work_mem_mb), unit => 'x work_mem', at_most => 8,
		note => sprintf('once; peak of the process %.0f MB, with fewer rows %.0f MB', $found->{containers}{peak}, $found->{part}{peak}));
	return;
}

sub cases
{
	return (
		'copy-yarn-ordered' => sub { copy_case(@_, 'COPY, YARN ids, in order') },
		'copy-yarn-shuffled' => sub { copy_case(@_, 'COPY, YARN ids, shuffled', shuffled => 1) },
		# in the other cases any project may use any of the allocations
		'copy-yarn-few' => sub { copy_case(@_, 'COPY, YARN ids, shuffled, 20 allocations a project', shuffled => 1, kinds => 20) },
		'copy-pod-ordered' => sub { copy_case(@_, 'COPY, free ids, in order', ids => 'pod') },
		'copy-pod-shuffled' => sub { copy_case(@_, 'COPY, free ids, shuffled', ids => 'random', shuffled => 1) },
		'copy-naive' => \&naive_case,
		'batch-yarn' => sub { batch_case(@_, '1,000-row INSERTs, YARN ids') },
		'batch-pod' => sub { batch_case(@_, '1,000-row INSERTs, free ids', ids => 'pod') },
		(map {
			my ($ids, $called) = @$_;
			(
				"single-$ids-1" => sub { many_projects_case(@_, "single rows, $called ids, 1 client", 1, 0.85, ids => $ids) },
				"single-$ids-8" => sub { many_projects_case(@_, "single rows, $called ids, 8 clients", 8, 0.9, ids => $ids) },
				"single-$ids-1-async" => sub { many_projects_case(@_, "single rows, $called ids, 1 client, synchronous_commit off", 1, 0.6, ids => $ids, asynchronous => 1) },
				"single-$ids-8-async" => sub { many_projects_case(@_, "single rows, $called ids, 8 clients, synchronous_commit off", 8, 0.6, ids => $ids, asynchronous => 1) },
			)
		} [ yarn => 'YARN' ], [ pod => 'free' ]),
		'hot' => sub { hot_case(@_, 'one project, 16 clients', 0, 2.5) },
		'hot-work' => sub { hot_case(@_, 'one project, 16 clients, 2 ms of other work', 0.002, 10) },
		'memory-starts-4MB' => sub { memory_case(@_, 'STARTs', 4, 0) },
		'memory-starts-64MB' => sub { memory_case(@_, 'STARTs', 64, 0) },
		'memory-lifecycles-4MB' => sub { memory_case(@_, 'STARTs and FINISHes', 4, 1) },
		'memory-lifecycles-64MB' => sub { memory_case(@_, 'STARTs and FINISHes', 64, 1) },
	);
}

1;
