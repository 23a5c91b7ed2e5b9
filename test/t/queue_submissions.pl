# Applications are handled as in Hadoop 3.4.1. Random scenarios of submissions, moves, refreshes and so on are
# compared with the actions of its resource manager.
#
# Each line of test/queues/submissions.jsonl is a configuration in Hadoop's properties, labels, nodes, and steps. A
# step has the operation, the message of its refusal, the rule that decided, and the scheduler's actions on
# containers. It has the applications whose outstanding requests began or ceased to count. It also has the facts that
# it changed; null means that a fact is gone. A ResourceManager (MockRM of hadoop-yarn-server-resourcemanager 3.4.1)
# did the steps one by one, each after all events of the step before. It keeps some figures from one heartbeat to the
# next; the figures were recorded after it had recomputed all queues (update).
#
# The recorder corrected Hadoop's books where Hadoop fails to keep them. When an application that max-parallel-apps
# holds ends or moves, Hadoop subtracts it from the user's waiting applications, to which it never belonged. Hadoop
# adds a held application to the waiting applications when its priority is set. An application that moves is still
# counted as running in its former parents. A changed priority is not remembered, so setting the old one is not a
# change. A user stays a user of the queue after a refusal, but may cease to be one while all the user's applications
# are held. The comparison leaves out the differences that docs/internals.md lists as intended.

use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;

use Falsified qw(falsify unnoticed);
use JSON::PP;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('queue_submissions');
$node->init;
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION IF NOT EXISTS yquota; ' . slurp_file('test/queues/submissions.sql'));

my @scenarios = grep { !/^#/ } split /\n/, slurp_file('test/queues/submissions.jsonl');
$node->safe_psql('postgres', join '', map { "CALL replay.play(\$scenario\$$_\$scenario\$);\n" } @scenarios);

is($node->safe_psql('postgres', "SELECT format('%s/%s %s: %s, Hadoop: %s, yquota: %s', scenario, step, operation, key, hadoop, yquota) FROM replay.difference"),
	'', 'every decision is as in Hadoop');
my ($played, $refused, $steps, $facts) = split /\|/, $node->safe_psql('postgres', 'SELECT * FROM replay.count');
is($played, @scenarios, 'all scenarios were played');
cmp_ok($refused, '>=', 1, 'configurations that it refuses');
cmp_ok($steps, '>', 800, 'steps');
cmp_ok($facts, '>', 15_000, 'facts');
note("$played scenarios ($refused refused), $steps steps, $facts facts");

# Falsified results, which the comparison must find. For an error only its presence is compared, not its message. A
# message that names no rule has no decided_by.
my @falsified = falsify([ map { decode_json($_) } @scenarios ], figure => sub { $_[0] =~ m{^(?:steps/\d+/)?(?:facts|figures|decided_by)\b} },
	optional => qr{/decided_by$}, maps => qr{(?:^|/)(?:facts|figures)$}, name => 'queue root.added');
$falsified[$_][1]{name} = "falsified $_" foreach 0 .. $#falsified;
$node->safe_psql('postgres', join '', map { "CALL replay.play(\$scenario\$@{[ encode_json($_->[1]) ]}\$scenario\$);\n" } @falsified);
my %differing = map { $_ => 1 } split /\n/, $node->safe_psql('postgres', 'SELECT DISTINCT scenario FROM replay.difference');
is(unnoticed(\@falsified, map { $differing{ $_->[1]{name} } } @falsified), '', 'every falsified decision and figure is found');
cmp_ok(scalar @falsified, '>', 100, 'kinds of falsifications');
note(scalar(@falsified) . ' falsifications');

$node->stop;
done_testing();
