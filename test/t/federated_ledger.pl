# Reports cover several clusters. Some clusters are read from the ledger into which they archive: a table of the
# federation, or a foreign table of another database. A cluster may have written rows to the ledger without having
# deleted them yet. These rows are not counted twice, whichever way the cluster is read.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use Archives;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use WorkerNode;

my $node = new_node('near', 'autovacuum = off', 'jit = off');
my %vcores = (north => 2, south => 1, west => 3);
my @clusters = sort keys %vcores;
my ($host, $port) = ($node->host, $node->port);

sub sql { my ($database, $query) = @_; return $node->safe_psql($database, $query); }

# Return the error of a statement that a role runs in the federation.
sub refused
{
	my ($query, $role) = @_;
	my ($code, $out, $error) = $node->psql('federation', ($role ? "SET ROLE $role;" : '') . "\\set VERBOSITY verbose\n$query");

	isnt($code, 0, "refused: $query");
	return $error =~ /ERROR:  (.*?)\nLOCATION/s ? $1 =~ s/\nCONTEXT:.*//sr : $error;
}

sub server_of
{
	my ($database, $of, $user) = @_;

	sql($database, <<~"SQL");
		CREATE SERVER $of FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '$host', port '$port', dbname '$of', async_capable 'true');
		CREATE USER MAPPING FOR CURRENT_USER SERVER $of OPTIONS (user '$user');
		SQL
	return;
}

# The federation has the ledger, and another database reads it from there
sql('postgres', 'CREATE DATABASE federation; CREATE DATABASE reader; CREATE ROLE reporter LOGIN; CREATE ROLE chief; CREATE ROLE member; CREATE ROLE clerk');
sql($_, <<~'SQL') foreach qw(federation reader);
	CREATE EXTENSION IF NOT EXISTS yquota;
	CREATE EXTENSION postgres_fdw;
	INSERT INTO yquota.cluster_setting (cluster_name) VALUES (current_database());
	SELECT yquota.set_clock('2026-03-05 12:00+00');
	INSERT INTO yquota.project (name) VALUES ('lab');
	SELECT yquota.allow_role('chief', 'admin'), yquota.allow_role('member', 'member', 'lab'), yquota.allow_role('clerk', 'operator');
	SQL
sql('federation', 'CREATE TABLE ledger (' . ledger_columns() . '); CREATE INDEX ON ledger (cluster, "to")');

# Run a cluster's containers across midnights. In the cluster south, prices change at the same time.
sub work
{
	my ($name, $first, $last) = @_;

	sql($name, <<~"SQL");
		INSERT INTO yquota.container_event (event, container_id, occurred_at, project, username, queue, allocation)
		SELECT 'CONTAINER_START', format('container_%s', i), timestamptz '2026-02-27 22:00+00' + i * interval '3 h',
			   CASE WHEN i % 2 = 0 THEN 'lab' ELSE 'own of $name' END, format('user%s', i % 3), format('root.q%s', i % 2), '[vcores=$vcores{$name}]'
		FROM generate_series($first, $last) AS i;
		INSERT INTO yquota.container_event (event, container_id, occurred_at)
		SELECT 'CONTAINER_FINISH', format('container_%s', i), timestamptz '2026-02-28 09:00:00.000007+00' + i * interval '3 h'
		FROM generate_series($first, $last) AS i;
		SELECT yquota.seal_history();
		SQL
	return;
}

foreach my $name (@clusters)
{
	sql('postgres', "CREATE DATABASE $name");
	sql($name, <<~"SQL");
		CREATE EXTENSION IF NOT EXISTS yquota;
		CREATE EXTENSION postgres_fdw;
		INSERT INTO yquota.cluster_setting (cluster_name) VALUES ('$name');
		INSERT INTO yquota.charging_rule (effective_at, minimum_run_time) VALUES ('-infinity', '12 h');
		INSERT INTO yquota.project (name) VALUES ('lab'), ('own of $name');
		SELECT yquota.allow_role('reporter', 'viewer');
		SQL
	sql($name, q(SELECT yquota.set_multiplier('GENERAL', 1.7, '2026-03-01 04:00+00'))) if $name eq 'south';
	sql($name, q(SELECT yquota.set_clock('2026-03-05 12:00+00')));
	server_of($name, 'federation', 'postgres');
	sql($name, 'IMPORT FOREIGN SCHEMA public LIMIT TO (ledger) FROM SERVER federation INTO public');
	work($name, 1, 30);
}
is(archive_until_done($node, $_, 'public.ledger'), 'written archived', "$_ archives") foreach qw(north south);
is(sql('west', q(SELECT status FROM yquota.archive('public.ledger', 'infinity'))), 'written', 'the west has written all rows of its books');
is(sql('federation', 'SELECT cluster, count(DISTINCT container_id) FROM ledger GROUP BY 1 ORDER BY 1'), "north|30\nsouth|30\nwest|30", 'all rows are in the ledger');

#
# Add the clusters to the federation
#
sql('federation', 'CREATE VIEW seen AS SELECT * FROM ledger; CREATE TABLE other (LIKE yquota.charge); GRANT SELECT ON seen, other TO chief');
server_of('federation', 'west', 'reporter');
my $north = q(SELECT yquota.federate_cluster('north', ledger => 'public.ledger'));
like(refused($north, 'chief'), qr/^42501: permission denied for table public.ledger/, 'an administrator needs SELECT on the ledger');
sql('federation', 'GRANT SELECT ON ledger TO chief; GRANT USAGE ON FOREIGN SERVER west TO chief');
like(refused($north, 'clerk'), qr/^42501/, 'operators cannot add clusters');
like(refused($north =~ s/ledger'/seen'/r, 'chief'), qr/^42809: "public.seen" is not a table/, 'a view cannot be a ledger');
like(refused($north =~ s/ledger'/other'/r, 'chief'), qr/^42804: table "public.other" is not a ledger of several clusters\nDETAIL:  The table lacks these columns: cluster text.\n/, 'a table without a column for clusters cannot be a ledger');
sql('federation', 'CREATE TABLE theirs (LIKE ledger); ALTER TABLE theirs OWNER TO chief');
like(refused($north =~ s/ledger'/theirs'/r, 'chief'), qr/^42501: table "public.theirs" belongs neither to the owner of yquota nor to a superuser/, 'a table that an administrator owns cannot be a ledger');
like(refused($north =~ s/north/nowhere/r, 'chief'), qr/^22023: table public.ledger has no rows of cluster "nowhere"/, 'the cluster must be in the ledger');
like(refused($north =~ s/ledger =>/'west', /r, 'chief'), qr/^22004: cluster, and either server or ledger/, 'a cluster is read from a ledger or from a server, not from both');
like(refused(q(SELECT yquota.federate_cluster('north')), 'chief'), qr/^22004/, 'a cluster without ledger and server is refused');
sql('federation', "SET ROLE chief; $north; $north");
sql('federation', q(SET ROLE chief; SET search_path = public; SELECT yquota.federate_cluster('south', ledger => 'ledger'), yquota.federate_cluster('west', 'west')));
like(refused(q(SELECT yquota.federate_cluster('west', ledger => 'public.ledger')), 'chief'), qr/^42710: cluster "west" is federated by server "west"\nDETAIL:  The cluster would be read twice./, 'a cluster of a server is not read from a ledger as well');
like(refused(q(SELECT yquota.federate_cluster('north', 'west')), 'chief'), qr/^42710: cluster "north" is federated by ledger public.ledger/, 'a cluster of a ledger is not read from a server as well');
sql('west', 'SELECT yquota.quota_compute()');
is(sql('federation', q(SET ROLE member; SELECT cluster, server, ledger, is_reachable, clock, charged_through, timezone, ahead, problem FROM yquota.federation_status())),
	"north||public.ledger|t||2026-03-04 03:00:00.000007+00|UTC||\nsouth||public.ledger|t||2026-03-04 03:00:00.000007+00|UTC||\nwest|west||t|2026-03-05 12:00:00+00|2026-03-05 12:00:00+00|UTC|00:00:00|",
	'the status shows until when each cluster is known');

#
# Return the federation's figures, and test that they equal the figures of the clusters
#
sub told
{
	my ($database, $first, $last, @by) = @_;
	my $keys = join ', ', @by;

	return sql($database, sprintf(q(SELECT %s amount FROM yquota.federated_cost('%s', '%s', '{%s}') %s), $keys ? "$keys," : '', $first, $last, join(',', @by), $keys ? "ORDER BY $keys" : ''));
}

sub wanted
{
	my ($first, $last, $names, @by) = @_;
	my @own = grep { $_ ne 'cluster' } @by;
	my $of = join ',', grep { $_ ne 'day' } @own;
	my @values;

	foreach my $name (@$names)
	{
		my $columns = join '', map { "quote_nullable($_)" . q( || ', ' || ) } @own;
		push @values, map { "('$name', $_)" } split /\n/, sql($name, "SELECT $columns amount FROM yquota.cost_by_day('$first', '$last', '{$of}')");
	}
	my $keys = join ', ', @by;
	return sql('federation', sprintf('SELECT %s trim_scale(sum(amount)) FROM (VALUES %s) AS v (%s) %s', $keys ? "$keys," : '', join(', ', @values),
		join(', ', 'cluster', @own, 'amount'), $keys ? "GROUP BY $keys ORDER BY $keys" : ''));
}

my @groups = ([], ['cluster'], ['project'], ['queue'], [qw(cluster username)], [qw(cluster project queue)]);

foreach my $by (@groups)
{
	is(told('federation', '2026-02-27', '2026-03-05', @$by), wanted('2026-02-27', '2026-03-05', \@clusters, @$by), "by (@$by): the result is the sum of the clusters, and nothing counts twice");
}
# a charge across midnight is divided by time, which is exact as long as prices do not change
sql('federation', q(SELECT yquota.remove_federated_cluster('south')));
foreach my $by (['day'], [qw(cluster day project)], [qw(day username)])
{
	is(told('federation', '2026-02-27', '2026-03-05', @$by), wanted('2026-02-27', '2026-03-05', [qw(north west)], @$by), "by (@$by): each day is right");
}
is(told('federation', '2026-03-02', '2026-03-02', 'project'), wanted('2026-03-02', '2026-03-02', [qw(north west)], 'project'), 'reports of a single day add up');
sql('federation', q(SELECT yquota.federate_cluster('south', ledger => 'public.ledger')));
isnt(told('federation', '2026-02-28', '2026-02-28', 'cluster'), '', 'the ledger has a first day');
is(sql('federation', q(SELECT trim_scale(sum(amount)) FROM yquota.federated_cost('2026-02-27', '2026-03-05', '{cluster,day}') WHERE cluster = 'south')), wanted('2026-02-27', '2026-03-05', ['south']),
	'days with changing prices add up to the exact sum');
is(sql('federation', q(SELECT cluster, reported_until FROM yquota.federated_cost('2026-03-02', '2026-03-02', '{cluster}') ORDER BY 1)),
	"north|2026-03-04 03:00:00.000007+00\nsouth|2026-03-04 03:00:00.000007+00\nwest|2026-03-05 12:00:00+00", 'each row shows until when it is known');
is(sql('federation', q(SELECT rank, cost.amount = top.amount FROM yquota.federated_top_costs('2026-02-27', '2026-03-05', '{project}', 1) AS top JOIN yquota.federated_cost('2026-02-27', '2026-03-05') AS cost USING (project))), '1|t', 'the most expensive project has the amount of the report');

# The bill of a month is read from the ledger, for clusters that are not known to have closed the
# month
is(sql('federation', q(SELECT project, cluster, amount, closed_at IS NULL, unclosed FROM yquota.federated_bill('2026-03-01') WHERE cluster IS NOT NULL ORDER BY 1, 2)),
	join("\n", map { "$_|{" . (split /\|/, $_)[1] . '}' } split /\n/, sql('federation', q(SELECT project, cluster, amount, true FROM yquota.federated_cost('2026-03-01', '2026-03-31', '{project,cluster}') WHERE cluster <> 'west' ORDER BY 1, 2))), 'bills');
is(sql('federation', q(SELECT DISTINCT unclosed FROM yquota.federated_bill('2026-03-01') WHERE cluster IS NULL)), '{north,south,west}', 'the totals name the unclosed clusters');

# Roles
is(sql('federation', q(SET ROLE member; SELECT DISTINCT project FROM yquota.federated_cost('2026-02-27', '2026-03-05', '{project,queue}'))), 'lab', 'a member sees the own project');
is(sql('federation', q(SET ROLE member; SELECT DISTINCT project FROM yquota.federated_bill('2026-03-01'))), 'lab', 'bills show a member only the own project, too');
like(refused(q(SELECT * FROM yquota.federated_cost('2026-03-01', '2026-03-01')), 'clerk'), qr/^42501/, 'an operator sees no project');
is(sql('federation', q(SELECT offered, problems::text ~ 'north|south' FROM yquota.renew_leases())), '0|f', 'leases do not change the sums of ledgers');

#
# A ledger on another server: only sums are fetched from there.
#
server_of('reader', 'federation', 'postgres');
sql('reader', 'IMPORT FOREIGN SCHEMA public LIMIT TO (ledger) FROM SERVER federation INTO public');
sql('reader', "SELECT yquota.federate_cluster('$_', ledger => 'public.ledger')") foreach @clusters;
is(told('reader', '2026-02-27', '2026-03-05', @$_), wanted('2026-02-27', '2026-03-05', \@clusters, @$_), "foreign, by (@$_): the west's written stretch once") foreach @groups;
is(told('reader', '2026-02-27', '2026-03-05', qw(cluster day)), sql('federation', q(SELECT yquota.remove_federated_cluster('west'); SELECT yquota.federate_cluster('west', ledger => 'public.ledger');
	SELECT cluster, day, amount FROM yquota.federated_cost('2026-02-27', '2026-03-05', '{cluster,day}') ORDER BY 1, 2)) =~ s/^t\n\n//r, 'each day is as in the table itself');
foreach my $by ('', 'day', 'cluster,project', 'day,queue', 'project,username')
{
	my $plan = sql('reader', <<~"SQL");
		DO \$do\$ BEGIN EXECUTE 'PREPARE report (timestamptz, timestamptz, text[], boolean, text[], date) AS ' || yquota_internal.ledger_cost_query('public.ledger', '{$by}'); END \$do\$;
		EXPLAIN (VERBOSE, COSTS OFF) EXECUTE report('2026-03-01', '2026-03-02', '{north,west}', false, '{lab}', '2026-03-01');
		SQL
	my @remote = $plan =~ /Remote SQL: (.*)/g;

	is(scalar(@remote), 1, "by ($by): the ledger gets one query");
	like($remote[0], qr/^SELECT cluster, .*sum\(.*WHERE .*\("to" >= .*"from" < .*cluster = ANY .*project = ANY .* GROUP BY /, 'the query adds up the requested rows') or diag($plan);
}

# The cluster west deletes its written rows and continues to work, and only new rows change the
# reports.
my $before = told('federation', '2026-02-27', '2026-03-05', qw(cluster project));
is(sql('west', q(SELECT status FROM yquota.archive('public.ledger', 'infinity'))), 'archived', 'the west deletes the rows that it has written');
is(told('federation', '2026-02-27', '2026-03-05', qw(cluster project)), $before, 'the deletion changes no sum');
sql('north', q(SELECT yquota.set_clock('2026-03-07 12:00+00')));
work('north', 50, 51);
is(told('federation', '2026-02-27', '2026-03-07', qw(cluster project)), $before, 'days that are not in the ledger are not reported');
archive_until_done($node, 'north', 'public.ledger');
is(sql('federation', q(SELECT charged_through FROM yquota.federation_status() WHERE cluster = 'north')), '2026-03-06 18:00:00.000007+00', 'the status goes on with the archive');
is(told('federation', '2026-02-27', '2026-03-07', 'cluster'), wanted('2026-02-27', '2026-03-07', \@clusters, 'cluster'), 'reports go on with the archive');

# A dump is restored, and the ledger is missing or is no table
my $dump = PostgreSQL::Test::Utils::tempdir . '/federation.sql';
$node->command_ok([ 'pg_dump', '-f', $dump, '-d', $node->connstr('federation') ], 'pg_dump');
sql('postgres', 'CREATE DATABASE restored TEMPLATE template0');
$node->command_ok([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-f', $dump, '-d', $node->connstr('restored') ], 'psql');
is(told('restored', '2026-02-27', '2026-03-05', qw(cluster day project)), told('federation', '2026-02-27', '2026-03-05', qw(cluster day project)), 'a restored federation reports the same');
sql('federation', 'ALTER TABLE ledger RENAME TO elsewhere');
like(refused(q(SELECT * FROM yquota.federated_cost('2026-03-01', '2026-03-01'))), qr/^08006: cannot read all clusters: missing north, south, west\nDETAIL:  north: relation "public.ledger" does not exist/, 'a cluster is missing when its ledger is gone');
sql('federation', 'CREATE VIEW ledger AS SELECT * FROM elsewhere');
like(refused(q(SELECT * FROM yquota.federated_cost('2026-03-01', '2026-03-01'))), qr/^08006: .*north: "public.ledger" is not a table/s, 'a view is not read instead of the ledger');
is(sql('federation', "SELECT yquota.remove_federated_cluster('south'), yquota.remove_federated_cluster('south')"), 't|f', 'still, the cluster can be removed, once');

$node->stop;
done_testing();
