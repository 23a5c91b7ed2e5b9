# The example for Slurm (docs/examples/slurm) works. Listings of sacct become events, and the cost of each run
# follows from its listing, to the last digit.
#
# The listings come from a cluster of Slurm 22.05 with two nodes, one taken while jobs ran and one afterwards. Then
# come jobs of kinds that this cluster did not have, written as sacct's manual describes them.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $header = 'Cluster|JobID|JobIDRaw|User|Account|Partition|State|ExitCode|Start|End|ElapsedRaw|NodeList|AllocTRES';
my @during = split /\n/, <<'LISTING';
cluster|1|1|root|physics|batch|COMPLETED|0:0|2026-11-26T07:51:37|2026-11-26T07:51:45|8|n1|billing=4,cpu=4,mem=1500M,node=1
cluster|1.batch|1.batch||physics||COMPLETED|0:0|2026-11-26T07:51:37|2026-11-26T07:51:45|8|n1|cpu=4,mem=1500M,node=1
cluster|1.0|1.0||physics||COMPLETED|0:0|2026-11-26T07:51:37|2026-11-26T07:51:40|3|n1|cpu=4,mem=1500M,node=1
cluster|1.1|1.1||physics||COMPLETED|0:0|2026-11-26T07:51:41|2026-11-26T07:51:45|4|n1|cpu=4,mem=1500M,node=1
cluster|3|3|root|biology|batch|FAILED|3:0|2026-11-26T07:51:37|2026-11-26T07:51:42|5|n1|billing=1,cpu=1,mem=700M,node=1
cluster|4|4|root|biology|batch|COMPLETED|0:0|2026-11-26T07:51:43|2026-11-26T07:51:48|5|n1|billing=2,cpu=2,gres/gpu=1,mem=2048M,node=1
cluster|2_0|10|root|physics|batch|COMPLETED|0:0|2026-11-26T07:51:37|2026-11-26T07:51:42|5|n1|billing=1,cpu=1,mem=1024M,node=1
cluster|2_1|11|root|physics|batch|COMPLETED|0:0|2026-11-26T07:51:37|2026-11-26T07:51:42|5|n1|billing=1,cpu=1,mem=1024M,node=1
cluster|2_2|12|root|physics|batch|COMPLETED|0:0|2026-11-26T07:51:43|2026-11-26T07:51:48|5|n1|billing=1,cpu=1,mem=1024M,node=1
cluster|2_3|2|root|physics|batch|COMPLETED|0:0|2026-11-26T07:51:43|2026-11-26T07:51:48|5|n1|billing=1,cpu=1,mem=1024M,node=1
cluster|5|5|games|biology|batch|FAILED|0:53|2026-11-26T07:51:43|2026-11-26T07:51:43|0|n2|billing=1,cpu=1,mem=512M,node=1
cluster|7|7|root|physics|batch|PREEMPTED|0:0|2026-11-26T07:51:43|2026-11-26T07:52:08|25|n2|billing=1,cpu=1,mem=512M,node=1
cluster|8|8|root|physics|batch|COMPLETED|0:0|2026-11-26T07:51:45|2026-11-26T07:51:50|5|n1|billing=1,cpu=1,mem=256M,node=1
cluster|9|9|root|physics|batch|REQUEUED|0:0|2026-11-26T07:51:45|2026-11-26T07:51:46|1|n1|billing=1,cpu=1,mem=256M,node=1
cluster|9|9|root|physics|batch|CANCELLED|0:15|2026-11-26T07:53:56|2026-11-26T07:55:38|102|n1|billing=1,cpu=1,mem=256M,node=1
cluster|13|13|root|physics|batch|COMPLETED|0:0|2026-11-26T07:51:57|2026-11-26T07:52:18|14|n1|billing=1,cpu=1,mem=256M,node=1
cluster|14|14|root|biology|scavenge|PREEMPTED|0:15|2026-11-26T07:52:15|2026-11-26T07:52:26|11|n2|billing=8,cpu=8,mem=1024M,node=1
cluster|15|15|root|biology|batch|COMPLETED|0:0|2026-11-26T07:52:02|2026-11-26T07:52:22|20|n1|billing=4,cpu=4,mem=1024M,node=1
cluster|16|16|root|physics|urgent|COMPLETED|0:0|2026-11-26T07:52:09|2026-11-26T07:52:14|5|n2|billing=8,cpu=8,mem=1024M,node=1
cluster|7|7|root|physics|batch|TIMEOUT|0:15|2026-11-26T07:54:20|2026-11-26T07:55:34|74|n1|billing=1,cpu=1,mem=512M,node=1
cluster|17|17|root|physics|urgent|COMPLETED|0:0|2026-11-26T07:52:26|2026-11-26T07:52:31|5|n2|billing=8,cpu=8,mem=1024M,node=1
cluster|18|18|root|physics|batch|TIMEOUT|0:15|2026-11-26T07:52:38|2026-11-26T07:54:04|86|n1|billing=1,cpu=1,mem=512M,node=1
cluster|19|19|root|biology|batch|NODE_FAIL|0:0|2026-11-26T07:52:38|2026-11-26T07:54:20|102|n2|billing=1,cpu=1,mem=512M,node=1
cluster|20|20|root|biology|batch|NODE_FAIL|0:0|2026-11-26T07:52:38|2026-11-26T07:54:20|102|n[1-2]|billing=2,cpu=2,mem=1024M,node=2
cluster|21|21|root|biology|batch|CANCELLED|0:15|2026-11-26T07:53:56|2026-11-26T07:54:00|4|n1|billing=1,cpu=1,mem=512M,node=1
cluster|22|22|root|biology|batch|CANCELLED|0:0|None|2026-11-26T07:54:00|0|None assigned|
cluster|20|20|root|biology|batch|CANCELLED|0:0|None|2026-11-26T07:55:44|0|None assigned|
cluster|23|23|root|physics|batch|COMPLETED|0:0|2026-11-26T07:55:03|2026-11-26T07:55:23|10|n1|billing=2,cpu=2,mem=1024M,node=1
cluster|24|24|root|biology|batch|COMPLETED|0:0|2026-11-26T07:59:03|2026-11-26T07:59:08|5|n1|billing=1,cpu=1,mem=9001M,node=1
cluster|25|25|root|biology|batch|COMPLETED|0:0|2026-11-26T07:59:03|2026-11-26T07:59:08|5|n1|billing=1,cpu=1,gres/gpu=2,mem=1024M,node=1
cluster|26|26|root|physics|batch|RUNNING|0:0|2026-11-26T07:59:03|Unknown|10|n1|billing=3,cpu=3,mem=3001M,node=1
cluster|27|27|root|physics|batch|SUSPENDED|0:0|2026-11-26T07:59:06|Unknown|5|n1|billing=1,cpu=1,mem=1024M,node=1
LISTING
my @after = (grep({ !/\|(?:RUNNING|SUSPENDED)\|/ } @during), split /\n/, <<'LISTING');
cluster|26|26|root|physics|batch|CANCELLED by 0|0:0|2026-11-26T07:59:03|2026-11-26T07:59:15|12|n1|billing=3,cpu=3,mem=3001M,node=1
cluster|27|27|root|physics|batch|CANCELLED by 0|0:0|2026-11-26T07:59:06|2026-11-26T07:59:15|7|n1|billing=1,cpu=1,mem=1024M,node=1
LISTING
my @written = split /\n/, <<'LISTING';
cluster|28|28|root|biology|batch|OUT_OF_MEMORY|0:125|2026-11-26T08:00:00|2026-11-26T08:00:07|7|n1|billing=1,cpu=1,mem=1500M,node=1
cluster|29_7|30|root|biology|batch|COMPLETED|0:0|2026-11-26T08:00:00|2026-11-26T08:00:10|10|n1|billing=2,cpu=2,energy=0,gres/gpu=3,gres/gpu:a100=3,mem=2.50G,node=1
cluster|31+1|32|root|physics|batch|COMPLETED|0:0|2026-11-26T08:00:00|2026-11-27T08:00:00|86400|n[1-2]|billing=2,cpu=2,mem=1025K,node=2
cluster|33_[1-9%2]|33|root|physics|batch|PENDING|0:0|Unknown|Unknown|0|None assigned|
LISTING

my $directory = PostgreSQL::Test::Utils::tempdir;
my $node = PostgreSQL::Test::Cluster->new('slurm');
$node->init;
$node->start;
$node->safe_psql('postgres', 'CREATE DATABASE work');
$node->safe_psql('work', <<'SQL');
CREATE EXTENSION IF NOT EXISTS yquota;
SELECT yquota.set_clock('2026-11-28 00:00+00');
INSERT INTO yquota.project (name) VALUES ('physics'), ('biology');
CREATE ROLE feeder LOGIN;
SELECT yquota.allow_role('feeder', 'operator');
SQL

sub sql { return $node->safe_psql('work', $_[0]); }

# Send a listing to the database as README.md describes it, and return the client's report.
sub feed
{
	my ($name, @lines) = @_;
	my $spool = "$directory/spool";
	my $listing = "$directory/$name";
	local %ENV = (%ENV, PGHOST => $node->host, PGPORT => $node->port, PGDATABASE => 'work', PGUSER => 'feeder');

	mkdir $spool;
	append_to_file($listing, join("\n", $header, @lines) . "\n");
	is(system("psql -X -q -A -t -f docs/examples/slurm/sacct_events.sql < $listing > $listing.events"), 0, "$name: the listing is read");
	is(system("perl docs/examples/yquota_feed $spool spool < $listing.events > /dev/null"), 0, "$name: its events are spooled");
	is(system("perl docs/examples/yquota_feed $spool send 2> $listing.told"), 0, "$name: its events are sent");
	ok(!-e "$spool/refused.jsonl", "$name: each line is an event");
	return slurp_file("$listing.told");
}

# Queries of the running runs in the books, and of the cost of ended runs.
my $running = q(SELECT container_id, project, queue, allocation, started_at AT TIME ZONE 'UTC' FROM yquota.container ORDER BY 1);
my $costs = <<'SQL';
SELECT container_id, sum(amount), max("to") AT TIME ZONE 'UTC', (array_agg(exit_status ORDER BY "to" DESC, number DESC))[1]
FROM yquota_internal.charge_in_effect GROUP BY container_id ORDER BY min("from"), container_id COLLATE "C"
SQL

is(feed('during', @during), '', 'a correct listing gives no warning');
is(sql($running), <<'ROWS' =~ s/\n\z//r, 'a running or suspended job runs in the books');
cluster_26_1795679943|physics|root.batch|[memory-mb=3001,vcores=3]|2026-11-26 07:59:03
cluster_27_1795679946|physics|root.batch|[memory-mb=1024,vcores=1]|2026-11-26 07:59:06
ROWS

is(feed('after', @after), '', 'a listing that overlaps the first gives no warning');
is(sql($running), '', 'no job is running any more');
my $costs_of_runs = <<'ROWS';
cluster_10_1795679497|5|2026-11-26 07:51:42|0
cluster_11_1795679497|5|2026-11-26 07:51:42|0
cluster_1_1795679497|32|2026-11-26 07:51:45|0
cluster_3_1795679497|5|2026-11-26 07:51:42|3
cluster_12_1795679503|5|2026-11-26 07:51:48|0
cluster_2_1795679503|5|2026-11-26 07:51:48|0
cluster_4_1795679503|10|2026-11-26 07:51:48|0
cluster_5_1795679503|0|2026-11-26 07:51:43|181
cluster_7_1795679503|25|2026-11-26 07:52:08|-102
cluster_8_1795679505|5|2026-11-26 07:51:50|0
cluster_9_1795679505|1|2026-11-26 07:51:46|-106
cluster_13_1795679517|14|2026-11-26 07:52:18|0
cluster_15_1795679522|80|2026-11-26 07:52:22|0
cluster_16_1795679529|40|2026-11-26 07:52:14|0
cluster_14_1795679535|88|2026-11-26 07:52:26|-102
cluster_17_1795679546|40|2026-11-26 07:52:31|0
cluster_18_1795679558|86|2026-11-26 07:54:04|-106
cluster_19_1795679558|102|2026-11-26 07:54:20|-100
cluster_20_1795679558|204|2026-11-26 07:54:20|-100
cluster_21_1795679636|4|2026-11-26 07:54:00|-106
cluster_9_1795679636|102|2026-11-26 07:55:38|-106
cluster_7_1795679660|74|2026-11-26 07:55:34|-106
cluster_23_1795679703|20|2026-11-26 07:55:23|0
cluster_24_1795679943|43.9501953125|2026-11-26 07:59:08|0
cluster_25_1795679943|10|2026-11-26 07:59:08|0
cluster_26_1795679943|36|2026-11-26 07:59:15|-106
cluster_27_1795679946|7|2026-11-26 07:59:15|-106
ROWS
is(sql($costs) . "\n", $costs_of_runs, 'a run costs its time without suspensions, at the price of its dominant resource: a vcore, 1024 MiB or a GPU for one credit a second');
is(feed('written', @written), '', 'a listing of jobs that the cluster did not have gives no warning');
is(sql($costs) . "\n", $costs_of_runs . <<'ROWS', 'these jobs cost the resources that they held, in every unit of the listing');
cluster_28_1795680000|10.25390625|2026-11-26 08:00:07|-104
cluster_30_1795680000|30|2026-11-26 08:00:10|0
cluster_32_1795680000|172800|2026-11-27 08:00:00|0
ROWS

# An account that is not a project
like(feed('unknown', 'cluster|40|40|root|chemistry|batch|COMPLETED|0:0|2026-11-26T08:00:00|2026-11-26T08:00:10|10|n1|cpu=1,mem=1M'),
	qr/WARNING: +01000: +2 events were set aside\nDETAIL: +The first problem is: project "chemistry" does not exist\./, 'the client reports how many events were set aside');

# Send the same listings again in another order, in one spool
my $before = sql("SELECT * FROM yquota.charge ORDER BY container_id, number");
is(feed('again', reverse(@written), reverse(@after), @during), '', 'repeated listings give no warning');
is(sql("SELECT * FROM yquota.charge ORDER BY container_id, number"), $before, 'repeated listings change no charge');
is(sql('SELECT * FROM yquota.verify()'), '', 'the books are right');

done_testing();
