# The examples of interceptors work. The interceptor of docs/examples/request_throttle.sql throttles an application
# master that asks too often. It also does so with two sessions at once, and for a role with only an operator's
# rights. A dump and a crash keep the registered interceptors. docs/examples/node_quarantine.sql keeps containers away
# from nodes.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('request_interceptors');
$node->init;
$node->append_conf('postgresql.conf', "timezone = 'UTC'");
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION IF NOT EXISTS yquota');
$node->safe_psql('postgres', <<~'SQL');
	SELECT yquota.set_clock('2026-03-02 10:00+00');
	INSERT INTO yquota.project (name, on_exhausted) VALUES ('p', 'allow');
	INSERT INTO yquota.scheduler_setting (maximum_am_resource_percent, opportunistic_allocation_enabled, opportunistic_queue_capacity) VALUES (1, true, 5);
	INSERT INTO yquota.queue (path, capacity) VALUES ('root', NULL), ('root.a', '100');
	INSERT INTO yquota.node (name, total) VALUES ('n1', '[memory-mb=10240,vcores=10]');
	SELECT yquota.submit_application('application_1_' || n, 'ann', '{}', 'a', project => 'p', unmanaged => true) FROM generate_series(1, 3) AS n;
	CREATE ROLE master LOGIN;
	SELECT yquota.allow_role('master', 'operator');
SQL
$node->command_ok([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('postgres'), '-f', 'docs/examples/request_throttle.sql' ], 'the example of a throttle runs');
$node->safe_psql('postgres', 'UPDATE request_throttle.setting SET most_per_second = 3');

sub session { return $node->background_psql('postgres', on_error_stop => 0, extra_params => [ '-U', 'master' ]); }
sub ask
{
	my ($session, $number) = @_;

	return $session->query("SELECT coalesce(stopped_by || ' ' || stopped_at, decision) FROM yquota.allocate_opportunistic('application_1_$number')");
}

# A role without the privileges that the function needs
my ($one, $two) = (session(), session());
my (undef, undef, $error) = $node->psql('postgres', q(SELECT * FROM yquota.allocate_opportunistic('application_1_1')), extra_params => [ '-U', 'master' ]);
like($error, qr/permission denied for schema request_throttle.*request interceptor request_throttle\.throttle/s, 'the role of the caller needs the rights that the interceptor uses');
$node->safe_psql('postgres', 'GRANT request_throttle_user TO master');

my $refusal = 'more than 3 calls a second request_throttle.throttle';
is(ask($one, 1), '', "call $_ of a second") foreach 1 .. 2;
is(ask($two, 1), '', 'the third call, of another session');
is(ask($_, 1), $refusal, 'the count grows by one with each session') foreach $one, $two;
is(ask($one, 2), '', 'another application is not throttled');
my ($status, undef, $refused) = $node->psql('postgres', q(\set VERBOSITY verbose
	SELECT yquota.request_containers('application_1_1', '[vcores=1]', 1)), extra_params => [ '-U', 'master' ]);
like($refused, qr/YQ002: requests of application "application_1_1" are refused: more than 3 calls a second\nDETAIL:  Request interceptor request_throttle\.throttle refuses request_containers\(\)/,
	'request_containers() is refused with the error of the interceptor');
$node->safe_psql('postgres', q(SELECT yquota.set_clock('2026-03-02 10:00:00.999999+00')));
is(ask($one, 1), $refusal, 'a call is refused until the second is over');
$node->safe_psql('postgres', q(SELECT yquota.set_clock('2026-03-02 10:00:01+00')));
is(ask($one, 1), '', 'after the second, the application is served again');

# Two sessions at the same time: the second one waits for the first, and then counts its call, too.
$node->safe_psql('postgres', q(SELECT yquota.set_clock('2026-03-02 10:01+00')));
$one->query_safe('BEGIN');
is(ask($one, 3), '', 'first of two transactions') foreach 1 .. 2;
$two->query_until(qr/^begun$/m, "\\echo begun\nSELECT coalesce(stopped_by, 'served') FROM yquota.allocate_opportunistic('application_1_3');\n");
ok($node->poll_query_until('postgres', q(SELECT EXISTS (SELECT FROM pg_stat_activity WHERE usename = 'master' AND wait_event_type = 'Lock'))), 'the second transaction waits');
$one->query_safe('COMMIT');
$two->query_safe('SELECT 1');
is(ask($two, 3), $refusal, 'the call of the second session is the third');
$one->query_safe('BEGIN');
$one->query_safe('ROLLBACK');

# Interceptors survive a dump, which restores functions first, and a crash
$node->command_ok([ 'pg_dump', '-Fc', '-f', "$PostgreSQL::Test::Utils::tmp_check/interceptors.dump", '-d', $node->connstr('postgres') ], 'pg_dump');
$node->safe_psql('postgres', 'CREATE DATABASE restored TEMPLATE template0');
$node->command_ok([ 'pg_restore', '-d', $node->connstr('restored'), "$PostgreSQL::Test::Utils::tmp_check/interceptors.dump" ], 'pg_restore');
is($node->safe_psql('restored', 'SELECT * FROM yquota.request_interceptor'), '100|request_throttle.throttle|request', 'a dump keeps the list');
$_->quit foreach $one, $two;
$node->stop('immediate');
$node->start;
$node->safe_psql('postgres', q(SELECT yquota.set_clock('2026-03-02 10:02+00')));
is($node->safe_psql('postgres', q(SELECT coalesce(stopped_by, 'served') FROM generate_series(1, 4) CROSS JOIN LATERAL yquota.allocate_opportunistic('application_1_2', seed => generate_series))),
	'more than 3 calls a second', 'a crash keeps the list');
$node->safe_psql('postgres', q(SELECT yquota.set_clock('2026-03-02 12:00+00')));
is($node->safe_psql('postgres', 'SELECT request_throttle.forget()'), '3', 'an application that has made no call for a long time is forgotten');

# Nodes in quarantine: a container that is given there ends at once, and only the other containers
# are returned
$node->command_ok([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('postgres'), '-f', 'docs/examples/node_quarantine.sql' ], 'the example of a quarantine runs');
$node->safe_psql('postgres', q(GRANT node_quarantine_user TO master;
	INSERT INTO yquota.node (name, total) VALUES ('n2', '[memory-mb=10240,vcores=10]');
	SELECT yquota.report_nodes(ARRAY(SELECT ROW('n' || n, 0, 0, 0, 0, NULL, 5, NULL, NULL, NULL)::yquota.node_report FROM generate_series(1, 2) AS n));
	INSERT INTO node_quarantine.node (name, reason) VALUES ('n2', 'loses packets')));
my $four = q(ARRAY[ROW('*', '[memory-mb=1024,vcores=1]', 4, 1, %s, true, NULL, 'OPPORTUNISTIC', NULL)::yquota.container_request]);
my $asked = $node->safe_psql('postgres', sprintf(qq(SELECT count(*), min(node), max(node) FROM yquota.allocate_opportunistic('application_1_1', $four, seed => 1)), 1), extra_params => [ '-U', 'master' ]);
is($asked, '1|n1|n1', 'containers on the node in quarantine are left out');
is($node->safe_psql('postgres', q(SELECT node, count(*), count(e.container_id) FROM yquota.container_event AS s
	LEFT JOIN (SELECT f.container_id FROM yquota.container_event AS f WHERE f.event = 'CONTAINER_FINISH' AND f.exit_status = -100) AS e USING (container_id)
	WHERE s.event = 'CONTAINER_START' AND s.application_id = 'application_1_1' GROUP BY node ORDER BY node)), "n1|1|0\nn2|3|3", 'the containers that were left out have ended');
is($node->safe_psql('postgres', 'SELECT DISTINCT node FROM yquota.decision'), 'n1', 'no decision names the node in quarantine');
$node->safe_psql('postgres', 'DELETE FROM node_quarantine.node');
is($node->safe_psql('postgres', sprintf(qq(SELECT count(*) FROM yquota.allocate_opportunistic('application_1_1', $four, seed => 1)), 2), extra_params => [ '-U', 'master' ]), '4', 'a node leaves the quarantine');
is($node->safe_psql('postgres', 'SELECT count(*) FROM yquota.verify()'), '0', 'the books agree');

$node->stop;
done_testing();
