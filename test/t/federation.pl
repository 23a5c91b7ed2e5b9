# A single database reads several clusters by postgres_fdw. It reads their costs, top lists and bills, as sums and
# for each cluster, for the roles that may see them. Each cluster adds up its own days. A cluster that cannot be
# read is never left out silently.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my %node = map { $_ => PostgreSQL::Test::Cluster->new($_) } qw(near far);
my %node_of = (federation => 'near', east => 'near', west => 'near', north => 'far');
my %clock = (federation => '2026-03-05 12:00+00', east => '2026-03-05 12:00+00', west => '2026-03-05 11:30+00', north => '2026-03-05 12:01+00');
my @clusters = qw(east west north);

foreach my $node (values %node)
{
	$node->init;
	$node->append_conf('postgresql.conf', "fsync = off\nautovacuum = off\njit = off");
	$node->start;
	$node->safe_psql('postgres', 'CREATE ROLE reporter LOGIN');
}

sub sql
{
	my ($database, $query, %options) = @_;

	return $node{ $node_of{$database} }->safe_psql($database, $query, %options);
}

# Return the error of a statement that a role runs in the federation.
sub refused
{
	my ($query, $role) = @_;
	my ($code, $out, $error) = $node{near}->psql('federation', ($role ? "SET ROLE $role;" : '') . "\\set VERBOSITY verbose\n$query");

	isnt($code, 0, "refused: $query");
	return $error =~ /ERROR:  (.*?)\nLOCATION/s ? $1 =~ s/\nCONTEXT:.*//sr : $error;
}

# Create a cluster with its own prices, projects and containers.
sub make_cluster
{
	my ($name, $vcores, $other_project) = @_;

	$node{ $node_of{$name} }->safe_psql('postgres', "CREATE DATABASE $name");
	sql($name, <<~"SQL");
		CREATE EXTENSION IF NOT EXISTS yquota;
		INSERT INTO yquota.cluster_setting (cluster_name) VALUES ('$name');
		SELECT yquota.set_clock('$clock{$name}');
		SELECT yquota.allow_role('reporter', 'viewer');
		INSERT INTO yquota.project (name) VALUES ('lab'), ('$other_project');
		INSERT INTO yquota.container_event (event, container_id, occurred_at, project, username, queue, allocation)
		SELECT 'CONTAINER_START', format('container_%s', i), timestamptz '2026-02-27 22:00+00' + i * interval '3 h',
			   CASE WHEN i % 2 = 0 THEN 'lab' ELSE '$other_project' END, format('user%s', i % 3), format('root.q%s', i % 2), '[vcores=$vcores]'
		FROM generate_series(1, 40) AS i;
		INSERT INTO yquota.container_event (event, container_id, occurred_at)
		SELECT 'CONTAINER_FINISH', format('container_%s', i), timestamptz '2026-02-28 03:00:00.000007+00' + i * interval '3 h'
		FROM generate_series(1, 35) AS i;
		SQL
	return;
}

make_cluster('east', 2, 'sky');
make_cluster('west', 1, 'sea');
make_cluster('north', 3, 'ice');
sql('east', q(SELECT yquota.set_base_price('vcores', 1.37, effective_at => '2026-03-05 12:00:01+00')));

$node{near}->safe_psql('postgres', 'CREATE DATABASE federation; CREATE ROLE chief; CREATE ROLE member; CREATE ROLE clerk; CREATE ROLE stranger');
sql('federation', <<~"SQL");
	CREATE EXTENSION IF NOT EXISTS yquota;
	CREATE EXTENSION postgres_fdw;
	CREATE EXTENSION file_fdw;
	SELECT yquota.set_clock('$clock{federation}');
	CREATE SERVER files FOREIGN DATA WRAPPER file_fdw;
	INSERT INTO yquota.project (name) VALUES ('lab');
	SELECT yquota.allow_role('chief', 'admin'), yquota.allow_role('member', 'member', 'lab'), yquota.allow_role('clerk', 'operator');
	SQL
foreach my $name (@clusters)
{
	sql('federation', sprintf(<<~'SQL', $name, $node{ $node_of{$name} }->host, $node{ $node_of{$name} }->port, $name, $name));
		CREATE SERVER %s FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '%s', port '%s', dbname '%s', async_capable 'true', connect_timeout '5');
		CREATE USER MAPPING FOR CURRENT_USER SERVER %s OPTIONS (user 'reporter');
		SQL
}

# Add the clusters to the federation
like(refused(q(SELECT * FROM yquota.federated_cost('2026-03-01', '2026-03-02'))), qr/^55000: no cluster has been federated/, 'without clusters there is no report');
like(refused(q(SELECT yquota.federate_cluster('east', 'east')), 'chief'), qr/^42501: permission denied for foreign server east/, 'an administrator needs USAGE on the server');
sql('federation', 'GRANT USAGE ON FOREIGN SERVER east, west, north, files TO chief');
like(refused(q(SELECT yquota.federate_cluster('east', 'nowhere')), 'chief'), qr/^42704: server "nowhere" does not exist/, 'the server must exist');
like(refused(q(SELECT yquota.federate_cluster('east', 'files')), 'chief'), qr/^42809: server "files" is of foreign-data wrapper "file_fdw"/, 'the server must be of postgres_fdw');
like(refused(q(SELECT yquota.federate_cluster('east', 'west')), 'chief'), qr/^22023: database of server "west" is cluster "west", not "east"/, 'the server must be one of the named cluster');
like(refused(q(SELECT yquota.federate_cluster('east', 'east')), 'clerk'), qr/^42501/, 'operators cannot add clusters');
sql('federation', "SET ROLE chief; SELECT yquota.federate_cluster('$_', '$_'), yquota.federate_cluster('$_', '$_')") foreach @clusters;
like(refused(q(SELECT yquota.federate_cluster('east', 'west')), 'chief'), qr/^42710: cluster "east" is federated by server "east"/, 'two servers cannot have the same cluster');
like(refused(q(UPDATE yquota.federated_cluster SET server = 'west' WHERE cluster = 'east'), 'chief'), qr/^55000/, 'the server of a cluster cannot be changed');
is(sql('federation', q(SELECT string_agg(format('%s %s %s', operation, new->>'cluster', session_role), ', ' ORDER BY audit_id) FROM yquota.audit WHERE table_name = 'yquota.federated_cluster')),
	'INSERT east postgres, INSERT west postgres, INSERT north postgres', 'the audit has the change');
is(sql('federation', q(SET ROLE chief; SELECT cluster, is_reachable, clock, ahead, timezone FROM yquota.federation_status())),
	"east|t|2026-03-05 12:00:00+00|00:00:00|UTC\nnorth|t|2026-03-05 12:01:00+00|00:01:00|UTC\nwest|t|2026-03-05 11:30:00+00|-00:30:00|UTC", 'each cluster has its own clock');

# wanted(FIRST, LAST, COLUMNS): return the figures of all clusters, added up.
sub wanted
{
	my ($first, $last, @by) = @_;
	my @own = grep { $_ ne 'cluster' } @by;
	my $names = join ',', grep { $_ ne 'day' } @own;
	my @values;

	foreach my $name (@clusters)
	{
		my $columns = join '', map { "quote_nullable($_)" . q( || ', ' || ) } @own;
		push @values, map { "('$name', $_)" } split /\n/, sql($name, "SELECT $columns amount FROM yquota.cost_by_day('$first', '$last', '{$names}')");
	}
	my $columns = join ', ', 'cluster', @own, 'amount';
	my $keys = join ', ', @by;
	return sql('federation', sprintf('SELECT %s trim_scale(sum(amount)) FROM (VALUES %s) AS v (%s) %s', $keys ? "$keys," : '', join(', ', @values), $columns,
		$keys ? "GROUP BY $keys ORDER BY $keys" : ''));
}

sub told
{
	my ($first, $last, @by) = @_;
	my $keys = join ', ', @by;

	return sql('federation', sprintf(q(SELECT %s amount FROM yquota.federated_cost('%s', '%s', '{%s}') %s), $keys ? "$keys," : '', $first, $last, join(',', @by), $keys ? "ORDER BY $keys" : ''));
}

my @groups = ([], ['cluster'], ['project'], [qw(cluster day project)], ['queue'], [qw(day queue)], ['username'], [qw(cluster project username)]);
my %before;

foreach my $by (@groups)
{
	$before{"@$by"} = told('2026-02-28', '2026-03-05', @$by);
	is($before{"@$by"}, wanted('2026-02-28', '2026-03-05', @$by), "by (@$by): the result is the sum of the clusters");
	is(told('2026-03-02', '2026-03-02', @$by), wanted('2026-03-02', '2026-03-02', @$by), "by (@$by): the result for one day");
}
is($before{''}, join('', map { sql('federation', "SELECT trim_scale($_)") } join ' + ', map { sql($_, q(SELECT amount FROM yquota.cost_between('-infinity', 'infinity', '{}'))) } @clusters), 'the days add up to the whole history');
is(sql('federation', q(SELECT DISTINCT reported_until, missing FROM yquota.federated_cost('2026-02-28', '2026-03-05') ORDER BY 1)), '2026-03-05 11:30:00+00|{}
2026-03-05 12:00:00+00|{}
2026-03-05 12:01:00+00|{}', 'a sum is known until the earliest clock of its clusters');
is(sql('federation', q(SELECT cluster, reported_until FROM yquota.federated_cost('2026-03-05', '2026-03-05', '{cluster}') ORDER BY cluster)),
	"east|2026-03-05 12:00:00+00\nnorth|2026-03-05 12:01:00+00\nwest|2026-03-05 11:30:00+00", 'reported until the reader\'s own clock');
is(sql('federation', q(SELECT cost.amount = top.amount, top.rank, top.share = round(top.amount / whole.amount, 6)
	FROM yquota.federated_top_costs('2026-02-28', '2026-03-05', '{cluster,username}', 2) AS top
	JOIN yquota.federated_cost('2026-02-28', '2026-03-05', '{cluster,username}') AS cost USING (cluster, username)
	CROSS JOIN yquota.federated_cost('2026-02-28', '2026-03-05', '{}') AS whole ORDER BY rank)), "t|1|t\nt|2|t", 'the most expensive projects');

# Bills
sub close_period
{
	my ($name, $until) = @_;

	1 until sql($name, "SELECT closed_at IS NOT NULL FROM yquota.close_period('$until')") eq 't';
	return;
}
close_period($_, '2026-03-01 00:00+00') foreach qw(east west);
my $issued = join ', ', map {
	my $name = $_;
	map { "('$name', '$_', " . sql($name, qq(SELECT trim_scale(- coalesce(sum(amount), 0)) FROM yquota.bill('$_', '2026-03-01 00:00+00') WHERE item IN ('charge', 'correction'))) . ')' }
	  split /\n/, sql($name, 'SELECT name FROM yquota.project')
} qw(east west);
is(sql('federation', q(SELECT project, cluster, amount, closed_at IS NOT NULL, unclosed, missing FROM yquota.federated_bill('2026-02-15'))),
	sql('federation', "SELECT project, cluster, trim_scale(sum(amount)), true, CASE WHEN cluster IS NULL THEN '{north}'::text[] ELSE '{}' END, '{}'::text[] FROM (VALUES $issued) AS v (cluster, project, amount) WHERE amount <> 0 GROUP BY GROUPING SETS ((project, cluster), (project)) ORDER BY project COLLATE \"C\", cluster COLLATE \"C\" NULLS LAST"),
	'bills are those that the clusters have issued, per cluster and in sum');
is(sql('federation', q(SET ROLE member; SELECT DISTINCT project FROM yquota.federated_bill('2026-02-01'))), 'lab', 'members see their own projects');
# a late event is on the next bill
sql('east', q(INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES ('CONTAINER_START', 'late', '2026-03-02 00:00+00', 'sky', '[vcores=1]'), ('CONTAINER_FINISH', 'late', '2026-03-02 01:00+00', NULL, NULL)));
close_period('east', '2026-03-03 00:00+00');
sql('east', q(SELECT * FROM yquota.void_events('late', 'wrong')));
close_period('east', '2026-03-04 00:00+00');
is(sql('federation', q(SELECT cluster, corrected, unclosed FROM yquota.federated_bill('2026-03-01') WHERE project = 'sky')), "east|-3600|{east}\n|-3600|{east,north,west}", 'a correction is on the bill of the next period');

my $bills = q(SELECT month, bill.* FROM (VALUES (date '2026-02-01'), ('2026-03-01')) AS v (month), yquota.federated_bill(month) AS bill ORDER BY month, project, cluster);
my $billed = sql('federation', $bills);

$before{"@$_"} = told('2026-02-28', '2026-03-05', @$_) foreach @groups;

# A cluster's own history moves, and the reports do not change.
is(sql('east', 'SELECT yquota.roll_up_charges() > 0; SELECT yquota.seal_history()') =~ /^[tf]\n1$/, 1, 'history is sealed');
sql('east', <<~'SQL');
	CREATE TABLE public.archived (LIKE yquota.charge);
	SELECT * FROM yquota.archive('public.archived', 'infinity');
	SQL
is(sql('east', 'SELECT count(*) > 20 FROM public.archived'), 't', 'history is archived');
is(told('2026-02-28', '2026-03-05', @$_), $before{"@$_"}, "by (@$_): archived days are in it") foreach @groups;
is(sql('federation', $bills), $billed, 'bills of archived days are in the report');

# Bad questions
like(refused(q(SELECT * FROM yquota.federated_cost('2026-03-02', '2026-03-01'))), qr/^22023: last day 2026-03-01 comes before the first one/, 'the last day is before the first');
like(refused(q(SELECT * FROM yquota.federated_cost('2026-03-01', NULL))), qr/^22004/, 'the last day is missing');
like(refused(q(SELECT * FROM yquota.federated_cost('2026-03-01', '2026-03-01', '{node}'))), qr/^22023: cannot group costs of clusters by node/, 'a grouping column does not exist');
like(refused(q(SELECT * FROM yquota.federated_cost('2026-03-01', '2026-03-01', '{queue,username}'))), qr/^22023: cannot group costs of clusters by both/, 'a grouping column is given twice');
like(refused(q(SELECT * FROM yquota.federated_top_costs('2026-03-01', '2026-03-01', top => 0))), qr/^22023/, 'a report without rows');

# Roles
my $of_lab = join ' + ', map { sql($_, q(SELECT sum(amount) FROM yquota.cost_by_day('2026-02-28', '2026-03-05') WHERE project = 'lab')) } @clusters;
is(sql('federation', "SET ROLE member; SELECT project, amount = $of_lab FROM yquota.federated_cost('2026-02-28', '2026-03-05')"), 'lab|t', 'a member sees only the own project, in all clusters');
is(sql('federation', q(SET ROLE member; SELECT DISTINCT project FROM yquota.federated_cost('2026-02-28', '2026-03-05', '{project,queue}'))), 'lab', 'a member may group by queue as well');
like(refused(q(SELECT * FROM yquota.federated_cost('2026-03-01', '2026-03-01')), $_), qr/^42501: permission denied for function federated_cost/, "$_: none") foreach qw(clerk stranger);
like(refused('SELECT * FROM yquota_internal.federated_project_day', 'member'), qr/^42501/, 'no role can read the foreign tables');

# The plan: each cluster adds up the requested days, and only the sums are fetched.
sub plan_of
{
	my ($by, $clusters) = @_;
	my $clocks = join ',', map { "'2026-03-05 12:00+00'" } split /,/, $clusters;

	return sql('federation', <<~"SQL");
		SET enable_partitionwise_aggregate = on;
		DO \$do\$ BEGIN EXECUTE 'PREPARE report (date, date, text[], timestamptz[], boolean, text[]) AS ' || yquota_internal.federated_cost_query('{$by}'); END \$do\$;
		EXPLAIN (VERBOSE, COSTS OFF) EXECUTE report('2026-03-01', '2026-03-03', '{$clusters}', ARRAY[$clocks]::timestamptz[], true, NULL);
		SQL
}
foreach my $by ('', 'project', 'cluster,day,project', 'queue', 'project,username')
{
	my $plan = plan_of($by, 'east,west,north');
	my @remote = $plan =~ /Remote SQL: (.*)/g;

	is(scalar(grep { /^SELECT cluster.*, sum\(amount\) FROM yquota\.charge_by_\w+_day WHERE \(\(day >= '2026-03-01'\)\) AND \(\(day <= '2026-03-03'\)\).* GROUP BY 1/ } @remote), 3,
		"by ($by): three clusters add up the days asked for") or diag($plan);
	is(scalar(@remote), 3, 'the clusters get no other query');
	is(scalar(() = $plan =~ /Async Foreign Scan/g), 3, 'the queries run at the same time');
}
is(scalar(() = plan_of('project', 'west') =~ /Foreign Scan/g), 1, 'a cluster that the report does not name is not read');
my $remote_plan = sql('east', q(EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) SELECT cluster, project, sum(amount) FROM yquota.charge_by_project_day WHERE day >= '2026-03-01' AND day <= '2026-03-03' GROUP BY 1, 2));
like($remote_plan, qr/Function Scan on cost_by_day cost \(actual rows=\d+ loops=3\)/, 'a cluster looks at three days of its history');

# A cluster that cannot be read
$node{far}->stop('immediate');
like(refused(q(SELECT * FROM yquota.federated_cost('2026-03-01', '2026-03-01'))), qr/^08006: cannot read all clusters: missing north\nDETAIL:  north: could not connect to server "north".*\nHINT:  .*skip_unreachable/s, 'a missing cluster is an error that names it');
like(refused(q(SELECT * FROM yquota.federated_bill('2026-03-01'))), qr/^08006: cannot read all clusters: missing north/, 'a missing cluster is an error for bills');
like(refused(q(SELECT * FROM yquota.federated_top_costs('2026-03-01', '2026-03-01'))), qr/^08006/, 'a missing cluster is an error for top lists');
my ($code, $out, $error) = $node{near}->psql('federation', q(SELECT DISTINCT missing FROM yquota.federated_cost('2026-03-01', '2026-03-01', skip_unreachable => true)));
is($out, '{north}', 'a report may go on without a cluster; then each row names the missing cluster');
like($error, qr/WARNING:  report leaves out clusters north/, 'a report without the cluster gives a warning');
is(sql('federation', q(SELECT cluster FROM yquota.federated_cost('2026-03-01', '2026-03-01', '{cluster}', true) ORDER BY 1)), "east\nwest", 'the report has the other clusters');
like(sql('federation', q(SELECT is_reachable, clock IS NULL, problem FROM yquota.federation_status() WHERE cluster = 'north')), qr/^f\|t\|could not connect to server "north"$/, 'the status shows the error without an address');
$node{far}->start;
is(told('2026-02-28', '2026-03-05', 'cluster', 'project'), wanted('2026-02-28', '2026-03-05', 'cluster', 'project'), 'when the cluster is back, the report has its part');
sql('west', q(UPDATE yquota.cluster_setting SET cluster_name = 'east'));
like(refused(q(SELECT * FROM yquota.federated_cost('2026-03-01', '2026-03-01'))), qr/^08006: .*west: database of server "west" is no longer called "west"/s, 'a server that now has another cluster counts as missing');
sql('west', q(UPDATE yquota.cluster_setting SET cluster_name = 'west'));

# A dump includes everything, and is restored after the foreign servers.
my $dump = PostgreSQL::Test::Utils::tempdir . '/federation.sql';
$node{near}->command_ok([ 'pg_dump', '-f', $dump, '-d', $node{near}->connstr('federation') ], 'pg_dump');
$node{near}->safe_psql('postgres', 'CREATE DATABASE restored TEMPLATE template0');
$node{near}->command_ok([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-f', $dump, '-d', $node{near}->connstr('restored') ], 'psql');
$node_of{restored} = 'near';
my $report = q(SELECT * FROM yquota.federated_cost('2026-02-28', '2026-03-05', '{cluster,project}') ORDER BY cluster, project);
is(sql('restored', $report), sql('federation', $report), 'a restored federation reports the same');

# Clusters can be removed while they are down.
$node{far}->stop('immediate');
is(sql('restored', q(SELECT yquota.remove_federated_cluster('north'), yquota.remove_federated_cluster('north'))), 't|f', 'an unreachable cluster can be removed, once');
is(sql('restored', q(SELECT cluster FROM yquota.federated_cost('2026-03-01', '2026-03-01', '{cluster}') ORDER BY 1)), "east\nwest", 'reports do not need the removed cluster');
sql('restored', q(SELECT yquota.remove_federated_cluster('east'); SELECT yquota.federate_cluster('east', 'east')));
is(sql('restored', q(SELECT cluster FROM yquota.federated_cost('2026-03-01', '2026-03-01', '{cluster}') ORDER BY 1)), "east\nwest", 'a removed cluster can be added again');
is(sql('restored', q(DROP EXTENSION yquota; SELECT count(*) FROM pg_foreign_table)), '0', 'DROP EXTENSION removes all clusters');

# The commands of the page about scale-out run in the order of the page
my $page = slurp_file('docs/scale-out.md');
my %documented = (cluster => [], federation => []);
push @{ $documented{$1} }, $2 while $page =~ /^```(cluster|federation)\n(.*?)^```$/msg;
is(scalar @{ $documented{cluster} }, 1, 'the page has commands for a cluster');
cmp_ok(scalar @{ $documented{federation} }, '>=', 2, 'the page has commands for the federation');
$node{far}->start;
foreach my $name (qw(east west federation))
{
	$node{far}->safe_psql('postgres', "CREATE DATABASE $name TEMPLATE template0");
	$node{far}->safe_psql($name, "CREATE EXTENSION yquota; INSERT INTO yquota.project (name) VALUES ('lab'); $documented{cluster}[0]") if $name ne 'federation';
}
my ($host, $port) = ($node{far}->host, $node{far}->port);
my $told = join "\n", map { $node{far}->safe_psql('federation', s/'127\.0\.0\.1'/'$host'/gr =~ s/'5432'/'$port'/gr) } @{ $documented{federation} };
like($told, qr/^1000000\|0\|500000\|0\|500000$/m, 'the commands have the results that the page describes');
is($node{far}->safe_psql('federation', 'SELECT offered, taken FROM yquota.renew_leases()'), '0|2', 'the next call leases');

$_->stop foreach values %node;
done_testing();
