# History is sealed and archived: while other sessions insert, across a crash, on a standby that is
# promoted, through dumps, and by the worker.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use WorkerNode;

my $primary = new_node('primary', 'autovacuum = off');
my $standby = PostgreSQL::Test::Cluster->new('standby');
my $minimal = PostgreSQL::Test::Cluster->new('minimal');

# Return all reports about the books, after a test that verify() finds no fault.
sub told
{
	my ($node, $database) = @_;

	return $node->safe_psql($database // 'postgres', <<~'SQL');
		SELECT count(*), sum(amount), md5(string_agg(c::text, ' ' ORDER BY container_id, number)) FROM yquota.charge AS c;
		SELECT count(*), md5(string_agg(e::text, ' ' ORDER BY container_id, occurred_at, event, recorded_at)) FROM yquota.container_event AS e;
		SELECT project, charged, accrued FROM yquota.project_balance ORDER BY project;
		SELECT number, ledger_table, log_table, charges, events, horizon FROM yquota.history_segment ORDER BY number;
		SELECT * FROM yquota.opening_balance ORDER BY 1, 2;
		SELECT 'wrong', * FROM yquota.verify();
		SQL
}

sub is_right
{
	my ($node, $name) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is($node->safe_psql('postgres', 'SELECT * FROM yquota.verify()'), '', "$name: the books prove themselves");
	return;
}

# The function start(NODE, NAME, COUNT) starts containers whose queue name is so long that it is stored out of
# line. The function finish(NODE, NAME, CONDITION) ends the containers whose number meets a condition.
sub start
{
	my ($node, $name, $count) = @_;

	$node->safe_psql('postgres', <<~"SQL");
		INSERT INTO yquota.container_event (event, container_id, occurred_at, project, queue, allocation)
		SELECT 'CONTAINER_START', '$name' || i, yquota.clock() - interval '1 hour', 'lab',
			   (SELECT left(string_agg(md5(i::text || j), ''), 2000) FROM generate_series(1, 63) AS j), '[vcores=1]'
		FROM generate_series(1, $count) AS i;
		INSERT INTO yquota.container_event (event, container_id, occurred_at, allocation)
		VALUES ('CONTAINER_UPDATE', '${name}1', yquota.clock() - interval '30 minutes', '[vcores=2]');
		SQL
	return;
}

sub finish
{
	my ($node, $name, $condition) = @_;

	$node->safe_psql('postgres', <<~"SQL");
		INSERT INTO yquota.container_event (event, container_id, occurred_at)
		SELECT 'CONTAINER_FINISH', container_id, yquota.clock() - interval '10 minutes'
		FROM (SELECT container_id, substr(container_id, length('$name') + 1) AS digits
			  FROM yquota.container WHERE container_id LIKE '$name%') AS c
		WHERE digits ~ '^[0-9]+\$' AND digits::integer $condition;
		SQL
	return;
}

sub archive
{
	my ($node, $database) = @_;

	return $node->safe_psql($database // 'postgres', <<~'SQL');
		SELECT segments, archived FROM yquota.archive('ledger', 'infinity');
		SELECT segments, archived FROM yquota.archive('log', 'infinity');
		SQL
}

# The pages of the filter of sealed history, and whether the filter is complete.
my $filter_state = <<~'SQL';
	SELECT pg_relation_size('yquota_internal.charge_filter') / current_setting('block_size')::integer, yquota_internal.is_bloom_filter_complete()
	SQL

#
# Archive while other sessions insert. No statement may fail, and no event may be lost.
#
start_at($primary, 'postgres', '2026-03-02 10:00+00');
$primary->safe_psql('postgres', <<~'SQL');
	INSERT INTO yquota.project (name) VALUES ('lab');
	CREATE SEQUENCE number;
	CREATE TABLE ledger (LIKE yquota.charge);
	CREATE TABLE log (LIKE yquota.container_event);
	SQL
my $life = PostgreSQL::Test::Utils::tempdir . '/life.sql';

append_to_file($life, <<~'SQL');
	SELECT nextval('number') AS number \gset
	INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation)
	VALUES ('CONTAINER_START', 'life' || :number, '2026-03-02 09:00+00', 'lab', '[vcores=1]');
	INSERT INTO yquota.container_event (event, container_id, occurred_at)
	VALUES ('CONTAINER_FINISH', 'life' || :number, '2026-03-02 09:00:01+00');
	-- once more: it is known, wherever it is by now
	INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation)
	VALUES ('CONTAINER_START', 'life' || :number, '2026-03-02 09:00+00', 'lab', '[vcores=1]');
	SQL
my ($out, $error) = ('', '');
my $clients = IPC::Run::start(
	[ 'pgbench', '-n', '-c', '4', '-R', '250', '-t', '250', '-f', $life, $primary->connstr('postgres') ],
	'>', \$out, '2>', \$error);
# This transaction begins before the seal, and inserts after it
my $earlier = $primary->background_psql('postgres');

$earlier->query('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM yquota.project');
foreach my $segment (1 .. 5)
{
	$primary->poll_query_until('postgres', 'SELECT EXISTS (SELECT FROM ONLY yquota.charge)');
	is($primary->safe_psql('postgres', 'SELECT yquota.seal_history()'), $segment, "segment $segment is sealed while clients insert");
}
$earlier->query_safe(<<~'SQL');
	INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation)
	VALUES ('CONTAINER_START', 'earlier', '2026-03-02 09:00+00', 'lab', '[vcores=1]'),
		   ('CONTAINER_FINISH', 'earlier', '2026-03-02 09:00:01+00', NULL, NULL);
	COMMIT;
	SQL
$earlier->quit;
$clients->finish;
like($out, qr{number of transactions actually processed: 1000/1000}, 'no client failed');
is( $primary->safe_psql('postgres', 'SELECT count(*), sum(amount), count(DISTINCT container_id) FROM yquota.charge'),
	'1001|1001|1001', 'no row is lost, and none is there twice');
is_right($primary, 'sealed while clients insert');

# Sealing waits only briefly for a session that uses the history, and changes nothing if the session stays.
my $reader = $primary->background_psql('postgres');

$reader->query('BEGIN; SELECT count(*) FROM yquota.charge');
my ($code, $ignored, $refusal) = $primary->psql('postgres', 'SELECT yquota_internal.seal(2)');

like($refusal, qr/could not lock the history because other transactions use it/, 'a seal gives up');
$reader->quit;
is_right($primary, 'a seal that gave up');

# An event arrives while its container is being archived
$primary->safe_psql('postgres', <<~'SQL');
	SELECT yquota.seal_history();
	CREATE FUNCTION wait_here() RETURNS trigger LANGUAGE plpgsql
		AS $$ BEGIN PERFORM pg_advisory_xact_lock(1); RETURN NEW; END $$;
	CREATE TRIGGER wait_here BEFORE INSERT ON ledger FOR EACH ROW EXECUTE FUNCTION wait_here();
	SQL
my $holder = $primary->background_psql('postgres');
my $archivist = $primary->background_psql('postgres', on_error_stop => 0);

$holder->query('SELECT pg_advisory_lock(1)');
$archivist->query_until(qr/start/, "\\echo start\nSELECT archived FROM yquota.archive('ledger', 'infinity');\n");
$primary->poll_query_until('postgres', "SELECT count(*) = 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted");
$primary->safe_psql('postgres', <<~'SQL');
	INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation)
	VALUES ('CONTAINER_START', 'life1', '2026-03-02 09:00+00', 'lab', '[vcores=1]');
	SQL
$holder->quit;
$archivist->query('SELECT 1');
like($archivist->{stderr}, qr/could not archive container "life1" because an event or a correction of it has just arrived/,
	'a container with a new event stays');
$archivist->quit;
$primary->safe_psql('postgres', 'DROP TRIGGER wait_here ON ledger');
is($primary->safe_psql('postgres', 'SELECT count(*) FROM ledger'), '0', 'no other container is archived');
is_right($primary, 'an archive that gave up');
is(archive($primary), "6|1000\n6|2999", 'all containers but that one are archived');
is_right($primary, 'archived');

#
# A standby shows the rows of the primary, and is then promoted.
#
$primary->backup('backup');
$standby->init_from_backup($primary, 'backup', has_streaming => 1);
$standby->start;
set_clock($primary, 'postgres', '2026-03-02 12:00+00');
start($primary, 'a', 20);
finish($primary, 'a', '> 5');
is($primary->safe_psql('postgres', <<~'SQL'), 't|t', 'queues of log and ledger are stored out of line');
	SELECT bool_and(pg_relation_size(reltoastrelid) > 0) FILTER (WHERE relname = 'charge'),
		   bool_and(pg_relation_size(reltoastrelid) > 0) FILTER (WHERE relname = 'container_event')
	FROM pg_class WHERE relnamespace = 'yquota'::regnamespace AND reltoastrelid <> 0;
	SQL
$primary->safe_psql('postgres', 'SELECT yquota.seal_history()');
start($primary, 'b', 20);
finish($primary, 'b', '> 5');
finish($primary, 'a', '> 3');
$primary->safe_psql('postgres', 'SELECT yquota.seal_history()');
my $sealed = told($primary);

$primary->wait_for_catchup($standby);
is(told($standby), $sealed, 'the segment is sealed on the standby, too');
# The call archives 17 containers of a, 15 of b, and the container that had stayed
is(archive($primary), "2|33\n2|68", 'archived');
my $archived = told($primary);

$primary->wait_for_catchup($standby);
is(told($standby), $archived, 'the segment is archived on the standby, too');
unlike($archived, qr/wrong/, 'the books prove themselves on the standby');
set_clock($primary, 'postgres', '2026-03-02 14:00+00');
$primary->safe_psql('postgres', 'CHECKPOINT');
start($primary, 'c', 10);
$primary->safe_psql('postgres', 'SELECT yquota.seal_history()');
finish($primary, 'c', '> 8');
my $before_end = told($primary);

#
# The server crashes just after a seal, and in the middle of another one.
#
my $undecided = $primary->background_psql('postgres');

$undecided->query('BEGIN; SELECT yquota.seal_history()');
$primary->stop('immediate');
$undecided->quit;
$primary->start;
is(told($primary), $before_end, 'a crash in the middle of a seal leaves nothing of it');
$primary->safe_psql('postgres', 'SELECT yquota.seal_history()');
my $after_seal = told($primary);
# archiving and sealing have emptied the filter, so fill it again
is($primary->safe_psql('postgres', $filter_state), '0|f', 'the filter of sealed history is empty');
$primary->safe_psql('postgres', 'SELECT yquota_internal.fill_bloom_filter()');
is($primary->safe_psql('postgres', $filter_state), '2|t', 'sealing fills the filter');

$primary->stop('immediate');
$primary->start;
is(told($primary), $after_seal, 'after a seal, a crash leaves all of the sealed history');
is($primary->safe_psql('postgres', $filter_state), '2|t', 'the filter is there after the crash, too');
$primary->wait_for_catchup($standby);

$standby->promote;
is(told($standby), $after_seal, 'the promoted standby has the sealed history');
is($standby->safe_psql('postgres', $filter_state), '2|t', 'the promoted standby has the filter');
is($standby->safe_psql('postgres', <<~'SQL'), "16\n16", 'the filter knows a START of sealed history');
	SELECT count(*) FROM yquota.container;
	BEGIN;
	INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation)
	SELECT 'CONTAINER_START', container_id, started_at, project, allocation FROM yquota.charge WHERE container_id = 'c9';
	SELECT count(*) FROM yquota.container;
	ROLLBACK;
	SQL
finish($standby, 'c', '> 0');
$standby->safe_psql('postgres', 'SELECT yquota.seal_history()');
is(archive($standby), "3|11\n3|21", 'the promoted standby goes on archiving');
is_right($standby, 'promoted');
$standby->stop;

#
# Dumps. The segment tables are not members of the extension, so a dump includes them with their
# rows.
#
my $scratch = PostgreSQL::Test::Utils::tempdir;

$primary->safe_psql('postgres', <<~'SQL');
	SELECT yquota.seal_history();
	SELECT segments FROM yquota.archive('ledger', 'infinity');
	SQL
set_clock($primary, 'postgres', '2026-03-02 16:00+00');
start($primary, 'd', 10);
finish($primary, 'd', '> 5');
$primary->safe_psql('postgres', 'SELECT yquota.seal_history()');
finish($primary, 'd', '> 4');
my $dumped = told($primary);

$primary->command_ok([ 'pg_dump', '-f', "$scratch/plain", '-d', $primary->connstr('postgres') ], 'pg_dump');
$primary->command_ok([ 'pg_dump', '-Fc', '-f', "$scratch/custom", '-d', $primary->connstr('postgres') ], 'pg_dump -Fc');
$primary->safe_psql('postgres', 'CREATE DATABASE plain TEMPLATE template0; CREATE DATABASE custom TEMPLATE template0');
$primary->command_ok([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-f', "$scratch/plain", '-d', $primary->connstr('plain') ], 'psql');
$primary->command_ok([ 'pg_restore', '--exit-on-error', '-d', $primary->connstr('custom'), "$scratch/custom" ], 'pg_restore');
foreach my $database (qw(plain custom))
{
	set_clock($primary, $database, '2026-03-02 16:00+00');
	is(told($primary, $database), $dumped, "$database: the answers are those of the dumped database");
	is( $primary->safe_psql($database, <<~'SQL'), "12\n0\n2|6", "$database: new events are charged");
		INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation)
		SELECT 'CONTAINER_START', container_id, started_at, project, allocation
		FROM yquota.charge WHERE container_id = 'd6';
		SELECT yquota.seal_history();
		SELECT count(*) FROM yquota.verify();
		SELECT segments, archived FROM yquota.archive('ledger', 'infinity');
		SELECT * FROM yquota.verify();
		SQL
}
$primary->stop;

#
# The worker seals when it is due, and does not wait for sessions.
#
my $worked = new_node('worked');

start_at($worked, 'postgres', '2026-03-02 10:00+00');
$worked->safe_psql('postgres', q(INSERT INTO yquota.retention_setting (seal_interval) VALUES ('1 day')));
$worked->safe_psql('postgres', 'SELECT yquota.start_worker()');
is_soon($worked, 'postgres', mark() . " = '2026-03-02 10:00+00'", 'the worker is at work');
set_clock($worked, 'postgres', '2026-03-03 09:59+00');
is_soon($worked, 'postgres', mark() . " = '2026-03-03 09:59+00'", 'almost a day later');
is($worked->safe_psql('postgres', 'SELECT count(*) FROM yquota.history_segment'), '0', 'nothing is sealed yet');
$reader = $worked->background_psql('postgres');
$reader->query('BEGIN; SELECT count(*) FROM yquota.container_event');
set_clock($worked, 'postgres', '2026-03-03 10:01+00');
is_soon($worked, 'postgres', "(SELECT 'seal' = ANY (postponed) FROM yquota.worker_status)", 'a day later the log is in use');
$reader->quit;
is_soon($worked, 'postgres', '(SELECT count(*) = 1 FROM yquota.history_segment)', 'the log is sealed when it is not in use');
is_soon($worked, 'postgres', "(SELECT postponed = '{}' FROM yquota.worker_status)", 'then nothing is postponed');
$worked->stop;

#
# With wal_level = minimal, relation files that a transaction creates need no WAL.
#
$minimal->init;
$minimal->append_conf('postgresql.conf', "wal_level = minimal\nmax_wal_senders = 0\nwal_skip_threshold = 0\n");
$minimal->start;
start_at($minimal, 'postgres', '2026-03-02 10:00+00');
$minimal->safe_psql('postgres', "INSERT INTO yquota.project (name) VALUES ('lab'); CREATE TABLE ledger (LIKE yquota.charge); CREATE TABLE log (LIKE yquota.container_event)");
start($minimal, 'a', 20);
finish($minimal, 'a', '> 5');
$minimal->safe_psql('postgres', <<~'SQL');
	BEGIN;
	SELECT yquota.seal_history();
	SELECT yquota_internal.fill_bloom_filter();
	INSERT INTO yquota.container_event (event, container_id, occurred_at)
	SELECT 'CONTAINER_FINISH', container_id, yquota.clock() FROM yquota.container WHERE container_id <> 'a1';
	COMMIT;
	SQL
archive($minimal);
my $minimally = told($minimal);

unlike($minimally, qr/wrong/, 'wal_level = minimal');
$minimal->stop('immediate');
$minimal->start;
is(told($minimal), $minimally, 'wal_level = minimal: after a crash');
$minimal->stop;
done_testing();
