# The worker ends applications after their lifetime, which releases the holds of their submissions. A hold
# lasts for the lifetime from activation, with or without a worker, and also after a crash.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use Test::More;
use WorkerNode;

my $node = new_node('worker_hold', "timezone = 'UTC'");
my $held = q((SELECT string_agg(right(application_id, 1) || ' ' || outstanding, ', ' ORDER BY application_id) FROM yquota.hold_status WHERE state = 'held'));

$node->safe_psql('postgres', 'CREATE DATABASE work');
start_at($node, 'work', '2030-01-01 00:00 UTC');
$node->safe_psql('work', <<~'SQL');
	INSERT INTO yquota.scheduler_setting (maximum_am_resource_percent) VALUES (1);
	INSERT INTO yquota.project (name) VALUES ('p');
	INSERT INTO yquota.quota_grant (project, amount, reason) VALUES ('p', 1000, 'budget');
	INSERT INTO yquota.node (name, total) VALUES ('n', '[memory-mb=8192,vcores=8]');
	INSERT INTO yquota.queue (path, capacity, max_parallel_apps) VALUES ('root', NULL, NULL), ('root.a', '100', 2);
	SELECT yquota.submit_application('application_1_000' || number, 'ann', '{}', 'a', project => 'p', unmanaged => true, lifetime => number * 100, hold_amount => number)
	FROM generate_series(1, 4) AS number;
	SQL
$node->stop('immediate');
$node->start;
is($node->safe_psql('work', "SELECT $held"), '1 1, 2 2, 3 3, 4 4', 'holds survive a crash');
is($node->safe_psql('work', q(SELECT string_agg(CASE WHEN isfinite(expires_at) THEN to_char(expires_at, 'MI:SS') ELSE '-' END, ' ' ORDER BY hold_id) FROM yquota.hold)),
	'01:40 03:20 - -', 'holds of applications that wait have no end');
$node->safe_psql('work', 'SELECT yquota.start_worker()');
is_soon($node, 'work', mark() . " = '2030-01-01 00:00 UTC'", 'the worker is at work');
set_clock($node, 'work', '2030-01-01 00:01:41 UTC');
is_soon($node, 'work', q((SELECT released_at IS NOT NULL FROM yquota.hold WHERE application_id = 'application_1_0001')),
	'the worker ends an application past its lifetime, and its hold is released');
is($node->safe_psql('work', q(SELECT to_char(expires_at, 'MI:SS') FROM yquota.hold WHERE application_id = 'application_1_0003')),
	'06:41', 'the hold of the next application lasts from its activation on');
set_clock($node, 'work', '2030-01-01 00:07 UTC');
is_soon($node, 'work', q((SELECT count(*) = 0 FROM yquota.application WHERE finished_at IS NULL)), 'all applications have ended');
is($node->safe_psql('work', "SELECT $held"), '', 'no credit is held');
is($node->safe_psql('work', q(SELECT held, remaining FROM yquota.project_balance)), '0|1000', 'all credit remains');
is($node->safe_psql('work', 'SELECT * FROM yquota.verify()'), '', 'the books prove themselves');

# verify() finds a hold that was not released in time, and a hold that was released too early.
$node->safe_psql('work', 'SELECT yquota.stop_worker()');
$node->safe_psql('work', q(SELECT yquota.submit_application('application_1_0009', 'ann', '{}', 'a', project => 'p', unmanaged => true, hold_amount => 9)));
is($node->safe_psql('work', q(BEGIN; SET LOCAL session_replication_role = replica; DELETE FROM yquota.application; SELECT problem, subject FROM yquota.verify() WHERE problem LIKE 'hold%'; ROLLBACK)),
	'hold of an application has outlived it|application_1_0009', 'verify() finds a hold without its application');
is($node->safe_psql('work', q(BEGIN; UPDATE yquota.hold SET released_at = yquota.clock(), released_by = 'x'; SELECT problem, subject FROM yquota.verify() WHERE problem LIKE 'hold%'; ROLLBACK)),
	'hold of a live application was released|application_1_0009', 'verify() finds a live application without its hold');
$node->stop;
done_testing();
