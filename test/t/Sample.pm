# A sample database with an example of everything that yquota keeps, for tests that call every function. It has
# running and ended containers, and events that were corrected, set aside and forgiven. It also has grants, prices
# and sealed history. The clock stands still.

package Sample;

use strict;
use warnings;

use Exporter 'import';

our @EXPORT = qw(load_sample);

sub load_sample
{
	my ($node, $database) = @_;

	$node->safe_psql('postgres', "CREATE DATABASE $database");
	$node->safe_psql($database, <<~'SQL');
		CREATE EXTENSION IF NOT EXISTS yquota;
		SELECT yquota.set_clock('2025-03-03 08:00+00');
		INSERT INTO yquota.project (name, quota_mode) VALUES ('p1', 'PREPAID'), ('p2', 'NOLIMIT');
		INSERT INTO yquota.quota_grant (project, amount, reason) VALUES ('p1', 100000, 'sample');
		INSERT INTO yquota.node (name, rack, total) VALUES
			('n1', 'r1', '[memory-mb=65536,vcores=32]'), ('n2', 'r2', '[memory-mb=65536,vcores=32,yarn.io/gpu=4]');
		INSERT INTO yquota.price_factor (dimension, name, effective_at, factor) VALUES
			('queue', 'root.a', '2025-03-03 08:10+00', 1.5), ('username', 'u1', '2025-03-03 08:10+00', 0.5);
		SELECT yquota.set_multiplier('GENERAL', 2.5, '2025-03-03 09:00+00', '2025-03-03 11:00+00');
		SELECT yquota.set_base_price('vcores', 1.25, 1, '2025-03-03 10:00+00');
		SELECT yquota.set_clock('2025-03-03 12:00+00');
		INSERT INTO yquota.container_event
			(event, container_id, occurred_at, project, application_id, username, queue, node, allocation, source)
		SELECT 'CONTAINER_START', 'c' || n, timestamptz '2025-03-03 08:20+00' + n * interval '1 minute',
			   'p' || n % 2 + 1, 'application_' || n % 5, 'u' || n % 3, 'root.' || chr(97 + n % 2), 'n' || n % 2 + 1,
			   yquota.resource(memory_mb => 1024 * (n % 4), vcores => 1 + n % 3, gpu => n % 2), 'rm'
		  FROM generate_series(1, 60) AS n;
		INSERT INTO yquota.container_event (event, container_id, occurred_at, allocation)
		SELECT 'CONTAINER_UPDATE', 'c' || n, timestamptz '2025-03-03 09:30+00', '[memory-mb=3072,vcores=1]'
		  FROM generate_series(1, 60, 4) AS n;
		INSERT INTO yquota.container_event (event, container_id, occurred_at, exit_status)
		SELECT 'CONTAINER_FINISH', 'c' || n, timestamptz '2025-03-03 10:30+00' + n * interval '1 second', 0
		  FROM generate_series(1, 60, 2) AS n;
		INSERT INTO yquota.container_event (event) VALUES ('QUOTA_COMPUTE');
		SELECT yquota.seal_history();
		SELECT yquota.report_outage('2025-03-03 09:10+00', '2025-03-03 09:20+00', 'sample');
		SET yquota.on_bad_event = set_aside;
		INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES
			('CONTAINER_START', 'bad1', '2025-03-03 11:00+00', 'nobody', '[vcores=1]'),
			('CONTAINER_START', 'bad2', '2025-03-03 11:00+00', 'p1', '[vcores=-1]'),
			('CONTAINER_FINISH', 'waits', '2025-03-03 11:00+00', NULL, NULL),
			('CONTAINER_START', 'new1', '2025-03-03 11:00+00', 'p1', '[vcores=2]');
		SELECT yquota_internal.compact_counters();
		INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES
			('CONTAINER_START', 'new2', '2025-03-03 11:30+00', 'p2', '[vcores=2,memory-mb=512]'),
			('CONTAINER_FINISH', 'c2', '2025-03-03 11:31+00', NULL, NULL);
		CREATE TABLE public.archived_charge (LIKE yquota.charge);
		CREATE TABLE public.archived_event (LIKE yquota.container_event);
		SQL
	return;
}

1;
