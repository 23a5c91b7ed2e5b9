# Queues.pm: decisions about queues in one session.
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

sub cases { return ('queue-decisions' => \&decisions_case); }

1;
