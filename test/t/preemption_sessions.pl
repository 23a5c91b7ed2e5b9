# Two sessions run rounds of preemption, while others send heartbeats, requests, ends of containers and changes of
# settings. No session fails, each killed container ends once, and verify() finds no fault.

use strict;
use warnings;

use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use WorkerNode;

my $node = new_node('preemption_sessions', 'fsync = off', 'deadlock_timeout = 100ms');

# No waiting time is set, so a round kills the containers that the round before has marked.
$node->safe_psql('postgres', 'CREATE DATABASE books');
$node->safe_psql('books', <<~'SQL');
	CREATE EXTENSION IF NOT EXISTS yquota;
	INSERT INTO yquota.project (name) VALUES ('p');
	BEGIN;
	INSERT INTO yquota.scheduler_setting (scheduler_monitor_enable, preemption_max_wait_before_kill, preemption_total_preemption_per_round,
		preemption_natural_termination_factor, per_node_heartbeat_maximum_offswitch_assignments, underutilized_preemption_enabled,
		underutilized_preemption_reserved_container_delay_ms) VALUES (true, 0, 1, 1, 100, true, 0);
	INSERT INTO yquota.queue (path, capacity, user_limit_factor, ordering_policy, priority) VALUES
		('root', NULL, NULL, 'priority-utilization', NULL), ('root.a', '50', 10, NULL, NULL), ('root.b', '50', 10, NULL, 1);
	COMMIT;
	INSERT INTO yquota.node (name, total) SELECT 'n' || n, '[memory-mb=8192,vcores=8]' FROM generate_series(1, 10) AS n;
	SELECT yquota.submit_application('application_1_000' || n, 'u' || n, '{}', CASE n % 2 WHEN 0 THEN 'a' ELSE 'b' END, project => 'p', unmanaged => true)
	FROM generate_series(1, 4) AS n;
	SELECT yquota.request_containers('application_1_000' || n, '[memory-mb=1024,vcores=1]', 60) FROM generate_series(2, 4, 2) AS n;
	SELECT count(*) FROM yquota.schedule();
	SELECT yquota.request_containers('application_1_000' || n, '[memory-mb=1024,vcores=1]', 30) FROM generate_series(1, 3, 2) AS n;
	SQL

my %script = (
	heartbeat => q(SELECT count(*) FROM yquota.schedule(ARRAY['n' || (1 + floor(random() * 10))::integer])),
	request => q(SELECT yquota.request_containers('application_1_000' || n, CASE n % 2 WHEN 0 THEN '[memory-mb=1024,vcores=1]' ELSE '[memory-mb=3072,vcores=1]' END::yquota.resource, floor(random() * 30)::integer)
		FROM (SELECT (1 + floor(random() * 4))::integer AS n) AS a),
	fetch => q(SELECT yquota.acknowledge_decisions(ARRAY(SELECT decision_id FROM yquota.decision WHERE decision IN ('allocated', 'marked') ORDER BY random() LIMIT 5))),
	configure => q(UPDATE yquota.scheduler_setting SET lazy_preemption_enabled = random() < 0.5, intra_queue_preemption_enabled = random() < 0.5,
		preemption_select_based_on_reserved_containers = random() < 0.5),
	end => q(INSERT INTO yquota.container_event (event, container_id, exit_status) SELECT 'CONTAINER_FINISH', container_id, 0 FROM yquota.container ORDER BY random() LIMIT 1));

sub file_of
{
	my ($name, $sql) = @_;
	my $file = PostgreSQL::Test::Utils::tempdir() . "/$name.sql";

	append_to_file($file, $sql =~ s/\s+/ /gr . ";\n");
	return $file;
}

# Two clients run rounds, and four clients do everything else.
my @at_work = (
	[ 2, 60, file_of('round', 'SELECT count(*) FROM yquota.preempt_containers()') ],
	[ 4, 100, map { file_of($_, $script{$_}) . ($_ eq 'configure' ? '' : '@4') } sort keys %script ]);
my @running;
foreach my $clients (@at_work)
{
	my ($count, $transactions, @scripts) = @$clients;
	my ($out, $error) = ('', '');

	push @running, [ \$out, \$error, IPC::Run::start([ 'pgbench', '-n', '-c', $count, '-j', 1, '-t', $transactions, '-h', $node->host, '-p', $node->port,
		(map { ('-f', $_) } @scripts), 'books' ], '>', \$out, '2>', \$error) ];
}
foreach my $clients (@running)
{
	my ($out, $error, $harness) = @$clients;

	ok(IPC::Run::finish($harness), 'no client fails') or diag($$error);
}
is(count_in_log($node, qr/ERROR:/), 0, 'no session gets an error, or a deadlock');

my $killed = q(SELECT container_id, count(*) AS ends, min(occurred_at) AS ended_at FROM yquota.container_event WHERE event = 'CONTAINER_FINISH' AND exit_status = -102 GROUP BY 1);
cmp_ok($node->safe_psql('books', "SELECT count(*) FROM ($killed) AS k"), '>', 20, 'containers were killed');
is($node->safe_psql('books', "SELECT * FROM ($killed) AS k WHERE ends <> 1"), '', 'each container was killed once');
is($node->safe_psql('books', "SELECT * FROM ($killed) AS k WHERE NOT EXISTS (SELECT FROM yquota.charge AS c WHERE c.container_id = k.container_id)"
	. " OR EXISTS (SELECT FROM yquota.charge AS c WHERE c.container_id = k.container_id AND c.\"to\" > k.ended_at)"
	. ' OR EXISTS (SELECT FROM yquota.container AS c WHERE c.container_id = k.container_id)'), '', 'each container was charged until its end');
is($node->safe_psql('books', "SELECT container_id FROM yquota.decision WHERE decision = 'killed' EXCEPT SELECT container_id FROM ($killed) AS k"), '',
	'each decision to kill has ended its container');
is($node->safe_psql('books', "SELECT container_id FROM ($killed) AS k EXCEPT SELECT container_id FROM yquota.decision WHERE decision = 'killed'"), '',
	'each killed container has its decision');
is($node->safe_psql('books', "SELECT container_id FROM ($killed) AS k FULL JOIN (SELECT * FROM yquota.preempted_container WHERE used IS NOT NULL AND NOT is_advised) AS p"
	. ' USING (container_id) WHERE k.ends IS NULL OR p.killed_at IS NULL'), '', 'each decision has its reason');
is($node->safe_psql('books', 'SELECT * FROM yquota.verify()'), '', 'the books are right');
$node->stop;
done_testing();
