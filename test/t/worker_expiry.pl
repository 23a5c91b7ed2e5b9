# The worker ends opportunistic containers that do not arrive at their nodes in time. It does so
# whether their decisions were acknowledged or not, and also after a crash.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use Test::More;
use WorkerNode;

my $node = new_node('worker_expiry', q(yquota.compute_interval = '10s'));

$node->safe_psql('postgres', 'CREATE DATABASE work');
start_at($node, 'work', '2030-01-01 00:00 UTC');
$node->safe_psql('work', <<~'SQL');
	INSERT INTO yquota.scheduler_setting (maximum_am_resource_percent, opportunistic_allocation_enabled, opportunistic_queue_capacity) VALUES (1, true, 9);
	INSERT INTO yquota.queue (path, capacity) VALUES ('root', NULL), ('root.a', '100');
	INSERT INTO yquota.project (name) VALUES ('p');
	INSERT INTO yquota.node (name, total) VALUES ('n1', '[memory-mb=1024,vcores=1]');
	SELECT state FROM yquota.submit_application('application_1_0001', 'ann', '{}', 'a', project => 'p', unmanaged => true);
	SELECT accepted FROM yquota.report_nodes(ARRAY[ROW('n1', 0, 0, 0, 0, NULL, NULL, NULL, NULL, NULL)::yquota.node_report]);
	SELECT node FROM yquota.allocate_opportunistic('application_1_0001', ARRAY[ROW('*', '[memory-mb=1024,vcores=1]', 4, 1, 1, true, NULL, 'OPPORTUNISTIC', NULL)::yquota.container_request]);
	-- the first one runs, the second waits at its node, the third is acknowledged and does not come
	SELECT yquota.acknowledge_decisions(ARRAY(SELECT decision_id FROM yquota.decision ORDER BY 1 LIMIT 3));
	SELECT action FROM yquota.enqueue_container('n1', 'container_1_0001_01_000001');
	SELECT action FROM yquota.enqueue_container('n1', 'container_1_0001_01_000002');
	SQL
$node->stop('immediate');
$node->start;
$node->safe_psql('work', 'SELECT yquota.start_worker()');
set_clock($node, 'work', '2030-01-01 00:09:59 UTC');
is_soon($node, 'work', mark() . " = '2030-01-01 00:09:59 UTC'", 'the worker is at work');
is($node->safe_psql('work', 'SELECT count(*) FROM yquota.container'), '4', 'no container expires before its time');
set_clock($node, 'work', '2030-01-01 00:10:10 UTC');
is_soon($node, 'work', q((SELECT string_agg(right(container_id, 1) || ' ' || is_running, ', ' ORDER BY container_id) = '1 true, 2 false' FROM yquota.container)),
	'a container that did not arrive at its node has ended; running and waiting ones have not');
is($node->safe_psql('work', q(SELECT decision, right(container_id, 1), diagnostics FROM yquota.decision ORDER BY container_id)),
	"expired|3|Container expired since it was unused\nexpired|4|Container expired since it was unused", 'the end of the container is reported');
is($node->safe_psql('work', 'SELECT * FROM yquota.verify()'), '', 'the books prove themselves');
$node->stop;
done_testing();
