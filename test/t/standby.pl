# A hot standby shows the rows of the primary, verifies the books, uses new prices in open sessions,
# and refuses every write.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use Calls;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Sample;
use Test::More;
use WorkerNode;

my $primary = new_node('primary');
my $standby = PostgreSQL::Test::Cluster->new('standby');
my @views = qw(project_balance container_cost daily_cost exhausted_work queue_usage node_usage project_usage
	current_price price_history tariff feed_status suspect_container charged_through
	resource_request reserved_container decision scheduler_node scheduler_application scheduler_queue);
my $all = join(' UNION ALL ', map { "SELECT '$_' AS view, t::text AS row FROM yquota.$_ AS t" } @views);

# Both servers show the same rows, once the standby has replayed the primary's WAL.
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

# A standby answers dry runs of the scheduler
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

is($standby->safe_psql('postgres', $would), $primary->safe_psql('postgres', $would), 'a dry run on a standby decides as on the primary');
like($standby->safe_psql('postgres', $would), qr/^swapped\|container_1_0001_01_000003\|.*\|n3\|/m, 'a dry run on a standby makes decisions');

# A submission that would hold credit
my $holding = q(SELECT decided_by, quoted_cost, held, available FROM yquota.submit_application('application_1_0009', 'ann', '{}', 'a', project => 'lab', lifetime => 10,
	hold => 'quote', expected => ARRAY[('*', '[vcores=1]', 1, NULL, NULL, NULL, NULL, NULL, NULL)::yquota.container_request], dry_run => true));

is($standby->safe_psql('postgres', $holding), $primary->safe_psql('postgres', $holding), 'a dry run of a submission on the standby returns the hold that it would place');
like($standby->safe_psql('postgres', $holding), qr/^(?:\|10\|10\||hold\|10\|\|[-\d.]+)$/, 'the hold is the cost of the containers');

# A session of the standby has already cached prices
my $session = $standby->background_psql('postgres');
my $balance = q(SELECT accrued, burn_rate FROM yquota.project_balance WHERE project = 'lab');

like($session->query($balance), qr/^3600\|1$/m, 'a session of the standby reads a balance');
$primary->safe_psql('postgres', <<~'SQL');
	SELECT yquota.set_multiplier('GENERAL', 3);
	SELECT yquota.set_clock('2026-03-02 11:00+00');
	SELECT yquota.quota_compute();
	SQL
is_shown_alike('a new price and a new clock');
like($session->query($balance), qr/^14400\|3$/m, 'the session has noticed the new price and the new clock');
$primary->safe_psql('postgres', <<~'SQL');
	INSERT INTO yquota.price_calendar (name, price_group, timezone, "from", "to", factor) VALUES ('late morning', 'GENERAL', 'UTC', '10:30', '12:00', 0.5);
	SQL
is_shown_alike('a calendar');
like($session->query($balance), qr/^14400\|1.5$/m, 'the session has noticed the new calendar');
$session->quit;

foreach my $statement (
	"INSERT INTO yquota.container_event (event) VALUES ('QUOTA_COMPUTE')",
	'SELECT yquota.quota_compute()', 'SELECT yquota.compute_prices()',
	"SELECT yquota.set_multiplier('GPU', 2)", 'SELECT yquota.start_worker()',
	'SELECT * FROM yquota.schedule()', q(SELECT * FROM yquota.node_heartbeat('{n3}')), 'SELECT * FROM yquota.schedule(explain => true)',
	q(SELECT yquota.request_containers('application_1_0001', '[memory-mb=1024]', 1)),
	q(SELECT yquota.acknowledge_decisions('{1}')), q(SELECT yquota.release_containers('{container_1_0001_01_000001}')),
	q(SELECT yquota.update_container('container_1_0001_01_000001', 0, '[memory-mb=1024]')),
	q(SELECT yquota.update_blacklist('application_1_0001', '{n3}')),
	q(SELECT yquota.submit_application('application_1_0002', 'ann', '{}', 'a')), q(SELECT yquota.finish_application('application_1_0001')),
	q(SELECT yquota.move_application('application_1_0001', 'root.a')))
{
	my ($code, $out, $error) = $standby->psql('postgres', $statement);

	like($error, qr/cannot execute .* (in a read-only transaction|during recovery)/, "refused: $statement");
}

#
# Every public function that may write. If the primary would run a call, the standby refuses it with 25006. If the
# primary refuses a call, the standby may fail in the same way.
#

# Usable arguments, by the argument's name.
my %sensible = (
	amount => '1', amounts => q('[vcores=1]'::yquota.resource), application_id => q('application_1_0001'::text), as_of => 'yquota.clock()',
	at => 'yquota.clock()', before => q('infinity'::timestamptz), container_id => q('c4'::text), container_ids => q('{c4}'::text[]), count => '1',
	from_at => q('2025-03-03 09:30+00'::timestamptz), name => q('p1'::text), node => q('n1'::text), nodes => q('{n1}'::text[]),
	price_group => q('GENERAL'::text), project => q('p1'::text), queue => q('root.a'::text), reason => q('test'::text), resource_type => q('vcores'::text),
	to_at => q('2025-03-03 10:30+00'::timestamptz), ttl => q('1 hour'::interval), until => q('2025-03-03 11:00+00'::timestamptz), username => q('u1'::text));

# answers(NODE, CALLS...): run each call, roll it back, and return its SQLSTATE and message.
sub answers
{
	my ($node, @calls) = @_;
	my $script = join('', map { "BEGIN;\n$calls[$_];\n\\warn #$_ :SQLSTATE :LAST_ERROR_MESSAGE\nROLLBACK;\n" } 0 .. $#calls);
	my $told;

	$node->psql('sample', "\\o /dev/null\nSET statement_timeout = '60s';\nSET client_min_messages = error;\n$script", on_error_stop => 0, stderr => \$told);
	my %answer = map { /^#(\d+) (00000|.*)/ ? ($1 => $2) : () } split /\n/, $told;
	return map { $answer{$_} // 'nothing' } 0 .. $#calls;
}

load_sample($primary, 'sample');
$primary->safe_psql('sample', <<~'SQL');
	INSERT INTO yquota.queue (path, capacity) VALUES ('root', NULL), ('root.a', '50'), ('root.b', '50');
	SELECT yquota.submit_application('application_1_0001', 'u1', '{}', 'root.a', project => 'p1', unmanaged => true);
	INSERT INTO yquota.quota_grant (project, amount, reason) VALUES ('p1', 10000000, 'enough');
	SELECT yquota.hold('p1', 'application_1_0001', 10, '1 hour');
	SQL
$primary->wait_for_catchup($standby);
learn_types($primary, 'sample');
my @calls = map {
	my $function = $_;
	my @ordinary = map { (values_of($_))[0] } @{ $function->{types} };
	my @sensible = map { $sensible{ $function->{arguments}[$_] // '' } // $ordinary[$_] } 0 .. $#ordinary;

	map { call($function, @$_) } \@sensible, [ @sensible[ 0 .. $#sensible - $function->{defaults} ] ], \@ordinary
} grep { $_->{volatile} && $_->{kind} eq 'f' && $_->{name} =~ /^yquota\./ } functions($primary, 'sample');
my @of_primary = answers($primary, @calls);
my @of_standby = answers($standby, @calls);
my @done = grep { $of_primary[$_] =~ /^00000/ } 0 .. $#calls;
my @wrong = map { "$calls[$_]: $of_standby[$_]; the primary: $of_primary[$_]" }
  grep { $of_standby[$_] !~ /^25006/ && substr($of_standby[$_], 0, 5) ne substr($of_primary[$_], 0, 5) } 0 .. $#calls;

is(join("\n", @wrong), '', 'the standby answers 25006 to ' . @calls . ' calls of functions that may write, or what the primary answers');
cmp_ok(@done, '>', @calls / 4, @done . ' of them are calls that the primary accepts');

$standby->stop;
$primary->stop;
done_testing();
