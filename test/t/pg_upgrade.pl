# pg_upgrade moves the books unchanged: the log, ledger and sealed history, running containers, waiting events,
# deltas, prices, and numbers that continue. No worker starts during the upgrade, although the configurations of both
# servers list its database. It starts afterwards. The test upgrades from this version of the server to itself, which
# takes all steps of an upgrade. It also upgrades from every older version that is installed with yquota.

use strict;
use warnings;

use File::Basename;
use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Rows;
use Test::More;
use WorkerNode;

my $programs = dirname(`which postgres`);
my $configuration = <<~'CONF';
	shared_preload_libraries = 'yquota'
	yquota.databases = 'books'
	fsync = off
	CONF

# Return the major version of the server whose programs are in a directory, or undef.
sub version_of
{
	my ($directory) = @_;

	return -x "$directory/postgres" && `'$directory/postgres' --version` =~ /\(PostgreSQL\) (\d+)/ ? $1 : undef;
}

# Return the programs of older servers for which yquota is installed, by version
sub older_servers
{
	my %found;

	foreach my $directory (glob('/usr/lib/postgresql/*/bin /usr/pgsql-*/bin /usr/local/pgsql*/bin'))
	{
		my $version = version_of($directory) or next;
		chomp(my $library_directory = `'$directory/pg_config' --pkglibdir`);
		$found{$version} = $directory if $version < version_of($programs) && -e "$library_directory/yquota.so";
	}
	return %found;
}

# Return every row of every table of the extension and of segments of history, except state of the
# server itself.
sub contents
{
	my ($node) = @_;
	my @tables = split /\n/, $node->safe_psql('books', <<~'SQL');
		SELECT c.oid::regclass FROM pg_class AS c
		WHERE c.relkind = 'r' AND c.relnamespace IN ('yquota'::regnamespace, 'yquota_internal'::regnamespace) ORDER BY c.oid::regclass::text
		SQL

	return rows_of_each($node, 'books', map { $_ => "SELECT * FROM ONLY $_" } @tables);
}

sub shown
{
	my ($node) = @_;

	return $node->safe_psql('books', join "\n", map { "SELECT t::text FROM ($_) AS t ORDER BY 1;" }
		'SELECT project, charged, accrued, burn_rate FROM yquota.project_balance', 'SELECT * FROM yquota.container_cost', 'SELECT * FROM yquota.daily_cost',
		'SELECT * FROM yquota.current_price', 'SELECT * FROM yquota.price_history', 'SELECT * FROM yquota.verify()');
}

sub test_upgrade
{
	my ($name, @old) = @_;
	my $old = PostgreSQL::Test::Cluster->new("old_$name", @old);
	my $new = PostgreSQL::Test::Cluster->new("new_$name");

	# pg_upgrade needs a new cluster without yquota, so do not copy the usual one.
	$_->init(extra => ['--no-instructions']), $_->append_conf('postgresql.conf', $configuration) foreach $old, $new;
	$old->start;
	$old->safe_psql('postgres', 'CREATE DATABASE books');
	start_at($old, 'books', '2026-03-02 10:00+00');
	is_soon($old, 'books', mark() . ' = yquota.clock()', "$name: the old server's worker runs");
	$old->safe_psql('books', <<~'SQL');
		INSERT INTO yquota.project (name) VALUES ('lab'), ('ops');
		INSERT INTO yquota.node (name, total) VALUES ('n1', '[memory-mb=65536,vcores=64]');
		INSERT INTO yquota.quota_grant (project, amount, reason) VALUES ('lab', 1000, 'a');
		SELECT yquota.set_multiplier('GENERAL', 1.25, '2026-03-02 10:00+00', '2099-01-01');
		INSERT INTO yquota.container_event (event, container_id, occurred_at, project, username, queue, node, allocation, source)
		SELECT 'CONTAINER_START', format('c%s', number), timestamptz '2026-03-02 09:00+00' + number * interval '1.000001 min', CASE number % 2 WHEN 0 THEN 'ops' ELSE 'lab' END,
			   'ann', 'root.a', 'n1', format('[memory-mb=%s,vcores=3]', number * 100)::yquota.resource, 'feed'
		FROM generate_series(1, 12) AS number;
		INSERT INTO yquota.container_event (event, container_id, occurred_at) VALUES ('CONTAINER_FINISH', 'c1', '2026-03-02 09:50+00'), ('CONTAINER_FINISH', 'c2', '2026-03-02 09:50+00');
		SELECT yquota.quota_compute();
		SELECT yquota.seal_history();
		INSERT INTO yquota.container_event (event, container_id, occurred_at, allocation) VALUES ('CONTAINER_UPDATE', 'c3', '2026-03-02 09:30+00', '[yarn.io/gpu=1]');
		SET yquota.on_bad_event = set_aside;
		INSERT INTO yquota.container_event (event, container_id, occurred_at) VALUES ('CONTAINER_FINISH', 'c90', '2026-03-02 09:55+00');
		INSERT INTO yquota.container_event (event, container_id, occurred_at) VALUES ('CONTAINER_FINISH', 'c4', '2026-03-02 09:50+00');
		SELECT yquota.seal_history();
		SQL
	# The worker must be gone before rows are compared. The file that both servers read at start
	# still lists the database.
	$old->append_conf('postgresql.conf', "yquota.databases = ''");
	$old->reload;
	$old->poll_query_until('books', "SELECT count(*) = 0 FROM pg_stat_activity WHERE backend_type = 'yquota worker'");
	$old->safe_psql('books', "INSERT INTO yquota.container_event (event, container_id, occurred_at) VALUES ('CONTAINER_FINISH', 'c5', '2026-03-02 09:50+00')");
	$old->append_conf('postgresql.conf', "yquota.databases = 'books'");
	my $contents = contents($old);
	my $shown = shown($old);

	$old->stop;
	my $started = count_in_log($old, 'yquota worker of database');
	command_ok([ 'pg_upgrade', '--no-sync', '-d', $old->data_dir, '-D', $new->data_dir, '-b', $old->config_data('--bindir'), '-B', $new->config_data('--bindir'),
			'-s', $new->host, '-p', $old->port, '-P', $new->port ], "$name: pg_upgrade");
	my @logs = glob($new->data_dir . '/pg_upgrade_output.d/*/log/*');
	is(scalar(grep { slurp_file($_) =~ /yquota worker of database/ } @logs) + count_in_log($old, 'yquota worker of database'), $started, "$name: no worker runs during the upgrade");

	$new->append_conf('postgresql.conf', "yquota.databases = ''");
	$new->start;
	is_deeply(contents($new), $contents, "$name: every row is as it was, in every segment");
	is(shown($new), $shown, "$name: the new server shows what the old one showed");
	$new->append_conf('postgresql.conf', "yquota.databases = 'books'");
	$new->reload;
	is_soon($new, 'books', "(SELECT state = 'running' FROM yquota.worker_status WHERE database = 'books')", "$name: the worker starts");
	is_soon($new, 'books', '(SELECT count(*) = 0 FROM yquota_internal.counter_delta)', "$name: the worker compacts counters");
	is( $new->safe_psql('books', <<~'SQL'), "t\n2\n2250\n0", "$name: new events are charged");
		INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES ('CONTAINER_START', 'c90', '2026-03-02 09:35+00', 'ops', '[vcores=1]');
		SELECT cost = 1200 FROM yquota.container_cost WHERE container_id = 'c90';
		INSERT INTO yquota.quota_grant (project, amount, reason) VALUES ('ops', 1, 'b') RETURNING grant_id;
		INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES ('CONTAINER_START', 'c91', '2026-03-02 10:00+00', 'ops', '[vcores=1]');
		SELECT yquota.set_clock('2026-03-02 10:30+00') \g /dev/null
		INSERT INTO yquota.container_event (event, container_id, occurred_at) SELECT 'CONTAINER_FINISH', container_id, '2026-03-02 10:30+00' FROM yquota.container;
		SELECT cost FROM yquota.container_cost WHERE container_id = 'c91';
		SELECT count(*) FROM yquota.container;
		SELECT * FROM yquota.verify();
		SQL
	is($new->safe_psql('books', 'SELECT yquota.seal_history() > 0'), 't', "$name: history can be sealed");
	is($new->safe_psql('books', 'SELECT * FROM yquota.verify()'), '', "$name: the books prove themselves");
	$new->stop;
	return;
}

test_upgrade('itself');
SKIP:
{
	my %older = older_servers();

	skip 'no older version of the server has yquota', 1 unless %older;
	test_upgrade("from_$_", install_path => dirname($older{$_})) foreach sort keys %older;
}
done_testing();
