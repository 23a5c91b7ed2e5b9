# Pairs of sessions want the credit of a project that pays for one of them. At every isolation level, exactly one of
# each pair gets it, and the other is refused.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use WorkerNode;

use constant { CLIENTS => 8, PAIRS => 1000 };

my @levels = ('read committed', 'repeatable read', 'serializable');
my $node = new_node('hold_race', 'max_connections = 40', 'fsync = off');

# Two turns that follow each other are a pair. Mostly two clients have them, and each takes its own time to commit.
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION IF NOT EXISTS yquota;
CREATE SEQUENCE turn MINVALUE 0;
CREATE TABLE call (turn int, project text, held boolean, began timestamptz, ended timestamptz);
CREATE FUNCTION take(turn bigint, project text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	began timestamptz := clock_timestamp();
	has_held boolean := true;
BEGIN
	BEGIN
		PERFORM yquota.hold(project, 'application-' || turn, 60, '1 hour', external_id => 'run-' || turn);
	EXCEPTION WHEN SQLSTATE 'YQ001' THEN
		has_held := false;
	END;
	PERFORM pg_sleep(0.002 * random());
	INSERT INTO call VALUES (turn, project, has_held, began, clock_timestamp());
END
$$;
SQL
my $script = PostgreSQL::Test::Utils::tempdir() . '/race.sql';
append_to_file($script, <<'SQL');
SELECT nextval('turn') AS turn \gset
SELECT take(:turn, :level || '-' || :turn / 2);
SQL

foreach my $number (0 .. $#levels)
{
	my $level = $levels[$number];
	my $calls = $number ? PAIRS / 5 : 2 * PAIRS;

	# pgbench repeats a transaction that cannot be serialized with another turn, so it leaves out a turn.
	$node->safe_psql('postgres', <<"SQL");
TRUNCATE call;
SELECT setval('turn', 0, false);
INSERT INTO yquota.project (name) SELECT '$number-' || pair FROM generate_series(0, @{[PAIRS]}) AS pair;
INSERT INTO yquota.quota_grant (project, amount, reason) SELECT '$number-' || pair, 100, 'enough for one' FROM generate_series(0, @{[PAIRS]}) AS pair;
SQL
	local $ENV{PGOPTIONS} = '-c default_transaction_isolation=' . $level =~ s/ /\\ /r;
	$node->command_ok([ 'pgbench', '-n', '-c', CLIENTS, '-j', 2, '-t', $calls / CLIENTS, '--max-tries', 50, '-D', "level=$number", '-f', $script, 'postgres' ],
		"$calls calls at $level");
	is($node->safe_psql('postgres', 'SELECT count(*) FROM call'), $calls, "every call is answered at $level");
	is($node->safe_psql('postgres', 'SELECT count(*), count(DISTINCT project) FROM call WHERE held'), $calls / 2 . '|' . $calls / 2, "half of the calls get credit at $level")
	  if !$number;
	is($node->safe_psql('postgres', 'SELECT count(*) FROM (SELECT FROM call GROUP BY project HAVING count(*) FILTER (WHERE held) <> 1) AS wrong'),
		0, "one of each pair gets the credit at $level");
	is($node->safe_psql('postgres', 'SELECT count(*) FROM yquota.project_balance WHERE held <> 60 AND project IN (SELECT project FROM call)'), 0,
		"each project holds once at $level");
	my $raced = $node->safe_psql('postgres', 'SELECT count(*) FROM call AS a JOIN call AS b USING (project) WHERE a.turn < b.turn AND b.began < a.ended');
	cmp_ok($raced, '>', $calls / 20, "pairs race at $level");
}
is($node->safe_psql('postgres', 'SELECT count(*) FROM yquota.verify()'), 0, 'the books are right');

$node->stop;
done_testing();
