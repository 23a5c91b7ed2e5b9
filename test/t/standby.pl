# A hot standby shows what the primary shows, proves the books, learns of new
# prices in sessions that are open, and refuses whatever would write.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use WorkerNode;

my $primary = new_node('primary');
my $standby = PostgreSQL::Test::Cluster->new('standby');
my @views = qw(project_balance container_cost daily_cost exhausted_work queue_usage node_usage project_usage
	current_price price_history feed_status suspect_container charged_through
	resource_request reservation decision scheduler_node scheduler_application scheduler_queue);
my $all = join(' UNION ALL ', map { "SELECT '$_' AS view, t::text AS row FROM yquota.$_ AS t" } @views);

# The same rows on both, once the standby has what the primary has.
sub is_shown_alike
{
	my ($name) = @_;

	$primary->wait_for_catchup($standby);
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is( $standby->safe_psql('postgres', "SELECT view, row FROM ($all) AS a ORDER BY 1, 2"),
		$primary->safe_psql('postgres', "SELECT view, row FROM ($all) AS a ORDER BY 1, 2"), $name);
	is($standby->safe_psql('postgres', 'SELECT * FROM yquota.verify()'), '', "$name, and proven");
	return;
}

start_at($primary, 'postgres', '2026-03-02 10:00+00');
$primary->backup('backup');
$standby->init_from_backup($primary, 'backup', has_streaming => 1);
$standby->start;

$primary->safe_psql('postgres', <<~'SQL');
	INSERT INTO yquota.project (name) VALUES ('lab');
	INSERT INTO yquota.node (name, total) VALUES ('n1', '[vcores=8]');
	INSERT INTO yquota.container_event (event, container_id, occurred_at, project, node, allocation) VALUES
		('CONTAINER_START', 'c1', '2026-03-02 09:00+00', 'lab', 'n1', '[vcores=1]'),
		('CONTAINER_START', 'c2', '2026-03-02 09:00+00', 'lab', 'n1', '[vcores=2]');
	INSERT INTO yquota.container_event (event, container_id, occurred_at) VALUES
		('CONTAINER_FINISH', 'c2', '2026-03-02 09:30+00');
	SQL
is_shown_alike('events');

# The scheduler: what it would decide can be asked of a standby
$primary->safe_psql('postgres', <<~'SQL');
	INSERT INTO yquota.project (name) VALUES ('batch');
	INSERT INTO yquota.queue (path, capacity) VALUES ('root', NULL), ('root.a', '100');
	INSERT INTO yquota.node (name, total) VALUES ('n2', '[memory-mb=4096,vcores=4]'), ('n3', '[memory-mb=4096,vcores=4]');
	SELECT yquota.submit_application('application_1_0001', 'ann', '{}', 'a', project => 'batch', unmanaged => true);
	SELECT yquota.request_containers('application_1_0001', '[memory-mb=3072]', 3);
	SELECT count(*) FROM yquota.schedule(ARRAY['n2', 'n2']);
	SQL
is_shown_alike('containers, requests, reservations and decisions');
my $would = 'SELECT * FROM yquota.schedule(dry_run => true, explain => true)';

is($standby->safe_psql('postgres', $would), $primary->safe_psql('postgres', $would), 'a dry run decides on a standby what it does on the primary');
like($standby->safe_psql('postgres', $would), qr/^swapped\|container_1_0001_01_000003\|.*\|n3\|/m, 'and it does decide');

# A session of the standby that knows prices already
my $session = $standby->background_psql('postgres');
my $balance = q(SELECT accrued, burn_rate FROM yquota.project_balance WHERE project = 'lab');

like($session->query($balance), qr/^3600\|1$/m, 'a session of the standby');
$primary->safe_psql('postgres', <<~'SQL');
	SELECT yquota.set_multiplier('GENERAL', 3);
	SELECT yquota.set_clock('2026-03-02 11:00+00');
	SELECT yquota.quota_compute();
	SQL
is_shown_alike('a new price and a new clock');
like($session->query($balance), qr/^14400\|3$/m, 'the session has learnt of both');
$session->quit;

foreach my $statement (
	"INSERT INTO yquota.container_event (event) VALUES ('QUOTA_COMPUTE')",
	'SELECT yquota.quota_compute()', 'SELECT yquota.compute_prices()',
	"SELECT yquota.set_multiplier('GPU', 2)", 'SELECT yquota.start_worker()',
	'SELECT * FROM yquota.schedule()', q(SELECT * FROM yquota.node_heartbeat('{n3}')), 'SELECT * FROM yquota.schedule(explain => true)',
	q(SELECT yquota.request_containers('application_1_0001', '[memory-mb=1024]', 1)),
	q(SELECT yquota.acknowledge('{container_1_0001_01_000001}')), q(SELECT yquota.release_containers('{container_1_0001_01_000001}')),
	q(SELECT yquota.update_container('container_1_0001_01_000001', 0, '[memory-mb=1024]')),
	q(SELECT yquota.update_blacklist('application_1_0001', '{n3}')),
	q(SELECT yquota.submit_application('application_1_0002', 'ann', '{}', 'a')), q(SELECT yquota.finish_application('application_1_0001')),
	q(SELECT yquota.move_application('application_1_0001', 'root.a')))
{
	my ($code, $out, $error) = $standby->psql('postgres', $statement);

	like($error, qr/cannot execute .* (in a read-only transaction|during recovery)/, "refused: $statement");
}

$standby->stop;
$primary->stop;
done_testing();
