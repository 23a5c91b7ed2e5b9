# Many clients send events of the same containers in any order. No statements deadlock, and at no isolation level does
# a statement fail because of the counters (docs/design.md 1.5).
#
# Every statement takes events of a script in random order. A transaction is one statement, because only a single
# statement takes its containers in a fixed order.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use Control;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Soak;
use Test::More;
use WorkerNode;

use constant CLIENTS => 8;

my $node = new_node('contention', 'max_connections = 40', 'deadlock_timeout = 50ms', 'fsync = off');
my %total = (statements => 0, deadlocks => 0, conflicts => 0, retries => 0);

# run_clients(LEVEL, TRIES, TRANSACTIONS, NAME => SCRIPT...): run pgbench with a file for each
# script, and return the count.
sub run_clients
{
	my ($level, $tries, $transactions, %scripts) = @_;
	my @files;

	foreach my $name (sort keys %scripts)
	{
		my $file = PostgreSQL::Test::Utils::tempdir() . "/$name.sql";

		append_to_file($file, $scripts{$name});
		push @files, '-f', $file . ($name =~ /(\@\d+)$/ ? $1 : '');
	}
	local $ENV{PGOPTIONS} = "-c default_transaction_isolation=$level -c yquota.on_bad_event=set_aside";
	my ($out, $error) = run_command(
		[ 'pgbench', '-n', '-c', CLIENTS, '-j', 2, '-t', $transactions, '--max-tries', $tries,
			'--failures-detailed', '-h', $node->host, '-p', $node->port, @files, 'books' ]);
	my %count;

	unlink grep { !/^-f$/ } map { s/\@\d+$//r } @files;
	($count{done}) = $out =~ /transactions actually processed: (\d+)/;
	($count{conflicts}) = $out =~ /number of serialization failures: (\d+)/;
	($count{deadlocks}) = $out =~ /number of deadlock failures: (\d+)/;
	($count{retries}) = $out =~ /total number of retries: (\d+)/;
	$count{retries} //= 0;
	$total{statements} += $count{done} // 0;
	$total{deadlocks} += $count{deadlocks} // 0;
	$total{conflicts} += $count{conflicts} // 0;
	$total{retries} += $count{retries};
	diag($error) if $error =~ /ERROR|aborted|FATAL/;
	return \%count;
}

make_books($node, 'books', 'control');
my $columns = Control::EVENT_COLUMNS;
$node->safe_psql('books', <<~SQL);
	-- a statement of random events of the script with that prefix
	CREATE FUNCTION send(prefix text, amount integer) RETURNS void LANGUAGE sql AS \$\$
		INSERT INTO yquota.container_event ($columns)
		SELECT $columns
		FROM (SELECT * FROM script WHERE container_id LIKE prefix || '-%' ORDER BY random() LIMIT amount) AS chosen
	\$\$;
	-- a START of a container of its own
	CREATE FUNCTION start_one(client integer, number integer) RETURNS void LANGUAGE sql AS \$\$
		INSERT INTO yquota.container_event (event, container_id, occurred_at, project, queue, allocation)
		VALUES ('CONTAINER_START', format('own-%s-%s', client, number), '2026-03-02 23:00+00', 'p0', 'root.q', '[memory-mb=1024,vcores=1]')
	\$\$;
	CREATE SEQUENCE own;
	SQL

# Clients share the containers. Each statement takes up to 40 of 180 events and stays open for a moment, so that
# other statements run in between
for (my $round = 0; soak_goes_on($round, 3, 15, 80); $round++)
{
	my $level = ('read committed', 'repeatable read', 'serializable')[ $round % 3 ];
	my $escaped = $level =~ s/ /\\ /r;
	my $events = make_script($node, 'books', "r$round", 36);
	my $count = run_clients($escaped, 1, 60,
		'mix@9' => "\\set amount random(1, 40)\nBEGIN;\nSELECT send('r$round', :amount);\n\\sleep 2 ms\nCOMMIT;\n",
		'compact@1' => "SET default_transaction_isolation = 'read committed';\nSELECT yquota.quota_compute();\nSET default_transaction_isolation = '$level';\n");

	is($count->{done}, CLIENTS * 60, "round $round at $level: every statement got through");
	is($count->{deadlocks}, 0, "round $round at $level: no deadlock");
	is($count->{conflicts}, 0, "round $round at $level: no statement has to be repeated");
	settle_rest($node, 'books', "r$round");
	is($node->safe_psql('books', 'SELECT count(*) FROM yquota.event_reject'), '0', "round $round at $level: nothing stays set aside");
	is_same_as_control($node, 'books', 'control', "r$round", "round $round at $level");
	note("round $round: $level, $events events, $count->{done} statements");
}

# Clients use one project, each with its own containers, while other clients read the counters
for (my $round = 0; soak_goes_on($round, 1, 5, 90); $round++)
{
	my $count = run_clients('serializable', 1, 40,
		'start@3' => "BEGIN;\nSELECT start_one(:client_id, nextval('own')::integer);\n\\sleep 1 ms\nCOMMIT;\n",
		'read@1' => "BEGIN;\nSELECT count(*), sum(accrued) FROM yquota.project_balance;\n"
		  . "SELECT sum(amount) FROM yquota.cost_between('2026-03-02 00:00+00', '2026-03-02 12:00+00');\nCOMMIT;\n");

	is("$count->{done} $count->{conflicts} $count->{deadlocks}", CLIENTS * 40 . ' 0 0',
		"SERIALIZABLE: sessions that send events of one project, and sessions that read its balance, do not make each other fail");
}

# A client that reads a balance and then sends an event has read rows that other clients change. That is a true
# serialization conflict, and the repeated transaction succeeds
for (my $round = 0; soak_goes_on($round, 1, 5); $round++)
{
	my $count = run_clients('serializable', 1000, 10,
		'both' => "BEGIN;\nSELECT remaining FROM yquota.project_balance WHERE project = 'p0';\n"
		  . "SELECT start_one(:client_id, nextval('own')::integer);\nCOMMIT;\n");

	is("$count->{done} $count->{conflicts} $count->{deadlocks}", CLIENTS * 10 . ' 0 0',
		"SERIALIZABLE: transactions that read a balance and send an event all succeed in the end ($count->{retries} repetitions)");
}
my $own = $node->safe_psql('books', "SELECT count(*), sum(cost) = count(*) * max(cost) FROM yquota.container_cost WHERE container_id LIKE 'own-%'");
is($own, $node->safe_psql('books', "SELECT count(*), true FROM yquota.container WHERE container_id LIKE 'own-%'"), 'each START was charged once');
is_proven($node, 'books', 'in the end');

# A snapshot shows the same balance in all views and functions, whatever is charged and compacted in
# the meantime.
foreach my $level ('REPEATABLE READ', 'SERIALIZABLE')
{
	my $reader = $node->background_psql('books');
	my $balance = "SELECT sum(charged), sum(accrued) FROM yquota.project_balance";
	my $cost = "SELECT sum(amount) FROM yquota.cost_between('2026-03-01 00:00+00', '2026-03-03 00:00+00')";

	$reader->query_safe("BEGIN ISOLATION LEVEL $level");
	my ($charged, $accrued) = split /\|/, $reader->query_safe($balance);
	my $before = $reader->query_safe($cost);
	$node->safe_psql('books', "SELECT start_one(99, nextval('own')::integer)");
	$node->safe_psql('books', "SELECT yquota.quota_compute()");
	is($reader->query_safe($balance), "$charged|$accrued", "$level: within one snapshot the balance stays the same");
	is($reader->query_safe($cost), $before, "$level: within one snapshot the cost of the day stays the same");
	is($reader->query_safe("SELECT $charged + $accrued = $before"), 't', "$level: balance and cost agree");
	$reader->query_safe('COMMIT');
	isnt($reader->query_safe($balance), "$charged|$accrued", "$level: afterwards the balance is the new one");
	$reader->quit;
}

note('contention: ', join ', ', map { "$total{$_} $_" } sort keys %total);
$node->stop;
done_testing();
