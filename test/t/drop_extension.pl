# DROP EXTENSION leaves nothing of yquota behind and is refused while anything
# of the user's own hangs on it; CASCADE drops that, too.  A worker that runs
# meanwhile leaves, whether a launcher or somebody's call started it, without an
# error, and comes back for a new installation, which begins like the first one.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use Catalog;
use PostgreSQL::Test::Utils;
use Test::More;
use WorkerNode;

my $node = new_node('drop_extension', "shared_preload_libraries = 'yquota'", "yquota.databases = 'listed'", 'max_worker_processes = 16');
my @databases = qw(listed by_hand);

# What of yquota is in a database, wherever the catalogs keep it.
my $leftovers = <<~'SQL';
	SELECT 'schema', nspname FROM pg_namespace WHERE nspname ~ 'yquota'
	UNION ALL SELECT 'extension', extname FROM pg_extension WHERE extname = 'yquota'
	UNION ALL SELECT 'function', proname FROM pg_proc WHERE probin ~ 'yquota' OR prosrc ~ 'yquota'
	UNION ALL SELECT 'event trigger', evtname FROM pg_event_trigger
	UNION ALL SELECT 'cast', castsource::regtype::text FROM pg_cast WHERE oid >= 16384
	UNION ALL SELECT 'relation', relname FROM pg_class WHERE oid >= 16384 AND relnamespace <> 'pg_toast'::regnamespace
	UNION ALL SELECT 'relation of TOAST', relname FROM pg_class WHERE oid >= 16384 AND relnamespace = 'pg_toast'::regnamespace
	UNION ALL SELECT 'type', typname FROM pg_type WHERE oid >= 16384
	UNION ALL SELECT 'dependency', pg_describe_object(classid, objid, objsubid) FROM pg_depend WHERE objid >= 16384 OR refobjid >= 16384
	UNION ALL SELECT 'initial right', classoid::regclass::text FROM pg_init_privs WHERE objoid >= 16384
	UNION ALL SELECT 'comment', description FROM pg_description WHERE objoid >= 16384
	UNION ALL SELECT 'lock', locktype FROM pg_locks WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
	UNION ALL SELECT 'setting', setconfig::text FROM pg_db_role_setting
	SQL

sub create
{
	my ($database, $at) = @_;

	start_at($node, $database, $at);
	$node->safe_psql($database, 'SELECT yquota.start_worker()') if $database eq 'by_hand';
	is_soon($node, $database, mark() . " = '$at'", "$database: a worker runs");
	return;
}

# Work enough that something is everywhere, and a segment of sealed history
sub work
{
	my ($database, $seal) = @_;

	$node->safe_psql($database, <<~'SQL' . ($seal ? 'SELECT yquota.seal_history()' : ''));
		INSERT INTO yquota.project (name) VALUES ('lab');
		INSERT INTO yquota.node (name, total) VALUES ('n1', '[vcores=64]');
		INSERT INTO yquota.quota_grant (project, amount, reason) VALUES ('lab', 100, 'a');
		INSERT INTO yquota.container_event (event, container_id, occurred_at, project, node, allocation)
		SELECT 'CONTAINER_START', format('c%s', number), yquota.clock() - interval '1 h', 'lab', 'n1', '[vcores=1]' FROM generate_series(1, 20) AS number;
		INSERT INTO yquota.container_event (event, container_id, occurred_at)
		SELECT 'CONTAINER_FINISH', format('c%s', number), yquota.clock() FROM generate_series(1, 10) AS number;
		SELECT yquota.quota_compute();
		SQL
	is($node->safe_psql($database, 'SELECT count(*), sum(amount) FROM yquota.charge'), '10|36000', "$database: work is charged");
	return;
}

sub is_refused
{
	my ($database, $command, $dependent, $name) = @_;
	my ($code, $out, $error) = $node->psql($database, $command);

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	like($error, qr/cannot drop extension yquota because other objects depend on it\n.*\Q$dependent\E/s, $name);
	return;
}

sub has_left
{
	my ($database) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	ok( $node->poll_query_until('postgres', "SELECT count(*) = 0 FROM pg_stat_activity WHERE backend_type = 'yquota worker' AND datname = '$database'"),
		"$database: the worker has left");
	return;
}

$node->safe_psql('postgres', "CREATE DATABASE $_ TEMPLATE template0") foreach @databases;
my %before = map { $_ => $node->safe_psql($_, $leftovers) } @databases;
my %catalog;

foreach my $database (@databases)
{
	is($before{$database}, '', "$database: nothing of yquota before it is created");
	create($database, '2026-03-02 10:00+00');
	isnt($node->safe_psql($database, $leftovers), '', "$database: much of it after");
	$catalog{$database} = $node->safe_psql($database, catalog_query());
	work($database, 0);

	# Of the user's own: a view, a column of a type, a function that uses one
	$node->safe_psql($database, <<~'SQL');
		CREATE VIEW public.dear AS SELECT project, remaining FROM yquota.project_balance WHERE remaining < 0;
		CREATE TABLE public.wish (name text, allocation yquota.resource);
		INSERT INTO public.wish VALUES ('a', '[vcores=3]');
		SQL
	is_refused($database, 'DROP EXTENSION yquota', 'view dear depends on view yquota.project_balance', "$database: refused, a view depends on it");
	is_refused($database, 'DROP EXTENSION yquota RESTRICT', 'column allocation of table wish depends on type yquota.resource', "$database: and a column");
	isnt(worker_pid($node, $database), '', "$database: the worker runs on after a refusal");
	is($node->safe_psql($database, 'SELECT * FROM yquota.verify()'), '', "$database: as if nothing had been tried");
	$node->safe_psql($database, 'BEGIN; DROP EXTENSION yquota CASCADE; ROLLBACK');
	set_clock($node, $database, '2026-03-02 10:01+00');
	is_soon($node, $database, mark() . " = '2026-03-02 10:01+00'", "$database: nor does a drop that is rolled back keep the worker from its work");
	$node->safe_psql($database, 'DROP VIEW public.dear; DROP TABLE public.wish');
	$node->safe_psql($database, 'DROP EXTENSION yquota');
	has_left($database);
	is($node->safe_psql($database, $leftovers), '', "$database: nothing is left without CASCADE");

	# Sealed history hangs on the extension; CASCADE takes it and what is the user's.
	create($database, '2026-03-03 10:00+00');
	work($database, 1);
	$node->safe_psql($database, <<~'SQL');
		CREATE VIEW public.dear AS SELECT project, remaining FROM yquota.project_balance WHERE remaining < 0;
		CREATE TABLE public.wish (name text, allocation yquota.resource);
		SQL
	is_refused($database, 'DROP EXTENSION yquota', 'table yquota_internal.charge_sealed_1', "$database: refused, history has been sealed");
	$node->safe_psql($database, 'DROP EXTENSION yquota CASCADE');
	has_left($database);
	is( $node->safe_psql($database, "SELECT count(*) FROM pg_class WHERE relname = 'dear'; SELECT attname FROM pg_attribute WHERE attrelid = 'wish'::regclass AND attnum > 0 AND NOT attisdropped"),
		"0\nname", "$database: CASCADE drops the view and the column, not the table");
	$node->safe_psql($database, 'DROP TABLE public.wish');
	is($node->safe_psql($database, $leftovers), '', "$database: nothing is left with CASCADE");

	# And again, as if it were the first time
	create($database, '2026-03-04 10:00+00');
	is($node->safe_psql($database, catalog_query()), $catalog{$database}, "$database: created again, the catalog is as it was");
	is($node->safe_psql($database, 'SELECT count(*) FROM yquota.outage'), 0, "$database: the time between is no outage");
	work($database, 1);
	is($node->safe_psql($database, 'SELECT * FROM yquota.verify()'), '', "$database: the new books prove themselves");
}

# Sessions that know the old tables meet the new ones.
my $session = $node->background_psql('by_hand', on_error_stop => 0);
my $start = q(INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES ('CONTAINER_START', 's1', yquota.clock(), 'lab', '[vcores=1]'));

$session->query_safe($start);
$session->query_safe('SELECT accrued FROM yquota.project_balance');
$node->safe_psql('by_hand', 'DROP EXTENSION yquota CASCADE');
has_left('by_hand');
my ($out, $failed) = $session->query($start);
ok($failed, 'an open session cannot charge without the extension');
$session->{stderr} = '';
start_at($node, 'by_hand', '2026-03-05 10:00+00');
$node->safe_psql('by_hand', "INSERT INTO yquota.project (name) VALUES ('lab')");
$session->query_safe($start);
is($session->query_safe('SELECT accrued, burn_rate FROM yquota.project_balance'), '0|1', 'and charges in the new one');
$session->quit;
is($node->safe_psql('by_hand', 'SELECT * FROM yquota.verify()'), '', 'whose books prove themselves');

# The database goes, too, and the launcher gets over it.
$node->safe_psql('postgres', 'DROP DATABASE listed');
has_left('listed');
$node->safe_psql('postgres', 'CREATE DATABASE listed TEMPLATE template0');
create('listed', '2026-03-06 10:00+00');

is(count_in_log($node, 'CONTEXT:  yquota worker of database'), 0, 'no worker told of an error');
is(count_in_log($node, 'terminated by signal|PANIC|TRAP'), 0, 'no process crashed');
$node->stop;
done_testing();
