# Queues.pm: decisions about queues, changes of queues, the import and export of their
# configuration, and submissions to them.
package Queues;

use strict;
use warnings;

use Bench;
use Cluster;
use Report;

# Six levels of queues: at full size 10 queues below root, 10 below each of them, and then 5, 3 and
# 5. Further leaves are those that rules name.
sub configuration
{
	return sprintf <<'SQL', size('queue_branches'), size('mapping_rules');
CREATE EXTENSION yquota;
BEGIN;
INSERT INTO yquota.scheduler_setting (acl_enable) VALUES (true);
INSERT INTO yquota.queue (path, acl_submit_applications, acl_administer_queue) VALUES ('root', ' ', ' ');
INSERT INTO yquota.queue (path, capacity) SELECT 'root.a' || a, '1w' FROM generate_series(1, %1$d) AS a;
INSERT INTO yquota.queue (path, capacity) SELECT path || '.b' || n, '1w' FROM yquota.queue, generate_series(1, 10) AS n WHERE path ~ 'a\d+$';
INSERT INTO yquota.queue (path, capacity) SELECT path || '.c' || n, '1w' FROM yquota.queue, generate_series(1, 5) AS n WHERE path ~ 'b\d+$';
INSERT INTO yquota.queue (path, capacity) SELECT path || '.d' || n, '1w' FROM yquota.queue, generate_series(1, 3) AS n WHERE path ~ 'c\d+$';
INSERT INTO yquota.queue (path, capacity, acl_submit_applications)
SELECT path || '.e' || n, '1w', format('u%%s,u%%s g%%s,g%%s', n, n * 2, n, n * 3) FROM yquota.queue, generate_series(1, 5) AS n WHERE path ~ 'd\d+$';
INSERT INTO yquota.queue (path, capacity) SELECT 'root.leaf' || n, '1w' FROM generate_series(1, 400) AS n;
INSERT INTO yquota.mapping_rule (kind, position, type, matches, queue)
SELECT 'legacy', n, CASE n %% 2 WHEN 0 THEN 'user' ELSE 'group' END, CASE n %% 2 WHEN 0 THEN 'u' ELSE 'g' END || n, 'root.leaf' || 1 + n %% 400
FROM generate_series(1, %2$d) AS n;
COMMIT;
SQL
}

# Return decisions per second. The first run fills caches. The counted rows must be some of the decisions, neither all
# nor none.
sub rate
{
	my ($session, $query, $decisions) = @_;
	my $positive = $session->run($query);

	die "$positive of $decisions decisions are positive\n" if $positive == 0 || $positive == $decisions;
	my @milliseconds = map { scalar $session->milliseconds($query) } 1 .. repetitions();
	return $decisions / median(@milliseconds) * 1000;
}

sub decisions_case
{
	my $database = 'queues';

	Cluster::copy_database($database);
	Cluster::once($database, configuration());
	Cluster::once($database, 'VACUUM ANALYZE');
	my $session = Cluster->new($database);
	my $decisions = size('queue_decisions');
	my $queues = Cluster::once($database, 'SELECT count(*) FROM yquota.queue');
	my ($branches, $rules) = (size('queue_branches'), size('mapping_rules'));

	my $checks = rate($session, <<"SQL", $decisions);
SELECT count(*) FILTER (WHERE (checked).allowed)
FROM (SELECT yquota.check_queue_access('u' || n % 20, ARRAY['g' || n % 10, 'x'],
			 format('root.a%s.b%s.c%s.d%s.e%s', 1 + n % $branches, 1 + n % 7, 1 + n % 5, 1 + n % 3, 1 + n % 5), 'SUBMIT_APPLICATIONS') AS checked
	  FROM generate_series(1, $decisions) AS n OFFSET 0) AS c
SQL
	Report::add("ACL checks in one session, $queues queues", figure => $checks, figure_unit => '/s', value => $checks, unit => '/s', at_least => 200_000);

	my $placements = rate($session, <<"SQL", $decisions);
SELECT count(*) FILTER (WHERE (placed).outcome = 'PLACED')
FROM (SELECT yquota.place_application('u' || n % ($rules * 6 / 5), ARRAY['g' || n % ($rules * 2), 'x'], 'default', 'job') AS placed
	  FROM generate_series(1, $decisions) AS n OFFSET 0) AS p
SQL
	Report::add("placements in one session, $rules mapping rules, $queues queues", figure => $placements, figure_unit => '/s', value => $placements, unit => '/s', at_least => 20_000);
	$session->close;
	Cluster::drop_database($database);
	return;
}

# changed(SESSION, STATEMENT...): return the milliseconds of a change with its commit, which checks
# the whole configuration. The first round does not count.
sub changed
{
	my ($session, @statements) = @_;

	$session->milliseconds(@statements);
	return median(map { $session->milliseconds(@statements) } 1 .. 3 * repetitions());
}

# Return the time of the first decision after a change by another session.
sub first_answer
{
	my ($session, $database, $query) = @_;
	my $other = Cluster->new($database);
	my @milliseconds;

	foreach my $round (0 .. repetitions())
	{
		$other->run(sprintf q(UPDATE yquota.queue SET capacity = '%dw' WHERE path = 'root.a1.b2'), 2 + $round % 2);
		my $took = $session->milliseconds($query);
		push @milliseconds, $took if $round > 0;
	}
	$other->close;
	return median(@milliseconds);
}

sub changes_case
{
	my $database = 'queues';

	Cluster::copy_database($database);
	Cluster::once($database, configuration());
	Cluster::once($database, 'VACUUM ANALYZE');
	my $session = Cluster->new($database);
	my $queues = Cluster::once($database, 'SELECT count(*) FROM yquota.queue');
	my $rules = size('mapping_rules');
	my $size = "$queues queues, $rules mapping rules";

	my $capacity = changed($session, map { "UPDATE yquota.queue SET capacity = '${_}w' WHERE path = 'root.a1.b1'" } 2, 3);
	Report::add("change of one queue, $size", figure => $capacity, figure_unit => 'ms', value => $capacity, unit => 'ms', at_most => 50);
	my $created = changed($session, q(INSERT INTO yquota.queue (path, capacity, state) VALUES ('root.added', '1w', 'STOPPED')),
		q(DELETE FROM yquota.queue WHERE path = 'root.added'));
	Report::add("one queue more or less, $size", figure => $created, figure_unit => 'ms', value => $created, unit => 'ms', at_most => 50);
	my $rule = changed($session, map { "UPDATE yquota.mapping_rule SET queue = 'root.leaf$_' WHERE position = 7" } 1, 2);
	Report::add("change of one mapping rule, $size", figure => $rule, figure_unit => 'ms');

	my $access = first_answer($session, $database, q(SELECT yquota.check_queue_access('u1', '{x}', 'root.a1.b1.c1.d1.e1', 'SUBMIT_APPLICATIONS')));
	Report::add("first ACL check after a change by another session, $size", figure => $access, figure_unit => 'ms');
	my $shown = first_answer($session, $database, 'SELECT count(*) FROM yquota.effective_queue');
	Report::add("first look at effective_queue after a change by another session, $size", figure => $shown, figure_unit => 'ms');

	my @shown = map { scalar $session->milliseconds(q(COPY (SELECT * FROM yquota.effective_queue) TO '/dev/null')) } 0 .. repetitions();
	shift @shown;
	Report::add("effective_queue in full, as text, $size", figure => median(@shown), figure_unit => 'ms', value => median(@shown), unit => 'ms', at_most => 200);
	$session->close;
	Cluster::drop_database($database);
	return;
}

# The configuration as one document: imported into empty tables, imported again without a change,
# and exported.
sub import_case
{
	my $database = 'queues';

	Cluster::copy_database($database);
	Cluster::once($database, configuration());
	my $session = Cluster->new($database);
	$session->run('CREATE TABLE document AS SELECT yquota.export_hadoop_configuration(NULL)::text AS content');
	$session->run('VACUUM ANALYZE');
	my ($queues, $rules) = split /\|/, $session->run('SELECT (SELECT count(*) FROM yquota.queue), (SELECT count(*) FROM yquota.mapping_rule)');
	my $size = "$queues queues, $rules mapping rules";
	my $import = 'SELECT count(*) FROM document, LATERAL yquota.import_hadoop_configuration(document.content)';
	my (@first, @again, @export);

	foreach (1 .. repetitions())
	{
		$session->run('TRUNCATE yquota.queue, yquota.queue_label, yquota.queue_user, yquota.mapping_rule, yquota.scheduler_setting');
		push @first, scalar $session->milliseconds($import);
		push @again, scalar $session->milliseconds($import);
		push @export, scalar $session->milliseconds('SELECT length(yquota.export_hadoop_configuration(NULL)::text)');
	}
	my $found = $session->run('SELECT (SELECT count(*) FROM yquota.queue), (SELECT count(*) FROM yquota.mapping_rule)');
	die "the import made $found of $queues|$rules\n" if $found ne "$queues|$rules";
	my $differs = $session->run('SELECT count(*) FROM document, LATERAL yquota.diff_hadoop_configuration(document.content)');
	die "$differs properties are not as imported\n" if $differs != 0;
	Report::add("import of the whole configuration, $size", figure => median(@first) / 1000, figure_unit => 's', value => median(@first) / 1000, unit => 's', at_most => 2);
	Report::add("import of what is configured already, $size", figure => median(@again) / 1000, figure_unit => 's', value => median(@again) / 1000, unit => 's', at_most => 2);
	Report::add("export of the whole configuration, $size", figure => median(@export) / 1000, figure_unit => 's');
	$session->close;
	Cluster::drop_database($database);
	return;
}

# All queues have room for applications, but one queue has little room for application masters, so
# that applications wait there.
sub submission_configuration
{
	return configuration() . <<'SQL';
BEGIN;
UPDATE yquota.scheduler_setting SET maximum_applications = 1000000, maximum_am_resource_percent = 0.5;
UPDATE yquota.queue SET acl_submit_applications = acl_submit_applications || ',all', maximum_applications = 1000000 WHERE path ~ 'e\d+$';
UPDATE yquota.queue SET acl_submit_applications = '*', maximum_am_resource_percent = 0.0001, maximum_applications = 1000000 WHERE path = 'root.leaf1';
INSERT INTO yquota.node (name, total) SELECT 'node' || n, '[memory-mb=200000000,vcores=10000000]' FROM generate_series(1, 10) AS n;
COMMIT;
INSERT INTO yquota.project (name) SELECT 'p' || n FROM generate_series(0, 49) AS n;
INSERT INTO yquota.quota_grant (project, amount, reason) SELECT 'p' || n, 1e15, 'bench' FROM generate_series(0, 49) AS n;
CREATE SEQUENCE submitted;
CREATE SEQUENCE ended;
SQL
}

my %submission_scripts = (
	submit => <<'SQL',
\set a random(1, :branches)
\set b random(1, 10)
\set c random(1, 5)
\set d random(1, 3)
\set e random(1, 5)
\set user random(0, 199)
SELECT state FROM yquota.submit_application('application_1_' || nextval('submitted'), 'w' || :user, '{all}',
	'root.a' || :a || '.b' || :b || '.c' || :c || '.d' || :d || '.e' || :e, 'job', '[memory-mb=1024,vcores=1]');
SQL
	submit_held => <<'SQL',
\set a random(1, :branches)
\set b random(1, 10)
\set c random(1, 5)
\set d random(1, 3)
\set e random(1, 5)
\set user random(0, 199)
SELECT state FROM yquota.submit_application('application_1_' || nextval('submitted'), 'w' || :user, '{all}',
	'root.a' || :a || '.b' || :b || '.c' || :c || '.d' || :d || '.e' || :e, 'job', '[memory-mb=1024,vcores=1]', project => 'p' || :user % 50,
	lifetime => 1000, hold => 'quote', expected => ARRAY[('*', '[memory-mb=1024,vcores=1]', 10, NULL, NULL, NULL, NULL, NULL, NULL)::yquota.container_request]);
SQL
	submit_to_one => <<'SQL',
\set user random(0, 199)
SELECT state FROM yquota.submit_application('application_1_' || nextval('submitted'), 'w' || :user, '{all}', 'root.leaf1', 'job', '[memory-mb=1024,vcores=1]');
SQL
	finish => q(SELECT yquota.finish_application('application_1_' || nextval('ended'));));

# submissions(DATABASE, NAME, CLIENTS, TRANSACTIONS): return submissions per second. Without
# TRANSACTIONS, run for as long as single rows are measured.
sub submissions
{
	my ($database, $name, $clients, $transactions) = @_;
	my $file = Bench::directory() . "/$name.sql";

	Report::write_file($file, $submission_scripts{$name});
	my ($done, $per_second) = Cluster::pgbench($database, $file, '-c' => $clients, '-j' => ($clients > 1 ? 2 : 1),
		(defined $transactions || !size('single_seconds') ? ('-t' => int(($transactions // size('single_containers')) / $clients)) : ('-T' => 2 * size('single_seconds'))),
		variables => { branches => size('queue_branches') });
	return $per_second;
}

sub submission_case
{
	my $database = 'queues';
	my ($applications, $waiting) = (size('applications'), size('waiting_applications'));

	Cluster::copy_database($database);
	Cluster::once($database, submission_configuration());
	submissions($database, 'submit', 8, $applications);
	Cluster::once($database, 'VACUUM ANALYZE');
	Cluster::checkpoint();
	my $queues = Cluster::once($database, 'SELECT count(*) FROM yquota.queue');
	my $size = sprintf '%d queues, %d applications', $queues, $applications;

	foreach my $clients (1, 8)
	{
		my $rate = median(map { submissions($database, 'submit', $clients) } 1 .. repetitions());
		my $name = 'submit_application, single rows, ' . ($clients == 1 ? '1 client' : '8 clients') . ", $size";

		Report::add($name, figure => $rate, figure_unit => '/s', $clients == 8 ? (value => $rate, unit => '/s', at_least => 3_000) : ());
	}
	my $with = median(map { submissions($database, 'submit_held', 1, $applications / 100) } 1 .. repetitions());
	Report::add("submit_application that holds the quoted cost, 1 client, $size", figure => $with, figure_unit => '/s');
	my $finishes = submissions($database, 'finish', 8, $applications / 2);
	Report::add("finish_application, single rows, 8 clients, $size", figure => $finishes, figure_unit => '/s');

	submissions($database, 'submit_to_one', 8, $waiting);
	Cluster::once($database, 'VACUUM ANALYZE');
	my $hot = median(map { submissions($database, 'submit_to_one', 8) } 1 .. repetitions());
	Report::add("submit_application to one queue in which $waiting wait, 8 clients", figure => $hot, figure_unit => '/s');
	my $session = Cluster->new($database);
	my @looks = map { scalar $session->milliseconds('SELECT count(*) FROM yquota.activate_applications()') } 0 .. repetitions();
	shift @looks;
	Report::add("activate_applications() of all queues, $size", figure => median(@looks), figure_unit => 'ms');
	check_applications($session);
	$session->close;
	Cluster::drop_database($database);
	return;
}

# Check that all submitted applications exist, some of them wait, none was refused, and counters
# agree with them.
sub check_applications
{
	my ($session) = @_;
	my ($there, $submitted, $refused, $waiting) = split /\|/, $session->run(<<'SQL');
SELECT count(*), (SELECT last_value FROM submitted), count(*) FILTER (WHERE state = 'REJECTED'), count(*) FILTER (WHERE state = 'ACCEPTED')
FROM yquota.application
SQL

	die "of $submitted applications $there are there, $refused refused, $waiting waiting\n" if $there != $submitted || $refused > 0 || $waiting == 0;
	my $problems = $session->run('SELECT * FROM yquota.verify()');
	die "counters of applications are wrong:\n$problems\n" if $problems ne '';
	return;
}

sub cases
{
	return ('queue-decisions' => \&decisions_case, 'queue-changes' => \&changes_case, 'queue-import' => \&import_case,
		'queue-submission' => \&submission_case);
}

1;
