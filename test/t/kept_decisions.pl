# A session that keeps the cluster from one cycle to the next decides as Hadoop does. The test plays some of the
# scenarios of allocation_decisions.pl with every step in its own transaction. Heartbeats go to one session, and all
# changes between them to another.

use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;

use Client;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my @names = qw(nodes-108 nodes-304 relabel-110 reserve-108 labels-309 mess-114 update-958 am-109 amnodes-113 figures-reserve-31012);

my $node = PostgreSQL::Test::Cluster->new('kept_decisions');
$node->init;
$node->start;
$node->safe_psql('postgres', 'CREATE DATABASE empty');
$node->safe_psql('empty', 'CREATE EXTENSION IF NOT EXISTS yquota; ' . slurp_file('test/scheduler/decisions.sql'));

# Return the first step that differs, or ''. A state that a step lacks is that of the step before.
sub play
{
	my ($scenario) = @_;
	my $scheduler = Client->new($node, 'played');
	my $others = Client->new($node, 'played');
	my $difference = 'there are no steps';

	$others->run(qq(CALL replay.start(\$s\$$scenario\$s\$);
		CREATE TABLE replay.step_of AS
			SELECT n, step || jsonb_build_object('state', (SELECT earlier ->> 'state' FROM jsonb_array_elements(\$s\$$scenario\$s\$::jsonb -> 'steps') WITH ORDINALITY AS e(earlier, i)
				WHERE i <= n AND earlier ? 'state' ORDER BY i DESC LIMIT 1)) AS step
			FROM jsonb_array_elements(\$s\$$scenario\$s\$::jsonb -> 'steps') WITH ORDINALITY AS s(step, n)));
	my @operations = split /\n/, $others->run(q(SELECT step ->> 'do' FROM replay.step_of ORDER BY n));
	for my $n (1 .. @operations)
	{
		my $client = $operations[ $n - 1 ] =~ /^heartbeat/ ? $scheduler : $others;

		$client->run(qq(SELECT yquota.set_clock('2026-03-02 10:00+00'::timestamptz + $n * interval '1 min')));
		$difference = $client->run(qq(SELECT 'step $n: ' || d.difference FROM replay.step_of AS s, replay.step(s.step) AS d WHERE s.n = $n AND d.difference IS NOT NULL));
		last if $difference ne '';
	}
	$_->close foreach $scheduler, $others;
	return $difference;
}

foreach my $name (@names)
{
	my ($scenario) = grep { /^\{"name":"$name"/ } split /\n/, slurp_file('test/scheduler/decisions.jsonl');

	$node->safe_psql('postgres', $_) foreach 'DROP DATABASE IF EXISTS played', 'CREATE DATABASE played TEMPLATE empty';
	is(play($scenario), '', "$name: every decision is as in Hadoop");
	is($node->safe_psql('played', 'SELECT count(*) FROM yquota.verify()'), '0', "$name: the books agree");
}

$node->stop;
done_testing();
