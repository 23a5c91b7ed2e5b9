# History is archived into tables that Citus distributes, and into columnar tables, with one
# coordinator and two workers. The commands of docs/scale-out.md run. Each row is in the ledger
# once in the end, even if any process is killed at any time. A setup that would give wrong results
# is refused.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use Archives;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Soak;
use Test::More;
use Time::HiRes qw(sleep);
use WorkerNode;

my ($sharedir) = split /\n/, `pg_config --sharedir`;
my $probe = PostgreSQL::Test::Cluster->new('probe');
$probe->init;
$probe->start;
my $is_there = $probe->safe_psql('postgres', q(SELECT count(*) FROM pg_available_extensions WHERE name = 'citus'));
$probe->stop;
plan skip_all => 'Citus is not there: "make citus" brings it' unless $is_there;

# citus_node(NAME): start a server with Citus, without the yquota that new clusters copy
sub citus_node
{
	my ($name) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);

	$node->init(extra => ['--no-instructions']);
	$node->append_conf('postgresql.conf', <<~"CONF");
		listen_addresses = '127.0.0.1'
		shared_preload_libraries = 'citus,yquota'
		wal_level = logical
		max_wal_senders = 8
		max_connections = 80
		max_prepared_transactions = 100
		restart_after_crash = on
		autovacuum = off
		jit = off
		log_statement = none
		citus.recover_2pc_interval = -1
		CONF
	$node->start;
	$node->safe_psql('postgres', 'CREATE EXTENSION citus');
	return $node;
}

my $books = citus_node('coordinator');
my @workers = map { citus_node("worker$_") } 1 .. 2;
my %address = (
	"'coordinator.example', 5432" => "'127.0.0.1', " . $books->port,
	map { ("'worker$_.example', 5432" => "'127.0.0.1', " . $workers[ $_ - 1 ]->port) } 1 .. 2);

# Return the blocks of a section of the page, with the addresses of these servers
sub blocks_of
{
	my ($heading) = @_;
	my ($section) = slurp_file('docs/scale-out.md') =~ /^## \Q$heading\E\n(.*?)(?=^## |\z)/ms;
	my @blocks = $section =~ /^```(?:citus|sql)\n(.*?)^```$/msg;

	s/('\w+\.example', 5432)/$address{$1}/g foreach @blocks;
	return @blocks;
}

sub told
{
	return { map { $_ => told_by_role($books, 'postgres', $_) } qw(archive_admin archive_member) };
}

# Decide the prepared transactions that are left, and test that all rows are where they belong.
sub is_right
{
	my ($name) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	wait_until_up($books);
	$books->safe_psql('postgres', 'SELECT recover_prepared_transactions()');
	is(prepared(), 0, "$name: no transaction is undecided");
	unlike(totals($books, 'postgres', 'public.ledger'), qr/\|(f?)$/m, "$name: each row is there once");
	is($books->safe_psql('postgres', 'SELECT * FROM yquota.verify()'), '', "$name: the books prove themselves");
	return;
}

sub prepared
{
	my $count = 0;

	$count += $_->safe_psql('postgres', 'SELECT count(*) FROM pg_prepared_xacts') foreach @workers;
	return $count;
}

my $generation = 'd';

# Run and seal thirty more containers
sub next_segment
{
	my $clock = $books->safe_psql('postgres', q(SELECT yquota.clock() + interval '3 hours'));

	more_history($books, 'postgres', $generation++, $clock);
	$books->safe_psql('postgres', q(SELECT yquota.seal_history(); SELECT yquota.set_clock(yquota.clock() + interval '1 hour'); SELECT yquota.quota_compute()));
	return;
}

#
# The commands of the page run, with the reports before and after
#
my ($cluster, $first, $name, @ask) = blocks_of('3. One ledger of Citus') or die "the page has no commands\n";

fill_books($books, 'postgres', 'north');
$books->safe_psql('postgres', 'SELECT yquota.seal_history()');
unshift @ask, $name;
$books->safe_psql('postgres', "$cluster");
my $told = told();
my ($charges, $events) = map { $books->safe_psql('postgres', "SELECT count(*) FROM $_ WHERE container_id IS NULL OR container_id !~ '30\$'") }
  qw(yquota.charge yquota.container_event);

like($first, qr/INSERT INTO yquota.cluster_setting.*yquota.archive\('public.ledger'/s, 'the first commands of the page name the cluster and archive');
$first =~ s/^INSERT INTO yquota.cluster_setting.*\n//m;
$first =~ s/now\(\) - interval '30 days'/'infinity'/;
is($books->safe_psql('postgres', $first), "ledger|1|$charges|archived", 'the ledger is archived by one call');
is_told($books, 'postgres', $told, 'distributed');
is_right('distributed');
cmp_ok($books->safe_psql('postgres', $_) =~ tr/\n//, '>', 2, 'all clusters are asked at once') foreach @ask;

# the log is archived into a columnar table
$books->safe_psql('postgres', <<~'SQL');
	CREATE EXTENSION IF NOT EXISTS citus_columnar;
	CREATE TABLE log (LIKE yquota.container_event) USING columnar;
	SQL
is(archive_until_done($books, 'postgres', 'log'), 'archived', 'the log is archived into columns');
is($books->safe_psql('postgres', 'SELECT count(*), count(DISTINCT event_id) FROM log'), "$events|$events", 'each event once');

# The setup on a single machine: partitions, which become columnar
my @one_machine = blocks_of('1. One machine');

$books->safe_psql('postgres', $_) foreach @one_machine;
next_segment();
$told = told();
is(archive_until_done($books, 'postgres', 'archive.charge'), 'archived', 'segments are archived into partitions, one of them in columns');
is($books->safe_psql('postgres', q(SELECT count(*), am.amname FROM archive.charge_2026_03, pg_class AS c JOIN pg_am AS am ON am.oid = c.relam
		WHERE c.oid = 'archive.charge_2026_03'::regclass GROUP BY 2)), '29|columnar', 'the rows are in the partitions');
is_told($books, 'postgres', $told, 'columnar');
# the following tests need these rows in the ledger
$books->safe_psql('postgres', <<~'SQL');
	INSERT INTO public.ledger SELECT container_id, project, application_id, username, queue, node, execution_type::text, allocation::text, started_at, "from", "to",
		booked_at, number, corrects, settled_by::text, exit_status, padding, dominant, amount, given_back, waiting_factor, 'north', 2
	FROM archive.charge;
	SQL
is_right('moved from the partitions');

#
# Forbidden combinations
#
$books->safe_psql('postgres', q(CREATE TABLE plain (LIKE yquota.charge); SELECT create_distributed_table('plain', 'project', colocate_with => 'none')));
next_segment();
my ($code, $ignored, $refusal) = $books->psql('postgres', q(SELECT yquota.archive('plain', 'infinity')));

like($refusal, qr/distributed table "public.plain" has no columns "cluster" of type text and "stretch" of type integer.*HINT:  ALTER TABLE public.plain ADD COLUMN/s,
	'a distributed table without the columns cluster and stretch is refused');
# the ledger has rows of the next segment, which this database did not write
$books->safe_psql('postgres', q(INSERT INTO public.ledger (container_id, project, amount, cluster, stretch) VALUES ('theirs', 'lab', 1, 'north', 3)));
($code, $ignored, $refusal) = $books->psql('postgres', q(SELECT yquota.archive('public.ledger', 'infinity')));
like($refusal, qr/table "public.ledger" has other rows of segment 3 of cluster "north"/, 'a call does not add to the rows of another cluster of this name');
$books->safe_psql('postgres', q(DELETE FROM public.ledger WHERE container_id = 'theirs'));

# Citus does not commit in two phases if the transaction has read the table.
($code, $ignored, $refusal) = $books->psql('postgres', q(BEGIN; SELECT count(*) FROM public.ledger; SELECT yquota.archive('public.ledger', 'infinity'); COMMIT));
like($refusal, qr/cannot archive into a distributed table after other work with distributed tables/, 'a call does not archive after the ledger was read');

#
# Another cluster archives from the database of a worker
#
my $south = $workers[0];

$south->safe_psql('postgres', <<~'SQL');
	SELECT yquota.set_clock('2026-03-02 10:00+00');
	INSERT INTO yquota.cluster_setting (cluster_name) VALUES ('south');
	INSERT INTO yquota.project (name) VALUES ('lab');
	INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation)
	VALUES ('CONTAINER_START', 'a1', '2026-03-02 09:00+00', 'lab', '[vcores=1]'), ('CONTAINER_FINISH', 'a1', '2026-03-02 09:10+00', NULL, NULL);
	SELECT yquota.seal_history();
	SQL
is($south->safe_psql('postgres', q(SELECT segments, archived, charged, status FROM yquota.archive('public.ledger', 'infinity'))), '1|1|600|archived',
	'a cluster whose database is on a worker archives into the same ledger');
is($books->safe_psql('postgres', q(SELECT cluster, count(*) FROM public.ledger WHERE container_id = 'a1' GROUP BY 1 ORDER BY 1)), "north|1\nsouth|1",
	'containers of the same name in two clusters count as two');
is($south->safe_psql('postgres', q(SELECT charged FROM yquota.archive_digest('public.ledger'))), '600', 'a cluster sees its own containers');

# A third cluster, on a server without Citus, archives through a foreign table.
my $west = new_node('west', 'autovacuum = off');

$west->safe_psql('postgres', <<~"SQL");
	BEGIN; CREATE EXTENSION IF NOT EXISTS yquota; SELECT yquota.set_clock('2026-03-02 10:00+00'); COMMIT;
	INSERT INTO yquota.cluster_setting (cluster_name) VALUES ('west');
	INSERT INTO yquota.project (name) SELECT 'p' || i FROM generate_series(1, 9) AS i;
	INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation)
	SELECT (ARRAY['CONTAINER_START', 'CONTAINER_FINISH'])[e]::yquota.container_event_type, 'a' || i, '2026-03-02 09:00+00'::timestamptz + e * interval '1 minute',
		   'p' || 1 + i % 9, CASE e WHEN 1 THEN '[vcores=1]'::yquota.resource END
	FROM generate_series(1, 90) AS i, generate_series(1, 2) AS e;
	SELECT yquota.seal_history();
	CREATE EXTENSION postgres_fdw;
	CREATE SERVER ledger FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '127.0.0.1', port '@{[ $books->port ]}', dbname 'postgres', batch_size '50');
	CREATE USER MAPPING FOR CURRENT_USER SERVER ledger;
	CREATE SCHEMA archive;
	IMPORT FOREIGN SCHEMA public LIMIT TO (ledger) FROM SERVER ledger INTO archive;
	SQL
is(archive_until_done($west, 'postgres', 'archive.ledger'), 'written archived', 'a cluster on another server archives by two calls');
is($west->safe_psql('postgres', q(SELECT count(*), sum(archive.charged), bool_and(archive.digest = opening.digest) FROM yquota.archive_digest('archive.ledger') AS archive
	JOIN yquota.opening_balance AS opening USING (project))), '9|5400|t', 'each row is there once');
is($west->safe_psql('postgres', 'SELECT * FROM yquota.verify()'), '', 'the books of the cluster prove themselves');

# Reports about all three clusters, on the coordinator and through the foreign table
$books->safe_psql('postgres', "SELECT yquota.federate_cluster('$_', ledger => 'public.ledger')") foreach qw(north south west);
$west->safe_psql('postgres', "SELECT yquota.federate_cluster('$_', ledger => 'archive.ledger')") foreach qw(north south west);
foreach my $by ('cluster', 'project', 'cluster,project', 'project,queue', 'username')
{
	my $wanted = $books->safe_psql('postgres', "SELECT $by, trim_scale(sum(amount)) FROM public.ledger GROUP BY $by ORDER BY $by");
	my $report = "SELECT $by, amount FROM yquota.federated_cost('2026-02-01', '2026-04-30', '{$by}') ORDER BY $by";

	is($books->safe_psql('postgres', $report), $wanted, "by ($by): the sum is all that is in the ledger");
	is($west->safe_psql('postgres', $report), $wanted, "by ($by): another server has the same sum");
	is($books->safe_psql('postgres', "SELECT $by, trim_scale(sum(amount)) FROM yquota.federated_cost('2026-03-01', '2026-03-06', '{$by,day}') GROUP BY $by ORDER BY $by"), $wanted, "by ($by): the days add up");

	my $plan = $books->safe_psql('postgres', <<~"SQL");
		DO \$do\$ BEGIN EXECUTE 'PREPARE report (timestamptz, timestamptz, text[], boolean, text[], date) AS ' || yquota_internal.ledger_cost_query('public.ledger', '{$by}'); END \$do\$;
		EXPLAIN (VERBOSE, COSTS OFF) EXECUTE report('2026-03-01', '2026-03-02', '{north,west}', true, NULL, NULL);
		SQL
	like($plan, qr/Task Count: [2-9].*Query: SELECT [^\n]*sum\([^\n]* GROUP BY /s, "by ($by): the nodes add up") or diag($plan);
}
like($books->safe_psql('postgres', 'SELECT cluster, charged_through FROM yquota.federation_status() ORDER BY 1'), qr/^north\|2026-03.*\nsouth\|2026-03-02 09:10:00\+00\nwest\|2026-03-02 09:02:00\+00$/, 'the time until which each cluster is known');
$west->stop;

#
# The backend is killed while rows are written, between the workers' prepared commits, and after
# them
#
my $call = q(SELECT status FROM yquota.archive('public.ledger', 'infinity'););

sub backend
{
	return $books->safe_psql('postgres', <<~'SQL');
		SELECT pid FROM pg_stat_activity WHERE application_name = 'archivist' AND backend_type = 'client backend'
		SQL
}

sub archivist
{
	my $session = $books->background_psql('postgres', on_error_stop => 0);

	$session->query(q(SET application_name = 'archivist'));
	return $session;
}

# the second worker is stopped, so only the other worker has a prepared commit
my $session = archivist();
$session->query("BEGIN; $call");
my @still = split /\n/, $workers[1]->safe_psql('postgres', q(SELECT pid FROM pg_stat_activity WHERE application_name LIKE 'citus_internal%' AND state LIKE 'idle in%'));
kill 'STOP', @still;
$session->query_until(qr/begun/, "\\echo begun\nCOMMIT;\n");
$workers[0]->poll_query_until('postgres', 'SELECT count(*) > 0 FROM pg_prepared_xacts') or die "nothing is prepared\n";
kill 'KILL', backend();
eval { $session->quit };
kill 'CONT', @still;
cmp_ok(scalar(@still), '>', 0, 'a worker was stopped');
is_right('killed between two promises');
is($books->safe_psql('postgres', q(SELECT count(*) FROM public.ledger WHERE cluster = 'north' AND stretch = 3)), '0', 'no row of the call is in the ledger');

# the coordinator has committed, and waits before it tells the workers
$session = archivist();
$session->query(q(SET synchronous_commit = on));
$books->append_conf('postgresql.conf', "synchronous_standby_names = 'nobody'");
$books->reload;
$books->poll_query_until('postgres', q(SELECT current_setting('synchronous_standby_names') = 'nobody'));
$session->query_until(qr/begun/, "\\echo begun\n$call\n");
$books->poll_query_until('postgres', q(SELECT count(*) = 1 FROM pg_stat_activity WHERE application_name = 'archivist' AND wait_event = 'SyncRep'))
  or die "it does not wait\n";
cmp_ok(prepared(), '>', 0, 'the workers have prepared their transactions');
kill 'KILL', backend();
eval { $session->quit };
$books->append_conf('postgresql.conf', "synchronous_standby_names = ''");
wait_until_up($books);
$books->reload;
is_right('killed between its commit and the workers\'');
cmp_ok($books->safe_psql('postgres', q(SELECT count(*) FROM public.ledger WHERE cluster = 'north' AND stretch = 3)), '>', 0, 'all rows of the call are in the ledger');

# the backend is killed at random times, and so is a whole worker
for (my $round = 1; soak_goes_on($round - 1, 10, 10); $round++)
{
	next_segment();
	$session = archivist();
	$session->query_until(qr/begun/, "\\echo begun\n$call\n");
	sleep(rand 0.5);
	if ($round % 3 == 0)
	{
		$workers[1]->stop('immediate');
		eval { $session->quit };
		$workers[1]->start;
	}
	else
	{
		my $pid = backend();

		kill 'KILL', $pid if $pid ne '';
		eval { $session->quit };
	}
	is_right("round $round");
}
like(archive_until_done($books, 'postgres', 'public.ledger'), qr/^(archived)?$/, 'the remaining rows are archived');
is_right('killed at any time');
is($books->safe_psql('postgres', q(SELECT count(*) FROM (SELECT project, container_id, number FROM public.ledger WHERE cluster = 'north' GROUP BY 1, 2, 3 HAVING count(*) > 1) AS twice)),
	'0', 'no row is there twice');

#
# Citus has converted yquota's own tables. No statement may read or write them wrongly.
#
foreach my $node ($books, @workers)
{
	$node->safe_psql('postgres', 'CREATE DATABASE traps');
	$node->safe_psql('traps', 'CREATE EXTENSION citus');
}
$books->safe_psql('traps', <<~"SQL");
	SELECT citus_set_coordinator_host($address{"'coordinator.example', 5432"});
	SELECT citus_add_node($address{"'worker1.example', 5432"}), citus_add_node($address{"'worker2.example', 5432"});
	CREATE EXTENSION yquota;
	INSERT INTO yquota.project (name) VALUES ('lab');
	INSERT INTO yquota.container_event (event, container_id, project, allocation) VALUES ('CONTAINER_START', 'c', 'lab', '[vcores=1]');
	SQL
$books->safe_psql('traps', $_) foreach
  'CREATE TABLE public.copied (LIKE yquota.container_event)', 'ALTER TABLE public.copied ALTER COLUMN event_id DROP NOT NULL',
  q(SELECT create_distributed_table('public.copied', 'project')), <<~'SQL';
	SELECT count(*) FROM run_command_on_shards('public.copied',
		'CREATE TRIGGER charge AFTER INSERT ON %s REFERENCING NEW TABLE AS new_events FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.charge_events()');
	SQL
my $event = q(INSERT INTO yquota.container_event (event, container_id, allocation) VALUES ('CONTAINER_UPDATE', 'c', '[vcores=2]'););
my $own = 'charge_events\(\) serves table "yquota.container_event" only';

foreach my $trap (
	[ 'rows in shards', q(SELECT create_distributed_table('yquota.container_change', 'container_id');), qr/table "yquota.container_change" is not a plain local table/ ],
	[ 'a reference table', q(SELECT create_reference_table('yquota.charging_rule'); INSERT INTO yquota.charging_rule (effective_at) VALUES (now() + interval '1 day');),
		qr/table "yquota.charging_rule" is not a plain local table/ ],
	[ 'the log, with rows', q(SELECT create_distributed_table('yquota.container_event', 'project');), qr/$own/ ],
	[ 'a trigger on shards', q(INSERT INTO public.copied (event, container_id, project, allocation, recorded_at) VALUES ('CONTAINER_START', 'd', 'lab', '[vcores=1]', now());), qr/$own/ ],
	[ 'the ledger', q(SELECT create_distributed_table('yquota.charge', 'project');), qr/cannot create policy|not a regular, foreign or partitioned table|not a plain local table/ ])
{
	my ($of, $command, $expected) = @$trap;

	($code, $ignored, $refusal) = $books->psql('traps', "SET citus.enable_unsafe_triggers = on; BEGIN; $command $event COMMIT;");
	like($refusal, $expected, "$of: the call is refused");
	is($books->safe_psql('traps', 'SELECT count(*) FROM yquota.verify()'), '0', "$of: the books are right");
}

done_testing();
