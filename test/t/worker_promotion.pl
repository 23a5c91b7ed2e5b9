# A standby has no worker until it is promoted. Then its worker continues where the old primary's worker ended,
# at the price that was in force.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use Test::More;
use WorkerNode;

my $primary = new_node('primary', "shared_preload_libraries = 'yquota'", "yquota.databases = 'work'");
my $processes = q(SELECT count(*) FROM pg_stat_activity WHERE backend_type LIKE 'yquota%');
my $price = q(SELECT multiplier, effective_at FROM yquota.price WHERE price_group = 'GENERAL' ORDER BY effective_at DESC LIMIT 1);
my $state = q(SELECT state, last_compute_at FROM yquota.worker_status WHERE database = 'work');

$primary->safe_psql('postgres', 'CREATE DATABASE work TEMPLATE template0');
start_at($primary, 'work', '2030-01-01 00:00 UTC');
is_soon($primary, 'work', mark() . " = '2030-01-01 00:00 UTC'", 'the primary has a worker');

$primary->backup('copy');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'copy', has_streaming => 1);
$standby->start;

# The standby receives the work of the primary's worker, including the clock.
live_through($primary, 'work', 3, '1 hour');
$primary->safe_psql('work', "SELECT yquota.set_multiplier('GENERAL', 3, yquota.clock() + '1 hour')");
live_through($primary, 'work', 2, '1 hour');
is_soon($primary, 'work', "(SELECT last_compute_at = '2030-01-01 05:00 UTC' FROM yquota.worker_status WHERE database = 'work')", 'the worker has recorded five hours');
$primary->wait_for_catchup($standby);
is($standby->safe_psql('work', "SELECT yquota.clock() = '2030-01-01 05:00 UTC' AND " . mark() . ' = yquota.clock()'),
	't', 'the standby shows the clock and the mark');
is($standby->safe_psql('postgres', $processes), '0', 'a standby has neither launcher nor worker');
is($standby->safe_psql('work', $state), $primary->safe_psql('work', $state) =~ s/running/standby/r, 'worker_status shows the standby');
my ($code, $out, $error) = $standby->psql('work', 'SELECT yquota.start_worker()');
like($error, qr/read-only transaction/, 'a worker cannot be started on a standby');
$standby->reload;
is($standby->safe_psql('postgres', $processes), '0', 'a reload changes nothing');

my $price_before = $primary->safe_psql('work', $price);
$primary->stop('immediate');
$standby->promote;
is_soon($standby, 'work', "(SELECT state = 'running' FROM yquota.worker_status WHERE database = 'work')", 'the promoted standby has a worker');
is($standby->safe_psql('work', $price), $price_before, 'the price in force stays');
live_through($standby, 'work', 1, '1 hour');
is($standby->safe_psql('work', $price), $price_before, 'the price in force stays after prices were computed again, too');
is($standby->safe_psql('work', "SELECT count(*), min(occurred_at) = '2030-01-01 00:00 UTC', max(occurred_at) = '2030-01-01 06:00 UTC' FROM yquota.container_event WHERE event = 'QUOTA_COMPUTE'"),
	'8|t|t', 'every hour was computed, the hour of the promotion twice');
is($standby->safe_psql('work', 'SELECT count(*) FROM yquota.outage'), '0', 'no time was lost, so there is no outage');

$standby->stop;
done_testing();
