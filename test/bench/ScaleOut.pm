# ScaleOut.pm: history in a ledger of Citus (a coordinator and two workers on this machine) and in
# columnar tables; a report over several clusters. Citus is compared only with one process for each
# node, because more nodes than processors prove nothing.
package ScaleOut;

use strict;
use warnings;

use Bench;
use Cluster;
use Report;
use Workload;

use constant NODES => qw(coordinator worker1 worker2);
use constant FIRST_PORT => 15432;
use constant DAYS => 365;
use constant CLUSTERS => 4;

my $is_started = 0;

sub directory_of { return Bench::directory() . "/$_[0]"; }

# Run CODE with statements going to NODE.
sub on
{
	my ($node, $code) = @_;
	my ($number) = grep { (NODES)[$_] eq $node } 0 .. 2;
	local @ENV{qw(PGHOST PGPORT)} = ('127.0.0.1', FIRST_PORT + $number);

	return $code->();
}

sub ask
{
	my ($node, $sql, $database) = @_;

	return on($node, sub { return Cluster::once($database // 'postgres', $sql) });
}

# Start the nodes; return why there are none if they cannot start.
sub started
{
	return 1 if $is_started;
	return 0 unless Cluster::administer(q(SELECT count(*) FROM pg_available_extensions WHERE name = 'citus'));
	my $fsync = Cluster::administer('SHOW fsync');
	my $port = FIRST_PORT;

	foreach my $node (NODES)
	{
		my $data = directory_of($node);

		system("initdb -D '$data' -U postgres -A trust -E UTF8 --no-locale --no-sync >/dev/null") == 0 or die "could not make $node\n";
		open my $settings, '>>', "$data/postgresql.conf" or die "could not write the settings of $node: $!\n";
		print $settings <<~"CONF";
			shared_preload_libraries = 'citus,yquota'
			listen_addresses = '127.0.0.1'
			port = $port
			unix_socket_directories = ''
			wal_level = logical
			max_prepared_transactions = 100
			fsync = $fsync
			shared_buffers = 512MB
			max_wal_size = 8GB
			checkpoint_timeout = 1h
			autovacuum = off
			jit = off
			timezone = 'UTC'
			max_parallel_workers_per_gather = 0
			citus.max_adaptive_executor_pool_size = 1
			CONF
		close $settings;
		system("pg_ctl -w -D '$data' -l '$data.log' start >/dev/null") == 0 or die "could not start $node\n";
		$port++;
		ask($node, 'CREATE EXTENSION citus');
	}
	$is_started = 1;
	ask('coordinator', sprintf q(SELECT citus_set_coordinator_host('127.0.0.1', %d), citus_add_node('127.0.0.1', %d), citus_add_node('127.0.0.1', %d)),
		map { FIRST_PORT + $_ } 0 .. 2);
	ask('coordinator', 'CREATE EXTENSION IF NOT EXISTS citus_columnar');
	return 1;
}

END
{
	if ($is_started)
	{
		my $status = $?;

		system("pg_ctl -w -m immediate -D '@{[ directory_of($_) ]}' stop >/dev/null") foreach NODES;
		$? = $status;
	}
}

use constant LEDGER => <<~'SQL';
	(container_id text NOT NULL, project text NOT NULL, application_id text, username text, queue text, node text, execution_type text,
	 allocation text, started_at timestamptz, "from" timestamptz, "to" timestamptz, booked_at timestamptz, number integer,
	 corrects integer, settled_by text, exit_status integer, padding interval, dominant text, amount numeric,
	 given_back numeric, waiting_factor numeric, cluster text NOT NULL, stretch integer NOT NULL)
	SQL

# Return the share of each function in the time of the call, in percent
sub profile_of
{
	my ($session) = @_;
	my $profile = $session->run(<<~'SQL');
		SELECT string_agg(format('%s %s %%', funcname, round(100 * total_time / whole)), ', ' ORDER BY total_time DESC)
		FROM (SELECT funcname, total_time, max(total_time) OVER () AS whole FROM pg_stat_user_functions
			  WHERE funcname IN ('archive_ledger', 'copy_out', 'post_opening_balances', 'post_archived_cost', 'post_archived_cost_since',
								 'post_archived_preemption', 'take_from_rollup', 'find_carried', 'lock_for_detaching')) AS f
		WHERE total_time > 0.01 * whole AND funcname <> 'archive_ledger'
		SQL

	return $profile;
}

sub archive_case
{
	return Report::add('archive() into a ledger of Citus', missing => 'Citus is not there: make citus') unless started();
	ask('coordinator', 'CREATE TABLE ledger ' . LEDGER . q(; SELECT create_distributed_table('ledger', 'project')));
	on('coordinator', sub {
		Cluster::once('postgres', Workload::preparation());
		Bench::load('postgres', 0, size('scale_out_charges'), ids => 'yarn', origin => Workload::ORIGIN, seconds => 30 * 86400);
		Cluster::once('postgres', 'SELECT yquota.seal_history(); SELECT yquota_internal.tend_history(); CHECKPOINT');
		my $session = Cluster->new('postgres');

		$session->run('SET track_functions = pl');
		my $used = $session->processor_milliseconds;
		my $milliseconds = $session->milliseconds(q(SELECT * FROM yquota.archive('public.ledger', 'infinity')));
		$used = $session->processor_milliseconds - $used;
		$session->run('SELECT pg_stat_force_next_flush()');
		my $archived = $session->run('SELECT count(*) FROM public.ledger');

		die "$archived rows are in the ledger\n" if $archived != size('scale_out_charges');
		my $problems = $session->run('SELECT * FROM yquota.verify()');
		die "the books are wrong after archiving:\n$problems\n" if $problems ne '';
		Report::add("archive() of $archived charges into a ledger of Citus", figure => $milliseconds / 1000, figure_unit => 's',
			value => $milliseconds / 1000, unit => 's', at_most => 20,
			note => sprintf('processor time of the backend %.1f s; %s', $used / 1000, profile_of($session)));
		$session->run('CREATE TABLE in_rows ' . LEDGER . '; INSERT INTO in_rows SELECT * FROM public.ledger; CREATE TABLE in_columns (LIKE in_rows) USING columnar');
		$session->run('INSERT INTO in_columns SELECT * FROM in_rows ORDER BY "to"');
		my ($rows, $columns) = map { $session->run("SELECT pg_total_relation_size('$_') / $archived") } qw(in_rows in_columns);

		Report::add('a charge of the ledger in columns', figure => $columns, figure_unit => 'bytes', baseline => $rows, baseline_name => 'in rows',
			value => ratio($columns, $rows), unit => 'x');
		$session->close;
	});
	return;
}

# Return ROWS charges of a thousand projects in a year, one after the other
sub charges
{
	my ($rows) = @_;
	my $seconds = DAYS * 86400;

	return <<~"SQL";
		SELECT 'container_e17_1700000000000_' || n / 100 || '_01_' || n % 100, 'p' || (hashint8(n / 100) & 1023), 'application_1700000000000_' || n / 100,
			   'u' || (hashint8(n / 100) & 255), 'root.q' || (hashint8(n / 100) & 63), 'node' || (hashint8(n) & 511), 'GUARANTEED', '[memory-mb=4096,vcores=2]',
			   at - interval '20 minutes', at - interval '20 minutes', at, at, 1, NULL, 'CONTAINER_FINISH', 0, NULL, 'vcores',
			   (hashint8(n) & 1048575) * 0.000123, NULL, NULL, 'north', 1
		FROM generate_series(1, $rows) AS n, LATERAL (SELECT to_timestamp(@{[ Workload::ORIGIN ]} + n::numeric * $seconds / $rows) AS at) AS t
		SQL
}

sub sum_case
{
	return Report::add('sum by project on two nodes', missing => 'Citus is not there: make citus') unless started();
	my $rows = size('scale_out_rows');
	my $sum = q(SELECT project, sum(amount), count(*) FROM %s GROUP BY project);

	ask('coordinator', 'CREATE TABLE many ' . LEDGER . '; CREATE TABLE alone ' . LEDGER
		. q(; SET citus.shard_count = 2; SELECT create_distributed_table('many', 'project', colocate_with => 'none')));
	ask('coordinator', 'INSERT INTO alone ' . charges($rows) . '; INSERT INTO many SELECT * FROM alone; VACUUM ANALYZE alone; VACUUM ANALYZE many; CHECKPOINT');
	on('coordinator', sub {
		my $session = Cluster->new('postgres');
		my ($one, $two) = map { $session->run(sprintf "SELECT md5(string_agg(s::text, ' ' ORDER BY project)) FROM ($sum) AS s", $_) } qw(alone many);

		die "the sums differ\n" if $one ne $two;
		my $times = Bench::interleave(map { my $table = $_; ($table => sub { return (time => scalar $session->milliseconds(sprintf $sum, $table)) }) } qw(alone many));

		Report::add("sum by project over $rows charges on two nodes against one", figure => $times->{many}{time}, figure_unit => 'ms',
			baseline => $times->{alone}{time}, baseline_name => 'one node', value => ratio($times->{many}{time}, $times->{alone}{time}), unit => 'x', at_most => 0.6,
			note => 'one process each; bytes per charge: ' . $session->run(q(SELECT pg_table_size('alone') / (SELECT count(*) FROM alone))));
		$session->close;
	});
	return;
}

sub month_case
{
	return Report::add('a month per day in columns', missing => 'Citus is not there: make citus') unless started();
	my $rows = size('scale_out_rows');

	ask('coordinator', 'CREATE TABLE columns ' . LEDGER . ' USING columnar; INSERT INTO columns ' . charges($rows) . '; ANALYZE columns; CHECKPOINT');
	on('coordinator', sub {
		my $session = Cluster->new('postgres');
		# Chunks are skipped by instants that are known at planning time. Days in UTC need no time
		# zone.
		my $month = sprintf q(SELECT date_bin('1 day', "to", '2000-01-01 00:00+00'), sum(amount) FROM columns WHERE "to" >= to_timestamp(%d) AND "to" < to_timestamp(%d) GROUP BY 1),
		  map { Workload::ORIGIN + $_ * 86400 } 100, 130;

		die "there are no days\n" unless $session->run($month) =~ /\n/;
		my $milliseconds = median($session->milliseconds(($month) x 5));

		Report::add("a month per day of $rows charges of a year in columns", figure => $milliseconds, figure_unit => 'ms', value => $milliseconds, unit => 'ms', at_most => 100,
			note => sprintf('processor time %.0f ms; ', $session->used_by($month)) . 'bytes per charge: ' . $session->run(q(SELECT pg_total_relation_size('columns') / (SELECT count(*) FROM columns))));
		$session->close;
	});
	return;
}

# A report of a month over CLUSTERS clusters, which are databases of this server, compared with the
# report of one
sub federation_case
{
	my @clusters = map { "cluster_$_" } 1 .. CLUSTERS;
	my ($host, $port) = @ENV{qw(PGHOST PGPORT)};
	my $days = sprintf q(SELECT format('%%L, %%L', day, day + 29) FROM (SELECT to_timestamp(%d)::date AS day) AS d), Workload::ORIGIN;

	Bench::fresh($clusters[0]);
	Bench::load($clusters[0], 0, size('federated_charges'), ids => 'yarn', origin => Workload::ORIGIN, seconds => 29 * 86400);
	Cluster::once($clusters[0], 'SELECT yquota.quota_compute(); SELECT yquota.roll_up_charges(); VACUUM ANALYZE');
	Cluster::copy_database($_, $clusters[0]) foreach @clusters[ 1 .. $#clusters ];
	Cluster::once($_, "INSERT INTO yquota.cluster_setting (cluster_name) VALUES ('$_')") foreach @clusters;
	Bench::fresh('federation');
	my $session = Cluster->new('federation');

	$session->run('CREATE EXTENSION postgres_fdw');
	$session->run(<<~"SQL") foreach @clusters;
		CREATE SERVER $_ FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '$host', port '$port', dbname '$_', async_capable 'true');
		CREATE USER MAPPING FOR CURRENT_USER SERVER $_;
		SELECT yquota.federate_cluster('$_', '$_');
		SQL
	$days = $session->run($days);
	my $own = Cluster->new($clusters[0]);

	foreach my $by ('project', 'day,project')
	{
		my $one = sprintf q(SELECT %s, sum(amount) FROM yquota.cost_by_day(%s, '{project}') GROUP BY %s), $by, $days, $by;
		my $part = sprintf 'SELECT %s, sum(amount) FROM yquota.charge_by_project_day WHERE day BETWEEN %s GROUP BY %s', $by, $days =~ s/,/ AND/r, $by;
		my $all = "SELECT $by, amount FROM yquota.federated_cost($days, '{$by}')";
		my $sum = 'SELECT trim_scale(sum(amount)) * %d FROM (%s) AS c (%s, amount)';

		my ($of_one, $of_all) = ($own->run(sprintf $sum, CLUSTERS, $one, $by), $session->run(sprintf $sum, 1, $all, $by));
		die "the clusters cost $of_all, not $of_one\n" if $of_one ne $of_all || $of_one eq '';
		my $times = Bench::interleave(
			one => sub { return (time => scalar $own->milliseconds($one)) },
			all => sub { return (time => scalar $session->milliseconds($all)) });

		Report::add("a month of @{[ CLUSTERS ]} clusters by $by against that of one", figure => $times->{all}{time}, figure_unit => 'ms',
			baseline => $times->{one}{time}, baseline_name => 'one cluster', value => ratio($times->{all}{time}, $times->{one}{time}), unit => 'x',
			note => sprintf('%d charges each; processor time: the federation %.0f ms, each cluster %.0f ms, one by itself %.0f ms', size('federated_charges'),
				map { my ($asked, $sql) = @$_; $asked->run($sql); $asked->used_by($sql) } [ $session, $all ], [ $own, $part ], [ $own, $one ]));
	}
	$_->close foreach $session, $own;
	Cluster::drop_database($_) foreach 'federation', @clusters;
	return;
}

sub cases
{
	return ('scale-out-archive' => \&archive_case, 'scale-out-sum' => \&sum_case, 'scale-out-month' => \&month_case,
		'scale-out-federation' => \&federation_case);
}

1;
