# Every released version can be updated to this one.
#
# - An untouched installation of it, updated, is a new installation: the same
#   objects with the same properties, down to rights, comments and dump marks,
#   and the same shipped rows.
# - An installation full of work lives through it all with nothing lost.  The
#   released library did the work (test/scripts/build_releases.sh makes it).  When the
#   library is replaced, its sessions go on, and new sessions are refused until
#   the update.  After the update sessions of the released library are refused.
#   In the end every amount is that of a database which did the same work with
#   this version alone.
# - The comparison notices when anything is different.

use strict;
use warnings;

use File::Basename;
use File::Copy qw(copy);
use FindBin;
use lib $FindBin::RealBin;
use Catalog;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use WorkerNode;

my $tree = "$FindBin::RealBin/../..";
my @releases = map { /yquota--([0-9.]+)\.sql$/ ? $1 : () } glob("$tree/sql/releases/yquota--*.sql");
my $node;

sub create
{
	my ($database, $version) = @_;

	$node->safe_psql('postgres', "CREATE DATABASE $database TEMPLATE template0");
	$node->safe_psql($database, 'CREATE EXTENSION yquota' . (defined $version ? " VERSION '$version'" : ''));
	return;
}

# The answer of psql to the query with ends of records that no text has.
sub catalog_of
{
	my ($database, $change) = @_;
	my $rows = $node->safe_psql($database, ($change ? "BEGIN; $change;" : '') . catalog_query() . ($change ? '; ROLLBACK' : ''),
		extra_params => [ '-F', "\x1f", '-R', "\x1e" ]);

	return { map { split /\x1f/, $_, 2 } split /\x1e/, $rows };
}

sub is_like_new
{
	my ($wanted, $database, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is(join("\n", differences($wanted, catalog_of($database))), '', $name);
	return;
}

# What ships: rows without the times at which they came.
sub shipped_rows
{
	my ($database) = @_;
	my @tables = split /\n/, $node->safe_psql($database, <<~'SQL');
		SELECT c.oid::regclass FROM pg_extension AS e
		JOIN pg_depend AS d ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid AND d.deptype = 'e'
		JOIN pg_class AS c ON d.classid = 'pg_class'::regclass AND c.oid = d.objid
		WHERE e.extname = 'yquota' AND c.relkind = 'r' ORDER BY c.oid::regclass::text
		SQL

	return $node->safe_psql($database, join "\n", map {
		"SELECT '$_', to_jsonb(t) - 'set_at' - 'changed_at' - 'created_at' - 'version' - 'content' FROM $_ AS t ORDER BY 2;" } @tables);
}

#
# Work
#

my $fill = <<~'SQL';
	SELECT yquota.set_multiplier('GENERAL', 1.25, '2026-03-02 10:00+00', '2099-01-01');
	SELECT yquota.set_multiplier('GPU', 3, '2026-03-02 10:00+00', '2099-01-01');
	INSERT INTO yquota.project (name, on_exhausted) VALUES ('lab', 'stop'), ('ops', 'drain');
	INSERT INTO yquota.node (name, total, label) VALUES ('n1', '[memory-mb=65536,vcores=64]', 'ssd');
	INSERT INTO yquota.quota_grant (project, amount, reason) VALUES ('lab', 1000000.000000000000000001, 'a'), ('ops', 1, 'b');
	INSERT INTO yquota.charging_rule (effective_at, minimum_run_time) VALUES ('-infinity', '90 s');
	INSERT INTO yquota.price_factor (dimension, name, effective_at, factor) VALUES ('queue', 'root.a', '2026-03-02 09:30+00', 0.123456);
	INSERT INTO yquota.container_event (event, container_id, occurred_at, project, username, queue, node, allocation, source)
	SELECT 'CONTAINER_START', format('c%s', number), timestamptz '2026-03-02 09:00+00' + number * interval '1.000001 min',
		   CASE number % 3 WHEN 0 THEN 'ops' ELSE 'lab' END, 'ann', CASE number % 2 WHEN 0 THEN 'root.a' ELSE 'root.b' END,
		   'n1', format('[memory-mb=%s,vcores=3]', number * 100)::yquota.resource, 'feed'
	FROM generate_series(1, 40) AS number;
	INSERT INTO yquota.container_event (event, container_id, occurred_at, allocation, source) VALUES
		('CONTAINER_UPDATE', 'c1', '2026-03-02 09:30+00', '[vcores=5]', 'feed'),
		('CONTAINER_UPDATE', 'c3', '2026-03-02 09:30+00', '[yarn.io/gpu=1]', 'feed');
	INSERT INTO yquota.container_event (event, container_id, occurred_at, exit_status, source)
	SELECT 'CONTAINER_FINISH', format('c%s', number), '2026-03-02 09:50+00', 0, 'feed' FROM generate_series(2, 20, 2) AS number;
	SELECT yquota.quota_compute();
	SELECT yquota.seal_history();
	CREATE TABLE archived_charge (LIKE yquota.charge);
	CREATE TABLE archived_event (LIKE yquota.container_event);
	SELECT set_clock FROM yquota.set_clock('2026-03-02 11:00+00');
	SELECT count(*) FROM yquota.archive('archived_charge', '2026-03-02 10:30+00');
	SELECT count(*) FROM yquota.archive('archived_event', '2026-03-02 10:30+00');
	-- late, and so corrected
	INSERT INTO yquota.container_event (event, container_id, occurred_at, queue, source)
	VALUES ('CONTAINER_UPDATE', 'c5', '2026-03-02 10:45+00', 'root.a', 'feed'), ('CONTAINER_FINISH', 'c7', '2026-03-02 10:50+00', NULL, 'feed');
	INSERT INTO yquota.container_event (event, container_id, occurred_at, queue, source)
	VALUES ('CONTAINER_UPDATE', 'c7', '2026-03-02 10:40+00', 'root.a', 'feed');
	SELECT yquota.report_outage('2026-03-02 10:50+00', '2026-03-02 10:55+00', 'all');
	SELECT yquota.report_outage('2026-03-02 10:52+00', '2026-03-02 10:57+00', 'ours', 'ops');
	-- set aside, to wait and for good
	SET yquota.on_bad_event = set_aside;
	INSERT INTO yquota.container_event (event, container_id, occurred_at, source)
	VALUES ('CONTAINER_FINISH', 'c90', '2026-03-02 10:58+00', 'feed');
	INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation, source)
	VALUES ('CONTAINER_START', 'c91', '2026-03-02 10:30+00', 'nobody', '[vcores=1]', 'feed');
	SELECT yquota.seal_history();
	SQL

# Whoever sends events does so by INSERT and COPY.
sub feed
{
	my ($number) = @_;
	my ($now, $soon) = ("2026-03-02 11:0$number:00+00", "2026-03-02 11:0$number:30+00");
	my $file = PostgreSQL::Test::Utils::tempdir . "/feed";

	append_to_file($file, <<~COPY);
		CONTAINER_START\te$number\t$now\tops\troot.b\t[vcores=2,yarn.io/gpu=1]\tfeed
		CONTAINER_UPDATE\te$number\t$soon\t\\N\t\\N\t[vcores=7]\tfeed
		CONTAINER_FINISH\tc${\ ($number + 20)}\t$soon\t\\N\t\\N\t\\N\tfeed
		COPY
	return <<~SQL;
		INSERT INTO yquota.container_event (event, container_id, occurred_at, project, queue, node, allocation, source)
		VALUES ('CONTAINER_START', 'd$number', '$now', 'lab', 'root.a', 'n1', '[memory-mb=3000,vcores=1]', 'feed');
		COPY yquota.container_event (event, container_id, occurred_at, project, queue, allocation, source) FROM '$file';
		SQL
}

my $finish = <<~'SQL';
	INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation)
	VALUES ('CONTAINER_START', 'c90', '2026-03-02 10:35+00', 'ops', '[vcores=2]');
	SELECT yquota.set_clock('2026-03-02 12:00+00');
	INSERT INTO yquota.container_event (event, container_id, occurred_at)
	SELECT 'CONTAINER_FINISH', container_id, '2026-03-02 11:45+00' FROM yquota.container;
	SELECT yquota.quota_compute();
	SQL

# What people see of the books; columns that come later do not count.
my @views = qw(project_balance container_cost daily_cost queue_usage node_usage project_usage current_price);

# Releases tell of no day that was archived, be it in part.  All know history_stretch.
my %told_by_all = (daily_cost => 'WHERE day > (SELECT max(horizon)::date FROM yquota.history_stretch)');

sub columns_of
{
	my ($database) = @_;

	return { map { $_ => $node->safe_psql($database, <<~SQL) } @views };
		SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) FROM pg_attribute
		WHERE attrelid = 'yquota.$_'::regclass AND attnum > 0 AND NOT attisdropped
		SQL
}

sub shown
{
	my ($database, $columns) = @_;

	return {
		map {
			my $condition = $told_by_all{$_} // '';
			$_ => $node->safe_psql($database, "SELECT t::text FROM (SELECT $columns->{$_} FROM yquota.$_ $condition) AS t ORDER BY 1")
		} @views
	};
}

sub amounts
{
	my ($database) = @_;

	return $node->safe_psql($database, <<~'SQL');
		SELECT project, charged FROM yquota.project_balance ORDER BY 1;
		SELECT container_id, sum(amount), max("to") FROM yquota.charge GROUP BY container_id ORDER BY container_id;
		SQL
}

sub is_proven
{
	my ($database, $name) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is($node->safe_psql($database, 'SELECT * FROM yquota.verify()'), '', $name);
	return;
}

#
# A server whose library can be replaced
#

my $library_directory;

# The programs, with a directory of libraries of its own in which the release's
# library stands.  A server finds its files by where its program lies.
sub server_with_library
{
	my ($version, $library) = @_;
	my $programs = dirname(`which postgres`);
	my ($bindir, $pkglibdir, $sharedir) = map { chomp(my $d = `$ENV{PG_CONFIG} --$_`); $d } qw(bindir pkglibdir sharedir);
	my ($root) = $programs =~ /^(.*)\Q$bindir\E$/ or return;
	my $own = PostgreSQL::Test::Utils::tempdir . "/$version";

	system_or_bail('mkdir', '-p', map { "$own$_" } $bindir, $pkglibdir, dirname($sharedir));
	system_or_bail('cp', "$programs/postgres", "$programs/pg_ctl", "$own$bindir");
	symlink("$root$sharedir", "$own$sharedir") or die "could not make link: $!";
	foreach my $file (glob("$programs/*"), glob("$root$pkglibdir/*"))
	{
		(my $link = $file) =~ s/^\Q$root\E/$own/;
		symlink($file, $link) unless -e $link || basename($file) eq 'yquota.so';
	}
	$library_directory = "$own$pkglibdir";
	copy($library, "$library_directory/yquota.so") or die "could not copy \"$library\": $!";
	return dirname("$own$bindir");
}

# As "make install" does: another file under the name.
sub replace_library
{
	my ($library) = @_;

	copy($library, "$library_directory/yquota.so.new") or die "could not copy \"$library\": $!";
	rename("$library_directory/yquota.so.new", "$library_directory/yquota.so") or die "could not rename: $!";
	return;
}

# INSERTs and COPY by a session that stays open.
sub feed_by
{
	my ($session, $number) = @_;

	$session->query_safe(feed($number));
	return;
}

sub new_library
{
	my $programs = dirname(`which postgres`);
	my ($bindir, $pkglibdir) = map { chomp(my $d = `$ENV{PG_CONFIG} --$_`); $d } qw(bindir pkglibdir);

	return "$1$pkglibdir/yquota.so" if $programs =~ /^(.*)\Q$bindir\E$/;
	return;
}

# Work that only some releases can do; later ones can, too.
my %more = ('0.2.0' => <<~'SQL');
	SELECT settled > 0, closed_at FROM yquota.close_period('2026-03-02 10:40+00');
	INSERT INTO yquota.project (name, parent) VALUES ('kid', 'lab');
	INSERT INTO yquota.quota_grant (project, amount, reason, kind, expires_at) VALUES
		('ops', 1000, 'to be lost', 'grant', '2026-03-02 10:59+00'), ('lab', -5, 'back', 'refund', 'infinity');
	SELECT yquota.hold('lab', 'app', 100, '1 day');
	-- what is settled late corrects the closed period
	INSERT INTO yquota.container_event (event, container_id, occurred_at, queue, source)
	VALUES ('CONTAINER_UPDATE', 'c9', '2026-03-02 10:35+00', 'root.b', 'feed');
	RESET yquota.on_bad_event;
	-- events sent again, changed by a START, and voided, while the clock stands still and when it goes on
	INSERT INTO yquota.container_event (event, container_id, occurred_at, project, queue, allocation) VALUES
		('CONTAINER_START', 'v1', '2026-03-02 10:50+00', 'lab', 'root.a', '[vcores=1]'),
		('CONTAINER_START', 'v2', '2026-03-02 10:50+00', 'lab', 'root.a', '[vcores=1]'),
		('CONTAINER_START', 'v3', '2026-03-02 10:50+00', 'lab', 'root.a', '[vcores=1]');
	INSERT INTO yquota.container_event (event, container_id, occurred_at, allocation)
	SELECT 'CONTAINER_UPDATE', id, '2026-03-02 10:55+00', '[vcores=2]' FROM unnest('{v1,v2,v3}'::text[]) AS id, generate_series(1, 2);
	SELECT container_id FROM yquota.void_events('v1', 'wrong') UNION SELECT container_id FROM yquota.void_events('v2', 'wrong');
	INSERT INTO yquota.container_event (event, container_id, occurred_at, project, queue, allocation) VALUES
		('CONTAINER_START', 'v2', '2026-03-02 10:51+00', 'ops', 'root.b', '[vcores=1]'),
		('CONTAINER_START', 'v2', '2026-03-02 10:51+00', 'ops', 'root.a', '[vcores=1]'),
		('CONTAINER_START', 'v3', '2026-03-02 10:50+00', 'lab', 'root.b', '[vcores=1]'),
		('CONTAINER_START', 'v3', '2026-03-02 10:50+00', 'lab', 'root.c', '[vcores=5]');
	SELECT yquota.set_clock(yquota.clock() + interval '1 second');
	INSERT INTO yquota.container_event (event, container_id, occurred_at, project, queue, allocation) VALUES
		('CONTAINER_START', 'v1', '2026-03-02 10:52+00', 'ops', 'root.b', '[vcores=1]'),
		('CONTAINER_START', 'v3', '2026-03-02 10:50+00', 'lab', 'root.c', '[vcores=5]');
	SELECT yquota.set_clock(yquota.clock() - interval '1 second');
	SELECT yquota.seal_history();
	SELECT yquota.set_clock('2026-03-02 11:01+00');
	CREATE TABLE archived_later (LIKE yquota.charge);
	SELECT count(*) FROM yquota.archive('archived_later', '2026-03-02 10:45+00');
	SQL

# The error of a session that meets objects of another version than its library.
my $refusal = qr/55000: SQL objects of extension "yquota" are of another version than its library\n.*HINT:  Run ALTER EXTENSION yquota UPDATE/s;

sub is_refused
{
	my ($query, $name) = @_;
	my ($status, $output, $errors) = $node->psql('used', "\\set VERBOSITY verbose\n$query");

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	like($errors, $refusal, $name);
	return;
}

sub test_release
{
	my ($version) = @_;
	my $library = ($ENV{YQUOTA_RELEASES} // '') . "/$version/yquota.so";
	my $install_path = -e $library ? server_with_library($version, $library) : undef;
	(my $name = $version) =~ s/\./_/g;

	$node = PostgreSQL::Test::Cluster->new("release_$name", defined $install_path ? (install_path => $install_path) : ());
	$node->init;
	$node->append_conf('postgresql.conf', <<~'CONF');
		fsync = off
		max_worker_processes = 16
		yquota.outage_policy = 'charge'
		CONF
	$node->start;
  SKIP:
	{
		skip "no library of release $version", 14 unless defined $install_path;
		test_work($version);
	}

	create('fresh') unless defined $install_path;
	my $fresh = catalog_of('fresh');

	create('untouched', $version);
	$node->safe_psql('untouched', 'ALTER EXTENSION yquota UPDATE');
	is_like_new($fresh, 'untouched', "$version: untouched and updated, the catalog is that of a new installation");
	is(shipped_rows('untouched'), shipped_rows('fresh'), "$version: the shipped rows are those of a new installation");
	test_refund($version) if exists $more{$version};
	test_preemption($version) if exists $more{$version};
	test_settings_of_server($version);
	test_comparison($fresh) if $version eq $releases[0];
	$node->stop;
	return;
}

# Refunds of a sub-project without credit of its own were credit that it lost, and are its parent's.
sub test_refund
{
	my ($version) = @_;

	create('refunded', $version);
	$node->safe_psql('refunded', <<~'SQL');
		SET session_replication_role = replica;
		INSERT INTO yquota.project (name, parent) VALUES ('head', NULL), ('part', 'head');
		INSERT INTO yquota_internal.project_family (ancestor, member, depth) VALUES ('head', 'part', 1);
		INSERT INTO yquota.quota_grant (project, amount, reason, kind, valid_from, expires_at, booked_at) VALUES
			('head', 100, 'own', 'grant', '2026-03-01', 'infinity', '2026-03-01'),
			('part', 7, 'back', 'refund', '2026-03-01', '2026-03-02', '2026-03-01');
		INSERT INTO yquota_internal.spending_mark (project, at, spent, taken_at) VALUES ('part', '2026-03-02', 0, '2026-03-02');
		INSERT INTO yquota.expired_grant (grant_id, project, lost, expired_at, decided_at)
		SELECT grant_id, project, amount, expires_at, expires_at FROM yquota.quota_grant WHERE project = 'part';
		SQL
	$node->safe_psql('refunded', 'ALTER EXTENSION yquota UPDATE');
	$node->safe_psql('refunded', 'SELECT yquota_internal.expire_grants(yquota.clock())');
	is($node->safe_psql('refunded', 'SELECT project, lost FROM yquota.expired_grant'), 'head|7', "$version: the parent has lost an expired refund");
	is($node->safe_psql('refunded', 'SELECT yquota_internal.expire_grants(yquota.clock())'), 0, "$version: and nothing is left to be found");
	return;
}

# An update begins neither to kill containers nor to end applications, unless it was asked for.
sub test_preemption
{
	my ($version) = @_;
	my %observes = (unset => 'NULL', wanted => 'false');

	foreach my $name (sort keys %observes)
	{
		create($name, $version);
		$node->safe_psql($name, <<~SQL);
			SET session_replication_role = replica;
			INSERT INTO yquota.scheduler_setting (scheduler_monitor_enable, preemption_observe_only, preemption_max_wait_before_kill,
				preemption_total_preemption_per_round, preemption_natural_termination_factor) VALUES (true, $observes{$name}, 0, 1, 1);
			INSERT INTO yquota.queue (path, capacity, user_limit_factor) VALUES ('root', NULL, NULL), ('root.a', '50', 10), ('root.b', '50', 10);
			INSERT INTO yquota.project (name) VALUES ('p');
			INSERT INTO yquota.application (application_id, username, queue, am_resource, priority, state, submitted_at, lifetime, expires_at)
			SELECT 'application_1_0001', 'ann', 'root.a', '[memory-mb=1024,vcores=1]', 0, 'ACTIVE', '2026-03-02 09:00+00', 60, '2026-03-02 09:01+00' WHERE '$name' = 'unset';
			SQL
		$node->safe_psql($name, 'ALTER EXTENSION yquota UPDATE');
		$node->safe_psql($name, <<~'SQL');
			SELECT yquota.set_clock('2026-03-02 10:00+00');
			INSERT INTO yquota.node (name, total) VALUES ('n', '[memory-mb=2048,vcores=2]');
			INSERT INTO yquota.container_event (event, container_id, occurred_at, project, application_id, username, queue, node, allocation)
			SELECT 'CONTAINER_START', 'container_1_0002_01_00000' || n, yquota.clock(), 'p', 'application_1_0002', 'bob', 'root.a', 'n', '[memory-mb=1024,vcores=1]'
			FROM generate_series(1, 2) AS n;
			SELECT yquota.submit_application('application_1_0003', 'cat', '{}', 'b', project => 'p', unmanaged => true);
			SELECT yquota.request_containers('application_1_0003', '[memory-mb=1024]', 1);
			SELECT count(*) FROM yquota.preempt_containers();
			SELECT yquota.set_clock('2026-03-02 10:00:01+00');
			SQL
	}
	my $settings = 'SELECT preemption_observe_only, end_expired_applications FROM yquota.scheduler_setting';
	my $alerts = q(SELECT kind, subject, cleared_at IS NULL FROM yquota.alert WHERE kind LIKE 'preemption%');
	my $round = 'SELECT outcome, container_id FROM yquota.preempt_containers()';

	is($node->safe_psql('unset', $settings), 't|f', "$version: rounds of preemption observe after the update, and applications live on");
	is($node->safe_psql('unset', $alerts), 'preemption_observes|scheduler_setting|t', "$version: which an alert tells");
	is($node->safe_psql('unset', $round), 'observed|container_1_0002_01_000002', "$version: they kill nothing");
	$node->safe_psql('unset', q(UPDATE yquota.scheduler_setting SET preemption_observe_only = false; SELECT yquota.set_clock('2026-03-02 10:00:02+00')));
	is($node->safe_psql('unset', $round), 'marked|container_1_0002_01_000002', "$version: until they are to");
	is($node->safe_psql('unset', $alerts), 'preemption_observes|scheduler_setting|f', "$version: and the alert is over");
	is($node->safe_psql('wanted', "$settings; $alerts; $round"), "f|\nkilled|container_1_0002_01_000002", "$version: where it was set, rounds kill");
	return;
}

# The interval of sealing and the expiry of allocations were parameters of the server.
sub test_settings_of_server
{
	my ($version) = @_;

	create('configured', $version);
	$node->append_conf('postgresql.conf', "yquota.seal_interval = 7d\nyquota.allocation_expiry = 90s\n");
	$node->restart;
	$node->safe_psql('configured', 'ALTER EXTENSION yquota UPDATE');
	is($node->safe_psql('configured', 'SELECT keep_months, seal_interval FROM yquota.retention_setting'), '|7 days',
		"$version: the interval of sealing is taken over");
	is($node->safe_psql('configured', 'SELECT allocation_expiry FROM yquota.scheduler_setting'), '00:01:30', "$version: so is the expiry of allocations");
	return;
}

sub test_work
{
	my ($version) = @_;
	my $work = $fill . ($more{$version} // '');

	create('used', $version);
	set_clock($node, 'used', '2026-03-02 10:00+00');
	$node->safe_psql('used', $work);
	my $columns = columns_of('used');
	my $session = $node->background_psql('used', on_error_stop => 0);

	feed_by($session, 1);
	$node->safe_psql('used', 'SELECT yquota.start_worker()');
	is_soon($node, 'used', mark() . " = yquota.clock()", "$version: a worker of the released library");
	my $before = shown('used', $columns);
	my $events = $node->safe_psql('used', 'SELECT count(*) FROM yquota.container_event');

	# The new library beside the released SQL objects
	replace_library(new_library());
	is_refused(feed(2), "$version: the new library charges nothing by the released SQL objects");
	is_refused('SELECT project, charged FROM yquota.project_balance', "$version: nor does it show a balance");
	is_refused('SELECT yquota.quota_compute()', "$version: nor compute");
	is($node->safe_psql('used', "SELECT count(*), '[vcores=1]'::yquota.resource FROM yquota.container_event"), "$events|[vcores=1]",
		"$version: events are as they were, and can be dumped");
	$node->safe_psql('postgres', 'SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE backend_type = \'yquota worker\'');
	feed_by($session, 2);

	# The update, beside a session of the released library
	$node->safe_psql('used', 'ALTER EXTENSION yquota UPDATE');
	$node->safe_psql('used', 'SELECT yquota.stop_worker()');
	$session->query(feed(3));
	like($session->{stderr}, qr/ERROR:  could not find function "yq_sql_\w+"/, "$version: a session of the released library charges nothing by the new SQL objects");
	$session->quit;
	is($node->safe_psql('used', "SELECT count(*) - $events FROM yquota.container_event"), 4, "$version: and has inserted nothing");
	$node->append_conf('postgresql.conf', "shared_preload_libraries = 'yquota'\nyquota.databases = 'used'\n");
	$node->restart;
	$node->safe_psql('used', feed($_)) foreach 3 .. 4;
	is_proven('used', "$version: the books prove themselves after the update");
	$node->safe_psql('used', 'SELECT yquota.start_worker()');
	live_through($node, 'used', 3, '1 min');
	$node->safe_psql('used', feed($_)) foreach 5 .. 7;
	$node->safe_psql('used', 'SELECT yquota.seal_history()');
	live_through($node, 'used', 2, '1 min');
	is_soon($node, 'used', "(SELECT postponed = '{}' FROM yquota.worker_status)", "$version: the worker has postponed nothing for long");
	is($node->safe_psql('used', 'SELECT state, failures, last_error FROM yquota.worker_status'), 'running|0|', "$version: the worker goes on");

	create('fresh');
	my $fresh = catalog_of('fresh');

	note(scalar keys %$fresh, ' objects and parts compared');
	is_like_new($fresh, 'used', "$version: used and updated, the catalog is that of a new installation");

	# The same work with this version alone
	create('alone');
	set_clock($node, 'alone', '2026-03-02 10:00+00');
	$node->safe_psql('alone', $work);
	$node->safe_psql('alone', feed(1));
	$node->safe_psql('alone', 'SELECT yquota.quota_compute()');
	is_deeply(shown('alone', $columns), $before, "$version: amounts before the update are those of this version");
	set_clock($node, 'alone', '2026-03-02 11:06+00');
	$node->safe_psql('alone', feed($_)) foreach 2 .. 7;
	$node->safe_psql($_, $finish) foreach qw(used alone);
	is(amounts('used'), amounts('alone'), "$version: every amount is what this version alone makes it");
	is_proven('used', "$version: the books prove themselves in the end");
	my @archived_days = map { $node->safe_psql($_, 'SELECT * FROM yquota.daily_cost ORDER BY day, project, username, queue') } qw(used alone);
	is($archived_days[0], $version eq '0.1.0' ? '' : $archived_days[1], "$version: archived days are told of if their costs were kept");
	isnt($archived_days[1], '', "$version: and are by this version");
	like(amounts('used'), qr/^lab\|\d+\.\d+$/m, "$version: and there are amounts");
	return;
}

#
# The comparison: what it must notice, and in what
#

my @changes = (
	[ 'a column', 'ALTER TABLE yquota.project ADD COLUMN extra text', 'column yquota.project.extra' ],
	[ 'a type of a column', 'ALTER TABLE yquota_internal.discarded_event ALTER COLUMN source TYPE varchar', 'column yquota_internal.discarded_event.source' ],
	[ 'a default', 'ALTER TABLE yquota.project ALTER COLUMN quota_mode DROP DEFAULT', 'column yquota.project.quota_mode' ],
	[ 'not null', 'ALTER TABLE yquota.event_reject ALTER COLUMN reason DROP NOT NULL', 'column yquota.event_reject.reason' ],
	[ 'storage', 'ALTER TABLE yquota_internal.running_total ALTER COLUMN weights SET STORAGE EXTENDED', 'column yquota_internal.running_total.weights' ],
	[ 'options of a table', 'ALTER TABLE yquota.project SET (fillfactor = 70)', 'relation yquota.project' ],
	[ 'a constraint', 'ALTER TABLE yquota.outage DROP CONSTRAINT outage_check', 'constraint outage_check of yquota.outage' ],
	[ 'an index', 'DROP INDEX yquota.charge_time_idx', 'index yquota.charge_time_idx' ],
	[ 'a trigger', 'DROP TRIGGER keep ON yquota.project', 'trigger keep on yquota.project' ],
	[ 'a trigger that is off', 'ALTER TABLE yquota.project DISABLE TRIGGER keep', 'trigger keep on yquota.project' ],
	[ 'a body', q(UPDATE pg_proc SET prosrc = prosrc || ' ' WHERE oid = 'yquota.stop_worker()'::regprocedure), 'function yquota.stop_worker()' ],
	[ 'a symbol', q(UPDATE pg_proc SET prosrc = 'yq_sql_rate' WHERE oid = 'yquota.clock()'::regprocedure), 'function yquota.clock()' ],
	[ 'a label', 'ALTER FUNCTION yquota.clock() PARALLEL UNSAFE', 'function yquota.clock()' ],
	[ 'a setting of a function', 'ALTER FUNCTION yquota.stop_worker() RESET search_path', 'function yquota.stop_worker()' ],
	[ 'a right', 'GRANT EXECUTE ON FUNCTION yquota.stop_worker() TO PUBLIC', 'function yquota.stop_worker()' ],
	[ 'a right that a dump knows', q(DELETE FROM pg_init_privs WHERE objoid = 'yquota.stop_worker()'::regprocedure), 'function yquota.stop_worker()' ],
	[ 'a right on a view', 'REVOKE SELECT ON yquota.worker_status FROM pg_monitor', 'relation yquota.worker_status' ],
	[ 'a right on a column', 'GRANT SELECT (name) ON yquota.project TO pg_monitor', 'column yquota.project.name' ],
	[ 'a comment', 'COMMENT ON COLUMN yquota.charge.amount IS NULL', 'column yquota.charge.amount' ],
	[ 'a view', q(CREATE OR REPLACE VIEW yquota_internal.valid_reference AS SELECT reference_at FROM yquota_internal.running_reference), 'relation yquota_internal.valid_reference' ],
	[ 'a label of an enum', q(ALTER TYPE yquota.queue_state RENAME VALUE 'DRAINING' TO 'DRAINED'), 'type yquota.queue_state' ],
	[ 'a dump mark', q(UPDATE pg_extension SET extconfig = extconfig[2:], extcondition = extcondition[2:] WHERE extname = 'yquota'), 'dump mark ' ],
	[ 'a condition of a dump mark', q(UPDATE pg_extension SET extcondition[1] = 'WHERE false' WHERE extname = 'yquota'), 'dump mark ' ],
	[ 'row-level security', 'ALTER TABLE yquota.price FORCE ROW LEVEL SECURITY', 'relation yquota.price' ],
	[ 'a policy', 'CREATE POLICY all_rows ON yquota.project USING (true)', 'policy all_rows on yquota.project' ],
	[ 'a sequence', 'ALTER SEQUENCE yquota.outage_outage_id_seq INCREMENT 2', 'sequence yquota.outage_outage_id_seq' ],
	[ 'an operator', q(ALTER OPERATOR yquota.=(yquota.resource, yquota.resource) SET (JOIN = NONE)), 'operator yquota.=(yquota.resource,yquota.resource)' ],
	[ 'an event trigger', 'ALTER EVENT TRIGGER yquota_wake_worker_on_drop DISABLE', 'event trigger yquota_wake_worker_on_drop' ],
	[ 'an object that is no member', 'ALTER EXTENSION yquota DROP FUNCTION yquota.stop_worker()', 'function yquota.stop_worker()' ],
	[ 'an owner', 'ALTER TABLE yquota.project OWNER TO pg_monitor', 'relation yquota.project' ]);

sub test_comparison
{
	my ($fresh) = @_;

	foreach my $change (@changes)
	{
		my ($name, $command, $object) = @$change;
		my @told = grep { /^\S/ } differences($fresh, catalog_of('fresh', $command));
		my @about = grep { /: \Q$object\E/ } @told;

		ok(@about > 0, "noticed: $name") or diag("told: @told");
	}
	return;
}

test_release($_) foreach @releases;
ok(@releases > 0, scalar(@releases) . ' releases updated');
note(scalar(@changes), ' kinds of difference noticed');
done_testing();
