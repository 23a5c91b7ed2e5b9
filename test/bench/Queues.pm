# Queues.pm: decisions about queues, changes of them, and their configuration as
# a whole.
package Queues;

use strict;
use warnings;

use Bench;
use Cluster;
use Report;

# Six levels: 10 queues below the root at full size, 10 below each of them, 5, 3
# and 5; and leaves that rules name.
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

# Decisions per second.  The first run fills caches; what it counts must be some
# of the decisions, not all and not none.
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

# changed(SESSION, STATEMENT...): milliseconds of a change with its commit, the
# check of the whole configuration included.  The first round is not counted.
sub changed
{
	my ($session, @statements) = @_;

	$session->milliseconds(@statements);
	return median(map { $session->milliseconds(@statements) } 1 .. 3 * repetitions());
}

# The first answer after a change by somebody else, who is there for that.
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

# The configuration as one document: into empty tables; again, when nothing
# changes; and out of them.
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

sub cases
{
	return ('queue-decisions' => \&decisions_case, 'queue-changes' => \&changes_case, 'queue-import' => \&import_case);
}

1;
