# History is archived into a table of another server, to which postgres_fdw writes without two-phase commit. Processes
# are killed at random times. Each row ends up there once, and all reports about the past stay the same. The same
# reports are also tested with a partitioned archive table of the same database.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use Archives;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep);
use WorkerNode;

my $books = new_node('books', 'restart_after_crash = on', 'autovacuum = off', 'log_statement = none');
# the server ends the statement of a client that is gone, even while the statement waits
my $ledger = new_node('ledger', 'autovacuum = off', 'log_statement = none', "client_connection_check_interval = '100ms'");

if ($books->psql('postgres', 'CREATE EXTENSION postgres_fdw') != 0)
{
	plan skip_all => 'the server has no postgres_fdw';
}
my ($host, $port) = ($ledger->host, $ledger->port);

$ledger->safe_psql('postgres', 'CREATE TABLE charge (' . ledger_columns() . ', PRIMARY KEY (cluster, container_id, number))');
$ledger->safe_psql('postgres', 'CREATE TABLE container_event (' . log_columns() . ', PRIMARY KEY (cluster, event_id))');
$ledger->safe_psql('postgres', 'CREATE TABLE other (only_column integer)');

# make_books(DATABASE): create books with two sealed segments and the tables of the ledger.
sub make_books
{
	my ($database) = @_;

	$books->safe_psql('postgres', "CREATE DATABASE $database");
	fill_books($books, $database, $database);
	$books->safe_psql($database, <<~"SQL");
		SELECT yquota.seal_history();
		CREATE EXTENSION postgres_fdw;
		CREATE SERVER ledger FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '$host', port '$port', dbname 'postgres', batch_size '1000');
		CREATE SERVER other FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '$host', port '$port', dbname 'postgres');
		CREATE USER MAPPING FOR CURRENT_USER SERVER ledger;
		CREATE USER MAPPING FOR CURRENT_USER SERVER other;
		CREATE SCHEMA shared;
		IMPORT FOREIGN SCHEMA public LIMIT TO (charge, container_event) FROM SERVER ledger INTO shared;
		IMPORT FOREIGN SCHEMA public LIMIT TO (other) FROM SERVER other INTO shared;
		SQL
	return;
}

sub told
{
	my ($database, @roles) = @_;

	return { map { $_ => told_by_role($books, $database, $_) } @roles };
}

sub written
{
	my ($database) = @_;

	return $books->safe_psql($database, 'SELECT string_agg(DISTINCT history, $$ $$) FROM yquota.written_history');
}

# Return the backend that is at work in a database
sub active_backend
{
	my ($database) = @_;

	return $books->safe_psql('postgres', <<~"SQL");
		SELECT pid FROM pg_stat_activity
		WHERE datname = '$database' AND backend_type = 'client backend' AND state = 'active'
		SQL
}

# Run a command in one backend, and kill the backend when the ledger's server meets a condition
sub kill_when
{
	my ($database, $command, $condition) = @_;
	my $session = $books->background_psql($database, on_error_stop => 0);

	$session->query_until(qr/begun/, "\\echo begun\n$command\n");
	$ledger->poll_query_until('postgres', $condition) or die "it never came to that: $condition\n";
	kill 'KILL', active_backend($database);
	eval { $session->quit };
	wait_until_up($books);
	# its connections end
	$ledger->poll_query_until('postgres', q(SELECT count(*) = 0 FROM pg_stat_activity WHERE application_name = 'postgres_fdw'));
	return;
}

#
# Reports are the same before, during and after archiving, also when the rows stay in this database.
#
foreach my $place (qw(foreign partitioned))
{
	my $database = "told_$place";

	make_books($database);
	$books->safe_psql($database, <<~'SQL') if $place eq 'partitioned';
		DROP FOREIGN TABLE shared.charge, shared.container_event;
		CREATE TABLE shared.charge (LIKE yquota.charge) PARTITION BY RANGE ("to");
		CREATE TABLE shared.charge_1 PARTITION OF shared.charge FOR VALUES FROM ('2026-03-01') TO ('2026-03-02');
		CREATE TABLE shared.charge_2 PARTITION OF shared.charge FOR VALUES FROM ('2026-03-02') TO ('2026-04-01');
		CREATE TABLE shared.container_event (LIKE yquota.container_event);
		SQL
	my $told = told($database, qw(archive_admin archive_member));

	like($told->{archive_admin}, qr/^bill\|.*web|^day\|/m, "$place: administrators read all rows");
	unlike($told->{archive_member}, qr/^balance\|\(web/m, "$place: members read nothing of other projects");
	if ($place eq 'foreign')
	{
		is($books->safe_psql($database, q(SELECT status FROM yquota.archive('shared.charge', 'infinity'))), 'written', 'written');
		is_told($books, $database, $told, 'written');
	}
	is(archive_until_done($books, $database, 'shared.charge'), 'archived', "$place: archived");
	is_told($books, $database, $told, "$place: archived");
	is(archive_until_done($books, $database, 'shared.container_event'), $place eq 'foreign' ? 'written archived' : 'archived',
		"$place: the log is archived as well");
	is_told($books, $database, $told, "$place: the ledger is archived without the log");
	unlike(totals($books, $database, 'shared.charge'), qr/\|(f?)$/m, "$place: the archive has what the books have");
	# archive a second time, after the earlier rows have left
	more_history($books, $database, 'c', '2026-03-03 15:00+00');
	$books->safe_psql($database, <<~'SQL');
		INSERT INTO yquota.container_event (event, container_id) VALUES ('CONTAINER_FINISH', 'b30');
		SELECT yquota.seal_history();
		SELECT yquota.set_clock('2026-03-03 16:00+00');
		SELECT yquota.quota_compute();
		SQL
	$told = told($database, keys %$told);
	is(archive_until_done($books, $database, 'shared.charge'), $place eq 'foreign' ? 'written archived' : 'archived', "$place: archived a second time");
	is_told($books, $database, $told, "$place: archived again");
	unlike(totals($books, $database, 'shared.charge'), qr/\|(f?)$/m, "$place: so is this");
}

#
# The backend is killed while it writes, while it compares, and after only the other server has
# committed. The views of members are tested above.
#
make_books('killed');
my $told = told('killed', 'archive_admin');
my $holder = $ledger->background_psql('postgres');

# rows wait on the other server
$ledger->safe_psql('postgres', <<~'SQL');
	CREATE FUNCTION wait_here() RETURNS trigger LANGUAGE plpgsql
		AS $$ BEGIN PERFORM pg_advisory_xact_lock(1); RETURN NEW; END $$;
	CREATE TRIGGER wait_here BEFORE INSERT ON charge FOR EACH ROW EXECUTE FUNCTION wait_here();
	CREATE CONSTRAINT TRIGGER wait_here AFTER INSERT ON other DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION wait_here();
	SQL
my $waits = q(SELECT count(*) = 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted);
my $call = q(SELECT status FROM yquota.archive('shared.charge', 'infinity'););

$holder->query('SELECT pg_advisory_lock(1)');
kill_when('killed', $call, $waits);
$holder->query('SELECT pg_advisory_unlock(1)');
is($ledger->safe_psql('postgres', q(SELECT count(*) FROM charge WHERE cluster = 'killed')), '0', 'killed while it writes: no row is there');
is(written('killed'), '', 'killed while it writes: nothing counts as archived');
is_told($books, 'killed', $told, 'killed while it writes');

# The server of "other" commits last or first, so try both. If their connections share a bucket of a
# hash table, the older connection commits first.
$ledger->safe_psql('postgres', 'DROP TRIGGER wait_here ON charge');
foreach my $last (qw(other ledger))
{
	$books->safe_psql('killed', <<~'SQL') if $last eq 'ledger';
		DROP FOREIGN TABLE shared.charge, shared.other;
		IMPORT FOREIGN SCHEMA public LIMIT TO (charge) FROM SERVER other INTO shared;
		IMPORT FOREIGN SCHEMA public LIMIT TO (other) FROM SERVER ledger INTO shared;
		SQL
	$holder->query('SELECT pg_advisory_lock(1)');
	kill_when('killed', "BEGIN; SELECT count(*) FROM shared.charge; INSERT INTO shared.other VALUES (1); $call COMMIT;", $waits);
	$holder->query('SELECT pg_advisory_unlock(1)');
	last if $ledger->safe_psql('postgres', q(SELECT count(*) > 0 FROM charge WHERE cluster = 'killed')) eq 't';
}
is( $ledger->safe_psql('postgres', q(SELECT count(*) FROM charge WHERE cluster = 'killed')),
	$books->safe_psql('killed', q(SELECT count(*) FROM yquota.charge WHERE container_id !~ '30$')),
	'killed after the other server has committed: its rows are there');
is(written('killed'), '', 'killed after the other server has committed: the cluster does not know of the rows');
is_told($books, 'killed', $told, 'killed between two commits');
is($books->safe_psql('killed', $call), 'written', 'the rows are written again');

# the backend waits for the table
$holder->query('BEGIN; LOCK TABLE charge IN ACCESS EXCLUSIVE MODE');
kill_when('killed', $call, q(SELECT count(*) > 0 FROM pg_locks WHERE relation = 'charge'::regclass AND NOT granted));
$holder->query('COMMIT');
is(written('killed'), 'ledger', 'killed while it compares: the rows are still there');
is_told($books, 'killed', $told, 'killed while it compares');

#
# The other server goes down, and loses its rows
#
$ledger->stop('immediate');
my ($code, $ignored, $refusal) = $books->psql('killed', $call);

isnt($code, 0, 'without the other server nothing is archived');
is_told($books, 'killed', $told, 'without the other server');
$ledger->start;
$ledger->safe_psql('postgres', q(DELETE FROM charge WHERE cluster = 'killed' AND container_id < 'b'));
is($books->safe_psql('killed', $call), 'written', 'lost rows are written anew');

# Two sessions archive at once: one waits for the other
$holder = $ledger->background_psql('postgres');
$holder->query('BEGIN; LOCK TABLE charge IN ACCESS EXCLUSIVE MODE');
my @sessions = map { $books->background_psql('killed', on_error_stop => 0) } 1 .. 2;

$_->query_until(qr/begun/, "\\echo begun\n$call\n") foreach @sessions;
$ledger->poll_query_until('postgres', q(SELECT count(*) = 1 FROM pg_locks WHERE relation = 'charge'::regclass AND NOT granted));
$holder->query('COMMIT');
my @said = sort map { my $said = $_->query(q(SELECT 'ended')); $said =~ s/\s*ended//r } @sessions;

$_->quit foreach @sessions, $holder;
is_deeply(\@said, [ '', 'archived' ], 'of two calls at once, the first drops the segments and the second finds nothing');
is_told($books, 'killed', $told, 'archived at last');
unlike(totals($books, 'killed', 'shared.charge'), qr/\|(f?)$/m, 'each row is there once');

#
# The backend is killed at random times
#
make_books('any_time');
$told = told('any_time', 'archive_admin');
foreach my $round (1 .. 8)
{
	my $target = $round % 2 ? 'shared.charge' : 'shared.container_event';
	my $session = $books->background_psql('any_time', on_error_stop => 0);

	$session->query_until(qr/begun/, "\\echo begun\nSELECT status FROM yquota.archive('$target', 'infinity');\n");
	sleep(rand 0.4);
	my $backend = active_backend('any_time');

	kill 'KILL', $backend if $backend ne '';
	eval { $session->quit };
	wait_until_up($books);
}
archive_until_done($books, 'any_time', 'shared.charge');
archive_until_done($books, 'any_time', 'shared.container_event');
is_told($books, 'any_time', $told, 'killed at any time');
unlike(totals($books, 'any_time', 'shared.charge'), qr/\|(f?)$/m, 'killed at any time: each row is there once');
is( $ledger->safe_psql('postgres', q(SELECT count(*), count(DISTINCT event_id) FROM container_event WHERE cluster = 'any_time' AND container_id <> 'a30')),
	'116|116', 'each event is there once');

done_testing();
