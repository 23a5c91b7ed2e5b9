# The examples of docs/feeding.md work, in the order of the page. They need a ResourceManager, a spool and an audit log.
# So programs in the path answer instead of the ResourceManager and its hook, and the files are in a directory of the
# test. The examples of other pages run in documentation.pl.

use strict;
use warnings;

use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $page = slurp_file('docs/feeding.md');
my $directory = PostgreSQL::Test::Utils::tempdir;
my $tree = $ENV{PWD};
my @blocks;

while ($page =~ /^```(\w+)\n(.*?)^```$/msg)
{
	push @blocks, { kind => $1, text => $2 };
}
my ($event) = map { $_->{text} } grep { $_->{kind} eq 'json' } @blocks;

# lines of the audit log, in the time zone Europe/Berlin, which is two hours ahead of UTC then
my $audit_log = join '', map {
	my ($at, $operation, $number) = @$_;
	"2025-03-30 $at,000 INFO resourcemanager.RMAuditLogger: USER=lab__ann\tOPERATION=AM $operation Container\tTARGET=SchedulerApp"
	  . "\tRESULT=SUCCESS\tAPPID=application_1_0001\tCONTAINERID=container_1_0001_01_00000$number\tRESOURCE=<memory:1024, vCores:2>\tQUEUENAME=root.prod\n"
} ([ '10:00:00', 'Allocated', 1 ], [ '10:30:00', 'Released', 1 ], [ '11:00:00', 'Allocated', 2 ]);

sub program
{
	my ($name, $script) = @_;

	append_to_file("$directory/bin/$name", "#!/bin/sh\n$script\n");
	chmod 0755, "$directory/bin/$name";
	return;
}

mkdir "$directory/$_" foreach qw(bin spool);
append_to_file("$directory/rm-audit.log", $audit_log);
append_to_file("$directory/event", $event);
program('resource-manager-hook', "cat '$directory/event'");
program('yquota_feed', "exec perl '$tree/docs/examples/yquota_feed' \"\$@\"");
program('curl', <<'SCRIPT');
case $2 in
*/nodes) echo '{"nodes": {"node": [{"state": "RUNNING", "id": "node17:1", "nodeHostName": "node17", "rack": "/r1", "totalResource": {"memory": 16384, "vCores": 8}}]}}' ;;
*/metrics) echo '{"clusterMetrics": {"allocatedMB": 8192, "totalMB": 16384, "allocatedVirtualCores": 2, "totalVirtualCores": 8}}' ;;
esac
SCRIPT

my $node = PostgreSQL::Test::Cluster->new('feeding_examples');
$node->init;
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'yquota'");
$node->start;
foreach my $database (qw(work cutover))
{
	$node->safe_psql('postgres', "CREATE DATABASE $database");
	$node->safe_psql($database, q{
		CREATE EXTENSION IF NOT EXISTS yquota;
		SELECT yquota.set_clock('2025-03-30 13:00+00');
		INSERT INTO yquota.project (name) VALUES ('fraud'), ('lab')});
}

sub sql { return $node->safe_psql('work', $_[0]); }

# The next block of the page that is run. Its files are below the test's directory, and its services end.
my ($next, $ran) = (0, 0);

sub next_block
{
	my ($kind) = @_;

	$next++ while $blocks[$next]{kind} !~ /^(?:sql|sh)$/;
	is($blocks[$next]{kind}, $kind, "block $next is $kind");
	$ran++;
	return $blocks[ $next++ ]{text} =~ s{/var/(?:spool/yquota|log/hadoop-yarn/)}{index($&, 'spool') > 0 ? "$directory/spool" : "$directory/"}egr =~ s/ --follow\b//r;
}

# Run an example of SQL as a role. Return its output.
sub run_sql
{
	my ($name, $role, $sql, $database) = @_;
	my ($output, $errors) = ('', '');

	IPC::Run::run([ 'psql', '-XqAt', '-v', 'ON_ERROR_STOP=1', '-v', "lines=$audit_log", '-d', $node->connstr($database // 'work'), '-U', $role ],
		'<', \$sql, '>', \$output, '2>', \$errors);
	is($errors, '', "$name: no error and no warning");
	return $output;
}

# Run an example of the shell as the feed.
sub run_shell
{
	my ($name, $script) = @_;
	local %ENV = (%ENV, PATH => "$directory/bin:$ENV{PATH}", PGHOST => $node->host, PGPORT => $node->port, PGDATABASE => 'work', PGUSER => 'feeder', PSQLRC => '/dev/null');
	my ($output, $errors) = ('', '');

	ok(IPC::Run::run([ 'sh', '-eu', '-c', $script ], '<', \undef, '>', \$output, '2>', \$errors), "$name: ends without an error");
	is($errors, '', "$name: no warning");
	return $output;
}

my $superuser = getpwuid($<);

run_sql('the role of a feed', $superuser, next_block('sql'));
is(sql(q{SELECT kind FROM yquota.role_grant WHERE role = 'feeder'}), 'operator', 'the feed is an operator');
$node->safe_psql('cutover', q{SELECT yquota.allow_role('feeder', 'operator')});

run_sql('the greatest age', $superuser, next_block('sql'));
$node->poll_query_until('work', q{SELECT current_setting('yquota.max_event_age') = '365d'}) or BAIL_OUT('the setting does not change');
sql(q{SET ROLE feeder; SET yquota.on_bad_event = set_aside_quietly;
	INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES ('CONTAINER_START', 'old', '2024-01-01 00:00+00', 'fraud', '[vcores=1]')});
is(sql(q{SELECT container_id FROM yquota.event_reject}), 'old', 'a START that is too old is set aside');
sql('DELETE FROM yquota.event_reject');

run_sql('the columns of a batch', 'feeder', next_block('sql') . join("\t", 'CONTAINER_START', 'c0', '2025-03-30 09:00+00', 'fraud', 'app', 'ann', 'root.prod', 'node17', '[vcores=1]', 'GUARANTEED', 'rm-1') . "\n\\.\n");
is(sql(q{SELECT container_id, node, source FROM yquota.container_event JOIN yquota.container USING (container_id, node)}), 'c0|node17|rm-1', 'the event has its columns');

run_shell('nodes and metrics', next_block('sh'));
is(sql('SELECT name, rack, total FROM yquota.node'), 'node17|/r1|[memory-mb=16384,vcores=8]', 'the node is registered');
is(sql('SELECT resource_type, trim_scale(utilization) FROM yquota.utilization ORDER BY 1'), "memory-mb|0.5\nvcores|0.25", 'the utilization is reported');

my $costs = q{SELECT container_id, cost FROM yquota.container_cost ORDER BY 1};
is(run_shell('JSON lines', next_block('sh')), "1\n", 'the line is safe on disk');
my $paid = sql($costs);
is($paid, "c0|14400\nc1|43200", 'the line is charged');
is(sql(q{SELECT count(*) FROM yquota.feed_status WHERE source = 'rm-1' AND rejected = 0}), '1', 'the feed has a status');

sql(q{SET ROLE feeder; SET yquota.on_bad_event = set_aside_quietly;
	INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation, source) VALUES
		('CONTAINER_START', 'r1', '2025-03-30 12:59+00', 'ads', '[vcores=1]', 'rm-1'), ('CONTAINER_START', 'r2', '2025-03-30 12:59+00', 'ads', '[vcores=1]', 'rm-2');
	RESET ROLE; INSERT INTO yquota.project (name) VALUES ('ads')});
is(run_sql('rejected events', $superuser, join '', reverse split /^/m, next_block('sql')), "1|1|0\n1|1|0\n", 'events are accepted from one source, then from all');
$paid .= "\nr1|60\nr2|60";

run_shell('a failover', next_block('sh'));
is(sql(q{SELECT count(*) FROM yquota.container_event WHERE container_id = 'c1'}), '2', 'the line is sent again');
is(sql($costs), $paid, 'and changes no cost');

my $differences = run_sql('the running containers', 'feeder', next_block('sql'));
is(join("\n", map { join '|', (split /\|/)[ 0, 1 ] } split /\n/, $differences), "finish|c0\nfinish|c1\nstart|container_e17_1_0001_01_000002", 'the differences are returned');
is(sql($costs), $paid, 'and nothing is changed');

my ($node_lost) = $page =~ /`(SELECT \* FROM yquota\.node_lost\(.*?\))`/s;
is(run_sql('a lost node', 'feeder', "BEGIN; SELECT count(*) FROM ($node_lost) AS lost; ROLLBACK"), "1\n", 'the container of the node is finished');

sql(q{SELECT yquota.set_clock('2026-03-02 12:00+00');
	INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation, source) VALUES
		('CONTAINER_START', 'wrong', '2026-03-02 09:30+00', 'fraud', '[vcores=1]', 'rm2'), ('CONTAINER_FINISH', 'wrong', '2026-03-02 09:31+00', NULL, NULL, 'rm2')});
my ($void) = $page =~ /^ +(BEGIN;\n.*?ROLLBACK;)$/ms;
is(run_sql('a void', $superuser, $void), "fraud|1|60\n", 'a void shows what it would take back');

my ($import_file, $import_text) = split /^(?=SELECT .*:'lines')/m, next_block('sql');
is(run_sql('the audit log', $superuser, $import_file), "3|2|1|0|0|0|2025-03-30 09:00:00+00|0|0\n", 'the lines of the audit log become events');
is(run_sql('the audit log again', $superuser, $import_text), "3|0|0|3|0|0|2025-03-30 09:00:00+00|0|0\n", 'and change nothing twice');

run_sql('rights to read files', $superuser, next_block('sql'));
is(run_sql('the audit log, by the feed', 'feeder', $import_file), "3|0|0|3|0|0|2025-03-30 09:00:00+00|0|0\n", 'the feed reads the file');

my ($open_books) = $page =~ /^ +(SELECT yquota\.open_books\(.*?;)$/m;
my ($balance) = $page =~ /^ +(INSERT INTO yquota\.quota_grant .*?;)$/m;
my ($since) = $page =~ /`(cost_between\('2025-04-01.*?)`/s;
run_sql('the instant of a cutover', $superuser, $open_books, 'cutover');
$node->safe_psql('cutover', q{SELECT yquota.set_clock('2025-04-01 01:00 Europe/Stockholm');
	INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES ('CONTAINER_START', 'c', '2025-03-31 12:00+00', 'lab', '[vcores=1]')});
run_sql('the balance of another system', $superuser, $balance, 'cutover');
is(run_sql('what was charged since then', $superuser, "SELECT project, amount FROM yquota.$since", 'cutover'), "lab|3600\n", 'only time since the instant is charged');
is($node->safe_psql('cutover', q{SELECT remaining FROM yquota.project_balance WHERE project = 'lab'}), '1400.25', 'the balance goes on');

is($ran, scalar(grep { $_->{kind} =~ /^(?:sql|sh)$/ } @blocks), 'every block has run');
is($node->safe_psql($_, 'SELECT count(*) FROM yquota.verify()'), '0', "$_: the books are right") foreach qw(work cutover);

$node->stop;
done_testing();
