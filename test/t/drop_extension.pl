# DROP EXTENSION leaves nothing of yquota behind. It is refused while a user's object depends on the extension, and
# CASCADE also drops that object. A running worker leaves without an error, whether the launcher or a call started
# it. It comes back for a new installation, which begins like the first one. The comparison of the two installations
# notices any difference.

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

# All objects of yquota in a database, in all catalogs.
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

# Do work that leaves rows everywhere, and seal a segment of history
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

# Return psql's answer to the catalog query, with record separators that occur in no text.
sub catalog_of
{
	my ($database, $change) = @_;
	my $rows = $node->safe_psql($database, ($change ? "BEGIN; $change;" : '') . catalog_query() . ($change ? '; ROLLBACK' : ''),
		extra_params => [ '-F', "\x1f", '-R', "\x1e" ]);

	return { map { split /\x1f/, $_, 2 } split /\x1e/, $rows };
}

# Changes that the comparison must notice, and the places of the differences
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

$node->safe_psql('postgres', "CREATE DATABASE $_ TEMPLATE template0") foreach @databases;
my %before = map { $_ => $node->safe_psql($_, $leftovers) } @databases;
my %catalog;

foreach my $database (@databases)
{
	is($before{$database}, '', "$database: before CREATE EXTENSION the catalog has nothing of yquota");
	create($database, '2026-03-02 10:00+00');
	isnt($node->safe_psql($database, $leftovers), '', "$database: after CREATE EXTENSION the catalog has its objects");
	$catalog{$database} = catalog_of($database);
	work($database, 0);

	# Objects of a user: a view, a table with a column of a type, and a function that uses a type
	$node->safe_psql($database, <<~'SQL');
		CREATE VIEW public.dear AS SELECT project, remaining FROM yquota.project_balance WHERE remaining < 0;
		CREATE TABLE public.wish (name text, allocation yquota.resource);
		INSERT INTO public.wish VALUES ('a', '[vcores=3]');
		SQL
	is_refused($database, 'DROP EXTENSION yquota', 'view dear depends on view yquota.project_balance', "$database: DROP is refused because a view depends on the extension");
	is_refused($database, 'DROP EXTENSION yquota RESTRICT', 'column allocation of table wish depends on type yquota.resource', "$database: DROP is refused because a column depends on the extension");
	isnt(worker_pid($node, $database), '', "$database: the worker runs on after a refusal");
	is($node->safe_psql($database, 'SELECT * FROM yquota.verify()'), '', "$database: a refused DROP changes nothing");
	$node->safe_psql($database, 'BEGIN; DROP EXTENSION yquota CASCADE; ROLLBACK');
	set_clock($node, $database, '2026-03-02 10:01+00');
	is_soon($node, $database, mark() . " = '2026-03-02 10:01+00'", "$database: after a DROP that was rolled back the worker goes on");
	$node->safe_psql($database, 'DROP VIEW public.dear; DROP TABLE public.wish');
	$node->safe_psql($database, 'DROP EXTENSION yquota');
	has_left($database);
	is($node->safe_psql($database, $leftovers), '', "$database: DROP without CASCADE leaves nothing behind");

	# Sealed history depends on the extension, so CASCADE drops it together with the user's objects.
	create($database, '2026-03-03 10:00+00');
	work($database, 1);
	$node->safe_psql($database, <<~'SQL');
		CREATE VIEW public.dear AS SELECT project, remaining FROM yquota.project_balance WHERE remaining < 0;
		CREATE TABLE public.wish (name text, allocation yquota.resource);
		SQL
	is_refused($database, 'DROP EXTENSION yquota', 'table yquota_internal.charge_sealed_1', "$database: DROP is refused because history has been sealed");
	$node->safe_psql($database, 'DROP EXTENSION yquota CASCADE');
	has_left($database);
	is( $node->safe_psql($database, "SELECT count(*) FROM pg_class WHERE relname = 'dear'; SELECT attname FROM pg_attribute WHERE attrelid = 'wish'::regclass AND attnum > 0 AND NOT attisdropped"),
		"0\nname", "$database: CASCADE drops the view and the column, not the table");
	$node->safe_psql($database, 'DROP TABLE public.wish');
	is($node->safe_psql($database, $leftovers), '', "$database: CASCADE leaves nothing behind");

	# The extension is created again, as if for the first time
	create($database, '2026-03-04 10:00+00');
	is(join("\n", differences($catalog{$database}, catalog_of($database))), '', "$database: after a second CREATE EXTENSION the catalog is as it was");
	is($node->safe_psql($database, 'SELECT count(*) FROM yquota.outage'), 0, "$database: the time without the extension is no outage");
	work($database, 1);
	is($node->safe_psql($database, 'SELECT * FROM yquota.verify()'), '', "$database: the new books prove themselves");
}

foreach my $change (@changes)
{
	my ($name, $command, $object) = @$change;
	my @told = grep { /^\S/ } differences($catalog{listed}, catalog_of('listed', $command));

	ok((grep { /: \Q$object\E/ } @told) > 0, "noticed: $name") or diag("told: @told");
}

# Sessions that have cached the old tables must use the new ones.
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
is($session->query_safe('SELECT accrued, burn_rate FROM yquota.project_balance'), '0|1', 'the session charges in the new extension');
$session->quit;
is($node->safe_psql('by_hand', 'SELECT * FROM yquota.verify()'), '', 'the new books prove themselves');

# The database is dropped, too, and the launcher continues.
$node->safe_psql('postgres', 'DROP DATABASE listed');
has_left('listed');
$node->safe_psql('postgres', 'CREATE DATABASE listed TEMPLATE template0');
create('listed', '2026-03-06 10:00+00');

is(count_in_log($node, 'CONTEXT:  yquota worker of database'), 0, 'no worker logged an error');
is(count_in_log($node, 'terminated by signal|PANIC|TRAP'), 0, 'no server process crashed');
$node->stop;
done_testing();
