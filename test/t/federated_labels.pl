# Prices by node label in two clusters with factors of their own. Nodes get other labels while their containers run.
# archive() keeps the parts of these containers. The federation reads the same costs and bills from the server of a
# cluster and from the ledger into which the cluster has archived. The expected costs are computed by hand.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use Archives;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use WorkerNode;

my $node = new_node('labels', 'autovacuum = off', 'jit = off');
my ($host, $port) = ($node->host, $node->port);

# Factors by label. A label without a factor costs the full price.
my %factors = (east => q(('label', 'spot', 0.3), ('label', 'a100', 2)), west => q(('label', 'spot', 0.5)));

# Credits of each container in a cluster: one credit per vcore and second. The container "moved" runs for a day: 6
# hours without a label, 12 hours on a spot node and 6 hours on an a100 node. The container "plain" runs for 12 hours on
# a node that gets its label later. The container "long" runs on the node of "moved" for 31 days and 6 hours.
my %cost = (
	east => { moved => 3600 * (6 + 12 * 0.3 + 6 * 2), plain => 3600 * 12, long => 3600 * (6 + 12 * 0.3 + (30 * 24 + 12) * 2) },
	west => { moved => 3600 * (6 + 12 * 0.5 + 6), plain => 3600 * 12, long => 3600 * (6 + 12 * 0.5 + 30 * 24 + 12) });

# Credits of the container "long" until the end of March
my %long_in_march = (east => 3600 * (6 + 12 * 0.3 + (30 * 24 + 6) * 2), west => 3600 * (6 + 12 * 0.5 + 30 * 24 + 6));

sub sql { my ($database, $query) = @_; return $node->safe_psql($database, $query); }

sub at
{
	my ($database, $time, $query) = @_;

	sql($database, "SELECT yquota.set_clock('$time'); $query");
	return;
}

sub server_of
{
	my ($database, $of, $user) = @_;

	sql($database, <<~"SQL");
		CREATE SERVER $of FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '$host', port '$port', dbname '$of');
		CREATE USER MAPPING FOR CURRENT_USER SERVER $of OPTIONS (user '$user');
		SQL
	return;
}

sql('postgres', 'CREATE ROLE reporter LOGIN');
foreach my $name (qw(federation east west))
{
	sql('postgres', "CREATE DATABASE $name");
	sql($name, <<~"SQL");
		CREATE EXTENSION IF NOT EXISTS yquota;
		CREATE EXTENSION postgres_fdw;
		INSERT INTO yquota.cluster_setting (cluster_name) VALUES ('$name');
		SELECT yquota.set_clock('2026-03-01 00:00+00'), yquota.allow_role('reporter', 'viewer');
		INSERT INTO yquota.project (name) VALUES ('lab');
		SQL
}
sql('federation', 'CREATE TABLE ledger (' . ledger_columns() . ')');

foreach my $name (qw(east west))
{
	my $event = 'INSERT INTO yquota.container_event (event, container_id, occurred_at, project, username, queue, node, allocation) VALUES';

	at($name, '2026-03-01 00:00+00', <<~"SQL");
		INSERT INTO yquota.price_factor (dimension, name, factor) VALUES $factors{$name};
		INSERT INTO yquota.node (name, total) VALUES ('n1', '[vcores=8]'), ('n2', '[vcores=8]');
		$event ('CONTAINER_START', 'moved', yquota.clock(), 'lab', 'ann', 'root.a', 'n1', '[vcores=1]'),
			('CONTAINER_START', 'long', yquota.clock(), 'lab', 'bob', 'root.b', 'n1', '[vcores=1]'),
			('CONTAINER_START', 'plain', yquota.clock(), 'lab', 'ann', 'root.a', 'n2', '[vcores=1]');
		SQL
	at($name, '2026-03-01 06:00+00', q(UPDATE yquota.node SET label = 'spot' WHERE name = 'n1'));
	at($name, '2026-03-01 12:00+00', q(INSERT INTO yquota.container_event (event, container_id, occurred_at) VALUES ('CONTAINER_FINISH', 'plain', yquota.clock())));
	at($name, '2026-03-01 18:00+00', q(UPDATE yquota.node SET label = CASE name WHEN 'n1' THEN 'a100' ELSE 'spot' END));
	at($name, '2026-03-02 00:00+00', q(INSERT INTO yquota.container_event (event, container_id, occurred_at) VALUES ('CONTAINER_FINISH', 'moved', yquota.clock())));
	at($name, '2026-04-01 01:00+00', q(SELECT yquota.quota_compute(); SELECT yquota.close_period('2026-04-01 00:00+00'); SELECT yquota.seal_history()));
}
at('federation', '2026-04-01 01:00+00', '');

# march(CLUSTER): return the credits of all containers in March.
sub march { my ($name) = @_; return $cost{$name}{moved} + $cost{$name}{plain} + $long_in_march{$name}; }

my $by_container = q(SELECT container_id, trim_scale(amount) FROM yquota.cost_between('2026-03-01 00:00+00', '2026-04-01 00:00+00', '{container_id}') ORDER BY 1);
my @reports = (map { qq(SELECT $_, trim_scale(amount) FROM yquota.cost_between('-infinity', 'infinity', '{$_}') ORDER BY 1, 2) } qw(project username queue));
push @reports, q(SELECT day, trim_scale(amount) FROM yquota.cost_by_day('2026-03-01', '2026-04-01', '{}') ORDER BY 1), q(SELECT * FROM yquota.bill('lab', date '2026-04-01') ORDER BY line),
  q(SELECT project, charged, accrued, remaining FROM yquota.project_balance);

foreach my $name (qw(east west))
{
	is(sql($name, $by_container), "long|$long_in_march{$name}\nmoved|$cost{$name}{moved}\nplain|$cost{$name}{plain}", "$name: each label costs its price");
	is(sql($name, 'SELECT count(*) FROM yquota.verify()'), '0', "$name: the books are right");
}

# The federation reads both clusters by their servers, and then the west from its ledger.
sub federated
{
	my ($how) = @_;

	is(sql('federation', q(SELECT cluster, project, amount FROM yquota.federated_cost('2026-03-01', '2026-03-31', '{cluster,project}') ORDER BY 1)),
		join("\n", map { "$_|lab|" . march($_) } qw(east west)), "$how: costs by cluster");
	is(sql('federation', q(SELECT day, amount FROM yquota.federated_cost('2026-03-01', '2026-03-02', '{day}') ORDER BY 1)),
		'2026-03-01|' . (2 * ($cost{east}{moved} + $cost{west}{moved}) + 2 * 3600 * 12) . "\n2026-03-02|" . 3600 * 24 * 3, "$how: costs by day");
	is(sql('federation', q(SELECT cluster, charged, corrected, amount FROM yquota.federated_bill('2026-03-01') ORDER BY 1 NULLS LAST)),
		join("\n", map({ "$_|" . march($_) . '|0|' . march($_) } qw(east west)), '|' . (march('east') + march('west')) . '|0|' . (march('east') + march('west'))), "$how: bills");
	return;
}

server_of('federation', $_, 'reporter') foreach qw(east west);
sql('federation', "SELECT yquota.federate_cluster('$_', '$_')") foreach qw(east west);
federated('by server');

# archive() moves the ended parts of containers, and those of the container that still runs. Reports by container and
# node then begin at the archive horizon.
server_of('west', 'federation', 'postgres');
sql('west', 'IMPORT FOREIGN SCHEMA public LIMIT TO (ledger) FROM SERVER federation INTO public');
my @before = map { sql('west', $_) } @reports;
is(archive_until_done($node, 'west', 'public.ledger'), 'written archived', 'the west archives');
is(sql('federation', q(SELECT container_id, trim_scale(sum(amount)) FROM ledger WHERE container_id IN ('moved', 'plain') GROUP BY 1 ORDER BY 1)), "moved|$cost{west}{moved}\nplain|$cost{west}{plain}", 'the ledger has the ended containers');
is_deeply([ map { sql('west', $_) } @reports ], \@before, 'reports, the bill and the balance are as before');
is(sql('west', 'SELECT count(*) FROM yquota.verify()'), '0', 'the books are right after archive()');
federated('by server, with history in the ledger');

# The last container ends after the archive
foreach my $name (qw(east west))
{
	at($name, '2026-04-01 06:00+00', q(INSERT INTO yquota.container_event (event, container_id, occurred_at) VALUES ('CONTAINER_FINISH', 'long', yquota.clock())));
	is(sql($name, q(SELECT trim_scale(amount) FROM yquota.cost_between('-infinity', 'infinity', '{username}') WHERE username = 'bob')), $cost{$name}{long}, "$name: the whole run has its cost");
	is(sql($name, 'SELECT count(*) FROM yquota.verify()'), '0', "$name: the books are right at the end");
}

# Once all parts are in the ledger, the federation reads the west from there
at('west', '2026-04-02 01:00+00', q(SELECT yquota.seal_history()));
is(archive_until_done($node, 'west', 'public.ledger'), 'written archived', 'the west archives again');
is(sql('federation', q(SELECT container_id, trim_scale(sum(amount)) FROM ledger GROUP BY 1 ORDER BY 1)), join("\n", map { "$_|$cost{west}{$_}" } qw(long moved plain)), 'the ledger has all containers');
sql('federation', q(SELECT yquota.remove_federated_cluster('west'), yquota.federate_cluster('west', ledger => 'public.ledger')));
federated('by server and ledger');

$node->stop;
done_testing();
