# The figures of queues are those of the scheduler of Hadoop 3.4.1, to the last digit. The records are random
# configurations, in both modes and with both calculators, with Hadoop's figures.
#
# Each line of test/queues/figures.jsonl is a configuration as rows, the nodes, and the figures of a CapacityScheduler
# (hadoop-yarn-server-resourcemanager 3.4.1). The scheduler was started with the configuration and then given the
# nodes. If it refused to start, the line has the message of the refusal.

use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;

use Falsified qw(falsify unnoticed);
use JSON::PP;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('queue_figures');
$node->init;
$node->start;
$node->safe_psql('postgres', <<~'SQL');
	CREATE EXTENSION IF NOT EXISTS yquota;
	-- Hadoop knows memory and cores unless it is told of more
	DELETE FROM yquota.resource_type WHERE name NOT IN ('memory-mb', 'vcores');
	CREATE TABLE case_of_hadoop (number integer GENERATED ALWAYS AS IDENTITY, body jsonb);

	CREATE FUNCTION configure(c jsonb) RETURNS text LANGUAGE plpgsql AS $$
	DECLARE
		detail text;
	BEGIN
		SET CONSTRAINTS ALL DEFERRED;
		TRUNCATE yquota.queue, yquota.queue_label, yquota.queue_user, yquota.scheduler_setting, yquota.node_label, yquota.node;
		INSERT INTO yquota.queue (path, position, capacity, maximum_capacity, user_limit_factor, minimum_user_limit_percent)
		SELECT * FROM jsonb_to_recordset(c -> 'queues') AS (path text, position integer, capacity text, maximum_capacity text,
			user_limit_factor real, minimum_user_limit_percent real);
		INSERT INTO yquota.node_label (name) SELECT DISTINCT l ->> 'label' FROM jsonb_array_elements(c -> 'labels') AS l;
		INSERT INTO yquota.queue_label (queue, label, capacity, maximum_capacity)
		SELECT * FROM jsonb_to_recordset(c -> 'labels') AS (queue text, label text, capacity text, maximum_capacity text);
		INSERT INTO yquota.scheduler_setting (legacy_queue_mode_enabled, resource_calculator, global_queue_max_application,
			maximum_applications, maximum_am_resource_percent, minimum_allocation_mb)
		SELECT * FROM jsonb_to_record(c -> 'settings') AS (legacy_queue_mode_enabled boolean, resource_calculator text,
			global_queue_max_application integer, maximum_applications integer, maximum_am_resource_percent real, minimum_allocation_mb integer);
		SET CONSTRAINTS ALL IMMEDIATE;
		INSERT INTO yquota.node (name, label, total)
		SELECT * FROM jsonb_to_recordset(c -> 'nodes') AS (name text, label text, total yquota.resource);
		RETURN NULL;
	EXCEPTION WHEN check_violation THEN
		GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL;
		RETURN detail;
	END $$;

	CREATE FUNCTION amounts(r yquota.resource) RETURNS text LANGUAGE sql
		RETURN yquota.amount(r, 'memory-mb') || ',' || yquota.amount(r, 'vcores');

	CREATE FUNCTION differences(c jsonb) RETURNS SETOF text LANGUAGE plpgsql AS $$
	DECLARE
		refused text := configure(c);
	BEGIN
		IF refused IS NOT NULL OR c ? 'refused' THEN
			IF coalesce(position(c ->> 'refused' IN refused), 0) = 0 THEN
				RETURN NEXT format('Hadoop: %s, yquota: %s', c ->> 'refused', refused);
			END IF;
			RETURN;
		END IF;
		RETURN QUERY
			SELECT format('Hadoop: %s, yquota: %s', f, q)
			FROM (SELECT f, row_number() OVER () AS place FROM jsonb_to_recordset(c -> 'figures') AS f (queue text, label text, absolute_capacity real,
					absolute_maximum_capacity real, effective_capacity text, effective_maximum_capacity text,
					maximum_applications integer, maximum_applications_per_user integer, am_limit text)) AS f
			FULL JOIN (SELECT q, row_number() OVER (ORDER BY q.queue COLLATE "C", q.label COLLATE "C") AS place FROM (SELECT queue, label, absolute_capacity, absolute_maximum_capacity,
					amounts(effective_capacity) AS effective_capacity, amounts(effective_maximum_capacity) AS effective_maximum_capacity,
					maximum_applications, maximum_applications_per_user, amounts(am_limit) AS am_limit
				FROM yquota.effective_queue) AS q) AS q USING (place)
			WHERE f::text IS DISTINCT FROM q::text;
	END $$;
	SQL

sub differences { my ($case) = @_; return $node->safe_psql('postgres', "SELECT * FROM differences(\$case\$$case\$case\$)"); }

my @cases = split /\n/, slurp_file('test/queues/figures.jsonl');
my ($differing, $refused) = (0, 0);
foreach my $case (@cases)
{
	my $differences = differences($case);

	$refused++ if $case =~ /"refused":/;
	next if $differences eq '';
	$differing++;
	diag("$case\n$differences");
}
is($differing, 0, 'every configuration comes out as in Hadoop');
cmp_ok(scalar(@cases) - $refused, '>=', 20, 'configurations that it accepts');
cmp_ok($refused, '>=', 5, 'configurations that it refuses');
note(scalar(@cases) . " configurations, $refused of them refused");

# Falsified figures, which the comparison must find.
my @falsified = falsify([ map { decode_json($_) } @cases ], figure => sub { $_[0] =~ m{^(?:figures|refused)\b} });
is(unnoticed(\@falsified, map { differences(encode_json($_->[1])) } @falsified), '', 'every falsified figure is found');
cmp_ok(scalar @falsified, '>', 30, 'kinds of falsifications');
note(scalar(@falsified) . ' falsifications');

$node->stop;
done_testing();
