# Every session keeps the configuration of queues in memory, and none may use an outdated copy. After each change, by
# any means, every session must answer its next statement like a new session.
#
# A session changes a random table, while the other sessions are in different states. They run simple statements,
# prepared statements with generic plans, parallel plans, and transactions of both isolation levels that began
# earlier. Some have a failed statement, or have rolled back changes of their own.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use Client;
use List::Util qw(shuffle);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Soak;
use Test::More;
use WorkerNode;

my $seed = $ENV{STALE_SEED} // int(rand 1_000_000_000);
note("STALE_SEED=$seed");
srand($seed);

my $node = new_node('stale_queues', 'max_connections = 40', 'max_prepared_transactions = 5', 'fsync = off');
my $database = 'queues';

$node->safe_psql('postgres', "CREATE DATABASE $database");
$node->safe_psql($database, <<'SQL');
CREATE EXTENSION IF NOT EXISTS yquota;
SELECT yquota.set_clock('2026-03-02 10:00+00');
BEGIN;
INSERT INTO yquota.scheduler_setting (acl_enable, cluster_max_application_priority, workflow_priority_mappings_override_enable) VALUES (true, 10, true);
INSERT INTO yquota.node_label (name) VALUES ('gpu');
INSERT INTO yquota.node (name, total, label) VALUES ('n1', '[memory-mb=102400,vcores=100]', ''), ('n2', '[memory-mb=51200,vcores=50]', 'gpu');
INSERT INTO yquota.queue (path, capacity, acl_submit_applications, acl_administer_queue) VALUES
	('root', NULL, ' ', ' '), ('root.a', '1w', 'u1 g1', 'u9'), ('root.b', '1w', 'u2', ' '), ('root.b.c', '1w', 'u3 g3', 'u1'),
	('root.b.d', '1w', '*', ' '), ('root.default', '1w', '*', ' ');
UPDATE yquota.queue SET auto_queue_creation_v2_enabled = true WHERE path = 'root.b';
INSERT INTO yquota.queue (path, auto_created) VALUES ('root.b.v', true);
INSERT INTO yquota.multi_node_sorting_policy (name, class) VALUES ('p1', 'c1'), ('p2', 'c2');
INSERT INTO yquota.mapping_rule (kind, position, type, matches, queue) VALUES
	('legacy', 1, 'user', 'u1', 'root.a'), ('legacy', 2, 'group', 'g3', 'root.b.c'), ('legacy', 3, 'user', '%user', 'root.b.%user');
COMMIT;
-- somebody whose weight counts
SELECT yquota.submit_application('application_1_2', 'u1', '{g1}', 'root.a');
SQL

# Changes of each table, which are allowed in any order. Their numbers differ each time.
my $number = 0;
sub number { my ($least, $count) = @_; return $least + $number++ % $count; }
sub one_of { return $_[ $number++ % @_ ]; }

my @leaves = ('root.a', 'root.b.c', 'root.b.d');
my @changes = (
	[ queue => sub { sprintf q(UPDATE yquota.queue SET capacity = '%dw' WHERE path = '%s'), number(2, 7), one_of(@leaves) } ],
	[ queue => sub { sprintf q(UPDATE yquota.queue SET acl_submit_applications = '%s' WHERE path = '%s'), one_of('u2 g1', 'u4,u5 g3', ' ', 'u1 g2'), one_of(@leaves) } ],
	[ queue => sub { sprintf q(UPDATE yquota.queue SET acl_administer_queue = '%s' WHERE path = 'root'), one_of('u6', 'u7 g2', 'u3') } ],
	[ queue => sub { sprintf q(UPDATE yquota.queue SET maximum_applications = %d, user_limit_factor = %d WHERE path = '%s'), number(10, 90), number(2, 9), one_of(@leaves) } ],
	[ queue => sub { sprintf q(UPDATE yquota.queue SET acl_application_max_priority = '[user=u1 group=g1 max_priority=%d default_priority=1]' WHERE path = 'root.a'), number(2, 8) } ],
	[ queue => sub { sprintf q(UPDATE yquota.queue SET default_application_priority = %d WHERE path = 'root.b.c'), number(1, 4) } ],
	[ queue => sub { q(UPDATE yquota.queue SET state = CASE state WHEN 'STOPPED' THEN 'RUNNING' ELSE 'STOPPED' END::yquota.queue_state WHERE path = 'root.b.d') } ],
	[ queue => sub { q(INSERT INTO yquota.queue (path, capacity, state, acl_submit_applications) VALUES ('root.b.u5', '1w', 'STOPPED', 'u5') ON CONFLICT (path) DO UPDATE SET capacity = '2w') } ],
	[ queue => sub { q(DELETE FROM yquota.queue WHERE path = 'root.b.u5') } ],
	[ queue_label => sub { sprintf q(INSERT INTO yquota.queue_label (queue, label, capacity, maximum_capacity) VALUES ('%s', 'gpu', '%dw', '%d')
		ON CONFLICT (queue, label) DO UPDATE SET (capacity, maximum_capacity) = (EXCLUDED.capacity, EXCLUDED.maximum_capacity)),
		one_of('root.a', 'root.default'), number(1, 9), number(50, 50) } ],
	[ queue_user => sub { sprintf q(INSERT INTO yquota.queue_user (queue, username, weight) VALUES ('root.a', 'u1', 0.%d)
		ON CONFLICT (queue, username) DO UPDATE SET weight = EXCLUDED.weight), number(1, 9) } ],
	[ mapping_rule => sub { sprintf q(UPDATE yquota.mapping_rule SET queue = '%s' WHERE position = 1), one_of('root.b.c', 'root.b.d', 'root.a') } ],
	[ mapping_rule => sub { sprintf q(UPDATE yquota.mapping_rule SET matches = 'g%d' WHERE position = 2), number(0, 3) } ],
	[ scheduler_setting => sub { 'UPDATE yquota.scheduler_setting SET acl_enable = NOT acl_enable' } ],
	[ scheduler_setting => sub { sprintf 'UPDATE yquota.scheduler_setting SET cluster_max_application_priority = %d', number(11, 9) } ],
	[ scheduler_setting => sub { sprintf 'UPDATE yquota.scheduler_setting SET maximum_applications = %d, maximum_am_resource_percent = 0.%d', number(100, 900), number(2, 7) } ],
	[ scheduler_setting => sub { sprintf q(UPDATE yquota.scheduler_setting SET admin_acl = '%s'), one_of('u8', 'u9 g1', ' ') } ],
	[ scheduler_setting => sub { sprintf 'UPDATE yquota.scheduler_setting SET opportunistic_allocation_enabled = true, opportunistic_queue_capacity = -%d', number(1, 900) } ],
	[ user_setting => sub { sprintf q(INSERT INTO yquota.user_setting (username, max_parallel_apps) VALUES ('u1', %d)
		ON CONFLICT (username) DO UPDATE SET max_parallel_apps = EXCLUDED.max_parallel_apps), number(1, 9) } ],
	[ wildcard_template => sub { sprintf q(INSERT INTO yquota.wildcard_template (path, auto_queue_creation_v2_leaf_template) VALUES ('root.*', '{"acl_submit_applications": "u%d", "user-limit-factor": "%d"}')
		ON CONFLICT (path) DO UPDATE SET auto_queue_creation_v2_leaf_template = EXCLUDED.auto_queue_creation_v2_leaf_template), number(1, 9), number(2, 7) } ],
	[ workflow_priority_mapping => sub { sprintf q(INSERT INTO yquota.workflow_priority_mapping (position, workflow_id, queue, priority) VALUES (1, 'w1', 'root.default', %d)
		ON CONFLICT (position) DO UPDATE SET priority = EXCLUDED.priority), number(2, 8) } ],
	[ multi_node_sorting_policy => sub { sprintf q(INSERT INTO yquota.multi_node_sorting_policy (name, class) VALUES ('p3', 'c1') ON CONFLICT (name) DO UPDATE SET class = 'c%d'), number(2, 5) } ],
	[ node_label => sub { q(INSERT INTO yquota.node_label (name) VALUES ('ssd') ON CONFLICT DO NOTHING) } ],
	[ node_label => sub { q(DELETE FROM yquota.node_label WHERE name = 'ssd') } ],
	[ node => sub { sprintf q(UPDATE yquota.node SET total = '[memory-mb=%d,vcores=%d]' WHERE name = 'n1'), 1024 * number(10, 89), number(10, 89) } ],
	[ node => sub { q(UPDATE yquota.node SET state = CASE state WHEN 'LOST' THEN 'RUNNING' ELSE 'LOST' END::yquota.node_state WHERE name = 'n2') } ],
	[ node => sub { q(INSERT INTO yquota.node (name, total) VALUES ('n3', '[memory-mb=2048,vcores=2]') ON CONFLICT DO NOTHING) } ],
	[ node => sub { q(DELETE FROM yquota.node WHERE name = 'n3') } ],
	[ resource_type => sub { q(INSERT INTO yquota.resource_type (name, price_group) VALUES ('disk', 'GENERAL') ON CONFLICT DO NOTHING) } ],
	[ resource_type => sub { q(DELETE FROM yquota.resource_type WHERE name = 'disk') } ],
	[ unmapped_property => sub { q(INSERT INTO yquota.unmapped_property (property, value) VALUES ('yarn.scheduler.capacity.root.b.u5.state', 'STOPPED') ON CONFLICT DO NOTHING) } ],
	[ unmapped_property => sub { q(DELETE FROM yquota.unmapped_property) } ]);

# Questions. The answer to each is a text that depends on everything that the question concerns.
my %questions = (
	access => q(SELECT string_agg(concat_ws(' ', u, q, o, c), E'\n') FROM generate_series(1, 9) AS n, concat('u', n) AS u,
		unnest('{root,root.a,root.b,root.b.c,root.b.d,root.b.u5,root.b.u6,default}'::text[]) AS q, unnest('{SUBMIT,ADMINISTER_QUEUE,ADMIN}'::text[]) AS o,
		yquota.check_queue_access(u, ARRAY['g' || n % 4], q, o) AS c),
	placement => q(SELECT string_agg(concat_ws(' ', u, q, p), E'\n') FROM generate_series(1, 6) AS n, concat('u', n) AS u,
		unnest('{default,root.a,c,d,root.b.u5}'::text[]) AS q, yquota.place_application(u, ARRAY['g' || n % 4], q, 'job') AS p),
	priority => q(SELECT string_agg(concat_ws(' ', u, q, r, p), E'\n') FROM generate_series(1, 3) AS n, concat('u', n) AS u,
		unnest('{root.a,root.b.c,default}'::text[]) AS q, unnest('{NULL,7,30}'::integer[]) AS r, unnest('{workflowid:w1,other}'::text[]) AS t,
		yquota.application_priority(u, ARRAY['g' || n], q, r, ARRAY[t]) AS p),
	admission => q(SELECT string_agg(concat_ws(' ', u, q, a), E'\n') FROM generate_series(1, 3) AS n, concat('u', n) AS u,
		unnest('{default,root.a,c,root.b.d,root.b.u5}'::text[]) AS q,
		yquota.submit_application('application_1_1', u, ARRAY['g' || n], q, priority => 30, am_resource => '[memory-mb=2048,vcores=1]', label => 'gpu', dry_run => true) AS a),
	user_limit => q(SELECT string_agg(concat_ws(' ', u, q, l, i), E'\n') FROM unnest('{u1,u2}'::text[]) AS u,
		unnest('{root.a,root.b.c}'::text[]) AS q, unnest('{"",gpu}'::text[]) AS l, yquota.user_limit(q, u, l) AS i),
	advice => q(SELECT string_agg(a::text, E'\n') FROM yquota.configuration_advice() AS a),
	figures => q(SELECT string_agg(q::text, E'\n') FROM yquota.effective_queue AS q));
my $ask = join ";\n", map { $questions{$_} } sort keys %questions;

# Sessions: the statements with which they begin, and the statements before each question.
my $parallel = $node->safe_psql('postgres', 'SHOW server_version_num') >= 160000 ? 'debug_parallel_query' : 'force_parallel_mode';
my %readers = (
	plain => { begin => 'SELECT 1' },
	prepared => {
		begin => join(";\n", 'SET plan_cache_mode = force_generic_plan', map { "PREPARE $_ AS $questions{$_}" } sort keys %questions),
		ask => join(";\n", map { "EXECUTE $_" } sort keys %questions) },
	'read committed' => { begin => 'BEGIN' },
	'repeatable read' => { begin => 'BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1' },
	parallel => { begin => "SET $parallel = on; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0" },
	'parallel, repeatable read' => {
		begin => "SET $parallel = on; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1",
		before => q(SET LOCAL client_min_messages = error; SELECT count(*) FROM yquota.queue AS q JOIN yquota.effective_queue AS e ON e.queue = q.path),
	},
	'failed statement' => { begin => 'SELECT 1', before => "\\set ON_ERROR_STOP 0\nSELECT 1 / (SELECT 0 FROM yquota.effective_queue LIMIT 1)" },
	'refused change' => {
		begin => 'SELECT 1',
		before => "BEGIN; UPDATE yquota.queue SET capacity = '20000w', acl_submit_applications = 'nobody' WHERE path = 'root.a';\n$ask;\nCOMMIT" },
	'change rolled back' => {
		begin => 'SELECT 1',
		before => "BEGIN; UPDATE yquota.queue SET capacity = '77w', acl_submit_applications = 'nobody' WHERE path = 'root.a'; UPDATE yquota.mapping_rule SET matches = 'nobody';\n$ask;\nROLLBACK" },
	savepoint => {
		begin => 'BEGIN',
		before => "SAVEPOINT s; UPDATE yquota.queue SET capacity = '78w', acl_submit_applications = 'nobody' WHERE path = 'root.a';\n$ask;\nROLLBACK TO s; RELEASE s" });
my %clients = map { $_ => Client->new($node, $database) } keys %readers, 'writer';

# outcome_of(CLIENT, SQL): return the output, including errors.
sub outcome_of
{
	my ($client, $sql) = @_;
	my $outcome;

	$client->send($sql);
	1 until $outcome = $client->read;
	die "connection lost: $outcome->{answer}\n" if $outcome->{lost};
	return $outcome;
}

# Return the answers of a new session.
sub truth
{
	my $client = Client->new($node, $database);
	my @answers = map { $client->run($questions{$_}) } sort keys %questions;

	$client->close;
	return @answers;
}

# Make a change in one of several ways: by a statement, or by a transaction with another change that is read and
# rolled back. Or another session commits the prepared transaction.
my $ways = 0;
sub change
{
	my ($statement) = @_;
	my $writer = $clients{writer};
	my $way = $ways++ % 3;

	return outcome_of($writer, $statement) if $way == 0;
	return outcome_of($writer, join ";\n", 'BEGIN', 'SAVEPOINT s', $changes[0][1]->(), $ask, 'ROLLBACK TO s', $statement, $ask, 'COMMIT') if $way == 1;
	my $outcome = outcome_of($writer, join ";\n", 'BEGIN', $statement, q(PREPARE TRANSACTION 'change'));
	# no other session may see the change yet
	outcome_of($clients{plain}, $ask);
	$node->safe_psql($database, q(COMMIT PREPARED 'change')) if !defined $outcome->{sqlstate};
	return $outcome;
}

foreach my $name (sort keys %readers)
{
	my $begun = outcome_of($clients{$name}, $readers{$name}{begin});
	die "$name: $begun->{answer}" if defined $begun->{sqlstate};
	outcome_of($clients{$name}, $ask);
}
my (%changed_by, %changed, %stale);
my %seen_by_answers = map { $_->[0] => 1 } @changes;
# no question depends on these tables
delete @seen_by_answers{qw(user_setting multi_node_sorting_policy node_label unmapped_property)};
my $refused = 0;
my @before = truth();
my $rounds = 0;

for (; soak_goes_on($rounds, scalar @changes, 10 * @changes); $rounds++)
{
	# start a new random order when all changes have been made
	@changes = shuffle(@changes) if $rounds % @changes == 0;
	my ($table, $make) = @{ $changes[ $rounds % @changes ] };
	my $statement = $make->();
	my $outcome = change($statement);
	my @truth = truth();

	if (defined $outcome->{sqlstate})
	{
		diag("refused: $statement\n$outcome->{answer}");
		$refused++;
	}
	ask_all($statement, @truth);
	foreach my $i (0 .. $#truth)
	{
		next if $truth[$i] eq $before[$i];
		$changed{ (sort keys %questions)[$i] }++;
		$changed_by{$table}++;
	}
	@before = @truth;
}

# Compare the answers of every session with those of a new session.
sub ask_all
{
	my ($statement, @truth) = @_;

	foreach my $name (sort keys %readers)
	{
		my $reader = $readers{$name};

		outcome_of($clients{$name}, $reader->{before}) if defined $reader->{before};
		my $answer = outcome_of($clients{$name}, $reader->{ask} // $ask)->{answer};
		next if $answer eq join '', @truth;
		$stale{$name}++;
		diag("$name, after $statement:\n" . difference(join('', @truth), $answer)) if $stale{$name} <= 2;
	}
	return;
}

# Return the first lines that differ.
sub difference
{
	my ($right, $found) = @_;
	my @right = split /\n/, $right;
	my @found = split /\n/, $found;
	my @differing = grep { ($right[$_] // '') ne ($found[$_] // '') } 0 .. ($#right > $#found ? $#right : $#found);

	splice @differing, 3 if @differing > 3;
	return join '', map { '  is ' . ($right[$_] // 'nothing') . "\n  not " . ($found[$_] // 'nothing') . "\n" } @differing;
}

# Changes that wait for the end of open transactions.
foreach my $name (grep { $readers{$_}{begin} =~ /BEGIN/ } sort keys %readers)
{
	outcome_of($clients{$name}, 'COMMIT');
	$readers{$name}{before} = undef if $name eq 'savepoint';
}
foreach my $statement ('TRUNCATE yquota.mapping_rule', 'TRUNCATE yquota.workflow_priority_mapping', 'TRUNCATE yquota.queue_label', 'TRUNCATE yquota.scheduler_setting')
{
	my $outcome = outcome_of($clients{writer}, $statement);

	$refused++ if defined $outcome->{sqlstate};
	ask_all($statement, truth());
	$rounds++;
}

is($stale{$_} // 0, 0, "$rounds changes are seen by the next statement: $_") foreach sort keys %readers;
is($refused, 0, 'all changes were allowed');
ok($changed{$_}, 'the answers changed: ' . $_) foreach sort keys %questions;
ok($changed_by{$_}, 'the answers changed with table ' . $_) foreach sort keys %seen_by_answers;
$_->close foreach values %clients;
$node->stop;
done_testing();
